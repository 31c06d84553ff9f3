"""Each term of the label-stealing bound by itself, where end-to-end comparisons are too blunt."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

import shuffledp as sd
from shuffledp.arithmetic.floats import Array
from shuffledp.bounds.stealing_cases import cases_of as cases_of_table
from shuffledp.randomizers.chords import Chords, GaussianChords, LaplaceChords
from shuffledp.randomizers.law import JointLaw
from shuffledp.stealing import cases_of
from shuffledp.stealing.bound import Gains, log_bound
from shuffledp.stealing.cells import Rows
from shuffledp.stealing.choices import Cut
from shuffledp.stealing.cover import Bend, Triple, cover
from shuffledp.stealing.groups import Bent, stack_of
from shuffledp.stealing.measures import Measure, Split, difference, labelled, reservoir
from shuffledp.stealing.positive_sum import Contour

# Relative error of the comparisons' own floats.
SLACK = 1e-12


# ------------------------------------------------------------------------ what is paid for sure


@pytest.mark.parametrize("part", ["tail", "reservoir", "labelled"])
def test_what_is_paid_is_added(part: str) -> None:
    """delta = J + tail + lost: each raises e^log_bound by all of itself."""
    n, mass = 5, 0.2
    free = Gains(
        Measure(np.array([mass]), np.array([0.1]), 0.0, 0.0),
        [Measure(np.array([0.3, 0.4]), np.array([0.2, -0.3]), 0.0, 0.0)],
        0.0,
    )
    at = Contour(2.0, 0.02, 0.5, 400)
    law = free.types[0]
    paid, least = {
        "tail": (free._replace(positive=0.25), 0.25 * (1.0 - mass) ** (n - 1)),
        "reservoir": (free._replace(reservoir=_lost(free.reservoir, 0.25)), 0.25),
        "labelled": (free._replace(types=[law, _lost(law, 0.25)]), 0.25),
    }[part]
    more = math.exp(log_bound(paid, n, at)) - math.exp(log_bound(free, n, at))
    assert more >= least * (1.0 - SLACK)


def _lost(law: Measure, lost: float) -> Measure:
    return Measure(law.mass, law.gain, lost, law.rel)


def test_doubt_of_the_reservoir_is_a_factor() -> None:
    """The first factor c is known up to 1 + rel (Lemma 4.1)."""
    at = Contour(2.0, 0.02, 0.5, 400)
    laws = [Measure(np.array([0.3, 0.4]), np.array([0.2, -0.3]), 0.0, 0.0)]
    values = []
    for rel in (0.0, 0.01):
        # All of the doubt of masses is at gain 0, where the left-over is too: only the factor acts.
        sure = Measure(np.array([0.3]), np.array([0.0]), 0.0, rel)
        laws = [Measure(np.array([0.7]), np.array([0.0]), 0.0, 0.0)]
        values.append(log_bound(Gains(sure, laws, 0.0), 5, at))
    assert values[1] - values[0] >= math.log(1.01) * (1.0 - SLACK)


def laplace_positive(epsilon: float) -> float:
    """H_a of Laplace noise at the ends, eps0 = 2: 1 - e^((eps - eps0)/2)."""
    return -math.expm1(0.5 * (epsilon - 2.0))


def gaussian_positive(epsilon: float) -> float:
    """H_a of N(0, 1) and N(1, 1)."""
    return float(norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon))


@pytest.mark.parametrize(
    ("randomizer", "exact"),
    [(sd.Laplace(eps0=2.0), laplace_positive), (sd.Gaussian(sigma=1.0), gaussian_positive)],
    ids=["laplace", "gaussian"],
)
@pytest.mark.parametrize("epsilon", [0.05, 0.4])
def test_empty_reservoir_of_noise(
    randomizer: sd.Randomizer, exact: Callable[[float], float], epsilon: float
) -> None:
    ((case, _),) = cases_of(randomizer, -20.0)
    gains = case.certified_gains(epsilon, Cut(0.01, 0.25, math.inf))
    assert gains.positive >= 0.75 * exact(epsilon) * (1.0 - 1e-9)


# ------------------------------------------------------------------------ what is left out


def test_outputs_without_a_reservoir_are_lost() -> None:
    """beta = 0 where s > 0: the victim who joins there is seen."""
    law = JointLaw(np.array([[0.6, 0.4], [0.2, 0.8]]), np.array([0.2, 0.4]))
    split = Split(np.array([0.0, 0.2]), np.array([0.7, 0.5]))
    g = difference(law, 0.1)
    assert reservoir(law, g, split).lost >= 0.7 * (0.6 - math.exp(0.1) * 0.2) * (1.0 - SLACK)
    third = JointLaw(np.array([[0.6, 0.4], [0.2, 0.8], [0.0, 1.0]]), np.array([0.0, 0.4]))
    law_lost = labelled(third, 2, difference(third, 0.1), split).lost
    assert law_lost >= 0.3 * (0.6 - math.exp(0.1) * 0.2) * (1.0 - SLACK)


def test_cells_left_out_and_outputs_outside_are_lost() -> None:
    """A cell without mass of the third law, and what lies beyond all cells."""
    epsilon, zero, inf = 0.1, 0.0, math.inf
    rows = Rows(
        first=np.array([0.5, 0.3]),
        second=np.array([0.5, 0.1]),
        third=np.array([1.0, zero]),
        low=np.array([zero, -inf]),
        high=np.array([zero, inf]),
        low1=np.array([0.5, zero]),
        high1=np.array([0.5, inf]),
        rel=0.0,
        outside=0.125,
    )
    # Within the second cell the sign of g may change: all of the first law may be gain.
    law = rows.measure(epsilon, share=0.5, join=0.25)
    assert law.lost >= 0.25 * (0.3 + 0.125) * (1.0 - SLACK)


@pytest.mark.parametrize("epsilon", [1.05, 1.1, 1.4])
def test_cells_that_a_bend_leaves_out_are_lost(epsilon: float) -> None:
    """Also the positive part in the cell where the sign of g changes."""
    noise = sd.Gaussian(sigma=1.0).interval_density(-40.0)
    assert noise is not None
    bend = Bend(2, 0.9, 0.5, 0.0)
    law = noise.law((0.0, 0.5, 1.0))
    rows = stack_of(law, [Bent((2, 0, 1), (bend,), 320)], noise.distances)[0]
    # g = phi(y - 1) - a phi(y) > 0 for y > 1/2 + eps, here where |y - 1/2| > 1/2.
    start = 0.5 + epsilon
    exact = float(norm.sf(start - 1.0) - math.exp(epsilon) * norm.sf(start))
    lost = rows.measure(epsilon, share=0.5, join=1.0).lost
    assert lost >= exact * (1.0 - 1e-9)


# ------------------------------------------------------------------------ covers of an interval


def density(chords: Chords) -> Callable[[Array, float], Array]:
    """log f_x(y) up to a constant."""
    b = chords.noise
    if isinstance(chords, LaplaceChords):
        return lambda y, x: -np.abs(y - x) / b
    return lambda y, x: -0.5 * ((y - x) / b) ** 2


COVERS = [
    pytest.param(LaplaceChords(0.25), id="laplace-0.25"),
    pytest.param(LaplaceChords(1.0), id="laplace-1"),
    pytest.param(GaussianChords(0.5, 4.0), id="gaussian-0.5"),
    pytest.param(GaussianChords(1.0, 9.0), id="gaussian-1"),
]


def covered(chords: Chords) -> list[list[Triple]]:
    """The cover's triples, edge by edge, for a spread that lets steps be long."""

    def spread(triples: list[Triple]) -> Array:
        places = np.array([abs(t.x0 - t.x1) - 0.3 * t.x * (1.0 - t.x) for t in triples])
        return 0.05 + 0.95 * np.maximum(places, 0.0)

    triples = cover(0.5, chords, spread)
    return [[t for t in triples if t.bends[0].row == row] for row in (1, 0, 2)]


def moving(triple: Triple) -> float:
    """The input that moves along the edge."""
    return (triple.x0, triple.x1, triple.x)[triple.bends[0].row]


@pytest.mark.parametrize("chords", COVERS)
def test_each_edge_is_covered_from_end_to_end(chords: Chords) -> None:
    fixed = [{(1.0, 0.0)}, {(1.0, 0.0)}, {(1.0, 0.0)}]
    found = covered(chords)
    for row, edge, ends in zip((1, 0, 2), found, fixed, strict=True):
        places = [moving(t) for t in edge]
        assert places[0] == 0.0
        assert places[-1] == 1.0
        assert all(b > a for a, b in itertools.pairwise(places))
        others = {tuple(v for i, v in enumerate(t[:3]) if i != row) for t in edge}
        # In row order the fixed inputs are (x0, x), (x1, x) and (x0, x1).
        assert others == ends


@pytest.mark.parametrize("chords", COVERS)
@pytest.mark.parametrize("edge", [0, 1, 2], ids=["A", "B", "C"])
def test_bent_neighbours_lie_on_the_right_side(chords: Chords, edge: int) -> None:
    """(A), (C): f_x >= sum of weights k f_j 1{|y - x_j| <= reach}; (B): <= (Theorem 6.3)."""
    log_f = density(chords)
    triples = covered(chords)[edge]
    picked = list(itertools.pairwise(triples))
    wide = min(
        30.0, 2.0 + max((b.reach for t in triples for b in t.bends if b.reach < 99), default=6.0)
    )
    y = np.concatenate([np.linspace(-wide, 1.0 + wide, 1201), np.linspace(-0.2, 1.2, 401)])
    for one, two in picked:
        near = np.linspace(moving(one), moving(two), 9)
        at = np.concatenate([y, near])
        for share in (0.1, 0.5, 0.8):
            x = (1.0 - share) * moving(one) + share * moving(two)
            total = np.zeros(at.size)
            for triple, weight in ((one, 1.0 - share), (two, share)):
                bend = triple.bends[0]
                inside = np.abs(at - moving(triple)) <= bend.reach
                factor = np.where(inside, bend.factor, bend.beyond)
                # Laplace: ratios are constant outside the interval, where nothing is bent up.
                total += weight * factor * np.exp(log_f(at, moving(triple)) - log_f(at, x))
            if edge == 1:
                assert total.min() >= 1.0 - SLACK
            else:
                assert total.max() <= 1.0 + SLACK


# ------------------------------------------------------------------------ all mechanisms at once


def extreme_laws(grow: float) -> list[tuple[float, ...]]:
    """Weights on the hexagon's vertices of all extreme laws with mean (1, 1), by enumeration."""
    less = 1.0 / grow
    points = np.array(
        [(grow, 1), (1, grow), (grow, grow), (less, less), (1, less), (less, 1)], dtype=float
    )
    found = set()
    for size in (1, 2, 3):
        for support in itertools.combinations(range(6), size):
            system = np.vstack([points[list(support)].T, np.ones(size)])
            weights, *_ = np.linalg.lstsq(system, np.ones(3), rcond=None)
            if np.abs(system @ weights - 1.0).max() < 1e-9 and weights.min() > 1e-9:
                law = np.zeros(6)
                law[list(support)] = weights
                found.add(tuple(np.round(law, 9)))
    return sorted(found)


@pytest.mark.parametrize("eps0", [0.3, 1.0, 3.0])
def test_no_extreme_law_is_missing(eps0: float) -> None:
    grow = math.exp(eps0)
    less = 1.0 / grow
    names = [(grow, 1.0), (1.0, grow), (grow, grow), (less, less), (1.0, less), (less, 1.0)]
    listed = set()
    ((case),) = cases_of_table({"name": "generic", "eps0": eps0, "adaptive": False}, -40.0)
    for label in case.labels:
        weights = [0.0] * 6
        for p0, p1, mass in zip(*([float(x) for x in row] for row in label[:3]), strict=True):
            near = [math.hypot(p0 / mass - u, p1 / mass - v) for u, v in names]
            assert min(near) < 1e-12
            weights[near.index(min(near))] += mass
        listed.add(tuple(np.round(weights, 9)))
    assert set(extreme_laws(grow)) <= listed


@pytest.mark.parametrize("eps0", [0.5, 1.0, 2.0, 4.0])
def test_upper_end_of_all_mechanisms_is_above_two_members(eps0: float) -> None:
    bound = sd.generic(eps0=eps0, n=10_000).epsilon(delta=1e-6, analysis="label-stealing")
    lower = sd.generic(eps0=eps0, n=10_000).epsilon(delta=1e-6).lower
    assert lower <= bound.upper
