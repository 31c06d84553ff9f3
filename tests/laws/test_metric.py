"""The envelope of Laplace noise at a distance, against its densities."""

import math

import numpy as np
import pytest
import scipy.integrate

import shuffledp as sd
from shuffledp.laws.metric import envelope_of

NAMES = ((0,), (1,))


def delta(mechanism, distance, eps):
    """P(G > 0 part) of one user: two copies of the outputs beyond 1 - d/2, P and Q exchanged."""
    scale = mechanism.scale / (mechanism.high - mechanism.low)

    def density(y, x):
        return math.exp(-abs(y - x) / scale) / (2.0 * scale)

    middle, found = 1.0 - 0.5 * distance, 0.0
    for one, two in ((1.0, 1.0 - distance), (1.0 - distance, 1.0)):

        def positive(y, one=one, two=two):
            return max(density(y, one) - math.exp(eps) * density(y, two), 0.0)

        for a, b in ((middle, 1.0), (1.0, 1.0 + 60.0 * scale)):
            found += scipy.integrate.quad(positive, a, b, limit=400, epsabs=1e-12)[0]
    return found


@pytest.mark.parametrize("distance", [None, 6.0, 0.5])
def test_masses_and_ratios_are_those_of_the_densities(distance):
    mechanism = sd.MetricLaplace(scale=3.0, low=1.0, high=13.0, distance=distance)
    share = 1.0 if distance is None else distance / 12.0
    cells = envelope_of(mechanism, NAMES)
    assert cells is not None
    p, q, mass = (
        np.array([float(x) for x in row])
        for row in zip(*((c.p, c.q, c.mass) for c in cells), strict=True)
    )
    assert p.sum() == pytest.approx(1.0, rel=1e-9)
    assert q.sum() == pytest.approx(1.0, rel=1e-9)
    # The reference beyond the middle is the far end's tail, twice.
    assert mass.sum() == pytest.approx(math.exp(-4.0 * (1.0 - 0.5 * share)), rel=1e-9)
    for eps in (0.0, 0.3 * 4.0 * share, 0.9 * 4.0 * share):
        found = np.maximum(p - math.exp(eps) * q, 0.0).sum()
        assert found == pytest.approx(delta(mechanism, share, eps), rel=1e-3)
    for cell in cells:
        u, v = (float(x / cell.mass) for x in (cell.p, cell.q))
        assert float(cell.bottom.u) * (1.0 - 1e-8) <= u <= float(cell.top.u) * (1.0 + 1e-8)
        assert float(cell.top.v) * (1.0 - 1e-8) <= v <= float(cell.bottom.v) * (1.0 + 1e-8)


def test_only_the_envelope_has_these_cells():
    mechanism = sd.MetricLaplace(scale=3.0, low=1.0, high=13.0)
    assert envelope_of(mechanism, (1.0, 13.0)) is None
    assert envelope_of(mechanism, (*NAMES, 1.0)) is None
    assert envelope_of(sd.Laplace(eps0=1.0), NAMES) is None
