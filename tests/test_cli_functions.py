"""The functions at the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from planner.cli import main
from planner.functions import EXCEL_FUNCTIONS


@pytest.fixture
def run():
    return lambda *args: CliRunner().invoke(main, ["functions", *[str(a) for a in args]], catch_exceptions=False)


def test_list_shows_every_function_with_a_worked_example(run):
    rows = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in rows] == [f.name for f in EXCEL_FUNCTIONS]
    assert all(isinstance(row["value"], float) for row in rows)
    assert (rows[0]["unit"], rows[0]["arguments"][0]["unit"]) == ("tok/s", "GB")
    assert rows[0]["example"] == "TOKENS_PER_SEC(140, 3350, 85%)"
    text = run("list").stdout
    assert "=TOKENS_PER_SEC(140, 3350, 85%)  gives  20.33929 tok/s" in text
    assert all(f.signature in text for f in EXCEL_FUNCTIONS)


@pytest.mark.parametrize(
    ("args", "out"),
    [
        (["TOKENS_PER_SEC", "140", "3350", "85%"], "20.3392857142857\n"),
        (["tokens_per_sec", "140", "3350"], "23.9285714285714\n"),
        (["TOKENS_PER_SEC", "140", "3350", ""], "23.9285714285714\n"),
        (["WEIGHTS_GB", "70", "q4_k_m"], "42.4375\n"),
        (["TOKENS_PER_SEC", "", "3350"], "\n"),
        # typed at a prompt as into a cell, three decimals are three decimals
        (["CEILING_TOKENS_PER_SEC", "140.125", "3350"], f"{3350 / 140.125:.15g}\n"),
    ],
)
def test_call(run, args, out):
    done = run("call", *args)
    assert done.exit_code == 0
    assert done.stdout == out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["TOKENS_PER_SEC", "-140", "3350"], "weights_gb is -140; expected a number above 0."),
        (
            ["TOKENS_PER_SEC", "140"],
            "1 argument given; expected TOKENS_PER_SEC(weights_gb, bandwidth_gb_s, [efficiency = 1]).",
        ),
        (["TOKENS_PER_SECOND", "140"], "No function named TOKENS_PER_SECOND; did you mean TOKENS_PER_SEC"),
        (["XYZ"], "No function named XYZ; `planner functions list` shows them all."),
    ],
)
def test_call_says_what_is_wrong(run, args, said):
    done = run("call", *args)
    assert done.exit_code == 2
    assert said in done.stderr


def test_embed(run, sample, tmp_path):
    path = tmp_path / "plan.xlsx"
    path.write_bytes(sample.read_bytes())
    done = run("embed", path)
    assert done.exit_code == 0
    assert f"{path}: {len(EXCEL_FUNCTIONS)} functions added, 0 brought up to date." in done.stdout
    assert f"Kept a backup: {path.with_name('plan.backup.xlsx')}" in done.stdout
    assert "0 functions added" in run("embed", path, "--no-backup").stdout
