"""A batch from its arguments to its summary: what is found, what is done already, the rest through the workers."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.batch import places
from planner.batch.cluster import Cluster
from planner.batch.ledger import Done, Ledger, Status, at_work, key_of, tidy
from planner.batch.pages import TEMPLATE, pages_of
from planner.batch.pool import Dispatch, Here, Lanes, Stop
from planner.batch.rows import lines
from planner.batch.scan import scan
from planner.batch.summary import summary_sheets
from planner.batch.work import BatchOptions, Task
from planner.files import is_our_pdf, refuse_target
from planner.issues import PlannerError
from planner.job import ExitCode
from planner.report.numbers import written_as
from planner.report.render import render_pages
from planner.workbook.results_sheet import Functions
from planner.workbook.write import is_our_workbook, write_workbook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from planner.batch.scan import Said, Scan

TIMEOUT_S: Final = 600.0
MEMORY_GB: Final = 4.0
RETRIES: Final = 2
SUMMARY: Final = "summary.xlsx"
SUMMARY_PDF: Final = "summary.pdf"
INTERRUPTED: Final = 130
_BYTES_PER_GB: Final = 1_000_000_000
_MOST_SAID: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What came of a batch: each workbook in the order of its name, the files passed over, the summary's files.

    Where it was stopped before the end there is no new summary, and ``left`` workbooks are not done.
    """

    out: str
    workbooks: tuple[Done, ...]
    passed: tuple[Said, ...] = ()
    written: tuple[str, ...] = ()
    no_pdf: str = ""
    left: int = 0
    seconds: float = 0.0

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before the end."""
        return self.left > 0

    def count(self, status: Status) -> int:
        """How many workbooks came to this."""
        return sum(done.status is status for done in self.workbooks)

    def exit_code(self, *, strict: bool = False) -> int:
        """Done, something left out (a workbook, a row, a report, any warning where that counts), or interrupted."""
        if self.interrupted:
            return INTERRUPTED
        out = self.no_pdf or any(
            done.status in {Status.REFUSED, Status.FAILED}
            or done.skipped_rows
            or done.errors
            or done.left_out
            or (strict and done.warnings)
            for done in self.workbooks
        )
        return ExitCode.LEFT_OUT if out else ExitCode.DONE


def cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_batch(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    asked: BatchOptions | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    dask: str = "",
    timeout_s: float | None = TIMEOUT_S,
    memory_gb: float | None = MEMORY_GB,
    retries: int = RETRIES,
    on_start: Callable[[int], None] = lambda _: None,
    on_done: Callable[[Done], None] = lambda _: None,
    on_stop: Callable[[Stop], None] = lambda _: None,
) -> Batch:
    """Run every workbook of folders, globs, lists and paths, and sum them up in ``out``.

    What an earlier run did of the same contents with the same options and version is kept. By default each workbook
    runs in one of ``jobs`` processes (as many as there are processors; 1 is this process) within a bound of time and,
    where the system can, of memory; ``executor`` may be any other, and ``dask`` names the scheduler of a cluster.
    A workbook that cannot be run is one of the results. ``on_start`` is told how many workbooks there are, ``on_done``
    each that is through, ``on_stop`` that a signal asks to end.
    A module that calls this with processes needs ``if __name__ == "__main__"``.
    Raises PlannerError where nothing is found, the folder cannot be written, or another batch is at work on it.
    """
    began, asked, place = time.monotonic(), asked or BatchOptions(), places.plain(str(out))
    # A setting that is not accepted is said before the night's work.
    _ = asked.settings
    scanned = scan(map(str, paths), place)
    if not scanned.found:
        raise PlannerError(_nothing(scanned))
    places.make_folder(place)
    with at_work(place) as token, Cluster(dask) as cluster:
        _refuse_summary(place, asked)
        tasks = _tasks(scanned, place, asked, timeout_s, token if dask else "")
        crew = _Crew(
            given=cluster.executor or executor,
            jobs=cluster.window or jobs or cpus(),
            # One job asked for is this process; one processor is no reason to do without a worker of its own.
            here=jobs == 1,
            memory_bytes=None if memory_gb is None else int(memory_gb * _BYTES_PER_GB),
            retries=retries,
            replaceable=not dask,
            ask=cluster.ask,
        )
        on_start(len(tasks) + len(scanned.missing))
        found = []
        for done in itertools.chain(map(_missing, scanned.missing), _worked(tasks, place, crew, Stop(on_stop))):
            found.append(done)
            on_done(done)
        batch = Batch(
            out=place,
            workbooks=tuple(sorted(found, key=lambda done: done.name)),
            passed=tuple(scanned.passed),
            left=len(tasks) + len(scanned.missing) - len(found),
        )
        if not batch.interrupted:
            batch = _summed_up(batch, asked)
    return dataclasses.replace(batch, seconds=time.monotonic() - began)


def _nothing(scanned: Scan) -> str:
    """Why there is nothing to run."""
    said = [missing.why for missing in scanned.missing[:_MOST_SAID]]
    said += [f"{passed.source} is {passed.why}." for passed in scanned.passed[: _MOST_SAID - len(said)]]
    return " ".join(["No workbook to run.", *said])


def _missing(said: Said) -> Done:
    return Done(name=said.source, source=said.source, status=Status.REFUSED, reason=said.why)


def _tasks(scanned: Scan, place: str, asked: BatchOptions, timeout_s: float | None, token: str) -> list[Task]:
    """A task for each workbook; for another machine's workers, whose folder is another, with whole paths."""
    return [
        Task(
            source=_whole(one.source) if token else one.source,
            name=one.name,
            report=one.report,
            out=_whole(place) if token else place,
            asked=asked,
            timeout_s=timeout_s,
            token=token,
        )
        for one in scanned.found
    ]


def _whole(place: str) -> str:
    return place if places.is_url(place) else str(Path(place).absolute())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crew:
    """Who does the work: an executor that was given, else this process, else processes of our own."""

    given: Executor | None
    jobs: int
    here: bool
    memory_bytes: int | None
    retries: int
    replaceable: bool
    ask: Callable[[], None]

    def lanes(self) -> Lanes:
        """Processes of our own."""
        return Lanes(self.jobs, self.memory_bytes)

    def results(self, tasks: Sequence[Task], stop: Stop) -> Iterator[Done]:
        """What comes of each workbook; workers of our own are gone at the end, however it comes."""
        if not tasks:
            return
        spare = None
        if self.given is not None:
            executor, window = self.given, self.jobs
            spare = self.lanes if self.replaceable else None
        elif self.here:
            executor, window = Here(stop), 1
        else:
            executor, window = self.lanes(), self.jobs
        dispatch = Dispatch(executor, window, retries=self.retries, stop=stop, spare=spare, ask=self.ask)
        try:
            yield from dispatch.results(tasks)
        except BaseException:
            dispatch.abandon()
            raise
        finally:
            if dispatch.executor is not self.given:
                dispatch.executor.shutdown()


def _worked(tasks: Sequence[Task], place: str, crew: _Crew, stop: Stop) -> Iterator[Done]:
    """What comes of each workbook: kept from an earlier run, or done anew and remembered."""
    ledger = Ledger(place)
    try:
        with stop:
            fresh = []
            for task in tasks:
                kept = None if stop.soon else _kept(ledger, task)
                if kept is None:
                    fresh.append(task)
                else:
                    yield kept
            for done in crew.results(fresh, stop):
                ledger.add(done)
                yield done
    finally:
        ledger.close()
        tidy(place, [name for task in tasks for name in task.outputs])


def _kept(ledger: Ledger, task: Task) -> Done | None:
    """What an earlier run made of the same contents with the same options, where its files are as it left them."""
    known = ledger.known.get(task.name)
    if known is None or [output.name for output in known.outputs] != task.outputs:
        return None
    key = key_of(places.sha256_at(task.source), task.asked.dependencies())
    return dataclasses.replace(known, source=task.source, kept=True) if ledger.holds(known, key) else None


def _refuse_summary(place: str, asked: BatchOptions) -> None:
    """Refuse to write over a summary that planner did not make, before the night's work and not after it."""
    for name, ours in ((SUMMARY, is_our_workbook), (SUMMARY_PDF, is_our_pdf)):
        there = places.join(place, name)
        if places.is_url(place):
            if places.exists(there) and not asked.force and not ours(places.read(there)):
                raise PlannerError(f"{there} is there already and is no work of planner's; --force writes over it.")
        else:
            refuse_target(Path(there), Path(name).suffix, ours, force=asked.force)


def _summed_up(batch: Batch, asked: BatchOptions) -> Batch:
    """The batch with its summary written."""
    found = lines(batch.workbooks)
    settings, made = asked.settings, asked.made or dt.datetime.now(dt.UTC)
    with tempfile.TemporaryDirectory(prefix="planner-") as temporary:
        folder = Path(temporary) if places.is_url(batch.out) else Path(batch.out)
        sheets = summary_sheets(batch.workbooks, found, batch.passed)
        write_workbook(folder / SUMMARY, sheets, Functions.NONE, active=sheets[0].name, made=made.replace(tzinfo=None))
        names, no_pdf = [SUMMARY], ""
        if asked.pdf:
            with written_as(settings.locale):
                pages = pages_of(batch.workbooks, found, settings, made)
            try:
                render_pages(
                    TEMPLATE, folder / SUMMARY_PDF, settings=settings, made=made, force=asked.force, pages=pages
                )
                names.append(SUMMARY_PDF)
            except PlannerError as error:
                no_pdf = str(error)
        if places.is_url(batch.out):
            for name in names:
                places.write(places.join(batch.out, name), (folder / name).read_bytes())
    written = tuple(places.join(batch.out, name) for name in names)
    return dataclasses.replace(batch, written=written, no_pdf=no_pdf)
