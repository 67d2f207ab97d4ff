"""Columns of many scenarios: numbers as arrays with NaN where nothing is, texts as codes of the few that occur.

A value is understood as in a single scenario. What is plainly a number within its column's limits is taken as it is,
all at once; the rest is read one by one, each distinct value once.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import MISSING, dataclass, fields
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.columns import LARGEST, SMALLEST, BadValueError, Number, Ratio, Text, Typed, is_tidy, read_value
from planner.issues import PlannerError
from planner.plan.scenario import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from planner.plan.scenario import Result, Scenario

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]

NUMBERS: Final = tuple(name for name, column in COLUMNS.items() if isinstance(column.rule, Number | Ratio))
TEXTS: Final = tuple(name for name in COLUMNS if name not in NUMBERS)
_OBJECTS: Final = np.dtype(object)
_PLAIN_TYPES: Final = frozenset({float, int, type(None)})


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: each row's number in the list of those that occur, in which the first is none at all."""

    codes: Codes
    words: list[str]

    @classmethod
    def of(cls, values: Iterable[Any]) -> Words:
        """The column of these texts; None is none at all."""
        values = list(values)
        words = ["", *(word for word in dict.fromkeys(values) if word not in {"", None})]
        index = {word: code for code, word in enumerate(words)} | {None: 0}
        return cls(np.fromiter(map(index.__getitem__, values), np.int64, len(values)), words)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    def map(self, function: Callable[[str], float]) -> Numbers:
        """The number of each row's text, NaN where there is none."""
        numbers = [np.nan, *(function(word) for word in self.words[1:])]
        return np.array(numbers, np.float64)[self.codes]

    def texts(self) -> NDArray[np.str_]:
        """The texts themselves, empty where there is none."""
        return np.array(self.words)[self.codes]

    def put(self, rows: Codes, word: str) -> None:
        """Write a text into some rows."""
        if word not in self.words:
            self.words.append(word)
        self.codes[rows] = self.words.index(word)


Column = Numbers | Words
_Object = TypeVar("_Object")
# As many objects as the processor's cache holds while their fields are filled.
_OBJECTS_AT_ONCE: Final = 512


@dataclass(frozen=True, slots=True)
class Read:
    """A column as read: its values, in which rows something stood, and in which it was refused."""

    values: Any
    given: Flags
    refused: Flags


def height_of(columns: Mapping[str, Any], known: Iterable[str] = COLUMNS) -> int:
    """How many rows columns have; a single value stands for as many as the others.

    Raises PlannerError where they differ or one is not known.
    """
    known = frozenset(known)
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise PlannerError(f"No column is called {', '.join(unknown)}; expected fields of Scenario.")
    heights = {name: len(values) for name, values in columns.items() if not _single(values)}
    if len(set(heights.values())) > 1:
        said = ", ".join(f"{name} has {height}" for name, height in heights.items())
        raise PlannerError(f"Columns differ in length: {said}; expected the same length or a single value.")
    return next(iter(heights.values()), 1)


def _single(values: Any) -> bool:
    return values is None or isinstance(values, str | int | float) or getattr(values, "ndim", 1) == 0


def numbers_of(values: Any, height: int) -> Numbers:
    """Numbers as a column, NaN for None; a single one for all rows."""
    return np.broadcast_to(np.asarray(values, np.float64), height)


def _listed_numbers(column: Numbers) -> list[Any]:
    """A column's numbers as a list, None for NaN."""
    missing = np.isnan(column)
    if not missing.any():
        whole: list[Any] = column.tolist()
        return whole
    numbers = column.astype(object)
    numbers[missing] = None
    listed: list[Any] = numbers.tolist()
    return listed


def words_of(values: Any, height: int) -> Words:
    """Texts as a column; a single one for all rows."""
    if isinstance(values, Words):
        return values
    if _single(values):
        one = Words.of([values])
        return Words(np.broadcast_to(one.codes, height), one.words)
    return Words.of(values.tolist() if isinstance(values, np.ndarray) else values)


def columns_of(each: Sequence[Scenario | Result], names: Iterable[str] = COLUMNS) -> dict[str, list[Any]]:
    """The columns of scenarios, or of results by the names of figures, each as a list."""
    return {name: list(map(attrgetter(name), each)) for name in names}


def listed(column: Column, blank: Any = None) -> list[Any]:
    """A column's values as a scenario or its result holds them, where nothing is as ``blank``."""
    if not isinstance(column, Words):
        return _listed_numbers(column)
    words = [blank, *column.words[1:]]
    return [words[code] for code in column.codes.tolist()]


def taken_from(column: Column, rows: Codes) -> Column:
    """Some rows of a column."""
    return Words(column.codes[rows], column.words) if isinstance(column, Words) else column[rows]


def objects_of(kind: type[_Object], columns: Mapping[str, Sequence[Any]], height: int) -> list[_Object]:
    """Many objects of a frozen dataclass with slots, its fields given as columns; a field without has its default.

    Filled field by field, not object by object: making a hundred thousand of a hundred fields takes a third of the
    time, since no argument is passed and nothing is looked up by name. ``__post_init__`` is not called. Raises
    ValueError where a column is not of this height, or a field has neither a column nor a default.

    >>> [word.codes for word in objects_of(Words, {"codes": [1, 2], "words": ["a", "b"]}, 2)]
    [1, 2]
    """
    short = [name for name, column in columns.items() if len(column) != height]
    lacking = [
        each.name
        for each in fields(kind)  # type: ignore[arg-type]
        if each.name not in columns and each.default is MISSING and each.default_factory is MISSING
    ]
    if short or lacking:
        raise ValueError(f"{kind.__name__}: {', '.join(short + lacking)} are not given for {height} objects.")
    found: list[_Object] = []
    given = [(getattr(kind, each.name).__set__, columns.get(each.name), each) for each in fields(kind)]  # type: ignore[arg-type]
    for start in range(0, height, _OBJECTS_AT_ONCE):
        made = [kind.__new__(kind) for _ in range(min(_OBJECTS_AT_ONCE, height - start))]
        for put, column, each in given:
            if column is not None:
                values: Any = column[start : start + _OBJECTS_AT_ONCE]
            elif each.default_factory is MISSING:
                values = repeat(each.default)
            else:
                values = [each.default_factory() for _ in made]
            # A queue that keeps nothing: the fastest way to call a function on each of many.
            deque(map(put, made, values), maxlen=0)
        found += made
    return found


def read_column(name: str, values: Any, height: int) -> Read:
    """A column of a scenario as typed, every value understood as in a single scenario."""
    if name in TEXTS:
        return _read_texts(name, words_of(values, height))
    if values is None:
        return Read(np.full(height, np.nan), np.zeros(height, bool), np.zeros(height, bool))
    if _single(values):
        values = [values]
    if getattr(values, "dtype", _OBJECTS).kind not in "iuf":
        values = values.tolist() if isinstance(values, np.ndarray) else list(values)
        kinds = set(map(type, values))
        if not kinds <= _PLAIN_TYPES or (int in kinds and not _are_floats(values)):
            return _read_each(name, values, height)
        values = values if kinds != {type(None)} else math.nan
    numbers = np.array(np.broadcast_to(np.asarray(values, np.float64), height))
    given = ~np.isnan(numbers)
    odd = np.flatnonzero(given & ~_plain(name, numbers))
    refused = np.zeros(height, bool)
    if len(odd):
        again = _read_each(name, numbers[odd].tolist(), len(odd))
        numbers[odd], refused[odd] = again.values, again.refused
    return Read(numbers, given, refused)


def _are_floats(values: list[Any]) -> bool:
    """Whether no whole number has more digits than any float."""
    try:
        np.asarray(values, np.float64)
    except OverflowError:
        return False
    return True


def _plain(name: str, numbers: Numbers) -> Flags:
    """Where a number is within its column's limits, so that reading it would give it back."""
    rule = COLUMNS[name].rule
    if isinstance(rule, Ratio):
        return (numbers >= SMALLEST) & (numbers <= 1)
    assert isinstance(rule, Number)
    size = np.abs(numbers)
    good: Flags = (numbers == 0) | ((size >= SMALLEST) & (size <= (rule.likely[1] if rule.likely else LARGEST)))
    if rule.above is not None:
        good &= numbers > rule.above
    if rule.least is not None:
        good &= numbers >= rule.least
    if rule.below is not None:
        good &= numbers < rule.below
    if rule.most is not None:
        good &= numbers <= rule.most
    if rule.whole:
        good &= np.floor(numbers) == numbers
    return good


def _understood(name: str, value: Any) -> Any:
    """A value as its column understands it, None where it is refused."""
    try:
        return read_value(name, COLUMNS[name], Typed(value)).value
    except BadValueError:
        return None


def _read_each(name: str, values: list[Any], height: int) -> Read:
    blank = list(map(_is_blank, values))
    seen: dict[tuple[type, Any], Any] = {}
    read = []
    for value, empty in zip(values, blank, strict=True):
        key = (type(value), value)
        if not empty and key not in seen:
            seen[key] = _understood(name, value)
        read.append(None if empty else seen[key])
    given = np.broadcast_to(~np.array(blank, bool), height)
    numbers = np.array(np.broadcast_to(np.array(read, np.float64), height))
    return Read(numbers, given, given & np.isnan(numbers))


def _read_texts(name: str, column: Words) -> Read:
    blank = np.array(list(map(_is_blank, column.words)))
    given = ~blank[column.codes]
    tidy = all(isinstance(word, str) and is_tidy(word) for word in column.words)
    if tidy and type(COLUMNS[name].rule) is Text:
        return Read(Words(np.array(column.codes), list(column.words)), given, np.zeros(len(given), bool))
    read = Words.of([None if _is_blank(word) else _understood(name, word) for word in column.words])
    understood = Words(read.codes[column.codes], read.words)
    return Read(understood, given, given & (understood.codes == 0))


_MOST_CODES: Final = 2**62


def combined(parts: Iterable[tuple[Any, int]], height: int) -> Codes:
    """One number for each row by its numbers in several columns, each given with how many kinds there are."""
    code, size = np.zeros(height, np.int64), 1
    for part, kinds in parts:
        if not len(part) or (part == part[0]).all():
            continue
        if size > _MOST_CODES // kinds:
            found, code = np.unique(code, return_inverse=True)
            size = len(found)
        code = code * kinds + part
        size *= kinds
    return code


def _is_blank(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
