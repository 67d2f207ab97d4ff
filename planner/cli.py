"""The commands: run, check, new, functions, live. Only what one needs is loaded, so that --help answers at once."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner import __version__
from planner.cli_functions import functions
from planner.issues import PlannerError, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.issues import Issue
    from planner.job import Job, Outcome
    from planner.plan.study import Options, Study

COULD_NOT_RUN = 2
_MOST_ROWS_SHOWN = 40
_FLAGS_WIDTH = 11
_PIPED_WIDTH = 110
_NAME_WIDTH = 28
_SHORTEST_NAME = 10
_LONGEST_NAME = 100
_EXAMPLES = """\b
Examples:
  planner new scenarios.xlsx               a starter workbook to fill in
  planner run scenarios.xlsx               scenarios.results.xlsx and scenarios.report.pdf
  planner run scenarios.xlsx --no-pdf -o out.xlsx --functions plain
  planner check scenarios.xlsx             issues only, nothing written
  planner functions call TOKENS_PER_SEC 140 3350 85%
"""


class _Group(click.Group):
    """Commands whose known errors are one line and exit code 2; anything else is a bug and keeps its traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PlannerError as error:
            click.echo(f"planner: {error}", err=True)
            ctx.exit(COULD_NOT_RUN)


@click.group(
    cls=_Group,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="planner")
def main() -> None:
    """Capacity planning for LLM serving, in a spreadsheet.

    Scenarios in an Excel workbook in; result sheets with live =TOKENS_PER_SEC() formulas and a PDF report out.

    Exit codes: 0 all that was asked is there; 1 something was left out (rows skipped, no PDF);
    2 could not run.
    """
    for stream in (sys.stdout, sys.stderr):
        # A pipe on Windows knows few characters; a name it cannot show must not cost the run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that shape a study, shared by the commands that make one."""
    for option in (
        click.option("--sheet", default="", help="Sheet to read; else Scenarios, else the best-fitting headers."),
        click.option("--strict", is_flag=True, help="Exit with 1 on warnings as well."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
    ):
        command = option(command)
    return command


@main.command(
    epilog="""\b
Examples:
  planner run scenarios.xlsx
  planner run scenarios.xlsx -o results.xlsx --pdf report.pdf --paper letter
  planner run scenarios.xlsx --precisions fp16,fp8,q4_k_m --batches 1,16,64
  planner run scenarios.xlsx --no-pdf --json | jq .results
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Results workbook  [NAME.results.xlsx].")
@click.option("--pdf", type=click.Path(path_type=Path), help="Report  [NAME.report.pdf].")
@click.option("--no-pdf", is_flag=True, help="Write no report.")
@click.option(
    "--functions",
    type=click.Choice(["embedded", "addin", "plain", "none"]),
    default="embedded",
    show_default=True,
    help="How the result sheets calculate: carried by the workbook (Excel 365), left to an add-in, "
    "plain arithmetic (LibreOffice, Sheets, old Excel), or values only.",
)
@click.option("--precisions", default="fp16,int8,int4", show_default=True, help="Precision variants.")
@click.option("--batches", default="1,2,4,8,16,32,64,128", show_default=True, help="Batch variants.")
@click.option(
    "--table-limit", type=click.IntRange(4, 200), default=12, show_default=True, help="Speed table, each way."
)
@click.option("--paper", type=click.Choice(["a4", "letter"], case_sensitive=False), default="a4", show_default=True)
@click.option("--title", default="", help="Title of the report.")
@click.option("--force", is_flag=True, help="Write over files that planner did not make.")
@_study_options
def run(
    workbook: Path,
    output: Path | None,
    pdf: Path | None,
    no_pdf: bool,
    functions: str,
    precisions: str,
    batches: str,
    table_limit: int,
    paper: str,
    title: str,
    force: bool,
    sheet: str,
    strict: bool,
    as_json: bool,
) -> None:
    """Evaluate a workbook; write results and a report.

    The workbook itself is never changed. Results go to NAME.results.xlsx and the report to
    NAME.report.pdf beside it.
    """
    from planner import job as jobs  # noqa: PLC0415  --help must not load openpyxl
    from planner.workbook.results_sheet import Functions  # noqa: PLC0415

    if workbook.is_dir():
        raise PlannerError(f"{workbook} is a folder; name a workbook in it.")
    if pdf and no_pdf:
        raise PlannerError("--pdf and --no-pdf contradict each other; give one.")
    job = jobs.Job(
        source=workbook,
        output=output or jobs.default_output(workbook),
        pdf=None if no_pdf else pdf or jobs.default_pdf(workbook),
        functions=Functions(functions),
        options=_options(precisions, batches, table_limit),
        sheet=sheet,
        paper=paper,
        title=title,
        force=force,
        command=_quoted(["planner", *sys.argv[1:]]) if len(sys.argv) > 1 else f"planner run {workbook.name}",
    )
    with _progress(job, quiet=as_json) as progress:
        outcome = jobs.run(job, progress)
    if as_json:
        click.echo(json.dumps(_as_json(outcome.study, outcome), indent=2))
    else:
        _print_results(outcome.study)
        _print_issues(outcome.study)
        _print_end(outcome)
    raise SystemExit(outcome.exit_code(strict=strict))


@main.command(
    epilog="""\b
Examples:
  planner check scenarios.xlsx
  planner check scenarios.xlsx --strict && echo clean
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@_study_options
def check(workbook: Path, sheet: str, strict: bool, as_json: bool) -> None:
    """List every issue of a workbook; write nothing."""
    from planner import job as jobs  # noqa: PLC0415  --help must not load openpyxl

    study = jobs.plan_workbook(workbook, sheet=sheet)
    outcome = jobs.Outcome(study, ())
    if as_json:
        click.echo(json.dumps(_as_json(study, outcome), indent=2))
    else:
        _print_issues(study)
        click.echo(f"Read sheet {study.source.sheet}: {', '.join(study.source.columns)}.")
        click.echo(f"{_counted(len(study.cases), 'scenario')} can run, {len(study.skipped)} skipped.")
    raise SystemExit(outcome.exit_code(strict=strict))


@main.command(
    epilog="""\b
Examples:
  planner new scenarios.xlsx
  planner new demo.xlsx --sample
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@click.option("--sample", is_flag=True, help="Eight scenarios to look at instead of one to type over.")
@click.option("--force", is_flag=True, help="Write over a file that is there already.")
def new(workbook: Path, sample: bool, force: bool) -> None:
    """Write a starter workbook to fill in.

    It has headers with notes and drop-downs, an example row, and a sheet that explains the columns.
    """
    from planner.workbook.starter import EXAMPLE, SAMPLE, write_starter  # noqa: PLC0415  --help must not load xlsxwriter

    if workbook.suffix.lower() != ".xlsx":
        raise PlannerError(f"{workbook.name} does not end in .xlsx; a starter is an .xlsx workbook.")
    if workbook.exists() and not force:
        raise PlannerError(f"{workbook} is there already; --force writes over it.")
    write_starter(workbook, SAMPLE if sample else (EXAMPLE,))
    click.echo(f"Wrote {workbook}. Fill it in, then: planner run {_quoted([str(workbook)])}")


main.add_command(functions)


@main.command(
    epilog="""\b
Examples:
  planner live                the result sheets into the workbook that is open in Excel
  planner live report         its PDF report beside it
"""
)
@click.argument("what", type=click.Choice(["evaluate", "check", "report"]), default="evaluate")
@click.option("--sheet", default="", help="Sheet to read; else Scenarios, else the best-fitting headers.")
def live(what: str, sheet: str) -> None:
    """Work on the workbook open in Excel (Windows, macOS).

    Nothing is saved: undo by closing the workbook without saving.
    """
    from planner.hosts import live as host  # noqa: PLC0415  xlwings is slow to load

    if what == "report":
        study, path = host.report(sheet=sheet)
    else:
        study, path = (host.check if what == "check" else host.evaluate)(sheet=sheet), None
    _print_results(study)
    _print_issues(study)
    if path:
        click.echo(f"Wrote {path}")
    raise SystemExit(1 if study.skipped or study.count(Severity.ERROR) else 0)


def _options(precisions: str, batches: str, table_limit: int) -> Options:
    from planner.plan.study import Options  # noqa: PLC0415  --help must not load the model
    from planner.plan.variants import read_batches, read_precisions  # noqa: PLC0415

    return Options(
        read_precisions(name for name in precisions.split(",") if name.strip()),
        read_batches(size for size in batches.split(",") if size.strip()),
        table_limit,
    )


@contextlib.contextmanager
def _progress(job: Job, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar with the step at hand on a terminal; nothing where the output is read by a program."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415  rich is slow to load
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description:<24}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Starting", total=job.steps)

        done = itertools.count()

        def step(description: str) -> None:
            # What is begun is not done yet.
            bar.update(task, description=description, completed=next(done))

        yield step


# Figures and their heads in the terminal, where a line has eighty characters.
_SHOWN = {
    "weights_gb": "Weights\nGB",
    "tokens_per_sec": "Stream\ntok/s",
    "aggregate_tokens_per_sec": "Aggregate\ntok/s",
    "time_to_first_token_s": "TTFT\ns",
    "response_time_s": "Response\ns",
    "requests_per_hour": "Requests\nper hour",
}


def _print_results(study: Study) -> None:
    from rich.console import Console  # noqa: PLC0415  rich is slow to load
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from planner.columns import shown  # noqa: PLC0415
    from planner.plan.scenario import FIGURES  # noqa: PLC0415

    if not study.cases:
        return
    cases = study.cases[:_MOST_ROWS_SHOWN]
    rows = [[shown(name, FIGURES[name], getattr(case.result, name)) for name in _SHOWN] for case in cases]
    table = Table(box=None, pad_edge=False, header_style="bold")
    flags = [
        " ".join(dict.fromkeys(i.code for i in case.result.issues if i.severity is Severity.WARNING)) for case in cases
    ]
    widths = [
        max(len(text) for text in (*head.split("\n"), *(row[index] for row in rows)))
        for index, head in enumerate(_SHOWN.values())
    ]
    figures_width = sum(widths) + 2 * len(widths)
    # Piped, there is no width to keep to.
    console = Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=_PIPED_WIDTH)
    if console.width < figures_width + _SHORTEST_NAME:
        console = Console(width=figures_width + _SHORTEST_NAME)
    # Names give way, figures never: a cut figure says something else.
    left = console.width - figures_width
    # The flags give way as well where names would be cut: every warning stands in full below the table.
    flagged = any(flags) and left - _FLAGS_WIDTH - 2 >= _NAME_WIDTH
    left -= _FLAGS_WIDTH + 2 if flagged else 0
    table.add_column("Scenario", overflow="ellipsis", no_wrap=True, max_width=left)
    for width, head in zip(widths, _SHOWN.values(), strict=True):
        table.add_column(head, justify="right", no_wrap=True, min_width=width)
    if flagged:
        table.add_column("Flags", overflow="fold", min_width=_FLAGS_WIDTH)
    for case, figures, codes in zip(cases, rows, flags, strict=True):
        table.add_row(Text(cut(case.name)), *figures, *([Text(codes, style="yellow")] if flagged else []))
    console.print(table)
    unshown = len(study.cases) - _MOST_ROWS_SHOWN
    if unshown > 0:
        console.print(f"... and {unshown:,} more scenarios in the results workbook.")
    console.print()


_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def _print_issues(study: Study) -> None:
    """Every issue; notes that say the same of several cells as one, so that they do not drown the errors."""
    groups: dict[object, list[Issue]] = {}
    for number, issue in enumerate(study.issues):
        alike = (issue.code, issue.problem) if issue.severity is Severity.NOTE else number
        groups.setdefault(alike, []).append(issue)
    for issue, *others in groups.values():
        more = f" (and at {', '.join(other.cell for other in others)})" if others else ""
        click.echo(click.style(f"{issue.severity:<8}", fg=_COLOURS[issue.severity]) + str(issue) + more)
    if study.issues:
        click.echo()


def _print_end(outcome: Outcome) -> None:
    study = outcome.study
    recommendation = study.recommendation
    best, steadier = recommendation.best, recommendation.steadier
    if best:
        tied = f"; equal with {recommendation.ties} more" if recommendation.ties else ""
        among = "among those at reading pace that fit, where memory is given"
        click.echo(f"Best: {cut(best.scenario.name)} ({recommendation.criterion} {among}{tied}).")
        if recommendation.mixed:
            click.echo("      The scenarios differ in model or request size, so this compares unlike tasks.")
        if steadier:
            name = cut(steadier.scenario.name)
            click.echo(f"      Its batch is above 32, where the model overstates; best up to 32: {name}.")
    elif study.cases:
        click.echo("Best: none of the scenarios fits and keeps reading pace.")
    skipped = f", {len(study.skipped)} skipped" if study.skipped else ""
    warned = _counted(study.count(Severity.WARNING), "warning")
    sheet = f" from sheet {study.source.sheet}" if study.source.sheet else ""
    click.echo(f"{_counted(len(study.cases), 'scenario')} evaluated{sheet}{skipped}; {warned}.")
    if outcome.no_pdf:
        click.echo(f"No report: {outcome.no_pdf}", err=True)
    for path in outcome.written:
        click.echo(f"Wrote {path}")


def _quoted(words: list[str]) -> str:
    """Words as this system's command line takes them."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def cut(name: str) -> str:
    """A name as the terminal shows it: of a readable length, without characters that turn a line round."""
    plain = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return plain if len(plain) <= _LONGEST_NAME else plain[: _LONGEST_NAME - 1] + "…"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _issue_as_json(issue: Issue) -> dict[str, Any]:
    return {
        "severity": str(issue.severity),
        "code": issue.code,
        "where": issue.where,
        "field": issue.field,
        "problem": issue.problem,
        "expected": issue.accepted,
        "advice": issue.advice,
    }


def _as_json(study: Study, outcome: Outcome) -> dict[str, Any]:
    from planner.plan.scenario import COLUMNS, FIGURES  # noqa: PLC0415  --help must not load the model

    results = [
        {
            "name": case.name,
            "row": case.origin.row,
            "inputs": {name: getattr(case.result.scenario, name) for name in COLUMNS},
            "figures": {name: getattr(case.result, name) for name in FIGURES},
            "flags": [issue.code for issue in case.result.issues],
        }
        for case in study.cases
    ]
    best, steadier = study.recommendation.best, study.recommendation.steadier
    return {
        "planner": __version__,
        "source": {"name": study.source.name, "sha256": study.source.sha256, "sheet": study.source.sheet},
        "results": results,
        "best": {"name": best.scenario.name, "criterion": study.recommendation.criterion} if best else None,
        "best_up_to_batch_32": steadier.scenario.name if steadier else None,
        "compares_unlike_tasks": study.recommendation.mixed,
        "skipped": [{"name": row.name, "row": row.origin.row} for row in study.skipped],
        "issues": [_issue_as_json(issue) for issue in study.issues],
        "written": [str(path) for path in outcome.written],
        "no_pdf": outcome.no_pdf,
    }
