"""What an argument's text means, and which numbers an argument takes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.columns import Number, PrecisionName, Ratio, Text
from planner.guards import accepts, excel_ok, excel_value, meant, number_lambda, number_of, plain_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("140", 140), ("-140", -140), ("+7", 7), (" 1 400 ", 1400), ("1\u00a0400", 1400), ("0,85", 0.85), ("0.850", 0.85),
        ("12.5", 12.5), ("12,5", 12.5), (".5", 0.5), ("5.", 5), ("1234.125", 1234.125), ("3.350", None), ("3,350", None),
        ("-3,350", None), ("1.2.3", None), ("1,234.5", None), ("", None), (".", None), ("-", None), ("1e3", None),
        ("0x10", None), ("\u0663", None), ("12 GB", None), ("inf", None), ("nan", None), ("1/2/2020", None), ("$12", None),
        ("--5", None), ("5-", None),
    ],
)  # fmt: skip
def test_plain_numbers(text, number):
    assert plain_number(text) == number


@given(st.floats(min_value=1e-3, max_value=1e9, allow_nan=False))
def test_a_number_written_out_is_that_number_or_has_two_readings(value):
    text = f"{value:.4f}"
    assert plain_number(text) == float(text)


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("85%", 0.85),
        ("85 %", 0.85),
        ("0,5%", 0.005),
        ("85", 85),
        ("0.85", 0.85),
        ("1500%", None),
        ("%", None),
        ("x%", None),
    ],
)
def test_ratios(text, ratio):
    assert number_of(Ratio(), text) == ratio


def test_percent_typed_as_a_number_is_meant_as_percent():
    assert meant(Ratio(), np.array([0.85, 85.0, 10.0, 9.9, 100.0])).tolist() == [0.85, 0.85, 0.1, 9.9, 1.0]


@pytest.mark.parametrize(
    ("rule", "values", "good"),
    [
        (Number(above=0), [1, 0, -1, np.inf, np.nan], [True, False, False, False, False]),
        (Number(least=1, most=9, whole=True), [1, 9, 10, 0, 2.5], [True, True, False, False, False]),
        (Number(least=0), [0, 1e-16, -1e-16, 1, -1, np.inf, np.nan], [True, False, False, True, *[False] * 3]),
        (Number(above=0, below=1), [0, 0.5, 0.999, 1, 12, np.nan], [False, True, True, *[False] * 3]),
        (Ratio(), [0.01, 1, 1.01, 0, -0.5], [True, True, False, False, False]),
        (PrecisionName(), [1, 64, 0.9, 65, np.nan], [True, True, False, False, False]),
    ],
)
def test_which_numbers_are_accepted(rule, values, good):
    assert accepts(rule, np.array(values, dtype=float)).tolist() == good


def test_guards_in_excel_are_nested_ifs():
    assert excel_ok(Number(above=0, least=1, most=9, whole=True), "x") == (
        "IF(ISNUMBER(x),IF(ABS(x)<=1E+15,IF(ABS(x)>=1E-15,IF(x>0,IF(x>=1,IF(x<=9,(x=INT(x)),FALSE),FALSE),FALSE),FALSE),"
        "FALSE),FALSE)"
    )
    assert excel_value(Number(), "x") == "PLANNER_NUMBER(x)"
    for text in (number_lambda(), excel_ok(Ratio(), "x"), excel_ok(PrecisionName(), "x")):
        # Over a range AND and OR collapse to one answer.
        assert not re.search(r"\b(AND|OR)\(", text)


def test_a_text_column_guards_no_argument():
    with pytest.raises(TypeError):
        accepts(Text(), np.array([1.0]))
    with pytest.raises(TypeError):
        excel_ok(Text(), "x")
