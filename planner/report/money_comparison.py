"""What the answer by cost rests on: the recommended scenario against the cheapest API, and the year of its demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.recommend import AgainstApi, against_api, prices_stand
from planner.report import money
from planner.report.numbers import as_percent, date, plain
from planner.report.parts import count, cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plan.demand_plan import DemandPlan
    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study
    from planner.report.money import Till

# Converted prices that are the same may differ in their last digits.
_NO_LESS: Final = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Offer:
    """An API: the case that names it, and its charges in the currency of comparison."""

    case: Case
    per_m_output: float
    per_request: float


@dataclass(frozen=True, slots=True)
class Year:
    """Twelve months of demand in the currency of comparison; the API's bill and what is saved where one is compared."""

    plan: DemandPlan
    cost: float
    once: float
    bill: float | None

    @property
    def saved(self) -> float | None:
        """The bill less the cost and what the change costs once."""
        return None if self.bill is None else self.bill - self.cost - self.once


@dataclass(frozen=True, slots=True)
class Comparison:
    """The recommended scenario, the cheapest API for the same requests, and how one stands against the other.

    ``share`` is the utilisation from which on the scenario costs less, ``bill`` what the API charges for a month's
    output. Amounts are in the currency of comparison, which ``told`` writes; ``till`` writes the scenario's own.
    """

    best: Case
    till: Till
    offer: Offer | None
    stands: AgainstApi
    share: float | None
    bill: float | None
    saving: float | None
    year: Year | None

    @property
    def told(self) -> Till:
        """The currency of comparison."""
        return money.Till(self.till.code)

    @property
    def by_year(self) -> bool:
        """Whether a year's demand is compared, which then decides."""
        return self.year is not None and self.year.saved is not None

    @property
    def pays(self) -> bool | None:
        """Whether running it costs less than the API: over the year of its demand, else at its utilisation."""
        if self.year is not None and self.year.saved is not None:
            return self.year.saved >= 0
        return None if self.stands is AgainstApi.UNKNOWN else self.stands is AgainstApi.CHEAPER

    @property
    def turned(self) -> bool:
        """Whether the year says otherwise than the utilisation by which a token is priced."""
        return self.by_year and self.pays is not (self.stands is AgainstApi.CHEAPER)

    @property
    def api(self) -> str:
        """The API in words: the scenario's own needs no name."""
        own = self.offer is None or self.offer.case is self.best
        return "the API" if own or self.offer is None else f"the API of {self.offer.case.label}"


def comparison(study: Study) -> Comparison | None:
    """What the answer rests on; None where nothing is recommended."""
    if study.recommendation.best is None:
        return None
    best = study.case_of(study.recommendation.best)
    result, till = best.result, money.till_of(study, best.result)
    offer = held_against(study, best)
    year = _year(study, best, till, offer)
    if offer is None or offer.case is best:
        bill, saving = till.of(result.api_cost_month), till.of(result.saving_cost_month)
        return Comparison(best, till, offer, against_api(result), result.break_even_share, bill, saving, year)
    own = till.of(result.cost_per_m_tokens) or 0.0
    share = (result.busy_share or 0.0) * own / offer.per_m_output if offer.per_m_output else None
    bill = (result.monthly_capacity_m_tokens or 0.0) * offer.per_m_output
    saving = bill - (till.of(result.monthly_cost) or 0.0)
    return Comparison(best, till, offer, prices_stand(own, offer.per_m_output, share), share, bill, saving, year)


def held_against(study: Study, best: Case) -> Offer | None:
    """The API that a case is held against: its own, unless another row's for the same model and tokens beats the case.

    A case without an API of its own is held against the cheapest of the workbook for the same requests.
    """
    found = _offers(study, lambda served: served == _served(best.result))
    least = min(found, key=lambda offer: offer.per_m_output, default=None)
    own = next((offer for offer in found if offer.case is best), None)
    if own is None or least is None:
        return least
    cost = study.purse.amount(best.result, "cost_per_m_tokens") or 0.0
    return least if least.per_m_output < min(cost, own.per_m_output * _NO_LESS) else own


def _offers(study: Study, alike: Callable[[tuple[object, ...]], bool]) -> list[Offer]:
    """The APIs of the workbook that serve such requests."""
    found = []
    for case in study.cases:
        if case.result.api_request_cost is None or not alike(_served(case.result)):
            continue
        each, request = (
            study.purse.amount(case.result, name) for name in ("api_cost_per_m_output", "api_request_cost")
        )
        if each is not None and request is not None:
            found.append(Offer(case, each, request))
    return found


def _served(result: Result) -> tuple[object, ...]:
    """What a request is: the model that answers it, and its tokens of each kind."""
    scenario = result.scenario
    tokens = (scenario.cached_tokens or 0.0, scenario.cache_write_tokens or 0.0)
    return (scenario.params_b or scenario.model, scenario.prompt_tokens, scenario.output_tokens, *tokens)


def _year(study: Study, best: Case, till: Till, offer: Offer | None) -> Year | None:
    plan = money.plan_of(study, best)
    cost = None if plan is None else till.of(plan.total_cost)
    if plan is None or cost is None:
        return None
    bill = None if offer is None else offer.per_request * sum(month.requests_month for month in plan.months)
    return Year(plan, cost, till.of(best.result.scenario.one_off_cost) or 0.0, bill)


def decision(study: Study, found: Comparison) -> str:
    """What is asked of the reader, in one sentence."""
    label, year = found.best.label, found.year
    if found.pays is False:
        if found.stands is AgainstApi.NEVER:
            return f"Buy the output from {found.api}; do not run {label}."
        if year is not None and year.bill is not None:
            bill, less = found.told.sum(year.bill), found.told.sum(-(year.saved or 0.0))
            return f"Buy the output from {found.api}: {bill} for its demand of twelve months, {less} less than {label}."
        return (
            f"Buy the output from {found.api} until {label} is busy {money.percent(found.share or 0.0)} of its hours."
        )
    result, till = found.best.result, found.till
    once = result.scenario.one_off_cost
    also = f", and {till.sum(once)} once" if once else ""
    if year is None:
        bought = ""
        if result.capex_cost:
            devices = count(int(result.fleet_devices or 1), "device")
            bought = f", and the purchase of {devices} for {till.sum(result.capex_cost)}"
        return f"Approve {label} at {till.sum(result.monthly_cost)} a month{bought}{also}."
    first = year.plan.months[0]
    return (
        f"Approve {label} for its demand of twelve months: {count(int(first.paid_devices), 'device')} at "
        f"{till.sum(first.monthly_cost)} in {first.first:%B %Y}, {found.told.sum(year.cost)} in all"
        f"{_purchase(result, year.plan, till)}{also}{_orders(study, year.plan)}."
    )


def _purchase(result: Result, plan: DemandPlan, till: Till) -> str:
    """What the devices of a plan are bought for; nothing where they are rented."""
    if not result.capex_cost or not result.fleet_devices:
        return ""
    each = result.capex_cost / result.fleet_devices
    first, most = plan.months[0], max(plan.months, key=lambda month: month.paid_devices)
    said = f"; a purchase of {count(int(first.paid_devices), 'device')} for {till.sum(each * first.paid_devices)}"
    if most.paid_devices > first.paid_devices:
        said += f", {plain(most.paid_devices)} for {till.sum(each * most.paid_devices)} by {most.first:%B %Y}"
    return said


def _orders(study: Study, plan: DemandPlan) -> str:
    """Which devices are ordered until when; a day that is over is said to be."""
    if not plan.orders:
        return ""
    today = study.options.today
    late = [order for order in plan.orders if today is not None and order.order < today]
    first, rest = late or plan.orders[:1], plan.orders[len(late) or 1 :]
    joint = " and " if len(late) <= _TWO else " to "
    days = joint.join(dict.fromkeys(date(order.order) for order in (first[0], first[-1])))
    past = "" if not late else ", which is past" if len(late) == 1 else ", which are past"
    said = f"; order {count(int(sum(order.devices for order in first)), 'further device')} by {days}{past}"
    more = sum(order.devices for order in rest)
    return f"{said}, {plain(more)} more by {date(rest[-1].order)}" if more else said


_TWO: Final = 2


def demand_words(found: Comparison) -> str:
    """What twelve months of its demand come to; nothing where none is named or no API is compared."""
    year = found.year
    if year is None or year.bill is None or year.saved is None:
        return ""
    also = f" and {found.told.sum(year.once)} once" if year.once else ""
    ends = "saves" if year.saved >= 0 else "costs more by"
    said = (
        f"For its own demand of twelve months it costs {found.told.sum(year.cost)}{also}, {found.api} "
        f"{found.told.sum(year.bill)}: running it {ends} {found.told.sum(abs(year.saved))}."
    )
    if found.turned:
        busy = as_percent(found.best.result.busy_share or 0.0)
        said += f" The answer follows this demand, not the {busy} utilisation at which a token is priced."
    return said


def other_apis(study: Study, found: Comparison) -> str:
    """The cheapest API of the workbook for the same tokens, where it is another row's than the one compared."""
    mix = _served(found.best.result)[1:]
    same = _offers(study, lambda served: served[1:] == mix)
    least = min(same, key=lambda offer: offer.per_m_output, default=None)
    compared = found.offer
    if least is not None and compared is not None and least.per_m_output >= compared.per_m_output * _NO_LESS:
        least = compared
    if least is None or least.case is found.best:
        return ""
    name = cut(least.case.result.scenario.api or least.case.name, 32)
    model = "" if _served(least.case.result) == _served(found.best.result) else ", of another model"
    return (
        f"The cheapest API that a row names for this mix of tokens, that of {least.case.label}"
        f"{f' ({name})' if name else ''}{model}, charges {found.told.price(least.per_m_output)} per million "
        "output tokens."
    )
