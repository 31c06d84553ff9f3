"""Mechanisms that add noise to a number of an interval, with a density: from their definitions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError
from shuffledp.theorems import END_POINTS, SPANNING_TRIPLES, TRUNCATED_END_POINTS, TWO_INPUTS

from .densities import Line, Noise, finite_real
from .outputs import Parameters, positive
from .power import PowerNoise
from .ranges import EPS0, FAR, FLAG, INTERVAL, real
from .record import Others, Pair, Range, Record

__all__ = ["RECORDS"]

# Lengths of the interval in units of the noise that the classes take.
_LONGEST, _SHORTEST_POWER = 1e4, 1e-9
# Narrower than any float says: of the Gaussian there is no shortest interval.
_ANY = 5e-324
_SHAPES = real(1.0 / 32.0, 1000.0, open_low=False)


def _ends(mechanism: Parameters) -> tuple[arb, arb]:
    """The interval of inputs."""
    low, high = (
        finite_real(mechanism, key, default) for key, default in (("low", 0.0), ("high", 1.0))
    )
    if not low < high:
        raise ParameterError(f"low, high = {low!r}, {high!r}: wanted low < high")
    return arb(low), arb(high)


def _laplace(mechanism: Parameters) -> Noise:
    """Density unit/2 e^(-unit |y - x|), unit = eps0/(high - low)."""
    low, high = _ends(mechanism)
    unit = positive(mechanism, "eps0") / (high - low)  # one over the scale
    one = arb(1)

    def line(x: arb, y: arb) -> Line:
        return Line(one, -x) if y < x else Line(-one, x)

    return Noise(low, high, arb(0), unit, (unit / 2).log(), line, kinked=True)


def _truncated(mechanism: Parameters) -> Noise:
    """Laplace noise given that the report is in [low - margin, high + margin].

    f_x(y) = e^(-|y - x|/s)/(s D(x)), D(x) = 2 - e^(-(x - left)/s) - e^(-(right - x)/s); the blanket
    is the density of the farther end (docs/theory-noise.md, Theorem 1.2).
    """
    plain = _laplace(mechanism)
    low, high = plain.low, plain.high
    margin = finite_real(mechanism, "margin", 0.0)
    if margin < 0.0:
        raise ParameterError(f"margin = {margin!r}: wanted a number >= 0")
    left, right = low - arb(margin), high + arb(margin)

    def log_inside(x: arb) -> arb:
        near = (-plain.unit * (x - left)).expm1() + (-plain.unit * (right - x)).expm1()
        return (-near).log()

    # Both ends have the same share inside: their lines are those of the plain noise, exactly.
    base = log_inside(low)

    def line(x: arb, y: arb) -> Line:
        found = plain.line(x, y)
        if x in (low, high):
            return found
        return Line(found.slope, found.level - (log_inside(x) - base) / plain.unit)

    log_norm = plain.unit.log() - base
    return Noise(low, high, arb(0), plain.unit, log_norm, line, kinked=True, left=left, right=right)


def _gaussian(mechanism: Parameters) -> Noise:
    """Density e^(-(y - x)^2/(2 sigma^2))/(sigma sqrt(2 pi))."""
    low, high = _ends(mechanism)
    sigma = positive(mechanism, "sigma")
    unit = 1 / sigma**2
    log_norm = -(sigma * (2 * arb.pi()).sqrt()).log()

    def line(x: arb, y: arb) -> Line:  # noqa: ARG001 (the same on both sides of x)
        return Line(x, -x * x / 2)

    return Noise(low, high, -unit / 2, unit, log_norm, line, kinked=False)


def _generalized(mechanism: Parameters) -> PowerNoise:
    """Density e^(-(|y - x|/s)^b)/(2 s Gamma(1 + 1/b)), b the shape, s the scale."""
    shape, scale = positive(mechanism, "shape"), positive(mechanism, "scale")
    low, high = (mechanism.get(key, default) for key, default in (("low", 0.0), ("high", 1.0)))
    for key, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ParameterError(f"{key} = {value!r}: wanted a finite number")
    if not low < high:
        raise ParameterError(f"low, high = {low!r}, {high!r}: wanted low < high")
    log_top = -(2 * scale).log() - (1 + 1 / shape).lgamma()
    return PowerNoise(shape, scale, arb(low), arb(high), log_top)


# ---------------------------------------------------------------------------------- the records


def _between(key: str, low: float, high: float) -> Range:
    """The interval's length in units of the noise, from low to high."""

    def holds(value: Any, table: Parameters) -> bool:
        if type(value) is not float or not 0.0 < value <= FAR:
            return False
        ends = [table[end] for end in ("low", "high")]
        fits = all(type(end) is float for end in ends)
        return fits and low <= (ends[1] - ends[0]) / value <= high

    return f"a {key} with low <= (high - low)/{key} <= high, {low:g} to {high:g}", holds


def _pair(mechanism: Parameters) -> Pair:
    return mechanism["low"], mechanism["high"]


def _spanning(mechanism: Parameters) -> Others:
    return Others("span", SPANNING_TRIPLES, (_pair(mechanism),))


def _spanning_unbounded(mechanism: Parameters) -> Others | None:
    """None for very narrow noise."""
    length = Fraction(mechanism["high"]) - Fraction(mechanism["low"])
    if Fraction(mechanism["sigma"]) < _NARROWEST * length:
        return None
    return _spanning(mechanism)._replace(unbounded=True)


# Deviations below this share of the interval are left out: ratios are too heavy there.
_NARROWEST = Fraction(3, 10)
_LAPLACE = {"eps0": EPS0, **INTERVAL}
_MARGIN = real(0.0, FAR, open_low=False)

RECORDS = {
    "laplace": Record(
        ranges={**_LAPLACE, "binary": FLAG},
        noise=_laplace,
        pair=_pair,
        pair_step=lambda m: TWO_INPUTS if m["binary"] else END_POINTS,
        inside=False,
        others=_spanning,
    ),
    # Ratios are constant beyond the inputs: what is clamped there is a sufficient statistic.
    "clamped-laplace": Record(
        ranges={**_LAPLACE, "margin": _MARGIN},
        noise=_laplace,
        pair=_pair,
        pair_step=END_POINTS,
        inside=False,
        others=_spanning,
    ),
    "truncated-laplace": Record(
        ranges={**_LAPLACE, "margin": _MARGIN},
        noise=_truncated,
        pair=_pair,
        pair_step=TRUNCATED_END_POINTS,
        inside=False,
    ),
    "gaussian": Record(
        ranges={"sigma": _between("sigma", _ANY, _LONGEST), **INTERVAL},
        noise=_gaussian,
        normal=True,
        pair=_pair,
        pair_step=END_POINTS,
        inside=False,
        others=_spanning_unbounded,
    ),
    "generalized-gaussian": Record(
        ranges={
            "shape": _SHAPES,
            "scale": _between("scale", _SHORTEST_POWER, _LONGEST),
            **INTERVAL,
        },
        power=_generalized,
        pair=_pair,
        pair_step=END_POINTS,
        inside=False,
    ),
}
