"""Neighbouring relations: what one user may change, as values of one class.

A guarantee is about two datasets that differ in one user's data. How the two may differ is a value
of every mechanism; what is made of mechanisms derives its own from theirs, and every bound says the
one it holds for. Equal relations are equal values; ``to_dict`` is their stable form in files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp import _check
from shuffledp._check import exact
from shuffledp.errors import rejected
from shuffledp.statements import say


@dataclass(frozen=True)
class Relation:
    """Which two datasets are neighbours.

    Attributes
    ----------
    key : str
        Its name in files.
    change : str
        What happens to the data, in words: "replaced by another".
    noun : str
        What is changed: a value, a vector, a record, data.
    kind : str
        Relations of one kind may be composed: all that replace one user's data, n being public,
        are of the kind "replace-one".
    numbers : tuple of (str, value)
        What files have beside the key: numbers, other relations, or tuples of relations.
    who : str
        Whose data it is, in words.
    group : str
        Of which group of a crowd they are, in words; empty where there is no crowd.
    """

    key: str
    change: str
    noun: str = "value"
    kind: str = "replace-one"
    numbers: tuple[tuple[str, Any], ...] = ()
    who: str = "one user's"
    group: str = ""

    def to_dict(self) -> dict[str, Any]:
        """{"key": ..., and its numbers}: as files have it."""
        return {"key": self.key, **{name: _written(value) for name, value in self.numbers}}

    @property
    def words(self) -> str:
        """The relation in words: "one user's value replaced by another"."""
        return f"{self.who} {self.noun} {self.change}" + (f"; {self.group}" if self.group else "")

    @property
    def sentence(self) -> str:
        """The assumption that is printed with every bound; it says where n is not public."""
        return say("neighbours-n" if self == ADD_OR_REMOVE else "neighbours", self.words)

    def __str__(self) -> str:
        return self.words


def _written(value: Any) -> Any:
    """A number as files have it; of a round its label and its relation."""
    if isinstance(value, tuple) and isinstance(value[0], str):
        return {"label": value[0], "relation": _written(value[1])}
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    return value.to_dict() if isinstance(value, Relation) else value


REPLACEMENT = Relation("replace-one", "replaced by another")
# For central mechanisms; in the first the number of users is not public.
ADD_OR_REMOVE = Relation("add-or-remove-one", "added or removed", "data", "add-or-remove-one")
REPLACE_SPECIAL = Relation(
    "replace-special",
    "replaced by a special value, or the other way round",
    "data",
    "replace-special",
)
# One user's data may be there in one dataset and absent in the other. Somebody who is absent sends
# nothing; a report is made in the place of the missing one, so that n is public all the same
# (docs/theory-shufflers.md, section 4).
OR_ABSENT = Relation(
    "or-absent",
    f"{REPLACEMENT.change}, or absent from one of them",
    numbers=(("one", REPLACEMENT),),
)
_PLAIN = {one.key: one for one in (REPLACEMENT, ADD_OR_REMOVE, REPLACE_SPECIAL)}
PLAIN_KEYS = tuple(_PLAIN)


def relation_named(given: Relation | str) -> Relation:
    """The relation without numbers that has this key; a relation itself as it is.

    Parameters
    ----------
    given : Relation or {"replace-one", "add-or-remove-one", "replace-special"}
        Its name in files.
    """
    if isinstance(given, Relation):
        return given
    return _PLAIN[_check.choice("relation", given, PLAIN_KEYS)]


def within(distance: float, *, of: str = "value") -> Relation:
    """One user's number (or vector) moved by at most a distance, in the units of the input.

    Parameters
    ----------
    distance : float
        > 0; Euclidean for vectors. The words have it to the last digit: a rounded one would claim
        more.
    of : {"value", "vector"}
        What is moved.
    """
    far = _check.positive("distance", distance)
    _check.choice("of", of, ("value", "vector"))
    words = f"moved by at most {exact(far)}"
    return Relation("within-distance", words, of, numbers=(("distance", far), ("of", of)))


def records(parts: Iterable[Relation], *, most: int | None = None) -> Relation:
    """One user's record changed in some attributes, in each as that attribute's relation says.

    ``REPLACEMENT`` itself where every record may become every other.

    Parameters
    ----------
    parts : iterable of Relation
        One for each attribute.
    most : int, optional
        At most this many attributes differ (a Hamming distance); all by default.
    """
    found = tuple(parts)
    if not found or any(part.kind != REPLACEMENT.kind for part in found):
        raise rejected("parts", found, "relations that replace one user's data")
    size = len(found)
    count = size if most is None else _check.count("most", most, high=size)
    alike = all(part == REPLACEMENT for part in found)
    if count == size and alike:
        return REPLACEMENT
    words = "changed" + (f" in at most {count} of its attributes" if count < size else "")
    if not alike:
        words += f": {', '.join(_runs(found))}"
    return Relation("records", words, "record", numbers=(("most", count), ("parts", found)))


def _runs(parts: Sequence[Relation]) -> list[str]:
    """How each attribute may change, neighbours of one relation together."""
    runs, start = [], 1
    for part, run in itertools.groupby(parts):
        last = start + len(list(run)) - 1
        name = f"attribute {start}" if start == last else f"attributes {start} to {last}"
        inner = f"({part.change})" if part.key == "records" else part.change
        runs.append(f"{name} {inner}")
        start = last + 1
    return runs


def of_group(group: int, one: Relation = REPLACEMENT) -> Relation:
    """One user of one group of a crowd, as the group's mechanism says; all groups stay the same.

    Parameters
    ----------
    group : int
        Its index.
    one : Relation
        What may happen to the user's data.
    """
    index = _check.count("group", group, low=0)
    if one.key in {"of-group", "together"}:
        raise rejected("one", one, "a relation of one user's data")
    words = f"the user is one of group {index} and stays in it, all groups are the same"
    numbers = (("group", index), ("one", one))
    return Relation("of-group", one.change, one.noun, one.kind, numbers, group=words)


def together(count: int, one: Relation = REPLACEMENT) -> Relation:
    """Up to this many users' data changed at once, each as one relation says.

    Also one person with up to this many reports in a batch, whose values all may change.

    Parameters
    ----------
    count : int
        At most this many users' data differ, >= 2.
    one : Relation
        What may happen to each of them.
    """
    several = _check.count("count", count, low=2)
    if one.kind not in (REPLACEMENT.kind, REPLACE_SPECIAL.kind) or one.key == "together":
        raise rejected("one", one, "a relation of one user's data")
    noun = one.noun if one.noun == "data" else f"{one.noun}s"
    words = one.group.replace("user is one", "users are").replace("stays", "stay")
    numbers, who = (("count", several), ("one", one)), f"up to {several:,} users'"
    return Relation("together", f"each {one.change}", noun, one.kind, numbers, who, words)


def each_round(rounds: Iterable[tuple[str, Relation]]) -> Relation:
    """The relation of rounds: their common one, or round by round.

    Of rounds whose mechanisms have different relations the two datasets are neighbours in each
    round, by its own relation.

    Parameters
    ----------
    rounds : iterable of (str, Relation)
        Each mechanism's name and relation, at least one, in the order of the composition.

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
    places: dict[str, int] = {}
    names = [name for name, _ in found]
    said = []
    for name, relation in found:
        places[name] = places.get(name, 0) + 1
        number = f" (no. {places[name]})" if names.count(name) > 1 else ""
        whose = f" ({relation.group})" if relation.group else ""
        said.append(f"in rounds of {name}{number} {relation.noun} {relation.change}{whose}")
    words = f"changed: {', '.join(said)}"
    return Relation("each-round", words, "data", kinds[0], (("rounds", found),))
