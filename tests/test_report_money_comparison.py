"""The answer by cost against the cheapest API of a workbook and over the year of a demand, and what is asked for."""

import datetime as dt
import re

import pytest

from planner.plan.study import Options, study_of
from planner.report.model import About, report_of
from planner.report.money_charts import curve_chart
from planner.report.money_comparison import comparison
from planner.report.money_register import _whole_months
from planner.report.shapes import Curve, Spot
from tests.test_report_money import MADE, OWNED, column, report, scenario, texts_of, tiles_of

NO_API = dict.fromkeys(("input_cost_m", "cached_cost_m", "output_cost_m"))
NO_HARDWARE = {"device_cost_h": None, "busy_share": None}
# A stream: 3,350 x 2 x 0.85 / 70 = 81.357 tok/s, a request 6.368 s, 9,045.4 requests an hour at a batch of 16.
SERVED = 16 * 3600 / (2000 / 9000 + 500 / (6700 * 0.85 / 70))


def devices(requests, peak=1.0):
    return 2 * -(-requests / 730 * peak // SERVED)


# What is asked for


def test_the_decision_asks_for_what_the_plan_costs():
    found = report(scenario(requests_month=3e7, growth_share_month=0.05, peak_to_average=2, lead_time_weeks=8))
    months = [devices(3e7 * 1.05**n, 2) for n in range(12)]
    year = sum(months) * 3.2 * 730
    assert months[0] == 20
    assert found.verdict.decision == (
        f"Approve S01 for its demand of twelve months: 20 devices at ${20 * 3.2 * 730:,.0f} in December 2026, "
        f"${year:,.0f} in all; order 18 further devices by 2026-10-06, which is past, "
        f"{months[-1] - 20:.0f} more by 2027-09-06."
    )
    # The same sums as in its table of months.
    (plan,) = found.money.demand.plans
    lines = {cells[0]: cells[1:] for cells in texts_of(plan.table)}
    assert lines["Devices"][0] == "20"
    assert lines["Self-hosted"][12] == f"({year / 1000:,.1f})"
    assert texts_of(found.money.demand.orders)[0][3] == "2026-10-06, past"


@pytest.mark.parametrize(
    ("weeks", "days", "late"),
    [(8, "2026-10-06 and 2026-11-06", 2), (16, "2026-08-11 to 2026-11-09", 4)],
)
def test_all_orders_that_are_late_are_asked_for_together(weeks, days, late):
    found = report(scenario(requests_month=3e7, growth_share_month=0.2, peak_to_average=2, lead_time_weeks=weeks))
    months = [devices(3e7 * 1.2**n, 2) for n in range(12)]
    assert months == sorted(set(months))
    assert (
        f"; order {months[late - 1] - 2:.0f} further devices by {days}, which are past, "
        f"{months[-1] - months[late - 1]:.0f} more by 2027-"
    ) in found.verdict.decision


def test_a_day_to_come_is_not_past():
    row = scenario(requests_month=3e7, peak_to_average=2, lead_time_weeks=8, first_month="2027-06-01")
    assert report(row).verdict.decision.endswith("; order 18 further devices by 2027-04-06.")
    late = report(row, options=Options(today=dt.date(2027, 4, 7)))
    assert late.verdict.decision.endswith("; order 18 further devices by 2027-04-06, which is past.")


def test_the_decision_names_the_purchase():
    assert report(scenario(**OWNED)).verdict.decision == (
        "Approve S01 at $4,298 a month, and the purchase of two devices for $84,000."
    )
    row = scenario(**OWNED, requests_month=2e7, growth_share_month=0.1, one_off_cost=9000)
    first, last = devices(2e7), devices(2e7 * 1.1**11)
    assert (first, last) == (8, 18)
    decision = report(row).verdict.decision
    assert decision.startswith("Approve S01 for its demand of twelve months: eight devices at $")
    assert "; a purchase of eight devices for $336,000, 18 for $756,000 by November 2027, and $9,000 once." in decision


# The year of a demand decides


def test_a_year_that_pays_is_approved_though_a_token_costs_more():
    found = report(scenario(busy_share=0.03, requests_month=3e6))
    # API 3e6 x 0.0032 x 12 = 115,200; two devices 56,064
    assert found.verdict.kind == "good"
    assert found.verdict.title == "S01 saves $59k in twelve months of its demand: $56k against $115k by API"
    assert found.verdict.decision == (
        "Approve S01 for its demand of twelve months: two devices at $4,672 in December 2026, $56,064 in all."
    )
    assert "The answer follows this demand, not the 3% utilisation at which a token is priced." in found.verdict.body[3]
    assert tiles_of(found)["Saving in twelve months"] == "$59k"
    assert report(scenario(busy_share=0.03)).verdict.kind == "bad"


@pytest.mark.parametrize("once", [None, 100_000])
@pytest.mark.parametrize("requests", [1e3, 1e6, 3e6, 2e7])
@pytest.mark.parametrize("share", [0.02, 0.45])
@pytest.mark.parametrize("price", [3.2, 25.0])
def test_headline_decision_and_saving_never_disagree(once, requests, share, price):
    row = scenario(requests_month=requests, busy_share=share, one_off_cost=once, device_cost_h=price)
    found = report(row)
    (plan,) = study_of([row], Options(today=MADE.date())).demand
    saved = plan.months[-1].saved_cost
    verdict = found.verdict
    assert verdict.kind == ("good" if saved >= 0 else "bad")
    assert verdict.title.startswith("Use the API") == (saved < 0)
    assert verdict.decision.startswith("Buy the output from the API") == (saved < 0)
    assert any(f"running it {'saves' if saved >= 0 else 'costs more by'}" in text for text in verdict.body)
    assert {tile.label for tile in found.tiles} & {"Saving in twelve months", "Dearer in twelve months"} == (
        {"Saving in twelve months"} if saved >= 0 else {"Dearer in twelve months"}
    )


# The cheapest API of the workbook


def test_an_api_of_another_row_answers_where_the_tokens_are_the_same():
    found = report(
        scenario("own", **NO_API),
        scenario("only API", **NO_HARDWARE, input_cost_m=0.1, output_cost_m=0.3, cached_cost_m=None),
    )
    # (2000 x 0.1 + 500 x 0.3) / 500 = 0.7 against 3.03 at 45%, 1.365 at full load
    assert found.verdict.title == (
        "Use the API of S02 at $0.70 per million output tokens: S01 costs $3.03 and never gets cheaper"
    )
    assert found.verdict.decision == "Buy the output from the API of S02; do not run S01."
    assert "set aside: one without a hardware price." in found.verdict.body[2]
    assert tiles_of(found)["Break-even utilisation"] == "never"
    assert tiles_of(found)["Dearer a month than the API"] == "$3.6k"


def test_a_dear_api_of_another_row_is_named_as_such():
    found = report(scenario("own", **NO_API), scenario("only API", **NO_HARDWARE))
    assert found.verdict.title == "S01 costs $3.03 per million output tokens, $3.37 below the API of S02"
    said = "The cheapest API that a row names for this mix of tokens, that of S02 (only API), charges $6.40"
    assert any(text.startswith(said) for text in found.verdict.body)


def test_an_api_for_other_tokens_says_nothing():
    found = report(scenario("own", **NO_API), scenario("only API", **NO_HARDWARE, output_tokens=400, output_cost_m=0.1))
    assert found.verdict.title == "S01 costs $3.03 per million output tokens"
    assert not any("cheapest API" in text for text in found.verdict.body)


def test_an_api_for_another_model_is_named_and_does_not_answer():
    other = scenario("small", **NO_HARDWARE, params_b=8, input_cost_m=0.1, output_cost_m=0.3, cached_cost_m=None)
    found = report(scenario("own", **NO_API), other)
    assert found.verdict.title == "S01 costs $3.03 per million output tokens"
    assert any("that of S02 (small), of another model, charges $0.70" in text for text in found.verdict.body)


def test_an_own_api_stays_unless_another_beats_the_scenario():
    cheaper = {"input_cost_m": 0.5, "output_cost_m": 2.0, "cached_cost_m": None}
    # (2000 x 0.5 + 500 x 2) / 500 = 4.0 is below the own API's 6.4 and above the own 3.03; at 0.7 it is below both.
    found = report(scenario("own"), scenario("other", device_cost_h=9, **cheaper))
    assert found.verdict.title == "S01 costs least: $3.03 per million output tokens, $3.37 below the API"
    assert any("that of S02 (other), charges $4.00" in text for text in found.verdict.body)
    found = report(scenario("own"), scenario("other", device_cost_h=9, **(cheaper | {"input_cost_m": 0.05})))
    assert found.verdict.title.startswith("Use the API of S02 at 45% utilisation: $2.20 against $3.03")
    assert found.verdict.decision == "Buy the output from the API of S02 until S01 is busy 62% of its hours."


def test_an_api_of_another_row_bills_the_year():
    rows = [scenario("own", **NO_API, requests_month=3e6), scenario("only API", **NO_HARDWARE)]
    found = comparison(study_of(rows, Options(today=MADE.date())))
    assert found.year.bill == pytest.approx(12 * 3e6 * 0.0032)
    assert found.year.saved == pytest.approx(12 * (3e6 * 0.0032 - 4672))


def test_what_lacks_a_cost_is_said_by_what_it_lacks():
    found = report(
        scenario("own"),
        scenario("only API", **NO_HARDWARE),
        scenario("yen", currency="JPY", device_cost_h=480),
        scenario("no utilisation", busy_share=None),
    )
    assert (
        "set aside: one without a hardware price, one without an exchange rate and one without a cost"
        in found.verdict.body[2]
    )


# What is no offer


def test_batches_that_miss_their_target_are_no_offer():
    changes = dict.fromkeys(("params_b", "device_bandwidth_gb_s", "device_memory_gb", "efficiency"))
    changes |= {"prefill_tokens_per_sec": None, "model": "Llama-3.1-70B", "device": "H100 SXM", "prompt_tokens": 1000}
    found = report(scenario(**changes, target_tokens_per_sec=40))
    (by_batch,) = found.money.cost.maps
    said = {row.head: row.more for row in by_batch.rows}
    rates = {
        f"{result.scenario.batch:g}": result.estimated_tokens_per_sec
        for result in study_of([scenario(**changes)]).by_batch[0]
    }
    missing = {batch for batch, rate in rates.items() if rate < 40}
    assert missing
    assert {batch for batch, words in said.items() if words == "misses its target"} == missing & set(said)
    for row in by_batch.rows:
        assert {cell.value for cell in row.cells} == {"\u2013"} if row.more else row.cells[0].value != "\u2013"
    offered = sum(not row.more for row in by_batch.rows)
    assert f" of {offered * 8} pairs" in by_batch.figure.title


def test_what_is_not_known_to_fit_is_not_counted_among_what_fits():
    unknown = scenario("unknown", device_memory_gb=None, device_cost_h=2.0)
    found = report(scenario("fits"), unknown, scenario("fits too", device_cost_h=25))
    assert found.money.bars.figure.title == "One of two scenarios that fit costs less than the API"
    assert report(unknown, unknown).money.bars.figure.title == "Both scenarios cost less than the API"


def test_devices_that_are_not_counted_have_no_cost_and_are_not_counted_among_what_fits():
    unknown = scenario(devices=None, device_bandwidth_gb_s=None, bandwidth_gb_s=6700, device_memory_gb=None)
    assert "costs" not in report(unknown).verdict.title
    found = report(scenario("fits"), unknown, scenario("fits too", device_cost_h=25))
    assert found.money.bars.figure.title == "One of two scenarios that fit costs less than the API"


# Months, currencies, days


def test_months_of_different_lengths_have_a_column():
    same = report(scenario("one"), scenario("two"))
    assert "USD per month of 730 h" in {group.label for group in same.money.cost.glance.groups}
    found = report(scenario("one"), scenario("two", hours_per_month=200))
    for table in (found.money.cost.glance, found.money.cost.lines, found.money.cost.per_unit):
        assert column(table, "Month h") == ["730", "200"]
    assert column(found.money.cost.glance, "USD per month Cost") == ["4,672", "1,280"]


def test_swings_of_prices_name_their_currency():
    euro = scenario(currency="EUR", device_cost_h=2.5, exchange_rate=1.25, exchange_day="2026-11-27")
    found = report(scenario("dollars", device_cost_h=9), euro)
    ends = {gauge.label: gauge.ends for gauge in found.money.sensitivity.tornado.rows}
    assert ends["Price per device-hour \u00b120%"] == "2 to 3 EUR"
    assert ends["Utilisation"] == "60% to 30%"
    rows = {row[0]: row[1:] for row in texts_of(found.money.sensitivity.swings)}
    assert rows["Price per device-hour \u00b120%"][::2] == ["2 EUR", "3 EUR"]


@pytest.mark.parametrize(
    ("day", "source", "said"),
    [
        ("2026-11-29", "quote", "high, typed"),
        ("2026-08-30", "quote", "high, typed"),
        ("2026-08-29", "quote", "medium, 3 months old"),
        ("2026-11-29", "", "medium, no source"),
        ("2025-11-30", "quote", "medium, 11 months old"),
        ("2025-11-29", "quote", "low, 12 months old"),
        ("2020-01-01", "quote", "low, 6 years old"),
        (None, "quote", "low, no day"),
        ("2026-11-30", "quote", "low, day after the report"),
    ],
)
def test_confidence_falls_with_age(day, source, said):
    table = report(scenario(price_day=day, price_source=source)).money.prices
    assert {row[-1] for row in texts_of(table) if row[1] == "Price per device-hour"} == {said}
    assert "less than 3 months old" in table.note


def test_whole_months():
    assert _whole_months(dt.date(2026, 1, 31), dt.date(2026, 2, 28)) == 0
    assert _whole_months(dt.date(2026, 1, 28), dt.date(2026, 2, 28)) == 1


def test_a_rate_of_a_later_day_is_said():
    found = report(scenario(), scenario(currency="EUR", exchange_rate=1.1, exchange_day="2027-11-01"))
    assert texts_of(found.money.cost.rates)[0][2] == "2027-11-01, after the report"


def test_devices_that_are_planned_too_full_are_said():
    full = scenario(requests_month=SERVED * 730 * 0.95)
    assert (
        "Its devices are then up to 95% in use on average: neither a peak nor headroom is planned for, "
        "and above 80% no wait in a queue can be promised."
    ) in report(full).money.demand.lede
    for changes in ({"headroom": 0.1}, {"peak_to_average": 1.5}, {"requests_month": SERVED * 730 * 0.75}):
        row = scenario(**({"requests_month": SERVED * 730 * 0.95} | changes))
        assert "promised" not in report(row).money.demand.lede


def test_a_break_even_near_the_whole_capacity_has_decimals():
    # 1.365475 per million at full load; the API charges as much less or more.
    for factor, said in ((1.0027, "never (100.3%)"), (0.996, "99.6%")):
        full = 6.4 * 1e6 / (6700 * 0.85 / 70 * 16 * 3600)
        row = scenario(input_cost_m=0.0, cached_cost_m=None, output_cost_m=full / factor)
        found = report_of(study_of([row]), About(MADE))
        assert column(found.money.cost.glance, "Break-even at") == [said]
        exact = re.search(r"[\d.]+%", said)[0]
        worked = next(line.line for line in found.money.worked if line.figure == "Break-even utilisation")
        assert worked.endswith(f"shown as {exact}")
        (card,) = found.cards
        assert exact in {fact.value for facts in card.money for fact in facts}


# Words beside curves


def test_words_stand_off_the_curves():
    points = tuple((n / 20, 1 / (n / 20)) for n in range(1, 21))
    chart = curve_chart(
        [Curve("S01", points), Curve("API", ((0.0, 2.0), (1.0, 2.0)), against=True)],
        [Spot(0.5, 2.0, "50%"), Spot(0.25, 4.0, "planned, 25%", planned=True)],
        "A curve",
        unit="USD",
        across="share",
        ends=(0.0, 1.0),
        most_y=8.0,
    )
    plates = [m.start() for m in re.finditer(r'<rect[^>]*height="11"', chart)]
    curves = [m.start() for m in re.finditer("<polyline", chart)]
    assert len(plates) == len(curves) == 2
    # What is drawn later covers what was drawn before.
    assert max(plates) < min(curves)
    lines = [
        [tuple(map(float, pair.split(","))) for pair in found.split()]
        for found in re.findall(r'<polyline points="([^"]+)"', chart)
    ]
    for plate in re.findall(r'<rect[^>]*height="11"[^>]*>', chart):
        x, y, wide = (float(re.search(rf'\b{key}="([^"]+)"', plate)[1]) for key in ("x", "y", "width"))
        for line in lines:
            assert not [at for at in line if x < at[0] < x + wide and y < at[1] < y + 11]
