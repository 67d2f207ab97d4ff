"""The result sheets: the workbook's numbers are evaluate's numbers, live, stored, linked and flagged."""

from __future__ import annotations

import datetime as dt
import functools
import re

import ironcalc
import openpyxl
import pytest
import xlsxwriter

from planner import Scenario, study_of
from planner.functions import EXCEL_FUNCTIONS, lambdas
from planner.job import Job, run
from planner.plan.evaluate import FORMULAS
from planner.plan.scenario import figure_header, header_of
from planner.plan.study import Options
from planner.resources import folder
from planner.workbook.layout import MARK, text_literal, unique_name
from planner.workbook.merge import COPY_MARK
from planner.workbook.results_sheet import COLUMN_OF, FIGURE_ORDER, Functions
from planner.workbook.sheets import SHEET_NAMES, renamed_sheets, result_sheets, sheet_names
from planner.workbook.write import write_workbook

ALL = list(Functions)


@pytest.fixture(scope="module")
def made(sample, tmp_path_factory):
    """The sample's results in each of the ways to calculate, with the study behind them."""
    place = tmp_path_factory.mktemp("results")

    class Made(dict):
        """Each made where it is first asked for."""

        def __missing__(self, way):
            path = place / f"{way}.xlsx"
            self[way] = (path, run(Job(source=sample, output=path, pdf=None, functions=way)).study)
            return self[way]

    return Made()


@functools.cache
def own_sheets():
    """The sheets of the sample itself, which stand before the results."""
    return openpyxl.load_workbook(folder("workbooks") / "scenarios.xlsx").sheetnames


@functools.cache
def values(path):
    """The stored values of a workbook that is only looked at."""
    return openpyxl.load_workbook(path, data_only=True)


@pytest.mark.parametrize("functions", ALL)
def test_sheets_in_order(made, functions):
    assert openpyxl.load_workbook(made[functions][0]).sheetnames == [*own_sheets(), *SHEET_NAMES]


@pytest.mark.parametrize("functions", ALL)
def test_results_hold_every_figure_of_evaluate(made, functions):
    path, study = made[functions]
    sheet = values(path)["Results"]
    heads = [cell.value for cell in sheet[1]]
    for case, row in zip(study.cases, sheet.iter_rows(min_row=2, values_only=True), strict=True):
        assert row[0] == case.name
        for name in FIGURE_ORDER:
            stored, expected = row[heads.index(figure_header(name))], getattr(case.result, name)
            # Numbers are written with the sixteen digits that a workbook holds.
            assert stored == (None if expected is None else pytest.approx(expected, rel=1e-15)), name


def test_worked_example_is_stored_in_the_cell(made):
    sheet = values(made[Functions.EMBEDDED][0])["Results"]
    heads = [cell.value for cell in sheet[1]]
    cell = sheet.cell(2, heads.index("Per stream (tok/s)") + 1)
    assert cell.value == pytest.approx(20.339286, abs=5e-7)
    assert cell.number_format == "#,##0.00"


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.ADDIN])
def test_figures_are_live_calls_over_their_row(made, functions):
    sheet = openpyxl.load_workbook(made[functions][0])["Results"]
    at = {name: openpyxl.utils.get_column_letter(column + 1) + "2" for name, column in COLUMN_OF.items()}
    assert sheet[at["tokens_per_sec"]].value == (
        f"=TOKENS_PER_SEC({at['weights_gb']},{at['bandwidth_gb_s']},{at['efficiency']})"
    )
    assert sheet[at["weights_gb"]].value == f"=WEIGHTS_GB({at['params_b']},{at['weight_bits']})"
    assert sheet[at["batch"]].value == "=Scenarios!M5"
    assert sheet[at["bandwidth_gb_s"]].value == "=Scenarios!J5"
    assert sheet["A2"].value == '=HYPERLINK("#Scenarios!A5",Scenarios!A5)'


def test_every_figure_of_a_full_row_is_live(made):
    sheet = openpyxl.load_workbook(made[Functions.EMBEDDED][0])["Results"]
    names = values(made[Functions.EMBEDDED][0])["Results"]
    row = next(r for r in sheet.iter_rows(min_row=2) if "batch 64" in names.cell(r[0].row, 1).value)
    for name in FORMULAS:
        assert str(row[COLUMN_OF[name]].value).startswith("="), name


def test_plain_uses_no_function_of_ours_and_none_no_formula(made):
    names = re.compile("|".join(function.name for function in EXCEL_FUNCTIONS))
    for functions in (Functions.PLAIN, Functions.NONE):
        for sheet in openpyxl.load_workbook(made[functions][0]).worksheets[len(own_sheets()) :]:
            for row in sheet.iter_rows():
                for cell in row:
                    if cell.data_type == "f":
                        assert functions is Functions.PLAIN
                        assert not names.search(cell.value), cell.value


@pytest.mark.parametrize("functions", ALL)
def test_only_embedded_carries_functions(made, functions):
    defined = set(openpyxl.load_workbook(made[functions][0]).defined_names)
    assert defined == {COPY_MARK} | (set(lambdas()) if functions is Functions.EMBEDDED else set())


def test_result_sheets_are_marked_and_the_scenarios_are_not(made):
    workbook = openpyxl.load_workbook(made[Functions.EMBEDDED][0])
    assert [MARK in sheet.defined_names for sheet in workbook] == [False] * len(own_sheets()) + [True] * len(
        SHEET_NAMES
    )
    assert workbook["Results"].defined_names[MARK].hidden


def test_the_stored_values_are_the_same_in_all_four(made):
    def numbers(path):
        return [
            cell
            for sheet in values(path)
            for row in sheet.iter_rows(values_only=True)
            for cell in row
            if isinstance(cell, int | float)
        ]

    first = numbers(made[Functions.EMBEDDED][0])
    assert len(first) > 700
    for functions in ALL:
        assert numbers(made[functions][0]) == pytest.approx(first, rel=1e-15)


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.PLAIN])
def test_ironcalc_recalculates_to_the_stored_values(made, recalculated, functions):
    checked = 0
    for place, (formula, stored, own) in recalculated(made[functions][0]).items():
        if "HYPERLINK" in formula:
            continue
        if isinstance(stored, int | float):
            assert own == pytest.approx(stored, rel=1e-9), (place, formula)
        else:
            assert (own or None) == (stored or None), (place, formula)
        checked += 1
    assert checked > 500


@pytest.mark.libreoffice
def test_libreoffice_shows_no_error_cell(made, as_csv):
    found = as_csv.several(*(made[functions][0] for functions in ALL))
    assert list(found) == ALL
    for functions, shown in found.items():
        assert set(shown) == {*own_sheets(), *SHEET_NAMES}, functions
        for name, text in shown.items():
            assert not re.search(r"#(NAME|VALUE|REF|DIV/0|N/A|NUM)|Err:\d", text), (functions, name)
        assert "20.339285714" in shown["Results"], functions


@pytest.mark.libreoffice
def test_libreoffice_recalculates_plain_to_the_same_numbers(made, soffice, tmp_path):
    import subprocess

    path = made[Functions.PLAIN][0]
    # Stored values are taken out, so that LibreOffice has nothing but the formulas.
    workbook = openpyxl.load_workbook(path)
    bare = tmp_path / "bare.xlsx"
    workbook.save(bare)
    assert openpyxl.load_workbook(bare, data_only=True)["Results"]["P2"].value is None
    command = [
        soffice,
        f"-env:UserInstallation=file://{tmp_path}/profile",
        "--headless",
        "--convert-to",
        "xlsx:Calc MS Excel 2007 XML",
    ]
    subprocess.run(
        [*command, "--outdir", str(tmp_path / "out"), str(bare)], capture_output=True, timeout=180, check=True
    )
    again, before = values(tmp_path / "out" / "bare.xlsx"), values(path)
    for name in SHEET_NAMES[:-2]:
        for row in before[name].iter_rows():
            for cell in row:
                found = again[name][cell.coordinate].value
                if isinstance(cell.value, int | float):
                    assert found == pytest.approx(cell.value, rel=1e-9), (name, cell.coordinate)


@pytest.mark.validator
@pytest.mark.parametrize("functions", ALL)
def test_open_xml_sdk_finds_no_error(made, validate, functions):
    assert validate(made[functions][0]) == []


def test_precision_and_batch_have_a_row_for_each_scenario_and_a_column_for_each_variant(made):
    path, study = made[Functions.EMBEDDED]
    workbook = values(path)
    precision, batch = workbook["Precision"], workbook["Batch"]
    heads = [cell.value for cell in precision[2]]
    first = heads.index("FP16")
    assert heads[first:] == ["FP16", "INT8", "INT4", "own"] * 5
    for index, case in enumerate(study.cases):
        row = [cell.value for cell in precision[3 + index]]
        assert row[first : first + 3] == [r.weights_gb for r in study.by_precision[index]]
        assert row[first + 3] == case.result.weights_gb
        assert row[first + 4 : first + 7] == [r.tokens_per_sec for r in study.by_precision[index]]
        assert row[first + 8 : first + 11] == [r.ceiling_tokens_per_sec for r in study.by_precision[index]]
        assert row[first + 12 : first + 15] == pytest.approx(
            [r.estimated_tokens_per_sec for r in study.by_precision[index]], rel=1e-15
        )
        assert row[first + 16 : first + 19] == [r.response_time_s for r in study.by_precision[index]]
    heads = [cell.value for cell in batch[2]]
    first = heads.index(1)
    assert heads[first:] == list(study.options.batches) * 6
    for index in range(len(study.cases)):
        row = [cell.value for cell in batch[3 + index]]
        expected = [
            getattr(result, figure)
            for figure in (
                "tokens_per_sec",
                "estimated_tokens_per_sec",
                "aggregate_tokens_per_sec",
                "estimated_aggregate_tokens_per_sec",
                "response_time_s",
                "requests_per_hour",
            )
            for result in study.by_batch[index]
        ]
        assert row[first:] == [x if x is None else pytest.approx(x, rel=1e-15) for x in expected]


def test_speed_table_holds_the_twelve_known_cells(made):
    sheet = values(made[Functions.EMBEDDED][0])["Speed table"]
    columns = {sheet.cell(5, c).value: c for c in range(3, sheet.max_column + 1)}
    rows = {sheet.cell(r, 2).value: r for r in range(7, sheet.max_row + 1)}
    expected = {14: (72.0, 145.6, 239.3), 35: (28.8, 58.3, 95.7), 70: (14.4, 29.1, 47.9), 140: (7.2, 14.6, 23.9)}
    for weights, rates in expected.items():
        for bandwidth, rate in zip((1008, 2039, 3350), rates, strict=True):
            assert round(sheet.cell(rows[weights], columns[bandwidth]).value, 1) == rate


def test_checks_list_every_issue_with_a_link(made):
    path, study = made[Functions.EMBEDDED]
    shown = values(path)["Checks"]
    rows = list(shown.iter_rows(min_row=2, max_row=1 + len(study.issues), values_only=True))
    assert [(r[0], r[1], r[3], r[4], r[5]) for r in rows] == [
        (str(i.severity), i.where, i.problem, i.remedy, i.code) for i in study.issues
    ]
    links = openpyxl.load_workbook(path)["Checks"]
    assert links["B2"].value == f'=HYPERLINK("#{study.issues[0].where}","{study.issues[0].where}")'


def test_charts_are_native(made):
    charts = openpyxl.load_workbook(made[Functions.EMBEDDED][0])["Charts"]._charts
    assert [type(chart).__name__ for chart in charts] == ["LineChart", "LineChart", "BarChart"] * 2
    assert len(charts[0].series) == 8


def test_frozen_headers_print_set_up_and_conditional_formats(made):
    workbook = openpyxl.load_workbook(made[Functions.EMBEDDED][0])
    for name in SHEET_NAMES[:-1]:
        sheet = workbook[name]
        assert sheet.freeze_panes, name
        assert sheet.print_title_rows, name
        assert sheet.page_setup.orientation == "landscape"
        # A sheet that has nothing to show but what to type has nothing to mark either.
        assert len(sheet.conditional_formatting) > 0 or sheet["A4"].value == "Column", name
    assert workbook["Results"].auto_filter.ref


HOSTILE = [
    '=HYPERLINK("http://x")',
    "+1",
    "-1",
    "@SUM(A1)",
    "a" * 40_000,
    "quote \" ' <b> & ü 漢字 🚀",
    "bell\x07\x00",
    "x" * 300,
]


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.NONE])
def test_a_name_is_a_text_whatever_it_looks_like(tmp_path, functions, validate_or_none):
    scenarios = [Scenario(name=name, weights_gb=14, bandwidth_gb_s=1008, efficiency=0.5) for name in HOSTILE]
    path = tmp_path / "hostile.xlsx"
    write_workbook(path, result_sheets(study_of(scenarios), functions), functions)
    sheet = openpyxl.load_workbook(path, data_only=True)["Results"]
    assert [sheet.cell(row + 2, 1).value[:20] for row in range(6)] == [name[:20] for name in HOSTILE[:6]]
    assert all(sheet.cell(row + 2, 1).data_type == "s" for row in range(len(HOSTILE)))
    assert validate_or_none(path) == []


def test_a_study_without_a_workbook_has_values_and_live_figures_but_no_links(tmp_path):
    study = study_of([Scenario(name="A", params_b=70, precision="INT4", device_bandwidth_gb_s=3350)])
    path = tmp_path / "out.xlsx"
    write_workbook(path, result_sheets(study), Functions.EMBEDDED)
    sheet = openpyxl.load_workbook(path)["Results"]
    assert sheet["A2"].value == "A"
    assert sheet.cell(2, COLUMN_OF["params_b"] + 1).value == 70
    assert str(sheet.cell(2, COLUMN_OF["tokens_per_sec"] + 1).value).startswith("=TOKENS_PER_SEC(")


def test_bits_typed_as_a_number_stay_a_number(tmp_path, recalculated):
    study = study_of(
        [Scenario(name="A", params_b=70, precision="4.85", device_bandwidth_gb_s=3350)], Options(("4.85", "FP16"))
    )
    path = tmp_path / "out.xlsx"
    write_workbook(path, result_sheets(study), Functions.EMBEDDED)
    assert openpyxl.load_workbook(path)["Precision"]["L2"].value == 4.85
    for formula, stored, own in recalculated(path).values():
        if isinstance(stored, int | float):
            assert own == pytest.approx(stored), formula


def test_no_scenarios_still_make_sheets(tmp_path):
    path = tmp_path / "out.xlsx"
    write_workbook(path, result_sheets(study_of([])), Functions.EMBEDDED)
    assert openpyxl.load_workbook(path).sheetnames == list(SHEET_NAMES)


def test_a_users_sheet_keeps_its_name():
    assert unique_name("Results", ["RESULTS", "Results (planner)"]) == "Results (planner 2)"
    assert unique_name("Results", ["Scenarios"]) == "Results"
    names = sheet_names(["Batch"])
    sheets = result_sheets(study_of([]), names=names)
    assert [sheet.name for sheet in sheets] == [
        "Results",
        "Estimate",
        "Memory",
        "What-if",
        "Cost",
        "Demand",
        "Sensitivity",
        "Precision",
        "Batch (planner)",
        "Speed table",
        "Checks",
        "Charts",
    ]
    assert [issue.problem for issue in renamed_sheets(names, ["Batch"])] == [
        "The workbook has a sheet named 'Batch' of its own, so the result sheet is named 'Batch (planner)'"
    ]


def test_a_long_text_is_cut_where_a_formula_takes_no_more():
    assert len(text_literal('"' * 300)) == 2 + 2 * 254 + 1


def test_the_same_study_gives_the_same_bytes(tmp_path):
    study = study_of([Scenario(name="A", params_b=7, precision="FP16", device_bandwidth_gb_s=1008)])
    when = dt.datetime(2026, 11, 29, tzinfo=dt.UTC)
    paths = [tmp_path / "a.xlsx", tmp_path / "b.xlsx"]
    for path in paths:
        write_workbook(path, result_sheets(study), Functions.EMBEDDED, made=when)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_headers_carry_units():
    assert header_of("prefill_tokens_per_sec") == "Prefill rate (tok/s)"
    assert figure_header("requests_per_hour") == "Requests (per hour)"


@pytest.mark.parametrize(
    ("sheet", "column", "cells", "on"),
    [
        # Each rule on both sides of its limit: the cells that it reads, and whether it is on then.
        ("Results", "tokens_per_sec", {"tokens_per_sec": 9.99}, True),
        ("Results", "tokens_per_sec", {"tokens_per_sec": 10}, False),
        ("Results", "weights_memory_share", {"weights_memory_share": 0.901}, True),
        ("Results", "weights_memory_share", {"weights_memory_share": 0.9}, False),
        ("Results", "batch", {"batch": 16}, True),
        ("Results", "batch", {"batch": 15}, False),
        ("Results", "measured_tokens_per_sec", {"measured_tokens_per_sec": 24, "ceiling_tokens_per_sec": 23.9}, True),
        (
            "Results",
            "measured_tokens_per_sec",
            {"measured_tokens_per_sec": 23.9, "ceiling_tokens_per_sec": 23.9},
            False,
        ),
        ("Results", "efficiency", {"efficiency": 1}, True),
        ("Results", "efficiency", {"efficiency": 0.99}, False),
    ],
)
def test_a_mark_is_on_beyond_its_limit_and_off_within(made, sheet, column, cells, on, tmp_path):  # noqa: PLR0917
    rules = openpyxl.load_workbook(made[Functions.EMBEDDED][0])[sheet].conditional_formatting
    letter = openpyxl.utils.get_column_letter(COLUMN_OF[column] + 1)
    formulas = [rule.formula[0] for area in rules if str(area.sqref).startswith(f"{letter}2") for rule in area.rules]
    path = tmp_path / "rule.xlsx"
    workbook = xlsxwriter.Workbook(path)
    page = workbook.add_worksheet()
    for name, value in cells.items():
        page.write(1, COLUMN_OF[name], value)
    for row, formula in enumerate(formulas):
        page.write_formula(row, 60, f"={formula}")
    workbook.close()
    model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
    model.evaluate()
    assert any(model.get_cell_value(0, row + 1, 61) is True for row in range(len(formulas))) == on


def test_marks_of_the_variant_and_speed_sheets_weigh_the_memory_of_the_row_or_column(made):
    workbook = openpyxl.load_workbook(made[Functions.EMBEDDED][0])
    precision = [rule.formula[0] for area in workbook["Precision"].conditional_formatting for rule in area.rules]
    assert "AND(ISNUMBER(L3),ISNUMBER($J3),L3>0.9*$J3*$K3)" in precision
    table = [rule.formula[0] for area in workbook["Speed table"].conditional_formatting for rule in area.rules]
    assert "AND(ISNUMBER(C$6),$B7>0.9*C$6)" in table
    sheet = values(made[Functions.EMBEDDED][0])["Speed table"]
    memory = {sheet.cell(4, c).value: sheet.cell(6, c).value for c in range(3, sheet.max_column + 1)}
    assert memory["2 x 3,350 GB/s"] == 171.042
    assert memory["H100 SXM"] == 80


def test_no_recalculation_is_forced_and_the_first_rule_decides(made):
    import zipfile

    with zipfile.ZipFile(made[Functions.ADDIN][0]) as package:
        workbook = package.read("xl/workbook.xml")
        assert b"fullCalcOnLoad" not in workbook
        # An older number would make Excel recalculate all the same.
        assert b'calcId="191029"' in workbook
        results = f"xl/worksheets/sheet{len(own_sheets()) + 1}.xml"
        assert package.read(results).count(b"stopIfTrue") == 6
