"""The parts that a report is made of, as ready texts and numbers; and how texts are cut, counted and listed."""

from __future__ import annotations

import dataclasses
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner import columns
from planner.columns import Choice, Ratio
from planner.headers import RowCells
from planner.plan.scenario import COLUMNS, FIGURES
from planner.report.numbers import localised, percent_of, plain, shown
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.plan.study import Case

LONGEST_IN_TABLE: Final = 64
LONGEST_TITLE: Final = 320
MOST_RANGES: Final = 6
CELL: Final = re.compile(r"([A-Z]+)(\d+)")

_JOINERS: Final = "\u200d\ufe0f\ufe0e"
_LEFT_OUT: Final = frozenset({"Cc", "Cs"})
_NONCHARACTER: Final = 0xFFFE


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: its label and unit. ``text`` is its share of the room left to texts, 0 for figures.

    ``end`` sets a column of texts to the right, as figures are.
    """

    label: str
    unit: str = ""
    text: int = 0
    end: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, a short tag set before it, and its marks as class names."""

    text: str
    tag: str = ""
    marks: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of cells, with its marks as class names."""

    cells: tuple[Cell, ...]
    marks: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A head over several columns."""

    label: str
    span: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table: heads, rows, groups of columns, and the shares of the width that its texts need."""

    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    groups: tuple[Group, ...] = ()
    note: str = ""
    title: str = ""

    @property
    def is_short(self) -> bool:
        """Whether a page holds it whole, so that no row of it need stand alone on the next: few rows of figures."""
        return len(self.rows) <= _SHORT_TABLE and sum(bool(head.text) for head in self.heads) <= _FEW_TEXTS

    @property
    def density(self) -> str:
        """The size of its letters, by how much stands in a row: '' or dense or tight."""
        return self._fit()[0]

    @property
    def widths(self) -> tuple[float, ...]:
        """Each column's share of the width, in percent."""
        return self._fit()[1]

    def _fit(self) -> tuple[str, tuple[float, ...]]:
        tried = [(density, self._shares(char)) for density, char in _DENSITIES]
        density, widths = next((pair for pair in tried if sum(pair[1]) <= _ROOM), tried[-1])
        total = sum(widths)
        shares = sum(head.text for head in self.heads)
        spare = max(_ROOM - total, 0.0)
        wide = [
            width + (spare * head.text / shares if shares else spare / len(widths))
            for width, head in zip(widths, self.heads, strict=True)
        ]
        return density, tuple(round(100 * width / sum(wide), 2) for width in wide)

    def _shares(self, char: float) -> tuple[float, ...]:
        """The least width of each column in millimetres: figures whole, texts their words and some room."""
        return tuple(
            max(_LEAST_TEXT * head.text, _PADDING + char * self._longest_word(index, head))
            if head.text
            else _PADDING + char * self._chars(index, head)
            for index, head in enumerate(self.heads)
        )

    def _longest_word(self, index: int, head: Head) -> float:
        words = (word for row in self.rows for word in re.split(r"[ -]", row.cells[index].text))
        longest = max(map(width_of, words), default=0.0)
        return min(max(longest, *map(_head_width, head.label.split())), _LONGEST_WORD)

    def _chars(self, index: int, head: Head) -> float:
        words = re.split(r"[ -]", f"{head.label} {head.unit}".strip())
        # Head words are set smaller than figures.
        return max(
            *(_head_width(word) for word in words),
            *(width_of(row.cells[index].text) for row in self.rows),
            _FEWEST_CHARS,
        )


_SHORT_TABLE: Final = 14
_FEW_TEXTS: Final = 2
# Millimetres: the narrower paper's text width, a cell's padding, the least width of a share of text.
_ROOM: Final = 174.0
_PADDING: Final = 2.6
_LEAST_TEXT: Final = 8.0
_DENSITIES: Final = (("", 1.75), ("dense", 1.53), ("tight", 1.32), ("tiny", 1.1))
_HEAD_SCALE: Final = 0.92
_LONGEST_WORD: Final = 10
_FEWEST_CHARS: Final = 3


def _head_width(word: str) -> float:
    """A head's word in letters of a figure: m and w are half as wide again, and all are set smaller."""
    return (width_of(word) + sum(c in "mwMW" for c in word) / 2) * _HEAD_SCALE


def without_empty(table: Table) -> Table:
    """A table without the columns of texts in which nothing stands."""
    kept = [
        index for index, head in enumerate(table.heads) if not head.text or any(r.cells[index].text for r in table.rows)
    ]
    return dataclasses.replace(
        table,
        heads=tuple(table.heads[index] for index in kept),
        rows=tuple(Row(tuple(row.cells[index] for index in kept), row.marks) for row in table.rows),
    )


def say(name: str, value: Any) -> str:
    """A figure as every surface shows it, with its column's digits.

    >>> say("response_time_s", 24.805)
    '24.81'
    """
    return shown(name, FIGURES[name], value)


def say_input(name: str, value: Any) -> str:
    """An input with the digits it was given with, so that a reader can compute from it.

    Blanks and control characters that no page can hold are left out.

    >>> say_input("efficiency", 0.855), say_input("weights_gb", 4.918), say_input("device_bandwidth_gb_s", 3350.0)
    ('85.5%', '4.918', '3,350')
    """
    if isinstance(value, int | float):
        ratio = isinstance(COLUMNS[name].rule, Ratio)
        return percent_of(_digits(value * 100)) if ratio else digits(value)
    rule = COLUMNS[name].rule
    if isinstance(rule, Choice):
        return dict(rule.words).get(value, tidy(value))
    return tidy(shown(name, COLUMNS[name], value))


def digits(value: float) -> str:
    """A number to seven significant digits, or more where it is a whole one, without an exponent.

    >>> digits(20.3392857), digits(140.0), digits(12345678.9), digits(12345678.0)
    ('20.33929', '140', '12,345,679', '12,345,678')
    """
    return localised(_digits(value))


def _digits(value: float) -> str:
    if not value or not math.isfinite(value):
        return f"{value:g}"
    places = max(_SIGNIFICANT - 1 - math.floor(math.log10(abs(value))), 0)
    text = columns.rounded(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


def says_all(name: str, value: float) -> bool:
    """Whether a figure as it is shown is all of it, to seven significant digits."""
    short = columns.shown(name, FIGURES[name], value)
    return (short.rstrip("0").rstrip(".") if "." in short else short) == _digits(value)


_SIGNIFICANT: Final = 7


def with_unit(name: str, value: Any) -> str:
    """A figure with its unit.

    >>> with_unit("tokens_per_sec", 20.339286)
    '20.34 tok/s'
    """
    return f"{say(name, value)} {unit_of(name).symbol}".strip()


def tidy(text: object) -> str:
    """A text on one line, without characters that no page can hold (controls, lone surrogates, direction overrides).

    >>> tidy(chr(0) + " a  b" + chr(10) + "c ")
    'a b c'
    """
    kept = (c if _printable(c) else " " for c in str(text))
    return _BLANKS.sub(" ", "".join(kept)).strip()


# Blanks that do not break stay: they hold the groups of a number together.
_BLANKS: Final = re.compile(r"[^\S\u00a0]+")


def _printable(char: str) -> bool:
    category = unicodedata.category(char)
    if category in _LEFT_OUT or ord(char) & _NONCHARACTER == _NONCHARACTER:
        return False
    return category != "Cf" or char in _JOINERS


def cut(text: object, most: float = LONGEST_IN_TABLE) -> str:
    """A text on one line, cut with an ellipsis where it is wider than so many letters; wide letters count as two.

    >>> cut("a very long name", 8)
    'a very…'
    """
    text = tidy(text)
    if width_of(text) <= most:
        return text
    kept, room = "", most - 1
    for char in text:
        room -= width_of(char)
        if room < 0:
            break
        kept += char
    return kept.rstrip(_JOINERS + " ") + "…"


def width_of(text: str) -> float:
    """How many letters' room a text takes: wide letters and emoji take two, joined marks none."""
    return sum(_width(char) for char in text)


def _width(char: str) -> float:
    if unicodedata.combining(char) or char in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" or ord(char) >= _PICTURES else 1


_PICTURES: Final = 0x1F000
_WORDS: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip


def in_words(number: int) -> str:
    """A count as a text says it: words to twelve, figures above.

    >>> in_words(3), in_words(40)
    ('three', '40')
    """
    return _WORDS[number] if 0 <= number < len(_WORDS) else plain(number)


def count(number: int, one: str, many: str = "") -> str:
    """A count with its noun.

    >>> count(1, "scenario"), count(2, "scenario"), count(0, "warning")
    ('one scenario', 'two scenarios', 'no warnings')
    """
    return f"{in_words(number)} {one if number == 1 else many or one + 's'}"


def sentence(text: str) -> str:
    """A text with a capital first letter."""
    return text[:1].upper() + text[1:]


def listed(items: Sequence[str], last: str = "and") -> str:
    """Items in a sentence.

    >>> listed(["S01", "S02", "S03"])
    'S01, S02 and S03'
    """
    return f"{', '.join(items[:-1])} {last} {items[-1]}" if len(items) > 1 else "".join(items)


def labels(numbers: Iterable[int], most: int = MOST_RANGES) -> str:
    """Scenarios by their labels, neighbours as ranges.

    >>> labels([1, 2, 3, 7])
    'S01\u2013S03, S07'
    """
    runs, left = _runs(numbers, most)
    return _shortened([_range(f"S{a:02d}", f"S{b:02d}", a, b) for a, b in runs], left)


def cell_ranges(cells: Iterable[str], most: int = MOST_RANGES) -> str:
    """Cells of one sheet, neighbours in a column as ranges.

    >>> cell_ranges(["K7", "K5", "K6", "L9"])
    'K5:K7, L9'
    """
    columns: dict[str, list[int]] = {}
    for cell in cells:
        _add_place(columns, cell)
    return ranges_in(columns, most)


def cells_of(cases: Iterable[Case], name: str, most: int = MOST_RANGES) -> str:
    """The cells in which scenarios have a field, neighbours in a column as ranges."""
    columns: dict[str, list[int]] = {}
    letters: Mapping[str, str] = {}
    rows: list[int] = []
    for case in cases:
        cells = case.origin.cells
        if isinstance(cells, RowCells) and cells.in_row:
            # Of a hundred thousand rows not even the cells' names are made; those below a header share its letters.
            if cells.letters is not letters:
                letters = cells.letters
                rows = columns.setdefault(letters[name], []) if name in letters else []
            rows.append(case.origin.row)
        elif name in cells:
            _add_place(columns, cells[name])
    return ranges_in(columns, most)


def _add_place(columns: dict[str, list[int]], cell: str) -> None:
    if match := CELL.fullmatch(cell):
        columns.setdefault(match[1], []).append(int(match[2]))


def ranges_in(columns: Mapping[str, list[int]], most: int) -> str:
    """The cells of columns, neighbours as ranges."""
    texts: list[str] = []
    left = 0
    for letters, rows in columns.items():
        runs, more = _runs(rows, most - len(texts))
        texts += [f"{letters}{a}" if a == b else f"{letters}{a}:{letters}{b}" for a, b in runs]
        left += more
    return _shortened(texts, left)


def _shortened(texts: Sequence[str], left: int) -> str:
    return ", ".join(texts) + (f" and {left} more" if left else "")


def _range(first: str, last: str, a: int, b: int) -> str:
    if a == b:
        return first
    return f"{first}, {last}" if b == a + 1 else f"{first}\u2013{last}"


def _runs(numbers: Iterable[int], most: int) -> tuple[list[tuple[int, int]], int]:
    """The first runs of neighbours, and how many numbers come after them."""
    ordered = np.sort(np.fromiter(numbers, np.int64))
    if not len(ordered):
        return [], 0
    # Sorting what is nearly sorted is faster than counting what is different.
    ordered = ordered[np.concatenate(([True], np.diff(ordered) > 0))]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(ordered) != 1) + 1, [len(ordered)]))
    kept = starts[: max(most, 0) + 1]
    runs = zip(ordered[kept[:-1]].tolist(), ordered[kept[1:] - 1].tolist(), strict=True)
    return list(runs), len(ordered) - int(kept[-1])
