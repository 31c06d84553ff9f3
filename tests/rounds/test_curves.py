"""Renyi, zCDP, trade-off, Gaussian DP, success and posterior: brackets around exact values."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

import shuffledp as sd
from rounds.exact_rounds import atoms, dyadic_rows, floats, neighbouring_laws
from shuffledp.laws.pairs import dataset_pair
from shuffledp.neighbours import REPLACEMENT
from shuffledp.propose.profile import Profile
from shuffledp.rounds import Candidate, Round
from shuffledp.rounds.zcdp import best_rho

pytestmark = pytest.mark.usefixtures("rough_proposals")
KRR = sd.KRR(k=10, eps0=4.0)


def exact_moment(pairs, order):
    """E_Q[(P/Q)^order] of exact atoms."""
    mpmath.mp.dps = 40
    total = mpmath.mpf(0)
    for p, q in pairs:
        if p:
            ratio = (
                mpmath.mpf(p.numerator) * q.denominator / (mpmath.mpf(q.numerator) * p.denominator)
            )
            total += mpmath.mpf(q.numerator) / q.denominator * ratio**order
    return total


@pytest.mark.parametrize("seed", [1])
def test_renyi_of_small_channels(seed):
    rng = np.random.default_rng(seed)
    rows = dyadic_rows(rng, 2, 3)
    acc = sd.shuffle(sd.Channel(matrix=floats(rows)), n=3)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, 3)]
    for order in (1.01, 1.5, 2.0, 5.0, 40.0):
        exact = max(mpmath.log(exact_moment(pair, order)) / (order - 1.0) for pair in pairs)
        bound = acc.renyi(order=order)
        assert bound.upper >= exact * (1 - mpmath.mpf(10) ** -30)
        assert bound.lower <= exact * (1 + mpmath.mpf(10) ** -30)
        several = acc.compose(rounds=7).renyi(order=order)
        assert several.upper >= 7 * exact * (1 - mpmath.mpf(10) ** -30)
        assert several.lower <= 7 * exact * (1 + mpmath.mpf(10) ** -30)


@pytest.mark.parametrize("n", [5, 10**5])
def test_order_two_is_the_second_moment(n):
    # All others hold x1: Q is the reference, E_Q[(P/Q)^2] = 1 + (E a^2 - 1)/n exactly.
    pair = dataset_pair(KRR, 0, 1, 1, n=n)
    grow = Fraction(math.exp(4.0))
    z = grow + 9
    second = (grow * grow + 1 / grow + 8) / z
    exact = (second - 1) / n
    sides = [Profile(p) for p in (pair, pair.swap())]
    made = Round(
        label="k-rr",
        key=n,
        relation=REPLACEMENT,
        groups=[sides[:1]],
        backward_groups=[sides[1:]],
        candidates=(Candidate(*sides, {}),),
        eps0=4.0,
        width=6e-5,
    )
    low, high = made.renyi_below((2.0,))(2.0)[0], made.renyi((2.0,))(2.0)[0]
    # e^4 as a float moves the exact value by less than 1e-15.
    assert math.expm1(low) <= float(exact) * (1 + 1e-13)
    assert math.expm1(high) >= float(exact) * (1 - 1e-13)
    assert high < 1.03 * low


@pytest.mark.parametrize(("alpha", "rounds"), [(1e-4, 1), (0.46, 1), (0.5, 1), (0.05, 20)])
def test_tradeoff_of_the_gaussian(alpha, rounds):
    mu = math.sqrt(rounds) / 5.0
    exact = stats.norm.cdf(stats.norm.ppf(1 - alpha) - mu)
    bound = sd.compose([sd.central.gaussian(sigma=5.0)], rounds=rounds).tradeoff(alpha=alpha)
    assert bound.lower <= exact <= bound.upper
    assert bound.upper - bound.lower < 2e-3


def test_tradeoff_of_small_channels():
    rng = np.random.default_rng(1)
    rows = dyadic_rows(rng, 2, 3)
    acc = sd.shuffle(sd.Channel(matrix=floats(rows)), n=3)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, 3)]
    for alpha in (0.05, 0.3, 0.6):
        bound = acc.tradeoff(alpha=alpha)
        exact = min(neyman_pearson(pair, Fraction(alpha)) for pair in pairs)
        assert bound.lower <= float(exact) * (1 + 1e-13)
        assert bound.upper >= float(exact) * (1 - 1e-13)


def neyman_pearson(pairs, alpha):
    """Least type II error with type I error alpha: the likeliest outputs first."""
    power, spent = Fraction(0), Fraction(0)
    for p, q in sorted(pairs, key=lambda x: (x[1] == 0, x[0] / x[1] if x[1] else 0), reverse=True):
        room = alpha - spent
        if q <= room:
            power, spent = power + p, spent + q
        else:
            power += p * room / q
            break
    return 1 - power


@pytest.mark.long
@pytest.mark.parametrize("rounds", [1, pytest.param(30, marks=pytest.mark.long)])
def test_gaussian_dp_dominates(rounds):
    composed = sd.shuffle(sd.KRR(k=4, eps0=1.5), n=1000).compose(rounds=rounds)
    for slack in (0.0, 1e-9):
        bound = composed.gdp(slack=slack)
        mu = bound.upper
        for eps in (0.0, 0.1, 0.5):
            gauss = stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(
                -mu / 2 - eps / mu
            )
            assert composed.delta(epsilon=eps).lower <= gauss + slack + 1e-15
        assert bound.lower <= bound.upper
    assert composed.gdp(slack=1e-9).upper < composed.gdp().upper
    exact = sd.compose([sd.central.gaussian(sigma=4.0)]).gdp(slack=1e-12)
    assert 0.25 * 0.998 <= exact.upper <= 0.25 * 1.003


def test_gaussian_dp_of_randomized_response():
    # eps0-DP alone: 2 Phi^-1(e^eps0/(1 + e^eps0)) is needed and enough (Dong, Roth, Su 2022).
    eps0 = 1.0
    exact = 2 * stats.norm.ppf(1 / (1 + math.exp(-eps0)))
    bound = sd.shuffle(sd.BinaryRR(eps0=eps0), n=1).compose(rounds=1).gdp()
    assert bound.lower <= exact <= bound.upper
    assert bound.upper < exact * 1.01
    assert bound.lower > exact * 0.99


def test_success_of_the_best_attacker():
    rng = np.random.default_rng(2)
    rows = dyadic_rows(rng, 2, 3)
    acc = sd.shuffle(sd.Channel(matrix=floats(rows)), n=3).compose(rounds=1)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, 3)]
    for prior in (0.5, 0.25, 0.375, 0.75):
        w = Fraction(prior)
        exact = max(sum(max(w * p, (1 - w) * q) for p, q in pair) for pair in pairs)
        bound = acc.success(prior=prior)
        assert bound.lower <= float(exact) * (1 + 1e-13)
        assert bound.upper >= float(exact) * (1 - 1e-13)


def test_posterior_is_exceeded_rarely():
    rng = np.random.default_rng(3)
    rows = dyadic_rows(rng, 2, 3)
    acc = sd.shuffle(sd.Channel(matrix=floats(rows)), n=4).compose(rounds=1)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, 4)]
    for failure in (0.5, 0.1, 1e-3):
        bound = acc.posterior(prior=0.25, failure=failure)
        for pair in pairs:
            above = sum(
                (
                    p
                    for p, q in pair
                    if p
                    and Fraction(1, 4) * p
                    > Fraction(bound.upper) * (Fraction(1, 4) * p + Fraction(3, 4) * q)
                ),
                Fraction(0),
            )
            assert above <= Fraction(failure)
    assert (
        acc.posterior(prior=0.25, failure=1e-3).upper
        >= acc.posterior(prior=0.25, failure=0.5).upper
    )


def test_rho_covers_what_lies_between_orders():
    """K is linear between orders a factor of 1.3 apart, so that D_A/A is largest in between."""
    orders = [1.001 * 1.3**k for k in range(80)]
    cumulants = [0.01 * a * (a - 1.0) for a in orders]

    def divergence(order):
        return float(np.interp(order, orders, cumulants)) / (order - 1.0)

    between = max(divergence(a) / a for a in np.geomspace(2.0, 1e6, 20_000))
    assert between > 0.0101
    # At the first of the orders above 1e7, the last that is looked at, it asks for 0.01005.
    assert best_rho(divergence, pure=0.01005 * orders[62])[0] >= between
