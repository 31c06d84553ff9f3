"""Which pairs of inputs an upper end has to hold for, and which are neighbours, by tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp.errors import NotCertified

from .record import Definition, Pair
from .registry import Given, record_of, seen

# A certificate's reader looks at each of them.
_MOST_PAIRS = 4096

__all__ = ["are_neighbours", "ordered_pairs", "without_limit"]


def ordered_pairs(given: Given) -> list[Pair]:
    """Ordered pairs of inputs that together dominate all neighbouring ones.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of, and where there are too many pairs.
    """
    mechanism = record_of(given)
    found = mechanism.worst_pairs().pairs
    if len(found) > _MOST_PAIRS:
        words = f"{len(found):,} ordered pairs of inputs, too many to verify"
        raise NotCertified(f"{mechanism.name}: {words}")
    return list(found)


def are_neighbours(given: Given, x0: Any, x1: Any) -> bool:
    """Whether one user may hold the one value or the other, in neighbouring datasets."""
    mechanism = record_of(given)
    if mechanism.kind == "family":
        return True
    try:
        return mechanism.relation.covers(_value(x0), _value(x1))
    except (TypeError, ValueError):
        return False


def without_limit(given: Given) -> Definition:
    """The mechanism with every two values neighbours: what other users hold is not limited."""
    return seen(given).unrestricted()


def _value(x: Any) -> Any:
    """Records as tuples, which files have as lists."""
    return tuple(map(_value, x)) if isinstance(x, Sequence) and not isinstance(x, str) else x
