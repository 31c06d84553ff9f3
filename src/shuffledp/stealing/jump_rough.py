"""Around a jump: about the largest J of each group of types, to choose by. Nothing certifies.

|phi|^2 of a part is the characteristic function of the difference of two of its tilted gains, with
moments M_2, M_4, M_6: psi = 1 - A t^2 + B t^4 - C t^6 + .. with the shares' means of M_2/4, M_4/48
and M_6/1440. So

    psi^n w = e^{h^2 alpha^2/2 - k t^2} (1 + p t^4 + q t^6 + p^2 t^8/2 + ..)/(alpha^2 + t^2),
    k = n A + h^2/2,  p = n (B - A^2/2),  q = n (A B - C - A^3/3),

whose integral is known. Where the last terms are not small beside the first, sums decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp import _special as special
from shuffledp.pair import Array
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.jump_worst import SLIGHT, Family, LargestSums
from shuffledp.stealing.jumps import Alone, log_bound_by
from shuffledp.stealing.measures import Measure

# Last terms of that share of the first leave much less in log J.
_SMALL = 3e-3
# What a variance and a total count as at the least: quotients stay floats.
_SMALLEST = 1e-300


def log_about_alone(gains: Gains, n: int, at: Alone) -> float:
    """About ``log_bound_alone``: what numbers are chosen by."""
    return log_bound_by(RoughSums, gains, n, at)


class RoughSums:
    """In the place of ``LargestSums`` where numbers are chosen: about the same values.

    Parameters
    ----------
    family : Family
        Gains.
    groups : sequence of sequences of int
        Groups of types.
    """

    def __init__(self, family: Family, groups: Sequence[Sequence[int]]) -> None:
        self.family, self.groups = family, groups

    def log(self, room: Array, n: int, alpha: float, smooth: float) -> Array:
        """About log of the largest J over the types of each group; parameters as there."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._about(room, n, alpha, smooth)
        if found is None:
            # Where moments do not say it, the sums themselves.
            return LargestSums(self.family, self.groups).log(room, n, alpha, smooth)
        return found

    def _about(self, room: Array, n: int, alpha: float, smooth: float) -> Array | None:
        family = self.family
        common = _moments(family.reservoir, alpha)
        if common[0] < SLIGHT:
            common = (*common[:2], 0.0, 0.0, 0.0)
        values = [
            _log_sum(common, _moments(law, alpha), excess, n, alpha, smooth)
            for law, excess in zip(family.types, family.excess, strict=True)
        ]
        if not all(map(math.isfinite, values)):
            return None
        found = np.array([max(values[j] for j in group) for group in self.groups])
        # No sharper than ``LargestSums``: what these numbers will be worth is asked.
        found[1:] = np.maximum(found[1:], found[0] + room[1:])
        return found


_Moments = tuple[float, float, float, float, float]


def _moments(law: Measure, alpha: float) -> _Moments:
    """Of the tilted gains: mass, its rise, and M_2, M_4, M_6 of a difference of two of them."""
    growth = np.expm1(alpha * law.gain)
    weight = law.mass * (growth + 1.0)
    total = float(weight.sum())
    safe = max(total, _SMALLEST)
    offset = law.gain - float(weight @ law.gain) / safe
    square = offset * offset
    cube = square * offset
    m2, m3 = float(weight @ square) / safe, float(weight @ cube) / safe
    m4, m6 = float(weight @ (square * square)) / safe, float(weight @ (cube * cube)) / safe
    sixth = 2.0 * m6 + 30.0 * m4 * m2 - 20.0 * m3 * m3
    return total, float(law.mass @ growth), 2.0 * m2, 2.0 * m4 + 6.0 * m2 * m2, sixth


def _log_sum(
    common: _Moments, law: _Moments, excess: float, n: int, alpha: float, smooth: float
) -> float:
    """About log J of one type; NaN where moments do not say it."""
    total, rise = common[0] + law[0], common[1] + law[1] + excess
    if not (total > 0.0 and rise > -1.0):
        return math.nan
    share, other = common[0] / total, law[0] / total
    a, b, c = (
        (share * one + other * two) / over
        for one, two, over in zip(common[2:], law[2:], (4.0, 48.0, 1440.0), strict=True)
    )
    k = n * a + 0.5 * (smooth / alpha) ** 2
    p, q = n * (b - 0.5 * a * a), n * (a * b - c - a * a * a / 3.0)
    first = math.pi / alpha * float(special.erfcx(alpha * math.sqrt(k)))
    # int t^(m + 2) e^{-k t^2}/(alpha^2 + t^2) = int t^m e^{-k t^2} - alpha^2 int t^m ../(..).
    plain, powers = math.sqrt(math.pi / k), [first]
    for m in (1.0, 3.0, 5.0, 7.0):
        powers.append(plain - alpha * alpha * powers[-1])
        plain *= 0.5 * m / k
    last = q * powers[3], 0.5 * p * p * powers[4]
    more = p * powers[2] + sum(last)
    # They may cancel: each has to be small.
    if not max(map(abs, last)) <= _SMALL * first:
        return math.nan
    size = math.log((first + more) / (2.0 * math.pi)) + 0.5 * smooth * smooth
    return n * math.log1p(rise) - math.log(n) + size
