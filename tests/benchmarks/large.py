"""A workbook of 100,000 scenarios: each way in a process of its own, so that its time and peak memory are its own.

`python large.py` prints planner's times by phase beside those of the fastest bare reader and writer for the same cells:
by the clock, and in processor time, which other work on the machine lengthens least.
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MANY = 100_000
ROUNDS = 3
FIELDS = (
    "name", "device", "model", "precision", "engine", "devices", "split", "batch", "prompt_tokens", "output_tokens",
    "offered_requests_per_hour", "efficiency", "device_bandwidth_gb_s", "notes", "prefill_tokens_per_sec",
)  # fmt: skip
LARGE = ("Results", "Estimate", "Memory", "Checks")


class Clock:
    """What has passed since: of the processor's time, and by the clock."""

    def __init__(self) -> None:
        self.start = time.process_time(), time.perf_counter()

    def said(self, what: str) -> dict[str, float]:
        processor, clock = self.start
        return {what: time.process_time() - processor, f"{what} by the clock": time.perf_counter() - clock}


def write_source(path: Path, count: int) -> None:
    """Scenarios of many kinds in fifteen columns, some shown as percent."""
    import xlsxwriter

    from planner.plan.scenario import header_of

    dice = random.Random(1)
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Scenarios")
    sheet.write_row(0, 0, [header_of(name) for name in FIELDS])
    percent = book.add_format({"num_format": "0%"})
    for row in range(1, count + 1):
        values = (
            f"Scenario {row}",
            dice.choice(("H100 SXM", "A100 SXM4 80GB", "RTX 4090", "H200 SXM")),
            dice.choice(("Llama-3.1-70B", "Llama-3.1-8B", "Mixtral-8x7B-v0.1", "DeepSeek-V3", "gpt-oss-20b")),
            dice.choice(("FP16", "FP8", "INT4")),
            dice.choice(("vLLM", "llama.cpp")),
            dice.choice((1, 2, 4, 8)),
            dice.choice(("tensor", "tensor", "layers")),
            dice.randint(1, 64),
            dice.randint(100, 8000),
            dice.randint(100, 2000),
            round(dice.uniform(1, 5000), 1),
            dice.choice((0.7, 0.75, 0.8, 0.85)),
            dice.choice((2039, 3350, 4800)),
            dice.choice(("as measured", "from the vendor")),
            dice.randint(5000, 20000),
        )
        for column, value in enumerate(values):
            sheet.write(row, column, value, percent if FIELDS[column] == "efficiency" else None)
    book.close()


def run_planner(source: Path, output: Path) -> dict[str, float]:
    """All of a run but its report, as `planner run --no-pdf` does it."""
    from planner.job import Job, run

    output.unlink(missing_ok=True)
    clock = Clock()
    run(Job(source=source, output=output, pdf=None))
    return clock.said("run")


def run_phases(source: Path, output: Path) -> dict[str, float]:
    """The phases one by one, and the report behind them."""
    from planner.collecting import without_gc
    from planner.job import write_results
    from planner.plan.study import make_study
    from planner.report.render import render_report
    from planner.workbook.read import read_scenarios

    marks = [time.process_time()]
    with without_gc():
        table = read_scenarios(source)
        marks.append(time.process_time())
        study = make_study(table.entries, skipped=table.skipped, issues=table.issues, completed=table.completed)
        marks.append(time.process_time())
        write_results(study, output, into=source, force=True)
        marks.append(time.process_time())
        without_report = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        render_report(study, output.with_suffix(".pdf"), force=True)
        marks.append(time.process_time())
    names = ("read", "evaluate", "write", "report")
    found = {name: end - start for name, start, end in zip(names, marks, marks[1:], strict=False)}
    return found | {"mb_without_report": without_report / 1024}


def run_bare(source: Path, output: Path) -> dict[str, float]:
    """calamine reads the same cells, a Rust writer writes those of the result sheets as plain values."""
    from python_calamine import CalamineWorkbook
    from rustpy_xlsxwriter import FastExcel

    clock = Clock()
    CalamineWorkbook.from_path(str(source)).get_sheet_by_name("Scenarios").to_python()
    found, cells = clock.said("bare read"), 0
    for name in LARGE:
        lines = CalamineWorkbook.from_path(str(output)).get_sheet_by_name(name).to_python(skip_empty_area=False)
        heads = [str(at) for at in range(max(map(len, lines)))]
        cells += sum(value != "" for line in lines for value in line)
        records = [
            {head: None if value == "" else value for head, value in zip(heads, line, strict=False)} for line in lines
        ]
        del lines
        clock = Clock()
        FastExcel(str(output.with_name("bare.xlsx"))).sheet(name, records).save()
        for what, seconds in clock.said("bare write").items():
            found[what] = found.get(what, 0.0) + seconds
    return found | {"cells": cells}


WAYS = {"planner": run_planner, "phases": run_phases, "bare": run_bare}


def measured(way: str, source: Path, output: Path) -> dict[str, float]:
    """What a way takes in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, way, str(source), str(output)], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(folder: Path, count: int = MANY, rounds: int = ROUNDS) -> dict[str, float]:
    """Medians over some rounds, all ways in each, and the ratio of the run to the bare reader and writer."""
    source, output = folder / "large.xlsx", folder / "large results.xlsx"
    write_source(source, count)
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for way in WAYS:
            for name, value in measured(way, source, output).items():
                found.setdefault(f"{way} MB" if name == "mb" else name, []).append(value)
    for by in ("", " by the clock"):
        parts = zip(found[f"bare read{by}"], found[f"bare write{by}"], strict=True)
        found[f"bare{by}"] = [read + write for read, write in parts]
        found[f"ratio{by}"] = [run / bare for run, bare in zip(found[f"run{by}"], found[f"bare{by}"], strict=True)]
    noise = max((max(found[name]) - min(found[name])) / statistics.median(found[name]) for name in ("run", "bare"))
    return {name: statistics.median(values) for name, values in found.items()} | {"noise": noise}


def tell(found: dict[str, float], count: int = MANY) -> None:
    """Print what was measured."""
    print(
        f"{count:,} scenarios, {found['cells']:,.0f} result cells: read {found['read']:.1f} s, evaluate "
        f"{found['evaluate']:.1f} s, write {found['write']:.1f} s; peak memory {found['planner MB']:,.0f} MB; the whole "
        f"run {found['run']:.1f} s of the processor, {found['run by the clock']:.1f} s by the clock"
    )
    print(
        f"bare: calamine reads in {found['bare read']:.1f} s, a Rust writer writes plain values in "
        f"{found['bare write']:.1f} s; noise {found['noise']:.0%}"
    )


def main() -> int:
    if len(sys.argv) > 3:
        found = WAYS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
        print(json.dumps(found | {"mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
        return 0
    count = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    with tempfile.TemporaryDirectory() as folder:
        found = compare(Path(folder), count, int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS)
    tell(found, count)
    print(f"ratio {found['ratio']:.2f}, by the clock {found['ratio by the clock']:.2f}; report {found['report']:.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
