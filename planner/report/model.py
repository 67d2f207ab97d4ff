"""What a report says of a study: every headline, table and number, ready to be set on pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.issues import Severity
from planner.plan.checks import (
    BATCH_NOTED_FROM,
    BATCH_WARNED_ABOVE,
    MEASURED_BATCH_SHARE,
    READING_PACE_TOKENS_PER_SEC,
)
from planner.plan.scenario import FIGURES
from planner.report import findings, tables
from planner.report.front import Alert, Tile, Verdict, alerts, bars, pace_figure, tiles, verdict
from planner.report.heat import HeatMap, heat_maps
from planner.report.parts import (
    LONGEST_TITLE,
    Bar,
    Cell,
    Dots,
    Figure,
    Head,
    Line,
    Row,
    Table,
    count,
    cut,
    in_words,
    say,
    sentence,
    with_unit,
)
from planner.report.wording import BASES, GLOSSARY, PACE
from planner.report.worked import Worked, worked

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from planner.plan.study import Case, Study
    from planner.report.findings import FlagLine
    from planner.report.tables import Card

MOST_CARDS: Final = 12
MOST_LINES: Final = 6
MOST_DOT_ROWS: Final = 10
MOST_DOT_NAMES: Final = 4
DEFAULT_TITLE: Final = "LLM serving capacity"


@dataclass(frozen=True, slots=True)
class Section:
    """A section's head: its anchor, number, title, and what it says in a sentence or two."""

    anchor: str
    number: str
    title: str
    lede: str


@dataclass(frozen=True, slots=True)
class BatchCharts:
    """The two charts against the batch, and what public measurements say beside them."""

    lines_per_stream: tuple[Line, ...]
    lines_aggregate: tuple[Line, ...]
    positions: tuple[float, ...]
    per_stream: Figure
    aggregate: Figure
    measured: Table


@dataclass(frozen=True, slots=True)
class DotChart:
    """Per-stream rates by precision for the first scenarios of the ranking."""

    rows: tuple[Dots, ...]
    names: tuple[str, ...]
    figure: Figure


@dataclass(frozen=True, slots=True)
class Report:
    """A report as ready texts and numbers."""

    title: str
    subtitle: str
    stamp: str
    running: str
    facts: tuple[tuple[str, str], ...]
    verdict: Verdict
    tiles: tuple[Tile, ...]
    bars: tuple[Bar, ...]
    pace: Figure
    pace_text: str
    alerts: tuple[Alert, ...]
    bases: tuple[tuple[str, str], ...]
    flags: tuple[FlagLine, ...]
    skipped: Table
    sections: dict[str, Section]
    results: Table
    precision: tuple[Table, ...]
    dots: DotChart | None
    batch: tuple[Table, ...]
    charts: BatchCharts | None
    heat: tuple[HeatMap, ...]
    heat_figure: Figure
    heat_note: str
    register: Table
    inputs: Table
    cards: tuple[Card, ...]
    checks: Table
    worked: tuple[Worked, ...]
    glossary: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    made_iso: str
    empty: bool


@dataclass(frozen=True, slots=True)
class About:
    """How a report came about: when, by which command, on which paper, with which workbook attached."""

    made: datetime
    paper: str = "A4"
    command: str = ""
    title: str = ""
    attachment: Path | None = None
    program: str = "planner"
    engine: str = ""


def report_of(study: Study, about: About) -> Report:
    """Everything that a report of a study says."""
    flags = findings.flag_lines(study)
    shown = study.cases if len(study.cases) <= MOST_CARDS else ()
    best = study.recommendation.best
    checked = study.case_of(best) if best else next(iter(study.cases), None)
    dots, charts = _dots(study), _batch_charts(study)
    heat, heat_figure = heat_maps(study)
    checks = findings.checks_table(study)
    title = cut(about.title or DEFAULT_TITLE, LONGEST_TITLE)
    return Report(
        title=title,
        subtitle=_subtitle(study),
        stamp=_stamp(study, about),
        running=cut(study.source.name or title, 60),
        facts=_facts(study, about),
        verdict=verdict(study),
        tiles=tiles(study),
        bars=bars(study),
        pace=pace_figure(study),
        pace_text=f"reading pace, {PACE}",
        alerts=alerts(study, flags),
        bases=BASES,
        flags=flags,
        skipped=findings.skipped_table(study),
        sections=_sections(study, checked, cards=bool(shown), checks=bool(checks.rows)),
        results=tables.results_table(study, flags),
        precision=tables.precision_tables(study),
        dots=dots,
        batch=tables.batch_tables(study),
        charts=charts,
        heat=heat,
        heat_figure=heat_figure,
        heat_note=_heat_note(study),
        register=tables.register_table(study),
        inputs=tables.inputs_table(study),
        cards=tuple(tables.card(study, case, flags) for case in shown),
        checks=checks,
        worked=worked(checked),
        glossary=GLOSSARY,
        provenance=_provenance(study, about),
        made_iso=f"{about.made:%Y-%m-%dT%H:%M:%SZ}",
        empty=not study.cases,
    )


def _subtitle(study: Study) -> str:
    number = len(study.cases)
    what = f"What {count(number, 'scenario')} can serve" if number else "No scenario could be evaluated"
    if not study.source.name:
        return what
    return f"{what}, from {cut(study.source.name, 48)}"


def _facts(study: Study, about: About) -> tuple[tuple[str, str], ...]:
    skipped = f", {len(study.skipped):,} left out" if study.skipped else ""
    facts = [
        ("Scenarios", f"{len(study.cases):,}{skipped}"),
        ("Findings", _findings(study)),
        ("Made", f"{about.made:%Y-%m-%d}"),
        ("Program", about.program),
    ]
    if study.source.sheet:
        facts.insert(0, ("Input sheet", cut(study.source.sheet, 24)))
    return tuple(facts)


def _findings(study: Study) -> str:
    kinds = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
    said = [f"{study.count(kind)} {word}{'s' if study.count(kind) != 1 else ''}" for kind, word in kinds]
    return ", ".join(said)


def _stamp(study: Study, about: About) -> str:
    parts = []
    if study.source.name:
        parts.append(f"Input {cut(study.source.name, 36)}")
    if study.source.sha256:
        parts.append(f"SHA-256 {study.source.sha256[:16]}…")
    parts += [about.program, f"{about.made:%Y-%m-%d}", "every rate an upper bound"]
    return " · ".join(parts)


def _sections(study: Study, checked: Case | None, *, cards: bool, checks: bool) -> dict[str, Section]:
    """The sections that this study has, numbered in their order."""
    found: dict[str, Section] = {}

    def add(key: str, title: str, lede: str) -> None:
        found[key] = Section(key, str(len(found) + 1), title, lede)

    if study.cases:
        add("results", "Results", _results_lede(study))
        add("precision", "Precision variants", _PRECISION_LEDE)
        add("batch", "Batch variants", _BATCH_LEDE)
    add("speed", "Speed table", _SPEED_LEDE)
    if study.cases:
        add("assumptions", "Assumptions", _assumptions_lede(study))
        if cards:
            add("scenarios", "Scenario sheets", "")
    if checks:
        add("checks", "Checks", _checks_lede(study))
    add("formulas", "Formulas and a worked check", _formulas_lede(checked))
    add("glossary", "Glossary", "")
    add("provenance", "Provenance", "")
    return found


_PRECISION_LEDE: Final = (
    "The same scenarios with their weights at other precisions. Half the bits are half the bytes to read, so twice "
    "the rate. What a precision costs in quality is not part of this model."
)
_BATCH_LEDE: Final = (
    "The same scenarios at other batches. In this model streams share one read of the weights, so that a larger batch "
    f"costs a stream nothing; measurements show that it does, a little from {BATCH_NOTED_FROM} and much above "
    f"{BATCH_WARNED_ABOVE}."
)
_SPEED_LEDE: Final = (
    "The ceiling of one stream for each size of the weights on each memory bandwidth. It says how fast, not whether "
    "the model fits: where the memory is known, a mark says how many of the column are needed."
)


def _results_lede(study: Study) -> str:
    rates = [case.result.tokens_per_sec for case in study.cases if case.result.tokens_per_sec is not None]
    said = f"{pace_figure(study).title}. "
    if len(rates) > 1:
        said += f"One stream runs at {say('tokens_per_sec', min(rates))} to {with_unit('tokens_per_sec', max(rates))}. "
    return f"{said}Rates hold at each scenario's own efficiency and are upper bounds."


def _assumptions_lede(study: Study) -> str:
    if study.source.sheet:
        where = f" Cells are those of sheet {cut(study.source.sheet, 31)} in {cut(study.source.name, 48)}."
    else:
        where = ""
    return f"Every figure follows from these values and the formulas.{where} Default means that the cell is blank."


def _checks_lede(study: Study) -> str:
    kinds = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.NOTE, "note"))
    said = [count(study.count(kind), word) for kind, word in kinds if study.count(kind)]
    return (
        f"{sentence(', '.join(said))}. An error leaves its row out, a warning flags it, a note explains. "
        "What is said alike of many rows is said once."
    )


def _formulas_lede(checked: Case | None) -> str:
    said = "Enough to recompute any figure with a pocket calculator."
    if checked:
        said += (
            f" The worked values are those of {checked.label}, {cut(checked.name, 48)}, to seven significant digits, "
            "so that the last may differ by one where a line starts from a rounded number."
        )
    return said


def _heat_note(study: Study) -> str:
    """What the speed table leaves out."""
    more = study.table.left_out
    if not more:
        return ""
    return f"{sentence(count(more, 'more size or bandwidth', 'more sizes and bandwidths'))} of the scenarios left out."


def _dots(study: Study) -> DotChart | None:
    """Per-stream rates at the asked precisions; None where no scenario states its own precision."""
    names = study.options.precisions[:MOST_DOT_NAMES]
    able = [case for case in study.cases if any(study.by_precision[case.number - 1])]
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
    which = f"; the {len(rows)} best of {len(able)} scenarios" if first is not None else ""
    figure = Figure(
        _precision_title(study, names),
        f"Per stream (tok/s) by precision, at each scenario's efficiency, log scale{which}",
        f"Per-stream rate of each scenario at {', '.join(names)}",
    )
    return DotChart(tuple(rows), names, figure)


def _precision_title(study: Study, names: tuple[str, ...]) -> str:
    """How many scenarios keep reading pace at the most and at the fewest bits."""
    known = [results for results in study.by_precision if any(results)]
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
        return f"Precision does not change who keeps reading pace: {in_words(totals[most])} of {in_words(len(known))}"
    return (
        f"At {names[most]} {in_words(totals[most])} of {in_words(len(known))} keep reading pace, "
        f"at {names[fewest]} {in_words(totals[fewest])}"
    )


def _batch_charts(study: Study) -> BatchCharts | None:
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

    which = f"; the {len(first)} best of {len(study.cases):,}" if len(first) < len(study.cases) else ""
    top = max(first, key=lambda case: study.by_batch[case.number - 1][-1].aggregate_tokens_per_sec or 0.0)
    reached = study.by_batch[top.number - 1][-1]
    return BatchCharts(
        lines("tokens_per_sec"),
        lines("aggregate_tokens_per_sec"),
        tuple(float(size) for size in sizes),
        Figure(
            "The model keeps a stream's rate at any batch",
            f"Per stream (tok/s), at efficiency{which}",
            "Per-stream rate against batch, a level line for each scenario",
        ),
        Figure(
            f"{top.label} reaches {with_unit('aggregate_tokens_per_sec', reached.aggregate_tokens_per_sec)} "
            f"at batch {sizes[-1]:,}",
            f"Aggregate (tok/s), all streams busy{which}",
            "Aggregate rate against batch, a rising line for each scenario",
        ),
        _measured_table(),
    )


def _measured_table() -> Table:
    heads = (Head("Batch", text=3), *(Head(f"{size}") for size, _ in MEASURED_BATCH_SHARE))
    cells = (
        Cell("Per-stream rate against batch 1, public measurements on HBM devices under a serving engine"),
        *(Cell(f"{share:.0%}") for _, share in MEASURED_BATCH_SHARE),
    )
    return Table(heads, (Row(cells),))


def _provenance(study: Study, about: About) -> tuple[tuple[str, str], ...]:
    source = study.source
    facts = [
        ("Input workbook", cut(source.name, 160) if source.name else "none: the scenarios were made in Python"),
        ("Sheet", cut(source.sheet, 40)),
        ("SHA-256 of the input", source.sha256),
        ("Rows", f"{len(study.cases):,} evaluated, {len(study.skipped):,} left out"),
        ("Precisions asked for", ", ".join(study.options.precisions)),
        ("Batches asked for", ", ".join(f"{size:,}" for size in study.options.batches)),
        ("Figures", f"{len(FIGURES)} for each scenario, from the same formulas as the results workbook"),
        ("Attached", f"{cut(about.attachment.name, 100)}, the results workbook" if about.attachment else ""),
        ("Program", ", ".join(part for part in (about.program, about.engine) if part)),
        ("Made", f"{about.made:%Y-%m-%d %H:%M} UTC"),
        ("Paper", about.paper),
        ("Command", cut(about.command, 600)),
    ]
    return tuple((label, value) for label, value in facts if value)
