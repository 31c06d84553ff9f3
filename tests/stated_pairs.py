"""The ratios of a law that a class states in floats (``JointLaw``), for tests of what is stated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import shuffledp as sd
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF as U
from shuffledp.randomizers.base import DEFAULT_CELLS

SMALLEST, LARGEST_RATIO = 1e-305, 1e131


@dataclass(frozen=True)
class Ranges:
    """Where both ratios lie on each cell."""

    a_low: np.ndarray
    a_high: np.ndarray
    b_low: np.ndarray
    b_high: np.ndarray


@dataclass(frozen=True)
class StatedPair:
    """Reference masses w, ratios a and b of the first two rows, and what is left out."""

    w: np.ndarray
    a: np.ndarray
    b: np.ndarray
    outside: np.ndarray
    tail: tuple[float, float]
    rel: float
    leftover: tuple[float, float]
    ranges: Ranges | None = None

    def leftover_mass(self):
        return self.leftover


def blanket_pair(randomizer, x0, x1, *, n=1, cells=DEFAULT_CELLS):
    """Against the blanket."""
    del n
    law = randomizer.law((x0, x1), cells=cells)
    excess = law.mass[0] - law.blanket
    left = float(np.maximum(excess, 0.0).sum())
    differs = (excess != 0.0) | (not law.ties)
    err = 2.0 * law.rel * float(law.mass[0][differs].sum()) + 4 * U * left
    edges = law.edges
    reference = None if edges is None else (edges.blanket_left, edges.blanket_right)
    return _pair(law, law.blanket, reference, (left, err + float(law.tails().max())))


def dataset_pair(randomizer, x0, x1, x2, *, n=1, cells=DEFAULT_CELLS):
    """Against the law of x2."""
    del n
    law = randomizer.law((x0, x1, x2), cells=cells)
    edges = law.edges
    reference = None if edges is None else (edges.left[2], edges.right[2])
    return _pair(law, law.mass[2], reference, (0.0, 0.0))


def _pair(law, reference, edges, leftover):
    p, q = law.mass[0], law.mass[1]
    tail, rel = law.tails(), 2.0 * law.rel + 2 * U
    if edges is None:
        keep = (reference >= SMALLEST) & (np.maximum(p, q) <= LARGEST_RATIO * reference)
        lost = ~keep & ((p > 0.0) | (q > 0.0))
        outside = np.column_stack([p[lost], q[lost]])
        w = reference[keep]
        ends = float(tail[0]), float(tail[1])
        return StatedPair(w, p[keep] / w, q[keep] / w, outside, ends, rel, leftover)
    low_a, high_a = _range(law, 0, edges)
    low_b, high_b = _range(law, 1, edges)
    keep = (reference > 1e-290) & np.isfinite(high_a) & np.isfinite(high_b)
    if not keep.any():
        raise sd.NotCertified("reference: no output has a mass above 1e-290")
    w = reference[keep]
    a, b = p[keep] / w, q[keep] / w
    ends = tuple(
        float(mass[~keep].sum()) * (1.0 + 1e-6) + float(far)
        for mass, far in ((p, tail[0]), (q, tail[1]))
    )
    ranges = Ranges(
        np.minimum(low_a[keep], a),
        np.maximum(high_a[keep], a),
        np.minimum(low_b[keep], b),
        np.maximum(high_b[keep], b),
    )
    return StatedPair(w, a, b, np.zeros((0, 2)), ends, rel, leftover, ranges)


def _range(law, row, reference):
    left, right = law.edges.left[row] - reference[0], law.edges.right[row] - reference[1]
    top, bottom = np.maximum(left, right) + law.edges.err, np.minimum(left, right) - law.edges.err
    high = np.exp(np.minimum(top, 300.0)) * (1.0 + 32 * U)
    low = np.exp(np.clip(bottom, -745.0, 300.0)) * (1.0 - 32 * U)
    return np.where(bottom < -740.0, 0.0, low), np.where(top > 300.0, math.inf, high)
