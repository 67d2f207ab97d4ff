"""What an estimate leaves out for want of an input, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planner.catalog import is_measured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.plan.scenario import Scenario


# The figures that tell it.
TOLD_BY: Final = (
    "estimated_tokens_per_sec", "decode_compute_ms", "added_compute_ms", "stall_ms", "kv_read_gb",
    "kv_bytes_per_token", "speculative_step_ms",
)  # fmt: skip


def not_modelled(scenario: Scenario, figures: Mapping[str, Any], sources: Mapping[str, str]) -> tuple[str, ...]:
    """What the estimate of a scenario does not count, each with the input that would let it.

    Empty where there is no estimate at all.
    """
    if figures.get("estimated_tokens_per_sec") is None:
        return ()
    found = [*_of_cache(scenario, figures), *_of_experts(scenario, figures)]
    if figures.get("decode_compute_ms") is None and figures.get("added_compute_ms") is None:
        found.append("arithmetic (peak)")
    if scenario.layer_latency_us is None or scenario.layers is None:
        found.append("latency of layers (device class)")
    if scenario.prefill_on == "shared" and (scenario.batch or 1) > 1 and figures.get("stall_ms") is None:
        found.append("prefill stalls (prompt, output and peak)")
    if scenario.low_factor is None:
        found.append("range (device class)")
    if scenario.experts and scenario.device_class and not is_measured(scenario.device_class, "moe"):
        found.append("what mixtures take on this class of device (none measured)")
    if "device_class" not in sources and scenario.low_factor is not None:
        found.append("the device's own constants (device class)")
    return tuple(found)


def _of_cache(scenario: Scenario, figures: Mapping[str, Any]) -> list[str]:
    if figures.get("kv_read_gb") is None:
        return [f"KV reads ({'the model' if figures.get('kv_bytes_per_token') is None else 'prompt and output'})"]
    if (scenario.window_tokens is None) != (scenario.full_layers is None):
        return ["windows of sliding layers (window and full-attention layers)"]
    return []


def _of_experts(scenario: Scenario, figures: Mapping[str, Any]) -> list[str]:
    used, total = scenario.active_params_b, scenario.params_b
    if not total or not used or used >= total * _ALL_ACTIVE:
        return []
    if not (scenario.experts and scenario.active_experts):
        return ["experts left unread (experts and active experts)"]
    return ["experts that only drafted tokens read"] if figures.get("speculative_step_ms") is not None else []


# Below this share of all parameters a token uses only a part of them.
_ALL_ACTIVE = 0.95
