"""A write is whole or not at all, whatever stops it; what keeps a file from being written is one line."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import openpyxl
import pytest
import richbook

from planner.files import replacing

pytestmark = pytest.mark.filterwarnings("ignore:.*not supported and will be removed:UserWarning")

KILLS = 100
# For each line that it is sent, a new process that writes the file over and over, as a run does at its end: a large
# temporary file, then one step to its place. It says the process's number, and after its death what it died of.
WRITER = """
import os, signal, sys
from pathlib import Path
from planner.files import replacing
target, old, new = map(Path, sys.argv[1:])
pair = [old.read_bytes(), new.read_bytes()]
for _ in sys.stdin:
    child = os.fork()
    if child:
        print(-os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    # An end of its own, should nobody kill it.
    signal.alarm(60)
    print(os.getpid(), flush=True)
    turn = 0
    while True:
        with replacing(target) as write:
            write.temporary.write_bytes(pair[turn % 2])
        turn += 1
"""


@pytest.fixture
def book(tmp_path):
    return richbook.rich_workbook(tmp_path / "book.xlsx")


def planner(*words, limit=None, folder=None):
    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    return subprocess.run(
        [sys.executable, "-m", "planner", *map(str, words)], capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=limited if limit is not None else None, cwd=folder,
    )  # fmt: skip


def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path):
    old, new, target = (tmp_path / name for name in ("old.bin", "new.bin", "target.xlsx"))
    old.write_bytes(os.urandom(3_000_000))
    new.write_bytes(os.urandom(3_000_000))
    shutil.copy(old, target)
    whole = {old.read_bytes(), new.read_bytes()}
    dice = random.Random(4)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, target, old, new], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        for _ in range(KILLS):
            print("write", file=writer.stdin, flush=True)
            child = int(writer.stdout.readline())
            time.sleep(dice.uniform(0, 0.04))
            os.kill(child, signal.SIGKILL)
            assert int(writer.stdout.readline()) == signal.SIGKILL
            assert target.read_bytes() in whole


def test_a_killed_run_leaves_the_workbook_as_it_was_or_with_its_results(book):
    before = book.read_bytes()
    intact = 0
    for delay in (0.1, 0.3, 0.5, 0.6, 0.7, 0.8):
        book.write_bytes(before)
        run = subprocess.Popen(
            [sys.executable, "-m", "planner", "run", book, "--in-place", "--no-pdf", "--no-backup"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(delay)
        run.kill()
        run.wait()
        names = openpyxl.load_workbook(book).sheetnames
        intact += names[:4] == ["Scenarios", "Data & more", "A chart alone", "Lists"]
    assert intact == 6


def test_what_a_killed_run_left_behind_goes_after_a_day(tmp_path):
    target, left, fresh = tmp_path / "a.xlsx", tmp_path / ".a.abc.planner-tmp", tmp_path / ".a.new.planner-tmp"
    left.write_bytes(b"half")
    fresh.write_bytes(b"half")
    os.utime(left, (0, 0))
    with replacing(target) as new:
        new.temporary.write_bytes(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.new.planner-tmp", "a.xlsx"]


def test_a_full_disk_is_one_line_and_the_workbook_stays(book):
    """A limit on the size of files stands in for a full disk: the write fails in its middle all the same."""
    before = book.read_bytes()
    done = planner("run", book, "--in-place", "--no-pdf", limit=20_000)
    assert done.returncode == 2
    assert done.stderr.startswith("planner: Cannot write")
    assert done.stderr.count("\n") == 1
    assert book.read_bytes() == before
    assert not list(book.parent.glob(".*"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a small disk; runs as root")
def test_a_really_full_disk(book, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here; a machine that lets root mount would run this")
    try:
        there = Path(shutil.copy(book, disk / "book.xlsx"))
        done = planner("run", there, "--in-place", "--no-pdf")
        assert done.returncode == 2
        assert "No space left on device" in done.stderr
        assert done.stderr.count("\n") == 1
        assert there.read_bytes() == book.read_bytes()
        assert [path.name for path in disk.iterdir()] == ["book.xlsx"]
    finally:
        subprocess.run(["umount", disk], check=False)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere; runs as a user")
def test_a_folder_that_may_not_be_written_is_one_line(book):
    book.parent.chmod(0o500)
    try:
        done = planner("run", book, "--in-place", "--no-pdf")
    finally:
        book.parent.chmod(0o700)
    assert done.returncode == 2
    assert done.stderr.startswith("planner: Cannot write")


def test_the_same_mode_and_a_new_time(book):
    book.chmod(0o640)
    os.utime(book, (1_000_000_000, 1_000_000_000))
    assert planner("run", book, "--in-place", "--no-pdf").returncode == 0
    assert book.stat().st_mode & 0o777 == 0o640
    assert book.stat().st_mtime > 1_700_000_000
    kept = book.with_name("book.backup.xlsx")
    assert kept.stat().st_mtime == 1_000_000_000


def test_the_command_line_says_what_it_wrote_and_kept(book):
    done = planner("run", book.name, "--in-place", "--no-pdf", folder=book.parent)
    assert done.stdout.splitlines()[-2:] == ["Wrote book.xlsx", "Kept the workbook as it was in book.backup.xlsx"]
    refused = planner("run", book, "-o", book)
    assert refused.returncode == 2
    assert "is the workbook itself; --in-place writes into it" in refused.stderr
    refused = planner("run", book, "-o", "x.xlsx", "--in-place")
    assert "contradict each other" in refused.stderr
    book.with_name(".~lock.book.xlsx#").write_text("x")
    done = planner("run", book, "--in-place", "--no-pdf", "--batches", "1")
    assert done.returncode == 1
    assert "Elsewhere: book.xlsx is open in another program" in done.stderr


@pytest.mark.libreoffice
@pytest.mark.usefixtures("soffice")
def test_formulas_without_stored_values_are_worked_out_where_asked(tmp_path):
    path = tmp_path / "unstored.xlsx"
    workbook = openpyxl.Workbook()
    workbook.active.title = "Scenarios"
    for row in [richbook.HEADERS, ["A", "=35*2", "FP16", "=67*50", 1, "=Other!A1", "=2+6", 2000, 500, 9000]]:
        workbook.active.append(row)
    workbook.create_sheet("Other")["A1"] = 0.85
    workbook.save(path)
    plain = planner("run", path, "--no-pdf")
    assert plain.returncode == 1
    for cell in ("B2", "D2", "F2", "G2"):
        assert f"Scenarios!{cell}: " in plain.stdout
    assert "--recalculate" in plain.stdout
    done = planner("run", path, "--in-place", "--no-pdf", "--recalculate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20.34" in done.stdout
    # The workbook's own cells stay as they are.
    assert openpyxl.load_workbook(path)["Scenarios"]["B2"].value == "=35*2"
    assert openpyxl.load_workbook(path, data_only=True)["Scenarios"]["B2"].value is None


def test_recalculation_without_libreoffice_says_so(book, monkeypatch):
    from planner import PlannerError
    from planner.job import Job, run

    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PlannerError, match="--recalculate needs LibreOffice"):
        run(Job(source=book, output=book, pdf=None, recalculate=True))
