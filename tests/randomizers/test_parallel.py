"""Parallel: law, pairs, worst pairs, bounds, sampler and estimator against full distributions."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from enumerated import exponential
from randomizers import composed_cases as cases
from randomizers.sources import LEAST_P_VALUE, fits
from randomizers.test_joint import response
from shuffledp.bounds.profile import Profile
from shuffledp.laws import pairs
from shuffledp.randomizers.parallel import words_of
from strategies import channels

UNIT = 1 << 64
SHARES = st.integers(1, 15).map(lambda k: [k / 16, 1 - k / 16])


def exact_weights(randomizer):
    return [Fraction(word, UNIT) for word in randomizer.__dict__["_words"]]


def rows_of(randomizer):
    parts = [cases.rows_of(part) for part in randomizer.randomizers]
    return cases.parallel_rows(parts, exact_weights(randomizer))


@settings(max_examples=12)
@given(
    channels(zeros=False, largest=2),
    channels(largest=2),
    SHARES,
    st.integers(1, 2),
    st.sampled_from([0.0, 0.05, 0.4, 1.3]),
)
def test_bounds_hold_against_all_datasets(first, second, weights, n, epsilon):
    parallel = sd.Parallel([first, second], weights=weights)
    low, high = exponential(epsilon)
    bound = sd.shuffle(parallel, n=n, rtol=1e-3).delta(epsilon=epsilon)
    rows = rows_of(parallel)
    assert Fraction(bound.upper) >= cases.worst_delta(rows, n, low)
    assert Fraction(bound.lower) <= cases.worst_delta(rows, n, high)


@pytest.mark.parametrize(("n", "alpha"), [(1, 2), (2, Fraction(3, 2)), (3, Fraction(9, 8))])
def test_all_values_differing_is_worst(n, alpha):
    alpha = Fraction(alpha)
    rows = cases.parallel_rows([response(3, 4), response(2, 3)], [Fraction(1, 3), Fraction(2, 3)])
    value = {
        pair: cases.blanket_delta(rows, *pair, n, alpha) for pair in itertools.permutations(rows, 2)
    }
    worst = value[(0, 0), (1, 1)]
    assert all(found <= worst for found in value.values())
    assert value[(0, 0), (1, 0)] < worst


def test_declared_pairs_dominate_channels():
    rng = np.random.default_rng(4)
    parts = []
    for _ in range(2):
        matrix = rng.integers(1, 30, (3, 2))
        matrix[:, 1] = 64 - matrix[:, 0]
        parts.append(sd.Channel(matrix=(matrix / 64).tolist()))
    parallel = sd.Parallel(parts, weights=[0.25, 0.75])
    rows = rows_of(parallel)
    declared = parallel.worst_pairs().pairs
    for n, alpha in ((1, Fraction(1)), (2, Fraction(9, 8))):
        top = max(cases.blanket_delta(rows, *pair, n, alpha) for pair in declared)
        assert all(
            cases.blanket_delta(rows, *pair, n, alpha) <= top
            for pair in itertools.permutations(rows, 2)
        )


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


def test_noise_beside_categories():
    parallel = sd.Parallel([sd.Laplace(eps0=1.0), sd.KRR(k=4, eps0=1.0)], weights=[0.5, 0.5])
    bound = sd.shuffle(parallel, n=1000).epsilon(delta=1e-6)
    assert bound.upper_width < 1e-4


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


def test_standard_errors_are_of_the_estimated_frequencies():
    parallel = sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.OUE(d=4, eps0=0.7)], weights=[0.3, 0.7])
    reports = parallel.simulate([(2, 1), (1, 3)] * 2000, seed=2)
    for j, part in enumerate(parallel.estimate(reports).parts):
        for f, error in zip(part.frequencies, part.standard_errors, strict=True):
            wanted = math.sqrt(parallel.variances(min(1.0, max(0.0, f)))[j] / 4000)
            assert error == pytest.approx(wanted, rel=1e-12)


def test_aggregates_merge():
    parallel = sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.OUE(d=4, eps0=0.7)], weights=[0.3, 0.7])
    reports = parallel.simulate([(2, 1), (1, 3)] * 200, seed=2)
    whole = parallel.estimate(reports)
    parts = parallel.estimate(parallel.aggregate(reports[:37]) + parallel.aggregate(reports[37:]))
    for one, two in zip(whole.parts, parts.parts, strict=True):
        assert np.array_equal(one.frequencies, two.frequencies)


def test_a_mechanism_that_was_never_drawn():
    parallel = sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.OUE(d=4, eps0=0.7)], weights=[1e-18, 1.0])
    found = parallel.estimate(parallel.simulate([(2, 1)] * 5, seed=2)).parts[0]
    assert (found.frequencies == 0.0).all()
    assert found.standard_errors[0] == pytest.approx(math.sqrt(parallel.variances()[0] / 5))


def test_tables_and_back():
    parallel = sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.OUE(d=4, eps0=0.7)], weights=[1 / 3, 2 / 3])
    assert sd.randomizer_from_dict(json.loads(json.dumps(parallel.to_dict()))) == parallel
    nested = sd.Joint([parallel, sd.BinaryRR(eps0=1.0)])
    assert sd.randomizer_from_dict(json.loads(json.dumps(nested.to_dict()))) == nested
    assert nested.worst_pairs().pairs == ((((0, 0), 0), ((1, 1), 1)),)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5], "weights"),
        ([0.5, 0.6], "weights"),
        ([1.0, 0.0], "weights = 0.0"),
        ([1.5, -0.5], "weights = 1.5"),
        ("ab", "weights = 'ab'"),
        (None, "weights = None"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.Parallel([sd.BinaryRR(eps0=1.0)] * 2, weights=weights)


def test_bad_reports_are_refused():
    parallel = sd.Parallel([sd.BinaryRR(eps0=1.0)] * 2, weights=[0.5, 0.5])
    reports = parallel.simulate([(0, 1)], seed=1)
    reports["choice"] = 2
    with pytest.raises(sd.ParameterError, match=r"reports choice\[0\] = 2"):
        parallel.aggregate(reports)
    with pytest.raises(sd.ParameterError, match="at least one report"):
        parallel.estimate(reports[:0])
