import dataclasses

import pytest

from planner.issues import Issue, PlannerError, Severity
from planner.plan.resolve import resolve
from planner.plan.scenario import Scenario
from planner.plan.study import Entry, Options, Origin, Skipped, Source, make_study, study_of

EXAMPLE = Scenario(
    name="worked example",
    params_b=70,
    precision="FP16",
    bandwidth_gb_s=3350,
    efficiency=0.85,
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    prefill_tokens_per_sec=9000,
)


def entry(row, cells=None, **changes):
    origin = Origin("Scenarios", row, cells or {"name": f"A{row}", "efficiency": f"D{row}"})
    return Entry(resolve(dataclasses.replace(EXAMPLE, devices=1, **changes)), origin)


def issue(row, **said):
    return Issue(severity=Severity.ERROR, code="value", problem="x", row=row, **said)


def test_cases_are_numbered_and_labelled_in_order():
    study = study_of([EXAMPLE, dataclasses.replace(EXAMPLE, name="second")])
    assert [(case.number, case.label, case.name) for case in study.cases] == [
        (1, "S01", "worked example"),
        (2, "S02", "second"),
    ]
    assert study.cases[0].result.tokens_per_sec == pytest.approx(2847.5 / 140)
    assert study.case_of(study.cases[1].result) is study.cases[1]
    assert study.skipped == ()


def test_a_hundred_and_first_case_has_a_longer_label():
    assert study_of([EXAMPLE] * 101).cases[-1].label == "S101"


def test_issues_stand_at_their_cells():
    study = make_study([entry(5, efficiency=None)])
    (said,) = [issue for issue in study.issues if issue.code == "ceiling"]
    assert (said.where, said.row) == ("Scenarios!D5", 5)
    assert study.cases[0].result.issues == study.issues


def test_an_issue_without_a_column_stands_at_the_name():
    study = make_study([entry(5, batch=64)])
    assert [issue.where for issue in study.issues if issue.code == "batch-large"] == ["Scenarios!A5"]


def test_without_a_name_column_it_stands_at_the_row():
    study = make_study([entry(5, {"efficiency": "D5"}, batch=64)])
    assert study.issues[0].where == "Scenarios!A5"


def test_scenarios_made_in_python_have_no_cell():
    study = study_of([dataclasses.replace(EXAMPLE, batch=64)])
    assert {(issue.where, issue.row) for issue in study.issues} == {("", None)}


def test_all_issues_come_in_the_order_of_the_rows():
    study = make_study(
        [entry(3, batch=64), entry(9, efficiency=None)],
        issues=[issue(7), issue(2), issue(None)],
        skipped=[Skipped("bad", Origin("Scenarios", 7))],
    )
    assert [said.row for said in study.issues if said.code in {"value", "batch-large", "ceiling"}] == [
        None,
        2,
        3,
        7,
        9,
    ]
    assert study.skipped[0].name == "bad"


def test_counts_by_severity():
    study = make_study([entry(3, batch=64, efficiency=None)], issues=[issue(2), issue(4)])
    assert study.count(Severity.ERROR) == 2
    assert study.count(Severity.WARNING) == 1
    assert study.count(Severity.NOTE) == sum(said.severity is Severity.NOTE for said in study.issues) > 0


def test_the_study_holds_its_variants_table_and_recommendation():
    study = study_of([EXAMPLE], Options(precisions=("INT8", "FP16"), batches=(1, 8), table_limit=4))
    ((int8, fp16),) = study.by_precision
    assert int8.tokens_per_sec == pytest.approx(2847.5 / 70)
    assert fp16.tokens_per_sec == study.cases[0].result.tokens_per_sec
    ((one, eight),) = study.by_batch
    assert one.aggregate_tokens_per_sec * 8 == pytest.approx(eight.aggregate_tokens_per_sec)
    assert len(study.table.rows) == 4
    assert study.recommendation.best is study.cases[0].result
    assert study.case_of(study.recommendation.best).label == "S01"


def test_a_case_without_precision_has_no_variants():
    study = study_of([Scenario(weights_gb=140, bandwidth_gb_s=3350)])
    assert tuple(study.by_precision) == ((None, None, None),)
    assert len(study.by_batch[0]) == 8


def test_derived_results_are_made_once():
    study = study_of([EXAMPLE])
    assert study.table is study.table
    assert study.recommendation is study.recommendation


def test_an_empty_study_still_has_a_table():
    study = make_study([])
    assert (study.cases, study.issues, tuple(study.by_precision), tuple(study.by_batch)) == ((), (), (), ())
    assert len(study.table.rows) == 4
    assert study.recommendation.best is None


def test_source_and_options_are_kept():
    source = Source("a.xlsx", "abc", "Scenarios")
    assert make_study([], source=source).source == source
    assert make_study([]).source == Source()
    assert make_study([]).options == Options()


def test_a_bad_scenario_in_python_is_named_with_every_problem():
    with pytest.raises(PlannerError) as caught:
        study_of([EXAMPLE, Scenario(weights_gb=-1, efficiency=5), EXAMPLE])
    assert str(caught.value) == (
        "Scenario 2 (unnamed): Weights is -1 GB; expected a number above 0 (GB); Efficiency is 5; expected a ratio "
        "above 0 to 1, or 10 to 100 for percent; Bandwidth is missing; expected Bandwidth per device (GB/s) and "
        "Devices, or Aggregate bandwidth (GB/s)."
    )


MANY = 320


def many():
    """Entries of many kinds, with issues at cells of several columns."""
    kinds = [{}, {"batch": 64}, {"efficiency": None}, {"params_b": 700}, {"prefill_tokens_per_sec": None}]
    return [entry(row, **kinds[row % len(kinds)]) for row in range(2, 2 + MANY)]


def test_issues_of_many_stand_where_those_of_each_do():
    entries = many()
    together = make_study(entries)
    assert together.columns is not None
    for case, each in zip(together.cases, entries, strict=True):
        alone = make_study([each])
        assert case.result == alone.cases[0].result
    assert sum(bool(case.result.issues) for case in together.cases) > MANY // 2
    assert len(together.issues) == sum(len(case.result.issues) for case in together.cases)


def test_a_copy_with_other_cases_has_no_columns_of_the_old_ones():
    study = make_study(many())
    assert len(study.columns) == MANY
    assert study.first(10).columns is None
    assert study.first(10).cases == study.cases[:10]
    assert dataclasses.replace(study, cases=study.cases[5:]).columns is None
    assert dataclasses.replace(study, source=Source(name="x")).columns is study.columns
