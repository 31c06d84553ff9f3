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
from shuffledp.statistics.messages import Law, Step
from shuffledp.values.described import ByContent

Floats = npt.NDArray[np.floating[Any]]
Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

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
# Counts that are worked on together, and numbers at their nodes: of 8 bytes they fit the cache.
_ROWS = 1024
_NUMBERS = 73 * _ROWS
# Counts far out in noise that are worked on together, because they need as many nodes.
_FEWEST = 16
# Laws of fewer bits that are tried for Hoeffding's limit. Where one not tried might be worse, with
# tails above 1/4 only, the limit is less than a count, and than 1/4096 of the ones, too wide.
_FEWER_BITS = 4096


Groups = Sequence[tuple[Floats, Law]]


@dataclass(frozen=True, eq=False, repr=False)
class Counts(ByContent):
    """Counts C = (sum over the holders) + (sum over the other users) + (sum over all else).

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
    rest : tuple of (ndarray, Law)
        Messages that say nothing of the item, and an aggregator's noise: how many, shape (K,), and
        their law.
    """

    counts: Floats
    users: Floats
    total: int
    own: Step
    other: Step
    rest: tuple[tuple[Floats, Law], ...] = ()

    @property
    def noise(self) -> float:
        """Smallest number of counts expected of users without the item and of all else."""
        expected = self.users * self.other.events
        for trials, law in self.rest:
            expected = expected + trials * law.events
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
        counts, users = distinct[0], distinct[1]
        rest = [(trials, step) for trials, (_, step) in zip(distinct[2:], self.rest, strict=True)]
        low = least_holders(counts, users, self.own, self.other, rest, tail)
        flipped = [(trials, step.flipped) for trials, step in rest]
        without = least_holders(-counts, users, self.other.flipped, self.own.flipped, flipped, tail)
        places = places.reshape(-1)
        return low[places], (users - without)[places]


def least_holders(
    counts: Floats, users: Floats, own: Step, other: Step, rest: Groups, tail: float
) -> Floats:
    """The smallest m with P(sum >= count) >= tail, m holders among the users; users if none.

    The probability grows with m. The search is for the root of z, P = Phi(z), which is nearly
    linear in m, with the slope of a normal law: Newton steps to whole numbers, a little too far, so
    that the bracket closes from both ends. What is returned is its outer end.
    """
    wanted = _wanted(tail)
    slope = own.mean - other.mean
    # A limit is sought to a millionth of the noise, which is half a count at least: where all users
    # together move the count by less than that, every number of holders is as likely.
    if not slope * float(users.max(initial=0.0)) > 0.5 * _FINE:
        return np.zeros(counts.size)
    quiet = sum((trials * step.variance for trials, step in rest), users * 0.0)

    def spread(m: Floats, at: Places) -> Floats:
        variance = m * own.variance + (users[at] - m) * other.variance + quiet[at]
        return np.sqrt(variance + 0.25)

    low, high = np.full(counts.size, -1.0), users.copy()
    open_ = np.flatnonzero(high - low > 1.0)
    mean = sum((trials * step.mean for trials, step in rest), users * other.mean)
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
    level, _, variance = _cumulants(tilt, groups)
    away = 1.0 / np.maximum(np.sqrt(variance), 1.0)
    tilt = np.where(tilt < 0.0, np.minimum(tilt, -away), np.maximum(tilt, away))
    level, _, variance = _cumulants(tilt, groups)
    reach = _reach(tilt, groups)
    steps = np.maximum(_NODES, np.ceil(_FINENESS * reach * np.sqrt(variance) - 1e-9))
    total, rows = np.zeros(counts.size), max(_NUMBERS // int(steps.max(initial=1.0)), _FEWEST)
    for start in range(0, counts.size, rows):
        some = slice(start, start + rows)
        chosen = [(trials[some], law) for trials, law in groups]
        nodes = int(steps[some].max())
        total[some] = _integral(target[some], tilt[some], reach[some], nodes, chosen)
    log_total = np.log(np.maximum(total, 1e-300)) + level - tilt * target - 0.5 * np.abs(tilt)
    upper = np.minimum(log_total, 0.0)
    # Where the other tail was found: P = 1 - that.
    beyond = np.where(tilt < 0.0, np.minimum(upper, -1e-16), -1.0)
    return np.where(tilt < 0.0, np.log(-np.expm1(beyond)), upper)


def _integral(target: Floats, tilt: Floats, reach: Floats, nodes: int, groups: Groups) -> Floats:
    """The trapezoidal sum, without e^(K(s) - s c) and e^(-|s|/2)."""
    t = reach[:, None] * (np.arange(nodes + 1) / nodes)
    log = -1j * target[:, None] * t
    for trials, law in groups:
        log += trials[:, None] * law.turned(tilt[:, None], t)
    # 2 sinh((|s| + it)/2) without e^(|s|/2), which joins the level.
    pole = np.exp(0.5j * t) - np.exp(-np.abs(tilt)[:, None] - 0.5j * t)
    # Of the conjugate where s < 0, and of the other sign: then the integral is 1 - P.
    part = (np.exp(log) / np.where(tilt[:, None] < 0.0, pole.conj(), pole)).real
    part[:, [0, -1]] *= 0.5
    return np.maximum(part.sum(axis=1), 0.0) * (reach / nodes / np.pi)


def _reach(tilt: Floats, groups: Groups) -> Floats:
    """How far the integrand reaches, at most pi: it falls at least as the steps' part of it does.

    Steps of -1 and 1 that never or seldom stay at 0 have sums of one parity: then there is as much
    around pi as around 0.
    """
    steps = [(trials, law) for trials, law in groups if isinstance(law, Step)]
    if any(law.up > 0.0 and law.down > 0.0 for _, law in steps):
        return np.full(tilt.size, math.pi)
    variance = _cumulants(tilt, steps)[2]
    return np.minimum(math.pi, _WIDEST / np.sqrt(np.maximum(variance, 1e-30)))


def _cumulants(tilt: Floats, groups: Groups) -> tuple[Floats, Floats, Floats]:
    """K, K' and K'' of the sum."""
    level, mean, variance = (np.zeros(tilt.size) for _ in range(3))
    for trials, law in groups:
        more = law.cumulants(tilt)
        level += trials * more[0]
        mean += trials * more[1]
        variance += trials * more[2]
    return level, mean, variance


def _saddle(target: Floats, groups: Groups) -> Floats:
    """s with K'(s) = target, to a small share of a standard deviation: Newton, else bisection."""
    most = min(law.most_tilt for _, law in groups)
    low, high = np.full(target.size, -most), np.full(target.size, most)
    # The tilt of a Poisson law; for small ones that of a normal law.
    _, mean, variance = _cumulants(np.zeros(target.size), groups)
    miss = target - mean
    tilt = np.sign(miss) * np.log1p(np.abs(miss) / np.maximum(variance, 1e-300))
    tilt = np.clip(tilt, 0.5 * low, 0.5 * high)
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
    """Limits for the mean probability of independent bits, of which this many are 1.

    They hold whatever the single probabilities are, and none that do are narrower unless tails are
    above 1/4 (docs/theory.md, Theorem 10.1).
    """
    return _mean_above(ones, trials, tail), 1.0 - _mean_above(trials - ones, trials, tail)


def _mean_above(ones: float, trials: int, tail: float) -> float:
    """The largest mean at which this many ones, or more, have probability ``tail`` at most.

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
