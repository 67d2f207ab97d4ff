"""The money of a report: the answer by cost, its charts and tables, and every headline recomputed from the workbook."""

import dataclasses
import datetime as dt
import io
import logging
import re
from xml.etree import ElementTree as ET

import openpyxl
import pypdf
import pytest

from planner.job import Job, run
from planner.plan.scenario import Scenario, header_of
from planner.plan.study import Options, study_of
from planner.report import money, money_plans, render
from planner.report.model import About, report_of
from planner.report.money import Till
from planner.report.numbers import written_as
from planner.report.render import to_html
from planner.settings import Settings

MADE = dt.datetime(2026, 11, 29, 9, 0, tzinfo=dt.UTC)
CHAT = {
    "params_b": 70,
    "precision": "INT8",
    "device_bandwidth_gb_s": 3350,
    "devices": 2,
    "device_memory_gb": 80,
    "efficiency": 0.85,
    "batch": 16,
    "prompt_tokens": 2000,
    "output_tokens": 500,
    "prefill_tokens_per_sec": 9000,
}
PRICED = {
    "currency": "USD",
    "device_cost_h": 3.2,
    "busy_share": 0.45,
    "input_cost_m": 0.8,
    "cached_cost_m": 0.2,
    "output_cost_m": 3.2,
    "price_source": "quote Q-1182",
    "price_day": "2026-11-01",
}
OWNED = {
    "device_cost_h": None,
    "device_capex_cost": 42_000,
    "device_residual_cost": 4_000,
    "useful_life_years": 4,
    "device_power_w": 700,
    "tariff_cost_kwh": 0.14,
    "staff_cost_month": 2500,
}


def scenario(name="chat", **changes):
    return Scenario(name=name, **(CHAT | PRICED | changes))


def report(*scenarios, options=None, **settings):
    return report_of(study_of(scenarios, options), About(MADE, Settings(**settings)))


def texts_of(table):
    return [[cell.text for cell in row.cells] for row in table.rows]


def column(table, label):
    """A column's texts, by the labels of its group and head, and its unit."""
    groups = [group.label for group in table.groups for _ in range(group.span)] or [""] * len(table.heads)
    named = [f"{group} {head.label} {head.unit}".strip() for group, head in zip(groups, table.heads, strict=True)]
    return [row.cells[named.index(label)].text for row in table.rows]


def tiles_of(found):
    return {tile.label: f"{tile.number} {tile.unit}".strip() for tile in found.tiles}


# Every headline, recomputed from the workbook that is attached to the PDF

SEVEN = (
    {"name": "as today", "precision": "FP16", "devices": 4, "batch": 8},
    {"name": "two devices", "one_off_cost": 20_000, "requests_month": 8_000_000, "growth_share_month": 0.04}
    | {"peak_to_average": 2, "headroom": 0.1, "lead_time_weeks": 6, "first_month": "2027-01-15"},
    {"name": "owned", **OWNED, "batch": 8},
    {"name": "INT4 on one", "precision": "INT4", "devices": 1, "replicas": 2, "cached_tokens": 1200}
    | {"requests_month": 9_000_000, "growth_share_month": 0.05, "peak_to_average": 2},
    {"name": "half empty", "busy_share": 0.02},
    {"name": "too large", "precision": "FP16", "devices": 1},
    {"name": "slow", "precision": "FP16", "device_bandwidth_gb_s": 800, "device_memory_gb": 200},
)
HOURS = 730
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


def write_workbook(path, rows):
    rows = [CHAT | PRICED | row for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Scenarios"
    sheet.append([header_of(name) for name in names])
    for row in rows:
        sheet.append([row.get(name) for name in names])
    book.save(path)


class Kept(logging.Handler):
    """Keeps what WeasyPrint says."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


def reported(folder, rows, **settings):
    """A workbook's report: the PDF, and the workbook within it; WeasyPrint has nothing to say against the pages."""
    source, pdf = folder / "plan.xlsx", folder / "plan.pdf"
    write_workbook(source, rows)
    kept, logger = Kept(), logging.getLogger("weasyprint")
    logger.addHandler(kept)
    try:
        # Variants are none of money's matter, and half of the pages.
        few = Options(precisions=("INT8",), batches=(16,))
        results = folder / "plan.results.xlsx"
        outcome = run(Job(source=source, output=results, pdf=pdf, made=MADE, settings=settings, options=few))
    finally:
        logger.removeHandler(kept)
    assert (outcome.no_pdf, kept.said) == ("", [])
    read = pypdf.PdfReader(pdf)
    ((_, (data, *_)),) = read.attachments.items()
    return read, openpyxl.load_workbook(io.BytesIO(data), data_only=True)


def typed(book):
    """The scenarios as a workbook holds them."""
    heads, *rows = book["Scenarios"].iter_rows(values_only=True)
    names = {header_of(name): name for name in Scenario.__dataclass_fields__}
    return [{names[head]: value for head, value in zip(heads, row, strict=True)} for row in rows]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The words of a report's pages, and the scenarios as the workbook within the PDF holds them."""
    read, book = reported(tmp_path_factory.mktemp("money"), SEVEN)
    return bare(" ".join(page.extract_text() for page in read.pages)), typed(book)


def bare(text):
    """A text without its blanks, which a PDF has where a line breaks and not between cells."""
    return "".join(text.split())


def worked_out(row):
    """A scenario's money by hand: nothing here is planner's."""
    bits = {"FP16": 16, "INT8": 8, "INT4": 4}[row["precision"]]
    replicas, devices = row.get("replicas") or 1, row["devices"]
    weights_gb = row["params_b"] * bits / 8
    rate = row["device_bandwidth_gb_s"] * devices * row["efficiency"] / weights_gb
    fleet = rate * row["batch"] * replicas
    bought = devices * replicas
    lines = {"Rent": (row["device_cost_h"] or 0) * bought}
    if row.get("device_capex_cost"):
        lost = (row["device_capex_cost"] - row["device_residual_cost"]) * bought
        lines |= {
            "Depreciation": lost / (row["useful_life_years"] * 8760),
            "Electricity": row["device_power_w"] * bought / 1000 * 1.5 * row["tariff_cost_kwh"],
            "Staff": row["staff_cost_month"] / HOURS,
        }
    hourly, busy = sum(lines.values()), row["busy_share"]
    prompt, output, cached = row["prompt_tokens"], row["output_tokens"], row.get("cached_tokens") or 0
    request = (
        (prompt - cached) * row["input_cost_m"] + cached * row["cached_cost_m"] + output * row["output_cost_m"]
    ) / 1e6
    response = (prompt - 0) / row["prefill_tokens_per_sec"] + output / rate
    full = fleet * 3600 * HOURS / 1e6
    api = request / output * 1e6
    month = hourly * HOURS
    return {
        "rate": rate,
        "fits": weights_gb <= 0.9 * row["device_memory_gb"] * devices,
        "lines": lines,
        "hourly": hourly,
        "busy": busy,
        "month": month,
        "cost": hourly * 1e6 / (fleet * 3600 * busy),
        "full_cost": hourly * 1e6 / (fleet * 3600),
        "api": api,
        "request": request,
        "output": full * busy,
        "full": full,
        "saving": full * busy * api - month,
        "even": month / api,
        "share": month / api / full,
        "served": row["batch"] * 3600 / response,
        "devices": devices,
        "replicas": replicas,
    }


def months_of(row, found):
    """Twelve months of a row's demand by hand: devices, cost and the API's bill of each."""
    requests, months = row["requests_month"], []
    for _ in range(12):
        peak = requests / HOURS * row["peak_to_average"] * (1 + (row.get("headroom") or 0))
        deployments = -(-peak // found["served"])
        months.append(
            (
                deployments * found["devices"],
                found["hourly"] / found["replicas"] * deployments * HOURS,
                found["request"] * requests,
            )
        )
        requests *= 1 + row["growth_share_month"]
    return months


def k(value):
    """An amount as a tile shortens it."""
    scaled = value / (1e6 if value >= 999_500 else 1e3)
    return f"${scaled:.1f}{'M' if value >= 999_500 else 'k'}" if scaled < 9.95 else f"${scaled:.0f}k"


WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def in_words(number):
    return WORDS[number] if number < 13 else f"{number}"


def expected(rows):
    """Every headline of the money of a report, worked out by hand from the rows of the workbook."""
    found = [worked_out(row) for row in rows]
    label = {id(each): f"S{n:02d}" for n, each in enumerate(found, 1)}
    able = [each for each in found if each["fits"] and each["rate"] >= 10]
    best, second = sorted(able, key=lambda each: each["cost"])[:2]
    fitting = [each for each in found if each["fits"]]
    cheaper = sum(each["cost"] <= each["api"] for each in fitting)
    own = label[id(best)]
    pairs = [(each["full_cost"] / share, each["api"]) for each in fitting for share in SHARES]
    below = sum(cost <= api for cost, api in pairs)
    owned = next(each for each in found if len(each["lines"]) > 1)
    line = max(owned["lines"], key=owned["lines"].get)
    headlines = [
        f"{own} costs least: ${best['cost']:.2f} per million output tokens, ${best['api'] - best['cost']:.2f} below the API",
        f"costs ${best['month']:,.0f} a month for {best['output']:,.1f} M tokens of output "
        f"(allocated at {best['busy']:.0%} utilisation, 730 h a month; upper bound of speed; USD)",
        f"the API charges ${best['output'] * best['api']:,.0f} a month: the scenario saves ${best['saving']:,.0f}. "
        f"Below {best['share']:.0%} utilisation the API is the cheaper one.",
        f"The next, {label[id(second)]} ({rows[found.index(second)]['name']}), costs ${second['cost']:.2f}, "
        f"{second['cost'] / best['cost'] - 1:.0%} more.",
        f"Cost per million output tokens ${best['cost']:.2f} upper bound of speed, allocated at {best['busy']:.0%}; "
        f"${best['full_cost']:.2f} at full load",
        f"Break-even utilisation {best['share']:.0%} the plan assumes {best['busy']:.0%}",
        f"Speed of one stream {best['rate']:.2f} tok/s",
        f"{in_words(cheaper).capitalize()} of {in_words(len(fitting))} scenarios that fit cost less than the API",
        f"{own} beats the API from {best['share']:.0%} utilisation on",
        f"Break-even at {best['even']:,.1f} M output tokens a month",
        f"{1 - best['busy']:.0%} of what {own} costs is idle",
        f"{line} is {owned['lines'][line] / owned['hourly']:.0%} of what {label[id(owned)]} costs",
        f"{in_words(below).capitalize()} of {in_words(len(pairs))} pairs cost less than the API",
        f"Batch moves {own} most: ${best['cost'] / 2:.2f} to ${best['cost'] * 2:.2f}",
    ]
    for at, each in zip(rows, found, strict=True):
        if at.get("requests_month"):
            months = months_of(at, each)
            headlines.append(f"{label[id(each)]} grows from {months[0][0]:,.0f} to {months[-1][0]:,.0f} devices")
            beats = sum(bill > cost for _, cost, bill in months)
            said = {
                12: f"{label[id(each)]} costs less than the API in all twelve months",
                0: "The API costs less in all twelve months",
            }
            headlines.append(
                said.get(beats, f"{label[id(each)]} costs less than the API in {in_words(beats)} of twelve months")
            )
            saved = sum(bill - cost for _, cost, bill in months) - (at.get("one_off_cost") or 0)
            if each is best:
                cost, bill = (sum(month[n] for month in months) for n in (1, 2))
                headlines.append(f"Saving in twelve months {k(saved)} {k(cost)} against {k(bill)} by API")
                headlines.append(
                    f"of twelve months it costs ${cost:,.0f}, the API ${bill:,.0f}: running it saves ${saved:,.0f}."
                )
    return headlines


def test_every_headline_follows_from_the_attached_workbook(printed):
    words, rows = printed
    assert [headline for headline in expected(rows) if bare(headline) not in words] == []


def test_no_headline_of_money_is_left_unchecked(printed):
    _, rows = printed
    given = [{name: value for name, value in row.items() if value is not None} for row in rows]
    found = report_of(study_of(Scenario(**row) for row in given), About(MADE))
    pages = found.money
    charts = [pages.cost.utilisation, pages.cost.volume, pages.cost.idle, pages.cost.by_line, *pages.cost.maps]
    charts += [chart for plan in pages.demand.plans for chart in (plan.devices, plan.cost)]
    titles = [found.verdict.title, found.money.bars.figure.title, pages.sensitivity.tornado.figure.title]
    titles += [chart.figure.title for chart in charts]
    assert len(charts) == 9
    assert set(titles) <= set(expected(rows))
    said = [f"{tile.label} {tile.number} {tile.unit}".strip() for tile in found.tiles]
    assert len(said) == 4
    assert all(any(headline.startswith(text) for headline in expected(rows)) for text in said)


NAMES = ("社内チャット 70B を二台の H100 で運用する", "خدمة الدردشة على جهازين", "x" * 300, "<b>&amp;</b>")
ESTIMATED = {
    **dict.fromkeys(("params_b", "device_bandwidth_gb_s", "device_memory_gb", "efficiency", "prefill_tokens_per_sec")),
    "model": "Llama-3.1-70B",
    "device": "H100 SXM",
}


def test_headlines_on_estimates_follow_from_the_attached_workbook(tmp_path):
    rows = [
        {"name": NAMES[0], **ESTIMATED, "api": NAMES[1]},
        {"name": NAMES[1], **ESTIMATED, "currency": "EUR", "device_cost_h": 2.4, "exchange_rate": 1.1}
        | {"exchange_day": "2026-11-27", "api": NAMES[0]},
        {"name": NAMES[2], **ESTIMATED, "currency": "JPY", "device_cost_h": 480, "input_cost_m": 120}
        | {"output_cost_m": 480, "cached_cost_m": 30, "api": NAMES[2]},
    ]
    read, book = reported(tmp_path, rows, paper="Letter")
    assert {tuple(map(round, page.mediabox[2:])) for page in read.pages} == {(612, 792)}
    heads, *values = list(book["Estimate"].iter_rows(min_row=4, max_row=6, values_only=True))
    per_stream = heads.index("Estimate (tok/s)")
    rate = [row[per_stream] * CHAT["batch"] for row in values]
    one, two, _ = typed(book)
    # Two devices an hour over what they generate in it; the second in dollars by its rate.
    costs = [
        row["device_cost_h"] * 2 * 1e6 / (each * 3600 * row["busy_share"]) * (row["exchange_rate"] or 1)
        for row, each in zip((one, two), rate, strict=False)
    ]
    api = (2000 * two["input_cost_m"] + 500 * two["output_cost_m"]) / 500 * two["exchange_rate"]
    assert costs[1] < costs[0]
    words = bare(" ".join(page.extract_text() for page in read.pages))
    share = costs[1] * two["busy_share"] / api
    for headline in (
        f"S02 costs least: ${costs[1]:.2f} per million output tokens, ${api - costs[1]:.2f} below the API",
        f"costs ${2.4 * 2 * 730 * 1.1:,.0f} a month",
        "estimate; USD, converted at 1.1",
        "Both scenarios that fit cost less than the API",
        f"S02 beats the API from {share:.0%} utilisation on",
        "1 EUR = 1.1 USD",
        "none, so not compared",
        "Not compared: S03",
    ):
        assert bare(headline) in words, headline


# The answer


def test_the_cheapest_that_qualifies_is_recommended():
    found = report(scenario("two"), scenario("one, INT4", precision="INT4", devices=1), scenario("large", devices=1))
    # 3.2 x 1e6 / (3350 x 0.85 / 35 x 16 x 3600 x 0.45) = 1.517514; API (2000 x 0.8 + 500 x 3.2) / 500 = 6.4
    assert found.verdict.title == "S02 costs least: $1.52 per million output tokens, $4.88 below the API"
    assert found.verdict.kind == "good"
    assert found.verdict.decision == "Approve S02 at $2,336 a month."
    assert tiles_of(found) == {
        "Cost per million output tokens": "$1.52",
        "Saving a month against the API": "$7.5k",
        "Break-even utilisation": "11%",
        "Speed of one stream": "81.36 tok/s",
    }


def test_a_single_scenario_is_compared_with_none():
    found = report(scenario())
    assert found.verdict.title == "S01 costs $3.03 per million output tokens, $3.37 below the API"
    assert "least" not in found.verdict.title
    assert found.verdict.body[2] == "It fits and keeps reading pace (10 tok/s)."


def test_an_api_that_always_wins():
    found = report(
        scenario("dear", device_cost_h=9, busy_share=0.1, input_cost_m=0.1, output_cost_m=0.4, cached_cost_m=None)
    )
    assert found.verdict.kind == "bad"
    # 18 x 1e6 / (81.357143 x 16 x 3600 x 0.1) = 38.41; (2000 x 0.1 + 500 x 0.4) / 500 = 0.8
    assert found.verdict.title == (
        "Use the API at $0.80 per million output tokens: S01 costs $38.41 and never gets cheaper"
    )
    assert found.verdict.decision == "Buy the output from the API; do not run S01."
    assert tiles_of(found)["Break-even utilisation"] == "never"
    assert found.money.cost.utilisation.figure.title == "The API is cheaper than S01 at every utilisation"
    assert found.money.cost.volume.figure.title == "S01 is full before the API costs as much"
    assert column(found.money.cost.glance, "Break-even at") == ["never (480%)"]


def test_a_free_api():
    found = report(scenario(input_cost_m=0, cached_cost_m=0, output_cost_m=0))
    assert found.verdict.title.startswith("Use the API at $0.00 per million output tokens")
    assert "charges $0.00 a month: $4,672 less, since it is free." in found.verdict.body[1]
    assert tiles_of(found)["Break-even utilisation"] == "never"
    assert found.money.cost.volume is None


def test_an_api_that_is_cheaper_at_this_utilisation():
    found = report(scenario(busy_share=0.03))
    assert found.verdict.kind == "bad"
    assert found.verdict.title == "Use the API at 3% utilisation: $6.40 against $45.52 per million output tokens"
    assert found.verdict.decision == "Buy the output from the API until S01 is busy 21% of its hours."
    assert tiles_of(found)["Dearer a month than the API"] == "$4.0k"


def test_hardware_that_is_too_small():
    found = report(scenario(device_memory_gb=16), scenario(device_memory_gb=24))
    assert (found.verdict.kind, found.verdict.title) == ("bad", "No scenario fits its hardware")
    assert "The API charges $6.40 per million output tokens at this mix of tokens." in found.verdict.body
    assert found.tiles == ()
    assert found.money.bars.figure.title == "No scenario that has a cost fits its hardware"
    assert all(bar.hatched and bar.text.endswith("does not fit") for bar in found.money.bars.bars)
    # A map of nothing but dashes says nothing.
    assert found.money.cost.maps == ()


def test_a_dear_scenario_that_does_not_fit_is_not_said_to_beat_the_api():
    found = report(scenario(device_memory_gb=16, input_cost_m=0.01, output_cost_m=0.02))
    assert found.money.cost.utilisation.figure.title == "The API is cheaper than S01 at every utilisation"


def test_devices_of_a_plan_are_those_that_are_paid_for():
    found = report(scenario(device_cost_h=None, instance_cost_h=20, instance_devices=8, requests_month=10_000))
    assert found.money.demand.plans[0].devices.values == (8.0,) * 12
    (row,) = (row for row in texts_of(found.money.demand.plans[0].table) if row[0] == "Devices")
    assert row[1:13] == ["8"] * 12


def test_targets_that_none_meets():
    found = report(scenario(target_tokens_per_sec=500), scenario(target_response_s=0.5))
    assert found.verdict.title == "No scenario both fits and meets its targets"
    assert "one slower than their targets and one too late for their targets" in found.verdict.body[1]


def test_an_unpriced_report_says_nothing_of_money():
    found = report(Scenario(name="plain", **CHAT), Scenario(name="other", **(CHAT | {"batch": 8})))
    assert found.money is None
    assert not {"cost", "demand", "sensitivity"} & set(found.sections)
    html = to_html(found).partition("<body>")[2]
    assert not re.search(r"\b(?:USD|price|API|break-even|allocated)\b", html, re.IGNORECASE)


def test_sections_with_nothing_to_show_are_left_out():
    found = report(scenario())
    assert [key for key in found.sections if key in {"cost", "demand", "sensitivity"}] == ["cost", "sensitivity"]
    assert (
        "demand" not in to_html(found).partition("glossary")[0].partition("<body>")[2].lower().partition("contents")[0]
    )
    only_api = report(scenario(device_cost_h=None, busy_share=None))
    assert only_api.money.cost.utilisation is only_api.money.cost.idle is None
    assert only_api.money.cost.glance.rows
    assert only_api.money.sensitivity is None


def test_hardware_with_a_price_but_no_utilisation():
    found = report(scenario(busy_share=None))
    assert found.sections["cost"].lede == (
        "The hardware has a price, but no utilisation is given, so that no token has a cost."
    )
    assert found.money.bars is None
    assert column(found.money.cost.glance, "Cost USD per month of 730 h") == ["4,672"]


def test_a_demand_that_the_api_serves_for_less_is_said():
    found = report(scenario(requests_month=10_000, first_month="2027-01-01"))
    # 500 tokens at 6.4 per million are 0.0032 a request: 32 a month; two devices for 730 h at 3.2 are 4,672.
    assert "it costs $56,064, the API $384: running it costs more by $55,680." in found.verdict.body[3]
    assert found.verdict.kind == "bad"
    assert found.verdict.title == "Use the API for the demand of S01: $384 for twelve months against $56k"
    assert found.verdict.decision == (
        "Buy the output from the API: $384 for its demand of twelve months, $55,680 less than S01."
    )


def test_a_cost_that_rests_on_an_estimate_says_so():
    row = scenario(params_b=None, model="Llama-3.1-70B", device="H100 SXM", device_bandwidth_gb_s=None)
    row = dataclasses.replace(row, device_memory_gb=None, efficiency=None, prefill_tokens_per_sec=None)
    study = study_of([row, scenario("upper bound")])
    found = report_of(study, About(MADE))
    rate = study.cases[0].result.estimated_aggregate_tokens_per_sec
    cost = 6.4 * 1e6 / (rate * 3600 * 0.45)
    assert found.verdict.title.startswith(f"S01 costs ${cost:.2f} per million output tokens")
    assert found.tiles[0].basis.startswith("estimate, allocated at 45%")
    assert "set aside: one whose cost rests on an upper bound of speed" in found.verdict.body[2]
    assert found.money.bars.bars[1].text == "$3.03, upper bound of speed"
    assert column(found.money.cost.per_unit, "Basis") == ["estimate", "upper bound of speed"]
    assert [found.what for found in found.money.cost.maps] == ["Scenario", "Batch"]


# Currencies


def test_currencies_are_compared_only_by_a_rate():
    found = report(
        scenario("dollars"),
        scenario("euro", currency="EUR", device_cost_h=2.4, exchange_rate=1.08, exchange_day="2026-11-27"),
        scenario("yen", currency="JPY", device_cost_h=480, input_cost_m=120, output_cost_m=480, cached_cost_m=None),
    )
    # 4.8 x 1e6 / (81.357143 x 16 x 3600 x 0.45) x 1.08 = 2.458273; API 6.4 x 1.08 = 6.912
    assert found.verdict.title == "S02 costs least: $2.46 per million output tokens, $4.45 below the API"
    assert "converted at 1.08" in found.verdict.body[0]
    assert len(found.money.bars.bars) == 2
    assert texts_of(found.money.cost.rates) == [
        ["EUR", "1 EUR = 1.08 USD", "2026-11-27", "S02"],
        ["JPY", "none, so not compared", "", "S03"],
    ]
    table = found.money.cost.glance
    assert column(table, "In") == ["USD", "USD", "JPY"]
    assert column(table, "own currency per M output tokens Cost") == ["3.03", "2.46", "455.24"]
    assert any(alert.head == "Not compared:" and alert.text.startswith("S03") for alert in found.alerts)
    units = {row.cells[1].text: row.cells[3].text for row in found.money.prices.rows if row.cells[2].text == "480"}
    assert units == {"Price per device-hour": "JPY/h", "API output price": "JPY/M tokens"}


def test_the_settings_name_the_currency_of_comparison():
    euro = scenario(currency="EUR", exchange_rate=1.25, exchange_day="2026-11-27")
    study = dataclasses.replace(study_of([euro]), settings=Settings(currency="USD"))
    found = report_of(study, About(MADE))
    assert found.verdict.title.startswith("S01 costs $3.79 per million output tokens")
    assert "Elsewhere its amounts are converted at 1.25 USD for 1 EUR." in found.money.worked_lede


def test_without_a_currency_amounts_stand_alone():
    found = report(scenario(currency=None))
    assert found.verdict.title == "S01 costs 3.03 per million output tokens, 3.37 below the API"
    assert "amounts without a currency" in found.stamp


def test_money_follows_the_locale():
    with written_as("de-DE"):
        found = report(scenario(), locale="de-DE")
    assert found.verdict.title == "S01 costs 3,03\xa0$ per million output tokens, 3,37\xa0$ below the API"
    assert tiles_of(found)["Break-even utilisation"] == "21\xa0%"


# Tables


def test_the_cost_by_line_adds_up():
    found = report(scenario(**OWNED), scenario("rented"))
    table = found.money.cost.lines
    # 38,000 x 2 / (4 x 8,760) x 730 = 1,583.33; 1.4 kW x 1.5 x 0.14 x 730 = 214.62; 2,500; together 4,297.95
    assert texts_of(table)[0] == ["chat", "", "1,583", "215", "2,500", "4,298", "1,934", "2,364"]
    assert texts_of(table)[1] == ["rented", "4,672", "", "", "", "4,672", "2,102", "2,570"]
    assert [head.label for head in table.heads] == (
        ["Scenario", "Rent", "Depreciation", "Electricity", "Staff", "Allocated", "Used", "Idle"]
    )
    assert texts_of(found.money.cost.owned) == [["chat", "2", "45%", "84,000", "8,000", "4"]]


def test_losses_stand_in_parentheses():
    found = report(scenario(busy_share=0.03))
    assert column(found.money.cost.glance, "USD per month of 730 h Saving") == ["(4,015)"]


def test_the_api_is_priced_at_the_own_mix():
    found = report(scenario(cached_tokens=1500, cache_write_tokens=200, cache_write_cost_m=1.0))
    table = found.money.cost.api_costs
    # (300 x 0.8 + 1,500 x 0.2 + 200 x 1.0 + 500 x 3.2) / 1e6 = 0.00234; / 2,500 tokens = 0.936 per million
    assert column(table, "USD per request Cost") == ["0.0023"]
    assert column(table, "USD per M tokens Blended") == ["0.94"]
    assert column(table, "USD per M tokens Per output") == ["4.68"]
    assert column(table, "USD per request Caching saves") == ["0.00090"]


def test_twelve_months_of_demand():
    row = scenario(
        requests_month=9_000_000,
        growth_share_month=0.1,
        peak_to_average=2,
        lead_time_weeks=8,
        first_month="2027-01-31",
        one_off_cost=15_000,
    )
    found = report(row)
    (plan,) = found.money.demand.plans
    served = 16 * 3600 / (2000 / 9000 + 500 / (6700 * 0.85 / 70))
    devices = [2 * -(-9e6 * 1.1**n / 730 * 2 // served) for n in range(12)]
    assert plan.devices.values == pytest.approx(devices)
    lines = {cells[0]: cells[1:] for cells in texts_of(plan.table)}
    assert lines["Devices"][:12] == [f"{number:.0f}" for number in devices]
    assert lines["Self-hosted"][0] == f"({devices[0] * 3.2 * 730 / 1000:.1f})"
    assert lines["API bill"][0] == f"{9e6 * 0.0032 / 1000:.1f}"
    assert lines["One-off"][0] == "(15.0)"
    total = sum(9e6 * 1.1**n * 0.0032 - number * 3.2 * 730 for n, number in enumerate(devices)) - 15_000
    # Each line's months add up to its sum; what is paid once has a line of its own.
    assert lines["Saving"][12] == f"{(total + 15_000) / 1000:.1f}"
    assert lines["Saved so far"][11:] == [f"{total / 1000:.1f}", ""]
    for line in ("API bill", "Self-hosted", "Saving", "One-off"):
        *each, added = [float(text.strip("()").replace(",", "")) * (-1 if "(" in text else 1) for text in lines[line]]
        assert sum(each) == pytest.approx(added, abs=0.6), line
    full = [9e6 * 1.1**n / 730 * 2 / (number / 2 * served) for n, number in enumerate(devices)]
    assert lines["Use at the peak"][:12] == [f"{share:.0%}" for share in full]
    assert plan.unit == "Thousand USD; requests in millions; devices in whole deployments; months of 730 h"
    # Two devices stand; the first month needs more, and eight weeks before it are over.
    orders = texts_of(found.money.demand.orders)
    assert orders[0][1:] == [f"{devices[0] - 2:.0f}", "2027-01-01", "2026-11-06, past"]
    later = next(n for n in range(1, 12) if devices[n] > devices[n - 1])
    needed = dt.date(2027, 1 + later, 1)
    assert orders[1][1:] == [
        f"{devices[later] - devices[later - 1]:.0f}",
        needed.isoformat(),
        (needed - dt.timedelta(weeks=8)).isoformat(),
    ]


def test_a_plan_counts_from_the_day_of_the_report():
    found = report(scenario(requests_month=1000))
    assert found.money.demand.plans[0].table.heads[1].label == "Dec\xa026"
    later = report(scenario(requests_month=1000), options=Options(today=dt.date(2027, 3, 5)))
    assert later.money.demand.plans[0].table.heads[1].label == "Apr\xa027"


def test_every_price_has_its_source_day_and_confidence():
    found = report(scenario("quoted"), scenario("unsourced", device_cost_h=2.9, price_source="", price_day=None))
    rows = {(row[1], row[2]): row[3:] for row in texts_of(found.money.prices)}
    assert rows["Price per device-hour", "3.2"] == [
        "USD/h", "S01", "quote Q-1182", "2026-11-01", "high, typed",
    ]  # fmt: skip
    assert rows["Price per device-hour", "2.9"] == ["USD/h", "S02", "typed", "", "low, no day"]
    assert rows["Hours per month", "730"][-1] == "low, default"
    typed = {name for name in PRICED if name.endswith(("_m", "_h"))}
    assert len(typed) == 4
    assert sum(label[0].startswith(("API", "Price per")) for label in rows) == 5


def test_prices_stand_in_one_register_alone():
    found = report(scenario(growth_share_month=0.02, requests_month=1000))
    general = {row[1] for row in texts_of(found.register)}
    assert not general & {row[1] for row in texts_of(found.money.prices)}
    assert "money" not in "".join(row[3] for row in texts_of(found.register))


def test_the_worked_costs_can_be_recomputed():
    found = report(scenario(**OWNED, requests_month=1_000_000))
    lines = {line.figure: line.line for line in found.money.worked}
    assert lines["Depreciation"] == "(84,000 − 8,000) ÷ (4 × 12 × 730) = 2.168950 USD/h, shown as 2.17".replace(
        "950", "95"
    )
    assert {"Electricity", "Cost per hour", "Cost per M output", "Break-even utilisation"} < set(lines)
    assert "Hosting" not in lines
    checked = 0
    for line in lines.values():
        left, _, right = line.partition(" = ")
        text = (
            left.replace(",", "").replace("×", "*").replace("÷", "/").replace("−", "-").replace("floor(", "math.floor(")
        )
        value = float(re.match(r"[−-]?[\d,.]+", right)[0].replace(",", "").replace("−", "-").rstrip("."))
        if re.fullmatch(r"[-\d.*/+() ]+", text):
            assert eval(text) == pytest.approx(value, rel=3e-7)
            checked += 1
    assert checked >= 20


# Charts

EXTREMES = {
    "usual": {},
    "an API a thousand times dearer": {"output_cost_m": 900.0, "input_cost_m": 900.0},
    "an API a thousand times cheaper": {"output_cost_m": 0.002, "input_cost_m": 0.001, "cached_cost_m": None},
    "a full load": {"busy_share": 1.0},
    "hardly any load": {"busy_share": 0.001},
    "no API": {"output_cost_m": None, "input_cost_m": None, "cached_cost_m": None},
    "a falling demand": {"requests_month": 5e7, "growth_share_month": -0.5, "lead_time_weeks": 4},
    "a growing demand": {"requests_month": 10, "growth_share_month": 1, "one_off_cost": 1e9},
    "yen": {"currency": "JPY", "device_cost_h": 480, "input_cost_m": 120, "output_cost_m": 480, "cached_cost_m": None},
}


@pytest.mark.parametrize("changes", EXTREMES.values(), ids=EXTREMES)
def test_charts_keep_to_their_frames_and_say_what_they_show(changes):
    found = report(scenario(**changes), scenario("other", **{"device_cost_h": 2.9, **changes}), scenario(**OWNED))
    drawn = {name: chart for name, chart in render._money_charts(found).items() if chart}
    drawn["front"] = render.bars_svg(found.front)
    assert {"front", "utilisation", "idle", "by_line", "tornado"} <= set(drawn)
    for name, chart in drawn.items():
        svg = ET.fromstring(chart[chart.index("<svg") : chart.index("</svg>") + 6])
        _, _, width, height = map(float, svg.attrib["viewBox"].split())
        assert svg[0].tag.endswith("title"), name
        assert len(svg[0].text) > 20, name
        for part in svg.iter():
            across = [float(part.attrib[key]) for key in ("x", "x1", "x2", "cx") if key in part.attrib]
            down = [float(part.attrib[key]) for key in ("y", "y1", "y2", "cy") if key in part.attrib]
            assert all(-1 <= value <= width + 1 for value in across), (name, part.attrib)
            assert all(-1 <= value <= height + 1 for value in down), (name, part.attrib)


def test_bars_with_apis_of_their_own_are_each_held_against_theirs():
    found = report(scenario("one"), scenario("two", output_cost_m=0.2, input_cost_m=0.2, cached_cost_m=0.1))
    assert found.money.bars.mark is None
    # (2000 x 0.2 + 500 x 0.2) / 500 = 1.0
    assert [bar.mark for bar in found.money.bars.bars] == pytest.approx([6.4, 1.0])
    assert [bar.hatched for bar in found.money.bars.bars] == [False, True]
    assert found.money.bars.bars[1].text == "$3.03, API $1.00"
    same = report(scenario("one"), scenario("two"))
    assert (same.money.bars.mark, same.money.bars.mark_text) == (pytest.approx(6.4), "API $6.40")


# Size


def test_forty_scenarios_keep_charts_short_and_tables_whole():
    rows = [scenario(f"case {n}", device_cost_h=1 + n / 10, batch=8 + n) for n in range(40)]
    found = report(*rows)
    assert len(found.money.bars.bars) == 10
    assert [bar.value for bar in found.money.bars.bars] == sorted(bar.value for bar in found.money.bars.bars)
    assert "the 10 best of 40, cheapest first" in found.money.bars.figure.subtitle
    assert len(found.money.cost.idle.rows) == 12
    assert len(found.money.cost.maps[0].rows) == 10
    assert len(found.money.cost.glance.rows) == len(found.money.cost.lines.rows) == 40
    assert found.money.cost.summary.rows == ()


def test_more_than_300_scenarios_are_summed_up():
    rows = [scenario(f"case {n}", device_cost_h=1 + n / 100) for n in range(320)]
    found = report(*rows)
    assert len(found.money.cost.glance.rows) == 30
    assert len(found.money.cost.lines.rows) == len(found.money.cost.per_unit.rows) == 12
    assert found.money.cost.glance.note == (
        "The 30 best of 320 scenarios, best first; all stand on the Cost sheet of the results workbook."
    )
    summary = {row[0]: row[1] for row in texts_of(found.money.cost.summary)}
    # From 1 to 4.19 a device-hour: 2 x 1e6 / (81.357143 x 16 x 3600 x 0.45) = 0.948446 each
    assert summary["Scenarios with a cost"] == "320"
    assert summary["Lowest cost"] == "0.95"
    assert summary["Highest cost"] == "3.97"
    assert summary["Cheaper than their API"] == "320"


def test_names_of_any_script_and_length_stand_in_the_pages_of_money():
    rows = [scenario(name, api=name, requests_month=50_000, device_cost_h=3 + n) for n, name in enumerate(NAMES)]
    found = report(*rows)
    html = to_html(found)
    start = html.index('<h1 id="cost">')
    pages = html[start : html.index('<h1 id="results">')]
    assert pages.count(NAMES[0]) >= 4
    assert pages.count("خدمة الدردشة") >= 4
    assert "x" * 70 not in pages
    assert "<b>" not in pages
    assert len(found.verdict.title) < 100


# How amounts are told


@pytest.mark.parametrize(
    ("value", "price", "total", "short"),
    [
        (1.5723, "$1.57", "$1.57", "$1.57"),
        (0.0123, "$0.012", "$0.012", "$0.012"),
        (99.999, "$100.00", "$100.00", "$100.00"),
        (250.4, "$250.40", "$250", "$250"),
        (38976.2, "$38,976.20", "$38,976", "$39k"),
        (-250.4, "($250.40)", "($250)", "($250)"),
        (0.0, "$0.00", "$0.00", "$0.00"),
        (None, "", "", ""),
    ],
)
def test_amounts(value, price, total, short):
    till = Till("USD")
    assert (till.price(value), till.sum(value), till.short(value)) == (price, total, short)


def test_a_till_converts():
    assert Till("JPY", 150.0).price(1.5) == "¥225"
    assert money.told("money/h", "") == "money/h"


def test_the_plan_of_the_recommended_comes_first_however_few_are_printed():
    """All that have a plan are counted; those that are not printed are not worked out."""
    dear = [scenario(f"dear {n}", device_cost_h=9.0, requests_month=1e5) for n in range(4)]
    study = study_of([*dear, scenario("no demand"), scenario("cheap", device_cost_h=1.0, requests_month=1e5)])
    found, able = money_plans.planned(study, 2)
    assert [case.name for case, _ in found] == ["cheap", "dear 0"]
    assert able == 5
    assert [plan.months for _, plan in found] == [money.plan_of(study, case).months for case, _ in found]
    assert money_plans.planned(study_of([scenario()]), 2) == ([], 0)
