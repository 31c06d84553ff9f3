"""Random channels in whole numbers, and what tests compare bounds of them with."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np

from stealing.exact import Rows

# Entries over that are floats without error.
TOTAL = 32


def random_rows(rng: random.Random, inputs: int, outputs: int, *, zeros: bool) -> Rows:
    """Rows of whole numbers that sum to TOTAL."""
    rows = []
    for _ in range(inputs):
        cuts = sorted(rng.choices(range(TOTAL + 1), k=outputs - 1))
        row = [b - a for a, b in zip([0, *cuts], [*cuts, TOTAL], strict=True)]
        rows.append(row)
    if not zeros:
        rows = [[max(p, 1) for p in row] for row in rows]
        for row in rows:
            row[row.index(max(row))] -= sum(row) - TOTAL
    return rows


def bounded_by(truth: Fraction, log_value: float) -> bool:
    """Whether an exact number is at most e^log_value."""
    return truth <= 0 or log_value >= 0.0 or truth <= Fraction(math.exp(log_value))


def whole(matrix: np.ndarray) -> tuple[Rows, int]:
    """Rows of floats as whole numbers with one sum: rounded down, the rest on the first output."""
    total = 2**60
    rows = [[int(Fraction(float(p)) * total) for p in row] for row in matrix]
    for row in rows:
        row[0] += total - sum(row)
    return rows, total
