"""The speed table as a heat map: bands of the per-stream ceiling, and marks where a column does not hold the row."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner import columns
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.report.numbers import in_text, localised, rounded
from planner.report.parts import cut, digits, in_words, say, sentence, width_of
from planner.report.shapes import Figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Study
    from planner.plan.variants import TableCell, TableColumn, TableRow

COLUMNS_ACROSS: Final = 8
# Millimetres: what the columns of a map share, and a letter of a head that must not break.
_ROOM: Final = 136.0
_LETTER: Final = 1.25
# Upper ends of the bands in tok/s, each twice the one before; the last band is open.
_BANDS: Final = (20, 40, 80, 160, 320)


@dataclass(frozen=True, slots=True)
class HeatHead:
    """A column of the heat map: the device or scenario, its bandwidth, its memory where known.

    ``reference`` says that it is planner's own, and not one of a scenario.
    """

    label: str
    bandwidth: str
    memory: str
    reference: bool = False


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell: the ceiling, the band that colours it, and the mark where the weights do not fit."""

    value: str
    band: str
    mark: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A row: the size of the weights, what they are, its cells; ``reference`` as for a column."""

    weights: str
    label: str
    cells: tuple[HeatCell, ...]
    reference: bool = False


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
    able = sum(not cell.slow and cell.fits is not False for cell in cells)
    unknown = "; a pair of unknown memory counts as fitting" if any(cell.fits is None for cell in cells) else ""
    figure = Figure(
        f"{sentence(in_words(able)) if able else 'None'} of {in_words(len(cells))} pairs fit and keep reading pace",
        f"Per-stream ceiling (tok/s), efficiency 100%: bandwidth / weights{unknown}",
    )
    parts = -(-len(table.columns) // _across(table.columns))
    ends = [round(len(table.columns) * part / parts) for part in range(parts + 1)] if parts else []
    # Thousands of scenarios have the same few sizes and devices.
    held = {_device_of(case.result) for case in study.cases}
    sizes = {case.result.weights_gb or 0.0 for case in study.cases}
    heads = [_head(column, held) for column in table.columns]
    return tuple(_map(study, heads[a:b], table.columns[a:b], sizes) for a, b in itertools.pairwise(ends)), figure


def _across(columns: tuple[TableColumn, ...]) -> int:
    """How many columns a map bears: a head such as '2 x 2,039 GB/s' stays on one line."""
    longest = max((width_of(column.label) for column in columns if unbroken(column.label)), default=0.0)
    return max(1, min(COLUMNS_ACROSS, int(_ROOM / (longest * _LETTER + 1)))) if longest else COLUMNS_ACROSS


def unbroken(label: str) -> bool:
    """Whether a head is a count and a bandwidth, which must not break over lines."""
    return bool(re.fullmatch(r"\S+ x \S+ GB/s", label))


def _map(study: Study, heads: Sequence[HeatHead], columns: tuple[TableColumn, ...], sizes: Iterable[float]) -> HeatMap:
    return HeatMap(tuple(heads), tuple(_row(study, row, columns, sizes) for row in study.table.rows))


_Device = tuple[float | None, float, float | None]


def _device_of(result: Result) -> _Device:
    """By what a scenario is a column: its bandwidth, how many devices, and the memory of one."""
    scenario = result.scenario
    return result.bandwidth_gb_s, scenario.devices or 1.0, scenario.device_memory_gb


def _head(column: TableColumn, held: Iterable[_Device]) -> HeatHead:
    total = None if column.memory_gb is None else column.memory_gb * column.devices
    label = in_text(cut(column.label, 30))
    return HeatHead(
        label.replace(" ", NO_BREAK) if unbroken(column.label) else label,
        f"{digits(column.bandwidth_gb_s)} GB/s",
        "memory not given" if total is None else f"{digits(total)} GB",
        not any(
            (bandwidth, devices) == (column.bandwidth_gb_s, column.devices) and memory_gb in {None, column.memory_gb}
            for bandwidth, devices, memory_gb in held
        ),
    )


def _row(study: Study, row: TableRow, columns: tuple[TableColumn, ...], sizes: Iterable[float]) -> HeatRow:
    cells = []
    for column in columns:
        cell = study.table.cell(row, column)
        mark = f"needs {rounded(cell.devices_needed or 0.0, 0)}" if cell.fits is False else ""
        cells.append(HeatCell(_rate(cell), band(cell), mark))
    reference = not any(math.isclose(size, row.weights_gb) for size in sizes)
    return HeatRow(f"{say('weights_gb', row.weights_gb)} GB", cut(row.label, 40), tuple(cells), reference)


def _rate(cell: TableCell) -> str:
    """The ceiling; with more digits where it would be shown as reading pace and is below."""
    pace = f"{READING_PACE_TOKENS_PER_SEC:g}"
    for decimals in range(1, 7):
        text = columns.rounded(cell.tokens_per_sec, decimals)
        if not cell.slow or text.rstrip("0").rstrip(".") != pace:
            return localised(text)
    return f"below {pace}"


NO_BREAK: Final = "\u00a0"
