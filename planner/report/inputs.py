"""The inputs of all scenarios together: which values a field has, in which rows, from where, in which cells.

Worked out over columns, so that a hundred thousand scenarios are told as fast as they are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.headers import RowCells
from planner.plan.basis import has_estimate
from planner.plan.bulk import columns_of_results
from planner.plan.bulk_columns import Words
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import CORE_COLUMNS
from planner.report.parts import CELL, ranges_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planner.plan.bulk_columns import Codes
    from planner.plan.study import Case, Study


@dataclass(frozen=True, slots=True)
class Kind:
    """Scenarios that were filled in alike, and whether anything beyond the core rests on their inputs."""

    sources: Mapping[str, str]
    estimated: bool

    def stands(self, name: str) -> bool:
        """Whether an input belongs among what was typed or is a default that the figures rest on."""
        source = self.sources.get(name, "")
        if source == DEFAULT and name not in CORE_COLUMNS:
            # What only an estimate or the memory takes is no assumption of a scenario that has neither.
            return self.estimated
        return source in {TYPED, DEFAULT, ""}


class Inputs:
    """The inputs of a study."""

    def __init__(self, study: Study) -> None:
        self.cases = study.cases
        self.numbers = np.fromiter((case.number for case in self.cases), np.int64, len(self.cases))
        columns = study.columns or columns_of_results([case.result for case in study.cases])
        self._columns = columns.completed.columns
        self.kinds: list[Kind] = []
        self._kind = np.fromiter(self._kinds(), np.int64, len(self.cases))
        self._letters: list[Mapping[str, str]] = []
        self._table = np.fromiter(self._tables(), np.int64, len(self.cases))
        self._rows = np.fromiter((case.origin.row for case in self.cases), np.int64, len(self.cases))
        self._of: dict[frozenset[int], Codes] = {}

    def _kinds(self) -> Iterator[int]:
        """The kind of each scenario: many share one record of their sources."""
        found: dict[tuple[int, bool], int] = {}
        for case in self.cases:
            key = id(case.result.sources), _is_estimated(case)
            if key not in found:
                found[key] = len(self.kinds)
                self.kinds.append(Kind(case.result.sources, key[1]))
            yield found[key]

    def _tables(self) -> Iterator[int]:
        """Below which header each scenario stands; -1 where its cells are its own."""
        found: dict[int, int] = {}
        for case in self.cases:
            cells = case.origin.cells
            if not (isinstance(cells, RowCells) and cells.in_row):
                yield -1
                continue
            if id(cells.letters) not in found:
                found[id(cells.letters)] = len(self._letters)
                self._letters.append(cells.letters)
            yield found[id(cells.letters)]

    def of_kinds(self, kinds: Iterable[int]) -> Codes:
        """The places of the scenarios of some kinds."""
        key = frozenset(kinds)
        if key not in self._of:
            chosen = np.zeros(len(self.kinds) + 1, bool)
            chosen[list(key)] = True
            self._of[key] = np.flatnonzero(chosen[self._kind])
        return self._of[key]

    def there(self, name: str, kinds: Iterable[int]) -> Codes:
        """The places of those among the scenarios of some kinds that have a value of an input."""
        places, column = self.of_kinds(kinds), self._columns[name]
        held = column.codes[places] > 0 if isinstance(column, Words) else ~np.isnan(column[places])
        return places if held.all() else places[held]

    def kind_of(self, places: Codes) -> Codes:
        """The kind of the scenario at each place."""
        kinds: Codes = self._kind[places]
        return kinds

    def different(self, name: str, places: Codes) -> tuple[list[Any], Codes]:
        """The different values that an input has at these places, and which of them it has at each."""
        column = self._columns[name]
        held = column.codes[places] if isinstance(column, Words) else column[places]
        if (held == held[0]).all():
            values, which = held[:1], np.zeros(len(places), np.int64)
        else:
            values, which = np.unique(held, return_inverse=True)
        return [column.words[code] for code in values] if isinstance(column, Words) else values.tolist(), which

    def cells(self, name: str, places: Codes, most: int) -> str:
        """The cells in which scenarios have an input, neighbours in a column as ranges."""
        # By column: the place of the first scenario that has a cell there, and the rows.
        found: dict[str, tuple[int, list[int]]] = {}
        tables = self._table[places]
        for at in np.unique(tables).tolist():
            below = places[tables == at]
            if at < 0:
                for place in below.tolist():
                    cell = self.cases[place].origin.cells.get(name, "")
                    if match := CELL.fullmatch(cell):
                        found.setdefault(match[1], (place, []))[1].append(int(match[2]))
            elif name in self._letters[at]:
                letters = self._letters[at][name]
                first, rows = found.get(letters, (int(below[0]), []))
                found[letters] = min(first, int(below[0])), rows + self._rows[below].tolist()
        ordered = sorted(found.items(), key=lambda column: column[1][0])
        return ranges_in({letters: rows for letters, (_, rows) in ordered}, most)


def _is_estimated(case: Case) -> bool:
    """Whether anything beyond the core rests on the case's inputs: an estimate, or its KV cache."""
    return has_estimate(case.result) or case.result.kv_cache_gb is not None
