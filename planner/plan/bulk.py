"""Many scenarios at once: the formulas and ways of one scenario, worked out over columns.

Each figure is made for all rows that can be made in a way together, the first way first, from the same formulas as
for a single scenario. A number that is missing is NaN in a column and None outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from planner import catalog
from planner.plan.bulk_columns import (
    NUMBERS,
    Numbers,
    columns_of,
    height_of,
    listed,
    numbers_of,
    objects_of,
    words_of,
)
from planner.plan.bulk_fill import Completed, complete_columns
from planner.plan.checks import check
from planner.plan.evaluate import BITS, TEXTS, WAYS
from planner.plan.fill import EMPTY_LIBRARY, Library
from planner.plan.modelled import TOLD_BY, not_modelled
from planner.plan.resolve import Resolution, resolve
from planner.plan.scenario import COLUMNS, FIGURES, Result
from planner.translate import to_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.plan.bulk_columns import Flags
    from planner.plan.scenario import Scenario
    from planner.plan.ways import Way

# Rows worked on together: as many as keep the columns at hand within the processor's cache.
_ROWS: Final = 8192
_CHOICES: Final = tuple(name for name in COLUMNS if name not in NUMBERS and name not in TEXTS | set(BITS.values()))


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """What many scenarios come to: the completed scenarios and their figures by name, a column each, and which are ok.

    Figures are NaN where an input is missing, and in the rows that are not ok.
    """

    completed: Completed
    figures: Mapping[str, Numbers]

    def __len__(self) -> int:
        """How many scenarios there are."""
        return len(self.ok)

    @property
    def ok(self) -> Flags:
        """Which rows could be evaluated."""
        return self.completed.ok

    def row(self, number: int) -> dict[str, float | None]:
        """The figures of one row; None where an input is missing."""
        return {
            name: None if np.isnan(column[number]) else float(column[number]) for name, column in self.figures.items()
        }


def evaluate_columns(typed: Mapping[str, Any], library: Library = EMPTY_LIBRARY) -> ResultColumns:
    """The figures of many scenarios, given as columns by field name: lists or arrays, a single value for all rows.

    NaN, None and empty texts are blanks, which are filled as in a single scenario. No checks are made, and a row that
    cannot be evaluated is not ``ok``; what is wrong with it, ``evaluate`` says.
    Raises PlannerError where columns differ in length or one is not a field of a scenario.

    >>> found = evaluate_columns({"params_b": 70, "precision": "FP16", "bandwidth_gb_s": [3350, 6700, None]})
    >>> found.figures["tokens_per_sec"].round(2).tolist(), found.ok.tolist()
    ([23.93, 47.86, nan], [True, True, False])
    """
    return _evaluated(complete_columns(typed, library))


def evaluate_many(scenarios: Sequence[Scenario | Resolution], library: Library = EMPTY_LIBRARY) -> ResultColumns:
    """The figures of many scenarios, as :func:`evaluate_columns` gives them; resolutions are taken as they are.

    >>> from planner.plan.scenario import Scenario
    >>> found = evaluate_many([Scenario(weights_gb=140, bandwidth_gb_s=each * 1000) for each in (1, 2)])
    >>> found.row(1)["inter_token_latency_ms"], found.row(1)["response_time_s"]
    (70.0, None)
    """
    if any(isinstance(each, Resolution) for each in scenarios):
        done = [each if isinstance(each, Resolution) else resolve(each, library=library) for each in scenarios]
        return _evaluated(Completed.of(done))
    return _evaluated(complete_columns(columns_of(cast("Sequence[Scenario]", scenarios)), library))


def evaluate_each(
    resolutions: Sequence[Resolution], completed: Completed | None = None
) -> tuple[list[Result], ResultColumns]:
    """What ``evaluate_resolved`` gives for each of many completed scenarios, checks and all; and their columns.

    ``completed`` are their columns where those are at hand.
    """
    completed = completed or Completed.of(resolutions)
    columns = ResultColumns(completed, compute_columns(completed.columns))
    # A figure that no row has is left at its default.
    known = {name: column for name, column in columns.figures.items() if not np.isnan(column).all()}
    figures: dict[str, Any] = {name: listed(column) for name, column in known.items()}
    told = zip(*(figures.get(name, [None] * len(resolutions)) for name in TOLD_BY), strict=True)
    missing = [
        not_modelled(each.scenario, dict(zip(TOLD_BY, values, strict=True)), each.sources)
        for each, values in zip(resolutions, told, strict=True)
    ]
    fields = figures | {
        "scenario": [each.scenario for each in resolutions],
        "sources": [each.sources for each in resolutions],
        "not_modelled": missing,
    }
    found = objects_of(Result, fields, len(resolutions))
    for resolution, result in zip(resolutions, found, strict=True):
        issues = resolution.issues + check(result)
        if issues:
            # Nobody else has the result yet, and a copy of its fields would take longer than its checks.
            object.__setattr__(result, "issues", issues)
    return found, columns


def columns_of_results(results: Sequence[Result]) -> ResultColumns:
    """The columns of results that were made one by one."""
    figures = {name: numbers_of(values, len(results)) for name, values in columns_of(results, FIGURES).items()}
    return ResultColumns(Completed.of([Resolution(r.scenario, r.sources, ()) for r in results]), figures)


def _evaluated(completed: Completed) -> ResultColumns:
    figures = compute_columns(completed.columns)
    for column in figures.values():
        column[~completed.ok] = np.nan
    return ResultColumns(completed, figures)


def compute_columns(columns: Mapping[str, Any]) -> dict[str, Numbers]:
    """The figures of many completed scenarios by name, NaN where an input is missing.

    Columns are by field name: numbers with NaN or None for what is missing, texts, or a single value for all rows.
    Raises PlannerError where they differ in length or one is not a field of a scenario.
    """
    height = height_of(columns)
    known: dict[str, Any] = {name: numbers_of(columns[name], height) for name in NUMBERS if name in columns}
    for name in _CHOICES:
        known[name] = words_of(columns.get(name), height).texts()
    for bits, name in BITS.items():
        known[bits] = words_of(columns.get(name), height).map(catalog.precision_bits)
    figures = {name: np.empty(height) for name in FIGURES}
    with np.errstate(all="ignore"):
        for start in range(0, height, _ROWS):
            rows = slice(start, min(start + _ROWS, height))
            for name, column in _Columns({name: column[rows] for name, column in known.items()}).figures().items():
                figures[name][rows] = column
    return figures


class _Columns:
    """The columns of some rows while figures are added to them.

    ``there`` says of each where it is known: True, False, or row by row.
    """

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known
        self.height = len(next(iter(known.values())))
        self.there = {name: _said(~np.isnan(column)) for name, column in known.items() if column.dtype.kind == "f"}

    def figures(self) -> dict[str, Any]:
        """Every figure, NaN where it is not known."""
        for name, ways in WAYS.items():
            self.make(name, ways)
        return {name: self.known[name] if self.there.get(name, False) is not False else np.nan for name in FIGURES}

    def make(self, name: str, ways: tuple[Way, ...]) -> None:
        """Make a figure where it is not given, in the first way that each row can be made in."""
        there = self.there.get(name, False)
        for way in ways:
            if there is True:
                return
            chosen = self.chosen(way, there)
            if chosen is False:
                continue
            formula = to_array(way.formula)
            if chosen is True:
                made = formula(*(self.taken(taken) for taken in way.taken))
                self.known[name] = np.broadcast_to(made, self.height)
                there = self.there[name] = True
                return
            rows = np.flatnonzero(chosen)
            column = np.full(self.height, np.nan) if there is False else np.array(self.known[name])
            column[rows] = formula(*(self.taken(taken, rows) for taken in way.taken))
            self.known[name] = column
            there = self.there[name] = _said(chosen if there is False else there | chosen)

    def chosen(self, way: Way, there: Any) -> Any:
        """Where a figure that is not there yet is made in this way: True, False, or row by row."""
        chosen: Any = True
        for taken in way.taken:
            if isinstance(taken, str):
                chosen = _both(chosen, self.there.get(taken, False))
                if chosen is False:
                    return False
        if there is not False:
            chosen = _both(chosen, ~there)
        return chosen if way.when is None or chosen is False else _both(chosen, _said(way.when(self.known)))

    def taken(self, taken: str | float, rows: Any = ...) -> Any:
        """What a parameter takes, in these rows."""
        return self.known[taken][rows] if isinstance(taken, str) else taken


def _said(flags: Any) -> Any:
    """Flags as True or False where they are all the same."""
    if isinstance(flags, bool):
        return flags
    return True if flags.all() else flags if flags.any() else False


def _both(left: Any, right: Any) -> Any:
    if left is True:
        return right
    if right is True or left is False:
        return left
    return False if right is False else _said(left & right)
