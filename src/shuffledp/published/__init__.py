"""Published formulas and limits: every number here is an `Estimate`, and no bound rests on one."""

from shuffledp.published.estimate import NOT_CERTIFIED, Estimate, Formula
from shuffledp.published.limits import ShuffleIndex, shuffle_index
from shuffledp.published.table import FORMULAS

__all__ = [
    "FORMULAS",
    "NOT_CERTIFIED",
    "Estimate",
    "Formula",
    "ShuffleIndex",
    "shuffle_index",
]
