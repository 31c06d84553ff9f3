"""Caps of the unit sphere in d dimensions: their height, and what two of them share.

U is uniform on the sphere and U_1, U_2 are its first two coordinates; a cap is {U_1 >= t}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp import _special as special
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_RHO = 4.0  # Bernstein ellipse of every panel: semi-axes 2.125 and 1.875 half-widths
_WIDE, _HIGH = 0.5 * (_RHO + 1.0 / _RHO), 0.5 * (_RHO - 1.0 / _RHO)
_MOST_PANELS = 20_000
_FAR = 60.0
_WORST_REL = 1e-9


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


@dataclass(frozen=True)
class Overlap:
    """Mass of the intersection of two caps with orthogonal axes, and a bound on its error."""

    mass: float
    err: float


@lru_cache(maxsize=256)
def orthogonal_overlap(mass: float, d: int) -> Overlap | None:
    """P(U_1 >= t and U_2 >= t) for caps of the given mass <= 1/2.

    None where it, or what two opposite caps leave of one across, has few digits.

    In polar coordinates of (U_1, U_2), r >= t/cos(theta) has probability (1 - t^2/cos^2)^(d/2 - 1):
    the cap is 1/pi times its integral over 0 <= theta <= acos(t), the overlap over theta >= pi/4.
    """
    if mass == 0.5:
        return Overlap(0.25, 0.0)
    if d == 2:
        return _if_sharp(max(0.0, mass - 0.25), 0.0, mass)
    t = height(mass, d)
    slope = math.sqrt((1.0 - t) * (1.0 + t)) / t
    if slope == 0.0:
        # So small a cap that its height is 1 in floats.
        return None
    cap, cap_err = _sector(0.0, slope, d)
    if slope * (1.0 + 1e-9) < 1.0 and cap_err < 1e-9 * mass and abs(cap - mass) < 1e-9 * mass:
        return Overlap(0.0, 0.0)
    if slope < 1.0 + 1e-9:
        return None
    found, err = _sector(math.asin(1.0 / slope), slope, d)
    # d(overlap)/d(mass) = 2 P(U_2 >= t | U_1 = t): t belongs to a mass that is not quite this one.
    off = abs(cap - mass) + cap_err
    err += 4.0 * off * _beside(t, slope, d)
    return _if_sharp(found, err, mass)


def _if_sharp(found: float, err: float, mass: float) -> Overlap | None:
    least = min(found, mass - 2.0 * found, 1.0 - 3.0 * mass + 2.0 * found)
    return Overlap(found, err) if err <= _WORST_REL * least else None


def _beside(t: float, slope: float, d: int) -> float:
    """P(U_2 >= t | U_1 = t), with room for the error of t."""
    share = t / (slope * t) * (1.0 - 1e-9)
    a = 0.5 * (d - 2)
    return (1.0 + 1e-6) * float(special.betainc(a, a, 0.5 * max(0.0, 1.0 - share)))


def _sector(start: float, slope: float, d: int) -> tuple[float, float]:
    """(1/pi) times the integral of the tail from ``start`` on, and a bound on its error.

    With tan(theta) = slope sin(phi), slope = sqrt(1 - t^2)/t, the integrand is (1 - t^2)^(d/2 - 1)
    cos(phi)^(d-1) slope/(1 + slope^2 sin(phi)^2): analytic, and falling on [start, pi/2].
    """
    log_front = -(0.5 * d - 1.0) * math.log1p(1.0 / slope**2) + math.log(slope / math.pi)
    total = err = 0.0
    # Exponents are rounded relative to their size, 1 - sin^2 by 3u: about (d - 1) tan^2(phi) u.
    least = math.cos(start) ** 2
    depth = abs(log_front) + 0.5 * (d - 1) * abs(math.log(least)) + _FAR
    rounding = (64.0 + 16.0 * depth) * U / least
    x = start
    for _ in range(_MOST_PANELS):
        rest = 0.0
        if x < 0.5 * math.pi:
            rest = (0.5 * math.pi - x) * float(_integrand(np.array([x]), log_front, slope, d)[0])
        if rest <= math.exp(-_FAR) * total:
            return total, 1.01 * (err + rest) + rounding * total
        half, bound = _panel(x, log_front, slope, d)
        nodes = x + half * (1.0 + _NODES)
        total += half * float(_WEIGHTS @ _integrand(nodes, log_front, slope, d))
        err += half * bound
        x += 2.0 * half
    return total, math.inf


def _integrand(phi: np.ndarray, log_front: float, slope: float, d: int) -> np.ndarray:
    sine = np.sin(phi)
    return np.exp(log_front + 0.5 * (d - 1) * np.log1p(-sine * sine)) / (1.0 + (slope * sine) ** 2)


def _panel(x: float, log_front: float, slope: float, d: int) -> tuple[float, float]:
    """Half-width of the next panel, and Gauss's error on it per half-width.

    The error of N points is at most (64/15) M rho^(-2N)/(1 - rho^-2) half-widths, M the largest
    modulus on the Bernstein ellipse (Trefethen, Approximation Theory and Practice, Theorem 19.3),
    bounded here on the rectangle around it.
    """
    half = min(0.2 * (x + 1.0 / slope), 0.1, 0.3 / math.sqrt(d), 0.5 * (0.5 * math.pi - x))
    half = min(half, 0.5 / ((d - 1) * math.tan(max(x, 1e-300))))
    if 0.5 * math.pi - x < 1e-3 / math.sqrt(d):
        half = 0.5 * (0.5 * math.pi - x)
    while True:
        middle, high = x + half, _HIGH * half
        left, right = middle - _WIDE * half, middle + _WIDE * half
        rise = math.sinh(high) ** 2
        nearest = max(0.0, left)
        top = max(math.cos(nearest), abs(math.cos(right))) ** 2 + rise
        low_sine = min(abs(math.sin(nearest)), abs(math.sin(right)))
        far = (slope * low_sine) ** 2 - 1.0
        near = (1.0 - slope * math.sinh(high)) ** 2 if slope * math.sinh(high) < 1.0 else 0.0
        below = max(far, near)
        if below > 0.1:
            break
        half *= 0.5
    largest = math.exp(log_front + 0.5 * (d - 1) * math.log(top)) / below
    count = len(_NODES)
    return half, 64.0 / 15.0 * largest * _RHO ** (-2 * count) / (1.0 - _RHO**-2)
