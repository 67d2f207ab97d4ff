"""The words of headers: synonyms, what leaves open which field is meant, and what prices are headed with."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Words that people write for one another in headers.
SAME_WORD: Final = MappingProxyType(
    {
        "bw": "bandwidth",
        "mem": "memory",
        "eff": "efficiency",
        "utilization": "utilisation",
        "quantization": "quantisation",
        "num": "number",
        "n": "number",
        "no": "number",
        "parallel": "parallelism",
        "throughput": "rate",
    }
)
# A header that could be one device's or all devices' figure is asked about: the two differ by the device count.
UNDECIDED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    dict.fromkeys(
        ("bandwidth", "memory bandwidth", "hbm bandwidth", "peak bandwidth", "peak memory bandwidth"),
        ("bandwidth", ("device_bandwidth_gb_s", "bandwidth_gb_s")),
    )
    | dict.fromkeys(("model size", "size"), ("size", ("params_b", "weights_gb")))
    | dict.fromkeys(("memory", "total memory", "total vram", "total gpu memory"), ("memory", ("device_memory_gb",)))
    | dict.fromkeys(
        (
            "price",
            "hourly price",
            "price per hour",
            "cost per hour",
            "hourly cost",
            "hourly rate",
            "rent",
            "price hour",
        ),
        ("price", ("device_cost_h", "instance_cost_h")),
    )
    | dict.fromkeys(("capex", "purchase price", "purchase", "purchase cost"), ("purchase", ("device_capex_cost",)))
    | {
        name: ("month", (f"device_{field}_cost_month",))
        for field, names in (
            ("hosting", ("hosting", "colocation", "hosting cost", "hosting per month")),
            ("licence", ("licences", "licenses", "licence cost", "license cost", "software")),
            ("support", ("support", "maintenance", "support cost")),
        )
        for name in names
    }
)


# Of these, what a row names would be filled with other figures than those that were typed.
LEFT_OUT: Final = frozenset({"bandwidth", "size"})

PRICED: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{what} {hour}": name
        for name, words in (
            ("device_cost_h", ("gpu", "device", "accelerator", "card")),
            ("instance_cost_h", ("instance", "node", "server", "host")),
        )
        for what in words
        for hour in ("hour", "h", "hr")
    }
    | {
        f"{many} {kind} tokens": f"{kind}_cost_m"
        for many in ("m", "1m", "million", "1 million")
        for kind in ("input", "output")
    }
    | {"kwh": "tariff_cost_kwh"}
)

MAY_BE: Final = MappingProxyType(
    {
        "bandwidth": "one device's bandwidth or all devices' together",
        "memory": "one device's memory or all devices' together",
        "size": "a count of parameters or a size in memory",
        "price": "one device's price or a whole instance's",
        "purchase": "one device's price or that of all",
        "month": "one device's cost or that of all",
    }
)
# Headers of other things that look like ours.
OTHER_THINGS: Final = frozenset(
    {
        "gpu utilisation",
        "cpu utilisation",
        "model type",
        "batch owner",
        "weight",
        "gpu",
        "device",
        "accelerator",
        "hardware",
        "card",
        "gpu type",
        "gpu model",
        "gpu name",
        "device type",
        "device name",
    }
)
