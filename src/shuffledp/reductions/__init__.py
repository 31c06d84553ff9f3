"""Reductions: randomizer -> ShuffledPair, each under its theorem."""

from shuffledp.reductions.clones import clone_pair, stronger_clone_pair
from shuffledp.reductions.from_law import blanket_pair, dataset_pair
from shuffledp.reductions.merged import merged_dataset_pair
from shuffledp.reductions.variation_ratio import (
    VariationRatio,
    four_point_pair,
    published_pair,
    published_reason,
    ratio_of,
    repaired_pair,
)

__all__ = [
    "VariationRatio",
    "blanket_pair",
    "clone_pair",
    "dataset_pair",
    "four_point_pair",
    "merged_dataset_pair",
    "published_pair",
    "published_reason",
    "ratio_of",
    "repaired_pair",
    "stronger_clone_pair",
]
