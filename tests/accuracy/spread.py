"""The range about the estimate: between which multiples of it measurements lie that the fit has not seen."""

from __future__ import annotations

import numpy as np
from fit import Rows, fit, weighted_quantile

# A little outside the tenth and nine tenths, so that eight in ten hold out of sample.
LOW_SHARE, HIGH_SHARE = 0.08, 0.92
# The part of the range that comes from rows whose whole source was held out; the rest from known kinds of source.
UNSEEN_SHARE = 0.25
# A class's own quantiles count by its configurations against this many of its kind in all classes.
POOLED = 8
FEW, WIDER_WITH_FEW = 4, 1.15
FOLDS = 5


def folds_of(rows: Rows, seed: int) -> np.ndarray:
    """The fold of each row; the rows of a configuration are in one."""
    names = np.unique(rows.configurations)
    np.random.RandomState(seed).shuffle(names)
    fold = {name: i % FOLDS for i, name in enumerate(names)}
    return np.array([fold[c] for c in rows.configurations])


def held_out(rows: Rows, parts: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """log(predicted / measured) of each row by a fit to the rows of the mask outside its own part."""
    errors = np.zeros(len(parts))
    # Every fit starts afresh: a constant that no other part can place must not remember this one.
    for part in np.unique(parts):
        own = parts == part
        errors[own] = rows.errors(fit(rows, np.flatnonzero(mask & ~own)))[own]
    return errors


def ranges(rows: Rows, mask: np.ndarray, seen: np.ndarray, unseen: np.ndarray) -> dict:
    """(low, high) as logarithms, rows and configurations, by class and kind and by kind alone (class any)."""
    two = (np.flatnonzero(mask), np.flatnonzero(mask))
    index = np.concatenate(two)
    spread = np.concatenate([-seen[two[0]], -unseen[two[1]]])
    weights = rows.weights[index] * np.repeat([1 - UNSEEN_SHARE, UNSEEN_SHARE], len(two[0]))
    kinds, classes, names = rows.kinds[index], rows.classes[index], rows.configurations[index]

    def quantiles(chosen: np.ndarray) -> tuple[float, float]:
        return tuple(weighted_quantile(spread[chosen], weights[chosen], q) for q in (LOW_SHARE, HIGH_SHARE))

    found = {}
    for kind in np.unique(kinds):
        of_kind = kinds == kind
        low, high = quantiles(of_kind)
        found["any", kind] = low, high, int(of_kind.sum() / 2), len(set(names[of_kind]))
        for name in np.unique(classes[of_kind]):
            own = of_kind & (classes == name)
            count = len(set(names[own]))
            share = count / (count + POOLED)
            wider = np.log(WIDER_WITH_FEW) if count < FEW else 0.0
            own_low, own_high = quantiles(own)
            found[name, kind] = (
                share * own_low + (1 - share) * low - wider,
                share * own_high + (1 - share) * high + wider,
                int(own.sum() / 2),
                count,
            )
    return found


def inside(rows: Rows, found: dict, errors: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Whether each chosen row's measurement lies in the range about its prediction."""
    pairs = ((rows.classes[i], rows.kinds[i], -errors[i]) for i in chosen)
    return np.array([low <= e <= high for c, k, e in pairs for low, high, *_ in [found.get((c, k)) or found["any", k]]])


def coverage_seen(rows: Rows, seen: np.ndarray, unseen: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Whether rows lie in a range that the other folds gave."""
    covered = np.zeros(len(seen), bool)
    for part in range(FOLDS):
        own = np.flatnonzero(fold == part)
        covered[own] = inside(rows, ranges(rows, fold != part, seen, unseen), seen, own)
    return covered


def coverage_unseen(rows: Rows, unseen: np.ndarray) -> np.ndarray:
    """Whether rows lie in a range that the other sources gave, among themselves; nothing saw the row's source."""
    covered = np.zeros(len(unseen), bool)
    fold = folds_of(rows, 1)
    for source in np.unique(rows.sources):
        others = rows.sources != source
        of_folds = held_out(rows, np.where(others, fold, -1), others)
        of_sources = held_out(rows, np.where(others, rows.sources, ""), others)
        own = np.flatnonzero(~others)
        covered[own] = inside(rows, ranges(rows, others, of_folds, of_sources), unseen, own)
    return covered
