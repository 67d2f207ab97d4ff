import dataclasses

import pytest

from planner.issues import PlannerError
from planner.plan.evaluate import evaluate
from planner.plan.scenario import Scenario
from planner.plan.variants import (
    DEFAULT_BATCHES,
    DEFAULT_PRECISIONS,
    TableCell,
    TableColumn,
    TableRow,
    at_batch,
    at_precision,
    read_batches,
    read_precisions,
    speed_table,
)

EXAMPLE = Scenario(
    name="worked example",
    params_b=70,
    precision="FP16",
    bandwidth_gb_s=3350,
    efficiency=0.85,
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    prefill_tokens_per_sec=9000,
)
RESULT = evaluate(EXAMPLE)


def approx(value):
    return pytest.approx(value, rel=1e-12)


# Precisions.


@pytest.mark.parametrize(
    ("precision", "weights", "printed"),
    [
        # 140 x bits / 16; 2,847.5 / weights
        ("FP32", 280, "10.17"),
        ("FP16", 140, "20.34"),
        ("INT8", 70, "40.68"),
        ("FP6", 52.5, "54.24"),
        ("INT4", 35, "81.36"),
        ("MXFP4", 37.1875, "76.57"),
        ("Q4_K_M", 42.4375, "67.10"),
        ("4.5", 39.375, "72.32"),
    ],
)
def test_the_worked_example_at_other_precisions(precision, weights, printed):
    variant = at_precision(RESULT, precision)
    assert variant.weights_gb == approx(weights)
    assert f"{variant.tokens_per_sec:.2f}" == printed
    assert variant.scenario.precision == precision
    # all else stays
    assert variant.time_to_first_token_s == RESULT.time_to_first_token_s
    assert variant.scenario.batch == 8


def test_int8_gives_the_figures_of_an_int8_scenario():
    variant = at_precision(RESULT, "INT8")
    typed = evaluate(dataclasses.replace(EXAMPLE, precision="INT8"))
    for name in ("tokens_per_sec", "aggregate_tokens_per_sec", "response_time_s", "requests_per_hour"):
        assert getattr(variant, name) == approx(getattr(typed, name))
    assert round(variant.requests_per_hour) == 2301


def test_its_own_precision_changes_nothing():
    variant = at_precision(RESULT, "FP16")
    assert variant.tokens_per_sec == RESULT.tokens_per_sec


def test_a_typed_size_scales_by_the_ratio_of_bits():
    # 42.52 GB at Q4_K_M (4.85 bits); at FP16 42.52 x 16 / 4.85 = 140.27, whatever the parameters say
    result = evaluate(Scenario(params_b=1, weights_gb=42.52, precision="Q4_K_M", bandwidth_gb_s=3350))
    assert at_precision(result, "FP16").weights_gb == approx(42.52 * 16 / 4.85)
    assert at_precision(result, "Q4_K_M").weights_gb == approx(42.52)


def test_without_a_precision_there_is_no_variant():
    result = evaluate(Scenario(weights_gb=140, bandwidth_gb_s=3350))
    assert at_precision(result, "INT8") is None


def test_the_fit_of_a_variant_follows_its_weights():
    result = evaluate(dataclasses.replace(EXAMPLE, device_memory_gb=80))
    assert result.weights_memory_share == 1.75
    assert at_precision(result, "INT8").weights_memory_share == 0.875


# Batches.


@pytest.mark.parametrize("batch", DEFAULT_BATCHES)
def test_batch_multiplies_the_aggregate_and_leaves_a_stream_alone(batch):
    variant = at_batch(RESULT, batch)
    assert variant.tokens_per_sec == RESULT.tokens_per_sec
    assert variant.response_time_s == RESULT.response_time_s
    assert variant.aggregate_tokens_per_sec == approx(2847.5 / 140 * batch)
    assert variant.requests_per_hour == approx(batch * 3600 / RESULT.response_time_s)
    assert variant.scenario.batch == batch


def test_its_own_batch_gives_its_own_figures():
    assert at_batch(RESULT, 8).requests_per_hour == RESULT.requests_per_hour


def test_a_variant_leaves_the_result_alone():
    before = dataclasses.astuple(dataclasses.replace(RESULT, sources={}))
    at_batch(RESULT, 64)
    at_precision(RESULT, "INT4")
    assert dataclasses.astuple(dataclasses.replace(RESULT, sources={})) == before


# Options.


def test_defaults():
    assert DEFAULT_PRECISIONS == ("FP16", "INT8", "INT4")
    assert DEFAULT_BATCHES == (1, 2, 4, 8, 16, 32, 64, 128)
    assert read_precisions(DEFAULT_PRECISIONS) == DEFAULT_PRECISIONS
    assert read_batches(DEFAULT_BATCHES) == DEFAULT_BATCHES


def test_precisions_are_read_as_in_a_cell_each_once():
    assert read_precisions(["fp8", "q4-k-m", "FP8", "half", "4.5"]) == ("FP8", "Q4_K_M", "FP16", "4.5")
    with pytest.raises(PlannerError, match="--precisions names none"):
        read_precisions([])
    with pytest.raises(PlannerError, match="--batches names none"):
        read_batches([])


def test_batches_are_read_as_in_a_cell_each_once_in_rising_order():
    assert read_batches(["8", 1, "1 024", 8.0, "2x"]) == (1, 2, 8, 1024)
    assert read_batches(range(1, 33)) == tuple(range(1, 33))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ["FP17"],
            "--precisions: Precision is 'FP17', an unknown precision (did you mean FP16 or FP8 or FP6?); expected a precision",
        ),
        (["FP16", ""], "--precisions: Precision is '', an unknown precision; expected a precision"),
        (["0"], "--precisions: Precision is 0 bits per weight; expected a precision"),
    ],
)
def test_unknown_precisions_stop_the_run(names, said):
    with pytest.raises(PlannerError) as caught:
        read_precisions(names)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (["0"], "--batches: Batch is 0; expected a whole number of at least 1."),
        (["2.5"], "--batches: Batch is 2.5; expected a whole number of at least 1."),
        (["-1"], "--batches: Batch is -1; expected a whole number of at least 1."),
        (["eight"], "--batches: Batch is 'eight', not a number; expected a whole number of at least 1."),
        (["1,000"], "--batches: Batch is '1,000', a point or comma that may group thousands or start decimals: "),
        (["1-8"], "--batches: Batch is '1-8', a range: it may mean 1 or 8; expected one plain number."),
        (range(1, 34), "33 batch sizes asked for; expected at most 32."),
    ],
)
def test_bad_batches_stop_the_run(sizes, said):
    with pytest.raises(PlannerError) as caught:
        read_batches(sizes)
    assert str(caught.value).startswith(said)


# The speed table.


def table_of(*scenarios, **options):
    return speed_table([evaluate(scenario) for scenario in scenarios], **options)


def test_the_standard_table_has_these_twelve_cells():
    table = table_of()
    printed = [[f"{table.cell(row, column).tokens_per_sec:.1f}" for column in table.columns] for row in table.rows]
    assert printed == [
        ["72.0", "145.6", "239.3"],
        ["28.8", "58.3", "95.7"],
        ["14.4", "29.1", "47.9"],
        ["7.2", "14.6", "23.9"],
    ]
    assert [row.label for row in table.rows] == ["7B at FP16", "70B at INT4", "70B at INT8", "70B at FP16"]
    assert [column.label for column in table.columns] == ["RTX 4090", "A100 80GB SXM", "H100 SXM"]
    assert [column.memory_gb for column in table.columns] == [24, 80, 80]
    assert table.left_out == 0


def test_the_standard_table_marks_what_does_not_fit_one_device():
    table = table_of()
    # usable: 24 x 0.9 = 21.6 GB, 80 x 0.9 = 72 GB
    fits = [[table.cell(row, column).fits for column in table.columns] for row in table.rows]
    assert fits == [[True, True, True], [False, True, True], [False, True, True], [False, False, False]]
    needed = [table.cell(table.rows[3], column).devices_needed for column in table.columns]
    # 140 / 21.6 = 6.48; 140 / 72 = 1.94
    assert needed == [7, 2, 2]


def test_only_rates_below_reading_pace_are_slow():
    table = table_of()
    slow = {
        (row.weights_gb, column.label) for row in table.rows for column in table.columns if table.cell(row, column).slow
    }
    assert slow == {(140, "RTX 4090")}
    assert not TableCell(10.0, None).slow
    assert TableCell(9.999, None).slow


@pytest.mark.parametrize(("needed", "fits"), [(None, None), (1, True), (2, False)])
def test_a_cell_without_memory_neither_fits_nor_fails(needed, fits):
    assert TableCell(20.0, needed).fits is fits


def test_the_scenarios_weights_and_bandwidths_stand_beside_the_standard_ones_in_order():
    table = table_of(
        Scenario(name="mine", params_b=8, precision="FP8", device_bandwidth_gb_s=4800, devices=2, device_memory_gb=141)
    )
    assert [row.weights_gb for row in table.rows] == [8, 14, 35, 70, 140]
    assert table.rows[0].label == "8B at FP8"
    assert [column.bandwidth_gb_s for column in table.columns] == [1008, 2039, 3350, 9600]
    mine = table.columns[-1]
    assert (mine.label, mine.memory_gb, mine.devices) == ("2 x 4,800 GB/s", 141, 2)
    # 140 GB in 2 x 141 x 0.9
    assert table.cell(table.rows[-1], mine).fits
    assert table.cell(table.rows[-1], mine).tokens_per_sec == approx(9600 / 140)


@pytest.mark.parametrize(
    ("scenario", "label"),
    [
        (Scenario(name="n", model="Qwen", params_b=8, precision="FP8", bandwidth_gb_s=1), "Qwen at FP8"),
        (Scenario(name="n", params_b=8, precision="FP8", bandwidth_gb_s=1), "8B at FP8"),
        (Scenario(name="n", weights_gb=8, precision="FP8", bandwidth_gb_s=1), "at FP8"),
        (Scenario(name="n", weights_gb=8, bandwidth_gb_s=1), "n"),
        (Scenario(name="n", params_b=1.5, weights_gb=8, bandwidth_gb_s=1), "1.5B"),
    ],
)
def test_a_row_is_labelled_by_what_is_known_of_its_weights(scenario, label):
    (row,) = [row for row in table_of(scenario).rows if row.weights_gb == evaluate(scenario).weights_gb]
    assert row.label == label


def test_equal_weights_and_bandwidths_stand_once():
    table = table_of(EXAMPLE, dataclasses.replace(EXAMPLE, name="again", batch=1))
    assert (len(table.rows), len(table.columns)) == (4, 3)
    # 70 x 4.8 / 8 = 42.0 and 42.00000000000001 are one row
    table = table_of(
        Scenario(params_b=70, precision=4.8, bandwidth_gb_s=3350), Scenario(weights_gb=42, bandwidth_gb_s=3350)
    )
    assert len(table.rows) == 5


def test_the_same_bandwidth_from_more_devices_is_another_column():
    table = table_of(
        Scenario(name="one", weights_gb=14, bandwidth_gb_s=3350),
        Scenario(name="two", weights_gb=14, device_bandwidth_gb_s=1675, devices=2),
    )
    assert [(column.bandwidth_gb_s, column.devices) for column in table.columns[-2:]] == [(3350, 1), (3350, 2)]


def test_memory_fills_a_column_that_had_none():
    without = Scenario(name="without", weights_gb=14, bandwidth_gb_s=5000)
    with_memory = dataclasses.replace(without, name="with", device_memory_gb=192)
    for scenarios in ((without, with_memory), (with_memory, without)):
        assert table_of(*scenarios).columns[-1].memory_gb == 192
    assert table_of(without).columns[-1].memory_gb is None
    # a device of the same bandwidth and another memory is another device
    both = table_of(dataclasses.replace(with_memory, bandwidth_gb_s=3350)).columns
    assert [(column.bandwidth_gb_s, column.memory_gb) for column in both[-2:]] == [(3350, 80), (3350, 192)]


def test_the_table_is_cut_at_its_limit_and_says_by_how_much():
    many = [Scenario(name=f"s{n}", weights_gb=n, bandwidth_gb_s=5000 + n) for n in range(1, 13)]
    table = table_of(*many)
    # the standard 4 and 3 stay; of 12 new ones 8 and 9 find room
    assert (len(table.rows), len(table.columns), table.left_out) == (12, 12, 4 + 3)
    assert {14, 35, 70, 140} <= {row.weights_gb for row in table.rows}
    assert {1008, 2039, 3350} <= {column.bandwidth_gb_s for column in table.columns}
    assert list(table.rows) == sorted(table.rows, key=lambda row: row.weights_gb)
    assert table_of(*many, limit=40).left_out == 0


def test_a_pair_is_weights_over_bandwidth():
    cell = table_of().cell(TableRow(10.0, ""), TableColumn(500.0, "", 24.0, 2))
    # 500 / 10; 10 GB of 48 x 0.9
    assert (cell.tokens_per_sec, cell.devices_needed) == (50, 1)


def test_a_column_of_unknown_memory_marks_nothing():
    table = table_of(Scenario(name="n", weights_gb=14, bandwidth_gb_s=5000))
    assert {table.cell(row, table.columns[-1]).fits for row in table.rows} == {None}


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({"device_bandwidth_gb_s": 4800, "devices": 2}, "2 x 4,800 GB/s"),
        ({"device_bandwidth_gb_s": 4800}, "1 x 4,800 GB/s"),
        ({"bandwidth_gb_s": 9600, "devices": 2}, "9,600 GB/s in all"),
    ],
)
def test_a_column_says_whether_its_figure_is_each_devices_or_all_devices(given, label):
    assert table_of(Scenario(name="n", weights_gb=14, **given)).columns[-1].label == label
