"""The report's standing texts: the bases that hold for every figure, and the glossary."""

from __future__ import annotations

from typing import Final

from planner.plan.checks import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE

PACE: Final = f"{READING_PACE_TOKENS_PER_SEC:g} tok/s"

BASES: Final = (
    (
        "Upper bound",
        (
            "Every rate and every number of requests is an upper bound: KV-cache reads, scheduling gaps, tokenisation, "
            "network and queueing are not counted."
        ),
    ),
    (
        "Per stream, aggregate",
        "Per stream is what one user sees. Aggregate is the sum over the batch, with every stream busy.",
    ),
    (
        "At efficiency, ceiling",
        (
            "Rates hold at each scenario's own efficiency. A rate at efficiency 100% is a ceiling, not a prediction, "
            "and is marked so."
        ),
    ),
    (
        "Fit",
        (
            f"Whether a model fits weighs its weights alone against {USABLE_MEMORY_SHARE:.0%} of the memory; the KV "
            "cache comes on top. Without a memory per device, fit is not judged."
        ),
    ),
    ("Units", "GB is 1,000,000,000 bytes. An hour is 3,600 s. Times hold without waiting in a queue."),
)

GLOSSARY: Final = (
    (
        "Aggregate rate",
        "Tokens a second of all streams of a batch together.",
    ),
    (
        "Batch",
        (
            f"Streams decoded together. They share one read of the weights, which is why a batch is nearly free at "
            f"first; above {BATCH_WARNED_ABOVE} this model overstates."
        ),
    ),
    (
        "Bits per weight",
        "The room one weight takes, block scales included: 16 at FP16, 8 at INT8, 4 at INT4, 4.85 at Q4_K_M.",
    ),
    (
        "Ceiling",
        "The rate at an efficiency of 100%. No software reaches it.",
    ),
    (
        "Decode",
        (
            "The phase that generates the answer, token by token. Each step reads all weights once, "
            "so memory bandwidth sets the pace."
        ),
    ),
    (
        "Efficiency (eta, η)",
        (
            "The share of the datasheet's memory bandwidth that the serving stack achieves, "
            "also known as memory bandwidth utilisation (MBU)."
        ),
    ),
    (
        "Inter-token latency",
        "The time between two tokens of a stream: 1,000 / per-stream rate, in milliseconds.",
    ),
    (
        "KV cache",
        "Memory that holds the attention state of each stream. It grows with the context, on top of the weights.",
    ),
    (
        "Occupancy",
        "The share of the batch that is busy on average.",
    ),
    (
        "Per-stream rate",
        "Tokens a second that one user sees.",
    ),
    (
        "Precision",
        "The number format of the weights. Half the bits are half the bytes to read, and so twice the rate.",
    ),
    (
        "Prefill",
        "The phase that reads the prompt, all tokens in parallel. Arithmetic limits it, not memory bandwidth.",
    ),
    (
        "Reading pace",
        f"{PACE}, about what a person reads. A slower stream makes its reader wait.",
    ),
    (
        "Requests per hour",
        "Requests completed in an hour with every stream of the batch busy: batch x 3,600 / response time.",
    ),
    (
        "Response time",
        "Time to first token plus the time to generate the output.",
    ),
    (
        "Time to first token (TTFT)",
        "How long the prompt takes in prefill until the first token comes. Waiting in a queue is not counted.",
    ),
)
