"""A cover of all pairs and others' inputs of noise on an interval: finitely many bent triples.

Only the places of x0 and x1 against the other's input x count, and for self-decomposable noise only
those that span the whole interval: x at one end and x0 or x1 at the other, or x0 and x1 at both
ends. Along each of these three edges a grid covers all inputs: log-concave densities lie above a
little less, and below a little more, than the chord of two neighbours (docs/theory-stealing.md,
section 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import NotCertified
from shuffledp.randomizers.chords import Chords

U = UNIT_ROUNDOFF
# Groups of cells that gains are taken on: with 300 of them the
# spread of gains within a group adds less than 1e-4 to their variance.
GROUPS, FEW_GROUPS = 320, 80
# Less spread than the worst by that share: few groups are enough.
_CLOSE = 0.02
# Share of eps that the cover may cost next to the worst triple, and of the slack farther away.
FINEST, _SHARE = 2e-5, 0.6
# Places on an edge where the spread is looked at; between them it is interpolated.
_PROBES = 17
# Points of one edge: beyond that a bound takes more than about ten seconds.
_MOST_POINTS = 2000


@dataclass(frozen=True)
class Bend:
    """What a row of a law is multiplied by, so that it covers its neighbourhood.

    Attributes
    ----------
    row : int
        0, 1 or 2: x0, x1 or the other's input.
    factor : float
        For outputs up to ``reach`` from the row's input.
    reach : float
        In units of the interval.
    beyond : float
        For all other outputs: 1, or 0 to leave them out.
    """

    row: int
    factor: float
    reach: float
    beyond: float


@dataclass(frozen=True)
class Melting(Bend):
    """A factor that falls with the output's distance d from the row's normal input.

    Attributes
    ----------
    h : float
        Distance of neighbours.
    noise : float
        Deviation, so that the factor is e^{-(h (d + h)/noise^2)^2/8} up to ``reach``, then 0.
    """

    h: float
    noise: float

    def factors(self, distance: Array) -> Array:
        """On cells whose farthest output is that far away, rounded down."""
        exponent = (self.h * (distance + self.h) / self.noise**2) ** 2 / 8.0
        kept = np.exp(-exponent * (1.0 + 16 * U)) * (1.0 - 16 * U)
        return np.where(distance <= self.reach, kept, 0.0)


class Triple(NamedTuple):
    """A victim's pair, the input of another, and how their laws are bent to cover neighbours."""

    x0: float
    x1: float
    x: float
    bends: tuple[Bend, ...] = ()
    groups: int = GROUPS


def cover(
    epsilon: float,
    chords: Chords,
    spread: Callable[[list[Triple]], Array],
    *,
    quantum: float = 0.0,
    finest: float = FINEST,
    groups: tuple[int, int] = (GROUPS, FEW_GROUPS),
) -> list[Triple]:
    """Triples along the three edges whose bent laws dominate those of all inputs.

    Parameters
    ----------
    epsilon : float
        The cover costs a small part of it.
    chords : Chords
        How far the density is from chords.
    spread : callable
        What eps is in proportion to; where it is smaller, neighbours may be farther apart.
    quantum : float
        Inputs are multiples of it; 0 for all real numbers.
    finest : float
        Share of eps that it may cost next to the worst triple.
    groups : (int, int)
        Groups of cells of triples next to the worst, and of others.
    """

    def slack(edge: Callable[[float], Triple]) -> Callable[[float], float]:
        """How much smaller the spread is than at the worst triple, as a share of it."""
        at = np.linspace(0.0, 1.0, _PROBES)
        values = spread([edge(float(v)) for v in at])
        largest = float(values.max())
        share = (1.0 - values / largest if largest > 0.0 else 0.0 * values).tolist()
        return lambda v: _interpolated(share, v)

    def lowered(h: float) -> float:
        return _log_part(chords.below(h)[0])

    def thinned(h: float) -> float:
        return 0.5 * epsilon * _log_part(chords.below(h, 1.0)[0])

    triples = []
    for edge, cost, bend in (
        (second_moves, lowered, _weaker),
        (first_moves, lambda h: raised_mass(chords, h), stronger),
        (other_moves, thinned, _fewer),
    ):
        room = slack(edge)
        # Of the third edge the second half mirrors the first.
        end = 0.5 if edge is other_moves else 1.0
        if quantum > 0.0:
            end = math.ceil(end / quantum - 0.25) * quantum
        points = grid(
            lambda v, room=room: epsilon * max(finest, _SHARE * room(v)), cost, end, quantum
        )
        if edge is other_moves:
            points += [1.0 - x for x in points[-2::-1]]
        if quantum > 0.0:
            points = [k * quantum for k in sorted({round(x / quantum) for x in points})]
        steps = np.diff(points)
        # Between inputs next to each other there is none.
        steps = np.where(steps > 1.5 * quantum, steps, 0.0)
        for j, point in enumerate(points):
            h = float(max(steps[max(j - 1, 0)], steps[min(j, steps.size - 1)]))
            many = groups[room(point) >= _CLOSE]
            triples.append(edge(point)._replace(bends=(bend(chords, h),), groups=many))
    return triples


def _log_part(factor: float) -> float:
    """-log of it; of far inputs and little noise it is below the floats."""
    return -math.log(factor) if factor > 0.0 else math.inf


def second_moves(v: float) -> Triple:
    """x0 and the other at the ends, x1 anywhere."""
    return Triple(1.0, v, 0.0)


def first_moves(u: float) -> Triple:
    """x1 and the other at the ends, x0 anywhere."""
    return Triple(u, 1.0, 0.0)


def other_moves(x: float) -> Triple:
    """x0 and x1 at the ends, the other anywhere."""
    return Triple(1.0, 0.0, x)


def raised_mass(chords: Chords, h: float) -> float:
    """About how much mass a density raised above chords has too much."""
    factor, reach = chords.above(h)
    return (factor - 1.0) * min(1.0, reach / chords.noise)


def _weaker(chords: Chords, h: float) -> Bend:
    return Bend(1, *chords.below(h), 0.0)


def stronger(chords: Chords, h: float) -> Bend:
    """x0's law raised above all of its neighbours'."""
    return Bend(0, *chords.above(h), 1.0)


def _fewer(chords: Chords, h: float) -> Bend:
    # x0 may be the whole interval away from x.
    return Bend(2, *chords.below(h, 1.0), 0.0)


def grid(
    allowed: Callable[[float], float],
    cost: Callable[[float], float],
    end: float,
    quantum: float = 0.0,
) -> list[float]:
    """Points from 0 to ``end``, steps as long as their cost is allowed where they begin.

    Steps are multiples of a quantum, if there is one, and one quantum costs nothing.
    """
    points, longest = [0.0], 0.25 * end
    while points[-1] < end:
        # Costs grow with the step: from the step before to the longest that is allowed.
        here, most = points[-1], allowed(points[-1])
        while cost(1.5 * longest) > most and longest > 1e-9:
            longest *= 0.8
        while longest < 0.25 * end and cost(1.5 * longest / 0.8) <= most:
            longest = min(longest / 0.8, 0.25 * end)
        h = longest
        if quantum > 0.0:
            h = max(math.floor(h / quantum), 1) * quantum
        points.append(end if here + 1.5 * h >= end else here + h)
        if len(points) > _MOST_POINTS:
            raise NotCertified("analysis = 'label-stealing': too many inputs in the cover")
    return points


def _interpolated(values: list[float], v: float) -> float:
    """Linear between values at even places in [0, 1]."""
    place = min(v, 1.0) * (len(values) - 1)
    k = min(int(place), len(values) - 2)
    return values[k] + (place - k) * (values[k + 1] - values[k])
