"""Few messages with continuous outputs: the law of G between two laws of atoms, in convex order.

    E (sum E[G_i | cell])_+  <=  E (sum G_i)_+  <=  E (sum G'_i)_+,

G' the two-point law on the ends of a cell that keeps its mean (docs/theory.md, Theorem 3.8). Both
are sums of atoms, whose transform is known wherever the contour goes; the error is of second order
in the cells' width, where that of groups of cells grows along the contour.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.divergence.contour import LogInterval, expected_positive_part
from shuffledp.divergence.gain import CellGains, GainLaw, group_starts, mean_law
from shuffledp.divergence.tilt import find_tilt
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
MOST_MESSAGES = 40
_FIRST_GROUPS = 500
_MOST_GROUPS = 12_000
_TILT_CELLS = 1024


def sandwiched(cells: CellGains, n: int, *, rel: float, width: float) -> LogInterval:
    """Bracket log E[S]_+ by one contour of each of the two laws of atoms.

    Parameters
    ----------
    cells : CellGains
        Cells with G on both sides of 0, none of their mass lost.
    n : int
        Number of messages.
    rel : float
        Relative error of the cells' masses.
    width : float
        Requested relative width.
    """
    alpha = find_tilt(mean_law(cells, most=_TILT_CELLS), n).alpha
    groups = _FIRST_GROUPS
    gap = _gap(cells, n, alpha, groups, rel)
    groups = int(min(_MOST_GROUPS, groups * max(1.0, math.sqrt(gap / (0.3 * width)))))
    inner, outer = two_laws(cells, alpha=alpha, groups=groups, rel=rel)
    low = expected_positive_part(inner, n, find_tilt(inner, n), width=0.3 * width).low
    high = expected_positive_part(outer, n, find_tilt(outer, n), width=0.3 * width).high
    return LogInterval(low, high)


def _gap(cells: CellGains, n: int, alpha: float, groups: int, rel: float) -> float:
    """About how far apart both ends are: n alpha^2/2 times the tilted variance inside groups."""
    inner, outer = two_laws(cells, alpha=alpha, groups=groups, rel=rel)
    size = inner.w.size
    g = inner.g
    spread = (outer.g[size:] - g) * (g - outer.g[:size])
    share = inner.w * np.exp(alpha * (g - float(g.max())))
    return 0.5 * n * alpha**2 * float((share * spread).sum() / share.sum())


def two_laws(cells: CellGains, *, alpha: float, groups: int, rel: float) -> tuple[GainLaw, GainLaw]:
    """Groups of cells at their means, and at their ends with the same means."""
    starts = group_starts(cells, alpha, groups, cells.high > 0.0, order=2)
    counts = np.diff(np.append(starts, cells.w.size))
    w = np.add.reduceat(cells.w, starts)
    centre = np.add.reduceat(cells.w * cells.mean, starts) / w
    shift = cells.mean - np.repeat(centre, counts)
    m = centre + np.add.reduceat(cells.w * shift, starts) / w
    low, high = np.minimum.reduceat(cells.low, starts), np.maximum.reduceat(cells.high, starts)
    # How far m may be from the true mean of the group: the cells' means, their masses, rounding.
    noise = rel + (64 + counts) * U
    spread = np.add.reduceat(cells.w * np.abs(shift), starts) / w
    err = 1.01 * np.add.reduceat(cells.w * cells.err, starts) / w
    err += 4.0 * noise * (spread + noise * (high - low))
    err += 16 * U * (np.abs(m) + np.abs(low) + np.abs(high))
    # Wide enough that shifting the two atoms by err, to the true mean, leaves G between them.
    low, high = np.minimum(low, m) - 2.0 * err, np.maximum(high, m) + 2.0 * err
    room = high - low
    inner = _law(cells, w, m, err, rel)
    outer = _law(
        cells,
        np.concatenate([w * ((high - m) / room), w * ((m - low) / room)]),
        np.concatenate([low, high]),
        np.concatenate([err, err]),
        rel,
    )
    return inner, outer


def _law(cells: CellGains, w: Array, g: Array, err: Array, rel: float) -> GainLaw:
    return GainLaw(
        w=w,
        g=g,
        g_err=err,
        rel=rel + (2 * cells.w.size + 16) * U,
        mean=cells.total,
        mean_err=cells.total_err,
        active=g + err > 0.0,
        low=min(0.0, float((g - err).min())),
        high=max(0.0, float((g + err).max())),
    )
