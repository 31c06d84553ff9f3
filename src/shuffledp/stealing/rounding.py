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

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array

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
