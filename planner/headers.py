"""The header row: which text names which field, in which unit, and what is wrong with it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Final

from planner import units
from planner.columns import Column, Ratio, Text, echo, header
from planner.currencies import currency_in
from planner.header_words import LEFT_OUT, MAY_BE, OTHER_THINGS, PRICED, SAME_WORD, UNDECIDED
from planner.issues import Issue, Severity
from planner.plan.scenario import COLUMNS
from planner.rules import Money

_ROWS_SEARCHED: Final = 60
_FEWEST: Final = 2
_MOSTLY: Final = 0.6
_CLOSE_ENOUGH: Final = 0.82
# Characters of no width that come along with text copied from pages.
_INVISIBLE: Final = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")


@dataclass(frozen=True, eq=False)
class Headings:
    """What the headers of a kind of table may name: its columns, and the texts that leave open which one."""

    columns: Mapping[str, Column]
    undecided: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=lambda: MappingProxyType({}))
    # Columns of other tables that look like ours, and are not worth a question.
    others: frozenset[str] = frozenset()
    # What prices are headed with behind a currency: '$/GPU-hour' has no label but its unit.
    priced: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def header_of(self, name: str) -> str:
        """The header of a column, unit included."""
        return header(name, self.columns[name])

    @cached_property
    def known(self) -> Mapping[str, str]:
        """Every header that names a field: label, alias and Python name, as compared by :func:`normalise`."""
        found: dict[str, str] = {}
        for name, column in self.columns.items():
            for text in (column.label, name, *column.aliases):
                bare, _ = split_unit(text)
                found.setdefault(normalise(bare), name)
                found.setdefault(normalise(text), name)
        return MappingProxyType(found)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as read: its stored value, its formula if it holds one, and how its number is shown."""

    value: Any
    formula: str = ""
    percent: bool = False
    error: bool = False
    # The currencies that its number format may show, the likeliest first.
    currencies: tuple[str, ...] = ()
    # Where the value stands, if not here: the top of the merged cells that cover this one.
    at: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A sheet's cells by row and column, both from 1; ``ours`` marks a result sheet of an earlier run."""

    name: str
    rows: Mapping[int, Mapping[int, Cell]]
    ours: bool = False
    hidden: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HeaderCell:
    """A header that names a field, the factor from its unit to the field's own, and the currencies that it may name."""

    field: str
    column: int
    factor: float = 1.0
    currencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """The header row: where it is, which column holds which field, and what is wrong with it."""

    row: int
    cells: Mapping[str, HeaderCell] = field(default_factory=lambda: MappingProxyType({}))
    issues: tuple[Issue, ...] = ()
    unread: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    # Columns of which it is not clear which field they are, with the fields that they may be.
    undecided: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


class RowCells(Mapping[str, str]):
    """Where each field of a row stands, as ``C7``; made when asked for, since rows may be many.

    ``moved`` are the fields whose value stands at the top of merged cells.
    """

    __slots__ = ("_letters", "_moved", "_row")

    def __init__(self, letters: Mapping[str, str], row: int, moved: Mapping[str, str]) -> None:
        self._letters, self._row, self._moved = letters, row, moved

    def __getitem__(self, name: str) -> str:
        return self._moved.get(name) or f"{self._letters[name]}{self._row}"

    def __contains__(self, name: object) -> bool:
        return name in self._letters

    def __iter__(self) -> Iterator[str]:
        return iter(self._letters)

    def __len__(self) -> int:
        return len(self._letters)

    def __repr__(self) -> str:
        return repr(dict(self))

    @property
    def letters(self) -> Mapping[str, str]:
        """The column of each field, one mapping for all rows below a header."""
        return self._letters

    @property
    def in_row(self) -> bool:
        """Whether every field stands in the row itself."""
        return not self._moved


def letters_of(header: Header) -> Mapping[str, str]:
    """The column letters of each field that a header names."""
    return {name: column_letters(cell.column) for name, cell in header.cells.items()}


SCENARIOS: Final = Headings(COLUMNS, UNDECIDED, OTHER_THINGS, PRICED)


@cache
def column_letters(column: int) -> str:
    """A column's letters.

    >>> column_letters(1), column_letters(28)
    ('A', 'AB')
    """
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def find_header(grid: Grid, headings: Headings = SCENARIOS) -> Header | None:
    """The row, among the first ones, whose texts name the most fields."""
    best: Header | None = None
    for row in sorted(grid.rows)[:_ROWS_SEARCHED]:
        header = _read_header(grid, row, headings, suggest=False)
        # A header that is asked about counts as well, so that 'Weights (GB) | Bandwidth (GB/s)' is asked about.
        asked = sum(issue.severity is Severity.ERROR for issue in header.issues)
        if (
            header.cells
            and len(header.cells) + asked >= _FEWEST
            and (best is None or len(header.cells) > len(best.cells))
        ):
            best = header
    # Near misses are looked for in the one row that is read: it is slow work.
    return best and _read_header(grid, best.row, headings)


def known_headers(headings: Headings = SCENARIOS) -> Mapping[str, str]:
    """Every header that names a field of a kind of table."""
    return headings.known


def normalise(text: str) -> str:
    """A header as it is compared: lower case, marks as blanks, blanks as one.

    >>> normalise(" Bandwidth_per  device ")
    'bandwidth per device'
    """
    words = re.sub(r"[^\w%η]+|_", " ", _INVISIBLE.sub("", text).casefold()).split()
    return " ".join(SAME_WORD.get(word, word) for word in words)


def split_unit(text: str) -> tuple[str, str]:
    """A header and the unit in brackets behind it.

    >>> split_unit("Bandwidth per device (TB/s)")
    ('Bandwidth per device', 'TB/s')
    """
    match = re.fullmatch(r"(.*?)\s*[(\[]([^()\[\]]*)[)\]]\s*", text, re.DOTALL)
    return (match[1], match[2].strip()) if match else (text, "")


def _unit_behind(bare: str) -> tuple[str, str]:
    """A header and the unit that is its last word: 'Weights GB' and 'Bandwidth per device, GB/s' have no brackets."""
    words = bare.split()
    return (" ".join(words[:-1]), words[-1]) if len(words) > 1 and units.dimension_of(words[-1]) else (bare, "")


# Workbooks have the same headers again and again, and several sheets of a workbook do.
@lru_cache(maxsize=1024)
def _match(text: str, headings: Headings) -> tuple[str | None, str]:
    """The field that a header names, and the unit that it gives."""
    if text in headings.columns:
        return text, ""
    bare, unit = split_unit(text)
    if normalise(bare) in {"model size", "size"} and unit and {"params_b", "weights_gb"} <= set(headings.columns):
        # Its unit says which of the two sizes of a model it is.
        return ("params_b" if units.factor_to("billions", unit) is not None else "weights_gb"), unit
    if _undecided(text, headings):
        return None, ""
    known = headings.known
    name = known.get(normalise(bare)) or known.get(normalise(text))
    if name or unit:
        return name, unit
    if headings.priced and (named := currency_in(text))[0]:
        return headings.priced.get(normalise(named[1]).removeprefix("per ")), ""
    bare, unit = _unit_behind(bare)
    return (known.get(normalise(bare)), unit) if unit else (None, "")


def _undecided(text: str, headings: Headings) -> tuple[str, tuple[str, ...]] | None:
    """What a header, its unit aside, leaves open: whose figure it is (one device's or all devices'), or which size."""
    bare, _ = split_unit(text)
    return headings.undecided.get(normalise(bare)) or headings.undecided.get(normalise(_unit_behind(bare)[0]))


def _read_header(grid: Grid, row: int, headings: Headings, *, suggest: bool = True) -> Header:
    cells: dict[str, HeaderCell] = {}
    issues: list[Issue] = []
    unread: dict[int, str] = {}
    undecided: dict[int, tuple[str, ...]] = {}
    for column, cell in sorted(grid.rows[row].items()):
        if suggest and (cell.error or (cell.formula and cell.value is None)):
            issues.append(_unreadable(cell, grid, row, column))
        if not isinstance(cell.value, str) or not cell.value.strip() or cell.error:
            continue
        text = " ".join(cell.value.split())
        place: dict[str, Any] = {"sheet": grid.name, "cell": f"{column_letters(column)}{row}", "row": row}
        name, unit = _match(text, headings)
        if name is None:
            said = _unknown(text, place, headings, suggest=suggest)
            issues += said
            what, fields = _undecided(text, headings) or ("", ())
            if what in LEFT_OUT:
                undecided[column] = fields
            if not said:
                unread[column] = f"{echo(text)} ({place['cell']})"
            continue
        refused = {"severity": Severity.ERROR, "code": "header", "field": name} | place
        if name in cells:
            first = f"{column_letters(cells[name].column)}{row}"
            problem = f"{echo(text)} is a second column of {headings.columns[name].label}; the one at {first} is used"
            issues.append(Issue(problem=problem, accepted="one column of each kind", **refused))
        elif (factor := _header_factor(name, headings.columns[name], unit)) is None:
            problem = f"{echo(text)} is in {unit}, which is no unit of {headings.columns[name].label}"
            issues.append(Issue(problem=problem, accepted=headings.header_of(name), **refused))
        else:
            money = isinstance(headings.columns[name].rule, Money)
            cells[name] = HeaderCell(name, column, factor, currency_in(text)[0] if money else ())
    return Header(row, MappingProxyType(cells), tuple(issues), MappingProxyType(unread), MappingProxyType(undecided))


def header_again(grid: Grid, row: int, header: Header, headings: Headings = SCENARIOS) -> Header | None:
    """The header that a row further down is, where most of its texts name fields as a second table's do."""
    texts = [cell for cell in grid.rows[row].values() if isinstance(cell.value, str) and cell.value.strip()]
    needed = max(_FEWEST, len(header.cells) // 2, _MOSTLY * len(texts))
    # Few rows below a header hold as many texts, or as many that name a field.
    spare = len(texts) - needed
    if spare < 0:
        return None
    # Names, each one a text of its own, stand first as a rule: the others tell sooner.
    for cell in reversed(texts):
        spare -= not may_name(cell.value, headings)
        if spare < 0:
            return None
    found = _read_header(grid, row, headings, suggest=False)
    return found if len(found.cells) >= needed else None


@lru_cache(maxsize=4096)
def may_name(text: str, headings: Headings = SCENARIOS) -> bool:
    """Whether a text names a field; a column holds the same few texts over and over."""
    return _match(" ".join(text.split()), headings)[0] is not None


def with_units(grid: Grid, row: int, header: Header, headings: Headings = SCENARIOS) -> Header | None:
    """The header with the units that the row below it gives, where that row holds units and nothing else."""
    factors: dict[str, float] = {}
    for name, head in header.cells.items():
        cell = grid.rows[row].get(head.column)
        if cell is None or cell.value is None or cell.value == "":
            continue
        if not isinstance(cell.value, str):
            return None
        dimension = units.unit_of(name).dimension
        text = cell.value.strip().strip("()[]")
        factor = units.factor_to(dimension, text) if dimension else units.factor_to("count", text)
        if isinstance(headings.columns[name].rule, Ratio):
            factor = units.factor_to("ratio", text) and 1.0
        if factor is None:
            return None
        factors[name] = factor
    if not factors:
        return None
    cells = {name: replace(head, factor=factors.get(name, head.factor)) for name, head in header.cells.items()}
    return replace(header, cells=MappingProxyType(cells))


def _header_factor(name: str, column: Column, unit: str) -> float | None:
    """The factor that a header's unit means for the plain numbers below it, None where it is no unit of the field."""
    own = units.unit_of(name)
    if isinstance(column.rule, Money):
        # As planner heads such columns itself: (money/h).
        unit = currency_in(unit)[1].replace("money", "").strip()
    if not unit or not own.dimension or isinstance(column.rule, Ratio | Text):
        return 1.0
    return units.factor_to(own.dimension, unit)


def _unreadable(cell: Cell, grid: Grid, row: int, column: int) -> Issue:
    """What to say of a header that is an error, or a formula that was never worked out."""
    what = f"is {cell.value}, an error of the workbook" if cell.error else "is a formula without a stored value"
    return Issue(
        severity=Severity.WARNING,
        code="header",
        problem=f"The header {what}, so its column is not read",
        advice="Open the workbook in Excel and save it, or type the header",
        sheet=grid.name,
        cell=f"{column_letters(column)}{row}",
        row=row,
    )


@lru_cache(maxsize=1024)
def _nearest(plain: str, headings: Headings) -> str | None:
    """The field whose header is nearly this one; looking through all of them takes longer than reading a sheet."""
    close = difflib.get_close_matches(plain, headings.known, n=1, cutoff=_CLOSE_ENOUGH)
    return headings.known[close[0]] if close else None


def _cost_of(what: str) -> str:
    """What it costs that a column is not read."""
    if what in LEFT_OUT:
        return ", and rows that fill it are left out"
    return ": that of a named device counts" if what == "memory" else ""


def _unknown(text: str, place: dict[str, Any], headings: Headings, *, suggest: bool) -> list[Issue]:
    """What to say of a header that names no field: nothing, unless it nearly does."""
    if open_question := _undecided(text, headings):
        what, fields = open_question
        # Without a memory a row still runs, only without its fit mark.
        return [
            Issue(
                severity=Severity.WARNING if what == "memory" else Severity.ERROR,
                code="header",
                field=fields[0],
                problem=f"{echo(text)} may be {MAY_BE[what]}, so it is not read{_cost_of(what)}",
                accepted=" or ".join(headings.header_of(name) for name in fields),
                **place,
            )
        ]
    plain = normalise(split_unit(text)[0])
    if not suggest or plain in headings.others:
        return []
    name = _nearest(plain, headings)
    if name is None:
        return []
    return [
        Issue(
            severity=Severity.WARNING,
            code="header",
            field=name,
            problem=f"{echo(text)} is no column that planner knows, so it is not read",
            advice=f"Did you mean {headings.header_of(name)}?",
            **place,
        )
    ]
