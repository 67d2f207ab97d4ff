import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.pareto import pareto_front


def by_hand(points):
    """The definition: no other point of the group has as much gain at less cost, or more gain at as little."""
    known = [point for point in points if point[0] == point[0] and point[1] == point[1]]
    return [
        point in known
        and not any(
            other[2] == point[2]
            and other[0] >= point[0]
            and other[1] <= point[1]
            and (other[0] > point[0] or other[1] < point[1])
            for other in known
        )
        for point in points
    ]


# Few levels, so that ties are common.
LEVELS = st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, float("nan")])


@given(st.lists(st.tuples(LEVELS, LEVELS, st.integers(0, 3)), max_size=30))
def test_the_front_is_its_definition(points):
    gains, costs, groups = zip(*points, strict=True) if points else ((), (), ())
    assert pareto_front(gains, costs, groups).tolist() == by_hand(points)


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), max_size=40))
def test_negative_and_any_figures(points):
    gains, costs = zip(*points, strict=True) if points else ((), ())
    assert pareto_front(gains, costs).tolist() == by_hand([(*point, 0) for point in points])


@pytest.mark.parametrize(
    ("gains", "costs", "front"),
    [
        ([], [], []),
        ([1], [1], [True]),
        # Equal points are all there: none beats the other.
        ([2, 2, 2], [1, 1, 2], [True, True, False]),
        # Of equal gain the cheapest, of equal cost the fastest.
        ([1, 3, 3], [1, 1, 4], [False, True, False]),
        ([float("nan"), 1], [1, float("nan")], [False, False]),
    ],
)
def test_ties_and_blanks(gains, costs, front):
    assert pareto_front(gains, costs).tolist() == front


def test_many_points_of_many_groups_match_each_group_alone():
    dice = np.random.default_rng(3)
    gains, costs = dice.integers(0, 500, 50_000).astype(float), dice.integers(0, 500, 50_000).astype(float)
    groups = dice.integers(-5, 40, 50_000) * 1_000_003
    front = pareto_front(gains, costs, groups)
    for group in np.unique(groups):
        rows = groups == group
        best = {}
        for gain, cost in zip(gains[rows], costs[rows], strict=True):
            best[gain] = min(cost, best.get(gain, np.inf))
        expected, least = set(), np.inf
        for gain in sorted(best, reverse=True):
            if best[gain] < least:
                expected.add((gain, best[gain]))
                least = best[gain]
        on = front[rows]
        assert {(g, c) for g, c in zip(gains[rows][on], costs[rows][on], strict=True)} == expected
        assert all(is_on == ((g, c) in expected) for g, c, is_on in zip(gains[rows], costs[rows], on, strict=True))
