"""The trade-off function, and the loss that is exceeded with a small probability only.

f(alpha) = sup over a >= 0 of 1 - h(a) - a alpha (Dong, Roth, Su 2022, Proposition 6). So every
upper value of h gives a lower bound of f, and a curve below h gives an upper bound of f.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.arithmetic.balls import arb, float_above, float_below
from shuffledp.rounds.loss import LossLaw

_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_STEPS = 40
Curve = Callable[[float], float]


def guaranteed(alpha: float, log_upper: Curve, roughly: Curve, last: float) -> float:
    """Certified lower bound of f(alpha), from the upper end of log delta at two eps.

    1 - delta(eps) - e^eps alpha and its mirror image e^-eps (1 - delta(eps) - alpha) are concave
    functions of e^eps and e^-eps: golden sections of estimates find their maxima.

    Parameters
    ----------
    alpha : float
        Type I error.
    log_upper, roughly : callable
        The upper end of log delta at an eps, and an estimate of it.
    last : float
        The largest eps that is tried.
    """
    eps = best_eps(alpha, roughly, last)
    left, a, error = 1 - arb(log_upper(eps)).exp(), arb(eps).exp(), arb(alpha)
    value = arb.max(left - a * error, (left - error) / a)
    return max(0.0, min(float_below(value), 1.0 - alpha))


def best_eps(alpha: float, roughly: Curve, last: float) -> float:
    """About the eps >= 0 at which one of the two functions of ``guaranteed`` is largest."""

    def direct(eps: float) -> float:
        return 1.0 - math.exp(roughly(eps)) - math.exp(eps) * alpha

    def mirrored(eps: float) -> float:
        return math.exp(-eps) * (1.0 - math.exp(roughly(eps)) - alpha)

    # The first can be positive only if e^eps alpha <= 1.
    one = _largest(direct, 0.0, min(last, -math.log(alpha)))
    other = _largest(mirrored, 0.0, last)
    return one if direct(one) >= mirrored(other) else other


def _largest(function: Curve, low: float, high: float) -> float:
    """The maximum of a concave function by golden sections, or one of the two ends."""
    ends, near = (low, high), 1e-6 * (low + high)
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    found = [function(x) for x in inner]
    for _ in range(_STEPS):
        if high - low <= near:
            break
        if found[0] > found[1]:
            high = inner[1]
            inner = [high - _GOLDEN * (high - low), inner[0]]
            found = [function(inner[0]), found[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + _GOLDEN * (high - low)]
            found = [found[1], function(inner[1])]
    return max((0.5 * (low + high), *ends), key=function)


def attained(alpha: float, law: LossLaw) -> float:
    """Upper bound of the trade-off function of every pair whose curve is above the law's.

    It is the supremum over a of 1 - h(a) - a alpha for the law's own h. As h is piecewise linear,
    the supremum is at a kink or at a = 0. (P-mass is the power of the test; Q-mass, which is
    P-mass e^-loss, is the type I error.)
    """
    error, p, q, best = arb(alpha), arb(law.infinite), arb(0), arb(0)
    for loss, mass in zip(law.loss[::-1].tolist(), law.mass[::-1].tolist(), strict=True):
        a = arb(loss).exp()
        p += arb(mass)
        q += arb(mass) / a
        # h(a) = P(L >= log a) - a Q(L >= log a) at each kink.
        best = arb.max(best, 1 - (p - a * q) - a * error)
    # At a = 0, h is the whole mass.
    value = float_above(arb.max(best, 1 - p))
    return min(value, math.nextafter(1.0 - alpha, 1.0))


def least_loss(
    log_upper: Callable[[float], float],
    roughly: Callable[[float], float],
    log_failure: float,
    *,
    start: float,
    pure: float,
) -> float:
    """Least t found with P(loss > t) <= e^log_failure, by t = eps - log(1 - delta(eps)/failure).

    Parameters
    ----------
    log_upper, roughly : callable
        Upper end of log delta(eps), and an estimate of it, by which eps is chosen.
    log_failure : float
        log of the probability of failure.
    start : float
        An eps at which delta is about a tenth of the probability of failure.
    pure : float
        A loss that is never exceeded; inf if there is none.
    """
    if not math.isfinite(start):
        return pure

    def about(eps: float) -> float:
        gap = roughly(eps) - log_failure
        return math.log(-math.expm1(gap)) - eps if gap < -1e-6 else -math.inf

    best = _largest(about, 0.5 * start, 1.5 * start + 1e-300)
    for eps in (best, 1.01 * best, 1.1 * best):
        left = 1 - (arb(log_upper(eps)) - arb(log_failure)).exp()
        if left > 0:
            return min(pure, float_above(arb(eps) - left.log()))
    return pure


__all__ = ["attained", "best_eps", "guaranteed", "least_loss"]
