"""From speed to money: worked values with their arithmetic, and the faults that spreadsheets are known for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.for_excel import for_excel
from planner.formulas.api_cost import (
    api_cost_per_m_output,
    api_request_cost,
    blended_cost_m,
    break_even_m_tokens,
    break_even_share,
    cache_saving_cost,
    converted_cost,
)
from planner.formulas.cost import (
    cost_per_m_tokens,
    cost_per_request,
    depreciation_cost_h,
    energy_cost_h,
    idle_cost_h,
    monthly_as_cost_h,
    monthly_capacity_m_tokens,
    monthly_cost,
    rented_cost_h,
)
from planner.formulas.demand import (
    devices_for_load,
    peak_requests_per_hour,
)
from planner.functions import BY_NAME

MONEY = st.floats(min_value=0.01, max_value=1e6)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (rented_cost_h(2.5, 8), 20),
        # (250,000 - 25,000) / (4 x 8,760)
        (depreciation_cost_h(250_000, 25_000, 4, 730), 225_000 / 35_040),
        # 700 W x 8 = 5.6 kW; x 1.3 = 7.28 kW; x 0.12
        (energy_cost_h(700, 8, 1.3, 0.12), 0.8736),
        (monthly_as_cost_h(7300, 730), 10),
        # 162.7 x 3,600 x 730 x 0.5 / 1e6
        (monthly_capacity_m_tokens(162.7, 730, 0.5), 162.7 * 3600 * 365 / 1e6),
        (cost_per_request(20, 1000, 0.5), 0.04),
        # 2,000 prompt tokens of which 500 are read and 300 written, no output: 1,200 x 3 + 500 x 0.3 + 300 x 3.75
        (api_request_cost(2000, 500, 300, 0, 3, 0.3, 3.75, 15), 0.004875),
        (break_even_m_tokens(14_600, 8), 1825),
        (break_even_share(1825, 5256), 1825 / 5256),
        (cache_saving_cost(500, 3, 0.3), 500 * 2.7 / 1e6),
        (peak_requests_per_hour(730_000, 730, 3), 3000),
        # 3,000 x 1.2 / 1,161 = 3.1: four deployments of two devices
        (devices_for_load(3000, 0.2, 1161, 2), 8),
        (devices_for_load(1161, 0, 1161, 2), 2),
    ],
)
def test_worked_values(value, expected):
    assert value == pytest.approx(expected, rel=1e-12)


def test_output_alone_is_what_a_cost_per_output_token_divides_by():
    # 4 requests of 32,784 in and 2,048 out took 236.12 s: 34.69 output tokens a second, not 590.06 with the input.
    rate = 4 * 2048 / 236.12
    assert rate == pytest.approx(34.69, abs=5e-3)
    assert cost_per_m_tokens(20, rate, 1) == pytest.approx(160.13, abs=5e-3)
    both = 65_536 / 150.87
    assert cost_per_m_tokens(20, both, 1) == pytest.approx(12.79, abs=5e-3)


def test_allocated_used_and_idle_are_three_lines():
    # 8 devices at 2.50, 7.2 M tokens in an hour that is 30 % busy: at full load it would be 24 M.
    hourly, full = rented_cost_h(2.5, 8), 7.2e6 / 0.3 / 3600
    assert cost_per_m_tokens(hourly, full, 0.3) == pytest.approx(2.78, abs=5e-3)
    assert cost_per_m_tokens(hourly, full, 1) == pytest.approx(0.83, abs=5e-3)
    assert idle_cost_h(hourly, 0.3) == pytest.approx(14)


@pytest.mark.parametrize(("share", "per_thousand"), [(1, 0.03758), (100 / 151.3, 0.05687), (30 / 151.3, 0.18955)])
def test_a_server_costs_more_for_each_prompt_the_less_it_is_used(share, per_thousand):
    # 179,333 a year for 151.3 requests a second
    hourly = 179_333 / 8760
    assert 1000 * cost_per_request(hourly, 151.3 * 3600, share) == pytest.approx(per_thousand, rel=1e-3)


def test_an_apis_price_is_blended_at_the_requests_own_mix():
    # (1,000 x 1 + 200 x 3) / 1,200; the mean of the two prices would be 2.00
    assert blended_cost_m(api_request_cost(1000, 0, 0, 200, 1, 0, 0, 3), 1000, 200) == pytest.approx(1.3333, abs=5e-5)
    assert blended_cost_m(api_request_cost(5000, 0, 0, 1000, 10, 0, 0, 30), 5000, 1000) == pytest.approx(
        13.3333, abs=5e-5
    )
    assert api_cost_per_m_output(0.0016, 200) == pytest.approx(8)


def test_cached_tokens_are_paid_once():
    # 3,914 x 0.5 + 16,298 x 0.05 + 931 x 3 = 5,564.9 millionths
    assert api_request_cost(20_212, 16_298, 0, 931, 0.5, 0.05, 0, 3) == pytest.approx(0.005565, abs=5e-7)


def test_prices_are_per_million():
    # 23,441 in and 6,025 out at 0.39 and 0.78 per million; a sheet that took them per thousand printed 13.84
    assert api_request_cost(10_780 + 12_661, 0, 0, 5500 + 525, 0.39, 0, 0, 0.78) == pytest.approx(0.013841, abs=5e-7)


@pytest.mark.parametrize(("hours", "cost"), [(730, 14_600), (720, 14_400), (744, 14_880), (8760, 175_200)])
def test_a_month_has_the_hours_that_are_given(hours, cost):
    assert monthly_cost(rented_cost_h(2.5, 8), hours) == pytest.approx(cost)


def test_another_currency_takes_a_rate():
    assert converted_cost(300, 95.32) == pytest.approx(28_596)


@given(hourly=MONEY, rate=st.floats(min_value=0.1, max_value=1e6), share=st.floats(min_value=0.01, max_value=1))
def test_what_is_used_and_what_is_idle_make_what_is_paid(hourly, rate, share):
    tokens_m = monthly_capacity_m_tokens(rate, 1, share)
    paid = cost_per_m_tokens(hourly, rate, share) * tokens_m
    used = cost_per_m_tokens(hourly, rate, 1) * tokens_m
    assert paid == pytest.approx(hourly)
    assert used + idle_cost_h(hourly, share) == pytest.approx(paid)


@given(
    hourly=MONEY,
    rate=st.floats(min_value=0.1, max_value=1e6),
    price=MONEY,
    share=st.floats(min_value=0.01, max_value=1),
)
def test_at_break_even_both_cost_the_same(hourly, rate, price, share):
    fixed = monthly_cost(hourly, 730)
    tokens = break_even_m_tokens(fixed, price)
    busy = break_even_share(tokens, monthly_capacity_m_tokens(rate, 730, 1))
    assert tokens * price == pytest.approx(fixed)
    if 1e-6 < busy <= 1:
        assert cost_per_m_tokens(hourly, rate, busy) == pytest.approx(price)
    assert cost_per_m_tokens(hourly, rate, share) >= cost_per_m_tokens(hourly, rate, 1)


def test_the_busy_share_is_never_assumed():
    function = BY_NAME["COST_PER_M_TOKENS"]
    assert not any(argument.optional for argument in function.arguments)
    assert for_excel(function)(20, 2000, None) == ""
    assert for_excel(function)(20, 2000, "30%") == pytest.approx(20 / (2000 * 3600 * 0.3) * 1e6)
    assert for_excel(function)(20, 2000, 1.2).startswith("busy_share is 1.2; expected a ratio")
