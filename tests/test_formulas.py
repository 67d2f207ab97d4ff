"""Every equation: worked values with their arithmetic, limiting cases, properties, and the units of its name."""

import importlib
import inspect
import math
import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import formulas
from planner.formulas import memory, speed
from planner.units import unit_of

FORMULAS = [
    function
    for file in pkgutil.iter_modules(formulas.__path__, "planner.formulas.")
    for module in [importlib.import_module(file.name)]
    for _, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__
]
# Figures that are of this world by definition: beyond it the equation is no equation.
WITHIN = {
    "utilisation": st.floats(min_value=1e-3, max_value=0.999),
    "growth_share_month": st.floats(min_value=-0.9, max_value=1),
}
BY_NAME = {formula.__name__: formula for formula in FORMULAS}
A_FORMULA = pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)

# Powers of two keep every product and quotient exact, so that scaling can be compared to the last bit.
POWER = st.integers(min_value=-6, max_value=6).map(lambda exponent: 2.0**exponent)
FIGURE = st.floats(min_value=1e-3, max_value=1e6)
RATIO = st.floats(min_value=1e-3, max_value=1)


def approx(value):
    return pytest.approx(value, rel=1e-12)


# The worked example: 70 B at FP16, 3,350 GB/s, efficiency 0.85, batch 8, 2,000 + 500 tokens, prefill 9,000 tok/s.

EXAMPLE = {
    # 70 x 16 / 8 = 140
    "weights_gb": (speed.weights_gb, (70, 16), 140, "140.0"),
    # 3,350 x 0.85 = 2,847.5
    "usable_bandwidth_gb_s": (speed.usable_bandwidth_gb_s, (3350, 0.85), 2847.5, "2,847.5"),
    # 2,847.5 / 140 = 20.339285714...
    "tokens_per_sec": (speed.tokens_per_sec, (140, 3350, 0.85), 2847.5 / 140, "20.34"),
    # 3,350 / 140 = 23.928571...
    "ceiling_tokens_per_sec": (speed.ceiling_tokens_per_sec, (140, 3350), 3350 / 140, "23.93"),
    # 1,000 x 140 / 2,847.5 = 49.165935...
    "inter_token_latency_ms": (speed.inter_token_latency_ms, (2847.5 / 140,), 140_000 / 2847.5, "49.17"),
    # 8 x 2,847.5 / 140 = 162.714285...
    "aggregate_tokens_per_sec": (speed.aggregate_tokens_per_sec, (140, 3350, 0.85, 8), 8 * 2847.5 / 140, "162.71"),
    # 2,000 / 9,000 = 0.2222...
    "time_to_first_token_s": (speed.time_to_first_token_s, (2000, 9000), 2 / 9, "0.222"),
    # 500 x 140 / 2,847.5 = 24.582967...
    "generation_time_s": (speed.generation_time_s, (500, 2847.5 / 140), 70_000 / 2847.5, "24.583"),
    # 0.2222 + 24.5830 = 24.805190...
    "response_time_s": (speed.response_time_s, (2000, 9000, 500, 2847.5 / 140), 2 / 9 + 70_000 / 2847.5, "24.805"),
    # 8 x 3,600 / 24.805190 = 1,161.047...
    "requests_per_hour": (
        speed.requests_per_hour,
        (8, 2 / 9 + 70_000 / 2847.5),
        28_800 / (2 / 9 + 70_000 / 2847.5),
        "1,161.0",
    ),
}


@pytest.mark.parametrize("name", list(EXAMPLE))
def test_the_worked_example(name):
    formula, arguments, exact, printed = EXAMPLE[name]
    value = formula(*arguments)
    assert value == approx(exact)
    assert f"{value:,.{unit_of(name).decimals}f}" == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        # weights 70 x 8 / 8 = 70
        (speed.weights_gb(70, 8), "70.00"),
        # 2,847.5 / 70 = 40.678571...
        (speed.tokens_per_sec(70, 3350, 0.85), "40.68"),
        # 3,350 / 70 = 47.857142...
        (speed.ceiling_tokens_per_sec(70, 3350), "47.86"),
        # 1,000 / 40.678571 = 24.582967...
        (speed.inter_token_latency_ms(2847.5 / 70), "24.58"),
        # 8 x 40.678571 = 325.428571...
        (speed.aggregate_tokens_per_sec(70, 3350, 0.85, 8), "325.43"),
        # 500 / 40.678571 = 12.291483...
        (speed.generation_time_s(500, 2847.5 / 70), "12.29"),
        # 2 / 9 + 12.291483 = 12.513706...
        (speed.response_time_s(2000, 9000, 500, 2847.5 / 70), "12.51"),
        # 28,800 / 12.513706 = 2,301.476...
        (speed.requests_per_hour(8, 2 / 9 + 35_000 / 2847.5), "2301.48"),
    ],
)
def test_the_worked_example_at_int8(value, printed):
    assert f"{value:.2f}" == printed


@pytest.mark.parametrize(
    ("weights_gb", "bandwidth_gb_s", "printed"),
    [
        (14, 1008, "72.0"),
        (14, 2039, "145.6"),
        (14, 3350, "239.3"),
        (35, 1008, "28.8"),
        (35, 2039, "58.3"),
        (35, 3350, "95.7"),
        (70, 1008, "14.4"),
        (70, 2039, "29.1"),
        (70, 3350, "47.9"),
        (140, 1008, "7.2"),
        (140, 2039, "14.6"),
        (140, 3350, "23.9"),
    ],
)
def test_the_speed_table(weights_gb, bandwidth_gb_s, printed):
    value = speed.ceiling_tokens_per_sec(weights_gb, bandwidth_gb_s)
    assert value == bandwidth_gb_s / weights_gb
    assert f"{value:.1f}" == printed
    assert speed.tokens_per_sec(weights_gb, bandwidth_gb_s, 1) == value


def test_two_devices_of_3350_gb_s_are_6700_and_twice_as_fast():
    # 2 x 3,350 x 0.85 / 140 = 40.678571..., where one device's figure taken for both gives half of it
    total = speed.bandwidth_gb_s(3350, 2)
    assert total == 6700
    assert f"{speed.tokens_per_sec(140, total, 0.85):.2f}" == "40.68"
    assert f"{speed.tokens_per_sec(140, speed.bandwidth_gb_s(3350, 1), 0.85):.2f}" == "20.34"


def test_a_k_quant_is_not_four_bits():
    # 42.52 GB x 8 / 70.553706496 B = 4.8213... bits; at 4.0 bits 35.28 GB, a speed 20 % too high
    assert speed.weights_gb(70.553706496, 42.52 * 8 / 70.553706496) == approx(42.52)
    assert f"{speed.ceiling_tokens_per_sec(42.52, 3350):.2f}" == "78.79"
    assert f"{speed.ceiling_tokens_per_sec(speed.weights_gb(70.553706496, 4), 3350):.2f}" == "94.96"


def test_weights_are_in_decimal_gb():
    # 140e9 bytes are 130.39 GiB; dividing GB/s by GiB gives 25.69, 7.37 % too high
    weights = speed.weights_gb(70, 16)
    assert weights * 1e9 == 140e9
    assert f"{speed.ceiling_tokens_per_sec(weights, 3350):.2f}" == "23.93"
    assert f"{speed.ceiling_tokens_per_sec(weights * 1e9 / 2**30, 3350):.2f}" == "25.69"


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        # 140 x 4 / 16
        (speed.requantized_weights_gb(140, 16, 4), 35),
        (speed.requantized_weights_gb(140, 16, 16), 140),
        # 42.52 x 8.5 / 4.85
        (speed.requantized_weights_gb(42.52, 4.85, 8.5), 42.52 * 8.5 / 4.85),
        (speed.bits_per_weight(4.85), 4.85),
        # 8 x 0.5 x 3,600 / 24
        (speed.requests_at_occupancy_per_hour(8, 0.5, 24), 600),
        (speed.requests_at_occupancy_per_hour(8, 1, 24), speed.requests_per_hour(8, 24)),
        (speed.requests_per_device_per_hour(1200, 2), 600),
        # 140 / (80 x 2)
        (memory.weights_memory_share(140, 80, 2), 0.875),
    ],
)
def test_other_worked_values(value, exact):
    assert value == approx(exact)


@pytest.mark.parametrize(
    ("weights_gb", "memory_gb", "share", "devices"),
    [
        # 80 x 0.9 = 72 usable
        (71.9, 80, 0.9, 1),
        (72, 80, 0.9, 1),
        (72.1, 80, 0.9, 2),
        (140, 80, 0.9, 2),
        (144, 80, 0.9, 2),
        (144.1, 80, 0.9, 3),
        (1, 80, 0.9, 1),
        # 24 x 0.9 = 21.6, which binary fractions miss by a hair
        (21.6, 24, 0.9, 1),
        (43.2, 24, 0.9, 2),
        (80, 80, 1, 1),
        # Llama-3.1-70B with 85.9 GB of KV cache: 227 GB on cards of 80 GB at 90 %
        (227, 80, 0.9, 4),
        (227, 85.5, 0.9, 3),
    ],
)
def test_devices_to_hold(weights_gb, memory_gb, share, devices):
    assert memory.devices_to_hold(weights_gb, memory_gb, share) == devices


@given(st.floats(min_value=0.01, max_value=1e4), st.floats(min_value=1, max_value=1e3))
def test_what_fits_by_share_needs_one_device(weights_gb, memory_gb):
    fits = memory.weights_memory_share(weights_gb, memory_gb, 1) <= 0.9
    assert (memory.devices_to_hold(weights_gb, memory_gb, 0.9) <= 1) == fits


@given(st.sampled_from([16, 24, 32, 40, 48, 80, 96, 141, 192]), st.integers(min_value=1, max_value=64))
def test_what_just_fits_the_usable_memory_is_held(memory_gb, count):
    weights_gb = round(memory_gb * 0.9 * count, 1)
    assert memory.devices_to_hold(weights_gb, memory_gb * count, 0.9) == 1


# Properties.


@given(FIGURE, FIGURE, RATIO, st.floats(min_value=1, max_value=10))
def test_more_bandwidth_is_never_slower(weights_gb, bandwidth_gb_s, efficiency, more):
    before = speed.tokens_per_sec(weights_gb, bandwidth_gb_s, efficiency)
    assert speed.tokens_per_sec(weights_gb, bandwidth_gb_s * more, efficiency) >= before
    assert speed.tokens_per_sec(weights_gb * more, bandwidth_gb_s, efficiency) <= before


@given(FIGURE, FIGURE, FIGURE, RATIO)
def test_twice_the_bits_is_half_the_speed(params_b, bits, bandwidth_gb_s, efficiency):
    once = speed.tokens_per_sec(speed.weights_gb(params_b, bits), bandwidth_gb_s, efficiency)
    twice = speed.tokens_per_sec(speed.weights_gb(params_b, 2 * bits), bandwidth_gb_s, efficiency)
    assert twice * 2 == once
    assert speed.inter_token_latency_ms(twice) == 2 * speed.inter_token_latency_ms(once)


@given(FIGURE, FIGURE, RATIO, st.integers(min_value=1, max_value=1024))
def test_batch_scales_the_aggregate(weights_gb, bandwidth_gb_s, efficiency, batch):
    one = speed.tokens_per_sec(weights_gb, bandwidth_gb_s, efficiency)
    assert speed.aggregate_tokens_per_sec(weights_gb, bandwidth_gb_s, efficiency, batch) == one * batch
    assert speed.aggregate_tokens_per_sec(weights_gb, bandwidth_gb_s, efficiency, 1) == one


@given(FIGURE, FIGURE, RATIO)
def test_efficiency_one_is_the_ceiling_and_no_efficiency_is_above_it(weights_gb, bandwidth_gb_s, efficiency):
    ceiling = speed.ceiling_tokens_per_sec(weights_gb, bandwidth_gb_s)
    assert speed.tokens_per_sec(weights_gb, bandwidth_gb_s, 1) == ceiling
    assert speed.tokens_per_sec(weights_gb, bandwidth_gb_s, efficiency) <= ceiling * (1 + 1e-12)
    assert speed.usable_bandwidth_gb_s(bandwidth_gb_s, efficiency) <= bandwidth_gb_s


@given(FIGURE, FIGURE, FIGURE, FIGURE)
def test_the_response_is_its_two_parts(prompt, prefill, output, rate):
    ttft, generation = speed.time_to_first_token_s(prompt, prefill), speed.generation_time_s(output, rate)
    response = speed.response_time_s(prompt, prefill, output, rate)
    assert response == ttft + generation
    assert response >= max(ttft, generation)


@given(FIGURE, FIGURE)
def test_latency_and_rate_are_reciprocal(output, rate):
    assert speed.inter_token_latency_ms(rate) * rate == approx(1000)
    assert speed.generation_time_s(output, rate) == approx(output * speed.inter_token_latency_ms(rate) / 1000)


@given(st.integers(min_value=1, max_value=512), FIGURE, RATIO)
def test_littles_law(batch, response_time_s, occupancy):
    an_hour = speed.requests_per_hour(batch, response_time_s)
    assert an_hour / 3600 * response_time_s == approx(batch)
    assert speed.requests_at_occupancy_per_hour(batch, occupancy, response_time_s) == approx(an_hour * occupancy)


@given(FIGURE, FIGURE, FIGURE)
def test_requantizing_there_and_back_changes_nothing(weights_gb, bits, to_bits):
    there = speed.requantized_weights_gb(weights_gb, bits, to_bits)
    assert speed.requantized_weights_gb(there, to_bits, bits) == approx(weights_gb)


@given(FIGURE, FIGURE, RATIO)
def test_the_devices_counted_hold_the_weights_and_one_less_does_not(weights_gb, memory_gb, share):
    devices = memory.devices_to_hold(weights_gb, memory_gb, share)
    assert devices >= 1
    assert devices == math.floor(devices)
    assert devices * memory_gb * share >= weights_gb * (1 - 1e-9)
    assert (devices - 1) * memory_gb * share <= weights_gb * (1 + 1e-9)


TWO = {"window_tokens": 1.0}


@A_FORMULA
def test_limits_at_zero(formula):
    # Values are checked before they come here: a zero divisor is a bug and says so.
    parameters = list(inspect.signature(formula).parameters)
    divisors = []
    for parameter in parameters:
        try:
            # A window of half the context, so that what lies beyond it is reached.
            formula(**{name: 0.0 if name == parameter else TWO.get(name, 2.0) for name in parameters})
        except ZeroDivisionError:
            divisors.append(parameter)
    expected = {
        "tokens_per_sec": ["weights_gb"],
        "ceiling_tokens_per_sec": ["weights_gb"],
        "aggregate_tokens_per_sec": ["weights_gb"],
        "inter_token_latency_ms": ["tokens_per_sec"],
        "time_to_first_token_s": ["prefill_tokens_per_sec"],
        "generation_time_s": ["tokens_per_sec"],
        "response_time_s": ["prefill_tokens_per_sec", "tokens_per_sec"],
        "requests_per_hour": ["response_time_s"],
        "requests_at_occupancy_per_hour": ["response_time_s"],
        "requests_per_device_per_hour": ["devices"],
        "requantized_weights_gb": ["weight_bits"],
        "weights_memory_share": ["device_memory_gb", "devices"],
        "devices_to_hold": ["device_memory_gb", "usable_share"],
        "device_kv_bytes_per_token": ["devices"],
        "tp_kv_bytes_per_token": ["devices"],
        "window_kv_tokens": ["kv_layers"],
        "streams_that_fit": ["kv_bytes_per_token", "context_tokens"],
        "kv_room_tokens": ["kv_bytes_per_token", "batch"],
        "longest_context_tokens": ["kv_bytes_per_token", "batch"],
        "longest_window_context_tokens": ["full_layers"],
        "devices_needed": ["device_memory_gb", "usable_share"],
        "expert_share_read": ["experts"],
        "params_read_b": ["experts"],
        "added_compute_ms": ["peak_tflop_s", "devices", "mfu"],
        "step_tokens_per_sec": ["step_time_ms"],
        "read_ceiling_tokens_per_sec": ["weights_read_gb"],
        "shared_prefill_s": ["peak_tflop_s", "devices", "stall_mfu"],
        "stall_ms": ["output_tokens"],
        "device_share_cost_h": ["instance_devices"],
        "depreciation_cost_h": ["useful_life_years", "hours_per_month"],
        "whole_instance_devices": ["instance_devices"],
        "monthly_as_cost_h": ["hours_per_month"],
        "device_monthly_as_cost_h": ["hours_per_month"],
        "prefill_share": ["response_time_s"],
        "stalled_prefill_share": ["step_time_ms"],
        "cost_per_m_input_tokens": ["prompt_tokens"],
        "cost_per_m_generated_tokens": ["output_tokens"],
        "busy_share_of_month": ["hours_per_month", "fleet_requests_per_hour"],
        "devices_cost_month": ["fleet_devices"],
        "cache_saved_s": ["prefill_tokens_per_sec"],
        "cache_saved_compute_s": ["peak_tflop_s", "devices", "prefill_mfu"],
        "cost_per_m_tokens": ["aggregate_tokens_per_sec", "busy_share"],
        "cost_per_request": ["requests_per_hour", "busy_share"],
        "api_cost_per_m_output": ["output_tokens"],
        "break_even_m_tokens": ["api_cost_per_m_output"],
        "break_even_share": ["full_capacity_m_tokens"],
        "peak_requests_per_hour": ["hours_per_month"],
        "devices_for_load": ["requests_per_hour"],
        "streamed_moe_weights_read_gb": ["experts"],
        "moe_weights_read_gb": ["experts"],
        "streamed_weights_gb": ["params_b"],
        "kv_read_gb": ["kv_layers"],
        "decode_memory_ms": ["bandwidth_gb_s", "efficiency"],
        "decode_compute_ms": ["peak_tflop_s", "devices", "mfu"],
        "estimated_inter_token_latency_ms": ["bandwidth_gb_s", "efficiency"],
        "estimated_tokens_per_sec": ["bandwidth_gb_s", "efficiency"],
        "batch_crossover": ["device_bandwidth_gb_s"],
        "pipeline_bandwidth_gb_s": ["stages"],
        "prefill_time_s": ["peak_tflop_s", "devices", "prefill_mfu"],
        "cached_time_to_first_token_s": ["prefill_tokens_per_sec"],
        "estimated_prefill_s": ["bandwidth_gb_s", "efficiency"],
        "utilisation": ["requests_per_hour", "replicas"],
        "queue_wait_s": ["batch", "replicas"],
    }
    assert divisors == expected.get(formula.__name__, [])


# Dimensions, from the suffixes of the names: each unit as powers of byte, second, token and parameter.

DIMENSIONS = {
    "": {},
    "GB": {"byte": 1},
    "GB/s": {"byte": 1, "second": -1},
    "s": {"second": 1},
    "ms": {"second": 1},
    "per hour": {"second": -1},
    "tokens": {"token": 1},
    "tok/s": {"token": 1, "second": -1},
    "billions": {"parameter": 1},
    "bits": {"byte": 1, "parameter": -1},
    "B/token": {"byte": 1, "token": -1},
    # One multiplication and one addition for each parameter and token.
    "TFLOP": {"parameter": 1, "token": 1},
    "TFLOP/s": {"parameter": 1, "token": 1, "second": -1},
    "tokens/step": {"token": 1},
    "\u00b5s": {"second": 1},
    "W": {"power": 1},
    "money": {"money": 1},
    "money/h": {"money": 1, "second": -1},
    "money/month": {"money": 1},
    "money/kWh": {"money": 1, "power": -1, "second": -1},
    "money/M tokens": {"money": 1, "token": -1},
    "M tokens": {"token": 1},
    "years": {"second": 1},
    "h": {"second": 1},
    # A month is a number of hours, which stands beside it.
    "per month": {},
}
# One read of the weights yields one token, and a latency is that of one token: there the token is no free unit. Nor is
# it where tokens are counted whole. A cache's elements are no parameters, though their bits are bits; nor is attention's
# arithmetic one of parameters.
_TOKEN, _CACHE = ("token",), ("token", "parameter")
HELD = {
    "tokens_per_sec": _TOKEN,
    "ceiling_tokens_per_sec": _TOKEN,
    "aggregate_tokens_per_sec": _TOKEN,
    "inter_token_latency_ms": _TOKEN,
    "kv_bytes_per_token": _CACHE,
    "mla_kv_bytes_per_token": _CACHE,
    "device_kv_bytes_per_token": _CACHE,
    "tp_kv_bytes_per_token": _CACHE,
    "tp_mla_kv_bytes_per_token": _CACHE,
    "decode_tflop": ("token", "parameter"),
    "added_compute_ms": _TOKEN,
    "stall_ms": _TOKEN,
    "prefill_tflop": ("token", "parameter"),
    "cache_saved_compute_s": ("token", "parameter"),
    "estimated_tokens_per_sec": _TOKEN,
    "batch_crossover": _TOKEN,
    "speculative_tokens_per_step": _TOKEN,
    "speculative_step_ms": _TOKEN,
    "speculative_tokens_per_sec": _TOKEN,
    "longest_context_tokens": _TOKEN,
    "longest_window_context_tokens": _TOKEN,
    # Months are counted, twelve a year, whatever their hours.
    "depreciation_cost_h": ("second",),
}
# Figures under which the equation shows that a unit is not free, where twos do not.
SHOWING = {
    "longest_context_tokens": {"kv_bytes_per_token": 3e8},
    "longest_window_context_tokens": {"kv_room_tokens": 1.5},
    "prefill_tflop": {"cached_tokens": 1.0},
    "depreciation_cost_h": {"capex_cost": 5.0},
}
# Names that end in no unit and yet have one.
WITHOUT_SUFFIX = {"bits_per_weight": "bits", "cost": "money"}


def scale_of(name, scales):
    powers = DIMENSIONS[WITHOUT_SUFFIX.get(name, unit_of(name).symbol)]
    return math.prod(scales[base] ** power for base, power in powers.items())


def scaled(formula, values, scales):
    """The formula's value with every argument in other units, and its plain value in those units."""
    there = formula(*(value * scale_of(name, scales) for name, value in values.items()))
    return there, formula(*values.values()) * scale_of(formula.__name__, scales)


@A_FORMULA
@given(
    data=st.data(),
    scales=st.fixed_dictionaries(dict.fromkeys(("byte", "second", "token", "parameter", "money", "power"), POWER)),
)
def test_the_units_of_the_arguments_give_the_unit_of_the_name(formula, data, scales):
    scales |= dict.fromkeys(HELD.get(formula.__name__, ()), 1.0)
    values = {name: data.draw(WITHIN.get(name, FIGURE)) for name in inspect.signature(formula).parameters}
    there, here = scaled(formula, values, scales)
    # What is next to nothing has few digits left.
    assert there == here or max(abs(there), abs(here)) < 1e-300


@pytest.mark.parametrize(("name", "base"), [(name, base) for name, bases in HELD.items() for base in bases])
def test_a_unit_that_is_held_is_no_free_unit_there(name, base):
    formula = BY_NAME[name]
    values = dict.fromkeys(inspect.signature(formula).parameters, 2.0) | SHOWING.get(name, {})
    there, here = scaled(
        formula, values, dict.fromkeys(("byte", "second", "token", "parameter", "money", "power"), 1.0) | {base: 2.0}
    )
    assert there != here


@A_FORMULA
def test_every_formula_is_documented_with_units_and_source(formula):
    text = inspect.getdoc(formula)
    assert "Source: " in text
    assert ">>> " in text
    assert " give" in text
    assert text.splitlines()[0].endswith(".")


@A_FORMULA
def test_every_parameter_is_a_required_float(formula):
    for parameter in inspect.signature(formula).parameters.values():
        assert parameter.default is inspect.Parameter.empty
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert parameter.annotation in {float, "float"}
    assert inspect.signature(formula).return_annotation in {float, "float"}


def test_all_equations_of_the_core_are_there():
    assert len([formula for formula in FORMULAS if formula.__module__ == speed.__name__]) == 15
