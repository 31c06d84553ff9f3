"""Binary randomized response among others of whom k hold 1: exact divergence, k scanned.

All that a shuffler shows of bits is how many are 1. With B the law of the number of ones among the
other n - 1 reports, k of which come from a 1, f = 1/(E+1) and a = e^eps, victim 1 against victim 0:

    H_a = f sum_v [ (E - a) B(v-1) - (a E - 1) B(v) ]_+ .

Every k gives one pair of datasets, hence a lower bound; both directions are covered because k and
n - 1 - k exchange them. "All others hold the same" (k = 0 or n - 1) is not always the worst.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp import _check
from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
LARGEST_COUNT = 100_000
_ALL_UP_TO = 40
_STEPS = 16
_FLOOR = -640.0


class OnesScan:
    """Lower bounds of the profile of shuffled binary randomized response.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats.
    n : int
        Users, at most 100,000.
    """

    def __init__(self, *, eps0: float, n: int) -> None:
        self.eps0 = _check.local_epsilon("eps0", eps0)
        self.n = _check.count("n", n)
        if self.n > LARGEST_COUNT:
            msg = f"n = {self.n:,}: the number of ones is scanned up to n = {LARGEST_COUNT:,}"
            raise NotCertified(msg)
        self.counts = _counts(self.n - 1)
        self._laws: dict[int, tuple[Array, float]] = {}

    def log_delta(self, epsilon: float) -> tuple[float, int]:
        """The largest lower end of log delta over the counts tried, and the count it is for."""
        epsilon = _check.epsilon("epsilon", epsilon)
        if epsilon >= self.eps0:
            return -math.inf, 0
        best = max((self._log_delta(k, epsilon), -i, k) for i, k in enumerate(self.counts))
        return best[0], best[2]

    def _log_delta(self, ones: int, epsilon: float) -> float:
        if ones not in self._laws:
            self._laws[ones] = _ones_law(self.n - 1, ones, self.eps0)
        law, rel = self._laws[ones]
        # In units of E: f (E - a) = t (1 - a/E), f (aE - 1) = t (a - 1/E), t = E/(E + 1).
        up = -math.expm1(epsilon - self.eps0)
        down = math.exp(-self.eps0) * math.expm1(epsilon + self.eps0)
        rel += 16 * U * (1.0 + self.eps0)
        # Masses below e^-640 are absent: they can only add to B(v) there.
        shifted = np.concatenate([[0.0], law])
        still = np.concatenate([law, [0.0]])
        gain = up * shifted * (1.0 - rel) - down * (still * (1.0 + rel) + _ABSENT)
        total = float(np.maximum(gain, 0.0).sum()) / (1.0 + math.exp(-self.eps0))
        total *= 1.0 - (law.size + 64) * U - 8 * U * self.eps0
        return math.log(total) - 4 * U * abs(math.log(total)) if total > 0.0 else -math.inf


def _counts(others: int) -> tuple[int, ...]:
    """How many of the others hold 1: all small cases, else a grid with the ends."""
    if others <= _ALL_UP_TO:
        return tuple(range(others + 1))
    grid = {round(others * i / _STEPS) for i in range(_STEPS + 1)}
    return tuple(sorted(grid | {1, others - 1}))


def _ones_law(others: int, ones: int, eps0: float) -> tuple[Array, float]:
    """Law of the number of ones of the others, and the relative error of its entries."""
    # P(report 1) is E/(E+1) for a 1 and 1/(E+1) for a 0: the odds are e^eps0 and e^-eps0.
    first, err_first = _binomial(ones, eps0)
    second, err_second = _binomial(others - ones, -eps0)
    law = np.convolve(first, second)
    return law, err_first + err_second + (min(first.size, second.size) + 4) * U


def _binomial(size: int, log_odds: float) -> tuple[Array, float]:
    """Masses of Bin(size, odds/(1+odds)) above e^-640 of the largest, and their relative error.

    By ratios of neighbouring masses from the mode outward, then divided by their sum, which is 1
    but for what is left out. Where the support starts does not matter here.
    """
    if size == 0:
        return np.ones(1), 0.0
    j = np.arange(size, dtype=np.float64)
    ratio = np.log((size - j) / (j + 1.0))
    steps = ratio + log_odds  # log of mass(j+1)/mass(j), falling in j
    mode = int(np.searchsorted(-steps, 0.0))
    below, above = np.cumsum(-steps[:mode][::-1]), np.cumsum(steps[mode:])
    # Rounding: of each step, and of the partial sum it is added to.
    sizes = 4.0 * U * (2.0 + np.abs(ratio) + abs(log_odds))
    err_below = np.cumsum(sizes[:mode][::-1] + U * np.abs(below))
    err_above = np.cumsum(sizes[mode:] + U * np.abs(above))
    log = np.concatenate([below[::-1], [0.0], above])
    err = np.concatenate([err_below[::-1], [0.0], err_above])
    kept = log > _FLOOR
    mass = np.exp(log[kept])
    worst = float(err[kept].max()) + 8 * U * (1.0 - _FLOOR)
    return mass / mass.sum(), 2.0 * worst + (mass.size + 8) * U


_ABSENT = 1e-270
