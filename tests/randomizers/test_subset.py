"""Subset selection beyond what all frequency mechanisms are tested for."""

import math
import time

import numpy as np
import pytest

import shuffledp as sd
from laws import law_of
from randomizers.sources import LEAST_P_VALUE, fits
from shuffledp.randomizers.subset import _subsets
from shuffledp.randomness import SeededSource


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 0.7, 1.5, 3.0, 8.0, 30.0, 300.0])
@pytest.mark.parametrize("d", [2, 3, 4, 7, 50, 99])
def test_default_size_has_the_least_variance(d, eps0):
    chosen = sd.SubsetSelection(d=d, eps0=eps0)
    best = min(sd.SubsetSelection(d=d, eps0=eps0, k=k).variance() for k in range(1, d))
    assert chosen.variance() == pytest.approx(best, rel=1e-12)
    assert chosen.parameters() == {"d": d, "eps0": eps0, "k": chosen.k}


def test_variance_at_zero_is_the_papers():
    for d, k, e in ((10, 3, 1.0), (100, 12, 2.0), (5, 1, 0.5)):
        E, c = math.exp(e), math.comb
        z = E * c(d - 1, k - 1) + c(d - 1, k)
        p, q = (
            E * c(d - 1, k - 1) / z,
            (E * (c(d - 2, k - 2) if k > 1 else 0) + c(d - 2, k - 1)) / z,
        )
        found = sd.SubsetSelection(d=d, k=k, eps0=e)
        assert found.variance() == pytest.approx(q * (1 - q) / (p - q) ** 2, rel=1e-11)
        assert found.message_bits == pytest.approx(math.log2(c(d, k)), rel=1e-12)


@pytest.mark.parametrize(
    "eps0", [3.0, *(pytest.param(e, marks=pytest.mark.long) for e in (0.1, 200.0))]
)
def test_one_of_d_is_k_rr(eps0):
    subset, response = sd.SubsetSelection(d=9, k=1, eps0=eps0), sd.KRR(k=9, eps0=eps0)
    assert subset.variance(0.3) == pytest.approx(response.variance(0.3), rel=1e-12)
    for n in (10, 10**6):
        one = sd.shuffle(subset, n=n).delta(epsilon=0.05)
        other = sd.shuffle(response, n=n).delta(epsilon=0.05)
        assert one.lower <= other.upper
        assert other.lower <= one.upper


@pytest.mark.parametrize("eps0", [1e-4, 1.0, 20.0, 300.0])
def test_large_domains_have_few_classes(eps0):
    for d in (10**6, 10**9):
        subset = sd.SubsetSelection(d=d, eps0=eps0)
        law = law_of(subset, (0, d - 1, 5))
        assert law.mass.shape[1] <= 8
        assert abs(law.mass.sum(axis=1) - 1.0).max() < 1e-14
        assert law.blanket.sum() == pytest.approx(
            1 / (1 + (subset.k / d) * math.expm1(eps0)), rel=1e-12
        )
        assert subset.message_bits > 0


@pytest.mark.parametrize(
    ("d", "k"), [(1, 1), (5, 5), (6, 3), (30, 1), (40, 2), (7, 6), (6, 4), (8, 5)]
)
def test_subsets_are_uniform(d, k):
    rows = np.sort(_subsets(d, k, 60_000, SeededSource(d * 100 + k)), axis=1)
    assert (rows[:, 1:] > rows[:, :-1]).all()
    seen, counts = np.unique(rows, axis=0, return_counts=True)
    assert len(seen) == math.comb(d, k)
    assert fits(counts, np.ones(len(seen))) > LEAST_P_VALUE


def test_nearly_all_items_take_no_longer():
    """Of 1,999 items of 2,000 the one left out is drawn; it took 42 s."""
    subset = sd.SubsetSelection(d=2000, k=1999, eps0=1.0)
    start = time.process_time()
    reports = subset.simulate(np.arange(2000), seed=1)
    assert time.process_time() - start < 5.0
    assert reports.shape == (2000, 1999)
    assert (reports[:, 1:] > reports[:, :-1]).all()
    own = (reports == np.arange(2000)[:, None]).any(axis=1)
    p = subset.support.own
    assert abs(own.mean() - p) < 5 * math.sqrt(p * (1 - p) / 2000) + 1e-9


def test_reports_are_sorted_and_compact():
    subset = sd.SubsetSelection(d=300, k=20, eps0=1.0)
    reports = subset.simulate(np.arange(1000) % 300, seed=1)
    assert reports.shape == (1000, 20)
    assert reports.dtype == np.uint16
    assert (reports[:, 1:] > reports[:, :-1]).all()


def test_sparse_large_domain_runs():
    subset = sd.SubsetSelection(d=10**9, eps0=20.0)
    reports = subset.simulate(np.full(2000, 12345), seed=1)
    own = (reports == 12345).any(axis=1).mean()
    assert abs(own - subset.support.own) < 5 * math.sqrt(subset.support.own_miss / 2000)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([[1, 2, 3]]), r"reports shape = \(1, 3\): wanted \(n, 2\)"),
        (np.array([[0, 1], [2, 2], [4, 3]]), r"reports\[1\] = \[2, 2\].*increasing.*2 of 3"),
        (np.array([[0, 7]]), r"reports\[0\] = \[0, 7\]"),
        (np.array([[0.0, 1.0]]), "reports type"),
    ],
)
def test_bad_reports(bad, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.SubsetSelection(d=7, k=2, eps0=1.0).aggregate(bad)


@pytest.mark.parametrize("k", [0, 7, 2.5, True, "2"])
def test_bad_size(k):
    with pytest.raises(sd.ParameterError, match="k = "):
        sd.SubsetSelection(d=7, k=k, eps0=1.0)


def test_bits_of_many_items():
    """Beyond the products: against the sum of logarithms."""
    d, k = 50_000, 20_000
    wanted = math.fsum(math.log2((d - i) / (k - i)) for i in range(k))
    for size in (k, d - k):
        found = sd.SubsetSelection(d=d, k=size, eps0=1.0).message_bits
        assert found == pytest.approx(wanted, rel=1e-12)
