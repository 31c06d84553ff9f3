"""Noise on a lattice: variances in closed form. The sampler: test_noise.py."""

import math

import numpy as np
import pytest
from flint import arb, ctx

import shuffledp as sd


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(1500):
        yield


# ------------------------------------------------------------------------------ the mechanisms


def test_laplace_variance_is_that_of_the_lattice():
    """Cells have variance g^2 (1/(2 sinh^2(h/2)) + 1/4), inputs add at most g^2/4: below 2^-60."""
    # The formula, by summing over cells in balls.
    h = arb("0.9")
    ratio = (-h).exp()
    total = sum(((1 - ratio) * ratio**j * (arb(j) + arb("0.5")) ** 2 for j in range(600)), arb(0))
    sinh = (h / 2).exp() / 2 - (-h / 2).exp() / 2
    assert abs(total - (1 / (2 * sinh**2) + arb("0.25"))) < arb(2) ** -200
    for eps0 in (1e-9, 0.3, 1.0, 300.0):
        r = sd.Laplace(eps0=eps0)
        h = arb(eps0) / arb(2) ** r.bits
        sinh = (h / 2).exp() / 2 - (-h / 2).exp() / 2
        cells = (1 / (2 * sinh**2) + arb("0.25")) / arb(4) ** r.bits
        whole = cells + arb("0.25") / arb(4) ** r.bits
        assert abs(cells / arb(r.variance()) - 1) < arb(2) ** -50
        assert abs(whole / (2 / arb(eps0) ** 2) - 1) < arb(2) ** -60


@pytest.mark.parametrize(
    "r",
    [
        sd.DiscreteLaplace(top=10**7, eps0=2.3e-9),
        sd.Staircase(eps0=1e-9),
        sd.Laplace(eps0=1e-9),
        sd.Gaussian(sigma=1e12),
    ],
    ids=repr,
)
def test_noise_of_more_than_53_bits_is_as_stated(r):
    reports = r.simulate(np.zeros(4_000, dtype=np.int64), seed=1).astype(np.float64)
    # The fourth moment is 6 variances squared: the root is right to sqrt(5/16,000) = 1.8 %.
    assert reports.std() == pytest.approx(math.sqrt(r.variance()), rel=0.09)


@pytest.mark.parametrize("eps0", [1e-3, 0.5, 3.0, 300.0])
@pytest.mark.parametrize("width", [None, 0.3])
def test_the_staircase_s_variance_is_the_sum_over_its_steps(eps0, width):
    r = sd.Staircase(eps0=eps0, width=width, low=-2.0, high=5.0)
    g, b = arb(r.width), (-arb(eps0)).exp()
    top = (1 - b) / (2 * (g + b * (1 - g)))
    inner = [(k + g) ** 3 - arb(k) ** 3 for k in range(3)]
    outer = [(k + arb(1)) ** 3 - (k + g) ** 3 for k in range(3)]
    # Cubes are polynomials of degree 2 in k: sums of b^k k^j in closed form.
    powers = [1 / (1 - b), b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3]

    def summed(values):
        second = (values[2] - 2 * values[1] + values[0]) / 2
        first = values[1] - values[0] - second
        return values[0] * powers[0] + first * powers[1] + second * powers[2]

    exact = 49 * 2 * top * (summed(inner) + b * summed(outer)) / 3
    assert r.variance() == pytest.approx(float(exact), rel=1e-13)
