"""From a delta to eps and free numbers of label stealing, for all pairs of inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.propose.solve import crossing, first_epsilon
from shuffledp.propose.stealing import MOST_ALONE, AllFloats, Plan, Planner
from shuffledp.propose.stealing_search import best_plan, first_plans, is_few

__all__ = ["Crossing", "Proposer"]

# First d log delta/d log eps; under a normal law it is -24 at delta = 1e-6, -10 at 1e-3.
_SLOPE = -12.0
# Width, in log eps, of a cell that one search serves: half of it loses less than 1e-6 of eps.
_CELL = 0.02
# Accuracy of estimates in log delta: on the way, and at the end.
_ROUGHLY, _NEARLY = 0.05, 3e-6
# Most guesses of log delta at an eps; relative distance of the last two; distance of the search's
# result from the guess at which it is repeated.
_GUESSES, _SETTLED, _OFF = 4, 0.1, 0.3
# Most searches on the way to a delta, and choices of first numbers before. Numbers searched this
# near, in log eps, are kept: a new search gains less than 1e-4 of eps.
_SEARCHES, _STARTS, _SAME = 5, 3, 5e-3
# A pair whose log delta is lower by more than this gets no search of its own.
_APART = 0.02
# From this many pairs on, pairs that are certainly lower use the numbers of the worst one.
_SOME = 6
# A pair whose log delta is lower by more than this is not the worst at an eps nearby.
_FAR = 1.0
# Largest squared shift for a start by the normal law.
_LARGEST_SPREAD = 1e6


class Crossing(NamedTuple):
    """Where plans meet a delta, by estimates.

    Attributes
    ----------
    epsilon, slope : float
        eps, and d log delta/d log eps there.
    plans : list of Plan
        The plans of all pairs.
    """

    epsilon: float
    slope: float
    plans: list[Plan]


class Proposer:
    """Free numbers of all pairs among n users.

    Parameters
    ----------
    cases : AllFloats
        The pairs, in any order.
    n : int
        Number of users, the victim included, n >= 2.
    """

    def __init__(self, cases: AllFloats, n: int) -> None:
        self.cases, self.n = cases, n
        self._order = sorted(range(len(cases)), key=lambda i: -cases.spreads[i])
        self._searched: dict[int, list[Plan]] = {}

    @property
    def deviation(self) -> float:
        """Standard deviation sqrt(chi/n) of the worst label's privacy loss, to first order."""
        spread = self.cases.spreads[self._order[0]]
        return math.sqrt(min(spread, _LARGEST_SPREAD) / self.n)

    def plans(self, eps: float) -> list[Plan]:
        """Numbers of all pairs at this eps > 0, whatever was asked before.

        They are searched in the middle of its cell, and alpha is put at its saddle point here.
        """
        cell = round(math.log(eps) / _CELL)
        if cell not in self._searched:
            self._searched[cell] = self.searched(math.exp(cell * _CELL))
        return self.moved(self._searched[cell], eps)

    def searched(self, eps: float, last: Plan | None = None) -> list[Plan]:
        """Numbers searched at this eps, from the first pair's ``last`` ones or from scratch."""
        case, log = self.cases[self._order[0]], first_log_delta(eps, self.deviation)
        for _ in range(_GUESSES):
            first = first_plans(case, self.n, eps, log, many=False)[0]
            before, log = log, min(first.value, -0.1)
            if abs(log - before) < _SETTLED * (1.0 - log):
                break
        plans = self._all_plans(eps, log, last)
        found = min(max(plan.value for plan in plans), -0.1)
        again = abs(found - log) > _OFF * (1.0 - log)
        return self._all_plans(eps, found, plans[self._order[0]]) if again else plans

    def _all_plans(self, eps: float, log_delta: float, last: Plan | None = None) -> list[Plan]:
        """Plans of the first pair, and of those that come near it."""
        lead = self._order[0]
        first = best_plan(self.cases[lead], self.n, eps, log_delta, last)
        # Pairs far below the worst one use its numbers and have no value of their own.
        found = dict.fromkeys(self._order, first._replace(value=-math.inf))
        found[lead] = first
        for i in self._near(first, eps, log_delta):
            plan = self._borrowed(i, first, eps)
            if plan.value > first.value - _APART:
                plan = best_plan(self.cases[i], self.n, eps, log_delta, plan, polish=False)
            found[i] = plan
        return [found[i] for i in range(len(self.cases))]

    def _near(self, first: Plan, eps: float, log_delta: float) -> list[int]:
        """The pairs, except the worst one, for which numbers of their own are made."""
        lead, screen = self.cases[self._order[0]], self.cases.screen
        some = len(self._order) >= _SOME and math.isfinite(first.value)
        found = self._order[1:]
        if screen is not None and some and not is_few(lead, self.n, log_delta):
            left = screen((first.share, first.join, first.alpha), self.n, eps, log_delta)
            found = [i for i in found if i in left]
        if screen is not None and len(found) > MOST_ALONE:
            raise NotCertified(f"label stealing: {len(found):,} pairs of inputs, one by one")
        return found

    def _borrowed(self, i: int, first: Plan, eps: float) -> Plan:
        """Another pair with the same sizes, tuned to its label with the largest spread."""
        case = self.cases[i]
        weights = np.zeros(case.spreads.size)
        weights[case.order[0]] = 1.0
        chosen = weights if case.tuned else first.weights
        made = Planner(case, self.n, eps)
        return made.plan(
            first.kappas,
            chosen,
            smooth=first.smooth,
            fine=first.fine,
            ceiling=first.ceiling,
            start=first.alpha,
        )

    def moved(self, plans: Sequence[Plan], eps: float) -> list[Plan]:
        """The same numbers at another eps, with alpha at its saddle point there.

        For a pair far below the worst one, alpha and log delta move as those of the worst one.
        """
        lead = max(range(len(plans)), key=lambda i: plans[i].value)
        first = Planner(self.cases[lead], self.n, eps).changed(plans[lead])
        grown, fallen = first.alpha / plans[lead].alpha, first.value - plans[lead].value
        shared = first._replace(value=-math.inf)
        found = []
        for i, plan in enumerate(plans):
            if i == lead:
                found.append(first)
            elif plan.value == -math.inf:
                found.append(shared)
            elif plan.value < plans[lead].value - _FAR:
                moved = plan.value + min(fallen, 0.0)
                found.append(plan._replace(alpha=plan.alpha * grown, value=moved))
            else:
                found.append(Planner(self.cases[i], self.n, eps).changed(plan))
        return found

    def crossing(self, log_delta: float, top: float) -> Crossing | None:
        """An estimate of the least eps with this delta; None if it is not below ``top``.

        Numbers searched at one eps meet the delta at a smaller one; the search is repeated there.
        """
        eps, slope = self._roughly(log_delta, top)
        best, last = None, None
        for _ in range(_SEARCHES):
            plans, at = self.searched(eps, last), eps
            eps, slope = crossing(
                lambda e, p=plans: self._at(p, e), log_delta, eps, top, _NEARLY, slope
            )
            if abs(self._at(plans, eps) - log_delta) > _ROUGHLY:
                break
            if best is None or eps < best.epsilon:
                best, last = Crossing(eps, slope, plans), plans[self._order[0]]
            if abs(math.log(eps / at)) < _SAME:
                break
        return best

    def _roughly(self, log_delta: float, top: float) -> tuple[float, float]:
        """An estimate of eps by numbers without a search, and the slope there."""
        eps, slope = first_epsilon(self.deviation**2, 1, log_delta, top), _SLOPE
        case = self.cases[self._order[0]]
        for _ in range(_STARTS):
            starts = first_plans(case, self.n, eps, log_delta)
            if case.unbounded:
                # First numbers may lose more than delta above their ceilings alone.
                starts.append(best_plan(case, self.n, eps, log_delta, polish=False))

            def about(e: float, starts: list[Plan] = starts) -> float:
                made = Planner(case, self.n, e)
                return min(made.changed(plan).value for plan in starts)

            before = eps
            eps, slope = crossing(about, log_delta, eps, top, _ROUGHLY, slope)
            if abs(math.log(eps / before)) < _SETTLED:
                break
        return eps, slope

    def _at(self, plans: Sequence[Plan], eps: float) -> float:
        """An estimate of log delta with these numbers, from pairs not far below the worst."""
        least = max(map(_value, plans)) - 1.0
        near = [(self.cases[i], plan) for i, plan in enumerate(plans) if plan.value >= least]
        return max(Planner(case, self.n, eps).changed(plan).value for case, plan in near)


def first_log_delta(eps: float, deviation: float) -> float:
    """An estimate of log delta under a normal law of the privacy loss."""
    return min(-0.5 * (eps / max(deviation, 1e-12) + 1.0) ** 2, -0.5)


def _value(plan: Plan) -> float:
    return plan.value
