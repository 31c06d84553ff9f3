"""Sides of a bound: what an analysis' name stands for, for every source that it applies to."""

from shuffledp.sides.pairs import PAIR_KEYS, dataset_pairs, make_side, published_ratio_pairs
from shuffledp.sides.side import Found, Side
from shuffledp.sides.sources import (
    BINARY,
    RATIOS,
    Family,
    RatioFamily,
    Source,
    bits_of,
    default_exact,
    default_uppers,
    generic_ratio,
    has_lone_jumps,
    ratios,
    require,
    theorem_of,
)
from shuffledp.sides.words import HONEST, IN_ORDER, ONE_ROUND, SAME, own_assumptions, words_for

__all__ = [
    "BINARY",
    "HONEST",
    "IN_ORDER",
    "ONE_ROUND",
    "PAIR_KEYS",
    "RATIOS",
    "SAME",
    "Family",
    "Found",
    "RatioFamily",
    "Side",
    "Source",
    "bits_of",
    "dataset_pairs",
    "default_exact",
    "default_uppers",
    "generic_ratio",
    "has_lone_jumps",
    "make_side",
    "own_assumptions",
    "published_ratio_pairs",
    "ratios",
    "require",
    "theorem_of",
    "words_for",
]
