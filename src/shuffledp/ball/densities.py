"""Laplace and Gaussian noise: pieces on which every log density is one polynomial.

On a piece the density under input x is norm * exp(q y^2 + unit (slope y + level)), with q and
unit common to all inputs: products P^i Q^j ref^(1-i-j) are of the same form and integrate in
closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError

__all__ = [
    "Line",
    "Noise",
    "Piece",
    "check_inputs",
    "local_delta",
    "pieces",
]


class HasInterval(Protocol):
    """Anything with the two ends of an interval of inputs."""

    @property
    def low(self) -> arb: ...

    @property
    def high(self) -> arb: ...

    @property
    def ends_only(self) -> bool: ...


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
    left, right : ends of the outputs; None for infinite.
    eps0 : of Laplace noise, the distance of the ends in units of the scale.
    ends_only : whether the ends of the interval are all inputs there are.
    """

    low: arb
    high: arb
    quadratic: arb
    unit: arb
    log_norm: arb
    line: Callable[[arb, arb], Line]
    kinked: bool
    left: arb | None = None
    right: arb | None = None
    eps0: arb | None = None
    ends_only: bool = False

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

    def beyond(self, x: arb, distance: arb) -> arb:
        """P(report > x + distance) of the input x; the distance's sign is known."""
        if distance >= 0:
            return self.integral(self.line(x, x + 1), x + distance, self.right)
        return 1 - self.integral(self.line(x, x - 1), self.left, x + distance)


def check_inputs(noise: HasInterval, inputs: Sequence[float]) -> list[arb]:
    """Return the inputs as exact balls, within the interval."""
    out = []
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, (int, float)) or not math.isfinite(x):
            raise ParameterError(f"input = {x!r}: wanted a number in [low, high]")
        ball = arb(x)
        inside = noise.low <= ball <= noise.high
        if not inside or (noise.ends_only and ball not in (noise.low, noise.high)):
            wanted = "low or high" if noise.ends_only else "a number in [low, high]"
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
    ends = [y for y in _sorted_distinct(cuts) if _is_inside(noise, y)]
    if not ends and x2 is not None:
        y = x0 if noise.left is None or noise.right is None else (noise.left + noise.right) / 2
        lines = (noise.line(x0, y), noise.line(x1, y), noise.line(x2, y))
        return [Piece(noise.left, noise.right, lines)]
    inner = [(a + b) / 2 for a, b in pairwise(ends)]
    first = ends[0] - 1 if noise.left is None else (noise.left + ends[0]) / 2
    last = ends[-1] + 1 if noise.right is None else (ends[-1] + noise.right) / 2
    probes = [first, *inner, last]
    lefts, rights = [noise.left, *ends], [*ends, noise.right]
    out = []
    for y, left, right in zip(probes, lefts, rights, strict=True):
        reference = (noise.high if y < middle else noise.low) if x2 is None else x2
        lines = (noise.line(x0, y), noise.line(x1, y), noise.line(reference, y))
        out.append(Piece(left, right, lines))
    return out


def _is_inside(noise: Noise, y: arb) -> bool:
    """Whether a cut is not an end of the outputs itself."""
    return (noise.left is None or y > noise.left) and (noise.right is None or y < noise.right)


def local_delta(noise: Noise, inputs: Sequence[float], eps: arb) -> arb:
    """Return the hockey-stick divergence at eps >= 0 of the noise at two inputs, unshuffled."""
    x0, x1 = check_inputs(noise, inputs)
    distance = abs(x0 - x1)
    if noise.eps0 is not None:
        # Exactly zero where the distance is that of the ends.
        excess = eps - noise.eps0 * (distance / (noise.high - noise.low))
        if noise.left is not None:
            # The truncated noise has the guarantee eps0 (docs/theory-noise.md, Theorem 1.2).
            if eps >= noise.eps0:
                return arb(0)
            return _local_by_pieces(noise, x0, x1, eps)
        return arb(0) if excess >= 0 else -(excess / 2).expm1()
    mu = distance * noise.unit.sqrt()
    root = arb(2).sqrt()
    upper_tails = [((eps / mu + shift * mu / 2) / root).erfc() / 2 for shift in (-1, 1)]
    return upper_tails[0] - eps.exp() * upper_tails[1]


def _local_by_pieces(noise: Noise, x0: arb, x1: arb, eps: arb) -> arb:
    """Integrate (P - e^eps Q)_+ over pieces on which log P/Q is a line."""
    total = arb(0)
    for piece in pieces(noise, x0, x1, x0):
        left, right = piece.left, piece.right
        p, q, _ = piece.lines
        slope, level = noise.unit * (p.slope - q.slope), noise.unit * (p.level - q.level) - eps
        if left is None or right is None:
            raise ParameterError("wanted outputs in an interval")
        if slope.is_zero():
            if level <= 0:
                continue
        elif slope > 0:
            left = arb.max(left, -level / slope)
        else:
            right = arb.min(right, -level / slope)
        if left >= right:
            continue
        found = noise.integral(p, left, right) - eps.exp() * noise.integral(q, left, right)
        total += arb.max(found, arb(0))
    return total


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
