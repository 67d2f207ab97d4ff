"""Rows of cells to scenarios: every kind of cell and header, what is understood, and the exact words of what is not."""

import datetime as dt
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.headers import Cell, Grid, column_letters, known_headers, normalise, split_unit
from planner.issues import PlannerError, Severity
from planner.plan.evaluate import evaluate_resolved
from planner.plan.scenario import COLUMNS, header_of
from planner.table import read_table

ERROR = "#REF!"
RATIO = "a ratio above 0 to 1, or 10 to 100 for percent"
PRECISION = "a precision such as FP16, FP8, INT4, Q4_K_M, or bits per weight from 1 to 64"
EITHER = "Bandwidth per device (GB/s) or Aggregate bandwidth (GB/s)"
SEPARATOR = "a point or comma that may group thousands or start decimals"


def as_cell(value):
    return value if isinstance(value, Cell) else Cell(value)


def grid(*rows, name="Scenarios", first=1, **more):
    """A sheet from rows of values; None leaves a cell out, a Cell stands as it is."""
    return Grid(
        name,
        {
            number: {column: as_cell(value) for column, value in enumerate(row, 1) if value is not None}
            for number, row in enumerate(rows, first)
            if row
        },
        **more,
    )


def said(table, severity=None):
    return [str(issue) for issue in table.issues if severity in {None, issue.severity}]


HEADERS = {name: header_of(name) for name in COLUMNS}
GOOD = {
    "name": "a",
    "params_b": 70,
    "precision": "FP16",
    "device_bandwidth_gb_s": 3350,
    "devices": 2,
    "device_memory_gb": 80,
    "efficiency": 0.85,
    "batch": 8,
    "prompt_tokens": 2000,
    "output_tokens": 500,
    "prefill_tokens_per_sec": 9000,
    "occupancy": 0.5,
    "measured_tokens_per_sec": 20,
}


def table_with(column, value, header=None):
    """A table of one good row, but for one cell; and the address of that cell."""
    values = {**GOOD, column: value}
    headers = [header if header and name == column else HEADERS[name] for name in values]
    table = read_table([grid(headers, list(values.values()))])
    return table, f"{column_letters(list(values).index(column) + 1)}2"


def percent(value):
    return Cell(value, percent=True)


# Every kind of bad cell: (column, cell, what is said of it).

BAD = [
    # truth values
    ("batch", True, "Batch is TRUE, a truth value; expected a whole number of at least 1."),
    ("efficiency", False, f"Efficiency is FALSE, a truth value; expected {RATIO}."),
    ("precision", True, f"Precision is TRUE, a truth value; expected {PRECISION}."),
    # errors of the workbook
    (
        "batch",
        Cell(ERROR, error=True),
        "Batch is #REF!, an error of the workbook; expected a whole number of at least 1.",
    ),
    ("weights_gb", Cell("#N/A", error=True), "Weights is #N/A, an error of the workbook; expected a number above 0."),
    (
        "efficiency",
        Cell("#DIV/0!", "=1/0", error=True),
        f"Efficiency is #DIV/0!, an error of the workbook; expected {RATIO}.",
    ),
    # dates and times, which Excel makes of 3-5 or 8:00
    ("batch", dt.date(2026, 3, 5), "Batch is a date or time (2026-03-05); expected a whole number of at least 1."),
    (
        "device_bandwidth_gb_s",
        dt.datetime.fromisoformat("2026-03-05 00:00:00"),
        "Bandwidth per device is a date or time (2026-03-05 00:00:00); expected a number above 0.",
    ),
    ("efficiency", dt.time(8, 0), f"Efficiency is a date or time (08:00:00); expected {RATIO}."),
    # a formula that has not been worked out
    (
        "batch",
        Cell(None, "=4*2"),
        (
            "Batch is a formula without a stored value; expected a value; save the workbook in Excel, type the "
            "value, or use --recalculate."
        ),
    ),
    # numbers out of range
    ("params_b", -70, "Parameters is -70 billions; expected a number above 0 (billions)."),
    ("params_b", 0, "Parameters is 0 billions; expected a number above 0 (billions)."),
    ("device_bandwidth_gb_s", 0, "Bandwidth per device is 0 GB/s; expected a number above 0 (GB/s)."),
    ("device_bandwidth_gb_s", -3350.5, "Bandwidth per device is -3,350.5 GB/s; expected a number above 0 (GB/s)."),
    ("prefill_tokens_per_sec", 0, "Prefill rate is 0 tok/s; expected a number above 0 (tok/s)."),
    ("measured_tokens_per_sec", -1, "Measured rate is -1 tok/s; expected a number above 0 (tok/s)."),
    ("devices", -2, "Devices is -2; expected a whole number of at least 1."),
    ("devices", 0, "Devices is 0; expected a whole number of at least 1."),
    ("batch", 0.5, "Batch is 0.5; expected a whole number of at least 1."),
    ("prompt_tokens", 2000.5, "Prompt is 2,000.5 tokens; expected a whole number of at least 1 (tokens)."),
    ("output_tokens", 0, "Output is 0 tokens; expected a whole number of at least 1 (tokens)."),
    ("batch", math.inf, "Batch is inf; expected a whole number of at least 1."),
    ("weights_gb", math.nan, "Weights is nan GB; expected a number above 0 (GB)."),
    ("weights_gb", 1e308, "Weights is 1e+308 GB, beyond any real figure; expected a number above 0 (GB)."),
    pytest.param("batch", 10**400, "Batch is inf; expected a whole number of at least 1.", id="batch-huge"),
    ("params_b", "1e400", "Parameters is inf billions; expected a number above 0 (billions)."),
    ("params_b", "\u221270", "Parameters is -70 billions; expected a number above 0 (billions)."),
    # texts that are no number
    ("batch", "eight", "Batch is 'eight', not a number; expected a whole number of at least 1."),
    ("batch", "inf", "Batch is 'inf', not a number; expected a whole number of at least 1."),
    ("batch", "nan", "Batch is 'nan', not a number; expected a whole number of at least 1."),
    ("batch", ".", "Batch is '.', not a number; expected a whole number of at least 1."),
    ("batch", "TRUE", "Batch is 'TRUE', not a number; expected a whole number of at least 1."),
    ("devices", "H100", "Devices is 'H100', not a number; expected a whole number of at least 1."),
    ("weights_gb", "1..2", "Weights is '1..2', not a number; expected a number above 0 (GB)."),
    ("weights_gb", "1.5 16", "Weights is '1.5 16', not a number; expected a number above 0 (GB)."),
    ("weights_gb", "31.12.2026", "Weights is '31.12.2026', not a number; expected a number above 0 (GB)."),
    ("weights_gb", "\u00bd", "Weights is '\u00bd', not a number; expected a number above 0 (GB)."),
    (
        "device_memory_gb",
        "H100 80GB",
        "Memory per device is 'H100 80GB', not a number; expected a number above 0 (GB).",
    ),
    ("batch", "x" * 500, f"Batch is '{'x' * 39}…', not a number; expected a whole number of at least 1."),
    # one text, several readings
    (
        "device_bandwidth_gb_s",
        "3.350",
        f"Bandwidth per device is '3.350', {SEPARATOR}: it may mean 3.35 or 3,350; expected one plain number (GB/s).",
    ),
    (
        "device_bandwidth_gb_s",
        "3,350",
        f"Bandwidth per device is '3,350', {SEPARATOR}: it may mean 3.35 or 3,350; expected one plain number (GB/s).",
    ),
    (
        "weights_gb",
        "1,008 GB",
        f"Weights is '1,008 GB', {SEPARATOR}: it may mean 1.008 or 1,008; expected one plain number (GB).",
    ),
    ("batch", "1,000", f"Batch is '1,000', {SEPARATOR}: it may mean 1 or 1,000; expected one plain number."),
    ("batch", "20-30", "Batch is '20-30', a range: it may mean 20 or 30; expected one plain number."),
    (
        "batch",
        "20\u201330 users",
        "Batch is '20\u201330 users', a range: it may mean 20 or 30; expected one plain number.",
    ),
    ("batch", "Entre 10 y 15", "Batch is 'Entre 10 y 15', a range: it may mean 10 or 15; expected one plain number."),
    (
        "prompt_tokens",
        "128k",
        "Prompt is '128k', k as 1,000 or as 1,024: it may mean 128,000 or 131,072; expected one plain number (tokens).",
    ),
    (
        "prompt_tokens",
        "528 tokens + 550 tokens",
        "Prompt is '528 tokens + 550 tokens', a sum: it may mean 528 or 550; expected one plain number (tokens).",
    ),
    (
        "device_memory_gb",
        "640 GB (40GB) or 1.28 TB (80GB)",
        (
            "Memory per device is '640 GB (40GB) or 1.28 TB (80GB)', several numbers: it may mean 640 or 40 or 1.28 "
            "or 80; expected one plain number (GB)."
        ),
    ),
    (
        "params_b",
        "8 x 7B",
        "Parameters is '8 x 7B', several numbers: it may mean 8 or 7; expected one plain number (billions).",
    ),
    # units of another kind
    ("weights_gb", "140 GB/s", "Weights is in GB/s, a unit of bandwidth; expected a number above 0 (GB)."),
    (
        "device_bandwidth_gb_s",
        "80 GB",
        "Bandwidth per device is in GB, a unit of size; expected a number above 0 (GB/s).",
    ),
    (
        "device_bandwidth_gb_s",
        "9 tok/s",
        "Bandwidth per device is in tok/s, a unit of rate; expected a number above 0 (GB/s).",
    ),
    ("params_b", "70 GB", "Parameters is in GB, a unit of size; expected a number above 0 (billions)."),
    ("batch", "5%", "Batch is in %, a unit of ratio; expected a whole number of at least 1."),
    ("batch", "8 tokens", "Batch is in tokens, a unit of tokens; expected a whole number of at least 1."),
    (
        "prompt_tokens",
        "2000 words",
        "Prompt is in an unknown unit, 'words'; expected a whole number of at least 1 (tokens).",
    ),
    ("batch", "3350?", "Batch is in an unknown unit, '?'; expected a whole number of at least 1."),
    ("weights_gb", "$140", "Weights is in an unknown unit, '$'; expected a number above 0 (GB)."),
    # bits
    (
        "device_bandwidth_gb_s",
        "26800 Gb/s",
        "Bandwidth per device is in Gb/s, bits per second; expected a number above 0 (GB/s), bytes per second.",
    ),
    (
        "device_bandwidth_gb_s",
        "26.8 Tbps",
        "Bandwidth per device is in Tbps, bits per second; expected a number above 0 (GB/s), bytes per second.",
    ),
    ("weights_gb", "1120 Gb", "Weights is in Gb, bits; expected a number above 0 (GB), bytes."),
    # precisions
    ("precision", 0, f"Precision is 0 bits per weight; expected {PRECISION}."),
    ("precision", 128, f"Precision is 128 bits per weight; expected {PRECISION}."),
    ("precision", percent(16), f"Precision is 1600%, a percentage; expected {PRECISION}."),
    (
        "precision",
        "FP17",
        f"Precision is 'FP17', an unknown precision (did you mean FP16 or FP8 or FP6?); expected {PRECISION}.",
    ),
    ("precision", "zzzz", f"Precision is 'zzzz', an unknown precision; expected {PRECISION}."),
    # ratios
    ("efficiency", 1.2, f"Efficiency is 1.2; expected {RATIO}."),
    ("efficiency", 850, f"Efficiency is 850; expected {RATIO}."),
    ("efficiency", 0, f"Efficiency is 0; expected {RATIO}."),
    ("efficiency", 5, f"Efficiency is 5; expected {RATIO}."),
    ("efficiency", -0.5, f"Efficiency is -0.5; expected {RATIO}."),
    ("efficiency", percent(85), f"Efficiency is 8500%; expected {RATIO}."),
    ("efficiency", percent(0), f"Efficiency is 0%; expected {RATIO}."),
    ("efficiency", "850%", f"Efficiency is '850%'; expected {RATIO}."),
    ("efficiency", "80-90 %", f"Efficiency is '80-90 %'; expected {RATIO}."),
    ("efficiency", "good", f"Efficiency is 'good'; expected {RATIO}."),
    ("occupancy", 1.5, f"Average occupancy is 1.5; expected {RATIO}."),
    # a cell shown as percent where no share is meant
    ("batch", percent(0.08), "Batch is 8%, a percentage; expected a whole number of at least 1."),
    ("params_b", percent(0.7), "Parameters is 70%, a percentage; expected a number above 0 (billions)."),
]


@pytest.mark.parametrize(("column", "value", "message"), BAD)
def test_a_bad_cell_is_named_with_what_is_wrong_and_what_is_accepted(column, value, message):
    table, address = table_with(column, value)
    assert said(table) == [f"Scenarios!{address}: {message}"]
    assert table.entries == ()
    assert len(table.skipped) == 1
    (issue,) = table.issues
    assert (issue.severity, issue.field, issue.row) == (Severity.ERROR, column, 2)


# Every kind of good cell: (column, cell, what it means).

GOOD_CELLS = [
    ("efficiency", 0.85, 0.85),
    ("efficiency", 85, 0.85),
    ("efficiency", percent(0.85), 0.85),
    ("efficiency", "85 %", 0.85),
    ("efficiency", "85%", 0.85),
    ("efficiency", "85\u00a0%", 0.85),
    ("efficiency", "0,85", 0.85),
    ("efficiency", 1, 1),
    ("efficiency", Cell(0.85, "=17/20"), 0.85),
    ("occupancy", 60, 0.6),
    ("params_b", "70B", 70),
    ("params_b", "70 billion", 70),
    ("params_b", "500M", 0.5),
    ("params_b", "1.5T", 1500),
    ("params_b", "70.553B", 70.553),
    ("device_bandwidth_gb_s", "3.35 TB/s", 3350),
    ("device_bandwidth_gb_s", "3,35 TB/s", 3350),
    ("device_bandwidth_gb_s", "1,008 GB/s", 1008),
    ("device_bandwidth_gb_s", "1.008 GB/s", 1008),
    ("device_bandwidth_gb_s", "1\u00a0008 GB/s", 1008),
    ("device_bandwidth_gb_s", "1'008", 1008),
    ("device_bandwidth_gb_s", "1e3", 1000),
    ("device_bandwidth_gb_s", "+5", 5),
    ("device_bandwidth_gb_s", "\u0663\u0663\u0665\u0660", 3350),
    ("device_bandwidth_gb_s", "3,350.5", 3350.5),
    ("device_bandwidth_gb_s", "3350\u202fGB/s", 3350),
    ("device_memory_gb", "80 GiB", 85.89934592),
    ("device_memory_gb", "24576 MiB", 25.769803776),
    ("weights_gb", "2.56 TB", 2560),
    ("weights_gb", "42,52 GB", 42.52),
    ("precision", "FP16", "FP16"),
    ("precision", "fp8", "FP8"),
    ("precision", "q4_k_m", "Q4_K_M"),
    ("precision", "fp\u00a016", "FP16"),
    ("precision", "8-bit", "INT8"),
    ("precision", 16, "16"),
    ("precision", 4.85, "4.85"),
    ("precision", "4,85 bits", "4.85"),
    ("devices", "2x", 2),
    ("devices", "8 GPUs", 8),
    ("batch", "8", 8),
    ("batch", 8.0, 8),
    ("prompt_tokens", "2,000 tokens", 2000),
    ("prompt_tokens", "32 768", 32768),
    ("prefill_tokens_per_sec", "9000 tok/s", 9000),
    ("name", "  a\u00a0", "a"),
    ("name", 5, "5"),
    ("name", dt.date(2026, 3, 5), "2026-03-05"),
    ("model", "=SUM(A1)", "=SUM(A1)"),
    ("notes", "anything at all", "anything at all"),
]


@pytest.mark.parametrize(("column", "value", "meant"), GOOD_CELLS)
def test_a_good_cell_is_understood(column, value, meant):
    table, _ = table_with(column, value)
    assert said(table, Severity.ERROR) == []
    (scenario,) = table.scenarios
    found = getattr(scenario, column)
    assert found == (meant if isinstance(meant, str) else pytest.approx(meant, rel=1e-12))


@pytest.mark.parametrize("blank", ["", "   ", "\u00a0", "-", "\u2013", "\u2014", "n/a", "N/A", " - "])
def test_blank_marks_are_blank(blank):
    table, _ = table_with("batch", blank)
    assert said(table, Severity.ERROR) == []
    assert table.scenarios[0].batch == 1
    assert table.entries[0].resolution.sources["batch"] == "default"


def test_an_assumed_reading_is_noted_at_its_cell():
    table, address = table_with("device_bandwidth_gb_s", "2,039 TB/s")
    assert said(table) == [f"Scenarios!{address}: Bandwidth per device '2,039 TB/s' is read as 2,039 GB/s."]
    assert table.issues[0].severity is Severity.NOTE
    assert table.issues[0].code == "read-as"


def test_only_cells_that_hold_just_the_value_are_plain():
    table = read_table(
        [
            grid(
                ["Scenario", "Parameters (B)", "Precision", "Bandwidth per device (TB/s)", "Devices", "Efficiency"],
                ["a", 70, "fp16", 3.35, "2x", 85],
                ["b", "70B", "FP\t16", "3.35", 2, percent(0.85)],
            )
        ]
    )
    assert [sorted(entry.origin.plain) for entry in table.entries] == [
        ["name", "params_b"],
        ["devices", "efficiency", "name"],
    ]


@given(st.sampled_from(list(COLUMNS)), st.one_of(st.text(max_size=20), st.floats(), st.integers(), st.booleans()))
def test_any_cell_is_understood_or_refused_and_never_stops_the_others(column, value):
    good = ["good", 140, 3350]
    odd = ["odd", 140, 3350, value]
    table = read_table([grid(["Name", "Weights (GB)", "Aggregate bandwidth (GB/s)", HEADERS[column]], good, odd)])
    assert len(table.entries) + len(table.skipped) == 2
    if column not in {"name", "weights_gb", "bandwidth_gb_s"}:
        assert table.scenarios[0].name == "good"
    for entry in table.entries:
        evaluate_resolved(entry.resolution)


# Headers.


@pytest.mark.parametrize(
    ("header", "column", "value", "meant"),
    [
        # units behind the header hold for the plain numbers below it
        ("Bandwidth per device (TB/s)", "device_bandwidth_gb_s", 3.35, 3350),
        ("Bandwidth per device [TB/s]", "device_bandwidth_gb_s", 3.35, 3350),
        ("Bandwidth per device, TB/s", "device_bandwidth_gb_s", 3.35, 3350),
        ("Bandwidth per device TB/s", "device_bandwidth_gb_s", 3.35, 3350),
        ("Bandwidth per device", "device_bandwidth_gb_s", 3350, 3350),
        ("device_bandwidth_gb_s", "device_bandwidth_gb_s", 3350, 3350),
        ("bandwidth_gb_s", "bandwidth_gb_s", 6700, 6700),
        ("Total bandwidth (TB/s)", "bandwidth_gb_s", 6.7, 6700),
        ("Weights (GiB)", "weights_gb", 130.385160446, 140),
        ("Weights GB", "weights_gb", 140, 140),
        ("Weights(TB)", "weights_gb", 0.14, 140),
        ("Parameters (B)", "params_b", 70, 70),
        ("Params (M)", "params_b", 7000, 7),
        ("Parameters B", "params_b", 70, 70),
        ("Memory per GPU (GiB)", "device_memory_gb", 80, 85.89934592),
        ("Prefill (tok/s)", "prefill_tokens_per_sec", 9000, 9000),
        ("Prompt (tokens)", "prompt_tokens", 2000, 2000),
        ("Efficiency (%)", "efficiency", 85, 0.85),
        ("Efficiency %", "efficiency", 85, 0.85),
        ("Batch (streams)", "batch", 8, 8),
        # a value's own unit wins over the header's
        ("Bandwidth per device (TB/s)", "device_bandwidth_gb_s", "3350 GB/s", 3350),
        # other names, however they are typed
        ("η", "efficiency", 0.85, 0.85),
        ("MBU", "efficiency", 0.85, 0.85),
        ("Quantization", "precision", "FP8", "FP8"),
        ("# GPUs", "devices", 4, 4),
        ("VRAM (GB)", "device_memory_gb", 80, 80),
        ("concurrency", "batch", 8, 8),
        ("ISL", "prompt_tokens", 2000, 2000),
        ("BANDWIDTH PER GPU", "device_bandwidth_gb_s", 3350, 3350),
        # blanks, line breaks and marks
        ("Bandwidth\nper device\n(GB/s)", "device_bandwidth_gb_s", 3350, 3350),
        ("  Bandwidth\u00a0per   device ", "device_bandwidth_gb_s", 3350, 3350),
        ("Batch-size:", "batch", 8, 8),
        ("batch_size", "batch", 8, 8),
    ],
)
def test_a_header_is_understood_however_it_is_typed(header, column, value, meant):
    base = {"Name": "a"}
    if column not in {"params_b", "precision", "weights_gb"}:
        base["Weights"] = 140
    if column in {"params_b", "precision"}:
        base |= {"Precision": "FP16"} if column == "params_b" else {"Parameters": 70}
    if "bandwidth" not in column:
        base["Aggregate bandwidth"] = 3350
    table = read_table([grid([*base, header], [*base.values(), value])])
    assert said(table, Severity.ERROR) == []
    found = getattr(table.scenarios[0], column)
    assert found == (meant if isinstance(meant, str) else pytest.approx(meant, rel=1e-9))


@pytest.mark.parametrize("name", list(COLUMNS))
def test_every_label_and_alias_names_its_column(name):
    column = COLUMNS[name]
    for header in (column.label, HEADERS[name], name, *column.aliases):
        assert known_headers()[normalise(split_unit(header)[0])] == name


@pytest.mark.parametrize(
    "header",
    [
        "Bandwidth",
        "bandwidth",
        "Bandwidth (GB/s)",
        "Bandwidth GB/s",
        "Bandwidth, TB/s",
        "Memory bandwidth",
        "Memory bandwidth (TB/s)",
        "memory bandwidth GB/s",
        "HBM Bandwidth",
        "Peak\nbandwidth [GB/s]",
    ],
)
def test_a_bandwidth_that_could_be_one_devices_or_all_devices_is_asked_about(header):
    table = read_table([grid(["Name", "Weights (GB)", "Devices", header], ["a", 140, 2, 3350])])
    typed = " ".join(header.split())
    assert said(table) == [
        f"Scenarios!D1: '{typed}' may be one device's bandwidth or all devices' together, so it is not read, and "
        f"rows that fill it are left out; expected {EITHER}.",
        f"Scenarios!A1: The headers name no column for bandwidth; expected {EITHER}.",
    ]
    assert table.entries == ()
    assert [skipped.name for skipped in table.skipped] == ["a"]


def test_a_second_table_with_other_headers_ends_the_reading():
    table = read_table(
        [
            grid(
                ["Name", "Weights (GB)", "Aggregate bandwidth", "Batch"],
                ["a", 140, 3350, 8],
                ["GPU", "Price", "Bandwidth of it", "Stock"],
                ["H100", 30000, 3350, 4],
            )
        ]
    )
    assert [s.name for s in table.scenarios] == ["a"]
    assert [(issue.cell, issue.code) for issue in table.issues] == [("A3", "header")]


@pytest.mark.parametrize(
    ("header", "value", "weights", "params"),
    [("Model size (GB)", 140, 140, None), ("Model size (B)", 70, None, 70), ("Size (billions)", 70, None, 70)],
)
def test_the_size_of_a_model_is_what_its_unit_says(header, value, weights, params):
    table = read_table([grid(["Name", header, "Precision", "Aggregate bandwidth"], ["a", value, "FP16", 3350])])
    assert [(s.weights_gb, s.params_b) for s in table.scenarios] == [(weights, params)]
    undecided = read_table(
        [grid(["Name", "Model size", "Precision", "Aggregate bandwidth"], ["a", value, "FP16", 3350])]
    )
    assert "'Model size' may be a count of parameters or a size in memory" in said(undecided)[0]


def test_an_undecided_memory_costs_only_the_fit_mark():
    table = read_table([grid(["Name", "Weights (GB)", "Aggregate bandwidth", "Memory (GB)"], ["a", 140, 3350, 80])])
    assert said(table)[0] == (
        "Scenarios!D1: 'Memory (GB)' may be one device's memory or all devices' together, so it is not read: that of a "
        "named device counts; expected Memory per device (GB)."
    )
    assert len(table.entries) == 1


def test_an_error_or_a_truth_value_in_a_text_column_costs_nothing():
    table = read_table(
        [grid(["Name", "Weights", "Aggregate bandwidth", "Notes"], [Cell(ERROR, error=True), 140, 3350, True])]
    )
    assert [(s.name, s.notes) for s in table.scenarios] == [(ERROR, "TRUE")]
    assert "Scenarios!A2: Scenario is #REF!, an error of the workbook." in said(table)


def test_an_undecided_bandwidth_is_asked_about_in_the_smallest_sheet_too():
    table = read_table([grid(["Weights (GB)", "Bandwidth (GB/s)"], [140, 3350])])
    assert said(table)[0].startswith("Scenarios!B1: 'Bandwidth (GB/s)' may be one device's bandwidth or all devices'")


@pytest.mark.parametrize(
    ("header", "value"), [("Bandwidth (GB/s)", 2000), ("Bandwidth", "fast"), ("Size", 8), ("Model size", "8")]
)
def test_what_is_typed_under_an_undecided_header_is_never_replaced_by_a_known_figure(header, value):
    """A row that names a device or a model would run on their figures in place of the typed one."""
    heads = ["Name", "Device", "Model", "Precision", header]
    named = ["H100 SXM", "Llama-3.1-8B", "FP16"]
    table = read_table([grid(heads, ["typed", *named, value], ["blank", *named, None], ["dash", *named, "-"])])
    assert [scenario.name for scenario in table.scenarios] == ["blank", "dash"]
    assert [row.name for row in table.skipped] == ["typed"]
    (error,) = said(table, Severity.ERROR)
    assert error.startswith(f"Scenarios!E1: '{header}' may be ")
    assert "so it is not read, and rows that fill it are left out; expected" in error


def test_a_decided_value_stands_for_an_undecided_one():
    heads = ["Name", "Device", "Model", "Precision", "Bandwidth", "Aggregate bandwidth"]
    row = ["a", "H100 SXM", "Llama-3.1-8B", "FP16", 9999]
    table = read_table([grid(heads, [*row, 3350], [*row, None])])
    assert [(s.bandwidth_gb_s, s.device_bandwidth_gb_s) for s in table.scenarios] == [(3350, None)]
    assert [skipped.origin.row for skipped in table.skipped] == [3]


def test_an_undecided_memory_says_which_one_counts():
    heads = ["Name", "Device", "Model", "Precision", "Memory (GB)"]
    table = read_table([grid(heads, ["a", "H100 SXM", "Llama-3.1-8B", "FP16", 40])])
    assert said(table)[0] == (
        "Scenarios!E1: 'Memory (GB)' may be one device's memory or all devices' together, so it is not read: that of a "
        "named device counts; expected Memory per device (GB)."
    )
    assert table.scenarios[0].device_memory_gb == pytest.approx(85.5, abs=0.1)


def test_an_undecided_column_beside_a_decided_one_is_not_read():
    table = read_table([grid(["Name", "Weights", "Bandwidth", "Bandwidth per GPU"], ["a", 140, 9999, 3350])])
    assert len(said(table, Severity.ERROR)) == 1
    assert table.scenarios[0].device_bandwidth_gb_s == 3350


@pytest.mark.parametrize(
    ("header", "suggested"),
    [
        ("Effciency", "Efficiency"),
        ("Precison", "Precision"),
        ("Bandwith per device (GB/s)", "Bandwidth per device (GB/s)"),
        ("Bandwidth/GPU", "Bandwidth per device (GB/s)"),
        ("Promt tokens", "Prompt (tokens)"),
        ("Batchsize", "Batch"),
    ],
)
def test_a_near_miss_is_not_read_and_the_right_header_suggested(header, suggested):
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth", header], ["a", 140, 3350, 99])])
    assert said(table, Severity.WARNING) == [
        f"Scenarios!D1: '{header}' is no column that planner knows, so it is not read. Did you mean {suggested}?"
    ]
    assert len(table.entries) == 1


@pytest.mark.parametrize(
    "header", ["Cost", "Owner", "Batch owner", "Date", "GB", "(GB)", "Comment of Bob", 2026, True, "", "   "]
)
def test_other_columns_are_left_alone(header):
    table = read_table([grid(["Name", header, "Weights", "Aggregate bandwidth"], ["a", "anything", 140, 3350])])
    assert said(table, Severity.ERROR) == said(table, Severity.WARNING) == []
    assert table.scenarios[0].weights_gb == 140


def test_an_error_cell_is_no_header():
    table = read_table(
        [grid(["Name", Cell("Batch", error=True), "Weights", "Aggregate bandwidth"], ["a", 99, 140, 3350])]
    )
    assert table.scenarios[0].batch == 1


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("Weights (GB/s)", "GB/s"),
        ("Weights (Gb)", "Gb"),
        ("Weights (GB) (measured)", "measured"),
        ("Weights (%)", "%"),
    ],
)
def test_a_header_in_a_unit_of_another_kind_is_refused(header, unit):
    table = read_table([grid(["Name", header, "Aggregate bandwidth"], ["a", 140, 3350])])
    assert said(table)[0] == (
        f"Scenarios!B1: '{header}' is in {unit}, which is no unit of Weights; expected Weights (GB)."
    )
    assert table.entries == ()


def test_bits_per_second_in_a_header_are_refused():
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth (Gb/s)"], ["a", 140, 26800])])
    assert "is in Gb/s, which is no unit of Aggregate bandwidth" in said(table)[0]


def test_a_second_column_of_a_kind_is_refused_and_the_first_one_used():
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth", "Weights (GB)"], ["a", 140, 3350, 70])])
    assert said(table, Severity.ERROR) == [
        (
            "Scenarios!D1: 'Weights (GB)' is a second column of Weights; the one at B1 is used; "
            "expected one column of each kind."
        )
    ]
    assert table.scenarios[0].weights_gb == 140


def test_a_very_long_header_is_cut_in_the_message():
    header = "Weights (" + "g" * 300 + ")"
    table = read_table([grid(["Name", header, "Aggregate bandwidth", "Weights"], ["a", 1, 3350, 140])])
    assert len(said(table)[0].split(" is in ")[0]) < 80
    assert table.scenarios[0].weights_gb == 140


# Columns absent altogether, missing and contradicting inputs.


def test_absent_columns_are_said_once_and_not_at_every_row():
    table = read_table([grid(["Name", "Devices"], *[[f"s{n}", 2] for n in range(50)])])
    assert said(table) == [
        (
            "Scenarios!A1: The headers name no column for weights; expected Weights (GB), or Parameters (billions) and "
            "Precision."
        ),
        f"Scenarios!A1: The headers name no column for bandwidth; expected {EITHER}.",
    ]
    assert len(table.skipped) == 50
    assert table.scenarios == ()


def test_parameters_without_a_precision_column_give_no_weights():
    table = read_table([grid(["Name", "Parameters", "Aggregate bandwidth"], ["a", 70, 3350], ["b", None, 3350])])
    assert said(table) == [
        (
            "Scenarios!A1: The headers name no column for weights; expected Weights (GB), or Parameters (billions) and "
            "Precision."
        )
    ]


def test_parameters_and_precision_are_columns_enough_for_weights():
    table = read_table([grid(["Parameters", "Precision"], [70, "FP16"])])
    assert said(table) == [f"Scenarios!A1: The headers name no column for bandwidth; expected {EITHER}."]


def test_an_absent_column_hides_no_other_missing_input():
    table = read_table([grid(["Name", "Weights"], ["a", 140], ["b", None, "x"], ["c", None]), grid([])])
    assert said(table, Severity.ERROR) == [
        f"Scenarios!A1: The headers name no column for bandwidth; expected {EITHER}."
    ]
    table = read_table([grid(["Name", "Weights", "Batch"], ["a", 140, 1], ["b", None, 8])])
    assert said(table, Severity.ERROR) == [
        f"Scenarios!A1: The headers name no column for bandwidth; expected {EITHER}.",
        "Scenarios!B3: Weights are missing; expected Weights (GB), or Parameters (billions) and Precision.",
    ]


def test_missing_inputs_are_said_at_their_column():
    table = read_table(
        [
            grid(
                ["Name", "Parameters", "Precision", "Bandwidth per device", "Batch"],
                ["a", 70, None, 3350, 1],
                ["b", 70, "FP16", None, 1],
                ["c", None, "FP16", None, 1],
            )
        ]
    )
    assert [(issue.where, issue.code) for issue in table.issues] == [
        ("Scenarios!C2", "missing"),
        ("Scenarios!D3", "missing"),
        ("Scenarios!A4", "missing"),
        ("Scenarios!D4", "missing"),
    ]
    assert [skipped.name for skipped in table.skipped] == ["a", "b", "c"]


def test_contradicting_bandwidths_are_an_error_of_their_row():
    headers = ["Name", "Weights", "Bandwidth per device", "Devices", "Aggregate bandwidth"]
    table = read_table([grid(headers, ["a", 140, 3350, 2, 3350], ["b", 140, 3350, 2, 6700])])
    assert said(table) == [
        (
            "Scenarios!E2: Aggregate bandwidth is 3,350 GB/s, but 3,350 GB/s x 2 devices is 6,700 GB/s; "
            "expected two figures that agree, or one of them blank."
        )
    ]
    assert [scenario.name for scenario in table.scenarios] == ["b"]


def test_a_refused_count_is_not_also_called_a_contradiction():
    headers = ["Name", "Weights", "Bandwidth per device", "Devices", "Aggregate bandwidth"]
    table = read_table([grid(headers, ["a", 140, 3350, "two", 6700])])
    assert said(table) == ["Scenarios!D2: Devices is 'two', not a number; expected a whole number of at least 1."]


def test_per_device_and_aggregate_columns_differ_by_the_count():
    table = read_table(
        [
            grid(
                ["Name", "Weights", "Efficiency", "Bandwidth per device", "Devices", "Aggregate bandwidth"],
                ["each", 140, 0.85, 3350, 2, None],
                ["all", 140, 0.85, None, 2, 6700],
                ["one", 140, 0.85, 3350, None, None],
            )
        ]
    )
    rates = [f"{evaluate_resolved(entry.resolution).tokens_per_sec:.2f}" for entry in table.entries]
    assert rates == ["40.68", "40.68", "20.34"]


# All issues in one pass; good rows run.


def test_every_issue_is_found_in_one_pass_and_good_rows_run():
    table = read_table(
        [
            grid(
                ["Name", "Weights", "Aggregate bandwidth", "Efficiency", "Batch", "Effciency"],
                ["good", 140, 3350, 0.85, 8, None],
                ["bad", -1, "3,350", 1.2, 0, None],
                ["worse", "x", True, "y", "z", None],
                ["also good", 70, 3350, 85, 8, None],
            )
        ]
    )
    assert [scenario.name for scenario in table.scenarios] == ["good", "also good"]
    assert [(skipped.name, skipped.origin.row) for skipped in table.skipped] == [("bad", 3), ("worse", 4)]
    assert [issue.where for issue in table.issues] == ["Scenarios!F1"] + [
        f"Scenarios!{column}{row}" for row in (3, 4) for column in "BCDE"
    ]
    counts = Counter(issue.severity for issue in table.issues)
    assert (counts[Severity.ERROR], counts[Severity.WARNING], counts[Severity.NOTE]) == (8, 1, 0)


def test_a_refused_input_is_not_also_called_missing():
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth"], ["a", "x", "y"])])
    assert [issue.code for issue in table.issues] == ["value", "value"]


# Rows.


def test_blank_rows_are_passed_over():
    blank = [None, "  ", "-", "\u00a0"]
    table = read_table(
        [
            grid(
                ["Name", "Weights", "Aggregate bandwidth", "Batch"],
                blank,
                ["a", 140, 3350, 8],
                [],
                [],
                blank,
                ["b", 140, 3350, 8],
            )
        ]
    )
    assert [entry.origin.row for entry in table.entries] == [3, 7]
    assert table.issues == ()


def test_cells_outside_the_known_columns_make_no_row():
    table = read_table(
        [grid(["Name", "Weights", "Aggregate bandwidth"], ["a", 140, 3350], [None, None, None, "sum", 99])]
    )
    assert len(table.entries) == 1
    assert table.issues == ()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["Large models"], "scenario"),
        (["Large models", None, None, None, "see below"], "scenario and notes"),
        ([None, None, None, None, "see below"], "notes"),
        (["Large models", None, None, "Llama", "x"], "scenario and model and notes"),
    ],
)
def test_a_row_of_labels_only_is_a_heading(row, words):
    headers = ["Scenario", "Weights", "Aggregate bandwidth", "Model", "Notes"]
    table = read_table([grid(headers, row, ["a", 140, 3350])])
    assert said(table) == [f"Scenarios!A2: The row holds only {words}, so it is read as a heading."]
    assert table.issues[0].severity is Severity.NOTE
    assert [scenario.name for scenario in table.scenarios] == ["a"]
    assert table.skipped == ()


def test_rows_without_a_name_are_named_by_their_number():
    table = read_table([grid(["Weights", "Aggregate bandwidth"], [140, 3350], [70, 3350])])
    assert [scenario.name for scenario in table.scenarios] == ["Row 2", "Row 3"]
    assert table.entries[0].origin.cells == {"weights_gb": "A2", "bandwidth_gb_s": "B2"}


def test_a_name_that_stands_twice_is_noted():
    rows = [["a", 140, 3350], ["b", 140, 3350], ["a", 70, 3350], ["a", 35, 3350]]
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth"], *rows)])
    assert said(table) == [
        "Scenarios!A4: Scenario 'a' is also at A2.",
        "Scenarios!A5: Scenario 'a' is also at A2.",
    ]
    assert len(table.entries) == 4


def test_headers_without_a_row_below_are_an_error():
    for rows in ([], [[None, " "]]):
        table = read_table([grid(["Name", "Weights", "Aggregate bandwidth"], *rows)])
        assert said(table) == [
            "Scenarios!A2: No scenario stands below the headers of row 1; expected one scenario a row."
        ]


def test_headings_alone_are_no_scenarios():
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth"], ["Large models"])])
    assert [issue.code for issue in table.issues] == ["heading", "empty"]


# Where the header row is.


@pytest.mark.parametrize("first", [2, 7, 59])
def test_the_header_row_need_not_be_the_first(first):
    above = [["Plan for Q3"], ["Owner", "Bob"]][: first - 1]
    rows = [*above, *[[]] * (first - 1 - len(above)), ["Name", "Weights", "Aggregate bandwidth"], ["a", 140, 3350]]
    table = read_table([grid(*rows)])
    assert table.header.row == first
    assert table.entries[0].origin.row == first + 1
    assert table.entries[0].origin.cells["weights_gb"] == f"B{first + 1}"


def test_columns_may_stand_anywhere_and_in_any_order():
    headers = [*[None] * 27, "Aggregate bandwidth", "Weights", None, "Name"]
    table = read_table([grid(headers, [*[None] * 27, 3350, 140, None, "a"])])
    assert table.entries[0].origin.cells == {"bandwidth_gb_s": "AB2", "weights_gb": "AC2", "name": "AE2"}
    assert table.scenarios[0].weights_gb == 140


def test_the_row_that_names_most_columns_is_the_header():
    table = read_table([grid(["Model", "Notes"], ["Name", "Weights", "Aggregate bandwidth"], ["a", 140, 3350])])
    assert table.header.row == 2
    # of equals the first
    table = read_table([grid(["Name", "Weights"], ["Name", "Weights"])])
    assert table.header.row == 1


def test_a_header_row_far_below_is_not_searched_for():
    rows = [["x"]] * 60
    with pytest.raises(PlannerError, match=r"^No sheet has a row of headers"):
        read_table([grid(*rows, ["Name", "Weights", "Aggregate bandwidth"], ["a", 140, 3350])])


# Which sheet.


def sheet(name, *headers, weights=140, **more):
    return grid(["Name", "Weights", "Aggregate bandwidth", *headers], ["a", weights, 3350], name=name, **more)


def test_the_sheet_named_scenarios_is_read_though_another_fits_better():
    table = read_table([sheet("Other", "Batch", "Devices"), sheet("SCENARIOS", weights=70)])
    assert (table.sheet, table.scenarios[0].weights_gb) == ("SCENARIOS", 70)


def test_without_such_a_sheet_the_best_fitting_one_is_read():
    table = read_table([sheet("First"), sheet("Second", "Batch", "Devices"), sheet("Third", "Batch")])
    assert table.sheet == "Second"
    # of equals the first
    assert read_table([sheet("First"), sheet("Second")]).sheet == "First"


def test_a_scenarios_sheet_without_headers_gives_way():
    assert read_table([grid(["hello"]), sheet("Other")]).sheet == "Other"


def test_a_sheet_asked_for_by_name_is_read():
    sheets = [sheet("Scenarios"), sheet("Q3 plan", weights=70)]
    assert read_table(sheets, "q3 PLAN").scenarios[0].weights_gb == 70


def test_a_sheet_asked_for_by_name_is_never_replaced_by_another():
    with pytest.raises(PlannerError) as caught:
        read_table([sheet("Scenarios"), grid(["hello"], name="Empty")], "Empty")
    assert str(caught.value) == (
        "Sheet 'Empty' has no row of headers that planner knows, such as Scenario, Parameters (billions), Precision, "
        "Bandwidth per device (GB/s). `planner new FILE.xlsx` writes a starter."
    )


def test_an_unknown_sheet_is_named_with_those_there_are():
    with pytest.raises(PlannerError) as caught:
        read_table([sheet("Scenarios"), sheet("Q3 plan")], "Q4")
    assert str(caught.value) == "No sheet named 'Q4'; the workbook has Scenarios, Q3 plan."


@pytest.mark.parametrize("grids", [[], [grid([])], [grid(["hello", 5])], [grid(["Name", "x"]), grid([], name="B")]])
def test_no_sheet_with_headers_stops_the_run(grids):
    with pytest.raises(PlannerError, match=r"^No sheet has a row of headers that planner knows, such as Scenario, "):
        read_table(grids)


def test_result_sheets_of_an_earlier_run_are_not_read():
    ours = sheet("Scenarios", "Batch", "Devices", ours=True)
    assert read_table([ours, sheet("Plan")]).sheet == "Plan"
    with pytest.raises(PlannerError, match="No sheet named 'Scenarios'; the workbook has Plan"):
        read_table([ours, sheet("Plan")], "Scenarios")


def test_issues_quote_the_sheet_as_excel_does():
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth"], ["a", 0, 3350], name="Bob's plan")])
    assert said(table) == ["'Bob''s plan'!B2: Weights is 0 GB; expected a number above 0 (GB)."]


@pytest.mark.parametrize(
    ("number", "letters"), [(1, "A"), (26, "Z"), (27, "AA"), (52, "AZ"), (702, "ZZ"), (703, "AAA"), (16384, "XFD")]
)
def test_column_letters(number, letters):
    assert column_letters(number) == letters


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Weights (GB)", ("Weights", "GB")),
        ("Weights [GB] ", ("Weights", "GB")),
        ("Weights( GB )", ("Weights", "GB")),
        ("Weights", ("Weights", "")),
        ("Weights (GB) total", ("Weights (GB) total", "")),
        ("Weights ()", ("Weights", "")),
        ("(GB)", ("", "GB")),
    ],
)
def test_split_unit(text, parts):
    assert split_unit(text) == parts


@given(st.text(max_size=40))
def test_any_header_is_read_without_failing(text):
    table = read_table([grid(["Name", "Weights", "Aggregate bandwidth", text], ["a", 140, 3350])])
    assert len(table.entries) == 1


def test_a_second_header_may_hold_a_year():
    """A number in a column of figures makes no scenario of a row whose texts name fields."""
    heads = ["Scenario", "Model", "Device", "Engine", "Notes"]
    row = ["{}", "Llama-3.1-8B", "H100 SXM", "vLLM", "as measured"]
    table = read_table(
        [
            grid(
                [*heads, "Batch", "Weights (GB)", "Bandwidth per device (GB/s)"],
                ["A", *row[1:], 8, 16, 3350],
                [],
                [*heads, 2026, None, None, "Weights (GB)", "Bandwidth per device (GB/s)"],
                ["B", *row[1:], None, None, None, 16, 3350],
            )
        ]
    )
    assert [scenario.name for scenario in table.scenarios] == ["A", "B"]
    assert "The row is a header again, and heads the rows below it" in [issue.problem for issue in table.issues]
