"""The saddle point alpha of n log M(alpha) - 2 log alpha, and what the kernel needs to know there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from shuffledp.divergence.gain import GainLaw
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
_RARE = 30.0
_LEAST_NEGATIVE = 1e-3
_LARGEST_EXPONENT = 690.0


@dataclass(frozen=True)
class Tilt:
    """A tilt alpha > 0 and the scale everything else is relative to.

    Attributes
    ----------
    alpha : float
        Where the contour crosses the real axis. Any value > 0 gives a valid bracket.
    log_m : float
        A float near log M(alpha); the bracket does not assume that it is exact.
    log_scale : float
        log of the unit of the sums: n log_m, or log(M(alpha)^n - M_-(alpha)^n) where rare.
    rare : bool
        True where n log(M(alpha)/M_-(alpha)) is small: the event that no message has G > 0, on
        which S <= 0, is taken out exactly and M(s)^n - M_-(s)^n is integrated.
    variance : float
        Variance of G under the tilted law.
    """

    alpha: float
    log_m: float
    log_scale: float
    rare: bool
    variance: float

    def log_growth(self, law: GainLaw, n: int, beta: float) -> float:
        """Upper bound of log(M(beta)^n) - log_scale, inf where e^{beta g} would overflow."""
        value, slack = log_moment(law, beta)
        return n * (value + slack) - self.log_scale + 64 * U * abs(n * value)


def find_tilt(law: GainLaw, n: int, *, allow_rare: bool = True) -> Tilt:
    """Solve d/d log alpha of log(M(alpha)^n - M_-(alpha)^n) = 2; needs max G > 0.

    M_- is M without the atoms that may be positive: where none of those occurs, S <= 0.
    ``allow_rare=False`` keeps that event in even where it is likely.
    """
    alpha = _solve(law, n)
    log_m, _ = log_moment(law, alpha)
    tilted = _tilted(law, n, alpha)
    rare = allow_rare and tilted.log_ratio <= _RARE and tilted.negative >= _LEAST_NEGATIVE
    if rare:
        log_scale = n * math.log(tilted.negative) + _log_expm1(tilted.log_ratio)
    else:
        log_scale = n * log_m
    return Tilt(alpha, log_m, log_scale, rare, tilted.variance)


def log_moment(law: GainLaw, s: float) -> tuple[float, float]:
    """log M(s) for real s > 0 and a bound on its error; (inf, 0) on overflow."""
    exponent = s * law.g
    if float(exponent.max(initial=0.0)) > _LARGEST_EXPONENT:
        return math.inf, 0.0
    reach = float(np.abs(exponent).max(initial=0.0))
    if reach < _CENTRED:
        terms = law.w * _expm1_minus(exponent)
        value = s * law.mean + float(terms.sum())
        size = abs(s * law.mean) + float(terms.sum())
    else:
        terms = law.w * np.expm1(exponent)
        value = float(terms.sum())
        size = float(np.abs(terms).sum())
    error = (law.w.size + 64) * U * size + _moment_error(law, s, centred=reach < _CENTRED)
    if not value > -1.0 + error:
        return -math.inf, math.inf
    return math.log1p(value), 2.0 * error / (1.0 + value) + 8 * U * abs(math.log1p(value))


_CENTRED = 0.25


def weighted_exponential(weight: Array, exponent: Array) -> float:
    """Upper bound of sum weight e^exponent; inf where that would overflow."""
    log_terms = np.log(np.maximum(weight, 1e-300)) + exponent
    if float(log_terms.max(initial=0.0)) > _LARGEST_EXPONENT:
        return math.inf
    return float(np.exp(log_terms).sum()) * (1.0 + 1e-9)


def _expm1_minus(x: np.ndarray) -> np.ndarray:
    """e^x - 1 - x for |x| <= 0.25, by its series (no cancellation)."""
    total = np.ones_like(x)
    for k in range(14, 2, -1):
        total = 1.0 + total * x / k
    return 0.5 * x * x * total


def _moment_error(law: GainLaw, s: float, *, centred: bool = False) -> float:
    """Error of M(s) at real s from the errors of w and g and from what stands for a cell."""
    rise = np.exp(np.minimum(s * law.g, _LARGEST_EXPONENT))
    shift = law.g_err + 12 * U * np.abs(law.g)
    if centred:
        total = s * law.mean_err + s * s * float(
            (law.w * np.maximum(rise, 1.0) * (shift + law.rel * np.abs(law.g)) * (np.abs(law.g) + shift)).sum()
        )
    else:
        total = float((law.w * (rise * s * shift + law.rel * np.abs(rise - 1.0))).sum())
    if law.half_var is not None and law.third is not None and law.top is not None:
        total += s * s * weighted_exponential(law.half_var, s * law.g)
        total += s**3 * weighted_exponential(law.third, s * law.top)
    return total


def _solve(law: GainLaw, n: int) -> float:
    def slope(theta: float) -> float:
        return _tilted(law, n, math.exp(theta)).slope - 2.0

    high = math.log(2.0 / float(law.g.max()))
    while slope(high) < 0.0:
        high += 1.0
    low = high - 1.0
    while slope(low) > 0.0:
        low -= 1.0
    return math.exp(float(brentq(slope, low, high, xtol=1e-3)))


class _Tilted(NamedTuple):
    """At alpha: d log(M^n - M_-^n) / d log alpha, tilted variance, n log(M/M_-), and M_-."""

    slope: float
    variance: float
    log_ratio: float
    negative: float


def _tilted(law: GainLaw, n: int, alpha: float) -> _Tilted:
    exponent = alpha * law.g
    top = max(0.0, float(exponent.max()))
    share = law.w * np.exp(exponent - top)
    rest = math.exp(-top) * max(0.0, 1.0 - float(law.w.sum()))
    total = float(share.sum()) + rest
    moment = share * law.g
    mean = float(moment.sum()) / total
    variance = (float((share * (law.g - mean) ** 2).sum()) + rest * mean * mean) / total
    up = float(share[law.positive].sum())
    negative = total - up if up < 0.5 * total else float(share[~law.positive].sum()) + rest
    if negative <= 0.0:
        return _Tilted(alpha * n * mean, variance, math.inf, 0.0)
    down_mean = float(moment[~law.positive].sum()) / negative
    log_ratio = n * math.log1p(up / negative)
    excess = float(moment[law.positive].sum()) - down_mean * up
    kept = -math.expm1(-log_ratio)
    slope = alpha * n * (excess / total / kept + down_mean) if kept > 0.0 else -math.inf
    # The mean of both parts over the tilted law, by n times less cancellation than M^n - M_-^n.
    return _Tilted(slope, variance, log_ratio, negative * math.exp(min(top, 690.0)))


def _log_expm1(x: float) -> float:
    """log(e^x - 1) for x > 0."""
    return math.log(math.expm1(x)) if x < 1.0 else x + math.log1p(-math.exp(-x))
