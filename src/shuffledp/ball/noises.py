"""Noise with a density that mechanisms add to a number of an interval: from their definitions.

Parameters are floats and mean exactly the numbers those floats are.
"""

from __future__ import annotations

from dataclasses import replace

from shuffledp.arithmetic.balls import arb

from .densities import Line, Noise
from .power import PowerNoise

__all__ = ["gaussian_noise", "generalized_noise", "laplace_noise", "truncated_noise"]


def laplace_noise(eps0: float, low: float, high: float) -> Noise:
    """Density unit/2 e^(-unit |y - x|), unit = eps0/(high - low), one over the scale."""
    first, last = arb(low), arb(high)
    unit = arb(eps0) / (last - first)
    one = arb(1)

    def line(x: arb, y: arb) -> Line:
        return Line(one, -x) if y < x else Line(-one, x)

    log_norm = (unit / 2).log()
    return Noise(first, last, arb(0), unit, log_norm, line, kinked=True, eps0=arb(eps0))


def truncated_noise(eps0: float, low: float, high: float, margin: float) -> Noise:
    """Laplace noise given that the report is in [low - margin, high + margin].

    f_x(y) = e^(-|y - x|/s)/(s D(x)), D(x) = 2 - e^(-(x - left)/s) - e^(-(right - x)/s); the blanket
    is the density of the farther end (docs/theory-noise.md, Theorem 1.2).
    """
    plain = laplace_noise(eps0, low, high)
    left, right = plain.low - arb(margin), plain.high + arb(margin)

    def log_inside(x: arb) -> arb:
        near = (-plain.unit * (x - left)).expm1() + (-plain.unit * (right - x)).expm1()
        return (-near).log()

    # Both ends have the same share inside: their lines are those of the plain noise, exactly.
    base = log_inside(plain.low)

    def line(x: arb, y: arb) -> Line:
        found = plain.line(x, y)
        if x in (plain.low, plain.high):
            return found
        return Line(found.slope, found.level - (log_inside(x) - base) / plain.unit)

    return replace(plain, log_norm=plain.unit.log() - base, line=line, left=left, right=right)


def gaussian_noise(sigma: float, low: float, high: float) -> Noise:
    """Density e^(-(y - x)^2/(2 sigma^2))/(sigma sqrt(2 pi))."""
    deviation = arb(sigma)
    unit = 1 / deviation**2
    log_norm = -(deviation * (2 * arb.pi()).sqrt()).log()

    def line(x: arb, y: arb) -> Line:  # noqa: ARG001 (the same on both sides of x)
        return Line(x, -x * x / 2)

    return Noise(arb(low), arb(high), -unit / 2, unit, log_norm, line, kinked=False)


def generalized_noise(shape: float, scale: float, low: float, high: float) -> PowerNoise:
    """Density e^(-(|y - x|/s)^b)/(2 s Gamma(1 + 1/b)), b the shape, s the scale."""
    b, s = arb(shape), arb(scale)
    log_top = -(2 * s).log() - (1 + 1 / b).lgamma()
    return PowerNoise(b, s, arb(low), arb(high), log_top)
