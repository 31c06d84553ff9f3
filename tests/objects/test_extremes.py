"""Extreme but legal arguments: finite ends in order, or a clear error."""

import math

import numpy as np
import pytest

import shuffledp as sd
from objects.examples import example
from shuffledp.randomizers import randomizer_names

LARGE = sd.shuffle(sd.KRR(k=3, eps0=250.0), 3).compose(rounds=3)
PLAIN = sd.shuffle(sd.BinaryRR(eps0=1.0), 20).compose(rounds=2)


@pytest.mark.many(3)
@pytest.mark.parametrize(
    "question",
    [
        lambda: LARGE.tradeoff(alpha=0.1),
        lambda: LARGE.tradeoff(alpha=1e-300),
        lambda: sd.shuffle(sd.BinaryRR(eps0=240.0), 2).compose(rounds=3).zcdp(),
        lambda: sd.shuffle(sd.BinaryRR(eps0=300.0), 1).compose(rounds=1).zcdp(),
        lambda: PLAIN.posterior(prior=1e-310, failure=0.01),
        lambda: PLAIN.posterior(prior=1.0 - 2.0**-53, failure=0.01),
        lambda: PLAIN.success(prior=1e-310),
        lambda: sd.shuffle(sd.KRR(k=3, eps0=1.0), 4).compose(rounds=3).epsilon(delta=1e-6),
    ],
)
def test_ends_are_finite_and_in_order(question):
    found = question()
    assert 0.0 <= found.lower <= found.upper < math.inf
    if found.quantity in {"beta", "probability"}:
        assert found.upper <= 1.0


def test_a_tiny_prior_stays_covered():
    found = PLAIN.posterior(prior=1e-310, failure=0.01)
    assert found.upper >= 1e-310 * math.exp(found.at["log odds factor"])


def data_for(m, count):
    """Values of the domain, as the mechanism takes them; None where it has no sampler."""
    if isinstance(m, sd.Channel):
        return np.arange(count) % len(m.matrix)
    low, high = getattr(m, "low", None), getattr(m, "high", None)
    if low is not None:
        return np.linspace(low, high, count)
    if hasattr(m, "items"):
        return np.arange(count) % m.items
    return None


@pytest.mark.parametrize("name", randomizer_names())
@pytest.mark.parametrize("kind", ["parallel", "subsample", "joint"])
def test_estimate_and_variance_go_together(name, kind):
    m = example(name)
    if kind == "joint":
        m = sd.Joint([m, m])
    outer = sd.Parallel([m, m], weights=[0.5, 0.5]) if kind == "parallel" else None
    outer = sd.PoissonSubsample(m, rate=0.5) if outer is None else outer
    values = data_for(example(name), 200)
    if values is None:
        pytest.skip("inputs are sets, vectors or records")
    try:
        records = values
        if kind != "subsample":
            records = [(x, x) for x in values.tolist()]
        reports = outer.simulate(records, seed=1)
        outer.estimate(reports)
        works = True
    except sd.NotCertified:
        works = False
    except sd.ParameterError:
        pytest.skip("takes values of another shape")
    if works:
        assert math.isfinite(outer.variance())
    else:
        with pytest.raises(sd.NotCertified):
            outer.variance()
