"""What a typed text means as a number: ``3.35 TB/s``, ``85 %``, ``1,008 GB/s``, ``70B``.

A text is taken for a number only where it has one reading. ``3,350`` may be three thousand or
three point three five, ``20-30`` names two numbers and ``128k`` may be 128,000 or 131,072: those
are refused with their readings, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NUMBER: Final = re.compile(r"(?<![\w.,])[+-]?(?:\d[\d.,'\u2019 \u00a0\u202f\u2009]*\d|\d|[.,]\d+)(?:[eE][+-]?\d+)?")
_BLANKS: Final = str.maketrans(dict.fromkeys(" \u00a0\u202f\u2009'\u2019", ""))
_AS_ONE_BLANK: Final = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009'\u2019", " "))
# Characters of no width that come along with text copied from pages.
_INVISIBLE: Final = re.compile("[\u200b-\u200d\u2060\ufeff]")
_DASHES: Final = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2014": "-"})
_TWO_NUMBERS_AT_LEAST: Final = 2
_GROUP: Final = 3


@dataclass(frozen=True, slots=True)
class Readings:
    """The numbers that a text may mean, and the unit written beside them.

    ``values`` is empty where the text holds no number. ``why`` says why there is more than one.
    """

    values: tuple[float, ...]
    unit: str = ""
    why: str = ""


def _decimal_readings(digits: str) -> tuple[float, ...]:
    """Every number that one run of digits with points, commas and blanks can stand for."""
    whole_part, *rest = re.split(r"[.,eE]", digits.lstrip("+-").translate(_AS_ONE_BLANK), maxsplit=1)
    # '1.5 16' is two numbers: a blank groups thousands, and only before the decimals.
    if (" " in whole_part and not _grouped(whole_part, " ")) or any(" " in part for part in rest):
        return ()
    digits = digits.translate(_BLANKS)
    mantissa, _, exponent = re.sub("[eE]", "e", digits).partition("e")
    scale = float(f"1e{exponent}") if exponent else 1.0
    marks = [c for c in mantissa if c in ".,"]
    body = mantissa.lstrip("+-")
    if not marks:
        return (float(mantissa) * scale,)
    last = marks[-1]
    if len(set(marks)) == _TWO_NUMBERS_AT_LEAST:
        other = "," if last == "." else "."
        whole, _, fraction = body.rpartition(last)
        if marks.count(last) > 1 or not _grouped(whole, other):
            return ()
        return (_signed(mantissa, whole.replace(other, "") + "." + fraction) * scale,)
    groups = body.split(last)
    readings = []
    if len(groups) == _TWO_NUMBERS_AT_LEAST:
        readings.append(_signed(mantissa, body.replace(last, ".")) * scale)
    # '0,850' cannot be eight hundred and fifty: nobody groups a leading zero.
    if _grouped(body, last) and body[0] != "0":
        readings.append(_signed(mantissa, body.replace(last, "")) * scale)
    return tuple(readings)


def _grouped(digits: str, mark: str) -> bool:
    """Whether the mark stands where a thousands separator would."""
    first, *rest = digits.split(mark)
    return 1 <= len(first) <= _GROUP and all(len(group) == _GROUP for group in rest)


def _signed(source: str, digits: str) -> float:
    return -float(digits) if source.startswith("-") else float(digits)


def read_quantity(text: str) -> Readings:
    """The numbers that a text may mean, and its unit.

    Source: own rules; see the README's table of what a cell may hold.

    >>> read_quantity("3.35 TB/s")
    Readings(values=(3.35,), unit='TB/s', why='')
    >>> read_quantity("3,350").values
    (3.35, 3350.0)
    >>> read_quantity("20-30 users").why
    'a range'
    """
    text = _INVISIBLE.sub("", text).translate(_DASHES).strip()
    found = list(_NUMBER.finditer(text))
    if not found:
        return Readings(())
    if len(found) >= _TWO_NUMBERS_AT_LEAST:
        values = tuple(v for match in found for v in _decimal_readings(match.group())[:1])
        return Readings(values, "", _why_several(text, found))
    match = found[0]
    before, after = text[: match.start()].strip(), text[match.end() :].strip()
    unit = after or before
    if before and after:
        return Readings((), f"{before} {after}")
    values = _decimal_readings(match.group())
    if other := re.match(r"[x×*]\s*(\d+(?:\.\d+)?)", after, re.IGNORECASE):
        return Readings((*values, float(other[1])), "", "several numbers")
    if unit.casefold() == "k":
        value = values[-1] if values else 0.0
        return Readings((value * 1_000, value * 1_024), "", "k as 1,000 or as 1,024")
    why = "a point or comma that may group thousands or start decimals" if len(values) > 1 else ""
    return Readings(values, unit, why)


def _why_several(text: str, found: list[re.Match[str]]) -> str:
    between = text[found[0].end() : found[1].start()].strip().casefold()
    if between in {"-", "to", "..", "...", "~", "y", "bis", "and", "à", "a"} or found[1].group().startswith("-"):
        return "a range"
    return "a sum" if between.endswith("+") or found[1].group().startswith("+") else "several numbers"
