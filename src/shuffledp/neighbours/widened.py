"""Relations made of one user's: of absent ones, of a crowd's group, of several users, of rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.neighbours.one_user import REPLACEMENT, Relation, ReplaceSpecial


@dataclass(frozen=True)
class OrAbsent(Relation):
    """As another relation says, or one user's data there in one dataset and absent in the other.

    Somebody who is absent sends nothing; a report is made in the place of the missing one, so that
    n is public all the same (docs/theory-shufflers.md, section 4).

    Attributes
    ----------
    one : Relation
        What may happen to a user who is in both datasets.
    """

    key: ClassVar[str] = "or-absent"
    one: Relation = REPLACEMENT

    def __post_init__(self) -> None:
        if self.one.kind != self.kind or isinstance(self.one, OrAbsent | Together):
            raise rejected("one", self.one, "a relation of one user's data")

    @property
    def noun(self) -> str:  # type: ignore[override]
        """What is replaced or absent."""
        return self.one.noun

    @property
    def change(self) -> str:
        """The other relation's, or absent."""
        return f"{self.one.change}, or absent from one of them"

    def to_dict(self) -> dict[str, Any]:
        """Key and the other relation."""
        return {"key": self.key, "one": self.one.to_dict()}


def member_of(group: int, *, many: bool = False) -> str:
    """Whose data changes in a crowd, in words.

    Parameters
    ----------
    group : int
        Index of the group.
    many : bool
        Of several users who change at once.
    """
    who = "the users are of group" if many else "the user is one of group"
    stay = "stay in it" if many else "stays in it"
    return f"{who} {group} and {stay}, all groups are the same"


@dataclass(frozen=True)
class OfGroup(Relation):
    """One user of one group of a crowd, as the group's mechanism says; all groups stay the same.

    Attributes
    ----------
    group : int
        Its index.
    one : Relation
        What may happen to the user's data.
    """

    key: ClassVar[str] = "of-group"
    group: int
    one: Relation = REPLACEMENT

    def __post_init__(self) -> None:
        _check.count("group", self.group, low=0)
        if isinstance(self.one, OfGroup | Together):
            raise rejected("one", self.one, "a relation of one user's data")

    @property
    def kind(self) -> str:  # type: ignore[override]
        """That of the user's data."""
        return self.one.kind

    @property
    def noun(self) -> str:  # type: ignore[override]
        """What is changed of a user's."""
        return self.one.noun

    @property
    def change(self) -> str:
        """What happens to the user's data."""
        return self.one.change

    @property
    def words(self) -> str:
        """The relation in words, and whose data it is about."""
        return f"{self.one.words}; {member_of(self.group)}"

    def to_dict(self) -> dict[str, Any]:
        """Key, the group, and the relation of one user's data."""
        return {"key": self.key, "group": self.group, "one": self.one.to_dict()}


@dataclass(frozen=True)
class Together(Relation):
    """Up to so many users' data changed at once, each as one relation says.

    Also one person with up to so many reports in a batch, whose values all may change.

    Attributes
    ----------
    count : int
        At most this many users' data differ, >= 2.
    one : Relation
        What may happen to each of them.
    """

    key: ClassVar[str] = "together"
    count: int
    one: Relation = REPLACEMENT

    def __post_init__(self) -> None:
        _check.count("count", self.count, low=2)
        known = self.one.kind in (REPLACEMENT.kind, ReplaceSpecial.kind)
        if not known or isinstance(self.one, Together):
            raise rejected("one", self.one, "a relation of one user's data")

    @property
    def kind(self) -> str:  # type: ignore[override]
        """That of each user's."""
        return self.one.kind

    @property
    def change(self) -> str:
        """How many, and how each."""
        return f"each {self.one.change}"

    @property
    def words(self) -> str:
        """The relation in words: "up to 3 users' values each replaced by another"."""
        noun = self.one.noun if self.one.noun == "data" else f"{self.one.noun}s"
        words = f"up to {self.count:,} users' {noun} {self.change}"
        if isinstance(self.one, OfGroup):
            return f"{words}; {member_of(self.one.group, many=True)}"
        return words

    def to_dict(self) -> dict[str, Any]:
        """Key, how many, and each one's relation."""
        return {"key": self.key, "count": self.count, "one": self.one.to_dict()}


@dataclass(frozen=True)
class EachRound(Relation):
    """One user's data changed in every round as that round's relation says.

    What holds of rounds whose mechanisms have different relations: the two datasets are neighbours
    in each round, by its own relation.

    Attributes
    ----------
    rounds : tuple of (str, Relation)
        Mechanisms by name, in the order of the composition.
    """

    key: ClassVar[str] = "each-round"
    noun: ClassVar[str] = "data"
    rounds: tuple[tuple[str, Relation], ...]

    @property
    def change(self) -> str:
        """Round by round."""
        places: dict[str, int] = {}
        names = [name for name, _ in self.rounds]
        said = []
        for name, relation in self.rounds:
            places[name] = places.get(name, 0) + 1
            number = f" (no. {places[name]})" if names.count(name) > 1 else ""
            whose = f" ({member_of(relation.group)})" if isinstance(relation, OfGroup) else ""
            said.append(f"in rounds of {name}{number} {relation.noun} {relation.change}{whose}")
        return f"changed: {', '.join(said)}"

    def to_dict(self) -> dict[str, Any]:
        """Key, and each mechanism's name and relation."""
        said = [{"label": name, "relation": r.to_dict()} for name, r in self.rounds]
        return {"key": self.key, "rounds": said}


def each_round(rounds: Iterable[tuple[str, Relation]]) -> Relation:
    """The relation of rounds: their common one, or round by round.

    Parameters
    ----------
    rounds : iterable of (str, Relation)
        Each mechanism's name and relation, at least one.

    Raises
    ------
    ParameterError
        If they are of different kinds, which no one pair of datasets can be.
    """
    found = tuple(rounds)
    kinds = sorted({relation.kind for _, relation in found})
    if len(kinds) != 1:
        raise rejected("mechanisms", kinds, "the same neighbouring relation in every round")
    if len({relation for _, relation in found}) == 1:
        return found[0][1]
    return EachRound(found)
