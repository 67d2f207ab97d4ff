"""What a report says of estimates: beside the ceiling, never mixed with it, and with all that they rest on."""

import dataclasses
import datetime as dt

import pytest

from planner.plan.basis import has_estimate, step_parts
from planner.plan.scenario import COLUMNS, Scenario
from planner.plan.study import study_of
from planner.report.model import About, report_of
from planner.report.parts import say

MADE = dt.datetime(2026, 11, 29, 9, 0, tzinfo=dt.UTC)
NAMED = Scenario(
    name="named",
    model="Llama-3.1-70B",
    device="H100 SXM",
    devices=4,
    precision="FP8",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    prefill_tokens_per_sec=9000,
)
PLAIN = Scenario(
    name="plain",
    params_b=70,
    precision="FP16",
    bandwidth_gb_s=3350,
    efficiency=0.85,
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    prefill_tokens_per_sec=9000,
)


def named(**changes):
    return dataclasses.replace(NAMED, **changes)


def report(*scenarios):
    return report_of(study_of(scenarios), About(MADE))


def texts_of(table):
    return [[cell.text for cell in row.cells] for row in table.rows]


# The first page


def test_the_headline_of_a_scenario_with_an_estimate_is_the_estimates():
    study = study_of([named()])
    result = study.cases[0].result
    said = report_of(study, About(MADE))
    requests = say("requests_per_device_per_hour", result.estimated_requests_per_hour / 4)
    assert said.verdict.title == f"S01 serves an estimated {requests} requests an hour per device"
    assert f"{result.estimated_tokens_per_sec:.2f} tok/s (estimate, " in said.verdict.body[0]
    assert f"upper bound {result.tokens_per_sec:.2f}" in said.verdict.body[0]
    assert said.tiles[0].number == f"{result.estimated_tokens_per_sec:.2f}"
    assert all(tile.basis.startswith("estimate, ") for tile in said.tiles)
    assert said.tiles[3].number == requests


def test_without_an_estimate_the_core_is_called_an_upper_bound():
    said = report(PLAIN)
    assert "20.34 tok/s at efficiency 85%, an upper bound" in said.verdict.body[0]
    assert said.estimates is None
    assert "estimate" not in said.sections
    assert said.alerts[-1].head == "Upper bound."


def test_estimates_rank_only_where_all_have_one():
    alone = report(named(), named(name="second", batch=16))
    assert "most estimated requests per hour per device" in alone.verdict.body[1]
    assert alone.alerts[-1].head == "Estimate."
    mixed = report(named(efficiency=0.8), dataclasses.replace(PLAIN, devices=2))
    assert "by upper bounds (only one of two has an estimate)" in mixed.verdict.body[1]


def test_bars_of_upper_bounds_look_otherwise_than_estimates():
    estimated, core = report(named(), PLAIN).bars
    assert estimated.ends is not None
    assert not estimated.outlined
    assert core.ends is None
    assert core.outlined
    assert "upper bound" in core.text
    assert not any(bar.outlined for bar in report(PLAIN, PLAIN).bars)


def test_a_load_above_capacity_is_unstable_in_words():
    said = report(named(offered_requests_per_hour=1e6))
    assert said.verdict.title == "The scenario does not serve its offered load"
    assert said.verdict.body[1].startswith("Set aside: one unstable under the offered load. Use more replicas")
    (row,) = texts_of(said.estimates.load)
    assert row[-1] == "unstable: the queue only grows"


def test_a_load_below_capacity_has_its_wait():
    study = study_of([named(offered_requests_per_hour=500)])
    (row,) = texts_of(report_of(study, About(MADE)).estimates.load)
    assert row[-1] == f"{say('queue_wait_s', study.cases[0].result.queue_wait_s)} s"
    assert report(named()).estimates.load.rows == ()


# The section


def test_the_table_has_the_estimate_beside_the_upper_bound():
    study = study_of([named(), PLAIN])
    said = report_of(study, About(MADE)).estimates.table
    (row,) = texts_of(said)
    result = study.cases[0].result
    assert row[1] == say("tokens_per_sec", result.tokens_per_sec)
    assert row[2] == say("tokens_per_sec", result.estimated_tokens_per_sec)
    assert row[6:8] == [
        say("response_time_s", result.estimated_response_time_s),
        say("requests_per_hour", result.estimated_requests_per_hour),
    ]
    assert row[8] == f"{result.memory_needed_gb:.1f} of {result.usable_memory_gb:.1f}"
    assert said.note.startswith("S02: no estimate")


def test_the_steps_of_the_chart_are_those_of_the_study():
    study = study_of([named(), named(name="b", batch=64)])
    chart = report_of(study, About(MADE)).estimates.steps
    for case, row in zip(study.cases, chart.rows, strict=True):
        assert row.parts == tuple(part.time_ms for part in step_parts(case.result))
        assert row.text == f"{say('step_time_ms', case.result.step_time_ms)} ms"


def test_ranges_stand_against_ceiling_core_and_measurement():
    (row,) = report(named(efficiency=0.8, measured_tokens_per_sec=90)).estimates.ranges.rows
    assert row.ends[0] < row.value < row.ends[1]
    assert row.core == pytest.approx(row.ceiling * 0.8)
    assert row.measured == 90


def test_the_ceiling_of_a_mixture_is_that_of_what_it_reads():
    study = study_of([named(model="gpt-oss-120b", precision=None, devices=1)])
    (row,) = report_of(study, About(MADE)).estimates.ranges.rows
    result = study.cases[0].result
    assert row.ceiling == result.read_ceiling_tokens_per_sec > result.ceiling_tokens_per_sec
    assert row.core is None


def test_what_is_not_modelled_is_said_with_its_scenarios():
    plain = dataclasses.replace(PLAIN, model="Llama-3.1-70B")
    said = report(named(), plain, plain)
    (row,) = texts_of(said.estimates.gaps)
    assert row[0] == "S02, S03"
    assert "range (device class)" in row[1]


# Memory


def test_memory_is_measured_against_what_is_usable():
    study = study_of([named(), named(name="too large", batch=4096)])
    said = report_of(study, About(MADE)).memory
    assert said.chart.figure.title == "One of two does not fit"
    fits, over = said.chart.rows
    result = study.cases[1].result
    assert sum(over.parts) == pytest.approx(result.memory_needed_gb / result.usable_memory_gb)
    assert over.bad
    assert over.text.endswith("does not fit")
    assert not fits.bad
    assert said.table.rows[1].cells[3].marks == "nofit"


def test_the_fullest_are_charted_where_not_all_can_be():
    scenarios = [named(name=f"{n}", batch=n) for n in range(1, 21)]
    rows = report(*scenarios).memory.chart.rows
    assert [row.label for row in rows[:2]] == ["S20 20", "S19 19"]


def test_without_memory_there_is_no_section_on_it():
    assert report(PLAIN).memory is None
    assert "memory" not in report(PLAIN).sections


# Batch


def test_the_estimate_against_the_batch_stands_beside_the_core():
    study = study_of([named(), PLAIN])
    charts = report_of(study, About(MADE)).charts
    assert [line.label for line in charts.lines_per_stream] == ["S01", "S02"]
    (line,) = charts.estimate_per_stream
    assert line.values == tuple(result.estimated_tokens_per_sec for result in study.by_batch[0])
    assert list(line.values) == sorted(line.values, reverse=True)
    assert report(PLAIN).charts.estimate_per_stream == ()


# Assumptions


def test_every_filled_value_has_its_source_and_confidence():
    study = study_of([named()])
    said = report_of(study, About(MADE)).filled
    rows = {row[1]: row for row in texts_of(said)}
    assert "Layers 80" in rows["Catalogue: Llama-3.1-70B"][2]
    assert rows["Catalogue: Llama-3.1-70B"][4].startswith("high: the model's own files")
    measured = next(row for source, row in rows.items() if source.startswith("Public measurements: Data-centre HBM"))
    assert "Fetch efficiency 95%" in measured[2]
    assert "configurations" in measured[4]
    listed = " ".join(row[2] for row in rows.values())
    filled = [name for name, source in study.cases[0].result.sources.items() if source not in {"typed", "default"}]
    assert all(COLUMNS[name].label in listed for name in filled)


def test_a_register_line_of_what_is_typed_does_not_name_what_is_filled():
    labels = [row[1] for row in texts_of(report(named()).register)]
    assert "Devices" in labels
    assert "Layers" not in labels


def test_what_no_figure_rests_on_is_not_listed_as_filled():
    assert report(PLAIN).filled.rows == ()


def test_cards_hold_estimate_and_sources():
    card = report(named()).cards[0]
    facts = {fact.label: fact.value for fact in card.estimate}
    assert facts["Range"].endswith("tok/s")
    assert "catalogue: Llama-3.1-70B" in card.filled
    assert report(PLAIN).cards[0].estimate == ()


def test_texts_of_the_bases_hold_for_the_core_only():
    bases = dict(report(PLAIN).bases)
    assert bases["Upper bound"].startswith("The core counts the read of the weights and nothing else.")
    assert "the estimate counts the experts" in bases["Mixture of experts"]
    terms = {term for term, _ in report(PLAIN).glossary}
    assert {"MFU", "Prefill stall", "Tensor parallelism", "Offered load", "Fetch efficiency"} <= terms


def test_a_study_of_forty_keeps_its_charts_readable():
    study = study_of([named(name=f"{n}", batch=n) for n in range(1, 41)])
    said = report_of(study, About(MADE))
    assert all(has_estimate(case.result) for case in study.cases)
    assert len(said.estimates.table.rows) == 40
    assert len(said.estimates.steps.rows) == len(said.estimates.ranges.rows) == 14
    assert "the 14 best of 40" in said.estimates.steps.figure.subtitle
