"""One victim's bit among others of two kinds: the divergence of the two shuffled views.

The others' bits are 1 with probability p (``high`` of them) or q < p (``low`` of them); S is how
many of them are 1. The victim's bit is 1 with probability v0 or v1; alpha = v0 - a v1 > 0 with
a = e^eps, b = a - 1. Then (docs/theory-binary.md, Theorem 2.1)

    D = max_j F_j,  F_j = alpha P(S = j) - b P(S > j) = sum_{k > j} h_k,
    h_k = alpha P(S = k - 1) - (alpha + b) P(S = k),

and h changes its sign once, from - to +. Everything is computed under the law tilted by
tau = 1 + b/alpha, whose mode is the best j: P(S = k) = e^K tau^-k P_tau(S = k). With noise added to
the number of ones S stands for that sum; all of this holds alike (docs/theory-sums.md, section 6).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.binary.alone import Alone, log_alone
from shuffledp.binary.noise import AddedNoise
from shuffledp.binary.noise import Part as _Part
from shuffledp.numerics.recursion import geometric_sums
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
# Windows of a binomial law: e^-(12.2^2/2) = e^-74 of its mode, and far more for small variances.
_WIDE, _WIDER = 12.2, 80
# How far on both sides of the tilted mean the sign of h is looked at first; a mode is within one
# of the mean (Darroch 1964), the rest is room for rounding.
_NEAR = 3
# Tilts and tilted odds up to here: powers of the one, and counts times the other, are in range.
_LARGEST_TILT, _LARGEST_ODDS = 1e40, 1e280
# Where odds are known to less, nothing is said of the masses.
_LOOSEST = 1e-2
# Powers of the tilt up to e^650 are in range.
_LARGEST_POWER = 650.0
# Laws that are kept: some thousand numbers each at the most.
_MOST_PARTS = 64


class Problem(NamedTuple):
    """What does not depend on the others' values.

    Attributes
    ----------
    odds_high, odds_low : float
        P(1)/P(0) of the two kinds of others, exact numbers, odds_high > odds_low >= 0; inf: always
        1.
    alpha, b : tuple of float
        Lower and upper bound of v0 - e^eps v1, and of e^eps - 1. alpha[1] > 0.
    noise : AddedNoise, optional
        What is added to the number of ones.
    loose : float
        How far the others' true odds may be from these, relatively.
    """

    odds_high: float
    odds_low: float
    alpha: tuple[float, float]
    b: tuple[float, float]
    noise: AddedNoise | None = None
    loose: float = 0.0


class Divergence(NamedTuple):
    """log of a lower and of an upper bound of the divergence; -inf for 0."""

    log_low: float
    log_high: float


class Parts:
    """Laws of the number of ones of each kind, of one problem: those that were asked for last.

    Parameters
    ----------
    problem : Problem
        The others' laws, and the tilt.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.tau = _tilt(problem)
        self._kept: dict[tuple[int, float], _Part] = {}

    def of(self, count: int, odds: float) -> _Part:
        """That of ``count`` bits with these odds, tilted."""
        key = (count, odds)
        if key not in self._kept:
            if len(self._kept) >= _MOST_PARTS:
                self._kept.clear()
            self._kept[key] = _binomial(count, odds, self.tau, self._problem.loose)
        return self._kept[key]


def divergence(problem: Problem, high: int, low: int, parts: Parts | None = None) -> Divergence:
    """Both ends of log D among ``high`` others of the one kind and ``low`` of the other.

    Parameters
    ----------
    problem : Problem
        The victim's two laws and the others'.
    high, low : int
        Others whose bit is 1 with the larger, and with the smaller, probability; >= 0.
    parts : Parts, optional
        Of this problem, where many divergences of it are asked for: neighbouring ones share laws.
    """
    parts = Parts(problem) if parts is None else parts
    tau = parts.tau
    noise, reach, found = problem.noise, _NEAR, None
    alone = Alone(-math.inf, 0.0)
    if noise is not None:
        alone = with_noise_alone(problem)
        random = (high and math.isfinite(problem.odds_high), low and problem.odds_low > 0.0)
        if not any(random) and alone.log_low > -math.inf:
            # The others' number of ones is known: what is left is one bit with noise.
            return Divergence(*alone)
    first, second = parts.of(high, problem.odds_high), parts.of(low, problem.odds_low)
    if noise is not None:
        if noise.nothing_left(problem.b[0] / problem.alpha[1]):
            # The ratio of two neighbouring masses is below tau everywhere: h_k <= 0 for all k.
            return Divergence(-math.inf, -math.inf)
        # A mode of the sum is about as far from its mean as noise is wide.
        reach += math.ceil(noise.scale)
        short, first = sorted((first, second), key=lambda part: part.mass.size)
        second = noise.joined(short, tau)
    mean = _mean(first) + _mean(second) if noise is not None else _mean_of(problem, high, low, tau)
    # Of the number of ones alone both ends are known at last.
    most = math.inf if noise is None else 4 * (first.mass.size + second.mass.size)
    while found is None:
        if (reach + 1) * math.log(tau) > _LARGEST_POWER or reach > most:
            # Deltas far below e^-1000: nothing is said of them but what noise alone does.
            return Divergence(-math.inf, alone.log_high)
        ends = (0, high + low + 1) if noise is None else None
        found = _around(problem, (first, second), tau, round(mean), reach, ends)
        reach *= 4
    bottom, top, at = found
    level = _level(problem, high, low, tau, at)
    log_high = min(_log(top, level, up=True), alone.log_high)
    return Divergence(min(_log(bottom, level, up=False), log_high), log_high)


def with_noise_alone(problem: Problem) -> Alone:
    """Both ends of log D without any others; the upper one holds among any.

    Parameters
    ----------
    problem : Problem
        With noise.
    """
    if problem.noise is None:
        return Alone(-math.inf, 0.0)
    low, high = (math.log(b) if b > 0.0 else -math.inf for b in problem.b)
    return log_alone(problem.noise, problem.alpha, (low, high))


def steep(problem: Problem) -> bool:
    """Whether powers of the tilt leave the range of floats, so that nothing would be said."""
    reach = _NEAR + (0 if problem.noise is None else math.ceil(problem.noise.scale))
    # Room for one look farther.
    return (4 * reach + 1) * math.log(_tilt(problem)) > _LARGEST_POWER


def _tilt(problem: Problem) -> float:
    """A float next to tau = (alpha + b)/alpha; any float >= 1 is valid."""
    alpha, b = problem.alpha[1], problem.b[1]
    tau = 1.0 + b / alpha if b < alpha * _LARGEST_TILT else _LARGEST_TILT
    odds = problem.odds_high if math.isfinite(problem.odds_high) else problem.odds_low
    tau = max(min(tau, _LARGEST_ODDS / max(odds, 1.0)), 1.0)
    return tau if problem.noise is None else problem.noise.most_tilted(tau)


def _mean_of(problem: Problem, high: int, low: int, tau: float) -> float:
    """About the tilted mean of the number of ones."""
    found = 0.0
    for count, odds in ((high, problem.odds_high), (low, problem.odds_low)):
        tilted = odds * tau
        found += count * (1.0 if math.isinf(tilted) else tilted / (1.0 + tilted))
    return found


def _mean(part: _Part) -> float:
    return part.start + float(part.mass @ np.arange(part.mass.size)) / float(part.mass.sum())


def _level(problem: Problem, high: int, low: int, tau: float, at: int) -> tuple[float, float]:
    """K - at log tau and a bound on its error: P(S = k) = e^K tau^-k P_tau(S = k)."""
    more = tau - 1.0  # exact below 2^53, else to u
    size = 0.0
    terms = []
    for count, odds in ((high, problem.odds_high), (low, problem.odds_low)):
        share = 1.0 if math.isinf(odds) else odds / (1.0 + odds)
        terms.append(count * math.log1p(share * more))
    terms.append(-at * math.log1p(more))
    size, err = math.fsum(abs(term) for term in terms), 0.0
    if problem.noise is not None:
        found, err = problem.noise.log_mean(tau)
        terms.append(found)
    # Share and product to 4 u, log1p of a positive number no more than that, itself to 4 u.
    return math.fsum(terms), 12 * U * size + err


def _log(value: float, level: tuple[float, float], *, up: bool) -> float:
    if value <= 0.0:
        return -math.inf
    log = math.log(value)
    total = level[0] + log
    err = level[1] + 4 * U * (abs(log) + abs(total))
    return min(total + err, 0.0) if up else total - err


@np.errstate(over="ignore", invalid="ignore")
def _around(
    problem: Problem,
    parts: tuple[_Part, _Part],
    tau: float,
    middle: int,
    reach: int,
    ends: tuple[int, int] | None,
) -> tuple[float, float, int] | None:
    """Lower and upper bound of D e^-K tau^middle; None where the signs of h are not certain.

    With h_k <= 0 up to k = low and h_k >= 0 beyond k = top, D = F_top + sum of (h_k)_+ between.
    ``ends``: h_k <= 0 up to the one and h_k >= 0 beyond the other in any case.
    """
    low, top = middle - reach, middle + reach
    known_low, known_top = False, False
    if ends is not None:
        known_low, known_top = low <= ends[0], top >= ends[1]
        low, top = max(low, ends[0]), min(top, ends[1])
    counts = np.arange(low - 1.0, top + 2.0)
    mass, rel, missing = _masses(parts, counts)
    # tau^(middle - k) to relative (2 reach + 4) u.
    scale = tau ** (middle - counts)
    rel_scale = (2.0 * abs(reach) + 8.0) * U
    below, above = mass * max(1.0 - rel, 0.0), mass * (1.0 + rel) + missing
    less, more = scale * (1.0 - rel_scale), scale * (1.0 + rel_scale)
    own_low, own_high = below * less, above * more
    step_low, step_high = _steps(problem, own_low, own_high)
    # steps[i] is h of k = low + i, the last one of k = top + 1; own[i] is P at k = low - 1 + i.
    if ends is None:
        # The sign changes once: it is known beyond any place where it is certain.
        falls, rises = np.flatnonzero(step_high < 0.0), np.flatnonzero(step_low > 0.0)
        if falls.size == 0 or rises.size == 0:
            return None
        first, last = int(falls[-1]), int(rises[0])
        own_low, own_high, less, more = (
            x[first : last + 2] for x in (own_low, own_high, less, more)
        )
        step_low, step_high = step_low[first : last + 1], step_high[first : last + 1]
        low, top = low + first, low + last - 1
    elif (not known_low and step_high[0] > 0.0) or (not known_top and step_low[-1] < 0.0):
        return None
    tail, tail_rel, tail_missing = _tail(parts, tau, top)
    tail_low = tail * max(1.0 - tail_rel, 0.0) * float(less[-2])
    tail_high = (tail * (1.0 + tail_rel) + tail_missing) * float(more[-2])
    upper = problem.alpha[1] * own_high[-2] - problem.b[0] * tail_low
    upper = max(upper, 0.0) + 4 * U * problem.alpha[1] * own_high[-2]
    upper += math.fsum(np.maximum(step_high[1:-1], 0.0))
    own = own_low if problem.alpha[0] > 0.0 else own_high
    lower = problem.alpha[0] * own[-2] - problem.b[1] * tail_high
    lower -= 4 * U * abs(problem.alpha[0]) * own_high[-2] + 4 * U * problem.b[1] * tail_high
    # F_j = F_top + h_(j+1) + .. + h_top for every j of the range.
    sums = np.concatenate([[0.0], np.cumsum(step_low[1:-1][::-1])])
    lower += float(sums.max()) - 4 * U * (reach + 2.0) * float(np.abs(step_low[1:-1]).sum())
    upper *= 1.0 + 8 * U
    # What is not a number, beyond the floats, bounds nothing.
    return (
        -math.inf if math.isnan(lower) else float(lower),
        math.inf if math.isnan(upper) else float(upper),
        middle,
    )


def _steps(problem: Problem, low: Array, high: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of h_k = alpha P(k - 1) - (alpha + b) P(k), scaled alike.

    The least over all masses within their bounds is concave in alpha, the largest convex: both are
    attained at an end of alpha's interval, at either of them.
    """
    b_low, b_high = problem.b
    least, most = [], []
    for alpha in problem.alpha:
        first = (low, high) if alpha >= 0.0 else (high, low)
        bottom, top = alpha + b_high, alpha + b_low
        least.append(alpha * first[0][:-1] - bottom * (high if bottom >= 0.0 else low)[1:])
        most.append(alpha * first[1][:-1] - top * (low if top >= 0.0 else high)[1:])
    size = (max(map(abs, problem.alpha)) + b_high) * (high[:-1] + high[1:])
    bottom, top = np.minimum(*least) - 8 * U * size, np.maximum(*most) + 8 * U * size
    return np.where(np.isnan(bottom), -math.inf, bottom), np.where(np.isnan(top), math.inf, top)


def binomial(count: int, odds: float, loose: float = 0.0) -> _Part:
    """The law of the number of ones among bits with these odds, known to ``loose`` relatively."""
    return _binomial(count, odds, 1.0, loose)


def _binomial(count: int, odds: float, tau: float, loose: float = 0.0) -> _Part:
    """The law of ``count`` bits with odds tau times these: by ratios outward from its mode."""
    if count == 0 or odds == 0.0:
        return _Part(0, np.ones(1), 0.0, 0.0)
    tilted = odds * tau
    if math.isinf(tilted):
        return _Part(count, np.ones(1), 0.0, 0.0)
    share = tilted / (1.0 + tilted)
    mode = min(max(math.floor((count + 1) * share), 0), count)
    reach = math.ceil(_WIDE * math.sqrt(count * share / (1.0 + tilted))) + _WIDER
    start, end = max(mode - reach, 0), min(mode + reach, count)
    up = np.arange(mode, end, dtype=float)
    down = np.arange(mode, start, -1, dtype=float)
    rise = (count - up) / (up + 1.0) * tilted
    fall = down / (count - down + 1.0) / tilted
    above, below = np.cumprod(rise), np.cumprod(fall)
    mass = np.concatenate([below[::-1], [1.0], above])
    # Beyond the window ratios only fall: at most a geometric series.
    beyond = 0.0
    if end < count:
        beyond += _geometric(float(above[-1]), (count - end) / (end + 1.0) * tilted)
    if start > 0:
        beyond += _geometric(float(below[-1]), start / (count - start + 1.0) / tilted)
    total = math.fsum(mass.tolist())
    # A ratio is off by 4 u (its odds included), a partial product by that and u for each factor.
    rel = 5.0 * U * max(up.size, down.size) * (1.0 + 1e-6)
    # Masses below 1e-300 may have lost bits.
    missing = min(1.01 * beyond / total + mass.size * 1e-300, 1.0)
    rel = min(2.0 * rel + missing + 8 * U, 1.0)
    if count * loose > _LOOSEST:
        return _Part(start, mass / total, 1.0, 1.0)
    # odds^k/(1 + odds)^count moves by (1 + loose)^count at the most.
    rel = min(rel + 1.01 * count * loose, 1.0)
    return _Part(start, mass / total, rel, missing)


def _geometric(last: float, ratio: float) -> float:
    """More than last (ratio + ratio^2 + ..); all there could be where the ratio is not below 1."""
    ratio *= 1.0 + 16 * U
    if ratio >= 1.0:
        return math.inf
    return 1.01 * last * ratio / (1.0 - ratio)


def _masses(parts: tuple[_Part, _Part], counts: Array) -> tuple[Array, float, float]:
    """P_tau(S = k) at these consecutive k, their relative error, and what may be missing."""
    short, long = sorted(parts, key=lambda part: part.mass.size)
    size = short.mass.size
    first = int(counts[0]) - short.start - (size - 1)
    mass = np.convolve(short.mass, _padded(long, first, int(counts.size) + size - 1), mode="valid")
    rel = short.rel + long.rel + (size + 4.0) * U
    return mass, rel, short.missing + long.missing


def _padded(part: _Part, first: int, size: int) -> Array:
    """Masses at first, first + 1, ..; zeros outside the window."""
    found = np.zeros(size)
    low, high = max(first, part.start), min(first + size, part.start + part.mass.size)
    if low < high:
        found[low - first : high - first] = part.mass[low - part.start : high - part.start]
    return found


def _tail(parts: tuple[_Part, _Part], tau: float, j: int) -> tuple[float, float, float]:
    """sum_{k > j} tau^(j - k) P_tau(S = k): value, relative error, what may be missing.

    With W_l = sum_{y > l} tau^(l - y) Y_y = (Y_(l+1) + W_(l+1))/tau it is sum_x X_x W_(j-x).
    """
    short, long = sorted(parts, key=lambda part: part.mass.size)
    size = short.mass.size
    first = j - short.start - (size - 1) + 1
    last = max(long.start + long.mass.size, first + size)
    masses = _padded(long, first, last - first)
    inverse = 1.0 / tau
    sums = geometric_sums(inverse * masses[::-1], inverse)[::-1]
    value = float(short.mass[::-1] @ sums[:size])
    rel = short.rel + long.rel + (8.0 * masses.size + size + 8.0) * U
    return value, rel, short.missing + long.missing + 1e-300
