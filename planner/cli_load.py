"""The command that says how much load each scenario takes within a wait."""

from __future__ import annotations

import json
from pathlib import Path

import click

from planner import __version__
from planner.terminal import cut, name_column
from planner.terminal_tables import TableColumn, print_fitted


@click.command(
    epilog="""\b
Examples:
  planner load scenarios.xlsx --wait 1             requests per second with a mean wait of at most a second
  planner load scenarios.xlsx --wait 0.2 --json | jq .scenarios
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0, min_open=True),
    required=True,
    help="Mean wait in seconds.",
)
@click.option("--sheet", default="", help="Sheet to read; else Scenarios, else the best-fitting headers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def load(workbook: Path, wait_s: float, sheet: str, as_json: bool) -> None:
    """How many requests each scenario takes within a wait.

    The wait is the mean one for a free stream, by the Allen-Cunneen approximation with the streams of all replicas
    as servers; the time to the first token comes on top.
    """
    from planner.columns import as_percent, rounded  # noqa: PLC0415  --help must answer at once
    from planner.job import plan_workbook  # noqa: PLC0415
    from planner.plan.load import load_within_wait  # noqa: PLC0415

    study = plan_workbook(workbook, sheet=sheet)
    found = [(case, load_within_wait(case.result, wait_s)) for case in study.cases]
    without = [case for case, taken in found if taken is None]
    if as_json:
        rows = [
            {
                "name": case.name,
                "row": case.origin.row,
                "capacity_requests_per_hour": taken.capacity_requests_per_hour,
                "requests_per_hour": taken.requests_per_hour,
                "requests_per_sec": taken.requests_per_sec,
                "utilisation": taken.utilisation,
            }
            for case, taken in found
            if taken is not None
        ]
        left = [{"name": case.name, "row": case.origin.row} for case in without]
        click.echo(json.dumps({"planner": __version__, "wait_s": wait_s, "scenarios": rows, "without": left}, indent=2))
        return
    shown = [(case.name, taken) for case, taken in found if taken is not None]
    if shown:
        names, loads = zip(*shown, strict=True)
        columns = {"name": name_column(names)}
        for head, texts in {
            "Capacity\nper hour": [rounded(load.capacity_requests_per_hour, 0) for load in loads],
            f"In {wait_s:g} s\nper hour": [rounded(load.requests_per_hour, 0) for load in loads],
            "per\nsecond": [rounded(load.requests_per_sec, 2) for load in loads],
            "Used": [as_percent(load.utilisation) for load in loads],
        }.items():
            columns[head] = TableColumn(head, texts)
        print_fitted(columns)
    if without:
        click.echo(f"Without requests per hour: {', '.join(cut(case.name) for case in without)}.")
