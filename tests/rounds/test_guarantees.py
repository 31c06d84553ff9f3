"""Rounds whose guarantee is pure, or infinite: ends that hold, and no warning."""

import math
from fractions import Fraction

import pytest

import shuffledp as sd
from shuffledp import theorems
from shuffledp.errors import ParameterError


def test_no_pure_guarantee_is_said_where_there_is_none():
    """Infinite ends came with the note that pure guarantees, added up, were the active bound."""
    rounds = sd.compose([sd.central.approximate(epsilon=1.0, delta=1e-6)])
    for bound in (rounds.renyi(order=2.0), rounds.epsilon(delta=1e-9)):
        assert bound.upper == math.inf
        assert bound.upper_theorem is None
        assert bound.notes == ()
    pure = sd.compose([sd.central.approximate(epsilon=1.0)], rounds=2)
    assert pure.epsilon(delta=1e-100).upper_theorem is theorems.LOCAL
    assert "active bound" in pure.epsilon(delta=1e-100).notes[0]
    assert pure.renyi(order=1e6).upper <= pure.eps0


def test_a_test_has_its_error_where_losses_have_no_end():
    """Golden sections on [0, inf] looked at no number: 0 was certified."""
    rounds = sd.compose([sd.central.approximate(epsilon=1.0, delta=1e-6)])
    bound = rounds.tradeoff(alpha=0.9)
    exact = math.exp(-1.0) * (1.0 - 1e-6 - 0.9)
    assert exact * (1.0 - 1e-4) < bound.lower <= exact


@pytest.mark.parametrize("sampler", [None, "poisson", "shuffle", "balls-and-bins"])
def test_noise_far_below_the_clip_is_refused(sampler):
    with pytest.raises(ParameterError, match="at least clip/25"):
        sd.SGD(n=100, epochs=1, sampler=sampler, noise=0.01, clip=1.0)


@pytest.mark.parametrize(("low", "high", "scale"), [(0.0, 1.0, 3.0), (-0.1, 0.7, 0.3), (0, 2, 1)])
def test_scales_are_rounded_up(low, high, scale):
    """1/3 as a float is below 1/3, and was certified."""
    exact = (Fraction(high) - Fraction(low)) / Fraction(scale)
    metric = sd.MetricLaplace(low=low, high=high, scale=scale)
    laplace = sd.Laplace.from_scale(scale, low=low, high=high)
    for mechanism in (metric, laplace):
        assert exact <= Fraction(mechanism.eps0) <= exact * (1 + Fraction(1, 2**52))
