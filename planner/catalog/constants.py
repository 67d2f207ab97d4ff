"""What public measurements say of each class of device and group of engines: the estimate's constants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner.catalog.tables import NAMES_KEPT, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping

# Engines of one group spend their time alike.
ENGINE_GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "serving": "vLLM, SGLang, TensorRT-LLM, TGI, LMDeploy",
        "llamacpp": "llama.cpp, Ollama, LM Studio, KoboldCpp",
        "compiled": "ExLlama, MLC, MLX, gpt-fast, FasterTransformer, TinyChat",
        "neuron": "Neuron",
        "other": "others",
    }
)
_ENGINES: Final = (
    ("serving", re.compile(r"vllm|sglang|trt|tensorrt|tgi|lmdeploy|text-generation-inference|serving")),
    ("neuron", re.compile(r"neuron")),
    ("llamacpp", re.compile(r"llama\.?cpp|ollama|lm ?studio|kobold|gguf")),
    ("compiled", re.compile(r"gpt-fast|fastertransformer|exllama|mlc|tinychat|mlx")),
)
# What mostly runs on a class where no engine is named.
_USUAL: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(("nv-dc-hbm", "nv-dc-gddr", "amd-dc-hbm", "gaudi", "tpu"), "serving")
    | dict.fromkeys(
        ("nv-workstation", "nv-consumer", "unified-lpddr", "amd-consumer", "intel-gpu", "apple", "cpu"), "llamacpp"
    )
    | {"aws-neuron": "neuron"}
)
ANY: Final = "any"
# How much wider than that of all classes a range is where nothing was measured.
_UNMEASURED: Final = 1.25


@dataclass(frozen=True, slots=True)
class ClassConstants:
    """Constants of a class and an engine group, fitted to the rows and configurations counted here.

    ``fetch_efficiency`` is of reads alone, latencies apart, so it lies above an MBU. Latencies are per layer: always,
    more in a mixture of experts, more under tensor parallelism. ``adds_compute`` is 1 where arithmetic does not
    overlap the reads.
    """

    device_class: str
    engine_group: str
    fetch_efficiency: float
    layer_latency_us: float
    moe_layer_latency_us: float
    tensor_layer_latency_us: float
    stream_overhead_us: float
    mfu: float
    adds_compute: int
    stall_mfu: float
    moe_stall_mfu: float
    rows: int
    configurations: int
    basis: str


@dataclass(frozen=True, slots=True)
class ClassRange:
    """Between which multiples of the estimate eight in ten held-out measurements lie, for a class and kind."""

    device_class: str
    kind: str
    low_factor: float
    high_factor: float
    rows: int
    configurations: int


@dataclass(frozen=True, slots=True)
class PrefillMfu:
    """Share of the dense peak that prefill reached, the median of configurations."""

    device_class: str
    engine_group: str
    kind: str
    prefill_mfu: float
    low: float
    high: float
    rows: int
    configurations: int


@lru_cache(maxsize=NAMES_KEPT)
def engine_group(engine: str) -> str:
    """The group of an engine by its name, version and all; ``other`` where it is unknown.

    >>> engine_group("vLLM 0.9.1"), engine_group("llama.cpp b2824"), engine_group("mine")
    ('serving', 'llamacpp', 'other')
    """
    name = engine.casefold()
    return next((group for group, known in _ENGINES if known.search(name)), "other")


def usual_engine_group(device_class: str) -> str:
    """The group that mostly runs on a class.

    >>> usual_engine_group("apple")
    'llamacpp'
    """
    return _USUAL.get(device_class, "serving")


@cache
def _constants() -> Mapping[tuple[str, str], ClassConstants]:
    return {(row.device_class, row.engine_group): row for row in read_table("class_constants.csv", ClassConstants)}


def class_constants(device_class: str, group: str) -> ClassConstants:
    """The constants of a class and group; of the class where the group was not measured on it, else of all.

    >>> class_constants("nv-dc-hbm", "serving").rows > 500
    True
    """
    table = _constants()
    return table.get((device_class, group)) or table.get((device_class, ANY)) or table[ANY, ANY]


@cache
def _ranges() -> Mapping[tuple[str, str], ClassRange]:
    return {(row.device_class, row.kind): row for row in read_table("class_ranges.csv", ClassRange)}


def class_range(device_class: str, kind: str) -> ClassRange:
    """The range of a class and kind (dense batch 1, dense batched, tensor parallel, moe).

    That of all classes, and wider, where no measurement stands behind the class and kind.
    """
    table = _ranges()
    found = table.get((device_class, kind))
    if found is not None or device_class == ANY:
        return found or table[ANY, kind]
    wide = table[ANY, kind]
    return ClassRange(
        ANY, kind, wide.low_factor / _UNMEASURED, wide.high_factor * _UNMEASURED, wide.rows, wide.configurations
    )


def is_measured(device_class: str, kind: str) -> bool:
    """Whether measurements stand behind a class and kind.

    >>> is_measured("nv-dc-hbm", "moe"), is_measured("nv-consumer", "moe")
    (True, False)
    """
    found = _ranges().get((device_class, kind))
    return found is not None and found.rows > 0


@cache
def _prefill() -> tuple[PrefillMfu, ...]:
    return read_table("prefill_mfu.csv", PrefillMfu)


# The median of all configurations, where a class was not measured.
ANY_PREFILL_MFU: Final = 0.4


@lru_cache(maxsize=NAMES_KEPT)
def prefill_mfu(device_class: str, group: str, kind: str) -> float:
    """Prefill MFU of a class, the engine's own figure first, then the class's for dense models, then any.

    >>> prefill_mfu("nv-dc-hbm", "serving", "dense")
    0.515
    """
    found = [row for row in _prefill() if row.device_class == device_class]
    for wanted in ((group, kind), (group, "dense")):
        for row in found:
            if (row.engine_group, row.kind) == wanted:
                return min(row.prefill_mfu, 1.0)
    dense = [row.prefill_mfu for row in found if row.kind == "dense"]
    return min(sum(dense) / len(dense), 1.0) if dense else ANY_PREFILL_MFU
