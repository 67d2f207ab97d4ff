"""What moves the cost of a million output tokens: one assumption at a time, and all of them together.

Each end is the scenario itself with that one input otherwise, worked out as any scenario is. The swings are planner's
own, stated wherever they are shown; that of the rate is the spread of measurements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from planner.columns import as_percent
from planner.formulas import cost
from planner.plan.basis import has_estimate, has_range, keeps_pace
from planner.plan.variants import otherwise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.scenario import Result

# A third less and a third more.
_THIRD: Final = 1 / 3
_PRICE: Final = 0.2


@dataclass(frozen=True, slots=True)
class Swing:
    """An assumption between its two ends, and what a million output tokens cost at each, the cheaper end first."""

    name: str
    cheap: str
    dear: str
    cheap_cost: float
    dear_cost: float

    @property
    def width(self) -> float:
        """By how much it moves the cost."""
        return self.dear_cost - self.cheap_cost


@dataclass(frozen=True, slots=True)
class Outlook:
    """The cost of a million output tokens: with everything at its good end, as planned, at its bad end."""

    best_cost: float
    base_cost: float
    worst_cost: float


@dataclass(frozen=True, slots=True)
class _End:
    said: str
    changes: dict[str, Any]
    # By what the rate is multiplied; the rate follows from inputs, so that no input holds it.
    rate: float = 1.0


@dataclass(frozen=True, slots=True)
class _Assumption:
    name: str
    low: _End
    high: _End
    # What is chosen, not uncertain, has no part in the outlook.
    chosen: bool = field(default=False, kw_only=True)


def swings_of(result: Result) -> tuple[Swing, ...]:
    """Every assumption that moves a scenario's cost, the one that moves it most first; empty where there is no cost."""
    found = []
    for assumption in _assumptions(result):
        ends = [(_cost_at(result, end), end) for end in (assumption.low, assumption.high)]
        known = sorted(((value, end.said) for value, end in ends if value is not None), key=lambda pair: pair[0])
        if len(known) == len(ends) and known[0][0] < known[1][0]:
            (cheap_cost, cheap), (dear_cost, dear) = known
            found.append(Swing(assumption.name, cheap, dear, cheap_cost, dear_cost))
    return tuple(sorted(found, key=lambda swing: -swing.width))


def outlook_of(result: Result) -> Outlook | None:
    """A scenario's best, base and worst case; None where there is no cost."""
    if result.cost_per_m_tokens is None:
        return None
    best: list[_End] = []
    worst: list[_End] = []
    for assumption in _assumptions(result):
        if assumption.chosen:
            continue
        ends = sorted((assumption.low, assumption.high), key=lambda end: _cost_at(result, end) or 0.0)
        best.append(ends[0])
        worst.append(ends[1])
    both = [_cost_at(result, _joined(ends)) for ends in (best, worst)]
    if None in both:
        return None
    return Outlook(both[0] or 0.0, result.cost_per_m_tokens, both[1] or 0.0)


def _joined(ends: list[_End]) -> _End:
    changes: dict[str, Any] = {}
    rate = 1.0
    for end in ends:
        changes |= end.changes
        rate *= end.rate
    return _End("", changes, rate)


def _cost_at(result: Result, end: _End) -> float | None:
    # The utilisation stays what it is, also where it followed from the load.
    changed = otherwise(result, busy_share=end.changes.get("busy_share", result.busy_share), **_but(end, "busy_share"))
    rate, hourly, busy = changed.fleet_tokens_per_sec, changed.hourly_cost_h, changed.busy_share
    if rate is None or hourly is None or busy is None:
        return None
    return cost.cost_per_m_tokens(hourly, rate * end.rate, busy)


def _but(end: _End, name: str) -> dict[str, Any]:
    return {field: value for field, value in end.changes.items() if field != name}


def _assumptions(result: Result) -> Iterator[_Assumption]:
    if result.cost_per_m_tokens is None or result.busy_share is None:
        return
    yield from _of_rate(result)
    busy = result.busy_share
    low, high = busy * (1 - _THIRD), min(busy * (1 + _THIRD), 1.0)
    yield _Assumption("Utilisation", _busy(low), _busy(high))
    for name, label, share in _PRICES:
        value = getattr(result, name, None) if name == "device_cost_h" else getattr(result.scenario, name)
        if value:
            yield _Assumption(
                f"{label} {chr(0xB1)}{as_percent(share)}",
                *(_End(_digits(value * (1 + by)), _priced(result, name, 1 + by)) for by in (-share, share)),
            )
    life = result.scenario.useful_life_years
    if life and result.scenario.device_capex_cost:
        less, more = life * (1 - _THIRD), life * (1 + _THIRD)
        yield _Assumption(
            "Useful life",
            _End(f"{less:,.3g} years", {"useful_life_years": less}),
            _End(f"{more:,.3g} years", {"useful_life_years": more}),
        )
    yield from _of_design(result)


def _of_rate(result: Result) -> Iterator[_Assumption]:
    """The rate: between the ends of the estimate, or by the efficiency on which the core rests."""
    base, low, high = result.estimated_tokens_per_sec, result.low_tokens_per_sec, result.high_tokens_per_sec
    if base and low and high and has_range(result):
        ends = (_End(f"{end:,.3g} tok/s", {}, end / base) for end in (low, high))
        yield _Assumption("Rate of one stream, as measured", *ends)
        return
    efficiency = result.scenario.efficiency or 1.0
    if not has_estimate(result):
        less, more = efficiency * (1 - _PRICE), min(efficiency * (1 + _PRICE), 1.0)
        yield _Assumption("Efficiency", *(_End(as_percent(end), {"efficiency": end}) for end in (less, more)))


_PRICES: Final = (
    ("device_cost_h", "Price per device-hour", _PRICE),
    ("device_capex_cost", "Purchase price", _PRICE),
    ("tariff_cost_kwh", "Electricity price", 0.5),
    ("staff_cost_month", "Staff", _PRICE),
    ("device_hosting_cost_month", "Hosting", _PRICE),
    ("device_licence_cost_month", "Licences", _PRICE),
    ("device_support_cost_month", "Support", _PRICE),
)


def _priced(result: Result, name: str, factor: float) -> dict[str, Any]:
    """The inputs that hold a price, at another level: an instance's stays that of an instance, paid for whole."""
    names = ("device_cost_h", "instance_cost_h") if name == "device_cost_h" else (name,)
    typed = ((each, getattr(result.scenario, each)) for each in names)
    return {each: value * factor for each, value in typed if value is not None}


def _digits(value: float) -> str:
    """A price with four digits, and no exponent: 28,000 for 28000."""
    return f"{float(f'{value:.4g}'):,.10g}"


def _busy(share: float) -> _End:
    return _End(as_percent(share), {"busy_share": share})


def _of_design(result: Result) -> Iterator[_Assumption]:
    """What is chosen or asked for: batch, prompt, output; a batch only as far as memory holds it."""
    scenario = result.scenario
    batch = scenario.batch or 1.0
    most = batch * 2 if result.streams_that_fit is None else min(batch * 2, max(result.streams_that_fit, batch))
    least = max(batch // 2, 1.0)
    # What would miss the target is no choice, where the scenario itself meets it.
    if keeps_pace(result):
        most, least = (end if keeps_pace(otherwise(result, batch=end)) else batch for end in (most, least))
    if most > least:
        yield _Assumption(
            "Batch", _End(f"{least:,.0f}", {"batch": least}), _End(f"{most:,.0f}", {"batch": most}), chosen=True
        )
    for name, label in (("prompt_tokens", "Prompt"), ("output_tokens", "Output")):
        value = getattr(scenario, name)
        if value and value > 1:
            ends = (max(value // 2, 1.0), value * 2)
            if name == "prompt_tokens" and (scenario.cached_tokens or 0.0) > ends[0]:
                continue
            yield _Assumption(label, *(_End(f"{end:,.0f} tokens", {name: end}) for end in ends), chosen=True)
