"""The command that sweeps over devices, models, precisions, batches and contexts."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from planner import __version__
from planner.issues import PlannerError
from planner.terminal import counted
from planner.terminal_tables import Gives, TableColumn, print_fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.plan.sweep_view import FrontView
    from planner.sweep_job import SweepOutcome

_LIMIT: Final = 2_000_000


def _list(*flags: str, **options: Any) -> Callable[[Any], Any]:
    """An option that takes a list, in one text with commas or given several times."""
    return click.option(*flags, multiple=True, metavar="LIST", **options)


@click.command(
    epilog="""\b
Lists are parted by commas. Numbers may be ranges: 1..8, 1000..8000:500 (steps), 1..128x2 (doubling).
Devices and models may be names, patterns (H100*, qwen3*), all, and for devices class:nv-dc-hbm.

\b
Examples:
  planner sweep -d "H100 SXM,H200 SXM" -m llama-3.1-70b -p fp8 -b 1..64x2 -c 2000+500 -n 1,2,4
  planner sweep -d class:nv-dc-hbm -m all -p native,fp8,int4 -b 1..128x2 -c 1000..16000x2+500 \\
      -n 1..8x2 -o all.parquet
  planner sweep -d "H100*" -m qwen3-32b -p fp8 -b 1..64x2 -c 8000+500 -n 1,2,4 -o cost.xlsx \\
      --price "H100 SXM=2.50" --price "H100 PCIe=1.90" --currency USD --utilisation 40%
  planner sweep scenarios.xlsx -b 1..256 -o batches.csv      a workbook's scenarios at other batches
"""
)
@click.argument("workbook", type=click.Path(path_type=Path), required=False)
@_list("-d", "--devices", help="Devices of the catalogue, or of the workbook's Devices sheet.")
@_list("-m", "--models", help="Models of the catalogue, or of the workbook's Models sheet.")
@_list("-p", "--precisions", help="Precisions of the weights; native is the model's own  [native].")
@_list("-b", "--batches", help="Batches.")
@_list("-c", "--contexts", help="Prompt and output in tokens, such as 2000+500; each may be a range.")
@_list("-n", "--device-counts", help="How many devices serve one model  [1].")
@_list("-e", "--engines", help="Engines, such as vLLM,llama.cpp  [the usual one of the device's class].")
@_list("-k", "--kv-precisions", help="Precisions of the KV cache  [the default of a scenario].")
@click.option(
    "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Any other input, such as usable_share=0.92."
)
@click.option("--price", "prices", multiple=True, metavar="DEVICE=MONEY", help="What a device costs in an hour.")
@click.option(
    "--prices", "price_file", type=click.Path(path_type=Path), help="A .csv or .xlsx: device, price, currency."
)
@click.option("--utilisation", metavar="SHARE", help="Share of the paid hours that is busy; a cost needs it.")
@click.option("--currency", default="", help="Of the prices, such as EUR; else as the list of prices says.")
@click.option(
    "--front",
    type=click.Choice(["task", "model", "all"]),
    default="task",
    show_default=True,
    help="What is held against each other: points of one model and context, of one model, or all.",
)
@click.option("--only-fitting", is_flag=True, help="Leave out points that do not fit, or are no deployment.")
@click.option("--limit", type=click.IntRange(1), default=_LIMIT, show_default=True, help="Most points to evaluate.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="sweep.xlsx",
    show_default=True,
    help="A .xlsx, .parquet or .csv file.",
)
@click.option(
    "--chart", type=click.Path(path_type=Path), help="The front as .svg  [NAME.front.svg beside .parquet and .csv]."
)
@click.option("--no-chart", is_flag=True, help="Draw no .svg.")
@click.option("--sheet", default="", help="The workbook's sheet; else Scenarios, else the best-fitting headers.")
@click.option("--force", is_flag=True, help="Write over files that planner did not make.")
@click.option("--json", "as_json", is_flag=True, help="Print the front as JSON instead of a table.")
def sweep(
    workbook: Path | None,
    devices: tuple[str, ...],
    models: tuple[str, ...],
    precisions: tuple[str, ...],
    batches: tuple[str, ...],
    contexts: tuple[str, ...],
    device_counts: tuple[str, ...],
    engines: tuple[str, ...],
    kv_precisions: tuple[str, ...],
    settings: tuple[str, ...],
    prices: tuple[str, ...],
    price_file: Path | None,
    utilisation: str | None,
    currency: str,
    front: str,
    only_fitting: bool,
    limit: int,
    output: Path,
    chart: Path | None,
    no_chart: bool,
    sheet: str,
    force: bool,
    as_json: bool,
) -> None:
    """Evaluate every combination of the lists; mark the best.

    Writes all points with their rates, memory and cost, and marks the Pareto front: the points that no other beats
    in speed per stream without costing more. Without prices, speed is held against the aggregate per device.

    WORKBOOK holds scenarios to vary: each gives the inputs that no list names, and its sheets Devices and Models name
    devices and models of your own. Without it -d, -m, -b and -c are needed.

    Exit codes: 0 all done; 1 rows of the workbook were left out; 2 could not run.
    """
    from planner.plan.fill import EMPTY_LIBRARY  # noqa: PLC0415  --help must not load the model
    from planner.plan.sweep import sweep_of  # noqa: PLC0415
    from planner.sweep_job import run_sweep  # noqa: PLC0415

    if chart and no_chart:
        raise PlannerError("--chart and --no-chart contradict each other; give one.")
    if chart is None and not no_chart and output.suffix.lower() in {".csv", ".parquet"}:
        chart = output.with_name(f"{output.stem}.front.svg")
    for source in (workbook, price_file):
        if source is not None and source.resolve() == output.resolve():
            raise PlannerError(f"{output} is what the sweep reads; name another file with --output.")
    base, library, skipped = [], EMPTY_LIBRARY, 0
    if workbook is not None:
        from planner.workbook.read import read_scenarios  # noqa: PLC0415

        table = read_scenarios(workbook, sheet)
        base, library, skipped = [entry.resolution for entry in table.entries], table.library, len(table.skipped)
        if not base:
            raise PlannerError(f"{workbook} has no scenario that can be evaluated; `planner check` says why.")
    listed, currency = _listed(price_file, currency.strip())
    asked = sweep_of(
        devices,
        models,
        precisions or (() if base else "native"),
        batches,
        contexts,
        device_counts,
        engines=engines,
        kv_precisions=kv_precisions,
        fixed=dict(_pair(text, "--set", "FIELD=VALUE") for text in settings),
        prices=dict(_pair(text, "--price", "DEVICE=MONEY") for text in prices),
        listed=listed,
        utilisation=utilisation,
        currency=currency,
        front=front,
        only_fitting=only_fitting,
        limit=limit,
        base=base,
        library=library,
    )
    with _progress(asked.size, quiet=as_json) as step:
        outcome = run_sweep(asked, output, chart, step, force=force)
    if as_json:
        click.echo(json.dumps(_as_json(outcome), indent=2))
    else:
        _print_front(outcome.view)
        click.echo("\n".join(outcome.view.sentences))
        if skipped:
            click.echo(f"{counted(skipped, 'row')} of {workbook} left out; `planner check` says why.", err=True)
        for path in outcome.written:
            click.echo(f"Wrote {path}" + (f" ({counted(outcome.kept, 'point')})" if path == output else ""))
    raise SystemExit(1 if skipped else 0)


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise PlannerError(f"{option} is '{text}'; expected {form}.")
    return name.strip(), value.strip()


def _listed(file: Path | None, currency: str) -> tuple[dict[str, float], str]:
    """Prices by device from a file, and the one currency of all: as typed, else as the file has it."""
    if file is None:
        return {}, currency
    from planner.rules import currency_of  # noqa: PLC0415  --help must not load the model
    from planner.workbook.price_list import read_prices  # noqa: PLC0415  openpyxl is slow to load

    found = read_prices(file)
    if currency and found.currency and currency_of(currency) != found.currency:
        raise PlannerError(f"--currency is {currency}, but the prices of {file} are in {found.currency}.")
    return found.prices, currency or found.currency


@contextlib.contextmanager
def _progress(points: int, *, quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """A bar with points a second and the time that remains, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _what, _done: None
        return
    from rich.console import Console  # noqa: PLC0415  rich is slow to load
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.speed:,.0f} points/s" if task.speed else "")

    columns = (TextColumn("{task.description:<24}"), BarColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def step(what: str, done: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=points)
            bar.update(tasks[what], completed=done)

        yield step


# Heads in the terminal; what stands in every row alike is left out, then columns from the last, until it fits.
_HEADS: Final = {
    "name": "Scenario", "model": "Model", "device": "Device", "devices": "Count", "precision": "Precision",
    "batch": "Batch", "prompt_tokens": "Prompt\ntokens", "output_tokens": "Output\ntokens",
    "estimated_tokens_per_sec": "Stream\ntok/s", "cost_per_m_tokens": "per M",
    "device_tokens_per_sec": "Device\ntok/s", "prefill_s": "Prefill\ns", "estimated_response_time_s": "Response\ns",
    "engine": "Engine", "kv_precision": "KV", "estimated_aggregate_tokens_per_sec": "Aggregate\ntok/s",
}  # fmt: skip
_NAMES: Final = ("name", "model", "device")
_KEPT: Final = ("device", "devices", "batch", "estimated_tokens_per_sec")
_GIVES_WAY: Final = (
    "estimated_aggregate_tokens_per_sec", "device_tokens_per_sec", "prefill_s", "estimated_response_time_s",
    "kv_precision", "engine",
)  # fmt: skip
_MOST_SHOWN: Final = 30


def _print_front(view: FrontView) -> None:
    """The front, its first points where it has many, in a table that fits the terminal."""
    if not len(view):
        click.echo("No point is on a front.\n")
        return
    texts = _texts(view)
    heads = {**_HEADS, "cost_per_m_tokens": f"{view.currency}\nper M"}
    kept = {*_KEPT, view.gain, view.against}
    same = {name: column[0] for name, column in texts.items() if len(set(column)) == 1 and name not in kept}
    columns = {
        name: TableColumn(
            heads[name],
            column,
            Gives.CUT if name in _NAMES else Gives.NOT,
            to_right=name not in {*_NAMES, "precision", "engine", "kv_precision"},
        )
        for name, column in texts.items()
        if name not in same
    }
    said = ", ".join(f"{heads[name].replace(chr(10), ' ').lower()} {value}" for name, value in same.items() if value)
    click.echo(f"Pareto front{f' ({said})' if said else ''}:")
    print_fitted(columns, [name for name in _GIVES_WAY if name not in kept])
    if len(view) > _MOST_SHOWN:
        click.echo(f"... and {len(view) - _MOST_SHOWN:,} more.")
    click.echo()


def _texts(view: FrontView) -> dict[str, list[str]]:
    """The texts of the columns that the terminal shows, of as many points as it shows."""
    from planner.columns import shown  # noqa: PLC0415  --help must not load the model
    from planner.plan.sweep_columns import ALL_COLUMNS  # noqa: PLC0415
    from planner.sweep_job import listed  # noqa: PLC0415

    return {
        name: [shown(name, ALL_COLUMNS[name], value) for value in listed(name, view.columns[name])[:_MOST_SHOWN]]
        for name in _HEADS
        if name in view.names
    }


def _as_json(outcome: SweepOutcome) -> dict[str, Any]:
    from planner.sweep_job import listed  # noqa: PLC0415  --help must not load the model

    view = outcome.view
    columns = {name: listed(name, view.columns[name]) for name in view.names}
    return {
        "planner": __version__,
        "counts": outcome.counts,
        "kept": outcome.kept,
        "speed": view.gain,
        "against": view.against,
        "currency": view.currency or None,
        "utilisation": outcome.busy_share,
        "front": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "notes": list(view.sentences),
        "written": [str(path) for path in outcome.written],
    }
