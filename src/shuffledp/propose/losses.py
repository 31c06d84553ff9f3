"""Sums of independent losses in plain floats: estimates of delta and eps, and contours."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shuffledp.kernel.contour import Contour
from shuffledp.propose.saddle import Part, Sum
from shuffledp.propose.solve import Root, root

__all__ = ["Losses"]

Array = npt.NDArray[np.float64]

# Up to this many draws, estimates are sums over all outcomes, as their transform does not fall off;
# and the law of a sure loss of 0.
_DIRECT, _NOTHING = 2, (np.zeros(1), np.ones(1))
# Relative accuracy of an estimated eps in log delta.
_NEAR = 1e-7
# Share of the requested width that smoothing and aliases may take.
_SHARE = 0.3


class Losses:
    """S, the sum of `count` independent losses from each of several laws.

    Parameters
    ----------
    parts : sequence of (losses, masses, infinite mass, count)
        Each law and how often it occurs; losses increase, masses > 0.
    """

    def __init__(self, parts: Sequence[tuple[Array, Array, float, int]]) -> None:
        self._laws = [law for law in parts if law[3] > 0]
        self._parts = [Part(m, x, count, float(m.sum()) - 1.0) for x, m, _, count in self._laws]
        totals = [(float(m.sum()), p, count) for _, m, p, count in self._laws]
        finite = sum(count * math.log(f) for f, _, count in totals)
        never = sum(count * math.log1p(p / f) for f, p, count in totals)
        # P(some loss is infinite) = prod (F + p) - prod F.
        self.log_infinite = finite + math.log(math.expm1(never)) if never > 0.0 else -math.inf
        self.top = sum(count * float(x[-1]) for x, _, _, count in self._laws)

    def saddle(self, epsilon: float) -> float:
        """The r > 0 at which log E e^(r S) - r eps - log r - log(1 + r) is least."""
        return self._beyond(epsilon).alpha

    def log_delta(self, epsilon: float) -> float:
        """An estimate of log E (1 - e^(eps - S))_+, infinite losses included."""
        found = self._finite(epsilon) if epsilon < self.top else -math.inf
        return min(float(np.logaddexp(found, self.log_infinite)), 0.0)

    def root(self, log_target: float) -> Root:
        """An estimate of the eps at which log delta meets the target; 0 or inf if there is none."""
        if self.log_infinite >= log_target:
            return Root(math.inf)
        if self.log_delta(0.0) <= log_target:
            return Root(0.0)
        # A quantile of a normal law of the losses.
        mean = sum(count * float(m @ x) for x, m, _, count in self._laws)
        spread = sum(part.variance for part in self._parts)
        first = mean + math.sqrt(spread * 2.0 * max(-log_target, 0.1))
        first = min(max(first, 1e-3 * self.top), 0.99 * self.top)
        return root(self.log_delta, log_target, Root(first), self.top, tolerance=_NEAR)

    def contour(self, epsilon: float, *, log_answer: float, rel: float) -> Contour:
        """A contour that encloses the answer to about a relative width `rel`."""
        return self._beyond(epsilon).contour(log_answer + math.log(_SHARE * rel))

    def _beyond(self, epsilon: float) -> Sum:
        return Sum(self._parts, gap=1, shift=epsilon)

    def _finite(self, epsilon: float) -> float:
        draws = [law[:2] for law in self._laws for _ in range(min(law[3], _DIRECT + 1))]
        if len(draws) > _DIRECT:
            return self._beyond(epsilon).estimate.log_value
        value = _of_two(*draws, epsilon=epsilon)
        return math.log(value) if value > 0.0 else -math.inf


def _of_two(
    one: tuple[Array, Array], two: tuple[Array, Array] = _NOTHING, *, epsilon: float
) -> float:
    """E (1 - e^(eps - X - Y))_+ for one or two draws, by sums over the tails of X."""
    (x, mass), (y, other) = one, two
    least = x[0]
    # Sums over all x from each place on.
    heavy, light = (
        np.append(np.cumsum(m[::-1])[::-1], 0.0) for m in (mass, mass * np.exp(least - x))
    )
    rest = epsilon - y
    first = np.searchsorted(x, rest, side="right")
    with np.errstate(over="ignore"):
        lost = np.where(first < x.size, np.exp(np.minimum(rest - least, 700.0)) * light[first], 0.0)
    return float(other @ np.maximum(heavy[first] - lost, 0.0))
