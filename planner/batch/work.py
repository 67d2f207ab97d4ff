"""One workbook of a batch, from its source to its files: what a worker does, wherever it runs."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import hashlib
import signal
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.batch import places
from planner.batch.ledger import Done, Output, Status, is_held, key_of
from planner.batch.rows import COLUMNS_KEPT, row_of
from planner.command import version
from planner.issues import PlannerError, Severity
from planner.job import Job, default_output, options_typed, run
from planner.plan.study import Options
from planner.recompute import command_of
from planner.settings import Settings, overridden
from planner.workbook.merge import Copy, copy_at
from planner.workbook.package import open_package
from planner.workbook.results_sheet import Functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.job import Outcome
    from planner.plan.study import Study

# The rest stands on the Checks sheet of the workbook's own results.
MOST_ISSUES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How every workbook of a batch is run: the options of a single run that hold for many.

    ``report`` are settings of the reports that win over those of each workbook's own sheet.
    """

    functions: Functions = Functions.EMBEDDED
    options: Options = dataclasses.field(default_factory=Options)
    sheet: str = ""
    report: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    pdf: bool = True
    recalculate: bool = False
    force: bool = False
    made: dt.datetime | None = None

    @property
    def settings(self) -> Settings:
        """The settings of the summary; raises PlannerError where one is not accepted."""
        return overridden(Settings(), self.report)

    def dependencies(self) -> dict[str, Any]:
        """All that a workbook's results depend on besides its contents."""
        kept = dataclasses.asdict(self)
        del kept["force"], kept["made"]
        report = {name: str(value) for name, value in dataclasses.asdict(self.settings).items()}
        logo = Path(self.settings.logo) if self.settings.logo else None
        if logo is not None and logo.is_file():
            report["logo"] = hashlib.sha256(logo.read_bytes()).hexdigest()
        return kept | {"report": report, "planner": version(), "columns": COLUMNS_KEPT}

    def command(self, task: Task, made: dt.datetime) -> str:
        """The command that makes one workbook's report alone, beside it."""
        further = options_typed(self.functions, self.sheet, recalculate=self.recalculate)
        source, report = Path(Path(task.name).name), Path(Path(task.report).name)
        return command_of(source, report, made, options=self.options, given=self.report, further=further)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One workbook to run: its source, its name and its report's below the results folder, and how.

    ``token`` is that of the run, where the worker must see the same folder as the one who asked.
    """

    source: str
    name: str
    report: str
    out: str
    asked: BatchOptions
    timeout_s: float | None = None
    version: str = dataclasses.field(default_factory=version)
    token: str = ""

    @property
    def outputs(self) -> list[str]:
        """The names of the files that it makes."""
        return [default_output(Path(self.name)).as_posix(), *([self.report] if self.asked.pdf else [])]


class _TimeUpError(BaseException):
    """A workbook took longer than it may; no known error, so that nothing on the way takes it for one of its own."""


def failed(task: Task, reason: str, *, status: Status = Status.FAILED, trace: str = "", tries: int = 1) -> Done:
    """A workbook that came to nothing, and why."""
    return Done(name=task.name, source=task.source, status=status, reason=reason, trace=trace, tries=tries)


def overdue(task: Task) -> Done:
    """A workbook that took longer than it may."""
    return failed(task, f"{task.source} took more than {task.timeout_s:g} s; --timeout gives it longer.")


def work(task: Task) -> Done:
    """Run one workbook. Never raises for what is wrong with it, but says so: the others go on."""
    began = time.monotonic()
    try:
        with _bounded(task.timeout_s) as step:
            done = _worked(task, step)
    except _TimeUpError:
        done = overdue(task)
    except PlannerError as error:
        done = _out_of_memory(task) if _is_memory(error) else _refused(task, str(error))
    except MemoryError:
        done = _out_of_memory(task)
    except Exception as error:  # noqa: BLE001  a fault of planner's costs its workbook, not the night's work
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        done = failed(task, f"{task.source}: a fault in planner ({said}).", trace=traceback.format_exc())
    return dataclasses.replace(done, seconds=round(time.monotonic() - began, 3))


def _refused(task: Task, said: str) -> Done:
    """A workbook that planner says it cannot run; among many, it is to be said of which."""
    named = Path(task.source).name in said
    return failed(task, said if named else f"{task.source}: {said}", status=Status.REFUSED)


def _out_of_memory(task: Task) -> Done:
    return failed(task, f"{task.source} needs more memory than a worker may take; --memory gives it more.")


def _is_memory(error: BaseException | None) -> bool:
    """Whether an error tells of memory that ran out, in its own words or those of what caused it."""
    return error is not None and (isinstance(error, MemoryError) or _is_memory(error.__cause__))


@contextlib.contextmanager
def _bounded(timeout_s: float | None) -> Iterator[Callable[[str], None]]:
    """A step to be told of, which ends what has taken too long; and an alarm, where this thread may have one."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s

    def step(_: str) -> None:
        if deadline is not None and time.monotonic() > deadline:
            raise _TimeUpError

    def ring(*_: object) -> None:
        raise _TimeUpError

    alarmed = (
        timeout_s is not None
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
    if not alarmed or timeout_s is None:
        yield step
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    try:
        yield step
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _worked(task: Task, step: Callable[[str], None]) -> Done:
    if task.version != version():
        raise PlannerError(f"This worker has planner {version()} and the batch {task.version}; install the same.")
    if task.token and not is_held(task.out, task.token):
        raise PlannerError(f"This worker does not see the folder {task.out} of the batch; name a shared one, or a URL.")
    if not places.is_url(task.source) and not places.is_url(task.out):
        folder = Path(places.join(task.out, task.name)).parent
        folder.mkdir(parents=True, exist_ok=True)
        return _ran(task, Path(task.source), Path(task.out), step)
    with tempfile.TemporaryDirectory(prefix="planner-") as temporary:
        try:
            return _through(task, Path(temporary), step)
        except PlannerError as error:
            # Where the copy lay is nobody's business.
            said = str(error).replace(str(Path(temporary, "in")), task.source.rpartition("/")[0])
            raise PlannerError(said.replace(str(Path(temporary, "out")), task.out.rstrip("/"))) from error


def _through(task: Task, temporary: Path, step: Callable[[str], None]) -> Done:
    """By way of a folder of this system's: what stands at the results is fetched, so that it is judged as ever."""
    source = temporary / "in" / Path(task.name).name
    source.parent.mkdir()
    source.write_bytes(places.read(task.source))
    out, before = temporary / "out", {}
    (out / task.name).parent.mkdir(parents=True)
    for name in task.outputs:
        there = places.join(task.out, name)
        if places.exists(there):
            before[name] = places.read(there)
            (out / name).write_bytes(before[name])
    done = _ran(task, source, out, step)
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        name, data = path.relative_to(out).as_posix(), path.read_bytes()
        if before.get(name) != data:
            places.write(places.join(task.out, name), data)
    return done


def _ran(task: Task, source: Path, out: Path, step: Callable[[str], None]) -> Done:
    """The main job on files of this system."""
    if copy_at(open_package(source)) is Copy.OURS:
        return failed(
            task, "A copy with results that planner wrote, and nobody has changed since.", status=Status.PASSED
        )
    asked, names = task.asked, task.outputs
    made = asked.made or dt.datetime.now(dt.UTC).replace(microsecond=0)
    outcome = run(
        Job(
            source=source,
            output=out / names[0],
            pdf=out / task.report if asked.pdf else None,
            functions=asked.functions,
            options=asked.options,
            sheet=asked.sheet,
            settings=asked.report,
            command=asked.command(task, made),
            made=made,
            force=asked.force,
            recalculate=asked.recalculate,
        ),
        step,
    )
    return _told(task, outcome, out)


def _told(task: Task, outcome: Outcome, out: Path) -> Done:
    study = outcome.study
    best = study.recommendation.best
    return Done(
        name=task.name,
        source=task.source,
        status=Status.DONE,
        key=key_of(study.source.sha256, task.asked.dependencies()),
        sha256=study.source.sha256,
        sheet=study.source.sheet,
        left_out=tuple(said for said in (outcome.no_pdf, outcome.elsewhere) if said),
        outputs=tuple(_output(path, out) for path in outcome.written),
        columns=COLUMNS_KEPT,
        rows=tuple(row_of(case) for case in study.cases),
        skipped_rows=len(study.skipped),
        errors=study.count(Severity.ERROR),
        warnings=study.count(Severity.WARNING),
        issues=_issues(study),
        best=best.scenario.name if best else "",
        currency=study.purse.code,
    )


def _output(path: Path, out: Path) -> Output:
    name = path.resolve().relative_to(out.resolve()).as_posix()
    return Output(name, hashlib.sha256(path.read_bytes()).hexdigest())


def _issues(study: Study) -> tuple[tuple[str, str, str, str], ...]:
    """Errors and warnings, errors first; those that say the same as one, with their cells."""
    found: dict[tuple[Severity, str, str], list[str]] = {}
    for issue in study.issues:
        if issue.severity is not Severity.NOTE:
            found.setdefault((issue.severity, issue.problem, issue.remedy), []).append(issue.where)
    order = sorted(found.items(), key=lambda pair: pair[0][0] is not Severity.ERROR)
    told = [(str(severity), _few(where), problem, remedy) for (severity, problem, remedy), where in order]
    more = len(told) - MOST_ISSUES
    last = ("note", "", f"{more:,} more on the Checks sheet of its results", "")
    return (*told[:MOST_ISSUES], *([last] if more > 0 else []))


_FEW: Final = 6


def _few(where: Sequence[str]) -> str:
    more = len(where) - _FEW
    return ", ".join(where[:_FEW]) + (f" and {more:,} more" if more > 0 else "")
