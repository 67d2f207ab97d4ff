"""KV cache and memory fit: worked values with their arithmetic, exact boundaries, properties."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas.memory import (
    device_kv_bytes_per_token,
    devices_needed,
    final_context_tokens,
    kv_bytes_per_token,
    kv_cache_gb,
    kv_room_gb,
    kv_room_tokens,
    longest_context_tokens,
    longest_window_context_tokens,
    memory_needed_gb,
    mla_kv_bytes_per_token,
    streams_that_fit,
    tp_kv_bytes_per_token,
    tp_mla_kv_bytes_per_token,
    usable_memory_gb,
    window_kv_tokens,
)
from planner.formulas.speed import ceiling_tokens_per_sec, weights_gb

GIB = 2**30
COUNT = st.integers(min_value=1, max_value=256)
TOKENS = st.integers(min_value=1, max_value=200_000)


def gib(gb):
    return gb * 1e9 / GIB


@pytest.mark.parametrize(
    ("layers", "kv_heads", "head_dim", "bits", "bytes_per_token"),
    [
        # Llama-3.1-70B, BF16: 2 x 80 x 8 x 128 x 2 = 327,680 (320 KiB)
        (80, 8, 128, 16, 327_680),
        # its 64 query heads in place of the 8 KV heads would be 8 times as many
        (80, 64, 128, 16, 2_621_440),
        # Qwen3-4B: 2 x 36 x 8 x 128 x 2; hidden size / heads, 2,560 / 32 = 80, would give 92,160
        (36, 8, 128, 16, 147_456),
        (36, 8, 80, 16, 92_160),
        # Qwen3-0.6B: 2 x 28 x 8 x 128 x 2, and at FP8 half of it whatever the weights are in
        (28, 8, 128, 16, 114_688),
        (28, 8, 128, 8, 57_344),
        # gpt-oss-20b: 2 x 24 x 8 x 64 x 2; its 12 full layers alone half of it; gpt-oss-120b has 36 layers
        (24, 8, 64, 16, 49_152),
        (12, 8, 64, 16, 24_576),
        (36, 8, 64, 16, 73_728),
    ],
)
def test_cache_of_one_token(layers, kv_heads, head_dim, bits, bytes_per_token):
    assert kv_bytes_per_token(layers, kv_heads, head_dim, bits) == bytes_per_token


def test_grouped_query_attention_is_counted():
    # 10 requests x 4,352 tokens x 327,680 B = 14.26 GB; with 140 GB of weights 154.26 GB, not 254.09
    cache = kv_cache_gb(327_680, 4352, 10)
    assert f"{cache:.2f}" == "14.26"
    assert f"{memory_needed_gb(weights_gb(70, 16), cache, 0):.2f}" == "154.26"
    assert f"{memory_needed_gb(140, kv_cache_gb(2_621_440, 4352, 10), 0):.2f}" == "254.09"


def test_the_head_dimension_is_a_figure_of_its_own():
    # 32,768 x 147,456 = 4.832 GB (4.50 GiB), against 3.02 GB with a derived head dimension
    assert f"{kv_cache_gb(147_456, 32_768, 1):.3f}" == "4.832"
    assert gib(kv_cache_gb(147_456, 32_768, 1)) == pytest.approx(4.5, rel=1e-15)
    assert f"{kv_cache_gb(92_160, 32_768, 1):.2f}" == "3.02"


def test_latent_attention():
    # DeepSeek-V3: 61 x (512 + 64) x 2 = 70,272 B; 65,536 tokens = 4.605 GB = 4.289 GiB
    once = mla_kv_bytes_per_token(61, 512, 64, 16)
    assert once == 70_272
    assert f"{kv_cache_gb(once, 65_536, 1):.3f}" == "4.605"
    assert f"{gib(kv_cache_gb(once, 65_536, 1)):.3f}" == "4.289"
    # Neither two latents without the rotated key (124,928) nor the heads expanded: 61 x 128 x (192 + 128) x 2
    assert once not in {124_928, 61 * 128 * (192 + 128) * 2}
    # every device of a tensor-parallel group holds the whole latent
    assert tp_mla_kv_bytes_per_token(61, 512, 64, 16, 8) == 8 * 70_272


@pytest.mark.parametrize(
    ("kv_heads", "devices", "heads_each"),
    # 8 / 3 are 3 whole heads on the fullest device; beyond 8 devices each keeps a copy of one head
    [(8, 1, 8), (8, 2, 4), (8, 4, 2), (8, 8, 1), (8, 16, 1), (8, 3, 3), (4, 8, 1), (1, 8, 1), (96, 8, 12)],
)
def test_heads_are_shared_out_whole(kv_heads, devices, heads_each):
    each = device_kv_bytes_per_token(80, kv_heads, 128, 16, devices)
    assert each == 2 * 80 * heads_each * 128 * 2
    assert tp_kv_bytes_per_token(80, kv_heads, 128, 16, devices) == each * devices


def test_a_device_of_four_holds_four_times_the_tokens():
    # the ratio of right to wrong is the number of devices: 3,258 / 814 blocks = 4.00
    whole, each = kv_bytes_per_token(64, 8, 128, 16), device_kv_bytes_per_token(64, 8, 128, 16, 4)
    assert whole / each == 4
    assert f"{3258 / 814:.2f}" == "4.00"


@given(COUNT, COUNT, st.sampled_from([4, 8, 16]), COUNT)
def test_sharing_the_heads_never_saves_cache(layers, kv_heads, bits, devices):
    whole, each = kv_bytes_per_token(layers, kv_heads, 128, bits), device_kv_bytes_per_token(layers, kv_heads, 128, bits, devices)  # fmt: skip
    assert whole / devices <= each <= whole
    assert each >= kv_bytes_per_token(layers, 1, 128, bits)
    assert tp_kv_bytes_per_token(layers, kv_heads, 128, bits, devices) >= whole


def test_cache_bits_are_not_those_of_the_weights():
    # 69.66 GiB / 114,688 B = 652,176.98 tokens, of which the last is not whole; at FP8 twice as many
    room = 69.66 * GIB / 1e9
    assert f"{kv_room_tokens(0, 114_688, 1, room, 1, 1, 0):,.0f}" == "652,177"
    assert f"{kv_room_tokens(0, 57_344, 1, room, 1, 1, 0):,.0f}" == "1,304,354"
    assert longest_context_tokens(0, 114_688, 1, room, 1, 1, 0) == 652_176
    # 10.55 GiB / 230,528 tokens = 49,139 B each: 221,000 of them need 10.11 GiB
    assert f"{gib(kv_cache_gb(10.55 * GIB / 230_528, 221_000, 1)):.2f}" == "10.11"


def test_windowed_layers_by_the_engines_rule():
    # gpt-oss-20b, 8,192 tokens x 32: in full 49,152 x 8,192 x 32 = 12.00 GiB
    assert gib(kv_cache_gb(49_152, 8192, 32)) == pytest.approx(12, rel=1e-15)
    # capped (12 x 8,192 + 12 x 128) / 24 = 4,160 tokens: 6.09 GiB
    tokens = window_kv_tokens(8192, 24, 12, 128)
    assert tokens == 4160
    assert gib(kv_cache_gb(49_152, tokens, 32)) == pytest.approx(6.09375, rel=1e-15)
    # dropped, as some tools have it, 6.00
    assert gib(kv_cache_gb(24_576, 8192, 32)) == pytest.approx(6, rel=1e-15)
    # gpt-oss-120b: 5.38 GiB / 73,728 B = 78,352 tokens reserved in full
    assert f"{kv_room_tokens(0, 73_728, 1, 5.38 * GIB / 1e9, 1, 1, 0):,.0f}" == "78,352"


@given(TOKENS, COUNT, st.data())
def test_windows_cap_what_is_cached(context, layers, data):
    full = data.draw(st.integers(min_value=0, max_value=layers))
    window = data.draw(TOKENS)
    cached = window_kv_tokens(context, layers, full, window)
    assert min(context, window) * (1 - 1e-12) <= cached <= context * (1 + 1e-12)
    assert window_kv_tokens(context + 1, layers, full, window) >= cached
    if context <= window or full == layers:
        assert cached == pytest.approx(context, rel=1e-12)


@given(TOKENS, COUNT, st.data())
def test_the_longest_context_is_the_one_whose_cache_is_the_room(context, layers, data):
    full = data.draw(st.integers(min_value=1, max_value=layers))
    window = data.draw(TOKENS)
    room = window_kv_tokens(context, layers, full, window)
    if room != min(context, window) or context <= window:
        assert longest_window_context_tokens(room, layers, full, window) in {context, math.floor(room)}
    assert window_kv_tokens(longest_window_context_tokens(room, layers, full, window), layers, full, window) <= room * (1 + 1e-9)  # fmt: skip


@pytest.mark.parametrize(
    ("room", "context"),
    [
        (0, 0),
        (127.9, 127),
        (128, 128),
        # from here a token of the room is two of the context: the windowed half no longer grows
        (128.5, 129),
        (129, 130),
        (4159.99, 8191),
        (4160, 8192),
    ],
)
def test_context_under_capped_windows(room, context):
    assert longest_window_context_tokens(room, 24, 12, 128) == context


def test_with_no_full_layer_nothing_limits_the_context():
    assert longest_window_context_tokens(100, 32, 0, 128) == 100
    with pytest.raises(ZeroDivisionError):
        longest_window_context_tokens(129, 32, 0, 128)


# What fits.


def test_long_context_needs_four_cards_of_80_gb():
    # 141.107 + 327,680 x 32,768 x 8 = 141.1 + 85.9 = 227.0 GB; 227 / 72 = 3.15; of 85.5 GB 227 / 76.95 = 2.95
    needed = memory_needed_gb(weights_gb(70.554, 16), kv_cache_gb(327_680, 32_768, 8), 0)
    assert f"{kv_cache_gb(327_680, 32_768, 8):.1f}" == "85.9"
    assert f"{needed:.1f}" == "227.0"
    assert devices_needed(needed, 80, 0.9) == 4
    assert devices_needed(needed, 85.5, 0.9) == 3
    # an '80 GB' H100 has 80 GiB of raw memory
    assert f"{80 * GIB / 1e9:.1f}" == "85.9"


def test_a_k_quant_misses_a_card_of_40_gb_that_four_bits_would_fit():
    # 42.52 GB = 39.60 GiB at 4.821 bits; at 4.0 bits 35.28 GB
    assert f"{gib(42.52):.2f}" == "39.60"
    assert f"{42.52 * 8 / 70.553706496:.3f}" == "4.821"
    assert devices_needed(42.52, 40, 1) == 2
    assert f"{weights_gb(70.553706496, 4):.2f}" == "35.28"
    assert devices_needed(weights_gb(70.553706496, 4), 40, 1) == 1


def test_decimal_and_binary_gigabytes_are_kept_apart():
    # 140e9 B = 140 GB = 130.39 GiB: 3,350 / 140 = 23.93, where GB/s over GiB gives 25.69
    assert f"{gib(140):.2f}" == "130.39"
    assert f"{ceiling_tokens_per_sec(140, 3350):.2f}" == "23.93"
    assert f"{ceiling_tokens_per_sec(gib(140), 3350):.2f}" == "25.69"


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        # 2,000 + 500
        (final_context_tokens(2000, 500), 2500),
        # 80 x 2 x 0.9
        (usable_memory_gb(80, 2, 0.9), 144),
        # 144 - 140 - 2
        (kv_room_gb(140, 80, 2, 0.9, 2), 2),
        # 72 - 140: below zero
        (kv_room_gb(140, 80, 1, 0.9, 0), -68),
        # (80 - 60) / (3 x 1e6 B) = 6,666.67 tokens
        (kv_room_tokens(60, 1_000_000, 3, 80, 1, 1, 0), 20_000 / 3),
        (kv_room_tokens(80.1, 1_000_000, 3, 80, 1, 1, 0), 0),
        # 140 + 14.25 + 2
        (memory_needed_gb(140, 14.25, 2), 156.25),
    ],
)
def test_other_worked_values(value, exact):
    assert value == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize(
    ("weights", "streams"),
    [
        # 24 x 0.9 = 21.6 GB, 0.7 GB a stream: 16 + 8 x 0.7 = 21.6 fits to the byte, in binary by a hair not
        (16, 8),
        (15.999999, 8),
        (16.000001, 7),
        (20.9, 1),
        (20.900001, 0),
        (21.6, 0),
        (30, 0),
    ],
)
def test_streams_at_the_boundary(weights, streams):
    assert streams_that_fit(weights, 700_000, 1000, 24, 1, 0.9, 0) == streams
    assert streams_that_fit(weights - 1, 700_000, 1000, 12, 2, 0.9, 1) == streams


@pytest.mark.parametrize(
    ("weights", "context"),
    # 21.6 - 16 = 5.6 GB / (8 x 700,000 B) = 1,000 tokens each
    [(16, 1000), (16.0000001, 999), (15.9944, 1001), (15.9944001, 1000), (21.6, 0), (22, 0)],
)
def test_context_at_the_boundary(weights, context):
    assert longest_context_tokens(weights, 700_000, 8, 24, 1, 0.9, 0) == context


# Against exact arithmetic: memory in whole megabytes, shares in hundredths, bytes whole.
MEGABYTES = st.integers(min_value=1_000, max_value=2_000_000)
SHARE = st.integers(min_value=50, max_value=100)
BYTES = st.integers(min_value=10_000, max_value=5_000_000)


@given(MEGABYTES, st.integers(min_value=1, max_value=16), SHARE, BYTES, st.data())
def test_fits_are_whole_and_exact(megabytes, devices, percent, per_token, data):
    count = data.draw(st.integers(min_value=1, max_value=64))
    usable = Fraction(megabytes * 1_000_000 * devices * percent, 100)
    kept = data.draw(st.integers(min_value=0, max_value=int(usable)) | st.just(int(usable) - per_token * count * 1000))
    # What is missing to the next whole one is missing unless it is a trillionth of the memory.
    room, slack = max(usable - kept, 0), usable / 10**12 * 2
    arguments = (megabytes / 1000, devices, percent / 100, 0)
    context = longest_context_tokens(kept / 1e9, per_token, count, *arguments)
    assert room // (per_token * count) <= context <= (room + slack) // (per_token * count)
    streams = streams_that_fit(kept / 1e9, per_token, 1000 * count, *arguments)
    assert room // (per_token * 1000 * count) <= streams <= (room + slack) // (per_token * 1000 * count)


@given(MEGABYTES, SHARE, st.integers(min_value=1, max_value=64))
def test_what_just_fits_the_devices_needs_no_more(megabytes, percent, devices):
    usable = Fraction(megabytes * devices * percent, 100_000)
    assert devices_needed(float(usable), megabytes / 1000, percent / 100) == devices
    assert devices_needed(float(usable) * (1 + 1e-9), megabytes / 1000, percent / 100) == devices + 1


@given(
    st.floats(min_value=1, max_value=1e4), st.floats(min_value=0, max_value=1e4), st.floats(min_value=8, max_value=300)
)
def test_more_to_hold_never_needs_fewer_devices(needed, more, device_memory):
    assert devices_needed(needed + more, device_memory, 0.9) >= devices_needed(needed, device_memory, 0.9) >= 1
    assert devices_needed(needed, device_memory * 2, 0.9) <= devices_needed(needed, device_memory, 0.9)


@given(st.floats(min_value=1, max_value=500), BYTES, TOKENS, st.integers(min_value=1, max_value=16))
def test_the_largest_batch_fits_and_one_stream_more_does_not(weights, per_token, context, devices):
    usable = usable_memory_gb(80, devices, 0.9)
    streams = streams_that_fit(weights, per_token, context, 80, devices, 0.9, 1)
    assert streams == math.floor(streams)
    if streams:
        assert memory_needed_gb(weights, kv_cache_gb(per_token, context, streams), 1) <= usable * (1 + 2e-12)
        assert longest_context_tokens(weights, per_token, streams, 80, devices, 0.9, 1) >= context
    assert memory_needed_gb(weights, kv_cache_gb(per_token, context, streams + 1), 1) > usable
    assert streams_that_fit(weights, per_token, context + 1, 80, devices, 0.9, 1) <= streams
    assert streams_that_fit(weights, per_token, context, 80, devices + 1, 0.9, 1) >= streams


@given(TOKENS, TOKENS)
def test_the_final_context_is_never_shorter_than_the_prompt(prompt, output):
    assert final_context_tokens(prompt, output) > prompt
