"""Random channels in whole numbers, and what tests compare bounds of them with."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np

from shuffledp.randomizers import JointLaw
from shuffledp.stealing.positive_sum import Contour
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


def law_of(rows: Rows, inputs: tuple[int, ...]) -> JointLaw:
    """The law of these inputs, each output a class."""
    table = np.array(rows, dtype=float) / TOTAL
    used = table.max(axis=0) > 0.0
    return JointLaw(table[list(inputs)][:, used], table.min(axis=0)[used])


def random_contour(rng: random.Random, top: float, n: int) -> Contour:
    """Any contour for gains up to ``top``."""
    del n
    alpha = math.exp(rng.uniform(-3.0, 1.5)) / max(top, 1e-3)
    smoothing = math.exp(rng.uniform(-4.0, 0.0)) / alpha
    step = math.exp(rng.uniform(-3.0, 1.0)) * alpha
    return Contour(alpha, smoothing, step, rng.randint(1, 400))


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
