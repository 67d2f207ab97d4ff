"""The tables of demand and of sensitivity: twelve months, orders, best and worst case, what moves the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.plan.demand_plan import has_demand
from planner.report import money
from planner.report.money_tables import OWN, SMALL, case_table, cells_of, code_of
from planner.report.numbers import as_percent, date, plain, rounded
from planner.report.numbers import money as amount
from planner.report.parts import Cell, Head, Row, Table, cut, sentence
from planner.report.tables import name_cell

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from planner.plan.demand_plan import DemandPlan
    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study
    from planner.report.money import Till


def planned(study: Study, most: int) -> tuple[list[tuple[Case, DemandPlan]], int]:
    """The first cases with a plan of demand, the recommended before all others; and how many have one."""
    best = study.recommendation.best
    able = [case for case in study.cases if has_demand(case.result)]
    first = sorted(able, key=lambda case: (case.result is not best, case.number))[:most]
    return [(case, plan) for case in first if (plan := money.plan_of(study, case)) is not None], len(able)


_THOUSANDS_FROM: Final = 10_000.0


def _in_thousands(plan: DemandPlan, till: Till) -> bool:
    amounts = [m.saved_cost for m in plan.months] + [plan.total_cost, plan.total_api_cost]
    return max((abs(till.of(value) or 0.0) for value in amounts), default=0.0) >= _THOUSANDS_FROM


def unit_of_months(case: Case, plan: DemandPlan, till: Till) -> str:
    """In what the months' amounts and requests are told, and how long a month is."""
    unit = f"{'Thousand ' if _in_thousands(plan, till) else ''}{till.code or 'money'}"
    word = _requests_scale(plan)[1]
    hours = plain(case.result.scenario.hours_per_month or 0.0)
    many = f"; requests in {word}" if word else ""
    return f"{sentence(unit)}{many}; devices in whole deployments; months of {hours} h"


def _requests_scale(plan: DemandPlan) -> tuple[float, str]:
    most = max(month.requests_month for month in plan.months)
    return next((scale, word) for least, scale, word in _REQUESTS if most >= least)


_REQUESTS: Final = ((1e7, 1e6, "millions"), (_THOUSANDS_FROM, 1e3, "thousands"), (0.0, 1.0, ""))


def months(case: Case, plan: DemandPlan, till: Till) -> Table:
    """Twelve months of a case's demand and their sum; costs are in parentheses, savings are not."""
    own = [_negative(till.of(month.monthly_cost)) for month in plan.months]
    bills = [till.of(month.api_cost_month) for month in plan.months]
    savings = [till.of(month.saving_cost_month) for month in plan.months]
    saved = [till.of(month.saved_cost) for month in plan.months]
    once = till.of(case.result.scenario.one_off_cost) or 0.0
    use = use_of(case.result, plan)
    thousand = 1000.0 if _in_thousands(plan, till) else 1.0
    known = [abs(value) / thousand for value in (*own, *bills, *savings) if value]
    decimals = 1 if thousand > 1 else 0 if max(known, default=0.0) >= SMALL else money.decimals_of([*known], "")

    def line(label: str, values: Sequence[float | None], total: float | None, marks: str = "") -> Row | None:
        if all(value is None for value in values):
            return None
        cells = [
            Cell("")
            if value is None
            else Cell(amount(value / thousand, "", decimals), marks="negative" if value < 0 else "")
            for value in (*values, total)
        ]
        return Row((Cell(label), *cells), marks)

    many = _requests_scale(plan)[0]
    places = 1 if many > 1 else 0
    rows = [
        Row((Cell("Requests"), *(Cell(rounded(m.requests_month / many, places)) for m in plan.months), Cell(""))),
        Row((Cell("Peak an hour"), *(Cell(rounded(m.peak_requests_per_hour, 0)) for m in plan.months), Cell(""))),
        Row((Cell("Devices"), *(Cell(plain(m.paid_devices)) for m in plan.months), Cell(""))),
        Row((Cell("Use at the peak"), *(Cell(as_percent(share)) for share in use), Cell(""))),
        line("API bill", bills, _total(bills)),
        line("Self-hosted", own, _total(own)),
        line("Saving", savings, _total(savings)),
        line("One-off", [-once, *[0.0] * (len(plan.months) - 1)], -once) if once else None,
        line("Saved so far", saved, None, "total"),
    ]
    heads = (Head("Line", text=3), *(Head(month_name(m.first)) for m in plan.months), Head("Sum"))
    return Table(heads, tuple(row for row in rows if row is not None), title=f"{case.label} {cut(case.name, 60)}")


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _total(values: Sequence[float | None]) -> float | None:
    return None if None in values else sum(value for value in values if value is not None)


def use_of(result: Result, plan: DemandPlan) -> list[float]:
    """The share of what each month's devices serve that its busiest hour asks of them."""
    each = (result.fleet_requests_per_hour or 1.0) / (result.scenario.replicas or 1.0)
    return [
        month.peak_requests_per_hour / (month.deployments * each) if month.deployments else 0.0 for month in plan.months
    ]


def crowded(result: Result, plan: DemandPlan) -> str:
    """That devices are planned too full for want of a peak and of headroom; nothing where they are not."""
    scenario, most = result.scenario, max(use_of(result, plan))
    if scenario.peak_to_average not in {None, 1.0} or scenario.headroom or most <= _CROWDED_ABOVE:
        return ""
    return (
        f"Its devices are then up to {as_percent(most)} in use on average: neither a peak nor headroom is planned for, "
        f"and above {as_percent(_CROWDED_ABOVE)} no wait in a queue can be promised."
    )


# Waits grow beyond any bound as use nears all of the capacity.
_CROWDED_ABOVE: Final = 0.8


def month_name(first: dt.date) -> str:
    """A month by its short name and year."""
    return f"{first:%b}\u00a0{first:%y}"


def orders(found: Sequence[tuple[Case, DemandPlan]], today: dt.date) -> Table:
    """When further devices must be ordered; a day before that of the report is too late."""
    rows = tuple(
        Row((name_cell(case), Cell(plain(order.devices)), Cell(date(order.needed)), _order_day(order.order, today)))
        for case, plan in found
        for order in plan.orders
    )
    heads = (Head("Scenario", text=4), Head("Further devices"), Head("In service by"), Head("Order by"))
    return Table(heads, rows)


def _order_day(day: dt.date, today: dt.date) -> Cell:
    return Cell(date(day)) if day >= today else Cell(f"{date(day)}, past", marks="negative")


def plans(study: Study, found: Sequence[tuple[Case, DemandPlan]]) -> Table:
    """The plans of all cases in a line each."""
    tills = [money.till_of(study, case.result) for case, _ in found]
    codes = {till.code for till in tills}
    unit = f"{(codes.pop() or 'money') if len(codes) == 1 else OWN}/year"

    def total(of: Callable[[DemandPlan], float | None]) -> list[Cell]:
        return cells_of([till.of(of(plan)) for till, (_, plan) in zip(tills, found, strict=True)], sums=True)

    own, bills, saved = (
        total(lambda plan: plan.total_cost),
        total(lambda plan: plan.total_api_cost),
        total(lambda plan: plan.months[-1].saved_cost),
    )
    rows = []
    for index, (case, plan) in enumerate(found):
        first, last = plan.months[0], plan.months[-1]
        back = plan.paid_back
        when = (
            "" if last.saved_cost is None else month_name(plan.months[back - 1].first) if back else "not in 12 months"
        )
        numbers = (plain(first.paid_devices), plain(last.paid_devices))
        rows.append(Row((name_cell(case), *map(Cell, numbers), own[index], bills[index], saved[index], Cell(when))))
    heads = (
        Head("Scenario", text=4),
        Head("Devices, first month"),
        Head("Devices, last month"),
        Head("Cost", unit),
        Head("API", unit),
        Head("Saved", unit),
        Head("Pays back in"),
    )
    return Table(heads, tuple(rows))


def outlooks(study: Study, cases: Sequence[Case]) -> Table:
    """Best, base and worst cost of these."""
    found = [(case, outlook) for case in cases if (outlook := money.outlook(study, case)) is not None]
    shown = [case for case, _ in found]
    per_m = f"{code_of(study, shown)} per M output tokens"
    tills = [money.till_of(study, case.result) for case in shown]
    cases_of = {
        "Best case": [outlook.best_cost for _, outlook in found],
        "Base": [outlook.base_cost for _, outlook in found],
        "Worst case": [outlook.worst_cost for _, outlook in found],
    }
    columns = [
        (per_m, Head(label), cells_of([till.of(value) for till, value in zip(tills, values, strict=True)]))
        for label, values in cases_of.items()
    ]
    return case_table(study, shown, columns)


def swings(study: Study, case: Case) -> Table:
    """What moves a case's cost, each assumption between its ends."""
    till = money.till_of(study, case.result)
    found = money.swings(study, case)
    per_m = f"{till.code or 'money'}/M tokens"
    # Prices are told in the currency in which they are typed.
    ends = [money.ends(swing, money.own_till(study, case.result).code) for swing in found]
    cheap = cells_of([till.of(swing.cheap_cost) for swing in found])
    dear = cells_of([till.of(swing.dear_cost) for swing in found])
    rows = tuple(
        Row(
            (
                Cell(sentence(swing.name)),
                Cell(money.say_ends(ends[n][0]), marks="end"),
                cheap[n],
                Cell(money.say_ends(ends[n][1]), marks="end"),
                dear[n],
            )
        )
        for n, swing in enumerate(found)
    )
    heads = (
        Head("Assumption", text=4),
        Head("Cheaper at", text=2, end=True),
        Head("Cost", per_m),
        Head("Dearer at", text=2, end=True),
        Head("Cost", per_m),
    )
    return Table(heads, rows)
