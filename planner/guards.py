"""What a rule means for a function's argument: which numbers it takes, in Python over arrays and in Excel.

A cell of a scenario table may hold ``3.35 TB/s``; a function's argument is a number, a percentage or a
precision's name, or a plain number typed as text. Both hosts take the same texts and refuse the same.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.columns import (
    FEWEST_BITS,
    LARGEST,
    MOST_BITS,
    MOST_PERCENT,
    PERCENT_FROM,
    SMALLEST,
    Number,
    PrecisionName,
    Ratio,
)

if TYPE_CHECKING:
    from planner.columns import Rule

# A function of our own that the others call: the number that a text means, else the text.
NUMBER_NAME: Final = "PLANNER_NUMBER"
_GROUP: Final = 3
_LONGEST_GROUP: Final = 3


def plain_number(text: str) -> float | None:
    """The number that a text is, or None: digits, at most one point or comma, a sign, no unit.

    ``3.350`` and ``3,350`` alone have two readings, so they have none here.

    >>> plain_number(" 0,85 "), plain_number("1 400"), plain_number("3,350")
    (0.85, 1400.0, None)
    """
    marked = text.replace(" ", "").replace("\u00a0", "").replace(",", ".")
    unsigned = marked[1:] if marked[:1] in {"+", "-"} else marked
    whole, point, decimals = unsigned.partition(".")
    if not (whole + decimals).isascii() or not (whole + decimals).isdigit():
        return None
    if point and len(decimals) == _GROUP and 1 <= len(whole) <= _LONGEST_GROUP and whole[0] != "0":
        return None
    return float(marked)


def number_lambda() -> str:
    """:func:`plain_number` as the LAMBDA that the other functions call."""
    x, m, u, p = "_xlpm.x", "_xlpm.marked", "_xlpm.unsigned", "_xlpm.point"
    marked = f'SUBSTITUTE(SUBSTITUTE(SUBSTITUTE({x}," ",""),CHAR(160),""),",",".")'
    unsigned = f'IF(LEFT({m},1)="-",MID({m},2,255),IF(LEFT({m},1)="+",MID({m},2,255),{m}))'
    rest = u
    for digit in "0123456789":
        rest = f'SUBSTITUTE({rest},"{digit}","")'
    two_readings = f'(LEN({u})-{p}={_GROUP})*({p}>1)*({p}<={_LONGEST_GROUP + 1})*(LEFT({u},1)<>"0")'
    value = f'IF(LEFT({m},1)="-",-1,1)*_xlfn.NUMBERVALUE({u},".",",")'
    well_formed = f'IF(_xlpm.rest="",LEN({u})>0,IF(_xlpm.rest=".",LEN({u})>1,FALSE))'
    steps = f'{m},{marked},{u},{unsigned},{p},IFERROR(FIND(".",{u}),0),_xlpm.rest,{rest}'
    inner = f"_xlfn.LET({steps},IF({well_formed},IF({two_readings}>0,{x},{value}),{x}))"
    return f"_xlfn.LAMBDA({x},IF(ISTEXT({x}),{inner},{x}))"


def takes_zero(rule: Rule) -> bool:
    """Whether zero is a value that the rule names: none of something, not a figure that is missing.

    >>> takes_zero(Number(least=0)), takes_zero(Number(above=-1)), takes_zero(Number(above=0)), takes_zero(Number())
    (True, True, False, False)
    """
    return isinstance(rule, Number) and (rule.least == 0 or goes_below_zero(rule))


def goes_below_zero(rule: Rule) -> bool:
    """Whether the rule names a limit below zero, as that of a growth does.

    >>> goes_below_zero(Number(above=-1)), goes_below_zero(Number(least=0))
    (True, False)
    """
    return isinstance(rule, Number) and rule.above is not None and rule.above < 0


@singledispatch
def meant(rule: Rule, values: Any) -> Any:
    """The numbers meant by numbers as given, as an array of the same shape."""
    return values


@singledispatch
def accepts(rule: Rule, values: Any) -> Any:
    """Which of the numbers meant are accepted, as an array of the same shape."""
    raise TypeError(f"{rule} guards no argument")


@singledispatch
def number_of(rule: Rule, text: str) -> float | None:
    """The number meant by a text, or None."""
    return plain_number(text)


@singledispatch
def excel_value(rule: Rule, x: str) -> str:
    """An Excel expression of the value meant by the argument x; x itself where it means none."""
    return f"{NUMBER_NAME}({x})"


@singledispatch
def excel_ok(rule: Rule, x: str) -> str:
    """An Excel expression that is TRUE where the value x is accepted."""
    raise TypeError(f"{rule} guards no argument")


@accepts.register
def _(rule: Number, values: Any) -> Any:
    # A comparison with NaN is False. The limits are those of the scenario table.
    good = (abs(values) <= LARGEST) & ((abs(values) >= SMALLEST) | (takes_zero(rule) & (values == 0)))
    if rule.above is not None:
        good &= values > rule.above
    if rule.below is not None:
        good &= values < rule.below
    if rule.least is not None:
        good &= values >= rule.least
    if rule.most is not None:
        good &= values <= rule.most
    if rule.whole:
        good &= values % 1 == 0
    return good


@excel_ok.register
def _(rule: Number, x: str) -> str:
    # Nested IFs, not AND: AND over a range would collapse it to one answer.
    test = f"({x}=INT({x}))" if rule.whole else "TRUE"
    if rule.most is not None:
        test = f"IF({x}<={rule.most!r},{test},FALSE)"
    if rule.least is not None:
        test = f"IF({x}>={rule.least!r},{test},FALSE)"
    if rule.above is not None:
        test = f"IF({x}>{rule.above!r},{test},FALSE)"
    if rule.below is not None:
        test = f"IF({x}<{rule.below!r},{test},FALSE)"
    small = f"({x}=0)" if takes_zero(rule) else "FALSE"
    test = f"IF(ABS({x})<={LARGEST:.0E},IF(ABS({x})>={SMALLEST:.0E},{test},{small}),FALSE)"
    return f"IF(ISNUMBER({x}),{test},FALSE)"


@meant.register
def _(rule: Ratio, values: Any) -> Any:
    scaled = values.copy()
    scaled[values >= PERCENT_FROM] /= MOST_PERCENT
    return scaled


@accepts.register
def _(rule: Ratio, values: Any) -> Any:
    return (values >= SMALLEST) & (values <= 1)


@number_of.register
def _(rule: Ratio, text: str) -> float | None:
    stripped = text.strip(" ")
    if not stripped.endswith("%"):
        return plain_number(text)
    value = plain_number(stripped[:-1])
    # A percentage is the ratio already, so 1500% must not be taken for 15 percent.
    return None if value is None or value > MOST_PERCENT else value / MOST_PERCENT


@excel_value.register
def _(rule: Ratio, x: str) -> str:
    number, share = f"{NUMBER_NAME}({x})", f"{NUMBER_NAME}(LEFT(TRIM({x}),LEN(TRIM({x}))-1))"
    of_number = f"IF(ISNUMBER({number}),IF({number}>={PERCENT_FROM},{number}/{MOST_PERCENT},{number}),{x})"
    of_percent = f"IF(ISNUMBER({share}),IF({share}>{MOST_PERCENT},{x},{share}/{MOST_PERCENT}),{x})"
    return f'IF(ISTEXT({x}),IF(RIGHT(TRIM({x}),1)="%",{of_percent},{of_number}),{of_number})'


@excel_ok.register
def _(rule: Ratio, x: str) -> str:
    return f"IF(ISNUMBER({x}),IF({x}>={SMALLEST:.0E},({x}<=1),FALSE),FALSE)"


@accepts.register
def _(rule: PrecisionName, values: Any) -> Any:
    return (values >= FEWEST_BITS) & (values <= MOST_BITS)


@number_of.register
def _(rule: PrecisionName, text: str) -> float | None:
    known = catalog.find_precision(text)
    return known.bits if known else plain_number(text)


def precision_lookup(x: str, otherwise: str) -> str:
    """An Excel expression of the bits that a precision's name stands for; numbers are bits already."""
    keys = catalog.precision_keys()
    names = ";".join(f'"{key}"' for key in keys)
    bits = ";".join(f"{precision.bits!r}" for precision in keys.values())
    key = f'UPPER(SUBSTITUTE(SUBSTITUTE(SUBSTITUTE({x}," ",""),"_",""),"-",""))'
    for wildcard in "~*?":
        # MATCH takes these for any text, so FP* would be FP32; no name holds a #.
        key = f'SUBSTITUTE({key},"{wildcard}","#")'
    return f"IF(ISNUMBER({x}),{x},IFERROR(INDEX({{{bits}}},MATCH({key},{{{names}}},0)),{otherwise}))"


@excel_value.register
def _(rule: PrecisionName, x: str) -> str:
    return precision_lookup(x, f"{NUMBER_NAME}({x})")


@excel_ok.register
def _(rule: PrecisionName, x: str) -> str:
    return f"IF(ISNUMBER({x}),IF({x}>={FEWEST_BITS},({x}<={MOST_BITS}),FALSE),FALSE)"
