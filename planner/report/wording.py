"""The report's standing texts: the bases that hold for every figure, and the glossary."""

from __future__ import annotations

from typing import Final

from planner.columns import as_percent
from planner.plan.checks import (
    BATCH_WARNED_ABOVE,
    MEASURED_BATCH_SHARE,
    READING_PACE_TOKENS_PER_SEC,
    USABLE_MEMORY_SHARE,
)

_FIRST_BATCH, _FIRST_SHARE = MEASURED_BATCH_SHARE[0]
_LAST_BATCH, _LAST_SHARE = MEASURED_BATCH_SHARE[-1]
# What public measurements say of a stream in a batch; the tables of the batch section print them all.
SLOWS: Final = (
    f"from about batch {_FIRST_BATCH} on ({as_percent(_FIRST_SHARE)} of its rate alone), to {as_percent(_LAST_SHARE)} "
    f"at batch {_LAST_BATCH}"
)
EXPERTS: Final = "Mixture-of-experts models can be faster"

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
        "Mixture of experts",
        (
            "Every step is taken to read all weights. A mixture-of-experts model reads only some of them, so its "
            "figures here are too low and not an upper bound. This version does not model it."
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
            f"A model fits when its weights take at most {as_percent(USABLE_MEMORY_SHARE)} of the memory; the KV "
            "cache needs room besides. Without memory per device and a number of devices, fit is not judged."
        ),
    ),
    ("Units", "GB is 1,000,000,000 bytes. An hour is 3,600 s. Times leave out any waiting in a queue."),
)

GLOSSARY: Final = (
    (
        "Aggregate rate",
        "Tokens a second of all streams of a batch together.",
    ),
    (
        "Batch",
        (
            "Streams decoded together. They share one read of the weights, so in this model a larger batch costs a "
            f"stream nothing. Measured streams slow down {SLOWS}; planner warns above {BATCH_WARNED_ABOVE}."
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
        "Mixture of experts (MoE)",
        (
            "A model that uses a few of its parts, the experts, for each token. This version reads all weights at each "
            "step, so it understates the speed of such a model."
        ),
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
        (
            "The phase that reads the prompt, all tokens in parallel. Arithmetic limits it, not memory bandwidth. A "
            "slow first token is a prefill problem: a shorter prompt or more compute helps, more bandwidth does not."
        ),
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
