"""How each figure of money is made: its formula, and the fields and figures that the formula takes.

Costs are those of the whole scenario, all replicas. They rest on the estimate where it counts the KV cache, else on the
core, an upper bound.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner.formulas import api_cost, cost, demand, prefill, queueing
from planner.plan.ways import Known, Way, is_above_zero, is_not, is_there, parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def rests_on_estimate(known: Known) -> Any:
    """Whether costs rest on the estimate: where it counts the KV cache, since else it says no more than the core."""
    return is_there(known, "kv_read_gb") & is_there(known, "estimated_aggregate_tokens_per_sec")


def _rented(known: Known) -> Any:
    return is_there(known, "device_cost_h")


def _priced(known: Known) -> Any:
    return _rented(known) | is_there(known, "device_capex_cost")


def _priced_without_power(known: Known) -> Any:
    return _priced(known) & is_not(is_above_zero(known, "tariff_cost_kwh"))


def _by_instance(known: Known) -> Any:
    return is_there(known, "instance_cost_h")


def _served(known: Known) -> Any:
    utilisation = known.get("utilisation")
    # What offers more than can be served is no share of the hours.
    return utilisation is not None and utilisation <= 1


def _month_served(known: Known) -> Any:
    requests, hours, served = (
        known.get(name) for name in ("requests_month", "hours_per_month", "fleet_requests_per_hour")
    )
    return requests is not None and hours is not None and served is not None and requests / hours <= served


def _cached(known: Known) -> Any:
    return is_above_zero(known, "cached_tokens")


def _cached_in_layers(known: Known) -> Any:
    return _cached(known) & (known.get("split") == "layers")


def _stalled_draft(known: Known) -> Any:
    return rests_on_estimate(known) & is_there(known, "speculative_step_ms")


def _way(
    formula: Callable[..., float], bind: Mapping[str, str | float], when: Callable[[Known], Any] | None = None
) -> Way:
    """A way that takes of what is bound what its formula has a parameter for."""
    return Way(formula, {name: bind[name] for name in parameters_of(formula) if name in bind}, when)


def _line(name: str) -> tuple[Way, ...]:
    """A cost of each device in a month, as a line of the hour."""
    bind = {"device_cost_month": f"device_{name}_cost_month", "devices": "fleet_devices"}
    return (Way(cost.device_monthly_as_cost_h, bind, _priced),)


_ESTIMATED: Final = {
    "aggregate_tokens_per_sec": "estimated_aggregate_tokens_per_sec",
    "requests_per_hour": "estimated_requests_per_hour",
    "response_time_s": "estimated_response_time_s",
}
_FLEET: Final[Mapping[str, str | float]] = MappingProxyType(
    {
        "devices": "fleet_devices",
        "aggregate_tokens_per_sec": "fleet_tokens_per_sec",
        "requests_per_hour": "fleet_requests_per_hour",
    }
)


def _with_estimate(formula: Callable[..., float]) -> tuple[Way, ...]:
    """By the estimate where costs rest on it, else by the core."""
    return _way(formula, _ESTIMATED, rests_on_estimate), Way(formula)


MONEY: Final[Mapping[str, tuple[Way, ...]]] = MappingProxyType(
    {
        "fleet_devices": (
            Way(cost.whole_instance_devices, when=_by_instance),
            Way(cost.fleet_devices),
        ),
        "fleet_tokens_per_sec": _with_estimate(cost.fleet_tokens_per_sec),
        "fleet_requests_per_hour": _with_estimate(cost.fleet_requests_per_hour),
        "requests_month": (Way(demand.requests_month),),
        "busy_share": (
            _way(queueing.utilisation, {**_FLEET, "replicas": 1.0}, _served),
            Way(demand.busy_share_of_month, when=_month_served),
        ),
        "device_cost_h": (Way(cost.device_share_cost_h),),
        "rent_cost_h": (_way(cost.rented_cost_h, _FLEET),),
        "capex_cost": (_way(cost.capex_cost, _FLEET),),
        "residual_cost": (
            _way(
                cost.capex_cost,
                {**_FLEET, "device_capex_cost": "device_residual_cost"},
                lambda k: is_there(k, "device_capex_cost"),
            ),
        ),
        "depreciation_cost_h": (Way(cost.depreciation_cost_h),),
        "energy_cost_h": (
            _way(cost.energy_cost_h, _FLEET, _priced),
            _way(cost.energy_cost_h, {**_FLEET, "device_power_w": 0.0}, _priced_without_power),
        ),
        "hosting_cost_h": _line("hosting"),
        "licence_cost_h": _line("licence"),
        "support_cost_h": _line("support"),
        "staff_cost_h": (Way(cost.monthly_as_cost_h, {"running_cost_month": "staff_cost_month"}, _priced),),
        "hourly_cost_h": (
            Way(cost.hourly_cost_h, {"depreciation_cost_h": 0.0}, _rented),
            Way(cost.hourly_cost_h, {"rent_cost_h": 0.0}),
        ),
        "used_cost_h": (Way(cost.used_cost_h),),
        "idle_cost_h": (Way(cost.idle_cost_h),),
        "monthly_cost": (Way(cost.monthly_cost),),
        "monthly_capacity_m_tokens": (_way(cost.monthly_capacity_m_tokens, _FLEET),),
        "full_capacity_m_tokens": (_way(cost.monthly_capacity_m_tokens, {**_FLEET, "busy_share": 1.0}),),
        "cost_per_m_tokens": (_way(cost.cost_per_m_tokens, _FLEET),),
        "used_cost_per_m_tokens": (
            _way(cost.cost_per_m_tokens, {**_FLEET, "busy_share": 1.0}, lambda k: is_there(k, "busy_share")),
        ),
        "cost_per_request": (_way(cost.cost_per_request, _FLEET),),
        "prefill_share": (
            Way(cost.stalled_prefill_share, {"step_time_ms": "speculative_step_ms"}, _stalled_draft),
            Way(cost.stalled_prefill_share, when=rests_on_estimate),
            _way(cost.prefill_share, _ESTIMATED, rests_on_estimate),
            Way(cost.prefill_share, {"prefill_s": "time_to_first_token_s"}),
        ),
        "cost_per_m_input_tokens": (Way(cost.cost_per_m_input_tokens),),
        "cost_per_m_generated_tokens": (Way(cost.cost_per_m_generated_tokens),),
        "api_request_cost": tuple(
            Way(api_cost.api_request_cost, bind)
            for bind in (
                {},
                {"cache_write_cost_m": "input_cost_m"},
                {"cached_cost_m": "input_cost_m"},
                {"cached_cost_m": "input_cost_m", "cache_write_cost_m": "input_cost_m"},
            )
        ),
        "blended_cost_m": (Way(api_cost.blended_cost_m),),
        "api_cost_per_m_output": (Way(api_cost.api_cost_per_m_output),),
        "api_cost_month": (Way(api_cost.api_cost_month),),
        "saving_cost_month": (Way(api_cost.saving_cost_month),),
        "break_even_m_tokens": (
            Way(api_cost.break_even_m_tokens, when=lambda k: is_above_zero(k, "api_cost_per_m_output")),
        ),
        "break_even_share": (Way(api_cost.break_even_share),),
        "cache_saving_cost": (Way(api_cost.cache_saving_cost, when=_cached),),
        "cache_saved_s": (
            Way(prefill.cache_saved_s, when=_cached),
            Way(prefill.cache_saved_compute_s, {"devices": 1.0}, _cached_in_layers),
            Way(prefill.cache_saved_compute_s, when=_cached),
            Way(prefill.cache_saved_compute_s, {"heads": 0.0, "head_dim": 0.0}, _cached),
        ),
    }
)
