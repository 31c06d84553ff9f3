"""Sums of independent losses in plain floats: saddle point, contour, estimates of delta and eps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shuffledp.kernel.contour import Contour

Array = npt.NDArray[np.float64]

# Range of log of a tilt; its square is a finite float.
_TILTS = (-60.0, 300.0)
# Most Newton steps to a saddle point; from a start within a factor of ten, eight are usual.
_NEWTON = 60
# Most nodes of an estimate, and number of nodes at a time: five milliseconds with 300 losses.
_MOST_NODES, _CHUNK = 4096, 32
# Nodes are left out where the transform is below e^-25 of its value on the real axis.
_NEGLIGIBLE = 25.0
# Aliases of an estimate are below e^-14 of it.
_ALIASES = 14.0
# Tilts, relative to the contour's, at which Chernoff bounds of aliases are tried.
_BELOW = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.88, 0.94)
_ABOVE = (1.06, 1.12, 1.2, 1.35, 1.5, 1.8, 2.3, 3.0, 4.5)
# Up to this many draws, estimates are sums over all outcomes; and the law of a sure loss of 0, with
# log mass 0.
_DIRECT, _NOTHING = 2, (np.zeros(1), np.zeros(1))
# Most secant steps to an eps, and its relative accuracy.
_STEPS, _NEAR = 40, 1e-9


class Losses:
    """S, the sum of `count` independent losses from each of several laws.

    Parameters
    ----------
    parts : sequence of (losses, masses, infinite mass, count)
        Each law and how often it occurs; masses > 0.
    """

    def __init__(self, parts: Sequence[tuple[Array, Array, float, int]]) -> None:
        self.parts = [(x, np.log(m), count) for x, m, _, count in parts if count > 0]
        totals = [(float(m.sum()), p, count) for _, m, p, count in parts if count > 0]
        finite = sum(count * math.log(f) for f, _, count in totals)
        never = sum(count * math.log1p(p / f) for f, p, count in totals)
        # P(some loss is infinite) = prod (F + p) - prod F.
        self.log_infinite = finite + math.log(math.expm1(never)) if never > 0.0 else -math.inf
        self.top = sum(count * float(x[-1]) for x, _, count in self.parts)
        mean = self._moments(0.0)
        self.mean, self.deviation = mean[1], math.sqrt(max(mean[2], 1e-300))

    def log_moment(self, tilt: float) -> float:
        """log E e^(tilt S)."""
        return self._moments(tilt)[0]

    def _moments(self, tilt: float) -> tuple[float, float, float]:
        """log E e^(tilt S), and mean and variance of S under that tilt."""
        log = mean = variance = 0.0
        for x, log_m, count in self.parts:
            exponent = log_m + tilt * x
            peak = float(exponent.max())
            w = np.exp(exponent - peak)
            total = float(w.sum())
            centre = float(w @ x) / total
            log += count * (peak + math.log(total))
            mean += count * centre
            variance += count * float(w @ (x - centre) ** 2) / total
        return log, mean, variance

    def saddle(self, epsilon: float) -> float:
        """The r > 0 at which log E e^(r S) - r eps - log r - log(1 + r) is least."""
        low, high = _TILTS
        theta = min(max(math.log(1.0 / self.deviation), low), high)
        for _ in range(_NEWTON):
            r = math.exp(theta)
            _, mean, variance = self._moments(r)
            slope = r * (mean - epsilon) - 1.0 - r / (1.0 + r)
            if slope > 0.0:
                high = theta
            else:
                low = theta
            bend = r * (mean - epsilon) + r * r * variance - r / (1.0 + r) ** 2
            step = -slope / bend if bend > 0.0 else math.copysign(1.0, -slope)
            moved = theta + min(max(step, -2.0), 2.0)
            if not low < moved < high:
                moved = 0.5 * (low + high)
            if abs(moved - theta) < 1e-4:
                break
            theta = moved
        return math.exp(theta)

    def log_delta(self, epsilon: float) -> float:
        """An estimate of log E (1 - e^(eps - S))_+, infinite losses included."""
        found = self._finite(epsilon) if epsilon < self.top else -math.inf
        return min(float(np.logaddexp(found, self.log_infinite)), 0.0)

    def _finite(self, epsilon: float) -> float:
        draws = [part[:2] for part in self.parts for _ in range(min(part[2], _DIRECT + 1))]
        if len(draws) <= _DIRECT:
            value = _of_two(*draws, epsilon=epsilon)
            return math.log(value) if value > 0.0 else -math.inf
        r = self.saddle(epsilon)
        log, _, variance = self._moments(r)
        kappa = r * (r + 1.0)
        reach = _ALIASES / r + 6.0 * math.sqrt(variance)
        step = 2.0 * math.pi / reach
        h = max(1e-3 / math.sqrt(kappa), math.sqrt(2.0 * _NEGLIGIBLE) / (step * _MOST_NODES))
        total, laws = 0.0, [_Row(part, r, step) for part in self.parts]
        for start in range(0, _MOST_NODES, _CHUNK):
            t = step * np.arange(start, start + _CHUNK)
            k = (r + 1j * t) * (r + 1.0 + 1j * t)
            exponent = sum(law.next() for law in laws) - 1j * t * epsilon
            exponent += 0.5 * h * h * (k - kappa)
            values = np.exp(exponent) / k
            if start == 0:
                values[0] *= 0.5
            total += float(values.real.sum())
            if float(exponent.real.max()) < -_NEGLIGIBLE:
                break
        total *= step / math.pi
        if not total > 0.0:
            return log - r * epsilon - math.log(kappa)
        return math.log(total) + log - r * epsilon

    def epsilon(self, log_target: float, start: float = math.nan) -> float:
        """An estimate of the eps at which log delta meets the target; 0 or inf if there is none."""
        if self.log_infinite >= log_target:
            return math.inf
        if self.log_delta(0.0) <= log_target:
            return 0.0
        # The start: a quantile of a normal law of the losses.
        x = start
        if not 0.0 < x < self.top:
            x = self.mean + self.deviation * math.sqrt(2.0 * max(-log_target, 0.1))
        low, high = 0.0, self.top
        x = min(max(x, 1e-3 * high), 0.99 * high)
        before = (math.nan, math.nan)
        for _ in range(_STEPS):
            gap = self.log_delta(x) - log_target
            low, high = (x, high) if gap > 0.0 else (low, x)
            slope = (before[1] - gap) / (x - before[0]) if x != before[0] else math.nan
            if not 0.0 < slope < math.inf:
                # By the envelope theorem, the slope is close to the saddle point.
                slope = self.saddle(x)
            before = (x, gap)
            moved = x + gap / slope if math.isfinite(gap) else 0.5 * (low + high)
            if not low < moved < high:
                moved = 0.5 * (low + high)
            done = abs(moved - x) <= _NEAR * high or high - low <= _NEAR * high
            x = moved
            if done:
                break
        return x

    def contour(self, epsilon: float, *, log_answer: float, rel: float) -> Contour:
        """A contour that encloses the answer to about a relative width `rel`."""
        r = self.saddle(epsilon)
        log, _, _ = self._moments(r)
        kappa = r * (r + 1.0)
        # e^log_answer in units of E e^(r (S - eps)).
        size = log_answer - log + r * epsilon
        want = size + math.log(rel)
        # Smoothing widens the payoff by about h^2 kappa times the integral on the contour.
        h = min(math.sqrt(0.3 * rel / kappa), 1.0)
        period, tilts = 0.0, []
        for side in (_BELOW, _ABOVE):
            reach, tilt = min(self._period(r, f * r, epsilon, log, want) for f in side)
            period = max(period, reach)
            tilts.append(tilt)
        return Contour(
            alpha=r,
            smoothing=h,
            period=period,
            tolerance=math.exp(min(max(want, -600.0), 0.0) - 2.0),
            below=tilts[0],
            above=tilts[1],
        )

    def _period(
        self, r: float, tilt: float, epsilon: float, log: float, want: float
    ) -> tuple[float, float]:
        """A period and its tilt: aliases, bounded at the tilt, are a tenth of the allowed error."""
        peak = tilt * math.log(tilt) - (1.0 + tilt) * math.log1p(tilt)
        excess = self.log_moment(tilt) - tilt * epsilon + peak - (log - r * epsilon) - want + 2.5
        return max(excess, 1.0) / abs(tilt - r), tilt


def _of_two(
    one: tuple[Array, Array], two: tuple[Array, Array] = _NOTHING, *, epsilon: float
) -> float:
    """E (1 - e^(eps - X - Y))_+ for one or two draws, by sums over the tails of X."""
    (x, log_x), (y, log_y) = one, two
    mass, least = np.exp(log_x), x[0]
    # Sums over all x from each place on.
    heavy, light = (
        np.append(np.cumsum(m[::-1])[::-1], 0.0) for m in (mass, mass * np.exp(least - x))
    )
    rest = epsilon - y
    first = np.searchsorted(x, rest, side="right")
    with np.errstate(over="ignore"):
        lost = np.where(first < x.size, np.exp(np.minimum(rest - least, 700.0)) * light[first], 0.0)
    return float(np.exp(log_y) @ np.maximum(heavy[first] - lost, 0.0))


class _Row:
    """log of (E e^((r + it) X) / E e^(r X))^count on a row of nodes t, one chunk after another."""

    def __init__(self, part: tuple[Array, Array, int], r: float, step: float) -> None:
        x, log_m, self.count = part
        exponent = log_m + r * x
        w = np.exp(exponent - exponent.max())
        self._law = (w / w.sum()).astype(np.complex128)
        self._centre = float(w @ x / w.sum())
        turn = 1j * step * (x - self._centre)
        self._chunk = np.exp(np.outer(np.arange(_CHUNK), turn))
        self._on = np.exp(_CHUNK * turn)
        self._step, self._t = step, step * np.arange(_CHUNK)

    def next(self) -> npt.NDArray[np.complex128]:
        phi = self._chunk @ self._law
        found = self.count * (np.log(phi + 1e-300) + 1j * self._t * self._centre)
        self._law *= self._on
        self._t = self._t + _CHUNK * self._step
        return found


__all__ = ["Losses"]
