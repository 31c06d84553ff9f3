"""The moment generating function of a gain law, tilted and scaled to its saddle point.

With alpha the tilt, everything is written for x = alpha S: the contour is Re z = 1, and
M(alpha + i t alpha)^n = M(alpha)^n phi(t)^n with |phi| <= 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._flint import acb, arb
from .gains import GainLaw

__all__ = ["Tilted", "saddle_point", "tilt"]

_DOUBLINGS = 200


@dataclass(frozen=True)
class Tilted:
    """A gain law tilted by alpha, in units in which alpha = 1.

    Attributes
    ----------
    law : GainLaw, gains multiplied by alpha, remainder scaled with them.
    log_moment : arb
        log E e^(alpha G).
    weight : list of arb
        The tilted weights of the atoms, w e^(alpha g) / their sum.
    variance : arb
        Upper bound of the variance of alpha G under the tilted weights.
    zero : arb
        Tilted weight of the gains that are exactly zero.
    slack : arb
        |true phi(t) - phi(t) of the atoms| <= slack |1 + i t|^3.
    rough : _Rough or None
        A cheaper bound of |phi| for a law with a continuous part.
    """

    law: GainLaw
    log_moment: arb
    weight: list[arb]
    variance: arb
    zero: arb
    slack: arb
    rough: _Rough | None

    def log_ratio(self, beta: arb) -> arb:
        """Return log M(beta)/M(1), scaled units, beta > 0."""
        return _moment(self.law, beta).log() - self.log_moment

    def phi(self, t: arb) -> acb:
        """Enclose the tilted characteristic function at the node t."""
        total = acb(0)
        for w, g in zip(self.weight, self.law.gain, strict=True):
            total += w * acb(0, t * g).exp()
        if not self.slack.is_zero():
            ball = arb(0, self._error(t))
            total += acb(ball, ball)
        return total

    def largest_modulus(self, middle: arb, radius: arb) -> arb:
        """Bound |phi| on [middle - radius, middle + radius] from above, by at most 1."""
        square = _square_modulus(self.weight, self.law.gain, self.variance, middle, radius)
        modulus = square.sqrt() + self._error(middle + radius)
        return arb.min(modulus.upper(), arb(1))

    def _error(self, t: arb) -> arb:
        if self.slack.is_zero():
            return self.slack
        cube = (1 + t * t) ** 3
        return (self.slack * cube.sqrt()).upper()


@dataclass(frozen=True)
class _Rough:
    """|phi(t)| <= |true atoms' share| + variation/t."""

    weight: list[arb]
    gain: list[arb]
    curvature: arb
    variation: arb

    def limit(self) -> arb:
        """Bound |phi| far out."""
        return _sum(self.weight).upper()

    def largest_modulus(self, middle: arb, radius: arb) -> arb:
        square = _square_modulus(self.weight, self.gain, self.curvature, middle, radius)
        atoms = arb.min(square.sqrt(), self.limit())
        return arb.min((atoms + self.variation / (middle - radius)).upper(), arb(1))


def _square_modulus(
    weight: Sequence[arb], gain: Sequence[arb], curvature: arb, middle: arb, radius: arb
) -> arb:
    """Bound |sum w e^(i t g)|^2 for |t - middle| <= radius: Taylor about the middle.

    `curvature` bounds half its second derivative: the sum over pairs of w w' (g - g')^2.
    """
    total, slope = acb(0), acb(0)
    for w, g in zip(weight, gain, strict=True):
        term = w * acb(0, middle * g).exp()
        total += term
        slope += g * term
    # d/dt |f|^2 = 2 Re(f' conj(f)) with f' = i slope
    derivative = abs(2 * (slope * total.conjugate()).imag)
    square = abs(total) ** 2 + derivative * radius + curvature * radius**2
    return arb.max(square.upper(), arb(0))


def tilt(law: GainLaw, alpha: arb) -> Tilted:
    """Scale a law by alpha and tilt it by e^(alpha G)."""
    gain = [alpha * g for g in law.gain]
    remainder = [(r * alpha**3, alpha * top) for r, top in law.remainder]
    scaled = GainLaw(law.weight, gain, law.outside, remainder)
    exponentials = [w * g.exp() for w, g in zip(law.weight, gain, strict=True)]
    atoms = _sum(exponentials)
    moment = _moment(scaled, arb(1))
    # The atoms are normalised by their own sum, so that they are a law and |phi| <= 1 for them.
    weight = [e / atoms for e in exponentials]
    zero = _sum([w for w, g in zip(law.weight, gain, strict=True) if g.is_zero()]) / moment
    # True M(s)/M(1) against atoms(s)/atoms(1): the numerator and the denominator move.
    slack = (2 * _remainder(scaled, arb(1)) / moment.lower()).upper()
    rough = None
    share, place, variation = [], [], arb(0)
    if law.spread is not None:
        indices, variation = law.spread(alpha)
        share = [exponentials[i] / moment for i in indices]
        place = [gain[i] for i in indices]
        variation = (variation / (alpha * moment.lower())).upper()
    if law.spread is not None and variation.is_finite():
        rough = _Rough(share, place, _pair_spread(share, place), variation)
    return Tilted(scaled, moment.log(), weight, _pair_spread(weight, gain), zero, slack, rough)


def _pair_spread(weight: Sequence[arb], gain: Sequence[arb]) -> arb:
    """Sum over pairs of w w' (g - g')^2 = (sum w) (sum w (g - m)^2) at the mean m, from above."""
    if not weight:
        return arb(0)
    mass = _sum(weight)
    mean = (_sum([w * g for w, g in zip(weight, gain, strict=True)]) / mass).mid()
    return (mass * _sum([w * (g - mean) ** 2 for w, g in zip(weight, gain, strict=True)])).upper()


def saddle_point(law: GainLaw, n: int) -> arb:
    """Return an exact alpha near the minimum of log(M(alpha)^n - w0^n) - 2 log alpha.

    w0 is the weight of the gains that are zero, so the event of n of them is left aside: there
    the tilted mean of alpha S, given not that event, is 2. Any alpha > 0 gives a valid answer, so
    2 +- 1/2 will do; where the tilted deviation is large this still takes many digits of alpha.
    """
    zero = _sum([w for w, g in zip(law.weight, law.gain, strict=True) if g.is_zero()])

    def tilted_mean(alpha: arb) -> arb:
        weight = [w * (alpha * g).exp() for w, g in zip(law.weight, law.gain, strict=True)]
        first = _sum([w * g for w, g in zip(weight, law.gain, strict=True)])
        total = _sum(weight)
        return (n * alpha * first / total / (1 - (zero / total) ** n)).mid()

    high = (1 / _largest_modulus(law.gain)).mid()
    for _ in range(_DOUBLINGS):
        if tilted_mean(high) > 2:
            break
        high = 4 * high
    low = high / 4
    while tilted_mean(low) > 2:
        high, low = low, low / 4
    for _ in range(_DOUBLINGS):
        middle = ((low + high) / 2).mid()
        mean = tilted_mean(middle)
        if abs(mean - 2) < 0.5:
            return middle
        low, high = (low, middle) if mean > 2 else (middle, high)
    return low


def _largest_modulus(gain: Sequence[arb]) -> arb:
    largest = arb(0)
    for g in gain:
        largest = arb.max(largest, abs(g))
    return largest.mid()


def _moment(law: GainLaw, beta: arb) -> arb:
    total = _sum([w * (beta * g).exp() for w, g in zip(law.weight, law.gain, strict=True)])
    return total + arb(0, _remainder(law, beta).upper())


def _remainder(law: GainLaw, beta: arb) -> arb:
    return beta**3 * _sum([r * (beta * top).exp() for r, top in law.remainder])


def _sum(balls: Sequence[arb]) -> arb:
    total = arb(0)
    for ball in balls:
        total += ball
    return total
