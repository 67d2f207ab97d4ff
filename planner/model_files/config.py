"""A Hugging Face config.json: the dimensions of a model, and by its architecture the parameters that they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from planner.catalog import Model
from planner.issues import PlannerError
from planner.model_files.imported import LARGEST, MOST_LAYERS, whole

_QWEN3_5: Final = frozenset({"qwen3_5_text", "qwen3_5_moe_text"})
_QK_NORM: Final = _QWEN3_5 | {"qwen3", "qwen3_moe", "qwen3_vl_text", "qwen3_vl_moe_text", "gemma3_text"}
_QKV_BIAS: Final = frozenset({"qwen2"})
_FOUR_NORMS: Final = frozenset({"gemma2", "gemma3_text"})
_LATENT: Final = frozenset({"deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa"})
_EXPERTS: Final = frozenset({"mixtral", "qwen3_moe", "qwen3_vl_moe_text", "minimax_m2", "gpt_oss", "llama4_text"})
_PLAIN: Final = frozenset(
    {"llama", "mistral", "qwen2", "qwen3", "qwen3_vl_text", "gemma", "gemma2", "gemma3_text", "phi3"}
)
KNOWN_TYPES: Final = _PLAIN | _EXPERTS | _LATENT | _QWEN3_5

# What Hugging Face fills in where a config leaves it out.
_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "gemma": {"tie_word_embeddings": True, "head_dim": 256},
    "gemma2": {"tie_word_embeddings": True, "head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2},
    "gemma3_text": {
        "tie_word_embeddings": True,
        "head_dim": 256,
        "vocab_size": 262_208,
        "max_position_embeddings": 131_072,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
    },
    "gpt_oss": {"sliding_window_pattern": 2},
    "llama4_text": {"head_dim": 128, "attention_chunk_size": 8192},
}
_SCALE_BITS: Final = 16


@dataclass(frozen=True, slots=True)
class Parameters:
    """Numbers of parameters: all, those of one token's pass, and those read for it."""

    total: int
    active: int
    streamed: int


class Config:
    """The text part of a config.json, its values read as whole numbers with Hugging Face's defaults."""

    def __init__(self, config: dict[str, Any], where: str) -> None:
        nested = config.get("text_config")
        outer = {k: v for k, v in config.items() if k in {"dtype", "torch_dtype", "quantization_config", "model_type"}}
        if "tie_word_embeddings" in config:
            outer["tie_word_embeddings"] = config["tie_word_embeddings"]
        inner = outer | nested if isinstance(nested, dict) else config
        self.where = where
        self.type = str(inner.get("model_type", ""))
        if not self.type:
            raise PlannerError(f"{where} has no model_type.")
        if self.type not in KNOWN_TYPES:
            raise PlannerError(
                f"{where} is of model type {self.type!r:.40}, whose parameters planner cannot add up; "
                f"it knows {', '.join(sorted(KNOWN_TYPES))}. A .gguf file is read whatever its type."
            )
        self.values = _DEFAULTS.get(self.type, {}) | inner
        self.layers = self("num_hidden_layers", most=MOST_LAYERS)
        self.hidden = self("hidden_size")
        self.vocab = self("vocab_size")
        self.heads = self("num_attention_heads")
        if not self.layers or not self.hidden or not self.heads:
            raise PlannerError(f"{where} has no layers, no hidden size or no attention heads.")
        self.kv_heads = self("num_key_value_heads", self.heads)
        self.head_dim = self("head_dim", self.hidden // self.heads)
        self.experts = next((n for key in _EXPERT_KEYS if (n := self(key, 0))), 0)
        dense = self.values.get("mlp_only_layers")
        self.dense_layers = (
            frozenset(n for n in dense if isinstance(n, int)) if isinstance(dense, list) else frozenset()
        )
        self.active_experts = min(self("num_experts_per_tok", 0), self.experts)

    def __call__(self, key: str, default: int | None = None, *, most: int = LARGEST) -> int:
        """A whole number of the config; raises PlannerError where it is missing or none."""
        return whole(self.values, key, self.where, default, most=most)

    @property
    def latent(self) -> bool:
        """Whether attention keeps a latent per token (MLA) instead of K and V."""
        return self.type in _LATENT

    def kinds(self) -> list[str]:
        """Each layer's attention, as Hugging Face names it: full_attention, sliding_attention, linear_attention."""
        listed = self.values.get("layer_types")
        if isinstance(listed, list) and len(listed) == self.layers:
            return [str(kind) for kind in listed]
        every = self("full_attention_interval", 0)
        if self.type in _QWEN3_5 and every:
            return ["linear_attention" if (i + 1) % every else "full_attention" for i in range(self.layers)]
        if self.type == "llama4_text":
            every = self("no_rope_layer_interval", 4)
        elif self.window:
            every = self("sliding_window_pattern", 0)
            if self.values.get("use_sliding_window") and self.type.startswith("qwen"):
                first = self("max_window_layers", self.layers)
                return ["full_attention" if i < first else "sliding_attention" for i in range(self.layers)]
        else:
            return ["full_attention"] * self.layers
        return ["full_attention" if every and (i + 1) % every == 0 else "sliding_attention" for i in range(self.layers)]

    @property
    def window(self) -> int:
        """Tokens that a windowed layer looks back at, 0 where no layer is windowed."""
        if self.values.get("use_sliding_window") is False:
            return 0
        window = self("attention_chunk_size" if self.type == "llama4_text" else "sliding_window", 0)
        # A window as long as the context is none.
        return window if window < self("max_position_embeddings", window + 1) else 0


_EXPERT_KEYS: Final = ("num_local_experts", "num_experts", "n_routed_experts")


def _attention(c: Config) -> int:
    """Parameters of one layer's attention, its norms over heads included."""
    if c.latent:
        return _latent_attention(c)
    q, kv = c.heads * c.head_dim, c.kv_heads * c.head_dim
    gates = q if c.type in _QWEN3_5 and c.values.get("attn_output_gate", True) else 0
    weights = c.hidden * (q + gates + 2 * kv) + q * c.hidden
    if c.type in _QKV_BIAS:
        weights += q + 2 * kv
    elif c.values.get("attention_bias"):
        weights += q + 2 * kv + c.hidden
    if c.type in _QK_NORM:
        weights += 2 * c.head_dim
    elif c.type == "minimax_m2" and c.values.get("use_qk_norm"):
        weights += q + kv
    # gpt-oss learns one attention sink per head.
    return weights + (c.heads if c.type == "gpt_oss" else 0)


def _latent_attention(c: Config) -> int:
    nope, rope, value = c("qk_nope_head_dim"), c("qk_rope_head_dim"), c("v_head_dim")
    rank, q_rank = c("kv_lora_rank"), c("q_lora_rank", 0)
    queries = c.heads * (nope + rope)
    weights = c.hidden * q_rank + q_rank + q_rank * queries if q_rank else c.hidden * queries
    weights += c.hidden * (rank + rope) + rank + rank * c.heads * (nope + value) + c.heads * value * c.hidden
    index_heads, index_dim = c("index_n_heads", 0), c("index_head_dim", 0)
    if index_heads:
        weights += q_rank * index_heads * index_dim + c.hidden * (index_dim + index_heads) + 2 * index_dim
    return weights


def _linear_attention(c: Config) -> int:
    """Parameters of a gated delta net: projections in and out, a short convolution, decay and gate per head."""
    heads = c("linear_num_value_heads")
    keys = c("linear_num_key_heads") * c("linear_key_head_dim")
    values = heads * c("linear_value_head_dim")
    mixed = 2 * keys + values
    return (
        c.hidden * (mixed + values + 2 * heads)
        + mixed * c("linear_conv_kernel_dim")
        + 2 * heads
        + c("linear_value_head_dim")
        + values * c.hidden
    )


def _gated(c: Config, width: int) -> int:
    return 3 * c.hidden * width


def _has_experts(c: Config, layer: int) -> bool:
    if not c.experts:
        return False
    if c.latent:
        return layer >= c("first_k_dense_replace", 0) and layer % (c("moe_layer_freq", 1) or 1) == 0
    if layer in c.dense_layers:
        return False
    step = c("interleave_moe_layer_step" if c.type == "llama4_text" else "decoder_sparse_step", 1)
    return (layer + 1) % (step or 1) == 0


def _feed_forward(c: Config, layer: int) -> tuple[int, int]:
    """Parameters of a layer's feed-forward part: all, and those of one token's pass."""
    if not _has_experts(c, layer):
        width = c("intermediate_size_mlp" if c.type == "llama4_text" else "intermediate_size")
        bias = 2 * width + c.hidden if c.values.get("mlp_bias") else 0
        return (dense := _gated(c, width) + bias), dense
    width = c("moe_intermediate_size", c("intermediate_size", 0))
    expert, always = _gated(c, width), c.hidden * c.experts
    if c.type == "gpt_oss":
        expert += 2 * width + c.hidden
        always += c.experts
    elif c.type == "minimax_m2" and c.values.get("use_routing_bias"):
        always += c.experts
    elif c.type == "llama4_text":
        always += _gated(c, width)
    elif c.latent:
        always += _gated(c, width) * c("n_shared_experts", 0)
        always += c.experts if c.values.get("topk_method") == "noaux_tc" else 0
    elif c.type in _QWEN3_5:
        always += _gated(c, c("shared_expert_intermediate_size")) + c.hidden
    return c.experts * expert + always, c.active_experts * expert + always


def parameters(c: Config) -> Parameters:
    """The parameters that a config's shapes add up to; vision and multi-token prediction are not counted."""
    norms = (4 if c.type in _FOUR_NORMS else 2) * c.hidden
    total = active = c.hidden
    per_kind = {
        kind: _linear_attention(c) if kind == "linear_attention" else _attention(c) for kind in dict.fromkeys(c.kinds())
    }

    for layer, kind in enumerate(c.kinds()):
        every, used = _feed_forward(c, layer)
        total += per_kind[kind] + norms + every
        active += per_kind[kind] + norms + used
    embedding = c.vocab * c.hidden
    if c.values.get("tie_word_embeddings"):
        return Parameters(total + embedding, active + embedding, active + embedding)
    return Parameters(total + 2 * embedding, active + 2 * embedding, active + embedding)


def precisions_of(c: Config) -> tuple[str, str]:
    """The format of the weights, and that of the experts where it is another; empty where the config does not say."""
    kept = str(c.values.get("dtype") or c.values.get("torch_dtype") or "")
    native = {"bfloat16": "BF16", "float16": "FP16", "float32": "FP32"}.get(kept, "")
    quantised = c.values.get("quantization_config")
    if not isinstance(quantised, dict):
        return native, ""
    method = str(quantised.get("quant_method", "")).casefold()
    if method == "mxfp4":
        return native or "BF16", "MXFP4"
    found = {"fp8": "FP8", "fbgemm_fp8": "FP8", "awq": "AWQ", "gptq": "GPTQ"}.get(method)
    bits = quantised.get("bits", 4)
    if found in {"AWQ", "GPTQ"} and bits != 4:  # noqa: PLR2004  both names stand for four bits
        found = str(bits) if isinstance(bits, int) else None
    if method == "modelopt":
        found = {"NVFP4": "NVFP4", "FP8": "FP8"}.get(str(quantised.get("quant_algo", "")))
    if method == "compressed-tensors":
        found = _packed_bits(quantised)
        if found and c.experts and "self_attn" in str(quantised.get("ignore", "")):
            return native, found
    return found or "", ""


def _packed_bits(quantised: dict[str, Any]) -> str | None:
    groups = quantised.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict) or not isinstance(bits := weights.get("num_bits"), int):
        return None
    if weights.get("type") == "float":
        return {8: "FP8", 4: "NVFP4"}.get(bits)
    group = weights.get("group_size")
    scales = _SCALE_BITS / group if isinstance(group, int) and group > 0 else 0
    return f"{bits + scales:g}" if scales else f"INT{bits}"


def model_of(c: Config, name: str) -> Model:
    """A config as a row of the catalogue."""
    kinds = c.kinds()
    counted = parameters(c)
    window = c.window if "sliding_attention" in kinds or "chunked_attention" in kinds else 0
    caching = sum(kind != "linear_attention" for kind in kinds)
    full = sum(kind == "full_attention" for kind in kinds)
    native, expert = precisions_of(c)
    indexer = c("index_n_heads", 0) if c.latent else 0
    return Model(
        name=name,
        hf_id="",
        params_b=counted.total / 1e9,
        active_params_b=counted.active / 1e9,
        streamed_params_b=counted.streamed / 1e9,
        layers=c.layers,
        heads=c.heads,
        kv_heads=c.kv_heads,
        head_dim=c("qk_nope_head_dim") + c("qk_rope_head_dim") if c.latent else c.head_dim,
        hidden=c.hidden,
        vocab=c.vocab,
        max_context_tokens=c("max_position_embeddings", 0) or None,
        attention=_attention_name(c, window, caching),
        kv_lora_rank=c("kv_lora_rank") if c.latent else None,
        rope_dim=c("qk_rope_head_dim") if c.latent else None,
        indexer_heads=indexer or None,
        indexer_head_dim=c("index_head_dim") if indexer else None,
        indexer_top_tokens=c("index_topk", 0) or None if indexer else None,
        window_tokens=window or None,
        full_layers=full,
        kv_layers=caching,
        experts=c.experts or None,
        active_experts=c.active_experts or None,
        native_precision=native,
        expert_precision=expert,
        source=c.where,
        confidence="computed",
        aliases=(),
        notes="",
    )


def _attention_name(c: Config, window: int, caching: int) -> str:
    if c.latent:
        return "MLA, sparse" if c("index_n_heads", 0) else "MLA"
    name = "MHA" if c.kv_heads == c.heads else "MQA" if c.kv_heads == 1 else "GQA"
    if caching < c.layers:
        name += ", linear"
    if window:
        name += ", chunked" if c.type == "llama4_text" else ", sliding window"
    return name
