"""What a demand takes as it grows: requests of the peak, devices bought in whole deployments, the cost of a month."""


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


def deployments_cost_month(
    hourly_cost_h: float, staff_cost_h: float, replicas: float, deployments: float, hours_per_month: float
) -> float:
    """Cost of a month with so many deployments: ((hourly - staff) / replicas x deployments + staff) x hours.

    Money per hour, counts and hours give money.
    Source: definition; the staff are the same however many deployments they run.

    >>> deployments_cost_month(22, 2, 2, 3, 730)
    23360.0
    """
    return ((hourly_cost_h - staff_cost_h) / replicas * deployments + staff_cost_h) * hours_per_month


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


def api_bill_month(api_request_cost: float, requests_month: float) -> float:
    """What an API charges for a month's requests: charge for one x requests.

    Money and requests per month give money per month.
    Source: definition.

    >>> api_bill_month(0.002, 730_000)
    1460.0
    """
    return api_request_cost * requests_month
