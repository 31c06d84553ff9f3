"""Neighbouring relations: what one user may change, as values.

A guarantee is about two datasets that differ in one user's data. How the two may differ is a value
of every mechanism; what is made of mechanisms derives its own from theirs, and every bound says the
one it holds for. Equal relations are equal values; ``to_dict`` is their stable form in files.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from shuffledp import _check
from shuffledp._check import exact
from shuffledp.errors import rejected

Value = Any


class Relation(ABC):
    """Which two datasets are neighbours; subclasses are frozen dataclasses.

    Attributes
    ----------
    key : str
        Its name in files.
    kind : str
        Relations of one kind may be composed: all that replace one user's data, n being public,
        are of the kind "replace-one".
    """

    key: ClassVar[str]
    kind: ClassVar[str] = "replace-one"
    noun: ClassVar[str] = "value"

    @property
    @abstractmethod
    def change(self) -> str:
        """What happens to the one user's data, in words: "replaced by another"."""

    @abstractmethod
    def covers(self, x0: Value, x1: Value) -> bool:
        """Whether one user may hold x0 in one dataset and x1 in its neighbour."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """{"key": ..., and its numbers}: the inverse of ``relation_from_dict``."""

    @property
    def words(self) -> str:
        """The relation in words: "one user's value replaced by another"."""
        return f"one user's {self.noun} {self.change}"

    @property
    def sentence(self) -> str:
        """The assumption that is printed with every bound."""
        return f"neighbouring datasets: {self.words} (n is public)"

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Replacement(Relation):
    """One user's value replaced by any other of the domain."""

    key: ClassVar[str] = "replace-one"

    @property
    def change(self) -> str:
        """Any other value."""
        return "replaced by another"

    def covers(self, x0: Value, x1: Value) -> bool:
        """Always."""
        del x0, x1
        return True

    def to_dict(self) -> dict[str, Any]:
        """The key alone."""
        return {"key": self.key}


REPLACEMENT = Replacement()


@dataclass(frozen=True)
class Within(Relation):
    """One user's number (or vector) moved by at most a distance, in the units of the input.

    Attributes
    ----------
    distance : float
        > 0; Euclidean for vectors.
    of : {"value", "vector"}
        What is moved.
    """

    key: ClassVar[str] = "within-distance"
    distance: float
    of: str = "value"

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", _check.positive("distance", self.distance))
        _check.choice("of", self.of, ("value", "vector"))

    @property
    def noun(self) -> str:  # type: ignore[override]
        """A number or a vector."""
        return self.of

    @property
    def change(self) -> str:
        """The distance, to the last digit: a rounded one would claim more."""
        return f"moved by at most {exact(self.distance)}"

    def covers(self, x0: Value, x1: Value) -> bool:
        """Exactly, for the numbers that the floats are."""
        pairs = [(x0, x1)] if self.of == "value" else zip(x0, x1, strict=True)
        square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs)
        return square <= Fraction(self.distance) ** 2

    def to_dict(self) -> dict[str, Any]:
        """Key, distance, and of what."""
        return {"key": self.key, "distance": self.distance, "of": self.of}


@dataclass(frozen=True)
class Records(Relation):
    """One user's record changed in some attributes, in each as that attribute's relation says.

    Attributes
    ----------
    parts : tuple of Relation
        One for each attribute.
    most : int
        At most this many attributes differ (a Hamming distance).
    """

    key: ClassVar[str] = "records"
    noun: ClassVar[str] = "record"
    parts: tuple[Relation, ...]
    most: int

    def __post_init__(self) -> None:
        if not self.parts or any(part.kind != self.kind for part in self.parts):
            raise rejected("parts", self.parts, "relations that replace one user's data")
        _check.count("most", self.most, high=len(self.parts))

    @property
    def change(self) -> str:
        """How many attributes, and how each where not all may be anything."""
        size = len(self.parts)
        many = f" in at most {self.most} of its attributes" if self.most < size else ""
        if all(part == REPLACEMENT for part in self.parts):
            return f"changed{many}"
        runs, start = [], 1
        for part, run in itertools.groupby(self.parts):
            last = start + len(list(run)) - 1
            name = f"attribute {start}" if start == last else f"attributes {start} to {last}"
            inner = f"({part.change})" if isinstance(part, Records) else part.change
            runs.append(f"{name} {inner}")
            start = last + 1
        return f"changed{many}: {', '.join(runs)}"

    def covers(self, x0: Value, x1: Value) -> bool:
        """At most so many attributes differ, each within its own relation."""
        rows = (x0, x1)
        if any(not isinstance(row, Sequence) or len(row) != len(self.parts) for row in rows):
            return False
        differing = [(p, a, b) for p, a, b in zip(self.parts, x0, x1, strict=True) if a != b]
        return len(differing) <= self.most and all(p.covers(a, b) for p, a, b in differing)

    def to_dict(self) -> dict[str, Any]:
        """Key, how many attributes may differ, and each one's relation."""
        return {"key": self.key, "most": self.most, "parts": [p.to_dict() for p in self.parts]}


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

    def covers(self, x0: Value, x1: Value) -> bool:
        """None stands for nothing."""
        return x0 is None or x1 is None or self.one.covers(x0, x1)

    def to_dict(self) -> dict[str, Any]:
        """Key and the other relation."""
        return {"key": self.key, "one": self.one.to_dict()}


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
        """What happens, and to whom it may not."""
        return f"{self.one.change}; only users of group {self.group} change, and stay in it"

    def covers(self, x0: Value, x1: Value) -> bool:
        """Of what one user of the group holds."""
        return self.one.covers(x0, x1)

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
        return f"up to {self.count:,} users' {noun} {self.change}"

    def covers(self, x0: Value, x1: Value) -> bool:
        """Of two lists of all users' data: at most so many differ, each within the relation."""
        rows = (x0, x1)
        if any(not isinstance(row, Sequence) for row in rows) or len(x0) != len(x1):
            return False
        differing = [(a, b) for a, b in zip(x0, x1, strict=True) if a != b]
        return len(differing) <= self.count and all(self.one.covers(a, b) for a, b in differing)

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
            said.append(f"in rounds of {name}{number} {relation.noun} {relation.change}")
        return f"changed: {', '.join(said)}"

    def covers(self, x0: Value, x1: Value) -> bool:
        """In every round, of one value for each."""
        rows = (x0, x1)
        if any(not isinstance(row, Sequence) or len(row) != len(self.rounds) for row in rows):
            return False
        return all(
            a == b or relation.covers(a, b)
            for (_, relation), a, b in zip(self.rounds, x0, x1, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Key, and each mechanism's name and relation."""
        said = [{"label": name, "relation": r.to_dict()} for name, r in self.rounds]
        return {"key": self.key, "rounds": said}


@dataclass(frozen=True)
class AddOrRemove(Relation):
    """One user's data added or removed; for central mechanisms."""

    key: ClassVar[str] = "add-or-remove-one"
    kind: ClassVar[str] = "add-or-remove-one"
    noun: ClassVar[str] = "data"

    @property
    def change(self) -> str:
        """There or not."""
        return "added or removed"

    @property
    def sentence(self) -> str:
        """The number of users is not public here."""
        return f"neighbouring datasets: {self.words}"

    def covers(self, x0: Value, x1: Value) -> bool:
        """One of the two is None: nothing."""
        return x0 is None or x1 is None

    def to_dict(self) -> dict[str, Any]:
        """The key alone."""
        return {"key": self.key}


@dataclass(frozen=True)
class ReplaceSpecial(Relation):
    """One user's data replaced by a special value, or the other way round; for central ones."""

    key: ClassVar[str] = "replace-special"
    kind: ClassVar[str] = "replace-special"
    noun: ClassVar[str] = "data"

    @property
    def change(self) -> str:
        """By what stands for nothing."""
        return "replaced by a special value, or the other way round"

    def covers(self, x0: Value, x1: Value) -> bool:
        """One of the two is None: the special value."""
        return x0 is None or x1 is None

    def to_dict(self) -> dict[str, Any]:
        """The key alone."""
        return {"key": self.key}


_PLAIN: dict[str, Relation] = {r.key: r for r in (REPLACEMENT, AddOrRemove(), ReplaceSpecial())}
PLAIN_KEYS = tuple(_PLAIN)


def relation_named(key: str) -> Relation:
    """The relation without numbers that has this key.

    Parameters
    ----------
    key : {"replace-one", "add-or-remove-one", "replace-special"}
        Its name in files.
    """
    return _PLAIN[_check.choice("relation", key, PLAIN_KEYS)]


def records(parts: Iterable[Relation], *, most: int | None = None) -> Relation:
    """The relation of records, ``Replacement`` itself where every record may become every other.

    Parameters
    ----------
    parts : iterable of Relation
        One for each attribute.
    most : int, optional
        At most this many attributes differ; all by default.
    """
    found = tuple(parts)
    count = len(found) if most is None else most
    if count == len(found) and all(part == REPLACEMENT for part in found):
        return REPLACEMENT
    return Records(found, count)


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


def relation_from_dict(given: Mapping[str, Any]) -> Relation:
    """The relation that ``to_dict`` described, unknown or missing entries refused."""
    if not isinstance(given, Mapping) or not isinstance(given.get("key"), str):
        raise rejected("relation", given, 'a table with a "key"')
    rest = {name: value for name, value in given.items() if name != "key"}
    key = given["key"]
    wanted = {
        Within.key: {"distance", "of"},
        Records.key: {"most", "parts"},
        EachRound.key: {"rounds"},
        OrAbsent.key: {"one"},
        Together.key: {"count", "one"},
        OfGroup.key: {"group", "one"},
    }.get(key, set())
    if set(rest) != wanted:
        names = ", ".join(sorted({"key"} | wanted))
        raise rejected(f"relation {key!r}", dict(given), f"exactly the entries {names}")
    if key == Within.key:
        return Within(**rest)
    if key == Records.key:
        return Records(tuple(relation_from_dict(p) for p in rest["parts"]), rest["most"])
    if key in {OrAbsent.key, Together.key, OfGroup.key}:
        one = relation_from_dict(rest["one"])
        if key == OfGroup.key:
            return OfGroup(rest["group"], one)
        return OrAbsent(one) if key == OrAbsent.key else Together(rest["count"], one)
    if key == EachRound.key:
        return EachRound(
            tuple((r["label"], relation_from_dict(r["relation"])) for r in rest["rounds"])
        )
    return relation_named(key)


__all__ = [
    "PLAIN_KEYS",
    "REPLACEMENT",
    "AddOrRemove",
    "EachRound",
    "OfGroup",
    "OrAbsent",
    "Records",
    "Relation",
    "ReplaceSpecial",
    "Replacement",
    "Together",
    "Within",
    "each_round",
    "records",
    "relation_from_dict",
    "relation_named",
]
