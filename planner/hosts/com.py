"""What every host must know of how Excel speaks: its cells, its errors, and how it is reached."""

from __future__ import annotations

import contextlib
import importlib
import platform
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# An error cell arrives as a whole number. xlwings knows the seven old errors by name, not these.
_FIRST_ERROR: Final = -2146828288
_NEW_ERRORS: Final[Mapping[int, str]] = MappingProxyType(
    {
        _FIRST_ERROR + 2043: "#GETTING_DATA",
        _FIRST_ERROR + 2045: "#SPILL!",
        _FIRST_ERROR + 2046: "#CONNECT!",
        _FIRST_ERROR + 2047: "#BLOCKED!",
        _FIRST_ERROR + 2048: "#UNKNOWN!",
        _FIRST_ERROR + 2049: "#FIELD!",
        _FIRST_ERROR + 2050: "#CALC!",
    }
)
ERRORS: Final = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}) | frozenset(
    _NEW_ERRORS.values()
)


def as_typed(cell: Any) -> Any:
    """A cell's value as it was typed: a currency format makes it a decimal number, a new error a whole number.

    >>> as_typed(Decimal("3350")), as_typed(-2146826238), as_typed(140.0)
    (3350.0, '#CALC!', 140.0)
    """
    if isinstance(cell, Decimal):
        return float(cell)
    return _NEW_ERRORS.get(cell, cell) if type(cell) is int else cell


def excel_errors() -> tuple[type[Exception], ...]:
    """What Excel raises when it refuses: pywin32's error on Windows, appscript's on macOS."""
    found: list[type[Exception]] = []
    for module, name in (("pywintypes", "com_error"), ("appscript.reference", "CommandError")):
        with contextlib.suppress(ImportError):
            found.append(getattr(importlib.import_module(module), name))
    return tuple(found)


def has_com() -> bool:
    """Whether Excel is spoken to through COM. On macOS xlwings reaches less of it, and some looks are left out."""
    return platform.system() != "Darwin"
