"""The curve of a crowd for rounds: of one group's members, hidden by all groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import log_above
from shuffledp.bounds.profile import LARGEST_EPSILON
from shuffledp.rounds.curve import Sharper
from shuffledp.values.work import Answers, Beside

# Where the own group's other bound promises less than this less it is not asked for.
_CLEAR = 0.1
# Nodes are the first one times the roots of 1, 2, ...: where losses are about normal delta falls by
# e^0.35 from one to the next, and a chord is above the curve by some 1.5 % (next to the first by
# several), which moves eps by a thousandth where delta falls by e^15.
_FALL, _DEPTH = 0.35, 45.0
_HALVINGS, _CLOSER = 60, 3
# The first node is halved so often; beyond e^-45 each node is so many times the last.
_FIRST, _BEYOND = 10, 1.2
# Between smaller eps there are no nodes: their halves would be no floats with all their digits.
_TINY = 1e-280
# Bits of a chord.
_BITS = 128


@dataclass(frozen=True)
class CrowdCurve:
    """log delta's least upper bound at each eps, by all groups and by the own one.

    A bound of a crowd of bits takes a twentieth of a second. As a supremum of curves that are
    convex in a = e^eps is convex, the chord between two upper bounds of it is one: with v_k at
    nodes a_k,

        delta(a) <= v_k + (v_k+1 - v_k) (a - a_k)/(a_k+1 - a_k)     (a_k <= a <= a_k+1).

    A pointwise minimum of upper bounds of one supremum is one, and rounds may rest on it
    (docs/theory-composition.md, Lemma 1.6).

    Attributes
    ----------
    upper : callable
        log of what is certified by all groups together; 0 where nothing is.
    eps0 : float
        delta is 0 from there on.
    own : Sharper, optional
        What the own group's rounds have beside their profiles.
    """

    upper: Callable[[float], float] = field(repr=False)
    eps0: float
    own: Sharper | None = field(repr=False)

    @property
    def many(self) -> bool:
        """Whether the own group looks at many types together."""
        return self.own is not None and self.own.many

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0, 0 where there is none.

        Parameters
        ----------
        epsilon : float
            eps in nats.
        """
        found = self._of_all(epsilon)
        if self.own is not None and self.own.rough(epsilon) < found - _CLEAR:
            return min(found, self.own.log_upper(epsilon))
        return found

    def rough(self, epsilon: float) -> float:
        """About the same."""
        found = self._of_all(epsilon)
        return found if self.own is None else min(found, self.own.rough(epsilon))

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """No certificate is written of a crowd's rounds."""
        del epsilon

    def _of_all(self, epsilon: float) -> float:
        """By the chord at this eps."""
        last = min(self.eps0, LARGEST_EPSILON)
        if epsilon >= last or last < _TINY:
            return self._node(epsilon)
        low, high = self._around(epsilon)
        high = min(high, last)
        if not low < epsilon < high:
            return self._node(epsilon)
        ends = self._node(low), self._node(high)
        with ctx.workprec(_BITS):
            a0, a, a1 = (arb(e).exp() for e in (low, epsilon, high))
            v0, v1 = (arb(v).exp() if v != -math.inf else arb(0) for v in ends)
            return _log(v0 + (v1 - v0) * (a - a0) / (a1 - a0))

    def _around(self, epsilon: float) -> tuple[float, float]:
        """The nodes on both sides: halves of the first one, roots of whole numbers, powers."""
        reach = self._reach
        first = reach * math.sqrt(_FALL / _DEPTH)
        if epsilon >= reach:
            place = math.floor(math.log(epsilon / reach) / math.log(_BEYOND))
            return reach * _BEYOND**place, reach * _BEYOND ** (place + 1)
        ratio = epsilon / first
        if ratio >= 1.0:
            place = math.floor(ratio * ratio)
            return first * math.sqrt(place), min(first * math.sqrt(place + 1), reach)
        halvings = math.floor(-math.log2(ratio)) if ratio > 2.0**-_FIRST else _FIRST
        high = first * 2.0**-halvings
        return (0.5 * high if halvings < _FIRST else 0.0), high

    def _node(self, epsilon: float) -> float:
        find = self._at_0 if epsilon == 0.0 else lambda: self.upper(epsilon)
        return _FOUND.of(self).answer(epsilon, find)

    def _at_0(self) -> float:
        """By all groups' blanket, or from the first node: label stealing says nothing at eps = 0.

        For neighbours in either order delta(1/a) = 1 - 1/a + delta(a)/a, and 1 is between 1/a and
        a: delta(0) <= tanh(eps/2) + 2 delta(eps)/(1 + e^eps).
        """
        if min(self.eps0, LARGEST_EPSILON) < _TINY:
            return self.upper(0.0)
        near = self._reach * math.sqrt(_FALL / _DEPTH) * 2.0**-_FIRST
        value = self._node(near)
        with ctx.workprec(_BITS):
            delta, e = arb(value).exp() if value != -math.inf else arb(0), arb(near)
            found = _log((e / 2).tanh() + 2 * delta / (1 + e.exp()))
        return min(self.upper(0.0), found)

    @property
    def _reach(self) -> float:
        """An eps at which about e^-45 is left, or the last one."""
        return _FOUND.of(self).answer("reach", self._find_reach)

    def _find_reach(self) -> float:
        high = min(self.eps0, LARGEST_EPSILON)
        if self.upper(0.0) <= -_DEPTH:
            return high
        for _ in range(_HALVINGS):
            if self._node(0.5 * high) > -_DEPTH:
                break
            high *= 0.5
        low = 0.5 * high
        for _ in range(_CLOSER):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._node(middle) > -_DEPTH else (low, middle)
        return high


def _log(value: arb) -> float:
    """A logarithm of at most 0, rounded up."""
    return min(log_above(value), 0.0)


_FOUND: Beside[CrowdCurve, Answers] = Beside(lambda _: Answers())
