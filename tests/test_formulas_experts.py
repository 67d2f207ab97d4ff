"""Mixture of experts: worked values with their arithmetic, limits, properties."""

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.formulas.experts import (
    expert_params_b,
    expert_share_read,
    moe_weights_gb,
    moe_weights_read_gb,
    params_read_b,
    streamed_moe_weights_read_gb,
)
from planner.formulas.speed import ceiling_tokens_per_sec, weights_gb

# Mixtral 8x7B: 46.7 B in all, 12.9 B active, 2 of 8 experts.
MIXTRAL = (46.7, 12.9, 8, 2)
BATCH = st.integers(min_value=1, max_value=4096)


@st.composite
def mixtures(draw):
    """Total and active parameters, experts and active experts of a model that can be."""
    experts = draw(st.integers(min_value=2, max_value=512))
    active_experts = draw(st.integers(min_value=1, max_value=experts - 1))
    each = draw(st.floats(min_value=1e-3, max_value=50))
    rest = draw(st.floats(min_value=0.01, max_value=100))
    return rest + experts * each, rest + active_experts * each, experts, active_experts


def test_one_expert_and_the_rest():
    # (46.7 - 12.9) / 6 = 5.633 B each; 12.9 - 2 x 5.633 = 1.633 B besides
    each = expert_params_b(*MIXTRAL)
    assert f"{each:.3f}" == "5.633"
    assert f"{12.9 - 2 * each:.3f}" == "1.633"
    assert 1.6333333333 + 8 * each == pytest.approx(46.7, rel=1e-9)


def test_at_a_batch_of_one_the_active_parameters_are_read():
    # 12.9 x 2 = 25.8 GB; 2 x 2,039 / 25.8 = 158.06, where all 93.4 GB would give 43.66
    assert moe_weights_read_gb(*MIXTRAL, 16, 16, 1) == pytest.approx(25.8, rel=1e-14)
    assert f"{ceiling_tokens_per_sec(moe_weights_read_gb(*MIXTRAL, 16, 16, 1), 4078):.2f}" == "158.06"
    assert f"{ceiling_tokens_per_sec(weights_gb(46.7, 16), 4078):.2f}" == "43.66"
    # 512 GB/s over some 1.1 GB active: 465, a ceiling; 77.6 were measured
    assert f"{ceiling_tokens_per_sec(1.1, 512):.0f}" == "465"


def test_a_batch_reads_the_union_of_its_experts():
    # 1 - 0.75^8 = 0.8999; (1.6333 + 0.8999 x 8 x 5.6333) x 2 = 84.38 GB; 4,078 / 84.38 = 48.33; x 8 = 386.6
    assert f"{expert_share_read(8, 2, 8):.4f}" == "0.8999"
    read = moe_weights_read_gb(*MIXTRAL, 16, 16, 8)
    assert f"{read:.2f}" == "84.38"
    assert f"{ceiling_tokens_per_sec(read, 4078):.2f}" == "48.33"
    assert f"{ceiling_tokens_per_sec(read, 4078) * 8:.1f}" == "386.6"
    # batch 32: 43.67 and 1,397; active parameters x batch would be 158.06 x 8 = 1,264.5 at 8, 3.3 times too much
    assert f"{ceiling_tokens_per_sec(moe_weights_read_gb(*MIXTRAL, 16, 16, 32), 4078):.2f}" == "43.67"
    assert f"{ceiling_tokens_per_sec(moe_weights_read_gb(*MIXTRAL, 16, 16, 32), 4078) * 32:,.0f}" == "1,397"
    assert f"{4078 / 25.8 * 8:,.1f}" == "1,264.5"
    assert f"{4078 / 25.8 * read / 4078:.1f}" == "3.3"


def test_experts_at_bits_of_their_own():
    # 8 x 5.6333 = 45.0667 B at 4.25 bits and 1.6333 B at 16: 23.942 + 3.267 = 27.208 GB
    assert moe_weights_gb(*MIXTRAL, 16, 4.25) == pytest.approx(
        (45.2 - 0.4 / 3) * 4.25 / 8 + 1.6333333333333 * 2, rel=1e-12
    )
    assert moe_weights_gb(*MIXTRAL, 16, 16) == pytest.approx(93.4, rel=1e-14)
    # batch 1: 2 x 5.6333 x 4.25 / 8 + 1.6333 x 2 = 5.985 + 3.267 = 9.252 GB
    assert f"{moe_weights_read_gb(*MIXTRAL, 16, 4.25, 1):.3f}" == "9.252"


def test_an_embedding_that_is_looked_up_is_not_read():
    # 0.13 B less than the active parameters, 0.26 GB at 16 bits, at any batch
    each = expert_params_b(*MIXTRAL)
    for batch in (1, 8, 64):
        whole = moe_weights_read_gb(*MIXTRAL, 16, 16, batch)
        assert whole - streamed_moe_weights_read_gb(12.77, each, 8, 2, 16, 16, batch) == pytest.approx(0.26, rel=1e-9)


def test_where_every_expert_is_active_the_batch_changes_nothing():
    assert expert_params_b(7, 7, 1, 1) == 0
    assert expert_share_read(4, 4, 1) == expert_share_read(4, 4, 64) == 1
    assert moe_weights_read_gb(7, 7, 4, 4, 16, 16, 1) == moe_weights_read_gb(7, 7, 4, 4, 16, 16, 64) == 14
    # more active than there are is no share above one
    assert expert_share_read(2, 5, 2.5) == 1


@given(mixtures(), BATCH)
def test_the_read_lies_between_active_and_all(mixture, batch):
    total, active, *_ = mixture
    read = moe_weights_read_gb(*mixture, 16, 16, batch)
    assert weights_gb(active, 16) * (1 - 1e-9) <= read <= weights_gb(total, 16) * (1 + 1e-9)
    assert moe_weights_read_gb(*mixture, 16, 16, batch + 1) >= read * (1 - 1e-12)
    assert moe_weights_read_gb(*mixture, 16, 16, 1) == pytest.approx(weights_gb(active, 16), rel=1e-9)
    assert moe_weights_read_gb(*mixture, 16, 16, 1e9) == pytest.approx(weights_gb(total, 16), rel=1e-9)
    # a batch never reads more than its streams would one by one
    assert read <= weights_gb(active, 16) * batch * (1 + 1e-9)


@given(mixtures(), BATCH, st.sampled_from([4, 8, 16]))
def test_parameters_and_weights_read_agree(mixture, batch, bits):
    _, active, experts, active_experts = mixture
    read = params_read_b(active, expert_params_b(*mixture), experts, active_experts, batch)
    assert weights_gb(read, bits) == pytest.approx(moe_weights_read_gb(*mixture, bits, bits, batch), rel=1e-9)
    assert moe_weights_gb(*mixture, bits, bits) == pytest.approx(weights_gb(mixture[0], bits), rel=1e-12)


@given(mixtures(), BATCH, st.floats(min_value=2, max_value=16))
def test_fewer_expert_bits_are_never_more_to_read(mixture, batch, expert_bits):
    assert moe_weights_read_gb(*mixture, 16, expert_bits, batch) <= moe_weights_read_gb(*mixture, 16, 16, batch) * (1 + 1e-12)  # fmt: skip
    assert moe_weights_gb(*mixture, 16, expert_bits) <= moe_weights_gb(*mixture, 16, 16) * (1 + 1e-12)


@given(st.integers(min_value=2, max_value=64), st.integers(min_value=1, max_value=64), BATCH)
def test_the_share_is_one_of_what_is_left_each_time(experts, active_experts, batch):
    assume(active_experts <= experts)
    missed = 1 - expert_share_read(experts, active_experts, batch)
    again = 1 - expert_share_read(experts, active_experts, batch + 1)
    assert math.isclose(again, missed * (1 - active_experts / experts), abs_tol=1e-15)


def test_the_share_is_what_random_routing_touches():
    # 8 of 128 experts for each of 16 streams: 1 - (15/16)^16 = 0.644
    rng = random.Random(20261129)
    touched = [len({e for _ in range(16) for e in rng.sample(range(128), 8)}) / 128 for _ in range(2000)]
    assert sum(touched) / len(touched) == pytest.approx(expert_share_read(128, 8, 16), rel=0.005)
