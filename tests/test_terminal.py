"""What a terminal shows: names of a readable length, notes that say the same as one, lines that any pipe can carry."""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import sys

import openpyxl
import pytest

from planner.job import Outcome
from planner.plan.scenario import Scenario
from planner.plan.study import Origin, study_of
from planner.terminal import cut, print_end, print_issues, print_results, quoted


def test_a_name_is_cut_and_turns_no_line_round():
    assert cut("x" * 200) == "x" * 99 + "…"
    assert cut("a\u202eb\u200b") == "ab"


@pytest.mark.skipif(sys.platform == "win32", reason="quoting of a POSIX shell; runs on Linux and macOS")
def test_a_command_can_be_pasted_back():
    words = ["planner", "run", "my plan.xlsx", "it's"]
    assert shlex.split(quoted(words)) == words


def test_notes_that_say_the_same_stand_once_with_every_cell(capsys):
    study = study_of([Scenario(name=str(n), weights_gb=14, bandwidth_gb_s=1008, devices=1) for n in range(3)])
    located = [
        Origin(
            "Scenarios", row, {"efficiency": f"F{row}", "precision": f"C{row}", "prefill_tokens_per_sec": f"L{row}"}
        ).locate(issue)
        for row, case in enumerate(study.cases, 2)
        for issue in case.result.issues
    ]
    print_issues(dataclasses.replace(study, issues=tuple(located)))
    out = capsys.readouterr().out
    assert out.count("No efficiency is given") == 1
    assert "Scenarios!F2: No efficiency is given" in out
    assert "(and at F3, F4)" in out


def test_a_tie_and_an_unlike_comparison_are_said(capsys):
    same = {"params_b": 7, "precision": "INT4", "device_bandwidth_gb_s": 1008, "efficiency": 0.5}
    study = study_of(
        [Scenario(name="a", **same), Scenario(name="b", **same), Scenario(name="c", **same | {"params_b": 8})]
    )
    print_results(study)
    print_end(Outcome(study, ()))
    out = capsys.readouterr().out
    assert "equal with 1 more" in out
    assert "compares unlike tasks" in out


def test_a_name_that_a_pipe_cannot_carry_costs_nothing(tmp_path):
    workbook = openpyxl.Workbook()
    workbook.active.append(["Scenario", "Weights (GB)", "Aggregate bandwidth"])
    workbook.active.append(["推論 ≥ INT8", 70, 3350])
    workbook.save(tmp_path / "jp.xlsx")
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "planner", "run", "jp.xlsx", "--no-pdf", *more],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert done.returncode == 0, done.stderr
