"""Cells of noise on an interval, whatever eps is, against more digits."""

import itertools
from fractions import Fraction

import pytest
from flint import arb, ctx

from shuffledp.ball.spans import Triple, _edges, noise_on, spans_of

GAUSSIAN = {"name": "gaussian", "sigma": 0.8, "low": 0.0, "high": 1.0}
LAPLACE = {"name": "laplace", "eps0": 1.3, "low": 0.0, "high": 1.0}


def ball(x):
    return arb(x.numerator) / x.denominator


def mass(mechanism, x, left, right):
    """What noise around x has from left to right, by the distribution function."""

    def below(y):
        z = y - ball(x)
        if mechanism["name"] == "gaussian":
            return (1 + (z / (arb(mechanism["sigma"]) * arb(2).sqrt())).erf()) / 2
        z *= arb(mechanism["eps0"])
        return z.exp() / 2 if z < 0 else 1 - (-z).exp() / 2

    return below(ball(right)) - below(ball(left))


@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
@pytest.mark.parametrize(
    "places",
    [(1, 0, None), (0, 1, None), (1, 0, Fraction(1, 3)), (1, Fraction(1, 3), 0), (0, 1, 0)],
    ids=str,
)
def test_masses_of_cells(mechanism, places):
    x0, x1, x = (None if at is None else Fraction(at) for at in places)
    triple = Triple(x0, x1, x, None, 40)
    with ctx.workprec(128):
        noise = noise_on(mechanism, -15.0)
        found = spans_of(noise, triple)
    edges = _edges(noise, triple)
    inner = [one for one in found.spans if one.masses is not None]
    assert len(inner) == len(edges) - 1
    for one, (left, right) in zip(inner, itertools.pairwise(edges), strict=True):
        own = x
        if own is None:
            own = Fraction(1) if left + right < 1 else Fraction(0)
        # Differences of nearly equal numbers: far out there is e^-39.
        with ctx.workprec(400):
            exact = [mass(mechanism, at, left, right) for at in (x0, x1, own)]
        for ours, true in zip((*one.masses, one.mass), exact, strict=True):
            assert ours.overlaps(true)
            assert ours.rad() < 1e-20 * abs(true)


@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
def test_all_mass_is_in_cells_or_beyond_them(mechanism):
    triple = Triple(Fraction(1), Fraction(0), Fraction(1, 3), None, 40)
    with ctx.workprec(128):
        found = spans_of(noise_on(mechanism, -15.0), triple)
        own = sum((one.mass for one in found.spans), arb(0))
        assert not own > 1
        assert own + found.outside >= 1 - 1e-16
