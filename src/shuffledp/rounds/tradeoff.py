"""The trade-off function: least type II error of any test with a given type I error.

f(alpha) = sup over a >= 0 of 1 - h(a) - a alpha (Dong, Roth, Su 2022, Proposition 6), so every
evaluated upper bound of h gives a lower bound of f, and a curve below h one above f.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.rounds.loss import LossLaw

U = UNIT_ROUNDOFF
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_STEPS = 40


def guaranteed(alpha: float, log_delta: Callable[[float], float], last: float) -> float:
    """Certified lower bound of f(alpha), from the upper end of log delta at points of its choice.

    1 - delta(eps) - e^eps alpha and, mirrored, e^-eps (1 - delta(eps) - alpha), are both concave
    functions of e^eps or e^-eps: golden sections find their maxima.
    """
    value = max(0.0, 1.0 - alpha - _delta(log_delta(0.0)) - 4 * U)

    def steep(eps: float) -> float:
        return 1.0 - _delta(log_delta(eps)) - math.exp(eps) * alpha * (1.0 + 16 * U)

    def flat(eps: float) -> float:
        inner = 1.0 - _delta(log_delta(eps)) - alpha
        return math.exp(-eps) * inner * (1.0 - 16 * U) if inner > 0.0 else inner

    # e^eps alpha <= 1 is needed for the first to be positive.
    ends = (min(last, -math.log(alpha)), last)
    for function, end in ((steep, ends[0]), (flat, ends[1])):
        value = max(value, _largest(function, end))
    return max(0.0, min(value - 8 * U, 1.0 - alpha))


def _delta(log: float) -> float:
    return math.exp(log) * (1.0 + 8 * U) if log > -math.inf else 0.0


def _largest(function: Callable[[float], float], last: float) -> float:
    """Largest value found by golden sections on [0, last]."""
    low, high = 0.0, last
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    found = [function(x) for x in inner]
    best = max(*found, function(last))
    for _ in range(_STEPS):
        if high - low <= 1e-6 * (last + high):
            break
        if found[0] >= found[1]:
            high = inner[1]
            inner = [high - _GOLDEN * (high - low), inner[0]]
            found = [function(inner[0]), found[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + _GOLDEN * (high - low)]
            found = [found[1], function(inner[1])]
        best = max(best, *found)
    return best


def attained(alpha: float, law: LossLaw) -> float:
    """Upper bound of the trade-off function of every pair whose curve is above the law's.

    sup over a of 1 - h(a) - a alpha for the law's own h, which is piecewise linear: the supremum is
    at a kink or at a = 0. (P-mass is the power, Q-mass = P-mass e^-loss the type I error.)
    """
    order = np.argsort(-law.loss)
    p = np.cumsum(law.mass[order]) + law.infinite
    q = np.cumsum(law.mass[order] * np.exp(-np.minimum(law.loss[order], 700.0)))
    a = np.exp(np.minimum(law.loss[order], 700.0))
    # h(a) = P(L >= log a) - a Q(L >= log a) at each kink.
    slack = (4.0 * law.loss.size + 64.0) * U
    value = 1.0 - (p - a * q) - a * alpha + slack * (p + a * q + a * alpha)
    nothing = 1.0 - float(p[-1]) * (1.0 - slack)
    return float(min(max(float(value.max()), nothing, 0.0), 1.0 - alpha * (1.0 - U) + U))
