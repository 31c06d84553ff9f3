"""Every published formula through the front door: an estimate, never an end of a bound."""

import math

import pytest

import shuffledp as sd
from laws import log_delta
from shuffledp.amplification.analyses import UNCERTIFIED
from shuffledp.published import FORMULAS, Estimate

# What bounds from below, what is a limit on either side, and what is no bound of a mechanism.
NO_UPPER = {"one-dataset", "variation-ratio-5.1", "gaussian", "shuffle-index"}
NO_UPPER |= {"shuffle-index-lower", "variation-ratio"}
SOURCES = {
    "binary-rr": sd.shuffle(sd.BinaryRR(eps0=0.4), n=2000),
    "k-rr": sd.shuffle(sd.KRR(k=3, eps0=0.4), n=2000),
    "gaussian": sd.shuffle(sd.Gaussian(sigma=4.0), n=30_000, rtol=1e-2),
    "adaptive": sd.generic(eps0=0.4, n=2000, adaptive=True),
    "ratio": sd.variation_ratio(p=1.5, beta=0.2, q=1.5, n=20_000),
    "protocol": sd.shuffle(sd.PureDUMP(d=4, blankets=3), n=50),
}


@pytest.mark.parametrize("key", FORMULAS)
def test_every_formula_works_somewhere_and_says_why_not_elsewhere(key):
    made, refused = 0, []
    for acc in SOURCES.values():
        try:
            found = acc.estimate(delta=1e-4, analysis=key)
        except sd.NotCertified as error:
            refused.append(str(error))
            continue
        made += 1
        assert isinstance(found, Estimate)
        assert found.to_dict()["certified"] is False
        assert "not " in found.warning
        assert found.warning in str(found)
    assert made > 0
    assert all(len(text) > 20 for text in refused)


@pytest.mark.parametrize("key", UNCERTIFIED)
def test_formulas_are_never_bounds(key):
    acc = sd.shuffle(sd.BinaryRR(eps0=0.4), n=500)
    for method, at in ((acc.epsilon, {"delta": 1e-3}), (acc.delta, {"epsilon": 0.1})):
        with pytest.raises(sd.NotCertified, match="estimate"):
            method(**at, analysis=key)


@pytest.mark.parametrize("key", sorted(FORMULAS.keys() - NO_UPPER))
def test_formulas_that_bound_are_above_the_exact_divergence(key):
    """Balls give the exact divergence of one pair of data sets: no true formula is below it."""
    for table, triple in (
        ({"name": "k-rr", "k": 10, "eps0": 0.4}, (0, 1, 2)),
        ({"name": "binary-rr", "eps0": 0.4}, (0, 1, 0)),
        (
            {"name": "laplace", "eps0": 0.4, "low": 0.0, "high": 1.0, "binary": False},
            (0.0, 1.0, 0.0),
        ),
    ):
        acc = sd.shuffle(sd.mechanism_from_dict(table), n=10_000)
        try:
            eps = acc.estimate(delta=1e-4, analysis=key).value
        except sd.NotCertified:
            continue
        x0, x1, x2 = triple
        if eps < 0.4:
            exact = log_delta(
                table, analysis="dataset", n=10_000, epsilon=eps, x0=x0, x1=x1, x2=x2, rel=1e-3
            )
            assert math.log(1e-4) >= exact[0]
