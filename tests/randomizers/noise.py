"""Checks of additive noise on an interval, against an oracle written in balls.

An oracle has ``mass(t1, t2)`` (distances on one side), ``log_density(t)``, both balls in units of
the interval, and ``beyond(t)``, the mass of one side past a distance.
"""

import itertools
import math

import numpy as np
from flint import arb

from enumerated import ball
from laws import blanket_pair
from shuffledp.arithmetic.balls import ctx


def some(count, size):
    ends = {0, 1, 2, size - 3, size - 2, size - 1}
    return sorted(ends | set(np.linspace(0, size - 1, count, dtype=int).tolist()))


def cell_mass(oracle, x, left, right):
    """Of a cell that holds no input; an end may be infinite."""
    if left is None:
        return oracle.beyond(x - right)
    if right is None:
        return oracle.beyond(left - x)
    near, far = sorted((abs(left - x), abs(right - x)), key=float)
    assert (left - x) * (right - x) >= 0, "a cell that holds an input"
    return oracle.mass(near, far)


def check_cells(randomizer, oracle, x2, *, count=16, points=5):
    """Masses of the cells between places on the interval, and ratios at points inside of them."""
    low, size = randomizer.low, randomizer.high - randomizer.low
    inputs = [0.0, 1.0] if x2 is None else [0.0, 1.0, x2]
    places = sorted({*np.linspace(0.0, 1.0, count + 1).tolist(), 0.5, *inputs})
    near = arb(10) ** -12
    with ctx.workprec(250):
        line = randomizer.line([low + size * x for x in inputs])
        cells = line.cells([low + size * y for y in places])
        assert len(cells) == len(places) + 1
        ends = [None, *map(ball, places), None]
        for cell, (left, right) in zip(cells, itertools.pairwise(ends), strict=True):
            middle = 1.0 if left is None or (right is not None and left + right < 1) else 0.0
            reference = ball(middle if x2 is None else x2)
            for found, x in zip(cell[:3], (reference, ball(0), ball(1)), strict=True):
                exact = cell_mass(oracle, x, left, right)
                assert abs(found - exact) <= near * exact, (left, right, x)
            if left is None or right is None:
                continue
            for part in range(points):
                y = left + (right - left) * part / (points - 1)
                base = oracle.log_density(abs(y - reference))
                u = (oracle.log_density(abs(y)) - base).exp()
                v = (oracle.log_density(abs(y - 1)) - base).exp()
                assert cell.bottom.u * (1 - near) <= u <= cell.top.u * (1 + near)
                assert cell.top.v * (1 - near) <= v <= cell.bottom.v * (1 + near)


def stop_loss(pair, epsilon, t, *, end):
    """E(G - t)_+ from below (every cell at its mean) or from above (spread to its ends)."""
    grow = math.exp(epsilon)
    g = pair.a - grow * pair.b
    left = pair.leftover_mass()[0]
    at_zero = left * max(-t, 0.0)
    if end == "low":
        return float((pair.w * np.maximum(g - t, 0.0)).sum() + at_zero) * (1.0 - 1e-9) - 1e-12
    # Ratios far out are no floats.
    low = np.clip(pair.ranges.a_low - grow * np.clip(pair.ranges.b_high, 0.0, 1e300), -1e300, 1e300)
    high = np.clip(pair.ranges.a_high - grow * pair.ranges.b_low, -1e300, 1e300)
    share = np.where(high > low, (g - low) / np.where(high > low, high - low, 1.0), 0.5)
    spread = share * np.maximum(high - t, 0.0) + (1.0 - share) * np.maximum(low - t, 0.0)
    return float((pair.w * spread).sum() + at_zero) * (1.0 + 1e-9) + pair.tail[0] + 1e-12


def check_convex_order(randomizer, grid, *, cells=4000):
    """G of the end points is largest in convex order, so it is worst for every n."""
    ((x0, x1),) = randomizer.worst_pairs().pairs
    worst = blanket_pair(randomizer, x0, x1, n=1, cells=cells)
    for a in grid:
        for b in grid:
            if a == b:
                continue
            other = blanket_pair(randomizer, a, b, n=1, cells=cells)
            for epsilon in (0.0, 0.2, 1.0):
                top = float((worst.a - math.exp(epsilon) * worst.b).max())
                for t in top * np.array([-0.9, -0.3, -1e-2, 0.0, 1e-2, 0.2, 0.5, 0.9, 0.999]):
                    small = stop_loss(other, epsilon, t, end="low")
                    assert small <= stop_loss(worst, epsilon, t, end="high"), (a, b, epsilon, t)
