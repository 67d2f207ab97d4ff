"""From the ceiling to the estimate: where a step's time goes, the range, what memory holds, load and wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import (
    STEP_PARTS,
    fits,
    has_estimate,
    has_range,
    is_counted,
    planning_rate,
    step_parts,
    upper_bound,
)
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.report.numbers import as_percent, plain, span
from planner.report.parts import (
    Cell,
    Head,
    Row,
    Table,
    count,
    in_words,
    labels,
    listed,
    say,
    sentence,
    with_unit,
    without_empty,
)
from planner.report.shapes import Figure, Reach, Stack
from planner.report.tables import MOST_VARIANT_ROWS, left_out, name_cell, ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

# What a chart bears that is to be read at a glance.
MOST_CHARTED: Final = 14
MEMORY_PARTS: Final = ("weights", "KV cache", "overhead")


@dataclass(frozen=True, slots=True)
class StackChart:
    """Stacked rows: their parts by name, and what the chart is headed with."""

    rows: tuple[Stack, ...]
    names: tuple[str, ...]
    figure: Figure


@dataclass(frozen=True, slots=True)
class RangeChart:
    """Estimates with their range, and what the chart is headed with."""

    rows: tuple[Reach, ...]
    figure: Figure


@dataclass(frozen=True, slots=True)
class Estimates:
    """The section from ceiling to estimate; ``gaps`` is what the estimates leave out, ``load`` the offered load."""

    table: Table
    steps: StackChart
    ranges: RangeChart
    gaps: Table
    load: Table


@dataclass(frozen=True, slots=True)
class Memory:
    """The section on memory: what it holds against what is usable."""

    chart: StackChart
    table: Table


def estimates(study: Study) -> Estimates | None:
    """The section from ceiling to estimate; None where no scenario has an estimate."""
    cases = [case for case in study.cases if has_estimate(case.result)]
    if not cases:
        return None
    few = _few(study, cases)
    return Estimates(_table(study, cases), _steps(few, cases), _ranges(few, cases), _gaps(study), _load(study))


def _few(study: Study, cases: Sequence[Case]) -> list[Case]:
    """The cases that a chart shows: all in the workbook's order, or the best ones, best first."""
    if len(cases) <= MOST_CHARTED:
        return list(cases)
    numbers = {case.number for case in cases}
    return [case for case in ranked(study) if case.number in numbers][:MOST_CHARTED]


def _which(few: Sequence[Case], cases: Sequence[Case], what: str) -> str:
    return f"; the {len(few)} best of {plain(len(cases))} {what}" if len(few) < len(cases) else ""


_FIGURES: Final = (
    "tokens_per_sec",
    "estimated_tokens_per_sec",
    "low_tokens_per_sec",
    "step_time_ms",
    "estimated_aggregate_tokens_per_sec",
    "estimated_response_time_s",
    "estimated_requests_per_hour",
    "memory_needed_gb",
)
_HEADS: Final = (
    Head("Scenario", text=4),
    Head("Upper bound", "tok/s"),
    Head("Estimate", "tok/s"),
    Head("Range", "tok/s"),
    Head("Inter-token latency", "ms"),
    Head("Aggregate", "tok/s"),
    Head("Response", "s"),
    Head("Requests", "per hour"),
    Head("Memory", "GB of usable"),
)


_LONGEST_NAME: Final = 40


def _table(study: Study, cases: Sequence[Case]) -> Table:
    """Every scenario's estimate beside its upper bound; those that have none are named below."""
    best = study.recommendation.best
    shown = cases
    if len(shown) > MOST_VARIANT_ROWS:
        numbers = {case.number for case in cases}
        shown = [case for case in ranked(study) if case.number in numbers][:MOST_VARIANT_ROWS]
    rows = []
    for case in shown:
        result = case.result
        slow = (result.estimated_tokens_per_sec or 0.0) < READING_PACE_TOKENS_PER_SEC
        values = [
            Cell(say("tokens_per_sec", upper_bound(result))),
            Cell(say("tokens_per_sec", result.estimated_tokens_per_sec), marks="slow" if slow else "estimate"),
            Cell(_span(result) or "none"),
            *(Cell(say(name, getattr(result, name))) for name in _FIGURES[3:7]),
            Cell(_needed(result), marks="nofit" if fits(result) is False else ""),
        ]
        rows.append(Row((name_cell(case, _LONGEST_NAME), *values), "best" if result is best else ""))
    without = [case.number for case in study.cases if not has_estimate(case.result)]
    notes = [left_out(study, MOST_VARIANT_ROWS)] if len(shown) < len(cases) else []
    if without:
        notes.append(
            f"{labels(without)}: no estimate, for want of a device (or its class) and a model; the core's figures "
            "stand alone."
        )
    return Table(_HEADS, tuple(rows), note=" ".join(notes), title="Estimates beside the upper bounds")


def _span(result: Result) -> str:
    return span(result.low_tokens_per_sec or 0.0, result.high_tokens_per_sec or 0.0) if has_range(result) else ""


def _needed(result: Result) -> str:
    if result.memory_needed_gb is None:
        return ""
    needed = say("memory_needed_gb", result.memory_needed_gb)
    if result.usable_memory_gb is None or not is_counted(result):
        return needed
    return f"{needed} of {say('usable_memory_gb', result.usable_memory_gb)}"


def _steps(few: Sequence[Case], cases: Sequence[Case]) -> StackChart:
    rows = []
    for case in few:
        parts = tuple(part.time_ms for part in step_parts(case.result))
        text = with_unit("step_time_ms", case.result.speculative_step_ms or case.result.step_time_ms)
        rows.append(Stack(f"{case.label} {case.name}", parts, text))
    largest = [max(range(len(row.parts)), key=row.parts.__getitem__) for row in rows]
    common = max(range(len(STEP_PARTS)), key=largest.count)
    number = largest.count(common)
    if len(rows) == 1:
        title = f"Most of a step goes to {STEP_PARTS[common]}"
    elif number == len(rows):
        title = f"In {'both' if number == _TWO else 'all'} most of a step goes to {STEP_PARTS[common]}"
    else:
        title = f"In {in_words(number)} of {in_words(len(rows))} most of a step goes to {STEP_PARTS[common]}"
    figure = Figure(
        title,
        f"Shares of the time of a decode step, and its length{_which(few, cases, 'scenarios with an estimate')}",
        f"Where the time of a decode step goes. {title}.",
    )
    return StackChart(tuple(rows), STEP_PARTS, figure)


_TWO: Final = 2


def _ranges(few: Sequence[Case], cases: Sequence[Case]) -> RangeChart:
    rows = []
    for case in few:
        result = case.result
        ends = (result.low_tokens_per_sec or 0.0, result.high_tokens_per_sec or 0.0) if has_range(result) else None
        mixture = result.params_read_b is not None
        # The core's own ceiling is none for a mixture of experts, of which a step reads a part.
        ceiling = result.read_ceiling_tokens_per_sec if mixture else result.ceiling_tokens_per_sec
        core = None if mixture or result.scenario.efficiency == 1 else result.tokens_per_sec
        said = say("tokens_per_sec", result.estimated_tokens_per_sec)
        rows.append(
            Reach(
                f"{case.label} {case.name}",
                result.estimated_tokens_per_sec or 0.0,
                ends,
                ceiling,
                core,
                result.scenario.measured_tokens_per_sec,
                f"{said} ({_span(result)})" if ends else said,
            )
        )
    shares = [
        (result.estimated_tokens_per_sec or 0.0) / row.ceiling
        for row, result in zip(rows, (case.result for case in few), strict=True)
        if row.ceiling
    ]
    low, high = (as_percent(pick(shares)) for pick in (min, max))
    reach = f"Estimates reach {low}" + (f" to {high}" if low != high else "") + " of the ceiling"
    mixtures = any(case.result.params_read_b is not None for case in few)
    figure = Figure(
        reach if len(rows) > 1 else f"The estimate reaches {low} of the ceiling",
        "Per stream (tok/s), log scale"
        + ("; the ceiling of a mixture of experts is that of what a step reads" if mixtures else "")
        + _which(few, cases, "scenarios with an estimate"),
        f"Estimates with their range against the ceiling. {reach}.",
    )
    return RangeChart(tuple(rows), figure)


_MOST_GAPS: Final = 24


def _gaps(study: Study) -> Table:
    """What the estimates do not count; scenarios that lack the same stand on one line."""
    found: dict[tuple[str, ...], list[int]] = {}
    for case in study.cases:
        if has_estimate(case.result) and case.result.not_modelled:
            found.setdefault(case.result.not_modelled, []).append(case.number)
    rows = tuple(
        Row((Cell(labels(numbers)), Cell(sentence("; ".join(gaps)))))
        for gaps, numbers in list(found.items())[:_MOST_GAPS]
    )
    heads = (Head("Scenarios", text=2), Head("Not counted, and in brackets the input that would let it", text=7))
    return Table(heads, rows)


def _load(study: Study) -> Table:
    """Offered load, utilisation and wait, where a load is offered; 'unstable' where it cannot be served."""
    rows: list[Row] = []
    for case in study.cases:
        result, scenario = case.result, case.result.scenario
        if result.utilisation is None or len(rows) == MOST_VARIANT_ROWS:
            continue
        by_estimate = result.estimated_requests_per_hour is not None
        capacity = result.estimated_requests_per_hour if by_estimate else result.requests_per_hour
        unstable = result.utilisation >= 1
        wait = "unstable: the queue only grows" if unstable else with_unit("queue_wait_s", result.queue_wait_s)
        rows.append(
            Row(
                (
                    name_cell(case),
                    Cell(say("requests_per_hour", scenario.offered_requests_per_hour)),
                    Cell(f"{plain(scenario.replicas or 1)} x {say('requests_per_hour', capacity)}"),
                    Cell("estimate" if has_estimate(result) else "upper bound"),
                    Cell(as_percent(result.utilisation), marks="slow" if unstable else ""),
                    Cell(wait if result.queue_wait_s is not None or unstable else ""),
                )
            )
        )
    heads = (
        Head("Scenario", text=4),
        Head("Offered", "per hour"),
        Head("Served", "replicas x per hour"),
        Head("Basis", text=1),
        Head("Utilisation"),
        Head("Mean wait for a free stream", text=3),
    )
    return without_empty(Table(heads, tuple(rows)))


def memory(study: Study) -> Memory | None:
    """The section on memory; None where no scenario says how much there is."""
    cases = [
        case
        for case in study.cases
        if case.result.usable_memory_gb and case.result.weights_gb is not None and is_counted(case.result)
    ]
    if not cases:
        return None
    # Where not all can be shown, those that fill their memory most tell most.
    few = cases if len(cases) <= MOST_CHARTED else sorted(cases, key=_filled)[:MOST_CHARTED]
    rows = []
    for case in few:
        result = case.result
        usable = result.usable_memory_gb or 1.0
        held = (result.weights_gb or 0.0, result.kv_cache_gb or 0.0, result.scenario.overhead_gb or 0.0)
        rows.append(
            Stack(
                f"{case.label} {case.name}",
                tuple(part / usable for part in held),
                _held(result),
                bad=fits(result) is False,
            )
        )
    over = [case for case in cases if fits(case.result) is False]
    unknown = sum(case.result.kv_cache_gb is None for case in cases)
    if over:
        title = (
            f"{sentence(in_words(len(over)))} of {in_words(len(cases))} {'does' if len(over) == 1 else 'do'} not fit"
        )
    elif len(cases) == 1:
        title = "The scenario fits"
    else:
        title = f"{'Both' if len(cases) == _TWO else f'All {in_words(len(cases))}'} scenarios fit"
    which = f"; the {len(few)} fullest of {plain(len(cases))}" if len(few) < len(cases) else ""
    subtitle = f"Share of the usable memory of all devices{which}"
    if unknown:
        subtitle += f"; {in_words(unknown)} without KV cache, which is not known"
    figure = Figure(title, subtitle, f"Memory held against usable memory. {title}.")
    return Memory(StackChart(tuple(rows), MEMORY_PARTS, figure), _memory_table(study, cases))


def _filled(case: Case) -> tuple[float, int]:
    """For sorting: the fullest memory first."""
    result = case.result
    return (-(result.memory_needed_gb or result.weights_gb or 0.0) / (result.usable_memory_gb or 1.0), case.number)


def _held(result: Result) -> str:
    usable = say("usable_memory_gb", result.usable_memory_gb)
    if result.memory_needed_gb is None:
        said = f"{say('weights_gb', result.weights_gb)} + KV of {usable} GB"
    else:
        said = f"{say('memory_needed_gb', result.memory_needed_gb)} of {usable} GB"
    return f"{said}, does not fit" if fits(result) is False else said


_MEMORY_FIGURES: Final = (
    "weights_gb",
    "kv_cache_gb",
    "memory_needed_gb",
    "usable_memory_gb",
    "devices_needed",
    "streams_that_fit",
    "longest_context_tokens",
)
_MEMORY_HEADS: Final = (
    Head("Scenario", text=4),
    Head("Weights", "GB"),
    Head("KV cache", "GB"),
    Head("Needed", "GB"),
    Head("Usable", "GB"),
    Head("Devices needed"),
    Head("Streams that fit"),
    Head("Longest context", "tokens"),
)


def _memory_table(study: Study, cases: Sequence[Case]) -> Table:
    known = [case for case in cases if case.result.memory_needed_gb is not None]
    if len(known) > MOST_VARIANT_ROWS:
        numbers = {case.number for case in known}
        known = [case for case in ranked(study) if case.number in numbers][:MOST_VARIANT_ROWS]
    rows = []
    for case in known:
        cells = [Cell(say(name, getattr(case.result, name))) for name in _MEMORY_FIGURES]
        if fits(case.result) is False:
            cells[2] = Cell(cells[2].text, marks="nofit")
        rows.append(Row((name_cell(case), *cells)))
    return Table(_MEMORY_HEADS, tuple(rows))


def lede(study: Study) -> str:
    """What the section says in a sentence or two."""
    known = [case for case in study.cases if has_range(case.result)]
    said = (
        "An estimate counts what the ceiling leaves out: the KV cache that is read, arithmetic, latencies and prefill. "
        "Its constants come from public measurements of the same class of device. "
    )
    if not known:
        return f"{said}Without a device or its class no range can be given."
    slow = [case.label for case in known if planning_rate(case.result) < READING_PACE_TOKENS_PER_SEC]
    if slow:
        few = listed(slow[:3]) if len(slow) <= _FEW else f"{count(len(slow), 'scenario')}"
        said += f"By it {few} {'falls' if len(slow) == 1 else 'fall'} below reading pace. "
    return said + "Eight in ten held-out measurements lay within its range."


_FEW: Final = 3


def memory_lede() -> str:
    """What the memory section says in a sentence or two."""
    return (
        "Memory must hold the weights, the KV cache of every stream at its full context, and overhead. Streams that "
        "fit are those at the given context, the longest context is that at the given batch."
    )
