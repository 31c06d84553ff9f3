"""A crowd of several kinds: groups with their own mechanism and count behind one shuffler."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification.end import End, bound_of
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.bound import Bound, Theorem
from shuffledp.bounds.shufflers import local_guarantee
from shuffledp.errors import rejected
from shuffledp.neighbours import Relation, of_group
from shuffledp.population.member import Member
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Round
from shuffledp.values.work import Answers, Beside

LARGEST_GROUPS = 50


@dataclass(frozen=True)
class Crowd(Seen):
    """Groups of users behind one shuffler, and whose member is protected.

    Attributes
    ----------
    groups : tuple of (Randomizer, int)
        Each group's mechanism and number of users.
    victim : int or None
        Index of the group whose members the answers are about; None: the worst of all groups.
    rounds : int
        How often everybody reports; then there is no lower end.
    rtol : float
        Requested relative width of each analysis' own numerical bracket of eps.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/.
    n : int
        Users in all.
    """

    groups: tuple[tuple[Randomizer, int], ...]
    victim: int | None = None
    rounds: int = 1
    rtol: float = 1e-6
    trust: Trust = "all"
    n: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", sum(count for _, count in self.groups))

    @property
    def guarantee(self) -> float:
        """Pure guarantee of one user's reports: of the victim's group, or the largest."""
        eps0 = max(float(self.groups[k][0].eps0) for k in self._asked())
        return local_guarantee(eps0, 1, self.rounds)

    @property
    def relation(self) -> Relation:
        """What one user may change: the victim's mechanism says."""
        relations = {self.groups[k][0].relation for k in self._asked()}
        if len(relations) > 1:
            raise rejected("victim", None, "one group: its groups have different neighbours")
        one = relations.pop()
        return one if self.victim is None or len(self.groups) == 1 else of_group(self.victim, one)

    def _of_the_group(self, words: Iterable[str]) -> tuple[str, ...]:
        """With the assumption on neighbours that is this crowd's relation."""
        own = {self.groups[k][0].relation.sentence for k in self._asked()}
        return tuple(self.relation.sentence if word in own else word for word in words)

    def bound(self, quantity: Quantity, value: float) -> Bound:
        """Both ends."""
        if self.rounds > 1:
            return self.composed().bound(quantity, value)
        members = [self._member(k) for k in self._asked()]
        if quantity == "epsilon":
            upper = _of_every_group([one.upper_epsilon(value) for one in members])
            lower = _largest([one.lower_epsilon(value) for one in members])
            at, wanted = {"delta": value, "n": self.n}, self.rtol
        else:
            upper = _of_every_group([one.upper_log_delta(value) for one in members])
            lower = _largest([one.lower_log_delta(value) for one in members])
            at, wanted = {"epsilon": value, "n": self.n}, 10.0 * self.rtol
        found = bound_of(quantity, lower, upper, at=at, relation=self.relation, wanted=wanted)
        return replace(found, assumptions=self._of_the_group(found.assumptions))

    def as_round(self) -> Round:
        """One round of a composition, with this crowd: the upper end of one group's members.

        At each eps it rests on the least bound of one round, by all groups or by the own one alone.

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

    def among(self, n: int) -> Crowd:
        """Refused: there is no one number of users."""
        raise rejected("n", n, "none, the groups have their own")

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """log of delta's upper end for one user of the groups asked about, at any eps."""
        del log_target
        if self.rounds > 1:
            return self.composed().log_upper
        members = [self._member(k) for k in self._asked()]
        return lambda epsilon: max(one.upper_log_delta(epsilon).value for one in members)

    def upper_theorem_at(self, epsilon: float, one: Bound) -> Theorem | None:
        """What one user's upper end at this eps rests on."""
        del one
        members = [self._member(k) for k in self._asked()]
        return _of_every_group([one.upper_log_delta(epsilon) for one in members]).theorem

    def words(self, one: Bound) -> tuple[str, ...]:
        """What upper ends of any group asked about take for granted, by whatever analysis."""
        del one
        words = [w for k in self._asked() for w in self._member(k).words_of_all]
        return tuple(dict.fromkeys(self._of_the_group(words)))

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


def crowd(
    groups: Iterable[tuple[Randomizer, int]], victim: int | None, rtol: float, trust: Trust
) -> Crowd:
    """A checked ``Crowd``; the arguments are those of ``shuffle(groups=...)``."""
    if isinstance(groups, str | Randomizer) or not isinstance(groups, Iterable):
        raise rejected("groups", groups, "pairs of a randomizer and a number of users")
    found = tuple(_checked_group(i, group) for i, group in enumerate(groups))
    if not 0 < len(found) <= LARGEST_GROUPS:
        raise rejected("groups", f"{len(found)} groups", f"1 to {LARGEST_GROUPS}")
    _check.count("users of all groups", sum(count for _, count in found))
    chosen = None if victim is None else _victim(victim, len(found))
    made = Crowd(found, chosen, 1, rtol, trust)
    _ = made.relation
    return made
