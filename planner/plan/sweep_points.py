"""The points of a sweep: every combination of what it runs over evaluated, and the Pareto front among them.

Points are evaluated some ten thousand at a time by :func:`planner.plan.bulk.evaluate_columns` and wait in a temporary
file, so that memory does not grow with the sweep; which of them are on the front is known only after the last.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from planner import catalog
from planner.issues import PlannerError
from planner.plan.bulk import evaluate_columns
from planner.plan.bulk_columns import Words, numbers_of, words_of
from planner.plan.fill import EMPTY_LIBRARY, Library
from planner.plan.pareto import pareto_front
from planner.plan.sweep_columns import (
    COST,
    FITS,
    GAIN,
    PARETO,
    REMARK,
    REMARKS,
    THROUGHPUT,
    column_names,
    fits_of,
    remarks_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.plan.bulk_columns import Codes, Flags, Numbers
    from planner.plan.sweep_axes import Grid

CHUNK: Final = 65_536
# What a point's task is: points that do other work are not held against each other.
TASKS: Final = {
    "task": ("name", "model", "params_b", "weights_gb", "prompt_tokens", "output_tokens"),
    "model": ("name", "model", "params_b", "weights_gb"),
    "all": (),
}
# The inputs that make a cost.
PRICES: Final = frozenset({"device_cost_h", "instance_cost_h", "device_capex_cost"})
_SEED: Final = 1
# What a chart shows of a task, and what is kept of all tasks together.
_SAMPLED: Final = 300
_MOST_SAMPLED: Final = 100_000


@dataclass(frozen=True)
class Sweep:
    """What is swept, and what a device-hour costs; without prices the front is of throughput instead of cost.

    ``busy_share`` is the share of the paid hours in which tokens come out, and ``front`` says what is held against
    each other: points of one task (model and context), of one model, or all.
    """

    grid: Grid
    library: Library = EMPTY_LIBRARY
    prices: Mapping[str, float] = field(default_factory=dict)
    busy_share: float | None = None
    currency: str = ""
    front: str = "task"
    only_fitting: bool = False

    @property
    def size(self) -> int:
        """How many points there are."""
        return self.grid.size

    @property
    def swept(self) -> frozenset[str]:
        """The fields that an axis sets, or that are the same for all points."""
        return frozenset(name for axis in self.grid.axes for name in axis.fields) | frozenset(self.grid.fixed)

    @property
    def priced(self) -> bool:
        """Whether anything has a price."""
        return bool(self.prices or PRICES & self.swept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return column_names(named="name" in self.swept, priced=self.priced, chosen=self.swept)

    @property
    def against(self) -> str:
        """What the front holds the rate of a stream against."""
        return COST if self.priced else THROUGHPUT

    def points(self, start: int, stop: int) -> dict[str, Any]:
        """The columns of some points: numbers as arrays with NaN where nothing is, texts as :class:`Words`."""
        typed, height = self.grid.columns(start, stop), stop - start
        if self.prices:
            typed["device_cost_h"] = words_of(typed.get("device"), height).map(self.price_of)
        if self.busy_share is not None:
            typed["busy_share"] = self.busy_share
        found = evaluate_columns(typed, self.library)
        given = {name: numbers_of(typed.get(name), height) for name in ("devices",)}
        # Where an input is a figure as well, such as a price that follows from an instance's, the figure holds.
        columns: dict[str, Any] = {**found.completed.columns, **found.figures}
        with np.errstate(all="ignore"):
            columns[THROUGHPUT] = columns["estimated_aggregate_tokens_per_sec"] / columns["devices"]
        columns[FITS] = fits_of(found, given)
        columns[REMARK] = Words(remarks_of(found), list(REMARKS))
        return {name: columns[name] for name in self.columns if name != PARETO}

    def price_of(self, device: str) -> float:
        """What an hour of a device costs, NaN where it has no price."""
        known = catalog.find_device(device)
        return self.prices.get(device, self.prices.get(known.name, np.nan) if known else np.nan)


@dataclass
class Swept:
    """The points of a sweep once all are evaluated, and which of them are on the front.

    ``tasks`` are the numbers of the tasks of the front's points, and ``tasks_there`` how many tasks there are.
    """

    sweep: Sweep
    front: Codes
    tasks: Codes
    tasks_there: int
    counts: dict[str, int]
    sample: Codes
    sample_tasks: Codes
    _file: IO[bytes]
    _ends: list[int]
    _places: list[int]
    _words: list[dict[str, list[str]]]

    @property
    def kept(self) -> int:
        """How many points are kept."""
        return self.counts["sensible"] if self.sweep.only_fitting else self.sweep.size

    def chunks(self, rows: int = CHUNK) -> Iterator[dict[str, Any]]:
        """The columns of all points that are kept, at most so many rows at a time, the front marked."""
        start = 0
        for number, stop in enumerate(self._ends):
            columns = self._chunk(number)
            here = self.front[np.searchsorted(self.front, start) : np.searchsorted(self.front, stop)]
            columns[PARETO] = np.zeros(stop - start)
            columns[PARETO][here - start] = 1.0
            start = stop
            if self.sweep.only_fitting:
                columns = _rows(columns, np.flatnonzero(_sensible(columns)))
            for first in range(0, len(columns[PARETO]), rows):
                yield _rows(columns, slice(first, first + rows))

    def pick(self, points: Codes) -> dict[str, Any]:
        """The columns of some points, by their numbers in rising order, as :meth:`chunks` gives them."""
        picked, start = [], 0
        for number, stop in enumerate(self._ends):
            here = points[np.searchsorted(points, start) : np.searchsorted(points, stop)]
            if len(here) or number == 0:
                picked.append(_rows(self._chunk(number), here - start))
            start = stop
        columns = joined_columns(picked)
        columns[PARETO] = np.isin(points, self.front).astype(np.float64)
        return columns

    def close(self) -> None:
        """Let go of the temporary file."""
        self._file.close()

    def _chunk(self, number: int) -> dict[str, Any]:
        self._file.seek(self._places[number])
        words = self._words[number]
        columns: dict[str, Any] = {}
        for name in self.sweep.columns:
            if name != PARETO:
                column = np.load(self._file, allow_pickle=False)
                columns[name] = Words(column, words[name]) if name in words else column
        return columns


def evaluate_sweep(sweep: Sweep, progress: Callable[[int], None] = lambda _: None, *, sampled: int = _SAMPLED) -> Swept:
    """Evaluate every point and find the front; ``progress`` is told how many points are done.

    Beside the front a thin random sample of all points is kept in mind, for charts: about so many of each task.
    Raises PlannerError where there is no room for the temporary file.
    """
    numbered, tasks_there = sweep.grid.groups(TASKS[sweep.front])
    dice = np.random.default_rng(_SEED)
    share = min(1.0, sampled * tasks_there / sweep.size, _MOST_SAMPLED / sweep.size)
    counts = dict.fromkeys(("points", "sensible", "misfits", *REMARKS[1:], "unpriced"), 0)
    best = _Candidates.empty()
    samples: list[tuple[Codes, Codes]] = []
    ends, places, words = [], [], []
    file = tempfile.TemporaryFile(prefix="planner-sweep")  # noqa: SIM115  it lives as long as what is returned
    try:
        for start in range(0, sweep.size, CHUNK):
            stop = min(start + CHUNK, sweep.size)
            columns = sweep.points(start, stop)
            sensible = _sensible(columns)
            _count(counts, columns, sensible)
            tasks, ratio = numbered(start, stop), columns[sweep.against]
            rows = np.flatnonzero(sensible)
            here = _Candidates(rows + start, tasks[rows], columns[GAIN][rows], ratio[rows])
            best = best.joined(here).front(cheap=sweep.priced)
            chance = rows[dice.random(len(rows)) < share]
            samples.append((chance + start, tasks[chance]))
            places.append(file.tell())
            words.append({name: column.words for name, column in columns.items() if isinstance(column, Words)})
            for column in columns.values():
                codes = column.codes.astype(np.int32) if isinstance(column, Words) else column
                np.save(file, codes, allow_pickle=False)
            file.flush()
            ends.append(stop)
            progress(stop)
    except OSError as error:
        # Closing tries once more to write what there is no room for.
        with contextlib.suppress(OSError):
            file.close()
        raise PlannerError(
            f"No room for the sweep's points in {tempfile.gettempdir()}: {error.strerror or error}."
        ) from error
    sample, of_tasks = (np.concatenate(part) for part in zip(*samples, strict=True))
    return Swept(sweep, best.points, best.tasks, tasks_there, counts, sample, of_tasks, file, ends, places, words)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Points that may be on the front: their numbers, tasks, rates, and what these are held against."""

    points: Codes
    tasks: Codes
    gains: Numbers
    against: Numbers

    @classmethod
    def empty(cls) -> _Candidates:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))

    def joined(self, other: _Candidates) -> _Candidates:
        return _Candidates(
            np.concatenate((self.points, other.points)),
            np.concatenate((self.tasks, other.tasks)),
            np.concatenate((self.gains, other.gains)),
            np.concatenate((self.against, other.against)),
        )

    def front(self, *, cheap: bool) -> _Candidates:
        on = pareto_front(self.gains, self.against if cheap else -self.against, self.tasks)
        return _Candidates(self.points[on], self.tasks[on], self.gains[on], self.against[on])


def _sensible(columns: Mapping[str, Any]) -> Flags:
    """Which points may be deployed: nothing stands against them, and memory holds them where it is known."""
    sensible: Flags = (columns[REMARK].codes == 0) & ~(columns[FITS] == 0)
    return sensible


def _count(counts: dict[str, int], columns: Mapping[str, Any], sensible: Flags) -> None:
    counts["points"] += len(sensible)
    counts["sensible"] += int(sensible.sum())
    counts["misfits"] += int(((columns[REMARK].codes == 0) & (columns[FITS] == 0)).sum())
    for remark, number in zip(REMARKS, np.bincount(columns[REMARK].codes, minlength=len(REMARKS)), strict=True):
        if remark:
            counts[remark] += int(number)
    if COST in columns:
        counts["unpriced"] += int((sensible & np.isnan(columns[COST])).sum())


def _rows(columns: Mapping[str, Any], rows: Codes | slice) -> dict[str, Any]:
    return {
        name: Words(column.codes[rows], column.words) if isinstance(column, Words) else column[rows]
        for name, column in columns.items()
    }


def joined_columns(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of several parts, one below the other."""
    joined: dict[str, Any] = {}
    for name, first in parts[0].items():
        if isinstance(first, Words):
            joined[name] = Words.of([part[name].words[code] for part in parts for code in part[name].codes.tolist()])
        else:
            joined[name] = np.concatenate([part[name] for part in parts])
    return joined
