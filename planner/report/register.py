"""The register of assumptions: what was typed with its cell, what was filled in with its source and confidence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.columns import Choice, PrecisionName, Text, as_percent
from planner.plan.basis import has_estimate
from planner.plan.fill import CATALOGUE, MEASURED
from planner.plan.limits import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import COLUMNS, CORE_COLUMNS, MONEY_COLUMNS
from planner.report.numbers import in_text
from planner.report.numbers import plain as thousands
from planner.report.parts import Cell, Head, Row, Table, cells_of, cut, labels, say_input, sentence, without_empty
from planner.report.tables import INPUT_FIELDS, MOST_VALUES
from planner.units import S_PER_HOUR, unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.plan.study import Case, Study

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


def register_table(study: Study) -> Table:
    """Each typed or default input's values with the scenarios that take them, their cells, and which of the two."""
    lines: list[tuple[str, str, str, str, str, str]] = []
    kinds = _kinds_of(study)
    for name in INPUT_FIELDS:
        if name not in MONEY_COLUMNS:
            lines += _values_of(name, kinds)
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


@dataclass(frozen=True, slots=True)
class _Kind:
    """Scenarios that were filled in alike, and whether anything beyond the core rests on their inputs."""

    sources: Mapping[str, str]
    estimated: bool
    cases: list[Case]

    def stands(self, name: str) -> bool:
        """Whether an input belongs among what was typed or is a default that the figures rest on."""
        source = self.sources.get(name, "")
        if source == DEFAULT and name not in CORE_COLUMNS:
            # What only an estimate or the memory takes is no assumption of a scenario that has neither.
            return self.estimated
        return source in {TYPED, DEFAULT, ""}


def _kinds_of(study: Study) -> list[_Kind]:
    """The scenarios by what holds for all of a kind; in large studies many share one record of their sources."""
    found: dict[tuple[int, bool], _Kind] = {}
    for case in study.cases:
        sources, estimated = case.result.sources, _is_estimated(case)
        key = id(sources), estimated
        if key not in found:
            found[key] = _Kind(sources, estimated, [])
        found[key].cases.append(case)
    return list(found.values())


def _is_estimated(case: Case) -> bool:
    """Whether anything beyond the core rests on the case's inputs: an estimate, or its KV cache."""
    return has_estimate(case.result) or case.result.kv_cache_gb is not None


def _values_of(name: str, kinds: Sequence[_Kind]) -> list[tuple[str, str, str, str, str, str]]:
    """One line for each value that an input takes; a single line with its range where there are many."""
    of_scenario = attrgetter(f"result.scenario.{name}")
    held = [
        (kind.cases, kind.sources.get(name, ""), list(map(of_scenario, kind.cases)))
        for kind in kinds
        if kind.stands(name)
    ]
    different = {(value, source) for _, source, values in held for value in set(values) - {None, ""}}
    column, unit = COLUMNS[name], unit_of(name).symbol
    if len(different) <= MOST_VALUES:
        found: dict[tuple[Any, str], list[Case]] = {}
        for cases, source, values in held if different else ():
            for case, value in zip(cases, values, strict=True):
                if value is not None and value != "":
                    found.setdefault((value, source), []).append(case)
        # In the order of the scenarios, whatever kind they are of.
        found = dict(sorted(found.items(), key=lambda pair: min(case.number for case in pair[1])))
        return [
            (column.label, cut(say_input(name, value)), unit, *_whose(name, cases, source))
            for (value, source), cases in found.items()
        ]
    every = [
        case
        for cases, _, values in held
        for case, value in zip(cases, values, strict=True)
        if value is not None and value != ""
    ]
    known = {value for value, _ in different}
    spread = ""
    if not isinstance(column.rule, Text | PrecisionName):
        spread = f"{say_input(name, min(known))} to {say_input(name, max(known))}"
    sources = " or ".join(sorted({source for _, source in different}))
    said = f"{column.label}, {len(known)} different values"
    return [(said, spread or "see the rows", unit, *_whose(name, every, sources))]


def _whose(name: str, cases: Sequence[Case], source: str) -> tuple[str, str, str]:
    return labels((case.number for case in cases), _FEW_RANGES), cells_of(cases, name, _FEW_RANGES), source


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


def filled_table(study: Study) -> Table:
    """Every value that was not typed, by where it comes from, with what speaks for it."""
    found: dict[str, dict[str, dict[Any, int]]] = {}
    whose: dict[str, set[int]] = {}
    for kind in _kinds_of(study):
        numbers = [case.number for case in kind.cases]
        for name, source in kind.sources.items():
            if source in {TYPED, DEFAULT} or name in MONEY_COLUMNS or not (name in CORE_COLUMNS or kind.estimated):
                continue
            of_scenario = attrgetter(name)
            # Each value with the first scenario that has it.
            first = found.setdefault(source, {}).setdefault(name, {})
            for case in kind.cases:
                value = of_scenario(case.result.scenario)
                first[value] = min(first.get(value, case.number), case.number)
            whose.setdefault(source, set()).update(numbers)
    order = {name: index for index, name in enumerate(COLUMNS)}
    rows = []
    for number, (source, fields) in enumerate(sorted(found.items(), key=_rank)[:_MOST_SOURCES], 1):
        said = "; ".join(
            _all_said(name, sorted(fields[name], key=fields[name].__getitem__))
            for name in sorted(fields, key=order.__getitem__)
        )
        label, confidence = _confidence(source)
        rows.append(
            Row(
                (
                    Cell(f"F{number:02d}", marks="tag"),
                    Cell(label),
                    Cell(said),
                    Cell(labels(whose[source])),
                    Cell(confidence),
                )
            )
        )
    return Table(_FILLED_HEADS, tuple(rows))


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
