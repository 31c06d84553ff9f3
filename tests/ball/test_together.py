"""All types of a label-stealing bound at once, on one grid of gains."""

import math
import random

import pytest

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.along import StealingAlong
from shuffledp.ball.laws import finite_law
from shuffledp.ball.spans import COARSE, cells_at, cells_of, end_points, noise_on, spans_of
from shuffledp.ball.stealing import Measures, log_bound
from shuffledp.ball.together import _grid, _moved, log_bound_together
from shuffledp.errors import NotCertified, ParameterError
from stealing.exact import grown, worst

NOISE = {"name": "laplace", "eps0": 1.0, "low": 0.0, "high": 1.0, "binary": False}


def random_atoms(rng, count):
    return [
        (arb(rng.random()) / count, arb(rng.choice((-1.0, 3.0)) * math.exp(rng.gauss(0.0, 2.0))))
        for _ in range(count)
    ]


def over(atoms, place):
    return sum((mass * (gain - place).max(arb(0)) for mass, gain in atoms), arb(0))


@pytest.mark.many(1)
def test_on_the_grid_every_convex_function_has_a_larger_mean():
    rng = random.Random(7)
    with ctx.workprec(128):
        for _ in range(20):
            laws = [random_atoms(rng, rng.randint(1, 30)) for _ in range(3)]
            grid = _grid(laws)
            assert 0.0 in grid
            assert grid == sorted(set(grid))
            for atoms in laws:
                moved = list(zip(_moved(atoms, grid), map(arb, grid), strict=True))
                assert all(mass.upper() >= 0 for mass, _ in moved)
                whole = sum((m for m, _ in atoms), arb(0))
                assert whole.overlaps(sum((m for m, _ in moved), arb(0)))
                # So far below all gains this is the mean: kept, but for gains rounded up.
                low = arb(grid[0] - 1.0)
                gap = over(moved, low) - over(atoms, low)
                assert -1e-30 < gap < 1e-12 * (1.0 + abs(grid[0]) + grid[-1])
                for _ in range(10):
                    place = arb(rng.choice(atoms)[1] + rng.gauss(0.0, 0.1))
                    assert not over(moved, place) < over(atoms, place)


def measures_of_law(law, grow, split):
    """Rows x0, x1 and the types; of each output a share of the blanket, and s."""
    reservoir, unhidden = [], arb(0)
    labelled = [[] for _ in law[0].probability[2:]]
    for one, (share, join) in zip(law, split, strict=False):
        p0, p1, *rows = one.probability
        beta, g = share * one.blanket, p0 - grow * p1
        reservoir.append((beta, join * g / beta))
        unhidden += (1 - join) * g.max(arb(0))
        for found, row in zip(labelled, rows, strict=True):
            found.append((row - beta, (1 - join) * g / (row - beta)))
    return Measures(reservoir, labelled, unhidden, arb(0), [arb(0)] * len(labelled))


@pytest.mark.many(1)
def test_all_datasets_of_random_channels():
    rng = random.Random(11)
    tight = 0
    for _ in range(25):
        inputs, outputs, total = rng.randint(2, 3), rng.randint(2, 3), 24
        rows = []
        while len(rows) < inputs:
            row = [rng.randint(1, total) for _ in range(outputs - 1)]
            if sum(row) < total:
                rows.append([*row, total - sum(row)])
        n, epsilon = rng.randint(2, 4), rng.uniform(0.0, 0.8)
        mechanism = {"name": "channel", "matrix": [[p / total for p in row] for row in rows]}
        split = [(rng.uniform(0.1, 0.9), rng.random()) for _ in range(outputs)]
        contour = {"alpha": rng.uniform(0.5, 3.0), "smoothing": 0.1}
        with ctx.workprec(128):
            law = finite_law(mechanism, (0, 1, *range(inputs)))
            measures = measures_of_law(law, arb(epsilon).exp(), split)
            found = log_bound_together(measures, contour, n, enough=-math.inf)
            other = log_bound([measures], [contour], n)
        truth = worst(rows, total, 0, 1, n, grown(epsilon))
        # Rows of floats sum to one within rounding.
        assert float(truth) * (1.0 - 1e-12) <= math.exp(found)
        # Steps differ a little, and with so few users their aliases show.
        tight += abs(found - other) < 0.05
    assert tight > 20


def test_eps_of_one_cover_is_that_of_a_cover_for_each():
    with ctx.workprec(128):
        noise, triple = noise_on(NOISE, -20.0), end_points(COARSE)
        for epsilon in (0.0, 0.4):
            grow = arb(epsilon).exp()
            at, of = cells_at(spans_of(noise, triple), grow), cells_of(noise, triple, grow)
            for one, two in zip(at.atoms, of.atoms, strict=True):
                assert one[0].overlaps(two[0])
                assert one[1].overlaps(two[1])


def test_bad_numbers_are_refused():
    along = StealingAlong(NOISE, scale=0.1, log_least=-10.0)
    free = {"alpha": 1.0, "smoothing": 0.1, "kappa": 0.1, "theta": 0.1}
    for numbers, n, epsilon in (
        ([], 50, 0.3),
        ([free], 1, 0.3),
        ([free], 50, math.nan),
        ([free | {"kappa": 0.0}], 50, 0.3),
        ([free | {"alpha": 0.0}], 50, 0.3),
    ):
        with pytest.raises((ParameterError, NotCertified)):
            along.log_delta(numbers, n=n, epsilon=epsilon, log_claimed=-5.0)
