"""What saved audits are made of, read back: every count is checked before it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shuffledp.errors import rejected

# Far above any audit's, far below what the sums of counts could overflow at.
_LARGEST = 10**15


def table_of(name: str, value: Any, keys: Sequence[str]) -> dict[str, Any]:
    """A table with these keys and no others."""
    if not isinstance(value, dict) or set(value) != set(keys):
        given = sorted(map(str, value)) if isinstance(value, dict) else value
        raise rejected(name, given, f"the keys {', '.join(keys)}")
    return value


def number(name: str, value: Any) -> int:
    """A count of a file."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise rejected(name, value, "a whole number of at least 0")
    return value


def whole(name: str, value: Any, shape: tuple[int | None, ...]) -> Any:
    """Counts of a file as nested lists of whole numbers, if they have this shape.

    Parameters
    ----------
    name : str
        For messages.
    value
        What the file says.
    shape : tuple of int or None
        Lengths; None where any will do.
    """
    if not shape:
        return number(name, value)
    if not isinstance(value, list) or (shape[0] is not None and len(value) != shape[0]):
        raise rejected(name, value, "a list" if shape[0] is None else f"a list of {shape[0]}")
    return [whole(name, row, shape[1:]) for row in value]


def floats(name: str, value: Any) -> Any:
    """Numbers of a file, nested as they are, all of them finite."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise rejected(name, value, "numbers") from None
    if not bool(np.isfinite(array).all()):
        raise rejected(name, value, "finite numbers")
    return array
