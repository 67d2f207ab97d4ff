"""The largest load within a wait."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from planner import Scenario, evaluate
from planner.cli import main
from planner.formulas.queueing import queue_wait_s
from planner.plan.load import load_within_wait

WORKED = {
    "params_b": 70, "precision": "FP16", "bandwidth_gb_s": 3350, "efficiency": 0.85, "batch": 8,
    "prompt_tokens": 2000, "output_tokens": 500, "prefill_tokens_per_sec": 9000,
}  # fmt: skip


@pytest.mark.parametrize("wait", [0.01, 0.5, 5, 100])
@pytest.mark.parametrize("replicas", [1, 3])
def test_at_that_load_the_wait_is_the_asked_one(wait, replicas):
    result = evaluate(Scenario(**WORKED, replicas=replicas))
    found = load_within_wait(result, wait)
    assert queue_wait_s(found.utilisation, result.response_time_s, 8, replicas, 1, 1) == pytest.approx(wait, rel=1e-6)
    assert found.requests_per_hour == pytest.approx(found.utilisation * 1161.047 * replicas, rel=1e-5)
    assert found.requests_per_sec == found.requests_per_hour / 3600


def test_evaluating_that_load_gives_that_wait():
    scenario = {"model": "Llama-3.1-8B", "device": "H100 SXM", "engine": "vLLM", "precision": "FP8", "batch": 32}
    scenario |= {"prompt_tokens": 1000, "output_tokens": 300}
    found = load_within_wait(evaluate(Scenario(**scenario)), 2)
    offered = evaluate(Scenario(**scenario, offered_requests_per_hour=found.requests_per_hour))
    assert offered.queue_wait_s == pytest.approx(2, rel=1e-6)
    assert offered.utilisation == pytest.approx(found.utilisation)


def test_more_patience_and_more_streams_take_more_load():
    result = evaluate(Scenario(**WORKED))
    loads = [load_within_wait(result, wait).requests_per_hour for wait in (0.1, 1, 10, 1000)]
    assert loads == sorted(loads)
    assert loads[-1] < 1162
    more = evaluate(Scenario(**WORKED | {"batch": 16}))
    assert load_within_wait(more, 1).utilisation > load_within_wait(result, 1).utilisation


def test_without_requests_there_is_no_load():
    assert load_within_wait(evaluate(Scenario(params_b=70, precision="FP16", bandwidth_gb_s=3350)), 1) is None


def test_the_command_prints_and_gives_json(sample):
    shown = CliRunner().invoke(main, ["load", str(sample), "--wait", "2"])
    assert shown.exit_code == 0
    assert "Worked example, 70B at FP16" in shown.stdout
    rows = json.loads(CliRunner().invoke(main, ["load", str(sample), "--wait", "2", "--json"]).stdout)
    first = rows["scenarios"][0]
    assert first["capacity_requests_per_hour"] == pytest.approx(1161.047, rel=1e-5)
    assert first["requests_per_hour"] == pytest.approx(first["utilisation"] * 1161.047, rel=1e-5)
    assert {row["name"] for row in rows["without"]} == {"70B at INT8 on two A100 80GB, ceiling only"}
    refused = CliRunner().invoke(main, ["load", str(sample), "--wait", "0"])
    assert refused.exit_code == 2
