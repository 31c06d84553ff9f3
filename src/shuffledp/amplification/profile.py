"""Whole privacy profiles: chords of certified upper ends, and a certified lower end at each eps."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shuffledp import theorems
from shuffledp.amplification.evaluation import Evaluation, NodeAt
from shuffledp.analysis import Found
from shuffledp.analysis.ends import Ends
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import log_above
from shuffledp.bound import Bound, Theorem, delta_from_log

__all__ = ["FEWEST", "profile"]

# Profiles of fewer points are as many single answers.
FEWEST = 16
# What a chord may add to delta, relatively, and the relative width of the values themselves: a
# tenth or two of that in eps where delta falls ten times as fast or more.
_EXCESS, _WIDTH = 0.01, 0.005
# Values of eps at which a curve's slope is estimated.
_KNOTS = 14
# Bits for a chord: values are floats.
_BITS = 128
# Ends farther apart than that in eps are worth an analysis that is tried only there.
_GAP = 0.01


def profile(work: Evaluation, epsilons: Sequence[float], analysis: str | None) -> list[Bound]:
    """delta at each eps.

    delta is convex in a = e^eps, the largest of functions sum (P - a Q)_+: a chord between two
    upper ends is an upper end (docs/theory-composition.md, Theorem 2.1).

    Parameters
    ----------
    work : Evaluation
        The mechanism among its users.
    epsilons : sequence of float
        Values of eps >= 0 in nats, in any order.
    analysis : str, optional
        One analysis alone in place of the best of all.
    """
    inside = sorted({e for e in epsilons if e < work.eps0})
    wanted = (1.0 + _EXCESS) * (1.0 + _WIDTH) - 1.0
    curve = _Curve(work, inside, analysis) if inside else None
    found = []
    for epsilon in epsilons:
        if curve is None or epsilon >= work.eps0:
            lower, upper = work.log_delta(epsilon, analysis, closing=False)
        else:
            lower, upper = curve.lower(epsilon), curve.upper(epsilon)
        ends = Ends(lower, upper, {"epsilon": epsilon, "n": work.n}, work.source.relation)
        logs = delta_from_log(lower.value, upper.value)
        found.append(ends.bound("delta", logs, wanted=wanted, logs=True))
    return found


class _Curve:
    """Upper ends at nodes, and the profiles that lower ends are taken of, between two eps."""

    def __init__(self, work: Evaluation, points: Sequence[float], analysis: str | None) -> None:
        self._work, self._analysis = work, analysis
        low, high = points[0], points[-1]
        ends = low, 0.5 * (low + high), high
        tightest = next(work.sides("lower", analysis), None)
        self._lower = None if tightest is None else tightest.nearest(ends)
        self._nodes = _nodes(self._rough, points)
        self._ends = [self._at_node(epsilon) for epsilon in self._nodes]

    def lower(self, epsilon: float) -> Found:
        """The largest lower end at this eps."""
        if self._lower is None:
            return Found(-math.inf, None, 0.0, {}, ())
        return self._lower.at_node(epsilon, width=_WIDTH)

    def upper(self, epsilon: float) -> Found:
        """The chord at this eps; at a node the value there."""
        k = bisect_right(self._nodes, epsilon) - 1
        if self._nodes[k] == epsilon:
            return self._ends[k]
        return _chord(epsilon, self._nodes[k : k + 2], self._ends[k : k + 2])

    def _rough(self, epsilon: float) -> float:
        """About log delta."""
        return math.nan if self._lower is None else self._lower.rough(epsilon)

    def _at_node(self, epsilon: float) -> Found:
        upper = self._work.upper_at_node(epsilon, self._analysis, _WIDTH)
        if self._analysis is not None or not self._work.has_closing:
            return upper
        apart = upper.value > self.lower(epsilon / (1.0 + _GAP)).value
        return self._work.closer(upper, NodeAt(epsilon, _WIDTH)) if apart else upper


def _nodes(rough: Callable[[float], float], points: Sequence[float]) -> list[float]:
    """Nodes from the first to the last point; the points themselves where they are no more.

    A chord over a step d of eps is d^2 (s^2 + s) delta/8 above a curve of slope
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


def _chord(epsilon: float, nodes: Sequence[float], ends: Sequence[Found]) -> Found:
    """The straight line in e^eps between two values, rounded up."""
    with ctx.workprec(_BITS):
        low, high, at = (arb(x).exp() for x in (*nodes, epsilon))
        values = [arb(0) if one.value == -math.inf else arb(one.value).exp() for one in ends]
        share = (at - low) / (high - low)
        delta = values[0] + share * (values[1] - values[0])
        value = min(log_above(delta), 0.0)
    return Found(
        value,
        _theorem(*(one.theorem for one in ends)),
        _width(*(one.width for one in ends)),
        {"analysis": "chord", "ends": [_node(*one) for one in zip(nodes, ends, strict=True)]},
        tuple(dict.fromkeys(words for one in ends for words in one.assumptions)),
    )


def _node(epsilon: float, found: Found) -> dict[str, Any]:
    return {"epsilon": epsilon, "log_delta": found.value, **found.witness}


def _theorem(first: Theorem | None, second: Theorem | None) -> Theorem | None:
    """Of a chord: those of its ends, and convexity."""
    if first is None or second is None:
        return None
    both = first if second == first else first.with_step(second)
    return both.with_step(theorems.CHORD)


def _width(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    return (1.0 + max(first, second)) * (1.0 + _EXCESS) - 1.0
