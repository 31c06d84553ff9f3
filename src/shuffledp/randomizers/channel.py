"""Channel: any finite mechanism, given by its matrix."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.randomizers.base import DEFAULT_CELLS, Randomizer, WorstPairs
from shuffledp.randomizers.law import JointLaw, without_empty
from shuffledp.theorems import ALL_PAIRS

_ROW_SLACK = 1e-9
_LARGEST_ROWS = 1000
_SMALLEST_ENTRY = 1e-300
_LARGEST_ENTRIES = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Channel(Randomizer):
    """Any finite mechanism: matrix[x][y] = P(output y | input x).

    Parameters
    ----------
    matrix : sequence of sequences of float
        Rows are inputs (2 to 1000), columns outputs; entries >= 0; every row sums to one within
        1e-9. The channel meant is each row divided by its exact sum.
    """

    name: ClassVar[str] = "channel"
    summary: ClassVar[str] = "any finite mechanism, by its matrix"
    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _checked_matrix(self.matrix))
        rows = np.array(self.matrix)
        rows /= np.array([math.fsum(row) for row in self.matrix])[:, None]
        rows.setflags(write=False)
        object.__setattr__(self, "_rows", rows)

    @property
    def probabilities(self) -> Array:
        """The normalised matrix, shape (inputs, outputs)."""
        return self.__dict__["_rows"]

    @property
    def eps0(self) -> float:
        """log of the largest ratio of two entries in one column, rounded up.

        inf if one of them is 0, or the ratio is beyond what any analysis of eps0 accepts.
        """
        rows = self.probabilities
        used = rows[:, rows.max(axis=0) > 0.0]
        if bool((used < _SMALLEST_ENTRY).any()):
            return math.inf
        most, least = np.log(used.max(axis=0)), np.log(used.min(axis=0))
        slack = 8 * UNIT_ROUNDOFF * (2.0 + float(np.abs(least).max()))
        value = float((most - least).max()) + slack
        return value if value <= _check.LARGEST_EPS0 else math.inf

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """One class for each output."""
        del cells
        rows = self.probabilities
        index = [_check.count("input", x, low=0, high=len(rows) - 1) for x in inputs]
        # Rows are divided by their sums: entries that differ may well be equal as floats.
        return without_empty(rows[index], rows.min(axis=0), 3 * UNIT_ROUNDOFF, ties=False)

    def worst_pairs(self) -> WorstPairs:
        """All ordered pairs; equal rows cannot be told apart and are left out."""
        rows = self.probabilities
        pairs = tuple(
            (x0, x1)
            for x0, x1 in itertools.permutations(range(len(rows)), 2)
            if not np.array_equal(rows[x0], rows[x1])
        )
        return WorstPairs(pairs or ((0, 1),), ALL_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All (x0, x1, x2) with x0 < x1 where that is at most a few thousand, else x2 = x0, x1."""
        pairs = [(a, b) for a, b in self.worst_pairs().pairs if a < b] or [(0, 1)]
        others = range(len(self.matrix))
        if len(pairs) * len(others) > _MANY:
            pairs = pairs[:_MANY]
            return tuple((a, b, c) for a, b in pairs for c in (a, b))
        return tuple((a, b, c) for a, b in pairs for c in others)


_MANY = 2000


def _checked_matrix(matrix: Any) -> tuple[tuple[float, ...], ...]:
    wanted = "a matrix of probabilities >= 0 with at least 2 rows, each summing to one"
    try:
        array = np.array([[float(v) for v in row] for row in matrix])
    except (TypeError, ValueError):
        raise rejected("matrix", matrix, wanted) from None
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 1:
        raise rejected("matrix shape", array.shape, wanted)
    if array.shape[0] > _LARGEST_ROWS or array.size > _LARGEST_ENTRIES:
        raise rejected(
            "matrix shape",
            array.shape,
            f"at most {_LARGEST_ROWS} rows and {_LARGEST_ENTRIES} entries",
        )
    for x, row in enumerate(array):
        if not bool(np.all(np.isfinite(row) & (row >= 0.0))):
            raise rejected(f"matrix row {x}", row.tolist(), "finite probabilities >= 0")
        if not abs(math.fsum(row) - 1.0) <= _ROW_SLACK:
            raise rejected(f"sum of matrix row {x}", math.fsum(row), "1 (within 1e-9)")
    return tuple(tuple(row) for row in array.tolist())
