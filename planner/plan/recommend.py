"""Which scenario is best, by which criterion, computed from the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from planner.plan.basis import (
    estimated_requests_per_device_per_hour,
    fits,
    has_estimate,
    has_range,
    keeps_pace,
    planning_rate,
    response_of,
)
from planner.plan.purse import Purse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from planner.plan.scenario import Result

REQUESTS: Final = frozenset({"requests_per_device_per_hour", "estimated_requests_per_hour"})
COST: Final = "cost_per_m_tokens"


class Standing(StrEnum):
    """How a scenario stands: ranked, or why it is not."""

    RANKED = "ranked"
    NO_FIT = "no-fit"
    # Its queue only grows: it does not serve what is offered to it.
    UNSTABLE = "unstable"
    SLOW = "slow"
    LATE = "late"
    # A response is asked for, and none is known.
    UNTIMED = "untimed"
    # It lacks the figure by which the others are ranked.
    LACKING = "lacking"
    # A device count of one, assumed for want of a better, would put it ahead of its equals.
    ONE_DEVICE = "one-device"
    # A ceiling is no match for a prediction.
    CEILING = "ceiling"
    # The core reads all of a mixture, so that beside its figures a mixture's would be too low.
    MIXTURE = "mixture"
    # Its cost rests on an upper bound, beside costs that rest on estimates.
    BOUND = "bound"


class AgainstApi(StrEnum):
    """How a scenario's cost stands against its API's: not compared, cheaper, dearer at this utilisation or at any.

    What does not fit its hardware serves nothing, whatever it would cost.
    """

    UNKNOWN = "unknown"
    CHEAPER = "cheaper"
    DEARER = "dearer"
    NEVER = "never"
    NO_FIT = "no-fit"


@dataclass(frozen=True)
class Recommendation:
    """The best scenario, or None where none qualifies; the criterion in words; how each scenario stands.

    ``by_estimate`` says that all were ranked by their estimates, else by the core's upper bounds. ``steadier`` is
    the best one at a batch of at most 32, where the core decides and that is another; ``ties`` counts the others that
    share the best value; ``mixed`` says that models or request sizes differ among those compared. Costs are compared
    in the currency of ``purse``.
    """

    best: Result | None
    steadier: Result | None
    criterion: str
    figure: str
    standings: tuple[Standing, ...]
    ties: int = 0
    mixed: bool = False
    by_estimate: bool = False
    purse: Purse = field(default_factory=Purse)

    @cached_property
    def counts(self) -> Mapping[Standing, int]:
        """How many scenarios stand in each way."""
        return Counter(self.standings)

    @property
    def compared(self) -> int:
        """How many scenarios were ranked."""
        return self.counts[Standing.RANKED]

    @property
    def slow(self) -> int:
        """How many miss their speed: their target, or reading pace."""
        return self.counts[Standing.SLOW]

    @property
    def not_fitting(self) -> int:
        """How many do not fit."""
        return self.counts[Standing.NO_FIT]

    @property
    def set_aside(self) -> int:
        """How many have the figure, but no match among those ranked."""
        return sum(self.counts[standing] for standing in _UNMATCHED)

    def value(self, result: Result) -> float | None:
        """A result's figure by the criterion; costs in the currency of comparison."""
        return _figure(result, self.figure, self.purse)

    def rate(self, result: Result) -> float:
        """A result's rate of one stream on the basis that all were compared on."""
        if self.by_cost:
            return planning_rate(result)
        return (result.estimated_tokens_per_sec if self.by_estimate else result.tokens_per_sec) or 0.0

    @property
    def by_requests(self) -> bool:
        """Whether requests decided, and not rates."""
        return self.figure in REQUESTS

    @property
    def by_cost(self) -> bool:
        """Whether money decided."""
        return self.figure == COST


_UNMATCHED: Final = (Standing.ONE_DEVICE, Standing.CEILING, Standing.MIXTURE, Standing.BOUND)
# Money decides where it is known, else requests; where no row has a prefill rate and token counts, the aggregate rate.
_CHEAPEST: Final = (COST, "lowest cost per million output tokens")
_CRITERIA: Final = (
    ("requests_per_device_per_hour", "most requests per hour per device"),
    ("aggregate_tokens_per_sec", "highest aggregate rate per device"),
)
_BY_ESTIMATE: Final = (
    ("estimated_requests_per_hour", "most estimated requests per hour per device"),
    ("estimated_aggregate_tokens_per_sec", "highest estimated aggregate rate per device"),
)


def recommend(results: Sequence[Result], purse: Purse | None = None) -> Recommendation:
    """The cheapest scenario among those that fit and meet their targets; without prices, that earns most per device.

    The target of speed is reading pace unless the scenario names its own. By the estimates where every scenario that
    fits has one with a range; an estimate is no match for an upper bound.
    """
    purse = purse or Purse()
    standings = [standing_of(result) for result in results]
    fitting = [r for r, standing in zip(results, standings, strict=True) if standing is not Standing.NO_FIT]
    able = [r for r, standing in zip(results, standings, strict=True) if standing is Standing.RANKED]
    by_estimate = bool(fitting) and all(has_range(r) for r in fitting)
    criteria = (_CHEAPEST, *(_BY_ESTIMATE if by_estimate else _CRITERIA))
    figure, words = next(
        (pair for pair in criteria if any(_figure(r, pair[0], purse) is not None for r in able)), criteria[1]
    )
    by_cost = figure == COST
    aside = _aside(able, figure, purse, by_estimate=by_estimate)
    ranked = [r for r in able if id(r) not in aside]
    if by_cost:
        by_estimate = bool(ranked) and all(has_estimate(r) for r in ranked)
    best = _best(ranked, figure, purse)
    # The estimate counts what a large batch costs, the core does not.
    steadier = best if by_estimate else _best([r for r in ranked if not flagged(r, "batch-large")], figure, purse)
    top = None if best is None else _figure(best, figure, purse)
    return Recommendation(
        best=best,
        steadier=None if steadier is best else steadier,
        criterion=words,
        figure=figure,
        standings=tuple(aside.get(id(r), standing) for r, standing in zip(results, standings, strict=True)),
        ties=sum(_figure(r, figure, purse) == top for r in ranked) - 1 if best else 0,
        mixed=len({_task(r) for r in ranked}) > 1,
        by_estimate=by_estimate,
        purse=purse,
    )


def standing_of(result: Result) -> Standing:
    """Whether a scenario qualifies by itself: it fits, and meets its targets of speed and response."""
    scenario = result.scenario
    if flagged(result, "no-fit"):
        return Standing.NO_FIT
    if flagged(result, "unstable"):
        return Standing.UNSTABLE
    if not keeps_pace(result):
        return Standing.SLOW
    if scenario.target_response_s is None:
        return Standing.RANKED
    takes = response_of(result)
    if takes is None:
        return Standing.UNTIMED
    return Standing.RANKED if takes <= scenario.target_response_s else Standing.LATE


def against_api(result: Result) -> AgainstApi:
    """How a scenario's cost of a million output tokens stands against what its API charges for them."""
    stands = prices_stand(result.cost_per_m_tokens, result.api_cost_per_m_output, result.break_even_share)
    return AgainstApi.NO_FIT if stands is not AgainstApi.UNKNOWN and fits(result) is False else stands


def prices_stand(own: float | None, api: float | None, share: float | None) -> AgainstApi:
    """How a cost stands against an API's charge, with the share of the capacity at which both are the same."""
    if own is None or api is None:
        return AgainstApi.UNKNOWN
    if own <= api:
        return AgainstApi.CHEAPER
    # A free API has no break-even.
    return AgainstApi.NEVER if share is None or share > 1 else AgainstApi.DEARER


def _aside(able: Sequence[Result], figure: str, purse: Purse, *, by_estimate: bool) -> dict[int, Standing]:
    """Those of them that are not ranked, by identity, and why. Where all share a fault, none is set aside for it."""
    found = {id(r): Standing.LACKING for r in able if _figure(r, figure, purse) is None}
    faults: list[tuple[Standing, Callable[[Result], bool]]] = [
        (Standing.ONE_DEVICE, lambda r: flagged(r, Standing.ONE_DEVICE))
    ]
    if figure == COST:
        faults.append((Standing.BOUND, lambda r: not has_estimate(r)))
    elif not by_estimate:
        faults.append((Standing.CEILING, lambda r: flagged(r, Standing.CEILING)))
        faults.append((Standing.MIXTURE, lambda r: flagged(r, Standing.MIXTURE)))
    kept = [r for r in able if id(r) not in found]
    counted = _without(kept, faults[:1], found)
    _without(counted, faults[1:], found)
    return found


def _without(
    results: list[Result],
    faults: Sequence[tuple[Standing, Callable[[Result], bool]]],
    found: dict[int, Standing],
) -> list[Result]:
    """Those without a fault, or all where each has one; what is left out is noted among those found."""
    faulty = {id(r): standing for standing, has in reversed(faults) for r in results if has(r)}
    if len(faulty) == len(results):
        return results
    found.update(faulty)
    return [r for r in results if id(r) not in faulty]


def _task(result: Result) -> tuple[object, ...]:
    """What a scenario serves: the model's size and the size of a request."""
    scenario = result.scenario
    return (scenario.params_b or scenario.model, scenario.prompt_tokens, scenario.output_tokens)


def flagged(result: Result, code: str) -> bool:
    """Whether a check raised this flag on the result."""
    return any(issue.code == code for issue in result.issues)


def _best(ranked: Sequence[Result], figure: str, purse: Purse) -> Result | None:
    def merit(result: Result) -> float:
        value = _figure(result, figure, purse) or 0.0
        return -value if figure == COST else value

    return max(ranked, key=merit, default=None)


def _figure(result: Result, figure: str, purse: Purse) -> float | None:
    if figure == COST:
        # Where it is not known how many devices there are, the cost is that of one.
        return None if flagged(result, Standing.ONE_DEVICE) else purse.amount(result, figure)
    if figure == "estimated_requests_per_hour":
        return estimated_requests_per_device_per_hour(result)
    value: float | None = getattr(result, figure)
    if value is None or figure == "requests_per_device_per_hour":
        return value
    return value / (result.scenario.devices or 1.0)
