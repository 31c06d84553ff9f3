"""The transform of a sum of n gains at its saddle point: what the contour integral is made of.

In the scaled units of `transform` (x = alpha S, contour z = 1 + it), with a measure N of total
sums, E x_+ over N is N(1) (1/2 pi) times the integral of p(t)/z^2, p(t) = N(z)/N(1), |p| <= 1.

* `Power`: N(z) = M(z)^n, all of the law.
* `Difference`: N(z) = M(z)^n - R(z)^n with M = R + T: sums with at least one gain in the part T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from shuffledp.arithmetic.balls import acb, arb, ctx

from .gains import GainLaw
from .transform import Tilted, moment

__all__ = [
    "Atoms",
    "Difference",
    "Power",
    "Powers",
    "in_floats",
    "tilt_in_floats",
    "tilt_of_difference",
]

_DOUBLINGS = 200
_MANY = 64
# Of logarithms of ratios, which bound what is small anyway, beside those that n of them take.
_RATIO_BITS = 64

# Weights and gains in floats.
Atoms = list[tuple[float, float]]


class Powers(Protocol):
    """What the trapezoidal rule asks for.

    Attributes
    ----------
    unit : arb
        N(1)/alpha: what E x_+/N(1) is multiplied with.
    deviation : float
        Roughly the deviation of x under the tilted N.
    kink : arb
        Share of N on sums of n gains that are all exactly zero.
    atoms : int
        Exponentials a node costs.
    """

    unit: arb
    deviation: float
    kink: arb
    atoms: int

    def log_ratio(self, beta: float) -> arb:
        """Return log N(beta)/N(1), beta > 0."""
        ...

    def values(self, step: arb, starts: Sequence[int], count: int) -> list[list[acb]]:
        """Enclose p at the nodes (start + k) step, k < count."""
        ...

    def bound(self, middle: arb, radius: arb, enough: arb) -> arb:
        """Bound |p| on an interval; no need to try hard where it is at most `enough`."""
        ...

    def settled_from(self, enough: arb) -> float:
        """From which t on |p| <= enough, as far as is known without looking."""
        ...

    def limit(self, enough: arb) -> arb:
        """Bound |p| far out; no need to try hard where it is at most `enough`."""
        ...


class Power:
    """All sums of n gains.

    Parameters
    ----------
    law : GainLaw.
    n : number of gains.
    tilt : alpha > 0, any is valid; None: it is looked for.
    """

    def __init__(self, law: GainLaw, n: int, tilt: float | None = None) -> None:
        self._law, self._n = law, n
        alpha = _saddle_point(law, n) if tilt is None else arb(tilt)
        self._tilted = Tilted(law, alpha)
        self._log = self._tilted.scale.log()
        self.unit = (n * self._log).exp() / alpha
        self.deviation = float((n * self._tilted.variance).sqrt().mid())
        self.kink = self._tilted.zero**n
        self.atoms = len(law.weight)
        self._ratios: dict[float, arb] = {}

    def log_ratio(self, beta: float) -> arb:
        """log of the moment at tilt beta alpha over that at tilt alpha."""
        if beta not in self._ratios:
            with ctx.workprec(_RATIO_BITS + self._n.bit_length()):
                found = moment(self._law, beta * self._tilted.alpha)
                self._ratios[beta] = self._n * (found.log() - self._log)
        return self._ratios[beta]

    def values(self, step: arb, starts: Sequence[int], count: int) -> list[list[acb]]:
        """Transforms at (start + j) step, j < count, one row a start."""
        rows = self._tilted.values(step, starts, count)
        return [[phi**self._n for phi in row] for row in rows]

    def bound(self, middle: arb, radius: arb, enough: arb) -> arb:
        """Bound the transform's modulus within radius of the middle; loose below enough."""
        return (self._tilted.bound(middle, radius, self._root(enough)) ** self._n).upper()

    def settled_from(self, enough: arb) -> float:
        """Frequency from which the modulus stays below enough."""
        return self._tilted.settled_from(self._root(enough))

    def limit(self, enough: arb) -> arb:
        """Bound the modulus far out."""
        return (self._tilted.limit(self._root(enough)) ** self._n).upper()

    def _root(self, enough: arb) -> arb:
        return (enough.log() / self._n).exp().lower()


class Difference:
    """Sums of n gains with at least one in a part of the law.

    Parameters
    ----------
    rest, part : GainLaw
        The law is their sum.
    n : number of gains.
    tilt : alpha > 0, any is valid.
    """

    def __init__(self, rest: GainLaw, part: GainLaw, n: int, tilt: float) -> None:
        self._rest_law, self._part_law, self._n = rest, part, n
        alpha = arb(tilt)
        scale = moment(rest, alpha) + moment(part, alpha)
        self._alpha, self._log = alpha, scale.log()
        self._rest, self._part = Tilted(rest, alpha, scale), Tilted(part, alpha, scale)
        self._among = _among(self._part.share, n)
        self.unit = (n * self._log).exp() * self._among / alpha
        height = max((float(abs(g).mid()) for g in self._part.gain), default=0.0)
        self.deviation = math.hypot(float((n * self._rest.variance).sqrt().mid()), height / 3.0)
        self.kink = arb(0)
        self.atoms = len(rest.weight) + len(part.weight)
        self._ratios: dict[float, arb] = {}

    def log_ratio(self, beta: float) -> arb:
        """log of the moment at tilt beta alpha over that at tilt alpha."""
        if beta not in self._ratios:
            with ctx.workprec(_RATIO_BITS + self._n.bit_length()):
                self._ratios[beta] = self._ratio(beta)
        return self._ratios[beta]

    def _ratio(self, beta: float) -> arb:
        rest, part = (moment(law, beta * self._alpha) for law in (self._rest_law, self._part_law))
        whole = rest + part
        among = _among(part / whole, self._n)
        return self._n * (whole.log() - self._log) + (among / self._among).log()

    def values(self, step: arb, starts: Sequence[int], count: int) -> list[list[acb]]:
        """(r + t)^n - r^n = r^n expm1(n log1p(t/r)): no cancellation where t is small."""
        rests = self._rest.values(step, starts, count)
        parts = self._part.values(step, starts, count)
        return [
            [self._value(r, t) for r, t in zip(*rows, strict=True)]
            for rows in zip(rests, parts, strict=True)
        ]

    def _value(self, rest: acb, part: acb) -> acb:
        found = rest**self._n * (self._n * (part / rest).log1p()).expm1()
        if not found.is_finite():
            found = (rest + part) ** self._n - rest**self._n
        return found / self._among

    def bound(self, middle: arb, radius: arb, enough: arb) -> arb:
        """|(r + t)^n - r^n| <= n |t| (|r| + |t|)^(n - 1)."""
        rest = self._rest.bound(middle, radius, self._root(enough))
        return (self._factor() * (rest + self._part.share) ** (self._n - 1)).upper()

    def settled_from(self, enough: arb) -> float:
        """Frequency from which the modulus stays below enough."""
        return self._rest.settled_from(self._root(enough))

    def limit(self, enough: arb) -> arb:
        """Bound the modulus far out."""
        rest = self._rest.limit(self._root(enough))
        return (self._factor() * (rest + self._part.share) ** (self._n - 1)).upper()

    def _factor(self) -> arb:
        return self._n * self._part.share / self._among

    def _root(self, enough: arb) -> arb:
        root = ((enough / self._factor()).log() / max(self._n - 1, 1)).exp()
        return (root - self._part.share).lower()


def _among(share: arb, n: int) -> arb:
    """1 - (1 - share)^n."""
    return -(n * (-share).log1p()).expm1()


# ---------------------------------------------------------------------------- saddle points


def _saddle_point(law: GainLaw, n: int) -> arb:
    """Return an exact alpha near the minimum of log(M(alpha)^n - w0^n) - 2 log alpha.

    w0 is the weight of the gains that are zero, so the event of n of them is left aside: there
    the tilted mean of alpha S, given not that event, is 2. Any alpha > 0 gives a valid answer, so
    2 +- 1/2 will do; where the tilted deviation is large this still takes many digits of alpha.
    """
    if len(law.weight) > _MANY:
        return arb(tilt_in_floats(in_floats(law), n))
    pairs = list(zip(law.weight, law.gain, strict=True))
    zero = sum((w for w, g in pairs if g.is_zero()), start=arb(0))

    def tilted_mean(alpha: arb) -> arb:
        weight = [w * (alpha * g).exp() for w, g in pairs]
        first = sum((w * g for w, (_, g) in zip(weight, pairs, strict=True)), start=arb(0))
        total = sum(weight, start=arb(0))
        return (n * alpha * first / total / (1 - (zero / total) ** n)).mid()

    largest = arb(0)
    for _, g in pairs:
        largest = arb.max(largest, abs(g))
    high = (1 / largest).mid()
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


def tilt_in_floats(atoms: Atoms, n: int) -> float:
    """The same in floating point, for laws with hundreds of atoms."""
    zero = math.fsum(w for w, g in atoms if g == 0.0)

    def tilted_mean(alpha: float) -> float:
        total, first = _moments(atoms, alpha)
        others = -math.expm1(n * math.log(min(zero / total, 1.0))) if zero > 0.0 else 1.0
        return n * alpha * first / total / max(others, 1e-300)

    return _crossing(tilted_mean, 1.0 / max(abs(g) for _, g in atoms))


def tilt_of_difference(inner: Atoms, outer: Atoms, n: int) -> float:
    """Roughly the minimum of log((R + T)^n - R^n) - 2 log alpha, R the inner and T the outer."""

    def tilted_mean(alpha: float) -> float:
        (r, r1), (t, t1) = _moments(inner, alpha), _moments(outer, alpha)
        x = t / r
        growth = math.exp(min((n - 1) * math.log1p(x), 600.0))
        slope = (growth - 1.0) * r1 / r + growth * t1 / r
        return n * alpha * slope / math.expm1(min(n * math.log1p(x), 600.0))

    return _crossing(tilted_mean, 1.0 / max(abs(g) for _, g in outer))


def in_floats(law: GainLaw) -> Atoms:
    """A law's atoms, for what is only proposed."""
    return [(float(w.mid()), float(g.mid())) for w, g in zip(law.weight, law.gain, strict=True)]


def _moments(atoms: Atoms, alpha: float) -> tuple[float, float]:
    """E e^(alpha G) and E G e^(alpha G)."""
    weight = [w * math.exp(alpha * g) for w, g in atoms]
    return math.fsum(weight), math.fsum(w * g for w, (_, g) in zip(weight, atoms, strict=True))


def _crossing(tilted_mean: Callable[[float], float], start: float) -> float:
    """Where a tilted mean is about 2."""

    def value(alpha: float) -> float:
        try:
            found = tilted_mean(alpha)
        except (OverflowError, ZeroDivisionError, ValueError):
            return math.inf
        return math.inf if math.isnan(found) else found

    high = start
    for _ in range(_DOUBLINGS):
        if value(high) > 2.0:
            break
        high *= 4.0
    low = high / 4.0
    while value(low) > 2.0 and low > 1e-300:
        high, low = low, low / 4.0
    for _ in range(_DOUBLINGS):
        middle = (low + high) / 2.0
        mean = value(middle)
        if abs(mean - 2.0) < 0.5 or not low < middle < high:
            return middle
        low, high = (low, middle) if mean > 2.0 else (middle, high)
    return low
