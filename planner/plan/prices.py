"""What stands against a row's prices: implausible ones, two that contradict each other, one that lacks its partner.

A price a thousand times off still looks like a price, so what lies beyond all known ones is asked about at its cell.
The bounds are in US dollars, and wide; other currencies are taken by the size of their units.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner.currencies import magnitude
from planner.issues import Issue, Severity
from planner.plan.scenario import COLUMNS, Scenario, header_of
from planner.units import HOURS_PER_YEAR, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Per-device prices are rounded in price lists, so a smaller gap to the instance's is no contradiction.
SAME_WITHIN: Final = 0.02


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between what a price plausibly lies, and the slips by which it may be elsewhere: a factor, and what it means."""

    low: float
    high: float
    slips: tuple[tuple[float, str], ...]


_TOKENS: Final = Bounds(
    0.001,
    1_000,
    (
        (1e6, "if it is a price per token"),
        (1e3, "if it is a price per thousand tokens"),
        (1e-3, "if it is a price of a billion tokens"),
        (1e-6, "if it was turned into millions twice"),
    ),
)
_HOURS: Final = Bounds(
    0.005,
    30,
    (
        (1 / 8, "if it is the price of an instance of 8"),
        (12 / HOURS_PER_YEAR, "if it is a price per month"),
        (1 / HOURS_PER_YEAR, "if it is a price per year"),
        (0.01, "if it is in cents"),
    ),
)
BOUNDS: Final[Mapping[str, Bounds]] = MappingProxyType(
    dict.fromkeys(("input_cost_m", "cached_cost_m", "cache_write_cost_m", "output_cost_m"), _TOKENS)
    | {
        "device_cost_h": _HOURS,
        "instance_cost_h": Bounds(0.005, 500, _HOURS.slips[1:]),
        "device_capex_cost": Bounds(50, 500_000, ((1_000, "if it is in thousands"), (1 / 8, "if it is that of 8"))),
        "tariff_cost_kwh": Bounds(0.005, 3, ((0.01, "if it is in cents"), (0.001, "if it is a price per MWh"))),
    }
)


def price_issues(scenario: Scenario) -> Iterator[Issue]:
    """What is wrong with a scenario's prices."""
    for name, bounds in BOUNDS.items():
        value = getattr(scenario, name)
        if value is not None and is_implausible(value, bounds, magnitude(scenario.currency or "")):
            yield _implausible(name, value, bounds, scenario.currency or "")
    yield from _of_instances(scenario)
    rented = scenario.device_cost_h is not None or scenario.instance_cost_h is not None
    if rented and scenario.device_capex_cost is not None:
        yield _error(
            "contradiction",
            "device_capex_cost",
            "Both a rent and a purchase price are given",
            "devices that are rented or devices that are owned",
        )
    if scenario.device_capex_cost is not None and scenario.device_capex_cost <= (scenario.device_residual_cost or 0.0):
        yield _error(
            "relation",
            "device_residual_cost",
            f"Residual per device is {scenario.device_residual_cost:,.10g}, not below the purchase price",
            f"less than {scenario.device_capex_cost:,.10g}",
        )
    written, prompt = (scenario.cached_tokens or 0.0) + (scenario.cache_write_tokens or 0.0), scenario.prompt_tokens
    if prompt is not None and scenario.cache_write_tokens and written > prompt:
        yield _error(
            "relation",
            "cache_write_tokens",
            f"Cached prompt and cache writes are {written:,.10g} tokens together, more than the prompt",
            f"parts of a prompt of {prompt:,.10g} tokens",
        )


def is_implausible(value: float, bounds: Bounds, scale: float) -> bool:
    """Whether a price lies beyond all known ones; what is free is plausible."""
    return value != 0 and not bounds.low * scale <= value <= bounds.high * scale


def _implausible(name: str, value: float, bounds: Bounds, currency: str) -> Issue:
    scale = magnitude(currency)
    low, high = bounds.low * scale, bounds.high * scale
    unit = unit_of(name).symbol
    if currency:
        unit = unit.replace("money", currency)
    readings = [f"{value * factor:,.6g} {means}" for factor, means in bounds.slips if low <= value * factor <= high]
    may = f": {' or '.join(readings[:2])}" if readings else ""
    side = "below" if value < low else "above"
    return _error(
        "price-implausible",
        name,
        f"{COLUMNS[name].label} is {value:,.10g} {unit}, {side} any known one{may}",
        f"{low:,.6g} to {high:,.6g} {unit}",
    )


def _of_instances(scenario: Scenario) -> Iterator[Issue]:
    whole, each, count = scenario.instance_cost_h, scenario.device_cost_h, scenario.instance_devices
    if whole is None:
        return
    if count is None:
        if each is None:
            yield _error(
                "missing",
                "instance_devices",
                f"{COLUMNS['instance_cost_h'].label} is given, but not how many devices an instance holds",
                f"their number in {header_of('instance_devices')}",
            )
    elif each is not None and abs(each * count - whole) > SAME_WITHIN * whole:
        yield _error(
            "contradiction",
            "device_cost_h",
            f"Price per device-hour is {each:,.10g}, but {whole:,.10g} per instance over {count:g} devices is "
            f"{whole / count:,.6g}",
            "two prices that agree, or one of them blank",
        )


def _error(code: str, name: str, problem: str, accepted: str) -> Issue:
    return Issue(severity=Severity.ERROR, code=code, field=name, problem=problem, accepted=accepted)
