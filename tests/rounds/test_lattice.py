"""One round on a lattice: its ends against those of the finer composition, its laws as stated."""

import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.rounds import compose, on_lattice

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


@pytest.mark.many(3)
@pytest.mark.parametrize(
    ("name", "log_target"),
    [
        *((name, math.log(1e-7)) for name in CASES if name not in {"continuous", "asymmetric"}),
        pytest.param("asymmetric", math.log(1e-7), marks=pytest.mark.long),
        ("k-rr", math.log(0.2)),
        ("no shuffler", math.log(0.2)),
        pytest.param("continuous", math.log(1e-7), marks=pytest.mark.long),
        pytest.param("asymmetric", math.log(0.2), marks=pytest.mark.long),
    ],
)
def test_ends_are_beyond_those_of_the_finer_composition(name, log_target):
    make, rounds = CASES[name]
    one = make()
    part = on_lattice(one.as_round(), log_target=log_target, rounds=rounds)
    found = compose([(part, rounds)]).epsilon(delta=math.exp(log_target))
    fine = one.compose(rounds=rounds).epsilon(delta=math.exp(log_target))
    assert fine.lower <= found.upper
    assert found.lower <= fine.upper
    if math.isfinite(fine.upper) and fine.lower > 0.0:
        if name in {"asymmetric", "continuous"}:
            # Of several pairs, and of noise, certificates compose the blanket's curve.
            rests = compose([(one.as_round(sharper=False), rounds)])
            assert found.upper <= rests.epsilon(delta=math.exp(log_target)).upper * 1.01
        else:
            assert found.upper <= fine.upper * 1.01
        assert found.lower >= fine.lower * 0.8


@pytest.mark.many(2)
@pytest.mark.parametrize("name", [name for name in CASES if name != "continuous"])
def test_values_are_above_the_curve_and_convex(name):
    make, rounds = CASES[name]
    one = make()
    part = on_lattice(one.as_round(), log_target=-12.0, rounds=rounds)
    eps, values = part.grid.points(), np.array(part.values)
    assert all(eps[k] == k * part.grid.step for k in range(eps.size))
    for k in range(0, eps.size, 7):
        # What is composed is the blanket's curve.
        bound = one.delta(epsilon=float(eps[k]), analysis="blanket")
        lower = one.delta(epsilon=float(eps[k]), analysis="dataset").lower
        assert lower <= values[k] or lower == 0.0
        assert values[k] <= 1.01 * bound.upper + 1e-200 or values[k] == 1.0
    slopes = np.diff(values) / np.diff(np.exp(eps))
    assert np.all(np.diff(slopes) >= -1e-12 * np.abs(slopes[:-1]).max())


def test_the_last_value_of_a_pure_guarantee_is_nothing():
    one = sd.shuffle(sd.KRR(k=10, eps0=2.0), n=1)
    part = on_lattice(one.as_round(), log_target=-12.0, rounds=9)
    assert part.values[-1] == 0.0
    assert part.grid.points()[-1] >= 2.0
    assert part.pair.forward.infinite == 0.0


@pytest.mark.parametrize("eps0", [5.592, 5.7, 5.8])
def test_the_scale_of_a_curve_is_where_it_falls(eps0):
    """At eps0 itself, where all gains are of rounding's size, the estimate may be anything."""
    curve = sd.shuffle(sd.BLH(domain=50, eps0=eps0), n=100_000).as_round().curve()
    drop = curve.at(0.0).high - curve.at(curve.scale).high
    assert 0.9 < drop < 1.1
