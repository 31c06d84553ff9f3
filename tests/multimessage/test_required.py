"""The least noise that meets a target, checked with exact binomials; the next one misses it."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

import shuffledp as sd
from enumerated import exponential


def shifted_binomial_delta(trials, p, alpha):
    """Divergence of 1 + Bin(trials, p) from Bin(trials, p) and back: the larger one, exactly."""
    law = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    up, plain = [Fraction(0), *law], [*law, Fraction(0)]
    return max(
        sum(max(x - alpha * y, Fraction(0)) for x, y in zip(*pair, strict=True))
        for pair in ((up, plain), (plain, up))
    )


def fewest_messages(protocol, *, n, **target):
    """Blanket messages of a user."""
    account = lambda count: sd.shuffle(replace(protocol, blankets=count), n=n)  # noqa: E731
    return sd.calibrate(account, find="smallest", high=10**6, whole=True, **target)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-3), (0.5, 1e-2), (2.0, 1e-6), (0.0, 0.2), (0.3, 0.9)]
)
def test_fair_bits(epsilon, delta):
    found = fewest_messages(sd.BalcerEtAl(blankets=1), n=10, epsilon=epsilon, delta=delta)
    low, high = exponential(epsilon)
    half = Fraction(1, 2)
    assert shifted_binomial_delta(10 * found.value, half, low) <= Fraction(delta)
    assert found.log_delta <= math.log(delta)
    if found.beyond is not None:
        assert found.beyond == found.value - 1
        assert shifted_binomial_delta(10 * found.beyond, half, high) > Fraction(delta)
    assert found.account.source.blankets == found.value
    assert found.account.delta(epsilon=epsilon).upper <= delta


@pytest.mark.parametrize(
    "protocol",
    [
        sd.CheuZhilyaev(d=5, f=0.2, blankets=1),
        sd.BallsIntoBins(d=60, s=7, blankets=1),
        sd.BallsIntoBins(d=60, s=7, blankets=1, rate=0.1),
        sd.PureDUMP(d=30, blankets=1),
        sd.MixDUMP(d=30, f=0.5, blankets=1),
    ],
    ids=repr,
)
def test_messages_meet_the_target_and_one_fewer_does_not(protocol):
    epsilon, delta, n = 0.4, 1e-5, 300
    found = fewest_messages(protocol, n=n, epsilon=epsilon, delta=delta)
    assert found.log_delta <= math.log(delta)
    assert found.account.delta(epsilon=epsilon).upper <= delta
    if found.beyond is not None:
        assert found.beyond == found.value - 1
        assert found.log_delta_beyond > math.log(delta)
        fewer = replace(protocol, blankets=found.beyond)
        assert sd.shuffle(fewer, n=n).delta(epsilon=epsilon).upper > delta
    assert found.to_dict()["randomizer"]["name"] == protocol.name
