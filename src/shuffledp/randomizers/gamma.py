"""Powers of gamma numbers by the inverse of their distribution function, as a table of polynomials.

SciPy's inverses take microseconds a number and promise no error; a table is made once for each law,
at nodes that balls have solved.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _special as special
from shuffledp.arithmetic.balls import arb, ctx

Floats = npt.NDArray[np.floating[Any]]

# Octaves of probabilities on either side of 1/2: beyond are 2^-24 of all numbers, which balls draw.
_OCTAVES = 24
# On [1, 2] the singular point 0 leaves 5.83^-20 < 2^-50 to a polynomial at so many nodes.
_NODES = 20
# Relative error of a tabulated number: 16 times that of a polynomial's rounding.
_ERROR = 2.0**-46
_BITS, _STEPS = 128, 3


def gamma_power(a: float, power: float, tail: Floats) -> tuple[Floats, float]:
    """L^power where P(Gamma(a) number > L) = tail, and its relative error.

    It is nan at the two ends, which are not tabulated.

    Parameters
    ----------
    a : float
        The law's shape.
    power : float
        Above 0.
    tail : ndarray
        Probabilities in (0, 1].
    """
    below = 1.0 - tail
    side = (tail > 0.5).astype(np.intp)
    part = np.where(side == 1, below, tail)
    mantissa, exponent = np.frexp(part)
    known = (part > 0.0) & (exponent > -_OCTAVES)
    coefficients = _table(a)[:, side, np.where(known, -exponent, 0)]
    # Clenshaw's recurrence, x in [-1, 1] along the octave.
    twice = 2.0 * (4.0 * np.where(known, mantissa, 0.5) - 3.0)
    last = before = np.zeros_like(tail)
    for row in coefficients[:0:-1]:
        last, before = row + twice * last - before, last
    found = coefficients[0] + 0.5 * twice * last - before
    left = power / min(a, 1.0)
    return np.where(known, found, np.nan) ** left, _ERROR * max(left, 1.0)


@lru_cache(maxsize=32)
def _table(a: float) -> Floats:
    """Chebyshev coefficients of L^min(a, 1), shape (nodes, sides, octaves)."""
    angles = (np.arange(_NODES) + 0.5) * (math.pi / _NODES)
    places = 0.25 * (3.0 + np.cos(angles))
    values = np.empty((2, _OCTAVES, _NODES))
    for octave in range(_OCTAVES):
        for i, p in enumerate(np.ldexp(places, -octave)):
            values[0, octave, i] = _solved(a, float(p), upper=True)
            values[1, octave, i] = _solved(a, float(p), upper=False)
    waves = np.cos(np.arange(_NODES)[:, None] * angles) * (2.0 / _NODES)
    waves[0] *= 0.5
    return np.einsum("ki,soi->kso", waves, values)


def _solved(a: float, p: float, *, upper: bool) -> float:
    """L^min(a, 1) with P(number > L) = p, or P(number < L) = p, by Newton's steps for L^a.

    The derivative of either in L^a is e^-L/Gamma(1 + a), and their logarithms' are used.
    """
    with ctx.workprec(_BITS):
        shape, wanted = arb(a), arb(p)
        level = float((special.gammainccinv if upper else special.gammaincinv)(a, p))
        # Levels that are no float have probability L^a/Gamma(1 + a).
        x = arb(level) ** shape if level > 1e-290 else wanted * (1 + shape).gamma()
        for _ in range(_STEPS):
            level = x ** (1 / shape)
            found = (level.gamma_upper if upper else level.gamma_lower)(shape, regularized=1)
            slope = (-level).exp() / (1 + shape).gamma()
            x = (x + (found - wanted) / slope * (1 if upper else -1)).mid()
        return float(x if a < 1.0 else x ** (1 / shape))
