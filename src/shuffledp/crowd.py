"""A crowd of several kinds: groups with their own mechanism and count behind one shuffler."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from shuffledp import _check, theorems
from shuffledp.bound import Bound, Theorem, delta_from_log
from shuffledp.composition import Composed, Round, compose
from shuffledp.crowds.rows import Table, table_of
from shuffledp.crowds.solve import (
    Certified,
    Curve,
    DataSet,
    data_sets,
    lower_epsilon,
    lower_log_delta,
)
from shuffledp.curves import Plotting
from shuffledp.described import by_name
from shuffledp.divergence import PairProfile, narrowest, solve_epsilon
from shuffledp.errors import NotCertified, rejected
from shuffledp.index import Estimate
from shuffledp.neighbours import Relation
from shuffledp.randomizers import JointLaw, Randomizer
from shuffledp.reductions.from_law import blanket_pair_of
from shuffledp.shuffle import Shuffled, Trust, settings
from shuffledp.sides import HONEST, ONE_ROUND, Found
from shuffledp.sides.ends import Ends
from shuffledp.work import Answers, Beside

SHUFFLER = (
    "the analyst sees the messages of all groups in one uniformly random order and nothing else of "
    "them"
)
GROUPS = (
    "who is in which group, and how many are in each, is public and the same in both datasets: "
    "somebody who joins, leaves or changes the group is not covered"
)
FIXED = "every user runs the mechanism of the group, chosen before any message is seen"
LARGEST_GROUPS = 50
_CHEN = "Chen, Cao, Ge 2024, hiding in a heterogeneous crowd"
_BELOW = "below the certified lower end here: on the wrong side"
_NOT_BELOW = "not certified: nothing says on which side of the truth it is"
_ZERO = Found(0.0, None, None, {}, ())


@dataclass(frozen=True)
class Crowd(Plotting):
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
        return relations.pop()

    def of(self, victim: int) -> Crowd:
        """The same crowd for members of one group.

        Parameters
        ----------
        victim : int
            Index of the group.
        """
        return Crowd(self.groups, _victim(victim, len(self.groups)), self.rtol, self.trust)

    @by_name
    def epsilon(self, *, delta: float) -> Bound:
        """Central eps at a given delta, both ends certified.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        """
        delta = _check.open_unit("delta", delta)
        uppers = [self._member(k).upper_epsilon(delta) for k in self._asked()]
        lowers = [self._member(k).lower_epsilon(delta) for k in self._asked()]
        upper, lower = _largest(uppers), _largest(lowers)
        ends = Ends(lower, upper, {"delta": delta, "n": self.n}, self.relation)
        return ends.bound("epsilon", (lower.value, upper.value), wanted=self.rtol)

    @by_name
    def delta(self, *, epsilon: float) -> Bound:
        """Central delta at a given eps, both ends certified.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        upper = _largest([self._member(k).upper_log_delta(epsilon) for k in self._asked()])
        lower = _largest([self._member(k).lower_log_delta(epsilon) for k in self._asked()])
        ends = Ends(lower, upper, {"epsilon": epsilon, "n": self.n}, self.relation)
        return ends.bound(
            "delta", delta_from_log(lower.value, upper.value), wanted=10.0 * self.rtol, logs=True
        )

    @by_name
    def profile(self, epsilons: Iterable[float]) -> list[Bound]:
        """delta at each eps: the privacy profile.

        Parameters
        ----------
        epsilons : iterable of float
            Values of eps >= 0 in nats.
        """
        return [self.delta(epsilon=e) for e in epsilons]

    @by_name
    def compose(self, *, rounds: int, rtol: float | None = None) -> Composed:
        """The same crowd in several rounds, one group's members protected.

        Upper ends rest on the curves that rounds are made of, which are those of the own group
        alone: the other groups only hide. There is no lower end.

        Parameters
        ----------
        rounds : int
            1 <= rounds <= 1e9.
        rtol : float, optional
            As for ``Shuffled.compose``.
        """
        if self.victim is None and len(self.groups) > 1:
            raise rejected("victim", None, "the index of a group: rounds are composed for one")
        return compose([self._member(self._asked()[0])], rounds=rounds, rtol=rtol)

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
        wrong = value < self.epsilon(delta=delta).lower
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
        return _WORK.of(self).answer(victim, lambda: Member(self, victim))


class Member:
    """What is known of the members of one group.

    Parameters
    ----------
    crowd : Crowd
        The groups.
    victim : int
        Index of the one.
    """

    def __init__(self, crowd: Crowd, victim: int) -> None:
        self.groups, self.victim, self.trust = crowd.groups, victim, crowd.trust
        self.rtol, self.n = crowd.rtol, crowd.n
        mechanism = self.groups[victim][0]
        self.mechanism, self.eps0 = mechanism, float(mechanism.eps0)
        # Groups with the same mechanism are one.
        own = sum(count for other, count in self.groups if other == mechanism)
        self.own = Shuffled(mechanism, own, self.rtol, self.trust)
        self.alone = own == self.n
        self.table = self._table()
        self._answers = Answers()

    def _table(self) -> Table | None:
        if self.alone:
            return None
        try:
            return table_of([mechanism for mechanism, _ in self.groups])
        except NotCertified:
            return None

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

    # ------------------------------------------------------------------------ upper ends

    def upper_epsilon(self, delta: float) -> Found:
        """The least upper end of eps of all analyses."""
        own = self._of_own(self.own.epsilon(delta=delta), logs=False)
        cap = min(self.eps0, own.value)
        found = [own]
        profiles = self._blankets()
        if profiles:
            # The largest of all pairs.
            bracket = solve_epsilon(
                profiles, math.log(delta), cap=cap, rtol=self.rtol, need_all=True
            )
            found.append(self._by_blanket(bracket.high))
        stolen = self._stealing()
        if stolen is not None:
            best = stolen.epsilon(math.log(delta), cap=min(cap * (1.0 + 1e-9), self.eps0))
            if best is not None:
                found.append(self._by_stealing(best, best.epsilon))
        return min(found, key=lambda one: one.value)

    def upper_log_delta(self, epsilon: float) -> Found:
        """The least upper end of log delta."""
        found = [self._of_own(self.own.delta(epsilon=epsilon), logs=True)]
        if epsilon < self.eps0:
            profiles = self._blankets()
            if profiles:
                width = 10.0 * self.rtol
                highs = [narrowest(profile, epsilon, width)[0].high for profile in profiles]
                found.append(self._by_blanket(min(max(highs), 0.0)))
            stolen = self._stealing()
            best = stolen.log_delta(epsilon) if stolen is not None and epsilon > 0.0 else None
            if best is not None:
                found.append(self._by_stealing(best, best.log_delta))
        return min(found, key=lambda one: one.value)

    def _of_own(self, bound: Bound, *, logs: bool) -> Found:
        """The own group's, which is the crowd's where there is no other."""
        value = bound.log_upper if logs else bound.upper
        theorem = bound.upper_theorem
        witness = dict(bound.witness.get("upper", {}))
        if theorem is not None and theorem != theorems.LOCAL and not self.alone:
            theorem = theorem.with_step(theorems.OWN_GROUP)
            witness |= {"group": self.victim, "n": self.own.n}
        return Found(
            -math.inf if value is None else value,
            theorem,
            bound.upper_width,
            witness or {"analysis": "local"},
            self.words,
        )

    def _trusted(self, theorem: Theorem) -> bool:
        return self.trust == "all" or theorem.provenance == "published"

    def _blankets(self) -> list[PairProfile]:
        """Profiles of the pairs against what all groups have in common."""
        return self._answers.answer("blankets", self._make_blankets)

    def _make_blankets(self) -> list[PairProfile]:
        table = self.table
        if table is None or not self._trusted(theorems.COMMON_BLANKET):
            return []
        blanket = np.min([member.blanket for member in table.members], axis=0)
        rows = table.members[self.victim].rows
        found = []
        for x0, x1 in table.pairs[self.victim]:
            law = JointLaw(rows[[x0, x1]], blanket, table.rel)
            found.append(PairProfile(blanket_pair_of(law, n=self.n)))
        return found

    def _by_blanket(self, value: float) -> Found:
        witness = {"analysis": "common-blanket", "group": self.victim}
        return Found(value, theorems.COMMON_BLANKET, None, witness, self.words)

    def _stealing(self) -> Curve | None:
        if self.table is None or not self._trusted(theorems.CROWD_STEALING):
            return None
        table, counts = self.table, [count for _, count in self.groups]
        return self._answers.answer("stealing", lambda: Curve(table, counts, self.victim))

    def _by_stealing(self, best: Certified, value: float) -> Found:
        free = [
            {**choice._asdict(), "alpha": at.alpha, "smoothing": at.smoothing}
            for choice, at in best.numbers
        ]
        free = [{**one, "shares": list(one["shares"])} for one in free]
        witness: dict[str, Any] = {"analysis": "crowd-stealing", "group": self.victim, "free": free}
        return Found(value, theorems.CROWD_STEALING, None, witness, self.words)

    # ------------------------------------------------------------------------ lower ends

    def lower_epsilon(self, delta: float) -> Found:
        """The largest lower end of eps."""
        if self.alone:
            return _lower_of(self.own.epsilon(delta=delta), logs=False)
        cap = min(self.eps0, float(self.mechanism.local_epsilon(delta)))
        found = lower_epsilon(self._sets(), math.log(delta), cap=cap)
        return self._by_set(found.value, found.which) if found.which is not None else _ZERO

    def lower_log_delta(self, epsilon: float) -> Found:
        """The largest lower end of log delta."""
        if self.alone:
            return _lower_of(self.own.delta(epsilon=epsilon), logs=True)
        found = lower_log_delta(self._sets(), epsilon)
        if found.which is None or epsilon >= self.eps0:
            return replace(_ZERO, value=-math.inf)
        return self._by_set(found.value, found.which)

    def _sets(self) -> list[DataSet]:
        table, counts = self.table, [count for _, count in self.groups]
        if table is None:
            return []
        return self._answers.answer("sets", lambda: data_sets(table, counts, self.victim))

    def _by_set(self, value: float, one: DataSet) -> Found:
        witness = {
            "analysis": "crowd-dataset",
            "group": self.victim,
            "x0": one.x0,
            "x1": one.x1,
            "others": [[x, count] for x, count in one.others],
        }
        return Found(value, theorems.CROWD_DATASET, None, witness, ())

    # ------------------------------------------------------------------------------ rounds

    def as_round(self) -> Round:
        """One round of a composition: curves that hold at every eps, no lower end."""
        own = self.own.as_round()
        if self.alone:
            return own
        theorem = own.upper_theorem
        assumptions = [words for words in self.words if words != ONE_ROUND]
        return replace(
            own,
            label=f"crowd, group {self.victim}",
            candidates=_no_candidates,
            key=("crowd", self.groups, self.victim, self.trust, self.rtol),
            assumptions=tuple(assumptions),
            upper_theorem=None if theorem is None else theorem.with_step(theorems.OWN_GROUP),
            at={"n": self.n},
        )


def _no_candidates() -> tuple[Any, ...]:
    """No data set of a crowd is composed for a lower end."""
    return ()


def _lower_of(bound: Bound, *, logs: bool) -> Found:
    value = bound.log_lower if logs else bound.lower
    witness = dict(bound.witness.get("lower", {}))
    width, theorem = bound.lower_width, bound.lower_theorem
    return Found(-math.inf if value is None else value, theorem, width, witness, ())


def _largest(found: Sequence[Found]) -> Found:
    return max(found, key=lambda one: one.value)


_WORK: Beside[Crowd, Answers] = Beside(lambda _: Answers())


def _gaussian_epsilon(mu: float, log_target: float) -> float:
    """eps with delta_mu(eps) = delta, the profile of Gaussian DP; inf for mu = inf."""
    if math.isinf(mu):
        return math.inf

    def gap(epsilon: float) -> float:
        first = float(log_ndtr(-epsilon / mu + 0.5 * mu))
        second = epsilon + float(log_ndtr(-epsilon / mu - 0.5 * mu))
        # log(e^first - e^second), second < first.
        return first + math.log(max(-math.expm1(second - first), 1e-300)) - log_target

    if gap(0.0) <= 0.0:
        return 0.0
    high = mu * (0.5 * mu + math.sqrt(-2.0 * log_target) + 1.0)
    root: Any = brentq(gap, 0.0, high, xtol=1e-14)
    return float(root)


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


@by_name
def crowd(
    groups: Iterable[tuple[Randomizer, int]],
    *,
    victim: int | None = None,
    rtol: float = 1e-6,
    trust: Trust = "all",
) -> Crowd:
    """Groups of users with their own mechanisms behind one shuffler.

    Parameters
    ----------
    groups : iterable of (Randomizer, int)
        Each group's mechanism and number of users; up to 50 groups.
    victim : int, optional
        Index of the group whose members are protected; None: the worst of all groups.
    rtol, trust
        As for ``shuffle``.

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
    return made
