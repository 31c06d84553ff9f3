"""Neighbouring relations: what one user may change, as values.

A guarantee is about two datasets that differ in one user's data. How the two may differ is a value
of every mechanism; what is made of mechanisms derives its own from theirs, and every bound says the
one it holds for. Equal relations are equal values; ``to_dict`` is their stable form in files.
"""

from shuffledp.neighbours.forms import (
    PLAIN_KEYS,
    each_round,
    records,
    relation_named,
)
from shuffledp.neighbours.one_user import (
    REPLACEMENT,
    AddOrRemove,
    Records,
    Relation,
    Replacement,
    ReplaceSpecial,
    Within,
)
from shuffledp.neighbours.widened import EachRound, OfGroup, OrAbsent, Together, member_of

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
