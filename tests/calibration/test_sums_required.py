"""The smallest batch of sums for a target."""

import math

import pytest

import shuffledp as sd

SUMS = {"view": "sums"}
FEWEST = {"find": "smallest", "whole": True, "what": "n"}


def required_users(mechanism, *, epsilon, delta, high=10**9, **setting):
    account = lambda n: sd.shuffle(mechanism, n, **setting)  # noqa: E731
    return sd.calibrate(account, epsilon=epsilon, delta=delta, high=high, **FEWEST)


def required_added(mechanism, *, n, kind="discrete-laplace", rtol=1e-3, **target):
    def account(scale):
        return sd.shuffle(mechanism, n, added=sd.AddedNoise(kind=kind, scale=scale), **SUMS)

    ends = {"find": "smallest", "low": 0.05, "high": 2000.0, "rtol": rtol}
    return sd.calibrate(account, what="added.scale", **ends, **target)


def test_one_bit_is_what_its_messages_need():
    target = {"epsilon": 0.5, "delta": 1e-6}
    sums = required_users(sd.BinaryRR(eps0=2.0), **target, **SUMS)
    messages = required_users(sd.BinaryRR(eps0=2.0), **target)
    assert (sums.value, sums.beyond) == (messages.value, messages.beyond) == (494, 493)
    assert sums.log_delta <= math.log(1e-6) < sums.log_delta_beyond


@pytest.mark.parametrize(
    "case",
    [
        (sd.RAPPOR(d=4, eps0=2.0), {"relation": "replace-special"}),
        pytest.param((sd.RAPPOR(d=4, eps0=2.0), {"ones": 2}), marks=pytest.mark.long),
        pytest.param((sd.OUE(d=4, eps0=2.0), {}), marks=pytest.mark.long),
        (
            sd.BinaryRR(eps0=3.0),
            {"added": sd.AddedNoise(kind="discrete-gaussian", scale=2.0)},
        ),
        (sd.Gaussian(sigma=3.0), {}),
    ],
)
def test_the_batch_meets_the_target_and_a_smaller_one_does_not(case):
    mechanism, more = case
    found = required_users(mechanism, epsilon=0.4, delta=1e-5, **SUMS, **more)
    assert found.what == "n"
    assert 0 < found.value - found.beyond <= max(1, found.value // 900)
    at, before = (sd.shuffle(mechanism, n, **SUMS, **more) for n in (found.value, found.beyond))
    assert at.delta(epsilon=0.4).upper <= 1.02e-5
    # Of both numbers the certified end was seen, and no data set of the smaller one is far below.
    assert at.log_upper(0.4, log_target=math.log(1e-5)) == found.log_delta
    assert found.log_delta <= math.log(1e-5) < found.log_delta_beyond
    assert before.delta(epsilon=0.4).upper >= 0.98e-5


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize(
    ("mechanism", "n"), [(sd.Channel(((1.0, 0.0), (0.0, 1.0))), 100), (sd.BinaryRR(eps0=2.0), 60)]
)
def test_the_least_noise_of_the_aggregators_own(mechanism, n, kind):
    found = required_added(mechanism, n=n, epsilon=0.5, delta=1e-6, kind=kind)
    assert found.what == "added.scale"
    assert 0.0 < found.value / found.beyond - 1.0 <= 1e-3
    ends = [
        sd.shuffle(mechanism, n, added=sd.AddedNoise(kind=kind, scale=scale), **SUMS)
        for scale in (found.value, found.beyond)
    ]
    at, before = (one.log_upper(0.5, log_target=math.log(1e-6)) for one in ends)
    assert (at, before) == (found.log_delta, found.log_delta_beyond)
    assert at <= math.log(1e-6) < before
    # No data set of the next smaller noise is far below the target.
    assert ends[1].delta(epsilon=0.5).lower > 0.9e-6
