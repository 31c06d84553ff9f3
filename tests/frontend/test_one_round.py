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


@pytest.mark.parametrize(("n", "eps"), [(300, 0.3), (2000, 0.05), (2000, 0.9), (3000, 0.0)])
def test_binary_rr_against_its_binomial_sum(n, eps):
    """All others hold 0: ones ~ Bin(n-1, q) + Bern(1 - q) against + Bern(q), q = 1/(E + 1)."""
    with ctx.workprec(200):
        q, alpha = 1 / (arb(1).exp() + 1), arb(eps).exp()
        base, term = [], (1 - q) ** (n - 1)
        for k in range(n):
            base.append(term)
            term = term * (n - 1 - k) / (k + 1) * q / (1 - q)
        total = arb(0)
        for k in range(n + 1):
            same = base[k] if k < n else arb(0)
            shifted = base[k - 1] if k else arb(0)
            p = same * q + shifted * (1 - q)
            other = same * (1 - q) + shifted * q
            total += arb.max(p - alpha * other, arb(0))
        want = total.log()
    low, high = log_delta(
        {"name": "binary-rr", "eps0": 1.0}, analysis="dataset", n=n, epsilon=eps, x0=1, x1=0, x2=0,
        rel=1e-3,
    )  # fmt: skip
    assert low <= want
    assert want <= high
    assert high - low <= 1.02e-3


@pytest.mark.parametrize("n", [10**2, 10**4, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("reach", [0.0, 1.0, 3.0])
def test_narrow_brackets_lie_in_wide_ones(n, reach):
    eps = min(reach * 7 / math.sqrt(n), 3.9)
    wide = log_delta(KRR, analysis="blanket", n=n, epsilon=eps, x0=0, x1=1, rel=1e-2)
    narrow = log_delta(KRR, analysis="blanket", n=n, epsilon=eps, x0=0, x1=1, rel=1e-4)
    assert wide[0] <= narrow[1]
    assert narrow[0] <= wide[1]
    assert narrow[1] - narrow[0] <= 5e-4 + 1e-15 * abs(narrow[0])


def test_narrow_brackets_of_noise_lie_in_wide_ones():
    for mechanism in (LAPLACE, GAUSSIAN):
        for analysis, x2 in (("blanket", None), ("dataset", 0.3)):
            question = {"n": 1000, "epsilon": 0.1, "x0": 0.0, "x1": 1.0, "x2": x2}
            wide = log_delta(mechanism, analysis=analysis, **question, rel=3e-2)
            narrow = log_delta(mechanism, analysis=analysis, **question, rel=1e-3)
            assert wide[0] <= narrow[1]
            assert narrow[0] <= wide[1]
            assert narrow[1] - narrow[0] <= 3e-3


def test_data_sets_are_never_above_the_blanket():
    question = {"n": 300, "epsilon": 0.2, "x0": 0.0, "x1": 1.0, "rel": 1e-3}
    _, high = log_delta(LAPLACE, analysis="blanket", **question)
    for x2 in (0.0, 0.5, 1.0):
        assert log_delta(LAPLACE, analysis="dataset", x2=x2, **question)[0] <= high


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


def test_beyond_the_local_guarantee_delta_is_zero():
    zero = (-math.inf, -math.inf)
    for eps in (4.0, 5.0):
        assert log_delta(KRR, analysis="blanket", n=100, epsilon=eps, x0=0, x1=1) == zero
        assert log_delta(KRR, analysis="local", n=1, epsilon=eps, x0=0, x1=1) == zero
    assert log_delta(LAPLACE, analysis="local", n=1, epsilon=1.0, x0=0.0, x1=1.0) == zero


def test_inputs_are_checked():
    for n in (1, 10):
        question = {"analysis": "blanket", "n": n, "epsilon": 0.5, "x0": 0.0}
        with pytest.raises(ParameterError, match="input = 2"):
            log_delta(LAPLACE, **question, x1=2.0)
        with pytest.raises(ParameterError, match="low or high"):
            log_delta(LAPLACE | {"binary": True}, **question, x1=0.5)


@pytest.mark.parametrize(
    ("sigma", "n", "eps", "analysis"),
    [(0.05, 10, 1.0, "dataset"), (0.07, 10, 5.0, "dataset")],
)
def test_a_victim_who_stands_alone_is_seen(sigma, n, eps, analysis):
    """All others hold 0: some output is above 1/2 with 1 under P, with none hardly ever."""
    mechanism = GAUSSIAN | {"sigma": sigma}
    question = {"analysis": analysis, "n": n, "epsilon": eps, "x0": 1.0, "x1": 0.0, "x2": 0.0}
    tail = math.erfc(0.5 / sigma / math.sqrt(2.0)) / 2.0
    least = 1.0 - tail - math.exp(eps) * n * tail
    assert least > 0.99
    low, high = log_delta(mechanism, **question, rel=0.05)
    assert high >= math.log(least)
    assert low <= 0.0


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
