"""Every mechanism as it is run: estimates are unbiased, and scatter as their errors say.

The definitions that laws are held against stand elsewhere; ``audit/test_readings.py`` holds the
samplers against the laws. Here 200 groups of users hold the same values, so that estimates of
groups scatter by the mechanism's noise alone.
"""

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.functions import absolute, exp
from shuffledp.randomizers import randomizer_names
from shuffledp.randomizers.hierarchy import HierarchyEstimate

GROUPS, USERS = 200, 60
# Deviations of a mean, and of a variance, that no seed has.
FAR = 5.0

ITEMS = np.arange(USERS) % 5 % 4  # 0 is twice as frequent as 1, 2 and 3; no other item is held
SETS = np.stack([ITEMS, 4 + np.arange(USERS) % 2], axis=1)
SHARES = np.arange(USERS) % 4 / 3.0
POINTS = np.stack([SHARES, -0.5 * SHARES], axis=1)
AROUND = np.stack([np.cos(SHARES), np.sin(SHARES)], axis=1)
PAIRS = np.stack([SETS, np.stack([SHARES, -SHARES], axis=1)], axis=2)
BITS = ITEMS % 2
RECORDS = np.stack([ITEMS, BITS], axis=1)
TWO = (sd.KRR(k=5, eps0=1.5), sd.BinaryRR(eps0=1.0))
MATRIX = [[0.6, 0.2, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.2, 0.2, 0.5, 0.1], [0.1, 0.2, 0.3, 0.4]]
GIVEN = sd.Density(pdf=lambda y, x: exp(-2.0 * absolute(y - x)), outputs=(-3.0, 4.0), points=2)
RANGES = ((0, 2), (1, 4), (5, 6))

RUN = [
    *((mechanism, ITEMS) for mechanism in (
        sd.KRR(k=6, eps0=1.0), sd.RAPPOR(d=6, eps0=2.0), sd.OUE(d=6, eps0=0.5),
        sd.BLH(domain=6, eps0=1.5), sd.OLH(domain=6, eps0=2.0),
        sd.LocalHash(domain=6, l=3, eps0=1.0),
        sd.SubsetSelection(d=6, eps0=1.0), sd.HadamardResponse(domain=6, eps0=2.0),
        sd.HadamardResponse(domain=6, eps0=2.0, blocks=3), sd.PIRAPPOR(domain=6, eps0=1.0),
        sd.ProjectiveGeometry(domain=6, eps0=1.0), sd.Channel(matrix=MATRIX),
        sd.PoissonSubsample(sd.KRR(k=5, eps0=1.0), rate=0.4), sd.Hierarchy(domain=6, eps0=2.0),
        sd.DiscreteLaplace(top=4, eps0=1.0), sd.DiscreteLaplace(top=4, eps0=2.0, clamped=True),
        sd.DiscreteGaussian(top=4, sigma=2.0))),
    (sd.BinaryRR(eps0=1.0), BITS),
    *((mechanism, SETS) for mechanism in (
        sd.Wheel(domain=8, s=2, eps0=1.5), sd.SamplingRAPPOR(d=8, s=2, eps0=2.0))),
    *((sd.PCKVGRR(domain=8, s=2, eps0=2.0, padding=padding), PAIRS) for padding in (False, True)),
    *((mechanism, SHARES) for mechanism in (
        sd.Laplace(eps0=2.0), sd.Gaussian(sigma=0.7), sd.GeneralizedGaussian(shape=1.5, scale=0.5),
        sd.Staircase(eps0=2.0), sd.Duchi(eps0=1.0), sd.Piecewise(eps0=1.0), sd.Hybrid(eps0=2.0),
        sd.ClampedLaplace(eps0=1.0), sd.TruncatedLaplace(eps0=2.0, margin=0.3),
        sd.MetricLaplace(scale=0.5, distance=0.3), GIVEN,
        sd.PoissonSubsample(sd.Laplace(eps0=2.0), rate=0.5))),
    *((mechanism, POINTS) for mechanism in (
        sd.GaussianBall(d=2, sigma=1.0, radius=2.0), sd.LaplaceBall(d=2, scale=0.5, radius=2.0))),
    (sd.PrivUnit(d=2, c=0.3, eps0=2.0), AROUND),
    *((mechanism, RECORDS) for mechanism in (
        sd.Joint(TWO), sd.Parallel(TWO, weights=(0.25, 0.75)))),
]  # fmt: skip


def numbers(estimate):
    """Every number that an estimate has, and its standard error."""
    if hasattr(estimate, "parts"):
        return tuple(map(np.concatenate, zip(*map(numbers, estimate.parts), strict=True)))
    if isinstance(estimate, HierarchyEstimate):
        found = [estimate.range(*ends) for ends in RANGES]
        return np.array([r.value for r in found]), np.array([r.standard_error for r in found])
    if hasattr(estimate, "frequencies"):
        return estimate.frequencies, estimate.standard_errors
    mean = np.atleast_1d(estimate.mean)
    return mean, np.broadcast_to(estimate.standard_error, mean.shape)


def truth(estimate, values):
    """What the estimate is of."""
    if hasattr(estimate, "parts"):
        parts = zip(estimate.parts, values.T, strict=True)
        return np.concatenate([truth(part, column) for part, column in parts])
    if isinstance(estimate, HierarchyEstimate):
        return np.array([((values >= low) & (values < high)).mean() for low, high in RANGES])
    if hasattr(estimate, "frequencies"):
        held = values[..., 0] if values.dtype == float else values
        return np.bincount(held.astype(int).ravel(), minlength=len(estimate.frequencies)) / USERS
    return np.atleast_1d(values.mean(axis=0))


def test_every_mechanism_is_run():
    assert {m.name for m, _ in RUN} - {"density"} == {*randomizer_names()}


@pytest.mark.parametrize(("mechanism", "values"), RUN, ids=[repr(m)[:60] for m, _ in RUN])
def test_unbiased_and_of_the_stated_variance(mechanism, values):
    # Its variance is an integral, found again for every estimate.
    count = 30 if isinstance(mechanism, sd.TruncatedLaplace) else GROUPS
    reports = mechanism.simulate(np.concatenate([values] * count), seed=8)
    groups = [mechanism.estimate(one) for one in np.split(reports, count)]
    found, errors = (np.array(of) for of in zip(*map(numbers, groups), strict=True))
    true, variance = truth(groups[0], values), np.var(found, axis=0, ddof=1)
    assert (abs(found.mean(axis=0) - true) <= FAR * np.sqrt(variance / count) + 1e-12).all()
    stated = (errors**2).mean(axis=0)
    room = FAR * np.sqrt(2.0 / count)
    # Of means the largest over all values is said.
    assert (variance <= stated * (1.0 + room)).all()
    assert not hasattr(groups[0], "frequencies") or (variance >= stated * (1.0 - room)).all()


@pytest.mark.parametrize("padding", [False, True])
def test_values_of_keys_too(padding):
    mechanism = sd.PCKVGRR(domain=8, s=2, eps0=2.0, padding=padding)
    reports = mechanism.simulate(np.concatenate([PAIRS] * GROUPS), seed=9)
    found = np.array([mechanism.estimate_values(r).mean for r in np.split(reports, GROUPS)])
    true = np.zeros(8)
    np.add.at(true, PAIRS[..., 0].astype(int), PAIRS[..., 1] / USERS)
    scatter = np.std(found, axis=0, ddof=1)
    assert (abs(found.mean(axis=0) - true) <= FAR * scatter / np.sqrt(GROUPS)).all()
    stated = mechanism.estimate_values(reports).standard_error * np.sqrt(GROUPS)
    assert (abs(scatter / stated - 1.0) <= FAR / np.sqrt(2 * GROUPS)).all()
