"""Which workbooks folders, globs, lists and paths come to, and what each is called below the results."""

from __future__ import annotations

import io
import os
import shutil
import sys
from pathlib import Path

import pytest
from batchbooks import book, fill

from planner.batch.ledger import LEDGER
from planner.batch.scan import read_list, scan
from planner.issues import PlannerError
from planner.job import Job, run


def names(scanned):
    return [found.name for found in scanned.found]


@pytest.fixture
def plans(tmp_path):
    return fill(tmp_path / "plans", "b.xlsx", "a.xlsx", "team/c.XLSM", "team/deep/d.xlsx")


def test_a_folder_is_read_with_its_sub_folders_which_the_names_keep(plans):
    scanned = scan([str(plans)], "out")
    assert names(scanned) == ["a.xlsx", "b.xlsx", "team/c.XLSM", "team/deep/d.xlsx"]
    assert [found.report for found in scanned.found][-1] == "team/deep/d.report.pdf"
    assert scanned.found[0].source == str(plans / "a.xlsx")
    assert not scanned.missing
    assert not scanned.passed


def test_what_is_no_workbook_is_not_looked_at_and_what_cannot_be_read_is(plans):
    for name in ("notes.txt", "table.csv", ".hidden.xlsx", ".git/e.xlsx", "old.xls", "open.ods", "b.xlsb"):
        (plans / name).parent.mkdir(exist_ok=True)
        (plans / name).write_bytes(b"x")
    assert {"old.xls", "open.ods", "b.xlsb"} < set(names(scan([str(plans)], "out")))
    assert len(scan([str(plans)], "out").found) == 7


def test_globs_lists_and_paths(plans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert names(scan(["plans/*.xlsx"], "out")) == ["a.xlsx", "b.xlsx"]
    assert names(scan(["plans/**/*.xlsx"], "out")) == ["a.xlsx", "b.xlsx", "team/deep/d.xlsx"]
    assert names(scan(["plans/te*"], "out")) == ["team/c.XLSM", "team/deep/d.xlsx"]
    (tmp_path / "list.txt").write_text("\ufeff# which\nplans/a.xlsx\n\n  plans/team/c.XLSM  \n", "utf-8")
    assert names(scan(["@list.txt"], "out")) == ["a.xlsx", "c.XLSM"]
    assert names(scan([f"file://{plans}/a.xlsx"], "out")) == ["a.xlsx"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("plans/b.xlsx\n"))
    assert read_list("-") == ["plans/b.xlsx"]


def test_a_bracket_in_a_name_is_no_glob_where_such_a_file_is(plans):
    shutil.copy(plans / "a.xlsx", plans / "a[1].xlsx")
    assert names(scan([str(plans / "a[1].xlsx")], "out")) == ["a[1].xlsx"]


def test_a_workbook_named_twice_runs_once(plans):
    (plans / "link.xlsx").symlink_to(plans / "a.xlsx")
    assert names(scan([str(plans / "a.xlsx"), str(plans), f"{plans}/*.xlsx"], "out"))[:2] == ["a.xlsx", "b.xlsx"]
    assert len(scan([str(plans), str(plans)], "out").found) == 4


def test_two_of_one_name_keep_the_folders_that_tell_them_apart(plans, tmp_path):
    fill(tmp_path / "other", "a.xlsx")
    assert names(scan([str(plans / "a.xlsx"), str(tmp_path / "other" / "a.xlsx")], "out")) == [
        "other/a.xlsx",
        "plans/a.xlsx",
    ]


def test_reports_of_one_stem_are_told_apart(tmp_path):
    fill(tmp_path, "plan.xlsx", "plan.xlsm")
    assert [found.report for found in scan([str(tmp_path)], "out").found] == ["plan.xlsm.report.pdf", "plan.report.pdf"]


def test_lock_files_backups_and_results_are_passed_over_with_the_reason(plans):
    run(Job(source=plans / "a.xlsx", output=plans / "a.results.xlsx", pdf=None))
    shutil.copy(plans / "a.xlsx", plans / "a.backup.xlsx")
    # A workbook that its owner named so is a workbook like any other.
    (plans / "own.results.xlsx").write_bytes(book(1))
    for name in ("~$a.xlsx", ".~lock.a.xlsx#"):
        (plans / name).write_bytes(b"x")
    scanned = scan([str(plans)], "out")
    assert names(scanned) == ["a.xlsx", "b.xlsx", "own.results.xlsx", "team/c.XLSM", "team/deep/d.xlsx"]
    assert {Path(said.source).name: said.why for said in scanned.passed} == {
        "a.results.xlsx": "results that planner wrote",
        "a.backup.xlsx": "a backup of the workbook beside it",
        "~$a.xlsx": "a lock file: a program has the workbook open, or crashed with it",
        ".~lock.a.xlsx#": "a lock file: a program has the workbook open, or crashed with it",
    }


def test_the_results_of_batches_within_are_not_entered(plans):
    fill(plans / "out", "a.results.xlsx")
    (plans / "out" / LEDGER).write_bytes(b"")
    fill(plans / "new", "e.xlsx")
    assert names(scan([str(plans)], str(plans / "new"))) == ["a.xlsx", "b.xlsx", "team/c.XLSM", "team/deep/d.xlsx"]


def test_what_is_not_there_is_said_and_the_rest_found(plans):
    scanned = scan([str(plans / "nope.xlsx"), str(plans / "q*.xlsx"), str(plans / "a.xlsx")], "out")
    assert [said.why for said in scanned.missing] == [
        f"No such file or folder: {plans / 'nope.xlsx'}.",
        f"Nothing matches {plans / 'q*.xlsx'}.",
    ]
    assert names(scanned) == ["a.xlsx"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder; any other user runs this")
def test_a_folder_that_may_not_be_read_is_said(plans):
    (plans / "team").chmod(0)
    try:
        scanned = scan([str(plans)], "out")
    finally:
        (plans / "team").chmod(0o755)
    assert [said.why for said in scanned.missing] == [f"{plans / 'team'} cannot be read: Permission denied."]


@pytest.mark.parametrize(
    ("data", "said"), [(None, "No such file: list.txt."), (b"\xff\xfe\0", "list.txt is no list of paths")]
)
def test_a_list_that_is_none_is_refused(tmp_path, monkeypatch, data, said):
    monkeypatch.chdir(tmp_path)
    if data is not None:
        Path("list.txt").write_bytes(data)
    with pytest.raises(PlannerError, match=said):
        scan(["@list.txt"], "out")
