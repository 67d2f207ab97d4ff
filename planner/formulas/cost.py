"""From speed to money: what an hour costs, what a token costs in it, and where an API costs the same.

Money is in one currency throughout. A month has the hours that are given; nothing here assumes them. The share of the
paid hours that is busy is always an argument: a cost per token at full load all year is nobody's cost.
"""

from planner.units import HOURS_PER_YEAR, PER_MILLION, S_PER_HOUR, W_PER_KW

# What an hour costs.


def rented_cost_h(device_cost_h: float, devices: float) -> float:
    """Rent of the devices for an hour: price per device-hour x devices.

    Money per device-hour and a count give money per hour.
    Source: definition. An instance's price is that of all its devices; divide it first.

    >>> rented_cost_h(2.5, 8)
    20.0
    """
    return device_cost_h * devices


def depreciation_cost_h(capex_cost: float, residual_cost: float, useful_life_years: float) -> float:
    """Loss of value of owned hardware in an hour: (purchase - residual) / (years x 8,760).

    Money and years give money per hour.
    Source: straight-line depreciation over every hour of the useful life, busy or not.

    >>> round(depreciation_cost_h(250_000, 25_000, 4), 4)
    6.4212
    """
    return (capex_cost - residual_cost) / (useful_life_years * HOURS_PER_YEAR)


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


def owned_cost_h(depreciation_cost_h: float, energy_cost_h: float, running_cost_h: float) -> float:
    """Cost of owned hardware for an hour: depreciation + energy + running costs.

    Money per hour gives money per hour.
    Source: definition.

    >>> owned_cost_h(6.5, 1, 2.5)
    10.0
    """
    return depreciation_cost_h + energy_cost_h + running_cost_h


def monthly_cost(hourly_cost_h: float, hours_per_month: float) -> float:
    """Cost of a month, busy or not: hourly cost x hours.

    Money per hour and hours give money.
    Source: definition.

    >>> monthly_cost(20, 730)
    14600
    """
    return hourly_cost_h * hours_per_month


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
    """Output tokens of a month: aggregate rate x 3,600 x hours x busy share.

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


# What an API charges for the same.


def api_request_cost(
    prompt_tokens: float,
    cached_tokens: float,
    cache_write_tokens: float,
    output_tokens: float,
    input_cost_m: float,
    cached_cost_m: float,
    cache_write_cost_m: float,
    output_cost_m: float,
) -> float:
    """What an API charges for a request: each kind of token at its own price per million.

    Tokens and money per million tokens give money. Cached and written tokens are parts of the prompt, so that none
    is paid twice.
    Source: providers' price lists.

    >>> round(api_request_cost(20_212, 16_298, 0, 931, 0.5, 0.05, 0, 3), 6)
    0.005565
    """
    return (
        (prompt_tokens - cached_tokens - cache_write_tokens) * input_cost_m
        + cached_tokens * cached_cost_m
        + cache_write_tokens * cache_write_cost_m
        + output_tokens * output_cost_m
    ) / PER_MILLION


def blended_cost_m(api_request_cost: float, prompt_tokens: float, output_tokens: float) -> float:
    """An API's price of a million tokens at the request's own mix: cost of a request / its tokens x 1e6.

    Money and tokens give money per million tokens. The mean of two prices holds for no workload but half and half.
    Source: definition.

    >>> round(blended_cost_m(0.0016, 1000, 200), 3)
    1.333
    """
    return api_request_cost / (prompt_tokens + output_tokens) * PER_MILLION


def api_cost_per_m_output(api_request_cost: float, output_tokens: float) -> float:
    """What an API charges for a million output tokens with the prompts that they take: request / output x 1e6.

    Money and tokens give money per million output tokens, to be held against the cost of one's own.
    Source: definition.

    >>> api_cost_per_m_output(0.0016, 200)
    8.0
    """
    return api_request_cost / output_tokens * PER_MILLION


def break_even_m_tokens(monthly_cost: float, api_cost_per_m_output: float) -> float:
    """Output tokens of a month at which the fixed cost equals the API's bill: monthly cost / API cost per million.

    Money and money per million output tokens give millions of tokens.
    Source: definition.

    >>> break_even_m_tokens(14_600, 8)
    1825.0
    """
    return monthly_cost / api_cost_per_m_output


def break_even_share(break_even_m_tokens: float, full_capacity_m_tokens: float) -> float:
    """Share of the capacity at which the fixed cost equals the API's bill; above 1 it never does on this hardware.

    Millions of tokens give a ratio.
    Source: definition.

    >>> break_even_share(500, 2000)
    0.25
    """
    return break_even_m_tokens / full_capacity_m_tokens


def cache_saving_cost(cached_tokens: float, input_cost_m: float, cached_cost_m: float) -> float:
    """What prompt caching saves of an API's charge for a request: cached tokens x (input - cached price).

    Tokens and money per million tokens give money.
    Source: definition.

    >>> round(cache_saving_cost(16_298, 0.5, 0.05), 6)
    0.007334
    """
    return cached_tokens * (input_cost_m - cached_cost_m) / PER_MILLION


def converted_cost(cost: float, exchange_rate: float) -> float:
    """A sum in another currency: sum x rate.

    Money and units of the other currency for one of this give money of the other.
    Source: definition; the rate is of a day, which is to be printed with it.

    >>> round(converted_cost(300, 95.32), 2)
    28596.0
    """
    return cost * exchange_rate


# What a demand takes.


def peak_requests_per_hour(requests_month: float, hours_per_month: float, peak_to_average: float) -> float:
    """Requests in the busiest hour: requests of the month / hours x peak to average.

    Requests, hours and a ratio give requests per hour.
    Source: definition.

    >>> peak_requests_per_hour(730_000, 730, 3)
    3000.0
    """
    return requests_month / hours_per_month * peak_to_average


def devices_for_load(
    offered_requests_per_hour: float, headroom: float, requests_per_hour: float, devices: float
) -> float:
    """Devices bought for a load, in whole deployments: load x (1 + headroom) / requests of one, rounded up, x devices.

    Requests per hour, a ratio, those of one deployment and its devices give a count.
    Source: definition; a fraction of a deployment serves nobody.

    >>> devices_for_load(3000, 0.2, 1161, 2)
    8.0
    """
    return -(-offered_requests_per_hour * (1 + headroom) / requests_per_hour // 1) * devices
