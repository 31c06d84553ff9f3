"""p, beta and q of a randomizer, by its worst pairs: what the variation ratio is made from."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.bounds.pairs import LawPair
from shuffledp.bounds.variation_ratio import VariationRatio, largest_ratio
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import blanket_pair
from shuffledp.randomizers import CellEdges, JointLaw, Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS

__all__ = ["ratio_of"]

U = UNIT_ROUNDOFF


def ratio_of(
    randomizer: Randomizer, *, cells: int = DEFAULT_CELLS
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
            p, beta, q = _of_cells(randomizer.law(pair, cells=cells))
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


def _of_cells(law: JointLaw) -> tuple[float, float, float]:
    """p, beta and q of a continuous output, from its cells."""
    if law.edges is None:
        raise NotCertified("variation ratio: wanted classes or cells of outputs")
    edges, pad = law.edges, 1.0 + 4.0 * law.rel + 16 * U
    zero, one, tail = law.mass[0], law.mass[1], float(law.tails().max())
    gap = np.maximum(edges.left[0] - edges.left[1], edges.right[0] - edges.right[1]) + edges.err
    # (f0 - f1)_+ <= f0 (1 - e^-gap) on the cell, and exactly f0 - f1 where that has one sign.
    least = np.minimum(edges.left[0] - edges.left[1], edges.right[0] - edges.right[1])
    mixed = zero * -np.expm1(-np.clip(gap, 0.0, 700.0))
    differs = np.where(least > edges.err, np.minimum(mixed, zero - one), mixed)
    beta = float(np.maximum(differs, 0.0).sum()) + 2.0 * law.rel + tail
    beta += (8 + zero.size) * U  # of the sum and of all before it
    if tail:
        # Beyond the cells ratios are not known: only the local guarantee bounds them there.
        return math.inf, beta, math.inf
    log_p = _largest_of(
        np.abs(edges.left[0] - edges.left[1]), np.abs(edges.right[0] - edges.right[1]), edges
    )
    log_q = max(
        _largest_of(edges.left[i] - edges.blanket_left, edges.right[i] - edges.blanket_right, edges)
        for i in (0, 1)
    )
    return _exp(max(log_p, 0.0)) * pad, beta, _exp(log_q) * pad


def _largest_of(left: Array, right: Array, edges: CellEdges) -> float:
    """The largest log ratio anywhere, from its values at the edges of the cells."""
    return float((np.maximum(left, right) + edges.err).max())


def _exp(x: float) -> float:
    return math.exp(x) if x <= _check.LARGEST_EPS0 else math.inf
