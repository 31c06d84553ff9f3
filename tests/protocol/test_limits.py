"""Limits from the law of counts: against convolution, brute force and every possible count."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import shuffledp as sd
from shuffledp.statistics.counts import Counts, Step, hoeffding_ends, log_reached
from shuffledp.statistics.estimates import Aggregate

chances = st.sampled_from([0.0, 1e-9, 1e-4, 0.01, 0.2, 0.5, 0.77, 0.999, 1.0])


def steps(p):
    return Step(p, 1.0 - p)


def convolved(groups):
    """Probabilities of the sum's values, from the least on."""
    law = np.ones(1)
    for trials, step in groups:
        one = np.array([step.down, step.stay, step.up])
        for _ in range(trials):
            law = np.convolve(law, one)
    return law, -sum(trials for trials, _ in groups)


def as_groups(groups, size):
    return [(np.full(size, float(trials)), step) for trials, step in groups]


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 30), st.tuples(*[chances] * 3))
def test_tails_are_those_of_the_convolution(n, m, other, p):
    groups = [(min(m, n), steps(p[0])), (n - min(m, n), steps(p[1])), (other, steps(p[2]))]
    law, first = convolved(groups)
    values = np.arange(law.size) + first
    possible = values[law > 0.0]
    # From above the least to the largest that can be; below it nothing is asked.
    counts = np.arange(possible[0] + 1, possible[-1] + 1, dtype=float)
    tails = np.array([math.fsum(law[values >= c]) for c in counts])
    found = np.exp(log_reached(counts, as_groups(groups, counts.size)))
    seen = tails > 1e-200
    assert np.allclose(found[seen], tails[seen], rtol=1e-10, atol=0.0)


@pytest.mark.many(8)
@pytest.mark.parametrize("tail", [0.2, 0.025, 1e-5])
@pytest.mark.parametrize(
    ("n", "p", "q", "others", "r"),
    [
        (40, 0.9, 0.01, 0, 0.5),
        (30, 1.0, 0.0, 60, 0.03),
        (50, 0.6, 0.3, 0, 0.5),
        (25, 0.99, 0.01, 25, 0.01),
    ],
)
def test_limits_are_the_first_that_are_likely_enough(n, p, q, others, r, tail):
    counts = np.arange(n + others + 1.0)
    rest = (np.full(counts.size, float(others)), steps(r))
    law = Counts(counts, np.full(counts.size, float(n)), n, steps(p), steps(q), (rest,))
    low, high = (np.round(end * n) for end in law.ends(tail))
    above, below = np.zeros((n + 1, counts.size)), np.zeros((n + 1, counts.size))
    for m in range(n + 1):
        pmf, first = convolved([(m, steps(p)), (n - m, steps(q)), (others, steps(r))])
        pmf = pmf[-first:]
        above[m] = np.cumsum(pmf[::-1])[::-1]
        below[m] = np.cumsum(pmf)
    least = np.where((above >= tail).any(axis=0), np.argmax(above >= tail, axis=0), n)
    most = np.where((below >= tail).any(axis=0), n - np.argmax((below >= tail)[::-1], axis=0), 0)
    assert np.array_equal(low, least)
    assert np.array_equal(high, most)


@pytest.mark.parametrize(
    "mechanism",
    [
        sd.KRR(k=50, eps0=6.0),
        sd.OUE(d=9, eps0=4.0),
        sd.SubsetSelection(d=30, eps0=2.0),
        sd.OLH(domain=40, eps0=5.0),
        sd.SamplingRAPPOR(d=12, s=3, eps0=5.0),
        sd.HadamardResponse(domain=10, eps0=1.0),
    ],
    ids=lambda m: m.name,
)
@pytest.mark.parametrize("n", [1, 7, 60])
def test_every_number_of_holders_is_covered(mechanism, n):
    """Exactly: over all counts, for all m, at three levels; nothing is simulated."""
    if isinstance(mechanism, sd.HadamardResponse):
        grow = math.exp(mechanism.eps0)
        rates = (grow / (grow + 1.0), 0.5)
        sums = np.array([2.0 * np.arange(n + 1.0) - n, np.full(n + 1, float(n))])
    else:
        rates = (mechanism.support.own, mechanism.support.other)
        sums = np.arange(n + 1.0)
    found = mechanism.estimate(Aggregate(n, sums))
    for confidence in (0.5, 0.95, 1.0 - 1e-6):
        low, high = found.interval(confidence=confidence)
        assert np.all((low <= found.frequencies) & (found.frequencies <= high))
        for m in range(n + 1):
            law = np.convolve(
                stats.binom.pmf(np.arange(m + 1), m, rates[0]),
                stats.binom.pmf(np.arange(n - m + 1), n - m, rates[1]),
            )
            inside = (low <= m / n + 1e-12) & (m / n - 1e-12 <= high)
            assert math.fsum(law[~inside]) <= (1.0 - confidence) * (1.0 + 1e-9)


def worst_bits(n, sums):
    """Laws of n bits with these sums that are 0, 1 or of one other probability (Theorem 10.1)."""
    for ones, others in itertools.product(range(n), range(1, n + 1)):
        if ones + others > n:
            continue
        p = (sums - ones) / others
        p = p[(p >= 0.0) & (p <= 1.0), None]
        law = np.zeros((p.size, n + 1))
        law[:, ones : ones + others + 1] = stats.binom.pmf(np.arange(others + 1), others, p)
        yield ones + others * p[:, 0], law


def missed(limits, n):
    """The largest one-sided misses, over sums all about and next to every limit."""
    below, above = np.array(limits).T
    edges = np.concatenate([below, above]) * n
    sums = np.concatenate([edges * (1.0 - 1e-9), edges * (1.0 + 1e-9), np.linspace(0.0, n, 50)])
    worst = np.zeros(2)
    for truth, law in worst_bits(n, sums):
        for side, out in enumerate((below * n > truth[:, None], above * n < truth[:, None])):
            worst[side] = max(worst[side], float((law * out).sum(axis=1).max(initial=0.0)))
    return worst


@pytest.mark.many(8)
@pytest.mark.parametrize("tail", [0.0005, 0.025, 0.05, 0.1, 0.25, 0.4, 0.49])
@pytest.mark.parametrize("n", [1, 2, 5, 13])
def test_bits_of_any_probabilities_are_covered_and_no_more(n, tail):
    worst = missed([hoeffding_ends(ones, n, tail) for ones in range(n + 1)], n)
    assert np.all(worst <= tail)
    assert np.all(worst >= 0.999 * tail)


@pytest.mark.parametrize("eps0", [0.1, 1.0, 3.0, 8.0, 12.0])
def test_intervals_of_duchi_cover_any_values(eps0):
    """On either side: values at both ends and some of one more, by enumeration of the bits."""
    n, mechanism = 8, sd.Duchi(eps0=eps0)
    slope = math.tanh(0.5 * eps0)
    reports = [np.repeat([0, 1], [n - s, s]).astype(np.uint8) for s in range(n + 1)]
    answers = [mechanism.estimate(one) for one in reports]
    for confidence in (0.2, 0.5, 0.9, 0.95):
        ends = np.array([one.interval(confidence=confidence) for one in answers])
        for low, high in itertools.product(range(n), repeat=2):
            if low + high >= n:
                continue
            for x in np.linspace(-0.999, 0.999, 24):
                values = np.repeat([-1.0, 1.0, x], [low, high, n - low - high])
                law = np.ones(1)
                for one in 0.5 + 0.5 * slope * values:
                    law = np.convolve(law, [1.0 - one, one])
                mean = values.mean()
                for out in (ends[:, 0] > mean + 1e-12, ends[:, 1] < mean - 1e-12):
                    assert law[out].sum() <= 0.5 * (1.0 - confidence)
