"""The Estimate, Memory and What-if sheets: evaluate's figures, live in the way that each row takes."""

from __future__ import annotations

import functools
import re

import ironcalc
import openpyxl
import pytest

from planner import Scenario, evaluate, study_of
from planner.job import Job, run
from planner.plan import study as study_module
from planner.plan.money_recipes import MONEY
from planner.plan.recipes import ESTIMATE, MEMORY, QUEUE, RECIPES
from planner.plan.scenario import COLUMNS, header_of
from planner.plan.ways import parameters_of
from planner.plan.whatif import fixes_of
from planner.workbook.cost_sheet import cost_parts
from planner.workbook.estimate_sheets import ESTIMATE_COLUMNS, MEMORY_COLUMNS
from planner.workbook.results_sheet import Functions
from planner.workbook.row_sheet import ROW, columns_of
from planner.workbook.sheets import SHEET_NAMES, result_sheets
from planner.workbook.whatif_sheet import AS_IT_IS
from planner.workbook.write import write_workbook

BASE = {"precision": "FP16", "batch": 8, "prompt_tokens": 2000, "output_tokens": 500}
NAMED = BASE | {"model": "Llama-3.1-70B", "device": "H100 SXM", "engine": "vLLM", "devices": 4}
RENTED = {"currency": "USD", "device_cost_h": 2.5, "busy_share": 0.6}
API = {"input_cost_m": 3, "output_cost_m": 15}
MONEY_WAYS = {
    "rented": NAMED | RENTED | API,
    "rented, of the core": {**BASE, "params_b": 70, "bandwidth_gb_s": 3350, "prefill_tokens_per_sec": 9000}
    | RENTED | API | {"tariff_cost_kwh": 0.2, "device_power_w": 700},
    "by the instance": NAMED | API | {"instance_cost_h": 20, "instance_devices": 8, "offered_requests_per_hour": 900,
                                      "replicas": 2, "cached_cost_m": 0.3, "cached_tokens": 1500},
    "owned": NAMED | API | {"device_capex_cost": 35_000, "device_residual_cost": 3_000, "useful_life_years": 4,
                            "tariff_cost_kwh": 0.12, "device_hosting_cost_month": 90, "device_licence_cost_month": 375,
                            "device_support_cost_month": 50, "staff_cost_month": 4_000, "busy_share": 0.4,
                            "currency": "EUR", "exchange_rate": 1.08, "exchange_day": "2026-11-20",
                            "cached_cost_m": 0.3, "cache_write_cost_m": 3.75, "cached_tokens": 1000,
                            "cache_write_tokens": 500, "requests_month": 2_000_000, "growth_share_month": 0.08,
                            "peak_to_average": 3, "headroom": 0.2, "lead_time_weeks": 8.5, "one_off_cost": 20_000,
                            "first_month": "2027-01-15"},
    "cache writes": NAMED | RENTED | API | {"cache_write_cost_m": 3.75, "cache_write_tokens": 500},
    "priced draft": NAMED | RENTED | {"draft_tokens": 4, "acceptance": 0.7, "draft_step_ms": 1.5, "engine": "vLLM"},
    "apart, cached": NAMED | RENTED | API | {"prefill_on": "apart", "cached_tokens": 1500},
    "layers, cached": NAMED | RENTED | {"split": "layers", "cached_tokens": 1500},
    "cached at a rate": NAMED | RENTED | {"prefill_tokens_per_sec": 6000, "cached_tokens": 1500},
    "cached, no heads": {**BASE, "params_b": 8, "device_bandwidth_gb_s": 1008, "peak_tflop_s": 165, "layers": 32,
                         "cached_tokens": 1000} | RENTED,
    "never": NAMED | {"device_cost_h": 9, "currency": "USD", "busy_share": 0.9, "batch": 1, "input_cost_m": 0.05,
                      "output_cost_m": 0.2},
    "dearer": NAMED | {"device_cost_h": 4, "currency": "USD", "busy_share": 0.02} | API,
    "free API": NAMED | RENTED | {"input_cost_m": 0, "output_cost_m": 0},
    "no rate": NAMED | API | {"device_cost_h": 2, "currency": "GBP", "busy_share": 0.5},
    "priced, no utilisation": NAMED | API | {"device_cost_h": 2, "currency": "USD"},
    "shrinking": NAMED | RENTED | API | {"requests_month": 900_000, "growth_share_month": -0.2, "lead_time_weeks": 4,
                                         "peak_to_average": 9},
    "demand alone": NAMED | {"offered_requests_per_hour": 100},
    "demand outgrown": NAMED | RENTED | {"requests_month": 5_000_000, "growth_share_month": 0.2, "lead_time_weeks": 12},
    "does not fit, priced": NAMED | RENTED | API | {"devices": 1},
}  # fmt: skip
# Between them these take every way in which a figure is made.
WAYS = {
    "worked": {**BASE, "params_b": 70, "bandwidth_gb_s": 3350, "efficiency": 0.85, "prefill_tokens_per_sec": 9000},
    "sizes alone": {"weights_gb": 14, "device_bandwidth_gb_s": 1008, "efficiency": 0.5},
    "named": NAMED,
    "one stream": NAMED | {"batch": 1},
    "load": NAMED | {"offered_requests_per_hour": 900, "replicas": 2},
    "overload": NAMED | {"offered_requests_per_hour": 90_000},
    "core load": {"params_b": 7, "precision": "FP16", "device_bandwidth_gb_s": 1008, "prompt_tokens": 500,
                  "output_tokens": 100, "prefill_tokens_per_sec": 2000, "offered_requests_per_hour": 20},
    "layer split": NAMED | {"split": "layers", "device": "RTX 4090", "engine": "llama.cpp", "devices": 8},
    "layer split, serving": NAMED | {"split": "layers"},
    "draft": NAMED | {"draft_tokens": 4, "acceptance": 0.7, "draft_step_ms": 1.5},
    "cached": NAMED | {"cached_tokens": 1500},
    "latent cache": {"model": "DeepSeek-V3", "device": "H200 SXM", "devices": 16, "precision": "FP8", "batch": 32,
                     "prompt_tokens": 4000, "output_tokens": 1000},
    "mixed file": {"model": "gpt-oss-120b", "device": "H100 SXM", "batch": 8, "prompt_tokens": 2000,
                   "output_tokens": 500, "window_reserve": "capped"},
    "active size": {"params_b": 46.7, "active_params_b": 12.9, "active_weights_gb": 25.8, "weights_gb": 93.4,
                    "precision": "FP16", "experts": 8, "active_experts": 2, "device": "H100 SXM", "devices": 2,
                    "batch": 4, "prompt_tokens": 100, "output_tokens": 100},
    "experts": {"model": "Mixtral-8x7B", "device": "A100 SXM 80GB", "devices": 2, "precision": "FP16", "batch": 8,
                "prompt_tokens": 1000, "output_tokens": 200, "kv_precision": "FP8"},
    "streamed experts": {"model": "Mixtral-8x7B", "device": "H100 SXM", "devices": 2, "precision": "FP16", "batch": 8,
                         "prompt_tokens": 1000, "output_tokens": 200, "streamed_params_b": 12.5},
    "streamed mixed file": {"model": "gpt-oss-120b", "device": "H100 SXM", "batch": 8, "prompt_tokens": 2000,
                            "output_tokens": 500, "streamed_params_b": 5},
    "does not fit": NAMED | {"devices": 1},
    "apart": NAMED | {"prefill_on": "apart"},
    "typed cache": NAMED | {"kv_bytes_per_token": 100_000, "overhead_gb": 4, "usable_share": 0.8},
    "typed prefill": NAMED | {"prefill_tokens_per_sec": 6000},
    "added": NAMED | {"device": "RTX 4090", "engine": "llama.cpp"},
    "added and stalled": NAMED | {"arithmetic": "added"},
    "no layers": {**BASE, "params_b": 8, "device_bandwidth_gb_s": 1008, "peak_tflop_s": 165, "efficiency": 0.7,
                  "layers": 32},
    "typed experts": {"params_b": 46.7, "active_params_b": 12.9, "precision": "FP16", "expert_precision": "INT4",
                      "experts": 8, "active_experts": 2, "device": "H100 SXM", "batch": 4},
    "efficiency and peak": {**BASE, "params_b": 8, "precision": "FP16", "bandwidth_gb_s": 1008, "efficiency": 0.7,
                            "peak_tflop_s": 165, "prefill_mfu": 0.4},
    "no tokens": {"params_b": 70, "precision": "INT8", "device": "A100 SXM 80GB", "devices": 2},
    **MONEY_WAYS,
}  # fmt: skip


@pytest.fixture(scope="module")
def study():
    return study_of([Scenario(name=name, **given) for name, given in WAYS.items()])


@pytest.fixture(scope="module")
def written(study, tmp_path_factory):
    place = tmp_path_factory.mktemp("estimate")

    @functools.cache
    def write(way):
        path = place / f"{way}.xlsx"
        write_workbook(path, result_sheets(study, way), way)
        return path

    return write


@pytest.fixture(scope="module")
def loaded(written):
    """A workbook that is only looked at, with its formulas or its stored values."""
    return functools.cache(lambda way, values=False: openpyxl.load_workbook(written(way), data_only=values))


def columns(sheet):
    return {"Estimate": ESTIMATE_COLUMNS, "Memory": MEMORY_COLUMNS}[sheet]


def cell(sheet, name, index=0):
    return sheet.cell(ROW + 1 + index, columns(sheet.title)[name] + 1)


def taken(recipes):
    return {
        name
        for ways in recipes.values()
        for way in ways
        for name in (way.takes(parameter) for parameter in parameters_of(way.formula))
        if isinstance(name, str)
    }


def test_every_figure_and_all_that_it_takes_has_a_column(study):
    assert set(MEMORY) | taken(MEMORY) <= set(MEMORY_COLUMNS)
    assert set(ESTIMATE) | set(QUEUE) | taken(ESTIMATE) | taken(QUEUE) <= set(ESTIMATE_COLUMNS)
    cost_columns = columns_of(cost_parts(study))
    assert set(MONEY) | taken(MONEY) <= set(cost_columns)
    for stands in (MEMORY_COLUMNS, ESTIMATE_COLUMNS, cost_columns):
        assert sorted(stands.values()) == list(range(len(stands)))


def test_the_scenarios_take_every_way(study):
    from planner.plan.evaluate import known_of
    from planner.plan.recipes import way_of
    from planner.plan.scenario import FIGURES

    used = set()
    for case in study.cases:
        known = known_of(case.result.scenario) | {name: getattr(case.result, name) for name in FIGURES}
        used |= {(name, RECIPES[name].index(way)) for name in RECIPES if (way := way_of(name, known))}
    # Layers are filled wherever parameters are known, and an estimate stands wherever the core's requests do.
    spare = {("prefill_tflop", 2), ("utilisation", 1), ("queue_wait_s", 1)}
    assert {(name, at) for name, ways in RECIPES.items() for at in range(len(ways))} - used == spare


@pytest.mark.parametrize("functions", list(Functions))
def test_the_sheets_store_what_evaluate_gives(study, loaded, functions):
    book = loaded(functions, values=True)
    for index, case in enumerate(study.cases):
        for title, recipes in (("Memory", MEMORY), ("Estimate", ESTIMATE | {"utilisation": ()})):
            for name in recipes:
                stored, expected = cell(book[title], name, index).value, getattr(case.result, name)
                assert stored == (None if expected is None else pytest.approx(expected, rel=1e-15)), (case.name, name)
        wait = cell(book["Estimate"], "queue_wait_s", index).value
        unstable = case.result.utilisation is not None and case.result.utilisation >= 1
        expected = case.result.queue_wait_s
        assert wait == ("unstable" if unstable else expected and pytest.approx(expected, rel=1e-15))


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.PLAIN])
def test_every_way_recalculates_to_the_stored_values(written, recalculated, functions):
    checked = 0
    for place, (formula, stored, own) in recalculated(written(functions)).items():
        if isinstance(stored, int | float):
            assert own == pytest.approx(stored, rel=1e-9), (place, formula)
        else:
            assert (own or None) == (stored or None), (place, formula)
        checked += place[0] in {"Estimate", "Memory"}
    assert checked > 1000


def test_figures_are_live_calls_in_the_way_that_the_row_takes(study, loaded):
    book = loaded(Functions.EMBEDDED)
    estimate, names = book["Estimate"], [case.name for case in study.cases]

    def at(name, index):
        return cell(estimate, name, index).coordinate

    worked, named, split = (names.index(name) for name in ("worked", "named", "layer split"))
    assert cell(estimate, "estimated_tokens_per_sec", named).value == (
        f"=STEP_TOKENS_PER_SEC({at('step_time_ms', named)},1)"
    )
    assert cell(estimate, "decode_memory_ms", worked).value == (
        f"=DECODE_MEMORY_MS({at('weights_read_gb', worked)},0,{at('read_bandwidth_gb_s', worked)},"
        f"{at('fetch_efficiency', worked)})"
    )
    assert cell(estimate, "read_bandwidth_gb_s", split).value.startswith("=PIPELINE_BANDWIDTH_GB_S(")
    assert cell(estimate, "added_compute_ms", named).value is None
    assert cell(book["Memory"], "fits", worked).value is None
    assert "1E-12" in cell(book["Memory"], "fits", named).value


@pytest.mark.parametrize("name", SHEET_NAMES[:7])
def test_values_alone_hold_no_formula(loaded, name):
    sheet = loaded(Functions.NONE)[name]
    assert not [c.coordinate for row in sheet.iter_rows() for c in row if c.data_type == "f"]


def test_the_verdict_on_memory(loaded, study):
    memory = loaded(Functions.EMBEDDED, values=True)["Memory"]
    said = {case.name: cell(memory, "fits", index).value for index, case in enumerate(study.cases)}
    assert said["named"] == "yes"
    assert said["does not fit"] == "no"
    # No model of the catalogue, so no cache: the weights alone are weighed.
    assert said["no tokens"] == "weights fit"
    # An aggregate bandwidth does not say how many devices there are.
    assert said["worked"] is None
    heads = [c.value for c in memory[ROW]]
    assert all("GB" not in head or "device" in head for head in heads)


def test_sources_and_what_is_not_modelled_are_said(study, loaded):
    sheet = loaded(Functions.EMBEDDED, values=True)["Estimate"]
    texts = [[c.value for c in row if c.value] for row in sheet.iter_rows(min_row=ROW + 1 + len(study.cases))]
    at = texts.index(["named", "catalogue: Llama-3.1-70B", *texts[[t[:1] for t in texts].index(["named"])][2:]])
    assert any("measured: Data-centre HBM, serving" in text[0] for text in texts[at + 1 : at + 6] if text)
    assert any("Fetch efficiency, Latency per layer" in text[-1] for text in texts[at + 1 : at + 6] if text)
    for index, case in enumerate(study.cases):
        assert cell(sheet, "not_modelled", index).value == ("; ".join(case.result.not_modelled) or None)


# Edits of a scenario sheet.

FIELDS = (
    "name", "model", "device", "engine", "params_b", "precision", "device_bandwidth_gb_s", "devices",
    "device_memory_gb", "efficiency", "batch", "prompt_tokens", "output_tokens", "prefill_tokens_per_sec",
    "kv_precision", "peak_tflop_s", "fetch_efficiency", "cached_tokens", "usable_share", "offered_requests_per_hour",
)  # fmt: skip
STARTS = {
    "named": NAMED | {"params_b": 70.0},
    "typed": {**BASE, "params_b": 70, "device_bandwidth_gb_s": 3350, "devices": 2, "device_memory_gb": 80,
              "efficiency": 0.85, "prefill_tokens_per_sec": 9000},
}  # fmt: skip
EDITS = [
    ("named", {"batch": 16}),
    ("named", {"batch": 200}),
    ("named", {"prompt_tokens": 12_000}),
    ("named", {"output_tokens": 50}),
    ("named", {"devices": 3}),
    ("named", {"device_bandwidth_gb_s": 4800}),
    ("named", {"device_memory_gb": 40}),
    ("named", {"kv_precision": "FP8"}),
    ("named", {"peak_tflop_s": 300}),
    ("named", {"fetch_efficiency": 70}),
    ("named", {"cached_tokens": 1000}),
    ("named", {"usable_share": 0.5}),
    ("named", {"offered_requests_per_hour": 1500}),
    ("named", {"batch": 32, "prompt_tokens": 500, "output_tokens": 900, "kv_precision": "INT4"}),
    ("typed", {"params_b": 8}),
    ("typed", {"precision": "INT4"}),
    ("typed", {"efficiency": 0.5}),
    ("typed", {"devices": 4}),
    ("typed", {"batch": 3, "prompt_tokens": 40, "output_tokens": 80, "prefill_tokens_per_sec": 700}),
]


def scenario_book(path, given):
    workbook = openpyxl.Workbook()
    workbook.active.title = "Scenarios"
    workbook.active.append([header_of(name) for name in FIELDS])
    workbook.active.append(["A", *(given.get(name) for name in FIELDS[1:])])
    workbook.save(path)
    return path


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """The result workbooks of both starts, and a way to edit their scenario row."""
    place = tmp_path_factory.mktemp("edits")

    @functools.cache
    def made(start, way):
        source, output = place / f"{start}.xlsx", place / f"{start}.{way}.xlsx"
        run(Job(source=scenario_book(source, STARTS[start]), output=output, pdf=None, functions=way))
        return str(output), openpyxl.load_workbook(output, read_only=True).sheetnames

    def edit(start, way, changes):
        path, sheets = made(start, way)
        model = ironcalc.load_from_xlsx(path, "en", "UTC", "en")
        for name, value in changes.items():
            model.set_user_input(0, 2, FIELDS.index(name) + 1, str(value))
        model.evaluate()
        return lambda title, name: model.get_cell_value(sheets.index(title), ROW + 1, columns(title)[name] + 1)

    return edit


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.PLAIN])
@pytest.mark.parametrize(("start", "changes"), EDITS)
def test_an_edit_gives_what_a_new_run_would_give(edited, start, changes, functions):
    found = edited(start, functions, changes)
    expected = evaluate(Scenario(**STARTS[start] | changes))
    for title, names in (("Memory", MEMORY), ("Estimate", (*ESTIMATE, "utilisation"))):
        for name in names:
            own, wanted = found(title, name), getattr(expected, name)
            assert (own or None) == (pytest.approx(wanted) if wanted else None), (name, own, wanted)


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.PLAIN])
def test_a_load_typed_later_gives_a_wait_until_it_cannot_be_served(edited, functions):
    for load in (1500, 2500, 10, 90_000):
        found = edited("named", functions, {"offered_requests_per_hour": load})
        expected = evaluate(Scenario(**STARTS["named"], offered_requests_per_hour=load))
        assert found("Estimate", "utilisation") == pytest.approx(expected.utilisation)
        wait = found("Estimate", "queue_wait_s")
        assert wait == ("unstable" if expected.utilisation >= 1 else pytest.approx(expected.queue_wait_s))
    assert edited("named", functions, {})("Estimate", "queue_wait_s") == ""


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.PLAIN])
def test_the_verdict_follows_an_edit(edited, functions):
    assert edited("named", functions, {})("Memory", "fits") == "yes"
    assert edited("named", functions, {"batch": 500})("Memory", "fits") == "no"
    assert edited("typed", functions, {})("Memory", "fits") == "weights fit"
    assert edited("typed", functions, {"device_memory_gb": 60})("Memory", "fits") == "no"


@pytest.mark.parametrize("functions", [Functions.EMBEDDED, Functions.PLAIN])
@pytest.mark.parametrize("changes", [{"fetch_efficiency": 1.2}, {"batch": -1}, {"prompt_tokens": "many"}])
def test_a_bad_edit_gives_a_text_and_no_number(edited, functions, changes):
    assert isinstance(edited("named", functions, changes)("Estimate", "estimated_tokens_per_sec"), str)


# What-if.


def test_what_if_lists_each_scenario_and_its_fixes_in_order(study, loaded):
    sheet = loaded(Functions.EMBEDDED, values=True)["What-if"]
    rows = [[c.value for c in row] for row in sheet.iter_rows(min_row=ROW + 1)]
    expected = []
    for case in study.cases:
        expected.append([case.name, AS_IT_IS, case.result.estimated_tokens_per_sec, None])
        expected += [
            [case.name, fix.name, fix.result.estimated_tokens_per_sec, fix.gain("estimated_tokens_per_sec")]
            for fix in fixes_of(case.result)
        ]
    assert [[row[0], row[1], row[3], row[4]] for row in rows] == [
        [*texts, pytest.approx(rate), gain if gain is None else pytest.approx(gain)] for *texts, rate, gain in expected
    ]
    heads = [c.value for c in sheet[ROW]]
    assert heads.count("Gain") == heads.count("Time saved") == 2
    # Gains of decode and of prefill never share a heading.
    assert [c.value for c in sheet[ROW - 1] if c.value] == [
        "Decode, one stream", "Decode, all streams", "Prefill", "Whole response", "Memory, all devices",
    ]  # fmt: skip


def test_what_if_says_how_many_it_leaves_out(monkeypatch, tmp_path):
    monkeypatch.setattr(study_module, "FIXES_LIMIT", 2)
    many = study_of([Scenario(name=f"S{n}", **WAYS["worked"]) for n in range(5)])
    path = tmp_path / "many.xlsx"
    write_workbook(path, result_sheets(many), Functions.EMBEDDED)
    sheet = openpyxl.load_workbook(path, data_only=True)["What-if"]
    assert "3 more are left out" in sheet["A2"].value
    assert {row[0].value for row in sheet.iter_rows(min_row=ROW + 1)} == {"S0", "S1"}


# Precision and Batch.


def test_precision_and_batch_show_the_estimate_beside_the_core(study, loaded):
    book = loaded(Functions.EMBEDDED, values=True)
    for title, variants in (("Precision", study.by_precision), ("Batch", study.by_batch)):
        sheet = book[title]
        heads = [c.value for c in sheet[1]]
        first = heads.index("Estimate per stream (tok/s), values at the run")
        for index, results in enumerate(variants):
            row = [c.value for c in sheet[3 + index]]
            expected = [result and result.estimated_tokens_per_sec for result in results]
            assert row[first : first + len(results)] == [x and pytest.approx(x) for x in expected]
    ceiling = [c.value for c in book["Precision"][1]].index("Ceiling per stream (tok/s)")
    assert str(loaded(Functions.EMBEDDED)["Precision"].cell(3, ceiling + 1).value).startswith(
        "=CEILING_TOKENS_PER_SEC("
    )


def test_an_estimate_at_another_precision_is_that_of_a_new_run(study):
    case = next(case for case in study.cases if case.name == "named")
    at_int8 = study.by_precision[case.number - 1][study.options.precisions.index("INT8")]
    again = evaluate(Scenario(**NAMED | {"precision": "INT8"}))
    assert at_int8.estimated_tokens_per_sec == pytest.approx(again.estimated_tokens_per_sec)


@pytest.mark.libreoffice
def test_libreoffice_shows_no_error_on_the_new_sheets(written, as_csv):
    ways = (Functions.EMBEDDED, Functions.PLAIN)
    for functions, shown in as_csv.several(*map(written, ways)).items():
        for name in ("Estimate", "Memory", "What-if", "Cost", "Demand", "Sensitivity"):
            assert not re.search(r"#(NAME|VALUE|REF|DIV/0|N/A|NUM)|Err:\d", shown[name]), (functions, name)


@pytest.mark.validator
@pytest.mark.parametrize("functions", list(Functions))
def test_open_xml_sdk_finds_no_error(written, validate, functions):
    assert validate(written(functions)) == []


def test_fields_are_all_columns():
    assert set(FIELDS) <= set(COLUMNS)
