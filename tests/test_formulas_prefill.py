"""Prefill: worked values with their arithmetic, limits, properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas.prefill import (
    cached_time_to_first_token_s,
    prefill_tflop,
    prefill_time_s,
    prefill_tokens,
    stalled_cycle_s,
    stalled_requests_per_hour,
)
from planner.formulas.speed import requests_per_hour, time_to_first_token_s

TOKENS = st.integers(min_value=1, max_value=1_000_000)
FIGURE = st.floats(min_value=1e-3, max_value=1e4)
# 500 tokens at 20.34 tok/s, and 2,000 at 9,000.
GENERATION, TTFT = 70_000 / 2847.5, 2 / 9


def test_time_to_first_token_from_the_dense_peak():
    # 2 x 70e9 x 2,000 = 2.8e14; / 989.5e12 = 0.2830 s; the sparse 1,979 would give half of it
    assert prefill_tflop(70, 80, 0, 128, 2000, 0) == 280
    assert f"{prefill_time_s(280, 989.5, 1, 1):.4f}" == "0.2830"
    assert f"{prefill_time_s(280, 1979, 1, 1):.4f}" == "0.1415"
    # two devices at 50 % are one at 100 %
    assert prefill_time_s(280, 989.5, 2, 0.5) == prefill_time_s(280, 989.5, 1, 1)


@pytest.mark.parametrize(
    ("prompt", "cached", "tflop"),
    [
        # attention: 2 x 80 x 64 x 128 x 2,000 x 2,001 / 1e12 = 5.2455
        (2000, 0, 280 + 5.24550144),
        # 32,768: 4,587.52 + 2 x 80 x 8,192 x 32,768 x 32,769 / 1e12 = 1,407.4
        (32_768, 0, 2 * 70 * 32.768 + 2 * 80 * 8192 * 32_768 * 32_769 / 1e12),
        # with 1,800 cached: 28 + 2 x 80 x 8,192 x (2,000 x 2,001 - 1,800 x 1,801) / 1e12
        (2000, 1800, 28 + 1_310_720 * (4_002_000 - 3_241_800) / 1e12),
        (2000, 2000, 0),
        (2000, 3000, 0),
        (1, 0, 0.14 + 1_310_720 * 2 / 1e12),
    ],
)
def test_arithmetic_of_prefill(prompt, cached, tflop):
    assert prefill_tflop(70, 80, 64, 128, prompt, cached) == pytest.approx(tflop, rel=1e-12)


@given(st.integers(min_value=1, max_value=300), st.integers(min_value=0, max_value=300))
def test_attention_is_that_of_every_token_to_those_before_it(prompt, cached):
    # 4 x heads x head dim for each pair of a computed token and one up to it
    pairs = sum(token for token in range(cached + 1, prompt + 1))
    linear = 2 * 70 * max(prompt - cached, 0) / 1000
    assert prefill_tflop(70, 1, 64, 128, prompt, cached) - linear == pytest.approx(
        4 * 64 * 128 * pairs / 1e12, abs=1e-12
    )


def test_a_cached_prefix_saves_prefill_only():
    # 90 % of 2,000 cached: 200 / 9,000 = 0.0222 s of 0.2222; 24.81 s become 24.61, 0.81 % less
    cached = cached_time_to_first_token_s(2000, 1800, 9000)
    assert prefill_tokens(2000, 1800) == 200
    assert f"{cached:.4f}" == "0.0222"
    assert f"{TTFT + GENERATION:.2f}" == "24.81"
    # 24.6052 by whole figures
    assert f"{cached + GENERATION:.2f}" == "24.61"
    assert f"{1 - (cached + GENERATION) / (TTFT + GENERATION):.2%}" == "0.81%"
    assert prefill_tokens(2000, 2500) == 0


def test_prefills_stall_the_other_streams():
    # 24.583 + 8 x 0.2222 = 26.361 s; 8 x 3,600 / 26.361 = 1,092.5, where 1,161 takes prefill to cost nobody anything
    assert f"{stalled_cycle_s(8, GENERATION, TTFT):.3f}" == "26.361"
    assert f"{stalled_requests_per_hour(8, GENERATION, TTFT):,.1f}" == "1,092.5"
    assert f"{requests_per_hour(8, GENERATION + TTFT):,.0f}" == "1,161"


@given(TOKENS, st.integers(min_value=0, max_value=1_000_000), FIGURE, st.integers(1, 200))
def test_a_longer_prompt_is_never_faster_and_a_cache_never_slower(prompt, cached, params_b, layers):
    work = prefill_tflop(params_b, layers, 64, 128, prompt, cached)
    assert prefill_tflop(params_b, layers, 64, 128, prompt + 1, cached) >= work
    assert prefill_tflop(params_b, layers, 64, 128, prompt, cached + 1) <= work
    assert cached_time_to_first_token_s(prompt, cached, 9000) <= time_to_first_token_s(prompt, 9000)
    assert cached_time_to_first_token_s(prompt, 0, 9000) == time_to_first_token_s(prompt, 9000)


@given(st.integers(1, 512), FIGURE, FIGURE)
def test_stalls_cost_nothing_to_a_single_stream_and_something_to_more(batch, generation, ttft):
    assert stalled_requests_per_hour(1, generation, ttft) == requests_per_hour(1, generation + ttft)
    assert stalled_requests_per_hour(batch, generation, ttft) <= requests_per_hour(batch, generation + ttft) * (
        1 + 1e-12
    )
    # however many streams, prefills one after another are the bound
    assert stalled_requests_per_hour(batch, generation, ttft) < 3600 / ttft
