"""Twelve months of demand: devices, cost, what an API would charge, the month that pays back, and when to order."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.formulas import demand
from planner.formulas.api_cost import saving_cost_month
from planner.formulas.cost import whole_instance_devices
from planner.units import MONTHS_PER_YEAR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.scenario import Result

MONTHS: Final = 12
# What is less than this is no amount, but what binary fractions leave.
LEAST: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """A month: what is asked, what serves it, what both roads cost. Amounts are in the row's currency; None: not known.

    ``paid_devices`` are those that are paid for: whole instances where they are rented by the instance, and what was
    bought before where they are owned. ``saved_cost`` is the sum of the savings so far, less what is paid once.
    """

    first: dt.date
    requests_month: float
    peak_requests_per_hour: float
    deployments: float
    devices: float
    paid_devices: float
    monthly_cost: float | None
    api_cost_month: float | None
    saving_cost_month: float | None
    saved_cost: float | None


@dataclass(frozen=True, slots=True)
class Order:
    """Further devices: how many, when they must serve, and when they must be ordered at the latest."""

    devices: float
    needed: dt.date
    order: dt.date


@dataclass(frozen=True, slots=True)
class DemandPlan:
    """The months of a scenario's demand, and what they add up to."""

    months: tuple[Month, ...]
    orders: tuple[Order, ...]

    @property
    def paid_back(self) -> int | None:
        """The number of the month from which the savings so far cover what is paid once, to the end; None: no month."""
        sums = [month.saved_cost for month in self.months]
        short = [n for n, saved in enumerate(sums, 1) if saved is None or saved < -LEAST]
        month = short[-1] + 1 if short else 1
        return month if month <= len(sums) else None

    @property
    def total_cost(self) -> float | None:
        """What all months cost together."""
        return _total([month.monthly_cost for month in self.months])

    @property
    def total_api_cost(self) -> float | None:
        """What the API would charge for all months together."""
        return _total([month.api_cost_month for month in self.months])


def _total(values: list[float | None]) -> float | None:
    return None if None in values else sum(value for value in values if value is not None)


def has_demand(result: Result) -> bool:
    """Whether requests, and what a deployment serves of them, are known, so that demand can be planned."""
    known = result.requests_month is not None and result.scenario.hours_per_month is not None
    return known and bool(result.fleet_requests_per_hour)


def demand_plan(result: Result, today: dt.date) -> DemandPlan | None:
    """The plan of a scenario's demand; None where requests, or what a deployment serves of them, are not known."""
    scenario, served, requests = result.scenario, result.fleet_requests_per_hour, result.requests_month
    if not served or requests is None or not has_demand(result):
        return None
    months = tuple(_months(result, requests, served, first_month(result, today)))
    before = result.fleet_devices or 0.0
    orders = []
    for month in months:
        if month.paid_devices > before and scenario.lead_time_weeks is not None:
            ahead = dt.timedelta(weeks=scenario.lead_time_weeks)
            orders.append(Order(month.paid_devices - before, month.first, month.first - ahead))
        before = max(before, month.paid_devices)
    return DemandPlan(months, tuple(orders))


def first_month(result: Result, today: dt.date) -> dt.date:
    """The first day of the plan: of the month that is typed, else of the one after today."""
    typed = result.scenario.first_month
    return dt.date.fromisoformat(typed).replace(day=1) if typed else later(today.replace(day=1), 1)


def paid_by(result: Result) -> float:
    """The devices that are paid for together: those of an instance where instances are rented, else one."""
    scenario = result.scenario
    return (scenario.instance_devices or 1.0) if scenario.instance_cost_h is not None else 1.0


def later(first: dt.date, months: int) -> dt.date:
    """The first day of a later month.

    >>> later(dt.date(2026, 11, 1), 2)
    datetime.date(2027, 1, 1)
    """
    years, month = divmod(first.month - 1 + months, MONTHS_PER_YEAR)
    return dt.date(first.year + years, month + 1, 1)


def _months(result: Result, requests: float, served: float, first: dt.date) -> Iterator[Month]:
    scenario = result.scenario
    hours, replicas, devices = scenario.hours_per_month or 0.0, scenario.replicas or 1.0, scenario.devices or 1.0
    each = served / replicas
    saved: float | None = -(scenario.one_off_cost or 0.0)
    instance = paid_by(result)
    kept = 0.0
    for number in range(MONTHS):
        peak = demand.peak_requests_per_hour(requests, hours, scenario.peak_to_average or 1.0)
        bought = demand.devices_for_load(peak, scenario.headroom or 0.0, each, devices)
        paid = max(whole_instance_devices(bought, 1.0, instance), kept)
        # What is owned stays when demand falls; what is rented is given back by the month.
        kept = paid if scenario.device_capex_cost is not None else 0.0
        own = None
        if result.hourly_cost_h is not None and result.fleet_devices:
            own = demand.devices_cost_month(
                result.hourly_cost_h, result.staff_cost_h or 0.0, result.fleet_devices, paid, hours
            )
        api = None if result.api_request_cost is None else demand.api_bill_month(result.api_request_cost, requests)
        saving = None if own is None or api is None else saving_cost_month(api, own)
        saved = None if saving is None or saved is None else saved + saving
        yield Month(
            first=later(first, number),
            requests_month=requests,
            peak_requests_per_hour=peak,
            deployments=bought / devices,
            devices=bought,
            paid_devices=paid,
            monthly_cost=own,
            api_cost_month=api,
            saving_cost_month=saving,
            saved_cost=saved,
        )
        requests = demand.next_requests_month(requests, scenario.growth_share_month or 0.0)
