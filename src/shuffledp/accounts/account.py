"""Account: what an analyst learns of n users, whatever is seen, believed and declared of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import _check
from shuffledp.accounts.shuffler import PERFECT, Shuffler
from shuffledp.accounts.supported import MOST_ROUNDS, refuse_rounds, refuse_several
from shuffledp.accounts.widened import Widened
from shuffledp.amplification.comparison import Comparison, compare
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.profile import profile
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.bound import Bound, Theorem
from shuffledp.curves import DEEP, Accountant
from shuffledp.errors import NotCertified, rejected
from shuffledp.laws.sources import Source
from shuffledp.neighbours import Relation, together
from shuffledp.published import Estimate
from shuffledp.rounds import Composed, Round, compose
from shuffledp.values.described import by_name
from shuffledp.views.sums import Sums

# Relative width of eps that is enough to find a place.
_WIDE = 1e-2


@dataclass(frozen=True)
class Account(Accountant):
    """Users' reports behind a shuffler or an aggregator; made by ``shuffle`` or ``generic``.

    Attributes
    ----------
    seen : Messages, Crowd or Sums
        What the analyst sees, of how many users' reports, in how many rounds.
    n : int
        Users, those who are protected included.
    shuffler : Shuffler
        Whoever stands between users and analyst.
    changed : int
        This many users' values may change at once (or those of one person with this many reports).
    """

    seen: Seen
    n: int
    shuffler: Shuffler = PERFECT
    changed: int = 1

    def __post_init__(self) -> None:
        hidden = self.shuffler.hidden(_check.count("n", self.n))
        if self.seen.n != hidden:
            wanted = f"users of whom {self.seen.n:,} messages are seen: ask shuffle for others"
            raise rejected("n", self.n, wanted)
        refuse_several(self.seen, self.shuffler, self.changed, self.n)

    @property
    def hidden(self) -> int:
        """Messages among which one user's is hidden: of a shard, and dummies."""
        return self.seen.n

    @property
    def rounds(self) -> int:
        """How often everybody reports."""
        return self.seen.rounds

    @property
    def source(self) -> Source:
        """What each user runs, where all run the same."""
        if isinstance(self.seen, Messages):
            return self.seen.source
        if isinstance(self.seen, Sums):
            return self.seen.mechanism
        raise AttributeError("source: groups have mechanisms of their own")

    @property
    def eps0(self) -> float:
        """What all reports that may change give away by themselves, in nats; may be inf."""
        return self._view.guarantee

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        one = self.shuffler.relation(self.seen.relation)
        return one if self.changed == 1 else together(self.changed, one)

    # ----------------------------------------------------------------------------- both ends

    def bound(self, quantity: Quantity, value: float) -> Bound:
        """eps at a delta, or delta at an eps: for programs, which have the question as a value."""
        found = self._view.bound(quantity, value)
        return found if self.is_plain else self.dressed(found)

    def by_analysis(self, quantity: Quantity, value: float, analysis: str) -> Bound:
        """Both ends by one analysis alone, of one round of messages."""
        return self._messages("analysis", analysis).bound(quantity, value, analysis=analysis)

    def along(self, epsilons: list[float], analysis: str | None) -> list[Bound]:
        """delta at each eps; of many points of one round of messages by chords."""
        if self.is_plain and isinstance(self.seen, Messages):
            return profile(self.seen, epsilons, analysis)
        return super().along(epsilons, analysis)

    @property
    def _view(self) -> Seen | Widened:
        """What is seen, of all users who may change at once and in the order that is believed."""
        if not self.shuffler.distance:
            exact = self.seen if self.changed == 1 else self.seen.together(self.changed)
            if exact is not None:
                return exact
        return Widened(self.seen, self.changed, self.shuffler.farthest)

    def log_upper(self, epsilon: float, *, log_target: float = DEEP) -> float:
        """log of the certified upper end of delta alone: for solvers, which need no lower end.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        log_target : float
            About log of the smallest delta that is looked for.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        if epsilon >= self.eps0:
            return -math.inf
        return self._view.log_uppers(log_target)(epsilon)

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of eps alone."""
        delta = _check.open_unit("delta", delta)
        return self.seen.upper_epsilon(delta) if self.is_plain else self.epsilon(delta=delta).upper

    @property
    def quick(self) -> bool:
        """Whether all messages of one perfect shuffler are seen."""
        return self.is_plain and isinstance(self.seen, Messages)

    def rough_log_delta(self, epsilon: float) -> float:
        """About ``log_upper``: a wide end of one round, and of several what no end certifies."""
        if not self.quick:
            return self.log_upper(epsilon)
        if self.rounds > 1:
            return self._curves().rough_log_delta(epsilon)
        return replace(self.seen, rtol=_WIDE).log_uppers(DEEP)(epsilon)  # type: ignore[call-arg]

    # -------------------------------------------------------------------- what it rests on

    @property
    def is_plain(self) -> bool:
        """Whether one user changes, behind one perfect shuffler or an aggregator."""
        return self.shuffler == PERFECT and self.changed == 1

    def dressed(self, bound: Bound) -> Bound:
        """The bound with this relation, and what is declared of the shuffler."""
        own = self.seen.relation.sentence
        words = self.shuffler.ordered(word for word in self.seen.words(bound) if word != own)
        words = (self.relation.sentence, *words, *self.shuffler.assumptions())
        at = {**bound.at, "n": self.n}
        return replace(
            bound,
            at=at if self.rounds == 1 else {**at, "rounds": self.rounds},
            lower_theorem=self._resting(bound.lower_theorem),
            upper_theorem=self._resting(bound.upper_theorem),
            relation=self.relation,
            assumptions=words,
        )

    def _resting(self, theorem: Theorem | None) -> Theorem | None:
        for step in self.shuffler.steps:
            theorem = theorem if theorem is None else theorem.with_step(step)
        return theorem

    # ----------------------------------------------------------------- rounds and their curves

    @by_name
    def compose(self, *, rounds: int, rtol: float | None = None) -> Account | Composed:
        """The same ``rounds`` times as often: every user in each, with fresh randomness.

        Parameters
        ----------
        rounds : int
            1 <= rounds <= 1e9; at most 1e6 in all of sums, declared shufflers and several users.
        rtol : float, optional
            Requested relative width of eps, 1e-6 to 0.1, of messages behind one perfect shuffler.
            By default what is worth the time (5e-4, or 6e-3 for continuous outputs), or more or
            less where this account's own ``rtol`` is above that or below 1e-6.
        """
        if self.is_plain and not isinstance(self.seen, Sums):
            times = _check.count("rounds", rounds, high=10**9) * self.rounds
            return compose([self.seen.as_round()], rounds=times, rtol=rtol)
        if rtol is not None:
            raise rejected("rtol", rtol, "none here: it is what the account itself was given")
        times = self.rounds * _check.count("rounds", rounds, high=MOST_ROUNDS)
        refuse_rounds(self.seen, self.shuffler, self.changed, times)
        return replace(self, seen=self.seen.again(_check.count("rounds", times, high=MOST_ROUNDS)))

    def as_round(self) -> Round:
        """One round of a composition with others."""
        if not self.is_plain or self.rounds > 1:
            raise NotCertified(f"compose: {self._what} is no round to be composed with others")
        return self.seen.as_round()

    @property
    def _what(self) -> str:
        return "such a setting" if self.is_plain else "a declared shuffler, or several users,"

    def _curves(self) -> Composed:
        """Its rounds, as curves."""
        if not self.is_plain or isinstance(self.seen, Sums):
            raise NotCertified("wanted messages behind one perfect shuffler, one user changed")
        return self.seen.composed()

    @by_name
    def renyi(self, *, order: float) -> Bound:
        """Renyi divergence in nats at an order > 1, both ends certified (see ``Composed``)."""
        return self._curves().renyi(order=order)

    def rdp(self, orders: Iterable[float]) -> list[float]:
        """Upper ends of the Renyi divergence at each order."""
        return self._curves().rdp(orders)

    @by_name
    def tradeoff(self, *, alpha: float) -> Bound:
        """Least type II error of a test with type I error alpha; the lower end is the guarantee."""
        return self._curves().tradeoff(alpha=alpha)

    @by_name
    def pld(self, *, discretization: float = 1e-4) -> Any:
        """A dp_accounting PrivacyLossDistribution that dominates the mechanism."""
        return self._curves().pld(discretization=discretization)

    # ------------------------------------------------------------------------ side by side

    @by_name
    def compare(self, *, delta: float, slow: bool = False) -> Comparison:
        """Every analysis that applies, side by side: eps, validity, time, factor lost.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        slow : bool
            Also the analyses whose cost grows with n.
        """
        delta = _check.open_unit("delta", delta)
        return compare(self._messages("compare", "all analyses"), delta=delta, slow=slow)

    @by_name
    def estimate(self, *, delta: float, analysis: str) -> Estimate:
        """eps by a published formula: no end of a bound.

        Parameters
        ----------
        delta : float
            0 < delta < 1.
        analysis : str
            Which formula (``published.FORMULAS``), of one round of messages.

        Raises
        ------
        NotCertified
            If there is no such number.
        """
        delta = _check.open_unit("delta", delta)
        return self._messages("analysis", analysis).estimate(delta, analysis)

    def with_n(self, n: int) -> Account:
        """The same among another number of users."""
        n = _check.count("n", n)
        if self.changed > n:
            raise rejected("n", n, f"at least {self.changed:,}, the users who change")
        return replace(self, seen=self.seen.among(self.shuffler.hidden(n)), n=n)

    def _messages(self, name: str, value: Any) -> Messages:
        """What is seen, where single analyses are known of it."""
        if not isinstance(self.seen, Messages) or not self.is_plain:
            raise rejected(name, value, "none but of messages behind one perfect shuffler")
        return self.seen


__all__ = ["Account"]
