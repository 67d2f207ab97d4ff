"""What planner knows by name, each entry with its source: number formats of weights, devices, models."""

from __future__ import annotations

from planner.catalog.constants import (
    ENGINE_GROUPS,
    ClassConstants,
    ClassRange,
    class_constants,
    class_range,
    engine_group,
    is_measured,
    prefill_mfu,
    usual_engine_group,
)
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
    precision_in,
    precision_key,
    precision_keys,
    precisions,
)

__all__ = [
    "DEVICE_CLASSES",
    "ENGINE_GROUPS",
    "ClassConstants",
    "ClassRange",
    "Device",
    "Model",
    "Precision",
    "class_constants",
    "class_range",
    "devices",
    "devices_named",
    "engine_group",
    "find_device",
    "find_model",
    "find_precision",
    "is_measured",
    "models",
    "models_named",
    "nearest_devices",
    "nearest_models",
    "nearest_precisions",
    "precision_bits",
    "precision_in",
    "precision_key",
    "precision_keys",
    "precisions",
    "prefill_mfu",
    "usual_engine_group",
]
