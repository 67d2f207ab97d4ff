"""The starter and the sample: what `planner new` writes, planner reads."""

from __future__ import annotations

import openpyxl
import pytest

from planner import catalog, read_scenarios
from planner.columns import header
from planner.library_columns import DEVICE_COLUMNS, MODEL_COLUMNS
from planner.library_sheets import library_header
from planner.plan.scenario import COLUMNS, header_of
from planner.plan.study import make_study
from planner.workbook.read import read_workbook
from planner.workbook.starter import EXAMPLE, HEADER_ROW, SAMPLE, STARTER, column_rows, write_starter


def test_the_sample_in_the_repository_is_what_the_generator_writes(sample, tmp_path):
    path = tmp_path / "scenarios.xlsx"
    write_starter(path, SAMPLE)
    assert path.read_bytes() == sample.read_bytes()


def test_the_sample_reads_back_as_its_scenarios(sample):
    table = read_scenarios(sample)
    for read, meant in zip(table.scenarios, SAMPLE, strict=True):
        for name, column in COLUMNS.items():
            expected = getattr(meant, name)
            # What names and measurements fill is not the starter's business.
            if expected not in {None, ""} or name in {"efficiency", "batch"}:
                assert getattr(read, name) == (column.default if expected is None else expected), (meant.name, name)


def test_the_sample_shows_what_it_should(sample):
    study = make_study(read_scenarios(sample).entries)
    rates = {case.name: case.result.tokens_per_sec for case in study.cases}
    assert rates["Worked example, 70B at FP16"] == pytest.approx(20.339286, abs=5e-7)
    assert rates["Worked example at INT8"] == pytest.approx(40.678571, abs=5e-7)
    assert rates["70B at FP16 on two H100 SXM"] == pytest.approx(40.678571, abs=5e-7)
    flags = {case.name: {issue.code for issue in case.result.issues} for case in study.cases}
    assert "slow" in flags["70B at Q4_K_M on a desktop's DDR5"]
    assert "batch-large" in flags["8B at FP8 on one H100 SXM, batch 64"]
    assert flags["70B at INT8 on two A100 80GB, ceiling only"] == {"ceiling", "cost-bound", "no-prefill"}


def test_the_starter_has_headers_notes_drop_downs_an_example_a_legend_and_an_explanation(tmp_path):
    path = tmp_path / "new.xlsx"
    write_starter(path)
    workbook = openpyxl.load_workbook(path)
    assert workbook.sheetnames == ["Scenarios", "Devices", "Models", "Report", "Columns", "Precisions"]
    sheet = workbook["Scenarios"]
    heads = list(sheet[HEADER_ROW + 1])
    assert [cell.value for cell in heads] == [header_of(name) for name in STARTER]
    assert all(
        cell.comment and COLUMNS[name].help in cell.comment.text for cell, name in zip(heads, STARTER, strict=True)
    )
    lists = {str(rule.sqref).split(":")[0]: rule.formula1 for rule in sheet.data_validations.dataValidation}
    assert lists["F5"] == '"' + ",".join(p.name for p in catalog.precisions()) + '"'
    assert "Legend" in sheet["A3"].value
    assert sheet["A5"].value == EXAMPLE.name
    assert [row[0] for row in workbook["Columns"].iter_rows(min_row=2, max_row=1 + len(COLUMNS), values_only=True)] == [
        column.label for column in COLUMNS.values()
    ]
    assert len(column_rows()) == len(COLUMNS)
    assert not read_scenarios(path).issues


@pytest.mark.parametrize(("name", "columns"), [("Devices", DEVICE_COLUMNS), ("Models", MODEL_COLUMNS)])
def test_the_starter_has_empty_tables_for_rows_of_ones_own(tmp_path, name, columns):
    path = tmp_path / "new.xlsx"
    write_starter(path)
    sheet = openpyxl.load_workbook(path)[name]
    heads = list(sheet[HEADER_ROW + 1])
    assert {cell.value for cell in heads} == {header(key, column) for key, column in columns.items()}
    helps = {header(key, column): column.help for key, column in columns.items()}
    assert all(cell.comment and helps[cell.value] in cell.comment.text for cell in heads)
    assert "Example: " in heads[0].comment.text
    assert sheet.max_row == HEADER_ROW + 1
    grids = {grid.name: grid for grid in read_workbook(path).grids}
    assert library_header(grids[name]) is not None


def test_the_rows_that_the_notes_show_are_understood_when_typed_in(tmp_path):
    path = tmp_path / "new.xlsx"
    write_starter(path)
    workbook = openpyxl.load_workbook(path)
    for name in ("Devices", "Models"):
        sheet = workbook[name]
        for cell in sheet[HEADER_ROW + 1]:
            _, found, example = cell.comment.text.partition(" Example: ")
            if found:
                sheet.cell(HEADER_ROW + 2, cell.column, example.removesuffix("."))
    scenarios = workbook["Scenarios"]
    scenarios.delete_rows(HEADER_ROW + 2)
    for column, value in enumerate(("mine", "our 13B", "H100 tuned"), 1):
        scenarios.cell(HEADER_ROW + 2, column, value)
    workbook.save(path)
    table = read_scenarios(path)
    assert not table.issues
    (scenario,) = table.scenarios
    assert (scenario.device_bandwidth_gb_s, scenario.weights_gb, scenario.kv_heads) == (3200.0, 26.1, 8.0)


def test_excel_takes_the_starter(tmp_path, validate):
    path = tmp_path / "new.xlsx"
    write_starter(path, SAMPLE)
    assert validate(path) == []
