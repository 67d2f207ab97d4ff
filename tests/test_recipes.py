"""Each figure's ways, and the values that they must give from a scenario's own inputs."""

from __future__ import annotations

import pytest

from planner.plan import recipes
from planner.plan.evaluate import compute, evaluate, known_of
from planner.plan.money_recipes import MONEY
from planner.plan.recipes import RECIPES, arguments_of, way_of
from planner.plan.scenario import FIGURES, Scenario
from planner.plan.ways import parameters_of

GIB = 2**30 / 1e9
# No device is named, so that the typed efficiency is the fetch's and no latency is counted.
IDEAL = {"efficiency": 1.0}
WORKED = {"params_b": 70, "precision": "FP16", "bandwidth_gb_s": 3350, "efficiency": 0.85, "batch": 8}
CHAT = {"prompt_tokens": 2000, "output_tokens": 500, "prefill_tokens_per_sec": 9000}
MIXTRAL = {
    "params_b": 46.7,
    "active_params_b": 12.9,
    "experts": 8,
    "active_experts": 2,
    "precision": "FP16",
    "device_bandwidth_gb_s": 2039,
    "devices": 2,
} | IDEAL
LLAMA_70B = {
    "params_b": 70.553706496,
    "precision": "BF16",
    "layers": 80,
    "heads": 64,
    "kv_heads": 8,
    "head_dim": 128,
}
DEEPSEEK = {"layers": 61, "kv_lora_rank": 512, "rope_dim": 64, "params_b": 671, "precision": "FP8"}


def at(**inputs):
    return evaluate(Scenario(**inputs))


def test_every_way_takes_fields_and_figures_that_there_are():
    known = set(known_of(Scenario())) | set(FIGURES)
    for figure, ways in RECIPES.items():
        assert figure in FIGURES, figure
        for way in ways:
            assert set(way.bind) <= set(parameters_of(way.formula)), (figure, way)
            taken = {name for name in map(way.takes, parameters_of(way.formula)) if isinstance(name, str)}
            assert taken <= known, (figure, taken - known)


def test_a_figure_is_made_from_figures_above_it():
    made = [name for name in FIGURES if name not in RECIPES]
    for figure, ways in RECIPES.items():
        for way in ways:
            for parameter in parameters_of(way.formula):
                name = way.takes(parameter)
                assert name not in RECIPES or name in made, (figure, name)
        made.append(figure)


def test_the_first_way_whose_inputs_are_there_is_taken():
    known = {"prompt_tokens": 2000, "cached_tokens": 0, "prefill_tokens_per_sec": 9000, "prefill_tflop": 280}
    known |= {"peak_tflop_s": 989.5, "devices": 1, "prefill_mfu": 1, "split": "tensor"}
    typed = way_of("prefill_s", known)
    assert typed.formula(*arguments_of(typed, known)) == pytest.approx(2000 / 9000)
    del known["prefill_tokens_per_sec"]
    assert way_of("prefill_s", known) is None
    computed = way_of("prefill_compute_s", known)
    known["prefill_compute_s"] = computed.formula(*arguments_of(computed, known))
    assert known["prefill_compute_s"] == pytest.approx(0.28297, abs=1e-5)
    known |= {"weights_gb": 140, "read_bandwidth_gb_s": 3350, "fetch_efficiency": 1}
    bare = way_of("prefill_s", known)
    assert bare.formula(*arguments_of(bare, known)) == known["prefill_compute_s"]
    known |= {"layers": 80, "layer_latency_us": 50}
    late = way_of("prefill_s", known)
    assert late.formula(*arguments_of(late, known)) == pytest.approx(0.28297 + 0.004, abs=1e-5)
    del known["peak_tflop_s"]
    assert way_of("prefill_compute_s", known) is None


# A mixture of experts.


@pytest.mark.parametrize(
    ("batch", "read", "rate"),
    # Read: 1.633 of the rest + 8 x 5.633 of experts x the share touched, in 2 bytes.
    [(1, 25.8, 158.06), (8, 84.38, 48.33), (32, 93.39, 43.67)],
)
def test_a_mixture_reads_the_experts_that_its_batch_uses(batch, read, rate):
    result = at(**MIXTRAL, batch=batch)
    assert result.weights_read_gb == pytest.approx(read, abs=0.005)
    assert result.estimated_tokens_per_sec == pytest.approx(rate, abs=0.005)
    assert result.weights_gb == pytest.approx(93.4)
    # The core stays: it reads all experts.
    assert result.tokens_per_sec == pytest.approx(4078 / 93.4)


def test_the_aggregate_of_a_mixture_takes_both_discounts_once():
    result = at(**MIXTRAL, batch=8)
    assert result.estimated_aggregate_tokens_per_sec == pytest.approx(386.6, abs=0.05)


def test_three_ways_to_say_a_mixtures_sizes_agree():
    by_params = at(**MIXTRAL, batch=8)
    by_sizes = at(**MIXTRAL, batch=8, active_weights_gb=25.8)
    by_bits = at(**MIXTRAL, batch=8, expert_precision="FP16")
    assert by_sizes.weights_read_gb == pytest.approx(by_params.weights_read_gb)
    assert by_bits.weights_read_gb == pytest.approx(by_params.weights_read_gb)


def test_experts_at_a_precision_of_their_own_are_read_at_it():
    result = at(**MIXTRAL, batch=1, expert_precision="FP8")
    # 1.633 x 2 + 2 x 5.633 x 1 = 14.53
    assert result.weights_read_gb == pytest.approx((12.9 - 2 * 33.8 / 6) * 2 + 2 * 33.8 / 6, abs=1e-6)


def test_streamed_parameters_of_a_mixture_count_where_they_are_typed():
    plain, typed = at(**MIXTRAL, batch=8), at(**MIXTRAL, batch=8, streamed_params_b=12.4)
    assert plain.weights_read_gb - typed.weights_read_gb == pytest.approx(0.5 * 2)
    by_bits = at(**MIXTRAL, batch=8, streamed_params_b=12.4, expert_precision="FP16")
    assert by_bits.weights_read_gb == pytest.approx(typed.weights_read_gb)


def test_a_mixture_whose_experts_are_all_active_is_dense():
    result = at(**MIXTRAL | {"active_experts": 8, "active_params_b": 46.7}, active_weights_gb=93.4)
    assert result.weights_read_gb == pytest.approx(93.4)


def test_an_embedding_that_is_looked_up_is_not_read():
    result = at(**IDEAL, params_b=8, streamed_params_b=7.5, precision="FP16", bandwidth_gb_s=1000)
    assert result.weights_read_gb == pytest.approx(15.0)
    assert result.estimated_tokens_per_sec == pytest.approx(1000 / 15)


# The KV cache.


def test_kv_reads_slow_a_long_context():
    long = at(
        **IDEAL, **LLAMA_70B, device_bandwidth_gb_s=3350, devices=2, batch=8, prompt_tokens=32767, output_tokens=2
    )
    assert long.mean_context_tokens == 32768
    assert long.kv_bytes_per_token == 327680
    assert long.step_time_ms == pytest.approx(33.88, abs=0.005)
    assert long.estimated_tokens_per_sec == pytest.approx(29.51, abs=0.005)
    assert long.tokens_per_sec == pytest.approx(47.48, abs=0.005)


@pytest.mark.parametrize(("memory", "devices"), [(80, 4), (85.5, 3)])
def test_weights_and_cache_of_a_long_context_take_more_cards(memory, devices):
    context = {"prompt_tokens": 32000, "output_tokens": 768, "batch": 8}
    result = at(**IDEAL, **LLAMA_70B, **context, device_bandwidth_gb_s=3350, devices=2, device_memory_gb=memory)
    assert result.memory_needed_gb == pytest.approx(227.0, abs=0.05)
    assert result.devices_needed == devices
    assert "no-fit" in {issue.code for issue in result.issues}


def test_grouped_heads_keep_an_eighth_of_the_cache():
    inputs = LLAMA_70B | {"params_b": 70}
    result = at(**IDEAL, **inputs, bandwidth_gb_s=6700, batch=10, prompt_tokens=4000, output_tokens=352)
    assert result.kv_cache_gb == pytest.approx(14.26, abs=0.005)
    assert result.memory_needed_gb == pytest.approx(154.26, abs=0.005)


def test_the_head_dimension_is_the_models_own():
    inputs = {"layers": 36, "kv_heads": 8, "head_dim": 128, "params_b": 4, "precision": "BF16", "bandwidth_gb_s": 1000}
    result = at(**inputs, prompt_tokens=32000, output_tokens=768)
    assert result.kv_bytes_per_token == 147456
    assert result.kv_cache_gb == pytest.approx(4.832, abs=0.0005)


def test_a_latent_cache_counts_rank_and_rotary_part_once():
    result = at(**DEEPSEEK, bandwidth_gb_s=1000, prompt_tokens=65000, output_tokens=536)
    assert result.kv_bytes_per_token == 70272
    assert result.kv_cache_gb == pytest.approx(4.605, abs=0.0005)


def test_only_layers_with_a_cache_count_latent_or_not():
    latent = at(**DEEPSEEK | {"kv_layers": 7}, bandwidth_gb_s=1000)
    assert latent.kv_bytes_per_token == 7 * (512 + 64) * 2
    heads = at(**LLAMA_70B, kv_layers=20, bandwidth_gb_s=1000)
    assert heads.kv_bytes_per_token == 327680 / 4


@pytest.mark.parametrize(("precision", "tokens"), [("FP16", 652177), ("FP8", 1304354)])
def test_the_caches_precision_is_its_own(precision, tokens):
    # 69.66 GiB of room: memory of room + weights, all of it usable, no overhead.
    result = at(
        params_b=0.6, precision="FP16", layers=28, kv_heads=8, head_dim=128, bandwidth_gb_s=1000, devices=1,
        device_memory_gb=69.66 * GIB + 1.2, usable_share=1, batch=1, kv_precision=precision,
    )  # fmt: skip
    assert result.longest_context_tokens == pytest.approx(tokens, abs=1)


@pytest.mark.parametrize(("reserve", "gib"), [(None, 12.00), ("full", 12.00), ("capped", 6.09)])
def test_windows_are_reserved_as_the_engine_does(reserve, gib):
    result = at(
        params_b=20.9, precision="BF16", layers=24, full_layers=12, window_tokens=128, kv_heads=8, head_dim=64,
        bandwidth_gb_s=1000, prompt_tokens=8000, output_tokens=192, batch=32, window_reserve=reserve,
    )  # fmt: skip
    assert result.kv_bytes_per_token == 49152
    assert result.kv_cache_gb / GIB == pytest.approx(gib, abs=0.005)
    # Whatever is reserved, windowed layers read no more than their window: (12 x 8,096 + 12 x 128) x 2,048 x 32.
    assert result.kv_read_gb == pytest.approx((12 * 8096 + 12 * 128) * 2048 * 32 / 1e9)


@pytest.mark.parametrize("full", [0, 12])
def test_the_longest_context_of_capped_windows(full):
    result = at(
        params_b=20, precision="FP8", layers=24, full_layers=full, window_tokens=128, kv_heads=8, head_dim=64,
        bandwidth_gb_s=1000, devices=1, device_memory_gb=24, usable_share=1, window_reserve="capped",
    )  # fmt: skip
    # 4 GB of room over 49,152 bytes are 81,380 tokens a layer: 12 windows leave (81,380 x 24 - 12 x 128) / 12.
    assert result.kv_room_tokens == pytest.approx(81380.2, abs=0.1)
    assert result.longest_context_tokens == (None if full == 0 else 162632)


def test_a_cache_of_no_bytes_fits_without_end_and_divides_nothing():
    result = at(
        params_b=7, precision="FP16", kv_bytes_per_token=0, bandwidth_gb_s=1000, devices=1, device_memory_gb=24,
        prompt_tokens=1000, output_tokens=100,
    )  # fmt: skip
    assert (result.kv_cache_gb, result.kv_read_gb) == (0, 0)
    assert (result.streams_that_fit, result.kv_room_tokens, result.longest_context_tokens) == (None, None, None)
    assert result.memory_needed_gb == 14


# Devices that share a model.

EIGHT = {"device_bandwidth_gb_s": 4800, "devices": 8, "device_memory_gb": 141}
SHORT = {"prompt_tokens": 2000, "output_tokens": 2000, "batch": 16}


def test_a_latent_cache_is_copied_to_each_device_that_shares_the_heads():
    result = at(**DEEPSEEK, **EIGHT, **SHORT)
    assert result.reserved_kv_bytes_per_token == 70272 * 8
    assert result.kv_cache_gb == pytest.approx(70272 * 8 * 4000 * 16 / 1e9)
    # 1,015.2 usable - 671 of weights leave 344.2 GB for streams of 2.249 GB.
    assert result.streams_that_fit == 153
    # A step reads the cache once, as the constants were fitted.
    assert result.kv_read_gb == pytest.approx(70272 * 3000 * 16 / 1e9)


def test_kv_heads_are_copied_where_devices_outnumber_them():
    two, sixteen = ({"device_bandwidth_gb_s": 3350, "devices": count, "device_memory_gb": 80} for count in (2, 16))
    assert at(**LLAMA_70B, **two, **SHORT).reserved_kv_bytes_per_token == 327680
    assert at(**LLAMA_70B, **sixteen, **SHORT).reserved_kv_bytes_per_token == 2 * 327680
    assert (
        at(**LLAMA_70B, **sixteen, **SHORT).longest_context_tokens
        == at(**LLAMA_70B, **sixteen, **SHORT, kv_bytes_per_token=2 * 327680).longest_context_tokens
    )


def test_a_split_by_layers_copies_nothing():
    result = at(**DEEPSEEK, **EIGHT, **SHORT, split="layers")
    assert result.reserved_kv_bytes_per_token is None
    assert result.kv_cache_gb == pytest.approx(70272 * 4000 * 16 / 1e9)


def test_a_typed_cache_counts_all_devices_already():
    result = at(**DEEPSEEK, **EIGHT, **SHORT, kv_bytes_per_token=100_000)
    assert result.kv_cache_gb == pytest.approx(100_000 * 4000 * 16 / 1e9)


def test_how_many_devices_hold_copies_is_not_said_where_more_are_needed():
    fits, lacks = at(**DEEPSEEK, **EIGHT, **SHORT), at(**DEEPSEEK, **EIGHT | {"device_memory_gb": 80}, **SHORT)
    # 671 + 36.0 GB over 126.9 usable; with fewer devices there are fewer copies, so that these do hold it.
    assert fits.devices_needed == 6
    assert lacks.devices_needed is None
    (issue,) = (issue for issue in lacks.issues if issue.code == "no-fit")
    assert "takes" not in issue.problem


def test_layers_split_are_read_and_computed_one_device_after_another():
    inputs = {"params_b": 70, "precision": "FP16", "devices": 4, "peak_tflop_s": 100, "batch": 4, "split": "layers"}
    each, total = at(**IDEAL, **inputs, device_bandwidth_gb_s=1000), at(**IDEAL, **inputs, bandwidth_gb_s=4000)
    assert each.read_bandwidth_gb_s == total.read_bandwidth_gb_s == 1000
    assert each.decode_memory_ms == pytest.approx(140)
    # 2 x 70 x 4 / 1,000 TFLOP on one device's 100 TFLOP/s.
    assert each.decode_compute_ms == pytest.approx(5.6)
    added = at(**IDEAL, **inputs, device_bandwidth_gb_s=1000, arithmetic="added")
    # The three further streams' 0.42 TFLOP after the reads.
    assert (added.decode_compute_ms, added.added_compute_ms) == (None, pytest.approx(4.2))
    assert added.step_time_ms == pytest.approx(144.2)


def test_prefill_over_split_layers_has_one_devices_peak_alone_and_beside_decode():
    inputs = {
        "params_b": 70, "precision": "FP16", "devices": 4, "device_bandwidth_gb_s": 1000, "peak_tflop_s": 989.5,
        "batch": 4, "prompt_tokens": 2000, "output_tokens": 500, "prefill_mfu": 1, "stall_mfu": 1,
        "prefill_on": "shared",
    }  # fmt: skip
    layered, tensor = at(**IDEAL, **inputs, split="layers"), at(**IDEAL, **inputs)
    assert layered.prefill_s == layered.shared_prefill_s == pytest.approx(0.2830, abs=5e-5)
    assert tensor.prefill_s == pytest.approx(0.2830 / 4, abs=5e-5)
    assert tensor.shared_prefill_s == pytest.approx(0.2830 / 2, abs=5e-5)


# The step and what comes of it.


def test_prefill_follows_from_the_dense_peak():
    result = at(
        **IDEAL, params_b=70, precision="BF16", bandwidth_gb_s=3350, peak_tflop_s=989.5, prefill_mfu=1,
        prompt_tokens=2000, output_tokens=500,
    )  # fmt: skip
    assert result.prefill_tflop == pytest.approx(280)
    assert result.prefill_s == pytest.approx(0.2830, abs=5e-5)
    assert result.time_to_first_token_s is None


def test_a_short_prompt_takes_one_read_of_the_weights():
    # 70 x 2 x 10 = 1.4 TFLOP take 1.4 ms; 140 GB at 3,350 GB/s take 41.8.
    result = at(
        **IDEAL, params_b=70, precision="BF16", bandwidth_gb_s=3350, peak_tflop_s=989.5, prefill_mfu=1,
        prompt_tokens=10, output_tokens=500,
    )  # fmt: skip
    assert result.prefill_compute_s == pytest.approx(0.001415, abs=1e-6)
    assert result.prefill_s == pytest.approx(140 / 3350)


def test_a_prefix_cache_saves_prefill_alone():
    result = at(**WORKED, **CHAT, cached_tokens=1800)
    assert result.prefill_s == pytest.approx(0.0222, abs=5e-5)
    assert result.estimated_response_time_s == pytest.approx(24.61, abs=0.005)
    # The core knows no cache.
    assert (result.time_to_first_token_s, result.response_time_s) == (
        pytest.approx(0.2222, abs=5e-5),
        pytest.approx(24.81, abs=0.005),
    )


def test_a_prompt_that_is_cached_altogether_takes_no_prefill():
    result = at(**WORKED, **CHAT, cached_tokens=2000, prefill_on="shared")
    assert (result.prefill_s, result.stall_ms) == (0, 0)


def test_prefill_on_the_same_devices_stalls_decode():
    apart, shared = at(**WORKED, **CHAT), at(**WORKED, **CHAT, prefill_on="shared")
    assert apart.estimated_requests_per_hour == pytest.approx(1161, abs=0.5)
    assert apart.stall_ms is None
    # A cycle is 24.583 s of generation and 8 prefills of 0.2222 s.
    assert shared.estimated_requests_per_hour == pytest.approx(1092.5, abs=0.05)
    assert shared.requests_per_hour == pytest.approx(1161, abs=0.5)


def test_without_device_or_latencies_the_estimate_is_the_core():
    result = at(**WORKED, **CHAT)
    assert result.estimated_tokens_per_sec == pytest.approx(result.tokens_per_sec)
    assert (result.low_tokens_per_sec, result.high_tokens_per_sec) == (None, None)
    assert result.sources["fetch_efficiency"] == "the typed efficiency"


def test_latencies_and_streams_lengthen_a_step():
    result = at(**WORKED, layers=80, layer_latency_us=70, stream_overhead_us=50)
    assert result.step_time_ms == pytest.approx(140 / 2.8475 + 5.6 + 0.35)
    without = at(**WORKED, layer_latency_us=0)
    assert without.step_time_ms == pytest.approx(140 / 2.8475)


def test_arithmetic_binds_above_the_crossover():
    inputs = {"params_b": 70, "precision": "FP16", "device_bandwidth_gb_s": 3350, "peak_tflop_s": 989.5} | IDEAL
    below, above = at(**inputs, batch=295), at(**inputs, batch=296)
    assert below.batch_crossover == pytest.approx(295.4, abs=0.05)
    assert below.step_time_ms == pytest.approx(below.decode_memory_ms)
    assert above.step_time_ms == pytest.approx(above.decode_compute_ms)


def test_a_draft_yields_more_tokens_from_a_longer_step():
    result = at(**WORKED, draft_tokens=4, acceptance=0.8, draft_step_ms=2)
    assert result.speculative_tokens_per_step == pytest.approx(3.3616)
    assert result.estimated_tokens_per_sec == pytest.approx(3.3616 * 1000 / (140 / 2.8475 + 8))
    assert result.estimated_tokens_per_sec > result.ceiling_tokens_per_sec


def test_a_range_ends_at_what_the_reads_allow():
    result = at(**WORKED, low_factor=0.8, high_factor=1.5)
    assert result.low_tokens_per_sec == pytest.approx(0.8 * 20.339286)
    assert result.high_tokens_per_sec == pytest.approx(3350 / 140)


# The queue.


def test_a_load_below_capacity_waits():
    result = at(**WORKED | {"batch": 1}, **CHAT, offered_requests_per_hour=100)
    capacity = result.estimated_requests_per_hour
    assert result.utilisation == pytest.approx(100 / capacity)
    # One stream: response x rho / (1 - rho).
    rho = 100 / capacity
    assert result.queue_wait_s == pytest.approx(result.estimated_response_time_s * rho / (1 - rho))


@pytest.mark.parametrize("load", [1160.5, 2000.0])
def test_a_load_at_or_above_capacity_has_no_wait_and_a_warning(load):
    result = at(**WORKED, **CHAT, offered_requests_per_hour=load)
    if load < 1161:
        assert result.utilisation < 1
        return
    assert result.utilisation > 1
    assert result.queue_wait_s is None
    (issue,) = (issue for issue in result.issues if issue.code == "unstable")
    assert issue.advice == "Use at least 2 replicas, or a faster deployment"


def test_replicas_share_the_load():
    one, two = (at(**WORKED, **CHAT, offered_requests_per_hour=900, replicas=count) for count in (1, 2))
    assert two.utilisation == pytest.approx(one.utilisation / 2)
    assert two.queue_wait_s < one.queue_wait_s


def test_no_other_place_makes_these_figures():
    assert set(recipes.MEMORY) | set(recipes.ESTIMATE) | set(recipes.QUEUE) | set(MONEY) == set(RECIPES)
    assert set(compute(Scenario())) == set(FIGURES)
