"""Parallel: law, pairs, worst pairs, bounds, sampler and estimator against full distributions."""

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from randomizers.sources import LEAST_P_VALUE, fits
from shuffledp.laws import pairs
from shuffledp.propose.profile import Profile
from shuffledp.randomizers.one_of import words_of

UNIT = 1 << 64


def test_one_mechanism_twice_is_that_mechanism():
    """The public choice of equal mechanisms says nothing."""
    part = sd.KRR(k=5, eps0=1.5)
    twice = sd.Parallel([part, part], weights=[0.3, 0.7])
    whole = pairs.blanket_pair(twice, (0, 0), (1, 1), n=1000)
    single = pairs.blanket_pair(part, 0, 1, n=1000)
    for epsilon in (0.1, 0.5):
        one = Profile(whole).log_delta(epsilon, width=1e-6)
        two = Profile(single).log_delta(epsilon, width=1e-6)
        assert max(one.low, two.low) <= min(one.high, two.high)


def test_guarantees_of_one_report():
    parts = [sd.KRR(k=4, eps0=1.0), sd.KRR(k=4, eps0=2.0)]
    parallel = sd.Parallel(parts, weights=[0.9, 0.1])
    assert parallel.eps0 == 2.0
    assert parallel.local_epsilon(1e-6) == 2.0
    assert sd.Parallel([*parts, sd.Gaussian(sigma=1.0)], weights=[0.4, 0.4, 0.2]).eps0 == math.inf


# ---------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("weights", [[0.5, 0.5], [1 / 3] * 3, [0.1] * 10, [1e-30, 1.0], [1.0]])
def test_words_are_the_weights_in_units_of_2_to_the_minus_64(weights):
    words = words_of(weights)
    assert sum(words) == UNIT
    assert min(words) >= 1
    total = sum(map(Fraction, weights))
    for word, weight in zip(words, weights, strict=True):
        assert abs(word - Fraction(weight) / total * UNIT) <= max(1, len(weights))
    parallel = sd.Parallel([sd.BinaryRR(eps0=1.0)] * len(weights), weights=weights)
    for share, word in zip(parallel.shares, words, strict=True):
        assert abs(Fraction(share) - Fraction(word, UNIT)) <= Fraction(word, UNIT) / 2**53


# ----------------------------------------------------------------------------- running it


def test_sampler_has_the_law():
    parallel = sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=0.7)], weights=[0.3, 0.7])
    reports = parallel.simulate([(2, 1)] * 100_000, seed=5)
    place = np.where(reports["choice"] == 0, reports["part0"], 3 + reports["part1"].astype(int))
    assert (reports["part1"][reports["choice"] == 0] == 0).all()
    first = np.array([1, 1, math.e]) / (2 + math.e)
    second = np.array([1, math.exp(0.7)]) / (1 + math.exp(0.7))
    law = np.concatenate([0.3 * first, 0.7 * second])
    counts = np.bincount(place, minlength=5)
    assert fits(counts, law) > LEAST_P_VALUE
    assert fits(counts, law[::-1]) < LEAST_P_VALUE


def full_outputs(parallel, record):
    """(probability, report) of every output of a Parallel of k-RRs under a record."""
    blank = parallel.simulate([record], seed=1)[:1].copy()
    for j, (part, share, x) in enumerate(
        zip(parallel.randomizers, parallel.shares, record, strict=True)
    ):
        size = part.items
        total = math.exp(part.eps0) + size - 1
        for y in range(size):
            report = blank.copy()
            for name in report.dtype.names:
                report[name] = 0
            report["choice"], report[f"part{j}"] = j, y
            yield share * (math.exp(part.eps0) if x == y else 1.0) / total, report


def test_estimates_are_unbiased_and_of_the_stated_variance():
    """Over every output of one user: mean and variance of the estimate, exactly."""
    parallel = sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=0.7)], weights=[0.3, 0.7])
    for record in ((2, 1), (0, 0)):
        moments = {}
        for p, report in full_outputs(parallel, record):
            found = parallel.estimate(report)
            for j, part in enumerate(found.parts):
                for item, value in enumerate(part.frequencies):
                    old = moments.get((j, item), (0.0, 0.0))
                    moments[j, item] = (old[0] + p * value, old[1] + p * value**2)
        for (j, item), (mean, square) in moments.items():
            held = float(record[j] == item)
            assert mean == pytest.approx(held, abs=1e-12)
            assert square - mean**2 == pytest.approx(parallel.variances(held)[j], rel=1e-12)


def test_a_mechanism_that_was_never_drawn():
    parallel = sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.OUE(d=4, eps0=0.7)], weights=[1e-18, 1.0])
    found = parallel.estimate(parallel.simulate([(2, 1)] * 5, seed=2)).parts[0]
    assert (found.frequencies == 0.0).all()
    assert found.standard_errors[0] == pytest.approx(math.sqrt(parallel.variances()[0] / 5))
