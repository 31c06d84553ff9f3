"""Free numbers of label stealing for noise on an interval, in plain floats.

Any proposal gives a valid bound, and a bad one a loose bound (``bounds.interval``).  Units are as
there: inputs fill [0, 1], a = e^eps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.kernel.positive_sum import step_of
from shuffledp.propose.simplex import least
from shuffledp.propose.stealing import (
    PLACES,
    WEIGHTS,
    one_less_square,
    one_less_square_even,
)

__all__ = ["Free", "Laws", "Sketch", "free_numbers"]

Floats = npt.NDArray[np.float64]
_Law = tuple[Floats, Floats]  # masses, gains
_TINY = 1e-300
# Number of Gauss-Legendre panels on [0, 1] for Laplace noise, and nodes in each.
_PANELS, _NODES = 16, 10
# h alpha of the sums; smoothing costs half of its square in log J. The larger values pay among few
# users, where psi returns to 1.
SMOOTHINGS = (0.03, 0.1, 0.25)
# The reservoir is to be empty with probability e^-_EMPTY delta.
_EMPTY = 6.0
# Share of the blanket in the first reservoir above which few users are hidden among few, and all
# free numbers are searched at once.
_FEW = 0.06
# Number of bisections between the best tilts of the two labels, if each label is the worse one at
# the other's tilt. For normal noise, with cut gains, they gain nothing.
_BETWEEN = 5
# Among few users psi^n is summed at evenly spaced nodes, as in the certificate, up to _FAR alpha:
# at the square of _EVEN to _MOST_EVEN nodes.
_FAR, _EVEN, _MOST_EVEN = 12.0, 24, 64


class Sketch(NamedTuple):
    """The noise in floats.

    Attributes
    ----------
    normal : bool
        Whether the noise is normal; otherwise it is Laplace.
    width : float
        Standard deviation (normal) or scale (Laplace).
    """

    normal: bool
    width: float

    def density(self, z: Floats) -> Floats:
        """The density f of the noise."""
        t = z / self.width
        if self.normal:
            return np.exp(-0.5 * t * t) / (self.width * math.sqrt(2 * math.pi))
        return np.exp(-np.abs(t)) / (2 * self.width)

    def ratio(self, y: Floats) -> Floats:
        """The density ratio f_1/f_0."""
        if self.normal:
            return np.exp(np.minimum((y - 0.5) / self.width**2, 700.0))
        return np.exp((np.abs(y) - np.abs(y - 1)) / self.width)

    def place(self, ratio: float) -> float:
        """The output at which f_1/f_0 has this value, for normal noise."""
        return 0.5 + self.width**2 * math.log(ratio)

    def outputs(self, deepest: float) -> tuple[Floats, Floats]:
        """Places and weights of a quadrature; for Laplace noise with the two tails of the line.

        ``deepest``: an estimate of log of the mass that normal noise may lose.
        """
        if self.normal:
            reach = self.width * math.sqrt(-2 * deepest)
            y = np.linspace(-reach, 1 + reach, 400)
            return y, np.full(y.size, y[1] - y[0])
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        y = np.add.outer(np.arange(_PANELS), 0.5 * (nodes + 1)).ravel() / _PANELS
        widths = np.tile(0.5 * weights / _PANELS, _PANELS)
        return np.append(y, [0.0, 1.0]), np.append(widths, np.full(2, self.width))


class Free(NamedTuple):
    """Free numbers and the bound they give.

    Attributes
    ----------
    kappa, theta, alpha : float
        The split and the tilt.
    ceiling : float
        Largest gain that is kept; infinite for Laplace noise.
    deviation : float
        Standard deviation of the tilted sum, the larger one of the two labels.
    log_delta : float
        An estimate of log of the bound.
    smooth : float
        h alpha of the sum.
    """

    kappa: float
    theta: float
    alpha: float
    ceiling: float
    deviation: float
    log_delta: float
    smooth: float = SMOOTHINGS[0]

    @property
    def value(self) -> float:
        """The estimate of log delta."""
        return self.log_delta

    @property
    def scale(self) -> float:
        """The deviation, or that of a normal sum with this tilt and delta if it is less.

        Rare large gains enlarge the deviation but hardly affect delta.
        """
        return min(self.deviation, math.sqrt(-2 * min(self.log_delta, -1.0)) / self.alpha)


class Laws:
    """The reservoir and the labels (1, 0, 0), (0, 1, 0) at one eps, in floats."""

    def __init__(self, noise: Sketch, n: int, eps: float, log_delta: float) -> None:
        self.noise, self.n, self.eps, self.a = noise, n, eps, math.exp(eps)
        self.gone, self.raised = 0.0, [0.0, 0.0]
        y, width = noise.outputs(min(log_delta, -20.0) - 15.0)
        self.f0, self.f1 = noise.density(y) * width, noise.density(y - 1) * width
        r = noise.ratio(y)
        self.up, self.down = r - self.a, 1 - self.a * r
        self.common = np.minimum(self.f0, self.f1)
        self.pool = np.where(r < 1, 1 - self.a / np.maximum(r, _TINY), self.up)
        self.blanket = self.common.sum()
        # Share of the blanket with which the reservoir is empty with probability e^-6 delta.
        self.least = -math.expm1((log_delta - _EMPTY) / (n - 1)) / self.blanket
        self.few = bool(self.least > _FEW)
        self.positive = np.maximum(self.f1 - self.a * self.f0, 0).sum()
        self.floor = -60.0 * math.sqrt(n * float((self.f0 * np.minimum(self.up, 1e8) ** 2).sum()))

    def spreads(self) -> tuple[float, float]:
        """Second moments of the reservoir's and of the labels' gains."""
        some = np.minimum(self.up, 1e8)
        pool = np.clip(self.pool, -1e8, 1e8)
        return float(self.common @ pool**2), float(self.f0 @ some**2)

    def made(self, kappa: float, theta: float, ceiling: float, alpha: float) -> Free:
        """An estimate of the bound at these numbers, at the best tilt."""
        b, join = (1 - theta) / (1 - kappa), theta / kappa
        cut = self._above(kappa * self.common, join * self.pool, ceiling)
        self.gone = cut
        lost = self._above((1 - kappa) * self.f0, b * self.up, ceiling)
        paid = self.paid(kappa, theta) + cut
        gains = np.append(np.minimum(b * self.up, ceiling), 0.0), np.append(b * self.down, 0.0)
        mass = np.append((1 - kappa) * self.f0, kappa * (1 - self.blanket))
        c = kappa * self.common, np.maximum(np.minimum(join * self.pool, ceiling), self.floor)
        # Increase of the mean of all gains by the floor.
        pooled = float(c[0] @ np.maximum(self.floor - join * self.pool, 0.0))
        self.raised = [pooled + float(mass @ np.maximum(self.floor - x, 0.0)) for x in gains]
        laws = [(mass, np.maximum(gain, self.floor)) for gain in gains]
        tilt = self.saddle(c, laws[0], alpha)
        found = self._both(c, laws, tilt, lost)
        if found[3]:
            # The other label is worse: one tilt serves both, its own or one between the two.
            low, high = tilt, self.saddle(c, laws[1], tilt)
            other = self._both(c, laws, high, lost)
            for _ in range(0 if other[3] or self.noise.normal else _BETWEEN):
                found = min(found, other, key=lambda one: one[1])
                middle = math.sqrt(low * high)
                other = self._both(c, laws, middle, lost)
                low, high = (middle, high) if other[3] else (low, middle)
            found = min(found, other, key=lambda one: one[1])
        value = float(np.logaddexp(found[1], math.log(max(paid, _TINY))))
        return Free(kappa, theta, found[4], ceiling, found[0], value, found[2])

    def paid(self, kappa: float, theta: float) -> float:
        """The tail, the cost if nobody else is in the reservoir."""
        return (1 - theta) * self.positive * (1 - kappa * self.blanket) ** (self.n - 1)

    def moved(self, free: Free) -> Free:
        """The same numbers at this eps."""
        return self.made(free.kappa, free.theta, free.ceiling, free.alpha)

    def _above(self, mass: Floats, gain: Floats, ceiling: float) -> float:
        """The cost of cutting gains at the ceiling."""
        if not math.isfinite(ceiling):
            return 0.0
        return float(mass @ np.maximum(gain - ceiling, 0))

    def _both(
        self, c: _Law, laws: list[_Law], alpha: float, lost: float
    ) -> tuple[float, float, float, bool, float]:
        """Deviation, log (J + lost), h alpha, whether the second label is worse, and tilt."""
        # The mean of all gains is 1 - a less what is cut: differences of masses would lose digits.
        mean = -math.expm1(self.eps) - self.gone
        one = self.value_of(c, laws[0], alpha, lost, mean - lost + self.raised[0])
        two = self.value_of(c, laws[1], alpha, 0.0, mean + self.raised[1])
        worse = two if two[1] > one[1] else one
        return max(one[0], two[0]), *worse[1:], worse is two, alpha

    def saddle(self, c: _Law, d: _Law, alpha: float, shift: float = 0.0) -> float:
        """The best tilt for one label, by Newton's method; ``shift`` is added to the sum."""
        n = self.n
        for _ in range(30):
            wc, wd = c[0] * np.exp(alpha * c[1]), d[0] * np.exp(alpha * d[1])
            whole = wc.sum() + wd.sum()
            first = (wc @ c[1] + wd @ d[1]) / whole
            second = (wc @ c[1] ** 2 + wd @ d[1] ** 2) / whole - first * first
            # alpha n (log M)' = 2 at the saddle point of M^n/alpha^2.
            wrong, slope = n * first + shift - 2 / alpha, n * second + 2 / alpha**2
            step = -wrong / slope
            step = min(max(step, -0.5 * alpha), alpha)
            alpha += step
            if abs(step) < 1e-3 * alpha:
                break
        return alpha

    def value_of(
        self, c: _Law, d: _Law, alpha: float, lost: float, mean: float
    ) -> tuple[float, float, float]:
        """Deviation of the tilted sum, log (J + lost), h alpha; ``mean``: that of all gains."""
        n = self.n
        wc, wd = c[0] * np.exp(alpha * c[1]), d[0] * np.exp(alpha * d[1])
        rise = sum(float(m @ _beyond_line(alpha * x)) for m, x in (c, d)) + alpha * mean
        both, both_laws = wc.sum() + wd.sum(), ((wc, c), (wd, d))
        variance = (
            n
            * sum(float(w @ x**2 - (w @ x) ** 2 / w.sum()) for w, x in ((wc, c[1]), (wd, d[1])))
            / both
        )
        if not (math.isfinite(variance) and -1.0 < rise < math.inf):
            return 1.0, math.inf, SMOOTHINGS[0]
        deviation = math.sqrt(max(variance, _TINY))
        if self.few:
            step = step_of(deviation, alpha)
            side = math.ceil(min(max(math.sqrt(_FAR * alpha / step), _EVEN), _MOST_EVEN))
            t, weights = step * np.arange(side**2), np.full(side**2, step)
            weights[0] *= 0.5
            missing = sum(one_less_square_even(w, law[1], step, side) for w, law in both_laws)
        else:
            t, weights = PLACES / deviation, WEIGHTS / deviation
            missing = sum(one_less_square(w, law[1], t) for w, law in both_laws)
        power = np.exp(n * np.log1p(-np.minimum(missing / (2 * both), 1 - 1e-9)))
        terms = power * weights / (alpha**2 + t**2)
        found = []
        for smooth in SMOOTHINGS if self.few else SMOOTHINGS[:1]:
            window = np.exp(0.5 * smooth**2 * (1 - (t / alpha) ** 2)) if self.few else 1.0
            found.append((float((terms * window).sum()), smooth))
        integral, smooth = min(found)
        log = n * math.log1p(rise) - math.log(n) + math.log(max(integral / math.pi, _TINY))
        return deviation, float(np.logaddexp(log, math.log(max(lost, _TINY)))), smooth


def _beyond_line(x: Floats) -> Floats:
    """e^x - 1 - x."""
    return np.where(np.abs(x) < 1e-3, x * x * (0.5 + x / 6 + x * x / 24), np.expm1(x) - x)


# ------------------------------------------------------------------------------- free numbers

# Largest share of the blanket in the reservoir, in general and at the start.
_MOST, _LARGEST_START = 0.985, 0.85
# Share of delta that cutting gains may cost at the start.
_CUT = 0.01
# Factors by which free numbers are changed as long as the estimate falls.
_FACTORS = (1.5, 1.15, 1.04)
# Evaluations of the search for all numbers at once; first steps of the logits of kappa and theta
# and of the log ceiling; tolerance.
_CALLS, _STEPS, _NEAR = 80, (0.5, 0.5, 0.5), 1e-5


def free_numbers(
    noise: Sketch, n: int, eps: float, log_delta: float, start: Free | None = None
) -> Free | None:
    """Free numbers for a delta near this one; None if none are found."""
    laws = Laws(noise, n, eps, log_delta)
    kappa, few = min(laws.least, _LARGEST_START), laws.few
    if start is None:
        ceiling = _ceiling(laws, math.exp(log_delta) * _CUT)
        alpha = math.sqrt(-2 * log_delta / (n * min(laws.spreads()[1], 1e12)))
        thetas = [_balanced(laws, kappa), 0.7 * kappa] if few else [_balanced(laws, kappa)]
        found = (laws.made(kappa, theta, ceiling, alpha) for theta in thetas)
        best, factors = min(found, key=lambda free: free.log_delta), _FACTORS
    else:
        best = laws.made(start.kappa, start.theta, start.ceiling, start.alpha)
        factors = _FACTORS[1:]
    changes = (_by_size, _by_join) if not noise.normal else (_by_size, _by_join, _by_ceiling)
    for factor in factors:
        for change in changes:
            for by in (factor, 1 / factor):
                best = _climbed(laws, best, change, by)
    best = _polished(laws, best) if few else best
    return best if math.isfinite(best.log_delta) else None


def _polished(laws: Laws, best: Free) -> Free:
    """A search for all numbers at once, from the best ones so far."""
    first = [_logit(best.kappa), _logit(best.theta), math.log(max(best.ceiling, _TINY))]
    size = 3 if laws.noise.normal else 2

    def made(x: Floats) -> Free:
        kappa, theta = (1 / (1 + math.exp(-v)) for v in x[:2])
        ceiling = math.exp(min(x[2], 700.0)) if size == 3 else math.inf
        if not kappa < _MOST:
            return best._replace(log_delta=math.inf)
        return laws.made(kappa, theta, ceiling, best.alpha)

    found = least(
        lambda x: made(x).log_delta,
        np.array(first[:size]),
        np.array(_STEPS[:size]),
        calls=_CALLS,
        near=_NEAR,
    )
    return min(best, made(found), key=lambda free: free.log_delta)


def _logit(x: float) -> float:
    """log(x/(1 - x)); of 0 and 1, which a share may round to, that of the nearest float inside."""
    x = min(max(x, _TINY), math.nextafter(1.0, 0.0))
    return math.log(x) - math.log1p(-x)


def _climbed(
    laws: Laws, best: Free, change: Callable[[Free, float], tuple[float, float, float]], by: float
) -> Free:
    while True:
        kappa, theta, ceiling = change(best, by)
        if not (0 < kappa < _MOST and 0 < theta < 1):
            return best
        trial = laws.made(kappa, theta, ceiling, best.alpha)
        if not trial.log_delta < best.log_delta - 1e-5:
            return best
        best = trial


def _by_size(old: Free, by: float) -> tuple[float, float, float]:
    return old.kappa * by, min(old.theta * by, 0.999), old.ceiling


def _by_join(old: Free, by: float) -> tuple[float, float, float]:
    return old.kappa, old.theta * by, old.ceiling


def _by_ceiling(old: Free, by: float) -> tuple[float, float, float]:
    return old.kappa, old.theta, old.ceiling * by


def _balanced(laws: Laws, kappa: float) -> float:
    """theta for equal gains in both parts: theta V_beta/kappa = (1 - theta) V_t/(1 - kappa)."""
    pool, label = laws.spreads()
    joined, stolen = pool / kappa, label / (1 - kappa)
    return stolen / (joined + stolen)


def _ceiling(laws: Laws, cost: float) -> float:
    """The ceiling at which cutting gains costs about this much."""
    if not laws.noise.normal:
        return math.inf
    gains, mass = laws.up[::-1], laws.f0[::-1]
    excess = np.cumsum(mass * gains) - np.cumsum(mass) * gains
    at = min(int(np.searchsorted(excess, cost)), gains.size - 1)
    return float(max(gains[at], 1.0))
