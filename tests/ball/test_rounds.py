"""Composition in balls against sums over all outcomes, and laws above and below known curves."""

import itertools
import math

import numpy as np
import pytest
from flint import arb, ctx

from shuffledp.ball import rounds as ball_rounds
from shuffledp.ball.rounds import (
    LatticeLaw,
    law_above,
    law_below,
    log_delta_of_rounds,
    violation_below,
)
from shuffledp.errors import NotCertified
from shuffledp.rounds.lattice import _lowered


def law(step, first, mass, infinite=0.0):
    return LatticeLaw(arb(step), first, [arb(m) for m in mass], arb(infinite))


def by_enumeration(given, rounds, epsilon):
    """delta of the product measure, outcome by outcome."""
    total = arb(0)
    for picks in itertools.product(range(len(given.mass)), repeat=rounds):
        weight = arb(1)
        for j in picks:
            weight *= given.mass[j]
        loss = given.step * sum(given.first + j for j in picks)
        if loss > epsilon:
            total += weight * (1 - (epsilon - loss).exp())
    finite = sum(given.mass, start=arb(0))
    return total + (finite + given.infinite) ** rounds - finite**rounds


LAWS = {
    "three losses": law(0.5, -1, [0.2, 0.5, 0.3]),
    "an infinite loss": law(0.25, -2, [0.1, 0.2, 0.3, 0.2, 0.1], 0.1),
    "more than one": law(0.125, -1, [0.3, 0.5, 0.25], 2.0**-30),
    "all above": law(0.5, 1, [0.4, 0.6]),
}


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.3, 0.75, 1.6])
@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("name", LAWS)
def test_against_every_outcome(name, rounds, epsilon):
    with ctx.workprec(200):
        truth = by_enumeration(LAWS[name], rounds, arb(epsilon))
        low, high = log_delta_of_rounds(LAWS[name], rounds=rounds, epsilon=epsilon)
        if truth.is_zero() or not truth > 0:
            assert low == -math.inf
            assert math.exp(high) <= 1e-50
            return
        assert not truth.log() < arb(low)
        assert not truth.log() > arb(high)
        assert high - low < 1e-12


@pytest.mark.parametrize("epsilon", [0.2, 2.0, 7.0])
def test_what_wraps_around_is_bounded(monkeypatch, epsilon):
    """With few nodes much wraps around: the bracket is wider, and holds the truth."""
    given = law(0.25, -3, [0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05])
    whole = log_delta_of_rounds(given, rounds=40, epsilon=epsilon)
    monkeypatch.setattr(ball_rounds._Rough, "nodes", lambda *_: 16)
    for enough in (1e300, 1e-2, 1e-9):
        monkeypatch.setattr(ball_rounds, "_ENOUGH", enough)
        low, high = log_delta_of_rounds(given, rounds=40, epsilon=epsilon)
        assert low <= whole[0]
        assert whole[1] <= high
    assert high - low < 1e-8


def test_what_lands_just_above_eps_still_counts(monkeypatch):
    """A sum one turn beyond the first one above eps lands there, where the weight is next to 0."""
    monkeypatch.setattr(ball_rounds._Rough, "nodes", lambda *_: 16)
    monkeypatch.setattr(ball_rounds, "_ENOUGH", 1e300)
    given = law(1.0, -1, [0.5, 0.0, 0.3 * 2.0**-40, *[0.0] * 15, 0.2])
    epsilon = 1.0 - 2.0**-45
    _, high = log_delta_of_rounds(given, rounds=1, epsilon=epsilon)
    assert high >= math.log(0.2 * -math.expm1(epsilon - 17.0)) - 1e-12


def test_many_rounds_of_randomized_response():
    """A binomial number of losses +1 among losses +-1."""
    p, rounds, epsilon = 0.5625, 400, 60.0
    given = law(1.0, -1, [1 - p, 0.0, p])
    with ctx.workprec(300):
        truth = arb(0)
        for k in range(rounds + 1):
            loss = 2 * k - rounds
            if loss > epsilon:
                weight = math.comb(rounds, k) * arb(p) ** k * arb(1 - p) ** (rounds - k)
                truth += weight * (1 - (arb(epsilon) - loss).exp())
        low, high = log_delta_of_rounds(given, rounds=rounds, epsilon=epsilon)
        assert arb(low) <= truth.log() <= arb(high)
        assert high - low < 1e-8


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(ball_rounds, "_MOST_NODES", 64)
    with pytest.raises(NotCertified, match="rounds = 1,000"):
        log_delta_of_rounds(law(0.001, -2, [0.1, 0.2, 0.4, 0.2, 0.1]), rounds=1000, epsilon=0.3)


# ----------------------------------------------------------- laws above and below a known curve


def curve(a):
    """Of binary randomized response with eps0 = 2 and of a milder one, mixed: two kinks."""
    found = arb(0)
    for share, eps0 in ((0.3, 2.0), (0.7, 1.1)):
        grow = arb(eps0).exp()
        found += share * arb.max((grow - a) / (grow + 1), arb(0))
    return found


def value(given, a):
    """The law's curve: p_inf + sum mass (1 - a e^-loss)_+."""
    total = given.infinite
    for j, m in enumerate(given.mass):
        total += m * arb.max(1 - a * (-given.step * (given.first + j)).exp(), arb(0))
    return total


def everywhere():
    return [arb(x / 8).exp() for x in range(-30, 31)]


def at(a):
    return curve(a) if a >= 1 else 1 - a + a * curve(1 / a)


@pytest.mark.parametrize("step", [0.0625, 0.25, 0.75])
def test_the_law_above_is_above(step):
    with ctx.workprec(200):
        count = math.ceil(2.0 / step)
        values = [float(curve((arb(step) * k).exp()).upper()) + 1e-15 for k in range(count + 1)]
        given = law_above(step, values)
        assert all(value(given, a) >= at(a) for a in everywhere())
        assert all(m >= 0 for m in given.mass)


def test_values_that_are_not_convex_still_give_a_law_above():
    with ctx.workprec(200):
        values = [float(curve((arb(0.25) * k).exp()).upper()) + 1e-9 for k in range(9)]
        values[3] *= 1.05
        values[0] = 0.9
        given = law_above(0.25, values)
        assert all(value(given, a) >= at(a) for a in everywhere())


def milder(eps):
    """A curve below the other one, with kinks at 0.75 and 1.5."""
    parts = ((0.3, 2.0, 1.5), (0.7, 1.1, 0.75))
    return math.fsum(
        s * max(math.exp(kink) - math.exp(eps), 0.0) / (math.exp(e) + 1) for s, e, kink in parts
    )


def polygon(step):
    return [(round(eps / step), milder(eps)) for eps in (0.0, 0.75, 1.5)]


def bracket(step):
    def ends(k):
        h = curve((arb(step) * k).exp())
        if not h > 0:
            return -math.inf, -60.0
        return float(h.log().mid()) - 1e-9, float(h.log().mid()) + 1e-9

    return ends


def test_a_polygon_below_is_accepted_and_its_law_is_below():
    with ctx.workprec(200):
        step = 0.0625
        side = polygon(step)
        assert violation_below(step, side, bracket(step)) is None
        given = law_below(step, side, side)
        # Where a is small both are 1 - a.
        assert not any(value(given, a) > at(a) for a in everywhere())
        assert all(value(given, a) < at(a) for a in everywhere() if 0.3 < a < 7)


@pytest.mark.parametrize("j", [0, 1])
def test_a_vertex_above_the_curve_is_certain(j):
    side = polygon(0.0625)
    k = side[j][0]
    side[j] = (k, 1.01 * float(curve((arb(0.0625) * k).exp()).mid()))
    found = violation_below(0.0625, side, bracket(0.0625))
    assert found is not None
    assert found[1] or found[0] < k


def test_a_chord_above_the_curve_is_seen():
    """Vertices on the curve: in between the chord is above it."""
    step = 0.5
    side = [(k, float(curve((arb(step) * k).exp()).mid()) * (1 - 1e-6)) for k in range(4)]
    assert violation_below(step, [*side, (4, 0.0)], bracket(step)) is not None
    few = [side[0], side[3], (4, 0.0)]
    assert violation_below(step, few, bracket(step)) is not None


@pytest.mark.parametrize("end", ["upper before", "upper after", "lower after"])
def test_wider_brackets_beside_an_interval_count(end):
    """Tight polygons are refused once a neighbour's value is known less well."""
    with ctx.workprec(200):
        eps = 0.25 * np.arange(10)
        h = 0.3 * np.exp(-1.5 * eps)
        # The loss in between is what _lowered takes away, to a billionth.
        side = list(enumerate(_lowered(eps, h * (1 - 1e-9), h * (1 + 1e-9)).tolist()))

        def exact(k):
            return math.log(h[k]) - 1e-12, math.log(h[k]) + 1e-12

        assert violation_below(0.25, side, exact) is None
        wrong, low, high = {
            "upper before": (2, 0.0, 0.03),
            "upper after": (5, 0.0, 0.3),
            "lower after": (4, -0.3, 0.0),
        }[end]

        def wider(k):
            below, above = exact(k)
            return (below + low, above + high) if k == wrong else (below, above)

        assert violation_below(0.25, side, wider) is not None


@pytest.mark.parametrize(
    "side",
    [
        [(0, 0.5), (1, 0.4), (2, 0.0)],  # not convex
        [(0, 0.9), (1, 0.0)],  # more than a curve can fall
        [(0, 0.5), (2, 0.1), (1, 0.0)],
        [(1, 0.5), (2, 0.0)],
        [(0, 0.5), (2, 0.1)],  # not zero at the end
    ],
)
def test_what_is_no_law_is_refused(side):
    with pytest.raises(NotCertified):
        law_below(0.25, side, side)


def test_both_directions_have_one_value_in_the_middle():
    with pytest.raises(NotCertified, match="one value"):
        law_below(0.25, [(0, 0.2), (4, 0.0)], [(0, 0.25), (4, 0.0)])
