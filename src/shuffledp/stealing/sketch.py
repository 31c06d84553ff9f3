"""Gains of all likely types side by side, in floats: what estimates are made of. Nothing certifies.

The saddle point of n log(c + d) - 2 log alpha, of every type at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.floats import Array
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.positive_sum import LARGEST_EXPONENT

# log alpha is met to that, in so many steps at the most: halving alone takes 20.
_NEAR, _NEWTON = 1e-4, 40
# Room below the largest exponent, in log alpha.
_ROOM = 0.01
# Least alpha, in logs, against that of the standard deviation of the sum.
_LEAST = 5.0


class Sketch(NamedTuple):
    """Measures of T types beside one reservoir.

    Attributes
    ----------
    mass, gain : ndarray, shape (T, K)
        Atoms, those of the reservoir first; of mass 0 and gain 0 where there is none.
    common : int
        How many are the reservoir's.
    lost : float
        Divergence in outputs that are left out.
    positive : float
        What is paid where the reservoir is empty.
    """

    mass: Array
    gain: Array
    common: int
    lost: float
    positive: float

    def paid(self, n: int) -> float:
        """Empty reservoir and outputs seen for sure."""
        mass = min(float(self.mass[0, : self.common].sum()), 1.0 - 1e-16)
        return self.positive * math.exp((n - 1) * math.log1p(-mass)) + self.lost


class Saddle(NamedTuple):
    """alpha, about log J there, and the standard deviation of the sum within its parts."""

    alpha: float
    log_value: float
    within: float


def sketch_of(gains: Gains) -> Sketch:
    """The measures as arrays of the same length."""
    common = gains.reservoir.mass.size
    size = common + max((law.mass.size for law in gains.types), default=0)
    mass, gain = np.zeros((2, len(gains.types), size))
    mass[:, :common], gain[:, :common] = gains.reservoir.mass, gains.reservoir.gain
    for i, law in enumerate(gains.types):
        mass[i, common : common + law.mass.size] = law.mass
        gain[i, common : common + law.mass.size] = law.gain
    lost = gains.reservoir.lost + max(law.lost for law in gains.types)
    return Sketch(mass, gain, common, lost, gains.positive)


def saddles(sketches: Sequence[Sketch], n: int) -> list[Saddle]:
    """Of each sketch that of the type whose value is the largest; -inf where no gain is above 0.

    Parameters
    ----------
    sketches : sequence of Sketch
        Those of the same shapes are looked at together.
    n : int
        Users, the victim included.
    """
    if len({sketch.mass.shape for sketch in sketches}) > 1:
        return [saddles([sketch], n)[0] for sketch in sketches]
    # What leaves the floats is no saddle: its value is no number.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _saddles(sketches, n)


def _saddles(sketches: Sequence[Sketch], n: int) -> list[Saddle]:
    mass = np.concatenate([sketch.mass for sketch in sketches])
    gain = np.concatenate([sketch.gain for sketch in sketches])
    top = gain.max(axis=1, initial=0.0)
    some = top > 0.0
    log_alpha = np.zeros(top.size)
    if some.any():
        log_alpha[some] = _roots(mass[some], gain[some], top[some], n)
    alpha = np.exp(log_alpha)
    growth = np.expm1(np.where(some, alpha, 0.0)[:, None] * gain)
    rise = (mass * growth).sum(axis=1)
    weight = mass * (growth + 1.0)
    within, common = np.zeros(top.size), sketches[0].common
    for part in (slice(None, common), slice(common, None)):
        w, g = weight[:, part], gain[:, part]
        total = w.sum(axis=1)
        total[total == 0.0] = 1.0
        mean = (w * g).sum(axis=1) / total
        within += (w * (g - mean[:, None]) ** 2).sum(axis=1) / (1.0 + rise)
    value = n * np.log1p(rise) - math.log(n) - 2.0 * log_alpha
    value -= 0.5 * np.log(2.0 * math.pi * (n * within + 2.0 / alpha**2))
    value[~some] = -math.inf
    value = value.reshape(len(sketches), -1)
    best = np.argmax(value, axis=1) + value.shape[1] * np.arange(len(sketches))
    found = zip(alpha[best], value.reshape(-1)[best], np.sqrt(n * within[best]), strict=True)
    return [Saddle(float(a), float(v), float(w)) for a, v, w in found]


def _roots(mass: Array, gain: Array, top: Array, n: int) -> Array:
    """log alpha at which n alpha K'(alpha) = 2, K = log(c + d); an end if that is beyond it.

    Newton's method in log alpha, from where two moments put it; halved where it leaves the bracket.
    """
    product = mass * gain
    mean, square = product.sum(axis=1), np.maximum((product * gain).sum(axis=1), 1e-300)
    most = np.log(LARGEST_EXPONENT / top) - _ROOM
    least = np.minimum(-0.5 * np.log(n * square) - _LEAST, most - 1.0)
    low, high = least.copy(), most.copy()
    start = (np.sqrt(mean * mean + 8.0 * square / n) - mean) / (2.0 * square)
    at = np.clip(np.log(np.maximum(start, 1e-300)), low, high)
    for _ in range(_NEWTON):
        alpha = np.exp(at)
        growth = np.expm1(alpha[:, None] * gain)
        tilted = product * (growth + 1.0)
        total = 1.0 + (mass * growth).sum(axis=1)
        first, second = tilted.sum(axis=1) / total, (tilted * gain).sum(axis=1) / total
        value = n * alpha * first - 2.0
        low, high = np.where(value > 0.0, low, at), np.where(value > 0.0, at, high)
        rate = n * alpha * (first + alpha * (second - first * first))
        middle = 0.5 * (low + high)
        moved = np.where(rate > 0.0, at - value / np.where(rate > 0.0, rate, 1.0), middle)
        moved = np.where(np.isnan(moved), middle, moved)
        moved = np.clip(moved, least, most)
        moved = np.where((low <= moved) & (moved <= high), moved, middle)
        if float(np.abs(moved - at).max()) <= _NEAR:
            return moved
        at = moved
    return at
