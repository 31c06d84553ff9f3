"""Estimators by enumeration: the mean and the variance over every output, not by simulation."""

import math

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from randomizers.finite import FINITE, outputs
from shuffledp.mechanism.base import mechanism_class
from shuffledp.statistics.estimates import Aggregate

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


@pytest.mark.parametrize("randomizer", ONCE, ids=repr)
def test_some_items_only(randomizer):
    _, reports = outputs(randomizer)
    whole = randomizer.estimate(reports)
    some = randomizer.estimate(randomizer.aggregate(reports, items=[1, 0, 1]))
    assert np.array_equal(some.frequencies, whole.frequencies[[1, 0, 1]])
    assert np.array_equal(some.standard_errors, whole.standard_errors[[1, 0, 1]])


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=repr)
def test_standard_error_is_of_the_estimated_frequencies(randomizer):
    _, reports = outputs(randomizer)
    found = randomizer.estimate(reports)
    for f, error in zip(found.frequencies, found.standard_errors, strict=True):
        wanted = math.sqrt(randomizer.variance(min(1.0, max(0.0, f))) / len(reports))
        assert error == pytest.approx(wanted, rel=1e-12)


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


@pytest.mark.parametrize("randomizer", ONCE, ids=repr)
def test_bad_reports_are_refused(randomizer):
    _, reports = outputs(randomizer)
    with pytest.raises(sd.ParameterError, match="at least one report"):
        randomizer.estimate(reports[:0])
    with pytest.raises(sd.ParameterError, match="frequency"):
        randomizer.variance(1.5)
    with pytest.raises(sd.ParameterError, match=r"items\[0\] = -1"):
        randomizer.aggregate(reports, items=[-1])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([0, 5, 9]), r"reports\[1\] = 5: .* \(2 of 3 are refused\)"),
        (np.array([0, -1]), r"reports\[1\] = -1"),
        (np.array([0.0, 1.0]), r"reports\[0\] = .*integer type"),
        (np.array([True]), r"reports\[0\]"),
        (np.array([[0, 1]]), "reports shape"),
    ],
)
def test_bad_categories_are_refused(bad, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.KRR(k=5, eps0=1.0).aggregate(bad)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((3, 1), dtype=np.uint8), r"reports shape = \(3, 1\): wanted \(n, 2\)"),
        (np.zeros(2, dtype=np.uint8), "reports shape"),
        (np.zeros((3, 2), dtype=np.int8), "reports type = 'int8'"),
        (np.array([[0, 0], [0, 1]], dtype=np.uint8), r"last byte of reports\[1\] = 1"),
    ],
)
def test_bad_bits_are_refused(bad, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.RAPPOR(d=9, eps0=1.0).aggregate(bad)


def test_few_items_of_a_large_domain():
    """Without a table of the domain."""
    for randomizer in (sd.KRR(k=10**9, eps0=25.0), sd.SubsetSelection(d=10**9, eps0=25.0)):
        reports = randomizer.simulate(np.full(1000, 999_999_999), seed=1)
        found = randomizer.aggregate(reports, items=[5, 999_999_999, 5])
        assert found.sums.tolist() == [0.0, (reports == 999_999_999).sum(), 0.0]
        assert randomizer.aggregate(reports, items=[]).sums.shape == (0,)


@pytest.mark.parametrize(
    "randomizer",
    [
        sd.KRR(k=5, eps0=1.0),
        sd.HadamardResponse(domain=5, eps0=1.0),
        sd.Channel(matrix=[[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]),
        sd.Laplace(eps0=1.0),
    ],
    ids=repr,
)
def test_aggregates_of_something_else_are_refused(randomizer):
    for shape in ((), (4, 4, 1), (7, 5)):
        with pytest.raises(sd.ParameterError, match="shape of the aggregate's sums"):
            randomizer.estimate(Aggregate(10, np.zeros(shape)))
    first = randomizer.aggregate(randomizer.simulate([0, 1], seed=1))
    with pytest.raises(sd.ParameterError, match="aggregate"):
        first + Aggregate(3, np.zeros((9, 9)))
