"""What a report says, before it is set on pages."""

import datetime as dt
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas.speed import requests_per_hour, response_time_s
from planner.issues import Issue, Severity
from planner.plan.evaluate import FORMULAS
from planner.plan.scenario import Scenario
from planner.plan.study import Options, Origin, Skipped, Source, Study, study_of
from planner.report.findings import flag_lines, skipped_table
from planner.report.model import About, Report, report_of
from planner.report.parts import Cell as Part
from planner.report.parts import (
    Head,
    Row,
    Table,
    cell_ranges,
    count,
    cut,
    digits,
    in_words,
    labels,
    say,
    tidy,
    width_of,
)
from planner.report.render import to_html
from planner.report.tables import MOST_OF_MANY, MOST_ROWS, MOST_VARIANT_ROWS, most_variant_rows, ranked
from planner.report.worked import expression, worked
from planner.settings import Settings

MADE = dt.datetime(2026, 11, 29, 9, 0, tzinfo=dt.UTC)

WORKED = {
    "params_b": 70,
    "precision": "FP16",
    "bandwidth_gb_s": 3350,
    "efficiency": 0.85,
    "batch": 8,
    "prompt_tokens": 2000,
    "output_tokens": 500,
    "prefill_tokens_per_sec": 9000,
}


def scenario(name="worked example", **changes):
    return Scenario(name=name, **(WORKED | changes))


def report(study, title="", **about) -> Report:
    return report_of(study, About(MADE, Settings(title=title), **about))


def texts_of(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


@pytest.fixture(scope="module")
def seven() -> Study:
    on_h100 = {"bandwidth_gb_s": None, "device_bandwidth_gb_s": 3350, "device_memory_gb": 80}
    return study_of(
        [
            scenario("FP16 on two", **on_h100, devices=2),
            scenario("INT8 on two", **on_h100, devices=2, precision="INT8"),
            scenario("INT4 on one", **on_h100, precision="INT4", batch=16),
            scenario("FP16 on one", **on_h100),
            scenario("old device", bandwidth_gb_s=864, efficiency=None),
            scenario("large batch", **on_h100, precision="INT4", batch=64),
            Scenario(name="size only", weights_gb=40, bandwidth_gb_s=2039),
        ]
    )


# The first page


def test_a_single_scenario_is_recommended_with_its_figures():
    said = report(study_of([scenario()]))
    assert said.verdict.title == "S01 serves 1,161 requests an hour per device"
    assert "one stream at 20.34 tok/s at efficiency 85%" in said.verdict.body[0]
    assert "eight streams together at 162.7 tok/s" in said.verdict.body[0]
    assert "takes 24.81 s" in said.verdict.body[0]
    assert said.pace.title == "The scenario keeps reading pace"
    assert [(tile.number, tile.unit) for tile in said.tiles] == [
        ("20.34", "tok/s"),
        ("162.7", "tok/s"),
        ("24.81", "s"),
        ("1,161", "per hour"),
    ]


def test_fit_is_claimed_only_where_memory_is_given():
    assert report(study_of([scenario()])).verdict.body[1] == (
        "It keeps reading pace (10 tok/s); whether its weights fit is open."
    )
    known = report(study_of([scenario(bandwidth_gb_s=None, device_bandwidth_gb_s=3350, device_memory_gb=192)]))
    assert "It fits and keeps reading pace" in known.verdict.body[1]


def test_the_precision_headline():
    one = report(study_of([scenario()])).dots.figure.title
    assert one == "One stream runs at 81.36 tok/s at INT4, at 20.34 at FP16"
    # 70 B at 1,500 GB/s and 0.85: 9.1 tok/s at FP16, 18.2 at INT8; at 3,350 GB/s all keep the pace
    two = report(study_of([scenario(), scenario("slow", bandwidth_gb_s=1500)])).dots.figure.title
    assert two == "At INT8 both keep reading pace, at FP16 one"


def test_the_headline_counts_who_keeps_reading_pace(seven):
    # 864 GB/s over 140 GB is 6.17 tok/s even at the ceiling; the six others are above 10.
    assert report(seven).pace.title == "Six of seven scenarios keep reading pace"


def test_a_large_batch_that_wins_is_named_with_the_steadier_one(seven):
    verdict = report(seven).verdict
    assert verdict.title.startswith("S06 ")
    assert "batch of 64 is above 32" in verdict.caution
    assert "S03 (INT4 on one)" in verdict.caution
    steadier = seven.recommendation.steadier
    assert say("requests_per_device_per_hour", steadier.requests_per_device_per_hour) in verdict.caution


def test_a_large_batch_without_a_steadier_one_says_so():
    verdict = report(study_of([scenario(batch=64)])).verdict
    assert "No scenario with a batch of at most 32 qualifies" in verdict.caution


def test_those_set_aside_are_counted(seven):
    criterion = report(seven).verdict.body[1]
    assert "most requests per hour per device" in criterion
    assert "among four scenarios that fit as far as memory is given and keep reading pace" in criterion
    assert "one slower than reading, one that does not fit and one without prompt" in criterion


def test_without_times_the_aggregate_decides():
    study = study_of([Scenario(name="a", weights_gb=70, bandwidth_gb_s=3350, devices=2, batch=4, efficiency=0.85)])
    # 3,350 x 0.85 / 70 x 4 = 162.714...
    assert report(study).verdict.title == "S01 gives 81.4 tok/s per device"


def test_no_scenario_at_reading_pace_gives_no_recommendation():
    said = report(study_of([scenario(bandwidth_gb_s=864), scenario("b", bandwidth_gb_s=400)]))
    assert said.verdict.kind == "bad"
    assert said.verdict.title == "No scenario both fits and keeps reading pace"
    assert "5.25 tok/s" in said.verdict.body[0]
    assert said.tiles == ()
    assert said.pace.title == "Neither scenario keeps reading pace"


def test_weights_that_fit_nowhere_call_for_memory_not_bandwidth():
    said = report(study_of([scenario(device_memory_gb=80, devices=1)]))
    assert "more memory" in said.verdict.body[1]
    assert "bandwidth" not in said.verdict.body[1]


def test_the_first_page_never_has_more_than_four_tiles_and_four_alerts(seven):
    said = report(seven)
    assert len(said.tiles) == 4
    assert len(said.alerts) == 4
    assert said.alerts[-1].head == "Upper bound."


def test_rows_left_out_are_on_the_first_page():
    study = Study(
        study_of([scenario()]).cases, (Skipped("bad", Origin("Scenarios", 7)),), (), Source("a.xlsx", "ab", "Scenarios")
    )
    assert report(study).alerts[0].text == "One row could not be evaluated: row 7."


def test_many_scenarios_show_the_best_bars_first():
    study = study_of([scenario(f"case {n}", bandwidth_gb_s=1000 + 100 * n) for n in range(40)])
    said = report(study)
    assert len(said.bars) == 8
    assert said.bars[0].label.startswith("S40")
    assert "the 8 best of 40" in said.pace.subtitle
    assert said.bars[0].strong
    assert not any(bar.strong for bar in said.bars[1:])


def test_bars_of_slow_or_too_large_scenarios_are_hatched(seven):
    assert [bar.hatched for bar in report(seven).bars] == [False, False, False, True, True, False, False]


def test_active_titles_have_about_ten_words_at_most(seven):
    said = report(seven)
    titles = [said.verdict.title, said.pace.title, said.dots.figure.title, said.heat_figure.title]
    titles += [said.charts.per_stream.title, said.charts.aggregate.title]
    assert all(len(title.split()) <= 11 for title in titles), titles


def test_rounding_is_that_of_the_workbook():
    # 26 GB of 80 GB is 0.325, which Excel shows as 33%; 107 / 40 is 2.675, shown as 2.68.
    study = study_of(
        [scenario(params_b=26, precision="INT8", bandwidth_gb_s=None, device_bandwidth_gb_s=2675, device_memory_gb=80)]
    )
    lines = {formula.figure: formula.line for formula in report(study).worked}
    assert lines["Weights / memory"] == "26 ÷ (80 × 1) = 0.325, shown as 33%"
    (row,) = texts_of(report(study_of([Scenario(name="a", weights_gb=40, bandwidth_gb_s=107)])).results)
    assert row[1] == "2.68"


def test_models_or_requests_that_differ_are_said():
    devices = {"devices": 1}
    alike = report(study_of([scenario(**devices), scenario("b", efficiency=0.7, **devices)])).verdict
    assert not any("like for like" in text for text in alike.body)
    mixed = report(study_of([scenario(**devices), scenario("b", params_b=8, prompt_tokens=1000, **devices)])).verdict
    assert sum("Not like for like" in text for text in mixed.body) == 1


def test_ties_are_said():
    said = report(study_of([scenario(f"{n}", devices=1) for n in range(4)])).verdict
    assert said.title == "S01 serves most, equal with three others: 1,161 requests an hour per device"


def test_scenarios_that_are_not_ranked_are_said_and_rank_last():
    study = study_of([scenario("unknown"), scenario("two", devices=2), scenario("ceiling", devices=1, efficiency=None)])
    said = report(study).verdict
    assert "one whose number of devices is not known and one at efficiency 100%, a ceiling" in said.body[1]
    assert "the only one of three scenarios" in said.body[1]
    assert ranked(study)[0].name == "two"


def test_a_typed_occupancy_stands_beside_the_headline_and_in_the_results():
    said = report(study_of([scenario(occupancy=0.5, devices=2), scenario("b", devices=2)]))
    # 1,161.047 x 0.5 = 580.5
    assert said.tiles[3].basis == "every stream busy; 581 on two devices at occupancy 50%"
    assert "Requests at occupancy" in [head.label for head in said.results.heads]
    without = report(study_of([scenario()])).results
    assert "Requests at occupancy" not in [head.label for head in without.heads]


def test_one_stream_is_not_called_together():
    assert "together" not in report(study_of([scenario(batch=1)])).verdict.body[0]


def test_long_titles_take_smaller_letters_and_are_never_cut_silently():
    assert [report(study_of([]), title="t" * n).title_size for n in (20, 120, 300)] == ["", "long", "longest"]
    # Wide letters take the room of two.
    said = report(study_of([]), title="計" * 300)
    assert said.title.endswith("…")
    assert dict(said.provenance)["Title in full"] == "計" * 300


# Tables


def test_typed_inputs_keep_their_digits():
    study = study_of([scenario(weights_gb=4.918, efficiency=0.855, prompt_tokens=1234567)])
    said = report(study)
    values = {row[1]: row[2] for row in texts_of(said.register)}
    assert (values["Weights"], values["Efficiency"], values["Prompt"]) == ("4.918", "85.5%", "1,234,567")
    assert {fact.label: fact.value for fact in said.cards[0].inputs}["Weights"] == "4.918 GB"
    assert {formula.figure: formula.line for formula in said.worked}["Weights"] == "typed: 4.918 GB"


def test_the_note_of_the_user_is_not_a_warning():
    card = report(study_of([scenario(notes="mine", batch=64)])).cards[0]
    assert [(remark.kind, remark.code) for remark in card.remarks] == [
        ("warning", "W1"),
        ("note", "N1"),
        ("own", "Note"),
    ]


def test_the_speed_table_counts_pairs_that_fit_and_marks_references():
    said = report(study_of([scenario(bandwidth_gb_s=None, device_bandwidth_gb_s=3350, device_memory_gb=80, devices=2)]))
    # 140 GB fits two H100 alone; 70 GB fits one of 80 GB, 35 and 14 GB fit as well, 14 GB fits 24 GB.
    assert said.heat_figure.title == "Eleven of 16 pairs fit and keep reading pace"
    assert [row.reference for row in said.heat[0].rows] == [True, True, True, False]
    assert [head.reference for head in said.heat[0].heads] == [True, True, True, False]
    assert said.heat[0].heads[-1].label == "2\u00a0x\u00a03,350\u00a0GB/s"


def test_a_pair_just_below_reading_pace_is_not_shown_as_reading_pace():
    said = report(study_of([scenario(bandwidth_gb_s=1399)]))
    cells = {
        (row.weights, head.bandwidth): cell
        for row in said.heat[0].rows
        for head, cell in zip(said.heat[0].heads, row.cells, strict=True)
    }
    cell = cells["140.0 GB", "1,399 GB/s"]
    assert (cell.band, cell.value) == ("slow", "9.99")


def test_every_figure_of_the_results_table_is_as_shown(seven):
    names = (
        "tokens_per_sec",
        "ceiling_tokens_per_sec",
        "inter_token_latency_ms",
        "aggregate_tokens_per_sec",
        "time_to_first_token_s",
        "response_time_s",
        "requests_per_hour",
        "requests_per_device_per_hour",
    )
    rows = texts_of(report(seven).results)
    for case, row in zip(seven.cases, rows, strict=True):
        assert row[1:9] == [say(name, getattr(case.result, name)) for name in names]


def test_headers_carry_units(seven):
    heads = report(seven).results.heads
    assert [(head.label, head.unit) for head in heads[1:4]] == [
        ("Per stream", "tok/s"),
        ("Ceiling per stream", "tok/s"),
        ("Inter-token latency", "ms"),
    ]


def test_flags_have_codes_that_the_key_explains(seven):
    said = report(seven)
    keys = {line.code for line in said.flags}
    used = {code for row in said.results.rows for code in row.cells[-1].text.split()}
    assert used == keys
    assert [line.words for line in said.flags][:2] == ["does not fit in memory", "slower than reading"]


def test_precision_variants_are_those_of_the_study(seven):
    (table,) = report(seven).precision
    assert [group.label for group in table.groups] == ["", "Weights (GB)", "Per stream (tok/s)", "Response time (s)"]
    first = texts_of(table)[0][1:]
    variants = (*seven.by_precision[0], seven.cases[0].result)
    assert first[:4] == [say("weights_gb", v.weights_gb) for v in variants]
    assert first[4:8] == [say("tokens_per_sec", v.tokens_per_sec) for v in variants]


def test_without_a_precision_only_the_own_size_stands(seven):
    (table,) = report(seven).precision
    assert texts_of(table)[6][1:9] == ["", "", "", "40.0", "", "", "", "50.98"]


def test_many_variants_are_split_over_tables():
    options = Options(precisions=("FP32", "FP16", "FP8", "INT8", "INT4", "NVFP4"), batches=tuple(range(1, 21)))
    said = report(study_of([scenario()], options))
    assert [len(table.heads) for table in said.precision] == [1 + 3 * 4, 1 + 3 * 3]
    assert sum(len(table.heads) - 1 for table in said.batch) == 40
    assert len(said.dots.names) == 4


def test_the_register_lists_each_value_once_with_its_cells():
    study = study_of([scenario("a"), scenario("b"), scenario("c", efficiency=0.7)])
    register = report(study).register
    heads = [head.label for head in register.heads]
    assert "Cells" not in heads  # none of these scenarios stands in a cell
    lines = [row[1:] for row in texts_of(register) if row[1] == "Efficiency"]
    assert lines == [["Efficiency", "85%", "", "S01, S02", "typed"], ["Efficiency", "70%", "", "S03", "typed"]]
    assert ["Devices", "1", "", "S01\u2013S03", "default"] in [row[1:] for row in texts_of(register)]


def test_an_input_of_many_values_is_one_line_with_its_range():
    study = study_of([scenario(f"{n}", bandwidth_gb_s=1000 + n) for n in range(20)])
    lines = [row for row in texts_of(report(study).register) if row[1].startswith("Aggregate bandwidth")]
    assert [line[1:4] for line in lines] == [
        ["Aggregate bandwidth, 20 different values", "1,000 to 1,019", "GB/s"],
    ]


def test_issues_said_alike_of_many_rows_are_said_once():
    study = study_of([Scenario(name=f"{n}", weights_gb=10, device_bandwidth_gb_s=1000) for n in range(30)])
    rows = texts_of(report(study).checks)
    assert len(rows) == 3  # ceiling, no times, no precision variants
    assert all(row[1] == "S01\u2013S30" for row in rows)


def test_cards_up_to_twelve_scenarios_then_a_table_of_inputs():
    twelve = study_of([scenario(f"{n}") for n in range(12)])
    thirteen = study_of([scenario(f"{n}") for n in range(13)])
    assert len(report(twelve).cards) == 12
    said = report(thirteen)
    assert said.cards == ()
    assert "scenarios" not in said.sections
    assert len(said.inputs.rows) == 13


def test_a_card_holds_every_figure_with_its_unit():
    card = report(study_of([scenario()])).cards[0]
    figures = {fact.label: fact.value for fact in card.figures}
    assert figures["Per stream"] == "20.34 tok/s"
    assert figures["Inter-token latency"] == "49.17 ms"
    assert figures["Time to first token"] == "0.222 s"
    assert figures["Requests"] == "1,161 per hour"
    inputs = {fact.label: (fact.value, fact.where) for fact in card.inputs}
    assert inputs["Devices"] == ("1", "default")


def test_more_rows_than_pages_bear_are_cut_and_the_rest_is_pointed_to():
    study = study_of([scenario(f"{n}", bandwidth_gb_s=1000 + n) for n in range(MOST_ROWS + 1)])
    said = report(study)
    assert len(said.results.rows) == MOST_OF_MANY
    assert said.results.rows[0].cells[0].tag == f"S{MOST_ROWS + 1}"
    assert "results workbook" in said.results.note
    assert all(
        len(table.rows) == most_variant_rows(study) < MOST_VARIANT_ROWS for table in (*said.precision, *said.batch)
    )


def test_of_very_many_scenarios_the_pages_stay_as_few():
    few = study_of([scenario(f"{n}", bandwidth_gb_s=1000 + n) for n in range(MOST_ROWS + 100)])
    cases = tuple(replace(few.cases[n % len(few.cases)], number=n + 1) for n in range(10_000))
    many = Study(cases, (), ())
    short, long = (to_html(report(study)) for study in (few, many))
    assert len(long) < 1.1 * len(short)
    assert long.count("<tr") < 1.1 * short.count("<tr")
    # The variants of what is not printed are not evaluated.
    assert len(many.by_batch.evaluated) <= MOST_VARIANT_ROWS
    assert len(many.by_precision.evaluated) <= MOST_OF_MANY


def test_of_many_scenarios_the_spread_of_each_figure_is_printed():
    study = study_of([scenario(f"{n}", bandwidth_gb_s=140 * (n + 1)) for n in range(MOST_ROWS + 1)])
    spread = {row[0]: row[1:] for row in texts_of(report(study).spread)}
    assert spread["Per stream"] == ["tok/s", "301", "0.85", "128.35", "255.85"]
    assert report(study_of([scenario()])).spread.rows == ()


def test_ranking_puts_those_that_qualify_first(seven):
    assert [case.label for case in ranked(seven)] == ["S06", "S03", "S02", "S01", "S07", "S04", "S05"]


def test_the_speed_table_keeps_the_reference_values():
    said = report(study_of([scenario()]))
    values = {row.weights: [cell.value for cell in row.cells] for row in said.heat[0].rows}
    assert values == {
        "14.0 GB": ["72.0", "145.6", "239.3"],
        "35.0 GB": ["28.8", "58.3", "95.7"],
        "70.0 GB": ["14.4", "29.1", "47.9"],
        "140.0 GB": ["7.2", "14.6", "23.9"],
    }
    bottom = said.heat[0].rows[-1].cells
    assert [(cell.band, cell.mark) for cell in bottom] == [("slow", "needs 7"), ("b0", "needs 2"), ("b1", "needs 2")]


def test_a_wide_speed_table_is_split():
    study = study_of([scenario(f"{n}", bandwidth_gb_s=1000 + n) for n in range(12)])
    assert [len(part.heads) for part in report(study).heat] == [6, 6]


# Formulas


def test_the_worked_check_has_seven_significant_digits():
    lines = {formula.figure: formula.line for formula in report(study_of([scenario()])).worked}
    # 3,350 x 0.85 / 140 = 20.3392857; 140,000 / 2,847.5 = 49.165935
    assert lines["Per stream"] == "3,350 × 0.85 ÷ 140 = 20.33929 tok/s, shown as 20.34"
    assert lines["Inter-token latency"] == "1,000 ÷ 20.33929 = 49.16594 ms, shown as 49.17"
    assert lines["Response time"] == "0.2222222 + 24.58297 = 24.80519 s, shown as 24.81"
    assert lines["Requests"] == "8 × 3,600 ÷ 24.80519 = 1,161.047 per hour, shown as 1,161"
    assert lines["Bandwidth"] == "typed: 3,350 GB/s"
    assert lines["Requests at occupancy"] == "not computed: average occupancy not given"


def test_each_worked_line_holds_when_it_is_computed_by_hand():
    study = study_of([scenario(bandwidth_gb_s=None, device_bandwidth_gb_s=1675, devices=2, device_memory_gb=96)])
    checked = 0
    for formula in worked(study.cases[0]):
        left, equals, right = formula.line.partition(" = ")
        if not equals:
            continue
        python = left.replace(",", "").replace("×", "*").replace("÷", "/").replace("\u2212", "-")
        value = float(re.match(r"[\d,.]+", right)[0].replace(",", ""))
        assert eval(python) == pytest.approx(value, rel=1e-6), formula.line
        checked += 1
    assert checked == len(FORMULAS) - 1  # all but the requests at an occupancy, which is not given


def test_expressions_keep_the_brackets_that_they_need():
    assert expression(requests_per_hour, {"batch": 8, "response_time_s": 24}) == "8 × 3,600 ÷ 24"
    numbers = {"time_to_first_token_s": 0.5, "generation_time_s": 24.0}
    assert expression(response_time_s, numbers) == "0.5 + 24"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1e-9, "0.000000001"),
        (0.123456789, "0.1234568"),
        (999999.96, "1,000,000"),
        (1.5e12, "1,500,000,000,000"),
    ],
)
def test_digits(value, text):
    assert digits(value) == text


# No scenarios


def test_a_study_without_cases_has_a_report():
    said = report(study_of([]))
    assert said.empty
    assert said.verdict.title == "No scenario was found"
    assert list(said.sections) == ["speed", "formulas", "glossary", "provenance"]
    assert [section.number for section in said.sections.values()] == ["1", "2", "3", "4"]
    assert said.bars == ()
    assert said.worked[3].line == ""
    assert said.sections["formulas"].title == "Formulas"
    assert said.alerts == ()


def test_rows_that_are_all_bad_are_counted():
    said = report(Study((), (Skipped("a", Origin("S", 2)), Skipped("b", Origin("S", 3))), ()))
    assert said.verdict.title == "Two rows read, none could be evaluated"
    assert [row[0] for row in texts_of(said.skipped)] == ["2", "3"]


def test_names_of_rows_left_out_say_how_many_more():
    rows = range(5, 13)
    issues = tuple(
        Issue(severity=Severity.ERROR, code="value", problem="bad", sheet="S", cell=f"D{n}", row=n) for n in rows
    )
    skipped = tuple(Skipped(f"row {n}", Origin("S", n)) for n in rows)
    (row,) = texts_of(report(Study((), skipped, issues)).checks)
    assert "row 5, row 6, row 7 and 5 more" in row


# Texts


def test_long_names_are_cut():
    study = study_of([scenario("x" * 220), scenario("名" * 220)])
    said = report(study)
    for row in said.results.rows:
        assert width_of(row.cells[0].text) <= 64
        assert row.cells[0].text.endswith("…")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\x00b\x0bc", "a b c"),
        ("right\u202eleft", "right left"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("\ufffe", ""),
        ("  two\n lines\t", "two lines"),
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_characters_that_no_page_can_hold_are_left_out(text, kept):
    assert tidy(text) == kept


@given(st.text(), st.integers(min_value=2, max_value=80))
def test_a_cut_text_fits_and_can_be_written(text, most):
    short = cut(text, most)
    assert width_of(short) <= most
    short.encode()
    assert "\n" not in short


@given(st.sets(st.integers(min_value=1, max_value=60)))
def test_labels_name_every_scenario_once(numbers):
    named = set()
    for part in filter(None, labels(numbers, most=100).split(", ")):
        first, _, last = part.partition("\u2013")
        named |= set(range(int(first[1:]), int((last or first)[1:]) + 1))
    assert named == numbers


def test_long_lists_say_how_many_more():
    assert labels([1, 3, 5, 7], most=2) == "S01, S03 and 2 more"
    assert cell_ranges(["A1", "B3", "B4", "C9", "C10"], most=2) == "A1, B3:B4 and 2 more"


def test_counts_in_words():
    assert (in_words(12), in_words(13), in_words(0)) == ("twelve", "13", "no")
    assert count(1, "entry", "entries") == "one entry"
    assert count(3, "entry", "entries") == "three entries"


def test_wide_tables_take_smaller_letters_and_fill_the_width():
    heads = (Head("Name", text=3), *(Head(f"H{n}") for n in range(8)))

    def table(value):
        return Table(heads, (Row((Part("a"), *(Part(value) for _ in range(8)))),))

    assert table("1.00").density == ""
    assert table("1,234,567.00").density in {"dense", "tight", "tiny"}
    assert sum(table("1.00").widths) == pytest.approx(100, abs=0.1)


def test_the_stamp_names_input_hash_and_version(seven):
    study = Study(seven.cases, (), seven.issues, Source("plan.xlsx", "5a2b225d0caeb3f55b73", "Scenarios"))
    said = report(study, program="planner 1.2.3", command="planner run plan.xlsx")
    assert said.stamp.startswith("Input plan.xlsx · SHA-256 5a2b225d0cae… · planner 1.2.3 · 2026-11-29")
    facts = dict(said.provenance)
    assert facts["SHA-256 of the input"] == "5a2b225d0caeb3f55b73"
    assert facts["Recompute"] == "planner run plan.xlsx"
    assert facts["Made"] == "2026-11-29 09:00 UTC"


def test_flags_of_a_clean_study_are_none():
    assert flag_lines(study_of([scenario(bandwidth_gb_s=None, device_bandwidth_gb_s=3350)])) == ()


def test_a_row_left_out_for_want_of_a_column_says_which():
    absent = Issue(
        severity=Severity.ERROR, code="header", problem="The headers name no column for bandwidth", cell="A1", row=1
    )
    study = Study((), (Skipped("a", Origin("Scenarios", 2)),), (absent,))
    assert texts_of(skipped_table(study)) == [["2", "a", "A1: The headers name no column for bandwidth"]]
