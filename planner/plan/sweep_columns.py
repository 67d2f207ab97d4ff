"""The columns of a sweep: the inputs and figures of scenarios, and what a sweep adds to them."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np

from planner import catalog
from planner.columns import Column, Text, columns_of, header
from planner.plan.core_inputs import POSITIVE
from planner.plan.scenario import COLUMNS, FIGURES
from planner.units import SLACK, unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.plan.bulk import ResultColumns
    from planner.plan.bulk_columns import Codes, Numbers, Words

PARETO: Final = "pareto"
FITS: Final = "fits"
REMARK: Final = "remark"
# Inputs that are whole numbers.
WHOLE: Final = frozenset({"prompt_tokens", "output_tokens", "devices", "batch"})
# Columns that hold yes or no; where it is not known, nothing.
FLAGS: Final = frozenset({PARETO, FITS})


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFigures:
    """What a sweep adds to a scenario's inputs and figures."""

    device_tokens_per_sec: Annotated[
        float | None,
        Column("Aggregate per device", POSITIVE, "Estimated rate of all streams together / devices.", decimals=1),
    ] = None
    fits: Annotated[
        bool | None,
        Column("Fits", Text(), "Whether the devices' usable memory holds weights, KV cache and overhead."),
    ] = None
    remark: Annotated[str, Column("Remark", Text(), "Why a point is no deployment; such points are on no front.")] = ""
    pareto: Annotated[
        bool, Column("On the front", Text(), "Whether no other point of its task is better in one and as good in both.")
    ] = False


_ADDED: Final = columns_of(SweepFigures)
_INPUTS: Final = (
    "name", "model", "prompt_tokens", "output_tokens", "device", "devices", "precision", "kv_precision", "engine",
    "split", "batch",
)  # fmt: skip
_FIGURES: Final = (
    "tokens_per_sec", "low_tokens_per_sec", "estimated_tokens_per_sec", "high_tokens_per_sec",
    "estimated_aggregate_tokens_per_sec", "prefill_s", "estimated_response_time_s", "estimated_requests_per_hour",
    "memory_needed_gb", "usable_memory_gb",
)  # fmt: skip
_MONEY: Final = ("device_cost_h", "cost_per_m_tokens")
ALL_COLUMNS: Final[Mapping[str, Column]] = MappingProxyType(
    {name: COLUMNS[name] for name in _INPUTS} | {name: FIGURES[name] for name in (*_FIGURES, *_MONEY)} | dict(_ADDED)
)
# Names of a sweep's own that a scenario has not; the rate of one stream is the estimate, so that it is plain beside it.
GAIN: Final = "estimated_tokens_per_sec"
THROUGHPUT: Final = "device_tokens_per_sec"
COST: Final = "cost_per_m_tokens"


def column_names(*, named: bool, priced: bool, chosen: frozenset[str]) -> tuple[str, ...]:
    """The columns that a sweep shows: inputs that nothing sets, and money without prices, are left out."""
    optional = {"kv_precision", "engine", "split"} - chosen
    inputs = [name for name in _INPUTS if name not in optional and (named or name != "name")]
    return (*inputs, *_FIGURES, THROUGHPUT, FITS, *(_MONEY if priced else ()), REMARK, PARETO)


def sweep_header(name: str, currency: str = "") -> str:
    """The header of a sweep's column with its unit, a currency in place of money where one is named.

    >>> sweep_header("cost_per_m_tokens", "USD"), sweep_header("batch")
    ('Cost per M output (USD/M tokens)', 'Batch')
    """
    symbol = unit_of(name).symbol
    if currency and symbol.startswith("money"):
        return f"{ALL_COLUMNS[name].label} ({symbol.replace('money', currency, 1)})"
    return header(name, ALL_COLUMNS[name])


def fits_of(found: ResultColumns, typed: Mapping[str, Numbers]) -> Numbers:
    """Whether each point fits: 1, 0, or NaN where memory or the number of devices is not known."""
    columns, figures = found.completed.columns, found.figures
    needed, usable = figures["memory_needed_gb"], figures["usable_memory_gb"]
    needed = np.where(np.isnan(needed), figures["weights_gb"], needed)
    # An aggregate bandwidth beside a blank count says nothing of how many devices there are.
    counted = np.isnan(columns["bandwidth_gb_s"]) | ~np.isnan(typed["devices"])
    known = counted & ~np.isnan(needed) & ~np.isnan(usable)
    return np.where(known, needed <= usable * (1 + SLACK), np.nan)


REMARKS: Final = (
    "",
    "cannot be evaluated",
    "more devices than attention heads",
    "attention heads do not divide over the devices",
    "more devices than layers",
    "context beyond the model's longest",
    "no estimate with a range",
)


def remarks_of(found: ResultColumns) -> Codes:
    """The number of each point's remark; of several the first counts."""
    columns, figures = found.completed.columns, found.figures
    devices, heads, layers = columns["devices"], columns["heads"], columns["layers"]
    split: Words = columns["split"]
    by_layers = split.texts() == "layers"
    longest = columns["model"].map(_longest_context)
    estimated = np.ones(len(found), bool)
    for name in (GAIN, "low_tokens_per_sec", "high_tokens_per_sec", "kv_read_gb"):
        estimated &= ~np.isnan(figures[name])
    # Comparisons with NaN are false: what is not known forbids nothing.
    conditions = (
        ~found.ok,
        ~by_layers & (devices > heads),
        ~by_layers & (heads % devices > 0),
        by_layers & (devices > layers),
        figures["final_context_tokens"] > longest,
        ~estimated,
    )
    return np.select(conditions, range(1, len(REMARKS)), 0)


def _longest_context(name: str) -> float:
    model = catalog.find_model(name)
    return np.nan if model is None or model.max_context_tokens is None else float(model.max_context_tokens)
