"""What a sheet holds, said without any Excel library: cells, formulas, looks, rules and charts.

Rows and columns count from 0 here; :func:`address` writes them as Excel does.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from planner.headers import column_letters
from planner.issues import quoted_sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from planner.plan.bulk_columns import Codes
    from planner.plan.study import Case
    from planner.workbook.row_shapes import RowShapes

# A hidden name of this spelling, scoped to the sheet, tells our result sheets from a user's sheet of the same name.
MARK: Final = "_planner_sheet"
# Stands among the properties of every workbook that the file writer makes.
WRITTEN_BY: Final = "Written by planner."
LONGEST_SHEET_NAME: Final = 31

NAVY: Final = "#0B3954"
BLUE: Final = "#075F98"
GREY: Final = "#5B6673"
PALE: Final = "#EAF1F6"
LINE: Final = "#D5DBE1"
RUST: Final = "#B3430E"
RUST_PALE: Final = "#FDECE2"
AMBER_PALE: Final = "#FFF6DB"


@dataclass(frozen=True, slots=True)
class Style:
    """How a cell looks."""

    number_format: str = "General"
    bold: bool = False
    italic: bool = False
    fill: str = ""
    colour: str = ""
    wrap: bool = False
    align: str = ""
    underline: bool = False
    bottom: str = ""
    size: int = 0
    top_aligned: bool = False
    indent: int = 0


@dataclass(frozen=True, slots=True)
class CellOut:
    """A cell to write: its value, and the formula of which it is the stored value, if any."""

    row: int
    column: int
    value: Any
    formula: str = ""
    style: Style = Style()


@dataclass(frozen=True, slots=True)
class Rule:
    """A conditional format: where, the formula that switches it on, and how it looks then."""

    area: tuple[int, int, int, int]
    formula: str
    fill: str = ""
    colour: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A chart's series: the cells of its name, categories and values; and how it is drawn where not as the others.

    Looks: ``marks`` over columns, ``dashed`` beside lines, ``unseen`` where it only takes its place in a stack.
    """

    sheet: str
    name: tuple[int, int]
    categories: tuple[int, int, int, int]
    values: tuple[int, int, int, int]
    look: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A native chart: its kind, titles, series, the cell at which it stands, and the formats of its axes.

    Kinds: ``line``, ``column``, ``column_stacked``, and ``bar_stacked``, whose first category is on top.
    """

    kind: str
    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    at: tuple[int, int]
    shown: str = "#,##0"
    x_shown: str = ""
    # Where the largest value would leave the others no height: the power of ten from which on the axis is logarithmic.
    log_from: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A drop-down: where, and what it offers."""

    area: tuple[int, int, int, int]
    values: tuple[str, ...]
    title: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of a large sheet, one a scenario, for writers that write rows of the same shape by one pattern.

    ``cells`` gives a row's cells by its number and case, ``computed`` the values of those cells that show no field of
    the scenario or its result, and ``wrapped`` the columns of texts that may need a higher row.
    """

    first: int
    cases: Sequence[Case]
    columns: RowShapes
    shapes: Codes
    cells: Callable[[int, Case], Iterable[CellOut]]
    computed: Mapping[int, Callable[[int, Case], Any]]
    widths: Mapping[int, float]
    wrapped: frozenset[int] = frozenset()
    last_column: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Rows of a long list, for writers that write one after another.

    ``values`` gives the columns of some rows on end, ``links`` the formulas of the columns whose cells are linked, an
    empty text where one is not. ``styles`` are the looks of the columns, ``linked`` that of cells with a formula.
    """

    first: int
    count: int
    values: Callable[[range], Sequence[Sequence[Any]]]
    links: Callable[[range], Mapping[int, Sequence[str]]]
    styles: Sequence[Style]
    linked: Style
    widths: Mapping[int, float]

    def cells(self) -> Iterator[CellOut]:
        """The cells, for writers that write cell by cell."""
        rows = range(self.count)
        links = self.links(rows)
        for column, values in enumerate(self.values(rows)):
            formulas = links.get(column) or [""] * self.count
            for at, value, formula in zip(rows, values, formulas, strict=True):
                style = self.linked if formula else self.styles[column]
                yield CellOut(self.first + at, column, value, formula, style)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One sheet, whatever writes it; ``rows`` come on top of ``cells`` where a sheet is large."""

    name: str
    cells: Iterable[CellOut]
    rows: Rows | Lines | None = None
    widths: Mapping[int, float] = field(default_factory=dict)
    freeze: tuple[int, int] = (0, 0)
    filter: tuple[int, int, int, int] | None = None
    merges: Sequence[tuple[int, int, int, int]] = ()
    rules: Sequence[Rule] = ()
    charts: Sequence[Chart] = ()
    choices: Sequence[Choice] = ()
    notes: Mapping[tuple[int, int], str] = field(default_factory=dict)
    heights: Mapping[int, float] = field(default_factory=dict)
    landscape: bool = True
    repeat_rows: tuple[int, int] | None = None
    repeat_columns: tuple[int, int] | None = None
    gridlines: bool = True
    mark: str = ""
    tab: str = ""


# As a chart is written, and a row and columns as every program shows them at its own size.
CHART_PIXELS: Final = (620, 400)
CHART_ROWS: Final = 21
_UNSET_PIXELS: Final = 64


def chart_columns(widths: Mapping[int, float], count: int) -> list[int]:
    """The columns at which charts stand side by side, none over another, nor over the names that each page repeats.

    >>> chart_columns({0: 40.0, 1: 30.0}, 3)
    [1, 9, 19]
    """
    found: list[int] = []
    column, at, free = 1, 0, 0
    while len(found) < count:
        if at >= free:
            found.append(column)
            free = at + CHART_PIXELS[0] + _GAP_PIXELS
        at += _pixels(widths[column]) if column in widths else _UNSET_PIXELS
        column += 1
    return found


_GAP_PIXELS: Final = 10


def _pixels(width: float) -> int:
    # Seven pixels a digit and five of margin, as in the font that workbooks start with.
    return int(width * 7 + 5)


_LINE_HEIGHT: Final = 15.0
# Bold letters are wider than the digits that a width counts.
_HEAD_FILL: Final = 0.92


def head_height(heads: Iterable[tuple[str, float]]) -> float:
    """The height of a row of heads, each with its column's width.

    >>> head_height([("Cost per M output (own currency/M tokens)", 12.0), ("Rent", 12.0)])
    63.0
    """
    lines = [len(textwrap.wrap(text, max(int(width * _HEAD_FILL), 1))) for text, width in heads]
    return _LINE_HEIGHT * max(lines, default=1) + 3


# Fonts differ between programs, so a line is taken to hold a little less than its column's width says.
_FILL: Final = 0.97


def lines_of(text: str, width: float) -> int:
    """How many lines a wrapped text takes in a column of this width."""
    return lines_of_length(len(text), width)


def lines_of_length(length: int, width: float) -> int:
    """How many lines a wrapped text of this length takes."""
    return math.ceil(length / (width * _FILL))


def line_height(lines: int) -> float:
    """The height of a row of several lines."""
    return _LINE_HEIGHT * lines + 1


def wrapped_heights(cells: Iterable[CellOut], widths: Mapping[int, float]) -> dict[int, float]:
    """The height of each row that its wrapped texts need; programs other than Excel do not work it out."""
    lines: dict[int, int] = {}
    for cell in cells:
        if cell.style.wrap and isinstance(cell.value, str):
            lines[cell.row] = max(lines.get(cell.row, 1), lines_of(cell.value, widths[cell.column]))
    return {row: line_height(count) for row, count in lines.items() if count > 1}


def address(row: int, column: int, *, fix_row: bool = False, fix_column: bool = False) -> str:
    """A cell as Excel writes it, from 0-based row and column.

    >>> address(4, 5), address(4, 5, fix_row=True)
    ('F5', 'F$5')
    """
    return f"{'$' if fix_column else ''}{column_letters(column + 1)}{'$' if fix_row else ''}{row + 1}"


def on_sheet(sheet: str, cell: str) -> str:
    """A cell of another sheet as a formula writes it.

    >>> on_sheet("Speed table", "B2")
    "'Speed table'!B2"
    """
    return f"{quoted_sheet(sheet)}!{cell}"


def mark_text(mark: str, sheet: str) -> str:
    r"""What the hidden name of a result sheet says: which sheet it is, and where it stands.

    Programs that count sheets otherwise than Excel put names on other sheets; a reference stays with its own.

    >>> mark_text("speed table", "Speed table")
    'CHOOSE(1,"speed table",\'Speed table\'!$A$1)'
    """
    return f'CHOOSE(1,"{mark}",{on_sheet(sheet, "$A$1")})'


def text_literal(text: str) -> str:
    """A text as a formula writes it; Excel takes at most 255 characters there."""
    limit = 255
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return '"' + cut.replace('"', '""') + '"'


def unique_name(wanted: str, taken: Iterable[str]) -> str:
    """The wanted sheet name, with a suffix where a user's sheet bears it already.

    >>> unique_name("Results", ["results"])
    'Results (planner)'
    """
    lower = {name.casefold() for name in taken}
    candidates = (f"{wanted} (planner{'' if n == 1 else f' {n}'})"[:LONGEST_SHEET_NAME] for n in range(1, 1000))
    return wanted if wanted.casefold() not in lower else next(c for c in candidates if c.casefold() not in lower)
