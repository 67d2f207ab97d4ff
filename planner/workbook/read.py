"""Reading a workbook: .xlsx and .xlsm to grids of cells, with openpyxl."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import warnings
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import ParseError

import openpyxl
from defusedxml import DefusedXmlException, ElementTree

from planner.functions import NAME_COMMENT
from planner.headers import Cell, Grid, column_letters, find_header
from planner.issues import PlannerError
from planner.library_sheets import is_library_name
from planner.plan.scenario import COLUMNS
from planner.plan.study import Source
from planner.settings_sheet import is_settings_name
from planner.table import PREFERRED_SHEET, ScenarioTable, read_table
from planner.workbook.large import read_large, split
from planner.workbook.package import HOW_TO_CONVERT, Package, marked_sheets, marks, open_package
from planner.workbook.shown import cell_of
from planner.workbook.slim import Merge, raw_sheets, shared_strings, slim

if TYPE_CHECKING:
    from collections.abc import Collection

    from openpyxl import Workbook
    from openpyxl.cell.cell import Cell as OpenpyxlCell
    from openpyxl.worksheet.worksheet import Worksheet

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"

# Cells under merges; areas that overlap, as no program writes them, could make it billions.
_MOST_SPREAD: Final = 1_000_000

# Warnings are caught for the whole process, so by one thread at a time.
_QUIETLY: Final = threading.Lock()

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadWorkbook:
    """A workbook as read: its package, and the cells of its sheets as they are asked for.

    ``values`` is the package whose cells are read, where that is another: a recalculated copy.
    """

    package: Package
    values: Package

    @property
    def path(self) -> Path:
        """Where the workbook is."""
        return self.package.path

    @cached_property
    def sha256(self) -> str:
        """The hash of the workbook's bytes."""
        return hashlib.sha256(self.package.data).hexdigest()

    @property
    def sheet_names(self) -> list[str]:
        """The names of all sheets, charts' sheets included."""
        return [sheet.name for sheet in self.package.sheets]

    @property
    def ours(self) -> dict[str, str]:
        """The result sheets of an earlier run: what each is, and the name that it has now."""
        return {mark: self.package.sheets[index].name for mark, index in marked_sheets(self.package).items()}

    @cached_property
    def grids(self) -> list[Grid]:
        """Every worksheet's cells."""
        return self._grids(None)

    def _grids(self, wanted: Collection[str] | None, *, fast: bool = True) -> list[Grid]:
        sheets = raw_sheets(self.values, wanted)
        strings = cache(lambda: shared_strings(self.values))
        large = {name: found for name, sheet in sheets.items() if fast and (found := split(sheet, strings))}
        parts = {
            name: sheet.part(large[name].rest if name in large else sheet.filled()) for name, sheet in sheets.items()
        }
        book = self._opened(slim(self.values, parts))
        marked = {self.package.sheets[index].name for index, _ in marks(self.package)}
        grids = []
        for name, sheet in sheets.items():
            rows: dict[int, dict[int, Cell]] = {}
            if name in large:
                read = read_large(self.values, large[name], book)
                if read is None:
                    return self._grids(wanted, fast=False)
                rows = read
            hidden = large[name].hidden if name in large else frozenset()
            ours = name in marked
            grids.append(_grid(book[name], parts[name], sheet.merges, rows, hidden, ours=ours))
        return grids

    def _opened(self, data: bytes) -> Workbook:
        try:
            with _QUIETLY, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return openpyxl.load_workbook(io.BytesIO(data), data_only=True, keep_links=False)
        except Exception as error:  # openpyxl raises many kinds on damaged files; the user needs the file's name.
            log.debug("openpyxl could not read %s", self.path, exc_info=True)
            raise PlannerError(
                f"{self.path} cannot be read as a workbook ({_one_line(error)}); {HOW_TO_CONVERT}."
            ) from error

    @property
    def names(self) -> set[str]:
        """The workbook's names but the functions that planner put there, as Excel compares them."""
        return {
            name.name.casefold()
            for name in self.package.names
            if name.sheet is None and not name.procedure and name.comment != NAME_COMMENT
        }

    def table(self, sheet: str = "") -> ScenarioTable:
        """The scenario table; raises PlannerError where there is none."""
        wanted = (sheet or PREFERRED_SHEET).casefold()
        named = [s.name for s in self.values.sheets if s.name.casefold() == wanted and s.kind == "worksheet"]
        # The sheets that will be read, alone: other sheets may hold millions of cells.
        own = [
            s.name
            for s in self.values.sheets
            if (is_library_name(s.name) or is_settings_name(s.name)) and s.kind == "worksheet"
        ]
        grids = self._grids({*named, *own}) if named else []
        if not any(not grid.ours and grid.name in named and find_header(grid) for grid in grids):
            grids = self.grids
        return read_table(grids, sheet)

    def source(self, table: ScenarioTable) -> Source:
        """What a study says of where it came from."""
        columns = (
            f"{COLUMNS[name].label} in {column_letters(cell.column)}" for name, cell in table.header.cells.items()
        )
        return Source(self.path.name, self.sha256, table.sheet, tuple(columns))


def read_scenarios(path: str | Path, sheet: str = "") -> ScenarioTable:
    """The scenarios of a workbook, with every issue that reading them met.

    Raises PlannerError where the file is not a workbook that can be read.
    """
    return read_workbook(path).table(sheet)


def read_workbook(path: str | Path) -> ReadWorkbook:
    """Open a workbook for reading; it is never changed.

    Raises PlannerError, with the cure, where it cannot be read.
    """
    package = open_package(Path(path))
    # What is no workbook after all, or of a kind that is not read, is told by its list of sheets.
    log.debug("%s has %d sheets", path, len(package.sheets))
    return ReadWorkbook(package, package)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:120] or type(error).__name__


def _cells_of(sheet: Worksheet) -> dict[tuple[int, int], OpenpyxlCell]:
    """The cells that the file holds, and no others: asking a sheet for a cell by its place would make it."""
    cells: dict[tuple[int, int], OpenpyxlCell] = sheet._cells  # type: ignore[assignment]  # noqa: SLF001
    return cells


def _grid(
    sheet: Worksheet,
    part: bytes,
    merges: list[Merge],
    rows: dict[int, dict[int, Cell]],
    hidden: frozenset[int],
    *,
    ours: bool,
) -> Grid:
    """A sheet's cells, beside those read already; the value of a merged cell spread over the rows that it covers."""
    unstored: list[tuple[int, int, str]] = []
    for (row, column), cell in _cells_of(sheet).items():
        if cell.value is None:
            unstored.append((row, column, cell.coordinate))
        # Blank cells are not read at all, so what has no value here is a formula.
        formula = "=" if cell.value is None else ""
        error = cell.data_type == "e"
        rows.setdefault(row, {})[column] = cell_of(cell.value, cell.number_format or "", formula=formula, error=error)
    if unstored:
        blank = _empty_texts(part)
        for row, column, coordinate in unstored:
            if coordinate in blank:
                rows[row][column] = replace(rows[row][column], value="", formula="")
    filled = sorted(rows)
    left = _MOST_SPREAD
    for area in merges:
        top = rows.get(area.first_row, {}).get(area.first_column)
        if top is not None:
            spread = replace(top, at=f"{column_letters(area.first_column)}{area.first_row}")
            # Only rows that hold something: a merge may cover a million empty ones.
            under = filled[bisect_right(filled, area.first_row) : bisect_right(filled, area.last_row)]
            for row in under[:left]:
                rows[row].setdefault(area.first_column, spread)
            left -= len(under[:left])
    hidden |= frozenset(int(row) for row, dimension in sheet.row_dimensions.items() if dimension.hidden)
    return Grid(sheet.title, rows, ours=ours, hidden=hidden)


def _empty_texts(part: bytes) -> set[str]:
    """The cells whose formula gives an empty text, which openpyxl shows like a formula never worked out."""
    found = set()
    try:
        for _, cell in ElementTree.iterparse(io.BytesIO(part)):
            if cell.tag == f"{_MAIN}c":
                if cell.get("t") == "str" and not cell.findtext(f"{_MAIN}v"):
                    found.add(cell.get("r", ""))
                cell.clear()
    except (ParseError, DefusedXmlException):
        return set()
    return found
