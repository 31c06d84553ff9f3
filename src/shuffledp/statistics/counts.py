"""How many users hold an item, from a count with binomial noise: exact limits, not normal ones.

Noise of a few counts is skewed, so that an estimate and its standard error miss far too often on
one side. The law of a count is known given the number m of holders: a sum of independent steps,
m of one kind, the other users' of another, and blanket messages. Limits are those m at which the
count that was seen, or one farther out, has exactly the probability that is left to the side
(Clopper, Pearson 1934), found from tails by contour integration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _special as special
from shuffledp.values.described import ByContent

Floats = npt.NDArray[np.floating[Any]]
Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

# Tilts are searched up to here: e^1500 is above every ratio of two floats, 2^2098 = e^1454.
_LARGEST_TILT = 1500.0
# Bisections to a width of 3000/2^60, far below what the tilt has to be known to.
_TILT_STEPS = 60
# A tilt need not be the best one: the integral is the same for all. As a share of the standard
# deviation of the tilted sum, which is at least 1/2 where its mean lies between whole numbers.
_TILT_ERROR = 0.05
# e^-z^2/2 of the integrand is left out at z = 12: below 1e-31.
_WIDEST = 12.0
# Steps of 1/6 of a standard deviation alias the tail by e^(-2 pi 6) = 1e-16 of it.
_FINENESS = 6
_NODES = 72
# Tails are right to about 1e-9; limits are for a tail that is smaller by this share.
_SLACK = 1e-6
# Users to which a limit is sought, as a share of the noise: far below what could be seen.
_FINE = 1e-6
# Newton steps close most brackets within 8; from there on every third one is a bisection, and
# 2^50 users are more than there can be.
_SURE = 8
_SEARCH_STEPS = 160
# Rows of nodes that are worked on together: 1024 x 73 numbers of 8 bytes fit the cache.
_ROWS = 1024
# Laws of fewer bits that are tried for Hoeffding's limit. Where one not tried might be worse, with
# tails above 1/4 only, the limit is less than a count, and than 1/4096 of the ones, too wide.
_FEWER_BITS = 4096
# Different counts that are solved one by one; between so many a straight line is right to 1e-6 of
# the noise, as limits bend by about z/(4 sigma^3) a count squared.
_MOST_COUNTS = 2048


@dataclass(frozen=True)
class Step:
    """The law of one user's, or one message's, part of a count: -1, 0 or 1.

    Attributes
    ----------
    up, stay, down : float
        Their probabilities, which sum to one; each of them to its own relative precision.
    """

    up: float
    stay: float
    down: float = 0.0

    @property
    def flipped(self) -> Step:
        """The law of minus the step."""
        return Step(self.down, self.stay, self.up)

    @property
    def logs(self) -> Floats:
        """Log probabilities of -1, 0 and 1; -inf where there is none."""
        masses = (self.down, self.stay, self.up)
        return np.array([math.log(p) if p > 0.0 else -math.inf for p in masses])

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the largest step that can occur."""
        possible = [at for at, p in ((-1, self.down), (0, self.stay), (1, self.up)) if p > 0.0]
        return possible[0], possible[-1]


Groups = Sequence[tuple[Floats, Step]]


@dataclass(frozen=True, eq=False, repr=False)
class Counts(ByContent):
    """Counts C = (sum over the holders) + (sum over the other users) + (sum over other messages).

    Attributes
    ----------
    counts : ndarray, shape (K,)
        What was counted for each item.
    users : ndarray, shape (K,)
        Users who may hold the item, M.
    total : int
        All users, n: limits are shares of them.
    own, other : Step
        Of a holder and of another user; holders have the larger steps.
    rest : tuple of (ndarray, Step)
        Messages that say nothing of the item: how many, shape (K,), and their step.
    """

    counts: Floats
    users: Floats
    total: int
    own: Step
    other: Step
    rest: tuple[tuple[Floats, Step], ...] = ()

    @property
    def noise(self) -> float:
        """Smallest number of counts expected of users without the item and of other messages."""
        expected = self.users * (self.other.up + self.other.down)
        for trials, step in self.rest:
            expected = expected + trials * (step.up + step.down)
        return float(np.min(expected, initial=math.inf))

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Shares of users, the least and the largest that leave more than ``tail`` to their side.

        For every number of holders the limit below is above it with probability at most ``tail``,
        and so is the limit above below it. Where no number is likely enough both are the nearest.
        """
        low, high = self.holders(tail)
        return low / self.total, high / self.total

    def holders(self, tail: float) -> tuple[Floats, Floats]:
        """The limits as numbers of users."""
        table = np.stack([self.counts, self.users, *(trials for trials, _ in self.rest)])
        distinct, places = np.unique(table, axis=1, return_inverse=True)
        places = places.reshape(-1)
        if distinct.shape[1] > _MOST_COUNTS and bool(np.all(distinct[1:] == distinct[1:, :1])):
            low, high = self._between(distinct, tail)
        else:
            low, high = self._limits(distinct, tail)
        return low[places], high[places]

    def _limits(self, table: Floats, tail: float) -> tuple[Floats, Floats]:
        counts, users = table[0], table[1]
        rest = [(trials, step) for trials, (_, step) in zip(table[2:], self.rest, strict=True)]
        low = least_holders(counts, users, self.own, self.other, rest, tail)
        flipped = [(trials, step.flipped) for trials, step in rest]
        without = least_holders(-counts, users, self.other.flipped, self.own.flipped, flipped, tail)
        return low, users - without

    def _between(self, table: Floats, tail: float) -> tuple[Floats, Floats]:
        """Limits at some counts, and straight lines between them; at the edges the outer one."""
        chosen = np.unique(np.linspace(0, table.shape[1] - 1, _MOST_COUNTS).astype(np.int64))
        low, high = self._limits(table[:, chosen], tail)
        counts, knots = table[0], table[0][chosen]
        left = np.searchsorted(knots, counts, side="right") - 1
        right = np.minimum(left + (counts > knots[left]), knots.size - 1)
        users = table[1, 0]
        return (
            np.where(low[left] <= 0.0, 0.0, np.interp(counts, knots, low)),
            np.where(high[right] >= users, users, np.interp(counts, knots, high)),
        )


def least_holders(
    counts: Floats, users: Floats, own: Step, other: Step, rest: Groups, tail: float
) -> Floats:
    """The smallest m with P(sum >= count) >= tail, m holders among the users; users if none.

    The probability grows with m. The search is for the root of z, P = Phi(z), which is nearly
    linear in m, with the slope of a normal law: Newton steps to whole numbers, a little too far, so
    that the bracket closes from both ends. What is returned is its outer end.
    """
    wanted = _wanted(tail)
    slope = _drift(own) - _drift(other)
    # A limit is sought to a millionth of the noise, which is half a count at least: where all users
    # together move the count by less than that, every number of holders is as likely.
    if not slope * float(users.max(initial=0.0)) > 0.5 * _FINE:
        return np.zeros(counts.size)
    quiet = sum((trials * _variance(step) for trials, step in rest), users * 0.0)

    def spread(m: Floats, at: Places) -> Floats:
        variance = m * _variance(own) + (users[at] - m) * _variance(other) + quiet[at]
        return np.sqrt(variance + 0.25)

    low, high = np.full(counts.size, -1.0), users.copy()
    open_ = np.flatnonzero(high - low > 1.0)
    mean = sum((trials * _drift(step) for trials, step in rest), users * _drift(other))
    middle = np.clip((counts - mean) / slope, 0.0, users)
    guess = np.floor(middle + wanted * spread(middle, np.arange(counts.size)) / slope)
    guess = np.clip(guess, 0.0, np.maximum(users - 1.0, 0.0))
    for turn in range(_SEARCH_STEPS):
        if not open_.size:
            break
        m = guess[open_]
        groups = [(m, own), (users[open_] - m, other), *((t[open_], step) for t, step in rest)]
        lacks = wanted - _score(counts[open_], groups)
        low[open_] = np.where(lacks > 0.0, m, low[open_])
        high[open_] = np.where(lacks > 0.0, high[open_], m)
        width = spread(m, open_) / slope
        fine = np.maximum(1.0, _FINE * width)
        ahead = m + lacks * width + np.where(lacks > 0.0, 0.25, -0.25) * fine
        ahead = np.where(lacks > 0.0, np.ceil(ahead), np.floor(ahead))
        if turn % 3 == 2 and turn > _SURE:
            ahead = np.floor(0.5 * (low[open_] + high[open_]))
        guess[open_] = np.clip(ahead, low[open_] + 1.0, high[open_] - 1.0)
        open_ = open_[high[open_] - low[open_] > fine]
    return np.minimum(low + 1.0, users)


def _wanted(tail: float) -> float:
    return float(special.ndtri_exp(math.log(tail) + math.log1p(-_SLACK)))


def likely(counts: Floats, groups: Groups, tail: float) -> Flags:
    """Whether P(sum >= count) is ``tail`` or more."""
    return np.asarray(_score(counts, groups) >= _wanted(tail))


def possible(counts: Floats, groups: Groups, tail: float) -> Flags:
    """Whether Chernoff's bound allows P(sum >= count) to be ``tail`` or more."""
    tilt = np.maximum(_saddle(counts, groups), 0.0)
    return np.asarray(_cumulants(tilt, groups)[0] - tilt * counts >= math.log(tail))


def _drift(step: Step) -> float:
    return step.up - step.down


def _variance(step: Step) -> float:
    return step.up * step.stay + step.down * step.stay + 4.0 * step.up * step.down


def _score(counts: Floats, groups: Groups) -> Floats:
    """z with P(sum >= count) = Phi(z): large where the count is likely to be reached."""
    parts = [_score_part(counts[rows], [(t[rows], s) for t, s in groups]) for rows in _rows(counts)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _rows(counts: Floats) -> Iterator[slice]:
    for start in range(0, counts.size, _ROWS):
        yield slice(start, start + _ROWS)


def _score_part(counts: Floats, groups: Groups) -> Floats:
    least = sum((trials * step.reach[0] for trials, step in groups), np.zeros(counts.size))
    most = sum((trials * step.reach[1] for trials, step in groups), np.zeros(counts.size))
    inside = (counts > least) & (counts <= most)
    found = np.where(counts <= least, np.inf, -np.inf)
    if bool(inside.any()):
        chosen = [(trials[inside], step) for trials, step in groups]
        found[inside] = special.ndtri_exp(log_reached(counts[inside], chosen))
    return found


def log_reached(counts: Floats, groups: Groups) -> Floats:
    """log P(sum of all groups >= count), for counts that may and may not be reached.

    With K the log moment generating function of the sum and c = count - 1/2,
    P = (1/2 pi) int exp(K(s + it) - (s + it) c) / (2 sinh((s + it)/2)) dt over [-pi, pi] for any
    s > 0, and P - 1 for any s < 0. s is next to the saddle point, where nothing cancels, and at
    least one standard deviation of the tilted sum away from the pole. The trapezoidal rule is
    right to the precision of floats: the integrand is periodic and analytic.
    """
    target = counts - 0.5
    tilt = _saddle(target, groups)
    sigma = np.sqrt(_cumulants(tilt, groups)[2])
    away = 1.0 / np.maximum(sigma, 1.0)
    tilt = np.where(tilt < 0.0, np.minimum(tilt, -away), np.maximum(tilt, away))
    level, _, variance = _cumulants(tilt, groups)
    reach, nodes = _range(variance, groups)
    t = reach[:, None] * (np.arange(nodes + 1) / nodes)
    size, angle = np.zeros(t.shape), -target[:, None] * t
    for trials, step in groups:
        down, _, up = _tilted(tilt, step)
        more = _log_turned(down[:, None], up[:, None], t)
        size += trials[:, None] * more[0]
        angle += trials[:, None] * more[1]
    # 1/(2 sinh((s + it)/2)) without e^(|s|/2), which joins the level.
    half = 0.5 * np.abs(tilt)[:, None]
    grown, shrunk = 1.0, np.exp(-2.0 * half)
    real = np.cos(0.5 * t) * (grown - shrunk)
    imaginary = np.sin(0.5 * t) * (grown + shrunk)
    # Of the conjugate where s < 0, and of the other sign: then the integral is 1 - P.
    turn = np.sign(tilt)[:, None]
    norm = real * real + imaginary * imaginary
    part = np.exp(size) * (np.cos(angle) * real + np.sin(angle) * imaginary * turn) / norm
    part[:, [0, -1]] *= 0.5
    total = np.maximum(part.sum(axis=1), 0.0) * (reach / nodes / np.pi)
    log_total = np.log(np.maximum(total, 1e-300)) + level - tilt * target - half[:, 0]
    upper = np.minimum(log_total, 0.0)
    # Where the other tail was found: P = 1 - that.
    beyond = np.where(tilt < 0.0, np.minimum(upper, -1e-16), -1.0)
    return np.where(tilt < 0.0, np.log(-np.expm1(beyond)), upper)


def _range(variance: Floats, groups: Groups) -> tuple[Floats, int]:
    """How far the integrand reaches, at most pi, and in how many steps.

    Steps of -1 and 1 that never or seldom stay at 0 have sums of one parity: then there is as much
    around pi as around 0.
    """
    if any(step.up > 0.0 and step.down > 0.0 for _, step in groups):
        sigma = float(np.sqrt(variance.max(initial=1.0)))
        nodes = max(_NODES, math.ceil(_FINENESS * math.pi * sigma))
        return np.full(variance.size, math.pi), nodes
    return np.minimum(math.pi, _WIDEST / np.sqrt(np.maximum(variance, 1e-30))), _NODES


def _log_turned(down: Floats, up: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Log of |E e^(it step)| and its angle, small ones to their own precision."""
    x = -(up + down) * 2.0 * np.sin(0.5 * t) ** 2
    y = (up - down) * np.sin(t)
    change = x * (2.0 + x) + y * y
    near = change > -0.5
    far = np.log(np.maximum((1.0 + x) ** 2 + y * y, 1e-300))
    return 0.5 * np.where(near, np.log1p(np.where(near, change, 0.0)), far), np.arctan2(y, 1.0 + x)


def _tilted(tilt: Floats, step: Step) -> Floats:
    """Probabilities of -1, 0, 1 in proportion to e^(tilt step), shape (3, K)."""
    logs = step.logs[:, None] + tilt * np.array([-1.0, 0.0, 1.0])[:, None]
    mass = np.exp(logs - logs.max(axis=0))
    return mass / mass.sum(axis=0)


def _cumulants(tilt: Floats, groups: Groups) -> tuple[Floats, Floats, Floats]:
    """K, K' and K'' of the sum."""
    level, mean, variance = (np.zeros(tilt.size) for _ in range(3))
    for trials, step in groups:
        logs = step.logs[:, None] + tilt * np.array([-1.0, 0.0, 1.0])[:, None]
        top = logs.max(axis=0)
        mass = np.exp(logs - top)
        whole = mass.sum(axis=0)
        down, stay, up = mass / whole
        level += trials * (top + np.log(whole))
        mean += trials * (up - down)
        # Var = up stay + down stay + 4 up down: nothing cancels.
        variance += trials * (up * stay + down * stay + 4.0 * up * down)
    return level, mean, variance


def _saddle(target: Floats, groups: Groups) -> Floats:
    """s with K'(s) = target, to a small share of a standard deviation: Newton, else bisection."""
    low, high = np.full(target.size, -_LARGEST_TILT), np.full(target.size, _LARGEST_TILT)
    # The tilt of a Poisson law; for small ones that of a normal law.
    _, mean, variance = _cumulants(np.zeros(target.size), groups)
    miss = target - mean
    tilt = np.sign(miss) * np.log1p(np.abs(miss) / np.maximum(variance, 1e-300))
    for _ in range(_TILT_STEPS):
        _, mean, variance = _cumulants(tilt, groups)
        miss = target - mean
        low, high = np.where(miss > 0.0, tilt, low), np.where(miss > 0.0, high, tilt)
        steep = variance > 1e-30
        ahead = tilt + np.where(steep, miss / np.where(steep, variance, 1.0), np.inf)
        inside = (ahead > low) & (ahead < high)
        moved = np.where(inside, ahead, 0.5 * (low + high))
        if bool(np.all(np.abs(miss) <= _TILT_ERROR * np.sqrt(variance))):
            break
        tilt = moved
    return tilt


def hoeffding_ends(ones: float, trials: int, tail: float) -> tuple[float, float]:
    """Limits for the mean probability of independent bits, of which so many are 1.

    They hold whatever the single probabilities are, and none that do are narrower unless tails are
    above 1/4 (docs/theory.md, Theorem 10.1).
    """
    return _mean_above(ones, trials, tail), 1.0 - _mean_above(trials - ones, trials, tail)


def _mean_above(ones: float, trials: int, tail: float) -> float:
    """The largest mean at which so many ones, or more, have probability ``tail`` at most.

    Bits of equal probability are the worst where a mean of ``ones - 1`` is not excluded (Hoeffding
    1956, Theorem 4), else some of fewer bits, the others 0.
    """
    if ones <= 0:
        return 0.0
    equal = float(special.betaincinv(ones, trials - ones + 1.0, tail))
    if trials * equal <= ones - 1.0:
        return equal
    others = np.arange(min(trials - ones, _FEWER_BITS) + 1.0)
    bits = ones + others
    expected = float(np.min(bits * special.betaincinv(ones, others + 1.0, tail)))
    # Of still more bits laws are the less likely to reach the count, the more they are, from here.
    if bits[-1] < trials and (expected - (ones - 1.0)) * bits[-1] < ones - 1.0:
        expected = ones - 1.0
    return expected / trials
