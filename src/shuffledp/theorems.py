"""What certifies an end: every theorem the package uses, with its source and provenance."""

from __future__ import annotations

from shuffledp.bound import Theorem

BLANKET = Theorem(
    "blanket",
    "privacy blanket, optimal decomposition bound",
    "Balle, Bell, Gascon, Nissim 2019, Lemma 5.3; Su, Cheng, Wang 2025, Theorem 13",
    "published",
)
DATASET = Theorem(
    "dataset",
    "exact divergence of one pair of neighbouring datasets",
    "Ghazi, Kumar, Manurangsi, Pagh 2020; Su, Cheng, Wang 2025, Theorem 14",
    "published",
)
CLONE = Theorem(
    "clone",
    "standard clone, any eps0-LDP randomizers, adaptive too",
    "Feldman, McMillan, Talwar 2021, Theorem 3.2",
    "published",
)
STRONGER_CLONE = Theorem(
    "stronger-clone",
    "generic stronger clone, any eps0-LDP randomizers, adaptive too",
    "docs/theory.md, section 5",
    "proved here",
)
LOCAL = Theorem(
    "local",
    "local guarantee: shuffling is post-processing",
    "Dwork, Roth 2014, Proposition 2.1",
    "published",
)
FAMILY = Theorem(
    "family",
    "binary randomized response is one of the randomizers the bound is for",
    "Su, Cheng, Wang 2025, Theorem 14, for k-RR with k = 2",
    "published",
)

SYMMETRIC_PAIRS = Theorem(
    "symmetric",
    "every pair of inputs has the same law by symmetry",
    "definition of the mechanism",
    "published",
)
ALL_PAIRS = Theorem("all-pairs", "all ordered pairs of inputs searched", "enumeration", "published")
END_POINTS = Theorem(
    "end-points",
    "the end points are the worst pair for symmetric unimodal additive noise",
    "docs/theory.md, section 4",
    "proved here",
)
COMPOSITION = Theorem(
    "composition",
    "adaptive composition of dominating pairs, connect-the-dots discretization",
    "Zhu, Dong, Wang 2022, adaptive composition; docs/theory-composition.md, sections 1 to 3",
    "published",
)
REPETITION = Theorem(
    "repetition",
    "the same neighbouring datasets in every round, fresh coins, coarse-grained losses",
    "post-processing and independence; docs/theory-composition.md, sections 1 to 3",
    "published",
)
TWO_INPUTS = Theorem("two-inputs", "there is one pair of inputs", "definition", "published")
