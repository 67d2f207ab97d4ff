"""The first page: the answer, its figures, the rates of all scenarios, and what could change the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.columns import as_percent
from planner.plan.checks import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE
from planner.plan.recommend import flagged
from planner.report.parts import (
    Bar,
    Figure,
    count,
    cut,
    in_words,
    listed,
    say,
    say_input,
    sentence,
    with_unit,
)
from planner.report.tables import fit_share, marks_of, not_ranked, ranked
from planner.report.wording import EXPERTS, PACE
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study
    from planner.report.findings import FlagLine

MOST_BARS: Final = 8
MOST_ALERTS: Final = 4
_LONGEST_NAME: Final = 40


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer: its kind (good, bad), headline, and sentences; ``caution`` is what it must be read with."""

    kind: str
    head: str
    title: str
    body: tuple[str, ...]
    caution: str = ""


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


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that could change the answer, with the section that says more."""

    head: str
    text: str
    section: str = ""


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
    title = _title(best, recommendation.figure, len(study.cases), recommendation.ties)
    return Verdict("good", "Recommendation", title, tuple(body), _caution(study, result))


def _title(best: Case, figure: str, total: int, ties: int) -> str:
    equal = f", equal with {count(ties, 'other')}" if ties else ""
    if figure == "requests_per_device_per_hour":
        number = say(figure, best.result.requests_per_device_per_hour)
        does = "serves" if total == 1 else f"serves most{equal}:"
        return f"{best.label} {does} {number} requests an hour per device"
    each = (getattr(best.result, figure) or 0.0) / (best.result.scenario.devices or 1.0)
    does = "gives" if total == 1 else f"gives most per device{equal}:"
    return f"{best.label} {does} {with_unit(figure, each)} per device"


def _how_fast(case: Case) -> str:
    result, scenario = case.result, case.result.scenario
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


def _basis(result: Result) -> str:
    if flagged(result, "ceiling"):
        return " (a ceiling: efficiency 100%)"
    return f" at efficiency {say_input('efficiency', result.scenario.efficiency)}"


def _criterion(study: Study) -> str:
    r = study.recommendation
    fit, keep = ("fits", "keeps") if r.compared == 1 else ("fit", "keep")
    if any(fit_share(case.result) is None for case in study.cases):
        fit += " as far as memory is given"
    if len(study.cases) == 1 and fit_share(study.cases[0].result) is None:
        return f"It keeps reading pace ({PACE}); whether its weights fit is open."
    meets = f"{fit} and {keep} reading pace ({PACE})"
    if len(study.cases) == 1:
        return f"It {meets}."
    if r.compared == 1:
        said = f"It is the only one of {in_words(len(study.cases))} scenarios that {meets} and can be compared"
    else:
        said = f"Criterion: {r.criterion}, among {count(r.compared, 'scenario')} that {meets}"
    aside = []
    if r.slow:
        aside.append(f"{in_words(r.slow)} slower than reading")
    if r.not_fitting:
        aside.append(f"{in_words(r.not_fitting)} whose weights do not fit")
    for code, words in _NOT_RANKED.items():
        number = sum(found == code for found in not_ranked(study).values())
        if number:
            aside.append(f"{in_words(number)} {words}")
    blank = len(study.cases) - r.compared - r.slow - r.not_fitting - r.set_aside
    if blank:
        aside.append(f"{in_words(blank)} without prompt, output or prefill rate")
    return f"{said}; set aside: {listed(aside)}." if aside else f"{said}."


_NOT_RANKED: Final = {
    "one-device": "whose number of devices is not known",
    "ceiling": "at efficiency 100%, a ceiling",
}


def _caution(study: Study, best: Result) -> str:
    if not flagged(best, "batch-large"):
        return ""
    r = study.recommendation
    said = (
        f"Its batch of {say_input('batch', best.scenario.batch)} is above {BATCH_WARNED_ABOVE}, "
        "where this model overstates most. "
    )
    if r.steadier is None:
        return (
            f"{said}No scenario with a batch of at most {BATCH_WARNED_ABOVE} qualifies; measure before you plan on it."
        )
    other = study.case_of(r.steadier)
    figure = (
        "requests_per_device_per_hour" if r.figure == "requests_per_device_per_hour" else "aggregate_tokens_per_sec"
    )
    unit = "requests an hour per device" if figure == r.figure and figure.startswith("requests") else "tok/s aggregate"
    return (
        f"{said}The best with a batch of at most {BATCH_WARNED_ABOVE}, overstated less, is {named(other)}: "
        f"{say(figure, getattr(other.result, figure))} {unit}."
    )


def _no_best(study: Study) -> Verdict:
    r = study.recommendation
    if not study.cases:
        total = len(study.skipped)
        title = f"{sentence(count(total, 'row'))} read, none could be evaluated" if total else "No scenario was found"
        said = "What stands in the way is listed with its cells; correct them and run again."
        return Verdict("bad", "No recommendation", title, (said,) if study.issues else ())
    fastest = max(study.cases, key=lambda case: case.result.tokens_per_sec or 0.0)
    fitting = [case for case in study.cases if not flagged(case.result, "no-fit")]
    if fitting:
        fastest = max(fitting, key=lambda case: case.result.tokens_per_sec or 0.0)
        lever = "Use a smaller model, a lower precision or more bandwidth."
    else:
        lever = "Use more devices, devices with more memory, or a lower precision."
    aside = [
        f"{in_words(number)} {words}"
        for number, words in ((r.slow, "slower than reading"), (r.not_fitting, "whose weights do not fit"))
        if number
    ]
    body = (_how_fast(fastest), f"Set aside: {listed(aside)}. {lever}")
    title = (
        "No scenario both fits and keeps reading pace"
        if len(study.cases) > 1
        else "The scenario does not both fit and keep reading pace"
    )
    return Verdict("bad", "No recommendation", title, body)


def tiles(study: Study) -> tuple[Tile, ...]:
    """Up to four figures of the best scenario."""
    if study.recommendation.best is None:
        return ()
    case = study.case_of(study.recommendation.best)
    result, scenario = case.result, case.result.scenario
    streams = count(int(scenario.batch or 1), "stream")
    devices = count(int(scenario.devices or 1), "device")
    prompt, output = (say_input(name, getattr(scenario, name)) for name in ("prompt_tokens", "output_tokens"))
    wanted = (
        ("tokens_per_sec", "Speed of one stream", f"reading pace is {READING_PACE_TOKENS_PER_SEC:g}"),
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


def _at_load(result: Result) -> str:
    """The requests at the typed occupancy, which are those of all devices."""
    if result.requests_at_occupancy_per_hour is None:
        return ""
    devices = int(result.scenario.devices or 1)
    number = say("requests_at_occupancy_per_hour", result.requests_at_occupancy_per_hour)
    where = f" on {count(devices, 'device')}" if devices > 1 else ""
    return f"; {number}{where} at occupancy {say_input('occupancy', result.scenario.occupancy)}"


def bars(study: Study) -> tuple[Bar, ...]:
    """The per-stream rates of all scenarios in the workbook's order, or of the best ones, fastest first."""
    cases = study.cases
    if len(cases) > MOST_BARS:
        cases = tuple(sorted(ranked(study)[:MOST_BARS], key=lambda case: -(case.result.tokens_per_sec or 0.0)))
    return tuple(_bar(study, case) for case in cases if case.result.tokens_per_sec is not None)


def _bar(study: Study, case: Case) -> Bar:
    result = case.result
    remarks = [word for code, word in (("no-fit", "does not fit"), ("ceiling", "ceiling")) if flagged(result, code)]
    if result is study.recommendation.best and len(study.cases) > 1:
        remarks.append("recommended")
    text = say("tokens_per_sec", result.tokens_per_sec)
    return Bar(
        f"{case.label} {case.name}",
        result.tokens_per_sec or 0.0,
        ", ".join([text, *remarks]),
        hatched=bool(marks_of(result)),
        strong=result is study.recommendation.best,
    )


_TWO: Final = 2


def pace_figure(study: Study) -> Figure:
    """How many scenarios keep reading pace, and what the bars mean."""
    total = len(study.cases)
    rates = [case.result.tokens_per_sec or 0.0 for case in study.cases]
    able = sum(rate >= READING_PACE_TOKENS_PER_SEC for rate in rates)
    if total == 1:
        title = f"The scenario {'keeps' if able else 'does not keep'} reading pace"
    elif able == total:
        title = f"{'Both' if total == _TWO else f'All {in_words(total)}'} scenarios keep reading pace"
    elif not able:
        title = "Neither scenario keeps reading pace" if total == _TWO else "No scenario keeps reading pace"
    else:
        title = (
            f"{sentence(in_words(able))} of {in_words(total)} scenarios {'keeps' if able == 1 else 'keep'} reading pace"
        )
    subtitle = "Per stream (tok/s), at each scenario's efficiency"
    if total > MOST_BARS:
        subtitle += f"; the {MOST_BARS} best of {total:,}, fastest first"
    if any(marks_of(case.result) for case in study.cases):
        subtitle += "; hatched: too slow or does not fit"
    return Figure(title, subtitle, f"Per-stream rate of each scenario against reading pace. {title}.")


_FIRST: Final = ("no-fit", "above-ceiling", "slow", "batch-large", "size-differs", "unlikely")


def alerts(study: Study, flags: Sequence[FlagLine]) -> tuple[Alert, ...]:
    """What could change the answer: rows left out, warnings, ceilings, and that all is an upper bound."""
    found: list[Alert] = []
    if not study.cases:
        # The rows left out are listed above, and without figures there is nothing to hold against a bound.
        return ()
    if study.skipped:
        names = [f"row {row.origin.row}" for row in study.skipped[:4] if row.origin.row]
        more = len(study.skipped) - len(names)
        rows = listed([*names, f"{more} more"] if more else names)
        found.append(
            Alert(
                "Left out.", f"{sentence(count(len(study.skipped), 'row'))} could not be evaluated: {rows}.", "checks"
            )
        )
    known = {line.issue_code: line for line in flags}
    found += [
        Alert(f"{sentence(line.words)}:", f"{line.few}. {line.advice}.", "checks")
        for code in _FIRST
        if (line := known.get(code))
    ]
    if line := known.get("ceiling"):
        found.append(Alert("Ceilings:", f"{line.few} at efficiency 100%, so a ceiling and not a prediction.", "checks"))
    unknown = sum(fit_share(case.result) is None for case in study.cases)
    if unknown:
        who = "all scenarios" if 1 < unknown == len(study.cases) else count(unknown, "scenario")
        found.append(
            Alert("Fit not judged.", f"For {who} the memory per device or the number of devices is not given.", "")
        )
    more = len(found) - (MOST_ALERTS - 1)
    kept = found[: MOST_ALERTS - 1]
    tail = f" {sentence(count(more, 'more finding'))} in the list of flags." if more > 0 else ""
    kept.append(
        Alert(
            "Upper bound.",
            "KV-cache reads, scheduling and queueing are not counted. Fit means that the weights alone take at most "
            f"{as_percent(USABLE_MEMORY_SHARE)} of the memory. {EXPERTS}.{tail}",
            "formulas",
        )
    )
    return tuple(kept)


def alerts_head(study: Study) -> str:
    """What the alerts are about: the answer where there is one."""
    return "What could change this answer" if study.recommendation.best else "Read this first"
