"""A sheet of one row per scenario whose figures are live calls, in the way that each row's figure was made.

Columns are said as parts under a common heading; what a formula takes stands in the same row, so that a person can
follow it from cell to cell.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner.columns import Text
from planner.plan.evaluate import known_of
from planner.plan.fill import FROM_EFFICIENCY, FROM_PARAMETERS
from planner.plan.recipes import way_of
from planner.plan.scenario import COLUMNS, FIGURES, figure_header, header_of
from planner.plan.ways import parameters_of
from planner.units import unit_of
from planner.workbook.layout import (
    BLUE,
    GREY,
    LINE,
    PALE,
    CellOut,
    Rows,
    Sheet,
    Style,
    address,
    head_height,
    on_sheet,
    wrapped_heights,
)
from planner.workbook.money_looks import with_currency
from planner.workbook.results_sheet import (
    COLUMN_OF,
    FIRST_ROW,
    HEAD,
    HEAD_FIGURE,
    HEAD_TEXT,
    LINK,
    Functions,
    Writing,
    bits_cell,
    input_cell,
    style_of,
)
from planner.workbook.table_sheets import LEDE, TITLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.plan.study import Case, Study
    from planner.plan.ways import Way
    from planner.workbook.layout import Chart, Rule
    from planner.workbook.row_shapes import RowShapes

PART_ROW: Final = 2
HEAD_ROW: Final = 3
ROW: Final = 4
_HEAD_HEIGHT: Final = 48.0
_NAME_WIDTH: Final = 40.0
_WIDTH: Final = 12.0
# Decimals where a number would show as many as it has.
_FORMATS: Final[Mapping[str, str]] = {
    "low_factor": "0.00",
    "high_factor": "0.00",
    "utilisation": "0%",
    "params_read_b": "#,##0.0",
    "expert_params_b": "#,##0.00",
    "active_params_b": "#,##0.0",
    "streamed_params_b": "#,##0.0",
}


@cache
def _style_named(name: str) -> Style:
    """The look of a column's cells, asked for at every cell of a large sheet."""
    found = style_of(name, FIGURES.get(name) or COLUMNS[name])
    return dataclasses.replace(found, number_format=_FORMATS.get(name, found.number_format), top_aligned=True)


@dataclass(frozen=True, slots=True)
class Spec:
    """A column: the field that it shows, and a label of its own where the field's would not say enough here."""

    name: str
    label: str = ""

    @property
    def header(self) -> str:
        """The header, unit included."""
        if self.label:
            unit = unit_of(self.name).symbol
            return f"{self.label} ({unit})" if unit else self.label
        return figure_header(self.name) if self.name in FIGURES else header_of(self.name)

    @property
    def help(self) -> str:
        """What the column is, for its note."""
        return (FIGURES.get(self.name) or COLUMNS[self.name]).help

    @property
    def style(self) -> Style:
        """The look of its cells."""
        return _style_named(self.name)


@dataclass(frozen=True, slots=True)
class Made(Spec):
    """A figure, made in the way that its row takes; its input's cell where it was typed or filled."""


@dataclass(frozen=True, slots=True)
class Bits(Spec):
    """The bits of the precision in another column."""

    of: str = ""


@dataclass(frozen=True, slots=True)
class Given(Spec):
    """An input: live from the scenario sheet, or the value that the run filled in."""


@dataclass(frozen=True, slots=True)
class Setting(Spec):
    """A word that chose at the run how figures are made, so that no later edit of it can count."""


@dataclass(frozen=True, slots=True)
class Repeat(Spec):
    """A figure or an input that stands on another sheet: ``Results`` unless said otherwise."""

    sheet: str = "Results"


@dataclass(frozen=True, slots=True)
class Said(Spec):
    """A text or verdict of its own: ``cell`` gives value and formula of a row."""

    width: float = _WIDTH
    align: str = "left"
    shown: str = "General"
    note: str = ""
    cell: Callable[[RowSheet, Case, int, Mapping[str, Any]], tuple[Any, str]] = lambda *_: (None, "")
    # The value alone, where that is less work: large sheets ask for it row by row.
    value: Callable[[Case], Any] | None = None

    @property
    def header(self) -> str:
        """The header."""
        return self.label

    @property
    def help(self) -> str:
        """What the column says, for its note."""
        return self.note

    @property
    def style(self) -> Style:
        """Wrapped, so that a long text can be read."""
        wrap, bold = self.align == "left", self.align == "center"
        return Style(
            indent=int(wrap),
            wrap=wrap,
            bottom=LINE,
            align=self.align,
            bold=bold,
            top_aligned=True,
            number_format=self.shown,
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Columns under one heading."""

    title: str
    columns: tuple[Spec, ...]


def columns_of(parts: Sequence[Part]) -> dict[str, int]:
    """Where each field stands; the name comes first."""
    return {"name": 0} | {
        spec.name: at for at, spec in enumerate((spec for part in parts for spec in part.columns), start=1)
    }


@dataclass(frozen=True)
class RowSheet:
    """The sheet of a study by its parts."""

    study: Study
    writing: Writing
    kind: str
    parts: tuple[Part, ...]
    title: str
    lede: str
    # Where the fields of other sheets stand, by sheet.
    elsewhere: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    # Figures for which a formula stands even where the run had none, and what would have to be known for it.
    open_figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # What stands in headers for money, and number formats that follow from the study's own values.
    money: str = "money"
    formats: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def columns(self) -> dict[str, int]:
        """Where each field stands on this sheet."""
        return columns_of(self.parts)

    @cached_property
    def widths(self) -> dict[int, float]:
        """The columns' widths."""
        specs = [spec for part in self.parts for spec in part.columns]
        return {0: _NAME_WIDTH} | {self.columns[spec.name]: _width(spec) for spec in specs}

    @property
    def last_row(self) -> int:
        """The last scenario's row."""
        return ROW + max(len(self.study.cases), 1) - 1

    def at(self, name: str, row: int = ROW, *, fix_column: bool = False) -> str:
        """The address of a field's cell in a row."""
        return address(row, self.columns[name], fix_column=fix_column)

    def area(self, name: str) -> tuple[int, int, int, int]:
        """The cells of a field."""
        return (ROW, self.columns[name], self.last_row, self.columns[name])

    def describe(
        self,
        rules: Sequence[Rule],
        below: Sequence[CellOut] = (),
        charts: Sequence[Chart] = (),
        below_heights: Mapping[int, float] = MappingProxyType({}),
    ) -> Sheet:
        """The sheet, with what stands below its table."""
        specs = [spec for part in self.parts for spec in part.columns]
        widths = self.widths
        rows = self._patterned(specs, widths, self.writing.shapes) if self.writing.shapes else None
        cells = [*self._heads(), *([] if rows else self._rows()), *below]
        last = len(specs)
        tallest = head_height((self.header(spec), widths[self.columns[spec.name]]) for spec in specs)
        heights = wrapped_heights((cell for cell in cells if ROW <= cell.row <= self.last_row), widths)
        return Sheet(
            name=self.writing.names[self.kind],
            cells=cells,
            rows=rows,
            widths=widths,
            freeze=(ROW, 1),
            filter=(HEAD_ROW, 0, self.last_row, last),
            merges=[
                (PART_ROW, self.columns[part.columns[0].name], PART_ROW, self.columns[part.columns[-1].name])
                for part in self.parts
                if len(part.columns) > 1
            ],
            rules=rules,
            charts=charts,
            notes={(HEAD_ROW, self.columns[spec.name]): spec.help for spec in specs if spec.help},
            heights={HEAD_ROW: max(_HEAD_HEIGHT, tallest)} | heights | dict(below_heights),
            repeat_rows=(PART_ROW, HEAD_ROW),
            repeat_columns=(0, 0),
            mark=self.kind.casefold(),
            tab=BLUE,
        )

    def header(self, spec: Spec) -> str:
        """A column's header, with the currency in it."""
        return with_currency(spec.header, self.money)

    def _heads(self) -> Iterator[CellOut]:
        yield CellOut(0, 0, self.title, style=TITLE)
        yield CellOut(1, 0, self.lede, style=LEDE)
        yield CellOut(PART_ROW, 0, None, style=HEAD_TEXT)
        yield CellOut(HEAD_ROW, 0, header_of("name"), style=HEAD_TEXT)
        for part in self.parts:
            look = HEAD_FIGURE if any(isinstance(spec, Made | Said) for spec in part.columns) else HEAD
            for index, spec in enumerate(part.columns):
                yield CellOut(PART_ROW, self.columns[spec.name], None if index else part.title, style=look)
                head = dataclasses.replace(look, align="left", indent=1) if isinstance(spec, Setting) else look
                yield CellOut(HEAD_ROW, self.columns[spec.name], self.header(spec), style=head)

    def _rows(self) -> Iterator[CellOut]:
        for index, case in enumerate(self.study.cases):
            yield from self._row(index, case)

    def _row(self, index: int, case: Case) -> Iterator[CellOut]:
        yield CellOut(ROW + index, 0, case.name, self.writing.link(case), dataclasses.replace(LINK, top_aligned=True))
        known = _known(case)
        for part in self.parts:
            for spec in part.columns:
                yield self._cell(spec, case, index, known)

    def _patterned(self, specs: Sequence[Spec], widths: Mapping[int, float], shapes: RowShapes) -> Rows:
        """The rows of a large study, by their shapes."""
        said = {self.columns[spec.name]: spec for spec in specs if isinstance(spec, Said)}
        return Rows(
            first=ROW,
            cases=self.study.cases,
            columns=shapes,
            shapes=shapes.of(self.open_figures),
            cells=self._row,
            computed={column: self._value_of(spec) for column, spec in said.items()},
            widths=widths,
            wrapped=frozenset(column for column, spec in said.items() if spec.style.wrap),
            last_column=len(specs),
        )

    def _value_of(self, spec: Said) -> Callable[[int, Case], Any]:
        """What gives the value of a text or verdict, without its formula."""
        if spec.value is not None:
            value = spec.value
            return lambda _, case: value(case)
        return lambda index, case: spec.cell(self, case, ROW + index, _known(case))[0]

    def _cell(self, spec: Spec, case: Case, index: int, known: Mapping[str, Any]) -> CellOut:
        at, name, scenario = (ROW + index, self.columns[spec.name]), spec.name, case.result.scenario
        look = self.looks[name]
        match spec:
            case Said():
                value, formula = spec.cell(self, case, at[0], known)
                return CellOut(*at, value, formula if self.writing.functions is not Functions.NONE else "", look)
            case Repeat():
                value = getattr(case.result if name in FIGURES else scenario, name)
                first, there = (FIRST_ROW, COLUMN_OF) if spec.sheet == "Results" else (ROW, self.elsewhere[spec.sheet])
                cell = address(first + index, there[name])
                formula = self.writing.reference(self.writing.names[spec.sheet], cell, blank=value is None)
                return CellOut(*at, value, formula, look)
            case Setting():
                word = _called(name, getattr(scenario, name))
                return CellOut(*at, word, style=dataclasses.replace(look, align="left", indent=1))
            case Bits():
                value = getattr(case.result, name)
                return bits_cell(at, self.at(spec.of, at[0]), value, self.writing, self.pale_looks[name])
            case Made() if getattr(scenario, name, None) is None:
                return CellOut(*at, *self.figure(name, at[0], case, known), self.pale_looks[name])
            case _:
                return input_cell(at, name, case, self.writing, look, blank=self._follows(name, case, index))

    @cached_property
    def looks(self) -> dict[str, Style]:
        """The look of each column's cells."""
        found = {}
        for spec in (spec for part in self.parts for spec in part.columns):
            shown = self.formats.get(spec.name, spec.style.number_format)
            look = dataclasses.replace(spec.style, number_format=shown)
            if isinstance(spec, Given) and type(COLUMNS[spec.name].rule) is Text:
                look = dataclasses.replace(look, align="left", indent=1)
            found[spec.name] = dataclasses.replace(look, colour=GREY) if isinstance(spec, Repeat) else look
        return found

    @cached_property
    def pale_looks(self) -> dict[str, Style]:
        """The look of each column's cells where they hold figures."""
        return {name: dataclasses.replace(look, fill=PALE) for name, look in self.looks.items()}

    def _follows(self, name: str, case: Case, index: int) -> str:
        """The cell that an input without one of its own follows, where it is just another input's value."""
        other = {FROM_EFFICIENCY: "efficiency", FROM_PARAMETERS: "params_b"}.get(case.result.sources.get(name, ""), "")
        scenario = case.result.scenario
        if not other or getattr(scenario, other) is None or getattr(scenario, other) != getattr(scenario, name):
            return ""
        return on_sheet(self.writing.names["Results"], address(FIRST_ROW + index, COLUMN_OF[other]))

    def figure(self, name: str, row: int, case: Case, known: Mapping[str, Any]) -> tuple[float | None, str]:
        """A figure and the call that makes it, by the way that was taken at the run."""
        value: float | None = getattr(case.result, name)
        way = way_of(name, {**known, **self.open_figures.get(name, {})})
        if way is None:
            return value, ""
        return value, self.writing.formula(way.formula, self._bound(way, row), value)

    def _bound(self, way: Way, row: int) -> dict[str, str]:
        """The cells that a way's formula takes, its numbers written as they are."""
        taken = {parameter: way.takes(parameter) for parameter in parameters_of(way.formula)}
        return {p: self.at(x, row) if isinstance(x, str) else f"{x:.15g}" for p, x in taken.items()}


def _known(case: Case) -> dict[str, Any]:
    """All that a case's figures are made from, the figures among it."""
    return known_of(case.result.scenario) | {name: getattr(case.result, name) for name in FIGURES}


def _is_text(spec: Spec) -> bool:
    return isinstance(spec, Said) or isinstance((FIGURES.get(spec.name) or COLUMNS[spec.name]).rule, Text)


def _width(spec: Spec) -> float:
    if isinstance(spec, Said):
        return spec.width
    return 24.0 if spec.name in {"device", "engine", "model", "price_source"} else 16.0 if _is_text(spec) else _WIDTH


def _called(name: str, value: str | None) -> str | None:
    """What a choice's word is called."""
    return dict(getattr(COLUMNS[name].rule, "words", ())).get(value, value)
