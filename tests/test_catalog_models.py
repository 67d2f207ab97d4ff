import dataclasses

import pytest

from planner import catalog
from planner.catalog import find_model, models, nearest_models

# Bytes per token of a 16-bit cache, all layers and those that grow without end. By hand: Llama-3.1-70B is
# 2 x 80 layers x 8 KV heads x 128 x 2 bytes, DeepSeek-V3 61 x (512 + 64) x 2, DeepSeek-V3.2 61 x (512 + 64 + 128) x 2,
# gpt-oss-20b 2 x 24 x 8 x 64 x 2 of which half the layers grow, Qwen3.5-27B 2 x 16 of 64 layers x 4 x 256 x 2.
KV_BYTES = [
    ("Llama-1-33B", 1_597_440, 1_597_440),
    ("Llama-2-7B", 524_288, 524_288),
    ("Llama-2-13B", 819_200, 819_200),
    ("Llama-2-70B", 327_680, 327_680),
    ("CodeLlama-34B", 196_608, 196_608),
    ("Llama-3.2-1B", 32_768, 32_768),
    ("Llama-3.2-3B", 114_688, 114_688),
    ("Llama-3-70B", 327_680, 327_680),
    ("Llama-3.1-8B", 131_072, 131_072),
    ("Llama-3-8B", 131_072, 131_072),
    ("Llama-3.1-70B", 327_680, 327_680),
    ("Llama-3.1-405B", 516_096, 516_096),
    ("Llama-3.3-70B", 327_680, 327_680),
    ("Mistral-7B-v0.3", 131_072, 131_072),
    ("Mistral-Nemo-12B", 163_840, 163_840),
    ("Mistral-Small-24B-2501", 163_840, 163_840),
    ("Mistral-Large-123B-2407", 360_448, 360_448),
    ("Qwen2.5-7B", 57_344, 57_344),
    ("Qwen2.5-14B", 196_608, 196_608),
    ("Qwen2.5-32B", 262_144, 262_144),
    ("Qwen2.5-72B", 327_680, 327_680),
    ("Qwen3-0.6B", 114_688, 114_688),
    ("Qwen3-1.7B", 114_688, 114_688),
    ("Qwen3-8B", 147_456, 147_456),
    ("Qwen3-32B", 262_144, 262_144),
    ("Qwen3-4B", 147_456, 147_456),
    ("Qwen3-14B", 163_840, 163_840),
    ("Gemma-2-9B", 344_064, 172_032),
    ("Gemma-2-27B", 376_832, 188_416),
    ("Gemma-3-4B", 139_264, 20_480),
    ("Gemma-3-12B", 393_216, 65_536),
    ("Gemma-3-27B", 507_904, 81_920),
    ("Phi-3-mini-128k", 393_216, 393_216),
    ("Phi-4", 204_800, 204_800),
    ("Mixtral-8x7B", 131_072, 131_072),
    ("Mixtral-8x22B", 229_376, 229_376),
    ("Qwen3-30B-A3B", 98_304, 98_304),
    ("Qwen3-235B-A22B", 192_512, 192_512),
    ("Qwen3-Coder-480B-A35B", 253_952, 253_952),
    ("gpt-oss-20b", 49_152, 24_576),
    ("gpt-oss-120b", 73_728, 36_864),
    ("MiniMax-M2.5", 253_952, 253_952),
    ("Llama-4-Scout", 196_608, 49_152),
    ("Llama-4-Maverick", 196_608, 49_152),
    ("DeepSeek-V2-Lite", 31_104, 31_104),
    ("DeepSeek-V3", 70_272, 70_272),
    ("DeepSeek-R1", 70_272, 70_272),
    ("DeepSeek-V3.2", 85_888, 85_888),
    ("Kimi-K2", 70_272, 70_272),
    ("Kimi-K2.5", 70_272, 70_272),
    ("GLM-5", 109_824, 109_824),
    ("Qwen3.5-27B", 65_536, 65_536),
    ("Qwen3.5-35B-A3B", 20_480, 20_480),
    ("Qwen3.5-122B-A10B", 24_576, 24_576),
    ("Qwen3.5-397B-A17B", 30_720, 30_720),
]


@pytest.mark.parametrize(("name", "kv_bytes", "growing_kv_bytes"), KV_BYTES)
def test_kv_bytes_per_token(name, kv_bytes, growing_kv_bytes):
    model = find_model(name)
    assert 2 * model.kv_values_per_token == kv_bytes
    assert 2 * model.growing_kv_values_per_token == growing_kv_bytes


def test_every_model_is_checked():
    assert [model.name for model in models()] == [name for name, *_ in KV_BYTES]


@pytest.mark.parametrize("model", models(), ids=lambda m: m.name)
def test_parameters_and_layers_are_plausible(model):
    assert model.params_b >= model.active_params_b >= model.streamed_params_b > 0
    embedding_b = model.vocab * model.hidden / 1e9
    assert model.active_params_b - model.streamed_params_b == pytest.approx(0, abs=1e-9) or (
        model.active_params_b - model.streamed_params_b == pytest.approx(embedding_b, abs=1e-9)
    )
    assert model.layers >= model.kv_layers >= model.full_layers > 0
    # Layers whose cache does not grow have a window.
    assert (model.full_layers < model.kv_layers) == (model.window_tokens is not None)
    assert (model.experts is None) == (model.active_experts is None) == (model.params_b == model.active_params_b)
    assert (model.kv_lora_rank is None) == (model.rope_dim is None) == ("MLA" not in model.attention)
    assert model.heads % model.kv_heads == 0
    assert model.source
    assert model.confidence in {"exact", "computed"}


@pytest.mark.parametrize("model", models(), ids=lambda m: m.name)
def test_precisions_are_ones_that_planner_knows(model):
    assert catalog.find_precision(model.native_precision)
    assert not model.expert_precision or 1 <= catalog.precision_bits(model.expert_precision) <= 16


def test_a_mixture_of_experts_adds_up():
    # Mixtral: experts of (46.7 - 12.9) / (8 - 2) = 5.64 billion, 1.6 billion beside them
    model = find_model("Mixtral 8x7B")
    expert_b = (model.params_b - model.active_params_b) / (model.experts - model.active_experts)
    assert expert_b == pytest.approx(5.637, abs=1e-3)
    assert model.params_b - model.experts * expert_b == pytest.approx(1.605, abs=1e-3)


@pytest.mark.parametrize("model", models(), ids=lambda m: m.name)
def test_every_model_is_found_by_its_name_and_its_repository(model):
    assert find_model(model.name) is model
    assert find_model(model.hf_id) is model
    assert all(find_model(alias) is model for alias in model.aliases)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "Llama-3.1-70B"),
        ("llama 3.1 70b", "Llama-3.1-70B"),
        ("llama3.1:70b", "Llama-3.1-70B"),
        ("Llama-3-70B", "Llama-3-70B"),
        ("meta-llama/Llama-2-70b-chat-hf", "Llama-2-70B"),
        # a quantised copy has the shape of the original
        ("bartowski/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "Llama-3.1-8B"),
        ("llama-3.3-70b-instruct-awq", "Llama-3.3-70B"),
        ("nvidia/DeepSeek-R1-NVFP4", "DeepSeek-R1"),
        ("Qwen/Qwen3-235B-A22B-FP8", "Qwen3-235B-A22B"),
        # a tuned one too, where it is listed
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "Llama-3.3-70B"),
        ("DeepSeek-V3.1", "DeepSeek-V3"),
        ("qwen3:30b", "Qwen3-30B-A3B"),
        ("google/gemma-2-9b-it", "Gemma-2-9B"),
        ("gpt oss 20b", "gpt-oss-20b"),
        ("mixtral 8x7b", "Mixtral-8x7B"),
        ("PHI 4", "Phi-4"),
        ("CodeLlama-13b-Instruct-hf", "Llama-2-13B"),
        ("llama-33b", "Llama-1-33B"),
        # llama.cpp's way to write a mixture
        ("qwen35moe 122B.A10B Q5_K -", "Qwen3.5-122B-A10B"),
        ("qwen3.6 35B.A3B", "Qwen3.5-35B-A3B"),
    ],
)
def test_a_name_is_found_as_people_spell_it(asked, name):
    assert find_model(asked).name == name


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("llama 70b", ["Llama-2-70B", "Llama-3-70B", "Llama-3.1-70B", "Llama-3.3-70B"]),
        ("gpt-oss", ["gpt-oss-20b", "gpt-oss-120b"]),
        ("405B", ["Llama-3.1-405B"]),
        ("Qwen3-Coder", ["Qwen3-Coder-480B-A35B"]),
        # v0.2 has another vocabulary
        ("Mistral-7B-Instruct-v0.2", ["Mistral-7B-v0.3"]),
        ("Kimi-K2-Thinking", ["Kimi-K2"]),
        ("llamma", ["Llama-3-8B", "Llama-1-33B", "Llama-2-7B"]),
        ("zzzz", []),
        ("lama 3.1 70 b", ["Llama-3.1-8B", "Llama-3.1-70B", "Llama-3.1-405B"]),
        ("", []),
    ],
)
def test_a_name_that_means_none_or_several_is_not_found_and_gives_the_nearest(asked, near):
    assert find_model(asked) is None
    assert nearest_models(asked) == near


def test_a_model_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        find_model("Phi-4").layers = 1
