"""Prices of devices from a list: a .csv file or a workbook with a column of devices and one of prices per hour.

The currency stands in the header of the prices, ``Price (EUR/h)``, or in a column of its own, the same in all rows.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from planner.cells import is_blank, understand
from planner.columns import BadValueError, Column
from planner.currencies import currency_in, settled
from planner.headers import Cell, Grid, HeaderCell, Headings, column_letters, normalise, split_unit
from planner.issues import Issue, PlannerError, Severity, quoted_sheet
from planner.plan.scenario import COLUMNS
from planner.rules import CURRENCY, Money
from planner.workbook.read import read_workbook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from planner.columns import Understood

_HEADINGS: Final = Headings(
    {
        "device": COLUMNS["device"],
        "device_cost_h": Column(
            "Price per device",
            Money(above=0),
            "What a device costs in an hour.",
            ("price", "cost", "price per hour", "cost per hour", "hourly price", "hourly cost", "hourly rate",
             "price per device hour", "cost per device hour", "price per gpu hour", "cost per gpu hour"),
        ),
        "currency": Column("Currency", CURRENCY, "The currency of the row's price."),
    }
)  # fmt: skip
_NEEDED: Final = frozenset({"device", "device_cost_h"})
_WANTED: Final = "a column Device and a column Price per device (money per hour)"


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices per hour by device, and their currency, empty where none is named."""

    prices: dict[str, float]
    currency: str


def read_prices(path: Path) -> PriceList:
    """A list of prices, from the first sheet with both columns.

    Raises PlannerError where the file cannot be read or has no such columns, and with every row that is refused.
    """
    grids = [_csv_grid(path)] if path.suffix.lower() == ".csv" else read_workbook(path).grids
    for grid in grids:
        for row in sorted(grid.rows):
            columns = _columns(grid, row)
            if columns.keys() >= _NEEDED:
                return _prices(grid, row, columns, path)
    raise PlannerError(f"{path} has no list of prices; expected {_WANTED}.")


def _csv_grid(path: Path) -> Grid:
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise PlannerError(f"{path} cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise PlannerError(f"{path} cannot be read (it is no UTF-8 text; save it as CSV UTF-8).") from error
    # Where the comma is the decimal sign, spreadsheets part cells by semicolons.
    first = text.split("\n", 1)[0]
    parted = csv.reader(text.splitlines(), delimiter=";" if first.count(";") > first.count(",") else ",")
    rows = {
        number: {column: Cell(value) for column, value in enumerate(row, 1) if value.strip()}
        for number, row in enumerate(parted, 1)
    }
    return Grid(path.name, rows)


def _columns(grid: Grid, row: int) -> dict[str, int]:
    """Which column holds what, if this row is the header."""
    found: dict[str, int] = {}
    for column, cell in grid.rows[row].items():
        if isinstance(cell.value, str):
            bare, _ = split_unit(cell.value)
            name = _HEADINGS.known.get(normalise(bare)) or _HEADINGS.known.get(normalise(cell.value))
            if name:
                found.setdefault(name, column)
    return found


def _prices(grid: Grid, head: int, columns: dict[str, int], path: Path) -> PriceList:
    named = currency_in(str(grid.rows[head][columns["device_cost_h"]].value))[0]
    reader = _Reader(grid, columns, [settled(named)] if settled(named) else [])
    if named and not settled(named) and "currency" not in columns:
        reader.refuse_sign(head, named)
    for row in sorted(number for number in grid.rows if number > head):
        reader.take(row)
    if reader.issues:
        raise PlannerError(" ".join(map(str, reader.issues)))
    if not reader.prices:
        raise PlannerError(
            f"{path} has no price below its header {quoted_sheet(grid.name)}!{head}; expected {_WANTED}."
        )
    return PriceList(reader.prices, reader.currencies[0] if reader.currencies else "")


@dataclass(slots=True)
class _Reader:
    """The rows of a list, and what was found in them."""

    grid: Grid
    columns: dict[str, int]
    currencies: list[str]
    prices: dict[str, float] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)

    def take(self, row: int) -> None:
        """Read a row; one that has no device or no price is none of the list."""
        cells = {name: self.grid.rows[row].get(column) for name, column in self.columns.items()}
        if any(is_blank(cells[name]) for name in _NEEDED):
            return
        held = {name: self.understood(row, name, cell) for name, cell in cells.items() if not is_blank(cell)}
        device, price = (None if (cell := held[name]) is None else cell.value for name in ("device", "device_cost_h"))
        currency = self.currency_of(row, held)
        if device is not None and price is not None and self.prices.setdefault(device, price) != price:
            self.refuse(row, "device_cost_h", f"{device} is priced twice", f"{self.prices[device]:,.10g} as above")
        if currency:
            self.currencies.append(currency)
            if currency != self.currencies[0]:
                where = "currency" if "currency" in held else "device_cost_h"
                self.refuse(row, where, f"Currency is {currency}", f"{self.currencies[0]} as above")

    def currency_of(self, row: int, held: Mapping[str, Understood | None]) -> str:
        """The currency that a row names: in its column, else beside its price; empty where it names none."""
        if "currency" in held:
            typed = held["currency"]
            return typed.value if typed else ""
        price = held["device_cost_h"]
        shown = price.currencies if price else ()
        if shown and not settled(shown):
            self.refuse_sign(row, shown)
        return settled(shown) if shown else ""

    def refuse_sign(self, row: int, named: Sequence[str]) -> None:
        """Say that a sign of the prices may be of several currencies."""
        problem = f"Price per device is in {' or '.join(named)}: they share a sign"
        self.refuse(row, "device_cost_h", problem, "the currency's code in a column Currency")

    def understood(self, row: int, name: str, cell: Cell | None) -> Understood | None:
        """What a cell holds, None where it is refused."""
        assert cell is not None
        try:
            return understand(name, _HEADINGS.columns[name], cell, HeaderCell(name, self.columns[name]))
        except BadValueError as bad:
            self.refuse(row, name, bad.problem, bad.accepted)
            return None

    def refuse(self, row: int, name: str, problem: str, accepted: str) -> None:
        """Say what is wrong with a cell."""
        at = f"{column_letters(self.columns[name])}{row}"
        issue = Issue(
            severity=Severity.ERROR,
            code="price-list",
            problem=problem,
            accepted=accepted,
            sheet=self.grid.name,
            cell=at,
        )
        self.issues.append(issue)
