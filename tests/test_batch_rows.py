"""The summary's columns: one list, values as evaluated, and enough kept to compare scenarios as a study does."""

from __future__ import annotations

import datetime as dt

import pytest

from planner.batch import pages, summary
from planner.batch.ledger import Done, Status, done_of
from planner.batch.pages import pages_of
from planner.batch.rows import COLUMNS_KEPT, SHOWN, lines, row_of
from planner.batch.summary import summary_sheets
from planner.job import plan_workbook
from planner.plan.basis import fits
from planner.plan.scenario import COLUMNS, FIGURES, figure_header, header_of
from planner.plan.study import Study
from planner.settings import Settings


@pytest.fixture(scope="module")
def study(sample) -> Study:
    return plan_workbook(sample)


@pytest.fixture(scope="module")
def done(study) -> Done:
    kept = Done(
        name="plan.xlsx", source="plan.xlsx", status=Status.DONE, sheet=study.source.sheet, columns=COLUMNS_KEPT,
        rows=tuple(row_of(case) for case in study.cases),
    )  # fmt: skip
    # By way of the ledger, as a second run has it.
    return done_of(kept.as_line())


def test_each_column_is_an_input_a_figure_or_says_how_it_is_taken():
    assert len({shown.name for shown in SHOWN}) == len(SHOWN)
    for shown in SHOWN:
        if shown.column is None:
            assert shown.title
        elif shown.is_input:
            assert (shown.column, shown.title) == (COLUMNS[shown.name], header_of(shown.name))
        else:
            assert (shown.column, shown.title) == (FIGURES[shown.name], figure_header(shown.name))


def test_values_are_those_of_the_results(study, done):
    for case, line in zip(study.cases, lines([done]), strict=True):
        for shown in SHOWN:
            holder = case.result.scenario if shown.is_input else case.result
            value = fits(case.result) if shown.name == "fits" else getattr(holder, shown.name)
            assert line.values[shown.name] == value
        assert line.values["cell"] == case.origin.cells["name"]
        assert line.case.name == case.name
        codes = {(issue.severity, issue.code) for issue in case.result.issues}
        assert {(issue.severity, issue.code) for issue in line.case.result.issues} == codes


def test_what_is_kept_is_enough_to_recommend_as_a_study_does(study, done):
    kept = Study(tuple(line.case for line in lines([done])), (), ()).recommendation
    own = study.recommendation
    assert kept.best.scenario.name == own.best.scenario.name
    assert (kept.steadier and kept.steadier.scenario.name) == (own.steadier and own.steadier.scenario.name)
    for name in ("criterion", "compared", "slow", "not_fitting", "set_aside", "ties", "mixed", "by_estimate"):
        assert getattr(kept, name) == getattr(own, name), name


def test_rows_beyond_a_sheet_go_on_another(done, monkeypatch):
    monkeypatch.setattr(summary, "MOST_ROWS", 4)
    found = lines([done])
    sheets = summary_sheets([done], found, [])
    assert [sheet.name for sheet in sheets] == ["Scenarios", "Scenarios 2", "Scenarios 3", "Workbooks", "Issues"]
    numbers = [cell.value for sheet in sheets[:3] for cell in sheet.cells if cell.column == 0 and cell.row > 0]
    assert numbers == list(range(1, len(found) + 1))


def test_pages_print_what_people_read_and_say_where_the_rest_is(done, monkeypatch):
    monkeypatch.setattr(pages, "MOST_ROWS", 4)
    lost = [
        Done(name=f"{n}.xlsx", source=f"{n}.xlsx", status=Status.REFUSED, reason=f"{n}.xlsx is empty.")
        for n in range(6)
    ]
    told = pages_of([done, *lost], lines([done]), Settings(), dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
    assert [len(table.rows) for table in (told.bad, told.ranking, told.workbooks)] == [4, 4, 1]
    assert told.bad.note == "Two more workbooks on the Workbooks sheet of summary.xlsx."
    assert told.ranking.note == "Five more scenarios on the Scenarios sheet of summary.xlsx."
    assert told.facts[0] == ("Workbooks", "1 done, 6 came to nothing")


def test_pages_of_nothing_say_so():
    lost = Done(name="a.xlsx", source="a.xlsx", status=Status.REFUSED, reason="a.xlsx is empty.")
    told = pages_of([lost], [], Settings(), dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
    assert told.verdict.title == "No workbook has a scenario that could be evaluated"
    assert told.front is None
    assert not told.ranking.rows
