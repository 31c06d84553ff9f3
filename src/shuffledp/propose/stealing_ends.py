"""Certified ends of eps and delta by label stealing, for one mechanism among n users.

Floats propose an eps and free numbers; balls certify the bound there. A miss tells how far to move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.ball.record import Definition
from shuffledp.bounds.stealing import log_delta
from shuffledp.bounds.stealing_cases import Case, Numbers, cases_of
from shuffledp.kernel.positive_sum import step_of
from shuffledp.propose.stealing import AllFloats, Plan
from shuffledp.propose.stealing_solve import Proposer

__all__ = ["End", "Stealing"]

# How far below the target a certified log delta may be: from 2e-7, which a reader's finer sum does
# not notice, to 1.2e-5, which is 1e-6 of eps.
_SPARE, _NEAR = 2e-7, 1.2e-5
# Most certificates on the way to an end.
_TRIES = 8
# A log delta this far below the target is not computed any more sharply.
_FAR = 1e-3
# For unbounded noise, one law serves all log deltas of such a range (each next range is twice as
# deep).
_RANGE = 16.0


class End(NamedTuple):
    """A certified point: delta at eps is at most this for all data sets.

    Attributes
    ----------
    epsilon, log_delta : float
        The eps in nats and the bound of log delta.
    numbers : list of Numbers
        Free numbers of each pair of inputs, in the order of its theorem.
    which : int
        Index of the pair that seems the worst.
    """

    epsilon: float
    log_delta: float
    numbers: list[Numbers]
    which: int


class Stealing:
    """Label stealing of one mechanism among n >= 2 users.

    Parameters
    ----------
    mechanism : Definition
        "generic" stands for all mechanisms with a local guarantee.
    n : int
        Number of users, the victim included.
    """

    def __init__(self, mechanism: Definition, n: int) -> None:
        self._mechanism, self._n, self._bits = mechanism, n, precision_for(n)
        self._made: dict[float, tuple[Sequence[Case], Proposer]] = {}

    @property
    def deviation(self) -> float:
        """Standard deviation of the privacy loss, to first order."""
        return self._at(-_RANGE)[1].deviation

    def epsilon(self, target: float, *, cap: float) -> End | None:
        """An eps, close to the least, with log delta certified at most the target; None if none.

        Parameters
        ----------
        target : float
            log of the target delta.
        cap : float
            Upper limit: None is returned where the eps would not be below it.
        """
        cases, proposer = self._at(target)
        found = proposer.crossing(target, cap)
        if found is None:
            return None
        eps, slope = found.epsilon, found.slope
        goal, enough = target - 0.5 * _NEAR, target - _FAR
        best: End | None = None
        before: tuple[float, float] | None = None
        low, high = 0.0, cap
        eps *= math.exp((goal - target) / slope)
        for _ in range(_TRIES):
            plans = proposer.moved(found.plans, eps)
            numbers = _all_numbers(plans)
            value = self._certified(cases, numbers, eps, enough=enough)
            gap = value - target
            if gap <= -_SPARE and (best is None or eps < best.epsilon):
                best = End(eps, value, numbers, _worst(plans))
                if gap >= -_NEAR:
                    break
            if not math.isfinite(gap):
                break
            low, high = (low, min(eps, high)) if gap <= -_SPARE else (max(eps, low), high)
            # Far below the target, the estimate alone determines the next eps.
            value = min(value, max(plan.value for plan in plans)) if value <= enough else value
            if before is not None and abs(value - before[1]) > _FAR and eps != before[0]:
                slope = min((value - before[1]) / math.log(eps / before[0]), -0.01)
            before = eps, value
            moved = eps * math.exp(min(max((goal - value) / slope, -0.5), 0.5))
            # Estimates may jump: between a miss and an eps that meets the target, halving is safe.
            eps = moved if low < moved < high or low == 0.0 else math.sqrt(low * high)
        return best if best is not None and best.epsilon < cap else None

    def log_delta(self, eps: float) -> End | None:
        """A certified log delta at eps > 0; None where no bound is below 1."""
        proposer = self._at(-_RANGE)[1]
        about = max(plan.value for plan in proposer.plans(eps))
        if not about < 0.0:
            return None
        plans = self._at(about)[1].plans(eps)
        return self.certified(eps, _all_numbers(plans), about, _worst(plans))

    def searched(self, eps: float) -> tuple[float, list[Plan]]:
        """An estimate of log delta at eps, and the free numbers found by a search there."""
        plans = self._at(-_RANGE)[1].searched(eps)
        return max(plan.value for plan in plans), plans

    def certified(
        self, eps: float, numbers: Sequence[Numbers], about: float, which: int = 0
    ) -> End | None:
        """A certified log delta at these numbers; None where it is not below 0."""
        cases = self._at(about)[0]
        value = self._certified(cases, numbers, eps) + _SPARE
        return End(eps, value, list(numbers), which) if value < 0.0 else None

    def numbers(self, plan: Plan, smoothest: float) -> Numbers:
        """A plan's free numbers, with the line and step of the sums."""
        return numbers_of(plan, smoothest)

    def moved(self, plans: Sequence[Plan], eps: float, about: float) -> list[Plan]:
        """The same numbers at another eps."""
        return self._at(about)[1].moved(plans, eps)

    def _certified(
        self,
        cases: Sequence[Case],
        numbers: Sequence[Numbers],
        eps: float,
        enough: float = -math.inf,
    ) -> float:
        with ctx.workprec(self._bits):
            return log_delta(cases, numbers, self._n, eps, enough=enough)

    def _at(self, log: float) -> tuple[Sequence[Case], Proposer]:
        """The cases and their proposer, in enough detail for a log delta of this size."""
        level = -_RANGE
        if self._made and self._made[level][0][0].unbounded:
            while level > log:
                level *= 2.0
        if level not in self._made:
            with ctx.workprec(self._bits):
                cases = cases_of(self._mechanism, level)
            self._made[level] = cases, Proposer(AllFloats(cases), self._n)
            if level > log and cases[0].unbounded:
                return self._at(log)
        return self._made[level]


def numbers_of(plan: Plan, smoothest: float = 0.0) -> Numbers:
    """The plan's free numbers, with the line and step of the sums."""
    step = step_of(plan.width, plan.alpha) / plan.fine
    ceiling = plan.ceiling if math.isfinite(plan.ceiling) else None
    split = tuple(plan.share.tolist()), tuple(plan.join.tolist())
    smooth = max(plan.smooth, smoothest)
    return Numbers(*split, plan.alpha, smooth / plan.alpha, step, ceiling)


def _all_numbers(plans: Sequence[Plan]) -> list[Numbers]:
    """Free numbers of all plans; one object for plans that are the same object."""
    made = {id(plan): plan for plan in plans}
    numbers = {key: numbers_of(plan) for key, plan in made.items()}
    return [numbers[id(plan)] for plan in plans]


def _worst(plans: Sequence[Plan]) -> int:
    return max(range(len(plans)), key=lambda i: plans[i].value)
