"""Bounds on |phi(t)| far from 0 for laws with a continuous part: those nodes need no evaluation.

phi is the characteristic function of G under the tilted law. Cut the range of G into windows of
length pi/t_b; with mu_k the tilted mass and V_k the tilted variance inside window k,

    |phi(t)| <= 1 - sum_k mu_k (1 - sqrt(1 - 4 t_a^2 V_k / pi^2))        for t_a <= t <= t_b,

whatever lies outside the windows. Where G has a density of at least h_k on intervals of length l_k,
at most 2 pi/t_b,

    |phi(t)| <= 1 - sum_k h_k l_k (1 - sin(t_a l_k/2)/(t_a l_k/2)),

since over a whole period a constant density gives 0 (docs/theory.md, section 6.9). What a window
holds is a set of cells, disjoint events; that it is no longer than it may be is measured, whatever
rounding did to the place of its ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.contour.stop import RATIO
from shuffledp.divergence.gain import CellGains
from shuffledp.pair import UNIT_ROUNDOFF, Array, Indices

U = UNIT_ROUNDOFF
_LARGEST_TILT_STEP = 0.02
_CELLS_PER_WINDOW = 12.0
# Share of a cell's width, at either end, by which rounding may have moved it.
_ROUNDED = 1e-4
_LARGEST_EXPONENT = 700.0
# Windows that are so many apart are told apart by none of their digits.
_FARTHEST = 1e300
# A merged mean is rounded by at most 4 u of what it is made of at each of 16 levels.
_LEVEL_ROUNDING = 64 * U


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
        shift += _LEVEL_ROUNDING * np.abs(mean)
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
        at = _windows(level, window)
        if at is None:
            return 0.0
        low, high = level.low[at.kept], level.high[at.kept]
        between = np.append(0.0, np.maximum(low[1:] - high[:-1], 0.0))
        between[at.starts] = 0.0
        gaps = np.add.reduceat(level.gap[at.kept] + between, at.starts)
        least = np.minimum.reduceat(level.density[at.kept], at.starts)
        wave = np.sinc(0.5 * t * at.length / math.pi)
        lost = least * (at.length * (1.0 - wave) * (1.0 - 1e-9) - 2.0 * gaps) * at.fits
        return float(np.maximum(lost, 0.0).sum()) * (1.0 - 1e-6)

    def _by_variance(self, t: float) -> float:
        """Sum over windows of what a law of this variance loses."""
        window = math.pi / (RATIO * t * (1.0 + 1e-12))
        level = self._level_for(window)
        at = _windows(level, window)
        if at is None:
            return 0.0
        p, spread = level.mass[at.kept], level.spread[at.kept]
        mass = np.add.reduceat(p, at.starts)
        safe = np.maximum(mass, 1e-300)
        # From the window's first cell: far from 0 the places themselves would lose their digits.
        place = level.mean[at.kept] - np.repeat(level.mean[at.kept][at.starts], at.counts)
        centre = np.add.reduceat(p * place, at.starts) / safe
        offset = place - np.repeat(centre, at.counts)
        square = np.add.reduceat(spread + p * offset**2, at.starts) / safe
        shift = np.sqrt(np.add.reduceat(level.shift[at.kept], at.starts) / safe)
        # A rounded centre only makes the square larger.
        blur = (4.0 * at.counts + 32.0) * U * at.length
        deviation = np.maximum(np.sqrt(square * self._loss) - shift * 1.02 - blur, 0.0)
        x = np.minimum((2.0 * t / math.pi * deviation) ** 2, 1.0) * at.fits
        # 1 - sqrt(1 - x), whose digits count however small x is: they are multiplied by n.
        return float((mass * (x / (1.0 + np.sqrt(1.0 - x)))).sum()) * (1.0 - 1e-6)

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


class _Windows(NamedTuple):
    """Cells in groups, one a window: which cells, where groups begin, their sizes and lengths.

    ``fits`` is 0 for a group that is longer than the window all the same.
    """

    kept: npt.NDArray[np.bool_]
    starts: Indices
    counts: Indices
    length: Array
    fits: npt.NDArray[np.bool_]


def _windows(level: _Level, window: float) -> _Windows | None:
    """Cells that lie in one window each, counted from the lowest cell's low end; None without any.

    That a group is no longer than the window is measured in the end: where places are so far apart
    that their quotients are rounded to whole windows, groups may be too long, and are left out.
    """
    if level.mass.size == 0:
        return None
    place = level.low - float(level.low.min())
    k = np.floor(np.minimum(place / window, _FARTHEST))
    kept = place + (level.high - level.low) <= (k + 1.0) * window
    k = k[kept]
    if k.size == 0:
        return None
    starts = np.append(0, np.flatnonzero(np.diff(k)) + 1)
    counts = np.diff(np.append(starts, k.size))
    high = np.maximum.reduceat(level.high[kept], starts)
    length = (high - np.minimum.reduceat(level.low[kept], starts)) * (1.0 + 4 * U)
    return _Windows(kept, starts, counts, length, length <= window * (1.0 - 1e-12))


def _log_left(drop: float) -> float:
    """Log of what is left of 1, or more."""
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
        log_phi = self._small.log_modulus(t)
        log_small = self._log_small + log_phi
        top, rest = max(log_small, self._log_part), min(log_small, self._log_part)
        if top > _LARGEST_EXPONENT:
            return math.inf
        # log(M_s + V) from its parts: that of a rounded sum would be off by u, n times.
        less = max(rest - top, -_LARGEST_EXPONENT)
        more = math.log1p(math.exp(less))
        log_size = top + more
        total = math.log(n) + self._log_part + (n - 1) * log_size - self._log_scale
        size = abs(self._log_small) + abs(log_phi) + abs(top) + (16.0 - less) * more
        once = 1.0 + math.log(n) + abs(self._log_part) + abs(self._log_scale)
        return total + 16 * U * (once + n * size)


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
