"""The commands of `planner functions`: what people can type in Excel, tried here, and put where Excel finds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.issues import PlannerError

if TYPE_CHECKING:
    from planner.functions import ExcelFunction

# Arguments of the worked example, so that every function's example has a number to show.
_EXAMPLE: dict[str, str] = {
    "weights_gb": "140",
    "bandwidth_gb_s": "3350",
    "efficiency": "85%",
    "batch": "8",
    "tokens_per_sec": "20.34",
    "prompt_tokens": "2000",
    "prefill_tokens_per_sec": "9000",
    "output_tokens": "500",
    "response_time_s": "24.81",
    "requests_per_hour": "1161",
    "occupancy": "50%",
    "devices": "2",
    "params_b": "70",
    "precision": "FP16",
    "to_precision": "INT4",
    "device_bandwidth_gb_s": "3350",
    "device_memory_gb": "80",
    "usable_share": "90%",
    "layers": "80",
    "kv_layers": "80",
    "full_layers": "40",
    "kv_heads": "8",
    "head_dim": "128",
    "kv_lora_rank": "512",
    "rope_dim": "64",
    "kv_precision": "FP8",
    "kv_bytes_per_token": "327680",
    "context_tokens": "2500",
    "window_tokens": "1024",
    "kv_cache_gb": "6.5",
    "kv_room_tokens": "5000",
    "overhead_gb": "2",
    "memory_needed_gb": "150",
    "active_params_b": "12.9",
    "streamed_params_b": "12.8",
    "expert_params_b": "5.6",
    "experts": "8",
    "active_experts": "2",
    "expert_precision": "INT4",
    "active_weights_gb": "25.8",
    "added_compute_ms": "1",
    "estimated_generation_time_s": "24",
    "most_tokens_per_sec": "30",
    "prefill_s": "0.28",
    "range_factor": "0.8",
    "read_bandwidth_gb_s": "6700",
    "shared_prefill_s": "0.3",
    "stall_mfu": "90%",
    "stall_ms": "3.5",
    "tokens_per_step": "1",
    "weights_read_gb": "140",
    "kv_read_gb": "6",
    "heads": "64",
    "decode_tflop": "1.12",
    "peak_tflop_s": "989.5",
    "mfu": "50%",
    "decode_memory_ms": "50",
    "decode_compute_ms": "1.2",
    "layer_latency_us": "70",
    "step_overhead_ms": "1",
    "stream_overhead_us": "50",
    "estimated_tokens_per_sec": "18",
    "stages": "2",
    "cached_tokens": "500",
    "prefill_tflop": "280",
    "prefill_compute_s": "0.283",
    "prefill_mfu": "50%",
    "generation_time_s": "24.58",
    "time_to_first_token_s": "0.222",
    "offered_requests_per_hour": "900",
    "replicas": "2",
    "utilisation": "0.775",
    "arrival_variation": "1",
    "service_variation": "1",
    "queue_wait_s": "2.5",
    "acceptance": "70%",
    "draft_tokens": "4",
    "draft_step_ms": "2",
    "step_time_ms": "55",
    "device_cost_h": "2.5",
    "instance_cost_h": "20",
    "instance_devices": "8",
    "device_capex_cost": "30000",
    "device_cost_month": "365",
    "rent_cost_h": "20",
    "hosting_cost_h": "1",
    "licence_cost_h": "0.5",
    "support_cost_h": "0.5",
    "staff_cost_h": "2",
    "cost_per_request": "0.01",
    "prefill_share": "0.2",
    "monthly_capacity_m_tokens": "200",
    "api_cost_month": "1600",
    "growth_share_month": "0.05",
    "fleet_devices": "2",
    "paid_devices": "3",
    "fleet_requests_per_hour": "2000",
    "capex_cost": "250000",
    "residual_cost": "25000",
    "useful_life_years": "4",
    "device_power_w": "700",
    "pue": "1.3",
    "tariff_cost_kwh": "0.12",
    "running_cost_month": "7300",
    "hours_per_month": "730",
    "depreciation_cost_h": "6.42",
    "energy_cost_h": "0.22",
    "hourly_cost_h": "20",
    "busy_share": "30%",
    "aggregate_tokens_per_sec": "2000",
    "cache_write_tokens": "300",
    "input_cost_m": "3",
    "cached_cost_m": "0.3",
    "cache_write_cost_m": "3.75",
    "output_cost_m": "15",
    "api_request_cost": "0.0016",
    "monthly_cost": "14600",
    "api_cost_per_m_output": "8",
    "break_even_m_tokens": "1825",
    "full_capacity_m_tokens": "5256",
    "cost": "300",
    "exchange_rate": "95.32",
    "requests_month": "730000",
    "peak_to_average": "3",
    "headroom": "0.2",
}


@click.group(
    epilog="""\b
Examples:
  planner functions list
  planner functions call TOKENS_PER_SEC 140 3350 85%
  planner functions embed plan.xlsx
"""
)
def functions() -> None:
    """What people type in Excel: list, try, and install."""


def example_of(function: ExcelFunction) -> tuple[str, Any]:
    """A call with its value, as a person would type it."""
    from planner.for_excel import for_excel  # noqa: PLC0415  numpy is slow to load

    arguments = [_EXAMPLE[argument.name] for argument in function.arguments]
    typed = ", ".join(a if a[0].isdigit() else f'"{a}"' for a in arguments)
    return f"{function.name}({typed})", for_excel(function)(*arguments)


@functions.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def list_functions(as_json: bool) -> None:
    """Every function with its arguments and an example."""
    from planner.functions import EXCEL_FUNCTIONS  # noqa: PLC0415  --help must not load the model
    from planner.units import unit_of  # noqa: PLC0415

    rows: list[dict[str, Any]] = []
    for function in EXCEL_FUNCTIONS:
        call, value = example_of(function)
        rows.append(
            {
                "name": function.name,
                "signature": function.signature,
                "summary": function.summary,
                "arguments": [
                    {
                        "name": a.name,
                        "unit": unit_of(a.name).symbol,
                        "accepted": a.rule.accepted,
                        "default": a.default,
                    }
                    for a in function.arguments
                ],
                "unit": unit_of(function.formula.__name__).symbol,
                "example": call,
                "value": value,
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.secho(str(row["signature"]), bold=True)
        value = row["value"]
        shown = f"{value:,.7g}" if isinstance(value, int | float) else str(value)
        units = ", ".join(f"{a['name']} in {a['unit']}" for a in row["arguments"] if a["unit"])
        gives = f"{shown} {row['unit']}".strip()
        click.echo(f"    {row['summary']}\n    {units}\n    ={row['example']}  gives  {gives}\n")


@functions.command(
    context_settings={"ignore_unknown_options": True},
    epilog="""\b
Examples:
  planner functions call TOKENS_PER_SEC 140 3350 85%
  planner functions call WEIGHTS_GB 70 q4_k_m
""",
)
@click.argument("name")
@click.argument("arguments", nargs=-1)
def call(name: str, arguments: tuple[str, ...]) -> None:
    """Call a function as a cell would, and print what it gives.

    An argument "" stands for an empty cell.
    """
    from planner.for_excel import for_excel  # noqa: PLC0415  numpy is slow to load
    from planner.functions import BY_NAME  # noqa: PLC0415  --help must not load the model

    function = BY_NAME.get(name.upper())
    if function is None:
        raise PlannerError(_unknown(name, list(BY_NAME)))
    required = sum(not argument.optional for argument in function.arguments)
    if not required <= len(arguments) <= len(function.arguments):
        given = f"{len(arguments)} argument{'' if len(arguments) == 1 else 's'}"
        raise PlannerError(f"{given} given; expected {function.signature}.")
    value = for_excel(function)(*map(_typed, arguments))
    if isinstance(value, str) and value:
        raise PlannerError(f"{value}.")
    click.echo(f"{value:.15g}" if isinstance(value, float) else value)


def _typed(text: str) -> float | str | None:
    """An argument as a cell would hold it once it is typed: a number where it is one."""
    try:
        return float(text)
    except ValueError:
        return text or None


def _unknown(name: str, known: list[str]) -> str:
    import difflib  # noqa: PLC0415  only where a name is wrong

    close = difflib.get_close_matches(name.upper(), known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else "; `planner functions list` shows them all."
    return f"No function named {name}{hint}"


@functions.command(
    epilog="""\b
Examples:
  planner functions embed plan.xlsx
  planner functions embed plan.xlsx -o plan-with-functions.xlsx
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Another file  [the workbook itself].")
@click.option("--no-backup", is_flag=True, help="Keep no NAME.backup.xlsx beside it.")
@click.option("--force", is_flag=True, help="Write over another file that is there already.")
def embed(workbook: Path, output: Path | None, no_backup: bool, force: bool) -> None:
    """Put the functions into a workbook of yours.

    They work in Excel 365 on Windows, Mac and the web with no add-in. Only names are added: sheets,
    charts, macros and all else stay byte for byte. A name that the workbook has already stays as it is.
    """
    from planner.workbook.names import embed_functions  # noqa: PLC0415  --help must not load openpyxl

    done = embed_functions(workbook, output, backup=not no_backup, force=force)
    if done.kept:
        click.echo(f"Kept the workbook's own {', '.join(done.kept)}.", err=True)
    if done.shadowed:
        click.echo(
            f"On some sheets the workbook's own {', '.join(done.shadowed)} stands before the function.", err=True
        )
    if done.backup:
        click.echo(f"Kept a backup: {done.backup}")
    changed = f"{len(done.added)} functions added, {len(done.updated)} brought up to date"
    click.echo(f"{output or workbook}: {changed}.")
    raise SystemExit(1 if done.kept else 0)


@functions.command(
    epilog="""\b
Examples:
  planner functions addin planner.xlam
"""
)
@click.argument("addin", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Write over files that are there already.")
def addin(addin: Path, force: bool) -> None:
    """Write the Excel add-in, on any system.

    The functions then run in Python on this computer, in every workbook, on Windows. Excel must be told
    of them once: `planner functions install` does that on Windows, and says elsewhere what to do.
    """
    from planner.hosts.addin import steps, write_addin  # noqa: PLC0415  xlwings is slow to load

    for path in write_addin(addin, force=force):
        click.echo(f"Wrote {path}")
    click.echo(steps(addin))


@functions.command()
@click.argument("addin", type=click.Path(path_type=Path), default=Path("planner.xlam"))
def install(addin: Path) -> None:
    """Install the add-in into Excel (Windows)."""
    from planner.hosts import addin as host  # noqa: PLC0415  xlwings is slow to load

    click.echo(host.install(addin))
