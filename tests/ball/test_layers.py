"""Layers below a density: its transform, computed otherwise, is never above what they leave."""

import math
import random

import pytest
from flint import acb, arb, ctx

from shuffledp.ball import api
from shuffledp.ball.continuous import ContinuousPair, _layers, _outline, _Source
from shuffledp.ball.densities import Piece
from shuffledp.ball.gains import ByParts, Run
from shuffledp.ball.layers import Layer, layers_below, missing, missing_in_floats
from shuffledp.ball.powers import Power
from shuffledp.ball.quadrature import Band, Sketch, gain_at
from shuffledp.ball.registry import RECORDS
from shuffledp.ball.transform import Tilted, _Rough


def noise_of(mechanism):
    return RECORDS[mechanism["name"]].noise(mechanism)


FREQUENCIES = [0.0, 1e-6, 0.01, 0.1, 0.5, 1.0, 1.7, 2.3, 3.0, 4.4, 6.0, 9.0, 20.0, 77.0, 1000.0]
GAUSSIAN = {"name": "gaussian", "sigma": 1.0, "low": 0.0, "high": 1.0}
LAPLACE = {"name": "laplace", "eps0": 1.5, "low": 0.0, "high": 1.0, "binary": False}
MECHANISMS = pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])


def stairs(heights, ends, t):
    """Transform of the measure with these densities between these points."""
    total = acb(0)
    for height, left, right in zip(heights, ends, ends[1:], strict=False):
        if t == 0.0:
            total += height * (right - left)
        else:
            total += height * (acb(0, t * right).exp() - acb(0, t * left).exp()) / acb(0, t)
    return abs(total)


def some_heights(shape, rng):
    if shape == "hill":
        return [math.exp(-(((k - 8) / 4) ** 2)) for k in range(17)]
    if shape == "hills":
        return [1.0, 3.0, 2.0, 0.0, 5.0, 1.0, 1.0, 4.0]
    if shape == "flat":
        return [0.7] * 5
    return [rng.choice([0.0, rng.random(), rng.random() ** 6]) for _ in range(24)]


@pytest.mark.parametrize("shape", ["hill", "hills", "flat", "wild"])
@pytest.mark.parametrize("falling", [False, True])
def test_stairs_have_no_larger_transform(shape, falling):
    rng = random.Random(7)
    heights = [arb(x) for x in some_heights(shape, rng)]
    ends = [arb(0.3)]
    for _ in heights:
        ends.append(ends[-1] + (-1 if falling else 1) * arb(rng.random()))
    layers = layers_below(heights, ends)
    upward = [-end for end in ends] if falling else ends
    with ctx.workprec(200):
        mass = stairs(heights, upward, 0.0)
        for low in FREQUENCIES:
            left = mass - missing(layers, arb(low))
            # It holds from there on, not only there.
            for t in (low, 1.01 * low, 1.3 * low, 2.0 * low, 3.7 * low):
                assert not stairs(heights, upward, t) > left
    # All of the mass is in layers, and none of it twice.
    assert abs(float(sum((m for m, _ in layers), arb(0)) / mass) - 1.0) < 1e-12


def test_one_layer_misses_what_a_uniform_law_does():
    layer = [Layer(arb(0.5), arb(3))]
    for t in (0.001, 0.1, 0.5, 1.0, 1.3):
        x = 1.5 * t
        exact = 0.5 * (1 - math.sin(x) / x)
        assert 0.86 * exact <= float(missing(layer, arb(t))) <= exact * (1 + 1e-9)
    # Never less from a frequency on: one formula gives way to the other.
    rising = [float(missing(layer, arb(k) / 200)) for k in range(800)]
    assert rising == sorted(rising)
    assert missing(layer, arb(0)) == 0
    assert missing([], arb(1)) == 0
    # Side lobes: |sinc| rises again, to 0.217 at 4.49.
    assert float(missing(layer, arb(4.49 / 1.5))) <= 0.5 * (1 - 0.217)
    assert float(missing(layer, arb(1e9))) > 0.499999


def test_heights_that_say_nothing_have_no_layers():
    heights = [arb(-1), arb(2), arb(-3), arb(0), arb(1)]
    layers = layers_below(heights, [arb(k) for k in range(6)])
    assert sorted(float(m) for m, _ in layers) == [1.0, 2.0]
    assert layers_below([arb(-1), arb(-1)], [arb(0), arb(1), arb(2)]) == []
    assert layers_below([], [arb(0)]) == []


@pytest.mark.parametrize("t", FREQUENCIES)
def test_floats_say_about_the_same(t):
    layers = [Layer(arb(0.25), arb(2)), Layer(arb(0.125), arb(0.0625))]
    near = missing_in_floats([(float(m), float(x)) for m, x in layers], t)
    assert math.isclose(near, float(missing(layers, arb(t))), rel_tol=1e-9, abs_tol=1e-300)


def source_of(mechanism, eps, x2):
    pair = ContinuousPair(
        lambda: noise_of(mechanism),
        arb(0),
        arb(1),
        None if x2 is None else arb(x2),
    )
    return _Source(pair.noise(), arb(eps), _outline(pair, arb(eps), -6.0), -60.0)


def gain(source, piece, y):
    return float(gain_at(source.noise, piece, source.eps, arb(y)).mid())


def density_by_sums(source, piece, alpha, t, points=4_000):
    """Transform of a piece by the midpoint rule, in floats."""
    noise, total = source.noise, 0j
    p, q, ref = piece.lines
    unit, eps = float(noise.unit), float(source.eps)
    quadratic, norm = float(noise.quadratic), float(noise.log_norm)
    left, right = float(piece.left.mid()), float(piece.right.mid())
    h = (right - left) / points

    def line(one, y):
        return unit * (float(one.slope.mid()) * y + float(one.level.mid()))

    for k in range(points):
        y = left + (k + 0.5) * h
        own = line(ref, y)
        gain = math.exp(line(p, y) - own) - math.exp(eps + line(q, y) - own)
        r = math.exp(norm + quadratic * y * y + own)
        total += r * math.exp(alpha * gain) * complex(math.cos(t * gain), math.sin(t * gain)) * h
    return abs(total)


@MECHANISMS
@pytest.mark.parametrize("x2", [None, 0.0, 0.4])
@pytest.mark.parametrize("alpha", [0.01, 0.6])
def test_a_density_of_gains_is_above_its_layers(mechanism, x2, alpha):
    eps = 0.2
    with ctx.workprec(160):
        source = source_of(mechanism, eps, x2)
        assert source.outline.bounded
        for piece in source.outline.bounded:
            layers = _layers(source.noise, piece, source.eps, arb(alpha))
            mass = density_by_sums(source, piece, alpha, 0.0)
            for t in (0.05, 0.3, 1.0, 2.5, 6.0, 15.0):
                left = mass - float(missing(layers, arb(t)))
                # The rule's own error.
                assert density_by_sums(source, piece, alpha, t) <= left + 1e-6 * mass
            if layers:
                # Where G is monotone they have most of the mass.
                assert 0.4 * mass < float(sum((m for m, _ in layers), arb(0))) <= mass


@pytest.mark.parametrize("beyond", [0.3, 1e-9])
def test_no_layer_is_outside_of_its_piece(monkeypatch, beyond):
    """Where floats are beyond an end, as where an end is no float."""
    with ctx.workprec(160):
        source = source_of(GAUSSIAN, 0.2, None)
        for piece in source.outline.bounded:
            plain = _layers(source.noise, piece, source.eps, arb(0.1))
            mass = density_by_sums(source, piece, 0.1, 0.0)
            middle = float(piece.left.mid()) / 2 + float(piece.right.mid()) / 2
            ends = [
                (middle, float(piece.right.mid()) + beyond),
                (float(piece.left.mid()) - beyond, middle),
            ]
            for low, high in ends:
                monkeypatch.setattr(Sketch, "where_heavy", lambda *_, at=(low, high): at)
                found = _layers(source.noise, piece, source.eps, arb(0.1))
                inside = sorted(
                    y for y in (low + (high - low) * k / 32 for k in range(33))
                    if float(piece.left.mid()) <= y <= float(piece.right.mid())
                )  # fmt: skip
                spread = abs(gain(source, piece, inside[0]) - gain(source, piece, inside[-1]))
                assert all(length <= spread * (1 + 1e-9) for _, length in found)
                assert float(sum((m for m, _ in found), arb(0))) <= mass
                monkeypatch.undo()
            assert plain


@MECHANISMS
def test_bound_of_a_power_is_above_its_values(mechanism):
    n = 500
    with ctx.workprec(180):
        source = source_of(mechanism, 0.1, None)
        tilt = 0.5
        power = Power(source.law(Band(tilt, 0.0, 60.0)), n)
        for t in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
            for value in power.values(arb(t), [0], 4)[0][1:]:
                assert not abs(value) > power.bound(arb(2 * t), arb(t), arb("inf"))
        # And it is far below one where the law is spread out.
        far = power.settled_from(arb(1e-9))
        assert far < 60.0
        assert power.bound(arb(2.02 * far), arb(1.01 * far), arb(0)) <= 1e-9


@MECHANISMS
def test_far_out_atoms_are_left_and_hardly_more(mechanism):
    """Where layers are not enough: integration by parts."""
    with ctx.workprec(180):
        law = source_of(mechanism, 0.1, None).law(Band(0.05, 0.0, 60.0))
        tilted = Tilted(law, arb(0.05))
        for t in (30.0, 300.0, 3000.0, 30000.0):
            found = tilted.bound(arb(t), arb(0), arb(0))
            value = abs(tilted.values(arb(t), [1], 1)[0][0])
            assert not value > found
        assert value > 0.1
        assert found < value + 0.1
        assert not tilted.limit(arb(0)) < value - 0.01


def test_fewer_nodes_leave_brackets_where_they_were(monkeypatch):
    question = {"analysis": "blanket", "n": 3000, "epsilon": 0.1, "x0": 0.0, "x1": 1.0, "rel": 1e-4}
    low, high = api.log_delta(GAUSSIAN, **question)
    monkeypatch.setattr("shuffledp.ball.continuous.layers_below", lambda *_: [])
    # Every node is evaluated, or bounded by variations.
    other = api.log_delta(GAUSSIAN, **question)
    assert max(low, other[0]) <= min(high, other[1])


def test_what_is_known_of_a_run_in_other_units():
    """Of 3 G, the measure halved: masses are halves, lengths three times, variations a sixth."""
    by_parts = ByParts(arb(12), arb(6), arb(4))
    run = Run(arb(8), lambda: by_parts, [Layer(arb(2), arb(5))]).scaled(arb(3), arb(2))
    assert run.mass == 4
    assert run.layers == [(1, 15)]
    assert run.by_parts() == (2, 1, 2)
    nothing = by_parts._replace(variation=arb("nan"), bulk_variation=arb("inf"))
    assert nothing.scaled(arb(3), arb(2)) == (arb("inf"), arb("inf"), 2)


def test_a_bound_on_an_interval_is_that_at_its_lower_end():
    run = Run(arb(1), lambda: ByParts(arb(1), arb(0), arb(1)), [Layer(arb(1), arb(2))])
    rough = _Rough([], [], [run])
    # Where t = 0 is among them nothing is missing.
    assert not rough.bound(arb(2), arb(2), arb(0)) < 1
    for low in (0.2, 0.9, 1.6, 4.0, 30.0):
        sinc = abs(math.sin(low) / low)
        found = [rough.bound(arb(low) + width, arb(width), arb(0)) for width in (0, 0.5, 7)]
        assert all(x >= sinc * (1 - 1e-12) for x in found)
        assert all(abs(x - found[0]) < 1e-12 for x in found)


@pytest.mark.parametrize("alpha", [0.01, 0.6])
def test_what_of_a_piece_is_not_bulk_is_in_the_rest(alpha):
    seen = 0
    with ctx.workprec(160):
        source = source_of(GAUSSIAN, 0.2, 0.4)
        band = Band(alpha, 0.0, 10.0)
        runs = source.law(band).far.runs(arb(alpha))
        for piece, run in zip(source.outline.bounded, runs, strict=True):
            bulk = source._bulk_of(piece)
            rest = run.by_parts().rest
            outside = [
                Piece(left, right, piece.lines)
                for left, right in ((piece.left, bulk.left), (bulk.right, piece.right))
                if left < right
            ]
            seen += len(outside)
            gone = sum(density_by_sums(source, part, alpha, 0.0) for part in outside)
            assert gone * (1 - 1e-5) <= float(rest) <= gone * (1 + 1e-5) + 1e-12
    assert seen
