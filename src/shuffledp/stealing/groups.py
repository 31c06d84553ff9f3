"""Groups of cells of a law: rows for the victim's pair against a third law, ranges of ratios kept.

A continuous output comes in some thousand cells; the gains of neighbouring cells hardly differ,
and a few hundred groups of them, each with the range of its ratios, serve as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array, Indices
from shuffledp.errors import NotCertified
from shuffledp.randomizers import JointLaw
from shuffledp.randomizers.law import CellEdges
from shuffledp.stealing.cells import Rows, RowStack
from shuffledp.stealing.cover import GROUPS, Bend, Melting

U = UNIT_ROUNDOFF
# Log ratios beyond it are cut off as infinite.
_LARGEST_LOG = 300.0
_LARGEST_WIDTH = 1e100
# Gains of a group are within this factor of each other, in logs.
_LOG_GROUP = 0.2
# Ratios below it count as 0: a float may have lost them.
_SMALLEST_RATIO = 1e-290
# Types whose cells are looked at together: arrays of 2^14 numbers, so that a processor's caches
# hold what one step leaves for the next.
_TOGETHER = 1 << 14


class Bent(NamedTuple):
    """Rows x0, x1 and x (None: the blanket) of a law, and how they are bent and grouped."""

    rows: tuple[int, int, int | None]
    bends: tuple[Bend, ...]
    groups: int


def grouped(law: JointLaw, rows: tuple[int, int, int | None]) -> Rows:
    """Groups of cells of a law as it is: two rows against a third one, or the blanket."""
    return stack_of(law, [Bent(rows, (), GROUPS)], np.abs)[0]


def stack_of(law: JointLaw, types: Sequence[Bent], distances: Callable[[Array], Array]) -> RowStack:
    """Groups of cells of each of the types.

    Parameters
    ----------
    law : JointLaw
        Cells on which log ratios are linear.
    types : sequence of Bent
        At least one.
    distances : callable
        Log densities -> distances of outputs from the input.
    """
    edges = law.edges
    if edges is None or not edges.log_linear:
        raise NotCertified("label stealing: wanted cells on which log ratios are linear")
    many = max(1, _TOGETHER // law.blanket.size)
    chunks = (types[start : start + many] for start in range(0, len(types), many))
    return RowStack.joined([_stack(law, edges, chunk, distances) for chunk in chunks])


def _stack(
    law: JointLaw,
    edges: CellEdges,
    types: Sequence[Bent],
    distances: Callable[[Array], Array],
) -> RowStack:
    """Types that are looked at together: arrays of shape (types, cells)."""
    first, second = (np.array([bent.rows[k] for bent in types]) for k in (0, 1))
    third = [bent.rows[2] for bent in types]
    factors = _factors(edges, types, distances)
    masses = [law.mass[first], law.mass[second], _third(law.mass, law.blanket, third)]
    masses = [mass * factor * (1.0 - 2 * U) for mass, factor in zip(masses, factors, strict=True)]
    left = _third(edges.left, edges.blanket_left, third)
    right = _third(edges.right, edges.blanket_right, third)
    ends = _ranges(
        [edges.left[own] - left for own in (first, second)],
        [edges.right[own] - right for own in (first, second)],
        factors,
        edges.err,
    )
    fresh = _fresh(masses[2], ends, np.array([bent.groups for bent in types])[:, None])
    starts = np.flatnonzero(fresh)
    rows = Rows(
        *(np.add.reduceat(mass.reshape(-1), starts) for mass in masses),
        *(
            pick.reduceat(end.reshape(-1), starts)
            for pick, end in zip((np.minimum, np.maximum) * 2, ends, strict=True)
        ),
        rel=law.rel + (8 + law.blanket.size) * U,
        outside=0.0,
    )
    counts = np.cumsum([0, *fresh.sum(axis=1)])
    return RowStack(rows, counts, law.tails()[first])


def _third(rows: Array, blanket: Array, which: Sequence[int | None]) -> Array:
    """The third law of each type, shape (types, cells)."""
    return np.stack([blanket if row is None else rows[row] for row in which])


def _factors(
    edges: CellEdges, types: Sequence[Bent], distances: Callable[[Array], Array]
) -> list[Array]:
    """What each of the three rows of each type is multiplied by, shape (types, cells)."""
    found: list[Array] = [np.ones((len(types), edges.blanket_left.size)) for _ in range(3)]
    for i, (rows, bends, _) in enumerate(types):
        for bend in bends:
            row = rows[bend.row]
            if row is not None:
                one, two = edges.left[row], edges.right[row]
                found[bend.row][i] = _factor(bend, one, two, edges.err, distances)
    return found


def _factor(
    bend: Bend, one: Array, two: Array, err: float | Array, distances: Callable[[Array], Array]
) -> Array:
    """The bend's factor on each cell; outputs in doubt are bent.

    ``one`` and ``two`` are the row's log densities at the cell's edges. Where ``beyond`` is 1 and
    the reach finite, the first and the last class have to lie outside the interval, and cells to be
    cut at the row's input, as those of Laplace noise are.
    """
    if isinstance(bend, Melting):
        return bend.factors(distances(np.minimum(one, two) - err))
    if bend.beyond > 0.0:
        near = distances(np.maximum(one, two) + err) <= bend.reach
        inside = np.full(one.size, fill_value=True)
        inside[[0, -1]] = math.isinf(bend.reach)
        return np.where(near & inside, bend.factor, bend.beyond)
    far = distances(np.minimum(one, two) - err) > bend.reach
    return np.where(far, bend.beyond, bend.factor)


def _ranges(
    left: list[Array], right: list[Array], factors: list[Array], err: float | Array
) -> list[Array]:
    """Ends of r0 - r1 and of r1 on each cell, the logs of r0 and r1 being linear on it.

    ``left`` and ``right`` are these logs at the edges, before the factors. Between the edges a
    difference of two exponentials is off its chord by at most an eighth of the squared moves of
    the logs times the largest values.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bend = [np.where(factors[2] > 0.0, factors[k] / factors[2], 0.0) for k in (0, 1)]
        one = [np.exp(np.clip(left[k], -745.0, _LARGEST_LOG)) * bend[k] for k in (0, 1)]
        two = [np.exp(np.clip(right[k], -745.0, _LARGEST_LOG)) * bend[k] for k in (0, 1)]
        slack = np.expm1(err) + 32 * U
        largest = [np.maximum(one[k], two[k]) * (1.0 + slack) for k in (0, 1)]
        moves = [np.abs(right[k] - left[k]) + 2.0 * err for k in (0, 1)]
        bulge = sum(0.125 * moves[k] ** 2 * largest[k] for k in (0, 1))
        bulge = bulge * (1.0 + 32 * U) + slack * (largest[0] + largest[1])
        low = np.minimum(one[0] - one[1], two[0] - two[1]) - bulge
        high = np.maximum(one[0] - one[1], two[0] - two[1]) + bulge
        low1 = np.minimum(one[1], two[1]) * (1.0 - slack)
    # What is left out of the third law is seen for sure: no bound of the ratios there.
    unknown = factors[2] == 0.0
    for k in (0, 1):
        unknown |= (np.maximum(left[k], right[k]) + err > _LARGEST_LOG) & (factors[k] > 0.0)
    ends = (low, high, np.where(low1 > _SMALLEST_RATIO, low1, 0.0), largest[1])
    return [np.where(unknown, math.inf, end) for end in ends]


def _fresh(mass: Array, ends: list[Array], groups: Indices) -> npt.NDArray[np.bool_]:
    """Where groups of cells begin, shape (types, cells).

    About as many as wanted, ranges narrow where mass is.
    """
    low, high, low1, high1 = ends
    with np.errstate(over="ignore", invalid="ignore"):
        width = (high - low) + (high1 - low1)
        # Cells without a bound are kept apart, and so are classes of constant ratios.
        known = np.isfinite(width) & (width < _LARGEST_WIDTH)
        apart = ~known | (width <= 1e-12 * (np.abs(high) + high1))
    width = np.where(known, width, 0.0)
    cost = mass * width * width
    share = np.zeros(mass.shape)
    third = np.cbrt(cost)
    for part, weight in ((third, 0.7), (np.sqrt(np.sqrt(third)), 0.3)):
        total = part.sum(axis=1, keepdims=True)
        share += weight * part / np.where(total > 0.0, total, 1.0)
    bucket = np.floor(np.cumsum(share, axis=1) * groups)
    with np.errstate(invalid="ignore"):
        size = np.log1p(np.minimum(np.where(known, np.abs(high), 0.0), _LARGEST_WIDTH))
    # Far out a wide group would count as its largest gain.
    level = np.floor(size / _LOG_GROUP)
    found = np.full(mass.shape, fill_value=True)
    change = (np.diff(bucket) != 0.0) | apart[:, 1:] | apart[:, :-1]
    change |= (mass[:, 1:] > 0.0) != (mass[:, :-1] > 0.0)
    found[:, 1:] = change | (np.diff(level) != 0.0)
    return found
