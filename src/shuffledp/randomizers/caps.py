"""Caps of the unit sphere in d dimensions: their height and their moments, in floats.

U is uniform on the sphere and U_1 its first coordinate; a cap is {U_1 >= t}.
"""

from __future__ import annotations

import math

from shuffledp import _special as special


def height(mass: float, d: int) -> float:
    """t with P(U_1 >= t) = mass, to a few units of the last place of 1."""
    a = 0.5 * (d - 1)
    return 1.0 - 2.0 * float(special.betaincinv(a, a, mass))


def first_moment(t: float, d: int) -> float:
    """E[U_1; U_1 >= t] = (1 - t^2)^((d-1)/2) Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2) (d - 1))."""
    if t >= 1.0:
        # Of a cap so small that its height is 1 in floats.
        return 0.0
    a = 0.5 * (d - 1)
    log = a * math.log1p(-t * t) + float(special.gammaln(a + 0.5) - special.gammaln(a))
    return math.exp(log) / (math.sqrt(math.pi) * (d - 1))


def second_moment(t: float, d: int) -> float:
    """E[U_1^2; U_1 >= t], by parts: t E[U_1; U_1 >= t] + P(cap at t in d + 2 dimensions)/d."""
    a = 0.5 * (d + 1)
    return t * first_moment(t, d) + float(special.betainc(a, a, 0.5 * (1.0 - t))) / d
