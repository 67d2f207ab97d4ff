"""How good the estimate is on rows that its constants have not seen; with --write, the constants from all rows.

Run by hand: `make accuracy`, or `python tests/accuracy/accuracy.py [--write] [--quick]`.
"""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path

import numpy as np
from fit import LATENCY_GROUP, NO_NVLINK, Rows, configuration, fit, moe_group, stream_group, tensor_group
from spread import coverage_seen, coverage_unseen, folds_of, held_out, inside, ranges

from planner import catalog
from planner.measured import predict, read_measured
from planner.plan.accuracy import KINDS

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "planner" / "data"
SEEDS = (1, 2, 3)
# Classes of which nothing was measured go by this cell, less a tenth, with a wider range.
UNMEASURED = {"gaudi": ("nv-dc-hbm", "serving"), "tpu": ("nv-dc-hbm", "serving")}
LESS, LOWER, HIGHER = 0.9, 0.75, 1.2
# Whose latencies hold on a class for an engine that was not measured there; elsewhere llama.cpp's.
LIKE = {"nv-dc-hbm": "serving", "amd-dc-hbm": "serving", "gaudi": "serving", "tpu": "serving", "aws-neuron": "neuron"}
FEW = 4


def load() -> Rows:
    """The measured rows that count; a batch whose arithmetic has no peak cannot place the time per stream."""
    table = read_measured(HERE / "measured.csv")
    pairs = [(predict(row), row) for row in table.rows]
    kept = [
        (p, row)
        for p, row in pairs
        if not p.left_out and (p.result.scenario.peak_tflop_s or p.result.scenario.batch == 1)
    ]
    print(f"{len(pairs):,} rows, {len(kept):,} of them count.")
    return Rows(
        [p for p, _ in kept],
        np.array([row.text("source") for _, row in kept]),
        np.array(
            [
                configuration({name: row.text(name) for name in ("hw", "model", "precision", "engine", "parallel")})
                for _, row in kept
            ]
        ),
    )


def print_table(rows: Rows, errors: np.ndarray, covered: np.ndarray, above: np.ndarray, groups: list) -> None:
    print(f"{'':<28}{'rows':>6}{'conf.':>7}{'median':>8}{'90 %':>8}{'bias':>8}{'inside':>8}{'above ceiling':>15}")
    times = len(errors) // len(rows.measured)
    for name, chosen in groups:
        many = np.tile(chosen, times)
        if not chosen.any():
            continue
        e = np.exp(errors[many]) - 1
        count = len(set(rows.configurations[chosen]))
        print(
            f"{name:<28}{chosen.sum():>6,}{count:>7,}{np.median(np.abs(e)):>8.1%}{np.quantile(np.abs(e), 0.9):>8.1%}"
            f"{np.median(e):>+8.1%}{covered[many].mean():>8.1%}{(above & chosen).sum():>15,}"
        )
    print()


def judge(rows: Rows, all_rows: np.ndarray, seeds: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Print the held-out tables; the mean held-out errors by configuration, and those by source."""
    by_kind = [("all", all_rows), *((k, rows.kinds == k) for k in KINDS)]
    by_class = [(c, rows.classes == c) for c in np.unique(rows.classes)]
    by_source = [(s[:27], rows.sources == s) for s in np.unique(rows.sources)]
    above = rows.measured > rows.ceilings
    unseen = held_out(rows, rows.sources, all_rows)
    runs = [(folds_of(rows, seed), seed) for seed in seeds]
    seen = [held_out(rows, fold, all_rows) for fold, _ in runs]
    covered = [coverage_seen(rows, errors, unseen, fold) for errors, (fold, _) in zip(seen, runs, strict=True)]
    print(f"Whole configurations held out, five folds, {len(seeds)} shuffles:")
    print_table(rows, np.concatenate(seen), np.concatenate(covered), above, [*by_kind, *by_class])
    print("Whole sources held out:")
    print_table(rows, unseen, coverage_unseen(rows, unseen), above, [*by_kind, *by_source])
    return np.mean(seen, axis=0), unseen


def constants(rows: Rows, logs: np.ndarray) -> list[list[object]]:
    """The lines of class_constants.csv: each cell, then each class, then those not measured, then any."""
    value = dict(zip(rows.names, np.exp(logs), strict=True))
    here = [(rows.classes == c) & (rows.groups == g) for c, g in rows.cells]
    count = {cell: len(set(rows.configurations[own])) for cell, own in zip(rows.cells, here, strict=True)}

    def pooled(cells: list) -> float:
        weights = np.array([count[cell] ** 0.5 for cell in cells])
        return float(np.exp(weights @ [np.log(value["eta", *cell]) for cell in cells] / weights.sum()))

    def line(name: str, group: str, eta: float, own: np.ndarray, basis: str) -> list[object]:
        like = group if group in LATENCY_GROUP else LIKE.get(name, "llamacpp")
        base = LATENCY_GROUP[like]
        # The classes are all of one kind of link; a class not measured goes by NVLink's.
        tensor = value.get(("tensor_layer", tensor_group(name, base)), 0.0)
        return [
            name, group, f"{eta:.3f}", f"{value['layer', base]:.1f}", f"{value['moe_layer', moe_group(base)]:.1f}",
            f"{tensor:.1f}", f"{value['stream', stream_group(base)]:.1f}", f"{value['mfu',]:.3f}",
            int(like in {"llamacpp", "other"}), f"{value['stall_mfu',]:.3f}", f"{value['moe_stall_mfu',]:.3f}",
            int(own.sum()), len(set(rows.configurations[own])), basis,
        ]  # fmt: skip

    found = [
        line(
            *cell,
            value["eta", *cell],
            own,
            "fitted" if count[cell] >= FEW else "few configurations, drawn towards 0.80",
        )
        for cell, own in zip(rows.cells, here, strict=True)
    ]
    for name in np.unique(rows.classes):
        cells = [cell for cell in rows.cells if cell[0] == name]
        found.append(line(str(name), "any", pooled(cells), rows.classes == name, "mean of the class's groups"))
    none = np.zeros(len(rows.measured), bool)
    for name, cell in UNMEASURED.items():
        found.append(line(name, "any", LESS * value["eta", *cell], none, "no rows: HBM serving x 0.9, wide range"))
    found.append(line("any", "any", pooled(rows.cells), ~none, "mean of all groups"))
    return found


def range_lines(found: dict) -> list[list[object]]:
    """The lines of class_ranges.csv."""
    lines = [
        [c, k, f"{np.exp(low):.3f}", f"{np.exp(high):.3f}", n, m] for (c, k), (low, high, n, m) in sorted(found.items())
    ]
    for name in UNMEASURED:
        for kind in sorted(KINDS):
            low, high, *_ = found["any", kind]
            lines.append([name, kind, f"{np.exp(low) * LOWER:.3f}", f"{np.exp(high) * HIGHER:.3f}", 0, 0])
    return lines


def put(file: str, lines: list[list[object]], *, write: bool) -> None:
    """Write a table under the header that it has, or say how far what is there lies from it."""
    path = DATA / file
    header, *was = csv.reader(path.read_text("utf-8").splitlines())
    old = {tuple(line[:2]): line[2:] for line in was}
    moves = []
    for line in lines:
        for name, now, before in zip(
            header[2:], map(str, line[2:]), old.get((str(line[0]), str(line[1])), []), strict=False
        ):
            if now != before and name != "basis":
                moves.append(
                    (abs(float(now) / float(before) - 1) if float(before) else 1.0, line[0], line[1], name, before, now)
                )
    print(
        f"{file}: {len(moves)} figures differ from what ships" + ("" if moves else ".") + (", most:" if moves else "")
    )
    for _, *move in sorted(moves, key=lambda item: -item[0])[:8]:
        print("   ", *move)
    if write:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([header, *lines])
        path.write_text(out.getvalue(), "utf-8")
        print(f"Wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the shipped constants anew, from all rows")
    parser.add_argument("--quick", action="store_true", help="one shuffle of the folds")
    options = parser.parse_args()
    rows = load()
    all_rows = np.ones(len(rows.measured), bool)
    logs = fit(rows, np.flatnonzero(all_rows))
    seen, unseen = judge(rows, all_rows, SEEDS[:1] if options.quick else SEEDS)
    found = ranges(rows, all_rows, seen, unseen)
    covered = inside(rows, found, rows.errors(logs), np.flatnonzero(all_rows))
    print(
        f"Fitted to all rows: {np.median(np.abs(np.exp(rows.errors(logs)) - 1)):.1%} median error, {covered.mean():.1%} inside."
    )
    put("class_constants.csv", constants(rows, logs), write=options.write)
    put("class_ranges.csv", range_lines(found), write=options.write)


assert all(name in catalog.DEVICE_CLASSES for name in NO_NVLINK)

if __name__ == "__main__":
    main()
