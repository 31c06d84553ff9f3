"""What papers compute with, where that is compared: a grid, an FFT, sums over all clones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import shuffledp as sd
from shuffledp import _special as special
from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.bounds.pairs import LawPair
from shuffledp.published.limits import normal_log_delta

HALVINGS = 20  # of a bracket of eps, as the papers' programs do them
UNDERFLOW = -745.0  # natural logarithm of the smallest float
BLOCK = 1 << 20  # terms of a binomial sum that are in memory at once
ATTEMPTS = 6  # refinements of a grid
LARGEST_GRID = 1 << 24  # points of the longest FFT: some seconds and half a gigabyte
LEAST_LOG = -600.0  # of the delta that errors are held against
LOG_CUT = math.log(1e16)  # of the mass that a grid's window may cut off


class Ratios(NamedTuple):
    """Atoms of a law: reference masses w, ratios a = P/ref and b = Q/ref, and what is seen."""

    w: np.ndarray
    a: np.ndarray
    b: np.ndarray
    n: int
    outside: np.ndarray
    tail: tuple[float, float] = (0.0, 0.0)


def ratios(pair: LawPair | Ratios) -> Ratios:
    """A pair of laws in plain floats."""
    if isinstance(pair, Ratios):
        return pair
    with ctx.workprec(precision_for(pair.n)):
        held = [
            (c.blanket if pair.against == "blanket" else c.probability[2], *c.probability[:2])
            for c in pair.classes()
        ]
    rows = [[float(x) for x in row] for row in held]
    w, p, q = np.array(rows).T
    some = w > 0.0
    outside = np.column_stack([p[~some], q[~some]])
    return Ratios(w[some], p[some] / w[some], q[some] / w[some], pair.n, outside)


class Bracket(NamedTuple):
    """Both ends of delta but for rounding of floats, and the length of the FFT."""

    low: float
    high: float
    points: int


def grid_delta(
    pair: LawPair | Ratios, *, epsilon: float, step: float, up: bool
) -> tuple[float, int]:
    """delta with every gain rounded up, or down, to a grid, and the length of the FFT.

    Su, Cheng, Wang 2025, Algorithm 7: the law of G = a - e^eps b is convolved n times by one FFT
    for (1/n) E[G_1 + .. + G_n]_+. The window is Bernstein's. (The exponent printed in the paper for
    that, 2a^2/b^2 - l, does not follow from Hoeffding's inequality, which gives 2(a - l)^2/b^2.)
    """
    pair = ratios(pair)
    gain = (pair.a - math.exp(epsilon) * pair.b) / step
    place = np.ceil(gain) if up else np.floor(gain)
    mean = float((pair.w * place).sum())
    variance = max(float((pair.w * place**2).sum()) - mean**2, 0.0)
    spread = max(float(place.max(initial=0.0)), 0.0) - min(float(place.min(initial=0.0)), 0.0)
    linear = LOG_CUT * spread / 3.0
    half = linear + math.sqrt(linear**2 + 2.0 * LOG_CUT * pair.n * variance)
    points = points_for(2.0 * half, spread)
    start = round(pair.n * mean) - points // 2
    values = start + np.arange(points)
    total = sum_law(pair.w, place, pair.n, points)[values % points]
    main = float((np.maximum(values, 0.0) * total).sum()) * step / pair.n
    lost = pair.tail[0] if up else -math.exp(epsilon) * pair.tail[1]
    return min(max(main + _outside(pair, epsilon) + lost, 0.0), 1.0), points


def grid_step(pair: LawPair | Ratios, *, epsilon: float, width: float) -> float:
    """About the step at which the two roundings are a relative ``width`` of delta apart.

    Together they shift the mean of the sum by n gamma h, and E[S]_+ falls by about t/(s sqrt n) of
    itself for each unit of that.
    """
    pair = ratios(pair)
    gain = pair.a - math.exp(epsilon) * pair.b
    second = float((pair.w * gain**2).sum())
    t = max(math.expm1(epsilon) * math.sqrt(pair.n / second), 1.0)
    return 0.8 * width * math.sqrt(second / pair.n) / (float(pair.w.sum()) * t)


def points_for(window: float, spread: float) -> int:
    """The power of two that holds a window of so many steps."""
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


def _outside(pair: Ratios, epsilon: float) -> float:
    """Outputs that the reference law cannot send count in full."""
    return float(np.maximum(pair.outside[:, 0] - math.exp(epsilon) * pair.outside[:, 1], 0.0).sum())


def grid_bracket(pair: LawPair | Ratios, *, epsilon: float, width: float) -> Bracket:
    """Su et al., Algorithm 7, at a step fine enough for a relative width of delta."""
    pair = ratios(pair)
    step, found = grid_step(pair, epsilon=epsilon, width=width), Bracket(0.0, 1.0, 0)
    for _ in range(ATTEMPTS):
        high, points = grid_delta(pair, epsilon=epsilon, step=step, up=True)
        low, _ = grid_delta(pair, epsilon=epsilon, step=step, up=False)
        found = Bracket(low, high, points)
        if high <= low * (1.0 + width):
            break
        step /= min(1.2 * (high / low - 1.0) / width, 16.0) if low > 0.0 else 16.0
    return found


def fft_bracket(pair: LawPair | Ratios, *, epsilon: float, width: float) -> Bracket:
    """*Analysis of Shuffling Beyond Pure Local DP* (2026), Theorem 4.2, in plain floats.

    The divergence in its probability form, m = n - 1 and a = e^eps,

        H = P_{y ~ R_x0}(G(y) + X_1 + .. + X_m > 0) - a P_{y ~ R_x1}(the same),

    with X_i the others' gains, each rounded to the nearest point of a grid. The sum of the rounding
    errors is their mean plus at most c but for a probability eta_d, and the sum stays in a window
    of ``points`` steps but for eta_a, both by Bernstein. With A_z(t) = P_{y ~ R_xz}(G(y) + rounded
    sum > t), H lies between A_0(c) - a A_1(-c) and A_0(-c) - a A_1(c), up to (1+a)(eta_d + eta_a).
    Of cells their means are taken. NotCertified where 2^24 points are not enough.
    """
    pair = ratios(pair)
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


def halved_epsilon(delta_at: Callable[[float], float], delta: float, *, cap: float) -> float:
    """The upper end of what 20 halvings leave of [0, cap], where delta(eps) falls.

    eps comes out cap/2^20 wide, whatever eps itself is: an absolute, not a relative accuracy.
    """
    low, high = 0.0, cap
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def clone_delta(share: float, eps0: float, n: int, epsilon: float) -> float:
    """delta of (A + D, C - A + 1 - D) against (A + 1 - D, C - A + D), summed over every c.

    C ~ Bin(n - 1, share), A ~ Bin(C, 1/2), D ~ Bern(E/(E+1)), E = e^eps0. The standard clone has
    share = 1/E (Feldman, McMillan, Talwar 2021, Theorem 3.2 and appendix), the stronger one
    2/(E + 1) (2023; docs/theory.md, Corollary 5.5).
    """
    if epsilon >= eps0:
        return 0.0
    own, a, total = 1.0 / (1.0 + math.exp(-eps0)), math.exp(epsilon), 0.0
    # Count u of c + 1 in the first label has ratio P/Q > a exactly above this share of c + 1.
    odds = (own * a - (1.0 - own)) / (own - (1.0 - own) * a)
    for c, weight in _counts(n - 1, share):
        least = np.floor(odds / (1.0 + odds) * (c + 1.0)) + 1.0
        with_one, without = _at_least(c, least - 1.0), _at_least(c, least)
        p = own * with_one + (1.0 - own) * without
        q = (1.0 - own) * with_one + own * without
        total += float((weight * np.maximum(p - a * q, 0.0)).sum())
    return total


def _counts(size: int, share: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every c from 0 to size with its binomial probability, in blocks, where it is a float."""
    for start in range(0, size + 1, BLOCK):
        c = np.arange(start, min(start + BLOCK, size + 1), dtype=np.float64)
        log = special.gammaln(size + 1.0) - special.gammaln(c + 1.0)
        log -= special.gammaln(size - c + 1.0)
        if share < 1.0:
            log += c * math.log(share) + (size - c) * math.log1p(-share)
        else:
            log = np.where(c == size, 0.0, -np.inf)
        kept = log > UNDERFLOW
        yield c[kept], np.exp(log[kept])


def _at_least(c: np.ndarray, k: np.ndarray) -> np.ndarray:
    """P(Bin(c, 1/2) >= k)."""
    inside = (k > 0.0) & (k <= c)
    values = np.where(k <= 0.0, 1.0, 0.0)
    values[inside] = special.bdtrc(k[inside] - 1.0, c[inside].astype(np.int64), 0.5)
    return values
