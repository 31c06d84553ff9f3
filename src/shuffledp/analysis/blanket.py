"""The privacy blanket of the worst pairs of inputs."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis import words
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.pairs import of_pairs
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Source, of_reports, one_randomizer
from shuffledp.laws.pairs import blanket_pair


def _blanket(source: Source, n: int) -> Side:
    """Of one randomizer: a family has no common blanket."""
    randomizer = one_randomizer(source, "blanket")
    worst = randomizer.worst_pairs()
    pairs = [
        (
            blanket_pair(randomizer, x0, x1, n=n),
            {"analysis": "blanket", "x0": x0, "x1": x1, "swap": False},
        )
        for x0, x1 in worst.pairs
    ]
    theorem = theorems.BLANKET.with_step(worst.theorem)
    # The step for outputs that the blanket misses matters where all others are published.
    if theorem.provenance == "published" and any(pair.has_outside for pair, _ in pairs):
        theorem = theorem.with_step(theorems.OUTSIDE)
    return of_pairs("blanket", "upper", theorem, pairs, (*words.of_all(source), words.SAME))


BLANKET = Analysis(
    "blanket",
    "upper",
    theorems.BLANKET,
    "one randomizer for all users, any inputs of the others; not adaptive; "
    "no local guarantee needed",
    make=_blanket,
    usual=of_reports,
)
