"""Cells of one mechanism's reports, and of mechanisms made of others; the same at every eps.

They come from the mechanism's law in balls. Reports made of parts have the products of the parts'
cells, or their mixture (docs/theory-parts.md, section 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from shuffledp.arithmetic.balls import arb, total
from shuffledp.ball.outputs import Law, rational_ball
from shuffledp.bounds.continuous import Cells
from shuffledp.bounds.line import Line
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell, Corner, joined, product, scaled
from shuffledp.propose.cells import even_edges, groups_of
from shuffledp.randomizers.base import Input, Randomizer

__all__ = ["cells_of"]

# Cells of noise that is a part, and of a product of parts.
_PART, _PRODUCT = 384, 6000
# Cells of noise for integrals.
_FINE = 3000
# log of the mass of a part that is cut off.
_CUT = -70.0


def cells_of(randomizer: Randomizer, inputs: tuple[Input, ...], *, fine: bool = False) -> Cells:
    """Cells of the reports of one mechanism.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    inputs : tuple
        The victim's two values, and the others' value where that is the reference: else it is the
        blanket, and of reports made of parts the blankets of these.
    fine : bool
        Whether noise has so many cells that sums over their means are integrals to a millionth.
    """
    parts = randomizer.parts()
    if parts is None:
        return _of_one(randomizer, inputs, _FINE if fine else _PART)
    rows = [parts.part_inputs(x) for x in inputs]
    made: dict[tuple[Randomizer, tuple[Input, ...]], Cells] = {}
    found = []
    for part, values in zip(parts.randomizers, zip(*rows, strict=True), strict=True):
        key = (part, values)
        if key not in made:
            made[key] = cells_of(part, values)
        found.append(made[key])
    if parts.weights is None:
        return _product(found)
    return _mixture(found, parts.weights)


# ------------------------------------------------------------------------------- one mechanism


def _of_one(randomizer: Randomizer, inputs: tuple[Input, ...], count: int) -> Cells:
    found = randomizer.cells(inputs)
    if found is not None:
        return found
    try:
        return _of_classes(randomizer.cut_law(inputs, _CUT), blanket=len(inputs) == 2)
    except NotCertified:
        line = randomizer.line(inputs)
        if line is None:
            raise
        return _of_line(line, count)


def _of_line(line: Line, count: int) -> Cells:
    # Cut where P and Q are equal, too: no cell has more of P in one place, of Q in another.
    edges = {*even_edges(line, count, _CUT), float((line.x0 + line.x1) / 2)}
    if count == _FINE:
        # Squares of ratios may be large where there is hardly any mass.
        left, right, _ = line.outline(2.0 * _CUT)
        edges |= set(np.linspace(left, right, 4 * _FINE).tolist())
    return Cells(line.cells(sorted(edges)), arb(0), arb(0))


def _of_classes(law: Law, *, blanket: bool) -> Cells:
    """Classes of outputs, on which u and v are constant."""
    cells, p, q, outside = [], arb(0), arb(0), False
    for c in law:
        mass = c.blanket if blanket else c.probability[2]
        first, second = c.probability[:2]
        if c.beyond:
            p, q = p + first, q + second
        elif mass.is_zero():
            # Swapped, Q is the first.
            p, q, outside = p + first, q + second, True
        else:
            corner = Corner(first / mass, second / mass)
            cells.append(Cell(mass, first, second, corner, corner))
    return Cells(cells, p, q, outside)


# --------------------------------------------------------------------------- made of parts


def _product(parts: Sequence[Cells]) -> Cells:
    """All parts in one report; what is left out of one of them is left out."""
    ordered = sorted(parts, key=lambda one: len(one.cells))
    found = ordered[0].cells
    for part in ordered[1:]:
        room = max(_PRODUCT // max(min(len(found), len(part.cells)), 1), 8)
        one, two = (
            cells if len(cells) <= room else fewer(cells, room) for cells in (found, part.cells)
        )
        if len(one) * len(two) > 2 * _PRODUCT:
            most = math.isqrt(_PRODUCT)
            one, two = fewer(one, most), fewer(two, most)
        found = [product(x, y) for x in one for y in two]
    p, q = total(one.p for one in parts), total(one.q for one in parts)
    return Cells(found, p, q, any(one.outside for one in parts))


def _mixture(parts: Sequence[Cells], weights: Sequence[Fraction]) -> Cells:
    """One part in each report, which one being public; or a report that says nothing."""
    shares, absent = [rational_ball(w) for w in weights], 1 - sum(weights, Fraction(0))
    cells = [
        scaled(cell, share)
        for part, share in zip(parts, shares, strict=True)
        for cell in part.cells
    ]
    if absent:
        silent, one = rational_ball(absent), Corner(arb(1), arb(1))
        cells.append(Cell(silent, silent, silent, one, one))
    both = list(zip(parts, shares, strict=True))
    p, q = (
        total(share * part.p for part, share in both),
        total(share * part.q for part, share in both),
    )
    return Cells(cells, p, q, any(part.outside for part in parts))


def fewer(cells: Sequence[Cell], most: int) -> list[Cell]:
    """Neighbours by their ratio of P to Q joined, to about so many."""
    if len(cells) <= most:
        return list(cells)
    rows = np.array([[float(c.mass), float(c.p), float(c.q)] for c in cells])
    groups = [[int(i) for i in group] for group in groups_of(rows, most)]
    if sorted(i for group in groups for i in group) != list(range(len(cells))):
        raise NotCertified("cells: wanted groups in which every one is once")
    return [joined([cells[i] for i in group]) for group in groups if group]
