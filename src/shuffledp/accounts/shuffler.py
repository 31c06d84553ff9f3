"""Shuffler: what is believed of whoever stands between users and analyst, as a value.

Every number that rests on it says so: its assumptions are sentences of this value
(docs/theory-shufflers.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

from shuffledp import _check, theorems
from shuffledp._check import exact
from shuffledp.amplification.words import IN_ORDER, SAME
from shuffledp.bounds.shufflers import several
from shuffledp.errors import ParameterError, rejected
from shuffledp.neighbours import OR_ABSENT, Relation
from shuffledp.statements import say
from shuffledp.theorems import Theorem
from shuffledp.values.described import Described

_UNIFORM = 0.0
ASSIGNMENTS = ("public", "secret")
Assignment = Literal["public", "secret"]

UNIFORM, EACH_UNIFORM = say("shuffler"), say("each-shuffler")


@dataclass(frozen=True, repr=False)
class Shuffler(Described):
    """Whoever stands between users and analyst: by default one perfect shuffler of n messages.

    Attributes
    ----------
    distance : float
        Total variation distance of the permutation from a uniformly random one, at most, whatever
        the messages are; 0 <= distance < 1. It may depend on all messages (Theorem 1.1), and on
        nothing else of the data. Of every shard, whatever the other shards' orders are, where the
        assignment is public; of all together where it is secret.
    shards : int
        Number of shards, each shuffled on its own; each user is in one of them.
    assignment : {"public", "secret"}
        Whether the analyst knows who is in which shard. If it does, a shard alone hides its users,
        and n is split so evenly that none has fewer than n/shards, rounded down; if not, users are
        assigned uniformly at random.
    dummies : int
        Reports by the users' randomizer that are added: to every shard where the assignment is
        public, in all where it is secret.
    fills : bool
        Whether a report is made in the place of a user who sends nothing: then neighbours are also
        a dataset with a user and the same without.

    Examples
    --------
    >>> import shuffledp as sd
    >>> mixed = sd.Shuffler(distance=1e-9, shards=4)
    >>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000, shuffler=mixed)
    >>> round(acc.epsilon(delta=1e-6).upper, 4)
    0.8359
    """

    distance: float = _UNIFORM
    shards: int = 1
    assignment: Assignment = "public"
    dummies: int = 0
    fills: bool = False

    def __post_init__(self) -> None:
        distance = _check.real("distance", self.distance, low=0.0, high=1.0)
        # A default is not written: the number itself, whatever kind of 0 was given.
        object.__setattr__(self, "distance", distance or _UNIFORM)
        if distance == 1.0:
            raise rejected("distance", distance, "less than 1")
        object.__setattr__(self, "shards", _check.count("shards", self.shards))
        object.__setattr__(self, "dummies", _check.count("dummies", self.dummies, low=0))
        _check.choice("assignment", self.assignment, ASSIGNMENTS)
        if not isinstance(self.fills, bool):
            raise rejected("fills", self.fills, "True or False")

    def shard(self, n: int) -> int:
        """Users among which one of n is, at the least: of one shard, or all.

        Parameters
        ----------
        n : int
            Users whose messages reach the shards.

        Raises
        ------
        ParameterError
            If there are fewer users than shards.
        """
        size = n // self.shards if self.apart else n
        if n < self.shards:
            raise ParameterError(
                f"shards = {self.shards:,}: wanted at most {n:,}, one user in every one"
            )
        return size

    def hidden(self, n: int) -> int:
        """Messages among which one user's is hidden: those of a shard, and the dummies.

        Parameters
        ----------
        n : int
            Users, the one who is protected included.
        """
        return self.shard(n) + self.dummies

    @property
    def farthest(self) -> float:
        """Distance of all orders together from uniform ones, rounded up: at most 1.

        Those of all shards, whoever changes: an order may tell of the messages of other shards.
        """
        return several(self.distance, self.shards if self.apart else 1)

    def ordered(self, words: Iterable[str]) -> list[str]:
        """Assumptions of one perfect shuffler, with what is known of the order said once.

        Parameters
        ----------
        words : iterable of str
            What an analysis of one uniform order takes for granted.
        """
        if self.distance:
            # The messages have one law, in the users' order, whatever the order they are seen in.
            return [SAME if word == IN_ORDER else word for word in words if word != UNIFORM]
        return [EACH_UNIFORM if self.apart and word == UNIFORM else word for word in words]

    @property
    def steps(self) -> list[Theorem]:
        """What both ends rest on beside one user's messages, for what is declared of it."""
        found = (
            (self.apart, theorems.SHARDS),
            (self.shards > 1 and not self.apart, theorems.SECRET_SHARDS),
            (self.dummies > 0, theorems.DUMMIES),
            (self.fills, theorems.FILLED),
        )
        return [theorem for used, theorem in found if used]

    def relation(self, one: Relation) -> Relation:
        """Which data one user may have in a neighbour, given what a mechanism says of it."""
        return OR_ABSENT if self.fills else one

    @property
    def apart(self) -> bool:
        """Whether a shard alone hides its users."""
        return self.shards > 1 and self.assignment == "public"

    def assumptions(self) -> tuple[str, ...]:
        """What is believed of it, in words, where it is not one perfect shuffler."""
        words: list[str] = []
        if self.distance > 0.0:
            words.append(say("within-each" if self.apart else "within", exact(self.distance)))
        if self.apart:
            words.append(say("shards", self.shards))
        elif self.shards > 1:
            words.append(say("secret-shards", self.shards))
        if self.dummies:
            words.append(say("dummies", self.dummies, " to every shard" if self.apart else ""))
        if self.fills:
            words.append(say("fills"))
        return tuple(words)

    def to_dict(self) -> dict[str, Any]:
        """Its numbers by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


PERFECT = Shuffler()
