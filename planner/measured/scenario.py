"""A measured row as a scenario of the planner, and why a row says nothing of the estimate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.formulas.memory import window_kv_tokens
from planner.plan.fill import usual_layers
from planner.plan.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.catalog import Device, Model
    from planner.measured.rows import MeasuredRow

# Shapes that were measured under made-up names, for which the catalogue has no model: layers alone.
_BENCHMARK_LAYERS: Final[Mapping[str, float]] = MappingProxyType(
    {"ft-gpt-20b": 44.0, "ft-gpt-89b": 48.0, "ft-gpt-175b": 96.0, "gpt-j-6b": 28.0}
)
# What most mixtures of experts that nobody lists look like.
_EXPERTS, _ACTIVE_EXPERTS = 128.0, 8.0
# 16-bit cache of one layer where no model says: grouped-query attention with 8 KV heads of 128, or narrower.
_KV_BYTES_PER_LAYER, _KV_BYTES_PER_MIXTURE_LAYER = 4096.0, 1024.0
_OUTPUT_TOKENS: Final = 128.0
_BLACKWELL: Final = re.compile(r"\bG?B[23]00\b|\bGB10\b|RTX 50[5-9]0|Blackwell", re.IGNORECASE)
_TENSOR: Final = re.compile(r"(?:d?ep|tp|tensor)", re.IGNORECASE)
_STAGES: Final = re.compile(r"pp\D{0,3}(\d+)", re.IGNORECASE)
_BITS_STATED: Final = re.compile(r"(\d+(?:\.\d+)?)[ -]?bpw", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Setting:
    """A row as a scenario, what was measured, and what is known of the row beside."""

    scenario: Scenario
    measured: float | None
    is_mixture: bool
    engine_group: str
    time_to_first_token_ms: float | None
    remarks: tuple[str, ...]


def setting_of(row: MeasuredRow) -> Setting:
    """A measured row as a scenario, every input of the estimate from the row or, where blank, from the catalogue.

    Nothing is taken from the measured rate. What is odd about the row is among the remarks.
    """
    remarks: list[str] = []
    model = _model(row.text("model"))
    params_b, active_b = row.number("params_b"), row.number("active_params_b")
    is_mixture = _is_mixture(row, model, params_b, active_b)
    if model is not None and is_mixture != (model.experts is not None):
        remarks.append(f"kind is '{row.text('kind')}', but {model.name} is {'dense' if is_mixture else 'a mixture'}")
        model = None
    device = _device(row.text("hw"))
    total_gb = row.number("weights_gb_total")
    active_gb = row.number("active_weights_gb")
    values: dict[str, Any] = {
        "name": row.text("id"),
        "model": model.name if model else "",
        "device": device.name if device else "",
        "engine": row.text("engine"),
        "device_class": _device_class(row, device, remarks),
        "params_b": params_b,
        "active_params_b": active_b,
        "precision": _precision(row.text("precision")),
        "weights_gb": total_gb,
        "device_bandwidth_gb_s": row.number("bw_gbs_each"),
        "batch": row.number("batch") or 1.0,
    }
    if is_mixture:
        values["active_weights_gb"] = active_gb
        if model is None:
            values |= {"experts": _EXPERTS, "active_experts": _ACTIVE_EXPERTS}
            remarks.append(f"experts of {row.text('model') or 'the model'} not known, taken as 8 of 128")
        if active_gb is not None and total_gb is not None and active_gb > total_gb:
            remarks.append("active_weights_gb is above weights_gb_total")
            values["active_weights_gb"] = total_gb
    elif active_b is None:
        values["active_params_b"] = params_b
    values |= _devices(row)
    values |= _tokens(row)
    values |= _cache(row, model, values, is_mixture=is_mixture)
    values["peak_tflop_s"] = _peak(row, is_mixture=is_mixture)
    group = catalog.engine_group(values["engine"]) if values["engine"] else "other"
    first_ms = row.number("ttft_ms")
    values["prefill_on"] = "shared" if _stalls(row, group, first_ms, values) else "apart"
    return Setting(
        Scenario(**values), _measured(row, values["batch"]), is_mixture, group, first_ms,
        (*remarks, *row.problems),
    )  # fmt: skip


def _measured(row: MeasuredRow, batch: float) -> float | None:
    stream = row.number("decode_tok_s_stream")
    together = row.number("decode_tok_s_aggregate")
    return stream if stream is not None or together is None else together / batch


@cache
def _model(name: str) -> Model | None:
    return catalog.find_model(name) if name else None


@cache
def _device(name: str) -> Device | None:
    return catalog.find_device(name) if name else None


def _is_mixture(row: MeasuredRow, model: Model | None, params_b: float | None, active_b: float | None) -> bool:
    kind = row.text("kind").casefold()
    if kind:
        return "moe" in kind or "mixture" in kind
    if model is not None:
        return model.experts is not None
    return bool(params_b and active_b and active_b < params_b)


def _device_class(row: MeasuredRow, device: Device | None, remarks: list[str]) -> str | None:
    given = row.text("hw_class").casefold()
    labels = {label.casefold(): key for key, label in catalog.DEVICE_CLASSES.items()}
    known = given if given in catalog.DEVICE_CLASSES else labels.get(given)
    if known is None and given:
        remarks.append(f"hw_class '{given}' is not known")
    found = known or (device.device_class if device else None)
    if found is None:
        remarks.append("device class not known: constants of all classes")
    return found


def _precision(text: str) -> str | None:
    """The precision that a label means, for the arithmetic's peak and for a size that is not stated."""
    stated = _BITS_STATED.search(text)
    if stated:
        return stated[1]
    joined = re.sub(r"\s*-\s*", "_", text)
    for candidate in (text, joined, *reversed(text.split()), *re.split(r"[-_ (]", text)):
        known = catalog.find_precision(candidate)
        if known:
            return known.name
    return None


def _devices(row: MeasuredRow) -> dict[str, Any]:
    """How many devices read at once: all under tensor or expert parallelism, one where layers are split."""
    count, parallel = row.number("hw_count") or 1.0, row.text("parallel")
    stages = _STAGES.search(parallel)
    if not _TENSOR.match(parallel):
        return {"devices": count, "split": "layers"}
    if stages and count % float(stages[1]) == 0:
        count /= float(stages[1])
    return {"devices": count, "split": "tensor"}


def _tokens(row: MeasuredRow) -> dict[str, float]:
    """Prompt and output; where the prompt is not stated, the one that gives the mean context."""
    output = row.number("output_len") or _OUTPUT_TOKENS
    prompt = row.number("prompt_len", zero=True)
    context = row.number("ctx_mid", zero=True)
    if prompt is None:
        prompt = context - output / 2 if context is not None else 1.0
    return {"prompt_tokens": float(max(1, round(prompt))), "output_tokens": float(max(1, round(output)))}


def _cache(row: MeasuredRow, model: Model | None, values: dict[str, Any], *, is_mixture: bool) -> dict[str, float]:
    """Bytes of cache per token, of all layers, so that the step reads what it read at the stated mean context.

    The column counts the layers that grow; lengths that vary make the mean context another than prompt + output / 2.
    """
    found: dict[str, float] = {}
    layers = _BENCHMARK_LAYERS.get(row.text("model").casefold())
    if layers is not None:
        found["layers"] = layers
    growing = row.number("kv_bytes_per_token")
    if growing is None and model is not None:
        growing = float(2 * model.growing_kv_values_per_token)
    if growing is None:
        active = values["active_params_b"]
        if active is None:
            return found
        per_layer = _KV_BYTES_PER_MIXTURE_LAYER if is_mixture else _KV_BYTES_PER_LAYER
        growing = per_layer * (layers or usual_layers(active, mixture=is_mixture))
    kv_layers, full, window = 1.0, 1.0, 1.0
    if model is not None and model.window_tokens is not None:
        kv_layers, full, window = float(model.kv_layers), float(model.full_layers), float(model.window_tokens)
    taken = values["prompt_tokens"] + values["output_tokens"] / 2
    stated = row.number("ctx_mid", zero=True)
    context = taken if stated is None else max(stated, 1.0)
    ratio = window_kv_tokens(context, kv_layers, full, window) / window_kv_tokens(taken, kv_layers, full, window)
    return found | {"kv_bytes_per_token": growing * kv_layers / full * ratio}


def _peak(row: MeasuredRow, *, is_mixture: bool) -> float | None:
    """The dense peak at which the row's precision computes; the catalogue's where the row states none."""
    fp16, fp8 = row.number("fp16_tflops_each"), row.number("fp8_tflops_each")
    precision = row.text("precision").casefold()
    if fp8 is not None and precision.startswith("fp8"):
        return fp8
    if fp8 is not None and precision.startswith(("fp4", "nvfp4")) and _BLACKWELL.search(row.text("hw")):
        # A mixture's experts come out at the 8-bit peak.
        return fp8 if is_mixture else 2 * fp8
    return fp16


def _stalls(row: MeasuredRow, group: str, first_ms: float | None, values: Mapping[str, Any]) -> bool:
    """Whether the measured rate holds the prefills of other requests: an online benchmark, or one that says so."""
    flags = row.text("flags")
    # On unified memory the source at hand reports decode apart from prefill.
    online = (
        group == "serving"
        and values["batch"] > 1
        and first_ms is not None
        and values["device_class"] != "unified-lpddr"
    )
    return online or ("prefill in" in flags and "interleaved" not in flags)
