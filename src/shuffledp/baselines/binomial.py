"""Binomial sums over the number of clones: how the clone papers compute their bounds.

Two victims' labels, their blanket mass 2r, and C ~ Bin(n - 1, 2r) other users in one of them: given
C, the number A in the first is Bin(C, 1/2), and delta is a sum over C of binomial distribution
functions. In exact arithmetic these sums are the bounds; as here, and in the papers' programs, they
are plain floating point: a delta below about 1e-13 is rounding error, and nothing is rounded
outward. So they are for comparison (``Estimate``), and cost O(sqrt n) to O(n) terms a delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.errors import rejected
from shuffledp.pair import Array

_BLOCK = 1 << 20
_UNDERFLOW = -745.0


def clone_delta(*, eps0: float, n: int, epsilon: float) -> float:
    """Standard clone (Feldman, McMillan, Talwar 2021, Theorem 3.2) by the sums of its appendix.

    C ~ Bin(n - 1, e^-eps0), A ~ Bin(C, 1/2), D ~ Bern(E/(E+1)):
    (A + D, C - A + 1 - D) against (A + 1 - D, C - A + D), summed over every c from 0 to n - 1.
    """
    eps0, n, epsilon = _checked(eps0, n, epsilon)
    return _mixture_delta(eps0, n, epsilon, math.exp(-eps0))


def stronger_clone_delta(*, eps0: float, n: int, epsilon: float) -> float:
    """The same with C ~ Bin(n - 1, 2/(E + 1)): the stronger clone, generic."""
    eps0, n, epsilon = _checked(eps0, n, epsilon)
    return _mixture_delta(eps0, n, epsilon, 2.0 / (math.exp(eps0) + 1.0))


def _mixture_delta(eps0: float, n: int, epsilon: float, share: float) -> float:
    alpha = 1.0 / (1.0 + math.exp(-eps0))
    a = math.exp(epsilon)
    # Count u of c + 1 in the first label has ratio P/Q > a exactly above this share of c + 1.
    odds = (alpha * a - (1.0 - alpha)) / (alpha - (1.0 - alpha) * a) if epsilon < eps0 else math.inf
    if not math.isfinite(odds):
        return 0.0
    cutoff = odds / (1.0 + odds)
    total = 0.0
    for c, weight in _counts(n - 1, share):
        least = np.floor(cutoff * (c + 1.0)) + 1.0  # u > cutoff (c + 1)
        with_one = _at_least(c, least - 1.0)  # A + 1 >= least
        without = _at_least(c, least)
        p = alpha * with_one + (1.0 - alpha) * without
        q = (1.0 - alpha) * with_one + alpha * without
        total += float((weight * np.maximum(p - a * q, 0.0)).sum())
    return total


def variation_ratio_delta(*, p: float, beta: float, q: float, n: int, epsilon: float) -> float:
    """The published variation-ratio pair (Wang et al. 2024, Theorem 4.1) by binomial sums.

    In the form (1/n) E[sum of n gains]_+: C ~ Bin(n, 2r) in the two special labels, A ~ Bin(C, 1/2)
    in the first. It bounds the pair, not every mechanism with these numbers: docs/theory.md,
    section 5.6.
    """
    n, epsilon = _check.count("n", n), _check.epsilon("epsilon", epsilon)
    al = beta / (p - 1.0) if math.isfinite(p) else 0.0
    large = al * p if math.isfinite(p) else beta
    rest = max(1.0 - al - large, 0.0)
    r = large / q
    if not 0.0 < 2.0 * r <= 1.0:
        raise rejected("(p, beta, q)", (p, beta, q), "0 < r = al p/q <= 1/2")
    a = math.exp(epsilon)
    best, worst = (large - a * al) / r, (al - a * large) / r
    other = (1.0 - a) * rest / (1.0 - 2.0 * r) if 2.0 * r < 1.0 else 0.0
    if best <= 0.0:
        return 0.0
    total = 0.0
    for c, weight in _counts(n, 2.0 * r):
        base = c * worst + (n - c) * other
        least = np.floor(-base / (best - worst)) + 1.0
        least = np.maximum(least, 0.0)
        # E[(A (best - worst) + base); A >= least], by E[A; A >= k] = (c/2) P(Bin(c-1, 1/2) >= k-1).
        moment = 0.5 * c * _at_least(np.maximum(c - 1.0, 0.0), least - 1.0)
        part = (best - worst) * moment + base * _at_least(c, least)
        total += float((weight * np.maximum(part, 0.0)).sum())
    return total / n


def _counts(size: int, share: float) -> Iterator[tuple[Array, Array]]:
    """Every c from 0 to size with its binomial probability, in blocks; those that underflow not."""
    for start in range(0, size + 1, _BLOCK):
        c = np.arange(start, min(start + _BLOCK, size + 1), dtype=np.float64)
        log = _log_binomial(size, c, share)
        kept = log > _UNDERFLOW
        if bool(kept.any()):
            yield c[kept], np.exp(log[kept])


def _log_binomial(n: int, c: Array, share: float) -> Array:
    if share >= 1.0:
        return np.where(c == n, 0.0, -np.inf)
    log = special.gammaln(n + 1.0) - special.gammaln(c + 1.0) - special.gammaln(n - c + 1.0)
    return log + c * math.log(share) + (n - c) * math.log1p(-share)


def _at_least(c: Array, k: Array) -> Array:
    """P(Bin(c, 1/2) >= k)."""
    inside = (k > 0.0) & (k <= c)
    values = np.where(k <= 0.0, 1.0, 0.0)
    values[inside] = special.bdtrc(k[inside] - 1.0, c[inside].astype(np.int64), 0.5)
    return values


def _checked(eps0: float, n: int, epsilon: float) -> tuple[float, int, float]:
    return (
        _check.local_epsilon("eps0", eps0),
        _check.count("n", n),
        _check.epsilon("epsilon", epsilon),
    )
