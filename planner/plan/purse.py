"""The one currency in which scenarios are compared, and what a row's amounts are in it.

A row's figures stay in its own currency. Amounts in different currencies are compared only by a rate that is given with
its day; without one a row stands alone.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from planner.currencies import magnitude
from planner.formulas import api_cost
from planner.issues import Issue, Severity
from planner.plan.scenario import COLUMNS, header_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.plan.scenario import Result, Scenario


@dataclass(frozen=True, slots=True)
class Rate:
    """An exchange rate: units of ``to`` for one of ``own``, and the day that it is of."""

    own: str
    to: str
    rate: float
    day: str


@dataclass(frozen=True, slots=True)
class Purse:
    """The currency of comparison, empty where none is named; ``named`` are those that rows name."""

    code: str = ""
    named: tuple[str, ...] = ()

    def own(self, scenario: Scenario) -> str:
        """The currency of a row's prices: its own, else the only one that the workbook names."""
        if scenario.currency:
            return scenario.currency
        return self.code if set(self.named) <= {self.code} else ""

    def rate(self, scenario: Scenario) -> Rate | None:
        """The rate by which a row's amounts are converted; None where they need none, or none is given that serves."""
        own, rate, to = self.own(scenario), scenario.exchange_rate, scenario.exchange_currency
        if own == self.code or not own or rate is None or not scenario.exchange_day:
            return None
        if (to and to != self.code) or not is_likely_rate(own, self.code, rate):
            return None
        return Rate(own, self.code, rate, scenario.exchange_day)

    def holds(self, scenario: Scenario) -> bool:
        """Whether a row's amounts can be told in this currency."""
        return self.own(scenario) == self.code or self.rate(scenario) is not None

    def amount(self, result: Result, figure: str) -> float | None:
        """A figure of money in this currency; None where it is not known, or in another without a rate."""
        return self.of(result.scenario, getattr(result, figure))

    def of(self, scenario: Scenario, value: float | None) -> float | None:
        """An amount of a row in this currency; None where it is not known, or in another without a rate."""
        if value is None or not self.holds(scenario):
            return None
        rate = self.rate(scenario)
        return value if rate is None else api_cost.converted_cost(value, rate.rate)


def is_priced(scenario: Scenario) -> bool:
    """Whether a scenario has a price of its own hardware or of an API."""
    return _prices_of(scenario) != _NO_PRICES


_PRICES: Final = ("device_cost_h", "instance_cost_h", "device_capex_cost", "input_cost_m", "output_cost_m")
_prices_of: Final = attrgetter(*_PRICES)
_NO_PRICES: Final = (None,) * len(_PRICES)


def is_likely_rate(own: str, to: str, rate: float) -> bool:
    """Whether a rate is of the size that the two currencies' units let expect; the wrong way round it mostly is not."""
    expected = magnitude(to) / magnitude(own)
    return expected / _LIKELY <= rate <= expected * _LIKELY


# The sizes of units are known to the next power of ten.
_LIKELY: Final = 30.0
# Rates of the same two currencies differ by the day, not by so much.
_SAME_RATE: Final = 0.02


def purse_of(scenarios: Iterable[Scenario], wanted: str = "") -> Purse:
    """The purse of scenarios: in the wanted currency, else in the first that a row names and does not convert."""
    priced = [s for s in scenarios if s.currency and is_priced(s)]
    named = tuple(dict.fromkeys(s.currency for s in priced if s.currency))
    kept = (s.currency for s in priced if s.currency and s.exchange_rate is None)
    return Purse(wanted or next(kept, next(iter(named), "")), named)


def purse_issues(purse: Purse, results: Sequence[Result], today: dt.date) -> list[tuple[int, Issue]]:
    """What stands against comparing amounts, each with the number of its row among these."""
    priced = [(number, result.scenario) for number, result in enumerate(results) if is_priced(result.scenario)]
    if not priced:
        return []
    found: list[tuple[int, Issue | None]] = []
    if not purse.code:
        said = _issue(Severity.NOTE, "No currency is named, so amounts stand without one", "Type its code")
        found.append((priced[0][0], said))
    elif not purse.named:
        problem = f"No row names its currency, so prices are taken as {purse.code}"
        found.append((priced[0][0], _issue(Severity.WARNING, problem, f"Type it in {header_of('currency')}")))
    rates: dict[str, float] = {}
    for number, scenario in priced:
        if purse.code and purse.named:
            found.append(
                (number, _not_held(purse, scenario) or _odd(purse, scenario) or _other(purse, scenario, rates))
            )
        found.append((number, _ahead(scenario, today)))
    return [(number, issue) for number, issue in found if issue is not None]


def _not_held(purse: Purse, scenario: Scenario) -> Issue | None:
    if purse.holds(scenario):
        return None
    own, to, rate = purse.own(scenario), scenario.exchange_currency, scenario.exchange_rate
    if not own:
        problem = f"Currency is blank beside rows in {' and '.join(purse.named)}, so its amounts are not compared"
        return _issue(Severity.WARNING, problem, "Type the currency's code")
    if rate is not None and to and to != purse.code:
        problem = f"The exchange rate leads to {to}, the comparison is in {purse.code}, so amounts are not compared"
        return _issue(Severity.WARNING, problem, f"Give the rate to {purse.code}", "exchange_currency")
    if rate is not None and not is_likely_rate(own, purse.code, rate):
        problem = (
            f"{rate:,.6g} {purse.code} for one {own} is far from any known rate (the other way round it is "
            f"{1 / rate:,.6g}), so amounts are not compared"
        )
        return _issue(Severity.WARNING, problem, f"Type how many {purse.code} are one {own}", "exchange_rate")
    lacks = "an exchange rate" if rate is None else "the day of the exchange rate"
    problem = (
        f"Prices are in {own}, the comparison is in {purse.code}, and {lacks} is missing, so they are not compared"
    )
    wanted = "exchange_rate" if rate is None else "exchange_day"
    advice = f"Fill {header_of('exchange_rate')} ({purse.code} for one {own}) and {header_of('exchange_day')}"
    return _issue(Severity.WARNING, problem, advice, wanted)


def _odd(purse: Purse, scenario: Scenario) -> Issue | None:
    if purse.own(scenario) != purse.code or scenario.exchange_rate in {None, 1.0}:
        return None
    problem = f"An exchange rate is given, but prices and comparison are both in {purse.code}, so it is not used"
    return _issue(Severity.NOTE, problem, f"Name the prices' own currency in {header_of('currency')}", "exchange_rate")


def _other(purse: Purse, scenario: Scenario, rates: dict[str, float]) -> Issue | None:
    """What to say of a rate that is used: that it does not say into what, or that another row has another one."""
    rate = purse.rate(scenario)
    if rate is None:
        return None
    if purse.code not in purse.named and not scenario.exchange_currency:
        problem = f"The exchange rate does not say into which currency; it is taken as {rate.own} to {rate.to}"
        return _issue(Severity.WARNING, problem, f"Name it in {header_of('exchange_currency')}", "exchange_currency")
    first = rates.setdefault(rate.own, rate.rate)
    if abs(rate.rate - first) <= _SAME_RATE * first:
        return None
    problem = f"One {rate.own} is {rate.rate:,.6g} {rate.to} here and {first:,.6g} in a row above"
    return _issue(Severity.WARNING, problem, "Use one rate of one day for all rows", "exchange_rate")


def _ahead(scenario: Scenario, today: dt.date) -> Issue | None:
    """What to say of a quote or a rate of a day to come."""
    for name in ("price_day", "exchange_day"):
        day = getattr(scenario, name)
        if day and dt.date.fromisoformat(day) > today:
            problem = f"{COLUMNS[name].label} is {day}, a day to come"
            return Issue(
                severity=Severity.WARNING, code="day-ahead", field=name, problem=problem, advice="Look at the year"
            )
    return None


def _issue(severity: Severity, problem: str, advice: str, field: str = "currency") -> Issue:
    return Issue(severity=severity, code="currency", field=field, problem=problem, advice=advice)
