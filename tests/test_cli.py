"""The command line as a person and as a script meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import openpyxl
import pytest
from click.testing import CliRunner

from planner import __version__
from planner.cli import main


@pytest.fixture
def run():
    def invoke(*args):
        return CliRunner().invoke(main, [str(arg) for arg in args], catch_exceptions=False)

    return invoke


@pytest.fixture
def book(sample, tmp_path):
    path = tmp_path / "scenarios.xlsx"
    path.write_bytes(sample.read_bytes())
    return path


@pytest.fixture
def brief_book(brief_sample, tmp_path):
    path = tmp_path / "scenarios.xlsx"
    path.write_bytes(brief_sample.read_bytes())
    return path


def test_run_prints_results_issues_and_paths(run, book):
    done = run("run", book, "--no-pdf")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert any("20.34" in line and "162.7" in line for line in lines)
    assert any(line.startswith("warning Scenarios!") for line in lines)
    assert lines[-1] == f"Wrote {book.with_name('scenarios.results.xlsx')}"
    assert "Best: 8B at FP8 on one H100 SXM, batch 64 (lowest cost per million output tokens" in done.stdout


def test_run_writes_the_report_too(run, brief_book, tmp_path):
    out, pdf = tmp_path / "o.xlsx", tmp_path / "p.pdf"
    few = ("--precisions", "fp16", "--batches", "1,8")
    done = run("run", brief_book, "-o", out, "--pdf", pdf, "--paper", "Letter", *few)
    assert done.exit_code == 0
    assert pdf.read_bytes()[:5] == b"%PDF-"
    assert done.stdout.splitlines()[-2:] == [f"Wrote {out}", f"Wrote {pdf}"]


def test_figures_are_never_cut_however_narrow_the_terminal(run, book, monkeypatch):
    for width in ("80", "60", "200"):
        monkeypatch.setenv("COLUMNS", width)
        out = run("run", book, "--no-pdf").stdout
        assert "67.24" in out
        assert "203,657" in out


def test_strict_counts_warnings(run, brief_book):
    assert run("run", brief_book, "--no-pdf", "--strict").exit_code == 1
    assert run("check", brief_book, "--strict").exit_code == 1
    assert run("check", brief_book).exit_code == 0


def test_check_writes_nothing(run, book):
    before = sorted(book.parent.iterdir())
    done = run("check", book)
    assert "9 scenarios can run, 0 skipped." in done.stdout
    assert sorted(book.parent.iterdir()) == before


def test_json_holds_results_issues_and_paths(run, brief_book):
    found = json.loads(run("run", brief_book, "--no-pdf", "--json").stdout)
    assert found["results"][0]["figures"]["tokens_per_sec"] == pytest.approx(20.339286, abs=5e-7)
    assert found["results"][0]["inputs"]["batch"] == 8
    assert {issue["severity"] for issue in found["issues"]} == {"warning", "note"}
    assert found["written"] == [str(brief_book.with_name("scenarios.results.xlsx"))]
    assert json.loads(run("check", brief_book, "--json").stdout)["written"] == []


def test_variants_as_asked(run, brief_book):
    run("run", brief_book, "--no-pdf", "--precisions", "fp8,q4_k_m,4.2", "--batches", "64,1,8")
    workbook = openpyxl.load_workbook(brief_book.with_name("scenarios.results.xlsx"), data_only=True)
    assert [cell.value for cell in workbook["Precision"][2]][-4:] == ["FP8", "Q4_K_M", 4.2, "own"]
    assert [cell.value for cell in workbook["Batch"][2]][-3:] == [1, 8, 64]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--precisions", "fp16,fp99"], "Precision is 'fp99', an unknown precision"),
        (["--batches", "1,0"], "Batch is 0; expected a whole number of at least 1"),
        (["--batches", "1,x"], "Batch is 'x', not a number"),
        (["--sheet", "Nope"], "No sheet named 'Nope'"),
        (["--pdf", "x.pdf", "--no-pdf"], "contradict each other"),
        (["-o", "x.ods"], "x.ods has another ending than scenarios.xlsx"),
        (["-o", "none/such/folder.xlsx"], "Cannot write into"),
    ],
)
def test_what_cannot_run_is_one_line_and_exit_code_2(run, brief_book, args, said):
    done = run("run", brief_book, *args) if "--pdf" in args else run("run", brief_book, "--no-pdf", *args)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("planner: ")


def test_new_makes_a_starter_and_never_writes_over_a_file_unasked(run, tmp_path):
    path = tmp_path / "new.xlsx"
    assert run("new", path).exit_code == 0
    assert "there already" in run("new", path).stderr
    assert run("new", path, "--force", "--sample").exit_code == 0
    assert run("new", tmp_path / "new.csv").exit_code == 2
    assert run("run", path, "--no-pdf").exit_code == 0


def test_help_names_every_command_with_examples(run):
    out = run("--help").stdout
    for word in ("run", "check", "new", "Examples:", "Exit codes"):
        assert word in out
    for command in ("run", "check", "new"):
        assert "Examples:" in run(command, "--help").stdout
    assert run("--version").stdout == f"planner, version {__version__}\n"


def test_help_loads_none_of_the_heavy_libraries():
    code = (
        "import sys; from click.testing import CliRunner; from planner.cli import main; "
        "CliRunner().invoke(main, ['--help']); "
        "print([m for m in ('openpyxl', 'xlsxwriter', 'jinja2', 'weasyprint', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_pango_costs_only_the_report(brief_book, tmp_path):
    """The workbook is written, one line says what to do, and the exit code says that something was left out."""
    broken = tmp_path / "weasyprint"
    broken.mkdir()
    (broken / "__init__.py").write_text("print('banner')\nraise OSError('cannot load library libgobject-2.0-0')\n")
    done = subprocess.run(
        [sys.executable, "-m", "planner", "run", str(brief_book)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stderr
    assert brief_book.with_name("scenarios.results.xlsx").exists()
    assert not brief_book.with_name("scenarios.report.pdf").exists()
    assert "banner" not in done.stdout
    assert done.stderr.startswith("No report: ")
    assert "libpango" in done.stderr or "pango" in done.stderr
