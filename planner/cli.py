"""The commands: run, check, new, batch, sweep, functions, catalog, accuracy, calibrate, load, live.

Each loads only what it needs, so that --help answers.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import click

from planner import __version__
from planner.cli_accuracy import accuracy, calibrate
from planner.cli_batch import batch
from planner.cli_catalog import catalog
from planner.cli_functions import functions
from planner.cli_load import load
from planner.cli_options import ReportCommand, options_of, run_options, study_options
from planner.cli_sweep import sweep
from planner.command import quoted
from planner.issues import PlannerError, Severity
from planner.study_json import study_as_json
from planner.terminal import counted, print_end, print_issues, print_results, progress
from planner.terminal_money import print_money

COULD_NOT_RUN = 2
_EXAMPLES = """\b
Examples:
  planner new scenarios.xlsx               a starter workbook to fill in
  planner run scenarios.xlsx               scenarios.results.xlsx and scenarios.report.pdf
  planner run scenarios.xlsx --no-pdf -o out.xlsx --functions plain
  planner check scenarios.xlsx             issues only, nothing written
  planner batch scenarios/ -o out/         a folder of workbooks, and a summary of all
  planner functions call TOKENS_PER_SEC 140 3350 85%
  planner catalog devices "h100 sxm"
  planner calibrate measured.xlsx          efficiencies from your own measured rates
  planner sweep -d "H100*" -m qwen3-32b -b 1..64x2 -c 2000+500 -n 1,2,4
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


@main.command(
    cls=ReportCommand,
    epilog="""\b
Examples:
  planner run scenarios.xlsx
  planner run scenarios.xlsx --in-place    the result sheets into the workbook itself
  planner run scenarios.xlsx -o results.xlsx --pdf report.pdf --paper letter
  planner run scenarios.xlsx --status final --approved-by "B. Approver" --locale de-DE --pdf-variant pdf/a-3b
  planner run scenarios.xlsx --precisions fp16,fp8,q4_k_m --batches 1,16,64
  planner run scenarios.xlsx --no-pdf --json | jq .results
""",
)
@click.argument("workbook", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Results workbook  [NAME.results.xlsx].")
@click.option("--in-place", is_flag=True, help="Write the result sheets into the workbook itself.")
@click.option("--no-backup", is_flag=True, help="With --in-place: keep no NAME.backup.xlsx beside it.")
@click.option("--pdf", type=click.Path(path_type=Path), help="Report  [NAME.report.pdf].")
@run_options
@study_options
def run(
    workbook: Path,
    output: Path | None,
    in_place: bool,
    no_backup: bool,
    recalculate: bool,
    pdf: Path | None,
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
    """Evaluate a workbook; write results and a report.

    Results go to NAME.results.xlsx, a copy of the workbook with the result sheets in it, and the
    report to NAME.report.pdf beside it. With --in-place the workbook itself gets the sheets; all
    else in it stays as it is, and a backup is kept.

    The report takes its title, names, texts, logo, status, locale and paper from the workbook's
    sheet Report (`planner new` has one); an option wins over it.
    """
    from planner import job as jobs  # noqa: PLC0415  --help must not load openpyxl
    from planner.recompute import read_as_of  # noqa: PLC0415
    from planner.workbook.package import same_file  # noqa: PLC0415
    from planner.workbook.results_sheet import Functions  # noqa: PLC0415

    if workbook.is_dir():
        raise PlannerError(f"{workbook} is a folder; name a workbook in it.")
    if pdf and no_pdf:
        raise PlannerError("--pdf and --no-pdf contradict each other; give one.")
    if output and in_place:
        raise PlannerError("--output and --in-place contradict each other; give one.")
    if output and same_file(output, workbook):
        raise PlannerError(f"{output} is the workbook itself; --in-place writes into it.")
    job = jobs.Job(
        source=workbook,
        output=workbook if in_place else output or jobs.default_output(workbook),
        backup=not no_backup,
        recalculate=recalculate,
        pdf=None if no_pdf else pdf or jobs.default_pdf(workbook),
        functions=Functions(functions),
        options=options_of(precisions, batches, table_limit),
        sheet=sheet,
        settings={name: value for name, value in given.items() if value},
        made=read_as_of(as_of) if as_of else None,
        force=force,
    )
    with progress(job, quiet=as_json) as step:
        outcome = jobs.run(job, step)
    if as_json:
        click.echo(json.dumps(study_as_json(outcome.study, outcome), indent=2))
    else:
        print_results(outcome.study)
        print_money(outcome.study)
        print_issues(outcome.study)
        print_end(outcome)
    raise SystemExit(outcome.exit_code(strict=strict))


@main.command(
    epilog="""\b
Examples:
  planner check scenarios.xlsx
  planner check scenarios.xlsx --strict && echo clean
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@study_options
def check(workbook: Path, sheet: str, strict: bool, as_json: bool) -> None:
    """List every issue of a workbook; write nothing."""
    from planner import job as jobs  # noqa: PLC0415  --help must not load openpyxl

    study = jobs.plan_workbook(workbook, sheet=sheet)
    outcome = jobs.Outcome(study, ())
    if as_json:
        click.echo(json.dumps(study_as_json(study, outcome), indent=2))
    else:
        print_issues(study)
        click.echo(f"Read sheet {study.source.sheet}: {', '.join(study.source.columns)}.")
        click.echo(f"{counted(len(study.cases), 'scenario')} can run, {len(study.skipped)} skipped.")
    raise SystemExit(outcome.exit_code(strict=strict))


@main.command(
    epilog="""\b
Examples:
  planner new scenarios.xlsx
  planner new demo.xlsx --sample
"""
)
@click.argument("workbook", type=click.Path(path_type=Path))
@click.option("--sample", is_flag=True, help="Nine scenarios to look at instead of one to type over.")
@click.option("--force", is_flag=True, help="Write over a file that is there already.")
def new(workbook: Path, sample: bool, force: bool) -> None:
    """Write a starter workbook to fill in.

    It has headers with notes and drop-downs, an example row, and a sheet that explains the columns.
    """
    from planner.workbook.starter import EXAMPLE, SAMPLE, write_starter  # noqa: PLC0415

    if workbook.suffix.lower() != ".xlsx":
        raise PlannerError(f"{workbook.name} does not end in .xlsx; a starter is an .xlsx workbook.")
    if workbook.exists() and not force:
        raise PlannerError(f"{workbook} is there already; --force writes over it.")
    write_starter(workbook, SAMPLE if sample else (EXAMPLE,))
    click.echo(f"Wrote {workbook}. Fill it in, then: planner run {quoted([str(workbook)])}")


main.add_command(batch)
main.add_command(functions)
main.add_command(catalog)
main.add_command(accuracy)
main.add_command(calibrate)
main.add_command(load)
main.add_command(sweep)


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
    print_results(study)
    print_money(study)
    print_issues(study)
    if path:
        click.echo(f"Wrote {path}")
    raise SystemExit(1 if study.skipped or study.count(Severity.ERROR) else 0)
