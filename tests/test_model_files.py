"""Models read from a config.json, a .gguf file and a safetensors index, whole and damaged."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner import PlannerError
from planner.catalog import find_model, models
from planner.model_files import read_model_file

# The architecture keys of the models' published config.json files.
CONFIGS = json.loads((Path(__file__).parent / "model_configs.json").read_text("utf-8"))
SHAPE = [
    f.name
    for f in dataclasses.fields(find_model("Phi-4"))
    if f.name not in {"name", "hf_id", "source", "confidence", "aliases", "notes"}
]


@pytest.fixture
def config(tmp_path):
    def write(values, **more):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(values | more) if isinstance(values, dict) else values, "utf-8")
        return path

    return write


def test_there_is_a_config_for_every_model_of_the_catalogue():
    assert set(CONFIGS) == {model.name for model in models()}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_gives_the_catalogues_row(config, name):
    known, found = find_model(name), read_model_file(config(CONFIGS[name])).model
    assert {field: getattr(found, field) for field in SHAPE} == {field: getattr(known, field) for field in SHAPE}
    # To the last parameter where the repository's own count is known.
    assert round(found.params_b * 1e9) == round(known.params_b * 1e9)


def test_a_configs_row_says_that_it_is_computed(config):
    found = read_model_file(config(CONFIGS["Phi-4"]))
    assert found.model.confidence == "computed"
    assert found.remarks == ("Parameters are computed from the config's shapes, text part alone.",)
    assert (found.weights_gb, found.bits_per_weight) == (None, None)
    assert "aliases" not in found.row()


def test_a_folder_is_its_config_and_gives_the_name(tmp_path):
    folder = tmp_path / "My-Llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIGS["Llama-3.1-8B"]), "utf-8")
    assert read_model_file(folder).name == "My-Llama"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # a window in every layer (Mistral v0.1), one that is no shorter than the context, one that is switched off
        ({"sliding_window": 4096}, (4096, 0)),
        ({"sliding_window": 32768}, (None, 32)),
        ({"sliding_window": None}, (None, 32)),
        ({"sliding_window": 4096, "use_sliding_window": False}, (None, 32)),
        ({"sliding_window": 4096, "layer_types": ["sliding_attention"] * 31 + ["full_attention"]}, (4096, 1)),
    ],
)
def test_windows(config, changes, expected):
    model = read_model_file(config(CONFIGS["Mistral-7B-v0.3"], **changes)).model
    assert (model.window_tokens, model.full_layers) == expected


def test_qwen2_windows_its_upper_layers(config):
    changes = {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20}
    assert read_model_file(config(CONFIGS["Qwen2.5-7B"], **changes)).model.full_layers == 20


@pytest.mark.parametrize(
    ("quantised", "precisions"),
    [
        ({"quant_method": "awq", "bits": 4}, ("AWQ", "")),
        ({"quant_method": "gptq", "bits": 4}, ("GPTQ", "")),
        ({"quant_method": "gptq", "bits": 8}, ("8", "")),
        ({"quant_method": "fbgemm_fp8"}, ("FP8", "")),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, ("NVFP4", "")),
        ({"quant_method": "compressed-tensors", "config_groups": {"0": {"weights": {"num_bits": 8, "type": "float"}}}}, ("FP8", "")),
        ({"quant_method": "compressed-tensors", "config_groups": {"0": {"weights": {"num_bits": 8, "type": "int"}}}}, ("INT8", "")),
        # groups of 128 with a 16-bit scale: 4 + 16 / 128
        ({"quant_method": "compressed-tensors", "config_groups": {"0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}}}, ("4.125", "")),
        ({"quant_method": "something"}, ("", "")),
        ({"quant_method": "compressed-tensors", "config_groups": 7}, ("", "")),
        ("nonsense", ("BF16", "")),
    ],
)  # fmt: skip
def test_quantised_configs(config, quantised, precisions):
    model = read_model_file(config(CONFIGS["Llama-3.1-8B"], quantization_config=quantised)).model
    assert (model.native_precision, model.expert_precision) == precisions


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("{", "config.json is no JSON file."),
        ("[" * 100_000, "config.json is no JSON file."),
        ("[1]", "config.json does not hold a JSON object."),
        ({}, "config.json has no model_type."),
        ({"model_type": "mamba"}, "config.json is of model type 'mamba', whose parameters planner cannot add up; it knows deepseek_v2, "),
        ({"model_type": "llama"}, "config.json has no num_hidden_layers."),
        (CONFIGS["Phi-4"] | {"hidden_size": "wide"}, "config.json has a hidden_size of 'wide'; expected a whole number"),
        (CONFIGS["Phi-4"] | {"hidden_size": -1}, "config.json has a hidden_size of -1;"),
        (CONFIGS["Phi-4"] | {"hidden_size": True}, "config.json has a hidden_size of True;"),
        (CONFIGS["Phi-4"] | {"num_attention_heads": 0}, "config.json has no layers, no hidden size or no attention heads."),
        (CONFIGS["Phi-4"] | {"num_hidden_layers": 10**9}, "config.json has a num_hidden_layers of 1000000000;"),
        (CONFIGS["DeepSeek-V3"] | {"kv_lora_rank": None}, "config.json has no kv_lora_rank."),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_read_is_one_line(config, values, said):
    with pytest.raises(PlannerError) as caught:
        read_model_file(config(values))
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_an_index_gives_the_size_and_the_bits(config, tmp_path):
    path = config(CONFIGS["Llama-3.1-8B"])
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 16_060_522_496}, "weight_map": {}}), "utf-8")
    for asked in (path, index, tmp_path):
        found = read_model_file(asked)
        assert found.weights_gb == 16.060522496
        # 8,030,261,248 parameters in 16 bits
        assert found.bits_per_weight == pytest.approx(16)
        assert found.model.layers == 32
        assert found.remarks[-1].startswith("Weights are the total size of model.safetensors.index.json")


def test_an_index_alone_gives_the_size_alone(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"metadata": {"total_size": 2e9}}', "utf-8")
    found = read_model_file(index)
    assert (found.model, found.weights_gb, found.bits_per_weight) == (None, 2.0, None)
    assert found.row() == {"name": tmp_path.name, "weights_gb": 2.0, "bits_per_weight": None}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "has no metadata with a total_size."),
        ('{"metadata": {}}', "has no total_size."),
        ('{"metadata": {"total_size": 0}}', "has a total_size of 0."),
        ('{"metadata": {"total_size": "large"}}', "has a total_size of 'large';"),
    ],
)
def test_a_damaged_index_is_one_line(tmp_path, text, said):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(text, "utf-8")
    with pytest.raises(PlannerError, match=said):
        read_model_file(index)


@pytest.mark.parametrize("name", ["weights.bin", "README", "none.json", "none.gguf", "a.safetensors.index.json"])
def test_a_file_that_is_missing_or_of_another_kind_is_one_line(tmp_path, name):
    if "." in name and name != "weights.bin":
        with pytest.raises(PlannerError, match=r"Cannot read .*: No such file"):
            read_model_file(tmp_path / name)
    else:
        with pytest.raises(PlannerError, match="is no model file; expected a config.json"):
            read_model_file(tmp_path / name)


# --- GGUF


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def packed(value):
    """A metadata value with its type, as GGUF stores it."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    items = [packed(item) for item in value]
    kind = items[0][:4] if items else struct.pack("<I", 4)
    return struct.pack("<I", 9) + kind + struct.pack("<Q", len(items)) + b"".join(item[4:] for item in items)


def gguf(metadata, tensors, version=3):
    """A .gguf file without its weights: tensors are (name, shape, format's number)."""
    data = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        data += text(key) + packed(value)
    for name, shape, kind in tensors:
        data += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, 0)
    return data


LLAMA = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.block_count": 2,
    "llama.embedding_length": 256,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.context_length": 8192,
    "tokenizer.ggml.tokens": ["a", "b", "c"],
}
F32, F16, Q8_0, Q4_K = 0, 1, 8, 12
TENSORS = [
    ("token_embd.weight", (256, 1000), Q8_0),
    ("blk.0.attn_q.weight", (256, 256), Q4_K),
    ("blk.1.attn_q.weight", (256, 256), Q4_K),
    ("output.weight", (256, 1000), Q8_0),
    ("output_norm.weight", (256,), F32),
    ("rope_freqs.weight", (32,), F32),
]


@pytest.fixture
def model_file(tmp_path):
    def write(metadata, tensors, name="tiny.gguf", padding=10**6, **more):
        path = tmp_path / name
        path.write_bytes(gguf(metadata, tensors, **more) + bytes(padding))
        return path

    return write


def test_a_gguf_gives_the_model(model_file):
    found = read_model_file(model_file(LLAMA, TENSORS))
    model = found.model
    assert (found.name, model.layers, model.heads, model.kv_heads, model.head_dim) == ("Tiny", 2, 4, 2, 64)
    assert (model.hidden, model.vocab, model.max_context_tokens, model.attention) == (256, 1000, 8192, "GQA")
    # two embeddings of 256,000, two layers of 65,536, a norm of 256; the rotary table is no parameter
    assert round(model.params_b * 1e9) == 2 * 256_000 + 2 * 65_536 + 256 == 643_328
    assert round(model.streamed_params_b * 1e9) == 643_328 - 256_000
    # Q8_0 takes 34 bytes for 32 weights, Q4_K 144 for 256, F32 4 for one
    size = 512_000 * 34 / 32 + 131_072 * 144 / 256 + 1024
    assert found.weights_gb == pytest.approx(size / 1e9)
    assert found.bits_per_weight == pytest.approx(size * 8 / 643_328)
    assert model.native_precision == f"{size * 8 / 643_328:.4g}"
    assert (model.kv_layers, model.full_layers, model.window_tokens, model.experts) == (2, 2, None, None)
    assert (model.confidence, found.remarks) == ("read", ())
    assert read_model_file(model_file(LLAMA, TENSORS, version=2)).model == model


def test_a_gguf_with_tied_embeddings_reads_all_its_weights(model_file):
    model = read_model_file(model_file(LLAMA, [t for t in TENSORS if t[0] != "output.weight"])).model
    assert model.streamed_params_b == model.params_b


def test_a_gguf_with_experts(model_file):
    metadata = LLAMA | {"llama.expert_count": 8, "llama.expert_used_count": 2}
    tensors = [
        *TENSORS,
        ("blk.0.ffn_up_exps.weight", (256, 512, 8), 39),
        ("blk.1.ffn_up_exps.weight", (256, 512, 8), 39),
    ]
    model = read_model_file(model_file(metadata, tensors)).model
    each = 2 * 256 * 512
    assert round(model.params_b * 1e9) == 643_328 + 8 * each
    assert round(model.active_params_b * 1e9) == 643_328 + 2 * each
    # MXFP4: 17 bytes for 32 weights
    assert (model.experts, model.active_experts, model.expert_precision) == (8, 2, "4.25")


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        # kv_layers, full_layers, window_tokens, kv_heads
        ({"llama.attention.head_count_kv": [0, 2]}, (1, 1, None, 2)),
        ({"llama.full_attention_interval": 2}, (1, 1, None, 2)),
        ({"llama.attention.sliding_window": 512, "llama.attention.sliding_window_pattern": [True, False]}, (2, 1, 512, 2)),
        ({"llama.attention.sliding_window": 8192}, (2, 2, None, 2)),
        ({"llama.attention.sliding_window": 512}, (2, 2, None, 2)),
        ({"llama.nextn_predict_layers": 1}, (1, 1, None, 2)),
    ],
)  # fmt: skip
def test_layers_with_a_cache_of_their_own_kind(model_file, metadata, expected):
    model = read_model_file(model_file(LLAMA | metadata, TENSORS)).model
    assert (model.kv_layers, model.full_layers, model.window_tokens, model.kv_heads) == expected


def test_what_a_gguf_leaves_open_is_said(model_file):
    window = read_model_file(model_file(LLAMA | {"llama.attention.sliding_window": 512}, TENSORS))
    assert window.remarks == (
        "Some layers look back 512 tokens only; the file does not say which, so all count as growing.",
    )
    ahead = read_model_file(model_file(LLAMA | {"llama.nextn_predict_layers": 1}, TENSORS))
    assert ahead.remarks == ("Without its 1 multi-token prediction layers.",)
    assert round(ahead.model.params_b * 1e9) == 643_328 - 65_536
    short = read_model_file(model_file(LLAMA, TENSORS, padding=0))
    assert short.remarks == ("The file is shorter than its tensors: it is not whole.",)


@pytest.mark.parametrize(("architecture", "full"), [("gemma3", 2), ("gemma2", 6), ("gpt-oss", 6)])
def test_windows_that_an_architecture_implies(model_file, architecture, full):
    renamed = {key.replace("llama", architecture): value for key, value in LLAMA.items()}
    renamed |= {
        "general.architecture": architecture,
        f"{architecture}.block_count": 12,
        f"{architecture}.attention.sliding_window": 1024,
    }
    assert read_model_file(model_file(renamed, TENSORS)).model.full_layers == full


def test_latent_attention(model_file):
    latent = {key.replace("llama", "deepseek2"): value for key, value in LLAMA.items()}
    latent |= {
        "general.architecture": "deepseek2",
        "deepseek2.attention.kv_lora_rank": 512,
        "deepseek2.rope.dimension_count": 64,
        "deepseek2.attention.key_length": 576,
        "deepseek2.attention.key_length_mla": 192,
    }
    model = read_model_file(model_file(latent, TENSORS)).model
    assert (model.attention, model.kv_lora_rank, model.rope_dim, model.head_dim) == ("MLA", 512, 64, 192)
    assert model.kv_values_per_token == 2 * (512 + 64)


def test_a_split_file_is_read_from_all_its_parts(model_file):
    model_file({"split.count": 2}, TENSORS[3:], name="big-00002-of-00002.gguf")
    first = model_file(LLAMA | {"split.count": 2}, TENSORS[:3], name="big-00001-of-00002.gguf")
    found = read_model_file(first)
    assert round(found.model.params_b * 1e9) == 643_328
    assert read_model_file(first.with_name("big-00002-of-00002.gguf")).model.params_b == found.model.params_b
    first.with_name("big-00002-of-00002.gguf").unlink()
    with pytest.raises(PlannerError, match="is a part of 2, and big-00002-of-00002.gguf is not beside it"):
        read_model_file(first)
    with pytest.raises(PlannerError, match="its name does not say which"):
        read_model_file(first.rename(first.with_name("big.gguf")))


HEAD = b"GGUF" + struct.pack("<I", 3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is no GGUF file: it does not begin with GGUF."),
        (b"PK\x03\x04" * 9, "is no GGUF file: it does not begin with GGUF."),
        (b"GGUF", "is no whole GGUF file: its header says more than the file holds."),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "is a GGUF file of version 1; planner reads little-endian versions 2 and 3."),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "is a big-endian GGUF file; planner reads"),
        (HEAD + struct.pack("<QQ", 2**60, 0), "it says it has 1,152,921,504,606,846,976 tensors and 0 metadata keys."),
        (HEAD + struct.pack("<QQ", 0, 2**60), "tensors and 1,152,921,504,606,846,976 metadata keys."),
        # a key, a text, a list and a list of texts that are longer than the file
        (HEAD + struct.pack("<QQQ", 0, 1, 2**62), "its header says more than the file holds."),
        (HEAD + struct.pack("<QQ", 0, 1) + text("k") + struct.pack("<IQ", 8, 2**62), "its header says more than the file holds."),
        (HEAD + struct.pack("<QQ", 0, 1) + text("k") + struct.pack("<IIQ", 9, 10, 2**62), "its metadata lists 4,611,686,018,427,387,904 values."),
        (HEAD + struct.pack("<QQ", 0, 1) + text("k") + struct.pack("<IIQ", 9, 10, 10**6), "its header says more than the file holds."),
        (HEAD + struct.pack("<QQ", 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1), "its metadata lists values of type 9."),
        (HEAD + struct.pack("<QQ", 0, 1) + text("k") + struct.pack("<I", 77), "its metadata has a value of type 77."),
        (gguf(LLAMA, [("t", (2**62, 2**62), F16)]), "a tensor has 21,267,647,932,558,653,966,460,912,964,485,513,216 parameters."),
        (gguf(LLAMA, [])[:8] + struct.pack("<QQ", 1, 0) + text("t") + struct.pack("<I", 2**31), "a tensor has 2,147,483,648 dimensions."),
        (gguf(LLAMA, [("t", (2,), 99)]), "has tensors of a format that planner does not know, number 99."),
        (gguf({}, []), "does not say of which architecture its model is."),
        (gguf({"general.architecture": "clip"}, []), "has no clip.block_count."),
        (gguf(LLAMA, []), "has no tensors."),
        (gguf(LLAMA | {"llama.block_count": 0}, TENSORS), "has no layers, no embedding length or no attention heads."),
        (gguf(LLAMA | {"llama.embedding_length": "wide"}, TENSORS), "has a llama.embedding_length of 'wide';"),
    ],
)  # fmt: skip
def test_a_damaged_gguf_is_one_line(tmp_path, data, said):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(data)
    with pytest.raises(PlannerError) as caught:
        read_model_file(path)
    assert str(caught.value).startswith("tiny.gguf ")
    assert said in str(caught.value)


@settings(
    max_examples=max(150, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_whatever_the_bytes_the_worst_is_one_line(tmp_path, data):
    whole = bytearray(gguf(LLAMA, TENSORS))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(8, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    path = tmp_path / "fuzz.gguf"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    # Any other error is a bug, and fails here.
    with contextlib.suppress(PlannerError):
        read_model_file(path)
