"""Neighbouring relations: what one user may change, as values.

A guarantee is about two datasets that differ in one user's data. How the two may differ is a value
of every mechanism; what is made of mechanisms derives its own from theirs, and every bound says the
one it holds for. Equal relations are equal values; ``to_dict`` is their stable form in files.
"""

from shuffledp.neighbours.one_user import (
    PLAIN_KEYS,
    REPLACEMENT,
    AddOrRemove,
    Records,
    Relation,
    Replacement,
    ReplaceSpecial,
    Within,
    records,
    relation_named,
)
from shuffledp.neighbours.widened import (
    EachRound,
    OfGroup,
    OrAbsent,
    Together,
    each_round,
    member_of,
)

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
    "member_of",
    "records",
    "relation_named",
]
