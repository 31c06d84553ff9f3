"""Renyi divergences without a pure guarantee: what one report alone says, and what is left out."""

import itertools
import math

import pytest
from scipy import integrate

import shuffledp as sd
from shuffledp.randomizers.interval_noise import power_renyi
from shuffledp.rounds.gaussian import log_delta_gaussian
from shuffledp.rounds.renyi import RenyiTail


def quadrature(shape, distance, order, *, width=60.0):
    """log of int f^A g^(1-A), by adaptive quadrature around the peak."""
    norm = math.log(2.0) + math.lgamma(1.0 + 1.0 / shape)

    def phi(y):
        return -order * abs(y) ** shape + (order - 1.0) * abs(y - distance) ** shape

    ratio = -math.log1p(-1.0 / order) / (shape - 1.0)
    peak = -distance / math.expm1(ratio)
    top = max(phi(peak), 0.0)
    parts = [peak - width, peak, 0.0, distance, distance + width]
    total = sum(
        integrate.quad(lambda y: math.exp(phi(y) - top), a, b, limit=500, epsabs=1e-13)[0]
        for a, b in itertools.pairwise(parts)
    )
    return math.log(total) + top - norm


@pytest.mark.many(8)
@pytest.mark.parametrize("shape", [1.2, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("distance", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
def test_generalized_gaussian_noise_by_quadrature(shape, distance, order):
    found = power_renyi(shape, distance, order) * (order - 1.0)
    exact = quadrature(shape, distance, order)
    assert exact <= found * (1.0 + 1e-10)
    if order == 7.0:
        assert found <= 1.02 * exact + 0.4 * (order - 1.0)


@pytest.mark.parametrize("order", [1.001, 2.0, 30.0, 1e4])
def test_the_gaussian_shape_is_gaussian_noise(order):
    distance = 0.7
    exact = order * distance**2
    noise = sd.GeneralizedGaussian(shape=2.0, scale=1.0 / distance)
    assert exact <= power_renyi(2.0, distance, order) * (1.0 + 1e-12)
    assert exact <= noise.local_renyi(order) <= exact * (1.0 + 1e-12)
    assert noise.local_rho == pytest.approx(distance**2)


@pytest.mark.parametrize(("top", "sigma"), [(1, 0.3), (3, 1.0), (5, 20.0)])
@pytest.mark.parametrize("order", [1.1, 2.0, 12.0])
def test_discrete_gaussian_by_summation(top, sigma, order):
    span = range(-int(60 * sigma * order) - 60 * top, int(60 * sigma * order) + 60 * top)
    norm = math.fsum(math.exp(-0.5 * (y / sigma) ** 2) for y in span)
    logs = [
        -0.5 * (order * (y / sigma) ** 2 - (order - 1.0) * ((y - top) / sigma) ** 2) for y in span
    ]
    peak = max(logs)
    total = peak + math.log(math.fsum(math.exp(x - peak) for x in logs) / norm)
    randomizer = sd.DiscreteGaussian(top=top, sigma=sigma)
    assert total / (order - 1.0) <= randomizer.local_renyi(order) * (1.0 + 1e-9)


def test_reports_of_parts():
    """Sums over the attributes that may differ, the largest of a public choice."""
    noise, coin = sd.Gaussian(sigma=2.0), sd.BinaryRR(eps0=0.6)
    both = sd.Joint([noise, coin, coin])
    assert both.local_renyi(3.0) == pytest.approx(3.0 * (0.125 + 0.18 + 0.18))
    limited = sd.Joint([noise, coin, coin], hamming=2)
    assert limited.local_renyi(3.0) == pytest.approx(3.0 * (0.18 + 0.18))
    assert limited.local_rho == pytest.approx(0.36)
    assert sd.Parallel([noise, coin], weights=[0.5, 0.5]).local_renyi(3.0) == pytest.approx(0.54)
    assert sd.PoissonSubsample(both, rate=0.1).local_rho == both.local_rho
    near = sd.MetricLaplace(scale=1.0, distance=0.1)
    assert near.local_renyi(2.0) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.many(8)
@pytest.mark.parametrize("mu", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("order", [1.2, 2.0, 9.0])
@pytest.mark.parametrize("far", [0.0, 1.0, 4.0, 8.0])
def test_tail_is_above_that_of_gaussian_noise(mu, order, far):
    """A (A-1) int_E^inf e^((A-1)x) h(e^x) dx by quadrature; E some deviations out."""
    start = 0.5 * mu**2 + (order - 1.0) * mu**2 + far * mu

    def log(x):
        return (order - 1.0) * x + log_delta_gaussian(mu, x).low

    top = log(start)
    integral = integrate.quad(lambda x: math.exp(log(x) - top), start, start + 12.0 * mu)[0]
    value = top + math.log(order * (order - 1.0) * integral)
    tail = RenyiTail(lambda a: 0.5 * a * mu * mu)(order, start)
    assert value <= tail
    # A constant and a power of the deviations is lost, no more.
    assert tail <= value + 6.0 + 3.0 * math.log(1.0 + far) - math.log(mu)
