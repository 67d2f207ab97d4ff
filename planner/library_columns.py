"""The columns of a user's own sheets of devices and models: the catalogue's fields, so that its rows paste in."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner.catalog import DEVICE_CLASSES
from planner.columns import Column, Number, PrecisionName, Text, choice
from planner.plan.core_inputs import COUNT, POSITIVE
from planner.plan.scenario import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

_WHOLE: Final = Number(least=0, whole=True)
_PEAK: Final = Number(above=0, likely=(0.1, 50_000))
_SPEED: Final = Number(above=0, likely=(5, 50_000))
_MEMORY: Final = Number(above=0, likely=(1, 2_000))
_PARAMETERS: Final = Number(above=0, likely=(0.05, 20_000))
_NOTES: Final = Column("Notes", Text(), "Anything you want to keep beside the row.", ("note", "comment", "remarks"))
_CONFIDENCE: Final = Column("Confidence", Text(), "How far you trust the row.", (), default="yours")
_OTHER_NAMES: Final = Column("Other names", Text(), "Further names, parted by commas.", ("aliases", "also called"))
_SOURCE: Final = Column("Source", Text(), "Where the figures are from.", ("reference", "url", "link"))


def _like(name: str, text: str) -> Column:
    """A column that reads as the scenario's of that name, with what it means for a model."""
    column = COLUMNS[name]
    # A model that attends to nothing has none of these, and its imported row says 0.
    rule = _WHOLE if name in {"heads", "kv_heads", "head_dim", "kv_layers"} else column.rule
    return Column(column.label, rule, text, column.aliases, decimals=column.decimals)


DEVICE_COLUMNS: Final[Mapping[str, Column]] = MappingProxyType(
    {
        "name": Column(
            "Device",
            Text(),
            "What you call it; type the same in the column Device of your scenarios. Required.",
            ("device name", "gpu", "accelerator", "card", "hardware", "gpu model", "gpu name"),
        ),
        "vendor": Column("Maker", Text(), "Who makes it.", ("manufacturer", "brand")),
        "device_class": Column(
            "Device class",
            choice(DEVICE_CLASSES),
            "Its kind, by which measured constants are chosen. Blank: those of all classes together, a wider range.",
            ("class", "accelerator class"),
        ),
        "memory_gb": Column(
            "Memory",
            _MEMORY,
            "Memory of ONE device, as it is sold.",
            ("device memory", "memory per device", "vram", "gpu memory", "hbm", "memory size", "memory as sold"),
        ),
        "reported_memory_gb": Column(
            "Reported memory",
            _MEMORY,
            "Memory of ONE device as it reports it to software; wins over the figure that it is sold with.",
            ("memory reported", "true memory"),
        ),
        "memory_basis": Column("Memory basis", Text(), "Which of the two the memory is.", ("memory as",)),
        "bandwidth_gb_s": Column(
            "Bandwidth",
            _SPEED,
            "Memory bandwidth of ONE device. Required.",
            (
                *COLUMNS["device_bandwidth_gb_s"].aliases,
                "bandwidth per device",
                "memory bandwidth",
                "peak bandwidth",
                "hbm bandwidth",
            ),
        ),
        "fp16_tflop_s": Column(
            "FP16 peak",
            _PEAK,
            "DENSE peak of ONE device in 16 bits; sparse datasheet figures are twice that.",
            ("fp16", "bf16", "bf16 peak", "peak", "peak per device", "fp16 dense", "bf16 dense", "peak tflops"),
        ),
        "fp8_tflop_s": Column("FP8 peak", _PEAK, "DENSE peak at FP8.", ("fp8", "fp8 dense")),
        "int8_tflop_s": Column("INT8 peak", _PEAK, "DENSE peak at INT8.", ("int8", "int8 dense", "int8 tops")),
        "fp4_tflop_s": Column("FP4 peak", _PEAK, "DENSE peak at FP4.", ("fp4", "fp4 dense", "nvfp4")),
        "power_w": Column("Power", POSITIVE, "Power of ONE device.", ("tdp", "board power", "watts")),
        "interconnect_gb_s": Column(
            "Interconnect", _SPEED, "Bandwidth to the other devices, both directions.", ("nvlink", "link bandwidth")
        ),
        "source": _SOURCE,
        "confidence": _CONFIDENCE,
        "aliases": _OTHER_NAMES,
        "notes": _NOTES,
    }
)

MODEL_COLUMNS: Final[Mapping[str, Column]] = MappingProxyType(
    {
        "name": Column(
            "Model",
            Text(),
            "What you call it; type the same in the column Model of your scenarios. Required.",
            ("model name", "llm", "model label"),
        ),
        "hf_id": Column("Hugging Face", Text(), "Its repository; it is a name too.", ("hf id", "repository", "repo")),
        "params_b": _like("params_b", "Total parameters in billions. Required."),
        "active_params_b": _like("active_params_b", "Parameters that one token uses. Blank: all."),
        "streamed_params_b": Column(
            "Streamed parameters",
            _PARAMETERS,
            "Parameters that one token reads: an input embedding of its own is looked up. Blank: the active ones.",
            COLUMNS["streamed_params_b"].aliases,
        ),
        "layers": _like("layers", "Layers of the model."),
        "heads": _like("heads", "Attention heads of a layer."),
        "kv_heads": _like("kv_heads", "Key and value heads of a layer; without them no KV cache is counted."),
        "head_dim": _like("head_dim", "Elements of a head; not always hidden / heads."),
        "hidden": Column("Hidden size", _WHOLE, "Width of the model.", ("hidden", "hidden dim", "d model"), decimals=0),
        "vocab": Column("Vocabulary", _WHOLE, "Tokens that it knows.", ("vocab", "vocab size"), decimals=0),
        "max_context_tokens": Column(
            "Longest context", COUNT, "Context that it was made for.", ("max context", "context length", "context")
        ),
        "attention": Column("Attention", Text(), "Kind of attention, for the reader.", ("attention type",)),
        "kv_lora_rank": _like("kv_lora_rank", "Rank of a latent (MLA) cache."),
        "rope_dim": _like("rope_dim", "Rotary elements beside a latent (MLA) cache."),
        "indexer_heads": Column("Indexer heads", COUNT, "Heads of a sparse-attention indexer.", decimals=0),
        "indexer_head_dim": Column(
            "Indexer dimension", COUNT, "Elements that an indexer keeps beside a latent cache.", decimals=0
        ),
        "indexer_top_tokens": Column("Indexer picks", COUNT, "Tokens that an indexer picks."),
        "window_tokens": _like("window_tokens", "Tokens that a sliding-window layer looks back on."),
        "full_layers": _like("full_layers", "Layers whose cache grows with the context. Blank: all with a cache."),
        "kv_layers": _like("kv_layers", "Layers that keep a KV cache. Blank: all layers."),
        "experts": _like("experts", "Experts in each layer of a mixture."),
        "active_experts": _like("active_experts", "Experts that one token is routed to."),
        "native_precision": Column(
            "Precision",
            PrecisionName(),
            "Number format that the weights are published in, for scenarios that name none.",
            ("native precision", "published precision", "quantization", "quant", "dtype", "weight precision"),
        ),
        "expert_precision": _like("expert_precision", "Number format of the experts, where it is another."),
        "source": _SOURCE,
        "confidence": _CONFIDENCE,
        "aliases": _OTHER_NAMES,
        "notes": _NOTES,
        "weights_gb": Column(
            "Weights",
            COLUMNS["weights_gb"].rule,
            "Size of the file at its own precision; wins over parameters x bits there.",
            (*COLUMNS["weights_gb"].aliases, "size"),
        ),
        "bits_per_weight": Column(
            "Bits per weight",
            Number(least=1, most=64),
            "True bits per weight of the file, where its size is not given.",
            ("bpw", "true bits per weight"),
        ),
    }
)
