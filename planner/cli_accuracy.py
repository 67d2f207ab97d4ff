"""The commands that hold the estimate against measurements: accuracy of a table of rates, calibration to one's own."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from planner import __version__
from planner.issues import PlannerError
from planner.terminal_tables import Gives, TableColumn, print_fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.measured import Prediction
    from planner.plan.accuracy import ErrorLine, Judged
    from planner.plan.calibrate import Calibrated, Fitted

# What a row's prediction adds to its columns.
_ADDED: Final = (
    "base", "low", "high", "ceiling", "serving_kind", "weights_read_gb", "kv_read_gb", "memory_ms", "compute_ms",
    "layers", "layers_ms", "streams_ms", "stall_ms", "step_ms", "engine_group", "device_class", "left_out",
)  # fmt: skip


@click.command(
    epilog="""\b
Examples:
  planner accuracy measured.csv                measured.predicted.csv and the table of errors
  planner accuracy measured.csv -o out.csv --json | jq .kinds
\b
Columns, of which a row needs a bandwidth (or a device) and a size (or a model):
  hw, hw_class, hw_count, parallel, bw_gbs_each, fp16_tflops_each, fp8_tflops_each, engine, model, kind,
  params_b, active_params_b, precision, weights_gb_total, active_weights_gb, kv_bytes_per_token, batch,
  prompt_len, output_len, ctx_mid, ttft_ms, flags, and the rate decode_tok_s_stream. Others are kept.
"""
)
@click.argument("rows", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Predictions  [ROWS.predicted.csv].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--force", is_flag=True, help="Write over a file that planner did not make.")
def accuracy(rows: Path, output: Path | None, as_json: bool, force: bool) -> None:
    """Predict measured rates, and say how far off.

    ROWS is a CSV file of measured decode rates. Every row is predicted by the estimate that sheets and report show,
    with the constants that planner ships: nothing is fitted to the rows. A row that cannot judge the estimate
    (speculative, offloaded, queued, ...) is predicted as well and says why it does not count.
    """
    from planner.files import refuse_target, replacing  # noqa: PLC0415  --help must answer at once
    from planner.measured import predict, read_measured  # noqa: PLC0415
    from planner.measured.rows import written  # noqa: PLC0415
    from planner.plan.accuracy import error_table  # noqa: PLC0415

    target = output or rows.with_name(f"{rows.stem}.predicted.csv")
    if target.resolve() == rows.resolve():
        raise PlannerError(f"{target} is the table itself; name another file.")
    table = read_measured(rows)
    refuse_target(target, ".csv", _is_ours, force=force)
    predictions = [predict(row) for row in table.rows]
    text = written(table, _ADDED, [_cells(prediction) for prediction in predictions])
    with replacing(target) as new:
        new.temporary.write_text(text, "utf-8", newline="")
    judged = [(one, prediction.left_out) for prediction in predictions if (one := _judged(prediction))]
    kinds, classes = error_table(one for one, left_out in judged if not left_out)
    every, _ = error_table(one for one, _ in judged)
    reasons = _counted_reasons(predictions)
    predicted = sum(prediction.base is not None for prediction in predictions)
    if as_json:
        summary = {
            "planner": __version__,
            "source": str(rows),
            "rows": len(predictions),
            "predicted": predicted,
            "counted": kinds[0].rows if kinds else 0,
            "kinds": [dataclasses.asdict(line) for line in kinds],
            "classes": [dataclasses.asdict(line) for line in classes],
            "with_left_out": [dataclasses.asdict(line) for line in every],
            "left_out": reasons,
            "columns_missing": list(table.missing),
            "written": str(target),
        }
        click.echo(json.dumps(summary, indent=2))
    else:
        _print_errors("Kind", kinds)
        _print_errors("Class of device", classes)
        if reasons:
            _print_errors("With left-out rows", every)
            _print_reasons(reasons)
        counted = kinds[0].rows if kinds else 0
        click.echo(f"{len(predictions):,} rows, {predicted:,} predicted, {counted:,} counted.")
        click.echo(f"Wrote {target}")
    raise SystemExit(0 if predicted == len(predictions) else 1)


def _is_ours(data: bytes) -> bool:
    return data.partition(b"\n")[0].rstrip().endswith(",".join(_ADDED).encode())


def _judged(prediction: Prediction) -> Judged | None:
    from planner.plan.accuracy import Judged  # noqa: PLC0415  --help must not load the model

    result, measured = prediction.result, prediction.setting.measured
    if result is None or not measured or prediction.base is None:
        return None
    return Judged(
        prediction.kind,
        prediction.device_class,
        measured,
        prediction.base,
        result.low_tokens_per_sec,
        result.high_tokens_per_sec,
        prediction.ceiling_tokens_per_sec,
    )


def _cells(prediction: Prediction) -> list[str]:
    """A row's predicted cells, in the order of their columns."""
    result = prediction.result
    if result is None:
        empty = len(_ADDED) - 1
        return [*[""] * empty, prediction.reason]
    scenario = result.scenario
    computing = result.added_compute_ms if result.decode_compute_ms is None else result.decode_compute_ms
    figures = [
        prediction.base, result.low_tokens_per_sec, result.high_tokens_per_sec, prediction.ceiling_tokens_per_sec,
        prediction.kind, result.weights_read_gb, result.kv_read_gb, result.decode_memory_ms, computing,
        scenario.layers, prediction.layers_ms, prediction.streams_ms, result.stall_ms, result.step_time_ms,
        prediction.setting.engine_group, prediction.device_class, prediction.reason,
    ]  # fmt: skip
    return ["" if value is None else value if isinstance(value, str) else f"{value:.6g}" for value in figures]


def _counted_reasons(predictions: Sequence[Prediction]) -> dict[str, int]:
    """Why rows do not count, the most frequent reason first."""
    counts: dict[str, int] = {}
    for prediction in predictions:
        if prediction.left_out:
            counts[prediction.left_out] = counts.get(prediction.left_out, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _print_errors(title: str, lines: Sequence[ErrorLine]) -> None:
    heads = [title, "Rows", "Median\nerror", "90 %\nbelow", "Bias", "In\nrange", "Above\nceiling"]
    rows = [
        [
            line.group, f"{line.rows:,}", f"{line.median:.1%}", f"{line.p90:.1%}", f"{line.bias:+.1%}",
            f"{line.inside:.1%}", f"{line.above_ceiling:,}",
        ]
        for line in lines
    ]  # fmt: skip
    print_table(heads, rows)


def _print_reasons(reasons: dict[str, int]) -> None:
    print_table(["Left out", "Rows"], [[reason, f"{count:,}"] for reason, count in reasons.items()])


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table whose first column is folded to the width of the terminal; figures stand to the right."""
    if not rows:
        return
    texts = list(zip(*rows, strict=True))
    columns = {heads[0]: TableColumn(heads[0], texts[0], Gives.FOLDED, to_right=False)}
    columns |= {head: TableColumn(head, column) for head, column in zip(heads[1:], texts[1:], strict=True)}
    print_fitted(columns)
    click.echo()


@click.command(
    epilog="""\b
Examples:
  planner calibrate measured.xlsx             what your rates say, and what to type
  planner calibrate plan.xlsx --sheet Bench --json
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@click.option("--sheet", default="", help="Sheet to read; else Scenarios, else the best-fitting headers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def calibrate(workbook: Path, sheet: str, as_json: bool) -> None:
    """Efficiencies from your own measured rates.

    For each scenario with a Measured rate: the efficiency that the core model would need, the fetch efficiency that the
    estimate would need beside its other terms, and why a rate may lie above the ceiling. Then one value for each class
    of device and engine, and what to type into the columns Efficiency and Fetch efficiency. Nothing is written.
    """
    from planner import job as jobs  # noqa: PLC0415  --help must not load openpyxl
    from planner.plan.calibrate import calibrate as back_solved  # noqa: PLC0415
    from planner.plan.calibrate import fit_groups  # noqa: PLC0415

    study = jobs.plan_workbook(workbook, sheet=sheet)
    named = [(case.name, found) for case in study.cases if (found := back_solved(case.result))]
    if not named:
        raise PlannerError(
            f"No scenario of {workbook.name} has a rate under 'Measured rate (tok/s)'; type the measured rate of one "
            "stream there."
        )
    groups = fit_groups(found for _, found in named)
    if as_json:
        click.echo(json.dumps(_calibration_as_json(named, groups), indent=2))
    else:
        _print_calibrated(named)
        _print_fitted(groups)
        if study.skipped:
            click.echo(f"{len(study.skipped)} skipped; `planner check` says why.")
    raise SystemExit(1 if study.skipped else 0)


def _print_calibrated(named: Sequence[tuple[str, Calibrated]]) -> None:
    heads = [
        "Scenario",
        "Measured\ntok/s",
        "Estimate\ntok/s",
        "Efficiency\n(MBU)",
        "Of weights\nread",
        "Fetch\nefficiency",
    ]
    rows = [
        [
            name, f"{found.measured:,.2f}", _number(found.estimate), _ratio(found.efficiency),
            _ratio(found.read_efficiency), _ratio(found.fetch_efficiency),
        ]
        for name, found in named
    ]  # fmt: skip
    print_table(heads, rows)
    for name, found in named:
        if found.above_ceiling:
            click.echo(click.style("above   ", fg="yellow") + f"{name}: {found.above_ceiling}.")
        elif found.why:
            click.echo(click.style("note    ", fg="cyan") + f"{name}: {found.why}.")
    if any(found.above_ceiling or found.why for _, found in named):
        click.echo()


def _print_fitted(groups: Sequence[Fitted]) -> None:
    from planner import catalog  # noqa: PLC0415  --help must not read the tables

    heads = [
        "Class, engine", "Rows,\nconf.", "Efficiency", "Fetch\neff.", "from–to", "Shipped", "Error\nbefore",
        "Error\nafter",
    ]  # fmt: skip
    labels = [f"{catalog.DEVICE_CLASSES.get(g.device_class, 'Any class')}, {g.engine_group}" for g in groups]
    rows = [
        [
            label, f"{group.rows}, {group.configurations}", _ratio(group.efficiency), _ratio(group.fetch_efficiency),
            _spread(group.fetch_spread), _ratio(group.shipped),
            _percent(group.error_before), _percent(group.error_after),
        ]
        for label, group in zip(labels, groups, strict=True)
    ]  # fmt: skip
    print_table(heads, rows)
    for label, group in zip(labels, groups, strict=True):
        typed = [
            f"{column} {value:.3f}"
            for column, value in (("Efficiency", group.efficiency), ("Fetch efficiency", group.fetch_efficiency))
            if value is not None
        ]
        if typed:
            click.echo(f"Type for {label}: {', '.join(typed)}")


def _calibration_as_json(named: Sequence[tuple[str, Calibrated]], groups: Sequence[Fitted]) -> dict[str, Any]:
    return {
        "planner": __version__,
        "scenarios": [
            {
                "name": name,
                "measured_tokens_per_sec": found.measured,
                "estimated_tokens_per_sec": found.estimate,
                "efficiency": found.efficiency,
                "read_efficiency": found.read_efficiency,
                "fetch_efficiency": found.fetch_efficiency,
                "above_ceiling": found.above_ceiling,
                "why": found.why,
            }
            for name, found in named
        ],
        "groups": [dataclasses.asdict(group) for group in groups],
    }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _spread(values: tuple[float, float] | None) -> str:
    return "–" if values is None else f"{values[0]:.2f}–{values[1]:.2f}"
