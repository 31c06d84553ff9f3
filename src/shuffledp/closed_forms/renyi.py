"""Renyi bounds of Girgis et al. 2021: from memory where so marked, and then never certified."""

from __future__ import annotations

import math

from scipy.special import gammaln

from shuffledp import _check
from shuffledp.errors import NotCertified

_ORDERS = (*range(2, 65), *(2**k for k in range(7, 13)))


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
    terms = [0.0, math.log(math.comb(order, 2)) + 2.0 * log_gap - log_blanket - eps0]
    terms += [
        _log_choose(order, i) + math.log(i) + float(gammaln(0.5 * i)) + 0.5 * i * log_spread
        for i in range(3, order + 1)
    ]
    terms.append(eps0 * order - (n - 1) / (8.0 * grow))
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
    total = float(gammaln(n + 1.0))
    terms = []
    for k in range(n + 1):
        ratio = 1.0 + scale * (k - n * share)
        if ratio <= 0.0:
            continue
        log_p = total - float(gammaln(k + 1.0)) - float(gammaln(n - k + 1.0))
        log_p += k * math.log(share) + (n - k) * math.log1p(-share)
        terms.append(log_p + order * math.log(ratio))
    return _log_sum_exp(terms) / (order - 1)


def _log_choose(n: int, k: int) -> float:
    return float(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def _log_sum_exp(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))
