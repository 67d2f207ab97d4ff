"""Filling blanks: each source in its order, names that are unknown or leave open, and what the record says."""

from __future__ import annotations

import dataclasses

import pytest

from planner import catalog
from planner.issues import Severity
from planner.plan.evaluate import evaluate
from planner.plan.fill import EMPTY_LIBRARY, Library, OwnModel, name_key
from planner.plan.resolve import resolve
from planner.plan.scenario import COLUMNS, Scenario
from planner.plan.variants import at_batch, at_precision

H100 = catalog.find_device("H100 SXM")
TUNED = dataclasses.replace(H100, name="H100 tuned", bandwidth_gb_s=3000.0, aliases=("the fast one",))
OWN = Library(devices=((TUNED, "your Devices sheet, row 4"),))
SIZED = {"params_b": 70, "precision": "FP16"}
TAIL_DEVICE = (
    "expected one device by its name, as `planner catalog devices` lists them, or Bandwidth per device (GB/s)."
)
TAIL_MODEL = (
    "expected one model by its name, as `planner catalog models` lists them, or Parameters (billions) and Precision."
)


def own_model(**changes):
    given = {
        field.name: getattr(catalog.find_model("Llama-3.1-8B"), field.name)
        for field in dataclasses.fields(catalog.Model)
    }
    return Library(models=((OwnModel(**given | {"name": "mine"} | changes), "your Models sheet, row 2"),))


def filled(library=EMPTY_LIBRARY, **inputs):
    found = resolve(Scenario(**inputs), library=library)
    assert found.ok, [str(issue) for issue in found.issues]
    return found.scenario, found.sources


def said(library=EMPTY_LIBRARY, **inputs):
    return [(issue.severity, str(issue)) for issue in resolve(Scenario(**inputs), library=library).issues]


# Each source in its order.


def test_typed_wins_over_the_own_sheet_over_the_catalogue_over_class_over_default():
    scenario, sources = filled(
        OWN, **SIZED, device="H100 tuned", device_memory_gb=70, layer_latency_us=50, model="Llama-3.1-70B"
    )
    assert (scenario.device_memory_gb, sources["device_memory_gb"]) == (70, "typed")
    assert scenario.device_bandwidth_gb_s == 3000
    assert sources["device_bandwidth_gb_s"] == "your Devices sheet, row 4: H100 tuned"
    assert (scenario.layers, sources["layers"]) == (80, "catalogue: Llama-3.1-70B")
    assert (scenario.layer_latency_us, sources["layer_latency_us"]) == (50, "typed")
    assert scenario.fetch_efficiency == 0.95
    assert sources["fetch_efficiency"] == ("measured: Data-centre HBM, serving (862 rows, 65 configurations; fitted)")
    assert (scenario.usable_share, sources["usable_share"]) == (0.9, "default")


def test_an_own_device_of_a_catalogues_name_is_the_one_meant():
    library = Library(devices=((dataclasses.replace(TUNED, name="RTX 4090"), "your Devices sheet, row 9"),))
    scenario, sources = filled(library, **SIZED, device="rtx  4090")
    assert scenario.device_bandwidth_gb_s == 3000
    assert sources["device_memory_gb"] == "your Devices sheet, row 9: RTX 4090"
    assert filled(**SIZED, device="rtx  4090")[0].device_bandwidth_gb_s == 1008


@pytest.mark.parametrize("name", ["h100 TUNED", " H100  tuned ", "The fast one"])
def test_an_own_name_is_known_in_any_case_by_any_of_its_names(name):
    assert filled(OWN, **SIZED, device=name)[0].device_bandwidth_gb_s == 3000


def test_every_filled_field_has_a_source_and_no_blank_one_has():
    scenario, sources = filled(model="gpt-oss-120b", device="H100 SXM", batch=8, prompt_tokens=100, name="a")
    for name in COLUMNS:
        value = getattr(scenario, name)
        assert (name in sources) == (value is not None and value != ""), name


def test_a_device_fills_its_figures():
    scenario, sources = filled(**SIZED, device="h100 sxm")
    assert (scenario.device_bandwidth_gb_s, scenario.device_memory_gb) == (3350, 85.521)
    assert (scenario.device_class, scenario.peak_tflop_s) == ("nv-dc-hbm", 989.4)
    assert {sources[name] for name in ("device_bandwidth_gb_s", "device_memory_gb", "peak_tflop_s")} == {
        "catalogue: H100 SXM5 80GB"
    }


@pytest.mark.parametrize(("precision", "peak"), [("FP16", 989.4), ("FP8", 1978.9), ("Q4_K_M", 989.4), ("FP32", None)])
def test_the_peak_is_that_of_the_precision(precision, peak):
    assert filled(params_b=70, precision=precision, device="H100 SXM")[0].peak_tflop_s == peak


@pytest.mark.parametrize(
    ("device", "model", "peak"),
    # A mixture in 4 bits comes out at the 8-bit peak where there is a 4-bit one, a dense model at the latter.
    [("B200 SXM", "gpt-oss-120b", 4500), ("B200 SXM", "Llama-3.1-70B", 9000), ("H100 SXM", "gpt-oss-120b", 989.4)],
)
def test_the_peak_of_four_bits(device, model, peak):
    assert filled(model=model, precision="FP4", device=device)[0].peak_tflop_s == peak


def test_the_peak_follows_the_precision_of_a_variant():
    result = evaluate(Scenario(params_b=70, precision="FP8", device="H100 SXM", devices=2))
    assert at_precision(result, "FP16").scenario.peak_tflop_s == 989.4
    assert at_precision(result, "INT8").scenario.peak_tflop_s == 1978.9
    typed = evaluate(Scenario(params_b=70, precision="FP8", device="H100 SXM", peak_tflop_s=900))
    assert at_precision(typed, "FP16").scenario.peak_tflop_s == 900


def test_an_aggregate_bandwidth_is_not_contradicted_by_the_devices_own():
    scenario, _ = filled(**SIZED, device="H100 SXM", bandwidth_gb_s=5000)
    assert (scenario.bandwidth_gb_s, scenario.device_bandwidth_gb_s) == (5000, None)


def test_what_an_own_device_leaves_blank_stays_blank():
    bare = dataclasses.replace(
        TUNED, device_class="", memory_gb=0.0, reported_memory_gb=None, fp16_tflop_s=None, fp8_tflop_s=None,
        int8_tflop_s=None, fp4_tflop_s=None,
    )  # fmt: skip
    scenario, sources = filled(Library(devices=((bare, "x"),)), **SIZED, device="H100 tuned")
    assert (scenario.device_memory_gb, scenario.device_class, scenario.peak_tflop_s) == (None, None, None)
    assert sources["fetch_efficiency"].startswith("measured: all classes, serving (")


# A model by its name.


def test_a_model_fills_its_dimensions_and_its_own_precision():
    scenario, sources = filled(model="meta-llama/Llama-3.1-70B-Instruct", bandwidth_gb_s=3350)
    assert (scenario.params_b, scenario.precision) == (70.553706496, "BF16")
    assert (scenario.layers, scenario.kv_layers, scenario.heads, scenario.kv_heads, scenario.head_dim) == (
        80, 80, 64, 8, 128,
    )  # fmt: skip
    assert (scenario.full_layers, scenario.experts, scenario.kv_lora_rank) == (None, None, None)
    assert sources["precision"] == "catalogue: Llama-3.1-70B"


def test_a_rounded_count_scales_what_a_token_uses_and_reads():
    scenario, sources = filled(model="Llama-3.1-70B", params_b=70, precision="FP8", bandwidth_gb_s=3350)
    known = catalog.find_model("Llama-3.1-70B")
    assert scenario.active_params_b == pytest.approx(70)
    assert scenario.streamed_params_b == pytest.approx(known.streamed_params_b * 70 / known.params_b)
    assert (sources["params_b"], sources["streamed_params_b"]) == ("typed", "catalogue: Llama-3.1-70B")


def test_a_mixture_scales_what_it_uses_and_streams():
    known = catalog.find_model("Mixtral-8x7B")
    scenario, _ = filled(model="Mixtral-8x7B", params_b=46.7, precision="FP16", bandwidth_gb_s=4078)
    assert scenario.active_params_b == pytest.approx(known.active_params_b * 46.7 / known.params_b)
    assert (scenario.experts, scenario.active_experts) == (8, 2)
    # The input embedding is looked up, not read, in a mixture too.
    assert scenario.streamed_params_b == pytest.approx(known.streamed_params_b * 46.7 / known.params_b)


def test_experts_of_another_precision_give_the_size():
    scenario, sources = filled(model="gpt-oss-120b", bandwidth_gb_s=3350)
    # 128 experts of (116.829 - 5.712) / 124 billion at 4.25 bits, the rest at 16.
    expert = (116.829156672 - 5.711982912) / 124
    size = (116.829156672 * 16 + 128 * expert * (4.25 - 16)) / 8
    assert scenario.weights_gb == pytest.approx(size)
    assert sources["weights_gb"] == "catalogue: gpt-oss-120b, experts at MXFP4"
    assert sources["expert_precision"] == "catalogue: gpt-oss-120b"


def test_a_typed_precision_holds_for_the_experts_too():
    scenario, _ = filled(model="gpt-oss-120b", precision="BF16", bandwidth_gb_s=3350)
    assert (scenario.expert_precision, scenario.weights_gb) == (None, None)


def test_a_typed_size_is_kept_and_has_no_precision_put_on_it():
    scenario, sources = filled(model="gpt-oss-120b", weights_gb=63, bandwidth_gb_s=3350)
    assert (scenario.weights_gb, scenario.precision, scenario.expert_precision) == (63, None, None)
    assert sources["weights_gb"] == "typed"


def test_windows_and_latent_caches_are_filled():
    windowed, _ = filled(model="gpt-oss-20b", bandwidth_gb_s=1000)
    assert (windowed.full_layers, windowed.window_tokens, windowed.kv_layers) == (12, 128, 24)
    latent, _ = filled(model="DeepSeek-V3", bandwidth_gb_s=1000)
    assert (latent.kv_lora_rank, latent.rope_dim) == (512, 64)


def test_an_indexers_keys_lie_beside_the_latent():
    result = evaluate(Scenario(model="DeepSeek-V3.2", bandwidth_gb_s=1000))
    assert result.kv_bytes_per_token == 2 * catalog.find_model("DeepSeek-V3.2").kv_values_per_token
    assert result.sources["rope_dim"] == "catalogue: DeepSeek-V3.2, with its indexer's keys"
    # A bad KV precision is its own error, not a crash of the filling.
    bad = resolve(Scenario(model="DeepSeek-V3.2", bandwidth_gb_s=1000, kv_precision="nonsense"))
    assert [issue.field for issue in bad.issues] == ["kv_precision"]


@pytest.mark.parametrize("model", catalog.models(), ids=lambda model: model.name)
def test_every_model_of_the_catalogue_has_its_cache(model):
    result = evaluate(Scenario(model=model.name, bandwidth_gb_s=1000))
    assert result.kv_bytes_per_token == 2 * model.kv_values_per_token
    assert not [issue for issue in result.issues if issue.severity is Severity.ERROR]


def test_hybrid_layers_without_a_cache_are_not_counted():
    scenario, _ = filled(model="Qwen3.5-27B", bandwidth_gb_s=1000)
    assert (scenario.layers, scenario.kv_layers) == (64, 16)


def test_an_own_model_that_says_little_fills_little():
    bare = own_model(layers=0, heads=0, kv_heads=0, head_dim=0, kv_layers=0, full_layers=0, native_precision="")
    scenario, sources = filled(bare, model="mine", precision="FP8", bandwidth_gb_s=1000)
    assert (scenario.params_b, scenario.kv_heads, scenario.kv_layers) == (8.030261248, None, None)
    assert sources["layers"] == "from the parameters"
    assert scenario.kv_bytes_per_token is None
    assert said(bare, model="mine", bandwidth_gb_s=1000)[0][1].startswith("Precision is blank, so 8.03026 billion")


def test_an_own_model_without_any_cache_keeps_none():
    scenario, sources = filled(own_model(kv_layers=0, full_layers=0), model="mine", bandwidth_gb_s=1000)
    assert (scenario.kv_bytes_per_token, sources["kv_bytes_per_token"]) == (
        0.0,
        "your Models sheet, row 2: mine, which keeps no cache",
    )


def test_an_own_file_has_its_size_at_its_own_precision():
    library = own_model(native_precision="Q4_K_M", weights_gb=4.92)
    native, sources = filled(library, model="mine", bandwidth_gb_s=1000)
    assert (native.weights_gb, native.precision) == (4.92, "Q4_K_M")
    assert sources["weights_gb"] == "your Models sheet, row 2: mine"
    assert filled(library, model="mine", precision="Q4_K_M", bandwidth_gb_s=1000)[0].weights_gb == 4.92
    for other in ({"precision": "FP16"}, {"precision": "Q4_K_M", "params_b": 8}):
        assert filled(library, model="mine", **other, bandwidth_gb_s=1000)[0].weights_gb is None


# Names that mean none, or several.


def test_a_name_that_leaves_several_open_is_never_guessed():
    assert said(**SIZED, device="H100") == [
        (
            Severity.ERROR,
            f"Device is 'H100', which may be H100 NVL 94GB, H100 PCIe 80GB or H100 SXM5 80GB; {TAIL_DEVICE}",
        )
    ]
    assert said(model="llama 70b", bandwidth_gb_s=1000) == [
        (
            Severity.ERROR,
            f"Model is 'llama 70b', which may be Llama-2-70B, Llama-3-70B, Llama-3.1-70B or Llama-3.3-70B; {TAIL_MODEL}",
        )
    ]


def test_an_unknown_name_is_said_with_the_nearest_ones():
    assert said(**SIZED, device="H100 SXN") == [
        (
            Severity.ERROR,
            "Device is 'H100 SXN', which the catalogue does not know "
            f"(nearest: H100 NVL 94GB, H100 PCIe 80GB or H100 SXM5 80GB); {TAIL_DEVICE}",
        )
    ]
    assert said(model="whatever", bandwidth_gb_s=1000) == [
        (Severity.ERROR, f"Model is 'whatever', which the catalogue does not know; {TAIL_MODEL}")
    ]
    assert said(OWN, **SIZED, device="Z80 homebrew") == [
        (
            Severity.ERROR,
            f"Device is 'Z80 homebrew', which neither your Devices sheet nor the catalogue knows; {TAIL_DEVICE}",
        )
    ]
    assert "(nearest: H100 tuned, " in said(OWN, **SIZED, device="H100 tunde")[0][1]


def test_a_row_that_has_its_figures_runs_and_says_that_the_name_filled_nothing():
    typed = SIZED | {"device_bandwidth_gb_s": 3350}
    assert said(**typed, device="H100") == [
        (
            Severity.NOTE,
            "Device is 'H100', which may be H100 NVL 94GB, H100 PCIe 80GB or H100 SXM5 80GB; nothing is filled from it. "
            f"Name {TAIL_DEVICE.removeprefix('expected ')}",
        )
    ]
    assert said(**typed, model="llama 70b")[0] == (
        Severity.NOTE,
        "Model is 'llama 70b', which may be Llama-2-70B, Llama-3-70B, Llama-3.1-70B or Llama-3.3-70B; "
        f"nothing is filled from it. Name {TAIL_MODEL.removeprefix('expected ')}",
    )
    # A model goes by any name.
    assert said(**typed, model="our secret one") == []


def test_an_unknown_device_is_not_called_a_missing_bandwidth_as_well():
    assert [issue.code for issue in resolve(Scenario(device="abc", model="def")).issues] == [
        "device-unknown",
        "model-unknown",
    ]


def test_a_row_left_out_is_named_and_nothing_takes_its_place():
    library = Library(left_out=(("device", "H100 SXM", "your Devices sheet, row 7"),))
    assert said(library, **SIZED, device="h100 sxm") == [
        (
            Severity.ERROR,
            "Device is 'h100 sxm', left out in your Devices sheet, row 7; expected that row without an error.",
        )
    ]
    typed = SIZED | {"device_bandwidth_gb_s": 3350}
    assert said(library, **typed, device="h100 sxm") == [
        (
            Severity.NOTE,
            "Device is 'h100 sxm', left out in your Devices sheet, row 7; nothing is filled from it. Right that row.",
        )
    ]
    models = Library(left_out=(("model", "mine", "your Models sheet, row 2"),))
    assert said(models, **typed, model="mine")[0][0] is Severity.NOTE
    assert said(models, **typed, device="h100 sxm") == []


# What was measured.


@pytest.mark.parametrize(
    ("engine", "group"),
    [("vLLM 0.9", "serving"), ("llama.cpp b4000", "llamacpp"), ("ExLlamaV2", "compiled"), ("", "serving")],
)
def test_constants_are_those_of_class_and_engine(engine, group):
    scenario, sources = filled(**SIZED, device="H100 SXM", engine=engine)
    constants = catalog.class_constants("nv-dc-hbm", group)
    assert scenario.fetch_efficiency == constants.fetch_efficiency
    assert scenario.layer_latency_us == constants.layer_latency_us
    assert scenario.arithmetic == ("added" if constants.adds_compute else "overlaps")
    assert sources["mfu"].startswith(f"measured: Data-centre HBM, {group} ({constants.rows} rows, ")


def test_an_unnamed_engine_is_the_classes_usual_one():
    assert "GeForce, llamacpp (" in filled(**SIZED, device="RTX 4090")[1]["mfu"]


def test_more_devices_and_experts_add_to_a_layers_latency():
    constants = catalog.class_constants("nv-consumer", "llamacpp")
    common = SIZED | {"device": "RTX 4090"}

    def latency(**more):
        return filled(**common | more)[0].layer_latency_us

    assert latency() == constants.layer_latency_us
    assert latency(devices=2) == constants.layer_latency_us + constants.tensor_layer_latency_us
    assert latency(devices=2, split="layers") == constants.layer_latency_us
    mixture = {"experts": 8, "active_experts": 2, "active_params_b": 13}
    assert latency(**mixture) == constants.layer_latency_us + constants.moe_layer_latency_us


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "dense batch 1"),
        ({"batch": 8}, "dense batched"),
        ({"devices": 2}, "tensor parallel"),
        ({"devices": 2, "split": "layers"}, "dense batch 1"),
        ({"devices": 2, "batch": 8, "experts": 8, "active_experts": 2, "active_params_b": 13}, "moe"),
    ],
)
def test_the_range_is_that_of_class_and_kind(more, kind):
    scenario, _ = filled(**SIZED, **more, device="H100 SXM")
    spread = catalog.class_range("nv-dc-hbm", kind)
    assert (scenario.low_factor, scenario.high_factor) == (spread.low_factor, spread.high_factor)


@pytest.mark.parametrize(
    ("more", "where"),
    [({"batch": 8}, "shared"), ({"batch": 1}, "apart"), ({"batch": 8, "engine": "llama.cpp"}, "apart")],
)
def test_prefill_stalls_decode_under_continuous_batching(more, where):
    assert filled(**SIZED, **more, device="H100 SXM")[0].prefill_on == where


def test_another_batch_has_the_constants_that_hold_for_it():
    result = evaluate(Scenario(**SIZED, device="H100 SXM", devices=1))
    assert (result.scenario.prefill_on, at_batch(result, 8).scenario.prefill_on) == ("apart", "shared")
    assert at_batch(result, 8).scenario.high_factor == catalog.class_range("nv-dc-hbm", "dense batched").high_factor
    typed = evaluate(Scenario(**SIZED, device="H100 SXM", prefill_on="apart"))
    assert at_batch(typed, 8).scenario.prefill_on == "apart"


def test_a_typed_efficiency_without_a_class_stands_for_the_whole_stack():
    scenario, sources = filled(**SIZED, bandwidth_gb_s=3350, efficiency=0.85)
    assert (scenario.fetch_efficiency, sources["fetch_efficiency"]) == (0.85, "the typed efficiency")
    assert (scenario.layer_latency_us, scenario.low_factor) == (None, None)
    with_class, _ = filled(**SIZED, device="H100 SXM", efficiency=0.85)
    assert with_class.fetch_efficiency == 0.95


def test_neither_class_nor_efficiency_gives_the_constants_of_all():
    scenario, sources = filled(**SIZED, bandwidth_gb_s=3350)
    pooled = catalog.class_constants("any", "serving")
    assert scenario.fetch_efficiency == pooled.fetch_efficiency
    assert sources["fetch_efficiency"].startswith("measured: all classes, serving (")


# What follows from what is there.


@pytest.mark.parametrize(
    ("inputs", "layers"),
    # 20.3 x 70^0.30 = 72.6; 24.3 x 12.9^0.27 = 48.47
    [
        (SIZED, 73),
        ({"weights_gb": 140, "precision": "FP16"}, 73),
        (SIZED | {"active_params_b": 12.9, "experts": 8, "active_experts": 2}, 48),
        (SIZED | {"kv_layers": 90}, 90),
    ],
)
def test_layers_follow_from_the_parameters(inputs, layers):
    scenario, sources = filled(**inputs, bandwidth_gb_s=1000)
    assert (scenario.layers, sources["layers"]) == (layers, "from the parameters")


def test_every_layer_keeps_a_cache_where_heads_are_known():
    typed, sources = filled(**SIZED, layers=80, kv_heads=8, head_dim=128, bandwidth_gb_s=1000)
    assert (typed.kv_layers, sources["kv_layers"]) == (80, "every layer")
    assert filled(**SIZED, layers=61, kv_lora_rank=512, rope_dim=64, bandwidth_gb_s=1000)[0].kv_layers == 61
    assert filled(**SIZED, layers=80, kv_heads=8, bandwidth_gb_s=1000)[0].kv_layers is None


@pytest.mark.parametrize("more", [{}, {"kv_heads": 8, "head_dim": 128}, {"model": "DeepSeek-V3", "devices": 8}])
def test_a_completed_scenario_is_complete(more):
    scenario, _ = filled(**SIZED, **more, device="H100 SXM", batch=4)
    assert resolve(scenario).scenario == scenario


def test_a_size_without_a_precision_has_no_parameters():
    scenario, _ = filled(weights_gb=140, bandwidth_gb_s=1000)
    assert (scenario.active_params_b, scenario.layers) == (None, None)


# Parts above their whole.


@pytest.mark.parametrize(
    ("inputs", "field", "message"),
    [
        (
            {"active_params_b": 71},
            "active_params_b",
            "Active parameters (billions) is 71, above Parameters (billions) of 70; expected at most 70.",
        ),
        (
            {"experts": 8, "active_experts": 9},
            "active_experts",
            "Active experts is 9, above Experts of 8; expected at most 8.",
        ),
        (
            {"prompt_tokens": 1000, "cached_tokens": 1001},
            "cached_tokens",
            "Cached prompt (tokens) is 1,001, above Prompt (tokens) of 1,000; expected at most 1,000.",
        ),
        (
            {"layers": 24, "kv_layers": 24, "full_layers": 25, "window_tokens": 128},
            "full_layers",
            "Full-attention layers is 25, above KV layers of 24; expected at most 24.",
        ),
        (
            {"model": "Mixtral-8x7B", "experts": 1},
            "experts",
            "Experts is 1, below Active experts of 2 (catalogue: Mixtral-8x7B); expected at least 2.",
        ),
        (
            {"low_factor": 1.2, "high_factor": 1.1},
            "low_factor",
            "Low factor is 1.2, above High factor of 1.1; expected at most 1.1.",
        ),
    ],
)
def test_a_part_above_its_whole_is_an_error_at_what_was_typed(inputs, field, message):
    (issue,) = resolve(Scenario(**SIZED, bandwidth_gb_s=1000, **inputs)).issues
    assert (issue.severity, issue.code, issue.field, str(issue)) == (Severity.ERROR, "relation", field, message)


def test_a_part_that_is_its_whole_is_fine():
    inputs = {"active_params_b": 70, "experts": 2, "active_experts": 2, "prompt_tokens": 100, "cached_tokens": 100}
    assert not resolve(Scenario(**SIZED, bandwidth_gb_s=1000, **inputs)).issues


def test_names_are_compared_by_their_words():
    assert name_key(" Ä  b") == name_key("ä B")
