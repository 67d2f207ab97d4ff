"""One currency of comparison: amounts are converted by a rate with its day, and else stand apart."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from planner.issues import Severity
from planner.plan.purse import Purse, purse_of
from planner.plan.scenario import Scenario
from planner.plan.study import Options, study_of
from planner.settings import Settings

PRICED = Scenario(
    name="priced",
    model="Llama-3.1-8B",
    device="H100 SXM",
    precision="FP8",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    device_cost_h=2.5,
    busy_share=0.5,
)


def priced(**changes):
    return dataclasses.replace(PRICED, **changes)


def said(study):
    return [(issue.severity, issue.field, issue.problem) for issue in study.issues if issue.code == "currency"]


def test_the_first_currency_that_a_priced_row_names_is_that_of_comparison():
    assert purse_of([PRICED, priced(currency="EUR"), priced(currency="USD")]).code == "EUR"
    assert purse_of([Scenario(currency="EUR"), priced(currency="USD")]).code == "USD"
    assert purse_of([priced(currency="EUR")], "USD").code == "USD"
    assert purse_of([PRICED]) == Purse()


def test_a_row_without_a_currency_takes_the_only_one_named():
    study = study_of([PRICED, priced(currency="EUR")])
    assert [study.purse.own(case.result.scenario) for case in study.cases] == ["EUR", "EUR"]
    assert not said(study)


def test_a_rate_and_its_day_convert():
    # 300 at 95.32 are 28,596.
    study = study_of(
        [
            priced(currency="INR", device_cost_h=300),
            priced(currency="USD", exchange_rate=95.32, exchange_day="2026-11-02"),
        ]
    )
    one, other = (case.result for case in study.cases)
    assert study.purse.amount(other, "monthly_cost") == pytest.approx(95.32 * other.monthly_cost)
    assert study.purse.amount(one, "monthly_cost") == one.monthly_cost
    assert study.purse.of(other.scenario, 300) == pytest.approx(28_596)
    rate = study.purse.rate(other.scenario)
    assert (rate.own, rate.to, rate.rate, rate.day) == ("USD", "INR", 95.32, "2026-11-02")
    assert not said(study)
    # 300 INR an hour are some 3.15 USD: dearer than 2.5.
    assert study.recommendation.best is other


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        (
            {},
            "exchange_rate",
            "Prices are in EUR, the comparison is in USD, and an exchange rate is missing, so they are not compared",
        ),
        (
            {"exchange_rate": 1.1},
            "exchange_day",
            "Prices are in EUR, the comparison is in USD, and the day of the exchange rate is missing, so they are not "
            "compared",
        ),
    ],
)
def test_without_a_rate_or_its_day_a_row_is_not_compared(changes, field, problem):
    cheap = priced(currency="EUR", device_cost_h=0.5, **changes)
    study = study_of([priced(currency="USD"), cheap])
    assert said(study) == [(Severity.WARNING, field, problem)]
    other = study.cases[1].result
    assert other.cost_per_m_tokens is not None
    assert study.purse.amount(other, "cost_per_m_tokens") is None
    assert study.recommendation.best is study.cases[0].result
    assert study.recommendation.compared == 1


def test_a_blank_currency_beside_two_named_is_asked_for():
    study = study_of(
        [priced(currency="USD"), priced(currency="EUR", exchange_rate=1.1, exchange_day="2026-11-02"), PRICED]
    )
    assert said(study) == [
        (
            Severity.WARNING,
            "currency",
            "Currency is blank beside rows in USD and EUR, so its amounts are not compared",
        )
    ]


def test_a_rate_that_is_not_needed_is_said():
    (found,) = said(study_of([priced(currency="USD", exchange_rate=1.1, exchange_day="2026-11-02")]))
    assert found[0] is Severity.NOTE
    assert "is not used" in found[2]


def test_no_currency_at_all_is_noted_once():
    (found,) = said(study_of([PRICED, PRICED]))
    assert found == (Severity.NOTE, "currency", "No currency is named, so amounts stand without one")


def test_the_wanted_currency_decides():
    study = study_of([priced(currency="USD")], settings=Settings(currency="EUR"))
    assert study.purse.code == "EUR"
    assert study.recommendation.best is study.cases[0].result
    assert not study.recommendation.by_cost


def test_a_rate_that_leads_elsewhere_converts_nothing():
    other = priced(currency="EUR", exchange_rate=1.08, exchange_day="2026-11-02", exchange_currency="USD")
    study = study_of([priced(currency="USD", device_cost_h=9), other])
    assert study.purse.code == "USD"
    assert study.recommendation.best is study.cases[1].result
    pounds = study_of([priced(currency="GBP"), other], settings=Settings(currency="GBP"))
    assert pounds.purse.amount(pounds.cases[1].result, "monthly_cost") is None
    assert said(pounds)[0][2] == (
        "The exchange rate leads to USD, the comparison is in GBP, so amounts are not compared"
    )


def test_a_rate_into_a_currency_that_no_row_names_is_asked_about():
    other = priced(currency="EUR", exchange_rate=0.86, exchange_day="2026-11-02")
    study = study_of([other], settings=Settings(currency="GBP"))
    assert said(study) == [
        (
            Severity.WARNING,
            "exchange_currency",
            "The exchange rate does not say into which currency; it is taken as EUR to GBP",
        )
    ]


def test_the_currency_of_comparison_is_one_that_needs_no_rate():
    eur = priced(currency="EUR", exchange_rate=1.08, exchange_day="2026-11-02")
    for rows in ([eur, priced(currency="USD")], [priced(currency="USD"), eur]):
        assert study_of(rows).purse.code == "USD"


def test_a_rate_the_wrong_way_round_is_asked_about():
    study = study_of(
        [
            priced(currency="USD"),
            priced(currency="INR", device_cost_h=250, exchange_rate=95.32, exchange_day="2026-11-02"),
        ]
    )
    assert said(study) == [
        (
            Severity.WARNING,
            "exchange_rate",
            "95.32 USD for one INR is far from any known rate (the other way round it is 0.010491), so amounts are not "
            "compared",
        )
    ]
    assert study.purse.amount(study.cases[1].result, "monthly_cost") is None


def test_two_rates_of_the_same_currencies_are_asked_about():
    rows = [
        priced(currency="USD"),
        *(priced(currency="EUR", exchange_rate=rate, exchange_day="2026-11-02") for rate in (1.08, 1.081, 0.92)),
    ]
    assert [problem for _, _, problem in said(study_of(rows))] == ["One EUR is 0.92 USD here and 1.08 in a row above"]


def test_a_wanted_currency_relabels_no_price_in_silence():
    study = study_of([PRICED], settings=Settings(currency="INR"))
    assert said(study) == [(Severity.WARNING, "currency", "No row names its currency, so prices are taken as INR")]


def test_a_day_to_come_is_asked_about():
    rows = [priced(currency="USD", price_day="2027-11-01"), priced(currency="USD", price_day="2026-11-01")]
    study = study_of(rows, Options(today=dt.date(2026, 11, 29)))
    (issue,) = (issue for issue in study.issues if issue.code == "day-ahead")
    assert (issue.field, issue.problem) == ("price_day", "Prices of is 2027-11-01, a day to come")
