"""The workbook that is open in Excel: its scenarios evaluated, its result sheets written, its report beside it.

Through xlwings, on Windows and macOS. It has run against a stand-in for Excel only.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.headers import Cell, Grid, column_letters
from planner.hosts.com import ERRORS, as_typed, has_com
from planner.hosts.live_sheets import define_functions, is_ours, own_sheet_names, write_live
from planner.issues import Issue, PlannerError, Severity
from planner.job import default_output, default_pdf, write_results
from planner.library_sheets import is_library_name
from planner.plan.study import Options, Source, Study, make_study
from planner.settings_sheet import complete
from planner.table import read_table
from planner.workbook.results_sheet import Functions
from planner.workbook.sheets import renamed_sheets, result_sheets, sheet_names
from planner.workbook.shown import shows_percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import xlwings

__all__ = ["check", "evaluate", "grids", "open_book", "report", "write_live"]

_HOW_TO_OPEN: Final = "open the workbook in Excel first"


def check(book: xlwings.Book | None = None, *, options: Options | None = None, sheet: str = "") -> Study:
    """Evaluate the scenarios of the open workbook and write nothing.

    Raises PlannerError where no workbook is open, or where no sheet holds scenarios.
    """
    return _study(book or open_book(), options, sheet)


def evaluate(
    book: xlwings.Book | None = None,
    *,
    options: Options | None = None,
    sheet: str = "",
    functions: Functions = Functions.EMBEDDED,
) -> Study:
    """Evaluate the scenarios of the open workbook and write the result sheets into it; nothing is saved.

    Where the workbook cannot carry the functions, the sheets calculate with plain arithmetic and say so.
    Raises PlannerError as :func:`check` does, and where Excel refuses to write.
    """
    book = book or open_book()
    study = _study(book, options, sheet)
    notes = []
    why_not = define_functions(book) if functions is Functions.EMBEDDED else ""
    if why_not:
        functions = Functions.PLAIN
        notes.append(
            Issue(severity=Severity.NOTE, code="name-taken", problem=f"{why_not}, so the sheets use plain arithmetic")
        )
    taken = own_sheet_names(book)
    names = sheet_names(taken)
    study = dataclasses.replace(study, issues=(*study.issues, *notes, *renamed_sheets(names, taken)))
    write_live(book, result_sheets(study, functions, names=names))
    return study


def report(
    book: xlwings.Book | None = None,
    *,
    options: Options | None = None,
    sheet: str = "",
    paper: str = "",
    title: str = "",
) -> tuple[Study, Path]:
    """Write the PDF report beside the open workbook, a results workbook attached to it; returns its path too.

    A results workbook that is too large to attach is written beside the report, which names it.
    Raises PlannerError as :func:`check` does, where the workbook has no folder of its own yet, and where
    no PDF can be made or written.
    """
    book = book or open_book()
    source = _path_of(book)
    study = _study(book, options, sheet)
    # The report's libraries take a second to load.
    from planner.report.pdf import is_attachable  # noqa: PLC0415
    from planner.report.render import render_report  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / default_output(source).name
        write_results(study, results)
        if not is_attachable(results):
            results = default_output(source)
            write_results(study, results)
        render_report(
            study,
            default_pdf(source),
            paper=paper,
            command=f"planner run {source.name}",
            title=title,
            attachment=results,
        )
    return study, default_pdf(source)


def open_book() -> xlwings.Book:
    """The workbook whose button was pressed, else the active one.

    Raises PlannerError where xlwings is missing, Excel does not run, or no workbook is open.
    """
    try:
        import xlwings  # noqa: PLC0415  a dependency that only hosts need
    except ImportError:
        raise PlannerError("Excel is reached through xlwings; `pip install xlwings` brings it.") from None
    if any(argument.startswith("--from_xl") for argument in sys.argv):
        return xlwings.Book.caller()
    try:
        app = xlwings.apps.active
    except xlwings.XlwingsError:
        raise PlannerError(f"There is no Excel to reach on this system; on Windows or macOS, {_HOW_TO_OPEN}.") from None
    if app is None or not len(app.books):
        raise PlannerError(f"No workbook is open; {_HOW_TO_OPEN}.")
    return app.books.active


def _path_of(book: xlwings.Book) -> Path:
    """Where the workbook lies on this computer."""
    import xlwings  # noqa: PLC0415  loaded by now: there is a book

    try:
        path = Path(book.fullname)
    except xlwings.XlwingsError as error:
        raise PlannerError(
            f"{book.name} lies in OneDrive or SharePoint, and its folder on this computer is not known; save a copy on "
            "this computer."
        ) from error
    if not path.is_absolute():
        raise PlannerError(f"{book.name} has not been saved yet; save it, so that the report has a place beside it.")
    return path


def _folder(book: xlwings.Book) -> Path:
    """The workbook's folder; here, where it has none yet."""
    try:
        return _path_of(book).parent
    except PlannerError:
        return Path()


def _study(book: xlwings.Book, options: Options | None, sheet: str) -> Study:
    read = grids(book)
    table = read_table(read, sheet)
    # What takes a call of Excel for each look of a cell is asked of the sheets that count only.
    seen = [_with_looks(book, grid) for grid in read if grid.name == table.sheet or is_library_name(grid.name)]
    # The settings stand in the sheet that was read first; how its cells look says nothing of them.
    settled, said = complete(table.settings, _folder(book), {})
    table = read_table(seen, table.sheet)
    return make_study(
        table.entries,
        skipped=table.skipped,
        issues=(*said, *table.issues),
        settings=settled,
        completed=table.completed,
        source=Source(book.name, "", table.sheet),
        options=options or Options(),
    )


def grids(book: xlwings.Book) -> list[Grid]:
    """The cells of every sheet, but neither percent formats nor merged cells nor hidden rows."""
    return [
        Grid(sheet.name, {} if (ours := is_ours(sheet)) else _rows(sheet.used_range), ours=ours)
        for sheet in book.sheets
    ]


def _rows(used: xlwings.Range) -> dict[int, dict[int, Cell]]:
    values = used.options(ndim=2, err_to_str=True).value
    formulas = _table(used.formula, used.shape)
    rows: dict[int, dict[int, Cell]] = {}
    for row, (shown, typed) in enumerate(zip(values, formulas, strict=True), used.row):
        for column, (value, text) in enumerate(zip(shown, typed, strict=True), used.column):
            cell = _cell(value, text)
            if cell:
                rows.setdefault(row, {})[column] = cell
    return rows


def _table(found: Any, shape: tuple[int, int]) -> list[list[Any]]:
    """What Excel gives for a range as rows: a lone cell comes as itself, and a row or column may come flat."""
    if not isinstance(found, list | tuple):
        return [[found]]
    if found and isinstance(found[0], list | tuple):
        return [list(row) for row in found]
    return [list(found)] if shape[0] == 1 else [[cell] for cell in found]


def _cell(value: Any, text: Any) -> Cell | None:
    value = as_typed(value)
    if isinstance(value, float) and value.is_integer():
        # As a file has it: messages quote a whole number without its point.
        value = int(value)
    # A text that begins with = is its own formula; a formula's value is another.
    formula = text if isinstance(text, str) and text.startswith("=") and text != value else ""
    if value is None:
        # Excel has worked every formula out, so that one without a value shows an empty text.
        return Cell("", formula) if formula else None
    return Cell(value, formula, error=isinstance(value, str) and value in ERRORS)


def _with_looks(book: xlwings.Book, grid: Grid) -> Grid:
    """The grid with its percentages and hidden rows marked, and merged cells spread down over their rows."""
    used = book.sheets[grid.name].used_range
    rows = {row: dict(cells) for row, cells in grid.rows.items()}
    for part, shown in _uniform(used, lambda place: place.number_format):
        if isinstance(shown, str) and shows_percent(shown):
            for row, column in _places(part):
                cell = rows.get(row, {}).get(column)
                if cell and not isinstance(cell.value, str):
                    rows[row][column] = dataclasses.replace(cell, percent=True)
    areas = {
        part.merge_area.address: part.merge_area
        for part, merged in _uniform(used, lambda place: False if place.merge_cells is False else None)
        if merged is None
    }
    for area in areas.values():
        top = rows.get(area.row, {}).get(area.column)
        spread = dataclasses.replace(top, at=f"{column_letters(area.column)}{area.row}") if top else None
        for row in range(area.row + 1, area.row + area.shape[0]):
            if spread and row in rows:
                rows[row].setdefault(area.column, spread)
    return Grid(grid.name, rows, hidden=_hidden_rows(used))


def _hidden_rows(used: xlwings.Range) -> frozenset[int]:
    """The rows that a filter or a hand has hidden; on macOS xlwings would have to ask for each, so none are told."""
    if not has_com():
        return frozenset()
    parts = _uniform(used[:, :1], lambda place: place.api.EntireRow.Hidden)
    return frozenset(row for part, hidden in parts if hidden for row, _ in _places(part))


def _uniform(place: xlwings.Range, look: Callable[[xlwings.Range], Any]) -> Iterator[tuple[xlwings.Range, Any]]:
    """A range in parts of one look each; Excel says None of a range whose cells differ. Lone cells come with None."""
    shown = look(place)
    height, width = place.shape
    if shown not in {None, ""} or (height, width) == (1, 1):
        yield place, shown
        return
    if width > 1:
        halves = place[:, : width // 2], place[:, width // 2 :]
    else:
        halves = place[: height // 2, :], place[height // 2 :, :]
    for half in halves:
        yield from _uniform(half, look)


def _places(place: xlwings.Range) -> Iterator[tuple[int, int]]:
    height, width = place.shape
    for row in range(place.row, place.row + height):
        for column in range(place.column, place.column + width):
            yield row, column
