"""Bounds on |phi(t)| far from 0 for laws with a continuous part: those nodes need no evaluation.

phi is the characteristic function of G under the tilted law. Cut the range of G into windows of
length pi/t_b; with mu_k the tilted mass and V_k the tilted variance inside window k,

    |phi(t)| <= 1 - sum_k mu_k (1 - sqrt(1 - 4 t_a^2 V_k / pi^2))        for t_a <= t <= t_b,

whatever lies outside the windows. Where G has a density of at least h_k on intervals of length l_k,
at most 2 pi/t_b,

    |phi(t)| <= 1 - sum_k h_k l_k (1 - sin(t_a l_k/2)/(t_a l_k/2)),

since over a whole period a constant density gives 0 (docs/theory.md, section 6.9).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.divergence.gain import CellGains
from shuffledp.pair import Array

RATIO = 1.3
_LARGEST_TILT_STEP = 0.02
_CELLS_PER_WINDOW = 12.0
# Share of a cell's width, at either end, by which rounding may have moved it.
_ROUNDED = 1e-4
_LARGEST_EXPONENT = 700.0


class _Level(NamedTuple):
    """Cells sorted by G: interval, tilted mass (lower bound), mean, p-weighted squares.

    ``density`` is a lower bound of the tilted density on the interval but for a part of length
    ``gap``.
    """

    low: Array
    high: Array
    mass: Array
    mean: Array
    spread: Array
    shift: Array
    density: Array
    gap: Array
    width: float


class Decay:
    """|phi(t)| on intervals [t, RATIO t], from the masses of fine cells.

    Parameters
    ----------
    cells : CellGains
        The fine cells at one eps.
    rel : float
        Relative error of their masses.
    alpha : float
        The tilt.
    log_m : float
        Upper bound of log M(alpha) of the true law.
    """

    def __init__(self, cells: CellGains, *, rel: float, alpha: float, log_m: float) -> None:
        step = alpha * (cells.high - cells.low)
        keep = (step <= _LARGEST_TILT_STEP) & (alpha * cells.low > -60.0)
        order = np.argsort(cells.mean[keep], kind="stable")
        low, high = cells.low[keep][order], cells.high[keep][order]
        mean = cells.mean[keep][order]
        width = high - low
        mass = cells.w[keep][order] * np.exp(alpha * low - log_m) * (1.0 - rel - 1e-12)
        # The tilted mean of a cell is off its plain mean by at most alpha width^2/4.
        shift = np.minimum(width, 0.25 * alpha * width**2) + cells.err[keep][order]
        given = np.zeros(order.size) if cells.density is None else cells.density[keep][order]
        density, gap = mass * given, 4.0 * _ROUNDED * width
        zero = np.zeros_like(mean)
        self._levels = [_level(low, high, mass, mean, zero, mass * shift**2, density, gap)]
        # Masses are known up to this factor, from the tilt inside a cell and from rounding.
        self._loss = math.exp(-_LARGEST_TILT_STEP) * (1.0 - 2.0 * rel - 1e-9)
        self._known: dict[float, float] = {}

    def log_power(self, t: float, n: int, enough: float = -math.inf) -> float:
        """Upper bound of log |phi|^n on [t, RATIO t]; no smaller one is looked for below enough."""
        return n * self.log_modulus(t, enough / n)

    def log_modulus(self, t: float, enough: float = -math.inf) -> float:
        """Upper bound of log |phi| on [t, RATIO t]; no smaller one is looked for below enough."""
        if t not in self._known:
            self._known[t] = self._bound(t, enough)
        return self._known[t]

    def _bound(self, t: float, enough: float) -> float:
        found = _log_left(self._by_density(t))
        return found if found < enough else min(found, _log_left(self._by_variance(t)))

    def _by_density(self, t: float) -> float:
        """Sum over windows of what a constant density loses over about a period."""
        window = 2.0 * math.pi / (RATIO * t * (1.0 + 1e-12))
        level = self._level_for(window)
        if level.mass.size == 0:
            return 0.0
        k = np.floor(level.low / window)
        inside = level.high <= (k + 1.0) * window * (1.0 - 1e-12)
        k = k[inside]
        if k.size == 0:
            return 0.0
        fresh = np.diff(k, prepend=k[0] - 1.0) != 0.0
        starts = np.flatnonzero(fresh)
        low, high = level.low[inside], level.high[inside]
        between = np.maximum(low[1:] - high[:-1], 0.0) * ~fresh[1:]
        gaps = np.add.reduceat(level.gap[inside], starts)
        gaps += np.add.reduceat(np.concatenate([[0.0], between]), starts)
        length = np.maximum.reduceat(high, starts) - np.minimum.reduceat(low, starts)
        least = np.minimum.reduceat(level.density[inside], starts)
        wave = np.sinc(0.5 * t * length / math.pi)
        lost = least * (length * (1.0 - wave) * (1.0 - 1e-9) - 2.0 * gaps)
        return float(np.maximum(lost, 0.0).sum()) * (1.0 - 1e-6)

    def _by_variance(self, t: float) -> float:
        """Sum over windows of what a law of this variance loses."""
        window = math.pi / (RATIO * t * (1.0 + 1e-12))
        level = self._level_for(window)
        if level.mass.size == 0:
            return 0.0
        k = np.floor(level.low / window)
        inside = level.high <= (k + 1.0) * window * (1.0 - 1e-12)
        k = k[inside]
        if k.size == 0:
            return 0.0
        starts = np.flatnonzero(np.diff(k, prepend=k[0] - 1.0))
        p = level.mass[inside]
        mass = np.add.reduceat(p, starts)
        safe = np.maximum(mass, 1e-300)
        mean = np.add.reduceat(p * level.mean[inside], starts) / safe
        offset = level.mean[inside] - np.repeat(mean, np.diff(np.append(starts, k.size)))
        square = np.add.reduceat(level.spread[inside] + p * offset**2, starts) / safe
        shift = np.sqrt(np.add.reduceat(level.shift[inside], starts) / safe)
        deviation = np.maximum(np.sqrt(square * self._loss) - shift * 1.02, 0.0)
        x = np.minimum((2.0 * t / math.pi * deviation) ** 2, 1.0)
        return float((mass * (1.0 - np.sqrt(1.0 - x))).sum()) * (1.0 - 1e-6)

    def _level_for(self, window: float) -> _Level:
        """The coarsest level whose cells are small against the window."""
        while self._levels[-1].width * 2.0 * _CELLS_PER_WINDOW < window:
            level = self._levels[-1]
            if level.mass.size < _SMALLEST_LEVEL:
                break
            self._levels.append(_coarser(level))
        best = self._levels[0]
        for level in self._levels:
            if level.width * _CELLS_PER_WINDOW <= window:
                best = level
        return best


def _log_left(drop: float) -> float:
    """log of what is left of 1, or more."""
    return math.log1p(-min(drop, 1.0 - 1e-9)) if drop > 0.0 else 0.0


class SplitDecay:
    """Bounds on |M^n - M_s^n| in units of the scale, M = M_s + V, V the part that was split off.

    |M^n - M_s^n| <= n V(alpha) (|M_s| + V(alpha))^(n-1).

    Parameters
    ----------
    small : Decay
        Of the law without the part split off, at the same tilt.
    log_small, log_part : float
        Upper bounds of log M_s(alpha) and log V(alpha).
    log_scale : float
        The scale of the sums.
    """

    def __init__(
        self, small: Decay, *, log_small: float, log_part: float, log_scale: float
    ) -> None:
        self._small = small
        self._log_small, self._log_part, self._log_scale = log_small, log_part, log_scale

    def log_power(self, t: float, n: int, enough: float = -math.inf) -> float:
        """Upper bound of log |M^n - M_s^n| less the scale, on [t, RATIO t]."""
        del enough
        log_small = self._log_small + self._small.log_modulus(t)
        if max(log_small, self._log_part) > _LARGEST_EXPONENT:
            return math.inf
        size = math.exp(log_small) + math.exp(self._log_part)
        total = math.log(n) + self._log_part + (n - 1) * math.log(size) - self._log_scale
        return total + 1e-12 * (abs(self._log_scale) + abs(n * math.log(size)))


_SMALLEST_LEVEL = 64


def _level(
    low: Array,
    high: Array,
    mass: Array,
    mean: Array,
    spread: Array,
    shift: Array,
    density: Array,
    gap: Array,
) -> _Level:
    total = float(mass.sum())
    width = float((mass * (high - low)).sum()) / total if total > 0.0 else 0.0
    return _Level(low, high, mass, mean, spread, shift, density, gap, width)


def _coarser(level: _Level) -> _Level:
    """Neighbours merged in pairs; their variance is carried along."""
    size = level.mass.size & ~1
    left, right = slice(0, size, 2), slice(1, size, 2)
    mass = level.mass[left] + level.mass[right]
    safe = np.maximum(mass, 1e-300)
    mean = (level.mass[left] * level.mean[left] + level.mass[right] * level.mean[right]) / safe
    between = level.mass[left] * level.mass[right] / safe
    spread = level.spread[left] + level.spread[right]
    spread = spread + between * (level.mean[left] - level.mean[right]) ** 2
    return _level(
        np.minimum(level.low[left], level.low[right]),
        np.maximum(level.high[left], level.high[right]),
        mass,
        mean,
        spread,
        level.shift[left] + level.shift[right],
        np.minimum(level.density[left], level.density[right]),
        level.gap[left] + level.gap[right] + np.maximum(level.low[right] - level.high[left], 0.0),
    )
