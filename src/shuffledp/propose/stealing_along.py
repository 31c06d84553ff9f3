"""Label stealing at many eps, as compositions of rounds need it.

Free numbers are searched at anchors, a fixed sequence of eps, and shared by all eps near an
anchor: any numbers are valid (docs/theory-stealing.md, Theorem 2.3), so that only the sum is left
to evaluate at each eps. Anchors depend on the mechanism and n alone. So does the bound at an eps,
whatever was evaluated before.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Protocol

from shuffledp.bounds.stealing import Numbers
from shuffledp.propose.stealing_ends import End

__all__ = ["Along"]

# Anchors in standard deviations of the privacy loss, up to 18, where a normal tail is 1e-72; beyond
# that, by a factor. An anchor's numbers lose less than 1e-3 of log delta half way to the next.
_ANCHORS, _RATIO = (0.4, 0.8, 1.4, 2.2, 3.5, 5.0, 7.0, 9.0, 11.0, 13.0, 15.5, 18.0), 1.15
# Largest eps that is tried; local guarantees in the range of promise are smaller.
_LARGEST = 60.0
# h alpha of the sums at many eps: it costs 2e-4 of log delta.
_SMOOTHING = 0.02


class Plans(Protocol):
    """The interface that makes and certifies plans: ``Stealing`` or ``IntervalStealing``."""

    @property
    def deviation(self) -> float:
        """Standard deviation of the privacy loss, to first order."""
        ...

    def searched(self, eps: float) -> tuple[float, list[Any]]:
        """An estimate of log delta at eps, and the free numbers found by a search there."""
        ...

    def moved(self, plans: Sequence[Any], eps: float, about: float) -> list[Any]:
        """The same numbers at another eps."""
        ...

    def numbers(self, plan: Any, smoothest: float) -> Numbers:
        """A plan's free numbers, with the line and step of the sums."""
        ...

    def certified(self, eps: float, numbers: Sequence[Numbers], about: float) -> End | None:
        """A certified log delta at these numbers; None where it is not below 0."""
        ...


class Along:
    """Upper bounds of log delta at many eps.

    Parameters
    ----------
    stealing : Plans
        The mechanism among its n users.
    """

    def __init__(self, stealing: Plans) -> None:
        self._stealing = stealing
        self._anchors: dict[int, tuple[float, list[Any]]] = {}
        self._found: dict[float, End | None] = {}

    def rough(self, epsilon: float) -> float:
        """An estimate of log delta at eps >= 0; 0 where there is no bound."""
        return self._plans(epsilon)[0]

    def bounded(self, epsilon: float) -> End | None:
        """A certified log delta and its free numbers; None where there is none."""
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
        """The better of the numbers of the anchors before and after eps, moved to eps."""
        if not (epsilon < _LARGEST and self._stealing.deviation > 0.0):
            return 0.0, []
        k = _index(epsilon / self._stealing.deviation)
        found = [self._from(i, epsilon) for i in (k - 1, k) if i >= 0]
        return min(found, key=lambda one: one[0])

    def _from(self, k: int, epsilon: float) -> tuple[float, list[Any]]:
        """The numbers of one anchor moved to eps, and the log delta estimated there."""
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
    """Index of the first anchor that is not below a place."""
    if place <= _ANCHORS[-1]:
        return bisect_left(_ANCHORS, place)
    k = len(_ANCHORS) - 1
    while _anchor(k) < place:
        k += 1
    return k
