"""The commands of `planner catalog`: the devices and models that planner knows, and a model read from its own files."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from planner.issues import PlannerError
from planner.terminal_tables import Gives, TableColumn, print_fitted
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.catalog import Device, Model

_LABEL_WIDTH: Final = 30
_NOT_KNOWN: Final = "–"

# What a record shows, in this order; units follow from the names.
_DEVICE: Final = {
    "name": "Device",
    "vendor": "Maker",
    "class_label": "Class",
    "total_memory_gb": "Memory",
    "memory_basis": "Memory as",
    "memory_gb": "Memory as sold",
    "bandwidth_gb_s": "Memory bandwidth",
    "fp16_tflop_s": "FP16 peak, dense",
    "fp8_tflop_s": "FP8 peak, dense",
    "int8_tflop_s": "INT8 peak, dense",
    "fp4_tflop_s": "FP4 peak, dense",
    "interconnect_gb_s": "Interconnect, both ways",
    "power_w": "Power",
    "source": "Source",
    "confidence": "Confidence",
    "notes": "Notes",
}
_MODEL: Final = {
    "name": "Model",
    "hf_id": "Hugging Face",
    "params_b": "Parameters",
    "active_params_b": "Active per token",
    "streamed_params_b": "Read per token",
    "experts": "Experts",
    "active_experts": "Active experts",
    "native_precision": "Precision",
    "expert_precision": "Precision of experts",
    "layers": "Layers",
    "kv_layers": "Layers with a KV cache",
    "full_layers": "Layers that see all tokens",
    "window_tokens": "Window of the others",
    "attention": "Attention",
    "heads": "Heads",
    "kv_heads": "KV heads",
    "head_dim": "Head dimension",
    "kv_lora_rank": "KV latent rank",
    "rope_dim": "Rotary dimension",
    "indexer_head_dim": "Indexer dimension",
    "indexer_top_tokens": "Indexer picks",
    "hidden": "Hidden size",
    "vocab": "Vocabulary",
    "max_context_tokens": "Longest context",
    "kv_bytes_per_token": "KV bytes per token, 16 bits",
    "weights_gb": "Weights in the file",
    "bits_per_weight": "Bits per weight",
    "source": "Source",
    "confidence": "Confidence",
    "notes": "Notes",
}
_KV_BYTES: Final = 2


@click.group(
    epilog="""\b
Examples:
  planner catalog devices
  planner catalog devices "RTX 4090"
  planner catalog models llama-3.1-70b
  planner catalog import model.gguf
"""
)
def catalog() -> None:
    """Devices and models that planner knows, each with its source."""


@catalog.command(
    epilog="""\b
Examples:
  planner catalog devices
  planner catalog devices "h100 sxm"
  planner catalog devices --json | jq '.[] | select(.bandwidth_gb_s > 3000).name'
"""
)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def devices(name: str | None, as_json: bool) -> None:
    """Every device, or all that is known of one.

    Peaks are dense: a datasheet's figure with sparsity is twice as high and serves no LLM.
    """
    from planner import catalog as known  # noqa: PLC0415  --help must not read the tables

    if name is not None:
        device = known.find_device(name)
        if device is None:
            several = [d.name for d in known.devices_named(name)]
            raise PlannerError(_not_found("device", name, several, known.nearest_devices(name)))
        _show(_device_values(device), _DEVICE, as_json=as_json)
    elif as_json:
        click.echo(json.dumps([_device_values(device) for device in known.devices()], indent=2))
    else:
        heads = ["Device", "Memory\nGB", "Bandwidth\nGB/s", "FP16\nTFLOP/s", "FP8\nTFLOP/s", "FP4\nTFLOP/s", "Class"]
        figures = ("total_memory_gb", "bandwidth_gb_s", "fp16_tflop_s", "fp8_tflop_s", "fp4_tflop_s")
        rows = [[d.name, *(_figure(getattr(d, name)) for name in figures), d.class_label] for d in known.devices()]
        _print_table(heads, rows, least=4)


@catalog.command(
    epilog="""\b
Examples:
  planner catalog models
  planner catalog models meta-llama/Llama-3.1-70B-Instruct
  planner catalog models mixtral-8x7b --json
"""
)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def models(name: str | None, as_json: bool) -> None:
    """Every model, or all that is known of one."""
    from planner import catalog as known  # noqa: PLC0415  --help must not read the tables

    if name is not None:
        model = known.find_model(name)
        if model is None:
            several = [m.name for m in known.models_named(name)]
            raise PlannerError(_not_found("model", name, several, known.nearest_models(name)))
        _show(_model_values(model), _MODEL, as_json=as_json)
    elif as_json:
        click.echo(json.dumps([_model_values(model) for model in known.models()], indent=2))
    else:
        heads = ["Model", "Parameters\nbillions", "Active\nbillions", "KV bytes\nper token", "Context\ntokens"]
        rows = [
            [
                m.name,
                _figure(m.params_b),
                _figure(m.active_params_b),
                f"{_KV_BYTES * m.kv_values_per_token:,}",
                f"{m.max_context_tokens:,}" if m.max_context_tokens else _NOT_KNOWN,
                str(m.layers),
                m.attention,
            ]
            for m in known.models()
        ]
        _print_table([*heads, "Layers", "Attention"], rows, least=4)


@catalog.command(
    "import",
    epilog="""\b
Examples:
  planner catalog import config.json
  planner catalog import model-Q4_K_M.gguf --json
  planner catalog import model.safetensors.index.json --csv > model.csv
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a header and a row, for a sheet of models.")
def import_model(file: Path, as_json: bool, as_csv: bool) -> None:
    """Describe a model from a file of yours.

    FILE is a Hugging Face config.json (or its folder), a .gguf file, or a *.safetensors.index.json. Nothing is
    downloaded, and weights are not read: the header and the shapes say it all.
    """
    from planner.model_files import read_model_file  # noqa: PLC0415  --help must not read the tables

    if as_json and as_csv:
        raise PlannerError("--json and --csv contradict each other; give one.")
    found = read_model_file(file)
    if as_csv:
        click.echo(_as_csv(found.row()), nl=False)
        return
    values = found.row() if found.model is None else found.row() | _kv_values(found.model)
    _show(values | ({"remarks": list(found.remarks)} if as_json else {}), _MODEL, as_json=as_json)
    if not as_json and found.remarks:
        click.echo("\n".join(found.remarks))


def _device_values(device: Device) -> dict[str, Any]:
    derived = {"class_label": device.class_label, "total_memory_gb": device.total_memory_gb}
    return dataclasses.asdict(device) | derived


def _model_values(model: Model) -> dict[str, Any]:
    return dataclasses.asdict(model) | _kv_values(model)


def _kv_values(model: Model) -> dict[str, Any]:
    return {
        "kv_bytes_per_token": _KV_BYTES * model.kv_values_per_token,
        "growing_kv_bytes_per_token": _KV_BYTES * model.growing_kv_values_per_token,
    }


def _as_csv(row: Mapping[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(row), lineterminator="\n")
    writer.writeheader()
    writer.writerow(row)
    return out.getvalue()


def _not_found(kind: str, name: str, several: Sequence[str], near: Sequence[str]) -> str:
    if several:
        return f"{name} leaves open which {kind}: {', '.join(several[:-1])} or {several[-1]}."
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; `planner catalog {kind}s` shows them all."
    return f"No {kind} named {name}{hint}"


def _show(values: Mapping[str, Any], labels: Mapping[str, str], *, as_json: bool) -> None:
    """One record: every value that is known, with its unit."""
    if as_json:
        click.echo(json.dumps(values, indent=2))
        return
    for key, label in labels.items():
        value = values.get(key)
        if value is None or value == "":
            continue
        shown = value if isinstance(value, str) else f"{value:,.10g}"
        click.echo(f"{label:<{_LABEL_WIDTH}}{shown} {unit_of(key).symbol}".rstrip())


def _figure(value: float | None) -> str:
    return _NOT_KNOWN if value is None else f"{value:,.1f}"


def _print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, least: int) -> None:
    """A table as wide as the terminal: columns from the last are left out, down to ``least``, then names give way."""
    texts = list(zip(*rows, strict=True))
    columns = {heads[0]: TableColumn(heads[0], texts[0], Gives.CUT, to_right=False)}
    for head, column in zip(heads[1:], texts[1:], strict=True):
        columns[head] = TableColumn(head, column, to_right=any(text[:1].isdigit() for text in column))
    print_fitted(columns, heads[: least - 1 : -1])
