"""What the estimate says of a measured row, with the constants that ship, and whether the row can judge it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner.formulas import estimate, prefill
from planner.measured.scenario import Setting, setting_of
from planner.plan.evaluate import result_of
from planner.plan.resolve import resolve
from planner.units import MS_PER_S, US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.measured.rows import MeasuredRow
    from planner.plan.scenario import Result

# More of the peak than this no prefill of a whole prompt reaches.
_MOST_PREFILL_MFU: Final = 0.85
_DEVICES_OF_A_BOX: Final = 8
# What the flags of a row say against it: a part of the flag, and the reason.
_FLAGGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "offload": "weights exceed the device: CPU offload",
        "label suspect": "precision label suspect",
        "variant ambiguous": "file ambiguous",
    }
)
_FLAGGED_HOST: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CPU sees": "the CPU reaches only a part of the bandwidth in the column",
        "threads": "thread-limited run",
        "weak-host": "host-limited (small host, or PCIe of one to four lanes)",
        "row-split": "llama.cpp row split over PCIe",
    }
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """One row predicted. ``result`` is None where it cannot be; ``left_out`` says why a row does not count."""

    setting: Setting
    result: Result | None
    kind: str
    ceiling_tokens_per_sec: float | None
    left_out: str
    remarks: tuple[str, ...]

    @property
    def base(self) -> float | None:
        """The estimated rate of one stream."""
        return self.result.estimated_tokens_per_sec if self.result else None

    @property
    def device_class(self) -> str:
        """The class by whose constants the row was predicted."""
        return (self.result.scenario.device_class if self.result else self.setting.scenario.device_class) or "any"

    @property
    def layers_ms(self) -> float | None:
        """The latencies of all layers in a step."""
        scenario = self.result.scenario if self.result else None
        if scenario is None or scenario.layers is None or scenario.layer_latency_us is None:
            return None
        return scenario.layers * scenario.layer_latency_us / US_PER_MS

    @property
    def streams_ms(self) -> float | None:
        """The time that all streams but the first add to a step."""
        scenario = self.result.scenario if self.result else None
        if scenario is None or scenario.batch is None or scenario.stream_overhead_us is None:
            return None
        return (scenario.batch - 1) * scenario.stream_overhead_us / US_PER_MS

    @property
    def reason(self) -> str:
        """Why the row is left out, and what else is odd about it."""
        return "; ".join(dict.fromkeys((*filter(None, (self.left_out,)), *self.remarks)))


def predict(row: MeasuredRow) -> Prediction:
    """The estimate of a measured row. Nothing is fitted to the row, and its rate chooses no input."""
    setting = setting_of(row)
    kind = kind_of(setting)
    resolution = resolve(setting.scenario)
    # What a row says too little of, or says wrongly, is named before whatever follows from it.
    remarks = setting.remarks
    if not resolution.ok:
        missing = "; ".join(str(issue).rstrip(".") for issue in resolution.issues if issue.severity == "error")
        return Prediction(setting, None, kind, None, f"not predicted: {missing}", remarks)
    result = result_of(resolution.scenario, resolution.sources)
    if result.estimated_tokens_per_sec is None:
        return Prediction(setting, None, kind, None, f"not predicted: {_lacks(result)}", remarks)
    ceiling = _ceiling(result)
    reason = _left_out(row, setting, result, ceiling)
    if not reason and row.problems:
        reason = row.problems[0]
    return Prediction(setting, result, kind, ceiling, reason, remarks)


def kind_of(setting: Setting) -> str:
    """The kind of serving that a range of the estimate belongs to."""
    scenario = setting.scenario
    if setting.is_mixture:
        return "moe"
    if (scenario.devices or 1) > 1 and scenario.split == "tensor":
        return "tensor parallel"
    return "dense batched" if (scenario.batch or 1) > 1 else "dense batch 1"


def _lacks(result: Result) -> str:
    return "the size of its weights is not known" if result.weights_read_gb is None else "too few inputs"


def _ceiling(result: Result) -> float | None:
    """The rate that nothing passes: one read of what a single token needs, at the whole bandwidth, no cache."""
    if result.scenario.active_weights_gb is not None and result.read_bandwidth_gb_s:
        return estimate.read_ceiling_tokens_per_sec(result.scenario.active_weights_gb, result.read_bandwidth_gb_s, 1.0)
    return result.read_ceiling_tokens_per_sec


def _left_out(row: MeasuredRow, setting: Setting, result: Result, ceiling: float | None) -> str:
    """Why a row says nothing of the estimate: first what it says of itself, then what its figures contradict."""
    return _by_label(row, setting) or _by_figures(row, setting, result, ceiling)


def _by_label(row: MeasuredRow, setting: Setting) -> str:
    if not setting.measured:
        return "no decode rate (prefill-only row)"
    flags = row.text("flags")
    if "speculative" in flags.replace("MTP/spec", ""):
        return "speculative decoding"
    for flag, reason in _FLAGGED.items():
        if flag in flags:
            return reason
    hardware = row.text("hw")
    if "GB200" in hardware or "GB300" in hardware:
        return "rack-scale pool: the count sums prefill and decode workers"
    scenario = setting.scenario
    tensor = scenario.split == "tensor" and (scenario.devices or 1) > _DEVICES_OF_A_BOX
    if tensor and scenario.device_class in {"nv-dc-hbm", "amd-dc-hbm"}:
        return "tensor parallel above the 8 devices of a box (the label holds expert parallelism)"
    for flag, reason in _FLAGGED_HOST.items():
        if flag in flags:
            return reason
    return "eager baseline engine" if "HF transformers" in row.text("engine") else ""


def _by_figures(row: MeasuredRow, setting: Setting, result: Result, ceiling: float | None) -> str:
    """Where a row's own figures do not go together; they test the measurement and choose no prediction."""
    measured, first_ms, scenario = setting.measured or 0.0, setting.time_to_first_token_ms, result.scenario
    output = scenario.output_tokens or 1.0
    serving = setting.engine_group == "serving"
    queued = serving and first_ms is not None and first_ms / MS_PER_S > output / measured
    if "queued" in row.text("flags") or queued:
        return "queued: first token later than the generation takes, so fewer streams ran than the batch says"
    if ceiling is not None and measured > ceiling:
        return "above the bandwidth ceiling"
    if not (serving and first_ms is not None and scenario.prefill_on == "shared"):
        return ""
    if scenario.peak_tflop_s and scenario.active_params_b and MS_PER_S / measured < _least_step_ms(result):
        return "above the prefill ceiling: the token time cannot hold the prefill of every request"
    if row.text("engine").startswith("vllm 0.12.0") and "aic-auto-gap" in row.text("source"):
        return "set with rows above the prefill ceiling: its rate leaves prefill out"
    return ""


def _least_step_ms(result: Result) -> float:
    """The shortest step that holds one read of the active weights and every stream's share of its prefill."""
    scenario = result.scenario
    weights_gb = scenario.active_weights_gb or result.weights_gb or 0.0
    flop = prefill.prefill_tflop(scenario.active_params_b or 0.0, 0.0, 0.0, 0.0, scenario.prompt_tokens or 1.0, 0.0)
    whole_s = prefill.prefill_time_s(flop, scenario.peak_tflop_s or 1.0, scenario.devices or 1.0, _MOST_PREFILL_MFU)
    return estimate.decode_memory_ms(weights_gb, 0.0, result.read_bandwidth_gb_s or 1.0, 1.0) + prefill.stall_ms(
        scenario.batch or 1.0, whole_s, scenario.output_tokens or 1.0
    )
