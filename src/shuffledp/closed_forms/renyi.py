"""Renyi bounds of Girgis et al. 2021: from memory where so marked, and then never certified."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.errors import NotCertified
from shuffledp.pair import Array

_ORDERS = (*range(2, 33), 40, 48, 64, 96, 128, 192, 256, 512, 1024)


def girgis(*, eps0: float, n: int, order: int) -> float:
    """Renyi divergence of whole order lam >= 2 of any shuffled eps0-LDP randomizer: an estimate.

    With nb = floor((n-1)/(2E)) + 1:

        1/(lam-1) log(1 + C(lam,2)(E-1)^2/(nb E)
            + sum_{i=3..lam} C(lam,i) i Gamma(i/2) ((E^2-1)^2/(2 E^2 nb))^{i/2}
            + e^{eps0 lam - (n-1)/(8E)})

    Girgis, Data, Diggavi, Suresh, Kairouz 2021. The constants are from memory; compare with it,
    certify nothing.
    """
    eps0 = _check.local_epsilon("eps0", eps0)
    n = _check.count("n", n)
    order = _check.count("order", order, low=2, high=1 << 20)
    grow = math.exp(eps0)
    log_blanket = math.log(math.floor((n - 1) / (2.0 * grow)) + 1.0)
    log_gap = math.log(math.expm1(eps0))
    log_spread = 2.0 * (_log_expm1(2.0 * eps0) - eps0) - math.log(2.0) - log_blanket
    i = np.arange(3.0, order + 1.0)
    terms = np.concatenate(
        [
            [0.0, math.log(math.comb(order, 2)) + 2.0 * log_gap - log_blanket - eps0],
            _log_choose(order, i) + np.log(i) + special.gammaln(0.5 * i) + 0.5 * i * log_spread,
            [eps0 * order - (n - 1) / (8.0 * grow)],
        ]
    )
    return _log_sum_exp(terms) / (order - 1)


def girgis_epsilon(*, eps0: float, n: int, delta: float) -> float:
    """eps at a delta from ``girgis`` over whole orders: an estimate.

    eps = min over lam of RDP(lam) + log(1/delta)/(lam-1) + log(1 - 1/lam) - log(lam)/(lam-1)
    (Canonne, Kamath, Steinke 2020, Proposition 12).
    """
    delta = _check.open_unit("delta", delta)
    best = math.inf
    for order in _ORDERS:
        rest = (-math.log(delta) - math.log(order)) / (order - 1) + math.log1p(-1.0 / order)
        best = min(best, girgis(eps0=eps0, n=n, order=order) + rest)
    if not best < math.inf:
        msg = f"delta = {delta!r}: no order gives a finite eps"
        raise NotCertified(msg)
    return max(best, 0.0)


def binary_rr(*, eps0: float, n: int, order: int) -> float:
    """Renyi divergence of order lam of shuffled 2-RR, D(1, 0, .., 0 || 0, .., 0).

    1/(lam-1) log E_{k ~ Bin(n, 1/(E+1))} (1 + (E^2-1)(k - n/(E+1))/(nE))^lam, a lower bound for
    all eps0-LDP randomizers. Summed in floating point (to about 1e-10): not rounded outward.
    """
    eps0 = _check.local_epsilon("eps0", eps0)
    n = _check.count("n", n, high=10**7)
    order = _check.count("order", order, low=2, high=1 << 20)
    grow = math.exp(eps0)
    share = 1.0 / (grow + 1.0)
    scale = (grow - 1.0 / grow) / n
    k = np.arange(n + 1.0)
    log_p = _log_choose(n, k) + k * math.log(share) + (n - k) * math.log1p(-share)
    ratio = 1.0 + scale * (k - n * share)
    kept = ratio > 0.0
    terms = log_p[kept] + order * np.log(ratio[kept])
    return _log_sum_exp(terms) / (order - 1)


def _log_choose(n: int, k: Array) -> Array:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)


def _log_sum_exp(terms: Array) -> float:
    top = float(terms.max())
    return top + math.log(float(np.exp(np.maximum(terms - top, -745.0)).sum()))


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))
