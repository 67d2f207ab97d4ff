"""The main job: one scenario workbook in, a results workbook and a PDF report out."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import threading
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from planner.collecting import without_gc
from planner.columns import Text
from planner.files import back_up, is_our_pdf, lock_files, refuse_target, replacing
from planner.functions import lambdas
from planner.headers import RowCells
from planner.issues import Issue, PlannerError, Severity
from planner.plan.resolve import TYPED
from planner.plan.scenario import COLUMNS
from planner.plan.study import Options, Study, make_study
from planner.recompute import command_of
from planner.settings_sheet import complete
from planner.workbook.merge import Copy, copy_at, is_our_copy, merge, refuse_unmergeable
from planner.workbook.package import open_package, package_of, same_file
from planner.workbook.read import ReadWorkbook, read_workbook
from planner.workbook.recalculate import recalculated
from planner.workbook.repack import write_package
from planner.workbook.results_sheet import Functions
from planner.workbook.sheets import SHEET_NAMES, renamed_sheets, result_sheets, sheet_names
from planner.workbook.write import is_our_workbook, workbook_bytes, write_workbook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from planner.workbook.layout import Sheet
    from planner.workbook.package import Package

_MOST_NAMED: Final = 8
# Pages are made with the warnings and the environment of the whole process changed, so by one thread at a time.
_RENDERING: Final = threading.Lock()
_MOST_IN_MEMORY: Final = 50_000_000
_PORTION: Final = 1 << 20


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
    # Settings of the report that win over those of the workbook's own sheet.
    settings: Mapping[str, Any] = field(default_factory=dict)
    made: dt.datetime | None = None
    # What makes the report again, where that is not a run of these very files.
    command: str = ""
    force: bool = False
    # Keep a copy of a workbook before it is written in place.
    backup: bool = True
    # Work out the workbook's own formulas anew before reading, with LibreOffice.
    recalculate: bool = False

    @property
    def in_place(self) -> bool:
        """Whether the results go into the workbook itself."""
        return same_file(self.output, self.source)

    @property
    def steps(self) -> int:
        """How many steps a run tells of: reading, evaluating, our sheets, merging, three for the report."""
        return 3 + len(SHEET_NAMES) + (3 if self.pdf is not None else 0) + self.recalculate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: the study, the files written, and why there is no report where one was asked for."""

    study: Study
    written: tuple[Path, ...]
    no_pdf: str = ""
    # Where the workbook's state before this run is kept.
    backup: Path | None = None
    # Why the results are elsewhere than asked.
    elsewhere: str = ""

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """Done, or something was left out: rows or cells refused, no report, or any warning where that counts."""
        refused = self.study.skipped or self.study.count(Severity.ERROR)
        warned = strict and self.study.count(Severity.WARNING)
        return ExitCode.LEFT_OUT if refused or self.no_pdf or self.elsewhere or warned else ExitCode.DONE


def default_output(source: Path) -> Path:
    """Where results go unless said otherwise: `scenarios.results.xlsx` beside `scenarios.xlsx`."""
    return source.with_name(f"{source.stem}.results{source.suffix}")


def default_pdf(source: Path) -> Path:
    """Where the report goes unless said otherwise: `scenarios.report.pdf` beside `scenarios.xlsx`."""
    return source.with_name(f"{source.stem}.report.pdf")


def plan_workbook(source: Path | str, options: Options | None = None, sheet: str = "") -> Study:
    """Read and evaluate a workbook's scenarios, writing nothing.

    Raises PlannerError where the workbook cannot be read or no sheet holds scenarios.
    """
    return _study(read_workbook(source), options or Options(), sheet, {})


def _study(workbook: ReadWorkbook, options: Options, sheet: str, over: Mapping[str, Any]) -> Study:
    table = workbook.table(sheet)
    settled, said = complete(table.settings, workbook.path.parent, over)
    return make_study(
        table.entries,
        skipped=table.skipped,
        issues=(*said, *table.issues),
        source=workbook.source(table),
        options=options,
        settings=settled,
        completed=table.completed,
    )


@without_gc()
def write_results(
    study: Study,
    path: Path | str,
    functions: Functions | str = Functions.EMBEDDED,
    *,
    into: Path | str | None = None,
    force: bool = False,
) -> None:
    """Write a study's result sheets to a workbook of their own, or into a copy of another workbook (``into``).

    Raises PlannerError where the file cannot be written, where the other workbook takes no sheets, or where a
    file that planner did not make stands there and ``force`` is not given.
    """
    if functions not in list(Functions):
        raise PlannerError(f"Functions are '{functions}'; expected one of {', '.join(Functions)}.")
    functions = Functions(functions)
    suffix = Path(into).suffix.lower() if into else ".xlsx"
    refuse_target(Path(path), suffix, lambda data: is_our_workbook(data) or is_our_copy(data), force=force)
    if into:
        workbook = read_workbook(into)
        refuse_unmergeable(workbook.package)
        functions, _ = _functions(functions, workbook)
        names = sheet_names(workbook.sheet_names, workbook.ours)
        sheets = result_sheets(study, functions, names=names, linked=False, patterned=True)
        write = _merged(workbook.package, sheets, functions, lambda _: None, is_copy=True)
        with replacing(Path(path)) as new, new.temporary.open("wb") as file:
            write(file)
        return
    sheets = result_sheets(study, functions, linked=False, patterned=True)
    write_workbook(Path(path), sheets, functions, active="Results")


@without_gc()
def run(job: Job, progress: Callable[[str], None] = lambda _: None) -> Outcome:
    """Carry out a job, telling each step to ``progress``.

    Raises PlannerError where the workbook cannot be read or the results cannot be written; a report
    that cannot be made for want of a system library leaves the results standing.
    """
    edited = _refuse_overwriting(job)
    # One moment for the whole run, so that the command on the report makes the same one again.
    made = job.made or dt.datetime.now(dt.UTC).replace(microsecond=0)
    progress(f"Reading {job.source.name}")
    workbook = read_workbook(job.source)
    refuse_unmergeable(workbook.package)
    if job.recalculate:
        progress("Recalculating with LibreOffice")
        workbook = replace(workbook, values=recalculated(workbook.package))
    progress("Evaluating scenarios")
    # Plans of demand count from the day of the run on every surface.
    options = replace(job.options, today=job.options.today or made.date())
    study = _study(workbook, options, job.sheet, job.settings)
    functions, taken = _functions(job.functions, workbook)
    names = sheet_names(workbook.sheet_names, workbook.ours)
    notes = (*_static(study, functions), *taken, *renamed_sheets(names, workbook.sheet_names))
    study = replace(study, issues=(*study.issues, *notes))
    outcome = _write(replace(job, functions=functions), workbook, study, names, progress, edited=edited)
    if job.pdf is None:
        return outcome
    # The report's libraries take a second to load, which a run without a report should not pay.
    from planner.report.render import render_report  # noqa: PLC0415

    try:
        with _RENDERING:
            render_report(
                study,
                job.pdf,
                made=made,
                command=job.command or _command(job, job.pdf, made),
                attachment=outcome.written[0],
                force=job.force,
                progress=lambda stage: progress(f"Report: {stage}"),
            )
    except PlannerError as error:
        # The results stand; whoever asked for both learns of the one that is missing.
        return replace(outcome, no_pdf=str(error))
    return replace(outcome, written=(*outcome.written, job.pdf))


def options_typed(functions: Functions, sheet: str, *, recalculate: bool) -> list[str]:
    """The options of a run that are not the usual ones, as they are typed."""
    words = ["--functions", str(functions)] if functions is not Functions.EMBEDDED else []
    words += ["--sheet", sheet] if sheet else []
    return [*words, "--recalculate"] if recalculate else words


def _command(job: Job, pdf: Path, made: dt.datetime) -> str:
    """The command that makes the report again."""
    further = options_typed(job.functions, job.sheet, recalculate=job.recalculate)
    if job.in_place:
        further.append("--in-place")
    elif job.output != default_output(job.source):
        further += ["--output", str(job.output)]
    return command_of(job.source, pdf, made, options=job.options, given=job.settings, further=further)


def _refuse_overwriting(job: Job) -> bool:
    """Refuse to write over what is not ours to write over; says whether the old results were edited by hand."""
    if job.pdf is not None:
        if same_file(job.pdf, job.source):
            raise PlannerError(f"{job.pdf} is the workbook itself, which is never written over with a report.")
        refuse_target(job.pdf, ".pdf", is_our_pdf, force=job.force)
    if job.output.suffix.lower() != job.source.suffix.lower():
        raise PlannerError(
            f"{job.output.name} has another ending than {job.source.name}, and Excel would not open it; "
            f"name a {job.source.suffix} file."
        )
    if job.output.is_dir():
        raise PlannerError(f"{job.output} is a folder; name a file in it.")
    if job.in_place or not job.output.exists() or job.force:
        return False
    try:
        package = open_package(job.output)
        there = copy_at(package)
    except PlannerError:
        package, there = None, Copy.FOREIGN
    if there is Copy.FOREIGN and not (package and is_our_workbook(package.data)):
        raise PlannerError(f"{job.output} is there already and is no work of planner's; --force writes over it.")
    return there is Copy.EDITED


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
    # Which inputs those are is the same for all rows that were filled alike.
    alike: dict[tuple[object, ...], list[str]] = {}
    cells = []
    for case in study.cases:
        origin, sources = case.origin, case.result.sources
        fields = id(origin.cells.letters) if isinstance(origin.cells, RowCells) else tuple(origin.cells)
        key = (id(sources), fields, origin.plain, id(origin.links))
        if key not in alike:
            alike[key] = [
                name
                for name in COLUMNS
                if name in origin.cells
                and sources.get(name) == TYPED
                and not isinstance(COLUMNS[name].rule, Text)
                and name not in origin.plain
                and name not in origin.links
            ]
        cells += [origin.cells[name] for name in alike[key]]
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


def _write(
    job: Job,
    workbook: ReadWorkbook,
    study: Study,
    names: Mapping[str, str],
    progress: Callable[[str], None],
    *,
    edited: bool,
) -> Outcome:
    """The result sheets into a copy of the workbook, or into the workbook itself."""
    sheets = result_sheets(study, job.functions, names=names, patterned=True)
    write = _merged(workbook.package, sheets, job.functions, progress, is_copy=not job.in_place)
    with tempfile.SpooledTemporaryFile(max_size=_MOST_IN_MEMORY) as whole:
        if job.in_place:
            # What would change nothing is not written at all.
            write(whole)
            if _holds(whole, workbook.package.data):
                return Outcome(study, (job.output,))
        locked = lock_files(job.output.resolve())
        with replacing(job.output, beside=True) as new:
            with new.temporary.open("wb") as file:
                if job.in_place:
                    whole.seek(0)
                    shutil.copyfileobj(whole, file, _PORTION)
                else:
                    write(file)
            if job.in_place and job.source.read_bytes() != workbook.package.data:
                raise PlannerError(f"{job.source} was changed by another program during the run; run again.")
            stays = new.path != job.output.resolve() or not job.output.exists()
            backup = None if stays or not (edited or (job.in_place and job.backup)) else back_up(job.output)
    if new.path == job.output.resolve():
        return Outcome(study, (job.output,), backup=backup)
    lock = f" ({locked[0].name} is there; delete it if no program has the workbook open)" if locked else ""
    return Outcome(
        study,
        (job.output.with_name(new.path.name),),
        backup=backup,
        elsewhere=f"{job.output.name} is open in another program{lock}, so the results are in {new.path.name}.",
    )


def _merged(
    package: Package,
    sheets: Sequence[Sheet],
    functions: Functions,
    progress: Callable[[str], None],
    *,
    is_copy: bool,
) -> Callable[[IO[bytes]], None]:
    """What writes the package with our sheets in it to a file, once."""
    data, streams = workbook_bytes(sheets, lambda name: progress(f"Writing {name}"))
    progress(f"Merging into {package.path.name}")
    merged = merge(package, package_of(data, package.path), functions, is_copy=is_copy, streams=streams)
    return lambda target: write_package(package, target, merged.changed, merged.dropped)


def _holds(merged: IO[bytes], data: bytes) -> bool:
    """Whether a file holds just these bytes."""
    merged.seek(0)
    starts = range(0, len(data), _PORTION)
    return all(merged.read(_PORTION) == data[start : start + _PORTION] for start in starts) and not merged.read(1)
