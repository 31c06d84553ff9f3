"""Sums with geometric weights, by their recursion."""

from __future__ import annotations

import numpy as np

from shuffledp.pair import Array


def geometric_sums(terms: Array, ratio: float) -> Array:
    """y_k = x_k + ratio y_(k-1), with y_(-1) = 0: the sums of ratio^(k-j) x_j over j <= k.

    Of terms >= 0 and a ratio in [0, 1] nothing cancels: each step rounds twice, so y_k is off by
    2 (k + 1) u of itself at most, and by (k + 1) 2^-1074 more where products underflow.

    Parameters
    ----------
    terms : ndarray, shape (N,)
    ratio : float

    Returns
    -------
    ndarray, shape (N,)
    """
    # Here, as its import is a tenth of a command's time and only binary responses need it.
    from scipy.linalg.blas import dtbsv  # pyright: ignore[reportAttributeAccessIssue]

    band = np.full((2, terms.size), -ratio, order="F")
    return dtbsv(1, band, terms, lower=1, diag=1)
