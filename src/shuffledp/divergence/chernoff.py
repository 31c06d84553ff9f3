"""Chernoff's bound of E[S]_+ straight from fine cells: cheap, and never spoilt by wide groups.

    E[S_+; some G > c]  <=  min(M^n, n V M^(n-1)) / (e alpha),      V = E[e^{alpha G}; G > c],

and on every cell E e^{alpha G} is at most its value for two points at the ends with the same mean
(docs/theory.md, Theorem 3.8 and Corollary 6.18a).
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.divergence.gain import CellGains
from shuffledp.divergence.tilt import SERIES_REACH, series_expm1_minus
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
_LARGEST_EXPONENT = 690.0


def log_chernoff(
    cells: CellGains, n: int, alpha: float, *, rel: float, threshold: float | None = None
) -> float:
    """Upper bound of log E[S_+; some G above the threshold], or of log E[S]_+ where none is given.

    Parameters
    ----------
    cells : CellGains
        The law of G; cells that reach above the threshold count as above it.
    n : int
        Number of messages.
    alpha : float
        Any number > 0.
    rel : float
        Relative error of the cells' masses.
    threshold : float, optional
        Only sums with some G above it.
    """
    high = cells.high + cells.err
    if float(high.max()) * alpha > _LARGEST_EXPONENT:
        return math.inf
    low = np.minimum(cells.low, cells.mean) - cells.err
    # An exponent of 690 is rounded by 690 u.
    pad = 1.0 + rel + (2 * cells.w.size + 2048) * U
    rest = _two_points(cells, low, high, alpha)
    excess = alpha * (cells.total + cells.total_err) + float((cells.w * rest).sum()) * pad
    excess += 16 * U * alpha * abs(cells.total) - cells.lost * (2.0 - pad)
    log_m = math.log1p(max(excess, -1.0 + 1e-15))
    log_m += 8 * U * abs(log_m)
    best = n * log_m
    if threshold is not None:
        above = cells.high > threshold
        part = float((cells.w[above] * np.exp(alpha * high[above])).sum()) * pad
        if part > 0.0:
            best = min(best, math.log(n) + math.log(part) + (n - 1) * log_m)
    return best - 1.0 - math.log(alpha) + 16 * U * (1.0 + abs(best) + abs(math.log(alpha)))


def _two_points(cells: CellGains, low: Array, high: Array, alpha: float) -> Array:
    """E of e^x - 1 - x at the two ends of each cell, x = alpha G, weights that keep the mean.

    The ends were moved outward by the error of the mean, so that the true cell lies between them
    whatever the mean is within its error.
    """
    low, high = low - cells.err, high + cells.err
    wide = high > low
    room = np.where(wide, high - low, 1.0)
    up = np.where(wide, np.clip((cells.mean + cells.err - low) / room, 0.0, 1.0), 1.0)
    down = np.where(wide, np.clip((high - cells.mean + cells.err) / room, 0.0, 1.0), 0.0)
    return up * _rest(alpha * high) + down * _rest(alpha * low)


def _rest(x: Array) -> Array:
    """e^x - 1 - x >= 0, without cancellation near 0."""
    near = np.abs(x) <= SERIES_REACH
    small, large = np.where(near, x, 0.0), np.where(near, 0.0, x)
    return np.where(near, series_expm1_minus(small), np.maximum(np.expm1(large) - large, 0.0))
