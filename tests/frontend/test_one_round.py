"""delta of one round as `verify` recomputes it, against closed forms."""

import math

import pytest
from flint import arb, ctx

from laws import log_delta
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.profile import Divergence
from shuffledp.errors import NotCertified

KRR = {"name": "k-rr", "k": 10, "eps0": 4.0}
LAPLACE = {"name": "laplace", "eps0": 1.0, "low": 0.0, "high": 1.0, "binary": False}
GAUSSIAN = {"name": "gaussian", "sigma": 2.0, "low": 0.0, "high": 1.0}


def test_one_user_is_the_local_divergence():
    laplace = log_delta(LAPLACE, analysis="blanket", n=1, epsilon=0.3, x0=0.0, x1=1.0)
    assert math.isclose(laplace[0], math.log(-math.expm1(-0.35)), rel_tol=1e-12)
    with ctx.workprec(100):
        root = arb(2).sqrt()
        first, second = ((arb(0.6) + s * arb(0.25)) / root for s in (-1, 1))
        want = (first.erfc() - arb(0.3).exp() * second.erfc()) / 2
    low, high = log_delta(GAUSSIAN, analysis="local", n=5, epsilon=0.3, x0=0.0, x1=1.0)
    assert low <= float(want.log()) + 1e-14
    assert float(want.log()) - 1e-14 <= high
    low, high = log_delta(KRR, analysis="local", n=7, epsilon=1.0, x0=0, x1=1)
    want = math.log((math.exp(4) - math.e) / (math.exp(4) + 9))
    assert low <= want + 1e-14
    assert want - 1e-14 <= high


@pytest.mark.parametrize(
    ("mechanism", "factor"),
    [(KRR, 0.95), (KRR, 1.05), (LAPLACE | {"eps0": 4.0}, 0.1), (LAPLACE | {"eps0": 4.0}, 10.0)],
)
def test_a_bracket_far_from_the_plain_float_estimate_is_not_taken(monkeypatch, mechanism, factor):
    """The kernel made wrong: sums come out that much larger or smaller."""
    question = {"analysis": "blanket", "n": 1001, "epsilon": 0.2, "x0": 0, "x1": 1, "rel": 1e-3}
    log_delta(mechanism, **question)
    true, moved = Divergence.log_delta, math.log(factor)

    def wrong(self):
        low, high = true(self)
        return LogInterval(low + moved, high + moved)

    monkeypatch.setattr(Divergence, "log_delta", wrong)
    with pytest.raises(NotCertified, match="plain floats"):
        log_delta(mechanism, **question)
