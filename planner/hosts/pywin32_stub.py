"""xlwings' UDF code on systems without pywin32, for one use only: to write VBA as text.

xlwings.udfs imports four modules of pywin32 at its head, though the part that writes VBA needs none of
them. Stand-ins take their place while a block lasts; whatever would talk to Excel refuses.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_UDFS: Final = "xlwings.udfs"


@contextlib.contextmanager
def xlwings_udfs() -> Iterator[Any]:
    """The module xlwings.udfs; where pywin32 is missing it is loaded for this block and forgotten after it.

    Raises ImportError where xlwings is missing.
    """
    if importlib.util.find_spec("pythoncom") or _UDFS in sys.modules:
        yield importlib.import_module(_UDFS)
        return
    package = importlib.import_module("xlwings")
    stubs = _stubs()
    sys.modules.update(stubs)
    try:
        yield importlib.import_module(_UDFS)
    finally:
        for name in (*stubs, _UDFS):
            sys.modules.pop(name, None)
        vars(package).pop("udfs", None)


def _stubs() -> dict[str, ModuleType]:
    names = ("pythoncom", "pywintypes", "win32com", "win32com.client")
    stubs = {name: ModuleType(name, "Stands in for pywin32 while VBA is written.") for name in names}
    vars(stubs["pythoncom"])["CoInitialize"] = _refuse
    vars(stubs["pywintypes"])["com_error"] = type("com_error", (Exception,), {})
    vars(stubs["win32com.client"])["Dispatch"] = _refuse
    vars(stubs["win32com"])["client"] = stubs["win32com.client"]
    return stubs


def _refuse(*_: object) -> NoReturn:
    raise RuntimeError("Excel cannot be reached without pywin32.")
