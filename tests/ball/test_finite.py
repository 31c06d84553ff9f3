"""The finite evaluator against enumeration, closed forms and rational arithmetic."""

import math
import random
from fractions import Fraction

import pytest
from flint import arb, ctx

from oracle import blanket_delta, dataset_delta
from shuffledp.ball import divergence
from shuffledp.ball.api import log_delta
from shuffledp.errors import NotCertified, ParameterError

KRR = {"name": "k-rr", "k": 10, "eps0": 4.0}


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
    n, eps = rng.randint(1, 5), rng.choice([0.0, 0.3, 1.1, -0.4])
    alpha = rational_exp(eps)
    mechanism = {"name": "channel", "matrix": rows}
    pairs = [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]
    best = [-math.inf, -math.inf]
    for x0, x1 in pairs:
        got = log_delta(mechanism, analysis="blanket", n=n, epsilon=eps, x0=x0, x1=x1)
        best = [max(a, b) for a, b in zip(best, got, strict=True)]
        want = dataset_delta(exact, x0, x1, [2] * (n - 1), alpha)
        low, high = log_delta(
            mechanism, analysis="dataset", n=n, epsilon=eps, x0=x1, x1=x0, x2=2, swap=True
        )
        assert math.exp(low) <= want + Fraction(1, 10**14)
        assert want <= math.exp(high) + 1e-14
    want = blanket_delta(exact, n, alpha)
    assert math.exp(best[0]) <= want + Fraction(1, 10**14)
    assert want <= math.exp(best[1]) + 1e-14


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize(
    ("eps0", "share"),
    [(1e-3, 0.05), (1e-3, 0.97), (0.5, -0.2), (0.5, 0.4), (4.0, -0.2), (4.0, 0.97), (15.0, 0.4)],
)
def test_the_contour_contains_the_enumerated_value(monkeypatch, n, eps0, share):
    for analysis in ("blanket", "dataset", "clone", "stronger-clone"):
        question = {
            "mechanism": {"name": "k-rr", "k": 3, "eps0": eps0},
            "analysis": analysis, "n": n, "epsilon": share * eps0, "x0": 0, "x1": 1, "x2": 0,
        }  # fmt: skip
        monkeypatch.setattr(divergence, "_ENUMERABLE", 10**6)
        want = log_delta(**question)
        monkeypatch.setattr(divergence, "_ENUMERABLE", 0)
        low, high = log_delta(**question, rel=1e-3)
        assert low <= want[1]
        assert want[0] <= high
        assert high - low <= 1.02e-3


@pytest.mark.parametrize(("n", "eps"), [(300, 0.3), (2000, 0.05), (2000, 0.9), (3000, 0.0)])
def test_binary_rr_against_its_binomial_sum(monkeypatch, n, eps):
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
    monkeypatch.setattr(divergence, "_ENUMERABLE", 0)
    low, high = log_delta(
        {"name": "binary-rr", "eps0": 1.0}, analysis="dataset", n=n, epsilon=eps, x0=1, x1=0, x2=0,
        rel=1e-3,
    )  # fmt: skip
    assert low <= want
    assert want <= high
    assert high - low <= 1.02e-3


@pytest.mark.parametrize("n", [10**2, 10**4, 10**6, 10**9, 10**15])
@pytest.mark.parametrize("reach", [0.0, 1.0, 5.0, 30.0])
def test_narrow_brackets_lie_in_wide_ones(n, reach):
    eps = min(reach * 7 / math.sqrt(n), 3.9)
    wide = log_delta(KRR, analysis="blanket", n=n, epsilon=eps, x0=0, x1=1, rel=1e-2)
    narrow = log_delta(KRR, analysis="blanket", n=n, epsilon=eps, x0=0, x1=1, rel=1e-4)
    assert wide[0] <= narrow[1]
    assert narrow[0] <= wide[1]
    assert narrow[1] - narrow[0] <= 1.02e-4 + 1e-15 * abs(narrow[0])


def test_beyond_the_local_guarantee_delta_is_zero():
    for eps in (4.0, 5.0):
        got = log_delta(KRR, analysis="blanket", n=100, epsilon=eps, x0=0, x1=1)
        assert got == (-math.inf, -math.inf)


def test_local_divergence_of_k_rr():
    low, high = log_delta(KRR, analysis="local", n=7, epsilon=1.0, x0=0, x1=1)
    want = math.log((math.exp(4) - math.e) / (math.exp(4) + 9))
    assert low <= want + 1e-14
    assert want - 1e-14 <= high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"analysis": "guess"}, "analysis = 'guess'"),
        ({"n": 0}, "n = 0"),
        ({"epsilon": math.nan}, "epsilon = nan"),
        ({"x1": None}, "x1 = None"),
        ({"rel": 1.0}, "rel = 1.0"),
        ({"mechanism": {"name": "x"}}, "mechanism name = 'x'"),
    ],
)
def test_bad_arguments_are_named(change, message):
    question = {
        "mechanism": KRR, "analysis": "blanket", "n": 10, "epsilon": 1.0, "x0": 0, "x1": 1
    }  # fmt: skip
    with pytest.raises(ParameterError, match=message):
        log_delta(**(question | change))


def test_bounded_work_ends_in_not_certified(monkeypatch):
    monkeypatch.setattr(divergence, "_ENUMERABLE", 0)
    with pytest.raises(NotCertified, match="rel"):
        divergence.log_divergence(
            lambda: divergence.GainLaw([arb(0.5), arb(0.5)], [arb(1), arb(-1)], arb(0)),
            n=20, rel=1e-9, work=10_000,
        )  # fmt: skip
