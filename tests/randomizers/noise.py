"""Checks of additive noise on an interval, against an oracle written in balls.

An oracle has ``mass(t1, t2)`` (distances on one side), ``log_density(t)``, both balls in units of
the interval, and ``beyond(t)``, the mass of one side past a distance.
"""

import math

import numpy as np
from flint import arb

from enumerated import ball
from shuffledp.randomizers.additive import noise_cells
from stated_pairs import blanket_pair, dataset_pair

TINY = arb(10) ** -290


def some(count, size):
    ends = {0, 1, 2, size - 3, size - 2, size - 1}
    return sorted(ends | set(np.linspace(0, size - 1, count, dtype=int).tolist()))


def farther(left, right):
    return 1.0 if left + right < 1.0 else 0.0


def cell_mass(oracle, x, left, right):
    near, far = abs(ball(left) - ball(x)), abs(ball(right) - ball(x))
    near, far = (near, far) if near <= far else (far, near)
    assert (ball(left) - x) * (ball(right) - x) >= 0, "a cell that holds an input"
    return oracle.mass(near, far)


def check_masses(randomizer, oracle, places, *, cells, count=60):
    """Masses, blanket and tails of inputs at these places of [0, 1], relative to the law's rel."""
    low, high = randomizer.low, randomizer.high
    law = randomizer.law(tuple(low + (high - low) * x for x in places), cells=cells)
    edges = noise_cells(randomizer.noise, np.array(places), cells).edges
    assert np.all(np.diff(edges) > 0.0)
    assert law.blanket.size == edges.size - 1
    near = [int(np.searchsorted(edges, x)) + i for x in (*places, 0.5) for i in (-2, -1, 0, 1)]
    for j in sorted({*some(count, law.blanket.size), *near}):
        left, right = float(edges[j]), float(edges[j + 1])
        rows = [(law.mass[i, j], x) for i, x in enumerate(places)]
        for value, x in [*rows, (law.blanket[j], farther(left, right))]:
            exact = cell_mass(oracle, x, left, right)
            if exact > TINY:
                assert abs(ball(float(value)) - exact) <= ball(law.rel) * exact, (j, x)
            else:
                assert ball(float(value)) <= 2 * TINY
    for i, x in enumerate(places):
        missed = oracle.beyond(ball(x) - float(edges[0])) + oracle.beyond(
            ball(float(edges[-1])) - x
        )
        missed += sum(ball(1e-300) for _ in range(int((law.mass[i] == 0.0).sum())))
        assert ball(float(law.tail[i])) >= missed
        assert abs(math.fsum(law.mass[i]) - 1.0) <= law.rel + law.tail[i] + 1e-13


def in_order(chosen, everything):
    """Where each of the chosen is: they are in order, and some of everything is left out."""
    found, j = [], 0
    for value in chosen:
        while everything[j] != value:
            j += 1
        found.append(j)
        j += 1
    return found


def check_ranges(randomizer, oracle, x2, *, cells, count=40, points=7):
    """Every ratio at points inside a cell lies in the range the pair states, and G has its mean."""
    low, high = randomizer.low, randomizer.high
    if x2 is None:
        places = np.array([0.0, 1.0])
        pair = blanket_pair(randomizer, low, high, n=10, cells=cells)
    else:
        places = np.array([0.0, 1.0, x2])
        pair = dataset_pair(randomizer, low, high, low + x2 * (high - low), n=10, cells=cells)
    found = noise_cells(randomizer.noise, places, cells)
    reference = found.blanket if x2 is None else found.mass[2]
    kept = in_order(pair.w, reference)
    ranges = pair.ranges
    for i in some(count, pair.w.size):
        j = kept[i]
        left, right = ball(float(found.edges[j])), ball(float(found.edges[j + 1]))
        ref = x2 if x2 is not None else farther(float(left), float(right))
        for part in range(points):
            y = left + (right - left) * part / (points - 1)
            base = oracle.log_density(abs(y - ref))
            a = (oracle.log_density(abs(y)) - base).exp()
            b = (oracle.log_density(abs(y - 1)) - base).exp()
            assert ball(float(ranges.a_low[i])) <= a or a < TINY
            assert a <= ball(float(ranges.a_high[i])) or a < TINY
            assert ball(float(ranges.b_low[i])) <= b or b < TINY
            assert b <= ball(float(ranges.b_high[i])) or b < TINY
        assert ranges.a_low[i] <= pair.a[i] <= ranges.a_high[i]
        assert ranges.b_low[i] <= pair.b[i] <= ranges.b_high[i]
    p = math.fsum(pair.w * pair.a) + float(pair.outside[:, 0].sum())
    q = math.fsum(pair.w * pair.b) + float(pair.outside[:, 1].sum())
    slack = 4.0 * pair.rel + 1e-13
    assert 1.0 - pair.tail[0] - slack <= p <= 1.0 + slack
    assert 1.0 - pair.tail[1] - slack <= q <= 1.0 + slack
    left, err = pair.leftover_mass()
    assert abs(math.fsum(pair.w) + left - 1.0) <= slack + err + max(pair.tail)


def stop_loss(pair, epsilon, t, *, end):
    """E(G - t)_+ from below (every cell at its mean) or from above (spread to its ends)."""
    grow = math.exp(epsilon)
    g = pair.a - grow * pair.b
    left = pair.leftover_mass()[0]
    at_zero = left * max(-t, 0.0)
    if end == "low":
        return float((pair.w * np.maximum(g - t, 0.0)).sum() + at_zero) * (1.0 - 1e-9) - 1e-12
    low = pair.ranges.a_low - grow * pair.ranges.b_high
    high = pair.ranges.a_high - grow * pair.ranges.b_low
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
