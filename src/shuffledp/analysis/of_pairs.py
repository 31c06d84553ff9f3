"""Analyses that are a pair of sums of independent gains, evaluated by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Source
from shuffledp.bound import Theorem
from shuffledp.divergence import PairProfile
from shuffledp.pair import ShuffledPair

# A pair, and the words that reproduce it.
Named = tuple[ShuffledPair, dict[str, Any]]


@dataclass(frozen=True)
class OfPairs(Analysis):
    """The largest of the curves of some pairs.

    Attributes
    ----------
    pairs : callable
        Of a source, n and a number of cells: the pairs, with words for each.
    """

    pairs: Callable[[Source, int, int], list[Named]] = field(kw_only=True, repr=False)

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """The profiles of the pairs, equal laws once."""
        self.require(source)
        pairs = self.pairs(source, n, cells)
        theorem = self._theorem_of(source, pairs)
        profiles, witnesses = distinct(pairs)
        words = self.assumptions(source)
        return Side(self.key, self.end, theorem, profiles, witnesses, words)

    def _theorem_of(self, source: Source, pairs: Sequence[Named]) -> Theorem:
        """What these pairs rest on."""
        del pairs
        return self.theorem_for(source)


def distinct(
    pairs: Sequence[Named],
) -> tuple[tuple[PairProfile, ...], tuple[dict[str, Any], ...]]:
    """Profiles of the pairs, equal laws once.

    Parameters
    ----------
    pairs : sequence of (ShuffledPair, dict)
        Pairs, with words for each.
    """
    seen: set[tuple[bytes, ...]] = set()
    profiles, witnesses = [], []
    for pair, witness in pairs:
        profile = PairProfile(pair)
        key = profile.fingerprint()
        if key not in seen:
            seen.add(key)
            profiles.append(profile)
            witnesses.append(witness)
    return tuple(profiles), tuple(witnesses)
