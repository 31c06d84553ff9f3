"""Interval: a number between two floats; every operation rounds its ends outward.

Published formulas are evaluated in it, so that their rounding is part of the answer whatever
cancels in them. +, -, *, / and sqrt of IEEE arithmetic are correctly rounded, so one step to the
next float is enough; exp, log, expm1 and log1p of the C library are taken to be within 4 units of
the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_LIBM = 8.0 * 2.0**-53


@dataclass(frozen=True)
class Interval:
    """The real numbers from ``low`` to ``high``; infinite ends are allowed."""

    low: float
    high: float

    def __add__(self, other: Interval | float) -> Interval:
        that = of(other)
        return _outward(self.low + that.low, self.high + that.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval | float) -> Interval:
        return self + (-of(other))

    def __mul__(self, other: Interval | float) -> Interval:
        that = of(other)
        ends = [_product(x, y) for x in (self.low, self.high) for y in (that.low, that.high)]
        return _outward(min(ends), max(ends))

    def __truediv__(self, other: Interval | float) -> Interval:
        that = of(other)
        if that.low <= 0.0 <= that.high:
            return Interval(-math.inf, math.inf)
        ends = [_quotient(x, y) for x in (self.low, self.high) for y in (that.low, that.high)]
        return _outward(min(ends), max(ends))

    def __radd__(self, other: float) -> Interval:
        return of(other) + self

    def __rsub__(self, other: float) -> Interval:
        return of(other) - self

    def __rmul__(self, other: float) -> Interval:
        return of(other) * self

    def __rtruediv__(self, other: float) -> Interval:
        return of(other) / self

    def sqrt(self) -> Interval:
        """Square root; what is below 0 counts as 0."""
        return _outward(math.sqrt(max(self.low, 0.0)), math.sqrt(max(self.high, 0.0)), floor=0.0)

    def exp(self) -> Interval:
        """e to the power of it."""
        return _outward(*_ends(_exp, self.low, self.high, slack=1.0 + _LIBM), floor=0.0)

    def expm1(self) -> Interval:
        """e^x - 1 without cancellation."""
        return _outward(*_ends(_expm1, self.low, self.high, slack=1.0 + _LIBM), floor=-1.0)

    def log(self) -> Interval:
        """Natural logarithm; -inf where the argument may be 0."""
        return _outward(*_ends(_log, self.low, self.high, slack=1.0 + _LIBM))

    def log1p(self) -> Interval:
        """log(1 + x) without cancellation; -inf where 1 + x may be 0."""
        return _outward(*_ends(_log1p, self.low, self.high, slack=1.0 + _LIBM))

    def surely_at_most(self, other: Interval | float) -> bool:
        """Every number here is <= every number there (false where that is not known)."""
        return self.high <= of(other).low

    def surely_at_least(self, other: Interval | float) -> bool:
        """Every number here is >= every number there (false where that is not known)."""
        return self.low >= of(other).high


def of(value: Interval | float) -> Interval:
    """The number itself, as an interval of width 0."""
    return value if isinstance(value, Interval) else Interval(float(value), float(value))


def smaller(x: Interval, y: Interval | float) -> Interval:
    """min(x, y)."""
    that = of(y)
    return Interval(min(x.low, that.low), min(x.high, that.high))


def larger(x: Interval, y: Interval | float) -> Interval:
    """max(x, y)."""
    that = of(y)
    return Interval(max(x.low, that.low), max(x.high, that.high))


def _outward(low: float, high: float, *, floor: float = -math.inf) -> Interval:
    if math.isnan(low) or math.isnan(high):
        return Interval(floor, math.inf)
    return Interval(max(math.nextafter(low, -math.inf), floor), math.nextafter(high, math.inf))


def _ends(
    function: Callable[[float], float], low: float, high: float, *, slack: float
) -> tuple[float, float]:
    """Values of an increasing function at both ends, moved outward by its error."""
    bottom, top = function(low), function(high)
    return (
        bottom / slack if bottom > 0.0 else bottom * slack,
        top * slack if top > 0.0 else top / slack,
    )


def _exp(x: float) -> float:
    return math.exp(x) if x <= _LARGEST else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x <= _LARGEST else math.inf


def _log(x: float) -> float:
    if x == math.inf:
        return math.inf
    return math.log(x) if x > 0.0 else -math.inf


def _log1p(x: float) -> float:
    if x == math.inf:
        return math.inf
    return math.log1p(x) if x > -1.0 else -math.inf


def _product(x: float, y: float) -> float:
    return 0.0 if x == 0.0 or y == 0.0 else x * y


def _quotient(x: float, y: float) -> float:
    if x == 0.0 or math.isinf(y):
        return 0.0 if not math.isinf(x) else math.copysign(math.inf, x)
    return x / y


_LARGEST = 709.0
