"""Broken and odd workbooks by the thousand: each must give results, issues or one clear refusal.

Run by hand (`make fuzz`). Mutates packages (bytes, parts, XML) and cells, runs planner in place on each, and counts as
a find: a traceback, a run longer than the limit, a refusal of more than one line, a workbook that was changed although
the run was refused, or a foreign part that came out otherwise than it went in.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import richbook

from planner import PlannerError
from planner.job import Job, run

EXTENDED = {"[Content_Types].xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml", "xl/calcChain.xml"}
SECONDS = 20.0
TOKENS = [
    b"0", b"-1", b"999999999999", b"", b"A1:XFD1048576", b"\xff", b"&#0;", b"&amp;", b"<", b">", b'"', b"rId1", b"NaN",
    b"1e999", "\u202e".encode(), b"../../x", b"/", b"true", b"xmlns", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"sheet1",
]  # fmt: skip
# ruff: noqa: RUF001  digits of other scripts are meant
VALUES = [
    None, 0, -1, 1e308, -1e-308, 1e-9, True, "", " ", "=1+", "=A1", "#REF!", "nan", "inf", "70B", "3,350", "3.350", "85%",
    "8.5 %", "FP16", "fp99", "q4_k_m", "128k", "20-30", "1e5", "x" * 40_000, "\u202eabc", "\u0000", "\ud83d\ude00", "٣٣٥٠",
    "１６", "16 bits", "3.35 TB/s", "80 GiB", "-", "n/a", '=HYPERLINK("x")', 2**53, 0.1 + 0.2, "1/2", "1 000", "1'000",
]  # fmt: skip


def mutated_part(dice: random.Random, data: bytes) -> bytes:
    """A part with some of its bytes, tags or attributes otherwise."""
    for _ in range(dice.choice([1, 1, 1, 2, 5])):
        kind = dice.randrange(7)
        at = dice.randrange(len(data) + 1)
        if kind == 0:
            data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + data[at + dice.randrange(1, 200) :]
        elif kind == 2:
            data = data[:at] + dice.choice(TOKENS) + data[at:]
        elif tags := list(re.finditer(rb"<[^<>]+>", data)):
            one, two = dice.choice(tags), dice.choice(tags)
            if kind == 3:
                data = data[: one.start()] + data[one.end() :]
            elif kind == 4:
                data = data[: one.start()] + two[0] + data[one.start() :]
            elif kind == 5:
                data = data[: one.start()] + one[0] * dice.choice([2, 3, 50]) + data[one.end() :]
            elif attributes := list(re.finditer(rb'="([^"]*)"', data)):
                hit = dice.choice(attributes)
                data = data[: hit.start(1)] + dice.choice(TOKENS) + data[hit.end(1) :]
    return data


def mutate(dice: random.Random, source: Path, target: Path) -> None:
    """A workbook with something wrong or odd in it."""
    parts = richbook.parts_of(source)
    kind = dice.randrange(10)
    if kind == 0:
        data = bytearray(source.read_bytes())
        for _ in range(dice.choice([1, 3, 30])):
            data[dice.randrange(len(data))] = dice.randrange(256)
        target.write_bytes(bytes(data[: dice.choice([len(data), len(data), dice.randrange(len(data))])]))
        return
    changes: dict[str, bytes | None] = {}
    names = sorted(parts)
    weighty = [n for n in names if n in EXTENDED or "sheet1" in n or "sharedStrings" in n]
    for _ in range(dice.choice([1, 1, 2])):
        name = dice.choice(weighty if dice.random() < 0.8 else names)
        changes[name] = None if kind == 1 else mutated_part(dice, parts[name])
    richbook.with_parts(target, changes, source)


def odd_cells(dice: random.Random, target: Path) -> None:
    """A workbook whose scenario cells hold odd values."""
    rows = [list(row) for row in richbook.ROWS for _ in range(4)]
    for row in rows:
        for _ in range(dice.randrange(4)):
            row[dice.randrange(len(row))] = dice.choice(VALUES)
    with contextlib.suppress(Exception):  # the writer of the test file refuses some values
        richbook.rich_workbook(target, rows)


def find_of(target: Path, own: set[str]) -> str:
    """What went wrong with a workbook, whose user has put ``own`` parts into it; nothing where all went as it should."""
    before = target.read_bytes()
    started = time.perf_counter()
    try:
        run(Job(source=target, output=target, pdf=None, backup=False))
    except PlannerError as refused:
        if "\n" in str(refused):
            return f"a refusal of several lines: {refused}"
        if target.read_bytes() != before:
            return "refused, and changed all the same"
        OUTCOMES[re.sub(r"[\d,.]+|'[^']*'|\([^)]*\)|part \S+", "_", str(refused).replace(str(target), ""))[:70]] += 1
    except Exception:  # noqa: BLE001  a traceback is what is looked for
        return traceback.format_exc()
    else:
        OUTCOMES["written"] += 1
        with contextlib.suppress(zipfile.BadZipFile):
            old, new = _parts(before), richbook.parts_of(target)
            lost = {name for name, data in old.items() if new.get(name) != data} & own - EXTENDED
            if lost:
                return f"foreign parts differ: {lost}"
    took = time.perf_counter() - started
    return f"took {took:.0f} s" if took > SECONDS else ""


def _parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return {entry.filename: package.read(entry) for entry in package.infolist()}


OUTCOMES: collections.Counter[str] = collections.Counter()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, help="folder for the workbooks that found something")
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    finds = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        source, target, merged = (Path(name) / f"{what}.xlsx" for what in ("source", "target", "merged"))
        richbook.rich_workbook(source)
        own = set(richbook.parts_of(source))
        # With the result sheets of an earlier run in it, which the next one is to find and replace.
        run(Job(source=source, output=merged, pdf=None))
        for number in range(asked.count):
            dice = random.Random(asked.seed * 1_000_003 + number)
            if number % 4:
                mutate(dice, merged if number % 2 else source, target)
            else:
                odd_cells(dice, target)
            if not target.exists():
                continue
            before = target.read_bytes()
            if found := find_of(target, own):
                finds[found.strip().splitlines()[-1][:150]] += 1
                print(f"FIND {number} (seed {asked.seed}): {found}\n")
                if asked.keep:
                    asked.keep.mkdir(exist_ok=True)
                    (asked.keep / f"{asked.seed}-{number}.xlsx").write_bytes(before)
    for what, count in OUTCOMES.most_common(25):
        print(f"{count:6} {what}")
    for what, count in finds.most_common():
        print(f"FINDS {count:5} {what}")
    print(f"{asked.count} workbooks, {sum(finds.values())} finds")
    raise SystemExit(bool(finds))


if __name__ == "__main__":
    main()
