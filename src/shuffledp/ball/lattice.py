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
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.theorems import (
    CLAMPED_END_POINTS,
    CORNER_TRIPLES,
    END_POINTS,
    SHIFTED_TRIPLES,
    Theorem,
)

from .levels import place
from .outputs import Law, OutputClass, Parameters, positive, rational_ball, whole
from .ranges import EPS0, FLAG, INTERVAL, PART, integer
from .record import Masses, Others, Pair, Record

__all__ = ["RECORDS", "gaussian_law"]

_MOST_CLASSES = 6_000
# As in the theorem's statement: distances that are looked at one by one.
_MOST_SHIFTS = 28
# Of the class: on how many integers its reports may be, and its sigma.
_INTEGERS, _SIGMAS = 1 << 22, (0.01, 1e6)
# Where nothing is said of how much may be cut off.
_LOG_CUT = -60.0


def _checked(mechanism: Parameters, inputs: tuple[Any, ...]) -> int:
    top = whole(mechanism, "top", 1)
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x <= top:
            raise ParameterError(f"input = {x!r}: wanted an integer from 0 to {top}")
    return top


def _few(name: str, classes: int) -> None:
    if classes > _MOST_CLASSES:
        raise NotCertified(f"{name}: more than {_MOST_CLASSES:,} classes of outputs")


def _geometric_law(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Ghosh et al. 2009: f(k) = (1 - a)/(1 + a) a^|k|, a = e^(-eps0/top).

    Outputs up to 0 have the same ratios, and so have those from top on: clamping changes nothing.
    """
    top, eps0 = _checked(mechanism, inputs), positive(mechanism, "eps0")
    _few("discrete-laplace", top + 1)
    a = (-eps0 / top).exp()

    def mass(x: int, y: int) -> arb:
        # P(K >= k) = a^k/(1 + a) for k >= 0.
        if y in (0, top):
            return a ** abs(y - x) / (1 + a)
        return (1 - a) / (1 + a) * a ** abs(y - x)

    law = []
    for y in range(top + 1):
        far = max(y, top - y)
        level = tuple(eps0 * (far - abs(y - x)) / top for x in inputs)
        end = top if 2 * y < top else 0
        law.append(OutputClass(mass(end, y), tuple(mass(x, y) for x in inputs), level))
    return law


def gaussian_law(
    mechanism: Parameters, inputs: tuple[Any, ...], *, log_cut: float = _LOG_CUT
) -> Law:
    """Canonne, Kamath, Steinke 2020: f(k) proportional to e^(-k^2/(2 sigma^2)); maybe clamped.

    Outputs farther from all inputs than the cut have a class of their own (`OutputClass.beyond`).
    Clamped reports end at -margin and top + margin, which hold all that lies beyond.
    """
    top, sigma = _checked(mechanism, inputs), positive(mechanism, "sigma")
    clamped, margin = bool(mechanism.get("clamped", False)), mechanism.get("margin", 0)
    width = float(sigma.mid())
    reach = math.ceil(width * math.sqrt(max(-2.0 * log_cut, 1.0))) + 1
    if clamped and isinstance(margin, int) and margin <= reach + top:
        low, high, cut = -margin, top + margin, False
    else:
        low, high, cut = -reach, top + reach, True
    _few("discrete-gaussian", high - low + 1)
    half = 1 / (2 * sigma * sigma)
    total = 1 + 2 * _beyond(1, half)
    tails = {}

    def mass(x: int, y: int) -> arb:
        k = abs(y - x)
        if cut or low < y < high:
            return (-half * k * k).exp() / total
        if k not in tails:
            tails[k] = _beyond(k, half) / total
        return tails[k]

    law = []
    for y in range(low, high + 1):
        end = top if 2 * y < top else 0
        level = None
        if cut or low < y < high:
            level = tuple(half * (y - end) ** 2 - half * (y - x) ** 2 for x in inputs)
        law.append(OutputClass(mass(end, y), tuple(mass(x, y) for x in inputs), level))
    if cut:
        ends = [(high + 1 - x, x - low + 1) for x in inputs]
        gone = tuple((_beyond(a, half) + _beyond(b, half)) / total for a, b in ends)
        law.append(OutputClass(arb(0), gone, beyond=True))
    return law


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
        if k - first > 100 * _MOST_CLASSES:
            raise NotCertified("discrete-gaussian: sigma is too large for the verifier")


def _staircase_law(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Geng, Viswanath 2014, in units of high - low, b = e^-eps0, g the width of the high part.

    f(z) = a b^k for |z| in [k, k + g), a b^(k+1) for |z| in [k + g, k + 1); the integral is
    2 a (g + b (1 - g))/(1 - b) = 1. Beyond [0, 1] one unit farther multiplies all densities by b:
    one unit on either side stands for all, with masses over 1 - b.
    """
    return _staircase_at(mechanism, [place(mechanism, x, low=0.0, high=1.0) for x in inputs])


def _staircase_at(mechanism: Parameters, places: Sequence[Fraction]) -> Law:
    """The same of inputs in units of the interval."""
    eps0, width = positive(mechanism, "eps0"), mechanism.get("width")
    if not isinstance(width, float) or not 0.0 < width < 1.0:
        raise ParameterError(f"width = {width!r}: wanted a share in (0, 1)")
    g = Fraction(width)
    b = (-eps0).exp()
    a = (1 - b) / (2 * (rational_ball(g) + b * rational_ball(1 - g)))
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


def _steps(z: Fraction, g: Fraction) -> int:
    """How many factors e^-eps0 the density has at z."""
    size = abs(z)
    whole_steps = math.floor(size)
    return whole_steps + (size - whole_steps >= g)


def _stairs(mechanism: Parameters) -> Iterator[list[Masses]]:
    """Distances u, v of x0 and x1 from x, and their own, where jumps of two densities meet.

    That is at multiples of g, up to two, and whole numbers more: u and v are sums of two of these.
    """
    g = Fraction(mechanism["width"])
    places = {k * g + m for k in range(-4, 5) for m in range(-5, 6)}
    places = {x for x in places if -1 <= x <= 1}
    for u, v in itertools.product(places, repeat=2):
        # The noise is symmetric: of (u, v) and (-u, -v) one is enough.
        if abs(u - v) <= 1 and (u, v) >= (-u, -v):
            low = min(u, v, Fraction(0))
            law = _staircase_at(mechanism, (u - low, v - low, -low))
            found: list[Masses] = []
            for one in law:
                first, second, third = one.probability
                found.append((first, second, third))
            yield found


# ---------------------------------------------------------------------------------- the records


def _integers(value: Any, table: Parameters) -> bool:
    """Reports fall on four million integers at most: the inputs, and all that is likely beside."""
    top = table["top"]
    known = type(value) is float and type(top) is int
    if not known or not _SIGMAS[0] <= value <= _SIGMAS[1]:
        return False
    # P(|K| > reach) < e^-691 < 1e-299.
    reach = math.ceil(value * math.sqrt(2.0 * 691.0) + 1.0)
    return top + 2 * reach + 1 <= _INTEGERS


def _whole_margin(value: Any, table: Parameters) -> bool:
    return type(value) is int and value >= 0 and (value == 0 or table["clamped"] is True)


def _span(mechanism: Parameters) -> Pair:
    return 0, mechanism["top"]


def _step(mechanism: Parameters) -> Theorem:
    return CLAMPED_END_POINTS if mechanism["clamped"] else END_POINTS


def _geometric_shifts(mechanism: Parameters) -> Others:
    return Others("shifts", SHIFTED_TRIPLES, (_span(mechanism),))


def _gaussian_shifts(mechanism: Parameters) -> Others | None:
    if mechanism["top"] > _MOST_SHIFTS:
        return None
    return Others("shifts", SHIFTED_TRIPLES, (_span(mechanism),), unbounded=True)


def _corners(mechanism: Parameters) -> Others:
    pairs = ((mechanism["low"], mechanism["high"]),)
    return Others("corners", CORNER_TRIPLES, pairs, labels=lambda: _stairs(mechanism))


_TOPS = integer(1, 10**9)

RECORDS = {
    "discrete-gaussian": Record(
        ranges={
            "top": _TOPS,
            "sigma": ("a number from 0.01, for the integers there are", _integers),
            "clamped": FLAG,
            "margin": ("a whole number, 0 unless clamped", _whole_margin),
        },
        law=gaussian_law,
        cut_law=gaussian_law,
        pair=_span,
        pair_step=_step,
        inside=False,
        others=_gaussian_shifts,
    ),
    "discrete-laplace": Record(
        ranges={"top": _TOPS, "eps0": EPS0, "clamped": FLAG},
        law=_geometric_law,
        pair=_span,
        pair_step=_step,
        others=_geometric_shifts,
    ),
    "staircase": Record(
        ranges={"eps0": EPS0, **INTERVAL, "width": PART},
        law=_staircase_law,
        pair=lambda m: (m["low"], m["high"]),
        pair_step=END_POINTS,
        others=_corners,
    ),
}
