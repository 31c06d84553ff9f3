"""Sums of exponentials at evenly spaced nodes: the transforms of finite measures, in balls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from shuffledp.arithmetic.balls import acb, acb_mat, arb, ctx

__all__ = ["Balls", "Transform", "squared_moduli"]

# A product of so many rotations loses half a bit each: rectangles grow as they turn.
_LONGEST = 64
# Of nodes that are summed up: so many exponentials are kept at a time, and are so precise. They are
# compared with one, n times: of 10^15 users 2^-70 is left.
_KEPT, _BITS = 1 << 18, 128

Balls = Sequence[arb] | Sequence[acb]


class Transform:
    """sum_k w_k e^(i t g_k) at multiples of a step, in rows of nodes that follow each other.

    e^(i (start + j) step g) is a product of two exponentials, so that many rows together are a
    product of two matrices.

    Parameters
    ----------
    weights, gains : sequence of arb or acb
        w and g, as many of each.
    step : arb
        Between nodes.
    count : int
        Nodes of a row, few: each is one more rotation of the one before.
    """

    def __init__(self, weights: Balls, gains: Balls, step: arb, count: int) -> None:
        self._weights = weights
        self._angles = [acb(0, step) * g for g in gains]
        turns = [angle.exp() for angle in self._angles]
        self._count = count
        columns, power = [], [acb(1)] * len(turns)
        for _ in range(count):
            columns.append(power)
            power = [p * turn for p, turn in zip(power, turns, strict=True)]
        # From a row to the next.
        self._on = power
        self._columns = acb_mat(columns).transpose()

    def rows(self, starts: Sequence[int]) -> acb_mat:
        """A row for every start: the nodes start, start + 1, .. times the step."""
        pairs = list(zip(self._weights, self._angles, strict=True))
        turned: list[list[acb]] = []
        before, turns = math.nan, 0
        for start in starts:
            if start == before + self._count and turns + self._count < _LONGEST:
                turns += 1
                turned.append([z * on for z, on in zip(turned[-1], self._on, strict=True)])
            else:
                turns = 0
                turned.append([w * (start * angle).exp() for w, angle in pairs])
            before = start
        return acb_mat(turned) * self._columns


def squared_moduli(weights: Balls, gains: Balls, step: arb, nodes: int) -> Iterator[arb]:
    """|sum_k w_k e^(i j step g_k)|^2 for j = 0 .. nodes, more of them at a time as they are asked.

    Parameters
    ----------
    weights, gains, step
        As for ``Transform``.
    nodes : int
        The last node.
    """
    most = max(1, _KEPT // len(weights))
    count = min(_LONGEST, math.isqrt(nodes) + 1, most)
    with ctx.workprec(_BITS):
        transform = Transform(weights, gains, step, count)
    start, rows = 0, 1
    while start <= nodes:
        rows = min(rows, (nodes - start) // count + 1)
        # Another precision may be set between two questions.
        with ctx.workprec(_BITS):
            found = transform.rows(range(start, start + rows * count, count)).entries()
            squares = [phi.real * phi.real + phi.imag * phi.imag for phi in found]
        yield from squares[: nodes + 1 - start]
        start, rows = start + rows * count, min(2 * rows, most)
