"""Transforms on a line, and their bounds, against those of the true measures."""

import random
from fractions import Fraction

import pytest
from tests.kernel.oracle import ball

from shuffledp.arithmetic.balls import acb, arb
from shuffledp.kernel import AtLeastOne, Draws


def transform(law, s):
    return sum((ball(m) * (s * ball(x)).exp() for m, x in law), acb(0))


def cases():
    for seed in range(10):
        rng = random.Random(seed)
        law = [
            (Fraction(rng.randint(1, 9), 30), Fraction(rng.randint(-9, 9), rng.choice((1, 4))))
            for _ in range(rng.randint(1, 5))
        ]
        rare = [(Fraction(1, rng.choice((20, 1000))), Fraction(rng.randint(5, 9)))]
        yield pytest.param(law, rare, rng.randint(1, 9), id=str(seed))


def sides(law, rare, n):
    """Both kinds of summands with their true transforms."""

    def draws(one):
        return Draws([ball(m) for m, _ in one], [ball(x) for _, x in one], n)

    usual = draws(law)
    yield usual, lambda s: transform(law, s) ** n
    yield (
        AtLeastOne(usual, draws(rare)),
        lambda s: (transform(law, s) + transform(rare, s)) ** n - transform(law, s) ** n,
    )


@pytest.mark.many(8)
@pytest.mark.parametrize(("law", "rare", "n"), list(cases()))
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_values_and_bounds_hold(law, rare, n, alpha):
    for summand, value in sides(law, rare, n):
        tilted = summand.tilted(arb(alpha))
        scale = tilted.log_scale.exp()
        most = abs(value(acb(alpha)))
        assert not tilted.cap * scale < most
        assert not summand.log_moment(arb(alpha)).exp() < most
        # Nothing is given away.
        assert tilted.cap * scale < 1.0001 * most
        step = arb(0.07)
        found = tilted.values(step, [0, 20], 3)
        for t, inside in zip((0, 1, 2, 20, 21, 22), found, strict=True):
            true_value = value(acb(alpha, step * t))
            turned = inside * scale * acb(0, step * t * tilted.drift).exp()
            assert (turned - true_value).contains(0)
            assert abs(turned - true_value).rad() < 1e-6 * most
        around = tilted.bounds_around(arb(0.02), [3, 40], 8, 2)
        for first, bound in zip((3, 11, 40, 48), around, strict=True):
            for k in range(17):
                t = 0.02 * (first + k / 2)
                assert not bound * scale < abs(value(acb(alpha, t)))


def test_bounds_say_something():
    """Midpoints see that phases are spread."""
    law = [(Fraction(1, 8), Fraction(k, 4)) for k in range(8)]
    draws = Draws([ball(m) for m, _ in law], [ball(x) for _, x in law], 50)
    tilted = draws.tilted(arb(0.1))
    assert all(x < 1e-3 for x in tilted.bounds_around(arb(0.02), [50], 2, 2))


def test_what_is_exactly_zero():
    zero = Draws([ball(Fraction(1, 3)), ball(Fraction(2, 3))], [arb(0), arb(1)], 4)
    assert zero.mass_at_zero().overlaps(ball(Fraction(1, 81)))
    near = Draws([ball(Fraction(1))], [arb(0, 1e-30)], 4)
    assert near.mass_at_zero().is_zero()
