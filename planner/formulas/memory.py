"""What memory has to hold, and what fits: weights, KV cache and runtime buffers are a matter of bytes, not of speed.

What just fits in decimal figures does fit: memory is weighed with a slack of a trillionth, since 24 x 0.9 is not
quite 21.6 in binary.
"""

from planner.units import BITS_PER_BYTE, BYTES_PER_GB, SLACK


def weights_memory_share(weights_gb: float, device_memory_gb: float, devices: float) -> float:
    """Share of the devices' memory that the weights alone take: S / (memory x devices).

    GB, GB per device and a count give a ratio.
    Source: definition; KV cache and runtime buffers are not counted.

    >>> weights_memory_share(140, 80, 2)
    0.875
    """
    return weights_gb / (device_memory_gb * devices)


def devices_to_hold(weights_gb: float, device_memory_gb: float, usable_share: float) -> float:
    """Devices whose usable memory holds the weights: S / memory / share, rounded up.

    GB, GB per device and a ratio give a count.
    Source: definition; KV cache and runtime buffers are not counted. The quotient is rounded down as
    a whole (``// 1``), since Excel's INT and Python's ``//`` of the two sides part at exact multiples.

    >>> devices_to_hold(140, 80, 0.9)
    2.0
    """
    return -(-weights_gb / device_memory_gb / usable_share // 1)


# The cache of one token.


def kv_bytes_per_token(kv_layers: float, kv_heads: float, head_dim: float, kv_bits: float) -> float:
    """KV cache of one token, a key and a value per head and layer: 2 x layers x KV heads x head dim x bits / 8.

    Counts and bits per element give bytes per token.
    Source: multi-head and grouped-query attention (Ainslie et al. 2023). The head dimension is the model's own
    figure, not hidden size / heads; only layers that keep a cache count; the bits are the cache's, not the weights'.

    >>> kv_bytes_per_token(80, 8, 128, 16)
    327680.0
    """
    return 2 * kv_layers * kv_heads * head_dim * kv_bits / BITS_PER_BYTE


def mla_kv_bytes_per_token(layers: float, kv_lora_rank: float, rope_dim: float, kv_bits: float) -> float:
    """KV cache of one token under latent attention (MLA): layers x (latent rank + rope dim) x bits / 8.

    Counts and bits per element give bytes per token.
    Source: DeepSeek-V2 report (2024), section 2.1: one latent and one rotated key per layer, shared by all heads.
    Engines may store more; then their own figure is better.

    >>> mla_kv_bytes_per_token(61, 512, 64, 16)
    70272.0
    """
    return layers * (kv_lora_rank + rope_dim) * kv_bits / BITS_PER_BYTE


def device_kv_bytes_per_token(
    kv_layers: float, kv_heads: float, head_dim: float, kv_bits: float, devices: float
) -> float:
    """KV cache of one token on one of the devices that share the heads: that of KV heads / devices, rounded up.

    Counts and bits per element give bytes per token.
    Source: engines share whole KV heads out and copy them where devices outnumber them, so that none holds less
    than one.

    >>> device_kv_bytes_per_token(80, 8, 128, 16, 4), device_kv_bytes_per_token(80, 8, 128, 16, 16)
    (81920.0, 40960.0)
    """
    return kv_bytes_per_token(kv_layers, -(-kv_heads / devices // 1), head_dim, kv_bits)


def tp_kv_bytes_per_token(kv_layers: float, kv_heads: float, head_dim: float, kv_bits: float, devices: float) -> float:
    """KV cache of one token on all devices that share the heads, copies included: that of one device x devices.

    Counts and bits per element give bytes per token.
    Source: as for one device; above KV heads in number, the devices hold copies.

    >>> tp_kv_bytes_per_token(80, 8, 128, 16, 4), tp_kv_bytes_per_token(80, 8, 128, 16, 16)
    (327680.0, 655360.0)
    """
    return device_kv_bytes_per_token(kv_layers, kv_heads, head_dim, kv_bits, devices) * devices


def tp_mla_kv_bytes_per_token(
    layers: float, kv_lora_rank: float, rope_dim: float, kv_bits: float, devices: float
) -> float:
    """Latent KV cache of one token on all devices that share the heads, a copy on each: that of one x devices.

    Counts and bits per element give bytes per token.
    Source: the latent is shared by all heads, so that dividing the heads divides nothing of it.

    >>> tp_mla_kv_bytes_per_token(61, 512, 64, 16, 8)
    562176.0
    """
    return mla_kv_bytes_per_token(layers, kv_lora_rank, rope_dim, kv_bits) * devices


# The cache of streams.


def final_context_tokens(prompt_tokens: float, output_tokens: float) -> float:
    """Context of a stream at its end, for which memory is reserved: prompt + output.

    Tokens give tokens.
    Source: definition.

    >>> final_context_tokens(2000, 500)
    2500
    """
    return prompt_tokens + output_tokens


def window_kv_tokens(context_tokens: float, kv_layers: float, full_layers: float, window_tokens: float) -> float:
    """Tokens that a layer caches on average: full layers the context, the others min(context, window).

    Tokens and counts give tokens; it stands for the context wherever windows count.
    Source: sliding-window attention (Beltagy et al. 2020). That many are read at each step; an engine that reserves
    every layer in full keeps the context itself.

    >>> window_kv_tokens(8192, 24, 12, 128)
    4160.0
    """
    return (full_layers * context_tokens + (kv_layers - full_layers) * min(context_tokens, window_tokens)) / kv_layers


def kv_cache_gb(kv_bytes_per_token: float, context_tokens: float, batch: float) -> float:
    """KV cache of all streams: bytes per token x context x streams.

    Bytes per token, tokens and a count give GB (1e9 bytes).
    Source: definition; for the reservation take the final context, for what a step reads the mean one.

    >>> kv_cache_gb(327680, 4352, 10)
    14.2606336
    """
    return kv_bytes_per_token * context_tokens * batch / BYTES_PER_GB


# What memory holds.


def memory_needed_gb(weights_gb: float, kv_cache_gb: float, overhead_gb: float) -> float:
    """Memory that serving needs on all devices together: weights + KV cache + overhead.

    GB give GB.
    Source: definition; all parameters count, whether or not a token uses them.

    >>> memory_needed_gb(140, 14.25, 2)
    156.25
    """
    return weights_gb + kv_cache_gb + overhead_gb


def usable_memory_gb(device_memory_gb: float, devices: float, usable_share: float) -> float:
    """Memory that the engine may fill on all devices together: memory x devices x share.

    GB per device, a count and a ratio give GB.
    Source: definition; engines leave a share of each card alone, 0.1 by the usual default.

    >>> usable_memory_gb(80, 2, 0.9)
    144.0
    """
    return device_memory_gb * devices * usable_share


def kv_room_gb(
    weights_gb: float, device_memory_gb: float, devices: float, usable_share: float, overhead_gb: float
) -> float:
    """Memory left for KV cache: usable memory - weights - overhead, below zero where the weights do not fit.

    GB, GB per device, a count and a ratio give GB.
    Source: definition.

    >>> kv_room_gb(140, 80, 2, 0.9, 0)
    4.0
    """
    return usable_memory_gb(device_memory_gb, devices, usable_share) - weights_gb - overhead_gb


def streams_that_fit(
    weights_gb: float,
    kv_bytes_per_token: float,
    context_tokens: float,
    device_memory_gb: float,
    devices: float,
    usable_share: float,
    overhead_gb: float,
) -> float:
    """Largest batch that memory holds at a context: room for KV cache / (bytes per token x context), rounded down.

    GB, bytes per token, tokens, GB per device, a count and a ratio give a count, 0 where the weights do not fit.
    Source: definition; each stream is reserved its context in full.

    >>> streams_that_fit(140, 327680, 4352, 80, 4, 0.9, 0)
    103.0
    """
    return max(
        kv_room_gb(weights_gb, device_memory_gb * (1 + SLACK), devices, usable_share, overhead_gb)
        / kv_cache_gb(kv_bytes_per_token, context_tokens, 1)
        // 1,
        0,
    )


def kv_room_tokens(
    weights_gb: float,
    kv_bytes_per_token: float,
    batch: float,
    device_memory_gb: float,
    devices: float,
    usable_share: float,
    overhead_gb: float,
) -> float:
    """Tokens of cache that memory holds for each stream of a batch: room for KV cache / (bytes per token x batch).

    GB, bytes per token, a count, GB per device, a count and a ratio give tokens with their fraction, 0 where the
    weights do not fit.
    Source: definition.

    >>> round(kv_room_tokens(60, 1_000_000, 3, 80, 1, 1, 0), 2)
    6666.67
    """
    return max(
        kv_room_gb(weights_gb, device_memory_gb * (1 + SLACK), devices, usable_share, overhead_gb)
        / kv_cache_gb(kv_bytes_per_token, 1, batch),
        0,
    )


def longest_context_tokens(
    weights_gb: float,
    kv_bytes_per_token: float,
    batch: float,
    device_memory_gb: float,
    devices: float,
    usable_share: float,
    overhead_gb: float,
) -> float:
    """Longest context that memory holds for each stream of a batch: its tokens of cache, rounded down.

    GB, bytes per token, a count, GB per device, a count and a ratio give tokens, 0 where the weights do not fit.
    Source: definition; every layer is reserved in full. The model's own limit is not counted.

    >>> longest_context_tokens(60, 1_000_000, 3, 80, 1, 1, 0)
    6666.0
    """
    return (
        kv_room_tokens(weights_gb, kv_bytes_per_token, batch, device_memory_gb, devices, usable_share, overhead_gb) // 1
    )


def longest_window_context_tokens(
    kv_room_tokens: float, kv_layers: float, full_layers: float, window_tokens: float
) -> float:
    """Longest context where windowed layers are capped: (room x layers - windowed x window) / full layers.

    Tokens and counts give tokens.
    Source: the context whose window_kv_tokens are the room, rounded down; a room within the window is the context
    itself. Beyond it only full layers grow: with none of them nothing limits the context, and the divisor is zero.

    >>> longest_window_context_tokens(4160, 24, 12, 128), longest_window_context_tokens(100.0, 24, 12, 128)
    (8192.0, 100.0)
    """
    return (
        (kv_room_tokens * (1 + SLACK) * kv_layers - (kv_layers - full_layers) * window_tokens) / full_layers
        if kv_room_tokens > window_tokens
        else kv_room_tokens
    ) // 1


def devices_needed(memory_needed_gb: float, device_memory_gb: float, usable_share: float) -> float:
    """Devices whose usable memory holds all that serving needs: memory needed / memory / share, rounded up.

    GB, GB per device and a ratio give a count.
    Source: definition; engines may further ask for a number that divides the attention heads.

    >>> devices_needed(227, 80, 0.9)
    4.0
    """
    return devices_to_hold(memory_needed_gb * (1 - SLACK), device_memory_gb, usable_share)
