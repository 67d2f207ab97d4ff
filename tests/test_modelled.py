"""What an estimate says that it leaves out."""

from __future__ import annotations

import pytest

from planner.plan.evaluate import evaluate
from planner.plan.modelled import not_modelled
from planner.plan.scenario import Scenario

# An estimate to which nothing is lacking.
WHOLE = {
    "params_b": 70,
    "precision": "FP16",
    "device_bandwidth_gb_s": 3350,
    "device_class": "nv-dc-hbm",
    "layers": 80,
    "heads": 64,
    "kv_heads": 8,
    "head_dim": 128,
    "peak_tflop_s": 989.4,
    "batch": 8,
    "prompt_tokens": 2000,
    "output_tokens": 500,
}
MIXTURE = WHOLE | {"params_b": 46.7, "active_params_b": 12.9}


def left_out(without=(), **more):
    return evaluate(Scenario(**{k: v for k, v in (WHOLE | more).items() if k not in without})).not_modelled


def test_nothing_is_left_out_where_everything_is_known():
    assert left_out() == ()


def test_names_alone_leave_nothing_out():
    named = Scenario(model="gpt-oss-120b", device="H100 SXM", batch=8, prompt_tokens=2000, output_tokens=500)
    assert evaluate(named).not_modelled == ()


def test_a_row_that_has_no_estimate_leaves_nothing_out():
    assert not_modelled(Scenario(), {}, {}) == ()


@pytest.mark.parametrize(
    ("without", "more", "said"),
    [
        ({"kv_heads"}, {}, ("KV reads (the model)",)),
        (
            {"output_tokens"},
            {},
            ("KV reads (prompt and output)", "prefill stalls (prompt, output and peak)"),
        ),
        ((), {"window_tokens": 128}, ("windows of sliding layers (window and full-attention layers)",)),
        ((), {"full_layers": 40}, ("windows of sliding layers (window and full-attention layers)",)),
        ((), {"window_tokens": 128, "full_layers": 40}, ()),
        ((), MIXTURE, ("experts left unread (experts and active experts)",)),
        ((), MIXTURE | {"experts": 8, "active_experts": 2}, ()),
        (
            (),
            MIXTURE | {"experts": 8, "active_experts": 2, "draft_tokens": 3, "acceptance": 0.8},
            ("experts that only drafted tokens read",),
        ),
        ({"peak_tflop_s"}, {}, ("arithmetic (peak)", "prefill stalls (prompt, output and peak)")),
        ({"peak_tflop_s"}, {"prefill_tokens_per_sec": 9000}, ("arithmetic (peak)",)),
        ({"device_class"}, {}, ("the device's own constants (device class)",)),
        (
            {"device_class"},
            {"efficiency": 0.85},
            ("latency of layers (device class)", "range (device class)"),
        ),
    ],
)
def test_what_lacks_an_input_is_said_with_the_input(without, more, said):
    assert left_out(without, **more) == said


def test_dense_models_rounding_is_no_mixture():
    assert left_out(active_params_b=68) == ()


def test_a_note_says_so_where_a_device_is_named():
    result = evaluate(Scenario(**{k: v for k, v in WHOLE.items() if k != "kv_heads"}))
    (issue,) = (issue for issue in result.issues if issue.code == "estimate-gaps")
    assert issue.problem == "The estimate does not count: KV reads (the model)"
    core = evaluate(Scenario(params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85))
    assert core.not_modelled
    assert "estimate-gaps" not in {issue.code for issue in core.issues}
