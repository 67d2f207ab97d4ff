"""The inputs of the core model, each field declared once as a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from planner.columns import Column, Number, PrecisionName, Ratio, Text

POSITIVE = Number(above=0)
COUNT = Number(least=1, whole=True)
TOKENS = Number(least=1, whole=True, likely=(10, 10_000_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreInputs:
    """What the core model takes: a size, a bandwidth, a batch and the tokens of a request."""

    name: Annotated[
        str,
        Column(
            "Scenario",
            Text(),
            "What you call this scenario; it names its rows in sheets and report.",
            ("name", "scenario name", "case", "deployment", "option"),
        ),
    ] = ""
    model: Annotated[
        str,
        Column(
            "Model",
            Text(),
            "A model of the catalogue or of your Models sheet fills what is blank; any other name is for the reader.",
            ("model name", "llm", "model label"),
        ),
    ] = ""
    params_b: Annotated[
        float | None,
        Column(
            "Parameters",
            Number(above=0, likely=(0.05, 20_000)),
            "Total parameters in billions: 70 for a 70B model. With the precision it gives the weights.",
            ("params", "parameters (b)", "parameter count", "billion parameters", "total parameters"),
        ),
    ] = None
    precision: Annotated[
        str | None,
        Column(
            "Precision",
            PrecisionName(),
            "Number format of the weights, or bits per weight: FP16, FP8, INT4, Q4_K_M, 4.85.",
            ("quantization", "quantisation", "quant", "dtype", "weight precision", "format", "bits", "bits per weight"),
        ),
    ] = None
    weights_gb: Annotated[
        float | None,
        Column(
            "Weights",
            Number(above=0, likely=(0.1, 10_000)),
            "Size of the weights in memory. A typed size wins over parameters x precision.",
            ("weights in memory", "weight size", "model weights", "weights size", "file size", "model file size"),
        ),
    ] = None
    device_bandwidth_gb_s: Annotated[
        float | None,
        Column(
            "Bandwidth per device",
            Number(above=0, likely=(5, 50_000)),
            "Memory bandwidth of ONE device. The number of devices multiplies it.",
            (
                "device bandwidth",
                "bandwidth per gpu",
                "gpu bandwidth",
                "memory bandwidth per gpu",
                "memory bandwidth per device",
                "bandwidth each",
                "per gpu bandwidth",
                "per device bandwidth",
                "gpu memory bandwidth",
                "device memory bandwidth",
                "bandwidth of one device",
            ),
        ),
    ] = None
    devices: Annotated[
        float | None,
        Column(
            "Devices",
            COUNT,
            "How many devices hold the weights together. Blank counts as 1.",
            (
                "device count",
                "gpus",
                "gpu count",
                "number of gpus",
                "number of devices",
                "number gpus",
                "number devices",
                "accelerators",
                "cards",
                "tp",
                "tp size",
                "tensor parallelism",
                "tensor parallelism size",
                "gpus used",
                "devices used",
            ),
            default=1.0,
            decimals=0,
        ),
    ] = None
    bandwidth_gb_s: Annotated[
        float | None,
        Column(
            "Aggregate bandwidth",
            Number(above=0, likely=(5, 1_000_000)),
            "Memory bandwidth of ALL devices together, instead of bandwidth per device x devices.",
            ("total bandwidth", "bandwidth total", "aggregate memory bandwidth", "total memory bandwidth"),
        ),
    ] = None
    device_memory_gb: Annotated[
        float | None,
        Column(
            "Memory per device",
            Number(above=0, likely=(1, 2_000)),
            "Memory of ONE device, for the marks that say whether the weights fit. Optional.",
            ("device memory", "gpu memory", "vram", "memory per gpu", "hbm", "vram per gpu"),
        ),
    ] = None
    efficiency: Annotated[
        float | None,
        Column(
            "Efficiency",
            Ratio(),
            "Share of the bandwidth that the serving stack achieves (eta). Blank gives the ceiling.",
            (
                "eta",
                "η",
                "bandwidth efficiency",
                "achieved efficiency",
                "mbu",
                "bandwidth utilisation",
                "memory bandwidth utilisation",
                "bandwidth efficiency factor",
                "efficiency factor",
            ),
            default=1.0,
        ),
    ] = None
    batch: Annotated[
        float | None,
        Column(
            "Batch",
            COUNT,
            "Streams decoded together. Blank counts as 1.",
            (
                "batch size",
                "bs",
                "users",
                "concurrent users",
                "max num seqs",
                "concurrency",
                "concurrent streams",
                "streams",
                "concurrent requests",
            ),
            default=1.0,
            decimals=0,
        ),
    ] = None
    prompt_tokens: Annotated[
        float | None,
        Column(
            "Prompt",
            TOKENS,
            "Tokens of the prompt; needed for the time to first token.",
            ("prompt tokens", "input tokens", "prompt length", "input length", "isl", "context tokens"),
        ),
    ] = None
    output_tokens: Annotated[
        float | None,
        Column(
            "Output",
            TOKENS,
            "Tokens generated; needed for the generation and response times.",
            ("output tokens", "generated tokens", "completion tokens", "output length", "osl"),
        ),
    ] = None
    prefill_tokens_per_sec: Annotated[
        float | None,
        Column(
            "Prefill rate",
            Number(above=0, likely=(10, 10_000_000)),
            "Prompt tokens processed in a second; needed for the time to first token.",
            ("prefill", "prefill speed", "prefill throughput", "prompt processing rate"),
            decimals=0,
        ),
    ] = None
    occupancy: Annotated[
        float | None,
        Column(
            "Average occupancy",
            Ratio(),
            "Share of the batch that is busy on average; gives requests per hour at that load. Optional.",
            ("occupancy", "average load", "batch occupancy", "average utilisation of the batch"),
        ),
    ] = None
    measured_tokens_per_sec: Annotated[
        float | None,
        Column(
            "Measured rate",
            Number(above=0, likely=(0.1, 100_000)),
            "A measured rate of one stream, checked against the ceiling. Optional.",
            ("measured", "measured per stream", "measured tokens per second", "observed rate", "measured speed"),
        ),
    ] = None
    notes: Annotated[
        str,
        Column(
            "Notes", Text(), "Anything you want to keep beside the row.", ("note", "comment", "comments", "remarks")
        ),
    ] = ""
