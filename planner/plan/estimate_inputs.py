"""The inputs of the estimate and of memory, each field declared once as a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from planner.catalog import DEVICE_CLASSES
from planner.columns import Column, Number, PrecisionName, Ratio, Text, choice
from planner.plan.core_inputs import COUNT, CoreInputs
from planner.plan.limits import USABLE_MEMORY_SHARE

WHOLE = Number(least=0, whole=True)
LATENCY = Number(least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateInputs(CoreInputs):
    """What the estimate takes beside the core's inputs: names, the model's shape, memory, load, constants."""

    device: Annotated[
        str,
        Column(
            "Device",
            Text(),
            "A device of the catalogue or of your Devices sheet; fills blank bandwidth, memory and peak.",
            ("gpu", "accelerator", "card", "hardware", "device name", "gpu model", "gpu type", "device model"),
            common=True,
        ),
    ] = ""
    device_class: Annotated[
        str | None,
        Column(
            "Device class",
            choice(DEVICE_CLASSES),
            "The kind of device, by which measured constants are chosen. Follows from the device.",
            ("accelerator class",),
        ),
    ] = None
    engine: Annotated[
        str,
        Column(
            "Engine",
            Text(),
            "The serving software: vLLM, SGLang, TensorRT-LLM, llama.cpp, ExLlama, MLX, ...; it chooses the constants.",
            ("runtime", "serving engine", "inference engine", "framework", "backend", "serving stack"),
            common=True,
        ),
    ] = ""
    split: Annotated[
        str | None,
        Column(
            "Split",
            choice({"tensor": "Tensor parallel", "layers": "By layers"}),
            "How devices share the model: tensor parallel (all read at once) or by layers (one after another).",
            ("parallelism", "parallel", "model parallelism"),
            default="tensor",
        ),
    ] = None
    peak_tflop_s: Annotated[
        float | None,
        Column(
            "Peak per device",
            Number(above=0, likely=(0.1, 50_000)),
            "DENSE peak of ONE device at the precision that it computes in; sparse datasheet figures are twice that.",
            ("peak tflops", "tflops", "peak compute", "dense tflops", "compute per device"),
        ),
    ] = None
    active_params_b: Annotated[
        float | None,
        Column(
            "Active parameters",
            Number(above=0, likely=(0.05, 20_000)),
            "Parameters that one token uses, in billions; fewer than all in a mixture of experts.",
            ("active params", "activated parameters", "active parameters (b)"),
        ),
    ] = None
    active_weights_gb: Annotated[
        float | None,
        Column(
            "Active weights",
            Number(above=0, likely=(0.1, 10_000)),
            "Size of the weights that one token reads, where experts and the rest differ in precision.",
            ("active size", "weights per token"),
        ),
    ] = None
    streamed_params_b: Annotated[
        float | None,
        Column(
            "Streamed parameters",
            Number(above=0, likely=(0.05, 20_000)),
            "Parameters that a step reads, in billions: an input embedding of its own is looked up, not read.",
            ("parameters read",),
        ),
    ] = None
    experts: Annotated[
        float | None,
        Column(
            "Experts", COUNT, "Experts in each layer of a mixture.", ("expert count", "number of experts"), decimals=0
        ),
    ] = None
    active_experts: Annotated[
        float | None,
        Column(
            "Active experts", COUNT, "Experts that one token is routed to.", ("experts per token", "top k"), decimals=0
        ),
    ] = None
    expert_precision: Annotated[
        str | None,
        Column(
            "Expert precision",
            PrecisionName(),
            "Number format of the experts, where it differs from the rest.",
            ("expert format", "expert dtype"),
        ),
    ] = None
    layers: Annotated[
        float | None, Column("Layers", COUNT, "Layers of the model.", ("layer count", "number of layers"), decimals=0)
    ] = None
    heads: Annotated[
        float | None,
        Column("Heads", COUNT, "Attention heads of a layer.", ("attention heads", "query heads"), decimals=0),
    ] = None
    kv_heads: Annotated[
        float | None,
        Column("KV heads", COUNT, "Key and value heads of a layer.", ("key value heads", "num kv heads"), decimals=0),
    ] = None
    head_dim: Annotated[
        float | None,
        Column("Head dimension", COUNT, "Elements of a head; not always hidden / heads.", ("head dim",), decimals=0),
    ] = None
    kv_layers: Annotated[
        float | None,
        Column(
            "KV layers", COUNT, "Layers that keep a KV cache.", ("layers with cache", "attention layers"), decimals=0
        ),
    ] = None
    full_layers: Annotated[
        float | None,
        Column(
            "Full-attention layers",
            WHOLE,
            "Layers whose cache grows with the whole context; the others keep a window.",
            ("global layers", "full layers"),
            decimals=0,
        ),
    ] = None
    window_tokens: Annotated[
        float | None,
        Column("Window", COUNT, "Tokens that a sliding-window layer looks back on.", ("sliding window",), decimals=0),
    ] = None
    window_reserve: Annotated[
        str | None,
        Column(
            "Window reserve",
            choice({"full": "Full", "capped": "Capped"}),
            "Whether the engine reserves sliding-window layers in full (the safe default) or caps them at the window.",
            ("sliding window reserve",),
            default="full",
        ),
    ] = None
    kv_lora_rank: Annotated[
        float | None, Column("KV rank", COUNT, "Rank of a latent (MLA) cache.", ("kv lora rank",), decimals=0)
    ] = None
    rope_dim: Annotated[
        float | None,
        Column(
            "Rope dimension", COUNT, "Rotary elements beside a latent (MLA) cache.", ("qk rope head dim",), decimals=0
        ),
    ] = None
    kv_precision: Annotated[
        str | None,
        Column(
            "KV precision",
            PrecisionName(),
            "Number format of the KV cache, apart from the weights'.",
            ("kv cache precision", "kv dtype", "kv cache dtype", "cache precision", "kv quantisation"),
            default="FP16",
            common=True,
        ),
    ] = None
    kv_bytes_per_token: Annotated[
        float | None,
        Column(
            "KV per token",
            Number(least=0),
            "Bytes of KV cache that one token of one stream takes over all layers and devices.",
            ("kv bytes per token", "kv cache per token"),
            decimals=0,
        ),
    ] = None
    usable_share: Annotated[
        float | None,
        Column(
            "Usable memory",
            Ratio(),
            "Share of the devices' memory that an engine may fill.",
            ("gpu memory utilization", "gpu memory utilisation", "usable share", "memory fraction"),
            default=USABLE_MEMORY_SHARE,
        ),
    ] = None
    overhead_gb: Annotated[
        float | None,
        Column(
            "Memory overhead",
            Number(least=0),
            "Memory of all devices that neither weights nor cache hold: buffers, graphs, the runtime.",
            ("overhead", "runtime overhead"),
            default=0.0,
        ),
    ] = None
    cached_tokens: Annotated[
        float | None,
        Column(
            "Cached prompt",
            WHOLE,
            "Tokens of the prompt that a prefix cache holds; they skip prefill, not decode.",
            ("cached tokens", "prefix cache tokens", "cached prompt tokens"),
            default=0.0,
            decimals=0,
        ),
    ] = None
    prefill_on: Annotated[
        str | None,
        Column(
            "Prefill runs",
            choice({"shared": "Beside decode", "apart": "Apart from decode"}),
            "Whether prefill stops decode on the same devices, as in continuous batching, or runs apart.",
            ("prefill placement", "disaggregation"),
        ),
    ] = None
    arithmetic: Annotated[
        str | None,
        Column(
            "Arithmetic",
            choice({"overlaps": "Overlaps reading", "added": "Added to reading"}),
            "Whether the engine computes while it reads, or after. Follows from class and engine.",
        ),
    ] = None
    draft_tokens: Annotated[
        float | None,
        Column("Draft", COUNT, "Tokens drafted for each step of speculative decoding.", ("draft tokens",), decimals=0),
    ] = None
    acceptance: Annotated[
        float | None,
        Column("Acceptance", Ratio(), "Share of drafted tokens that are accepted.", ("acceptance rate",)),
    ] = None
    draft_step_ms: Annotated[
        float | None,
        Column("Draft step", Number(least=0), "Time of one step of the draft model.", ("draft time",), default=0.0),
    ] = None
    offered_requests_per_hour: Annotated[
        float | None,
        Column(
            "Offered load",
            Number(above=0),
            "Requests that arrive in an hour at all replicas; gives utilisation and wait.",
            ("offered requests", "requests offered", "demand", "arrival rate"),
            decimals=0,
            common=True,
        ),
    ] = None
    replicas: Annotated[
        float | None,
        Column(
            "Replicas",
            COUNT,
            "Copies of the deployment that share the load.",
            ("instances", "copies"),
            default=1.0,
            decimals=0,
        ),
    ] = None
    fetch_efficiency: Annotated[
        float | None,
        Column(
            "Fetch efficiency",
            Ratio(),
            "Share of the bandwidth while weights and cache are read, latencies apart. Follows from class and engine.",
            ("memory efficiency",),
        ),
    ] = None
    layer_latency_us: Annotated[
        float | None,
        Column(
            "Latency per layer",
            LATENCY,
            "Time that each layer costs whatever it reads. Follows from class and engine.",
            ("layer latency",),
        ),
    ] = None
    stream_overhead_us: Annotated[
        float | None,
        Column(
            "Time per stream", LATENCY, "Time that each stream beyond the first adds to a step.", ("stream overhead",)
        ),
    ] = None
    mfu: Annotated[
        float | None,
        Column(
            "Decode MFU",
            Ratio(),
            "Share of the peak that decode's arithmetic reaches.",
            ("mfu", "decode flop utilisation"),
        ),
    ] = None
    prefill_mfu: Annotated[
        float | None,
        Column("Prefill MFU", Ratio(), "Share of the peak that prefill reaches.", ("prefill flop utilisation",)),
    ] = None
    stall_mfu: Annotated[
        float | None,
        Column("Prefill MFU beside decode", Ratio(), "Share of the peak that prefill reaches between decode steps."),
    ] = None
    low_factor: Annotated[
        float | None,
        Column("Low factor", Number(above=0), "Measured rates lie above this times the estimate, 9 in 10."),
    ] = None
    high_factor: Annotated[
        float | None,
        Column("High factor", Number(above=0), "Measured rates lie below this times the estimate, 9 in 10."),
    ] = None
