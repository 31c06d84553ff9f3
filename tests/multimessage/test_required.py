"""The least noise that meets a target, checked with exact binomials; the next one misses it."""

import math
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


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-3), (0.5, 1e-2), (2.0, 1e-6), (0.0, 0.2), (0.3, 0.9)]
)
def test_fair_bits(epsilon, delta):
    found = sd.required_messages(sd.BalcerEtAl(blankets=1), n=10, epsilon=epsilon, delta=delta)
    low, high = exponential(epsilon)
    half = Fraction(1, 2)
    assert shifted_binomial_delta(int(found.value), half, low) <= Fraction(delta)
    assert found.log_delta <= math.log(delta)
    if found.beyond is not None:
        assert found.beyond == found.value - 1
        assert shifted_binomial_delta(int(found.beyond), half, high) > Fraction(delta)
    assert found.randomizer.blankets == max(1, math.ceil(found.value / 10))
    bound = sd.shuffle(found.randomizer, n=10).delta(epsilon=epsilon)
    assert bound.upper <= delta


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(60, 1.0, 1e-3), (100, 0.7, 1e-4)])
def test_biased_bit(n, epsilon, delta):
    found = sd.required_noise(sd.BalcerCheu(p=0.5), n=n, epsilon=epsilon, delta=delta)
    low, high = exponential(epsilon)
    exact = Fraction(round(found.randomizer.p * 2**64), 1 << 64)
    assert shifted_binomial_delta(n, exact, low) <= Fraction(delta)
    before = Fraction(round((1.0 - found.beyond) * 2**64), 1 << 64)
    assert shifted_binomial_delta(n, before, high) > Fraction(delta)
    assert found.value / 1.0011 < found.beyond < found.value
    assert "1 - p" in str(found)


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
    found = sd.required_messages(protocol, n=n, epsilon=epsilon, delta=delta)
    assert found.beyond == found.value - 1
    assert found.log_delta <= math.log(delta) < found.log_delta_beyond
    assert sd.shuffle(found.randomizer, n=n).delta(epsilon=epsilon).upper <= delta
    if found.randomizer.blankets > 1:
        fewer = found.randomizer.with_blankets(found.randomizer.blankets - 1)
        assert sd.shuffle(fewer, n=n).delta(epsilon=epsilon).upper > delta
    assert found.to_dict()["randomizer"]["name"] == protocol.name


@pytest.mark.parametrize(
    "protocol",
    [sd.CheuZhilyaev(d=5, f=0.2, blankets=4), sd.MixDUMP(d=30, f=0.1, blankets=1)],
    ids=repr,
)
def test_flips_meet_the_target_and_fewer_do_not(protocol):
    found = sd.required_noise(protocol, n=200, epsilon=0.4, delta=1e-5, rtol=1e-2)
    assert sd.shuffle(found.randomizer, n=200).delta(epsilon=0.4).upper <= 1e-5
    less = sd.shuffle(protocol.with_noise(found.beyond), n=200)
    assert less.delta(epsilon=0.4).upper > 1e-5


def test_no_noise_is_needed_where_the_messages_do():
    found = sd.required_noise(sd.MixDUMP(d=5, f=0.1, blankets=50), n=1000, epsilon=2.0, delta=1e-3)
    assert found.beyond is None
    assert found.value < 1e-11


def test_what_cannot_be_met_is_said():
    with pytest.raises(sd.NotCertified, match="does not meet"):
        sd.required_noise(sd.BalcerCheu(p=0.9), n=3, epsilon=0.1, delta=1e-9)
    with pytest.raises(sd.ParameterError, match="tuned by its bias"):
        sd.required_messages(sd.BalcerCheu(p=0.9), n=3, epsilon=0.1, delta=1e-9)
    with pytest.raises(sd.ParameterError, match="made with a coin"):
        sd.required_noise(sd.PureDUMP(d=3, blankets=1), n=3, epsilon=0.1, delta=1e-9)
    with pytest.raises(sd.ParameterError, match="delta"):
        sd.required_messages(sd.PureDUMP(d=3, blankets=1), n=3, epsilon=0.1, delta=0.0)


def test_the_papers_own_bias_is_on_the_safe_side():
    """p = 1 - 50 log(2/delta)/(eps^2 n) of Balcer and Cheu 2020: valid, and far from needed."""
    n, epsilon, delta = 100_000, 1.0, 1e-6
    noise = 50 * math.log(2 / delta) / (epsilon**2 * n)
    assert sd.shuffle(sd.BalcerCheu(p=1 - noise), n=n).delta(epsilon=epsilon).upper <= delta
    found = sd.required_noise(sd.BalcerCheu(p=0.9), n=n, epsilon=epsilon, delta=delta)
    assert found.value < noise / 10
