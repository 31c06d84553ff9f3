"""The curve of a crowd for rounds: of one group's members, hidden by all groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp.composition.curve import Sharper
from shuffledp.divergence import LARGEST_EPSILON
from shuffledp.numerics import log_add
from shuffledp.values.work import Answers, Beside

# Where the own group's other bound promises less than this less it is not asked for.
_CLEAR = 0.1
# Between neighbouring nodes delta falls by about e^0.35: a chord is above the curve by some 1.5 %
# (next to 0 by several), which moves eps by a thousandth where delta falls by e^15.
_FALL, _DEPTH = 0.35, 45.0
_HALVINGS, _CLOSER = 60, 3
# Next to 0 a bound by label stealing is less than that at 0: the first node is halved so often.
_FIRST = 10
# Rounding of a chord.
_SLACK = 1e-12


@dataclass(frozen=True)
class CrowdCurve:
    """log delta's least upper bound at each eps, by all groups and by the own one.

    A bound of the crowd takes a twentieth of a second. As a supremum of curves that are convex in
    a = e^eps is convex, the chord between two upper bounds of it is one: with v_k at nodes a_k,

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
        if epsilon >= last:
            return self._node(epsilon)
        low, high = self._around(epsilon)
        high = min(high, last)
        if not low < epsilon < high:
            return self._node(epsilon)
        # Both shares by themselves: next to either end the other's difference from 1 has no digits.
        whole = math.log(math.expm1(high - low))
        left = math.log(math.expm1(high - epsilon)) + (epsilon - low) - whole
        right = math.log(math.expm1(epsilon - low)) - whole
        found = log_add(self._node(low) + left, self._node(high) + right)
        return min(found * (1.0 - _SLACK) + _SLACK, 0.0)

    def _around(self, epsilon: float) -> tuple[float, float]:
        """The nodes on both sides: roots of whole numbers, and halves of the first one."""
        ratio = epsilon / self._unit
        if ratio >= 1.0:
            place = math.floor(ratio * ratio)
            return self._unit * math.sqrt(place), self._unit * math.sqrt(place + 1)
        halvings = math.floor(-math.log2(ratio)) if ratio > 2.0**-_FIRST else _FIRST
        high = self._unit * 2.0**-halvings
        return (0.5 * high if halvings < _FIRST else 0.0), high

    def _node(self, epsilon: float) -> float:
        return _FOUND.of(self).answer(epsilon, lambda: self.upper(epsilon))

    @property
    def _unit(self) -> float:
        """Nodes are so much times the roots of 1, 2, ...: equal falls where losses are normal."""
        return _FOUND.of(self).answer("unit", self._find_unit)

    def _find_unit(self) -> float:
        """From an eps at which about e^-45 is left, or the last one."""
        high = min(self.eps0, LARGEST_EPSILON)
        for _ in range(_HALVINGS):
            if self.upper(0.5 * high) > -_DEPTH:
                break
            high *= 0.5
        low = 0.5 * high
        for _ in range(_CLOSER):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.upper(middle) > -_DEPTH else (low, middle)
        return high * math.sqrt(_FALL / _DEPTH)


_FOUND: Beside[CrowdCurve, Answers] = Beside(lambda _: Answers())
