"""Exact tests of counts and confidence limits, every p-value and every limit rounded outward.

A p-value here is a random variable p with P(p <= a) <= a for all a under the hypothesis, in finite
samples; a limit is beyond the truth with at most the probability stated (docs/theory-audit.md,
sections 2 to 4).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaincinv, chdtrc, gammaln
from scipy.stats import hypergeom

Floats = npt.NDArray[np.floating]
Counts = npt.NDArray[np.integer]

# Incomplete beta functions of SciPy are good to about 1e-11 for the counts met here (measured
# against ball arithmetic up to 1e8 trials, tests/audit/test_limits.py); hundred times that.
SLACK = 1e-9
# Hypergeometric tails of SciPy are good to about 1e-8 up to 1e9 drawn ones (measured against exact
# fractions, tests/audit/test_limits.py); hundred times that.
DRAWN = 1e-6
# Smaller probabilities are said to be this large: a p-value does not underflow to "impossible".
SMALLEST = 1e-300
# Relative steps down from a quantile until its tail is at most the level; the last one is 0 itself.
_STEPS = (SLACK, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5)
# Compositions that are enumerated for the exact multinomial test: a fraction of a second.
_MOST_COMPOSITIONS = 20_000
_LOG_HALF = math.log(0.5)
# The smallest level of which a share of 1/100 is above SMALLEST.
_LEAST_LOG = math.log(SMALLEST) + math.log(1e6)


def upper_tail(count: int, n: int, p: float) -> float:
    """P(Bin(n, p) >= count) = I_p(count, n - count + 1), rounded up."""
    if count <= 0 or p >= 1.0:
        return 1.0
    if count > n or p <= 0.0:
        return 0.0
    return _up(float(betainc(count, n - count + 1.0, p)))


def lower_tail(count: int, n: int, p: float) -> float:
    """P(Bin(n, p) <= count) = 1 - I_p(count + 1, n - count), rounded up."""
    if count >= n or p <= 0.0:
        return 1.0
    if count < 0 or p >= 1.0:
        return 0.0
    return _up(float(betaincc(count + 1.0, n - count, p)))


def _up(value: float) -> float:
    return min(1.0, max(value * (1.0 + SLACK), SMALLEST))


def two_sided(count: int, n: int, low: float, high: float) -> float:
    """p-value of "the probability is between low and high": twice the smaller tail."""
    return min(1.0, 2.0 * min(upper_tail(count, n, high), lower_tail(count, n, low)))


def lower_limit(count: int, n: int, alpha: float) -> float:
    """Clopper and Pearson's lower limit: the truth is below it with probability <= alpha."""
    if count <= 0 or alpha <= SMALLEST:
        return 0.0
    value = float(betaincinv(count, n - count + 1.0, alpha))
    # Ends are claimed where the tail was evaluated: below the quantile where that was rounded.
    for step in _STEPS:
        if upper_tail(count, n, value * (1.0 - step)) <= alpha:
            return value * (1.0 - step)
    return 0.0


def upper_limit(count: int, n: int, alpha: float) -> float:
    """The truth is above it with probability <= alpha."""
    return min(1.0, 1.0 - lower_limit(n - count, n, alpha) * (1.0 - 2.0**-52) + 2.0**-53)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values: rejecting those at most alpha errs at all with probability <= alpha.

    Holm 1979. Whatever the dependence between the tests.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def more_often(first: tuple[int, int], second: tuple[int, int]) -> float:
    """p-value of "both probabilities are equal", one side: the first is not the larger one.

    Given the sum of both counts the first is hypergeometric (Fisher's exact test).

    Parameters
    ----------
    first, second : tuple of two ints
        Counts, and of how many.
    """
    (a, m), (b, n) = first, second
    if a <= 0:
        return 1.0
    return _up(float(hypergeom.sf(a - 1, m + n, a + b, m)) * (1.0 + DRAWN))


def combined(p_values: Sequence[float]) -> float:
    """Fisher's combination of p-values each of which is one given those before it.

    -2 sum log p is at most a chi-square with two degrees each in the usual order (theory 2.3).
    """
    if not p_values:
        return 1.0
    total = -2.0 * math.fsum(math.log(max(p, SMALLEST)) for p in p_values)
    return _up(float(chdtrc(2.0 * len(p_values), total)))


def multinomial(counts: Counts, low: Floats, high: Floats) -> float:
    """p-value of "cell probabilities lie between low and high" from all counts at once.

    Few compositions: the probability of all counts no likelier than those seen, by enumeration.
    Otherwise each count given those before it is binomial; two-sided p-values are combined.

    Parameters
    ----------
    counts : ndarray of int, shape (C,)
        Observed.
    low, high : ndarray, shape (C,)
        Ends of the claimed probabilities.
    """
    n = int(counts.sum())
    if n == 0 or counts.size < 2:
        return 1.0
    if math.comb(n + counts.size - 1, counts.size - 1) <= _MOST_COMPOSITIONS:
        return _enumerated(counts, low, high)
    return combined(_given_before(counts, low, high))


def _given_before(counts: Counts, low: Floats, high: Floats) -> list[float]:
    """Two-sided p-values of each cell's count among what is left."""
    rest = int(counts.sum())
    # Sums from the right, outward: what is left after each cell.
    after_low = np.append(np.cumsum(low[::-1])[::-1][1:], 0.0) * (1.0 - SLACK)
    after_high = np.append(np.cumsum(high[::-1])[::-1][1:], 0.0) * (1.0 + SLACK)
    found = []
    for i in range(counts.size - 1):
        if rest == 0:
            break
        least = _share(float(low[i]), float(after_high[i]), up=False)
        most = _share(float(high[i]), float(after_low[i]), up=True)
        found.append(two_sided(int(counts[i]), rest, least, most))
        rest -= int(counts[i])
    return found


def _share(own: float, others: float, *, up: bool) -> float:
    total = own + others
    if total <= 0.0:
        return 1.0 if up else 0.0
    return own / total


def _enumerated(counts: Counts, low: Floats, high: Floats) -> float:
    """The sum of the probabilities of all outcomes that are no likelier than this one."""
    n, cells = int(counts.sum()), counts.size
    bars = np.array(list(itertools.combinations(range(n + cells - 1), cells - 1)), dtype=np.int64)
    ends = np.column_stack(
        [
            np.full(len(bars), -1),
            bars.reshape(len(bars), cells - 1),
            np.full(len(bars), n + cells - 1),
        ]
    )
    outcomes = np.diff(ends, axis=1) - 1
    with np.errstate(divide="ignore"):
        middle = np.log(0.5 * (low + high))
        top = np.log(high)

    def logs(rows: Counts, log_p: Floats) -> Floats:
        terms = np.where(rows > 0, rows * np.where(rows > 0, log_p, 0.0), 0.0)
        return gammaln(n + 1.0) - gammaln(rows + 1.0).sum(axis=1) + terms.sum(axis=1)

    order = logs(outcomes, middle)
    seen = float(logs(counts[None, :], middle)[0])
    if seen == -math.inf:
        return _up(float(np.exp(logs(counts[None, :], top)[0])))
    # Ties in exact arithmetic count, whatever rounding makes of them.
    kept = order <= seen + SLACK * (1.0 + abs(seen))
    return _up(float(np.exp(logs(outcomes[kept], top)).sum()))


def dkw(excess: float, n: int) -> float:
    """p-value of sup (F_n - F) >= excess, one side: e^(-2 n excess^2) where that is at most 1/2.

    Massart 1990: the constant 1 is valid from there on, for any F, continuous or not.
    """
    if excess <= 0.0:
        return 1.0
    log = -2.0 * n * excess * excess
    return 1.0 if log > _LOG_HALF else _up(math.exp(log))


class Ratio:
    """Counts of one event under two inputs: what they say of p0 <= e^eps p1 + delta.

    Parameters
    ----------
    count0, n0, count1, n1 : int
        Reports in the event and all reports, under the first and the second input.
    share : float
        Part of the level spent on p0, chosen before the counts; the rest is spent on p1.
    """

    def __init__(self, count0: int, n0: int, count1: int, n1: int, share: float) -> None:
        self.first, self.second, self.share = (count0, n0), (count1, n1), share

    def ends(self, alpha: float) -> tuple[float, float]:
        """p0 >= the first and p1 <= the second, both with probability >= 1 - alpha."""
        return (
            lower_limit(*self.first, self.share * alpha),
            upper_limit(*self.second, (1.0 - self.share) * alpha),
        )

    def epsilon(self, alpha: float, *, delta: float = 0.0) -> float:
        """Lower confidence bound of eps at this delta, at least 0."""
        low, high = self.ends(alpha)
        gap = low - delta
        if gap <= high or high <= 0.0:
            return 0.0
        return max(0.0, math.log(gap / high) * (1.0 - 4e-16) - 1e-15)

    def delta(self, alpha: float, *, epsilon: float) -> float:
        """Lower confidence bound of delta at this eps."""
        low, high = self.ends(alpha)
        grown = math.exp(epsilon) * high if epsilon < 700.0 else math.inf
        return max(0.0, (low - grown) * (1.0 - 1e-15) - 1e-16)

    def p_value(self, epsilon: float, *, delta: float = 0.0) -> float:
        """Smallest level, to a factor 1 + 2^-20, at which the limits contradict the guarantee."""
        grow = math.exp(min(epsilon, 700.0))

        def refuted(log_level: float) -> bool:
            low, high = self.ends(math.exp(log_level))
            return low > grow * high * (1.0 + 1e-12) + delta

        least, most = _LEAST_LOG, 0.0
        if not refuted(math.log(0.999)):
            return 1.0
        if refuted(least):
            return math.exp(least)
        while most - least > 2.0**-20:
            middle = 0.5 * (least + most)
            least, most = (least, middle) if refuted(middle) else (middle, most)
        return min(1.0, math.exp(most) * (1.0 + SLACK))


def critical_count(n: int, p: float, level: float) -> int:
    """The smallest count whose upper tail under p is at most the level; n + 1 if there is none."""
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        if upper_tail(middle, n, p) <= level:
            high = middle
        else:
            low = middle + 1
    return low


def detectable(n: int, p: float, level: float, *, power: float) -> float:
    """The smallest probability above p that the upper-tail test finds with this power."""
    count = critical_count(n, p, level)
    if count > n:
        return math.inf
    # Where P(Bin(n, p') >= count) = power.
    return float(betaincinv(count, n - count + 1.0, power))


def power_of(n: int, claimed: float, level: float, true: float) -> float:
    """Probability that the upper-tail test of ``claimed`` at this level refutes, if ``true``."""
    count = critical_count(n, claimed, level)
    if count > n:
        return 0.0
    if count <= 0:
        return 1.0
    return float(betainc(count, n - count + 1.0, true))
