"""Reductions: randomizer -> ShuffledPair, each under its theorem."""

from shuffledp.reductions.clones import clone_pair, stronger_clone_pair
from shuffledp.reductions.from_law import blanket_pair, dataset_pair

__all__ = ["blanket_pair", "clone_pair", "dataset_pair", "stronger_clone_pair"]
