"""What one user may change."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from shuffledp import _check
from shuffledp._check import exact
from shuffledp.errors import rejected
from shuffledp.statements import say

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

    def covers(self, x0: Value, x1: Value) -> bool:
        """Whether one user may hold the input x0 in one dataset and x1 in its neighbour.

        False of relations that no mechanism's inputs have.
        """
        del x0, x1
        return False

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """{"key": ..., and its numbers}: as files have it."""

    @property
    def words(self) -> str:
        """The relation in words: "one user's value replaced by another"."""
        return f"one user's {self.noun} {self.change}"

    @property
    def sentence(self) -> str:
        """The assumption that is printed with every bound."""
        return say("neighbours", self.words)

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
        return say("neighbours-n", self.words)

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
