"""What a cost is to be read with: each flag, the input that it names, and the message."""

from __future__ import annotations

import dataclasses

import pytest

from planner.issues import Severity
from planner.plan.cost_checks import COST_FLAGS, near_whole
from planner.plan.evaluate import evaluate
from planner.plan.scenario import COLUMNS, Scenario
from planner.plan.study import study_of

NAMED = Scenario(
    name="named",
    model="Llama-3.1-8B",
    device="H100 SXM",
    precision="FP8",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
)
RENTED = {"device_cost_h": 2.5, "busy_share": 0.5}
CORE = {"model": "", "device": "", "params_b": 70, "precision": "INT8", "device_bandwidth_gb_s": 3350, "devices": 2}
CORE |= {"prefill_tokens_per_sec": 9000, "efficiency": 0.85}

FOUND = {
    "no-utilisation": ({"device_cost_h": 2.5}, "busy_share", "no utilisation is given, so no token has a cost"),
    "no-life": (
        {"device_capex_cost": 30_000, "busy_share": 0.5},
        "useful_life_years",
        "A purchase price is given, but no useful life",
    ),
    "no-power": (CORE | RENTED | {"tariff_cost_kwh": 0.2}, "device_power_w", "not the power of a device"),
    "api-always": (
        RENTED | {"input_cost_m": 0.01, "output_cost_m": 0.02},
        "output_cost_m",
        "the API is cheaper at any utilisation",
    ),
    "api-cheaper": (
        RENTED | {"busy_share": 0.05, "input_cost_m": 0.5, "output_cost_m": 1.5},
        "busy_share",
        "At 5% utilisation a million output tokens cost",
    ),
    "api-tokens": (
        RENTED | {"output_tokens": None, "input_cost_m": 0.5, "output_cost_m": 1.5},
        "input_cost_m",
        "The API is not compared for want of Output (tokens)",
    ),
    "cost-bound": (CORE | RENTED, "device", "The cost rests on the core's rate, an upper bound"),
    "prefill-cost": (
        CORE | RENTED | {"prompt_tokens": 20_000},
        "prompt_tokens",
        "of its time in prefill, which the cost per million output tokens does not count",
    ),
    "load-differs": (
        RENTED | {"offered_requests_per_hour": 1000},
        "busy_share",
        "Utilisation is 50%, but the offered load takes",
    ),
    "requests-differ": (
        {"requests_month": 100_000, "offered_requests_per_hour": 1000},
        "requests_month",
        "Requests per month are 100,000, the offered load makes 730,000 in 730 hours",
    ),
    "cost-of-one": (
        CORE | RENTED | {"device_bandwidth_gb_s": None, "bandwidth_gb_s": 6700, "devices": None},
        "devices",
        "The number of devices is not known, so that the cost is that of one",
    ),
    "instance-part": (
        {"instance_cost_h": 80, "instance_devices": 8, "busy_share": 0.5},
        "instance_cost_h",
        "1 of the 8 devices of the rented instances are used; all are paid for",
    ),
    "cache-dear": (
        RENTED | {"input_cost_m": 1, "cached_cost_m": 5, "output_cost_m": 3},
        "cached_cost_m",
        "Cached tokens cost 5, more than the 1 of others, so that nobody would cache",
    ),
    "misses-target": (
        {"target_tokens_per_sec": 1000, "target_response_s": 0.5},
        "target_tokens_per_sec",
        "It misses its target: ",
    ),
}


@pytest.mark.parametrize("code", FOUND)
def test_each_flag_names_its_input_and_says_what_to_do(code):
    changes, field, said = FOUND[code]
    (issue,) = (i for i in evaluate(dataclasses.replace(NAMED, **changes)).issues if i.code == code)
    assert said in issue.problem
    assert issue.field == field
    assert field in COLUMNS
    assert issue.advice
    assert issue.severity in {Severity.WARNING, Severity.NOTE}


def test_every_flag_is_reached():
    # Those of currencies and days show beside other rows and a day alone: tests/test_purse.py.
    assert set(FOUND) | {"currency", "day-ahead"} == set(COST_FLAGS)


def test_a_sound_price_calls_for_nothing():
    (case,) = study_of([dataclasses.replace(NAMED, **RENTED, currency="USD")]).cases
    assert not {issue.code for issue in case.result.issues} & set(COST_FLAGS)


def test_a_row_without_prices_hears_nothing_of_money():
    assert not {issue.code for issue in evaluate(NAMED).issues} & set(COST_FLAGS)


def test_a_load_beyond_capacity_gives_no_utilisation():
    found = evaluate(dataclasses.replace(NAMED, device_cost_h=2.5, offered_requests_per_hour=1e9))
    assert found.busy_share is None
    assert found.cost_per_m_tokens is None
    (issue,) = (i for i in found.issues if i.code == "no-utilisation")
    assert "the offered load is more than can be served" in issue.problem


@pytest.mark.parametrize("month", [730_000, 720_000, 730_000 / 3])
def test_requests_that_agree_with_the_load_or_its_average_call_for_nothing(month):
    changes = {"requests_month": month, "offered_requests_per_hour": 1000, "peak_to_average": 3}
    found = evaluate(dataclasses.replace(NAMED, **changes))
    assert "requests-differ" not in {issue.code for issue in found.issues}


@pytest.mark.parametrize(
    ("month", "busy", "said"),
    [
        (1_000, 0.5, "Utilisation is 50%, but the requests of a month take 0% of the capacity"),
        (None, 0.5, ""),
    ],
)
def test_a_typed_utilisation_is_held_against_the_requests_of_a_month(month, busy, said):
    found = evaluate(dataclasses.replace(NAMED, device_cost_h=2.5, busy_share=busy, requests_month=month))
    assert [issue.problem for issue in found.issues if issue.code == "load-differs"] == ([said] if said else [])


def test_utilisation_follows_from_the_requests_of_a_month():
    found = evaluate(dataclasses.replace(NAMED, device_cost_h=2.5, requests_month=100_000))
    assert found.busy_share == pytest.approx(100_000 / 730 / found.fleet_requests_per_hour)
    over = evaluate(dataclasses.replace(NAMED, device_cost_h=2.5, requests_month=1e9))
    assert over.busy_share is None
    (issue,) = (i for i in over.issues if i.code == "no-utilisation")
    assert "the requests of a month take" in issue.problem


@pytest.mark.parametrize(
    ("share", "said"), [(1.0027, "100.3%"), (0.996, "99.6%"), (1.0, "100%"), (0.5, "50%"), (12.34, "1,234%")]
)
def test_a_share_that_is_not_the_whole_does_not_read_as_the_whole(share, said):
    assert near_whole(share) == said


def test_depreciation_is_by_the_month_however_many_hours_are_paid():
    owned = dataclasses.replace(NAMED, device_capex_cost=30_000, useful_life_years=4, busy_share=0.5)
    costs = [evaluate(dataclasses.replace(owned, hours_per_month=hours)).monthly_cost for hours in (730, 200, 100)]
    assert costs == pytest.approx([30_000 / 48] * 3)


def test_rented_instances_are_paid_for_whole():
    for replicas, paid in ((1, 8), (8, 8), (9, 16)):
        found = evaluate(
            dataclasses.replace(NAMED, instance_cost_h=80, instance_devices=8, busy_share=0.5, replicas=replicas)
        )
        assert found.fleet_devices == paid
        assert found.monthly_cost == pytest.approx(paid * 10 * 730)
