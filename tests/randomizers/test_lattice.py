"""Discrete Laplace and discrete Gaussian: laws, worst pairs and bounds by enumeration, samplers."""

import math

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball
from randomizers.sources import LEAST_P_VALUE, fits

DL, DG = sd.DiscreteLaplace, sd.DiscreteGaussian
CLAMPED = [DL(top=4, eps0=2.0, clamped=True)]
SMALL = [
    DL(top=1, eps0=0.7),
    DL(top=3, eps0=2.0),
    *CLAMPED,
    DL(top=4, eps0=30.0),
    DL(top=5, eps0=300.0),
    DL(top=6, eps0=0.01),
    DG(top=1, sigma=0.5),
    DG(top=3, sigma=1.3),
    DG(top=2, sigma=0.05),
]


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


@pytest.mark.parametrize("randomizer", [SMALL[1], SMALL[2], SMALL[7]], ids=repr)
@pytest.mark.parametrize("x", [1])
def test_sampler_against_the_law(randomizer, x):
    reports = randomizer.simulate(np.full(60_000, x), seed=11)
    assert reports.dtype == np.int64
    reach = math.ceil(6 * spread(randomizer)) + 3
    low, high = -reach, randomizer.top + reach
    if randomizer in CLAMPED:
        assert reports.min() >= 0
        assert reports.max() <= randomizer.top
        low, high = 0, randomizer.top
    outputs = np.arange(low, high + 1)
    chances = np.array([float(pmf(randomizer, int(y) - x)) for y in outputs])
    tails = [
        sum(float(pmf(randomizer, int(end) - x + sign * j)) for j in range(1, 12 * reach))
        for end, sign in ((low, -1), (high, 1))
    ]
    chances[[0, -1]] += tails
    clipped = np.clip(reports, low, high)
    assert fits(np.bincount(clipped - low, minlength=outputs.size), chances) > LEAST_P_VALUE


@pytest.mark.parametrize("randomizer", [*SMALL[:5], *SMALL[6:9]], ids=repr)
def test_estimator_mean_and_variance(randomizer):
    """By sums over every report: unbiased for every input, and of the stated variance."""
    reach = math.ceil(90 * spread(randomizer)) + 2
    outputs = np.arange(-reach, randomizer.top + reach + 1)
    variances = []
    for x in range(randomizer.top + 1):
        p = np.array([float(pmf(randomizer, int(y) - x)) for y in outputs])
        values = randomizer._unbiased(np.clip(outputs, *clamp(randomizer)))
        mean = math.fsum(p * values)
        assert mean == pytest.approx(x, abs=1e-9 * (1 + abs(values).max()))
        variances.append(math.fsum(p * (values - x) ** 2))
    assert max(variances) == pytest.approx(randomizer.variance(), rel=1e-6, abs=1e-12)


def clamp(randomizer):
    return (0, randomizer.top) if randomizer in CLAMPED else (-(10**9), 10**9)
