"""Connect the dots: from certified points of a privacy curve to a loss law above or below it.

    h(a) = sup over neighbours of sum (P - a Q)_+,     a = e^eps,

is convex and non-increasing in a. A convex piecewise linear curve with kinks at a_k is the curve of
a discrete pair of laws: at the loss log a_k its Q-mass is the jump of the slope, and its P-mass is
a_k times that. Above h lie chords through upper values. Below h lie chords lowered to the
intersection of the neighbouring chords, continued (docs/theory-composition.md, section 2).
Computations are in balls; the masses of a ``LossLaw`` are rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.rounds.loss import NO_LOSS, LossLaw, LossPair

# Working precision in bits. Slopes are quotients of differences of e^eps, and differences of slopes
# lose twice as many digits as the spacing of dots has leading zeros: 1e-12 for a trillion users.
BITS = 224
# Most values at a = 1 that are tried for a law below; without rounding, one is enough.
_TRIES = 40


class Bracket(NamedTuple):
    """Certified ends of a curve at given eps."""

    low: Sequence[arb]
    high: Sequence[arb]


class _Chain(NamedTuple):
    """Vertices (eps, a = e^eps, value) of a piecewise linear curve, constant after the last one."""

    eps: list[float]
    a: list[arb]
    value: list[arb]

    def rate(self, i: int, j: int) -> arb:
        """The rate of decrease from the i-th to the j-th vertex, per unit of a."""
        return (self.value[i] - self.value[j]) / (self.a[j] - self.a[i])

    def drop(self, k: int) -> None:
        """Remove a vertex."""
        del self.eps[k], self.a[k], self.value[k]


class _Side(NamedTuple):
    """The first rate of decrease of a chain, and the jumps of the rate at all later vertices."""

    first: arb
    jump: list[arb]


def _check_dots(eps: Sequence[float]) -> None:
    """Raise ParameterError unless 0 = eps[0] < eps[1] < ..., all finite."""
    rising = all(x < y for x, y in pairwise([*eps, math.inf]))
    if not (len(eps) and eps[0] == 0.0 and rising):
        raise ParameterError(f"eps = {list(eps)}: wanted 0 and finite numbers in increasing order")


def _side(chain: _Chain) -> _Side:
    rate = [chain.rate(k, k + 1) for k in range(len(chain.eps) - 1)] + [arb(0)]
    return _Side(rate[0], [rate[k - 1] - rate[k] for k in range(1, len(chain.eps))])


def _law(
    chains: Sequence[_Chain],
    sides: Sequence[_Side],
    centre: arb,
    this: int,
    rounded: Callable[[arb], float],
) -> LossLaw:
    """The law of one direction: its own chain on a > 1, and the other's mirrored (section 2.1)."""
    other = len(chains) - 1 - this
    loss = [*(-e for e in chains[other].eps[:0:-1]), 0.0, *chains[this].eps[1:]]
    up = [a * q for a, q in zip(chains[this].a[1:], sides[this].jump, strict=True)]
    mass = np.array([rounded(m) for m in (*sides[other].jump[::-1], centre, *up)])
    keep, left = mass > 0.0, chains[this].value[-1]
    infinite = 0.0 if left.is_zero() else min(max(rounded(left), 0.0), 1.0)
    return LossLaw(np.array(loss)[keep], mass[keep], infinite)


# ------------------------------------------------------------------------------------------ above


def law_above(
    eps: Sequence[float], forward: Sequence[arb], backward: Sequence[arb] | None = None
) -> LossPair:
    """Loss laws whose curves are at or above h on all a >= 0 (Theorem 2.1).

    Parameters
    ----------
    eps : sequence of float, length K
        0 = eps[0] < eps[1] < ...
    forward : sequence of balls, length K
        forward[i] >= h(e^eps[i]).
    backward : sequence of balls, length K, optional
        Upper values for the neighbours in the other order. Without it the relation is symmetric:
        one curve, and one law for both directions.
    """
    _check_dots(eps)
    with ctx.workprec(BITS):
        values = [forward] if backward is None else [forward, backward]
        chains = [_convex_above(eps, one) for one in values]
        top = _joined(chains)
        sides = [_side(chain) for chain in chains]
        # A larger mass raises the curve; a mass that is not certainly positive may be rounding.
        sides = [_Side(x.first, [arb(q.upper()).nonnegative_part() for q in x.jump]) for x in sides]
        centre = (1 - top - sides[0].first - sides[-1].first).nonnegative_part().upper()
        made = [_law(chains, sides, arb(centre), k, float_above) for k in range(len(chains))]
        return LossPair(made[0], made[-1])


def _convex_above(eps: Sequence[float], values: Sequence[arb]) -> _Chain:
    """An approximate convex envelope: chords through any subset of the dots are above h."""
    kept = _Chain([], [], [])
    least = arb(1)
    for e, v in zip(eps, values, strict=True):
        least = arb.min(least, v).upper()
        while len(kept.eps) >= 2 and not kept.rate(-2, -1) > (kept.value[-1] - least) / (
            arb(e).exp() - kept.a[-1]
        ):
            kept.drop(-1)
        kept.eps.append(float(e))
        kept.a.append(arb(e).exp())
        kept.value.append(least)
    while len(kept.eps) >= 2 and not kept.value[-2] > kept.value[-1]:
        kept.drop(-1)
    return kept


def _joined(chains: Sequence[_Chain]) -> arb:
    """Lower the value at a = 1 of both chains to the chord between their first vertices."""
    top = arb.min(chains[0].value[0], chains[-1].value[0])
    while True:
        if min(len(chain.eps) for chain in chains) > 1:
            top = arb.min(top, _at_one(chains[0], chains[-1])).upper()
        removed = False
        for chain in chains:
            chain.value[0] = top
            if len(chain.eps) >= 3 and not chain.rate(0, 1) > chain.rate(1, 2):
                chain.drop(1)
                removed = True
        if not removed:
            return top


def _at_one(first: _Chain, second: _Chain) -> arb:
    """An upper bound of h(1): the chord from 1/a', the mirror image of a' > 1, to a.

    h(1/a') = 1 - (1 - h'(a'))/a', with h' the curve of the other order (Lemma 1.1).
    """
    right, left = first.a[1] - 1, 1 - 1 / second.a[1]
    mirrored = 1 - (1 - second.value[1]) / second.a[1]
    return (first.value[1] * left + mirrored * right) / (left + right)


# ------------------------------------------------------------------------------------------ below


def law_below(eps: Sequence[float], forward: Bracket, backward: Bracket, floor: arb) -> LossPair:
    """Loss laws whose curves are at or below those of one pair of laws (Theorem 2.2).

    Parameters
    ----------
    eps : sequence of float, length K
        0 = eps[0] < eps[1] < ...
    forward, backward : Bracket
        Both ends of the curves of (P, Q) and of (Q, P) at these eps.
    floor : ball
        A lower bound of both curves at every a.

    Returns
    -------
    LossPair
        ``NO_LOSS`` if there are fewer than three dots, or if balls are too wide to decide.
    """
    if len(eps) < 3:
        return NO_LOSS
    _check_dots(eps)
    try:
        with ctx.workprec(BITS):
            sides = [_lowered(eps, values, floor) for values in (forward, backward)]
            return _largest_below(sides)
    except NotCertified:
        return NO_LOSS


def _lowered(eps: Sequence[float], values: Bracket, floor: arb) -> _Chain:
    """Points whose chords are below h: lower values, and intersections of continued chords.

    On [a_i, a_i+1] the curve lies above the line through (a_i-1, high) and (a_i, low), and above
    the line through (a_i+1, low) and (a_i+2, high). A point at or below both lines makes both
    chords valid, wherever it is. None is needed where one line is above the other's end. The first
    point is the largest value at a = 1 that the adjacent interval allows.
    """
    a = [arb(e).exp() for e in eps]
    low = [arb.max(x, floor).lower() for x in values.low]
    high, last = values.high, len(eps) - 1
    low[-1] = floor.lower()

    def right(i: int, x: arb) -> arb:
        """The line from the right on the interval i; constant where it would increase with a."""
        if i + 2 > last:
            return low[i + 1]
        slope = (low[i + 1] - high[i + 2]) / (a[i + 2] - a[i + 1])
        return low[i + 1] + slope.nonnegative_part() * (a[i + 1] - x)

    found = _Chain([0.0], [arb(1)], [arb.min(right(0, arb(1)), arb(1)).lower()])
    for i in range(1, last + 1):
        found.eps.append(float(eps[i]))
        found.a.append(a[i])
        found.value.append(low[i])
        if i == last:
            break
        fall = ((high[i - 1] - low[i]) / (a[i] - a[i - 1])).nonnegative_part()
        start, end = right(i, a[i]), low[i] - fall * (a[i + 1] - a[i])
        if start >= low[i] or end >= low[i + 1]:
            continue
        # The place is chosen in floats: any place inside is valid.
        parts = low[i] - start, low[i + 1] - end
        share = float((parts[0] / (parts[0] + parts[1])).mid())
        at = eps[i] + math.log1p(share * math.expm1(eps[i + 1] - eps[i]))
        if not eps[i] < at < eps[i + 1]:
            at = 0.5 * (eps[i] + eps[i + 1])
        x = arb(at).exp()
        height = arb.min(low[i] - fall * (x - a[i]), right(i, x))
        found.eps.append(at)
        found.a.append(x)
        found.value.append(arb.max(height, floor).lower())
    return found


def _largest_below(points: Sequence[_Chain]) -> LossPair:
    """The laws of the largest convex curves below the points, with a common value at a = 1."""
    top = arb.min(points[0].value[0], points[1].value[0]).lower()
    for _ in range(_TRIES):
        for side in points:
            side.value[0] = top
        chains = [_convex_below(side) for side in points]
        sides = [_side(chain) for chain in chains]
        centre = 1 - top - sides[0].first - sides[1].first
        if centre >= 0:
            return LossPair(*(_law(chains, sides, centre, this, float_below) for this in (0, 1)))
        # Any lower value at a = 1 is valid too: take the one with no mass at loss 0.
        inverse = [1 / (chain.a[1] - 1) for chain in chains]
        ends = [chain.value[1] * x for chain, x in zip(chains, inverse, strict=True)]
        top = ((1 + ends[0] + ends[1]) / (1 + inverse[0] + inverse[1])).lower()
        if not all(top > chain.value[1] for chain in chains):
            break
    raise NotCertified("dots: no law below them")


def _convex_below(points: _Chain) -> _Chain:
    """The convex envelope of points below a curve; NotCertified if a comparison is not decided."""
    kept = _Chain([], [], [])
    rates: list[arb] = []
    for e, a, v in zip(*points, strict=True):
        while kept.eps:
            new = (kept.value[-1] - v) / (a - kept.a[-1])
            if not rates or rates[-1] > new:
                rates.append(new)
                break
            if not rates[-1] <= new:
                raise NotCertified("dots: convexity is not decided")
            rates.pop()
            kept.drop(-1)
        kept.eps.append(e)
        kept.a.append(a)
        kept.value.append(v)
    while rates and rates[-1] <= 0:
        rates.pop()
        kept.drop(-1)
    if not rates or not rates[-1] > 0:
        raise NotCertified("dots: a curve that does not fall for certain")
    return kept


__all__ = ["Bracket", "law_above", "law_below"]
