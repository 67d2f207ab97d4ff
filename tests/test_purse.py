"""One currency of comparison: amounts are converted by a rate with its day, and else stand apart."""

from __future__ import annotations

import dataclasses

import pytest

from planner.issues import Severity
from planner.plan.purse import Purse, purse_of
from planner.plan.scenario import Scenario
from planner.plan.study import Options, study_of

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
    study = study_of([priced(currency="USD")], Options(currency="EUR"))
    assert study.purse.code == "EUR"
    assert study.recommendation.best is study.cases[0].result
    assert not study.recommendation.by_cost
