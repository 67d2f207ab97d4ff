import dataclasses
import inspect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.issues import PlannerError
from planner.plan.evaluate import FORMULAS, compute, evaluate, evaluate_resolved, result_of
from planner.plan.recipes import RECIPES
from planner.plan.resolve import resolve
from planner.plan.scenario import COLUMNS, FIGURES, Result, Scenario, figure_header, header_of
from planner.plan.ways import parameters_of

EXAMPLE = Scenario(
    name="worked example",
    params_b=70,
    precision="FP16",
    bandwidth_gb_s=3350,
    efficiency=0.85,
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    prefill_tokens_per_sec=9000,
)


def approx(value):
    return pytest.approx(value, rel=1e-12)


def test_the_worked_example():
    result = evaluate(EXAMPLE)
    assert result.weight_bits == 16
    assert result.weights_gb == 140
    assert result.bandwidth_gb_s == 3350
    assert result.usable_bandwidth_gb_s == approx(2847.5)
    # 2,847.5 / 140
    assert result.tokens_per_sec == approx(20.339285714285715)
    assert result.ceiling_tokens_per_sec == approx(3350 / 140)
    assert result.inter_token_latency_ms == approx(140_000 / 2847.5)
    # 8 x 20.339 = 162.714
    assert result.aggregate_tokens_per_sec == approx(8 * 2847.5 / 140)
    # 2,000 / 9,000; 500 x 140 / 2,847.5; their sum; 8 x 3,600 / 24.805
    assert result.time_to_first_token_s == approx(2 / 9)
    assert result.generation_time_s == approx(70_000 / 2847.5)
    assert result.response_time_s == approx(2 / 9 + 70_000 / 2847.5)
    assert round(result.requests_per_hour) == 1161
    assert result.requests_per_device_per_hour == result.requests_per_hour
    # neither memory nor occupancy was given
    assert result.weights_memory_share is None
    assert result.requests_at_occupancy_per_hour is None


def test_the_worked_example_at_int8():
    result = evaluate(dataclasses.replace(EXAMPLE, precision="INT8"))
    printed = {
        "weights_gb": "70.00",
        "tokens_per_sec": "40.68",
        "ceiling_tokens_per_sec": "47.86",
        "inter_token_latency_ms": "24.58",
        "aggregate_tokens_per_sec": "325.43",
        "time_to_first_token_s": "0.22",
        "generation_time_s": "12.29",
        "response_time_s": "12.51",
        "requests_per_hour": "2301.48",
    }
    assert {name: f"{getattr(result, name):.2f}" for name in printed} == printed


def test_occupancy_scales_the_requests():
    result = evaluate(dataclasses.replace(EXAMPLE, occupancy=0.5))
    assert result.requests_at_occupancy_per_hour == approx(result.requests_per_hour / 2)


# Bandwidth per device and in aggregate: two H100 SXM give 40.68, not 20.34.


@pytest.mark.parametrize(
    ("given", "total", "printed"),
    [
        ({"device_bandwidth_gb_s": 3350, "devices": 2}, 6700, "40.68"),
        ({"bandwidth_gb_s": 6700}, 6700, "40.68"),
        ({"bandwidth_gb_s": 6700, "devices": 2}, 6700, "40.68"),
        ({"device_bandwidth_gb_s": 3350, "devices": 2, "bandwidth_gb_s": 6700}, 6700, "40.68"),
        ({"device_bandwidth_gb_s": 3350}, 3350, "20.34"),
        ({"bandwidth_gb_s": 3350}, 3350, "20.34"),
        # an aggregate is the aggregate, however many devices there are
        ({"bandwidth_gb_s": 3350, "devices": 2}, 3350, "20.34"),
    ],
)
def test_aggregate_bandwidth_is_typed_or_per_device_times_devices(given, total, printed):
    result = evaluate(Scenario(params_b=70, precision="FP16", efficiency=0.85, **given))
    assert result.bandwidth_gb_s == total
    assert f"{result.tokens_per_sec:.2f}" == printed


def test_one_card_of_80_gb_does_not_hold_140_gb():
    for devices, share in ((1, 1.75), (2, 0.875)):
        result = evaluate(
            Scenario(
                params_b=70,
                precision="FP16",
                device_bandwidth_gb_s=3350,
                devices=devices,
                efficiency=0.85,
                device_memory_gb=80,
            )
        )
        assert result.weights_memory_share == share
        assert ("no-fit" in {issue.code for issue in result.issues}) == (devices == 1)


def test_requests_per_device_divide_by_the_devices():
    result = evaluate(dataclasses.replace(EXAMPLE, bandwidth_gb_s=None, device_bandwidth_gb_s=1675, devices=2))
    assert round(result.requests_per_hour) == 1161
    assert result.requests_per_device_per_hour == approx(result.requests_per_hour / 2)


# A typed size wins.


def test_a_typed_size_wins_over_parameters_and_bits():
    # Llama-3.1-70B as Q4_K_M: the file is 42.52 GB; 70.5537 x 4.85 / 8 would be 42.77
    result = evaluate(
        Scenario(params_b=70.553706496, precision="Q4_K_M", weights_gb=42.52, bandwidth_gb_s=3350, efficiency=1)
    )
    assert result.weights_gb == 42.52
    assert f"{result.tokens_per_sec:.2f}" == "78.79"
    computed = evaluate(dataclasses.replace(result.scenario, weights_gb=None))
    assert computed.weights_gb == approx(70.553706496 * 4.85 / 8)


def test_a_typed_size_needs_no_parameters_and_no_precision():
    result = evaluate(Scenario(weights_gb=140, bandwidth_gb_s=3350))
    assert result.weight_bits is None
    assert result.tokens_per_sec == approx(3350 / 140)


@pytest.mark.parametrize(("precision", "weights"), [("4.85", 42.4375), (4.85, 42.4375), ("MXFP4", 37.1875), (1, 8.75)])
def test_bits_may_be_named_or_typed(precision, weights):
    # 70 x 4.85 / 8 = 42.4375; 70 x 4.25 / 8 = 37.1875; 70 / 8 = 8.75
    assert evaluate(Scenario(params_b=70, precision=precision, bandwidth_gb_s=1)).weights_gb == approx(weights)


# What stays empty.


@pytest.mark.parametrize(
    ("without", "empty"),
    [
        (
            "prompt_tokens",
            {"time_to_first_token_s", "response_time_s", "requests_per_hour", "requests_per_device_per_hour"},
        ),
        (
            "prefill_tokens_per_sec",
            {"time_to_first_token_s", "response_time_s", "requests_per_hour", "requests_per_device_per_hour"},
        ),
        (
            "output_tokens",
            {"generation_time_s", "response_time_s", "requests_per_hour", "requests_per_device_per_hour"},
        ),
    ],
)
def test_a_figure_without_its_input_is_none_and_no_other(without, empty):
    result = evaluate(dataclasses.replace(EXAMPLE, **{without: None}))
    always = {"weights_memory_share", "requests_at_occupancy_per_hour"}
    assert {name for name in (*FORMULAS, "weight_bits") if getattr(result, name) is None} == empty | always


def test_defaults_are_one_device_batch_one_and_the_ceiling():
    result = evaluate(Scenario(weights_gb=140, device_bandwidth_gb_s=3350))
    assert result.tokens_per_sec == result.ceiling_tokens_per_sec == result.aggregate_tokens_per_sec


def test_what_cannot_be_evaluated_raises_with_every_problem():
    with pytest.raises(PlannerError) as caught:
        evaluate(Scenario(efficiency=1.2))
    assert str(caught.value) == (
        "Efficiency is 1.2; expected a ratio above 0 to 1, or 10 to 100 for percent; Weights are missing; expected "
        "Weights (GB), or Parameters (billions) and Precision; Bandwidth is missing; expected Bandwidth per device "
        "(GB/s) and Devices, or Aggregate bandwidth (GB/s)."
    )


@given(
    st.fixed_dictionaries(
        {"params_b": st.floats(1e-15, 2e7), "bandwidth_gb_s": st.floats(1e-15, 1e9)},
        optional={
            "efficiency": st.floats(min_value=1e-15, max_value=1),
            "batch": st.integers(min_value=1, max_value=10**15),
            "devices": st.integers(min_value=1, max_value=10**15),
            "prompt_tokens": st.integers(min_value=1, max_value=10**10),
            "output_tokens": st.integers(min_value=1, max_value=10**10),
            "prefill_tokens_per_sec": st.floats(1e-15, 1e10),
            "device_memory_gb": st.floats(1e-15, 2e6),
            "occupancy": st.floats(min_value=1e-15, max_value=1),
            "measured_tokens_per_sec": st.floats(1e-15, 1e8),
            "weights_gb": st.floats(1e-15, 1e7),
            "precision": st.floats(min_value=1, max_value=64),
        },
    )
)
def test_whatever_the_columns_accept_has_finite_figures(given):
    resolution = resolve(Scenario(**{"precision": "FP16", **given}))
    assert resolution.ok
    for name, value in compute(resolution.scenario).items():
        assert value is None or math.isfinite(value), name
    evaluate_resolved(resolution)


# The table of formulas.


def test_every_formula_takes_inputs_and_figures_above_it():
    known = {*COLUMNS, "weight_bits"}
    for name, formula in FORMULAS.items():
        assert set(parameters_of(formula)) <= known, name
        known.add(name)


def test_every_figure_has_its_formula_and_its_column():
    assert set(FORMULAS) | set(RECIPES) | {"weight_bits", "kv_bits", "expert_bits"} == set(FIGURES)
    for name, formula in FORMULAS.items():
        assert formula.__name__ == name
        assert parameters_of(formula) == tuple(inspect.signature(formula).parameters)


def test_a_result_is_the_scenario_the_figures_and_the_issues():
    resolution = resolve(EXAMPLE)
    bare = result_of(resolution.scenario, resolution.sources)
    assert bare.issues == ()
    assert dataclasses.replace(evaluate(EXAMPLE), issues=()) == bare
    assert Result(scenario=EXAMPLE).tokens_per_sec is None


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (header_of("device_bandwidth_gb_s"), "Bandwidth per device (GB/s)"),
        (header_of("params_b"), "Parameters (billions)"),
        (header_of("precision"), "Precision"),
        (figure_header("tokens_per_sec"), "Per stream (tok/s)"),
        (figure_header("requests_per_hour"), "Requests (per hour)"),
        (figure_header("weights_memory_share"), "Weights / memory"),
    ],
)
def test_headers(header, text):
    assert header == text
