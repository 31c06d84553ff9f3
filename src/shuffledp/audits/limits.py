"""Exact tests of counts and confidence limits, every p-value and every limit rounded outward.

A p-value here is a random variable p with P(p <= a) <= a for all a under the hypothesis, in finite
samples; a limit is beyond the truth with at most the probability stated (docs/theory-audit.md,
sections 2 to 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaincinv, chdtrc
from scipy.stats import hypergeom

Floats = npt.NDArray[np.floating]
Counts = npt.NDArray[np.integer]

# Incomplete beta functions of SciPy are good to about 1e-11 for the counts met here (measured
# against ball arithmetic up to 1e8 trials, tests/audits/test_limits.py); hundred times that.
SLACK = 1e-9
# Hypergeometric probabilities of SciPy are good to about 1e-8 up to 1e9 drawn ones (measured
# against exact fractions, tests/audits/test_limits.py); hundred times that.
DRAWN = 1e-6
# Smaller probabilities are said to be this large: a p-value does not underflow to "impossible".
SMALLEST = 1e-300
# Terms of a hypergeometric tail that are added up at once; the rest is below a geometric series.
_BLOCK = 1 << 14
# The series ends where its rest is below this part of it.
_NEGLIGIBLE = 1e-9
# Relative steps down from a quantile until its tail is at most the level; the last one is 0 itself.
_STEPS = (SLACK, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5)
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


def _up(value: float, slack: float = SLACK) -> float:
    return min(1.0, max(value * (1.0 + slack), SMALLEST))


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


def drawn(count: int, *, n: int, marked: int, draws: int) -> float:
    """p-value, two sides, of a count of marked ones among draws without replacement.

    Twice the tail on the side of the mean on which the count lies: Fisher's exact test, if two
    groups of reports fall into an event with the same unknown probability (Lemma 4.1).

    Parameters
    ----------
    count : int
        Marked ones among the drawn ones.
    n, marked, draws : int
        How many there are, how many of them are marked, and how many are drawn.
    """
    if count * n < draws * marked:
        count, marked = draws - count, n - marked
    if count <= max(0, draws + marked - n):
        return 1.0
    term = float(hypergeom.pmf(count, n, marked, draws))
    total, most = term, min(marked, draws)
    for start in range(count, most, _BLOCK):
        k = np.arange(start, min(most, start + _BLOCK), dtype=np.float64)
        # P(k + 1)/P(k), which falls as k grows and is below 1 from the mean on.
        ratios = (marked - k) * (draws - k) / ((k + 1.0) * (n - marked - draws + k + 1.0))
        terms = term * np.cumprod(ratios)
        total += float(terms.sum())
        term, ratio = float(terms[-1]), float(ratios[-1])
        if term * ratio <= _NEGLIGIBLE * total * (1.0 - ratio):
            break
    return min(1.0, 2.0 * _up(total, DRAWN))


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

    Each count given those before it is binomial; their two-sided p-values are combined.

    Parameters
    ----------
    counts : ndarray of int, shape (C,)
        Observed.
    low, high : ndarray, shape (C,)
        Ends of the claimed probabilities.
    """
    rest, found = int(counts.sum()), []
    # Sums from the right, outward: what is left after each cell.
    after_low = np.append(np.cumsum(low[::-1])[::-1][1:], 0.0) * (1.0 - SLACK)
    after_high = np.append(np.cumsum(high[::-1])[::-1][1:], 0.0) * (1.0 + SLACK)
    for i in range(counts.size - 1):
        if rest == 0:
            break
        least = _share(float(low[i]), float(after_high[i]), empty=0.0)
        most = _share(float(high[i]), float(after_low[i]), empty=1.0)
        found.append(two_sided(int(counts[i]), rest, least, most))
        rest -= int(counts[i])
    return combined(found)


def _share(own: float, others: float, *, empty: float) -> float:
    return own / (own + others) if own + others > 0.0 else empty


def at_most_poisson(count: int, mean: float) -> float:
    """p-value of "factorial moments are at most those of a Poisson law": E C(S, k) <= mean^k/k!.

    Then E (1 + t)^S <= e^(t mean) for t >= 0, and P(S >= count) <= e^(count - mean)
    (mean/count)^count at 1 + t = count/mean.
    """
    if count <= mean:
        return 1.0
    return _up(math.exp(count - mean + count * math.log(mean / count)) if mean else 0.0)


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
        low, high = (low, middle) if upper_tail(middle, n, p) <= level else (middle + 1, high)
    return low


def detectable(n: int, p: float, level: float, *, power: float) -> float:
    """The smallest probability above p that the upper-tail test finds with this power."""
    count = critical_count(n, p, level)
    # Where P(Bin(n, p') >= count) = power.
    return float(betaincinv(count, n - count + 1.0, power)) if count <= n else math.inf
