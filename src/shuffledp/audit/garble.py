"""A channel with three inputs that is worse than every one the limits allow.

With a third input all others may hold it, and then hide the victim less than if they held one of
the victim's two values. Of three inputs and three groups of cells the limits leave a box of
matrices M around the observed one, M0. The channel M0 W, W a matrix that mixes outputs as little as
the box makes necessary, is a post-processing of every M in it (docs/theory-audit.md, Theorem 5.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audit import limits
from shuffledp.audit.plan import BOXES, AuditPlan, Design
from shuffledp.audit.tally import Tally
from shuffledp.neighbours import REPLACEMENT
from shuffledp.randomizers import Channel

Floats = npt.NDArray[np.floating]

_GROUPS = 3
# Of the box and of all that is computed from it: far above the rounding of 3 x 3 matrices whose
# inverses are below 1e4, which is checked.
_SLACK, _LEAST = 1e-6, 1e-12
_LARGEST_INVERSE = 1e4


def mixing(center: Floats, radius: Floats) -> Floats | None:
    """W with |M^-1 (M0 - M)| W <= W off the diagonal and on it, for all M in the box, or None.

    G = (I - |M0^-1| R)^-1 |M0^-1| R bounds |M^-1 (M0 - M)|, and W = I + O off the diagonal with
    O = (I - G)^-1 G = G (I + O): so G W <= G (I + O) = O.
    """
    identity = np.eye(len(center))
    if not abs(np.linalg.det(center)) > 1.0 / _LARGEST_INVERSE:
        return None
    inverse = np.abs(np.linalg.inv(center))
    if not float(inverse.max()) < _LARGEST_INVERSE:
        return None
    step = inverse @ (radius * (1.0 + _SLACK) + _LEAST)
    if not float(step.sum(axis=1).max()) < 0.5:
        return None
    bound = np.linalg.inv(identity - step) @ step * (1.0 + _SLACK) + _LEAST
    if not float(bound.sum(axis=1).max()) < 0.5:
        return None
    moved = np.linalg.inv(identity - bound) @ bound * (1.0 + _SLACK) + _LEAST
    if not float(moved.sum(axis=1).max()) < 1.0:
        return None
    off = moved * (1.0 - identity)
    return off + np.diag(1.0 - off.sum(axis=1))


def weakest_of_three(center: Floats, low: Floats, high: Floats) -> Channel | None:
    """M0 W as a channel; None where the box is too wide for one."""
    mixed = mixing(center, np.maximum(high - center, center - low))
    if mixed is None:
        return None
    rows = center @ mixed
    return Channel(matrix=tuple(tuple(float(v) for v in row) for row in rows))


def boxes(plan: AuditPlan, tally: Tally, found: Design) -> list[tuple[Any, Channel]]:
    """A channel for the worst pair and every third input, at their part of the level, jointly."""
    many = len(plan.asked)
    if many < _GROUPS or plan.randomizer.relation != REPLACEMENT:
        return []
    first, second = (found.pairs[k].events[found.pairs[k].best] for k in (0, 1))
    level = plan.alpha * plan.spend[2] * BOXES / (2.0 * many * _GROUPS)
    if bool((first & second).any()) or level <= 0.0:
        return []
    n = tally.reports
    if int(n.min()) == 0:
        return []
    counts = np.array([[row[:-1][s].sum() for s in (first, second)] for row in tally.counts])
    counts = np.column_stack([counts, n - counts.sum(axis=1)])
    rows_of = list(zip(counts.tolist(), n.tolist(), strict=True))
    low = np.array([[limits.lower_limit(c, m, level) for c in row] for row, m in rows_of])
    high = np.array([[limits.upper_limit(c, m, level) for c in row] for row, m in rows_of])
    made = []
    for third in range(2, many):
        rows = [0, 1, third]
        channel = weakest_of_three(counts[rows] / n[rows, None], low[rows], high[rows])
        if channel is not None:
            pair = (plan.values()[0], plan.values()[1])
            made.append((pair, channel))
    return made
