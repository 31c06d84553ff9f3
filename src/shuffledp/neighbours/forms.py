"""Relations by name, put together, and as files have them."""

from __future__ import annotations

from collections.abc import Iterable

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.neighbours.one_user import (
    REPLACEMENT,
    AddOrRemove,
    Records,
    Relation,
    ReplaceSpecial,
)
from shuffledp.neighbours.widened import EachRound

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
