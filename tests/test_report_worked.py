"""The worked check: formulas written out with their numbers, which a pocket calculator confirms."""

import inspect
import math
import re

import pytest

from planner.formulas import estimate, experts, memory, prefill
from planner.plan.recipes import RECIPES
from planner.plan.scenario import Scenario
from planner.plan.study import study_of
from planner.report.parts import digits
from planner.report.worked import expression, worked_estimate

DENSE = {
    "model": "Llama-3.1-70B",
    "device": "H100 SXM",
    "devices": 4,
    "precision": "FP8",
    "batch": 8,
    "prompt_tokens": 2000,
    "output_tokens": 500,
    "cached_tokens": 1000,
    "offered_requests_per_hour": 500,
}
MIXTURE = DENSE | {"model": "gpt-oss-120b", "precision": None, "window_reserve": "capped"}
DRAFT = DENSE | {"draft_tokens": 4, "acceptance": 0.7, "draft_step_ms": 2}
LAYERED = DENSE | {"split": "layers", "engine": "llama.cpp", "device": "RTX 4090"}
LATENT = DENSE | {"model": "DeepSeek-V3", "devices": 8}


def by_hand(text):
    """What a line says, as a pocket calculator would have it."""
    python = text.replace(",", "").replace(";", ",").replace("×", "*").replace("÷", "/").replace("\u2212", "-")
    return eval(python.replace("^", "**"), {"min": min, "max": max, "floor": math.floor})


@pytest.mark.parametrize("fields", [DENSE, MIXTURE, DRAFT, LAYERED, LATENT])
def test_each_line_of_the_estimate_holds_to_seven_digits(fields):
    case = study_of([Scenario(name="a", **fields)]).cases[0]
    lines = worked_estimate(case)
    assert len(lines) > 20
    for line in lines:
        left, _, right = line.line.partition(" = ")
        value = float(re.match(r"\u2212?[\d,.]+", right)[0].replace(",", ""))
        # A line starts from numbers of seven digits, and a difference loses some of them.
        assert by_hand(left) == pytest.approx(value, rel=3e-6), line.line


def test_every_figure_of_the_estimate_has_its_line():
    case = study_of([Scenario(name="a", **DENSE)]).cases[0]
    lines = worked_estimate(case)
    step = next(line for line in lines if line.figure == "Step time")
    assert step.line.startswith("max(")
    assert step.equation.startswith("= max(memory, compute)")
    figures = {line.figure for line in lines}
    assert {"KV cache", "Memory needed", "Reading", "Estimate per stream", "Low", "High", "Wait"} <= figures
    assert len(lines) <= len(RECIPES)


@pytest.mark.parametrize(
    ("formula", "numbers", "text"),
    [
        (memory.devices_to_hold, (140, 80, 0.9), "\u2212floor(\u2212140 ÷ 80 ÷ 0.9)"),
        (prefill.prefill_tokens, (2000, 500), "max(2,000 \u2212 500; 0)"),
        (experts.expert_share_read, (8, 2, 4), "1 \u2212 max(1 \u2212 2 ÷ 8; 0)^4"),
        # the side of a condition that holds
        (experts.expert_params_b, (46.7, 12.9, 8, 2), "(46.7 \u2212 12.9) ÷ (8 \u2212 2)"),
        (experts.expert_params_b, (46.7, 46.7, 8, 8), "0"),
        (estimate.speculative_tokens_per_step, (0.8, 4), "(1 \u2212 0.8^(4 + 1)) ÷ (1 \u2212 0.8)"),
        (estimate.speculative_tokens_per_step, (1, 4), "4 + 1"),
        # a formula within a formula, written out
        (memory.usable_memory_gb, (80, 2, 0.9), "80 × 2 × 0.9"),
        (
            memory.kv_room_gb,
            (140, 80, 2, 0.9, 1),
            "80 × 2 × 0.9 \u2212 140 \u2212 1",
        ),
        (prefill.shared_prefill_s, (280, 989.5, 4, 0.9), "280 ÷ (989.5 × 4^0.5 × 0.9)"),
    ],
)
def test_min_max_powers_conditions_and_minus_are_written(formula, numbers, text):
    names = list(inspect.signature(formula).parameters)
    assert expression(formula, dict(zip(names, map(float, numbers), strict=True))) == text
    assert digits(by_hand(text)) == digits(formula(*numbers))
