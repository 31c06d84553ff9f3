"""Count vectors: how many of m users fall into which of k kinds, in one fixed order.

Vectors (c_1, .., c_k) with sum m are in descending lexicographic order. With r_j = m - c_1 - .. -
c_j the place of a vector is sum_{j < k} C(r_j - 1 + k - j, k - j): those with a larger c_1 leave
less than r_1 for the others, and so on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]


def how_many(total: int, kinds: int) -> int:
    """C(total + kinds - 1, kinds - 1): the number of count vectors."""
    return math.comb(total + kinds - 1, kinds - 1)


def vectors(total: int, kinds: int) -> Whole:
    """All of them, shape (how_many(total, kinds), kinds)."""
    left = np.array([total], dtype=np.int64)
    columns: list[Whole] = []
    for _ in range(kinds - 1):
        repeats = left + 1
        index = np.repeat(np.arange(left.size), repeats)
        # From all that is left down to none of it.
        rest = np.arange(index.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        columns = [column[index] for column in columns]
        columns.append(left[index] - rest)
        left = rest
    return np.column_stack([*columns, left])


def places(counts: npt.NDArray[Any]) -> Whole:
    """The place of each row among the vectors of its sum (the same for all rows) and length."""
    kinds = counts.shape[1]
    if counts.size == 0 or kinds == 1:
        return np.zeros(len(counts), dtype=np.int64)
    total = int(counts[0].sum())
    left = total - np.cumsum(counts[:, :-1], axis=1)
    found = np.zeros(len(counts), dtype=np.int64)
    for j in range(1, kinds):
        # C(r - 1 + k - j, k - j) for r = 0, .., m; none are before where nothing is left.
        before = [0, *(math.comb(r - 1 + kinds - j, kinds - j) for r in range(1, total + 1))]
        found += np.array(before, dtype=np.int64)[left[:, j - 1]]
    return found


def one_less(counts: Whole) -> list[Whole]:
    """For each kind: the places of the vectors with one less of it among those of m - 1.

    Where there is none of a kind it is one past the last place.
    """
    total, kinds = int(counts[0].sum()), counts.shape[1]
    nowhere = how_many(total - 1, kinds)
    found = []
    for kind in range(kinds):
        has = counts[:, kind] > 0
        less = counts[has].copy()
        less[:, kind] -= 1
        place = np.full(len(counts), nowhere, dtype=np.int64)
        place[has] = places(less)
        found.append(place)
    return found
