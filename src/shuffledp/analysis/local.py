"""The local guarantee: what is left if the shuffler fails."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Source
from shuffledp.errors import NotCertified


def _local(source: Source, n: int) -> Side:
    """It is the cap that every search begins with: it has no end of its own."""
    del source, n
    raise NotCertified("analysis = 'local': it is the cap of every other end")


LOCAL = Analysis(
    "local",
    "upper",
    theorems.LOCAL,
    "always; what is left if the shuffler fails",
    make=_local,
)
