"""The charts of the variants: what precision and batch do to each scenario, and what the charts are headed with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import has_estimate
from planner.plan.checks import MEASURED_BATCH_SHARE
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.report import tables
from planner.report.numbers import as_percent, plain
from planner.report.parts import Cell, Head, Row, Table, in_words, say, with_unit
from planner.report.shapes import Dots, Figure, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Study

MOST_LINES: Final = 6
MOST_DOT_ROWS: Final = 10
MOST_DOT_NAMES: Final = 4


@dataclass(frozen=True, slots=True)
class BatchCharts:
    """The two charts against the batch, and what public measurements say beside them."""

    lines_per_stream: tuple[Line, ...]
    lines_aggregate: tuple[Line, ...]
    positions: tuple[float, ...]
    per_stream: Figure
    aggregate: Figure
    measured: Table
    estimate_per_stream: tuple[Line, ...] = ()
    estimate_aggregate: tuple[Line, ...] = ()
    estimate_figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class DotChart:
    """Per-stream rates by precision for the first scenarios of the ranking."""

    rows: tuple[Dots, ...]
    names: tuple[str, ...]
    figure: Figure


def dots(study: Study) -> DotChart | None:
    """Per-stream rates at the asked precisions; None where no scenario states its own precision."""
    names = study.options.precisions[:MOST_DOT_NAMES]
    # Of very many, those that are printed: each precision of a scenario is an evaluation of its own.
    cases = tables.printed(study, tables.MOST_ROWS)
    able = [case for case in cases if any(study.by_precision[case.number - 1])]
    if not able or not names:
        return None
    first = {case.number for case in tables.ranked(study)[:MOST_DOT_ROWS]} if len(able) > MOST_DOT_ROWS else None
    rows = []
    for case in able:
        if first is not None and case.number not in first:
            continue
        rates = [result.tokens_per_sec if result else None for result in study.by_precision[case.number - 1]]
        rates = rates[: len(names)]
        rows.append(Dots(f"{case.label} {case.name}", tuple(rates), tuple(say("tokens_per_sec", r) for r in rates)))
    total = len(able) if len(cases) == len(study.cases) else len(study.cases)
    which = f"; the {len(rows)} best of {plain(total)} scenarios" if first is not None else ""
    among = f" (among the {len(cases)} best)" if len(cases) < len(study.cases) else ""
    figure = Figure(
        f"{_precision_title([study.by_precision[case.number - 1] for case in able], names)}{among}",
        f"Upper bound per stream (tok/s) by precision, at each scenario's efficiency, log scale{which}",
        f"Per-stream rate of each scenario at {', '.join(names)}",
    )
    return DotChart(tuple(rows), names, figure)


def _precision_title(known: Sequence[Sequence[Result | None]], names: tuple[str, ...]) -> str:
    """How many scenarios keep reading pace at the most and at the fewest bits."""
    if len(known) == 1:
        rates = {name: row.tokens_per_sec for name, row in zip(names, known[0], strict=False) if row}
        fast, slow = (pick(rates, key=lambda name: rates[name] or 0.0) for pick in (max, min))
        said = f"One stream runs at {with_unit('tokens_per_sec', rates[fast])} at {fast}"
        return said if fast == slow else f"{said}, at {say('tokens_per_sec', rates[slow])} at {slow}"
    totals = [
        sum((row[i].tokens_per_sec or 0.0) >= READING_PACE_TOKENS_PER_SEC for row in known if row[i])  # type: ignore[union-attr]
        for i in range(len(names))
    ]
    fewest, most = (pick(range(len(names)), key=totals.__getitem__) for pick in (min, max))
    if totals[fewest] == totals[most]:
        return f"At each precision {_keeping(totals[most], len(known))} reading pace"
    few = in_words(totals[fewest]) if totals[fewest] else "none"
    return f"At {names[most]} {_keeping(totals[most], len(known))} reading pace, at {names[fewest]} {few}"


_BOTH: Final = 2


def _keeping(able: int, total: int) -> str:
    if able == total:
        return "both keep" if total == _BOTH else f"all {in_words(total)} keep"
    few = in_words(able) if able else "none"
    return f"{few} of {in_words(total)} {'keep' if able > 1 else 'keeps'}"


def batch_charts(study: Study) -> BatchCharts | None:
    """The charts of the first scenarios of the ranking; None without scenarios or batches."""
    sizes = study.options.batches
    if not study.cases or not sizes:
        return None
    first = tables.ranked(study)[:MOST_LINES]

    def lines(name: str) -> tuple[Line, ...]:
        return tuple(
            Line(case.label, tuple(getattr(result, name) for result in study.by_batch[case.number - 1]))
            for case in first
        )

    which = f"; the {len(first)} best of {plain(len(study.cases))}" if len(first) < len(study.cases) else ""
    top = max(first, key=lambda case: study.by_batch[case.number - 1][-1].aggregate_tokens_per_sec or 0.0)
    reached = study.by_batch[top.number - 1][-1]
    return BatchCharts(
        lines("tokens_per_sec"),
        lines("aggregate_tokens_per_sec"),
        tuple(float(size) for size in sizes),
        Figure(
            "In the core a stream never slows",
            f"Upper bound per stream (tok/s), at efficiency{which}",
            "Per-stream rate against batch, a level line for each scenario",
        ),
        Figure(
            f"{top.label}: at most {with_unit('aggregate_tokens_per_sec', reached.aggregate_tokens_per_sec)} "
            f"at batch {plain(sizes[-1])}",
            f"Upper bound in all (tok/s), all streams busy{which}",
            "Aggregate rate against batch, a rising line for each scenario",
        ),
        _measured_table(),
        *_estimate_charts(study),
    )


def _estimate_charts(study: Study) -> tuple[tuple[Line, ...], tuple[Line, ...], tuple[Figure, ...]]:
    """The estimates against the batch, of the first scenarios of the ranking that have one."""
    sizes = study.options.batches
    ranked = [case for case in tables.ranked(study) if has_estimate(case.result)]
    # Each batch of a scenario is an evaluation of its own: of very many, the first ones.
    able = [
        case
        for case in ranked[: study.varied]
        if all(result.estimated_tokens_per_sec is not None for result in study.by_batch[case.number - 1])
    ]
    total = len(able) if len(ranked) <= study.varied else len(ranked)
    first = able[:MOST_LINES]
    if not first or len(sizes) == 1:
        return (), (), ()
    lines = [
        tuple(
            Line(case.label, tuple(getattr(result, name) for result in study.by_batch[case.number - 1]))
            for case in first
        )
        for name in ("estimated_tokens_per_sec", "estimated_aggregate_tokens_per_sec")
    ]
    which = f"; the {len(first)} best of {plain(total)}" if len(first) < total else ""
    top = max(lines[1], key=lambda line: line.values[-1])
    kept = [line.values[-1] / line.values[0] for line in lines[0]]
    low, high = (as_percent(pick(kept)) for pick in (min, max))
    share = low if low == high else f"{low} to {high}"
    figures = (
        Figure(
            f"At batch {plain(sizes[-1])} a stream keeps {share} of its rate",
            f"Estimate per stream (tok/s){which}",
            "Estimated per-stream rate against batch, a falling line for each scenario",
        ),
        Figure(
            f"{top.label}: an estimated {with_unit('aggregate_tokens_per_sec', top.values[-1])} "
            f"at batch {plain(sizes[-1])}",
            f"Estimate in all (tok/s), all streams busy{which}",
            "Estimated aggregate rate against batch, a line for each scenario",
        ),
    )
    return lines[0], lines[1], figures


def _measured_table() -> Table:
    heads = (Head("Batch", text=3), *(Head(f"{size}") for size, _ in MEASURED_BATCH_SHARE))
    cells = (
        Cell("Per-stream rate against batch 1, public measurements on HBM devices under a serving engine"),
        *(Cell(as_percent(share)) for _, share in MEASURED_BATCH_SHARE),
    )
    return Table(heads, (Row(cells),))
