"""Pairs of a mechanism's laws: its blanket, data sets, messages; their cells, and their midpoints.

They come from the law of the mechanism's class, made in balls from its definition. Reports made of
parts have the products of the parts' cells, or their mixture (docs/theory-parts.md, section 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.balls import arb, ctx, precision_for, total
from shuffledp.ball.outputs import Law, rational_ball
from shuffledp.bounds.continuous import CellPair, Cells, Source
from shuffledp.bounds.line import Line
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell, Corner, joined, product, scaled
from shuffledp.propose.cells import even_edges, groups_of
from shuffledp.randomizers.base import Input, Randomizer

__all__ = [
    "Midpoints",
    "Pair",
    "blanket_mass",
    "blanket_pair",
    "cells_of",
    "dataset_pair",
    "is_continuous",
    "midpoints",
]

# Cells of noise that is a part, and of a product of parts.
_PART, _PRODUCT = 384, 6000
# Cells of noise for integrals.
_FINE = 3000
# log of the mass of a part that is cut off.
_CELLS_CUT = -70.0


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
        Whether noise has enough cells for sums over their means to be integrals to a millionth.
    """
    if not randomizer.made_of:
        return _of_one(randomizer, inputs, _FINE if fine else _PART)
    rows = [randomizer.part_inputs(x) for x in inputs]
    made: dict[tuple[Randomizer, tuple[Input, ...]], Cells] = {}
    found = []
    for part, values in zip(randomizer.made_of, zip(*rows, strict=True), strict=True):
        key = (part, values)
        if key not in made:
            made[key] = cells_of(part, values)
        found.append(made[key])
    shares = randomizer.shares
    return _product(found) if shares is None else _mixture(found, shares)


# ------------------------------------------------------------------------------- one mechanism


def _of_one(randomizer: Randomizer, inputs: tuple[Input, ...], count: int) -> Cells:
    found = randomizer.cells(inputs)
    if found is not None:
        return found
    try:
        return _of_classes(randomizer.cut_law(inputs, _CELLS_CUT), blanket=len(inputs) == 2)
    except NotCertified:
        line = randomizer.line(inputs)
        if line is None:
            raise
        return _of_line(line, count)


def _of_line(line: Line, count: int) -> Cells:
    # Cut where P and Q are equal, too: no cell has more of P in one place, of Q in another.
    edges = {*even_edges(line, count, _CELLS_CUT), float((line.x0 + line.x1) / 2)}
    if count == _FINE:
        # Squares of ratios may be large where there is hardly any mass.
        left, right, _ = line.outline(2.0 * _CELLS_CUT)
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
    """At most about ``most`` cells: those with neighbouring ratios of P to Q are joined."""
    if len(cells) <= most:
        return list(cells)
    rows = np.array([[float(c.mass), float(c.p), float(c.q)] for c in cells])
    groups = [[int(i) for i in group] for group in groups_of(rows, most)]
    if sorted(i for group in groups for i in group) != list(range(len(cells))):
        raise NotCertified("cells: wanted groups in which every one is once")
    return [joined([cells[i] for i in group]) for group in groups if group]


# A law of classes of outputs, or cells of a continuous one.
Pair = LawPair | CellPair
# log of what is cut off at the least delta of the range of promise, 1e-100, and at e^50 of it.
_DEEPEST = -320.0


def blanket_pair(randomizer: Randomizer, x0: Input, x1: Input, *, n: int) -> Pair:
    """The privacy blanket: an upper end whatever the others hold (docs/theory.md, Theorem 3.1).

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    x0, x1 : inputs
        The victim's two values.
    n : int
        Users, the victim included.
    """
    return _pair(randomizer, (x0, x1), n)


def dataset_pair(randomizer: Randomizer, x0: Input, x1: Input, x2: Input, *, n: int) -> Pair:
    """The data sets (x0, x2, .., x2) and (x1, x2, .., x2): exact (docs/theory.md, Theorem 3.5).

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    x0, x1, x2 : inputs
        The victim's two values and the value of all others.
    n : int
        Users, the victim included.
    """
    return _pair(randomizer, (x0, x1, x2), n)


def _pair(randomizer: Randomizer, inputs: tuple[Input, ...], n: int) -> Pair:
    """Laws of two inputs against the blanket, or, with a third input, against its law."""
    classes = _class_pair(randomizer, inputs, n)
    if classes is not None:
        return classes
    name = (randomizer, repr(inputs))
    return CellPair(Source(name, partial(_line_or_cells, randomizer, inputs)), n)


def _line_or_cells(randomizer: Randomizer, inputs: tuple[Input, ...]) -> Line | Cells:
    line = randomizer.line(inputs)
    return cells_of(randomizer, inputs) if line is None else line


def is_continuous(randomizer: Randomizer) -> bool:
    """Whether its reports, or a part of them, have a density."""
    if randomizer.made_of:
        return any(map(is_continuous, randomizer.made_of))
    return randomizer.dense or randomizer.added_noise() is not None


def _class_pair(randomizer: Randomizer, inputs: tuple[Input, ...], n: int) -> LawPair | None:
    """Classes of outputs; None where there are none, or more than are made here."""
    if randomizer.made_of and is_continuous(randomizer):
        return None
    laws = Laws(partial(randomizer.cut_law, inputs))
    against = "blanket" if len(inputs) == 2 else "input"
    pair = LawPair((randomizer, repr(inputs)), n, laws, against)
    try:
        with ctx.workprec(precision_for(n)):
            pair.classes(_DEEPEST)
    except NotCertified:
        return None
    return pair


Floats = npt.NDArray[np.float64]


class Midpoints(NamedTuple):
    """Masses of classes of outputs, or of cells of a continuous one, in floats.

    Attributes
    ----------
    reference : ndarray, shape (C,)
        Of the blanket, or of R_x2 where three inputs were asked for.
    first, second : ndarray, shape (C,)
        Of R_x0 and R_x1.
    continuous : bool
        Whether these are cells.
    """

    reference: Floats
    first: Floats
    second: Floats
    continuous: bool


def midpoints(randomizer: Randomizer, inputs: tuple[Input, ...]) -> Midpoints:
    """The law of one report under two inputs and the blanket, or under three inputs.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    inputs : tuple
        Two or three inputs.
    """
    with ctx.workprec(precision_for(1)):
        pair = _class_pair(randomizer, inputs, 1)
        if pair is None:
            cells = cells_of(randomizer, inputs, fine=True).cells
            return _of_rows([[c.mass, c.p, c.q] for c in cells], continuous=True)
        rows = [
            [c.blanket if len(inputs) == 2 else c.probability[2], *c.probability[:2]]
            for c in pair.classes(_DEEPEST)
            if not c.beyond
        ]
        return _of_rows(rows, continuous=False)


def _of_rows(rows: list[list[arb]], *, continuous: bool) -> Midpoints:
    made = np.array([[float(x) for x in row] for row in rows])
    return Midpoints(*made.reshape(-1, 3).T, continuous=continuous)


def blanket_mass(randomizer: Randomizer, pair: tuple[Input, Input]) -> float:
    """gamma: the blanket's mass."""
    return min(1.0, float(midpoints(randomizer, pair).reference.sum()))
