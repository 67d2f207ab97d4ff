"""How each figure beyond the core is made: its formula, and the fields and figures that the formula takes.

Where a figure can be made in several ways, the first whose inputs are there is taken. Every surface (sheet, report,
command line) reads these lists; no other place knows how an estimate comes about.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner.formulas import estimate, experts, memory, prefill, queueing, speed
from planner.plan.money_recipes import MONEY
from planner.plan.ways import Known, Way, is_above_zero, is_not, is_there
from planner.units import SLACK

if TYPE_CHECKING:
    from collections.abc import Mapping


def _shared(known: Known) -> Any:
    return known.get("prefill_on") == "shared"


def _adds(known: Known) -> Any:
    return known.get("arithmetic") == "added"


def _overlaps(known: Known) -> Any:
    return known.get("arithmetic") != "added"


def _capped(known: Known) -> Any:
    return known.get("window_reserve") == "capped"


def _layered(known: Known) -> Any:
    return known.get("split") == "layers"


def _stalled(known: Known) -> Any:
    return is_there(known, "stall_ms")


def _queued(known: Known) -> Any:
    utilisation = known.get("utilisation")
    # At or above capacity no wait is right: the queue grows without end.
    return utilisation is not None and utilisation < 1


def _heads_shared(known: Known) -> Any:
    """Whether the devices share the heads of the very cache that counts: a typed one counts all devices already."""
    shared: Any = False
    made: Any = False
    for way in RECIPES["kv_bytes_per_token"]:
        arguments = arguments_of(way, known)
        if all(argument is not None for argument in arguments):
            size = way.formula(*arguments)
            shared |= is_not(made) & (size == known.get("kv_bytes_per_token"))
            made |= size > -math.inf
    return shared & is_not(_layered(known))


def _grows(known: Known) -> Any:
    # A cache of no bytes fills no memory: then nothing limits streams and context.
    return is_above_zero(known, "kv_bytes_per_token")


def _capped_grows(known: Known) -> Any:
    # Without a layer that keeps everything, a context beyond the window takes no more room.
    return _capped(known) & _grows(known) & is_above_zero(known, "full_layers")


def _uncapped_grows(known: Known) -> Any:
    return _grows(known) & is_not(_capped(known) & is_there(known, "full_layers"))


def _copies_known(known: Known) -> Any:
    """Whether more devices would hold no more copies of the cache than are counted, or these devices hold it all."""
    needed, usable = known.get("memory_needed_gb"), known.get("usable_memory_gb")
    single, reserved = known.get("kv_bytes_per_token"), known.get("reserved_kv_bytes_per_token")
    if needed is None or usable is None or reserved is None:
        return True
    weighed = is_there(known, "memory_needed_gb") & is_there(known, "usable_memory_gb")
    counted = weighed & is_there(known, "reserved_kv_bytes_per_token")
    return is_not(counted) | (reserved == single) | (needed <= usable * (1 + SLACK))


def _dense(known: Known) -> Any:
    return is_not(is_there(known, "experts"))


def _some_idle(known: Known) -> Any:
    experts, active = known.get("experts"), known.get("active_experts")
    return experts is not None and active is not None and active < experts


# Memory holds what the devices reserve, copies included; where none are made the cache itself.
_RESERVED: Final[Mapping[str, str | float]] = MappingProxyType({"kv_bytes_per_token": "reserved_kv_bytes_per_token"})
_FINAL: Final[Mapping[str, str | float]] = MappingProxyType({"context_tokens": "reserved_context_tokens"})
_READ_AT: Final[Mapping[str, str | float]] = MappingProxyType(
    {"bandwidth_gb_s": "read_bandwidth_gb_s", "efficiency": "fetch_efficiency"}
)
_ALL_DEVICES: Final[Mapping[str, str | float]] = MappingProxyType(
    {"device_bandwidth_gb_s": "bandwidth_gb_s", "devices": 1.0}
)
MEMORY: Final[Mapping[str, tuple[Way, ...]]] = MappingProxyType(
    {
        "kv_bytes_per_token": (
            Way(memory.mla_kv_bytes_per_token, {"layers": "kv_layers"}),
            Way(memory.kv_bytes_per_token),
        ),
        "reserved_kv_bytes_per_token": (
            Way(memory.tp_mla_kv_bytes_per_token, {"layers": "kv_layers"}, _heads_shared),
            Way(memory.tp_kv_bytes_per_token, when=_heads_shared),
        ),
        "final_context_tokens": (Way(memory.final_context_tokens),),
        "reserved_context_tokens": (
            Way(memory.window_kv_tokens, {"context_tokens": "final_context_tokens"}, _capped),
            Way(memory.final_context_tokens),
        ),
        "kv_cache_gb": (Way(memory.kv_cache_gb, {**_FINAL, **_RESERVED}), Way(memory.kv_cache_gb, _FINAL)),
        "memory_needed_gb": (Way(memory.memory_needed_gb),),
        "usable_memory_gb": (Way(memory.usable_memory_gb),),
        "streams_that_fit": (
            Way(memory.streams_that_fit, {**_FINAL, **_RESERVED}, _grows),
            Way(memory.streams_that_fit, _FINAL, _grows),
        ),
        "kv_room_tokens": (
            Way(memory.kv_room_tokens, _RESERVED, _grows),
            Way(memory.kv_room_tokens, when=_grows),
        ),
        "longest_context_tokens": (
            Way(memory.longest_window_context_tokens, when=_capped_grows),
            Way(memory.longest_context_tokens, _RESERVED, _uncapped_grows),
            Way(memory.longest_context_tokens, when=_uncapped_grows),
        ),
        "devices_needed": (Way(memory.devices_needed, when=_copies_known),),
    }
)

ESTIMATE: Final[Mapping[str, tuple[Way, ...]]] = MappingProxyType(
    {
        "mean_context_tokens": (Way(estimate.mean_context_tokens),),
        "expert_params_b": (Way(experts.expert_params_b),),
        "params_read_b": (
            Way(experts.params_read_b),
            Way(experts.params_read_b, {"streamed_params_b": "active_params_b"}),
        ),
        "weights_read_gb": (
            Way(experts.moe_read_gb, when=_some_idle),
            Way(experts.streamed_moe_weights_read_gb),
            Way(experts.moe_weights_read_gb),
            Way(estimate.streamed_weights_gb, {"streamed_params_b": "params_read_b"}),
            Way(estimate.streamed_weights_gb),
            Way(estimate.streamed_weights_gb, {"params_b": 1.0, "streamed_params_b": 1.0}),
        ),
        "kv_read_gb": (
            Way(estimate.kv_read_gb, {"context_tokens": "mean_context_tokens"}),
            Way(memory.kv_cache_gb, {"context_tokens": "mean_context_tokens"}),
        ),
        "read_bandwidth_gb_s": (
            # The aggregate is that of all devices, whether it was typed or made.
            Way(estimate.pipeline_bandwidth_gb_s, {**_ALL_DEVICES, "stages": "devices"}, _layered),
            Way(estimate.pipeline_bandwidth_gb_s, {**_ALL_DEVICES, "stages": 1.0}),
        ),
        "decode_memory_ms": (
            Way(estimate.decode_memory_ms, _READ_AT),
            Way(estimate.decode_memory_ms, {**_READ_AT, "kv_read_gb": 0.0}),
        ),
        "decode_tflop": (
            # The fitted arithmetic is that of the weights; attention's is in the constants.
            Way(estimate.decode_tflop, {"heads": 0.0, "head_dim": 0.0, "layers": 0.0, "context_tokens": 0.0}),
        ),
        "decode_compute_ms": (
            Way(estimate.decode_compute_ms, {"devices": 1.0}, lambda known: _overlaps(known) & _layered(known)),
            Way(estimate.decode_compute_ms, when=_overlaps),
        ),
        "added_compute_ms": (
            Way(estimate.added_compute_ms, {"devices": 1.0}, lambda known: _adds(known) & _layered(known)),
            Way(estimate.added_compute_ms, when=_adds),
        ),
        "prefill_tflop": (
            Way(prefill.prefill_tflop),
            Way(prefill.prefill_tflop, {"heads": 0.0, "head_dim": 0.0}),
            Way(prefill.prefill_tflop, {"heads": 0.0, "head_dim": 0.0, "layers": 0.0}),
        ),
        "prefill_compute_s": (
            Way(prefill.prefill_time_s, {"devices": 1.0}, _layered),
            Way(prefill.prefill_time_s),
        ),
        "prefill_s": (
            Way(prefill.cached_time_to_first_token_s),
            Way(prefill.estimated_prefill_s, _READ_AT),
            Way(prefill.estimated_prefill_s, {**_READ_AT, "layers": 0.0, "layer_latency_us": 0.0}),
        ),
        "shared_prefill_s": (
            Way(prefill.cached_time_to_first_token_s, when=_shared),
            Way(prefill.shared_prefill_s, {"devices": 1.0}, lambda known: _shared(known) & _layered(known)),
            Way(prefill.shared_prefill_s, when=_shared),
        ),
        "stall_ms": (Way(prefill.stall_ms),),
        "step_overhead_ms": tuple(
            Way(estimate.step_overhead_ms, given)
            for given in ({}, {"added_compute_ms": 0.0}, {"stall_ms": 0.0}, {"stall_ms": 0.0, "added_compute_ms": 0.0})
        ),
        "step_time_ms": tuple(
            Way(estimate.step_time_ms, given)
            for given in (
                {},
                {"decode_compute_ms": 0.0},
                {"layers": 0.0, "layer_latency_us": 0.0},
                {"decode_compute_ms": 0.0, "layers": 0.0, "layer_latency_us": 0.0},
            )
        ),
        "speculative_tokens_per_step": (Way(estimate.speculative_tokens_per_step),),
        "speculative_step_ms": (Way(estimate.speculative_step_ms),),
        "estimated_tokens_per_sec": (
            Way(
                estimate.step_tokens_per_sec,
                {"step_time_ms": "speculative_step_ms", "tokens_per_step": "speculative_tokens_per_step"},
            ),
            Way(estimate.step_tokens_per_sec, {"tokens_per_step": 1.0}),
        ),
        "read_ceiling_tokens_per_sec": (
            Way(estimate.read_ceiling_tokens_per_sec, {"tokens_per_step": "speculative_tokens_per_step"}),
            Way(estimate.read_ceiling_tokens_per_sec, {"tokens_per_step": 1.0}),
        ),
        "low_tokens_per_sec": (
            Way(
                estimate.ranged_tokens_per_sec,
                {"range_factor": "low_factor", "most_tokens_per_sec": "read_ceiling_tokens_per_sec"},
            ),
        ),
        "high_tokens_per_sec": (
            Way(
                estimate.ranged_tokens_per_sec,
                {"range_factor": "high_factor", "most_tokens_per_sec": "read_ceiling_tokens_per_sec"},
            ),
        ),
        "estimated_aggregate_tokens_per_sec": (Way(estimate.estimated_aggregate_tokens_per_sec),),
        "estimated_generation_time_s": (Way(speed.generation_time_s, {"tokens_per_sec": "estimated_tokens_per_sec"}),),
        "estimated_response_time_s": (
            # With stalls a stream's own prefill is among those that its steps wait for.
            Way(estimate.estimated_response_time_s, {"prefill_s": 0.0}, _stalled),
            Way(estimate.estimated_response_time_s),
        ),
        "estimated_requests_per_hour": (
            Way(speed.requests_per_hour, {"response_time_s": "estimated_response_time_s"}),
        ),
        "batch_crossover": (
            # Of a mixture, streams read other experts, so that the read grows with the batch as well.
            Way(estimate.batch_crossover, when=_dense),
        ),
    }
)

QUEUE: Final[Mapping[str, tuple[Way, ...]]] = MappingProxyType(
    {
        "utilisation": (
            Way(queueing.utilisation, {"requests_per_hour": "estimated_requests_per_hour"}),
            Way(queueing.utilisation),
        ),
        "queue_wait_s": (
            Way(
                queueing.queue_wait_s,
                {"response_time_s": "estimated_response_time_s", "arrival_variation": 1.0, "service_variation": 1.0},
                _queued,
            ),
            Way(queueing.queue_wait_s, {"arrival_variation": 1.0, "service_variation": 1.0}, _queued),
        ),
    }
)

RECIPES: Final[Mapping[str, tuple[Way, ...]]] = MappingProxyType({**MEMORY, **ESTIMATE, **QUEUE, **MONEY})


def way_of(figure: str, known: Known) -> Way | None:
    """The way in which a figure is made from what is known, or None where no way has all that it takes."""
    for way in RECIPES[figure]:
        if way.when is not None and not way.when(known):
            continue
        if all(value is not None for value in arguments_of(way, known)):
            return way
    return None


def arguments_of(way: Way, known: Known) -> list[Any]:
    """The arguments of a way's formula, in their order; None where one is not known."""
    return [known.get(name) if isinstance(name, str) else name for name in way.taken]
