"""Logarithms of factorials, known to their last digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.pair import Array


def log_factorials(counts: npt.NDArray[np.integer[Any]]) -> Array:
    """log k! of each count, within 8 u of itself.

    Parameters
    ----------
    counts : ndarray of int, shape (N,)
        k >= 0; the same one may occur many times.

    Returns
    -------
    ndarray, shape (N,)
    """
    most = int(counts.max(initial=0))
    if most < counts.size:
        return _log_gammas(range(1, most + 2))[counts]
    return _log_gammas([k + 1 for k in counts.tolist()])


def _log_gammas(values: range | list[int]) -> Array:
    # The standard library's is its own on every platform, and SciPy's costs a command 0.15 s.
    return np.fromiter(map(math.lgamma, values), np.float64, len(values))
