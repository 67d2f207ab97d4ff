"""The first page: the answer, its figures, the rates of all scenarios, and what could change the answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import (
    estimated_requests_per_device_per_hour,
    fits,
    has_range,
    upper_bound,
)
from planner.plan.limits import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC
from planner.plan.recommend import Standing, flagged
from planner.report import money
from planner.report.numbers import as_percent, span
from planner.report.parts import count, cut, in_words, listed, say, say_input, sentence, with_unit
from planner.report.tables import not_ranked
from planner.report.wording import PACE
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

_LONGEST_NAME: Final = 40


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer: its kind (good, bad), headline, and sentences.

    ``caution`` is what it must be read with, ``decision`` what it asks of the reader.
    """

    kind: str
    head: str
    title: str
    body: tuple[str, ...]
    caution: str = ""
    decision: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure that matters most: what it is, its number and unit, and what to hold it against."""

    label: str
    number: str
    unit: str
    basis: str

    @property
    def size(self) -> str:
        """The class of the number's size, so that it keeps to its tile."""
        length = len(self.number) + _UNIT_LETTER * len(self.unit)
        return "" if length <= _SHORT else "long" if length <= _LONG else "longest"


# In letters of the number; the unit's are half as wide.
_UNIT_LETTER: Final = 0.5
_SHORT: Final = 9.5
_LONG: Final = 11.5


def named(case: Case) -> str:
    """A case by label and name, the name cut to what a sentence bears."""
    return f"{case.label} ({cut(case.name, _LONGEST_NAME)})" if case.name else case.label


def verdict(study: Study) -> Verdict:
    """Which scenario is best, by which criterion, among how many."""
    recommendation = study.recommendation
    if recommendation.best is None:
        return _no_best(study)
    best = study.case_of(recommendation.best)
    result = best.result
    body = [_how_fast(best), _criterion(study)]
    if recommendation.mixed:
        body.append("Not like for like: models or request sizes differ, and a smaller model or request serves more.")
    return Verdict("good", "Recommendation", _title(study, best), tuple(body), caution(study, result))


def _title(study: Study, best: Case) -> str:
    recommendation, total, result = study.recommendation, len(study.cases), best.result
    figure, ties = recommendation.figure, recommendation.ties
    equal = f", equal with {count(ties, 'other')}" if ties else ""
    if has_range(result):
        return _estimated_title(study, best, equal)
    if recommendation.by_requests:
        number = say(figure, best.result.requests_per_device_per_hour)
        does = "serves" if total == 1 else f"serves most{equal}:"
        return f"{best.label} {does} {number} requests an hour per device"
    each = (getattr(best.result, figure) or 0.0) / (best.result.scenario.devices or 1.0)
    does = "gives" if total == 1 else f"gives most per device{equal}:"
    return f"{best.label} {does} {with_unit(figure, each)} per device"


def _estimated_title(study: Study, best: Case, equal: str) -> str:
    """The headline of a best scenario with an estimate: its number is the estimate's, whatever it was ranked by."""
    recommendation, result = study.recommendation, best.result
    if recommendation.by_requests:
        value = estimated_requests_per_device_per_hour(result)
        said = f"an estimated {say('requests_per_device_per_hour', value)} requests an hour per device"
    else:
        each = (result.estimated_aggregate_tokens_per_sec or 0.0) / (result.scenario.devices or 1.0)
        said = f"an estimated {with_unit('estimated_aggregate_tokens_per_sec', each)} per device"
    if len(study.cases) == 1:
        return f"{best.label} {'serves' if recommendation.by_requests else 'gives'} {said}"
    does = "serves" if recommendation.by_requests else "gives"
    if recommendation.by_estimate:
        return f"{best.label} {does} most{equal}: {said}"
    return f"{best.label} ranks first{equal} and {does} {said}"


def _how_fast(case: Case) -> str:
    """How fast a scenario is: its estimate with the range, else the core's rate as the upper bound that it is."""
    result, scenario = case.result, case.result.scenario
    if has_range(result):
        return _estimated_speed(case)
    said = f"{named(case)} runs one stream at {with_unit('tokens_per_sec', result.tokens_per_sec)}{_basis(result)}"
    if (scenario.batch or 1) > 1:
        said += (
            f", and {count(int(scenario.batch or 1), 'stream')} together at "
            f"{with_unit('aggregate_tokens_per_sec', result.aggregate_tokens_per_sec)}"
        )
    if result.response_time_s is not None:
        said += (
            f". A request of {say_input('prompt_tokens', scenario.prompt_tokens)} prompt and "
            f"{say_input('output_tokens', scenario.output_tokens)} output tokens takes "
            f"{with_unit('response_time_s', result.response_time_s)}"
        )
    return f"{said}."


def _estimated_speed(case: Case) -> str:
    result, scenario = case.result, case.result.scenario
    said = (
        f"{named(case)} runs one stream at {with_unit('tokens_per_sec', result.estimated_tokens_per_sec)} "
        f"({speed_range(result)}; upper bound {say('tokens_per_sec', upper_bound(result))})"
    )
    if (scenario.batch or 1) > 1:
        said += (
            f", and {count(int(scenario.batch or 1), 'stream')} together at "
            f"{with_unit('aggregate_tokens_per_sec', result.estimated_aggregate_tokens_per_sec)}"
        )
    if result.estimated_response_time_s is not None:
        said += (
            f". A request of {say_input('prompt_tokens', scenario.prompt_tokens)} prompt and "
            f"{say_input('output_tokens', scenario.output_tokens)} output tokens takes an estimated "
            f"{with_unit('response_time_s', result.estimated_response_time_s)}"
        )
    return f"{said}."


def ends_of(result: Result) -> str:
    """The ends of an estimate of one stream's rate, with their unit."""
    return f"{span(result.low_tokens_per_sec or 0.0, result.high_tokens_per_sec or 0.0)} tok/s"


def speed_range(result: Result) -> str:
    """The same, named as what it is."""
    return f"estimate, {ends_of(result)}"


def _basis(result: Result) -> str:
    if flagged(result, "ceiling"):
        return " (a ceiling: efficiency 100%)"
    return f" at efficiency {say_input('efficiency', result.scenario.efficiency)}, an upper bound"


def _criterion(study: Study) -> str:
    r = study.recommendation
    if len(study.cases) == 1 and fits(study.cases[0].result) is None:
        return f"It {_pace_words(study, 1)}; whether its weights fit is open."
    meets = meets_words(study, r.compared)
    if len(study.cases) == 1:
        return f"It {meets}."
    if r.compared == 1:
        said = f"It is the only one of {in_words(len(study.cases))} scenarios that {meets} and can be compared"
    else:
        said = f"Criterion: {r.criterion}{_bounds_rank(study)}, among {count(r.compared, 'scenario')} that {meets}"
    aside = aside_words(study)
    return f"{said}; set aside: {listed(aside)}." if aside else f"{said}."


def meets_words(study: Study, number: int) -> str:
    """What so many scenarios do that qualify: they fit, and meet their targets."""
    fit = "fits" if number == 1 else "fit"
    if any(fits(case.result) is None for case in study.cases):
        fit += " as far as memory is given"
    return f"{fit} and {_pace_words(study, number)}"


def _pace_words(study: Study, number: int) -> str:
    if not has_targets(study):
        return f"{'keeps' if number == 1 else 'keep'} reading pace ({PACE})"
    return "meets its targets" if number == 1 else "meet their targets"


def has_targets(study: Study) -> bool:
    """Whether any scenario names a speed or a response time of its own that it must reach."""
    scenarios = [case.result.scenario for case in study.cases]
    return any(s.target_tokens_per_sec is not None or s.target_response_s is not None for s in scenarios)


def aside_words(study: Study) -> list[str]:
    """How many scenarios are not ranked, by what stands against them."""
    r = study.recommendation
    slow = "slower than their targets" if has_targets(study) else "slower than reading"
    found = [
        f"{in_words(number)} {words}"
        for number, words in (
            (r.slow, slow),
            (r.not_fitting, f"that {'does' if r.not_fitting == 1 else 'do'} not fit"),
            (r.counts[Standing.UNSTABLE], "unstable under the offered load"),
            (r.counts[Standing.LATE], "too late for their targets"),
            (r.counts[Standing.UNTIMED], "whose response time is not known"),
        )
        if number
    ]
    for code, words in _NOT_RANKED.items():
        number = sum(standing == code for standing in not_ranked(study).values())
        if number:
            found.append(f"{in_words(number)} {words}")
    lacking = [case for case, how in zip(study.cases, r.standings, strict=True) if how is Standing.LACKING]
    lacks = Counter(_lacks(study, case) if r.by_cost else _NO_REQUEST for case in lacking)
    return found + [f"{in_words(number)} {words}" for words, number in lacks.items()]


_NO_REQUEST: Final = "without prompt, output or prefill rate"


def _lacks(study: Study, case: Case) -> str:
    """For want of what a scenario has no cost that can be compared."""
    scenario = case.result.scenario
    if case.result.device_cost_h is None and scenario.device_capex_cost is None:
        return "without a hardware price"
    return "without a cost" if study.purse.holds(scenario) else "without an exchange rate"


def _bounds_rank(study: Study) -> str:
    """That upper bounds rank, where some scenarios have estimates and others have none."""
    estimated = sum(has_range(case.result) for case in study.cases)
    if study.recommendation.by_estimate or not estimated:
        return ""
    has = "has" if estimated == 1 else "have"
    return f" by upper bounds (only {in_words(estimated)} of {in_words(len(study.cases))} {has} an estimate)"


_NOT_RANKED: Final = {
    "one-device": "whose number of devices is not known",
    "ceiling": "at efficiency 100%, a ceiling",
    "mixture": "with a mixture of experts, which upper bounds misjudge",
    "bound": "whose cost rests on an upper bound of speed",
}


def caution(study: Study, best: Result) -> str:
    """What an answer must be read with; nothing where there is no such."""
    r = study.recommendation
    if r.by_estimate or not flagged(best, "batch-large"):
        return ""
    said = (
        f"Its batch of {say_input('batch', best.scenario.batch)} is above {BATCH_WARNED_ABOVE}, "
        "where the upper bounds overstate most. "
    )
    if r.steadier is None:
        return (
            f"{said}No scenario with a batch of at most {BATCH_WARNED_ABOVE} qualifies; measure before you plan on it."
        )
    other = study.case_of(r.steadier)
    figure = "requests_per_device_per_hour" if r.by_requests else "aggregate_tokens_per_sec"
    unit = "requests an hour per device" if r.by_requests else "tok/s aggregate"
    return (
        f"{said}The best with a batch of at most {BATCH_WARNED_ABOVE}, overstated less, is {named(other)}: "
        f"at most {say(figure, getattr(other.result, figure))} {unit}."
    )


def _no_best(study: Study) -> Verdict:
    r = study.recommendation
    if not study.cases:
        total = len(study.skipped)
        title = f"{sentence(count(total, 'row'))} read, none could be evaluated" if total else "No scenario was found"
        said = "What stands in the way is listed with its cells; correct them and run again."
        return Verdict("bad", "No recommendation", title, (said,) if study.issues else ())
    fitting = [case for case in study.cases if not flagged(case.result, "no-fit")]
    fastest = max(fitting or study.cases, key=lambda case: r.rate(case.result))
    if not fitting:
        lever = "Use more devices, devices with more memory, or a lower precision."
    elif r.counts[Standing.UNSTABLE] and not r.slow:
        lever = "Use more replicas, or a faster deployment: the queue only grows."
    else:
        lever = "Use a smaller model, a lower precision or more bandwidth."
    body = [_how_fast(fastest), f"Set aside: {listed(aside_words(study))}. {lever}", _api_price(study, fastest.result)]
    return Verdict("bad", "No recommendation", _no_best_title(study, fitting), tuple(text for text in body if text))


def _no_best_title(study: Study, fitting: Sequence[Case]) -> str:
    many = len(study.cases) > 1
    if not fitting:
        return "No scenario fits its hardware" if many else "The scenario does not fit its hardware"
    if study.recommendation.counts[Standing.UNSTABLE] == len(fitting):
        return "No scenario serves its offered load" if many else "The scenario does not serve its offered load"
    meets = ("meets", "meet", "its targets") if has_targets(study) else ("keeps", "keep", "reading pace")
    if many:
        return f"No scenario both fits and {meets[0]} {meets[2]}"
    return f"The scenario does not both fit and {meets[1]} {meets[2]}"


def _api_price(study: Study, result: Result) -> str:
    """What an API charges for what no scenario can serve."""
    price = result.api_cost_per_m_output
    if price is None:
        return ""
    said = money.till_of(study, result).price(price)
    return f"The API charges {said} per million output tokens at this mix of tokens."


def tiles(study: Study) -> tuple[Tile, ...]:
    """Up to four figures of the best scenario."""
    if study.recommendation.best is None:
        return ()
    case = study.case_of(study.recommendation.best)
    result, scenario = case.result, case.result.scenario
    streams = count(int(scenario.batch or 1), "stream")
    devices = count(int(scenario.devices or 1), "device")
    prompt, output = (say_input(name, getattr(scenario, name)) for name in ("prompt_tokens", "output_tokens"))
    if has_range(result):
        return _estimated_tiles(case, f"{streams} on {devices}", f"{prompt} prompt + {output} output tokens")
    wanted = (
        ("tokens_per_sec", "Speed of one stream", f"upper bound; reading pace is {READING_PACE_TOKENS_PER_SEC:g}"),
        ("aggregate_tokens_per_sec", "All streams together", f"{streams} on {devices}"),
        ("response_time_s", "Response time", f"{prompt} prompt + {output} output tokens"),
        ("requests_per_device_per_hour", "Requests per device", f"every stream busy{_at_load(result)}"),
        ("inter_token_latency_ms", "Inter-token latency", "between two tokens of a stream"),
        ("time_to_first_token_s", "Time to first token", f"prompt of {prompt} tokens"),
    )
    return tuple(
        Tile(label, say(name, getattr(result, name)), unit_of(name).symbol, basis)
        for name, label, basis in wanted
        if getattr(result, name) is not None
    )[:4]


def _estimated_tiles(case: Case, together: str, request: str) -> tuple[Tile, ...]:
    result = case.result
    wanted = (
        ("tokens_per_sec", "Speed of one stream", result.estimated_tokens_per_sec, speed_range(result)),
        (
            "aggregate_tokens_per_sec",
            "All streams together",
            result.estimated_aggregate_tokens_per_sec,
            f"estimate, {together}",
        ),
        ("response_time_s", "Response time", result.estimated_response_time_s, f"estimate, {request}"),
        (
            "requests_per_device_per_hour",
            "Requests per device",
            estimated_requests_per_device_per_hour(result),
            f"estimate, every stream busy{_used(result)}",
        ),
        ("step_time_ms", "Inter-token latency", result.step_time_ms, "estimate, between two tokens of a stream"),
        ("memory_needed_gb", "Memory needed", result.memory_needed_gb, _of_usable(result)),
    )
    return tuple(
        Tile(label, say(name, value), unit_of(name).symbol, basis)
        for name, label, value, basis in wanted
        if value is not None
    )[:4]


def _used(result: Result) -> str:
    """How much of its capacity the offered load takes."""
    if result.utilisation is None:
        return ""
    used = as_percent(result.utilisation)
    return f"; offered load {used}, unstable" if result.utilisation >= 1 else f"; {used} used by the offered load"


def _of_usable(result: Result) -> str:
    return f"of {with_unit('usable_memory_gb', result.usable_memory_gb)} usable" if result.usable_memory_gb else ""


def _at_load(result: Result) -> str:
    """The requests at the typed occupancy, which are those of all devices."""
    if result.requests_at_occupancy_per_hour is None:
        return ""
    devices = int(result.scenario.devices or 1)
    number = say("requests_at_occupancy_per_hour", result.requests_at_occupancy_per_hour)
    where = f" on {count(devices, 'device')}" if devices > 1 else ""
    return f"; {number}{where} at occupancy {say_input('occupancy', result.scenario.occupancy)}"
