"""What columns of money and of plans accept: prices with their currency, shares that may fall, days, currencies."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner import units
from planner.columns import (
    MOST_PERCENT,
    SMALLEST,
    BadValueError,
    Number,
    Ratio,
    Text,
    Typed,
    Understood,
    echo,
)
from planner.currencies import CODES, currency_in, settled
from planner.quantities import read_quantity

if TYPE_CHECKING:
    from planner.columns import Column

# '0.60 per 1M tokens': the 1 is no second number.
_PER_MANY: Final = re.compile(
    r"(?:/|\bper\b)\s*(?:1\s*)?(m(?:io)?|million|k|thousand|1[,.]?000[,.]?000|1[,.]?000)\b[\s-]*(?:tok(?:en)?s?)?",
    re.IGNORECASE,
)
_WORDS: Final = {"m": "/M tokens", "k": "/k tokens"}
_THOUSAND: Final = 4


@dataclass(frozen=True, slots=True)
class Money(Number):
    """An amount, in the one currency of its row; a text or a number format may name the currency."""

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The amount, and the currencies that stand beside it, the likeliest first."""
        if not isinstance(typed.value, str):
            return dataclasses.replace(Number.read(self, column, unit, typed), currencies=typed.currencies)
        named, text = currency_in(typed.value)
        text = _PER_MANY.sub(lambda found: _WORDS["m" if _is_million(found[1]) else "k"], text)
        if typed.header_factor != 1 and text.strip().replace(".", "").isdigit():
            # A plain number under a header with a unit of its own is in that unit.
            typed = dataclasses.replace(typed, value=float(text) if text.count(".") <= 1 else text)
            understood = Number.read(self, column, unit, typed)
            named = _both(column, named, typed.currencies)
            return dataclasses.replace(understood, plain=False, link="", currencies=named)
        understood = Number.read(self, column, unit, dataclasses.replace(typed, value=text))
        return dataclasses.replace(understood, currencies=_both(column, named, typed.currencies))


def _both(column: Column, named: tuple[str, ...], shown: tuple[str, ...]) -> tuple[str, ...]:
    """The currencies that a text and its header or number format have in common; raises BadValueError for none."""
    if not named or not shown:
        return named or shown
    both = tuple(code for code in named if code in shown)
    if not both:
        raise BadValueError(f"{column.label} is in {named[0]} where {shown[0]} is shown", "one currency", "currency")
    return both


def _is_million(word: str) -> bool:
    digits = sum(c.isdigit() for c in word)
    return digits > _THOUSAND or word[0].casefold() == "m"


@dataclass(frozen=True, slots=True)
class Share(Ratio):
    """A share that may be nothing, or below nothing: growth, headroom. A number alone is the ratio, never percent."""

    least: float = 0.0
    most: float = 1.0

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The ratio."""
        del unit
        value, percent, as_typed = typed.value, typed.percent, f"{typed.value}"
        if isinstance(value, str):
            found = read_quantity(value.strip())
            if len(found.values) != 1 or (found.unit and units.factor_to("ratio", found.unit) is None):
                raise BadValueError(f"{column.label} is {echo(value)}", self.accepted)
            as_typed, value = echo(value), found.values[0] / (MOST_PERCENT if found.unit else 1)
        elif percent:
            as_typed = f"{value * MOST_PERCENT:g}%"
        ratio = float(value)
        if not self.least <= ratio <= self.most or 0 < abs(ratio) < SMALLEST:
            raise BadValueError(f"{column.label} is {as_typed}", self.accepted)
        return Understood(ratio, plain=not isinstance(typed.value, str))


_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def day_in(text: str) -> dt.date | None:
    """The day that a text is, as year, month and day; None for any other: 02/11/2026 is two days.

    >>> day_in(" 2026-11-29 "), day_in("20261129")
    (datetime.date(2026, 11, 29), None)
    """
    if not _DAY.fullmatch(text.strip()):
        return None
    try:
        return dt.date.fromisoformat(text.strip())
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Day(Text):
    """A day, as a date or as 2026-11-29; kept as that text."""

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The day as year, month and day."""
        del unit
        value = typed.value
        if isinstance(value, dt.datetime):
            value = value.date()
        if isinstance(value, str):
            day = day_in(value)
            if day is None:
                raise BadValueError(f"{column.label} is {echo(typed.value)}", self.accepted)
            value = day
        if not isinstance(value, dt.date):
            raise BadValueError(f"{column.label} is {value}, not a date", self.accepted)
        return Understood(value.isoformat())


@dataclass(frozen=True, slots=True)
class CurrencyCode(Text):
    """A currency by its code, or by a sign that means no other."""

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The code."""
        text = Text.read(self, column, unit, typed).value
        code = currency_of(text)
        if not code:
            named, rest = currency_in(text)
            may = f", which may be {' or '.join(named)}" if named and not rest else ""
            raise BadValueError(f"{column.label} is {echo(text)}{may}", self.accepted)
        return Understood(code, plain=code == typed.value)


def currency_of(text: str) -> str:
    """The currency that a text names by its code, or by a sign that means no other; empty for any other text.

    >>> currency_of("eur"), currency_of("\u20ac"), currency_of("kr")
    ('EUR', 'EUR', '')
    """
    code = text.strip().upper()
    if code in CODES:
        return code
    named, rest = currency_in(text)
    return settled(named) if named and not rest else ""


DAY: Final = Day("a date such as 2026-11-29")
CURRENCY: Final = CurrencyCode("a currency's code such as USD, EUR or JPY")
