"""Certified ends of eps and delta by label stealing, of one mechanism among n users.

Floats propose an eps and free numbers; balls certify that point, and a miss says how far to move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.ball.record import Definition
from shuffledp.bounds.stealing import log_delta
from shuffledp.bounds.stealing_cases import Case, Numbers, cases_of
from shuffledp.propose.stealing import AllFloats, Plan, step_of
from shuffledp.propose.stealing_solve import Proposer

__all__ = ["End", "Stealing"]

# How far below delta a certified end of eps may be, in logs: from 2e-7, which a finer sum of a
# reader's does not see, to 1.2e-5, which is 1e-6 of eps.
_SPARE, _NEAR = 2e-7, 1.2e-5
# Certificates on the way to an end.
_TRIES = 8
# What lies farther below the target than this need not be told from it, in logs.
_FAR = 1e-3
# Of unbounded noise a law serves for all deltas of such a range, in logs.
_RANGE = 16.0


class End(NamedTuple):
    """A certified point: delta at eps is at most this for all data sets.

    Attributes
    ----------
    epsilon, log_delta : float
        The point.
    numbers : list of Numbers
        Of each pair of inputs, in the order of its theorem.
    which : int
        The pair that is about the worst.
    """

    epsilon: float
    log_delta: float
    numbers: list[Numbers]
    which: int


class Stealing:
    """Label stealing of one mechanism among n users, n >= 2.

    Parameters
    ----------
    mechanism : Definition
        "generic" stands for all mechanisms with a local guarantee.
    n : int
        Users, the victim included.
    """

    def __init__(self, mechanism: Definition, n: int) -> None:
        self._mechanism, self._n, self._bits = mechanism, n, precision_for(n)
        self._made: dict[float, tuple[Sequence[Case], Proposer]] = {}

    @property
    def deviation(self) -> float:
        """Of the privacy loss, to first order."""
        return self._at(-_RANGE)[1].deviation

    def epsilon(self, target: float, *, cap: float) -> End | None:
        """An eps with a certified log delta of at most the target, close to the least.

        Parameters
        ----------
        target : float
            log of delta.
        cap : float
            None where the answer is not below it.
        """
        cases, proposer = self._at(target)
        found = proposer.crossing(target, cap)
        if found is None:
            return None
        eps, slope = found.epsilon, found.slope
        goal, best, before = target - 0.5 * _NEAR, None, None
        eps *= math.exp((goal - target) / slope)
        for _ in range(_TRIES):
            plans = proposer.moved(found.plans, eps)
            numbers = _all_numbers(plans)
            value = self._certified(cases, numbers, eps, enough=target - _FAR)
            gap = value - target
            if gap <= -_SPARE and (best is None or eps < best.epsilon):
                best = End(eps, value, numbers, _worst(plans))
                if gap >= -_NEAR:
                    break
            if not math.isfinite(gap):
                break
            # Far below the target the estimate says how far: that decides the next eps alone.
            value = min(value, max(plan.value for plan in plans)) if gap <= -_FAR else value
            if before is not None and abs(value - before[1]) > _FAR and eps != before[0]:
                slope = min((value - before[1]) / math.log(eps / before[0]), -0.01)
            before = eps, value
            eps *= math.exp(min(max((goal - value) / slope, -0.5), 0.5))
        return best if best is not None and best.epsilon < cap else None

    def log_delta(self, eps: float) -> End | None:
        """A certified log delta at eps > 0; None where there is no bound below 1."""
        proposer = self._at(-_RANGE)[1]
        about = max(plan.value for plan in proposer.plans(eps))
        if not about < 0.0:
            return None
        plans = self._at(about)[1].plans(eps)
        return self.certified(eps, _all_numbers(plans), about, _worst(plans))

    def searched(self, eps: float) -> tuple[float, list[Plan]]:
        """About log delta at eps, and numbers that were searched for it."""
        plans = self._at(-_RANGE)[1].searched(eps)
        return max(plan.value for plan in plans), plans

    def certified(
        self, eps: float, numbers: Sequence[Numbers], about: float, which: int = 0
    ) -> End | None:
        """A certified log delta at these numbers; None where there is none below 1."""
        cases = self._at(about)[0]
        value = self._certified(cases, numbers, eps) + _SPARE
        return End(eps, value, list(numbers), which) if value < 0.0 else None

    def numbers(self, plan: Plan, smoothest: float) -> Numbers:
        """A plan's free numbers, and where to sum at them."""
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
        """Cases and what proposes for them, in enough detail for such a delta."""
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
    """The plan's free numbers, and where to sum at them."""
    step = step_of(plan.width, plan.alpha) / plan.fine
    ceiling = plan.ceiling if math.isfinite(plan.ceiling) else None
    split = tuple(plan.share.tolist()), tuple(plan.join.tolist())
    smooth = max(plan.smooth, smoothest)
    return Numbers(*split, plan.alpha, smooth / plan.alpha, step, ceiling)


def _all_numbers(plans: Sequence[Plan]) -> list[Numbers]:
    """Numbers of all plans; plans that are one have the same numbers."""
    made = {id(plan): plan for plan in plans}
    numbers = {key: numbers_of(plan) for key, plan in made.items()}
    return [numbers[id(plan)] for plan in plans]


def _worst(plans: Sequence[Plan]) -> int:
    return max(range(len(plans)), key=lambda i: plans[i].value)
