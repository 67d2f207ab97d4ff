"""Tables that fit the terminal: names give way to its width, then whole columns; figures never are cut.

rich is loaded only where a table is drawn, so that --help answers at once.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

_PIPED_WIDTH: Final = 110
_GAP: Final = 2
# What is left of a column whose texts give way.
_SHORTEST: Final = 12


class Gives(StrEnum):
    """How the texts of a column give way where a line is short."""

    NOT = "not"  # a cut figure says something else
    CUT = "ellipsis"
    FOLDED = "fold"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its head, a text for each row, and how these give way; figures stand to the right."""

    head: str
    texts: Sequence[str]
    gives: Gives = Gives.NOT
    to_right: bool = True
    style: str = ""

    @property
    def width(self) -> int:
        """The cells that its widest line takes; some scripts take two cells a character."""
        from rich.cells import cell_len  # noqa: PLC0415  rich is slow to load

        return max(cell_len(line) for text in (self.head, *self.texts) for line in text.split("\n"))


def console() -> Console:
    """The console of tables: as wide as the terminal; piped there is no width to keep to."""
    from rich.console import Console  # noqa: PLC0415  rich is slow to load

    return Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=_PIPED_WIDTH)


def fitted_widths(
    columns: Mapping[str, TableColumn], width: int, gives_way: Sequence[str] = (), kept: int | None = None
) -> dict[str, int]:
    """The columns that are shown, each with its width; together these are above ``width`` only where nothing gives way.

    Whole columns go in the order of ``gives_way`` while texts that may be cut would have to be shorter than ``kept``
    (None: would have to be cut at all); then texts are folded, and then cut, down to a shortest.

    >>> columns = {"name": TableColumn("Name", ["a" * 30], Gives.CUT), "cost": TableColumn("Cost", ["1,234,567"])}
    >>> fitted_widths(columns, 30)
    {'name': 19, 'cost': 9}
    >>> fitted_widths(columns, 30, ["cost"])
    {'name': 30}
    """
    widths = {name: column.width for name, column in columns.items()}

    def least(name: str) -> int:
        """What a column takes at least beside others that may go."""
        gives = columns[name].gives
        if gives is Gives.FOLDED:
            return min(widths[name], _SHORTEST)
        return widths[name] if gives is Gives.NOT or kept is None else min(widths[name], kept)

    for name in gives_way:
        if sum(map(least, widths)) + _GAP * (len(widths) - 1) <= width:
            break
        widths.pop(name, None)
    over = sum(widths.values()) + _GAP * (len(widths) - 1) - width
    for gives in (Gives.FOLDED, Gives.CUT):
        for name, whole in widths.items():
            if columns[name].gives is gives:
                widths[name] = min(whole, max(whole - max(over, 0), _SHORTEST))
                over -= whole - widths[name]
    return widths


def print_fitted(columns: Mapping[str, TableColumn], gives_way: Sequence[str] = (), kept: int | None = None) -> None:
    """A table as wide as the console, as :func:`fitted_widths` fits it; wider where only figures are left."""
    from rich.console import Console  # noqa: PLC0415  rich is slow to load
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    on = console()
    widths = fitted_widths(columns, on.width, gives_way, kept)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, width in widths.items():
        column = columns[name]
        folded = column.gives is Gives.FOLDED
        table.add_column(
            column.head,
            justify="right" if column.to_right else "left",
            overflow="fold" if folded else "ellipsis",
            no_wrap=not folded,
            width=width,
        )
    for row in zip(*(columns[name].texts for name in widths), strict=True):
        table.add_row(*(Text(text, style=columns[name].style) for name, text in zip(widths, row, strict=True)))
    needed = sum(widths.values()) + _GAP * (len(widths) - 1)
    (on if needed <= on.width else Console(width=needed)).print(table)
