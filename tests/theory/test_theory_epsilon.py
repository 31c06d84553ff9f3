"""Section 7 of docs/theory.md: from delta to eps."""

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest

F = Fraction


def random_law(rng, k):
    parts = [rng.randint(0, 9) for _ in range(k - 1)] + [1]
    return [F(v, sum(parts)) for v in parts]


def profile(A0, A1, ref, a, n):
    """Right-hand side of Theorem 2.1 as a function of a."""
    law = {F(0): F(1)}
    for _ in range(n):
        new = Counter()
        for s, p in law.items():
            for x, y, w in zip(A0, A1, ref, strict=True):
                if w:
                    new[s + (x - a * y) / w] += p * w
        law = new
    outside = sum(
        (max(x - a * y, F(0)) for x, y, w in zip(A0, A1, ref, strict=True) if not w), F(0)
    )
    return sum((p * s for s, p in law.items() if s > 0), F(0)) / n + outside


@pytest.mark.parametrize("seed", range(12))
def test_monotone_and_convex_in_exp_eps(seed):
    """Lemma 7.1: falls, is convex, so chords are upper bounds; also of a maximum."""
    rng = random.Random(seed)
    A0, A1, ref = (random_law(rng, 4) for _ in range(3))
    for n in (1, 2, 3):
        grid = [F(i, 4) for i in range(1, 17)]
        one = [profile(A0, A1, ref, a, n) for a in grid]
        two = [profile(A1, A0, ref, a, n) for a in grid]
        for values in (one, two, [max(v) for v in zip(one, two, strict=True)]):
            assert values == sorted(values, reverse=True)
            steps = [y - x for x, y in pairwise(values)]
            assert steps == sorted(steps)
            lam = F(3, 7)
            between = profile(A0, A1, ref, lam * grid[2] + (1 - lam) * grid[9], n)
            assert between <= lam * one[2] + (1 - lam) * one[9]


@pytest.mark.parametrize("seed", range(8))
def test_lines_through_two_points_lie_below_beyond_them(seed):
    """Lemma 7.6, with ends that lean to either side; and it is an equality for a straight line."""
    rng = random.Random(100 + seed)
    A0, A1, ref = (random_law(rng, 4) for _ in range(3))
    grid = [F(i, 8) for i in range(8, 40)]
    exact = [profile(A0, A1, ref, a, 2) for a in grid]
    lean = [F(rng.randint(0, 30), 100) for _ in grid]
    upper = [v * (1 + r) for v, r in zip(exact, lean, strict=True)]
    lower = [v * (1 - r) for v, r in zip(exact, lean, strict=True)]
    for _ in range(60):
        i, j = sorted(rng.sample(range(len(grid)), 2))
        for k, a in enumerate(grid):
            if k <= i:
                line = lower[i] + (lower[i] - upper[j]) * (grid[i] - a) / (grid[j] - grid[i])
                assert exact[k] >= line
            if k >= j:
                line = lower[j] - (upper[i] - lower[j]) * (a - grid[j]) / (grid[j] - grid[i])
                assert exact[k] >= line
    straight = [1 - a / 100 for a in grid]
    i, j = 3, 9
    slope = (straight[i] - straight[j]) / (grid[j] - grid[i])
    assert straight[0] == straight[i] + slope * (grid[i] - grid[0])
    assert straight[20] == straight[j] - slope * (grid[20] - grid[j])
