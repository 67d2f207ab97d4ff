"""On which basis a result stands, what fits, and what a step's time is made of."""

import dataclasses

import pytest

from planner.plan.basis import (
    KV,
    LAYERS,
    STALLS,
    WEIGHTS,
    estimated_requests_per_device_per_hour,
    fits,
    has_estimate,
    has_range,
    planning_rate,
    step_parts,
)
from planner.plan.evaluate import evaluate
from planner.plan.scenario import Scenario

CORE = Scenario(params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85, batch=8)
NAMED = Scenario(
    model="Llama-3.1-70B",
    device="H100 SXM",
    devices=2,
    precision="FP16",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    prefill_tokens_per_sec=9000,
)


def named(**changes):
    return evaluate(dataclasses.replace(NAMED, **changes))


def test_the_core_under_another_name_is_no_estimate():
    result = evaluate(CORE)
    assert result.estimated_tokens_per_sec == pytest.approx(result.tokens_per_sec)
    assert not has_estimate(result)
    assert not has_range(result)
    assert planning_rate(result) == result.tokens_per_sec


def test_a_named_device_gives_a_range_to_plan_on():
    result = named()
    assert has_estimate(result)
    assert has_range(result)
    assert planning_rate(result) == result.estimated_tokens_per_sec != result.tokens_per_sec


def test_a_model_without_a_device_gives_an_estimate_without_a_range():
    result = evaluate(
        dataclasses.replace(CORE, model="Llama-3.1-70B", prompt_tokens=2000, output_tokens=500, device_memory_gb=80)
    )
    assert has_estimate(result)
    assert not has_range(result)
    assert planning_rate(result) == result.tokens_per_sec


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"batch": 64},
        {"batch": 512, "output_tokens": 20},
        {"engine": "llama.cpp", "device": "RTX 4090", "devices": 1, "model": "Llama-3.1-8B", "batch": 4},
        {"model": "gpt-oss-120b", "precision": None},
        {"draft_tokens": 4, "acceptance": 0.7, "draft_step_ms": 2.0},
    ],
)
def test_the_parts_add_up_to_the_step(changes):
    result = named(**changes)
    whole = result.speculative_step_ms or result.step_time_ms
    assert sum(part.time_ms for part in step_parts(result)) == pytest.approx(whole, rel=1e-12)
    assert all(part.time_ms >= 0 for part in step_parts(result))


def test_the_parts_of_a_step_are_those_of_its_formulas():
    result = named()
    parts = {part.name: part.time_ms for part in step_parts(result)}
    bandwidth = 2 * 3350 * result.scenario.fetch_efficiency
    assert parts[WEIGHTS] == pytest.approx(result.weights_read_gb / bandwidth * 1000)
    assert parts[KV] == pytest.approx(result.kv_read_gb / bandwidth * 1000)
    # 80 layers at the class's latency; 8 prefills of 2,000 / 9,000 s over 500 tokens are 3.556 ms a step
    assert parts[LAYERS] == pytest.approx(80 * result.scenario.layer_latency_us / 1000)
    assert parts[STALLS] == pytest.approx(8 * 2 / 9 / 500 * 1000)


def test_without_a_step_time_there_are_no_parts():
    assert step_parts(dataclasses.replace(named(), step_time_ms=None)) == ()


def test_fit_counts_the_kv_cache_where_it_is_known():
    # 140 GB of weights are 87.5% of 160 GB; with 6.6 GB of cache they are more than the 144 GB usable
    memory = {"device_memory_gb": 80.0, "weights_gb": 140.0}
    assert fits(named(**memory)) is False
    alone = evaluate(
        Scenario(weights_gb=140, device_bandwidth_gb_s=3350, devices=2, device_memory_gb=80, efficiency=0.85)
    )
    assert fits(alone) is True


def test_fit_is_open_without_memory_or_a_count_of_devices():
    assert fits(evaluate(CORE)) is None
    assert fits(evaluate(dataclasses.replace(CORE, device_memory_gb=200))) is None


def test_requests_of_each_device_by_the_estimate():
    result = named()
    assert estimated_requests_per_device_per_hour(result) == result.estimated_requests_per_hour / 2
    assert estimated_requests_per_device_per_hour(named(prompt_tokens=None)) is None
