"""The report's tables: results, variants, inputs, assumptions with their cells, checks."""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING, Final

from planner.plan.basis import fits, has_estimate
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.plan.recommend import Standing
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import COLUMNS, CORE_COLUMNS, FIGURES, MONEY_COLUMNS
from planner.report.findings import IN_WORKBOOK, FlagLine
from planner.report.numbers import plain
from planner.report.parts import LONGEST_IN_TABLE, Cell, Group, Head, Row, Table, cut, say, say_input, without_empty
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

# A page holds about 30 rows and a row costs 8 ms, so what is longer than this stays in the workbook.
MOST_ROWS: Final = 300
# What is printed of more than that: nobody reads on, and each row takes its time to lay out.
MOST_OF_MANY: Final = 30
MOST_VARIANT_ROWS: Final = 40
_VARIANT_ROWS_OF_MANY: Final = 12
MOST_VALUES: Final = 12
VARIANTS_ACROSS: Final = 4
BATCHES_ACROSS: Final = 8

# Two lines or so beside twelve columns.
_LONGEST_BESIDE_VARIANTS: Final = 40
_RESULT_FIGURES: Final = (
    "tokens_per_sec",
    "ceiling_tokens_per_sec",
    "inter_token_latency_ms",
    "aggregate_tokens_per_sec",
    "time_to_first_token_s",
    "response_time_s",
    "requests_per_hour",
    "requests_at_occupancy_per_hour",
    "requests_per_device_per_hour",
)
INPUT_FIELDS: Final = tuple(name for name in COLUMNS if name not in {"name", "notes"})


def marks_of(result: Result, rate: float | None = None) -> str:
    """The class names of a rate below reading pace, the core's unless another is given, and of what does not fit."""
    rate = result.tokens_per_sec if rate is None else rate
    slow = rate is not None and rate < READING_PACE_TOKENS_PER_SEC
    return " ".join(name for name, on in (("slow", slow), ("nofit", fits(result) is False)) if on)


def not_ranked(study: Study) -> dict[int, str]:
    """The cases that qualify and yet are not ranked, by number, with what stands against them."""
    against = (Standing.ONE_DEVICE, Standing.CEILING, Standing.MIXTURE, Standing.BOUND)
    standings = zip(study.cases, study.recommendation.standings, strict=True)
    return {case.number: standing.value for case, standing in standings if standing in against}


def ranked(study: Study) -> list[Case]:
    """The cases best first: those that qualify by the recommendation's criterion, then the rest by their rate."""
    return list(study.ranked)


def printed(study: Study, most: int) -> Sequence[Case]:
    """The cases that a table prints: all in the workbook's order, or the best ones, best first."""
    return study.cases if len(study.cases) <= most else ranked(study)[: min(most, MOST_OF_MANY)]


def left_out(study: Study, most: int, what: str = "scenarios", sheet: str = "Results") -> str:
    """What a table does not print, and where it is; nothing where it prints all."""
    total = len(study.cases)
    if total <= most:
        return ""
    best = min(most, MOST_OF_MANY)
    return f"The {best} best of {plain(total)} {what}, best first; all stand on the {sheet} sheet of {IN_WORKBOOK}."


def results_table(study: Study, flags: Sequence[FlagLine]) -> Table:
    """Every scenario with its rates, times and requests, and its flags by code."""
    codes = {line.issue_code: line.code for line in flags}
    best = study.recommendation.best
    rows = []
    # Few scenarios say how busy their batch is, and without a prefill rate there are no times.
    names = [n for n in _RESULT_FIGURES if any(getattr(c.result, n) is not None for c in study.cases)]
    for case in printed(study, MOST_ROWS):
        result = case.result
        marks = {"tokens_per_sec": marks_of(result).partition(" ")[0] if marks_of(result).startswith("slow") else ""}
        own = [codes[issue.code] for issue in result.issues]
        cells = [name_cell(case), *(Cell(say(n, getattr(result, n)), marks=marks.get(n, "")) for n in names)]
        cells.append(Cell(" ".join(sorted(dict.fromkeys(own), key=list(codes.values()).index)), marks="flags"))
        rows.append(Row(tuple(cells), "best" if result is best else ""))
    heads = (Head("Scenario", text=4), *(figure_head(name) for name in names), Head("Flags", text=2))
    return without_empty(Table(heads, tuple(rows), note=left_out(study, MOST_ROWS)))


_SPREAD_HEADS: Final = (
    Head("All scenarios", text=4),
    Head("Unit", text=2),
    Head("With it"),
    Head("Lowest"),
    Head("Median"),
    Head("Highest"),
)


def spread_table(study: Study) -> Table:
    """The spread of each figure over all scenarios; nothing where the results table prints them all."""
    rows: list[Row] = []
    if len(study.cases) > MOST_ROWS:
        for name in _RESULT_FIGURES:
            values = [value for case in study.cases if (value := getattr(case.result, name)) is not None]
            if values:
                spread = (min(values), statistics.median(values), max(values))
                head = figure_head(name)
                texts = (head.label, head.unit, plain(len(values)), *(say(name, value) for value in spread))
                rows.append(Row(tuple(map(Cell, texts))))
    return Table(_SPREAD_HEADS, tuple(rows))


def figure_head(name: str) -> Head:
    """The head of a figure's column."""
    return Head(FIGURES[name].label, unit_of(name).symbol)


def name_cell(case: Case, most: int = LONGEST_IN_TABLE) -> Cell:
    """A case's name behind its label."""
    return Cell(cut(case.name, most), case.label)


def most_variant_rows(study: Study) -> int:
    """How many scenarios a table of variants prints: fewer of very many, where nobody reads on."""
    return MOST_VARIANT_ROWS if len(study.cases) <= MOST_ROWS else _VARIANT_ROWS_OF_MANY


def precision_tables(study: Study) -> tuple[Table, ...]:
    """Weights, per-stream rate and response time at each asked precision and at the scenario's own."""
    cases = printed(study, most_variant_rows(study))
    variants = {case.number: (*study.by_precision[case.number - 1], case.result) for case in cases}
    names = (*study.options.precisions, "own")
    wanted = [
        figure
        for figure in ("weights_gb", "tokens_per_sec", "response_time_s")
        if any(getattr(result, figure) is not None for results in variants.values() for result in results if result)
    ]
    return tuple(_variant_table(cases, variants, part, names, wanted) for part in _parts(len(names), VARIANTS_ACROSS))


def batch_tables(study: Study) -> tuple[Table, ...]:
    """Aggregate rate and requests per hour at each asked batch; the core's others are the same at every batch."""
    cases = printed(study, most_variant_rows(study))
    variants = {case.number: study.by_batch[case.number - 1] for case in cases}
    names = tuple(plain(size) for size in study.options.batches)
    return tuple(
        _variant_table(cases, variants, part, names, (figure,))
        for figure in ("aggregate_tokens_per_sec", "requests_per_hour")
        if any(getattr(result, figure) is not None for results in variants.values() for result in results if result)
        for part in _parts(len(names), BATCHES_ACROSS)
    )


def estimate_batch_tables(study: Study) -> tuple[Table, ...]:
    """The estimate per stream and in all at each asked batch, of the scenarios that have one."""
    cases = [case for case in printed(study, most_variant_rows(study)) if has_estimate(case.result)]
    if not cases:
        return ()
    variants = {case.number: study.by_batch[case.number - 1] for case in cases}
    names = tuple(plain(size) for size in study.options.batches)
    return tuple(
        _variant_table(cases, variants, part, names, (figure,))
        for figure in ("estimated_tokens_per_sec", "estimated_aggregate_tokens_per_sec")
        for part in _parts(len(names), BATCHES_ACROSS)
    )


def _parts(number: int, across: int) -> list[range]:
    """The columns in as few tables as needed, as equal as can be."""
    tables = -(-number // across)
    ends = [round(number * index / tables) for index in range(tables + 1)] if tables else [0]
    return [range(a, b) for a, b in itertools.pairwise(ends)]


def _variant_table(
    cases: Iterable[Case],
    variants: Mapping[int, Sequence[Result | None]],
    part: range,
    names: Sequence[str],
    figures: Sequence[str],
) -> Table:
    groups = [Group("", 1)]
    heads = [Head("Scenario", text=4)]
    most = LONGEST_IN_TABLE if len(figures) == 1 else _LONGEST_BESIDE_VARIANTS
    for figure in figures:
        head = figure_head(figure)
        groups.append(Group(f"{head.label} ({head.unit})", len(part)))
        heads += [Head(names[index]) for index in part]
    rows = []
    for case in cases:
        cells = [name_cell(case, most)]
        for figure in figures:
            cells += [_variant(figure, variants[case.number][index]) for index in part]
        rows.append(Row(tuple(cells)))
    return Table(tuple(heads), tuple(rows), tuple(groups))


def _variant(figure: str, result: Result | None) -> Cell:
    if result is None:
        return Cell("")
    wanted = {"tokens_per_sec": "slow", "weights_gb": "nofit"}.get(figure, "")
    marks = wanted if wanted and wanted in marks_of(result).split() else ""
    return Cell(say(figure, getattr(result, figure)), marks=marks)


def is_own(case: Case, name: str) -> bool:
    """Whether an input is the scenario's own: typed, or a default of the core."""
    value, source = getattr(case.result.scenario, name), case.result.sources.get(name, "")
    return value not in {None, ""} and (source in {TYPED, ""} or (source == DEFAULT and name in CORE_COLUMNS))


def inputs_table(study: Study) -> Table:
    """Every scenario with its inputs as understood; columns that no row types are left out, the register has those.

    The inputs of money have a register of their own.
    """
    cases = printed(study, MOST_ROWS)
    fields = [name for name in INPUT_FIELDS if name != "model" and name not in MONEY_COLUMNS]
    used = [name for name in fields if any(is_own(case, name) for case in cases)]
    rows = tuple(
        Row((name_cell(case), *(Cell(say_input(name, getattr(case.result.scenario, name))) for name in used)))
        for case in cases
    )
    heads = (Head("Scenario", text=4), *(Head(COLUMNS[name].label, unit_of(name).symbol) for name in used))
    return Table(heads, rows, note=left_out(study, MOST_ROWS))
