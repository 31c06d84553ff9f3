"""Hypothesis strategies, and the random laws other tests draw with seeds of their own."""

import math
import random
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from shuffledp.pair import ShuffledPair

import shuffledp as sd

# ----------------------------------------------------------------- exact pairs, from random.Random


def exact_pair(
    rng: random.Random,
    *,
    atoms: int,
    n: int,
    gamma: float = 1.0,
    bits: int = 10,
    spread: float = 3.0,
    outside: bool = True,
) -> tuple[ShuffledPair, list[tuple[Fraction, Fraction, Fraction]]]:
    """A pair whose floats are exact (rel = 0), and the same atoms as Fractions.

    w are multiples of 2^-40 that sum to at most gamma, a and b multiples of 2^-bits. What P and Q
    lack to mass one is put outside; without ``outside`` into one more atom instead.
    """
    unit = 1 << 40
    shares = [rng.random() ** 3 + 1e-3 for _ in range(atoms)]
    whole = [max(1, int(0.9 * gamma * unit * s / sum(shares))) for s in shares]
    w = [Fraction(x, unit) for x in whole]
    scale = 1 << bits
    a = [Fraction(rng.randint(0, int(spread * scale)), scale) for _ in w]
    b = [Fraction(rng.randint(0, int(spread * scale)), scale) for _ in w]
    total = max(sum(x * y for x, y in zip(w, r, strict=True)) for r in (a, b))
    shrink = 1
    while total > shrink:
        shrink *= 2
    a, b = [x / shrink for x in a], [x / shrink for x in b]
    lost = [1 - sum(x * y for x, y in zip(w, r, strict=True)) for r in (a, b)]
    left = 1 - sum(w)
    if not outside:
        last = Fraction(1, 1 << rng.randint(4, 30))
        last = min(last, Fraction(1, 1 << math.ceil(-math.log2(left))))
        w.append(last)
        a.append(lost[0] / last)
        b.append(lost[1] / last)
        lost = [Fraction(0), Fraction(0)]
        left -= last
    columns = [[float(x) for x in column] for column in (w, a, b)]
    for column, true in zip(columns, (w, a, b), strict=True):
        if any(Fraction(x) != y for x, y in zip(column, true, strict=True)):
            return exact_pair(
                rng, atoms=atoms, n=n, gamma=gamma, bits=bits - 1, spread=spread, outside=outside
            )
    pair = ShuffledPair(
        w=np.array(columns[0]),
        a=np.array(columns[1]),
        b=np.array(columns[2]),
        n=n,
        outside=np.array([[float(x) for x in lost]]) if any(lost) else np.zeros((0, 2)),
        rel=2.0**-53,
        leftover=(float(left), 2.0**-53),
    )
    return pair, list(zip(w, a, b, strict=True))


# --------------------------------------------------------------------------- Hypothesis strategies

local_epsilons = st.floats(1e-4, 30.0)
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
