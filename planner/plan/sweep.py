"""Sweeps as they are asked for: lists of devices, models, precisions, batches and contexts to the grid of them all."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.columns import BadValueError, Column, Ratio, Typed, read_value
from planner.currencies import settled
from planner.issues import PlannerError
from planner.plan.bulk_columns import TEXTS, Words
from planner.plan.fill import EMPTY_LIBRARY, Library
from planner.plan.resolve import TYPED
from planner.plan.scenario import COLUMNS
from planner.plan.sweep_axes import Axis, Grid, read_contexts, read_devices, read_models, read_numbers, read_words
from planner.plan.sweep_points import PRICES, TASKS, Sweep, evaluate_sweep, joined_columns
from planner.rules import CURRENCY, Money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from planner.columns import Understood
    from planner.plan.resolve import Resolution

LIMIT: Final = 2_000_000
_PRICE: Final = Money(above=0)


def sweep_of(  # noqa: PLR0917
    devices: str | Iterable[str] = (),
    models: str | Iterable[str] = (),
    precisions: str | Iterable[Any] = "native",
    batches: str | float | Iterable[Any] = (),
    contexts: str | Iterable[Any] = (),
    counts: str | float | Iterable[Any] = (),
    *,
    engines: str | Iterable[str] = (),
    kv_precisions: str | Iterable[Any] = (),
    fixed: Mapping[str, Any] | None = None,
    prices: Mapping[str, float | str] | None = None,
    listed: Mapping[str, float | str] | None = None,
    utilisation: float | str | None = None,
    currency: str = "",
    front: str = "task",
    only_fitting: bool = False,
    limit: int = LIMIT,
    base: Sequence[Resolution] = (),
    library: Library = EMPTY_LIBRARY,
) -> Sweep:
    """What to sweep, from lists as the command line takes them, or from values.

    Prices are by device, in one currency, and need a utilisation: the share of the paid hours that is busy; ``prices``
    win over those ``listed`` elsewhere.
    Raises PlannerError where a name is not known, a number is refused, prices come without utilisation or currency, or
    the combinations are more than the limit.
    """
    if front not in TASKS:
        raise PlannerError(f"Front is '{front}'; expected one of {', '.join(TASKS)}.")
    wrong: list[str] = []

    def read(reader: Callable[..., Any], *typed: Any) -> Any:
        # Everything is read, so that all that is wrong is said at once.
        try:
            return reader(*typed)
        except PlannerError as error:
            wrong.append(str(error))
            return None

    pairs = read(read_contexts, contexts) or []
    lists: dict[str, Mapping[str, list[Any]]] = {
        "models": {"model": read(read_models, models, library) or []},
        "contexts": {
            "prompt_tokens": [prompt for prompt, _ in pairs],
            "output_tokens": [output for _, output in pairs],
        },
        "devices": {"device": read(read_devices, devices, library) or []},
        "device counts": {"devices": read(read_numbers, "devices", counts) or []},
        "precisions": {"precision": read(read_words, "precision", precisions) or []},
        "KV precisions": {"kv_precision": read(read_words, "kv_precision", kv_precisions) or []},
        "engines": {"engine": read(read_words, "engine", engines) or []},
        "batches": {"batch": read(read_numbers, "batch", batches) or []},
    }
    axes = [Axis.of(name, fields) for name, fields in lists.items() if next(iter(fields.values()))]
    swept = {name for axis in axes for name in axis.fields}
    same = {name: read(_fixed, name, value, swept) for name, value in (fixed or {}).items()}
    own, shown = read(_prices, prices or {}, library) or ({}, set())
    known = (read(_prices, listed or {}, library) or ({}, set()))[0] | own
    share = None if utilisation is None else read(_read, "utilisation", Ratio(), utilisation)
    if base:
        axes.insert(0, _base_axis(base, swept | set(same) | ({"device_cost_h"} if known else set())))
    there = {name: column for axis in axes for name, column in axis.fields.items()} | same
    given, theirs = read(_currency, currency.strip(), shown), read(_currency_of, there.get("currency"))
    read(_refuse_another, given, theirs)
    code = given or theirs or ""
    read(_refuse_half_a_price, prices or listed, bool(PRICES & there.keys()), utilisation is not None, code)
    if wrong:
        raise PlannerError(" ".join(wrong))
    _refuse_lacking(axes, same, has_base=bool(base))
    grid = Grid(tuple(axes), same)
    if grid.size > limit:
        each = " x ".join(f"{len(axis):,} {axis.name}" for axis in axes if len(axis) > 1)
        raise PlannerError(
            f"The sweep has {grid.size:,} points ({each}), above the limit of {limit:,}; "
            "narrow a list, or raise the limit."
        )
    return Sweep(grid, library, known, share, code, front, only_fitting)


def sweep(*lists: Any, **options: Any) -> dict[str, Any]:
    """Every combination of the lists evaluated, as columns by name; arguments are those of :func:`sweep_of`.

    Numbers are NaN where an input is missing; ``fits`` and ``pareto`` are 1 or 0. The front is speed per stream against
    cost per million output tokens, or without prices against the aggregate that each device earns.
    Raises PlannerError as :func:`sweep_of` does.

    >>> found = sweep("H100 SXM", "llama-3.1-70b", "fp8", "1..4x2", "2000+500", "2,4")
    >>> found["devices"].tolist(), found["fits"].tolist()
    ([2.0, 2.0, 2.0, 4.0, 4.0, 4.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """
    swept = evaluate_sweep(sweep_of(*lists, **options))
    try:
        columns = joined_columns(list(swept.chunks()))
    finally:
        swept.close()
    return {name: column.texts() if isinstance(column, Words) else column for name, column in columns.items()}


def _fixed(name: str, value: Any, swept: set[str]) -> Any:
    """An input that is the same for all points, as its column understands it."""
    if name not in COLUMNS:
        near = difflib.get_close_matches(name.casefold().replace(" ", "_"), COLUMNS, 1)
        hint = f"did you mean {near[0]}?" if near else "expected a field of a scenario, such as usable_share."
        raise PlannerError(f"No input is called {name}; {hint}")
    if name in swept:
        raise PlannerError(f"{COLUMNS[name].label} is both swept and set for all points; give one.")
    return _read(name, COLUMNS[name].rule, value, COLUMNS[name])


def _prices(typed: Mapping[str, Any], library: Library) -> tuple[dict[str, float], set[str]]:
    """Prices by the device's name in the catalogue, and the currencies that their texts name.

    Raises PlannerError with every name that is no device and every price that is refused.
    """
    found: dict[str, float] = {}
    shown: set[str] = set()
    wrong: list[str] = []
    for name, value in typed.items():
        column = Column(f"Price of {name}", _PRICE)
        try:
            device = _device_of(name, library)
            price = _understood("device_cost_h", value, column)
        except PlannerError as error:
            wrong.append(str(error))
            continue
        if price.currencies and not settled(price.currencies):
            wrong.append(f"{column.label} is in {' or '.join(price.currencies)}; expected the currency's code.")
        elif price.currencies:
            shown.add(settled(price.currencies))
        if found.setdefault(device, price.value) != price.value:
            wrong.append(f"{device} has two prices, {found[device]:,.10g} and {price.value:,.10g}; give one.")
    if wrong:
        raise PlannerError(" ".join(wrong))
    return found, shown


def _currency(typed: str, shown: set[str]) -> str:
    """The currency of the prices: named, else that which stands beside them. Raises PlannerError for two."""
    code: str = _understood("currency", typed, Column("Currency", CURRENCY)).value if typed else ""
    named = sorted({code, *shown} - {""})
    if len(named) > 1:
        raise PlannerError(f"Prices are in {' and in '.join(named)}; a sweep needs one currency.")
    return named[0] if named else ""


def _refuse_half_a_price(prices: Any, held: bool, used: bool, currency: str) -> None:
    """Refuse prices without what makes a cost of them, and the other way round; ``held`` are those of scenarios."""
    if prices and not used:
        raise PlannerError(
            "Prices are given without utilisation, the share of the paid hours that is busy; a cost at full load all "
            "year is nobody's cost. Give one, such as 40%."
        )
    if prices and not currency:
        raise PlannerError("Prices are given without their currency; name it, such as USD.")
    if used and not prices and not held:
        raise PlannerError("Utilisation is given without a price; it says what share of a paid hour is busy.")


def _refuse_another(given: str | None, theirs: str | None) -> None:
    """Refuse a currency beside that of the scenarios' own prices: no amount is relabelled, and none converted here."""
    if given and theirs and given != theirs:
        raise PlannerError(f"Scenarios are priced in {theirs}, and {given} is asked for; a sweep converts nothing.")


def _currency_of(column: Any) -> str:
    """The one currency of the prices that scenarios have, empty where none is named."""
    named = [word for word in column.words if word] if isinstance(column, Words) else [column or ""]
    if len(named) > 1:
        raise PlannerError(f"Scenarios are priced in {' and in '.join(named)}; a sweep needs one currency.")
    return str(named[0]) if named else ""


def _read(name: str, rule: Any, value: Any, column: Column | None = None) -> Any:
    return _understood(name, value, column or Column(name.capitalize(), rule)).value


def _understood(name: str, value: Any, column: Column) -> Understood:
    try:
        return read_value(name, column, Typed(value))
    except BadValueError as bad:
        raise PlannerError(f"{bad.problem}; expected {bad.accepted}.") from bad


def _device_of(name: str, library: Library) -> str:
    """The device that a price is for."""
    found = read_devices([name], library)
    if len(found) != 1:
        raise PlannerError(f"A price for {name} is for {len(found)} devices; name one.")
    return found[0]


_MONEY: Final = (
    "device_cost_h", "instance_cost_h", "instance_devices", "device_capex_cost", "device_residual_cost",
    "useful_life_years", "currency", "exchange_rate", "exchange_day", "price_source", "price_day",
)  # fmt: skip
# What goes with a swept field: it says of one device or model what the other has of its own.
_GOES_WITH: Final = {
    "device": (
        "device_bandwidth_gb_s", "bandwidth_gb_s", "device_memory_gb", "device_class", "peak_tflop_s", "device_power_w",
        *_MONEY,
    ),
    "model": (
        "params_b", "active_params_b", "active_weights_gb", "streamed_params_b", "weights_gb", "experts",
        "active_experts", "expert_precision", "layers", "heads", "kv_heads", "head_dim", "kv_layers", "full_layers",
        "window_tokens", "kv_lora_rank", "rope_dim", "kv_bytes_per_token",
    ),
    "precision": ("weights_gb", "active_weights_gb", "expert_precision", "peak_tflop_s"),
    "devices": ("bandwidth_gb_s",),
    "device_cost_h": _MONEY,
}  # fmt: skip
_MEASURED_FIELDS: Final = ("measured_tokens_per_sec",)


def _base_axis(base: Sequence[Resolution], swept: set[str]) -> Axis:
    """Scenarios as typed, without what the sweep sets in their place."""
    without = swept | {name for one in swept for name in _GOES_WITH.get(one, ())} | set(_MEASURED_FIELDS)
    fields: dict[str, Iterable[Any]] = {}
    for name in COLUMNS:
        typed = [one.scenario if one.sources.get(name) == TYPED else None for one in base]
        values = [None if scenario is None else getattr(scenario, name) for scenario in typed]
        if name not in without and any(value is not None and value != "" for value in values):
            texts = name in TEXTS
            fields[name] = values if texts else [np.nan if value is None else value for value in values]
    return Axis.of("scenarios", fields)


def _refuse_lacking(axes: Sequence[Axis], same: Mapping[str, Any], *, has_base: bool) -> None:
    """Refuse a sweep that has nothing to sweep, or no device or model."""
    there = {name for axis in axes for name in axis.fields} | set(same)
    wanted = () if has_base else ("device", "model", "prompt_tokens", "batch")
    called = {"device": "devices", "model": "models", "prompt_tokens": "contexts", "batch": "batches"}
    lacking = [called[name] for name in wanted if name not in there]
    if lacking:
        raise PlannerError(f"Nothing is given for {', '.join(lacking)}; a sweep needs at least one entry of each.")
