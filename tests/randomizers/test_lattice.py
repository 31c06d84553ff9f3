"""Discrete Gaussian: what one report alone guarantees, by summation."""

import math

import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball

DL, DG = sd.DiscreteLaplace, sd.DiscreteGaussian


def pmf(randomizer, k):
    """P(K = k), to 60 digits and more."""
    if isinstance(randomizer, DL):
        a = (-ball(randomizer.eps0) / randomizer.top).exp()
        return (1 - a) / (1 + a) * a ** abs(k)
    return gaussian_weight(randomizer.sigma, k) / norm(randomizer.sigma)


def gaussian_weight(sigma, k):
    return (-arb(k * k) / (2 * ball(sigma) ** 2)).exp()


NORMS = {}


def norm(sigma):
    if sigma not in NORMS:
        reach = math.ceil(22 * sigma) + 1
        NORMS[sigma] = sum((gaussian_weight(sigma, k) for k in range(-reach, reach + 1)), arb(0))
    return NORMS[sigma]


def spread(randomizer):
    if isinstance(randomizer, DL):
        return min(3.0 * randomizer.top / randomizer.eps0, 2000.0)
    return randomizer.sigma


@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-100])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 20.0])
def test_local_epsilon(sigma, delta):
    randomizer = DG(top=3, sigma=sigma)
    eps = ball(randomizer.local_epsilon(delta)).exp()
    reach = math.ceil(30 * sigma)
    pairs = [(pmf(randomizer, k), pmf(randomizer, k - 3)) for k in range(-reach, reach)]
    total = sum((p - eps * q for p, q in pairs if p - eps * q > 0), arb(0))
    assert total <= ball(delta)
