"""Connect the dots: from certified points of a hockey-stick curve to a loss law above or below it.

    h(a) = sup over neighbours of sum (P - a Q)_+,     a = e^eps,

is convex and non-increasing. A convex piecewise linear curve with kinks at a_k is the curve of the
discrete pair with Q-mass (jump of the slope) and P-mass a_k times that at the loss log a_k.
Above: the convex envelope of the chords through upper values. Below: the convex envelope of chords
continued beyond their end points. Proofs, rounding included: docs/theory-composition.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.rounds.loss import NO_LOSS, LossLaw, LossPair

U = UNIT_ROUNDOFF
# A rate (difference of values over difference of a) has a relative error below this.
_RATE = 32 * U
_SMALLEST = 1e-290
_TRIES = 27


class Chain:
    """Vertices (eps, value) of a convex curve on a >= 1, and its rates of decrease."""

    def __init__(self, eps: list[float], value: list[float], rest: float) -> None:
        self.eps, self.value, self.rest = eps, value, rest

    def rates(self) -> Array:
        """-slope between neighbouring vertices, 0 beyond the last."""
        eps, value = np.array(self.eps), np.array(self.value)
        run = np.exp(eps[:-1]) * np.expm1(np.diff(eps))
        return np.append(-np.diff(value) / run, 0.0)


def _rate(eps0: float, value0: float, eps1: float, value1: float) -> float:
    return (value0 - value1) / (math.exp(eps0) * math.expm1(eps1 - eps0))


def _envelope(eps: list[float], value: list[float]) -> Chain:
    """Largest convex curve below the points, constant beyond the last."""
    kept_eps: list[float] = []
    kept: list[float] = []
    for e, v in zip(eps, value, strict=True):
        while len(kept) >= 2 and _rate(kept_eps[-2], kept[-2], kept_eps[-1], kept[-1]) <= _rate(
            kept_eps[-1], kept[-1], e, v
        ):
            kept_eps.pop()
            kept.pop()
        kept_eps.append(e)
        kept.append(v)
    while len(kept) >= 2 and kept[-2] <= kept[-1]:
        kept_eps.pop()
        kept.pop()
    return Chain(kept_eps, kept, kept[-1])


def upper_pair(eps: Array, forward: Array, backward: Array | None = None) -> LossPair:
    """Loss laws whose curves are above h everywhere, from upper values of h.

    Parameters
    ----------
    eps : ndarray, shape (K,)
        0 = eps[0] < eps[1] < ...
    forward : ndarray, shape (K,)
        forward[i] >= h(e^eps[i]).
    backward : ndarray, shape (K,), optional
        The same for the neighbours in the other order. Without it the relation is symmetric:
        one curve, and one law for both directions.

    Notes
    -----
    On a < 1 the curve is h(a) = 1 - a + a h'(1/a), h' that of the other order.
    """
    chains = [_envelope(eps.tolist(), _falling(forward).tolist())]
    chains.append(
        _envelope(eps.tolist(), _falling(backward).tolist())
        if backward is not None
        else Chain(list(chains[0].eps), list(chains[0].value), chains[0].rest)
    )
    _join(*chains)
    rates = [chain.rates() for chain in chains]
    total = sum(float(r[0]) for r in rates)
    centre = max(1.0 - chains[0].value[0] - total * (1.0 - _RATE), 0.0) + 8 * U
    vertex = [np.array(chain.eps[1:]) for chain in chains]
    q = [_jumps(r, 1.0) for r in rates]
    p = [x * np.exp(e) * (1.0 + 16 * U) for x, e in zip(q, vertex, strict=True)]
    laws = []
    for this, other in ((0, 1), (1, 0)):
        loss = np.concatenate([-vertex[other][::-1], [0.0], vertex[this]])
        mass = np.concatenate([q[other][::-1], [centre], p[this]])
        keep = mass > 0.0
        laws.append(LossLaw(loss[keep], mass[keep], chains[this].rest))
        if backward is None:
            return LossPair(laws[0], laws[0])
    return LossPair(*laws)


def convex_values(eps: Array, values: Array) -> Array:
    """Values at the same eps of the largest convex curve below the points and their mirror images.

    Parameters
    ----------
    eps : ndarray, shape (K,)
        0 = eps[0] < eps[1] < ...
    values : ndarray, shape (K,)
        Upper values of a curve whose relation is symmetric.
    """
    chain = _envelope(eps.tolist(), _falling(values).tolist())
    _join(chain, Chain(list(chain.eps), list(chain.value), chain.rest))
    return on_chords(chain, eps)


def on_chords(chain: Chain, eps: Array) -> Array:
    """Values of the chain at eps, rounded up; the last one beyond its end."""
    at = np.minimum(np.searchsorted(chain.eps, eps, side="right"), len(chain.eps) - 1)
    if len(chain.eps) == 1:
        return np.full(eps.size, chain.value[0])
    vertex, height = np.array(chain.eps), np.array(chain.value)
    first, second = vertex[at - 1], vertex[at]
    here = np.minimum(eps, second)
    # Both shares by themselves: a difference would lose a second height far below the first.
    share = np.expm1(here - first), np.exp(here - first) * np.expm1(second - here)
    found = (height[at] * share[0] + height[at - 1] * share[1]) / np.expm1(second - first)
    return np.minimum(found * (1.0 + 64 * U), 1.0)


def _falling(value: Array) -> Array:
    return np.minimum(np.minimum.accumulate(value), 1.0)


def _join(first: Chain, second: Chain) -> None:
    """Make the curve of ``first`` on a > 1 convex together with that of ``second`` on a < 1."""
    sides = (first, second)
    top = min(first.value[0], second.value[0])
    while True:
        first.value[0] = second.value[0] = top
        if len(first.eps) < 2 or len(second.eps) < 2:
            break
        # The chord from 1/a' to a at 1; h(1/a') = 1 - (1 - h'(a'))/a'.
        (e, v), (f, w) = ((c.eps[1], c.value[1]) for c in sides)
        right, left = math.expm1(e), -math.expm1(-f)
        # The quotient first: a product of two of size eps0 is 0 below eps0 = 1e-162.
        chord = v + (left * (1.0 - w) + w - v) * (right / (right + left))
        top = min(top, max(chord, v, w) * (1.0 + 32 * U))
        popped = False
        for chain in sides:
            if len(chain.eps) >= 3 and _rate(0.0, top, chain.eps[1], chain.value[1]) <= _rate(
                chain.eps[1], chain.value[1], chain.eps[2], chain.value[2]
            ):
                chain.eps.pop(1)
                chain.value.pop(1)
                popped = True
        first.value[0] = second.value[0] = top
        if not popped:
            break
    for chain in sides:
        chain.rest = chain.value[-1]


def _jumps(rates: Array, outward: float) -> Array:
    """Q-masses at the inner vertices, rounded up (outward = 1) or down (-1)."""
    before, after = rates[:-1], rates[1:]
    return np.maximum(before - after + outward * _RATE * (before + after), 0.0)


def lower_pair(
    eps: Array,
    forward: tuple[Array, Array],
    backward: tuple[Array, Array],
    floors: tuple[float, float] = (0.0, 0.0),
) -> LossPair:
    """Loss laws below the curves of one pair, from brackets of both directions.

    Parameters
    ----------
    eps : ndarray, shape (K,)
        0 = eps[0] < eps[1] < ..., K >= 3.
    forward, backward : tuple of two ndarrays of shape (K,)
        Lower and upper values of the curves of (P, Q) and of (Q, P).
    floors : tuple of two floats
        Lower bounds of both curves at every a.
    """
    sides = [
        _minorant(eps, *values, floor)
        for values, floor in ((forward, floors[0]), (backward, floors[1]))
    ]
    made = pair_below(
        lambda centre: [_envelope([0.0, *side[1]], [centre, *side[2]]) for side in sides],
        min(side[0] for side in sides),
    )
    return NO_LOSS if made is None else made[0]


def pair_below(
    chains_at: Callable[[float], list[Chain]], start: float
) -> tuple[LossPair, list[Chain]] | None:
    """Loss laws of two convex chains, one in each direction, and the chains; None without.

    Parameters
    ----------
    chains_at : callable
        Value at a = 1 -> both chains with that value there.
    start : float
        The largest value at a = 1 to try.
    """
    for k in range(_TRIES):
        # Usually rounding alone stands in the way: begin with the smallest step down.
        centre = start * (1.0 - min(16 * U * 4.0**k, 1.0)) if k else start
        chains = chains_at(centre)
        rates = [chain.rates() for chain in chains]
        left = 1.0 - centre - sum(float(r[0]) for r in rates) * (1.0 + _RATE) - 8 * U
        if left >= 0.0:
            return _assembled(chains, rates, left), chains
        # A lower value at a = 1 is valid too, and makes the curve more convex there.
    return None


def _assembled(chains: list[Chain], rates: list[Array], centre: float) -> LossPair:
    q = [_jumps(r, -1.0) for r in rates]
    vertex = [np.array(chain.eps[1:]) for chain in chains]
    p = [x * np.exp(e) * (1.0 - 16 * U) for x, e in zip(q, vertex, strict=True)]
    laws = []
    for this, other in ((0, 1), (1, 0)):
        loss = np.concatenate([-vertex[other][::-1], [0.0], vertex[this]])
        mass = np.concatenate([q[other][::-1], [centre], p[this]])
        keep = mass > 0.0
        laws.append(LossLaw(loss[keep], mass[keep], max(chains[this].rest, 0.0)))
    return LossPair(*laws)


def _minorant(
    eps: Array, low: Array, high: Array, floor: float
) -> tuple[float, list[float], list[float]]:
    """Value at a = 1, and points whose chords are below the curve on a >= e^eps[1].

    On [a_i, a_i+1] the curve is above the chord of (a_i-1, a_i) continued to the right and above
    that of (a_i+1, a_i+2) continued to the left, by convexity.
    """
    low = np.maximum(np.where(low < _SMALLEST, 0.0, low), floor)
    high = np.maximum(high, low)
    step = np.exp(eps[:-1]) * np.expm1(np.diff(eps))
    # Steeper to the right of a point, flatter to its left: both are lower.
    falls = np.maximum(high[:-1] - low[1:], 0.0) / step * (1.0 + _RATE)
    rises = np.maximum(low[:-1] - high[1:], 0.0) / step * (1.0 - _RATE)
    rises = np.append(rises, 0.0)
    points, values = [], []
    last = eps.size - 1
    for i in range(1, last + 1):
        points.append(float(eps[i]))
        values.append(float(low[i]))
        if i < last:
            crossing = _crossing(
                float(eps[i]),
                float(low[i]),
                float(falls[i - 1]),
                (float(eps[i + 1]), float(low[i + 1]), float(rises[i + 1])),
            )
        else:
            crossing = _landing(float(eps[i]), float(low[i]), float(falls[i - 1]), floor)
        if crossing is not None:
            points.append(crossing[0])
            values.append(crossing[1])
    start = values[0] + float(rises[1]) * math.expm1(float(eps[1])) * (1.0 - _RATE)
    return max(min(start, 1.0 - 16 * U) * (1.0 - 4 * U), 0.0), points, values


def _crossing(
    eps: float, value: float, fall: float, right: tuple[float, float, float]
) -> tuple[float, float] | None:
    """Where the two continued chords meet inside the interval; a value below both."""
    scale, width = math.exp(eps), math.expm1(right[0] - eps)
    run = scale * width
    gap = value - right[1] - right[2] * run
    # Height of the left line over the right one at the left end; both lines fall.
    if not (fall > right[2] and (fall - right[2]) * run > gap > 0.0):
        return None
    share = gap / ((fall - right[2]) * run)
    at = eps + math.log1p(min(share, 1.0) * width)
    if not eps < at < right[0]:
        return None
    done = scale * math.expm1(at - eps)
    rest = math.exp(at) * math.expm1(right[0] - at)
    below = min(
        value - fall * done * (1.0 + _RATE) - _RATE * value,
        right[1] * (1.0 - _RATE) + right[2] * rest * (1.0 - _RATE),
    )
    return at, max(below, 0.0)


def _landing(eps: float, value: float, fall: float, floor: float) -> tuple[float, float] | None:
    """Where the last chord, continued, comes down to the floor."""
    if not value > floor or fall <= 0.0:
        return None
    at = eps + math.log1p((value - floor) / fall * math.exp(-eps))
    # Not beyond the line: rounding of ``at`` itself may have moved it there.
    while at > eps and fall * math.exp(eps) * math.expm1(at - eps) * (1.0 + _RATE) > value - floor:
        at = math.nextafter(at - 8 * U * (at - eps), eps)
    return (at, floor) if at > eps else None


__all__ = ["Chain", "convex_values", "lower_pair", "on_chords", "pair_below", "upper_pair"]
