"""What is certified of the members of one group of a crowd: both ends, by every analysis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from shuffledp import theorems
from shuffledp._check import Trust
from shuffledp.amplification.end import End
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.stealing import free_numbers, if_any
from shuffledp.amplification.words import HONEST, ONE_ROUND
from shuffledp.ball.groups import kinds_of
from shuffledp.bound import Bound, Theorem
from shuffledp.bounds.crowds import common_pair, crowd_cases
from shuffledp.propose.data_sets import Best, DataSet, crowd_sets, lower_epsilon, lower_log_delta
from shuffledp.propose.inverse import upper_epsilon
from shuffledp.propose.profile import LARGEST_EPSILON, Profile
from shuffledp.propose.stealing_ends import End as Stolen
from shuffledp.propose.stealing_solve import FiniteStealing
from shuffledp.randomizers import Duchi, Randomizer
from shuffledp.rounds import Round, UpperValues
from shuffledp.statements import say
from shuffledp.values.work import Answers

Groups = tuple[tuple[Randomizer, int], ...]
SHUFFLER, GROUPS, FIXED = say("crowd-shuffler"), say("groups"), say("fixed")
ALIKE, BITS_SENT = say("alike"), say("bits-sent")
# The common blanket is not evaluated where its estimate of log delta is so far above.
_CLEARLY = 0.05
# Relative widths of eps of rounds that are worth the time, and of delta at their dots.
_ROUNDS_RTOL, _QUICK = 2e-3, 1e-3
# Of matrices with more inputs a curve of a hundred points would take minutes.
_MOST_PAIRS = 6
_ZERO = End(0.0, None, None, {}, ())


class Member:
    """What is known of the members of one group.

    Parameters
    ----------
    groups : tuple of (Randomizer, int)
        Each group's mechanism and number of users.
    victim : int
        Index of the one.
    rtol, trust
        As for ``crowd``.
    """

    def __init__(self, groups: Groups, victim: int, *, rtol: float, trust: Trust) -> None:
        self.groups, self.victim, self.rtol = groups, victim, rtol
        self.trust: Trust = trust
        self.n = sum(count for _, count in groups)
        mechanism = groups[victim][0]
        self.mechanism, self.eps0 = mechanism, float(mechanism.eps0)
        # Groups with the same mechanism are one, if nothing tells their reports apart.
        own = sum(count for other, count in self.groups if other == mechanism)
        self._merged = own > groups[victim][1]
        self.own = Messages(mechanism, own, 1, self.rtol, self.trust)
        self.alone = own == self.n
        self.kind = None if self.alone else kinds_of([one for one, _ in groups])
        self._answers = Answers()

    @property
    def words(self) -> tuple[str, ...]:
        """What upper ends take for granted."""
        own = [words for mechanism, _ in self.groups for words in mechanism.assumptions()]
        return (
            self.mechanism.relation.sentence,
            HONEST,
            SHUFFLER,
            ONE_ROUND,
            FIXED,
            GROUPS,
            *dict.fromkeys(own),
        )

    @property
    def words_of_own(self) -> tuple[str, ...]:
        """The same of ends that rest on all users of the mechanism, of several groups perhaps."""
        return (*self.words, *((ALIKE,) if self._merged else ()))

    @property
    def words_of_all(self) -> tuple[str, ...]:
        """The same of ends that rest on all groups: what tells none of them apart."""
        numbers = any(isinstance(mechanism, Duchi) for mechanism, _ in self.groups)
        return (*self.words, ALIKE, *((BITS_SENT,) if numbers else ()))

    # ------------------------------------------------------------------------ upper ends

    def upper_epsilon(self, delta: float) -> End:
        """The least upper end of eps of all analyses.

        Parameters
        ----------
        delta : float
            Target.
        """
        own = self._of_own(self.own.bound("epsilon", delta), logs=False)
        cap = min(self.eps0, own.value)
        found = [own]
        stolen = self._stealing()
        if stolen is not None:
            most = min(cap * (1.0 + 1e-9), self.eps0)
            best = if_any(lambda: stolen.epsilon(math.log(delta), cap=most))
            if best is not None:
                found.append(self._by_stealing(best, best.epsilon))
        least = min(found, key=lambda one: one.value)
        profiles = self._blankets()
        if profiles and self._may_win(least.value, math.log(delta)):
            # The largest of all pairs.
            blanket = upper_epsilon(profiles, math.log(delta), cap=cap, rtol=self.rtol)
            found.append(self._by_blanket(blanket.high))
        return min(found, key=lambda one: one.value)

    def _may_win(self, epsilon: float, log_delta: float) -> bool:
        """Whether the common blanket's estimate is not clearly above this log delta."""
        if not math.isfinite(epsilon):
            return True
        rough = [one.rough_log_delta(epsilon) for one in self._blankets()]
        return max(rough) < log_delta + _CLEARLY

    def upper_log_delta(self, epsilon: float) -> End:
        """The least upper end of log delta."""
        found = [self._of_own(self.own.bound("delta", epsilon), logs=True)]
        if epsilon < self.eps0:
            found += self._log_deltas_of_all(epsilon)
        return min(found, key=lambda one: one.value)

    def _log_deltas_of_all(self, epsilon: float, *, quick: bool = False) -> list[End]:
        """Upper ends of log delta that rest on all groups, at 0 <= eps < eps0."""
        found, stolen = [], self._stealing()
        # Delta only falls in eps.
        at = min(epsilon, LARGEST_EPSILON)
        if stolen is not None and epsilon > 0.0:
            best = if_any(lambda: stolen.bounded(at) if quick else stolen.log_delta(at))
            if best is not None:
                found.append(self._by_stealing(best, best.log_delta))
        profiles = self._blankets()
        if profiles and self._may_win(at, found[0].value if found else 0.0):
            width = _QUICK if quick else 10.0 * self.rtol
            highs = [one.log_delta(epsilon, width=width).high for one in profiles]
            found.append(self._by_blanket(min(max(highs), 0.0)))
        return found

    def _of_own(self, bound: Bound, *, logs: bool) -> End:
        """The own group's, which is the crowd's where there is no other."""
        value = bound.log_upper if logs else bound.upper
        theorem = bound.upper_theorem
        witness = dict(bound.witness.get("upper", {}))
        if theorem is not None and theorem != theorems.LOCAL and not self.alone:
            theorem = theorem.with_step(theorems.OWN_GROUP)
            witness |= {"group": self.victim, "n": self.own.n}
        witness = witness or {"analysis": "local"}
        return End(
            -math.inf if value is None else value,
            theorem,
            bound.upper_width,
            witness,
            self.words if witness.get("analysis") == "local" else self.words_of_own,
        )

    def _blankets(self) -> list[Profile]:
        """Profiles of the pairs against what all groups have in common."""
        return self._answers.answer("blankets", self._make_blankets)

    def _make_blankets(self) -> list[Profile]:
        if self.kind is None or not theorems.COMMON_BLANKET.serves(self.trust):
            return []
        return [
            Profile(common_pair(self.groups, self.kind, self.victim, pair))
            for pair in self.kind.pairs[self.victim]
        ]

    def _by_blanket(self, value: float) -> End:
        witness = {"analysis": "common-blanket", "group": self.victim}
        return End(value, theorems.COMMON_BLANKET, None, witness, self.words_of_all)

    def _stealing(self) -> FiniteStealing | None:
        kind = self.kind
        if kind is None or not theorems.CROWD_STEALING.serves(self.trust):
            return None
        cases = lambda _: crowd_cases(self.groups, kind, self.victim)  # noqa: E731
        return self._answers.answer("stealing", lambda: FiniteStealing(cases, self.n))

    def _by_stealing(self, best: Stolen, value: float) -> End:
        free = [free_numbers(one) for one in best.numbers]
        witness: dict[str, Any] = {"analysis": "crowd-stealing", "group": self.victim, "free": free}
        return End(value, theorems.CROWD_STEALING, None, witness, self.words_of_all)

    # ------------------------------------------------------------------------ lower ends

    def lower_epsilon(self, delta: float) -> End:
        """The largest lower end of eps."""
        if self.alone:
            return _lower_of(self.own.bound("epsilon", delta), logs=False)
        cap = min(self.eps0, float(self.mechanism.local_epsilon(delta)), LARGEST_EPSILON)
        found = self._answers.answer(
            ("lower", delta),
            lambda: lower_epsilon(self._sets(), math.log(delta), above=0.0, cap=cap),
        )
        return _ZERO if found is None else self._by_set(found)

    def lower_log_delta(self, epsilon: float) -> End:
        """The largest lower end of log delta."""
        if self.alone:
            return _lower_of(self.own.bound("delta", epsilon), logs=True)
        nothing = _ZERO._replace(value=-math.inf)
        if epsilon >= min(self.eps0, LARGEST_EPSILON):
            return nothing
        found = lower_log_delta(self._sets(), epsilon)
        return self._by_set(found) if found.witness else nothing

    def _sets(self) -> list[DataSet]:
        kind = self.kind
        if kind is None:
            return []
        return self._answers.answer("sets", lambda: crowd_sets(self.groups, kind, self.victim))

    def _by_set(self, best: Best) -> End:
        witness = {"analysis": "crowd-dataset", "group": self.victim, **best.witness}
        return End(best.value, theorems.CROWD_DATASET, None, witness, ())

    # ------------------------------------------------------------------------------ rounds

    def as_round(self) -> Round:
        """One round of a composition: curves that hold at every eps, no lower end."""
        own = self.own.as_round()
        if self.alone:
            alike = (ALIKE,) if self._merged else ()
            return replace(own, assumptions=(*own.assumptions, *alike))
        together = self._rests_on_all()
        theorem = own.upper_theorem
        theorem = None if theorem is None else theorem.with_step(theorems.OWN_GROUP)
        for step in together:
            theorem = step if theorem is None else step.with_step(theorem)
        words = self.words_of_all if together else self.words_of_own
        of_all = UpperValues(self._log_upper_of_all, self._rough_of_all)
        return replace(
            own,
            label=f"crowd, group {self.victim}",
            candidates=_no_candidates,
            key=("crowd", self.groups, self.victim, self.trust, self.rtol),
            assumptions=tuple(said for said in words if said != ONE_ROUND),
            upper_theorem=theorem,
            groups=[*own.groups, (of_all,)] if together else own.groups,
            # A bound of a crowd of bits takes a twentieth of a second.
            slow=own.slow or bool(together),
            rtol=max(own.rtol, _ROUNDS_RTOL) if together else own.rtol,
            at={"n": self.n},
        )

    def _rests_on_all(self) -> list[Theorem]:
        """What upper ends of rounds by all groups rest on; none where there are no such ends."""
        if self.kind is None or len(self.kind.pairs[self.victim]) > _MOST_PAIRS:
            return []
        found = [theorems.COMMON_BLANKET] if self._blankets() else []
        return [*found, theorems.CROWD_STEALING] if self._stealing() is not None else found

    def _log_upper_of_all(self, epsilon: float) -> float:
        """The least upper end of log delta that rests on all groups; 0 where there is none."""
        if epsilon >= self.eps0:
            return -math.inf
        find = lambda: self._log_deltas_of_all(epsilon, quick=True)  # noqa: E731
        found = self._answers.answer(("of all", epsilon), find)
        return min([0.0, *(one.value for one in found)])

    def _rough_of_all(self, epsilon: float) -> float:
        """An estimate of that end in floats."""
        if epsilon >= self.eps0:
            return -math.inf
        at, found, stolen = min(epsilon, LARGEST_EPSILON), [0.0], self._stealing()
        if stolen is not None and epsilon > 0.0:
            about = if_any(lambda: stolen.rough(at))
            found += [] if about is None else [about]
        profiles = self._blankets()
        if profiles:
            found.append(max(one.rough_log_delta(at) for one in profiles))
        return min(found)


def _no_candidates() -> tuple[Any, ...]:
    """No data set of a crowd is composed for a lower end."""
    return ()


def _lower_of(bound: Bound, *, logs: bool) -> End:
    value = bound.log_lower if logs else bound.lower
    witness = dict(bound.witness.get("lower", {}))
    width, theorem = bound.lower_width, bound.lower_theorem
    return End(-math.inf if value is None else value, theorem, width, witness, ())
