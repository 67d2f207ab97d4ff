"""What an API charges for the same work, and where one's own hardware costs the same.

Money is in one currency throughout; prices are per million tokens. Cached and written tokens are parts of the prompt.
"""

from planner.units import PER_MILLION


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


def api_cost_month(monthly_capacity_m_tokens: float, api_cost_per_m_output: float) -> float:
    """What an API charges for a month's output with the prompts that it takes: millions of tokens x API cost of one.

    Millions of output tokens and money per million give money per month.
    Source: definition.

    >>> api_cost_month(200, 8)
    1600
    """
    return monthly_capacity_m_tokens * api_cost_per_m_output


def saving_cost_month(api_cost_month: float, monthly_cost: float) -> float:
    """What one's own hardware saves in a month: API's charge - own cost; below 0 the API is cheaper.

    Money per month gives money per month.
    Source: definition.

    >>> saving_cost_month(1600, 2000)
    -400
    """
    return api_cost_month - monthly_cost


def break_even_m_tokens(monthly_cost: float, api_cost_per_m_output: float) -> float:
    """Output tokens of a month at which the fixed cost equals the API's bill: monthly cost / API cost per million.

    Money and money per million output tokens give millions of tokens.
    Source: definition.

    >>> break_even_m_tokens(14_600, 8)
    1825.0
    """
    return monthly_cost / api_cost_per_m_output


def break_even_share(break_even_m_tokens: float, full_capacity_m_tokens: float) -> float:
    """Share of the capacity at which own hardware costs as much as the API: break-even output / output at full load.

    Millions of tokens give a ratio; above 1 it never does on this hardware.
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
