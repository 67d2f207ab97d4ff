"""Result sheets into every workbook of a folder: what is written, what is refused and why, and what fails.

Run by hand (`make corpora DIR=...`) over the test files of spreadsheet libraries, which no test keeps here. For each
workbook: three runs, every foreign part compared, the sheets read back, and, with --validate N, the Open XML SDK's
errors before and after for N workbooks drawn at random.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import openpyxl

from planner import PlannerError, Scenario, study_of
from planner.job import write_results
from planner.workbook.package import open_package
from planner.workbook.read import read_workbook
from planner.workbook.results_sheet import COLUMN_OF
from planner.workbook.sheets import SHEET_NAMES

# Parts that a merge extends; all others stay byte for byte.
EXTENDED = re.compile(
    r"\[Content_Types\]\.xml|(xl/)?workbook\d*\.xml|(xl/)?_rels/workbook\d*\.xml\.rels|(xl/)?styles\d*\.xml|xl/calcChain\.xml",
    re.IGNORECASE,
)


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {entry.filename: package.read(entry) for entry in package.infolist()}


def foreign_differences(before: Path, after: Path) -> list[str]:
    """Parts of the first package that the second lacks or holds otherwise, but for those that a merge extends."""
    # Some writers separate folders by backslashes.
    old, new = ({n.replace("\\", "/"): data for n, data in parts(p).items()} for p in (before, after))
    package = open_package(before)
    extended = {package.workbook_part, package.linked("styles"), package.linked("calcChain")}
    return [
        name
        for name, data in old.items()
        if new.get(name) != data
        and not EXTENDED.fullmatch(name)
        and name.lstrip("/") not in extended
        and not name.endswith("workbook.xml.rels")
    ]


def reads(path: Path) -> openpyxl.Workbook | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return openpyxl.load_workbook(path, data_only=True)
    except Exception:  # noqa: BLE001  openpyxl raises many kinds
        return None


def validator_errors(path: Path) -> list[str]:
    # The validator judges by the ending, which a corpus need not have right.
    done = subprocess.run(["ooxml-validator", str(path)], capture_output=True, text=True, timeout=120, check=False)
    try:
        return [f"{e.get('description')}" for e in json.loads(done.stdout)["errors"]]
    except (ValueError, KeyError):
        return ["unreadable"]


def try_one(source: Path, folder: Path, study) -> tuple[str, str]:  # noqa: C901  one check after the other
    """What became of a workbook: written, refused or failed, and why."""
    first, second, third = (folder / f"{n}{source.suffix}" for n in (1, 2, 3))
    try:
        try:
            write_results(study, first, into=source, force=True)
        except PlannerError as refused:
            text = str(refused)
            return ("refused" if "\n" not in text else "failed"), text.replace(str(source), "FILE")
        write_results(study, second, into=first, force=True)
        write_results(study, third, into=second, force=True)
        try:
            _ = read_workbook(first).grids
        except PlannerError as refused:
            return "written, though its cells are refused", str(refused).replace(str(first), "FILE")
    except Exception:  # noqa: BLE001  a traceback is what is looked for
        return "failed", traceback.format_exc()
    if differ := foreign_differences(source, first):
        return "failed", f"parts differ: {differ}"
    if differ := foreign_differences(source, third):
        return "failed", f"parts differ after three runs: {differ}"
    if second.read_bytes() != third.read_bytes():
        return "failed", "the third run differs from the second"
    if first.read_bytes() != second.read_bytes() and "calcChain" not in str(list(parts(source))):
        return "failed", "the second run differs from the first"
    had, has = reads(source), reads(first)
    if had is not None:
        if has is None:
            return "failed", "openpyxl reads it no more"
        if len(has.sheetnames) != len(had.sheetnames) + len(SHEET_NAMES):
            return "failed", f"sheets: {has.sheetnames}"
        results = next(s for s in has.sheetnames[len(had.sheetnames) :] if s.startswith("Results"))
        rate = has[results].cell(2, COLUMN_OF["tokens_per_sec"] + 1).value
        if abs(rate - 20.339285714285715) > 1e-9:
            return "failed", f"the rate is read back as {rate}"
    return "written", ""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--validate", type=int, default=0, metavar="N")
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    found = sorted(
        path for path in asked.folder.rglob("*") if path.suffix.lower() in {".xlsx", ".xlsm"} and path.is_file()
    )
    study = study_of([Scenario(name="A", params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85, batch=8)])
    counts, reasons, started, written = collections.Counter(), collections.Counter(), time.perf_counter(), []
    with tempfile.TemporaryDirectory() as name:
        for source in found:
            what, why = try_one(source, Path(name), study)
            counts[what] += 1
            if "refused" in what:
                reasons[why.removeprefix("FILE").split(";")[0][:110]] += 1
            if what == "failed":
                print(f"FAILED {source}\n{why}\n")
            if what == "written":
                written.append(source)
        worse = 0
        if asked.validate and shutil.which("ooxml-validator"):
            drawn = random.Random(asked.seed).sample(written, min(asked.validate, len(written)))
            for source in drawn:
                after = Path(name) / f"v{source.suffix}"
                write_results(study, after, into=source, force=True)
                new = collections.Counter(validator_errors(after)) - collections.Counter(validator_errors(source))
                if new:
                    worse += 1
                    print(f"NEW ERRORS {source}\n{dict(new)}\n")
            print(f"validated {len(drawn)}: {worse} with errors that they did not have before")
    for why, count in reasons.most_common():
        print(f"{count:5} refused: {why}")
    print(f"{len(found)} workbooks: {dict(counts)} in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
