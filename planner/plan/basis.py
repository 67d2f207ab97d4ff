"""On which basis a result is spoken of: its estimate where that has a range, else the core, an upper bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.formulas import estimate, speed
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.plan.resolve import DEFAULT
from planner.units import SLACK, US_PER_MS

if TYPE_CHECKING:
    from planner.plan.scenario import Result


def has_range(result: Result) -> bool:
    """Whether the estimate has a low and a high end and counts the KV cache, so that a plan can rest on it."""
    needed = (result.estimated_tokens_per_sec, result.low_tokens_per_sec, result.high_tokens_per_sec, result.kv_read_gb)
    return None not in needed


def has_estimate(result: Result) -> bool:
    """Whether the estimate says more than the core: with a range, or with the KV cache read.

    Without either, it is the core's own rate under another name. Costs rest on it where it does.
    """
    # What has a range counts the KV cache.
    return result.estimated_tokens_per_sec is not None and result.kv_read_gb is not None


def reads_otherwise(result: Result) -> bool:
    """Whether a token takes another read than all weights at the whole bandwidth: experts, a draft, split layers."""
    scenario = result.scenario
    return bool(scenario.experts or scenario.draft_tokens) or scenario.split == "layers"


def upper_bound(result: Result) -> float | None:
    """What no rate of one stream can pass: the core's, or what the reads allow where they are other than the core's."""
    if reads_otherwise(result) and result.read_ceiling_tokens_per_sec is not None:
        return result.read_ceiling_tokens_per_sec
    core, estimated = result.tokens_per_sec, result.estimated_tokens_per_sec
    # A low efficiency typed for the core bounds no estimate that rests on measurements.
    below = core is not None and has_range(result) and estimated is not None and core < estimated
    return result.ceiling_tokens_per_sec if below else core


def hard_ceiling(result: Result) -> float | None:
    """What no measured rate of one stream can pass: one token's read at the whole bandwidth, drafts counted.

    A mixture is held against the experts of one token, since streams may well share theirs.
    """
    scenario, bandwidth = result.scenario, result.read_bandwidth_gb_s
    if not reads_otherwise(result) or bandwidth is None or result.weights_gb is None:
        return result.ceiling_tokens_per_sec
    share = 1.0
    if scenario.experts and scenario.params_b and scenario.active_params_b:
        share = min(scenario.active_params_b / scenario.params_b, 1.0)
    read_gb = scenario.active_weights_gb or min(result.weights_gb * share, result.weights_read_gb or math.inf)
    tokens = result.speculative_tokens_per_step or 1.0
    return estimate.read_ceiling_tokens_per_sec(read_gb, bandwidth, tokens)


def planning_rate(result: Result) -> float:
    """The rate of one stream to plan on: the estimate where it has a range, else the core's upper bound."""
    rate = result.estimated_tokens_per_sec if has_range(result) else result.tokens_per_sec
    return rate or 0.0


def keeps_pace(result: Result) -> bool:
    """Whether a stream reaches its target of speed, or reading pace where it has none."""
    return planning_rate(result) >= (result.scenario.target_tokens_per_sec or READING_PACE_TOKENS_PER_SEC)


def response_of(result: Result) -> float | None:
    """The response time to plan on: the estimate's where it has a range, else the core's."""
    return result.estimated_response_time_s if has_range(result) else result.response_time_s


def is_counted(result: Result) -> bool:
    """Whether it is known how many devices there are: a blank count beside an aggregate bandwidth says nothing."""
    return result.scenario.bandwidth_gb_s is None or result.sources.get("devices") != DEFAULT


def fits(result: Result) -> bool | None:
    """Whether memory holds all that serving needs, or the weights alone where the KV cache is not known.

    None where the memory or the number of devices is not given.
    """
    whole = memory_fits(result)
    return weights_fit(result) if whole is None else whole


def memory_fits(result: Result) -> bool | None:
    """Whether memory holds weights, KV cache and overhead; None where one of them, or the memory, is not known."""
    if not is_counted(result) or result.usable_memory_gb is None or result.memory_needed_gb is None:
        return None
    return result.memory_needed_gb <= result.usable_memory_gb * (1 + SLACK)


def weights_fit(result: Result) -> bool | None:
    """Whether memory holds the weights alone; None where memory or the number of devices is not given."""
    if not is_counted(result) or result.usable_memory_gb is None or result.weights_gb is None:
        return None
    return result.weights_gb <= result.usable_memory_gb * (1 + SLACK)


def estimated_requests_per_device_per_hour(result: Result) -> float | None:
    """Requests in an hour that each device earns, by the estimate."""
    if result.estimated_requests_per_hour is None:
        return None
    return speed.requests_per_device_per_hour(result.estimated_requests_per_hour, result.scenario.devices or 1.0)


@dataclass(frozen=True, slots=True)
class StepPart:
    """A part of the time of a decode step: what it is, and how long it takes."""

    name: str
    time_ms: float


WEIGHTS: Final = "reading weights"
KV: Final = "reading KV cache"
ARITHMETIC: Final = "arithmetic beyond reading"
LAYERS: Final = "latency of layers"
STREAMS: Final = "time per stream"
STALLS: Final = "prefill stalls"
DRAFT: Final = "draft"
STEP_PARTS: Final = (WEIGHTS, KV, ARITHMETIC, LAYERS, STREAMS, STALLS, DRAFT)


def step_parts(result: Result) -> tuple[StepPart, ...]:
    """What a decode step's time is made of, in the order of ``STEP_PARTS``; they add up to the step.

    Empty where there is no step time.
    """
    reading, step = result.decode_memory_ms, result.step_time_ms
    scenario = result.scenario
    if step is None or reading is None:
        return ()
    weights = estimate.decode_memory_ms(
        result.weights_read_gb or 0.0, 0.0, result.read_bandwidth_gb_s or 0.0, scenario.fetch_efficiency or 0.0
    )
    draft = result.speculative_step_ms
    times = (
        weights,
        reading - weights,
        max((result.decode_compute_ms or 0.0) - reading, 0.0) + (result.added_compute_ms or 0.0),
        (scenario.layers or 0.0) * (scenario.layer_latency_us or 0.0) / US_PER_MS,
        ((scenario.batch or 1.0) - 1) * (scenario.stream_overhead_us or 0.0) / US_PER_MS,
        result.stall_ms or 0.0,
        draft - step if draft is not None else 0.0,
    )
    return tuple(StepPart(name, time) for name, time in zip(STEP_PARTS, times, strict=True))
