"""delta of one round as `verify` recomputes it, against enumeration and closed forms."""

import math
import random
from fractions import Fraction

import pytest
from flint import arb, ctx

from enumerated import dataset_delta, worst_blanket
from laws import log_delta
from shuffledp.bounds import profile
from shuffledp.errors import NotCertified, ParameterError

KRR = {"name": "k-rr", "k": 10, "eps0": 4.0}
LAPLACE = {"name": "laplace", "eps0": 1.0, "low": 0.0, "high": 1.0, "binary": False}
GAUSSIAN = {"name": "gaussian", "sigma": 2.0, "low": 0.0, "high": 1.0}


def rational_exp(eps):
    with ctx.workprec(200):
        mantissa, exponent = arb(eps).exp().mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("seed", range(12))
def test_channels_against_rational_enumeration(seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(3):
        parts = [rng.choice([0, 1, 2, 5, 8]) for _ in range(3)]
        parts[rng.randrange(3)] += 3
        rows.append([p / sum(parts) for p in parts])
    exact = [[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in rows]
    n, eps = rng.randint(1, 5), rng.choice([0.0, 0.3, 1.1])
    alpha = rational_exp(eps)
    mechanism = {"name": "channel", "matrix": rows}
    best = [-math.inf, -math.inf]
    for x0, x1 in [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]:
        got = log_delta(mechanism, analysis="blanket", n=n, epsilon=eps, x0=x0, x1=x1, rel=1e-9)
        best = [max(a, b) for a, b in zip(best, got, strict=True)]
        want = dataset_delta(exact, x0, x1, [2] * (n - 1), alpha)
        low, high = log_delta(
            mechanism, analysis="dataset", n=n, epsilon=eps, x0=x1, x1=x0, x2=2, swap=True, rel=1e-9
        )
        assert math.exp(low) <= want + Fraction(1, 10**14)
        assert want <= math.exp(high) + 1e-14
        assert high - low < 1e-8 or want == 0
    want = worst_blanket(exact, n, alpha)
    assert math.exp(best[0]) <= want + Fraction(1, 10**14)
    assert want <= math.exp(best[1]) + 1e-14


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


def test_inputs_are_checked():
    for n in (1, 10):
        question = {"analysis": "blanket", "n": n, "epsilon": 0.5, "x0": 0.0}
        with pytest.raises(ParameterError, match="input = 2"):
            log_delta(LAPLACE, **question, x1=2.0)
        with pytest.raises(ParameterError, match="low or high"):
            log_delta(LAPLACE | {"binary": True}, **question, x1=0.5)


@pytest.mark.parametrize(
    ("mechanism", "factor"),
    [(KRR, 0.95), (KRR, 1.05), (LAPLACE | {"eps0": 4.0}, 0.1), (LAPLACE | {"eps0": 4.0}, 10.0)],
)
def test_a_bracket_far_from_the_plain_float_estimate_is_not_taken(monkeypatch, mechanism, factor):
    """The kernel made wrong: sums come out that much larger or smaller."""
    question = {"analysis": "blanket", "n": 1001, "epsilon": 0.2, "x0": 0, "x1": 1, "rel": 1e-3}
    log_delta(mechanism, **question)
    true = profile.Profile._expectation
    monkeypatch.setattr(
        profile.Profile, "_expectation", lambda *a: tuple(factor * x for x in true(*a))
    )
    with pytest.raises(NotCertified, match="plain floats"):
        log_delta(mechanism, **question)
