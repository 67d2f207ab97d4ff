"""The pages of money: cost and break-even, demand, sensitivity; what has nothing to show is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import has_estimate
from planner.plan.recommend import AgainstApi, against_api
from planner.report import money, money_figures, money_heat, money_plans, money_register, money_tables
from planner.report.answer import cost_bars
from planner.report.numbers import as_percent, plain
from planner.report.parts import Table, count, cut, in_words
from planner.report.tables import MOST_OF_MANY, MOST_ROWS, most_variant_rows, printed
from planner.report.worked import Worked, worked_money, worked_plan

if TYPE_CHECKING:
    import datetime as dt

    from planner.plan.study import Study
    from planner.report.answer import Bars
    from planner.report.money_figures import CurveChart, MonthBars, Stacked, Tornado
    from planner.report.money_heat import CostMap

MOST_PLANS: Final = 2


@dataclass(frozen=True, slots=True)
class Cost:
    """The section of cost: what it says first, its charts and tables; an empty table is not set."""

    lede: str
    glance: Table
    utilisation: CurveChart | None
    volume: CurveChart | None
    idle: Stacked | None
    by_line: Stacked | None
    maps: tuple[CostMap, ...]
    lines: Table
    per_unit: Table
    owned: Table
    api_prices: Table
    api_costs: Table
    rates: Table
    summary: Table


@dataclass(frozen=True, slots=True)
class Plan:
    """A scenario's demand: twelve months as a table and as charts."""

    table: Table
    unit: str
    devices: MonthBars
    cost: CurveChart | None


@dataclass(frozen=True, slots=True)
class Demand:
    """The section of demand."""

    lede: str
    plans: tuple[Plan, ...]
    all: Table
    orders: Table


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The section of what moves the cost."""

    lede: str
    tornado: Tornado
    swings: Table
    outlooks: Table


@dataclass(frozen=True, slots=True)
class Money:
    """All that a report says of money, the answer and its tiles apart."""

    bars: Bars | None
    cost: Cost
    demand: Demand | None
    sensitivity: Sensitivity | None
    prices: Table
    worked: tuple[Worked, ...]
    worked_lede: str

    @property
    def ledes(self) -> tuple[tuple[str, str, str], ...]:
        """The sections that there are: their keys, titles, and what each says first."""
        found = [("cost", "Cost and break-even", self.cost.lede)]
        if self.demand is not None:
            found.append(("demand", "Twelve months of demand", self.demand.lede))
        if self.sensitivity is not None:
            found.append(("sensitivity", "Sensitivity", self.sensitivity.lede))
        return tuple(found)


def money_pages(study: Study, today: dt.date) -> Money | None:
    """The pages of money of a day's report; None where nothing has a price."""
    if not money.has_money(study):
        return None
    lines, lede = _worked(study)
    return Money(
        bars=cost_bars(study),
        cost=_cost(study, today),
        demand=_demand(study, today),
        sensitivity=_sensitivity(study),
        prices=money_register.register(study, today),
        worked=lines,
        worked_lede=lede,
    )


def _worked(study: Study) -> tuple[tuple[Worked, ...], str]:
    """The formulas of money with the numbers of the case that the charts are about, and whose they are."""
    case = money_figures.focus(study)
    if case is None:
        return (), ""
    till, own = money.till_of(study, case.result), money.own_till(study, case.result)
    lede = (
        f"The values of {case.label}, {cut(case.name, 48)}, {f'in {own.code}, ' if own.code else ''}to seven "
        f"significant digits. The cost rests on {'its estimate' if has_estimate(case.result) else 'the core'}."
    )
    if till != own:
        lede += f" Elsewhere its amounts are converted at {plain(till.rate)} {till.code} for 1 {own.code}."
    return worked_money(case, own.code) + worked_plan(case), lede


def _cost(study: Study, today: dt.date) -> Cost:
    first = money_figures.focus(study)
    maps = [money_heat.by_scenario(study)]
    if first is not None:
        maps.append(money_heat.by_batch(study, first))
    return Cost(
        lede=_cost_lede(study),
        glance=money_tables.glance(study),
        utilisation=money_figures.utilisation(study),
        volume=money_figures.volume(study),
        idle=money_figures.idle(study),
        by_line=money_figures.by_line(study),
        maps=tuple(found for found in maps if found is not None),
        lines=money_tables.lines(study),
        per_unit=money_tables.per_unit(study),
        owned=money_tables.owned(study),
        api_prices=money_tables.api_prices(study),
        api_costs=money_tables.api_costs(study),
        rates=money_tables.rates(study, today),
        summary=money_tables.summary(study),
    )


def _cost_lede(study: Study) -> str:
    """What the section comes to, in two or three sentences."""
    first = money_figures.focus(study)
    if first is None:
        priced = any(case.result.hourly_cost_h is not None for case in study.cases)
        if priced:
            return "The hardware has a price, but no utilisation is given, so that no token has a cost."
        return "What an API charges at each scenario's own mix of tokens. No price of hardware is given."
    result, till = first.result, money.till_of(study, first.result)
    own, busy = till.price(result.cost_per_m_tokens), as_percent(result.busy_share or 0.0)
    said = [f"{first.label} costs {own} per million output tokens at {busy} utilisation."]
    share = result.break_even_share
    match against_api(result):
        case AgainstApi.CHEAPER if share is not None:
            room = plain(round(((result.busy_share or 0.0) - share) * 100))
            said.append(
                f"It beats the API above {money.percent(share)}: a margin of safety of {room} percentage points."
            )
        case AgainstApi.DEARER if share is not None:
            said.append(f"The API is cheaper below {money.percent(share)}.")
        case AgainstApi.NEVER:
            said.append("The API is cheaper at any utilisation of this hardware.")
    if lost := money_figures.beaten(study):
        said.append(lost if against_api(result) is not AgainstApi.NEVER else "")
    return " ".join(text for text in said if text)


def _demand(study: Study, today: dt.date) -> Demand | None:
    found, able = money_plans.planned(study, max(MOST_PLANS, most_plans(study)))
    if not found:
        return None
    plans = []
    for case, plan in found[:MOST_PLANS]:
        till = money.till_of(study, case.result)
        plans.append(
            Plan(
                money_plans.months(case, plan, till),
                money_plans.unit_of_months(case, plan, till),
                money_figures.devices_by_month(case, plan),
                money_figures.cost_by_month(case, plan, till),
            )
        )
    case, plan = found[0]
    scenario = case.result.scenario
    growth, peak = scenario.growth_share_month or 0.0, scenario.peak_to_average or 1.0
    more = f"{as_percent(abs(growth), 1)} {'more' if growth > 0 else 'fewer'}" if growth else "as many"
    hour = f"the peak, {plain(peak)} times the average" if peak > 1 else "the average hour"
    room = f", with {as_percent(scenario.headroom)} headroom" if scenario.headroom else ""
    lede = (
        f"{case.label} is asked {plain(round(plan.months[0].requests_month))} requests in its first month, and {more} "
        f"each month. Devices are bought in whole deployments for {hour}{room}, whatever the scenario itself has."
    )
    if full := money_plans.crowded(case.result, plan):
        lede += f" {full}"
    if able > MOST_PLANS:
        lede += f" The months of {in_words(MOST_PLANS)} of {count(able, 'plan')} are printed."
    every = money_plans.plans(study, found[: most_plans(study)]) if len(found) > 1 else Table((), ())
    return Demand(lede, tuple(plans), every, money_plans.orders(found[:MOST_PLANS], today))


def most_plans(study: Study) -> int:
    """How many plans are printed as a line each."""
    return MOST_ROWS if len(study.cases) <= MOST_ROWS else MOST_OF_MANY


def _sensitivity(study: Study) -> Sensitivity | None:
    case, chart = money_figures.focus(study), money_figures.tornado(study)
    if case is None or chart is None:
        return None
    lede = (
        "One assumption moves at a time between its two ends, and the scenario is worked out anew at each. The "
        "range of the rate is that of measurements, or of the efficiency where no estimate stands; the other swings "
        "are planner's own. Best and worst case move all of them but what is chosen: batch, prompt and output."
    )
    able = {each.number for each in money.costed(study)}
    first = [each for each in printed(study, most_variant_rows(study)) if each.number in able]
    return Sensitivity(lede, chart, money_plans.swings(study, case), money_plans.outlooks(study, first))
