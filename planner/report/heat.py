"""The speed table as a heat map: bands of the per-stream ceiling, and marks where a column does not hold the row."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.columns import shown
from planner.plan.checks import READING_PACE_TOKENS_PER_SEC
from planner.plan.scenario import COLUMNS
from planner.report.parts import Figure, cut, in_words, say, sentence

if TYPE_CHECKING:
    from planner.plan.study import Study
    from planner.plan.variants import TableCell, TableColumn, TableRow

COLUMNS_ACROSS: Final = 8
# Upper ends of the bands in tok/s, each twice the one before; the last band is open.
_BANDS: Final = (20, 40, 80, 160, 320)


@dataclass(frozen=True, slots=True)
class HeatHead:
    """A column of the heat map: the device or scenario, its bandwidth, its memory where known."""

    label: str
    bandwidth: str
    memory: str


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell: the ceiling, the band that colours it, and the mark where the weights do not fit."""

    value: str
    band: str
    mark: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A row: the size of the weights, what they are, its cells."""

    weights: str
    label: str
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A heat map no wider than a page."""

    heads: tuple[HeatHead, ...]
    rows: tuple[HeatRow, ...]


LEGEND: Final = (
    ("slow", f"below {READING_PACE_TOKENS_PER_SEC:g}, slower than reading"),
    *(
        (f"b{index}", f"{low:g}\u2013{high:g}")
        for index, (low, high) in enumerate(zip((READING_PACE_TOKENS_PER_SEC, *_BANDS), _BANDS, strict=False))
    ),
    (f"b{len(_BANDS)}", f"above {_BANDS[-1]}"),
)


def band(cell: TableCell) -> str:
    """The class of a cell's colour."""
    if cell.slow:
        return "slow"
    return f"b{sum(cell.tokens_per_sec >= end for end in _BANDS)}"


def heat_maps(study: Study) -> tuple[tuple[HeatMap, ...], Figure]:
    """The speed table in maps no wider than a page, and its headline."""
    table = study.table
    cells = [table.cell(row, column) for row in table.rows for column in table.columns]
    fast = sum(not cell.slow for cell in cells)
    figure = Figure(
        f"{sentence(in_words(fast))} of {in_words(len(cells))} pairs keep reading pace at the ceiling",
        "Per-stream ceiling (tok/s), efficiency 100%: bandwidth / weights",
    )
    parts = -(-len(table.columns) // COLUMNS_ACROSS)
    ends = [round(len(table.columns) * part / parts) for part in range(parts + 1)] if parts else []
    return tuple(_map(study, table.columns[a:b]) for a, b in itertools.pairwise(ends)), figure


def _map(study: Study, columns: tuple[TableColumn, ...]) -> HeatMap:
    return HeatMap(
        tuple(_head(column) for column in columns), tuple(_row(study, row, columns) for row in study.table.rows)
    )


def _head(column: TableColumn) -> HeatHead:
    total = None if column.memory_gb is None else column.memory_gb * column.devices
    return HeatHead(
        cut(column.label, 30),
        f"{shown('bandwidth_gb_s', COLUMNS['bandwidth_gb_s'], column.bandwidth_gb_s)} GB/s",
        "memory not given" if total is None else f"{shown('device_memory_gb', COLUMNS['device_memory_gb'], total)} GB",
    )


def _row(study: Study, row: TableRow, columns: tuple[TableColumn, ...]) -> HeatRow:
    cells = []
    for column in columns:
        cell = study.table.cell(row, column)
        mark = f"needs {cell.devices_needed:,.0f}" if cell.fits is False else ""
        cells.append(HeatCell(say("aggregate_tokens_per_sec", cell.tokens_per_sec), band(cell), mark))
    return HeatRow(f"{say('weights_gb', row.weights_gb)} GB", cut(row.label, 40), tuple(cells))
