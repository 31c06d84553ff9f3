"""A crowd of several kinds: groups with their own mechanism and count behind one shuffler."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from shuffledp import _check
from shuffledp import _special as special
from shuffledp._check import Trust
from shuffledp.amplification import settings
from shuffledp.amplification.end import End, bound_of
from shuffledp.bound import Bound, Theorem
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified, rejected
from shuffledp.models import MOST_CHANGED, PERFECT, Chained, Shuffler
from shuffledp.neighbours import OfGroup, Relation
from shuffledp.population.member import Member
from shuffledp.published import Estimate
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Composed, Round, compose
from shuffledp.values.described import by_name
from shuffledp.values.work import Answers, Beside

LARGEST_GROUPS = 50
_CHEN = "Chen, Cao, Ge 2024, hiding in a heterogeneous crowd"
_BELOW = "below the certified lower end here: on the wrong side"
_NOT_BELOW = "not certified: nothing says on which side of the truth it is"


@dataclass(frozen=True)
class Crowd(Accountant):
    """Groups of users behind one shuffler, and whose member is protected; made by ``crowd``.

    Attributes
    ----------
    groups : tuple of (Randomizer, int)
        Each group's mechanism and number of users.
    victim : int or None
        Index of the group whose members the answers are about; None: the worst of all groups.
    rtol : float
        Requested relative width of each analysis' own numerical bracket of eps.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/.
    """

    groups: tuple[tuple[Randomizer, int], ...]
    victim: int | None = None
    rtol: float = 1e-6
    trust: Trust = "all"

    @property
    def n(self) -> int:
        """Users in all."""
        return sum(count for _, count in self.groups)

    @property
    def eps0(self) -> float:
        """Local guarantee in nats: of the victim's group, or the largest."""
        return max(float(self.groups[k][0].eps0) for k in self._asked())

    @property
    def relation(self) -> Relation:
        """What one user may change: the victim's mechanism says."""
        relations = {self.groups[k][0].relation for k in self._asked()}
        if len(relations) > 1:
            raise rejected("victim", None, "one group: its groups have different neighbours")
        one = relations.pop()
        return one if self.victim is None or len(self.groups) == 1 else OfGroup(self.victim, one)

    def _said(self, bound: Bound) -> Bound:
        """With the assumption on neighbours that is this crowd's relation."""
        return replace(bound, assumptions=self._of_the_group(bound.assumptions))

    def _of_the_group(self, words: Iterable[str]) -> tuple[str, ...]:
        own = {self.groups[k][0].relation.sentence for k in self._asked()}
        return tuple(self.relation.sentence if word in own else word for word in words)

    def of(self, victim: int) -> Crowd:
        """The same crowd for members of one group.

        Parameters
        ----------
        victim : int
            Index of the group.
        """
        return Crowd(self.groups, _victim(victim, len(self.groups)), self.rtol, self.trust)

    def _epsilon_at(self, delta: float) -> Bound:
        return self._said(self._epsilon(delta))

    def _delta_at(self, epsilon: float) -> Bound:
        return self._said(self._delta(epsilon))

    @by_name
    def recomputable_epsilon(self, *, delta: float) -> Bound:
        """As ``epsilon``, with the assumptions as certificates list them, the relation apart.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        """
        return self._epsilon(_check.open_unit("delta", delta))

    @by_name
    def recomputable_delta(self, *, epsilon: float) -> Bound:
        """As ``delta``, with the assumptions as certificates list them, the relation apart.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        """
        return self._delta(_check.epsilon("epsilon", epsilon))

    def _epsilon(self, delta: float) -> Bound:
        members = [self._member(k) for k in self._asked()]
        upper = _of_every_group([one.upper_epsilon(delta) for one in members])
        lower = _largest([one.lower_epsilon(delta) for one in members])
        at = {"delta": delta, "n": self.n}
        return bound_of("epsilon", lower, upper, at=at, relation=self.relation, wanted=self.rtol)

    def _delta(self, epsilon: float) -> Bound:
        members = [self._member(k) for k in self._asked()]
        upper = _of_every_group([one.upper_log_delta(epsilon) for one in members])
        lower = _largest([one.lower_log_delta(epsilon) for one in members])
        at, width = {"epsilon": epsilon, "n": self.n}, 10.0 * self.rtol
        return bound_of("delta", lower, upper, at=at, relation=self.relation, wanted=width)

    @by_name
    def compose(self, *, rounds: int, rtol: float | None = None) -> Composed:
        """The same crowd in several rounds, one group's members protected.

        Upper ends rest at each eps on the least bound of one round, by all groups or by the own one
        alone. There is no lower end.

        Parameters
        ----------
        rounds : int
            1 <= rounds <= 1e9.
        rtol : float, optional
            As for ``Shuffled.compose``.
        """
        return compose([self], rounds=rounds, rtol=rtol)

    def as_round(self) -> Round:
        """One round of a composition, with this crowd.

        Raises
        ------
        ParameterError
            If no group is named.
        """
        if self.victim is None and len(self.groups) > 1:
            raise rejected("victim", None, "the index of a group: rounds are composed for one")
        one = self._member(self._asked()[0]).as_round()
        words = self._of_the_group(one.assumptions)
        # A group's members alone are no round of all users, be the mechanism the same.
        key = one.key if self.relation == one.relation else (one.key, self.relation)
        return replace(one, key=key, relation=self.relation, assumptions=words)

    @by_name
    def estimate(self, *, delta: float) -> Estimate:
        """The published approximation for crowds: Gaussian DP with mu = sqrt(2/(S - max s_i)).

        S is the sum of s_i = (1 - delta_i)/(1 + e^eps_i) over all users, (eps_i, delta_i) their
        local guarantees (here delta_i = 0, or delta where there is no pure one). It is never an
        end; where it is below the certified lower end, it says so.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.

        Raises
        ------
        NotCertified
            If a group has no local guarantee.
        """
        delta = _check.open_unit("delta", delta)
        mu = self._mu(delta)
        value = _gaussian_epsilon(mu, math.log(delta))
        wrong = value < max(self._member(k).lower_epsilon(delta).value for k in self._asked())
        return Estimate(
            "epsilon",
            value,
            f"Gaussian DP with mu = {mu:.6g}",
            _CHEN,
            at={"delta": delta, "n": self.n},
            warning=_BELOW if wrong else _NOT_BELOW,
        )

    def _mu(self, delta: float) -> float:
        shares = []
        for mechanism, count in self.groups:
            eps0, delta0 = float(mechanism.eps0), 0.0
            if not math.isfinite(eps0):
                eps0, delta0 = float(mechanism.local_epsilon(delta)), delta
            if not math.isfinite(eps0):
                raise NotCertified(f"estimate: {mechanism.name} has no local guarantee")
            shares.append((count, (1.0 - delta0) / (1.0 + math.exp(min(eps0, 700.0)))))
        rest = math.fsum(count * s for count, s in shares) - max(s for _, s in shares)
        return math.sqrt(2.0 / rest) if rest > 0.0 else math.inf

    # ------------------------------------------------------- what several users who change ask

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """log of delta's upper end for one user of the groups asked about, at any eps.

        Parameters
        ----------
        log_target : float
            Not needed: every eps is evaluated by itself.
        """
        del log_target
        members = [self._member(k) for k in self._asked()]
        return lambda epsilon: max(one.upper_log_delta(epsilon).value for one in members)

    def log_lowers(self, changed: int) -> None:
        """Of data sets that differ in several users of a crowd nothing is known."""
        del changed

    def alone(self) -> float:
        """Local guarantee of one user's report."""
        return self.eps0

    def upper_theorem_at(self, epsilon: float) -> Theorem | None:
        """What one user's upper end at this eps rests on."""
        members = [self._member(k) for k in self._asked()]
        return _of_every_group([one.upper_log_delta(epsilon) for one in members]).theorem

    def assumptions(self) -> tuple[str, ...]:
        """What upper ends of any group asked about take for granted, by whatever analysis."""
        words = [w for k in self._asked() for w in self._member(k).words_of_all]
        return tuple(dict.fromkeys(self._of_the_group(words)))

    def together(self, changed: int) -> None:
        """No crowd of one user is one of several."""
        del changed

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form: groups as tables, and the victim's."""
        return {
            "groups": [{"randomizer": m.to_dict(), "users": count} for m, count in self.groups],
            "victim": self.victim,
            "rtol": self.rtol,
            "trust": self.trust,
        }

    def _asked(self) -> list[int]:
        """Groups whose members the answers are about."""
        return list(range(len(self.groups))) if self.victim is None else [self.victim]

    def _member(self, victim: int) -> Member:
        return _WORK.of(self).answer(
            victim, lambda: Member(self.groups, victim, rtol=self.rtol, trust=self.trust)
        )


def _largest(found: Sequence[End]) -> End:
    return max(found, key=lambda one: one.value)


def _of_every_group(found: Sequence[End]) -> End:
    """The largest upper end, with what all of them rest on: without it another may be larger."""
    worst = _largest(found)
    order = [worst, *(one for one in found if one is not worst)]
    words = dict.fromkeys(said for one in order for said in one.assumptions)
    theorems = list(dict.fromkeys(one.theorem for one in order if one.theorem is not None))
    theorem = None if worst.theorem is None else functools.reduce(Theorem.with_step, theorems)
    return worst._replace(theorem=theorem, assumptions=tuple(words))


_WORK: Beside[Crowd, Answers] = Beside(lambda _: Answers())


def _gaussian_epsilon(mu: float, log_target: float) -> float:
    """eps with delta_mu(eps) = delta, the profile of Gaussian DP; inf for mu = inf."""
    if math.isinf(mu):
        return math.inf

    def gap(epsilon: float) -> float:
        first = float(special.log_ndtr(-epsilon / mu + 0.5 * mu))
        second = epsilon + float(special.log_ndtr(-epsilon / mu - 0.5 * mu))
        # log(e^first - e^second), second < first.
        return first + math.log(max(-math.expm1(second - first), 1e-300)) - log_target

    if gap(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, mu * (0.5 * mu + math.sqrt(-2.0 * log_target) + 1.0)
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gap(middle) > 0.0 else (low, middle)
    return high


def _victim(victim: Any, groups: int) -> int:
    if isinstance(victim, bool) or not isinstance(victim, int) or not 0 <= victim < groups:
        raise rejected("victim", victim, f"the index of a group, 0 to {groups - 1}, or None")
    return victim


def _checked_group(i: int, group: Any) -> tuple[Randomizer, int]:
    wanted = "a pair of a randomizer and a number of users"
    if isinstance(group, str) or not isinstance(group, Sequence) or len(group) != 2:
        raise rejected(f"groups[{i}]", group, wanted)
    mechanism, count = group
    if not isinstance(mechanism, Randomizer):
        raise rejected(f"groups[{i}]", group, wanted)
    return mechanism, _check.count(f"groups[{i}] users", count)


@overload
def crowd(
    groups: Iterable[tuple[Randomizer, int]],
    *,
    victim: int | None = None,
    rtol: float = 1e-6,
    trust: Trust = "all",
    view: str = "messages",
    shuffler: Shuffler = PERFECT,
) -> Crowd: ...


@overload
def crowd(
    groups: Iterable[tuple[Randomizer, int]],
    *,
    victim: int | None = None,
    rtol: float = 1e-6,
    trust: Trust = "all",
    view: str = "messages",
    shuffler: Shuffler = PERFECT,
    changed: int,
) -> Crowd | Chained: ...


@by_name
def crowd(
    groups: Iterable[tuple[Randomizer, int]],
    *,
    victim: int | None = None,
    rtol: float = 1e-6,
    trust: Trust = "all",
    view: str = "messages",
    shuffler: Shuffler = PERFECT,
    changed: int = 1,
) -> Crowd | Chained:
    """Groups of users with their own mechanisms behind one shuffler.

    Parameters
    ----------
    groups : iterable of (Randomizer, int)
        Each group's mechanism and number of users; up to 50 groups.
    victim : int, optional
        Index of the group whose members are protected; None: the worst of all groups.
    rtol, trust
        As for ``shuffle``.
    view, shuffler
        All messages, and one perfect shuffler: of crowds no others are known.
    changed : int
        So many users' values may change at once, all of the group ``victim`` where one is given: 1
        to 1,000.

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    Examples
    --------
    >>> import shuffledp as sd
    >>> tiers = [(sd.BinaryRR(eps0=1.0), 10_000), (sd.BinaryRR(eps0=4.0), 10_000)]
    >>> bound = sd.crowd(tiers, victim=1).epsilon(delta=1e-6)
    >>> round(bound.lower, 4), round(bound.upper, 4)
    (0.0752, 0.0752)
    """
    changed = _check.count("changed", changed, high=MOST_CHANGED)
    for name, value, usual in (("view", view, "messages"), ("shuffler", shuffler, PERFECT)):
        if value != usual:
            raise rejected(name, value, f"{usual!r}, which is all that is known of crowds")
    if isinstance(groups, str | Randomizer) or not isinstance(groups, Iterable):
        raise rejected("groups", groups, "pairs of a randomizer and a number of users")
    found = tuple(_checked_group(i, group) for i, group in enumerate(groups))
    if not 0 < len(found) <= LARGEST_GROUPS:
        raise rejected("groups", f"{len(found)} groups", f"1 to {LARGEST_GROUPS}")
    _check.count("users of all groups", sum(count for _, count in found))
    chosen = None if victim is None else _victim(victim, len(found))
    rtol, trust = settings(rtol, trust)
    made = Crowd(found, chosen, rtol, trust)
    _ = made.relation
    if changed == 1:
        return made
    if trust == "published":
        raise NotCertified("trust = 'published': what changed rests on is proved here")
    # Of one group no more users can change than it has.
    most = made.n if chosen is None else found[chosen][1]
    if changed > most:
        raise rejected("changed", changed, f"at most {most:,}, the users who are asked about")
    return Chained(made, changed)
