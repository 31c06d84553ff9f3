"""Laws of composition, with certified ends: counts add up, and basic composition is above."""

import math

import pytest

import shuffledp as sd

WEEKLY = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
ONCE = sd.shuffle(sd.RAPPOR(d=8, eps0=2.0), n=3_000)


def test_k_rounds_are_k_fold():
    one = WEEKLY.compose(rounds=6)
    assert one == sd.compose([WEEKLY] * 6)
    assert one == sd.compose([(WEEKLY, 6)])
    assert one == sd.compose([WEEKLY.compose(rounds=2)], rounds=3)
    assert one == sd.compose([WEEKLY.compose(rounds=4), (WEEKLY, 2)])
    assert one.rounds == 6


@pytest.mark.parametrize("mechanism", [WEEKLY, pytest.param(ONCE, marks=pytest.mark.long)])
def test_one_round_agrees_with_the_front_door(mechanism):
    alone, composed = mechanism.epsilon(delta=1e-8), mechanism.compose(rounds=1).epsilon(delta=1e-8)
    assert composed.lower <= alone.upper
    assert alone.lower <= composed.upper
    # Rounds are composed from the blanket's curve.
    blanket = mechanism.epsilon(delta=1e-8, analysis="blanket")
    assert composed.upper <= blanket.upper * (1 + 1e-3)
    assert composed.lower >= alone.lower * (1 - 3e-3)


def test_below_basic_composition():
    # T rounds of (eps, delta) are (T eps, T delta).
    for rounds in (2,):
        each = WEEKLY.epsilon(delta=1e-9).upper
        total = WEEKLY.compose(rounds=rounds).epsilon(delta=rounds * 1e-9)
        assert total.lower <= rounds * each
        assert total.upper <= rounds * each * 1.001


def test_pure_guarantees_add_up_at_most():
    tiny = sd.shuffle(sd.KRR(k=3, eps0=1.0), n=1)
    for rounds in (1, 3):
        bound = tiny.compose(rounds=rounds).epsilon(delta=1e-300)
        assert bound.lower <= rounds <= bound.upper
        assert bound.upper <= rounds * (1 + 1e-12)
        assert bound.lower >= 0.99 * rounds
    # 2-RR, n = 1: the binomial sum, exactly.
    binary = sd.shuffle(sd.BinaryRR(eps0=1.0), n=1).compose(rounds=10)
    p = 1.0 / (1.0 + math.exp(-1.0))
    for eps in (1.0, 3.5, 7.0):
        exact = math.fsum(
            math.comb(10, k) * p**k * (1 - p) ** (10 - k) * -math.expm1(eps - (2 * k - 10))
            for k in range(11)
            if 2 * k - 10 > eps
        )
        bound = binary.delta(epsilon=eps)
        assert bound.lower <= exact * (1 + 1e-12)
        assert bound.upper >= exact * (1 - 1e-12)
        assert bound.upper <= exact * (1 + 1e-6)
        assert bound.lower >= exact * (1 - 1e-2)
