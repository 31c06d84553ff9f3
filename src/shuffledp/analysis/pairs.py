"""The end that the profiles of some pairs give."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from shuffledp.analysis.side import End, Side
from shuffledp.bound import Theorem
from shuffledp.bounds.profile import Profile
from shuffledp.laws.pairs import Pair

# A pair, and the words that reproduce it.
Named = tuple[Pair, dict[str, Any]]


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
