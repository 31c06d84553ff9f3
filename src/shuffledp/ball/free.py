"""Free numbers of label stealing, as a certificate has them: in range or refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError

__all__ = ["Numbers", "ceiling", "share", "weights"]

Numbers = Mapping[str, Any]


def share(free: Numbers, key: str, *, least: float = 0.0, below: bool = True) -> arb:
    """A number from 0 to 1; ``below``: less than 1."""
    value = free.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{key} = {value!r}: wanted a number from 0 to 1")
    if not (least <= value < 1.0 or (value == 1.0 and not below)):
        raise ParameterError(f"{key} = {value!r}: wanted a number from 0 to 1")
    return arb(value)


def weights(free: Numbers, types: int) -> list[arb]:
    """Of each type, >= 0."""
    given = free.get("weights")
    if not isinstance(given, Sequence) or len(given) != types:
        raise ParameterError(f"weights = {given!r}: wanted {types} of them")
    for value in given:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"weights = {given!r}: wanted numbers >= 0")
        if not (math.isfinite(value) and value >= 0.0):
            raise ParameterError(f"weights = {given!r}: wanted numbers >= 0")
    return [arb(value) for value in given]


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
