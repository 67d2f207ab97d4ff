"""Which scenarios' rows are written alike: the same formulas but for their row numbers, the same looks.

What a row's formulas depend on is listed here as columns of small numbers, one a question: is a field there, was it
typed, in which way is a figure made. Rows with the same answers have the same shape.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner import catalog
from planner.headers import RowCells
from planner.plan.bulk import columns_of_results
from planner.plan.bulk_columns import NUMBERS, combined
from planner.plan.evaluate import BITS, TEXTS
from planner.plan.fill import FROM_EFFICIENCY, FROM_PARAMETERS
from planner.plan.recipes import RECIPES
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.plan.bulk_columns import Codes, Flags, Numbers, Words
    from planner.plan.study import Case, Origin, Study

# A shape of its own for each row that is written cell by cell.
NO_SHAPE: Final = -1
# Longer texts are cut within formulas; these characters are written otherwise there than in cells.
_LONGEST_LITERAL: Final = 255
_ODD: Final = re.compile("[\x00-\x1f\ue000-\uf8ff\ufffe\uffff]|_x[0-9a-fA-F]{4}_|^#")
_FOLLOWED: Final = {FROM_EFFICIENCY: "efficiency", FROM_PARAMETERS: "params_b"}
_SOURCES: Final = {TYPED: 1, DEFAULT: 2, FROM_EFFICIENCY: 3, FROM_PARAMETERS: 4}
_WORDS: Final = tuple(name for name in COLUMNS if name not in NUMBERS and name not in TEXTS)


class RowShapes:
    """The shapes of a study's rows, by the figures that a sheet leaves open: see :class:`RowSheet`."""

    def __init__(self, study: Study) -> None:
        self.cases = study.cases
        self.height = len(study.cases)
        self._columns: dict[int, tuple[tuple[str, str], ...]] = {}
        columns = study.columns or columns_of_results([case.result for case in study.cases])
        self.texts: dict[str, Words] = {name: columns.completed.columns[name] for name in (*TEXTS, *_WORDS)}
        self.inputs: dict[str, Numbers] = {name: columns.completed.columns[name] for name in NUMBERS}
        self.figures = columns.figures
        self._forms: dict[tuple[str, Callable[[str], str]], list[str]] = {}

    def said(self, name: str, form: Callable[[str], str]) -> list[str]:
        """A column of texts in another form, which several sheets share."""
        key = name, form
        if key not in self._forms:
            made = list(map(form, self.texts[name].words))
            self._forms[key] = [made[code] for code in self.texts[name].codes.tolist()]
        return self._forms[key]

    def amounts(self, name: str) -> list[float]:
        """The numbers that a column holds, each once."""
        column = self.figures[name] if name in self.figures else self.inputs[name]
        known: list[float] = np.unique(column[~np.isnan(column)]).tolist()
        return known

    @cached_property
    def known(self) -> dict[str, Any]:
        """All that figures are made from, as columns: what one row knows as ``known_of`` and its figures."""
        known: dict[str, Any] = dict(self.inputs)
        known |= {name: self.texts[name].texts() for name in _WORDS}
        known |= {bits: self.texts[name].map(catalog.precision_bits) for bits, name in BITS.items()}
        return known | dict(self.figures)

    def of(self, open_figures: Mapping[str, Mapping[str, float]]) -> Codes:
        """The shape of each row of a sheet, by number; ``NO_SHAPE`` for rows to be written cell by cell."""
        parts = [(self._base, int(self._base.max(initial=0)) + 1)]
        for name, given in open_figures.items():
            known = self.known | {field: np.full(self.height, number) for field, number in given.items()}
            parts.append((self._ways(name, known), len(RECIPES[name]) + 1))
        shapes = combined(parts, self.height)
        shapes[self._odd] = NO_SHAPE
        return shapes

    @cached_property
    def _base(self) -> Codes:
        return np.unique(combined(self._parts(), self.height), return_inverse=True)[1]

    def _parts(self) -> Iterator[tuple[Any, int]]:
        for column in (*self.inputs.values(), *self.figures.values()):
            yield np.isnan(column), 2
        for name in TEXTS:
            yield self.texts[name].codes == 0, 2
        # A currency says whether and how amounts are converted.
        for name in (*_WORDS, "currency"):
            yield self.texts[name].codes, len(self.texts[name].words)
        for name in RECIPES:
            yield self._ways(name, self.known), len(RECIPES[name]) + 1
        sources = self._sources
        for at in range(sources.shape[1]):
            yield sources[:, at], 6
        yield from self._follows()
        yield _codes([self._stands(case) for case in self.cases])

    @cached_property
    def _sources(self) -> Any:
        """Where each input of each row came from, as far as formulas ask: a row of numbers for each."""
        seen: dict[int, int] = {}
        rows: list[bytes] = []
        index = np.empty(self.height, np.int64)
        for at, case in enumerate(self.cases):
            sources = case.result.sources
            # Rows that were filled alike share their sources.
            if id(sources) not in seen:
                seen[id(sources)] = len(rows)
                rows.append(bytes(_SOURCES.get(sources[name], 5) if name in sources else 0 for name in COLUMNS))
            index[at] = seen[id(sources)]
        table = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), len(COLUMNS))
        return table[index]

    def _follows(self) -> Iterator[tuple[Any, int]]:
        """Whether an input that is just another's value still has that value."""
        for at, name in enumerate(COLUMNS):
            for source, other in _FOLLOWED.items():
                if name in self.inputs and (self._sources[:, at] == _SOURCES[source]).any():
                    yield self.inputs[name] == self.inputs[other], 2

    def _stands(self, case: Case) -> tuple[Any, ...]:
        """Which cells a row has and in which columns, which hold plain values, and how the others are made."""
        origin = case.origin
        if isinstance(origin.cells, RowCells):
            letters = origin.cells.letters
            columns = self._columns.get(id(letters)) or self._columns.setdefault(id(letters), tuple(letters.items()))
        else:
            columns = tuple((name, cell.rstrip(_DIGITS)) for name, cell in origin.cells.items())
        return (origin.sheet, columns, origin.plain, tuple(sorted(origin.links.items())) if origin.links else ())

    def _ways(self, figure: str, known: Mapping[str, Any]) -> Any:
        """The way in which each row's figure is made, from 1; 0 for none: what ``way_of`` finds for one."""
        found = np.zeros(self.height, np.int64)
        with np.errstate(all="ignore"):
            for number, way in enumerate(RECIPES[figure], 1):
                able = found == 0
                if way.when is not None:
                    able &= np.asarray(way.when(known), bool)
                for taken in way.taken:
                    if isinstance(taken, str):
                        able &= ~np.isnan(known[taken]) if taken in known else False
                found[able] = number
        return found

    @cached_property
    def _odd(self) -> Flags:
        """Rows that a pattern does not serve: figures without end, texts that formulas hold otherwise than cells."""
        odd = np.zeros(self.height, bool)
        for column in (*self.inputs.values(), *self.figures.values()):
            odd |= np.isinf(column)
        for name in TEXTS:
            strange = [len(text) > _LONGEST_LITERAL or bool(_ODD.search(text)) for text in self.texts[name].words]
            if any(strange):
                odd |= np.array(strange)[self.texts[name].codes]
        for at, case in enumerate(self.cases):
            # The cell of a merge may stand in another row.
            odd[at] |= not _in_row(case.origin)
        return odd


def _in_row(origin: Origin) -> bool:
    """Whether every cell of a scenario stands in its own row."""
    if isinstance(origin.cells, RowCells):
        return origin.cells.in_row
    row = str(origin.row)
    return all(cell.lstrip(_LETTERS) == row for cell in origin.cells.values())


_DIGITS: Final = "0123456789"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _codes(values: Sequence[Any]) -> tuple[Codes, int]:
    """Each value's number among those that occur."""
    index: dict[Any, int] = {}
    codes = np.fromiter((index.setdefault(value, len(index)) for value in values), np.int64, len(values))
    return codes, max(len(index), 1)
