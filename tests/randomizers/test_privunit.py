"""PrivUnit: caps of the sphere, cut up exactly on the circle and by balls above it."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import acb, arb

import shuffledp as sd
from enumerated import ball
from laws import law_of
from randomizers.checks import (
    assert_law,
    rational_exponential,
)
from shuffledp.ball.caps import orthogonal_overlap
from shuffledp.randomizers.privunit import height


def exact_overlap(c, d):
    """P(U_1 >= t, U_2 >= t) in balls, in other coordinates than the library's."""
    a = arb(d - 1) / 2
    low, high = arb(0), arb(1)
    for _ in range(200):
        middle = ((low + high) / 2).mid()
        mass = (1 - middle) / 2
        if mass.beta_lower(a, a, regularized=True) > ball(c):
            low = middle
        else:
            high = middle
    t = ((low + high) / 2).mid()
    if t * t * 2 >= 1:
        return arb(0)
    exponent = arb(d - 2) / 2
    # The mass at (u, v), u >= v >= t: over the radius first, then s = v/u in [t/sqrt(1 - t^2), 1].
    first = t / (1 - t * t).sqrt()
    total = arb(0)
    # Panels shrink towards the end where an odd dimension has a root.
    ends = [first + (1 - first) * arb(2) ** -k for k in range(100)]
    for right, left in itertools.pairwise(ends):
        total += acb.integral(
            lambda s, analytic: (
                (1 - t * t * (1 + 1 / s**2)).pow(exponent, analytic) / (1 + s**2)
                if d % 2
                else (1 - t * t * (1 + 1 / s**2)) ** ((d - 2) // 2) / (1 + s**2)
            ),
            acb(left),
            acb(right),
        ).real
    rest = (ends[-1] - first) * (1 - t * t * (1 + 1 / ends[-1] ** 2)) ** exponent
    return (total + arb(rest.mid(), rest.mid())) / arb.pi()


@pytest.mark.many(3)
@pytest.mark.parametrize("d", [3, 5, 30])
@pytest.mark.parametrize("c", [0.499, 0.15, 0.05, 1e-8])
def test_overlap_of_orthogonal_caps(d, c):
    found, exact = orthogonal_overlap(Fraction(c), d, about=height(c, d)), exact_overlap(c, d)
    assert abs(found - exact) <= arb(2) ** -90 + 1e-10 * exact


@pytest.mark.many(4)
@pytest.mark.parametrize("d", [3, 10, 500])
@pytest.mark.parametrize("c", [0.02, 0.3, 0.5, 0.7])
def test_law_above_the_circle(d, c):
    """Regions counted by inclusion and exclusion from the overlap of two caps."""
    grow = rational_exponential(2.0)
    small = min(Fraction(c), 1 - Fraction(c))
    shared = Fraction(float(orthogonal_overlap(small, d, about=height(float(small), d))))
    pieces = {frozenset(): 1 - 4 * small + 4 * shared}
    for j in range(4):
        pieces[frozenset((j,))] = small - 2 * shared
        pieces[frozenset((j, (j + 1) % 4))] = shared
    total = grow * Fraction(c) + 1 - Fraction(c)
    rows = []
    for x in range(4):
        inside = [(x in k) if c <= 0.5 else ((x + 2) % 4 not in k) for k in pieces]
        rows.append(
            [m * (grow if i else 1) / total for m, i in zip(pieces.values(), inside, strict=True)]
        )
    assert all(sum(row) == 1 for row in rows)
    truth = list(zip([m / total for m in pieces.values()], zip(*rows, strict=True), strict=True))
    randomizer = sd.PrivUnit(d=d, c=c, eps0=2.0)
    for inputs in [(0, 2), (0, 2, 1), (1, 0), (0, 1, 2, 3)]:
        law = law_of(randomizer, inputs)
        law = replace(law, rel=max(law.rel, 1e-9))
        assert_law(law, [(b, [m[x] for x in inputs]) for b, m in truth if b])
