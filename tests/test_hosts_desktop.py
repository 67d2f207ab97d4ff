"""The UDFs through the real xlwings: what it writes as VBA, what it tells Excel, and how it calls them."""

# ruff: noqa: ARG002, N802  the names of Excel and what it passes

from __future__ import annotations

import importlib
import inspect
import math
import re
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.cli_functions import _EXAMPLE
from planner.for_excel import for_excel
from planner.functions import BY_NAME, EXCEL_FUNCTIONS

sys.path.insert(0, str(Path(__file__).parent))
import fake_excel

pytest.importorskip("xlwings", reason="xlwings is not here; `pip install xlwings` would run this")

# Words that VBA keeps for itself; an argument of such a name would break the whole module.
VBA_KEYWORDS = set(
    """
    addressof alias and any as attribute base binary boolean byref byte byval call case cbool cbyte ccur cdate
    cdbl cdec cint class clng close compare const continue cstr csng currency cvar date decimal declare
    defbool defbyte defint deflng dim do double each else elseif empty end endif enum eqv erase error event
    exit explicit false for friend function get gosub goto if imp implements in input integer is let lib like
    line lock long longlong longptr loop lset me mid mod name new next not nothing null object of on open
    option optional or output paramarray preserve print private property ptrsafe public put raiseevent random
    read redim rem resume return rset seek select set single static step stop string sub tab text then time to
    true type until variant wend while width with withevents write xor caller
    """.split()  # noqa: SIM905  a list of words
)
GOOD = {
    "weights_gb": 140.0, "bandwidth_gb_s": 3350.0, "efficiency": 0.85, "batch": 8.0, "tokens_per_sec": 20.0,
    "prompt_tokens": 2000.0, "prefill_tokens_per_sec": 9000.0, "output_tokens": 500.0, "response_time_s": 25.0,
    "requests_per_hour": 1200.0, "occupancy": 0.5, "devices": 2.0, "params_b": 70.0, "precision": "FP16",
    "to_precision": 4.0, "device_bandwidth_gb_s": 3350.0, "device_memory_gb": 80.0, "usable_share": 0.9,
}  # fmt: skip
GOOD = {
    name: float(text.removesuffix("%")) / (100 if "%" in text else 1) if text[0].isdigit() else text
    for name, text in _EXAMPLE.items()
} | GOOD
BITS = {"FP16": 16.0, "FP8": 8.0, "INT4": 4.0}


@pytest.fixture(scope="module")
def excel():
    """xlwings as on Windows, with our module as it finds it there."""
    with pytest.MonkeyPatch.context() as patch, fake_excel.windows_xlwings(patch) as xlwings:
        yield SimpleNamespace(
            xlwings=xlwings,
            udfs=importlib.import_module("xlwings.udfs"),
            server=importlib.import_module("xlwings.com_server").XLPython(),
            desktop=importlib.import_module("planner.hosts.desktop"),
        )


@pytest.fixture
def call(excel):
    """A call as the VBA of a cell makes it."""

    def through(name, *arguments):
        return excel.server.CallUDF("planner.hosts.desktop", name, arguments, None, fake_excel.Values(None))

    return through


def as_com(table):
    return tuple(tuple(row) for row in table)


def good(function):
    return [GOOD[argument.name] for argument in function.arguments]


@pytest.fixture(params=EXCEL_FUNCTIONS, ids=lambda function: function.name)
def function(request):
    return request.param


def test_it_imports_as_plain_python_where_there_is_no_excel():
    from planner.hosts import desktop

    assert desktop.TOKENS_PER_SEC(140, 3350, 0.85) == pytest.approx(20.339286)
    assert desktop.TOKENS_PER_SEC.__name__ == "TOKENS_PER_SEC"
    assert not hasattr(desktop.TOKENS_PER_SEC, "__xlfunc__")


def test_nothing_of_the_stand_ins_stays():
    # Asked of a new process, since this one holds the stand-ins while the fixture lives.
    import subprocess

    code = """
import sys
sys.path.insert(0, "tests")
import pytest, xlwings, fake_excel
from planner.hosts import desktop
before = {name: id(module) for name, module in sys.modules.items()}
with pytest.MonkeyPatch.context() as patch, fake_excel.windows_xlwings(patch):
    from planner.hosts import desktop as other
    assert other is not desktop and hasattr(other.TOKENS_PER_SEC, "__xlfunc__")
from planner.hosts import desktop as again
assert again is desktop
left = {n: id(m) for n, m in sys.modules.items() if fake_excel._concerned(n)}
assert left == {n: before[n] for n in before if fake_excel._concerned(n)}, set(left) ^ set(before)
assert sys.platform == "linux" and not hasattr(__import__("ctypes"), "windll")
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False,
                          cwd=Path(__file__).parent.parent)  # fmt: skip
    assert not done.returncode, done.stderr


def test_every_function_is_a_udf_and_nothing_else_is(excel):
    found = {name for name, value in vars(excel.desktop).items() if hasattr(value, "__xlfunc__")}
    assert found == set(BY_NAME)


def test_declaration(excel, function):
    declared = getattr(excel.desktop, function.name)
    info = declared.__xlfunc__
    assert info["name"] == function.name
    assert info["category"] == "planner"
    # False made every cell 0 on opening.
    assert info["call_in_wizard"]
    assert info["ret"]["options"] == {}
    parameters = inspect.signature(declared).parameters
    assert [name.removesuffix("_") for name in parameters] == [a.name for a in function.arguments]
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    for argument, told in zip(function.arguments, info["args"], strict=True):
        assert ("optional" in told) == argument.optional
        assert told.get("optional") is None
        assert told["options"] == {"ndim": 2, "err_to_str": True}


def test_names_are_fit_for_vba(excel, function):
    names = [p.casefold() for p in inspect.signature(getattr(excel.desktop, function.name)).parameters]
    assert not VBA_KEYWORDS & {*names, function.name.casefold()}
    # VBA knows no case: one spelling of a name rules a project, and the cell would show tokens_per_sec().
    assert not {name.casefold() for name in BY_NAME} & set(names)
    assert all(re.fullmatch(r"[a-z]\w*", name) for name in names)


def test_the_vba_that_xlwings_writes(excel, tmp_path):
    path = tmp_path / "udfs.bas"
    with path.open("w") as file:
        excel.udfs.generate_vba_wrapper(
            "planner.hosts.desktop", excel.desktop, file, SimpleNamespace(Name="planner.xlam")
        )
    heads = dict(re.findall(r"^Function (\w+)\((.*)\)$", path.read_text(), re.MULTILINE))
    assert heads.keys() == BY_NAME.keys()
    for function in EXCEL_FUNCTIONS:
        declared = [a.removesuffix("_") for a in heads[function.name].split(", ")]
        assert declared == [f"Optional {a.name}" if a.optional else a.name for a in function.arguments]


class Workbook:
    """The workbook into which functions are imported; it keeps what xlwings tells Excel."""

    Name = "planner.xlam"

    def __init__(self):
        self.Application = self
        self.Version = "16.0"
        self.VBProject = SimpleNamespace(VBComponents=self)
        self.Worksheets = []
        self.imported, self.told = "", {}

    def __call__(self, name):
        raise fake_excel.ComError

    def Import(self, path):
        self.imported = Path(path).read_text()

    def Remove(self, component):
        raise AssertionError(f"{component} was not there")

    def MacroOptions(self, macro, **options):
        self.told[macro] = options


def test_what_excel_is_told_of_the_functions(excel, caplog):
    book = Workbook()
    with caplog.at_level("INFO"):
        excel.udfs.import_udfs("planner.hosts.desktop", book)
    assert book.told.keys() == {f"'planner.xlam'!{name}" for name in BY_NAME}
    assert book.imported.startswith('Attribute VB_Name = "xlwings_udfs"')
    for function in EXCEL_FUNCTIONS:
        options = book.told[f"'planner.xlam'!{function.name}"]
        assert options["Category"] == "planner"
        assert options["Description"] == function.summary
        assert len(options["ArgumentDescriptions"]) == len(function.arguments)
        for argument, text in zip(function.arguments, options["ArgumentDescriptions"], strict=True):
            assert len(text) <= 255
            assert argument.rule.accepted in text
            assert ("if left out" in text) == argument.optional
    told = book.told["'planner.xlam'!TOKENS_PER_SEC"]
    assert told["ArgumentDescriptions"][1].startswith("Aggregate bandwidth (GB/s): a number above 0.")
    assert told["ArgumentDescriptions"][2].startswith(
        "Efficiency: a ratio above 0 to 1, or 10 to 100 for percent; 1 if left out."
    )


def test_long_help_is_cut_where_excel_cuts(excel):
    assert excel.desktop.help_text("x" * 255) == "x" * 255
    assert excel.desktop.help_text("x" * 256) == "x" * 254 + "…"


def test_scalars_give_what_the_formula_gives(call, function):
    given = good(function)
    python = function.formula(*(BITS.get(value, value) for value in given))
    found = call(function.name, *given)
    assert found == for_excel(function)(*given)
    assert math.isclose(found, python, rel_tol=1e-12)


def test_a_cell_is_as_good_as_its_value(call, function):
    given = good(function)
    assert call(function.name, *map(fake_excel.Values, given)) == call(function.name, *given)


# Rows, columns and tables in every argument; the shapes broadcast as Excel's own do.
SHAPES = [(1, 3), (3, 1), (2, 3), (1, 1), (4, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("as_range", [True, False], ids=["range", "array"])
def test_ranges_keep_their_shape(call, function, shape, as_range):
    rows, columns = shape
    for index in range(len(function.arguments)):
        given = good(function)
        if isinstance(given[index], str):
            given[index] = 16.0
        step = 0.01 if given[index] < 1 else 1.0
        table = [[given[index] + step * (columns * r + c) for c in range(columns)] for r in range(rows)]
        expected = for_excel(function)(*(table if n == index else value for n, value in enumerate(given)))
        given[index] = fake_excel.Values(as_com(table)) if as_range and shape != (1, 1) else as_com(table)
        found = call(function.name, *given)
        # A single row comes back flat, which is a row for Excel.
        assert found == (expected[0] if isinstance(expected, list) and len(expected) == 1 else expected)
    if not function.spread:
        assert shape == (1, 1) or len(found) == (columns if rows == 1 else rows)


def test_a_flat_array_is_a_row(call):
    # As COM hands over {140,280}.
    assert call("CEILING_TOKENS_PER_SEC", (140.0, 280.0), 2800.0) == [20.0, 10.0]


def test_a_speed_table_from_two_columns(call):
    weights, bandwidths = fake_excel.Values(((140.0,), (35.0,))), fake_excel.Values(((1400.0,), (2800.0,), (4200.0,)))
    assert call("SPEED_TABLE", weights, bandwidths) == [[10.0, 20.0, 30.0], [40.0, 80.0, 120.0]]


EMPTIES = {
    "None": None,
    "''": "",
    "a blank cell": fake_excel.Values(None),
    "a cell of an empty text": fake_excel.Values(""),
}


@pytest.mark.parametrize("empty", EMPTIES.values(), ids=EMPTIES)
def test_an_empty_required_argument_gives_empty_and_an_empty_optional_one_its_default(call, function, empty):
    for index, argument in enumerate(function.arguments):
        given = good(function)
        given[index] = empty
        found = call(function.name, *given)
        if argument.optional:
            given[index] = argument.default
            assert found == call(function.name, *given)
        else:
            assert found == ""


def test_an_omitted_argument_takes_its_default(call, function):
    given = good(function)
    required = sum(not a.optional for a in function.arguments)
    given[required:] = [fake_excel.MISSING] * (len(given) - required)
    defaults = [a.default for a in function.arguments[required:]]
    assert call(function.name, *given) == call(function.name, *good(function)[:required], *defaults)


ERRORS = {
    -2146826281: "#DIV/0!",
    -2146826246: "#N/A",
    -2146826259: "#NAME?",
    -2146826238: "#CALC!",
    -2146826243: "#SPILL!",
}


@pytest.mark.parametrize(("code", "shown"), ERRORS.items(), ids=ERRORS.values())
def test_an_error_is_no_empty_cell(call, function, code, shown):
    for index, argument in enumerate(function.arguments):
        given = good(function)
        given[index] = fake_excel.Values(code)
        assert call(function.name, *given) == f"{argument.name} is {shown}; expected {argument.rule.accepted}"


def test_a_bad_cell_spoils_only_itself(call):
    weights = fake_excel.Values(((140.0,), (-1.0,), (None,), ("140",), (-2146826246,)))
    assert call("CEILING_TOKENS_PER_SEC", weights, 2800.0) == [
        [20.0],
        ["weights_gb is -1; expected a number above 0"],
        [""],
        [20.0],
        ["weights_gb is #N/A; expected a number above 0"],
    ]


def test_a_currency_format_changes_no_number(call):
    assert call("CEILING_TOKENS_PER_SEC", fake_excel.Values(Decimal(140)), 2800.0) == 20.0
    assert call("CEILING_TOKENS_PER_SEC", fake_excel.Values(((Decimal(140), 280.0),)), 2800.0) == [20.0, 10.0]


def test_a_truth_value_is_refused(call):
    assert call("CEILING_TOKENS_PER_SEC", True, 2800.0) == "weights_gb is TRUE; expected a number above 0"


def test_ten_thousand_cells_in_one_call(call):
    table = tuple((float(n),) for n in range(1, 10_001))
    found = call("TOKENS_PER_SEC", fake_excel.Values(table), 3350.0, 0.85)
    assert len(found) == 10_000
    assert found[139][0] == for_excel(BY_NAME["TOKENS_PER_SEC"])(140, 3350, 0.85)
