"""The verifier's laws and pairs against whole channels: every input, every output, every pair."""

import math
from fractions import Fraction

import numpy as np
import pytest

from laws import log_delta
from shuffledp.ball.caps import orthogonal_overlap


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("c", [0.2, 0.5])
def test_orthogonal_caps_by_sampling(c, d):
    """Within four standard errors of 400,000 points of the sphere."""
    rng = np.random.default_rng(d)
    points = rng.standard_normal((400_000, d))
    points /= np.linalg.norm(points, axis=1)[:, None]
    t = np.quantile(points[:, 0], 1 - c)
    share = float(np.mean((points[:, 0] >= t) & (points[:, 1] >= t)))
    found = float(orthogonal_overlap(Fraction(c), d))
    assert abs(share - found) <= 4.0 * math.sqrt(max(found, 1e-5) / 400_000) + 2e-3 * c


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_generalized_gaussian_alone_by_a_sum_over_cells(shape, epsilon):
    """int (P - e^eps Q)_+ by the midpoint rule, and for shape 2 by the normal law's formula."""
    noise = {"name": "generalized-gaussian", "shape": shape, "scale": 1.5, "low": 0.0, "high": 1.0}
    low, high = log_delta(noise, analysis="local", n=1, epsilon=epsilon, x0=0.0, x1=1.0)
    reach = 150 if shape >= 1.0 else 1500
    y = np.linspace(-reach, reach + 1, 2_000_001)
    f = [np.exp(-((np.abs(y - x) / 1.5) ** shape)) for x in (0.0, 1.0)]
    norm = 2 * 1.5 * math.gamma(1 + 1 / shape)
    rough = float(np.maximum(f[0] - math.exp(epsilon) * f[1], 0).sum() * (y[1] - y[0]) / norm)
    if rough > 1e-9:
        assert low <= high
        assert abs(math.exp(low) / rough - 1) < (1e-4 if shape >= 1.0 else 1e-3)
    else:
        assert high == -math.inf
    if shape == 2.0:
        sigma = {"name": "gaussian", "sigma": 1.5 / math.sqrt(2), "low": 0.0, "high": 1.0}
        other = log_delta(sigma, analysis="local", n=1, epsilon=epsilon, x0=0.0, x1=1.0)
        assert abs(other[0] - low) < 1e-12


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize(("x0", "x1"), [(0.0, 1.0), (1.0, 0.0), (0.25, 0.75), (0.5, 0.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_truncated_laplace_alone_by_a_sum_over_cells(margin, x0, x1, epsilon):
    noise = {"name": "truncated-laplace", "eps0": 1.5, "low": 0.0, "high": 1.0, "margin": margin}
    edges = np.linspace(-margin, 1 + margin, 400_001)
    y = 0.5 * (edges[1:] + edges[:-1])
    f = [np.exp(-1.5 * np.abs(y - x)) for x in (x0, x1)]
    p, q = (row / row.sum() for row in f)
    rough = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    low, high = log_delta(noise, analysis="local", n=1, epsilon=epsilon, x0=x0, x1=x1)
    assert high - low < 1e-9
    assert abs(math.exp(low) / rough - 1) < 1e-4
