"""How amounts look on sheets: their currency in the headers, and the decimals that the amounts of a column need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from planner.plan.scenario import COLUMNS, FIGURES
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plan.study import Study

OWN_CURRENCY: Final = "own currency"
_MONEY: Final = "money"
# Where amounts are as small as this, they show three digits, unless that takes more decimals than anybody reads.
_SMALL: Final = 0.1
_DIGITS: Final = 3
_MOST_DECIMALS: Final = 8
_MOST_HOURLY: Final = 4
_MOST_TYPED: Final = 6


def shared_word(study: Study) -> str:
    """What stands in headers for money: the code that all rows share, ``own currency`` where they differ."""
    named = study.currencies
    return OWN_CURRENCY if len(named) > 1 else (next(iter(named), "") or _MONEY)


def compared_word(study: Study) -> str:
    """What stands in headers for money where amounts are converted: the currency of comparison."""
    return study.purse.code or _MONEY


def is_converted(study: Study) -> bool:
    """Whether a row's prices are in another currency than that of comparison."""
    return any(code != study.purse.code for code in study.currencies)


def with_currency(header: str, word: str) -> str:
    """A header with a currency in place of the word money.

    >>> with_currency("Cost per hour (money/h)", "USD"), with_currency("Weights (GB)", "USD")
    ('Cost per hour (USD/h)', 'Weights (GB)')
    """
    return header.replace(f"({_MONEY}", f"({word}")


def amount_format(name: str, values: Iterable[float | None]) -> str:
    """The number format of a column of amounts: the decimals of its unit, more where its smallest is small.

    >>> amount_format("cost_per_m_tokens", [5.25, None, 0.0125]), amount_format("monthly_cost", [1825.0])
    ('#,##0.0000;-#,##0.0000;"–"', '#,##0;-#,##0;"–"')
    """
    least = _decimals(name)
    if not least:
        return shown(0)
    smallest = min((abs(value) for value in values if value), default=1.0)
    wanted = _DIGITS - 1 - math.floor(math.log10(smallest)) if smallest < _SMALL else least
    most = _MOST_HOURLY if name.endswith("_cost_h") else _MOST_DECIMALS
    return shown(max(least, min(wanted, most)))


def price_format(values: Iterable[float | None]) -> str:
    """The number format of a column of typed prices: as many decimals as the prices have, at least two.

    >>> price_format([2.5, 0.92361]), price_format([250000.0])
    ('#,##0.00000;-#,##0.00000;"–"', '#,##0.00;-#,##0.00;"–"')
    """
    decimals = (len(f"{value:.{_MOST_TYPED}f}".rstrip("0").partition(".")[2]) for value in values if value is not None)
    return shown(max(2, *decimals, 2))


def _decimals(name: str) -> int:
    column = FIGURES.get(name) or COLUMNS[name]
    found = unit_of(name).decimals if column.decimals is None else column.decimals
    return 2 if found is None else found


def shown(decimals: int) -> str:
    """An amount with so many decimals; nothing is a dash, as in accounts.

    >>> shown(2)
    '#,##0.00;-#,##0.00;"–"'
    """
    amount = "#,##0" + ("." + "0" * decimals if decimals else "")
    return f'{amount};-{amount};"\u2013"'


_WIDE: Final = 50.0


def log_start(values: Iterable[float | None]) -> float:
    """The power of ten from which a chart shows amounts that lie far apart; 0 where they do not.

    >>> log_start([0.5, 120.0, None]), log_start([2.0, 8.0])
    (0.1, 0.0)
    """
    known = [value for value in values if value is not None and value > 0]
    if not known or max(known) <= _WIDE * min(known):
        return 0.0
    return float(f"1e{math.floor(math.log10(min(known)))}")


def y_title(text: str, log_from: float) -> str:
    """What stands beside a chart's amounts.

    >>> y_title("USD per month", 0.1)
    'USD per month (log scale)'
    """
    return f"{text} (log scale)" if log_from else text


def axis_format(number_format: str) -> str:
    """A column's number format for the axis of a chart, on which nothing is 0.

    >>> axis_format(shown(2))
    '#,##0.00'
    """
    return number_format.partition(";")[0]


# Finance writes an amount below nothing in parentheses.
SIGNED: Final = "#,##0_);(#,##0)"
