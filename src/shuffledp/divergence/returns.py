"""Which nodes can matter: far from 0 only those where the phases of nearly all atoms return.

With v_j the masses of the tilted law at alpha and phi(t) = M(alpha + it)/M(alpha),

    |phi(t)|^2 = 1 - 2 Y(t),   Y(t) = sum_{j<k} v_j v_k (1 - cos t(g_j - g_k)),
    |phi(t)|^n <= e^{-n Y(t)}.

Y = sum 2 v_j v_k sin^2(t(g_j - g_k)/2), so its root is the length of a vector of sines, and

    sqrt Y(t) >= sqrt Y(c) - |t - c| sqrt(B/2),   B = sum_{j<k} v_j v_k (g_j - g_k)^2:

phi at the middle of a row of nodes bounds it on the whole row (docs/theory.md, section 6.9).
Smaller masses than the true ones only make Y smaller.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.tilt import Tilt, log_moment
from shuffledp.pair import UNIT_ROUNDOFF, Array, Indices

U = UNIT_ROUNDOFF
# e^-50 of the largest node, 2^23 times, is 1.6e-15 of a sum that is at least about its first term.
LEVEL = 50.0
# A term of a row's middle takes some 60 ns to form, a node some 300 and 1 for each atom: in rows of
# 16 nodes and more atoms than this, middles would take as long as the nodes.
MOST_ATOMS = 64
LEAST_COLUMNS = 16
# Middles of rows times atoms that are looked at together.
_TOGETHER = 1 << 16
# e^700 is a float.
_LARGEST_EXPONENT = 700.0
# Squares next to the smallest float lose their digits.
_LEAST_SPREAD = 1e-290


class Rows(NamedTuple):
    """Numbers of the rows that are kept, and how many nodes the others have."""

    kept: Indices
    gone: int


class Returns:
    """Bounds on |M(alpha + it)|^n relative to M(alpha)^n, for a law of true atoms.

    Parameters
    ----------
    law : GainLaw
        True atoms; what is missing to mass 1 sits at G = 0.
    n : int
        Number of independent terms.
    tilt : Tilt
        The contour, not in its rare form.
    """

    def __init__(self, law: GainLaw, n: int, tilt: Tilt) -> None:
        alpha = tilt.alpha
        log_m, slack = log_moment(law, alpha)
        # Errors are relative to the true masses: those may be more by a factor 1/(1 - rel).
        most = (math.fsum(law.w) + law.lost) / max(1.0 - law.rel, U)
        rest = 1.0 - most * (1.0 + 8.0 * U)
        at_zero = max(rest - (4.0 * law.w.size + 64.0) * U, 0.0)
        g = np.append(law.g, 0.0)
        g_err = np.append(law.g_err, 0.0)
        w = np.append(law.w * max(1.0 - law.rel, 0.0), at_zero)
        # Tilted masses from below; each exponent is rounded by some u of its parts.
        lowest = alpha * (g - g_err)
        exponent = lowest - (log_m + slack) - 16.0 * U * (np.abs(lowest) + abs(log_m) + 4.0)
        self._v = w * np.exp(np.minimum(exponent, _LARGEST_EXPONENT)) * (1.0 - 1e-12)
        self._g, self._n = g, n
        whole = float(self._v.sum())
        self._whole = whole * (1.0 - (g.size + 8.0) * U)
        with np.errstate(over="ignore", invalid="ignore"):
            centre = float(self._v @ g) / whole if whole > 0.0 else math.nan
            # Any centre gives an upper bound.
            spread = float(self._v @ (np.abs(g - centre) + g_err) ** 2)
            self._spread = whole * spread * (1.0 + 1e-9)
            self._blur = float(self._v @ (g_err + 16.0 * U * np.abs(g))) * (1.0 + 1e-9)
        self._noise = (8.0 * g.size + 64.0) * U

    @property
    def usable(self) -> bool:
        """Whether nodes may be left out: all is a number, and n Y, on average, enough for that."""
        average = 0.5 * (self._whole**2 - float(self._v @ self._v))
        known = _LEAST_SPREAD < self._spread < math.inf and self._blur < math.inf
        return known and self._n * average > 2.0 * LEVEL

    def width(self) -> float:
        """About how far from 0 the transform has become negligible."""
        return math.sqrt(2.0 * LEVEL / (self._n * self._spread))

    # Phases beyond all floats are no numbers: nothing is said of those rows.
    @np.errstate(over="ignore", invalid="ignore")
    def exponents(self, middle: Array, reach: float) -> Array:
        """Lower bounds of n Y(t) on |t - c| <= reach, for each c that rounds to one given."""
        phase = np.outer(middle, self._g)
        modulus = np.hypot(np.cos(phase) @ self._v, np.sin(phase) @ self._v)
        most = modulus + middle * self._blur + self._noise
        square = 0.5 * (self._whole - most) * (self._whole + most)
        root = np.sqrt(np.maximum(square, 0.0)) * (1.0 - 1e-12)
        moved = (reach + 4.0 * U * middle) * (math.sqrt(0.5 * self._spread) * (1.0 + 1e-12))
        return self._n * np.maximum(root - moved, 0.0) ** 2 * (1.0 - 1e-12)

    def rows(self, step: float, columns: int, rows: int, level: float = LEVEL) -> Rows:
        """Rows of ``columns`` nodes each that are not certified to be below e^-level.

        Parameters
        ----------
        step : float
            Distance of two nodes.
        columns, rows : int
            Row p holds the nodes (p columns + q) step, 0 <= q < columns.
        level : float
            By how much |M|^n is below its size on the axis where it is left out.
        """
        stride, reach = columns * step, 0.5 * columns * step
        kept: list[Indices] = [np.zeros(1, dtype=np.intp)]
        together = max(1, _TOGETHER // self._g.size)
        for start in range(1, rows, together):
            number = np.arange(start, min(start + together, rows))
            # From the first node to the last it is less than columns steps.
            found = self.exponents((number + 0.5) * stride, reach)
            kept.append(number[~(found >= level)])
        every = np.concatenate(kept)
        return Rows(every, (rows - every.size) * columns)
