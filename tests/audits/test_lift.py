"""Limits pushed through the shuffle: below every law they allow, for all data sets at small n."""

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.audits import lift


@st.composite
def laws(draw):
    """Two laws on three to five cells, and points that nested events' limits may be."""
    cells = draw(st.integers(2, 5))
    rows = [draw(st.lists(st.integers(1, 60), min_size=cells, max_size=cells)) for _ in range(2)]
    p, q = (np.array(row) / sum(row) for row in rows)
    order = np.argsort(q / p)
    tops, bottoms = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
    shrink = draw(st.lists(st.floats(0.0, 0.4), min_size=2 * cells, max_size=2 * cells))
    points = [
        (min(1.0, u + (1.0 - u) * shrink[2 * j]), t * (1.0 - shrink[2 * j + 1]))
        for j, (u, t) in enumerate(zip(bottoms, tops, strict=True))
    ]
    return p, q, points


def hockey_stick(p, q, epsilon):
    return np.maximum(p - math.exp(epsilon) * q, 0.0).sum()


@given(laws())
def test_the_weakest_channel_is_below_every_law_in_both_directions(case):
    p, q, points = case
    channel = lift.weakest_channel(points)
    if channel is None:
        return
    first, second = channel.probabilities
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
        assert hockey_stick(first, second, epsilon) <= hockey_stick(p, q, epsilon)
        assert hockey_stick(second, first, epsilon) <= hockey_stick(q, p, epsilon)


def exact_delta(rows, others, n, epsilon):
    """Of (x0, others) against (x1, others), by enumeration of the counts of all outputs."""
    cells = len(rows[0])
    masses = {}
    for outputs in itertools.product(range(cells), repeat=n):
        counts = tuple(np.bincount(outputs, minlength=cells))
        for k, row in enumerate(rows):
            chance = row[outputs[0]] * math.prod(others[y] for y in outputs[1:])
            masses.setdefault(counts, [0.0, 0.0])[k] += chance
    grow = math.exp(epsilon)
    return sum(max(a - grow * b, 0.0) for a, b in masses.values())


@given(laws(), st.sampled_from([2, 3]), st.sampled_from([1e-1, 1e-2, 1e-3]))
def test_the_lower_end_is_below_the_exact_eps_of_the_shuffle(case, n, delta):
    """Every law that keeps the points: some pair of data sets of it is worse than the end says."""
    p, q, points = case
    channel = lift.weakest_channel(points)
    if channel is None:
        return
    lower = sd.shuffle(channel, n=n, rtol=1e-3).epsilon(delta=delta, analysis="dataset").lower
    if lower <= 0.0:
        return
    worst = max(
        exact_delta(rows, others, n, lower) for rows in ((p, q), (q, p)) for others in (p, q)
    )
    assert worst >= delta
