"""Estimators by enumeration: the mean and the variance over every output, not by simulation."""

import math

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from randomizers.finite import FINITE, outputs
from shuffledp.mechanism.base import mechanism_class

CLOSE = 1e-11


RANDOMIZERS = [
    mechanism_class(name)(**arguments, eps0=eps0)
    for eps0 in (1e-3, 0.7, 2.0, 12.0, 30.0)
    for name, record in FINITE.items()
    for arguments in record.estimated
]
# What does not depend on eps0 is asked once of each.
ONCE = [randomizer for randomizer in RANDOMIZERS if randomizer.eps0 == 2.0]


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=repr)
def test_unbiased_and_of_the_stated_variance(randomizer):
    """Over all outputs: E[estimate of item v | input x] = 1{v = x}, and its variance exactly."""
    rows, reports = outputs(randomizer)
    single = np.array(
        [randomizer.estimate(reports[i : i + 1]).frequencies for i in range(len(reports))]
    )
    for x, row in enumerate(rows):
        for item in range(len(rows)):
            values = [arb(float(v)) for v in single[:, item]]
            mean = sum((p * v for p, v in zip(row, values, strict=True)), start=arb(0))
            second = sum((p * v * v for p, v in zip(row, values, strict=True)), start=arb(0))
            size = math.sqrt(float(second))
            assert abs(float(mean) - (item == x)) <= CLOSE * (1.0 + size)
            wanted = randomizer.variance(float(item == x))
            spread = float(second - mean * mean)
            # Floats of the estimates leave about u E[v^2] in the difference.
            assert abs(spread - wanted) <= CLOSE * wanted + 1e-13 * float(second)


@pytest.mark.parametrize("randomizer", ONCE, ids=repr)
def test_aggregates_merge(randomizer):
    _, reports = outputs(randomizer)
    drawn = reports[np.random.default_rng(1).integers(0, len(reports), 500)]
    whole = randomizer.aggregate(drawn)
    parts = randomizer.aggregate(drawn[:123]) + randomizer.aggregate(drawn[123:])
    assert parts.count == whole.count == 500
    assert np.array_equal(parts.sums, whole.sums)
    assert np.array_equal(
        randomizer.estimate(parts).frequencies, randomizer.estimate(drawn).frequencies
    )


def test_published_variances():
    """At frequency 0, as in the papers."""
    for e in (0.3, 2.0, 7.0):
        E = math.exp(e)
        for k in (2, 10, 10**6):
            assert sd.KRR(k=k, eps0=e).variance() == pytest.approx(
                (E + k - 2) / (E - 1) ** 2, rel=1e-12
            )
        for d in (2, 10, 10**6):
            w = math.exp(0.5 * e)
            assert sd.RAPPOR(d=d, eps0=e).variance() == pytest.approx(w / (w - 1) ** 2, rel=1e-12)
            assert sd.OUE(d=d, eps0=e).variance() == pytest.approx(4 * E / (E - 1) ** 2, rel=1e-12)
        for l in (2, 5, 1000):
            wanted = (E + l - 1) ** 2 / ((E - 1) ** 2 * (l - 1))
            hashed = sd.LocalHash(domain=10, l=l, eps0=e)
            assert hashed.variance() == pytest.approx(wanted, rel=1e-12)
