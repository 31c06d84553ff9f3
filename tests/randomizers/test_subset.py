"""Subset selection beyond what all frequency mechanisms are tested for."""

import math

import pytest

import shuffledp as sd


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
