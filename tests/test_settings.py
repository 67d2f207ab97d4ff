"""The settings of a report: what the sheet `Report` and the options may say, and what is said of each bad value."""

import datetime as dt
import re
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner
from PIL import Image

from planner.cli import main
from planner.headers import Cell, Grid
from planner.issues import PlannerError, Severity
from planner.job import plan_workbook
from planner.plan.study import Options
from planner.recompute import command_of
from planner.settings import Decision, Settings, option_of, overridden, settings
from planner.settings_sheet import complete, read_settings
from planner.workbook.starter import SAMPLE, write_starter


def grid(*rows, name="Report", **more):
    cells = {
        number: {
            column: value if isinstance(value, Cell) else Cell(value)
            for column, value in enumerate(row, 1)
            if value is not None
        }
        for number, row in enumerate(rows, 1)
    }
    return Grid(name, cells, **more)


def said(*rows, folder):
    _, issues = complete(read_settings([grid(*rows)]), folder, {})
    return sorted(str(issue) for issue in issues)


def settled(*rows):
    return read_settings([grid(*rows)]).settings


# What is accepted


def test_a_sheet_gives_every_setting():
    read = settled(
        ("Setting", "Value", "Owner", "By"),
        ("The document",),
        ("Title", "Plan  for\n2027"),
        ("SUBTITLE ", "Which hardware"),
        ("Organization", "Northwind"),
        ("prepared_for", "Finance"),
        ("Author", "Platform"),
        ("Reviewer", "R"),
        ("Approved by", None),
        ("Planning period", dt.datetime(2027, 1, 1)),
        ("Version", 1.2),
        ("Status", "FINAL"),
        ("Contact", "a@b.example"),
        ("Intro", "First.\n\nSecond."),
        ("Introduction", "Third."),
        ("Decision", "Accept INT4", "Product owner", dt.datetime(2026, 12, 12)),
        ("Decision", "Approve S04 | Finance | 2026-12-19"),
        ("Decision", "Wait", None, "2026-12-24"),
        ("Currency", "eur"),
        ("Locale", "de_de"),
        ("Paper size", "letter"),
        ("PDF standard", "PDF/A-3B"),
    )
    assert read == Settings(
        title="Plan for 2027",
        subtitle="Which hardware",
        organisation="Northwind",
        prepared_for="Finance",
        prepared_by="Platform",
        reviewed_by="R",
        period="2027-01-01",
        version="1.2",
        status="final",
        contact="a@b.example",
        introduction=("First.", "Second.", "Third."),
        decisions=(
            Decision("Accept INT4", "Product owner", dt.date(2026, 12, 12)),
            Decision("Approve S04", "Finance", dt.date(2026, 12, 19)),
            Decision("Wait", "", dt.date(2026, 12, 24)),
        ),
        currency="EUR",
        locale="de-DE",
        paper="Letter",
        pdf_variant="pdf/a-3b",
    )


@pytest.mark.parametrize(
    "grids",
    [
        [],
        [grid(("Title", "x"), name="Scenarios")],
        [grid(("Quarter", "Sales"), ("Q1", 5))],
        [grid(("Title", "x"), ours=True)],
    ],
    ids=["none", "another name", "another table", "planner's own"],
)
def test_without_settings_the_usual_ones_hold(grids):
    read = read_settings(grids)
    assert (read.settings, read.issues) == (Settings(), ())


@pytest.mark.parametrize("text", ["de", "de-DE", "fr-FR", "ja-JP", "ar-EG", "en-IN", "zh-Hant-TW", "pt-BR"])
def test_locales_that_are_known(text):
    assert Settings(locale=text).locale == text


def test_the_starters_sheet_has_every_setting_and_is_read_when_filled(tmp_path):
    book = tmp_path / "plan.xlsx"
    write_starter(book, SAMPLE[:1])
    assert plan_workbook(book).settings == Settings()
    workbook = openpyxl.load_workbook(book)
    rows = {row[0].value: row for row in workbook["Report"].iter_rows(min_row=5)}
    assert list(rows) == [setting.label for setting in settings().values()]
    rows["Title"][1].value = "Plan"
    rows["Decision"][1].value, rows["Decision"][2].value = "Go", "me"
    rows["Decision"][3].value = dt.date(2026, 12, 12)
    workbook.save(book)
    study = plan_workbook(book)
    assert study.settings == Settings(title="Plan", decisions=(Decision("Go", "me", dt.date(2026, 12, 12)),))
    assert not any(issue.sheet == "Report" for issue in study.issues)


# What is not


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("Title", "t" * 301), "Report!B2: Title has 301 characters; expected at most 300."),
        (("Status", "done"), "Report!B2: Status is 'done'; expected one of draft, final."),
        (("Paper", "A5"), "Report!B2: Paper is 'A5'; expected one of A4, Letter."),
        (("PDF variant", "x"), "Report!B2: PDF variant is 'x'; expected one of pdf/ua-1, pdf/a-3b, pdf/a-3a."),
        *(
            (("Currency", typed), f"Report!B2: Currency is '{typed}'{hint}; expected {_CODES}.")
            for _CODES in ["a currency's code such as USD, EUR or JPY"]
            for typed, hint in (
                ("euro", " (did you mean EUR?)"),
                ("US dollar", " (did you mean USD?)"),
                ("EUT", " (did you mean EUR?)"),
                ("dollars", ""),
                ("kr", ", which may be SEK or NOK or DKK"),
                ("EUR and USD", ""),
                ("XAU", " (did you mean XAF?)"),
            )
        ),
        *(
            (("Locale", typed), f"Report!B2: Locale is '{typed}'; expected {_TAGS}.")
            for _TAGS in ["a language and country such as en-US, de-DE, fr-FR"]
            for typed in ("xx-YY", "german", "tlh", "../../etc", "de-DE-latin-1", "C")
        ),
        (("Decision", "d", "o", "12/11/2026"), "Report!D2: By is '12/11/2026'; expected a date such as 2026-12-12."),
        (("Decision", "d", "o", "2026-02-30"), "Report!D2: By is '2026-02-30'; expected a date such as 2026-12-12."),
        (("Decision", "a|b|2026-12-12|d"), "Report!B2: Decision has 4 parts; expected decision | owner | date."),
        (("Notes", "x" * 2001), "Report!B2: Notes has a paragraph of 2,001 characters; expected at most 2,000."),
        (("Notes", "a\n" * 9), "Report!B2: Notes has 9 paragraphs; expected at most 8."),
        (
            ("Logo", "nope.png"),
            "Report!B2: Logo is 'nope.png', and there is no such file; expected a PNG, JPEG, WebP or GIF file.",
        ),
        (
            ("Contact", Cell("#REF!", error=True)),
            "Report!B2: Contact is #REF!, an error of the workbook; expected text.",
        ),
        (
            ("Contact", Cell(None, formula=True)),
            "Report!B2: Contact is a formula without a stored value; expected text.",
        ),
        (("Titel", "x"), "Report!A2: 'Titel' is no setting that planner knows, so it is not read. Did you mean Title?"),
        (
            ("Qwertz", "x"),
            "Report!A2: 'Qwertz' is no setting that planner knows, so it is not read. The keys are "
            f"{', '.join(setting.label for setting in settings().values())}.",
        ),
        (("Subtitle", "twice"), "Report!B2: Subtitle stands a second time; the one at B1 is used."),
    ],
)
def test_what_is_said_of_a_value(row, message, tmp_path):
    assert said(("Subtitle", "s"), row, folder=tmp_path) == [message]


def test_every_issue_is_said_at_once_and_good_settings_hold(tmp_path):
    book = tmp_path / "plan.xlsx"
    write_starter(book, SAMPLE[:1])
    workbook = openpyxl.load_workbook(book)
    if "Report" in workbook.sheetnames:
        del workbook["Report"]
    sheet = workbook.create_sheet("Report")
    for row in (("Title", "Plan"), ("Paper", "A5"), ("Locale", "??"), ("Decision", "d", None, "soon"), ("Ttile", 1)):
        sheet.append(row)
    workbook.save(book)
    study = plan_workbook(book)
    ours = [issue for issue in study.issues if issue.sheet == "Report"]
    assert [(issue.cell, issue.severity) for issue in ours] == [
        ("B2", Severity.ERROR),
        ("B3", Severity.ERROR),
        ("D4", Severity.ERROR),
        ("A5", Severity.WARNING),
    ]
    assert study.settings == Settings(title="Plan", decisions=("d",))
    assert len(study.cases) == 1
    done = CliRunner().invoke(main, ["check", str(book)])
    assert done.exit_code == 1
    for issue in ours:
        assert f"Report!{issue.cell}" in done.output


def test_bad_settings_in_python_are_all_said_in_one():
    with pytest.raises(PlannerError) as caught:
        Settings(paper="A5", status="x", title="fine")
    assert str(caught.value) == (
        "Status is 'x'; expected one of draft, final. Paper is 'A5'; expected one of A4, Letter."
    )


@pytest.mark.parametrize(
    "name",
    [
        "/etc/logo.png",
        "../logo.png",
        "a/../../logo.png",
        "..\\logo.png",
        r"\\server\share\logo.png",
        "//server/share/logo.png",
        "C:logo.png",
        r"C:\logo.png",
        "link/logo.png",
    ],
)
def test_a_workbook_names_no_logo_outside_its_folder(name, tmp_path):
    folder = tmp_path / "plans"
    folder.mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "logo.png")
    (folder / "link").symlink_to(tmp_path)
    assert said(("Logo", name), folder=folder) == [
        f"Report!B1: Logo is '{name}', outside the workbook's folder; expected a file in it, or another by --logo."
    ]


def test_a_logo_in_the_folder_of_the_workbook_is_found_and_one_given_wins(tmp_path):
    (tmp_path / "pictures").mkdir()
    for name in ("pictures/a.png", "b.png"):
        Image.new("RGB", (9, 9)).save(tmp_path / name)
    read = read_settings([grid(("Logo", "pictures/a.png"))])
    assert complete(read, tmp_path, {})[0].logo == str(tmp_path / "pictures/a.png")
    given = str(tmp_path / "b.png")
    assert complete(read, tmp_path, {"logo": given})[0].logo == given


# Options


def test_an_option_wins_over_the_sheet():
    base = Settings(title="Sheet", paper="Letter", decisions=("a",))
    over = overridden(base, {"title": "Option", "decisions": ("b | me | 2026-12-12",), "paper": ""})
    assert (over.title, over.paper) == ("Option", "Letter")
    assert over.decisions == (Decision("b", "me", dt.date(2026, 12, 12)),)


@pytest.mark.parametrize("command", ["run", "batch"])
def test_the_options_of_the_report_stand_apart_below_all_others(command):
    text = CliRunner().invoke(main, [command, "--help"]).output
    others, report = text.split("\nOptions of the report, which win over the workbook's sheet Report:\n")
    options, _, _ = report.partition("\n\n")
    assert re.findall(r"^  (--[a-z-]+)", options, re.MULTILINE) == [option_of(name) for name in settings()]
    told = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", others, re.MULTILINE)
    assert {"--output", "--no-pdf", "--as-of", "--force", "--sheet", "--strict", "--json", "--help"} <= set(told)
    assert not {option_of(name) for name in settings()} & set(told)
    # Rows, cells and blanks are the sheet's to speak of.
    assert not re.search(r"\b(row each|Blank:|On the command line|column C)\b", options)
    assert "summary.pdf" in others if command == "batch" else "summary" not in others


def test_the_help_of_sweep_says_what_it_needs_and_how_it_ends():
    text = " ".join(CliRunner().invoke(main, ["sweep", "--help"]).output.split())
    assert "WORKBOOK holds scenarios to vary" in text
    assert "Without it -d, -m, -b and -c are needed." in text
    assert "Exit codes: 0 all done; 1 rows of the workbook were left out; 2 could not run." in text
    refused = CliRunner().invoke(main, ["sweep", "-d", "H100 SXM", "-m", "qwen3-32b"])
    assert (refused.exit_code, "Nothing is given for contexts, batches" in refused.output) == (2, True)


@pytest.mark.parametrize("command", ["run", "batch"])
def test_the_documents_version_is_not_taken_for_the_programs(command):
    options = {word for option in main.commands[command].params for word in option.opts}
    assert "--document-version" in options
    assert "--version" not in options
    refused = CliRunner().invoke(main, [command, "x.xlsx", "--version"])
    assert (refused.exit_code, "--version" in refused.output) == (2, True)
    again = command_of(
        Path("a.xlsx"),
        Path("a.pdf"),
        dt.datetime(2026, 11, 29),
        options=Options(),
        given={"version": "1.2"},
        further=(),
    )
    assert again.endswith(" --document-version 1.2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--locale", "xx-YY"], "Locale is 'xx-YY'; expected a language and country such as en-US, de-DE, fr-FR."),
        (["--decision", "a | b | soon"], "By is 'soon'; expected a date such as 2026-12-12."),
        (["--logo", "nope.png"], "Logo is 'nope.png', and there is no such file; expected a PNG, JPEG, WebP or GIF"),
        (["--as-of", "yesterday"], "--as-of is 'yesterday'; expected a date such as 2026-11-29"),
    ],
)
def test_a_bad_option_stops_the_run_and_writes_nothing(words, message, tmp_path):
    book = tmp_path / "plan.xlsx"
    write_starter(book, SAMPLE[:1])
    done = CliRunner().invoke(main, ["run", str(book), *words])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert [file.name for file in tmp_path.iterdir()] == ["plan.xlsx"]
