"""Where to cut a law of gains into layers of the largest gain, in floats.

Where rare large gains decide, Chernoff's bound of the whole sum is far above E f(S - shift), and
one contour would have to cancel most of it. Then the draws are taken apart by their largest gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from shuffledp.kernel.direct import count_vectors
from shuffledp.propose.saddle import Array, Part, Sum

__all__ = ["by_counts", "cuts_of", "log_expectation", "parts_of"]

# A layer may have Chernoff's bound this much above the whole answer, in logs: the contour then
# cancels no more than e^6 of it.
_APART = 6.0
# Gains of one layer reach up to so many times the cut below it, even if they are further apart.
_REACH = 1.7
# Rounds of guessing the answer that the cuts follow.
_GUESSES = 4


def log_expectation(masses: Array, gains: Array, n: int, surplus: float) -> tuple[float, list[int]]:
    """About log E (S)_+, and the cuts: how many of the sorted atoms lie below each.

    Parameters
    ----------
    masses, gains : arrays sorted by gains.
    n : int
        Draws.
    surplus : float
        The sum of the masses less 1.
    """
    whole = Sum([Part(masses, gains, n, surplus)])
    found, cuts = whole.estimate.log_value, [masses.size]
    if whole.log_chernoff(whole.alpha) <= found + _APART:
        return found, cuts
    # Either one draw is large, all others at their mean, or what the sum over nodes found.
    rest = (n - 1) * float(masses @ gains)
    jump = n * float(masses @ np.maximum(gains + rest, 0.0))
    guess = max(found, math.log(jump) if jump > 0.0 else -math.inf)
    if guess == -math.inf:
        return found, cuts
    for _ in range(_GUESSES):
        cuts = cuts_of(masses, gains, n, surplus, guess)
        values = [
            Sum([part]).estimate.log_value for part in parts_of(masses, gains, n, surplus, cuts)
        ]
        found = float(np.logaddexp.reduce(values))
        if abs(found - guess) < 1.0 or found == -math.inf:
            break
        guess = found
    return found, cuts


def parts_of(
    masses: Array, gains: Array, n: int, surplus: float, cuts: Sequence[int]
) -> list[Part]:
    """The layers: all draws below the first cut, then at least one between two cuts.

    The first layer is left out where no gain in it is positive: its sum is then at most 0.
    """
    found, before = [], 0
    for cut in cuts:
        missing = surplus - float(masses[cut:].sum())
        if before:
            found.append(Part(masses[:cut], gains[:cut], n, missing, cut - before))
        elif gains[cut - 1] > 0.0:
            found.append(Part(masses[:cut], gains[:cut], n, missing))
        before = cut
    return found


def cuts_of(masses: Array, gains: Array, n: int, surplus: float, log_answer: float) -> list[int]:
    """Cuts such that every layer's Chernoff bound is near the answer, as few as that takes."""
    size = masses.size

    def fits(before: int, cut: int) -> bool:
        rare = cut - before if before else 0
        part = Sum([Part(masses[:cut], gains[:cut], n, surplus - float(masses[cut:].sum()), rare)])
        return part.log_chernoff(part.alpha) <= log_answer + _APART

    def last(before: int, start: int) -> int:
        low, high = start, size
        if fits(before, size):
            return size
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(before, middle) else (low, middle)
        return low

    first = max(int(np.searchsorted(gains, 0.0, side="right")), 1)
    cuts = [first if first == size else last(0, first)]
    while cuts[-1] < size:
        before = cuts[-1]
        reach = (
            int(np.searchsorted(gains, gains[before - 1] * _REACH)) if gains[before - 1] > 0 else 0
        )
        cuts.append(min(size, max(last(before, before + 1), reach, before + 1)))
    return cuts


@lru_cache(maxsize=8)
def _counts(n: int, atoms: int) -> tuple[Array, Array]:
    """All counts of n draws from so many atoms, and logs of their multinomial coefficients."""
    counts = np.array(list(count_vectors(n, atoms)), dtype=np.float64)
    logs = np.cumsum([0.0, *np.log(np.arange(1, n + 1))])
    return counts, logs[n] - logs[counts.astype(np.intp)].sum(axis=1)


def by_counts(masses: Array, gains: Array, n: int) -> float:
    """log E (S)_+ by all counts.

    Parameters
    ----------
    masses, gains : arrays of the same size
        The law of one draw.
    n : int
        Draws.
    """
    counts, log = _counts(n, masses.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.exp(log + np.where(counts > 0.0, counts * np.log(masses), 0.0).sum(axis=1))
    value = float(weights @ np.maximum(counts @ gains, 0.0))
    return math.log(value) if value > 0.0 else -math.inf
