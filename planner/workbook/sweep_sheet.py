"""A sweep as a workbook: the front with a chart, and all points with headers that say what they are."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xlsxwriter

from planner.columns import Column, PrecisionName, number_format
from planner.files import replacing
from planner.issues import PlannerError
from planner.plan.bulk_columns import Words
from planner.plan.scenario import COLUMNS
from planner.plan.sweep_columns import ALL_COLUMNS, FITS, FLAGS, GAIN, PARETO, REMARK, REMARKS, sweep_header
from planner.workbook.layout import GREY, LINE, NAVY, PALE, WRITTEN_BY
from planner.workbook.package import package_of
from planner.workbook.stream import MOST_ROWS, Rows, flag_cells, number_cells, stream_rows, text_cells
from planner.workbook.write import PALETTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from xlsxwriter.chart import Chart
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

    from planner.plan.sweep_points import Swept
    from planner.plan.sweep_view import FrontView

MOST_POINTS: Final = MOST_ROWS - 1
FRONT, POINTS, DRAWN = "Front", "Points", "Drawn"
_MARK: Final = f"{WRITTEN_BY} A sweep."
_PART: Final = "xl/worksheets/sheet2.xml"
_MOST_FRONT: Final = 5_000
_CHART_ROWS: Final = 24
# Rows made into text together: more take more memory and no less time.
_ROWS: Final = 8_192
_NARROWEST: Final = 9.0
_WIDEST: Final = 34.0
_PLAIN, _ON_FRONT, _NO_DEPLOYMENT = range(3)


def is_our_sweep(data: bytes) -> bool:
    """Whether planner wrote this workbook of a sweep, and nobody has put a sheet of their own into it since."""
    try:
        package = package_of(data, Path())
        ours = [sheet.name for sheet in package.sheets] == [FRONT, POINTS, DRAWN]
        return ours and "docProps/core.xml" in package and _MARK.encode() in package.read("docProps/core.xml")
    except PlannerError:
        return False


def write_sweep_workbook(
    path: Path, swept: Swept, view: FrontView, progress: Callable[[int], None] = lambda _: None
) -> None:
    """Write a sweep to a workbook, telling ``progress`` how many points are written.

    Raises PlannerError where the file cannot be written. There are no more points than ``MOST_POINTS``.
    """
    authored = io.BytesIO()
    _author(authored, swept, view)
    with replacing(path) as new:
        stream_rows(authored, new.temporary, _PART, (2, 3, 4), _rows(swept, progress))


def _rows(swept: Swept, progress: Callable[[int], None]) -> Iterable[Rows]:
    done = 0
    for columns in swept.chunks(_ROWS):
        looks = np.where((columns[REMARK].codes > 0) | (columns[FITS] == 0), _NO_DEPLOYMENT, _PLAIN)
        looks[columns[PARETO] > 0] = _ON_FRONT
        cells = [_cells(name, columns[name]) for name in swept.sweep.columns]
        done += len(looks)
        yield Rows(cells, looks.tolist())
        progress(done)


def _cells(name: str, column: Any) -> list[str]:
    if isinstance(column, Words):
        return text_cells(column)
    return flag_cells(column) if name in FLAGS else number_cells(column, few=name in COLUMNS)


def _author(target: io.BytesIO, swept: Swept, view: FrontView) -> None:
    """The workbook but for its points, of which there is one of each look."""
    workbook = xlsxwriter.Workbook(target, {"strings_to_urls": False, "strings_to_formulas": False, "in_memory": True})
    workbook.set_properties({"title": "planner sweep", "comments": _MARK})
    front, points, drawn = (workbook.add_worksheet(name) for name in (FRONT, POINTS, DRAWN))
    head = workbook.add_format(
        {"bold": True, "font_color": "#FFFFFF", "bg_color": NAVY, "text_wrap": True, "valign": "top", "border": 1,
         "border_color": LINE}
    )  # fmt: skip
    sweep = swept.sweep
    formats: dict[tuple[str, bool, int], Format] = {}

    def look(name: str, kind: int = _PLAIN) -> Format:
        shown = _format(name, ALL_COLUMNS[name])
        is_text = shown == "@" or isinstance(ALL_COLUMNS[name].rule, PrecisionName)
        key = (shown, name in FLAGS, kind)
        if key not in formats:
            looks: dict[int, dict[str, Any]] = {
                _PLAIN: {},
                _ON_FRONT: {"bold": True, "bg_color": PALE, "font_color": NAVY},
                _NO_DEPLOYMENT: {"font_color": GREY, "italic": True},
            }
            beside = {"indent": 1} if is_text else {"align": "center"} if name in FLAGS else {}
            formats[key] = workbook.add_format({"num_format": shown, **beside, **looks[kind]})
        return formats[key]

    def heads(sheet: Worksheet, row: int, names: Iterable[str]) -> None:
        sheet.set_row(row, 62)
        for column, name in enumerate(names):
            sheet.write_string(row, column, sweep_header(name, sweep.currency), head)
            note = {"x_scale": 1.6, "y_scale": 0.8, "author": "planner"}
            sheet.write_comment(row, column, _note(name, swept), note)

    heads(points, 0, sweep.columns)
    for kind in (_PLAIN, _ON_FRONT, _NO_DEPLOYMENT):
        for column, name in enumerate(sweep.columns):
            points.write_blank(1 + kind, column, None, look(name, kind))
    for column, name in enumerate(sweep.columns):
        points.set_column(column, column, _width(name, view))
    points.freeze_panes(1, 0)
    points.autofilter(0, 0, max(swept.kept, 1), len(sweep.columns) - 1)
    for sheet in (front, points, drawn):
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)
        sheet.set_margins(left=0.4, right=0.4, top=0.6, bottom=0.6)
        sheet.set_footer("&L&8&F  \u00b7  &A&R&8Page &P of &N")
    points.repeat_rows(0)
    _write_front(workbook, front, view, heads, look)
    _write_drawn(drawn, view, head, look)
    front.activate()
    workbook.close()


def _write_front(
    workbook: xlsxwriter.Workbook,
    sheet: Worksheet,
    view: FrontView,
    heads: Callable[[Worksheet, int, Iterable[str]], None],
    look: Callable[[str], Format],
) -> None:
    sheet.hide_gridlines(2)
    sheet.set_tab_color(NAVY)
    sheet.write_string(0, 0, view.title, workbook.add_format({"bold": True, "font_size": 14, "font_color": NAVY}))
    grey = workbook.add_format({"font_color": GREY})
    for row, sentence in enumerate(view.sentences, 1):
        sheet.write_string(row, 0, sentence, grey)
    first = len(view.sentences) + 2
    top = first + _CHART_ROWS + 1
    shown = min(len(view), _MOST_FRONT)
    heads(sheet, top, view.names)
    for column, name in enumerate(view.names):
        sheet.set_column(column, column, _width(name, view))
        values = view.columns[name]
        words = isinstance(values, Words)
        listed = [values.words[code] for code in values.codes[:shown]] if words else values[:shown].tolist()
        for row, value in enumerate(listed, top + 1):
            if words and value:
                sheet.write_string(row, column, value, look(name))
            elif not words and not math.isnan(value):
                sheet.write_number(row, column, value, look(name))
    sheet.repeat_rows(top)
    if shown:
        sheet.autofilter(top, 0, top + shown, len(view.names) - 1)
        sheet.insert_chart(first, 0, _chart(workbook, view, top + 1, shown), {"description": view.title})
    if shown < len(view):
        sheet.write_string(top + shown + 1, 0, f"{len(view) - shown:,} more are marked in the sheet {POINTS}.", grey)


def _write_drawn(sheet: Worksheet, view: FrontView, head: Format, look: Callable[[str], Format]) -> None:
    """The thinned sample of the points that are not on the front, for the chart."""
    sheet.write_string(0, 0, view.gain_title, head)
    sheet.write_string(0, 1, view.against_title, head)
    sheet.write_string(0, 3, "A random sample of the points behind the front, for the chart.")
    sheet.set_column(0, 1, 20)
    for row, (gain, against) in enumerate(zip(*(values.tolist() for values in view.others), strict=True), 1):
        if not math.isnan(against):
            sheet.write_number(row, 0, gain, look(view.gain))
            sheet.write_number(row, 1, against, look(view.against))


def _chart(workbook: xlsxwriter.Workbook, view: FrontView, top: int, shown: int) -> Chart:
    chart = workbook.add_chart({"type": "scatter"})
    grey = {"color": GREY, "bold": False, "size": 9}
    if len(view.others[0]):
        last = len(view.others[0])
        dot = {"type": "circle", "size": 3, "fill": {"color": "#C3CBD3"}, "border": {"none": True}}
        chart.add_series(
            {"name": "Other points (sample)", "categories": [DRAWN, 1, 0, last, 0], "values": [DRAWN, 1, 1, last, 1],
             "marker": dot, "line": {"none": True}}
        )  # fmt: skip
    x, y = view.names.index(view.gain), view.names.index(view.against)
    for number, task in enumerate(task for task in view.drawn if task.stop <= shown):
        colour = PALETTE[number % len(PALETTE)]
        rows = (top + task.start, top + task.stop - 1)
        marker = {"type": "circle", "size": 6, "fill": {"color": colour}, "border": {"color": "#FFFFFF"}}
        chart.add_series(
            {"name": task.label, "categories": [FRONT, rows[0], x, rows[1], x],
             "values": [FRONT, rows[0], y, rows[1], y], "marker": marker, "line": {"color": colour, "width": 1.75}}
        )  # fmt: skip
    title = {"size": 12, "bold": True, "color": NAVY}
    chart.set_title({"name": view.title, "name_font": title, "overlay": False})
    lines = {"visible": True, "line": {"color": LINE, "width": 0.75}}
    for axis, name, column in (
        (chart.set_x_axis, view.gain_title, view.gain),
        (chart.set_y_axis, view.against_title, view.against),
    ):
        axis({"name": name, "name_font": grey, "num_font": grey, "major_gridlines": lines, "line": {"color": LINE},
              "label_position": "low", **_scale(view, column)})  # fmt: skip
    chart.set_legend({"position": "bottom", "font": {"size": 9}})
    chart.set_size({"width": 1080, "height": 20 * _CHART_ROWS - 10})
    return chart


def _scale(view: FrontView, name: str) -> dict[str, Any]:
    """A log scale where figures span more than ten to one, with ends at powers of ten."""
    values = np.concatenate((view.columns[name], view.others[0 if name == view.gain else 1]))
    values = values[values > 0]
    if not len(values) or values.max() <= 10 * values.min():
        return {"num_format": "#,##0.##" if len(values) and values.max() < 10 else "#,##0"}  # noqa: PLR2004
    ticks = [step * 10.0**power for power in range(-6, 10) for step in (1, 2, 5)]
    low = max((tick for tick in ticks if tick <= values.min()), default=ticks[0])
    high = min((tick for tick in ticks if tick >= values.max()), default=ticks[-1])
    return {"log_base": 10, "min": low, "max": high, "crossing": low, "num_format": "General"}


def _note(name: str, swept: Swept) -> str:
    sweep, column = swept.sweep, ALL_COLUMNS[name]
    if name != PARETO:
        return column.help
    held = {"task": "its task (model, prompt, output)", "model": "its model", "all": "the sweep"}[sweep.front]
    gain, against = sweep_header(GAIN), sweep_header(sweep.against, sweep.currency)
    return f"Whether no other point of {held} is better in {gain} or {against} and as good in the other."


def _format(name: str, column: Column) -> str:
    return "General" if name in FLAGS else number_format(name, column)


def _width(name: str, view: FrontView) -> float:
    """Room for the header on two or three lines, and for the texts of the front."""
    held = view.columns.get(name)
    texts = max((len(word) for word in held.words), default=0) if isinstance(held, Words) else 0
    words = max(map(len, sweep_header(name).split()))
    if name == REMARK:
        return max(map(len, REMARKS)) + 2.0
    # Bold, as on the front, takes a tenth more.
    return min(max(texts * 1.1 + 2.0, words + 3.0, _NARROWEST), _WIDEST)
