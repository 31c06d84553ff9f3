"""Moments in place of sines: coarse bounds of many types, and what they rest on."""

import itertools
import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.arithmetic.balls import float_above
from shuffledp.ball import moments
from shuffledp.stealing import Contour, cases_of, coarse
from shuffledp.stealing.bound import Gains, log_bound
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import PositiveSums, tilt
from shuffledp.stealing.stack import Stack

FLOATS = st.floats(-3.0, 3.0, allow_nan=False)


def stack_of(laws: list[Measure]) -> Stack:
    starts = np.cumsum([0, *(law.mass.size for law in laws)])
    lost = np.array([law.lost for law in laws])
    mass, gain = (np.concatenate([getattr(x, name) for x in laws]) for name in ("mass", "gain"))
    return Stack(mass, gain, starts, lost, max(law.rel for law in laws))


def random_law(rng: np.random.Generator, mass: float, size: int) -> Measure:
    masses = rng.dirichlet(np.ones(size)) * mass
    gains = rng.normal(size=size) * rng.choice([0.1, 1.0, 5.0])
    return Measure(masses, gains - 0.3, float(rng.choice([0.0, 1e-9])), 1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 1.0), FLOATS), min_size=1, max_size=8), FLOATS, FLOATS)
def test_a_spread_is_at_least_its_two_terms(atoms, left, tilted):
    """1 - |phi|^2 >= square t^2 - fourth t^4 at every t, whatever the radius."""
    mass = np.array([m for m, _ in atoms])
    mass = 0.8 * mass / mass.sum()
    law = Measure(mass, np.array([x for _, x in atoms]), 0.0, 0.0)
    alpha, rest = math.exp(tilted - 1.0), 0.2 * abs(left) / 3.0
    found = coarse._tilted(
        stack_of([law]),
        law.mass,
        (np.array([rest]), np.zeros(1), np.zeros(1)),
        alpha,
        coarse._RADII,
    )
    weights = np.append(law.mass * np.exp(alpha * law.gain), rest)
    gains = np.append(law.gain, 0.0)
    weights = weights / weights.sum()
    for t in np.geomspace(1e-3, 30.0, 25):
        angles = t * (gains[:, None] - gains[None, :])
        exact = float(weights @ (2.0 * np.sin(0.5 * angles) ** 2) @ weights)
        for square, fourth in zip(found.square[:, 0], found.fourth[:, 0], strict=True):
            assert square * t**2 - fourth * t**4 <= exact + 1e-15


def sharp_sum(reservoir: Measure, law: Measure, n: int, alpha: float) -> float:
    """(1/2 pi n) int (|c| + |d|)^n/|s|^2 dt, by t = alpha tan v, dt/|s|^2 = dv/alpha."""
    c, d = tilt(reservoir, alpha), tilt(law, alpha)
    v = (np.arange(20_000) + 0.5) * (0.5 * math.pi / 20_000)
    t = alpha * np.tan(v)

    def size(part):
        return np.abs(np.exp(1j * np.outer(t, part.offsets)) @ part.weights) * part.mass

    return float(((size(c) + size(d)) ** n).mean() / (2.0 * n * alpha))


@pytest.mark.many(20)
@pytest.mark.parametrize("seed", range(40))
def test_coarse_bounds_are_above_the_integral(seed):
    """Above the integral up to where sums are cut, for light, heavy and two-point gains."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 10, 200, 5000]))
    reservoir = random_law(rng, 0.3, 2)
    laws = [
        random_law(rng, float(rng.uniform(0.1, 0.69)), int(rng.integers(1, 6))) for _ in range(4)
    ]
    alpha = float(rng.uniform(0.2, 3.0)) / math.sqrt(n)
    for heavy in (False, True):
        bounds = coarse.log_coarse(stack_of(laws), reservoir, n, alpha, heavy=heavy)
        for law, bound in zip(laws, bounds, strict=True):
            left = 1.0 - reservoir.mass.sum() - law.mass.sum()
            whole = Measure(np.append(law.mass, left), np.append(law.gain, 0.0), 0.0, 0.0)
            assert math.log(sharp_sum(reservoir, whole, n, alpha) + law.lost) <= bound + 1e-9


@pytest.mark.parametrize("randomizer", [sd.Laplace(eps0=2.0), sd.Gaussian(sigma=1.0)])
@pytest.mark.parametrize("n", [300, 100_000])
def test_many_types_at_once_are_the_same_bound(randomizer, n):
    """Pruned by moments or evaluated one by one; with time spared a little larger, never less."""
    ((case, _),) = cases_of(randomizer, -40.0)
    epsilon = 3.0 / math.sqrt(n)
    choice = case.first(epsilon, -14.0, n)
    gains = case.certified_gains(epsilon, choice)
    alpha = 3.0 / math.sqrt(n)
    at = Contour(alpha, 0.04 / alpha, 0.4 * alpha, 200)
    one_by_one = log_bound(Gains(gains.reservoir, list(gains.types), gains.positive), n, at)
    assert log_bound(gains, n, at) == one_by_one
    spared = log_bound(gains, n, at, spare=2e-3)
    assert one_by_one <= spared <= one_by_one + 2e-3


def test_a_stack_is_the_sequence_of_its_measures():
    rng = np.random.default_rng(5)
    laws = [random_law(rng, 0.5, 3) for _ in range(3)]
    stack = stack_of(laws)
    assert len(stack) == 3
    for mine, law in zip(stack, laws, strict=True):
        assert np.array_equal(mine.mass, law.mass)
        assert np.array_equal(mine.gain, law.gain)
    cut = stack.cut(0.1)
    for mine, law in zip(cut, laws, strict=True):
        other = law.cut(0.1)
        assert np.array_equal(mine.gain, other.gain)
        assert other.lost <= mine.lost <= other.lost * (1.0 + 1e-10)
    with pytest.raises(IndexError):
        stack[3]


def test_a_sum_is_above_what_it_is_compared_with():
    """The reference of this file is itself below the certified sum."""
    rng = np.random.default_rng(8)
    reservoir, law = random_law(rng, 0.3, 3), random_law(rng, 0.7, 4)
    alpha = 0.1
    at = Contour(alpha, 0.04 / alpha, 0.4 * alpha, 300)
    certified = PositiveSums(tilt(reservoir, alpha), 100).log(tilt(law, alpha), 1e-12, at)
    assert math.log(sharp_sum(reservoir, law, 100, alpha)) <= certified + 2e-3


@pytest.mark.parametrize(("wide", "step"), [(2.5, 0.9), (1.0, 2.0), (3.5, 0.04), (6.0, 0.3)])
def test_nodes_beyond_a_place_that_is_none(wide: float, step: float) -> None:
    """(D/2 pi) sum of w over all nodes beyond it, both signs, wherever it lies between two."""
    for alpha, share in itertools.product((0.1, 0.7), (0.001, 0.3, 0.999)):
        last = 3.0
        h, first = wide / last, last + share * step
        nodes = first + step * np.arange(4000)
        w = np.exp(0.5 * h * h * (alpha**2 - nodes**2)) / (alpha**2 + nodes**2)
        truth = step / math.pi * math.fsum(w)
        paid = np.array([math.exp(0.5 * (h * alpha) ** 2)])
        assert coarse._after(wide, paid, np.array([last]), np.array([step]))[0] >= truth
        assert float_above(moments._after(arb(h), alpha, arb(last), arb(step))) >= truth
