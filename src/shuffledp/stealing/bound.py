"""The label-stealing bound of log delta at one eps, for a given choice of its free numbers.

    delta <= tail + lost_0 + max over the others' types j of (J(c, d_j) + lost_j),
    tail = (1 - beta(Y))^(n-1) int (1 - s) g_+

for every data set of n - 1 other users (docs/theory-stealing.md, Theorem 2.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import Contour, log_chernoff, log_positive_sum, tilt

U = UNIT_ROUNDOFF
# The masses of a completed law and its reservoir sum to at most 1 + this.
_EXCESS = 4 * U


class Gains(NamedTuple):
    """All that the bound needs at one eps.

    Attributes
    ----------
    reservoir : Measure
        beta, with the gains of a victim who joins.
    types : sequence of Measure
        For each input of the others: the labelled part, with the gains of a victim who steals.
    positive : float
        Upper bound of int (1 - s) g_+, paid where the reservoir is empty.
    """

    reservoir: Measure
    types: Sequence[Measure]
    positive: float


def log_bound(gains: Gains, n: int, at: Contour, *, enough: float = -math.inf) -> float:
    """Upper bound of log delta.

    Parameters
    ----------
    gains : Gains
        alpha times every gain at most 600.
    n : int
        Users, the victim included; n >= 2.
    at : Contour
        Any choice is valid.
    enough : float
        The bound need not be sharp where it is below that.
    """
    reservoir = gains.reservoir
    mass = math.fsum(reservoir.mass)
    tail = gains.positive * math.exp((n - 1) * math.log1p(-mass * (1.0 - 4 * U)) * (1.0 - 8 * U))
    best = _log_worst(gains, n, at, enough)
    return _log_add(best, (tail + reservoir.lost) * (1.0 + 16 * U))


def _log_worst(gains: Gains, n: int, at: Contour, enough: float) -> float:
    """log of max over the types of J + lost; by coarser bounds of J where these are enough."""
    reservoir = tilt(gains.reservoir, at.alpha)
    laws = [tilt(completed(law, gains.reservoir), at.alpha) for law in gains.types]
    more = math.log1p(gains.reservoir.rel) + 4 * U
    coarse = [
        _log_add(log_chernoff(reservoir, tilted, _EXCESS, n, at) + more, law.lost)
        for tilted, law in zip(laws, gains.types, strict=True)
    ]
    best = enough
    for j in sorted(range(len(laws)), key=coarse.__getitem__, reverse=True):
        if coarse[j] <= best:
            break
        for contour in (*at.rougher(), at):
            value = log_positive_sum(reservoir, laws[j], _EXCESS, n, contour) + more
            value = _log_add(value, gains.types[j].lost)
            if value <= best:
                break
        else:
            best = value
    return best


def completed(law: Measure, reservoir: Measure) -> Measure:
    """The labelled part with the left-over, at gain 0, and the rest to one at the largest gain.

    The left-over is at least 1 less upper bounds of both parts; what is not certain to be anywhere
    is where it makes the bound largest (docs/theory-stealing.md, Lemma 4.1).

    Parameters
    ----------
    law : Measure
        Labelled part of one type.
    reservoir : Measure
        The part common to all.
    """
    parts = [*(-reservoir.mass), *(-law.mass)]
    most = math.fsum([1.0, *parts])
    doubt = reservoir.rel * math.fsum(reservoir.mass) + law.rel * math.fsum(law.mass)
    left = max(most - doubt * (1.0 + 8 * U) - 8 * U * abs(most), 0.0)
    rest = max(most - left, 0.0) + 4 * U * abs(most) + 1e-300
    top = max(float(law.gain.max()), float(reservoir.gain.max()), 0.0)
    mass = np.append(law.mass, [left, rest])
    return Measure(mass, np.append(law.gain, [0.0, top]), law.lost, law.rel)


def _log_add(log_x: float, y: float) -> float:
    """log(e^log_x + y) for y >= 0, rounded up."""
    if y <= 0.0:
        return log_x
    log_y = math.log(y)
    top, rest = max(log_x, log_y), min(log_x, log_y)
    value = top + math.log1p(math.exp(rest - top))
    return value + 8 * U * (1.0 + abs(value) + abs(top))
