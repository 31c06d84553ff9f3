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

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import log_add, log_difference, log_of
from shuffledp.stealing.coarse import log_coarse
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import (
    Contour,
    PositiveSums,
    Tilted,
    log_chernoff,
    or_infinite,
    tilt,
    within_range,
)
from shuffledp.stealing.stack import Stack

U = UNIT_ROUNDOFF
# Where alpha times the largest gain is beyond it, masses in doubt are raised in place.
_HEAVY = 0.7


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

    def top(self) -> float:
        """The largest gain, at least 0."""
        laws = (self.types,) if isinstance(self.types, Stack) else self.types
        return max(float(law.gain.max(initial=0.0)) for law in (self.reservoir, *laws))


def log_bound(
    gains: Gains, n: int, at: Contour, *, enough: float = -math.inf, spare: float = 0.0
) -> float:
    """Upper bound of log delta.

    Parameters
    ----------
    gains : Gains
        Of any size: alpha is lowered where alpha times the largest is more than 600.
    n : int
        Users, the victim included; n >= 2.
    at : Contour
        Any choice is valid.
    enough : float
        Where the bound is below that, this is what is returned.
    spare : float
        By so much, in log delta, the bound of many types may be looser to save time.
    """
    reservoir = gains.reservoir
    mass = math.fsum(reservoir.mass)
    tail = gains.positive * math.exp((n - 1) * math.log1p(-mass * (1.0 - 4 * U)) * (1.0 - 8 * U))
    # A leading message from what was dropped: n gains, int g_+ <= 1 each.
    paid = (tail + reservoir.lost + n * reservoir.dropped) * (1.0 + 16 * U)
    below = log_difference(enough, log_of(paid))
    # A contour proposed for some types may be too far out for the gains of others.
    worst = _log_worst(gains, n, within_range(at, gains.top()), below, spare)
    return (
        enough
        if worst <= below and below > -math.inf
        else log_add(worst, log_of(paid), outward=1.0)
    )


def _log_worst(gains: Gains, n: int, at: Contour, enough: float, spare: float) -> float:
    """log of max over the types of J + lost; by coarser bounds of J where these are enough."""
    if isinstance(gains.types, Stack):
        return _log_worst_of_many(gains.types, gains.reservoir, n, at, enough, spare)
    common = gains.reservoir
    tops = [float(law.gain.max(initial=0.0)) for law in (common, *gains.types)]
    more, complete = math.log1p(common.rel) + 4 * U, completed
    if at.alpha * max(tops) > _HEAVY:
        # Doubtful mass at the top would weigh e^{alpha top}.
        common, complete, more = common.raised(), completed_above, 0.0
    reservoir = tilt(common, at.alpha)
    whole = [complete(law, gains.reservoir) for law in gains.types]
    excess = [excess_of(law, common) for law in whole]
    laws = [tilt(law, at.alpha) for law in whole]
    coarse = [
        or_infinite(
            log_add(
                log_chernoff(reservoir, tilted, over, n, at) + more, log_of(law.lost), outward=1.0
            )
        )
        for tilted, over, law in zip(laws, excess, gains.types, strict=True)
    ]
    sums = PositiveSums(reservoir, n)
    best, slack = enough, None
    for j in sorted(range(len(laws)), key=coarse.__getitem__, reverse=True):
        if coarse[j] <= best:
            break
        label = _Label(laws[j], excess[j], more, gains.types[j].lost)
        found = _log_sum(sums, label, at, best, _expected(coarse[j], slack, best))
        slack = coarse[j] - found if slack is None else slack
        best = max(best, found)
    return best


def _expected(coarse: float, slack: float | None, best: float) -> float:
    """About log of J + lost, if it is below a coarse bound by as much as the first type's was."""
    if slack is not None:
        return coarse - slack
    return math.inf if best == -math.inf else -math.inf


class _Label(NamedTuple):
    """A tilted labelled part whose J is asked for, and what comes to it."""

    law: Tilted
    excess: float
    more: float
    lost: float


def _log_sum(sums: PositiveSums, label: _Label, at: Contour, best: float, expected: float) -> float:
    """log of J + lost, by rough sums where these should be below the best already."""
    value = math.inf
    for contour in (*at.rougher(), at):
        # What more smoothing costs.
        paid = 0.5 * at.alpha**2 * (contour.smoothing**2 - at.smoothing**2)
        if contour is not at and expected + paid > best:
            continue
        found = sums.log(label.law, label.excess, contour)
        value = min(
            value, or_infinite(log_add(found + label.more, log_of(label.lost), outward=1.0))
        )
        if value <= best:
            break
    return value


def _log_worst_of_many(
    types: Stack, common: Measure, n: int, at: Contour, enough: float, spare: float
) -> float:
    """The same of many types: moments first, for all at once."""
    heavy = at.alpha * Gains(common, types, 0.0).top() > _HEAVY
    coarse = log_coarse(types, common, n, at.alpha, heavy=heavy)
    coarse = np.where(np.isnan(coarse), math.inf, coarse)
    reservoir = tilt(common.raised() if heavy else common, at.alpha)
    more = 0.0 if heavy else math.log1p(common.rel) + 4 * U
    sums = PositiveSums(reservoir, n)
    best, slack = enough, None
    for j in np.argsort(-coarse, kind="stable").tolist():
        if coarse[j] <= best + spare:
            return max(best, float(coarse[j]))
        law = types[j]
        whole = completed_above(law, common) if heavy else completed(law, common)
        excess = excess_of(whole, common.raised() if heavy else common)
        label = _Label(tilt(whole, at.alpha), excess, more, law.lost)
        found = _log_sum(sums, label, at, best, _expected(float(coarse[j]), slack, best))
        slack = float(coarse[j]) - found if slack is None else slack
        best = max(best, found)
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
    parts = [*(-reservoir.mass).tolist(), *(-law.mass).tolist()]
    most = math.fsum([1.0, *parts])
    doubt = reservoir.rel * math.fsum(reservoir.mass) + law.rel * math.fsum(law.mass)
    left = max(most - doubt * (1.0 + 8 * U) - 8 * U * abs(most), 0.0)
    rest = max(most - left, 0.0) + 4 * U * abs(most) + 1e-300
    # Either may be empty: laws that share no output leave no reservoir.
    top = max(float(part.gain.max(initial=0.0)) for part in (law, reservoir))
    mass = np.append(law.mass, [left, rest])
    return Measure(mass, np.append(law.gain, [0.0, top]), law.lost, law.rel)


def completed_above(law: Measure, reservoir: Measure) -> Measure:
    """The labelled part with masses raised, and the largest left-over, at gain 0.

    The masses then sum to a little more than one (docs/theory-stealing.md, Lemma 4.1).

    Parameters
    ----------
    law : Measure
        Labelled part of one type.
    reservoir : Measure
        The part common to all, masses not raised.
    """
    left = math.fsum([1.0, *(-reservoir.mass).tolist(), *(-law.mass).tolist()])
    top = law.raised()
    mass = np.append(top.mass, max(left, 0.0) * (1.0 + 4 * U) + 1e-300)
    return Measure(mass, np.append(top.gain, 0.0), law.lost, law.rel)


def excess_of(law: Measure, reservoir: Measure) -> float:
    """Upper bound of the sum of all masses less 1."""
    total = math.fsum([-1.0, *reservoir.mass.tolist(), *law.mass.tolist()])
    return total + 4 * U * abs(total) + U * U
