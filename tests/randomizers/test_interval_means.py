"""Duchi's, piecewise and hybrid mechanisms from their published definitions, exactly."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import shuffledp as sd
from enumerated import positive_part
from laws import law_of
from randomizers.checks import (
    assert_bracket,
    assert_law,
    assert_private,
    columns,
    rational_exponential,
)
from randomizers.sources import LEAST_P_VALUE, fits

EPS0 = [1e-3, 0.3, 0.61, 0.7, 1.0, 1.4, 2.0, 5.0, 40.0, 300.0]
GRID = [Fraction(x) for x in (-1.0, 1.0, 0.0, -0.75, -0.5, 0.125, 0.5, 0.9375)]
MECHANISMS = [sd.Duchi, sd.Piecewise, sd.Hybrid]
# eps* of Wang et al. 2019: below it the hybrid mechanism is Duchi's alone.
ROOT = 405 * math.sqrt(241)
TURNING_POINT = math.log((-5 + 2 * (6353 - ROOT) ** (1 / 3) + 2 * (6353 + ROOT) ** (1 / 3)) / 27)


def root(eps0):
    return rational_exponential(eps0 / 2)


def duchi(w, inputs):
    """P(t = C) = (e^eps0 - 1)/(2 e^eps0 + 2) x + 1/2 (Duchi et al.)."""
    grow = w * w
    up = [(grow - 1) / (2 * grow + 2) * x + Fraction(1, 2) for x in inputs]
    return [[p, 1 - p] for p in up]


def pieces(w, inputs):
    """[l(x), r(x)] with density p, the rest of [-C, C] with p/e^eps0 (Wang et al. 2019)."""
    grow, C = w * w, (w + 1) / (w - 1)
    p = (grow - w) / (2 * w + 2)
    left = [(C + 1) / 2 * x - (C - 1) / 2 for x in inputs]
    right = [a + C - 1 for a in left]
    cuts = sorted({-C, C, *left, *right})
    spans = list(itertools.pairwise(cuts))
    densities = [
        [p if a <= s and t <= b else p / grow for s, t in spans]
        for a, b in zip(left, right, strict=True)
    ]
    return spans, densities


def piecewise(w, inputs):
    spans, densities = pieces(w, inputs)
    return [[d * (t - s) for d, (s, t) in zip(row, spans, strict=True)] for row in densities]


def share(w):
    return 1 - 1 / w if 2 * math.log(float(w)) > TURNING_POINT else Fraction(0)


def hybrid(w, inputs):
    a = share(w)
    return [
        [a * p for p in near] + [(1 - a) * p for p in bit]
        for near, bit in zip(piecewise(w, inputs), duchi(w, inputs), strict=True)
    ]


ROWS = {sd.Duchi: duchi, sd.Piecewise: piecewise, sd.Hybrid: hybrid}


@pytest.mark.parametrize("cls", MECHANISMS)
@pytest.mark.parametrize("eps0", EPS0)
def test_law_is_the_definition(cls, eps0):
    rows = ROWS[cls](root(eps0), GRID)
    assert all(sum(row) == 1 for row in rows)
    assert_private(rows, eps0)
    randomizer = cls(eps0=eps0)
    for inputs in [(0, 1), (1, 0), (0, 1, 2), (0, 1, 1), (3, 5), (6, 2, 7), (4, 4, 5)]:
        truth = list(columns(rows, inputs))
        if eps0 == 1e-3:
            # Ratios of 1 + 1e-4 and the like are told apart by far less than the classes' masses.
            law = law_of(randomizer, tuple(float(GRID[i]) for i in inputs))
            assert law.blanket.sum() == pytest.approx(float(sum(b for b, _ in truth)), rel=1e-13)
            continue
        assert_law(law_of(randomizer, tuple(float(GRID[i]) for i in inputs)), truth)


@pytest.mark.parametrize("cls", MECHANISMS)
def test_law_on_another_interval(cls):
    rows = ROWS[cls](root(2.0), GRID)
    randomizer = cls(eps0=2.0, low=2.0, high=10.0)
    assert_law(law_of(randomizer, (2.0, 10.0, 6.0)), columns(rows, (0, 1, 2)))
    assert_law(law_of(randomizer, (10.0, 6.5)), columns(rows, (1, 5)))


@pytest.mark.parametrize("cls", MECHANISMS)
@pytest.mark.parametrize("eps0", [0.4, 1.0, 2.5])
def test_ends_are_the_worst_pair(cls, eps0):
    rows = ROWS[cls](root(eps0), GRID)
    alpha = Fraction(11, 10)
    found = {}
    for x0, x1 in itertools.permutations(range(len(GRID)), 2):
        gains = {}
        for floor, (p, q) in columns(rows, (x0, x1)):
            # A lattice, or the sums of three have too many values; it is the same for all pairs.
            gain = Fraction(round((p - alpha * q) / floor * 10**6), 10**6)
            gains[gain] = gains.get(gain, 0) + floor
        found[x0, x1] = float(positive_part([(w, g) for g, w in gains.items()], 3))
    assert max(found.values()) <= max(found[0, 1], found[1, 0]) + 1e-5
    assert found[0, 1] == pytest.approx(found[1, 0], abs=1e-5)


@pytest.mark.many(3)
@pytest.mark.parametrize("cls", MECHANISMS)
@pytest.mark.parametrize("eps0", [0.5, 1.0, 2.0])
def test_bracket_by_enumeration(cls, eps0):
    rows = ROWS[cls](root(eps0), GRID[:3])
    assert_bracket(cls(eps0=eps0), rows, (1, 2, 3), (0.0, 0.2, 0.45))


@pytest.mark.parametrize("cls", MECHANISMS)
def test_the_middle_shows_how_bad_it_is(cls):
    """At eps0 >= 2 log 2 the piecewise law of the middle is the blanket where the ends differ."""
    account = sd.shuffle(cls(eps0=3.0), n=10_000)
    bound = account.epsilon(delta=1e-6, analysis="blanket")
    if cls is sd.Piecewise:
        both = account.epsilon(delta=1e-6)
        assert both.upper <= both.lower * (1 + 2e-3)
    binary = sd.shuffle(sd.BinaryRR(eps0=3.0), n=10_000).epsilon(delta=1e-6, analysis="blanket")
    if cls is sd.Duchi:
        assert bound.upper == pytest.approx(binary.upper, rel=1e-6)
    else:
        assert bound.upper < binary.upper


@pytest.mark.parametrize("cls", MECHANISMS)
@pytest.mark.parametrize("w", [Fraction(11, 10), Fraction(3, 2), Fraction(4), Fraction(200)])
def test_unbiased_and_variance(cls, w):
    """Moments of the definitions in rational arithmetic."""
    eps0 = 2.0 * math.log(float(w))
    randomizer = cls(eps0=eps0, low=1.0, high=5.0)
    C = (w * w + 1) / (w * w - 1)
    spans, densities = pieces(w, GRID)
    a = {sd.Duchi: Fraction(0), sd.Piecewise: Fraction(1), sd.Hybrid: share(w)}[cls]
    worst = Fraction(0)
    for x, row, (up, down) in zip(GRID, densities, duchi(w, GRID), strict=True):
        first = a * sum(d * (t**2 - s**2) / 2 for d, (s, t) in zip(row, spans, strict=True))
        second = a * sum(d * (t**3 - s**3) / 3 for d, (s, t) in zip(row, spans, strict=True))
        first += (1 - a) * C * (up - down)
        second += (1 - a) * C * C
        assert first == x
        spread = second - x * x
        worst = max(worst, spread)
        found = randomizer.variance_at(float(3 + 2 * x))
        assert found == pytest.approx(4 * float(spread), rel=1e-10)
    assert randomizer.variance() == pytest.approx(4 * float(worst), rel=1e-10)


@pytest.mark.parametrize("cls", MECHANISMS)
@pytest.mark.parametrize(("eps0", "x"), [(1.0, 0.0), (2.0, 0.6), (0.4, -1.0), (4.0, 1.0)])
def test_sampler(cls, eps0, x):
    """Bits by chi-square, the continuous part by Kolmogorov-Smirnov."""
    users, w = 60_000, math.exp(eps0 / 2)
    randomizer = cls(eps0=eps0)
    reports = randomizer.simulate(np.full(users, x), seed=11)
    C = (w * w + 1) / (w * w - 1)
    up = (w * w - 1) / (2 * w * w + 2) * x + 0.5
    if cls is sd.Duchi:
        assert fits([reports.sum(), users - reports.sum()], [up, 1 - up]) > LEAST_P_VALUE
        return
    atom = np.isclose(np.abs(reports), C, rtol=1e-12, atol=0.0)
    if cls is sd.Hybrid:
        a = float(share(Fraction(w)))
        seen = [(reports[atom] > 0).sum(), (reports[atom] < 0).sum(), (~atom).sum()]
        assert fits(seen, [(1 - a) * up, (1 - a) * (1 - up), a]) > LEAST_P_VALUE
        reports = reports[~atom]
        if a == 0.0:
            assert reports.size == 0
            return
    else:
        assert not atom.any()
    reach = (w + 1) / (w - 1)
    left = (reach + 1) / 2 * x - (reach - 1) / 2
    high = (w * w - w) / (2 * w + 2)

    def cdf(t):
        inside = np.clip(t - left, 0.0, reach - 1.0)
        return high / (w * w) * (t + reach - inside) + high * inside

    assert stats.kstest(reports, cdf).pvalue > LEAST_P_VALUE
    assert stats.kstest(reports + 0.05 * reach, cdf).pvalue < LEAST_P_VALUE


@pytest.mark.parametrize("cls", MECHANISMS)
def test_estimate(cls):
    randomizer = cls(eps0=1.5, low=0.0, high=10.0)
    values = np.repeat([1.0, 7.0], 50_000)
    reports = randomizer.simulate(values, seed=3)
    found = randomizer.estimate(reports)
    each = [randomizer.variance_at(value) for value in (1.0, 7.0)]
    exact = math.sqrt(np.mean(each) / 100_000)
    if cls is sd.Duchi:
        # A bit does not tell how the values scatter: that of their mean, which is larger.
        bound = math.sqrt(randomizer.variance_at(4.0) / 100_000)
        assert exact < found.standard_error == pytest.approx(bound, rel=1e-3)
    else:
        assert found.standard_error == pytest.approx(exact, rel=5e-3)
    assert found.standard_error <= math.sqrt(randomizer.variance() / 100_000)
    assert abs(found.mean - 4.0) < 5.0 * found.standard_error
    parts = randomizer.aggregate(reports[:700]) + randomizer.aggregate(reports[700:])
    assert randomizer.estimate(parts).mean == pytest.approx(found.mean, rel=1e-12)


@pytest.mark.parametrize("cls", MECHANISMS)
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"eps0": 0.0}, "eps0"),
        ({"eps0": 1.0, "low": 2.0}, "high"),
        ({"eps0": 1.0, "high": float("nan")}, "high"),
    ],
)
def test_bad_parameters(cls, arguments, name):
    with pytest.raises(sd.ParameterError, match=name):
        cls(**arguments)


@pytest.mark.parametrize("cls", MECHANISMS)
def test_bad_values_and_reports(cls):
    randomizer = cls(eps0=1.0)
    with pytest.raises(sd.ParameterError, match=r"values\[1\] = 1.5"):
        randomizer.randomize([0.0, 1.5])
    with pytest.raises(sd.ParameterError, match=r"reports\[0\] = 77"):
        randomizer.aggregate(np.array([77 if cls is sd.Duchi else 77.0]))
    with pytest.raises(sd.ParameterError, match="value"):
        randomizer.variance_at(2.0)
