"""At n = 1 the messages are the report itself: a mechanism's own delta, and that of its sum."""

import math

import pytest
from scipy.stats import norm

import shuffledp as sd


def delta_of(mu, epsilon):
    """Gaussian noise by its definition (Balle and Wang 2018, Theorem 8)."""
    a = epsilon / mu
    return norm.cdf(0.5 * mu - a) - math.exp(epsilon) * norm.cdf(-0.5 * mu - a)


@pytest.mark.parametrize(
    ("mechanism", "mu"), [(sd.Gaussian(sigma=1.0), 1.0), (sd.GaussianBall(sigma=1.0, d=3), 2.0)]
)
def test_one_report_is_its_mechanism(mechanism, mu):
    one, summed = sd.shuffle(mechanism, 1), sd.shuffle(mechanism, 1, view="sums")
    found, as_sum = one.epsilon(delta=1e-6), summed.epsilon(delta=1e-6)
    assert found.lower <= as_sum.upper
    assert as_sum.lower <= found.upper
    assert found.upper <= found.lower * (1.0 + 1e-11)
    assert delta_of(mu, found.upper) == pytest.approx(1e-6, rel=1e-8)
    at = one.delta(epsilon=2.0)
    assert at.lower == pytest.approx(delta_of(mu, 2.0), rel=1e-9)
    assert at.upper == pytest.approx(at.lower, rel=1e-12)


def test_next_to_no_noise():
    found = sd.shuffle(sd.Gaussian(sigma=0.03), 1).epsilon(delta=1e-6)
    assert 713.068 < found.lower <= found.upper < 713.069
