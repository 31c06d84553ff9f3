"""The kernel against enumeration in fractions: random laws, any contour, both payoffs."""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernel.oracle import added, ball, expected, outcomes

from shuffledp.arithmetic.balls import ctx
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel import AtLeastOne, Contour, Draws, by_counts, expect, two_atoms

# The oracle's payoff for gap 1 is rounded to floats.
SLACK = Fraction(1, 10**14)


def draws_of(law, n):
    return Draws([ball(m) for m, _ in law], [ball(x) for _, x in law], n)


def contains(ends, truth, gap, width=None):
    """lower <= truth <= upper, and no wider than `width` of the truth."""
    lower, upper = ends
    slack = SLACK * truth if gap else 0
    assert not lower > ball(truth + slack)
    assert not upper < ball(truth - slack)
    if width is not None:
        assert upper - lower <= width * ball(truth)


def random_law(rng, atoms):
    masses = [rng.randint(1, 20) for _ in range(atoms)]
    whole = sum(masses) + rng.choice((-1, 0, 0, 3))
    return [
        (Fraction(m, max(whole, 1)), Fraction(rng.randint(-12, 8), rng.choice((1, 2, 7))))
        for m in masses
    ]


def sensible(law, n, shift, gap, *, rel=1e-4):
    """A contour near the saddle, by a search in floats over a grid of tilts."""

    def log_moment(a):
        return n * math.log(math.fsum(float(m) * math.exp(a * float(x)) for m, x in law))

    tilts = [math.exp(0.05 * k) for k in range(-80, 60)]
    alpha = min(tilts, key=lambda a: log_moment(a) - a * float(shift) - math.log(a * (a + gap)))
    size = max(abs(float(x)) for _, x in law) * n + abs(float(shift)) + 1
    h = math.sqrt(rel) / alpha * 0.3
    return Contour(alpha, h, size * 2 + 60 / alpha, rel / 1e3 / alpha, alpha / 2, 2 * alpha)


@pytest.mark.many(9)
@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 7])
def test_one_law(seed, gap):
    rng = random.Random(seed)
    law, n = random_law(rng, rng.randint(1, 4)), rng.randint(1, 5)
    shift = Fraction(rng.randint(-5, 5), 3) * rng.choice((0, 1))
    truth = expected(outcomes(law, n), shift, gap)
    found = expect([draws_of(law, n)], sensible(law, n, shift, gap), gap=gap, shift=ball(shift))
    contains(found, truth, gap)
    if truth:
        assert float(found[1] - found[0]) <= 0.02 * float(truth)


@pytest.mark.many(9)
@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_several_laws(seed, gap):
    rng = random.Random(100 + seed)
    laws = [(random_law(rng, rng.randint(2, 3)), rng.randint(1, 2)) for _ in range(3)]
    law = {Fraction(0): Fraction(1)}
    for one, n in laws:
        law = added(law, outcomes(one, n))
    shift = Fraction(rng.randint(-3, 6))
    truth = expected(law, shift, gap)
    contour = sensible(laws[0][0], laws[0][1], shift, gap)
    found = expect([draws_of(*one) for one in laws], contour, gap=gap, shift=ball(shift))
    contains(found, truth, gap)
    contains(
        by_counts([draws_of(*one) for one in laws], gap=gap, shift=ball(shift)), truth, gap, 1e-9
    )


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_at_least_one_of_the_largest(seed, gap):
    rng = random.Random(200 + seed)
    usual, rare = (
        random_law(rng, 3),
        [(Fraction(1, rng.choice((10, 10**6))), Fraction(rng.randint(5, 30)))],
    )
    n = rng.randint(1, 6)
    whole, without = outcomes(usual + rare, n), outcomes(usual, n)
    law = {x: m - without.get(x, 0) for x, m in whole.items()}
    truth = expected(law, Fraction(0), gap)
    contour = sensible(usual + rare, n, Fraction(0), gap)
    found = expect([AtLeastOne(draws_of(usual, n), draws_of(rare, n))], contour, gap=gap)
    contains(found, truth, gap)
    assert float(found[1] - found[0]) <= 0.02 * float(truth)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(1e-3, 20),
    st.floats(1e-2, 5),
    st.floats(0.3, 300),
    st.floats(1e-9, 10),
    st.sampled_from((0, 1)),
)
def test_absurd_contours_are_true(seed, alpha, smoothing, period, tolerance, gap):
    rng = random.Random(seed)
    usual, n = random_law(rng, rng.randint(1, 4)), rng.randint(1, 5)
    rare = [(Fraction(1, rng.choice((3, 10**4))), Fraction(rng.randint(1, 9)))]
    shift = Fraction(rng.randint(-3, 3)) * rng.choice((0, 0, 1))
    contour = Contour(
        alpha,
        smoothing,
        period,
        tolerance,
        alpha * rng.uniform(0.05, 0.99),
        alpha * rng.uniform(1.01, 4),
    )
    whole, without = outcomes(usual + rare, n), outcomes(usual, n)
    layer = AtLeastOne(draws_of(usual, n), draws_of(rare, n))
    for draws, law in (
        (draws_of(usual, n), without),
        (layer, {x: m - without.get(x, 0) for x, m in whole.items()}),
    ):
        found = expect([draws], contour, gap=gap, shift=ball(shift))
        contains(found, expected(law, shift, gap), gap)


@pytest.mark.many(8)
@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_two_atoms(seed, gap):
    rng = random.Random(400 + seed)
    n, p = rng.randint(1, 60), Fraction(rng.randint(1, 30), 40)
    law = [(p, Fraction(rng.randint(1, 9), 2)), (1 - p, Fraction(-rng.randint(0, 9), 7))]
    shift = Fraction(rng.randint(-4, 40), 3)
    truth = expected(outcomes(law, n), shift, gap)
    with ctx.workprec(128):
        contains(two_atoms(draws_of(law, n), gap=gap, shift=ball(shift)), truth, gap, 1e-12)


def test_two_atoms_agrees_with_the_contour():
    n, law = 20000, [(Fraction(1, 50), Fraction(49, 10)), (Fraction(49, 50), Fraction(-11, 100))]
    with ctx.workprec(110):
        one = two_atoms(draws_of(law, n))
        two = expect([draws_of(law, n)], Contour(0.02, 0.02, 4000.0, 1e-6, 0.01, 0.03))
    assert one[0] >= two[0]
    assert one[1] <= two[1]
    assert two[1] - two[0] <= 1e-3 * one[0]


def test_what_is_refused():
    law = draws_of([(Fraction(1, 2), Fraction(1)), (Fraction(1, 2), Fraction(-1))], 3)
    with pytest.raises(ParameterError, match="gap = 2"):
        expect([law], Contour(1.0, 1.0, 1.0, 1.0, 0.5, 2.0), gap=2)
    with pytest.raises(ParameterError, match="below < alpha < above"):
        Contour(1.0, 1.0, 1.0, 1.0, 1.5, 2.0)
    with pytest.raises(ParameterError, match="same count"):
        AtLeastOne(law, draws_of([(Fraction(1), Fraction(1))], 2))
    with pytest.raises(ParameterError, match="two atoms"):
        two_atoms(draws_of([(Fraction(1), Fraction(1))], 2))
    with pytest.raises(NotCertified):
        expect([law], Contour(1.0, 1e-9, 10.0, 1e-9, 0.5, 2.0))
