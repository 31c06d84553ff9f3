"""Analyses that are a pair of sums of independent gains, evaluated by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Source
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
) -> tuple[tuple[Profile, ...], tuple[dict[str, Any], ...]]:
    """Profiles of the pairs, equal laws once.

    Parameters
    ----------
    pairs : sequence of (pair, dict)
        Pairs, with words for each.
    """
    seen: set[Hashable] = set()
    profiles, witnesses = [], []
    for pair, witness in pairs:
        profile = Profile(pair)
        key = profile.fingerprint()
        if key not in seen:
            seen.add(key)
            profiles.append(profile)
            witnesses.append(witness)
    return tuple(profiles), tuple(witnesses)
