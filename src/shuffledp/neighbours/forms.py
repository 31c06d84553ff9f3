"""Relations by name, put together, and as files have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.neighbours.one_user import (
    REPLACEMENT,
    AddOrRemove,
    Records,
    Relation,
    ReplaceSpecial,
    Within,
)
from shuffledp.neighbours.widened import EachRound, OfGroup, OrAbsent, Together

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
