"""Laplace and Gaussian mechanisms: pieces on which every log density is one polynomial.

On a piece the density under input x is norm * exp(q y^2 + unit (slope y + level)), with q and
unit common to all inputs: products P^i Q^j ref^(1-i-j) are of the same form and integrate in
closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from shuffledp.errors import ParameterError

from ._flint import arb
from .laws import positive

__all__ = [
    "CONTINUOUS_MECHANISMS",
    "Line",
    "Noise",
    "Piece",
    "check_inputs",
    "local_delta",
    "noise_of",
    "pieces",
]


@dataclass(frozen=True)
class Line:
    """The part slope y + level of a log density, in the unit of its mechanism."""

    slope: arb
    level: arb


@dataclass(frozen=True)
class Piece:
    """An interval of outputs (None: infinite) and the log densities there.

    `lines` are those of P, Q and the reference, in this order.
    """

    left: arb | None
    right: arb | None
    lines: tuple[Line, Line, Line]


@dataclass(frozen=True)
class Noise:
    """What is common to all inputs of an additive mechanism.

    Attributes
    ----------
    low, high : exact balls, the ends of the input interval.
    quadratic : coefficient of y^2 in every log density.
    unit : factor of the lines.
    log_norm : logarithm of the normalising constant.
    line : the line of an input's log density near a point y.
    kinked : whether the log density has a kink at the input (Laplace).
    """

    low: arb
    high: arb
    quadratic: arb
    unit: arb
    log_norm: arb
    line: Callable[[arb, arb], Line]
    kinked: bool

    def integral(self, line: Line, left: arb | None, right: arb | None) -> arb:
        """Integrate norm * exp(q y^2 + unit (slope y + level)) from left to right."""
        slope, level = self.unit * line.slope, self.unit * line.level + self.log_norm
        if self.kinked:
            return _exponential_integral(slope, level, left, right)
        root = (-self.quadratic).sqrt()
        centre = slope / (-2 * self.quadratic)
        height = (level + slope * centre / 2).exp() * arb.pi().sqrt() / (2 * root)
        a = None if left is None else root * (left - centre)
        b = None if right is None else root * (right - centre)
        return height * _erf_difference(a, b)


def noise_of(mechanism: Mapping[str, Any]) -> Noise:
    """Return the noise of a "laplace" or "gaussian" mechanism."""
    low, high = (_real(mechanism, key, default) for key, default in (("low", 0.0), ("high", 1.0)))
    if not low < high:
        raise ParameterError(f"low, high = {low!r}, {high!r}: wanted low < high")
    return CONTINUOUS_MECHANISMS[mechanism["name"]](mechanism, arb(low), arb(high))


def check_inputs(mechanism: Mapping[str, Any], noise: Noise, inputs: Sequence[float]) -> list[arb]:
    """Return the inputs as exact balls, within the interval."""
    out = []
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, (int, float)) or not math.isfinite(x):
            raise ParameterError(f"input = {x!r}: wanted a number in [low, high]")
        ball = arb(x)
        ends_only = bool(mechanism.get("binary", False))
        inside = noise.low <= ball <= noise.high
        if not inside or (ends_only and ball not in (noise.low, noise.high)):
            wanted = "low or high" if ends_only else "a number in [low, high]"
            raise ParameterError(f"input = {x!r}: wanted {wanted}")
        out.append(ball)
    return out


def pieces(noise: Noise, x0: arb, x1: arb, x2: arb | None) -> list[Piece]:
    """Cut the line where a log density changes; x2 = None takes the blanket as reference.

    The blanket of an interval of inputs is the density of the end farther away.
    """
    middle = (noise.low + noise.high) / 2
    cuts: list[arb] = [x0, x1] if noise.kinked else []
    cuts += [middle] if x2 is None else ([x2] if noise.kinked else [])
    ends = _sorted_distinct(cuts)
    if not ends and x2 is not None:
        return [Piece(None, None, (noise.line(x0, x0), noise.line(x1, x1), noise.line(x2, x2)))]
    inner = [(a + b) / 2 for a, b in pairwise(ends)]
    probes = [ends[0] - 1, *inner, ends[-1] + 1]
    lefts, rights = [None, *ends], [*ends, None]
    out = []
    for y, left, right in zip(probes, lefts, rights, strict=True):
        reference = (noise.high if y < middle else noise.low) if x2 is None else x2
        lines = (noise.line(x0, y), noise.line(x1, y), noise.line(reference, y))
        out.append(Piece(left, right, lines))
    return out


def local_delta(mechanism: Mapping[str, Any], x0: arb, x1: arb, eps: arb) -> arb:
    """Return the hockey-stick divergence of the noise at two different inputs, unshuffled."""
    if eps < 0:
        # H_eps(P||Q) = 1 - e^eps + e^eps H_-eps(Q||P), and the noise is symmetric.
        return 1 - eps.exp() + eps.exp() * local_delta(mechanism, x0, x1, -eps)
    noise = noise_of(mechanism)
    distance = abs(x0 - x1)
    if noise.kinked:
        excess = eps - noise.unit * distance
        return arb(0) if excess >= 0 else -(excess / 2).expm1()
    mu = distance * noise.unit.sqrt()
    root = arb(2).sqrt()
    upper_tails = [((eps / mu + shift * mu / 2) / root).erfc() / 2 for shift in (-1, 1)]
    return upper_tails[0] - eps.exp() * upper_tails[1]


def _laplace(mechanism: Mapping[str, Any], low: arb, high: arb) -> Noise:
    unit = positive(mechanism, "eps0") / (high - low)  # one over the scale
    one = arb(1)

    def line(x: arb, y: arb) -> Line:
        return Line(one, -x) if y < x else Line(-one, x)

    return Noise(low, high, arb(0), unit, (unit / 2).log(), line, kinked=True)


def _gaussian(mechanism: Mapping[str, Any], low: arb, high: arb) -> Noise:
    sigma = positive(mechanism, "sigma")
    unit = 1 / sigma**2
    log_norm = -(sigma * (2 * arb.pi()).sqrt()).log()

    def line(x: arb, y: arb) -> Line:  # noqa: ARG001 (the same on both sides of x)
        return Line(x, -x * x / 2)

    return Noise(low, high, -unit / 2, unit, log_norm, line, kinked=False)


CONTINUOUS_MECHANISMS: dict[str, Callable[[Mapping[str, Any], arb, arb], Noise]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
}


def _real(mechanism: Mapping[str, Any], key: str, default: float) -> float:
    value = mechanism.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ParameterError(f"{key} = {value!r}: wanted a finite number")
    return value


def _sorted_distinct(points: Sequence[arb]) -> list[arb]:
    out: list[arb] = []
    for p in sorted(points, key=lambda x: float(x.mid())):
        if not out or p > out[-1]:
            out.append(p)
    return out


def _exponential_integral(slope: arb, level: arb, left: arb | None, right: arb | None) -> arb:
    if slope.is_zero():
        if left is None or right is None:
            raise ParameterError("a constant density has no integral over an infinite piece")
        return level.exp() * (right - left)
    high = arb(0) if right is None else (slope * right + level).exp()
    if left is None:
        return high / slope
    start = (slope * left + level).exp()
    if right is None:
        return -start / slope
    return start * (slope * (right - left)).expm1() / slope


def _erf_difference(a: arb | None, b: arb | None) -> arb:
    """erf(b) - erf(a) with the bits kept in either tail."""
    if a is None and b is None:
        return arb(2)
    if a is None:
        return (-b).erfc()  # pyright: ignore[reportOptionalOperand]
    if b is None:
        return a.erfc()
    if a > 0:
        return a.erfc() - b.erfc()
    if b < 0:
        return (-b).erfc() - (-a).erfc()
    return b.erf() - a.erf()
