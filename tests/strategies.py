"""Hypothesis strategies, and the random laws other tests draw with seeds of their own."""

import math

from hypothesis import strategies as st

import shuffledp as sd

# --------------------------------------------------------------------------- Hypothesis strategies

moderate_epsilons = st.floats(0.05, 5.0)
user_counts = st.one_of(
    st.integers(1, 60), st.integers(2, 15).flatmap(lambda d: st.integers(1, 10**d))
)
targets = st.floats(-690.0, -0.7).map(math.exp)


@st.composite
def rows(draw, outputs: int, *, zeros: bool = True):
    """A row of dyadic probabilities that sum to one exactly."""
    least = 0 if zeros else 1
    parts = draw(st.lists(st.integers(least, 60), min_size=outputs, max_size=outputs))
    parts[draw(st.integers(0, outputs - 1))] += 256 - sum(parts)
    return [p / 256 for p in parts]


@st.composite
def channels(draw, *, zeros: bool = True, largest: int = 4):
    """Random channels with dyadic entries."""
    inputs, outputs = draw(st.integers(2, largest)), draw(st.integers(2, largest))
    return sd.Channel(matrix=[draw(rows(outputs, zeros=zeros)) for _ in range(inputs)])


@st.composite
def randomizers(draw, eps0=moderate_epsilons):
    """Any finite randomizer of a class of its own."""
    size = draw(st.one_of(st.integers(2, 12), st.integers(2, 10**6)))
    e = draw(eps0)
    names = ["krr", "brr", "rappor", "oue", "lh", "blh", "olh", "hr", "hrb", "subset"]
    kind = draw(st.sampled_from(names))
    return {
        "krr": lambda: sd.KRR(k=size, eps0=e),
        "brr": lambda: sd.BinaryRR(eps0=e),
        "rappor": lambda: sd.RAPPOR(d=size, eps0=e),
        "oue": lambda: sd.OUE(d=size, eps0=e),
        "lh": lambda: sd.LocalHash(domain=size, l=draw(st.integers(2, 40)), eps0=e),
        "blh": lambda: sd.BLH(domain=size, eps0=e),
        "olh": lambda: sd.OLH(domain=size, eps0=min(e, 30.0)),
        "hr": lambda: sd.HadamardResponse(domain=size, eps0=e),
        "hrb": lambda: sd.HadamardResponse(
            domain=size, eps0=e, blocks=draw(st.integers(1, min(size, 50)))
        ),
        "subset": lambda: sd.SubsetSelection(d=size, eps0=e, k=draw(st.integers(1, size - 1))),
    }[kind]()
