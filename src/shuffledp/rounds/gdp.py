"""Gaussian differential privacy: the least mu whose curve is above a certified one at every eps."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import _special as special
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.rounds.curve import Curve
from shuffledp.rounds.gaussian import error_of_log, log_delta_gaussian, mu_through
from shuffledp.rounds.renyi import Curves

U = UNIT_ROUNDOFF
# The most points, each a certified value of both curves, and how many to begin with.
_MOST_POINTS = 3000
_START = 24
# Where panels stay uncovered mu grows, by more each time: 60 times lead a factor of e^5 or more up.
_GROWTHS = 60


def dominating_mu(curves: Curves, *, slack: float, rtol: float) -> float:
    """A mu with h(e^eps) <= h_mu(e^eps) + slack at every real eps; inf if none was found.

    On each panel the chord through the upper values, less the slack, must be below a tangent of
    h_mu (convex in e^eps), or the value at the panel's left end below h_mu at its right end.
    """
    last = _last(curves, slack)
    if last is None:
        return math.inf
    eps = np.array(
        [0.0, *np.geomspace(min(curves.forward.scale, last) / 4.0, last, _START)[:-1], last]
    )
    mu = 0.0
    while True:
        values = [_excess(curve, eps, slack) for curve in curves[:2]]
        value = np.maximum(values[0], values[1])
        mu = max(mu, _mu_of_points(eps, value, rtol))
        if mu == 0.0:
            return 0.0
        bad = ~_covered(eps, value, mu * (1.0 + rtol))
        if not bool(bad.any()):
            return mu * (1.0 + rtol)
        if eps.size >= _MOST_POINTS:
            break
        eps = _halved(eps, bad)
    for _ in range(_GROWTHS):
        mu *= 1.0 + 10.0 * rtol
        if bool(_covered(eps, value, mu).all()):
            return mu
        rtol *= 1.5
    return math.inf


def _mu_of_points(eps: Array, value: Array, rtol: float) -> float:
    """The mu that all evaluated points ask for, a little larger."""
    mu = 0.0
    for e, v in zip(eps.tolist(), value.tolist(), strict=True):
        if v > -math.inf and not (mu > 0.0 and float(log_delta_gaussian(mu, e)) >= v):
            mu = mu_through(e, v) * (1.0 + 0.2 * rtol)
    return mu


def _last(curves: Curves, slack: float) -> float | None:
    """The eps beyond which there is nothing left to cover; None if there is no such eps."""
    # A curve may end beyond where it is looked at.
    if max(curves.forward.eps0, curves.backward.eps0) <= curves.last:
        return curves.last
    if slack <= 0.0:
        return None
    high = curves.forward.scale
    while high < curves.last:
        if max(curves.forward.at(high).high, curves.backward.at(high).high) <= math.log(slack):
            return high
        high = min(2.0 * high, curves.last)
    covered = max(curves.forward.at(high).high, curves.backward.at(high).high) <= math.log(slack)
    return high if covered else None


def _excess(curve: Curve, eps: Array, slack: float) -> Array:
    """log (h - slack)_+ from upper values."""
    high = np.array([curve.at(float(e)).high for e in eps])
    if slack <= 0.0:
        return high
    gap = high - math.log(slack) + 8 * U * abs(math.log(slack))
    inner = np.where(gap > 0.0, -np.expm1(-np.maximum(gap, 1e-300)), 1.0)
    return np.where(gap > 0.0, high + np.log(inner), -np.inf)


def _covered(eps: Array, value: Array, mu: float) -> np.ndarray:
    """Panel by panel, whether h_mu is certainly above."""
    left, right = eps[:-1], eps[1:]
    above_left, above_right = value[:-1], value[1:]
    error = error_of_log(mu, right)
    monotone = above_left <= log_delta_gaussian(mu, right) - error
    middle = 0.5 * (left + right)
    base = log_delta_gaussian(mu, middle) - error_of_log(mu, middle) - 1e-12
    # The tangent at the middle in a = e^eps is h_mu (1 + ratio (1 - a/a_m)).
    log_ratio = middle + special.log_ndtr(-middle / mu - 0.5 * mu) - base
    ratio = np.exp(np.minimum(log_ratio, 700.0))
    doubt = 1e-9 * ratio * (1.0 + (middle / mu) ** 2 * 1e-5)
    rise = -np.expm1(left - middle) * ratio - doubt
    fall = np.expm1(np.minimum(right - middle, 700.0)) * ratio * (1.0 + 1e-12) + doubt
    ok_left = above_left <= base + np.log1p(np.maximum(rise, 0.0))
    room = 1.0 - fall
    safe = np.where(room > 0.0, room, 1.0)
    ok_right = above_right <= base + np.log(safe)
    return monotone | (ok_left & ok_right & (room > 0.0))


def _halved(eps: Array, bad: np.ndarray) -> Array:
    left, right = eps[:-1][bad], eps[1:][bad]
    wide = (left > 0.0) & (right > 4.0 * left)
    middle = np.where(wide, np.sqrt(left * right), 0.5 * (left + right))
    return np.unique(np.concatenate([eps, middle]))
