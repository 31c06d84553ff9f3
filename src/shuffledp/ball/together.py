"""The label-stealing bound of many types at once, their gains moved to one grid.

A gain between two points of the grid is put on both with its mean kept: a law that is larger in
convex order, so that the bound is no smaller (docs/theory-stealing.md, Lemma 4.2). On one grid the
characteristic functions of all types at all nodes are two products of matrices.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.arithmetic.balls import arb, arb_mat, float_above

from .stealing import Atom, Line, Measures, Tilted, log_chernoff, log_power, number, step_for
from .stealing import with_more as plus
from .stealing import without as minus

__all__ = ["log_bound_together"]

# Steps of the grid next to 0 in deviations, which adds a part in 10^4 to variances, and from where
# on, in deviations, they grow with the gain.
_STEP, _EVEN = 0.03, 1.5


def log_bound_together(
    found: Measures, contour: Mapping[str, Any], n: int, *, enough: float
) -> float:
    """Upper end of log delta of one pair, as ``log_bound``; any number up to ``enough`` if less.

    Parameters
    ----------
    found : Measures
        The pair's.
    contour : mapping
        "alpha" and "smoothing", finite and > 0.
    n : int
        Users, the victim included, 2 <= n.
    enough : float
        A bound up to that need not be told from a smaller one.
    """
    alpha, smoothing = number(contour, "alpha"), number(contour, "smoothing")
    common = sum((mass for mass, _ in found.reservoir), arb(0))
    paid = found.unhidden * ((n - 1) * (1 - common).log()).exp() + found.lost
    grid = _grid([found.reservoir, *found.types])
    masses = [_moved(atoms, grid) for atoms in found.types]
    zero = grid.index(0.0)
    for row in masses:
        # What is left over has no gain.
        row[zero] += (1 - common - sum(row, arb(0))).nonnegative_part()
    points = [arb(x) for x in grid]
    factors = [(alpha * x).exp() for x in points]
    reservoir = _tilted(_moved(found.reservoir, grid), factors, points)
    laws = [_tilted(row, factors, points) for row in masses]
    best = minus(enough, paid)
    lost = found.lost_labelled
    coarse = [
        plus(log_chernoff(reservoir, law, n, alpha, smoothing), seen)
        for law, seen in zip(laws, lost, strict=True)
    ]
    left = [j for j, value in enumerate(coarse) if value > best]
    if left:
        line = Line(reservoir, alpha, smoothing, step_for(reservoir, laws, n, alpha))
        sums = _log_sums(line, reservoir, [laws[j] for j in left], points, n)
        values = [plus(value, lost[j]) for value, j in zip(sums, left, strict=True)]
        best = max([best, *(min(v, coarse[j]) for v, j in zip(values, left, strict=True))])
    return plus(best, paid) if laws and math.isfinite(best) else math.inf


def _grid(laws: Sequence[Sequence[Atom]]) -> list[float]:
    """Points with 0 among them, from below all gains to above them: in floats, any are valid."""
    lowest = highest = widest = 0.0
    for atoms in laws[1:]:
        masses = [float(mass.mid()) for mass, _ in atoms]
        gains = [float(gain.mid()) for _, gain in atoms]
        square = math.fsum(m * x * x for m, x in zip(masses, gains, strict=True))
        widest = max(widest, math.sqrt(square))
    for atoms in laws:
        for _, gain in atoms:
            lowest, highest = min(lowest, float(gain.lower())), max(highest, float(gain.upper()))
    unit = _EVEN * (widest or max(highest, -lowest, 1.0))
    first, last = (math.asinh(1.001 * end / unit) * _EVEN / _STEP for end in (lowest, highest))
    return [
        unit * math.sinh(k * _STEP / _EVEN)
        for k in range(math.floor(first) - 1, math.ceil(last) + 2)
    ]


def _moved(atoms: Sequence[Atom], grid: Sequence[float]) -> list[arb]:
    """Masses at the points of the grid, gains rounded up before they are put on two of them."""
    found = [arb(0)] * len(grid)
    for mass, gain in atoms:
        top = float_above(gain)
        k = min(max(bisect.bisect_right(grid, top) - 1, 0), len(grid) - 2)
        left, right = arb(grid[k]), arb(grid[k + 1])
        part = ((arb(max(top, grid[k])) - left) / (right - left)) * mass
        found[k + 1] += part
        found[k] += mass - part
    return found


def _tilted(masses: Sequence[arb], factors: Sequence[arb], points: Sequence[arb]) -> Tilted:
    """As ``stealing.tilted``, on the grid."""
    weights = [mass * factor for mass, factor in zip(masses, factors, strict=True)]
    total = sum(weights, arb(0))
    inner = [float(w.mid()) for w in weights]
    gains = [float(x.mid()) for x in points]
    whole = math.fsum(inner)
    mean = math.fsum(w * x for w, x in zip(inner, gains, strict=True)) / whole
    second = math.fsum(w * (x - mean) ** 2 for w, x in zip(inner, gains, strict=True)) / whole
    return Tilted(weights, total, list(points), second)


def _log_sums(
    line: Line, reservoir: Tilted, laws: Sequence[Tilted], points: Sequence[arb], n: int
) -> list[float]:
    """Theorem 3.1 of every law."""
    rows = [reservoir, *laws]
    weights = arb_mat(len(rows), len(points), [w / law.total for law in rows for w in law.weights])
    turns = [arb(line.step) * x for x in points]
    nodes = range(line.nodes + 1)
    angles = [j * turn for turn in turns for j in nodes]
    both = [angle.sin_cos() for angle in angles]
    shape = len(points), len(nodes)
    sines = weights * arb_mat(*shape, [s for s, _ in both])
    cosines = weights * arb_mat(*shape, [c for _, c in both])
    squares = [
        [cosines[i, j] * cosines[i, j] + sines[i, j] * sines[i, j] for j in nodes]
        for i in range(len(rows))
    ]
    a, h = line.alpha, line.smoothing
    places = [arb(line.step) * j for j in nodes]
    window = [(h * h * (a * a - t * t) / 2).exp() / (a * a + t * t) for t in places]
    far = places[-1]
    rest = (h * h * (a * a - far * far) / 2).exp() / (arb.pi() * h * h * far**3)
    found = []
    for law, own in zip(laws, squares[1:], strict=True):
        both_totals = 2 * (reservoir.total + law.total)
        share, other = reservoir.total / both_totals, law.total / both_totals
        half = share + other
        terms = [
            (n * (half + share * first + other * second).log()).exp() * w
            for first, second, w in zip(squares[0], own, window, strict=True)
        ]
        total = (2 * sum(terms, arb(0)) - terms[0]) * arb(line.step) / (2 * arb.pi())
        found.append(float_above(log_power(reservoir, law, n) + (total + rest).log()))
    return found
