"""Variation-ratio: a randomizer by p, beta and q of its worst pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis, Curve
from shuffledp.analysis.approximate import FLOATS, IN_FLOATS, affordable_sum, by_halving
from shuffledp.analysis.formulas import Made, OfFormula, of_delta
from shuffledp.analysis.of_pairs import Named, OfPairs
from shuffledp.analysis.source import RatioFamily, Source, ratios
from shuffledp.baselines import binomial
from shuffledp.closed_forms import variation_ratio
from shuffledp.closed_forms.interval import Interval
from shuffledp.divergence import LARGEST_EPSILON, PairProfile, solve_epsilon
from shuffledp.errors import NotCertified
from shuffledp.index import NOT_CERTIFIED
from shuffledp.reductions import VariationRatio, published_pair, published_reason, repaired_pair


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


def _published_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """The published variation-ratio pairs, whether or not they bound anything."""
    del cells
    key = "variation-ratio"
    return [
        (published_pair(ratio, n=n), {"analysis": key, **words, **numbers(ratio)})
        for ratio, words in ratios(source)
    ]


def _theorem_4_2(source: Source, n: int) -> Made:
    return _closed(source, n, variation_ratio.theorem_4_2)


def _theorem_4_3(source: Source, n: int) -> Made:
    return _closed(source, n, variation_ratio.theorem_4_3)


def _closed(source: Source, n: int, form: Callable[..., float]) -> Made:
    """The largest over the worst pairs, where the published pair bounds."""
    refuse_too_small(source)
    found = [ratio for ratio, _ in ratios(source)]

    def at(delta: float) -> float:
        return max(
            form(p=r.p, beta=_around(r.total_variation), q=r.q, n=n, delta=delta) for r in found
        )

    return of_delta(at)


def _around(x: Fraction) -> Interval:
    """The floats around a rational, or the float that it is."""
    near = float(x)
    if Fraction(near) == x:
        return Interval(near, near)
    return Interval(math.nextafter(near, -math.inf), math.nextafter(near, math.inf))


def _ratio_sums(source: Source, n: int, cells: int) -> Curve:
    del cells
    key = "variation-ratio-binomial-sums"
    affordable_sum(key, n)
    found = [ratio for ratio, _ in ratios(source)]
    warning = _warning(source) or FLOATS

    def delta_at(epsilon: float) -> float:
        return max(
            binomial.variation_ratio_delta(
                p=r.p, beta=float(r.total_variation), q=r.q, n=n, epsilon=epsilon
            )
            for r in found
        )

    return by_halving(delta_at, min(source.eps0, LARGEST_EPSILON), warning)


def _warning(source: Source) -> str:
    reasons = (published_reason(ratio) for ratio, _ in ratios(source))
    reason = next((words for words in reasons if words is not None), None)
    return "" if reason is None else f"not a bound: {reason}"


def _ratio_pair(source: Source, n: int, cells: int) -> Curve:
    profiles = [PairProfile(pair) for pair, _ in _published_pairs(source, n, cells)]

    def epsilon_at(delta: float) -> float:
        return solve_epsilon(
            profiles, math.log(delta), cap=source.eps0, rtol=1e-6, need_all=True
        ).high

    def log_delta_at(epsilon: float) -> float:
        return max(profile.log_delta(epsilon, width=1e-5).high for profile in profiles)

    warning = _warning(source) or f"{NOT_CERTIFIED} (asked for with certified=False)"
    return Curve(epsilon_at, log_delta_at, warning)


VARIATION_RATIO = _Published(
    "variation-ratio",
    "upper",
    theorems.VARIATION_RATIO,
    "only where beta = (p-1)/(p+1); elsewhere it can be too small (docs/theory.md, section "
    "5.6), and is an estimate (certified=False)",
    any_randomizer=True,
    worst="pairs",
    pairs=_published_pairs,
    usual=_usual,
    approximation=_ratio_pair,
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
VARIATION_RATIO_4_2 = OfFormula(
    "variation-ratio-4.2",
    "upper",
    theorems.VARIATION_RATIO_4_2,
    "where variation-ratio holds, under the conditions of docs/theory.md, Theorem 5.11, on n "
    "and delta, not the paper's",
    any_randomizer=True,
    worst="pairs",
    formula=_theorem_4_2,
)
VARIATION_RATIO_4_3 = OfFormula(
    "variation-ratio-4.3",
    "upper",
    theorems.VARIATION_RATIO_4_3,
    "where variation-ratio holds, n >= 8 log(2/delta)/r",
    any_randomizer=True,
    worst="pairs",
    formula=_theorem_4_3,
)
VARIATION_RATIO_SUMS = Analysis(
    "variation-ratio-binomial-sums",
    "estimate",
    theorems.VARIATION_RATIO_SUMS,
    f"the published pair, which can be too small (docs/theory.md, section 5.6){IN_FLOATS}",
    kind="algorithm",
    slow=True,
    approximation=_ratio_sums,
)
