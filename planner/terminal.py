"""A study in the terminal: the progress of a run, a table that fits, issues, and the JSON that scripts read.

rich is loaded only where a table or a bar is drawn, so that --help answers at once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

import click

from planner import __version__
from planner.issues import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.issues import Issue
    from planner.job import Job, Outcome
    from planner.plan.study import Study

_MOST_ROWS_SHOWN = 40
_FLAGS_WIDTH = 11
_PIPED_WIDTH = 110
_NAME_WIDTH = 28
_SHORTEST_NAME = 10
_LONGEST_NAME = 100


@contextlib.contextmanager
def progress(job: Job, *, quiet: bool) -> Iterator[Callable[[str], None]]:
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


def print_results(study: Study) -> None:
    """The table of results: names give way to the width of the terminal, figures never."""
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


def print_issues(study: Study) -> None:
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


def print_end(outcome: Outcome) -> None:
    """The best scenario, counts, and last the paths written."""
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
    warned = counted(study.count(Severity.WARNING), "warning")
    sheet = f" from sheet {study.source.sheet}" if study.source.sheet else ""
    click.echo(f"{counted(len(study.cases), 'scenario')} evaluated{sheet}{skipped}; {warned}.")
    if outcome.no_pdf:
        click.echo(f"No report: {outcome.no_pdf}", err=True)
    if outcome.elsewhere:
        click.echo(f"Elsewhere: {outcome.elsewhere}", err=True)
    for path in outcome.written:
        click.echo(f"Wrote {path}")
    if outcome.backup:
        click.echo(f"Kept the workbook as it was in {outcome.backup}")


def quoted(words: list[str]) -> str:
    """Words as this system's command line takes them."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def cut(name: str) -> str:
    """A name as the terminal shows it: of a readable length, without characters that turn a line round."""
    plain = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return plain if len(plain) <= _LONGEST_NAME else plain[: _LONGEST_NAME - 1] + "…"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "scenario"), counted(1200, "scenario")
    ('1 scenario', '1,200 scenarios')
    """
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


def study_as_json(study: Study, outcome: Outcome) -> dict[str, Any]:
    """A study and what was written, as JSON holds it."""
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
        "backup": str(outcome.backup) if outcome.backup else None,
        "elsewhere": outcome.elsewhere,
        "no_pdf": outcome.no_pdf,
    }
