"""Which scenario is best, by which criterion, computed from the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import estimated_requests_per_device_per_hour, has_range, planning_rate
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.scenario import Result

REQUESTS: Final = frozenset({"requests_per_device_per_hour", "estimated_requests_per_hour"})


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The best scenario, or None where none qualifies; the criterion in words; how many were compared or set aside.

    ``by_estimate`` says that all were ranked by their estimates, else all by the core's upper bounds. ``steadier`` is
    the best one at a batch of at most 32, where the core decides and that is another; ``ties`` counts the others that
    share the best value; ``mixed`` says that models or request sizes differ among those compared; ``set_aside``
    are not compared: ceilings beside predictions, and rows of which the device count is not known.
    """

    best: Result | None
    steadier: Result | None
    criterion: str
    figure: str
    compared: int
    slow: int
    not_fitting: int
    set_aside: int = 0
    ties: int = 0
    mixed: bool = False
    by_estimate: bool = False

    def value(self, result: Result) -> float | None:
        """A result's figure by the criterion."""
        return _figure(result, self.figure)

    def rate(self, result: Result) -> float:
        """A result's rate of one stream on the basis that all were compared on."""
        return _rate(result, by_estimate=self.by_estimate)

    @property
    def by_requests(self) -> bool:
        """Whether requests decided, and not rates."""
        return self.figure in REQUESTS


# Requests decide; where no row has a prefill rate and token counts, the aggregate rate does.
_CRITERIA: Final = (
    ("requests_per_device_per_hour", "most requests per hour per device"),
    ("aggregate_tokens_per_sec", "highest aggregate rate per device"),
)
_BY_ESTIMATE: Final = (
    ("estimated_requests_per_hour", "most estimated requests per hour per device"),
    ("estimated_aggregate_tokens_per_sec", "highest estimated aggregate rate per device"),
)


def recommend(results: Sequence[Result]) -> Recommendation:
    """The scenario that earns most per device among those that fit and keep reading pace.

    By the estimates where every scenario that fits has one with a range; an estimate is no match for an upper bound.
    """
    fitting = [r for r in results if not flagged(r, "no-fit")]
    by_estimate = bool(fitting) and all(has_range(r) for r in fitting)
    criteria = _BY_ESTIMATE if by_estimate else _CRITERIA
    able = [r for r in fitting if planning_rate(r) >= READING_PACE_TOKENS_PER_SEC]
    figure, words = next((pair for pair in criteria if any(_figure(r, pair[0]) is not None for r in able)), criteria[0])
    having = [r for r in able if _figure(r, figure) is not None]
    # A device count of one, assumed for want of a better, would put such a row ahead of its equals.
    counted = [r for r in having if not flagged(r, "one-device")] or having
    # A ceiling is no match for a prediction; an estimate is one, whatever the core's efficiency.
    # The core reads all of a mixture, so that beside its figures a mixture's would be too low.
    matched = [r for r in counted if not flagged(r, "ceiling") and not flagged(r, "mixture")]
    ranked = counted if by_estimate else matched or counted
    best = _best(ranked, figure)
    # The estimate counts what a large batch costs, the core does not.
    steadier = best if by_estimate else _best([r for r in ranked if not flagged(r, "batch-large")], figure)
    return Recommendation(
        best=best,
        steadier=None if steadier is best else steadier,
        criterion=words,
        figure=figure,
        compared=len(ranked),
        slow=len(fitting) - len(able),
        not_fitting=len(results) - len(fitting),
        set_aside=len(having) - len(ranked),
        ties=sum(_figure(r, figure) == _figure(best, figure) for r in ranked) - 1 if best else 0,
        mixed=len({_task(r) for r in ranked}) > 1,
        by_estimate=by_estimate,
    )


def _rate(result: Result, *, by_estimate: bool) -> float:
    return (result.estimated_tokens_per_sec if by_estimate else result.tokens_per_sec) or 0.0


def _task(result: Result) -> tuple[object, ...]:
    """What a scenario serves: the model's size and the size of a request."""
    scenario = result.scenario
    return (scenario.params_b or scenario.model, scenario.prompt_tokens, scenario.output_tokens)


def flagged(result: Result, code: str) -> bool:
    """Whether a check raised this flag on the result."""
    return any(issue.code == code for issue in result.issues)


def _best(ranked: Sequence[Result], figure: str) -> Result | None:
    return max(ranked, key=lambda r: _figure(r, figure) or 0.0, default=None)


def _figure(result: Result, figure: str) -> float | None:
    if figure == "estimated_requests_per_hour":
        return estimated_requests_per_device_per_hour(result)
    value: float | None = getattr(result, figure)
    if value is None or figure == "requests_per_device_per_hour":
        return value
    return value / (result.scenario.devices or 1.0)
