"""Label stealing's sum against the integral that it bounds, by plain quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.kernel.positive_sum import (
    Line,
    ManySums,
    alone,
    chernoff,
    positive_sum,
    tilted,
)

# Masses and gains of a reservoir and of a labelled part with its left-over, which sum to one.
LAWS = {
    "two": ([(0.1, 0.8), (0.1, -0.5)], [(0.5, 0.8), (0.3, -0.6)]),
    "rare": ([(0.02, 2.5), (0.1, -0.4)], [(0.01, 3.0), (0.6, -0.2), (0.27, 0.0)]),
    "many": (
        [(0.05, 0.3), (0.03, 0.1), (0.02, -0.7)],
        [(0.2, 0.5), (0.3, -0.3), (0.15, 0.2), (0.15, -0.1), (0.1, 0.0)],
    ),
}


def transform(law, s):
    return sum(m * np.exp(s * x) for m, x in law)


def integrals(laws, n, alpha, h):
    """J itself, and the integral of F w that is above it: sums of a million places."""
    c, d = laws
    t = np.linspace(0.0, 7.0 / h, 1_000_001)
    s = alpha + 1j * t
    first, second = abs(transform(c, s)), abs(transform(d, s))
    c0, d0 = transform(c, alpha), transform(d, alpha)
    w = np.exp(h * h * (alpha**2 - t**2) / 2) / (alpha**2 + t**2)
    weights = np.where((t == 0) | (t == t[-1]), 0.5, 1.0) * (t[1] - t[0]) / math.pi
    led = (c0 + first**2 / c0) / 2
    z = led + (d0 + second**2 / d0) / 2
    truth = (((first + second) ** n - second**n) / n * w) @ weights
    return truth, (z ** (n - 1) * np.minimum(led, z / n) * w) @ weights


def both(laws, alpha):
    return (tilted([(arb(m), arb(x)) for m, x in law], arb(alpha)) for law in laws)


def sum_of(laws, n, line):
    with ctx.workprec(96):
        c, d = both(laws, line.alpha)
        return float(positive_sum(c, alone(d, n), line).upper())


@pytest.mark.many(5)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "alpha"), [(2, 1.0), (20, 0.7), (400, 0.15), (5000, 0.05)])
def test_a_fine_sum_is_the_integral(law, n, alpha):
    for smooth in (0.05, 0.6):
        h = smooth / alpha
        truth, above = integrals(LAWS[law], n, alpha, h)
        line = Line(alpha, h, 0.02 * alpha, math.ceil(6.0 / h / (0.02 * alpha)), 1e-9)
        value = sum_of(LAWS[law], n, line)
        assert truth <= above * (1 + 1e-9)
        assert above * (1 - 1e-9) <= value <= above * (1 + 1e-5)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [3, 60, 2000])
def test_any_line_is_above_the_integral(law, n):
    """However long its steps, few its nodes, and large what is left out of it."""
    alpha, h = 0.6 / math.sqrt(n) + 0.01, 0.4
    above = integrals(LAWS[law], n, alpha, h)[1]
    for step in (0.01, 0.1, 1.0, 10.0):
        for last in (1, 7, 8, 33, 500):
            for small in (1e-9, 1e-2, 10.0):
                assert sum_of(LAWS[law], n, Line(alpha, h, step, last, small)) >= above * (1 - 1e-9)


def test_masses_in_doubt_count_at_their_largest():
    with ctx.workprec(96):
        doubt = arb(0).union(arb(0.05))
        sure, open_ = [(arb(0.1), arb(0.5))], [(arb(0.8), arb(-0.1)), (arb(0.05), arb(0.7))]
        line = Line(0.5, 0.2, 0.1, 300, 1e-9)
        c = tilted(sure, arb(0.5))
        wide = tilted([*open_, (doubt, arb(0))], arb(0.5))
        above = positive_sum(c, alone(wide, 30), line).upper()
        for mass in (0.0, 0.02, 0.05):
            exact = tilted([*open_, (arb(mass), arb(0))], arb(0.5))
            assert above >= positive_sum(c, alone(exact, 30), line).lower()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "alpha"), [(2, 1.0), (20, 0.7), (400, 0.15)])
def test_many_sums_are_the_sum_of_each(law, n, alpha):
    """Where few nodes are left out of the fine sum, and above it where many are."""
    h = 0.15 / alpha
    above = integrals(LAWS[law], n, alpha, h)[1]
    with ctx.workprec(96):
        c, d = both(LAWS[law], alpha)
        for step, last in ((0.02 * alpha, math.ceil(6.0 / h / (0.02 * alpha))), (0.4 * alpha, 9)):
            sums = ManySums(c, n, Line(alpha, h, step, last, 1.0))
            value = float(sums.bound(d).upper())
            assert value >= above * (1 - 1e-9)
            assert last == 9 or value <= above * (1 + 1e-5)
        for last in (1, 8, 17):
            sums = ManySums(c, n, Line(alpha, h, 0.1 * alpha, last, 1.0))
            assert float(sums.bound(d).upper()) >= above * (1 - 1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "alpha"), [(100, 0.3), (10**6, 0.003)])
def test_coarser_bounds_are_above_and_near(law, n, alpha):
    h = 1e-2 / alpha
    with ctx.workprec(96):
        c, d = both(LAWS[law], alpha)
        step = min(0.2 * alpha, 0.3 / math.sqrt(n))
        line = Line(alpha, h, step, math.ceil(6.0 / (h * step)), 1e-7)
        sharp = float(positive_sum(c, alone(d, n), line).upper())
        group = (n - 1, arb(1), c.mass + d.mass)
        rough = float(chernoff(c.mass, [group], arb(alpha)).upper())
    # int w is pi/alpha; psi takes some of it away.
    assert sharp <= rough * (1 + 1e-6) <= 30 * sharp
