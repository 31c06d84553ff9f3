"""``sd.ratios``: p, beta and q of a mechanism, against its matrix in fractions, and as a bound."""

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given

import shuffledp as sd
from enumerated import row_fractions
from strategies import channels

pytestmark = pytest.mark.usefixtures("rough_proposals")

F = Fraction
CLOSE = 1 + 1e-12


def exact_ratios(rows):
    """Largest p, beta and q over all pairs of rows, q against the least of all rows."""
    least = [min(column) for column in zip(*rows, strict=True)]
    pairs = list(permutations(rows, 2))
    p = max(x / y for r, s in pairs for x, y in zip(r, s, strict=True))
    beta = max(sum(max(x - y, F(0)) for x, y in zip(r, s, strict=True)) for r, s in pairs)
    q = max(x / y for r in rows for x, y in zip(r, least, strict=True))
    return p, beta, q


@given(channels())
def test_no_pair_of_inputs_of_a_channel_exceeds_them(channel):
    rows = row_fractions(channel.matrix)
    if any(x == 0 for row in rows for x in row):
        return
    found = sd.ratios(channel)
    for ours, exact in zip((found.p, found.beta, found.q), exact_ratios(rows), strict=True):
        assert F(ours) >= exact
        assert ours <= exact * F(CLOSE) + F(1, 10**12)


@pytest.mark.parametrize(
    "mechanism",
    [
        sd.KRR(k=5, eps0=2.0), sd.RAPPOR(d=5, eps0=2.0), sd.OLH(domain=9, eps0=1.0),
        sd.Laplace(eps0=1.5), sd.Wheel(domain=20, s=2, eps0=2.0),
        sd.SamplingRAPPOR(d=9, s=2, eps0=2.0),
    ],
    ids=lambda mechanism: mechanism.name,
)  # fmt: skip
def test_what_they_bound_is_above_the_mechanism(mechanism):
    found = sd.ratios(mechanism)
    family = sd.variation_ratio(p=found.p, beta=found.beta, q=found.q, n=300, rtol=1e-2)
    own = sd.shuffle(mechanism, n=300, rtol=1e-2)
    for delta in (1e-2, 1e-6):
        least = own.epsilon(delta=delta, analysis="dataset").lower
        assert family.epsilon(delta=delta).upper >= least
