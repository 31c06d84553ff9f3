"""The largest divergence over how many of the others hold which value: both ends.

Of N = n - 1 others m hold the value with the larger probability of a 1. For m1 <= m <= m2 the
divergence is at most that among m1 of the one kind and N - m2 of the other, the rest left out
(docs/theory-binary.md, Theorem 3.1): intervals are halved, the one with the largest bound first,
until that is as low as wanted.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

from shuffledp.binary.crowd import Parts, Problem, divergence

# Evaluations of one divergence before what is known so far is returned.
MOST_EVALUATIONS = 20_000
# Intervals shorter than this share of all are looked into for a larger divergence.
_LOOK = 1.0 / 16.0


class Found(NamedTuple):
    """log of both ends of the largest divergence, and where the lower one is attained.

    Attributes
    ----------
    log_low, log_high : float
        -inf for 0.
    high : int
        m: others of the kind with the larger probability of a 1, for the lower end.
    evaluations : int
        Divergences that were evaluated.
    """

    log_low: float
    log_high: float
    high: int
    evaluations: int


def largest(problem: Problem, others: int, *, width: float, enough: float = -math.inf) -> Found:
    """Both ends of log max_m D(m), no farther apart than ``width`` unless that takes too long.

    Parameters
    ----------
    problem : Problem
        The victim's laws and the others'.
    others : int
        N = n - 1.
    width : float
        Wanted of log_high - log_low.
    enough : float
        The upper end need not be below this.
    """
    search = _Search(problem, others)
    search.look(0)
    search.look(others)
    heap = [(-search.above(0, others), 0, others)]
    while True:
        top, first, last = heap[0]
        log_high = max(-top, search.log_low)
        narrow = log_high <= max(search.log_low + width, enough)
        if narrow or first == last or search.evaluations >= MOST_EVALUATIONS:
            # A bound that is exact cannot be improved on: what is left is rounding.
            return Found(search.log_low, log_high, search.high, search.evaluations)
        heapq.heappop(heap)
        middle = (first + last) // 2
        if last - first <= _LOOK * others + 2:
            search.look(middle)
        for low, high in ((first, middle), (middle + 1, last)):
            heapq.heappush(heap, (-min(search.above(low, high), -top), low, high))


class _Search:
    """Divergences evaluated so far, and the largest of their lower ends."""

    def __init__(self, problem: Problem, others: int) -> None:
        self._problem, self._others, self._parts = problem, others, Parts(problem)
        self.log_low, self.high, self.evaluations = -math.inf, 0, 0

    def look(self, m: int) -> None:
        """D(m), for the lower end."""
        found = divergence(self._problem, m, self._others - m, self._parts)
        self.evaluations += 1
        if found.log_low > self.log_low:
            self.log_low, self.high = found.log_low, m

    def above(self, first: int, last: int) -> float:
        """Upper bound of log D(m) for all first <= m <= last."""
        found = divergence(self._problem, first, self._others - last, self._parts)
        self.evaluations += 1
        if first == last and found.log_low > self.log_low:
            self.log_low, self.high = found.log_low, first
        return found.log_high
