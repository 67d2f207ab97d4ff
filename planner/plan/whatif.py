"""The menu of fixes: the same scenario with one thing otherwise, in the order in which to try them.

Lower precision, a smaller model or sparser weights, shorter context, larger batch, more bandwidth. Gains stand apart by
phase: what quickens decode and what quickens prefill are different matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner import catalog
from planner.formulas import speed
from planner.plan.basis import is_counted
from planner.plan.fill import CATALOGUE
from planner.plan.variants import at_batch, at_precision, otherwise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.scenario import Result, Scenario

# What a model goes down to; eight bits are FP8 where the device computes in it, INT8 elsewhere.
_LADDER: Final = ("FP16", "INT8", "INT4")
# Less is no step down: 8.5 bits to 8 saves a sixteenth.
_WORTH: Final = 0.9
# Devices nearer than this are the same part in another catalogue.
_FASTER: Final = 1.02


@dataclass(frozen=True, slots=True)
class Fix:
    """A change to a scenario: what it is, from what to what, and what the scenario comes to then."""

    name: str
    change: str
    result: Result
    own: Result

    def gain(self, figure: str) -> float | None:
        """By what share a rate grows, below 0 where it falls; None where either is not known."""
        new, old = getattr(self.result, figure), getattr(self.own, figure)
        return None if new is None or not old else new / old - 1

    def saving(self, figure: str) -> float | None:
        """By what share a time falls, below 0 where it grows; None where either is not known."""
        gain = self.gain(figure)
        return None if gain is None else -gain


def fixes_of(result: Result) -> tuple[Fix, ...]:
    """Every fix that can be tried on a scenario, in order; those that change nothing are left out.

    >>> from planner.plan.evaluate import evaluate
    >>> from planner.plan.scenario import Scenario
    >>> own = evaluate(Scenario(params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85))
    >>> [(fix.name, fix.change, round(fix.gain("tokens_per_sec"), 2)) for fix in fixes_of(own)][:2]
    [('Lower precision', 'FP16 to INT8', 1.0), ('Smaller or sparser model', '70B to 35B', 1.0)]
    """
    return tuple(Fix(name, change, changed, result) for name, made in _MENU for change, changed in made(result))


def _lower_precision(own: Result) -> Iterator[tuple[str, Result]]:
    for name in _LADDER:
        wanted = "FP8" if name == "INT8" and _computes_in_fp8(own.scenario) else name
        lower = at_precision(own, wanted)
        if lower and (lower.weights_gb or 0) <= (own.weights_gb or 0) * _WORTH:
            yield f"{_precision_of(own.scenario)} to {wanted}", lower
            return


def _computes_in_fp8(scenario: Scenario) -> bool:
    device = catalog.find_device(scenario.device) if scenario.device else None
    return device is not None and device.fp8_tflop_s is not None


def _precision_of(scenario: Scenario) -> str:
    if scenario.expert_precision and scenario.expert_precision != scenario.precision:
        return f"{scenario.precision}, experts {scenario.expert_precision}"
    return scenario.precision or ""


_SIZES: Final = ("params_b", "active_params_b", "streamed_params_b", "weights_gb", "active_weights_gb")


def _smaller_model(own: Result) -> Iterator[tuple[str, Result]]:
    scenario = own.scenario
    halved = {name: getattr(scenario, name) / 2 for name in _SIZES if getattr(scenario, name) is not None}
    known, unit = (scenario.params_b, "B") if scenario.params_b else (own.weights_gb, " GB")
    if known:
        yield f"{known:,.3g}{unit} to {known / 2:,.3g}{unit}", otherwise(own, **halved)


def _shorter_context(own: Result) -> Iterator[tuple[str, Result]]:
    prompt = own.scenario.prompt_tokens
    if prompt is None or prompt <= 1:
        return
    half = float(math.ceil(prompt / 2))
    cached = min(own.scenario.cached_tokens or 0.0, half)
    yield f"prompt {prompt:,.0f} to {half:,.0f}", otherwise(own, prompt_tokens=half, cached_tokens=cached)


def _larger_batch(own: Result) -> Iterator[tuple[str, Result]]:
    batch = own.scenario.batch or 1.0
    yield f"batch {batch:,.0f} to {batch * 2:,.0f}", at_batch(own, batch * 2)


def _more_bandwidth(own: Result) -> Iterator[tuple[str, Result]]:
    scenario = own.scenario
    devices = scenario.devices or 1.0
    total = None if scenario.bandwidth_gb_s is None else scenario.bandwidth_gb_s * 2
    change = f"{devices:,.0f} to {devices * 2:,.0f} devices" if is_counted(own) else "twice the bandwidth"
    # Of how many devices an aggregate is, is not known there.
    count = devices * 2 if is_counted(own) else devices
    yield change, otherwise(own, devices=count, bandwidth_gb_s=total)
    each = scenario.device_bandwidth_gb_s
    faster = _next_faster(scenario.device_class, each) if each else None
    if each and faster:
        total = None
        if scenario.bandwidth_gb_s is not None:
            total = speed.bandwidth_gb_s(faster.bandwidth_gb_s, devices)
        # The peak follows from the device by its name.
        filled = ("device_bandwidth_gb_s", "device_memory_gb", "peak_tflop_s")
        changed = otherwise(
            own,
            dict.fromkeys(filled, f"{CATALOGUE}: {faster.name}"),
            device=faster.name,
            device_bandwidth_gb_s=faster.bandwidth_gb_s,
            bandwidth_gb_s=total,
            device_memory_gb=faster.total_memory_gb,
        )
        yield f"to {devices:,.0f} x {faster.name}", changed


def _next_faster(device_class: str | None, bandwidth_gb_s: float) -> catalog.Device | None:
    """The device of a class whose bandwidth is the next above."""
    faster = [
        device
        for device in catalog.devices()
        if device.device_class == device_class and device.bandwidth_gb_s > bandwidth_gb_s * _FASTER
    ]
    return min(faster, key=lambda device: device.bandwidth_gb_s, default=None)


_MENU: Final = (
    ("Lower precision", _lower_precision),
    ("Smaller or sparser model", _smaller_model),
    ("Shorter context", _shorter_context),
    ("Larger batch", _larger_batch),
    ("More bandwidth", _more_bandwidth),
)
