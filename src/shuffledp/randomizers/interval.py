"""Helpers of randomizers for a value in an interval [low, high]."""

from __future__ import annotations

from typing import Any, Protocol

from shuffledp import _check
from shuffledp.errors import rejected


class HasInterval(Protocol):
    """Anything with the two ends of an interval."""

    @property
    def low(self) -> float:
        """Left end."""
        ...

    @property
    def high(self) -> float:
        """Right end."""
        ...


def interval_input(instance: HasInterval, x: Any, *, end_points: bool = False) -> float:
    """The input's place in [0, 1], exact at the end points and in the middle."""
    value = _check.real("input", x, low=instance.low, high=instance.high)
    if value == instance.low:
        return 0.0
    if value == instance.high:
        return 1.0
    if end_points:
        raise rejected("input", x, f"{instance.low:g} or {instance.high:g}")
    return min(1.0, max(0.0, (value - instance.low) / (instance.high - instance.low)))
