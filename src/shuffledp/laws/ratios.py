"""p, beta and q of a randomizer, by its worst pairs: what the variation ratio is made from."""

from __future__ import annotations

import math

from shuffledp.arithmetic.balls import arb, ctx, float_above, precision_for, total
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.bounds.continuous import Cells
from shuffledp.bounds.pairs import LawPair
from shuffledp.bounds.variation_ratio import VariationRatio, largest_ratio
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell
from shuffledp.laws.cells import cells_of
from shuffledp.laws.pairs import blanket_pair
from shuffledp.randomizers import Randomizer

__all__ = ["ratio_of"]

U = UNIT_ROUNDOFF


def ratio_of(
    randomizer: Randomizer,
) -> tuple[tuple[VariationRatio, tuple[object, object]], ...]:
    """p, beta, q of each of the randomizer's worst pairs, with that pair.

    q is taken against the blanket, so the repaired bound of these pairs is at least the blanket
    bound of every pair of inputs (docs/theory.md, Theorem 5.7).

    Raises
    ------
    NotCertified
        If q is infinite: outputs that some other input never gives.
    """
    found = []
    for pair in randomizer.worst_pairs().pairs:
        laws = blanket_pair(randomizer, *pair, n=1)
        if isinstance(laws, LawPair):
            p, beta, q = largest_ratio(laws)
        else:
            with ctx.workprec(precision_for(1)):
                p, beta, q = _of_cells(cells_of(randomizer, pair))
        grow = math.exp(randomizer.eps0) * (1.0 + 16 * U) if randomizer.eps0 < 700.0 else math.inf
        p, q = min(p, grow), min(q, grow)
        if not math.isfinite(q):
            msg = (
                "variation ratio: q is infinite, for some output of the victim's is impossible (or "
                "has unbounded likelihood ratio) under another input"
            )
            raise NotCertified(msg)
        found.append((VariationRatio(max(p, 1.0), min(beta, 1.0), max(q, 1.0)), pair))
    return tuple(found)


def _of_cells(cells: Cells) -> tuple[float, float, float]:
    """p, beta and q of a continuous output, from its cells, rounded up.

    int (P - Q)_+ over a cell is at most P (1 - Q/P) where Q/P is least, and it is P - Q more than
    int (Q - P)_+, which is at most Q (1 - P/Q) where P/Q is least.
    """
    beta = min(float_above(total(_excess(cell) for cell in cells.cells) + cells.p), 1.0)
    if not cells.p.is_zero():
        # Beyond the cells ratios are not known: only the local guarantee bounds them there.
        return math.inf, beta, math.inf
    ratios = [x / y for c in cells.cells for x, y in (c.top, c.bottom[::-1])]
    heights = [x for c in cells.cells for x in (c.plain().top.u, c.plain().bottom.v)]
    p, q = (
        max(float_above(x) if x.is_finite() else math.inf for x in found)
        for found in (ratios, heights)
    )
    return p, beta, q


def _excess(cell: Cell) -> arb:
    """At least the integral of (P - Q)_+ over the cell."""
    (low_u, high_v), (high_u, low_v) = cell.bottom, cell.top
    part = (1 - low_v / high_u).nonnegative_part() if high_u.is_finite() else arb(1)
    other = (1 - low_u / high_v).nonnegative_part() if high_v.is_finite() else arb(1)
    return (cell.p * part).min(cell.p - cell.q + cell.q * other)
