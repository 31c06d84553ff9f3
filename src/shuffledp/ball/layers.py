"""How far a transform stays below its mass: densities that are certainly there, layer by layer.

A measure that has at least the density k on an interval of length L has, beside k times the
uniform measure there, a positive rest: at every frequency t its transform is at most

    mass - k L (1 - |sinc(t L/2)|),    sinc(x) = sin(x)/x.

Below a density that is bounded on cells lie layers, each over cells that follow each other, and
what they take away adds up. Unlike a bound by the density's variation this says something at low
frequencies, where n factors need little less than one to be negligible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb

__all__ = ["Layer", "layers_below", "missing", "missing_in_floats"]

# sinc(x) <= 1 - x^2/6 + x^4/120 (an alternating series), which falls up to sqrt(10); from 1.5 on
# |sinc(x)| <= 1/x <= 2/3, which is less than that series at 1.5.
_TURN = 1.5


class Layer(NamedTuple):
    """A uniform part of a measure: at least this mass, on at least this length."""

    mass: arb
    length: arb

    def scaled(self, alpha: arb, scale: arb) -> Layer:
        """The same of alpha times the variable, the mass divided by a scale."""
        return Layer((self.mass / scale).lower(), (self.length * alpha).lower())


def layers_below(heights: Sequence[arb], ends: Sequence[arb]) -> list[Layer]:
    """Layers whose sum is not above a density.

    Parameters
    ----------
    heights : sequence of arb
        Of every cell, what the density is not below, exact. Cells with heights > 0 that follow each
        other have no gaps and no overlaps.
    ends : sequence of arb
        The variable at the cells' ends, one more than there are cells.
    """
    found: list[Layer] = []
    todo = [(0, len(heights), arb(0))]
    while todo:
        first, last, below = todo.pop()
        if first == last:
            continue
        level = heights[first]
        for height in heights[first + 1 : last]:
            level = arb.min(level, height)
        length = abs(ends[last] - ends[first]).lower()
        if not level > below:
            level = below
        elif length > 0:
            found.append(Layer(((level - below) * length).lower(), arb(length)))
        start = first
        for k in range(first, last):
            if not heights[k] > level:
                todo.append((start, k, level))
                start = k + 1
        todo.append((start, last, level))
    return found


def missing(layers: Sequence[Layer], t: arb) -> arb:
    """What of the mass is missing at every frequency from t on, t >= 0: certainly not less."""
    total = arb(0)
    for mass, length in layers:
        x = (t * length / 2).lower()
        if x > _TURN:
            total += mass * (1 - 1 / x)
        elif x > 0:
            square = x * x
            total += mass * (square / 6 - square * square / 120)
    return arb.max(total.lower(), arb(0))


def missing_in_floats(layers: Sequence[tuple[float, float]], t: float) -> float:
    """About the same, of pairs (mass, length)."""
    total = 0.0
    for mass, length in layers:
        x = 0.5 * t * length
        near = x * x / 6.0 - (x * x) ** 2 / 120.0
        total += mass * (1.0 - 1.0 / x if x > _TURN else near)
    return total if math.isfinite(total) else 0.0
