"""Validation of arguments: written as ``not lo <= v <= hi`` so that NaN fails; their text."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal

from shuffledp.errors import rejected

# Local guarantees in nats: of less, variances leave the range of floats.
SMALLEST_EPS0, LARGEST_EPS0 = 1e-9, 300.0
LARGEST_COUNT = 10**15
LARGEST_DOMAIN = 10**9

# Theorems that ends may rest on: all, or those of the literature alone.
Trust = Literal["all", "published"]


def real(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return ``value`` as a finite float in [low, high], or raise ParameterError."""
    return _real(name, value, low, high, open_low=False, open_high=False)


def positive(name: str, value: Any, *, high: float = math.inf) -> float:
    """Return ``value`` as a finite float in (0, high], or raise ParameterError."""
    return _real(name, value, 0.0, high, open_low=True, open_high=False)


def local_epsilon(name: str, value: Any) -> float:
    """Return a local privacy parameter in nats, 1e-9 <= value <= 300."""
    return real(name, value, low=SMALLEST_EPS0, high=LARGEST_EPS0)


def open_unit(name: str, value: Any) -> float:
    """Return ``value`` as a float strictly between 0 and 1 (a target delta)."""
    return _real(name, value, 0.0, 1.0, open_low=True, open_high=True)


def epsilon(name: str, value: Any) -> float:
    """Return a finite epsilon >= 0 in nats."""
    return real(name, value, low=0.0)


def count(name: str, value: Any, *, low: int = 1, high: int = LARGEST_COUNT) -> int:
    """Return ``value`` as an int in [low, high]; 2.5, True and '3' are refused, 3.0 is not."""
    wanted = f"a whole number from {low} to {high:,}"
    if isinstance(value, bool):
        raise rejected(name, value, wanted)
    try:
        whole = operator.index(value)
    except TypeError:
        if not (isinstance(value, float) and math.isfinite(value) and value == math.floor(value)):
            raise rejected(name, value, wanted) from None
        whole = int(value)
    if not low <= whole <= high:
        raise rejected(name, value, wanted)
    return whole


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``allowed``."""
    if value not in allowed:
        raise rejected(name, value, "one of " + ", ".join(allowed))
    return value


def trust(value: Any, *, name: str = "trust") -> Trust:
    """Return ``value`` if it is "all" or "published"."""
    return "published" if choice(name, value, ("all", "published")) == "published" else "all"


def _real(
    name: str, value: Any, low: float, high: float, *, open_low: bool, open_high: bool
) -> float:
    wanted = _wanted(low, high, open_low=open_low, open_high=open_high)
    if isinstance(value, bool | str | bytes):
        raise rejected(name, value, wanted)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise rejected(name, value, wanted) from None
    inside_low = number > low if open_low else number >= low
    inside_high = number < high if open_high else number <= high
    if not (math.isfinite(number) and inside_low and inside_high):
        raise rejected(name, value, wanted)
    return number + 0.0  # -0.0 is 0.0


def _wanted(low: float, high: float, *, open_low: bool, open_high: bool) -> str:
    text = "a finite number"
    if math.isfinite(low):
        text += f" {'>' if open_low else '>='} {low:g}"
    if math.isfinite(high):
        text += f"{' and' if math.isfinite(low) else ''} {'<' if open_high else '<='} {high:g}"
    return text


def exact(number: float) -> str:
    """The shortest decimal that is this float: what is printed is what was accounted for."""
    short = f"{number:g}"
    return short if float(short) == number or not math.isfinite(number) else repr(float(number))
