"""Certified ends of eps and delta by label stealing: the search that all its forms share.

Floats search free numbers at some eps, and move them to others, where only their tilt changes: any
numbers are valid (docs/theory-stealing.md, Theorem 2.3). Balls certify the bound at an eps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from shuffledp.propose.solve import Root, Value, certified, first_epsilon, root

__all__ = ["End", "Plan", "Stealing", "worst_of"]

# Largest eps that is tried; local guarantees in the range of promise are smaller.
_LARGEST = 60.0
# Least amount by which a certified log delta is below the target; a finer sum does not notice it.
_SPARE = 2e-7
# Most searches on the way to a delta, the distance in log delta at which a search misses it, and
# the most that another one may gain. Numbers searched this near, in log eps, are kept: a new search
# gains less than 1e-4 of eps.
_SEARCHES, _MISSED, _GAINED, _SAME = 6, 0.05, 0.5, 5e-3
# Tolerance in log delta of a crossing, over the relative accuracy of eps.
_NEARLY = 3.0
# Most searches at one eps, whose log delta is guessed, the relative change of log delta at which
# they end, and the factor for a guess of log delta for which no numbers are found.
_GUESSES, _SETTLED, _SHALLOWER = 3, 0.1, 0.6
# Anchors in standard deviations of the privacy loss, up to 18, where a normal tail is 1e-72; beyond
# that, by a factor. An anchor's numbers lose less than 1e-3 of log delta half way to the next.
_ANCHORS, _RATIO = (0.4, 0.8, 1.4, 2.2, 3.5, 5.0, 7.0, 9.0, 11.0, 13.0, 15.5, 18.0), 1.15


class Plan(Protocol):
    """Free numbers for one pair of inputs, with the bound that floats estimate for them."""

    @property
    def value(self) -> float:
        """An estimate of log delta."""
        ...


class End(NamedTuple):
    """A certified point: delta at eps is at most this for all data sets.

    Attributes
    ----------
    epsilon, log_delta : float
        The eps in nats and the bound of log delta.
    numbers : sequence
        Free numbers of each pair of inputs, in the order of its theorem.
    which : int
        Index of the pair that seems the worst.
    """

    epsilon: float
    log_delta: float
    numbers: Sequence[Any]
    which: int


class Stealing(ABC):
    """Label stealing among fixed users: how numbers are searched, moved and certified."""

    #: Relative accuracy of eps at a delta.
    rtol: ClassVar[float] = 1e-6
    #: A log delta this far below the target is not computed any more sharply.
    far: ClassVar[float] = 1e-3

    def __init__(self) -> None:
        self._anchors: dict[int, tuple[float, Sequence[Any]]] = {}
        self._found: dict[float, End | None] = {}

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Standard deviation of the privacy loss, to first order."""

    @abstractmethod
    def search(self, eps: float, about: float, last: Sequence[Any] | None) -> Sequence[Any] | None:
        """Plans of all pairs at eps for a log delta near ``about``, from ``last`` or from scratch.

        None if there are no numbers for so small a delta.
        """

    @abstractmethod
    def moved(self, plans: Sequence[Any], eps: float, about: float) -> Sequence[Any]:
        """The same numbers at another eps, each at its saddle point there."""

    @abstractmethod
    def bound(
        self,
        plans: Sequence[Any],
        eps: float,
        about: float,
        *,
        enough: float = -math.inf,
        rough: bool = False,
    ) -> End:
        """The bound that balls certify at these numbers.

        Parameters
        ----------
        plans : sequence
            Plans of all pairs at this eps.
        eps, about : float
            eps > 0 in nats, and an estimate of log delta there.
        enough : float
            A log delta: a bound at most this is not computed any more sharply.
        rough : bool
            Whether the bound may lose 1e-3 of eps, as one of many for rounds.
        """

    # ------------------------------------------------------------------------------ questions

    def epsilon(self, target: float, *, cap: float) -> End | None:
        """An eps, close to the least, with log delta certified at most the target; None if none.

        Parameters
        ----------
        target : float
            log of the target delta.
        cap : float
            Upper limit: None is returned where the eps would not be below it.
        """
        cap = min(cap, _LARGEST)
        found = self._crossing(target, cap)
        if found is None:
            return None
        start, plans = found
        goal = target - _SPARE
        enough = goal - self.far

        def certify(eps: float, near: float) -> Value:
            del near
            moved = self._moved(plans, eps, target)
            end = self.bound(moved, eps, target, enough=enough)
            far = self.far > 0.0 and end.log_delta <= enough
            # Far below the target, the estimate alone determines the next eps.
            return Value(end.log_delta, end, about=_value(moved) if far else None)

        start = self.aimed(start, plans, goal, cap)
        met = certified(certify, goal, start, cap, upper=True, rtol=self.rtol)
        return None if met is None else met.value.witness

    def log_delta(self, eps: float) -> End | None:
        """A certified log delta at eps > 0; None where no bound is below 1."""
        return self._end(eps, *self.searched(eps))

    def searched(self, eps: float) -> tuple[float, Sequence[Any]]:
        """An estimate of log delta at eps, and the numbers found by a search there; 0 if none."""
        log, best = self.guessed(eps), None
        for _ in range(_GUESSES):
            with np.errstate(all="ignore"):
                # From scratch: numbers for another log delta may be far from the best ones.
                plans = self.search(eps, log, None)
            if plans is None:
                log *= _SHALLOWER
                continue
            if not math.isfinite(_value(plans)):
                break
            best = plans if best is None or _value(plans) < _value(best) else best
            before, log = log, min(_value(plans), -0.1)
            if abs(log - before) < _SETTLED * (1.0 - log):
                break
        return (0.0, ()) if best is None else (_value(best), best)

    # ------------------------------------------------------- many eps, as rounds need them

    def rough(self, eps: float) -> float:
        """An estimate of log delta at eps >= 0 from numbers shared by many eps; 0 if none."""
        return self._near_anchors(eps)[0]

    def bounded(self, eps: float) -> End | None:
        """A certified log delta at numbers shared by all eps near an anchor; None if none.

        Anchors are a fixed sequence of eps, so that the bound does not depend on what was asked
        before.
        """
        if eps not in self._found:
            self._found[eps] = self._end(eps, *self._near_anchors(eps), rough=True)
        return self._found[eps]

    def _near_anchors(self, eps: float) -> tuple[float, Sequence[Any]]:
        """The better of the numbers of the anchors before and after eps, moved to eps."""
        if not (eps < _LARGEST and self.deviation > 0.0):
            return 0.0, ()
        k = _index(eps / self.deviation)
        found = [self._from(i, eps) for i in (k - 1, k) if i >= 0]
        return min(found, key=lambda one: one[0])

    def _from(self, k: int, eps: float) -> tuple[float, Sequence[Any]]:
        """The numbers of one anchor moved to eps, and the log delta estimated there."""
        if k not in self._anchors:
            self._anchors[k] = self.searched(_anchor(k) * self.deviation)
        about, plans = self._anchors[k]
        if not (about < 0.0 and math.isfinite(about)):
            return 0.0, ()
        moved = self._moved(plans, eps, about)
        return min(_value(moved), 0.0), moved

    # ------------------------------------------------------------------------- on the way

    def guessed(self, eps: float) -> float:
        """A guess of log delta at eps, for a search there: that of a normal law of the loss."""
        return first_log_delta(eps, self.deviation)

    def first(self, target: float, cap: float) -> Root:
        """A first eps for a search, and the slope of log delta there."""
        return Root(first_epsilon(self.deviation**2, 1, target, cap))

    def aimed(self, start: Root, plans: Sequence[Any], goal: float, cap: float) -> Root:
        """The eps to certify first."""
        del plans, goal, cap
        return start

    def _crossing(self, target: float, cap: float) -> tuple[Root, Sequence[Any]] | None:
        """An estimate of the least eps with this delta, with numbers; None if it is not below cap.

        Numbers searched at one eps meet the delta at a smaller one; the search is repeated there.
        """
        start, last = self.first(target, cap), None
        best: tuple[Root, Sequence[Any]] | None = None
        for _ in range(_SEARCHES):
            with np.errstate(all="ignore"):
                plans, at = self.search(start.epsilon, target, last), start.epsilon
            if plans is None or not math.isfinite(_value(plans)):
                break

            def about(eps: float, plans: Sequence[Any] = plans) -> float:
                return _value(self._moved(plans, eps, target))

            start = root(about, target, start, cap, tolerance=_NEARLY * self.rtol)
            missed = about(start.epsilon) - target
            if abs(missed) > _MISSED:
                # Among few users a second search, from the first one's numbers, may gain that much.
                if last is not None or abs(missed) > _GAINED:
                    break
            elif best is None or start.epsilon < best[0].epsilon:
                best = start, plans
            if last is not None and abs(math.log(start.epsilon / at)) < _SAME:
                break
            last = plans
        return best

    def _moved(self, plans: Sequence[Any], eps: float, about: float) -> Sequence[Any]:
        # Numbers that overflow are not proposed.
        with np.errstate(all="ignore"):
            return self.moved(plans, eps, about)

    def _end(
        self, eps: float, about: float, plans: Sequence[Any], *, rough: bool = False
    ) -> End | None:
        if not (plans and about < 0.0 and math.isfinite(about)):
            return None
        found = self.bound(plans, eps, about, rough=rough)
        log = found.log_delta + _SPARE
        return found._replace(log_delta=log) if log < 0.0 else None


def worst_of(plans: Sequence[Plan]) -> int:
    """Index of the plan with the largest estimate."""
    return max(range(len(plans)), key=lambda i: plans[i].value)


def first_log_delta(eps: float, deviation: float) -> float:
    """An estimate of log delta under a normal law of the privacy loss."""
    return min(-0.5 * (eps / max(deviation, 1e-12) + 1.0) ** 2, -0.5)


def _value(plans: Sequence[Plan]) -> float:
    return max(plan.value for plan in plans)


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
