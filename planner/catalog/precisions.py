"""Number formats of weights, each with its bits and its source."""

from __future__ import annotations

import csv
import difflib
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner.catalog.tables import NAMES_KEPT

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Precision:
    """A number format of weights: its name, its true bits per weight (block scales included), its source."""

    name: str
    bits: float
    aliases: tuple[str, ...] = ()
    source: str = ""


def precision_key(name: str) -> str:
    """A precision's name as it is compared: upper case, without blanks, underscores and hyphens.

    >>> precision_key("q4_k_m"), precision_key("FP 16")
    ('Q4KM', 'FP16')
    """
    return "".join(name.upper().translate({ord(c): None for c in "_-"}).split())


@cache
def precisions() -> tuple[Precision, ...]:
    """Every precision planner knows, in the order of its table."""
    text = resources.files("planner").joinpath("data", "precisions.csv").read_text("utf-8")
    return tuple(
        Precision(row["name"], float(row["bits"]), tuple(row["aliases"].split()), row["source"])
        for row in csv.DictReader(text.splitlines())
    )


@cache
def precision_keys() -> Mapping[str, Precision]:
    """Every spelling that names a precision, as compared by :func:`precision_key`."""
    keys: dict[str, Precision] = {}
    for precision in precisions():
        for name in (precision.name, *precision.aliases):
            keys[precision_key(name)] = precision
    return MappingProxyType(keys)


@lru_cache(maxsize=NAMES_KEPT)
def find_precision(name: str) -> Precision | None:
    """The precision that a name or alias stands for, or None.

    >>> find_precision("half").bits
    16.0
    """
    return precision_keys().get(precision_key(name))


def precision_bits(name: str) -> float:
    """Bits per weight of a known precision's name, or of a number written as text.

    Raises ValueError where it is neither.

    >>> precision_bits("INT8"), precision_bits("4.85")
    (8.0, 4.85)
    """
    known = find_precision(name)
    return known.bits if known else float(name)


def nearest_precisions(name: str) -> list[str]:
    """Up to three known names that look most like the one given."""
    close = difflib.get_close_matches(precision_key(name), precision_keys(), n=3, cutoff=0.5)
    return list(dict.fromkeys(precision_keys()[key].name for key in close))


@cache
def precision_in(model: str) -> Precision | None:
    """The precision that stands in a model's own name, as in those of quantised copies; None where none does.

    >>> precision_in("Meta-Llama-3.1-70B-Instruct-AWQ-INT4").name, precision_in("Llama-3.1-70B.Q4_K_M.gguf").name
    ('AWQ', 'Q4_K_M')
    >>> precision_in("Llama-3.1-70B-Instruct-FP8").bits, precision_in("Llama-3.1-8B")
    (8.0, None)
    """
    words = [word for word in re.split(r"[\s./:-]+", model) if word]
    # A bare number or a size such as 8B is no precision.
    named = (
        find_precision(word)
        for word in words
        if (any(c.isalpha() for c in word) and any(c.isdigit() for c in word)) or word.upper() in _WORDS
    )
    return next((found for found in named if found is not None), None)


_WORDS: Final = frozenset({"AWQ", "GPTQ"})
