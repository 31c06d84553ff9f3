"""Tilts, contours and estimates of E f(S - shift) in plain floats, not certified.

On the real axis, the integrand M(s) e^(-s shift)/kappa(s), kappa(s) = s (s + gap), is least at the
saddle point alpha; on the vertical line through it, the sum over nodes is well conditioned.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.errors import NotCertified
from shuffledp.kernel import Contour

__all__ = ["Estimate", "Part", "Sum"]

Array = npt.NDArray[np.floating[Any]]
Complex = npt.NDArray[np.complexfloating[Any, Any]]

# Largest exponent alpha * gain: e^600 is far below the largest float.
_LARGEST = 600.0
# Newton's method in log alpha: most steps, longest step, and tolerance (1e-3 changes the width of a
# bracket by less than 1 %). Derivatives are differences, relative to alpha.
_STEPS, _LONGEST, _NEAR, _DIFFERENCE = 60, 2.0, 1e-3, 1e-3
# Tilts, relative to alpha, that may bound aliases on either side; the cheapest is taken.
_BELOW = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.88, 0.94)
_ABOVE = (1.06, 1.12, 1.2, 1.35, 1.5, 1.8, 2.3, 3.0, 4.5)
# The smoothing h of an estimate, relative to 1/alpha. Half way between the payoffs above and below,
# its error is of fourth order: about 1e-7 of the value.
_ROUGH = 0.04
# Relative size of an estimate's aliases.
_ALIAS = 1e-9
# Number of nodes of an estimate that are summed at a time, and most nodes. The sum ends where so
# many blocks in a row are below this share of it: the transform of few draws falls and rises again.
_BLOCK, _MOST_NODES, _QUIET, _SMALL = 32, 1 << 15, 2, 1e-9


class Estimate(NamedTuple):
    """An estimate of E f(S - shift)."""

    log_value: float
    alpha: float
    width: float  # standard deviation of the tilted sum


@dataclass(frozen=True, eq=False)
class Part:
    """`count` draws from a law in floats; with `rare`, at least one of them among its last atoms.

    Attributes
    ----------
    masses, gains : arrays of the same size, sorted by gains if some are `rare`.
    count : number of draws.
    surplus : the sum of the masses less 1, more exact than the sum of the floats.
    rare : how many of the last atoms are rare; 0 for draws without a condition.
    """

    masses: Array
    gains: Array
    count: int
    surplus: float = 0.0
    rare: int = 0

    @cached_property
    def top(self) -> float:
        """The largest gain."""
        return float(self.gains.max())

    @cached_property
    def variance(self) -> float:
        """Second moment of all draws together, without a tilt."""
        with np.errstate(over="ignore"):
            return self.count * float(self.masses @ (self.gains * self.gains))

    def log_moment(self, s: Complex | Array) -> Complex | Array:
        """log E e^(sS) at an array of s, n log(1 + sum m (e^(sx) - 1) + surplus)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            none = np.zeros(self.masses.size)
            return self._log_of(_expm1(s, self.gains), self.masses, none)

    def log_moments(self, alpha: float, step: float) -> Iterator[Complex]:
        """log E e^(sS) at s = alpha + i t for t = 0, step, 2 step, ..., a block at a time.

        Let s' be the place in the first block. Then
        e^(sx) - 1 = (e^(s'x) - 1) e^(i(t - t')x) + e^(i(t - t')x) - 1, and the first factor is the
        same for all blocks.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            first = _expm1(alpha + 1j * step * np.arange(_BLOCK), self.gains)
        for block in itertools.count():
            turned = self.masses * _expm1(np.array([1j * step * block * _BLOCK]), self.gains)[0]
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                yield self._log_of(first, self.masses + turned, turned)

    def _log_of(self, rises: Any, masses: Array | Complex, more: Array | Complex) -> Any:
        """log of (1 + sum m rise + sum more + surplus)^count, or its like for rare atoms."""
        if not self.rare:
            rise = _products(rises, masses) + (more.sum() + self.surplus)
            return self.count * _log1p(rise)
        # For the rare atoms, the transform V uses e^(sx) itself; A is the transform of all others.
        others, own = slice(None, -self.rare), slice(-self.rare, None)
        mass = self.masses[own].sum()
        rare = _products(rises[..., own], masses[own]) + (more[own].sum() + mass)
        usual = _products(rises[..., others], masses[others])
        log_usual = _log1p(usual + (more[others].sum() + self.surplus - mass))
        ratio = self.count * _log1p(rare * np.exp(-log_usual))
        large = ratio.real > 30.0
        step = np.where(large, ratio, np.log(np.expm1(np.where(large, 0.5, ratio))))
        return self.count * log_usual + step


def _products(rises: Any, masses: Any) -> Any:
    """Sums over atoms, without the threads of matrix products, which cost more than they save."""
    return np.einsum("...a,a->...", rises, masses)


def _expm1(s: Any, gains: Array) -> Any:
    """e^(s gain) - 1 for every s and gain; for complex s, five times as fast as NumPy's own."""
    if not np.iscomplexobj(s):
        return np.expm1(np.multiply.outer(s, gains))
    half = np.multiply.outer(0.5 * s.imag, gains)
    sine, rise = np.sin(half), np.expm1(np.multiply.outer(s.real, gains))
    turned = 2.0 * (rise + 1.0) * sine
    return rise - turned * sine + 1j * (turned * np.cos(half))


def _log1p(m: Any) -> Any:
    """log(1 + m), to full accuracy for complex m too."""
    if not np.iscomplexobj(m):
        return np.log1p(m)
    size = 2.0 * m.real + m.real * m.real + m.imag * m.imag
    return 0.5 * np.log1p(size) + 1j * np.arctan2(m.imag, 1.0 + m.real)


@dataclass(frozen=True, eq=False)
class Sum:
    """S - shift for the sum S of independent parts; payoff y_+ (gap 0) or (1 - e^-y)_+ (gap 1)."""

    parts: Sequence[Part]
    gap: int = 0
    shift: float = 0.0

    def log_moment(self, tilt: float) -> float:
        """log E e^(tilt (S - shift)); infinite or nan where floats overflow."""
        at = np.array([tilt])
        return sum(float(part.log_moment(at)[0]) for part in self.parts) - tilt * self.shift

    def log_chernoff(self, tilts: Array) -> Array:
        """log of the bounds C(b) E e^(b (S - shift))."""
        logs = np.sum([part.log_moment(tilts).real for part in self.parts], axis=0)
        return logs - tilts * self.shift + _log_peak(tilts, self.gap)

    @cached_property
    def alpha(self) -> float:
        """The saddle point: the minimum of log M(alpha) - alpha shift - log kappa(alpha)."""
        return self._saddle[0]

    @cached_property
    def width(self) -> float:
        """Standard deviation of S under the tilt alpha."""
        return self._saddle[1]

    @cached_property
    def _saddle(self) -> tuple[float, float]:
        """Tilt and deviation, by Newton's method in log alpha.

        The minimised function is convex in alpha: a slope below 0, or an infinite value, shows on
        which side the minimum lies.
        """
        # Squares of the largest gains may overflow.
        spread = min(sum(part.variance for part in self.parts), 1e300)
        scale = -0.5 * math.log(spread + 1e-300)
        top = max(*(part.top for part in self.parts), 1e-300)
        high = min(math.log(_LARGEST / top), scale + 40.0)
        low = min(scale - 4.0, -math.log(top) - 4.0, high - 1.0)
        place, deviation = min(max(scale, low), high), 0.0
        for _ in range(_STEPS):
            slope, bend, deviation = self._slopes(place)
            if not math.isfinite(slope):
                high, step = place, -1.0
            else:
                low, high = (place, high) if slope < 0.0 else (low, place)
                step = -slope / bend if bend > 0.0 else math.copysign(2.0, -slope)
            moved = place + min(max(step, -_LONGEST), _LONGEST)
            # At an end of the range take half of what is left, so that an infinite value is not
            # missed.
            before, place = place, moved if low < moved < high else 0.5 * (low + high)
            if abs(place - before) < _NEAR:
                break
        return math.exp(place), deviation

    def _slopes(self, place: float) -> tuple[float, float, float]:
        """First and second derivative in log alpha of the minimised function, and S's deviation."""
        alpha = math.exp(place)
        at = alpha * np.array([1.0 - _DIFFERENCE, 1.0, 1.0 + _DIFFERENCE])
        logs = np.sum([part.log_moment(at).real for part in self.parts], axis=0)
        low, mid, high = map(float, logs)
        first = (high - low) / (2.0 * _DIFFERENCE) - alpha * self.shift
        second = (low + high - 2.0 * mid) / (_DIFFERENCE * _DIFFERENCE)
        share = alpha / (alpha + self.gap)
        slope = first - 1.0 - share
        bend = first + second - share * (1.0 - share)
        return slope, bend, math.sqrt(max(second, 0.0)) / alpha

    @cached_property
    def estimate(self) -> Estimate:
        """log E f(S - shift) by the sum over nodes, slightly smoothed."""
        alpha, scale = self.alpha, self.log_moment(self.alpha)
        h = _ROUGH / alpha
        deep = -math.log(_ALIAS)
        period = max(
            self.width * math.sqrt(2.0 * deep + 8.0), (deep + 2.0 - min(scale, 0.0)) / alpha
        )
        step, found, place, quiet = 2.0 * math.pi / period, 0.0, 0, 0
        for logs in zip(*(part.log_moments(alpha, step) for part in self.parts), strict=False):
            s = alpha + 1j * step * np.arange(place, place + _BLOCK)
            kappa = s * (s + self.gap)
            log = sum(logs) - s * self.shift - scale
            with np.errstate(over="ignore", invalid="ignore"):
                terms = np.exp(log + 0.5 * h * h * kappa) * (1.0 / kappa - 0.5 * h * h)
                terms[0] *= 1.0 if place else 0.5
                found += float(terms.real.sum())
            place += _BLOCK
            quiet = 0 if np.abs(terms).sum() > _SMALL * abs(found) else quiet + 1
            if quiet == _QUIET:
                break
            if place >= _MOST_NODES:
                return Estimate(-math.inf, alpha, self.width)
        value = found * step / math.pi - self._on_the_kink() * math.exp(min(-scale, 700.0)) * h
        log_value = scale + math.log(value) if value > 0.0 and math.isfinite(value) else -math.inf
        return Estimate(log_value, alpha, self.width)

    def _on_the_kink(self) -> float:
        """Contribution of the event S = shift to the estimate, over h: its mass/sqrt(8 pi)."""
        if self.gap or self.shift or any(part.rare for part in self.parts):
            return 0.0
        zero = [float(part.masses[part.gains == 0.0].sum()) ** part.count for part in self.parts]
        return math.prod(zero) / math.sqrt(8.0 * math.pi)

    def contour(self, log_error: float, times: float = 1.0) -> Contour:
        """A contour that gives E f(S - shift) to an absolute error of about e^log_error.

        ``times``: factor of the smoothing over the one for a normal sum.
        """
        alpha, scale = self.alpha, self.log_moment(self.alpha)
        # Smoothing adds about value (h alpha)^2/2 above, and subtracts as much below.
        room = min(log_error - self.log_size, math.log(0.5))
        h = math.exp(0.5 * room) / (math.sqrt(alpha) * math.sqrt(alpha + self.gap))
        h = times * (min(h, 1.0) if self.gap else h)
        sides = [self._side(alpha, ratios, log_error - 3.0) for ratios in (_BELOW, _ABOVE)]
        period = max(needed for needed, _ in sides)
        below, above = (tilt for _, tilt in sides)
        tolerance = math.exp(min(max(log_error - 2.5 - scale, -700.0), 700.0))
        if not (math.isfinite(h * period * tolerance) and h > 0.0):
            raise NotCertified("no contour: floats do not hold the transform of this law")
        return Contour(alpha, h, period, tolerance, below, above)

    @property
    def log_size(self) -> float:
        """An estimate of log E f(S - shift) from the saddle point alone: a normal integrand."""
        alpha = self.alpha
        spread = math.hypot(self.width, math.sqrt(2.0) / alpha)
        height = self.log_moment(alpha) - math.log(alpha) - math.log(alpha + self.gap)
        return height + math.log(0.4 / spread)

    def _side(
        self, alpha: float, ratios: Sequence[float], log_enough: float
    ) -> tuple[float, float]:
        """The least period at which aliases on one side are small, and the tilt of that bound."""
        tilts = alpha * np.array(ratios)
        logs = self.log_chernoff(tilts) - log_enough
        usable = np.flatnonzero(np.isfinite(logs))
        if not usable.size:
            nearest = float(tilts[-1] if ratios[0] < 1.0 else tilts[0])
            return 100.0 / abs(nearest - alpha), nearest
        periods = np.maximum(logs[usable], 1.0) / np.abs(tilts[usable] - alpha)
        least = int(periods.argmin())
        return float(periods[least]), float(tilts[usable[least]])


def _log_peak(tilts: Array, gap: int) -> Array:
    """log sup f(y) e^(-b y)."""
    if gap == 0:
        return -1.0 - np.log(tilts)
    return tilts * np.log(tilts) - (1.0 + tilts) * np.log1p(tilts)
