"""Prefill: the prompt is read in one pass, bound by arithmetic; what is cached is not computed again."""

from planner.units import FLOP_PER_TFLOP, GIGA_PER_TERA, MS_PER_S, S_PER_HOUR, US_PER_MS


def prefill_tokens(prompt_tokens: float, cached_tokens: float) -> float:
    """Tokens of the prompt that prefill computes: prompt - cached, not below 0.

    Tokens give tokens.
    Source: a prefix cache saves the prefill of what it holds; those tokens are in every step's context all the same.

    >>> prefill_tokens(2000, 1800)
    200
    """
    return max(prompt_tokens - cached_tokens, 0)


def prefill_tflop(
    active_params_b: float,
    layers: float,
    heads: float,
    head_dim: float,
    prompt_tokens: float,
    cached_tokens: float,
) -> float:
    """Arithmetic of prefill: 2 x active x n + 2 x layers x heads x head dim x n x (n + 1), less what is cached.

    Billions of parameters, counts and tokens give TFLOP.
    Source: a multiplication and an addition for each weight and token; token i attends to i tokens at 4 FLOP per
    element of a head (Chowdhery et al. 2022, appendix B, forward pass), summed over the prompt. Cached tokens are
    attended to, not computed. 0 heads leave attention out.

    >>> prefill_tflop(70, 80, 0, 128, 2000, 0), round(prefill_tflop(70, 80, 64, 128, 2000, 0), 2)
    (280.0, 285.25)
    """
    return (
        2 * active_params_b * prefill_tokens(prompt_tokens, cached_tokens) / GIGA_PER_TERA
        + 2
        * layers
        * heads
        * head_dim
        * max(prompt_tokens * (prompt_tokens + 1) - cached_tokens * (cached_tokens + 1), 0)
        / FLOP_PER_TFLOP
    )


def prefill_time_s(prefill_tflop: float, peak_tflop_s: float, devices: float, prefill_mfu: float) -> float:
    """Time of prefill from its arithmetic: FLOP / (peak x devices x MFU).

    TFLOP, TFLOP/s per device, a count and a ratio give seconds.
    Source: definition of model FLOP utilisation (Chowdhery et al. 2022). The peak is the dense one; sparse datasheet
    figures are twice that.

    >>> round(prefill_time_s(280, 989.5, 1, 1), 4)
    0.283
    """
    return prefill_tflop / (peak_tflop_s * devices * prefill_mfu)


def estimated_prefill_s(
    prefill_compute_s: float,
    weights_gb: float,
    bandwidth_gb_s: float,
    efficiency: float,
    layers: float,
    layer_latency_us: float,
) -> float:
    """Estimated time of prefill: max(arithmetic, weights / (B x eta)) + layers x layer latency.

    Seconds, GB, GB/s, a ratio, a count and microseconds give seconds.
    Source: however short the prompt, one pass reads all the weights; a prompt of some hundred tokens uses every expert.

    >>> round(estimated_prefill_s(0.001, 16, 3350, 0.95, 32, 69), 4)
    0.0072
    """
    return (
        max(prefill_compute_s, weights_gb / (bandwidth_gb_s * efficiency))
        + layers * layer_latency_us / US_PER_MS / MS_PER_S
    )


def cached_time_to_first_token_s(prompt_tokens: float, cached_tokens: float, prefill_tokens_per_sec: float) -> float:
    """Time until the first output token where a part of the prompt is cached: (prompt - cached) / prefill rate.

    Tokens and tokens per second give seconds.
    Source: definition; queueing is not counted, and decode is as slow as without a cache.

    >>> round(cached_time_to_first_token_s(2000, 1800, 9000), 4)
    0.0222
    """
    return prefill_tokens(prompt_tokens, cached_tokens) / prefill_tokens_per_sec


def cache_saved_s(cached_tokens: float, prefill_tokens_per_sec: float) -> float:
    """Prefill time that a prefix cache saves: cached tokens / prefill rate.

    Tokens and tokens per second give seconds.
    Source: definition; decode is as slow as without a cache.

    >>> cache_saved_s(1800, 9000)
    0.2
    """
    return cached_tokens / prefill_tokens_per_sec


def cache_saved_compute_s(
    active_params_b: float,
    layers: float,
    heads: float,
    head_dim: float,
    cached_tokens: float,
    peak_tflop_s: float,
    devices: float,
    prefill_mfu: float,
) -> float:
    """Prefill time that a prefix cache saves, from its arithmetic: that of the cached tokens / (peak x devices x MFU).

    Billions of parameters, counts, tokens, TFLOP/s per device and a ratio give seconds.
    Source: as :func:`prefill_tflop` of the cached tokens alone; at least one read of the weights stays.

    >>> round(cache_saved_compute_s(70, 80, 0, 128, 2000, 989.5, 1, 1), 4)
    0.283
    """
    return prefill_time_s(
        prefill_tflop(active_params_b, layers, heads, head_dim, cached_tokens, 0), peak_tflop_s, devices, prefill_mfu
    )


def shared_prefill_s(prefill_tflop: float, peak_tflop_s: float, devices: float, stall_mfu: float) -> float:
    """Time that a prefill takes from decode on the same devices: FLOP / (peak x sqrt(devices) x MFU beside decode).

    TFLOP, TFLOP/s per device, a count and a ratio give seconds.
    Source: fitted to public measurements under continuous batching, where a part of prefill hides in decode steps and
    tensor parallelism gains about the square root of its size.

    >>> round(shared_prefill_s(280, 989.5, 4, 0.923), 4)
    0.1533
    """
    return prefill_tflop / (peak_tflop_s * devices**0.5 * stall_mfu)


def stall_ms(batch: float, shared_prefill_s: float, output_tokens: float) -> float:
    """Time that prefills add to each decode step: streams x prefill / output tokens.

    A count, seconds and tokens give milliseconds.
    Source: while a stream generates its output, each stream of the batch is prefilled once.

    >>> round(stall_ms(8, 0.2222, 500), 3)
    3.555
    """
    return batch * shared_prefill_s / output_tokens * MS_PER_S


def stalled_cycle_s(batch: float, generation_time_s: float, time_to_first_token_s: float) -> float:
    """Time in which each stream of a batch serves one request where prefill stalls decode: generation + batch x TTFT.

    A count and seconds give seconds.
    Source: on one device a prefill stops the decode of all streams, and in a cycle there is one for each stream.

    >>> round(stalled_cycle_s(8, 24.583, 0.2222), 2)
    26.36
    """
    return generation_time_s + batch * time_to_first_token_s


def stalled_requests_per_hour(batch: float, generation_time_s: float, time_to_first_token_s: float) -> float:
    """Requests completed in an hour where prefill stalls decode: batch x 3,600 / (generation + batch x TTFT).

    A count and seconds give requests per hour.
    Source: Little's law over that cycle, every stream busy.

    >>> round(stalled_requests_per_hour(8, 70_000 / 2847.5, 2 / 9), 1)
    1092.5
    """
    return batch * S_PER_HOUR / stalled_cycle_s(batch, generation_time_s, time_to_first_token_s)
