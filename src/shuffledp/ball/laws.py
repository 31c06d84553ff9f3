"""Output laws of mechanisms, or of their tables, in ball arithmetic.

Parameters are floats and mean exactly the numbers those floats are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .outputs import Law
from .registry import Given, seen

__all__ = ["cut_law", "finite_law"]


def finite_law(given: Given, inputs: Sequence[Any]) -> Law:
    """``Definition.output_law`` of a mechanism, or of its table."""
    return seen(given).output_law(tuple(inputs))


def cut_law(given: Given, inputs: Sequence[Any], *, log_cut: float) -> Law | None:
    """``Definition.cut_law`` of a mechanism, or of its table."""
    return seen(given).cut_law(tuple(inputs), log_cut=log_cut)
