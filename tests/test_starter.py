"""The starter and the sample: what `planner new` writes, planner reads."""

from __future__ import annotations

import openpyxl
import pytest

from planner import catalog, read_scenarios
from planner.plan.scenario import COLUMNS, header_of
from planner.plan.study import make_study
from planner.workbook.starter import EXAMPLE, HEADER_ROW, SAMPLE, column_rows, write_starter


def test_the_sample_in_the_repository_is_what_the_generator_writes(sample, tmp_path):
    path = tmp_path / "scenarios.xlsx"
    write_starter(path, SAMPLE)
    assert path.read_bytes() == sample.read_bytes()


def test_the_sample_reads_back_as_its_scenarios(sample):
    table = read_scenarios(sample)
    for read, meant in zip(table.scenarios, SAMPLE, strict=True):
        for name, column in COLUMNS.items():
            expected = getattr(meant, name)
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
    assert flags["70B at INT8 on two A100 80GB, ceiling only"] == {"ceiling", "no-prefill"}


def test_the_starter_has_headers_notes_drop_downs_an_example_a_legend_and_an_explanation(tmp_path):
    path = tmp_path / "new.xlsx"
    write_starter(path)
    workbook = openpyxl.load_workbook(path)
    assert workbook.sheetnames == ["Scenarios", "Columns", "Precisions"]
    sheet = workbook["Scenarios"]
    heads = list(sheet[HEADER_ROW + 1])
    assert [cell.value for cell in heads] == [header_of(name) for name in COLUMNS]
    assert all(
        cell.comment and COLUMNS[name].help in cell.comment.text for cell, name in zip(heads, COLUMNS, strict=True)
    )
    lists = {str(rule.sqref).split(":")[0]: rule.formula1 for rule in sheet.data_validations.dataValidation}
    assert lists["D5"] == '"' + ",".join(p.name for p in catalog.precisions()) + '"'
    assert "Legend" in sheet["A3"].value
    assert sheet["A5"].value == EXAMPLE.name
    assert [row[0] for row in workbook["Columns"].iter_rows(min_row=2, max_row=1 + len(COLUMNS), values_only=True)] == [
        column.label for column in COLUMNS.values()
    ]
    assert len(column_rows()) == len(COLUMNS)
    assert not read_scenarios(path).issues


def test_excel_takes_the_starter(tmp_path, validate):
    path = tmp_path / "new.xlsx"
    write_starter(path, SAMPLE)
    assert validate(path) == []
