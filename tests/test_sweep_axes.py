import numpy as np
import pytest

from planner import catalog
from planner.issues import PlannerError
from planner.plan.bulk_columns import Words
from planner.plan.sweep_axes import (
    Axis,
    Grid,
    read_contexts,
    read_devices,
    read_models,
    read_numbers,
    read_words,
)


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [
        ("1,8, 32", [1, 8, 32]),
        ("1..4", [1, 2, 3, 4]),
        ("1..128x2", [1, 2, 4, 8, 16, 32, 64, 128]),
        ("1..100x3", [1, 3, 9, 27, 81]),
        ("1000..3000:1000", [1000, 2000, 3000]),
        ("1..10:4", [1, 5, 9]),
        ("8,1..3,8", [8, 1, 2, 3]),
        (["1,2", "4"], [1, 2, 4]),
        ([1, 2.0, "3"], [1, 2, 3]),
        (16, [16]),
        ("", []),
        # A thousand tripled steps must not stop short for a rounding error: 3^5 is 243.
        ("1..243x3", [1, 3, 9, 27, 81, 243]),
    ],
)
def test_numbers_and_ranges(typed, numbers):
    assert read_numbers("batch", typed) == numbers


@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        ("batch", "0", "Batch is 0; expected a whole number of at least 1."),
        ("batch", "1.5", "Batch is 1.5; expected a whole number of at least 1."),
        ("batch", "x,-1", "Batch is 'x', not a number; expected a whole number of at least 1; Batch is -1; expected a whole number of at least 1."),
        ("batch", "8..1", "Batch is '8..1', a range that goes nowhere; expected a range such as 1..8, 1000..8000:500 or 1..128x2."),
        ("batch", "1..8x1", "Batch is '1..8x1', a range that goes nowhere; expected a range such as 1..8, 1000..8000:500 or 1..128x2."),
        ("batch", "0..8x2", "Batch is '0..8x2', a range that goes nowhere; expected a range such as 1..8, 1000..8000:500 or 1..128x2."),
        ("batch", "1..8:0", "Batch is '1..8:0', a range that goes nowhere; expected a range such as 1..8, 1000..8000:500 or 1..128x2."),
        ("batch", "1..1000000", "Batch is '1..1000000', 999,999 numbers; expected at most 100,000."),
        ("batch", "1.2.3..4", "Batch is '1.2.3..4', not a range; expected a range such as 1..8, 1000..8000:500 or 1..128x2."),
        ("devices", "1..4x1.5", "Devices is 1.5; expected a whole number of at least 1."),
    ],
)  # fmt: skip
def test_numbers_that_are_refused(name, typed, problem):
    with pytest.raises(PlannerError) as refused:
        read_numbers(name, typed)
    assert str(refused.value) == problem


def test_contexts():
    assert read_contexts("2000+500") == [(2000, 500)]
    assert read_contexts("1000..4000x2+100..200:100") == [
        (prompt, output) for prompt in (1000, 2000, 4000) for output in (100, 200)
    ]
    assert read_contexts([(8, 9), "1+2"]) == [(8, 9), (1, 2)]


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("2000", "Context is '2000'; expected prompt and output in tokens, such as 2000+500."),
        ("1+2+3", "Context is '1+2+3'; expected prompt and output in tokens, such as 2000+500."),
        ("0+5,x+1", "Prompt is 0 tokens; expected a whole number of at least 1 (tokens); Prompt is 'x', not a number; expected a whole number of at least 1 (tokens)."),
        ([7], "Context is '7'; expected prompt and output in tokens, such as 2000+500."),
    ],
)  # fmt: skip
def test_contexts_that_are_refused(typed, problem):
    with pytest.raises(PlannerError) as refused:
        read_contexts(typed)
    assert str(refused.value) == problem


def test_devices_by_name_pattern_class_and_all():
    assert read_devices("h100 sxm, rtx4090") == ["H100 SXM5 80GB", "GeForce RTX 4090 24GB"]
    assert read_devices("H100*") == ["H100 NVL 94GB", "H100 PCIe 80GB", "H100 SXM5 80GB"]
    assert read_devices("H100 SXM,H100*")[0] == "H100 SXM5 80GB"
    assert len(read_devices("H100 SXM,H100*")) == 3
    of_class = [device.name for device in catalog.devices() if device.device_class == "amd-dc-hbm"]
    assert read_devices("class:amd-dc-hbm") == read_devices("class:Instinct") == of_class
    assert read_devices("all") == [device.name for device in catalog.devices()]


def test_models_by_name_pattern_and_all():
    assert read_models("meta-llama/Llama-3.1-70B-Instruct") == ["Llama-3.1-70B"]
    assert read_models("qwen3-*") == [m.name for m in catalog.models() if m.name.casefold().startswith("qwen3-")]
    assert len(read_models("ALL")) == len(catalog.models())


def test_every_name_that_is_not_known_is_said_with_the_nearest():
    with pytest.raises(PlannerError) as refused:
        read_devices("H100, H100 SXN, zzz*")
    assert str(refused.value) == (
        "H100 leaves open which device: H100 NVL 94GB, H100 PCIe 80GB or H100 SXM5 80GB; no device is named H100 SXN, did "
        f"you mean {', '.join(catalog.nearest_devices('H100 SXN')[:-1])} or {catalog.nearest_devices('H100 SXN')[-1]}?; "
        "no device fits zzz*."
    )
    with pytest.raises(PlannerError, match="No model is named qqqqq; `planner catalog models` shows them all"):
        read_models("qqqqq")
    with pytest.raises(PlannerError, match="No class of devices is called 'x'; expected one of nv-dc-hbm, "):
        read_devices("class:x")


def test_precisions_in_their_known_spelling_and_native():
    assert read_words("precision", "fp16,half,q4_k_m,4.85,native") == ["FP16", "Q4_K_M", "4.85", ""]
    with pytest.raises(PlannerError, match="Precision is 'fp17', an unknown precision"):
        read_words("precision", "fp17")


def test_a_grid_counts_its_points_the_last_axis_fastest():
    grid = Grid(
        (
            Axis.of("devices", {"device": ["A", "B"]}),
            Axis.of("contexts", {"prompt_tokens": [1, 2, 3], "output_tokens": [4, 5, 6]}),
        ),
        {"batch": 7},
    )
    columns = grid.columns(0, grid.size)
    assert (grid.size, grid.shape) == (6, (2, 3))
    assert columns["device"].texts().tolist() == ["A", "A", "A", "B", "B", "B"]
    assert columns["prompt_tokens"].tolist() == [1, 2, 3, 1, 2, 3]
    assert columns["output_tokens"].tolist() == [4, 5, 6, 4, 5, 6]
    assert columns["batch"] == 7
    part = grid.columns(2, 5)
    assert isinstance(part["device"], Words)
    assert part["device"].texts().tolist() == ["A", "B", "B"]


def test_points_are_grouped_by_what_they_have_and_not_by_where_they_stand():
    grid = Grid(
        (
            Axis.of("scenarios", {"model": ["A", "B", "A"], "prompt_tokens": [1, 1, np.nan]}),
            Axis.of("batches", {"batch": [1, 2]}),
        )
    )
    numbered, there = grid.groups(("model",))
    assert (numbered(0, 6).tolist(), there) == ([0, 0, 1, 1, 0, 0], 2)
    numbered, there = grid.groups(("model", "prompt_tokens"))
    assert (numbered(2, 6).tolist(), there) == ([1, 1, 2, 2], 3)
    assert grid.groups(())[1] == 1
