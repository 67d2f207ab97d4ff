"""A scenario's line in the summary of a batch: which inputs and figures it keeps, and back to a result for ranking."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from planner.issues import Issue, Severity
from planner.plan.basis import fits
from planner.plan.checks import FLAGS
from planner.plan.purse import is_priced, purse_of
from planner.plan.scenario import COLUMNS, FIGURES, Result, Scenario, figure_header, header_of
from planner.plan.study import Case, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from planner.batch.ledger import Done
    from planner.columns import Column
    from planner.plan.purse import Purse


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of the summary: its name and title, how it is taken from a result, and the column that it follows.

    The one that it follows gives its number format and its note.
    """

    name: str
    title: str
    take: Callable[[Result], Any]
    column: Column | None = None
    is_input: bool = False


def _input(name: str) -> Shown:
    return Shown(name, header_of(name), attrgetter(f"scenario.{name}"), COLUMNS[name], is_input=True)


def _figure(name: str) -> Shown:
    return Shown(name, figure_header(name), attrgetter(name), FIGURES[name])


# The summary's columns in their order; a line more is a column more. Each row stands for itself: money of two
# workbooks may be of two currencies, so nothing here is ever added up.
SHOWN: Final = (
    _input("model"),
    _input("device"),
    _input("engine"),
    _input("precision"),
    _input("devices"),
    _input("batch"),
    _input("prompt_tokens"),
    _input("output_tokens"),
    _input("replicas"),
    _input("offered_requests_per_hour"),
    _figure("weights_gb"),
    _figure("tokens_per_sec"),
    _figure("aggregate_tokens_per_sec"),
    _figure("time_to_first_token_s"),
    _figure("response_time_s"),
    _figure("requests_per_hour"),
    _figure("requests_per_device_per_hour"),
    _figure("estimated_tokens_per_sec"),
    _figure("low_tokens_per_sec"),
    _figure("high_tokens_per_sec"),
    _figure("estimated_aggregate_tokens_per_sec"),
    _figure("estimated_response_time_s"),
    _figure("estimated_requests_per_hour"),
    _figure("memory_needed_gb"),
    _figure("usable_memory_gb"),
    _figure("streams_that_fit"),
    _input("currency"),
    _figure("cost_per_m_tokens"),
    _figure("api_cost_per_m_output"),
    _figure("monthly_cost"),
    _figure("saving_cost_month"),
    _figure("break_even_share"),
    _figure("busy_share"),
    _figure("utilisation"),
    _figure("queue_wait_s"),
    Shown("fits", "Fits", fits),
)
# Not shown; what the comparison of scenarios, and the words on the best one, ask for besides.
_TOLD: Final = (
    _input("params_b"),
    _input("efficiency"),
    _input("experts"),
    _input("draft_tokens"),
    _input("split"),
    _input("cached_tokens"),
    _input("cache_write_tokens"),
    _input("occupancy"),
    _input("exchange_rate"),
    _input("exchange_currency"),
    _input("exchange_day"),
    _input("instance_cost_h"),
    _input("instance_devices"),
    _input("device_capex_cost"),
    _input("api"),
    _input("input_cost_m"),
    _input("output_cost_m"),
    _input("hours_per_month"),
    _input("one_off_cost"),
    _input("growth_share_month"),
    _input("peak_to_average"),
    _input("headroom"),
    _input("lead_time_weeks"),
    _input("first_month"),
    _input("target_tokens_per_sec"),
    _input("target_response_s"),
    _figure("device_cost_h"),
    _figure("kv_read_gb"),
    _figure("ceiling_tokens_per_sec"),
    _figure("read_ceiling_tokens_per_sec"),
    _figure("step_time_ms"),
    _figure("inter_token_latency_ms"),
    _figure("requests_at_occupancy_per_hour"),
    _figure("fleet_devices"),
    _figure("fleet_requests_per_hour"),
    _figure("hourly_cost_h"),
    _figure("staff_cost_h"),
    _figure("capex_cost"),
    _figure("used_cost_per_m_tokens"),
    _figure("monthly_capacity_m_tokens"),
    _figure("api_request_cost"),
    _figure("api_cost_month"),
    _figure("requests_month"),
)

_KEPT: Final = (*SHOWN, *_TOLD)
_INPUTS: Final = tuple(shown.name for shown in _KEPT if shown.is_input)
_FIGURES: Final = tuple(shown.name for shown in _KEPT if shown.column and not shown.is_input)
# Its cell on the scenario sheet, what it is, what it comes to.
COLUMNS_KEPT: Final = ("cell", "name", *(shown.name for shown in _KEPT), "codes")

_SEVERITIES: Final = (Severity.WARNING, Severity.NOTE)


def row_of(case: Case) -> tuple[Any, ...]:
    """A case as the ledger keeps it, a value for each of ``COLUMNS_KEPT``."""
    result = case.result
    issues = sorted(result.issues, key=lambda issue: _SEVERITIES.index(issue.severity))
    return (
        case.origin.cells.get("name") or f"A{case.origin.row}",
        case.name,
        *(shown.take(result) for shown in _KEPT),
        " ".join(dict.fromkeys(f"{issue.severity}:{issue.code}" for issue in issues)),
    )


@dataclass(frozen=True, slots=True)
class Line:
    """A scenario of a batch: the workbook that it stands in, its values by name, and its case as far as kept.

    The case's number is the scenario's in the whole batch, and its amounts can be held against those of the others:
    its currency is named, and so is the one to which its exchange rate leads where that is not the currency of all.
    """

    done: Done
    values: dict[str, Any]
    case: Case

    @property
    def flags(self) -> str:
        """Its warnings and notes, in words."""
        return "; ".join(FLAGS.get(issue.code, issue.code) for issue in self.case.result.issues)


def lines(workbooks: Iterable[Done]) -> list[Line]:
    """Every scenario of these workbooks, in their order."""
    workbooks = list(workbooks)
    code, found = currency_of(workbooks), list[Line]()
    for done in workbooks:
        named = [dict(zip(done.columns, row, strict=True)) for row in done.rows]
        own = [_line(number, done, values) for number, values in enumerate(named, len(found) + 1)]
        purse = purse_of((line.case.result.scenario for line in own), done.currency)
        found += [_beside_others(line, purse, code) for line in own]
    return found


def currency_of(workbooks: Iterable[Done]) -> str:
    """The currency in which the amounts of all are compared: that of the first workbook that has one."""
    return next((done.currency for done in workbooks if done.currency), "")


def _beside_others(line: Line, purse: Purse, code: str) -> Line:
    """A line whose amounts stand as its own workbook means them, also among those of others."""
    result = line.case.result
    scenario = result.scenario
    if purse.code == code == "" or not is_priced(scenario):
        return line
    changes: dict[str, Any] = {}
    if purse.code:
        own = purse.own(scenario) or None
        changes |= {"currency": own} if own != scenario.currency else {}
        if purse.code != code and scenario.exchange_rate is not None:
            # A rate leads to the currency of its own workbook where it says no other.
            changes |= {"exchange_currency": scenario.exchange_currency or purse.code}
        if not changes:
            return line
        told = dataclasses.replace(result, scenario=dataclasses.replace(scenario, **changes))
    else:
        # Amounts without a currency are not to be taken for the others'.
        told = dataclasses.replace(result, cost_per_m_tokens=None, api_cost_per_m_output=None)
    return dataclasses.replace(line, case=dataclasses.replace(line.case, result=told))


def _line(number: int, done: Done, values: dict[str, Any]) -> Line:
    # Figures that an input of the same name made.
    typed = {name: values[name] for name in ("busy_share", "device_cost_h", "requests_month")}
    scenario = Scenario(name=values["name"], **typed, **{name: values[name] for name in _INPUTS})
    figures = {name: values[name] for name in _FIGURES}
    if values["fits"] is None:
        # Without a count of devices their memory says nothing; what told so is not kept.
        figures["usable_memory_gb"] = None
    pairs = (code.partition(":") for code in values["codes"].split())
    issues = tuple(Issue(severity=Severity(severity), code=code, problem="") for severity, _, code in pairs)
    result = Result(scenario=scenario, **figures, issues=issues)
    return Line(done, values, Case(number, result, Origin(sheet=done.sheet)))
