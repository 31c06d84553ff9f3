"""Staircase: exact law against rational arithmetic, sampler, variance, worst pair."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import shuffledp as sd
from enumerated import ball
from laws import law_of
from randomizers.sources import LEAST_P_VALUE
from shuffledp.bounds.profile import Profile
from shuffledp.laws.pairs import blanket_pair

PERIODS = 40
CASES = [(0.3, None), (2.0, None), (2.0, 0.1), (2.0, 0.5), (2.0, 0.77), (8.0, None), (300.0, None)]
MECHANISMS = [sd.Staircase(eps0=e, width=g) for e, g in CASES] + [
    sd.Staircase(eps0=1.0, low=-3.0, high=1.0)
]


def density(randomizer, z):
    """f(z) for rational z in units of the interval, as a ball."""
    g, b = ball(randomizer.width), (-ball(randomizer.eps0)).exp()
    a = (1 - b) / (2 * (g + b * (1 - g)))
    k = math.floor(abs(z))
    return a * b ** (k + (abs(z) - k >= Fraction(randomizer.width)))


def grid(randomizer, at):
    """All jumps of the densities of the inputs from -PERIODS to PERIODS + 1."""
    g = Fraction(randomizer.width)
    jumps = {Fraction(1, 2)}
    for x in (*at, Fraction(0), Fraction(1)):
        for k in range(-PERIODS - 1, PERIODS + 2):
            jumps |= {x + k, x + k + g, x + k - g}
    return sorted(y for y in jumps if -PERIODS <= y <= PERIODS + 1)


@pytest.mark.many(12)
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=repr)
@pytest.mark.parametrize("third", [Fraction(1, 2), Fraction(1, 4), Fraction(0)])
def test_law_of_the_ratios(randomizer, third):
    """Masses of every value of (R_0, R_1, R_x, B)/R_x, summed over pieces in balls."""
    low, high = randomizer.low, randomizer.high
    at = (Fraction(0), Fraction(1), third)
    inputs = (low, high, low + float(third) * (high - low))
    law = law_of(randomizer, inputs)
    found = {}
    for j in range(law.blanket.size):
        values = np.array([*law.mass[:, j], law.blanket[j]])
        key = tuple(np.round(np.log(values / values[2]) / randomizer.eps0).astype(int).tolist())
        assert np.allclose(np.log(values / values[2]), randomizer.eps0 * np.array(key), atol=1e-9)
        found[key] = found.get(key, 0) + values
    wanted = {}
    for left, right in itertools.pairwise(grid(randomizer, at)):
        middle = (left + right) / 2
        row = [density(randomizer, middle - x) for x in at]
        row.append(min(row[0], row[1], key=float))
        row = [p * ball(right - left) for p in row]
        key = tuple(round(float((p / row[2]).log()) / randomizer.eps0) for p in row)
        wanted[key] = [u + v for u, v in zip(wanted.get(key, [arb(0)] * 4), row, strict=True)]
    assert found.keys() <= wanted.keys()
    for key in wanted.keys() - found.keys():
        assert all(value < 1e-290 for value in wanted.pop(key))
    missed = math.exp(-randomizer.eps0 * (PERIODS - 2))
    for key, row in wanted.items():
        for value, exact in zip(found[key], row, strict=True):
            assert abs(ball(float(value)) - exact) <= ball(law.rel + 1e-15) * exact + ball(missed)


@settings(max_examples=40)
@given(eps0=st.floats(0.01, 20.0), width=st.floats(0.001, 0.999), x=st.floats(0.0, 1.0))
def test_any_law_is_a_law(eps0, width, x):
    law = law_of(sd.Staircase(eps0=eps0, width=width), (0.0, 1.0, x))
    assert np.all(np.abs(law.mass.sum(axis=1) - 1.0) <= 40 * law.rel)
    assert np.all(law.blanket <= law.mass.min(axis=0) * (1.0 + 4 * law.rel))
    logs = np.log(law.mass) - np.log(law.blanket)
    assert logs.max() <= eps0 * (1.0 + 1e-9) + 1e-12
    assert logs.min() >= -4.0 * law.rel


def test_an_atom_law_is_exact_at_small_n():
    """n = 1: the divergence of two staircases, in closed form a (1 - ...) by balls."""
    randomizer = MECHANISMS[1]
    profile = Profile(blanket_pair(randomizer, 0.0, 1.0, n=1))
    pieces = list(itertools.pairwise(grid(randomizer, ())))
    for epsilon in (0.0, 0.5, 1.9):
        grow = ball(epsilon).exp()
        total = arb(0)
        for left, right in pieces:
            middle = (left + right) / 2
            gain = density(randomizer, middle) - grow * density(randomizer, middle - 1)
            total += ball(right - left) * gain if gain > 0 else arb(0)
        found = profile.log_delta(epsilon, width=1e-9)
        assert ball(found.low).exp() <= total * (1 + arb(10) ** -13)
        assert total * (1 - arb(10) ** -13) <= ball(found.high).exp()


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=repr)
def test_sampler(randomizer):
    length = randomizer.high - randomizer.low
    reports = randomizer.simulate(np.full(40_000, randomizer.low), seed=4)
    z = (reports - randomizer.low) / length
    g, b = randomizer.width, math.exp(-randomizer.eps0)
    a = -math.expm1(-randomizer.eps0) / (2.0 * (g + b * (1.0 - g)))

    def chance(size):
        k = np.floor(size)
        part = size - k
        within = a * b**k * (np.minimum(part, g) + b * np.maximum(part - g, 0.0))
        return 2.0 * within - np.expm1(-randomizer.eps0 * k)

    if g > 1e-9:
        assert stats.kstest(np.abs(z), chance).pvalue > LEAST_P_VALUE
    assert stats.binomtest(int((z > 0).sum()), z.size).pvalue > LEAST_P_VALUE


@pytest.mark.parametrize("randomizer", MECHANISMS[:6], ids=repr)
def test_variance_by_pieces(randomizer):
    edges = grid(randomizer, ())
    left = np.array([float(y) for y in edges[:-1]])
    right = np.array([float(y) for y in edges[1:]])
    f = np.array([float(density(randomizer, (x + y) / 2)) for x, y in itertools.pairwise(edges)])
    total = float((f * (right**3 - left**3) / 3.0).sum())
    assert randomizer.variance() == pytest.approx(total, rel=1e-3 if randomizer.eps0 < 1 else 1e-10)
    values = np.linspace(0.0, 1.0, 4000)
    found = randomizer.estimate(randomizer.simulate(values, seed=1))
    assert abs(found.mean - 0.5) <= 5.5 * found.standard_error


def test_default_width_has_the_least_expected_size():
    def size(g):
        randomizer = sd.Staircase(eps0=2.0, width=g)
        reports = randomizer.simulate(np.zeros(200_000), seed=3)
        return np.abs(reports).mean()

    best = sd.Staircase(eps0=2.0).width
    assert size(best) < min(size(best + 0.2), size(best - 0.2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps0": 0.0}, "eps0"),
        ({"eps0": 1.0, "width": 0.0}, "width"),
        ({"eps0": 1.0, "width": 1.0}, "width"),
        ({"eps0": 1.0, "low": 2.0}, "high"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.Staircase(**arguments)
