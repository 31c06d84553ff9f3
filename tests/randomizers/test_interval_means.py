"""Duchi's, piecewise and hybrid mechanisms from their published definitions, exactly."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import shuffledp as sd
from randomizers.sources import LEAST_P_VALUE, fits

GRID = [Fraction(x) for x in (-1.0, 1.0, 0.0, -0.75, -0.5, 0.125, 0.5, 0.9375)]
MECHANISMS = [sd.Duchi, sd.Piecewise, sd.Hybrid]
# eps* of Wang et al. 2019: below it the hybrid mechanism is Duchi's alone.
ROOT = 405 * math.sqrt(241)
TURNING_POINT = math.log((-5 + 2 * (6353 - ROOT) ** (1 / 3) + 2 * (6353 + ROOT) ** (1 / 3)) / 27)


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


def share(w):
    return 1 - 1 / w if 2 * math.log(float(w)) > TURNING_POINT else Fraction(0)


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
