"""The What-if sheet: the menu of fixes for each scenario, in order, each with its gain by phase."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planner.columns import number_format
from planner.plan.basis import memory_fits, weights_fit
from planner.plan.scenario import FIGURES, header_of
from planner.plan.study import FIXES_LIMIT
from planner.workbook.layout import BLUE, GREY, LINE, NAVY, PALE, RUST, RUST_PALE, CellOut, Rule, Sheet, Style, address
from planner.workbook.results_sheet import HEAD_FIGURE, HEAD_TEXT, HEADER_HEIGHT, LINK, Writing
from planner.workbook.table_sheets import LEDE, TITLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study
    from planner.plan.whatif import Fix

_PART_ROW, _HEAD_ROW, _ROW = 2, 3, 4
_PERCENT: Final = "+0%;-0%;0%"
# Changes that nobody would notice bear no colour.
_NOTICED: Final = 0.005
AS_IT_IS: Final = "As it is"


@dataclass(frozen=True, slots=True)
class _Column:
    part: str
    header: str
    shown: str
    of_result: Callable[[Result], Any] | None = None
    of_fix: Callable[[Fix], Any] | None = None

    def value(self, result: Result, fix: Fix | None) -> Any:
        if self.of_result is not None:
            return self.of_result(result)
        return self.of_fix(fix) if self.of_fix is not None and fix is not None else None


def _of(part: str, figure: str, label: str) -> _Column:
    return _Column(part, label, number_format(figure, FIGURES[figure]), lambda result: getattr(result, figure))


def _gain(part: str, figure: str, label: str = "Gain") -> _Column:
    return _Column(part, label, _PERCENT, of_fix=lambda fix: fix.gain(figure))


def _saved(part: str, figure: str) -> _Column:
    return _Column(part, "Time saved", _PERCENT, of_fix=lambda fix: fix.saving(figure))


def _verdict(result: Result) -> str | None:
    whole = memory_fits(result)
    if whole is not None:
        return "yes" if whole else "no"
    return {True: "weights fit", False: "no", None: None}[weights_fit(result)]


_DECODE, _ALL, _PREFILL, _WHOLE, _MEMORY = (
    "Decode, one stream",
    "Decode, all streams",
    "Prefill",
    "Whole response",
    "Memory, all devices",
)
_COLUMNS: Final = (
    _of(_DECODE, "estimated_tokens_per_sec", "Per stream (tok/s)"),
    _gain(_DECODE, "estimated_tokens_per_sec"),
    _of(_ALL, "estimated_aggregate_tokens_per_sec", "Aggregate (tok/s)"),
    _gain(_ALL, "estimated_aggregate_tokens_per_sec"),
    _of(_PREFILL, "prefill_s", "Time to first token (s)"),
    _saved(_PREFILL, "prefill_s"),
    _of(_WHOLE, "estimated_response_time_s", "Response time (s)"),
    _saved(_WHOLE, "estimated_response_time_s"),
    _of(_MEMORY, "memory_needed_gb", "Needed (GB)"),
    _of(_MEMORY, "usable_memory_gb", "Usable (GB)"),
    _Column(_MEMORY, "Fits", "General", _verdict),
)
_FIRST: Final = 3
_LAST: Final = _FIRST + len(_COLUMNS) - 1


def whatif_sheet(study: Study, writing: Writing) -> Sheet:
    """For each scenario itself and every fix: rates, times, what fits, and the gain against the scenario's own."""
    rows = sum(1 + len(fixes) for fixes in study.fixes)
    last_row = _ROW + max(rows, 1) - 1
    gains = [_FIRST + index for index, column in enumerate(_COLUMNS) if column.shown == _PERCENT]
    starts = [_FIRST + i for i, column in enumerate(_COLUMNS) if not i or _COLUMNS[i - 1].part != column.part]
    return Sheet(
        name=writing.names["What-if"],
        cells=_cells(study, writing),
        widths={0: 39.0, 1: 23.0, 2: 27.0} | dict.fromkeys(range(_FIRST, _LAST), 9.0) | {_LAST: 11.0},
        freeze=(_ROW, 2),
        filter=(_HEAD_ROW, 0, last_row, _LAST),
        merges=[
            (_PART_ROW, start, _PART_ROW, end - 1) for start, end in zip(starts, [*starts[1:], _LAST + 1], strict=True)
        ],
        rules=_rules(gains, last_row),
        heights={_HEAD_ROW: HEADER_HEIGHT},
        repeat_rows=(_PART_ROW, _HEAD_ROW),
        repeat_columns=(0, 0),
        gridlines=False,
        mark="what-if",
        tab=BLUE,
    )


def _rules(gains: list[int], last_row: int) -> list[Rule]:
    found = []
    for column in gains:
        cell, area = address(_ROW, column), (_ROW, column, last_row, column)
        found += [
            Rule(area, f"AND(ISNUMBER({cell}),{cell}<-{_NOTICED})", "", RUST),
            Rule(area, f"AND(ISNUMBER({cell}),{cell}>{_NOTICED})", "", BLUE, bold=True),
        ]
    verdict = address(_ROW, _LAST)
    return [*found, Rule((_ROW, _LAST, last_row, _LAST), f'{verdict}="no"', RUST_PALE, RUST, bold=True)]


def _cells(study: Study, writing: Writing) -> Iterator[CellOut]:
    more = len(study.cases) - len(study.fixes)
    left_out = f" The first {FIXES_LIMIT} scenarios; {more:,} more are left out." if more else ""
    yield CellOut(0, 0, "What-if: the menu of fixes, in the order in which to try them", style=TITLE)
    yield CellOut(
        1,
        0,
        "Estimates as at the run, as values; gains against the scenario as it is. A slow stream is a decode problem, a "
        "late first token a prefill problem. A half-size model keeps its layers and cache; a typed prefill rate stays."
        f"{left_out}",
        style=LEDE,
    )
    for at, text in enumerate((header_of("name"), "Fix", "Change")):
        yield CellOut(_PART_ROW, at, None, style=HEAD_TEXT)
        yield CellOut(_HEAD_ROW, at, text, style=HEAD_TEXT)
    before = ""
    for at, column in enumerate(_COLUMNS, _FIRST):
        yield CellOut(_PART_ROW, at, None if column.part == before else column.part, style=HEAD_FIGURE)
        yield CellOut(_HEAD_ROW, at, column.header, style=HEAD_FIGURE)
        before = column.part
    row = _ROW
    for case, fixes in zip(study.cases, study.fixes, strict=False):
        yield CellOut(row, 0, case.name, writing.link(case), dataclasses.replace(LINK, fill=PALE))
        yield from _line(row, case.result, None, AS_IT_IS, _own(case))
        for fix in fixes:
            row += 1
            yield CellOut(row, 0, case.name, style=Style(colour=GREY, bottom=LINE))
            yield from _line(row, fix.result, fix, fix.name, fix.change)
        row += 1


def _line(row: int, result: Result, fix: Fix | None, name: str, change: str) -> Iterator[CellOut]:
    look = Style(bottom=LINE) if fix else Style(bottom=LINE, bold=True, fill=PALE, colour=NAVY)
    yield CellOut(row, 1, name, style=dataclasses.replace(look, indent=1 if fix else 0, align="left"))
    yield CellOut(row, 2, change, style=look)
    for at, column in enumerate(_COLUMNS, _FIRST):
        shown = dataclasses.replace(look, number_format=column.shown, align="center" if at == _LAST else "")
        yield CellOut(row, at, column.value(result, fix), style=shown)


def _own(case: Case) -> str:
    """What a scenario is now, in the words of its fixes."""
    scenario = case.result.scenario
    size = f"{scenario.params_b:,.3g}B" if scenario.params_b else f"{case.result.weights_gb or 0:,.3g} GB"
    parts = (f"{size} {scenario.precision or ''}".strip(), f"batch {scenario.batch or 1:,.0f}")
    return ", ".join(parts)
