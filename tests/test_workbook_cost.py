"""The sheets of money: known cases typed into cells and read back, live, in one currency or several, or none."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re

import ironcalc
import openpyxl
import pytest

from planner import Scenario, study_of
from planner.formulas import cost
from planner.job import Job, run
from planner.plan.money_recipes import MONEY
from planner.plan.scenario import COLUMNS, FIGURES, figure_header, header_of
from planner.plan.study import Options
from planner.workbook.cost_sheet import (
    CHEAPER,
    DEARER,
    NEVER,
    NO_API,
    NO_FIT,
    NO_PRICE,
    NO_RATE,
    NO_USE,
    cost_parts,
    verdict_of,
)
from planner.workbook.demand_sheet import NOT_YET
from planner.workbook.money_looks import SIGNED
from planner.workbook.package import package_of
from planner.workbook.recalculate import recalculated as by_libreoffice
from planner.workbook.results_sheet import Functions
from planner.workbook.row_sheet import HEAD_ROW, ROW, columns_of
from planner.workbook.sensitivity_sheet import SHARES
from planner.workbook.sheets import result_sheets
from planner.workbook.write import write_workbook

TODAY = dt.date(2026, 11, 29)
MONEY_SHEETS = ("Cost", "Demand", "Sensitivity")


def core(rate, *, batch=1, **more):
    """A row whose aggregate rate is the given one, by the core model alone."""
    return {
        "weights_gb": 100,
        "bandwidth_gb_s": rate / batch * 100,
        "batch": batch,
        "efficiency": 1,
        "devices": 8,
    } | more


def w01(busy):
    """151.3 requests a second: 100 streams, each 0.1 s of prefill and the rest of its time decode."""
    decode = 100 / 151.3 - 0.1
    return core(100 / decode * 100, batch=100, prompt_tokens=100, prefill_tokens_per_sec=1000, output_tokens=100,
                devices=1, device_cost_h=179_333 / 8_760, currency="USD", busy_share=busy)  # fmt: skip


USD = {"currency": "USD", "busy_share": 1}
EIGHT = {"device_cost_h": 2.5} | USD
CASES = {
    # Output alone, 4 x 2,048 tokens in 236.12 s, not the 590.06 of prompt and output together.
    "F27": core(4 * 2048 / 236.12, batch=4, prompt_tokens=32_784, output_tokens=2_048, **EIGHT),
    # 7.2 M tokens in an hour of which 30 % is busy.
    "F30a": core(7.2e6 / 3600 / 0.3, batch=100, **EIGHT | {"busy_share": 0.3}),
    "F30b": w01(1),
    "F30b at the peak": w01(100 / 151.3),
    "F30b on average": w01(30 / 151.3),
    "F32": core(100, prompt_tokens=1000, output_tokens=200, input_cost_m=1, output_cost_m=3, **EIGHT),
    "F32, 5 to 1": core(100, prompt_tokens=5000, output_tokens=1000, input_cost_m=10, output_cost_m=30, **EIGHT),
    "F33a": core(100, prompt_tokens=20_212, cached_tokens=16_298, output_tokens=931, input_cost_m=0.5,
                 cached_cost_m=0.05, output_cost_m=3, prefill_tokens_per_sec=9000, **EIGHT),
    "F33b": core(100, prompt_tokens=2000, cached_tokens=500, cache_write_tokens=300, output_tokens=1, input_cost_m=3,
                 cached_cost_m=0.3, cache_write_cost_m=3.75, output_cost_m=0, **EIGHT),
    "F34": core(100, prompt_tokens=10_780 + 12_661, output_tokens=5_500 + 525, input_cost_m=0.39, output_cost_m=0.78,
                **EIGHT),
    "F35, one": core(100, devices=1, instance_cost_h=0.92361, instance_devices=1, **USD),
    "F35, two": core(100, devices=2, instance_cost_h=1.70868, instance_devices=2, **USD),
    "F35, four": core(100, devices=4, instance_cost_h=3.14028, instance_devices=4, **USD),
    "F35, eight": core(100, device_cost_h=0.642627, **USD),
    "F37, 730": core(100, **EIGHT),
    "F37, 720": core(100, hours_per_month=720, **EIGHT),
    "F37, 744": core(100, hours_per_month=744, **EIGHT),
}  # fmt: skip
# What stands in the Cost sheet: the figure, and by what it is multiplied to be the case's.
RIGHT = [
    ("F27", "cost_per_m_tokens", 160.13, 1),
    ("F27", "fleet_tokens_per_sec", 34.69, 1),
    ("F30a", "cost_per_m_tokens", 2.7778, 1),
    ("F30a", "used_cost_per_m_tokens", 0.83333, 1),
    ("F30a", "hourly_cost_h", 20, 1),
    ("F30a", "used_cost_h", 6, 1),
    ("F30a", "idle_cost_h", 14, 1),
    ("F30b", "cost_per_request", 0.03758, 1000),
    ("F30b at the peak", "cost_per_request", 0.05687, 1000),
    ("F30b on average", "cost_per_request", 0.18955, 1000),
    ("F32", "blended_cost_m", 4 / 3, 1),
    ("F32, 5 to 1", "blended_cost_m", 40 / 3, 1),
    ("F33a", "api_request_cost", 0.005565, 1),
    ("F33b", "api_request_cost", 0.004875, 1),
    ("F34", "api_request_cost", 0.013841, 1),
    ("F35, one", "device_cost_h", 0.9236, 1),
    ("F35, two", "device_cost_h", 0.8543, 1),
    ("F35, four", "device_cost_h", 0.7851, 1),
    ("F35, eight", "hourly_cost_h", 13.538, 158 / 60),
    ("F37, 730", "monthly_cost", 14_600, 1),
    ("F37, 720", "monthly_cost", 14_400, 1),
    ("F37, 744", "monthly_cost", 14_880, 1),
]


def typed(path, rows):
    """A workbook with these rows typed into its cells."""
    fields = ["name", *dict.fromkeys(name for given in rows.values() for name in given)]
    workbook = openpyxl.Workbook()
    workbook.active.title = "Scenarios"
    workbook.active.append([header_of(name) for name in fields])
    for name, given in rows.items():
        workbook.active.append([name, *(given.get(field) for field in fields[1:])])
    workbook.save(path)
    return fields


class Book:
    """A workbook of results, read by scenario and field."""

    def __init__(self, place, rows, functions=Functions.EMBEDDED, currency=""):
        source, self.path = place / "typed.xlsx", place / f"{functions}.xlsx"
        self.fields = typed(source, rows)
        settings = {"currency": currency} if currency else {}
        job = Job(source=source, output=self.path, pdf=None, functions=functions, options=Options(today=TODAY))
        self.study = run(dataclasses.replace(job, settings=settings)).study
        self.columns, self.names = columns_of(cost_parts(self.study)), [case.name for case in self.study.cases]
        self.values = openpyxl.load_workbook(self.path, data_only=True)
        self.formulas = openpyxl.load_workbook(self.path)

    def cell(self, name, field, book=None):
        return (book or self.values)["Cost"].cell(ROW + 1 + self.names.index(name), self.columns[field] + 1)

    def head(self, field):
        return self.values["Cost"].cell(HEAD_ROW + 1, self.columns[field] + 1).value

    def edited(self, changes):
        """Cells of the scenario sheet typed anew: a way to read what the result sheets then show."""
        model = ironcalc.load_from_xlsx(str(self.path), "en", "UTC", "en")
        for (name, field), value in changes.items():
            model.set_user_input(0, 2 + self.names.index(name), self.fields.index(field) + 1, str(value))
        model.evaluate()
        sheets = self.values.sheetnames
        return lambda sheet, row, column: model.get_cell_value(sheets.index(sheet), row, column)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return Book(tmp_path_factory.mktemp("cases"), CASES)


@pytest.mark.parametrize(("name", "field", "right", "times"), RIGHT)
def test_a_known_case_typed_into_cells_stands_right_on_the_sheet(cases, name, field, right, times):
    assert cases.cell(name, field).value * times == pytest.approx(right, rel=1e-3)
    assert str(cases.cell(name, field, cases.formulas).value).startswith("=")


def test_the_hours_cost_is_three_lines_that_add_up(cases):
    whole, used, idle = (cases.cell("F30a", name).value for name in ("hourly_cost_h", "used_cost_h", "idle_cost_h"))
    assert whole == pytest.approx(used + idle)
    assert [cases.head(name) for name in ("hourly_cost_h", "used_cost_h", "idle_cost_h")] == [
        "Cost per hour (USD/h)", "Used (USD/h)", "Idle (USD/h)",
    ]  # fmt: skip


def test_small_amounts_show_their_digits(cases):
    assert cases.cell("F33a", "api_request_cost").number_format.startswith("#,##0.000000")
    assert cases.cell("F35, four", "instance_cost_h").number_format.startswith("#,##0.00000")


REFUSED = {
    "per token, billed by the million": ({"input_cost_m": 0.39, "output_cost_m": 15_000}, "15 if it is a price of a billion"),
    "per token": ({"input_cost_m": 0.00000039, "output_cost_m": 0.78}, "0.39 if it is a price per token"),
    "per thousand": ({"input_cost_m": 0.00039, "output_cost_m": 0.78}, "0.39 if it is a price per thousand tokens"),
    "instance as device": ({"device_cost_h": 3.14028, "instance_cost_h": 3.14028, "instance_devices": 4}, "0.78507"),
    "host as device": ({"device_cost_h": 4.49993, "instance_cost_h": 1.51825, "instance_devices": 1}, "is 1.51825"),
    "eight as one": ({"device_cost_h": 98.32}, "12.29 if it is the price of an instance of 8"),
}  # fmt: skip


def test_a_price_of_another_unit_is_refused_at_its_cell_with_what_it_may_mean(tmp_path):
    tokens = {"prompt_tokens": 23_441, "output_tokens": 6_025}
    rows = {name: core(100, **tokens, **USD, **given) for name, (given, _) in REFUSED.items()}
    book = Book(tmp_path, {"right": CASES["F34"], **rows})
    assert book.names == ["right"]
    checks = book.values["Checks"]
    said = {
        row[2].value: f"{row[1].value} {row[3].value}" for row in checks.iter_rows(min_row=2) if row[0].value == "error"
    }
    refused = {"device_cost_h", "input_cost_m", "output_cost_m"}
    for name, (given, reading) in REFUSED.items():
        assert reading in said[name], said[name]
        row = 3 + list(REFUSED).index(name)
        columns = {openpyxl.utils.get_column_letter(book.fields.index(field) + 1) for field in given.keys() & refused}
        assert re.match(r"Scenarios!([A-Z]+)(\d+)", said[name])[1] in columns
        assert f"{row} " in said[name]


# Currencies.


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """USD 300 a month told in INR; a list in CNY; a row without a rate."""
    rows = {
        "dollars": core(100, devices=1, device_cost_h=300 / 730, currency="USD", busy_share=0.5, exchange_rate=95.32,
                        exchange_day="2026-11-20", prompt_tokens=100, output_tokens=50, input_cost_m=1, output_cost_m=3),
        "yuan": core(100, devices=1, device_cost_h=14, currency="CNY", busy_share=0.5, exchange_rate=13.4,
                     exchange_day="2026-11-21", prompt_tokens=1000, output_tokens=200, input_cost_m=3, output_cost_m=12),
        "pounds": core(100, devices=1, device_cost_h=2, currency="GBP", busy_share=0.5),
        "rupees": core(100, devices=1, device_cost_h=200, currency="INR", busy_share=0.5),
    }  # fmt: skip
    return Book(tmp_path_factory.mktemp("mixed"), rows, currency="INR")


def test_an_amount_is_converted_by_a_rate_that_stands_beside_it_with_its_day(mixed):
    assert mixed.cell("dollars", "monthly_cost").value == pytest.approx(300)
    assert mixed.cell("dollars", "converted_monthly_cost").value == pytest.approx(28_596)
    assert mixed.cell("dollars", "converted_monthly_cost", mixed.formulas).value.startswith("=CONVERTED_COST(")
    assert mixed.cell("dollars", "exchange_rate").value == 95.32
    assert mixed.cell("dollars", "exchange_day").value == "2026-11-20"
    assert mixed.head("exchange_rate") == "Rate (INR for one of the row's)"
    assert mixed.cell("rupees", "converted_monthly_cost").value == pytest.approx(146_000)
    assert mixed.cell("pounds", "converted_monthly_cost").value == NO_RATE


def test_rows_of_several_currencies_name_theirs_and_are_never_summed(mixed):
    assert [mixed.cell(name, "own_currency").value for name in mixed.names] == ["USD", "CNY", "GBP", "INR"]
    assert mixed.columns["own_currency"] == 1
    # The list in yuan stays a list in yuan.
    assert mixed.cell("yuan", "api_request_cost").value == pytest.approx((1000 * 3 + 200 * 12) / 1e6)
    heads = [cell.value for cell in mixed.values["Cost"][HEAD_ROW + 1]]
    assert "Cost per hour (own currency/h)" in heads
    assert not [head for head in heads if head and re.search(r"\bmoney\b|\((USD|CNY|GBP)", head)]
    assert not [
        cell.coordinate
        for name in MONEY_SHEETS
        for row in mixed.formulas[name].iter_rows()
        for cell in row
        if "SUM(" in str(cell.value)
    ]
    # What charts and sensitivity compare is in rupees, without the row that has no rate.
    behind = [row for row in mixed.values["Cost"].iter_rows(values_only=True) if row[0] in mixed.names][
        len(mixed.names) :
    ]
    assert [row[0] for row in behind] == ["dollars", "yuan", "rupees"]
    assert behind[0][1] == pytest.approx(mixed.cell("dollars", "cost_per_m_tokens").value * 95.32)
    lede = mixed.values["Sensitivity"]["A2"].value
    assert "All in INR" in lede
    assert "1 in another currency without a rate are left out" in lede


# Verdicts.

NAMED = {"model": "Llama-3.1-70B", "device": "H100 SXM", "engine": "vLLM", "devices": 4, "precision": "FP8", "batch": 8,
         "prompt_tokens": 2000, "output_tokens": 500}  # fmt: skip
PRICED = NAMED | {"device_cost_h": 2.5, "currency": "USD", "busy_share": 0.6, "input_cost_m": 3, "output_cost_m": 15}
VERDICTS = {
    CHEAPER: PRICED,
    DEARER: PRICED | {"busy_share": 0.05},
    NEVER: PRICED | {"input_cost_m": 0.05, "output_cost_m": 0.2},
    NO_API: PRICED | {"input_cost_m": None, "output_cost_m": None},
    NO_USE: PRICED | {"busy_share": None},
    NO_PRICE: PRICED | {"device_cost_h": None},
    NO_FIT: PRICED | {"devices": 1, "precision": "FP16"},
    f"{NEVER}, free": PRICED | {"input_cost_m": 0, "output_cost_m": 0},
}


@pytest.fixture(scope="module", params=[Functions.EMBEDDED, Functions.PLAIN])
def verdicts(request, tmp_path_factory):
    return Book(tmp_path_factory.mktemp("verdicts"), VERDICTS, request.param)


def test_the_verdict_says_how_each_row_stands(verdicts):
    for name in VERDICTS:
        assert verdicts.cell(name, "verdict").value == name.removesuffix(", free")
        assert verdict_of(verdicts.study.cases[verdicts.names.index(name)].result) == name.removesuffix(", free")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"busy_share": 0.05}, DEARER),
        ({"device_cost_h": 29, "busy_share": 1}, NEVER),
        ({"output_cost_m": 0.01, "input_cost_m": 0.01}, NEVER),
        ({"batch": 4000}, NO_FIT),
    ],
)
def test_the_verdict_and_its_figures_follow_an_edit(verdicts, changes, said):
    found = verdicts.edited({(CHEAPER, field): value for field, value in changes.items()})
    row = ROW + 1 + verdicts.names.index(CHEAPER)
    assert found("Cost", row, verdicts.columns["verdict"] + 1) == said
    again = study_of([Scenario(name="again", **PRICED | changes)]).cases[0].result
    for field in ("cost_per_m_tokens", "monthly_cost", "saving_cost_month", "break_even_share", "idle_cost_h"):
        assert found("Cost", row, verdicts.columns[field] + 1) == pytest.approx(getattr(again, field))


def test_a_saving_below_nothing_is_in_parentheses(verdicts):
    cell = verdicts.cell(NEVER, "saving_cost_month")
    assert cell.value < 0
    assert cell.number_format == SIGNED == "#,##0_);(#,##0)"


# Nothing to show, and everything to show.


def test_without_a_price_the_sheets_say_what_to_type(tmp_path):
    book = Book(tmp_path, {"A": NAMED})
    for name, wanted in zip(MONEY_SHEETS, ("device_cost_h", "requests_month", "device_cost_h"), strict=True):
        sheet = book.values[name]
        assert wanted in {
            next((f for f in COLUMNS if header_of(f) == row[0].value), "") for row in sheet.iter_rows(min_row=5)
        }
        assert "run planner again" in sheet["A2"].value
        assert not sheet._charts


def test_demand_without_a_price_has_rows_and_says_so(tmp_path):
    book = Book(tmp_path, {"A": NAMED | {"requests_month": 500_000}})
    assert "No row has a price" in book.values["Cost"]["A2"].value
    assert book.values["Demand"]["B5"].value == NO_PRICE
    assert book.values["Sensitivity"]["A4"].value == "Column"


DEMAND = {"requests_month": 900_000, "growth_share_month": 0.15, "peak_to_average": 3, "headroom": 0.2,
          "lead_time_weeks": 8, "one_off_cost": 10_000}  # fmt: skip
OWNED = NAMED | {"device_capex_cost": 35_000, "useful_life_years": 4, "tariff_cost_kwh": 0.12, "currency": "USD",
                 "staff_cost_month": 2000, "busy_share": 0.5, "input_cost_m": 3, "output_cost_m": 15}  # fmt: skip
ROWS = {
    "grows": PRICED | DEMAND,
    "owned": OWNED | {"requests_month": 100_000, "one_off_cost": 900_000},
    "no API": VERDICTS[NO_API] | {"requests_month": 200_000, "growth_share_month": -0.1},
    "free API": VERDICTS[f"{NEVER}, free"],
}


@pytest.fixture(scope="module", params=[Functions.EMBEDDED, Functions.PLAIN])
def priced(request, tmp_path_factory):
    return Book(tmp_path_factory.mktemp("priced"), ROWS, request.param)


def months(sheet):
    """The rows of the table of months, by head."""
    rows = list(sheet.iter_rows(values_only=True))
    at = next(number for number, row in enumerate(rows) if number > HEAD_ROW and row[0] == "Scenario")
    return [dict(zip(rows[at], row, strict=True)) for row in rows[at + 1 :]]


def test_the_months_are_those_of_the_plan(priced):
    table = months(priced.values["Demand"])
    plans = [(case.name, plan) for case, plan in zip(priced.study.cases, priced.study.demand, strict=True) if plan]
    assert [row["Scenario"] for row in table] == [name for name, _ in plans for _ in range(12)]
    expected = [month for _, plan in plans for month in plan.months]
    for row, month in zip(table, expected, strict=True):
        assert row["From"] == dt.datetime.combine(month.first, dt.time())
        for head, value in (
            ("Requests", month.requests_month), ("Peak (per hour)", month.peak_requests_per_hour),
            ("Deployments", month.deployments), ("Devices", month.devices), ("Cost (USD)", month.monthly_cost),
            ("API (USD)", month.api_cost_month), ("Saving (USD)", month.saving_cost_month),
            ("Saved so far (USD)", month.saved_cost),
        ):  # fmt: skip
            assert row[head] == (value if value is None else pytest.approx(value)), head
    orders = [(row["Devices to add"], row["From"], row["Order by"]) for row in table if row["Order by"]]
    assert orders == [
        (o.devices, *(dt.datetime.combine(day, dt.time()) for day in (o.needed, o.order)))
        for _, plan in plans
        for o in plan.orders
    ]
    assert len(orders) > 1


def test_the_summary_says_when_it_pays_back_and_when_to_order(priced):
    sheet, plans = priced.values["Demand"], priced.study.demand
    assert [sheet.cell(row, 2).value for row in (5, 6, 7)] == [plans[0].paid_back, NOT_YET, NO_API]
    assert plans[0].paid_back > 1
    assert sheet["C5"].value == pytest.approx(plans[0].total_cost)
    assert sheet["D5"].value == pytest.approx(plans[0].total_api_cost)
    assert sheet["G5"].value == dt.datetime.combine(plans[0].orders[0].order, dt.time())


def test_demand_follows_an_edit(priced):
    changes = {"growth_share_month": 0.05, "requests_month": 1_500_000, "device_cost_h": 3}
    found = priced.edited({("grows", field): value for field, value in changes.items()})
    again = study_of([Scenario(name="again", **ROWS["grows"] | changes)], Options(today=TODAY)).demand[0]
    sheet = priced.formulas["Demand"]
    first = next(
        row for row in range(6, sheet.max_row) if sheet.cell(row, 2).value == 1 and sheet.cell(row, 1).value == "grows"
    )
    heads = [cell.value for cell in sheet[first - 1]]
    for number, month in enumerate(again.months):
        for head, value in (("Devices", month.devices), ("Saved so far (USD)", month.saved_cost)):
            assert found("Demand", first + number, heads.index(head) + 1) == pytest.approx(value)
    assert found("Demand", 5, 2) == (again.paid_back or NOT_YET)


def test_cost_against_utilisation_and_the_outlook(priced):
    sheet, study = priced.values["Sensitivity"], priced.study
    for index, case in enumerate(study.cases):
        row = [cell.value for cell in sheet[5 + index]]
        result, outlook = case.result, study.outlooks[index]
        assert row[:4] == [
            case.name,
            *(pytest.approx(v) for v in (outlook.best_cost, outlook.base_cost, outlook.worst_cost)),
        ]
        wanted = [cost.cost_per_m_tokens(result.hourly_cost_h, result.fleet_tokens_per_sec, share) for share in SHARES]
        assert row[8:18] == [pytest.approx(value) for value in wanted]
        assert outlook.best_cost < outlook.base_cost < outlook.worst_cost
    # At the planned utilisation the table says what is planned.
    assert sheet.cell(5, 9 + 5).value == pytest.approx(study.cases[0].result.cost_per_m_tokens)


def test_the_swings_stand_in_their_order_with_both_ends(priced):
    sheet = priced.values["Sensitivity"]
    rows = [[cell.value for cell in row[:8]] for row in sheet.iter_rows()]
    for case, swings in zip(priced.study.cases, priced.study.swings, strict=True):
        at = max(number for number, row in enumerate(rows) if row[0] == case.name)
        own = case.result.cost_per_m_tokens
        for row, swing in zip(rows[at + 1 :], swings, strict=False):
            down, up = max(own - swing.cheap_cost, 0), max(swing.dear_cost - own, 0)
            amounts = (swing.cheap_cost, own, swing.dear_cost, down, up)
            assert row == [swing.name, swing.cheap, swing.dear, *(pytest.approx(value) for value in amounts)]
    # A price of 35,000 and a fifth less, with no exponent.
    assert ["28,000", "42,000"] in [row[1:3] for row in rows]


def test_charts_stand_below_on_each_sheet(priced):
    charts = {name: priced.formulas[name]._charts for name in MONEY_SHEETS}
    assert [type(chart).__name__ for chart in charts["Cost"]] == ["BarChart", "BarChart"]
    assert [type(chart).__name__ for chart in charts["Demand"]] == ["LineChart"] * 3
    assert [type(chart).__name__ for chart in charts["Sensitivity"]] == ["LineChart"] + ["BarChart"] * 3
    # The API stands beside each column as a mark of its own.
    assert [type(chart).__name__ for chart in charts["Cost"][0]._charts] == ["BarChart", "LineChart"]
    tornado = charts["Sensitivity"][1]
    assert (tornado.type, tornado.grouping, tornado.x_axis.scaling.orientation) == ("bar", "stacked", "maxMin")
    places = [(chart.anchor._from.row, chart.anchor._from.col) for chart in charts["Demand"]]
    assert len({row for row, _ in places}) == 1
    assert sorted(places) == places


def recalculates(book, recalculated):
    """How many formulas of a book's sheets of money another program works out to the values that they store."""
    checked = 0
    for place, (formula, stored, own) in recalculated(book.path).items():
        if place[0].split(" (")[0] in MONEY_SHEETS:
            same = own == pytest.approx(stored, rel=1e-9) if isinstance(stored, int | float) else own == (stored or "")
            assert same, (place, formula, stored, own)
            checked += 1
    return checked


def test_every_formula_recalculates_to_its_stored_value(priced, recalculated):
    assert recalculates(priced, recalculated) > 900


def test_formulas_over_several_currencies_recalculate(mixed, recalculated):
    assert recalculates(mixed, recalculated) > 300


def test_a_users_own_sheets_keep_their_names_and_ours_still_refer_to_each_other(tmp_path, recalculated):
    source = tmp_path / "typed.xlsx"
    typed(source, {"grows": ROWS["grows"]})
    workbook = openpyxl.load_workbook(source)
    for name in MONEY_SHEETS:
        workbook.create_sheet(name)["A1"] = "mine"
    workbook.save(source)
    run(Job(source=source, output=tmp_path / "out.xlsx", pdf=None))
    made = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert [made[name]["A1"].value for name in MONEY_SHEETS] == ["mine"] * 3
    assert "'Cost (planner)'!" in made["Demand (planner)"]["H5"].value
    found = recalculated(tmp_path / "out.xlsx")
    assert {name for name, _ in found} >= {f"{name} (planner)" for name in MONEY_SHEETS}
    for place, (_, stored, own) in found.items():
        assert own == (pytest.approx(stored) if isinstance(stored, int | float) else stored or ""), place


@pytest.mark.parametrize("functions", list(Functions))
def test_the_sheets_store_the_same_values_however_they_calculate(tmp_path, functions):
    rows = {name: ROWS[name] for name in ("grows", "free API")}
    study = study_of([Scenario(name=name, **given) for name, given in rows.items()], Options(today=TODAY))
    write_workbook(tmp_path / "made.xlsx", result_sheets(study, functions), functions)
    book = openpyxl.load_workbook(tmp_path / "made.xlsx", data_only=True)
    stands = columns_of(cost_parts(study))
    for index, case in enumerate(study.cases):
        for name in MONEY:
            stored, value = book["Cost"].cell(ROW + 1 + index, stands[name] + 1).value, getattr(case.result, name)
            assert stored == (value if value is None else pytest.approx(value, rel=1e-15)), (case.name, name)
    formulas = openpyxl.load_workbook(tmp_path / "made.xlsx")
    live = [c.value for name in MONEY_SHEETS for row in formulas[name].iter_rows() for c in row if c.data_type == "f"]
    called = [text for text in live if "COST_PER_M_TOKENS(" in text]
    assert bool(live) is (functions is not Functions.NONE)
    assert bool(called) is (functions in {Functions.EMBEDDED, Functions.ADDIN})


def test_no_cell_is_an_error_or_no_number(priced, mixed, cases, verdicts):
    for book in (priced, mixed, cases, verdicts):
        for name in MONEY_SHEETS:
            for row in book.values[name].iter_rows():
                for cell in row:
                    assert cell.data_type != "e", (name, cell.coordinate)
                    assert not re.search(r"\b(nan|inf)\b|#|check inputs|; expected ", str(cell.value)), (
                        name,
                        cell.coordinate,
                    )


HOSTILE = ('=HYPERLINK("http://x")', "quote \" ' <b> & ü 漢字 🚀", "bell\x07\x00", "x" * 300, "@SUM(A1)", "مقارنة")


def test_names_of_any_kind_head_charts_and_rows(tmp_path, validate_or_none):
    study = study_of([Scenario(name=name, api=name, **ROWS["grows"]) for name in HOSTILE], Options(today=TODAY))
    path = tmp_path / "hostile.xlsx"
    write_workbook(path, result_sheets(study), Functions.EMBEDDED)
    book = openpyxl.load_workbook(path)
    assert [book["Cost"].cell(ROW + 1 + at, 1).value[:20] for at in (0, 1, 3)] == [HOSTILE[at][:20] for at in (0, 1, 3)]
    # The lines of APIs that charge the same are one.
    assert book["Sensitivity"].cell(5 + len(HOSTILE), 1).value == HOSTILE[0]
    assert validate_or_none(path) == []


@pytest.mark.libreoffice
def test_libreoffice_works_out_the_stored_values(tmp_path, soffice):
    del soffice
    rows = ROWS | {"F33a": CASES["F33a"], "F30a": CASES["F30a"], NEVER: VERDICTS[NEVER]}
    book = Book(tmp_path, rows, Functions.PLAIN)
    made = tmp_path / "again.xlsx"
    made.write_bytes(by_libreoffice(package_of(book.path.read_bytes(), book.path)).data)
    again, checked = openpyxl.load_workbook(made, data_only=True), 0
    for name in MONEY_SHEETS:
        for row in book.formulas[name].iter_rows():
            for cell in row:
                if cell.data_type == "f" and "HYPERLINK" not in cell.value:
                    stored, own = book.values[name][cell.coordinate].value, again[name][cell.coordinate].value
                    if isinstance(stored, int | float):
                        assert own == pytest.approx(stored, rel=1e-9), (name, cell.coordinate, cell.value)
                    else:
                        assert (own or None) == (stored or None), (name, cell.coordinate, cell.value)
                    checked += 1
    assert checked > 800


@pytest.mark.validator
@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.NONE])
def test_open_xml_sdk_finds_no_error(tmp_path, validate, functions):
    study = study_of([Scenario(name=name, **given) for name, given in ROWS.items()], Options(today=TODAY))
    write_workbook(tmp_path / "made.xlsx", result_sheets(study, functions), functions)
    assert validate(tmp_path / "made.xlsx") == []


def test_every_amount_of_the_sheet_names_a_currency(cases):
    for name, at in cases.columns.items():
        head = cases.values["Cost"].cell(HEAD_ROW + 1, at + 1).value
        declared = figure_header(name) if name in FIGURES else header_of(name) if name in COLUMNS else ""
        if "(money" in declared:
            assert "(USD" in head, head
