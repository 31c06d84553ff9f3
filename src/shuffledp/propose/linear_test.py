"""Which test of a sum of scores distinguishes two data sets, and its contour, in floats.

For one changed user the scores are those of Fisher's linear discriminant. With Sigma the covariance
of the others' counts and R their mean law, w solves Sigma w = g - (sum g) R, where g = P - a Q for
the user's two laws. (If all others have one law R, this is g/R, the score of the likelihood ratio.)

For k > 1 changed users among n others the likelihood ratio is a quotient of elementary symmetric
polynomials. To first order at its level a it is the sum of w = log (R + l P)/(R + l a^(1/k) Q),
with l = (k/n) a^(-1/(2 k)). Scores of rare outputs are lowered to those of less rare ones, if that
improves the test.

The threshold is where the density of the others' sum has the logarithmic slope -alpha, at
the alpha for which the changed laws balance: M0(alpha)^k = a M1(alpha)^k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.kernel.contour import Contour
from shuffledp.kernel.linear_test import LinearTest

__all__ = ["Laws", "Proposal", "information", "propose"]

Array = NDArray[np.float64]
# Relative errors of delta: (h alpha)^2 from smoothing, e^-20 from aliases, and from nodes left out.
_SMOOTHING, _ACCURACY, _LEFT_OUT = 1e-2, 20.0, 1e-9
# Nodes of the estimate reach this many standard deviations of the sum.
_REACH = 9.0
# Smoothing for integer scores: a threshold half way between two is 6 deviations from both.
_OF_WHOLE = 0.08
# Thresholds that are tried, in units of 1/alpha, and the least tilt, in units of 1/deviation.
_TRIED, _LEAST_TILT = np.linspace(-0.6, 0.6, 13), 0.5
# Tilts that bound aliases, relative to alpha.
_ABOVE = (1.15, 1.25, 1.4, 1.7, 2.2, 3.0, 4.5)
# Rounding error of a sum of terms of size 1.
_ROUNDING = 1e-9
# Largest exponent of a tilt.
_LARGEST = 600.0
# Expected numbers of changed users' reports whose scores are lowered, and the largest score: that
# of an output which only one of the two laws gives.
_BEYOND, _SURE = (0.0, 1e-12, 1e-9, 1e-6, 1e-3), 50.0


@dataclass(frozen=True)
class Laws:
    """Laws on the same outputs in floats, as in ``kernel.linear_test.DataSets``."""

    first: Array
    second: Array
    changed: int
    others: Array
    counts: Array


class Proposal(NamedTuple):
    """A test, its contour, and an estimate of the log delta that it proves."""

    test: LinearTest
    contour: Contour
    log_delta: float


def information(laws: Laws) -> float:
    """Fisher information of the changed users among the others; delta increases with it."""
    change = laws.first - laws.second
    return float(change @ _solved(laws, change))


def propose(laws: Laws, epsilon: float) -> Proposal | None:
    """A good test at this eps; None if none is found."""
    with np.errstate(all="ignore"):
        return _proposed(laws, epsilon)


def _proposed(laws: Laws, epsilon: float) -> Proposal | None:
    whole = float(laws.counts.sum())
    several = laws.changed > 1 and whole > 0.0
    grow = math.exp(epsilon / laws.changed)
    scores = _of_several(laws, grow, whole) if several else _scores(laws, grow)
    if laws.first.size == 2:
        scores = np.array([0.0, 1.0]) if scores[1] > scores[0] else np.array([1.0, 0.0])
    made = []
    for each in _capped(laws, scores) if several and laws.first.size > 2 else (scores,):
        found = _Line.of(laws, each, epsilon)
        made.append(None if found is None else found.best(lattice=each.size == 2))
    return max((one for one in made if one), key=lambda one: one.log_delta, default=None)


def _capped(laws: Laws, scores: Array) -> list[Array]:
    """The scores, and those of outputs with the largest ones lowered to a common value."""
    order = np.argsort(-scores)
    beyond = laws.changed * np.cumsum(laws.first[order])
    places = {min(int(np.searchsorted(beyond, mass)), scores.size - 1) for mass in _BEYOND}
    return [np.minimum(scores, scores[order[i]]) for i in sorted(places)]


def _of_several(laws: Laws, grow: float, whole: float) -> Array:
    """log (R + l P)/(R + l a^(1/k) Q), at most ``_SURE`` in size."""
    mean = laws.counts @ laws.others / whole
    share = laws.changed / whole / math.sqrt(grow)
    found = np.log((mean + share * laws.first) / (mean + share * grow * laws.second))
    found = np.clip(np.nan_to_num(found), -_SURE, _SURE)
    size = np.abs(found).max()
    return found / size if size > 0.0 else found


def _covariance(laws: Laws) -> Array:
    weighted = laws.others * laws.counts[:, None]
    return np.diag(weighted.sum(axis=0)) - laws.others.T @ weighted


def _solved(laws: Laws, change: Array) -> Array:
    """w with Sigma w = change, on the outputs that others send."""
    sent = laws.others.max(axis=0, initial=0.0) > 0.0
    found = np.zeros(change.size)
    if sent.any():
        sigma = _covariance(laws)[np.ix_(sent, sent)]
        # In units of the counts' standard deviations all outputs are alike, rare ones included.
        scale = 1.0 / np.sqrt(np.maximum(np.diag(sigma), 1e-300))
        solved = np.linalg.lstsq(sigma * np.outer(scale, scale), change[sent] * scale, rcond=1e-12)
        found[sent] = solved[0] * scale
    return found


def _scores(laws: Laws, grow: float) -> Array:
    gain = laws.first - grow * laws.second
    whole = laws.counts.sum()
    if whole <= 0:
        return np.sign(gain)
    mean = laws.counts @ laws.others / whole
    found = _solved(laws, gain - gain.sum() * mean)
    unsent = laws.others.max(axis=0) <= 0.0
    if unsent.any() and (~unsent).any():
        # Outputs that only the victim sends get the most extreme scores, for or against its input.
        high, low = found[~unsent].max(), found[~unsent].min()
        found[unsent] = np.where(gain[unsent] > 0.0, high + (high - low), low - (high - low))
    size = np.abs(found).max()
    return found / size if size > 0.0 else found


class _Line:
    """The integrand of a test's advantage along Re s = alpha."""

    def __init__(self, laws: Laws, scores: Array, epsilon: float, balance: float) -> None:
        self.laws, self.scores, self.epsilon = laws, scores, epsilon
        self.mean, variance = self._moments(balance)
        self.width = math.sqrt(max(variance, 0.0))
        # The weight 1/s has a pole at 0.
        least = _LEAST_TILT / max(self.width, float(np.ptp(scores)))
        self.balance, self.alpha = balance, max(balance, least)

    @classmethod
    def of(cls, laws: Laws, scores: Array, epsilon: float) -> _Line | None:
        """The line at the tilt where the two changed laws balance; None if there is none."""
        top = float(np.abs(scores).max())
        if not top > 0.0:
            return None
        high, level = _LARGEST / top, epsilon / laws.changed

        def gap(alpha: float) -> float:
            first = _log_moment(laws.first, scores, alpha)
            return first - _log_moment(laws.second, scores, alpha) - level

        if gap(high) < 0.0:
            return None
        low = 0.0
        if gap(low) >= 0.0:
            return cls(laws, scores, epsilon, 0.0)
        while high - low > 1e-9 * high:
            middle = math.sqrt(low * high) if low > 0.0 else 1e-3 * high
            low, high = (middle, high) if gap(middle) < 0.0 else (low, middle)
        return cls(laws, scores, epsilon, high)

    def _moments(self, alpha: float) -> tuple[float, float]:
        """Mean and variance of the others' tilted sum."""
        tilted = self.laws.others * np.exp(alpha * (self.scores - self.scores.max()))
        tilted /= tilted.sum(axis=1, keepdims=True)
        means = tilted @ self.scores
        spread = self.scores[None, :] - means[:, None]
        variances = (tilted * spread * spread).sum(axis=1)
        return float(self.laws.counts @ means), float(self.laws.counts @ variances)

    def _log_level(self, tilt: float) -> float:
        """log of M(tilt) for all others."""
        logs = [_log_moment(law, self.scores, tilt) for law in self.laws.others]
        return float(self.laws.counts @ np.array(logs)) if logs else 0.0

    def best(self, *, lattice: bool) -> Proposal | None:
        """The best threshold, and its contour."""
        k, alpha = self.laws.changed, self.alpha
        middle = self.mean + 0.5 * k * sum(self._tilted_mean(law) for law in self._pair)
        if lattice:
            tried = math.floor(middle) + np.arange(-2.5, 3.0)
            smoothing = _OF_WHOLE
        else:
            tried = middle + _TRIED / alpha
            smoothing = _SMOOTHING / alpha
        period = self._period(float(tried[0]))
        values = self._values(tried, smoothing, period[0], lattice=lattice)
        # Far from the saddle point only rounding errors are left.
        worth = np.where(values > _ROUNDING, values, 0.0) * np.exp(alpha * (tried[0] - tried))
        at = int(np.argmax(worth))
        if not worth[at] > 0.0:
            return None
        threshold, value = float(tried[at]), float(values[at])
        own = k * _log_moment(self.laws.first, self.scores, alpha)
        log_delta = self._log_level(alpha) - alpha * threshold + own + math.log(value)
        tolerance = max(_LEFT_OUT * value / (1.0 + self._lead()), 1e-300)
        contour = Contour(alpha, smoothing, period[0], tolerance, 0.5 * alpha, period[1])
        return Proposal(LinearTest(self.scores.tolist(), threshold), contour, min(log_delta, 0.0))

    @property
    def _pair(self) -> tuple[Array, Array]:
        return self.laws.first, self.laws.second

    def _tilted_mean(self, law: Array) -> float:
        """Mean of a changed user's score, tilted to balance."""
        tilted = law * np.exp(self.balance * (self.scores - self.scores.max()))
        return float(tilted @ self.scores / tilted.sum())

    def _lead(self) -> float:
        """a (M1/M0)^k at alpha; it is 1 where the two laws balance."""
        first, second = (_log_moment(law, self.scores, self.alpha) for law in self._pair)
        return math.exp(min(self.laws.changed * (second - first) + self.epsilon, 700.0))

    def _period(self, threshold: float) -> tuple[float, float]:
        """L, and the tilt that bounds the aliases above for it."""
        alpha, found = self.alpha, (math.inf, _ABOVE[0] * self.alpha)
        here = self._log_level(alpha) - alpha * threshold
        own = _log_moment(self.laws.first, self.scores, alpha)
        for ratio in _ABOVE:
            b = ratio * alpha
            there = self._log_level(b) - b * threshold
            more = self.laws.changed * (_log_moment(self.laws.first, self.scores, b) - own)
            wanted = max(there - here + more + _ACCURACY + 12.0, 1.0) / (b - alpha)
            found = min(found, (wanted, b))
        return max(found[0], _ACCURACY / alpha, 12.0 * self.width), found[1]

    def _both(self, s: NDArray[Any]) -> NDArray[Any]:
        """(M0^k - a M1^k)/M0(alpha)^k."""
        turned = np.exp(np.outer(s, self.scores - self.scores.max()))
        found = []
        for law in self._pair:
            values = turned @ law
            found.append((values / values[0]) ** self.laws.changed)
        shift = np.exp(1j * np.imag(s) * self.laws.changed * self.scores.max())
        return (found[0] - self._lead() * found[1]) * shift

    def _values(
        self, thresholds: Array, smoothing: float, period: float, *, lattice: bool
    ) -> Array:
        """The advantage at each threshold t, over M(alpha) e^(-alpha t) M0(alpha)^k."""
        alpha = self.alpha
        last = math.pi if lattice else _REACH / smoothing
        last = min(last, _REACH / self.width if self.width > 0.0 else math.inf)
        # Integer scores: the integrand has the period 2 pi, which is an even number of steps.
        period = 2.0 * math.ceil(0.5 * period) if lattice else period
        step = 2.0 * math.pi / period
        tau = step * np.arange(min(int(last / step + 1e-9) + 1, 20_000))
        s = alpha + 1j * tau
        scores = self.scores - self.scores.max()
        log = np.zeros(tau.size, dtype=complex)
        for law, count in zip(self.laws.others, self.laws.counts, strict=True):
            moments = np.exp(np.outer(s, scores)) @ law
            log += count * np.log(moments / moments[0].real)
            log += 1j * tau * count * self.scores.max()
        # Integer scores above a threshold half way between: sum of e^(-s j), j = 1/2, 3/2, ...
        weight = 0.5 / np.sinh(0.5 * s) if lattice else np.exp(0.5 * smoothing**2 * s**2) / s
        terms = self._both(s) * np.exp(log) * weight
        terms[0] *= 0.5
        if lattice and last == math.pi:
            terms[-1] *= 0.5
        return (np.exp(-1j * np.outer(thresholds, tau)) @ terms).real * step / math.pi


def _log_moment(law: Array, scores: Array, tilt: float) -> float:
    top = float(scores.max())
    return tilt * top + math.log(float(law @ np.exp(tilt * (scores - top))) + 1e-300)
