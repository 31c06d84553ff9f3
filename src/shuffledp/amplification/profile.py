"""Privacy profiles over many eps: chords of certified upper ends, and certified lower ends."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shuffledp import theorems
from shuffledp.amplification.end import End, LogDeltaAt, bound_of
from shuffledp.amplification.messages import GAP, Messages
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import log_above
from shuffledp.bound import Bound, Theorem

__all__ = ["profile"]

# Profiles with fewer points are computed as single answers.
_FEWEST = 16
# Relative excess of delta that a chord may add, and relative width of the values at its nodes. In
# eps this is a tenth or two of that, where delta falls ten times as fast or faster.
_EXCESS, _WIDTH = 0.01, 0.005
# Number of eps at which a curve's slope is estimated.
_KNOTS = 14
# Working precision of a chord in bits; its inputs are floats.
_BITS = 128


def profile(best: Messages, epsilons: Sequence[float], analysis: str | None) -> list[Bound]:
    """delta at each eps; for many points, by chords between certified upper ends.

    delta is convex in a = e^eps, as the largest of functions sum (P - a Q)_+, so a chord between
    two upper ends is an upper end (docs/theory-composition.md, Theorem 2.1).

    Parameters
    ----------
    best : Messages
        The mechanism among its n users.
    epsilons : sequence of float
        Values of eps >= 0 in nats, in any order.
    analysis : str, optional
        Key of one analysis to use alone, in place of the best of all.
    """
    if len(epsilons) < _FEWEST or best.rounds > 1:
        return [best.bound("delta", e, analysis=analysis) for e in epsilons]
    inside = sorted({e for e in epsilons if e < best.eps0})
    wanted = (1.0 + _EXCESS) * (1.0 + _WIDTH) - 1.0
    curve = _Curve(best, inside, analysis) if inside else None
    found = []
    for epsilon in epsilons:
        if curve is None or epsilon >= best.eps0:
            found.append(best.bound("delta", epsilon, analysis=analysis, closing=False))
            continue
        lower, upper = curve.lower(epsilon), curve.upper(epsilon)
        at, relation = {"epsilon": epsilon, "n": best.n}, best.source.relation
        found.append(bound_of("delta", lower, upper, at=at, relation=relation, wanted=wanted))
    return found


class _Curve:
    """Upper ends at nodes, and the profiles behind the lower ends, over a range of eps."""

    def __init__(self, best: Messages, points: Sequence[float], analysis: str | None) -> None:
        self._best, self._analysis = best, analysis
        low, high = points[0], points[-1]
        ends = low, 0.5 * (low + high), high
        tightest = next((one for _, one in best.asked("lower", analysis)), None)
        self._lower = None if tightest is None else tightest.nearest(ends)
        self._closing = analysis is None and any(best.asked("upper", None, "apart"))
        rough = (lambda _: math.nan) if self._lower is None else self._lower.rough
        self._nodes = _nodes(rough, points)
        self._ends = [self._at_node(epsilon) for epsilon in self._nodes]

    def lower(self, epsilon: float) -> End:
        """The largest lower end at this eps."""
        if self._lower is None:
            return End(-math.inf, None, 0.0, {}, ())
        return self._lower.log_delta(LogDeltaAt(epsilon, _WIDTH))

    def upper(self, epsilon: float) -> End:
        """The chord's value at this eps; at a node, the node's own upper end."""
        k = bisect_right(self._nodes, epsilon) - 1
        if self._nodes[k] == epsilon:
            return self._ends[k]
        return chord(epsilon, self._nodes[k : k + 2], self._ends[k : k + 2])

    def _at_node(self, epsilon: float) -> End:
        question = LogDeltaAt(epsilon, _WIDTH, along=True)
        upper = self._best.upper_at(question, self._analysis)
        if self._closing and upper.value > self.lower(epsilon / (1.0 + GAP)).value:
            return self._best.closer(upper, question)
        return upper


def _nodes(rough: Callable[[float], float], points: Sequence[float]) -> list[float]:
    """Nodes from the first to the last point; all points if nodes would not be fewer.

    A chord over a step d of eps lies d^2 (s^2 + s) delta/8 above a curve of slope
    s = -d log delta/d eps, to second order, and less where log delta is concave in eps.
    """
    knots = np.linspace(points[0], points[-1], _KNOTS)
    logs = np.array([rough(float(epsilon)) for epsilon in knots])
    if len(points) <= 2 or not np.isfinite(logs).all():
        return list(points)
    slopes = np.maximum(-np.gradient(logs, knots), 0.0)
    dense = np.sqrt((slopes * slopes + slopes) / (8.0 * _EXCESS))
    places = np.append(0.0, np.cumsum(0.5 * (dense[1:] + dense[:-1]) * np.diff(knots)))
    count = math.ceil(float(places[-1])) + 1
    if not 2 <= count < len(points):
        return list(points)
    inner = np.interp(np.linspace(0.0, places[-1], count)[1:-1], places, knots)
    return sorted({points[0], *map(float, inner), points[-1]})


def chord(epsilon: float, nodes: Sequence[float], ends: Sequence[End]) -> End:
    """The straight line in e^eps between two upper ends, rounded up."""
    with ctx.workprec(_BITS):
        low, high, at = (arb(x).exp() for x in (*nodes, epsilon))
        values = [arb(0) if one.value == -math.inf else arb(one.value).exp() for one in ends]
        share = (at - low) / (high - low)
        delta = values[0] + share * (values[1] - values[0])
        value = min(log_above(delta), 0.0)
    return End(
        value,
        _theorem(*(one.theorem for one in ends)),
        _width(*(one.width for one in ends)),
        {"analysis": "chord", "ends": [_node(*one) for one in zip(nodes, ends, strict=True)]},
        tuple(dict.fromkeys(words for one in ends for words in one.assumptions)),
    )


def _node(epsilon: float, found: End) -> dict[str, Any]:
    return {"epsilon": epsilon, "log_delta": found.value, **found.witness}


def _theorem(first: Theorem | None, second: Theorem | None) -> Theorem | None:
    """The theorem of a chord: those of its two ends, with convexity."""
    if first is None or second is None:
        return None
    both = first if second == first else first.with_step(second)
    return both.with_step(theorems.CHORD)


def _width(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    return (1.0 + max(first, second)) * (1.0 + _EXCESS) - 1.0
