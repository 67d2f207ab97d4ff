"""What planner knows by name, each entry with its source: number formats of weights, devices, models."""

from __future__ import annotations

from planner.catalog.devices import (
    DEVICE_CLASSES,
    Device,
    devices,
    devices_named,
    find_device,
    nearest_devices,
)
from planner.catalog.models import Model, find_model, models, models_named, nearest_models
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
    "Model",
    "Precision",
    "devices",
    "devices_named",
    "find_device",
    "find_model",
    "find_precision",
    "models",
    "models_named",
    "nearest_devices",
    "nearest_models",
    "nearest_precisions",
    "precision_bits",
    "precision_key",
    "precision_keys",
    "precisions",
]
