"""Triples of inputs at which a label's law, piecewise linear in the inputs, can be the worst.

Where densities are steps, the masses of the outputs with given heights under R_x0, R_x1 and R_x are
linear in (x0, x1, x) as long as the order of the steps' ends stays the same. So on each cell of an
arrangement of planes the label's law is a mixture of those at the cell's corners, or below it in
convex order (docs/theory-stealing.md, Theorem 5.4).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

Place = Fraction
Triple = tuple[Place, Place, Place]
# (in x0, in x1, in x) -> number of the symbols that these of the three favour, and no other.
Overlaps = dict[tuple[bool, ...], Fraction]

_PATTERNS = tuple(itertools.product((False, True), repeat=3))


def shift_corners(steps: Iterable[Fraction]) -> list[Triple]:
    """Corners of laws that depend on u = x0 - x and v = x1 - x alone, mirror images once.

    Corners of the arrangement of the lines u = s, v = s and u - v = s in the hexagon |u|, |v|,
    |u - v| <= 1, moved to where the least of the inputs is 0. That of the end points comes first.

    Parameters
    ----------
    steps : iterable of Fraction
        The distances of two inputs at which the order of their steps' ends changes, up to 1.
    """
    marks = {Fraction(0), Fraction(1), *steps}
    marks = {sign * s for s in marks for sign in (1, -1) if s <= 1}
    pairs = set()
    for s, t in itertools.product(marks, repeat=2):
        pairs |= {(s, t), (s, s - t), (s + t, s)}
    found = []
    for u, v in pairs:
        if max(abs(u), abs(v), abs(u - v)) <= 1 and (u, v) >= (-u, -v):
            low = min(u, v, Fraction(0))
            found.append((u - low, v - low, -low))
    return sorted(found, key=lambda triple: (-abs(triple[0] - triple[1]), triple))


def cube_corners(steps: Iterable[Fraction]) -> list[Triple]:
    """Triples that contain all corners of laws on the cube [0, 1]^3, mirror images once.

    A corner is where three independent planes x_i = 0, x_i = 1, x_i - x_j = s meet: each of its
    inputs is an end of the interval, or one or two steps s from one.

    Parameters
    ----------
    steps : iterable of Fraction
        As in ``shift_corners``.
    """
    marks = {Fraction(0), *steps}
    moves = {sign * s for s in marks for sign in (1, -1)}
    places = {x + s + t for x in (0, 1) for s, t in itertools.product(moves, repeat=2)}
    places = {x for x in places if 0 <= x <= 1}
    found = {
        max((x, y, z), (1 - x, 1 - y, 1 - z)) for x, y, z in itertools.product(places, repeat=3)
    }
    return sorted(found, key=lambda triple: (-abs(triple[0] - triple[1]), triple))


@lru_cache(maxsize=16)
def overlap_corners(keys: int, held: int) -> tuple[Overlaps, ...]:
    """Corners of what overlaps three sets of signed keys can have, as counts of symbols.

    Each of x0, x1 and x holds ``held`` of the keys, each with one sign; a symbol is a key with a
    sign. A key is in one of 14 states: who holds it, and with equal or opposite signs. Numbers of
    keys by state are >= 0 and satisfy four linear equations: at a corner at most four are positive.

    Parameters
    ----------
    keys, held : int
        All keys, and those that one input holds.
    """
    signs = itertools.product((0, 1, -1), repeat=3)
    states = [state for state in signs if next((v for v in state if v), 1) == 1]
    found: dict[tuple[Fraction, ...], Overlaps] = {}
    for support in itertools.combinations(states, 4):
        rows = [[Fraction(1)] * 4, *([Fraction(abs(s[i])) for s in support] for i in range(3))]
        numbers = _solved(rows, [Fraction(keys), *[Fraction(held)] * 3])
        if numbers is None or min(numbers) < 0:
            continue
        overlaps = dict.fromkeys(_PATTERNS, Fraction(0))
        for (number, state), sign in itertools.product(zip(numbers, support, strict=True), (1, -1)):
            first, second, third = (value == sign for value in state)
            overlaps[first, second, third] += number
        found[tuple(overlaps.values())] = overlaps
    return tuple(sorted(found.values(), key=lambda overlaps: overlaps[True, True, True]))


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """The solution of a square system by elimination; None where it is singular."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(len(table)):
        pivot = next((i for i in range(k, len(table)) if table[i][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [value / table[k][k] for value in table[k]]
        for i, row in enumerate(table):
            if i != k and row[k] != 0:
                table[i] = [a - row[k] * b for a, b in zip(row, table[k], strict=True)]
    return [row[-1] for row in table]
