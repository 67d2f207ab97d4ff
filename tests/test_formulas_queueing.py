"""Queueing: worked values with their arithmetic, exact cases, properties."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas.queueing import offered_streams, queue_wait_s, queued_time_to_first_token_s, utilisation
from planner.formulas.speed import requests_per_hour

LOAD = st.floats(min_value=0.01, max_value=0.99)
STREAMS = st.integers(min_value=1, max_value=256)


def erlang_c_wait_s(rho, service_s, servers):
    """The exact mean wait in an M/M/c queue."""
    offered = rho * servers
    blocking = 1.0
    for n in range(1, servers + 1):
        blocking = offered * blocking / (n + offered * blocking)
    waits = blocking / (1 - rho * (1 - blocking))
    return waits * service_s / (servers * (1 - rho))


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        # 900 / 1,200, and over two replicas half of it
        (utilisation(900, 1200, 1), 0.75),
        (utilisation(900, 1200, 2), 0.375),
        # 1,200 / h x 24 s / 3,600
        (offered_streams(1200, 24), 8),
        # one stream: 24 x 0.75 / 0.25, the exact M/M/1 wait; half of it with regular lengths, M/D/1
        (queue_wait_s(0.75, 24, 1, 1, 1, 1), 72),
        (queue_wait_s(0.75, 24, 1, 1, 1, 0), 36),
        (queue_wait_s(0.75, 24, 1, 1, 0, 0), 0),
        # 8 streams: sqrt(2 x 9) - 1 = 3.2426; 24 x 0.75^3.2426 / (8 x 0.25) = 12 x 0.39345
        (queue_wait_s(0.75, 24, 8, 1, 1, 1), 12 * 0.75 ** (18**0.5 - 1)),
        # two replicas of 8 are 16 streams of one queue: 24 x 0.75^(sqrt(34) - 1) / 4
        (queue_wait_s(0.75, 24, 8, 2, 1, 1), 6 * 0.75 ** (34**0.5 - 1)),
        (queued_time_to_first_token_s(4.5, 0.25), 4.75),
    ],
)
def test_worked_values(value, exact):
    assert value == pytest.approx(exact, rel=1e-12)


def test_at_capacity_there_is_no_wait_and_above_it_none_that_means_anything():
    with pytest.raises(ZeroDivisionError):
        queue_wait_s(1.0, 24, 8, 1, 1, 1)
    assert queue_wait_s(1.2, 24, 8, 1, 1, 1) < 0
    assert utilisation(1200, 1200, 1) == 1
    assert utilisation(14_400, 1200, 1) == 12


@given(st.floats(min_value=0.5, max_value=0.99), STREAMS)
def test_with_random_arrivals_and_lengths_it_is_near_the_exact_wait(rho, streams):
    # within a twentieth of a response time at most, and closer the busier it is
    assert queue_wait_s(rho, 24, streams, 1, 1, 1) == pytest.approx(
        erlang_c_wait_s(rho, 24, streams), rel=0.05, abs=1.2
    )


@given(LOAD)
def test_one_stream_is_exact(rho):
    assert queue_wait_s(rho, 24, 1, 1, 1, 1) == pytest.approx(erlang_c_wait_s(rho, 24, 1), rel=1e-9)
    assert queue_wait_s(rho, 24, 1, 1, 1, 1) == pytest.approx(24 * rho / (1 - rho), rel=1e-9)


@given(LOAD, STREAMS, st.integers(1, 16), st.floats(min_value=0, max_value=4), st.floats(min_value=0, max_value=4))
def test_more_load_or_variation_never_waits_less_and_more_streams_never_longer(rho, batch, replicas, arrival, service):
    wait = queue_wait_s(rho, 24, batch, replicas, arrival, service)
    assert wait >= 0
    assert queue_wait_s(rho + (1 - rho) / 2, 24, batch, replicas, arrival, service) >= wait
    assert queue_wait_s(rho, 24, batch, replicas, arrival + 1, service) >= wait
    assert queue_wait_s(rho, 24, batch + 1, replicas, arrival, service) <= wait
    assert queue_wait_s(rho, 24, batch, replicas + 1, arrival, service) <= wait
    # only the number of streams matters, not whose they are
    assert queue_wait_s(rho, 24, batch * replicas, 1, arrival, service) == wait


@given(st.floats(min_value=1, max_value=1e6), STREAMS, st.floats(min_value=0.1, max_value=1e3), st.integers(1, 16))
def test_the_streams_offered_are_the_share_of_all(offered, batch, response_time_s, replicas):
    share = utilisation(offered, requests_per_hour(batch, response_time_s), replicas)
    assert math.isclose(offered_streams(offered, response_time_s), share * batch * replicas, rel_tol=1e-12)
