"""Section 4, two levels: no pair of inputs beats the law with the least overlap. In rationals."""

import itertools
import random
from fractions import Fraction

import pytest

from enumerated import positive_part


def random_channel(rng, inputs, outputs):
    rows = [[Fraction(rng.randint(1, 30)) for _ in range(outputs)] for _ in range(inputs)]
    return [[p / sum(row) for p in row] for row in rows]


def extremal(gamma, grow):
    """Masses of (E, 1), (1, E), (E, E) and (1, 1) under the blanket, from its mass and E alone."""
    share = (1 - gamma) / (grow - 1)
    alone, both = min(share, gamma - share), max(Fraction(0), 2 * share - gamma)
    return [
        (alone, grow, Fraction(1)),
        (alone, Fraction(1), grow),
        (both, grow, grow),
        (gamma - 2 * alone - both, Fraction(1), Fraction(1)),
    ]


def bound(atoms, alpha, n):
    merged = {}
    for mass, a, b in atoms:
        gain = a - alpha * b
        merged[gain] = merged.get(gain, 0) + mass
    return positive_part([(w, g) for g, w in merged.items()], n)


@pytest.mark.parametrize("seed", range(60))
def test_extremal_law_dominates_every_pair(seed):
    rng = random.Random(seed)
    rows = random_channel(rng, rng.randint(2, 4), rng.randint(2, 4))
    floors = [min(column) for column in zip(*rows, strict=True)]
    scale = Fraction(1)
    if seed % 3 == 0:  # any smaller measure with S <= R <= E S will do
        scale = Fraction(rng.randint(5, 9), 10)
    base = [scale * b for b in floors]
    grow = max(p / b for row in rows for p, b in zip(row, base, strict=True))
    grow *= 1 + Fraction(rng.randint(0, 5), 10)
    gamma = sum(base)
    law = extremal(gamma, grow)
    assert all(mass >= 0 for mass, _, _ in law)
    assert sum(mass for mass, _, _ in law) == gamma
    assert sum(mass * a for mass, a, _ in law) == 1 == sum(mass * b for mass, _, b in law)
    for x0, x1 in itertools.permutations(range(len(rows)), 2):
        atoms = [(b, rows[x0][y] / b, rows[x1][y] / b) for y, b in enumerate(base)]
        for n in (1, 2):
            for alpha in (Fraction(1), 1 + (grow - 1) * Fraction(rng.randint(1, 9), 10)):
                assert bound(atoms, alpha, n) <= bound(law, alpha, n)
