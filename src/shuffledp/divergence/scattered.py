"""Many atoms or merged cells in no order: sorted by G at each eps, they are fine cells like others.

Neighbours in G are put in groups by the kernel, whatever outputs they come from. A cell is given
the interval up to the middle between it and its neighbours, so that groups know how wide they are,
unless there are few (docs/theory-parts.md, section 1).
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.divergence.enumeration import CHEAP_ENUMERATION, composition_count
from shuffledp.divergence.gain import CellGains, floored, mean_gain, without_cells
from shuffledp.numerics.merging import as_cells, merged_to
from shuffledp.pair import UNIT_ROUNDOFF, Array, ShuffledPair

U = UNIT_ROUNDOFF
MOST_ATOMS = 1024
_ROUGH_ATOMS = 2048
# Atoms of less mass than this have gains so far out that layers of them need contours of their own:
# discrete Gaussian noise has them down to 1e-298, and no bracket on one contour.
_RAREST = 1e-30
# Gains to e^170 = 1e74 and their inverses, as tilts are, have fourth powers among the floats.
_LARGEST_LOG = 170.0


def is_scattered(pair: ShuffledPair) -> bool:
    """Cells that carry their inner moments are in no order."""
    return pair.ranges is not None and pair.ranges.moments is not None


def prepared(pair: ShuffledPair) -> ShuffledPair:
    """Too many atoms for a contour of their own become cells without width."""
    if pair.ranges is None and pair.n > 1 and pair.w.size > MOST_ATOMS:
        return as_cells(pair)
    return pair


def has_far_atoms(pair: ShuffledPair) -> bool:
    """Whether one contour for all atoms is likely to have no accuracy."""
    if pair.ranges is not None or pair.n == 1:
        return False
    # One after the other: the sum of two ratios may lie beyond the floats.
    both = pair.w * pair.a + pair.w * pair.b
    both = both[both > 0.0]
    far = both.size > 0 and float(both.min()) < _RAREST
    return far and composition_count(pair) > CHEAP_ENUMERATION


def may_be_cells(pair: ShuffledPair, epsilon: float) -> bool:
    """Whether gains, some above 0, tilts and their fourth powers are in the range of floats."""
    if pair.w.size == 0 or epsilon > _LARGEST_LOG:
        return False
    with np.errstate(over="ignore"):
        a, b = pair.a, math.exp(epsilon) * pair.b
        largest, least = float((a + b).max()), float((a - b).max())
    return largest < math.exp(_LARGEST_LOG) and least > math.exp(-_LARGEST_LOG)


def coarse(pair: ShuffledPair) -> ShuffledPair:
    """Few cells for many: for estimates that certify nothing."""
    return merged_to(pair, _ROUGH_ATOMS)


def scattered_gains(pair: ShuffledPair, epsilon: float) -> CellGains:
    """G on each cell, in increasing order: mean, variance, and an interval that holds it."""
    ranges = pair.ranges
    if ranges is None or ranges.moments is None:
        msg = "scattered_gains needs cells with moments"
        raise TypeError(msg)
    scale = math.exp(epsilon)
    b = scale * pair.b
    mean = pair.a - b
    order = np.argsort(mean, kind="stable")
    mean = mean[order]
    w, a, b = pair.w[order], pair.a[order], b[order]
    err = 1.01 * (pair.rel + 12 * U) * (a + b)
    high_a, high_b = ranges.a_high[order], scale * ranges.b_high[order]
    pad = 8 * U * (high_a + high_b)
    low = np.minimum(ranges.a_low[order] - high_b - pad, mean - err)
    high = np.maximum(high_a - scale * ranges.b_low[order] + pad, mean + err)
    inner = ranges.moments.part(order)
    parts = (a * a * inner.a, b * b * inner.b, -2.0 * a * b * inner.both)
    most = (high - mean) * (mean - low)
    variance = np.clip(parts[0] + parts[1] + parts[2], 0.0, most)
    size = parts[0] + parts[1] + np.abs(parts[2])
    doubt = (a + b) ** 2 * inner.doubt * (1.0 + 1e-9) + 16 * U * size + 4.0 * err * (high - low)
    doubt = np.minimum(doubt, most + err * (high - low))
    if mean.size > MOST_ATOMS:
        # Fewer are groups of their own where it matters, far apart as they may be.
        low, high = _widened(mean, low, high)
    total, total_err = mean_gain(pair, epsilon)
    cells = CellGains(w, mean, low, high, err, total, total_err, variance, doubt)
    return floored(cells, pair.n, pair.rel)


def _widened(mean: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Intervals up to the middle between neighbours, never across 0."""
    middle = 0.5 * (mean[1:] + mean[:-1])
    left, right = np.append(mean[:1], middle), np.append(middle, mean[-1:])
    left = np.where(low >= 0.0, np.maximum(left, 0.0), left)
    right = np.where(high <= 0.0, np.minimum(right, 0.0), right)
    return np.minimum(low, left), np.maximum(high, right)


def scattered_trim(pair: ShuffledPair, epsilon: float, log_level: float) -> ShuffledPair:
    """Move the cells of least P- plus e^eps Q-mass, together below e^log_level, to the tail.

    And those whose gains' squares a float does not hold.
    """
    if pair.ranges is None:
        return pair
    p, q = pair.w * pair.a, pair.w * pair.b
    scale = math.exp(epsilon)
    both = p + scale * q
    order = np.argsort(both, kind="stable")
    count = int(np.searchsorted(np.cumsum(both[order]), math.exp(log_level)))
    with np.errstate(over="ignore"):
        gone = pair.ranges.a_high + scale * pair.ranges.b_high >= math.exp(_LARGEST_LOG)
    if count < both.size:
        gone[order[:count]] = True
    if not bool(gone.any()):
        return pair
    moved = (float(p[gone].sum()), float(q[gone].sum()))
    return without_cells(pair, np.flatnonzero(~gone), moved)
