"""Sweeps in files: each kind read back, targets refused, nothing half written, and what the charts show."""

from __future__ import annotations

import contextlib
import csv
import math
import os
import re
import select
import signal
import subprocess
import sys
import zipfile
from xml.etree import ElementTree as ET

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

from planner import __version__
from planner.issues import PlannerError
from planner.plan.bulk_columns import Words
from planner.plan.sweep import sweep_of
from planner.plan.sweep_columns import FLAGS, WHOLE, sweep_header
from planner.plan.sweep_points import evaluate_sweep, joined_columns
from planner.sweep_job import listed, refuse_too_many, run_sweep
from planner.workbook.sweep_sheet import MOST_POINTS, is_our_sweep

LISTS = ("H100 SXM,RTX 4090", "qwen3-32b,llama-3.1-70b", "native,fp8", "1..64x4", "2000..64000x8+500", "1,2,3")
MONEY = {"prices": {"H100 SXM": 2.5, "RTX 4090": 0.45}, "utilisation": 0.4, "currency": "EUR"}


@pytest.fixture(scope="module")
def asked():
    return sweep_of(*LISTS, **MONEY)


@pytest.fixture(scope="module")
def columns(asked):
    swept = evaluate_sweep(asked)
    found = joined_columns(list(swept.chunks()))
    swept.close()
    return {name: listed(name, found[name]) for name in asked.columns}


@pytest.fixture(scope="module")
def book(asked, tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "sweep.xlsx"
    return path, run_sweep(asked, path)


def test_csv_holds_every_point_to_the_last_digit(asked, columns, tmp_path):
    outcome = run_sweep(asked, tmp_path / "s.csv")
    assert outcome.written == (tmp_path / "s.csv",)
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(asked.columns)
    assert len(rows) - 1 == asked.size == outcome.kept
    for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=True):
        assert list(cells) == ["" if value is None else str(value) for value in columns[name]], name


def test_parquet_holds_every_point_with_types_and_headers(asked, columns, tmp_path):
    run_sweep(asked, tmp_path / "s.parquet")
    table = parquet.read_table(tmp_path / "s.parquet")
    assert {name: table[name].to_pylist() for name in table.column_names} == columns
    for field in table.schema:
        kind = pa.bool_() if field.name in FLAGS else pa.int64() if field.name in WHOLE else None
        assert kind is None or field.type == kind
        assert field.metadata[b"header"].decode() == sweep_header(field.name, "EUR")
    assert table.schema.metadata[b"planner.version"].decode() == __version__
    assert table.schema.metadata[b"currency"] == b"EUR"


def test_the_sheet_of_points_holds_every_point(asked, columns, book):
    sheet = openpyxl.load_workbook(book[0], read_only=True)["Points"]
    rows = list(sheet.iter_rows(values_only=True))
    assert list(rows[0]) == [sweep_header(name, "EUR") for name in asked.columns]
    for name, cells in zip(asked.columns, zip(*rows[1:], strict=True), strict=True):
        assert list(cells) == columns[name], name


def test_the_front_is_marked_and_listed(asked, columns, book):
    path, outcome = book
    workbook = openpyxl.load_workbook(path)
    points, front = workbook["Points"], workbook["Front"]
    on = [row for row, flag in enumerate(columns["pareto"]) if flag]
    assert 0 < len(on) < asked.size
    for row, (flag, fits, remark) in enumerate(zip(columns["pareto"], columns["fits"], columns["remark"], strict=True)):
        cell = points.cell(2 + row, 1)
        assert (cell.font.b, cell.font.i) == (flag, bool(remark) or fits is False)
    head = next(row for row in range(1, 60) if front.cell(row, 1).value == "Model")
    names = outcome.view.names
    found = [tuple(cell.value for cell in row) for row in front.iter_rows(min_row=head + 1, max_col=len(names))]
    expected = [tuple(columns[name][row] for name in names) for row in on]
    assert len(found) == len(on)
    for one, other in zip(sorted(found), sorted(expected), strict=True):
        # XlsxWriter keeps sixteen digits.
        assert [v if isinstance(v, str) else pytest.approx(v, rel=1e-15) for v in one] == list(other)
    chart = front._charts[0]
    sheets = {re.match(r"'?(\w+)", series.xVal.numRef.f)[1] for series in chart.series}
    assert sheets == {"Front", "Drawn"}
    assert len(chart.series) == 1 + len(outcome.view.drawn)
    gain = names.index("estimated_tokens_per_sec") + 1
    rates = [front.cell(row, gain).value for row in range(head + 1, head + 1 + len(on))]
    for task, series in zip(outcome.view.drawn, chart.series[1:], strict=True):
        first, last = map(int, re.findall(r"\$(\d+)", series.xVal.numRef.f))
        assert (first, last) == (head + 1 + task.start, head + task.stop)
        assert rates[task.start : task.stop] == sorted(rates[task.start : task.stop], reverse=True)


def test_the_workbook_is_valid(book, validate):
    assert validate(book[0]) == []


def test_libreoffice_shows_what_was_written(book, as_csv, columns):
    shown = list(csv.reader(as_csv(book[0])["Points"].splitlines()))
    # Headers of several lines are one text.
    assert len(shown) - 1 == len(columns["model"])
    last = shown[-1]
    assert last[0] == columns["model"][-1]
    assert last[-1] == str(columns["pareto"][-1]).upper()


@pytest.mark.parametrize("suffix", ["xlsx", "csv", "parquet"])
def test_a_second_run_takes_the_place_of_the_first_and_never_of_others(suffix, tmp_path):
    small = sweep_of("H100 SXM", "llama-3.1-8b", "fp8", "1,2", "100+100")
    path, chart = tmp_path / f"s.{suffix}", tmp_path / "s.svg"
    run_sweep(small, path, chart)
    run_sweep(small, path, chart)
    path.write_bytes(b"something else")
    with pytest.raises(PlannerError, match="is there already and is no work of planner's; --force writes over it"):
        run_sweep(small, path)
    assert path.read_bytes() == b"something else"
    run_sweep(small, path, force=True)
    chart.write_text("<svg/>")
    with pytest.raises(PlannerError, match="s.svg is there already"):
        run_sweep(small, path, chart)


def test_a_workbook_with_a_sheet_of_its_users_is_not_written_over(tmp_path):
    small = sweep_of("H100 SXM", "llama-3.1-8b", "fp8", "1,2", "100+100")
    path = tmp_path / "s.xlsx"
    run_sweep(small, path)
    assert is_our_sweep(path.read_bytes())
    workbook = openpyxl.load_workbook(path)
    workbook.create_sheet("Mine")
    workbook.save(path)
    assert not is_our_sweep(path.read_bytes())


def test_what_no_file_takes_is_refused_before_the_work(tmp_path):
    small = sweep_of("H100 SXM", "llama-3.1-8b", "fp8", "1,2", "100+100")
    with pytest.raises(PlannerError, match=r"s.txt ends in none of .xlsx, .parquet, .csv; name a file that does\."):
        run_sweep(small, tmp_path / "s.txt")
    large = sweep_of("H100 SXM", "llama-3.1-8b", "fp8", "1..1050", "1..1000+10")
    steps = []
    with pytest.raises(PlannerError) as refused:
        run_sweep(large, tmp_path / "s.xlsx", None, lambda *step: steps.append(step))
    assert str(refused.value) == (
        "A sheet holds 1,048,575 points, and the sweep has 1,050,000; write .parquet or .csv, narrow a list, or leave out "
        "what does not fit (--only-fitting)."
    )
    assert steps == []
    refuse_too_many(MOST_POINTS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["xlsx", "csv", "parquet"])
def test_what_stops_the_writing_leaves_the_old_file(suffix, tmp_path):
    small = sweep_of("H100 SXM", "llama-3.1-8b", "fp8", "1,2", "100+100")
    path = tmp_path / f"s.{suffix}"
    run_sweep(small, path)
    before = path.read_bytes()

    def stop(what, done):
        if done and what.startswith("Writing"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(small, path, None, stop)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals; any other system runs this")
def test_ctrl_c_stops_at_once_and_leaves_nothing(tmp_path):
    # A shell lets what it runs in the background ignore Ctrl-C, and so all that these start in turn.
    heeding = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from planner.cli import main; main()"
    )
    # Minutes of work, of which the bar is on the terminal after the first of some five hundred parts.
    command = [sys.executable, "-c", heeding, "sweep", "-d", "class:nv-dc-hbm", "-m", "all", "-b", "1..5000", "-c"]
    command += ["1000..3000:1000+500", "-o", str(tmp_path / "s.csv"), "--limit", "100000000"]
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, text=True, env=environment) as running:
        os.close(theirs)
        seen = ""
        try:
            while "Evaluating" not in seen:
                assert select.select([ours], [], [], 60)[0], seen
                seen += os.read(ours, 4096).decode()
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    with contextlib.suppress(OSError):  # A terminal that nobody writes to any more ends with an error.
        while more := os.read(ours, 4096).decode():
            seen += more
    os.close(ours)
    assert (out.strip(), seen.split()[-1]) == ("", "Aborted!")
    assert running.returncode == 1
    assert list(tmp_path.iterdir()) == []


HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "<b>&\"'", "_x0041_", "a\x01b", "  blanks  ", "http://x.example", "\u540d"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_is_never_a_formula_or_markup(name, tmp_path):
    small = sweep_of("H100 SXM", "llama-3.1-8b", "fp8", 1, "100+100", fixed={"name": name}, front="task")
    path, chart = tmp_path / "s.xlsx", tmp_path / "s.svg"
    run_sweep(small, path, chart)
    # As the column understands it: without blanks around it, and without what no sheet can hold.
    held = small.grid.fixed["name"]
    assert held in {name.strip(), "ab"}
    workbook = openpyxl.load_workbook(path)
    front = next(cell for cell in workbook["Front"]["A"] if cell.row > 25 and cell.value not in {None, "Scenario"})
    for cell in (workbook["Points"]["A2"], front):
        assert cell.data_type in {"s", "inlineStr"}
        assert cell.hyperlink is None
        assert cell.value.replace("_x005F_", "_") == held
    with zipfile.ZipFile(path) as package:
        parts = package.read("xl/worksheets/sheet2.xml") + package.read("xl/sharedStrings.xml")
    # Excel reads _x0041_ as the letter A, so it is written as one that begins with an underscore of its own.
    assert parts.count(b">_x005F_x0041_<") == (2 if "_x" in name else 0)
    assert b">_x0041_<" not in parts
    run_sweep(small, tmp_path / "s.csv")
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as file:
        cell = list(csv.reader(file))[1][0]
    assert cell == (f"'{held}" if held[0] in "=+-@" else held)
    ET.fromstring(chart.read_text("utf-8"))


def test_without_pyarrow_parquet_says_what_to_install(tmp_path):
    code = (
        "import sys\nsys.modules['pyarrow'] = None\n"
        "from planner.cli import main\n"
        "main(['sweep', '-d', 'H100 SXM', '-m', 'llama-3.1-8b', '-b', '1', '-c', '9+9', '-o', sys.argv[1]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s.parquet")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "planner: Parquet needs pyarrow, which is not installed: pip install 'llm-capacity-planner[parquet]', or write .csv."
    )


SVG = "{http://www.w3.org/2000/svg}"


def test_the_drawing_has_a_dot_for_each_point_within_its_frame(asked, tmp_path):
    outcome = run_sweep(asked, tmp_path / "s.csv", tmp_path / "s.svg")
    assert outcome.written == (tmp_path / "s.csv", tmp_path / "s.svg")
    root = ET.fromstring((tmp_path / "s.svg").read_text("utf-8"))
    width, height = (float(side) for side in root.get("viewBox").split()[2:])
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter(f"{SVG}circle")]
    view = outcome.view
    on = sum(task.stop - task.start for task in view.drawn)
    assert len(dots) == len(view.others[0]) + on + len(view.drawn)
    assert all(0 < x < width and 0 < y < height for x, y in dots)
    texts = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    assert view.title in texts
    assert "Cost per M output (EUR/M tokens)" in texts
    assert {task.label for task in view.drawn} <= set(texts)


def test_an_empty_front_is_drawn_and_written_as_well(tmp_path):
    none = sweep_of("RTX 4090", "llama-3.1-405b", "fp16", "1,2", "100+100")
    for suffix in ("xlsx", "csv", "parquet"):
        outcome = run_sweep(none, tmp_path / f"s.{suffix}", tmp_path / "s.svg", force=True)
        assert (len(outcome.view), outcome.counts["sensible"]) == (0, 0)
    ET.fromstring((tmp_path / "s.svg").read_text("utf-8"))
    only = sweep_of("RTX 4090", "llama-3.1-405b", "fp16", "1,2", "100+100", only_fitting=True)
    for suffix in ("xlsx", "csv", "parquet"):
        assert run_sweep(only, tmp_path / f"o.{suffix}").kept == 0
    assert openpyxl.load_workbook(tmp_path / "o.xlsx")["Points"].max_row == 1
    assert parquet.read_table(tmp_path / "o.parquet").num_rows == 0


def test_listed_values():
    assert listed("batch", np.array([1.0, math.nan])) == [1, None]
    assert listed("fits", np.array([1.0, 0.0, math.nan])) == [True, False, None]
    assert listed("prefill_s", np.array([0.5, math.nan])) == [0.5, None]
    assert listed("remark", Words.of(["", "a"])) == [None, "a"]


def test_parts_of_the_workbook_are_packed_and_stable(asked, tmp_path):
    run_sweep(asked, tmp_path / "a.xlsx")
    run_sweep(asked, tmp_path / "b.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as one, zipfile.ZipFile(tmp_path / "b.xlsx") as other:
        assert one.namelist() == other.namelist()
        assert one.testzip() is None
        for name in one.namelist():
            if name.startswith("xl/"):
                assert one.read(name) == other.read(name), name
