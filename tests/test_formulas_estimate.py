"""The decode step as an estimate: worked values with their arithmetic, limits, properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas.estimate import (
    added_compute_ms,
    batch_crossover,
    decode_compute_ms,
    decode_memory_ms,
    decode_tflop,
    estimated_aggregate_tokens_per_sec,
    estimated_inter_token_latency_ms,
    estimated_response_time_s,
    estimated_tokens_per_sec,
    kv_read_gb,
    mean_context_tokens,
    pipeline_bandwidth_gb_s,
    ranged_tokens_per_sec,
    read_ceiling_tokens_per_sec,
    speculative_step_ms,
    speculative_tokens_per_sec,
    speculative_tokens_per_step,
    step_overhead_ms,
    step_time_ms,
    step_tokens_per_sec,
    streamed_weights_gb,
)
from planner.formulas.memory import tp_kv_bytes_per_token
from planner.formulas.speed import bandwidth_gb_s, ceiling_tokens_per_sec, tokens_per_sec, weights_gb

FIGURE = st.floats(min_value=1e-2, max_value=1e5)
RATIO = st.floats(min_value=0.01, max_value=1)
NONE_OR_MORE = st.floats(min_value=0, max_value=1e3)
BATCH = st.integers(min_value=1, max_value=512)
# Bandwidth and efficiency, and no arithmetic, latency or overhead.
PLAIN = (0, 80, 0, 0, 1, 0)


def test_long_context_at_a_batch_of_eight():
    # Llama-3.1-70B: 327,680 x 32,768 x 8 = 85.9 GB of cache; (141.107 + 85.9) / 6,700 = 33.88 ms, 29.51 tok/s
    weights = weights_gb(70.5537, 16)
    read = kv_read_gb(327_680, 80, 80, 1, 32_768, 8)
    assert f"{weights:.3f}" == "141.107"
    assert f"{read:.1f}" == "85.9"
    assert f"{decode_memory_ms(weights, read, 6700, 1):.2f}" == "33.88"
    assert f"{estimated_inter_token_latency_ms(weights, read, 6700, 1, *PLAIN):.2f}" == "33.88"
    assert f"{estimated_tokens_per_sec(weights, read, 6700, 1, *PLAIN):.2f}" == "29.51"
    # without the cache 6,700 / 141.107 = 47.48
    assert f"{estimated_tokens_per_sec(weights, 0, 6700, 1, *PLAIN):.2f}" == "47.48"
    # at 2,048 tokens 5.37 GB, 45.74 tok/s: speed does not stay flat
    assert (
        f"{estimated_tokens_per_sec(weights, kv_read_gb(327_680, 80, 80, 1, 2048, 8), 6700, 1, *PLAIN):.2f}" == "45.74"
    )


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        # 2,000 + 500 / 2
        (mean_context_tokens(2000, 500), 2250),
        # 16.06 x 7.505 / 8.03: an input embedding of 0.525 B is looked up
        (streamed_weights_gb(16.06, 8.03, 7.505), 15.01),
        # windows: 49,152 B x (12 x 8,192 + 12 x 128) / 24 x 32 / 1e9 = 6.543
        (kv_read_gb(49_152, 24, 12, 128, 8192, 32), 49_152 * 4160 * 32 / 1e9),
        # 2 x 70e9 x 8 = 1.12e12; and 4 x 80 x 64 x 128 x 32,768 x 8 = 0.687e12 of attention
        (decode_tflop(70, 80, 0, 128, 32_768, 8), 1.12),
        (decode_tflop(70, 80, 64, 128, 32_768, 8), 1.12 + 4 * 80 * 64 * 128 * 32_768 * 8 / 1e12),
        # 1.12 / (989.5 x 2 x 0.5) s
        (decode_compute_ms(1.12, 989.5, 2, 0.5), 1120 / 989.5),
        # max(30, 5) + 80 x 70 / 1,000 + 1 + (9 - 1) x 50 / 1,000
        (step_time_ms(30, 5, 80, 70, 1, 9, 50), 37),
        # max(5, 30) + 5.6 + 1 + 0.4
        (step_time_ms(5, 30, 80, 70, 1, 9, 50), 37),
        (estimated_inter_token_latency_ms(201, 0, 6700, 1, 5, 80, 70, 1, 9, 50), 37),
        (estimated_tokens_per_sec(201, 0, 6700, 1, 5, 80, 70, 1, 9, 50), 1000 / 37),
        (estimated_aggregate_tokens_per_sec(1000 / 37, 8), 8000 / 37),
        # 2 x 8e9 x (9 - 1) / (165.2e12 x 0.3) s
        (added_compute_ms(8, 9, 165.2, 1, 0.3), 128 / (165.2 * 0.3)),
        (added_compute_ms(8, 1, 165.2, 1, 0.3), 0),
        (step_overhead_ms(3, 1), 4),
        # 3 tokens x 1,000 / 60
        (step_tokens_per_sec(60, 3), 50),
        # 20 x 1.25 = 25, but the reads allow 24
        (ranged_tokens_per_sec(20, 1.25, 24), 24),
        (ranged_tokens_per_sec(20, 0.75, 24), 15),
        # 4,078 / 25.8
        (read_ceiling_tokens_per_sec(25.8, 4078, 1), 4078 / 25.8),
        (estimated_response_time_s(0.5, 24), 24.5),
        # 3,350 x 8 / 8: one device's bandwidth; two stages of four share the heads: 4 x 3,350
        (pipeline_bandwidth_gb_s(3350, 8, 8), 3350),
        (pipeline_bandwidth_gb_s(3350, 8, 2), 13_400),
        # (1 - 0.8^5) / 0.2 = 3.3616; 30 + 4 x 2 = 38 ms
        (speculative_tokens_per_step(0.8, 4), 3.3616),
        (speculative_step_ms(30, 2, 4), 38),
        (speculative_tokens_per_sec(30, 2, 0.8, 4), 3361.6 / 38),
    ],
)
def test_worked_values(value, exact):
    assert value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("peak", "bandwidth", "bits", "batch"),
    [
        # 989.5e12 x 2 / (2 x 3,350e9) = 295.4; a sparse 1,979 would give twice that
        (989.5, 3350, 16, 295),
        # FP8: 1,979e12 x 1 / (2 x 3,350e9), the same
        (1979, 3350, 8, 295),
        # A100 80GB SXM: 312e12 x 2 / (2 x 2,039e9) = 153.0
        (312, 2039, 16, 153),
    ],
)
def test_the_batch_from_which_arithmetic_binds(peak, bandwidth, bits, batch):
    assert round(batch_crossover(peak, bandwidth, bits)) == batch


@given(FIGURE, FIGURE, st.sampled_from([4, 8, 16]), FIGURE)
def test_at_the_crossover_reading_takes_as_long_as_arithmetic(peak, bandwidth, bits, params_b):
    batch = batch_crossover(peak, bandwidth, bits)
    reading = decode_memory_ms(weights_gb(params_b, bits), 0, bandwidth, 1)
    assert decode_compute_ms(decode_tflop(params_b, 80, 0, 128, 1, batch), peak, 1, 1) == pytest.approx(
        reading, rel=1e-9
    )


def test_a_split_by_layers_is_as_fast_as_one_device():
    # 140 GB over 2 x 3,350: by heads 47.86, by layers 23.93
    assert f"{ceiling_tokens_per_sec(140, pipeline_bandwidth_gb_s(3350, 2, 1)):.2f}" == "47.86"
    assert f"{ceiling_tokens_per_sec(140, pipeline_bandwidth_gb_s(3350, 2, 2)):.2f}" == "23.93"
    assert pipeline_bandwidth_gb_s(3350, 2, 1) == bandwidth_gb_s(3350, 2)


def test_copies_of_heads_are_read_too():
    # 16 devices and 8 KV heads: twice the cache, read at 16 devices' bandwidth, as long as one head each on 8
    sixteen = kv_read_gb(tp_kv_bytes_per_token(80, 8, 128, 16, 16), 80, 80, 1, 32_768, 8)
    eight = kv_read_gb(tp_kv_bytes_per_token(80, 8, 128, 16, 8), 80, 80, 1, 32_768, 8)
    assert sixteen / (16 * 3350) == eight / (8 * 3350)


@given(FIGURE, FIGURE, RATIO)
def test_without_what_the_core_leaves_out_the_estimate_is_the_core(weights, bandwidth, efficiency):
    assert estimated_tokens_per_sec(weights, 0, bandwidth, efficiency, *PLAIN) == pytest.approx(
        tokens_per_sec(weights, bandwidth, efficiency), rel=1e-12
    )


@given(FIGURE, RATIO, st.lists(NONE_OR_MORE, min_size=5, max_size=5), BATCH, st.integers(0, 4))
def test_nothing_that_is_added_makes_it_faster(weights, efficiency, added, batch, which):
    bandwidth = 3350
    kv, compute, latency, step, stream = added
    rate = estimated_tokens_per_sec(weights, kv, bandwidth, efficiency, compute, 80, latency, step, batch, stream)
    assert rate <= tokens_per_sec(weights, bandwidth, efficiency) * (1 + 1e-9)
    added[which] += 1
    kv, compute, latency, step, stream = added
    assert (
        estimated_tokens_per_sec(weights, kv, bandwidth, efficiency, compute, 80, latency, step, batch, stream) <= rate
    )


@given(FIGURE, st.integers(1, 100_000), st.integers(1, 100_000), BATCH)
def test_more_context_is_never_faster(weights, prompt, output, batch):
    def rate(prompt, output, window=10**9):
        context = mean_context_tokens(prompt, output)
        read = kv_read_gb(327_680, 80, 40, window, context, batch)
        compute = decode_compute_ms(decode_tflop(70, 80, 64, 128, context, batch), 989.5, 2, 0.5)
        return estimated_tokens_per_sec(weights, read, 6700, 0.7, compute, 80, 70, 1, batch, 50)

    assert rate(prompt + 1, output) <= rate(prompt, output)
    assert rate(prompt, output + 1) <= rate(prompt, output)
    assert rate(prompt, output, window=1024) >= rate(prompt, output) * (1 - 1e-12)


@given(FIGURE, NONE_OR_MORE, FIGURE, RATIO, BATCH)
def test_latency_and_rate_are_reciprocal(weights, kv, bandwidth, efficiency, batch):
    arguments = (weights, kv, bandwidth, efficiency, 1, 80, 70, 1, batch, 50)
    assert estimated_tokens_per_sec(*arguments) * estimated_inter_token_latency_ms(*arguments) == pytest.approx(1000)


# Speculative decoding.


@pytest.mark.parametrize(
    ("acceptance", "draft", "tokens"),
    [
        # every token accepted: the draft and one more
        (1, 4, 5),
        (1, 0, 1),
        # none accepted, or none drafted: the step's own token
        (0, 4, 1),
        (0.7, 0, 1),
        # 1 + 0.5 + 0.25
        (0.5, 2, 1.75),
    ],
)
def test_tokens_of_a_step_with_a_draft(acceptance, draft, tokens):
    assert speculative_tokens_per_step(acceptance, draft) == pytest.approx(tokens, rel=1e-12)


@given(st.floats(min_value=0, max_value=0.999), st.integers(0, 16))
def test_tokens_of_a_step_are_the_sum_of_what_is_accepted(acceptance, draft):
    # 1 + a + a^2 + ... + a^g
    tokens = speculative_tokens_per_step(acceptance, draft)
    assert tokens == pytest.approx(sum(acceptance**n for n in range(draft + 1)), rel=1e-9)
    assert tokens <= speculative_tokens_per_step(1, draft) * (1 + 1e-9)
    assert speculative_tokens_per_step(acceptance, draft + 1) >= tokens * (1 - 1e-9)


@given(FIGURE, FIGURE, RATIO, st.integers(0, 16))
def test_a_draft_that_costs_nothing_never_slows_down(step, draft_step, acceptance, draft):
    free = speculative_tokens_per_sec(step, 0, acceptance, draft)
    assert free >= 1000 / step * (1 - 1e-6)
    assert speculative_tokens_per_sec(step, draft_step, acceptance, draft) <= free
    assert speculative_tokens_per_sec(step, draft_step, acceptance, 0) == pytest.approx(1000 / step)


def test_with_a_draft_the_ceiling_is_no_ceiling():
    # 140 GB at 3,350 GB/s: 41.79 ms and 23.93 tok/s; 3.3616 tokens in 41.79 + 4 x 2 ms: 67.51
    step = decode_memory_ms(140, 0, 3350, 1)
    assert f"{speculative_tokens_per_sec(step, 2, 0.8, 4):.2f}" == "67.51"
    assert speculative_tokens_per_sec(step, 2, 0.8, 4) > ceiling_tokens_per_sec(140, 3350)
