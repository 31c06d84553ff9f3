"""The FFT of *Analysis of Shuffling Beyond Pure Local DP* (2026), Theorem 4.2, in plain floats."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import shuffledp as sd
from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.bounds.pairs import LawPair
from shuffledp.published.limits import normal_log_delta

ATTEMPTS = 6  # refinements of a grid
LARGEST_GRID = 1 << 24  # points of the longest FFT: some seconds and half a gigabyte
LEAST_LOG = -600.0  # of the delta that errors are held against


class Ratios(NamedTuple):
    """Atoms of a law: blanket masses w, ratios a = P/w and b = Q/w."""

    w: np.ndarray
    a: np.ndarray
    b: np.ndarray
    n: int


def ratios(pair: LawPair) -> Ratios:
    """A pair of laws with its blanket, in plain floats."""
    with ctx.workprec(precision_for(pair.n)):
        held = [[float(c.blanket), *map(float, c.probability[:2])] for c in pair.classes()]
    w, p, q = np.array([row for row in held if row[0] > 0.0]).T
    return Ratios(w, p / w, q / w, pair.n)


class Bracket(NamedTuple):
    """Both ends of delta but for rounding of floats, and the length of the FFT."""

    low: float
    high: float
    points: int


def points_for(window: float, spread: float) -> int:
    """The power of two that holds a window of this many steps."""
    points = 1 << max(4, math.ceil(math.log2(window + 4.0)))
    if points > LARGEST_GRID or spread >= points:
        raise sd.NotCertified(f"an FFT of {points:,} points, more than {LARGEST_GRID:,}")
    return points


def sum_law(w: np.ndarray, place: np.ndarray, count: int, points: int) -> np.ndarray:
    """Law of the sum of ``count`` rounded gains, modulo the number of points."""
    mass = np.bincount(place.astype(np.int64) % points, weights=w, minlength=points)
    mass[0] += max(0.0, 1.0 - float(w.sum()))
    phi = np.fft.rfft(mass)
    # By logarithms: NumPy's own power of complex numbers is many times slower.
    return np.fft.irfft(np.exp(count * np.log(np.where(np.abs(phi) > 1e-300, phi, 1e-300))), points)


def fft_bracket(laws: LawPair, *, epsilon: float, width: float) -> Bracket:
    """Both ends of delta by the theorem's algorithm.

    The divergence in its probability form, m = n - 1 and a = e^eps,

        H = P_{y ~ R_x0}(G(y) + X_1 + .. + X_m > 0) - a P_{y ~ R_x1}(the same),

    with X_i the others' gains, each rounded to the nearest point of a grid. The sum of the rounding
    errors is their mean plus at most c but for a probability eta_d, and the sum stays in a window
    of ``points`` steps but for eta_a, both by Bernstein. With A_z(t) = P_{y ~ R_xz}(G(y) + rounded
    sum > t), H lies between A_0(c) - a A_1(-c) and A_0(-c) - a A_1(c), up to (1+a)(eta_d + eta_a).
    Of cells their means are taken. NotCertified where 2^24 points are not enough.
    """
    pair = ratios(laws)
    if pair.n < 2:
        raise sd.NotCertified("n = 1: this algorithm is for other users' messages")
    gain = pair.a - math.exp(epsilon) * pair.b
    mean = float(pair.w @ gain)
    near = normal_log_delta(mean, float(pair.w @ gain**2) - mean * mean, pair.n)
    target = math.exp(max(near, LEAST_LOG))
    best, share, last = Bracket(0.0, 1.0, 0), 0.4 * width, math.inf
    for _ in range(ATTEMPTS):
        try:
            found = _on_grid(pair, math.exp(epsilon), share, target)
        except sd.NotCertified:
            if best.points:
                break
            raise
        best = Bracket(max(best.low, found.low), min(best.high, found.high), found.points)
        # Where a finer grid does not help the sum has an atom at 0.
        if best.high <= best.low * (1.0 + width) or found.high - found.low > 0.7 * last:
            break
        last = found.high - found.low
        reached = last / max(found.low, 0.2 * found.high)
        share /= min(max(1.3 * reached / width, 1.5), 8.0)
        target = min(target, found.high)
    return best


def _on_grid(pair: Ratios, a: float, share: float, target: float) -> Bracket:
    """One grid: c moves delta by about ``share`` of itself."""
    w, gain, m = pair.w, pair.a - a * pair.b, pair.n - 1
    mean, second, gamma = float((w * gain).sum()), float((w * gain**2).sum()), float(w.sum())
    eta = 0.1 * share * target / (1.0 + a)
    log = math.log(4.0 / eta)
    c = share * second / ((1.0 + a) * max(m * mean**2 / second, 1.0))
    # Bernstein: c^2 = 2 log(4/eta) (m gamma e^2 + 2 e c/3) for the error e of one rounding.
    linear, quadratic = 4.0 * log * c / 3.0, 2.0 * log * m * gamma
    step = (math.sqrt(linear**2 + 4.0 * quadratic * c**2) - linear) / quadratic
    place = np.rint(gain / step)
    rounded = float((w * place).sum()) * step
    deviation = float(np.abs(place).max(initial=0.0)) * step + abs(rounded)
    reach = log * deviation / 3.0
    reach += math.sqrt(reach**2 + 2.0 * log * m * float((w * place**2).sum()) * step**2)
    points = points_for(2.0 * reach / step, deviation / step)
    start = round(m * rounded / step) - points // 2
    law = np.maximum(sum_law(w, place, m, points)[(start + np.arange(points)) % points], 0.0)
    tail = np.append(np.cumsum(law[::-1])[::-1], 0.0)
    shift = m * (mean - rounded)

    def above(t: float, mass: np.ndarray) -> float:
        index = np.floor((t - gain - shift) / step).astype(np.int64) + 1 - start
        return float((mass * tail[np.clip(index, 0, tail.size - 1)]).sum())

    p, q = w * pair.a, w * pair.b
    low, high = above(c, p) - a * above(-c, q), above(-c, p) - a * above(c, q)
    return Bracket(max(low - (1.0 + a) * eta, 0.0), min(high + (1.0 + a) * eta, 1.0), points)
