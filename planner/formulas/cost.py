"""From speed to money: what an hour costs, what a token costs in it, and where an API costs the same.

Money is in one currency throughout. A month has the hours that are given; nothing here assumes them. The share of the
paid hours that is busy is always an argument: a cost per token at full load all year is nobody's cost.
"""

from planner.units import MONTHS_PER_YEAR, PER_MILLION, S_PER_HOUR, SLACK, W_PER_KW

# What an hour costs.


def rented_cost_h(device_cost_h: float, devices: float) -> float:
    """Rent of the devices for an hour: price per device-hour x devices.

    Money per device-hour and a count give money per hour.
    Source: definition. An instance's price is that of all its devices; divide it first.

    >>> rented_cost_h(2.5, 8)
    20.0
    """
    return device_cost_h * devices


def device_share_cost_h(instance_cost_h: float, instance_devices: float) -> float:
    """Rent of one device of a rented instance for an hour: instance's price / its devices.

    Money per instance-hour and a count give money per device-hour.
    Source: definition.

    >>> round(device_share_cost_h(3.14028, 4), 5)
    0.78507
    """
    return instance_cost_h / instance_devices


def fleet_devices(devices: float, replicas: float) -> float:
    """Devices of all replicas: devices x replicas.

    Counts give a count.
    Source: definition.

    >>> fleet_devices(2, 3)
    6
    """
    return devices * replicas


def whole_instance_devices(devices: float, replicas: float, instance_devices: float) -> float:
    """Devices paid for where they are rented by the instance: devices x replicas / those of one, rounded up, x those.

    Counts give a count.
    Source: definition; a part of an instance is not for rent, and replicas share instances.

    >>> whole_instance_devices(2, 1, 8), whole_instance_devices(4, 3, 8)
    (8.0, 16.0)
    """
    return -(-devices * replicas * (1 - SLACK) / instance_devices // 1) * instance_devices


def fleet_tokens_per_sec(aggregate_tokens_per_sec: float, replicas: float) -> float:
    """Output of all replicas: aggregate rate x replicas.

    Tokens per second and a count give tokens per second.
    Source: definition.

    >>> fleet_tokens_per_sec(162.5, 2)
    325.0
    """
    return aggregate_tokens_per_sec * replicas


def fleet_requests_per_hour(requests_per_hour: float, replicas: float) -> float:
    """Requests that all replicas complete in an hour: requests per hour x replicas.

    Requests per hour and a count give requests per hour.
    Source: definition.

    >>> fleet_requests_per_hour(1161, 2)
    2322
    """
    return requests_per_hour * replicas


def capex_cost(device_capex_cost: float, devices: float) -> float:
    """Worth of all devices, new or at the end of their life: worth of one x devices.

    Money per device and a count give money.
    Source: definition.

    >>> capex_cost(30_000, 8)
    240000
    """
    return device_capex_cost * devices


def depreciation_cost_h(
    capex_cost: float, residual_cost: float, useful_life_years: float, hours_per_month: float
) -> float:
    """Loss of value of owned hardware in a paid hour: (purchase - residual) / (years x 12 x hours in the month).

    Money, years and hours give money per hour.
    Source: straight-line depreciation by the month, however many of its hours are paid for; 730 are a twelfth of 8,760.

    >>> round(depreciation_cost_h(250_000, 25_000, 4, 730), 4)
    6.4212
    """
    return (capex_cost - residual_cost) / (useful_life_years * MONTHS_PER_YEAR * hours_per_month)


def energy_cost_h(device_power_w: float, devices: float, pue: float, tariff_cost_kwh: float) -> float:
    """Electricity of the devices for an hour: power x devices / 1,000 x PUE x tariff.

    W per device, a count, a ratio of at least 1 and money per kWh give money per hour.
    Source: power usage effectiveness as ISO/IEC 30134-2 defines it.

    >>> round(energy_cost_h(700, 8, 1.3, 0.12), 4)
    0.8736
    """
    return device_power_w * devices / W_PER_KW * pue * tariff_cost_kwh


def monthly_as_cost_h(running_cost_month: float, hours_per_month: float) -> float:
    """A monthly cost (hosting, licences, support, staff) for an hour: cost / hours in the month.

    Money per month and hours give money per hour.
    Source: definition; 730 hours are a twelfth of 8,760.

    >>> monthly_as_cost_h(7300, 730)
    10.0
    """
    return running_cost_month / hours_per_month


def device_monthly_as_cost_h(device_cost_month: float, devices: float, hours_per_month: float) -> float:
    """A monthly cost of each device (hosting, licences, support) for an hour: cost x devices / hours in the month.

    Money per device-month, a count and hours give money per hour.
    Source: definition.

    >>> device_monthly_as_cost_h(365, 4, 730)
    2.0
    """
    return device_cost_month * devices / hours_per_month


def hourly_cost_h(
    rent_cost_h: float,
    depreciation_cost_h: float,
    energy_cost_h: float,
    hosting_cost_h: float,
    licence_cost_h: float,
    support_cost_h: float,
    staff_cost_h: float,
) -> float:
    """What an hour costs, busy or not: rent or depreciation + electricity + hosting + licences + support + staff.

    Money per hour gives money per hour.
    Source: definition.

    >>> hourly_cost_h(20, 0, 0, 0, 0.5, 0, 1.5)
    22.0
    """
    return (
        rent_cost_h
        + depreciation_cost_h
        + energy_cost_h
        + hosting_cost_h
        + licence_cost_h
        + support_cost_h
        + staff_cost_h
    )


def monthly_cost(hourly_cost_h: float, hours_per_month: float) -> float:
    """Cost of a month, busy or not: hourly cost x hours.

    Money per hour and hours give money.
    Source: definition.

    >>> monthly_cost(20, 730)
    14600
    """
    return hourly_cost_h * hours_per_month


def used_cost_h(hourly_cost_h: float, busy_share: float) -> float:
    """What an hour costs in which something runs, on average: hourly cost x busy share.

    Money per hour and a ratio give money per hour.
    Source: definition.

    >>> used_cost_h(20, 0.3)
    6.0
    """
    return hourly_cost_h * busy_share


def idle_cost_h(hourly_cost_h: float, busy_share: float) -> float:
    """What an hour costs in which nothing runs, on average: hourly cost x (1 - busy share).

    Money per hour and a ratio give money per hour.
    Source: definition.

    >>> idle_cost_h(20, 0.3)
    14.0
    """
    return hourly_cost_h * (1 - busy_share)


# What a token and a request cost.


def monthly_capacity_m_tokens(aggregate_tokens_per_sec: float, hours_per_month: float, busy_share: float) -> float:
    """Output tokens of a month: aggregate rate x 3,600 x hours x busy share / 1e6.

    Tokens per second, hours and a ratio give millions of tokens.
    Source: definition.

    >>> round(monthly_capacity_m_tokens(162.7, 730, 0.5), 1)
    213.8
    """
    return aggregate_tokens_per_sec * S_PER_HOUR * hours_per_month * busy_share / PER_MILLION


def cost_per_m_tokens(hourly_cost_h: float, aggregate_tokens_per_sec: float, busy_share: float) -> float:
    """Cost of a million output tokens: hourly cost x 1e6 / (aggregate rate x 3,600 x busy share).

    Money per hour, tokens per second and a ratio give money per million tokens. At busy share 1 it is the cost of
    what is used; at the real share that of what is paid for.
    Source: definition.

    >>> round(cost_per_m_tokens(20, 2000, 1), 2)
    2.78
    """
    return hourly_cost_h * PER_MILLION / (aggregate_tokens_per_sec * S_PER_HOUR * busy_share)


def cost_per_request(hourly_cost_h: float, requests_per_hour: float, busy_share: float) -> float:
    """Cost of a request: hourly cost / (requests per hour x busy share).

    Money per hour, requests per hour and a ratio give money.
    Source: definition.

    >>> cost_per_request(20, 1000, 0.5)
    0.04
    """
    return hourly_cost_h / (requests_per_hour * busy_share)


def prefill_share(prefill_s: float, response_time_s: float) -> float:
    """Share of a stream's time that goes to prefill: prefill / response time.

    Seconds give a ratio.
    Source: definition; a stream that is prefilled generates nothing.

    >>> round(prefill_share(0.2222, 24.81), 5)
    0.00896
    """
    return prefill_s / response_time_s


def stalled_prefill_share(stall_ms: float, step_time_ms: float) -> float:
    """Share of a stream's time that goes to prefill where prefills stop decode: stalls / step time.

    Milliseconds give a ratio.
    Source: definition; each step waits for the prefills of all streams.

    >>> stalled_prefill_share(5, 50)
    0.1
    """
    return stall_ms / step_time_ms


def cost_per_m_input_tokens(cost_per_request: float, prefill_share: float, prompt_tokens: float) -> float:
    """Cost of a million prompt tokens, the time of prefill alone: request x prefill share / prompt x 1e6.

    Money, a ratio and tokens give money per million tokens.
    Source: definition; with the cost of output alone it makes the cost of a request.

    >>> round(cost_per_m_input_tokens(0.01, 0.2, 1000), 6)
    2.0
    """
    return cost_per_request * prefill_share / prompt_tokens * PER_MILLION


def cost_per_m_generated_tokens(cost_per_request: float, prefill_share: float, output_tokens: float) -> float:
    """Cost of a million output tokens, the time of decode alone: request x (1 - prefill share) / output x 1e6.

    Money, a ratio and tokens give money per million tokens.
    Source: definition; with the cost of input alone it makes the cost of a request.

    >>> round(cost_per_m_generated_tokens(0.01, 0.2, 500), 6)
    16.0
    """
    return cost_per_request * (1 - prefill_share) / output_tokens * PER_MILLION
