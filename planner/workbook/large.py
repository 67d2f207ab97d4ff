"""Large sheets through calamine, ten times as fast as openpyxl; rows of which calamine tells too little are left out.

calamine gives values alone. Which cells are shown as percent or as dates is read from the sheet's XML; rows with
errors, with formulas never worked out, under merges, or written in a form that is not looked for here, are left to
openpyxl, and a sheet that is written otherwise altogether is left to it as a whole.
"""

from __future__ import annotations

import io
import itertools
import logging
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from openpyxl.cell.cell import Cell as OpenpyxlCell
from openpyxl.utils.datetime import from_excel
from python_calamine import CalamineError, CalamineWorkbook

from planner.headers import Cell
from planner.workbook.shown import cell_of
from planner.workbook.slim import MOST_CELLS, slim

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from openpyxl import Workbook

    from planner.workbook.package import Package
    from planner.workbook.slim import RawSheet

log = logging.getLogger(__name__)
# From so many cells on, calamine is worth a second look at the XML.
LARGE_FROM: Final = 40_000
# calamine holds every cell up to the last row and column, filled or not.
_LARGEST_EXTENT: Final = 8_000_000
_LETTERS: Final = {chr(ord("A") + at): at + 1 for at in range(26)}
# Longer whole numbers are not told from what is written with an exponent.
_WHOLE: Final = 1e15
_ROW: Final = re.compile(rb'<row r="(\d{1,7})"')
_ODD_ROW: Final = re.compile(rb'<row(?! r="\d{1,7}")\b')
_HIDDEN: Final = re.compile(rb'<row r="(\d{1,7})"[^<>]*? hidden="(?:1|true)"')
_WIDE: Final = re.compile(rb'<c r="([A-Z]{2,3})\d')
# Cells that say more than a place, a look and a common type: errors, dates in ISO form, values of rich types.
_ODD_CELL: Final = re.compile(
    rb'<c(?! r="[A-Z]{1,3}\d{1,7}"(?: s="\d{1,5}")?(?: t="(?:n|s|b|str|inlineStr)")?/?>)[ />]'
)
# Formulas without a value and empty texts; numbers between blanks; rich texts; line ends and escapes, which the two
# readers take otherwise; whole numbers of more digits than a float holds.
_ODD: Final = (b"/></c>", b"<v></v>", b"<v> ", b" </v>", b"<rPh", b"\r")
_ODD_FORMULA: Final = (b"</f></c>", b"</f><v/>")
_ODD_INLINE: Final = (b"<is><r",)
_ESCAPE: Final = re.compile(rb"_x[0-9A-Fa-f]{4}_")
_LONG: Final = re.compile(rb"<v>-?\d{16}")
_TRUTH: Final = b't="b"'
# What stands in no sheet that a spreadsheet program writes.
_FOREIGN: Final = (b"<!", b"<?", b"</c>\n", b"</c> ", b"</c>\t", b"\0")


@dataclass(frozen=True, slots=True)
class Large:
    """A large sheet: its cells, what is left of them to openpyxl, and the numbers of the rows that are left."""

    sheet: RawSheet
    data: bytes
    rest: bytes
    left: frozenset[int]
    hidden: frozenset[int]


def split(sheet: RawSheet, strings: Callable[[], bytes]) -> Large | None:
    """A sheet as calamine and openpyxl read it together; None where openpyxl reads it alone.

    ``strings`` gives the part of the texts that cells share. Raises PlannerError where the sheet holds too many cells.
    """
    count = sheet.data.count(b"<c ")
    if count < LARGE_FROM or sheet.prefix:
        return None
    data = sheet.data if count <= MOST_CELLS else sheet.filled()
    if _ODD_ROW.search(data) or any(mark in data for mark in _FOREIGN) or _is_odd(strings()):
        return None
    starts, numbers = [], []
    for match in _ROW.finditer(data):
        starts.append(match.start())
        numbers.append(int(match[1]))
    if any(one >= other for one, other in itertools.pairwise(numbers)):
        return None
    wide = max((_column(letters) for letters in set(_WIDE.findall(data))), default=len(_LETTERS))
    if numbers[-1] * wide > _LARGEST_EXTENT:
        return None
    odd = {bisect_right(starts, at) - 1 for at in _odd_places(data)}
    for area in sheet.merges:
        odd.update(range(bisect_left(numbers, area.first_row), bisect_right(numbers, area.last_row)))
    ends = [*starts[1:], data.rfind(b"</sheetData>")]
    kept = b"".join(data[starts[at] : ends[at]] for at in sorted(odd))
    hidden = frozenset(int(match[1]) for match in _HIDDEN.finditer(data)) if b" hidden=" in data else frozenset()
    rest = replace(sheet, data=b"<sheetData>" + kept + b"</sheetData>").filled()
    return Large(sheet, data, rest, frozenset(numbers[at] for at in odd), hidden)


def _is_odd(strings: bytes) -> bool:
    """Whether shared texts hold escapes or line ends that the two readers take otherwise."""
    return bool(_ESCAPE.search(strings)) or b"\r" in strings[strings.find(b"<sst") :]


def _odd_places(data: bytes) -> Iterator[int]:
    # Many megabytes are looked through for each, so for no more than can be there.
    formulas, inline = _ODD_FORMULA if b"</f>" in data else (), _ODD_INLINE if b"<is>" in data else ()
    for mark in (*_ODD, *formulas, *inline):
        at = data.find(mark)
        while at >= 0:
            yield at
            at = data.find(mark, at + 1)
    for pattern in (_ODD_CELL, _ESCAPE, _LONG):
        yield from (match.start() for match in pattern.finditer(data))


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.decode():
        number = number * 26 + _LETTERS[letter]
    return number


def read_large(package: Package, large: Large, book: Workbook) -> dict[int, dict[int, Cell]] | None:
    """The rows that calamine reads of a sheet, by number; None where it stops at something.

    ``book`` knows the number formats, as openpyxl reads them.
    """
    name = large.sheet.name
    # Without formats calamine gives dates as the numbers that they are; openpyxl's own rules make dates of them.
    data = slim(package, {name: large.sheet.part(large.data)}, formats=False)
    try:
        listed = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_name(name)
        lines = listed.to_python(skip_empty_area=False)
    except (CalamineError, ValueError):
        log.debug("calamine could not read %s", package.path, exc_info=True)
        return None
    made = _Cells(book)
    rows: dict[int, dict[int, Cell]] = {}
    columns = range(1, len(lines[0]) + 1) if lines else ()
    # TRUE equals 1, so that the cell of one may stand for the other's only where there is no truth value at all.
    plain = made.plain if _TRUTH in large.data else made.kept.__getitem__
    for row, line in enumerate(lines, 1):
        if row not in large.left:
            # Most rows are full, and made without a step of the interpreter for each cell.
            cells = (
                {column: plain(value) for column, value in enumerate(line, 1) if value != ""}
                if "" in line
                else dict(zip(columns, map(plain, line), strict=True))
            )
            if cells:
                rows[row] = cells
    for row, column, style in made.telling(large.data):
        cell = rows.get(row, {}).get(column)
        if cell is not None and type(cell.value) in {int, float}:
            rows[row][column] = made.shown(cell.value, style)
    return rows


class _Kept(dict[Any, Cell]):
    """The cell of each value that is no truth value."""

    def __missing__(self, value: Any) -> Cell:
        # openpyxl tells whole numbers by how they are written; calamine gives floats alone.
        whole = type(value) is float and value.is_integer() and abs(value) < _WHOLE
        self[value] = found = Cell(int(value) if whole else value)
        return found


class _Cells:
    """Cells by their value, the same one for equal values: a column holds the same few over and over."""

    def __init__(self, book: Workbook) -> None:
        self.book = book
        known: Any = book  # what its own reader knows of formats has no public name
        self.dates, self.spans = known._date_formats, known._timedelta_formats  # noqa: SLF001
        self.formats = _formats(book, known._cell_styles, self.dates)  # noqa: SLF001
        self.kept = _Kept()
        self.switches = {True: Cell(True), False: Cell(False)}
        self.looks: dict[tuple[float, int], Cell] = {}

    def plain(self, value: Any) -> Cell:
        return self.switches[value] if type(value) is bool else self.kept[value]

    def telling(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """The cells, by row and column, whose look says more than their value, and that look."""
        looks = "|".join(map(str, self.formats)).encode()
        columns: dict[bytes, int] = {}
        if not looks:
            return
        for letters, row, style in re.findall(rb'<c r="([A-Z]{1,3})(\d+)" s="(%b)"' % looks, data):
            column = columns.get(letters) or columns.setdefault(letters, _column(letters))
            yield int(row), column, int(style)

    def shown(self, value: float, style: int) -> Cell:
        """The cell of a number that is shown as the style says."""
        found = self.looks.get((value, style))
        if found is None:
            found = self.looks[value, style] = self._shown(value, style)
        return found

    def _shown(self, value: float, style: int) -> Cell:
        shown = self.formats[style]
        if style not in self.dates:
            return cell_of(value, shown)
        try:
            moment = from_excel(value, self.book.epoch, timedelta=style in self.spans)
        except (OverflowError, ValueError):
            return Cell("#VALUE!", error=True)
        return cell_of(moment, shown)


def _formats(book: Workbook, styles: Sequence[Any], dates: Container[int]) -> Mapping[int, str]:
    """The number format of each look that says more than its cells' values."""
    sheet = book.worksheets[0]
    found = {}
    for number, style in enumerate(styles):
        shown = OpenpyxlCell(sheet, 1, 1, style_array=style).number_format or ""
        if number in dates or cell_of(0, shown) != Cell(0):
            found[number] = shown
    return found
