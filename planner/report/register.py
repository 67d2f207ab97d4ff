"""The register of assumptions: what was typed with its cell, what was filled in with its source and confidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner import catalog
from planner.columns import Choice, PrecisionName, Text, as_percent
from planner.plan.fill import CATALOGUE, MEASURED
from planner.plan.limits import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import COLUMNS, CORE_COLUMNS, MONEY_COLUMNS
from planner.report.numbers import in_text
from planner.report.numbers import plain as thousands
from planner.report.parts import Cell, Head, Row, Table, cut, labels, say_input, sentence, without_empty
from planner.report.tables import INPUT_FIELDS, MOST_VALUES
from planner.units import S_PER_HOUR, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.plan.bulk_columns import Codes
    from planner.report.inputs import Inputs

_HEADS: Final = (
    Head("No."),
    Head("Assumption", text=4),
    Head("Value", text=3, end=True),
    Head("Unit", text=1),
    Head("Scenarios", text=3),
    Head("Cells", text=3),
    Head("Source", text=1),
)
_FIXED: Final = (
    ("Reading pace", f"{READING_PACE_TOKENS_PER_SEC:g}", "tok/s", "all", "", "planner"),
    ("Batch above which planner warns", f"{BATCH_WARNED_ABOVE}", "", "all", "", "planner"),
    ("Usable share where no KV cache is known", as_percent(USABLE_MEMORY_SHARE), "", "all", "", "planner"),
    ("One hour", f"{S_PER_HOUR:,}", "s", "all", "", "planner"),
    ("One GB", "1,000,000,000", "bytes", "all", "", "planner"),
)
_FEW_RANGES: Final = 4


def register_table(inputs: Inputs) -> Table:
    """Each typed or default input's values with the scenarios that take them, their cells, and which of the two."""
    lines: list[tuple[str, str, str, str, str, str]] = []
    for name in INPUT_FIELDS:
        if name not in MONEY_COLUMNS:
            lines += _values_of(name, inputs)
    lines += [(fixed[0], in_text(fixed[1]), *fixed[2:]) for fixed in _FIXED]
    rows = tuple(
        Row(
            (
                Cell(f"A{number:02d}", marks="tag"),
                Cell(label),
                Cell(value, marks="end"),
                *(Cell(text) for text in rest),
            )
        )
        for number, (label, value, *rest) in enumerate(lines, 1)
    )
    # Scenarios made in Python have no cells.
    return without_empty(Table(_HEADS, rows))


def _values_of(name: str, inputs: Inputs) -> Iterator[tuple[str, str, str, str, str, str]]:
    """One line for each value that an input takes; a single line with its range where there are many."""
    said = {at: kind.sources.get(name, "") for at, kind in enumerate(inputs.kinds) if kind.stands(name)}
    places = inputs.there(name, said)
    if not len(places):
        return
    sources = sorted(set(said.values()))
    source_of = np.array([sources.index(said.get(at, sources[0])) for at in range(len(inputs.kinds))])
    source = source_of[inputs.kind_of(places)]
    known, which = inputs.different(name, places)
    column, unit = COLUMNS[name], unit_of(name).symbol
    pairs, first, pair = np.unique(which * len(sources) + source, return_index=True, return_inverse=True)
    if len(pairs) <= MOST_VALUES:
        # In the order of the scenarios, whatever kind they are of.
        for at in np.argsort(first).tolist():
            value, from_where = known[pairs[at] // len(sources)], sources[pairs[at] % len(sources)]
            yield column.label, cut(say_input(name, value)), unit, *_whose(name, inputs, places[pair == at]), from_where
        return
    spread = "see the rows"
    if not isinstance(column.rule, Text | PrecisionName):
        spread = f"{say_input(name, min(known))} to {say_input(name, max(known))}"
    where = " or ".join(sources[at] for at in np.unique(source).tolist())
    said_of = f"{column.label}, {len(known)} different values"
    yield said_of, spread, unit, *_whose(name, inputs, places), where


def _whose(name: str, inputs: Inputs, places: Codes) -> tuple[str, str]:
    return labels(inputs.numbers[places].tolist(), _FEW_RANGES), inputs.cells(name, places, _FEW_RANGES)


# What was filled in

_FILLED_HEADS: Final = (
    Head("No."),
    Head("Filled in from", text=4),
    Head("Values", text=8),
    Head("Scenarios", text=2),
    Head("Confidence", text=5),
)
_MOST_SHOWN: Final = 3
_MOST_SOURCES: Final = 60


def filled_table(inputs: Inputs) -> Table:
    """Every value that was not typed, by where it comes from, with what speaks for it."""
    kinds: dict[str, dict[str, list[int]]] = {}
    for at, kind in enumerate(inputs.kinds):
        for name, source in kind.sources.items():
            if source in {TYPED, DEFAULT} or name in MONEY_COLUMNS or not (name in CORE_COLUMNS or kind.estimated):
                continue
            kinds.setdefault(source, {}).setdefault(name, []).append(at)
    found = {source: {name: _first_of(name, inputs, own) for name, own in of.items()} for source, of in kinds.items()}
    whose = {source: inputs.of_kinds(at for own in of.values() for at in own) for source, of in kinds.items()}
    order = {name: index for index, name in enumerate(COLUMNS)}
    rows = []
    for number, (source, fields) in enumerate(sorted(found.items(), key=_rank)[:_MOST_SOURCES], 1):
        said = "; ".join(_all_said(name, fields[name]) for name in sorted(fields, key=order.__getitem__))
        label, confidence = _confidence(source)
        rows.append(
            Row(
                (
                    Cell(f"F{number:02d}", marks="tag"),
                    Cell(label),
                    Cell(said),
                    Cell(labels(inputs.numbers[whose[source]].tolist())),
                    Cell(confidence),
                )
            )
        )
    return Table(_FILLED_HEADS, tuple(rows))


def _first_of(name: str, inputs: Inputs, kinds: Sequence[int]) -> list[Any]:
    """The different values that an input has in scenarios of some kinds, in the order in which they have them."""
    places = inputs.there(name, kinds)
    if not len(places):
        return []
    known, which = inputs.different(name, places)
    order = np.argsort(np.unique(which, return_index=True)[1]).tolist()
    return [known[at] for at in order]


def _rank(found: tuple[str, object]) -> tuple[int, str]:
    source = found[0]
    return (source.startswith(MEASURED) + 2 * (not source.startswith((CATALOGUE, MEASURED))), source)


def _all_said(name: str, values: Sequence[Any]) -> str:
    """An input with its values, the first few where there are many."""
    texts = [say_input(name, value) for value in values[:_MOST_SHOWN]]
    more = f" and {len(values) - _MOST_SHOWN} more" if len(values) > _MOST_SHOWN else ""
    unit = unit_of(name).symbol
    parted = ":" if isinstance(COLUMNS[name].rule, Choice) else ""
    return f"{COLUMNS[name].label}{parted} {' or '.join(texts)}{more}{f' {unit}' if unit else ''}"


_COUNTED: Final = re.compile(r"measured: (.+) \((\d+) rows?, (\d+) configurations?; (.+)\)")
# From so many configurations on a fit stands on its own.
_MANY: Final = 20
_SOME: Final = 5
_IN_WORDS: Final = {
    "vendor": "high: the vendor's datasheet",
    "agreed": "high: several sources agree",
    "exact": "high: the model's own files",
    "computed": "medium: computed from published figures",
    "derived": "medium: derived from related figures",
    "secondary": "low: a secondary source",
}


def _confidence(source: str) -> tuple[str, str]:
    """Where values come from in words, and how far they can be trusted."""
    if match := _COUNTED.fullmatch(source):
        where, rows, configurations, basis = match.groups()
        number = int(configurations)
        level = "low"
        if basis == "fitted":
            level = "high" if number >= _MANY else "medium" if number >= _SOME else "low"
        return (
            f"Public measurements: {where}",
            f"{level}: {basis}, {thousands(int(rows))} rows, {thousands(number)} configurations",
        )
    kind, _, name = source.partition(": ")
    if not name:
        return sentence(source), _PLAIN.get(source, "")
    plain = name.partition(", experts at ")[0]
    if kind != CATALOGUE:
        return f"Your sheet, {cut(name, 60)}", f"yours: {kind}"
    row = next(iter(catalog.devices_named(plain)), None) or next(iter(catalog.models_named(plain)), None)
    confidence = _IN_WORDS.get(row.confidence, row.confidence) if row else ""
    return f"Catalogue: {cut(name, 60)}", f"{confidence} ({row.source})" if row else ""


_PLAIN: Final = {
    "from the parameters": "medium: a fit through the catalogue's models, within a quarter of most",
    "the typed efficiency": "as typed",
}
