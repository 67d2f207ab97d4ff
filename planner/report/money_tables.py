"""The tables of money: what each scenario costs by line, against its API, month by month, and at which rates."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from typing import TYPE_CHECKING, Final

from planner.formulas import cost
from planner.plan.purse import is_priced
from planner.plan.recommend import AgainstApi, against_api
from planner.report import money
from planner.report.numbers import as_percent, date, plain
from planner.report.numbers import money as amount
from planner.report.parts import Cell, Group, Head, Row, Table, cut, labels, say
from planner.report.tables import MOST_OF_MANY, MOST_ROWS, left_out, most_variant_rows, name_cell, printed

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

OWN: Final = "own currency"
SMALL: Final = 100.0
_SHEET: Final = "Cost"


def cells_of(values: Sequence[float | None], *, sums: bool = False) -> list[Cell]:
    """Amounts of a column with the same decimals: as many as prices need, none for sums of some size."""
    known = [value for value in values if value is not None]
    least = min((abs(value) for value in known if value), default=0.0)
    most = max((abs(value) for value in known), default=0.0)
    decimals = 0 if sums and most >= SMALL else money.decimals_of([least], "", 1 if most >= 1 else 2)
    return [
        Cell("") if value is None else Cell(amount(value, "", decimals), marks="negative" if value < 0 else "")
        for value in values
    ]


def _column(
    study: Study, cases: Sequence[Case], value: Callable[[Result], float | None], *, sums: bool = False
) -> list[Cell]:
    return cells_of([money.till_of(study, case.result).of(value(case.result)) for case in cases], sums=sums)


def _figure(name: str) -> Callable[[Result], float | None]:
    def of(result: Result) -> float | None:
        value: float | None = getattr(result, name)
        return value

    return of


def _monthly(name: str) -> Callable[[Result], float | None]:
    """A line of the hour over the month."""

    def of(result: Result) -> float | None:
        value, hours = getattr(result, name), result.scenario.hours_per_month
        # A line that a scenario does not have is blank.
        return None if not value or hours is None else cost.monthly_cost(value, hours)

    return of


def case_table(
    study: Study, cases: Sequence[Case], columns: Iterable[tuple[str, Head, list[Cell]]], *, note: str = ""
) -> Table:
    """A row for each case, columns under the head of their group; the currency in a column where rows have several."""
    kept = [(group, head, cells) for group, head, cells in columns if any(cell.text for cell in cells)]
    codes = [money.till_of(study, case.result).code for case in cases]
    if len(set(codes)) > 1:
        kept.insert(0, ("", Head("In"), [Cell(code) for code in codes]))
    kept.insert(0, ("", Head("Scenario", text=4), [name_cell(case) for case in cases]))
    best = study.recommendation.best
    rows = tuple(
        Row(tuple(cells[index] for _, _, cells in kept), "best" if case.result is best else "")
        for index, case in enumerate(cases)
    )
    heads: list[Head] = []
    groups: list[Group] = []
    for name, run in itertools.groupby(kept, lambda column: column[0]):
        own = [head for _, head, _ in run]
        if name and len(own) == 1:
            # Over a single column a group's head has no room; it is the unit then.
            own = [dataclasses.replace(own[0], unit=name)]
        heads += own
        groups.append(Group(name if len(own) > 1 else "", len(own)))
    return Table(tuple(heads), rows, tuple(groups) if any(group.label for group in groups) else (), note=note)


def code_of(study: Study, cases: Sequence[Case]) -> str:
    """The currency of a table's amounts, or that each row has its own."""
    till = money.one_till(study, cases)
    return OWN if till is None else till.code or "money"


def _hours(cases: Sequence[Case]) -> float | None:
    """The hours of a month where all of these count the same."""
    found = {case.result.scenario.hours_per_month for case in cases}
    return found.pop() if len(found) == 1 else None


def month_of(code: str, cases: Sequence[Case]) -> str:
    """The head of a month's amounts: the length of the month too, where all of these share it."""
    hours = _hours(cases)
    return f"{code} per month" if hours is None else f"{code} per month of {plain(hours)} h"


def hours_column(cases: Sequence[Case]) -> tuple[str, Head, list[Cell]]:
    """The hours of each one's month; blank where the head says them."""
    shared = _hours(cases) is not None
    hours = [case.result.scenario.hours_per_month for case in cases]
    return ("", Head("Month", "h"), [Cell("" if shared or each is None else plain(each)) for each in hours])


def _priced(study: Study, most: int = 0) -> list[Case]:
    """The cases that a table prints and that have a cost or an API's charge."""
    return [
        case
        for case in printed(study, most or most_variant_rows(study))
        if case.result.hourly_cost_h is not None or case.result.api_request_cost is not None
    ]


def glance(study: Study) -> Table:
    """Every scenario's cost, the API's charge, what is saved, and where both are the same."""
    most = MOST_ROWS if len(study.cases) <= MOST_ROWS else MOST_OF_MANY
    cases = _priced(study, most)
    code = code_of(study, cases)
    per_m, month = f"{code} per M output tokens", month_of(code, cases)
    columns = (
        ("", Head("Devices"), [Cell(say("fleet_devices", case.result.fleet_devices)) for case in cases]),
        hours_column(cases),
        ("", Head("Utilisation"), [_share(case.result.busy_share) for case in cases]),
        (per_m, Head("Cost"), _column(study, cases, _figure("cost_per_m_tokens"))),
        (per_m, Head("API"), _column(study, cases, _figure("api_cost_per_m_output"))),
        (month, Head("Cost"), _column(study, cases, _figure("monthly_cost"), sums=True)),
        (month, Head("API"), _column(study, cases, _figure("api_cost_month"), sums=True)),
        (month, Head("Saving"), _column(study, cases, _figure("saving_cost_month"), sums=True)),
        ("", Head("Break-even at"), [_break_even(case.result) for case in cases]),
    )
    note = left_out(study, most, sheet=_SHEET)
    return case_table(study, cases, columns, note=note)


def _share(value: float | None) -> Cell:
    return Cell("" if value is None else as_percent(value))


def _break_even(result: Result) -> Cell:
    share = result.break_even_share
    if share is None:
        return Cell("")
    if share > 1:
        return Cell(f"never ({money.percent(share)})", marks="negative")
    return Cell(money.percent(share))


LINES: Final = (
    ("rent_cost_h", "Rent"),
    ("depreciation_cost_h", "Depreciation"),
    ("energy_cost_h", "Electricity"),
    ("hosting_cost_h", "Hosting"),
    ("licence_cost_h", "Licences"),
    ("support_cost_h", "Support"),
    ("staff_cost_h", "Staff"),
)


def lines(study: Study) -> Table:
    """What a month costs by line, and how much of it is used and idle."""
    cases = [case for case in _priced(study) if case.result.hourly_cost_h is not None]
    month = month_of(code_of(study, cases), cases)
    used = [(name, label) for name, label in LINES if any(getattr(case.result, name) for case in cases)]
    columns = [hours_column(cases)]
    columns += [(month, Head(label), _column(study, cases, _monthly(name), sums=True)) for name, label in used]
    columns += [
        (month, Head("Allocated"), _column(study, cases, _figure("monthly_cost"), sums=True)),
        (month, Head("Used"), _column(study, cases, _monthly("used_cost_h"), sums=True)),
        (month, Head("Idle"), _column(study, cases, _monthly("idle_cost_h"), sums=True)),
    ]
    return case_table(study, cases, columns, note=left_out(study, most_variant_rows(study), sheet=_SHEET))


def per_unit(study: Study) -> Table:
    """What a token and a request cost: allocated, used and idle, input and output apart, and what a month yields."""
    cases = [case for case in _priced(study) if case.result.cost_per_m_tokens is not None]
    code = code_of(study, cases)
    per_m, hours = f"{code} per M tokens", _hours(cases)
    columns = (
        hours_column(cases),
        (per_m, Head("Allocated"), _column(study, cases, _figure("cost_per_m_tokens"))),
        (per_m, Head("Used"), _column(study, cases, _figure("used_cost_per_m_tokens"))),
        (per_m, Head("Idle"), _column(study, cases, _idle_per_m)),
        (per_m, Head("Input alone"), _column(study, cases, _figure("cost_per_m_input_tokens"))),
        (per_m, Head("Output alone"), _column(study, cases, _figure("cost_per_m_generated_tokens"))),
        ("", Head("Request", code), _column(study, cases, _figure("cost_per_request"))),
        (
            "",
            Head("Output a month", "M tokens" if hours is None else f"M tokens in {plain(hours)} h"),
            [Cell(say("monthly_capacity_m_tokens", case.result.monthly_capacity_m_tokens)) for case in cases],
        ),
        ("", Head("Basis", text=2), [Cell(money.basis(case.result)) for case in cases]),
    )
    return case_table(study, cases, columns, note=left_out(study, most_variant_rows(study), sheet=_SHEET))


def _idle_per_m(result: Result) -> float | None:
    allocated, used = result.cost_per_m_tokens, result.used_cost_per_m_tokens
    return None if allocated is None or used is None else allocated - used


def owned(study: Study) -> Table:
    """What was bought: whole devices, their price, what they are worth at the end, over how many years."""
    cases = [case for case in _priced(study) if case.result.capex_cost is not None]
    code = code_of(study, cases)
    columns = (
        ("", Head("Devices bought"), [Cell(say("fleet_devices", case.result.fleet_devices)) for case in cases]),
        ("", Head("Utilisation"), [_share(case.result.busy_share) for case in cases]),
        ("", Head("Purchase", code), _column(study, cases, _figure("capex_cost"), sums=True)),
        ("", Head("Residual value", code), _column(study, cases, _figure("residual_cost"), sums=True)),
        (
            "",
            Head("Useful life", "years"),
            [Cell(plain(case.result.scenario.useful_life_years or 0.0)) for case in cases],
        ),
    )
    return case_table(study, cases, columns, note=left_out(study, most_variant_rows(study), sheet=_SHEET))


def _with_api(study: Study) -> list[Case]:
    return [case for case in _priced(study) if case.result.api_request_cost is not None]


def api_prices(study: Study) -> Table:
    """Each scenario's own mix of tokens, and what an API charges for a million of each kind."""
    cases = _with_api(study)
    per_m = f"{code_of(study, cases)} per M tokens"

    def tokens(name: str) -> list[Cell]:
        values = [getattr(case.result.scenario, name) for case in cases]
        return [Cell(plain(value) if value else "") for value in values]

    def price(name: str) -> list[Cell]:
        return _column(study, cases, lambda result: getattr(result.scenario, name))

    columns = (
        ("", Head("API", text=2), [Cell(cut(case.result.scenario.api, 28)) for case in cases]),
        ("Tokens", Head("Prompt"), tokens("prompt_tokens")),
        ("Tokens", Head("cached"), tokens("cached_tokens")),
        ("Tokens", Head("written"), tokens("cache_write_tokens")),
        ("Tokens", Head("Output"), tokens("output_tokens")),
        (per_m, Head("Input"), price("input_cost_m")),
        (per_m, Head("Cached"), price("cached_cost_m")),
        (per_m, Head("Write"), price("cache_write_cost_m")),
        (per_m, Head("Output"), price("output_cost_m")),
    )
    return case_table(study, cases, columns, note=left_out(study, most_variant_rows(study), sheet=_SHEET))


def api_costs(study: Study) -> Table:
    """What an API's prices come to at each scenario's own mix, and what caching saves in money and in seconds."""
    cases = _with_api(study)
    code = code_of(study, cases)
    per_m, request = f"{code} per M tokens", f"{code} per request"
    columns = (
        (request, Head("Cost"), _column(study, cases, _figure("api_request_cost"))),
        (request, Head("Caching saves"), _column(study, cases, _figure("cache_saving_cost"))),
        (per_m, Head("Blended"), _column(study, cases, _figure("blended_cost_m"))),
        (per_m, Head("Per output"), _column(study, cases, _figure("api_cost_per_m_output"))),
        (
            "",
            Head("Caching saves here", "s"),
            [Cell(say("cache_saved_s", v) if (v := case.result.cache_saved_s) is not None else "") for case in cases],
        ),
    )
    return case_table(study, cases, columns, note=left_out(study, most_variant_rows(study), sheet=_SHEET))


def rates(study: Study, today: dt.date) -> Table:
    """The rates by which amounts were converted, each with its day, and what could not be converted."""
    purse = study.purse
    found: dict[tuple[str, str, str], list[int]] = {}
    for case in study.cases:
        scenario = case.result.scenario
        if not is_priced(scenario) or purse.own(scenario) == purse.code:
            continue
        own, rate = purse.own(scenario), purse.rate(scenario)
        if rate is None:
            found.setdefault((own or "not named", "none, so not compared", ""), []).append(case.number)
        else:
            said = f"1 {rate.own} = {plain(rate.rate)} {rate.to}"
            found.setdefault((own, said, told_day(rate.day, today)), []).append(case.number)
    heads = (Head("Prices in", text=2), Head("Rate", text=4), Head("Rate of", text=2), Head("Scenarios", text=3))
    rows = tuple(
        Row((Cell(own), Cell(said), Cell(day), Cell(labels(numbers)))) for (own, said, day), numbers in found.items()
    )
    return Table(heads, rows)


def told_day(text: str, today: dt.date) -> str:
    """A day of an input; one after the report's is said to be."""
    day = money.day_of(text)
    return date(day) if day <= today else f"{date(day)}, after the report"


def summary(study: Study) -> Table:
    """How the costs of many scenarios are spread, where not all of them are printed."""
    if len(study.cases) <= MOST_ROWS:
        return Table((), ())
    found = [study.purse.amount(case.result, "cost_per_m_tokens") for case in study.cases]
    known = sorted(value for value in found if value is not None)
    code = study.purse.code or "money"
    said = [("Scenarios with a cost", plain(len(known)), "")]
    if len(known) > 1:
        low, middle, high = statistics.quantiles(known, n=4, method="inclusive")
        decimals = money.decimals_of(known[:1], "")
        said += [
            (label, amount(value, "", decimals), f"{code}/M tokens")
            for label, value in (
                ("Lowest cost", known[0]),
                ("A quarter costs at most", low),
                ("Half cost at most", middle),
                ("Three quarters cost at most", high),
                ("Highest cost", known[-1]),
            )
        ]
    against = [against_api(case.result) for case in study.cases]
    words = (
        (AgainstApi.CHEAPER, "Cheaper than their API"),
        (AgainstApi.DEARER, "Dearer than their API at their utilisation"),
        (AgainstApi.NEVER, "Dearer than their API at any utilisation"),
        (AgainstApi.UNKNOWN, "Not compared with an API"),
        (AgainstApi.NO_FIT, "Do not fit their hardware"),
    )
    said += [(label, plain(against.count(kind)), "") for kind, label in words if against.count(kind)]
    heads = (Head("What", text=6), Head("Value"), Head("Unit", text=3))
    return Table(heads, tuple(Row(tuple(map(Cell, row))) for row in said))
