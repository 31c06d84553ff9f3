"""Noise for vectors in a ball: laws against balls and simulation, and small n."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from flint import arb
from scipy import integrate, special, stats

import shuffledp as sd
from laws import dataset_pair
from randomizers.noise import some
from randomizers.sources import LEAST_P_VALUE
from shuffledp.arithmetic.balls import ctx
from shuffledp.randomizers import vectors

GAUSS = [
    sd.GaussianBall(d=2, sigma=1.0),
    sd.GaussianBall(d=3, sigma=4.0, radius=2.0),
    sd.GaussianBall(d=50, sigma=8.0),
]
LAPLACE = [
    sd.LaplaceBall(d=2, scale=1.0),
    sd.LaplaceBall(d=2, scale=0.5, distance=0.3),
    sd.LaplaceBall(d=5, scale=3.0, radius=2.0, distance=1.0),
]
# ------------------------------------------------------------------------------------- Gaussian


@cache
def antipodal(randomizer):
    ends = (-randomizer.radius, randomizer.radius)
    with ctx.workprec(96):
        return randomizer.cells(ends)


@pytest.mark.parametrize("randomizer", GAUSS, ids=repr)
def test_gaussian_reference_is_below_the_blanket_and_near_it(randomizer):
    r, d = randomizer.grown / randomizer.sigma, randomizer.d
    log_top = -special.gammaln(d / 2) - (d / 2 - 1) * math.log(2.0)

    def density(x):
        return math.exp(log_top + (d - 1) * math.log(x) - 0.5 * (x + r) ** 2) if x > 0 else 0.0

    gamma = integrate.quad(density, 0.0, math.sqrt(d) + 15.0, epsabs=0.0, limit=200)[0]
    mass = float(sum((cell.mass for cell in antipodal(randomizer).cells), arb(0)))
    assert gamma * (1 - 4e-3) <= mass <= gamma * (1 + 1e-9)


@pytest.mark.parametrize("randomizer", GAUSS[:2], ids=repr)
def test_gaussian_masses_of_single_cells(randomizer):
    """Against sums over points of the coordinate along and the squared length across."""
    r, free = randomizer.grown / randomizer.sigma, randomizer.d - 1
    across = [float(w) for w in vectors._across(free)]
    along = [float(t) for t in vectors._along(r)]
    cells = {(round(float(c.p), 15), round(float(c.q), 15)): c for c in antipodal(randomizer).cells}
    seen = 0
    for i, j in itertools.product(some(9, len(along) - 1), some(9, len(across) - 1)):
        points = [
            (a + (b - a) * np.linspace(0.0, 1.0, 401))
            for a, b in ((along[i], along[i + 1]), (across[j], across[j + 1]))
        ]
        t, w = (0.5 * (x[1:] + x[:-1]) for x in points)
        ring = np.diff(stats.chi2.cdf(points[1], free))
        strips = [np.diff(stats.norm.cdf(points[0] - x)) for x in (-r, r, 0.0)]
        p, q = (strip.sum() * ring.sum() for strip in strips[:2])
        if min(p, q) < 1e-9:
            continue
        cell = cells[round(p, 15), round(q, 15)]
        length = np.sqrt(t[:, None] ** 2 + w)
        blanket = strips[2][:, None] * ring * np.exp(-0.5 * r * r - r * length)
        mass = float(cell.mass)
        assert mass <= blanket.sum() * (1 + 1e-5)
        # The reference lies below the blanket, so that ratios to it are no smaller.
        plain = cell.plain()
        for x, own, ends in (
            (r, q, (plain.top.v, plain.bottom.v)),
            (-r, p, (plain.bottom.u, plain.top.u)),
        ):
            ratios = np.exp(x * t[:, None] + r * length)
            assert float(ends[1]) >= ratios.max() * (1 - 1e-9)
            assert float(ends[0]) <= own / mass * (1 + 1e-9)
        seen += 1
    assert seen > 5


def test_gaussian_inputs_that_no_blanket_is_known_for():
    with pytest.raises(sd.NotCertified, match="three inputs"):
        GAUSS[0].cells((-1.0, 0.5))


def test_gaussian_small_n_by_integration():
    """n = 1 in closed form, n = 2 over the two coordinates along; others anywhere on the line."""
    randomizer = sd.GaussianBall(d=2, sigma=2.0)
    y = np.linspace(-9.0, 9.0, 1501)
    step = y[1] - y[0]
    f = {x: np.exp(-0.5 * (y - x) ** 2) / math.sqrt(2.0 * math.pi) for x in (-0.5, 0.0, 0.5)}
    gain = f[-0.5] - math.exp(0.3) * f[0.5]
    one = float(np.maximum(gain, 0.0).sum() * step)
    two = []
    for other in f.values():
        both = np.outer(gain, other)
        two.append(float(np.maximum(both + both.T, 0.0).sum() * step**2 / 2))
    for n, exact in ((1, one), (2, max(two))):
        bound = sd.shuffle(randomizer, n=n, rtol=1e-2).delta(epsilon=0.3)
        assert bound.lower <= exact * (1 + 1e-4)
        assert exact <= bound.upper * (1 + 1e-4)


# -------------------------------------------------------------------------------------- Laplace


@pytest.mark.parametrize("randomizer", LAPLACE, ids=repr)
def test_law_by_angle(randomizer):
    """Against simulated noise: |y - x0| - |y - x1| over the distance is cos phi."""
    d, w = randomizer.d, 0.5 * randomizer.reach / randomizer.scale
    law = dataset_pair(randomizer, 0, 1, 0)
    first, second = law.w * law.a, law.w * law.b
    generator = np.random.default_rng(8)
    z = generator.normal(size=(40_000, d))
    z *= (generator.gamma(d, size=40_000) / np.sqrt((z * z).sum(axis=1)))[:, None]
    other = z.copy()
    other[:, 0] -= 2.0 * w
    near, far = (np.sqrt((v * v).sum(axis=1)) for v in (z, other))
    phi = np.arccos(np.clip((near - far) / (2.0 * w), -1.0, 1.0))
    edges = np.linspace(0.0, math.pi, law.w.size + 1)
    cdf = np.concatenate([[0.0], np.cumsum(first)])
    found = stats.kstest(phi, lambda v: np.interp(v, edges, cdf))
    assert found.pvalue > LEAST_P_VALUE
    assert np.allclose(first, second[::-1], rtol=1e-9, atol=0.0)
    middle = 0.5 * (edges[1:] + edges[:-1])
    assert np.allclose(np.log(first / second), -2.0 * w * np.cos(middle), atol=1e-3)
