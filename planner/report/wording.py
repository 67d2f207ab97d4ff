"""The report's standing texts: the bases that hold for every figure, and the glossary."""

from __future__ import annotations

from typing import Final

from planner.columns import as_percent
from planner.plan.checks import MEASURED_BATCH_SHARE
from planner.plan.limits import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE

_FIRST_BATCH, _FIRST_SHARE = MEASURED_BATCH_SHARE[0]
_LAST_BATCH, _LAST_SHARE = MEASURED_BATCH_SHARE[-1]
# What public measurements say of a stream in a batch; the tables of the batch section print them all.
SLOWS: Final = (
    f"from about batch {_FIRST_BATCH} on ({as_percent(_FIRST_SHARE)} of its rate alone), to {as_percent(_LAST_SHARE)} "
    f"at batch {_LAST_BATCH}"
)
EXPERTS: Final = "Mixture-of-experts models can be faster"
RANGE: Final = "The range of an estimate held eight in ten public measurements that its fit had not seen."

PACE: Final = f"{READING_PACE_TOKENS_PER_SEC:g} tok/s"

BASES: Final = (
    (
        "Upper bound",
        (
            "The core counts the read of the weights and nothing else. What follows from it is an upper bound: "
            "KV-cache reads, latencies, scheduling gaps, tokenisation, network and queueing are not in it."
        ),
    ),
    (
        "Estimate",
        (
            "Where the device and the model are known an estimate stands beside the upper bound, never mixed with it. "
            "It counts the KV cache that is read, arithmetic, latencies and prefill, with constants fitted to public "
            f"measurements. {RANGE}"
        ),
    ),
    (
        "Mixture of experts",
        (
            "The core takes every step to read all weights. A mixture-of-experts model reads only some of them, so "
            "that its core figures are too low and no upper bound; the estimate counts the experts that the batch uses."
        ),
    ),
    (
        "Per stream, aggregate",
        "Per stream is what one user sees. Aggregate is the sum over the batch, with every stream busy.",
    ),
    (
        "At efficiency, ceiling",
        (
            "Core rates hold at each scenario's own efficiency. A core rate at efficiency 100% is a ceiling, not a "
            "prediction, and is marked so."
        ),
    ),
    (
        "Fit",
        (
            "A scenario fits when weights, KV cache of all its streams and overhead take at most the usable memory. "
            f"Where the KV cache is not known, its weights alone must take at most {as_percent(USABLE_MEMORY_SHARE)}. "
            "Without memory per device and a number of devices, fit is not judged."
        ),
    ),
    (
        "Units",
        "GB is 1,000,000,000 bytes. An hour is 3,600 s. Times leave out waiting in a queue.",
    ),
)

GLOSSARY: Final = (
    (
        "Aggregate rate",
        "Tokens a second of all streams of a batch together.",
    ),
    (
        "Batch",
        (
            "Streams decoded together. They share one read of the weights, so in the core a larger batch costs a "
            f"stream nothing. Measured streams slow down {SLOWS}; planner warns above {BATCH_WARNED_ABOVE}. The "
            "estimate slows with the batch."
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
            "The share of the datasheet's memory bandwidth that the serving stack achieves over a whole step, "
            "also known as memory bandwidth utilisation (MBU)."
        ),
    ),
    (
        "Fetch efficiency",
        (
            "The share of the bandwidth while weights and cache are being read, latencies apart. It lies above the "
            "MBU, which spreads the same bytes over the whole step."
        ),
    ),
    (
        "Inter-token latency",
        "The time between two tokens of a stream: 1,000 / per-stream rate, in milliseconds.",
    ),
    (
        "KV cache",
        (
            "Memory that holds the attention state of each stream, on top of the weights. It grows with the context, "
            "and a step reads all of it."
        ),
    ),
    (
        "MFU",
        (
            "Model FLOP utilisation: the share of the device's dense peak that the model's own arithmetic reaches. "
            "Prefill and decode have each their own."
        ),
    ),
    (
        "Mixture of experts (MoE)",
        (
            "A model that uses a few of its parts, the experts, for each token. Memory holds all of them; a step reads "
            "those that some stream of its batch uses. The core reads all weights at each step."
        ),
    ),
    (
        "Occupancy",
        "The share of the batch that is busy on average.",
    ),
    (
        "Offered load",
        (
            "Requests that arrive in an hour. Over what is served it is the utilisation; from 100% on the queue only "
            "grows, and no wait can be given: unstable."
        ),
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
        "Prefill stall",
        (
            "Time that a step waits while another stream's prompt is in prefill on the same devices. Over a generation "
            "each stream of the batch is prefilled once."
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
        "Tensor parallelism",
        (
            "Devices share every layer and read their parts at once. Each layer then waits for what they tell each "
            "other, a latency that more bandwidth does not buy back."
        ),
    ),
    (
        "Time to first token (TTFT)",
        "How long the prompt takes in prefill until the first token comes. Waiting in a queue is not counted.",
    ),
)

# What is added where a study has prices.
MONEY_BASES: Final = (
    (
        "Cost",
        (
            "Costs are those of the whole scenario, all replicas, busy or not. They rest on the estimate where it "
            "counts the KV cache, else on an upper bound of speed, so that a token really costs more."
        ),
    ),
    (
        "Allocated, used, idle",
        (
            "Allocated is all that is paid, spread over the tokens of the busy hours. Used is the part of the busy "
            "hours, the cost at full load. Idle is the rest. A cost without utilisation is not given."
        ),
    ),
    (
        "API",
        (
            "An API's price is that of the scenario's own mix of prompt, cached, written and output tokens, told per "
            "million output tokens with the prompts that they take. It is held against the same output."
        ),
    ),
)

MONEY_GLOSSARY: Final = (
    (
        "Allocated cost",
        "All that is paid in an hour or a month, busy or not, over the tokens or requests of the busy hours.",
    ),
    (
        "Blended price",
        "What an API charges for a million tokens at a scenario's own mix of prompt and output, never a plain mean.",
    ),
    (
        "Break-even",
        (
            "The output of a month, and the utilisation that it takes, at which own hardware costs as much as the API. "
            "Above 100% it is never reached on this hardware."
        ),
    ),
    (
        "Depreciation",
        (
            "The loss of value of owned devices in a paid hour, busy or not: (purchase - residual) / (useful life x "
            "12 months x hours of the month that are paid)."
        ),
    ),
    (
        "Headroom",
        "Spare capacity above the peak for which devices are bought.",
    ),
    (
        "Idle cost",
        "The part of the allocated cost that hours cost in which nothing runs.",
    ),
    (
        "Lead time",
        "Weeks from the order of devices to their service; a month's further devices are ordered so much earlier.",
    ),
    (
        "Peak to average",
        "Requests of the busiest hour over those of the average one. Devices are bought for the peak.",
    ),
    (
        "Power usage effectiveness (PUE)",
        "Power of a whole data centre over that of its computers; what cooling and losses add to each kilowatt-hour.",
    ),
    (
        "Prompt caching",
        "Prompt tokens that were read before: an API charges less for them, and own hardware skips their prefill.",
    ),
    (
        "Residual value",
        "What an owned device is still worth at the end of its useful life.",
    ),
    (
        "Used cost",
        "The part of the allocated cost that the busy hours cost: the cost at full load.",
    ),
    (
        "Utilisation",
        "The share of the paid hours that is busy. No cost is given without it.",
    ),
)
