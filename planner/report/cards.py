"""Scenario sheets: each scenario's inputs with their cells, its figures, and what to know about them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.issues import Severity
from planner.plan.basis import fits, has_estimate, has_range
from planner.plan.limits import BATCH_WARNED_ABOVE
from planner.plan.purse import is_priced
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.result import CoreFigures
from planner.plan.scenario import COLUMNS, FIGURES, MONEY_COLUMNS
from planner.report import money
from planner.report.numbers import span
from planner.report.parts import count, cut, say, say_input
from planner.report.tables import INPUT_FIELDS, is_own
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.study import Case, Study
    from planner.report.findings import FlagLine


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of a scenario's sheet: what, its value with the unit, and its cell or origin."""

    label: str
    value: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """What to know about a scenario: a flag's code or the user's own note, and the kind that colours it."""

    kind: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """A scenario's sheet: its inputs with their cells, its figures, and what to know about them."""

    label: str
    name: str
    badges: tuple[tuple[str, str], ...]
    inputs: tuple[Fact, ...]
    figures: tuple[Fact, ...]
    estimate: tuple[Fact, ...]
    money: tuple[tuple[Fact, ...], ...]
    filled: tuple[str, ...]
    gaps: str
    remarks: tuple[Remark, ...]


_LONGEST_NOTE: Final = 200


def card(study: Study, case: Case, flags: Sequence[FlagLine]) -> Card:
    """The sheet of one scenario."""
    result, scenario = case.result, case.result.scenario
    codes = {line.issue_code: line.code for line in flags}
    badges = []
    if result is study.recommendation.best:
        badges.append(("good", "recommended"))
    elif result is study.recommendation.steadier:
        badges.append(("good", f"best at batch {BATCH_WARNED_ABOVE} or below"))
    warnings = sum(issue.severity is Severity.WARNING for issue in result.issues)
    if warnings:
        badges.append(("bad", count(warnings, "warning")))
    inputs = tuple(
        Fact(
            COLUMNS[name].label, _with_unit(name, cut(say_input(name, getattr(scenario, name)), 40)), _where(case, name)
        )
        for name in INPUT_FIELDS
        if is_own(case, name) and name not in MONEY_COLUMNS
    )
    # A typed size stands among the inputs already.
    figures = tuple(
        Fact(FIGURES[name].label, _with_unit(name, say(name, getattr(result, name))))
        for name in _CORE
        if getattr(result, name) is not None and result.sources.get(name) != TYPED
    )
    remarks = [
        Remark(str(issue.severity), codes[issue.code], f"{issue.problem}. {issue.remedy}.") for issue in result.issues
    ]
    if scenario.notes:
        remarks.append(Remark("own", "Note", cut(scenario.notes, _LONGEST_NOTE)))
    return Card(
        case.label,
        cut(case.name, 100),
        tuple(badges),
        inputs,
        figures,
        _estimate(case),
        _money(study, case),
        _filled(case),
        "; ".join(result.not_modelled) if has_estimate(result) else "",
        tuple(remarks),
    )


_CORE: Final = tuple(field.name for field in dataclasses.fields(CoreFigures))
# What an estimate comes to, in the order of its making; what each step takes stands in its section.
_ESTIMATE: Final = (
    "kv_bytes_per_token",
    "kv_cache_gb",
    "memory_needed_gb",
    "usable_memory_gb",
    "streams_that_fit",
    "longest_context_tokens",
    "weights_read_gb",
    "kv_read_gb",
    "step_time_ms",
    "estimated_tokens_per_sec",
    "estimated_aggregate_tokens_per_sec",
    "prefill_s",
    "estimated_response_time_s",
    "estimated_requests_per_hour",
    "batch_crossover",
    "utilisation",
    "queue_wait_s",
)


def _estimate(case: Case) -> tuple[Fact, ...]:
    result = case.result
    if not has_estimate(result):
        return ()
    facts = []
    for name in _ESTIMATE:
        value = getattr(result, name)
        if value is None:
            continue
        facts.append(Fact(FIGURES[name].label, _with_unit(name, say(name, value))))
        if name == "memory_needed_gb" and fits(result) is False:
            facts[-1] = Fact(FIGURES[name].label, _with_unit(name, say(name, value)), "does not fit")
        if name == "estimated_tokens_per_sec" and has_range(result):
            ends = span(result.low_tokens_per_sec or 0.0, result.high_tokens_per_sec or 0.0)
            facts.append(Fact("Range", _with_unit(name, ends)))
        if name == "utilisation" and value >= 1:
            facts[-1] = Fact(FIGURES[name].label, say(name, value), "unstable")
    return tuple(facts)


_MONEY: Final = (
    ("cost_per_m_tokens", "Cost per M output"),
    ("used_cost_per_m_tokens", "of it used"),
    ("cost_per_request", "Cost per request"),
    ("monthly_cost", "Cost per month"),
    ("monthly_capacity_m_tokens", "Output per month"),
    ("api_cost_per_m_output", "API per M output"),
    ("saving_cost_month", "Saving per month"),
    ("break_even_share", "Break-even utilisation"),
)
_SUMS: Final = frozenset({"monthly_cost", "saving_cost_month"})
# What the register of prices says of each price.
_IN_REGISTER: Final = frozenset({"currency", "api", "price_source", "price_day"})


def _money(study: Study, case: Case) -> tuple[tuple[Fact, ...], ...]:
    """What was typed of money, and what it comes to; nothing where nothing has a price."""
    result = case.result
    if not is_priced(result.scenario):
        return ()
    till = money.own_till(study, result)
    typed = tuple(
        Fact(
            COLUMNS[name].label,
            f"{cut(say_input(name, getattr(result.scenario, name)), 40)} {money.unit_in(name, till.code)}".strip(),
            _where(case, name),
        )
        for name in MONEY_COLUMNS
        if is_own(case, name) and name not in _IN_REGISTER
    )
    found = []
    for name, label in _MONEY:
        value = getattr(result, name)
        if value is None:
            continue
        if name == "break_even_share":
            said = money.percent(value)
        elif name == "monthly_capacity_m_tokens":
            said = f"{say(name, value)} {unit_of(name).symbol}".strip()
        else:
            said = till.sum(value) if name in _SUMS else till.price(value)
        never = name == "break_even_share" and value > 1
        found.append(Fact(label, said, "never here" if never else ""))
    return typed, tuple(found)


def _filled(case: Case) -> tuple[str, ...]:
    """Where what was not typed comes from, each source once; the register of assumptions has the values."""
    if not has_estimate(case.result):
        return ()
    sources = (source for source in case.result.sources.values() if source not in {TYPED, DEFAULT})
    return tuple(dict.fromkeys(cut(source, 110) for source in sources))


def _with_unit(name: str, text: str) -> str:
    return f"{text} {unit_of(name).symbol}".strip()


def _where(case: Case, name: str) -> str:
    if case.result.sources.get(name) != TYPED:
        return "default"
    return case.origin.cells.get(name, "")
