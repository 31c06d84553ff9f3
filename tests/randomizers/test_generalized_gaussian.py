"""Generalized Gaussian: cells against ball arithmetic, guarantees, worst pair."""

import math

import pytest
from flint import arb, fmpq

import shuffledp as sd
from enumerated import ball
from laws import blanket_pair
from randomizers.noise import check_cells

CASES = [
    (1 / 32, 1.0),
    (0.1, 0.01),
    (0.5, 1.0),
    (0.5, 0.003),
    (1.0, 1.0),
    (1.0, 0.02),
    (1.0, 1e6),
    (1.5, 0.1),
    (2.0, 2**0.5),
    (2.0, 0.05),
    (2.5, 3.0),
    (4.0, 0.7),
    (50.0, 0.6),
    (200.0, 0.7),
    (1000.0, 2.0),
]
MECHANISMS = [sd.GeneralizedGaussian(shape=b, scale=s) for b, s in CASES] + [
    sd.GeneralizedGaussian(shape=0.7, scale=2.0, low=-3.0, high=1.0),
    sd.GeneralizedGaussian(shape=3.0, scale=2.0, low=-3.0, high=1.0),
]


class Oracle:
    def __init__(self, randomizer):
        self.b = ball(randomizer.shape)
        self.scale = ball(randomizer.scale) / (ball(randomizer.high) - ball(randomizer.low))

    def log_density(self, t):
        return arb(0) if t == 0 else -((t / self.scale) ** self.b)

    def beyond(self, t):
        level = (t / self.scale) ** self.b if t > 0 else arb(0)
        return level.gamma_upper(1 / self.b, regularized=1) / 2

    def mass(self, near, far):
        low = (near / self.scale) ** self.b if near > 0 else arb(0)
        high = (far / self.scale) ** self.b
        a = 1 / self.b
        if high < a:
            return (high.gamma_lower(a, regularized=1) - low.gamma_lower(a, regularized=1)) / 2
        return (low.gamma_upper(a, regularized=1) - high.gamma_upper(a, regularized=1)) / 2


@pytest.mark.parametrize("randomizer", MECHANISMS[::3], ids=repr)
@pytest.mark.parametrize("x2", [None, 0.5])
def test_cells_against_the_density(randomizer, x2):
    check_cells(randomizer, Oracle(randomizer), x2)


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=repr)
def test_gamma(randomizer):
    """gamma = Q(1/b, (d/2)^b)."""
    law = blanket_pair(randomizer, randomizer.low, randomizer.high)
    exact = 2 * Oracle(randomizer).beyond(arb(fmpq(1, 2)))
    assert abs(ball(math.fsum(law.w)) - exact) <= ball(1e-13) * exact + arb(10) ** -300


@pytest.mark.parametrize("randomizer", [m for m in MECHANISMS if m.shape <= 1.0], ids=repr)
def test_pure_guarantee(randomizer):
    """The log ratio is nowhere larger than at an input."""
    eps0 = randomizer.eps0
    assert eps0 == math.inf or ball(eps0) >= -Oracle(randomizer).log_density(arb(1))
