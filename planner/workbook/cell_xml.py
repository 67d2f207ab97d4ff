"""A cell as a sheet's XML holds it, in the form that the merge gives to cells which XlsxWriter has written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
from openpyxl.utils.datetime import to_excel

from planner.workbook.layout import CellOut, address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.workbook.layout import Style

LONGEST_TEXT: Final = 32_767
_ERRORS: Final = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})
# What a file cannot hold as it is, and texts that would be read as such an escape.
_ESCAPE: Final = re.compile("_(?=x[0-9a-fA-F]{4}_)")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f]")


def escaped(text: str) -> str:
    """A text as XML holds it, quotes as they are."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def inline_text(text: str) -> str:
    """What an inline string holds: its text, with blanks at its ends kept and control characters in their escapes."""
    # Most texts hold nothing that is written otherwise, no blanks at their ends, and no such escape.
    if text.isprintable() and "_x" not in text and text == text.strip(" ") and len(text) <= LONGEST_TEXT:
        return f"<t>{escaped(text)}</t>"
    text = _ESCAPE.sub("_x005F_", text[:LONGEST_TEXT])
    text = _CONTROL.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
    text = text.replace("\ufffe", "_xFFFE_").replace("\uffff", "_xFFFF_")
    kept = ' xml:space="preserve"' if text[:1].isspace() or text[-1:].isspace() else ""
    return f"<t{kept}>{escaped(text)}</t>"


def kind_of(value: Any) -> str:
    """The type that a formula's cell declares for its stored value, as an attribute."""
    if isinstance(value, bool):
        return ' t="b"'
    if value is None or isinstance(value, str):
        return ' t="e"' if value in _ERRORS else ' t="str"'
    return ""


def stored(value: Any) -> str:
    """A formula's value as its cell stores it: nothing as an empty text, times as serial numbers."""
    if value is None:
        return ""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, bool):
        return str(int(value))
    return str(value if isinstance(value, int | float) else to_excel(value))  # type: ignore[no-untyped-call]


def written(numbers: list[float]) -> list[str]:
    """Numbers by the fewest digits that tell them, as ``repr`` gives them, five times as fast; ``null`` for others.

    >>> written([0.1, 100.0, float("nan")])
    ['0.1', '100.0', 'null']
    """
    return msgspec.json.encode(numbers)[1:-1].decode().split(",") if numbers else []


def content(value: Any) -> str:
    """What follows a cell's place and look where it holds no formula, its end tag included."""
    if value is None or value == "":
        return "/>"
    if isinstance(value, bool):
        return f' t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f' t="inlineStr"><is>{inline_text(value)}</is></c>'
    number = value if isinstance(value, int | float) else to_excel(value)  # type: ignore[no-untyped-call]
    return f"><v>{number:.16G}</v></c>"


def cell_xml(cell: CellOut, look: int) -> str:
    """A cell with the look of this number."""
    start = f'<c r="{address(cell.row, cell.column)}" s="{look}"'
    if not cell.formula:
        return start + content(cell.value)
    formula = escaped(cell.formula.removeprefix("="))
    return f"{start}{kind_of(cell.value)}><f>{formula}</f><v>{stored(cell.value)}</v></c>"


def row_xml(cells: Iterable[CellOut], looks: Mapping[Style, int], row: int, height: float | None = None) -> str:
    """A row of cells, of a height of its own where it needs one."""
    inner = "".join(cell_xml(cell, looks[cell.style]) for cell in cells)
    return f'<row r="{row + 1}"{height_attributes(height)}>{inner}</row>'


def height_attributes(height: float | None) -> str:
    """A row's height as attributes of its own."""
    # XlsxWriter keeps whole pixels.
    return "" if height is None else f' ht="{int(height * 4 / 3 + 0.5) * 0.75:g}" customHeight="1"'
