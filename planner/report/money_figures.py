"""The charts of money, as data: cost against utilisation and volume, what idles, what moves the cost, and demand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import fits
from planner.plan.recommend import AgainstApi, against_api, prices_stand
from planner.report import money
from planner.report.money_plans import month_name
from planner.report.money_tables import LINES
from planner.report.numbers import as_percent, plain
from planner.report.parts import count, in_words, labels, say, sentence
from planner.report.shapes import Curve, Figure, Gauge, Spot, Stack
from planner.report.tables import ranked

if TYPE_CHECKING:
    from planner.plan.demand_plan import DemandPlan
    from planner.plan.study import Case, Study
    from planner.report.money import Till

MOST_CURVES: Final = 3
MOST_ROWS: Final = 12
_PER_M: Final = "per million output tokens"
# Above the highest level that must be seen.
_ROOM: Final = 1.25
_STEPS: Final = 100


@dataclass(frozen=True, slots=True)
class CurveChart:
    """A chart of curves: what it shows, over which scale, and its words."""

    curves: tuple[Curve, ...]
    spots: tuple[Spot, ...]
    figure: Figure
    unit: str
    across: str
    least_x: float
    most_x: float
    most_y: float
    x_ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stacked:
    """A chart of stacked bars: its rows, the names of their parts, its words."""

    rows: tuple[Stack, ...]
    names: tuple[str, ...]
    figure: Figure


@dataclass(frozen=True, slots=True)
class MonthBars:
    """A bar for each month, and those that stand out."""

    values: tuple[float, ...]
    names: tuple[str, ...]
    marked: tuple[int, ...]
    figure: Figure


@dataclass(frozen=True, slots=True)
class Tornado:
    """What moves a cost: the ends of each assumption, the base, and its words."""

    rows: tuple[Gauge, ...]
    base: float
    base_text: str
    till: Till
    decimals: int
    figure: Figure


def focus(study: Study) -> Case | None:
    """The case that charts are about: the recommended one, else the cheapest that is compared, else the first."""
    best = study.recommendation.best
    if best is not None and best.cost_per_m_tokens is not None:
        return study.case_of(best)
    fitting = [case for case in money.compared(study) if fits(case.result) is not False] or money.compared(study)
    cheapest = min(
        fitting, key=lambda case: study.purse.amount(case.result, "cost_per_m_tokens") or math.inf, default=None
    )
    return cheapest or next(iter(money.costed(study)), None)


def _few(study: Study, first: Case) -> list[Case]:
    """The case of the charts and those that follow it, in the same currency."""
    able = {case.number for case in money.compared(study)}
    rest = [case for case in ranked(study) if case.number in able and case is not first]
    return [first, *(rest if first.number in able else [])][:MOST_CURVES]


def _same_api(study: Study, case: Case, first: Case) -> bool:
    known = [money.till_of(study, each.result).of(each.result.api_cost_per_m_output) for each in (case, first)]
    return None not in known and math.isclose(known[0] or 0.0, known[1] or 0.0)


def utilisation(study: Study) -> CurveChart | None:
    """Cost against utilisation, with the API's line and where both are the same; None where no token has a cost."""
    first = focus(study)
    if first is None:
        return None
    cases, till, result = _few(study, first), money.till_of(study, first.result), first.result
    api = till.of(result.api_cost_per_m_output)
    curves, spots = [], []
    planned = 0.0
    for case in cases:
        own = money.till_of(study, case.result)
        points = tuple(
            (step / _STEPS, own.of(money.cost_at(case.result, step / _STEPS)) or 0.0) for step in range(1, _STEPS + 1)
        )
        curves.append(Curve(case.label, points, strong=case is first))
        planned = max(planned, own.of(case.result.cost_per_m_tokens) or 0.0)
        share = case.result.break_even_share
        if api is not None and share is not None and share <= 1 and _same_api(study, case, first):
            spots.append(Spot(share, api, money.percent(share)))
    busy = result.busy_share or 1.0
    spots.append(
        Spot(busy, till.of(result.cost_per_m_tokens) or 0.0, f"{first.label} planned, {as_percent(busy)}", planned=True)
    )
    if api is not None:
        said = till.price(result.api_cost_per_m_output)
        curves.append(Curve(f"API {said}", ((0.0, api), (1.0, api)), against=True))
    return CurveChart(
        tuple(curves),
        tuple(spots),
        _utilisation_figure(first, till),
        f"{till.code or 'money'} {_PER_M}",
        "utilisation",
        0.0,
        1.0,
        _ROOM * max(planned, api or 0.0),
        tuple((step / 5, as_percent(step / 5)) for step in range(6)),
    )


def _utilisation_figure(first: Case, till: Till) -> Figure:
    result = first.result
    share = result.break_even_share
    own, used = till.price(result.cost_per_m_tokens), till.price(result.used_cost_per_m_tokens)
    at = as_percent(result.busy_share or 0.0)
    # Whether it fits is said elsewhere; here prices are compared.
    match prices_stand(result.cost_per_m_tokens, result.api_cost_per_m_output, share):
        case AgainstApi.NEVER:
            title = f"The API is cheaper than {first.label} at every utilisation"
        case AgainstApi.UNKNOWN:
            title = f"{first.label} costs {own} at {at}, {used} at full load"
        case _:
            title = f"{first.label} beats the API from {money.percent(share or 0.0)} utilisation on"
    return Figure(
        title,
        f"Cost {_PER_M}{f', {till.code}' if till.code else ''}; dashed: the API",
        f"Cost {_PER_M} falls with utilisation. {title}; planned {at} at {own}.",
    )


def volume(study: Study) -> CurveChart | None:
    """A month's cost against its output, own and by API; None where no API is compared."""
    first = focus(study)
    if first is None or not first.result.break_even_m_tokens:
        return None
    result, till = first.result, money.till_of(study, first.result)
    cases = [case for case in _few(study, first) if _same_api(study, case, first)]
    full = max(case.result.full_capacity_m_tokens or 0.0 for case in cases)
    never = (result.break_even_share or 0.0) > 1
    most = max(full, min((result.break_even_m_tokens or 0.0) * 1.1, full * 2.5)) if never else full
    api = till.of(result.api_cost_per_m_output) or 0.0
    curves, spots, tops = [], [], []
    for case in cases:
        monthly = money.till_of(study, case.result).of(case.result.monthly_cost) or 0.0
        tops.append(monthly)
        end = case.result.full_capacity_m_tokens or 0.0
        curves.append(Curve(case.label, ((0.0, monthly), (end, monthly)), strong=case is first))
        meets = case.result.break_even_m_tokens or 0.0
        if (case.result.break_even_share or 0.0) <= 1:
            words = f"{say('break_even_m_tokens', meets)} M" if case is first else ""
            spots.append(Spot(meets, monthly, words))
    planned = result.monthly_capacity_m_tokens or 0.0
    spots.append(Spot(planned, tops[0], "planned", planned=True))
    curves.append(Curve("API", ((0.0, 0.0), (most, api * most)), against=True))
    if never:
        title = f"{first.label} is full before the API costs as much"
    else:
        title = f"Break-even at {say('break_even_m_tokens', result.break_even_m_tokens)} M output tokens a month"
    figure = Figure(
        title,
        f"Cost of a month{f', {till.code}' if till.code else ''}; a line ends where its devices are full",
        f"Cost of a month against its output: own level, by API rising. {title}.",
    )
    highest = _ROOM * max(*tops, min(api * most, 2.5 * max(tops)))
    unit, across = f"{till.code or 'money'} a month", "M output tokens a month"
    return CurveChart(tuple(curves), tuple(spots), figure, unit, across, 0.0, most, highest)


def _shown(study: Study) -> tuple[list[Case], str]:
    """The cases of a chart of rows: all with a cost, or the best ones, and how many those are."""
    cases = [case for case in study.cases if case.result.hourly_cost_h is not None]
    if len(cases) <= MOST_ROWS:
        return cases, ""
    able = {case.number for case in cases}
    first = [case for case in ranked(study) if case.number in able][:MOST_ROWS]
    return first, f"; the {len(first)} best of {plain(len(cases))}"


def idle(study: Study) -> Stacked | None:
    """How much of each scenario's cost is used and how much idles; None where no utilisation is known."""
    cases, which = _shown(study)
    cases = [case for case in cases if case.result.busy_share is not None]
    if not cases:
        return None
    rows = tuple(
        Stack(
            f"{case.label} {case.name}",
            (case.result.used_cost_h or 0.0, case.result.idle_cost_h or 0.0),
            f"{money.till_of(study, case.result).sum(case.result.monthly_cost)} a month",
            strong=case.result is study.recommendation.best,
        )
        for case in cases
    )
    first = focus(study) or cases[0]
    share = as_percent(1 - (first.result.busy_share or 0.0))
    figure = Figure(
        f"{share} of what {first.label} costs is idle",
        f"Shares of the allocated cost{which}: used is what the busy hours cost, idle is the rest",
        f"Used and idle share of each scenario's cost. {share} of {first.label} is idle.",
    )
    return Stacked(rows, ("used", "idle"), figure)


def by_line(study: Study) -> Stacked | None:
    """What each scenario's cost is made of; None where it is of one line."""
    cases, which = _shown(study)
    cases = [case for case in cases if sum(bool(getattr(case.result, name)) for name, _ in LINES) > 1]
    if not cases:
        return None
    rows = tuple(
        Stack(
            f"{case.label} {case.name}",
            tuple(getattr(case.result, name) or 0.0 for name, _ in LINES),
            f"{money.till_of(study, case.result).sum(case.result.monthly_cost)} a month",
            strong=case.result is study.recommendation.best,
        )
        for case in cases
    )
    first = next((case for case in cases if case is focus(study)), cases[0])
    parts = [(getattr(first.result, name) or 0.0, label) for name, label in LINES]
    most, label = max(parts)
    share = as_percent(most / (first.result.hourly_cost_h or 1.0))
    figure = Figure(
        f"{label} is {share} of what {first.label} costs",
        f"Shares of the allocated cost by line, where there are several{which}",
        f"Cost of each scenario by line. {label} is {share} of {first.label}.",
    )
    return Stacked(rows, tuple(label.lower() for _, label in LINES), figure)


def tornado(study: Study) -> Tornado | None:
    """What moves the cost of the case of the charts; None where nothing does."""
    case = focus(study)
    found = money.swings(study, case) if case else ()
    if case is None or not found:
        return None
    result, till = case.result, money.till_of(study, case.result)
    base, outlook = till.of(result.cost_per_m_tokens) or 0.0, money.outlook(study, case)
    rows = tuple(
        Gauge(
            swing.name,
            till.of(swing.cheap_cost) or 0.0,
            till.of(swing.dear_cost) or 0.0,
            money.between(*money.ends(swing, money.own_till(study, result).code)),
        )
        for swing in found
    )
    widest = found[0]
    ends = f"{till.price(widest.cheap_cost)} to {till.price(widest.dear_cost)}"
    subtitle = f"Cost {_PER_M}{f', {till.code}' if till.code else ''}, when one assumption moves and the others stay"
    subtitle += "; hatched: dearer"
    if outlook is not None:
        best, worst = till.price(outlook.best_cost), till.price(outlook.worst_cost)
        subtitle += f". All together: best case {best}, worst {worst}"
    title = f"{sentence(_bare(widest.name))} moves {case.label} most: {ends}"
    figure = Figure(title, subtitle, f"Cost {_PER_M} at the two ends of each assumption. {title}.")
    decimals = till.decimals(*(value for swing in found for value in (swing.cheap_cost, swing.dear_cost)))
    return Tornado(rows, base, f"base {till.price(result.cost_per_m_tokens)}", till, decimals, figure)


def _bare(name: str) -> str:
    """An assumption's name without by how much it moves and on what it rests."""
    return name.partition(chr(0xB1))[0].partition(",")[0].strip()


def devices_by_month(case: Case, plan: DemandPlan) -> MonthBars:
    """The devices of each month; those months stand out in which further ones must serve."""
    values = tuple(month.paid_devices for month in plan.months)
    marked = tuple(n for n in range(1, len(values)) if values[n] > values[n - 1])
    if values[0] == values[-1] == max(values):
        title = f"{sentence(count(int(values[0]), 'device'))} serve{'s' if values[0] == 1 else ''} all twelve months"
    elif values[-1] > values[0]:
        title = f"{case.label} grows from {plain(values[0])} to {plain(values[-1])} devices"
    else:
        title = f"{case.label} needs {plain(max(values))} devices at most"
    figure = Figure(
        title,
        "Devices paid for, in whole deployments; dark: more than in the month before",
        f"Devices of {case.label} in each of twelve months. {title}.",
    )
    return MonthBars(values, tuple(f"{month.first:%b}" for month in plan.months), marked, figure)


def cost_by_month(case: Case, plan: DemandPlan, till: Till) -> CurveChart | None:
    """A month's cost, own and by API, over twelve months; None where no month has a cost."""
    own = [till.of(month.monthly_cost) for month in plan.months]
    bills = [till.of(month.api_cost_month) for month in plan.months]
    if None in own:
        return None
    curves = [Curve(case.label, tuple((n, value or 0.0) for n, value in enumerate(own, 1)), strong=True)]
    spots = []
    values = [value or 0.0 for value in own]
    if None in bills:
        low, high = till.sum(plan.months[0].monthly_cost), till.sum(plan.months[-1].monthly_cost)
        title = f"A month costs {low}" if low == high else f"A month costs {low}, in a year {high}"
    else:
        curves.append(Curve("API", tuple((n, value or 0.0) for n, value in enumerate(bills, 1)), against=True))
        values += [value or 0.0 for value in bills]
        cheaper = sum((month.saving_cost_month or 0.0) > 0 for month in plan.months)
        if cheaper == len(plan.months):
            title = f"{case.label} costs less than the API in all twelve months"
        elif cheaper:
            title = f"{case.label} costs less than the API in {in_words(cheaper)} of twelve months"
        else:
            title = "The API costs less in all twelve months"
        back = plan.paid_back
        if back is not None:
            words = f"paid back in {month_name(plan.months[back - 1].first)}"
            spots.append(Spot(float(back), own[back - 1] or 0.0, words))
    total = plan.months[-1].saved_cost
    saved = "" if total is None else f"; saved in twelve months, one-off cost counted: {till.sum(total)}"
    figure = Figure(
        title,
        f"Cost of a month{f', {till.code}' if till.code else ''}{saved}",
        f"Cost of each of twelve months for {case.label} and by API. {title}.",
    )
    ticks = tuple((float(n), f"{plan.months[n - 1].first:%b}") for n in range(1, len(plan.months) + 1, 2))
    return CurveChart(
        tuple(curves), tuple(spots), figure, f"{till.code or 'money'} a month", "month", 1.0, 12.0,
        _ROOM * max(values), ticks,
    )  # fmt: skip


def beaten(study: Study) -> str:
    """The scenarios that the API beats at any utilisation, in words; nothing where there are none."""
    found = [case.number for case in study.cases if against_api(case.result) is AgainstApi.NEVER]
    return f"For {labels(found)} the API is cheaper at any utilisation." if found else ""
