"""Prices, currencies, shares and days as people type them into cells and headers."""

from __future__ import annotations

import datetime as dt

import pytest

from planner.headers import Cell, Grid
from planner.table import read_table

PERCENT, EURO, DOLLAR, YEN = "0%", ("EUR",), ("USD", "CAD", "AUD"), ("JPY", "CNY")


def table_with(*columns, **more):
    """A table of one scenario with these columns: header, then its cell."""
    heads = ("Weights in memory (GB)", "Aggregate bandwidth (GB/s)", *(head for head, _ in columns))
    values = (16, 1000, *(value for _, value in columns))
    rows = {
        1: {at: Cell(head) for at, head in enumerate(heads, 1)},
        2: {at: value if isinstance(value, Cell) else Cell(value) for at, value in enumerate(values, 1)},
    }
    return read_table([Grid("Scenarios", rows, **more)])


def errors(table):
    return [str(issue) for issue in table.issues if issue.severity == "error"]


@pytest.mark.parametrize(
    ("header", "value", "field", "meant", "currency"),
    [
        ("Price per device-hour (USD/h)", 2.5, "device_cost_h", 2.5, "USD"),
        ("Price per device-hour", "$2.50", "device_cost_h", 2.5, "USD"),
        ("Price per GPU hour", "2,50 \u20ac/h", "device_cost_h", 2.5, "EUR"),
        ("$/GPU-hour", 2.5, "device_cost_h", 2.5, "USD"),
        ("\u20ac per GPU-h", 2.5, "device_cost_h", 2.5, "EUR"),
        ("USD/kWh", 0.2, "tariff_cost_kwh", 0.2, "USD"),
        ("$/1M input tokens", 0.5, "input_cost_m", 0.5, "USD"),
        ("Price per device-hour", Cell(2.5, currencies=EURO), "device_cost_h", 2.5, "EUR"),
        ("Price per device-hour (money/h)", 2.5, "device_cost_h", 2.5, None),
        ("API input price ($/1M tokens)", 0.5, "input_cost_m", 0.5, "USD"),
        ("API input price (USD per 1K tokens)", 0.0005, "input_cost_m", 0.5, "USD"),
        ("API output price", "$0.60 per 1M tokens", "output_cost_m", 0.6, "USD"),
        ("API output price", "0.0006 USD per 1K tokens", "output_cost_m", 0.6, "USD"),
        ("Tariff (EUR/kWh)", 0.21, "tariff_cost_kwh", 0.21, "EUR"),
        ("Tariff", "210 \u20ac/MWh", "tariff_cost_kwh", 0.21, "EUR"),
        ("Currency", "eur", "currency", "EUR", "EUR"),
        ("Currency", "\u20ac", "currency", "EUR", "EUR"),
        ("Currency", "$", "currency", "USD", "USD"),
        ("Utilisation", Cell(0.3, percent=True), "busy_share", 0.3, None),
        ("Utilization", 30, "busy_share", 0.3, None),
        ("Growth per month", "5%", "growth_share_month", 0.05, None),
        ("Growth per month", Cell(-0.1, percent=True), "growth_share_month", -0.1, None),
        ("Headroom", 0.2, "headroom", 0.2, None),
        ("Price date", dt.datetime(2026, 11, 2), "price_day", "2026-11-02", None),
        ("Price date", "2026-11-02", "price_day", "2026-11-02", None),
        ("Useful life (years)", 4, "useful_life_years", 4.0, None),
        ("Useful life", "48 months", "useful_life_years", 4.0, None),
        ("Lead time (weeks)", 12, "lead_time_weeks", 12.0, None),
    ],
)
def test_a_good_cell_is_understood(header, value, field, meant, currency):
    table = table_with((header, value))
    assert not errors(table)
    (entry,) = table.entries
    scenario = entry.resolution.scenario
    found = getattr(scenario, field)
    assert found == (meant if isinstance(meant, str) else pytest.approx(meant))
    assert scenario.currency == currency


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            [("Price per device-hour (USD/h)", Cell(2.5, currencies=EURO))],
            "Scenarios!C2: Price per device-hour is shown in EUR under a header in USD; expected one currency.",
        ),
        (
            [("Currency", "USD"), ("Price per device-hour", Cell(2.5, currencies=EURO))],
            "Scenarios!D2: Price per device-hour is shown in EUR, but Currency is USD; expected one currency a row.",
        ),
        (
            [("Price per device-hour", "$2.5"), ("API input price", "\u20ac0.5")],
            "Scenarios!D2: API input price is shown in EUR, but Price per device-hour in USD",
        ),
        (
            [("Price per device-hour", Cell(400, currencies=YEN))],
            "Scenarios!C2: Price per device-hour is in JPY or CNY: they share a sign; expected the currency's code in a "
            "column Currency.",
        ),
        (
            [("Currency", "\u00a5")],
            "Scenarios!C2: Currency is '\u00a5', which may be JPY or CNY; expected a currency's code such as USD, EUR or "
            "JPY.",
        ),
        (
            [("Currency", "Euros?")],
            "Scenarios!C2: Currency is 'Euros?'; expected a currency's code such as USD, EUR or JPY.",
        ),
        (
            [("Utilisation", 0)],
            "Scenarios!C2: Utilisation is 0; expected a ratio above 0 to 1, or 10 to 100 for percent.",
        ),
        (
            [("Utilisation", 5)],
            "Scenarios!C2: Utilisation is 5; expected a ratio above 0 to 1, or 10 to 100 for percent.",
        ),
        (
            [("Growth per month", 5)],
            "Scenarios!C2: Growth per month is 5; expected a ratio from -0.9 to 1, such as 0.05, or a percentage such as "
            "5%.",
        ),
        (
            [("Prices of", "02/11/2026")],
            "Scenarios!C2: Prices of is '02/11/2026'; expected a date such as 2026-11-29.",
        ),
        ([("Prices of", 45_963)], "Scenarios!C2: Prices of is 45963, not a date; expected a date such as 2026-11-29."),
        ([("PUE", 0.9)], "Scenarios!C2: PUE is 0.9; expected a number of at least 1 and of at most 5."),
        ([("Hours per month", 8760)], "Scenarios!C2: Hours per month is 8,760 h; expected"),
        ([("Price per device-hour", -2)], "Scenarios!C2: Price per device-hour is -2"),
    ],
)
def test_a_bad_cell_is_named_with_what_is_wrong(columns, message):
    (found,) = errors(table_with(*columns))
    assert found.startswith(message)


def test_a_yen_that_the_currency_column_names_stands():
    table = table_with(("Currency", "CNY"), ("API input price", Cell(3, currencies=YEN)), ("API output price", 12))
    (entry,) = table.entries
    assert not errors(table)
    assert (entry.resolution.scenario.currency, entry.resolution.scenario.input_cost_m) == ("CNY", 3)


@pytest.mark.parametrize("header", ["Price", "Hourly price", "Cost per hour", "Price ($/h)"])
def test_a_price_that_may_be_a_devices_or_an_instances_is_asked_about(header):
    (found,) = errors(table_with((header, 3.14)))
    assert "one device's price or a whole instance's" in found


@pytest.mark.parametrize("header", ["Capex", "Hosting", "Licenses", "Support"])
def test_a_cost_that_may_be_of_one_device_or_of_all_is_asked_about(header):
    (found,) = errors(table_with((header, 3000)))
    assert "or that of all" in found


def test_the_rows_that_are_good_run_beside_those_that_are_not():
    heads = ("Weights in memory (GB)", "Aggregate bandwidth (GB/s)", "Price per device-hour (USD/h)", "Utilisation")
    values = [(16, 1000, 2.5, 0.5), (16, 1000, "lots", 0.5), (16, 1000, 98, 0.5)]
    rows = {
        row: {at: Cell(value) for at, value in enumerate(cells, 1)} for row, cells in enumerate((heads, *values), 1)
    }
    table = read_table([Grid("Scenarios", rows)])
    assert len(table.entries) == 1
    assert [issue.cell for issue in table.issues if issue.severity == "error"] == ["C3", "C4"]


def test_a_text_in_another_currency_than_its_header_is_asked_about():
    (found,) = errors(table_with(("Price per GPU-hour (USD)", "2.50 EUR")))
    assert found == "Scenarios!C2: Price per device-hour is in EUR where USD is shown; expected one currency."
