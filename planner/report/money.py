"""How a report speaks of money: in which currency, with how many digits, and on what basis."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.columns import near_percent
from planner.formulas import api_cost, cost
from planner.plan.basis import has_estimate
from planner.plan.demand_plan import demand_plan
from planner.plan.sensitivity import outlook_of, swings_of
from planner.report import numbers
from planner.report.numbers import as_percent, plain
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.plan.demand_plan import DemandPlan
    from planner.plan.scenario import Result
    from planner.plan.sensitivity import Outlook, Swing
    from planner.plan.study import Case, Study

_DIGITS: Final = 2
_MOST_DECIMALS: Final = 8
_SMALL: Final = 100.0


@dataclass(frozen=True, slots=True)
class Till:
    """A currency in which amounts of a scenario are told, and what one unit of its own is in it."""

    code: str = ""
    rate: float = 1.0

    def of(self, value: float | None) -> float | None:
        """An amount of the scenario in this currency."""
        return None if value is None else api_cost.converted_cost(value, self.rate)

    def price(self, value: float | None) -> str:
        """A price or a cost of one thing, with the digits that it needs.

        >>> Till("USD").price(1.5723), Till("USD").price(0.01234), Till().price(1.5)
        ('$1.57', '$0.012', '1.50')
        """
        return numbers.money(self.of(value), self.code, self.decimals(value))

    def sum(self, value: float | None) -> str:
        """A sum of a month or a year: whole units where it is more than a hundred.

        >>> Till("USD").sum(38976.4), Till("USD").sum(-38976.4), Till("USD").sum(14.256)
        ('$38,976', '($38,976)', '$14.26')
        """
        told = self.of(value)
        decimals = 0 if told is not None and abs(told) >= _SMALL else self.decimals(value)
        return numbers.money(told, self.code, decimals)

    def short(self, value: float | None) -> str:
        """A sum for a headline.

        >>> Till("USD").short(38976.4)
        '$39k'
        """
        told = self.of(value)
        small = told is not None and abs(told) < _SMALL
        return self.sum(value) if small else numbers.compact_money(told, self.code)

    def decimals(self, *values: float | None) -> int:
        """The decimals at which each of these amounts keeps two digits, the currency's own at least."""
        return decimals_of((self.of(value) for value in values), self.code)


def decimals_of(values: Iterable[float | None], code: str, digits: int = _DIGITS) -> int:
    """The decimals at which each of these amounts keeps so many digits, the currency's own at least.

    >>> decimals_of([1.5, 0.0123], "USD"), decimals_of([235.0], "JPY"), decimals_of([0.5], "JPY")
    (3, 0, 2)
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    needed = digits - 1 - math.floor(math.log10(min(sizes))) if sizes else 0
    own = numbers.currency_decimals(code)
    # What is printed whole, such as 236 yen, needs no more than it has.
    return min(max(needed, own), _MOST_DECIMALS) if sizes and min(sizes) < 1 else own


def till_of(study: Study, result: Result) -> Till:
    """The currency of comparison where a scenario's amounts can be told in it, else the scenario's own."""
    purse, scenario = study.purse, result.scenario
    if not purse.holds(scenario):
        return Till(purse.own(scenario))
    rate = purse.rate(scenario)
    return Till(purse.code, 1.0 if rate is None else rate.rate)


def own_till(study: Study, result: Result) -> Till:
    """A scenario's own currency."""
    return Till(study.purse.own(result.scenario))


def one_till(study: Study, cases: Sequence[Case]) -> Till | None:
    """The currency in which all of these can be told; None where there is no such."""
    codes = {till_of(study, case.result).code for case in cases}
    return Till(codes.pop()) if len(codes) == 1 else None


def told(text: str, code: str) -> str:
    """A unit with the currency in place of the word that stands for it.

    >>> told("money/h", "EUR"), told("tok/s", "EUR"), told("money", "")
    ('EUR/h', 'tok/s', 'money')
    """
    return text.replace("money", code or "money")


def unit_in(name: str, code: str) -> str:
    """The unit of a column or figure, its currency named."""
    return told(unit_of(name).symbol, code)


def percent(share: float) -> str:
    """A share as percent, with decimals where whole percents would say nothing, or not on which side of all it is.

    >>> percent(0.1414), percent(0.0035), percent(0.0)
    ('14%', '0.35%', '0%')
    >>> percent(0.996), percent(1.0), percent(1.0003), percent(1.04)
    ('99.6%', '100%', '100.03%', '104%')
    """
    if 0 < share < _ONE_PERCENT:
        return as_percent(share, decimals_of([share * 100], "", 2))
    return as_percent(share, near_percent(share))


_ONE_PERCENT: Final = 0.01


def has_money(study: Study) -> bool:
    """Whether anything of a study has a price."""
    return study.is_priced


def stamp(study: Study) -> str:
    """What holds of all amounts, or of all rates where nothing has a price, in a few words for each page's foot."""
    if not has_money(study):
        return "core rates: upper bounds (dense models)"
    if not study.purse.code:
        return "amounts without a currency"
    own = set(study.purse.named) - {study.purse.code}
    return f"amounts in {study.purse.code}{' unless said' if own else ''}"


def costed(study: Study) -> list[Case]:
    """The cases whose tokens have a cost."""
    return [case for case in study.cases if case.result.cost_per_m_tokens is not None]


def compared(study: Study) -> list[Case]:
    """The cases whose costs are told in the currency of comparison."""
    return [case for case in costed(study) if study.purse.holds(case.result.scenario)]


def basis(result: Result) -> str:
    """On what a cost rests: the estimate, or an upper bound of speed."""
    return "estimate" if has_estimate(result) else "upper bound of speed"


def allocated(result: Result, *, hours: bool = True) -> str:
    """At which utilisation and over which month a cost is allocated."""
    said = f"allocated at {as_percent(result.busy_share or 0.0)} utilisation"
    return f"{said}, {plain(result.scenario.hours_per_month or 0.0)} h a month" if hours else said


def cost_at(result: Result, share: float) -> float:
    """What a million output tokens cost at another utilisation, in the scenario's own currency."""
    return cost.cost_per_m_tokens(result.hourly_cost_h or 0.0, result.fleet_tokens_per_sec or 0.0, share)


def plan_of(study: Study, case: Case) -> DemandPlan | None:
    """The plan of a case's demand, also where it stands beyond those that a study keeps."""
    if case.number <= len(study.demand):
        return study.demand[case.number - 1]
    return demand_plan(case.result, study.options.day)


def swings(study: Study, case: Case) -> tuple[Swing, ...]:
    """What moves a case's cost; where there are many cases, no other's is worked out."""
    return study.swings[case.number - 1] if len(study.cases) <= _MANY else swings_of(case.result)


def outlook(study: Study, case: Case) -> Outlook | None:
    """A case's best, base and worst cost, as above."""
    return study.outlooks[case.number - 1] if len(study.cases) <= _MANY else outlook_of(case.result)


_MANY: Final = 40


def dated(study: Study, today: dt.date) -> Study:
    """The study with plans of demand that count from a day, unless they do already or there are none."""
    if study.options.today is not None or all(case.result.requests_month is None for case in study.cases):
        return study
    return dataclasses.replace(study, options=dataclasses.replace(study.options, today=today))


def day_of(text: str) -> dt.date:
    """A day of an input."""
    return dt.date.fromisoformat(text)


def between(cheap: str, dear: str) -> str:
    """Two ends of an assumption, their unit said once.

    >>> between("49.3 tok/s", "34.9 tok/s"), between("60%", "30%")
    ('49.3 to 34.9 tok/s', '60% to 30%')
    """
    number, _, unit = cheap.partition(" ")
    first = number if unit and unit == dear.partition(" ")[2] else cheap
    return say_ends(f"{first} to {dear}")


def ends(swing: Swing, code: str) -> tuple[str, str]:
    """The two ends of an assumption; those of a price name its currency."""
    if code and PLUS_MINUS in swing.name:
        return f"{swing.cheap} {code}", f"{swing.dear} {code}"
    return swing.cheap, swing.dear


# Prices move by a share of themselves, and are named with it.
PLUS_MINUS: Final = chr(0xB1)


def say_ends(text: str) -> str:
    """An end of an assumption as the locale writes it."""
    return numbers.in_text(text)
