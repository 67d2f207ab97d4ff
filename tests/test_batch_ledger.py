"""What a batch remembers: lines that survive being killed, keys that change with what matters, one run at a time."""

from __future__ import annotations

import dataclasses
import json
import os
import platform

import pytest

from planner.batch import places
from planner.batch.ledger import AT_WORK, LEDGER, Done, Ledger, Output, Status, at_work, done_of, is_held, key_of, tidy
from planner.batch.work import BatchOptions
from planner.files import TEMPORARY
from planner.issues import PlannerError
from planner.plan.study import Options
from planner.workbook.results_sheet import Functions

DONE = Done(
    name="team/ä.xlsx", source="plans/team/ä.xlsx", status=Status.DONE, key="k", sha256="s", sheet="Scenarios",
    outputs=(Output("team/ä.results.xlsx", "h"),), columns=("cell", "name", "batch", "fits"),
    rows=(("A2", "One", 8.0, True), ("A3", "Zwei\u2028", None, None)), issues=(("warning", "S!A2", "slow", ""),),
    warnings=1, best="One", seconds=1.5, tries=2,
)  # fmt: skip


def test_a_line_comes_back_as_it_was():
    assert done_of(DONE.as_line()) == DONE
    assert DONE.as_line().count(b"\n") == 1


@pytest.mark.parametrize("line", [b"", b"{}", b"[1]", b"null", DONE.as_line()[:-9], b'{"name": 1, "status": "odd"}'])
def test_half_a_line_or_one_of_another_make_says_nothing(line):
    assert done_of(line) is None


def test_the_last_line_of_a_workbook_counts_and_half_a_line_is_mended(tmp_path):
    newer = dataclasses.replace(DONE, seconds=9.0)
    (tmp_path / LEDGER).write_bytes(DONE.as_line() + newer.as_line() + DONE.as_line()[:50])
    ledger = Ledger(str(tmp_path))
    assert ledger.known == {DONE.name: newer}
    other = dataclasses.replace(DONE, name="other.xlsx")
    ledger.add(other)
    ledger.close()
    assert (tmp_path / LEDGER).read_bytes() == newer.as_line() + other.as_line()


def test_a_ledger_in_a_store_is_written_whole():
    pytest.importorskip("fsspec", reason="pip install fsspec would run this")
    out = "memory://ledger-test"
    ledger = Ledger(out)
    ledger.add(DONE)
    ledger.close()
    assert Ledger(out).known == {DONE.name: DONE}
    with at_work(out) as token:
        assert is_held(out, token)
        with pytest.raises(PlannerError, match=f"or died there; wait for it, or delete {out}/{AT_WORK} if it is over"):
            at_work(out).__enter__()
    assert not places.exists(f"{out}/{AT_WORK}")


SETTINGS = BatchOptions()


@pytest.mark.parametrize(
    "other",
    [
        BatchOptions(functions=Functions.PLAIN),
        BatchOptions(options=Options(precisions=("FP8",))),
        BatchOptions(options=Options(batches=(1, 2))),
        BatchOptions(options=Options(table_limit=5)),
        BatchOptions(sheet="Plan"),
        BatchOptions(report={"paper": "Letter"}),
        BatchOptions(report={"title": "Plans"}),
        BatchOptions(pdf=False),
        BatchOptions(recalculate=True),
    ],
    ids=lambda settings: next(
        f.name for f in dataclasses.fields(settings) if getattr(settings, f.name) != getattr(SETTINGS, f.name)
    ),
)
def test_every_option_that_changes_results_changes_the_key(other):
    assert key_of("s", other.dependencies()) != key_of("s", SETTINGS.dependencies())


def test_the_contents_and_the_version_change_the_key_and_nothing_else_does():
    key = key_of("s", SETTINGS.dependencies())
    assert key_of("t", SETTINGS.dependencies()) != key
    assert key_of("s", SETTINGS.dependencies() | {"planner": "0.0.1"}) != key
    assert key_of("s", BatchOptions(force=True).dependencies()) == key
    assert key_of("s", BatchOptions(report={"paper": "a4"}).dependencies()) == key


def test_what_is_done_holds_while_its_files_are_there_as_written(tmp_path):
    path = tmp_path / "a.results.xlsx"
    path.write_bytes(b"results")
    done = dataclasses.replace(DONE, outputs=(Output("a.results.xlsx", places.sha256_at(str(path))),))
    ledger = Ledger(str(tmp_path))
    assert ledger.holds(done, "k")
    assert not ledger.holds(done, "another key")
    assert not ledger.holds(dataclasses.replace(done, status=Status.FAILED), "k")
    assert not ledger.holds(dataclasses.replace(done, left_out=("No report.",)), "k")
    path.write_bytes(b"edited")
    assert not ledger.holds(done, "k")
    path.unlink()
    assert not ledger.holds(done, "k")
    ledger.close()


def test_one_run_at_a_time_and_the_other_learns_of_whom(tmp_path):
    out = str(tmp_path)
    with at_work(out) as token:
        assert is_held(out, token)
        assert not is_held(out, "another")
        said = (
            rf"Another batch \(process {os.getpid()} on {platform.node()}, since .*\) is at work on {out}; wait for it"
        )
        with pytest.raises(PlannerError, match=said):
            at_work(out).__enter__()
    assert not is_held(out, token)
    with at_work(out):
        pass


def test_what_a_dead_run_left_here_is_no_hindrance_and_one_of_another_host_is(tmp_path):
    sign = tmp_path / AT_WORK
    sign.write_text(json.dumps({"pid": 1, "host": platform.node(), "token": "old"}))
    with at_work(str(tmp_path)) as token:
        assert is_held(str(tmp_path), token)
    sign.write_text(json.dumps({"pid": 1, "host": "elsewhere", "since": "2026-01-01"}))
    with pytest.raises(
        PlannerError, match=r"process 1 on elsewhere, since 2026-01-01\) is at work on .*, or died there"
    ):
        at_work(str(tmp_path)).__enter__()


def test_only_temporary_files_of_our_own_targets_are_tidied(tmp_path):
    own, other = tmp_path / f".a.results.x1{TEMPORARY}", tmp_path / f".b.results.x2{TEMPORARY}"
    for path in (own, other, tmp_path / ".a.results.xlsx"):
        path.write_bytes(b"")
    tidy(str(tmp_path), ["a.results.xlsx"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.results.xlsx", other.name]
