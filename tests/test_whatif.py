"""The menu of fixes: its order, what each changes, and its gain against what a new run would give."""

from __future__ import annotations

import dataclasses

import pytest

from planner import Scenario, evaluate, study_of
from planner.plan import study as study_module
from planner.plan.basis import is_counted, memory_fits, weights_fit
from planner.plan.whatif import fixes_of

WORKED = Scenario(
    name="A", params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85, batch=8, prompt_tokens=2000,
    output_tokens=500, prefill_tokens_per_sec=9000,
)  # fmt: skip
NAMED = Scenario(
    name="B", model="Llama-3.1-70B", device="H100 SXM", engine="vLLM", precision="FP16", devices=4, batch=8,
    prompt_tokens=2000, output_tokens=500,
)  # fmt: skip


def menu(scenario):
    return {fix.name: fix for fix in fixes_of(evaluate(scenario))}


def test_the_menu_keeps_its_order():
    assert [fix.name for fix in fixes_of(evaluate(NAMED))] == [
        "Lower precision",
        "Smaller or sparser model",
        "Shorter context",
        "Larger batch",
        "More bandwidth",
        "More bandwidth",
    ]


def test_the_worked_example_gains_what_the_known_figures_say():
    found = menu(WORKED)
    assert found["Lower precision"].change == "FP16 to INT8"
    assert found["Lower precision"].result.estimated_tokens_per_sec == pytest.approx(40.678571, rel=1e-6)
    assert found["Lower precision"].gain("estimated_tokens_per_sec") == pytest.approx(1.0)
    # 24.805 s fall to 12.514 s.
    assert found["Lower precision"].saving("estimated_response_time_s") == pytest.approx(0.4955, abs=1e-4)
    assert found["Shorter context"].result.prefill_s == pytest.approx(1000 / 9000)
    assert found["Shorter context"].saving("prefill_s") == pytest.approx(0.5)
    assert found["Larger batch"].gain("estimated_aggregate_tokens_per_sec") == pytest.approx(1.0)
    assert found["More bandwidth"].gain("estimated_tokens_per_sec") == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("precision", "changed"),
    [("FP32", "FP16"), ("FP16", "FP8"), ("FP8", "INT4"), ("Q8_0", "INT4"), ("Q4_K_M", "INT4"), ("INT4", None)],
)
def test_the_next_lower_precision(precision, changed):
    fix = menu(dataclasses.replace(NAMED, precision=precision)).get("Lower precision")
    assert (fix and fix.change) == (changed and f"{precision} to {changed}")


def test_eight_bits_are_int8_where_the_device_has_no_fp8():
    assert menu(dataclasses.replace(NAMED, device="A100 SXM 80GB"))["Lower precision"].change == "FP16 to INT8"


def test_a_mixed_file_never_gets_larger():
    own = evaluate(Scenario(model="gpt-oss-120b", device="H100 SXM", batch=8, prompt_tokens=2000, output_tokens=500))
    fix = next(fix for fix in fixes_of(own) if fix.name == "Lower precision")
    assert fix.result.weights_gb < own.weights_gb
    assert fix.change == "BF16, experts MXFP4 to INT4"


RERUN = [
    ("Lower precision", {"precision": "FP8"}),
    ("Shorter context", {"prompt_tokens": 1000}),
    ("Larger batch", {"batch": 16}),
    ("More bandwidth", {"devices": 8}),
]


@pytest.mark.parametrize(("name", "changes"), RERUN)
@pytest.mark.parametrize("batch", [1, 8])
def test_a_fix_gives_what_a_new_run_with_that_change_gives(name, changes, batch):
    scenario = dataclasses.replace(NAMED, batch=batch)
    changes = {"batch": 2 * batch} if name == "Larger batch" else changes
    fix = next(fix for fix in fixes_of(evaluate(scenario)) if fix.name == name)
    again = evaluate(dataclasses.replace(scenario, **changes))
    for figure in (
        "estimated_tokens_per_sec", "low_tokens_per_sec", "prefill_s", "estimated_response_time_s", "memory_needed_gb",
        "usable_memory_gb",
    ):  # fmt: skip
        assert getattr(fix.result, figure) == pytest.approx(getattr(again, figure)), figure


def test_the_next_faster_device_is_of_the_same_class_and_the_next():
    fix = fixes_of(evaluate(NAMED))[-1]
    assert fix.change == "to 4 x H100 NVL 94GB"
    again = evaluate(dataclasses.replace(NAMED, device="H100 NVL"))
    assert fix.result.estimated_tokens_per_sec == pytest.approx(again.estimated_tokens_per_sec)
    assert fix.result.usable_memory_gb == again.usable_memory_gb
    assert [fix.name for fix in fixes_of(evaluate(WORKED))].count("More bandwidth") == 1


def test_a_shorter_prompt_caches_no_more_than_there_is():
    fix = menu(dataclasses.replace(NAMED, cached_tokens=1800))["Shorter context"]
    assert fix.result.scenario.cached_tokens == 1000
    # Nothing is left to compute; a pass still reads the weights once.
    assert fix.result.prefill_compute_s == pytest.approx(0, abs=1e-9)
    assert "Shorter context" not in menu(dataclasses.replace(NAMED, prompt_tokens=None))


def test_a_half_size_model_halves_all_that_is_read_of_it():
    own = evaluate(Scenario(model="gpt-oss-120b", device="H100 SXM", batch=8, prompt_tokens=2000, output_tokens=500))
    half = next(fix for fix in fixes_of(own) if fix.name.startswith("Smaller")).result
    assert half.weights_gb == pytest.approx(own.weights_gb / 2)
    assert half.weights_read_gb == pytest.approx(own.weights_read_gb / 2)
    assert half.kv_read_gb == own.kv_read_gb


def test_what_is_not_known_gains_nothing():
    fix = menu(Scenario(weights_gb=14, bandwidth_gb_s=1008, efficiency=0.5))["Larger batch"]
    assert fix.gain("prefill_s") is None
    assert fix.saving("estimated_response_time_s") is None


def test_fit_is_judged_by_weights_and_cache_where_the_devices_are_known():
    own = evaluate(dataclasses.replace(NAMED, devices=2, device_memory_gb=80))
    assert (memory_fits(own), weights_fit(own)) == (False, True)
    assert memory_fits(evaluate(NAMED)) is True
    aggregate = evaluate(dataclasses.replace(WORKED, device_memory_gb=80))
    assert not is_counted(aggregate)
    assert (memory_fits(aggregate), weights_fit(aggregate)) == (None, None)


def test_a_study_has_the_fixes_of_its_first_cases(monkeypatch):
    study = study_of([WORKED, NAMED])
    assert [len(fixes) for fixes in study.fixes] == [5, 6]
    monkeypatch.setattr(study_module, "FIXES_LIMIT", 1)
    assert len(study_of([WORKED, NAMED]).fixes) == 1
