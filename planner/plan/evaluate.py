"""From a scenario to its figures: one table of formulas, read top to bottom.

Every surface (sheet, function, report, command line) takes its numbers from here.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.formulas import memory, speed
from planner.issues import PlannerError
from planner.plan import checks
from planner.plan.resolve import Resolution, resolve
from planner.plan.scenario import Result, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Formula = Callable[..., float]

# A figure's formula takes its arguments, by name, from the scenario's inputs and the figures above it.
FORMULAS: Final[Mapping[str, Formula]] = MappingProxyType(
    {
        "weights_gb": speed.weights_gb,
        "bandwidth_gb_s": speed.bandwidth_gb_s,
        "usable_bandwidth_gb_s": speed.usable_bandwidth_gb_s,
        "tokens_per_sec": speed.tokens_per_sec,
        "ceiling_tokens_per_sec": speed.ceiling_tokens_per_sec,
        "inter_token_latency_ms": speed.inter_token_latency_ms,
        "aggregate_tokens_per_sec": speed.aggregate_tokens_per_sec,
        "time_to_first_token_s": speed.time_to_first_token_s,
        "generation_time_s": speed.generation_time_s,
        "response_time_s": speed.response_time_s,
        "requests_per_hour": speed.requests_per_hour,
        "requests_at_occupancy_per_hour": speed.requests_at_occupancy_per_hour,
        "requests_per_device_per_hour": speed.requests_per_device_per_hour,
        "weights_memory_share": memory.weights_memory_share,
    }
)


@cache
def parameters_of(formula: Formula) -> tuple[str, ...]:
    """The names of a formula's parameters, in order."""
    return tuple(inspect.signature(formula).parameters)


def evaluate(scenario: Scenario) -> Result:
    """Every figure of a scenario, with its warnings and notes.

    Raises PlannerError, with every problem in its text, where the scenario cannot be evaluated.

    >>> result = evaluate(Scenario(name="worked example", params_b=70, precision="FP16",
    ...                            bandwidth_gb_s=3350, efficiency=0.85, batch=8))
    >>> round(result.tokens_per_sec, 6)
    20.339286
    """
    resolution = resolve(scenario)
    if not resolution.ok:
        raise PlannerError("; ".join(str(issue).rstrip(".") for issue in resolution.issues) + ".")
    return evaluate_resolved(resolution)


def evaluate_resolved(resolution: Resolution) -> Result:
    """Every figure of a completed scenario."""
    result = result_of(resolution.scenario, resolution.sources)
    return dataclasses.replace(result, issues=resolution.issues + checks.check(result))


def result_of(scenario: Scenario, sources: Mapping[str, str]) -> Result:
    """The figures of a completed scenario, with no checks made."""
    figures: dict[str, Any] = compute(scenario)
    return Result(scenario=scenario, sources=sources, **figures)


def compute(scenario: Scenario) -> dict[str, float | None]:
    """The figures of a completed scenario by name; None where an input is missing."""
    known: dict[str, Any] = {name: getattr(scenario, name) for name in _INPUTS}
    bits = catalog.precision_bits(scenario.precision) if scenario.precision else None
    known["weight_bits"] = bits
    figures: dict[str, float | None] = {"weight_bits": bits}
    for name, formula in FORMULAS.items():
        value = known.get(name)
        if value is None:
            arguments = [known.get(parameter) for parameter in parameters_of(formula)]
            value = None if None in arguments else formula(*arguments)
        known[name] = figures[name] = value
    return figures


_INPUTS: Final = tuple(
    field.name for field in dataclasses.fields(Scenario) if field.name not in {"name", "model", "notes"}
)
