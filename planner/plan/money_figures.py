"""The figures of money, each field declared once as a column. Amounts are in the row's one currency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from planner.columns import Column, Ratio
from planner.plan.core_inputs import POSITIVE
from planner.plan.result import Figures
from planner.rules import Money, Share

AMOUNT = Money(least=0)
DIFFERENCE = Money()
ANY_SHARE = Share("a ratio", most=1e9)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyFigures(Figures):
    """What a scenario costs, with all its replicas, and how that stands against an API."""

    fleet_devices: Annotated[
        float | None,
        Column("Devices paid for", POSITIVE, "Devices x replicas; of rented instances, whole ones.", decimals=0),
    ] = None
    fleet_tokens_per_sec: Annotated[
        float | None,
        Column(
            "Rate that costs rest on",
            POSITIVE,
            "Aggregate x replicas: the estimate's where there is one, else the core's, an upper bound.",
            decimals=1,
        ),
    ] = None
    fleet_requests_per_hour: Annotated[
        float | None, Column("Requests of all replicas", POSITIVE, "Every stream busy, on the same basis.", decimals=0)
    ] = None
    requests_month: Annotated[
        float | None,
        Column("Requests per month", POSITIVE, "Typed, or the offered load x hours per month.", decimals=0),
    ] = None
    busy_share: Annotated[
        float | None,
        Column(
            "Utilisation", Ratio(), "Share of the paid hours that is busy: typed, or that of the load or the requests."
        ),
    ] = None
    device_cost_h: Annotated[
        float | None, Column("Price per device-hour", AMOUNT, "Typed, or the instance's price / its devices.")
    ] = None
    rent_cost_h: Annotated[float | None, Column("Rent", AMOUNT, "Price per device-hour x devices paid for.")] = None
    capex_cost: Annotated[
        float | None, Column("Purchase", AMOUNT, "Purchase per device x devices paid for.", decimals=0)
    ] = None
    residual_cost: Annotated[
        float | None, Column("Residual value", AMOUNT, "Residual per device x devices paid for.", decimals=0)
    ] = None
    depreciation_cost_h: Annotated[
        float | None, Column("Depreciation", AMOUNT, "(purchase - residual) / (useful life x 12 x hours per month).")
    ] = None
    energy_cost_h: Annotated[
        float | None, Column("Electricity", AMOUNT, "Power per device x devices / 1,000 x PUE x tariff.")
    ] = None
    hosting_cost_h: Annotated[
        float | None, Column("Hosting", AMOUNT, "Hosting per device x devices / hours per month.")
    ] = None
    licence_cost_h: Annotated[
        float | None, Column("Licences", AMOUNT, "Licences per device x devices / hours per month.")
    ] = None
    support_cost_h: Annotated[
        float | None, Column("Support", AMOUNT, "Support per device x devices / hours per month.")
    ] = None
    staff_cost_h: Annotated[float | None, Column("Staff", AMOUNT, "Staff / hours per month.")] = None
    hourly_cost_h: Annotated[
        float | None, Column("Cost per hour", AMOUNT, "All lines together: what is paid, busy or not.")
    ] = None
    used_cost_h: Annotated[float | None, Column("Used", AMOUNT, "Cost per hour x utilisation.")] = None
    idle_cost_h: Annotated[float | None, Column("Idle", AMOUNT, "Cost per hour x (1 - utilisation).")] = None
    monthly_cost: Annotated[
        float | None, Column("Cost per month", AMOUNT, "Cost per hour x hours per month.", decimals=0)
    ] = None
    monthly_capacity_m_tokens: Annotated[
        float | None,
        Column("Output per month", POSITIVE, "Rate x 3,600 x hours per month x utilisation.", decimals=1),
    ] = None
    full_capacity_m_tokens: Annotated[
        float | None, Column("Output at full load", POSITIVE, "The same at utilisation 1.", decimals=1)
    ] = None
    cost_per_m_tokens: Annotated[
        float | None,
        Column("Cost per M output", AMOUNT, "Allocated: all that is paid / output tokens at the utilisation."),
    ] = None
    used_cost_per_m_tokens: Annotated[
        float | None, Column("Of it used", AMOUNT, "The same at utilisation 1; the rest is idle.")
    ] = None
    cost_per_request: Annotated[
        float | None,
        Column("Cost per request", AMOUNT, "Cost per hour / (requests per hour x utilisation), prefill counted."),
    ] = None
    prefill_share: Annotated[
        float | None, Column("Prefill share", Ratio(), "Share of a stream's time that goes to prefill.", decimals=1)
    ] = None
    cost_per_m_input_tokens: Annotated[
        float | None, Column("Input alone", AMOUNT, "Cost of a request's prefill time / its prompt tokens.")
    ] = None
    cost_per_m_generated_tokens: Annotated[
        float | None, Column("Output alone", AMOUNT, "Cost of a request's decode time / its output tokens.")
    ] = None
    api_request_cost: Annotated[
        float | None, Column("API per request", AMOUNT, "Each kind of token at its own price.")
    ] = None
    blended_cost_m: Annotated[
        float | None, Column("API blended", AMOUNT, "API per request / all its tokens: the price at the row's mix.")
    ] = None
    api_cost_per_m_output: Annotated[
        float | None, Column("API per M output", AMOUNT, "API per request / output tokens, prompts included.")
    ] = None
    api_cost_month: Annotated[
        float | None, Column("API per month", AMOUNT, "For the same output as the row's month.", decimals=0)
    ] = None
    saving_cost_month: Annotated[
        float | None,
        Column("Saving", DIFFERENCE, "API per month - cost per month; below 0 the API is cheaper.", decimals=0),
    ] = None
    break_even_m_tokens: Annotated[
        float | None,
        Column("Break-even output", POSITIVE, "Output of a month at which both cost the same.", decimals=1),
    ] = None
    break_even_share: Annotated[
        float | None,
        Column("Break-even utilisation", ANY_SHARE, "Break-even output / output at full load; above 1: never here."),
    ] = None
    cache_saving_cost: Annotated[
        float | None, Column("Caching saves, API", AMOUNT, "Money per request: cached tokens x (input - cached price).")
    ] = None
    cache_saved_s: Annotated[
        float | None, Column("Caching saves, here", POSITIVE, "Prefill time per request that cached tokens skip.")
    ] = None
