"""Twelve months of demand, against the same months worked out by hand."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas.demand import devices_for_load
from planner.plan.demand_plan import MONTHS, demand_plan, first_month, later
from planner.plan.evaluate import evaluate
from planner.plan.scenario import Scenario
from planner.plan.study import Options, study_of

TODAY = dt.date(2026, 11, 2)
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
    input_cost_m=0.5,
    output_cost_m=1.5,
    requests_month=1_000_000,
)


def plan(**changes):
    result = evaluate(dataclasses.replace(NAMED, **changes))
    return result, demand_plan(result, TODAY)


def test_months_are_what_a_hand_works_out():
    result, found = plan(growth_share_month=0.2, peak_to_average=3, headroom=0.25, one_off_cost=5000)
    served = result.fleet_requests_per_hour
    # 2,000 x 0.5 + 500 x 1.5 a million requests
    api, saved, requests = (2000 * 0.5 + 500 * 1.5) / 1e6, -5000.0, 1e6
    assert len(found.months) == MONTHS
    for month in found.months:
        devices = math.ceil(requests / 730 * 3 * 1.25 / served)
        saved += api * requests - devices * 2.5 * 730
        assert month.requests_month == pytest.approx(requests)
        assert month.peak_requests_per_hour == pytest.approx(requests / 730 * 3)
        assert month.devices == month.deployments == devices
        assert month.monthly_cost == pytest.approx(devices * 2.5 * 730)
        assert month.api_cost_month == pytest.approx(api * requests)
        assert month.saving_cost_month == pytest.approx(api * requests - devices * 2.5 * 730)
        assert month.saved_cost == pytest.approx(saved)
        requests *= 1.2
    assert found.months[-1].devices > found.months[0].devices
    assert found.total_cost == pytest.approx(sum(month.monthly_cost for month in found.months))
    assert found.total_api_cost == pytest.approx(sum(month.api_cost_month for month in found.months))


def test_the_month_that_pays_back_is_the_first_whose_savings_cover_what_is_paid_once():
    _, found = plan(device_cost_h=1.5)
    each = found.months[0].saving_cost_month
    assert each > 0
    for months in (1, 3, 12):
        assert plan(device_cost_h=1.5, one_off_cost=each * (months - 0.5))[1].paid_back == months
    assert plan(device_cost_h=1.5, one_off_cost=each * 12.5)[1].paid_back is None


def test_a_plan_without_prices_has_devices_alone():
    _, found = plan(device_cost_h=None, input_cost_m=None, output_cost_m=None, busy_share=None)
    assert found.months[0].devices >= 1
    assert {month.monthly_cost for month in found.months} == {None}
    assert {month.saved_cost for month in found.months} == {None}
    assert found.paid_back is None
    assert found.total_cost is None


def test_requests_follow_from_the_offered_load():
    result, found = plan(requests_month=None, offered_requests_per_hour=1000)
    assert result.requests_month == 730_000
    assert found.months[0].requests_month == 730_000


def test_no_requests_no_plan():
    assert plan(requests_month=None)[1] is None
    assert plan(output_tokens=None)[1] is None


def test_whole_deployments_of_several_devices_are_bought():
    _, found = plan(model="Llama-3.1-70B", devices=4, peak_to_average=4)
    for month in found.months:
        assert month.devices == 4 * month.deployments
        assert month.deployments == int(month.deployments)


def test_staff_are_paid_once_however_many_deployments_there_are():
    _, without = plan(growth_share_month=0.5, peak_to_average=5)
    _, having = plan(growth_share_month=0.5, peak_to_average=5, staff_cost_month=9000)
    for bare, month in zip(without.months, having.months, strict=True):
        assert month.monthly_cost == pytest.approx(bare.monthly_cost + 9000)


def test_further_devices_are_ordered_ahead_by_the_lead_time():
    _, found = plan(growth_share_month=0.3, peak_to_average=5, lead_time_weeks=6)
    devices = [1.0, *(month.devices for month in found.months)]
    rises = [(b - a, month.first) for a, b, month in zip(devices, devices[1:], found.months, strict=False) if b > a]
    assert [(order.devices, order.needed) for order in found.orders] == rises
    assert len(rises) > 1
    for order in found.orders:
        assert order.needed - order.order == dt.timedelta(weeks=6)


def test_a_demand_that_shrinks_orders_nothing_and_never_below_one_deployment():
    _, found = plan(requests_month=10, growth_share_month=-0.5, lead_time_weeks=6)
    assert not found.orders
    assert {month.devices for month in found.months} == {1}


def test_without_a_lead_time_there_are_no_order_dates():
    assert not plan(growth_share_month=0.5, peak_to_average=5)[1].orders


@pytest.mark.parametrize(
    ("typed", "first"),
    [(None, dt.date(2026, 12, 1)), ("2027-03-15", dt.date(2027, 3, 1)), ("2026-11-01", dt.date(2026, 11, 1))],
)
def test_the_first_month(typed, first):
    result, found = plan(first_month=typed)
    assert first_month(result, TODAY) == first
    assert [month.first for month in found.months][:2] == [first, later(first, 1)]


@given(st.dates(dt.date(2000, 1, 1), dt.date(2100, 1, 1)), st.integers(0, 40), st.integers(0, 40))
def test_months_add_up(day, one, other):
    first = day.replace(day=1)
    assert later(later(first, one), other) == later(first, one + other)
    assert later(first, 12) == first.replace(year=first.year + 1)


def test_a_study_plans_from_the_day_that_it_is_told():
    study = study_of([NAMED, dataclasses.replace(NAMED, requests_month=None)], Options(today=dt.date(2027, 1, 31)))
    one, none = study.demand
    assert one.months[0].first == dt.date(2027, 2, 1)
    assert none is None


def test_owned_devices_are_kept_when_demand_falls_and_rented_ones_given_back():
    falling = {"requests_month": 20_000_000, "growth_share_month": -0.3, "peak_to_average": 5}
    _, rented = plan(**falling)
    _, owned = plan(**falling, device_cost_h=None, device_capex_cost=30_000, useful_life_years=4)
    assert rented.months[-1].paid_devices == rented.months[-1].devices < rented.months[0].devices
    assert {month.paid_devices for month in owned.months} == {owned.months[0].devices}
    each = owned.months[0].devices * 30_000 / 48
    assert [month.monthly_cost for month in owned.months] == pytest.approx([each] * 12)


def test_instances_are_bought_whole():
    _, found = plan(
        device_cost_h=None, instance_cost_h=20, instance_devices=8, growth_share_month=0.3, peak_to_average=5
    )
    assert {month.paid_devices % 8 for month in found.months} == {0}
    for month in found.months:
        assert 0 <= month.paid_devices - month.devices < 8
        assert month.monthly_cost == pytest.approx(month.paid_devices * 2.5 * 730)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30])
def test_a_load_of_just_so_many_deployments_buys_no_more(count):
    for served in (1100.0, 333.3, 0.7, 51_643.21):
        assert devices_for_load(served * count / 1.1, 0.1, served, 1) == count


def test_what_loses_later_is_not_paid_back():
    result, _ = plan()
    # In the first month the API is dearer, in the last far cheaper.
    _, found = plan(device_cost_h=0.9, growth_share_month=-0.4)
    assert found.months[0].saving_cost_month > 0 > found.months[-1].saved_cost
    assert found.paid_back is None
    assert result.requests_month == 1_000_000
