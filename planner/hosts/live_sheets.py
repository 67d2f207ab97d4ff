"""Result sheets into a workbook that is open in Excel: the same descriptions that the file writer takes.

Only planner's own sheets are written, known by name and by their hidden mark. Left out are page set-up,
drop-downs and hidden rows, which result sheets do not have or which cost seconds through COM; on macOS
frozen panes, filters, charts and tab colours as well.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any, Final

from openpyxl.utils.datetime import to_excel

from planner.functions import NAME_COMMENT, lambdas
from planner.guards import NUMBER_NAME
from planner.hosts.com import excel_errors, has_com
from planner.issues import PlannerError
from planner.workbook.layout import CHART_PIXELS, MARK, address, mark_text, on_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import xlwings

    from planner.workbook.layout import CellOut, Chart, Rule, Sheet, Style

    Area = tuple[int, int, int, int]

# Rows of a block: one call of Excel each, so that ten thousand cells take no ten thousand calls.
_BLOCK: Final = 5_000
_LONGEST_TEXT: Final = 32_767
_POINTS_PER_PIXEL: Final = 0.75
# Excel's own numbers: a single underline, and the axes of a chart.
_UNDERLINED: Final = 2
_CATEGORIES, _VALUES = 1, 2
_KINDS: Final = {
    "line": "line_markers",
    "column": "column_clustered",
    "column_stacked": "column_stacked",
    "bar_stacked": "bar_stacked",
}
_LINE_WITH_MARKS, _DASHED = 65, 4
_LOGARITHMIC: Final = -4133


def is_ours(sheet: xlwings.Sheet) -> bool:
    """Whether a sheet carries the hidden mark of planner's result sheets."""
    return any(name.name.rpartition("!")[2] == MARK for name in sheet.names)


def own_sheet_names(book: xlwings.Book) -> list[str]:
    """The names of all sheets that are not planner's; chart sheets too, where Excel tells of them."""
    marked = {sheet.name for sheet in book.sheets if is_ours(sheet)}
    names = [sheet.Name for sheet in book.api.Sheets] if has_com() else [sheet.name for sheet in book.sheets]
    return [name for name in names if name not in marked]


def object_model_text(stored: str) -> str:
    """A formula as Excel's object model takes it, from the form in which a file stores it.

    >>> object_model_text("_xlfn.LAMBDA(_xlpm.x,_xlop.y,_xlpm.x+_xlpm.y)")
    'LAMBDA(x,[y],x+y)'
    """
    return re.sub(r"_xlfn\.(?:_xlws\.)?|_xlpm\.", "", re.sub(r"_xlop\.(\w+)", r"[\1]", stored))


def define_functions(book: xlwings.Book) -> str:
    """Define planner's functions as names of the workbook; returns why it cannot be done, or nothing.

    A name that the workbook has for something else is never changed, and then none is defined.
    """
    there = {name.name.casefold(): name for name in book.names}
    wanted = {name: f"={object_model_text(text)}" for name, text in lambdas().items()}
    own = [
        name for name, text in wanted.items() if name.casefold() in there and not _is_ours(there[name.casefold()], text)
    ]
    if own:
        return f"The workbook has {', '.join(own)} as a name of its own"
    try:
        for name, text in wanted.items():
            old = there.get(name.casefold())
            if old is None:
                _mark_name(book.names.add(name, text), hidden=name == NUMBER_NAME)
            elif old.refers_to != text:
                old.refers_to = text
    except excel_errors():
        return "This Excel takes no LAMBDA functions as names"
    return ""


def _is_ours(name: xlwings.main.Name, text: str) -> bool:
    # Excel may give a formula back with other blanks and in its own letter case.
    same = "".join((name.refers_to or "").split()).casefold() == "".join(text.split()).casefold()
    return same or (has_com() and name.api.Comment == NAME_COMMENT)


def _mark_name(name: xlwings.main.Name, *, hidden: bool) -> None:
    if has_com():
        name.api.Comment = NAME_COMMENT
        name.api.Visible = not hidden
    elif hidden:
        name.api.visible.set(False)


def write_live(book: xlwings.Book, sheets: Sequence[Sheet]) -> None:
    """Write sheets into an open workbook; earlier ones of the same name are written over where they stand.

    Raises PlannerError where a user's sheet has the name of one, or where Excel lets no sheet be added.
    """
    active = book.sheets.active
    try:
        with book.app.properties(screen_updating=False, enable_events=False, calculation="manual"):
            for sheet in sheets:
                if sheet.charts and not has_com():
                    continue
                _write_sheet(_target(book, sheet), sheet)
            active.activate()
    except excel_errors() as error:
        raise PlannerError(
            f"Excel refused to write into {book.name}; end any editing of a cell, take off the workbook's protection, "
            "and try again."
        ) from error


def _target(book: xlwings.Book, sheet: Sheet) -> xlwings.Sheet:
    """The sheet to write: an earlier one of ours, emptied, or a new one at the end."""
    for old in book.sheets:
        if old.name.casefold() == sheet.name.casefold():
            if not is_ours(old):
                raise PlannerError(f"The workbook has a sheet named '{old.name}' of its own, which is never written.")
            # A hidden sheet cannot be made the active one, which its panes and rules need.
            old.visible = True
            _empty(old)
            return old
    new: xlwings.Sheet = book.sheets.add(sheet.name, after=book.sheets[len(book.sheets) - 1])
    _mark_name(new.names.add(MARK, f"={mark_text(sheet.mark, sheet.name)}"), hidden=True)
    return new


def _empty(sheet: xlwings.Sheet) -> None:
    for thing in (*sheet.charts, *sheet.notes):
        thing.delete()
    sheet.clear()
    if has_com():
        sheet.api.AutoFilterMode = False
        sheet.api.Cells.UseStandardHeight = True


def _write_sheet(target: xlwings.Sheet, sheet: Sheet) -> None:
    cells = list(sheet.cells)
    _write_cells(target, cells)
    for style, area in areas({(cell.row, cell.column): cell.style for cell in cells}):
        _apply(_range(target, area), style)
    for area in sheet.merges:
        _range(target, area).merge()
    for column, width in sheet.widths.items():
        _range(target, (0, column, 0, column)).column_width = width
    for row, height in sheet.heights.items():
        _range(target, (row, 0, row, 0)).row_height = height
    for (row, column), text in sheet.notes.items():
        _range(target, (row, column, row, column)).add_note(text)
    target.activate()
    _add_rules(target, sheet.rules)
    if has_com():
        _finish(target, sheet)


def _range(sheet: xlwings.Sheet, area: Area) -> xlwings.Range:
    top, left, bottom, right = area
    return sheet.range((top + 1, left + 1), (bottom + 1, right + 1))


def _write_cells(target: xlwings.Sheet, cells: Sequence[CellOut]) -> None:
    if not cells:
        return
    width = max(cell.column for cell in cells) + 1
    rows: dict[int, list[Any]] = {}
    for cell in cells:
        rows.setdefault(cell.row, [None] * width)[cell.column] = _entry(cell)
    table = [rows.get(row, [None] * width) for row in range(max(rows) + 1)]
    dynamic = _has_dynamic_arrays(target)
    for start in range(0, len(table), _BLOCK):
        block = table[start : start + _BLOCK]
        place = _range(target, (start, 0, start + len(block) - 1, width - 1))
        if dynamic:
            place.formula2 = block
        else:
            place.formula = block


def _entry(cell: CellOut) -> Any:
    """What to put into a cell. A text gets an apostrophe: else Excel takes '=x', '1/2' or '007' for something else."""
    if cell.formula:
        return object_model_text(cell.formula)
    if cell.value is None or cell.value == "":
        return None
    if isinstance(cell.value, dt.date):
        # As its number, which reads the same in every country; the format shows it as a day.
        return float(to_excel(cell.value))  # type: ignore[no-untyped-call]
    return cell.value if isinstance(cell.value, int | float) else f"'{str(cell.value)[:_LONGEST_TEXT]}"


def _has_dynamic_arrays(sheet: xlwings.Sheet) -> bool:
    """Whether this Excel knows formulas that spill. It is asked by reading: writing to an unknown property hangs."""
    unknown: tuple[type[Exception], ...] = (AttributeError, *excel_errors())
    try:
        sheet.range("A1").formula2  # noqa: B018  raises where it is unknown
    except unknown:
        return False
    return True


def areas(styles: Mapping[tuple[int, int], Style]) -> Iterator[tuple[Style, Area]]:
    """The looks of cells by rectangles of one look: down each column first, then across equal neighbours."""
    columns: dict[int, list[int]] = {}
    for row, column in styles:
        columns.setdefault(column, []).append(row)
    begun: dict[tuple[Style, int, int], tuple[int, int]] = {}
    for column in sorted(columns):
        for run in _runs(sorted(columns[column]), column, styles):
            left, right = begun.get(run, (column, column - 1))
            if right != column - 1:
                yield run[0], (run[1], left, run[2], right)
                left = column
            begun[run] = (left, column)
    for (style, top, bottom), (left, right) in begun.items():
        yield style, (top, left, bottom, right)


def _runs(
    rows: Iterable[int], column: int, styles: Mapping[tuple[int, int], Style]
) -> Iterator[tuple[Style, int, int]]:
    run: tuple[Style, int, int] | None = None
    for row in rows:
        style = styles[row, column]
        if run and run[0] == style and run[2] == row - 1:
            run = (style, run[1], row)
            continue
        if run:
            yield run
        run = (style, row, row)
    if run:
        yield run


def _apply(place: xlwings.Range, style: Style) -> None:
    if style.number_format != "General":
        place.number_format = style.number_format
    _apply_font(place, style)
    if style.fill:
        place.color = style.fill
    if style.wrap:
        place.wrap_text = True
    if style.align in {"left", "center", "right"}:
        place.horizontal_alignment = style.align  # type: ignore[assignment]
    if style.top_aligned:
        place.vertical_alignment = "top"
    if style.bottom:
        inside = ["inside_horizontal"] if place.shape[0] > 1 else []
        place.borders.set(["edge_bottom", *inside], color=style.bottom, weight="thin", line_style="continuous")
    if has_com() and style.indent:
        place.api.IndentLevel = style.indent


def _apply_font(place: xlwings.Range, style: Style) -> None:
    if style.bold:
        place.font.bold = True
    if style.italic:
        place.font.italic = True
    if style.colour:
        place.font.color = style.colour
    if style.size:
        place.font.size = style.size
    if has_com() and style.underline:
        place.api.Font.Underline = _UNDERLINED


def _add_rules(target: xlwings.Sheet, rules: Sequence[Rule]) -> None:
    # xlwings puts each new rule first, and the first rule that holds decides.
    for rule in reversed(rules):
        # Excel takes a rule's formula as seen from the active cell, so that cell must be the area's first.
        top, left, _, _ = rule.area
        _range(target, (top, left, top, left)).select()
        _range(target, rule.area).conditional_formats.add_custom(
            f"={rule.formula}",
            fill_color=rule.fill or None,
            font_color=rule.colour or None,
            font_bold=True if rule.bold else None,
            stop_if_true=True,
        )


def _finish(target: xlwings.Sheet, sheet: Sheet) -> None:
    """What goes through COM only; the sheet is the active one."""
    _range(target, (0, 0, 0, 0)).select()
    window = target.book.app.api.ActiveWindow
    window.FreezePanes = False
    window.ScrollRow = window.ScrollColumn = 1
    window.SplitRow, window.SplitColumn = sheet.freeze
    window.FreezePanes = any(sheet.freeze)
    window.DisplayGridlines = sheet.gridlines
    if sheet.filter:
        _range(target, sheet.filter).api.AutoFilter()
    if sheet.tab:
        red, green, blue = (int(sheet.tab[n : n + 2], 16) for n in (1, 3, 5))
        target.api.Tab.Color = red + green * 256 + blue * 65536
    for chart in sheet.charts:
        _add_chart(target, chart)


def _add_chart(target: xlwings.Sheet, chart: Chart) -> None:
    row, column = chart.at
    width, height = (pixels * _POINTS_PER_PIXEL for pixels in CHART_PIXELS)
    anchor = _range(target, (row, column, row, column))
    made = target.charts.add(width=width, height=height, anchor=anchor)
    collection = made.api[1].SeriesCollection()
    for series in chart.series:
        new = collection.NewSeries()
        new.Name = f"={on_sheet(series.sheet, _fixed((*series.name, *series.name)))}"
        new.XValues = f"={on_sheet(series.sheet, _fixed(series.categories))}"
        new.Values = f"={on_sheet(series.sheet, _fixed(series.values))}"
    made.chart_type = _KINDS[chart.kind]
    for number, series in enumerate(chart.series, 1):
        _draw_otherwise(collection, number, series.look)
    made.title = chart.title
    for number, title in ((_CATEGORIES, chart.x_title), (_VALUES, chart.y_title)):
        axis = made.api[1].Axes(number)
        axis.HasTitle = bool(title)
        if chart.kind.startswith("bar") and number == _CATEGORIES:
            axis.ReversePlotOrder = True
        if title:
            axis.AxisTitle.Text = title
    values = made.api[1].Axes(_VALUES)
    values.TickLabels.NumberFormat = chart.shown
    if chart.log_from:
        values.ScaleType, values.MinimumScale, values.CrossesAt = _LOGARITHMIC, chart.log_from, chart.log_from


def _draw_otherwise(collection: Any, number: int, look: str) -> None:
    """What makes a series look other than the kind of its chart says."""
    if not look:
        return
    drawn = collection.Item(number)
    if look == "marks":
        drawn.ChartType = _LINE_WITH_MARKS
        drawn.Format.Line.Visible = False
    elif look == "dashed":
        drawn.Format.Line.DashStyle = _DASHED
    else:
        drawn.Format.Fill.Visible = False


def _fixed(area: Area) -> str:
    top, left, bottom, right = area
    first = address(top, left, fix_row=True, fix_column=True)
    return (
        first if (top, left) == (bottom, right) else f"{first}:{address(bottom, right, fix_row=True, fix_column=True)}"
    )
