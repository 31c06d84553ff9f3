"""Cells of a density that is given as a function: the law of a report against blanket or input."""

from __future__ import annotations

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.given import Piece, Table
from shuffledp.bounds.continuous import Cells
from shuffledp.kernel.cells import Cell, Corner
from shuffledp.randomizers import Density
from shuffledp.randomizers.base import Input

__all__ = ["density_cells"]

# The victim's inputs: with them alone the reference is the blanket.
_PAIR = 2


def density_cells(randomizer: Density, inputs: tuple[Input, ...]) -> Cells:
    """Cells under the victim's two inputs, against the blanket or against a third input.

    On a cell the blanket of the inputs is at least k f_r, for any input r and k at most f_i/f_r for
    all inputs i: r is about the one of the smallest density, so that k is 1 on most cells.

    Parameters
    ----------
    randomizer : Density
        What each user runs.
    inputs : tuple
        The victim's two inputs, and that of the others where that is the reference.
    """
    table = randomizer.table(ctx.prec)
    i, j, *others = (randomizer.index(x) for x in inputs)
    cells, p, q, outside = [], arb(0), arb(0), False
    for piece in table.pieces:
        own = table.mass(piece, i), table.mass(piece, j)
        r, share = (others[0], arb(1)) if len(inputs) > _PAIR else _least(table, piece)
        mass = share * table.mass(piece, r)
        (u_low, u_high), (v_low, v_high) = (table.ratio(piece, x, r) for x in (i, j))
        if mass > 0 and piece.value[r] > 0 and share > 0:
            bottom, top = (
                Corner(u_low / share, v_high / share),
                Corner(u_high / share, v_low / share),
            )
            cells.append(Cell(mass, *own, bottom, top))
        else:
            p, q = p + own[0], q + own[1]
            outside |= any(not x.is_zero() for x in own)
    return Cells(cells, p, q, outside)


def _least(table: Table, piece: Piece) -> tuple[int, arb]:
    """About the input of the smallest density, and k."""
    every = range(len(table.whole))
    r = min(every, key=lambda x: float(table.mass(piece, x)))
    share = arb(1)
    for x in every:
        share = share.min(table.ratio(piece, x, r)[0])
    return r, share.lower()
