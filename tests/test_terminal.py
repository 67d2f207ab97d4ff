"""What a terminal shows: names of a readable length, notes that say the same as one, lines that any pipe can carry."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import click
import openpyxl
import pytest

from planner.issues import Issue, Severity
from planner.job import Outcome
from planner.plan.scenario import Scenario
from planner.plan.study import Origin, study_of
from planner.study_json import study_as_json
from planner.terminal import cut, print_end, print_issues, print_results


def test_a_name_is_cut_and_turns_no_line_round():
    assert cut("x" * 200) == "x" * 99 + "…"
    assert cut("a\u202eb\u200b") == "ab"


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


NAMED = Scenario(
    name="named",
    model="Llama-3.1-8B",
    device="H100 SXM",
    precision="FP8",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
)
PLAIN = Scenario(name="plain", params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85)


def printed(study, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    print_results(study)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [80, 90, 100, 120, 160])
def test_the_estimate_stands_beside_the_ceiling_at_every_width(capsys, monkeypatch, columns):
    study = study_of([NAMED, PLAIN])
    lines = printed(study, capsys, monkeypatch, columns)
    assert max(map(len, lines)) <= columns
    assert "Estimate" in lines[0]
    assert "Low-high" in lines[0]
    result = study.cases[0].result
    named = next(line for line in lines if line.startswith("named"))
    assert f"{result.tokens_per_sec:.2f}" in named
    assert f"{result.estimated_tokens_per_sec:.2f}" in named
    assert f"{result.low_tokens_per_sec:.0f}-{result.high_tokens_per_sec:.0f}" in named


def test_a_wide_terminal_leaves_no_column_out(capsys, monkeypatch):
    heads = printed(study_of([NAMED, PLAIN]), capsys, monkeypatch, 160)[0]
    assert heads.split() == [
        "Weights", "Stream", "Estimate", "Low-high", "Aggregate", "TTFT", "Response", "Requests",
    ]  # fmt: skip


def test_without_an_estimate_the_table_is_as_narrow_as_before(capsys, monkeypatch):
    heads = printed(study_of([PLAIN]), capsys, monkeypatch, 80)[0]
    assert heads.split() == ["Weights", "Stream", "Aggregate", "TTFT", "Response", "Requests"]


def test_the_end_says_the_estimate_with_its_range_and_what_ranked(capsys):
    print_end(Outcome(study_of([NAMED]), ()))
    assert "(estimate, " in capsys.readouterr().out
    print_end(Outcome(study_of([PLAIN]), ()))
    assert "One stream: 20.34 tok/s, an upper bound." in capsys.readouterr().out
    with_core = [dataclasses.replace(NAMED, prefill_tokens_per_sec=9000), PLAIN]
    print_end(Outcome(study_of(with_core), ()))
    assert "Ranked by the upper bounds, since not all scenarios have an estimate." in capsys.readouterr().out


def test_json_has_estimate_memory_sources_and_what_is_not_modelled():
    study = study_of([NAMED, PLAIN])
    named, plain = study_as_json(study, Outcome(study, ()))["results"]
    result = study.cases[0].result
    assert named["estimate"]["tokens_per_sec"] == result.estimated_tokens_per_sec
    assert named["estimate"]["low_tokens_per_sec"] == result.low_tokens_per_sec
    assert sum(named["estimate"]["step_ms"].values()) == pytest.approx(result.step_time_ms)
    assert named["memory"]["needed_gb"] == result.memory_needed_gb
    assert named["memory"]["fits"] is True
    assert named["sources"]["layers"] == "catalogue: Llama-3.1-8B"
    assert named["not_modelled"] == []
    assert plain["estimate"] is None
    assert plain["memory"]["fits"] is None
    assert plain["not_modelled"]


def many_issues(capsys, counts):
    """What the terminal prints of so many issues of each kind, their cells one below the other."""
    issues = [
        Issue(severity=severity, code=code, problem=f"{code} {number // alike}", sheet="S", cell=f"A{number}")
        for (severity, code, alike), count in counts.items()
        for number in range(1, count + 1)
    ]
    print_issues(dataclasses.replace(study_of([]), issues=tuple(issues)))
    return click.unstyle(capsys.readouterr().out).splitlines()


def test_very_many_issues_are_told_by_their_kinds(capsys):
    note, warning, error = Severity.NOTE, Severity.WARNING, Severity.ERROR
    lines = many_issues(capsys, {(note, "odd", 1000): 900, (warning, "slow", 1): 1500, (error, "value", 1): 25})
    assert len(lines) == 20 + 1 + 4 + 1 + 1 + 1 + 1
    assert lines[0].startswith("error   S!A1: value 1.")
    assert lines[20].strip() == "and 5 more errors of this kind (value)"
    assert lines[25].strip() == "and 1,496 more warnings of this kind (slow)"
    assert lines[26].endswith("(and at A2, A3, A4, A5, A6, A7, A8, A9 and 891 more cells)")
    assert lines[27] == "All of them: `planner check --json`, and the sheet Checks of a run."


def test_as_many_issues_as_are_read_are_all_printed_in_their_order(capsys):
    lines = many_issues(capsys, {(Severity.WARNING, "slow", 1): 40, (Severity.ERROR, "value", 1): 20})
    assert len(lines) == 61
    assert lines[0].startswith("warning S!A1")
    assert lines[59].startswith("error   S!A20")
