"""PoissonSubsample: law, bounds, sampler and estimator against full distributions."""

import math

import numpy as np
import pytest

import shuffledp as sd
from randomizers.sources import LEAST_P_VALUE, Script, fits


def test_what_vanishes_in_a_product():
    """Of two outputs together that no third input gives."""
    one = sd.Channel(matrix=((0.5, 0.5), (1.0, 1e-170)))
    other = sd.Channel(matrix=((0.5, 0.5), (1.0, 1e-154)))
    found = sd.shuffle(sd.Joint((one, other)), n=2).delta(epsilon=709.0)
    assert found.lower <= 0.25 <= found.upper


def test_guarantees_of_one_report():
    part = sd.Gaussian(sigma=1.0)
    sampled = sd.PoissonSubsample(part, rate=0.1)
    assert sampled.eps0 == math.inf
    assert sampled.local_epsilon(1e-7) == pytest.approx(part.local_epsilon(1e-6), rel=1e-12)
    assert sampled.local_epsilon(0.2) == 0.0
    assert sd.PoissonSubsample(sd.BinaryRR(eps0=1.0), rate=0.1).eps0 == 1.0


def test_sampler_has_the_law():
    sampled = sd.PoissonSubsample(sd.KRR(k=3, eps0=1.0), rate=0.3)
    reports = sampled.simulate([2] * 100_000, seed=7)
    place = np.where(reports["choice"] == 0, 3, reports["part0"])
    law = np.append(0.3 * np.array([1, 1, math.e]) / (2 + math.e), 0.7)
    counts = np.bincount(place, minlength=4)
    assert fits(counts, law) > LEAST_P_VALUE
    assert fits(counts, law[[1, 2, 0, 3]]) < LEAST_P_VALUE


@pytest.mark.parametrize(("rate", "word"), [(0.25, 1 << 62), (1.0, 1 << 64), (1e-30, 1)])
def test_rates_are_words(rate, word):
    sampled = sd.PoissonSubsample(sd.BinaryRR(eps0=1.0), rate=rate)
    assert float(sampled.shares[0]) == word / 2**64
    # The first words mean no report.
    edge = [2**64 - word, 2**64 - word - 1] if word < 1 << 64 else [0, 2**64 - 1]
    taken = sampled._sample(np.array([0, 0]), Script([*edge, *[2**64 - 1] * 4]))["choice"]
    assert list(taken) == [1, 0 if word < 1 << 64 else 1]


def test_estimates_are_unbiased_and_of_the_stated_variance():
    sampled = sd.PoissonSubsample(sd.KRR(k=3, eps0=1.0), rate=0.3)
    total = math.e + 2
    for x in range(3):
        moments = np.zeros((2, 3))
        blank = sampled.simulate([0], seed=1)
        for choice, y in [(0, 0), (1, 0), (1, 1), (1, 2)]:
            report = blank.copy()
            report["choice"], report["part0"] = choice, y
            p = 0.7 if choice == 0 else 0.3 * (math.e if x == y else 1.0) / total
            value = sampled.estimate(report).frequencies
            moments += p * np.array([value, value**2])
        for item in range(3):
            held = float(item == x)
            assert moments[0, item] == pytest.approx(held, abs=1e-12)
            spread = moments[1, item] - moments[0, item] ** 2
            assert spread == pytest.approx(sampled.variance(held), rel=1e-12)


def test_means_are_unbiased_within_the_stated_variance():
    part = sd.Laplace(eps0=2.0, low=-1.0, high=3.0)
    sampled = sd.PoissonSubsample(part, rate=0.5)
    values = np.full(40_000, 2.5)
    found = sampled.estimate(sampled.simulate(values, seed=3))
    assert abs(found.mean - 2.5) < 5 * found.standard_error
    assert found.standard_error == pytest.approx(math.sqrt(sampled.variance() / 40_000))
    assert sampled.variance() == pytest.approx((part.variance() + 0.5 * 4.0) / 0.5)
