"""Speed as ratios against stated limits, both sides measured in the same run. `make bench` prints them.

Not a test: a busy machine must not fail a change. A ratio above its limit is marked and the exit code is 1.
"""

from __future__ import annotations

import csv
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import large
import numpy as np
import openpyxl
import xlsxwriter
from pyarrow import parquet
from rustpy_xlsxwriter import write_worksheet

from planner import Scenario, evaluate, study_of
from planner.for_excel import for_excel
from planner.functions import BY_NAME
from planner.job import Job, default_output, run, write_results
from planner.plan.bulk import compute_columns, evaluate_columns, evaluate_many
from planner.plan.bulk_columns import NUMBERS
from planner.plan.bulk_fill import complete_columns
from planner.plan.evaluate import WAYS, compute, known_of
from planner.plan.recipes import RECIPES, way_of
from planner.plan.resolve import resolve
from planner.plan.sweep import sweep_of
from planner.plan.sweep_points import evaluate_sweep
from planner.plan.variants import at_batch, at_precision
from planner.sweep_job import run_sweep
from planner.translate import to_array
from planner.workbook.starter import write_starter

if TYPE_CHECKING:
    from planner.plan.ways import Way

ROUNDS = 5
ROWS = 1_000
BASE = Scenario(
    name="S", params_b=70, precision="FP16", device_bandwidth_gb_s=3350, devices=2, device_memory_gb=80,
    efficiency=0.85, batch=8, prompt_tokens=2000, output_tokens=500, prefill_tokens_per_sec=9000,
)  # fmt: skip


NAMED = Scenario(
    name="S", device="H100 SXM", model="Llama-3.1-70B", precision="FP8", engine="vLLM", devices=2, batch=8,
    prompt_tokens=2000, output_tokens=500, offered_requests_per_hour=100,
)  # fmt: skip
MANY = 100_000


def median(work, clock=time.perf_counter) -> float:
    times = []
    for _ in range(ROUNDS):
        start = clock()
        work()
        times.append(clock() - start)
    return statistics.median(times)


def spent(work, times: int = 1) -> float:
    """Processor time of one call, which other work on the machine does not lengthen."""
    return median(lambda: [work() for _ in range(times)], time.process_time) / times


def bare(source: Path, target: Path, results: Path) -> None:
    """Read the same cells and write the same cells, and nothing else."""
    read = openpyxl.load_workbook(source, read_only=True)
    for sheet in read:
        for _ in sheet.iter_rows(values_only=True):
            pass
    workbook = xlsxwriter.Workbook(str(target))
    for name, rows in CELLS[results]:
        sheet = workbook.add_worksheet(name)
        for row, column, value in rows:
            sheet.write(row, column, value)
    workbook.close()


CELLS: dict[Path, list] = {}


def remember(results: Path) -> None:
    values = openpyxl.load_workbook(results)
    CELLS[results] = [
        (
            sheet.title,
            [(c.row - 1, c.column - 1, c.value) for row in sheet.iter_rows() for c in row if c.value is not None],
        )
        for sheet in values
    ]


def report(what: str, seconds: float, against: str, base: float, limit: float, *, aim: float = 0.0) -> bool:
    """Print a ratio beside its limit, and beside what it should come to where that is not reached yet."""
    ratio = seconds / base
    mark = "ok" if ratio <= limit else "ABOVE"
    aimed = f", aim {aim:g}: {'reached' if ratio <= aim else 'missed'}" if aim else ""
    print(f"{what:<52} {seconds * 1e3:>10.3f} ms   {ratio:>7.2f} x {against:<38} limit {limit:g}  {mark}{aimed}")
    return ratio <= limit


def merge_bench(folder: Path) -> bool:
    """Result sheets into a workbook of 20 MB, against a plain copy of it that is flushed to the disk as well."""
    large = folder / "large.xlsx"
    workbook = xlsxwriter.Workbook(large, {"constant_memory": True})
    dice = random.Random(1)
    for _ in range(4):
        sheet = workbook.add_worksheet()
        for row in range(45_000):
            sheet.write_row(row, 0, [dice.random() for _ in range(10)])
    workbook.close()
    study = study_of([BASE])

    def copied() -> None:
        with (folder / "copy.xlsx").open("wb") as file:
            file.write(large.read_bytes())
            file.flush()
            os.fsync(file.fileno())

    plain = median(copied)
    merged = median(lambda: write_results(study, folder / "merged.xlsx", into=large, force=True))
    again = median(lambda: zipfile.ZipFile(large).testzip())
    size = large.stat().st_size / 1e6
    print(
        f"a plain copy of {size:.0f} MB takes {plain * 1e3:.0f} ms, unpacking it once (is it damaged?) {again * 1e3:.0f} ms"
    )
    return report(f"merge into a workbook of {size:.0f} MB", merged, "copying and unpacking it once", plain + again, 3)


def large_bench(folder: Path) -> bool:
    """A hundred thousand scenarios from one workbook to another, against calamine and a Rust writer, and their report."""
    found = large.compare(folder)
    large.tell(found)
    what, against = f"run of {large.MANY:,} scenarios without a report", "bare calamine and a Rust writer"
    good = report(what, found["run"], against, found["bare"], 5)
    clock = " by the clock"
    good &= report(f"the same,{clock}", found[f"run{clock}"], against, found[f"bare{clock}"], 5, aim=2)
    return good & report(f"report of {large.MANY:,} scenarios", found["report"], "ten seconds", 10, 4, aim=1)


def steps_of(scenario: Scenario) -> list[tuple[str, Way]]:
    """The formulas that a completed scenario takes, with nothing asked or chosen any more."""
    given, figures = known_of(scenario), compute(scenario)
    known = given | figures
    made = [name for name in WAYS if given.get(name) is None and known[name] is not None]
    return [(name, way_of(name, known) if name in RECIPES else WAYS[name][0]) for name in made]


def bare_work(scenario: Scenario, columns: dict | None = None):
    """The same arithmetic on numbers, or on arrays, and nothing else."""
    steps = [
        (name, way.formula if columns is None else to_array(way.formula), way.taken) for name, way in steps_of(scenario)
    ]
    numbers = {taken: taken for _, _, takes in steps for taken in takes if not isinstance(taken, str)}
    start = known_of(scenario) | numbers | (columns or {})

    def work() -> None:
        known = dict(start)
        for name, formula, takes in steps:
            known[name] = formula(*[known[taken] for taken in takes])

    return work


def scalar_bench(what: str, scenario: Scenario) -> bool:
    """One scenario: its formulas, all of it, and otherwise."""
    resolution, result = resolve(scenario), evaluate(scenario)
    bare_formulas = spent(bare_work(resolution.scenario), ROWS)
    figures = spent(lambda: compute(resolution.scenario), ROWS)
    filled = spent(lambda: resolve(scenario), ROWS)
    one = spent(lambda: evaluate(scenario), ROWS)
    batch = spent(lambda: at_batch(result, 4), ROWS)
    precision = spent(lambda: at_precision(result, "INT8"), ROWS)
    print(
        f"{what}: {len(WAYS)} figures {figures * 1e6:.1f} us, resolve() {filled * 1e6:.1f} us, "
        f"evaluate() {one * 1e6:.1f} us, at_batch() {batch * 1e6:.1f} us, at_precision() {precision * 1e6:.1f} us"
    )
    good = report("the figures of one scenario", figures, "the formulas that it takes", bare_formulas, 4)
    good &= report("evaluate(), checks and all", one, "its figures alone", figures, 8)
    good &= report("at_batch()", batch, "its figures alone", figures, 4)
    return good & report("at_precision()", precision, "its figures alone", figures, 4)


def bulk_bench() -> bool:
    """A hundred thousand scenarios at once, of one kind for the ratio, of many kinds as they come."""
    dice = np.random.default_rng(1)
    loads = {
        "batch": dice.integers(2, 64, MANY).astype(float),
        "prompt_tokens": dice.integers(100, 8000, MANY).astype(float),
        "output_tokens": dice.integers(100, 2000, MANY).astype(float),
    }
    alike = {name: getattr(NAMED, name) for name in ("device", "model", "precision", "engine", "devices")}
    alike |= loads | {"offered_requests_per_hour": 1.0}
    completed = complete_columns(alike)
    work = bare_work(resolve(NAMED).scenario, {name: completed.columns[name] for name in NUMBERS})
    bare_arrays = spent(work)
    print(
        f"bare numpy: {len(steps_of(resolve(NAMED).scenario))} figures in {bare_arrays / MANY * 1e6:.2f} us a scenario"
    )
    pick = lambda *names: [names[number] for number in dice.integers(0, len(names), MANY)]  # noqa: E731
    mixed = loads | {
        "device": pick("H100 SXM", "A100 SXM4 80GB", "RTX 4090", "H200 SXM"),
        "model": pick("Llama-3.1-70B", "Llama-3.1-8B", "Mixtral-8x7B-v0.1", "DeepSeek-V3", "gpt-oss-20b"),
        "precision": pick("FP16", "FP8", "INT4"),
        "engine": pick("vLLM", "llama.cpp"),
        "devices": dice.choice([1.0, 2.0, 4.0, 8.0], MANY),
        "split": pick("tensor", "tensor", "layers"),
        "offered_requests_per_hour": dice.uniform(1, 5000, MANY),
    }
    listed = [column if isinstance(column, list) else column.tolist() for column in mixed.values()]
    scenarios = [Scenario(**dict(zip(mixed, row, strict=True))) for row in zip(*listed, strict=True)]
    done = complete_columns(mixed)
    good = True
    for what, limit, task in (
        (f"figures of {MANY:,} completed scenarios alike", 4, lambda: compute_columns(completed.columns)),
        (f"{MANY:,} scenarios alike, in columns", 7, lambda: evaluate_columns(alike)),
        (f"figures of {MANY:,} completed, of many kinds", 8, lambda: compute_columns(done.columns)),
        (f"{MANY:,} scenarios of many kinds, in columns", 12, lambda: evaluate_columns(mixed)),
        (f"{MANY:,} scenarios of many kinds, in a list", 30, lambda: evaluate_many(scenarios)),
    ):
        taken = spent(task)
        print(f"{what}: {taken / MANY * 1e6:.2f} us a scenario")
        good &= report(what, taken, "bare numpy, one kind", bare_arrays, limit)
    return good


SWEPT = (
    "class:nv-dc-hbm",
    "qwen3-32b,llama-3.1-70b,gpt-oss-20b",
    "native,fp8,int4",
    "1..32",
    "1000..4000:1000+500",
    "1,2,4",
)


def sweep_bench(folder: Path) -> bool:
    """A sweep of some ten thousand points, evaluated and written, against bare arithmetic and bare writers."""
    asked = sweep_of(*SWEPT)
    resolution = resolve(replace(NAMED, offered_requests_per_hour=None))
    alike = {name: getattr(resolution.scenario, name) for name in ("device", "model", "precision", "devices")}
    completed = complete_columns(
        alike | {"batch": np.full(asked.size, 8.0), "prompt_tokens": 2e3, "output_tokens": 5e2}
    )
    arithmetic = spent(bare_work(resolution.scenario, {name: completed.columns[name] for name in NUMBERS}))

    def evaluated() -> None:
        evaluate_sweep(asked).close()

    points = spent(evaluated)
    print(f"a sweep of {asked.size:,} points: {asked.size / points:,.0f} points a second, the front among them")
    good = report(f"a sweep of {asked.size:,} points, front and all", points, "bare numpy, one kind", arithmetic, 16)
    file = {kind: folder / f"sweep.{kind}" for kind in ("parquet", "csv", "xlsx")}
    whole = {kind: spent(lambda path=path: run_sweep(asked, path, force=True)) for kind, path in file.items()}
    table = parquet.read_table(file["parquet"])
    rows = list(zip(*table.to_pydict().values(), strict=True))

    def listed() -> None:
        with (folder / "bare.csv").open("w", newline="") as out:
            csv.writer(out).writerows(rows)

    for kind, limit, what, bare_writer in (
        ("parquet", 8, "pyarrow", lambda: parquet.write_table(table, folder / "bare.parquet")),
        ("csv", 3, "csv.writer", listed),
        ("xlsx", 3, "a Rust writer", lambda: write_worksheet(table, str(folder / "bare.xlsx"))),
    ):
        plain = spent(bare_writer)
        print(f"a sweep to .{kind}: {asked.size / whole[kind]:,.0f} points a second, {what} {plain * 1e3:.0f} ms")
        against = f"bare numpy and {what}"
        good &= report(f"a sweep to .{kind}, evaluated and written", whole[kind], against, arithmetic + plain, limit)
    return good


def main() -> int:
    good = True
    good &= scalar_bench("core inputs", BASE)
    good &= scalar_bench("a named device and model", NAMED)
    good &= bulk_bench()
    column = [[float(n)] for n in range(1, 10_001)]
    names = [["FP16"]] * 10_000
    call, weights = for_excel(BY_NAME["TOKENS_PER_SEC"]), for_excel(BY_NAME["WEIGHTS_GB"])
    array = median(lambda: (3350.0 * 0.85 / np.array(column)).tolist())
    good &= report(
        "TOKENS_PER_SEC over 10,000 cells", median(lambda: call(column, 3350.0, 0.85)), "numpy, unchecked", array, 10
    )
    good &= report(
        "WEIGHTS_GB over 10,000 precision names", median(lambda: weights(column, names)), "numpy, unchecked", array, 40
    )
    mixed = [[n if n % 2 else f"{n}.5"] if n % 5 else [-float(n)] for n in range(1, 10_001)]
    good &= report(
        "TOKENS_PER_SEC over numbers, texts, bad cells",
        median(lambda: call(mixed, 3350.0, 0.85)),
        "numpy, unchecked",
        array,
        40,
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "many.xlsx"
        write_starter(source, [replace(BASE, name=f"Scenario {n}", batch=float(1 + n % 64)) for n in range(ROWS)])
        output = default_output(source)
        job = Job(source=source, output=output, pdf=None)
        run(job)
        remember(output)
        whole = median(lambda: run(job))
        base = median(lambda: bare(source, Path(folder) / "bare.xlsx", output))
        good &= report(
            f"run of {ROWS:,} scenarios without a report", whole, "bare read and write of the same cells", base, 4
        )
        good &= merge_bench(Path(folder))
        good &= sweep_bench(Path(folder))
        good &= large_bench(Path(folder))
    start = median(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    command = [sys.executable, "-m", "planner", "--help"]
    helped = median(lambda: subprocess.run(command, check=True, capture_output=True))
    good &= report("planner --help", helped, "starting Python", start, 12)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
