"""Divergence: ShuffledPair and eps -> certified log delta, and back from delta to eps."""

from shuffledp.divergence.inverse import EpsilonInterval, solve_epsilon
from shuffledp.divergence.meeting import met_at, slope
from shuffledp.divergence.profile import LARGEST_EPSILON, LOOSE, PairProfile, narrowest

__all__ = [
    "LARGEST_EPSILON",
    "LOOSE",
    "EpsilonInterval",
    "PairProfile",
    "met_at",
    "narrowest",
    "slope",
    "solve_epsilon",
]
