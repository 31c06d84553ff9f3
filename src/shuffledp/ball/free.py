"""Free numbers of label stealing for noise on an interval: in range or refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError

__all__ = ["Numbers", "ceiling", "share"]

Numbers = Mapping[str, Any]


def share(free: Numbers, key: str, *, least: float = 0.0, below: bool = True) -> arb:
    """A number from 0 to 1; ``below``: less than 1."""
    value = free.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{key} = {value!r}: wanted a number from 0 to 1")
    if not (least <= value < 1.0 or (value == 1.0 and not below)):
        raise ParameterError(f"{key} = {value!r}: wanted a number from 0 to 1")
    return arb(value)


def ceiling(free: Numbers) -> arb | None:
    """The largest gain that is kept; None where all are."""
    value = free.get("ceiling")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"ceiling = {value!r}: wanted a finite number >= 0")
    if not (math.isfinite(value) and value >= 0.0):
        raise ParameterError(f"ceiling = {value!r}: wanted a finite number >= 0")
    return arb(value)
