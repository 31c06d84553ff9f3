"""Ends by label stealing, computed again at their numbers with more bits."""

import math

import pytest

import shuffledp as sd
from laws import log_delta_stealing, others_of
from shuffledp.errors import NotCertified, ParameterError

LABELS = (
    sd.Hybrid(eps0=2.0),
    sd.PCKVGRR(domain=4, s=2, eps0=1.0, padding=True),
    sd.DiscreteLaplace(top=20, eps0=2.0),
    sd.Joint([sd.OLH(domain=5, eps0=1.0), sd.Piecewise(eps0=1.0)]),
    sd.PoissonSubsample(sd.Joint([sd.BinaryRR(eps0=1.0)] * 2), rate=0.5),
)


@pytest.mark.parametrize("randomizer", LABELS, ids=lambda r: r.name)
def test_balls_confirm_labels_laws_of_their_own(randomizer):
    epsilon, log_delta, free = claimed(randomizer, 20_000)
    found = log_delta_stealing(randomizer.to_dict(), free, n=20_000, epsilon=epsilon)
    assert log_delta - 1e-4 < found <= log_delta


def test_balls_leave_many_integers_and_inner_noise():
    free = [{"alpha": 1.0, "smoothing": 0.04, "step": 0.1, "share": [0.1], "join": [0.1]}]
    noise = {"name": "discrete-laplace", "top": 200, "eps0": 1.0, "clamped": False}
    with pytest.raises(NotCertified, match="too many integers"):
        log_delta_stealing(noise, free, n=100, epsilon=0.1)
    inner = sd.PoissonSubsample(sd.Laplace(eps0=1.0), rate=0.5).to_dict()
    assert others_of(inner) is None


def claimed(randomizer, n, delta=1e-6):
    """eps, a bound of log delta there, and the free numbers it rests on."""
    accountant = sd.shuffle(randomizer, n=n)
    epsilon = accountant.epsilon(delta=delta, analysis="label-stealing").upper
    found = accountant.delta(epsilon=epsilon, analysis="label-stealing")
    return epsilon, found.log_upper, found.witness["upper"]["free"]


def test_balls_confirm_noise_that_is_cut_off():
    randomizer = sd.DiscreteGaussian(top=3, sigma=4.0)
    epsilon, log_delta, free = claimed(randomizer, 5_000)
    found = log_delta_stealing(
        randomizer.to_dict(), free, n=5_000, epsilon=epsilon, guess=log_delta
    )
    assert log_delta - 0.1 < found <= log_delta


def test_balls_confirm_the_family():
    accountant = sd.generic(eps0=1.5, n=10_000)
    epsilon = accountant.epsilon(delta=1e-6, analysis="label-stealing").upper
    found = accountant.delta(epsilon=epsilon, analysis="label-stealing")
    value = log_delta_stealing(
        {"name": "generic", "eps0": 1.5, "adaptive": False},
        found.witness["upper"]["free"],
        n=10_000,
        epsilon=epsilon,
    )
    assert found.log_upper - 1e-4 < value <= found.log_upper


def test_numbers_out_of_range_are_refused():
    good = {"alpha": 0.1, "smoothing": 0.4, "step": 0.05, "share": [0.1, 0.2], "join": [0.1, 0.0]}
    mechanism = {"name": "binary-rr", "eps0": 1.0}
    for bad in (
        {"share": [0.1]},
        {"share": [0.1, 0.1, 0.1]},
        {"share": [0.1, -0.1]},
        {"share": [0.1, math.nan]},
        {"join": [0.1, 1.5]},
        {"alpha": 0.0},
        {"alpha": math.inf},
        {"smoothing": -1.0},
        {"step": 0.0},
        {"ceiling": 1.0},
    ):
        with pytest.raises(ParameterError):
            log_delta_stealing(mechanism, [{**good, **bad}], n=10, epsilon=0.5)
    for n, numbers in ((1, [good]), (10, []), (10, [good, good])):
        with pytest.raises(ParameterError):
            log_delta_stealing(mechanism, numbers, n=n, epsilon=0.5)
    for epsilon in (-0.1, math.nan, math.inf):
        with pytest.raises(ParameterError):
            log_delta_stealing(mechanism, [good], n=10, epsilon=epsilon)
    wheel = {"name": "wheel", "domain": 10, "s": 2, "eps0": 1.0}
    for table, free in ((wheel, good), (mechanism, {**good, "step": 1e-9})):
        with pytest.raises(NotCertified):
            log_delta_stealing(table, [free], n=10, epsilon=0.5)
