"""Several users changed at once, or orders that are not uniform: from the ends of one user.

The upper end goes from one data set to the other user by user, each step at an eps of its own, and
an order's distance from uniform lets as little of the reports' own delta through
(docs/theory-shufflers.md, Theorems 1.1 and 5.1). The lower end is that of data sets that differ in
all of the users, where the view knows some, or that of one user and a uniform order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from shuffledp import theorems
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.bounds.shufflers import local_guarantee, log_local, log_mixed
from shuffledp.errors import NotCertified
from shuffledp.propose.steps import chain
from shuffledp.search import least_epsilon
from shuffledp.values.work import Answers, Beside

# An end of eps is looked for up to here, and one user's delta up to there.
_LARGEST_EPSILON, _LARGEST_STEP = 1e4, 600.0
# Where eps is given, one user's curve is followed to that log delta.
_DEEP = -80.0

Curve = Callable[[float], float]


@dataclass(frozen=True)
class Widened:
    """A view of which up to k users' values may change, or whose order is not uniform.

    Attributes
    ----------
    one : Seen
        The view, with ends for one user and a uniform order.
    changed : int
        k.
    distance : float
        Of all orders together from uniform ones, in total variation.
    """

    one: Seen
    changed: int
    distance: float = 0.0

    @property
    def guarantee(self) -> float:
        """What all reports that may change give away by themselves, in nats; may be inf."""
        return local_guarantee(self.one.guarantee, self.changed, 1)

    @property
    def _together(self) -> bool:
        """Whether data sets that differ in all of the users may be told apart by what is seen."""
        return 1 < self.changed <= self.one.n

    def bound(self, quantity: Quantity, value: float) -> Bound:
        """Both ends; relation and assumptions are those of one user.

        Parameters
        ----------
        quantity : {"epsilon", "delta"}
            What is bounded.
        value : float
            What is held fixed: delta for "epsilon", eps for "delta".
        """
        one = self.one.bound(quantity, value)
        return self._epsilon(value, one) if quantity == "epsilon" else self._delta(value, one)

    def log_uppers(self, log_target: float) -> Curve:
        """log of the upper end of delta by itself, at any eps, one user's followed to a target."""
        return partial(self._upper, self._curve(log_target))

    # --------------------------------------------------------------------------- both ends

    def _epsilon(self, delta: float, one: Bound) -> Bound:
        log_target = math.log(delta)
        log_target -= 2.0 * math.ulp(log_target)
        # One user's curve is wanted at smaller deltas: factors of at most e^eps stand before them.
        curve = self._curve(log_target - 4.0 - 2.0 * min(one.upper, 50.0) * self.changed)
        found = least_epsilon(
            lambda epsilon: self._upper(curve, epsilon),
            log_target,
            start=max(one.upper, 1e-9) * self.changed,
            cap=min(self.guarantee, _LARGEST_EPSILON),
            rtol=self.one.several_rtol(self.changed),
        )
        upper = self.guarantee if found is None else found.value
        apart = None if found is None or found.beyond is None else upper / found.beyond - 1.0
        lower = one
        if self._together and one.lower < upper:
            cap = min(upper, _LARGEST_EPSILON)
            more = self.one.lower_epsilon(self.changed, math.log(delta), above=one.lower, cap=cap)
            if more is not None:
                ends = {"lower": more[0], "upper": max(one.upper, more[0])}
                lower = _raised(replace(one, **ends), more[1])
        refuse_contradiction(lower.lower, upper)
        ends = {"lower": min(lower.lower, upper), "upper": upper}
        return self._resting(replace(lower, **ends, upper_width=apart), upper, one, curve)

    def _delta(self, epsilon: float, one: Bound) -> Bound:
        curve = self._curve(_DEEP)
        log_upper = self._upper(curve, epsilon)
        log_lower, lower = -math.inf if one.log_lower is None else one.log_lower, one
        if self._together:
            more, sets = self.one.lower_log_delta(self.changed, epsilon)
            if more > log_lower:
                log_lower, lower = more, _raised(one, sets)
        low, high = delta_from_log(log_lower, log_upper)
        refuse_contradiction(low, high)
        ends = {"lower": min(low, high), "upper": high}
        logs = {"log_lower": min(log_lower, log_upper), "log_upper": log_upper}
        return self._resting(replace(lower, **ends, **logs), epsilon, one, curve)

    # ------------------------------------------------------------------- the upper end's steps

    def _curve(self, log_target: float) -> Curve:
        """One user's log delta from above, each value once; 0 where nothing is certified."""
        answers = _FOUND.of(self)
        found = answers.answer(("curve", log_target), lambda: self.one.log_uppers(log_target))

        def at(epsilon: float) -> float:
            # delta falls in eps: beyond what floats have room for that of a smaller one will do.
            asked = min(epsilon, _LARGEST_STEP)
            try:
                return answers.answer((log_target, asked), lambda: found(asked))
            except NotCertified:
                return 0.0

        return at

    def _upper(self, curve: Curve, epsilon: float) -> float:
        """All that is declared, at this eps; never more than the reports by themselves say."""
        left = log_local(self.guarantee, epsilon)
        if left == -math.inf:
            return left
        uniform = min(chain(curve, epsilon, self.changed).log_delta, left)
        return uniform if uniform >= left else log_mixed(uniform, self.distance, left)

    def _resting(self, found: Bound, epsilon: float, one: Bound, curve: Curve) -> Bound:
        """With what the upper end at this eps rests on."""
        if epsilon >= self.guarantee:
            alone = theorems.LOCAL if self.changed == 1 else theorems.REPORTS_ALONE
            theorem = alone if math.isfinite(epsilon) else None
            return replace(found, upper_theorem=theorem, witness={**found.witness, "upper": {}})
        steps = chain(curve, epsilon, self.changed)
        theorem = theorems.REPORTS_ALONE
        if steps.log_delta < log_local(self.guarantee, epsilon):
            theorem = self._theorem(self.one.upper_theorem_at(steps.steps[0], one))
        witness = {**found.witness, "upper": {"steps": list(steps.steps)}}
        return replace(found, upper_theorem=theorem, witness=witness)

    def _theorem(self, theorem: Theorem | None) -> Theorem | None:
        """One user's theorem, and the steps from there."""
        if theorem is None:
            return None
        if self.changed > 1:
            theorem = theorem.with_step(theorems.TOGETHER)
        return theorem.with_step(theorems.NEAR_UNIFORM) if self.distance else theorem


def _raised(bound: Bound, data_sets: dict[str, object]) -> Bound:
    """The bound with the lower end of data sets that differ in all users that may change."""
    witness = {**bound.witness, "lower": data_sets}
    theorem = theorems.SEVERAL_DATASET
    return replace(bound, lower_theorem=theorem, lower_width=None, witness=witness)


_FOUND: Beside[Widened, Answers] = Beside(lambda _: Answers())
