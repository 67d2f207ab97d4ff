"""The report's tables: results, variants, inputs, assumptions with their cells, checks."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from planner.columns import PrecisionName, Text, as_percent
from planner.plan.checks import (
    BATCH_WARNED_ABOVE,
    READING_PACE_TOKENS_PER_SEC,
    USABLE_MEMORY_SHARE,
)
from planner.plan.recommend import flagged
from planner.plan.resolve import DEFAULT
from planner.plan.scenario import COLUMNS, FIGURES
from planner.report.findings import IN_WORKBOOK, FlagLine
from planner.report.parts import (
    LONGEST_IN_TABLE,
    Cell,
    Group,
    Head,
    Row,
    Table,
    cell_ranges,
    cut,
    labels,
    say,
    say_input,
    without_empty,
)
from planner.units import S_PER_HOUR, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

# A page holds about 30 rows and a row costs 8 ms, so what is longer than this stays in the workbook.
MOST_ROWS: Final = 300
MOST_VARIANT_ROWS: Final = 40
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
_OPTIONAL: Final = frozenset({"requests_at_occupancy_per_hour"})
INPUT_FIELDS: Final = tuple(name for name in COLUMNS if name not in {"name", "notes"})


def fit_share(result: Result) -> float | None:
    """The share of the memory that the weights take; None where memory or the number of devices is not given."""
    uncounted = result.scenario.bandwidth_gb_s is not None and result.sources.get("devices") == DEFAULT
    return None if uncounted else result.weights_memory_share


def marks_of(result: Result) -> str:
    """The class names of a rate below reading pace and of weights that do not fit."""
    rate, share = result.tokens_per_sec, fit_share(result)
    slow = rate is not None and rate < READING_PACE_TOKENS_PER_SEC
    no_fit = share is not None and share > USABLE_MEMORY_SHARE
    return " ".join(name for name, on in (("slow", slow), ("nofit", no_fit)) if on)


# What keeps a scenario from being ranked, where others are free of it.
NOT_RANKED: Final = ("one-device", "ceiling")


def not_ranked(study: Study) -> dict[int, str]:
    """The cases that qualify and yet are not ranked, by number, with the flag that stands against it."""
    best = study.recommendation.best
    found: dict[int, str] = {}
    if best is None or not study.recommendation.set_aside:
        return found
    for case in study.cases:
        if not marks_of(case.result) and study.recommendation.value(case.result) is not None:
            codes = (code for code in NOT_RANKED if flagged(case.result, code) and not flagged(best, code))
            if code := next(codes, ""):
                found[case.number] = code
    return found


def ranked(study: Study) -> list[Case]:
    """The cases best first: those that qualify by the recommendation's criterion, then the rest by their rate."""
    recommendation, aside = study.recommendation, not_ranked(study)

    def key(case: Case) -> tuple[bool, float, float, int]:
        result = case.result
        value = recommendation.value(result)
        able = not marks_of(result) and value is not None and case.number not in aside
        return (not able, -(value or 0.0) if able else 0.0, -(result.tokens_per_sec or 0.0), case.number)

    return sorted(study.cases, key=key)


def printed(study: Study, most: int) -> Sequence[Case]:
    """The cases that a table prints: all in the workbook's order, or the best ones, best first."""
    return study.cases if len(study.cases) <= most else ranked(study)[:most]


def left_out(study: Study, most: int, what: str = "scenarios", sheet: str = "Results") -> str:
    """What a table does not print, and where it is; nothing where it prints all."""
    total = len(study.cases)
    if total <= most:
        return ""
    return f"The {most} best of {total:,} {what}, best first; all stand on the {sheet} sheet of {IN_WORKBOOK}."


def results_table(study: Study, flags: Sequence[FlagLine]) -> Table:
    """Every scenario with its rates, times and requests, and its flags by code."""
    codes = {line.issue_code: line.code for line in flags}
    best = study.recommendation.best
    rows = []
    # Few scenarios say how busy their batch is.
    names = [n for n in _RESULT_FIGURES if n not in _OPTIONAL or any(getattr(c.result, n) for c in study.cases)]
    for case in printed(study, MOST_ROWS):
        result = case.result
        marks = {"tokens_per_sec": "slow" if flagged(result, "slow") else ""}
        own = [codes[issue.code] for issue in result.issues]
        cells = [_name(case), *(Cell(say(n, getattr(result, n)), marks=marks.get(n, "")) for n in names)]
        cells.append(Cell(" ".join(sorted(dict.fromkeys(own), key=list(codes.values()).index)), marks="flags"))
        rows.append(Row(tuple(cells), "best" if result is best else ""))
    heads = (Head("Scenario", text=4), *(figure_head(name) for name in names), Head("Flags", text=1))
    return without_empty(Table(heads, tuple(rows), note=left_out(study, MOST_ROWS)))


def figure_head(name: str) -> Head:
    """The head of a figure's column."""
    return Head(FIGURES[name].label, unit_of(name).symbol)


def _name(case: Case, most: int = LONGEST_IN_TABLE) -> Cell:
    return Cell(cut(case.name, most), case.label)


def precision_tables(study: Study) -> tuple[Table, ...]:
    """Weights, per-stream rate and response time at each asked precision and at the scenario's own."""
    cases = printed(study, MOST_VARIANT_ROWS)
    variants = {case.number: (*study.by_precision[case.number - 1], case.result) for case in cases}
    names = (*study.options.precisions, "own")
    return tuple(
        _variant_table(cases, variants, part, names, ("weights_gb", "tokens_per_sec", "response_time_s"))
        for part in _parts(len(names), VARIANTS_ACROSS)
    )


def batch_tables(study: Study) -> tuple[Table, ...]:
    """Aggregate rate and requests per hour at each asked batch; the other figures are the same at every batch."""
    cases = printed(study, MOST_VARIANT_ROWS)
    variants = {case.number: study.by_batch[case.number - 1] for case in cases}
    names = tuple(f"{size:,}" for size in study.options.batches)
    return tuple(
        _variant_table(cases, variants, part, names, (figure,))
        for figure in ("aggregate_tokens_per_sec", "requests_per_hour")
        if any(getattr(result, figure) is not None for results in variants.values() for result in results if result)
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
        cells = [_name(case, most)]
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


def inputs_table(study: Study) -> Table:
    """Every scenario with its inputs as understood; columns that no row fills are left out."""
    cases = printed(study, MOST_ROWS)
    used = [
        name
        for name in INPUT_FIELDS
        if name != "model" and any(getattr(case.result.scenario, name) is not None for case in cases)
    ]
    rows = tuple(
        Row((_name(case), *(Cell(say_input(name, getattr(case.result.scenario, name))) for name in used)))
        for case in cases
    )
    heads = (Head("Scenario", text=4), *(Head(COLUMNS[name].label, unit_of(name).symbol) for name in used))
    return Table(heads, rows, note=left_out(study, MOST_ROWS))


_REGISTER_HEADS: Final = (
    Head("No."),
    Head("Assumption", text=4),
    Head("Value", text=3, end=True),
    Head("Unit", text=1),
    Head("Scenarios", text=3),
    Head("Cells", text=3),
    Head("Source", text=1),
)


def register_table(study: Study) -> Table:
    """Each input's values with the scenarios that take them, their cells, and where they come from."""
    lines: list[tuple[str, str, str, str, str, str]] = []
    for name in INPUT_FIELDS:
        lines += _values_of(study, name)
    lines += _FIXED
    rows = tuple(
        Row(
            (
                Cell(f"A{number:02d}", marks="tag"),
                Cell(label),
                Cell(value, marks="end"),
                *(Cell(text) for text in rest),
            )
        )
        for number, (label, value, *rest) in enumerate(lines, 1)
    )
    # Scenarios made in Python have no cells.
    return without_empty(Table(_REGISTER_HEADS, rows))


_FIXED: Final = (
    ("Reading pace", f"{READING_PACE_TOKENS_PER_SEC:g}", "tok/s", "all", "", "planner"),
    ("Batch above which planner warns", f"{BATCH_WARNED_ABOVE}", "", "all", "", "planner"),
    ("Usable share of the memory", as_percent(USABLE_MEMORY_SHARE), "", "all", "", "planner"),
    ("One hour", f"{S_PER_HOUR:,}", "s", "all", "", "planner"),
    ("One GB", "1,000,000,000", "bytes", "all", "", "planner"),
)


def _values_of(study: Study, name: str) -> list[tuple[str, str, str, str, str, str]]:
    """One line for each value that an input takes; a single line with its range where there are many."""
    found: dict[tuple[Any, str], list[Case]] = {}
    for case in study.cases:
        value = getattr(case.result.scenario, name)
        if value not in (None, ""):
            found.setdefault((value, case.result.sources.get(name, "")), []).append(case)
    column, unit = COLUMNS[name], unit_of(name).symbol
    if len(found) <= MOST_VALUES:
        return [
            (column.label, cut(say_input(name, value)), unit, *_whose(name, cases, source))
            for (value, source), cases in found.items()
        ]
    every = [case for cases in found.values() for case in cases]
    values = sorted({value for value, _ in found}) if not isinstance(column.rule, Text | PrecisionName) else []
    spread = f"{say_input(name, values[0])} to {say_input(name, values[-1])}" if values else ""
    different = f"{len({value for value, _ in found})} different values"
    sources = " or ".join(sorted({source for _, source in found}))
    return [(f"{column.label}, {different}", spread or "see the rows", unit, *_whose(name, every, sources))]


def _whose(name: str, cases: Sequence[Case], source: str) -> tuple[str, str, str]:
    cells = [case.origin.cells[name] for case in cases if name in case.origin.cells]
    return labels((case.number for case in cases), _FEW_RANGES), cell_ranges(cells, _FEW_RANGES), source


_FEW_RANGES: Final = 4
