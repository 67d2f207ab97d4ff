"""Cost by scenario or batch and by utilisation, as a map whose colours say how it stands against the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import fits, has_estimate, planning_rate
from planner.plan.cost_checks import missed_targets
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.report import money
from planner.report.numbers import as_percent, plain
from planner.report.numbers import money as amount
from planner.report.parts import cut, in_words, sentence
from planner.report.shapes import Figure
from planner.report.tables import ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
MOST_ROWS: Final = 10
# Of the API's price, or above the lowest cost where no API is compared.
_BANDS: Final = ((0.25, "b4"), (0.5, "b3"), (0.75, "b2"), (1.0, "b1"))
_TIMES: Final = ((1.5, "b4"), (2.5, "b3"), (4.0, "b2"), (float("inf"), "b1"))
AGAINST_API: Final = (
    ("slow", "dearer than the API"),
    ("b1", "less than the API"),
    ("b2", "less than three quarters of it"),
    ("b3", "less than a half"),
    ("b4", "less than a quarter"),
)
AGAINST_LEAST: Final = (
    ("b1", "more than 4 times the lowest"),
    ("b2", "2.5 to 4 times"),
    ("b3", "1.5 to 2.5 times"),
    ("b4", "up to 1.5 times"),
)


@dataclass(frozen=True, slots=True)
class CostCell:
    """A cost, and the class that colours it; no cost where the row is no offer."""

    value: str
    band: str


@dataclass(frozen=True, slots=True)
class CostRow:
    """A row: what it is, in bold, more of it, and its costs."""

    head: str
    more: str
    cells: tuple[CostCell, ...]


@dataclass(frozen=True, slots=True)
class CostMap:
    """A map of costs: what its rows are, its columns, its rows, its words and key."""

    what: str
    heads: tuple[str, ...]
    rows: tuple[CostRow, ...]
    figure: Figure
    legend: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Line:
    head: str
    more: str
    result: Result
    api: float | None
    offered: bool


def by_scenario(study: Study) -> CostMap | None:
    """Cost by scenario and utilisation; None where fewer than two are compared."""
    cases = money.compared(study)
    if len(cases) < 2:  # noqa: PLR2004  one row is no map
        return None
    which = ""
    if len(cases) > MOST_ROWS:
        able = {case.number for case in cases}
        which = f"; the {MOST_ROWS} best of {plain(len(cases))}"
        cases = [case for case in ranked(study) if case.number in able][:MOST_ROWS]
    lines = [
        _Line(
            case.label,
            cut(case.name, 26),
            case.result,
            case.result.api_cost_per_m_output,
            fits(case.result) is not False,
        )
        for case in cases
    ]
    return _map(study, "Scenario", lines, "Cost by scenario and utilisation", which)


def by_batch(study: Study, case: Case) -> CostMap | None:
    """Cost of one scenario by batch and utilisation; None without batches, or without an estimate.

    By the core every stream more is free, so that its costs by batch would be no more than a promise.
    """
    results = study.by_batch[case.number - 1]
    own = case.result
    lines = [
        _Line(
            f"{plain(result.scenario.batch or 1)}",
            _why_not(result),
            result,
            own.api_cost_per_m_output,
            not _why_not(result),
        )
        for result in results
        if result.hourly_cost_h is not None and result.fleet_tokens_per_sec
    ]
    if len(lines) < 2 or not has_estimate(own) or own.cost_per_m_tokens is None:  # noqa: PLR2004  as above
        return None
    return _map(study, "Batch", lines, f"{case.label} by batch and utilisation", "")


def _why_not(result: Result) -> str:
    """What keeps a batch from being an offer: memory, its target, or the pace of a reader."""
    if fits(result) is False:
        return "does not fit"
    if missed_targets(result):
        return "misses its target"
    asked = result.scenario.target_tokens_per_sec is not None
    slow = not asked and planning_rate(result) < READING_PACE_TOKENS_PER_SEC
    return "slower than reading" if slow else ""


def _map(study: Study, what: str, lines: Sequence[_Line], head: str, which: str) -> CostMap | None:
    till = money.till_of(study, lines[0].result)
    costs = [
        [money.till_of(study, line.result).of(money.cost_at(line.result, share)) or 0.0 for share in SHARES]
        for line in lines
    ]
    fitting = [n for n, line in enumerate(lines) if line.offered]
    if not fitting:
        return None
    least = min(min(costs[n]) for n in fitting)
    most = max(max(costs[n]) for n in fitting)
    decimals = money.decimals_of([least], till.code, 1 if most >= 1 else 2)
    held = any(line.api is not None for line in lines)
    rows, pairs, cheaper = [], 0, 0
    for number, line in enumerate(lines):
        api = money.till_of(study, line.result).of(line.api)
        cells = []
        for value in costs[number]:
            if number not in fitting:
                cells.append(CostCell("\u2013", ""))
                continue
            pairs += api is not None
            cheaper += api is not None and value <= api
            cells.append(
                CostCell(amount(value, "", decimals), _band(value, api, least) if api is not None or not held else "")
            )
        rows.append(CostRow(line.head, line.more, tuple(cells)))
    if held:
        many = sentence(in_words(cheaper)) if cheaper else "None"
        title = f"{many} of {in_words(pairs)} pairs cost{'s' if cheaper == 1 else ''} less than the API"
    else:
        title = f"From {till.price(least / till.rate)} to {till.price(most / till.rate)} per million output tokens"
    if held and any(line.api is None for line in lines):
        which += "; without colour: no API compared"
    figure = Figure(
        title, f"{head}: cost per million output tokens{f', {till.code}' if till.code else ''}{which}", title
    )
    legend = AGAINST_API if held else AGAINST_LEAST
    return CostMap(what, tuple(as_percent(share) for share in SHARES), tuple(rows), figure, legend)


def _band(value: float, api: float | None, least: float) -> str:
    if api is None:
        return next(band for times, band in _TIMES if value <= least * times)
    return next((band for share, band in _BANDS if value <= api * share), "slow")
