"""What two caps of the unit sphere with orthogonal axes share, in ball arithmetic.

U is uniform on the sphere of R^d. In polar coordinates of (U_1, U_2) the angle is uniform and
P(radius > r) = (1 - r^2)^(d/2 - 1). A cap {U_1 >= t}, t > 0, with T = sqrt(1 - t^2)/t: at the angle
theta it needs the radius t/cos(theta), and with tan(theta) = T sin(phi)

    1 - t^2/cos(theta)^2 = (1 - t^2) cos(phi)^2,   d theta = T cos(phi)/(1 + T^2 sin(phi)^2) d phi,

so that, I(u) = (1/pi) (1 - t^2)^(d/2 - 1) times the integral of cos(phi)^(d-1) T/(1 + T^2
sin(phi)^2) from u to pi/2: P(U_1 >= t) = I(0), and P(U_1 >= t, U_2 >= t) = I(u) with tan(theta) = 1
at u, sin(u) = 1/T; nothing if T < 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from shuffledp.arithmetic.balls import acb, arb, ctx
from shuffledp.errors import NotCertified

from .outputs import rational_ball

__all__ = ["orthogonal_overlap"]

_NEWTON = 8
# Ten digits of tails want no less, whatever the caller works with.
_LEAST_BITS = 128
_CLOSE = 2.0**-50


def orthogonal_overlap(mass: Fraction, d: int, *, about: float) -> arb:
    """Enclose P(U_1 >= t and U_2 >= t) for caps of the given mass <= 1/2.

    Parameters
    ----------
    mass : Fraction
        P(U_1 >= t).
    d : int
        Dimension.
    about : float
        t in floats, from which Newton's steps begin.

    Raises
    ------
    NotCertified
        Where it is not enclosed to ten digits.
    """
    if mass == Fraction(1, 2):
        return arb(1) / 4
    if d == 2:
        # Arcs of length mass a quarter turn apart.
        return rational_ball(max(mass - Fraction(1, 4), Fraction(0)))
    return _enclosed(mass, d, about, max(ctx.prec, _LEAST_BITS))


@lru_cache(maxsize=32)
def _enclosed(mass: Fraction, d: int, about: float, bits: int) -> arb:
    with ctx.workprec(bits):
        low, high = _height(rational_ball(mass), d, about)
        # Higher caps share less.
        return _overlap(high, d).union(_overlap(low, d))


def _height(mass: arb, d: int, about: float) -> tuple[arb, arb]:
    """t with P(U_1 >= t) = mass, from both sides: Newton's steps, then two checks."""
    t = arb(about)
    norm = (arb(d) / 2).gamma() / (arb.pi().sqrt() * (arb(d - 1) / 2).gamma())
    for _ in range(_NEWTON):
        density = norm * ((1 - t * t).log() * (d - 3) / 2).exp()
        step = ((_beyond(t, arb(0), d) - mass) / density).mid()
        t = (t + step).mid()
        if abs(step) < _CLOSE * _CLOSE * t:
            break
    low, high = (t * (1 - _CLOSE)).mid(), (t * (1 + _CLOSE)).mid()
    if not (_beyond(low, arb(0), d) > mass and _beyond(high, arb(0), d) < mass):
        raise NotCertified("privunit: the height of the cap is not enclosed")
    return low, high


def _overlap(t: arb, d: int) -> arb:
    slope = (1 - t * t).sqrt() / t
    if slope < 1:
        return arb(0)
    if not slope > 1:
        raise NotCertified("privunit: it is not clear whether orthogonal caps meet")
    return _beyond(t, (1 / slope).asin(), d)


def _beyond(t: arb, start: arb, d: int) -> arb:
    """I(start)."""
    slope = (1 - t * t).sqrt() / t

    def density(phi: acb, _: Any) -> acb:
        sine = phi.sin()
        return phi.cos() ** (d - 1) * slope / (1 + (slope * sine) ** 2)

    # Beyond this the integrand is below e^-200 of itself at the start.
    reach = start + arb(math.sqrt(400.0 / d))
    end, rest = arb.pi() / 2, arb(0)
    if reach < end:
        bound = reach.cos() ** (d - 1) * slope * (end - reach)
        end, rest = reach, arb(0, bound.upper())
    value = acb.integral(density, acb(start), acb(end), rel_tol=2.0**-80, abs_tol=0).real
    front = ((1 - t * t).log() * (d - 2) / 2).exp() / arb.pi()
    return front * (value + rest)
