"""What one report of noise alone guarantees, by integrals of its density as defined."""

import math

import mpmath as mp
import pytest

import shuffledp as sd

ON_A_LINE = [
    sd.Gaussian(sigma=0.5),
    sd.Gaussian(sigma=3.0, low=-2.0, high=1.0),
    sd.GeneralizedGaussian(shape=1.5, scale=0.5),
    sd.GeneralizedGaussian(shape=1.01, scale=1e4),
    sd.GeneralizedGaussian(shape=4.0, scale=0.7, low=-3.0, high=-2.5),
]
DELTAS = (0.1, 1e-6, 1e-30)


def shape_and_scale(mechanism):
    if isinstance(mechanism, sd.Gaussian):
        return mp.mpf(2), mp.sqrt(2) * mp.mpf(mechanism.sigma)
    return mp.mpf(mechanism.shape), mp.mpf(mechanism.scale)


def on_a_line(mechanism, eps):
    """The integral of (f(y) - e^eps f(y - d))_+, in scales: above eps the loss falls in y."""
    b, s = shape_and_scale(mechanism)
    d = (mp.mpf(mechanism.high) - mp.mpf(mechanism.low)) / s
    loss = lambda y: abs(y - d) ** b - abs(y) ** b  # noqa: E731
    low, high = -mp.mpf(1), d
    while loss(low) < eps:
        low *= 2
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) > eps else (low, middle)
    density = lambda y: mp.exp(-(abs(y) ** b)) / (2 * mp.gamma(1 + 1 / b))  # noqa: E731
    excess = lambda y: density(y) - mp.exp(eps) * density(y - d)  # noqa: E731
    places = [low - step for step in (200, 50, 16, 8, 4, 2, 1, mp.mpf(1) / 4, 0)]
    return mp.quad(excess, sorted({*places, mp.mpf(0)} if low > 0 else places))


def on_integers(mechanism, eps):
    """The sum of (P(k) - e^eps P(k - top))_+."""
    half, top = 1 / (2 * mp.mpf(mechanism.sigma) ** 2), mechanism.top
    reach = math.ceil(25 * mechanism.sigma) + top
    mass = [mp.exp(-half * k * k) for k in range(reach + 1)]
    whole = 2 * mp.fsum(mass) - 1
    at = lambda k: mass[abs(k)] if abs(k) <= reach else mp.mpf(0)  # noqa: E731
    rest = (at(k) - mp.exp(eps) * at(k - top) for k in range(-reach, reach + 1))
    return mp.fsum(x for x in rest if x > 0) / whole


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mechanism", ON_A_LINE, ids=repr)
def test_noise_on_a_line(mechanism, delta):
    check(mechanism, delta, on_a_line)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("top", "sigma"), [(3, 0.3), (2, 1.0), (3, 20.0), (50, 7.5)])
def test_noise_on_integers(top, sigma, delta):
    check(sd.DiscreteGaussian(top=top, sigma=sigma), delta, on_integers)


def check(mechanism, delta, exact):
    eps = mechanism.local_epsilon(delta)
    with mp.workdps(45):
        target = mp.mpf(delta)
        assert exact(mechanism, mp.mpf(eps)) <= target
        assert eps == 0.0 or exact(mechanism, mp.mpf(eps) * (1 - mp.mpf(10) ** -11)) > target


def test_vectors_have_that_of_the_diameter():
    eps = sd.GaussianBall(d=5, sigma=0.5).local_epsilon(1e-6)
    least = sd.Gaussian(sigma=0.5, low=-1.0, high=1.0).local_epsilon(1e-6)
    assert least < eps < least * (1.0 + 1e-8)


def test_one_message_is_the_sum_of_one():
    """With one user the view of messages is that of sums."""
    mechanism = sd.Gaussian(sigma=0.5)
    messages = sd.shuffle(mechanism, n=1).epsilon(delta=1e-6)
    sums = sd.shuffle(mechanism, n=1, view="sums").epsilon(delta=1e-6)
    assert sums.lower <= messages.upper <= sums.upper * (1.0 + 1e-11)


def test_shapes_that_are_nearly_a_box_have_no_number():
    assert sd.GeneralizedGaussian(shape=1000.0, scale=0.5).local_epsilon(1e-6) == math.inf
