"""Models: parameters, layers and the dimensions of their KV cache, each with its source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from planner.catalog import names
from planner.catalog.precisions import find_precision
from planner.catalog.tables import NAMES_KEPT, read_table


@dataclass(frozen=True, slots=True)
class Model:
    """One model's text part; parameters in billions, None where a model has no such part or it is not known.

    ``active_params_b`` take part in one token, ``streamed_params_b`` are read for it: active, without the rows of an
    input embedding that is not the output's too. ``kv_layers`` hold a KV cache (hybrid models keep a fixed state in the
    others), of which ``full_layers`` keep and read every token and the rest no more than the last ``window_tokens``.
    ``kv_lora_rank`` and ``rope_dim`` are what latent attention (MLA) keeps per token and layer, and
    ``indexer_head_dim`` what the indexer of sparse attention keeps beside it. ``native_precision`` names the format
    that the weights are published in, ``expert_precision`` that of the experts where it is another. ``confidence`` is
    exact (the shapes add up to the published number of parameters), computed (from the shapes alone), or read (from a
    file's tensors).
    """

    name: str
    hf_id: str
    params_b: float
    active_params_b: float
    streamed_params_b: float
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    vocab: int
    max_context_tokens: int | None
    attention: str
    kv_lora_rank: int | None
    rope_dim: int | None
    indexer_heads: int | None
    indexer_head_dim: int | None
    indexer_top_tokens: int | None
    window_tokens: int | None
    full_layers: int
    kv_layers: int
    experts: int | None
    active_experts: int | None
    native_precision: str
    expert_precision: str
    source: str
    confidence: str
    aliases: tuple[str, ...]
    notes: str

    @property
    def kv_values_per_layer(self) -> int:
        """Numbers that one token leaves in the KV cache of one layer: K and V of every KV head, or MLA's latent.

        >>> find_model("Llama-3.1-70B").kv_values_per_layer, find_model("DeepSeek-V3").kv_values_per_layer
        (2048, 576)
        """
        if self.kv_lora_rank:
            return self.kv_lora_rank + (self.rope_dim or 0) + (self.indexer_head_dim or 0)
        return 2 * self.kv_heads * self.head_dim

    @property
    def kv_values_per_token(self) -> int:
        """Numbers that one token leaves in the KV cache of all layers: times the bytes of one, its bytes per token."""
        return self.kv_layers * self.kv_values_per_layer

    @property
    def growing_kv_values_per_token(self) -> int:
        """Numbers that every further token adds once the windows are full."""
        return self.full_layers * self.kv_values_per_layer


@cache
def models() -> tuple[Model, ...]:
    """Every model planner knows, in the order of its table."""
    return read_table("models.csv", Model)


# A copy that is tuned or quantised has the shape of the model it is made of.
_COPIES: Final = frozenset(
    {"meta", "instruct", "it", "chat", "base", "hf", "gguf", "quantized", "dynamic", "bnb", "mlx", "4bit", "8bit"}
)
_QUANTISED: Final = re.compile(r"[-_.: ](i?q\d(_[01]|_k(_[sml])?|_[a-z]+)?)(?=$|[-_.: ])")
_SIZE: Final = re.compile(r"(\d+x)?\d+(\.\d+)?[bm]")
# llama.cpp writes a mixture's sizes as 35B.A3B.
_JOINED_SIZES: Final = re.compile(r"(?<=\db)\.(?=a\d)")


def _words(name: str) -> tuple[str, ...]:
    repository = name.strip().rpartition("/")[2]
    plain = _QUANTISED.sub(" ", _JOINED_SIZES.sub("-", repository.casefold().removesuffix(".gguf")))
    return tuple(word for word in names.words(plain) if word not in _COPIES and not find_precision(word))


@cache
def _entries() -> tuple[names.Entry, ...]:
    found = []
    for model in models():
        spelled = [_words(name) for name in (model.name, model.hf_id, *model.aliases)]
        found.append(
            names.Entry(model.name, frozenset(map("".join, spelled)), tuple(frozenset(words) for words in spelled))
        )
    return tuple(found)


@lru_cache(maxsize=NAMES_KEPT)
def models_named(name: str) -> tuple[Model, ...]:
    """Every model that a name may mean: none, the one, or all between which it leaves open.

    >>> [model.name for model in models_named("llama 3 70b")], len(models_named("llama 70b"))
    (['Llama-3-70B'], 4)
    """
    words = _words(name)
    sizes = [word for word in words if _SIZE.fullmatch(word)]
    # A family has members that no table lists, and so has a size: it takes both to tell a model.
    telling = frozenset(words) if 0 < len(sizes) < len(words) else frozenset()
    found = set(names.named("".join(words), telling, _entries()))
    return tuple(model for model in models() if model.name in found)


def find_model(name: str) -> Model | None:
    """The model that a name means, or None where it means none or leaves several open.

    An owner (``meta-llama/``), the words for tuned copies and those for quantised ones may stand in it.

    >>> find_model("meta-llama/Llama-3.1-70B-Instruct").name, find_model("llama3.1:70b").layers, find_model("llama")
    ('Llama-3.1-70B', 80, None)
    """
    found = models_named(name)
    return found[0] if len(found) == 1 else None


def nearest_models(name: str) -> list[str]:
    """The models that a name leaves open, else up to eight whose names look most like it.

    >>> nearest_models("gpt-oss")
    ['gpt-oss-20b', 'gpt-oss-120b']
    """
    return list(_nearest(name))


@lru_cache(maxsize=NAMES_KEPT)
def _nearest(name: str) -> tuple[str, ...]:
    found = [model.name for model in models_named(name)]
    words = _words(name)
    return tuple(found[: names.MOST_SUGGESTIONS] or names.nearest("".join(words), frozenset(words), _entries()))
