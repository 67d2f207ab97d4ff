"""A study: every scenario of a workbook with its result, and all that is derived from them together."""

from __future__ import annotations

import dataclasses
import datetime as dt
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from planner.issues import Issue, PlannerError, Severity
from planner.plan.demand_plan import DemandPlan, demand_plan
from planner.plan.evaluate import evaluate_resolved
from planner.plan.purse import Purse, is_priced, purse_issues, purse_of
from planner.plan.recommend import Recommendation, Standing, recommend
from planner.plan.resolve import Resolution, resolve
from planner.plan.sensitivity import Outlook, Swing, outlook_of, swings_of
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
from planner.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from planner.plan.bulk import ResultColumns
    from planner.plan.bulk_fill import Completed
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

    def cell_of(self, name: str) -> str:
        """The cell of a field; that of the row's name where the sheet has no column for the field."""
        return self.cells.get(name) or self.cells.get("name") or (f"A{self.row}" if self.row else "")

    def locate(self, issue: Issue) -> Issue:
        """The issue at its cell."""
        return dataclasses.replace(issue, sheet=self.sheet, cell=self.cell_of(issue.field), row=self.row or None)


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
    # The day from which plans of demand count; None: that of the run.
    today: dt.date | None = None

    def __post_init__(self) -> None:
        """Names and sizes in their known spelling, whoever made the options; raises PlannerError for others."""
        object.__setattr__(self, "precisions", read_precisions(self.precisions))
        object.__setattr__(self, "batches", read_batches(self.batches))

    @property
    def day(self) -> dt.date:
        """The day from which plans of demand count."""
        return self.today or dt.datetime.now(dt.UTC).date()


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


_T = TypeVar("_T")


class Variants(Generic[_T]):
    """The variants of each case in order, evaluated when first asked for: a report prints those of few among many."""

    def __init__(self, cases: Sequence[Case], variants_of: Callable[[Result], _T]) -> None:
        self._cases, self._variants_of = cases, variants_of
        self._known: dict[int, _T] = {}

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, index: int) -> _T:
        if index not in self._known:
            self._known[index] = self._variants_of(self._cases[index].result)
        return self._known[index]

    @property
    def evaluated(self) -> Mapping[int, _T]:
        """Those that were asked for, by the place of their case."""
        return MappingProxyType(self._known)

    def __iter__(self) -> Iterator[_T]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True)
class Study:
    """Results, variants, speed table, recommendation and every issue, for sheets and report to present."""

    cases: tuple[Case, ...]
    skipped: tuple[Skipped, ...]
    issues: tuple[Issue, ...]
    source: Source = Source()
    options: Options = Options()
    # How the report is made: for whom, in which currency and locale.
    settings: Settings = field(default_factory=Settings)
    # The inputs and figures of just these cases as columns, where many were evaluated together.
    columns: ResultColumns | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Drop columns of other cases, which a copy with cases of its own would keep."""
        if self.columns is not None and len(self.columns) != len(self.cases):
            object.__setattr__(self, "columns", None)

    def first(self, count: int) -> Study:
        """The study of its first cases alone."""
        return dataclasses.replace(self, cases=self.cases[:count])

    @cached_property
    def table(self) -> SpeedTable:
        """The speed table of the study's weights and bandwidths."""
        return speed_table([case.result for case in self.cases], self.options.table_limit)

    @cached_property
    def recommendation(self) -> Recommendation:
        """The best scenario by its criterion."""
        return recommend([case.result for case in self.cases], self.purse)

    @cached_property
    def ranked(self) -> tuple[Case, ...]:
        """The cases best first: those that qualify by the recommendation's criterion, then the rest by their rate."""
        recommendation = self.recommendation

        def key(case: Case) -> tuple[bool, float, float, int]:
            able = recommendation.standings[case.number - 1] is Standing.RANKED
            value = recommendation.value(case.result) or 0.0
            merit = value if recommendation.by_cost else -value
            return (not able, merit if able else 0.0, -recommendation.rate(case.result), case.number)

        return tuple(sorted(self.cases, key=key))

    @cached_property
    def purse(self) -> Purse:
        """The currency in which costs are compared."""
        return purse_of((case.result.scenario for case in self.cases), self.settings.currency)

    @cached_property
    def currencies(self) -> tuple[str, ...]:
        """The currencies of the rows that have prices, in their order; empty text for one that names none."""
        scenarios = (case.result.scenario for case in self.cases)
        return tuple(dict.fromkeys(self.purse.own(scenario) for scenario in scenarios if is_priced(scenario)))

    @property
    def is_priced(self) -> bool:
        """Whether any row has a price."""
        return bool(self.currencies)

    @cached_property
    def demand(self) -> tuple[DemandPlan | None, ...]:
        """For each of the first cases, up to a limit, twelve months of its demand; None where it names none."""
        return tuple(demand_plan(case.result, self.options.day) for case in self.cases[:FIXES_LIMIT])

    @cached_property
    def swings(self) -> tuple[tuple[Swing, ...], ...]:
        """For each of the first cases, up to a limit, what moves its cost; empty where it has none."""
        return tuple(swings_of(case.result) for case in self.cases[:FIXES_LIMIT])

    @cached_property
    def outlooks(self) -> tuple[Outlook | None, ...]:
        """For each of the first cases, up to a limit, best, base and worst cost; None where it has none."""
        return tuple(outlook_of(case.result) for case in self.cases[:FIXES_LIMIT])

    @cached_property
    def by_precision(self) -> Variants[tuple[Result | None, ...]]:
        """For each case, the scenario at each of the asked precisions; evaluated when asked for."""
        names = self.options.precisions
        return Variants(self.cases, lambda result: tuple(at_precision(result, name) for name in names))

    @cached_property
    def by_batch(self) -> Variants[tuple[Result, ...]]:
        """For each case, the scenario at each of the asked batch sizes; evaluated when asked for."""
        sizes = self.options.batches
        return Variants(self.cases, lambda result: tuple(at_batch(result, size) for size in sizes))

    @property
    def varied(self) -> int:
        """For how many of the first cases the sheets show variants: all but in a large study."""
        return len(self.cases) if len(self.cases) <= LARGE else FIXES_LIMIT

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
    settings: Settings | None = None,
    completed: Completed | None = None,
) -> Study:
    """Evaluate every entry and gather the issues of reading and evaluating, in the order of the rows.

    ``completed`` are the entries' scenarios as columns, where whoever read them has these.
    """
    listed, found = list(entries), list(issues)
    options, settings = options or Options(), settings or Settings()
    results, columns = _evaluated(listed, completed)
    cases = [
        Case(number, result, entry.origin)
        for number, (entry, result) in enumerate(zip(listed, results, strict=True), 1)
    ]
    cases = _with_currency(cases, settings.currency, options.day)
    found += [issue for case in cases for issue in case.result.issues]
    # What is wrong with the user's own devices and models explains what their scenarios lack, so it comes first.
    left_out = tuple(skipped)
    scenarios = {"", *(case.origin.sheet for case in cases), *(row.origin.sheet for row in left_out)}

    def place(issue: Issue) -> tuple[bool, str, int]:
        ours = issue.sheet in scenarios
        return ours, "" if ours else issue.sheet, issue.row or 0

    found.sort(key=place)
    return Study(tuple(cases), left_out, tuple(found), source or Source(), options, settings, columns)


def _evaluated(entries: list[Entry], completed: Completed | None) -> tuple[list[Result], ResultColumns | None]:
    """Each entry's result, its issues at their cells; of many entries the columns of their figures besides."""
    if len(entries) >= _IN_COLUMNS_FROM:
        # Loads numpy, which a small study can do without.
        from planner.plan.bulk import evaluate_each  # noqa: PLC0415

        resolutions = [entry.resolution for entry in entries]
        results, columns = evaluate_each(resolutions, completed)
        _locate(results, [entry.origin for entry in entries])
        return results, columns
    found = []
    for entry in entries:
        result = evaluate_resolved(entry.resolution)
        found.append(dataclasses.replace(result, issues=tuple(map(entry.origin.locate, result.issues))))
    return found, None


# What an issue says, wherever it stands.
_SAID: Final = tuple(each.name for each in dataclasses.fields(Issue) if each.name not in {"sheet", "cell", "row"})


def _locate(results: list[Result], origins: list[Origin]) -> None:
    """Put the issues of many results, which nobody else has yet, at their cells, as ``Origin.locate`` puts one."""
    from planner.plan.bulk_columns import objects_of  # noqa: PLC0415

    said = [(issue, origin) for result, origin in zip(results, origins, strict=True) for issue in result.issues]
    fields: dict[str, list[object]] = {name: [getattr(issue, name) for issue, _ in said] for name in _SAID}
    fields["sheet"] = [origin.sheet for _, origin in said]
    fields["cell"] = [origin.cell_of(issue.field) for issue, origin in said]
    fields["row"] = [origin.row or None for _, origin in said]
    placed = iter(objects_of(Issue, fields, len(said)))
    for result in results:
        if result.issues:
            object.__setattr__(result, "issues", tuple(islice(placed, len(result.issues))))


def _with_currency(cases: list[Case], wanted: str, today: dt.date) -> list[Case]:
    """The cases with what stands against comparing their amounts, which shows only beside the others."""
    results = [case.result for case in cases]
    found: dict[int, list[Issue]] = {}
    for at, issue in purse_issues(purse_of((result.scenario for result in results), wanted), results, today):
        found.setdefault(at, []).append(cases[at].origin.locate(issue))
    return [
        dataclasses.replace(case, result=dataclasses.replace(case.result, issues=(*case.result.issues, *found[at])))
        if at in found
        else case
        for at, case in enumerate(cases)
    ]


def study_of(scenarios: Iterable[Scenario], options: Options | None = None, settings: Settings | None = None) -> Study:
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
    return make_study(entries, options=options, settings=settings)
