"""PrivUnit: caps of the sphere, cut up exactly on the circle and by balls above it."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb
from scipy import stats

import shuffledp as sd
from enumerated import ball
from laws import law_of
from randomizers.checks import (
    assert_law,
    rational_exponential,
)
from randomizers.sources import LEAST_P_VALUE, fits
from shuffledp.ball.caps import orthogonal_overlap
from shuffledp.randomizers.privunit import height


def exact_overlap(c, d):
    """P(U_1 >= t, U_2 >= t) in balls, in other coordinates than the library's."""
    a = arb(d - 1) / 2
    low, high = arb(0), arb(1)
    for _ in range(200):
        middle = ((low + high) / 2).mid()
        mass = (1 - middle) / 2
        if mass.beta_lower(a, a, regularized=True) > ball(c):
            low = middle
        else:
            high = middle
    t = ((low + high) / 2).mid()
    if t * t * 2 >= 1:
        return arb(0)
    exponent = arb(d - 2) / 2
    # The mass at (u, v), u >= v >= t: over the radius first, then s = v/u in [t/sqrt(1 - t^2), 1].
    first = t / (1 - t * t).sqrt()
    total = arb(0)
    # Panels shrink towards the end where an odd dimension has a root.
    ends = [first + (1 - first) * arb(2) ** -k for k in range(100)]
    for right, left in itertools.pairwise(ends):
        total += acb.integral(
            lambda s, analytic: (
                (1 - t * t * (1 + 1 / s**2)).pow(exponent, analytic) / (1 + s**2)
                if d % 2
                else (1 - t * t * (1 + 1 / s**2)) ** ((d - 2) // 2) / (1 + s**2)
            ),
            acb(left),
            acb(right),
        ).real
    rest = (ends[-1] - first) * (1 - t * t * (1 + 1 / ends[-1] ** 2)) ** exponent
    return (total + arb(rest.mid(), rest.mid())) / arb.pi()


@pytest.mark.many(3)
@pytest.mark.parametrize("d", [3, 4, 30])
@pytest.mark.parametrize("c", [0.499, 0.15, 0.05])
def test_overlap_of_orthogonal_caps(d, c):
    found, exact = orthogonal_overlap(Fraction(c), d), exact_overlap(c, d)
    assert abs(found - exact) <= arb(2) ** -90 + 1e-10 * exact


@pytest.mark.long
def test_overlap_that_has_few_digits_is_not_given():
    law = sd.PrivUnit(d=5, c=0.5 - 1e-13, eps0=1.0)
    assert [x2 for _, _, x2 in law.datasets()] == [0, 2]
    with pytest.raises(sd.NotCertified, match="not enclosed"):
        law_of(law, (0, 2, 1))


@pytest.mark.many(4)
@pytest.mark.parametrize("d", [3, 10, 500])
@pytest.mark.parametrize("c", [0.02, 0.3, 0.5, 0.7])
def test_law_above_the_circle(d, c):
    """Regions counted by inclusion and exclusion from the overlap of two caps."""
    grow = rational_exponential(2.0)
    small = min(Fraction(c), 1 - Fraction(c))
    shared = Fraction(float(orthogonal_overlap(small, d)))
    pieces = {frozenset(): 1 - 4 * small + 4 * shared}
    for j in range(4):
        pieces[frozenset((j,))] = small - 2 * shared
        pieces[frozenset((j, (j + 1) % 4))] = shared
    total = grow * Fraction(c) + 1 - Fraction(c)
    rows = []
    for x in range(4):
        inside = [(x in k) if c <= 0.5 else ((x + 2) % 4 not in k) for k in pieces]
        rows.append(
            [m * (grow if i else 1) / total for m, i in zip(pieces.values(), inside, strict=True)]
        )
    assert all(sum(row) == 1 for row in rows)
    truth = list(zip([m / total for m in pieces.values()], zip(*rows, strict=True), strict=True))
    randomizer = sd.PrivUnit(d=d, c=c, eps0=2.0)
    for inputs in [(0, 2), (0, 2, 1), (1, 0), (0, 1, 2, 3)]:
        law = law_of(randomizer, inputs)
        law = replace(law, rel=max(law.rel, 1e-9))
        assert_law(law, [(b, [m[x] for x in inputs]) for b, m in truth if b])


@pytest.mark.parametrize(("d", "c"), [(2, 0.3), (3, 0.5), (7, 0.8), (50, 0.05)])
def test_sampler(d, c):
    """Place along x by Kolmogorov-Smirnov, side of the cap and quarters by chi-square."""
    eps0, users = 1.3, 60_000
    randomizer = sd.PrivUnit(d=d, c=c, eps0=eps0)
    x = np.zeros(d)
    x[: min(d, 3)] = [0.6, -0.8, 0.0][: min(d, 3)]
    reports = randomizer.simulate(np.tile(x, (users, 1)), seed=17)
    assert np.allclose(np.linalg.norm(reports, axis=1), 1.0)
    along = reports @ x
    inside = along >= height(c, d)
    p = math.exp(eps0) * c / (math.exp(eps0) * c + 1 - c)
    assert fits([inside.sum(), users - inside.sum()], [p, 1 - p]) > LEAST_P_VALUE
    a = (d - 1) / 2
    law = stats.beta(a, a)
    grow = math.exp(eps0)

    def cdf(u):
        low = 1 - law.cdf((1 - u) / 2)  # uniform mass below u
        return np.where(low <= 1 - c, low, (1 - c) + grow * (low - (1 - c))) / (grow * c + 1 - c)

    assert stats.kstest(along, cdf).pvalue > LEAST_P_VALUE
    assert stats.kstest(-along, cdf).pvalue < LEAST_P_VALUE
    # Across x all directions are alike.
    across = np.zeros(d)
    across[:2] = [0.8, 0.6]
    side = reports @ across
    assert fits([(side > 0).sum(), (side <= 0).sum()], [0.5, 0.5]) > LEAST_P_VALUE


@pytest.mark.parametrize(("d", "c"), [(2, 0.3), (3, 0.5), (4, 0.7), (9, 0.1), (40, 0.45)])
@pytest.mark.parametrize("eps0", [0.2, 3.0])
def test_unbiased_and_variance_by_quadrature(d, c, eps0):
    """Moments of <U, x> from its density, in balls, to 1e-10."""
    randomizer = sd.PrivUnit(d=d, c=c, eps0=eps0)
    grow = arb(eps0).exp()
    total = grow * ball(c) + 1 - ball(c)
    t = math.acos(height(c, d))
    # u = cos(s): the density of s is sin(s)^(d-2), an entire function.
    norm = acb.integral(lambda s, _: s.sin() ** (d - 2), 0, acb.pi()).real

    def moment(power):
        def whole(left, right):
            return acb.integral(
                lambda s, _: s.cos() ** power * s.sin() ** (d - 2), acb(left), acb(right)
            ).real

        return (grow * whole(0, t) + whole(t, acb.pi())) / norm / total

    assert float(moment(0)) == pytest.approx(1.0, abs=1e-12)
    m, second = float(moment(1)), float(moment(2))
    assert randomizer.shrinkage == pytest.approx(m, rel=1e-10)
    assert randomizer.total_variance == pytest.approx(1 / m**2 - 1, rel=1e-9)
    along, across = second / m**2 - 1, (1 - second) / (d - 1) / m**2
    assert randomizer.variance() == pytest.approx(max(along, across), rel=1e-9)
    assert along + (d - 1) * across == pytest.approx(randomizer.total_variance, rel=1e-9)


@pytest.mark.parametrize("eps0", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("d", [2, 3, 16, 300])
def test_best_cap(d, eps0):
    best = sd.PrivUnit.best(d=d, eps0=eps0)
    for c in np.geomspace(1e-4, 0.9, 60):
        assert best.total_variance <= sd.PrivUnit(d=d, c=c, eps0=eps0).total_variance * (1 + 1e-6)
