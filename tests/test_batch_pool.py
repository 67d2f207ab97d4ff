"""Workers that are killed, hang or ask too much, and a run that is told to stop: each costs a retry and no workbook."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from batchbooks import ENVIRONMENT, Waiting, book, fill, results

from planner.batch import pool
from planner.batch.ledger import AT_WORK, Status
from planner.batch.pool import Lanes
from planner.batch.run import run_batch
from planner.batch.work import BatchOptions
from planner.issues import PlannerError

pytestmark = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="a workbook that waits is a named pipe; Unix has them"
)
NO_PDF = BatchOptions(pdf=False)
SPAWN = multiprocessing.get_context("spawn")
WAITS = "m.xlsx"


@pytest.fixture
def plans(tmp_path):
    return fill(tmp_path / "plans", "a.xlsx", "z.xlsx")


@pytest.fixture
def whole(tmp_path):
    """What a run in one go makes of the same workbooks, with the one that waits in its final state."""

    def made(plans):
        run_batch([plans], tmp_path / "whole", asked=NO_PDF, jobs=1)
        return results(tmp_path / "whole")

    return made


def while_it_waits(waiting, act):
    """Do something once a worker waits for the workbook, in a thread beside the run."""

    def watch():
        waiting.wait_for_a_reader()
        act()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def kill_the_reader(waiting, data, number=signal.SIGKILL):
    """End the worker that waits for the workbook, which is a plain one when it is tried again."""
    pids = [child.pid for child in multiprocessing.active_children()]
    worker = waiting.reader(pids)
    if data:
        waiting.become(data)
    os.kill(worker, number)
    if number == signal.SIGKILL:
        waiting.let_go()


def told(batch):
    return {done.name: (done.status, done.tries) for done in batch.workbooks}


def test_a_killed_worker_costs_a_retry_and_no_neighbour(plans, tmp_path, whole):
    waiting = Waiting(plans / WAITS)
    thread = while_it_waits(waiting, lambda: kill_the_reader(waiting, book(5)))
    found = run_batch([plans], tmp_path / "out", asked=NO_PDF, jobs=2)
    thread.join()
    assert told(found) == {"a.xlsx": ("done", 1), WAITS: ("done", 2), "z.xlsx": ("done", 1)}
    assert found.exit_code() == 0
    assert results(tmp_path / "out") == whole(plans)
    assert multiprocessing.active_children() == []


def test_what_kills_every_worker_is_given_up_with_the_reason(plans, tmp_path):
    waiting = Waiting(plans / WAITS)
    thread = while_it_waits(waiting, lambda: kill_the_reader(waiting, b""))
    found = run_batch([plans], tmp_path / "out", asked=NO_PDF, jobs=2, retries=0)
    thread.join()
    (lost,) = [done for done in found.workbooks if done.status is not Status.DONE]
    assert lost.reason == f"{plans / WAITS} lost its worker once (killed, perhaps for want of memory)."
    assert found.exit_code() == 1
    assert len(results(tmp_path / "out")) == 2


def test_an_executor_that_breaks_is_replaced_and_all_is_done(plans, tmp_path, whole):
    waiting = Waiting(plans / WAITS)
    thread = while_it_waits(waiting, lambda: kill_the_reader(waiting, book(5)))
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        found = run_batch([plans], tmp_path / "out", asked=NO_PDF, executor=executor, jobs=2)
    thread.join()
    assert {status for status, _ in told(found).values()} == {"done"}
    assert results(tmp_path / "out") == whole(plans)


def test_an_executor_that_was_shut_down_is_said(plans, tmp_path):
    executor = ProcessPoolExecutor(1, mp_context=SPAWN)
    executor.shutdown()
    with pytest.raises(PlannerError, match="The workers take no more work .* run again to go on with the rest"):
        run_batch([plans], tmp_path / "out", asked=NO_PDF, executor=executor)


def test_a_workbook_has_its_time_and_no_more(plans, tmp_path):
    # The others first, which on a busy machine would not keep so short a time.
    run_batch([plans], tmp_path / "out", asked=NO_PDF, jobs=1)
    waiting = Waiting(plans / WAITS)
    for jobs in (1, 2):
        found = run_batch([plans], tmp_path / "out", asked=NO_PDF, jobs=jobs, timeout_s=0.5)
        assert told(found) == {"a.xlsx": ("done", 1), WAITS: ("failed", 1), "z.xlsx": ("done", 1)}
        (late,) = [done for done in found.workbooks if done.reason]
        assert late.reason == f"{plans / WAITS} took more than 0.5 s; --timeout gives it longer."
    waiting.become(book(5))
    assert run_batch([plans], tmp_path / "out", asked=NO_PDF, jobs=1).exit_code() == 0


def test_a_worker_that_hangs_is_ended_from_outside(plans, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "GRACE_S", 0.2)
    waiting = Waiting(plans / WAITS)
    # One that is stopped hears no alarm.
    thread = while_it_waits(waiting, lambda: kill_the_reader(waiting, b"", signal.SIGSTOP))
    found = run_batch([plans / WAITS], tmp_path / "out", asked=NO_PDF, jobs=2, timeout_s=4)
    thread.join()
    waiting.let_go()
    assert [done.reason for done in found.workbooks] == [
        f"{plans / WAITS} took more than 4 s; --timeout gives it longer."
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux bounds a process's data")
def test_a_workbook_has_its_memory_and_no_more(plans, tmp_path):
    (plans / "large.xlsx").write_bytes(book(1))
    with zipfile.ZipFile(plans / "large.xlsx", "a") as package:
        package.writestr("customXml/item9.xml", b"\0" * 300_000_000, zipfile.ZIP_STORED)
    found = run_batch([plans], tmp_path / "out", asked=NO_PDF, jobs=2, memory_gb=0.3)
    assert told(found) == {"a.xlsx": ("done", 1), "large.xlsx": ("failed", 1), "z.xlsx": ("done", 1)}
    (large,) = [done for done in found.workbooks if done.reason]
    assert large.reason == f"{plans / 'large.xlsx'} needs more memory than a worker may take; --memory gives it more."


def test_lanes_are_an_executor():
    with Lanes(1) as lanes:
        assert list(lanes.map(abs, [-1, -2])) == [1, 2]


class Night:
    """A batch in a process of its own, which holds at the workbook that waits."""

    def __init__(self, plans, out, *more):
        self.waiting = Waiting(plans / WAITS)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planner", "batch", str(plans), "-o", str(out), "--no-pdf", "--jobs", "2", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        self.waiting.wait_for_a_reader()

    def interrupt(self):
        """As a terminal does on Ctrl-C: to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self):
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def test_ctrl_c_finishes_what_is_at_hand_and_a_second_run_goes_on(tmp_path, whole):
    plans, out = fill(tmp_path / "plans", "a.xlsx", "x.xlsx", "y.xlsx", "z.xlsx"), tmp_path / "out"
    other = Waiting(plans / "n.xlsx")
    night = Night(plans, out)
    other.wait_for_a_reader()
    with pytest.raises(PlannerError, match=rf"Another batch \(process {night.process.pid} on .*\) is at work on {out}"):
        run_batch([plans], out, asked=NO_PDF, jobs=1)
    night.interrupt()
    time.sleep(0.3)
    for waiting in (night.waiting, other):
        waiting.become(book(5))
        waiting.let_go(book(5))
    code, said, err = night.end()
    assert code == 130
    # Nothing but the one line: no traceback of any worker's.
    assert err == f"Stopped; 3 workbooks to go. To go on: planner batch {plans} -o {out} --no-pdf --jobs 2\n"
    assert said.startswith("3 of 6 workbooks done; ")
    assert not (out / "summary.xlsx").exists()
    assert not (out / AT_WORK).exists()
    assert list(results(out)) == ["a.results.xlsx", "m.results.xlsx", "n.results.xlsx"]
    again = run_batch([plans], out, asked=NO_PDF, jobs=1)
    assert [one.kept for one in again.workbooks] == [True] * 3 + [False] * 3
    assert again.exit_code() == 0
    assert results(out) == whole(plans)


@pytest.mark.parametrize(("jobs", "times"), [("2", 2), ("1", 1)])
def test_ctrl_c_twice_abandons_what_is_at_hand_and_in_this_process_once(plans, tmp_path, jobs, times):
    night = Night(plans, tmp_path / "out", "--jobs", jobs)
    night.interrupt()
    # A signal that comes while another waits to be taken is lost, so it is sent until it is heeded.
    for _ in range(100):
        with contextlib.suppress(subprocess.TimeoutExpired):
            night.process.wait(0.3 if times > 1 else 15)
            break
        night.interrupt()
    code, said, err = night.end()
    assert code == 130
    assert "of 3 workbooks done" in said
    assert err.startswith("Stopped; ")
    assert err.count("\n") == 1
    assert WAITS.replace(".", ".results.") not in results(tmp_path / "out")
    night.waiting.let_go()


def test_a_run_that_is_killed_leaves_no_worker_and_nothing_that_hinders(plans, tmp_path, whole):
    out = tmp_path / "out"
    night = Night(plans, out)
    worker = night.waiting.reader(_children(night.process.pid))
    night.process.kill()
    night.end()
    deadline = time.monotonic() + 30
    while _is_running(worker):
        assert time.monotonic() < deadline, "the worker lives on"
        time.sleep(0.02)
    night.waiting.become(book(5))
    night.waiting.let_go()
    again = run_batch([plans], out, asked=NO_PDF, jobs=1)
    assert again.exit_code() == 0
    assert results(out) == whole(plans)


def _children(pid):
    tasks = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    return [int(line) for line in tasks.stdout.split()]


def _is_running(pid):
    try:
        # A process that nobody waits for may stay in the table for a while.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
