"""The label-stealing bound of log delta at one eps, for a given choice of its free numbers.

    delta <= tail + lost + max over the others' types j of J(c, d_j),
    tail = (1 - beta(Y))^(n-1) (1 - theta) int g_+

for every data set of n - 1 other users (docs/theory-stealing.md, Theorem 2.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import Contour, Tilted, log_chernoff, log_positive_sum, tilt

U = UNIT_ROUNDOFF
# The masses of a completed law and its reservoir sum to at most 1 + this.
_EXCESS = 4 * U
# h alpha of sums that cost e^{(h alpha)^2/2}, 13 % and 1 % of J, and much less time.
_ROUGH = (0.5, 0.15)


class Gains(NamedTuple):
    """All that the bound needs at one eps.

    Attributes
    ----------
    reservoir : Measure
        beta, with the gains of a victim who joins.
    types : sequence of Measure
        For each input of the others: the labelled part, with the gains of a victim who steals.
    positive : float
        Upper bound of (1 - theta) int g_+, paid where the reservoir is empty.
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
    seen = max(law.lost for law in gains.types)
    lost = (tail + reservoir.lost + seen) * (1.0 + 16 * U)
    best = _log_worst(gains, n, at, enough) + math.log1p(reservoir.rel) + 4 * U
    return best if lost <= 0.0 else _log_add(best, math.log(lost))


def _log_worst(gains: Gains, n: int, at: Contour, enough: float) -> float:
    """max over the types of log J; by Chernoff's bound alone where that is all it takes."""
    reservoir = tilt(gains.reservoir, at.alpha)
    laws = [tilt(completed(law, gains.reservoir), at.alpha) for law in gains.types]
    coarse = [log_chernoff(reservoir, law, _EXCESS, n, at) for law in laws]
    best = enough
    for j in sorted(range(len(laws)), key=coarse.__getitem__, reverse=True):
        if coarse[j] <= best:
            break
        best = max(best, _log_sum(reservoir, laws[j], n, at, best))
    return best


def _log_sum(reservoir: Tilted, law: Tilted, n: int, at: Contour, enough: float) -> float:
    """log J of one type, by fewer nodes where that is already below ``enough``."""
    for rough in (at.rougher(smoothing) for smoothing in _ROUGH):
        if rough.nodes < at.nodes:
            value = log_positive_sum(reservoir, law, _EXCESS, n, rough)
            if value <= enough:
                return value
    return log_positive_sum(reservoir, law, _EXCESS, n, at)


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


def _log_add(x: float, y: float) -> float:
    top, rest = max(x, y), min(x, y)
    value = top + math.log1p(math.exp(rest - top))
    return value + 8 * U * (1.0 + abs(value))
