"""Noise in steps in ball arithmetic: discrete Laplace, discrete Gaussian, staircase.

The noise is symmetric and does not increase with its size, so the blanket at an output is the mass
or density of the farther end of the inputs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import NotCertified

from .outputs import Law, OutputClass, check_inputs, rational_ball
from .record import Masses

__all__ = [
    "gaussian_law",
    "gaussian_tail",
    "geometric_law",
    "geometric_tail",
    "staircase_labels",
    "staircase_law",
    "staircase_tail",
]

_MOST_CLASSES = 6_000
# Terms of a sum over the integers: 24 deviations of the widest discrete Gaussian noise.
_MOST_TERMS = 2_000_000
# Where nothing is said of how much may be cut off.
_LOG_CUT = -60.0


def _few(name: str, classes: int) -> None:
    if classes > _MOST_CLASSES:
        raise NotCertified(f"{name}: more than {_MOST_CLASSES:,} classes of outputs")


def geometric_tail(rate: arb, k: int) -> arb:
    """P(K >= k) = a^k/(1 + a), k >= 0, a = e^-rate."""
    return (-rate * k).exp() / (1 + (-rate).exp())


def geometric_law(top: int, eps0: arb, inputs: Sequence[Any]) -> Law:
    """Ghosh et al. 2009: f(k) = (1 - a)/(1 + a) a^|k|, a = e^(-eps0/top).

    Outputs up to 0 have the same ratios, and so have those from top on: clamping changes nothing.
    """
    check_inputs(inputs, top + 1)
    _few("discrete-laplace", top + 1)
    a = (-eps0 / top).exp()

    def mass(x: int, y: int) -> arb:
        if y in (0, top):
            return geometric_tail(eps0 / top, abs(y - x))
        return (1 - a) / (1 + a) * a ** abs(y - x)

    law = []
    for y in range(top + 1):
        far = max(y, top - y)
        level = tuple(eps0 * (far - abs(y - x)) / top for x in inputs)
        end = top if 2 * y < top else 0
        law.append(OutputClass(mass(end, y), tuple(mass(x, y) for x in inputs), level))
    return law


def gaussian_law(top: int, sigma: arb, inputs: Sequence[Any], *, log_cut: float = _LOG_CUT) -> Law:
    """Canonne, Kamath, Steinke 2020: f(k) proportional to e^(-k^2/(2 sigma^2)).

    Outputs farther from all inputs than the cut have a class of their own (`OutputClass.beyond`).
    """
    check_inputs(inputs, top + 1)
    width = float(sigma.mid())
    reach = math.ceil(width * math.sqrt(max(-2.0 * log_cut, 1.0))) + 1
    low, high = -reach, top + reach
    _few("discrete-gaussian", high - low + 1)
    half = 1 / (2 * sigma * sigma)
    total = 1 + 2 * _beyond(1, half)

    def mass(x: int, y: int) -> arb:
        k = abs(y - x)
        return (-half * k * k).exp() / total

    law = []
    for y in range(low, high + 1):
        end = top if 2 * y < top else 0
        level = tuple(half * (y - end) ** 2 - half * (y - x) ** 2 for x in inputs)
        law.append(OutputClass(mass(end, y), tuple(mass(x, y) for x in inputs), level))
    ends = [(high + 1 - x, x - low + 1) for x in inputs]
    gone = tuple((_beyond(a, half) + _beyond(b, half)) / total for a, b in ends)
    return [*law, OutputClass(arb(0), gone, beyond=True)]


def gaussian_tail(sigma: arb, k: int) -> arb:
    """P(K >= k), k >= 0, of f(k) proportional to e^(-k^2/(2 sigma^2))."""
    half = 1 / (2 * sigma * sigma)
    return _beyond(k, half) / (1 + 2 * _beyond(1, half))


def _beyond(first: int, half: arb) -> arb:
    """Sum over k >= first >= 0 of e^(-half k^2), the rest by a geometric series."""
    total, k = arb(0), first
    while True:
        term = (-half * k * k).exp()
        ratio = (-half * (2 * k + 1)).exp()
        rest = term * ratio / (1 - ratio)
        total += term
        if rest < total * 2.0**-400 or rest < 2.0**-20000:
            return total + arb(0, rest.upper()) / 2 + rest / 2
        k += 1
        if k - first > _MOST_TERMS:
            raise NotCertified("discrete-gaussian: sigma is too large for the verifier")


def staircase_law(eps0: arb, g: Fraction, places: Sequence[Fraction]) -> Law:
    """Geng, Viswanath 2014, in units of high - low, b = e^-eps0, g the width of the high part.

    f(z) = a b^k for |z| in [k, k + g), a b^(k+1) for |z| in [k + g, k + 1); the integral is
    2 a (g + b (1 - g))/(1 - b) = 1. Beyond [0, 1] one unit farther multiplies all densities by b:
    one unit on either side stands for all, with masses over 1 - b. Places are the inputs.
    """
    b, a = (-eps0).exp(), _staircase_top(eps0, g)
    ends = [Fraction(0), Fraction(1)]
    cuts = {Fraction(v, 2) for v in range(-2, 5)}
    for x in (*places, *ends):
        for sign in (-1, 1):
            for k in range(3):
                cuts |= {x + sign * k, x + sign * (k + g)}
    inner = sorted(y for y in cuts if -1 <= y <= 2)
    merged: dict[tuple[int, ...], arb] = {}
    for left, right in itertools.pairwise(inner):
        middle = (left + right) / 2
        floor = max(_steps(middle - end, g) for end in ends)
        times = rational_ball(right - left) * a * b**floor
        if not 0 < middle < 1:
            times = times / (1 - b)
        key = tuple(floor - _steps(middle - x, g) for x in places)
        merged[key] = merged.get(key, arb(0)) + times
    return [
        OutputClass(mass, tuple(mass * (eps0 * k).exp() for k in key), tuple(eps0 * k for k in key))
        for key, mass in merged.items()
    ]


def staircase_tail(eps0: arb, g: Fraction, z: Fraction) -> arb:
    """P(Z > z), z >= 0: what is left of the step that z is on, and the steps beyond it."""
    b, k = (-eps0).exp(), math.floor(z)
    high, low = max(g - (z - k), Fraction(0)), min(1 - g, 1 - (z - k))
    own = _staircase_top(eps0, g) * (rational_ball(high) + b * rational_ball(low))
    # All steps from k + 1 on, on one side: b^(k + 1)/2.
    return b**k * (own + b / 2)


def _staircase_top(eps0: arb, g: Fraction) -> arb:
    """a, the density at 0."""
    b = (-eps0).exp()
    return -(-eps0).expm1() / (2 * (rational_ball(g) + b * rational_ball(1 - g)))


def _steps(z: Fraction, g: Fraction) -> int:
    """How many factors e^-eps0 the density has at z."""
    size = abs(z)
    whole_steps = math.floor(size)
    return whole_steps + (size - whole_steps >= g)


def staircase_labels(eps0: arb, g: Fraction) -> Iterator[list[Masses]]:
    """Distances u, v of x0 and x1 from x, and their own, where jumps of two densities meet.

    That is at multiples of g, up to two, and whole numbers more: u and v are sums of two of these.
    """
    places = {k * g + m for k in range(-4, 5) for m in range(-5, 6)}
    places = {x for x in places if -1 <= x <= 1}
    for u, v in itertools.product(places, repeat=2):
        # The noise is symmetric: of (u, v) and (-u, -v) one is enough.
        if abs(u - v) <= 1 and (u, v) >= (-u, -v):
            low = min(u, v, Fraction(0))
            law = staircase_law(eps0, g, (u - low, v - low, -low))
            found: list[Masses] = []
            for one in law:
                first, second, third = one.probability
                found.append((first, second, third))
            yield found
