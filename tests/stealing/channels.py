"""Random channels in whole numbers, and what tests compare bounds of them with."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

import shuffledp as sd
from shuffledp.arithmetic.balls import ctx
from shuffledp.bounds.stealing import Numbers
from shuffledp.bounds.stealing_cases import Case, cases_of

# Entries over that are floats without error.
TOTAL = 32
Rows = Sequence[Sequence[int]]


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


def any_numbers(rng: random.Random, case: Case) -> Numbers:
    """Shares and contours that are sensible, or absurd."""
    count = 1 if case.parts is None else max(case.parts) + 1
    most = rng.choice([0.05, 0.3, 1.0])
    ends = [0.0, 1.0]

    def row() -> tuple[float, ...]:
        return tuple(
            rng.choice(ends) if rng.random() < 0.1 else most * rng.random() for _ in range(count)
        )

    alpha = math.exp(rng.uniform(-4.0, 2.5))
    smoothing = math.exp(rng.uniform(-4.0, 1.0)) / alpha
    # Steps that are far too long as well; not so many nodes that it would take seconds.
    step = max(math.exp(rng.uniform(-3.0, 2.0)) * alpha, 4.2 / smoothing / 500)
    ceiling = rng.uniform(0.0, 5.0) if case.unbounded and rng.random() < 0.7 else None
    return Numbers(row(), row(), alpha, smoothing, step, ceiling)


Masses = np.ndarray


def calls(law: Masses, a: float, at: np.ndarray) -> np.ndarray:
    """Phi_t = sum (R_x0 - a R_x1 + t R_x)_+ for each t; rows x0, x1, x."""
    return np.maximum(law[0] - a * law[1] + at[:, None] * law[2], 0.0).sum(axis=1)


def shortfall(law: Masses, labels: Sequence[Masses], a: float) -> float:
    """How far the best mixture of the labels stays below the law at some t: 0 if one dominates.

    Both sides are linear between the negative gains of either, and alike beyond all of them.
    """
    kinks = [a * one[1] / one[2] - one[0] / one[2] for one in (law, *labels)]
    at = np.unique(np.round(np.concatenate(kinks), 12))
    table = np.array([calls(one, a, at) for one in labels])
    truth = calls(law, a, at)
    # Weights and the shortfall: weights @ table + shortfall >= truth.
    count = len(labels)
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.column_stack([-table.T, -np.ones(at.size)]),
        b_ub=-truth,
        A_eq=np.append(np.ones(count), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * (count + 1),
    )
    assert found.status == 0
    return float(found.fun)


def labels_of(randomizer: sd.Randomizer) -> list[Masses]:
    """The labels that are looked at, in floats; outputs that nobody sends left out."""
    with ctx.workprec(100):
        case = cases_of(randomizer, -100.0)[0]
        rows = [
            np.array([[float(x) for x in row] for row in (one.first, one.second, one.other)])
            for one in case.labels
        ]
    return [law[:, law[2] > 0.0] for law in rows]
