"""The rows of a large sheet as XML, by patterns: one format string for all rows of the same shape.

A pattern is made by the sheet's own code, from a scenario whose numbers and names know which field they are, in a row
whose number stands out. So no sheet is described twice, and a row written by its pattern is the row that would have
been written cell by cell.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.headers import column_letters
from planner.plan.bulk_columns import NUMBERS
from planner.plan.evaluate import TEXTS
from planner.plan.scenario import FIGURES
from planner.plan.study import Case, Origin
from planner.workbook.cell_xml import (
    content,
    escaped,
    height_attributes,
    inline_text,
    kind_of,
    row_xml,
    stored,
    written,
)
from planner.workbook.layout import CellOut, line_height, lines_of, wrapped_heights
from planner.workbook.row_shapes import NO_SHAPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from planner.plan.bulk_columns import Codes
    from planner.plan.scenario import Result, Scenario
    from planner.workbook.layout import Rows, Style

# Rows written at once.
_CHUNK: Final = 8192
# Rows handed on together, as bytes: the texts of a whole chunk would stand in memory twice.
_PORTION: Final = 1024
# A pattern costs as much as a few rows.
_FEWEST: Final = 3
# Places in patterns: what differs from row to row, a look, and the row's own number, which stands everywhere.
_SLOT: Final = "\ue000{}\ue001"
_SLOTS: Final = re.compile("\ue000([^\ue001]*)\ue001")
_LOOK, _OWN = "\ue002", "\ue003"
_LOOKS: Final = re.compile("\ue002(\\d+)")
# Columns whose first rows hold so few numbers that their texts are worth keeping.
_SAMPLE: Final = 2048
_FEW: Final = 512
_MOST_KEPT: Final = 8 * _FEW
# Row numbers that no sheet has, with digits unlike those of any factor in a formula.
_FAR: Final = 731_904_600
_FAR_ORIGIN: Final = 846_203_517
_FAR_ROWS: Final = re.compile(r"(?<=[A-Z$])7319046(\d\d)")
_ORIGINS: Final = re.compile(rf"(?<=[A-Z$]){_FAR_ORIGIN}")


class _Number(float):
    """A number that knows its field, and says it where a formula would say the number."""

    of = ""

    def __format__(self, spec: str) -> str:
        return _SLOT.format(f"{self.of}|literal") if spec == ".15g" else super().__format__(spec)


class _Word(str):
    """A text that stands for a field's."""

    __slots__ = ()


def _number(value: float, of: str) -> _Number:
    number = _Number(value)
    number.of = of
    return number


def _numbers(holder: Scenario | Result, names: Iterable[str], of: str) -> dict[str, Any]:
    values = {name: getattr(holder, name) for name in names}
    return {name: _number(value, f"{of}.{name}") for name, value in values.items() if value is not None}


# The currency decides what is converted, so rows of one shape share it.
_OPEN_TEXTS: Final = TEXTS - {"currency"}


def _prototype(case: Case) -> Case:
    """A case whose values know their fields, in rows that stand out."""
    result, origin = case.result, case.origin
    given: dict[str, Any] = {
        name: _Word(_SLOT.format(f"text.{name}|literal")) for name in _OPEN_TEXTS if getattr(result.scenario, name)
    }
    given |= _numbers(result.scenario, NUMBERS, "in")
    scenario = dataclasses.replace(result.scenario, **given)
    figures = _numbers(result, FIGURES, "out")
    cells = {name: f"{cell.rstrip('0123456789')}{_FAR_ORIGIN}" for name, cell in origin.cells.items()}
    return Case(
        case.number,
        dataclasses.replace(result, scenario=scenario, **figures),
        Origin(origin.sheet, _FAR_ORIGIN, cells, origin.plain, origin.links),
    )


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The XML of rows of one shape: a format string, and what goes into it."""

    text: str
    taken: tuple[str, ...]

    @classmethod
    def of(cls, cells: Sequence[CellOut], rows: Rows, look: Callable[[Style], int]) -> _Pattern:
        wrapped = any(cell.style.wrap for cell in cells)
        text = f'<row r="{_OWN}"{_SLOT.format("height") if wrapped else ""}>'
        for cell in cells:
            computed = f"cell.{cell.column}" if cell.column in rows.computed else ""
            text += f'<c r="{column_letters(cell.column + 1)}{_OWN}" s="{_LOOK}{look(cell.style)}"'
            text += _with_formula(cell, computed) if cell.formula else _content(cell.value, computed)
        text += "</row>"
        text = _ORIGINS.sub(_SLOT.format("origin"), text)
        text = _FAR_ROWS.sub(lambda match: _row_at(int(match[1]), rows.first + 1), text)
        return cls(text, tuple(_SLOTS.findall(text)))

    def pieces(self, looks: Sequence[int]) -> list[str]:
        """The format string between the numbers of the row itself, with the looks that cells have in the workbook."""
        text = _LOOKS.sub(lambda match: str(looks[int(match[1])]), self.text).replace("%", "%%")
        return _SLOTS.sub("%s", text).split(_OWN)


def _row_at(distance: int, own: int) -> str:
    """A row's number by its distance from the scenario's number: the row itself, or one of another sheet."""
    return _OWN if distance == own else _SLOT.format(f"row.{distance}")


def _content(value: Any, computed: str) -> str:
    if computed:
        return _SLOT.format(f"{computed}|content")
    if isinstance(value, _Number):
        return f"><v>{_SLOT.format(f'{value.of}|number')}</v></c>"
    if isinstance(value, _Word):
        return f' t="inlineStr"><is>{value.replace("|literal", "|inline")}</is></c>'
    return content(value)


def _with_formula(cell: CellOut, computed: str) -> str:
    value = cell.value
    if computed:
        kind, held = _SLOT.format(f"{computed}|kind"), _SLOT.format(f"{computed}|stored")
    elif isinstance(value, _Number):
        kind, held = "", _SLOT.format(f"{value.of}|value")
    elif isinstance(value, _Word):
        kind, held = ' t="str"', value.replace("|literal", "|stored")
    else:
        kind, held = kind_of(value), stored(value)
    return f"{kind}><f>{escaped(cell.formula.removeprefix('='))}</f><v>{held}</v></c>"


@lru_cache(maxsize=4096)
def _literal(text: str) -> str:
    """A text as a formula in XML holds it between its quotes."""
    return escaped(text.replace('"', '""'))


class _Texts(dict[float, str]):
    """The texts of a column's numbers, kept while they are few."""

    __slots__ = ("form",)

    def __init__(self, form: Callable[[float], str]) -> None:
        super().__init__()
        self.form = form

    def __missing__(self, number: float) -> str:
        self[number] = text = self.form(number)
        return text


# How a number stands in a file: as a cell's own value, as a formula's, within a formula.
_NUMBERS: Final[Mapping[str, Callable[[float], str]]] = {
    "number": "{:.16G}".format,
    "value": repr,
    "literal": "{:.15g}".format,
}
_AS: Final[Mapping[str, Callable[[Any], str]]] = {
    "content": content,
    "kind": kind_of,
    "stored": stored,
    "inline": lru_cache(maxsize=4096)(inline_text),
    "literal": _literal,
}


class RowStream:
    """A sheet's rows, written as they are asked for."""

    def __init__(self, rows: Rows, look: Callable[[Style], int]) -> None:
        self.rows = rows
        self.looks: dict[Style, int] = {}
        self.patterns: tuple[_Pattern, ...] = ()
        # By what a pattern takes; None where the numbers of a field are too many to keep their texts.
        self.texts: dict[str, _Texts | None] = {}
        self._prepare(look)

    @property
    def last_row(self) -> int:
        """The last row's number, from 1."""
        return self.rows.first + len(self.rows.shapes)

    @property
    def last_column(self) -> int:
        """The last column, from 0."""
        return self.rows.last_column

    def _prepare(self, look: Callable[[Style], int]) -> None:
        """Make the pattern of each shape, and ask for every look once, while the workbook still takes new ones."""

        def noted(style: Style) -> int:
            if style not in self.looks:
                self.looks[style] = look(style)
            return self.looks[style]

        rows = self.rows
        shapes, first, shape_of, counts = np.unique(
            rows.shapes, return_index=True, return_inverse=True, return_counts=True
        )
        numbers: dict[_Pattern, int] = {}
        of_shape = np.full(len(shapes), NO_SHAPE)
        for number, (shape, at, count) in enumerate(zip(shapes, first.tolist(), counts.tolist(), strict=True)):
            if shape == NO_SHAPE or count < _FEWEST:
                for row in np.flatnonzero(shape_of == number).tolist():
                    for cell in rows.cells(row, rows.cases[row]):
                        noted(cell.style)
            else:
                pattern = _Pattern.of(list(rows.cells(_FAR, _prototype(rows.cases[at]))), rows, noted)
                # What differs elsewhere may be alike on this sheet.
                of_shape[number] = numbers.setdefault(pattern, len(numbers))
        self.patterns = tuple(numbers)
        self.pattern_of = of_shape[shape_of]

    def chunks(self, looks: Sequence[int]) -> Iterator[bytes]:
        """The rows as XML, in portions; ``looks`` says where each cell format stands in the workbook."""
        pieces = [pattern.pieces(looks) for pattern in self.patterns]
        mapped = {style: looks[number] for style, number in self.looks.items()}
        for start in range(0, len(self.pattern_of), _CHUNK):
            chunk = range(start, min(start + _CHUNK, len(self.pattern_of)))
            columns = _Columns(self.rows, self.texts, chunk)
            found: list[str] = [""] * len(chunk)
            for number, places in _groups(self.pattern_of[chunk.start : chunk.stop]):
                if number == NO_SHAPE:
                    made = [self._by_cells(chunk[place], mapped) for place in places]
                else:
                    made = columns.fill(pieces[number], self.patterns[number].taken, places)
                for place, text in zip(places, made, strict=True):
                    found[place] = text
            for first in range(0, len(found), _PORTION):
                yield "".join(found[first : first + _PORTION]).encode()

    def _by_cells(self, row: int, looks: Mapping[Style, int]) -> str:
        cells = list(self.rows.cells(row, self.rows.cases[row]))
        at = self.rows.first + row
        return row_xml(cells, looks, at, wrapped_heights(cells, self.rows.widths).get(at))


class _Columns:
    """What goes into the places of patterns, for some rows on end: each column is written once for all shapes."""

    def __init__(self, rows: Rows, texts: dict[str, _Texts | None], chunk: range) -> None:
        self.rows, self.texts, self.chunk = rows, texts, chunk
        self.columns: dict[str, list[str]] = {}
        self.values: dict[int, list[Any]] = {}

    def fill(self, pieces: list[str], taken: Sequence[str], places: list[int]) -> list[str]:
        """The rows at these places of the chunk, by what their pattern is between their numbers."""
        first = self.chunk.start + self.rows.first + 1
        # Joining by the row's number is faster than filling it in a hundred times.
        made = [str(first + place).join(pieces) for place in places]
        if not taken:
            return made
        columns = [self.column(each) for each in taken]
        picked: Iterable[tuple[str, ...]] = [tuple(column[places[0]] for column in columns)]
        if len(places) > 1:
            # Several values at a time, without a step of the interpreter for each.
            picked = zip(*map(itemgetter(*places), columns), strict=True)
        return [text % values for text, values in zip(made, picked, strict=True)]

    def column(self, taken: str) -> list[str]:
        """What goes into one place of a pattern, for each row."""
        if taken not in self.columns:
            self.columns[taken] = self._column(taken)
        return self.columns[taken]

    def _column(self, taken: str) -> list[str]:
        field, _, form = taken.partition("|")
        kind, _, name = field.partition(".")
        if kind == "height":
            return self._heights()
        if kind == "origin":
            return [str(self.rows.cases[row].origin.row) for row in self.chunk]
        if kind == "row":
            return [str(row + int(name)) for row in self.chunk]
        if kind == "cell":
            return list(map(_AS[form], self._values(int(name))))
        rows = slice(self.chunk.start, self.chunk.stop)
        if kind == "text":
            return self.rows.columns.said(name, _AS[form])[rows]
        columns = self.rows.columns.inputs if kind == "in" else self.rows.columns.figures
        if taken not in self.texts:
            few = len(np.unique(columns[name][:_SAMPLE])) <= _FEW
            self.texts[taken] = _Texts(_NUMBERS[form]) if few else None
        texts = self.texts[taken]
        if texts is not None:
            # No pattern takes what is missing, and each missing number is unlike all others.
            found = list(map(texts.__getitem__, np.nan_to_num(columns[name][rows]).tolist()))
            if len(texts) > _MOST_KEPT:
                self.texts[taken] = None
            return found
        numbers = columns[name][rows].tolist()
        return written(numbers) if form == "value" else list(map(_NUMBERS[form], numbers))

    def _values(self, column: int) -> list[Any]:
        if column not in self.values:
            value = self.rows.computed[column]
            self.values[column] = [value(row, self.rows.cases[row]) for row in self.chunk]
        return self.values[column]

    def _heights(self) -> list[str]:
        """The heights that wrapped texts need, which are among the computed cells."""
        lines = [1] * len(self.chunk)
        for column in self.rows.computed:
            if column in self.rows.wrapped:
                for at, value in enumerate(self._values(column)):
                    if isinstance(value, str):
                        lines[at] = max(lines[at], lines_of(value, self.rows.widths[column]))
        return [height_attributes(line_height(count) if count > 1 else None) for count in lines]


def _groups(patterns: Codes) -> Iterator[tuple[int, list[int]]]:
    """The places of each pattern, in their order."""
    order = np.argsort(patterns, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(patterns[order])) + 1):
        yield int(patterns[places[0]]), places.tolist()
