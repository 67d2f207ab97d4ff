"""The Results sheet: one row per scenario, its inputs first, then every figure as a live formula."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.columns import PrecisionName, Text, number_format
from planner.formulas import speed
from planner.functions import call_text, plain_text
from planner.guards import precision_lookup
from planner.issues import Severity
from planner.plan.checks import FLAGS
from planner.plan.evaluate import FORMULAS
from planner.plan.limits import BATCH_NOTED_FROM, BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE
from planner.plan.resolve import TYPED
from planner.plan.scenario import COLUMNS, CORE_COLUMNS, FIGURES, figure_header, header_of
from planner.plan.ways import parameters_of
from planner.workbook.layout import (
    AMBER_PALE,
    BLUE,
    GREY,
    LINE,
    NAVY,
    PALE,
    RUST,
    RUST_PALE,
    CellOut,
    Rows,
    Rule,
    Sheet,
    Style,
    address,
    on_sheet,
    text_literal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from planner.plan.study import Case, Study
    from planner.workbook.row_shapes import RowShapes


class Functions(StrEnum):
    """How a written workbook calculates."""

    EMBEDDED = "embedded"
    ADDIN = "addin"
    PLAIN = "plain"
    NONE = "none"


HEAD: Final = Style(bold=True, colour="#FFFFFF", fill=NAVY, wrap=True, align="center", top_aligned=True)
HEAD_TEXT: Final = Style(bold=True, colour="#FFFFFF", fill=NAVY, wrap=True, align="left", top_aligned=True)
HEAD_FIGURE: Final = Style(bold=True, colour="#FFFFFF", fill=BLUE, wrap=True, align="center", top_aligned=True)
LINK: Final = Style(colour=BLUE, underline=True, bottom=LINE)
HEADER_HEIGHT: Final = 45.0

# Typed figures appear among the computed columns, where the formulas look for them, so they are no inputs here.
INPUTS: Final = tuple(name for name in CORE_COLUMNS if name not in {"name", "weights_gb", "bandwidth_gb_s", "notes"})
FIGURE_ORDER: Final = ("weight_bits", *FORMULAS)
COLUMN_OF: Final[Mapping[str, int]] = {
    name: index for index, name in enumerate(("name", *INPUTS, *FIGURE_ORDER, "flags"))
}
FIRST_ROW: Final = 1


@dataclass(frozen=True, slots=True)
class Writing:
    """What the sheets must know of how they are written: the functions, and the names that sheets got."""

    functions: Functions
    names: Mapping[str, str]
    linked: bool
    # The shapes of the rows, where there are so many that they are written by patterns.
    shapes: RowShapes | None = None

    def formula(self, formula: Callable[..., float], bind: Mapping[str, str], value: float | None) -> str:
        """The live formula of a figure over the bound cells, or nothing where only values are asked for.

        A call that gives nothing is asked only once its arguments are there: LibreOffice works out every
        formula whose stored value is empty, and would show #NAME? for a function that it does not know.
        """
        if self.functions is Functions.NONE:
            return ""
        if self.functions is Functions.PLAIN:
            return "=" + plain_text(formula, bind)
        text = call_text(formula, bind)
        if value is None:
            for cell in reversed(bind_order(formula, bind)):
                text = f'IF({cell}="","",{text})'
        return "=" + text

    def reference(self, sheet: str, cell: str, *, blank: bool = False) -> str:
        """A reference to another sheet's cell, or nothing where only values are asked for; blank stays blank."""
        there = on_sheet(sheet, cell)
        if self.functions is Functions.NONE:
            return ""
        return f'=IF({there}="","",{there})' if blank else f"={there}"

    def link(self, case: Case) -> str:
        """A link to the scenario's row, showing its name; a HYPERLINK formula, of which a sheet holds any number."""
        cell = case.origin.cells.get("name")
        if not self.linked or not cell or self.functions is Functions.NONE:
            return ""
        target = on_sheet(case.origin.sheet, cell)
        shown = target if "name" in case.origin.plain else text_literal(case.name)
        return f"=HYPERLINK({text_literal('#' + target)},{shown})"


def bind_order(formula: Callable[..., float], bind: Mapping[str, str]) -> list[str]:
    """The cells that a formula takes, in the order of its parameters."""
    return [bind[parameter] for parameter in parameters_of(formula)]


def results_sheet(study: Study, writing: Writing) -> Sheet:
    """One row per scenario: a link to it, its inputs as understood, its figures, its flags."""
    last_row = FIRST_ROW + max(len(study.cases), 1) - 1
    return Sheet(
        name=writing.names["Results"],
        cells=_heads() if writing.shapes else itertools.chain(_heads(), _rows(study, writing)),
        rows=_patterned(study, writing, writing.shapes) if writing.shapes else None,
        widths=_widths(),
        freeze=(FIRST_ROW, 1),
        filter=(0, 0, last_row, len(COLUMN_OF) - 1),
        rules=_rules(last_row),
        notes={(0, COLUMN_OF[name]): column.help for name, column in _columns().items() if column.help}
        | {
            (
                0,
                COLUMN_OF["flags"],
            ): "As planner found them at its run. Figures and colours follow your edits; run again for these."
        },
        heights={0: HEADER_HEIGHT},
        repeat_rows=(0, 0),
        repeat_columns=(0, 0),
        mark="results",
        tab=BLUE,
    )


def _columns() -> dict[str, Any]:
    """The declared column behind each column of the sheet."""
    return {name: COLUMNS[name] for name in ("name", *INPUTS)} | {name: FIGURES[name] for name in FIGURE_ORDER}


def _heads() -> Iterator[CellOut]:
    for name, column in COLUMN_OF.items():
        if name == "flags":
            yield CellOut(0, column, "Flags at the run", style=HEAD_TEXT)
        elif name in FIGURE_ORDER:
            yield CellOut(0, column, figure_header(name), style=HEAD_FIGURE)
        else:
            text = isinstance(COLUMNS[name].rule, Text)
            yield CellOut(0, column, header_of(name), style=HEAD_TEXT if text else HEAD)


def _rows(study: Study, writing: Writing) -> Iterator[CellOut]:
    for index, case in enumerate(study.cases):
        yield from _row(FIRST_ROW + index, case, writing)


def _patterned(study: Study, writing: Writing, shapes: RowShapes) -> Rows:
    """The rows of a large study, by their shapes."""
    return Rows(
        first=FIRST_ROW,
        cases=study.cases,
        columns=shapes,
        shapes=shapes.of({}),
        cells=lambda index, case: _row(FIRST_ROW + index, case, writing),
        computed={COLUMN_OF["flags"]: lambda _, case: flags_of(case)},
        widths=_widths(),
        last_column=len(COLUMN_OF) - 1,
    )


def _row(row: int, case: Case, writing: Writing) -> Iterator[CellOut]:
    yield CellOut(row, 0, case.name, writing.link(case), LINK)
    for name in INPUTS:
        yield input_cell((row, COLUMN_OF[name]), name, case, writing, style_of(name, COLUMNS[name]))
    for name in FIGURE_ORDER:
        yield _figure(row, name, case, writing)
    yield CellOut(
        row, COLUMN_OF["flags"], flags_of(case), style=Style(colour=RUST, bottom=LINE, align="left", indent=1)
    )


def style_of(name: str, column: Any, fill: str = "") -> Style:
    """The look of a column's cells: its number format, a line beneath."""
    text = isinstance(column.rule, Text | PrecisionName)
    shown = "General" if text else number_format(name, column)
    return Style(
        number_format=shown, bottom=LINE, fill=fill, align="center" if isinstance(column.rule, PrecisionName) else ""
    )


def as_cell(precision: str) -> str | float:
    """A precision as a cell holds it: its name, or the number where bits were typed."""
    return precision if catalog.find_precision(precision) else float(precision)


def input_cell(
    at: tuple[int, int], name: str, case: Case, writing: Writing, style: Style, *, blank: str = ""
) -> CellOut:
    """An input as a reference to its cell where that holds just this value, else as the value understood.

    A cell that is blank there counts from the moment in which it is filled in; until then the value that the run
    filled in holds, or what the formula ``blank`` gives.
    """
    value = getattr(case.result.scenario, name)
    if isinstance(COLUMNS[name].rule, PrecisionName) and value:
        value = as_cell(value)
    formula, cell = "", case.origin.cells.get(name)
    typed = case.result.sources.get(name) == TYPED
    if writing.functions is not Functions.NONE:
        there = on_sheet(case.origin.sheet, cell) if writing.linked and cell else ""
        if there and name in case.origin.plain:
            formula = f"={there}"
        elif there and name in case.origin.links:
            formula = "=" + case.origin.links[name].format(there)
        elif there and not typed:
            formula = f'=IF({there}="",{blank or _literal(value)},{there})'
        elif blank and not typed:
            formula = f"={blank}"
    return CellOut(*at, None if value == "" else value, formula, style)


def _literal(value: str | float | None) -> str:
    """A value as a formula writes it."""
    if isinstance(value, str | None):
        return text_literal(value or "")
    return f"{value:.15g}"


def _figure(row: int, name: str, case: Case, writing: Writing) -> CellOut:
    value = getattr(case.result, name)
    style = style_of(name, FIGURES[name], PALE)
    if getattr(case.result.scenario, name, None) is not None:
        # Typed, or filled from the catalogue: then no formula makes it.
        return input_cell((row, COLUMN_OF[name]), name, case, writing, style)
    if name == "weight_bits":
        return bits_cell((row, COLUMN_OF[name]), address(row, COLUMN_OF["precision"]), value, writing, style)
    bind = {parameter: address(row, COLUMN_OF[parameter]) for parameter in parameters_of(FORMULAS[name])}
    return CellOut(row, COLUMN_OF[name], value, writing.formula(FORMULAS[name], bind, value), style)


def bits_cell(at: tuple[int, int], precision: str, value: float | None, writing: Writing, style: Style) -> CellOut:
    """The bits that the precision in a cell stands for."""
    formula = writing.formula(speed.bits_per_weight, {"weight_bits": precision}, value)
    if writing.functions is Functions.PLAIN:
        formula = f'=IF({precision}="","",{precision_lookup(precision, precision)})'
    return CellOut(*at, value, formula, style)


def flags_of(case: Case) -> str:
    """The flags of a case's warnings and notes, in words."""
    order = (Severity.WARNING, Severity.NOTE)
    issues = sorted(case.result.issues, key=lambda issue: order.index(issue.severity))
    return "; ".join(dict.fromkeys(FLAGS.get(issue.code, issue.code) for issue in issues))


def _widths() -> dict[int, float]:
    widths = dict.fromkeys(COLUMN_OF.values(), 12.0)
    widths |= {COLUMN_OF["name"]: 40.0, COLUMN_OF["model"]: 22.0, COLUMN_OF["flags"]: 60.0}
    return widths


def _rules(last_row: int) -> list[Rule]:
    """The warnings of the core model, switched on by the cells themselves, so that they follow an edit."""

    def area(name: str) -> tuple[int, int, int, int]:
        return (FIRST_ROW, COLUMN_OF[name], last_row, COLUMN_OF[name])

    def cell(name: str) -> str:
        return address(FIRST_ROW, COLUMN_OF[name], fix_column=True)

    rate, batch, share = cell("tokens_per_sec"), cell("batch"), cell("weights_memory_share")
    measured, ceiling, efficiency = cell("measured_tokens_per_sec"), cell("ceiling_tokens_per_sec"), cell("efficiency")
    return [
        Rule(
            area("tokens_per_sec"),
            f"AND(ISNUMBER({rate}),{rate}<{READING_PACE_TOKENS_PER_SEC:g})",
            RUST_PALE,
            RUST,
            bold=True,
        ),
        Rule(
            area("weights_memory_share"),
            f"AND(ISNUMBER({share}),{share}>{USABLE_MEMORY_SHARE:g})",
            RUST_PALE,
            RUST,
            bold=True,
        ),
        Rule(area("batch"), f"AND(ISNUMBER({batch}),{batch}>{BATCH_WARNED_ABOVE})", RUST_PALE, RUST, bold=True),
        Rule(area("batch"), f"AND(ISNUMBER({batch}),{batch}>={BATCH_NOTED_FROM})", AMBER_PALE),
        Rule(
            area("measured_tokens_per_sec"),
            f"AND(ISNUMBER({measured}),ISNUMBER({ceiling}),{measured}>{ceiling})",
            RUST_PALE,
            RUST,
            bold=True,
        ),
        Rule(area("efficiency"), f"{efficiency}=1", AMBER_PALE, GREY),
    ]
