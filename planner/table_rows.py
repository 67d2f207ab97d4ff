"""A row below a header: what its cells mean, what is wrong with them, and where they stand."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planner.cells import is_blank, place_of, understand
from planner.columns import BadValueError, Text, Understood
from planner.currencies import settled
from planner.headers import Cell, RowCells, letters_of
from planner.issues import Issue, Severity
from planner.plan.scenario import COLUMNS, header_of
from planner.plan.study import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.headers import Grid, Header, HeaderCell

_FEWEST_WORDS: Final = 3
_LABELS_ONLY: Final = frozenset({"name", "model", "notes"})
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class _Meaning(NamedTuple):
    """What a cell means below its header: nothing, a value, or why it is refused.

    ``simple`` is a value that needs no second look: no note, no link, no currency, of this very cell.
    """

    cell: Cell
    simple: bool = False
    value: Any = None
    understood: Understood | None = None
    refused: BadValueError | None = None


_is_simple: Final = attrgetter("simple")
# What a row holds where it has no cell.
_NOTHING: Final = _Meaning(Cell(None))


class _Below:
    """The cells below a header, each distinct one understood once: a column holds the same few over and over."""

    __slots__ = ("head", "known", "name")

    def __init__(self, name: str, head: HeaderCell) -> None:
        self.name, self.head = name, head
        # By identity, each with its cell, so that no other one takes its place in memory.
        self.known: dict[int, _Meaning] = {}

    def learn(self, cell: Cell) -> _Meaning:
        """What a cell means that was not met before."""
        self.known[id(cell)] = found = self._meaning(cell)
        return found

    def _meaning(self, cell: Cell) -> _Meaning:
        if is_blank(cell):
            return _Meaning(cell)
        try:
            found = understand(self.name, COLUMNS[self.name], cell, self.head)
        except BadValueError as bad:
            # The frames that it was raised in would be kept with it.
            return _Meaning(cell, refused=bad.with_traceback(None))
        simple = found.plain and not (found.note or found.link or found.currencies or cell.at)
        return _Meaning(cell, simple, found.value, found)


class Reading:
    """A header's columns in a grid, and what the cells below them mean."""

    def __init__(self, grid: Grid, header: Header) -> None:
        self.grid, self.header = grid, header
        self.letters = letters_of(header)
        self.below = [_Below(name, head) for name, head in header.cells.items()]
        # What every cell asks for stands ready: there may be millions.
        self.cells = [(below.head.column, below.known, below.learn) for below in self.below]
        # The fields in the order of a row's values; a row has a name and a currency without columns for them.
        self.names = [*header.cells, *(name for name in ("name", "currency") if name not in header.cells)]
        self.place = {name: at for at, name in enumerate(self.names)}
        # The places of free texts, the last one first.
        texts = (at for at, name in enumerate(header.cells) if name != "name" and type(COLUMNS[name].rule) is Text)
        self.texts = tuple(texts)[::-1]
        self.first = min((cell.column for cell in header.cells.values()), default=1)
        self.full = frozenset(header.cells)
        # Rows that are filled alike share what is said of their cells: a hundred thousand of them take much memory.
        self._plain: dict[frozenset[str], frozenset[str]] = {}
        self._links: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def plain(self, names: frozenset[str]) -> frozenset[str]:
        """The same set for the same fields."""
        return self._plain.setdefault(names, names)

    def links(self, links: dict[str, str]) -> Mapping[str, str]:
        """The same mapping for the same links."""
        key = tuple(links.items())
        return self._links.get(key) or self._links.setdefault(key, MappingProxyType(links))


class Row:
    """A row: the values as understood, the fields that were refused, and the issues of its cells.

    ``line`` are the values in the order of the reading's names, None where nothing stands.
    """

    __slots__ = ("blank", "foreign", "heading", "issues", "line", "origin", "reading", "refused", "row")

    def __init__(self, reading: Reading, row: int) -> None:
        self.reading, self.row = reading, row
        self.refused: set[str] = set()
        self.issues: list[Issue] = []
        cells = reading.grid.rows[row]
        get = cells.get
        meanings = [
            _NOTHING if (cell := get(at)) is None else known.get(id(cell)) or learn(cell)
            for at, known, learn in reading.cells
        ]
        self.line: list[Any] = [meaning.value for meaning in meanings]
        self.line += [None] * (len(reading.names) - len(meanings))
        plain, links, moved = reading.full, _NONE, _NONE
        if not all(map(_is_simple, meanings)):
            plain, links, moved = self._take(meanings)
        self._judge(cells)
        if reading.header.undecided:
            self._refuse_undecided(cells)
        name = reading.place["name"]
        if self.line[name] is None:
            self.line[name] = f"Row {row}"
        self.origin = Origin(reading.grid.name, row, RowCells(reading.letters, row, moved), plain, links)

    @property
    def name(self) -> str:
        """The row's name; its number where it has none."""
        name: str = self.line[self.reading.place["name"]]
        return name

    @property
    def has_figures(self) -> bool:
        """Whether it holds a number, and nothing that was refused."""
        return not self.refused and float in map(type, self.line)

    @property
    def last_text(self) -> str:
        """The last free text of its cells but its name, which differs from row to row; empty where there is none."""
        return next((self.line[at] for at in self.reading.texts if self.line[at]), "")

    @property
    def values(self) -> dict[str, Any]:
        """The values of the fields that have one."""
        pairs = zip(self.reading.names, self.line, strict=True)
        return {name: value for name, value in pairs if value is not None}

    def _take(self, meanings: list[_Meaning]) -> tuple[frozenset[str], Mapping[str, str], Mapping[str, str]]:
        """Take cells that need a second look: which of them hold plain values, what they link to, where they are."""
        plain: set[str] = set()
        links: dict[str, str] = {}
        shown: dict[str, tuple[str, ...]] = {}
        moved: dict[str, str] = {}
        for below, meaning in zip(self.reading.below, meanings, strict=True):
            name, found, bad = below.name, meaning.understood, meaning.refused
            if meaning.cell.at:
                moved[name] = meaning.cell.at
            if bad:
                self.refused.add(name)
                self.issues.append(self.said(name, Severity.ERROR, bad.code, bad.problem, bad.accepted))
            elif found:
                if found.plain:
                    plain.add(name)
                if found.note:
                    self.issues.append(self.said(name, Severity.NOTE, "read-as", found.note))
                if found.link:
                    links[name] = found.link
                if found.currencies:
                    shown[name] = found.currencies
        if shown:
            self._take_currency(shown)
        return self.reading.plain(frozenset(plain)), self.reading.links(links), moved or _NONE

    def _judge(self, cells: Mapping[int, Cell]) -> None:
        """Whether the row is one of a scenario, or blank, a heading, or the head of another table."""
        self.blank = self.heading = self.foreign = False
        if len(self.line) - self.line.count(None) > len(_LABELS_ONLY):
            # As nearly every row has more than its labels.
            return
        values = self.values
        self.blank = not values and not self.refused
        labels = set(values) <= _LABELS_ONLY
        self.heading = labels and not self.blank and not self.refused
        if self.heading:
            problem = f"The row holds only {' and '.join(COLUMNS[name].label.lower() for name in values)}"
            self.issues = [self.said("name", Severity.NOTE, "heading", problem + ", so it is read as a heading")]
        # Words where several figures should be, and no figure anywhere, are the headers of something else.
        words = [n for n in self.refused if _is_words(cells.get(self.reading.header.cells[n].column))]
        self.foreign = labels and len(words) >= _FEWEST_WORDS and len(words) == len(self.refused)

    def _refuse_undecided(self, cells: Mapping[int, Cell]) -> None:
        """Refuse what stands in a column that may be several fields, where none of them is told otherwise.

        Else what the row names would be filled with known figures in place of the typed one.
        """
        for column, fields in self.reading.header.undecided.items():
            places = [self.reading.place[name] for name in fields if name in self.reading.place]
            if not is_blank(cells.get(column)) and all(self.line[at] is None for at in places):
                self.refused.add(fields[0])

    def _take_currency(self, shown: Mapping[str, tuple[str, ...]]) -> None:
        """The row's one currency: typed, else what stands beside its prices; two of them are asked about."""
        if "currency" in self.refused:
            return
        typed = self.line[self.reading.place["currency"]]
        possible: tuple[str, ...] = () if typed is None else (typed,)
        said = f"{COLUMNS['currency'].label} is {possible[0]}" if possible else ""
        for name, codes in shown.items():
            both = tuple(code for code in codes if code in possible) if possible else codes
            label = COLUMNS[name].label
            if not both:
                problem = f"{label} is shown in {_one_of(codes)}, but {said}"
                self._refuse(name, problem, "one currency a row")
                continue
            possible, said = both, said or f"{label} in {_one_of(both)}"
        if possible and not settled(possible):
            # A yen and a yuan share a sign, and differ by a factor of twenty.
            first = next(iter(shown))
            problem = f"{COLUMNS[first].label} is in {' or '.join(possible)}: they share a sign"
            self._refuse(first, problem, f"the currency's code in a column {header_of('currency')}")
        elif possible:
            self.line[self.reading.place["currency"]] = possible[0]

    def _refuse(self, name: str, problem: str, wanted: str) -> None:
        # What the amount is worth is not known, so that nothing more can be said of it.
        self.line[self.reading.place[name]] = None
        self.refused.add(name)
        self.issues.append(self.said(name, Severity.ERROR, "currency", problem, wanted))

    def said(self, name: str, severity: Severity, code: str, problem: str, accepted: str = "") -> Issue:
        """An issue at a field's cell of this row."""
        head = self.reading.header.cells.get(name)
        return Issue(
            severity=severity,
            code=code,
            field=name,
            problem=problem,
            accepted=accepted,
            sheet=self.reading.grid.name,
            cell=place_of(self.reading.grid, self.row, head.column if head else self.reading.first),
            row=self.row,
        )


def columns_of(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """The values of rows as columns, by field; rows below different headers have not the same fields."""
    tables = [(reading, [row.line for row in below]) for reading, below in groupby(rows, attrgetter("reading"))]
    found: dict[str, list[Any]] = {name: [] for reading, _ in tables for name in reading.names}
    for reading, lines in tables:
        columns = dict(zip(reading.names, zip(*lines, strict=True), strict=True))
        for name in found:
            found[name] += columns.get(name) or [None] * len(lines)
    return found


def _one_of(codes: tuple[str, ...]) -> str:
    """Currencies as a message names them: a dollar sign is the US one's unless another is meant."""
    return settled(codes) or " or ".join(codes)


def _is_words(cell: Cell | None) -> bool:
    return cell is not None and isinstance(cell.value, str) and not any(c.isdigit() for c in cell.value)
