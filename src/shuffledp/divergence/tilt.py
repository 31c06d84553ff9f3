"""The saddle point alpha of n log M(alpha) - 2 log alpha, and what the kernel needs there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp.divergence.gain import GainLaw
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.propose.roots import bracketed_root

U = UNIT_ROUNDOFF
RARE = 30.0
_SEARCH = 400
_NEWTON = 40
_NEAR_TILT, _NEAR_SLOPE = 3e-3, 0.5
# With fewer active messages F is that of exactly one: the difference of powers cancels.
_FEW_ACTIVE = 1e-3
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
    slope, spread : float
        About alpha times the mean of S under its tilted law (2 at the saddle point), and the
        variance of S there.
    """

    alpha: float
    log_m: float
    log_scale: float
    rare: bool
    variance: float
    slope: float = 2.0
    spread: float = math.nan

    def log_growth(self, law: GainLaw, n: int, beta: float) -> float:
        """Upper bound of log of the transform at beta, less log_scale; inf on overflow."""
        value, slack = log_moment(law, beta)
        top = n * (value + slack)
        if self.rare:
            # M^n - M_-^n <= n V M^(n-1), V the active atoms' part.
            active = active_moment(law, beta)
            part = math.log(n) + math.log(active) if 0.0 < active < math.inf else math.inf
            top = min(top, part + (n - 1) * (value + slack))
        return top - self.log_scale + 64 * U * (abs(n * value) + abs(self.log_scale) + 1.0)


def find_tilt(
    law: GainLaw,
    n: int,
    *,
    allow_rare: bool = True,
    force_rare: bool = False,
    start: float | None = None,
) -> Tilt:
    """Solve d/d log alpha of log(M(alpha)^n - M_-(alpha)^n) = 2; needs max G > 0.

    M_- is M without the atoms that may be positive: where none of those occurs, S <= 0.
    ``allow_rare=False`` keeps that event in even where it is likely. With ``start``, the solution
    for a law that differs little, nothing is solved: any alpha is valid.
    """
    whole = not (allow_rare or force_rare)
    # Squares of gains may leave the range of floats: then the tilt is a poor one, and valid.
    with np.errstate(over="ignore", invalid="ignore"):
        alpha = solve_tilt(law, n, whole=whole) if start is None else start
        log_m, _ = log_moment(law, alpha)
        tilted = tilted_law(law, n, alpha)
    rare = force_rare or (
        allow_rare and tilted.log_ratio <= RARE and tilted.negative >= _LEAST_NEGATIVE
    )
    log_scale = n * log_m
    if rare and tilted.negative > 0.0:
        log_ratio = max(tilted.log_ratio, 1e-300)
        log_scale = n * math.log(tilted.negative) + log_expm1(log_ratio)
    spread = tilted.curvature / alpha / alpha if rare else n * tilted.variance
    return Tilt(alpha, log_m, log_scale, rare, tilted.variance, tilted.slope, spread)


def log_moment(law: GainLaw, s: float) -> tuple[float, float]:
    """log M(s) for real s > 0 and a bound on its error; (inf, 0) on overflow.

    Where M(s) is lost in its error, the logarithm of the error: an upper bound is all there is.
    """
    exponent = s * law.g
    if float(exponent.max(initial=0.0)) > _LARGEST_EXPONENT:
        return math.inf, 0.0
    reach = float(np.abs(exponent).max(initial=0.0))
    if reach < SERIES_REACH:
        terms = law.w * series_expm1_minus(exponent)
        value = s * law.mean + float(terms.sum()) - law.lost
        size = abs(s * law.mean) + float(terms.sum()) + law.lost
    else:
        terms = law.w * np.expm1(exponent)
        value = float(terms.sum()) - law.lost
        size = float(np.abs(terms).sum()) + law.lost
    error = (law.w.size + 64) * U * size + _moment_error(law, s, centred=reach < SERIES_REACH)
    if not error < math.inf:
        return math.log1p(max(value, -0.5)), math.inf
    least = max(1.0 + value, error)
    log_value = math.log1p(value) if 1.0 + value == least else math.log(least)
    return log_value, 2.0 * error / least + 8 * U * abs(log_value)


SERIES_REACH = 0.25


def weighted_exponential(weight: Array, exponent: Array) -> float:
    """Upper bound of sum weight e^exponent; inf where that would overflow."""
    log_terms = np.log(np.maximum(weight, 1e-300)) + exponent
    if float(log_terms.max(initial=0.0)) > _LARGEST_EXPONENT:
        return math.inf
    return float(np.exp(log_terms).sum()) * (1.0 + 1e-9)


def active_moment(law: GainLaw, s: float) -> float:
    """Upper bound of the active atoms' part of M(s)."""
    top = law.g + law.g_err if law.top is None else np.maximum(law.top, law.g + law.g_err)
    # Moving every atom of a cell to the cell's upper end is far from tight, and enough here.
    return weighted_exponential(law.w[law.active] * (1.0 + law.rel + 64 * U), s * top[law.active])


def series_expm1_minus(x: np.ndarray) -> np.ndarray:
    """e^x - 1 - x for |x| <= 0.25, by its series (no cancellation)."""
    total = np.ones_like(x)
    for k in range(14, 2, -1):
        total = 1.0 + total * x / k
    return 0.5 * x * x * total


def _moment_error(law: GainLaw, s: float, *, centred: bool = False) -> float:
    """Error of M(s) at real s from the errors of w and g and from what stands for a cell."""
    rise = np.exp(np.minimum(s * law.g, _LARGEST_EXPONENT))
    shift = law.g_err + 12 * U * np.abs(law.g)
    push = s * shift
    if float((s * law.g + push).max(initial=0.0)) > _LARGEST_EXPONENT:
        return math.inf
    if centred:
        total = s * law.mean_err + s * s * float(
            (
                law.w
                * np.maximum(rise, 1.0)
                * np.exp(np.minimum(push, _LARGEST_EXPONENT))
                * (shift + law.rel * np.abs(law.g))
                * (np.abs(law.g) + shift)
            ).sum()
        )
    else:
        grown = np.where(
            push < 1.0,
            rise * np.expm1(np.minimum(push, 1.0)),
            np.exp(np.minimum(s * law.g + push, _LARGEST_EXPONENT)),
        )
        total = 1.01 * float((law.w * (grown + law.rel * np.abs(rise - 1.0))).sum())
    total += law.rel * law.lost
    if (
        law.half_var is not None
        and law.third is not None
        and law.top is not None
        and law.reach is not None
    ):
        # Second and third order, or, for groups too wide for that, their mass alone.
        with np.errstate(over="ignore"):
            each = np.minimum(s * (s * (law.half_var + s * law.third)), 2.0 * law.w)
        total += weighted_exponential(each, s * law.top)
    return total


def solve_tilt(law: GainLaw, n: int, *, whole: bool) -> float:
    """The alpha of ``find_tilt``, or a poor but valid one where there is no solution in range."""
    first = _first_guess(law, n)
    low, high, theta = -_LARGEST_EXPONENT, _LARGEST_EXPONENT, first
    for _ in range(_NEWTON):
        at = tilted_law(law, n, math.exp(theta), whole=whole)
        gap = at.slope - 2.0
        if gap < 0.0:
            low = theta
        elif gap > 0.0:
            high = theta
        else:
            return math.exp(theta) if gap == 0.0 else _bisected(law, n, first, whole=whole)
        step = _tilt_step(at)
        if high - low <= _NEAR_TILT or (abs(step) <= _NEAR_TILT and abs(gap) <= _NEAR_SLOPE):
            return math.exp(min(max(theta + step, low), high))
        inside = low < theta + step < high and abs(step) > _NEAR_TILT
        theta = theta + step if inside else 0.5 * (max(low, theta - 4.0) + min(high, theta + 4.0))
    return _bisected(law, n, first, whole=whole)


def _first_guess(law: GainLaw, n: int) -> float:
    """log alpha if S were normal, alpha n (E G + alpha Var G) = 2; at most next to 10/max G."""
    far = math.log(10.0 / max(float(law.g.max()), 1e-290))
    square = float((law.w * law.g * law.g).sum())
    bend, drift = n * max(square - law.mean * law.mean, 0.0), -n * law.mean
    root = math.sqrt(drift * drift + 8.0 * bend) if drift * drift < math.inf else math.inf
    # Of the two forms of the positive root the one that does not cancel.
    alpha = 4.0 / (root - drift) if drift < 0.0 else (root + drift) / (2.0 * max(bend, 1e-300))
    return min(math.log(alpha), far) if 0.0 < alpha < math.inf else far


def _tilt_step(at: TiltedLaw) -> float:
    """A step of log alpha towards slope = 2, by Newton's rule, at most 4 either way.

    With alpha F' = slope and alpha^2 F'' = curvature: far out, where both grow exponentially,
    log slope is next to linear; elsewhere F is nearly a parabola.
    """
    slope, bend = at.slope, max(at.curvature, 1e-300)
    if not math.isfinite(slope) or not math.isfinite(bend):
        return -1.0 if slope > 0.0 else 1.0
    if slope > 8.0:
        step = math.log(2.0 / slope) * slope / (slope + bend)
    else:
        # alpha' (F' + F'' (alpha' - alpha)) = 2 for r = alpha'/alpha: bend r^2 + lag r - 2 = 0.
        lag = slope - bend
        root = math.sqrt(lag * lag + 8.0 * bend)
        grown = (root - lag) / (2.0 * bend) if lag < 0.0 else 4.0 / (root + lag)
        step = math.log(grown) if 0.0 < grown < math.inf else 1.0
    return min(max(step, -4.0), 4.0)


def _bisected(law: GainLaw, n: int, start: float, *, whole: bool) -> float:
    """The same without a derivative, where Newton's rule fails: in extreme laws."""

    def slope(theta: float) -> float:
        return tilted_law(law, n, math.exp(theta), whole=whole).slope - 2.0

    high, low = start, start - 1.0
    for _ in range(_SEARCH):
        if not slope(high) < 0.0 or high > _LARGEST_EXPONENT:
            break
        high += 1.0
    for _ in range(_SEARCH):
        if not slope(low) > 0.0 or low < -_LARGEST_EXPONENT:
            break
        low -= 1.0
    if not slope(low) <= 0.0 <= slope(high):
        # Any tilt is valid; where the equation has no solution in range a poor one must do.
        return math.exp(min(max(start, -_LARGEST_EXPONENT), _LARGEST_EXPONENT))
    return math.exp(bracketed_root(slope, low, high, absolute=1e-3))


class TiltedLaw(NamedTuple):
    """At alpha, with F = log(M^n - M_-^n): alpha F', tilted variance of G, n log(M/M_-), M_-.

    ``curvature`` is alpha^2 F'', which only proposes where to look.
    """

    slope: float
    variance: float
    log_ratio: float
    negative: float
    curvature: float


def tilted_law(law: GainLaw, n: int, alpha: float, *, whole: bool = False) -> TiltedLaw:
    """What the saddle-point equation needs of the law tilted by alpha."""
    # In logarithms, relative to the largest contribution: masses and exponentials underflow.
    exponent = np.maximum(alpha * law.g, -1e300) + np.log(np.maximum(law.w, 1e-320))
    left = max(0.0, 1.0 - float(law.w.sum()) - law.lost)
    top = max(float(exponent.max()), math.log(left) if left > 0.0 else -math.inf)
    share = np.exp(exponent - top)
    rest = math.exp(math.log(left) - top) if left > 0.0 else 0.0
    total = float(share.sum()) + rest
    moment = share * law.g
    mean = float(moment.sum()) / total
    square = share * (law.g - mean) ** 2
    variance = (float(square.sum()) + rest * mean * mean) / total
    up = float(share[law.active].sum())
    negative = total - up if up < 0.5 * total else float(share[~law.active].sum()) + rest
    if whole or negative <= 0.0:
        return TiltedLaw(alpha * n * mean, variance, math.inf, 0.0, alpha * alpha * n * variance)
    down_mean = float(moment[~law.active].sum()) / negative
    log_ratio = n * math.log1p(up / negative)
    excess = float(moment[law.active].sum()) - down_mean * up
    kept = -math.expm1(-log_ratio)
    if not kept > 0.0:
        return TiltedLaw(-math.inf, variance, log_ratio, negative * math.exp(min(top, 690.0)), 0.0)
    slope = alpha * n * (excess / total / kept + down_mean)
    if log_ratio < _FEW_ACTIVE and up > 0.0:
        active = law.active
        up_mean = float(moment[active].sum()) / up
        alone = float((share[active] * (law.g[active] - up_mean) ** 2).sum()) / up
        bend = alpha * alpha * (alone + (n - 1) * variance)
    else:
        down = (float(square[~law.active].sum()) + rest * mean * mean) / negative
        down = max(down - (down_mean - mean) * (down_mean - mean), 0.0)
        # With q = M_-^n/(M^n - M_-^n): F'' = A'' + q (A'' - B'') - q (1 + q) (A' - B')^2.
        odds = math.exp(-log_ratio) / kept
        apart = alpha * n * excess / total
        bend = alpha * alpha * n * (variance + odds * (variance - down))
        bend -= odds * (1.0 + odds) * apart * apart
    # The mean of both parts over the tilted law, by n times less cancellation than M^n - M_-^n.
    return TiltedLaw(slope, variance, log_ratio, negative * math.exp(min(top, 690.0)), bend)


def log_expm1(x: float) -> float:
    """log(e^x - 1) for x > 0."""
    return math.log(math.expm1(x)) if x < 1.0 else x + math.log1p(-math.exp(-x))
