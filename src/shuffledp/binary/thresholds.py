"""Several users' bits changed at once: a lower end by one threshold of the number of ones.

In one data set ``changed`` bits have the larger probability of a 1, in the other the smaller one;
all others are the same. For every j (post-processing; docs/theory-shufflers.md, Lemma 5.3)

    D >= P(W >= j) - e^eps Q(W >= j),    and in the other order  Q(W < j) - e^eps P(W < j),

W the number of ones with whatever noise is added to it.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.binary.crowd import binomial
from shuffledp.binary.noise import AddedNoise, Part
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.randomizers.bits import Bits

__all__ = ["MOST_BITS", "Thresholds"]

U = UNIT_ROUNDOFF
# More bits, or noise so often, take windows of millions of numbers.
MOST_BITS, MOST_NOISES = 10**7, 8
# Where all odds together are known to less, nothing is said.
_LOOSEST = 1e-3
# e^eps beyond it is no float.
_LARGEST = 700.0


class Thresholds:
    """Lower ends of log D of one pair of data sets.

    Parameters
    ----------
    bits : Bits
        One bit, all odds in brackets.
    high, low, changed : int
        Bits of the larger, and of the smaller, probability in both data sets; and those that
        change.
    noise : AddedNoise or None
        What is added to the number of ones.
    times : int
        How often, each time with noise of its own.
    """

    def __init__(
        self,
        bits: Bits,
        *,
        high: int,
        low: int,
        changed: int,
        noise: AddedNoise | None,
        times: int,
    ) -> None:
        known = max(_apart(bits.odds_low), _apart(bits.odds_high))
        if (high + low + changed) * known > _LOOSEST:
            self._pairs: tuple[tuple[Array, Array], ...] = ()
            return
        more = _law(bits, high + changed, low, noise, times)
        less = _law(bits, high, low + changed, noise, times)
        # P(W >= j) and Q(W >= j), then Q(W < j) and P(W < j), all on the same range of j.
        self._pairs = (_tails(more, less, above=True), _tails(less, more, above=False))

    def log_delta(self, epsilon: float) -> float:
        """A lower bound of log D, the larger of both orders; -inf where none is found.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        """
        if epsilon > _LARGEST:
            return -math.inf
        a = math.exp(epsilon) * (1.0 + 4 * U)
        # The difference is off by a unit of each.
        if not self._pairs:
            return -math.inf
        best = max(float(np.max(p * (1.0 - 4 * U) - a * (1.0 + 4 * U) * q)) for p, q in self._pairs)
        return math.log(best) * (1.0 + 4 * U) - 4 * U if best > 0.0 else -math.inf


def _law(bits: Bits, high: int, low: int, noise: AddedNoise | None, times: int) -> Part:
    """Masses of the number of ones, with noise."""
    parts = []
    for count, odds in ((high, bits.odds_high), (low, bits.odds_low)):
        parts.append(binomial(count, odds[0], _apart(odds)))
    first, second = parts
    size = min(first.mass.size, second.mass.size)
    found = Part(
        first.start + second.start,
        np.convolve(first.mass, second.mass),
        first.rel + second.rel + (size + 8.0) * U,
        first.missing + second.missing,
    )
    for _ in range(0 if noise is None else times):
        found = noise.joined(found, 1.0)  # type: ignore[union-attr]
    return found


def _apart(odds: tuple[float, float]) -> float:
    """The relative width of a bracket, rounded up."""
    low, high = odds
    if low == high:
        return 0.0
    return (high - low) / low * (1.0 + 8 * U) if 0.0 < low <= high < math.inf else math.inf


def _tails(first: Part, second: Part, *, above: bool) -> tuple[Array, Array]:
    """Lower bounds of the one's tails and upper bounds of the other's, at all thresholds."""
    start = min(first.start, second.start)
    stop = max(part.start + part.mass.size for part in (first, second))
    found = []
    for part, sign in ((first, -1.0), (second, 1.0)):
        mass = np.zeros(stop - start)
        mass[part.start - start : part.start - start + part.mass.size] = part.mass
        tail = np.cumsum(mass[::-1])[::-1] if above else np.cumsum(mass)
        rel = part.rel + (mass.size + 8.0) * U
        found.append(tail * max(1.0 + sign * rel, 0.0) + (part.missing if sign > 0.0 else 0.0))
    return found[0], found[1]
