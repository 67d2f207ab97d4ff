"""Speed as ratios against stated limits, both sides measured in the same run. `make bench` prints them.

Not a test: a busy machine must not fail a change. A ratio above its limit is marked and the exit code is 1.
"""

from __future__ import annotations

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

import numpy as np
import openpyxl
import xlsxwriter

from planner import Scenario, evaluate, study_of
from planner.for_excel import for_excel
from planner.functions import BY_NAME
from planner.job import Job, default_output, run, write_results
from planner.plan.evaluate import FORMULAS, compute
from planner.plan.resolve import resolve
from planner.workbook.starter import write_starter

ROUNDS = 5
ROWS = 1_000
BASE = Scenario(
    name="S", params_b=70, precision="FP16", device_bandwidth_gb_s=3350, devices=2, device_memory_gb=80,
    efficiency=0.85, batch=8, prompt_tokens=2000, output_tokens=500, prefill_tokens_per_sec=9000,
)  # fmt: skip


def median(work) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


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


def report(what: str, seconds: float, against: str, base: float, limit: float) -> bool:
    ratio = seconds / base
    mark = "ok" if ratio <= limit else "ABOVE"
    print(f"{what:<44} {seconds * 1e3:>10.3f} ms   {ratio:>7.2f} x {against:<38} limit {limit:g}  {mark}")
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


def main() -> int:
    good = True
    complete = resolve(BASE).scenario
    formulas = median(lambda: [compute(complete) for _ in range(ROWS)]) / ROWS
    one = median(lambda: [evaluate(BASE) for _ in range(ROWS)]) / ROWS
    print(f"{len(FORMULAS)} formulas of one scenario {formulas * 1e6:.1f} us; evaluate() {one * 1e6:.1f} us a scenario")
    good &= report("evaluate(), checks and all", one, "its formulas alone", formulas, 12)
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
    start = median(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    command = [sys.executable, "-m", "planner", "--help"]
    helped = median(lambda: subprocess.run(command, check=True, capture_output=True))
    good &= report("planner --help", helped, "starting Python", start, 12)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
