"""The privacy blanket of the worst pairs of inputs."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp import theorems
from shuffledp.analysis.of_pairs import Named, OfPairs, blanket_pair
from shuffledp.analysis.source import Source, of_reports, one_randomizer
from shuffledp.bound import Theorem


class _Blanket(OfPairs):
    """Of one randomizer: a family has no common blanket."""

    def require(self, source: Source) -> None:
        """A randomizer."""
        super().require(source)
        one_randomizer(source, self.key)

    def _theorem_of(self, source: Source, pairs: Sequence[Named]) -> Theorem:
        """With the step for outputs that the blanket misses, where these pairs have any."""
        theorem = self.theorem_for(source)
        # A step that is proved here matters where all others are published.
        seen = any(pair.has_outside for pair, _ in pairs)
        if seen and theorem.provenance == "published":
            return theorem.with_step(theorems.OUTSIDE)
        return theorem


def _blanket_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    randomizer = one_randomizer(source, "blanket")
    return [
        (
            blanket_pair(randomizer, x0, x1, n=n),
            {"analysis": "blanket", "x0": x0, "x1": x1, "swap": False},
        )
        for x0, x1 in randomizer.worst_pairs().pairs
    ]


BLANKET = _Blanket(
    "blanket",
    "upper",
    theorems.BLANKET,
    "one randomizer for all users, any inputs of the others; not adaptive; "
    "no local guarantee needed",
    worst="pairs",
    pairs=_blanket_pairs,
    usual=of_reports,
)
