"""Units: what a name's suffix means, how people write units, and every conversion factor.

A quantity's unit stands last in its name (``weights_gb``, ``response_time_s``). This module is
the only place where a factor between units is written down.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

BITS_PER_BYTE: Final = 8
BYTES_PER_GB: Final = 1_000_000_000
BYTES_PER_MB: Final = 1_000_000
FLOP_PER_TFLOP: Final = 1_000_000_000_000
GIGA_PER_TERA: Final = 1_000
US_PER_MS: Final = 1_000
MS_PER_S: Final = 1_000
S_PER_HOUR: Final = 3_600
HOURS_PER_YEAR: Final = 8_760
MONTHS_PER_YEAR: Final = 12
W_PER_KW: Final = 1_000
PER_MILLION: Final = 1_000_000
# Binary fractions miss decimal ones by a hair, and a sum misses by more: what fits to a trillionth fits.
SLACK: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure: the symbol people read, its dimension, and the decimals it is shown with.

    ``decimals`` of None shows as many digits as the number needs.
    """

    symbol: str
    dimension: str
    decimals: int | None = None


# Longest suffix first: `_gb_s` must be met before `_s`.
_SUFFIXES: Final = (
    ("_tokens_per_sec", Unit("tok/s", "rate", 2)),
    ("tokens_per_sec", Unit("tok/s", "rate", 2)),
    # Money is in the one currency that whoever asks has in mind.
    ("_cost_h", Unit("money/h", "money_rate", 2)),
    ("_cost_m", Unit("money/M tokens", "money_per_m_tokens", 2)),
    ("_cost_kwh", Unit("money/kWh", "money_per_energy", 4)),
    ("api_bill_month", Unit("money/month", "money_per_month", 2)),
    ("_cost_month", Unit("money/month", "money_per_month", 2)),
    ("cost_per_m_input_tokens", Unit("money/M tokens", "money_per_m_tokens", 2)),
    ("cost_per_m_generated_tokens", Unit("money/M tokens", "money_per_m_tokens", 2)),
    ("cost_per_m_tokens", Unit("money/M tokens", "money_per_m_tokens", 2)),
    ("api_cost_per_m_output", Unit("money/M tokens", "money_per_m_tokens", 2)),
    ("cost_per_request", Unit("money", "money", 4)),
    ("api_request_cost", Unit("money", "money", 6)),
    ("cache_saving_cost", Unit("money", "money", 6)),
    ("_cost", Unit("money", "money", 2)),
    ("hours_per_month", Unit("h", "hours", 0)),
    ("requests_month", Unit("per month", "monthly", 0)),
    ("_years", Unit("years", "years", None)),
    ("_weeks", Unit("weeks", "weeks", None)),
    ("_m_tokens", Unit("M tokens", "million_tokens", 1)),
    ("_per_hour", Unit("per hour", "frequency", 1)),
    ("bytes_per_token", Unit("B/token", "size_per_token", 0)),
    ("tokens_per_step", Unit("tokens/step", "tokens_per_step", 2)),
    ("_gb_s", Unit("GB/s", "bandwidth", 1)),
    ("_tflop_s", Unit("TFLOP/s", "compute", 1)),
    ("_tflop", Unit("TFLOP", "work", 1)),
    ("_tokens", Unit("tokens", "tokens", 0)),
    ("_bits", Unit("bits", "bits", None)),
    ("_gb", Unit("GB", "size", 1)),
    ("_ms", Unit("ms", "time_ms", 2)),
    ("_us", Unit("\u00b5s", "time_us", 1)),
    ("_s", Unit("s", "time", 3)),
    ("_w", Unit("W", "power", 0)),
    ("_b", Unit("billions", "billions", None)),
)
BARE: Final = Unit("", "", None)


@cache
def unit_of(name: str) -> Unit:
    """The unit that a name's suffix declares, or the bare unit for counts, ratios and words.

    >>> unit_of("device_bandwidth_gb_s").symbol
    'GB/s'
    >>> unit_of("batch").symbol
    ''
    """
    return next((unit for suffix, unit in _SUFFIXES if name.endswith(suffix)), BARE)


_DECIMAL: Final = (("", 1e-9), ("k", 1e-6), ("m", 1e-3), ("g", 1.0), ("t", 1e3), ("p", 1e6))
_BINARY: Final = (("ki", 2**10), ("mi", 2**20), ("gi", 2**30), ("ti", 2**40))


def _per(factors: Mapping[str, float]) -> dict[str, float]:
    """Spellings of 'per something', with a stroke and with the word."""
    return {f"{per}{what}": factor for what, factor in factors.items() for per in ("/", "per")}


def _per_tokens() -> dict[str, float]:
    """Spellings of a price's tokens: of a million, of a thousand, of one."""
    sizes = {
        1.0: ("m", "mio", "million", "1m", "1mio", "1million", "1000000", "1,000,000"),
        1e3: ("k", "thousand", "1k", "1thousand", "1000", "1,000"),
        1e6: ("",),
    }
    found = {
        f"{size}{tokens}": factor
        for factor, names in sizes.items()
        for size in names
        for tokens in ("tokens", "token", "toks", "tok", "t", "")
        if size or tokens not in {"", "t", "tokens", "toks"}
    }
    return {f"{per}{what}": factor for what, factor in found.items() for per in ("/", "per")}


def _sizes(ending: str) -> dict[str, float]:
    """Spellings of bytes (per something), in GB: decimal prefixes by 1,000, binary ones by 1,024."""
    table = {f"{prefix}b{ending}": factor for prefix, factor in _DECIMAL}
    table |= {f"{prefix}b{ending}": size / 1e9 for prefix, size in _BINARY}
    return table


_PER_TIME: Final = {
    "/h": 1.0, "/hour": 1.0, "/hr": 1.0, "perhour": 1.0, "/min": 60.0, "perminute": 60.0, "/s": 3600.0, "/sec": 3600.0,
    "persecond": 3600.0, "/day": 1 / 24, "perday": 1 / 24,
}  # fmt: skip
# How people write units, in lower case without blanks, and the factor to the column's own unit.
# A bit is not a byte: `Gb/s` never reaches this table, see `means_bits`.
SPELLINGS: Final = MappingProxyType(
    {
        "size": _sizes("")
        | {"gbytes": 1.0, "gbyte": 1.0, "tbytes": 1e3, "mbytes": 1e-3}
        | {"gigabytes": 1.0, "gigabyte": 1.0, "terabytes": 1e3, "terabyte": 1e3},
        "bandwidth": _sizes("/s") | _sizes("ps") | _sizes("/sec") | _sizes("/second"),
        "compute": {
            f"{prefix}flop{ending}": factor
            for prefix, factor in (("g", 1e-3), ("giga", 1e-3), ("t", 1.0), ("tera", 1.0), ("p", 1e3), ("peta", 1e3))
            for ending in ("s", "/s", "s/s", "ps")
        },
        "frequency": {"perhour": 1.0, "/h": 1.0, "/hour": 1.0, "h": 1.0, "perday": 1 / 24, "/day": 1 / 24}
        | {
            f"{what}{per}": factor
            for what in ("requests", "request", "req", "reqs")
            for per, factor in _PER_TIME.items()
        }
        | {"rps": 3600.0, "qps": 3600.0, "persecond": 3600.0, "perminute": 60.0, "rpm": 60.0},
        "size_per_token": {
            f"{unit}{ending}": factor
            for unit, factor in (
                ("b", 1.0),
                ("bytes", 1.0),
                ("kb", 1e3),
                ("kib", 1024.0),
                ("mb", 1e6),
                ("mib", 1048576.0),
            )
            for ending in ("/token", "pertoken", "/tok", "")
        },
        "time_ms": {"ms": 1.0, "milliseconds": 1.0, "s": 1e3, "us": 1e-3, "\u03bcs": 1e-3},
        "time_us": {"us": 1.0, "\u03bcs": 1.0, "microseconds": 1.0, "ms": 1e3, "s": 1e6},
        "money_rate": _per(
            {
                "h": 1.0,
                "hr": 1.0,
                "hour": 1.0,
                "gpuh": 1.0,
                "gpu-h": 1.0,
                "gpuhour": 1.0,
                "gpu-hour": 1.0,
                "gpu/h": 1.0,
                "gpu/hr": 1.0,
                "gpu/hour": 1.0,
                "deviceh": 1.0,
                "device-hour": 1.0,
                "devicehour": 1.0,
                "instance-hour": 1.0,
                "day": 1 / 24,
            }
        ),
        "money_per_m_tokens": _per_tokens(),
        "money_per_energy": _per({"kwh": 1.0, "mwh": 1e-3}),
        "money_per_month": _per({"month": 1.0, "mo": 1.0, "year": 1 / 12, "yr": 1 / 12}),
        "monthly": _per({"month": 1.0, "mo": 1.0}) | {f"requests{per}month": 1.0 for per in ("/", "per")},
        "hours": {"h": 1.0, "hours": 1.0, "hour": 1.0, "h/month": 1.0, "hours/month": 1.0},
        "years": {"years": 1.0, "year": 1.0, "a": 1.0, "yr": 1.0, "yrs": 1.0, "months": 1 / 12, "month": 1 / 12},
        "weeks": {"weeks": 1.0, "week": 1.0, "days": 1 / 7, "day": 1 / 7, "months": 52 / 12, "month": 52 / 12},
        "power": {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3},
        "rate": dict.fromkeys(
            (
                "tok/s",
                "tokens/s",
                "token/s",
                "toks/s",
                "t/s",
                "tps",
                "tok/sec",
                "token/sec",
                "tokens/sec",
                "tokens/second",
                "tokenspersecond",
            ),
            1.0,
        ),
        "tokens": dict.fromkeys(("tokens", "token", "tok", "toks"), 1.0),
        "billions": {
            "billions": 1.0,
            "billion": 1.0,
            "bn": 1.0,
            "b": 1.0,
            "million": 1e-3,
            "millions": 1e-3,
            "m": 1e-3,
            "trillion": 1e3,
            "t": 1e3,
            "bparams": 1.0,
            "bparameters": 1.0,
        },
        "ratio": {"%": 0.01, "percent": 0.01, "pct": 0.01},
        "bits": dict.fromkeys(("bits", "bit", "bpw"), 1.0),
        "count": dict.fromkeys(("x", "×", "gpus", "gpu", "devices", "cards", "streams", "users", "requests"), 1.0),
    }
)


# Lower-case gbps is the networks' gigabits as often as anybody's gigabytes.
_BITS: Final = re.compile(r"[KMGTP]i?b(/s|ps|/sec|/second)?|[kmgtp]bps")


def means_bits(spelling: str) -> bool:
    """Whether a unit as people write it counts bits: a small b behind a capital prefix.

    >>> means_bits("Gb/s"), means_bits("GB/s"), means_bits("gb/s")
    (True, False, False)
    """
    return bool(_BITS.fullmatch("".join(spelling.split())))


@lru_cache(maxsize=1024)
def factor_to(dimension: str, spelling: str) -> float | None:
    """The factor from a unit as people write it to the dimension's own unit, or None where it is unknown.

    >>> factor_to("bandwidth", "TB/s")
    1000.0
    >>> factor_to("size", "TB/s") is None
    True
    """
    if means_bits(spelling):
        return None
    key = "".join(spelling.split()).casefold()
    return SPELLINGS.get(dimension, {}).get(key)


def dimension_of(spelling: str) -> str | None:
    """The dimension that a unit as people write it belongs to, or None.

    >>> dimension_of("GiB")
    'size'
    """
    return next((name for name in SPELLINGS if factor_to(name, spelling) is not None), None)
