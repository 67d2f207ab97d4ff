"""What moves a cost: each swing is the scenario itself with one input otherwise."""

from __future__ import annotations

import dataclasses

import pytest

from planner.plan.evaluate import evaluate
from planner.plan.scenario import Scenario
from planner.plan.sensitivity import outlook_of, swings_of
from planner.plan.study import study_of

NAMED = Scenario(
    name="named",
    model="Llama-3.1-8B",
    device="H100 SXM",
    precision="FP8",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    device_cost_h=2.5,
    busy_share=0.5,
)
CORE = Scenario(
    params_b=70,
    precision="INT8",
    device_bandwidth_gb_s=3350,
    devices=2,
    efficiency=0.85,
    batch=8,
    device_cost_h=2.5,
    busy_share=0.5,
)


def at(base=NAMED, **changes):
    return evaluate(dataclasses.replace(base, **changes))


def swings(result):
    return {swing.name: swing for swing in swings_of(result)}


def test_each_end_is_the_scenario_with_that_input():
    found = swings(at())
    busy = found["Utilisation"]
    assert busy.cheap == "67%"
    assert busy.cheap_cost == pytest.approx(at(busy_share=0.5 * 4 / 3).cost_per_m_tokens)
    assert busy.dear_cost == pytest.approx(at(busy_share=0.5 * 2 / 3).cost_per_m_tokens)
    price = found["Price per device-hour \u00b120%"]
    assert (price.cheap, price.dear) == ("2", "3")
    assert price.dear_cost == pytest.approx(at(device_cost_h=3).cost_per_m_tokens)
    batch = found["Batch"]
    assert (batch.cheap, batch.dear) == ("16", "4")
    assert batch.cheap_cost == pytest.approx(at(batch=16).cost_per_m_tokens)
    output = found["Output"]
    ends = {f"{size:,} tokens": at(output_tokens=size).cost_per_m_tokens for size in (250, 1000)}
    assert output.cheap_cost == pytest.approx(ends[output.cheap])
    assert output.dear_cost == pytest.approx(ends[output.dear])


def test_the_rate_moves_between_the_ends_of_its_estimate():
    result = at()
    rate = swings(result)["Rate of one stream, as measured"]
    assert rate.cheap_cost == pytest.approx(
        result.cost_per_m_tokens * result.estimated_tokens_per_sec / result.high_tokens_per_sec
    )
    assert rate.dear_cost == pytest.approx(
        result.cost_per_m_tokens * result.estimated_tokens_per_sec / result.low_tokens_per_sec
    )


def test_without_an_estimate_the_efficiency_moves_it():
    found = swings(at(CORE))
    assert "Rate of one stream, as measured" not in found
    efficiency = found["Efficiency"]
    assert (efficiency.cheap, efficiency.dear) == ("100%", "68%")
    assert efficiency.dear_cost == pytest.approx(at(CORE, efficiency=0.68).cost_per_m_tokens)


def test_the_widest_comes_first_and_all_lie_around_the_base():
    result = at(staff_cost_month=5000, tariff_cost_kwh=0.2)
    found = swings_of(result)
    assert [swing.width for swing in found] == sorted((swing.width for swing in found), reverse=True)
    for swing in found:
        assert swing.cheap_cost <= result.cost_per_m_tokens * (1 + 1e-12)
        assert swing.dear_cost >= result.cost_per_m_tokens * (1 - 1e-12)
    assert {"Staff \u00b120%", "Electricity price \u00b150%"} <= {swing.name for swing in found}


def test_owned_hardware_swings_by_its_price_and_life():
    found = swings(at(device_cost_h=None, device_capex_cost=30_000, useful_life_years=3))
    life = found["Useful life"]
    assert (life.cheap, life.dear) == ("4 years", "2 years")
    price = found["Purchase price \u00b120%"]
    # (36,000 over 30,000) with nothing else to pay
    assert price.dear_cost == pytest.approx(
        1.2 * at(device_cost_h=None, device_capex_cost=30_000, useful_life_years=3).cost_per_m_tokens
    )
    assert "Price per device-hour \u00b120%" not in found


def test_an_instance_price_swings_as_its_devices():
    found = swings(at(device_cost_h=None, instance_cost_h=20, instance_devices=8))
    assert found["Price per device-hour \u00b120%"].dear == "3"


def test_the_outlook_joins_what_is_uncertain_and_leaves_what_is_chosen():
    result = at()
    outlook = outlook_of(result)
    assert outlook.base_cost == result.cost_per_m_tokens
    rates = result.high_tokens_per_sec, result.low_tokens_per_sec
    best, worst = (result.estimated_tokens_per_sec / rate for rate in rates)
    # a fifth cheaper, a third busier, and the rate at its high end; and the reverse
    assert outlook.best_cost == pytest.approx(result.cost_per_m_tokens * 0.8 * 0.75 * best)
    assert outlook.worst_cost == pytest.approx(result.cost_per_m_tokens * 1.2 * 1.5 * worst)


def test_full_utilisation_has_no_better_end():
    busy = swings(at(busy_share=1.0))["Utilisation"]
    assert busy.cheap == "100%"


def test_a_utilisation_from_the_load_stays_while_others_swing():
    result = at(busy_share=None, offered_requests_per_hour=2000)
    batch = swings(result)["Batch"]
    assert batch.cheap_cost == pytest.approx(at(batch=16, busy_share=result.busy_share).cost_per_m_tokens)


def test_no_cost_no_swings():
    unpriced = at(device_cost_h=None)
    assert swings_of(unpriced) == ()
    assert outlook_of(unpriced) is None
    study = study_of([NAMED, dataclasses.replace(NAMED, device_cost_h=None)])
    assert [bool(each) for each in study.swings] == [True, False]
    assert [each is not None for each in study.outlooks] == [True, False]
