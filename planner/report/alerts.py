"""What could change the answer of the first page, or must be read with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.plan.basis import fits, has_range
from planner.plan.limits import USABLE_MEMORY_SHARE
from planner.report.numbers import as_percent
from planner.report.parts import count, listed, sentence
from planner.report.wording import EXPERTS, RANGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.study import Study
    from planner.report.findings import FlagLine

MOST_ALERTS: Final = 4


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that could change the answer, with the section that says more."""

    head: str
    text: str
    section: str = ""


_FIRST: Final = (
    "no-fit", "misses-target", "no-utilisation", "no-life", "no-power", "unstable", "above-ceiling", "slow",
    "batch-large", "size-differs", "unlikely",
)  # fmt: skip


def alerts(study: Study, flags: Sequence[FlagLine], first: Sequence[Alert] = ()) -> tuple[Alert, ...]:
    """What could change the answer: rows left out, warnings, ceilings, and that all is an upper bound.

    ``first`` are those of money, which stand before all but the rows left out.
    """
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
    found += first
    known = {line.issue_code: line for line in flags}
    found += [
        Alert(f"{sentence(line.words)}:", f"{line.few}. {line.advice}.", "checks")
        for code in _FIRST
        if (line := known.get(code))
    ]
    if line := known.get("ceiling"):
        found.append(Alert("Ceilings:", f"{line.few} at efficiency 100%, so a ceiling and not a prediction.", "checks"))
    unknown = sum(fits(case.result) is None for case in study.cases)
    if unknown:
        who = "all scenarios" if 1 < unknown == len(study.cases) else count(unknown, "scenario")
        found.append(
            Alert("Fit not judged.", f"For {who} the memory per device or the number of devices is not given.", "")
        )
    more = len(found) - (MOST_ALERTS - 1)
    kept = found[: MOST_ALERTS - 1]
    tail = f" {sentence(count(more, 'more finding'))} in the list of flags." if more > 0 else ""
    kept.append(_basis_alert(study, tail))
    return tuple(kept)


def _basis_alert(study: Study, tail: str) -> Alert:
    """What the figures stand on: estimates with their range, upper bounds, or some of each."""
    estimated = sum(has_range(case.result) for case in study.cases)
    if estimated == len(study.cases):
        return Alert("Estimate.", f"{RANGE} Queueing counts only where an offered load is given.{tail}", "estimate")
    if not estimated:
        bound = (
            "KV-cache reads, scheduling and queueing are not counted. Fit means that the weights alone take at most "
            f"{as_percent(USABLE_MEMORY_SHARE)} of the memory where the KV cache is not known. {EXPERTS}. Name device "
            f"and model for an estimate.{tail}"
        )
        return Alert("Upper bound.", bound, "formulas")
    without = count(len(study.cases) - estimated, "scenario")
    return Alert(
        "Upper bound.",
        f"{sentence(without)} without an estimate: no KV-cache reads, latencies and queueing are counted.{tail}",
        "estimate",
    )


def alerts_head(study: Study) -> str:
    """What the alerts are about: the answer where there is one."""
    return "What could change this answer" if study.recommendation.best else "Read this first"
