"""``sd.ratios``: p, beta and q of a mechanism, against its matrix in fractions, and as a bound."""

import math
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


def test_protocols_are_those_of_their_messages():
    f, d = F(1, 4), 16
    r = (1 - f) / f
    histogram = sd.ratios(sd.CheuZhilyaev(d=d, f=float(f), blankets=3))
    noisy = sd.ratios(sd.MixDUMP(d=d, f=float(f), blankets=3))
    coins = sd.ratios(sd.BalcerCheu(p=0.125))
    cases = [
        (histogram, (r * r, 1 - 2 * f, r)),
        (noisy, ((1 - f) * (d - 1) / f, 1 - f - f / (d - 1), (1 - f) * d)),
        (coins, (math.inf, 1, 8)),
        (sd.ratios(sd.BalcerEtAl(blankets=2)), (math.inf, 1, 2)),
        (sd.ratios(sd.BallsIntoBins(d=d, s=3, blankets=2)), (math.inf, 1, F(d, 3))),
        (sd.ratios(sd.PureDUMP(d=d, blankets=2)), (math.inf, 1, d)),
    ]
    for found, exact in cases:
        for ours, value in zip((found.p, found.beta, found.q), exact, strict=True):
            assert ours >= value
            assert ours <= value * (CLOSE if value != math.inf else 1)


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


def test_what_has_none_is_refused_with_the_reason():
    with pytest.raises(sd.NotCertified, match="q is infinite"):
        sd.ratios(sd.Gaussian(sigma=1.0))
    with pytest.raises(sd.ParameterError, match="mechanism = 'k-rr'"):
        sd.ratios("k-rr")
    with pytest.raises(sd.ParameterError, match="mechanism"):
        sd.ratios(None)
