"""The local guarantee: what is left if the shuffler fails."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis

# It is the cap of every other end, which ``Shuffled`` itself sets.
LOCAL = Analysis(
    "local",
    "upper",
    theorems.LOCAL,
    "always; what is left if the shuffler fails",
    kind="local",
    any_randomizer=True,
)
