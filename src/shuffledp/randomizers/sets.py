"""Columns of sets of items, one row of s different items for each user."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.errors import rejected
from shuffledp.randomizers.values import whole_values


def item_sets(values: ArrayLike, size: int, s: int) -> np.ndarray:
    """Rows of s different items 0 .. size-1, as the smallest unsigned type.

    Raises
    ------
    ParameterError
        Naming the first row refused.
    """
    rows = np.asarray(values)
    if rows.size == 0:
        return whole_values(rows.ravel(), size).reshape(0, s)
    if rows.ndim != 2 or rows.shape[1] != s:
        raise rejected("values shape", rows.shape, f"(n, {s}), {s} items for each user")
    checked = whole_values(rows.ravel(), size, name="values, row by row: ").reshape(rows.shape)
    ordered = np.sort(checked, axis=1)
    bad = np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bool(bad.any()):
        first = int(np.argmax(bad))
        raise rejected(f"values[{first}]", checked[first].tolist(), f"{s} different items")
    return checked
