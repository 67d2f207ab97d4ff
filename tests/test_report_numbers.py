"""How a locale writes numbers, dates and money, and that it changes no digit."""

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import columns
from planner.plan.study import study_of
from planner.report.model import About, report_of
from planner.report.numbers import (
    as_percent,
    compact_money,
    date,
    in_text,
    money,
    plain,
    rounded,
    span,
    written_as,
)
from planner.report.render import to_html
from planner.settings import Settings
from planner.workbook.starter import SAMPLE

N = "\u00a0"
DAY = dt.date(2026, 11, 29)


@pytest.mark.parametrize(
    ("locale", "number", "percent", "owed", "day"),
    [
        ("en", "1,234,567.89", "33%", "(€1,234.50)", "2026-11-29"),
        ("en-US", "1,234,567.89", "33%", "(€1,234.50)", f"Nov{N}29,{N}2026"),
        ("de", "1.234.567,89", f"33{N}%", f"(1.234,50{N}€)", "29.11.2026"),
        ("fr", f"1{N}234{N}567,89", f"33{N}%", f"(1{N}234,50{N}€)", f"29{N}nov.{N}2026"),
        ("ja", "1,234,567.89", "33%", "(€1,234.50)", "2026/11/29"),
        ("ar", "1,234,567.89", "33%", f"(1,234.50{N}€)", "29/11/2026"),
        ("en-IN", "12,34,567.89", "33%", "(€1,234.50)", f"29{N}Nov{N}2026"),
        ("de-CH", "1’234’567.89", "33%", f"(EUR{N}1’234.50)", "29.11.2026"),
    ],
)
def test_each_locale(locale, number, percent, owed, day):
    with written_as(locale):
        assert rounded(1234567.891, 2).replace("'", "’") == number
        assert as_percent(0.325) == percent
        assert money(-1234.5, "EUR").replace("'", "’") == owed
        assert date(DAY) == day


@pytest.mark.parametrize(
    ("value", "currency", "text"),
    [
        (-0.004, "USD", "$0.00"),
        (-0.005, "USD", "($0.01)"),
        (0, "USD", "$0.00"),
        (-1234.5, "JPY", "(¥1,235)"),
        (-1.2345, "BHD", f"(BHD{N}1.235)"),
        (-2.5, "", "(2.50)"),
        (None, "USD", ""),
        (float("inf"), "USD", "inf"),
    ],
)
def test_negatives_stand_in_parentheses(value, currency, text):
    assert money(value, currency) == text


def test_compact_amounts():
    assert compact_money(-38976, "USD") == "($39k)"
    with written_as("de"):
        assert compact_money(-2_450_000, "EUR") == f"(2,5M{N}€)"


def test_the_locale_holds_within_its_block_alone():
    with written_as("de"), written_as("fr"):
        assert plain(1234.5) == f"1{N}234,5"
    with pytest.raises(ValueError, match="of ours"), written_as("de"):
        raise ValueError("of ours")
    assert plain(1234.5) == "1,234.5"


def test_names_in_a_text_keep_their_digits():
    with written_as("de"):
        said = in_text("1,000 tokens at Q4_K_M, 4.85 bits, v1.2.3, H100, 1,5 and 90% of 80.")
    assert said == f"1.000 tokens at Q4_K_M, 4,85 bits, v1.2.3, H100, 1,5 and 90{N}% of 80."


@given(
    st.floats(-1e15, 1e15, allow_nan=False),
    st.integers(0, 4),
    st.sampled_from(["de", "fr", "ja", "ar", "en-IN", "sv", "de-CH", "es", "fa"]),
)
def test_no_locale_changes_a_digit(value, decimals, locale):
    english = columns.rounded(value, decimals)
    with written_as(locale):
        said = rounded(value, decimals)
        low_to_high = span(value, value * 2 + 1)
    assert re.findall(r"\d", said) == re.findall(r"\d", english)
    assert re.findall(r"\d", low_to_high) == re.findall(r"\d", columns.span(value, value * 2 + 1))
    assert said.isascii() or not any(char.isdigit() and not char.isascii() for char in said)


def texts_of(locale):
    """Every text of a report that has a digit, in order."""
    study = study_of(SAMPLE)
    with written_as(locale):
        html = to_html(report_of(study, About(dt.datetime(2026, 11, 29, tzinfo=dt.UTC), Settings(locale=locale))))
    texts = re.sub(r"<style>.*?</style>|<[^>]*>", "|", html, flags=re.DOTALL).split("|")
    return [text for text in map(str.strip, texts) if re.search(r"\d", text)]


def test_a_report_has_the_same_digits_in_every_locale():
    english, german = texts_of("en"), texts_of("de-DE")
    number = re.compile(r"\d|\d[\d.,]*\d")
    shown = [text for text in english if number.fullmatch(text)]
    assert len(shown) > 500
    swap = str.maketrans(".,", ",.")
    date = re.compile(r"\d\d\.\d\d\.\d{4}")
    said = [text for text in german if number.fullmatch(text) and not date.fullmatch(text)]
    assert said == [text.translate(swap) for text in shown]
    # Heads of the speed table are texts that the study makes.
    heads = [text for text in german if re.fullmatch(r"[\d.,]+( x [\d.,]+)? GB/s in all", text)]
    assert heads == ["3.350 GB/s in all"]
