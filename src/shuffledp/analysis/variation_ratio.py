"""Variation-ratio: a randomizer by p, beta and q of its worst pairs."""

from __future__ import annotations

import math
from typing import Any

from shuffledp import theorems
from shuffledp.analysis import words
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.pairs import Named, of_pairs
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import RatioFamily, Source, ratios, refuse_protocol
from shuffledp.bound import Theorem
from shuffledp.bounds.variation_ratio import (
    VariationRatio,
    published_pair,
    published_reason,
    repaired_pair,
)
from shuffledp.errors import NotCertified
from shuffledp.randomizers import Randomizer


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


def published_pairs(source: Source, n: int) -> list[Named]:
    """The published variation-ratio pairs, whether or not they bound anything.

    Parameters
    ----------
    source : Randomizer, family or p, beta and q
        What each user runs.
    n : int
        Users.
    """
    key = "variation-ratio"
    return [
        (published_pair(ratio, n=n), {"analysis": key, **inputs, **numbers(ratio)})
        for ratio, inputs in ratios(source)
    ]


def _published(source: Source, n: int) -> Side:
    """The published pair, where it bounds."""
    refuse_protocol(source, "variation-ratio")
    refuse_too_small(source)
    theorem = _theorem(theorems.VARIATION_RATIO, source)
    pairs = published_pairs(source, n)
    return of_pairs("variation-ratio", "upper", theorem, pairs, _assumed(source))


def _repaired(source: Source, n: int) -> Side:
    key = "repaired-variation-ratio"
    refuse_protocol(source, key)
    pairs = [
        (repaired_pair(ratio, n=n), {"analysis": key, **inputs, **numbers(ratio)})
        for ratio, inputs in ratios(source)
    ]
    theorem = _theorem(theorems.REPAIRED_VARIATION_RATIO, source)
    return of_pairs(key, "upper", theorem, pairs, _assumed(source))


def _theorem(theorem: Theorem, source: Source) -> Theorem:
    """With the step that names a randomizer's worst pairs."""
    if isinstance(source, Randomizer):
        return theorem.with_step(source.worst_pairs().theorem)
    return theorem


def _assumed(source: Source) -> tuple[str, ...]:
    if isinstance(source, Randomizer):
        return (*words.of_all(source), words.SAME)
    return words.of_any(source)


VARIATION_RATIO = Analysis(
    "variation-ratio",
    "upper",
    theorems.VARIATION_RATIO,
    "only where beta = (p-1)/(p+1); elsewhere it can be too small (docs/theory.md, section "
    "5.6), and is an estimate (certified=False)",
    make=_published,
    usual=_usual,
)
REPAIRED_VARIATION_RATIO = Analysis(
    "repaired-variation-ratio",
    "upper",
    theorems.REPAIRED_VARIATION_RATIO,
    "any randomizers with p, beta and q at every position and history, adaptive too; of a "
    "randomizer, the p, beta and q of its worst pairs",
    make=_repaired,
    usual=_usual,
)
