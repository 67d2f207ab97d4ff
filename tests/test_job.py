"""The main job from workbook to files, good and bad."""

from __future__ import annotations

import datetime as dt
import re
import zipfile

import ironcalc
import openpyxl
import pytest
import xlsxwriter

from planner import PlannerError, Scenario, evaluate, plan_workbook, study_of, write_results
from planner.job import ExitCode, Job, default_output, default_pdf, run
from planner.plan.study import Options
from planner.workbook.merge import COPY_MARK
from planner.workbook.results_sheet import COLUMN_OF, Functions

HEADERS = [
    "Scenario", "Parameters (billions)", "Precision", "Weights (GB)", "Bandwidth per device (GB/s)", "Devices",
    "Aggregate bandwidth (GB/s)", "Efficiency", "Batch", "Prompt (tokens)", "Output (tokens)", "Prefill rate (tok/s)",
]  # fmt: skip
# Fewer variants are fewer pages, where any report will do.
FEW = Options(precisions=("FP16",), batches=(1, 8))
GOOD = ["Good", 70, "FP16", None, 3350, 1, None, 0.85, 8, 2000, 500, 9000]

# One bad cell of every kind: which column, what stands there, and the one message it must give.
BAD = [
    (5, True, "Devices is TRUE, a truth value; expected a whole number of at least 1."),
    (8, dt.datetime(2026, 5, 1), "Batch is a date or time (2026-05-01 00:00:00); expected a whole number of at least "
                                 "1."),
    (4, "#DIV/0!", "Bandwidth per device is #DIV/0!, an error of the workbook; expected a number above 0."),
    (8, "=4+4", "Batch is a formula without a stored value; expected a value; save the workbook in Excel, type the "
                "value, or use --recalculate."),
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
    (6, 9999, "Aggregate bandwidth is 9,999 GB/s, but 3,350 GB/s x 1 device is 3,350 GB/s; expected two figures that "
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
    with pytest.raises(PlannerError, match="is the workbook itself"):
        run(Job(source=bad_book, output=default_output(bad_book), pdf=bad_book))


def test_results_and_report_go_beside_the_workbook(brief_sample, tmp_path):
    path = tmp_path / "scenarios.xlsx"
    path.write_bytes(brief_sample.read_bytes())
    steps = []
    made = Job(source=path, output=default_output(path), pdf=default_pdf(path), options=FEW)
    outcome = run(made, steps.append)
    assert [file.name for file in outcome.written] == ["scenarios.results.xlsx", "scenarios.report.pdf"]
    assert all(file.stat().st_size > 10_000 for file in outcome.written)
    assert outcome.exit_code() is ExitCode.DONE
    assert outcome.exit_code(strict=True) is ExitCode.LEFT_OUT
    assert len(steps) == made.steps


def test_another_ending_is_refused(sample, tmp_path):
    with pytest.raises(PlannerError, match="has another ending than scenarios.xlsx"):
        run(Job(source=sample, output=tmp_path / "out.csv", pdf=None))


def test_every_row_bad_still_lists_the_issues(tmp_path):
    path = book(tmp_path, [["A", "x", "FP16", None, 3350]])
    outcome = run(job(path))
    assert outcome.exit_code() is ExitCode.LEFT_OUT
    checks = openpyxl.load_workbook(outcome.written[0], data_only=True)["Checks"]
    assert checks["D2"].value == "Parameters is 'x', not a number"


def test_a_results_workbook_can_be_run_again(brief_sample, tmp_path):
    first = tmp_path / "a.xlsx"
    run(Job(source=brief_sample, output=first, pdf=None))
    again = run(Job(source=first, output=tmp_path / "b.xlsx", pdf=None))
    assert again.study.source.sheet == "Scenarios"
    assert len(again.study.cases) == 2


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
    assert written["Scenarios"]["H2"].value == "=Inputs!A1"
    cells = recalculated(outcome.written[0])
    rate = next(
        own
        for (sheet, _), (formula, _, own) in cells.items()
        if formula.startswith("=TOKENS_PER_SEC") and sheet == "Results"
    )
    assert rate == pytest.approx(20.339286, abs=5e-7)


def test_the_api_plans_and_writes_without_a_workbook(sample, tmp_path):
    assert len(plan_workbook(sample).cases) == 9
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
    assert set(written.defined_names) == {"Tokens_per_sec", COPY_MARK}
    assert not [c for row in written["Results"].iter_rows() for c in row if "TOKENS_PER_SEC(" in str(c.value)]
    said = [row[3] for row in written["Checks"].iter_rows(min_row=2, values_only=True)]
    assert any(str(text).startswith("The workbook has TOKENS_PER_SEC as a name of its own") for text in said)


def test_names_that_planner_put_there_are_no_obstacle(brief_sample, tmp_path):
    first = tmp_path / "a.xlsx"
    run(Job(source=brief_sample, output=first, pdf=None))
    again = run(Job(source=first, output=tmp_path / "b.xlsx", pdf=None))
    assert "TOKENS_PER_SEC" in openpyxl.load_workbook(again.written[0]).defined_names


EDITS = [
    # What is typed into the scenario sheet after the run: cell, text, and the field with its value.
    ("B2", "8", "params_b", 8), ("C2", "INT8", "precision", "INT8"), ("E2", "1008", "device_bandwidth_gb_s", 1008),
    ("F2", "2", "devices", 2), ("H2", "0.5", "efficiency", 0.5), ("H2", "85", "efficiency", 85), ("I2", "4", "batch", 4),
    ("J2", "4000", "prompt_tokens", 4000), ("K2", "100", "output_tokens", 100),
    ("L2", "1000", "prefill_tokens_per_sec", 1000),
]  # fmt: skip
FIGURES_CHECKED = ("weights_gb", "tokens_per_sec", "aggregate_tokens_per_sec", "response_time_s", "requests_per_hour")
FULL = {"params_b": 70, "precision": "FP16", "device_bandwidth_gb_s": 3350, "devices": 1, "efficiency": 0.85, "batch": 8,
        "prompt_tokens": 2000, "output_tokens": 500, "prefill_tokens_per_sec": 9000}  # fmt: skip


@pytest.mark.parametrize("functions", ["embedded", "plain"])
@pytest.mark.parametrize("start", ["full", "blank"])
def test_an_edit_of_the_scenario_sheet_gives_what_a_new_run_would_give(tmp_path, functions, start):
    """A cell edited after the run, or filled in that was blank, one at a time and all together."""
    row = list(GOOD) if start == "full" else ["A", 70, "FP16", None, 3350, *[None] * 7]
    given = FULL if start == "full" else {"params_b": 70, "precision": "FP16", "device_bandwidth_gb_s": 3350}
    outcome = run(job(book(tmp_path, [row]), functions=Functions(functions)))
    for edits in [[edit] for edit in EDITS] + [EDITS]:
        model = ironcalc.load_from_xlsx(str(outcome.written[0]), "en", "UTC", "en")
        for cell, text, _, _ in edits:
            model.set_user_input(0, 2, ord(cell[0]) - 64, text)
        model.evaluate()
        expected = evaluate(Scenario(**given | {name: value for _, _, name, value in edits}))
        for name in FIGURES_CHECKED:
            own, wanted = model.get_cell_value(1, 2, COLUMN_OF[name] + 1), getattr(expected, name)
            assert own == (pytest.approx(wanted) if wanted is not None else ""), (edits, name)


@pytest.mark.parametrize("functions", ["embedded", "plain"])
@pytest.mark.parametrize(("cell", "text"), [("H2", "1.2"), ("H2", "0"), ("E2", "-5"), ("B2", "0")])
def test_a_bad_edit_gives_a_text_and_no_number(tmp_path, functions, cell, text):
    outcome = run(job(book(tmp_path, [GOOD]), functions=Functions(functions)))
    model = ironcalc.load_from_xlsx(str(outcome.written[0]), "en", "UTC", "en")
    model.set_user_input(0, 2, ord(cell[0]) - 64, text)
    model.evaluate()
    own = model.get_cell_value(1, 2, COLUMN_OF["tokens_per_sec"] + 1)
    assert isinstance(own, str)
    assert own.count("expected") <= 1


def test_numbers_in_another_unit_stay_live(tmp_path):
    path = book(tmp_path, [GOOD])
    workbook = openpyxl.load_workbook(path)
    workbook["Scenarios"]["E1"], workbook["Scenarios"]["E2"] = "Bandwidth per device (TB/s)", 3.35
    workbook["Scenarios"]["H2"] = 85
    workbook.save(path)
    outcome = run(job(path))
    sheet = openpyxl.load_workbook(outcome.written[0])["Results"]
    assert sheet.cell(2, COLUMN_OF["device_bandwidth_gb_s"] + 1).value == "=Scenarios!E2*1000.0"
    model = ironcalc.load_from_xlsx(str(outcome.written[0]), "en", "UTC", "en")
    model.set_user_input(0, 2, 5, "6.7")
    model.set_user_input(0, 2, 8, "0.5")
    model.evaluate()
    assert model.get_cell_value(1, 2, COLUMN_OF["tokens_per_sec"] + 1) == pytest.approx(6700 * 0.5 / 140)


def test_merged_inputs_are_live_in_every_row_that_they_cover(tmp_path, recalculated):
    path = book(tmp_path, [GOOD, ["B", None, None, *GOOD[3:]]])
    workbook = openpyxl.load_workbook(path)
    workbook["Scenarios"].merge_cells("B2:B3")
    workbook["Scenarios"].merge_cells("C2:C3")
    workbook.save(path)
    outcome = run(job(path))
    assert (
        openpyxl.load_workbook(outcome.written[0])["Results"].cell(3, COLUMN_OF["params_b"] + 1).value
        == "=Scenarios!B2"
    )
    for formula, stored, own in recalculated(outcome.written[0]).values():
        if isinstance(stored, int | float):
            assert own == pytest.approx(stored), formula


def as_excel_stores_empty_texts(path):
    """XlsxWriter leaves an empty value out; Excel types the cell as text."""
    with zipfile.ZipFile(path) as package:
        parts = [(entry, package.read(entry)) for entry in package.infolist()]
    with zipfile.ZipFile(path, "w") as package:
        for entry, data in parts:
            package.writestr(entry, re.sub(rb'(<c r="\w+")(><f>[^<]*</f><v></v>)', rb'\1 t="str"\2', data))


def test_template_rows_that_give_an_empty_text_are_blank(tmp_path):
    path = tmp_path / "template.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Scenarios")
    sheet.write_row(0, 0, HEADERS)
    sheet.write_row(1, 0, GOOD)
    sheet.write_formula("H2", '=IF(1=1,"",0.85)', None, "")
    sheet.write_formula("D2", "=TODAY()-TODAY()+140", None, 140)
    for column in range(12):
        sheet.write_formula(2, column, '=IF(A2="","","")', None, "")
    workbook.close()
    as_excel_stores_empty_texts(path)
    outcome = run(job(path))
    assert len(outcome.study.cases) == 1
    assert not outcome.study.skipped
    assert outcome.study.cases[0].result.scenario.efficiency == 1


def test_a_file_that_planner_did_not_make_is_not_written_over_unasked(brief_sample, tmp_path):
    other = tmp_path / "other.xlsx"
    openpyxl.Workbook().save(other)
    before = other.read_bytes()
    with pytest.raises(PlannerError, match="no work of planner's; --force"):
        run(Job(source=brief_sample, output=other, pdf=None))
    with pytest.raises(PlannerError, match="no work of planner's"):
        write_results(plan_workbook(brief_sample), other)
    mine = tmp_path / "mine.xlsx"
    run(Job(source=brief_sample, output=mine, pdf=None))
    worked_in = openpyxl.load_workbook(mine)
    worked_in.create_sheet("My notes")
    worked_in.save(mine)
    again = run(Job(source=brief_sample, output=mine, pdf=None))
    assert "My notes" in openpyxl.load_workbook(again.backup).sheetnames
    assert "My notes" not in openpyxl.load_workbook(mine).sheetnames
    assert run(Job(source=brief_sample, output=mine, pdf=None)).backup is None
    note = tmp_path / "note.pdf"
    note.write_text("a note")
    with pytest.raises(PlannerError, match="no work of planner's"):
        run(Job(source=brief_sample, output=tmp_path / "new.xlsx", pdf=note))
    assert other.read_bytes() == before
    run(Job(source=brief_sample, output=other, pdf=None, force=True))
    run(Job(source=brief_sample, output=other, pdf=None))
    write_results(plan_workbook(brief_sample), other, "plain")
    assert "TOKENS_PER_SEC(" not in str(
        [c.value for r in openpyxl.load_workbook(other)["Results"].iter_rows() for c in r]
    )


def test_results_and_report_cannot_be_one_file(brief_sample, tmp_path):
    both = tmp_path / "a.pdf"
    with pytest.raises(PlannerError, match="has another ending than"):
        run(Job(source=brief_sample, output=both, pdf=both))
    with pytest.raises(PlannerError, match="has another ending than .pdf"):
        run(Job(source=brief_sample, output=tmp_path / "a.xlsx", pdf=tmp_path / "a.xlsx"))


def test_a_report_that_cannot_be_written_leaves_the_results(brief_sample, tmp_path):
    lost = tmp_path / "none" / "a.pdf"
    outcome = run(Job(source=brief_sample, output=tmp_path / "a.xlsx", pdf=lost, options=FEW))
    assert outcome.written == (tmp_path / "a.xlsx",)
    assert "Cannot write" in outcome.no_pdf
    assert outcome.exit_code() is ExitCode.LEFT_OUT


def test_inputs_that_cannot_stay_live_are_listed(tmp_path):
    row = list(GOOD)
    row[1], row[4] = "70B", "3.35 TB/s"
    outcome = run(job(book(tmp_path, [row])))
    said = [issue for issue in outcome.study.issues if issue.code == "as-value"]
    assert [(issue.cell, issue.problem) for issue in said] == [
        ("B2", "Typed with a unit or as text, so the result sheets hold their values: B2, E2")
    ]
    assert not [issue for issue in run(job(book(tmp_path, [GOOD], "b.xlsx"))).study.issues if issue.code == "as-value"]
