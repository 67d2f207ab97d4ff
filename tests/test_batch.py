"""Folders of workbooks from the command to the summary: the same as one by one, and nothing lost."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openpyxl
import pypdf
import pytest
from batchbooks import BAD, ENVIRONMENT, book, fill, results
from click.testing import CliRunner

from planner.batch.ledger import Status
from planner.batch.rows import SHOWN
from planner.batch.run import run_batch
from planner.batch.work import MOST_ISSUES, BatchOptions, Task, work
from planner.cli import main
from planner.cli_batch import _time
from planner.issues import PlannerError
from planner.job import Job, run
from planner.plan.study import Options
from planner.recompute import command_of
from planner.report.render import PdfUnavailableError, load_weasyprint
from planner.workbook.results_sheet import Functions

NO_PDF = BatchOptions(pdf=False)
MADE = dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)


@pytest.fixture
def plans(tmp_path):
    return fill(tmp_path / "plans", "a.xlsx", "b.xlsx", "team/c.xlsx")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def batch(plans, out, **options):
    return run_batch([plans], out, jobs=1, **{"asked": NO_PDF, **options})


def command(*args):
    return CliRunner().invoke(main, ["batch", *map(str, args)], catch_exceptions=False)


def rows(path, sheet):
    return [list(row) for row in openpyxl.load_workbook(path, data_only=True)[sheet].iter_rows(values_only=True)]


def test_results_and_report_are_those_of_a_single_run(tmp_path, out):
    try:
        load_weasyprint()
    except PdfUnavailableError:
        pytest.skip("WeasyPrint finds no Pango here; with it this would run")
    plans = fill(tmp_path / "plans", "team/plan.xlsx")
    source, single, pdf = tmp_path / "plan.xlsx", tmp_path / "plan.results.xlsx", tmp_path / "p.pdf"
    # The very same bytes: a second one made a moment later has another time in it.
    shutil.copy(plans / "team" / "plan.xlsx", source)
    few = Options(precisions=("FP16",), batches=(1, 8))
    found = batch(plans, out, asked=BatchOptions(made=MADE, options=few))
    again = command_of(Path("plan.xlsx"), Path("plan.report.pdf"), MADE, options=few, given={}, further=())
    run(Job(source=source, output=single, pdf=pdf, made=MADE, command=again, options=few))
    assert (out / "team" / "plan.results.xlsx").read_bytes() == single.read_bytes()
    assert (out / "team" / "plan.report.pdf").read_bytes() == pdf.read_bytes()
    assert found.exit_code() == 0
    assert [Path(path).name for path in found.written] == ["summary.xlsx", "summary.pdf"]
    text = " ".join("".join(page.extract_text() for page in pypdf.PdfReader(out / "summary.pdf").pages).split())
    for said in (
        "What two scenarios in one workbook can serve",
        "S02 (Batch 17) runs one stream at 20.34 tok/s",
        "S02 stands in team/plan.xlsx, Scenarios!A3.",
    ):
        assert said in text


@pytest.mark.parametrize("functions", list(Functions))
def test_options_hold_for_every_workbook(plans, out, functions, tmp_path):
    batch(plans / "a.xlsx", out, asked=BatchOptions(pdf=False, functions=functions))
    run(Job(source=plans / "a.xlsx", output=tmp_path / "a.results.xlsx", pdf=None, functions=functions))
    assert (out / "a.results.xlsx").read_bytes() == (tmp_path / "a.results.xlsx").read_bytes()


@pytest.mark.parametrize(("name", "data", "said"), BAD, ids=[name for name, _, _ in BAD])
def test_a_bad_workbook_says_why_and_stops_no_other(plans, out, name, data, said):
    (plans / name).write_bytes(data)
    found = batch(plans, out)
    bad = [done for done in found.workbooks if done.status is not Status.DONE]
    assert [(done.name, done.status, done.reason) for done in bad] == [(name, Status.REFUSED, f"{plans}/{said}")]
    assert found.count(Status.DONE) == 3
    assert found.exit_code() == 1
    assert len(results(out)) == 3


def test_bad_rows_are_left_out_and_the_others_run(plans, out):
    (plans / "b.xlsx").write_bytes(book(4, "many", -1))
    (plans / "none.xlsx").write_bytes(book(1, weights="heavy"))
    found = batch(plans, out)
    told = {done.name: (done.status, len(done.rows), done.skipped_rows, done.errors) for done in found.workbooks}
    assert told["b.xlsx"] == ("done", 1, 2, 2)
    assert told["none.xlsx"] == ("done", 0, 1, 1)
    assert found.exit_code() == 1
    issues = rows(out / "summary.xlsx", "Issues")
    assert issues[1][:4] == ["b.xlsx", "error", "Scenarios!E3", "Batch is 'many', not a number"]


def test_a_foreign_file_at_a_results_place_costs_its_workbook_alone(plans, out):
    fill(out, "a.results.xlsx")
    found = batch(plans, out)
    there = f"{out / 'a.results.xlsx'} is there already and is no work of planner's; --force writes over it."
    assert [done.reason for done in found.workbooks] == [f"{plans / 'a.xlsx'}: {there}", "", ""]
    assert batch(plans, out, asked=BatchOptions(pdf=False, force=True)).exit_code() == 0


@pytest.mark.parametrize("name", ["summary.xlsx", "summary.pdf"])
def test_a_foreign_summary_is_refused_before_the_work(plans, out, name):
    out.mkdir()
    (out / name).write_bytes(b"mine")
    with pytest.raises(PlannerError, match="is there already and is no work of planner's"):
        batch(plans, out)
    assert sorted(path.name for path in out.iterdir() if not path.name.startswith(".")) == [name]


def test_a_second_run_does_only_what_is_new_changed_or_lost(plans, out):
    batch(plans, out)
    first = results(out)
    again = batch(plans, out)
    assert [done.kept for done in again.workbooks] == [True, True, True]
    assert results(out) == first
    (plans / "a.xlsx").write_bytes(book(7))
    (out / "b.results.xlsx").unlink()
    (plans / "d.xlsx").write_bytes(book(2))
    changed = batch(plans, out)
    assert {done.name: done.kept for done in changed.workbooks} == {
        "a.xlsx": False, "b.xlsx": False, "d.xlsx": False, "team/c.xlsx": True,
    }  # fmt: skip
    assert results(out)["b.results.xlsx"] == first["b.results.xlsx"]
    other = batch(plans, out, asked=BatchOptions(pdf=False, report={"title": "Another"}))
    assert not any(done.kept for done in other.workbooks)


def test_what_failed_is_done_again(plans, out):
    (plans / "bad.xlsx").write_bytes(b"")
    assert batch(plans, out).exit_code() == 1
    (plans / "bad.xlsx").write_bytes(book(3))
    again = batch(plans, out)
    assert [done.name for done in again.workbooks if not done.kept] == ["bad.xlsx"]
    assert again.exit_code() == 0


def test_results_may_stand_beside_the_workbooks(plans):
    for _ in range(2):
        found = batch(plans, plans)
        assert [done.name for done in found.workbooks] == ["a.xlsx", "b.xlsx", "team/c.xlsx"]
    assert {said.why for said in found.passed} == {"results that planner wrote", "the summary of a batch"}


def test_any_executor_will_do(plans, out, tmp_path):
    batch(plans, out)
    with ThreadPoolExecutor(2) as pool:
        found = run_batch([plans], tmp_path / "other", asked=NO_PDF, executor=pool)
        # It is its owner's to shut down.
        assert pool.submit(int, 3).result() == 3
    assert found.exit_code() == 0
    assert results(tmp_path / "other") == results(out)


def test_the_summary_has_each_scenario_with_its_file_and_cell(plans, out):
    (plans / "bad.xlsx").write_bytes(b"")
    batch(plans, out)
    workbook = openpyxl.load_workbook(out / "summary.xlsx")
    assert workbook.sheetnames == ["Scenarios", "Workbooks", "Issues"]
    head, *body = rows(out / "summary.xlsx", "Scenarios")
    assert head == ["No", "Workbook", "Cell", "Scenario", *(shown.title for shown in SHOWN), "Flags"]
    assert [row[:4] for row in body] == [
        [1, "a.xlsx", "A2", "Batch 1"],
        [2, "a.xlsx", "A3", "Batch 17"],
        [3, "b.xlsx", "A2", "Batch 2"],
        [4, "b.xlsx", "A3", "Batch 18"],
        [5, "team/c.xlsx", "A2", "Batch 3"],
        [6, "team/c.xlsx", "A3", "Batch 19"],
    ]
    # 3,350 x 0.85 / 140 for each stream, times the batch.
    assert body[0][head.index("Per stream (tok/s)")] == pytest.approx(20.339286, abs=5e-7)
    assert body[1][head.index("Aggregate (tok/s)")] == pytest.approx(17 * 20.339286, abs=1e-5)
    links = [workbook["Scenarios"][cell].value for cell in ("B7", "C7")]
    assert links == [
        '=HYPERLINK("team/c.results.xlsx","team/c.xlsx")',
        '=HYPERLINK("team/c.results.xlsx#Scenarios!A3","A3")',
    ]
    told = {row[0]: row[1:] for row in rows(out / "summary.xlsx", "Workbooks")[1:]}
    assert told["a.xlsx"][:5] == ["done", 2, 0, 0, 0]
    assert told["bad.xlsx"][0] == "refused"
    assert told["bad.xlsx"][6].startswith(f"{plans / 'bad.xlsx'} is empty")


def test_a_name_that_no_link_can_hold_stands_plain(tmp_path, out):
    names = ("100%.xlsx", "a & 'b' \"c\".xlsx", "no #1.xlsx", f"{'long ' * 30}.xlsx", "=SUM(1).xlsx")
    found = batch(fill(tmp_path / "plans", *names), out)
    assert found.exit_code() == 0
    sheet = openpyxl.load_workbook(out / "summary.xlsx")["Workbooks"]
    shown = {row[0].value: row[0].data_type for row in sheet.iter_rows(min_row=2)}
    plain = {name for name, kind in shown.items() if kind == "s"}
    assert plain == {"100%.xlsx", "no #1.xlsx"}
    assert {row[0] for row in rows(out / "summary.xlsx", "Workbooks")[1:]} == set(names)
    assert '=HYPERLINK("=SUM(1).results.xlsx","=SUM(1).xlsx")' in shown


def test_the_summary_is_sound_to_excel(plans, out, validate):
    (plans / "bad.xlsx").write_bytes(b"")
    batch(plans, out)
    assert validate(out / "summary.xlsx") == []


def test_many_issues_of_one_workbook_are_cut_and_like_ones_told_together(out, tmp_path):
    (tmp_path / "many.xlsx").write_bytes(book(*[f"x{n}" for n in range(MOST_ISSUES + 20)], *[-1] * 8))
    (done,) = batch(tmp_path / "many.xlsx", out).workbooks
    assert len(done.issues) == MOST_ISSUES + 1
    assert done.issues[-1] == ("note", "", "21 more on the Checks sheet of its results", "")
    (tmp_path / "many.xlsx").write_bytes(book(*[-1] * 8))
    (done,) = batch(tmp_path / "many.xlsx", out).workbooks
    assert done.issues[0][1].endswith("Scenarios!E7 and 2 more")


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"version": "0.0.1"}, Status.REFUSED, "This worker has planner .* and the batch 0.0.1; install the same."),
        ({"token": "x"}, Status.REFUSED, "This worker does not see the folder .* of the batch; name a shared one"),
        ({"asked": BatchOptions(pdf=False, options=None)}, Status.FAILED, "a fault in planner .AttributeError: "),
    ],
)
def test_a_worker_says_what_keeps_it_from_working(plans, out, changes, status, said):
    asked = {
        "source": str(plans / "a.xlsx"), "name": "a.xlsx", "report": "a.report.pdf", "out": str(out),
        "asked": NO_PDF,
    }  # fmt: skip
    done = work(Task(**(asked | changes)))
    assert done.status is status
    assert re.search(said, done.reason)
    assert bool(done.trace) is (status is Status.FAILED)


def test_the_command_prints_what_came_of_it(plans, out):
    (plans / "bad.xlsx").write_bytes(b"")
    (plans / "~$a.xlsx").write_bytes(b"")
    done = command(plans, "-o", out, "--no-pdf", "-j", 1)
    assert done.exit_code == 1
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == f"passed over {plans}/~$a.xlsx: a lock file: a program has the workbook open, or crashed with it"
    assert lines[1].startswith(f"refused     {plans}/bad.xlsx is empty")
    assert lines[2].startswith("3 of 4 workbooks done, 1 refused; 6 scenarios; 0 warnings; ")
    assert lines[3:] == [f"Wrote {out}/summary.xlsx"]
    (plans / "bad.xlsx").unlink()
    assert (
        command(plans, "-o", out, "--no-pdf", "-j", 1)
        .stdout.splitlines()[1]
        .startswith("3 of 3 workbooks done, 3 of them before; 6 scenarios; 0 warnings; ")
    )


def test_json_is_a_line_for_each_workbook_and_one_for_all(plans, out):
    (plans / "bad.xlsx").write_bytes(b"")
    done = command(plans, "-o", out, "--no-pdf", "-j", 1, "--json")
    *lines, last = map(json.loads, done.stdout.splitlines())
    assert {line["workbook"]: line["status"] for line in lines} == {
        "a.xlsx": "done", "b.xlsx": "done", "bad.xlsx": "refused", "team/c.xlsx": "done",
    }  # fmt: skip
    assert lines[0]["written"] == ["a.results.xlsx"]
    assert last["summary"]["workbooks"] == {"done": 3, "refused": 1, "failed": 0, "passed over": 0}
    assert last["summary"]["exit_code"] == done.exit_code == 1
    assert last["summary"]["written"] == [f"{out}/summary.xlsx"]


def test_strict_counts_warnings(tmp_path, out):
    (tmp_path / "slow.xlsx").write_bytes(book(1, weights=1400))
    assert command(tmp_path / "slow.xlsx", "-o", out, "--no-pdf", "-j", 1).exit_code == 0
    assert command(tmp_path / "slow.xlsx", "-o", out, "--no-pdf", "-j", 1, "--strict").exit_code == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-o", "out"], "Name a folder, a glob or workbooks to run, or a list of them."),
        (["nope", "-o", "out"], "No workbook to run. No such file or folder: nope."),
        (["empty", "-o", "out"], "No workbook to run."),
        (["plans", "-o", "plans/a.xlsx"], "plans/a.xlsx is a file; name a folder for the results."),
        (["plans", "-o", "out", "--precisions", "fp99"], "--precisions: Precision is 'fp99', an unknown precision"),
        (["--from-file", "none.txt", "-o", "out"], "No such file: none.txt."),
        (["plans", "-o", "odd://out"], "odd://out cannot be reached: Protocol not known: odd"),
    ],
)
def test_what_cannot_run_is_one_line_and_exit_code_2(plans, monkeypatch, args, said):
    pytest.importorskip("fsspec", reason="pip install fsspec would run this")
    (plans.parent / "empty").mkdir()
    monkeypatch.chdir(plans.parent)
    done = command(*args)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"planner: {said}")
    assert done.stderr.count("\n") == 1


def test_help_shows_examples_and_exit_codes():
    text = command("--help").stdout
    for said in ("Examples:", "--dask tcp://host:8786", "Exit codes: 0 all done", "130 stopped before"):
        assert said in text


def test_a_terminal_sees_a_bar_and_a_pipe_none(plans, out):
    pty = pytest.importorskip("pty", reason="a terminal of this kind is a Unix thing")
    ours, theirs = pty.openpty()
    asked = [sys.executable, "-m", "planner", "batch", str(plans), "-o", str(out), "--no-pdf", "-j", "1", "--json"]
    done = subprocess.run(
        asked, stdout=subprocess.PIPE, stderr=theirs, env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "110"}, check=True
    )
    os.close(theirs)
    shown = b""
    # Reading ends with an error once nobody writes any more.
    try:
        while more := os.read(ours, 65536):
            shown += more
    except OSError:
        pass
    os.close(ours)
    assert b"3/3" in shown
    assert b"/s" in shown or b"/min" in shown
    assert b"left" in shown
    assert [json.loads(line).get("workbook") for line in done.stdout.splitlines()] == [
        "a.xlsx", "b.xlsx", "team/c.xlsx", None,
    ]  # fmt: skip


def test_spans_of_time_are_said_as_one_says_them():
    assert [_time(4.23), _time(59.97), _time(312), _time(7500)] == ["4.2 s", "60.0 s", "5 min 12 s", "2 h 5 min"]
