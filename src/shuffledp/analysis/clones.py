"""Clones of the victim among the others' reports: pairs for every eps0-LDP randomizer."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis.of_pairs import Named, OfPairs
from shuffledp.analysis.source import Source, of_reports, pure_eps0
from shuffledp.bounds.mechanisms import clone_pair, stronger_clone_pair

ANY = "any eps0-LDP randomizers chosen in one order, adaptive too (shuffle, then randomize)"


class _Clones(OfPairs):
    """Of everything with a finite local guarantee."""

    def require(self, source: Source) -> None:
        """An eps0-LDP randomizer, or all of them."""
        super().require(source)
        pure_eps0(source, self.key)


def _clone_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    return [(clone_pair(eps0=pure_eps0(source, "clone"), n=n), {"analysis": "clone"})]


def _stronger_clone_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    key = "stronger-clone"
    return [(stronger_clone_pair(eps0=pure_eps0(source, key), n=n), {"analysis": key})]


STRONGER_CLONE = _Clones(
    "stronger-clone",
    "upper",
    theorems.STRONGER_CLONE,
    ANY,
    any_randomizer=True,
    pairs=_stronger_clone_pairs,
    usual=of_reports,
)
CLONE = _Clones(
    "clone",
    "upper",
    theorems.CLONE,
    ANY,
    any_randomizer=True,
    pairs=_clone_pairs,
    usual=of_reports,
)
