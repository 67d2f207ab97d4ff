"""Scenario: what goes in, each field declared once as a column; and the columns of what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from planner.columns import Column, columns_of, header
from planner.issues import Issue
from planner.plan.core_inputs import COUNT, POSITIVE, TOKENS, CoreInputs
from planner.plan.money_figures import MoneyFigures
from planner.plan.money_inputs import MoneyInputs

__all__ = [
    "COLUMNS",
    "CORE_COLUMNS",
    "COUNT",
    "FIGURES",
    "MONEY_COLUMNS",
    "MONEY_FIGURES",
    "POSITIVE",
    "TOKENS",
    "Result",
    "Scenario",
    "figure_header",
    "header_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(MoneyInputs):
    """One deployment scenario: a model at a precision, on devices, serving a batch of streams, and what it costs.

    Fields left None are filled by :func:`planner.plan.resolve.resolve`, which records from where.
    Units stand last in the names; GB is 1e9 bytes; efficiency, occupancy and utilisation are ratios 0..1; money is in
    the scenario's one currency.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(MoneyFigures):
    """What a scenario comes to: the completed scenario, the computed figures, and what to know about them.

    ``not_modelled`` says what the estimate leaves out for want of an input.
    """

    scenario: Scenario
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    issues: tuple[Issue, ...] = ()
    not_modelled: tuple[str, ...] = ()


COLUMNS: Mapping[str, Column] = MappingProxyType(dict(columns_of(Scenario)))
CORE_COLUMNS: Mapping[str, Column] = MappingProxyType(dict(columns_of(CoreInputs)))
MONEY_COLUMNS: Mapping[str, Column] = MappingProxyType(
    {name: column for name, column in COLUMNS.items() if name in MoneyInputs.__annotations__}
)
FIGURES: Mapping[str, Column] = MappingProxyType(dict(columns_of(Result)))
MONEY_FIGURES: Mapping[str, Column] = MappingProxyType(
    {name: column for name, column in FIGURES.items() if name in MoneyFigures.__annotations__}
)


def header_of(name: str) -> str:
    """The header of a scenario's column, unit included.

    >>> header_of("prompt_tokens")
    'Prompt (tokens)'
    """
    return header(name, COLUMNS[name])


def figure_header(name: str) -> str:
    """The header of a computed figure, unit included.

    >>> figure_header("tokens_per_sec")
    'Per stream (tok/s)'
    """
    return header(name, FIGURES[name])
