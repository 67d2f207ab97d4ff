"""The decode step as an estimate: weights and KV cache read, or arithmetic where that takes longer, plus latencies.

The core's rate reads the weights and nothing else. Here a step also reads the cache of every stream, a mixture of
experts reads what its streams route to, and each layer and step costs time that no bandwidth buys back.
"""

from planner.formulas.memory import kv_cache_gb, window_kv_tokens
from planner.units import BITS_PER_BYTE, FLOP_PER_TFLOP, GIGA_PER_TERA, MS_PER_S, US_PER_MS

# What a step reads.


def mean_context_tokens(prompt_tokens: float, output_tokens: float) -> float:
    """Context of a stream on average over its generation: prompt + output / 2.

    Tokens give tokens.
    Source: the context grows by one token a step, from the prompt to prompt + output.

    >>> mean_context_tokens(2000, 500)
    2250.0
    """
    return prompt_tokens + output_tokens / 2


def streamed_weights_gb(weights_gb: float, params_b: float, streamed_params_b: float) -> float:
    """Weights that a step reads, where it leaves some parameters out: S x streamed / all parameters.

    GB and billions of parameters give GB.
    Source: an input embedding that the output layer does not share is looked up, not read; memory holds it all the
    same. All parameters are taken to be of one precision.

    >>> round(streamed_weights_gb(16, 8.0, 7.5), 2)
    15.0
    """
    return weights_gb * streamed_params_b / params_b


def kv_read_gb(
    kv_bytes_per_token: float,
    kv_layers: float,
    full_layers: float,
    window_tokens: float,
    context_tokens: float,
    batch: float,
) -> float:
    """KV cache that a step reads: bytes per token x tokens within each layer's window x streams.

    Bytes per token, counts and tokens give GB.
    Source: every stream attends to its own cache, so that no two share the read. Take the mean context.

    >>> round(kv_read_gb(327680, 80, 80, 1, 32768, 8), 1)
    85.9
    """
    return kv_cache_gb(
        kv_bytes_per_token, window_kv_tokens(context_tokens, kv_layers, full_layers, window_tokens), batch
    )


# What a step takes.


def decode_memory_ms(weights_read_gb: float, kv_read_gb: float, bandwidth_gb_s: float, efficiency: float) -> float:
    """Time of a decode step's reads: (weights read + KV read) / (B x eta).

    GB, GB/s and a ratio give milliseconds.
    Source: roofline of a memory-bound decode step.

    >>> round(decode_memory_ms(141.107, 85.9, 6700, 1), 2)
    33.88
    """
    return (weights_read_gb + kv_read_gb) / (bandwidth_gb_s * efficiency) * MS_PER_S


def decode_tflop(
    active_params_b: float, layers: float, heads: float, head_dim: float, context_tokens: float, batch: float
) -> float:
    """Arithmetic of a decode step: (2 x active + 4 x layers x heads x head dim x context) x batch.

    Billions of parameters, counts and tokens give TFLOP.
    Source: a multiplication and an addition for each weight and token, and for each element of the scores and of
    their weighted sum: 2N + 4LHQT (Chowdhery et al. 2022, appendix B, forward pass). 0 heads leave attention out.

    >>> decode_tflop(70, 80, 64, 128, 0, 8)
    1.12
    """
    return (
        2 * active_params_b / GIGA_PER_TERA + 4 * layers * heads * head_dim * context_tokens / FLOP_PER_TFLOP
    ) * batch


def decode_compute_ms(decode_tflop: float, peak_tflop_s: float, devices: float, mfu: float) -> float:
    """Time of a decode step's arithmetic: FLOP / (peak x devices x MFU).

    TFLOP, TFLOP/s per device, a count and a ratio give milliseconds.
    Source: roofline of a compute-bound step. The peak is the dense one; sparse datasheet figures are twice that.

    >>> round(decode_compute_ms(1.12, 989.5, 1, 1), 3)
    1.132
    """
    return decode_tflop / (peak_tflop_s * devices * mfu) * MS_PER_S


def step_time_ms(
    decode_memory_ms: float,
    decode_compute_ms: float,
    layers: float,
    layer_latency_us: float,
    step_overhead_ms: float,
    batch: float,
    stream_overhead_us: float,
) -> float:
    """Time of a decode step: max(memory, compute) + layers x latency + step overhead + (batch - 1) x stream overhead.

    Milliseconds, counts and microseconds give milliseconds.
    Source: reads and arithmetic overlap; what devices tell each other in every layer, launches and sampling do not.

    >>> step_time_ms(30, 5, 80, 70, 1, 9, 50)
    37.0
    """
    return (
        max(decode_memory_ms, decode_compute_ms)
        + layers * layer_latency_us / US_PER_MS
        + step_overhead_ms
        + (batch - 1) * stream_overhead_us / US_PER_MS
    )


def added_compute_ms(active_params_b: float, batch: float, peak_tflop_s: float, devices: float, mfu: float) -> float:
    """Time of the further streams' arithmetic, where it follows the reads: 2 x active x (batch - 1) / (peak x MFU).

    Billions of parameters, counts, TFLOP/s per device and a ratio give milliseconds.
    Source: engines that read and compute in turn; the first stream's arithmetic is in their measured efficiency.

    >>> round(added_compute_ms(8, 9, 165.2, 1, 0.3), 3)
    2.583
    """
    return 2 * active_params_b / GIGA_PER_TERA * (batch - 1) / (peak_tflop_s * devices * mfu) * MS_PER_S


def step_overhead_ms(stall_ms: float, added_compute_ms: float) -> float:
    """Time of a step beside its reads and layers: prefill stalls + arithmetic that does not overlap.

    Milliseconds give milliseconds.
    Source: definition.

    >>> step_overhead_ms(3, 1)
    4
    """
    return stall_ms + added_compute_ms


def step_tokens_per_sec(step_time_ms: float, tokens_per_step: float) -> float:
    """Decode rate of one stream from the time of a step: tokens per step x 1,000 / step time.

    Milliseconds and tokens per step give tokens per second.
    Source: a step yields one token a stream, more with a draft.

    >>> round(step_tokens_per_sec(33.88, 1), 2)
    29.52
    """
    return tokens_per_step * MS_PER_S / step_time_ms


def ranged_tokens_per_sec(estimated_tokens_per_sec: float, range_factor: float, most_tokens_per_sec: float) -> float:
    """End of an estimate's range: estimate x measured / predicted at that quantile, not above what the reads allow.

    Tokens per second, a ratio and tokens per second give tokens per second.
    Source: spread of held-out measurements about the estimate, by class of device and kind of serving.

    >>> ranged_tokens_per_sec(20, 1.25, 24), ranged_tokens_per_sec(20, 0.75, 24)
    (24, 15.0)
    """
    return min(estimated_tokens_per_sec * range_factor, most_tokens_per_sec)


def read_ceiling_tokens_per_sec(weights_read_gb: float, read_bandwidth_gb_s: float, tokens_per_step: float) -> float:
    """Rate that reading the weights once a step allows at most: tokens per step x B / weights read.

    GB, GB/s and tokens per step give tokens per second.
    Source: roofline of a memory-bound decode step.

    >>> round(read_ceiling_tokens_per_sec(25.8, 4078, 1), 2)
    158.06
    """
    return tokens_per_step * read_bandwidth_gb_s / weights_read_gb


def estimated_inter_token_latency_ms(
    weights_read_gb: float,
    kv_read_gb: float,
    bandwidth_gb_s: float,
    efficiency: float,
    decode_compute_ms: float,
    layers: float,
    layer_latency_us: float,
    step_overhead_ms: float,
    batch: float,
    stream_overhead_us: float,
) -> float:
    """Estimated time between two tokens of a stream: max((weights + KV read) / (B x eta), compute) + latencies.

    GB, GB/s, a ratio, milliseconds, counts and microseconds give milliseconds.
    Source: every stream of a batch gets one token a step.

    >>> round(estimated_inter_token_latency_ms(141.107, 85.9, 6700, 1, 0, 80, 0, 0, 8, 0), 2)
    33.88
    """
    return step_time_ms(
        decode_memory_ms(weights_read_gb, kv_read_gb, bandwidth_gb_s, efficiency),
        decode_compute_ms,
        layers,
        layer_latency_us,
        step_overhead_ms,
        batch,
        stream_overhead_us,
    )


def estimated_tokens_per_sec(
    weights_read_gb: float,
    kv_read_gb: float,
    bandwidth_gb_s: float,
    efficiency: float,
    decode_compute_ms: float,
    layers: float,
    layer_latency_us: float,
    step_overhead_ms: float,
    batch: float,
    stream_overhead_us: float,
) -> float:
    """Estimated decode rate of one stream: 1,000 / estimated inter-token latency.

    GB, GB/s, a ratio, milliseconds, counts and microseconds give tokens per second.
    Source: definition.

    >>> round(estimated_tokens_per_sec(141.107, 85.9, 6700, 1, 0, 80, 0, 0, 8, 0), 2)
    29.51
    """
    return MS_PER_S / estimated_inter_token_latency_ms(
        weights_read_gb,
        kv_read_gb,
        bandwidth_gb_s,
        efficiency,
        decode_compute_ms,
        layers,
        layer_latency_us,
        step_overhead_ms,
        batch,
        stream_overhead_us,
    )


def estimated_aggregate_tokens_per_sec(estimated_tokens_per_sec: float, batch: float) -> float:
    """Estimated decode rate of all streams together: estimated rate x batch.

    Tokens per second and a count give tokens per second.
    Source: definition; the rate is the one at that batch.

    >>> estimated_aggregate_tokens_per_sec(29.5, 8)
    236.0
    """
    return estimated_tokens_per_sec * batch


def estimated_response_time_s(prefill_s: float, estimated_generation_time_s: float) -> float:
    """Estimated time of a whole response: prefill + output / estimated rate.

    Seconds give seconds.
    Source: definition; queueing is not counted.

    >>> estimated_response_time_s(0.5, 24)
    24.5
    """
    return prefill_s + estimated_generation_time_s


# Where the devices bind.


def batch_crossover(peak_tflop_s: float, device_bandwidth_gb_s: float, weight_bits: float) -> float:
    """Batch from which arithmetic takes longer than the read of the weights: peak x bytes per weight / (2 x bandwidth).

    TFLOP/s and GB/s per device and bits per weight give a count.
    Source: roofline ridge point at 2 FLOP per weight and stream, dense models; KV reads and attention are not counted.

    >>> round(batch_crossover(989.5, 3350, 16))
    295
    """
    return peak_tflop_s * GIGA_PER_TERA * (weight_bits / BITS_PER_BYTE) / (2 * device_bandwidth_gb_s)


def pipeline_bandwidth_gb_s(device_bandwidth_gb_s: float, devices: float, stages: float) -> float:
    """Bandwidth at which one stream reads where layers are split into stages: bandwidth x devices / stages.

    GB/s per device and counts give GB/s.
    Source: the stages of a pipeline work one after another on a token. Split by layers alone, stages are devices, and
    the stream reads at one device's bandwidth.

    >>> pipeline_bandwidth_gb_s(3350, 8, 8)
    3350.0
    """
    return device_bandwidth_gb_s * devices / stages


# Speculative decoding.


def speculative_tokens_per_step(acceptance: float, draft_tokens: float) -> float:
    """Tokens that a step yields with a draft: (1 - acceptance^(draft + 1)) / (1 - acceptance), draft + 1 at 1.

    A ratio and tokens give tokens per step.
    Source: Leviathan et al. 2023, equation 1. Acceptances are taken to be independent, which overstates long drafts.

    >>> round(speculative_tokens_per_step(0.8, 4), 4), speculative_tokens_per_step(1, 4)
    (3.3616, 5)
    """
    return (1 - acceptance ** (draft_tokens + 1)) / (1 - acceptance) if acceptance < 1 else draft_tokens + 1


def speculative_step_ms(step_time_ms: float, draft_step_ms: float, draft_tokens: float) -> float:
    """Time of a step with a draft: step + draft tokens x draft step.

    Milliseconds and tokens give milliseconds.
    Source: Leviathan et al. 2023, theorem 3.8: the draft runs token by token, then one step checks all of them. A
    mixture of experts reads more in that step: its batch is batch x (draft + 1).

    >>> speculative_step_ms(30, 2, 4)
    38
    """
    return step_time_ms + draft_tokens * draft_step_ms


def speculative_tokens_per_sec(
    step_time_ms: float, draft_step_ms: float, acceptance: float, draft_tokens: float
) -> float:
    """Decode rate of one stream with a draft: tokens per step x 1,000 / (step + draft tokens x draft step).

    Milliseconds, a ratio and tokens give tokens per second; it can exceed the ceiling, which is one token a read.
    Source: Leviathan et al. 2023, theorem 3.8.

    >>> round(speculative_tokens_per_sec(30, 2, 0.8, 4), 1)
    88.5
    """
    return (
        speculative_tokens_per_step(acceptance, draft_tokens)
        * MS_PER_S
        / speculative_step_ms(step_time_ms, draft_step_ms, draft_tokens)
    )
