"""Merging many atoms of a pair into fewer cells, certified: what it costs is kept with each cell.

A merged cell keeps its mass, its mean ratios, the ranges that hold them, and their variances and
covariance relative to the means, so that the kernel knows the mean and the variance of
G = a - e^eps b on the cell at every eps (docs/theory-parts.md, section 1).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shuffledp.pair import (
    UNIT_ROUNDOFF,
    Array,
    Indices,
    InnerMoments,
    RatioRanges,
    ShuffledPair,
)

U = UNIT_ROUNDOFF
_TINY = 1e-300
# Coarse bins are 2^7 fine ones wide; those that weigh 2^-5 as much are divided half as finely.
_LEVELS = 7
_BITS_PER_LEVEL = 5.0
_GROW = 1.3
_FINEST = 1e-9
# Relative width of the widest bins of one merging, so that e^{alpha G} stays within a factor.
_WIDEST = 0.05
_NEAR = 1e-12


def as_cells(pair: ShuffledPair) -> ShuffledPair:
    """The same pair with ranges and inner moments: exact ones for atoms.

    For cells whose inner variances are not known they are taken as half of what the ranges allow
    (Bhatia, Davis 2000), plus or minus as much.
    """
    zero = np.zeros_like(pair.w)
    if pair.ranges is None:
        moments = InnerMoments(zero, zero, zero, zero)
        return replace(pair, ranges=RatioRanges(pair.a, pair.a, pair.b, pair.b, None, moments))
    if pair.ranges.moments is not None:
        return pair
    old = pair.ranges
    spread_a = _most_variance(pair.a, old.a_low, old.a_high, pair.rel)
    spread_b = _most_variance(pair.b, old.b_low, old.b_high, pair.rel)
    moments = InnerMoments(
        0.5 * spread_a, 0.5 * spread_b, zero, np.maximum(spread_a, spread_b) * (1.0 + 1e-9)
    )
    ranges = RatioRanges(old.a_low, old.a_high, old.b_low, old.b_high, None, moments)
    return replace(pair, ranges=ranges)


def _most_variance(mean: Array, low: Array, high: Array, rel: float) -> Array:
    """Var/mean^2 <= (high - mean)(mean - low)/mean^2, rounding of the mean included."""
    safe = np.where(mean > 0.0, mean, 1.0)
    slack = 2.0 * rel + 8 * U
    return (np.maximum(high - mean, 0.0) / safe + slack) * (
        np.maximum(mean - low, 0.0) / safe + slack
    )


def merged_near(pair: ShuffledPair) -> ShuffledPair:
    """Add up atoms whose ratios are equal but for rounding (to 1e-12); the spread goes into rel.

    Cells are left as they are.
    """
    if pair.ranges is not None or pair.w.size < 2:
        return pair
    order, starts = near_classes([pair.a, pair.b])
    if starts.size == pair.w.size:
        return pair
    sizes = np.diff(np.append(starts, order.size))
    spread = 0.0
    w = np.add.reduceat(pair.w[order], starts)
    means = []
    for ratio in (pair.a[order], pair.b[order]):
        mean = np.add.reduceat(pair.w[order] * ratio, starts) / w
        off = np.abs(ratio - np.repeat(mean, sizes))
        spread = max(spread, float((off / np.maximum(ratio, _TINY)).max()))
        means.append(mean)
    rel = pair.rel + 2.0 * spread + (int(sizes.max()) + 8) * U
    return replace(pair, w=w, a=means[0], b=means[1], rel=rel)


def near_classes(columns: list[Array]) -> tuple[Indices, Indices]:
    """An order of the entries and the starts of the classes that agree in every column.

    Neighbours in a sorted column agree where they differ by less than 1e-12 of themselves.
    """
    label = np.zeros(columns[0].size, dtype=np.int64)
    order = np.arange(label.size)
    for column in columns:
        place = np.log(np.maximum(column, _TINY))
        order = np.lexsort((place, label))
        before = label[order]
        fresh = (np.diff(before, prepend=-1) != 0) | (np.diff(place[order], prepend=0.0) > _NEAR)
        label[order] = np.cumsum(fresh)
    return order, np.flatnonzero(np.diff(label[order], prepend=-1))


def merged_to(pair: ShuffledPair, most: int) -> ShuffledPair:
    """At most about ``most`` cells: atoms near each other in (log a, log b) become one.

    Equal atoms are added up first, which is exact. Bins hold about the same share of mass, so that
    far ones are wider.
    """
    if pair.w.size <= most:
        return pair
    pair = merged_near(pair)
    if pair.w.size <= most:
        return pair
    places = [np.log(np.maximum(x, _TINY)) for x in (pair.a, pair.b)]
    # What a cell adds to the error goes like w (width of G)^3, and that width like a + b.
    log_weight = np.log(pair.w) + 3.0 * np.log(pair.a + pair.b + _TINY)
    weight = np.exp(log_weight - log_weight.max())
    step = _first_step(places, most)
    while True:
        keys = _grid(places, weight, step)
        order = np.argsort(keys, kind="stable")
        fresh = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
        if fresh.size <= most:
            return _grouped(as_cells(pair), order, fresh)
        step *= _GROW


def _first_step(places: list[Array], most: int) -> float:
    """A step that leaves too many bins: a fifth of what evenly filled ones would need."""
    area = 1.0
    for place in places:
        area *= max(float(place.max() - place.min()), 1e-6)
    return max(0.05 * math.sqrt(area / most), _FINEST)


def _grid(places: list[Array], weight: Array, step: float) -> npt.NDArray[np.int64]:
    """One integer for each bin; a coarse bin of little weight has fewer fine ones."""
    fine = [np.floor((place - place.min()) / step).astype(np.int64) for place in places]
    coarse = [x >> _LEVELS for x in fine]
    bins = coarse[0] * (int(coarse[1].max()) + 1) + coarse[1]
    _, label = np.unique(bins, return_inverse=True)
    label = label.ravel()
    total = np.bincount(label, weight)
    depth = np.floor(np.log2(total.max() / np.maximum(total, _TINY)) / _BITS_PER_LEVEL)
    most = min(_LEVELS, max(0, math.floor(math.log2(_WIDEST / step))))
    level = np.minimum(depth, most).astype(np.int64)[label]
    inner = [((x & ((1 << _LEVELS) - 1)) >> level) for x in fine]
    return (label.astype(np.int64) << (2 * _LEVELS)) + (inner[0] << _LEVELS) + inner[1]


def _grouped(pair: ShuffledPair, order: Indices, starts: Indices) -> ShuffledPair:
    """One cell for each group of atoms; means are kept, variances get what is between them."""
    ranges = pair.ranges
    if ranges is None or ranges.moments is None:
        msg = "grouping needs cells"
        raise TypeError(msg)
    sizes = np.diff(np.append(starts, order.size))
    largest = int(sizes.max())
    w = pair.w[order]
    total = np.add.reduceat(w, starts)
    share = w / np.repeat(total, sizes)

    def mean(x: Array) -> Array:
        return np.add.reduceat(share * x, starts)

    found, relative = [], []
    for ratio in (pair.a[order], pair.b[order]):
        centre = mean(ratio)
        found.append(centre)
        relative.append(ratio / np.repeat(np.where(centre > 0.0, centre, 1.0), sizes))
    x, y = relative
    old = ranges.moments.part(order)
    spread = [
        mean(x * x * old.a + (x - 1.0) ** 2) * (found[0] > 0.0),
        mean(y * y * old.b + (y - 1.0) ** 2) * (found[1] > 0.0),
        mean(x * y * old.both + (x - 1.0) * (y - 1.0)) * ((found[0] > 0.0) & (found[1] > 0.0)),
    ]
    doubt = mean(np.maximum(x * x, y * y) * old.doubt) * (1.0 + 1e-9)
    # Masses and ratios carry relative errors of their own, and sums are rounded.
    noise = 8.0 * (pair.rel + (largest + 16) * U)
    doubt += noise * (spread[0] + spread[1]) + noise * noise
    width = [np.maximum.reduceat(np.abs(r - 1.0), starts) for r in relative]
    doubt += noise * (width[0] + width[1])
    grown = RatioRanges(
        np.minimum(np.minimum.reduceat(ranges.a_low[order], starts), found[0]),
        np.maximum(np.maximum.reduceat(ranges.a_high[order], starts), found[0]),
        np.minimum(np.minimum.reduceat(ranges.b_low[order], starts), found[1]),
        np.maximum(np.maximum.reduceat(ranges.b_high[order], starts), found[1]),
        None,
        InnerMoments(spread[0], spread[1], spread[2], doubt),
    )
    rel = pair.rel + (largest + 8) * U
    return replace(pair, w=total, a=found[0], b=found[1], rel=rel, ranges=grown)
