"""The command that runs many workbooks: its bar, its lines of JSON, and its summary in the terminal."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from planner import __version__
from planner.cli_options import ReportCommand, options_of, run_options, study_options
from planner.command import quoted
from planner.terminal import counted, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.batch.ledger import Done
    from planner.batch.pool import Stop
    from planner.batch.run import Batch

_MOST_LINES = 20


@click.command(
    cls=ReportCommand,
    epilog="""\b
Examples:
  planner batch scenarios/ -o out/                    a folder, with its sub-folders
  planner batch "plans/2026-*/*.xlsx" -o out/ --no-pdf
  planner batch a.xlsx b.xlsx @more.txt -o out/       paths, and a list of them
  planner batch scenarios/ -o out/                    again: only what changed, failed or is missing
  planner batch scenarios/ -o out/ --jobs 8 --timeout 120 --memory 2
  planner batch s3://team/plans -o s3://team/out --dask tcp://host:8786
  planner batch scenarios/ -o out/ --json | jq -r 'select(.status == "refused") | .reason'
""",
)
@click.argument("paths", nargs=-1)
@click.option("-o", "--output", "out", required=True, help="Folder of the results, or a URL.")
@click.option("--from-file", "lists", multiple=True, help="A file with a path a line; - is standard input. As @FILE.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), help="Processes  [one a processor]; 1 is this process itself."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    help="Seconds for a workbook.",
)
@click.option(
    "--memory",
    "memory_gb",
    type=click.FloatRange(min=0, min_open=True),
    default=4,
    show_default=True,
    help="GB for each process, where the system can bound it.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="More tries for a workbook whose process was killed.",
)
@click.option("--dask", default="", help="Scheduler of a Dask cluster that does the work: tcp://host:8786.")
@run_options
@study_options
def batch(
    paths: tuple[str, ...],
    out: str,
    lists: tuple[str, ...],
    jobs: int | None,
    timeout_s: float,
    memory_gb: float,
    retries: int,
    dask: str,
    recalculate: bool,
    no_pdf: bool,
    functions: str,
    precisions: str,
    batches: str,
    table_limit: int,
    as_of: str,
    force: bool,
    sheet: str,
    strict: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Evaluate many workbooks; write results, reports and a summary of all.

    Folders are read with their sub-folders, which the results keep. Lock files, backups and planner's own results
    are passed over. Each workbook gets what `planner run` gives it; summary.xlsx and summary.pdf show all together.
    The options of the report hold for each workbook's report, and summary.pdf takes all of them; a workbook's sheet
    Report is for its own report alone.

    A workbook that cannot be run stops no other. Run the same command again after a stop or a change: it does what is
    new, changed or failed, and what has lost its files.

    Exit codes: 0 all done; 1 something was left out (a workbook, a row, a report); 2 could not run; 130 stopped before
    the end (Ctrl-C finishes the workbooks at hand, twice abandons them).
    """
    from planner.batch.run import run_batch  # noqa: PLC0415  --help must not load openpyxl
    from planner.batch.work import BatchOptions  # noqa: PLC0415
    from planner.issues import PlannerError  # noqa: PLC0415
    from planner.recompute import read_as_of  # noqa: PLC0415
    from planner.workbook.results_sheet import Functions  # noqa: PLC0415

    if not paths and not lists:
        raise PlannerError("Name a folder, a glob or workbooks to run, or a list of them.")
    asked = BatchOptions(
        functions=Functions(functions),
        options=options_of(precisions, batches, table_limit),
        sheet=sheet,
        report={name: value for name, value in given.items() if value},
        made=read_as_of(as_of) if as_of else None,
        pdf=not no_pdf,
        recalculate=recalculate,
        force=force,
    )
    with _shown(as_json=as_json) as told:
        found = run_batch(
            [*paths, *(f"@{name}" for name in lists)],
            out,
            asked=asked,
            jobs=jobs,
            dask=dask,
            timeout_s=timeout_s,
            memory_gb=memory_gb,
            retries=retries,
            **told,
        )
    code = found.exit_code(strict=strict)
    if as_json:
        click.echo(json.dumps({"summary": _summary_as_json(found, code)}))
    else:
        _print_summary(found)
    if found.interrupted:
        again = quoted(["planner", *sys.argv[1:]])
        click.echo(f"Stopped; {counted(found.left, 'workbook')} to go. To go on: {again}", err=True)
    raise SystemExit(code)


@contextlib.contextmanager
def _shown(*, as_json: bool) -> Iterator[dict[str, Any]]:
    """What a batch tells as it goes: a line of JSON a workbook, a bar on a terminal that shows no such lines."""

    def line(done: Done) -> None:
        click.echo(json.dumps(_done_as_json(done)))

    if not sys.stderr.isatty() or (as_json and sys.stdout.isatty()):
        yield {"on_done": line} if as_json else {}
        return
    with _bar() as told:
        yield told | {"on_done": _both(line, told["on_done"])} if as_json else told


def _both(first: Callable[[Done], None], second: Callable[[Done], None]) -> Callable[[Done], None]:
    def tell(done: Done) -> None:
        first(done)
        second(done)

    return tell


@contextlib.contextmanager
def _bar() -> Iterator[dict[str, Any]]:
    """A bar with the count, the rate, the time that remains, and the workbook that came last."""
    from rich.console import Console  # noqa: PLC0415  rich is slow to load
    from rich.markup import escape  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Looking", total=None, rate="")
        worked, began = 0, time.monotonic()

        def start(total: int) -> None:
            nonlocal began
            began = time.monotonic()
            bar.update(task, total=total, description="")

        def step(done: Done) -> None:
            nonlocal worked
            worked += not done.kept
            rate = worked / max(time.monotonic() - began, 1e-9)
            said = f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"
            shown = done.name if len(done.name) <= _NAME_SHOWN else "…" + done.name[1 - _NAME_SHOWN :]
            bar.update(task, advance=1, rate=said if worked else "", description=escape(shown))

        def stop(asked: Stop) -> None:
            said = (
                "Abandoning what is at hand." if asked.now else "Finishing what is at hand; Ctrl-C again abandons it."
            )
            bar.console.print(said)

        yield {"on_start": start, "on_done": step, "on_stop": stop}


_NAME_SHOWN = 32


def _done_as_json(done: Done) -> dict[str, Any]:
    return {
        "workbook": done.name,
        "source": done.source,
        "status": str(done.status),
        "reason": done.reason,
        "left_out": list(done.left_out),
        "scenarios": len(done.rows),
        "skipped_rows": done.skipped_rows,
        "errors": done.errors,
        "warnings": done.warnings,
        "best": done.best or None,
        "written": [output.name for output in done.outputs],
        "sha256": done.sha256,
        "kept": done.kept,
        "seconds": done.seconds,
        "tries": done.tries,
    }


def _summary_as_json(found: Batch, code: int) -> dict[str, Any]:
    from planner.batch.ledger import Status  # noqa: PLC0415  --help must not load openpyxl

    return {
        "planner": __version__,
        "out": found.out,
        "workbooks": {str(status): found.count(status) for status in Status},
        "kept": sum(done.kept for done in found.workbooks),
        "scenarios": sum(len(done.rows) for done in found.workbooks),
        "skipped_rows": sum(done.skipped_rows for done in found.workbooks),
        "passed_over": [{"path": said.source, "why": said.why} for said in found.passed],
        "written": list(found.written),
        "no_pdf": found.no_pdf,
        "interrupted": found.interrupted,
        "left": found.left,
        "seconds": round(found.seconds, 2),
        "exit_code": code,
    }


def _print_summary(found: Batch) -> None:
    """What came of it all: what was passed over, what came to nothing, counts, and last the files written."""
    from planner.batch.ledger import Status  # noqa: PLC0415  --help must not load openpyxl
    from planner.batch.summary import why  # noqa: PLC0415

    _print_some([f"{said.source}: {said.why}" for said in found.passed], "passed over", "cyan")
    own = [done.name for done in found.workbooks if done.status is Status.PASSED]
    _print_some([f"{name}: results that planner wrote" for name in own], "passed over", "cyan")
    for status, colour in ((Status.REFUSED, "yellow"), (Status.FAILED, "red")):
        _print_some([done.reason for done in found.workbooks if done.status is status], str(status), colour)
    _print_some(list(dict.fromkeys(why(done) for done in found.workbooks if done.left_out)), "left out", "yellow")
    worked = [done for done in found.workbooks if done.status is Status.DONE]
    skipped = sum(done.skipped_rows for done in worked)
    kept = sum(done.kept for done in worked)
    said = [f"{len(worked):,} of {counted(len(found.workbooks) + found.left - len(own), 'workbook')} done"]
    said += [f"{kept:,} of them before"] if kept else []
    said += [f"{found.count(status):,} {status}" for status in (Status.REFUSED, Status.FAILED) if found.count(status)]
    rows = f"{counted(sum(len(done.rows) for done in worked), 'scenario')}"
    rows += f", {counted(skipped, 'row')} skipped" if skipped else ""
    warned = counted(sum(done.warnings for done in worked), "warning")
    click.echo(f"{', '.join(said)}; {rows}; {warned}; {_time(found.seconds)}.")
    if found.no_pdf:
        click.echo(f"No summary report: {found.no_pdf}", err=True)
    for path in found.written:
        click.echo(f"Wrote {path}")


def _print_some(said: list[str], head: str, colour: str) -> None:
    for text in said[:_MOST_LINES]:
        click.echo(click.style(f"{head:<12}", fg=colour) + cut(text, _LONGEST_LINE))
    if len(said) > _MOST_LINES:
        click.echo(f"{'':<12}and {len(said) - _MOST_LINES:,} more {head}: summary.xlsx has them all.")


_LONGEST_LINE = 400


def _time(seconds: float) -> str:
    """A span of time as one says it.

    >>> _time(4.23), _time(312.0), _time(7500.0)
    ('4.2 s', '5 min 12 s', '2 h 5 min')
    """
    if seconds < 60:  # noqa: PLR2004  as one says it
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if hours else f"{minutes} min {rest} s"
