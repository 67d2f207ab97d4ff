"""Reading a workbook: .xlsx and .xlsm to grids of cells, and a copy of the scenario sheet, with openpyxl."""

from __future__ import annotations

import hashlib
import io
import logging
import re
import warnings
import zipfile
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import openpyxl
from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import TokenizerError
from openpyxl.utils import FORMULAE
from openpyxl.utils.cell import coordinate_to_tuple
from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula

from planner.functions import NAME_COMMENT
from planner.headers import Cell, Grid, column_letters
from planner.issues import PlannerError
from planner.plan.scenario import COLUMNS
from planner.plan.study import Source
from planner.table import ScenarioTable, read_table
from planner.workbook.layout import LONGEST_SHEET_NAME, MARK, CellOut, Sheet, Style
from planner.workbook.package import empty_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from openpyxl.cell.cell import Cell as OpenpyxlCell
    from openpyxl.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

_OLE: Final = b"\xd0\xcf\x11\xe0"
_ZIP: Final = b"PK"
_LARGEST_UNPACKED: Final = 2_000_000_000
_HIGHEST_RATIO: Final = 200
_RATIO_MATTERS_FROM: Final = 50_000_000
# A cell, a range, whole columns or whole rows of the formula's own sheet.
_OWN_CELLS: Final = re.compile(r"[A-Z]{1,3}\d+(:[A-Z]{1,3}\d+)?|[A-Z]{1,3}:[A-Z]{1,3}|\d+:\d+", re.IGNORECASE)
_HOW_TO_CONVERT: Final = "open it in Excel or LibreOffice and save it as .xlsx"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadWorkbook:
    """A workbook as read: its path and hash, and openpyxl's two views of it, formulas and stored values."""

    path: Path
    sha256: str
    formulas: Workbook
    values: Workbook
    data: bytes = b""

    @cached_property
    def grids(self) -> list[Grid]:
        """Every sheet's cells."""
        return [
            _grid(self.formulas[name], self.values[name], partial(empty_texts, self.data, name))
            for name in self.values.sheetnames
            if hasattr(self.values[name], "iter_rows")
        ]

    @property
    def names(self) -> set[str]:
        """The workbook's names but the functions that planner put there, as Excel compares them."""
        return {
            name.casefold()
            for name, defined in self.formulas.defined_names.items()
            if defined.vbProcedure is not True and defined.comment != NAME_COMMENT
        }

    def table(self, sheet: str = "") -> ScenarioTable:
        """The scenario table; raises PlannerError where there is none."""
        return read_table(self.grids, sheet)

    def source(self, table: ScenarioTable) -> Source:
        """What a study says of where it came from."""
        columns = (
            f"{COLUMNS[name].label} in {column_letters(cell.column)}" for name, cell in table.header.cells.items()
        )
        return Source(self.path.name, self.sha256, table.sheet, tuple(columns))

    def copy_of(self, name: str) -> tuple[Sheet, list[str]]:
        """A copy of a sheet, and the cells whose formulas lean on what the copy does not have."""
        if len(name) > LONGEST_SHEET_NAME or name.strip("'") != name:
            raise PlannerError(f"{self.path}: Excel takes no sheet named '{name}'; rename it to at most 31 characters.")
        return _copy(self.formulas[name], self.values[name])


def read_scenarios(path: str | Path, sheet: str = "") -> ScenarioTable:
    """The scenarios of a workbook, with every issue that reading them met.

    Raises PlannerError where the file is not a workbook that can be read.
    """
    return read_workbook(path).table(sheet)


def read_workbook(path: str | Path) -> ReadWorkbook:
    """Open a workbook for reading; it is never changed.

    Raises PlannerError, with the cure, where it cannot be read.
    """
    path = Path(path)
    data = checked_bytes(path)
    try:
        # openpyxl warns of features it leaves out; nothing is saved from what it loads, so nothing is lost.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            formulas = openpyxl.load_workbook(io.BytesIO(data), keep_links=False)
            values = openpyxl.load_workbook(io.BytesIO(data), data_only=True, keep_links=False)
    except Exception as error:  # openpyxl raises many kinds on damaged files; the user needs the file's name.
        log.debug("openpyxl could not read %s", path, exc_info=True)
        raise PlannerError(f"{path} cannot be read as a workbook ({_one_line(error)}); {_HOW_TO_CONVERT}.") from error
    if not values.sheetnames:
        raise PlannerError(f"{path} shows no sheets, as a Strict Open XML file does; save it as plain .xlsx.")
    return ReadWorkbook(path, hashlib.sha256(data).hexdigest(), formulas, values, data)


def checked_bytes(path: Path) -> bytes:
    """A workbook's bytes, once they are known to be an .xlsx or .xlsm package of a sane size.

    Raises PlannerError, with the cure, where they are not.
    """
    data = _bytes_of(path)
    _refuse_other_kinds(path, data)
    return data


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = "; `planner new FILE.xlsx` writes a starter" if path.suffix in {".xlsx", ".xlsm"} else ""
        raise PlannerError(f"No such file: {path}{hint}.") from None
    except IsADirectoryError:
        raise PlannerError(f"{path} is a folder; name a workbook in it.") from None
    except PermissionError:
        raise PlannerError(f"{path} may not be read: permission denied, or it is open elsewhere.") from None
    except OSError as error:
        raise PlannerError(f"{path} cannot be read: {error.strerror or error}.") from None


def _refuse_other_kinds(path: Path, data: bytes) -> None:
    """Say what a file is where it is no .xlsx or .xlsm package, and stop before a bomb is unpacked."""
    if data[:4] == _OLE:
        what = (
            "an old .xls workbook" if path.suffix.lower() == ".xls" else "password-protected, or an old .xls workbook"
        )
        raise PlannerError(f"{path} is {what}; remove the password, or {_HOW_TO_CONVERT}.")
    if data[:2] != _ZIP:
        kind = "empty" if not data else "not an Excel workbook (perhaps a text or .csv file)"
        raise PlannerError(f"{path} is {kind}; {_HOW_TO_CONVERT}.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            entries = package.infolist()
            names = {entry.filename for entry in entries}
            unpacked = sum(entry.file_size for entry in entries)
    except (zipfile.BadZipFile, ValueError, OverflowError):
        raise PlannerError(f"{path} is damaged: the package is cut short or broken. Use an intact copy.") from None
    if unpacked > _LARGEST_UNPACKED or (unpacked > _RATIO_MATTERS_FROM and unpacked > _HIGHEST_RATIO * len(data)):
        raise PlannerError(
            f"{path} would unpack to {unpacked / 1e9:.1f} GB, which no scenario workbook needs; not read."
        )
    if "xl/workbook.bin" in names:
        raise PlannerError(f"{path} is a binary .xlsb workbook; {_HOW_TO_CONVERT}.")
    if "content.xml" in names:
        raise PlannerError(f"{path} is an OpenDocument file; {_HOW_TO_CONVERT}.")
    if "[Content_Types].xml" not in names:
        raise PlannerError(f"{path} is a zip file but no workbook; {_HOW_TO_CONVERT}.")


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:120] or type(error).__name__


def _cells_of(sheet: Worksheet) -> dict[tuple[int, int], OpenpyxlCell]:
    """The cells that the file holds, and no others: asking a sheet for a cell by its place would make it."""
    cells: dict[tuple[int, int], OpenpyxlCell] = sheet._cells  # type: ignore[assignment]  # noqa: SLF001
    return cells


def _formula_text(value: object) -> str:
    """A cell's formula, or nothing where it holds a plain value."""
    if isinstance(value, ArrayFormula):
        return str(value.text or "")
    if isinstance(value, DataTableFormula):
        return "=TABLE()"
    return value if isinstance(value, str) and value.startswith("=") else ""


# Text in quotes or behind a backslash is shown as it stands: 0"%" shows a sign and scales nothing.
_LITERAL: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


def shows_percent(number_format: str) -> bool:
    """Whether a number format shows a number as percent.

    >>> shows_percent("0.0%"), shows_percent('0"%"')
    (True, False)
    """
    return "%" in _LITERAL.sub("", number_format)


def _grid(formulas: Worksheet, values: Worksheet, empty: Callable[[], set[str]]) -> Grid:
    """A sheet's cells, the value of a merged cell spread down over the rows that it covers.

    ``empty`` tells the cells whose formula gives an empty text; it is asked only where there may be any.
    """
    rows: dict[int, dict[int, Cell]] = {}
    unstored: list[tuple[int, int, str]] = []
    for (row, column), cell in _cells_of(values).items():
        raw = _cells_of(formulas).get((row, column))
        formula = _formula_text(raw.value) if raw is not None and raw.data_type == "f" else ""
        if cell.value is None and not formula:
            continue
        if cell.value is None:
            unstored.append((row, column, cell.coordinate))
        rows.setdefault(row, {})[column] = Cell(
            value=cell.value,
            formula=formula,
            percent=shows_percent(cell.number_format or "") and not isinstance(cell.value, str),
            error=cell.data_type == "e",
        )
    if unstored:
        blank = empty()
        for row, column, coordinate in unstored:
            if coordinate in blank:
                rows[row][column] = replace(rows[row][column], value="")
    filled = sorted(rows)
    for area in values.merged_cells.ranges:
        top = rows.get(area.min_row, {}).get(area.min_col)
        if top is not None:
            spread = replace(top, at=f"{column_letters(area.min_col)}{area.min_row}")
            # Only rows that hold something: a merge may cover a million empty ones.
            for row in filled[bisect_right(filled, area.min_row) : bisect_right(filled, area.max_row)]:
                rows[row].setdefault(area.min_col, spread)
    hidden = frozenset(int(row) for row, dimension in values.row_dimensions.items() if dimension.hidden)
    return Grid(values.title, rows, ours=MARK in values.defined_names, hidden=hidden)


def _copy(formulas: Worksheet, values: Worksheet) -> tuple[Sheet, list[str]]:
    """The sheet's cells with formulas, stored values and the look of each; foreign formulas become values."""
    cells: list[CellOut] = []
    foreign: list[str] = []
    looks: dict[int, Style] = {}
    last = max((row for (row, _), cell in _cells_of(formulas).items() if cell.value is not None), default=0)
    for (row, column), raw in sorted(_cells_of(formulas).items()):
        # Rows of nothing but formats, of which a sheet may have a million, are left behind.
        if row > last:
            break
        if raw.style_id not in looks:
            looks[raw.style_id] = _style(raw)
        style = looks[raw.style_id]
        if raw.value is None and style == Style():
            continue
        stored = _cells_of(values).get((row, column))
        value = None if stored is None else stored.value
        is_formula = raw.data_type == "f"
        formula = _formula_text(raw.value) if is_formula else ""
        if formula and not _self_contained(raw.value):
            # Without a stored value there is nothing to stand in its place; reading says so at the cell.
            foreign += [] if value is None else [raw.coordinate]
            formula = ""
        cells.append(CellOut(row - 1, column - 1, value if is_formula else raw.value, formula, style))
    widths = {
        index: dimension.width
        for dimension in formulas.column_dimensions.values()
        if dimension.customWidth and dimension.min
        # One width may stand for a run of columns, as far as Excel's last.
        for index in range(dimension.min, min(dimension.max or dimension.min, formulas.max_column) + 1)
    }
    return (
        Sheet(
            name=formulas.title,
            cells=cells,
            widths={index - 1: width for index, width in widths.items()},
            heights={int(row) - 1: d.height for row, d in formulas.row_dimensions.items() if d.height},
            freeze=_frozen(formulas),
            hidden_rows=tuple(int(row) - 1 for row, dimension in formulas.row_dimensions.items() if dimension.hidden),
            merges=tuple(
                (int(area.min_row) - 1, int(area.min_col) - 1, int(area.max_row) - 1, int(area.max_col) - 1)
                for area in formulas.merged_cells.ranges
            ),
        ),
        foreign,
    )


def _frozen(sheet: Worksheet) -> tuple[int, int]:
    if not sheet.freeze_panes:
        return (0, 0)
    row, column = coordinate_to_tuple(str(sheet.freeze_panes))
    return (row - 1, column - 1)


def _self_contained(value: Any) -> bool:
    """Whether a formula needs only its own sheet: no other sheet, no other workbook, no defined name, no array."""
    if not isinstance(value, str):
        return False
    try:
        tokens = Tokenizer(value).items
    except TokenizerError:
        return False
    for token in tokens:
        is_range = token.type == "OPERAND" and token.subtype == "RANGE"
        if is_range and not _OWN_CELLS.fullmatch(token.value.replace("$", "")):
            return False
        # A macro's function, or one newer than other programs know, is not in the copy's reach.
        if token.type == "FUNC" and token.subtype == "OPEN" and token.value[:-1].upper() not in FORMULAE:
            return False
    return True


def _style(cell: OpenpyxlCell) -> Style:
    """What a reader would miss of a cell's look: number format, bold, italic, fill, wrapping, alignment."""
    if not cell.has_style:
        return Style()
    fill = cell.fill.fgColor.rgb if cell.fill.fill_type == "solid" and cell.fill.fgColor.type == "rgb" else None
    colour = cell.font.color.rgb if cell.font.color is not None and cell.font.color.type == "rgb" else None
    return Style(
        number_format=cell.number_format or "General",
        bold=bool(cell.font.bold),
        italic=bool(cell.font.italic),
        fill=f"#{fill[-6:]}" if isinstance(fill, str) else "",
        colour=f"#{colour[-6:]}" if isinstance(colour, str) else "",
        wrap=bool(cell.alignment.wrap_text),
        align=cell.alignment.horizontal if cell.alignment.horizontal in {"left", "center", "right"} else "",
    )
