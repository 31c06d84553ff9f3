"""Readings of reports that are sets, which contain items or do not: bits, subsets, hashes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shuffledp.audit.readings.base import Labels, Reading, few, reading_of, rows_of, value_of
from shuffledp.randomizers import (
    OUE,
    RAPPOR,
    LocalHash,
    SamplingRAPPOR,
    SubsetSelection,
    Wheel,
)
from shuffledp.randomizers.wheel import CIRCLE, polynomial

# Inputs of mechanisms whose reports support some of them and others not: 2^8 patterns, and four
# times as many cells with two items beside them, take about three seconds to plan.
MOST_SUPPORTED = 8
# Items, or sets of them, that what is run maps independently (docs/theory.md, section 4).
_MOST_HASHED = 3


def patterns(
    items: Sequence[int],
    weights: Sequence[Callable[[tuple[int, ...]], float]],
    supports: Callable[[Any], tuple[Any, Any]],
    *,
    words: str,
    width: int,
) -> Reading:
    """Cells are which of the items a report supports.

    Parameters
    ----------
    items : sequence of int
        At most ``MOST_SUPPORTED`` inputs and two bystanders: there are 2^items patterns.
    weights : sequence of callable
        For each input, pattern -> its probability up to a factor.
    supports : callable
        Rows of whole numbers -> (a bool array for each item, bool array of rows outside the space).
    words : str
        What supporting is called.
    width : int
        Numbers of a report.
    """
    every = list(itertools.product((0, 1), repeat=len(items)))
    names = []
    for pattern in every:
        held = (str(x) for x, bit in zip(items, pattern, strict=True) if bit)
        names.append(f"{words} {', '.join(held) or 'none'}")
    powers = 1 << np.arange(len(items))[::-1]
    mass = np.array([[weight(pattern) for pattern in every] for weight in weights])

    def classify(reports: Any) -> Labels:
        rows = rows_of(reports, width, "iu")
        if rows is None:
            return np.full(len(reports), len(names))
        found, bad = supports(rows)
        return np.where(bad, len(names), np.column_stack(found).astype(np.int64) @ powers)

    return Reading(tuple(names), mass / mass.sum(axis=1, keepdims=True), classify)


def favoured(
    items: Sequence[int],
    inputs: Sequence[int],
    base: Callable[[tuple[int, ...]], float],
    own: tuple[float, float],
) -> list[Callable[[tuple[int, ...]], float]]:
    """Weights where the user's own item alone is favoured.

    Parameters
    ----------
    items, inputs : sequence of int
        The inputs are among the items.
    base : callable
        Pattern -> its probability if no item were favoured, up to a factor.
    own : tuple of two floats
        By how much the pattern is likelier where it has not, and where it has, the own item.
    """
    places = [items.index(x) for x in inputs]
    return [lambda pattern, at=at: base(pattern) * own[pattern[at]] for at in places]


def independent(rate: float) -> Callable[[tuple[int, ...]], float]:
    """Probability of a pattern of independent bits, each of them set at this rate."""
    return lambda pattern: math.prod(rate if bit else 1.0 - rate for bit in pattern)


def with_bystanders(inputs: Sequence[int], domain: int, count: int = 1) -> list[int]:
    """The inputs, and items that nobody asked about: noise there has its law as well."""
    seen = list(dict.fromkeys(inputs))
    rest = (x for x in (domain - 1, domain // 2, *range(min(domain, 8))) if x not in seen)
    return [*seen, *itertools.islice(dict.fromkeys(rest), count)]


def _bits(items: Sequence[int], d: int) -> Callable[[Any], tuple[Any, Any]]:
    """The items' bits of reports packed in bytes; stray last bits are outside."""

    def supports(rows: Any) -> tuple[Any, Any]:
        stray = (rows[:, -1] & ((1 << (-d % 8)) - 1)) != 0
        wide = (rows < 0).any(axis=1) | (rows > 255).any(axis=1)
        return [rows[:, x // 8] >> (7 - x % 8) & 1 for x in items], stray | wide

    return supports


@reading_of.register(RAPPOR)
@reading_of.register(OUE)
def _unary(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """Independent bits: of the own item with p*, of others with q*."""
    few(randomizer, inputs, MOST_SUPPORTED)
    d, rates = randomizer.items, randomizer.support
    items = with_bystanders(inputs, d, 2)
    own = (rates.own_miss / rates.other_miss, rates.own / rates.other)
    weights = favoured(items, inputs, independent(rates.other), own)
    return patterns(items, weights, _bits(items, d), words="bits set:", width=-(-d // 8))


@reading_of.register
def _sampling(randomizer: SamplingRAPPOR, inputs: tuple[Any, ...]) -> Reading:
    """Mixture over the user's s items of RAPPOR: the first two of each set, and one in none."""
    few(randomizer, inputs, MOST_SUPPORTED)
    d, s = randomizer.items, randomizer.s
    sets = [value_of(randomizer, x) for x in inputs]
    firsts = list(dict.fromkeys(x for one in sets for x in one[:2]))[:4]
    touched = {x for one in sets for x in one}
    items = [*firsts, *(x for x in with_bystanders(firsts, d) if x not in touched)]
    w = math.exp(0.5 * randomizer.eps0)
    base = independent(1.0 / (w + 1.0))

    def weight(own: list[int]) -> Callable[[tuple[int, ...]], float]:
        def of(pattern: tuple[int, ...]) -> float:
            inside = [bit for x, bit in zip(items, pattern, strict=True) if x in own]
            return base(pattern) * (sum(w if bit else 1.0 / w for bit in inside) + s - len(inside))

        return of

    weights = [weight(own) for own in sets]
    return patterns(items, weights, _bits(items, d), words="bits set:", width=-(-d // 8))


@value_of.register
def _window(randomizer: SamplingRAPPOR, x: Any) -> list[int]:
    """The items x .. x + s - 1, modulo d, in order."""
    return sorted((x + i) % randomizer.items for i in range(randomizer.s))


@reading_of.register
def _subset(randomizer: SubsetSelection, inputs: tuple[Any, ...]) -> Reading:
    """Which items are in the set: e^eps0 or 1 times the share of k-sets with that pattern."""
    few(randomizer, inputs, MOST_SUPPORTED)
    d, k = randomizer.items, randomizer.size
    items = with_bystanders(inputs, d)

    def share(pattern: tuple[int, ...]) -> float:
        found, left, inside = 1.0, d, k
        for bit in pattern:
            found *= (inside if bit else left - inside) / left if left else 1.0
            left, inside = left - 1, inside - bit
        return found

    def supports(rows: Any) -> tuple[Any, Any]:
        bad = (rows[:, 1:] <= rows[:, :-1]).any(axis=1) | (rows < 0).any(axis=1)
        bad |= (rows >= d).any(axis=1)
        return [(rows == x).any(axis=1) for x in items], bad

    weights = favoured(items, inputs, share, (1.0, math.exp(randomizer.eps0)))
    return patterns(items, weights, supports, words="in the set:", width=k)


@reading_of.register
def _hashed(randomizer: LocalHash, inputs: tuple[Any, ...]) -> Reading:
    """Which items hash to z: independent hits with 1/l, times e^eps0 for the own one (at most 3).

    What is run hits any three items independently (docs/theory.md, section 4); no more are asked.
    """
    few(randomizer, inputs, _MOST_HASHED)
    l, m = randomizer.l, (randomizer.items - 1).bit_length()
    items = with_bystanders(inputs, randomizer.items, 1)[:_MOST_HASHED]

    def supports(rows: Any) -> tuple[Any, Any]:
        wide = rows.astype(np.int64)
        bad = ((wide < 0) | (wide >= l)).any(axis=1)
        digits = [[j for j in range(m) if x >> j & 1] for x in items]
        return [wide[:, some].sum(axis=1) % l == wide[:, m] for some in digits], bad

    weights = favoured(items, inputs, independent(1.0 / l), (1.0, math.exp(randomizer.eps0)))
    return patterns(items, weights, supports, words="hashed to the answer:", width=m + 1)


@reading_of.register
def _wheel(randomizer: Wheel, inputs: tuple[Any, ...]) -> Reading:
    """Which of the disjoint sets cover the point: independent but for the own one's density."""
    few(randomizer, inputs, _MOST_HASHED)
    names = list(dict.fromkeys(inputs))
    s = randomizer.s
    p = randomizer.arc / CIRCLE
    hit = -math.expm1(s * math.log1p(-p))
    on = math.exp(randomizer.eps0) / (1.0 + s * p * math.expm1(randomizer.eps0))
    weights = favoured(names, inputs, independent(hit), ((1.0 - hit * on) / (1.0 - hit), on))

    def covered(rows: Any, x: Any) -> Any:
        items = (np.full(len(rows), item) for item in value_of(randomizer, x))
        starts = [polynomial(rows[:, :-1] % CIRCLE, item) for item in items]
        return np.any([(rows[:, -1] - start) % CIRCLE < randomizer.arc for start in starts], axis=0)

    def supports(rows: Any) -> tuple[Any, Any]:
        wide = rows.astype(np.int64)
        bad = ((wide < 0) | (wide >= CIRCLE)).any(axis=1)
        return [covered(wide, x) for x in names], bad

    return patterns(names, weights, supports, words="covered by sets", width=3 * s + 1)


@value_of.register
def _wheel_set(randomizer: Wheel, x: Any) -> list[int]:
    """j stands for the items j s .. j s + s - 1."""
    return list(range(x * randomizer.s, (x + 1) * randomizer.s))
