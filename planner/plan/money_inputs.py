"""The inputs of money and demand, each field declared once as a column. Amounts are in the row's one currency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from planner.columns import Column, Number, Ratio, Text
from planner.plan.core_inputs import COUNT
from planner.plan.estimate_inputs import EstimateInputs
from planner.rules import CURRENCY, DAY, Money, Share

PRICE = Money(above=0)
FREE = Money(least=0)
WHOLE = Number(least=0, whole=True)
GROWTH = Share("a ratio from -0.9 to 1, such as 0.05, or a percentage such as 5%", least=-0.9)
HEADROOM = Share("a ratio from 0 to 1, such as 0.2, or a percentage such as 20%")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyInputs(EstimateInputs):
    """What a deployment costs, what an API charges for the same, what is asked of it, and what it must keep."""

    currency: Annotated[
        str | None,
        Column(
            "Currency",
            CURRENCY,
            "Currency of the row's prices. Blank: the one that the workbook names.",
            ("currency code", "price currency"),
            common=True,
        ),
    ] = None
    exchange_rate: Annotated[
        float | None,
        Column(
            "Exchange rate",
            Number(above=0),
            "Units of the report's currency for one of the row's, where they differ; needs its day.",
            ("fx rate", "fx", "conversion rate"),
        ),
    ] = None
    exchange_day: Annotated[
        str | None,
        Column("Rate of", DAY, "The day of the exchange rate.", ("exchange rate date", "rate date", "fx date")),
    ] = None
    exchange_currency: Annotated[
        str | None,
        Column(
            "Rate to",
            CURRENCY,
            "The currency that the exchange rate leads to. Blank: that of the report.",
            ("exchange rate to", "rate into", "fx to"),
        ),
    ] = None
    device_cost_h: Annotated[
        float | None,
        Column(
            "Price per device-hour",
            PRICE,
            "Rent of ONE device for an hour. The number of devices multiplies it.",
            (
                "device price per hour",
                "price per gpu hour",
                "gpu hour price",
                "gpu price per hour",
                "gpu hourly rate",
                "cost per gpu hour",
                "hourly rate per gpu",
                "price per device hour",
                "per gpu price",
                "per gpu hourly price",
                "rent per device",
            ),
            common=True,
        ),
    ] = None
    instance_cost_h: Annotated[
        float | None,
        Column(
            "Price per instance-hour",
            PRICE,
            "Rent of a whole instance for an hour, instead of a device's; needs the devices of an instance.",
            (
                "instance price",
                "instance price per hour",
                "on demand",
                "on demand price",
                "node price per hour",
                "price per node hour",
                "server price per hour",
                "instance hourly price",
            ),
        ),
    ] = None
    instance_devices: Annotated[
        float | None,
        Column(
            "Devices per instance",
            COUNT,
            "Devices that a rented instance holds.",
            ("gpus per instance", "instance gpus", "gpus per node", "devices per node"),
            decimals=0,
        ),
    ] = None
    device_capex_cost: Annotated[
        float | None,
        Column(
            "Purchase per device",
            PRICE,
            "Purchase price of ONE device with its share of server and network, where devices are owned.",
            ("capex per device", "capex per gpu", "purchase price per device", "purchase price per gpu"),
        ),
    ] = None
    device_residual_cost: Annotated[
        float | None,
        Column(
            "Residual per device",
            FREE,
            "What ONE owned device is worth at the end of its useful life.",
            ("residual value per device", "salvage value per device"),
            default=0.0,
        ),
    ] = None
    useful_life_years: Annotated[
        float | None,
        Column(
            "Useful life",
            Number(above=0, most=30),
            "Years over which owned devices lose their value; needed with a purchase price.",
            ("depreciation period", "depreciation years", "lifetime", "life"),
        ),
    ] = None
    device_power_w: Annotated[
        float | None,
        Column(
            "Power per device",
            Number(above=0, likely=(1, 20_000)),
            "Power that ONE device draws with its share of the server. Follows from the device, as its limit.",
            ("power", "tdp", "power per gpu", "device power"),
        ),
    ] = None
    pue: Annotated[
        float | None,
        Column(
            "PUE",
            Number(least=1, most=5),
            "Power of the data centre over that of its computers; surveys find about 1.5.",
            ("power usage effectiveness",),
            default=1.5,
        ),
    ] = None
    tariff_cost_kwh: Annotated[
        float | None,
        Column(
            "Tariff",
            FREE,
            "Price of electricity. Blank: none is counted, as where the rent holds it.",
            ("electricity price", "electricity tariff", "energy price", "power price", "price per kwh"),
            default=0.0,
        ),
    ] = None
    device_hosting_cost_month: Annotated[
        float | None,
        Column(
            "Hosting per device",
            FREE,
            "Rack space, cooling and network of ONE device for a month.",
            ("colocation per device", "hosting per gpu"),
            default=0.0,
        ),
    ] = None
    device_licence_cost_month: Annotated[
        float | None,
        Column(
            "Licences per device",
            FREE,
            "Software licences of ONE device for a month.",
            ("licenses per device", "licence per device", "license per device", "licences per gpu", "licenses per gpu"),
            default=0.0,
        ),
    ] = None
    device_support_cost_month: Annotated[
        float | None,
        Column(
            "Support per device",
            FREE,
            "Maintenance and support contracts of ONE device for a month.",
            ("support per gpu", "maintenance per device"),
            default=0.0,
        ),
    ] = None
    staff_cost_month: Annotated[
        float | None,
        Column(
            "Staff",
            FREE,
            "People who run the scenario, for a month, whatever the number of devices.",
            ("staff per month", "personnel", "operations staff", "staff cost"),
            default=0.0,
        ),
    ] = None
    busy_share: Annotated[
        float | None,
        Column(
            "Utilisation",
            Ratio(),
            "Share of the paid hours that is busy; needed for any cost. Blank: that of the load or the requests.",
            ("busy share", "load factor", "average utilisation", "share of hours busy", "duty cycle"),
            common=True,
        ),
    ] = None
    hours_per_month: Annotated[
        float | None,
        Column(
            "Hours per month",
            Number(above=0, most=744),
            "Hours that a month is paid for; 730 are a twelfth of 8,760.",
            ("hours in a month", "paid hours per month"),
            default=730.0,
            decimals=0,
        ),
    ] = None
    api: Annotated[
        str,
        Column("API", Text(), "The API that the scenario is held against, for the reader.", ("api name", "provider")),
    ] = ""
    input_cost_m: Annotated[
        float | None,
        Column(
            "API input price",
            FREE,
            "What an API charges for a million prompt tokens.",
            ("input price", "prompt price", "price per million input tokens", "input token price", "api prompt price"),
            common=True,
        ),
    ] = None
    cached_cost_m: Annotated[
        float | None,
        Column(
            "API cached price",
            FREE,
            "What an API charges for a million cached prompt tokens. Blank: the input price.",
            ("cached input price", "cache read price", "cached price", "price per million cached tokens"),
        ),
    ] = None
    cache_write_cost_m: Annotated[
        float | None,
        Column(
            "API cache write price",
            FREE,
            "What an API charges for a million tokens written to its cache. Blank: the input price.",
            ("cache write price", "cache creation price"),
        ),
    ] = None
    output_cost_m: Annotated[
        float | None,
        Column(
            "API output price",
            FREE,
            "What an API charges for a million output tokens.",
            (
                "output price",
                "completion price",
                "price per million output tokens",
                "output token price",
                "api completion price",
            ),
            common=True,
        ),
    ] = None
    cache_write_tokens: Annotated[
        float | None,
        Column(
            "Cache writes",
            WHOLE,
            "Tokens of a prompt that an API writes to its cache, a part of the prompt beside the cached ones.",
            ("cache write tokens", "cache creation tokens"),
            default=0.0,
            decimals=0,
        ),
    ] = None
    price_source: Annotated[
        str,
        Column("Price source", Text(), "Where the row's prices are from.", ("source of prices", "quote"), common=True),
    ] = ""
    price_day: Annotated[
        str | None,
        Column(
            "Prices of", DAY, "The day of the row's prices.", ("price date", "prices as of", "quote date"), common=True
        ),
    ] = None
    requests_month: Annotated[
        float | None,
        Column(
            "Requests per month",
            Number(above=0),
            "Requests of the first month, for the plan of twelve. Blank: the offered load, all hours of the month.",
            ("monthly requests", "requests a month", "demand per month", "monthly demand"),
            decimals=0,
            common=True,
        ),
    ] = None
    growth_share_month: Annotated[
        float | None,
        Column(
            "Growth per month",
            GROWTH,
            "By what share requests grow from one month to the next.",
            ("monthly growth", "growth", "growth rate per month"),
            default=0.0,
            decimals=1,
        ),
    ] = None
    peak_to_average: Annotated[
        float | None,
        Column(
            "Peak to average",
            Number(least=1, most=1_000),
            "Requests of the busiest hour over those of the average one. Blank: the average hour is planned for.",
            ("peak factor", "peak ratio", "peak over average"),
            default=1.0,
        ),
    ] = None
    headroom: Annotated[
        float | None,
        Column(
            "Headroom",
            HEADROOM,
            "Spare capacity above the peak.",
            ("reserve", "safety margin", "spare capacity"),
            default=0.0,
        ),
    ] = None
    first_month: Annotated[
        str | None,
        Column(
            "First month", DAY, "A day of the plan's first month. Blank: the month after the run.", ("start month",)
        ),
    ] = None
    lead_time_weeks: Annotated[
        float | None,
        Column(
            "Lead time",
            Number(least=0, most=520),
            "Weeks from order to service of further devices; gives the days on which to order.",
            ("delivery time", "procurement time", "lead time in weeks"),
        ),
    ] = None
    one_off_cost: Annotated[
        float | None,
        Column(
            "One-off cost",
            FREE,
            "What the change costs once: migration, set-up, training.",
            ("migration cost", "setup cost", "set up cost", "one time cost"),
            default=0.0,
        ),
    ] = None
    target_tokens_per_sec: Annotated[
        float | None,
        Column(
            "Target speed",
            Number(above=0, likely=(0.1, 100_000)),
            "What one stream must reach to be recommended. Blank: reading pace, 10 tok/s.",
            ("required speed", "minimum speed", "speed target", "required tokens per second"),
        ),
    ] = None
    target_response_s: Annotated[
        float | None,
        Column(
            "Target response",
            Number(above=0),
            "Within what time a request must be answered to be recommended. Blank: any.",
            ("required response", "response target", "maximum response time", "latency target"),
        ),
    ] = None
