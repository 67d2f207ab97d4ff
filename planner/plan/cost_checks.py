"""What a cost should be read with: each warning and note with its input and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.columns import as_percent, near_percent, rounded
from planner.formulas import demand
from planner.issues import Issue, Severity
from planner.plan.basis import has_estimate, is_counted, planning_rate, response_of
from planner.plan.purse import is_priced
from planner.plan.recommend import AgainstApi, against_api
from planner.plan.resolve import TYPED
from planner.plan.scenario import header_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plan.scenario import Result

# Shares nearer than this are the same utilisation.
_SAME_SHARE: Final = 0.05
# From this share on prefill moves the cost of a request by more than a rounding.
_PREFILL_COUNTS: Final = 0.05

COST_FLAGS: Final = {
    "no-utilisation": "no utilisation, so no cost",
    "no-life": "no useful life, so no cost",
    "no-power": "no power, so no cost",
    "api-always": "the API is cheaper at any utilisation",
    "api-cheaper": "the API is cheaper at this utilisation",
    "api-tokens": "no API comparison",
    "cost-bound": "cost rests on an upper bound",
    "prefill-cost": "prefill is a part of the cost",
    "load-differs": "utilisation differs from the load's",
    "cost-of-one": "the cost is that of one device",
    "instance-part": "a part of a rented instance is not used",
    "cache-dear": "cached tokens cost more than others",
    "requests-differ": "requests per month differ from the load's",
    "misses-target": "misses its target",
    "currency": "currency of the prices",
    "day-ahead": "a price or rate of a day to come",
}


def _issue(severity: Severity, code: str, field: str, problem: str, advice: str) -> Issue:
    return Issue(severity=severity, code=code, field=field, problem=problem, advice=advice)


def _warning(code: str, field: str, problem: str, advice: str) -> Issue:
    return _issue(Severity.WARNING, code, field, problem, advice)


def _note(code: str, field: str, problem: str, advice: str) -> Issue:
    return _issue(Severity.NOTE, code, field, problem, advice)


def _has_price(result: Result) -> bool:
    return result.device_cost_h is not None or result.scenario.device_capex_cost is not None


def _no_utilisation(result: Result) -> Issue | None:
    if not _has_price(result) or result.busy_share is not None:
        return None
    over = result.utilisation is not None and result.utilisation > 1
    why = "the offered load is more than can be served" if over else "no utilisation is given"
    if (share := _share_of_month(result)) is not None and share > 1:
        why = f"the requests of a month take {as_percent(share)} of the capacity"
    return _warning(
        "no-utilisation",
        "busy_share",
        f"The hardware has a price, but {why}, so no token has a cost",
        f"Type the share of the paid hours that is busy in {header_of('busy_share')}, or a load that can be served",
    )


def _no_life(result: Result) -> Issue | None:
    if result.scenario.device_capex_cost is None or result.scenario.useful_life_years is not None:
        return None
    return _warning(
        "no-life",
        "useful_life_years",
        "A purchase price is given, but no useful life, so no hour has a cost",
        f"Type the years of use in {header_of('useful_life_years')}",
    )


def _no_power(result: Result) -> Issue | None:
    if not _has_price(result) or not result.scenario.tariff_cost_kwh or result.scenario.device_power_w is not None:
        return None
    return _warning(
        "no-power",
        "device_power_w",
        "A tariff is given, but not the power of a device, so no hour has a cost",
        f"Name the device, or type {header_of('device_power_w')}",
    )


def _against_api(result: Result) -> Issue | None:
    stands, share = against_api(result), result.break_even_share
    if stands in {AgainstApi.UNKNOWN, AgainstApi.CHEAPER, AgainstApi.NO_FIT}:
        return None
    if stands is AgainstApi.NEVER:
        why = "The API is free" if share is None else f"Break-even takes {near_whole(share)} of the capacity"
        return _warning(
            "api-always",
            "output_cost_m",
            f"{why}: the API is cheaper at any utilisation",
            "Use the API, cheaper hardware, a larger batch or a lower precision",
        )
    own, api, busy = (
        getattr(result, name) or 0.0 for name in ("cost_per_m_tokens", "api_cost_per_m_output", "busy_share")
    )
    code = f"{result.scenario.currency} " if result.scenario.currency else ""
    return _note(
        "api-cheaper",
        "busy_share",
        f"At {as_percent(busy)} utilisation a million output tokens cost {code}{rounded(own, 2)}, by the API "
        f"{code}{rounded(api, 2)}; from {near_whole(share or 0.0)} on it is the other way round",
        "Raise the utilisation, or use the API",
    )


def _api_tokens(result: Result) -> Issue | None:
    scenario = result.scenario
    prices = {name for name in ("input_cost_m", "output_cost_m") if getattr(scenario, name) is not None}
    if not prices or result.api_request_cost is not None:
        return None
    lacking = [
        header_of(name)
        for name in ("input_cost_m", "output_cost_m", "prompt_tokens", "output_tokens")
        if getattr(scenario, name) is None
    ]
    return _note(
        "api-tokens",
        next(iter(sorted(prices))),
        f"The API is not compared for want of {' and '.join(lacking)}",
        "An API charges prompt and output apart, so all four are needed",
    )


def _bound(result: Result) -> Issue | None:
    if result.cost_per_m_tokens is None or has_estimate(result):
        return None
    return _note(
        "cost-bound",
        "device",
        "The cost rests on the core's rate, an upper bound, so that a token really costs more",
        "Name device and model as the catalogue has them, for an estimate",
    )


def _prefill(result: Result) -> Issue | None:
    share = result.prefill_share
    if result.cost_per_request is None or share is None or share < _PREFILL_COUNTS or result.stall_ms is not None:
        return None
    return _note(
        "prefill-cost",
        "prompt_tokens",
        f"A stream spends {as_percent(share)} of its time in prefill, which the cost per million output tokens does "
        "not count",
        "Plan on the cost per request, which does",
    )


def _load_differs(result: Result) -> Issue | None:
    busy = result.scenario.busy_share
    if busy is None or result.sources.get("busy_share") != TYPED or not _has_price(result):
        return None
    if (load := result.utilisation) is not None:
        what, takes = "the offered load takes", "the load's"
    elif (load := _share_of_month(result)) is not None:
        what, takes = "the requests of a month take", "that of the requests"
    else:
        return None
    if abs(load - busy) <= _SAME_SHARE:
        return None
    return _note(
        "load-differs",
        "busy_share",
        f"Utilisation is {as_percent(busy)}, but {what} {as_percent(load)} of the capacity",
        f"Costs take the typed one; leave it blank to take {takes}",
    )


def _share_of_month(result: Result) -> float | None:
    """The share of the hours that the typed requests of a month keep busy."""
    scenario, served = result.scenario, result.fleet_requests_per_hour
    requests, hours = scenario.requests_month, scenario.hours_per_month
    return demand.busy_share_of_month(requests, hours, served) if requests and hours and served else None


def _of_one(result: Result) -> Issue | None:
    if result.cost_per_m_tokens is None or is_counted(result):
        return None
    return _warning(
        "cost-of-one",
        "devices",
        "The number of devices is not known, so that the cost is that of one",
        f"Type how many hold the weights together in {header_of('devices')}",
    )


def _instance_part(result: Result) -> Issue | None:
    scenario, paid = result.scenario, result.fleet_devices
    used = (scenario.devices or 1.0) * (scenario.replicas or 1.0)
    if scenario.instance_cost_h is None or paid is None or paid <= used:
        return None
    return _note(
        "instance-part",
        "instance_cost_h",
        f"{used:g} of the {paid:g} devices of the rented instances are used; all are paid for",
        "Use more of them (replicas, or more devices a deployment), or rent smaller instances",
    )


def _cache_dear(result: Result) -> Issue | None:
    scenario = result.scenario
    cached, plain = scenario.cached_cost_m, scenario.input_cost_m
    if cached is None or plain is None or cached <= plain:
        return None
    return _warning(
        "cache-dear",
        "cached_cost_m",
        f"Cached tokens cost {cached:,.10g}, more than the {plain:,.10g} of others, so that nobody would cache",
        "Look at the price list: cached reads are the cheaper ones, cache writes the dearer",
    )


def near_whole(share: float) -> str:
    """A share as percent that tells on which side of the whole it is."""
    return as_percent(share, near_percent(share))


def _requests_differ(result: Result) -> Issue | None:
    scenario = result.scenario
    typed, load, hours = scenario.requests_month, scenario.offered_requests_per_hour, scenario.hours_per_month
    if typed is None or load is None or hours is None:
        return None
    # A load of the busiest hour beside a month's requests is what the peak to average says already.
    factors = {1.0, scenario.peak_to_average or 1.0}
    if any(abs(typed * factor - load * hours) <= _SAME_SHARE * load * hours for factor in factors):
        return None
    return _note(
        "requests-differ",
        "requests_month",
        f"Requests per month are {typed:,.0f}, the offered load makes {load * hours:,.0f} in {hours:g} hours",
        "The plan of twelve months takes the first, utilisation and wait take the second",
    )


def _target(result: Result) -> Issue | None:
    missed = missed_targets(result)
    if not missed:
        return None
    field = "target_tokens_per_sec" if "speed" in missed else "target_response_s"
    said = []
    if "speed" in missed:
        said.append(
            f"{rounded(planning_rate(result), 2)} tok/s per stream against {result.scenario.target_tokens_per_sec:g}"
        )
    if "response" in missed:
        said.append(
            f"a response of {rounded(response_of(result) or 0.0, 2)} s against {result.scenario.target_response_s:g}"
        )
    return _warning(
        "misses-target",
        field,
        f"It misses its target: {' and '.join(said)}",
        "A slow stream is a matter of decode (weights, bandwidth), a late first token of prefill (prompt, compute)",
    )


def missed_targets(result: Result) -> tuple[str, ...]:
    """Which of its own targets a scenario misses: ``speed``, ``response``; a response that is not known misses none."""
    speed, within = result.scenario.target_tokens_per_sec, result.scenario.target_response_s
    takes = None if within is None else response_of(result)
    found = ["speed"] if speed is not None and planning_rate(result) < speed else []
    if within is not None and takes is not None and takes > within:
        found.append("response")
    return tuple(found)


COST_RULES: Final[tuple[Callable[[Result], Issue | None], ...]] = (
    _no_utilisation,
    _no_life,
    _no_power,
    _against_api,
    _api_tokens,
    _bound,
    _prefill,
    _load_differs,
    _of_one,
    _instance_part,
    _cache_dear,
)


# Of targets and loads, which a scenario may have without a price.
_RULES: Final[tuple[Callable[[Result], Issue | None], ...]] = (_target, _requests_differ)


def cost_issues(result: Result) -> tuple[Issue, ...]:
    """Every warning and note that a result's money and targets call for."""
    rules = _RULES + COST_RULES if is_priced(result.scenario) else _RULES
    return tuple(issue for rule in rules if (issue := rule(result)))
