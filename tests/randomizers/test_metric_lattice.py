"""Neighbours at a distance, rounded to a lattice: they stay within what is certified."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import shuffledp as sd
from enumerated import ball
from shuffledp.mechanism.base import mechanism_class
from shuffledp.neighbours import REPLACEMENT
from shuffledp.randomizers.base import randomizer_names

SCALES = [0.01, 1.0, 1000.0]
DISTANCES = [1e-18, 1e-15, 2.0**-49, 1e-12, 1e-9, 1e-5, 0.1]


def steps_of(randomizer):
    return 1 << randomizer.bits


def local_loss(randomizer, x0, x1):
    """log of the largest ratio of two reports' probabilities, x0 < x1 in [0, 1], of what is run.

    Beyond both inputs: a mixture of e^(t k) and e^(t (k + 1)), t the step in scales, over another.
    """
    steps = steps_of(randomizer)
    t = ball(randomizer.high - randomizer.low) / ball(randomizer.scale) / steps
    sides = []
    for x in (x0, x1):
        place = Fraction(x) * steps
        k = math.floor(place)
        sides.append(k * t + (1 + ball(place - k) * t.expm1()).log())
    return sides[1] - sides[0]


@pytest.mark.many(8)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("distance", DISTANCES)
def test_one_report_as_it_is_run(scale, distance):
    """Exactly, of inputs on one side of a point of the lattice, on both, and next to it."""
    randomizer = sd.MetricLaplace(scale=scale, distance=distance)
    claimed = ball(randomizer.local_epsilon(1e-6))
    step = Fraction(1, steps_of(randomizer))
    d = Fraction(distance)
    with ctx.workprec(400):
        for start in (0, step * 7, step * 7 - d / 2, step * 7 - d, step * Fraction(15, 2) - d / 3):
            x0 = max(Fraction(0), start)
            if x0 + d <= 1:
                assert local_loss(randomizer, x0, x0 + d) <= claimed
    room = ball(step) + arb(2.0**-49)  # a step, and the rounding of places
    assert claimed <= arb(1.0 + 1e-12) * (ball(distance) + room) / ball(scale)


class OneCoin:
    """The same uniform number for everybody: the coupling of the proof."""

    def __init__(self, level):
        self.level = level

    def words(self, size):
        return np.full(size, int(self.level * 2.0**64), dtype=np.uint64)


@pytest.mark.many(1)
@pytest.mark.parametrize(("scale", "distance"), [(0.01, 1e-18), (1.0, 2.0**-49), (1000.0, 0.1)])
def test_neighbours_stay_within_the_separation(scale, distance):
    """Of floats as the sampler takes them, with one coin for both."""
    from shuffledp.randomizers.noise import to_lattice

    low, high = -3.3, 7.1
    randomizer = sd.MetricLaplace(
        scale=scale * (high - low), low=low, high=high, distance=distance * (high - low)
    )
    generator = np.random.default_rng(1)
    first = generator.uniform(low, high, 3000)
    second = np.clip(
        first + randomizer.reach * generator.choice([0.3, 0.999, 1.0], 3000), low, high
    )
    exact = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)]
    near = np.array([d <= Fraction(randomizer.reach) for d in exact])
    steps = steps_of(randomizer)
    places = [np.clip((v - low) / (high - low), 0.0, 1.0) for v in (first, second)]
    for level in generator.random(20):
        cells = [to_lattice(p, steps, OneCoin(level)) for p in places]
        apart = np.abs(cells[0] - cells[1])[near]
        assert all(Fraction(int(k), steps) <= Fraction(randomizer.separation) for k in apart)


def test_all_other_mechanisms_are_for_any_two_inputs():
    """Points of a lattice are neighbours wherever they are; a new relation needs a test here."""
    known = {"metric-laplace", "laplace-ball", "joint", "parallel", "poisson-subsample"}
    for name in set(randomizer_names()) - known:
        assert "relation" not in vars(mechanism_class(name)), name
    assert sd.Density(pdf=lambda y, x: 1.0, outputs=(0.0, 1.0)).relation == REPLACEMENT
