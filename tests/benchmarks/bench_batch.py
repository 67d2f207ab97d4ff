"""A folder of workbooks overnight: times with 1 and 2 jobs, killed and resumed, against bare reading and writing.

`make bench-batch COUNT=1000` runs it. Twenty of the workbooks are bad, of each kind some. What is bare reads each workbook with openpyxl and
writes the cells of its results with XlsxWriter, and nothing else, for a sample of them, scaled to all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import openpyxl
import xlsxwriter

sys.path.insert(0, str(Path(__file__).parent.parent))
from batchbooks import BAD, results
from bench import bare, remember, report

ROWS = 50
SAMPLE = 20
MOST_BAD = 20
HEADERS = ["Scenario", "Device", "Model", "Precision", "Engine", "Devices", "Batch", "Prompt (tokens)"]
HEADERS += ["Output (tokens)", "Offered load (per hour)"]


def make(folder: Path, count: int) -> int:
    """The workbooks; how many of them are bad."""
    bad, every = 0, count // min(MOST_BAD, count // 5)
    for number in range(count):
        path = folder / f"team {number % 10}" / f"plan {number:04}.xlsx"
        path.parent.mkdir(parents=True, exist_ok=True)
        if number % every == every - 1 and bad < MOST_BAD:
            name, data, _ = BAD[bad % len(BAD)]
            path.with_suffix(Path(name).suffix).write_bytes(data)
            bad += 1
            continue
        workbook = xlsxwriter.Workbook(path)
        sheet = workbook.add_worksheet("Scenarios")
        sheet.write_row(0, 0, HEADERS)
        for row in range(ROWS):
            model = ("Llama-3.1-70B", "Llama-3.1-8B", "Mixtral-8x7B-v0.1")[row % 3]
            values = [f"Scenario {number}-{row}", "H100 SXM", model, "FP8", "vLLM", 2, 1 + (number + row) % 64]
            sheet.write_row(row + 1, 0, [*values, 1000 + number, 500, 100])
        workbook.close()
    return bad


def command(folder: Path, out: Path, jobs: int) -> list[str]:
    asked = [sys.executable, "-m", "planner", "batch", str(folder), "-o", str(out), "--no-pdf", "--json"]
    return [*asked, "--jobs", str(jobs)]


def timed(folder: Path, out: Path, jobs: int) -> tuple[float, float, dict]:
    """A whole batch: seconds by the clock, seconds of processors, what it says of itself."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command(folder, out, jobs), stdout=subprocess.PIPE, check=False)
    taken, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, worked, json.loads(done.stdout.splitlines()[-1])["summary"]


def killed(folder: Path, out: Path, until: int) -> int:
    """A batch that is killed, with its workers, once so many results are there; how many are."""
    with subprocess.Popen(command(folder, out, 2), stdout=subprocess.DEVNULL, start_new_session=True) as batch:
        while batch.poll() is None and len(list(out.rglob("*.results.xlsx"))) < until:
            time.sleep(0.05)
        os.killpg(batch.pid, signal.SIGKILL)
    return len(list(out.rglob("*.results.xlsx")))


def scenarios(out: Path) -> list[tuple]:
    sheet = openpyxl.load_workbook(out / "summary.xlsx", read_only=True)["Scenarios"]
    return list(sheet.iter_rows(values_only=True))


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("count", type=int, nargs="?", default=200)
    count = asked.parse_args().count
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        folder = root / "plans"
        bad = make(folder, count)
        print(f"{count:,} workbooks, {bad} of them bad; {ROWS} scenarios in each good one; {os.cpu_count()} processors")
        one_s, one_cpu_s, said = timed(folder, root / "one", 1)
        print(f"1 job: {one_s:.1f} s, {one_cpu_s:.1f} s of processors; {said['workbooks']}")
        two_s, two_cpu_s, _ = timed(folder, root / "two", 2)
        print(f"2 jobs: {two_s:.1f} s, {two_cpu_s:.1f} s of processors")
        good = count - bad
        whole = results(root / "one")
        bare_s = bare_cpu_s = 0.0
        sample = sorted(whole)[:SAMPLE]
        for name in sample:
            there, source = root / "one" / name, folder / name.replace(".results", "")
            remember(there)
            clock, processor = time.perf_counter(), time.process_time()
            bare(source, root / "bare.xlsx", there)
            bare_s, bare_cpu_s = bare_s + time.perf_counter() - clock, bare_cpu_s + time.process_time() - processor
        bare_s, bare_cpu_s = (seconds / len(sample) * good for seconds in (bare_s, bare_cpu_s))
        print(f"bare reading and writing: {bare_s:.1f} s, {bare_cpu_s:.1f} s of processors")
        fine = report("1 job, processors' time", one_cpu_s, "bare, processors' time", bare_cpu_s, 4)
        fine &= report("1 job, by the clock", one_s, "bare, by the clock", bare_s, 4)
        fine &= report("2 jobs, by the clock", two_s, "1 job, by the clock", one_s, 0.8)
        third = good // 3
        first, second = killed(folder, root / "killed", third), killed(folder, root / "killed", 2 * third)
        _, _, said = timed(folder, root / "killed", 2)
        print(f"killed at {first:,} and {second:,} results, resumed: {said['kept']:,} kept; {said['workbooks']}")
        same = whole == results(root / "two") == results(root / "killed")
        same &= scenarios(root / "one") == scenarios(root / "two") == scenarios(root / "killed")
        print(f"results and summaries of all three equal: {same}; {len(scenarios(root / 'one')) - 1:,} scenarios")
    return 0 if fine and same and len(whole) == good else 1


if __name__ == "__main__":
    raise SystemExit(main())
