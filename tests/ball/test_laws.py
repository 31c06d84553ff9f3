"""Class laws against every single output of small mechanisms, each written from its definition."""

import math
from fractions import Fraction
from itertools import product

import pytest
from flint import arb, ctx, fmpq

from laws import finite_law
from randomizers.finite import small
from shuffledp.ball.gains import blanket_gains, dataset_gains
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.errors import ParameterError

EPS0 = 1.3
CASES = [
    ({"name": name, **arguments}, lambda a=arguments, d=definition: d(**a))
    for name, arguments, definition in small(EPS0)
]
IDS = ["-".join(str(v) for v in case[0].values()) for case in CASES]


def moments(rows, chosen):
    """Symmetric functions that determine how mass is spread over likelihood ratios."""
    out = []
    for powers in product((0, 1, 2), repeat=len(chosen)):
        total = arb(0)
        for column in zip(*rows, strict=True):
            smallest = min(column, key=float)
            term = smallest
            for x, power in zip(chosen, powers, strict=True):
                term *= (column[x] / smallest) ** power
            total += term
        out.append(total)
    return out


def class_moments(law):
    out = []
    for powers in product((0, 1, 2), repeat=len(law[0].probability)):
        total = arb(0)
        for c in law:
            term = c.blanket
            for p, power in zip(c.probability, powers, strict=True):
                term *= (p / c.blanket) ** power
            total += term
        out.append(total)
    return out


@pytest.mark.parametrize(("mechanism", "outputs"), CASES, ids=IDS)
def test_classes_are_the_outputs_counted(mechanism, outputs):
    with ctx.workprec(150):
        rows = outputs()
        size = len(rows)
        choices = [(0, 1), (1, 0), (0, size - 1, 1 % size), (0, 1, 0)]
        for chosen in choices:
            if max(chosen) >= size or chosen[0] == chosen[1]:
                continue
            for got, want in zip(
                class_moments(finite_law(mechanism, chosen)), moments(rows, chosen), strict=True
            ):
                assert got.overlaps(want)
                assert got.rad() < 1e-30


@pytest.mark.parametrize(("mechanism", "_"), CASES, ids=IDS)
def test_laws_sum_to_one_and_the_gain_has_its_mean(mechanism, _):
    with ctx.workprec(150):
        eps = arb(0.4)
        law = finite_law(mechanism, (0, 1, 0))
        for x in range(3):
            assert sum((c.probability[x] for c in law), start=arb(0)).overlaps(arb(1))
        for gains in (blanket_gains(finite_law(mechanism, (0, 1)), eps), dataset_gains(law, eps)):
            assert sum(gains.weight, start=arb(0)).overlaps(arb(1))
            mean = sum((w * g for w, g in zip(gains.weight, gains.gain, strict=True)), start=arb(0))
            assert mean.overlaps(1 - eps.exp())
            assert mean.rad() < 1e-30


def test_clone_gains_have_their_mean():
    with ctx.workprec(150):
        for build in (clone_pair, stronger_clone_pair):
            made = build(eps0=2.0, n=5).gains(arb(0.7), -20.0)
            mean = sum((w * g for w, g in zip(*made.above, strict=True)), start=arb(0))
            assert sum(made.above.masses, start=arb(0)).overlaps(arb(1))
            assert mean.overlaps(1 - arb(0.7).exp())


def test_a_channel_is_normalised_exactly():
    with ctx.workprec(150):
        rows = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
        law = finite_law({"name": "channel", "matrix": rows}, (0, 1))
        total = sum(Fraction(v) for v in rows[0])
        want = Fraction(0.1) / total
        ball = arb(fmpq(want.numerator, want.denominator))
        assert any(c.probability[0].overlaps(ball) for c in law)
        assert sum(c.rational[1] for c in law) == 1


def test_equal_epsilons_give_exact_zeros():
    with ctx.workprec(150):
        gains = blanket_gains(finite_law({"name": "k-rr", "k": 3, "eps0": 0.7}, (0, 1)), arb(0.7))
        assert gains.gain[1].is_zero() or any(g.is_zero() for g in gains.gain[:-1])


@pytest.mark.parametrize(
    ("mechanism", "inputs", "message"),
    [
        ({"name": "k-rr", "k": 1, "eps0": 1.0}, (0, 1), "k = 1"),
        ({"name": "k-rr", "k": 3, "eps0": math.inf}, (0, 1), "eps0 = inf"),
        ({"name": "k-rr", "k": 3, "eps0": 1.0}, (0, 3), "input = 3"),
        ({"name": "k-rr", "k": 3}, (0, 1), "eps0"),
        ({"name": "channel", "matrix": [[0.5, 0.6], [1, 0]]}, (0, 1), "matrix row 0"),
    ],
)
def test_bad_parameters_are_named(mechanism, inputs, message):
    with pytest.raises(ParameterError, match=message):
        finite_law(mechanism, inputs)
