"""A column of the scenario table: its label, unit, accepted values and help, said once for every surface.

The same declaration reads a cell, heads the result sheets, fills the starter workbook's drop-downs
and notes, guards the Excel functions and writes the README's table.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import re
import sys
import typing
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from planner import catalog, units
from planner.quantities import read_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_ECHO = 40
# Beyond these no figure of this world lies, and products of such figures still neither overflow nor vanish.
SMALLEST, LARGEST = 1e-15, 1e15
_NEARLY_WHOLE = 1e-9


class BadValueError(ValueError):
    """A value that a column does not accept; says what it is and what is expected."""

    def __init__(self, problem: str, accepted: str = "", code: str = "value") -> None:
        super().__init__(problem)
        self.problem, self.accepted, self.code = problem, accepted, code


@dataclass(frozen=True, slots=True)
class Understood:
    """A cell's value as understood: the value, whether the cell holds just that, and what was assumed.

    ``link`` is how a formula makes the value of the cell {0}, where the cell holds a number that needs only that.
    ``currencies`` are those that a price may be in by what stands beside it, the likeliest first.
    """

    value: Any
    plain: bool = False
    note: str = ""
    link: str = ""
    currencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands in a cell, as far as its meaning goes: the value, whether it is shown as percent, its currency."""

    value: Any
    percent: bool = False
    header_factor: float = 1.0
    currencies: tuple[str, ...] = ()


class Rule(Protocol):
    """What a column accepts."""

    @property
    def accepted(self) -> str:
        """The accepted values, as a phrase that follows 'expected'."""

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The value that was meant; raises BadValueError."""


# Control characters and halves of pairs, which neither XML nor a page can hold.
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def is_tidy(text: str) -> bool:
    r"""Whether a text is taken as it stands, as most are: of what is printable, only blanks can be too many.

    >>> is_tidy("Llama 70B"), is_tidy("two  blanks"), is_tidy("a line\nbreak")
    (True, False, False)
    """
    return text.isprintable() and "  " not in text and text == text.strip(" ")


@dataclass(frozen=True, slots=True)
class Text:
    """Any text; a number is taken as its digits."""

    accepted: str = "text"

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The text without surrounding blanks."""
        value = typed.value
        if isinstance(value, str) and is_tidy(value):
            return Understood(value, plain=True)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        # A line break in a name would break every table and list that shows it.
        text = " ".join(_UNWRITABLE.sub("", str(value)).split())
        note = ""
        if _UNWRITABLE.search(str(value)):
            note = f"{column.label} held characters that no workbook can hold; they are left out"
        return Understood(text, note=note, plain=text == typed.value)


@dataclass(frozen=True, slots=True)
class Choice(Text):
    """One of a few words; ``words`` are each choice's own word and what it is called."""

    words: tuple[tuple[str, str], ...] = ()

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The choice's own word, whichever of its two names was typed."""
        text = Text.read(self, column, unit, typed).value
        known = {name.casefold(): word for word, called in self.words for name in (word, called)}
        if text.casefold() not in known:
            raise BadValueError(f"{column.label} is {echo(text)}", self.accepted)
        return Understood(known[text.casefold()], plain=known[text.casefold()] == typed.value)


def choice(words: Mapping[str, str]) -> Choice:
    """The rule of a column that takes one of a few words.

    >>> choice({"full": "Full", "capped": "Capped"}).accepted
    'one of Full, Capped'
    """
    return Choice(f"one of {', '.join(words.values())}", tuple(words.items()))


@dataclass(frozen=True, slots=True)
class Number:
    """A number within limits. ``likely`` is the range in which a unit settles what a separator means."""

    above: float | None = None
    below: float | None = None
    least: float | None = None
    most: float | None = None
    whole: bool = False
    likely: tuple[float, float] | None = None

    @property
    def accepted(self) -> str:
        """The limits in words."""
        kind = "a whole number" if self.whole else "a number"
        limits = []
        if self.above is not None:
            limits.append(f"above {self.above:g}")
        if self.below is not None:
            limits.append(f"below {self.below:g}")
        if self.least is not None:
            limits.append(f"of at least {self.least:g}")
        if self.most is not None:
            limits.append(f"of at most {self.most:g}")
        return " ".join([kind, " and ".join(limits)]).strip()

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The number in the column's own unit."""
        if isinstance(typed.value, str):
            value, note = self._read_text(column, unit, typed, self.wanted(unit))
            plain = False
        else:
            if typed.percent and typed.value:
                raise BadValueError(f"{column.label} is {typed.value * 100:g}%, a percentage", self.wanted(unit))
            value, note = float(typed.value) * typed.header_factor, ""
            plain = typed.header_factor == 1.0
        if self.whole and math.isfinite(value) and abs(value - round(value)) < _NEARLY_WHOLE:
            # What a formula leaves of 8 after a division is 8.
            plain = plain and value.is_integer()
            value = float(round(value))
        self._check(column, value, unit)
        scaled = not plain and not isinstance(typed.value, str) and not self.whole
        return Understood(value, plain, note, f"{{0}}*{typed.header_factor!r}" if scaled else "")

    def wanted(self, unit: units.Unit) -> str:
        """The accepted values with their unit."""
        return f"{self.accepted} ({unit.symbol})" if unit.symbol else self.accepted

    def _check(self, column: Column, value: float, unit: units.Unit) -> None:
        low = (self.above is not None and value <= self.above) or (self.least is not None and value < self.least)
        high = (self.below is not None and value >= self.below) or (self.most is not None and value > self.most)
        if low or high or not math.isfinite(value) or (self.whole and value % 1):
            shown = f"{value:,.10g}"
            # 8.000000000000002 is shown as it is: 'Batch is 8' would say nothing.
            if self.whole and value % 1 and "." not in shown:
                shown = repr(value)
            raise BadValueError(f"{column.label} is {shown} {unit.symbol}".strip(), self.wanted(unit))
        # A thousand times the likely range is a slip of the unit, such as parameters that are not in billions.
        largest = self.likely[1] * 1_000 if self.likely else LARGEST
        if value and not SMALLEST <= abs(value) <= largest:
            raise BadValueError(
                f"{column.label} is {value:g} {unit.symbol}".strip() + ", beyond any real figure", self.wanted(unit)
            )

    def _read_text(self, column: Column, unit: units.Unit, typed: Typed, wanted: str) -> tuple[float, str]:
        text = typed.value.strip()
        found = read_quantity(text)
        if not found.values:
            raise BadValueError(f"{column.label} is {echo(text)}, not a number", wanted)
        dimension = unit.dimension or "count"
        factor = typed.header_factor if not found.unit else _factor(column, dimension, found.unit, wanted)
        readings = tuple(value * factor for value in found.values)
        if len(readings) == 1:
            return readings[0], ""
        likely = [v for v in readings if self.likely and self.likely[0] <= v <= self.likely[1]]
        if found.unit and len(likely) == 1:
            shown = f"{likely[0]:,.10g}"
            # '1,008 GB/s is read as 1,008 GB/s' would say nothing.
            note = (
                ""
                if f"{shown} {unit.symbol}" in text
                else f"{column.label} {echo(text)} is read as {shown} {unit.symbol}"
            )
            return likely[0], note
        shown = " or ".join(f"{value:,.10g}" for value in readings)
        raise BadValueError(
            f"{column.label} is {echo(text)}, {found.why}: it may mean {shown}",
            f"one plain number ({unit.symbol})" if unit.symbol else "one plain number",
            "ambiguous",
        )


# '3,350 GB/s (HBM3)' and, for one device's figure, '3,350 GB/s per GPU' say their unit and a little more.
_REMARK = re.compile(r"\s*\([^()]*\)$")
_PER_DEVICE = re.compile(r"\s*(?:each|(?:per|/)\s*(?:gpu|device|card|accelerator|chip))$", re.IGNORECASE)


def _factor(column: Column, dimension: str, written: str, wanted: str) -> float:
    written = _REMARK.sub("", written)
    if "per device" in column.label:
        written = _PER_DEVICE.sub("", written)
    if not written:
        return 1.0
    if dimension in {"bandwidth", "size"} and units.means_bits(written):
        # A factor of eight hides between bits and bytes, so the unit is refused by name.
        per = " per second" if dimension == "bandwidth" else ""
        raise BadValueError(f"{column.label} is in {written}, bits{per}", f"{wanted}, bytes{per}")
    factor = units.factor_to(dimension, written)
    if factor is None:
        other = units.dimension_of(written)
        what = f"{written}, a unit of {other}" if other and other != dimension else f"an unknown unit, {echo(written)}"
        raise BadValueError(f"{column.label} is in {what}", wanted)
    return factor


PERCENT_FROM = 10
MOST_PERCENT = 100


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share: above 0 to 1 is the ratio itself, 10 to 100 is percent, anything else is an error."""

    accepted: str = "a ratio above 0 to 1, or 10 to 100 for percent"

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The ratio, 0 to 1."""
        value, percent, as_typed = typed.value, typed.percent, f"{typed.value}"
        if isinstance(value, str):
            found = read_quantity(value.strip())
            if len(found.values) != 1 or (found.unit and units.factor_to("ratio", found.unit) is None):
                raise BadValueError(f"{column.label} is {echo(value)}", self.accepted)
            as_typed = echo(value)
            percent = bool(found.unit)
            value = found.values[0] / MOST_PERCENT if percent else found.values[0]
        elif percent:
            as_typed = f"{value * MOST_PERCENT:g}%"
        ratio = float(value)
        if not percent and PERCENT_FROM <= ratio <= MOST_PERCENT:
            ratio /= MOST_PERCENT
        if not SMALLEST <= ratio <= 1:
            raise BadValueError(f"{column.label} is {as_typed}", self.accepted)
        plain = not isinstance(typed.value, str) and ratio == typed.value
        scaled = not plain and not isinstance(typed.value, str)
        link = f"IF({{0}}>={PERCENT_FROM},{{0}}/{MOST_PERCENT},{{0}})" if scaled else ""
        return Understood(ratio, plain=plain, link=link)


FEWEST_BITS = 1
MOST_BITS = 64


@dataclass(frozen=True, slots=True)
class PrecisionName:
    """The name of a number format, or its bits per weight."""

    accepted: str = "a precision such as FP16, FP8, INT4, Q4_K_M, or bits per weight from 1 to 64"

    def read(self, column: Column, unit: units.Unit, typed: Typed) -> Understood:
        """The known name, or the bits as typed."""
        value = typed.value
        if isinstance(value, str):
            text = value.strip()
            known = catalog.find_precision(text)
            if known:
                # Plain only as planner itself spells it, so that a reference shows just the stored value.
                return Understood(known.name, plain=value == known.name)
            found = read_quantity(text)
            if len(found.values) != 1 or units.factor_to("bits", found.unit or "bits") is None:
                close = catalog.nearest_precisions(text)
                hint = f" (did you mean {' or '.join(close)}?)" if close else ""
                raise BadValueError(f"{column.label} is {echo(text)}, an unknown precision{hint}", self.accepted)
            value = found.values[0]
        elif typed.percent:
            raise BadValueError(f"{column.label} is {value * MOST_PERCENT:g}%, a percentage", self.accepted)
        if not FEWEST_BITS <= value <= MOST_BITS:
            raise BadValueError(f"{column.label} is {value:g} bits per weight", self.accepted)
        return Understood(repr(float(value)).removesuffix(".0"), plain=not isinstance(typed.value, str))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: label, accepted values, help, and the other names people give it."""

    label: str
    rule: Rule = field(default_factory=Text)
    help: str = ""
    aliases: tuple[str, ...] = ()
    default: Any = None
    decimals: int | None = None
    # Whether it stands in the starter workbook; the others are for those who know that they need them.
    common: bool = False


def read_value(name: str, column: Column, typed: Typed) -> Understood:
    """The value that a cell means for a column.

    Raises BadValueError with what stands there and what is accepted.

    >>> from planner.plan.scenario import COLUMNS
    >>> read_value("efficiency", COLUMNS["efficiency"], Typed("85 %")).value
    0.85
    """
    value = typed.value
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        # A whole number of hundreds of digits is no float; it is refused like any infinite one.
        typed = dataclasses.replace(typed, value=math.inf if value > 0 else -math.inf)
    if type(column.rule) is Text and not isinstance(value, str | int | float):
        return Understood(str(value).removesuffix(" 00:00:00"))
    if isinstance(column.rule, Text) and isinstance(value, dt.date):
        return column.rule.read(column, units.unit_of(name), typed)
    if isinstance(value, bool):
        if type(column.rule) is Text:
            return Understood(str(value).upper())
        raise BadValueError(f"{column.label} is {str(value).upper()}, a truth value", column.rule.accepted)
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        raise BadValueError(f"{column.label} is a date or time ({value})", column.rule.accepted)
    if isinstance(value, Decimal):
        typed = dataclasses.replace(typed, value=float(value))
    elif not isinstance(value, str | int | float):
        raise BadValueError(f"{column.label} is a {type(value).__name__}", column.rule.accepted)
    return column.rule.read(column, units.unit_of(name), typed)


def echo(text: str) -> str:
    """A text as it is quoted back to the user, cut to a readable length."""
    text = " ".join(text.split())
    return f"'{text[: _LONGEST_ECHO - 1]}…'" if len(text) > _LONGEST_ECHO else f"'{text}'"


def header(name: str, column: Column) -> str:
    """A column's header with its unit.

    >>> header("device_bandwidth_gb_s", Column("Bandwidth per device"))
    'Bandwidth per device (GB/s)'
    """
    symbol = units.unit_of(name).symbol
    return f"{column.label} ({symbol})" if symbol else column.label


def decimals_of(name: str, column: Column) -> int | None:
    """The decimals that a column is shown with, None for as many as the number needs."""
    return units.unit_of(name).decimals if column.decimals is None else column.decimals


def number_format(name: str, column: Column) -> str:
    """A column's Excel number format.

    >>> number_format("tokens_per_sec", Column("Per stream", Number()))
    '#,##0.00'
    """
    if isinstance(column.rule, Text | PrecisionName):
        return "General" if isinstance(column.rule, PrecisionName) else "@"
    decimals = decimals_of(name, column)
    if isinstance(column.rule, Ratio):
        return "0%" if not decimals else f"0.{'0' * decimals}%"
    if decimals is None:
        return "General"
    return "#,##0" + ("." + "0" * decimals if decimals else "")


# Below this and to so many decimals a number has fewer than fifteen digits.
_PLAIN_BELOW: Final = 1e9
_PLAIN_DECIMALS: Final = 5


def rounded(value: float, decimals: int) -> str:
    """A number as Excel shows it: half away from zero, from the fifteen digits that Excel reads, thousands grouped.

    >>> rounded(2.675, 2), rounded(1234.5, 0), rounded(-0.25, 1)
    ('2.68', '1,235', '-0.3')
    """
    if not math.isfinite(value):
        return str(value)
    digits = f"{value:.15g}"
    next_digit = digits.partition(".")[2][decimals : decimals + 1]
    # Python's own rounding differs in ties alone, which have a five there, and in digits that Excel does not read.
    if next_digit != "5" and abs(value) < _PLAIN_BELOW and decimals <= _PLAIN_DECIMALS and "e" not in digits:
        return f"{value:,.{decimals}f}"
    exact = Decimal(digits)
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):,f}"


def span(low: float, high: float, dash: str = "\u2013") -> str:
    """A range with the digits that it deserves.

    >>> span(23.986, 37.925, "-"), span(1.04, 1.39, "-"), span(8.2, 12.9, "-")
    ('24-38', '1.0-1.4', '8-13')
    """
    places = next((places for places, least in enumerate(_SPANS) if high >= least), len(_SPANS))
    return f"{rounded(low, places)}{dash}{rounded(high, places)}"


# From these upper ends on no, one and two decimals do.
_SPANS: Final = (10.0, 1.0, 0.1)


def as_percent(ratio: float, decimals: int = 0) -> str:
    """A ratio as percent, rounded as Excel does.

    >>> as_percent(0.325), as_percent(0.025)
    ('33%', '3%')
    """
    return f"{rounded(float(Decimal(f'{ratio:.15g}') * 100), decimals)}%"


def near_percent(ratio: float) -> int:
    """The decimals at which a share as percent does not read as just the whole, where it is not.

    >>> [as_percent(share, near_percent(share)) for share in (0.95, 1.0, 1.0027, 0.99996)]
    ['95%', '100%', '100.3%', '99.996%']
    """
    decimals = 0
    while ratio != 1 and decimals < _MOST_DECIMALS and round(ratio * 100, decimals) == 100:  # noqa: PLR2004
        decimals += 1
    return decimals


_MOST_DECIMALS: Final = 6


def shown(name: str, column: Column, value: object) -> str:
    """A value as text, with the digits of its column's number format.

    >>> shown("tokens_per_sec", Column("Per stream"), 20.339286)
    '20.34'
    """
    if value is None:
        return ""
    if not isinstance(value, int | float):
        return str(value)
    decimals = decimals_of(name, column)
    if isinstance(column.rule, Ratio):
        return as_percent(value, decimals or 0)
    return f"{value:,.10g}" if decimals is None else rounded(value, decimals)


def columns_of(table: type) -> Mapping[str, Column]:
    """The columns that a dataclass declares in its field annotations, by field name."""
    hints = typing.get_type_hints(table, include_extras=True)
    found: dict[str, Column] = {}
    for name, hint in hints.items():
        for extra in getattr(hint, "__metadata__", ()):
            if isinstance(extra, Column):
                found[name] = extra
    return found
