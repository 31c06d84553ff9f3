"""Variation-ratio: a randomizer by p, beta and q of its worst pairs."""

from __future__ import annotations

import math
from typing import Any

from shuffledp import theorems
from shuffledp.analysis.of_pairs import Named, OfPairs
from shuffledp.analysis.source import RatioFamily, Source, ratios
from shuffledp.bounds.variation_ratio import (
    VariationRatio,
    published_pair,
    published_reason,
    repaired_pair,
)
from shuffledp.errors import NotCertified


class _Published(OfPairs):
    """The published pair, where it bounds."""

    def require(self, source: Source) -> None:
        """p, beta and q of every worst pair for which the published pair is no smaller."""
        super().require(source)
        refuse_too_small(source)


def refuse_too_small(source: Source) -> None:
    """NotCertified where the published pair can be too small (docs/theory.md, section 5.6)."""
    for ratio, _ in ratios(source):
        reason = published_reason(ratio)
        if reason is not None:
            raise NotCertified(f"analysis = 'variation-ratio': {reason}")


def numbers(ratio: VariationRatio) -> dict[str, Any]:
    """p, beta and q as witnesses have them."""
    p = ratio.p if math.isfinite(ratio.p) else None
    return {"p": p, "beta": float(ratio.total_variation), "q": ratio.q}


def _usual(source: Source, n: int) -> bool:
    del n
    return isinstance(source, RatioFamily)


def _repaired_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    key = "repaired-variation-ratio"
    return [
        (repaired_pair(ratio, n=n), {"analysis": key, **words, **numbers(ratio)})
        for ratio, words in ratios(source)
    ]


def published_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """The published variation-ratio pairs, whether or not they bound anything.

    Parameters
    ----------
    source : Randomizer, family or p, beta and q
        What each user runs.
    n : int
        Users.
    cells : int
        Not used: the pairs are finite.
    """
    del cells
    key = "variation-ratio"
    return [
        (published_pair(ratio, n=n), {"analysis": key, **words, **numbers(ratio)})
        for ratio, words in ratios(source)
    ]


VARIATION_RATIO = _Published(
    "variation-ratio",
    "upper",
    theorems.VARIATION_RATIO,
    "only where beta = (p-1)/(p+1); elsewhere it can be too small (docs/theory.md, section "
    "5.6), and is an estimate (certified=False)",
    any_randomizer=True,
    worst="pairs",
    pairs=published_pairs,
    usual=_usual,
)
REPAIRED_VARIATION_RATIO = OfPairs(
    "repaired-variation-ratio",
    "upper",
    theorems.REPAIRED_VARIATION_RATIO,
    "any randomizers with p, beta and q at every position and history, adaptive too; of a "
    "randomizer, the p, beta and q of its worst pairs",
    any_randomizer=True,
    worst="pairs",
    pairs=_repaired_pairs,
    usual=_usual,
)
