"""What a report says of a study: every headline, table and number, ready to be set on pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from planner.issues import Severity
from planner.plan.basis import has_estimate, is_counted
from planner.plan.limits import USABLE_MEMORY_SHARE
from planner.plan.scenario import FIGURES
from planner.report import cards, estimates, figures, findings, money, money_front, register, tables
from planner.report.alerts import Alert, alerts, alerts_head
from planner.report.answer import PACE_TEXT, Bars, answer_of
from planner.report.control import MOST_FACTS, Control, band_facts, bases, control, running, title_size
from planner.report.heat import HeatMap, heat_maps
from planner.report.inputs import Inputs
from planner.report.money_pages import Money, money_pages
from planner.report.numbers import as_percent, date, in_text, plain
from planner.report.pace import bars, pace_figure
from planner.report.parts import LONGEST_TITLE, Table, count, cut, say, sentence, tidy, with_unit
from planner.report.wording import GLOSSARY, MONEY_GLOSSARY, SLOWS
from planner.report.worked import Worked, worked, worked_estimate
from planner.settings import LOCALE, Settings
from planner.units import BYTES_PER_MB

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from planner.logo import Logo
    from planner.plan.study import Case, Study
    from planner.report.cards import Card
    from planner.report.estimates import Estimates, Memory
    from planner.report.figures import BatchCharts, DotChart
    from planner.report.findings import FlagLine
    from planner.report.front import Tile, Verdict
    from planner.report.shapes import Bar, Figure

MOST_CARDS: Final = 12
DEFAULT_TITLE: Final = "LLM serving capacity"


@dataclass(frozen=True, slots=True)
class Section:
    """A section's head: its anchor, number, title, and what it says in a sentence or two."""

    anchor: str
    number: str
    title: str
    lede: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report as ready texts and numbers."""

    title: str
    title_size: str
    subtitle: str
    control: Control
    paper: str
    logo: Logo | None
    stamp: str
    running: str
    facts: tuple[tuple[str, str], ...]
    verdict: Verdict
    tiles: tuple[Tile, ...]
    front: Bars | None
    bars: tuple[Bar, ...]
    pace: Figure
    pace_text: str
    money: Money | None
    alerts_head: str
    alerts: tuple[Alert, ...]
    bases: tuple[tuple[str, str], ...]
    flags: tuple[FlagLine, ...]
    skipped: Table
    sections: dict[str, Section]
    spread: Table
    results: Table
    estimates: Estimates | None
    memory: Memory | None
    precision: tuple[Table, ...]
    dots: DotChart | None
    batch: tuple[Table, ...]
    charts: BatchCharts | None
    estimate_batch: tuple[Table, ...]
    heat: tuple[HeatMap, ...]
    heat_figure: Figure
    heat_note: str
    usable: str
    register: Table
    filled: Table
    inputs: Table
    inputs_note: str
    cards: tuple[Card, ...]
    checks: Table
    worked: tuple[Worked, ...]
    worked_estimate: tuple[Worked, ...]
    worked_lede: str
    glossary: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    made_iso: str
    empty: bool


@dataclass(frozen=True, slots=True)
class Beside:
    """A results workbook that stands beside the report: its name, its size in bytes, and the hash of them."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class About:
    """How a report came about: when, with which settings, by which command, with which workbook in it or beside it."""

    made: datetime
    settings: Settings = field(default_factory=Settings)
    command: str = ""
    attachment: Path | None = None
    beside: Beside | None = None
    program: str = "planner"
    engine: str = ""
    logo: Logo | None = None


def report_of(study: Study, about: About) -> Report:
    """Everything that a report of a study says."""
    study = money.dated(study, about.made.date())
    flags = findings.flag_lines(study)
    shown = study.cases if len(study.cases) <= MOST_CARDS else ()
    best = study.recommendation.best
    checked = study.case_of(best) if best else next(iter(study.cases), None)
    estimated = _estimated(study, checked)
    dots, charts = figures.dots(study), figures.batch_charts(study)
    heat, heat_figure = heat_maps(study)
    checks = findings.checks_table(study)
    settings = about.settings
    title = cut(settings.title or DEFAULT_TITLE, LONGEST_TITLE)
    answer, inputs = answer_of(study), Inputs(study)
    pages = money_pages(study, about.made.date())
    return Report(
        title=title,
        title_size=title_size(title),
        subtitle=cut(settings.subtitle, LONGEST_TITLE) or _subtitle(study),
        control=control(settings, about.made),
        paper=settings.paper,
        logo=about.logo,
        stamp=_stamp(study, about),
        running=running(settings, study.source.name or title),
        facts=_facts(study, about),
        verdict=answer.verdict,
        tiles=answer.tiles,
        front=answer.bars,
        bars=bars(study),
        pace=pace_figure(study),
        pace_text=PACE_TEXT,
        money=pages,
        alerts_head=alerts_head(study),
        alerts=alerts(study, flags, money_front.alerts(study)),
        bases=bases(settings, priced=pages is not None),
        flags=flags,
        skipped=findings.skipped_table(study),
        sections=_sections(study, checked, pages, cards=bool(shown), checks=bool(checks.rows)),
        spread=tables.spread_table(study),
        results=tables.results_table(study, flags),
        estimates=estimates.estimates(study),
        memory=estimates.memory(study),
        precision=tables.precision_tables(study),
        dots=dots,
        batch=tables.batch_tables(study),
        charts=charts,
        estimate_batch=tables.estimate_batch_tables(study),
        heat=heat,
        heat_figure=heat_figure,
        heat_note=_heat_note(study),
        usable=as_percent(USABLE_MEMORY_SHARE),
        register=register.register_table(inputs),
        filled=register.filled_table(inputs),
        inputs=tables.inputs_table(study),
        inputs_note=f"Sheets of single scenarios are printed for up to {MOST_CARDS} scenarios; this table takes their "
        "place.",
        cards=tuple(cards.card(study, case, flags) for case in shown),
        checks=checks,
        worked=worked(checked),
        worked_estimate=worked_estimate(estimated) if estimated else (),
        worked_lede=_worked_lede(checked, estimated),
        glossary=_glossary(priced=pages is not None),
        provenance=_provenance(study, about),
        made_iso=f"{about.made:%Y-%m-%dT%H:%M:%SZ}",
        empty=not study.cases,
    )


def _estimated(study: Study, checked: Case | None) -> Case | None:
    """The case whose estimate is worked: the checked one, or the best that has an estimate."""
    able = [case for case in tables.ranked(study) if has_estimate(case.result)]
    return checked if checked in able else next(iter(able), None)


def _worked_lede(checked: Case | None, estimated: Case | None) -> str:
    """Whose estimate is worked, where that is another scenario than the core's."""
    if estimated is None:
        return ""
    whose = "The same scenario" if estimated is checked else f"{estimated.label}, {cut(estimated.name, 48)},"
    return (
        f"{whose} with its estimate, its memory and its load. Floor means rounded down; a part that a scenario does "
        "not have is left out; where a formula chooses, the side that holds is written."
    )


def _glossary(*, priced: bool) -> tuple[tuple[str, str], ...]:
    """The terms that a report uses, in the order of the alphabet."""
    terms = (*GLOSSARY, *MONEY_GLOSSARY) if priced else GLOSSARY
    return tuple((term, in_text(text)) for term, text in sorted(terms, key=lambda pair: pair[0].casefold()))


def _subtitle(study: Study) -> str:
    number = len(study.cases)
    what = f"What {count(number, 'scenario')} can serve" if number else "No scenario could be evaluated"
    if not study.source.name:
        return what
    return f"{what}, from {cut(study.source.name, 48)}"


def _facts(study: Study, about: About) -> tuple[tuple[str, str], ...]:
    skipped = f", {plain(len(study.skipped))} left out" if study.skipped else ""
    facts = [
        ("Scenarios", f"{plain(len(study.cases))}{skipped}"),
        ("Findings", _findings(study)),
        ("Made", date(about.made)),
        ("Program", about.program),
    ]
    if study.source.sheet:
        facts.insert(0, ("Input sheet", cut(study.source.sheet, 24)))
    told = band_facts(about.settings, about.made)
    if told:
        counted = [fact for fact in facts if fact[0] in {"Scenarios", "Findings"}]
        return (*told, *counted)[:MOST_FACTS]
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
        parts.append(f"SHA-256 {study.source.sha256[:12]}…")
    parts += [about.program, date(about.made)]
    return " · ".join([*parts, money.stamp(study)])


def _sections(
    study: Study, checked: Case | None, pages: Money | None, *, cards: bool, checks: bool
) -> dict[str, Section]:
    """The sections that this study has, numbered in their order."""
    found: dict[str, Section] = {}

    def add(key: str, title: str, lede: str) -> None:
        found[key] = Section(key, str(len(found) + 1), title, lede)

    for key, title, lede in pages.ledes if pages else ():
        add(key, title, lede)
    if study.cases:
        add("results", "Results", _results_lede(study))
        if any(has_estimate(case.result) for case in study.cases):
            add("estimate", "From ceiling to estimate", estimates.lede(study))
        if any(case.result.usable_memory_gb and is_counted(case.result) for case in study.cases):
            add("memory", "Memory", estimates.memory_lede())
        add("precision", "Precision variants", _PRECISION_LEDE)
        add("batch", "Batch variants", in_text(_BATCH_LEDE))
    add("speed", "Speed table", _SPEED_LEDE)
    if study.cases:
        add("assumptions", "Assumptions", _assumptions_lede(study))
        if cards:
            add("scenarios", "Scenario sheets", "")
    if checks:
        add("checks", "Checks", _checks_lede(study))
    add("formulas", "Formulas and a worked check" if checked else "Formulas", _formulas_lede(checked))
    add("glossary", "Glossary", "")
    add("provenance", "Provenance", "")
    return found


_PRECISION_LEDE: Final = (
    "The same scenarios with their weights at other precisions. Half the bits are half the bytes to read, so twice "
    "the rate. The rates here are the core's, upper bounds. What a precision costs in quality is not part of it."
)
_BATCH_LEDE: Final = (
    "The same scenarios at other batches. In the core streams share one read of the weights, so that a larger batch "
    f"costs a stream nothing. In public measurements a stream slows {SLOWS}, so read the core's figures "
    "as upper bounds."
)
_SPEED_LEDE: Final = (
    "The ceiling of one stream for each size of the weights on each memory bandwidth. What is marked as reference "
    "is planner's own, to compare with, and in no scenario."
)


def _results_lede(study: Study) -> str:
    rates = [case.result.tokens_per_sec for case in study.cases if case.result.tokens_per_sec is not None]
    said = f"{pace_figure(study).title}. "
    if len(rates) > 1:
        low, high = say("tokens_per_sec", min(rates)), with_unit("tokens_per_sec", max(rates))
        said += f"The core gives one stream {low} to {high}. "
    if any(has_estimate(case.result) for case in study.cases):
        return f"{said}These are upper bounds, at each scenario's own efficiency; the estimates follow beside them."
    return f"{said}Rates hold at each scenario's own efficiency and are upper bounds."


def _assumptions_lede(study: Study) -> str:
    if study.source.sheet:
        where = f" Cells are those of sheet {cut(study.source.sheet, 31)} in {cut(study.source.name, 48)}."
    else:
        where = ""
    filled = ""
    if any(has_estimate(case.result) for case in study.cases):
        filled = " What was filled in from catalogue and measurements stands below, with its source and confidence."
    return (
        f"Every figure follows from these values and the formulas.{where} Default means that the cell is blank.{filled}"
    )


def _checks_lede(study: Study) -> str:
    kinds = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.NOTE, "note"))
    said = [count(study.count(kind), word) for kind, word in kinds if study.count(kind)]
    return (
        f"{sentence(', '.join(said))}. An error leaves its row out, a warning flags it, a note explains. "
        "The same finding in several rows stands on one line."
    )


def _formulas_lede(checked: Case | None) -> str:
    if not checked:
        return "The equations behind every figure, in the order in which they are computed."
    return (
        "Enough to recompute any figure with a pocket calculator. The worked values are those of "
        f"{checked.label}, {cut(checked.name, 48)}, to seven significant digits, "
        "so that the last may differ by one where a line starts from a rounded number."
    )


def _heat_note(study: Study) -> str:
    """What the speed table leaves out."""
    more = study.table.left_out
    if not more:
        return ""
    return f"{sentence(count(more, 'more size or bandwidth', 'more sizes and bandwidths'))} of the scenarios left out."


_LONGEST_COMMAND: Final = 2000


def _told(beside: Beside) -> tuple[tuple[str, str], ...]:
    """A results workbook that is too large to attach, told so that no other can be taken for it."""
    size = plain(round(beside.size / BYTES_PER_MB))
    return (
        ("Results workbook", f"{cut(beside.name, 100)}, of {size} MB, too large to be attached"),
        ("SHA-256 of the results", beside.sha256),
    )


def _provenance(study: Study, about: About) -> tuple[tuple[str, str], ...]:
    source = study.source
    full = tidy(about.settings.title)
    facts = [
        ("Title in full", full if full != cut(full, LONGEST_TITLE) else ""),
        ("Input workbook", cut(source.name, 160) if source.name else "none: the scenarios were made in Python"),
        ("Sheet", cut(source.sheet, 40)),
        ("SHA-256 of the input", source.sha256),
        ("Columns read", cut(", ".join(source.columns), 900)),
        ("Rows", f"{plain(len(study.cases))} evaluated, {plain(len(study.skipped))} left out"),
        ("Precisions asked for", ", ".join(study.options.precisions)),
        ("Batches asked for", ", ".join(plain(size) for size in study.options.batches)),
        (
            "Figures",
            f"up to {len(FIGURES)} for each scenario, blank where an input is missing; formulas as in the workbook",
        ),
        ("Attached", f"{cut(about.attachment.name, 100)}, the results workbook" if about.attachment else ""),
        *(_told(about.beside) if about.beside else ()),
        ("Program", ", ".join(part for part in (about.program, about.engine) if part)),
        ("Made", f"{date(about.made)} {about.made:%H:%M} UTC"),
        ("Paper", about.settings.paper),
        ("Locale of numbers", "" if about.settings.locale == LOCALE else about.settings.locale),
        ("Standard", about.settings.pdf_variant.upper()),
        ("Recompute", cut(about.command, _LONGEST_COMMAND)),
    ]
    return tuple((label, value) for label, value in facts if value)
