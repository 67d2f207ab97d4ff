"""From a scenario to its figures: one table of formulas, read top to bottom.

Every surface (sheet, function, report, command line) takes its numbers from here.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.formulas import memory, speed
from planner.issues import PlannerError
from planner.plan import checks
from planner.plan.modelled import not_modelled
from planner.plan.recipes import RECIPES
from planner.plan.resolve import Resolution, resolve
from planner.plan.scenario import FIGURES, Result, Scenario
from planner.plan.ways import Way

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
    scenario, sources = resolution.scenario, resolution.sources
    figures: dict[str, Any] = compute(scenario)
    missing = not_modelled(scenario, figures, sources)
    unchecked = Result(scenario=scenario, sources=sources, not_modelled=missing, **figures)
    issues = resolution.issues + checks.check(unchecked)
    return Result(scenario=scenario, sources=sources, not_modelled=missing, issues=issues, **figures)


def result_of(scenario: Scenario, sources: Mapping[str, str]) -> Result:
    """The figures of a completed scenario, with no checks made."""
    figures: dict[str, Any] = compute(scenario)
    missing = not_modelled(scenario, figures, sources)
    return Result(scenario=scenario, sources=sources, not_modelled=missing, **figures)


def compute(scenario: Scenario) -> dict[str, float | None]:
    """The figures of a completed scenario by name; None where an input is missing."""
    known = _BLANK | known_of(scenario)
    for name, ways in _STEPS:
        if known[name] is None:
            for formula, arguments_in, when in ways:
                arguments = arguments_in(known)
                if None not in arguments and (when is None or when(known)):
                    known[name] = formula(*arguments)
                    break
    return {name: known[name] for name in _FIGURES}


def known_of(scenario: Scenario) -> dict[Any, Any]:
    """A completed scenario's inputs by name, and the bits of its precisions."""
    known: dict[Any, Any] = dict(zip(_INPUTS, _inputs_in(scenario), strict=True))
    for bits, name in BITS.items():
        precision = known[name]
        known[bits] = catalog.precision_bits(precision) if precision else None
    return known


# The bits that formulas take, and the precision that they are of.
BITS: Final[Mapping[str, str]] = MappingProxyType(
    {"weight_bits": "precision", "kv_bits": "kv_precision", "expert_bits": "expert_precision"}
)
# Every figure in the order in which they are made, each with its ways; a figure of the core has one.
WAYS: Final[Mapping[str, tuple[Way, ...]]] = MappingProxyType(
    {name: (Way(formula),) for name, formula in FORMULAS.items()} | dict(RECIPES)
)
TEXTS: Final = frozenset(
    {
        "name",
        "model",
        "notes",
        "device",
        "engine",
        "api",
        "currency",
        "exchange_currency",
        "exchange_day",
        "price_source",
        "price_day",
    }
    | {"first_month"}
)
_INPUTS: Final = tuple(field.name for field in dataclasses.fields(Scenario) if field.name not in TEXTS)
_inputs_in: Final = attrgetter(*_INPUTS)
_FIGURES: Final = tuple(FIGURES)


def _arguments_in(way: Way) -> Callable[[Mapping[Any, Any]], tuple[Any, ...]]:
    """What picks a way's arguments from all that is known, numbers among it as themselves: see _BLANK."""
    found = itemgetter(*way.taken)
    return found if len(way.taken) > 1 else lambda known: (found(known),)


_STEPS: Final = tuple(
    (name, tuple((way.formula, _arguments_in(way), way.when) for way in ways)) for name, ways in WAYS.items()
)
# A number that a way binds stands for itself, so that one look-up serves fields and numbers alike.
_BLANK: Final[dict[Any, Any]] = dict.fromkeys(_FIGURES) | {
    taken: taken for ways in WAYS.values() for way in ways for taken in way.taken if not isinstance(taken, str)
}
