"""Numbers >= 0 with a certified lower and upper end, stored as logarithms."""

from __future__ import annotations

import math
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, float_below

__all__ = [
    "LogInterval",
    "log_above",
    "log_add",
    "log_interval",
]


class LogInterval(NamedTuple):
    """Logarithms of the lower and the upper end of a number >= 0; -inf stands for 0."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """high - low; 0 for a point, inf if only the lower end is 0."""
        return 0.0 if self.high == self.low else self.high - self.low


def log_interval(low: arb, high: arb) -> LogInterval:
    """Logarithms of two ends, rounded outward: -inf for a lower end that may be 0."""
    return LogInterval(
        float_below(low.log()) if low > 0 else float("-inf"),
        float("-inf") if high <= 0 else float_above(high.log()),
    )


def log_above(value: arb) -> float:
    """A float not below log of a number >= 0: -inf only if the number is certainly 0.

    The result is inf for a ball that is not finite.
    """
    return -math.inf if value <= 0 else float_above(value.upper().log())


def log_add(x: float, y: float) -> float:
    """log(e^x + e^y), rounded to nearest rather than outward; -inf stands for 0."""
    top, rest = max(x, y), min(x, y)
    if not math.isfinite(top) or rest == -math.inf:
        return top
    return top + math.log1p(math.exp(rest - top))
