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


def with_noise(protocol, noise):
    if isinstance(protocol, sd.BalcerCheu):
        return sd.BalcerCheu(p=1.0 - noise)
    return replace(protocol, f=noise)


def least_noise(protocol, *, n, rtol=1e-3, **target):
    coin = lambda noise: sd.shuffle(with_noise(protocol, noise), n=n)  # noqa: E731
    most = 1.0 - 1.0 / protocol.d if isinstance(protocol, sd.MixDUMP) else 0.5
    ends = {"find": "smallest", "low": 2.0**-40, "high": most * (1.0 - 1e-9), "rtol": rtol}
    return sd.calibrate(coin, what="noise", **ends, **target)


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


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(60, 1.0, 1e-3), (100, 0.7, 1e-4)])
def test_biased_bit(n, epsilon, delta):
    found = least_noise(sd.BalcerCheu(p=0.5), n=n, epsilon=epsilon, delta=delta)
    low, high = exponential(epsilon)
    exact = Fraction(round(found.account.source.p * 2**64), 1 << 64)
    assert shifted_binomial_delta(n, exact, low) <= Fraction(delta)
    before = Fraction(round((1.0 - found.beyond) * 2**64), 1 << 64)
    assert shifted_binomial_delta(n, before, high) > Fraction(delta)
    assert found.value / 1.0011 < found.beyond < found.value


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
