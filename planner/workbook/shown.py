"""What a cell's number format says beside its value."""

from __future__ import annotations

import re
from typing import Any, Final

from planner.currencies import currencies_shown
from planner.headers import Cell

# Text in quotes or behind a backslash is shown as it stands: 0"%" shows a sign and scales nothing.
_LITERAL: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


def shows_percent(number_format: str) -> bool:
    """Whether a number format shows a number as percent.

    >>> shows_percent("0.0%"), shows_percent('0"%"')
    (True, False)
    """
    return "%" in _LITERAL.sub("", number_format)


def cell_of(value: Any, number_format: str, *, formula: str = "", error: bool = False) -> Cell:
    """A cell with its value and all that is read from its number format, whichever library read the two."""
    if isinstance(value, str):
        # A text is shown as it stands.
        return Cell(value, formula=formula, error=error)
    percent, currencies = shows_percent(number_format), currencies_shown(number_format)
    return Cell(value, formula=formula, percent=percent, error=error, currencies=currencies)
