"""Named post-processing of estimates: it costs no privacy, and it makes them biased."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.statistics.estimates import FrequencyEstimate

Floats = npt.NDArray[np.floating[Any]]


def project_to_simplex(frequencies: Floats) -> Floats:
    """The nearest probabilities in Euclidean distance: max(f - t, 0) that sums to one.

    (Held, Wolfe, Crowder 1974; t by sorting.)
    """
    f = np.asarray(frequencies, dtype=np.float64)
    if f.ndim != 1 or f.size == 0 or not bool(np.isfinite(f).all()):
        raise rejected("frequencies", f.shape, "a row of finite numbers")
    ordered = np.sort(f)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, f.size + 1)
    kept = int(np.flatnonzero(ordered > excess)[-1])
    return np.maximum(f - excess[kept], 0.0)


def above_threshold(
    estimate: FrequencyEstimate, *, confidence: float = 0.95
) -> npt.NDArray[np.intp]:
    """Items whose frequency is above 0 at this confidence for all items at once, largest first.

    With the given probability none of them has frequency 0 (Bonferroni, one-sided).
    """
    low, _ = estimate.interval(confidence=2.0 * confidence - 1.0, simultaneous=True)
    found = np.flatnonzero(low > 0.0)
    return found[np.argsort(-estimate.frequencies[found], kind="stable")]


def largest(estimate: FrequencyEstimate, count: int) -> npt.NDArray[np.intp]:
    """The items of the largest estimates, largest first."""
    count = _check.count("count", count, high=estimate.frequencies.size)
    return np.argsort(-estimate.frequencies, kind="stable")[:count]


def consistent_tree(levels: list[Floats], variances: list[float]) -> list[Floats]:
    """Least squares under "children sum to their parent": Hay et al. 2010, any branching.

    Parameters
    ----------
    levels : list of ndarray
        Estimates of each level, the root's first; level sizes divide each other.
    variances : list of float
        Variance of one estimate of each level, > 0.

    Returns
    -------
    list of ndarray
        The consistent estimate of smallest variance for independent errors.
    """
    sizes = [len(level) for level in levels]
    if len(variances) != len(levels) or any(not v > 0.0 for v in variances):
        raise rejected("variances", variances, f"{len(levels)} numbers above 0")
    for upper, lower in itertools.pairwise(sizes):
        if lower % upper or lower == upper:
            raise rejected("levels", sizes, "sizes that divide each other, growing")
    # Upwards: the best estimate of a node from itself and from what is below it.
    best: list[Floats] = [np.asarray(level, dtype=np.float64) for level in levels]
    spread = list(variances)
    for i in range(len(levels) - 2, -1, -1):
        fanout = sizes[i + 1] // sizes[i]
        below = best[i + 1].reshape(sizes[i], fanout).sum(axis=1)
        below_variance = spread[i + 1] * fanout
        own = 1.0 / variances[i]
        share = own / (own + 1.0 / below_variance)
        best[i] = share * best[i] + (1.0 - share) * below
        spread[i] = 1.0 / (own + 1.0 / below_variance)
    # Downwards: what a parent knows better is shared out evenly among its children.
    for i in range(len(levels) - 1):
        fanout = sizes[i + 1] // sizes[i]
        rows = best[i + 1].reshape(sizes[i], fanout)
        rows = rows + ((best[i] - rows.sum(axis=1)) / fanout)[:, None]
        best[i + 1] = rows.reshape(-1)
    return best
