"""Laplace noise for vectors in a Euclidean ball: its laws in balls."""

from __future__ import annotations

import math
from itertools import pairwise

from shuffledp.arithmetic.balls import acb, arb, total
from shuffledp.ball.outputs import Law, OutputClass
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell, Corner
from shuffledp.randomizers import LaplaceBall

__all__ = ["angle_cells", "label_law", "total_variation"]

# Below this distance, in scales, a coordinate's density is that at 0 but for 1e-11.
_NEAR = 2.0**-20
# Cells of the angle: so many, and as many more for so many scales between the points, up to so
# often; a multiple of the 32 of an audit.
_FEWEST, _FINE, _MOST = 512, 8.0, 8


def label_law(randomizer: LaplaceBall) -> Law:
    """The victim's labels: (p al, al, k0) and (al, p al, k0) against (p al, p al, k0)/q.

    p = e^(distance/scale) and q = e^(2 radius/scale) bound ratios, beta is the total variation at
    the distance, al = beta/(p - 1) and k0 = 1 - (p + 1) al (docs/theory.md, Theorem 5.4).
    """
    apart = arb(randomizer.local_epsilon(0.5))
    p, q = apart.exp(), arb(randomizer.eps0).exp()
    beta = total_variation(apart, randomizer.d).min((p - 1) / (p + 1)).min(q - 1)
    small = (beta / (p - 1)).upper()
    large, rest = p * small, (1 - (p + 1) * small).nonnegative_part()
    return [
        OutputClass(large / q, (large, small)),
        OutputClass(large / q, (small, large)),
        OutputClass(rest / q, (rest, rest)),
    ]


def total_variation(separation: arb, d: int) -> arb:
    """Total variation of the noise around two points so many scales apart, or 1e-11 of it more.

    Half-spaces tell them apart best: P(|Z_1| <= separation/2). With a = d/2 a coordinate has the
    density Gamma(a)/(2 sqrt(pi) Gamma(a + 1/2)) h(s), h(s) = s^a K_a(s)/(2^(a-1) Gamma(a)), which
    is 1 at 0 and falls; near 0 it counts as 1.
    """
    a, end = arb(d) / 2, separation / 2
    top = a.gamma() / (arb.pi().sqrt() * (a + arb(0.5)).gamma())

    def fall(s: acb, analytic: bool) -> acb:  # noqa: FBT001 (as flint calls it)
        if analytic and not s.real > 0:
            return acb("nan")
        return s.pow(acb(a)) * s.bessel_k(acb(a)) / (arb(2) ** (a - 1) * a.gamma())

    if not end > _NEAR:
        return top * end
    return top * (arb(_NEAR) + acb.integral(fall, acb(_NEAR), acb(end)).real)


def angle_cells(randomizer: LaplaceBall, inputs: tuple[int, ...]) -> list[Cell]:
    """Two points at the distance: cells of phi, where distances from them differ by it times cos.

    In spheroidal coordinates around the points 0 and 1 (foci 2z scales apart) the density of phi is
    proportional to e^(-+z cos phi) sin^(d-2) phi (k + sin^2 phi), where
    k = (d - 1)/z K_(d/2)(z)/K_(d/2-1)(z).

    Parameters
    ----------
    randomizer : LaplaceBall
        What each user runs.
    inputs : tuple of int
        Three of the points 0 and 1: the victim's two, and that of all others.
    """
    if len(inputs) < 3 or not set(inputs) <= {0, 1}:
        raise NotCertified("laplace-ball: wanted three of its two points, 0 and 1")
    d, z = randomizer.d, arb(randomizer.reach) / arb(randomizer.scale) / 2
    a = acb(arb(d) / 2)
    k = (d - 1) / z * (acb(z).bessel_k(a, scaled=True) / acb(z).bessel_k(a - 1, scaled=True)).real
    count = _FEWEST * min(max(1, math.ceil(float(z) / _FINE)), _MOST)

    def density(phi: acb, _analytic: bool) -> acb:  # noqa: FBT001 (as flint calls it)
        sine = phi.sin()
        return (-z * (phi.cos() + 1)).exp() * sine ** (d - 2) * (k + sine * sine)

    places = [arb.pi() * j / count for j in range(count + 1)]
    weights = [
        acb.integral(density, acb(one), acb(other)).real.nonnegative_part()
        for one, other in pairwise(places)
    ]
    whole = total(weights)
    rows = [[w / whole for w in weights]]
    rows.append(rows[0][::-1])
    # log f_1/f_0 at the edges.
    levels = [2 * z * phi.cos() for phi in places]

    def ratio(x: int, j: int) -> arb:
        return ((x - inputs[2]) * levels[j]).exp() if x != inputs[2] else arb(1)

    corners = [Corner(ratio(inputs[0], j), ratio(inputs[1], j)) for j in range(count + 1)]
    masses = zip(*(rows[x] for x in (inputs[2], inputs[0], inputs[1])), strict=True)
    return [
        Cell(mass, p, q, _corner(one, other, top=False), _corner(one, other, top=True))
        for (mass, p, q), (one, other) in zip(masses, pairwise(corners), strict=True)
    ]


def _corner(one: Corner, other: Corner, *, top: bool) -> Corner:
    """The upper or the lower end of the ranges between two corners."""
    if top:
        return Corner(one.u.max(other.u), one.v.min(other.v))
    return Corner(one.u.min(other.u), one.v.max(other.v))
