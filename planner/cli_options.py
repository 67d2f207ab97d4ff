"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import click

from planner.settings import Settings, option_of, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plan.study import Options

# A setting's help on the command line: the sheet's speaks of its rows and cells.
_HELP: Final = {
    "title": "Title.",
    "subtitle": "Line below the title.",
    "organisation": "Whose report it is.",
    "prepared_for": "Who is to read it.",
    "prepared_by": "Who made it.",
    "reviewed_by": "Who checked it.",
    "approved_by": "Who approves it.",
    "period": "Time that it plans for.",
    "version": "Version of the document.",
    "status": "Stamped on the cover and in the footer.",
    "contact": "Whom to ask.",
    "introduction": "Paragraph before the contents; may be repeated.",
    "notes": "Paragraph below the sign-off; may be repeated.",
    "decisions": "Decision asked, as 'what | owner | 2026-12-12'; may be repeated.",
    "currency": "Compare amounts in it, such as EUR  [the first that a priced row names].",
    "locale": "Write numbers, dates and money as in de-DE, fr-FR, ...; texts stay English.",
    "paper": "Paper.",
    "logo": "Picture for the cover: PNG, JPEG, WebP or GIF.",
    "pdf_variant": "Standard that the PDF keeps: accessible, or for archives.",
}


class ReportOption(click.Option):
    """An option for a setting of the report."""


class ReportCommand(click.Command):
    """A command whose options for the report stand apart in its help, below all others."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their two headings."""
        found: dict[str, list[tuple[str, str]]] = {"Options": [], _REPORT: []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                found[_REPORT if isinstance(option, ReportOption) else "Options"].append(record)
        for heading, records in found.items():
            with formatter.section(heading):
                formatter.write_dl(records)


_REPORT: Final = "Options of the report, which win over the workbook's sheet Report"


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that shape a study, shared by the commands that make one."""
    return _with(
        command,
        click.option("--sheet", default="", help="Sheet to read; else Scenarios, else the best-fitting headers."),
        click.option("--strict", is_flag=True, help="Exit with 1 on warnings as well."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
    )


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a run, whether of one workbook or of many."""
    return _with(
        command,
        click.option(
            "--recalculate", is_flag=True, help="Work out the workbook's own formulas anew first, with LibreOffice."
        ),
        click.option("--no-pdf", is_flag=True, help="Write no report."),
        click.option(
            "--functions",
            type=click.Choice(["embedded", "addin", "plain", "none"]),
            default="embedded",
            show_default=True,
            help="How the result sheets calculate: carried by the workbook (Excel 365), left to an add-in, "
            "plain arithmetic (LibreOffice, Sheets, old Excel), or values only.",
        ),
        click.option("--precisions", default="fp16,int8,int4", show_default=True, help="Precision variants."),
        click.option("--batches", default="1,2,4,8,16,32,64,128", show_default=True, help="Batch variants."),
        click.option(
            "--table-limit", type=click.IntRange(4, 200), default=12, show_default=True, help="Speed table, each way."
        ),
        click.option("--as-of", default="", help="Date of the report [now]; the same date gives the same bytes again."),
        *_report_options(),
        click.option("--force", is_flag=True, help="Write over files that planner did not make."),
    )


def _report_options() -> list[Callable[..., Any]]:
    """An option for each setting of the report, in the order of their declaration."""
    usual = {each.name: each.default for each in dataclasses.fields(Settings)}
    found = []
    for name, setting in settings().items():
        found.append(
            click.option(
                option_of(name),
                name,
                cls=ReportOption,
                type=click.Choice(setting.words, case_sensitive=False) if setting.words else str,
                multiple=setting.several,
                metavar=None if setting.words else _METAVARS.get(name, "TEXT"),
                help=_HELP[name] + (f"  [{usual[name]}]" if usual[name] else ""),
            )
        )
    return found


_METAVARS: Final = {"currency": "CODE", "locale": "TAG", "logo": "FILE"}


def _with(command: Callable[..., Any], *options: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def options_of(precisions: str, batches: str, table_limit: int) -> Options:
    """The options of a study as typed. Raises PlannerError for precisions and batches that are none."""
    from planner.plan.study import Options  # noqa: PLC0415  --help must not load the model
    from planner.plan.variants import read_batches, read_precisions  # noqa: PLC0415

    return Options(
        read_precisions(name for name in precisions.split(",") if name.strip()),
        read_batches(size for size in batches.split(",") if size.strip()),
        table_limit,
    )
