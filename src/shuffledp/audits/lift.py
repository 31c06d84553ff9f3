"""From limits of local probabilities to the shuffle: what is worse than every law they allow.

Of a pair of inputs the limits say of events S that P0(S) >= l and P1(S) <= u, and of others that
P1(S') >= l' and P0(S') <= u'. The channel with two inputs whose testing region is the hull of the
points (u, l) and (1 - l', 1 - u') is then a post-processing of the program's reports (Blackwell
1951; docs/theory-audit.md, section 5), and so is its shuffle: a certified lower end for it is one
for the program.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shuffledp.accounts import shuffle
from shuffledp.audits.plan import AuditPlan
from shuffledp.audits.result import CENTRAL, Bound
from shuffledp.errors import NotCertified
from shuffledp.randomizers import Channel
from shuffledp.values.described import shown

Point = tuple[float, float]

# The channel's rows are differences of floats, normalised: each of its sums is off by less.
_SHRINK = 4e-15
# Relative width of the certified ends.
_RTOL = 1e-3


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


def central(plan: AuditPlan, pairs: Mapping[tuple[int, int], Bound]) -> tuple[Bound, ...]:
    """Bounds after shuffling at every delta of the plan, from those of pairs of neighbours.

    Other pairs are not lifted: the certified upper end, which a lower one is held against, is of
    neighbours, and the shuffles of values that are none may be farther apart.
    """
    if plan.n is None or plan.randomizer is None:
        return ()
    declared, channel, values, made = shuffle(plan.randomizer, n=plan.n, rtol=_RTOL), None, None, []
    if pairs:
        # All limits hold together, so any pair may be chosen.
        (i, j), best = max(pairs.items(), key=lambda one: one[1].lower)
        back = [(1.0 - low, 1.0 - high) for high, low in pairs[j, i].points]
        channel, values = weakest_channel([*best.points, *back]), best.pair
    for delta in plan.deltas:
        bound = Bound(CENTRAL, None, delta, 0.0, declared.epsilon(delta=delta).upper)
        with contextlib.suppress(NotCertified):
            if channel is not None:
                found = shuffle(channel, n=plan.n, rtol=_RTOL)
                lower = found.epsilon(delta=delta, analysis="dataset").lower
                pair = values if lower > 0.0 else None
                bound = dataclasses.replace(bound, pair=pair, lower=lower)
        made.append(bound)
    return tuple(made)


def words(plan: AuditPlan, made: Sequence[Bound], *, known: bool) -> Iterator[str]:
    """Which messages and values the bounds after shuffling are of."""
    if not made:
        return
    yield f"The bounds after shuffling are of one shuffle of {plan.n:,} messages."
    if not known:
        yield (
            "No two of the audited values are known to be neighbours: of the program after "
            "shuffling nothing is said."
        )
    pair = next((bound.pair for bound in made if bound.pair is not None), None)
    if pair is not None:
        names = " and ".join(sorted(shown(x) for x in pair))
        yield f"They are of one user who changes between {names}."
