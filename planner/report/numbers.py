"""Numbers, dates and money as a report's locale writes them.

A figure is rounded once, half away from zero from the fifteen digits that Excel reads, and only then put into the signs
of a locale, so that none changes a digit. The locale holds while a report is made (:func:`written_as`); elsewhere, and
by default, numbers are as every other surface writes them. Digits are Latin in every locale.
"""

from __future__ import annotations

import contextlib
import math
import re
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import TYPE_CHECKING, Final

from planner import columns
from planner.settings import LOCALE

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

    from planner.columns import Column


@dataclass(frozen=True, slots=True)
class Signs:
    """How a locale writes numbers: its signs, how it groups digits, and what stands around percent and money."""

    group: str = ","
    point: str = "."
    minus: str = "-"
    groups: tuple[int, int] = (3, 3)
    percent: tuple[str, str] = ("", "%")
    money_first: bool = True
    money_gap: str = ""
    tag: str = LOCALE


_ENGLISH: Final = Signs()
_SIGNS: ContextVar[Signs] = ContextVar("signs", default=_ENGLISH)
_NUMBER: Final = re.compile(r"(-?)(\d[\d,]*)(?:\.(\d+))?")
_NO_BREAK: Final = "\u00a0"


@contextlib.contextmanager
def written_as(locale: str) -> Iterator[None]:
    r"""Numbers, dates and money as a locale writes them, meanwhile.

    >>> with written_as("de-DE"):
    ...     rounded(1234.5, 1), as_percent(0.325), money(-1234.5, "EUR")
    ('1.234,5', '33\xa0%', '(1.234,50\xa0€)')
    """
    before = _SIGNS.set(_signs(locale))
    try:
        yield
    finally:
        _SIGNS.reset(before)


@cache
def _signs(locale: str) -> Signs:
    if locale == LOCALE:
        return _ENGLISH
    from babel import Locale  # noqa: PLC0415  the usual locale needs none of it

    known = Locale.parse(locale, sep="-")
    symbols = known.number_symbols["latn"]
    pattern, percent, money = (
        known.decimal_formats[None],
        known.percent_formats[None],
        known.currency_formats["standard"],
    )
    prefix, suffix = money.prefix[0], money.suffix[0]
    around = prefix if "¤" in prefix else suffix
    return Signs(
        group=_plain(symbols["group"]),
        point=_plain(symbols["decimal"]),
        minus=_plain(symbols.get("minusSign", "-")),
        groups=tuple(pattern.grouping),
        percent=(_spaced(percent.prefix[0]), _spaced(percent.suffix[0])),
        money_first="¤" in prefix,
        money_gap=_NO_BREAK if re.search(r"[\s\u00a0\u202f]", around) else "",
        tag=locale,
    )


def _plain(sign: str) -> str:
    """A sign without marks of direction; blanks do not break."""
    return re.sub(r"[\u200e\u200f\u061c]", "", sign).replace("\u202f", _NO_BREAK).replace(" ", _NO_BREAK)


def _spaced(text: str) -> str:
    return _plain(text).replace("'", "")


def localised(text: str) -> str:
    """A number in plain English writing ('-1,234.5') in the signs of the locale.

    >>> with written_as("hi-IN"):
    ...     localised("-1,234,567.5")
    '-12,34,567.5'
    """
    signs = _SIGNS.get()
    match = None if signs is _ENGLISH else _NUMBER.fullmatch(text)
    if match is None:
        return text
    minus, whole, fraction = match.groups()
    said = _grouped(whole.replace(",", ""), signs) if "," in whole else whole
    return f"{signs.minus if minus else ''}{said}{signs.point + fraction if fraction else ''}"


def in_text(text: str) -> str:
    r"""The numbers of a standing text in the signs of the locale; digits within names (Q4_K_M, H100) are none.

    >>> with written_as("de-DE"):
    ...     in_text("1,000 tokens at Q4_K_M, 4.85 bits, 90% of 80.")
    '1.000 tokens at Q4_K_M, 4,85 bits, 90\xa0% of 80.'
    """
    if _SIGNS.get() is _ENGLISH:
        return text
    return _IN_TEXT.sub(lambda found: percent_of(found[1]) if found[2] else localised(found[1]), text)


_IN_TEXT: Final = re.compile(r"(?<![\w.,-])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(%?)(?![\w]|[.,-]\d|-\w)")


def _grouped(whole: str, signs: Signs) -> str:
    first, further = signs.groups
    parts, left = [whole[-first:]], whole[:-first]
    while left:
        parts.append(left[-further:])
        left = left[:-further]
    return signs.group.join(reversed(parts))


def rounded(value: float, decimals: int) -> str:
    """A number with so many decimals, as Excel rounds.

    >>> rounded(2.675, 2), rounded(1234.5, 0)
    ('2.68', '1,235')
    """
    return localised(columns.rounded(value, decimals))


def plain(value: float) -> str:
    """A number with as many digits as it needs, up to ten.

    >>> plain(1000), plain(0.25)
    ('1,000', '0.25')
    """
    return localised(f"{value:,.10g}")


def span(low: float, high: float, dash: str = "\u2013") -> str:
    """A range with the digits that it deserves."""
    return dash.join(map(localised, columns.span(low, high, "|").split("|")))


def as_percent(ratio: float, decimals: int = 0) -> str:
    """A ratio as percent.

    >>> as_percent(0.325)
    '33%'
    """
    return percent_of(columns.as_percent(ratio, decimals).removesuffix("%"))


def percent_of(number: str) -> str:
    """A number in plain English writing with the locale's sign of percent."""
    before, after = _SIGNS.get().percent
    return f"{before}{localised(number)}{after}"


def shown(name: str, column: Column, value: object) -> str:
    """A value as text, with the digits of its column's number format."""
    text = columns.shown(name, column, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text
    return percent_of(text.removesuffix("%")) if text.endswith("%") else localised(text)


def date(day: dt.date) -> str:
    r"""A date as the locale writes it; by default as ISO 8601 does.

    >>> import datetime
    >>> with written_as("en-GB"):
    ...     date(datetime.date(2026, 11, 29))
    '29\xa0Nov\xa02026'
    """
    tag = _SIGNS.get().tag
    if tag == LOCALE:
        return f"{day:%Y-%m-%d}"
    from babel.dates import format_date  # noqa: PLC0415  as above

    return _plain(format_date(day, "medium", locale=tag.replace("-", "_")))


def money(value: float | None, currency: str = "", decimals: int | None = None) -> str:
    """An amount with its currency, the currency's decimals unless others are asked for, negatives in parentheses.

    Without a currency it is a plain number of two decimals.

    >>> money(1234, "USD", 0), money(-1234, "USD", 0), money(1.5723, "USD"), money(1234.5, "JPY"), money(-2.5)
    ('$1,234', '($1,234)', '$1.57', '¥1,235', '(2.50)')
    """
    if value is None:
        return ""
    if not math.isfinite(value):
        return str(value)
    places = currency_decimals(currency) if decimals is None else decimals
    text = columns.rounded(abs(value), places)
    # What is rounded to nothing is neither owed nor owned.
    return _amount(text, currency, negative=value < 0 and any(digit in "123456789" for digit in text))


def compact_money(value: float | None, currency: str = "") -> str:
    """An amount for a headline, in thousands or millions from a thousand on.

    >>> [compact_money(value, "USD") for value in (1.5723, 250, 1234, 38976, -38976, 999_600, 2_400_000)]
    ['$1.57', '$250', '$1.2k', '$39k', '($39k)', '$1.0M', '$2.4M']
    """
    if value is None:
        return ""
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    for number, (factor, letter) in enumerate(_LETTERS):
        scaled = size / factor
        if _half_up(scaled, 0) >= _THOUSAND and number + 1 < len(_LETTERS):
            continue
        if letter:
            places = 1 if _half_up(scaled, 1) < _TEN else 0
        else:
            places = 0 if scaled >= _HUNDRED else currency_decimals(currency)
        text = columns.rounded(scaled, places)
        negative = value < 0 and any(digit in "123456789" for digit in text)
        return _amount(text, currency, letter, negative=negative)
    raise AssertionError(value)


_LETTERS: Final = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "bn"))
_TEN, _HUNDRED, _THOUSAND = 10, 100, 1000


def _half_up(value: float, decimals: int) -> Decimal:
    return Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _amount(number: str, currency: str, letter: str = "", *, negative: bool = False) -> str:
    signs = _SIGNS.get()
    said = f"{localised(number)}{letter}"
    symbol = _symbol(currency, signs.tag) if currency else ""
    if symbol:
        # A code of letters is parted from its number in every locale.
        gap = signs.money_gap or (_NO_BREAK if symbol[-1 if signs.money_first else 0].isalpha() else "")
        said = f"{symbol}{gap}{said}" if signs.money_first else f"{said}{gap}{symbol}"
    return f"({said})" if negative else said


@cache
def _symbol(currency: str, tag: str) -> str:
    """A currency's sign in a locale; nothing for one that is not known."""
    from babel import Locale  # noqa: PLC0415  as above

    known = Locale.parse(tag, sep="-")
    return _plain(known.currency_symbols.get(currency, currency)) if currency in known.currencies else ""


@cache
def currency_decimals(currency: str) -> int:
    """The decimals that a currency is written with; two where none is named."""
    if not currency:
        return 2
    from babel.numbers import get_currency_precision  # noqa: PLC0415  as above

    return get_currency_precision(currency)
