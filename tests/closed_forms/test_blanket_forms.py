"""Hoeffding's and Bennett's inequalities on the blanket, in balls and against the blanket."""

import math

import pytest
from flint import arb, ctx

import shuffledp as sd
from shuffledp.closed_forms import blanket
from shuffledp.closed_forms.interval import of
from shuffledp.divergence import PairProfile
from shuffledp.reductions import (
    blanket_pair,
)

ctx.prec = 300

# ------------------------------------------------------------------------- Hoeffding and Bennett


def exact_moments(randomizer, a):
    """gamma, largest, span and E[L^2] of L = gamma G from the law's own masses."""
    x0, x1 = randomizer.worst_pairs().pairs[0]
    law = randomizer.law((x0, x1))
    gamma = float(law.blanket.sum())
    gain = gamma * (law.mass[0] - a * law.mass[1]) / law.blanket
    square = float((law.blanket * gain**2).sum()) / gamma
    return gamma, float(gain.max()), float(gain.max() - gain.min()), square


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("k", [3, 10, 1000])
def test_moments_of_k_rr_are_exact(k, eps0):
    for epsilon in (0.1 * eps0, 0.7 * eps0):
        law = blanket.k_rr(k, eps0)(epsilon)
        truth = exact_moments(sd.KRR(k=k, eps0=eps0), math.exp(epsilon))
        for found, value in zip((law.gamma, law.top, law.span, law.square), truth, strict=True):
            assert found.low == pytest.approx(value, rel=1e-11)
            assert found.high == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
def test_moments_of_laplace_are_those_of_fine_cells(eps0):
    for epsilon in (0.1 * eps0, 0.7 * eps0):
        law = blanket.laplace(eps0)(epsilon)
        truth = exact_moments(sd.Laplace(eps0=eps0), math.exp(epsilon))
        for found, value in zip((law.gamma, law.top, law.span, law.square), truth, strict=True):
            assert found.low == pytest.approx(value, rel=1e-5)
            assert found.high - found.low <= 1e-11 * value


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
def test_generic_moments_are_the_published_ones(eps0):
    """Larger numbers would still be bounds: this holds them to the formulas."""
    for epsilon in (0.2 * eps0, 0.9 * eps0):
        E, a = arb(eps0).exp(), arb(epsilon).exp()
        published = (1 / E, E - a / E, (a + 1) * (E - 1 / E), E * (a**2 + 1) - 2 * a / E**3)
        gamma = arb(0.75)
        known = (
            gamma,
            gamma * (E - a),
            gamma * (a + 1) * (E - 1),
            gamma * (E * (1 + a**2) - 2 * a),
        )
        k, total = 10, E + 9
        rest = (E - 1) / total
        response = (
            k / total,
            k / total * (1 - a) + rest * k,
            rest * k * (a + 1),
            k / total * (2 - k / total) * (a - 1) ** 2 + rest**2 * k * (a**2 + 1),
        )
        w = arb(eps0 / 2).exp()
        laplace = (
            1 / w,
            w * (1 - a / E),
            (a + 1) * (w - 1 / w),
            (a**2 + 1) * (2 * w + 1 / E) / 3 - 2 * a * (2 / w - 1 / E),
        )
        for law, truth in (
            (blanket.generic(eps0)(epsilon), published),
            (blanket.known_blanket(eps0, of(0.75))(epsilon), known),
            (blanket.k_rr(k, eps0)(epsilon), response),
            (blanket.laplace(eps0)(epsilon), laplace),
        ):
            for found, value in zip((law.gamma, law.top, law.span, law.square), truth, strict=True):
                assert arb(found.low) <= value
                assert arb(found.high) >= value
                assert found.high - found.low <= 1e-11 * float(value.mid())


@pytest.mark.many(6)
@pytest.mark.parametrize("bound", [blanket.log_hoeffding, blanket.log_bennett])
@pytest.mark.parametrize(
    ("randomizer", "moments"),
    [
        *((sd.KRR(k=k, eps0=e), blanket.k_rr(k, e)) for k in (2, 10, 1000) for e in (0.1, 1, 4)),
        *((sd.Laplace(eps0=e), blanket.laplace(e)) for e in (0.1, 1.0, 4.0)),
        *((sd.KRR(k=3, eps0=e), blanket.generic(e)) for e in (0.1, 1.0, 3.0)),
        *((sd.OUE(d=5, eps0=e), blanket.generic(e)) for e in (0.1, 1.0, 3.0)),
        *(
            (sd.KRR(k=10, eps0=e), blanket.known_blanket(e, 10 / (of(e).exp() + 9)))
            for e in (0.1, 1.0, 4.0)
        ),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_hoeffding_and_bennett_are_above_the_blanket(randomizer, moments, bound):
    x0, x1 = randomizer.worst_pairs().pairs[0]
    for n in (2, 50, 10**6):
        profile = PairProfile(blanket_pair(randomizer, x0, x1, n=n, cells=1 << 11))
        for share in (1e-3, 0.1, 0.9):
            epsilon = share * randomizer.eps0
            claimed = bound(moments, n=n, epsilon=epsilon)
            assert claimed >= profile.log_delta(epsilon, width=1e-2).low
            assert claimed <= 0.0


def hoeffding_ball(gamma, b, t, n):
    x = -2 * t * t / (b * b)
    front = b * b / (4 * t * gamma * n)
    return (front * ((1 - gamma + gamma * x.exp()) ** n - (1 - gamma) ** n)).log()


def bennett_ball(gamma, top, c, t, n):
    alpha, beta = c / top**2, t * top / c
    f = (1 + beta) * (1 + beta).log() - beta
    front = top / (gamma * n * (1 + beta).log())
    return (front * ((1 - gamma + gamma * (-alpha * f).exp()) ** n - (1 - gamma) ** n)).log()


@pytest.mark.parametrize("n", [1, 7, 2000])
@pytest.mark.parametrize("share", [0.01, 0.4, 0.99])
def test_hoeffding_and_bennett_in_balls(n, share):
    k, eps0 = 10, 2.0
    epsilon = share * eps0
    E, a = arb(eps0).exp(), arb(epsilon).exp()
    t = a - 1
    gamma = k / (E + k - 1)
    top, span = gamma * (1 - a) + (1 - gamma) * k, (1 - gamma) * k * (a + 1)
    square = gamma * (2 - gamma) * t**2 + (1 - gamma) ** 2 * k * (a**2 + 1)
    for found, truth in (
        (
            blanket.log_hoeffding(blanket.k_rr(k, eps0), n=n, epsilon=epsilon),
            hoeffding_ball(gamma, span, t, n),
        ),
        (
            blanket.log_bennett(blanket.k_rr(k, eps0), n=n, epsilon=epsilon),
            bennett_ball(gamma, top, square, t, n),
        ),
    ):
        if truth < 0:
            assert arb(found) >= truth
            assert found <= float(truth.mid()) + 1e-9
        else:
            assert found == 0.0


def test_hoeffding_and_bennett_need_eps_above_0():
    for bound in (blanket.log_hoeffding, blanket.log_bennett):
        with pytest.raises(sd.NotCertified, match="eps > 0"):
            bound(blanket.generic(1.0), n=10, epsilon=0.0)
    # Beyond the local guarantee no gain of Laplace noise is above 0.
    assert blanket.log_bennett(blanket.laplace(1.0), n=10, epsilon=1.1) == -math.inf
