"""The normal law by the standard library's functions: what proposals need of it."""

from __future__ import annotations

import math

# From here on down the terms of the series fall to a unit in the last place before they rise.
_FAR = -10.0
# Terms that are looked at there: the smallest is beyond the fiftieth, the last unit before it.
_TERMS = 50
# From here on up phi(z) is nothing beside z Phi(z), and their quotient leaves the floats.
_HIGH = 30.0


def log_mean_excess(z: float) -> float:
    """log of (phi(z) + z Phi(z))/phi(z), which is sqrt(2 pi) e^{z^2/2} E(Z + z)_+, Z normal.

    Within 1e-11 of itself for z above -10, to the last digits below: there it is the asymptotic
    series sum_k (-1)^k (2 k + 1)!!/z^(2 k + 2).

    Parameters
    ----------
    z : float
        Any finite number.
    """
    if z < _FAR:
        return -2.0 * math.log(-z) + math.log(_series(z))
    log_upper = 0.5 * z * z + 0.5 * math.log(2.0 * math.pi)
    if z < _HIGH:
        return math.log1p(z * math.exp(log_upper) * 0.5 * math.erfc(-z / math.sqrt(2.0)))
    return math.log(z) + log_upper + math.log1p(-0.5 * math.erfc(z / math.sqrt(2.0)))


def _series(z: float) -> float:
    """sum_k (-1)^k (2 k + 1)!!/z^(2 k)."""
    total, term = 1.0, 1.0
    for k in range(1, _TERMS):
        term *= -(2 * k + 1) / (z * z)
        if total + term == total:
            break
        total += term
    return total
