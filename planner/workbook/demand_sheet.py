"""The Demand sheet: twelve months of each scenario that names requests, live from its inputs and the Cost sheet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from planner.formulas import cost, demand, queueing
from planner.formulas.api_cost import saving_cost_month
from planner.plan.demand_plan import LEAST, MONTHS, paid_by
from planner.plan.scenario import header_of
from planner.plan.study import FIXES_LIMIT
from planner.workbook.cost_sheet import NO_API, NO_PRICE, cost_rows, short_name, unpriced
from planner.workbook.layout import (
    BLUE,
    CHART_ROWS,
    LINE,
    NAVY,
    PALE,
    RUST,
    CellOut,
    Chart,
    Rule,
    Series,
    Sheet,
    Style,
    address,
    chart_columns,
    head_height,
    on_sheet,
)
from planner.workbook.money_looks import SIGNED, shared_word, with_currency
from planner.workbook.results_sheet import HEAD, HEAD_FIGURE, HEAD_TEXT, LINK, Functions, input_cell
from planner.workbook.row_sheet import ROW
from planner.workbook.table_sheets import LEDE, MOST_CHARTED, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.plan.demand_plan import DemandPlan
    from planner.plan.study import Case, Study
    from planner.workbook.results_sheet import Writing

NOT_YET: Final = "not within 12 months"
_HEAD_ROW, _FIRST = 3, 4
_WIDTH: Final = 12.0
_DAY: Final = "yyyy-mm-dd"
_COUNT: Final = "#,##0"
_TEXT = Style(bottom=LINE)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its key, header and number format; figures are pale, what is repeated from other sheets is not."""

    key: str
    header: str
    shown: str = _COUNT
    figure: bool = True

    @property
    def style(self) -> Style:
        align = "center" if self.key in {"own_currency", "paid_back", "month"} else ""
        return Style(number_format=self.shown, bottom=LINE, fill=PALE if self.figure else "", align=align)


_CURRENCY: Final = _Column("own_currency", "Currency", "General", figure=False)
_SUMMARY: Final = (
    _Column("paid_back", "Pays back in month", "0"),
    _Column("year_cost", "Cost, 12 months (money)"),
    _Column("year_api", "API, 12 months (money)"),
    _Column("year_saving", "Saving, 12 months, before one-off (money)", SIGNED),
    _Column("last_devices", "Devices in month 12"),
    _Column("first_order", "First order by", _DAY),
    _Column("requests_month", "Requests, first month", figure=False),
    _Column("growth_share_month", header_of("growth_share_month"), "0.0%", figure=False),
    _Column("peak_to_average", header_of("peak_to_average"), "0.0#", figure=False),
    _Column("headroom", header_of("headroom"), "0%", figure=False),
    _Column("lead_time_weeks", header_of("lead_time_weeks"), "0.#", figure=False),
    _Column("one_off_cost", header_of("one_off_cost"), figure=False),
    _Column("hours_per_month", header_of("hours_per_month"), figure=False),
    _Column("each_requests_per_hour", "One deployment serves (per hour)"),
    _Column("devices", "Devices of one deployment", figure=False),
    _Column("instance_devices", "Devices rented together", figure=False),
    _Column("replicas", "Deployments now", figure=False),
    _Column("fleet_devices", "Devices now", figure=False),
    _Column("hourly_cost_h", "Cost per hour now (money/h)", "#,##0.00", figure=False),
    _Column("staff_cost_h", "Of it staff (money/h)", "#,##0.00", figure=False),
    _Column("api_request_cost", "API per request (money)", "#,##0.000000", figure=False),
)
_MONTHLY: Final = (
    _Column("month", "Month", "0", figure=False),
    _Column("first", "From", _DAY, figure=False),
    _Column("requests_month", "Requests"),
    _Column("peak_requests_per_hour", "Peak (per hour)", "#,##0"),
    _Column("deployments", "Deployments"),
    _Column("devices", "Devices"),
    _Column("paid_devices", "Devices paid for"),
    _Column("use", "Use at the peak", "0%"),
    _Column("added", "Devices to add", "#,##0;;"),
    _Column("order", "Order by", _DAY),
    _Column("monthly_cost", "Cost (money)"),
    _Column("api_cost_month", "API (money)"),
    _Column("saving_cost_month", "Saving (money)", SIGNED),
    _Column("saved_cost", "Saved so far (money)", SIGNED),
    _Column("paid", "Paid back to the end", "0"),
)
# What the scenario sheet holds, and what Cost and Results repeat.
_TYPED: Final = ("growth_share_month", "peak_to_average", "headroom", "lead_time_weeks", "one_off_cost")
_ON_COST: Final = (
    "requests_month", "hours_per_month", "devices", "replicas", "fleet_devices", "hourly_cost_h", "staff_cost_h",
    "api_request_cost",
)  # fmt: skip


def demand_sheet(study: Study, writing: Writing) -> Sheet:
    """Devices, cost, API and savings month by month, when it pays back and what to order when; or what to type."""
    plans = [
        (index, case, plan) for index, (case, plan) in enumerate(zip(study.cases, study.demand, strict=False)) if plan
    ]
    if not plans:
        return unpriced(
            writing,
            "Demand",
            "Demand: no row says how many requests are asked of it",
            "Add columns of these headers to the scenario sheet, fill at least the first (or the second) together with "
            "prompt and output, and run planner again. Prices give cost, API and savings as well.",
            (
                "requests_month", "offered_requests_per_hour", "growth_share_month", "peak_to_average", "headroom",
                "first_month", "lead_time_weeks", "one_off_cost",
            ),
        )  # fmt: skip
    return _Demand(study, writing, plans).describe()


class _Demand:
    """The sheet: a summary of each scenario, charts, and the months of all in one table."""

    def __init__(self, study: Study, writing: Writing, plans: list[tuple[int, Case, DemandPlan]]) -> None:
        self.study, self.writing, self.plans = study, writing, plans
        self.live = writing.functions is not Functions.NONE
        self.word = shared_word(study)
        mixed = (_CURRENCY,) if len(study.currencies) > 1 else ()
        self.summary = (*mixed, *_SUMMARY)
        self.monthly = (*mixed, *_MONTHLY)
        self.chart_row = _FIRST + len(plans) + 1
        self.month_head = self.chart_row + CHART_ROWS
        self.month_first = self.month_head + 1
        self.month_last = self.month_first + MONTHS * len(plans) - 1
        self.widths = {0: 40.0} | dict.fromkeys(range(1, max(len(self.summary), len(self.monthly)) + 1), _WIDTH)

    @cached_property
    def cost(self) -> Any:
        """The rows of the Cost sheet, to refer to."""
        return cost_rows(self.study, self.writing)

    def at(self, key: str, row: int) -> str:
        """A cell of the summary."""
        return self._address(self.summary, key, row)

    def of(self, key: str, row: int) -> str:
        """A cell of the months."""
        return self._address(self.monthly, key, row)

    @staticmethod
    def _address(columns: tuple[_Column, ...], key: str, row: int) -> str:
        return address(row, 1 + [column.key for column in columns].index(key))

    def months_of(self, number: int) -> tuple[int, int]:
        """The first and last row of a plan's months."""
        first = self.month_first + number * MONTHS
        return first, first + MONTHS - 1

    def describe(self) -> Sheet:
        """The sheet."""
        saving, saved = self.of("saving_cost_month", self.month_first), self.of("saved_cost", self.month_first)
        year = self.at("year_saving", _FIRST)
        return Sheet(
            name=self.writing.names["Demand"],
            cells=list(self.cells()),
            widths=self.widths,
            freeze=(0, 1),
            rules=[
                self._below("saving_cost_month", saving),
                self._below("saved_cost", saved),
                Rule(self._summary_area("year_saving"), f"AND(ISNUMBER({year}),{year}<0)", "", RUST),
            ],
            charts=self.charts(),
            filter=(self.month_head, 0, self.month_last, len(self.monthly)),
            heights={_HEAD_ROW: self._height(self.summary), self.month_head: self._height(self.monthly)},
            repeat_rows=(self.month_head, self.month_head),
            repeat_columns=(0, 0),
            mark="demand",
            tab=BLUE,
        )

    def _height(self, columns: tuple[_Column, ...]) -> float:
        return head_height((with_currency(column.header, self.word), _WIDTH) for column in columns)

    def _below(self, key: str, cell: str) -> Rule:
        column = 1 + [column.key for column in self.monthly].index(key)
        return Rule((self.month_first, column, self.month_last, column), f"AND(ISNUMBER({cell}),{cell}<0)", "", RUST)

    def _summary_area(self, key: str) -> tuple[int, int, int, int]:
        column = 1 + [column.key for column in self.summary].index(key)
        return (_FIRST, column, _FIRST + len(self.plans) - 1, column)

    def cells(self) -> Iterator[CellOut]:
        """Title, summary and months."""
        more = len(self.study.cases) - FIXES_LIMIT
        left_out = f" Of the first {FIXES_LIMIT} scenarios; {more:,} more are left out." if more > 0 else ""
        yield CellOut(0, 0, "Demand: twelve months of devices, cost and savings", style=TITLE)
        yield CellOut(
            1,
            0,
            "Devices are bought in whole deployments for the peak with its headroom, rented instances whole; what is "
            "owned is kept when demand falls, what is rented is given back by the month. Figures follow your edits of "
            f"the scenario sheet, months stay as at the run. The months stand below the charts.{left_out}",
            style=LEDE,
        )
        yield from self._heads(_HEAD_ROW, self.summary)
        for number, (index, case, plan) in enumerate(self.plans):
            yield from self._summary_row(_FIRST + number, number, index, case, plan)
        yield from self._heads(self.month_head, self.monthly)
        for number, (_, case, plan) in enumerate(self.plans):
            yield from self._months(number, case, plan)

    def _heads(self, row: int, columns: tuple[_Column, ...]) -> Iterator[CellOut]:
        yield CellOut(row, 0, header_of("name"), style=HEAD_TEXT)
        for at, column in enumerate(columns, 1):
            look = HEAD_FIGURE if column.figure else HEAD
            yield CellOut(row, at, with_currency(column.header, self.word), style=look)

    def _summary_row(self, row: int, number: int, index: int, case: Case, plan: DemandPlan) -> Iterator[CellOut]:
        yield CellOut(row, 0, case.name, self.writing.link(case), LINK)
        values = dict(self._told(number, index, row, case, plan))
        for at, column in enumerate(self.summary, 1):
            key = column.key
            if key in _TYPED:
                yield input_cell((row, at), key, case, self.writing, column.style)
                continue
            if key in _ON_COST:
                value = getattr(case.result, key) if hasattr(case.result, key) else getattr(case.result.scenario, key)
                there = on_sheet(self.writing.names["Cost"], self.cost.at(key, ROW + index))
                values[key] = (value, f'=IF({there}="","",{there})')
            value, formula = values[key]
            yield CellOut(row, at, value, formula if self.live else "", column.style)

    def _told(self, number: int, index: int, row: int, case: Case, plan: DemandPlan) -> Mapping[str, tuple[Any, str]]:
        """What the months come to, each with its formula."""
        first, last = self.months_of(number)

        def span(key: str) -> str:
            return f"{self.of(key, first)}:{self.of(key, last)}"

        def total(key: str) -> str:
            return f'=IF(COUNT({span(key)})={MONTHS},SUM({span(key)}),"")'

        result, scenario = case.result, case.result.scenario
        own, api = plan.total_cost, plan.total_api_cost
        hour, request = self.at("hourly_cost_h", row), self.at("api_request_cost", row)
        lacking = f'IF(ISNUMBER({hour}),IF(ISNUMBER({request}),"{NOT_YET}","{NO_API}"),"{NO_PRICE}")'
        said = NO_PRICE if own is None else NO_API if api is None else NOT_YET
        orders = [order.order for order in plan.orders]
        served = result.fleet_requests_per_hour or 0.0
        all_served = on_sheet(self.writing.names["Cost"], self.cost.at("fleet_requests_per_hour", ROW + index))
        replicas = self.at("replicas", row)
        each = f'=IF(AND(ISNUMBER({all_served}),ISNUMBER({replicas})),{all_served}/{replicas},"")'
        return {
            "own_currency": (self.study.purse.own(scenario), ""),
            "paid_back": (plan.paid_back or said, f"=IF(COUNT({span('paid')})=0,{lacking},MIN({span('paid')}))"),
            "year_cost": (own, total("monthly_cost")),
            "year_api": (api, total("api_cost_month")),
            "year_saving": (None if own is None or api is None else api - own, total("saving_cost_month")),
            "instance_devices": (paid_by(result), ""),
            "last_devices": (plan.months[-1].paid_devices, f"={self.of('paid_devices', last)}"),
            "first_order": (min(orders, default=None), f'=IF(COUNT({span("order")})=0,"",MIN({span("order")}))'),
            "each_requests_per_hour": (served / (scenario.replicas or 1.0), each),
        }

    def _months(self, number: int, case: Case, plan: DemandPlan) -> Iterator[CellOut]:
        """The months of a plan, each by calls over its own row, the one before, and the scenario's summary."""
        summary, (first, _) = _FIRST + number, self.months_of(number)
        scenario = case.result.scenario
        each = (case.result.fleet_requests_per_hour or 0.0) / (scenario.replicas or 1.0)
        most = case.result.fleet_devices or 0.0
        ordered = {order.needed: order.order for order in plan.orders}
        given = {
            name: self.at(name, summary) for name in (*_TYPED, *_ON_COST, "each_requests_per_hour", "instance_devices")
        }
        owned = scenario.device_capex_cost is not None
        for offset, month in enumerate(plan.months):
            row = first + offset
            lead = given["lead_time_weeks"]
            own = {column.key: self.of(column.key, row) for column in self.monthly}
            before = {column.key: self.of(column.key, row - 1) for column in self.monthly}
            added = max(0.0, month.paid_devices - most)
            there = f"MAX({given['fleet_devices']}" + (
                f",{self.of('paid_devices', first)}:{before['paid_devices']})" if offset else ")"
            )
            paid = plan.paid_back is not None and offset + 1 >= plan.paid_back
            last = self.of("saved_cost", first + MONTHS - 1)
            whole = {"devices": own["devices"], "replicas": "1", "instance_devices": given["instance_devices"]}
            paid_for = self.writing.formula(cost.whole_instance_devices, whole, month.paid_devices)
            if owned and offset and paid_for:
                # What is owned stays when demand falls.
                paid_for = (
                    f'=IF(ISNUMBER({own["devices"]}),MAX({paid_for.removeprefix("=")},{before["paid_devices"]}),"")'
                )
            saved = before["saved_cost"] if offset else f"-{given['one_off_cost']}"
            call = self.writing.formula
            peak = {"requests_month": own["requests_month"], **_of(given, "hours_per_month", "peak_to_average")}
            load = {
                "offered_requests_per_hour": own["peak_requests_per_hour"],
                "headroom": given["headroom"],
                "requests_per_hour": given["each_requests_per_hour"],
                "devices": given["devices"],
            }
            served = {**load, "replicas": own["deployments"]}
            paying = {
                **_of(given, "hourly_cost_h", "staff_cost_h", "fleet_devices", "hours_per_month"),
                "paid_devices": own["paid_devices"],
            }
            asked = {"api_request_cost": given["api_request_cost"], "requests_month": own["requests_month"]}
            both = {"api_cost_month": own["api_cost_month"], "monthly_cost": own["monthly_cost"]}
            next_month = {
                "requests_month": before["requests_month"],
                "growth_share_month": given["growth_share_month"],
            }
            use = queueing.utilisation(month.peak_requests_per_hour, each, month.deployments)
            values: dict[str, tuple[Any, str]] = {
                "own_currency": (self.study.purse.own(scenario), ""),
                "month": (offset + 1, ""),
                "first": (month.first, ""),
                "requests_month": (
                    month.requests_month,
                    call(demand.next_requests_month, next_month, month.requests_month)
                    if offset
                    else f"={given['requests_month']}",
                ),
                "peak_requests_per_hour": (
                    month.peak_requests_per_hour,
                    call(demand.peak_requests_per_hour, peak, month.peak_requests_per_hour),
                ),
                "deployments": (
                    month.deployments,
                    f'=IF(ISNUMBER({own["devices"]}),{own["devices"]}/{given["devices"]},"")',
                ),
                "devices": (month.devices, call(demand.devices_for_load, load, month.devices)),
                "paid_devices": (month.paid_devices, paid_for),
                "use": (use, call(queueing.utilisation, served, use)),
                "added": (added, f'=IF(ISNUMBER({own["paid_devices"]}),MAX(0,{own["paid_devices"]}-{there}),"")'),
                "order": (
                    ordered.get(month.first),
                    f'=IF(COUNT({own["added"]},{lead})=2,IF({own["added"]}>0,{own["first"]}-INT(7*{lead}),""),"")',
                ),
                "monthly_cost": (
                    month.monthly_cost,
                    call(demand.devices_cost_month, paying, month.monthly_cost),
                ),
                "api_cost_month": (month.api_cost_month, call(demand.api_bill_month, asked, month.api_cost_month)),
                "saving_cost_month": (month.saving_cost_month, call(saving_cost_month, both, month.saving_cost_month)),
                "saved_cost": (
                    month.saved_cost,
                    f'=IF(ISNUMBER({own["saving_cost_month"]}),{saved}+{own["saving_cost_month"]},"")',
                ),
                "paid": (
                    offset + 1 if paid else None,
                    f'=IF(ISNUMBER({own["saved_cost"]}),IF(COUNTIF({own["saved_cost"]}:{last},"<-{LEAST:f}")=0,{own["month"]},""),"")',
                ),
            }
            most = max(most, month.paid_devices)
            name = Style(bottom=LINE, bold=not offset, colour=NAVY if not offset else "")
            yield CellOut(row, 0, case.name, style=name)
            for at, column in enumerate(self.monthly, 1):
                value, formula = values[column.key]
                yield CellOut(row, at, value, formula if self.live else "", column.style)

    def charts(self) -> list[Chart]:
        """Cost against API of the first scenarios that have both, and the devices of all that are charted."""
        sheet = self.writing.names["Demand"]
        columns = {column.key: at for at, column in enumerate(self.monthly, 1)}

        def series(number: int, key: str, *, named: bool = False) -> Series:
            first, last = self.months_of(number)
            at = columns[key]
            name = (_FIRST + number, 0) if named else (self.month_head, at)
            month = columns["month"]
            return Series(sheet, name, (first, month, last, month), (first, at, last, at))

        both = [
            n
            for n, (_, _, plan) in enumerate(self.plans)
            if plan.total_cost is not None and plan.total_api_cost is not None
        ]
        places = iter((self.chart_row, column) for column in chart_columns(self.widths, 3))
        found = [
            Chart(
                "line",
                f"Cost against API: {short_name(self.plans[n][1])}",
                "month",
                f"{self._word(n)} per month",
                (series(n, "monthly_cost"), series(n, "api_cost_month")),
                next(places),
            )
            for n in both[:2]
        ]
        charted = range(min(len(self.plans), MOST_CHARTED))
        of = f", first {MOST_CHARTED} scenarios" if len(self.plans) > MOST_CHARTED else ""
        devices = tuple(series(n, "paid_devices", named=True) for n in charted)
        return [*found, Chart("line", f"Devices by month{of}", "month", "devices", devices, next(places))]

    def _word(self, number: int) -> str:
        return self.study.purse.own(self.plans[number][1].result.scenario) or "money"


def _of(given: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: given[name] for name in names}
