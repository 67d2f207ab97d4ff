"""The speed table, the checks, and the charts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from planner.formulas import speed
from planner.issues import Severity
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE
from planner.workbook.layout import (
    GREY,
    LINE,
    NAVY,
    RUST,
    RUST_PALE,
    CellOut,
    Chart,
    Lines,
    Rule,
    Series,
    Sheet,
    Style,
    address,
    on_sheet,
    text_literal,
    wrapped_heights,
)
from planner.workbook.results_sheet import HEAD, HEAD_TEXT, LINK, Functions, Writing
from planner.workbook.variant_sheets import VARIANT_FIRST_ROW, batch_groups, precision_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.issues import Issue
    from planner.plan.study import Study

TITLE: Final = Style(bold=True, size=16, colour=NAVY)
LEDE: Final = Style(colour=GREY)
MOST_CHARTED: Final = 8
# From this rate up: fill and text. Formula rules, since a scale of colours would paint over the marks.
HEAT_BANDS: Final = (
    (320, "#0A3F66", "#FFFFFF"),
    (160, "#2E78AE", "#FFFFFF"),
    (80, "#6BA4CC", "#12212E"),
    (40, "#A5C8E1", "#12212E"),
    (20, "#CFE1EF", "#12212E"),
    (10, "#EEF3FB", "#12212E"),
)

UPPER_BOUNDS: Final = (
    "For dense models every rate is an upper bound: KV-cache reads, scheduling gaps, tokenisation, network and "
    "queueing are not counted. A mixture of experts reads fewer weights a step than is counted here"
)
FIT_IS_WEIGHTS: Final = (
    f"Fit marks weigh the weights alone against {USABLE_MEMORY_SHARE:.0%} of the memory; KV cache comes on top"
)

_LABEL_ROW, _BANDWIDTH_ROW, _MEMORY_ROW, _TABLE_ROW = 3, 4, 5, 6
_LABEL_COLUMN, _WEIGHTS_COLUMN, _TABLE_COLUMN = 0, 1, 2


def speed_table_sheet(study: Study, writing: Writing) -> Sheet:
    """Per-stream ceilings, weights down and bandwidths across, live, with marks where the weights do not fit."""
    table = study.table
    last = (_TABLE_ROW + len(table.rows) - 1, _TABLE_COLUMN + len(table.columns) - 1)
    area = (_TABLE_ROW, _TABLE_COLUMN, *last)
    cell = address(_TABLE_ROW, _TABLE_COLUMN)
    weights = address(_TABLE_ROW, _WEIGHTS_COLUMN, fix_column=True)
    memory = address(_MEMORY_ROW, _TABLE_COLUMN, fix_row=True)
    too_large = f"AND(ISNUMBER({memory}),{weights}>{USABLE_MEMORY_SHARE:g}*{memory})"
    return Sheet(
        name=writing.names["Speed table"],
        cells=_speed_cells(study, writing),
        widths={_LABEL_COLUMN: 30.0, _WEIGHTS_COLUMN: 12.0}
        | {_TABLE_COLUMN + n: 14.0 for n in range(len(table.columns))},
        freeze=(_TABLE_ROW, _TABLE_COLUMN),
        rules=[
            Rule(area, too_large, RUST_PALE, RUST),
            Rule(area, f"{cell}<{READING_PACE_TOKENS_PER_SEC:g}", "", RUST, bold=True),
            *(Rule(area, f"{cell}>={least}", fill, colour) for least, fill, colour in HEAT_BANDS),
        ],
        heights={_LABEL_ROW: 32.0},
        repeat_rows=(_LABEL_ROW, _MEMORY_ROW),
        gridlines=False,
        mark="speed table",
        tab=NAVY,
    )


def _speed_cells(study: Study, writing: Writing) -> Iterator[CellOut]:
    table = study.table
    yield CellOut(
        0, 0, "Speed table: per-stream ceiling (tok/s) at efficiency 1, sizes and bandwidths as at the run", style=TITLE
    )
    left_out = (
        f" {table.left_out} more sizes and bandwidths are left out; --table-limit shows them." if table.left_out else ""
    )
    yield CellOut(1, 0, f"{UPPER_BOUNDS}.{left_out}", style=LEDE)
    legend = (
        "Rust fill: the weights do not fit the memory above the column. Bold rust: below "
        f"{READING_PACE_TOKENS_PER_SEC:g} tok/s, slower than reading. {FIT_IS_WEIGHTS}."
    )
    yield CellOut(2, 0, legend, style=LEDE)
    heads = ((_LABEL_ROW, "Weights of"), (_BANDWIDTH_ROW, "Bandwidth (GB/s)"), (_MEMORY_ROW, "Memory (GB)"))
    for row, text in heads:
        yield CellOut(row, _LABEL_COLUMN, text, style=HEAD_TEXT)
        yield CellOut(row, _WEIGHTS_COLUMN, "Weights (GB)" if row == _LABEL_ROW else None, style=HEAD)
    number = Style(bold=True, colour="#FFFFFF", fill=NAVY, align="center", number_format="#,##0")
    for offset, column in enumerate(table.columns):
        at = _TABLE_COLUMN + offset
        memory = None if column.memory_gb is None else column.memory_gb * column.devices
        yield CellOut(_LABEL_ROW, at, column.label, style=HEAD)
        for row, value in ((_BANDWIDTH_ROW, column.bandwidth_gb_s), (_MEMORY_ROW, memory)):
            whole = value is None or float(value).is_integer()
            yield CellOut(
                row, at, value, style=dataclasses.replace(number, number_format="#,##0" if whole else "General")
            )
    for index, line in enumerate(table.rows):
        row = _TABLE_ROW + index
        yield CellOut(row, _LABEL_COLUMN, line.label, style=Style(bottom=LINE))
        yield CellOut(row, _WEIGHTS_COLUMN, line.weights_gb, style=Style(number_format="#,##0.0", bottom=LINE))
        for offset, column in enumerate(table.columns):
            at = _TABLE_COLUMN + offset
            bind = {
                "weights_gb": address(row, _WEIGHTS_COLUMN, fix_column=True),
                "bandwidth_gb_s": address(_BANDWIDTH_ROW, at, fix_row=True),
            }
            rate = table.cell(line, column).tokens_per_sec
            formula = writing.formula(speed.ceiling_tokens_per_sec, bind, rate)
            yield CellOut(row, at, rate, formula, Style(number_format="#,##0.0", align="center"))


_CHECK_HEADS: Final = ("Severity", "Cell", "Scenario", "What", "What to do", "Code")


_CELL_COLUMN: Final = _CHECK_HEADS.index("Cell")
_CHECK_WIDTHS: Final = {0: 11.0, 1: 20.0, 2: 36.0, 3: 80.0, 4: 70.0, 5: 15.0}


def checks_sheet(study: Study, writing: Writing) -> Sheet:
    """Every issue and warning with its severity, cell, scenario, what it is and what to do."""
    issues = study.issues
    last_row = max(len(issues), 1)
    severity = address(1, 0, fix_column=True)
    whole = (1, 0, last_row, len(_CHECK_HEADS) - 1)
    listed = _check_lines(study, writing)
    # As many as the rows of the other sheets that are left to writers of rows.
    rows = listed if writing.shapes and len(issues) >= len(study.cases) // 2 else None
    cells = list(_check_cells(len(issues), listed if rows is None else None))
    return Sheet(
        name=writing.names["Checks"],
        cells=cells,
        rows=rows,
        widths=_CHECK_WIDTHS,
        freeze=(1, 0),
        filter=(0, 0, last_row, len(_CHECK_HEADS) - 1),
        rules=[
            Rule(whole, f'{severity}="{Severity.ERROR}"', RUST_PALE, RUST),
            Rule(whole, f'{severity}="{Severity.NOTE}"', "", GREY),
        ],
        heights=wrapped_heights(cells, _CHECK_WIDTHS),
        repeat_rows=(0, 0),
        mark="checks",
        tab=RUST,
    )


def _check_lines(study: Study, writing: Writing) -> Lines:
    """The issues, a line each."""
    names = {case.origin.row: case.name for case in study.cases} | {s.origin.row: s.name for s in study.skipped}
    linked = writing.linked and writing.functions is not Functions.NONE

    def values(rows: range) -> tuple[list[str], ...]:
        issues = study.issues[rows.start : rows.stop]
        return (
            [issue.severity.value for issue in issues],
            [issue.where for issue in issues],
            [names.get(issue.row or -1, "") for issue in issues],
            [issue.problem for issue in issues],
            [issue.remedy for issue in issues],
            [issue.code for issue in issues],
        )

    def link(issue: Issue) -> str:
        if not linked or not issue.cell:
            return ""
        return f"=HYPERLINK({text_literal('#' + on_sheet(issue.sheet, issue.cell))},{text_literal(issue.where)})"

    style = Style(wrap=True, bottom=LINE, top_aligned=True)
    return Lines(
        first=1,
        count=len(study.issues),
        values=values,
        links=lambda rows: {_CELL_COLUMN: [link(issue) for issue in study.issues[rows.start : rows.stop]]},
        styles=(style,) * len(_CHECK_HEADS),
        linked=dataclasses.replace(LINK, top_aligned=True),
        widths=_CHECK_WIDTHS,
    )


def _check_cells(count: int, listed: Lines | None) -> Iterator[CellOut]:
    for column, head in enumerate(_CHECK_HEADS):
        yield CellOut(0, column, head, style=HEAD_TEXT)
    if listed:
        yield from listed.cells()
    for row, note in enumerate((UPPER_BOUNDS, FIT_IS_WEIGHTS), count + 2):
        yield CellOut(row, 3, f"{note}.", style=Style(colour=GREY, italic=True, wrap=True))


def charts_sheet(study: Study, writing: Writing) -> Sheet:
    """Native charts of the first scenarios: rates against batch and by precision, the core's and the estimate's."""
    shown = len(study.cases[:MOST_CHARTED])
    of = f"first {shown} of {len(study.cases)} scenarios" if shown < len(study.cases) else "all scenarios"
    batch, precision = writing.names["Batch"], writing.names["Precision"]
    groups = batch_groups(study)
    rows = range(VARIANT_FIRST_ROW, VARIANT_FIRST_ROW + shown)

    def against_batch(figure: str) -> tuple[Series, ...]:
        group = groups[figure]
        last = group.first + group.count - 1
        return tuple(Series(batch, (row, 0), (1, group.first, 1, last), (row, group.first, row, last)) for row in rows)

    def by_precision(figure: str) -> tuple[Series, ...]:
        group = precision_groups(study)[figure]
        return tuple(
            Series(precision, (1, column), (rows[0], 0, rows[-1], 0), (rows[0], column, rows[-1], column))
            for column in range(group.first, group.first + group.count)
            if shown
        )

    charts = [
        chart
        for at, (of_what, rate, aggregate) in (
            (3, ("core", "tokens_per_sec", "aggregate_tokens_per_sec")),
            (25, ("estimate", "estimated_tokens_per_sec", "estimated_aggregate_tokens_per_sec")),
        )
        for chart in (
            Chart(
                "line",
                f"Per-stream rate against batch ({of_what})",
                "batch",
                "tok/s per stream",
                against_batch(rate),
                (at, 0),
            ),
            Chart(
                "line",
                f"Aggregate rate against batch ({of_what})",
                "batch",
                "tok/s, all streams",
                against_batch(aggregate),
                (at, 10),
            ),
            Chart(
                "column",
                f"Per-stream rate by precision ({of_what})",
                "",
                "tok/s per stream",
                by_precision(rate),
                (at, 20),
            ),
        )
    ]
    return Sheet(
        name=writing.names["Charts"],
        cells=[
            CellOut(0, 0, f"Charts: {of}", style=TITLE),
            CellOut(1, 0, f"Core: {UPPER_BOUNDS[0].lower()}{UPPER_BOUNDS[1:]}. The estimate counts these.", style=LEDE),
        ],
        charts=charts if shown else (),
        gridlines=False,
        mark="charts",
        tab=NAVY,
    )
