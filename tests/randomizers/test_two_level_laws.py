"""What every law of the two-level mechanisms has to satisfy, over their whole parameter ranges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sd
from laws import blanket_pair, dataset_pair, law_of

eps0s = st.one_of(st.floats(1e-6, 5.0), st.floats(5.0, 300.0))
shares = st.one_of(st.floats(1e-100, 1e-3), st.floats(1e-3, 0.999), st.sampled_from([0.5, 0.25]))


@st.composite
def patterns(draw):
    inputs, outputs = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    ones = draw(st.integers(1, outputs - 1))
    row = st.permutations([1] * ones + [0] * (outputs - ones))
    return [draw(row) for _ in range(inputs)]


@st.composite
def mechanisms(draw):
    e = draw(eps0s)
    s = draw(st.integers(1, 12))
    size = draw(st.integers(2 * s, 10**6))
    low = draw(st.floats(-1e6, 1e6))
    ends = {"low": low, "high": low + draw(st.floats(1e-3, 1e6))}
    make = {
        "privunit": lambda: sd.PrivUnit(d=draw(st.integers(2, 3000)), c=draw(shares), eps0=e),
        "wheel": lambda: sd.Wheel(domain=size, s=s, eps0=e),
        "wheel p": lambda: sd.Wheel(domain=size, s=s, eps0=e, p=draw(st.floats(1e-9, 0.99)) / s),
        "pckv": lambda: sd.PCKVGRR(domain=size, s=s, eps0=e, padding=draw(st.booleans())),
        "full pckv": lambda: sd.PCKVGRR(domain=s, s=s, eps0=e),
        "sampling": lambda: sd.SamplingRAPPOR(d=size + 1, s=s, eps0=min(e, 300.0 / s)),
        "close": lambda: sd.SamplingRAPPOR(d=s + draw(st.integers(1, s)), s=s, eps0=min(e, 25.0)),
        "duchi": lambda: sd.Duchi(eps0=e, **ends),
        "piecewise": lambda: sd.Piecewise(eps0=e, **ends),
        "hybrid": lambda: sd.Hybrid(eps0=e, **ends),
        "extremal": lambda: sd.Extremal(pattern=draw(patterns()), eps0=e),
    }
    return make[draw(st.sampled_from(sorted(make)))]()


@given(mechanisms())
def test_laws(randomizer):
    grow = math.exp(randomizer.eps0)
    ((x0, x1),) = randomizer.worst_pairs().pairs
    for inputs in [(x0, x1), (x1, x0), *randomizer.datasets()]:
        law = law_of(randomizer, inputs)
        assert law.rel <= 1e-6
        assert np.allclose(law.mass.sum(axis=1), 1.0, rtol=0.0, atol=1e-12 + 2 * law.rel)
        floors, tops = law.mass.min(axis=0), law.mass.max(axis=0)
        assert (law.blanket <= floors * (1 + 4 * law.rel)).all()
        assert (tops <= floors * grow * (1 + 4 * law.rel)).all()
        assert law.blanket.sum() >= 1.0 / grow
    for pair in (
        blanket_pair(randomizer, x0, x1, n=10),
        *(dataset_pair(randomizer, *triple, n=10) for triple in randomizer.datasets()),
    ):
        for a in (1.0, 1.5):
            mean = math.fsum(pair.w * (pair.a - a * pair.b)) + pair.outside[:, 0].sum()
            mean -= a * pair.outside[:, 1].sum()
            assert mean == pytest.approx(1.0 - a, abs=1e-11 + 1e-3 * pair.rel)
    assert sd.randomizer_from_dict(randomizer.to_dict()) == randomizer
