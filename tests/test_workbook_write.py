"""Writing is whole or not at all: the file at the path is the old one or the new one, never half of one."""

from __future__ import annotations

import os
import stat
import sys

import openpyxl
import pytest

from planner import PlannerError
from planner.files import replacing
from planner.workbook.layout import CellOut, Sheet
from planner.workbook.write import write_workbook


def sheet(cells=()):
    return Sheet(name="One", cells=cells)


def test_writes_and_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "out.xlsx"
    write_workbook(path, [sheet([CellOut(0, 0, "x")])])
    assert openpyxl.load_workbook(path)["One"]["A1"].value == "x"
    assert [file.name for file in tmp_path.iterdir()] == ["out.xlsx"]


def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.xlsx"
    path.write_bytes(b"old")

    def cells():
        yield CellOut(0, 0, "x")
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_workbook(path, [sheet(cells())])
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["out.xlsx"]


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(PlannerError, match="Cannot write into .*No such file or directory"):
        write_workbook(tmp_path / "none" / "out.xlsx", [sheet()])


def test_a_folder_in_the_way_is_one_line(tmp_path):
    (tmp_path / "out.xlsx").mkdir()
    with pytest.raises(PlannerError, match="Cannot write"):
        write_workbook(tmp_path / "out.xlsx", [sheet()])
    assert [file.name for file in tmp_path.iterdir()] == ["out.xlsx"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes; runs on Linux and macOS")
def test_the_mode_is_the_old_files_or_the_umasks(tmp_path):
    path = tmp_path / "out.xlsx"
    old = os.umask(0o027)
    try:
        write_workbook(path, [sheet()])
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    write_workbook(path, [sheet()])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege on Windows; runs elsewhere")
def test_a_link_is_written_through(tmp_path):
    target = tmp_path / "target.xlsx"
    target.write_bytes(b"old")
    link = tmp_path / "link.xlsx"
    link.symlink_to(target)
    write_workbook(link, [sheet()])
    assert link.is_symlink()
    assert target.read_bytes()[:2] == b"PK"


def test_replacing_gives_way_to_no_half_file(tmp_path):
    path = tmp_path / "out.bin"
    with replacing(path) as new:
        new.temporary.write_bytes(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
