"""Published bounds that are sums: Renyi divergences, and binomial sums over the number of clones.

Plain floats, for comparison, never for a bound. Notation: E = e^eps0; eps and eps0 are in nats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shuffledp import _special as special
from shuffledp.arithmetic.floats import Array

# Whole Renyi orders among which the conversion to (eps, delta) takes the best.
_ORDERS = (*range(2, 33), 40, 48, 64, 96, 128, 192, 256, 512, 1024)
# Below this natural logarithm exp() of a float underflows.
_UNDERFLOW = -745.0
# Terms of a binomial sum that are in memory at once.
_BLOCK = 1 << 20


def girgis(*, eps0: float, n: int, order: int) -> float:
    """Renyi divergence of whole order lam >= 2 of any shuffled eps0-LDP randomizer.

    With nb = floor((n-1)/(2E)) + 1:

        1/(lam-1) log(1 + C(lam,2)(E-1)^2/(nb E)
            + sum_{i=3..lam} C(lam,i) i Gamma(i/2) ((E^2-1)^2/(2 E^2 nb))^{i/2}
            + e^{eps0 lam - (n-1)/(8E)})

    Girgis, Data, Diggavi, Suresh, Kairouz 2021; the constants are from memory.
    """
    grow = math.exp(eps0)
    log_blanket = math.log(math.floor((n - 1) / (2.0 * grow)) + 1.0)
    log_spread = 2.0 * math.log(grow - 1.0 / grow) - math.log(2.0) - log_blanket
    i = np.arange(3.0, order + 1.0)
    second = math.log(math.comb(order, 2)) + 2.0 * math.log(math.expm1(eps0)) - log_blanket - eps0
    higher = _log_choose(order, i) + np.log(i) + special.gammaln(0.5 * i) + 0.5 * i * log_spread
    last = eps0 * order - (n - 1) / (8.0 * grow)
    return _log_sum_exp(np.concatenate([[0.0, second], higher, [last]])) / (order - 1)


def girgis_epsilon(*, eps0: float, n: int, delta: float) -> float:
    """eps at a delta from ``girgis``, the least over whole orders.

    RDP(lam) + log(1/delta)/(lam-1) + log(1 - 1/lam) - log(lam)/(lam-1) at the order lam
    (Canonne, Kamath, Steinke 2020, Proposition 12).
    """
    best = math.inf
    for order in _ORDERS:
        rest = (-math.log(delta) - math.log(order)) / (order - 1) + math.log1p(-1.0 / order)
        best = min(best, girgis(eps0=eps0, n=n, order=order) + rest)
    return max(best, 0.0)


def _log_choose(n: int, k: Array) -> Array:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)


def _log_sum_exp(terms: Array) -> float:
    top = float(terms.max())
    return top + math.log(float(np.exp(np.maximum(terms - top, _UNDERFLOW)).sum()))


# ------------------------------------------------------- binomial sums over the number of clones


def clone_delta(share: float, eps0: float, n: int, epsilon: float) -> float:
    """delta of (A + D, C - A + 1 - D) against (A + 1 - D, C - A + D), summed over every c.

    C ~ Bin(n - 1, share), A ~ Bin(C, 1/2), D ~ Bern(E/(E+1)), E = e^eps0. The standard clone has
    share = 1/E (Feldman, McMillan, Talwar 2021, Theorem 3.2 and appendix), the stronger one
    2/(E + 1) (2023; docs/theory.md, Corollary 5.5).
    """
    if epsilon >= eps0:
        return 0.0
    own, a, total = 1.0 / (1.0 + math.exp(-eps0)), math.exp(epsilon), 0.0
    # Count u of c + 1 in the first label has ratio P/Q > a exactly above this share of c + 1.
    odds = (own * a - (1.0 - own)) / (own - (1.0 - own) * a)
    for c, weight in _counts(n - 1, share):
        least = np.floor(odds / (1.0 + odds) * (c + 1.0)) + 1.0
        with_one, without = _at_least(c, least - 1.0), _at_least(c, least)
        p = own * with_one + (1.0 - own) * without
        q = (1.0 - own) * with_one + own * without
        total += float((weight * np.maximum(p - a * q, 0.0)).sum())
    return total


def _counts(size: int, share: float) -> Iterator[tuple[Array, Array]]:
    """Every c from 0 to size with its binomial probability, in blocks, where it is a float."""
    for start in range(0, size + 1, _BLOCK):
        c = np.arange(start, min(start + _BLOCK, size + 1), dtype=np.float64)
        log = special.gammaln(size + 1.0) - special.gammaln(c + 1.0)
        log -= special.gammaln(size - c + 1.0)
        if share < 1.0:
            log += c * math.log(share) + (size - c) * math.log1p(-share)
        else:
            log = np.where(c == size, 0.0, -np.inf)
        kept = log > _UNDERFLOW
        yield c[kept], np.exp(log[kept])


def _at_least(c: Array, k: Array) -> Array:
    """P(Bin(c, 1/2) >= k)."""
    inside = (k > 0.0) & (k <= c)
    values = np.where(k <= 0.0, 1.0, 0.0)
    values[inside] = special.bdtrc(k[inside] - 1.0, c[inside].astype(np.int64), 0.5)
    return values
