"""Setting: a mechanism behind a declared shuffler, and how many users may change at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from shuffledp import _check, theorems
from shuffledp._check import Trust
from shuffledp.amplification import Shuffled
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.bounds.data_sets import DataSet, lower_epsilon, lower_log_delta
from shuffledp.bounds.several import several_sets
from shuffledp.bounds.shufflers import Chain, chain, local_guarantee, log_local, log_mixed
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified, rejected
from shuffledp.models.crossing import crossing
from shuffledp.models.shuffler import PERFECT, Shuffler
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import REPLACEMENT, Relation, Together
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Composed
from shuffledp.values.described import by_name
from shuffledp.values.work import Answers, Beside

# So many users who change at once: each adds a step, and e^(k eps) has to stay a float.
MOST_CHANGED, MOST_ROUNDS = 1_000, 10**6
# An end of eps is looked for up to here, and one user's delta up to there.
# Of eps for several users: every point is as many evaluations as there are steps.
_SEVERAL_RTOL = 1e-4
_LARGEST_EPSILON, _LARGEST_STEP = 1e4, 600.0


@dataclass(frozen=True)
class Setting(Accountant):
    """A mechanism in a declared setting; made by ``shuffle(shuffler=..., changed=...)``.

    Attributes
    ----------
    source : Randomizer or MultiMessage
        What each user runs.
    n : int
        Users whose messages reach the shuffler, those who are protected included.
    shuffler : Shuffler
        Whoever stands between users and analyst.
    changed : int
        So many users' values may change at once (or values of one person with so many reports).
    rounds : int
        How often everybody reports, each time shuffled anew.
    rtol : float
        Requested relative width of eps.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/.
    """

    source: Randomizer | MultiMessage
    n: int
    shuffler: Shuffler = PERFECT
    changed: int = 1
    rounds: int = 1
    rtol: float = 1e-6
    trust: Trust = "all"

    def __post_init__(self) -> None:
        if not isinstance(self.shuffler, Shuffler):
            raise rejected("shuffler", self.shuffler, "a Shuffler, such as Shuffler(shards=4)")
        size = self.shuffler.shard(_check.count("n", self.n))
        high = min(size, MOST_CHANGED)
        object.__setattr__(self, "changed", _check.count("changed", self.changed, high=high))
        _check.count("rounds", self.rounds, high=MOST_ROUNDS)
        if isinstance(self.source, MultiMessage) and self.shuffler != PERFECT:
            msg = f"shuffler = {self.shuffler!r}: a multi-message protocol wants a perfect one"
            raise NotCertified(msg)
        secret = self.shuffler.shards > 1 and self.shuffler.assignment == "secret"
        if self.rounds > 1 and (self.shuffler.distance > 0.0 or secret):
            # Orders or assignments of several rounds that belong together link a user's reports.
            what = (
                "an order that is not uniform" if self.shuffler.distance else "a secret assignment"
            )
            raise NotCertified(f"rounds = {self.rounds:,}: wanted 1, with {what}")
        ours = self.shuffler.distance > 0.0 or self.shuffler.dummies or self.shuffler.fills
        if self.trust == "published" and (ours or self.changed > 1):
            msg = f"trust = 'published': what {self.shuffler!r} or changed rest on is proved here"
            raise NotCertified(msg)
        if self.shuffler.fills and self.source.relation != REPLACEMENT:
            msg = "shuffler.fills: not where values are only replaced by some others"
            raise NotCertified(msg)

    @property
    def hidden(self) -> int:
        """Messages among which one user's is hidden: of a shard, and dummies."""
        return self.shuffler.hidden(self.n)

    @property
    def eps0(self) -> float:
        """What all reports that may change give away without a shuffler, in nats; may be inf."""
        return local_guarantee(float(self.source.eps0), self.changed, self.rounds)

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        one = self.shuffler.relation(self.source.relation)
        return one if self.changed == 1 else Together(self.changed, one)

    def with_n(self, n: int) -> Setting:
        """The same among another number of users."""
        return replace(self, n=_check.count("n", n))

    @by_name
    def compose(self, *, rounds: int) -> Setting:
        """The same ``rounds`` times as often: every user in each, every round shuffled anew.

        Parameters
        ----------
        rounds : int
            1 <= rounds; at most 1e6 in all.
        """
        return replace(self, rounds=self.rounds * _check.count("rounds", rounds, high=MOST_ROUNDS))

    def _epsilon_at(self, delta: float) -> Bound:
        one = self._ideal.epsilon(delta=delta)
        at = {"delta": delta}
        if self._plain:
            return self._dressed(one, at)
        log_target = math.log(delta)
        log_target -= 2.0 * math.ulp(log_target)
        cap = min(self.eps0, _LARGEST_EPSILON)
        start = max(one.upper, 1e-9) * self.changed
        rtol = self.rtol if self.changed == 1 else max(self.rtol, _SEVERAL_RTOL)
        found = crossing(self._log_upper, log_target, start=start, cap=cap, rtol=rtol)
        upper, width = (self.eps0, None) if found is None else found
        lower = one
        if self.changed > 1 and one.lower < upper:
            more = lower_epsilon(self._sets, math.log(delta), above=one.lower, cap=upper)
            if more is not None:
                lower = self._raised(one, *more)
        refuse_contradiction(lower.lower, upper)
        capped = upper >= self.eps0
        return self._dressed(
            replace(
                lower,
                lower=min(lower.lower, upper),
                upper=upper,
                upper_theorem=self._upper_theorem(upper, one),
                upper_width=width,
                witness={**lower.witness, "upper": {} if capped else self._witness(upper)},
            ),
            at,
        )

    def _delta_at(self, epsilon: float) -> Bound:
        one = self._ideal.delta(epsilon=epsilon)
        at = {"epsilon": epsilon}
        if self._plain:
            return self._dressed(one, at)
        log_upper = self._log_upper(epsilon)
        log_lower, lower = _number(one.log_lower), one
        if self.changed > 1:
            more = lower_log_delta(self._sets, epsilon)
            if more.value > log_lower:
                log_lower, lower = more.value, self._raised(one, more.value, more.witness)
        low, high = delta_from_log(log_lower, log_upper)
        refuse_contradiction(low, high)
        return self._dressed(
            replace(
                lower,
                lower=min(low, high),
                upper=high,
                log_lower=min(log_lower, log_upper),
                log_upper=log_upper,
                upper_theorem=self._upper_theorem(epsilon, one),
                upper_width=one.upper_width,
                witness={**lower.witness, "upper": self._witness(epsilon)},
            ),
            at,
        )

    def log_upper(self, epsilon: float) -> float:
        """log of the certified upper end of delta alone.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        """
        return self._log_upper(_check.epsilon("epsilon", epsilon))

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of eps alone.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        """
        return self.epsilon(delta=delta).upper

    # -------------------------------------------------------------------- what they rest on

    @property
    def _plain(self) -> bool:
        """Whether the ends of one shuffle of the hidden messages are those wanted."""
        return self.shuffler.distance == 0.0 and self.changed == 1

    @property
    def _ideal(self) -> Shuffled | Composed:
        """One user's messages behind one perfect shuffler, all rounds."""

        def make() -> Shuffled | Composed:
            one = Shuffled(self.source, self.hidden, self.rtol, self.trust)
            return one if self.rounds == 1 else one.compose(rounds=self.rounds)

        return _FOUND.of(self).answer("ideal", make)

    @property
    def _sets(self) -> list[DataSet]:
        """Data sets of one round that differ in all users who change; further rounds only add."""
        source = self.source
        if isinstance(source, MultiMessage):
            return []
        return _FOUND.of(self).answer(
            "sets",
            lambda: several_sets(source, source.datasets(), self.hidden, self.changed),
        )

    def _log_one(self, epsilon: float) -> float:
        """One user's log delta at this eps, from above; 0 where nothing is certified.

        delta falls in eps, so beyond what floats have room for that of a smaller one will do.
        """
        try:
            return self._found(min(epsilon, _LARGEST_STEP))
        except NotCertified:
            return 0.0

    def _found(self, epsilon: float) -> float:
        ideal = self._ideal
        answers = _FOUND.of(self)
        if isinstance(ideal, Shuffled):
            return answers.answer(("one", epsilon), lambda: ideal.log_upper(epsilon))
        return answers.answer(("one", epsilon), lambda: ideal.log_delta(epsilon, lower=False).high)

    def _log_upper(self, epsilon: float) -> float:
        """All that is declared, at this eps."""
        left = log_local(self.eps0, epsilon)
        if left == -math.inf:
            return left
        uniform = min(self._together(epsilon).log_delta, left)
        return log_mixed(uniform, self.shuffler.farthest, left)

    def _together(self, epsilon: float) -> Chain:
        """log delta of all that change, behind a perfect shuffler."""
        return chain(self._log_one, epsilon, self.changed)

    def _witness(self, epsilon: float) -> dict[str, object]:
        """What reproduces an upper end: the eps of one user's delta, and by which analysis."""
        return {"steps": list(self._together(epsilon).steps)}

    def _upper_theorem(self, epsilon: float, one: Bound) -> Theorem | None:
        """What the upper end at this eps rests on: the reports alone where they say the least."""
        if epsilon >= self.eps0:
            return theorems.LOCAL
        if self._together(epsilon).log_delta >= log_local(self.eps0, epsilon):
            return theorems.REPORTS_ALONE
        if self.changed > 1 and one.upper_theorem == theorems.LOCAL:
            # Nothing is left of one user at this eps; of the steps to it something is.
            one = self._ideal.delta(epsilon=self._together(epsilon).steps[0])
        return self._theorem(one.upper_theorem)

    def _theorem(self, theorem: Theorem | None) -> Theorem | None:
        """One user's theorem, and the steps from there."""
        if theorem is None:
            return None
        if self.changed > 1:
            theorem = theorem.with_step(theorems.TOGETHER)
        return theorem.with_step(theorems.NEAR_UNIFORM) if self.shuffler.distance else theorem

    def _raised(self, one: Bound, value: float, witness: dict[str, object]) -> Bound:
        """The bound with the lower end of datasets that differ in all users that may change."""
        ends = {"lower": value} if one.quantity == "epsilon" else {"log_lower": value}
        found = {**one.witness, "lower": witness}
        if one.quantity == "epsilon":
            one = replace(one, upper=max(one.upper, value))
        return replace(
            one, **ends, lower_theorem=theorems.SEVERAL_DATASET, lower_width=None, witness=found
        )

    def _dressed(self, bound: Bound, at: dict[str, float]) -> Bound:
        """The bound of this setting: its relation, assumptions, users and steps."""
        own = dict(at) | {"n": self.n}
        if self.rounds > 1:
            own["rounds"] = self.rounds
        steps = [theorem for used, theorem in self._post if used]
        ends = []
        for theorem in (bound.lower_theorem, bound.upper_theorem):
            for step in steps:
                theorem = theorem if theorem is None else theorem.with_step(step)  # noqa: PLW2901
            ends.append(theorem)
        return replace(
            bound,
            at=own,
            lower_theorem=ends[0],
            upper_theorem=ends[1],
            relation=self.relation,
            assumptions=self._words(bound.assumptions),
        )

    @property
    def _post(self) -> tuple[tuple[bool, Theorem], ...]:
        s = self.shuffler
        public = s.assignment == "public"
        return (
            (s.shards > 1 and public, theorems.SHARDS),
            (s.shards > 1 and not public, theorems.SECRET_SHARDS),
            (s.dummies > 0, theorems.DUMMIES),
            (s.fills, theorems.FILLED),
        )

    def _words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Assumptions with this relation, and the shuffler's in the place of the perfect one's."""
        one = self.source.relation.sentence
        rest = self.shuffler.ordered(w for w in words if w != one)
        return (self.relation.sentence, *rest, *self.shuffler.assumptions(self.n))


def _number(log: float | None) -> float:
    return -math.inf if log is None else log


_FOUND: Beside[Setting, Answers] = Beside(lambda _: Answers())
