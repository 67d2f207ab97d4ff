"""The Excel add-in for Windows: planner.xlam from xlwings' own template, and the VBA that goes into it.

The add-in can be written on any system. VBA modules enter it through Excel only: by :func:`install`, or by
hand in the VBA editor.
"""

from __future__ import annotations

import importlib
import io
import platform
import re
import shutil
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

from planner.files import replacing
from planner.hosts.com import excel_errors
from planner.hosts.pywin32_stub import xlwings_udfs
from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xlwings import Book

TEMPLATE: Final = "quickstart_addin_ribbon.xlam"
UDFS: Final = "planner.hosts.desktop"
UDFS_MODULE: Final = "xlwings_udfs"
RIBBON_MODULE: Final = "planner_ribbon"
UDFS_FILE: Final = "planner_udfs.bas"
RIBBON_FILE: Final = "planner_ribbon.bas"
# The template's macros read the sheet of this name. It stands there with an underscore before it, switched off.
CONFIG_SHEET: Final = "myaddin.conf"
KNOWN_XLWINGS: Final = "0.37.8"
_WORKBOOK, _SHEET, _RIBBON = "xl/workbook.xml", "xl/worksheets/sheet1.xml", "customUI/customUI.xml"

# The buttons: label, macro, the command that it runs in Python (or the VBA itself), Office's icon, and what it does.
_BUTTONS: Final = (
    (
        "Evaluate",
        "PlannerEvaluate",
        'RunPython "from planner.hosts import ribbon; ribbon.evaluate()"',
        "CalculateNow",
        "Evaluates the scenarios of this workbook and writes the result sheets into it.",
    ),
    (
        "Check",
        "PlannerCheck",
        'RunPython "from planner.hosts import ribbon; ribbon.check()"',
        "ErrorChecking",
        "Lists what is wrong with the scenarios; writes nothing.",
    ),
    (
        "Report",
        "PlannerReport",
        'RunPython "from planner.hosts import ribbon; ribbon.report()"',
        "FileSaveAsPdfOrXps",
        "Writes the PDF report beside this workbook.",
    ),
    (
        "Import functions",
        "PlannerImportFunctions",
        "ImportPythonUDFsToAddin",
        "FunctionWizard",
        "Brings the functions of the add-in up to date after an upgrade of planner.",
    ),
)


def default_python() -> str:
    """The Python that Excel should start: this one where Excel runs, else blank, which means the one on its PATH."""
    return sys.executable if platform.system() in {"Windows", "Darwin"} else ""


def write_addin(path: Path, python: str | None = None, *, force: bool = False) -> list[Path]:
    """Write the add-in and, beside it, the two VBA modules that it takes; returns the three files.

    ``python`` is the interpreter that Excel is to start, by default the running one on a system with Excel.
    Raises PlannerError where the path does not end in .xlam, a file is there already (unless ``force``), the
    folder cannot be written, or xlwings or the template that it should bring is missing.
    """
    if path.suffix.lower() != ".xlam":
        raise PlannerError(f"{path.name} does not end in .xlam; an add-in is an .xlam workbook.")
    files = [path, path.with_name(UDFS_FILE), path.with_name(RIBBON_FILE)]
    there = [str(file) for file in files if file.exists()]
    if there and not force:
        raise PlannerError(
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already; --force writes over."
        )
    interpreter = default_python() if python is None else python
    contents = [_addin_bytes(interpreter), _as_bas(udfs_vba()), _as_bas(ribbon_vba())]
    for file, content in zip(files, contents, strict=True):
        with replacing(file) as new:
            new.temporary.write_bytes(content)
    return files


def udfs_vba() -> str:
    """The VBA module of the functions, written by xlwings itself.

    Raises PlannerError where xlwings is missing.
    """
    _xlwings_folder()
    from planner.hosts import desktop  # noqa: PLC0415  needs xlwings

    # The name makes xlwings replace this module when functions are imported in Excel later.
    head = (
        f'Attribute VB_Name = "{UDFS_MODULE}"',
        "'Written by xlwings for planner: the next import of functions replaces it.",
        '#Const App = "Microsoft Excel"',
    )
    written = io.StringIO("\n".join(head) + "\n")
    written.seek(0, io.SEEK_END)
    with xlwings_udfs() as xlwings:
        declared = SimpleNamespace(**desktop.udfs(xlwings.xlfunc, xlwings.xlarg))
        # An add-in's functions are told of the workbook in which they stand; the name's ending decides.
        xlwings.generate_vba_wrapper(UDFS, declared, written, SimpleNamespace(Name="planner.xlam"))
    return written.getvalue()


def ribbon_vba() -> str:
    """The VBA module of the ribbon's buttons."""
    lines = [f'Attribute VB_Name = "{RIBBON_MODULE}"', "Option Explicit", ""]
    for _, macro, does, _, _ in _BUTTONS:
        lines += [f"Sub {macro}(control As IRibbonControl)", f"    {does}", "End Sub", ""]
    return "\n".join(lines)


def _as_bas(text: str) -> bytes:
    """VBA as the VBA editor imports it: Windows line ends, no characters beyond ASCII."""
    return text.replace("\n", "\r\n").encode("ascii")


def _xlwings_folder() -> Path:
    try:
        import xlwings  # noqa: PLC0415  a dependency that only hosts need
    except ImportError:
        raise PlannerError("The add-in needs xlwings; `pip install xlwings` brings it.") from None
    return Path(xlwings.__file__).parent


def _addin_bytes(python: str) -> bytes:
    """The template with our settings and ribbon; every other part, the macros above all, byte for byte."""
    template = _xlwings_folder() / TEMPLATE
    try:
        with zipfile.ZipFile(template) as package:
            parts = {entry.filename: package.read(entry) for entry in package.infolist()}
    except (OSError, zipfile.BadZipFile):
        parts = {}
    workbook, sheet = parts.get(_WORKBOOK, b"").decode(), parts.get(_SHEET, b"").decode()
    off = f'name="_{CONFIG_SHEET}"'
    # The code name is the one by which the macros' project knows the sheet.
    code_name = re.search(r'<sheetPr codeName="(\w+)"', sheet)
    if workbook.count(off) != 1 or code_name is None or _RIBBON not in parts:
        raise PlannerError(
            f"The template {template} of this xlwings is missing or unknown; `pip install xlwings=={KNOWN_XLWINGS}` "
            "brings the one that planner was made for."
        )
    parts |= {
        _WORKBOOK: workbook.replace(off, f'name="{CONFIG_SHEET}"').encode(),
        _SHEET: _config_sheet(code_name[1], python).encode(),
        _RIBBON: ribbon_xml().encode(),
    }
    return _zipped(parts)


def _zipped(parts: Mapping[str, bytes]) -> bytes:
    """A package whose bytes depend on its parts alone."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as package:
        for name, data in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 0
            package.writestr(entry, data)
    return written.getvalue()


def settings(python: str) -> dict[str, str]:
    """The add-in's settings, as xlwings' macros name them; a blank one means xlwings' default."""
    on_mac = platform.system() == "Darwin"
    return {
        "Interpreter_Win": "" if on_mac else python,
        "Interpreter_Mac": python if on_mac else "",
        "PYTHONPATH": "",
        "UDF Modules": UDFS,
        # Else Python looks for modules beside the open workbook first: a planner.py there would run, and a
        # folder of OneDrive or SharePoint has no path that Python could look into.
        "ADD_WORKBOOK_TO_PYTHONPATH": "false",
        "Debug UDFs": "false",
        "Use UDF Server": "false",
        "Show Console": "false",
    }


def _config_sheet(code_name: str, python: str) -> str:
    rows = "".join(
        f'<row r="{row}">{_text_cell(f"A{row}", key)}{_text_cell(f"B{row}", value) if value else ""}</row>'
        for row, (key, value) in enumerate(settings(python).items(), 1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f'<sheetPr codeName="{code_name}"/><sheetViews><sheetView workbookViewId="0"/></sheetViews>'
        '<cols><col min="1" max="1" width="32" customWidth="1"/>'
        '<col min="2" max="2" width="60" customWidth="1"/></cols>'
        f"<sheetData>{rows}</sheetData></worksheet>"
    )


def _text_cell(cell: str, text: str) -> str:
    return f'<c r="{cell}" t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def ribbon_xml() -> str:
    """The ribbon's tab with its buttons."""
    buttons = "".join(
        f'<button id={quoteattr(macro)} label={quoteattr(label)} size="large" imageMso={quoteattr(icon)} '
        f"onAction={quoteattr(f'{RIBBON_MODULE}.{macro}')} screentip={quoteattr(label)} supertip={quoteattr(tip)}/>"
        for label, macro, _, icon, tip in _BUTTONS
    )
    return (
        '<customUI xmlns="http://schemas.microsoft.com/office/2006/01/customui"><ribbon><tabs>'
        '<tab id="plannerTab" label="planner"><group id="plannerGroup" label="Capacity planner">'
        f"{buttons}</group></tab></tabs></ribbon></customUI>"
    )


_TRUST: Final = (
    "File > Options > Trust Center > Trust Center Settings > Macro Settings > 'Trust access to the VBA project object "
    "model'"
)


def steps(path: Path) -> str:
    """What to do by hand where :func:`install` cannot run."""
    return (
        f"Copy {path.name}, {UDFS_FILE} and {RIBBON_FILE} to a Windows PC with Excel and planner. Open {path.name} in "
        f"Excel, press Alt+F11, import both .bas files into it (File > Import File), save it, and choose it under "
        "File > Options > Add-ins > Excel Add-ins > Browse. On Windows `planner functions install` does all this."
    )


def install(path: Path) -> str:
    """Put the VBA modules into the add-in and the add-in where Excel loads it on starting; returns what was done.

    Windows only, and so far untested with a real Excel: only that xlwings is called as it wants to be.
    Raises PlannerError on other systems (with the steps by hand), where the files are missing, where Excel
    does not let its VBA project be changed, or where the add-in's folder cannot be written.
    """
    if platform.system() != "Windows":
        raise PlannerError(f"An add-in is installed from Windows. {steps(path)}")
    ribbon = path.with_name(RIBBON_FILE)
    for file in (path, ribbon):
        if not file.is_file():
            raise PlannerError(f"No such file: {file}; `planner functions addin {path.name}` writes it.")
    # Without types: what is called here is not there on other systems.
    xlwings: Any = importlib.import_module("xlwings")
    with xlwings.App(visible=False, add_book=True) as app:
        book = app.books.open(path.resolve())
        modules = _modules_of(book)
        _replace(modules, RIBBON_MODULE, ribbon)
        # Imports the functions, with their help texts for the function wizard.
        xlwings.import_udfs(UDFS, book.api)
        book.save()
        folder = Path(app.startup_path)
        book.close()
    target = folder / path.name
    try:
        shutil.copyfile(path, target)
    except OSError as error:
        raise PlannerError(f"Cannot write {target}: {error.strerror or error}. Close Excel and try again.") from error
    return f"Installed {target}. Start Excel: the ribbon has a tab named planner."


def _modules_of(book: Book) -> Any:
    """The add-in's VBA modules; raises PlannerError where Excel keeps them to itself."""
    try:
        return book.api.VBProject.VBComponents
    except excel_errors() as error:
        raise PlannerError(f"Excel does not let its VBA project be changed; tick {_TRUST}, and try again.") from error


def _replace(modules: Any, name: str, file: Path) -> None:
    for module in list(modules):
        if module.Name == name:
            modules.Remove(module)
    modules.Import(str(file.resolve()))
