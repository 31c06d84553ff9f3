"""Wheel on circles of a few points: all places of all arcs, all sets of items."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from laws import law_of
from randomizers.checks import (
    assert_law,
    assert_private,
    rational_exponential,
)
from shuffledp.randomizers import sets

# Points of the circle, points of an arc, items of a user, items in all.
SMALL = [(5, 1, 1, 3), (7, 2, 1, 2), (7, 3, 1, 3), (7, 1, 2, 4), (7, 2, 2, 4), (5, 1, 2, 4)]


@pytest.fixture
def circle(monkeypatch):
    def of(points):
        monkeypatch.setattr(sets, "CIRCLE", points)

    return of


def density(places, point, points, arc, grow):
    """Of the point under a set at these places, against the uniform law: the published rule."""
    s = len(places)
    covered = {(v + i) % points for v in places for i in range(arc)}
    length = Fraction(len(covered), points)
    whole = Fraction(s * arc, points)
    total = whole * grow + 1 - whole
    if point in covered:
        return grow / total
    return (total - length * grow) / ((1 - length) * total)


def full(points, arc, s, items, grow):
    """{densities under all s-subsets: probability}; turned so that the point is 0."""
    sets = list(itertools.combinations(range(items), s))
    cache = {}
    found = {}
    for places in itertools.product(range(points), repeat=items):
        column = []
        for c in sets:
            own = tuple(sorted(places[i] for i in c))
            if own not in cache:
                cache[own] = density(own, 0, points, arc, grow)
            column.append(cache[own])
        key = (tuple(column), tuple(c_covers(places, c, points, arc) for c in sets))
        found[key] = found.get(key, 0) + 1
    unit = Fraction(1, points**items)
    return sets, {key: n * unit for key, n in found.items()}


def c_covers(places, c, points, arc):
    return any(-places[i] % points < arc for i in c)


def make(points, arc, s, items, eps0):
    return sd.Wheel(domain=max(items, 2 * s), s=s, eps0=eps0, p=arc / points)


@pytest.mark.parametrize(("points", "arc", "s", "items"), SMALL)
@pytest.mark.parametrize("eps0", [2.0])
def test_coverage_of_disjoint_sets(circle, points, arc, s, items, eps0):
    """Masses of what a report says of each set, from all places of all arcs."""
    circle(points)
    randomizer = make(points, arc, s, items, eps0)
    sets, law = full(points, arc, s, items, rational_exponential(eps0))
    inputs = [sets.index(tuple(range(j * s, j * s + s))) for j in range(items // s)]
    truth = {}
    for (values, covers), weight in law.items():
        key = tuple(covers[i] for i in inputs)
        old = truth.get(key, [Fraction(0)] * len(inputs))
        truth[key] = [a + weight * values[i] for a, i in zip(old, inputs, strict=True)]
    found = law_of(randomizer, tuple(range(len(inputs))))
    assert found.mass.shape == (len(inputs), len(truth))
    assert np.allclose(
        sorted(map(tuple, found.mass.T)),
        sorted(tuple(map(float, v)) for v in truth.values()),
        rtol=1e-13,
        atol=0.0,
    )
    assert_private([list(k) for k in zip(*(key[0] for key in law), strict=True)], eps0)


@pytest.mark.parametrize(("points", "arc", "s", "items"), [c for c in SMALL if c[2] == 1])
def test_one_item_is_exact(circle, points, arc, s, items):
    """For s = 1 envelope and law are one; the blanket leaves out that all items may be hit."""
    circle(points)
    randomizer = make(points, arc, s, items, 1.5)
    grow = rational_exponential(1.5)
    sets, law = full(points, arc, s, items, grow)
    total = Fraction(arc, points) * (grow - 1) + 1
    truth = [(w / total, [w * v[0], w * v[1]]) for (v, _), w in law.items()]
    assert_law(law_of(randomizer, (-1, -2)), truth)
    assert_law(law_of(randomizer, (0, 1)), truth)
    assert len(sets) == items


def blanket_bound(law, x0, x1, n, alpha):
    gains = {}
    for (values, _), weight in law.items():
        floor = float(min(values))
        g = (float(values[x0]) - alpha * float(values[x1])) / floor
        gains[round(g, 9)] = gains.get(round(g, 9), 0.0) + float(weight) * floor
    return positive(gains, n)


def positive(gains, n):
    gains = dict(gains)
    gains[0.0] = gains.get(0.0, 0.0) + 1.0 - sum(gains.values())
    sums = {0.0: 1.0}
    for _ in range(n):
        grown = {}
        for total, p in sums.items():
            for g, w in gains.items():
                key = round(total + g, 8)
                grown[key] = grown.get(key, 0.0) + p * w
        sums = grown
    return sum(max(total, 0.0) * p for total, p in sums.items()) / n


@pytest.mark.parametrize(("points", "arc", "s", "items"), [SMALL[2], SMALL[4], SMALL[5]])
@pytest.mark.parametrize("eps0", [2.5])
def test_envelope_dominates_every_pair(circle, points, arc, s, items, eps0):
    """The exact blanket bound of every two sets, those that share items too."""
    circle(points)
    randomizer = make(points, arc, s, items, eps0)
    sets, law = full(points, arc, s, items, rational_exponential(eps0))
    ((x0, x1),) = randomizer.worst_pairs().pairs
    for epsilon, n in ((0.0, 1), (0.3 * eps0, 2), (0.1 * eps0, 3)):
        alpha = math.exp(epsilon)
        envelope = law_of(randomizer, (x0, x1))
        gains = {}
        for (p, q), b in zip(envelope.mass.T, envelope.blanket, strict=True):
            gains[(p - alpha * q) / b] = gains.get((p - alpha * q) / b, 0.0) + b
        bound = positive(gains, n)
        pairs = list(itertools.permutations(range(len(sets)), 2))
        exact = [blanket_bound(law, *pair, n, alpha) for pair in pairs]
        assert max(exact) <= bound + 1e-7
        assert max(exact) >= 0.4 * bound
