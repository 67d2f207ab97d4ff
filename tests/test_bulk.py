"""Many scenarios at once are each what a single one is: completed, refused, and every figure."""

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from planner import catalog
from planner.catalog import find_device
from planner.columns import Text
from planner.issues import Issue, PlannerError
from planner.plan.bulk import columns_of_results, compute_columns, evaluate_columns, evaluate_each, evaluate_many
from planner.plan.bulk_columns import NUMBERS, TEXTS, Words, listed, objects_of
from planner.plan.bulk_fill import complete_columns, resolve_each
from planner.plan.evaluate import WAYS, compute, evaluate_resolved, known_of
from planner.plan.fill import Library
from planner.plan.recipes import RECIPES, way_of
from planner.plan.resolve import resolve
from planner.plan.scenario import COLUMNS, FIGURES, Scenario

TOKENS = {"prompt_tokens": 2000.0, "output_tokens": 500.0}
H100 = {"device": "H100 SXM", "engine": "vLLM", **TOKENS}
DENSE = {"model": "Llama-3.1-70B", "precision": "FP8", "devices": 2.0, "batch": 8.0}
MIXTURE = {"model": "Mixtral-8x7B-v0.1", "devices": 2.0, "batch": 8.0}
WINDOWS = {"model": "gpt-oss-20b", "batch": 4.0}
RENTED = {"device_cost_h": 2.5, "busy_share": 0.5}
OWNED = {"device_capex_cost": 30_000.0, "device_residual_cost": 3_000.0, "useful_life_years": 4.0, "busy_share": 0.3}
OWNED |= {"tariff_cost_kwh": 0.2, "device_hosting_cost_month": 90.0, "currency": "EUR"}
API = {"input_cost_m": 0.5, "output_cost_m": 3.0}
KINDS = {
    "the core alone": {"params_b": 70.0, "precision": "FP16", "bandwidth_gb_s": 3350.0, "efficiency": 0.85},
    "a typed size": {"weights_gb": 42.5, "device": "RTX 4090", "devices": 2.0},
    "dense": H100 | DENSE,
    "a rounded count of parameters": H100 | DENSE | {"params_b": 70.0},
    "mixture": H100 | MIXTURE,
    "mixture by its sizes": H100 | MIXTURE | {"active_weights_gb": 25.8, "weights_gb": 93.4},
    "mixture with experts at a precision of their own": H100 | MIXTURE | {"expert_precision": "INT4"},
    "mixture in which experts are typed": H100 | {"params_b": 47.0, "active_params_b": 13.0, "precision": "FP16"}
    | {"experts": 8.0, "active_experts": 2.0},
    "mixture in which experts and their precision are typed": H100
    | {"params_b": 47.0, "active_params_b": 13.0, "precision": "FP16", "expert_precision": "INT4"}
    | {"experts": 8.0, "active_experts": 2.0},
    "mixture of which the streamed parameters are typed": H100 | MIXTURE | {"streamed_params_b": 12.5},
    "the same with experts at a precision of their own": H100 | MIXTURE
    | {"streamed_params_b": 12.5, "expert_precision": "INT4"},
    "experts of a model that has none": H100 | DENSE | {"experts": 8.0, "expert_precision": "FP8"},
    "a part above its whole": H100 | DENSE | {"active_params_b": 90.0},
    "layers fewer than those with a cache": H100 | {"params_b": 0.1, "precision": "FP8", "kv_layers": 40.0},
    "every layer keeps a cache": H100 | {"params_b": 8.0, "precision": "FP8", "kv_heads": 8.0, "head_dim": 128.0},
    "heads shared by more devices than there are": H100 | DENSE | {"devices": 16.0},
    "latent attention": H100 | {"model": "DeepSeek-V3", "devices": 8.0, "batch": 64.0},
    "sparse latent attention": H100 | {"model": "DeepSeek-V3.2", "devices": 8.0, "kv_precision": "FP8"},
    "windows": H100 | WINDOWS,
    "windows that the engine caps": H100 | WINDOWS | {"window_reserve": "capped"},
    "nothing but windows": H100 | WINDOWS | {"window_reserve": "capped", "full_layers": 0.0, "window_tokens": 128.0},
    "a cache of its own size": H100 | DENSE | {"kv_bytes_per_token": 163_840.0},
    "no cache": H100 | DENSE | {"kv_bytes_per_token": 0.0},
    "layer split": H100 | DENSE | {"split": "layers"},
    "added arithmetic": {"device": "RTX 4090", "engine": "llama.cpp", "model": "Llama-3.1-8B", "batch": 8.0} | TOKENS,
    "added arithmetic over layers": {"device": "RTX 4090", "engine": "llama.cpp", "model": "Llama-3.1-8B"} | TOKENS
    | {"devices": 2.0, "split": "layers", "batch": 8.0},
    "added arithmetic and stalls": H100 | DENSE | {"arithmetic": "added"},
    "a class without a device": {"device_class": "apple", "bandwidth_gb_s": 400.0, "params_b": 8.0, "precision": "Q4_K_M"},
    "a model without tokens": {"device": "H100 SXM", "model": "Llama-3.1-70B"},
    "no class and a peak": {"weights_gb": 16.0, "precision": "FP16", "bandwidth_gb_s": 1000.0, "peak_tflop_s": 100.0}
    | {"efficiency": 0.7},
    "no layers": {"weights_gb": 16.0, "bandwidth_gb_s": 1000.0, **TOKENS, "efficiency": 0.7},
    "prefill rate": H100 | DENSE | {"prefill_tokens_per_sec": 9000.0, "cached_tokens": 500.0, "occupancy": 0.5},
    "prefill elsewhere": H100 | DENSE | {"prefill_on": "apart"},
    "queue below capacity": H100 | DENSE | {"offered_requests_per_hour": 100.0},
    "queue above capacity": H100 | DENSE | {"offered_requests_per_hour": 1e6, "replicas": 3.0},
    "queue of the core": {"weights_gb": 16.0, "bandwidth_gb_s": 1000.0, **TOKENS, "prefill_tokens_per_sec": 9000.0}
    | {"efficiency": 0.7, "offered_requests_per_hour": 100.0},
    "draft": H100 | DENSE | {"draft_tokens": 4.0, "acceptance": 0.7, "draft_step_ms": 1.0},
    "draft always accepted": H100 | DENSE | {"draft_tokens": 4.0, "acceptance": 1.0},
    "rented": H100 | DENSE | RENTED,
    "rented by the instance": H100 | DENSE | {"instance_cost_h": 20.0, "instance_devices": 8.0, "busy_share": 0.5},
    "rented, with electricity": H100 | DENSE | RENTED | {"tariff_cost_kwh": 0.2, "device_power_w": 700.0},
    "rented, prefill elsewhere": H100 | DENSE | RENTED | {"prefill_on": "apart"},
    "rented, with a draft": H100 | DENSE | RENTED | {"draft_tokens": 4.0, "acceptance": 0.7, "draft_step_ms": 1.0},
    "owned": H100 | DENSE | OWNED,
    "owned, with staff alone": H100 | DENSE | {"device_capex_cost": 30_000.0, "useful_life_years": 4.0}
    | {"busy_share": 0.3, "staff_cost_month": 9_000.0},
    "busy as the load asks": H100 | DENSE | {"device_cost_h": 2.5, "offered_requests_per_hour": 100.0},
    "busy as the requests of a month ask": H100 | DENSE | {"device_cost_h": 2.5, "requests_month": 10_000.0},
    "more requests than a month holds": H100 | DENSE | {"device_cost_h": 2.5, "requests_month": 1e9},
    "a load beyond capacity, priced": H100 | DENSE | {"device_cost_h": 2.5, "offered_requests_per_hour": 1e6},
    "rented, of the core": {"weights_gb": 16.0, "bandwidth_gb_s": 1000.0, "devices": 1.0, **TOKENS, "efficiency": 0.7}
    | RENTED | {"prefill_tokens_per_sec": 9000.0},
    "busy as the core's load": {"weights_gb": 16.0, "bandwidth_gb_s": 1000.0, **TOKENS, "efficiency": 0.7}
    | {"prefill_tokens_per_sec": 9000.0, "offered_requests_per_hour": 100.0, "device_cost_h": 2.5},
    "API": H100 | DENSE | API,
    "API with a cached price": H100 | DENSE | API | {"cached_cost_m": 0.05, "cached_tokens": 500.0},
    "API with a price of cache writes": H100 | DENSE | API | {"cache_write_cost_m": 0.6, "cache_write_tokens": 300.0},
    "API with both": H100 | DENSE | RENTED | API | {"cached_cost_m": 0.05, "cached_tokens": 500.0}
    | {"cache_write_cost_m": 0.6, "cache_write_tokens": 300.0},
    "a free API": H100 | DENSE | RENTED | {"input_cost_m": 0.0, "output_cost_m": 0.0},
    "caching and a prefill rate": H100 | DENSE | RENTED | {"prefill_tokens_per_sec": 9000.0, "cached_tokens": 500.0},
    "caching over split layers": H100 | DENSE | RENTED | {"split": "layers", "cached_tokens": 500.0},
    "caching without heads": H100 | RENTED | {"params_b": 8.0, "precision": "FP8", "cached_tokens": 500.0} | TOKENS,
    "an implausible price": H100 | DENSE | RENTED | {"output_cost_m": 0.000_003},
    "two prices that differ": H100 | DENSE | RENTED | {"instance_cost_h": 30.0, "instance_devices": 8.0},
    "unknown device": {"device": "Nonesuch 9000", "weights_gb": 16.0},
    "unknown device, complete": {"device": "Nonesuch 9000", "weights_gb": 16.0, "bandwidth_gb_s": 1000.0},
    "open model": {"device": "H100 SXM", "model": "llama 70b"},
    "no size": {"bandwidth_gb_s": 1000.0},
    "no precision": {"params_b": 8.0, "bandwidth_gb_s": 1000.0},
    "no bandwidth": {"weights_gb": 16.0},
    "contradiction": {"weights_gb": 16.0, "bandwidth_gb_s": 1000.0, "device_bandwidth_gb_s": 800.0, "devices": 2.0},
    "refused": H100 | DENSE | {"efficiency": 2.0, "kv_precision": "junk"},
}  # fmt: skip


# What no completed scenario lacks may still be taken from one that was: the ways to do without it hold as well.
LESS = {
    "without layers": H100 | DENSE | {"layers": None, "heads": None},
    "without an estimate": H100 | DENSE | {"prefill_tokens_per_sec": 9000.0, "offered_requests_per_hour": 100.0}
    | {"fetch_efficiency": None},
}  # fmt: skip


def with_less(kind):
    resolution = resolve(Scenario(**{name: value for name, value in kind.items() if value is not None}))
    less = {name: None for name, value in kind.items() if value is None}
    return dataclasses.replace(resolution, scenario=dataclasses.replace(resolution.scenario, **less))


def same(scenarios, found):
    """Each row is what its scenario comes to on its own."""
    for number, scenario in enumerate(scenarios):
        resolution = resolve(scenario)
        assert found.ok[number] == resolution.ok, resolution.issues
        if not resolution.ok:
            assert set(found.row(number).values()) == {None}
            continue
        expected, row = compute(resolution.scenario), found.row(number)
        assert row.keys() == FIGURES.keys()
        for name, value in expected.items():
            assert row[name] == approx(value), name
        assert found.completed.sources_of(number) == resolution.sources


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_scenario_is_what_it_is_alone(kind):
    alone = Scenario(**KINDS[kind])
    counts = {name: getattr(alone, name) for name in ("batch", "prompt_tokens", "params_b", "weights_gb", "efficiency")}
    others = [
        dataclasses.replace(
            alone,
            **{
                name: min(value * part, 1.0) if value <= 1 else float(math.ceil(value * part))
                for name, value in counts.items()
                if value is not None
            },
        )
        for part in (0.5, 0.9, 1.5)
    ]
    # One alone is filled by the scalar road, several by columns.
    same([alone], evaluate_many([alone]))
    same([alone, *others], evaluate_many([alone, *others]))


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        ("dense", "device", ["H100 SXM", "A100 SXM4 80GB"]),
        ("dense", "model", ["Llama-3.1-70B", "Llama-3.1-8B"]),
        ("dense", "engine", ["vLLM", "llama.cpp"]),
        ("dense", "precision", ["FP16", "FP8"]),
        ("dense", "devices", [1.0, 2.0, 4.0]),
        ("dense", "batch", [1.0, 2.0, 4.0]),
        ("every layer keeps a cache", "layers", [30.0, 31.0]),
        ("layers fewer than those with a cache", "kv_layers", [40.0, 41.0]),
        ("layer split", "split", ["layers", "tensor"]),
        ("sparse latent attention", "kv_precision", ["FP8", "FP16"]),
        ("a class without a device", "device_class", ["apple", "cpu"]),
        ("a typed size", "weights_gb", [10.0, 42.5]),
        ("mixture with experts at a precision of their own", "expert_precision", ["INT4", "FP8"]),
        ("mixture with experts at a precision of their own", "params_b", [46.7, 50.0]),
        ("mixture with experts at a precision of their own", "active_params_b", [12.9, 20.0]),
        ("mixture with experts at a precision of their own", "experts", [8.0, 16.0]),
        ("mixture with experts at a precision of their own", "active_experts", [2.0, 4.0, 8.0]),
    ],
)
def test_rows_that_differ_in_what_fills_them_are_filled_apart(kind, name, values):
    scenarios = [Scenario(**KINDS[kind] | {name: value}) for value in values for _ in range(2)]
    found = evaluate_many(scenarios)
    same(scenarios, found)
    assert len({found.figures["estimated_tokens_per_sec"][number] for number in range(len(scenarios))}) == len(values)


def test_all_kinds_together():
    scenarios = [Scenario(**kind) for kind in KINDS.values()] * 3
    same(scenarios, evaluate_many(scenarios))


def test_what_a_completed_scenario_lacks_it_does_without():
    found = evaluate_many([with_less(kind) for kind in LESS.values()])
    for number, kind in enumerate(LESS.values()):
        expected = compute(with_less(kind).scenario)
        assert found.row(number) == {name: approx(value) for name, value in expected.items()}


def test_the_kinds_reach_every_way_to_make_a_figure():
    taken = set()
    for resolution in (*(resolve(Scenario(**kind)) for kind in KINDS.values()), *map(with_less, LESS.values())):
        if resolution.ok:
            inputs = known_of(resolution.scenario)
            known = inputs | compute(resolution.scenario)
            made = [name for name in RECIPES if inputs.get(name) is None and known[name] is not None]
            taken |= {(name, RECIPES[name].index(way_of(name, known))) for name in made}
    assert {(name, number) for name, ways in RECIPES.items() for number in range(len(ways))} == taken


def approx(value):
    return value if value is None else pytest.approx(value, rel=1e-12, abs=0)


def maybe(strategy):
    return st.none() | strategy


def counts(*values):
    return st.sampled_from([float(value) for value in values])


def floats(low, high):
    return st.floats(low, high)


SCENARIOS = st.builds(
    Scenario,
    device=st.sampled_from(["", "Nonesuch", "H100", *(device.name for device in catalog.devices())]),
    model=st.sampled_from(["", "", "mine", "llama 70b", *(model.name for model in catalog.models())]),
    engine=st.sampled_from(["", "vLLM", "llama.cpp", "MLX", "mine"]),
    precision=maybe(st.sampled_from(["FP16", "FP8", "INT4", "Q4_K_M", "MXFP4", "4.85", "FP32", 6, "junk"])),
    expert_precision=maybe(st.sampled_from(["FP8", "MXFP4"])),
    kv_precision=maybe(st.sampled_from(["FP8", "FP16"])),
    params_b=maybe(floats(0.1, 1000)),
    weights_gb=maybe(floats(0.1, 2000)),
    device_bandwidth_gb_s=maybe(floats(10, 10_000)),
    bandwidth_gb_s=maybe(floats(10, 10_000)),
    devices=maybe(counts(1, 2, 8)),
    split=maybe(st.sampled_from(["tensor", "layers"])),
    batch=maybe(counts(1, 2, 8, 32, 500)),
    prompt_tokens=maybe(counts(1, 100, 50_000)),
    output_tokens=maybe(counts(1, 100, 4000)),
    efficiency=maybe(floats(0.1, 1) | st.sampled_from(["85%", 85, "half", 2.0])),
    prefill_tokens_per_sec=maybe(floats(100, 1e5)),
    device_memory_gb=maybe(floats(8, 300)),
    device_class=maybe(st.sampled_from(list(catalog.DEVICE_CLASSES))),
    peak_tflop_s=maybe(floats(10, 3000)),
    active_params_b=maybe(floats(0.1, 50)),
    active_weights_gb=maybe(floats(0.1, 50)),
    experts=maybe(counts(8, 64, 128)),
    active_experts=maybe(counts(1, 2, 7)),
    full_layers=maybe(counts(0, 4, 20)),
    window_tokens=maybe(counts(128, 4096)),
    window_reserve=maybe(st.sampled_from(["full", "Capped"])),
    kv_bytes_per_token=maybe(floats(1e3, 1e6) | st.just(0.0)),
    cached_tokens=maybe(counts(0, 50, 9000)),
    prefill_on=maybe(st.sampled_from(["shared", "apart"])),
    arithmetic=maybe(st.sampled_from(["added", "overlaps"])),
    draft_tokens=maybe(counts(1, 5)),
    acceptance=maybe(floats(0.01, 1)),
    offered_requests_per_hour=maybe(floats(1, 1e5)),
    replicas=maybe(counts(1, 4)),
    currency=maybe(st.sampled_from(["USD", "EUR", "JPY"])),
    device_cost_h=maybe(floats(0.001, 40)),
    instance_cost_h=maybe(floats(1, 100)),
    instance_devices=maybe(counts(1, 8)),
    device_capex_cost=maybe(floats(1000, 60_000)),
    device_residual_cost=maybe(floats(0, 2000)),
    useful_life_years=maybe(floats(1, 8)),
    tariff_cost_kwh=maybe(floats(0, 0.5)),
    staff_cost_month=maybe(floats(0, 1e5)),
    busy_share=maybe(floats(0.05, 1)),
    input_cost_m=maybe(floats(0.01, 20)),
    cached_cost_m=maybe(floats(0.01, 20)),
    cache_write_cost_m=maybe(floats(0.01, 20)),
    cache_write_tokens=maybe(counts(0, 50)),
    output_cost_m=maybe(floats(0.0005, 2000)),
    requests_month=maybe(floats(1, 1e6)),
)


# A failing example is found again and again while it is made smaller, which takes minutes for so many fields.
@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(SCENARIOS, min_size=1, max_size=6), counts(1, 3, 32))
def test_any_scenarios_are_what_they_are_alone(scenarios, batch):
    # The second half differs from the first by numbers alone, so that rows are filled together.
    scenarios += [
        dataclasses.replace(each, batch=batch, params_b=each.params_b and each.params_b / 2) for each in scenarios
    ]
    same(scenarios, evaluate_many(scenarios))


def test_more_rows_than_are_worked_on_together():
    batches = np.arange(1.0, 20_001)
    found = evaluate_columns({"weights_gb": 140, "bandwidth_gb_s": 3350.0, "batch": batches})
    # 3,350 / 140 x batch
    assert found.figures["aggregate_tokens_per_sec"] == pytest.approx(3350 / 140 * batches, rel=1e-12)
    assert len(found) == 20_000
    assert found.ok.all()


def test_columns_are_lists_or_arrays_or_a_single_value():
    found = evaluate_columns(
        {
            "device": np.array(["H100 SXM", "", "H100 SXM"]),
            "model": "Llama-3.1-70B",
            "bandwidth_gb_s": [None, 1000, float("nan")],
            "precision": ["FP16", "8", None],
            "batch": np.array([1, 2, 3]),
            "efficiency": ["85%", 0.5, None],
            "engine": None,
        }
    )
    same(
        [
            Scenario(device="H100 SXM", model="Llama-3.1-70B", precision="FP16", batch=1, efficiency="85%"),
            Scenario(bandwidth_gb_s=1000, model="Llama-3.1-70B", precision="8", batch=2, efficiency=0.5),
            Scenario(device="H100 SXM", model="Llama-3.1-70B", batch=3),
        ],
        found,
    )


@pytest.mark.parametrize(
    "value", ["3,350", "three", True, 10**400, 0.0, -1, 3e9, float("inf"), "3.35 TB/s", "1400", 3350, np.float64(3350)]
)
def test_a_number_is_understood_as_in_a_single_scenario(value):
    scenarios = [Scenario(weights_gb=140, bandwidth_gb_s=each) for each in (value, 1000.0)]
    same(scenarios, evaluate_many(scenarios))


@pytest.mark.parametrize("value", [8.5, 8 + 1e-12, 8, "8", 0, 2**60])
def test_a_count_is_whole_as_in_a_single_scenario(value):
    scenarios = [Scenario(weights_gb=140, bandwidth_gb_s=1000.0, batch=each) for each in (value, 2.0, None)]
    same(scenarios, evaluate_many(scenarios))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"batch": [1, 2], "devices": [1, 2, 3], "weights_gb": 1}, "batch has 2, devices has 3"),
        ({"batches": [1, 2]}, "No column is called batches"),
    ],
)
def test_columns_that_make_no_table_are_refused(columns, said):
    with pytest.raises(PlannerError, match=said):
        complete_columns(columns)


def test_no_rows_have_no_figures():
    for found in (evaluate_many([]), evaluate_columns({"batch": []})):
        assert len(found) == 0
        assert {len(column) for column in found.figures.values()} == {0}


def test_resolutions_are_taken_as_they_are():
    good, bad = Scenario(**KINDS["dense"]), Scenario(**KINDS["no size"])
    changed = resolve(good)
    changed = dataclasses.replace(changed, scenario=dataclasses.replace(changed.scenario, fetch_efficiency=0.5))
    found = evaluate_many([changed, resolve(bad), good])
    assert found.row(0) == {name: approx(value) for name, value in compute(changed.scenario).items()}
    assert found.ok.tolist() == [True, False, True]
    assert set(found.row(1).values()) == {None}
    assert found.row(2) == {name: approx(value) for name, value in compute(resolve(good).scenario).items()}


def test_completed_columns_give_the_figures():
    scenario = resolve(Scenario(**KINDS["mixture"])).scenario
    columns = {name: getattr(scenario, name) for name in COLUMNS} | {"batch": [1.0, 8.0]}
    figures = compute_columns(columns)
    assert figures.keys() == FIGURES.keys()
    expected = compute(scenario)
    assert {name: None if np.isnan(column[1]) else column[1] for name, column in figures.items()} == {
        name: approx(value) for name, value in expected.items()
    }


def test_the_users_own_devices_come_first():
    own = dataclasses.replace(find_device("H100 SXM"), name="Own card", bandwidth_gb_s=1234.0)
    library = Library(devices=((own, "Devices!A2"),))
    found = evaluate_columns({"device": "own card", "model": "Llama-3.1-8B", "batch": [1, 2]}, library)
    assert found.figures["bandwidth_gb_s"].tolist() == [1234.0, 1234.0]
    assert found.completed.sources_of(1)["device_bandwidth_gb_s"] == "Devices!A2: Own card"


def test_every_figure_has_its_ways():
    assert set(WAYS) == FIGURES.keys() - {"weight_bits", "kv_bits", "expert_bits"}


def test_the_readmes_columns_are_as_it_says(capsys):
    text = Path(__file__).parents[1].joinpath("README.md").read_text("utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "evaluate_columns" in block)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    alone = compute(resolve(Scenario(device="H100 SXM", model="Llama-3.1-8B", batch=64, **TOKENS)).scenario)
    assert f"{alone['estimated_tokens_per_sec']:.1f}]" in printed
    assert "measured: Data-centre HBM, serving" in printed


@pytest.mark.parametrize("name", [text for text in TEXTS if type(COLUMNS[text].rule) is Text])
@pytest.mark.parametrize("values", [[1, 2], [1.5, math.nan], ["a", math.nan], ["a", None], ["  a  b ", "c"]])
def test_texts_that_are_none_are_read_as_in_a_single_scenario(name, values):
    given = {"weights_gb": 140.0, "bandwidth_gb_s": 3350.0}
    found = evaluate_columns({**{field: [value, value] for field, value in given.items()}, name: values})
    alone = [
        resolve(Scenario(**given, **({} if value is None or value != value else {name: value})))  # noqa: PLR0124  NaN
        for value in values
    ]
    assert found.ok.tolist() == [each.ok for each in alone]
    words = found.completed.columns[name].texts().tolist()
    assert words == [getattr(each.scenario, name) or "" for each in alone]


def test_objects_are_not_made_of_columns_that_lack_something():
    with pytest.raises(ValueError, match="codes, words are not given for 3 objects"):
        objects_of(Words, {"codes": [1, 2]}, 3)
    made = objects_of(Issue, {"severity": ["note"] * 2, "code": ["a", "b"], "problem": ["x", "y"]}, 2)
    assert made == [Issue(severity="note", code="a", problem="x"), Issue(severity="note", code="b", problem="y")]


def test_columns_of_completed_scenarios_are_those_of_each():
    scenarios = [Scenario(**kind) for kind in KINDS.values()]
    typed = {name: [getattr(each, name) for each in scenarios] for name in COLUMNS}
    found, completed = resolve_each(typed, len(scenarios))
    assert [each.ok for each in found] == completed.ok.tolist()
    able = np.flatnonzero(completed.ok)
    results, columns = evaluate_each([found[at] for at in able.tolist()], completed.taking(able))
    again = columns_of_results(results)
    for at, result in enumerate(results):
        assert columns.row(at) == again.row(at)
        assert result == evaluate_resolved(resolve(scenarios[able[at]]))
    for name, column in columns.completed.columns.items():
        assert listed(column) == listed(again.completed.columns[name]), name
        assert columns.completed.is_bare(name) == (
            name in NUMBERS and not any(getattr(r.scenario, name) is not None for r in results)
        )
