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
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.jump_many import Many
from shuffledp.stealing.jump_worst import SLIGHT, Family, LargestSums, contour_of
from shuffledp.stealing.jumps import Alone, Beside, log_bound_and_tilts, log_bound_by
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import spreads_of_many

# Last terms of that share of the first leave much less in log J.
_SMALL = 3e-3
# Types of so many gains are looked at in clusters: these are narrow then.
_MANY_ATOMS = 100
# Two atoms of a cell count as one: of their spread a few parts in ten thousand are lost.
_PAIRS = 2
# Nodes of rough sums, and of what is beyond: that is a few per cent, known to a few of them.
_NODES, _FAR_NODES = 48, 48
# e^{-x^2/2} is nothing from there on: 4e-6.
_FAR = 5.0
# Tilts are left out that are missed by so much of delta in all.
_MISSED = 1e-5
# What a variance and a total count as at the least: quotients stay floats.
_SMALLEST = 1e-300


def log_about_alone(gains: Gains, n: int, at: Alone) -> float:
    """About ``log_bound_alone``: what numbers are chosen by."""
    return log_bound_by(RoughSums, gains, n, at)


def log_about_and_needed(gains: Gains, n: int, at: Alone) -> tuple[float, Alone]:
    """The same, and the numbers without tilts that are not missed."""
    value, tilts = log_bound_and_tilts(RoughSums, gains, n, at)
    if not tilts or not math.isfinite(value):
        return value, at
    count = len(at.forward)
    kept = needed(tilts, count, _MISSED * math.exp(value) / (0.5 * (n - 1)))
    backward = [alpha for k, alpha in enumerate(at.backward) if count + k in kept]
    forward = [alpha for k, alpha in enumerate(at.forward) if k in kept]
    return value, at._replace(forward=tuple(forward), backward=tuple(backward))


def needed(tilts: Sequence[Beside], forward: int, allowed: float) -> set[int]:
    """Tilts that are left where those are taken away, one by one, that are missed the least.

    Parameters
    ----------
    tilts : sequence of Beside
        Of all jumps: the h of each is the least over the tilts.
    forward : int
        How many of the tilts are forward ones: one of them stays.
    allowed : float
        By how much the integral of h over all jumps may grow.
    """
    mass = np.concatenate([beside.mass for beside in tilts])
    each = np.concatenate([beside.each for beside in tilts], axis=1)
    least, kept = mass @ each.min(axis=0), list(range(len(each)))
    while len(kept) > 1:
        without = [each[[k for k in kept if k != gone]].min(axis=0) @ mass for gone in kept]
        order = sorted(range(len(kept)), key=without.__getitem__)
        ahead = [k for k in kept if k < forward]
        gone = next((i for i in order if kept[i] not in ahead or len(ahead) > 1), None)
        if gone is None or not without[gone] - least <= allowed:
            break
        kept.pop(gone)
    return set(kept)


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
        self._many: Many | None = None

    def log(self, room: Array, n: int, alpha: float, smooth: float) -> Array:
        """About log of the largest J over the types of each group; parameters as there."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._about(room, n, alpha, smooth)
        if found is None:
            # Where moments do not say it, sums of few nodes, or of few gains the sums themselves.
            if min(law.mass.size for law in self.family.types) < _MANY_ATOMS:
                return LargestSums(self.family, self.groups).log(room, n, alpha, smooth)
            return self._largest(self._by_clusters(n, alpha, smooth), room)
        return found

    def _clusters(self) -> Many:
        """Of the reservoir, and then of the types: made where they are asked for first."""
        laws, excess = [self.family.reservoir, *self.family.types], [0.0, *self.family.excess]
        return Many(laws, excess, cluster=_PAIRS)

    def _by_clusters(self, n: int, alpha: float, smooth: float) -> list[float]:
        """About log J of each type: psi stays beyond the nodes as it is at the last of them."""
        self._many = self._many or self._clusters()
        law = self._many.tilted(alpha)
        total = law.mass[:1] + law.mass[1:]
        variance = law.mass * law.spread
        widest = float(np.max((variance[:1] + variance[1:]) / total))
        step, h = contour_of(n * widest, alpha, smooth).step, smooth / alpha
        t = step * np.arange(_NODES + 1)
        lost = spreads_of_many(law.weights, law.offsets, step, _NODES)
        # A slight reservoir's spread is left out, as ``LargestSums`` does.
        lost[0] *= law.mass[0] >= SLIGHT
        lost *= law.mass[:, None]
        lost = np.clip(0.5 * (lost[:1] + lost[1:]) / total[:, None], 0.0, 0.75)
        power = np.exp(n * np.log1p(-lost))

        def weight(s: Array) -> Array:
            return np.exp(0.5 * h * h * (alpha - s) * (alpha + s)) / (alpha * alpha + s * s)

        sums = step * (power @ weight(t) - 0.5 * weight(t[:1]))
        # From half a step beyond the last node to where e^{-(ht)^2/2} is nothing, in log t.
        far = np.geomspace(t[-1] + 0.5 * step, max(_FAR / h, 2.0 * t[-1]), _FAR_NODES)
        rest = float(np.trapezoid(far * weight(far), np.log(far)))
        log_sum = np.log((sums + power[:, -1] * rest) / math.pi)
        # Of next to nothing but losses the sum is a rounding error.
        rise = np.maximum(law.rise[:1] + law.rise[1:] + law.excess[1:], 2.0 * UNIT_ROUNDOFF - 1.0)
        log_mass = np.log1p(rise)
        return (n * log_mass + log_sum - math.log(n)).tolist()

    def _largest(self, values: Sequence[float], room: Array) -> Array:
        """Of each group, no sharper than ``LargestSums``: what numbers will be worth is asked."""
        found = np.array([max(values[j] for j in group) for group in self.groups])
        found[1:] = np.maximum(found[1:], found[0] + room[1:])
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
        return self._largest(values, room)


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
