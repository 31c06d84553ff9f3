"""Mechanisms made of parts: there is an estimate where there is a variance, and only there."""

import math

import numpy as np
import pytest

import shuffledp as sd
from objects.examples import example
from shuffledp.randomizers import randomizer_names


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
