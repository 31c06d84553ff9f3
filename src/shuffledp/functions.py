"""Functions to write a density with: of numbers, and of power series with balls as coefficients.

A function given to ``Density`` is evaluated on series c_0 + c_1 t + c_2 t^2 + ..., which say what
it is on a whole interval of outputs. Sums, differences, products, quotients and powers of them are
those of Python; what else a density needs is here.
"""

from __future__ import annotations

import math
from typing import Any

from shuffledp.arithmetic.balls import arb, arb_series

__all__ = ["absolute", "exp", "log", "maximum", "minimum", "sqrt", "where"]

_UNKNOWN = arb("nan")


def exp(x: Any) -> Any:
    """e^x."""
    return x.exp() if isinstance(x, arb | arb_series) else math.exp(x)


def log(x: Any) -> Any:
    """The natural logarithm of x > 0."""
    return x.log() if isinstance(x, arb | arb_series) else math.log(x)


def sqrt(x: Any) -> Any:
    """The square root of x >= 0."""
    return x.sqrt() if isinstance(x, arb | arb_series) else math.sqrt(x)


def absolute(x: Any) -> Any:
    """|x|. Where its sign is not known x changes by at most as much as |x| does: c_1 is known."""
    if not isinstance(x, arb_series):
        return abs(x)
    if x[0] >= 0:
        return x
    if x[0] <= 0:
        return -x
    return _series(x, [abs(x[0]), arb(0, 1) * x[1]])


def maximum(x: Any, y: Any) -> Any:
    """The larger one."""
    sign = _sign(x - y)
    return x if sign > 0 else y if sign < 0 else (x + y + absolute(x - y)) / 2


def minimum(x: Any, y: Any) -> Any:
    """The smaller one."""
    sign = _sign(x - y)
    return y if sign > 0 else x if sign < 0 else (x + y - absolute(x - y)) / 2


def _sign(x: Any) -> int:
    """1 for x >= 0, -1 for x <= 0, 0 where it is not known."""
    value = x[0] if isinstance(x, arb_series) else arb(x)
    return 1 if value >= 0 else -1 if value <= 0 else 0


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition is >= 0, else y. Where both may be there is no derivative."""
    value = condition[0] if isinstance(condition, arb_series) else arb(condition)
    if value >= 0:
        return x
    if value < 0:
        return y
    one, other = (z[0] if isinstance(z, arb_series) else arb(z) for z in (x, y))
    return _series(condition, [one.union(other)])


def _series(like: arb_series, known: list[arb]) -> arb_series:
    """A series with these coefficients, of which further ones are not known."""
    return arb_series(known + [_UNKNOWN] * (like.prec - len(known)), prec=like.prec)
