"""The answer of a first page: in money where cost decides, else in rates; and the bars of all scenarios below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.report import front, money, money_front, pace
from planner.report.wording import PACE

if TYPE_CHECKING:
    from planner.plan.study import Study
    from planner.report.front import Tile, Verdict
    from planner.report.shapes import Bar, Figure


@dataclass(frozen=True, slots=True)
class Bars:
    """All scenarios as bars: what they are held against, in words as well, and what heads them."""

    bars: tuple[Bar, ...]
    mark: float | None
    mark_text: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Answer:
    """What a first page answers; ``bars`` are None where there is nothing to draw."""

    verdict: Verdict
    tiles: tuple[Tile, ...]
    bars: Bars | None


def answer_of(study: Study) -> Answer:
    """The answer of a study, by the one criterion that its recommendation names."""
    by_cost = study.recommendation.by_cost and study.recommendation.best is not None
    speaks = money_front if by_cost else front
    return Answer(speaks.verdict(study), speaks.tiles(study), cost_bars(study) or pace_bars(study))


def cost_bars(study: Study) -> Bars | None:
    """What a million output tokens cost, against the API; None where no cost is told in the currency of comparison."""
    if not money.compared(study):
        return None
    return Bars(money_front.bars(study), *money_front.bars_mark(study), money_front.bars_figure(study))


def pace_bars(study: Study) -> Bars | None:
    """The rates of one stream, against reading pace; None where there are none."""
    bars = pace.bars(study)
    if not bars:
        return None
    return Bars(bars, READING_PACE_TOKENS_PER_SEC, PACE_TEXT, pace.pace_figure(study))


PACE_TEXT: Final = f"reading pace, {PACE}"
