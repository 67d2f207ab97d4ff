"""What a demand takes as it grows: requests of the peak, devices bought in whole deployments, the cost of a month."""

from planner.units import SLACK


def requests_month(offered_requests_per_hour: float, hours_per_month: float) -> float:
    """Requests of a month: offered load x hours.

    Requests per hour and hours give requests per month.
    Source: definition.

    >>> requests_month(1000, 730)
    730000
    """
    return offered_requests_per_hour * hours_per_month


def next_requests_month(requests_month: float, growth_share_month: float) -> float:
    """Requests of the month that follows: requests x (1 + growth).

    Requests per month and a ratio give requests per month.
    Source: compound growth.

    >>> next_requests_month(1000, 0.5)
    1500.0
    """
    return requests_month * (1 + growth_share_month)


def busy_share_of_month(requests_month: float, hours_per_month: float, fleet_requests_per_hour: float) -> float:
    """Share of the hours that a month's requests keep busy: requests / hours / requests of all replicas in an hour.

    Requests, hours and requests per hour give a ratio.
    Source: definition.

    >>> busy_share_of_month(365_000, 730, 1000)
    0.5
    """
    return requests_month / hours_per_month / fleet_requests_per_hour


def devices_cost_month(
    hourly_cost_h: float, staff_cost_h: float, fleet_devices: float, paid_devices: float, hours_per_month: float
) -> float:
    """Cost of a month with so many devices: ((hourly - staff) / devices now x devices then + staff) x hours.

    Money per hour, counts and hours give money.
    Source: definition; the staff are the same however many devices they run.

    >>> devices_cost_month(22, 2, 2, 3, 730)
    23360.0
    """
    return ((hourly_cost_h - staff_cost_h) / fleet_devices * paid_devices + staff_cost_h) * hours_per_month


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
    return -(-offered_requests_per_hour * (1 + headroom) * (1 - SLACK) / requests_per_hour // 1) * devices


def api_bill_month(api_request_cost: float, requests_month: float) -> float:
    """What an API charges for a month's requests: charge for one x requests.

    Money and requests per month give money per month.
    Source: definition.

    >>> api_bill_month(0.002, 730_000)
    1460.0
    """
    return api_request_cost * requests_month
