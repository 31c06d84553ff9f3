"""Laws of a public choice: those of its outcomes side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import NotCertified
from shuffledp.randomizers.law import CellEdges, JointLaw

U = UNIT_ROUNDOFF


def side_by_side(laws: Sequence[JointLaw], shares: Sequence[float]) -> JointLaw:
    """Laws of a public choice, in their shares."""
    both = list(zip(shares, laws, strict=True))
    mass = np.concatenate([p * law.mass for p, law in both], axis=1)
    edges = None
    if any(law.edges is not None for law in laws):
        edges = _edges([_some_edges(law) for law in laws])
    return JointLaw(
        mass=mass,
        blanket=np.concatenate([p * law.blanket for p, law in both]),
        rel=max(law.rel for law in laws) + 4 * U,
        tail=np.sum([p * law.tails() for p, law in both], axis=0) * (1.0 + 8 * U),
        edges=edges,
        ties=all(law.ties for law in laws),
    )


def _some_edges(law: JointLaw) -> CellEdges:
    """A law's edges; for classes both edges are the class itself."""
    if law.edges is not None:
        return law.edges
    if not float(min(law.mass.min(), law.blanket.min())) > 0.0:
        msg = "parallel: classes of mass 0 beside cells of a continuous output"
        raise NotCertified(msg)
    logs, base = np.log(law.mass), np.log(law.blanket)
    reach = 1.0 + float(max(np.abs(logs).max(), np.abs(base).max()))
    return CellEdges(logs, logs, base, base, 2.0 * law.rel + 16 * U * reach)


def _edges(parts: Sequence[CellEdges]) -> CellEdges:
    def rows(arrays: list[Array]) -> Array:
        return np.concatenate(arrays, axis=-1)

    return CellEdges(
        rows([e.left for e in parts]),
        rows([e.right for e in parts]),
        rows([e.blanket_left for e in parts]),
        rows([e.blanket_right for e in parts]),
        _cell_by_cell([e.err for e in parts], parts),
        all(e.log_linear for e in parts),
        _cell_by_cell([e.wiggle for e in parts], parts),
        all(e.ordered for e in parts),
    )


def _cell_by_cell(values: Sequence[float | Array], parts: Sequence[CellEdges]) -> Array:
    """A number for each cell of all parts."""
    sizes = [e.blanket_left.shape for e in parts]
    return np.concatenate([np.broadcast_to(v, n) for v, n in zip(values, sizes, strict=True)])
