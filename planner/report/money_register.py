"""The register of prices: each with its value, source, day and how far it can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planner.plan.purse import is_priced
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import COLUMNS, MONEY_COLUMNS
from planner.report import money
from planner.report.numbers import date, plain
from planner.report.parts import Cell, Head, Row, Table, cells_of, cut, labels, say_input, sentence, without_empty
from planner.report.tables import MOST_ROWS

if TYPE_CHECKING:
    import datetime as dt

    from planner.plan.study import Case, Study

# Several scenarios with as many prices each: beyond this the workbook has them.
MOST_LINES: Final = 120
_LINES_OF_MANY: Final = 40
_FEW_RANGES: Final = 3
_ASIDE: Final = frozenset({"currency", "exchange_rate", "exchange_day", "price_source", "price_day", "api"})
# What is paid or charged; the others say how much is used, asked for and required.
_PRICES: Final = frozenset(name for name in MONEY_COLUMNS if "cost" in name)
_TRUST: Final = (
    "High: typed with its source, and less than 3 months old. Medium: typed and less than 12 months old, or filled in "
    "from the catalogue. Low: older, without a day or of a day after the report's, or planner's own default."
)
_HEADS: Final = (
    Head("No."),
    Head("Price or assumption", text=3),
    Head("Value"),
    Head("Unit", text=2),
    Head("Scenarios", text=2),
    Head("Cells", text=2),
    Head("Source", text=3),
    Head("Of"),
    Head("Confidence", text=2),
)


def register(study: Study, today: dt.date) -> Table:
    """Every price and assumption of money that figures rest on."""
    found: dict[tuple[Any, ...], list[Case]] = {}
    priced = [case for case in study.cases if is_priced(case.result.scenario)]
    for name in MONEY_COLUMNS:
        # Most columns of money are blank in most workbooks.
        if name in _ASIDE or (study.columns and study.columns.completed.is_bare(name)):
            continue
        for case in priced:
            scenario, source = case.result.scenario, case.result.sources.get(name, "")
            value = getattr(scenario, name)
            if value in {None, ""} or not _counts(case, name, value, source):
                continue
            code = money.own_till(study, case.result).code
            quoted = (
                (scenario.price_source, scenario.price_day or "") if name in _PRICES and source == TYPED else ("", "")
            )
            found.setdefault((name, value, source, code, *quoted), []).append(case)
    kinds = list(found)[: MOST_LINES if len(study.cases) <= MOST_ROWS else _LINES_OF_MANY]
    rows = tuple(_row(number, kind, found[kind], today) for number, kind in enumerate(kinds, 1))
    more = len(found) - len(kinds)
    note = f"{_TRUST}{f' {plain(more)} more stand in the input workbook.' if more else ''}"
    return without_empty(Table(_HEADS, rows, note=note))


def _counts(case: Case, name: str, value: Any, source: str) -> bool:
    """Whether anything rests on a value: what is typed does, and of the defaults what is not nothing."""
    if source in {TYPED, ""}:
        return True
    scenario = case.result.scenario
    if name in {"pue", "device_power_w"}:
        return bool(scenario.tariff_cost_kwh)
    if name == "hours_per_month":
        return True
    return bool(value) and name != "peak_to_average"


def _row(number: int, kind: tuple[Any, ...], cases: list[Case], today: dt.date) -> Row:
    name, value, source, code, quoted, day = kind
    where, confidence = _trust(name, source, quoted, day, today)
    return Row(
        (
            Cell(f"M{number:02d}", marks="tag"),
            Cell(COLUMNS[name].label),
            Cell(cut(say_input(name, value))),
            Cell(money.unit_in(name, code)),
            Cell(labels((case.number for case in cases), _FEW_RANGES)),
            Cell(cells_of(cases, name, _FEW_RANGES) if source == TYPED else ""),
            Cell(cut(where, 90)),
            Cell(date(money.day_of(day)) if day else ""),
            Cell(confidence),
        )
    )


def _trust(name: str, source: str, quoted: str, day: str, today: dt.date) -> tuple[str, str]:
    """Where a value is from, and how far it can be trusted."""
    if source == DEFAULT:
        return "planner", "low, default"
    if source not in {TYPED, ""}:
        return sentence(source), "medium, filled in"
    if name not in _PRICES:
        return "typed", "typed"
    return quoted or "typed", _by_age(quoted, day, today)


def _by_age(quoted: str, day: str, today: dt.date) -> str:
    """How far a typed price can be trusted: less, the older it is."""
    if not day:
        return "low, no day"
    of = money.day_of(day)
    if of > today:
        return "low, day after the report"
    months = _whole_months(of, today)
    if months < _FRESH:
        return "high, typed" if quoted else "medium, no source"
    said = f"{months} months old" if months < _MONTHS_OF_TWO_YEARS else f"{months // 12} years old"
    return f"{'medium' if months < _USABLE else 'low'}, {said}"


_FRESH: Final = 3
_USABLE: Final = 12
_MONTHS_OF_TWO_YEARS: Final = 24


def _whole_months(first: dt.date, last: dt.date) -> int:
    """The months that are over between two days."""
    return (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)
