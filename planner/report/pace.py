"""The rates of all scenarios against reading pace: the bars of the first page and what heads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.plan.basis import has_range, planning_rate
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.plan.recommend import flagged
from planner.report.numbers import plain, span
from planner.report.parts import in_words, say, sentence
from planner.report.shapes import Bar, Figure
from planner.report.tables import marks_of, ranked

if TYPE_CHECKING:
    from planner.plan.study import Case, Study

MOST_BARS: Final = 8


def bars(study: Study) -> tuple[Bar, ...]:
    """The per-stream rates of all scenarios in the workbook's order, or of the best ones, fastest first.

    A scenario with an estimate has a bar of that with its range; the others' are upper bounds, and look so.
    """
    cases = study.cases
    if len(cases) > MOST_BARS:
        cases = tuple(sorted(ranked(study)[:MOST_BARS], key=lambda case: -planning_rate(case.result)))
    return tuple(_bar(study, case) for case in cases if case.result.tokens_per_sec is not None)


def _bar(study: Study, case: Case) -> Bar:
    result = case.result
    ranged = has_range(result)
    mixed = any(has_range(other.result) for other in study.cases)
    remarks = ["does not fit"] if flagged(result, "no-fit") else []
    if not ranged and (mixed or flagged(result, "ceiling")):
        remarks.append("ceiling" if flagged(result, "ceiling") else "upper bound")
    if result is study.recommendation.best and len(study.cases) > 1:
        remarks.append("recommended")
    rate = planning_rate(result)
    ends = (result.low_tokens_per_sec or 0.0, result.high_tokens_per_sec or 0.0) if ranged else None
    text = f"{say('tokens_per_sec', rate)} ({span(*ends)})" if ends else say("tokens_per_sec", rate)
    return Bar(
        f"{case.label} {case.name}",
        rate,
        ", ".join([text, *remarks]),
        hatched=bool(marks_of(result, rate)),
        strong=result is study.recommendation.best,
        ends=ends,
        outlined=mixed and not ranged,
    )


_TWO: Final = 2


def pace_figure(study: Study) -> Figure:
    """How many scenarios keep reading pace, and what the bars mean."""
    total = len(study.cases)
    rates = [planning_rate(case.result) for case in study.cases]
    able = sum(rate >= READING_PACE_TOKENS_PER_SEC for rate in rates)
    if total == 1:
        title = f"The scenario {'keeps' if able else 'does not keep'} reading pace"
    elif able == total:
        title = f"{'Both' if total == _TWO else f'All {in_words(total)}'} scenarios keep reading pace"
    elif not able:
        title = "Neither scenario keeps reading pace" if total == _TWO else "No scenario keeps reading pace"
    else:
        title = (
            f"{sentence(in_words(able))} of {in_words(total)} scenarios {'keeps' if able == 1 else 'keep'} reading pace"
        )
    ranged = sum(has_range(case.result) for case in study.cases)
    if not ranged:
        subtitle = "Per stream (tok/s), at each scenario's efficiency, an upper bound"
    else:
        subtitle = "Per stream (tok/s): estimate with its range"
        subtitle += "" if ranged == total else "; outlined: upper bound"
    if total > MOST_BARS:
        subtitle += f"; the {MOST_BARS} best of {plain(total)}, fastest first"
    if any(marks_of(case.result, planning_rate(case.result)) for case in study.cases):
        subtitle += "; hatched: too slow or does not fit"
    return Figure(title, subtitle, f"Per-stream rate of each scenario against reading pace. {title}.")
