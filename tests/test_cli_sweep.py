"""Sweeps at the command line."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys

import click
import openpyxl
import pytest
from click.testing import CliRunner

from planner.cli import main
from planner.cli_sweep import sweep as command

SMALL = ("-d", "H100 SXM,H200 SXM", "-m", "llama-3.1-70b", "-p", "fp8", "-b", "1..64x8", "-c", "2000+500", "-n", "1,2")
MONEY = ("--price", "H100 SXM=2.50", "--price", "H200 SXM=3.10", "--utilisation", "40%", "--currency", "EUR")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(main, ["sweep", *map(str, args)], catch_exceptions=False)


def test_the_front_is_printed_and_the_files_are_named(run, tmp_path):
    done = run(*SMALL, *MONEY)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "Pareto front (model Llama-3.1-70B, precision FP8, prompt tokens 2,000, output tokens 500):"
    assert lines[1].split() == ["Stream", "EUR", "Device", "Prefill", "Response", "Aggregate"]
    assert lines[2].split()[:5] == ["Device", "Count", "Batch", "tok/s", "per"]
    # 2 x 3.10 x 1e6 / (75.359 x 3,600 x 0.4) = 57.13.
    assert lines[3].split()[:7] == ["H200", "SXM", "141GB", "2", "1", "75.36", "57.13"]
    assert lines[-1] == "Wrote sweep.xlsx (12 points)"
    assert (tmp_path / "sweep.xlsx").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["sweep.xlsx"]


def test_json_has_the_front_and_how_to_read_it(run):
    found = json.loads(run(*SMALL, *MONEY, "--json", "-o", "s.csv", "--no-chart").stdout)
    assert (found["speed"], found["against"]) == ("estimated_tokens_per_sec", "cost_per_m_tokens")
    assert (found["currency"], found["utilisation"], found["kept"]) == ("EUR", 0.4, 12)
    assert found["written"] == ["s.csv"]
    rates = [point["estimated_tokens_per_sec"] for point in found["front"]]
    costs = [point["cost_per_m_tokens"] for point in found["front"]]
    assert rates == sorted(rates, reverse=True)
    assert costs == sorted(costs, reverse=True)
    plain = json.loads(run(*SMALL, "--json", "-o", "s.csv", "--no-chart").stdout)
    assert (plain["currency"], plain["utilisation"], plain["against"]) == (None, None, "device_tokens_per_sec")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_drawing_goes_beside_what_holds_none(run, tmp_path, suffix):
    done = run(*SMALL, "-o", f"s.{suffix}")
    assert done.stdout.splitlines()[-2:] == [f"Wrote s.{suffix} (12 points)", "Wrote s.front.svg"]
    assert (tmp_path / "s.front.svg").read_text("utf-8").startswith("<svg")


def test_prices_of_a_list_and_of_the_command_line(run, tmp_path):
    (tmp_path / "prices.csv").write_text("Device,Price (USD/h)\nH100 SXM,2\nH200 SXM,9\n", "utf-8")
    done = run(*SMALL, "--prices", "prices.csv", "--price", "H200 SXM=3", "--utilisation", "0.4", "-o", "s.csv")
    assert done.exit_code == 0
    assert ", in USD." in done.stdout
    with (tmp_path / "s.csv").open(newline="") as file:
        prices = {row["device"]: row["device_cost_h"] for row in csv.DictReader(file)}
    assert prices == {"H100 SXM5 80GB": "2.0", "H200 SXM 141GB": "3.0"}
    refused = run(*SMALL, "--prices", "prices.csv", "--utilisation", "0.4", "--currency", "EUR")
    assert refused.exit_code == 2
    assert refused.stderr.strip() == "planner: --currency is EUR, but the prices of prices.csv are in USD."


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--price", "3"), "--price is '3'; expected DEVICE=MONEY."),
        (("--set", "batch"), "--set is 'batch'; expected FIELD=VALUE."),
        (("--chart", "a.svg", "--no-chart"), "--chart and --no-chart contradict each other; give one."),
        (("-o", "a.txt"), "a.txt ends in none of .xlsx, .parquet, .csv; name a file that does."),
        (("--chart", "a.png"), "a.png has another ending than .svg; name a .svg file."),
        (("--limit", "3"), "The sweep has 12 points (2 devices x 2 device counts x 3 batches), above the limit of 3; narrow a "
                           "list, or raise the limit."),
    ],
)  # fmt: skip
def test_what_is_refused(run, tmp_path, more, said):
    done = run(*SMALL, *more)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.strip() == f"planner: {said}"
    assert list(tmp_path.iterdir()) == []


def test_a_workbooks_bad_rows_are_said_and_its_good_rows_swept(run, tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Scenarios"
    for row in (
        ("Scenario", "Model", "Precision", "Device", "Devices", "Prompt (tokens)", "Output (tokens)"),
        ("=Good", "llama-3.1-8b", "FP8", "H100 SXM", 1, 2000, 500),
        ("Bad", "llama-3.1-8b", "FP8", "no such card", 1, 2000, 500),
    ):
        book.active.append(row)
    book.active["A2"].data_type = "s"
    book.save(tmp_path / "s.xlsx")
    done = run("s.xlsx", "-b", "1,8", "-o", "s.csv")
    assert done.exit_code == 1
    assert done.stderr.strip() == "1 row of s.xlsx left out; `planner check` says why."
    with (tmp_path / "s.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["'=Good", "'=Good"]
    before = (tmp_path / "s.xlsx").read_bytes()
    itself = run("s.xlsx", "-b", "1,8", "-o", "s.xlsx", "--force")
    assert itself.stderr.strip() == "planner: s.xlsx is what the sweep reads; name another file with --output."
    assert (tmp_path / "s.xlsx").read_bytes() == before
    for row in book.active.iter_rows(min_row=2):
        row[3].value = "no such card"
    book.save(tmp_path / "s.xlsx")
    none = run("s.xlsx", "-b", "1,8", "-o", "s.csv")
    assert none.exit_code == 2
    assert none.stderr.strip() == "planner: s.xlsx has no scenario that can be evaluated; `planner check` says why."


def test_the_figures_that_matter_are_never_cut_however_narrow_the_terminal(run, monkeypatch):
    asked = (
        "-d",
        "H100*,GB300*",
        "-m",
        "qwen3-32b,llama-3.1-70b",
        "-b",
        "1..64x4",
        "-c",
        "2000..4000x2+500",
        *MONEY[:2],
    )
    asked += (*MONEY[4:], "-o", "s.csv", "--no-chart")
    front = json.loads(run(*asked, "--json").stdout)["front"]
    assert len(front) > 4
    for width in ("50", "80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        out = run(*asked).stdout
        for point in front:
            assert f"{point['estimated_tokens_per_sec']:.2f}" in out, width
            assert f"{point['cost_per_m_tokens']:.2f}" in out, width


def test_a_front_that_is_empty_or_long_is_said(run):
    none = run("-d", "RTX 4090", "-m", "llama-3.1-405b", "-b", "1", "-c", "100+100", "-o", "s.csv", "--no-chart")
    assert none.stdout.splitlines()[:3] == [
        "No point is on a front.",
        "",
        "1 point, 0 deployable (do not fit in memory: 1).",
    ]
    many = run(
        "-d", "H100 SXM", "-m", "llama-3.1-8b", "-b", "1..50", "-c", "100+100", "-o", "s.csv", "--no-chart"
    ).stdout
    assert "... and 20 more." in many.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals; any other system runs this")
def test_a_terminal_sees_how_far_it_is_and_a_pipe_nothing(tmp_path):
    ours, theirs = os.openpty()
    typed = [sys.executable, "-m", "planner", "sweep", *SMALL, "-o", str(tmp_path / "s.csv"), "--no-chart"]
    subprocess.run(typed, stderr=theirs, stdout=subprocess.PIPE, check=True, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    seen = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "Evaluating" in seen
    assert "Writing s.csv" in seen
    piped = subprocess.run([*typed, "--force"], capture_output=True, check=True)
    assert piped.stderr == b""


def test_the_examples_of_the_help_run(run, sample, tmp_path):
    (tmp_path / "scenarios.xlsx").write_bytes(sample.read_bytes())
    text = command.epilog.replace("\\\n", " ")
    examples = [
        line.split("      a workbook's")[0] for line in text.splitlines() if line.strip().startswith("planner sweep")
    ]
    assert len(examples) == 4
    for example in examples:
        words = shlex.split(example)[2:]
        if "class:nv-dc-hbm" in words:
            # All models on all data-centre devices take seconds; one of each has the same lists.
            words[words.index("class:nv-dc-hbm")], words[words.index("all")] = "B200 SXM", "qwen3-8b"
        done = run(*words)
        assert done.exit_code == 0, done.stderr
        assert "on the front" in done.stdout


def test_every_option_has_its_help():
    assert [option.name for option in command.params if isinstance(option, click.Option) and not option.help] == []
