"""Generalized Gaussian: cells against ball arithmetic, sampler, estimator, worst pair."""

import math

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import shuffledp as sd
from enumerated import ball
from laws import blanket_pair, dataset_pair
from randomizers.noise import check_cells, check_convex_order
from randomizers.sources import LEAST_P_VALUE
from shuffledp.bounds.profile import Profile

CASES = [
    (1 / 32, 1.0),
    (0.1, 0.01),
    (0.5, 1.0),
    (0.5, 0.003),
    (1.0, 1.0),
    (1.0, 0.02),
    (1.0, 1e6),
    (1.5, 0.1),
    (2.0, 2**0.5),
    (2.0, 0.05),
    (2.5, 3.0),
    (4.0, 0.7),
    (50.0, 0.6),
    (200.0, 0.7),
    (1000.0, 2.0),
]
MECHANISMS = [sd.GeneralizedGaussian(shape=b, scale=s) for b, s in CASES] + [
    sd.GeneralizedGaussian(shape=0.7, scale=2.0, low=-3.0, high=1.0),
    sd.GeneralizedGaussian(shape=3.0, scale=2.0, low=-3.0, high=1.0),
]


class Oracle:
    def __init__(self, randomizer):
        self.b = ball(randomizer.shape)
        self.scale = ball(randomizer.scale) / (ball(randomizer.high) - ball(randomizer.low))

    def log_density(self, t):
        return arb(0) if t == 0 else -((t / self.scale) ** self.b)

    def beyond(self, t):
        level = (t / self.scale) ** self.b if t > 0 else arb(0)
        return level.gamma_upper(1 / self.b, regularized=1) / 2

    def mass(self, near, far):
        low = (near / self.scale) ** self.b if near > 0 else arb(0)
        high = (far / self.scale) ** self.b
        a = 1 / self.b
        if high < a:
            return (high.gamma_lower(a, regularized=1) - low.gamma_lower(a, regularized=1)) / 2
        return (low.gamma_upper(a, regularized=1) - high.gamma_upper(a, regularized=1)) / 2


@pytest.mark.many(9)
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=repr)
@pytest.mark.parametrize("x2", [None, 0.0, 0.5])
def test_cells_against_the_density(randomizer, x2):
    check_cells(randomizer, Oracle(randomizer), x2)


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=repr)
def test_gamma(randomizer):
    """gamma = Q(1/b, (d/2)^b)."""
    law = blanket_pair(randomizer, randomizer.low, randomizer.high)
    exact = 2 * Oracle(randomizer).beyond(arb(fmpq(1, 2)))
    assert abs(ball(math.fsum(law.w)) - exact) <= ball(1e-13) * exact + arb(10) ** -300


@pytest.mark.long
@settings(max_examples=25)
@given(
    shape=st.floats(1 / 32, 60.0), scale=st.floats(-1.0, 4.0).map(math.exp), x=st.floats(0.0, 1.0)
)
def test_any_law_is_a_law(shape, scale, x):
    randomizer = sd.GeneralizedGaussian(shape=shape, scale=scale)
    # E[G] = 1 - e^eps.
    pair = dataset_pair(randomizer, 0.0, 1.0, x)
    assert abs(math.fsum(pair.w * pair.a) - 1.0) <= 1e-12
    assert abs(math.fsum(pair.w * pair.b) - 1.0) <= 1e-12


@pytest.mark.many(4)
@pytest.mark.parametrize(
    ("named", "general"),
    [
        (sd.Laplace(eps0=2.0), sd.GeneralizedGaussian(shape=1.0, scale=0.5)),
        (sd.Laplace(eps0=8.0), sd.GeneralizedGaussian(shape=1.0, scale=0.125)),
        (sd.Gaussian(sigma=1.0), sd.GeneralizedGaussian(shape=2.0, scale=2**0.5)),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 30, 10**6])
def test_same_as_laplace_and_gaussian(named, general, n):
    from shuffledp.laws import pairs as made

    one, other = (Profile(made.blanket_pair(r, 0.0, 1.0, n=n)) for r in (named, general))
    for eps in (0.05 + 3.0 / n**0.5,):
        x, y = one.log_delta(eps, width=1e-2), other.log_delta(eps, width=1e-2)
        assert x.low <= y.high
        assert y.low <= x.high


@pytest.mark.many(1)
@pytest.mark.parametrize("randomizer", [*MECHANISMS[2:6:3], *MECHANISMS[7:12:2]], ids=repr)
def test_end_points_dominate_other_pairs(randomizer):
    check_convex_order(randomizer, (0.0, 0.2, 0.5, 0.9, 1.0))


@pytest.mark.many(17)
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=repr)
@pytest.mark.parametrize("delta", [0.9, 0.3, 1e-2, 1e-6, 1e-30])
def test_local_epsilon(randomizer, delta):
    """H(f_0 || f_1) at local_epsilon(delta) is at most delta, by balls."""
    oracle = Oracle(randomizer)
    eps = randomizer.local_epsilon(delta)
    assert eps <= randomizer.eps0
    if randomizer.shape <= 1.0:
        # Pure: the log ratio is nowhere larger than at an input.
        assert eps == math.inf or ball(eps) >= -oracle.log_density(arb(1))
        return
    # The outputs with f_0 > e^eps f_1 are a half-line: try cut points around the best one.
    worst = arb(0)
    assert eps < math.inf or randomizer.shape > 20.0 or randomizer.distance > 10.0
    if eps == math.inf:
        return
    for t in np.concatenate([-np.geomspace(1e-9, 50, 400) * float(oracle.scale), [0.0, 0.25, 0.5]]):
        below = oracle.beyond(-ball(float(t))) if t < 0 else 1 - oracle.beyond(ball(float(t)))
        other = oracle.beyond(1 - ball(float(t)))
        value = below - ball(eps).exp() * other
        worst = max(worst, value)
    assert worst <= ball(delta)


def test_eps0_is_attained():
    randomizer = sd.GeneralizedGaussian(shape=0.5, scale=0.25)
    assert randomizer.eps0 == pytest.approx(2.0, rel=1e-12)
    assert randomizer.eps0 >= 2.0
    assert sd.GeneralizedGaussian(shape=1.01, scale=0.25).eps0 == math.inf


@pytest.mark.many(5)
@pytest.mark.parametrize(
    "shape", [1 / 32, 0.1, 0.5, 1.0, 1.7, 2.0, 5.0, 50.0, 1000.0], ids=lambda b: f"b={b:g}"
)
def test_sampler(shape):
    randomizer = sd.GeneralizedGaussian(shape=shape, scale=3.0, low=-1.0, high=1.0)
    reports = randomizer.simulate(np.full(40_000, 0.5), seed=5) - 0.5

    def chance(t):
        # P(a, x) = x^a/Gamma(1 + a) where x = (t/s)^b leaves the range of floats.
        small = t / 3.0 / math.gamma(1.0 + 1.0 / shape)
        x = (t / 3.0) ** shape
        return np.where(x > 1e-250, special.gammainc(1 / shape, x), small)

    assert stats.kstest(np.abs(reports), chance).pvalue > LEAST_P_VALUE
    assert stats.binomtest(int((reports > 0).sum()), reports.size).pvalue > LEAST_P_VALUE
    low = randomizer.simulate(np.full(1000, -1.0), seed=6)
    high = randomizer.simulate(np.full(1000, 1.0), seed=6)
    assert np.allclose(high - low, 2.0, rtol=1e-6, atol=1e-9 * np.abs(low).max())


@pytest.mark.parametrize("shape", [0.25, 0.5, 1.0, 2.0, 3.5, 80.0])
def test_estimator_and_its_variance(shape):
    randomizer = sd.GeneralizedGaussian(shape=shape, scale=0.3, low=-1.0, high=1.0)

    def moment(k):
        # In u = |z|^b up to a constant factor.
        return integrate.quad(
            lambda u: math.exp(-u) * u ** ((k + 1) / shape - 1), 0.0, 200.0, limit=400
        )[0]

    wanted = 0.3**2 * moment(2) / moment(0)
    assert randomizer.variance() == pytest.approx(wanted, rel=1e-6)
    values = np.random.default_rng(2).uniform(-1.0, 1.0, 5000)
    found = randomizer.estimate(randomizer.simulate(values, seed=3))
    assert found.standard_error == pytest.approx(math.sqrt(randomizer.variance() / 5000))
    if shape >= 0.5:
        assert abs(found.mean - values.mean()) <= 6.0 * found.standard_error
    assert randomizer.message_bits == 64.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": 0.0, "scale": 1.0}, "shape"),
        ({"shape": math.nan, "scale": 1.0}, "shape"),
        ({"shape": 2.0, "scale": 0.0}, "scale"),
        ({"shape": 2.0, "scale": math.inf}, "scale"),
        ({"shape": 2.0, "scale": 1e-5}, r"\(high - low\)/scale"),
        ({"shape": 2.0, "scale": 1.0, "low": 1.0, "high": 1.0}, "high"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.GeneralizedGaussian(**arguments)


def test_bad_values():
    randomizer = sd.GeneralizedGaussian(shape=2.0, scale=1.0)
    with pytest.raises(sd.ParameterError, match=r"values\[1\]"):
        randomizer.randomize([0.5, 1.5])
    with pytest.raises(sd.ParameterError, match="input"):
        blanket_pair(randomizer, 0.0, 2.0)
    with pytest.raises(sd.ParameterError, match=r"reports\[0\]"):
        randomizer.aggregate(np.array([math.nan]))
