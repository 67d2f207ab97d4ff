"""What planner knows by name, each entry with its source: number formats of weights, devices."""

from __future__ import annotations

from planner.catalog.devices import (
    DEVICE_CLASSES,
    Device,
    devices,
    devices_named,
    find_device,
    nearest_devices,
)
from planner.catalog.precisions import (
    Precision,
    find_precision,
    nearest_precisions,
    precision_bits,
    precision_key,
    precision_keys,
    precisions,
)

__all__ = [
    "DEVICE_CLASSES",
    "Device",
    "Precision",
    "devices",
    "devices_named",
    "find_device",
    "find_precision",
    "nearest_devices",
    "nearest_precisions",
    "precision_bits",
    "precision_key",
    "precision_keys",
    "precisions",
]
