"""Proposals that are wrong cost an answer, and never make one that is too small."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.amplification.end import End
from shuffledp.amplification.profile import chord
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.intervals import log_above
from shuffledp.ball.groups import kinds_of
from shuffledp.ball.noises import Noise
from shuffledp.ball.record import Bit
from shuffledp.bounds.crowds import crowd_cases
from shuffledp.bounds.line import Line
from shuffledp.bounds.lone_jump import two_groups
from shuffledp.bounds.one_bit import Circle, OneBit
from shuffledp.bounds.pairs import Atoms
from shuffledp.bounds.profile import Expectation
from shuffledp.bounds.shufflers import log_chain, log_mixed
from shuffledp.bounds.stealing import Numbers, log_delta
from shuffledp.bounds.stealing_cases import cases_of
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel import Contour
from shuffledp.kernel.cells import Cell, Corner, gains, spread
from shuffledp.kernel.positive_sum import Line as Where
from shuffledp.laws.pairs import blanket_pair as pair_of_cells
from shuffledp.laws.pairs import cells_of, fewer
from shuffledp.propose.profile import Profile
from shuffledp.rounds.dots import Bracket, law_above, law_below
from shuffledp.rounds.loss import NO_LOSS

MISSING = (math.nan, math.inf)


@pytest.mark.parametrize("end", MISSING)
def test_an_end_that_says_nothing_is_not_zero(end):
    """Of one user's bound that is no number nothing follows for several."""
    assert log_chain(1.0, (0.5, 0.5), (end, -10.0)) >= -0.0
    assert log_chain(1.0, (0.5, 0.5), (-10.0, end)) >= -0.0
    assert log_mixed(end, 0.1, -2.0) == -2.0
    assert log_mixed(-5.0, end, -2.0) == -2.0
    assert log_chain(1.0, (0.5, 0.5), (-math.inf, -math.inf)) == -math.inf


def test_only_a_number_that_is_0_for_certain_has_no_logarithm():
    assert log_above(arb(0)) == log_above(arb(-1)) == -math.inf
    assert log_above(arb("nan")) == log_above(arb("inf")) == math.inf
    assert log_above(arb(0, 1e-9)) >= math.log(1e-9)
    assert math.log(0.5) <= log_above(arb(0.5)) <= math.log(0.5) + 1e-15


@pytest.mark.parametrize("value", MISSING)
def test_chords_through_an_end_that_says_nothing(value):
    found = [End(x, None, 0.0, {}, ()) for x in (value, -3.0)]
    for ends in (found, found[::-1]):
        assert chord(0.15, [0.1, 0.2], ends).value == 0.0
    # Two eps whose exponentials no ball tells apart.
    assert chord(1.5e-60, [1e-60, 2e-60], [found[1]] * 2).value == 0.0


# ------------------------------------------------------------------------------------ one profile


def layered(found, layers):
    """Both ends of E (S)_+ by one contour for each layer."""
    found.split(layers)
    for i in range(len(layers)):
        found.on(i, Contour(0.5, 0.02, 200.0, 1e-9, 0.25, 1.0), work=math.inf)
    return found.low, found.high


@pytest.mark.parametrize(
    "layers",
    [
        [(0, 3)],
        [(0, 2), (2, 3)],
        [(0, 1), (2, 4)],
        [(2, 4), (0, 2)],
        [(0, 4), (2, 4)],
        [(0, 0), (0, 4)],
        [(-1, 4)],
        [(0, 5)],
    ],
)
def test_layers_that_are_not_the_whole_law(layers):
    law = Atoms([arb("0.25")] * 4, [arb(x) for x in (-2, -1, 1, 1.5)])
    with pytest.raises(NotCertified):
        layered(Expectation(law, 3), layers)


@pytest.mark.parametrize("layers", [[(0, 4)], [(0, 1), (1, 4)], [(2, 4)], [(3, 4)], []])
def test_layers_that_are_the_whole_law(layers):
    law = Atoms([arb("0.25")] * 4, [arb(x) for x in (-2, -1, 1, 1.5)])
    exact = Expectation(law, 3)
    exact.count()
    low, high = layered(Expectation(law, 3), layers)
    assert low <= exact.high
    assert high >= exact.low
    if layers and layers[0][0] <= 2:
        assert high - low < 0.01


@pytest.mark.parametrize("alpha", [-1.0, 0.0, math.nan, 1e-300, 0.5])
def test_the_tilt_of_a_layer_is_positive(alpha):
    """y_+ <= e^(alpha y - 1)/alpha holds for alpha > 0 alone."""
    found = Expectation(Atoms([arb(0.75), arb(0.25)], [arb(-1), arb(2)]), 2)
    found.split([(1, 2)])
    found.at_tilt(0, alpha)
    truth = 2 * 0.75 * 0.25 * 1 + 0.25**2 * 4
    assert found.low <= truth
    assert found.high >= truth


def test_cells_of_noise_in_any_order_are_the_same():
    noise = Noise(arb(2), arb(1), arb(0), arb(1))
    line = Line(noise, arb(0), arb(1), arb(0))
    edges = [-1.0, 0.25, 0.5, 3.0]
    made = line.cells(edges)
    assert str(line.cells([*edges[::-1], 0.25, math.nan, math.inf])) == str(made)
    assert all(cell.mass > 0 for cell in made)


@pytest.mark.parametrize("proposed", [[3.0, 1.0, -2.0], [0.1, 0.1], [], [math.nan], [math.inf]])
def test_edges_of_cells(proposed, monkeypatch):
    pair = pair_of_cells(sd.Laplace(eps0=2.0), 1.0, 0.0, n=50)
    good = Profile(pair).log_delta(0.3, width=1e-3)
    monkeypatch.setattr(
        "shuffledp.propose.gains.edges", lambda *_, **__: np.array(proposed, dtype=float)
    )
    found = Profile(pair).log_delta(0.3, width=1e-3)
    assert found.high >= good.low
    assert found.low <= good.high


@pytest.mark.parametrize("places", [[1.0, 0.5], [0.0, 0.0], [0.0, math.nan, 1.0], [0.0, math.inf]])
def test_places_that_are_not_in_order(places):
    with pytest.raises(ParameterError):
        spread([(arb(1), arb("0.3"))], places)


@pytest.mark.parametrize("lost", [lambda g: g[1:], lambda g: [g[0], *g], lambda g: g[:1]])
def test_groups_of_cells_are_all_of_them_once(lost, monkeypatch):
    cells = cells_of(sd.Laplace(eps0=1.0), (0.0, 1.0)).cells
    monkeypatch.setattr(
        "shuffledp.laws.pairs.groups_of",
        lambda rows, most: lost(np.array_split(np.arange(len(rows)), most)),
    )
    with pytest.raises(NotCertified):
        fewer(cells, 7)


def test_gains_of_cells_that_are_made_one_by_one():
    """A corner that is gone may leave its place in memory to another one."""

    def made():
        for k in range(200):
            corner = Corner(arb(k), arb(0))
            yield Cell(arb(1), arb(k), arb(0), corner, corner)

    assert [float(gain.high) for gain in gains(made(), arb(1))] == list(range(200))


# ------------------------------------------------------------------------------------ other sums


def circle(size=32, log_rho=0.4):
    third = Bit(arb(3), arb(1)), Bit(arb(4), arb(1))
    return Circle(OneBit(*third, others=6, epsilon=0.1), log_rho, size)


@pytest.mark.parametrize(
    ("size", "log_rho"), [(31, 0.4), (0, 0.4), (-2, 0.4), (32, 0.0), (32, -0.1), (32, math.nan)]
)
def test_circles_that_no_theorem_is_about(size, log_rho):
    with pytest.raises(NotCertified):
        circle(size, log_rho)


@pytest.mark.parametrize("count", [0, -1, 17, 32])
def test_points_of_half_a_circle(count):
    with pytest.raises(NotCertified):
        circle().sum((3, 3), 0.5, count)


@pytest.mark.parametrize("u", [-0.5, 0.0, math.nan])
def test_aliases_beyond_the_circle(u):
    with pytest.raises(NotCertified):
        circle().sum((3, 3), u, 16)


@pytest.mark.parametrize(
    "eps", [[0.1, 0.2, 0.3], [0.0, 0.2, 0.1], [0.0, 0.1, math.inf], [0.0, math.nan, 1.0], []]
)
def test_dots_that_are_not_in_order(eps):
    values = [arb("0.5"), arb("0.4"), arb("0.3")][: len(eps)]
    with pytest.raises(ParameterError):
        law_above(eps, values)
    if not eps:
        # Fewer than three dots say nothing from below.
        assert law_below(eps, Bracket(values, values), Bracket(values, values), arb(0)) is NO_LOSS
        return
    with pytest.raises(ParameterError):
        law_below(eps, Bracket(values, values), Bracket(values, values), arb(0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": -1.0},
        {"alpha": 0.0},
        {"smoothing": 0.0},
        {"step": -0.1},
        {"step": math.nan},
        {"last": 0},
        {"last": -5},
        {"small": math.inf},
    ],
)
def test_lines_of_a_positive_sum(wrong):
    good = Where(1.0, 0.1, 0.2, 40, 1e-7)
    with pytest.raises(ParameterError):
        replace(good, **wrong)


@pytest.mark.parametrize("worth", [[math.nan, 1.0, 0.05], [1.0, math.nan, 0.0], [math.nan] * 2])
def test_every_label_is_in_one_of_two_groups(worth):
    first, second = two_groups(worth)
    assert sorted([*first, *second]) == list(range(len(worth)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": -1.0, "below": -2.0},
        {"smoothing": 0.0},
        {"smoothing": math.nan},
        {"period": -3.0},
        {"period": math.inf},
        {"tolerance": 0.0},
        {"below": 0.0},
        {"below": 0.5},
        {"above": 0.5},
        {"above": math.inf},
        {"alpha": math.nan},
    ],
)
def test_contours(wrong):
    good = Contour(0.5, 0.1, 60.0, 1e-6, 0.25, 1.0)
    with pytest.raises(ParameterError):
        replace(good, **wrong)


@pytest.mark.parametrize(
    "shares", [(), (1.0,), (0.5, 0.5, 0.5), (0.0, 0.5), (1.5, 0.5), (math.nan, 1.0)]
)
def test_shares_of_a_crowd(shares):
    groups = [(sd.KRR(k=3, eps0=1.0), 20), (sd.KRR(k=3, eps0=2.0), 20)]
    kind = kinds_of([one for one, _ in groups])
    assert kind is not None
    (case,) = crowd_cases(groups, kind, 0)
    numbers = Numbers((0.1,) * 3, (0.5,) * 3, 1.0, 0.1, 0.5, shares=(0.5, 1.0))
    assert math.isfinite(log_delta([case], [numbers], 40, 0.1))
    with pytest.raises(ParameterError):
        log_delta([case], [numbers._replace(shares=shares)], 40, 0.1)


def test_label_stealing_looks_at_a_label_at_least():
    """Of no pair and of no label the largest bound would be 0."""
    (case, *_) = cases_of(sd.KRR(k=3, eps0=1.0), -60.0)
    numbers = Numbers((0.1,) * (max(case.parts) + 1), (0.5,) * (max(case.parts) + 1), 1.0, 0.1, 0.5)
    assert math.isfinite(log_delta([case], [numbers], 10, 0.1))
    with pytest.raises(NotCertified):
        log_delta([replace(case, labels=[])], [numbers], 10, 0.1)
    with pytest.raises(NotCertified):
        log_delta([], [], 10, 0.1)
