"""The Pareto front: the points of which none is beaten in one respect without being better in the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from planner.plan.bulk_columns import Flags


def pareto_front(gains: Any, costs: Any, groups: Any = None) -> Flags:
    """Which points no other point of their group beats: none has as much gain at less cost, or more gain at as little.

    Points that are equal in both are on the front together or not at all; one whose gain or cost is NaN never is.
    Groups are whole numbers, a front each. Exact, by one sort and a running minimum.

    >>> pareto_front([30, 20, 20, 10], [5, 2, 3, 2]).tolist()
    [True, True, False, False]
    >>> pareto_front([30, 20, 20, 10], [5, 2, 3, 2], [0, 0, 1, 1]).tolist()
    [True, True, True, True]
    """
    gains, costs = np.asarray(gains, np.float64), np.asarray(costs, np.float64)
    groups = np.zeros(len(gains), np.int64) if groups is None else np.asarray(groups, np.int64)
    front = np.zeros(len(gains), bool)
    known = np.flatnonzero(~(np.isnan(gains) | np.isnan(costs)))
    if not len(known):
        return front
    gains, groups = gains[known], groups[known]
    levels, ranks = np.unique(costs[known], return_inverse=True)
    # Group by group, and in each from the largest gain down, cheapest first among equals.
    order = np.lexsort((ranks, -gains, groups))
    gains, groups, ranks = gains[order], groups[order], ranks[order].astype(np.int64)
    starts = np.concatenate(([True], (gains[1:] != gains[:-1]) | (groups[1:] != groups[:-1])))
    block = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    # The cheapest of each block stands first in it. What later groups hold lies below all of what earlier ones hold,
    # so that one running minimum serves them all.
    _, group = np.unique(groups, return_inverse=True)
    cheapest = ranks[first] - group[first].astype(np.int64) * (len(levels) + 1)
    before = np.concatenate(([np.iinfo(np.int64).max], np.minimum.accumulate(cheapest)[:-1]))
    # A group's first block has only other groups before it.
    opens = np.concatenate(([True], groups[first][1:] != groups[first][:-1]))
    best = opens | (cheapest < before)
    front[known[order]] = best[block] & (ranks == ranks[first][block])
    return front
