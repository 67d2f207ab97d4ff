"""Currencies by code, sign and number format; a sign that several share is never guessed."""

from __future__ import annotations

import pytest

from planner.currencies import CODES, SIGNS, currencies_shown, currency_in, magnitude


@pytest.mark.parametrize(
    ("text", "codes", "rest"),
    [
        ("2.50 USD", ("USD",), "2.50"),
        ("USD 2.50/h", ("USD",), "2.50/h"),
        ("$2.50 USD", ("USD",), "2.50"),
        ("A$2.50", ("AUD",), "2.50"),
        ("\u20ac2,50", ("EUR",), "2,50"),
        ("2,50 \u20ac/h", ("EUR",), "2,50  /h"),
        ("Price (EUR/h)", ("EUR",), "Price (   /h)"),
        ("eur", ("EUR",), ""),
        ("5 all in", (), "5 all in"),
        ("ALL", (), "ALL"),
        ("20 GPU", (), "20 GPU"),
        ("2 Rs", ("INR", "PKR", "LKR"), "2"),
        ("20 hrs", (), "20 hrs"),
        ("300 kr", ("SEK", "NOK", "DKK"), "300"),
        ("", (), ""),
    ],
)
def test_a_currency_in_a_text(text, codes, rest):
    found, left = currency_in(text)
    assert found == codes
    assert left.split() == rest.split()


def test_a_dollar_is_the_us_one_before_others_and_a_yen_sign_is_two():
    assert currency_in("$3")[0][0] == "USD"
    assert currency_in("\u00a53")[0] == ("JPY", "CNY")


@pytest.mark.parametrize(
    ("shown", "codes"),
    [
        ("[$EUR-2] #,##0.00", ("EUR",)),
        ("[$\u20ac-407] #,##0.00", ("EUR",)),
        ("#,##0.00\\ [$\u20ac-1]", ("EUR",)),
        ("[$\u00a3-809]#,##0.00;[Red]-[$\u00a3-809]#,##0.00", ("GBP",)),
        ('_("$"* #,##0.00_);_("$"* \\(#,##0.00\\)', SIGNS["$"]),
        ("#,##0.00", ()),
        ("[$-409]mmmm d, yyyy", ()),
        ("0%", ()),
        ("General", ()),
        ("@", ()),
    ],
)
def test_a_currency_in_a_number_format(shown, codes):
    assert currencies_shown(shown) == codes


def test_every_sign_means_codes_that_there_are():
    assert {code for codes in SIGNS.values() for code in codes} <= CODES


def test_the_size_of_units():
    assert [magnitude(code) for code in ("USD", "EUR", "SEK", "JPY", "KRW", "IDR", "", "XXX")] == [
        1, 1, 10, 100, 1000, 10_000, 1, 1,
    ]  # fmt: skip
