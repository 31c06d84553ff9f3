"""Unit vectors: PrivUnit, a point on a cap around the input or off it, from its paper."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb

from .caps import orthogonal_overlap
from .levels import Favours, flags, two_levels
from .outputs import Law, check_inputs, rational_ball

__all__ = ["privunit_law"]


def privunit_law(d: int, c: float, eps0: arb, inputs: Sequence[Any]) -> Law:
    """Bhowmick et al. 2018: uniform on the cap of share c around x w.p. E c/Z, else off it.

    Inputs are quarter turns on a great circle. Every point is off the cap of the opposite input.
    Caps of a share m <= 1/2 at the four turns: opposite ones are disjoint, neighbours share
    what `orthogonal_overlap` says. A cap above 1/2 is all but the cap of 1 - c opposite to it.
    """
    check_inputs(inputs, 4)
    share = Fraction(c)
    small = min(share, 1 - share)
    shared: arb | None = arb(0)
    if any((x - y) % 2 for x in inputs for y in inputs):
        shared = orthogonal_overlap(small, d)
    m, total = rational_ball(small), rational_ball(share) * eps0.expm1() + 1
    parts = [(1 - 4 * m + 4 * shared, frozenset[int]())]
    for j in range(4):
        parts.append((m - 2 * shared, frozenset({j})))
        parts.append((shared, frozenset({j, (j + 1) % 4})))
    merged: dict[Favours, arb] = {}
    for mass, inside in parts:
        hits = flags(x in inside if share == small else (x + 2) % 4 not in inside for x in inputs)
        merged[hits] = merged.get(hits, arb(0)) + mass
    # Shares that cancel exactly, as 1 - 4 m + ... + 2 m of antipodal inputs.
    found = []
    for hits, mass in merged.items():
        if not mass >= 0 and mass.contains(0):
            continue
        found.append((mass / total, hits))
    return two_levels(found, eps0)
