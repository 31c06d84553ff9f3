"""Values far from 0 have the errors of the same values near it: nothing cancels."""

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.protocol import Asked, question

OFFSETS = [0.0, 1e3, -1e6, 1e6, 2.0**30]
VALUES = np.arange(20_000) % 11.0


def noise(name, offset):
    ends = {"low": offset, "high": offset + 10.0}
    made = {
        "laplace": lambda: sd.Laplace(eps0=8.0, **ends),
        "gaussian": lambda: sd.Gaussian(sigma=1.0, **ends),
        "generalized-gaussian": lambda: sd.GeneralizedGaussian(shape=4.0, scale=2.0, **ends),
        "piecewise": lambda: sd.Piecewise(eps0=4.0, **ends),
        "hybrid": lambda: sd.Hybrid(eps0=4.0, **ends),
        "duchi": lambda: sd.Duchi(eps0=4.0, **ends),
        "staircase": lambda: sd.Staircase(eps0=4.0, **ends),
    }
    return made[name]()


ADDED = ("laplace", "gaussian", "generalized-gaussian")


def answered(name, offset, order):
    mechanism = noise(name, offset)
    reports = mechanism.simulate(VALUES + offset, seed=3)
    wanted = question(mechanism, None, Asked(moments=order))
    found = wanted.answer(wanted.sums(reports), VALUES.size)
    rows = np.stack([found.estimates, found.noise, found.sampling], axis=1)
    return dict(zip(found.names, map(tuple, rows), strict=True))


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", ADDED)
def test_variances(name, offset):
    """The true one within six errors, which are those of the values near 0 to 5 %."""
    near, far = answered(name, 0.0, 2)["variance"], answered(name, offset, 2)["variance"]
    assert abs(far[0] - VALUES.var()) < 6 * far[1]
    assert far[1:] == pytest.approx(near[1:], rel=0.05)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", [*ADDED, "piecewise", "hybrid", "duchi", "staircase"])
def test_means(name, offset):
    """The scatter of the values, which the sampling error is made of, too."""
    near, far = answered(name, 0.0, 0)["mean"], answered(name, offset, 0)["mean"]
    assert abs(far[0] - VALUES.mean() - offset) < 6 * far[1]
    assert far[1:] == pytest.approx(near[1:], rel=0.05, abs=1e-6)
