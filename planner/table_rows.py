"""A row below a header: what its cells mean, what is wrong with them, and where they stand."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planner.cells import is_blank, place_of, understand
from planner.columns import BadValueError, Understood
from planner.currencies import settled
from planner.headers import RowCells, letters_of
from planner.issues import Issue, Severity
from planner.plan.scenario import COLUMNS, header_of
from planner.plan.study import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.headers import Cell, Grid, Header, HeaderCell

_FEWEST_WORDS: Final = 3
_LABELS_ONLY: Final = frozenset({"name", "model", "notes"})
_NONE_MOVED: Final[Mapping[str, str]] = MappingProxyType({})
_NO_LINKS: Final[Mapping[str, str]] = MappingProxyType({})


class _Meaning(NamedTuple):
    """What a cell means below its header: nothing, a value, or why it is refused.

    ``simple`` is a value that needs no second look: no note, no link, no currency, of this very cell.
    """

    cell: Cell
    simple: bool = False
    value: Any = None
    understood: Understood | None = None
    refused: BadValueError | None = None


class _Below:
    """The cells below a header, each distinct one understood once: a column holds the same few over and over."""

    __slots__ = ("at", "bit", "head", "known", "name")

    def __init__(self, name: str, head: HeaderCell, bit: int) -> None:
        self.name, self.head, self.at, self.bit = name, head, head.column, bit
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
            return _Meaning(cell, refused=bad)
        simple = found.plain and not (found.note or found.link or found.currencies or cell.at)
        return _Meaning(cell, simple, found.value, found)


class Reading:
    """A header's columns in a grid, and what the cells below them mean."""

    def __init__(self, grid: Grid, header: Header) -> None:
        self.grid, self.header = grid, header
        self.letters = letters_of(header)
        self.below = [_Below(name, head, 1 << at) for at, (name, head) in enumerate(header.cells.items())]
        self.first = min((cell.column for cell in header.cells.values()), default=1)
        # Rows that are filled alike share what is said of their cells: a hundred thousand of them take much memory.
        self._plain: dict[int, frozenset[str]] = {}
        self._links: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def plain(self, bits: int) -> frozenset[str]:
        """The fields of which a row's cells hold the plain value, by their bits."""
        if bits not in self._plain:
            self._plain[bits] = frozenset(below.name for below in self.below if below.bit & bits)
        return self._plain[bits]

    def links(self, links: dict[str, str]) -> Mapping[str, str]:
        """The same mapping for the same links."""
        key = tuple(links.items())
        return self._links.get(key) or self._links.setdefault(key, MappingProxyType(links))


class Row:
    """A row: the values as understood, the fields that were refused, and the issues of its cells."""

    __slots__ = ("blank", "foreign", "heading", "issues", "origin", "reading", "refused", "row", "values")

    def __init__(self, reading: Reading, row: int) -> None:
        self.reading, self.row = reading, row
        self.values: dict[str, Any] = {}
        self.refused: set[str] = set()
        self.issues: list[Issue] = []
        cells = reading.grid.rows[row]
        plain, odd = 0, []
        for below in reading.below:
            cell = cells.get(below.at)
            if cell is not None:
                meaning = below.known.get(id(cell)) or below.learn(cell)
                if meaning.simple:
                    self.values[below.name] = meaning.value
                    plain |= below.bit
                else:
                    odd.append((below, meaning))
        links, moved = _NO_LINKS, _NONE_MOVED
        if odd:
            further, links, moved = self._take(odd)
            plain |= further
        self._judge(cells)
        self.values.setdefault("name", f"Row {row}")
        places = RowCells(reading.letters, row, moved)
        self.origin = Origin(reading.grid.name, row, places, reading.plain(plain), links)

    def _take(self, odd: list[tuple[_Below, _Meaning]]) -> tuple[int, Mapping[str, str], Mapping[str, str]]:
        """Take cells that need a second look: which of them hold plain values, what they link to, where they are."""
        plain = 0
        links: dict[str, str] = {}
        shown: dict[str, tuple[str, ...]] = {}
        for below, meaning in odd:
            name, found, bad = below.name, meaning.understood, meaning.refused
            if bad:
                self.refused.add(name)
                self.issues.append(self.said(name, Severity.ERROR, bad.code, bad.problem, bad.accepted))
            elif found:
                self.values[name] = found.value
                plain |= below.bit if found.plain else 0
                if found.note:
                    self.issues.append(self.said(name, Severity.NOTE, "read-as", found.note))
                if found.link:
                    links[name] = found.link
                if found.currencies:
                    shown[name] = found.currencies
        if shown:
            self._take_currency(shown)
        moved = {below.name: meaning.cell.at for below, meaning in odd if meaning.cell.at}
        return plain, self.reading.links(links), moved or _NONE_MOVED

    def _judge(self, cells: Mapping[int, Cell]) -> None:
        """Whether the row is one of a scenario, or blank, a heading, or the head of another table."""
        self.blank = self.heading = self.foreign = False
        if len(self.values) > len(_LABELS_ONLY):
            # As nearly every row has more than its labels.
            return
        self.blank = not self.values and not self.refused
        labels = set(self.values) <= _LABELS_ONLY
        self.heading = labels and not self.blank and not self.refused
        if self.heading:
            problem = f"The row holds only {' and '.join(COLUMNS[name].label.lower() for name in self.values)}"
            self.issues = [self.said("name", Severity.NOTE, "heading", problem + ", so it is read as a heading")]
        # Words where several figures should be, and no figure anywhere, are the headers of something else.
        words = [n for n in self.refused if _is_words(cells.get(self.reading.header.cells[n].column))]
        self.foreign = labels and len(words) >= _FEWEST_WORDS and len(words) == len(self.refused)

    def _take_currency(self, shown: Mapping[str, tuple[str, ...]]) -> None:
        """The row's one currency: typed, else what stands beside its prices; two of them are asked about."""
        if "currency" in self.refused:
            return
        possible: tuple[str, ...] = (self.values["currency"],) if "currency" in self.values else ()
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
            self.values["currency"] = possible[0]

    def _refuse(self, name: str, problem: str, wanted: str) -> None:
        # What the amount is worth is not known, so that nothing more can be said of it.
        del self.values[name]
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


def _one_of(codes: tuple[str, ...]) -> str:
    """Currencies as a message names them: a dollar sign is the US one's unless another is meant."""
    return settled(codes) or " or ".join(codes)


def _is_words(cell: Cell | None) -> bool:
    return cell is not None and isinstance(cell.value, str) and not any(c.isdigit() for c in cell.value)
