"""PoissonSubsample: law, bounds, sampler and estimator against full distributions."""

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
from laws import blanket_pair
from randomizers import composed_cases as cases
from randomizers.sources import LEAST_P_VALUE, Script, fits
from strategies import channels

RATES = st.integers(1, 16).map(lambda k: k / 16)


def rows_of(channel, rate):
    return cases.subsampled_rows(cases.rows_of(channel), Fraction(rate))


@settings(max_examples=6)
@given(channels(largest=3), RATES, st.integers(1, 4), st.sampled_from([0.0, 0.05, 0.4, 1.3]))
def test_bounds_hold_against_all_datasets(channel, rate, n, epsilon):
    low, high = exponential(epsilon)
    bound = sd.shuffle(sd.PoissonSubsample(channel, rate=rate), n=n, rtol=1e-3).delta(
        epsilon=epsilon
    )
    rows = rows_of(channel, rate)
    assert Fraction(bound.upper) >= cases.worst_delta(rows, n, low)
    assert Fraction(bound.lower) <= cases.worst_delta(rows, n, high)


def test_what_vanishes_in_a_product():
    """Of two outputs together that no third input gives."""
    one = sd.Channel(matrix=((0.5, 0.5), (1.0, 1e-170)))
    other = sd.Channel(matrix=((0.5, 0.5), (1.0, 1e-154)))
    found = sd.shuffle(sd.Joint((one, other)), n=2).delta(epsilon=709.0)
    assert found.lower <= 0.25 <= found.upper


def test_the_constant_message_has_gain_one_minus_e_to_the_eps():
    pair = blanket_pair(sd.PoissonSubsample(sd.KRR(k=3, eps0=1.0), rate=0.25), 0, 1, n=5)
    at = (pair.a == 1.0) & (pair.b == 1.0)
    total = math.e + 2
    assert pair.w[at].sum() == pytest.approx(0.75 + 0.25 / total, rel=1e-14)


def test_given_the_number_of_reports():
    """By the number m of reports: the victim's is one of them, or it is among the absent."""
    n, rate = 6, Fraction(1, 4)
    channel = sd.Channel(matrix=[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    rows = dict(enumerate(cases.rows_of(channel)))
    whole = rows_of(channel, 0.25)
    floor = Fraction(1, 4)
    for alpha in (Fraction(1), Fraction(5, 4)):
        gains = [(p - alpha * q) / floor for p, q in zip(rows[0], rows[1], strict=True)]
        total, taking_part = Fraction(0), Fraction(0)
        for m in range(n + 1):
            share = math.comb(n, m) * rate**m * (1 - rate) ** (n - m)
            for drawn in itertools.product([*gains, Fraction(0)], repeat=m):
                p = share / 4**m
                total += p * max(sum(drawn) + (n - m) * (1 - alpha), Fraction(0)) / n
                taking_part += p * max(sum(drawn), Fraction(0)) / n
        assert cases.blanket_delta(whole, 0, 1, n, alpha) == total
        # The coin is worth more than a factor: 0 is replaced by 1 - e^eps.
        assert total < taking_part or alpha == 1


def test_a_coin_of_the_mechanism_is_worth_more_than_dropping_out():
    """n users with a private coin against the same expected number who surely report."""
    n, part = 20_000, sd.KRR(k=4, eps0=2.0)
    sampled = sd.shuffle(sd.PoissonSubsample(part, rate=0.1), n=n).epsilon(delta=1e-6)
    dropped = sd.shuffle(part, n=n // 10).epsilon(delta=1e-6)
    everybody = sd.shuffle(part, n=n).epsilon(delta=1e-6)
    assert sampled.upper < everybody.lower < dropped.lower


def test_guarantees_of_one_report():
    part = sd.Gaussian(sigma=1.0)
    sampled = sd.PoissonSubsample(part, rate=0.1)
    assert sampled.eps0 == math.inf
    assert sampled.local_epsilon(1e-7) == pytest.approx(part.local_epsilon(1e-6), rel=1e-12)
    assert sampled.local_epsilon(0.2) == 0.0
    assert sd.PoissonSubsample(sd.BinaryRR(eps0=1.0), rate=0.1).eps0 == 1.0


def test_rate_one_is_the_mechanism_itself():
    part = sd.KRR(k=4, eps0=2.0)
    pair = blanket_pair(sd.PoissonSubsample(part, rate=1.0), 0, 1, n=100)
    alone = blanket_pair(part, 0, 1, n=100)
    assert sorted(pair.w) == pytest.approx(sorted(alone.w), rel=1e-15)


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


def test_tables_and_back():
    sampled = sd.PoissonSubsample({"name": "k-rr", "k": 3, "eps0": 1.0}, rate=0.3)
    assert sd.randomizer_from_dict(json.loads(json.dumps(sampled.to_dict()))) == sampled
    assert sampled.message_bits == pytest.approx(2.0)


@pytest.mark.parametrize("rate", [0.0, 1.1, -0.5, math.nan, None])
def test_bad_rates_are_refused(rate):
    with pytest.raises(sd.ParameterError, match="rate"):
        sd.PoissonSubsample(sd.BinaryRR(eps0=1.0), rate=rate)


def test_bad_reports_are_refused():
    sampled = sd.PoissonSubsample(sd.BinaryRR(eps0=1.0), rate=0.5)
    reports = sampled.simulate([0], seed=1)
    reports["choice"] = 2
    with pytest.raises(sd.ParameterError, match=r"reports choice\[0\] = 2"):
        sampled.aggregate(reports)
    with pytest.raises(sd.ParameterError, match="randomizers = 3"):
        sd.PoissonSubsample(3, rate=0.5)
