"""The main job from workbook to files, good and bad."""

from __future__ import annotations

import datetime as dt

import ironcalc
import openpyxl
import pytest
import xlsxwriter

from planner import PlannerError, Scenario, evaluate, plan_workbook, study_of, write_results
from planner.job import ExitCode, Job, default_output, default_pdf, run
from planner.workbook.results_sheet import COLUMN_OF

HEADERS = [
    "Scenario", "Parameters (billions)", "Precision", "Weights (GB)", "Bandwidth per device (GB/s)", "Devices",
    "Aggregate bandwidth (GB/s)", "Efficiency", "Batch", "Prompt (tokens)", "Output (tokens)", "Prefill rate (tok/s)",
]  # fmt: skip
GOOD = ["Good", 70, "FP16", None, 3350, 1, None, 0.85, 8, 2000, 500, 9000]

# One bad cell of every kind: which column, what stands there, and the one message it must give.
BAD = [
    (5, True, "Devices is TRUE, a truth value; expected a whole number of at least 1."),
    (8, dt.datetime(2026, 5, 1), "Batch is a date or time (2026-05-01 00:00:00); expected a whole number of at least "
                                 "1."),
    (4, "#DIV/0!", "Bandwidth per device is #DIV/0!, an error of the workbook; expected a number above 0."),
    (8, "=4+4", "Batch is a formula without a stored value; expected a value; open the workbook in Excel and save it, "
                "or type the value."),
    (1, -70, "Parameters is -70 billions; expected a number above 0 (billions)."),
    (5, 0, "Devices is 0; expected a whole number of at least 1."),
    (8, 2.5, "Batch is 2.5; expected a whole number of at least 1."),
    (7, 1.2, "Efficiency is 1.2; expected a ratio above 0 to 1, or 10 to 100 for percent."),
    (7, 850, "Efficiency is 850; expected a ratio above 0 to 1, or 10 to 100 for percent."),
    (4, "3.350", "Bandwidth per device is '3.350', a point or comma that may group thousands or start decimals: it may "
                 "mean 3.35 or 3,350; expected one plain number (GB/s)."),
    (4, "3,350", "Bandwidth per device is '3,350', a point or comma that may group thousands or start decimals: it may "
                 "mean 3.35 or 3,350; expected one plain number (GB/s)."),
    (9, "128k", "Prompt is '128k', k as 1,000 or as 1,024: it may mean 128,000 or 131,072; expected one plain number "
                "(tokens)."),
    (10, "20-30", "Output is '20-30', a range: it may mean 20 or 30; expected one plain number (tokens)."),
    (2, "FP17", "Precision is 'FP17', an unknown precision (did you mean FP16 or FP8 or FP6?); expected a precision "
                "such as FP16, FP8, INT4, Q4_K_M, or bits per weight from 1 to 64."),
    (11, "fast", "Prefill rate is 'fast', not a number; expected a number above 0 (tok/s)."),
    (4, "80 GB", "Bandwidth per device is in GB, a unit of size; expected a number above 0 (GB/s)."),
    (6, 9999, "Aggregate bandwidth is 9,999 GB/s, but 3,350 GB/s x 1 device is 3,350.0; expected two figures that "
              "agree, or one of them blank."),
]  # fmt: skip


def book(tmp_path, rows, name="plan.xlsx"):
    workbook = openpyxl.Workbook()
    workbook.active.title = "Scenarios"
    for row in [HEADERS, *rows]:
        workbook.active.append(row)
    path = tmp_path / name
    workbook.save(path)
    return path


def job(path, **more):
    return Job(source=path, output=default_output(path), pdf=None, **more)


@pytest.fixture
def bad_book(tmp_path):
    rows = [list(GOOD)]
    for column, value, _ in BAD:
        row = list(GOOD)
        row[column] = value
        rows.append(row)
    return book(tmp_path, [*rows, GOOD])


def test_a_bad_cell_of_every_kind_gives_one_located_message_and_good_rows_run(bad_book):
    outcome = run(job(bad_book))
    errors = [issue for issue in outcome.study.issues if issue.severity == "error"]
    letters = "ABCDEFGHIJKL"
    assert [str(issue) for issue in errors] == [
        f"Scenarios!{letters[column]}{row}: {message}" for row, (column, _, message) in enumerate(BAD, 3)
    ]
    assert [case.origin.row for case in outcome.study.cases] == [2, 3 + len(BAD)]
    assert outcome.exit_code() is ExitCode.LEFT_OUT
    results = openpyxl.load_workbook(outcome.written[0], data_only=True)["Results"]
    assert [row[0] for row in results.iter_rows(min_row=2, values_only=True)] == ["Good", "Good"]


def test_the_workbook_itself_is_never_touched(bad_book):
    before = (bad_book.read_bytes(), bad_book.stat().st_mtime_ns)
    run(job(bad_book))
    assert (bad_book.read_bytes(), bad_book.stat().st_mtime_ns) == before
    same = Job(source=bad_book, output=bad_book, pdf=None)
    with pytest.raises(PlannerError, match="is the workbook itself"):
        run(same)
    with pytest.raises(PlannerError, match="is the workbook itself"):
        run(Job(source=bad_book, output=default_output(bad_book), pdf=bad_book))


def test_results_and_report_go_beside_the_workbook(sample, tmp_path):
    path = tmp_path / "scenarios.xlsx"
    path.write_bytes(sample.read_bytes())
    steps = []
    made = Job(source=path, output=default_output(path), pdf=default_pdf(path))
    outcome = run(made, steps.append)
    assert [file.name for file in outcome.written] == ["scenarios.results.xlsx", "scenarios.report.pdf"]
    assert all(file.stat().st_size > 10_000 for file in outcome.written)
    assert outcome.exit_code() is ExitCode.DONE
    assert outcome.exit_code(strict=True) is ExitCode.LEFT_OUT
    assert len(steps) == made.steps


def test_another_ending_is_refused(sample, tmp_path):
    with pytest.raises(PlannerError, match=r"Results are written as \.xlsx"):
        run(Job(source=sample, output=tmp_path / "out.csv", pdf=None))


def test_every_row_bad_still_lists_the_issues(tmp_path):
    path = book(tmp_path, [["A", "x", "FP16", None, 3350]])
    outcome = run(job(path))
    assert outcome.exit_code() is ExitCode.LEFT_OUT
    checks = openpyxl.load_workbook(outcome.written[0], data_only=True)["Checks"]
    assert checks["D2"].value == "Parameters is 'x', not a number"


def test_a_results_workbook_can_be_run_again(sample, tmp_path):
    first = tmp_path / "a.xlsx"
    run(Job(source=sample, output=first, pdf=None))
    again = run(Job(source=first, output=tmp_path / "b.xlsx", pdf=None))
    assert again.study.source.sheet == "Scenarios"
    assert len(again.study.cases) == 8


def test_a_scenario_sheet_named_like_ours_keeps_its_name(tmp_path):
    path = book(tmp_path, [GOOD])
    workbook = openpyxl.load_workbook(path)
    workbook["Scenarios"].title = "Results"
    workbook.save(path)
    outcome = run(job(path))
    names = openpyxl.load_workbook(outcome.written[0]).sheetnames
    assert names[:2] == ["Results", "Results (planner)"]


def test_formulas_in_the_scenario_sheet_stay_live_where_they_can(tmp_path, recalculated):
    path = tmp_path / "live.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet, other = workbook.add_worksheet("Scenarios"), workbook.add_worksheet("Inputs")
    other.write(0, 0, 0.85)
    sheet.write_row(0, 0, HEADERS)
    sheet.write_row(1, 0, GOOD)
    sheet.write_formula("B2", "=35*2", None, 70)
    sheet.write_formula("H2", "=Inputs!A1", None, 0.85)
    workbook.close()
    outcome = run(job(path))
    written = openpyxl.load_workbook(outcome.written[0])
    assert written["Scenarios"]["B2"].value == "=35*2"
    assert written["Scenarios"]["H2"].value == 0.85
    assert written["Checks"]["F2"].value == "copied-value"
    cells = recalculated(outcome.written[0])
    rate = next(
        own
        for (sheet, _), (formula, _, own) in cells.items()
        if formula.startswith("=TOKENS_PER_SEC") and sheet == "Results"
    )
    assert rate == pytest.approx(20.339286, abs=5e-7)


def test_the_api_plans_and_writes_without_a_workbook(sample, tmp_path):
    assert len(plan_workbook(sample).cases) == 8
    path = tmp_path / "api.xlsx"
    write_results(study_of([Scenario(name="A", params_b=70, precision="FP16", bandwidth_gb_s=3350)]), path)
    assert openpyxl.load_workbook(path, data_only=True)["Results"]["A2"].value == "A"


def test_a_name_of_the_workbooks_own_makes_the_sheets_plain_and_says_so(tmp_path):
    path = book(tmp_path, [GOOD])
    workbook = openpyxl.load_workbook(path)
    workbook.defined_names.add(openpyxl.workbook.defined_name.DefinedName("Tokens_per_sec", attr_text="Scenarios!$A$1"))
    workbook.save(path)
    outcome = run(job(path))
    written = openpyxl.load_workbook(outcome.written[0])
    assert written.defined_names == {}
    assert not [c for row in written["Results"].iter_rows() for c in row if "TOKENS_PER_SEC(" in str(c.value)]
    said = [row[3] for row in written["Checks"].iter_rows(min_row=2, values_only=True)]
    assert any(str(text).startswith("The workbook has TOKENS_PER_SEC as a name of its own") for text in said)


def test_names_that_planner_put_there_are_no_obstacle(sample, tmp_path):
    first = tmp_path / "a.xlsx"
    run(Job(source=sample, output=first, pdf=None))
    again = run(Job(source=first, output=tmp_path / "b.xlsx", pdf=None))
    assert "TOKENS_PER_SEC" in openpyxl.load_workbook(again.written[0]).defined_names


def test_a_blank_that_is_filled_in_later_counts_from_then_on(tmp_path):
    path = book(tmp_path, [["A", 70, "FP16", None, 3350, None, None, None, None, None, None, None]])
    outcome = run(job(path))
    edited = openpyxl.load_workbook(outcome.written[0])
    for cell, value in (("F2", 2), ("H2", 0.5), ("I2", 4), ("J2", 2000), ("K2", 500), ("L2", 9000)):
        edited["Scenarios"][cell] = value
    edited.save(tmp_path / "edited.xlsx")
    model = ironcalc.load_from_xlsx(str(tmp_path / "edited.xlsx"), "en", "UTC", "en")
    model.evaluate()
    expected = evaluate(
        Scenario(params_b=70, precision="FP16", device_bandwidth_gb_s=3350, devices=2, efficiency=0.5, batch=4,
                 prompt_tokens=2000, output_tokens=500, prefill_tokens_per_sec=9000)
    )  # fmt: skip
    for name in ("tokens_per_sec", "aggregate_tokens_per_sec", "response_time_s", "requests_per_hour"):
        own = model.get_cell_value(1, 2, COLUMN_OF[name] + 1)
        assert own == pytest.approx(getattr(expected, name)), name


def test_results_and_report_cannot_be_one_file(sample, tmp_path):
    both = tmp_path / "a.pdf"
    with pytest.raises(PlannerError, match=r"Results are written as \.xlsx"):
        run(Job(source=sample, output=both, pdf=both))
    with pytest.raises(PlannerError, match=r"The report is written as \.pdf"):
        run(Job(source=sample, output=tmp_path / "a.xlsx", pdf=tmp_path / "a.xlsx"))


def test_a_report_that_cannot_be_written_leaves_the_results(sample, tmp_path):
    outcome = run(Job(source=sample, output=tmp_path / "a.xlsx", pdf=tmp_path / "none" / "a.pdf"))
    assert outcome.written == (tmp_path / "a.xlsx",)
    assert "Cannot write" in outcome.no_pdf
    assert outcome.exit_code() is ExitCode.LEFT_OUT
