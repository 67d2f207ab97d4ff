"""Scenario sheets: each scenario's inputs with their cells, its figures, and what to know about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.issues import Severity
from planner.plan.checks import BATCH_WARNED_ABOVE
from planner.plan.resolve import TYPED
from planner.plan.scenario import COLUMNS, FIGURES
from planner.report.parts import count, cut, say, say_input
from planner.report.tables import INPUT_FIELDS
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
        if getattr(scenario, name) not in (None, "")
    )
    # A typed size stands among the inputs already.
    figures = tuple(
        Fact(FIGURES[name].label, _with_unit(name, say(name, getattr(result, name))))
        for name in FIGURES
        if getattr(result, name) is not None and result.sources.get(name) != TYPED
    )
    remarks = [
        Remark(str(issue.severity), codes[issue.code], f"{issue.problem}. {issue.remedy}.") for issue in result.issues
    ]
    if scenario.notes:
        remarks.append(Remark("own", "Note", cut(scenario.notes, _LONGEST_NOTE)))
    return Card(case.label, cut(case.name, 100), tuple(badges), inputs, figures, tuple(remarks))


def _with_unit(name: str, text: str) -> str:
    return f"{text} {unit_of(name).symbol}".strip()


def _where(case: Case, name: str) -> str:
    if case.result.sources.get(name) != TYPED:
        return "default"
    return case.origin.cells.get(name, "")
