"""From a study to its sheets, in their order; the same description serves every writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.issues import Issue, Severity
from planner.workbook.cost_sheet import cost_sheet
from planner.workbook.demand_sheet import demand_sheet
from planner.workbook.estimate_sheets import estimate_sheet, memory_sheet
from planner.workbook.layout import unique_name
from planner.workbook.results_sheet import Functions, Writing, results_sheet
from planner.workbook.row_shapes import RowShapes
from planner.workbook.sensitivity_sheet import sensitivity_sheet
from planner.workbook.table_sheets import charts_sheet, checks_sheet, speed_table_sheet
from planner.workbook.variant_sheets import batch_sheet, precision_sheet
from planner.workbook.whatif_sheet import whatif_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.plan.study import Study
    from planner.workbook.layout import Sheet

# From so many scenarios on, rows of the same shape are written by one pattern.
PATTERNED_FROM: Final = 300
SHEET_NAMES: Final = (
    "Results",
    "Estimate",
    "Memory",
    "What-if",
    "Cost",
    "Demand",
    "Sensitivity",
    "Precision",
    "Batch",
    "Speed table",
    "Checks",
    "Charts",
)


def sheet_names(taken: Iterable[str], earlier: Mapping[str, str] | None = None) -> dict[str, str]:
    """The names that the result sheets get beside a user's own sheets.

    ``earlier`` are the result sheets of an earlier run, by their mark: each keeps the name that it has now.
    """
    earlier = earlier or {}
    own = [name for name in taken if name not in earlier.values()]
    names: dict[str, str] = {}
    for name in SHEET_NAMES:
        names[name] = earlier.get(name.casefold()) or unique_name(name, [*own, *earlier.values(), *names.values()])
    return names


def renamed_sheets(names: Mapping[str, str], taken: Iterable[str]) -> list[Issue]:
    """What to say of result sheets whose names a user's own sheets bear already."""
    own = {name.casefold() for name in taken} - {name.casefold() for name in names.values()}
    return [
        Issue(
            severity=Severity.NOTE,
            code="sheet-name",
            problem=f"The workbook has a sheet named '{name}' of its own, so the result sheet is named '{given}'",
        )
        for name, given in names.items()
        if given != name and name.casefold() in own
    ]


def result_sheets(
    study: Study,
    functions: Functions = Functions.EMBEDDED,
    *,
    names: Mapping[str, str] | None = None,
    linked: bool = True,
    patterned: bool = False,
) -> list[Sheet]:
    """The result sheets of a study.

    ``patterned`` lets large sheets leave their rows to writers that write them by patterns.
    ``names`` are the names that they get (:func:`sheet_names`); ``linked`` says whether the scenario sheet stands
    in the same workbook, so that cells can refer to it.
    """
    shapes = RowShapes(study) if patterned and len(study.cases) >= PATTERNED_FROM else None
    writing = Writing(functions, names or sheet_names(()), linked and bool(study.source.sheet), shapes)
    return [
        results_sheet(study, writing),
        estimate_sheet(study, writing),
        memory_sheet(study, writing),
        whatif_sheet(study, writing),
        cost_sheet(study, writing),
        demand_sheet(study, writing),
        sensitivity_sheet(study, writing),
        precision_sheet(study, writing),
        batch_sheet(study, writing),
        speed_table_sheet(study, writing),
        checks_sheet(study, writing),
        charts_sheet(study, writing),
    ]
