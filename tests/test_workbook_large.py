"""Large sheets: calamine and openpyxl together give the cells that openpyxl gives alone, whatever stands in them."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

import openpyxl
import pytest
import richbook
import xlsxwriter
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from planner.workbook import large
from planner.workbook.package import open_package
from planner.workbook.read import read_workbook
from planner.workbook.slim import raw_sheets, shared_strings

HEADERS = ["Scenario", "Parameters (billions)", "Precision", "Bandwidth per device (GB/s)", "Devices", "Efficiency"]


def mixed():
    """A workbook with a row of each kind, each followed by plain rows."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Scenarios"
    sheet.append(HEADERS)
    odd = [
        (["date", dt.datetime(2026, 1, 31), "FP16", 3350, 1, 0.85], {}),
        (["moment", 70, "FP16", dt.datetime(2026, 1, 31, 13, 45), 1, dt.time(12, 30)], {}),
        (["duration", 70, "FP16", 3350, dt.timedelta(hours=30), 0.85], {}),
        (["far date", 70, "FP16", 1e12, 1, 0.85], {"D": "yyyy-mm-dd"}),
        (["date before all", 70, "FP16", -5, 1, 0.85], {"D": "yyyy-mm-dd"}),
        (["percent", 70, "FP16", 3350, 1, 0.85], {"F": "0%"}),
        (["percents", 70, "FP16", 3350, 2, 85], {"F": "0.0%"}),
        (["percent as text", 70, "FP16", 3350, 1, "85%"], {"F": "0%"}),
        (["sign alone", 70, "FP16", 3350, 1, 85], {"F": '0"%"'}),
        (["dollars", 70, "FP16", 3350, 1, 0.85], {"D": "[$$-409]#,##0.00"}),
        (["currencies", 70, "FP16", 3350, 2, 0.85], {"D": "#,##0.00\\ [$€-407]", "E": '"$"#,##0', "B": "[$CHF] 0.00"}),
        (["accounts", 70, "FP16", 3350, 2, 0.85], {"D": '_-* #,##0.00\\ "€"_-', "E": "[Red][$£-809]0;-[$£-809]0"}),
        (["refused", 70, "FP16", 3350, -2, 0.85], {"E": '"$"#,##0;("€"#,##0)'}),
        (["text", "70", "FP16", "3,350", "2", "0,85"], {}),
        (["blanks", " 70 ", "FP16\n", "\u00a03350", "", None], {}),
        (["switch", True, "FP16", 3350, False, 0.85], {}),
        (["error", "#N/A", "#DIV/0!", 3350, 1, 0.85], {}),
        (["formula", "=60+10", "FP16", "=1/0", '=""', 0.85], {}),
        (["whole", 70.0, "FP16", 10**18 + 1, 123456789012345, 2**53 + 1], {}),
        (["large", 1e300, "FP16", 1e-300, 1.5e10, -0.0], {}),
        (["_x0041_ & <b> \"q\" 'a'", 70, "FP16", 3350, 1, 0.85], {}),
        (["\u5bb9\u91cf \U0001f600", 70, "FP16", 3350, 1, 0.85], {}),
        ([CellRichText("rich ", TextBlock(InlineFont(b=True), "bold")), 70, "FP16", 3350, 1, 0.85], {}),
        (["=HYPERLINK", 70, "FP16", 3350, 1, 0.85], {}),
        ([None, None, None, None, None, None], {"A": "0%", "F": "0%"}),
    ]
    for number, (values, formats) in enumerate(odd):
        sheet.append(values)
        for letter, shown in formats.items():
            sheet[f"{letter}{sheet.max_row}"].number_format = shown
        for cell in sheet[sheet.max_row]:
            if isinstance(cell.value, str) and cell.value.startswith("#"):
                cell.data_type = "e"
            if cell.value == "=HYPERLINK":
                cell.data_type = "s"
        sheet.append([f"plain {number}", 70 + number, "FP16", 3350.5, 1, 0.5])
    sheet.append(["merged", 70, "FP16", 3350, 1, 0.85])
    sheet.append([None, 8, "FP16", None, 1, 0.85])
    sheet.append([None, 9, "FP16", None, 1, 0.85])
    last = sheet.max_row
    sheet.merge_cells(f"A{last - 2}:A{last}")
    sheet.merge_cells(f"D{last - 2}:D{last}")
    sheet.row_dimensions[5].hidden = True
    sheet.row_dimensions[8].hidden = True
    sheet["Z1"] = "far"
    sheet["AB3"] = "farther"
    return workbook


def since_1904():
    workbook = mixed()
    workbook.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    return workbook


def by_xlsxwriter(path):
    """Shared texts, formulas with values, looks."""
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Scenarios")
    sheet.write_row(0, 0, HEADERS)
    percent, day = workbook.add_format({"num_format": "0%"}), workbook.add_format({"num_format": "d mmm yyyy"})
    for row in range(1, 40):
        sheet.write_row(row, 0, [f"S{row}", 70, "FP16", 3350])
        sheet.write_formula(row, 4, "=1+1", None, 2)
        sheet.write_number(row, 5, 0.85, percent)
        sheet.write_formula(row, 6, '="a"&"b"', None, "ab")
        sheet.write_datetime(row, 7, dt.datetime(2026, 1, row % 28 + 1), day)
        sheet.write_blank(row, 8, None, percent)
        sheet.write_boolean(row, 9, row % 2 == 0)
        sheet.write_rich_string(row, 10, "two ", workbook.add_format({"bold": True}), "kinds ", "of text")
    sheet.set_row(7, None, None, {"hidden": True})
    workbook.close()


def cells_of(grids):
    """All cells with their types, an empty text like no cell; whole numbers are whole however they are written."""
    return {
        (grid.name, row, column): (_kind(cell.value), cell, grid.hidden)
        for grid in grids
        for row, line in grid.rows.items()
        for column, cell in line.items()
        if cell.value != ""
    }


def _kind(value):
    return int if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else type(value)


def differing(path):
    """The cells that are not the same in both ways of reading, and how many there are at all."""
    workbook = read_workbook(path)
    together, alone = cells_of(workbook.grids), cells_of(workbook._grids(None, fast=False))
    assert alone
    return {
        place: (together.get(place), alone.get(place))
        for place in together.keys() | alone.keys()
        if together.get(place) != alone.get(place)
    }


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Every sheet counts as large."""
    monkeypatch.setattr(large, "LARGE_FROM", 1)


def rows_left(path):
    package = open_package(path)
    return {
        name: found.left if (found := large.split(sheet, lambda: shared_strings(package))) else None
        for name, sheet in raw_sheets(package).items()
    }


@pytest.mark.parametrize("make", [mixed, since_1904])
def test_both_readers_give_the_same_cells_of_a_mixed_workbook(make, tmp_path):
    path = tmp_path / "mixed.xlsx"
    make().save(path)
    assert differing(path) == {}
    shown = [cell.currencies for _, cell, _ in cells_of(read_workbook(path).grids).values() if cell.currencies]
    assert {"USD", "EUR", "CHF", "GBP"} <= {code for codes in shown for code in codes}
    left = rows_left(path)["Scenarios"]
    # Errors, formulas without a value, escapes, rich texts, long numbers and merged rows; all others are calamine's.
    assert left is not None
    assert 8 <= len(left) <= 12


@pytest.mark.parametrize("make", [by_xlsxwriter, richbook.rich_workbook])
def test_both_readers_give_the_same_cells_of_other_programs(make, tmp_path):
    path = tmp_path / "other.xlsx"
    make(path)
    assert differing(path) == {}
    assert any(left is not None and not left for left in rows_left(path).values())


def test_both_readers_give_the_same_cells_of_the_sample(sample):
    assert differing(sample) == {}


def altered(path, change):
    """The workbook with its first sheet's XML changed."""
    data = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(data, "w") as new:
        for entry in old.infolist():
            text = old.read(entry)
            new.writestr(entry, change(text) if entry.filename == "xl/worksheets/sheet1.xml" else text)
    path.write_bytes(data.getvalue())


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"<row r=", b"<row  r="),
        lambda text: text.replace(b"</c>", b"</c>\n"),
        lambda text: text.replace(b"<sheetData>", b"<sheetData><!-- note -->"),
        lambda text: text.replace(b"<v>70</v>", b"<v> 70 </v>"),
        lambda text: text.replace(b'r="A1"', b'r="XFD1"'),
    ],
    ids=["blank", "lines", "comment", "padded number", "far column"],
)
def test_a_sheet_written_in_another_form_is_left_to_openpyxl(change, tmp_path, monkeypatch):
    path = tmp_path / "plan.xlsx"
    by_xlsxwriter(path)
    altered(path, change)
    monkeypatch.setattr(large, "_LARGEST_EXTENT", 100_000)
    assert differing(path) == {}


def test_cells_with_attributes_in_another_order_are_left_to_openpyxl(tmp_path):
    path = tmp_path / "plan.xlsx"
    by_xlsxwriter(path)
    altered(path, lambda text: text.replace(b'<c r="F9" s="1">', b'<c s="1" r="F9">'))
    workbook = read_workbook(path)
    assert rows_left(path) == {"Scenarios": {9}}
    assert cells_of(workbook.grids) == cells_of(workbook._grids(None, fast=False))


def test_the_table_is_the_same_issues_and_all(tmp_path, monkeypatch):
    path = tmp_path / "mixed.xlsx"
    mixed().save(path)
    fast = read_workbook(path).table()
    monkeypatch.setattr(large, "LARGE_FROM", 10**9)
    slow = read_workbook(path).table()
    assert [str(issue) for issue in fast.issues] == [str(issue) for issue in slow.issues]
    assert fast.scenarios == slow.scenarios
    assert [entry.origin.row for entry in fast.entries] == [entry.origin.row for entry in slow.entries]
    assert [row.origin.row for row in fast.skipped] == [row.origin.row for row in slow.skipped]
    assert len(fast.issues) > 20


@pytest.mark.parametrize("values", [[1, True, 0, False, 1.0], [1, 0, 1.0, 2], ["a", 1, "1", None, ""]])
def test_truth_values_and_numbers_that_are_equal_stay_apart(values, tmp_path):
    path = tmp_path / "truth.xlsx"
    workbook = openpyxl.Workbook()
    workbook.active.title = "Scenarios"
    for value in values * 4:
        workbook.active.append([value, value, "x"])
    workbook.save(path)
    assert differing(path) == {}
    cells = read_workbook(path).grids[0].rows
    assert [type(cells[row][1].value) for row, value in enumerate(values, 1) if value not in {None, ""}] == [
        bool if isinstance(value, bool) else str if isinstance(value, str) else int
        for value in values
        if value not in {None, ""}
    ]
