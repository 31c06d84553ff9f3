"""One round by values at dots that a reader composes again: its ends and the values themselves."""

import math

import pytest

import shuffledp as sd
from shuffledp.rounds import compose, stated, stated_above

CASES = {
    "k-rr": (lambda: sd.shuffle(sd.KRR(k=10, eps0=3.0), n=2000), 20),
    "no shuffler": (lambda: sd.shuffle(sd.KRR(k=10, eps0=2.0), n=1), 9),
    "few users": (lambda: sd.shuffle(sd.BinaryRR(eps0=4.0), n=40), 5),
    "asymmetric": (
        lambda: sd.shuffle(sd.Channel(matrix=[[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]]), n=900),
        10,
    ),
    "zeros": (lambda: sd.shuffle(sd.Channel(matrix=[[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]), n=50), 3),
    "one round": (lambda: sd.shuffle(sd.KRR(k=10, eps0=3.0), n=2000), 1),
    "continuous": (lambda: sd.shuffle(sd.Laplace(eps0=1.5), n=3000, rtol=1e-3), 6),
}


@pytest.mark.parametrize(
    ("name", "log_target"),
    [
        ("no shuffler", math.log(0.2)),
        *(
            pytest.param(name, math.log(1e-7), marks=pytest.mark.long)
            for name in ("asymmetric", "continuous", "few users", "k-rr", "one round", "zeros")
        ),
    ],
)
def test_ends_are_near_those_of_the_composition(name, log_target):
    make, rounds = CASES[name]
    one = make()
    part = stated(one.as_round(), log_target=log_target, rounds=rounds)
    found = compose([(part, rounds)]).epsilon(delta=math.exp(log_target))
    fine = one.compose(rounds=rounds).epsilon(delta=math.exp(log_target))
    assert fine.lower <= found.upper
    if math.isfinite(fine.upper) and fine.lower > 0.0:
        # Without a sharper bound the blanket's curve is composed.
        rests = compose([(one.as_round(sharper=False), rounds)])
        assert found.upper <= rests.epsilon(delta=math.exp(log_target)).upper * 1.01


@pytest.mark.parametrize("name", ["no shuffler", "zeros"])
def test_values_are_above_the_curve(name):
    make, rounds = CASES[name]
    one = make()
    part = stated(one.as_round(), log_target=-12.0, rounds=rounds)
    for e, value in list(zip(part.dots, part.values, strict=True))[::7]:
        bound = one.delta(epsilon=e, analysis="blanket")
        lower = one.delta(epsilon=e, analysis="dataset").lower
        assert lower <= value or lower == 0.0
        assert value <= 1.01 * bound.upper + 1e-200 or value == 1.0


def test_a_reader_makes_the_same_laws():
    make, rounds = CASES["k-rr"]
    part = stated(make().as_round(), log_target=-12.0, rounds=rounds)
    assert stated_above(part.dots, part.values).forward.same_as(part.pair.forward)
