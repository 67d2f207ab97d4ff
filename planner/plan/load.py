"""The largest load that a deployment takes within a wait: it has no closed form, so it is searched for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.formulas import queueing
from planner.units import S_PER_HOUR

if TYPE_CHECKING:
    from planner.plan.scenario import Result

# Random arrivals and exponential lengths, as the queue's figures have them.
_VARIATION: Final = 1.0
# Halvings: enough to part the capacity into pieces far below a request an hour.
_STEPS: Final = 50


@dataclass(frozen=True, slots=True)
class LoadWithinWait:
    """What a deployment takes: its capacity, and the largest load whose mean wait stays within the asked one."""

    capacity_requests_per_hour: float
    requests_per_hour: float
    utilisation: float

    @property
    def requests_per_sec(self) -> float:
        """The load in requests per second."""
        return self.requests_per_hour / S_PER_HOUR


def load_within_wait(result: Result, wait_s: float) -> LoadWithinWait | None:
    """The largest load of a scenario with a mean wait for a free stream of at most ``wait_s`` seconds.

    By the estimate's requests and response where they are known, else by the core's; None where neither is.
    The wait only grows with the load, so the load is found by halving.

    >>> from planner.plan.evaluate import evaluate
    >>> from planner.plan.scenario import Scenario
    >>> worked = evaluate(Scenario(params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85, batch=8,
    ...                            prompt_tokens=2000, output_tokens=500, prefill_tokens_per_sec=9000))
    >>> round(load_within_wait(worked, 1).utilisation, 2)
    0.55
    """
    served, response = result.estimated_requests_per_hour, result.estimated_response_time_s
    if served is None or response is None:
        served, response = result.requests_per_hour, result.response_time_s
    if served is None or response is None:
        return None
    scenario = result.scenario
    batch, replicas = scenario.batch or 1.0, scenario.replicas or 1.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        wait = (
            queueing.queue_wait_s(middle, response, batch, replicas, _VARIATION, _VARIATION)
            if middle < 1
            else wait_s + 1
        )
        low, high = (middle, high) if wait <= wait_s else (low, middle)
    capacity = served * replicas
    return LoadWithinWait(capacity, low * capacity, low)
