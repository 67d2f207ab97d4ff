"""Prices are guarded: what lies beyond all known ones is asked about, with the readings that it may have."""

from __future__ import annotations

import dataclasses

import pytest

from planner.plan.evaluate import evaluate
from planner.plan.prices import BOUNDS, is_implausible
from planner.plan.resolve import resolve
from planner.plan.scenario import COLUMNS, Scenario

BASE = Scenario(name="priced", weights_gb=16, bandwidth_gb_s=1000, devices=4, prompt_tokens=10_000, output_tokens=6000)


def said(**changes):
    return [str(issue) for issue in resolve(dataclasses.replace(BASE, **changes)).issues]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"input_cost_m": 0.000_000_39, "output_cost_m": 0.78},
            "API input price is 3.9e-07 money/M tokens, below any known one: 0.39 if it is a price per token; expected "
            "0.001 to 1,000 money/M tokens.",
        ),
        (
            {"input_cost_m": 0.00039, "output_cost_m": 0.78, "currency": "EUR"},
            "API input price is 0.00039 EUR/M tokens, below any known one: 390 if it is a price per token or 0.39 if it "
            "is a price per thousand tokens; expected 0.001 to 1,000 EUR/M tokens.",
        ),
        (
            {"output_cost_m": 15_000},
            "API output price is 15,000 money/M tokens, above any known one: 15 if it is a price of a billion tokens or "
            "0.015 if it was turned into millions twice; expected 0.001 to 1,000 money/M tokens.",
        ),
        (
            {"device_cost_h": 98.32},
            "Price per device-hour is 98.32 money/h, above any known one: 12.29 if it is the price of an instance of 8 or "
            "0.134685 if it is a price per month; expected 0.005 to 30 money/h.",
        ),
        (
            {"tariff_cost_kwh": 32},
            "Tariff is 32 money/kWh, above any known one: 0.32 if it is in cents or 0.032 if it is a price per MWh; "
            "expected 0.005 to 3 money/kWh.",
        ),
        (
            {"instance_cost_h": 3.14028},
            "Price per instance-hour is given, but not how many devices an instance holds; expected their number in "
            "Devices per instance.",
        ),
        (
            {"instance_cost_h": 3.14028, "instance_devices": 4, "device_cost_h": 3.14028},
            "Price per device-hour is 3.14028, but 3.14028 per instance over 4 devices is 0.78507; expected two prices "
            "that agree, or one of them blank.",
        ),
        (
            {"device_cost_h": 2, "device_capex_cost": 30_000},
            "Both a rent and a purchase price are given; expected devices that are rented or devices that are owned.",
        ),
        (
            {"device_capex_cost": 30_000, "device_residual_cost": 30_000, "useful_life_years": 4},
            "Residual per device is 30,000, not below the purchase price; expected less than 30,000.",
        ),
        (
            {"cached_tokens": 8000, "cache_write_tokens": 3000},
            "Cached prompt and cache writes are 11,000 tokens together, more than the prompt; expected parts of a prompt "
            "of 10,000 tokens.",
        ),
    ],
)
def test_messages(changes, message):
    (found,) = said(**changes)
    assert found == message


@pytest.mark.parametrize(
    ("devices", "instance", "each"), [(1, 0.92361, 0.9236), (2, 1.70868, 0.8543), (4, 3.14028, 0.7851)]
)
def test_an_instance_is_divided_by_its_devices(devices, instance, each):
    found = evaluate(dataclasses.replace(BASE, instance_cost_h=instance, instance_devices=devices, busy_share=0.5))
    assert found.device_cost_h == pytest.approx(each, abs=5e-5)
    assert found.rent_cost_h == pytest.approx(4 * found.device_cost_h)


def test_prices_that_agree_but_for_rounding_stand():
    found = resolve(dataclasses.replace(BASE, instance_cost_h=3.14028, instance_devices=4, device_cost_h=0.79))
    assert found.ok


def test_what_is_free_is_plausible():
    assert resolve(dataclasses.replace(BASE, input_cost_m=0, cached_cost_m=0, tariff_cost_kwh=0)).ok


@pytest.mark.parametrize(("currency", "ok"), [("USD", False), ("JPY", True), ("EUR", False), (None, False)])
def test_bounds_go_by_the_size_of_the_currencys_units(currency, ok):
    # 400 yen are some 2.60 dollars.
    assert resolve(dataclasses.replace(BASE, device_cost_h=400, currency=currency)).ok is ok


@pytest.mark.parametrize("name", BOUNDS)
def test_every_guarded_price_is_a_column_whose_ends_are_plausible(name):
    bounds = BOUNDS[name]
    assert name in COLUMNS
    for value, implausible in (
        (bounds.low, False),
        (bounds.high, False),
        (bounds.low * 0.999, True),
        (bounds.high * 1.001, True),
    ):
        assert is_implausible(value, bounds, 1.0) is implausible


def test_all_faults_of_a_row_are_told_at_once():
    assert len(said(input_cost_m=1e-6, output_cost_m=1e-6, device_cost_h=2, device_capex_cost=30_000)) == 3
