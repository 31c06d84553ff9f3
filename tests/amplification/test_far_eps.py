"""Ends of named algorithms where no pure guarantee bounds eps, and where e^eps is no float."""

import math

import pytest

import shuffledp as sd

FFT = "blanket-certified-fft"
# One output tells the victim's value: delta does not fall below a half of a half.
TELLING = [
    sd.Channel(((0.5, 0.5, 0.0), (0.5, 0.0, 0.5))),
    sd.PoissonSubsample(sd.Channel(((1.0, 0.0), (0.0, 1.0))), rate=0.5),
]


@pytest.mark.parametrize("randomizer", TELLING, ids=lambda r: r.name)
@pytest.mark.parametrize("n", [2, pytest.param(15, marks=pytest.mark.long)])
@pytest.mark.parametrize("delta", [1e-6, 0.2])
def test_an_upper_end_was_evaluated_or_is_infinite(randomizer, n, delta):
    """300 was returned, where searches end, although delta is above the target at every eps."""
    account = sd.shuffle(randomizer, n=n)
    assert account.delta(epsilon=300.0).lower > 0.2
    try:
        bound = account.epsilon(delta=delta, analysis=FFT)
    except sd.NotCertified as error:
        assert "epsilon =" not in str(error)  # noqa: PT017
        return
    assert bound.upper == math.inf


def test_where_it_was_evaluated_it_is_finite():
    account = sd.shuffle(sd.KRR(k=4, eps0=1.0), n=100)
    bound = account.epsilon(delta=1e-3, analysis=FFT)
    assert bound.upper < math.inf
    assert account.delta(epsilon=bound.upper).upper <= 1e-3


@pytest.mark.parametrize(
    "analysis", [pytest.param(FFT, marks=pytest.mark.long), "label-stealing", None]
)
@pytest.mark.parametrize("epsilon", [301.0, 400.0, 1e300])
@pytest.mark.parametrize(
    "randomizer", [*TELLING, sd.Channel(((0.5, 0.5, 0.0), (0.4, 0.5, 0.1)))], ids=repr
)
@pytest.mark.filterwarnings("error")
def test_epsilons_beyond_the_floats(randomizer, epsilon, analysis):
    """delta only falls in eps: that at 300 is an upper end beyond it."""
    account = sd.shuffle(randomizer, n=20)
    try:
        bound = account.delta(epsilon=epsilon, analysis=analysis)
    except sd.NotCertified:
        return
    assert 0.0 <= bound.lower <= bound.upper <= 1.0
    assert bound.upper >= account.delta(epsilon=epsilon).lower


@pytest.mark.filterwarnings("error")
def test_two_users_of_a_crowd_with_an_impossible_output():
    bound = sd.crowd(IMPOSSIBLE, victim=0, changed=2).epsilon(delta=0.012)
    assert 0.0 <= bound.lower <= bound.upper


GAUSSIAN = sd.Gaussian(sigma=1.0)
IMPOSSIBLE = [
    (sd.Channel(((0.8125, 0.1875), (0.0, 1.0))), 2),
    (sd.Channel(((0.453125, 0.546875), (0.046875, 0.953125))), 3),
]
TWO_GROUPS = [(sd.KRR(k=3, eps0=1.0), 10), (sd.KRR(k=3, eps0=2.0), 10)]


@pytest.mark.parametrize("epsilon", [301.0, 710.0, 1e300])
@pytest.mark.parametrize(
    "delta",
    [
        lambda eps: sd.shuffle(GAUSSIAN, n=150).delta(epsilon=eps),
        lambda eps: sd.shuffle(GAUSSIAN, n=150).delta(epsilon=eps, analysis="lone-jump"),
        lambda eps: sd.crowd(TWO_GROUPS).delta(epsilon=eps),
        lambda eps: sd.crowd(TWO_GROUPS, victim=0).delta(epsilon=eps),
        lambda eps: sd.crowd(IMPOSSIBLE, victim=0).delta(epsilon=eps),
        lambda eps: sd.crowd(IMPOSSIBLE, victim=0, changed=2).delta(epsilon=eps),
        lambda eps: sd.sgd(
            n=100, noise=1.0, clip=1.0, epochs=1, batch=10, delta=1e-6, sampler="shuffle"
        ).delta_at(epsilon=eps),
    ],
    ids=["gaussian", "lone-jump", "crowd", "a group", "impossible", "two", "sgd"],
)
@pytest.mark.filterwarnings("error")
def test_ends_beyond_the_floats(delta, epsilon):
    """A lone jump's cells, a crowd's steps and an epoch's clones ended with a traceback."""
    try:
        bound = delta(epsilon)
    except sd.NotCertified:
        return
    assert 0.0 <= bound.lower <= bound.upper <= delta(300.0).upper
