"""Pairs of several mechanisms: together in one report, or one of them by a public choice.

Masses and ratios multiply, or stand side by side. What floats do not hold to its last digit joins
the tail with the victim's masses, and the left-over with the reference's (docs/theory-parts.md,
section 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.errors import NotCertified
from shuffledp.numerics.merging import as_cells
from shuffledp.pair import (
    UNIT_ROUNDOFF,
    Array,
    InnerMoments,
    RatioRanges,
    ShuffledPair,
    missed_by,
)

U = UNIT_ROUNDOFF
Flags = npt.NDArray[np.bool_]
# Added where a sum of masses may have lost what is below the floats.
_TINY = 1e-300
# Outputs that the reference misses are kept one by one.
_MOST_OUTSIDE = 100_000
# Products of two such numbers are floats with all their digits.
_LARGEST_RATIO = 1e130
_SMALLEST_MASS = 1e-270


def product(first: ShuffledPair, second: ShuffledPair) -> ShuffledPair:
    """Independent messages in one report: masses and ratios multiply (Su, Cheng, Wang, Theorem 9).

    What either pair has outside its reference, or in its tail, stays outside or in the tail. Atoms
    that a float cannot hold well join the tail.
    """
    n = first.n
    tail, doubt = _joint_tail(first, second)
    left, left_err = _joint_leftover(first, second)
    grown = first.rel + second.rel + 4 * U
    w = np.outer(first.w, second.w).ravel()
    with np.errstate(over="ignore", under="ignore"):
        a, b = np.outer(first.a, second.a).ravel(), np.outer(first.b, second.b).ravel()
    ranges = None
    if first.ranges is not None or second.ranges is not None:
        ranges = _joint_ranges(as_cells(first), as_cells(second))
    masses = [
        np.outer(first.w * one, second.w * two).ravel()
        for one, two in ((first.a, second.a), (first.b, second.b))
    ]
    some = [
        np.outer(one > 0.0, two > 0.0).ravel()
        for one, two in ((first.a, second.a), (first.b, second.b))
    ]
    kept, lost = _in_range(_Cells(w, [a, b], ranges), masses, some, n=n)
    outside, outside_lost, outside_err = _joint_outside(first, second)
    lost = lost.and_of(outside_lost)
    return ShuffledPair(
        w=kept.w,
        a=kept.ratios[0],
        b=kept.ratios[1],
        n=n,
        outside=outside,
        tail=lost.added(tail),
        tail_doubt=lost.doubted(doubt),
        rel=grown + outside_err,
        leftover=(left + lost.gone, left_err + 1e-6 * lost.gone),
        ranges=kept.ranges,
    )


class _Cells(NamedTuple):
    """Reference masses, the two ratios, and where these lie (None for atoms)."""

    w: Array
    ratios: list[Array]
    ranges: RatioRanges | None


class _Lost(NamedTuple):
    """P- and Q-mass that join the tail, reference mass that is left out, what that may miss."""

    masses: tuple[float, float]
    gone: float
    missed: float

    def and_of(self, more: tuple[float, float]) -> _Lost:
        """And some more masses."""
        return self._replace(masses=(self.masses[0] + more[0], self.masses[1] + more[1]))

    def added(self, tail: Sequence[float]) -> tuple[float, float]:
        """The tail with both."""
        return (tail[0] + self.masses[0] + self.missed, tail[1] + self.masses[1] + self.missed)

    def doubted(self, doubt: Sequence[float]) -> tuple[float, float]:
        """Its doubt: masses are known to a millionth, what is missed is not known."""
        first, second = (3e-6 * x + (_TINY if x > 0.0 else 0.0) + self.missed for x in self.masses)
        return (doubt[0] + first, doubt[1] + second)


def _in_range(
    cells: _Cells, masses: Sequence[Array], some: Sequence[Flags], *, n: int
) -> tuple[_Cells, _Lost]:
    """What floats hold to their last digits, and what becomes of the rest.

    Atoms with too small a reference mass, or too large a ratio, join the tail with the victim's
    mass; their reference mass is left over (``pair.missed_by``). Of ratios that are too small the
    victim's mass joins the tail, and the ratio is 0.

    Parameters
    ----------
    cells : _Cells
        All of them.
    masses : sequence of two ndarrays
        w times either ratio, formed so that no factor is out of range.
    some : sequence of two ndarrays
        Whether the ratio is positive, be it too small for a float.
    n : int
        Messages in the shuffle.
    """
    w, ranges = cells.w, cells.ranges
    if not w.size:
        return cells._replace(ranges=None), _Lost((0.0, 0.0), 0.0, 0.0)
    held = (w >= _SMALLEST_MASS) & (cells.ratios[0] <= _LARGEST_RATIO)
    held &= cells.ratios[1] <= _LARGEST_RATIO
    lost, ratios = [], []
    for k, (ratio, mass, positive) in enumerate(zip(cells.ratios, masses, some, strict=True)):
        small = held & positive & (ratio < _SMALLEST_MASS)
        away = small | (~held & positive)
        any_away = bool(away.any())
        lost.append(float(mass[away].sum()) * (1.0 + 1e-6) + _TINY if any_away else 0.0)
        if any_away and bool(small.any()):
            ratio = np.where(small, 0.0, ratio)  # noqa: PLW2901 (the ratio as it is kept)
            ranges = None if ranges is None else _without(ranges, small, k)
        ratios.append(ratio)
    if bool(held.all()):
        return _Cells(w, ratios, ranges), _Lost((lost[0], lost[1]), 0.0, 0.0)
    gone = float(w[~held].sum()) * (1.0 + 1e-6) + _TINY
    kept = np.flatnonzero(held)
    # Where no cell is left there is nothing that could be one.
    ranges = None if ranges is None or not kept.size else ranges.part(kept)
    found = _Cells(w[kept], [ratio[kept] for ratio in ratios], ranges)
    return found, _Lost((lost[0], lost[1]), gone, missed_by(gone, n=n))


def _without(ranges: RatioRanges, cells: Flags, column: int) -> RatioRanges:
    """Ranges of cells in which one of the ratios is 0."""
    low, high = (np.where(cells, 0.0, end) for end in _ends_of(ranges, column))
    if column == 0:
        return replace(ranges, a_low=low, a_high=high)
    return replace(ranges, b_low=low, b_high=high)


def _ends_of(ranges: RatioRanges, column: int) -> tuple[Array, Array]:
    return (ranges.a_low, ranges.a_high) if column == 0 else (ranges.b_low, ranges.b_high)


def _joint_tail(
    first: ShuffledPair, second: ShuffledPair
) -> tuple[tuple[float, float], tuple[float, float]]:
    """1 - (1 - t1)(1 - t2) for P and for Q; doubts add up."""
    tails = [x + y - x * y for x, y in zip(first.tail, second.tail, strict=True)]
    doubts = [
        x + y + 8 * U * t
        for x, y, t in zip(first.tail_doubt, second.tail_doubt, tails, strict=True)
    ]
    tails = [t * (1.0 + 4 * U) for t in tails]
    return (tails[0], tails[1]), (doubts[0], doubts[1])


def _joint_leftover(first: ShuffledPair, second: ShuffledPair) -> tuple[float, float]:
    """1 - (1 - l1)(1 - l2)."""
    (x, x_err), (y, y_err) = first.leftover_mass(), second.leftover_mass()
    left = x + y - x * y
    return max(left, 0.0), x_err + y_err + 8 * U * (x + y)


def _joint_outside(
    first: ShuffledPair, second: ShuffledPair
) -> tuple[Array, tuple[float, float], float]:
    """Outputs of which either coordinate is outside its reference: what floats hold, and the rest.

    The last number is the relative rounding of their sums.
    """
    if first.outside.size == 0 and second.outside.size == 0:
        return np.zeros((0, 2)), (0.0, 0.0), 0.0
    inside = [np.column_stack([x.w * x.a, x.w * x.b]) for x in (first, second)]
    some = [np.column_stack([x.a > 0.0, x.b > 0.0]) for x in (first, second)]
    every = np.concatenate([inside[1], second.outside])
    every_some = np.concatenate([some[1], second.outside > 0.0])
    parts = [first.outside[:, None, :] * every[None, :, :]]
    parts.append(inside[0][:, None, :] * second.outside[None, :, :])
    flags = [(first.outside > 0.0)[:, None, :] & every_some[None, :, :]]
    flags.append(some[0][:, None, :] & (second.outside > 0.0)[None, :, :])
    rows = np.concatenate([part.reshape(-1, 2) for part in parts])
    positive = np.concatenate([flag.reshape(-1, 2) for flag in flags])
    held, lost = _held_outside(rows, positive)
    return _merged_outside(held), lost, 2 * len(rows) * U


def _held_outside(rows: Array, some: Flags) -> tuple[Array, tuple[float, float]]:
    """Masses that floats hold to their last digits, and at most what the others sum to.

    Parameters
    ----------
    rows : ndarray, shape (M, 2)
        Masses under P and Q.
    some : ndarray of bool, shape (M, 2)
        Whether they are positive, be they too small for floats.
    """
    away = some & (rows < _SMALLEST_MASS)
    if not bool(away.any()):
        return rows, (0.0, 0.0)
    most = np.where(away, rows, 0.0).sum(axis=0) * (1.0 + 1e-6) + _TINY * away.any(axis=0)
    return np.where(away, 0.0, rows), (float(most[0]), float(most[1]))


def _merged_outside(rows: Array) -> Array:
    """Rows with equal P/Q added up: [p - e^eps q]_+ of them adds up too."""
    rows = rows[rows.max(axis=1) > 0.0]
    share = rows / rows.sum(axis=1, keepdims=True)
    _, label = np.unique(share, axis=0, return_inverse=True)
    label = label.ravel()
    size = int(label.max()) + 1 if label.size else 0
    if size > _MOST_OUTSIDE:
        msg = (
            f"joint law: {size:,} outputs that the reference misses, at most {_MOST_OUTSIDE:,} fit"
        )
        raise NotCertified(msg)
    sums = np.zeros((size, 2))
    np.add.at(sums, label, rows)
    return sums


def _joint_ranges(first: ShuffledPair, second: ShuffledPair) -> RatioRanges:
    one, two = first.ranges, second.ranges
    if one is None or two is None or one.moments is None or two.moments is None:
        msg = "ranges of a product need cells"
        raise TypeError(msg)
    down, up = 1.0 - 4 * U, 1.0 + 4 * U
    m, k = one.moments, two.moments
    # 1 + v = (1 + v1)(1 + v2), and likewise for the covariance.
    a, b, both = (
        (np.add.outer(x, y) + np.outer(x, y)).ravel()
        for x, y in ((m.a, k.a), (m.b, k.b), (m.both, k.both))
    )
    most = [1.0 + np.maximum(x.a, x.b) + x.doubt for x in (m, k)]
    doubt = (np.outer(m.doubt, most[1]) + np.outer(most[0], k.doubt)).ravel() * (1.0 + 1e-12)
    moments = InnerMoments(a, b, both, doubt + 16 * U * (a + b + np.abs(both)))
    with np.errstate(over="ignore", under="ignore"):
        return RatioRanges(
            np.outer(one.a_low, two.a_low).ravel() * down,
            np.outer(one.a_high, two.a_high).ravel() * up,
            np.outer(one.b_low, two.b_low).ravel() * down,
            np.outer(one.b_high, two.b_high).ravel() * up,
            None,
            moments,
        )


def mixture(
    pairs: list[ShuffledPair], weights: list[float], *, constant: float = 0.0
) -> ShuffledPair:
    """A public choice of the mechanism: laws of the ratios mix (Su, Cheng, Wang, Theorem 11).

    ``constant`` is the weight of a message that says nothing: there a = b = 1.
    """
    n = pairs[0].n
    if constant > 0.0:
        one = np.ones(1)
        pairs = [*pairs, ShuffledPair(w=one, a=one, b=one, n=n, leftover=(0.0, 0.0))]
        weights = [*weights, constant]
    some_cells = any(pair.ranges is not None for pair in pairs)
    if some_cells:
        pairs = [as_cells(pair) for pair in pairs]
    share = list(zip(weights, pairs, strict=True))
    left = [p * pair.leftover_mass()[0] for p, pair in share]
    left_err = [p * pair.leftover_mass()[1] for p, pair in share]
    tail = [math.fsum(p * pair.tail[k] for p, pair in share) for k in (0, 1)]
    doubt = [math.fsum(p * pair.tail_doubt[k] for p, pair in share) for k in (0, 1)]
    grown = 1.0 + 1e-12
    ratios = [
        np.concatenate([pair.a for pair in pairs]),
        np.concatenate([pair.b for pair in pairs]),
    ]
    masses = [
        np.concatenate([p * (pair.w * pair.a) for p, pair in share]),
        np.concatenate([p * (pair.w * pair.b) for p, pair in share]),
    ]
    every = _Cells(
        np.concatenate([p * pair.w for p, pair in share]),
        ratios,
        _side_by_side(pairs) if some_cells else None,
    )
    kept, lost = _in_range(every, masses, [ratio > 0.0 for ratio in ratios], n=n)
    outside, more = _mixed_outside(share)
    lost = lost.and_of(more)
    doubts = (doubt[0] * grown + 3e-12 * tail[0], doubt[1] * grown + 3e-12 * tail[1])
    return ShuffledPair(
        w=kept.w,
        a=kept.ratios[0],
        b=kept.ratios[1],
        n=n,
        outside=outside,
        tail=lost.added([x * grown for x in tail]),
        tail_doubt=lost.doubted(doubts),
        rel=max(pair.rel for pair in pairs) + 4 * U,
        leftover=(
            math.fsum(left) + lost.gone,
            math.fsum(left_err) + 8 * U * math.fsum(left) + 1e-6 * lost.gone,
        ),
        ranges=kept.ranges,
    )


def _mixed_outside(
    share: Sequence[tuple[float, ShuffledPair]],
) -> tuple[Array, tuple[float, float]]:
    """What is outside, and what rates make too small for floats, of this and of the tails."""
    rows = np.concatenate([p * pair.outside for p, pair in share])
    some = np.concatenate([pair.outside > 0.0 for _, pair in share])
    held, (first, second) = _held_outside(rows, some)
    tails = np.array([pair.tail for _, pair in share])
    mixed = np.array([p for p, _ in share])[:, None] * tails
    vanish = (tails > 0.0) & (mixed < _SMALLEST_MASS)
    more = [_TINY * bool(column.any()) for column in vanish.T]
    return held, (first + more[0], second + more[1])


def _side_by_side(pairs: list[ShuffledPair]) -> RatioRanges:
    ranges = [pair.ranges for pair in pairs if pair.ranges is not None]
    moments = [r.moments for r in ranges if r.moments is not None]
    return RatioRanges(
        np.concatenate([r.a_low for r in ranges]),
        np.concatenate([r.a_high for r in ranges]),
        np.concatenate([r.b_low for r in ranges]),
        np.concatenate([r.b_high for r in ranges]),
        None,
        InnerMoments(
            np.concatenate([m.a for m in moments]),
            np.concatenate([m.b for m in moments]),
            np.concatenate([m.both for m in moments]),
            np.concatenate([m.doubt for m in moments]),
        ),
    )
