"""Files made to hurt, or by programs that nobody tried: within seconds and a gigabyte, or one clear line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
import richbook
import xlsxwriter

pytestmark = pytest.mark.filterwarnings("ignore:.*not supported and will be removed:UserWarning")

# What a run may take on a slow machine; most take a second.
SECONDS = 60
GIGABYTE = 1_000_000_000
MEASURED = """
import pathlib, re, sys
from planner.cli import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    # The process's own peak: the one that getrusage tells counts the tests' process from which it was forked.
    used = int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) * 1024
    print("PEAK", used, file=sys.stderr)
    raise
"""
SHEET = "xl/worksheets/sheet1.xml"


def cells(number, row):
    return f'<row r="{number}">' + "".join(
        f'<c r="{chr(65 + n)}{number}"><v>{v}</v></c>' if isinstance(v, int | float)
        else f'<c r="{chr(65 + n)}{number}" t="inlineStr"><is><t>{v}</t></is></c>'
        for n, v in enumerate(row)
    ) + "</row>"  # fmt: skip


GOOD = cells(1, richbook.HEADERS) + cells(2, richbook.ROWS[0])


def sheet(rows, before="", after=""):
    return (
        '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"{before}<sheetData>{rows}</sheetData>{after}</worksheet>"
    ).encode()


@pytest.fixture
def book(tmp_path):
    return richbook.rich_workbook(tmp_path / "book.xlsx")


@pytest.fixture
def measured(book):
    """Runs the command on a workbook whose parts are changed; gives its exit code and what it said."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of memory is read from /proc; Linux would run this")

    def run(changes):
        richbook.with_parts(book, changes)
        before = book.read_bytes()
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, "run", str(book), "--no-pdf"],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert "Traceback" not in said
        assert int(re.search(r"PEAK (\d+)", done.stderr)[1]) < GIGABYTE
        assert book.read_bytes() == before
        return done.returncode, said

    return run


def million_blank_rows():
    return "".join(f'<row r="{n}" s="1" customFormat="1"><c r="A{n}" s="1"/></row>' for n in range(3, 1_000_003))


HARMLESS = {
    "a dimension of the whole sheet": lambda: sheet(GOOD, '<dimension ref="A1:XFD1048576"/>'),
    "50,000 merged cells": lambda: sheet(
        GOOD, after="<mergeCells>" + "".join(f'<mergeCell ref="A{n}:Z{n}"/>' for n in range(10, 50_010)) + "</mergeCells>"
    ),
    "merges of the whole sheet, one on another": lambda: sheet(
        GOOD, after="<mergeCells>" + '<mergeCell ref="A3:XFD1048576"/>' * 5_000 + "</mergeCells>"
    ),
    "a million blank formatted rows": lambda: sheet(GOOD + million_blank_rows()),
    "a column format over all columns": lambda: sheet(GOOD, '<cols><col min="1" max="16384" width="9" style="1"/></cols>'),
    "a filled last cell": lambda: sheet(GOOD + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
    "a style that is not there": lambda: sheet(GOOD.replace('<c r="D2">', '<c r="D2" s="0">')),
    "heights and styles that are no numbers": lambda: sheet(
        GOOD.replace('<row r="2">', '<row r="2" ht="tall" hidden="0">').replace('<c r="D2"', '<c r="D2" s=""')
    ),
    "rows and cells without references": lambda: sheet(re.sub(r' r="\w+"', "", GOOD)),
    "extensions that nobody knows": lambda: sheet(GOOD, after='<extLst><ext uri="{0}"><a xmlns="x"/></ext></extLst>'),
}  # fmt: skip


@pytest.mark.parametrize("what", HARMLESS)
def test_odd_but_readable_files_run(measured, what):
    code, said = measured({SHEET: HARMLESS[what]()})
    assert code == 0, said
    assert "20.34" in said


REFUSED = {
    "an entity bomb in the sheet": (
        lambda: {SHEET: sheet("<row><c><v>&a;</v></c></row>").replace(b"?>", b'?><!DOCTYPE x [<!ENTITY a "' + b"a" * 1000 + b'">]>')},
        "cannot be read as a workbook",
    ),
    "an entity bomb in the strings": (
        lambda: {"xl/sharedStrings.xml": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>&b;</t></si></sst>'},
        "has a document type, which no workbook needs",
    ),
    "a sheet that is no XML": (lambda: {SHEET: sheet("<row>")}, "cannot be read as a workbook"),
    "a cell beyond the last column": (
        lambda: {SHEET: sheet(GOOD + '<row r="3"><c r="ZZZZ9999999"><v>1</v></c></row>')},
        "",
    ),
    "three million cells": (
        lambda: {SHEET: sheet(GOOD + '<row><c s="0"><v>1</v></c></row>' * 2_100_000)},
        "filled cells; planner reads up to 2,000,000",
    ),
    "a sheet without a sheet": (lambda: {SHEET: b"<html/>"}, "is no worksheet"),
    "a string that is not there": (
        lambda: {SHEET: sheet(GOOD + '<row r="3"><c r="A3" t="s"><v>99999</v></c></row>')},
        "cannot be read as a workbook",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_hurtful_files_are_refused_in_one_line(measured, what):
    changes, said = REFUSED[what]
    code, output = measured(changes())
    if said:
        assert code == 2
        assert said in output
        assert len(output.splitlines()) == 2
    assert code in {0, 1, 2}


def test_names_that_look_like_formulas_or_hold_control_characters(tmp_path):
    names = ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\t=1", "a\x07b", "=cmd|'/c calc'!A1"]
    path = tmp_path / "names.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Scenarios")
    sheet.write_row(0, 0, richbook.HEADERS)
    for number, name in enumerate(names, 1):
        sheet.write_row(number, 1, richbook.ROWS[0][1:])
        sheet.write_string(number, 0, name)
    workbook.close()
    from planner.job import Job, run

    outcome = run(Job(source=path, output=path, pdf=None))
    assert outcome.study.cases[0].name == names[0]
    sheet = openpyxl.load_workbook(path)["Results"]
    values = openpyxl.load_workbook(path, data_only=True)["Results"]
    for row in range(2, 2 + len(names)):
        formula = str(sheet.cell(row, 1).value)
        assert formula.startswith("=HYPERLINK(") or sheet.cell(row, 1).data_type == "s"
        assert values.cell(row, 1).data_type == "s"


def test_a_text_loses_what_no_workbook_can_hold_and_says_so():
    from planner.columns import Typed, read_value
    from planner.plan.scenario import COLUMNS

    understood = read_value("name", COLUMNS["name"], Typed("a\x07b\ud800c"))
    assert understood.value == "abc"
    assert "left out" in understood.note
