"""Efficiencies from measured rates, against arithmetic by hand."""

from __future__ import annotations

import json

import openpyxl
import pytest
from click.testing import CliRunner

from planner import Scenario, evaluate
from planner.catalog import class_constants
from planner.cli import main
from planner.plan.calibrate import calibrate, fit_groups

approx = pytest.approx
H100 = {"device": "H100 SXM", "engine": "vLLM", "prompt_tokens": 1024, "output_tokens": 512}


def of(**inputs):
    return calibrate(evaluate(Scenario(**inputs)))


def test_a_scenario_without_a_measured_rate_says_nothing():
    assert of(**H100, model="Llama-3.1-8B", precision="FP16") is None


def test_the_cores_efficiency_by_hand():
    # 16 tok/s x 140 GB / 3,350 GB/s = 0.66866
    found = of(params_b=70, precision="FP16", bandwidth_gb_s=3350, measured_tokens_per_sec=16)
    assert found.efficiency == approx(0.668657, rel=1e-6)
    # Typed as Efficiency, it gives the measured rate.
    again = evaluate(Scenario(params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=found.efficiency))
    assert again.tokens_per_sec == approx(16)


def test_the_fetch_efficiency_is_what_is_left_for_the_reads_by_hand():
    c = class_constants("nv-dc-hbm", "serving")
    found = of(**H100, model="Llama-3.1-8B", precision="FP16", measured_tokens_per_sec=120)
    result = found.result
    # step 1,000 / 120 ms, less 32 layers' latency, is the time of the reads
    reading_ms = 1e3 / 120 - 32 * c.layer_latency_us / 1e3
    read_gb = result.weights_read_gb + result.kv_read_gb
    assert found.fetch_efficiency == approx(read_gb / 3350 / (reading_ms / 1e3), rel=1e-9)
    assert found.why == ""


@pytest.mark.parametrize(
    "inputs",
    [
        {"model": "Llama-3.1-8B", "precision": "FP16", "measured_tokens_per_sec": 120},
        {"model": "Llama-3.1-70B", "precision": "FP8", "devices": 4, "batch": 16, "measured_tokens_per_sec": 50},
        {"model": "gpt-oss-120b", "batch": 4, "devices": 2, "measured_tokens_per_sec": 110},
        {"model": "Llama-3.1-8B", "precision": "Q4_K_M", "device": "RTX 4090", "engine": "llama.cpp", "batch": 4, "measured_tokens_per_sec": 70},
        {"model": "Llama-3.1-70B", "precision": "FP16", "devices": 4, "draft_tokens": 3, "acceptance": 0.7, "draft_step_ms": 1, "measured_tokens_per_sec": 90},
    ],
)  # fmt: skip
def test_the_fetch_efficiency_typed_gives_the_measured_rate(inputs):
    found = of(**(H100 | inputs))
    again = evaluate(Scenario(**(H100 | inputs), fetch_efficiency=found.fetch_efficiency))
    assert again.estimated_tokens_per_sec == approx(inputs["measured_tokens_per_sec"], rel=1e-9)


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        # 80 layers' latency alone is longer than 1,000 / 500 ms
        ({"model": "Llama-3.1-70B", "precision": "INT4", "devices": 8, "measured_tokens_per_sec": 180}, "faster than the estimate's other terms allow"),
        ({"model": "Llama-3.1-8B", "precision": "FP16", "batch": 512, "prefill_on": "apart", "prompt_tokens": 10, "output_tokens": 10, "measured_tokens_per_sec": 28}, "arithmetic takes all the time left for reads"),
        ({"model": "Llama-3.1-8B", "precision": "FP16", "measured_tokens_per_sec": 2}, "something else takes the time"),
    ],
)  # fmt: skip
def test_a_rate_that_leaves_no_room_for_the_reads_says_so(inputs, why):
    found = of(**(H100 | inputs))
    assert found.fetch_efficiency is None
    assert why in found.why


def test_a_rate_above_the_ceiling_names_precision_then_drafts_then_experts():
    # 3,350 / 140 = 23.93; at 30 tok/s 16 x 23.93 / 30 = 12.8 bits would do, or 1.25 tokens a step
    found = of(params_b=70, precision="FP16", bandwidth_gb_s=3350, measured_tokens_per_sec=30)
    assert found.above_ceiling == (
        "30 tok/s against a ceiling of 23.93; one of the inputs is wrong: look at precision (12.8 bits a weight or "
        "fewer would do), speculative decoding (1.25 tokens a step or more), mixture of experts (type experts, active "
        "experts and active parameters), in that order"
    )
    assert of(params_b=70, precision="FP16", bandwidth_gb_s=3350, measured_tokens_per_sec=23).above_ceiling == ""


def test_a_mixture_is_held_against_the_weights_it_reads():
    # Mixtral: 93.4 GB in memory, 25.8 read for one token: ceilings of 35.9 and 129.9 on 3,350 GB/s
    mixtral = {
        "params_b": 46.7,
        "active_params_b": 12.9,
        "experts": 8,
        "active_experts": 2,
        "precision": "FP16",
        "bandwidth_gb_s": 3350,
    }
    inside = of(**mixtral, measured_tokens_per_sec=100)
    assert inside.above_ceiling.endswith("a mixture of experts: within the 129.8 that the weights read allow")
    assert inside.efficiency == approx(100 * 93.4 / 3350)
    assert inside.read_efficiency == approx(100 * 25.8 / 3350)
    above = of(**mixtral, measured_tokens_per_sec=200)
    assert "look at precision (10.4 bits a weight or fewer would do)" in above.above_ceiling
    assert "mixture of experts" not in above.above_ceiling


def test_a_draft_explains_a_rate_above_the_ceiling():
    # (1 - 0.8^4) / 0.2 = 2.952 tokens a step
    found = of(
        params_b=70, precision="FP16", bandwidth_gb_s=3350, draft_tokens=3, acceptance=0.8, measured_tokens_per_sec=40
    )
    assert found.above_ceiling.endswith("the draft explains it (2.95 tokens a step)")


def test_a_group_is_the_median_of_its_configurations():
    # One configuration at three batches counts once; the class and engine group part the rest.
    eight = [
        of(**H100, model="Llama-3.1-8B", precision="FP16", batch=b, measured_tokens_per_sec=r)
        for b, r in ((1, 120), (2, 115), (4, 110))
    ]
    seventy = of(**H100, model="Llama-3.1-70B", precision="FP8", devices=2, measured_tokens_per_sec=50)
    other = of(**(H100 | {"engine": "llama.cpp"}), model="Llama-3.1-8B", precision="FP16", measured_tokens_per_sec=80)
    groups = {group.engine_group: group for group in fit_groups([*eight, seventy, other])}
    serving = groups["serving"]
    assert (serving.device_class, serving.rows, serving.configurations) == ("nv-dc-hbm", 4, 2)
    middle = sorted(found.fetch_efficiency for found in eight)[1]
    assert serving.fetch_efficiency == approx((middle + seventy.fetch_efficiency) / 2)
    assert serving.fetch_spread == approx(tuple(sorted((middle, seventy.fetch_efficiency))))
    assert serving.shipped == class_constants("nv-dc-hbm", "serving").fetch_efficiency
    assert groups["llamacpp"].fetch_efficiency == approx(other.fetch_efficiency)
    assert groups["llamacpp"].error_after == approx(0, abs=1e-9)


@pytest.fixture
def book(tmp_path):
    def made(*rows):
        path = tmp_path / "measured.xlsx"
        workbook = openpyxl.Workbook()
        sheet = workbook.active
        sheet.title = "Scenarios"
        sheet.append(
            [
                "Scenario",
                "Device",
                "Devices",
                "Engine",
                "Model",
                "Precision",
                "Batch",
                "Prompt",
                "Output",
                "Measured rate",
            ]
        )
        for row in rows:
            sheet.append(row)
        workbook.save(path)
        return path

    return made


def run(*args, **env):
    return CliRunner().invoke(main, ["calibrate", *map(str, args)], catch_exceptions=False, env=env)


GOOD = ["8B on a 4090", "RTX 4090", 1, "llama.cpp", "Llama-3.1-8B", "FP16", 1, 512, 512, 54]
FAST = ["too fast", "H100 SXM", 4, "vLLM", "Llama-3.1-70B", "FP16", 1, 1024, 512, 140]
BLANK = ["not measured", "H100 SXM", 4, "vLLM", "Llama-3.1-70B", "FP16", 1, 1024, 512, None]


def test_the_command_prints_what_to_type(book):
    done = run(book(GOOD, FAST, BLANK), COLUMNS="80")
    assert done.exit_code == 0
    assert "above   too fast: 140 tok/s against a ceiling of 94.96" in done.stdout
    assert "not measured" not in done.stdout
    found = of(
        device="RTX 4090",
        engine="llama.cpp",
        model="Llama-3.1-8B",
        precision="FP16",
        batch=1,
        prompt_tokens=512,
        output_tokens=512,
        measured_tokens_per_sec=54,
    )
    typed = (
        f"Type for GeForce, llamacpp: Efficiency {found.efficiency:.3f}, Fetch efficiency {found.fetch_efficiency:.3f}"
    )
    assert typed in done.stdout
    tables = [line for line in done.stdout.splitlines() if not line.startswith(("above", "note", "Type"))]
    assert max(map(len, tables)) <= 80


def test_json_and_skipped_rows(book):
    done = run(book(GOOD, [*GOOD[:6], -1, *GOOD[7:]]), "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert [row["name"] for row in found["scenarios"]] == ["8B on a 4090"]
    assert found["groups"][0]["rows"] == 1


def test_a_workbook_without_measured_rates_is_refused_in_one_line(book):
    done = run(book(BLANK))
    assert done.exit_code == 2
    assert done.stderr == (
        "planner: No scenario of measured.xlsx has a rate under 'Measured rate (tok/s)'; type the measured rate of one "
        "stream there.\n"
    )
