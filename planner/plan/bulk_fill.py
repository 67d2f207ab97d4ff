"""Completes many scenarios at once, as :func:`planner.plan.resolve.resolve` completes one.

Rows that give the same fields, name the same device, model and the like, and stand on the same side of one device and
of one stream, are completed alike: once for all of them, by the filling that a single scenario goes through, with
columns in place of the numbers that it works with.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.currencies import magnitude
from planner.issues import Severity
from planner.plan.bulk_columns import (
    TEXTS,
    Codes,
    Column,
    Flags,
    Words,
    columns_of,
    combined,
    height_of,
    listed,
    numbers_of,
    objects_of,
    read_column,
    taken_from,
    words_of,
)
from planner.plan.fill import EMPTY_LIBRARY, Filling, Library
from planner.plan.prices import BOUNDS
from planner.plan.prices import SAME_WITHIN as PRICES_WITHIN
from planner.plan.resolve import BLANKS, DEFAULT, RELATIONS, SAME_WITHIN, TYPED, Resolution, resolve
from planner.plan.scenario import COLUMNS, Scenario
from planner.translate import to_array
from planner.units import SLACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# The texts and the numbers that decide what is filled, beside which fields are blank.
_TELLING: Final = (
    "device", "model", "engine", "precision", "expert_precision", "kv_precision", "device_class", "split",
)  # fmt: skip
_COUNTED: Final = ("devices", "batch")
# Of these numbers filling makes others.
_WORKED: Final = (
    "params_b", "active_params_b", "weights_gb", "experts", "active_experts", "layers", "kv_layers", "efficiency",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Completed:
    """Completed scenarios: their columns by field, and which rows can be evaluated.

    A row that cannot be has no figures; what is wrong with it, in words, is what ``resolve`` says of it.
    """

    columns: Mapping[str, Any]
    ok: Flags
    # Rows of which there is something to say all the same, such as a device that nobody knows.
    noted: Flags
    # Where the fields of each row came from: which of the records.
    group: Codes
    records: list[Mapping[str, str]]

    @classmethod
    def of(cls, resolutions: Sequence[Resolution]) -> Completed:
        """The columns of scenarios that were completed one by one."""
        height = len(resolutions)
        ok = np.array([resolution.ok for resolution in resolutions], bool)
        noted = np.array([bool(resolution.issues) for resolution in resolutions], bool)
        columns = _columns_of([resolution.scenario for resolution in resolutions])
        return cls(columns, ok, noted, np.arange(height), [resolution.sources for resolution in resolutions])

    def is_bare(self, name: str) -> bool:
        """Whether no row has anything in a column of numbers."""
        column = self.columns[name]
        return not isinstance(column, Words) and bool(np.isnan(column).all())

    def taking(self, rows: Codes) -> Completed:
        """Some rows of them."""
        columns = {name: taken_from(column, rows) for name, column in self.columns.items()}
        return Completed(columns, self.ok[rows], self.noted[rows], self.group[rows], self.records)

    def sources_of(self, row: int) -> Mapping[str, str]:
        """Where each field of a row came from; empty for a row that holds a value that was refused."""
        return self.records[int(self.group[row])]


def _columns_of(scenarios: Sequence[Scenario]) -> dict[str, Column]:
    """The columns of completed scenarios."""
    height = len(scenarios)
    return {
        name: words_of(values, height) if name in TEXTS else numbers_of(values, height)
        for name, values in columns_of(scenarios).items()
    }


def resolve_each(
    typed: Mapping[str, Sequence[Any]], height: int, library: Library = EMPTY_LIBRARY
) -> tuple[list[Resolution], Completed]:
    """What ``resolve`` gives for each of many scenarios, given as columns of what was typed; and their columns.

    Those of which there is something to say are completed one by one.

    >>> found, columns = resolve_each({"weights_gb": [140, None], "bandwidth_gb_s": [3350, None]}, 2)
    >>> [each.ok for each in found], columns.columns["devices"].tolist()
    ([True, False], [1.0, 1.0])
    """
    completed = complete_columns(typed, library)
    columns = {name: listed(completed.columns[name], blank) for name, _, blank in BLANKS if not completed.is_bare(name)}
    scenarios = objects_of(Scenario, columns, height)
    # Rows that are filled alike share one record of where their fields came from.
    shared = [MappingProxyType(sources) for sources in completed.records]
    fields = {"scenario": scenarios, "sources": [shared[group] for group in completed.group.tolist()]}
    found = objects_of(Resolution, fields | {"issues": [()] * height}, height)
    for at in np.flatnonzero(~completed.ok | completed.noted).tolist():
        row = Scenario(**{name: column[at] for name, column in typed.items()})
        found[at] = resolve(row, library=library)
    return found, completed


class _ColumnFilling(Filling):
    """Filling whose numbers may be columns."""

    def work(self, formula: Callable[..., float], *arguments: Any) -> Any:
        return to_array(formula)(*arguments)


def complete_columns(typed: Mapping[str, Any], library: Library = EMPTY_LIBRARY) -> Completed:
    """Complete columns of scenarios as typed; a single value stands for all rows, NaN and None for a blank.

    Raises PlannerError where columns differ in length or one is not a field of a scenario.

    >>> done = complete_columns({"device": "H100 SXM", "model": "Llama-3.1-70B", "batch": [1, 8]})
    >>> done.columns["device_bandwidth_gb_s"].tolist(), done.ok.tolist()
    ([3350.0, 3350.0], [True, True])
    """
    height = height_of(typed)
    read = {name: read_column(name, typed.get(name), height) for name in COLUMNS}
    given = {name: column.given for name, column in read.items()}
    refused = np.logical_or.reduce([column.refused for column in read.values()])
    columns: dict[str, Column] = {name: column.values for name, column in read.items()}
    for name, column, _ in BLANKS:
        _default(columns[name], ~given[name], column.default)
    ok, noted = ~refused, np.zeros(height, bool)
    # Group 0 are the rows that hold a refused value: nothing is filled there.
    group = np.zeros(height, np.int64)
    sources: list[Mapping[str, str]] = [{}]
    for rows in _alike(columns, given, np.flatnonzero(ok)):
        filling = _filling_of(columns, given, rows, library)
        there = frozenset(filling.sources)
        filling.from_names()
        filling.from_class()
        group[rows] = len(sources)
        sources.append(filling.sources)
        for name in filling.sources.keys() - there:
            _write(columns[name], rows, filling.values[name])
        noted[rows] = bool(filling.issues)
        if any(issue.severity is Severity.ERROR for issue in filling.issues):
            ok[rows] = False
    good = ok & _sufficient(columns) & _related(columns, given) & _priced(columns)
    return Completed(columns, good, noted, group, sources)


def _default(column: Column, blank: Flags, default: Any) -> None:
    if default is not None:
        _write(column, np.flatnonzero(blank), default)


def _write(column: Column, rows: Codes, value: Any) -> None:
    if isinstance(column, Words):
        column.put(rows, value)
    else:
        column[rows] = value


def _alike(columns: Mapping[str, Any], given: Mapping[str, Flags], rows: Codes) -> Iterator[Codes]:
    """The rows in groups that are filled alike."""
    parts: list[tuple[Any, int]] = [(columns[name].codes[rows], len(columns[name].words)) for name in _TELLING]
    parts += [(columns[name][rows] > 1, 2) for name in _COUNTED]
    parts += [(flags[rows], 2) for flags in given.values()]
    code = combined(parts, len(rows))
    order = np.argsort(code, kind="stable")
    ends = np.flatnonzero(np.diff(code[order])) + 1
    return (rows[part] for part in np.split(order, ends) if len(part))


def _filling_of(columns: Mapping[str, Any], given: Mapping[str, Flags], rows: Codes, library: Library) -> Filling:
    """What fills rows that are filled alike: their first row, and the columns of what filling works with."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    first = rows[0]
    for name, column, blank in BLANKS:
        values[name] = blank
        if given[name][first]:
            sources[name] = TYPED
        elif column.default is not None:
            sources[name] = DEFAULT
            continue
        else:
            continue
        held = columns[name]
        if isinstance(held, Words):
            values[name] = held.words[held.codes[first]]
        else:
            values[name] = held[rows] if name in _WORKED and len(rows) > 1 else float(held[first])
    return (_ColumnFilling if len(rows) > 1 else Filling)(values, sources, library)


def _sufficient(columns: Mapping[str, Any]) -> Flags:
    """Which rows have a size and a bandwidth that do not contradict each other."""
    each, devices, total = columns["device_bandwidth_gb_s"], columns["devices"], columns["bandwidth_gb_s"]
    sized = ~np.isnan(columns["weights_gb"]) | (~np.isnan(columns["params_b"]) & (columns["precision"].codes > 0))
    # Comparisons with NaN are false: what is not there contradicts nothing.
    contradicts = np.abs(each * devices - total) > SAME_WITHIN * total
    good: Flags = sized & ~(np.isnan(each) & np.isnan(total)) & ~contradicts
    return good


def _related(columns: Mapping[str, Any], given: Mapping[str, Flags]) -> Flags:
    """Which rows have no typed part that is more than its whole, and no typed whole that is less than its part."""
    good = np.ones(len(columns["batch"]), bool)
    for lesser, greater in RELATIONS:
        good &= ~((given[lesser] | given[greater]) & (columns[lesser] > columns[greater] * (1 + SLACK)))
    return good


def _priced(columns: Mapping[str, Any]) -> Flags:
    """Which rows have prices that are plausible and do not contradict each other, as ``price_issues`` says."""
    scale = columns["currency"].map(magnitude)
    scale[np.isnan(scale)] = 1.0
    good = np.ones(len(scale), bool)
    for name, bounds in BOUNDS.items():
        price = columns[name]
        # Comparisons with NaN are false: what is not there is not implausible.
        good &= ~((price != 0) & ((price < bounds.low * scale) | (price > bounds.high * scale)))
    whole, each, count = columns["instance_cost_h"], columns["device_cost_h"], columns["instance_devices"]
    capex, residual = columns["device_capex_cost"], columns["device_residual_cost"]
    good &= ~(~np.isnan(whole) & np.isnan(count) & np.isnan(each))
    good &= ~(np.abs(each * count - whole) > PRICES_WITHIN * whole)
    good &= ~((~np.isnan(whole) | ~np.isnan(each)) & ~np.isnan(capex)) & ~(capex <= residual)
    written = columns["cache_write_tokens"]
    good &= ~((written > 0) & (columns["cached_tokens"] + written > columns["prompt_tokens"]))
    return good
