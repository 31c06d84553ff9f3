"""Ends by a certified algorithm for log delta at one eps, inverted by halving."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp.analysis.side import Found, Side
from shuffledp.divergence import LARGEST_EPSILON
from shuffledp.pair import UNIT_ROUNDOFF as U

# Half of the bits of a float are decided in so many halvings, rtol before that.
_HALVINGS = 50
# The width of log delta that decides on which side of the target an eps lies: what is returned is
# an eps that was decided, so that a wider one costs a little looseness and no truth.
_WIDTH = 0.5
# Steps away from a guess of the crossing: near it first, then geometrically.
_FACTORS = (0.98, 1.02, 1.1, 1.3, 1.7, 2.5)


@dataclass(frozen=True)
class CurveSide(Side):
    """An end from a certified algorithm for log delta at one eps, inverted by halving.

    ``ends(eps, width)`` gives log of a lower and of an upper end and words for the witness.
    """

    ends: Callable[[float, float], tuple[float, float, dict[str, Any]]] = field(kw_only=True)
    halvings: int = _HALVINGS
    guess: Callable[[float], float] | None = None

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """The eps, among those evaluated, that is nearest to the crossing on its side."""
        del width
        target = math.log(delta)
        slack = 4 * U * (1.0 + abs(target))
        upper = self.end == "upper"
        low, high = 0.0, min(cap, LARGEST_EPSILON)
        # Unasked only the local guarantee holds, be it infinite.
        best: tuple[float, dict[str, Any]] = (cap if upper else low, {})

        def below(epsilon: float) -> bool:
            """delta is below the target there, as far as this end can tell; keeps the best."""
            nonlocal best
            bottom, top, found = self.ends(epsilon, _WIDTH)
            yes = top <= target - slack if upper else bottom < target + slack
            if yes == upper:
                best = (epsilon, found)
            return yes

        if self.guess is not None:
            # Far from the crossing the algorithm may fail: look for it near the guess.
            near = self.guess(delta)
            for factor in _FACTORS:
                if near * factor >= high:
                    break
                if below(near * factor):
                    high = near * factor
                    break
                low = near * factor
        for _ in range(self.halvings):
            if high - low <= rtol * high:
                break
            middle = 0.5 * (low + high)
            if below(middle):
                high = middle
            else:
                low = middle
        value, words = best
        apart = None if upper else high / low - 1.0 if low > 0.0 else math.inf
        return Found(value, self.theorem, apart, {**self.witnesses[0], **words}, self.assumptions)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end at this eps; an upper one beyond the floats is that at the largest."""
        upper = self.end == "upper"
        if epsilon > LARGEST_EPSILON and not upper:
            return Found(-math.inf, self.theorem, None, self.witnesses[0], self.assumptions)
        bottom, top, words = self.ends(min(epsilon, LARGEST_EPSILON), max(width, _WIDTH))
        gap = math.expm1(min(top - bottom, 700.0)) if upper and bottom > -math.inf else None
        witness = {**self.witnesses[0], **words}
        return Found(top if upper else bottom, self.theorem, gap, witness, self.assumptions)
