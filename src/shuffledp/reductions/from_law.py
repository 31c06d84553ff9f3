"""JointLaw -> ShuffledPair: the blanket (upper bounds) and one pair of datasets (lower bounds)."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import _check
from shuffledp.errors import NotCertified
from shuffledp.numerics.merging import as_cells
from shuffledp.pair import (
    SMALLEST_HELD,
    UNIT_ROUNDOFF,
    Array,
    RatioRanges,
    ShuffledPair,
    missed_by,
)
from shuffledp.randomizers import JointLaw, Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS, Input
from shuffledp.reductions.from_parts import from_parts

U = UNIT_ROUNDOFF
_LARGEST_LOG_RATIO = 300.0
_LARGEST_RATIO = 1e131
_SMALLEST_ATOM = 1e-305


def blanket_pair(
    randomizer: Randomizer, x0: Input, x1: Input, *, n: int, cells: int = DEFAULT_CELLS
) -> ShuffledPair:
    """Reference: the blanket B = inf_x R_x, and a left-over a = b = 0 of mass 1 - gamma.

    An upper bound on D(R_x0, x2, .., xn || R_x1, x2, .., xn) whatever the other n - 1 users hold
    (Balle et al. 2019, Lemma 5.3; Su, Cheng, Wang 2025, Theorem 13; docs/theory.md, section 3).
    Outputs where B = 0 are seen for sure and kept apart.
    """
    parts = randomizer.parts()
    if parts is not None:
        return from_parts(
            parts, (x0, x1), lambda part, x: blanket_pair(part, *x, n=n, cells=cells), cells=cells
        )
    return blanket_pair_of(randomizer.law((x0, x1), cells=cells), n=n)


def blanket_pair_of(law: JointLaw, *, n: int) -> ShuffledPair:
    """The same of a law whose first two rows are the victim's, for any measure below all laws.

    Parameters
    ----------
    law : JointLaw
        ``blanket`` is at most the law of every user, whatever mechanism it runs.
    n : int
        Users, the victim included.
    """
    excess = law.mass[0] - law.blanket
    differs = (excess != 0.0) | (not law.ties)
    leftover = float(np.maximum(excess, 0.0).sum())
    err = 2.0 * law.rel * float(law.mass[0][differs].sum()) + 4 * U * leftover
    err += float(law.tails().max())
    edges = law.edges
    reference = None if edges is None else (edges.blanket_left, edges.blanket_right)
    return _pair(law, law.blanket, reference, n=n, leftover=(leftover, err))


def dataset_pair(
    randomizer: Randomizer, x0: Input, x1: Input, x2: Input, *, n: int, cells: int = DEFAULT_CELLS
) -> ShuffledPair:
    """Reference: R_x2. The exact divergence of (x0, x2, .., x2) from (x1, x2, .., x2).

    A lower bound on the privacy loss of the shuffled mechanism (Su, Cheng, Wang 2025, Theorem 14;
    docs/theory.md, section 3).
    """
    parts = randomizer.parts()
    if parts is not None:
        return from_parts(
            parts,
            (x0, x1, x2),
            lambda part, x: dataset_pair(part, *x, n=n, cells=cells),
            cells=cells,
        )
    law = randomizer.law((x0, x1, x2), cells=cells)
    edges = law.edges
    reference = None if edges is None else (edges.left[2], edges.right[2])
    return _pair(law, law.mass[2], reference, n=n, leftover=(0.0, 0.0))


def _pair(
    law: JointLaw,
    reference: Array,
    reference_edges: tuple[Array, Array] | None,
    *,
    n: int,
    leftover: tuple[float, float],
) -> ShuffledPair:
    p, q = law.mass[0], law.mass[1]
    tail = law.tails()
    if law.edges is None or reference_edges is None:
        keep = (reference >= _SMALLEST_ATOM) & (np.maximum(p, q) <= _LARGEST_RATIO * reference)
        lost = ~keep & ((p > 0.0) | (q > 0.0))
        # Where a ratio would overflow the output is all but certain to be the victim's.
        gone = float(reference[lost].sum()) * (1.0 + 1e-9)
        missed = missed_by(gone, n=_check.count("n", n))
        (a, lost_p), (b, lost_q) = (_ratio(x[keep], reference[keep]) for x in (p, q))
        tails = (float(tail[0]) + missed + lost_p, float(tail[1]) + missed + lost_q)
        return ShuffledPair(
            w=reference[keep],
            a=a,
            b=b,
            n=n,
            outside=np.column_stack([p[lost], q[lost]]),
            tail=tails,
            tail_doubt=tails,
            rel=2.0 * law.rel + 2 * U,
            leftover=(leftover[0] + gone, leftover[1] + 1e-8 * gone),
        )
    low_a, high_a = _ratio_range(law, 0, reference_edges)
    low_b, high_b = _ratio_range(law, 1, reference_edges)
    keep = (reference > SMALLEST_HELD) & np.isfinite(high_a) & np.isfinite(high_b)
    if not bool(keep.any()):
        msg = "reference: no output has a mass above 1e-290 and ratios below e^300"
        raise NotCertified(msg)
    # Cells whose ratios overflow join the tail: their mass under P and Q is accounted for there.
    lost_p = float(p[~keep].sum()) * (1.0 + 1e-6) + float(tail[0])
    lost_q = float(q[~keep].sum()) * (1.0 + 1e-6) + float(tail[1])
    w, a, b = reference[keep], p[keep] / reference[keep], q[keep] / reference[keep]
    pair = ShuffledPair(
        w=w,
        a=a,
        b=b,
        n=n,
        tail=(lost_p, lost_q),
        tail_doubt=(2e-6 * lost_p + float(tail[0]), 2e-6 * lost_q + float(tail[1])),
        rel=2.0 * law.rel + 2 * U,
        leftover=leftover,
        ranges=RatioRanges(
            np.minimum(low_a[keep], a),
            np.maximum(high_a[keep], a),
            np.minimum(low_b[keep], b),
            np.maximum(high_b[keep], b),
            _bend(law, reference_edges)[keep],
            blur=_blur(law)[keep],
        ),
    )
    # In no order, groups of neighbours would be wide: cells with moments are sorted at each eps.
    return pair if law.edges.ordered else as_cells(pair)


def _ratio(mass: Array, reference: Array) -> tuple[Array, float]:
    """mass/reference, and the mass of outputs whose ratio floats do not hold: it is 0 there."""
    ratio = mass / reference
    gone = (mass > 0.0) & (ratio < SMALLEST_HELD)
    if not bool(gone.any()):
        return ratio, 0.0
    return np.where(gone, 0.0, ratio), float(mass[gone].sum()) * (1.0 + 1e-6) + math.ulp(0.0)


def _bend(law: JointLaw, reference: tuple[Array, Array]) -> Array:
    """Variation of the log density of a - c b over a cell; inf where it is not known.

    The density of a - c b is ref(y)/|d(a - c b)/dy|. With log a and log b linear in y and moving in
    opposite directions (or one of them constant), |d(a - c b)/dy| is a sum of two exponentials.
    """
    edges = law.edges
    if edges is None or not edges.log_linear:
        return np.full(law.blanket.shape, np.inf)
    moves = []
    for row in (0, 1):
        left, right = edges.left[row] - reference[0], edges.right[row] - reference[1]
        moves.append(np.where(np.abs(right - left) <= 2.0 * edges.err, 0.0, right - left))
    opposite = moves[0] * moves[1] <= 0.0
    steepest = np.maximum(np.abs(moves[0]), np.abs(moves[1]))
    total = np.abs(reference[1] - reference[0]) + steepest + edges.wiggle + 4.0 * edges.err
    return np.where(opposite & (steepest > 0.0), total, np.inf)


def _blur(law: JointLaw) -> Array:
    """How much farther out than the ratios come the ends of ``_ratio_range`` may lie, relatively.

    They were moved by e^{err} from values at the edges that may be e^{err} off.
    """
    err = np.zeros_like(law.blanket) if law.edges is None else law.edges.err
    return np.broadcast_to(np.expm1(2.0 * err) * (1.0 + 1e-9) + 80 * U, law.blanket.shape)


def _ratio_range(law: JointLaw, row: int, reference: tuple[Array, Array]) -> tuple[Array, Array]:
    """Ends of f_x/ref on each cell, outward; inf where it would overflow."""
    edges = law.edges
    if edges is None:
        msg = "ratio ranges need cells"
        raise TypeError(msg)
    left, right = edges.left[row] - reference[0], edges.right[row] - reference[1]
    top = np.maximum(left, right) + edges.err
    bottom = np.minimum(left, right) - edges.err
    high = np.exp(np.minimum(top, _LARGEST_LOG_RATIO)) * (1.0 + 32 * U)
    low = np.exp(np.clip(bottom, -745.0, _LARGEST_LOG_RATIO)) * (1.0 - 32 * U)
    return np.where(bottom < -740.0, 0.0, low), np.where(top > _LARGEST_LOG_RATIO, np.inf, high)
