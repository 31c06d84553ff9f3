"""Numbers >= 0 known between two ends, by their logarithms."""

from __future__ import annotations

import math
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, float_below
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF

__all__ = [
    "LogInterval",
    "exp_or_infinite",
    "log_above",
    "log_add",
    "log_difference",
    "log_interval",
    "log_of",
]


class LogInterval(NamedTuple):
    """log of a lower and an upper end of a number >= 0; -inf stands for 0."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """high - low, 0 for a point, inf where the lower end is 0 and the upper is not."""
        return 0.0 if self.high == self.low else self.high - self.low


def log_interval(low: arb, high: arb) -> LogInterval:
    """Logarithms of two ends, rounded outward: a low end that may be 0 is 0."""
    return LogInterval(
        float_below(low.log()) if low > 0 else float("-inf"),
        float("-inf") if high <= 0 else float_above(high.log()),
    )


def log_above(value: arb) -> float:
    """A float not below log of a number >= 0: -inf only where it is certainly 0.

    A ball that is no number says nothing of the number: its logarithm is inf.
    """
    return -math.inf if value <= 0 else float_above(value.upper().log())


def exp_or_infinite(x: float) -> float:
    """e^x, infinite where it is beyond the floats: e^709 is one, e^710 is not."""
    return math.exp(x) if x < 709.0 else math.inf


def log_of(x: float) -> float:
    """log x for x >= 0, -inf for 0."""
    return math.log(x) if x > 0.0 else -math.inf


def log_add(x: float, y: float, *, outward: float = 0.0) -> float:
    """log(e^x + e^y); -inf stands for 0.

    The logarithm of the rest is at most log 2, its argument and the sum round by u each: 8 u of
    1 + |result| is more than all of it, and is added ``outward`` times.
    """
    top, rest = max(x, y), min(x, y)
    if not math.isfinite(top) or rest == -math.inf:
        return top
    total = top + math.log1p(math.exp(rest - top))
    return total + outward * 8 * UNIT_ROUNDOFF * (1.0 + abs(total))


def log_difference(x: float, y: float) -> float:
    """log (e^x - e^y)_+, or something smaller; -inf stands for 0.

    What is taken off is made larger by the rounding of both logarithms, which is more than that of
    its exponential; the sum's own is taken off the result.
    """
    if y == -math.inf or x == -math.inf:
        return x
    share = math.exp(min(y - x + 8 * UNIT_ROUNDOFF * (1.0 + abs(y) + abs(x)), 0.0))
    if not share < 1.0:
        return -math.inf
    total = x + math.log1p(-share)
    return total - 8 * UNIT_ROUNDOFF * (1.0 + abs(total))
