"""Gaussian differential privacy: the least mu whose curve is above a certified one at every eps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import log_above
from shuffledp.bounds.local import delta_gaussian
from shuffledp.rounds.curve import Curve
from shuffledp.rounds.gaussian import log_delta_gaussian, mu_through

# Most points, each with a certified value of both curves, and the number of points at the start.
_MOST_POINTS = 1000
_START = 24
# While panels stay uncovered mu is raised, each time by more: 60 times give a factor of at least
# e^5.
_GROWTHS = 60
# Working precision in bits: tangents of the curve far out are compared with values of e^-700.
_PRECISION = 256


def dominating_mu(curves: tuple[Curve, Curve], *, slack: float, rtol: float) -> float:
    """A mu with h(e^eps) <= h_mu(e^eps) + slack at every real eps; inf if none was found.

    On each panel, either the chord through the upper values, less the slack, is below a tangent of
    h_mu (which is convex in e^eps), or the value at the left end is below h_mu at the right end.
    """
    last = _last(curves, slack)
    if last is None:
        return math.inf
    start = min(curves[0].scale, last) / 4.0
    eps = [0.0, *np.geomspace(start, last, _START)[:-1].tolist(), last]
    mu = 0.0
    while True:
        values = [_log_excess(curves, e, slack) for e in eps]
        mu = max(mu, _mu_of_points(eps, values, rtol))
        if mu == 0.0:
            return 0.0
        bad = [k for k in range(len(eps) - 1) if not _covered(eps, values, k, mu * (1.0 + rtol))]
        if not bad:
            return mu * (1.0 + rtol)
        if len(eps) >= _MOST_POINTS:
            break
        eps = sorted({*eps, *(_middle(eps[k], eps[k + 1]) for k in bad)})
    for _ in range(_GROWTHS):
        mu *= 1.0 + 10.0 * rtol
        bad = [k for k in bad if not _covered(eps, values, k, mu)]
        if not bad:
            return mu
        rtol *= 1.5
    return math.inf


def _mu_of_points(eps: Sequence[float], values: Sequence[float], rtol: float) -> float:
    """A mu slightly larger than all evaluated points require."""
    mu = 0.0
    for e, v in zip(eps, values, strict=True):
        if v > -math.inf and not (mu > 0.0 and log_delta_gaussian(mu, e).low >= v):
            mu = mu_through(e, v) * (1.0 + 0.2 * rtol)
    return mu


def _high(curves: tuple[Curve, Curve], eps: float) -> float:
    """log of the upper end of the larger curve."""
    return max(curve.at(eps).high for curve in dict.fromkeys(curves))


def _last(curves: tuple[Curve, Curve], slack: float) -> float | None:
    """The eps beyond which no panel is needed; None if there is no such eps."""
    last = curves[0].last
    # A curve may end beyond the last eps evaluated.
    if max(curve.eps0 for curve in curves) <= last:
        return last
    if slack <= 0.0:
        return None
    high = curves[0].scale
    while high < last and _high(curves, high) > math.log(slack):
        high = min(2.0 * high, last)
    return high if _high(curves, high) <= math.log(slack) else None


def _log_excess(curves: tuple[Curve, Curve], eps: float, slack: float) -> float:
    """log of an upper value of (h - slack)_+."""
    high = _high(curves, eps)
    if slack <= 0.0 or high == -math.inf:
        return high
    left = arb(high).exp() - arb(slack)
    return log_above(left)


def _covered(eps: Sequence[float], values: Sequence[float], k: int, mu: float) -> bool:
    """Whether h_mu is certainly above the curve on the k-th panel."""
    if values[k] == -math.inf:
        return True
    with ctx.workprec(_PRECISION):
        left, right, m = arb(eps[k]), arb(eps[k + 1]), arb(mu)
        first = arb(values[k]).exp()
        second = arb(values[k + 1]).exp() if values[k + 1] != -math.inf else arb(0)
        if first <= delta_gaussian(m, right):
            return True
        # The tangent at the middle decreases by Phi(-eps/mu - mu/2) per unit of a.
        middle = (left + right) / 2
        value = delta_gaussian(m, middle)
        fall = ((middle / m + m / 2) / arb(2).sqrt()).erfc() / 2
        a = middle.exp()
        above = value + fall * (a - left.exp()), value - fall * (right.exp() - a)
        return bool(first <= above[0]) and bool(second <= above[1])


def _middle(left: float, right: float) -> float:
    return math.sqrt(left * right) if 0.0 < 4.0 * left < right else 0.5 * (left + right)


__all__ = ["dominating_mu"]
