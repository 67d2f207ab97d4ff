import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.quantities import Readings, read_quantity

GROUPING = "a point or comma that may group thousands or start decimals"


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("3350", 3350, ""),
        ("  3350  ", 3350, ""),
        ("3350 GB/s", 3350, "GB/s"),
        ("3.35TB/s", 3.35, "TB/s"),
        ("3,35 TB/s", 3.35, "TB/s"),
        ("TB/s 3.35", 3.35, "TB/s"),
        ("3350\nGB/s", 3350, "GB/s"),
        ("70B", 70, "B"),
        ("85 %", 85, "%"),
        ("85%", 85, "%"),
        ("% 85", 85, "%"),
        ("0.85", 0.85, ""),
        ("0,85", 0.85, ""),
        (".5", 0.5, ""),
        (",5", 0.5, ""),
        # nobody groups a leading zero
        ("0.850", 0.85, ""),
        ("0,850", 0.85, ""),
        ("00,850", 0.85, ""),
        # two kinds of marks: the last one starts the decimals
        ("1,008.5", 1008.5, ""),
        ("1.008,5", 1008.5, ""),
        ("1.355,90 EUR", 1355.9, "EUR"),
        ("1,234,567.8", 1234567.8, ""),
        # a mark used twice groups
        ("1,234,567", 1234567, ""),
        ("1.234.567", 1234567, ""),
        # blanks and apostrophes group as well
        ("1 008", 1008, ""),
        ("1\u00a0008 GB/s", 1008, "GB/s"),
        ("1\u202f008", 1008, ""),
        ("1\u2009008", 1008, ""),
        ("1'008", 1008, ""),
        ("1\u2019008'500", 1008500, ""),
        ("1 008.5", 1008.5, ""),
        ("1'008,5", 1008.5, ""),
        ("12 345 678", 12345678, ""),
        ("1e3", 1000, ""),
        ("1E3 GB/s", 1000, "GB/s"),
        ("1e+3", 1000, ""),
        ("2.5e-3", 0.0025, ""),
        ("1,234.5e2", 123450, ""),
        ("+5", 5, ""),
        ("-5", -5, ""),
        ("\u22125", -5, ""),
        ("\u20135 GB", -5, "GB"),
        ("-3,35", -3.35, ""),
        ("-1,234.5", -1234.5, ""),
        ("+1.234,5", 1234.5, ""),
        # digits of other scripts are digits
        ("\u0663\u0663\u0665\u0660", 3350, ""),
        ("\uff13\uff13\uff15\uff10", 3350, ""),
        ("1e400", math.inf, ""),
    ],
)
def test_a_text_with_one_reading(text, value, unit):
    assert read_quantity(text) == Readings((value,), unit)


@pytest.mark.parametrize(
    ("text", "values", "unit", "why"),
    [
        ("3,350", (3.35, 3350), "", GROUPING),
        ("3.350", (3.35, 3350), "", GROUPING),
        ("-3,350", (-3.35, -3350), "", GROUPING),
        ("12.345 tokens", (12.345, 12345), "tokens", GROUPING),
        ("1.008e3", (1008, 1008000), "", GROUPING),
        ("128k", (128_000, 131_072), "", "k as 1,000 or as 1,024"),
        ("128 K", (128_000, 131_072), "", "k as 1,000 or as 1,024"),
        ("1.5k", (1_500, 1_536), "", "k as 1,000 or as 1,024"),
        ("20-30", (20, 30), "", "a range"),
        ("20\u201330 users", (20, 30), "", "a range"),
        ("20 to 30", (20, 30), "", "a range"),
        ("20 ~ 30", (20, 30), "", "a range"),
        ("20 bis 30", (20, 30), "", "a range"),
        ("Entre 10 y 15", (10, 15), "", "a range"),
        ("de 10 à 15", (10, 15), "", "a range"),
        ("528 tokens + 550 tokens", (528, 550), "", "a sum"),
        ("528 +550", (528, 550), "", "a sum"),
        ("100 or 200", (100, 200), "", "several numbers"),
        ("2 x 3350", (2, 3350), "", "several numbers"),
        ("2x3350", (2, 3350), "", "several numbers"),
        ("2*3350", (2, 3350), "", "several numbers"),
        ("1/2", (1, 2), "", "several numbers"),
        ("10^3", (10, 3), "", "several numbers"),
        ("640 GB (40GB) or 1.28 TB (80GB)", (640, 40, 1.28, 80), "", "several numbers"),
        ("\u0663\u066c\u0663\u0665\u0660", (3, 350), "", "several numbers"),
    ],
)
def test_a_text_with_several_readings_says_why(text, values, unit, why):
    assert read_quantity(text) == Readings(values, unit, why)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        ".",
        ",",
        "..",
        "-",
        "eight",
        "inf",
        "nan",
        "-inf",
        "Infinity",
        "TRUE",
        "H100",
        "k",
        "\u00bd",
        "1..2",
        "1,,2",
        "10 08",
        "1 2 3",
        "1,00,800",
        "3.350.5",
        "1,234,5",
        "1,234.567,8",
        "1,234.5.6",
        "12,34.5",
        "31.12.2025",
        "20..30",
        # a blank after the decimals is no grouping: two numbers stand there
        "1.5 16",
        "3,350 2",
        "1,008 500",
        "1.000 000",
        "0.85 1",
        "1' 008",
        # text on both sides
        "H100 80GB",
        "about 3350 GB/s",
    ],
)
def test_a_text_without_a_reading(text):
    assert read_quantity(text).values == ()


@pytest.mark.parametrize(
    "text", ["9" * 400, "9" * 5000, "x" * 5000, "1" + ",000" * 200, "." * 5000, "-" * 5000, "1 " * 999]
)
def test_very_long_texts_are_read_or_refused_at_once(text):
    assert len(read_quantity(text).values) <= 1


@given(st.text(max_size=40))
def test_any_text_is_read_without_failing(text):
    found = read_quantity(text)
    assert all(isinstance(value, float) and not math.isnan(value) for value in found.values)
    assert bool(found.why) == (len(found.values) > 1) or not found.values


@given(st.text(alphabet="0123456789.,' -+eEkxG\u00a0\u2212", max_size=12))
def test_any_run_of_number_marks_is_read_without_failing(text):
    for value in read_quantity(text).values:
        assert isinstance(value, float)


@given(st.one_of(st.floats(min_value=1e-50, max_value=1e50), st.floats(min_value=-1e50, max_value=-1e-50)))
def test_a_number_as_python_writes_it_keeps_its_value(number):
    assert pytest.approx(number, rel=1e-15) in read_quantity(repr(number)).values


@given(st.integers(min_value=0, max_value=10**12), st.sampled_from([" ", "\u00a0", "\u202f", "\u2009", "'", "\u2019"]))
def test_thousands_grouped_without_point_or_comma_have_one_reading(number, mark):
    assert read_quantity(f"{number:,}".replace(",", mark)).values == (float(number),)


@given(st.integers(min_value=1_000, max_value=999_999), st.sampled_from([",", "."]))
def test_one_group_of_three_is_never_guessed(number, mark):
    values = read_quantity(f"{number:,}".replace(",", mark)).values
    assert values == (pytest.approx(number / 1_000), float(number))
