"""Several users changed at once in a view that has bounds for one: user by user.

The upper end goes from one data set to the other, each step at an eps of its own
(docs/theory-shufflers.md, Theorem 5.1); the lower end is that of data sets that differ in all of
the users, where the view knows one, or that of one user.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from shuffledp import _check, theorems
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.bounds.shufflers import chain, local_guarantee, log_local
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified
from shuffledp.models.crossing import crossing
from shuffledp.models.setting import MOST_CHANGED, MOST_ROUNDS
from shuffledp.neighbours import Relation, Together
from shuffledp.values.described import by_name
from shuffledp.values.work import Answers, Beside

_RTOL = 1e-3
_LARGEST_EPSILON, _LARGEST_STEP = 1e4, 600.0
# Of a lower end of eps: halvings, and how near is near enough.
_HALVINGS, _NEAR, _SMALLEST = 60, 1e-6, 1e-9
# Where eps is given, one user's curve is followed to that log delta.
_DEEP = -80.0


class OneUser(Protocol):
    """What has both ends for one user."""

    @property
    def n(self) -> int:
        """Users."""
        ...

    @property
    def relation(self) -> Relation:
        """What one user may change."""
        ...

    def epsilon(self, *, delta: float) -> Bound:
        """Both ends of eps."""
        ...

    def delta(self, *, epsilon: float) -> Bound:
        """Both ends of delta."""
        ...

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """log of delta's upper end at any eps, followed to a target."""
        ...

    def log_lowers(self, changed: int) -> Callable[[float], float] | None:
        """log of a lower end of delta of data sets that differ in so many users."""
        ...

    def alone(self) -> float:
        """Pure guarantee of what one user changes; may be inf."""
        ...

    def upper_theorem_at(self, epsilon: float) -> Theorem | None:
        """What the upper end of delta rests on at this eps."""
        ...

    def together(self, changed: int) -> Any:
        """A view in which one user is as many; None where there is none."""
        ...


@dataclass(frozen=True)
class Chained(Accountant):
    """A view of which up to k users' values may change at once.

    Attributes
    ----------
    one : Sums or Crowd
        The view, of which bounds for one user are known.
    changed : int
        k, 2 to 1,000 and at most the users there are.
    """

    one: OneUser
    changed: int

    def __post_init__(self) -> None:
        high = min(self.one.n, MOST_CHANGED)
        if high < 2:
            raise NotCertified(f"changed = {self.changed!r}: wanted 1 where n is 1")
        changed = _check.count("changed", self.changed, low=2, high=high)
        object.__setattr__(self, "changed", changed)

    @property
    def n(self) -> int:
        """Users, those who are protected included."""
        return self.one.n

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return Together(self.changed, self.one.relation)

    @property
    def eps0(self) -> float:
        """What all reports that may change give away by themselves, in nats; may be inf."""
        return local_guarantee(self.one.alone(), self.changed, 1)

    def with_n(self, n: int) -> Chained:
        """The same among another number of users."""
        with_n = getattr(self.one, "with_n", None)
        if with_n is None:
            raise NotCertified("n: wanted that of the groups, which a crowd is made of")
        return replace(self, one=with_n(n))

    @by_name
    def compose(self, *, rounds: int) -> Chained:
        """The same ``rounds`` times as often, of sums.

        Parameters
        ----------
        rounds : int
            1 <= rounds.
        """
        rounds = _check.count("rounds", rounds, high=MOST_ROUNDS)
        if rounds == 1:
            return self
        # Rounds of a crowd are another object, which has no bounds for one user in this sense.
        compose = getattr(self.one, "compose", None) if hasattr(self.one, "rounds") else None
        if compose is None:
            raise NotCertified(
                f"rounds = {rounds:,}: wanted 1 where several users of a crowd change at once"
            )
        return replace(self, one=compose(rounds=rounds))

    def _epsilon_at(self, delta: float) -> Bound:
        exact = self.one.together(self.changed)
        if exact is not None:
            return self._worded(exact.epsilon(delta=delta))
        one, log_target = self.one.epsilon(delta=delta), math.log(delta)
        log_target -= 2.0 * math.ulp(log_target)
        # One user's curve is wanted at smaller deltas: factors of at most e^eps stand before them.
        curve = self._curve(log_target - 4.0 - 2.0 * min(one.upper, 50.0) * self.changed)
        cap = min(self.eps0, _LARGEST_EPSILON)
        start = min(max(one.upper, 1e-9) * self.changed, _LARGEST_EPSILON)
        found = crossing(
            lambda e: self._upper(curve, e), log_target, start=start, cap=cap, rtol=_RTOL
        )
        upper, width = (self.eps0, None) if found is None else found
        lower = self._lower_epsilon(math.log(delta), one.lower, min(upper, _LARGEST_EPSILON))
        refuse_contradiction(max(lower, one.lower), upper)
        ends = (min(max(lower, one.lower), upper), upper)
        return self._dressed(one, ends, (None, None), width, several=lower > one.lower)

    def _delta_at(self, epsilon: float) -> Bound:
        exact = self.one.together(self.changed)
        if exact is not None:
            return self._worded(exact.delta(epsilon=epsilon))
        one = self.one.delta(epsilon=epsilon)
        log_upper = self._upper(self._curve(_DEEP), epsilon)
        own = -math.inf if one.log_lower is None else one.log_lower
        lowers = self._lowers
        more = -math.inf if lowers is None else lowers(epsilon)
        logs = (max(own, more), log_upper)
        ends = delta_from_log(*logs)
        refuse_contradiction(*ends)
        logs = (min(logs), log_upper)
        return self._dressed(one, (min(ends), ends[1]), logs, one.upper_width, several=more > own)

    # -------------------------------------------------------------------- what they rest on

    def _curve(self, log_target: float) -> Callable[[float], float]:
        """One user's log delta from above, each value once; 0 where nothing is certified."""
        answers = _FOUND.of(self)
        found = answers.answer(("curve", log_target), lambda: self.one.log_uppers(log_target))

        def at(epsilon: float) -> float:
            # delta falls in eps: beyond what floats have room for that of a smaller one will do.
            asked = min(epsilon, _LARGEST_STEP)
            return answers.answer((log_target, asked), lambda: found(asked))

        return at

    @property
    def _lowers(self) -> Callable[[float], float] | None:
        return _FOUND.of(self).answer("lower", lambda: self.one.log_lowers(self.changed))

    def _upper(self, curve: Callable[[float], float], epsilon: float) -> float:
        left = log_local(self.eps0, epsilon)
        if left == -math.inf:
            return left
        return min(chain(curve, epsilon, self.changed).log_delta, left)

    def _lower_epsilon(self, log_target: float, above: float, cap: float) -> float:
        """The largest eps that was evaluated with delta of at least the target; 0 if none."""
        lowers = self._lowers
        low = max(above, _SMALLEST)
        log_target += 4.0 * math.ulp(log_target)
        if lowers is None or low >= cap or not lowers(low) >= log_target:
            return 0.0
        high = min(2.0 * low, cap)
        while lowers(high) >= log_target:
            if high >= cap:
                return cap
            low, high = high, min(2.0 * high, cap)
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            if high <= low * (1.0 + _NEAR) or not low < middle < high:
                break
            low, high = (middle, high) if lowers(middle) >= log_target else (low, middle)
        return low

    def _dressed(
        self,
        one: Bound,
        ends: tuple[float, float],
        logs: tuple[float | None, float | None],
        width: float | None,
        *,
        several: bool,
    ) -> Bound:
        """One user's bound with these ends, its relation and the steps they rest on."""
        epsilon = ends[1] if one.quantity == "epsilon" else one.at["epsilon"]
        upper = self._theorem(epsilon, logs[1])
        if not math.isfinite(ends[1]):
            upper = None
        return replace(
            one,
            lower=ends[0],
            upper=ends[1],
            log_lower=logs[0],
            log_upper=logs[1],
            lower_theorem=theorems.SEVERAL_DATASET if several else one.lower_theorem,
            upper_theorem=upper,
            upper_width=width,
            lower_width=None if several else one.lower_width,
            relation=self.relation,
            assumptions=self._words(one),
            witness={},
        )

    def _theorem(self, epsilon: float, log_upper: float | None) -> Theorem | None:
        """What an upper end rests on: all reports by themselves, or the steps of one user."""
        left = log_local(self.eps0, epsilon)
        if left == -math.inf or (log_upper is not None and log_upper >= left):
            return theorems.REPORTS_ALONE
        found = self.one.upper_theorem_at(epsilon / self.changed)
        return None if found is None else found.with_step(theorems.TOGETHER)

    def _worded(self, exact: Bound) -> Bound:
        """A bound of a view in which one user is as many as may change."""
        return replace(exact, relation=self.relation, assumptions=self._words(exact))

    def _words(self, one: Bound) -> tuple[str, ...]:
        """Assumptions with this relation, and those of the view itself."""
        asked = getattr(self.one, "assumptions", None)
        own = one.assumptions if asked is None else asked()
        return (self.relation.sentence, *(w for w in own if w != self.one.relation.sentence))


_FOUND: Beside[Chained, Answers] = Beside(lambda _: Answers())
