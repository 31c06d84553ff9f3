"""Rounds whose guarantee is infinite, or among the last floats: ends that hold, and no warning."""

import math
from fractions import Fraction

import mpmath
import pytest

import shuffledp as sd
from shuffledp import theorems
from shuffledp.amplification import rounds
from shuffledp.errors import ParameterError
from shuffledp.rounds.renyi import renyi_of

mpmath.mp.dps = 50


def test_no_pure_guarantee_is_said_where_there_is_none():
    """Infinite ends came with the note that pure guarantees, added up, were the active bound."""
    rounds = sd.compose([sd.central.approximate(epsilon=1.0, delta=1e-6)])
    for bound in (rounds.renyi(order=2.0), rounds.epsilon(delta=1e-9)):
        assert bound.upper == math.inf
        assert bound.upper_theorem is None
        assert bound.notes == ()
    pure = sd.compose([sd.central.approximate(epsilon=1.0)], rounds=2)
    assert pure.epsilon(delta=1e-300).upper_theorem is theorems.LOCAL
    assert "active bound" in pure.epsilon(delta=1e-300).notes[0]
    assert pure.renyi(order=1e6).upper <= pure.eps0


def test_a_test_has_its_error_where_losses_have_no_end():
    """Golden sections on [0, inf] looked at no number: 0 was certified."""
    rounds = sd.compose([sd.central.approximate(epsilon=1.0, delta=1e-6)])
    bound = rounds.tradeoff(alpha=0.9)
    exact = math.exp(-1.0) * (1.0 - 1e-6 - 0.9)
    assert exact * (1.0 - 1e-4) < bound.lower <= exact
    assert rounds.tradeoff(alpha=5e-324).lower <= 1.0


@pytest.mark.parametrize("excess", [-1.0, -679.9, -680.1, -700.0, -744.0, -746.0, -1e4])
@pytest.mark.parametrize("order", [1.0 + 1e-9, 1.5, 3.0, 1e6])
def test_moments_among_the_last_floats(excess, order):
    exact = mpmath.log1p(mpmath.exp(mpmath.mpf(excess))) / (mpmath.mpf(order) - 1)
    low, high = (renyi_of(excess, order, up=up) for up in (False, True))
    assert mpmath.mpf(low) <= exact <= mpmath.mpf(high)
    assert high <= float(exact) * (1 + 1e-9) + 2e-323
    assert renyi_of(-math.inf, order, up=True) == 0.0


@pytest.mark.parametrize("eps0", [1e-320, 1e-200, 1e-160])
def test_tiny_pure_guarantees(eps0):
    rounds = sd.compose([sd.central.approximate(epsilon=eps0)], rounds=3)
    rho = rounds.zcdp()
    assert rho.upper > 0.0
    assert mpmath.mpf(rho.upper) >= 3 * mpmath.mpf(eps0) ** 2 * mpmath.mpf("0.49")
    assert rounds.renyi(order=3.0).upper > 0.0
    assert sd.compose([sd.central.approximate(epsilon=0.0)]).zcdp().upper == 0.0


def test_noise_beyond_the_range_of_squares_is_refused():
    with pytest.raises(ParameterError, match="sensitivity/sigma = 1e-200"):
        sd.central.gaussian(sigma=1e100, sensitivity=1e-100)
    smallest = sd.compose([sd.central.gaussian(sigma=1e100)])
    assert smallest.renyi(order=2.0).upper > 0.0
    assert smallest.zcdp().upper > 0.0
    assert smallest.epsilon(delta=1e-6).upper >= 0.0


@pytest.mark.parametrize("sampler", [None, "poisson", "shuffle", "balls-and-bins"])
def test_training_at_the_ends_of_its_numbers(sampler):
    asked = {"n": 100, "epochs": 1, "delta": 1e-5, "sampler": sampler}
    with pytest.raises(ParameterError, match="clip = 1e-300"):
        sd.sgd(noise=1e100, clip=1e-300, **asked)
    with pytest.raises(ParameterError, match=r"noise = 1e\+100: wanted at most 1e\+100 times clip"):
        sd.sgd(noise=1e100, clip=0.5, **asked)
    with pytest.raises(ParameterError, match="at least clip/25"):
        sd.sgd(noise=0.01, clip=1.0, **asked)
    found = sd.sgd(noise=1e100, clip=1.0, **asked)
    bound = found.numerical if sampler is None else found.bound
    assert 0.0 <= bound.upper < 1e-6


def test_a_search_for_noise_of_a_tiny_clip():
    """The root of a product of two tiny numbers was 0."""
    asked = {"n": 2, "epsilon": 1.0, "delta": 1e-5, "epochs": 1, "batch": 2, "rtol": 0.1}
    found = sd.sgd_noise(clip=1e-100, sampler="shuffle", **asked)
    plain = sd.sgd_noise(clip=1.0, sampler="shuffle", **asked)
    assert found.noise * 1e100 == pytest.approx(plain.noise, rel=0.2)
    assert found.bound.upper <= 1.0


def test_a_failure_among_the_last_floats():
    rounds = sd.compose([sd.central.approximate(epsilon=0.5)])
    assert 0.1 < rounds.posterior(prior=0.1, failure=5e-324).upper <= 1.0


def test_published_rounds_fall_back_on_published_theorems(monkeypatch):
    """Where the blanket's values are wide the next analyses are asked, which nothing had named."""
    asked = []
    made = rounds.Round

    def seen(**parts):
        asked.append(parts)
        return made(**parts)

    monkeypatch.setattr(rounds, "Round", seen)
    sd.shuffle(sd.KRR(k=4, eps0=1.0), n=1_000).compose(rounds=2)
    (parts,) = asked
    assert parts["upper_theorem"].provenance == "published"
    assert [len(group) for group in parts["groups"]] == [1, 1]
    asked.clear()
    sd.shuffle(sd.Laplace(eps0=1.0), n=1_000).compose(rounds=2)
    assert asked[0]["upper_theorem"].provenance == "proved here"
    assert len(asked[0]["groups"]) == 3


@pytest.mark.parametrize(("low", "high", "scale"), [(0.0, 1.0, 3.0), (-0.1, 0.7, 0.3), (0, 2, 1)])
def test_scales_are_rounded_up(low, high, scale):
    """1/3 as a float is below 1/3, and was certified."""
    exact = (Fraction(high) - Fraction(low)) / Fraction(scale)
    metric = sd.MetricLaplace(low=low, high=high, scale=scale)
    laplace = sd.Laplace.from_scale(scale, low=low, high=high)
    for mechanism in (metric, laplace):
        assert exact <= Fraction(mechanism.eps0) <= exact * (1 + Fraction(1, 2**52))
    assert Fraction(sd.shuffle(metric, n=1).epsilon(delta=1e-300).upper) >= exact
