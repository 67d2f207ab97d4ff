"""EXCEL_FUNCTIONS: every function people can type in a cell, declared once beside its formula.

Names and arguments are a promise: they will stand in people's sheets for years.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner import columns, guards
from planner.formulas import api_cost, cost, demand, estimate, experts, memory, prefill, queueing, speed
from planner.plan.limits import USABLE_MEMORY_SHARE
from planner.plan.scenario import COLUMNS, POSITIVE
from planner.plan.ways import parameters_of
from planner.rules import Money
from planner.translate import to_excel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: its name in Excel, the formula's parameter, what it accepts, its default if it may be left out."""

    name: str
    rule: columns.Rule
    default: float | None = None

    @property
    def optional(self) -> bool:
        """Whether it may be left out."""
        return self.default is not None


@dataclass(frozen=True, slots=True)
class ExcelFunction:
    """A function as Excel knows it: its name, its formula, and its arguments in order."""

    name: str
    formula: Callable[..., float]
    arguments: tuple[Argument, ...]
    # Arguments that lie one way whatever way their range lies: "down" a column or "across" a row.
    spread: tuple[tuple[str, str], ...] = ()
    about: str = ""

    @property
    def summary(self) -> str:
        """What it gives: the first line of the formula's docstring, unless the function says otherwise."""
        return self.about or (self.formula.__doc__ or "").strip().splitlines()[0]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The formula's parameters, in the order of the arguments."""
        return parameters_of(self.formula)

    @property
    def signature(self) -> str:
        """How the function is typed.

        >>> BY_NAME["TOKENS_PER_SEC"].signature
        'TOKENS_PER_SEC(weights_gb, bandwidth_gb_s, [efficiency = 1])'
        """
        shown = (f"[{a.name} = {a.default:g}]" if a.default is not None else a.name for a in self.arguments)
        return f"{self.name}({', '.join(shown)})"


_OPTIONAL: Final[Mapping[str, float]] = MappingProxyType(
    {
        "efficiency": 1,
        "batch": 1,
        "devices": 1,
        "usable_share": USABLE_MEMORY_SHARE,
        "overhead_gb": 0,
        "mfu": 1,
        "cached_tokens": 0,
        "prefill_mfu": 1,
        "replicas": 1,
        # As random arrivals and exponential lengths vary.
        "arrival_variation": 1,
        "service_variation": 1,
        # Without a latency the layers do not count.
        "decode_compute_ms": 0,
        "layers": 1,
        "layer_latency_us": 0,
        "step_overhead_ms": 0,
        "stream_overhead_us": 0,
        # A twelfth of 8,760.
        "hours_per_month": 730,
    }
)
# Excel names of parameters that read better as what a person would type there.
_EXCEL_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "weight_bits": "precision",
        "to_bits": "to_precision",
        "kv_bits": "kv_precision",
        "expert_bits": "expert_precision",
    }
)
_LATENCIES: Final = (
    "decode_compute_ms",
    "layers",
    "layer_latency_us",
    "step_overhead_ms",
    "batch",
    "stream_overhead_us",
)
_NONE_OR_MORE: Final = columns.Number(least=0)
# What a parameter accepts where no scenario column says so.
_RULES: Final[Mapping[str, columns.Rule]] = MappingProxyType(
    {
        "weight_bits": COLUMNS["precision"].rule,
        "to_bits": COLUMNS["precision"].rule,
        "kv_bits": COLUMNS["precision"].rule,
        "expert_bits": COLUMNS["precision"].rule,
        "usable_share": columns.Ratio(),
        "mfu": columns.Ratio(),
        "prefill_mfu": columns.Ratio(),
        # Not a Ratio: 12 would be taken for 12 percent, where it is twelve times what can be served.
        "utilisation": columns.Number(above=0, below=1),
        "acceptance": columns.Ratio(),
        # An average number of busy streams may stand where a batch does.
        "batch": POSITIVE,
        "devices": COLUMNS["devices"].rule,
        "stages": COLUMNS["devices"].rule,
        "replicas": COLUMNS["devices"].rule,
        # Of these there may be none.
        "full_layers": _NONE_OR_MORE,
        "kv_cache_gb": _NONE_OR_MORE,
        "kv_room_tokens": _NONE_OR_MORE,
        "overhead_gb": _NONE_OR_MORE,
        "expert_params_b": _NONE_OR_MORE,
        "kv_read_gb": _NONE_OR_MORE,
        "heads": _NONE_OR_MORE,
        "layers": _NONE_OR_MORE,
        "stall_ms": _NONE_OR_MORE,
        "added_compute_ms": _NONE_OR_MORE,
        "prefill_s": _NONE_OR_MORE,
        "shared_prefill_s": _NONE_OR_MORE,
        "kv_bytes_per_token": _NONE_OR_MORE,
        "stall_mfu": columns.Ratio(),
        "fetch_efficiency": columns.Ratio(),
        "decode_compute_ms": _NONE_OR_MORE,
        "layer_latency_us": _NONE_OR_MORE,
        "step_overhead_ms": _NONE_OR_MORE,
        "stream_overhead_us": _NONE_OR_MORE,
        "cached_tokens": _NONE_OR_MORE,
        "arrival_variation": _NONE_OR_MORE,
        "service_variation": _NONE_OR_MORE,
        "queue_wait_s": _NONE_OR_MORE,
        # Never assumed: a cost per token at full load all year is nobody's cost.
        "busy_share": columns.Ratio(),
        "prefill_share": columns.Number(least=0, most=1),
        "pue": columns.Number(least=1),
        "peak_to_average": columns.Number(least=1),
        "headroom": _NONE_OR_MORE,
        **dict.fromkeys(
            (
                "residual_cost",
                "device_power_w",
                "device_capex_cost",
                "device_cost_month",
                "rent_cost_h",
                "hosting_cost_h",
                "licence_cost_h",
                "support_cost_h",
                "staff_cost_h",
                "api_cost_month",
                # Some models of some providers are free.
                "output_cost_m",
                "api_request_cost",
                "running_cost_month",
                "running_cost_h",
                "energy_cost_h",
                "depreciation_cost_h",
                "tariff_cost_kwh",
                "cache_write_tokens",
                "input_cost_m",
                "cached_cost_m",
                "cache_write_cost_m",
            ),
            _NONE_OR_MORE,
        ),
        "draft_tokens": _NONE_OR_MORE,
        "draft_step_ms": _NONE_OR_MORE,
    }
)


def _function(name: str, formula: Callable[..., float], *optional: str, **rules: columns.Rule) -> ExcelFunction:
    """A function with the arguments that may be left out, and rules where the formula needs narrower ones."""
    arguments = tuple(
        Argument(_EXCEL_NAMES.get(p, p), rules.get(p) or _rule_of(p), _OPTIONAL[p] if p in optional else None)
        for p in parameters_of(formula)
    )
    return ExcelFunction(name, formula, arguments)


def _rule_of(parameter: str) -> columns.Rule:
    if parameter in _RULES:
        return _RULES[parameter]
    rule = COLUMNS[parameter].rule if parameter in COLUMNS else POSITIVE
    if isinstance(rule, Money):
        # An argument is a plain number: a currency beside it would be lost.
        return POSITIVE
    return dataclasses.replace(rule, whole=False, least=None, above=0) if isinstance(rule, columns.Number) else rule


EXCEL_FUNCTIONS: Final[tuple[ExcelFunction, ...]] = (
    _function("TOKENS_PER_SEC", speed.tokens_per_sec, "efficiency"),
    _function("CEILING_TOKENS_PER_SEC", speed.ceiling_tokens_per_sec),
    _function("AGGREGATE_TOKENS_PER_SEC", speed.aggregate_tokens_per_sec, "efficiency", "batch"),
    _function("INTER_TOKEN_LATENCY_MS", speed.inter_token_latency_ms),
    _function("TIME_TO_FIRST_TOKEN_S", speed.time_to_first_token_s),
    _function("GENERATION_TIME_S", speed.generation_time_s),
    _function("RESPONSE_TIME_S", speed.response_time_s),
    _function("REQUESTS_PER_HOUR", speed.requests_per_hour),
    _function("REQUESTS_AT_OCCUPANCY_PER_HOUR", speed.requests_at_occupancy_per_hour),
    _function("REQUESTS_PER_DEVICE_PER_HOUR", speed.requests_per_device_per_hour),
    _function("BITS_PER_WEIGHT", speed.bits_per_weight),
    _function("WEIGHTS_GB", speed.weights_gb),
    _function("REQUANTIZED_WEIGHTS_GB", speed.requantized_weights_gb),
    _function("AGGREGATE_BANDWIDTH_GB_S", speed.bandwidth_gb_s),
    _function("USABLE_BANDWIDTH_GB_S", speed.usable_bandwidth_gb_s),
    _function("WEIGHTS_MEMORY_SHARE", memory.weights_memory_share),
    _function("DEVICES_TO_HOLD", memory.devices_to_hold),
    _function("KV_BYTES_PER_TOKEN", memory.kv_bytes_per_token),
    _function("MLA_KV_BYTES_PER_TOKEN", memory.mla_kv_bytes_per_token),
    _function("DEVICE_KV_BYTES_PER_TOKEN", memory.device_kv_bytes_per_token),
    _function("TP_KV_BYTES_PER_TOKEN", memory.tp_kv_bytes_per_token),
    _function("TP_MLA_KV_BYTES_PER_TOKEN", memory.tp_mla_kv_bytes_per_token),
    _function("FINAL_CONTEXT_TOKENS", memory.final_context_tokens),
    _function("WINDOW_KV_TOKENS", memory.window_kv_tokens),
    _function("KV_CACHE_GB", memory.kv_cache_gb, "batch"),
    _function("MEMORY_NEEDED_GB", memory.memory_needed_gb, "overhead_gb"),
    _function("USABLE_MEMORY_GB", memory.usable_memory_gb, "devices", "usable_share"),
    _function("KV_ROOM_GB", memory.kv_room_gb, "devices", "usable_share", "overhead_gb"),
    _function("STREAMS_THAT_FIT", memory.streams_that_fit, "devices", "usable_share", "overhead_gb"),
    _function("KV_ROOM_TOKENS", memory.kv_room_tokens, "devices", "usable_share", "overhead_gb"),
    _function("LONGEST_CONTEXT_TOKENS", memory.longest_context_tokens, "devices", "usable_share", "overhead_gb"),
    # With no full layer nothing limits the context.
    _function("LONGEST_WINDOW_CONTEXT_TOKENS", memory.longest_window_context_tokens, full_layers=POSITIVE),
    _function("DEVICES_NEEDED", memory.devices_needed, "usable_share"),
    _function("EXPERT_PARAMS_B", experts.expert_params_b),
    _function("EXPERT_SHARE_READ", experts.expert_share_read, "batch"),
    _function("PARAMS_READ_B", experts.params_read_b, "batch"),
    _function("MOE_WEIGHTS_GB", experts.moe_weights_gb),
    _function("STREAMED_MOE_WEIGHTS_READ_GB", experts.streamed_moe_weights_read_gb, "batch"),
    _function("MOE_WEIGHTS_READ_GB", experts.moe_weights_read_gb, "batch"),
    _function("MOE_READ_GB", experts.moe_read_gb, "batch"),
    _function("MEAN_CONTEXT_TOKENS", estimate.mean_context_tokens),
    _function("STREAMED_WEIGHTS_GB", estimate.streamed_weights_gb),
    _function("KV_READ_GB", estimate.kv_read_gb, "batch"),
    _function("DECODE_MEMORY_MS", estimate.decode_memory_ms, "efficiency"),
    # A sheet leaves attention out by zeros.
    _function("DECODE_TFLOP", estimate.decode_tflop, "batch", head_dim=_NONE_OR_MORE, context_tokens=_NONE_OR_MORE),
    _function("DECODE_COMPUTE_MS", estimate.decode_compute_ms, "devices", "mfu"),
    _function("ADDED_COMPUTE_MS", estimate.added_compute_ms, "devices", "mfu", batch=columns.Number(least=1)),
    _function("STEP_OVERHEAD_MS", estimate.step_overhead_ms),
    _function("STEP_TIME_MS", estimate.step_time_ms, *_LATENCIES, batch=columns.Number(least=1)),
    _function("STEP_TOKENS_PER_SEC", estimate.step_tokens_per_sec),
    _function("RANGED_TOKENS_PER_SEC", estimate.ranged_tokens_per_sec),
    _function("READ_CEILING_TOKENS_PER_SEC", estimate.read_ceiling_tokens_per_sec),
    _function(
        "ESTIMATED_INTER_TOKEN_LATENCY_MS",
        estimate.estimated_inter_token_latency_ms,
        "efficiency",
        *_LATENCIES,
        batch=columns.Number(least=1),
    ),
    _function(
        "ESTIMATED_TOKENS_PER_SEC",
        estimate.estimated_tokens_per_sec,
        "efficiency",
        *_LATENCIES,
        batch=columns.Number(least=1),
    ),
    _function("ESTIMATED_RESPONSE_TIME_S", estimate.estimated_response_time_s),
    _function("ESTIMATED_AGGREGATE_TOKENS_PER_SEC", estimate.estimated_aggregate_tokens_per_sec, "batch"),
    _function("BATCH_CROSSOVER", estimate.batch_crossover),
    _function("PIPELINE_BANDWIDTH_GB_S", estimate.pipeline_bandwidth_gb_s),
    _function("SPECULATIVE_TOKENS_PER_STEP", estimate.speculative_tokens_per_step),
    _function("SPECULATIVE_STEP_MS", estimate.speculative_step_ms),
    _function("SPECULATIVE_TOKENS_PER_SEC", estimate.speculative_tokens_per_sec),
    _function("PREFILL_TOKENS", prefill.prefill_tokens),
    _function("PREFILL_TFLOP", prefill.prefill_tflop, "cached_tokens", head_dim=_NONE_OR_MORE),
    _function("PREFILL_TIME_S", prefill.prefill_time_s, "devices", "prefill_mfu"),
    _function("ESTIMATED_PREFILL_S", prefill.estimated_prefill_s),
    _function("CACHED_TIME_TO_FIRST_TOKEN_S", prefill.cached_time_to_first_token_s),
    _function("CACHE_SAVED_S", prefill.cache_saved_s),
    _function("CACHE_SAVED_COMPUTE_S", prefill.cache_saved_compute_s, "devices", "prefill_mfu", head_dim=_NONE_OR_MORE),
    _function("SHARED_PREFILL_S", prefill.shared_prefill_s),
    _function("STALL_MS", prefill.stall_ms),
    _function("STALLED_CYCLE_S", prefill.stalled_cycle_s),
    _function("STALLED_REQUESTS_PER_HOUR", prefill.stalled_requests_per_hour),
    _function("UTILISATION", queueing.utilisation, "replicas"),
    _function("OFFERED_STREAMS", queueing.offered_streams),
    _function("QUEUE_WAIT_S", queueing.queue_wait_s, "replicas", "arrival_variation", "service_variation"),
    _function("QUEUED_TIME_TO_FIRST_TOKEN_S", queueing.queued_time_to_first_token_s),
    _function("FLEET_DEVICES", cost.fleet_devices),
    _function("FLEET_TOKENS_PER_SEC", cost.fleet_tokens_per_sec, "replicas"),
    _function("FLEET_REQUESTS_PER_HOUR", cost.fleet_requests_per_hour, "replicas"),
    _function("DEVICE_SHARE_COST_H", cost.device_share_cost_h),
    _function("RENTED_COST_H", cost.rented_cost_h, "devices"),
    _function("CAPEX_COST", cost.capex_cost, "devices"),
    _function("DEPRECIATION_COST_H", cost.depreciation_cost_h, "hours_per_month"),
    _function("ENERGY_COST_H", cost.energy_cost_h),
    _function("MONTHLY_AS_COST_H", cost.monthly_as_cost_h, "hours_per_month"),
    _function("DEVICE_MONTHLY_AS_COST_H", cost.device_monthly_as_cost_h),
    _function("HOURLY_COST_H", cost.hourly_cost_h),
    _function("WHOLE_INSTANCE_DEVICES", cost.whole_instance_devices),
    _function("MONTHLY_COST", cost.monthly_cost, "hours_per_month"),
    _function("USED_COST_H", cost.used_cost_h),
    _function("IDLE_COST_H", cost.idle_cost_h),
    _function("MONTHLY_CAPACITY_M_TOKENS", cost.monthly_capacity_m_tokens),
    _function("COST_PER_M_TOKENS", cost.cost_per_m_tokens),
    _function("COST_PER_REQUEST", cost.cost_per_request),
    _function("PREFILL_SHARE", cost.prefill_share),
    _function("STALLED_PREFILL_SHARE", cost.stalled_prefill_share),
    _function("COST_PER_M_INPUT_TOKENS", cost.cost_per_m_input_tokens),
    _function("COST_PER_M_GENERATED_TOKENS", cost.cost_per_m_generated_tokens),
    _function("API_REQUEST_COST", api_cost.api_request_cost),
    _function("BLENDED_COST_M", api_cost.blended_cost_m),
    _function("API_COST_PER_M_OUTPUT", api_cost.api_cost_per_m_output),
    _function("API_COST_MONTH", api_cost.api_cost_month, api_cost_per_m_output=_NONE_OR_MORE),
    _function("SAVING_COST_MONTH", api_cost.saving_cost_month),
    _function("BREAK_EVEN_M_TOKENS", api_cost.break_even_m_tokens),
    _function("BREAK_EVEN_SHARE", api_cost.break_even_share),
    _function("CACHE_SAVING_COST", api_cost.cache_saving_cost),
    _function("CONVERTED_COST", api_cost.converted_cost),
    _function("REQUESTS_MONTH", demand.requests_month, "hours_per_month"),
    _function("NEXT_REQUESTS_MONTH", demand.next_requests_month, growth_share_month=columns.Number(above=-1)),
    _function("PEAK_REQUESTS_PER_HOUR", demand.peak_requests_per_hour),
    _function("DEVICES_FOR_LOAD", demand.devices_for_load),
    _function("API_BILL_MONTH", demand.api_bill_month),
    _function("DEVICES_COST_MONTH", demand.devices_cost_month, "hours_per_month"),
    _function("BUSY_SHARE_OF_MONTH", demand.busy_share_of_month),
    dataclasses.replace(
        _function("SPEED_TABLE", speed.tokens_per_sec, "efficiency"),
        spread=(("weights_gb", "down"), ("bandwidth_gb_s", "across")),
        about="Table of decode rates: weights down, bandwidths across, v = B x eta / S in each cell.",
    ),
)
BY_NAME: Final[Mapping[str, ExcelFunction]] = MappingProxyType({f.name: f for f in EXCEL_FUNCTIONS})
# The first function of a formula is the one that sheets call.
BY_FORMULA: Final[Mapping[Callable[..., float], ExcelFunction]] = MappingProxyType(
    {f.formula: f for f in reversed(EXCEL_FUNCTIONS)}
)
# Stands in every refusal, and in nothing that people type.
REFUSAL: Final = "; expected "
# What plain arithmetic shows in place of a number that its inputs do not give.
CHECK_INPUTS: Final = "check inputs"
# By this comment planner knows a name that it defined itself, whatever program has saved the workbook since.
NAME_COMMENT: Final = "Defined by planner"


@cache
def lambda_of(function: ExcelFunction) -> str:
    """The function as a LAMBDA, in the form in which a workbook stores it.

    An empty required argument gives empty; an empty or omitted optional one its default; a bad one
    gives a text that names the argument, its value and what is accepted. IF chooses cell by cell, so a
    range gives a range and a bad cell spoils only itself.
    """
    arguments = list(zip(function.arguments, function.parameters, strict=True))
    declared = [f"{'_xlop' if a.optional else '_xlpm'}.{_inside(a.name)}" for a in function.arguments]
    steps, values = [], {}
    cells, spread = {}, dict(function.spread)
    for argument, parameter in arguments:
        given, used = f"_xlpm.{_inside(argument.name)}", f"_xlpm.{argument.name}_used"
        if argument.name in spread:
            laid = f"_xlpm.{argument.name}_laid"
            lies, turned = ("COLUMNS", "TOCOL") if spread[argument.name] == "down" else ("ROWS", "TOROW")
            steps += [laid, f"IF({lies}({given})=1,{given},_xlfn.{turned}({given}))"]
            given = laid
        cells[parameter] = given
        meant = guards.excel_value(argument.rule, given)
        if argument.optional:
            default = f"{argument.default:g}"
            meant = f'IF(_xlfn.ISOMITTED({given}),{default},IF({given}="",{default},{meant}))'
        steps += [used, meant]
        values[parameter] = used
    body = to_excel(function.formula, values)
    for argument, parameter in reversed(arguments):
        own = f'"{argument.name} is "&{cells[parameter]}&"{REFUSAL}{argument.rule.accepted}"'
        # What another function refused is passed on as it is: a refusal of a refusal says nothing.
        refusal = f'IF(ISNUMBER(SEARCH("{REFUSAL}",{cells[parameter]})),{cells[parameter]},{own})'
        body = f"IF({guards.excel_ok(argument.rule, values[parameter])},{body},{refusal})"
    for argument, parameter in reversed(arguments):
        if not argument.optional:
            body = f'IF({cells[parameter]}="","",{body})'
    return f"_xlfn.LAMBDA({','.join(declared)},_xlfn.LET({','.join(steps)},{body}))"


@cache
def lambdas() -> Mapping[str, str]:
    """Every name that a workbook carries to calculate by itself, with its LAMBDA; the helper that they call first."""
    own = {function.name: lambda_of(function) for function in EXCEL_FUNCTIONS}
    return MappingProxyType({guards.NUMBER_NAME: guards.number_lambda()} | own)


def _inside(argument: str) -> str:
    """An argument's name inside a LAMBDA: one that is also a function's name (WEIGHTS_GB) must not hide it."""
    return f"{argument}_" if argument.upper() in BY_NAME else argument


def call_text(formula: Callable[..., float], bind: Mapping[str, str]) -> str:
    """A call of the Excel function of a formula, with the bound texts as its arguments.

    >>> call_text(speed.tokens_per_sec, {"weights_gb": "F5", "bandwidth_gb_s": "J5", "efficiency": "K5"})
    'TOKENS_PER_SEC(F5,J5,K5)'
    """
    function = BY_FORMULA[formula]
    return f"{function.name}({','.join(bind[parameter] for parameter in function.parameters)})"


def plain_text(formula: Callable[..., float], bind: Mapping[str, str]) -> str:
    """The formula written out as arithmetic on the bound cells; empty where a cell it needs is empty.

    A figure that is no figure (negative, zero where that is none, a share above one) gives a short text in
    place of a number, and a share typed as percent counts as such, as in the functions themselves.

    >>> plain_text(speed.ceiling_tokens_per_sec, {"weights_gb": "F5", "bandwidth_gb_s": "J5"})
    'IF(OR(F5="",J5=""),"",IF(COUNT(F5,J5)<2,"check inputs",IF(MIN(F5,J5)<=0,"check inputs",(J5/F5))))'
    """
    declared = zip(BY_FORMULA[formula].arguments, parameters_of(formula), strict=True)
    # A number that stands in place of a cell is neither empty nor wrong.
    rules = {parameter: argument.rule for argument, parameter in declared if not _is_number(bind[parameter])}
    if not rules:
        return to_excel(formula, bind)
    meant, wrong = dict(bind), []
    for parameter, rule in rules.items():
        cell = bind[parameter]
        if isinstance(rule, columns.Ratio):
            meant[parameter] = f"IF({cell}>={columns.PERCENT_FROM},{cell}/{columns.MOST_PERCENT},{cell})"
            wrong.append(f"{meant[parameter]}>1")
        elif isinstance(rule, columns.Number) and rule.below is not None:
            wrong.append(f"{cell}>={rule.below:g}")
        elif isinstance(rule, columns.Number) and guards.goes_below_zero(rule):
            wrong.append(f"{cell}<={rule.above:g}")
    signless = {parameter: rule for parameter, rule in rules.items() if not guards.goes_below_zero(rule)}
    none = [bind[parameter] for parameter, rule in signless.items() if guards.takes_zero(rule)]
    some = [bind[parameter] for parameter, rule in signless.items() if not guards.takes_zero(rule)]
    wrong += [f"MIN({','.join(none)})<0"] if none else []
    wrong += [f"MIN({','.join(some)})<=0"] if some else []
    wrong.append(f"COUNT({','.join(bind[parameter] for parameter in rules)})<{len(rules)}")
    text = to_excel(formula, meant)
    for test in wrong:
        text = f'IF({test},"{CHECK_INPUTS}",{text})'
    blank = ",".join(f'{bind[parameter]}=""' for parameter in rules)
    return f'IF(OR({blank}),"",{text})'


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
