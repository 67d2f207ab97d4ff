"""The README's tables, its terminal output and its Python run as they stand."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli import main

sys.path.insert(0, str(Path(__file__).parent))
import readme

TEXT = readme.README.read_text("utf-8")


def test_tables_are_those_of_the_code():
    assert readme.filled(TEXT) == TEXT, "run `python tests/readme.py`"


def test_the_terminal_table_is_what_planner_prints(sample, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    out = CliRunner().invoke(main, ["run", str(sample), "--no-pdf", "-o", str(tmp_path / "o.xlsx")]).stdout
    block = re.search(r"\$ planner run workbooks/scenarios\.xlsx\n(.*?)\n\.\.\.", TEXT, re.DOTALL)[1]
    assert [line.rstrip() for line in out.splitlines()[: len(block.splitlines())]] == block.splitlines()


def test_the_sweep_is_what_planner_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed, block = re.search(r"\$ planner (sweep .*?--utilisation 40%)\n(.*?)\n\.\.\.", TEXT, re.DOTALL).groups()
    out = CliRunner().invoke(main, shlex.split(typed.replace("\\\n", " "))).stdout
    assert [line.rstrip() for line in out.splitlines()[: len(block.splitlines())]] == block.splitlines()


def test_the_batch_is_what_planner_prints(sample, tmp_path, monkeypatch):
    (tmp_path / "plans" / "berlin").mkdir(parents=True)
    for name in ("chat.xlsx", "berlin/search.xlsx"):
        shutil.copy(sample, tmp_path / "plans" / name)
    (tmp_path / "plans" / "notes.xlsx").write_text("Scenario,Weights\n")
    (tmp_path / "plans" / "~$chat.xlsx").touch()
    monkeypatch.chdir(tmp_path)
    out = CliRunner().invoke(main, ["batch", "plans/", "-o", "out/", "--no-pdf", "-j", "1"]).stdout
    block = re.search(r"\$ planner batch plans/ -o out/ --no-pdf\n(.*?)\n```", TEXT, re.DOTALL)[1]
    time = r"\d+\.\d s\.$"
    assert re.sub(time, "", out.strip(), flags=re.MULTILINE) == re.sub(time, "", block, flags=re.MULTILINE)


def test_the_python_runs(brief_sample, tmp_path, monkeypatch, capsys):
    pytest.importorskip("weasyprint", exc_type=ImportError)
    (tmp_path / "workbooks").mkdir()
    shutil.copy(brief_sample, tmp_path / "workbooks")
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "20.34"
    assert printed[2] == "2 []"
    assert (tmp_path / "results.xlsx").exists()
    assert (tmp_path / "report.pdf").exists()


def test_the_files_that_it_names_are_there():
    root = readme.README.parent
    for name in ("LICENSE", "CHANGELOG.md", "Makefile", "pyproject.toml", "workbooks/scenarios.xlsx"):
        assert (root / name).exists()
