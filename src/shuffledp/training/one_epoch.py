"""One epoch straight from its pairs of laws, to the width of one round rather than of many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp.amplification.end import End, bound_of
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Bound, Theorem
from shuffledp.bounds.inverse import solve_epsilon
from shuffledp.bounds.profile import LOOSE, Profile
from shuffledp.neighbours import Relation
from shuffledp.rounds.curve import Source

# As for one shuffled round of noise: eps to 1e-4, delta to ten times that; brackets of delta come
# out up to three times as wide as asked for.
RTOL = 1e-4
_WIDTH = min(3.0 * RTOL, LOOSE)
# Halvings of [0, eps] down to a float's last digit.
_HALVINGS = 60
# The target is a logarithm that was rounded: it is taken to be smaller by a few of its last digits.
_ROUNDED = 8 * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class OneEpoch:
    """Curves of one epoch, for the upper end and for the lower one.

    Attributes
    ----------
    above : tuple of Profile, or Source
        Both directions of a dominating pair, or an upper bound of both that is no pair's curve.
    below : tuple of Profile
        Both directions of a pair of datasets; noise rounded outward, as inward above.
    upper, lower : Theorem
        What certifies each end.
    witness : dict
        The pair of datasets of the lower end.
    relation, assumptions, at
        As in ``Bound``.
    """

    above: tuple[Profile, Profile] | Source
    below: tuple[Profile, Profile]
    upper: Theorem
    lower: Theorem
    witness: dict[str, Any]
    relation: Relation
    assumptions: tuple[str, ...]
    at: dict[str, float]

    def epsilon(self, *, delta: float) -> Bound:
        """eps at a delta."""
        target = math.log(delta)
        low = solve_epsilon(self.below, target, cap=math.inf, rtol=RTOL, need_all=False)
        if isinstance(self.above, tuple):
            high = solve_epsilon(self.above, target, cap=math.inf, rtol=RTOL, need_all=True)
            upper = self._found(self.upper, high.high, _relative(high.low, high.high))
        else:
            upper = self._found(self.upper, crossing(self.above, target), None)
        lower = self._found(self.lower, low.low, _relative(low.low, low.high))
        at = {"delta": delta, **self.at}
        return bound_of("epsilon", lower, upper, at=at, relation=self.relation, wanted=RTOL)

    def delta(self, *, epsilon: float) -> Bound:
        """delta at an eps."""
        low = _largest(self.below, epsilon)
        if isinstance(self.above, tuple):
            high = _largest(self.above, epsilon)
            upper = self._found(self.upper, high.high, _grown(high))
        else:
            high = self.above.log_delta(epsilon, width=_WIDTH)
            upper = self._found(self.upper, high.high, None)
        lower = self._found(self.lower, low.low, _grown(low))
        at = {"epsilon": epsilon, **self.at}
        return bound_of("delta", lower, upper, at=at, relation=self.relation, wanted=_WIDTH)

    def _found(self, theorem: Theorem, value: float, width: float | None) -> End:
        return End(value, theorem, width, dict(self.witness), self.assumptions)


def crossing(source: Source, log_target: float) -> float:
    """An eps at which the upper bound is at most the target, by bisection; certified as evaluated.

    Raises nothing: log delta of Gaussian noise falls without end.
    """
    log_target -= _ROUNDED * (1.0 + abs(log_target))
    low, high = 0.0, 1.0
    while source.log_delta(high, width=_WIDTH).high > log_target:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if high - low <= RTOL * high or not low < middle < high:
            break
        if source.log_delta(middle, width=_WIDTH).high > log_target:
            low = middle
        else:
            high = middle
    return high


def _largest(profiles: tuple[Profile, Profile], epsilon: float) -> LogInterval:
    found = [profile.log_delta(epsilon, width=_WIDTH) for profile in profiles]
    return LogInterval(max(f.low for f in found), max(f.high for f in found))


def _relative(low: float, high: float) -> float:
    return 0.0 if high == low else high / low - 1.0 if low > 0.0 else math.inf


def _grown(found: LogInterval) -> float:
    return 0.0 if found.high == found.low else math.expm1(min(found.high - found.low, 700.0))
