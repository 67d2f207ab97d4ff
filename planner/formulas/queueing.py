"""Queueing: how much of the capacity is asked for, and how long requests wait for a free stream.

At or above capacity there is no wait to compute, the queue grows without end: the caller says 'unstable'. There the
formulas divide by zero or give a negative time.

The largest load within a wait has no closed form for more than one stream; the wait only grows with the load, so that
halving an interval finds it.
"""

from planner.units import S_PER_HOUR


def utilisation(offered_requests_per_hour: float, requests_per_hour: float, replicas: float) -> float:
    """Share of the capacity that the offered load takes: offered / (requests per hour x replicas).

    Requests per hour, those of one replica and a count give a ratio, 1 or above where the load cannot be served.
    Source: definition of the traffic intensity.

    >>> utilisation(900, 1200, 1)
    0.75
    """
    return offered_requests_per_hour / (requests_per_hour * replicas)


def offered_streams(offered_requests_per_hour: float, response_time_s: float) -> float:
    """Streams that the offered load keeps busy on average: offered x response time / 3,600.

    Requests per hour and seconds give a count.
    Source: Little's law.

    >>> offered_streams(1200, 24)
    8.0
    """
    return offered_requests_per_hour * response_time_s / S_PER_HOUR


def queue_wait_s(
    utilisation: float,
    response_time_s: float,
    batch: float,
    replicas: float,
    arrival_variation: float,
    service_variation: float,
) -> float:
    """Mean wait for a free stream: response x (ca2 + cs2) / 2 x rho^(sqrt(2 (c + 1)) - 1) / (c (1 - rho)).

    A ratio, seconds, counts and squared coefficients of variation give seconds; at a utilisation of 1 the divisor is
    zero, above it the figure is negative.
    Source: Allen-Cunneen approximation with Sakasegawa's (1977) for the M/M/c queue, c = batch x replicas in one
    queue. Variations are 1 for random arrivals and for exponential lengths, 0 for regular ones. The response time is
    the one at a full batch.

    >>> round(queue_wait_s(0.75, 24, 1, 1, 1, 1), 9), round(queue_wait_s(0.75, 24, 8, 1, 1, 1), 2)
    (72.0, 4.72)
    """
    return (
        response_time_s
        * (arrival_variation + service_variation)
        / 2
        * utilisation ** ((2 * (batch * replicas + 1)) ** 0.5 - 1)
        / (batch * replicas * (1 - utilisation))
    )


def queued_time_to_first_token_s(queue_wait_s: float, time_to_first_token_s: float) -> float:
    """Time until the first output token with the wait before it: wait + TTFT.

    Seconds give seconds.
    Source: definition.

    >>> queued_time_to_first_token_s(4.5, 0.25)
    4.75
    """
    return queue_wait_s + time_to_first_token_s
