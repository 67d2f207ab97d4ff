"""What a result should be read with: warnings and notes, each with its input and what to do about it.

Advice never mixes the two phases: a slow first token is a prefill problem, a slow stream a decode problem.
"""

from __future__ import annotations

import difflib
import math
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from planner import catalog
from planner.columns import Number, as_percent, echo, rounded
from planner.formulas import speed
from planner.issues import Issue, Severity
from planner.plan.basis import fits, hard_ceiling, has_range, planning_rate
from planner.plan.cost_checks import COST_FLAGS, cost_issues
from planner.plan.limits import (
    BATCH_NOTED_FROM,
    BATCH_WARNED_ABOVE,
    LONG_TTFT_S,
    READING_PACE_TOKENS_PER_SEC,
)
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import COLUMNS, FIGURES, Result, header_of
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable

# No public measurement of a serving stack lies below; 0.85 typed into a percent cell does.
_LOW_EFFICIENCY: Final = 0.05
# A typed size further than this from parameters x bits is more than rounding, embeddings or mixed blocks.
_SIZE_DIFFERS: Final = 0.2

# Per-stream rate at a batch against batch 1, public measurements on HBM devices under a serving engine.
MEASURED_BATCH_SHARE: Final = ((8, 0.89), (16, 0.83), (32, 0.77), (64, 0.64), (128, 0.48))

# The same in words, the largest batch first.
_MEASURED_AT: Final = tuple(
    (size, f"public measurements give {as_percent(share)} of the batch-1 rate at batch {size} on HBM devices")
    for size, share in reversed(MEASURED_BATCH_SHARE)
)

# The short flags that sheets and report print, by code.
FLAGS: Final = {
    "no-fit": "does not fit in memory",
    "slow": "slower than reading",
    "batch-large": "batch above 32, overstated",
    "batch-noted": "batch of 16 to 32, slightly overstated",
    "above-ceiling": "measured above the ceiling",
    "unlikely": "an unusual figure",
    "measured": "measured rate given",
    "size-differs": "size and parameters differ",
    "slow-prefill": "slow first token",
    "ceiling": "a ceiling, not a prediction",
    "no-prefill": "no time to first token",
    "no-output": "no response time",
    "no-precision": "no precision variants",
    "one-device": "counted as one device",
    "mixture": "a mixture of experts",
    "unstable": "unstable under its load",
    "estimate-gaps": "estimate incomplete",
    "context-long": "longer than the model's context",
    "engine-unknown": "engine without measurements",
    "split-blank": "counted as tensor parallel",
    "device-unknown": "device not in the catalogue",
    "model-unknown": "model not in the catalogue",
    **COST_FLAGS,
}


def check(result: Result) -> tuple[Issue, ...]:
    """Every warning and note that a result calls for."""
    return tuple(issue for rule in _RULES if (issue := rule(result))) + cost_issues(result)


def _warning(code: str, field: str, problem: str, advice: str, severity: Severity = Severity.WARNING) -> Issue:
    return Issue(severity=severity, code=code, field=field, problem=problem, advice=advice)


def _note(code: str, field: str, problem: str, advice: str) -> Issue:
    return _warning(code, field, problem, advice, Severity.NOTE)


def _slow(result: Result) -> Issue | None:
    rate = planning_rate(result)
    if not rate or rate >= READING_PACE_TOKENS_PER_SEC:
        return None
    said = f"{'an estimated ' if has_range(result) else ''}{rounded(rate, 2)} tok/s"
    return _warning(
        "slow",
        "weights_gb" if result.scenario.weights_gb else "params_b",
        f"One stream runs at {said}, slower than reading ({READING_PACE_TOKENS_PER_SEC:g} tok/s)",
        "Use a smaller model, a lower precision or more bandwidth",
    )


def _fit(result: Result) -> Issue | None:
    scenario, needed, usable = result.scenario, result.memory_needed_gb, result.usable_memory_gb
    if fits(result) is not False or usable is None:
        return None
    memory = f"{scenario.devices:g} x {scenario.device_memory_gb:,.10g} GB"
    weights = f"Weights of {rounded(result.weights_gb or 0.0, 1)} GB"
    if needed is None:
        share, allowed = as_percent(result.weights_memory_share or 0.0), as_percent(scenario.usable_share or 0.0)
        problem = f"{weights} take {share} of {memory}; {allowed} is usable, before any KV cache"
        return _warning("no-fit", "device_memory_gb", problem, _LESS)
    # Where each further device holds a copy of the cache, no one number follows from what is needed now.
    copied = scenario.kv_heads and result.devices_needed and result.devices_needed > scenario.kv_heads
    takes = "" if copied or not result.devices_needed else f", so it takes {result.devices_needed:,.0f} devices"
    return _warning(
        "no-fit",
        "device_memory_gb",
        f"{weights} and KV cache of {rounded(result.kv_cache_gb or 0.0, 1)} GB need {rounded(needed, 1)} GB; "
        f"{memory} have {rounded(usable, 1)} GB usable{takes}",
        _smaller(result),
    )


_LESS: Final = "Use more devices, devices with more memory, or a lower precision"


def _smaller(result: Result) -> str:
    """What would make a scenario fit."""
    streams, context = result.streams_that_fit, result.longest_context_tokens
    if not streams or streams < 1:
        return _LESS
    at_batch = "" if context is None else f", at this batch a context of {context:,.0f} tokens"
    return f"At this context {streams:,.0f} streams fit{at_batch}"


def _mixture(result: Result) -> Issue | None:
    read, weights = result.weights_read_gb, result.weights_gb
    if result.params_read_b is None or read is None or weights is None:
        return None
    return _note(
        "mixture",
        "experts",
        f"A step reads {rounded(read, 1)} GB of the {rounded(weights, 1)} GB: the core's rate counts all experts",
        "Plan on the estimate, which counts those that the batch uses",
    )


def _unstable(result: Result) -> Issue | None:
    utilisation = result.utilisation
    # Copies of what does not fit serve nobody.
    if utilisation is None or utilisation < 1 or fits(result) is False:
        return None
    load = rounded(result.scenario.offered_requests_per_hour or 0.0, 0)
    replicas = math.floor(utilisation * (result.scenario.replicas or 1)) + 1
    return _warning(
        "unstable",
        "offered_requests_per_hour",
        f"{load} requests an hour are {as_percent(utilisation)} of what it serves: unstable, the queue only grows",
        f"Use at least {replicas:,} replicas, or a faster deployment",
    )


def _estimate_gaps(result: Result) -> Issue | None:
    """What the estimate leaves out, said where a device or a model is named and so an estimate is wanted."""
    if not result.not_modelled or not (result.scenario.device_class or result.kv_read_gb is not None):
        return None
    return _note(
        "estimate-gaps",
        "model",
        f"The estimate does not count: {'; '.join(result.not_modelled)}",
        "Name the device and the model as the catalogue has them, or fill what stands in brackets",
    )


def _batch(result: Result) -> Issue | None:
    batch = result.scenario.batch or 1
    if batch < BATCH_NOTED_FROM:
        return None
    measured = next(said for size, said in _MEASURED_AT if size <= batch)
    if batch > BATCH_WARNED_ABOVE:
        counted = has_range(result)
        return _warning(
            "batch-large",
            "batch",
            f"Batch {batch:g} is above {BATCH_WARNED_ABOVE}, where the linear model overstates: {measured}",
            "Plan on the estimate, which counts the batch"
            if counted
            else "Measure at this batch before you plan on the aggregate",
            Severity.NOTE if counted else Severity.WARNING,
        )
    return _note(
        "batch-noted",
        "batch",
        f"At a batch of {batch:g} each stream is a little slower than the linear model says: {measured}",
        "Read the aggregate as an upper bound",
    )


def _above_ceiling(result: Result) -> Issue | None:
    measured = result.scenario.measured_tokens_per_sec
    ceiling = None if measured is None else hard_ceiling(result)
    if measured is None or ceiling is None or measured <= ceiling:
        return None
    return _warning(
        "above-ceiling",
        "measured_tokens_per_sec",
        f"The measured {rounded(measured, 2)} tok/s is above the ceiling of {rounded(ceiling, 2)} tok/s, "
        "so an input is wrong",
        "Look at the precision, then speculative decoding, then mixture of experts",
    )


def _measured(result: Result) -> Issue | None:
    measured, ceiling, rate = (
        result.scenario.measured_tokens_per_sec,
        result.ceiling_tokens_per_sec,
        result.tokens_per_sec,
    )
    if measured is None or ceiling is None or rate is None or measured > (hard_ceiling(result) or ceiling):
        return None
    if has_range(result):
        estimated, low, high = result.estimated_tokens_per_sec, result.low_tokens_per_sec, result.high_tokens_per_sec
        within = "within" if (low or 0.0) <= measured <= (high or 0.0) else "outside"
        return _note(
            "measured",
            "measured_tokens_per_sec",
            f"The measured {rounded(measured, 2)} tok/s is {as_percent(measured / (estimated or measured))} of the "
            f"estimated {rounded(estimated or 0.0, 2)} tok/s, {within} its range",
            "`planner calibrate` gives the fetch efficiency that would give what was measured",
        )
    return _note(
        "measured",
        "measured_tokens_per_sec",
        f"The measured {rounded(measured, 2)} tok/s is {as_percent(measured / rate)} of the computed "
        f"{rounded(rate, 2)} tok/s; it means an efficiency of {as_percent(measured / ceiling, 1)}",
        "Type that efficiency to plan on what was measured",
    )


# Inputs in which a slip of the unit or of three zeros is common.
_WATCHED: Final = ("params_b", "weights_gb", "device_bandwidth_gb_s", "bandwidth_gb_s", "device_memory_gb")


def _unlikely(name: str) -> Callable[[Result], Issue | None]:
    """A check of one input against the range in which such figures lie."""
    column = COLUMNS[name]
    low, high = column.rule.likely or (0.0, float("inf")) if isinstance(column.rule, Number) else (0.0, float("inf"))
    unit = unit_of(name).symbol

    def unlikely(result: Result) -> Issue | None:
        value = getattr(result.scenario, name)
        if value is None or low <= value <= high:
            return None
        return _warning(
            "unlikely",
            name,
            f"{column.label} is {value:,.10g} {unit}, unusually {'low' if value < low else 'high'}",
            "Check the unit and the number of zeros",
        )

    return unlikely


def _efficiency_low(result: Result) -> Issue | None:
    efficiency = result.scenario.efficiency
    if efficiency is None or efficiency >= _LOW_EFFICIENCY:
        return None
    return _warning(
        "unlikely",
        "efficiency",
        f"Efficiency is {as_percent(efficiency, 2)}, unusually low",
        "Check whether a ratio was typed as percent, such as 0.85% for 85%",
    )


def _size_differs(result: Result) -> Issue | None:
    scenario, bits = result.scenario, result.weight_bits
    typed = result.sources.get("weights_gb") == TYPED
    if scenario.weights_gb is None or scenario.params_b is None or bits is None or not typed:
        return None
    computed = speed.weights_gb(scenario.params_b, bits)
    if abs(scenario.weights_gb - computed) <= _SIZE_DIFFERS * computed:
        return None
    return _warning(
        "size-differs",
        "weights_gb",
        f"The typed {rounded(scenario.weights_gb, 1)} GB differs from {scenario.params_b:g} billion parameters "
        f"at {bits:g} bits, {rounded(computed, 1)} GB; the typed size is used",
        "Check size, parameters and precision",
    )


def _slow_prefill(result: Result) -> Issue | None:
    # What a prefix cache holds skips prefill, and prefill may be estimated where no rate is typed.
    ttft = result.time_to_first_token_s if result.prefill_s is None else result.prefill_s
    if ttft is None or ttft <= LONG_TTFT_S:
        return None
    return _note(
        "slow-prefill",
        "prompt_tokens",
        f"The first token takes {rounded(ttft, 2)} s, a prefill problem",
        "Shorten the prompt, cache its prefix or add compute; memory bandwidth does not help",
    )


def _ceiling(result: Result) -> Issue | None:
    if result.scenario.efficiency != 1:
        return None
    blank = result.sources.get("efficiency") == DEFAULT
    return _note(
        "ceiling",
        "efficiency",
        f"{'No efficiency is given' if blank else 'Efficiency is 100%'}, so the row's core rates are a ceiling, "
        "not a prediction",
        "Plan on the estimate" if has_range(result) else "Type the share of the bandwidth that your stack achieves",
    )


# What times are made of, and the flag where it is missing.
_TIMES: Final = {"prefill_tokens_per_sec": "no-prefill", "prompt_tokens": "no-prefill", "output_tokens": "no-output"}
_times_in: Final = attrgetter(*_TIMES)


def _times(result: Result) -> Issue | None:
    scenario = result.scenario
    if None not in _times_in(scenario):
        return None
    missing = [name for name in _TIMES if getattr(scenario, name) is None]
    if missing == ["prefill_tokens_per_sec"] and has_range(result) and result.prefill_s is not None:
        # The estimate has its own prefill, and what follows from it.
        return None
    blank = [
        FIGURES[name].label.lower()
        for name in ("time_to_first_token_s", "generation_time_s", "response_time_s", "requests_per_hour")
        if getattr(result, name) is None
    ]
    *others, last = (COLUMNS[name].label.lower() for name in missing)
    named = f"{', '.join(others)} and {last}" if others else last
    return _note(
        _TIMES[missing[0]],
        missing[0],
        f"Without {named}, these stay blank: {', '.join(blank)}",
        f"Fill {', '.join(header_of(name) for name in missing)}",
    )


def _context_long(result: Result) -> Issue | None:
    scenario, context = result.scenario, result.final_context_tokens
    model = catalog.find_model(scenario.model) if scenario.model else None
    most = None if model is None else model.max_context_tokens
    if context is None or most is None or context <= most:
        return None
    return _warning(
        "context-long",
        "prompt_tokens",
        f"Prompt and output are {context:,.0f} tokens, and {scenario.model} takes {most:,} at most",
        "Shorten the context, or take a model with a longer one",
    )


def _engine_unknown(result: Result) -> Issue | None:
    engine = result.scenario.engine
    if not engine or catalog.engine_group(engine) != "other":
        return None
    known = [name for names in catalog.ENGINE_GROUPS.values() for name in names.split(", ")]
    close = difflib.get_close_matches(engine.casefold(), [name.casefold() for name in known], n=1, cutoff=0.6)
    hint = f"; did you mean {next(n for n in known if n.casefold() == close[0])}?" if close else ""
    return _note(
        "engine-unknown",
        "engine",
        f"Engine is {echo(engine)}, of which no measurements are known, so the class's general constants count{hint}",
        f"Known are {', '.join(known[:-1])}",
    )


def _split_blank(result: Result) -> Issue | None:
    scenario = result.scenario
    blank = result.sources.get("split") == DEFAULT
    if not blank or (scenario.devices or 1) <= 1 or catalog.engine_group(scenario.engine or "") != "llamacpp":
        return None
    return _note(
        "split-blank",
        "devices",
        f"{scenario.engine} splits a model by layers unless told otherwise, and the row counts as tensor parallel",
        f"Type By layers in a column {header_of('split')} if it does",
    )


def _no_precision(result: Result) -> Issue | None:
    if result.weight_bits is not None:
        return None
    return _note(
        "no-precision",
        "precision",
        "Without a precision the typed size cannot be scaled, so the precision variants stay blank",
        "Type the precision that the size holds for",
    )


def _one_device(result: Result) -> Issue | None:
    if result.scenario.bandwidth_gb_s is None or result.sources.get("devices") != DEFAULT:
        return None
    return _note(
        "one-device",
        "devices",
        "Devices is blank beside an aggregate bandwidth, so requests per device count one device and fit is not judged",
        "Type how many devices the aggregate covers",
    )


_RULES: Final[tuple[Callable[[Result], Issue | None], ...]] = (
    _fit,
    _unstable,
    _slow,
    _batch,
    _above_ceiling,
    _measured,
    *(_unlikely(name) for name in _WATCHED),
    _efficiency_low,
    _size_differs,
    _slow_prefill,
    _ceiling,
    _times,
    _no_precision,
    _one_device,
    _mixture,
    _estimate_gaps,
    _context_long,
    _engine_unknown,
    _split_blank,
)
