"""The main job: one scenario workbook in, a results workbook and a PDF report out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.columns import Text
from planner.files import is_our_pdf, refuse_target
from planner.functions import lambdas
from planner.issues import Issue, PlannerError, Severity
from planner.plan.resolve import TYPED
from planner.plan.scenario import COLUMNS
from planner.plan.study import Options, Study, make_study
from planner.workbook.package import made_by_planner, same_file
from planner.workbook.read import ReadWorkbook, read_workbook
from planner.workbook.results_sheet import Functions
from planner.workbook.sheets import SHEET_NAMES, renamed_sheets, result_sheets
from planner.workbook.write import write_workbook

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from planner.workbook.layout import Sheet

_MOST_NAMED: Final = 8


class ExitCode(IntEnum):
    """What the exit code of a command that ran says; one that could not run exits with 2."""

    DONE = 0
    LEFT_OUT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is asked: the workbook, where results and report go (None leaves the report out), and how."""

    source: Path
    output: Path
    pdf: Path | None
    functions: Functions = Functions.EMBEDDED
    options: Options = field(default_factory=Options)
    sheet: str = ""
    paper: str = "A4"
    title: str = ""
    command: str = ""
    made: dt.datetime | None = None
    force: bool = False

    @property
    def steps(self) -> int:
        """How many steps a run tells of: reading, evaluating, the scenario sheet and ours, three for the report."""
        return 2 + 1 + len(SHEET_NAMES) + (3 if self.pdf is not None else 0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: the study, the files written, and why there is no report where one was asked for."""

    study: Study
    written: tuple[Path, ...]
    no_pdf: str = ""

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """Done, or something was left out: rows or cells refused, no report, or any warning where that counts."""
        refused = self.study.skipped or self.study.count(Severity.ERROR)
        warned = strict and self.study.count(Severity.WARNING)
        return ExitCode.LEFT_OUT if refused or self.no_pdf or warned else ExitCode.DONE


def default_output(source: Path) -> Path:
    """Where results go unless said otherwise: `scenarios.results.xlsx` beside `scenarios.xlsx`."""
    return source.with_name(f"{source.stem}.results.xlsx")


def default_pdf(source: Path) -> Path:
    """Where the report goes unless said otherwise: `scenarios.report.pdf` beside `scenarios.xlsx`."""
    return source.with_name(f"{source.stem}.report.pdf")


def plan_workbook(source: Path | str, options: Options | None = None, sheet: str = "") -> Study:
    """Read and evaluate a workbook's scenarios, writing nothing.

    Raises PlannerError where the workbook cannot be read or no sheet holds scenarios.
    """
    return _study(read_workbook(source), options or Options(), sheet)


def _study(workbook: ReadWorkbook, options: Options, sheet: str) -> Study:
    table = workbook.table(sheet)
    return make_study(
        table.entries, skipped=table.skipped, issues=table.issues, source=workbook.source(table), options=options
    )


def write_results(
    study: Study, path: Path | str, functions: Functions | str = Functions.EMBEDDED, *, force: bool = False
) -> None:
    """Write a study's result sheets to a workbook of their own, without the scenario sheet.

    Raises PlannerError where the file cannot be written, or where a file that planner did not make stands there
    and ``force`` is not given.
    """
    if functions not in list(Functions):
        raise PlannerError(f"Functions are '{functions}'; expected one of {', '.join(Functions)}.")
    functions = Functions(functions)
    refuse_target(Path(path), ".xlsx", made_by_planner, force=force)
    write_workbook(Path(path), result_sheets(study, functions, linked=False), functions, active="Results")


def run(job: Job, progress: Callable[[str], None] = lambda _: None) -> Outcome:
    """Carry out a job, telling each step to ``progress``.

    Raises PlannerError where the workbook cannot be read or the results cannot be written; a report
    that cannot be made for want of a system library leaves the results standing.
    """
    _refuse_overwriting(job)
    progress(f"Reading {job.source.name}")
    workbook = read_workbook(job.source)
    progress("Evaluating scenarios")
    study = _study(workbook, job.options, job.sheet)
    copy, foreign = workbook.copy_of(study.source.sheet)
    functions, taken = _functions(job.functions, workbook)
    notes = (*_copied(copy, foreign), *_static(study, functions), *taken, *renamed_sheets([copy.name]))
    study = replace(study, issues=(*study.issues, *notes))
    _write(replace(job, functions=functions), study, copy, progress)
    if job.pdf is None:
        return Outcome(study, (job.output,))
    # The report's libraries take a second to load, which a run without a report should not pay.
    from planner.report.render import render_report  # noqa: PLC0415

    try:
        render_report(
            study,
            job.pdf,
            paper=job.paper,
            made=job.made,
            command=job.command,
            title=job.title,
            attachment=job.output,
            force=job.force,
            progress=lambda stage: progress(f"Report: {stage}"),
        )
    except PlannerError as error:
        # The results stand; whoever asked for both learns of the one that is missing.
        return Outcome(study, (job.output,), str(error))
    return Outcome(study, (job.output, job.pdf))


def _refuse_overwriting(job: Job) -> None:
    for path in (job.output, job.pdf):
        if path is not None and same_file(path, job.source):
            raise PlannerError(f"{path} is the workbook itself, which is never written; name another file.")
    refuse_target(job.output, ".xlsx", made_by_planner, force=job.force)
    if job.pdf is not None:
        refuse_target(job.pdf, ".pdf", is_our_pdf, force=job.force)


def _functions(asked: Functions, workbook: ReadWorkbook) -> tuple[Functions, list[Issue]]:
    """How the sheets calculate: as asked, or by plain arithmetic where the workbook has such a name of its own."""
    own = [name for name in lambdas() if name.casefold() in workbook.names]
    if not own or asked not in {Functions.EMBEDDED, Functions.ADDIN}:
        return asked, []
    return Functions.PLAIN, [
        Issue(
            severity=Severity.NOTE,
            code="name-taken",
            problem=f"The workbook has {', '.join(own)} as a name of its own, so the sheets use plain arithmetic",
            advice="Rename it to use planner's functions",
        )
    ]


def _static(study: Study, functions: Functions) -> list[Issue]:
    """What to say of inputs that stand in the result sheets as values, since no formula can read their cells."""
    cells = [
        case.origin.cells[name]
        for case in study.cases
        for name in COLUMNS
        if name in case.origin.cells
        and case.result.sources.get(name) == TYPED
        and not isinstance(COLUMNS[name].rule, Text)
        and name not in case.origin.plain
        and name not in case.origin.links
    ]
    if not cells or functions is Functions.NONE:
        return []
    left = len(cells) - _MOST_NAMED
    shown = ", ".join(cells[:_MOST_NAMED]) + (f" and {left} more" if left > 0 else "")
    return [
        Issue(
            severity=Severity.NOTE,
            code="as-value",
            sheet=study.source.sheet,
            cell=cells[0],
            problem=f"Typed with a unit or as text, so the result sheets hold their values: {shown}",
            advice="After an edit of these run planner again, or type plain numbers, which stay live",
        )
    ]


def _copied(copy: Sheet, foreign: list[str]) -> list[Issue]:
    """What to say of formulas that the copy of the scenario sheet could not keep."""
    return [
        Issue(
            severity=Severity.NOTE,
            code="copied-value",
            sheet=copy.name,
            cell=cell,
            problem="The formula leans on other sheets or names, so its stored value stands in this copy",
        )
        for cell in foreign
    ]


def _write(job: Job, study: Study, copy: Sheet, progress: Callable[[str], None]) -> None:
    sheets = result_sheets(study, job.functions, taken=[copy.name])
    write_workbook(
        job.output,
        [copy, *sheets],
        job.functions,
        active=sheets[0].name,
        made=job.made,
        progress=lambda name: progress(f"Writing {name}"),
    )
