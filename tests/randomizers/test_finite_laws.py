"""Laws of the finite mechanisms against full output distributions written from the definition."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball
from laws import Law, law_of
from randomizers.checks import assert_law


@pytest.mark.parametrize("seed", range(12))
def test_channel_law(seed):
    """Rows divided by their exact sums, the blanket the minimum over ALL rows."""
    rng = np.random.default_rng(seed)
    rows = rng.random((rng.integers(2, 6), rng.integers(2, 7))) * (rng.random() < 2)
    rows[rng.random(rows.shape) < 0.2] = 0.0
    rows[:, 0] += 0.1
    rows /= rows.sum(axis=1, keepdims=True)
    rows *= 1.0 + 1e-10 * rng.uniform(-1, 1, (len(rows), 1))
    channel = sd.Channel(matrix=rows.tolist())
    exact = [[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in rows.tolist()]
    law = law_of(channel, (0, 1))
    used = [(min(c), c[:2]) for c in zip(*exact, strict=True) if max(c[0], c[1])]
    kept = [one for one in used if one[0]]
    assert_law(Law(*(x[..., law.blanket > 0.0] for x in (law.mass, law.blanket)), law.rel), kept)
    for row in (0, 1):
        lost = sum(c[row] for floor, c in used if not floor)
        found = math.fsum(law.mass[row][law.blanket == 0.0])
        assert abs(Fraction(found) - lost) <= Fraction(law.rel) * lost
    positive = [c for c in zip(*exact, strict=True) if max(c)]
    if all(min(c) for c in positive):
        ratio = max(max(c) / min(c) for c in positive)
        assert arb(channel.eps0).exp() >= ball(ratio)
        assert channel.eps0 <= math.log(ratio) + 1e-13
    else:
        assert channel.eps0 == math.inf
    declared = set(channel.worst_pairs().pairs)
    for x0, x1 in itertools.permutations(range(len(exact)), 2):
        assert (x0, x1) in declared or exact[x0] == exact[x1]
