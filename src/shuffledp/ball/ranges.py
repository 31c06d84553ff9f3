"""What parameters may be: kinds and ranges that records of several mechanisms have.

Numbers are of the kind that certificates have them in: what would have to be changed is refused.
"""

from __future__ import annotations

import math
from typing import Any

from .outputs import Parameters
from .record import Range

__all__ = [
    "COUNT",
    "DOMAIN",
    "EPS0",
    "FAR",
    "FLAG",
    "INTERVAL",
    "PART",
    "SHARE",
    "integer",
    "is_minus_zero",
    "real",
    "set_of",
]

# Of the classes: a domain, numbers of an interval, and how often something is counted.
_MOST_ITEMS, FAR, _MOST = 10**9, 1e100, 10**15
# The largest local eps of a class.
_EPS0 = 300.0


def integer(low: int, high: int = _MOST) -> Range:
    """A whole number from low to high."""

    def holds(value: Any, _: Parameters) -> bool:
        return type(value) is int and low <= value <= high

    return f"a whole number from {low} to {high:,}", holds


def real(low: float, high: float, *, open_low: bool = True, open_high: bool = False) -> Range:
    """A number from low to high, which itself may be excluded; not -0."""

    def holds(value: Any, _: Parameters) -> bool:
        if type(value) is not float or is_minus_zero(value) or not low <= value <= high:
            return False
        return not (open_low and value == low) and not (open_high and value == high)

    return f"a number from {low:g} to {high:g}", holds


def is_minus_zero(value: float) -> bool:
    """Whether it is written -0."""
    return value == 0.0 and math.copysign(1.0, value) < 0.0


def set_of(key: str, *, times: int = 1, most: int = _MOST_ITEMS) -> Range:
    """So many of the items that another parameter counts, or at most a half of them (times 2)."""

    def holds(value: Any, table: Parameters) -> bool:
        items = table.get(key)
        if type(value) is not int or type(items) is not int:
            return False
        return 1 <= value <= most and times * value <= items

    return f"a whole number from 1 to {most:,}, {times} times it at most {key}", holds


def _flag(value: Any, _: Parameters) -> bool:
    return type(value) is bool


def _above_low(value: Any, table: Parameters) -> bool:
    low = table.get("low")
    return real(-FAR, FAR)[1](value, table) and type(low) is float and value > low


FLAG: Range = ("true or false", _flag)
COUNT, DOMAIN = integer(1), integer(2, _MOST_ITEMS)
EPS0, SHARE = real(0.0, _EPS0), real(0.0, 1.0)
# Of the classes: a part of a whole that leaves something of it.
PART = real(1e-100, 1.0 - 1e-9, open_low=False)
INTERVAL: dict[str, Range] = {
    "low": real(-FAR, FAR, open_low=False),
    "high": ("a number above low", _above_low),
}
