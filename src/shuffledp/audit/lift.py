"""From limits of local probabilities to the shuffle: what is worse than every law they allow.

Of an ordered pair of inputs the limits say, for nested events S_1, .., S_J, that P0(S_j) >= l_j and
P1(S_j) <= u_j. The channel with two inputs whose testing region is the hull of the points (u_j,
l_j) is then a post-processing of the program's reports (Blackwell 1951; docs/theory-audit.md,
section 5), and so is its shuffle: a certified lower end for it is one for the program.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.amplification import generic, shuffle
from shuffledp.audit.garble import boxes
from shuffledp.audit.judge import PairLimits, cell_limits
from shuffledp.audit.plan import AuditPlan, Design
from shuffledp.audit.tally import Tally
from shuffledp.errors import NotCertified
from shuffledp.randomizers import Channel

Point = tuple[float, float]

# The channel's rows are differences of floats, normalised: each of its sums is off by less.
_SHRINK = 4e-15
# Relative width of the certified ends.
_RTOL = 1e-3


@dataclass(frozen=True)
class Central:
    """Central eps at one delta.

    Attributes
    ----------
    delta : float
        Target.
    lower : float
        Lower confidence bound for the program's own shuffle.
    pair : tuple or None
        The pair of neighbouring values it comes from.
    upper : float
        Certified upper end for the declared mechanism.
    supported : float or None
        Where the law is refuted: upper confidence bound under the conditions of ``Supported``.
    """

    delta: float
    lower: float
    pair: tuple[Any, Any] | None
    upper: float
    supported: float | None = None


@dataclass(frozen=True)
class Supported:
    """The local guarantee that the observed cells support: a confidence statement with conditions.

    Attributes
    ----------
    epsilon : float
        Upper confidence bound of the log ratio of any group of cells, over all audited pairs; inf
        where a cell that occurs under one input may have probability 0 under another.
    cell : str
        Where it is largest.
    conditions : tuple of str
        What it takes for granted beside the level.
    """

    epsilon: float
    cell: str
    conditions: tuple[str, ...]


CONDITIONS = (
    "a report says no more of the value than which group of cells it lies in",
    "no pair of values is told apart better than the audited ones",
    "no report lies outside the message space, if none of those seen does",
)


def hull(points: Sequence[Point]) -> list[Point]:
    """Upper concave hull of (0, 0), the points and (1, 1), from left to right."""
    moved = [(min(1.0, u + _SHRINK), max(0.0, p - _SHRINK)) for u, p in points]
    every = sorted({(0.0, 0.0), (1.0, 1.0), *((u, p) for u, p in moved if p > u)})
    made: list[Point] = []
    for point in every:
        while len(made) > 1 and _above(made[-2], point, made[-1]) <= 0.0:
            made.pop()
        while made and made[-1][0] == point[0]:
            made.pop()
        made.append(point)
    return made


def _above(left: Point, right: Point, middle: Point) -> float:
    """How far the middle point is above the chord, times its width."""
    return (middle[1] - left[1]) * (right[0] - left[0]) - (right[1] - left[1]) * (
        middle[0] - left[0]
    )


def weakest_channel(points: Sequence[Point]) -> Channel | None:
    """Two inputs whose testing region is the hull; None where it is a diagonal."""
    corners = hull(points)
    if len(corners) <= 2:
        return None
    second, first = (np.diff([corner[k] for corner in corners]) for k in (0, 1))
    return Channel(matrix=tuple(tuple(float(v) for v in row) for row in (first, second)))


def central_lower(
    channels: Sequence[tuple[tuple[Any, Any], Channel]], *, n: int, delta: float
) -> tuple[float, tuple[Any, Any] | None]:
    """The best certified lower end over the weakest channels, and its pair."""
    best: tuple[float, tuple[Any, Any] | None] = (0.0, None)
    for pair, channel in channels:
        try:
            bound = shuffle(channel, n=n, rtol=_RTOL).epsilon(delta=delta, analysis="dataset")
        except NotCertified:
            continue
        if bound.lower > best[0]:
            best = (bound.lower, pair)
    return best


def supported(plan: AuditPlan, tally: Tally, found: Design) -> Supported:
    """The largest log ratio that the limits of all groups of cells leave open."""
    low, high = cell_limits(plan, tally, found)
    worst, cell = 0.0, ""
    outside = bool((tally.counts[:, -1] > 0).any())
    for pair in found.pairs:
        i, j = pair.pair
        for k, name in enumerate(found.group_names):
            ratio = math.log(high[i, k] / low[j, k]) if low[j, k] > 0.0 else math.inf
            if ratio > worst:
                worst, cell = ratio * (1.0 + 1e-12), name
    if outside:
        worst, cell = math.inf, "outside the message space"
    return Supported(worst, cell, CONDITIONS)


def weakest_channels(
    plan: AuditPlan, tally: Tally, found: Design, pairs: Sequence[PairLimits]
) -> list[tuple[tuple[Any, Any], Channel]]:
    """All channels of neighbours that the limits make post-processings of their reports.

    Other pairs are not lifted: the certified upper end, which a lower one is held against, is of
    neighbours, and the shuffles of values that are none may be farther apart.
    """
    made = [(pair.pair, weakest_channel(pair.points)) for pair in pairs if pair.neighbours]
    kept = [(pair, channel) for pair, channel in made if channel is not None]
    return [*_farthest(kept), *_farthest(boxes(plan, tally, found))]


# Channels of either kind that are evaluated: with alike inputs all are nearly the same.
_EVALUATED = 2


def _farthest(
    channels: list[tuple[tuple[Any, Any], Channel]],
) -> list[tuple[tuple[Any, Any], Channel]]:
    """Those whose two inputs are farthest apart, by sum (p - q)^2/(p + q); any choice is valid."""

    def apart(channel: Channel) -> float:
        p, q = channel.probabilities[:2]
        return float(((p - q) ** 2 / np.maximum(p + q, 1e-300)).sum())

    return sorted(channels, key=lambda found: -apart(found[1]))[:_EVALUATED]


def central(
    plan: AuditPlan,
    channels: Sequence[tuple[tuple[Any, Any], Channel]],
    backed: Supported | None,
) -> tuple[Central, ...]:
    """Central eps at every delta of the plan; ``backed`` where the law is refuted."""
    if plan.n is None:
        return ()
    made = []
    declared = shuffle(plan.randomizer, n=plan.n, rtol=_RTOL)
    for delta in plan.deltas:
        lower, pair = central_lower(channels, n=plan.n, delta=delta)
        upper = declared.epsilon(delta=delta).upper
        entry = Central(delta, lower, pair, upper)
        if backed is not None and 0.0 < backed.epsilon <= 300.0:
            known = generic(eps0=backed.epsilon, n=plan.n, rtol=_RTOL).epsilon(delta=delta).upper
            entry = dataclasses.replace(entry, supported=known)
        elif backed is not None:
            entry = dataclasses.replace(entry, supported=math.inf)
        made.append(entry)
    return tuple(made)
