"""The functions people type in cells: what is declared, and a LAMBDA gives what Python gives, bad input included."""

import importlib
import inspect
import pkgutil
import random
import re

import ironcalc
import pytest

from planner import catalog, formulas
from planner.columns import BadValueError, Column, Number, PrecisionName, Ratio, Typed
from planner.for_excel import for_excel
from planner.formulas import demand, experts, speed
from planner.functions import BY_FORMULA, BY_NAME, EXCEL_FUNCTIONS, call_text, lambda_of, lambdas, plain_text
from planner.guards import excel_ok, precision_lookup, takes_zero
from planner.plan.evaluate import FORMULAS
from planner.units import BARE
from planner.workbook.write import _Workbook

A_FUNCTION = pytest.mark.parametrize("function", EXCEL_FUNCTIONS, ids=lambda function: function.name)
# Those that lay ranges out give a table: see below.
ONE_BY_ONE = [function for function in EXCEL_FUNCTIONS if not function.spread]
ONE_OF_THEM = pytest.mark.parametrize("function", ONE_BY_ONE, ids=lambda function: function.name)
LETTERS = "ABCDEFGHIJ"


# The list.


def test_these_signatures_are_a_promise():
    assert [function.signature for function in EXCEL_FUNCTIONS] == [
        "TOKENS_PER_SEC(weights_gb, bandwidth_gb_s, [efficiency = 1])",
        "CEILING_TOKENS_PER_SEC(weights_gb, bandwidth_gb_s)",
        "AGGREGATE_TOKENS_PER_SEC(weights_gb, bandwidth_gb_s, [efficiency = 1], [batch = 1])",
        "INTER_TOKEN_LATENCY_MS(tokens_per_sec)",
        "TIME_TO_FIRST_TOKEN_S(prompt_tokens, prefill_tokens_per_sec)",
        "GENERATION_TIME_S(output_tokens, tokens_per_sec)",
        "RESPONSE_TIME_S(prompt_tokens, prefill_tokens_per_sec, output_tokens, tokens_per_sec)",
        "REQUESTS_PER_HOUR(batch, response_time_s)",
        "REQUESTS_AT_OCCUPANCY_PER_HOUR(batch, occupancy, response_time_s)",
        "REQUESTS_PER_DEVICE_PER_HOUR(requests_per_hour, devices)",
        "BITS_PER_WEIGHT(precision)",
        "WEIGHTS_GB(params_b, precision)",
        "REQUANTIZED_WEIGHTS_GB(weights_gb, precision, to_precision)",
        "AGGREGATE_BANDWIDTH_GB_S(device_bandwidth_gb_s, devices)",
        "USABLE_BANDWIDTH_GB_S(bandwidth_gb_s, efficiency)",
        "WEIGHTS_MEMORY_SHARE(weights_gb, device_memory_gb, devices)",
        "DEVICES_TO_HOLD(weights_gb, device_memory_gb, usable_share)",
        "KV_BYTES_PER_TOKEN(kv_layers, kv_heads, head_dim, kv_precision)",
        "MLA_KV_BYTES_PER_TOKEN(layers, kv_lora_rank, rope_dim, kv_precision)",
        "DEVICE_KV_BYTES_PER_TOKEN(kv_layers, kv_heads, head_dim, kv_precision, devices)",
        "TP_KV_BYTES_PER_TOKEN(kv_layers, kv_heads, head_dim, kv_precision, devices)",
        "TP_MLA_KV_BYTES_PER_TOKEN(layers, kv_lora_rank, rope_dim, kv_precision, devices)",
        "FINAL_CONTEXT_TOKENS(prompt_tokens, output_tokens)",
        "WINDOW_KV_TOKENS(context_tokens, kv_layers, full_layers, window_tokens)",
        "KV_CACHE_GB(kv_bytes_per_token, context_tokens, [batch = 1])",
        "MEMORY_NEEDED_GB(weights_gb, kv_cache_gb, [overhead_gb = 0])",
        "USABLE_MEMORY_GB(device_memory_gb, [devices = 1], [usable_share = 0.9])",
        "KV_ROOM_GB(weights_gb, device_memory_gb, [devices = 1], [usable_share = 0.9], [overhead_gb = 0])",
        "STREAMS_THAT_FIT(weights_gb, kv_bytes_per_token, context_tokens, device_memory_gb, [devices = 1], [usable_share = 0.9], [overhead_gb = 0])",
        "KV_ROOM_TOKENS(weights_gb, kv_bytes_per_token, batch, device_memory_gb, [devices = 1], [usable_share = 0.9], [overhead_gb = 0])",
        "LONGEST_CONTEXT_TOKENS(weights_gb, kv_bytes_per_token, batch, device_memory_gb, [devices = 1], [usable_share = 0.9], [overhead_gb = 0])",
        "LONGEST_WINDOW_CONTEXT_TOKENS(kv_room_tokens, kv_layers, full_layers, window_tokens)",
        "DEVICES_NEEDED(memory_needed_gb, device_memory_gb, [usable_share = 0.9])",
        "EXPERT_PARAMS_B(params_b, active_params_b, experts, active_experts)",
        "EXPERT_SHARE_READ(experts, active_experts, [batch = 1])",
        "PARAMS_READ_B(streamed_params_b, expert_params_b, experts, active_experts, [batch = 1])",
        "MOE_WEIGHTS_GB(params_b, active_params_b, experts, active_experts, precision, expert_precision)",
        "STREAMED_MOE_WEIGHTS_READ_GB(streamed_params_b, expert_params_b, experts, active_experts, precision, expert_precision, [batch = 1])",
        "MOE_WEIGHTS_READ_GB(params_b, active_params_b, experts, active_experts, precision, expert_precision, [batch = 1])",
        "MOE_READ_GB(weights_gb, active_weights_gb, experts, active_experts, [batch = 1])",
        "MEAN_CONTEXT_TOKENS(prompt_tokens, output_tokens)",
        "STREAMED_WEIGHTS_GB(weights_gb, params_b, streamed_params_b)",
        "KV_READ_GB(kv_bytes_per_token, kv_layers, full_layers, window_tokens, context_tokens, [batch = 1])",
        "DECODE_MEMORY_MS(weights_read_gb, kv_read_gb, bandwidth_gb_s, [efficiency = 1])",
        "DECODE_TFLOP(active_params_b, layers, heads, head_dim, context_tokens, [batch = 1])",
        "DECODE_COMPUTE_MS(decode_tflop, peak_tflop_s, [devices = 1], [mfu = 1])",
        "ADDED_COMPUTE_MS(active_params_b, batch, peak_tflop_s, [devices = 1], [mfu = 1])",
        "STEP_OVERHEAD_MS(stall_ms, added_compute_ms)",
        "STEP_TIME_MS(decode_memory_ms, [decode_compute_ms = 0], [layers = 1], [layer_latency_us = 0], [step_overhead_ms = 0], [batch = 1], [stream_overhead_us = 0])",
        "STEP_TOKENS_PER_SEC(step_time_ms, tokens_per_step)",
        "RANGED_TOKENS_PER_SEC(estimated_tokens_per_sec, range_factor, most_tokens_per_sec)",
        "READ_CEILING_TOKENS_PER_SEC(weights_read_gb, read_bandwidth_gb_s, tokens_per_step)",
        "ESTIMATED_INTER_TOKEN_LATENCY_MS(weights_read_gb, kv_read_gb, bandwidth_gb_s, [efficiency = 1], [decode_compute_ms = 0], [layers = 1], [layer_latency_us = 0], [step_overhead_ms = 0], [batch = 1], [stream_overhead_us = 0])",
        "ESTIMATED_TOKENS_PER_SEC(weights_read_gb, kv_read_gb, bandwidth_gb_s, [efficiency = 1], [decode_compute_ms = 0], [layers = 1], [layer_latency_us = 0], [step_overhead_ms = 0], [batch = 1], [stream_overhead_us = 0])",
        "ESTIMATED_RESPONSE_TIME_S(prefill_s, estimated_generation_time_s)",
        "ESTIMATED_AGGREGATE_TOKENS_PER_SEC(estimated_tokens_per_sec, [batch = 1])",
        "BATCH_CROSSOVER(peak_tflop_s, device_bandwidth_gb_s, precision)",
        "PIPELINE_BANDWIDTH_GB_S(device_bandwidth_gb_s, devices, stages)",
        "SPECULATIVE_TOKENS_PER_STEP(acceptance, draft_tokens)",
        "SPECULATIVE_STEP_MS(step_time_ms, draft_step_ms, draft_tokens)",
        "SPECULATIVE_TOKENS_PER_SEC(step_time_ms, draft_step_ms, acceptance, draft_tokens)",
        "PREFILL_TOKENS(prompt_tokens, cached_tokens)",
        "PREFILL_TFLOP(active_params_b, layers, heads, head_dim, prompt_tokens, [cached_tokens = 0])",
        "PREFILL_TIME_S(prefill_tflop, peak_tflop_s, [devices = 1], [prefill_mfu = 1])",
        "ESTIMATED_PREFILL_S(prefill_compute_s, weights_gb, bandwidth_gb_s, efficiency, layers, layer_latency_us)",
        "CACHED_TIME_TO_FIRST_TOKEN_S(prompt_tokens, cached_tokens, prefill_tokens_per_sec)",
        "CACHE_SAVED_S(cached_tokens, prefill_tokens_per_sec)",
        "CACHE_SAVED_COMPUTE_S(active_params_b, layers, heads, head_dim, cached_tokens, peak_tflop_s, [devices = 1], [prefill_mfu = 1])",
        "SHARED_PREFILL_S(prefill_tflop, peak_tflop_s, devices, stall_mfu)",
        "STALL_MS(batch, shared_prefill_s, output_tokens)",
        "STALLED_CYCLE_S(batch, generation_time_s, time_to_first_token_s)",
        "STALLED_REQUESTS_PER_HOUR(batch, generation_time_s, time_to_first_token_s)",
        "UTILISATION(offered_requests_per_hour, requests_per_hour, [replicas = 1])",
        "OFFERED_STREAMS(offered_requests_per_hour, response_time_s)",
        "QUEUE_WAIT_S(utilisation, response_time_s, batch, [replicas = 1], [arrival_variation = 1], [service_variation = 1])",
        "QUEUED_TIME_TO_FIRST_TOKEN_S(queue_wait_s, time_to_first_token_s)",
        "FLEET_DEVICES(devices, replicas)",
        "FLEET_TOKENS_PER_SEC(aggregate_tokens_per_sec, [replicas = 1])",
        "FLEET_REQUESTS_PER_HOUR(requests_per_hour, [replicas = 1])",
        "DEVICE_SHARE_COST_H(instance_cost_h, instance_devices)",
        "RENTED_COST_H(device_cost_h, [devices = 1])",
        "CAPEX_COST(device_capex_cost, [devices = 1])",
        "DEPRECIATION_COST_H(capex_cost, residual_cost, useful_life_years, [hours_per_month = 730])",
        "ENERGY_COST_H(device_power_w, devices, pue, tariff_cost_kwh)",
        "MONTHLY_AS_COST_H(running_cost_month, [hours_per_month = 730])",
        "DEVICE_MONTHLY_AS_COST_H(device_cost_month, devices, hours_per_month)",
        "HOURLY_COST_H(rent_cost_h, depreciation_cost_h, energy_cost_h, hosting_cost_h, licence_cost_h, support_cost_h, staff_cost_h)",
        "WHOLE_INSTANCE_DEVICES(devices, replicas, instance_devices)",
        "MONTHLY_COST(hourly_cost_h, [hours_per_month = 730])",
        "USED_COST_H(hourly_cost_h, busy_share)",
        "IDLE_COST_H(hourly_cost_h, busy_share)",
        "MONTHLY_CAPACITY_M_TOKENS(aggregate_tokens_per_sec, hours_per_month, busy_share)",
        "COST_PER_M_TOKENS(hourly_cost_h, aggregate_tokens_per_sec, busy_share)",
        "COST_PER_REQUEST(hourly_cost_h, requests_per_hour, busy_share)",
        "PREFILL_SHARE(prefill_s, response_time_s)",
        "STALLED_PREFILL_SHARE(stall_ms, step_time_ms)",
        "COST_PER_M_INPUT_TOKENS(cost_per_request, prefill_share, prompt_tokens)",
        "COST_PER_M_GENERATED_TOKENS(cost_per_request, prefill_share, output_tokens)",
        "API_REQUEST_COST(prompt_tokens, cached_tokens, cache_write_tokens, output_tokens, input_cost_m, cached_cost_m, cache_write_cost_m, output_cost_m)",
        "BLENDED_COST_M(api_request_cost, prompt_tokens, output_tokens)",
        "API_COST_PER_M_OUTPUT(api_request_cost, output_tokens)",
        "API_COST_MONTH(monthly_capacity_m_tokens, api_cost_per_m_output)",
        "SAVING_COST_MONTH(api_cost_month, monthly_cost)",
        "BREAK_EVEN_M_TOKENS(monthly_cost, api_cost_per_m_output)",
        "BREAK_EVEN_SHARE(break_even_m_tokens, full_capacity_m_tokens)",
        "CACHE_SAVING_COST(cached_tokens, input_cost_m, cached_cost_m)",
        "CONVERTED_COST(cost, exchange_rate)",
        "REQUESTS_MONTH(offered_requests_per_hour, [hours_per_month = 730])",
        "NEXT_REQUESTS_MONTH(requests_month, growth_share_month)",
        "PEAK_REQUESTS_PER_HOUR(requests_month, hours_per_month, peak_to_average)",
        "DEVICES_FOR_LOAD(offered_requests_per_hour, headroom, requests_per_hour, devices)",
        "API_BILL_MONTH(api_request_cost, requests_month)",
        "DEVICES_COST_MONTH(hourly_cost_h, staff_cost_h, fleet_devices, paid_devices, [hours_per_month = 730])",
        "BUSY_SHARE_OF_MONTH(requests_month, hours_per_month, fleet_requests_per_hour)",
        "SPEED_TABLE(weights_gb, bandwidth_gb_s, [efficiency = 1])",
    ]


def test_every_equation_has_its_function_and_every_figure_its_equation():
    equations = {
        function
        for file in pkgutil.iter_modules(formulas.__path__, "planner.formulas.")
        for module in [importlib.import_module(file.name)]
        for _, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
    }
    assert set(BY_FORMULA) == equations
    assert set(FORMULAS.values()) < equations
    assert len(BY_NAME) == len(EXCEL_FUNCTIONS)
    # SPEED_TABLE lays TOKENS_PER_SEC out; a sheet calls the latter.
    assert BY_FORMULA[speed.tokens_per_sec].name == "TOKENS_PER_SEC"


@A_FUNCTION
def test_a_function_is_named_as_excel_allows_and_documented(function):
    assert re.fullmatch(r"[A-Z][A-Z_]+", function.name)
    # A1 to XFD1048576 and R1C1 would be cells.
    assert not re.fullmatch(r"[A-Z]{1,3}\d+|R\d*C\d*", function.name)
    assert function.summary.endswith(".")
    assert function.about or function.summary in inspect.getdoc(function.formula)
    optional = [argument.optional for argument in function.arguments]
    assert optional == sorted(optional), "optional arguments stand last"


@A_FUNCTION
def test_a_lambda_keeps_to_excels_limits(function):
    text = lambda_of(function)
    # A name's formula holds at most 8,192 characters; a text in it at most 255.
    assert len(text) < 8_192
    assert all(len(literal) <= 255 for literal in re.findall(r'"([^"]*)"', text))
    assert text.count("(") == text.count(")")


def test_call_text_binds_by_parameter():
    bind = {"efficiency": "C2", "weights_gb": "A2", "bandwidth_gb_s": "B2", "batch": "D2"}
    assert call_text(speed.aggregate_tokens_per_sec, bind) == "AGGREGATE_TOKENS_PER_SEC(A2,B2,C2,D2)"
    assert plain_text(speed.tokens_per_sec, bind) == (
        'IF(OR(A2="",B2="",C2=""),"",IF(COUNT(A2,B2,C2)<3,"check inputs",IF(MIN(A2,B2,C2)<=0,"check inputs",'
        'IF(IF(C2>=10,C2/100,C2)>1,"check inputs",((B2*IF(C2>=10,C2/100,C2))/A2)))))'
    )


def test_growth_may_be_none_or_below_and_an_api_may_be_free(tmp_path):
    """Zero and less are values where a rule's limit lies below zero; a price may be nothing."""
    calls = {
        "NEXT_REQUESTS_MONTH(A1,A2)": 1000.0,
        "NEXT_REQUESTS_MONTH(A1,A3)": 800.0,
        "NEXT_REQUESTS_MONTH(A1,A4)": "growth_share_month is -1; expected a number above -1",
        "API_REQUEST_COST(A1,A2,A2,A1,A2,A2,A2,A2)": 0.0,
        "API_COST_PER_M_OUTPUT(A2,A1)": 0.0,
        "API_COST_MONTH(A1,A2)": 0.0,
        "BREAK_EVEN_M_TOKENS(A1,A2)": "api_cost_per_m_output is 0; expected a number above 0",
        plain_text(demand.next_requests_month, {"requests_month": "A1", "growth_share_month": "A2"}): 1000.0,
        plain_text(demand.next_requests_month, {"requests_month": "A1", "growth_share_month": "A3"}): 800.0,
        plain_text(demand.next_requests_month, {"requests_month": "A1", "growth_share_month": "A4"}): "check inputs",
    }
    path = tmp_path / "growth.xlsx"
    workbook = new_workbook(path)
    sheet = workbook.add_worksheet()
    for row, value in enumerate((1000, 0, -0.2, -1)):
        sheet.write(row, 0, value)
    for row, call in enumerate(calls):
        sheet.write_formula(row, 1, f"={call}")
    workbook.close()
    model = evaluate(path)
    assert [model.get_cell_value(0, row, 2) for row in range(1, len(calls) + 1)] == list(calls.values())
    assert for_excel(BY_NAME["NEXT_REQUESTS_MONTH"])(1000.0, 0.0) == 1000.0


# What a call gives, said once more without Excel: the formula behind the rules of its arguments.


class Refused(Exception):  # noqa: N818  the name says what happens
    pass


# What a text means as an argument: a plain number is one, with a unit or with two readings it is none.
TEXTS = {
    "16": 16,
    " 16 ": 16,
    "+16": 16,
    "1,5": 1.5,
    "0,85": 0.85,
    "0.850": 0.85,
    "-3": -3,
    "1 400": 1400,
    "3.5": 3.5,
    "": None,
    " ": None,
    ".": None,
    "-": None,
    "abc": None,
    "3,350": None,
    "3.350": None,
    "1.2.3": None,
    "1-2": None,
    "1e3": None,
    "16 GB": None,
    "FP17": None,
    "FP*": None,
    "?NT8": None,
    "~": None,
    "85%": None,
    "85 %": None,
    "0,5%": None,
    "1500%": None,
    "%": None,
    "inf": None,
    "nan": None,
}
PERCENT = {"85%": 0.85, "85 %": 0.85, "0,5%": 0.005}


def meaning(argument, value):
    """The number that an argument means; raises Refused with what the LAMBDA says."""
    rule, given = argument.rule, value
    if isinstance(value, str):
        named = catalog.find_precision(value) if isinstance(rule, PrecisionName) else None
        of_text = PERCENT | TEXTS if not isinstance(rule, Ratio) else TEXTS | PERCENT
        value = named.bits if named else of_text[value]
    if value is None or isinstance(value, bool):
        said = str(given).upper() if isinstance(given, bool) else given
        raise Refused(f"{argument.name} is {said}; expected {rule.accepted}")
    if isinstance(rule, Ratio) and given in PERCENT:
        # a percentage is the ratio already
        return value
    try:
        understood = rule.read(Column(argument.name), BARE, Typed(value)).value
    except BadValueError:
        said = given if isinstance(given, str) else f"{given:g}"
        raise Refused(f"{argument.name} is {said}; expected {rule.accepted}") from None
    return float(understood)


def expected(function, values):
    """What a call gives: nothing for want of an argument, else a refusal of the first bad one, else a number."""
    given = [*values, *[None] * (len(function.arguments) - len(values))]
    pairs = list(zip(function.arguments, given, strict=True))
    if any(value is None and not argument.optional for argument, value in pairs):
        return ""
    try:
        numbers = [argument.default if value is None else meaning(argument, value) for argument, value in pairs]
    except Refused as refused:
        return str(refused)
    return function.formula(*numbers)


GOOD = {
    Number: lambda rng: rng.choice([rng.randint(1, 5000), float(f"{10 ** rng.uniform(-2, 4):.4g}")]),
    Ratio: lambda rng: rng.choice([0.85, 85, 10, 100, 1, 0.001, 12.5, round(rng.uniform(0.01, 1), 4)]),
    PrecisionName: lambda rng: rng.choice(
        ["FP16", "fp8", "int 4", "q4_k_m", "Q4-K-M", "half", "4 bit", " awq ", 16, 4.85, 1, 64, 6.5625]
    ),
}
BAD = (0, -1, -0.5, -85, 1.2, 5, 9.5, 850, 0.5, 65, 2.5, True, False, *TEXTS)


def good_number(rng, argument):
    value = 16 if isinstance(argument.rule, PrecisionName) else GOOD[type(argument.rule)](rng)
    if getattr(argument.rule, "below", None):
        value = rng.uniform(0.1, 0.99)
    return round(value) or 1 if getattr(argument.rule, "whole", False) else value


def draw(rng, argument):
    chance = rng.random()
    if chance < 0.1:
        return None
    if chance < 0.25:
        return rng.choice(BAD) or None
    if isinstance(argument.rule, PrecisionName):
        return GOOD[PrecisionName](rng)
    return good_number(rng, argument)


def write_row(sheet, row, values):
    for column, value in enumerate(values):
        if isinstance(value, str):
            sheet.write_string(row, column, value)
        elif value is not None:
            sheet.write(row, column, value)


def evaluate(path):
    model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
    model.evaluate()
    return model


def new_workbook(path):
    workbook = _Workbook(str(path))
    for name, text in lambdas().items():
        workbook.define_name(name, f"={text}")
    return workbook


ROWS, GOOD_ROWS = 70, 20


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """For every function: its rows of arguments, what IronCalc makes of the LAMBDA, and of the plain arithmetic."""
    rng = random.Random(20261129)
    path = tmp_path_factory.mktemp("functions") / "calls.xlsx"
    rows = {}
    with new_workbook(path) as workbook:
        for function in ONE_BY_ONE:
            # 31 characters are the longest name of a sheet.
            sheet = workbook.add_worksheet(function.name[:31])
            count = len(function.arguments)
            fewest = sum(not argument.optional for argument in function.arguments)
            rows[function] = []
            for row in range(ROWS + GOOD_ROWS):
                kind = draw if row < ROWS else good_number
                values = [kind(rng, argument) for argument in function.arguments]
                rows[function].append(values)
                write_row(sheet, row, values)
                cells = [f"{letter}{row + 1}" for letter in LETTERS[:count]]
                for used in range(fewest, count + 1):
                    sheet.write_formula(row, 10 + used, f"={function.name}({','.join(cells[:used])})")
                bind = dict(zip(function.parameters, cells, strict=True))
                sheet.write_formula(row, 30, "=" + plain_text(function.formula, bind))
    model = evaluate(path)
    found = {}
    for index, function in enumerate(ONE_BY_ONE):
        fewest = sum(not argument.optional for argument in function.arguments)
        found[function] = [
            (
                values,
                {
                    used: model.get_cell_value(index, row + 1, 11 + used)
                    for used in range(fewest, len(function.arguments) + 1)
                },
                model.get_cell_value(index, row + 1, 31),
            )
            for row, values in enumerate(rows[function])
        ]
    return found


@ONE_OF_THEM
def test_a_lambda_gives_what_python_gives(function, called):
    kinds = set()
    for values, by_count, _ in called[function]:
        for used, value in by_count.items():
            wanted = expected(function, values[:used])
            kinds.add("number" if isinstance(wanted, float) else "refusal" if wanted else "empty")
            for host in (value, for_excel(function)(*values[:used])):
                if isinstance(wanted, str):
                    assert host == wanted, values[:used]
                else:
                    assert host == pytest.approx(wanted, rel=1e-9), values[:used]
    assert kinds == {"number", "refusal", "empty"}


@ONE_OF_THEM
def test_plain_arithmetic_gives_what_python_gives(function, called):
    compared = 0
    for values, _, value in called[function]:
        if None in values:
            assert value == "", values
        elif all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            wanted = expected(function, values)
            if isinstance(wanted, float):
                assert value == pytest.approx(wanted, rel=1e-9), values
                compared += 1
            elif any(
                v < 0 or (v == 0 and not takes_zero(a.rule)) for v, a in zip(values, function.arguments, strict=True)
            ):
                assert value == "check inputs", values
    assert compared >= 5


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What IronCalc makes of single calls, by the text of the call."""
    calls = [
        "TOKENS_PER_SEC(140,3350,85%)",
        "TOKENS_PER_SEC(140,3350,85)",
        "TOKENS_PER_SEC(140,3350,0.85)",
        "TOKENS_PER_SEC(140,3350)",
        "TOKENS_PER_SEC(140,3350,)",
        "TOKENS_PER_SEC(140,3350,Z1)",
        "AGGREGATE_TOKENS_PER_SEC(140,3350,0.85,8)",
        "AGGREGATE_TOKENS_PER_SEC(140,3350,,8)",
        'WEIGHTS_GB(70,"FP16")',
        'TOKENS_PER_SEC(WEIGHTS_GB(70,"int8"),AGGREGATE_BANDWIDTH_GB_S(3350,2),85%)',
        "RESPONSE_TIME_S(2000,9000,500,TOKENS_PER_SEC(140,3350,85%))",
        "REQUESTS_PER_HOUR(8,RESPONSE_TIME_S(2000,9000,500,TOKENS_PER_SEC(140,3350,85%)))",
        "DEVICES_TO_HOLD(21.6,24,90%)",
        "DEVICES_TO_HOLD(140,80,90)",
        "TOKENS_PER_SEC(Z1,3350)",
        "TOKENS_PER_SEC(#N/A,3350)",
        "TOKENS_PER_SEC(140,#REF!)",
        "REQUESTS_PER_DEVICE_PER_HOUR(1200,2.5)",
        "AGGREGATE_BANDWIDTH_GB_S(3350,0)",
        "TOKENS_PER_SEC(-1,-1,-1)",
        'KV_BYTES_PER_TOKEN(80,8,128,"BF16")',
        'STREAMS_THAT_FIT(140,KV_BYTES_PER_TOKEN(80,8,128,"fp8"),4352,80,4)',
        "LONGEST_CONTEXT_TOKENS(140,327680,8,80,4,90%,0)",
        "DEVICES_NEEDED(MEMORY_NEEDED_GB(141.107,KV_CACHE_GB(327680,32768,8)),80)",
        'MOE_WEIGHTS_READ_GB(46.7,12.9,8,2,"FP16","FP16",8)',
        "ESTIMATED_TOKENS_PER_SEC(141.107,KV_READ_GB(327680,80,80,1,32768,8),6700)",
        "ESTIMATED_INTER_TOKEN_LATENCY_MS(201,0,6700,100%,5,80,70,1,9,50)",
        'BATCH_CROSSOVER(989.5,3350,"BF16")',
        "PREFILL_TIME_S(PREFILL_TFLOP(70,80,0,128,2000),989.5)",
        "SPECULATIVE_TOKENS_PER_STEP(80%,4)",
        "SPECULATIVE_TOKENS_PER_STEP(1,4)",
        "QUEUE_WAIT_S(UTILISATION(900,1200),24,8)",
        "MEMORY_NEEDED_GB(140,0)",
        "MEMORY_NEEDED_GB(140,0,-1)",
        "QUEUE_WAIT_S(UTILISATION(14400,1200),24,8)",
        "QUEUE_WAIT_S(UTILISATION(1200,1200),24,8)",
        "LONGEST_WINDOW_CONTEXT_TOKENS(5000,32,0,4096)",
    ]
    path = tmp_path_factory.mktemp("functions") / "single.xlsx"
    with new_workbook(path) as workbook:
        sheet = workbook.add_worksheet("Calls")
        for row, call in enumerate(calls):
            sheet.write_formula(row, 0, f"={call}")
    model = evaluate(path)
    return {call: model.get_cell_value(0, row + 1, 1) for row, call in enumerate(calls)}


@pytest.mark.parametrize(
    ("call", "value"),
    [
        # 3,350 x 0.85 / 140
        ("TOKENS_PER_SEC(140,3350,85%)", 2847.5 / 140),
        ("TOKENS_PER_SEC(140,3350,85)", 2847.5 / 140),
        ("TOKENS_PER_SEC(140,3350,0.85)", 2847.5 / 140),
        ("TOKENS_PER_SEC(140,3350)", 3350 / 140),
        ("TOKENS_PER_SEC(140,3350,)", 3350 / 140),
        ("TOKENS_PER_SEC(140,3350,Z1)", 3350 / 140),
        ("AGGREGATE_TOKENS_PER_SEC(140,3350,0.85,8)", 8 * 2847.5 / 140),
        ("AGGREGATE_TOKENS_PER_SEC(140,3350,,8)", 8 * 3350 / 140),
        ('WEIGHTS_GB(70,"FP16")', 140),
        # 6,700 x 0.85 / 70
        ('TOKENS_PER_SEC(WEIGHTS_GB(70,"int8"),AGGREGATE_BANDWIDTH_GB_S(3350,2),85%)', 5695 / 70),
        ("RESPONSE_TIME_S(2000,9000,500,TOKENS_PER_SEC(140,3350,85%))", 2 / 9 + 70_000 / 2847.5),
        (
            "REQUESTS_PER_HOUR(8,RESPONSE_TIME_S(2000,9000,500,TOKENS_PER_SEC(140,3350,85%)))",
            28_800 / (2 / 9 + 70_000 / 2847.5),
        ),
        ("DEVICES_TO_HOLD(21.6,24,90%)", 1),
        ("DEVICES_TO_HOLD(140,80,90)", 2),
        ('KV_BYTES_PER_TOKEN(80,8,128,"BF16")', 327_680),
        # (288 - 140) GB / (163,840 B x 4,352) = 207.6
        ('STREAMS_THAT_FIT(140,KV_BYTES_PER_TOKEN(80,8,128,"fp8"),4352,80,4)', 207),
        # 148 GB / (327,680 B x 8) = 56,457.5
        ("LONGEST_CONTEXT_TOKENS(140,327680,8,80,4,90%,0)", 56_457),
        ("DEVICES_NEEDED(MEMORY_NEEDED_GB(141.107,KV_CACHE_GB(327680,32768,8)),80)", 4),
        (
            'MOE_WEIGHTS_READ_GB(46.7,12.9,8,2,"FP16","FP16",8)',
            experts.moe_weights_read_gb(46.7, 12.9, 8, 2, 16, 16, 8),
        ),
        # 6,700 / (141.107 + 85.899)
        (
            "ESTIMATED_TOKENS_PER_SEC(141.107,KV_READ_GB(327680,80,80,1,32768,8),6700)",
            6700 / (141.107 + 327_680 * 32_768 * 8 / 1e9),
        ),
        # 30 + 80 x 70 / 1,000 + 1 + 8 x 50 / 1,000
        ("ESTIMATED_INTER_TOKEN_LATENCY_MS(201,0,6700,100%,5,80,70,1,9,50)", 37),
        ('BATCH_CROSSOVER(989.5,3350,"BF16")', 989.5 / 3.35),
        ("PREFILL_TIME_S(PREFILL_TFLOP(70,80,0,128,2000),989.5)", 280 / 989.5),
        ("SPECULATIVE_TOKENS_PER_STEP(80%,4)", 3.3616),
        ("SPECULATIVE_TOKENS_PER_STEP(1,4)", 5),
        ("QUEUE_WAIT_S(UTILISATION(900,1200),24,8)", 12 * 0.75 ** (18**0.5 - 1)),
        ("MEMORY_NEEDED_GB(140,0)", 140),
    ],
)
def test_calls_as_people_type_them(call, value, shown):
    assert shown[call] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("TOKENS_PER_SEC(Z1,3350)", ""),
        # an error of the sheet stays that error
        ("TOKENS_PER_SEC(#N/A,3350)", "#N/A"),
        ("TOKENS_PER_SEC(140,#REF!)", "#REF!"),
        ("REQUESTS_PER_DEVICE_PER_HOUR(1200,2.5)", "devices is 2.5; expected a whole number of at least 1"),
        ("AGGREGATE_BANDWIDTH_GB_S(3350,0)", "devices is 0; expected a whole number of at least 1"),
        ("MEMORY_NEEDED_GB(140,0,-1)", "overhead_gb is -1; expected a number of at least 0"),
        # what cannot be served is no percentage
        ("QUEUE_WAIT_S(UTILISATION(14400,1200),24,8)", "utilisation is 12; expected a number above 0 and below 1"),
        ("QUEUE_WAIT_S(UTILISATION(1200,1200),24,8)", "utilisation is 1; expected a number above 0 and below 1"),
        ("LONGEST_WINDOW_CONTEXT_TOKENS(5000,32,0,4096)", "full_layers is 0; expected a number above 0"),
        # the first bad argument is named
        ("TOKENS_PER_SEC(-1,-1,-1)", "weights_gb is -1; expected a number above 0"),
    ],
)
def test_calls_that_give_no_number(call, text, shown):
    assert shown[call] == text


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory):
    """What BITS_PER_WEIGHT makes of every spelling of every precision, and of some that are none."""
    spellings = [
        written
        for precision in catalog.precisions()
        for spelling in (precision.name, *precision.aliases)
        for written in (spelling, spelling.lower(), f" {spelling} ", spelling.replace("_", "-"))
    ]
    spellings += ["FP17", "FP*", "F*6", "?P16", "*", "?", "~", "FP16~", "FP16*", "~*", "", "FP\u00a016", '"', "#"]
    path = tmp_path_factory.mktemp("functions") / "precisions.xlsx"
    with new_workbook(path) as workbook:
        sheet = workbook.add_worksheet("Precisions")
        for row, spelling in enumerate(spellings):
            sheet.write_string(row, 0, spelling)
            sheet.write_formula(row, 1, f"=BITS_PER_WEIGHT(A{row + 1})")
            sheet.write_formula(row, 2, "=" + precision_lookup(f"A{row + 1}", f"A{row + 1}"))
    model = evaluate(path)
    return {
        spelling: (model.get_cell_value(0, row + 1, 2), model.get_cell_value(0, row + 1, 3))
        for row, spelling in enumerate(spellings)
    }


def test_a_lambda_knows_every_spelling_of_every_precision(looked_up):
    for precision in catalog.precisions():
        for spelling in (precision.name, *precision.aliases):
            for written in (spelling, spelling.lower(), f" {spelling} ", spelling.replace("_", "-")):
                assert looked_up[written] == (precision.bits, precision.bits), written


@pytest.mark.parametrize(
    "spelling", ["FP17", "FP*", "F*6", "?P16", "*", "?", "~", "FP16~", "FP16*", "~*", "FP\u00a016", '"', "#"]
)
def test_a_lambda_knows_no_other_spelling_wildcards_included(spelling, looked_up):
    # Excel's MATCH takes * and ? for any text: 'FP*' must not become FP32.
    refused, value = looked_up[spelling]
    assert refused == f"precision is {spelling}; expected {PrecisionName().accepted}"
    assert value == spelling


@pytest.mark.parametrize(
    ("rule", "guard"),
    [
        (
            Number(above=0, least=1, most=9, whole=True),
            "IF(ISNUMBER(x),IF(ABS(x)<=1E+15,IF(ABS(x)>=1E-15,IF(x>0,IF(x>=1,IF(x<=9,(x=INT(x)),FALSE),FALSE),FALSE),FALSE),"
            "FALSE),FALSE)",
        ),
        (
            Number(least=0),
            "IF(ISNUMBER(x),IF(ABS(x)<=1E+15,IF(ABS(x)>=1E-15,IF(x>=0,TRUE,FALSE),(x=0)),FALSE),FALSE)",
        ),
        (
            Number(above=0, below=1),
            "IF(ISNUMBER(x),IF(ABS(x)<=1E+15,IF(ABS(x)>=1E-15,IF(x<1,IF(x>0,TRUE,FALSE),FALSE),FALSE),FALSE),FALSE)",
        ),
        (Number(above=0), "IF(ISNUMBER(x),IF(ABS(x)<=1E+15,IF(ABS(x)>=1E-15,IF(x>0,TRUE,FALSE),FALSE),FALSE),FALSE)"),
        (Number(), "IF(ISNUMBER(x),IF(ABS(x)<=1E+15,IF(ABS(x)>=1E-15,TRUE,FALSE),FALSE),FALSE)"),
        (Ratio(), "IF(ISNUMBER(x),IF(x>=1E-15,(x<=1),FALSE),FALSE)"),
        (PrecisionName(), "IF(ISNUMBER(x),IF(x>=1,(x<=64),FALSE),FALSE)"),
    ],
)
def test_every_limit_is_guarded_in_excel_without_and(rule, guard):
    # AND over a range would collapse it to one answer.
    assert excel_ok(rule, "x") == guard


def test_the_speed_table_lies_weights_down_and_bandwidths_across_whatever_way_they_are_given():
    # 1,008 / 14 = 72.0; 3,350 / 14 = 239.3; 1,008 / 140 = 7.2; 3,350 / 140 = 23.9
    table = for_excel(BY_NAME["SPEED_TABLE"])
    wanted = [["72.0", "239.3"], ["7.2", "23.9"]]
    for weights in ([[14, 140]], [[14], [140]]):
        for bandwidths in ([[1008, 3350]], [[1008], [3350]]):
            assert [[f"{rate:.1f}" for rate in row] for row in table(weights, bandwidths)] == wanted
