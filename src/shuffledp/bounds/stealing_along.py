"""Label stealing at many eps, as composing rounds asks for it.

Free numbers are searched at anchors, a fixed sequence of eps, and shared by all eps near one: any
are valid (docs/theory-stealing.md, Theorem 2.3), so that only the sum is left to do at each eps.
The anchors are a function of the mechanism and of n alone, and so is the bound at an eps, whatever
was asked before.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Protocol

from shuffledp.bounds.stealing import Numbers
from shuffledp.bounds.stealing_ends import End

__all__ = ["Along"]

# Anchors in deviations of the privacy loss, up to 18, where a normal tail is 1e-72, and from there
# on by a factor: numbers of an anchor lose less than 1e-3 of log delta half way to the next.
_ANCHORS, _RATIO = (0.4, 0.8, 1.4, 2.2, 3.5, 5.0, 7.0, 9.0, 11.0, 13.0, 15.5, 18.0), 1.15
# Beyond this eps no bound is looked for: no local guarantee of the range of promise is larger.
_LARGEST = 60.0
# h alpha of sums at many eps: 2e-4 of log delta.
_SMOOTHING = 0.02


class Plans(Protocol):
    """What makes and certifies plans: ``Stealing``, or ``IntervalStealing``."""

    @property
    def deviation(self) -> float:
        """Of the privacy loss, to first order."""
        ...

    def searched(self, eps: float) -> tuple[float, list[Any]]:
        """About log delta at eps, and numbers that were searched for it."""
        ...

    def moved(self, plans: Sequence[Any], eps: float, about: float) -> list[Any]:
        """The same numbers at another eps."""
        ...

    def numbers(self, plan: Any, smoothest: float) -> Numbers:
        """A plan's free numbers, and where to sum at them."""
        ...

    def certified(self, eps: float, numbers: Sequence[Numbers], about: float) -> End | None:
        """A certified log delta at these numbers; None where there is none below 1."""
        ...


class Along:
    """Upper bounds of log delta at many eps.

    Parameters
    ----------
    stealing : Plans
        The mechanism, and the users.
    """

    def __init__(self, stealing: Plans) -> None:
        self._stealing = stealing
        self._anchors: dict[int, tuple[float, list[Any]]] = {}
        self._found: dict[float, End | None] = {}

    def rough(self, epsilon: float) -> float:
        """About log delta at eps >= 0; 0 where there is no bound."""
        return self._plans(epsilon)[0]

    def bounded(self, epsilon: float) -> End | None:
        """A certified log delta and its numbers; None where there is none."""
        if epsilon not in self._found:
            about, plans = self._plans(epsilon)
            made = {id(plan): plan for plan in plans}
            each = {key: self._stealing.numbers(plan, _SMOOTHING) for key, plan in made.items()}
            numbers = [each[id(plan)] for plan in plans]
            has_one = about < 0.0 and math.isfinite(about)
            self._found[epsilon] = (
                self._stealing.certified(epsilon, numbers, about) if has_one else None
            )
        return self._found[epsilon]

    def _plans(self, epsilon: float) -> tuple[float, list[Any]]:
        """The better numbers of the anchors before and after eps, at eps."""
        if not (epsilon < _LARGEST and self._stealing.deviation > 0.0):
            return 0.0, []
        k = _index(epsilon / self._stealing.deviation)
        found = [self._from(i, epsilon) for i in (k - 1, k) if i >= 0]
        return min(found, key=lambda one: one[0])

    def _from(self, k: int, epsilon: float) -> tuple[float, list[Any]]:
        """Numbers of one anchor, and about what they give at eps."""
        if k not in self._anchors:
            self._anchors[k] = self._stealing.searched(_anchor(k) * self._stealing.deviation)
        about, plans = self._anchors[k]
        if not (about < 0.0 and math.isfinite(about)):
            return 0.0, []
        moved = self._stealing.moved(plans, epsilon, about)
        return min(max(plan.value for plan in moved), 0.0), moved


def _anchor(k: int) -> float:
    last = len(_ANCHORS) - 1
    return _ANCHORS[k] if k <= last else _ANCHORS[last] * _RATIO ** (k - last)


def _index(place: float) -> int:
    """The first anchor that is not below a place."""
    if place <= _ANCHORS[-1]:
        return bisect_left(_ANCHORS, place)
    k = len(_ANCHORS) - 1
    while _anchor(k) < place:
        k += 1
    return k
