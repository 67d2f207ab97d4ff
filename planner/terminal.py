"""A study in the terminal: the progress of a run, a table that fits, and issues.

rich is loaded only where a table or a bar is drawn, so that --help answers at once.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import unicodedata
from typing import TYPE_CHECKING

import click

from planner.issues import Severity
from planner.terminal_tables import Gives, TableColumn, print_fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from planner.issues import Issue
    from planner.job import Job, Outcome
    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study

_MOST_ROWS_SHOWN = 40
# What a name keeps beside figures that may give way.
NAME_KEPT = 24
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


# Figures and their heads in the terminal, where a line has eighty characters; the estimate's only where there is one.
_SHOWN = {
    "weights_gb": "Weights\nGB",
    "tokens_per_sec": "Stream\ntok/s",
    "estimated_tokens_per_sec": "Estimate\ntok/s",
    "range": "Low-high\ntok/s",
    "aggregate_tokens_per_sec": "Aggregate\ntok/s",
    "time_to_first_token_s": "TTFT\ns",
    "response_time_s": "Response\ns",
    "requests_per_hour": "Requests\nper hour",
}
_OF_ESTIMATE = ("estimated_tokens_per_sec", "range")
# What gives way first where a line is short: every warning stands in full below, and the rest is in the others, or in
# the workbook.
_GIVES_WAY = ("flags", "weights_gb", "time_to_first_token_s", "aggregate_tokens_per_sec", "range", "response_time_s")


def print_results(study: Study) -> None:
    """The table of results: names give way to the width of the terminal, then whole figures, never a part of one."""
    if not study.cases:
        return
    cases = study.cases[:_MOST_ROWS_SHOWN]
    columns = {"name": name_column([case.name for case in cases])}
    columns |= {name: TableColumn(_SHOWN[name], texts) for name, texts in _texts(cases).items()}
    flags = [
        " ".join(dict.fromkeys(i.code for i in case.result.issues if i.severity is Severity.WARNING)) for case in cases
    ]
    if any(flags):
        columns["flags"] = TableColumn("Flags", flags, Gives.FOLDED, to_right=False, style="yellow")
    print_fitted(columns, _GIVES_WAY, NAME_KEPT)
    unshown = len(study.cases) - _MOST_ROWS_SHOWN
    if unshown > 0:
        click.echo(f"... and {unshown:,} more scenarios in the results workbook.")
    click.echo()


def name_column(names: Sequence[str], head: str = "Scenario") -> TableColumn:
    """The column of scenarios' names, which gives way first."""
    return TableColumn(head, [cut(name) for name in names], Gives.CUT, to_right=False)


def _texts(cases: Sequence[Case]) -> dict[str, list[str]]:
    """Each column's texts; without those of the estimate where no scenario has one."""
    from planner.columns import shown, span  # noqa: PLC0415  --help must not load the model
    from planner.plan.basis import has_estimate, has_range  # noqa: PLC0415
    from planner.plan.scenario import FIGURES  # noqa: PLC0415

    def text(name: str, case: Case) -> str:
        result = case.result
        if name == "range":
            if not has_range(result):
                return ""
            return span(result.low_tokens_per_sec or 0.0, result.high_tokens_per_sec or 0.0, "-")
        if name in _OF_ESTIMATE and not has_estimate(result):
            return ""
        return shown(name, FIGURES[name], getattr(result, name))

    found = {name: [text(name, case) for case in cases] for name in _SHOWN}
    return {name: texts for name, texts in found.items() if name not in _OF_ESTIMATE or any(texts)}


_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


# More lines than this nobody reads; of each kind the first few stand for the others then.
_MOST_LINES = 60
_FIRST = {Severity.ERROR: 20, Severity.WARNING: 4, Severity.NOTE: 2}
_MOST_CELLS = 8


def print_issues(study: Study) -> None:
    """Every issue; notes that say the same of several cells as one, so that they do not drown the errors.

    Of very many the first of each kind, errors first, and how many more there are.
    """
    groups: dict[object, list[Issue]] = {}
    for number, issue in enumerate(study.issues):
        said = (issue.code, issue.problem) if issue.severity is Severity.NOTE else number
        groups.setdefault(said, []).append(issue)
    if len(groups) <= _MOST_LINES:
        for alike in groups.values():
            _print_alike(alike)
    else:
        _print_kinds(groups.values())
    if study.issues:
        click.echo()


def _print_kinds(groups: Iterable[list[Issue]]) -> None:
    """The first issues of each kind, and how many more there are of it."""
    kinds: dict[tuple[Severity, str], list[list[Issue]]] = {}
    for alike in groups:
        kinds.setdefault((alike[0].severity, alike[0].code), []).append(alike)
    order = list(Severity)
    for severity, code in sorted(kinds, key=lambda kind: order.index(kind[0])):
        found, shown = kinds[severity, code], _FIRST[severity]
        for alike in found[:shown]:
            _print_alike(alike)
        more = sum(map(len, found[shown:]))
        if more:
            click.echo(f"{'':<8}and {more:,} more {severity}{'s' * (more > 1)} of this kind ({code})")
    click.echo("All of them: `planner check --json`, and the sheet Checks of a run.")


def _print_alike(alike: Sequence[Issue]) -> None:
    """An issue, with the cells of others that say the same."""
    issue, *others = alike
    cells = [other.cell for other in others[:_MOST_CELLS]]
    left = len(others) - len(cells)
    more = f" (and at {', '.join(cells)}{f' and {left:,} more cells' if left else ''})" if others else ""
    click.echo(click.style(f"{issue.severity:<8}", fg=_COLOURS[issue.severity]) + str(issue) + more)


def print_end(outcome: Outcome) -> None:
    """The best scenario, counts, and last the paths written."""
    study = outcome.study
    recommendation = study.recommendation
    best, steadier = recommendation.best, recommendation.steadier
    if best:
        tied = f"; equal with {recommendation.ties} more" if recommendation.ties else ""
        targets = any(_has_target(case.result) for case in study.cases)
        meeting = "that meet their targets and fit" if targets else "at reading pace that fit"
        among = f"among those {meeting}, where memory is given"
        click.echo(f"Best: {cut(best.scenario.name)} ({recommendation.criterion} {among}{tied}).")
        if recommendation.by_cost:
            click.echo(f"      {_cost_of(study, best)}")
        click.echo(f"      {_basis_of(best, by_estimate=recommendation.by_estimate)}")
        if recommendation.mixed:
            click.echo("      The scenarios differ in model or request size, so this compares unlike tasks.")
        if steadier:
            name = cut(steadier.scenario.name)
            click.echo(f"      Its batch is above 32, where the model overstates; best up to 32: {name}.")
    elif study.cases:
        targets = any(_has_target(case.result) for case in study.cases)
        does = "meets its targets" if targets else "keeps reading pace"
        click.echo(f"Best: none of the scenarios fits, serves its load and {does}.")
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


def _has_target(result: Result) -> bool:
    return result.scenario.target_tokens_per_sec is not None or result.scenario.target_response_s is not None


def _cost_of(study: Study, best: Result) -> str:
    """What the best scenario costs, and how that stands against its API."""
    from planner.columns import as_percent, rounded  # noqa: PLC0415  --help must not load the model
    from planner.plan.recommend import AgainstApi, against_api  # noqa: PLC0415

    def said(name: str) -> str:
        return f"{study.purse.code} {rounded(study.purse.amount(best, name) or 0.0, 2)}".strip()

    busy = as_percent(best.busy_share or 0.0)
    cost = f"{said('cost_per_m_tokens')} per million output tokens at {busy} utilisation"
    stands = against_api(best)
    if stands is AgainstApi.UNKNOWN:
        return f"{cost}."
    even = "" if stands is AgainstApi.NEVER else f", break-even from {as_percent(best.break_even_share or 0.0)}"
    words = {AgainstApi.CHEAPER: "cheaper than", AgainstApi.DEARER: "dearer than", AgainstApi.NEVER: "never below"}
    return f"{cost}: {words[stands]} the API's {said('api_cost_per_m_output')}{even}."


def _basis_of(best: Result, *, by_estimate: bool) -> str:
    """What the best scenario was ranked by, and its own rate on that basis and by its estimate."""
    from planner.columns import shown, span  # noqa: PLC0415  --help must not load the model
    from planner.plan.basis import has_range, upper_bound  # noqa: PLC0415
    from planner.plan.scenario import FIGURES  # noqa: PLC0415

    core = shown("tokens_per_sec", FIGURES["tokens_per_sec"], upper_bound(best))
    if not has_range(best):
        return f"One stream: {core} tok/s, an upper bound."
    rate = shown("estimated_tokens_per_sec", FIGURES["estimated_tokens_per_sec"], best.estimated_tokens_per_sec)
    ends = span(best.low_tokens_per_sec or 0.0, best.high_tokens_per_sec or 0.0, "-")
    ranked = "" if by_estimate else " Ranked by the upper bounds, since not all scenarios have an estimate."
    return f"One stream: {rate} tok/s (estimate, {ends}); upper bound {core}.{ranked}"


def cut(name: str, most: int = _LONGEST_NAME) -> str:
    """A name as the terminal shows it: of a readable length, without characters that turn a line round."""
    plain = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "scenario"), counted(1200, "scenario")
    ('1 scenario', '1,200 scenarios')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
