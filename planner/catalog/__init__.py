"""What planner knows by name, each entry with its source: number formats of weights."""

from __future__ import annotations

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
    "Precision",
    "find_precision",
    "nearest_precisions",
    "precision_bits",
    "precision_key",
    "precision_keys",
    "precisions",
]
