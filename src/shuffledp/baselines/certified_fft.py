"""The certified FFT of *Analysis of Shuffling Beyond Pure Local DP* (2026, Theorem 4.2).

The divergence in its probability form, m = n - 1,

    H = P_{y ~ R_x0}(G(y) + X_1 + .. + X_m > 0) - a P_{y ~ R_x1}(the same),

with X_i the other users' gains (0 for a left-over). Each X_i, on a window that it leaves with small
probability, is rounded to the nearest point of a grid h; the sum of the rounding errors is their
mean plus at most c (Bernstein, eta_d); the rounded sum is one FFT power with period 2 w_out centred
at its mean (wrapping: Bernstein, eta_a). With A_z(t) = P_{y ~ R_xz}(G(y) + rounded sum > t),
eta = eta_d + eta_a and P_T the probability that no user leaves the window,

    P_T [A_0(c) - a A_1(-c)] - P_T (1+a) eta - a (1 - P_T)  <=  H
    H  <=  P_T [A_0(-c) - a A_1(c)] + P_T (1+a) eta + (1 - P_T).

The paper's theorem is about exact arithmetic. Here the rounding of the FFT is bounded as well, by
6 log2(N) u for each value of one transform of a law (every input meets log2 N butterflies), times
m for the m-th power: at n = 1e6 some 1e-8 in delta, which is what keeps double-precision FFTs from
small delta among many users.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp import _check
from shuffledp.errors import NotCertified
from shuffledp.index import gaussian_log_delta
from shuffledp.pair import UNIT_ROUNDOFF, Array, ShuffledPair

U = UNIT_ROUNDOFF
LARGEST_GRID = 1 << 24
_ATTEMPTS = 5
# Squares of gains, at most (1 + e^eps)^2, are floats up to here, and sums of them.
_LARGEST_EPSILON = 300.0


class FFTBracket(NamedTuple):
    """Certified ends of delta, what rounding alone adds to either, and the length of the FFT."""

    low: float
    high: float
    roundoff: float
    points: int


@dataclass(frozen=True)
class _Users:
    """One other user's gain within the window, and the victim's under both inputs."""

    w: Array
    g: Array
    err: float  # how far a gain can be from g within its cell, rounding of g included
    stay: float  # P_T
    p: Array
    q: Array
    low: Array
    high: Array
    rel: float


def fft_delta(pair: ShuffledPair, *, epsilon: float, width: float) -> FFTBracket:
    """Bracket delta(eps) to about a relative ``width``, if an FFT of 2^24 points can.

    Parameters
    ----------
    pair : ShuffledPair
        Atoms or cells, n >= 2.
    epsilon : float
        eps in nats, 0 <= eps <= 300.
    width : float
        Relative width wanted.

    Raises
    ------
    NotCertified
        If the grid would need more than 2^24 points.
    """
    epsilon = _check.real("epsilon", epsilon, low=0.0, high=_LARGEST_EPSILON)
    width = _check.positive("width", width)
    if pair.n < 2:
        raise NotCertified("n = 1: the certified FFT is for other users' messages, and has none")
    a = math.exp(epsilon)
    target = max(gaussian_log_delta(pair, epsilon=epsilon), -600.0)
    best = FFTBracket(0.0, 1.0, 0.0, 0)
    share = 0.4 * width
    last = math.inf
    for _ in range(_ATTEMPTS):
        try:
            found = _attempt(pair, epsilon, share, target)
        except NotCertified:
            if best.points:
                break
            raise
        best = FFTBracket(
            max(best.low, found.low), min(best.high, found.high), found.roundoff, found.points
        )
        if best.low > 0.0 and best.high <= best.low * (1.0 + width):
            break
        middle = 0.5 * (found.low + found.high)
        if 2.0 * (1.0 + a) * found.roundoff > 0.5 * width * middle:
            break  # no grid makes that smaller
        if found.high - found.low > 0.7 * last:
            break  # neither does this one: the sum has an atom at 0
        last = found.high - found.low
        grown = (found.high - found.low) / max(found.low, 0.2 * found.high) / width
        share /= min(max(1.3 * grown, 1.5), 8.0)
        target = min(target, math.log(max(found.high, 1e-300)))
    return best


def _attempt(pair: ShuffledPair, epsilon: float, share: float, log_target: float) -> FFTBracket:
    a = math.exp(epsilon)
    eta = 0.1 * share * math.exp(log_target) / (1.0 + a)
    users = _users(pair, a, 0.5 * eta)
    m = pair.n - 1
    mean = math.fsum(users.w * users.g)
    second = _second_moment(users)
    t_square = max(m * mean**2 / second, 1.0)
    c = share * second / ((1.0 + a) * t_square)
    gamma = float(users.w.sum())
    log_eta = math.log(4.0 / eta)
    # c^2 = 2 log(4/eta) (m gamma e^2 + 2 e c/3) for e, the largest error of one user.
    linear = 2.0 * log_eta * c * 2.0 / 3.0
    quadratic = 2.0 * log_eta * m * gamma
    error = (math.sqrt(linear**2 + 4.0 * quadratic * c**2) - linear) / (2.0 * quadratic)
    step = 2.0 * (error - users.err)
    if step <= 0.2 * error:
        msg = "cells: too wide for this accuracy; the certified FFT wants atoms or more cells"
        raise NotCertified(msg)
    place = np.rint(users.g / step)
    rounded_mean = math.fsum(users.w * place) * step
    deviation = float(np.abs(place).max(initial=0.0)) * step + abs(rounded_mean)
    variance = m * float((users.w * place**2).sum()) * step**2
    out = log_eta * deviation / 3.0
    out += math.sqrt(out**2 + 2.0 * log_eta * variance)
    points = 1 << max(4, math.ceil(math.log2(2.0 * out / step + 4.0)))
    if points > LARGEST_GRID or deviation >= points * step:
        msg = f"width: the FFT would need {points:,} points, more than {LARGEST_GRID:,}"
        raise NotCertified(msg)
    tail, start, fft_error = _sum_law(users.w, place, m, points)
    # Mean of the rounding errors of all others, which c is about.
    shift = m * (mean - rounded_mean)

    def above(t: float, mass: Array, gain: Array) -> float:
        """A_z(t), z the victim's law ``mass`` with gains ``gain``."""
        index = np.floor((t - gain - shift) / step).astype(np.int64) + 1 - start
        return float((mass * tail[np.clip(index, 0, tail.size - 1)]).sum())

    # The grid's own rounding, a few units of the last place of the largest sum, goes into c, and so
    # does what the gains are off by on average: E|G| <= 1 + a.
    reach = c + 64 * U * (abs(start) + points) * step
    reach += 2.0 * m * (users.rel + 16 * U) * (1.0 + a)
    relative = (points + 2 * users.g.size + 64) * U + 3.0 * users.rel
    roundoff = fft_error + 2.0 * m * gamma * (users.rel + 8 * U) + 8 * U
    eta_all = _left(error, c, m, gamma, out, deviation, variance)
    a0 = (above(reach, users.p, users.low), above(-reach, users.p, users.high))
    a1 = (above(reach, users.q, users.low), above(-reach, users.q, users.high))
    both = (1.0 + a) * (eta_all + roundoff)
    gone = 1.0 - users.stay
    top = a0[1] * (1.0 + relative) - a * a1[0] * (1.0 - relative)
    bottom = a0[0] * (1.0 - relative) - a * a1[1] * (1.0 + relative)
    # P_T times the middle, whichever sign that has.
    high = max(top, users.stay * top) + both + gone
    low = min(bottom, users.stay * bottom) - both - a * gone
    outside = np.maximum(pair.outside[:, 0] - a * pair.outside[:, 1], 0.0).sum()
    slack = 4.0 * (pair.rel + 8 * U) * float(pair.outside.sum()) * (1.0 + a)
    high += float(outside) + slack + pair.tail[0] * (1.0 + 8 * U)
    low += float(outside) - slack - a * pair.tail[1] * (1.0 + 8 * U)
    return FFTBracket(max(low, 0.0), min(high, 1.0), roundoff, points)


def _second_moment(users: _Users) -> float:
    """E[G^2] of one of the others; NotCertified where that is 0."""
    second = float((users.w * users.g**2).sum())
    if second == 0.0:
        msg = "blanket-certified-fft: every gain of the others is 0, there is no sum to transform"
        raise NotCertified(msg)
    return second


def _users(pair: ShuffledPair, a: float, most_lost: float) -> _Users:
    """Gains with their errors, the window cut where at most ``most_lost`` of all users leave it."""
    ranges = pair.ranges
    gain = pair.a - a * pair.b
    pad = (pair.rel + 12 * U) * (pair.a + a * pair.b)
    if ranges is None:
        low, high = gain - pad, gain + pad
    else:
        low = np.minimum(ranges.a_low - a * ranges.b_high, gain) - pad
        high = np.maximum(ranges.a_high - a * ranges.b_low, gain) + pad
    size = np.abs(gain)
    order = np.argsort(-size)
    lost = np.cumsum(pair.w[order]) * (pair.n - 1)
    count = 0 if ranges is None else int(np.searchsorted(lost, most_lost))
    kept = np.ones(gain.size, dtype=bool)
    kept[order[:count]] = False
    out = float(pair.w[~kept].sum()) * (1.0 + 2.0 * pair.rel + gain.size * U)
    stay = math.exp((pair.n - 1) * math.log1p(-out)) * (1.0 - 8 * U) if count else 1.0
    w, g = pair.w[kept] / (1.0 - out), gain[kept]
    err = float(np.maximum(high[kept] - g, g - low[kept]).max(initial=0.0))
    # The victim's message may be anywhere: its gains are not cut.
    return _Users(w, g, err, stay, pair.w * pair.a, pair.w * pair.b, low, high, pair.rel + 4 * U)


def _sum_law(w: Array, place: Array, m: int, points: int) -> tuple[Array, int, float]:
    """P(sum of m rounded gains >= start + i) for i = 0 .. points, start, and the FFT's error."""
    pmf = np.bincount(place.astype(np.int64) % points, weights=w, minlength=points)
    pmf[0] += max(0.0, 1.0 - float(w.sum()))
    phi = np.fft.rfft(pmf)
    size = np.maximum(np.abs(phi), 1e-300)
    with np.errstate(under="ignore"):
        log = np.log(np.where(np.abs(phi) > 0.0, phi, 1e-300))
        power = np.exp(m * log)
        forward = 6.0 * math.log2(points) * U
        near = np.exp((m - 1) * np.minimum(np.log(size + forward), forward))
    error = m * (forward + 16 * U * (1.0 + np.abs(log))) * near
    # Twice: the half spectrum stands for all of it.
    fft_error = 2.0 * float(error.sum() + forward * np.abs(power).sum())
    total = np.fft.irfft(power, points)
    start = round(m * float((w * place).sum())) - points // 2
    ordered = np.maximum(total[(start + np.arange(points)) % points], 0.0)
    tail = np.cumsum(ordered[::-1])[::-1]
    return np.append(tail, 0.0), start, fft_error


def _left(
    error: float, c: float, m: int, gamma: float, out: float, deviation: float, variance: float
) -> float:
    """eta_d + eta_a with the numbers in use, a little more than Bernstein's."""
    c_part = c**2 / (2.0 * (m * gamma * error**2 + 2.0 * error * c / 3.0))
    out_part = out**2 / (2.0 * (variance + deviation * out / 3.0))
    return 2.0 * (math.exp(-c_part) + math.exp(-out_part)) * (1.0 + 1e-9)
