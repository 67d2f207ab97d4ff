"""What the register says of all scenarios together is what their objects say one by one."""

import dataclasses
import random

import pytest
from test_table import grid

from planner.plan.scenario import Scenario
from planner.plan.study import make_study, study_of
from planner.report.inputs import Inputs
from planner.report.register import filled_table, register_table
from planner.table import read_table

HEADS = ["Name", "Device", "Model", "Precision", "Batch", "Devices", "Efficiency", "Notes"]


def read(count, seed=1):
    """A study of rows below two headers, some of which cannot run."""
    dice = random.Random(seed)
    rows = [HEADS]
    for number in range(count):
        if number == count // 2:
            rows.append([None, *HEADS])
        row = [f"S{number}", dice.choice(["H100 SXM", "A100 SXM4 80GB", "Nonesuch"]), "Llama-3.1-8B"]
        row += [dice.choice(["FP16", "FP8", None]), dice.choice([1, 2, number]), dice.choice([1, None]), 0.8, None]
        rows.append(row if number < count // 2 else [None, *row])
    table = read_table([grid(*rows)])
    return make_study(table.entries, skipped=table.skipped, completed=table.completed)


@pytest.mark.parametrize("seed", range(3))
def test_the_registers_are_the_same_from_columns_and_from_scenarios(seed):
    study = read(600, seed)
    assert study.columns is not None
    assert study.skipped
    bare = dataclasses.replace(study, columns=None)
    for table in (register_table, filled_table):
        assert table(Inputs(study)) == table(Inputs(bare))
        assert table(Inputs(study)).rows


def test_cells_are_told_column_by_column_in_the_order_of_the_scenarios():
    study = read(600)
    inputs = Inputs(study)
    places = inputs.there("batch", range(len(inputs.kinds)))
    cells = [case.origin.cells["batch"] for case in study.cases]
    first, second = (sorted(int(cell[1:]) for cell in cells if cell[0] == letter) for letter in "EF")
    assert len(first) + len(second) == len(study.cases)
    said = inputs.cells("batch", places, 10**6).split(", ")
    told = [(text[0], int(text.split(":")[0][1:]), int(text.split(":")[-1][1:])) for text in said]
    rows = {letter: [row for of, low, high in told if of == letter for row in range(low, high + 1)] for letter in "EF"}
    assert rows == {"E": first, "F": second}
    assert [of for of, _, _ in told] == sorted(of for of, _, _ in told)


def test_a_study_without_scenarios_has_the_fixed_assumptions_alone():
    inputs = Inputs(make_study([]))
    assert len(register_table(inputs).rows) == 5
    assert not filled_table(inputs).rows


def test_scenarios_made_in_python_have_no_cells():
    inputs = Inputs(study_of([Scenario(weights_gb=140, bandwidth_gb_s=3350, batch=4)]))
    assert [head.label for head in register_table(inputs).heads] == [
        "No.", "Assumption", "Value", "Unit", "Scenarios", "Source",
    ]  # fmt: skip
