"""Garbage of a run is collected in the end, be the run small or large."""

import gc
import weakref

import pytest

from planner import collecting
from planner.collecting import without_gc


class Knot:
    """An object that holds itself, so that only the collector frees it."""

    def __init__(self):
        self.own = self


@pytest.fixture(autouse=True)
def nothing_left_over(monkeypatch):
    monkeypatch.setattr(collecting, "_left_over", [])
    gc.collect()


def test_nothing_is_collected_meanwhile_and_a_small_run_leaves_nothing_behind():
    with without_gc():
        knot = weakref.ref(Knot())
        kept = [[number] for number in range(10_000)]
        assert knot() is not None
        assert not gc.isenabled()
    assert gc.isenabled()
    kept += [[number] for number in range(10_000)]
    assert knot() is None


def test_the_garbage_of_a_large_run_is_collected_when_the_next_one_starts(monkeypatch):
    monkeypatch.setattr(collecting, "_MANY", 5_000)
    with without_gc():
        knot = weakref.ref(Knot())
        kept = [[number] for number in range(10_000)]
    assert knot() is not None
    with without_gc():
        assert knot() is None
    assert len(kept) == 10_000


def test_one_within_another_leaves_the_collector_to_the_outer_one():
    with without_gc():
        with without_gc():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with without_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
