import datetime as dt
import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import catalog
from planner.columns import (
    BadValueError,
    Column,
    Number,
    PrecisionName,
    Ratio,
    Text,
    Typed,
    columns_of,
    echo,
    header,
    number_format,
    read_value,
    rounded,
    shown,
)
from planner.plan.scenario import COLUMNS, FIGURES

# A whole number that no float can hold.
HUGE = 10**400


def read(name, value, *, percent=False, factor=1.0):
    return read_value(name, COLUMNS[name], Typed(value, percent, factor))


def refusal(name, value, **how):
    with pytest.raises(BadValueError) as caught:
        read(name, value, **how)
    assert str(caught.value) == caught.value.problem
    return caught.value


@pytest.mark.parametrize(
    ("rule", "accepted"),
    [
        (Number(), "a number"),
        (Number(above=0), "a number above 0"),
        (Number(least=1, whole=True), "a whole number of at least 1"),
        (Number(above=0, most=10), "a number above 0 and of at most 10"),
        (Number(above=0, below=1), "a number above 0 and below 1"),
        (Number(least=0), "a number of at least 0"),
        (Ratio(), "a ratio above 0 to 1, or 10 to 100 for percent"),
        (PrecisionName(), "a precision such as FP16, FP8, INT4, Q4_K_M, or bits per weight from 1 to 64"),
        (Text(), "text"),
    ],
)
def test_a_rule_says_what_it_accepts(rule, accepted):
    assert rule.accepted == accepted


@pytest.mark.parametrize(("value", "fine"), [(0, False), (0.5, True), (0.999999, True), (1, False), (1.2, False)])
def test_a_limit_below_is_not_accepted_itself(value, fine):
    column = Column("Utilisation", Number(above=0, below=1))
    if fine:
        assert read_value("utilisation", column, Typed(value)).value == value
    else:
        with pytest.raises(BadValueError, match=f"Utilisation is {value}"):
            read_value("utilisation", column, Typed(value))


@pytest.mark.parametrize(("value", "fine"), [(0, False), (1e-9, True), (10, True), (10.000001, False), (-1, False)])
def test_limits_hold_at_their_boundaries(value, fine):
    column = Column("Thing", Number(above=0, most=10))
    if fine:
        assert read_value("thing", column, Typed(value)).value == value
    else:
        with pytest.raises(BadValueError, match="Thing is"):
            read_value("thing", column, Typed(value))


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if isinstance(column.rule, Number)])
@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        pytest.param(HUGE, id="huge"),
        pytest.param(-HUGE, id="-huge"),
        1e300,
        1e16,
        "1e400",
    ],
)
def test_a_number_column_refuses_what_no_figure_can_be(name, value):
    if value == 0 and COLUMNS[name].rule.least == 0:
        # Of some things there may be none.
        assert read_value(name, COLUMNS[name], Typed(value)).value == 0
        return
    bad = refusal(name, value)
    assert bad.problem.startswith(f"{COLUMNS[name].label} is ")
    assert COLUMNS[name].rule.accepted in bad.accepted


@pytest.mark.parametrize("name", ["params_b", "weights_gb", "bandwidth_gb_s", "prefill_tokens_per_sec"])
def test_figures_so_small_or_large_that_products_would_vanish_or_overflow_are_refused(name):
    assert "beyond any real figure" in refusal(name, 5e-324).problem
    assert "beyond any real figure" in refusal(name, 1e308).problem
    assert read(name, 1e-15).value == 1e-15
    # a thousand times the likely range is a slip of the unit, such as bytes for GB
    largest = COLUMNS[name].rule.likely[1] * 1000
    assert read(name, largest).value == largest
    assert "beyond any real figure" in refusal(name, largest * 1.01).problem


@pytest.mark.parametrize("name", list(COLUMNS))
def test_truth_values_are_no_value_of_any_column_but_text(name):
    if type(COLUMNS[name].rule) is Text:
        assert read(name, True).value == "TRUE"
        return
    label = COLUMNS[name].label
    assert refusal(name, True).problem == f"{label} is TRUE, a truth value"
    assert refusal(name, False).problem == f"{label} is FALSE, a truth value"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (dt.date(2026, 3, 5), "2026-03-05"),
        (dt.datetime.fromisoformat("2026-03-05 01:02:00"), "2026-03-05 01:02:00"),
        (dt.time(1, 2), "01:02:00"),
        (dt.timedelta(days=1), "1 day, 0:00:00"),
    ],
)
def test_dates_and_times_are_text_and_never_numbers(value, said):
    # Excel turns '3-5' into the fifth of March.
    for name in ("batch", "efficiency", "precision", "weights_gb"):
        assert refusal(name, value).problem == f"{COLUMNS[name].label} is a date or time ({said})"
    assert read("name", value).value == said
    assert not read("name", value).plain


@pytest.mark.parametrize(
    ("value", "text", "plain"),
    [
        ("Llama", "Llama", True),
        ("  Llama\u00a0", "Llama", False),
        (5, "5", False),
        (5.0, "5", False),
        (5.5, "5.5", False),
        ("=HYPERLINK(1)", "=HYPERLINK(1)", True),
        (math.inf, "inf", False),
    ],
)
def test_text_columns_take_any_text_or_number(value, text, plain):
    understood = read("name", value)
    assert (understood.value, understood.plain) == (text, plain)


def test_a_very_long_number_as_a_name_does_not_fail():
    assert read("name", 10**5000).value == "inf"


# Efficiency and occupancy: above 0 to 1 is the ratio, 10 to 100 percent, anything else an error.


@pytest.mark.parametrize("name", ["efficiency", "occupancy"])
@pytest.mark.parametrize(
    ("value", "percent"),
    [
        (0.85, False),
        (0.85, True),
        (85, False),
        (85.0, False),
        ("85 %", False),
        ("85%", False),
        ("85\u00a0%", False),
        ("%85", False),
        ("85 percent", False),
        ("85 pct", False),
        ("85,0 %", False),
        ("0,85", False),
        ("0.85", False),
        (".85", False),
        ("85", False),
        ("85", True),
        ("\u0668\u0665", False),
        ("85e-2", False),
        (Decimal("0.85"), False),
    ],
)
def test_every_way_to_write_85_percent_means_it(name, value, percent):
    assert read(name, value, percent=percent).value == 0.85


@pytest.mark.parametrize(
    ("value", "ratio"),
    [(1, 1), (1.0, 1), (10, 0.1), (100, 1), (1e-15, 1e-15), ("1%", 0.01), ("0.85%", 0.0085), ("100 %", 1), ("10", 0.1)],
)
def test_ratio_boundaries(value, ratio):
    assert read("efficiency", value).value == pytest.approx(ratio, rel=1e-12)


def test_only_a_cell_that_holds_the_ratio_itself_is_plain():
    assert read("efficiency", 0.85).plain
    assert read("efficiency", 0.85, percent=True).plain
    assert not read("efficiency", 85).plain
    assert not read("efficiency", "0.85").plain


@pytest.mark.parametrize(
    ("value", "percent", "said"),
    [
        (1.2, False, "1.2"),
        (850, False, "850"),
        (0, False, "0"),
        (5, False, "5"),
        (9.99, False, "9.99"),
        (100.5, False, "100.5"),
        (-0.5, False, "-0.5"),
        (-85, False, "-85"),
        (85, True, "8500%"),
        (1.2, True, "120%"),
        (0, True, "0%"),
        (-0.1, True, "-10%"),
        (math.inf, False, "inf"),
        (math.nan, False, "nan"),
        pytest.param(HUGE, False, "inf", id="huge"),
        ("1.2", False, "'1.2'"),
        ("0 %", False, "'0 %'"),
        ("101%", False, "'101%'"),
        ("80-90 %", False, "'80-90 %'"),
        ("1,000", False, "'1,000'"),
        ("85.500", False, "'85.500'"),
        ("85 GB", False, "'85 GB'"),
        ("85%%", False, "'85%%'"),
        ("~85%", False, "'~85%'"),
        ("x", False, "'x'"),
        ("inf", False, "'inf'"),
        ("nan", False, "'nan'"),
    ],
)
def test_what_is_no_ratio_is_refused(value, percent, said):
    bad = refusal("efficiency", value, percent=percent)
    assert bad.problem == f"Efficiency is {said}"
    assert bad.accepted == "a ratio above 0 to 1, or 10 to 100 for percent"


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_number_is_a_ratio_within_bounds_or_refused(value):
    try:
        understood = read("efficiency", value)
    except BadValueError:
        assert not 1e-15 <= value <= 1
        assert not 10 <= value <= 100
    else:
        assert 0 < understood.value <= 1
        assert understood.value == (value if value <= 1 else value / 100)


# Precision names.


@pytest.mark.parametrize("precision", catalog.precisions(), ids=lambda p: p.name)
def test_every_known_precision_is_read_however_it_is_written(precision):
    for spelling in (precision.name, *precision.aliases):
        for written in (
            spelling,
            spelling.lower(),
            f" {spelling} ",
            spelling.replace("_", "-"),
            f"{spelling[:2]} {spelling[2:]}",
        ):
            understood = read("precision", written)
            assert understood.value == precision.name
            # Only planner's own spelling is plain: a reference must show just the value that is stored.
            assert understood.plain == (written == precision.name)


@pytest.mark.parametrize("blank", ["\u00a0", "\t", "\n", "\u2009"])
def test_a_precision_with_a_blank_that_excel_keeps_is_read_but_not_plain(blank):
    # A LAMBDA would not find the cell's text in its table, so the sheet must not refer to the cell.
    understood = read("precision", f"FP{blank}16")
    assert understood.value == "FP16"
    assert not understood.plain


@pytest.mark.parametrize(
    ("value", "bits", "plain"),
    [
        (4.85, "4.85", True),
        (16, "16", True),
        (16.0, "16", True),
        (1, "1", True),
        (64, "64", True),
        (16 / 3, repr(16 / 3), True),
        (4.8499999999, "4.8499999999", True),
        ("16", "16", False),
        ("16 bits", "16", False),
        ("4,85 bpw", "4.85", False),
        ("1e1", "10", False),
    ],
)
def test_bits_per_weight_may_be_typed_and_keep_all_their_digits(value, bits, plain):
    understood = read("precision", value)
    assert (understood.value, understood.plain) == (bits, plain)
    if not isinstance(value, str):
        assert catalog.precision_bits(understood.value) == value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (0, "Precision is 0 bits per weight"),
        (0.99, "Precision is 0.99 bits per weight"),
        (65, "Precision is 65 bits per weight"),
        (-4, "Precision is -4 bits per weight"),
        (math.nan, "Precision is nan bits per weight"),
        (math.inf, "Precision is inf bits per weight"),
        pytest.param(HUGE, "Precision is inf bits per weight", id="huge"),
        ("1e400", "Precision is inf bits per weight"),
        ("-8", "Precision is -8 bits per weight"),
        ("128", "Precision is 128 bits per weight"),
        ("FP17", "Precision is 'FP17', an unknown precision (did you mean FP16 or FP8 or FP6?)"),
        ("Q4_K_S", "Precision is 'Q4_K_S', an unknown precision (did you mean Q4_K_M or Q6_K or Q4_0?)"),
        ("FP8 (E4M3)", "Precision is 'FP8 (E4M3)', an unknown precision (did you mean FP8?)"),
        ("zzzz", "Precision is 'zzzz', an unknown precision"),
        ("16 GB", "Precision is '16 GB', an unknown precision (did you mean FP16?)"),
        ("4%", "Precision is '4%', an unknown precision (did you mean INT4 or FP4?)"),
        ("4 or 8", "Precision is '4 or 8', an unknown precision (did you mean INT4?)"),
        ("FP*", "Precision is 'FP*', an unknown precision (did you mean FP8 or FP6 or FP4?)"),
        ("nan", "Precision is 'nan', an unknown precision"),
    ],
)
def test_an_unknown_precision_is_refused_with_suggestions(value, problem):
    bad = refusal("precision", value)
    assert bad.problem == problem
    assert bad.accepted == PrecisionName().accepted


def test_a_precision_cell_shown_as_percent_is_refused():
    assert refusal("precision", 16, percent=True).problem == "Precision is 1600%, a percentage"


# Numbers with units.


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("device_bandwidth_gb_s", "3.35 TB/s", 3350),
        ("device_bandwidth_gb_s", "3,35 TB/s", 3350),
        ("device_bandwidth_gb_s", "3350 GBps", 3350),
        ("device_bandwidth_gb_s", "1e3", 1000),
        ("device_bandwidth_gb_s", "+5", 5),
        ("device_bandwidth_gb_s", "3350 GiB/s", 3350 * 2**30 / 1e9),
        ("weights_gb", "2.56 TB", 2560),
        ("weights_gb", "80 GiB", 85.89934592),
        ("weights_gb", "24 576 MiB", 24576 * 2**20 / 1e9),
        ("params_b", "70B", 70),
        ("params_b", "500M", 0.5),
        ("params_b", "1.5 trillion", 1500),
        ("params_b", "70,6 bn", 70.6),
        ("batch", "2x", 2),
        ("batch", "8 \u00d7", 8),
        ("devices", "8 GPUs", 8),
        ("prompt_tokens", "2000 tok", 2000),
        ("prompt_tokens", "32'768 tokens", 32768),
        ("prefill_tokens_per_sec", "9000 tokens per second", 9000),
    ],
)
def test_a_number_with_its_unit(name, value, meant):
    understood = read(name, value)
    assert understood.value == pytest.approx(meant, rel=1e-12)
    assert not understood.plain
    assert not understood.note


@pytest.mark.parametrize(
    ("name", "value", "meant", "note"),
    [
        ("device_bandwidth_gb_s", "1,008 GB/s", 1008, ""),
        ("device_bandwidth_gb_s", "2.039 TB/s", 2039, "Bandwidth per device '2.039 TB/s' is read as 2,039 GB/s"),
        ("device_bandwidth_gb_s", "2,039 TB/s", 2039, "Bandwidth per device '2,039 TB/s' is read as 2,039 GB/s"),
        ("weights_gb", "42.520 GB", 42.52, "Weights '42.520 GB' is read as 42.52 GB"),
        ("params_b", "70.553B", 70.553, "Parameters '70.553B' is read as 70.553 billions"),
        ("prompt_tokens", "2,000 tokens", 2000, ""),
        ("prefill_tokens_per_sec", "9.000 tok/s", 9000, "Prefill rate '9.000 tok/s' is read as 9,000 tok/s"),
    ],
)
def test_a_unit_settles_a_separator_where_one_reading_is_likely_and_says_so(name, value, meant, note):
    understood = read(name, value)
    assert understood.value == pytest.approx(meant)
    assert understood.note == note


@pytest.mark.parametrize("value", ["20.000 GB/s", "50,000 GB/s"])
def test_a_unit_settles_nothing_where_both_readings_are_likely(value):
    # 20 and 50,000 GB/s are the ends of what a device may have.
    assert refusal("device_bandwidth_gb_s", value).code == "ambiguous"


def test_whole_numbers_too_long_for_a_float_are_infinite_with_their_sign():
    assert refusal("batch", HUGE).problem == "Batch is inf"
    assert refusal("batch", -HUGE).problem == "Batch is -inf"


def test_a_headers_factor_applies_to_plain_numbers_only():
    in_tb = {"factor": 1000.0}
    assert read("device_bandwidth_gb_s", 3.35, **in_tb).value == 3350
    assert not read("device_bandwidth_gb_s", 3.35, **in_tb).plain
    assert read("device_bandwidth_gb_s", "3.35", **in_tb).value == 3350
    assert read("device_bandwidth_gb_s", "3350 GB/s", **in_tb).value == 3350
    assert "3,350 or 3,350,000" in refusal("device_bandwidth_gb_s", "3,350", **in_tb).problem


def test_a_plain_number_is_plain():
    assert read("device_bandwidth_gb_s", 3350).plain
    assert not read("device_bandwidth_gb_s", "3350").plain


@pytest.mark.parametrize("unit", ["Gb/s", "Gbps", "Tb/s", "Tbps", "Mb/s", "Gb/sec", "Pb/s", "Gib/s", "Gb / s"])
def test_bits_per_second_are_refused_by_name(unit):
    bad = refusal("device_bandwidth_gb_s", f"26800 {unit}")
    assert bad.problem == f"Bandwidth per device is in {unit}, bits per second"
    assert bad.accepted == "a number above 0 (GB/s), bytes per second"


@pytest.mark.parametrize("unit", ["Gb", "Tb", "Gib"])
def test_bits_are_refused_where_bytes_are_meant(unit):
    bad = refusal("weights_gb", f"140 {unit}")
    assert (bad.problem, bad.accepted) == (f"Weights is in {unit}, bits", "a number above 0 (GB), bytes")


def test_a_whole_number_is_taken_as_one_where_a_formula_left_a_little_more_or_less():
    for value in (8.000000000000002, 7.999999999999999):
        understood = read("batch", value)
        assert (understood.value, understood.plain) == (8, False)
    assert refusal("batch", 8.00001).problem == "Batch is 8.00001"
    assert refusal("batch", 8.5).problem == "Batch is 8.5"
    assert refusal("prompt_tokens", 2000.5).problem == "Prompt is 2,000.5 tokens"


def test_a_cell_shown_as_percent_holds_no_plain_number():
    assert refusal("batch", 0.08, percent=True).problem == "Batch is 8%, a percentage"
    # Zero is refused as zero: 0 % and 0 are the same.
    assert refusal("batch", 0, percent=True).problem == "Batch is 0"


@given(st.sampled_from(list(COLUMNS)), st.text(max_size=30))
def test_any_text_is_understood_or_refused_in_words(name, text):
    try:
        said = read(name, text).value
    except BadValueError as bad:
        said = f"{bad.problem}; expected {bad.accepted}"
        fine = said.startswith(f"{COLUMNS[name].label} is ")
        fine &= bool(bad.accepted) and len(bad.problem) < 400
    else:
        fine = said is not None
    assert fine, said


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if not isinstance(column.rule, Text)])
def test_very_long_texts_are_cut_in_the_message(name):
    assert len(refusal(name, "x" * 5000).problem) < 150


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("a  b\nc", "'a b c'"), ("x" * 40, f"'{'x' * 40}'"), ("x" * 41, f"'{'x' * 39}…'"), ("", "''")],
)
def test_echo(text, quoted):
    assert echo(text) == quoted


# What the declaration gives to sheets and report.


def test_headers_carry_the_unit():
    assert header("device_bandwidth_gb_s", COLUMNS["device_bandwidth_gb_s"]) == "Bandwidth per device (GB/s)"
    assert header("batch", COLUMNS["batch"]) == "Batch"


@pytest.mark.parametrize(
    ("name", "excel"),
    [
        ("name", "@"),
        ("precision", "General"),
        ("params_b", "General"),
        ("weights_gb", "#,##0.0"),
        ("devices", "#,##0"),
        ("efficiency", "0%"),
    ],
)
def test_number_formats_of_inputs(name, excel):
    assert number_format(name, COLUMNS[name]) == excel


@pytest.mark.parametrize(
    ("name", "excel", "value", "text"),
    [
        ("tokens_per_sec", "#,##0.00", 20.339286, "20.34"),
        ("aggregate_tokens_per_sec", "#,##0.0", 1162.714, "1,162.7"),
        ("requests_per_hour", "#,##0", 1161.0, "1,161"),
        ("time_to_first_token_s", "#,##0.000", 0.2222, "0.222"),
        ("weights_memory_share", "0%", 0.875, "88%"),
        ("weight_bits", "General", 4.85, "4.85"),
    ],
)
def test_a_value_is_shown_with_the_digits_of_its_number_format(name, excel, value, text):
    assert number_format(name, FIGURES[name]) == excel
    assert shown(name, FIGURES[name], value) == text


def test_ratios_may_show_decimals():
    column = Column("Share", Ratio(), decimals=1)
    assert number_format("share", column) == "0.0%"
    assert shown("share", column, 0.1234) == "12.3%"


def test_nothing_is_shown_as_nothing_and_text_as_itself():
    assert shown("batch", COLUMNS["batch"], None) == ""
    assert shown("precision", COLUMNS["precision"], "FP16") == "FP16"


def test_columns_of_a_dataclass_are_its_annotated_fields():
    @dataclass
    class Table:
        plain: float
        noted: Annotated[float, "a note"]
        declared: Annotated[float, "a note", Column("Declared")]

    assert list(columns_of(Table)) == ["declared"]


def test_every_column_has_a_label_help_and_aliases_of_its_own():
    labels = [column.label for column in COLUMNS.values()]
    assert len(set(labels)) == len(labels)
    aliases = [alias for column in COLUMNS.values() for alias in column.aliases]
    assert len(set(aliases)) == len(aliases)
    assert all(column.help for column in (*COLUMNS.values(), *FIGURES.values()))


# Ties and their neighbours, noise behind the fifteenth digit, and sizes from the tiny to the huge.
HALVES = st.builds(
    lambda whole, places: (2 * whole + 1) / 2 / 10**places, st.integers(-(10**9), 10**9), st.integers(0, 7)
)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e18, max_value=1e18),
    HALVES,
    HALVES.map(lambda value: math.nextafter(value, math.inf)),
    HALVES.map(lambda value: math.nextafter(value, -math.inf)),
    st.floats(min_value=-1e-4, max_value=1e-4),
)


@given(NUMBERS, st.integers(0, 8))
def test_a_number_is_rounded_from_its_fifteen_digits_half_away_from_zero(value, decimals):
    exact = Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert rounded(value, decimals) == f"{exact:,f}"


@pytest.mark.parametrize(
    "text", ["Llama 70B", " a", "a  b", "a\u00a0b", "tab\there", "line\nbreak", "bell\x07", "Gerät", "負荷", ""]
)
def test_a_text_is_taken_without_surplus_blanks(text):
    found = read_value("name", COLUMNS["name"], Typed(text))
    assert found.value == " ".join(text.replace("\x07", "").split())
    assert found.plain == (found.value == text)
    assert bool(found.note) == ("\x07" in text)
