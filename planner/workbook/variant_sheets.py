"""The Precision and Batch sheets: one row per scenario, a column per variant, so that any number of scenarios fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.columns import number_format
from planner.formulas import speed
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE
from planner.plan.scenario import COLUMNS, FIGURES, figure_header, header_of
from planner.workbook.layout import (
    BLUE,
    GREY,
    LINE,
    PALE,
    RUST,
    RUST_PALE,
    CellOut,
    Rule,
    Sheet,
    Style,
    address,
    on_sheet,
)
from planner.workbook.results_sheet import (
    COLUMN_OF,
    FIRST_ROW,
    HEAD,
    HEAD_FIGURE,
    HEAD_TEXT,
    HEADER_HEIGHT,
    LINK,
    Functions,
    Writing,
    as_cell,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

VARIANT_FIRST_ROW: Final = 2
OWN: Final = "own"


@dataclass(frozen=True, slots=True)
class Base:
    """A column that repeats a figure or input of Results, for the formulas beside it."""

    name: str

    @property
    def header(self) -> str:
        """The column's header, with its unit."""
        return header_of(self.name) if self.name in COLUMNS and self.name not in FIGURES else figure_header(self.name)

    @property
    def style(self) -> Style:
        """The look of its cells: the figure's own format, in grey, since it only repeats."""
        column = FIGURES.get(self.name) or COLUMNS[self.name]
        shown = "General" if self.name == "precision" else number_format(self.name, column)
        return Style(number_format=shown, bottom=LINE, colour=GREY)

    def value(self, case: Case) -> Any:
        """What the column repeats for a case."""
        value = getattr(case.result if self.name in FIGURES else case.result.scenario, self.name)
        return as_cell(value) if self.name == "precision" and value else value


@dataclass(frozen=True, slots=True)
class Group:
    """A group of columns: one figure at every variant, with its formula and the cells that it takes."""

    figure: str
    # None where an estimate takes too many cells to stand beside every variant: then values, as at the run.
    formula: Callable[..., float] | None
    first: int
    count: int

    @property
    def header(self) -> str:
        """The group's header."""
        return figure_header(self.figure) + ("" if self.formula else ", values at the run")

    def area(self, last_row: int) -> tuple[int, int, int, int]:
        """The cells of the group, down to the last row."""
        return (VARIANT_FIRST_ROW, self.first, last_row, self.first + self.count - 1)


def _groups(figures: Sequence[tuple[str, Callable[..., float] | None]], first: int, count: int) -> dict[str, Group]:
    return {
        figure: Group(figure, formula, first + index * count, count) for index, (figure, formula) in enumerate(figures)
    }


_BATCH_BASE: Final = tuple(
    Base(name)
    for name in (
        "weights_gb",
        "bandwidth_gb_s",
        "efficiency",
        "prompt_tokens",
        "prefill_tokens_per_sec",
        "output_tokens",
        "ceiling_tokens_per_sec",
    )
)
_BATCH_FIGURES: Final = (
    ("tokens_per_sec", speed.tokens_per_sec),
    ("estimated_tokens_per_sec", None),
    ("aggregate_tokens_per_sec", speed.aggregate_tokens_per_sec),
    ("estimated_aggregate_tokens_per_sec", None),
    ("response_time_s", speed.response_time_s),
    ("requests_per_hour", speed.requests_per_hour),
)
_PRECISION_BASE: Final = tuple(
    Base(name)
    for name in (
        "precision",
        "weight_bits",
        "weights_gb",
        "bandwidth_gb_s",
        "efficiency",
        "prompt_tokens",
        "prefill_tokens_per_sec",
        "output_tokens",
        "device_memory_gb",
        "devices",
    )
)
_PRECISION_FIGURES: Final = (
    ("weights_gb", speed.requantized_weights_gb),
    ("tokens_per_sec", speed.tokens_per_sec),
    ("ceiling_tokens_per_sec", speed.ceiling_tokens_per_sec),
    ("estimated_tokens_per_sec", None),
    ("response_time_s", speed.response_time_s),
)


def batch_groups(study: Study) -> dict[str, Group]:
    """The Batch sheet's groups of columns, by figure."""
    return _groups(_BATCH_FIGURES, 1 + len(_BATCH_BASE), len(study.options.batches))


def precision_groups(study: Study) -> dict[str, Group]:
    """The Precision sheet's groups of columns, by figure; the last variant is the scenario's own precision."""
    return _groups(_PRECISION_FIGURES, 1 + len(_PRECISION_BASE), len(study.options.precisions) + 1)


def batch_sheet(study: Study, writing: Writing) -> Sheet:
    """Per stream and aggregate, as the core and as the estimate have them, response time and requests by batch size."""
    groups = batch_groups(study)
    sheet = _VariantSheet(study, writing, _BATCH_BASE, groups, study.options.batches)
    return sheet.describe("Batch", _rate_rules(groups, sheet.last_row))


def precision_sheet(study: Study, writing: Writing) -> Sheet:
    """Weights, per stream, its ceiling, its estimate and response time by precision, the scenario's own last."""
    groups = precision_groups(study)
    sheet = _VariantSheet(study, writing, _PRECISION_BASE, groups, (*study.options.precisions, OWN))
    return sheet.describe("Precision", [*_rate_rules(groups, sheet.last_row), _fit_rule(sheet, groups["weights_gb"])])


def _rate_rules(groups: Mapping[str, Group], last_row: int) -> list[Rule]:
    rules = []
    for group in (groups["tokens_per_sec"], groups["estimated_tokens_per_sec"]):
        cell = address(VARIANT_FIRST_ROW, group.first)
        slow = f"AND(ISNUMBER({cell}),{cell}<{READING_PACE_TOKENS_PER_SEC:g})"
        rules.append(Rule(group.area(last_row), slow, RUST_PALE, RUST))
    return rules


def _fit_rule(sheet: _VariantSheet, group: Group) -> Rule:
    cell = address(VARIANT_FIRST_ROW, group.first)
    memory = address(VARIANT_FIRST_ROW, sheet.base_column("device_memory_gb"), fix_column=True)
    devices = address(VARIANT_FIRST_ROW, sheet.base_column("devices"), fix_column=True)
    too_large = f"AND(ISNUMBER({cell}),ISNUMBER({memory}),{cell}>{USABLE_MEMORY_SHARE:g}*{memory}*{devices})"
    return Rule(group.area(sheet.last_row), too_large, RUST_PALE, RUST)


class _VariantSheet:
    """The shape that both sheets share: a link, repeated inputs, then groups of variants."""

    def __init__(
        self,
        study: Study,
        writing: Writing,
        base: tuple[Base, ...],
        groups: dict[str, Group],
        variants: tuple[Any, ...],
    ) -> None:
        self.study, self.writing, self.base, self.groups, self.variants = study, writing, base, groups, variants
        self.last_row = VARIANT_FIRST_ROW + max(study.varied, 1) - 1
        self.last_column = len(base) + len(groups) * len(variants)

    def base_column(self, name: str) -> int:
        return 1 + [base.name for base in self.base].index(name)

    def describe(self, kind: str, rules: list[Rule]) -> Sheet:
        return Sheet(
            name=self.writing.names[kind],
            cells=self.cells(),
            widths={0: 40.0} | dict.fromkeys(range(1, self.last_column + 1), 11.0),
            freeze=(VARIANT_FIRST_ROW, 1),
            filter=(1, 0, self.last_row, self.last_column),
            merges=[(0, g.first, 0, g.first + g.count - 1) for g in self.groups.values() if g.count > 1],
            rules=rules,
            heights={1: HEADER_HEIGHT},
            repeat_rows=(0, 1),
            repeat_columns=(0, 0),
            mark=kind.casefold(),
            tab=BLUE,
        )

    def cells(self) -> Iterator[CellOut]:
        yield CellOut(0, 0, None, style=HEAD_TEXT)
        yield CellOut(1, 0, header_of("name"), style=HEAD_TEXT)
        for index, base in enumerate(self.base, 1):
            yield CellOut(0, index, None, style=HEAD)
            yield CellOut(1, index, base.header, style=HEAD)
        for group in self.groups.values():
            for offset, variant in enumerate(self.variants):
                yield CellOut(0, group.first + offset, None if offset else group.header, style=HEAD_FIGURE)
                head = as_cell(variant) if isinstance(variant, str) and variant != OWN else variant
                yield CellOut(1, group.first + offset, head, style=HEAD_FIGURE)
        for index, case in enumerate(self.study.cases[: self.study.varied]):
            yield from self.row(index, case)
        more = len(self.study.cases) - self.study.varied
        if more:
            said = f"The first {self.study.varied} scenarios; {more:,} more are left out."
            yield CellOut(self.last_row + 2, 0, said, style=Style(colour=GREY))

    def row(self, index: int, case: Case) -> Iterator[CellOut]:
        row = VARIANT_FIRST_ROW + index
        yield CellOut(row, 0, case.name, self.writing.link(case), LINK)
        for column, base in enumerate(self.base, 1):
            value = base.value(case)
            there = address(FIRST_ROW + index, COLUMN_OF[base.name])
            formula = self.writing.reference(self.writing.names["Results"], there, blank=value is None)
            yield CellOut(row, column, value, formula, base.style)
        results = self.results(index)
        for group in self.groups.values():
            shown = number_format(group.figure, FIGURES[group.figure])
            for offset, result in enumerate(results):
                value = getattr(result, group.figure) if result else None
                style = Style(number_format=shown, bottom=LINE, fill=PALE)
                yield CellOut(row, group.first + offset, value, self.formula(row, group, offset, index, value), style)

    def results(self, index: int) -> tuple[Result | None, ...]:
        if self.variants[-1] == OWN:
            return (*self.study.by_precision[index], self.study.cases[index].result)
        return self.study.by_batch[index]

    def formula(self, row: int, group: Group, offset: int, index: int, value: float | None) -> str:
        """The variant's formula over this row: a group's own cells first, then the repeated inputs."""
        if self.variants[offset] == OWN and group.figure == "weights_gb":
            return self.writing.reference(
                self.writing.names["Results"], address(FIRST_ROW + index, COLUMN_OF["weights_gb"])
            )
        if group.formula is None:
            return ""
        bind = {base.name: address(row, self.base_column(base.name), fix_column=True) for base in self.base}
        variant = address(1, group.first + offset, fix_row=True)
        bind |= {"batch": variant, "to_bits": variant}
        if self.writing.functions is Functions.PLAIN and "to_bits" in bind and self.variants[-1] == OWN:
            name = self.variants[offset]
            bind["to_bits"] = "" if name == OWN else repr(catalog.precision_bits(name))
        scenario = self.study.cases[index].result.scenario
        if group.figure == "weights_gb" and scenario.expert_precision and scenario.params_b:
            # A mixed file has no one precision to scale from.
            there = address(FIRST_ROW + index, COLUMN_OF["params_b"])
            whole = {"params_b": on_sheet(self.writing.names["Results"], there), "weight_bits": bind["to_bits"]}
            return self.writing.formula(speed.weights_gb, whole, value)
        for name, other in self.groups.items():
            # The size at this precision stands beside the rate; the one that it is scaled from is the repeated input.
            if name != group.figure:
                bind[name] = address(row, other.first + offset)
        return self.writing.formula(group.formula, bind, value)
