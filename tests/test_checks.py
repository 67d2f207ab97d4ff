import dataclasses
import itertools

import pytest

from planner.issues import Severity
from planner.plan import checks
from planner.plan.cost_checks import COST_FLAGS
from planner.plan.evaluate import evaluate
from planner.plan.scenario import COLUMNS, Scenario

QUIET = Scenario(
    name="quiet",
    params_b=70,
    precision="INT8",
    device_bandwidth_gb_s=3350,
    devices=2,
    device_memory_gb=80,
    efficiency=0.85,
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    prefill_tokens_per_sec=9000,
)


def issues(**changes):
    return evaluate(dataclasses.replace(QUIET, **changes)).issues


def codes(**changes):
    return [issue.code for issue in issues(**changes)]


def only(code, **changes):
    found = [issue for issue in issues(**changes) if issue.code == code]
    assert len(found) == 1
    return found[0]


def test_a_sound_scenario_calls_for_nothing():
    assert codes() == []


# Reading pace: below 10 tok/s.


@pytest.mark.parametrize(
    ("bandwidth", "warned"),
    # weights 70 GB at efficiency 1: 700 GB/s give 10 tok/s exactly
    [(700, False), (699.999, True), (701, False), (70, True)],
)
def test_slower_than_reading_is_below_10_tokens_per_second(bandwidth, warned):
    found = codes(devices=1, device_bandwidth_gb_s=bandwidth, efficiency=1)
    assert ("slow" in found) == warned


def test_slow_names_the_rate_the_input_and_the_levers_of_decode():
    slow = only("slow", devices=1, device_bandwidth_gb_s=350)
    assert slow.severity is Severity.WARNING
    assert slow.field == "params_b"
    # 350 x 0.85 / 70 = 4.25
    assert slow.problem == "One stream runs at 4.25 tok/s, slower than reading (10 tok/s)"
    assert slow.advice == "Use a smaller model, a lower precision or more bandwidth"
    assert only("slow", devices=1, device_bandwidth_gb_s=350, weights_gb=70).field == "weights_gb"


# Memory: the weights may take 90 %.


@pytest.mark.parametrize(
    ("weights", "memory", "devices", "warned"),
    [
        (72, 80, 1, False),
        (72.001, 80, 1, True),
        (144, 80, 2, False),
        (140, 80, 1, True),
        (140, 80, 2, False),
        (21.6, 24, 1, False),
        (140, None, 1, False),
    ],
)
def test_weights_above_90_percent_of_the_memory_do_not_fit(weights, memory, devices, warned):
    found = codes(params_b=None, weights_gb=weights, device_memory_gb=memory, devices=devices)
    assert ("no-fit" in found) == warned


def test_no_fit_names_the_memory_and_the_cure():
    no_fit = only("no-fit", params_b=140, devices=1)
    assert no_fit.severity is Severity.WARNING
    assert no_fit.field == "device_memory_gb"
    assert no_fit.problem == "Weights of 140.0 GB take 175% of 1 x 80 GB; 90% is usable, before any KV cache"


# Batch: a note from 16, a warning above 32.


@pytest.mark.parametrize(
    ("batch", "code", "share", "measured_at"),
    [
        (1, None, 0, 0),
        (15, None, 0, 0),
        (16, "batch-noted", 83, 16),
        (31, "batch-noted", 83, 16),
        (32, "batch-noted", 77, 32),
        (33, "batch-large", 77, 32),
        (63, "batch-large", 77, 32),
        (64, "batch-large", 64, 64),
        (127, "batch-large", 64, 64),
        (128, "batch-large", 48, 128),
        (100_000, "batch-large", 48, 128),
    ],
)
def test_batch_thresholds_and_what_was_measured_there(batch, code, share, measured_at):
    found = [issue for issue in issues(batch=batch) if issue.code.startswith("batch")]
    assert [issue.code for issue in found] == ([code] if code else [])
    for issue in found:
        assert issue.severity is (Severity.WARNING if code == "batch-large" else Severity.NOTE)
        assert issue.field == "batch"
        said = f"public measurements give {share}% of the batch-1 rate at batch {measured_at} on HBM devices"
        assert issue.problem.endswith(said)


def test_measured_batch_shares_are_the_published_ones():
    assert checks.MEASURED_BATCH_SHARE == ((8, 0.89), (16, 0.83), (32, 0.77), (64, 0.64), (128, 0.48))


# A measured rate above the ceiling.


@pytest.mark.parametrize(
    ("measured", "warned"),
    # 700 / 70 = 10 is the ceiling
    [(10, False), (10.001, True), (9, False), (None, False)],
)
def test_a_measurement_above_the_ceiling_means_that_an_input_is_wrong(measured, warned):
    found = codes(devices=1, device_bandwidth_gb_s=700, measured_tokens_per_sec=measured)
    assert ("above-ceiling" in found) == warned


def test_above_ceiling_names_what_to_look_at_in_order():
    issue = only("above-ceiling", devices=1, device_bandwidth_gb_s=700, measured_tokens_per_sec=12)
    assert issue.severity is Severity.WARNING
    assert issue.field == "measured_tokens_per_sec"
    assert issue.problem == "The measured 12.00 tok/s is above the ceiling of 10.00 tok/s, so an input is wrong"
    assert issue.advice == "Look at the precision, then speculative decoding, then mixture of experts"


# A typed size that differs from parameters x bits.


@pytest.mark.parametrize(
    ("weights", "warned"),
    # 70 x 8 / 8 = 70; a fifth of it is 14
    [(70, False), (84, False), (84.01, True), (56, False), (55.99, True), (140, True)],
)
def test_a_typed_size_may_differ_by_a_fifth(weights, warned):
    assert ("size-differs" in codes(weights_gb=weights, devices=4)) == warned


def test_size_differs_shows_both_and_which_is_used():
    issue = only("size-differs", weights_gb=140, devices=4)
    assert issue.severity is Severity.WARNING
    assert issue.field == "weights_gb"
    assert issue.problem == (
        "The typed 140.0 GB differs from 70 billion parameters at 8 bits, 70.0 GB; the typed size is used"
    )


@pytest.mark.parametrize("without", ["params_b", "precision"])
def test_a_typed_size_alone_differs_from_nothing(without):
    assert "size-differs" not in codes(weights_gb=140, devices=4, **{without: None})


# Time to first token.


@pytest.mark.parametrize(
    ("prompt", "noted"),
    # 9,000 tok/s: 18,000 tokens take 2 s
    [(18_000, False), (18_001, True), (2_000, False), (None, False)],
)
def test_a_first_token_after_more_than_2_seconds_is_a_prefill_problem(prompt, noted):
    assert ("slow-prefill" in codes(prompt_tokens=prompt)) == noted


def test_slow_prefill_is_a_note_at_the_prompt():
    issue = only("slow-prefill", prompt_tokens=36_000)
    assert issue.severity is Severity.NOTE
    assert issue.field == "prompt_tokens"
    assert issue.problem == "The first token takes 4.00 s, a prefill problem"


DECODE_LEVERS = ("precision", "smaller model")
PREFILL_LEVERS = ("prompt", "prefix", "compute")


def test_advice_never_mixes_the_phases():
    slow_stream = only("slow", devices=1, device_bandwidth_gb_s=350, prompt_tokens=36_000).advice.lower()
    slow_start = only("slow-prefill", devices=1, device_bandwidth_gb_s=350, prompt_tokens=36_000).advice.lower()
    assert all(lever in slow_stream for lever in DECODE_LEVERS)
    assert not any(lever in slow_stream for lever in PREFILL_LEVERS)
    assert all(lever in slow_start for lever in PREFILL_LEVERS)
    assert not any(lever in slow_start for lever in DECODE_LEVERS)
    assert "memory bandwidth does not help" in slow_start


def test_a_fast_stream_behind_a_slow_prompt_gets_prefill_advice_only():
    assert codes(prompt_tokens=36_000) == ["slow-prefill"]
    assert codes(devices=1, device_bandwidth_gb_s=350) == ["slow"]


# A ceiling is not a prediction.


@pytest.mark.parametrize(
    ("efficiency", "said"),
    [
        (None, "No efficiency is given, so the row's core rates are a ceiling, not a prediction"),
        (1, "Efficiency is 100%, so the row's core rates are a ceiling, not a prediction"),
        (100, "Efficiency is 100%, so the row's core rates are a ceiling, not a prediction"),
    ],
)
def test_efficiency_one_or_none_is_noted_as_a_ceiling(efficiency, said):
    issue = only("ceiling", efficiency=efficiency)
    assert issue.severity is Severity.NOTE
    assert issue.field == "efficiency"
    assert issue.problem == said


def test_efficiency_below_one_is_no_ceiling():
    assert "ceiling" not in codes(efficiency=0.999)


# Figures that stay blank.


@pytest.mark.parametrize(
    ("without", "code", "field", "problem"),
    [
        (
            ["prefill_tokens_per_sec"],
            "no-prefill",
            "prefill_tokens_per_sec",
            "Without prefill rate, these stay blank: time to first token, response time, requests",
        ),
        (
            ["prompt_tokens"],
            "no-prefill",
            "prompt_tokens",
            "Without prompt, these stay blank: time to first token, response time, requests",
        ),
        (
            ["output_tokens"],
            "no-output",
            "output_tokens",
            "Without output, these stay blank: generation time, response time, requests",
        ),
        (
            ["prefill_tokens_per_sec", "prompt_tokens", "output_tokens"],
            "no-prefill",
            "prefill_tokens_per_sec",
            (
                "Without prefill rate, prompt and output, these stay blank: "
                "time to first token, generation time, response time, requests"
            ),
        ),
    ],
)
def test_a_missing_phase_is_noted_with_what_stays_blank(without, code, field, problem):
    found = issues(**dict.fromkeys(without))
    assert [(issue.code, issue.severity, issue.field, issue.problem) for issue in found] == [
        (code, Severity.NOTE, field, problem)
    ]


def test_no_precision_is_noted():
    issue = only("no-precision", params_b=None, precision=None, weights_gb=70)
    assert (issue.severity, issue.field) == (Severity.NOTE, "precision")
    assert "no-precision" not in codes(weights_gb=70)


@pytest.mark.parametrize(
    ("changes", "noted"),
    [
        ({"device_bandwidth_gb_s": None, "bandwidth_gb_s": 6700, "devices": None}, True),
        ({"device_bandwidth_gb_s": None, "bandwidth_gb_s": 6700, "devices": 2}, False),
        ({"device_bandwidth_gb_s": None, "bandwidth_gb_s": 6700, "devices": 1}, False),
        ({"devices": None}, False),
    ],
)
def test_an_aggregate_of_an_unknown_number_of_devices_is_noted(changes, noted):
    assert ("one-device" in codes(**changes)) == noted


# All together.


def test_several_checks_speak_at_once():
    found = codes(
        params_b=140,
        devices=1,
        device_bandwidth_gb_s=350,
        efficiency=None,
        batch=64,
        weights_gb=200,
        prompt_tokens=36_000,
        output_tokens=None,
        measured_tokens_per_sec=50,
    )
    assert found == [
        "no-fit",
        "slow",
        "batch-large",
        "above-ceiling",
        "size-differs",
        "slow-prefill",
        "ceiling",
        "no-output",
    ]


def test_reading_pace_is_judged_by_the_estimate_where_there_is_one():
    # All 65 GB of the mixture at 273 GB/s are 4 tok/s; a token reads only some 3 GB of them.
    mixture = evaluate(Scenario(model="gpt-oss-120b", device="DGX Spark", prompt_tokens=1000, output_tokens=500))
    assert mixture.tokens_per_sec < 10 < mixture.estimated_tokens_per_sec
    assert "slow" not in [issue.code for issue in mixture.issues]
    # 12.5 tok/s by the weights alone; latencies and cache bring it below ten.
    dense = evaluate(
        Scenario(model="Llama-3.3-70B", precision="INT8", device="M2 Ultra", prompt_tokens=8000, output_tokens=500)
    )
    assert dense.estimated_tokens_per_sec < 10 < dense.tokens_per_sec
    (said,) = [issue.problem for issue in dense.issues if issue.code == "slow"]
    assert said.startswith("One stream runs at an estimated 8.")


def test_every_code_has_a_flag_a_field_and_advice():
    changes = [
        {"params_b": 300, "batch": 64, "efficiency": None, "prompt_tokens": 36_000, "weights_gb": 900},
        {"batch": 16, "measured_tokens_per_sec": 999, "prefill_tokens_per_sec": None},
        {"output_tokens": None, "weights_gb": 70, "precision": None},
        {"bandwidth_gb_s": 6700, "device_bandwidth_gb_s": None, "devices": None},
        {"device_bandwidth_gb_s": 3.35, "measured_tokens_per_sec": 0.001},
        {"model": "mixtral 8x7b", "params_b": None, "device": "H100", "offered_requests_per_hour": 1e7},
        {"model": "llama 70b", "device_class": "gaudi"},
        {"engine": "vLMM", "model": "Llama-2-70B", "prompt_tokens": 8000},
        {"engine": "ollama", "devices": 2},
    ]
    found = list(itertools.chain.from_iterable(issues(**change) for change in changes))
    # Those of money: tests/test_cost_checks.py.
    assert {issue.code for issue in found} == set(checks.FLAGS) - set(COST_FLAGS)
    for issue in found:
        assert issue.severity in {Severity.WARNING, Severity.NOTE}
        assert issue.field in COLUMNS
        assert issue.advice
        assert not issue.problem.endswith(".")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"device_bandwidth_gb_s": 3.35}, "Bandwidth per device is 3.35 GB/s, unusually low"),
        ({"device_bandwidth_gb_s": 3_350_000}, "Bandwidth per device is 3,350,000 GB/s, unusually high"),
        ({"params_b": 70_000}, "Parameters is 70,000 billions, unusually high"),
        ({"device_memory_gb": 80_000}, "Memory per device is 80,000 GB, unusually high"),
    ],
)
def test_a_slip_of_the_unit_is_asked_about(changes, said):
    assert [issue.problem for issue in issues(**changes) if issue.code == "unlikely"] == [said]


def test_a_measured_rate_says_what_efficiency_it_means():
    # 6,700 GB/s over 70 GB: a ceiling of 95.71 tok/s, of which 23.93 is a quarter
    found = [issue for issue in issues(measured_tokens_per_sec=23.93) if issue.code == "measured"]
    assert len(found) == 1
    assert "it means an efficiency of 25.0%" in found[0].problem


def test_a_context_beyond_the_models_own_is_warned_of():
    (said,) = [
        i for i in issues(model="Llama-2-70B", prompt_tokens=8000, output_tokens=500) if i.code == "context-long"
    ]
    assert said.problem == "Prompt and output are 8,500 tokens, and Llama-2-70B takes 4,096 at most"
    assert "context-long" not in codes(model="Llama-3.1-70B", prompt_tokens=8000, output_tokens=500)
    assert "context-long" not in codes(model="a model of ours", prompt_tokens=10**6, output_tokens=500)


@pytest.mark.parametrize(("engine", "noted"), [("vLMM", True), ("Triton", True), ("vLLM 0.9", False), ("", False)])
def test_an_engine_that_nobody_measured_is_noted(engine, noted):
    found = [i.problem for i in issues(engine=engine) if i.code == "engine-unknown"]
    assert bool(found) == noted
    if engine == "vLMM":
        assert found[0].endswith("so the class's general constants count; did you mean vLLM?")


def test_how_llama_cpp_splits_is_asked_for():
    assert "split-blank" in codes(engine="llama.cpp", devices=2)
    assert "split-blank" not in codes(engine="llama.cpp", devices=2, split="layers")
    assert "split-blank" not in codes(engine="vLLM", devices=2)
    assert "split-blank" not in codes(engine="llama.cpp", devices=1)


def test_a_model_named_with_its_precision_comes_at_it():
    awq = evaluate(Scenario(model="Meta-Llama-3.1-70B-Instruct-AWQ-INT4", bandwidth_gb_s=3350))
    assert awq.weights_gb == pytest.approx(70.553706496 * 4.156 / 8)
    assert awq.sources["precision"] == "the model's name"
    typed = evaluate(Scenario(model="Llama-3.1-70B-Instruct-FP8", precision="FP16", bandwidth_gb_s=3350))
    assert typed.weights_gb == pytest.approx(70.553706496 * 2)


def test_what_does_not_fit_gets_no_advice_on_replicas():
    crowded = {"model": "Llama-3.1-70B", "params_b": None, "device_memory_gb": 80, "devices": 2, "batch": 256}
    crowded |= {"prompt_tokens": 8000, "output_tokens": 300, "offered_requests_per_hour": 1e6}
    found = codes(**crowded)
    assert "no-fit" in found
    assert "unstable" not in found
