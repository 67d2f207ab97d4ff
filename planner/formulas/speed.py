"""Decode speed is a bandwidth problem: every output token needs one read of all the weights.

Each function takes floats, returns a float, and holds one expression, so that its source can be
translated into an Excel LAMBDA or into arithmetic on cells. Values are checked before they come
here; a zero divisor raises ZeroDivisionError.
"""

from planner.units import BITS_PER_BYTE, MS_PER_S, S_PER_HOUR


def weights_gb(params_b: float, weight_bits: float) -> float:
    """Weights in memory: S = parameters x bits / 8.

    Billions of parameters and bits per weight give GB (1e9 bytes).
    Source: definition.

    >>> weights_gb(70, 16)
    140.0
    """
    return params_b * weight_bits / BITS_PER_BYTE


def bits_per_weight(weight_bits: float) -> float:
    """True bits per weight of a precision, block scales included: the bits themselves.

    Bits per weight give bits per weight; in a cell the argument may be a name, which is looked up.
    Source: the precision table, each row with its own source.

    >>> bits_per_weight(4.85)
    4.85
    """
    return weight_bits


def requantized_weights_gb(weights_gb: float, weight_bits: float, to_bits: float) -> float:
    """Weights at another precision: S' = S x bits' / bits.

    GB, and bits per weight before and after, give GB.
    Source: the size scales with the bits per weight.

    >>> requantized_weights_gb(140, 16, 4)
    35.0
    """
    return weights_gb * to_bits / weight_bits


def bandwidth_gb_s(device_bandwidth_gb_s: float, devices: float) -> float:
    """Aggregate memory bandwidth of the devices that hold the weights: B = bandwidth x devices.

    GB/s per device and a count give GB/s.
    Source: definition.

    >>> bandwidth_gb_s(3350, 2)
    6700
    """
    return device_bandwidth_gb_s * devices


def usable_bandwidth_gb_s(bandwidth_gb_s: float, efficiency: float) -> float:
    """Bandwidth that the serving stack achieves: B x eta.

    GB/s and a ratio give GB/s.
    Source: memory bandwidth utilisation (MBU) as the literature defines it.

    >>> usable_bandwidth_gb_s(3350, 0.85)
    2847.5
    """
    return bandwidth_gb_s * efficiency


def tokens_per_sec(weights_gb: float, bandwidth_gb_s: float, efficiency: float) -> float:
    """Decode rate of one stream: v = B x eta / S.

    GB, GB/s and a ratio give tokens per second.
    Source: roofline of a memory-bound decode step, one read of the weights per token.

    >>> round(tokens_per_sec(140, 3350, 0.85), 6)
    20.339286
    """
    return bandwidth_gb_s * efficiency / weights_gb


def ceiling_tokens_per_sec(weights_gb: float, bandwidth_gb_s: float) -> float:
    """Upper bound of the decode rate of one stream: B / S, that is eta = 1.

    GB and GB/s give tokens per second.
    Source: roofline of a memory-bound decode step.

    >>> round(ceiling_tokens_per_sec(140, 3350), 2)
    23.93
    """
    return bandwidth_gb_s / weights_gb


def inter_token_latency_ms(tokens_per_sec: float) -> float:
    """Time between two tokens of a stream: ITL = 1,000 / v.

    Tokens per second give milliseconds.
    Source: definition.

    >>> inter_token_latency_ms(20)
    50.0
    """
    return MS_PER_S / tokens_per_sec


def aggregate_tokens_per_sec(weights_gb: float, bandwidth_gb_s: float, efficiency: float, batch: float) -> float:
    """Decode rate of all streams together: v x batch.

    GB, GB/s, a ratio and a count give tokens per second.
    Source: streams of a batch share one read of the weights; holds until arithmetic binds.

    >>> round(aggregate_tokens_per_sec(140, 3350, 0.85, 8), 1)
    162.7
    """
    return tokens_per_sec(weights_gb, bandwidth_gb_s, efficiency) * batch


def time_to_first_token_s(prompt_tokens: float, prefill_tokens_per_sec: float) -> float:
    """Time until the first output token: TTFT = prompt / prefill rate.

    Tokens and tokens per second give seconds.
    Source: definition; queueing is not counted.

    >>> round(time_to_first_token_s(2000, 9000), 3)
    0.222
    """
    return prompt_tokens / prefill_tokens_per_sec


def generation_time_s(output_tokens: float, tokens_per_sec: float) -> float:
    """Time to generate the output: output / v.

    Tokens and tokens per second give seconds.
    Source: definition.

    >>> generation_time_s(500, 20)
    25.0
    """
    return output_tokens / tokens_per_sec


def response_time_s(
    prompt_tokens: float, prefill_tokens_per_sec: float, output_tokens: float, tokens_per_sec: float
) -> float:
    """Time of a whole response: TTFT + generation.

    Tokens and tokens per second give seconds.
    Source: definition; queueing and network are not counted.

    >>> round(response_time_s(2000, 9000, 500, 20), 3)
    25.222
    """
    return time_to_first_token_s(prompt_tokens, prefill_tokens_per_sec) + generation_time_s(
        output_tokens, tokens_per_sec
    )


def requests_per_hour(batch: float, response_time_s: float) -> float:
    """Requests completed in an hour with every stream busy: batch x 3,600 / response time.

    A count and seconds give requests per hour.
    Source: Little's law.

    >>> requests_per_hour(8, 24)
    1200.0
    """
    return batch * S_PER_HOUR / response_time_s


def requests_at_occupancy_per_hour(batch: float, occupancy: float, response_time_s: float) -> float:
    """Requests completed in an hour at an average occupancy: batch x occupancy x 3,600 / response time.

    A count, a ratio and seconds give requests per hour.
    Source: Little's law.

    >>> requests_at_occupancy_per_hour(8, 0.5, 24)
    600.0
    """
    return batch * occupancy * S_PER_HOUR / response_time_s


def requests_per_device_per_hour(requests_per_hour: float, devices: float) -> float:
    """Requests per hour that each device earns: requests / devices.

    Requests per hour and a count give requests per hour.
    Source: definition.

    >>> requests_per_device_per_hour(1200, 2)
    600.0
    """
    return requests_per_hour / devices
