"""Sums and errors of many floats whose own rounding is known, and never taken for less.

NumPy promises no order of summation: a bound that presumes pairwise sums holds for one build and
not for the next. Sums of positive terms whose bound has room for any order, (K - 1) u of the sum,
need nothing of this.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
Complex = npt.NDArray[np.complexfloating[Any, Any]]
# So many are added up exactly, once halving has come down to them.
_EXACT = 128
# e^690 is in range, and so are a few hundred times as much.
_LARGEST_LOG = 690.0
# So far below it nothing is clipped.
_MODERATE = _LARGEST_LOG - 1.0


def halved_sum(terms: Array) -> tuple[float, float]:
    """The sum of an array and a bound on its rounding error.

    The second half is added to the first until few are left: k times for 2^k times as many. Each
    addition rounds by at most u of its result, so all of them by k u times the sum of the moduli;
    what is left is added up exactly and rounded once.

    Parameters
    ----------
    terms : ndarray
        Of any shape, finite; anything else gives sums that say nothing, inf or nan.

    Returns
    -------
    total, error : float
        |total - exact sum| <= error.
    """
    flat = terms.ravel()
    if flat.size == 0:
        return 0.0, 0.0
    # Moduli in any order: (K - 1) u of their sum, for up to 2^40 of them below 1e-3.
    size = float(np.abs(flat).sum()) * 1.001
    if not size < math.inf:
        return math.nan, math.inf
    rounds = 1
    while flat.size > _EXACT:
        half = flat.size // 2
        odd = flat[2 * half :]
        flat = flat[:half] + flat[half : 2 * half]
        flat = np.append(flat, odd) if odd.size else flat
        rounds += 1
    return math.fsum(flat.tolist()), 1.001 * rounds * U * size + 5e-324


def grown(log_size: Array, relative: Array) -> Array:
    """e^log_size (e^relative - 1), or something larger; inf where it is out of range.

    An error that is clipped would be an error that is too small.
    """
    if np.max(relative, initial=0.0) < 1.0 and np.max(log_size, initial=0.0) < _MODERATE:
        # Nearly always; the same numbers with half of the work.
        return np.exp(np.maximum(log_size, -745.0)) * np.expm1(relative) + 1e-320
    small = np.exp(np.clip(log_size, -745.0, _LARGEST_LOG)) * np.expm1(np.minimum(relative, 1.0))
    large = np.exp(np.clip(log_size + relative, -745.0, _LARGEST_LOG))
    found = np.where(relative < 1.0, small, large) + 1e-320
    return np.where(log_size + relative <= _LARGEST_LOG, found, np.inf)


def capped(value: Complex, err: Array, mass: float) -> tuple[Complex, Array]:
    """A computed transform and its error; 0 and ``mass`` where the error is not below ``mass``.

    ``mass`` bounds the modulus of the true transform everywhere, so that 0 is off by no more:
    whatever overflowed, or is not a number at all, is left behind.
    """
    known = err < mass
    return np.where(known, value, 0.0), np.where(known, err, mass)


__all__ = ["capped", "grown", "halved_sum"]
