"""From measured rates back to efficiencies: what each row says, and one value per class of device and engine group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from planner import catalog
from planner.plan.evaluate import compute
from planner.units import MS_PER_S, US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.plan.scenario import Result, Scenario

ANY_CLASS: Final = "any"
# A share of the reads below this is no efficiency, but a sign that something else takes the time.
_LEAST_EFFICIENCY: Final = 0.05
# A little above the whole bandwidth is an error of the other terms, and says that the reads use about all of it.
_NEARLY_ALL: Final = 1.2


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What one measured rate says.

    ``efficiency`` is measured x weights / bandwidth, the core's eta (model bandwidth utilisation); above 1 it cannot be
    typed. ``fetch_efficiency`` is that of the reads alone, once the estimate's other terms are taken off the step; None
    where the rate leaves no room for it, and ``why`` says what is wrong.
    """

    result: Result
    measured: float
    efficiency: float | None
    read_efficiency: float | None
    fetch_efficiency: float | None
    why: str
    above_ceiling: str

    @property
    def estimate(self) -> float | None:
        """The rate that the estimate gives without this measurement."""
        return self.result.estimated_tokens_per_sec

    @property
    def configuration(self) -> tuple[object, ...]:
        """What stays the same while batch and lengths vary."""
        s = self.result.scenario
        return (s.device or s.device_bandwidth_gb_s, s.devices, s.model or s.params_b, s.precision, s.engine, s.split)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The values of a class of device and engine group, medians of configurations; spreads are least and most.

    ``shipped`` is the fetch efficiency that planner has for the group; the errors are medians of
    |estimate / measured - 1| with that one and with the fitted one.
    """

    device_class: str
    engine_group: str
    rows: int
    configurations: int
    efficiency: float | None
    efficiency_spread: tuple[float, float] | None
    fetch_efficiency: float | None
    fetch_spread: tuple[float, float] | None
    shipped: float
    error_before: float | None
    error_after: float | None


def calibrate(result: Result) -> Calibrated | None:
    """What the measured rate of an evaluated scenario says; None where it has none."""
    measured = result.scenario.measured_tokens_per_sec
    if measured is None:
        return None
    fetch, why = _fetch_efficiency(result, measured)
    return Calibrated(
        result=result,
        measured=measured,
        efficiency=_share(measured, result.weights_gb, result.bandwidth_gb_s),
        read_efficiency=_share(measured, result.weights_read_gb, result.read_bandwidth_gb_s),
        fetch_efficiency=fetch,
        why=why,
        above_ceiling=_above_ceiling(result, measured),
    )


def _share(measured: float, weights_gb: float | None, bandwidth_gb_s: float | None) -> float | None:
    return measured * weights_gb / bandwidth_gb_s if weights_gb and bandwidth_gb_s else None


def _fetch_efficiency(result: Result, measured: float) -> tuple[float | None, str]:
    """The reads' share of the bandwidth in the measured step, less the terms that are not reads."""
    scenario = result.scenario
    if result.weights_read_gb is None or result.read_bandwidth_gb_s is None:
        return None, "no estimate: its inputs are not known"
    step_ms = (result.speculative_tokens_per_step or 1.0) * MS_PER_S / measured
    if result.speculative_step_ms is not None:
        step_ms -= (scenario.draft_tokens or 0.0) * (scenario.draft_step_ms or 0.0)
    layers_ms = (scenario.layers or 0.0) * (scenario.layer_latency_us or 0.0) / US_PER_MS
    streams_ms = ((scenario.batch or 1.0) - 1) * (scenario.stream_overhead_us or 0.0) / US_PER_MS
    reading_ms = step_ms - layers_ms - streams_ms - (result.step_overhead_ms or 0.0)
    others = f"latencies, streams and stalls alone take {step_ms - reading_ms:,.3g} ms of the step's {step_ms:,.3g}"
    if reading_ms <= 0:
        return None, f"faster than the estimate's other terms allow: {others}"
    if result.decode_compute_ms is not None and reading_ms <= result.decode_compute_ms:
        return None, "arithmetic takes all the time left for reads, so the rate says nothing of them"
    read_gb = result.weights_read_gb + (result.kv_read_gb or 0.0)
    efficiency = read_gb / result.read_bandwidth_gb_s / (reading_ms / MS_PER_S)
    if efficiency > _NEARLY_ALL:
        return None, f"reads would need {efficiency:.2f} of the bandwidth: {others}"
    if efficiency > 1:
        return 1.0, f"reads would need {efficiency:.2f} of the bandwidth, taken as 1: {others}"
    if efficiency < _LEAST_EFFICIENCY:
        return None, f"reads would use {efficiency:.3f} of the bandwidth: something else takes the time"
    return efficiency, ""


def _above_ceiling(result: Result, measured: float) -> str:
    """Why a rate may lie above one read of the weights at the whole bandwidth; empty where it does not."""
    ceiling, scenario = result.ceiling_tokens_per_sec, result.scenario
    if ceiling is None or measured <= ceiling:
        return ""
    over = f"{measured:,.4g} tok/s against a ceiling of {ceiling:,.4g}"
    tokens = result.speculative_tokens_per_step
    read_gb, bandwidth = result.weights_read_gb, result.read_bandwidth_gb_s
    mixture = bool(scenario.experts)
    if mixture and read_gb and bandwidth:
        # A mixture is held against the weights that it reads, not those that it has.
        ceiling = bandwidth / read_gb
        if measured <= ceiling:
            return f"{over}; a mixture of experts: within the {ceiling:,.4g} that the weights read allow"
        over = f"{over}, and of {ceiling:,.4g} on the {read_gb:,.4g} GB read"
    if tokens is not None and measured <= tokens * ceiling:
        return f"{over}; the draft explains it ({tokens:.3g} tokens a step)"
    causes = []
    if result.weight_bits is not None:
        causes.append(f"precision ({result.weight_bits * ceiling / measured:.3g} bits a weight or fewer would do)")
    causes.append(f"speculative decoding ({measured / ceiling:.3g} tokens a step or more)")
    if not mixture:
        causes.append("mixture of experts (type experts, active experts and active parameters)")
    return f"{over}; one of the inputs is wrong: look at {', '.join(causes)}, in that order"


def fit_groups(rows: Iterable[Calibrated]) -> list[Fitted]:
    """One value per class of device and engine group: the median of its configurations' medians."""
    groups: dict[tuple[str, str], list[Calibrated]] = {}
    for row in rows:
        groups.setdefault(group_of(row.result.scenario), []).append(row)
    return [_fitted(name, group, members) for (name, group), members in sorted(groups.items())]


def group_of(scenario: Scenario) -> tuple[str, str]:
    """The class of device and the engine group by which a scenario's constants are chosen."""
    name = scenario.device_class or ANY_CLASS
    usual = catalog.usual_engine_group(name)
    return name, catalog.engine_group(scenario.engine) if scenario.engine else usual


def _fitted(name: str, group: str, rows: Sequence[Calibrated]) -> Fitted:
    # More than the whole bandwidth is no efficiency that could be typed.
    core = _by_configuration((row, row.efficiency) for row in rows if row.efficiency and row.efficiency <= 1)
    fetch = _by_configuration((row, row.fetch_efficiency) for row in rows if row.fetch_efficiency)
    value = median(fetch) if fetch else None
    before = [abs(row.estimate / row.measured - 1) for row in rows if row.estimate]
    after = [abs(rate / row.measured - 1) for row in rows if value and (rate := _estimate_at(row.result, value))]
    return Fitted(
        device_class=name,
        engine_group=group,
        rows=len(rows),
        configurations=len({row.configuration for row in rows}),
        efficiency=median(core) if core else None,
        efficiency_spread=(min(core), max(core)) if core else None,
        fetch_efficiency=value,
        fetch_spread=(min(fetch), max(fetch)) if fetch else None,
        shipped=catalog.class_constants(name, group).fetch_efficiency,
        error_before=median(before) if before else None,
        error_after=median(after) if after else None,
    )


def _by_configuration(values: Iterable[tuple[Calibrated, float | None]]) -> list[float]:
    """The median of each configuration, so that one measured at many batches counts once."""
    found: dict[tuple[object, ...], list[float]] = {}
    for row, value in values:
        if value is not None:
            found.setdefault(row.configuration, []).append(value)
    return [median(of_one) for of_one in found.values()]


def _estimate_at(result: Result, fetch_efficiency: float) -> float | None:
    figures: Mapping[str, float | None] = compute(
        dataclasses.replace(result.scenario, fetch_efficiency=fetch_efficiency)
    )
    return figures["estimated_tokens_per_sec"]
