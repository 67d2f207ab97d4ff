"""Whether the weights fit: memory is a matter of bytes, not of speed."""


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
