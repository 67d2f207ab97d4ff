"""Sheets to a new workbook, with XlsxWriter, which stores each formula together with its value."""

from __future__ import annotations

import datetime as dt
import io
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import xlsxwriter
from openpyxl.utils.datetime import to_excel
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.worksheet import Worksheet

from planner.files import replacing
from planner.functions import NAME_COMMENT, lambdas
from planner.guards import NUMBER_NAME
from planner.issues import PlannerError
from planner.workbook.cell_xml import LONGEST_TEXT
from planner.workbook.layout import (
    CHART_PIXELS,
    MARK,
    WRITTEN_BY,
    CellOut,
    Chart,
    Choice,
    Lines,
    Rule,
    Series,
    Sheet,
    Style,
    mark_text,
    on_sheet,
)
from planner.workbook.line_stream import LineStream
from planner.workbook.package import package_of
from planner.workbook.packed import Packed, filled
from planner.workbook.repack import write_package
from planner.workbook.results_sheet import Functions
from planner.workbook.row_stream import RowStream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from xlsxwriter.format import Format

    from planner.workbook.layout import Rows
    from planner.workbook.packed import Stream

_A4: Final = 9
# What Excel 2019 and Microsoft 365 write for themselves.
_CALC_ID: Final = 191029
# Characters across an A4 page in landscape that can still be read; wider sheets take more pages.
_READABLE_WIDTH: Final = 190
_HIDDEN_NAMES: Final = frozenset({MARK, NUMBER_NAME})


def is_our_workbook(data: bytes) -> bool:
    """Whether planner wrote this workbook of result sheets, and nobody has put a sheet of their own into it since."""
    try:
        package = package_of(data, Path())
        written = "docProps/core.xml" in package and WRITTEN_BY.encode() in package.read("docProps/core.xml")
        ours = sum(name.name == MARK for name in package.names)
        # Besides the result sheets it may hold a copy of the scenario sheet, as earlier versions wrote it.
        return written and ours > 0 and len(package.sheets) <= ours + 1
    except PlannerError:
        return False


class _Worksheet(Worksheet):  # type: ignore[misc]
    """A worksheet that takes formulas as they are: ours are in the form in which a file stores them already.

    XlsxWriter would look through each for some thirty functions that need a prefix, half the time of a large run.
    """

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        del expand_future_functions
        return formula.removeprefix("=")


class _Workbook(xlsxwriter.Workbook):  # type: ignore[misc]
    """A workbook whose LAMBDA names carry ``vbProcedure``.

    Excel documents that attribute as reserved and unused. LibreOffice, which knows no LAMBDA, leaves
    out names that carry it, and so shows the stored value of a call where it would show an error.
    """

    def _write_defined_name(self, defined_name: list[Any]) -> None:
        name, sheet, text, hidden = defined_name
        attributes: list[tuple[str, Any]] = [("name", name)]
        if sheet != -1:
            attributes.append(("localSheetId", sheet))
        if hidden or name in _HIDDEN_NAMES:
            attributes.append(("hidden", 1))
        if name in lambdas():
            attributes += [("comment", NAME_COMMENT), ("vbProcedure", 1)]
        self._xml_data_element("definedName", text, attributes)


def write_workbook(
    path: Path,
    sheets: Sequence[Sheet],
    functions: Functions = Functions.EMBEDDED,
    *,
    active: str = "",
    made: dt.datetime | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Write sheets to a new workbook: beside the path first, then in one step to it.

    Raises PlannerError where the folder or file cannot be written; what stood at the path is then untouched.
    """
    with replacing(path) as new:
        try:
            streams = _write(str(new.temporary), sheets, functions, progress, active=active, made=made)
        except FileCreateError as error:
            raise PlannerError(f"Cannot write {path}: {error}.") from error
        if streams:
            _fill(new.temporary, streams)


def _fill(path: Path, streams: Mapping[str, Stream]) -> None:
    """Put the rows of large sheets into a new workbook."""
    package = package_of(path.read_bytes(), path)
    parts = {sheet.name: sheet.part for sheet in package.sheets}
    formats = len((package.xml(package.linked("styles")).root.child("cellXfs") or package.workbook.root).children)
    changed = {
        parts[name]: Packed.of(filled(package.read(parts[name]), stream, range(formats)))
        for name, stream in streams.items()
    }
    with path.open("wb") as file:
        write_package(package, file, changed)


def workbook_bytes(
    sheets: Sequence[Sheet], progress: Callable[[str], None] = lambda _: None
) -> tuple[bytes, dict[str, Stream]]:
    """A new workbook of these sheets, without functions, for another package to take them from.

    The rows of large sheets, by the sheet's name, are left for whoever writes the package.
    """
    made = io.BytesIO()
    try:
        streams = _write(made, sheets, Functions.NONE, progress)
    except FileCreateError as error:
        # Large sheets wait in temporary files until they are packed.
        raise PlannerError(f"Cannot write the sheets to {tempfile.gettempdir()}: {error}.") from error
    return made.getvalue(), streams


def _write(
    target: str | io.BytesIO,
    sheets: Sequence[Sheet],
    functions: Functions,
    progress: Callable[[str], None],
    *,
    active: str = "",
    made: dt.datetime | None = None,
) -> dict[str, Stream]:
    workbook = _Workbook(target, {"strings_to_urls": False, "in_memory": False})
    # Excel recalculates on opening where it is asked to, or where another version calculated last; an add-in's
    # functions would turn into #NAME? where the add-in is missing.
    workbook.calc_on_load = False
    workbook.set_calc_mode("auto", _CALC_ID)
    created = {"created": made} if made else {}
    workbook.set_properties({"title": "planner", "comments": WRITTEN_BY, **created})
    formats: dict[Style, Format] = {}
    streams: dict[str, Stream] = {}
    written = [_write_sheet(workbook, sheet, formats, streams, progress) for sheet in sheets]
    for sheet, worksheet in zip(sheets, written, strict=True):
        if sheet.name == active:
            worksheet.activate()
            worksheet.set_first_sheet()
    if functions is Functions.EMBEDDED:
        for name, text in lambdas().items():
            workbook.define_name(name, f"={text}")
    workbook.close()
    return streams


def _write_sheet(
    workbook: _Workbook,
    sheet: Sheet,
    formats: dict[Style, Format],
    streams: dict[str, Stream],
    progress: Callable[[str], None],
) -> Worksheet:
    worksheet = workbook.add_worksheet(sheet.name, worksheet_class=_Worksheet)
    progress(sheet.name)

    def look(style: Style) -> Format:
        if style not in formats:
            formats[style] = workbook.add_format(_format(style))
        return formats[style]

    _set_sizes(worksheet, sheet)
    for cell in sheet.cells:
        _write_cell(worksheet, cell, look(cell.style))
    if sheet.rows is not None:
        # The numbers that XlsxWriter gives to formats as it meets them in cells.
        stream = _stream(sheet.rows, lambda style: look(style)._get_xf_index())  # noqa: SLF001
        worksheet._check_dimensions(stream.last_row - 1, stream.last_column)  # noqa: SLF001
        streams[sheet.name] = stream
    _set_up_page(worksheet, sheet)
    for rule in sheet.rules:
        _add_rule(workbook, worksheet, rule)
    for chart in sheet.charts:
        _add_chart(workbook, worksheet, chart)
    for choice in sheet.choices:
        _add_choice(worksheet, choice)
    for (row, column), note in sheet.notes.items():
        worksheet.write_comment(row, column, note, {"x_scale": 1.6, "y_scale": 0.8, "author": "planner"})
    if sheet.mark:
        workbook.define_name(f"{on_sheet(sheet.name, MARK)}", f"={mark_text(sheet.mark, sheet.name)}")
    return worksheet


def _stream(rows: Rows | Lines, look: Callable[[Style], int]) -> Stream:
    return LineStream(rows, look) if isinstance(rows, Lines) else RowStream(rows, look)


def _set_sizes(worksheet: Worksheet, sheet: Sheet) -> None:
    for area in sheet.merges:
        worksheet.merge_range(*area, "")
    for column, width in sheet.widths.items():
        worksheet.set_column(column, column, width)
    for row, height in sheet.heights.items():
        worksheet.set_row(row, height)


def _write_cell(worksheet: Worksheet, cell: CellOut, look: Format) -> None:
    row, column, value = cell.row, cell.column, cell.value
    if cell.formula:
        worksheet.write_formula(row, column, cell.formula, look, _stored(value))
    elif value is None or value == "":
        worksheet.write_blank(row, column, None, look)
    elif isinstance(value, bool):
        worksheet.write_boolean(row, column, value, look)
    elif isinstance(value, int | float):
        worksheet.write_number(row, column, value, look)
    elif isinstance(value, str):
        # As a string whatever it begins with: a name such as =HYPERLINK(...) must not become a formula.
        worksheet.write_string(row, column, value[:LONGEST_TEXT], look)
    else:
        worksheet.write_datetime(row, column, value, look)


class _EmptyText(str):
    """The empty text that a formula gives, unlike the empty string by which XlsxWriter leaves a value out."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


_EMPTY_TEXT: Final = _EmptyText()


def _stored(value: Any) -> Any:
    """A formula's value as a cell stores it: nothing as an empty text, dates and times as their serial numbers."""
    if value is None or value == "":
        return _EMPTY_TEXT
    is_time = isinstance(value, dt.date | dt.time | dt.timedelta)
    return to_excel(value) if is_time else value  # type: ignore[no-untyped-call]


def _format(style: Style) -> dict[str, Any]:
    found: dict[str, Any] = {"num_format": style.number_format, "bold": style.bold, "italic": style.italic}
    if style.fill:
        found |= {"bg_color": style.fill, "pattern": 1}
    if style.colour:
        found["font_color"] = style.colour
    if style.underline:
        found["underline"] = 1
    if style.bottom:
        found |= {"bottom": 1, "bottom_color": style.bottom}
    if style.size:
        found["font_size"] = style.size
    if style.wrap:
        found["text_wrap"] = True
    if style.align:
        found["align"] = style.align
    if style.indent:
        found["indent"] = style.indent
    if style.top_aligned:
        found["valign"] = "top"
    return found


def _set_up_page(worksheet: Worksheet, sheet: Sheet) -> None:
    if any(sheet.freeze):
        worksheet.freeze_panes(*sheet.freeze)
    if sheet.filter:
        worksheet.autofilter(*sheet.filter)
    if sheet.tab:
        worksheet.set_tab_color(sheet.tab)
    if sheet.landscape:
        worksheet.set_landscape()
    if sheet.repeat_rows:
        worksheet.repeat_rows(*sheet.repeat_rows)
    if not sheet.gridlines:
        worksheet.hide_gridlines(2)
    if sheet.repeat_columns:
        worksheet.repeat_columns(*sheet.repeat_columns)
    worksheet.set_paper(_A4)
    worksheet.fit_to_pages(max(1, math.ceil(sum(sheet.widths.values()) / _READABLE_WIDTH)), 0)
    worksheet.set_margins(left=0.4, right=0.4, top=0.6, bottom=0.6)
    worksheet.set_footer("&L&8&F  \u00b7  &A&R&8Page &P of &N")


def _add_rule(workbook: _Workbook, worksheet: Worksheet, rule: Rule) -> None:
    look: dict[str, Any] = {"bg_color": rule.fill} if rule.fill else {}
    look |= {"font_color": rule.colour} if rule.colour else {}
    look |= {"bold": True} if rule.bold else {}
    # The first rule that holds decides, in every program alike.
    options = {
        "type": "formula",
        "criteria": f"={rule.formula}",
        "format": workbook.add_format(look),
        "stop_if_true": True,
    }
    worksheet.conditional_format(*rule.area, options)


PALETTE: Final = ("#075F98", "#B3430E", "#6B4696", "#2E7D5B", "#8A6D00", "#5B6673", "#0B3954", "#A3336B")


def _add_chart(workbook: _Workbook, worksheet: Worksheet, chart: Chart) -> None:
    kind, _, stacked = chart.kind.partition("_")
    made = workbook.add_chart({"type": kind} | ({"subtype": stacked} if stacked else {}))
    if kind == "line":
        # Where a file does not say, LibreOffice rounds the corners off, and draws steps that no month takes.
        made._write_c_smooth = lambda _: made._xml_empty_tag("c:smooth", [("val", "0")])  # noqa: SLF001
    over = workbook.add_chart({"type": "line"})
    for index, series in enumerate(chart.series):
        described = {
            "name": [series.sheet, *series.name],
            "categories": [series.sheet, *series.categories],
            "values": [series.sheet, *series.values],
            **_series_look(kind, series, PALETTE[index % len(PALETTE)]),
        }
        (over if series.look == "marks" else made).add_series(
            described | ({"gap": 60} if kind in {"bar", "column"} else {})
        )
    if any(series.look == "marks" for series in chart.series):
        made.combine(over)
    made.set_title({"name": chart.title, "name_font": {"size": 12, "bold": True, "color": "#0B3954"}, "overlay": False})
    grey = {"color": "#5B6673", "bold": False}
    first_on_top = {"reverse": True, "label_position": "low"} if kind == "bar" else {}
    named = {"name": chart.x_title, "name_font": grey, "num_font": {"color": "#5B6673"}, **first_on_top}
    named |= {"num_format": chart.x_shown} if chart.x_shown else {}
    valued = {
        "name": chart.y_title,
        "name_font": grey,
        "num_font": {"color": "#5B6673"},
        "num_format": chart.shown,
        "major_gridlines": {"visible": True, "line": {"color": "#D5DBE1"}},
        "line": {"none": True},
    }
    # Bars lie, so that their values run along the horizontal axis.
    across, up = (valued | {"label_position": "high"}, named) if kind == "bar" else (named, valued)
    made.set_x_axis(across)
    powers = {"log_base": 10, "min": chart.log_from, "crossing": "min"} if chart.log_from else {}
    made.set_y_axis(up | powers)
    # Programs differ in how they number the entries of a stack's legend, so that none can be taken out.
    unseen = any(series.look == "unseen" for series in chart.series)
    made.set_legend({"none": True} if unseen else {"position": "bottom", "font": {"size": 8}})
    made.set_size(dict(zip(("width", "height"), CHART_PIXELS, strict=True)))
    worksheet.insert_chart(*chart.at, made, {"description": f"{chart.title}, {chart.y_title}"})


def _series_look(kind: str, series: Series, colour: str) -> dict[str, Any]:
    if series.look == "unseen":
        return {"fill": {"none": True}, "border": {"none": True}}
    if series.look == "marks":
        mark = {"type": "diamond", "size": 9, "fill": {"color": colour}, "border": {"color": colour}}
        return {"line": {"none": True}, "marker": mark}
    if series.look == "dashed":
        return {"line": {"color": "#12212E", "width": 1.75, "dash_type": "dash"}, "marker": {"type": "none"}}
    if kind == "line":
        return {
            "line": {"color": colour, "width": 2},
            "marker": {"type": "circle", "size": 5, "fill": {"color": colour}, "border": {"color": colour}},
        }
    return {"fill": {"color": colour}}


def _add_choice(worksheet: Worksheet, choice: Choice) -> None:
    worksheet.data_validation(
        *choice.area,
        {
            "validate": "list",
            "source": list(choice.values),
            "input_title": choice.title,
            "input_message": choice.message,
            # The list is help, not a fence: bits per weight may be typed as well.
            "error_type": "information",
            "ignore_blank": True,
        },
    )
