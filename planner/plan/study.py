"""A study: every scenario of a workbook with its result, and all that is derived from them together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar, overload

from planner.issues import Issue, PlannerError, Severity
from planner.plan.evaluate import evaluate_resolved
from planner.plan.recommend import Recommendation, recommend
from planner.plan.resolve import Resolution, resolve
from planner.plan.variants import (
    DEFAULT_BATCHES,
    DEFAULT_PRECISIONS,
    TABLE_LIMIT,
    SpeedTable,
    at_batch,
    at_precision,
    read_batches,
    read_precisions,
    speed_table,
)
from planner.plan.whatif import Fix, fixes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.plan.scenario import Result, Scenario

# Seven variants of each scenario: beyond this nobody reads them, and a large run would wait for them.
FIXES_LIMIT: Final = 200
# Of larger studies the other variants are worked out for as few.
LARGE: Final = 1000
# From so many scenarios on, columns are faster than one scenario after another.
_IN_COLUMNS_FROM: Final = 300


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a scenario stands: its sheet and row, the cell of each field, and which cells hold the plain value.

    ``links`` says how a formula makes the value of a cell that holds a number in another unit.
    """

    sheet: str = ""
    row: int = 0
    cells: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    plain: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def locate(self, issue: Issue) -> Issue:
        """The issue at its cell; at the row's name where the sheet has no column for the field."""
        cell = self.cells.get(issue.field) or self.cells.get("name") or (f"A{self.row}" if self.row else "")
        return Issue(
            severity=issue.severity,
            code=issue.code,
            problem=issue.problem,
            sheet=self.sheet,
            cell=cell,
            field=issue.field,
            row=self.row or None,
            accepted=issue.accepted,
            advice=issue.advice,
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A row that can be evaluated: its completed scenario and where it stands."""

    resolution: Resolution
    origin: Origin


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that could not be evaluated."""

    name: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Source:
    """The workbook that a study came from: its file name, the hash of its bytes, the sheet and columns read."""

    name: str = ""
    sha256: str = ""
    sheet: str = ""
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked of a study."""

    precisions: tuple[str, ...] = DEFAULT_PRECISIONS
    batches: tuple[int, ...] = DEFAULT_BATCHES
    table_limit: int = TABLE_LIMIT

    def __post_init__(self) -> None:
        """Names and sizes in their known spelling, whoever made the options; raises PlannerError for others."""
        object.__setattr__(self, "precisions", read_precisions(self.precisions))
        object.__setattr__(self, "batches", read_batches(self.batches))


@dataclass(frozen=True, slots=True)
class Case:
    """An evaluated scenario: its result, where it stands, and its number in the study."""

    number: int
    result: Result
    origin: Origin

    @property
    def label(self) -> str:
        """A short label by which sheets and report refer to the case."""
        return f"S{self.number:02d}"

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.result.scenario.name


Variants = TypeVar("Variants")


class _Asked(Sequence[Variants]):
    """Variants of each case, made when they are asked for and kept."""

    def __init__(self, cases: Sequence[Case], made: Callable[[Case], Variants]) -> None:
        self._cases, self._made = cases, made
        self._kept: dict[int, Variants] = {}

    def __len__(self) -> int:
        return len(self._cases)

    @overload
    def __getitem__(self, at: int) -> Variants: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Variants]: ...

    def __getitem__(self, at: int | slice) -> Variants | Sequence[Variants]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        number = range(len(self))[at]
        if number not in self._kept:
            self._kept[number] = self._made(self._cases[number])
        return self._kept[number]


@dataclass(frozen=True)
class Study:
    """Results, variants, speed table, recommendation and every issue, for sheets and report to present."""

    cases: tuple[Case, ...]
    skipped: tuple[Skipped, ...]
    issues: tuple[Issue, ...]
    source: Source = Source()
    options: Options = Options()

    @cached_property
    def table(self) -> SpeedTable:
        """The speed table of the study's weights and bandwidths."""
        return speed_table([case.result for case in self.cases], self.options.table_limit)

    @cached_property
    def recommendation(self) -> Recommendation:
        """The best scenario by its criterion."""
        return recommend([case.result for case in self.cases])

    @property
    def varied(self) -> int:
        """For how many of the first cases the sheets show variants: all but in a large study."""
        return len(self.cases) if len(self.cases) <= LARGE else FIXES_LIMIT

    @cached_property
    def by_precision(self) -> Sequence[tuple[Result | None, ...]]:
        """For each case, the scenario at each of the asked precisions; of a large study, worked out when asked for."""
        return self._varied(lambda case: tuple(at_precision(case.result, name) for name in self.options.precisions))

    @cached_property
    def by_batch(self) -> Sequence[tuple[Result, ...]]:
        """For each case, the scenario at each of the asked batch sizes; of a large study, worked out when asked for."""
        return self._varied(lambda case: tuple(at_batch(case.result, size) for size in self.options.batches))

    def _varied(self, made: Callable[[Case], Variants]) -> Sequence[Variants]:
        asked = _Asked(self.cases, made)
        return asked if len(self.cases) > LARGE else tuple(asked)

    @cached_property
    def fixes(self) -> tuple[tuple[Fix, ...], ...]:
        """For each of the first cases, up to a limit, the fixes that can be tried on it."""
        return tuple(fixes_of(case.result) for case in self.cases[:FIXES_LIMIT])

    @cached_property
    def _case_by_result(self) -> dict[int, Case]:
        return {id(case.result): case for case in self.cases}

    def case_of(self, result: Result) -> Case:
        """The case that holds a result."""
        return self._case_by_result[id(result)]

    def count(self, severity: Severity) -> int:
        """How many issues there are of a severity."""
        return sum(issue.severity is severity for issue in self.issues)


def make_study(
    entries: Iterable[Entry],
    *,
    skipped: Iterable[Skipped] = (),
    issues: Iterable[Issue] = (),
    source: Source | None = None,
    options: Options | None = None,
) -> Study:
    """Evaluate every entry and gather the issues of reading and evaluating, in the order of the rows."""
    listed, found = list(entries), list(issues)
    cases = tuple(
        Case(number, result, entry.origin)
        for number, (entry, result) in enumerate(zip(listed, _evaluated(listed), strict=True), 1)
    )
    found += [issue for case in cases for issue in case.result.issues]
    # What is wrong with the user's own devices and models explains what their scenarios lack, so it comes first.
    left_out = tuple(skipped)
    scenarios = {"", *(case.origin.sheet for case in cases), *(row.origin.sheet for row in left_out)}

    def place(issue: Issue) -> tuple[bool, str, int]:
        ours = issue.sheet in scenarios
        return ours, "" if ours else issue.sheet, issue.row or 0

    found.sort(key=place)
    return Study(cases, left_out, tuple(found), source or Source(), options or Options())


def _evaluated(entries: list[Entry]) -> list[Result]:
    """Each entry's result, its issues at their cells."""
    if len(entries) >= _IN_COLUMNS_FROM:
        # Loads numpy, which a small study can do without.
        from planner.plan.bulk import evaluate_each  # noqa: PLC0415

        resolutions = [entry.resolution for entry in entries]
        return evaluate_each(resolutions, lambda at, issue: entries[at].origin.locate(issue))
    found = []
    for entry in entries:
        result = evaluate_resolved(entry.resolution)
        found.append(dataclasses.replace(result, issues=tuple(map(entry.origin.locate, result.issues))))
    return found


def study_of(scenarios: Iterable[Scenario], options: Options | None = None) -> Study:
    """A study of scenarios made in Python, with no workbook behind them.

    Raises PlannerError, with every problem in its text, where one cannot be evaluated.
    """
    entries = []
    for number, scenario in enumerate(scenarios, 1):
        resolution = resolve(scenario)
        if not resolution.ok:
            said = "; ".join(str(issue).rstrip(".") for issue in resolution.issues)
            raise PlannerError(f"Scenario {number} ({scenario.name or 'unnamed'}): {said}.")
        entries.append(Entry(resolution, Origin()))
    return make_study(entries, options=options)
