"""Reading workbooks: what openpyxl gives becomes cells; what cannot be read is refused in one line."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference

from planner import PlannerError, read_scenarios
from planner.workbook.layout import MARK
from planner.workbook.read import read_workbook

HEADERS = ["Scenario", "Parameters (billions)", "Precision", "Bandwidth per device (GB/s)", "Devices", "Efficiency"]
GOOD = ["A", 70, "FP16", 3350, 1, 0.85]


def book(*rows, title="Scenarios"):
    workbook = openpyxl.Workbook()
    workbook.active.title = title
    for row in rows:
        workbook.active.append(row)
    return workbook


def saved(workbook, tmp_path, name="plan.xlsx"):
    path = tmp_path / name
    workbook.save(path)
    return path


def test_sample_reads_without_an_error(sample):
    table = read_scenarios(sample)
    assert table.sheet == "Scenarios"
    assert len(table.scenarios) == 9
    assert not [issue for issue in table.issues if issue.severity == "error"]


def test_percent_format_date_error_and_formula_without_value(tmp_path):
    workbook = book(HEADERS, GOOD, GOOD, GOOD, GOOD, GOOD)
    sheet = workbook.active
    sheet["F2"].number_format = "0%"
    sheet["F3"], sheet["F3"].number_format = 85, "0%"
    sheet["B4"] = dt.datetime(2026, 1, 31)
    sheet["D5"] = "#REF!"
    sheet["D5"].data_type = "e"
    sheet["E6"] = "=1+1"
    table = read_scenarios(saved(workbook, tmp_path))
    assert [entry.origin.row for entry in table.entries] == [2]
    assert [str(issue) for issue in table.issues] == [
        "Scenarios!F3: Efficiency is 8500%; expected a ratio above 0 to 1, or 10 to 100 for percent.",
        "Scenarios!B4: Parameters is a date or time (2026-01-31 00:00:00); expected a number above 0.",
        "Scenarios!D5: Bandwidth per device is #REF!, an error of the workbook; expected a number above 0.",
        "Scenarios!E6: Devices is a formula without a stored value; expected a value; save the workbook in Excel, "
        "type the value, or use --recalculate.",
    ]


def test_a_vertically_merged_cell_counts_for_each_of_its_rows(tmp_path):
    workbook = book(HEADERS, GOOD, ["B", None, None, 3350, 1, 0.85], ["C", 7, "INT8", 3350, 1, 0.85])
    workbook.active.merge_cells("B2:B3")
    workbook.active.merge_cells("C2:C3")
    table = read_scenarios(saved(workbook, tmp_path))
    assert [(s.params_b, s.precision) for s in table.scenarios] == [(70, "FP16"), (70, "FP16"), (7, "INT8")]


def test_hidden_rows_other_sheets_and_chartsheets_do_no_harm(tmp_path):
    workbook = book(HEADERS, GOOD, GOOD)
    workbook.active.row_dimensions[3].hidden = True
    workbook.create_sheet("Other", 0)["A1"] = "Scenario"
    chart = BarChart()
    chart.add_data(Reference(workbook["Scenarios"], min_col=2, min_row=1, max_row=3))
    workbook.create_chartsheet("Chart").add_chart(chart)
    assert len(read_scenarios(saved(workbook, tmp_path)).scenarios) == 2


def test_totals_second_headers_unit_rows_and_hidden_rows_are_seen_for_what_they_are(tmp_path):
    other = ["Scenario", "Bandwidth per device (GB/s)", "Precision", "Parameters (billions)", "Devices", "Efficiency"]
    workbook = book(
        HEADERS,
        [None, "billions", None, "TB/s", None, "%"],
        ["A", 70, "FP16", 3.35, 1, 0.85],
        ["Total", 70, "FP16", 3.35, 1, None],
        other,
        ["B", 2039, "FP16", 13, 1, 0.5],
    )
    workbook.active.row_dimensions[6].hidden = True
    table = read_scenarios(saved(workbook, tmp_path))
    assert [(s.name, s.device_bandwidth_gb_s, s.params_b) for s in table.scenarios] == [
        ("A", 3350, 70),
        ("B", 2039, 13),
    ]
    assert [(issue.cell, issue.code) for issue in table.issues] == [
        ("A2", "units"),
        ("A4", "totals"),
        ("A5", "header"),
        ("A6", "hidden"),
    ]


def test_columns_that_are_not_read_are_named_and_weigh_more_where_they_may_be_the_missing_input(tmp_path):
    bare = [*HEADERS[:4], "Karten"]
    table = read_scenarios(saved(book(bare, [*GOOD[:4], 2]), tmp_path))
    assert [(str(issue.severity), issue.code) for issue in table.issues] == [("warning", "unread")]
    assert "'Karten' (E1), and none is read as Devices, Efficiency, Batch" in table.issues[0].problem
    table = read_scenarios(saved(book([*HEADERS, "Batch", "Owner"], [*GOOD, 8, "x"]), tmp_path))
    assert [str(issue) for issue in table.issues] == ["Scenarios!A1: Columns that planner does not read: 'Owner' (H1)."]


def test_a_sheet_that_fits_as_well_is_named(tmp_path):
    workbook = book(HEADERS, GOOD, title="2025 plan")
    workbook.create_sheet("2026 plan").append(HEADERS)
    table = read_scenarios(saved(workbook, tmp_path))
    assert table.sheet == "2025 plan"
    assert "Sheet '2025 plan' is read; '2026 plan' would do as well" in table.issues[0].problem


def test_result_sheets_of_an_earlier_run_are_no_scenarios(tmp_path):
    workbook = book(HEADERS, GOOD, title="My plan")
    ours = workbook.create_sheet("Results")
    ours.append([*HEADERS, "Batch", "Weights (GB)"])
    ours.append([*GOOD, 8, 140])
    ours.defined_names.add(openpyxl.workbook.defined_name.DefinedName(MARK, attr_text='"results"'))
    assert read_scenarios(saved(workbook, tmp_path)).sheet == "My plan"


def test_named_sheet(tmp_path):
    workbook = book(HEADERS, GOOD)
    workbook.create_sheet("Second").append(HEADERS)
    workbook["Second"].append(["B", *GOOD[1:]])
    path = saved(workbook, tmp_path)
    assert read_scenarios(path, "second").scenarios[0].name == "B"
    with pytest.raises(PlannerError, match="No sheet named 'Third'; the workbook has Scenarios, Second"):
        read_scenarios(path, "Third")


def _zip(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        for name, text in files.items():
            package.writestr(name.replace("__", "/"), text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("empty.xlsx", b"", "is empty"),
        ("text.xlsx", b"a;b\n1;2\n", "not an Excel workbook (perhaps a text or .csv file)"),
        ("old.xls", b"\xd0\xcf\x11\xe0" + b"0" * 600, "is an old .xls workbook"),
        ("locked.xlsx", b"\xd0\xcf\x11\xe0" + b"0" * 600, "is password-protected, or an old .xls workbook"),
        ("cut.xlsx", b"PK\x03\x04" + b"0" * 100, "is damaged"),
        ("zip.xlsx", _zip(**{"a.txt": "x"}), "a zip file but no workbook"),
        ("open.xlsx", _zip(**{"content.xml": "x", "mimetype": "x"}), "an OpenDocument file"),
        ("binary.xlsx", _zip(**{"xl__workbook.bin": "x"}), "a binary .xlsb workbook"),
        ("hollow.xlsx", _zip(**{"[Content_Types].xml": "<a/>"}), "names no workbook part"),
    ],
)
def test_what_is_no_workbook_is_refused_in_one_line(tmp_path, name, data, said):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(PlannerError) as refused:
        read_workbook(path)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.read_bytes() == data


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<a/>")
        package.writestr("xl/worksheets/sheet1.xml", b" " * 160_000_000)
    with pytest.raises(PlannerError, match="would unpack to"):
        read_workbook(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(PlannerError, match="No such file: .*planner new"):
        read_workbook(tmp_path / "none.xlsx")
    with pytest.raises(PlannerError, match="is a folder"):
        read_workbook(tmp_path)


def test_strict_file_is_named_as_such(tmp_path):
    path = saved(book(HEADERS, GOOD), tmp_path)
    strict = tmp_path / "strict.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(strict, "w") as target:
        for entry in source.namelist():
            text = source.read(entry)
            text = text.replace(
                b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
                b"http://purl.oclc.org/ooxml/spreadsheetml/main",
            ).replace(
                b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
                b"http://purl.oclc.org/ooxml/officeDocument/relationships",
            )
            target.writestr(entry, text)
    with pytest.raises(PlannerError, match="Strict Open XML"):
        read_workbook(strict)
