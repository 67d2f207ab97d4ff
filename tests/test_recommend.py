import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.plan.evaluate import evaluate
from planner.plan.purse import Purse, purse_of
from planner.plan.recommend import AgainstApi, Standing, against_api, flagged, recommend, standing_of
from planner.plan.scenario import Scenario

BASE = Scenario(
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
RATE_ONLY = {"prompt_tokens": None, "output_tokens": None, "prefill_tokens_per_sec": None}


def results(*changes):
    return [evaluate(dataclasses.replace(BASE, name=f"s{n}", **change)) for n, change in enumerate(changes)]


def names(found):
    return [result.scenario.name if result else None for result in (found.best, found.steadier)]


def test_most_requests_per_device_win():
    found = recommend(results({}, {"batch": 16}, {"batch": 4}))
    assert names(found) == ["s1", None]
    assert found.criterion == "most requests per hour per device"
    assert found.figure == "requests_per_device_per_hour"
    assert found.value(found.best) == found.best.requests_per_device_per_hour
    assert (found.compared, found.slow, found.not_fitting) == (3, 0, 0)


def test_per_device_and_not_in_total():
    # twice the devices double the speed, but prefill stays: fewer requests for each device
    one, two = results({"precision": "INT4"}, {"precision": "INT4", "devices": 4})
    assert two.requests_per_hour > one.requests_per_hour
    assert two.requests_per_device_per_hour < one.requests_per_device_per_hour
    assert recommend([one, two]).best is one


def test_without_request_figures_the_aggregate_rate_per_device_decides():
    one, two = results({**RATE_ONLY}, {**RATE_ONLY, "devices": 4, "batch": 12})
    found = recommend([one, two])
    assert found.criterion == "highest aggregate rate per device"
    # 6,700 x 0.85 / 70 x 8 / 2 devices = 325.43; 13,400 x 0.85 / 70 x 12 / 4 = 488.14
    assert found.best is two
    assert found.value(one) == pytest.approx(6700 * 0.85 / 70 * 8 / 2)
    assert found.value(two) == pytest.approx(13_400 * 0.85 / 70 * 12 / 4)


def test_one_row_with_request_figures_is_enough_to_rank_by_them():
    # the row without is not compared: there is nothing to compare
    slow, fast = results({"batch": 1}, {**RATE_ONLY, "batch": 32})
    found = recommend([slow, fast])
    assert found.best is slow
    assert found.compared == 1
    assert found.value(fast) is None


def test_what_does_not_fit_is_set_aside():
    found = recommend(results({"devices": 1, "precision": "INT4", "batch": 32, "device_memory_gb": 24}, {"batch": 1}))
    assert names(found) == ["s1", None]
    assert (found.compared, found.slow, found.not_fitting) == (1, 0, 1)


@pytest.mark.parametrize(
    ("bandwidth", "qualifies"),
    # weights 70 GB at efficiency 1 on one device: 700 GB/s give 10 tok/s exactly
    [(700, True), (699.99, False)],
)
def test_reading_pace_is_kept_at_exactly_10_tokens_per_second(bandwidth, qualifies):
    found = recommend(
        results({"devices": 1, "device_memory_gb": None, "device_bandwidth_gb_s": bandwidth, "efficiency": 1})
    )
    assert (found.best is not None) == qualifies
    assert found.slow == (0 if qualifies else 1)


def test_none_qualifies():
    found = recommend(results({"devices": 1, "params_b": 200}, {"device_bandwidth_gb_s": 100}))
    assert names(found) == [None, None]
    assert (found.compared, found.slow, found.not_fitting) == (0, 1, 1)
    assert found.criterion == "most requests per hour per device"


def test_what_does_not_fit_is_not_also_counted_as_slow():
    found = recommend(results({"devices": 1, "params_b": 200, "device_bandwidth_gb_s": 100}))
    assert (found.slow, found.not_fitting) == (0, 1)


def test_nothing_to_compare():
    found = recommend([])
    assert names(found) == [None, None]
    assert found.compared == 0


def test_of_equals_the_first_wins():
    found = recommend(results({}, {}, {}))
    assert names(found) == ["s0", None]


def test_above_batch_32_a_steadier_one_is_named_beside_the_best():
    found = recommend(results({"batch": 64}, {"batch": 32}, {"batch": 8}))
    assert names(found) == ["s0", "s1"]


def test_a_best_at_batch_32_is_steady_itself():
    assert names(recommend(results({"batch": 32}, {"batch": 8}))) == ["s0", None]


def test_where_all_are_above_batch_32_none_is_steadier():
    assert names(recommend(results({"batch": 64}, {"batch": 128}))) == ["s1", None]


def test_flagged():
    (result,) = results({"batch": 64})
    assert flagged(result, "batch-large")
    assert not flagged(result, "no-fit")


def test_the_order_of_the_rows_does_not_matter():
    rows = results({}, {"batch": 16}, {"batch": 64}, {"devices": 1})
    assert names(recommend(rows)) == names(recommend(rows[::-1]))


NAMED = Scenario(
    model="Llama-3.1-8B",
    device="H100 SXM",
    precision="FP8",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
)


def named(**changes):
    return evaluate(dataclasses.replace(NAMED, **changes))


def test_estimates_decide_where_every_scenario_has_one_with_a_range():
    # By the core eight times the batch is eight times the requests; by the estimate it is far less
    small, large = named(name="small"), named(name="large", batch=64)
    found = recommend([small, large])
    assert found.by_estimate
    assert found.best is large
    assert found.steadier is None
    assert found.criterion == "most estimated requests per hour per device"
    assert found.value(large) == large.estimated_requests_per_hour
    assert found.rate(large) == large.estimated_tokens_per_sec
    assert found.value(large) < 4 * found.value(small)


def test_the_estimate_can_turn_the_order_round():
    # The core counts no latencies: four devices are four times as fast by it, and far from it by the estimate
    one = named(name="one", prefill_tokens_per_sec=1e6, batch=1)
    four = named(name="four", prefill_tokens_per_sec=5e6, batch=1, devices=4)
    assert four.requests_per_device_per_hour > one.requests_per_device_per_hour
    assert recommend([one, four]).best is one


def test_one_scenario_without_a_range_has_all_ranked_by_the_core():
    found = recommend([named(prefill_tokens_per_sec=9000), *results({})])
    assert not found.by_estimate
    assert found.criterion == "most requests per hour per device"
    assert found.rate(found.best) == found.best.tokens_per_sec


def test_what_does_not_fit_needs_no_estimate():
    too_large = results({"devices": 1, "params_b": 200})
    assert recommend([named(), *too_large]).by_estimate


def test_a_ceiling_by_the_core_is_compared_by_its_estimate():
    typed, blank = named(name="typed", efficiency=0.8), named(name="blank")
    assert flagged(blank, "ceiling")
    assert recommend([typed, blank]).compared == 2


def test_without_token_counts_the_estimated_aggregate_per_device_decides():
    # The catalogue knows no peak of this one, so that prefill has no time and requests have none.
    rate_only = {"device": "M2 Ultra", "precision": "INT4", "prefill_tokens_per_sec": None}
    one, two = named(name="one", **rate_only), named(name="two", devices=2, **rate_only)
    found = recommend([one, two])
    assert found.figure == "estimated_aggregate_tokens_per_sec"
    assert not found.by_requests
    assert found.value(two) == two.estimated_aggregate_tokens_per_sec / 2


# Money: the cheapest that fits and meets its targets.

RENT = {"device_cost_h": 2.5, "busy_share": 0.5, "currency": "USD"}


def test_the_cheapest_wins_and_not_the_one_that_serves_most():
    cheap, fast = named(name="cheap", batch=32, **RENT), named(name="fast", batch=64, **RENT | {"device_cost_h": 9})
    found = recommend([cheap, fast], purse_of([cheap.scenario]))
    assert cheap.cost_per_m_tokens < fast.cost_per_m_tokens
    assert recommend([cheap, fast]).best is not None
    assert found.best is cheap
    assert found.by_cost
    assert found.criterion == "lowest cost per million output tokens"
    assert found.value(cheap) == cheap.cost_per_m_tokens
    assert found.by_estimate


def test_what_has_no_price_is_not_ranked_beside_what_has_one():
    priced, free = named(name="priced", **RENT), named(name="free", batch=64)
    found = recommend([free, priced], purse_of([priced.scenario]))
    assert found.best is priced
    assert found.standings == (Standing.LACKING, Standing.RANKED)
    assert (found.compared, found.set_aside) == (1, 0)


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({}, Standing.RANKED),
        ({"target_tokens_per_sec": 1000}, Standing.SLOW),
        ({"target_tokens_per_sec": 50, "target_response_s": 60}, Standing.RANKED),
        ({"target_response_s": 0.5}, Standing.LATE),
        ({"target_response_s": 60, "output_tokens": None}, Standing.UNTIMED),
        ({"model": "DeepSeek-V3"}, Standing.NO_FIT),
    ],
)
def test_a_cheaper_one_that_misses_its_targets_is_set_aside(changes, standing):
    dear, cheap = named(name="dear", **RENT), named(name="cheap", **RENT | {"device_cost_h": 0.1} | changes)
    found = recommend([dear, cheap], purse_of([dear.scenario]))
    assert found.standings[1] is standing
    assert found.best is (cheap if standing is Standing.RANKED else dear)


def test_a_target_of_its_own_stands_for_reading_pace():
    slow = evaluate(dataclasses.replace(BASE, devices=1, device_memory_gb=None, device_bandwidth_gb_s=350))
    assert standing_of(slow) is Standing.SLOW
    patient = dataclasses.replace(slow.scenario, target_tokens_per_sec=2.0)
    assert standing_of(evaluate(patient)) is Standing.RANKED


def test_a_cost_on_an_upper_bound_is_no_match_for_one_on_an_estimate():
    bound = evaluate(dataclasses.replace(BASE, name="bound", **RENT | {"device_cost_h": 0.1}))
    estimated = named(name="estimated", **RENT)
    found = recommend([bound, estimated], purse_of([estimated.scenario]))
    assert bound.cost_per_m_tokens < estimated.cost_per_m_tokens
    assert found.best is estimated
    assert found.standings == (Standing.BOUND, Standing.RANKED)
    assert found.set_aside == 1
    # Where all rest on bounds, they are compared with each other.
    dearer = evaluate(dataclasses.replace(BASE, name="dearer", **RENT))
    alone = recommend([bound, dearer], purse_of([dearer.scenario]))
    assert alone.best is bound
    assert not alone.by_estimate


@pytest.mark.parametrize(
    ("changes", "stands"),
    [
        ({}, AgainstApi.UNKNOWN),
        ({"input_cost_m": 1.0, "output_cost_m": 4.0}, AgainstApi.CHEAPER),
        ({"input_cost_m": 0.5, "output_cost_m": 1.5, "busy_share": 0.05}, AgainstApi.DEARER),
        ({"input_cost_m": 0.01, "output_cost_m": 0.02}, AgainstApi.NEVER),
        ({"input_cost_m": 0.0, "output_cost_m": 0.0}, AgainstApi.NEVER),
    ],
)
def test_how_a_cost_stands_against_its_api(changes, stands):
    assert against_api(named(**RENT | changes)) is stands


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 20), st.sampled_from([1, 8, 32]), st.sampled_from([None, 30, 90, 200])), max_size=6
    )
)
def test_no_qualifying_scenario_is_cheaper_than_the_best(rows):
    found = [
        named(batch=batch, target_tokens_per_sec=target, **RENT | {"device_cost_h": cost})
        for cost, batch, target in rows
    ]
    best = recommend(found, Purse("USD", ("USD",))).best
    able = [r for r in found if r.estimated_tokens_per_sec >= (r.scenario.target_tokens_per_sec or 10)]
    assert (best is None) == (not able)
    if best is not None:
        assert best.cost_per_m_tokens == min(r.cost_per_m_tokens for r in able)


def test_a_scenario_whose_queue_only_grows_is_not_recommended():
    dear, cheap = (
        named(name="dear", **RENT),
        named(name="cheap", offered_requests_per_hour=1e9, **RENT | {"device_cost_h": 0.1}),
    )
    found = recommend([dear, cheap], purse_of([dear.scenario]))
    assert found.standings[1] is Standing.UNSTABLE
    assert found.best is dear


def test_a_cost_of_one_device_for_want_of_their_number_decides_nothing():
    alone = evaluate(
        dataclasses.replace(
            BASE, device_bandwidth_gb_s=None, bandwidth_gb_s=6700, devices=None, device_memory_gb=None, **RENT
        )
    )
    found = recommend([alone], purse_of([alone.scenario]))
    assert alone.cost_per_m_tokens is not None
    assert not found.by_cost


def test_what_does_not_fit_is_cheaper_than_nothing():
    assert against_api(named(model="DeepSeek-V3", **RENT, input_cost_m=1, output_cost_m=9)) is AgainstApi.NO_FIT
