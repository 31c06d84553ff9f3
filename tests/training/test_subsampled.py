"""Curves of one Poisson step against the integrals themselves, in balls."""

import math

from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.rounds.gaussian import GaussianCurve

BITS = 300


def above(z):
    """P(N(0, 1) > z)."""
    return (z / arb(2).sqrt()).erfc() / 2


def exact(q, mu, epsilon, *, added):
    """log of the integral of the positive part, from the point where the densities cross."""
    before, ctx.prec = ctx.prec, BITS
    try:
        q, mu, a = arb(q), arb(mu), arb(epsilon).exp()
        if added:
            # 1 - a (1 - q + q r) > 0, r = e^{mu z - mu^2/2}: for z below a point.
            room = (1 - a * (1 - q)) / (a * q)
            if not room > 0:
                return None
            z = (room.log() + mu * mu / 2) / mu
            below = 1 - above(z)
            found = below - a * ((1 - q) * below + q * (1 - above(z - mu)))
        else:
            z = (((a - 1 + q) / q).log() + mu * mu / 2) / mu
            found = (1 - q) * above(z) + q * above(z - mu) - a * above(z)
        return found.log()
    finally:
        ctx.prec = before


@given(
    q=st.floats(1e-6, 1.0),
    mu=st.floats(0.05, 20.0),
    epsilon=st.floats(0.0, 12.0),
    added=st.booleans(),
)
def test_brackets_hold_the_integral(q, mu, epsilon, added):
    found = GaussianCurve(mu, rate=q, added=added).log_delta(epsilon)
    truth = exact(q, mu, epsilon, added=added)
    if truth is None:
        assert found.high == -math.inf or found.low == -math.inf
        return
    assert not arb(found.high) < truth
    if found.low > -math.inf:
        assert not arb(found.low) > truth


def test_adding_shows_nothing_beyond_its_largest_loss():
    curve = GaussianCurve(1.0, rate=0.25, added=True)
    assert curve.log_delta(-math.log(0.75) * 1.0001).high == -math.inf
    assert curve.log_delta(-math.log(0.75) * 0.999).high > -math.inf
