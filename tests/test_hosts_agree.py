"""One number on every road: Python, the UDF as Excel calls it, the LAMBDA that IronCalc evaluates, the stored cell."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import ironcalc
import openpyxl
import pytest

from planner import catalog
from planner.cli_functions import _EXAMPLE, example_of
from planner.for_excel import for_excel
from planner.functions import EXCEL_FUNCTIONS
from planner.guards import number_of
from planner.job import Job, run

sys.path.insert(0, str(Path(__file__).parent))
import fake_excel

# A call of a result sheet, with a cell for each argument.
A_CALL = re.compile(r"=([A-Z_]+)\(([A-Z$0-9,]+)\)")


@pytest.fixture(scope="module")
def book(sample, tmp_path_factory):
    """The sample's results: openpyxl's two views, and IronCalc's own values."""
    path = tmp_path_factory.mktemp("agree") / "out.xlsx"
    run(Job(source=sample, output=path, pdf=None))
    model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
    formulas, stored = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    calls = {}
    for index, name in enumerate(formulas.sheetnames):
        for row in formulas[name].iter_rows():
            for cell in row:
                found = A_CALL.fullmatch(str(cell.value))
                value = stored[name][cell.coordinate].value
                if found and isinstance(value, float | int):
                    given = [
                        float(place) if place.isdigit() else stored[name][place].value
                        for place in found[2].replace("$", "").split(",")
                    ]
                    calls.setdefault(found[1], (value, (index, cell.row, cell.column), given))
    # Those that no sheet calls so are typed, as people would.
    for row, function in enumerate(EXCEL_FUNCTIONS, 101):
        if function.name not in calls:
            model.set_user_input(1, row, 1, f"={example_of(function)[0]}")
    model.evaluate()
    return calls, model


@pytest.fixture(scope="module")
def call_udf():
    """A call as the VBA of a cell makes it, through the real xlwings on a stand-in for pywin32."""
    with pytest.MonkeyPatch.context() as patch, fake_excel.windows_xlwings(patch):
        server = importlib.import_module("xlwings.com_server").XLPython()
        yield lambda name, *arguments: server.CallUDF(
            "planner.hosts.desktop", name, arguments, None, fake_excel.Values(None)
        )


def _cell_of(book, function):
    """A cell that calls a function with all it needs: its stored value, IronCalc's, and the arguments'."""
    calls, model = book
    if function.name in calls:
        value, place, given = calls[function.name]
        return value, model.get_cell_value(*place), given
    typed = [_EXAMPLE[argument.name] for argument in function.arguments]
    given = [
        number_of(a.rule, text) if text[0].isdigit() else text
        for a, text in zip(function.arguments, typed, strict=True)
    ]
    return None, model.get_cell_value(1, 101 + EXCEL_FUNCTIONS.index(function), 1), given


def test_the_sheets_call_most_functions(book):
    calls, _ = book
    assert len(calls) > 40
    assert {"TOKENS_PER_SEC", "WEIGHTS_GB", "STEP_TIME_MS", "KV_CACHE_GB", "DEVICES_NEEDED"} <= set(calls)


@pytest.mark.parametrize("function", EXCEL_FUNCTIONS, ids=lambda function: function.name)
def test_every_road_gives_the_same_number(book, call_udf, function):
    stored, recalculated, given = _cell_of(book, function)
    numbers = [catalog.precision_bits(value) if isinstance(value, str) else value for value in given]
    python = function.formula(*numbers)
    as_com = [float(value) if isinstance(value, int | float) else value for value in given]
    from_udf = call_udf(function.name, *as_com)
    assert for_excel(function)(*given) == pytest.approx(python, rel=1e-12)
    assert from_udf in (pytest.approx(python, rel=1e-12), [[pytest.approx(python, rel=1e-12)]])
    assert recalculated == pytest.approx(python, rel=1e-12)
    if stored is not None:
        assert stored == pytest.approx(python, rel=1e-12)
