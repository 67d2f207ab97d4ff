"""Currencies: their ISO 4217 codes, the signs that people write, and the size of their units.

A sign that several currencies share is never guessed, but for the dollar: alone it is taken for the US one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CODES: Final = frozenset(
    {
        "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BGN", "BHD", "BIF",
        "BMD", "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CLP", "CNY", "COP",
        "CRC", "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP",
        "GEL", "GHS", "GIP", "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD",
        "IRR", "ISK", "JMD", "JOD", "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK",
        "LBP", "LKR", "LRD", "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR",
        "MWK", "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK", "PHP",
        "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP",
        "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB", "TJS", "TMT", "TND", "TOP", "TRY", "TTD",
        "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS", "VES", "VND", "VUV", "WST", "XAF", "XCD", "XCG", "XOF",
        "XPF", "YER", "ZAR", "ZMW", "ZWG",
    }
)  # fmt: skip
# Codes that headers hold as plain words.
_WORDS_TOO: Final = frozenset({"ALL", "TOP"})
DOLLAR: Final = "USD"
_DOLLARS: Final = (DOLLAR, "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "BRL", "CLP", "COP", "ARS")
# What a sign may mean, the likeliest first.
SIGNS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "US$": ("USD",), "A$": ("AUD",), "C$": ("CAD",), "CA$": ("CAD",), "AU$": ("AUD",), "NZ$": ("NZD",),
        "S$": ("SGD",), "HK$": ("HKD",), "NT$": ("TWD",), "R$": ("BRL",), "$": _DOLLARS, "\u20ac": ("EUR",),
        "\u00a3": ("GBP",), "\u00a5": ("JPY", "CNY"), "\uffe5": ("CNY", "JPY"), "\u5143": ("CNY",), "\u5186": ("JPY",),
        "RMB": ("CNY",), "\u20b9": ("INR",), "Rs": ("INR", "PKR", "LKR"), "\u20a9": ("KRW",), "\u20aa": ("ILS",),
        "\u20bd": ("RUB",), "\u20ba": ("TRY",), "\u20ab": ("VND",), "\u0e3f": ("THB",), "z\u0142": ("PLN",),
        "K\u010d": ("CZK",), "Ft": ("HUF",), "kr": ("SEK", "NOK", "DKK"), "Fr.": ("CHF",),
    }
)  # fmt: skip
# What a dollar's worth is, to the next power of ten; a currency that is not named has units of about a dollar's size.
_PER_DOLLAR: Final[Mapping[str, float]] = MappingProxyType(
    dict.fromkeys(("CNY", "SEK", "NOK", "DKK", "HKD", "MXN", "ZAR", "CZK", "TWD", "THB", "TRY", "UAH", "EGP"), 10.0)
    | dict.fromkeys(("JPY", "INR", "RUB", "PHP", "ISK", "HUF", "LKR", "PKR", "KES", "RSD", "DZD", "BDT"), 100.0)
    | dict.fromkeys(("KRW", "CLP", "ARS", "NGN", "KZT", "CRC", "AMD", "XOF", "XAF"), 1_000.0)
    | dict.fromkeys(("IDR", "VND", "COP", "UZS", "IRR", "LAK", "PYG", "UGX", "TZS", "KHR", "LBP"), 10_000.0)
)
# Alone, so that the EUR of EUROPE and the Rs of 20 GPU-hours are none.
_WORD: Final = re.compile(r"(?<![A-Za-z])([A-Za-z]{3})(?![A-Za-z])")
_SIGN: Final = re.compile(
    "|".join(
        rf"(?<![A-Za-z]){re.escape(sign)}(?![A-Za-z])" if sign[-1].isalpha() else re.escape(sign)
        for sign in sorted(SIGNS, key=len, reverse=True)
    )
)
# [$EUR-2], [$\u20ac-407] and [$-409]: what a number format shows, and the locale behind it.
_FORMAT: Final = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
_UNSHOWN: Final = re.compile(r"\\(.)|_.|\*.")


def settled(codes: Sequence[str]) -> str:
    """The one currency that is meant by these: the only one, or the US dollar; empty where it may be several.

    >>> settled(SIGNS["$"]), settled(SIGNS["kr"])
    ('USD', '')
    """
    return codes[0] if len(codes) == 1 or codes[:1] == (DOLLAR,) else ""


def magnitude(code: str) -> float:
    """How many units of a currency a US dollar is, to the next power of ten; 1 where that is not known.

    >>> magnitude("EUR"), magnitude("JPY")
    (1.0, 100.0)
    """
    return _PER_DOLLAR.get(code, 1.0)


def currency_in(text: str) -> tuple[tuple[str, ...], str]:
    """The currencies that a text may name, the likeliest first, and the text without the name.

    >>> currency_in("$2.50/h")[0][:2], currency_in("2,50 EUR")
    (('USD', 'CAD'), (('EUR',), '2,50'))
    >>> currency_in("2.50 GPU")
    ((), '2.50 GPU')
    """
    for word in _WORD.finditer(text):
        if word[1].upper() in CODES - _WORDS_TOO and (
            word[1].isupper() or text.strip().casefold() == word[1].casefold()
        ):
            # '$2.50 USD' names it twice.
            rest = f"{text[: word.start()]} {text[word.end() :]}"
            return (word[1].upper(),), _SIGN.sub(" ", rest).strip()
    sign = _SIGN.search(text)
    if sign is None:
        return (), text
    return SIGNS[sign[0]], f"{text[: sign.start()]} {text[sign.end() :]}".strip()


@lru_cache(maxsize=1024)
def currencies_shown(number_format: str) -> tuple[str, ...]:
    """The currencies that a number format may show, the likeliest first.

    >>> currencies_shown("[$EUR-2] #,##0.00"), currencies_shown('#,##0.00 "kr"')
    (('EUR',), ('SEK', 'NOK', 'DKK'))
    >>> currencies_shown("#,##0.00"), currencies_shown("yyyy-mm-dd")
    ((), ())
    """
    shown = _FORMAT.sub(r" \1 ", number_format.partition(";")[0])
    return currency_in(_UNSHOWN.sub(r"\1", shown).replace('"', " "))[0]
