"""Subset selection beyond what all frequency mechanisms are tested for."""

import math

import pytest

import shuffledp as sd
from laws import law_of


@pytest.mark.many(8)
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
