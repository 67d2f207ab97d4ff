"""What a host gets for what it passes in: scalars, ranges, empties, texts and bad cells."""

from __future__ import annotations

import itertools
import random

import ironcalc
import numpy as np
import pytest

from planner import functions as listed
from planner.cli_functions import _EXAMPLE
from planner.for_excel import for_excel
from planner.functions import BY_NAME, EXCEL_FUNCTIONS
from planner.workbook.write import _Workbook

RATE = for_excel(BY_NAME["TOKENS_PER_SEC"])
WEIGHTS = for_excel(BY_NAME["WEIGHTS_GB"])


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ((140, 3350, 0.85), 3350 * 0.85 / 140),
        ((140, 3350, 85), 3350 * 0.85 / 140),
        (("140", "3350", "85 %"), 3350 * 0.85 / 140),
        (("140", "3350", "0,85"), 3350 * 0.85 / 140),
        ((140, 3350), 3350 / 140),
        ((140, 3350, None), 3350 / 140),
        ((140, 3350, ""), 3350 / 140),
        ((None, 3350), ""),
        (("", 3350, 0.85), ""),
        ((-140, 3350), "weights_gb is -140; expected a number above 0"),
        ((140, True), "bandwidth_gb_s is TRUE; expected a number above 0"),
        (("3,350", 1), "weights_gb is 3,350; expected a number above 0"),
        ((140, 3350, 1.2), "efficiency is 1.2; expected a ratio above 0 to 1, or 10 to 100 for percent"),
        ((140, 3350, "1500%"), "efficiency is 1500%; expected a ratio above 0 to 1, or 10 to 100 for percent"),
        ((float("inf"), 1), "weights_gb is INF; expected a number above 0"),
        ((float("nan"), 1), "weights_gb is NAN; expected a number above 0"),
        # An empty required argument speaks before a bad one, and the first bad one before the next.
        ((-1, None), ""),
        ((-1, -1, -1), "weights_gb is -1; expected a number above 0"),
    ],
)
def test_single_cells(arguments, value):
    found = RATE(*arguments)
    assert found == (pytest.approx(value, rel=1e-15) if isinstance(value, float) else value)


def test_shapes_broadcast_as_excels_do():
    down, across = [[14], [35]], [[1008, 2039, 3350]]
    assert RATE(down, across) == [[b / w for b in across[0]] for (w,) in down]
    assert RATE([14, 35], 1008) == [[72.0, 28.8]]
    assert RATE([[14, 35], [70, 140]], 1400) == [[100.0, 40.0], [20.0, 10.0]]
    assert RATE(np.array([[14.0], [35.0]]), 1008) == [[72.0], [28.8]]
    assert RATE([[14]], [[1008]]) == 72.0


def test_a_bad_or_empty_cell_spoils_only_itself():
    assert RATE([[14], [-1], [None], ["x"], [70]], 1400) == [
        [100.0],
        ["weights_gb is -1; expected a number above 0"],
        [""],
        ["weights_gb is x; expected a number above 0"],
        [20.0],
    ]


def test_a_range_that_does_not_reach_says_so_where_it_ends():
    found = RATE([[14], [28]], [[1400], [1400], [1400]])
    assert found[:2] == [[100.0], [50.0]]
    assert found[2] == ["weights_gb has no value here; expected ranges of one shape"]


def test_precisions_by_name_and_by_bits():
    assert WEIGHTS(70, "fp16") == 140
    assert WEIGHTS(70, [["int8", "Q4_K_M", 4.5, "4.5"]]) == [[70, 70 * 4.85 / 8, 39.375, 39.375]]
    assert WEIGHTS(70, "FP99").startswith("precision is FP99; expected a precision such as")


@pytest.mark.parametrize("lie", list(itertools.product((False, True), repeat=2)))
def test_the_speed_table_lies_one_way_whatever_way_the_ranges_lie(lie):
    weights, bandwidths = [14, 35, 70, 140], [1008, 2039, 3350]
    flat = [list(row) for row in ([weights], [bandwidths])]
    given = [[[x] for x in row[0]] if down else row for down, row in zip(lie, flat, strict=True)]
    table = for_excel(BY_NAME["SPEED_TABLE"])(*given)
    assert table == [[b / w for b in bandwidths] for w in weights]


@pytest.mark.parametrize("function", EXCEL_FUNCTIONS, ids=lambda f: f.name)
def test_ten_thousand_rows_are_one_call(function):
    """Speed itself is measured by the benchmarks; here only that a range is one table."""
    example = [_EXAMPLE[a.name] for a in function.arguments]
    column = [[text] for text in [example[0]] * 200]
    found = for_excel(function)(column, *example[1:])
    assert len(found) == 200
    assert all(row == found[0] for row in found)
    assert isinstance(found[0][0], float)


ODD = [None, "", 85, 0.85, 1, 0, -3, 1.5, 10, 100, 101, "85%", "85 %", "0,5", "3.350", "3,350", "x", "140", "-140", " 12 ",
       "1e3", "1.2.3", "12.5", "0.125", "12.125", "1234.125", ".5", "5.", "+7", "%", "1500%", "100%", "0%", "FP16", "q4_k_m", "FP*",
       "?P16", "8 bits", "3.35 TB/s", True, False, 1e300, 1e-9, 123456.789]  # fmt: skip


def test_python_and_lambda_give_the_same_answer_or_the_same_refusal(tmp_path):
    """Random arguments, good and bad, through the one wrapper and through the LAMBDA that IronCalc evaluates."""
    chance = random.Random(20261129)
    path = tmp_path / "hosts.xlsx"
    workbook = _Workbook(str(path))
    sheet = workbook.add_worksheet("Calls")
    for name, text in listed.lambdas().items():
        workbook.define_name(name, f"={text}")
    calls = []
    for function in EXCEL_FUNCTIONS:
        for _ in range(120):
            arguments = [
                chance.choice(ODD) if chance.random() < 0.35 else _good(chance, argument)
                for argument in function.arguments
            ]
            row = len(calls)
            for column, value in enumerate(arguments):
                if isinstance(value, str):
                    sheet.write_string(row, column, value)
                elif value is not None:
                    sheet.write(row, column, value)
            cells = ",".join(f"{chr(65 + column)}{row + 1}" for column in range(len(arguments)))
            sheet.write_formula(row, 12, f"={function.name}({cells})", None, 0)
            calls.append((function, arguments))
    workbook.close()
    model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
    model.evaluate()
    numbers = refusals = 0
    for row, (function, arguments) in enumerate(calls, 1):
        own, excel = for_excel(function)(*arguments), model.get_cell_value(0, row, 13)
        where = (function.name, arguments, own, excel)
        if isinstance(own, float):
            assert excel == pytest.approx(own, rel=1e-9), where
            numbers += 1
        elif own == "":
            assert (excel or "") == "", where
        else:
            # The wording is the same; a number inside it may be spelt otherwise.
            assert isinstance(excel, str), where
            assert excel.split(" is ")[0] == own.split(" is ")[0], where
            assert excel.rpartition("; expected ")[2] == own.rpartition("; expected ")[2], where
            refusals += 1
    assert numbers > 300
    assert refusals > 300


def _good(chance, argument):
    typed = _EXAMPLE[argument.name]
    return chance.choice([typed, round(chance.uniform(1, 9), 3) if typed[0].isdigit() and "%" not in typed else typed])
