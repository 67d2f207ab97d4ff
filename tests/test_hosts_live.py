"""The open workbook through the real xlwings, on a stand-in for Excel's object model."""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import openpyxl
import pytest
from openpyxl.utils import get_column_letter
from openpyxl.utils.datetime import to_excel

from planner import PlannerError
from planner.functions import BY_NAME, lambdas
from planner.job import plan_workbook
from planner.plan.scenario import header_of
from planner.workbook.layout import MARK, Chart, Style
from planner.workbook.read import read_workbook
from planner.workbook.results_sheet import Functions
from planner.workbook.sheets import SHEET_NAMES, result_sheets, sheet_names
from planner.workbook.write import write_workbook

sys.path.insert(0, str(Path(__file__).parent))
import fake_excel

pytest.importorskip("xlwings", reason="xlwings is not here; `pip install xlwings` would run this")
PRICED = {"model": "Llama-3.1-70B", "device": "H100 SXM", "engine": "vLLM", "devices": 4, "precision": "FP8", "batch": 64,
          "prompt_tokens": 2000, "output_tokens": 500, "device_cost_h": 2.5, "currency": "USD", "busy_share": 0.6,
          "input_cost_m": 3, "output_cost_m": 15}  # fmt: skip
HEADERS = ["Scenario", "Weights (GB)", "Aggregate bandwidth (GB/s)", "Efficiency", "Batch"]


@pytest.fixture(scope="module")
def windows():
    with pytest.MonkeyPatch.context() as patch, fake_excel.windows_xlwings(patch) as xlwings:
        yield SimpleNamespace(
            xlwings=xlwings,
            live=importlib.import_module("planner.hosts.live"),
            sheets=importlib.import_module("planner.hosts.live_sheets"),
            ribbon=importlib.import_module("planner.hosts.ribbon"),
        )


@pytest.fixture
def live(windows):
    return windows.live


@pytest.fixture
def excel_runs(windows, monkeypatch):
    def run(application):
        impl = windows.xlwings._xlwindows
        monkeypatch.setattr(impl, "get_excel_hwnds", lambda: iter([1] if application else []))
        monkeypatch.setattr(impl, "get_xl_app_from_hwnd", lambda _: application)

    return run


@pytest.fixture
def open_in(windows, excel_runs):
    """An .xlsx file as the active workbook of an Excel: xlwings' book of it."""

    def open_file(path, full_name=None, **excel):
        application = fake_excel.Application(**excel)
        excel_runs(application)
        workbook = fake_excel.Workbook(application, full_name or str(path), path)
        workbook.Activate()
        return windows.xlwings.Book(impl=windows.xlwings._xlwindows.Book(xl=workbook))

    return open_file


@pytest.fixture
def book(open_in, brief_sample, tmp_path):
    return open_in(brief_sample, str(tmp_path / "scenarios.xlsx"))


def table(tmp_path, *rows, title="Scenarios", headers=HEADERS, change=lambda sheet: None):
    made = openpyxl.Workbook()
    made.active.title = title
    for row in [headers, *rows]:
        made.active.append(row)
    change(made.active)
    path = tmp_path / "plan.xlsx"
    made.save(path)
    return path


def contents(book):
    """Every sheet of the stand-in: cells with what they hold and their looks, and all that lies on the sheet."""
    return {
        sheet.Name: (
            {at: (cell.value, cell.formula, dict(cell.looks)) for at, cell in sheet.cells.items() if _holds(cell)},
            list(sheet.merges),
            [(note.place, note.text) for note in sheet.Comments],
            [(rule.area, rule.formula, rule.seen_from) for rule in sheet.rules],
            [(chart.at, chart.Chart.ChartTitle.Text, len(chart.Chart.series)) for chart in sheet.charts],
            sheet.filter,
            dict(sheet.window),
            [(name.Name, name.RefersTo, name.Visible) for name in sheet.Names.all],
        )
        for sheet in book.api.sheets
    }


def _holds(cell):
    return cell.value is not None or cell.formula or cell.looks


# Reading


def test_what_is_read_is_what_the_file_reader_reads(live, open_in, sample):
    book = open_in(sample)
    theirs = {grid.name: grid for grid in read_workbook(sample).grids}
    for grid in live.grids(book):
        for row, cells in theirs[grid.name].rows.items():
            for column, cell in cells.items():
                found = grid.rows[row][column]
                assert (found.value, found.formula, found.error) == (cell.value, cell.formula, cell.error)
        assert {row: set(cells) for row, cells in grid.rows.items()} == {
            row: set(cells) for row, cells in theirs[grid.name].rows.items()
        }


def test_the_study_is_that_of_the_file(live, open_in, sample, tmp_path):
    book = open_in(sample, str(tmp_path / "scenarios.xlsx"))
    found, expected = live.check(book), plan_workbook(sample)
    assert found.cases == expected.cases
    assert found.skipped == expected.skipped
    assert found.issues == expected.issues
    assert (found.source.name, found.source.sheet) == ("scenarios.xlsx", "Scenarios")


def test_odd_cells_mean_what_they_mean_in_a_file(live, open_in, tmp_path):
    def change(sheet):
        sheet["D2"].number_format = "0%"
        sheet["D4"].number_format = "0.0%"
        sheet["E2"].number_format = "0%"
        sheet["E4"].number_format = '0"%"'
        sheet.row_dimensions[4].hidden = sheet.row_dimensions[7].hidden = True
        sheet["C3"] = "#N/A"
        sheet["C3"].data_type = "e"
        sheet["B6"] = 35
        sheet.merge_cells("B6:B7")

    rows = [
        ["a", 140, 3350, 0.85, 8], ["b", 140, None, 0.5, 1], ["c", 140, "3.35 TB/s", 0.125, 4],
        ["d", True, 3350, 150, "x"], ["e", None, 3350, 0.9, 2], ["f", None, 1000, None, None],
    ]  # fmt: skip
    path = table(tmp_path, *rows, change=change)
    found, expected = live.check(open_in(path)), plan_workbook(path)
    assert found.cases == expected.cases
    assert [str(issue) for issue in found.issues] == [str(issue) for issue in expected.issues]
    assert [case.result.scenario.weights_gb for case in found.cases if case.name in "ef"] == [35, 35]
    assert any("Hidden rows are read as well: 4, 7" in str(issue) for issue in found.issues)
    assert found.skipped


def test_a_currency_format_or_an_empty_formula_changes_nothing(live, open_in, tmp_path):
    from decimal import Decimal

    book = open_in(table(tmp_path, ["a", 140, 3350, 0.85, 8]))
    cells = book.api.sheets[0].cells
    cells[2, 3].value = Decimal(3350)
    cells[2, 5].value, cells[2, 5].formula = "", '=IF(A1="","","")'
    (case,) = live.check(book).cases
    assert case.result.scenario.bandwidth_gb_s == 3350
    assert case.result.scenario.batch == 1


def test_a_new_error_is_an_error(live, open_in, tmp_path):
    book = open_in(table(tmp_path, ["a", 140, 3350, 0.85, 8]))
    book.api.sheets[0].cells[2, 3].value = -2146826238
    (issue,) = [issue for issue in live.check(book).issues if issue.code == "cell-error"]
    assert str(issue).startswith("Scenarios!C2: Aggregate bandwidth is #CALC!, an error of the workbook")


def test_a_text_that_begins_like_a_formula_is_text(live, open_in, tmp_path):
    book = open_in(table(tmp_path, ["x", 140, 3350, 0.85, 8]))
    book.api.sheets[0].cells[2, 1].value = "=not a formula"
    (case,) = live.check(book).cases
    assert case.name == "=not a formula"
    assert not live.grids(book)[0].rows[2][1].formula


def test_a_named_sheet_and_a_missing_one(live, open_in, tmp_path):
    book = open_in(table(tmp_path, ["a", 140, 3350, 0.85, 8], title="Plan"))
    assert live.check(book, sheet="plan").source.sheet == "Plan"
    with pytest.raises(PlannerError, match="No sheet named 'Other'; the workbook has Plan"):
        live.check(book, sheet="Other")


def test_a_workbook_without_scenarios(live, open_in, tmp_path):
    book = open_in(table(tmp_path, headers=["One", "Two"]))
    with pytest.raises(PlannerError, match="No sheet has a row of headers"):
        live.evaluate(book)
    assert [sheet.Name for sheet in book.api.sheets] == ["Scenarios"]


def test_ten_thousand_cells_take_few_calls(live, open_in, tmp_path):
    rows = [[f"s{n}", 100 + n, 3350, 0.85, 8] for n in range(2_000)]
    path = table(
        tmp_path, *rows, change=lambda s: [setattr(s.cell(r, 4), "number_format", "0%") for r in range(2, 2002)]
    )
    book = open_in(path)
    live.check(book)
    assert book.api.Application.calls < 60


# Writing


@pytest.mark.parametrize("functions", Functions)
def test_the_sheets_are_those_of_the_file_writer(live, open_in, brief_sample, tmp_path, functions):
    book = open_in(brief_sample)
    study = live.evaluate(book, functions=functions)
    path = tmp_path / "file.xlsx"
    taken = [name for name in openpyxl.load_workbook(brief_sample).sheetnames if name not in SHEET_NAMES]
    write_workbook(path, result_sheets(study, functions, names=sheet_names(taken)), functions)
    formulas, values = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    compared = 0
    for name in formulas.sheetnames:
        sheet = next(sheet for sheet in book.api.sheets if sheet.Name == name)
        written = {at: cell for at, cell in sheet.cells.items() if cell.value is not None or cell.formula}
        expected = {
            (cell.row, cell.column): cell
            for row in formulas[name].iter_rows()
            for cell in row
            if cell.value is not None
        }
        assert written.keys() == expected.keys()
        for at, cell in expected.items():
            if cell.data_type == "f":
                assert written[at].formula == cell.value
            else:
                value = values[name][cell.coordinate].value
                # A day is entered as its number.
                value = to_excel(value) if isinstance(value, dt.date) else value
                # A file stores 16 digits of a number.
                assert written[at].value == (
                    pytest.approx(value, rel=1e-15) if isinstance(value, int | float) else value
                )
                assert not written[at].formula
            assert _look(sheet.cells[at]) == _look_in_file(cell), f"{name}!{cell.coordinate}"
            compared += 1
        for column, dimension in formulas[name].column_dimensions.items():
            at = (1, openpyxl.utils.column_index_from_string(column))
            # A file's widths have the cell's padding in them.
            assert sheet.cells[at].looks[".ColumnWidth"] == pytest.approx(dimension.width, abs=0.75)
        pane = formulas[name].sheet_view.pane
        assert (sheet.window["SplitRow"], sheet.window["SplitColumn"]) == (
            (int(pane.ySplit or 0), int(pane.xSplit or 0)) if pane else (0, 0)
        )
        assert sheet.window["FreezePanes"] == bool(pane)
        assert sheet.window["DisplayGridlines"] == (formulas[name].sheet_view.showGridLines is not False)
        assert (sheet.filter or "").replace("$", "") == (formulas[name].auto_filter.ref or "")
        notes = {
            cell.coordinate: cell.comment.text for row in formulas[name].iter_rows() for cell in row if cell.comment
        }
        assert {f"{get_column_letter(c)}{r}": n.text for n in sheet.Comments for r, c in [n.place]} == notes
        rules = [
            (str(area.sqref), f"={rule.formula[0]}")
            for area in formulas[name].conditional_formatting
            for rule in area.rules
        ]
        found = [(rule.area.replace("$", ""), rule.formula) for rule in sheet.rules]
        assert sorted(found) == sorted(rules)
    assert compared > 500


def _look(cell):
    looks = cell.looks
    colour = looks.get("Interior.Color")
    return (
        looks.get("NumberFormat", "General"), bool(looks.get("Font.Bold")), bool(looks.get("Font.Italic")),
        _hex(colour), _hex(looks.get("Font.Color")), bool(looks.get(".WrapText")), looks.get("Font.Size", 11),
        bool(looks.get("Font.Underline")), _hex(looks.get("Border9.Color")),
        {-4131: "left", -4108: "center", -4152: "right", None: None}[looks.get(".HorizontalAlignment")],
    )  # fmt: skip


def _hex(bgr):
    return None if bgr is None else f"{bgr & 255:02X}{bgr >> 8 & 255:02X}{bgr >> 16:02X}"


def _look_in_file(cell):
    def rgb(colour):
        return colour.rgb[-6:] if colour is not None and isinstance(colour.rgb, str) else None

    fill = rgb(cell.fill.fgColor) if cell.fill.fill_type == "solid" else None
    font = rgb(cell.font.color) if cell.font.color is not None and cell.font.color.type == "rgb" else None
    border = cell.border.bottom
    return (
        cell.number_format, bool(cell.font.bold), bool(cell.font.italic), fill, font, bool(cell.alignment.wrap_text),
        cell.font.sz, bool(cell.font.u), rgb(border.color) if border.style else None, cell.alignment.horizontal,
    )  # fmt: skip


def test_a_second_run_writes_the_same_and_nothing_twice(live, book):
    live.evaluate(book)
    first, names = contents(book), [name.Name for name in book.api.Names.all]
    live.evaluate(book)
    assert contents(book) == first
    assert [name.Name for name in book.api.Names.all] == names
    assert len(first) == len(set(first))


def test_what_a_first_run_left_does_not_stay(live, open_in, tmp_path):
    book = open_in(table(tmp_path, *([f"s{n}", 100 + n, 3350, 0.85, 8] for n in range(9))))
    live.evaluate(book)
    rows = max(row for row, _ in next(s for s in book.api.sheets if s.Name == "Results").cells)
    scenarios = book.api.sheets[0].cells
    for at in [at for at in scenarios if at[0] > 3]:
        del scenarios[at]
    live.evaluate(book)
    results = next(s for s in book.api.sheets if s.Name == "Results")
    assert max(row for row, _ in results.cells) == rows - 7
    assert results.filter.endswith("$3")


def test_sheets_of_an_earlier_run_to_a_file_are_replaced(live, open_in, brief_sample, tmp_path):
    from planner.job import Job, run

    path = tmp_path / "out.xlsx"
    run(Job(source=brief_sample, output=path, pdf=None))
    book = open_in(path)
    before = [sheet.Name for sheet in book.api.sheets]
    live.evaluate(book)
    assert [sheet.Name for sheet in book.api.sheets] == before


def test_foreign_sheets_selection_and_state_stay(live, book):
    excel = book.api.Application
    foreign = fake_excel.Worksheet(book.api, "Budget")
    foreign.cells[1, 1] = fake_excel.Cell()
    foreign.cells[1, 1].value, foreign.selection = "mine", "$C$7"
    book.api.sheets.append(foreign)
    book.api.ActiveSheet = foreign
    before = contents(book)
    live.evaluate(book)
    after = contents(book)
    assert {name: after[name] for name in before} == before
    assert foreign.selection == "$C$7"
    assert book.api.ActiveSheet is foreign
    assert (excel.ScreenUpdating, excel.EnableEvents, excel.Calculation) == (True, True, -4105)
    assert [sheet.Name for sheet in book.api.sheets] == [*before, *SHEET_NAMES]


def test_a_users_sheet_of_our_name_stays_and_ours_takes_another(live, book):
    mine = fake_excel.Worksheet(book.api, "results")
    mine.cells[1, 1] = fake_excel.Cell()
    mine.cells[1, 1].value = "mine"
    book.api.sheets.append(mine)
    book.api.chart_sheets.append(SimpleNamespace(Name="Charts"))
    for _ in range(2):
        live.evaluate(book)
        names = [sheet.Name for sheet in book.api.sheets]
        assert names.count("Results (planner)") == names.count("Charts (planner)") == 1
        assert not {"Results", "Charts"} & set(names)
        assert mine.cells[1, 1].value == "mine"
    precision = next(sheet for sheet in book.api.sheets if sheet.Name == "Precision")
    assert any("'Results (planner)'!" in cell.formula for cell in precision.cells.values())


def test_a_users_sheet_is_refused_even_where_it_is_asked_for(live, book):
    mine = fake_excel.Worksheet(book.api, "RESULTS")
    book.api.sheets.append(mine)
    with pytest.raises(PlannerError, match="has a sheet named 'RESULTS' of its own"):
        live.write_live(book, result_sheets(live.check(book)))
    assert not mine.cells


def test_our_sheets_carry_the_hidden_mark(live, book):
    live.evaluate(book)
    for sheet in book.api.sheets:
        marks = [name for name in sheet.Names.all if name.Name.endswith(MARK)]
        assert len(marks) == (sheet.Name in SHEET_NAMES)
        assert all(not mark.Visible and mark.Name == f"{sheet.Name}!{MARK}" for mark in marks)


def test_texts_stay_texts(live, open_in, tmp_path):
    names = ["=HYPERLINK(1)", "007", "1/2", "TRUE", "'quoted", "+1", "@x"]
    book = open_in(table(tmp_path))
    cells = book.api.sheets[0].cells
    for row, name in enumerate(names, 2):
        for column, value in enumerate([name, 140.0, 3350.0], 1):
            cells[row, column] = fake_excel.Cell()
            cells[row, column].value = value
    live.evaluate(book, functions=Functions.NONE)
    results = next(sheet for sheet in book.api.sheets if sheet.Name == "Results")
    assert [results.cells[row, 1].value for row in range(2, 9)] == names
    assert not any(results.cells[row, 1].formula for row in range(2, 9))


def test_rules_are_written_as_seen_from_their_first_cell_and_in_order(live, book):
    live.evaluate(book)
    study = live.check(book)
    for sheet in result_sheets(study):
        found = next(s for s in book.api.sheets if s.Name == sheet.name)
        assert [rule.formula for rule in found.rules] == [f"={rule.formula}" for rule in sheet.rules]
        for rule in found.rules:
            assert rule.seen_from == rule.area.partition(":")[0]
            assert rule.StopIfTrue


def test_charts(live, book):
    live.evaluate(book)
    live.evaluate(book)
    wanted: list[Chart] = next(s for s in result_sheets(live.check(book)) if s.name == "Charts").charts
    made = next(s for s in book.api.sheets if s.Name == "Charts").charts
    assert [chart.Chart.ChartTitle.Text for chart in made] == [chart.title for chart in wanted]
    assert [chart.Chart.ChartType for chart in made] == [65, 65, 51] * 2
    first = made[0].Chart
    assert len(first.series) == len(wanted[0].series)
    assert first.series[0].Name == "=Batch!$A$3"
    assert first.series[0].Values.startswith("=Batch!$")
    assert (first.axes[1].AxisTitle.Text, first.axes[2].AxisTitle.Text) == ("batch", "tok/s per stream")
    assert not made[2].Chart.axes[1].HasTitle


def test_charts_of_money_look_as_in_a_file(live, open_in, tmp_path):
    heads = [header_of(name) for name in ("name", *PRICED)]
    rows = (["A", *PRICED.values()], ["B", *(PRICED | {"device_cost_h": 20, "batch": 1}).values()])
    book = open_in(table(tmp_path, *rows, headers=heads))
    live.evaluate(book)
    made = {sheet.Name: [chart.Chart for chart in sheet.charts] for sheet in book.api.sheets}
    beside, stacked = made["Cost"]
    # Columns with marks of the API over them, by powers of ten where they lie far apart.
    assert (beside.ChartType, beside.series[1].ChartType, beside.series[1].Format.Line.Visible) == (51, 65, False)
    assert not hasattr(beside.series[0], "ChartType")
    assert (beside.axes[2].ScaleType, beside.axes[2].MinimumScale) == (-4133, beside.axes[2].CrossesAt)
    assert beside.axes[2].TickLabels.NumberFormat == "#,##0.00"
    assert stacked.ChartType == 52
    lines, tornado, _, outlook = made["Sensitivity"]
    assert [getattr(series.Format.Line, "DashStyle", None) for series in lines.series] == [None, None, 4]
    assert (tornado.ChartType, tornado.axes[1].ReversePlotOrder) == (58, True)
    assert [getattr(series.Format.Fill, "Visible", True) for series in tornado.series] == [False, True, True]
    assert not hasattr(outlook.axes[1], "ReversePlotOrder")


def test_a_hidden_sheet_of_ours_is_written_too(live, book):
    live.evaluate(book)
    sheet = next(s for s in book.api.sheets if s.Name == "Results")
    sheet.Visible = 0
    live.evaluate(book)
    assert sheet.Visible


def test_a_long_table_goes_in_blocks(windows, live, open_in, tmp_path, monkeypatch):
    monkeypatch.setattr(windows.sheets, "_BLOCK", 3)
    book = open_in(table(tmp_path, *([f"s{n}", 100 + n, 3350, 0.85, 8] for n in range(10))))
    live.evaluate(book)
    results = next(s for s in book.api.sheets if s.Name == "Results")
    assert [bool(results.cells[row, 1].formula) for row in range(2, 12)] == [True] * 10


def test_excel_that_refuses_is_one_line(live, book):
    book.api.protected = True
    with pytest.raises(PlannerError, match="Excel refused to write into scenarios.xlsx; end any editing") as refused:
        live.evaluate(book)
    assert "\n" not in str(refused.value)
    assert (book.api.Application.ScreenUpdating, book.api.Application.Calculation) == (True, -4105)


def test_looks_are_grouped_into_rectangles(windows):
    bold, plain = Style(bold=True), Style()
    cells = {(r, c): bold for r in range(3) for c in range(3)} | {(3, c): plain for c in range(3)}
    assert sorted(area for _, area in windows.sheets.areas(cells)) == [(0, 0, 2, 2), (3, 0, 3, 2)]
    cells[1, 1] = plain
    found = [(style, area) for style, area in windows.sheets.areas(cells)]
    covered = [((r, c), style) for style, (t, le, b, ri) in found for r in range(t, b + 1) for c in range(le, ri + 1)]
    assert len(covered) == len(cells)
    assert dict(covered) == cells


# Functions


def test_functions_are_defined_as_names_that_excel_takes(live, book):
    live.evaluate(book)
    names = {name.Name: name for name in book.api.Names.all}
    assert names.keys() == lambdas().keys()
    assert names.keys() > BY_NAME.keys()
    for name in names.values():
        assert name.RefersTo.startswith("=LAMBDA(")
        assert not {"_xlfn", "_xlpm", "_xlop"} & set(name.RefersTo.replace(".", " ").replace("(", " ").split())
    assert "[efficiency]" in names["TOKENS_PER_SEC"].RefersTo.partition("LET(")[0]
    assert [name for name, it in names.items() if not it.Visible] == ["PLANNER_NUMBER"]


def test_names_count_as_ours_though_excel_spells_them_anew(live, book):
    live.evaluate(book)
    for name in book.api.Names.all:
        name.RefersTo, name.Comment = name.RefersTo.replace(",", ", ").lower(), ""
    assert not [i for i in live.evaluate(book).issues if i.code == "name-taken"]


def test_an_older_function_of_ours_is_brought_up_to_date(live, book):
    live.evaluate(book)
    old = next(name for name in book.api.Names.all if name.Name == "TOKENS_PER_SEC")
    wanted, old.RefersTo = old.RefersTo, "=LAMBDA(a,a)"
    live.evaluate(book)
    assert old.RefersTo == wanted


def test_a_name_of_the_users_stays_and_the_sheets_do_without(live, book):
    book.api.Names.Add("tokens_per_sec", "=Scenarios!$A$1")
    study = live.evaluate(book)
    assert [(name.Name, name.RefersTo) for name in book.api.Names.all] == [("tokens_per_sec", "=Scenarios!$A$1")]
    (note,) = [issue for issue in study.issues if issue.code == "name-taken"]
    assert str(note) == ("The workbook has TOKENS_PER_SEC as a name of its own, so the sheets use plain arithmetic.")
    results = next(s for s in book.api.sheets if s.Name == "Results")
    assert not any("TOKENS_PER_SEC(" in cell.formula for cell in results.cells.values())
    checks = next(s for s in book.api.sheets if s.Name == "Checks")
    assert any("TOKENS_PER_SEC" in str(cell.value) for cell in checks.cells.values())


@pytest.mark.parametrize("dynamic", [True, False])
def test_an_excel_without_lambda_gets_plain_arithmetic(live, open_in, brief_sample, dynamic):
    book = open_in(brief_sample, lambdas=False, dynamic=dynamic)
    study = live.evaluate(book)
    assert any("This Excel takes no LAMBDA functions" in str(issue) for issue in study.issues)
    results = next(s for s in book.api.sheets if s.Name == "Results")
    assert any(cell.formula for cell in results.cells.values())
    assert not any("TOKENS_PER_SEC(" in cell.formula for cell in results.cells.values())


@pytest.mark.parametrize("functions", [Functions.ADDIN, Functions.PLAIN, Functions.NONE])
def test_names_are_defined_only_where_the_workbook_is_to_carry_them(live, book, functions):
    live.evaluate(book, functions=functions)
    assert not book.api.Names.all


# The report


def test_the_report_lies_beside_the_workbook(live, book, tmp_path):
    pytest.importorskip("weasyprint", exc_type=ImportError)
    pypdf = pytest.importorskip("pypdf")
    before = contents(book)
    study, path = live.report(book, title="Live")
    assert path == tmp_path / "scenarios.report.pdf"
    assert [file.name for file in tmp_path.iterdir()] == ["scenarios.report.pdf"]
    pdf = pypdf.PdfReader(path)
    assert "Live" in pdf.pages[0].extract_text()
    assert list(pdf.attachments) == ["scenarios.results.xlsx"]
    assert study.cases
    assert contents(book) == before


def test_an_unsaved_workbook_has_no_place_for_a_report(live, open_in, sample):
    with pytest.raises(PlannerError, match="Book1 has not been saved yet; save it"):
        live.report(open_in(sample, "Book1"))


def test_a_workbook_in_the_cloud_has_none_either(live, open_in, sample):
    with pytest.raises(PlannerError, match="lies in OneDrive or SharePoint"):
        live.report(open_in(sample, "https://example.com/plan.xlsx"))


# Which workbook, and what the user is told


def test_the_active_workbook_is_taken(live, book, excel_runs):
    fake_excel.Workbook(book.api.Application, "Other.xlsx")
    excel_runs(book.api.Application)
    assert live.open_book().name == "scenarios.xlsx"
    assert live.check().source.name == "scenarios.xlsx"


@pytest.mark.parametrize("application", [None, fake_excel.Application()], ids=["no Excel", "no workbook"])
def test_no_workbook_is_one_line(live, excel_runs, application):
    excel_runs(application)
    with pytest.raises(PlannerError, match="No workbook is open; open the workbook in Excel first"):
        live.evaluate()


def test_where_there_is_no_excel_at_all():
    # Asked of a new process, since this one takes itself for Windows.
    code = "from planner.hosts import live; live.evaluate()"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    if sys.platform == "linux":
        assert last.endswith(
            "There is no Excel to reach on this system; on Windows or macOS, open the workbook in Excel first."
        )


def test_without_xlwings_it_says_so(live, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlwings", None)
    with pytest.raises(PlannerError, match="Excel is reached through xlwings; `pip install xlwings`"):
        live.check()


@pytest.fixture
def pressed(windows, book, excel_runs, monkeypatch):
    """A button of the ribbon: what the box said, with which icon."""

    def press(button):
        excel_runs(book.api.Application)
        book.api.Application.__dict__["Hwnd"] = 1
        said = []
        monkeypatch.setattr(
            windows.xlwings._xlwindows.win32api,
            "MessageBox",
            lambda hwnd, text, title, style: said.append((text, style)) or 1,
        )
        getattr(windows.ribbon, button)()
        assert book.api.Application.StatusBar is False
        return said

    return press


def test_the_users_own_devices_are_read_with_their_looks(live, open_in, tmp_path):
    path = table(tmp_path, ["a", 140, "mine"], ["b", 140, "bad"], headers=["Scenario", "Weights (GB)", "Device"])
    workbook = openpyxl.load_workbook(path)
    own = workbook.create_sheet("Devices")
    for row in (["Device", "Bandwidth (GB/s)"], ["mine", 3350], ["bad", 0.85]):
        own.append(row)
    own["B3"].number_format = "0%"
    workbook.save(path)
    study = live.check(open_in(path))
    (case,) = study.cases
    assert case.result.sources["device_bandwidth_gb_s"] == "your Devices sheet, row 2: mine"
    assert [str(issue) for issue in study.issues if issue.severity == "error"] == [
        "Devices!B3: Bandwidth is 85%, a percentage; expected a number above 0 (GB/s).",
        "Scenarios!C3: Device is 'bad', left out in your Devices sheet, row 3; expected that row without an error.",
    ]


def test_the_button_evaluate(pressed, book):
    ((text, icon),) = pressed("evaluate")
    assert text.startswith("2 scenarios evaluated, 0 rows skipped; 0 errors, ")
    assert text.endswith("The sheets are not saved yet.")
    assert icon == 64
    assert "Results" in [sheet.Name for sheet in book.api.sheets]


def test_the_button_check_writes_nothing(pressed, book):
    before = contents(book)
    ((text, _),) = pressed("check")
    assert text.startswith("2 scenarios evaluated")
    assert contents(book) == before


def test_the_button_report(pressed, tmp_path):
    pytest.importorskip("weasyprint", exc_type=ImportError)
    ((text, _),) = pressed("report")
    assert text.endswith(f"Wrote {tmp_path / 'scenarios.report.pdf'}")


def test_an_error_of_the_users_is_one_line_in_a_box(pressed, book):
    book.api.sheets[:] = [fake_excel.Worksheet(book.api, "Empty")]
    book.api.ActiveSheet = book.api.sheets[0]
    ((text, icon),) = pressed("evaluate")
    assert text.startswith("No sheet has a row of headers")
    assert "\n" not in text
    assert icon == 48


def test_a_bug_keeps_its_traceback(pressed, windows, monkeypatch):
    monkeypatch.setattr(windows.ribbon, "summary", lambda study: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pressed("check")


def test_a_long_list_of_issues_is_cut(windows, live, open_in, tmp_path):
    study = live.check(open_in(table(tmp_path, *([f"s{n}", -1, 3350, 0.85, 8] for n in range(30)))))
    lines = windows.ribbon.summary(study).splitlines()
    assert lines[0].startswith("0 scenarios evaluated, 30 rows skipped; 30 errors")
    assert len(lines) == 14
    assert lines[-1] == "... and 18 more"


def test_a_results_workbook_too_large_to_attach_lies_beside_the_report(live, book, tmp_path, monkeypatch):
    pytest.importorskip("weasyprint", exc_type=ImportError)
    pypdf = pytest.importorskip("pypdf")
    monkeypatch.setattr("planner.report.pdf._MOST_ATTACHED", 100)
    _, path = live.report(book)
    results = tmp_path / "scenarios.results.xlsx"
    assert {file.name for file in tmp_path.iterdir()} == {path.name, results.name}
    pdf = pypdf.PdfReader(path)
    assert not pdf.attachments
    said = "".join("".join(page.extract_text() for page in pdf.pages).split())
    assert hashlib.sha256(results.read_bytes()).hexdigest() in said
