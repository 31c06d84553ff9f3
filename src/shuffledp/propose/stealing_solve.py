"""Label stealing of one mechanism or of a crowd, where finitely many labels suffice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.bounds.stealing import log_delta
from shuffledp.bounds.stealing_cases import Case, Numbers
from shuffledp.errors import NotCertified
from shuffledp.kernel.positive_sum import step_of
from shuffledp.propose.solve import Root, first_epsilon, root
from shuffledp.propose.stealing import Plan, Planner
from shuffledp.propose.stealing_ends import End, Stealing, worst_of
from shuffledp.propose.stealing_floats import AllFloats
from shuffledp.propose.stealing_search import best_plan, first_plans, is_few

__all__ = ["FiniteStealing"]

# For unbounded noise, one law serves all log deltas of such a range (each next range is twice as
# deep).
_RANGE = 16.0
# Most choices of first numbers before a search, and the tolerance of their crossing in log delta
# and in log eps.
_STARTS, _ROUGHLY, _SETTLED = 3, 0.05, 0.1
# A pair whose log delta is lower by more than this gets no search of its own.
_APART = 0.02
# From this many pairs on, pairs that are certainly lower use the numbers of the worst one.
_SOME = 6
# Most pairs that have numbers of their own, where shared ones do not bound them: some seconds.
_MOST_ALONE = 500
# A pair whose log delta is lower by more than this is not the worst at an eps nearby.
_FAR = 1.0
# Largest squared shift for a start by the normal law.
_LARGEST_SPREAD = 1e6
# h alpha of the sums at many eps: it costs 2e-4 of log delta.
_SMOOTHING = 0.02


class FiniteStealing(Stealing):
    """Label stealing among n >= 2 users.

    Parameters
    ----------
    cases : callable
        An estimate of log of the least delta -> the cases, at the working precision.
    n : int
        Number of users, the victim included.
    """

    def __init__(self, cases: Callable[[float], Sequence[Case]], n: int) -> None:
        super().__init__()
        self._cases, self._n, self._bits = cases, n, precision_for(n)
        self._made: dict[float, tuple[Sequence[Case], AllFloats, list[int]]] = {}

    @property
    def deviation(self) -> float:
        """Standard deviation sqrt(chi/n) of the worst label's privacy loss, to first order."""
        _, floats, order = self._at(-_RANGE)
        return math.sqrt(min(floats.spreads[order[0]], _LARGEST_SPREAD) / self._n)

    def guessed(self, eps: float) -> float:
        """A guess of log delta at eps by numbers without a search."""
        log = super().guessed(eps)
        for _ in range(_STARTS):
            _, floats, order = self._at(log)
            with np.errstate(all="ignore"):
                first = first_plans(floats[order[0]], self._n, eps, log, many=False)[0]
            before, log = log, min(first.value, -0.1)
            if abs(log - before) < _SETTLED * (1.0 - log):
                break
        return log

    def first(self, target: float, cap: float) -> Root:
        """An estimate of eps by numbers without a search, and the slope there."""
        start = Root(first_epsilon(self.deviation**2, 1, target, cap))
        _, floats, order = self._at(target)
        case = floats[order[0]]
        for _ in range(_STARTS):
            starts = first_plans(case, self._n, start.epsilon, target)
            if case.unbounded:
                # First numbers may lose more than delta above their ceilings alone.
                starts.append(best_plan(case, self._n, start.epsilon, target, polish=False))

            def about(eps: float, starts: list[Plan] = starts) -> float:
                made = Planner(case, self._n, eps)
                return min(made.changed(plan).value for plan in starts)

            before = start.epsilon
            start = root(about, target, start, cap, tolerance=_ROUGHLY)
            if abs(math.log(start.epsilon / before)) < _SETTLED:
                break
        return start

    def search(self, eps: float, about: float, last: Sequence[Plan] | None) -> Sequence[Plan]:
        """Plans of the first pair, and of those that come near it."""
        _, floats, order = self._at(about)
        lead = order[0]
        first = best_plan(floats[lead], self._n, eps, about, None if last is None else last[lead])
        # Pairs far below the worst one use its numbers and have no value of their own.
        found = dict.fromkeys(order, first._replace(value=-math.inf))
        found[lead] = first
        for i in self._near(floats, order, first, eps, about):
            plan = self._borrowed(floats, i, first, eps)
            if plan.value > first.value - _APART:
                plan = best_plan(floats[i], self._n, eps, about, plan, polish=False)
            found[i] = plan
        return [found[i] for i in range(len(floats))]

    def _near(
        self, floats: AllFloats, order: list[int], first: Plan, eps: float, about: float
    ) -> list[int]:
        """The pairs, except the worst one, for which numbers of their own are made."""
        lead, inputs, found = floats[order[0]], floats.inputs, order[1:]
        some = len(order) >= _SOME and math.isfinite(first.value)
        if inputs is not None and some and not is_few(lead, self._n, about):
            left = inputs.perhaps_above(first.share, first.join, first.alpha, self._n, eps, about)
            found = [i for i in found if i in left]
        if inputs is not None and len(found) > _MOST_ALONE:
            raise NotCertified(f"label stealing: {len(found):,} pairs of inputs, one by one")
        return found

    def _borrowed(self, floats: AllFloats, i: int, first: Plan, eps: float) -> Plan:
        """Another pair with the same sizes, tuned to its label with the largest spread."""
        case = floats[i]
        weights = np.zeros(case.spreads.size)
        weights[case.order[0]] = 1.0
        chosen = weights if case.tuned else first.weights
        return Planner(case, self._n, eps).plan(
            first.kappas,
            chosen,
            shares=first.shares,
            smooth=first.smooth,
            fine=first.fine,
            ceiling=first.ceiling,
            start=first.alpha,
        )

    def moved(self, plans: Sequence[Plan], eps: float, about: float) -> Sequence[Plan]:
        """The same numbers at another eps, with alpha at its saddle point there.

        For a pair far below the worst one, alpha and log delta move as those of the worst one.
        """
        floats, lead = self._at(about)[1], worst_of(plans)
        first = Planner(floats[lead], self._n, eps).changed(plans[lead])
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
                found.append(Planner(floats[i], self._n, eps).changed(plan))
        return found

    def bound(
        self,
        plans: Sequence[Plan],
        eps: float,
        about: float,
        *,
        enough: float = -math.inf,
        rough: bool = False,
    ) -> End:
        """The largest bound of all pairs; one set of numbers for plans that are the same object."""
        made = {id(plan): plan for plan in plans}
        each = {key: numbers_of(plan, _SMOOTHING * rough) for key, plan in made.items()}
        numbers = [each[id(plan)] for plan in plans]
        cases = self._at(about)[0]
        with ctx.workprec(self._bits):
            log = log_delta(cases, numbers, self._n, eps, enough=enough)
        return End(eps, log, numbers, worst_of(plans))

    def _at(self, log: float) -> tuple[Sequence[Case], AllFloats, list[int]]:
        """The cases, also in floats, in enough detail for a log delta of this size.

        The last item is the order of the pairs, those with the largest spread first.
        """
        level = -_RANGE
        if self._made and self._made[level][0][0].unbounded:
            while level > log:
                level *= 2.0
        if level not in self._made:
            with ctx.workprec(self._bits):
                cases = self._cases(level)
            floats = AllFloats(cases)
            order = sorted(range(len(floats)), key=lambda i: -floats.spreads[i])
            self._made[level] = cases, floats, order
            if level > log and cases[0].unbounded:
                return self._at(log)
        return self._made[level]


def numbers_of(plan: Plan, smoothest: float = 0.0) -> Numbers:
    """The plan's free numbers, with the line and step of the sums."""
    step = step_of(plan.width, plan.alpha) / plan.fine
    ceiling = plan.ceiling if math.isfinite(plan.ceiling) else None
    split = tuple(plan.share.tolist()), tuple(plan.join.tolist())
    smooth = max(plan.smooth, smoothest)
    return Numbers(*split, plan.alpha, smooth / plan.alpha, step, ceiling, plan.shares)
