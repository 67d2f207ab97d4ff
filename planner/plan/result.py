"""The figures that come out, each field declared once as a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from planner.columns import Column, Number, Ratio
from planner.plan.core_inputs import POSITIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreFigures:
    """The core model's figures; None where an input that a figure needs was not given."""

    weight_bits: Annotated[
        float | None,
        Column("Bits per weight", Number(above=0), "True bits per weight of the precision, block scales included."),
    ] = None
    weights_gb: Annotated[
        float | None, Column("Weights", POSITIVE, "Weights in memory: typed, or parameters x bits / 8.")
    ] = None
    bandwidth_gb_s: Annotated[
        float | None, Column("Bandwidth", POSITIVE, "Aggregate memory bandwidth: typed, or per device x devices.")
    ] = None
    usable_bandwidth_gb_s: Annotated[float | None, Column("Usable bandwidth", POSITIVE, "Bandwidth x efficiency.")] = (
        None
    )
    tokens_per_sec: Annotated[float | None, Column("Per stream", POSITIVE, "Decode rate of one stream.")] = None
    ceiling_tokens_per_sec: Annotated[
        float | None, Column("Ceiling per stream", POSITIVE, "Decode rate of one stream at efficiency 1.")
    ] = None
    inter_token_latency_ms: Annotated[
        float | None, Column("Inter-token latency", POSITIVE, "Time between two tokens of a stream.")
    ] = None
    aggregate_tokens_per_sec: Annotated[
        float | None, Column("Aggregate", POSITIVE, "Decode rate of all streams together.", decimals=1)
    ] = None
    time_to_first_token_s: Annotated[
        float | None, Column("Time to first token", POSITIVE, "Prompt / prefill rate, without queueing.")
    ] = None
    generation_time_s: Annotated[
        float | None, Column("Generation time", POSITIVE, "Output / per-stream rate.", decimals=2)
    ] = None
    response_time_s: Annotated[
        float | None, Column("Response time", POSITIVE, "Time to first token + generation.", decimals=2)
    ] = None
    requests_per_hour: Annotated[
        float | None, Column("Requests", POSITIVE, "Requests completed in an hour, every stream busy.", decimals=0)
    ] = None
    requests_at_occupancy_per_hour: Annotated[
        float | None,
        Column("Requests at occupancy", POSITIVE, "Requests in an hour at the average occupancy.", decimals=0),
    ] = None
    requests_per_device_per_hour: Annotated[
        float | None,
        Column("Requests per device", POSITIVE, "Requests in an hour that each device earns.", decimals=0),
    ] = None
    weights_memory_share: Annotated[
        float | None,
        Column("Weights / memory", Ratio(), "Share of the devices' memory that the weights alone take."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures(CoreFigures):
    """The estimate's figures and what memory holds, beside the core's."""

    kv_bits: Annotated[
        float | None, Column("Bits per KV element", Number(above=0), "True bits of the KV precision.")
    ] = None
    expert_bits: Annotated[
        float | None, Column("Bits per expert weight", Number(above=0), "True bits of the experts' precision.")
    ] = None
    kv_bytes_per_token: Annotated[
        float | None, Column("KV per token", POSITIVE, "KV cache of one token over all layers and devices.")
    ] = None
    reserved_kv_bytes_per_token: Annotated[
        float | None,
        Column("KV per token reserved", POSITIVE, "With the copies that devices hold which share the model's heads."),
    ] = None
    final_context_tokens: Annotated[float | None, Column("Final context", POSITIVE, "Prompt + output.")] = None
    reserved_context_tokens: Annotated[
        float | None,
        Column("Reserved context", POSITIVE, "Final context, windows counted as the engine reserves them."),
    ] = None
    kv_cache_gb: Annotated[float | None, Column("KV cache", POSITIVE, "Reserved for all streams.")] = None
    memory_needed_gb: Annotated[float | None, Column("Memory needed", POSITIVE, "Weights + KV cache + overhead.")] = (
        None
    )
    usable_memory_gb: Annotated[
        float | None, Column("Usable memory", POSITIVE, "Memory of all devices x usable share.")
    ] = None
    streams_that_fit: Annotated[
        float | None, Column("Streams that fit", POSITIVE, "Largest batch at this context.", decimals=0)
    ] = None
    kv_room_tokens: Annotated[
        float | None, Column("KV room a stream", POSITIVE, "Tokens of cache that each stream finds room for.")
    ] = None
    longest_context_tokens: Annotated[
        float | None, Column("Longest context", POSITIVE, "Prompt + output that fit at this batch.")
    ] = None
    devices_needed: Annotated[
        float | None, Column("Devices needed", POSITIVE, "Devices that hold weights, cache and overhead.", decimals=0)
    ] = None
    mean_context_tokens: Annotated[float | None, Column("Mean context", POSITIVE, "Prompt + output / 2.")] = None
    expert_params_b: Annotated[
        float | None, Column("Parameters of an expert", POSITIVE, "(total - active) / (experts - active experts).")
    ] = None
    params_read_b: Annotated[
        float | None, Column("Parameters read", POSITIVE, "By a step: the rest and the experts that some stream uses.")
    ] = None
    weights_read_gb: Annotated[float | None, Column("Weights read", POSITIVE, "By a decode step.")] = None
    kv_read_gb: Annotated[float | None, Column("KV read", POSITIVE, "By a decode step, all streams.")] = None
    read_bandwidth_gb_s: Annotated[
        float | None, Column("Bandwidth read at", POSITIVE, "Aggregate, or one device's where layers are split.")
    ] = None
    decode_memory_ms: Annotated[
        float | None, Column("Reading", POSITIVE, "(weights + KV read) / (bandwidth x fetch efficiency).")
    ] = None
    decode_tflop: Annotated[float | None, Column("Arithmetic", POSITIVE, "Of a decode step.", decimals=3)] = None
    decode_compute_ms: Annotated[
        float | None, Column("Computing", POSITIVE, "Arithmetic / (peak x devices x MFU); overlaps the reading.")
    ] = None
    added_compute_ms: Annotated[
        float | None, Column("Computing, added", POSITIVE, "Where an engine computes after reading.")
    ] = None
    prefill_tflop: Annotated[
        float | None, Column("Prefill arithmetic", POSITIVE, "Of the prompt, less what is cached.")
    ] = None
    prefill_compute_s: Annotated[
        float | None, Column("Prefill computing", POSITIVE, "Prefill arithmetic / (peak x devices x MFU).")
    ] = None
    prefill_s: Annotated[
        float | None,
        Column("Prefill", POSITIVE, "From the prefill rate, else max(computing, one read of the weights) + latencies."),
    ] = None
    shared_prefill_s: Annotated[
        float | None, Column("Prefill beside decode", POSITIVE, "Time that a prefill takes from decode.")
    ] = None
    stall_ms: Annotated[
        float | None, Column("Prefill stalls", POSITIVE, "Prefills of the batch, shared out over the steps.")
    ] = None
    step_overhead_ms: Annotated[
        float | None, Column("Stalls and added", POSITIVE, "Prefill stalls + arithmetic that does not overlap.")
    ] = None
    step_time_ms: Annotated[
        float | None,
        Column("Step time", POSITIVE, "max(reading, computing) + latencies + streams + stalls: the estimated ITL."),
    ] = None
    estimated_tokens_per_sec: Annotated[
        float | None, Column("Estimate per stream", POSITIVE, "1,000 / step time, times tokens per step with a draft.")
    ] = None
    read_ceiling_tokens_per_sec: Annotated[
        float | None, Column("Read ceiling", POSITIVE, "What reading the weights once a step allows at most.")
    ] = None
    low_tokens_per_sec: Annotated[float | None, Column("Low", POSITIVE, "One measured rate in ten lies below.")] = None
    high_tokens_per_sec: Annotated[float | None, Column("High", POSITIVE, "One measured rate in ten lies above.")] = (
        None
    )
    estimated_aggregate_tokens_per_sec: Annotated[
        float | None, Column("Estimate aggregate", POSITIVE, "Estimate per stream x batch.", decimals=1)
    ] = None
    estimated_generation_time_s: Annotated[
        float | None, Column("Estimated generation", POSITIVE, "Output / estimate.", decimals=2)
    ] = None
    estimated_response_time_s: Annotated[
        float | None, Column("Estimated response", POSITIVE, "Prefill + output / estimate.", decimals=2)
    ] = None
    estimated_requests_per_hour: Annotated[
        float | None, Column("Estimated requests", POSITIVE, "Every stream busy, prefill stalls counted.", decimals=0)
    ] = None
    batch_crossover: Annotated[
        float | None, Column("Batch crossover", POSITIVE, "From this batch on arithmetic binds.", decimals=0)
    ] = None
    speculative_tokens_per_step: Annotated[
        float | None, Column("Accepted a step", POSITIVE, "Tokens that a step with a draft yields.")
    ] = None
    speculative_step_ms: Annotated[
        float | None, Column("Step with a draft", POSITIVE, "Step time + draft tokens x draft step.")
    ] = None
    utilisation: Annotated[
        float | None, Column("Load over capacity", POSITIVE, "Offered load / capacity; unstable from 1 on.", decimals=3)
    ] = None
    queue_wait_s: Annotated[
        float | None, Column("Wait", POSITIVE, "Mean wait for a free stream, Allen-Cunneen approximation.")
    ] = None
