"""Central noise: what is refused, and scales that are rounded up."""

from fractions import Fraction

import pytest

import shuffledp as sd


@pytest.mark.parametrize(("low", "high", "scale"), [(0.0, 1.0, 3.0), (-0.1, 0.7, 0.3), (0, 2, 1)])
def test_scales_are_rounded_up(low, high, scale):
    """1/3 as a float is below 1/3, and was certified."""
    exact = (Fraction(high) - Fraction(low)) / Fraction(scale)
    metric = sd.MetricLaplace(low=low, high=high, scale=scale)
    laplace = sd.Laplace.from_scale(scale, low=low, high=high)
    for mechanism in (metric, laplace):
        assert exact <= Fraction(mechanism.eps0) <= exact * (1 + Fraction(1, 2**52))
