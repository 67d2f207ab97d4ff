"""The headers of the starter workbook's tables: where they stand, how they look and what their notes say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planner import units
from planner.columns import Text
from planner.workbook.layout import NAVY, PALE, Style

if TYPE_CHECKING:
    from planner.columns import Column

HEADER_ROW: Final = 3
ROWS_OFFERED: Final = 500
HEAD = Style(bold=True, colour="#FFFFFF", fill=NAVY, wrap=True, align="center", top_aligned=True)
HEAD_OPTIONAL = Style(bold=True, colour=NAVY, fill=PALE, wrap=True, align="center", top_aligned=True)


def note_of(name: str, column: Column) -> str:
    """A header's cell note: what the column is, what it accepts, and its default."""
    accepted = "" if type(column.rule) is Text else f" Accepted: {column.rule.accepted}."
    default = "" if column.default is None else f" Blank counts as {default_shown(column.default)}."
    unit = units.unit_of(name).symbol
    return f"{column.help}{accepted}{f' Unit: {unit}.' if unit else ''}{'' if 'Blank' in column.help else default}"


def default_shown(default: Any) -> str:
    """A column's default as text."""
    return default if isinstance(default, str) else f"{default:g}"
