"""Pairs of reports, and the end that the profiles of some pairs give."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from shuffledp.analysis.side import End, Side
from shuffledp.bound import Theorem
from shuffledp.bounds import continuous, mechanisms
from shuffledp.bounds.continuous import CellPair
from shuffledp.bounds.pairs import LawPair
from shuffledp.bounds.profile import Profile
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import Input

# A law of classes of outputs, or cells of a continuous one.
Pair = LawPair | CellPair
# A pair, and the words that reproduce it.
Named = tuple[Pair, dict[str, Any]]


def blanket_pair(randomizer: Randomizer, x0: Input, x1: Input, *, n: int) -> Pair:
    """The blanket of two inputs (``bounds.mechanisms``; cells where outputs are continuous)."""
    if mechanisms.has_classes(randomizer, (x0, x1), n):
        return mechanisms.blanket_pair(randomizer, x0, x1, n=n)
    return continuous.blanket_pair(randomizer, x0, x1, n=n)


def dataset_pair(randomizer: Randomizer, x0: Input, x1: Input, x2: Input, *, n: int) -> Pair:
    """Data sets whose others all hold x2 (``bounds.mechanisms``; cells where continuous)."""
    if mechanisms.has_classes(randomizer, (x0, x1, x2), n):
        return mechanisms.dataset_pair(randomizer, x0, x1, x2, n=n)
    return continuous.dataset_pair(randomizer, x0, x1, x2, n=n)


def of_pairs(
    key: str, end: End, theorem: Theorem, pairs: Sequence[Named], assumptions: tuple[str, ...]
) -> Side:
    """The end that the largest of the pairs' profiles gives; equal laws count once.

    Parameters
    ----------
    key : str
        The analysis.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        What certifies it.
    pairs : sequence of (pair, dict)
        Pairs, with the words that reproduce each.
    assumptions : tuple of str
        Under which it holds, in words.
    """
    seen: set[Hashable] = set()
    profiles, witnesses = [], []
    for pair, witness in pairs:
        profile = Profile(pair)
        law = profile.fingerprint()
        if law not in seen:
            seen.add(law)
            profiles.append(profile)
            witnesses.append(witness)
    return Side(key, end, theorem, tuple(profiles), tuple(witnesses), assumptions)
