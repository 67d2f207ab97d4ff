"""A cell below a header: whether it is blank, and what it means for its column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.columns import BadValueError, Column, Text, Typed, Understood, read_value
from planner.headers import column_letters

if TYPE_CHECKING:
    from planner.headers import Cell, Grid, HeaderCell

_AS_BLANK: Final = frozenset({"-", "\u2013", "\u2014", "n/a"})


def is_blank(cell: Cell | None) -> bool:
    """Whether a cell says nothing: empty, or a dash where nothing is known."""
    if cell is None:
        return True
    if cell.value is None:
        return not cell.formula
    return isinstance(cell.value, str) and (not cell.value.strip() or cell.value.strip().casefold() in _AS_BLANK)


def understand(name: str, column: Column, cell: Cell, head: HeaderCell) -> Understood:
    """What a cell means for its column; raises BadValueError."""
    if cell.value is None:
        raise BadValueError(
            f"{column.label} is a formula without a stored value",
            "a value; save the workbook in Excel, type the value, or use --recalculate",
            "no-value",
        )
    if cell.error and isinstance(column.rule, Text):
        return Understood(str(cell.value), note=f"{column.label} is {cell.value}, an error of the workbook")
    if cell.error:
        raise BadValueError(
            f"{column.label} is {cell.value}, an error of the workbook", column.rule.accepted, "cell-error"
        )
    shown = _currencies(column, cell, head)
    return read_value(name, column, Typed(cell.value, cell.percent, head.factor, shown))


def _currencies(column: Column, cell: Cell, head: HeaderCell) -> tuple[str, ...]:
    """The currencies that a price may be in by its number format and its header; raises BadValueError for two."""
    if not head.currencies or not cell.currencies:
        return head.currencies or cell.currencies
    both = tuple(code for code in head.currencies if code in cell.currencies)
    if not both:
        raise BadValueError(
            f"{column.label} is shown in {cell.currencies[0]} under a header in {head.currencies[0]}",
            "one currency",
            "currency",
        )
    return both


def place_of(grid: Grid, row: int, column: int) -> str:
    """Where a cell's value stands: its own place, or the top of the merged cells that cover it."""
    cell = grid.rows.get(row, {}).get(column)
    return cell.at if cell is not None and cell.at else f"{column_letters(column)}{row}"
