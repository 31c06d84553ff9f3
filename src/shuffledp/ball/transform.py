"""Transforms of gain laws at a tilt, scaled so that the tilt is one.

With alpha the tilt, everything is written for x = alpha S: the contour is Re z = 1, and
E e^((alpha + i t alpha) G) = scale * phi(t) with |phi| <= share <= 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.balls import acb, arb

from .exponentials import Balls, Transform
from .gains import ByParts, GainLaw, Run
from .layers import missing, missing_in_floats
from .quadrature import Band

__all__ = ["Tilted", "moment"]

_WIDER = 4.0  # how much farther the next set of nodes reaches
_MUCH_WIDER = 16.0
_MANY = 400
# Where bounds are looked for: the tilt's own unit is 1, and nodes are no nearer than a part of it.
_NEAREST, _FARTHEST = 0.01, 1e30


class Tilted:
    """A gain law, or a part of one, tilted by alpha.

    Parameters
    ----------
    law : GainLaw.
    alpha : the tilt.
    scale : E e^(alpha G) of the whole of which this is a part; None: this is the whole.

    Attributes
    ----------
    gain : list of arb
        alpha times the gains.
    weight : list of arb
        Tilted weights, w e^(alpha g)/scale.
    share : arb
        Their sum, with what the atoms do not account for: phi(0).
    zero : arb
        Tilted weight of the gains that are exactly zero.
    variance : arb
        Upper bound of the tilted variance of alpha G.
    reach : float
        Up to which t the atoms stand for the law.
    """

    def __init__(self, law: GainLaw, alpha: arb, scale: arb | None = None) -> None:
        self.law, self.alpha = law, alpha
        self.scale = moment(law, alpha) if scale is None else scale
        self.gain = [alpha * g for g in law.gain]
        self.weight = [w * g.exp() / self.scale for w, g in zip(law.weight, self.gain, strict=True)]
        self.errors = [e.scaled(alpha) for e in law.errors]
        self.share = moment(law, alpha) / self.scale
        pairs = list(zip(self.weight, law.gain, strict=True))
        self.zero = _sum([w for w, g in pairs if g.is_zero()])
        self.variance = _pair_spread(self.weight, self.gain)
        self.reach = math.inf
        self._sums: dict[int, _Sums] = {}
        self._bulks: dict[int, _Bulk | None] = {}
        self._layered: _Rough | None = None
        if law.far is not None:
            self.reach = law.far.reach / float(alpha.mid())

    # ------------------------------------------------------------------------- values

    def values(self, step: arb, starts: Sequence[int], count: int) -> list[list[acb]]:
        """Enclose phi at the nodes (start + k) step, k < count: one row a start."""
        groups: dict[int, list[int]] = {}
        for start in starts:
            groups.setdefault(self._band((start + count) * step), []).append(start)
        found: dict[int, list[acb]] = {}
        for number, group in groups.items():
            rows = self._sums_of(number).table(step, group, count)
            found.update(zip(group, rows, strict=True))
        return [found[start] for start in starts]

    def _band(self, t: arb) -> int:
        """0 up to the reach of the atoms, then 1, 2, ...: every one reaches four times as far."""
        ratio = float(t.mid()) / self.reach
        return 0 if ratio <= 1.0 else 1 + math.floor(math.log(ratio) / math.log(_WIDER))

    def _sums_of(self, number: int) -> _Sums:
        if number not in self._sums:
            self._sums[number] = self._make_sums(number)
        return self._sums[number]

    def _make_sums(self, number: int) -> _Sums:
        if number == 0 or self.law.far is None:
            return _Sums(self.weight, self.gain, self.error if self.errors else None)
        tilt = float(self.alpha.mid())
        high = self.reach * _WIDER**number * tilt
        weight, gain, errors = self.law.far.beyond(Band(tilt, high / _WIDER, high))
        gain = [self.alpha * g for g in gain]
        tilted = [w * g.exp() / self.scale for w, g in zip(weight, gain, strict=True)]
        scaled = [e.scaled(self.alpha) for e in errors]
        return _Sums(tilted, gain, lambda t: _error(scaled, arb(1), t) / self.scale)

    def error(self, t: arb) -> arb:
        """Bound |phi - phi of the atoms| at t."""
        return _error(self.errors, arb(1), t) / self.scale

    # ------------------------------------------------------------------------- bounds

    def bound(self, middle: arb, radius: arb, enough: arb) -> arb:
        """Bound |phi| on [middle - radius, middle + radius]; stop trying where it is enough."""
        best = self.share.upper()
        rough = self._rough()
        if rough is not None:
            best = arb.min(best, rough.bound(middle, radius, enough))
            if best <= enough:
                return best
        if middle + radius <= self.reach:
            square = _square_modulus(self.weight, self.gain, self.variance, middle, radius)
            found = square.sqrt() + (self.error(middle + radius) if self.errors else 0)
            return arb.min(best, found.upper())
        bulk = self._bulk(middle + radius)
        return best if bulk is None else arb.min(best, bulk.bound(middle, radius))

    def settled_from(self, enough: arb) -> float:
        """From which t on |phi| <= enough, roughly, by the cheap bounds; inf for never."""
        rough = self._rough()
        return math.inf if rough is None else rough.settled_from(float(enough))

    def limit(self, enough: arb) -> arb:
        """Bound |phi| far out; no need to try hard where it is at most `enough`."""
        whole, rough = self.share.upper(), self._rough()
        return whole if rough is None else arb.min(whole, rough.limit(enough))

    def _rough(self) -> _Rough | None:
        far = self.law.far
        if self._layered is None and far is not None:
            weight, gain = ([x[i] for i in far.atoms] for x in (self.weight, self.gain))
            runs = [run.scaled(self.alpha, self.scale) for run in far.runs(self.alpha)]
            self._layered = _Rough(weight, gain, runs)
        return self._layered

    def _bulk(self, t: arb) -> _Bulk | None:
        ratio = float(t.mid()) / self.reach
        level = 1 + math.floor(math.log(max(ratio, 1.0)) / math.log(_MUCH_WIDER))
        if level not in self._bulks:
            known = self._bulks.get(level - 1)
            # Where a level has many atoms already, evaluating nodes costs less than asking.
            many = level - 1 in self._bulks and (known is None or len(known.gain) > _MANY)
            self._bulks[level] = None if many else self._make_bulk(level)
        return self._bulks[level]

    def _make_bulk(self, level: int) -> _Bulk | None:
        if self.law.far is None:
            return None
        tilt = float(self.alpha.mid())
        band = Band(tilt, 0.0, self.reach * _MUCH_WIDER**level * tilt)
        w, g, errors = self.law.far.bulk(band)
        if len(w) > 4 * _MANY:
            return None
        gain = [self.alpha * x for x in g]
        weight = [x * y.exp() / self.scale for x, y in zip(w, gain, strict=True)]
        scaled = [e.scaled(self.alpha) for e in errors]

        def error(t: arb) -> arb:
            return _error(scaled, arb(1), t) / self.scale

        rest = (self.share - _sum(weight) + error(arb(0))).upper()
        return _Bulk(weight, gain, _pair_spread(weight, gain), error, rest)


@dataclass(frozen=True)
class _Sums:
    """phi(t) = sum w e^(i t g) within error(t), for some range of t."""

    weight: Balls
    gain: Balls
    error: Callable[[arb], arb] | None

    def table(self, step: arb, starts: Sequence[int], count: int) -> list[list[acb]]:
        """Rows of phi((start + k) step), k < count."""
        product = Transform(self.weight, self.gain, step, count).rows(starts)
        found = []
        for i, start in enumerate(starts):
            row = [product[i, k] for k in range(count)]
            if self.error is not None:
                # The bound is convex in t: the larger end's holds between.
                ends = [self.error(j * step).upper() for j in (start, start + count - 1)]
                ball = arb(0, arb.max(*ends))
                row = [value + acb(ball, ball) for value in row]
            found.append(row)
        return found


class _Rough:
    """|phi(t)| <= |true atoms' sum| + what is left of every run.

    That is its mass less what its layers miss; where this is not enough the least of that, V/t and
    rest + V'/t: V is the variation of the run, V' that of its bulk, beside which the mass `rest` is
    left.
    """

    def __init__(self, weight: list[arb], gain: list[arb], runs: list[Run]) -> None:
        self.weight, self.gain, self.runs = weight, gain, runs
        self.curvature = _pair_spread(weight, gain)
        self._parts: list[ByParts] | None = None

    def bound(self, middle: arb, radius: arb, enough: arb) -> arb:
        """Bound |phi| within a radius; no need to try hard where it is at most `enough`."""
        square = _square_modulus(self.weight, self.gain, self.curvature, middle, radius)
        atoms = arb.min(square.sqrt(), _sum(self.weight))
        t = arb.max((middle - radius).lower(), arb(0))
        layered = [(run.mass - missing(run.layers, t)).upper() for run in self.runs]
        total = (atoms + _sum(layered)).upper()
        if total <= enough:
            return total
        left = [
            _smallest([x, (v / t).upper(), (rest + bulk / t).upper()])
            for x, (v, bulk, rest) in zip(layered, self._by_parts(), strict=True)
        ]
        return (atoms + _sum(left)).upper()

    def limit(self, enough: arb) -> arb:
        """Bound |phi| far out."""
        atoms = _sum(self.weight)
        layered = [run.mass - _sum([layer.mass for layer in run.layers]) for run in self.runs]
        total = (atoms + _sum(layered)).upper()
        if total <= enough:
            return total
        pairs = zip(layered, self._by_parts(), strict=True)
        return (atoms + _sum([x for x, one in pairs if not one.variation.is_finite()])).upper()

    def settled_from(self, enough: float) -> float:
        """From which t on the bound is at most enough, in floating point."""
        atoms = float(_sum(self.weight))
        runs = [_in_floats(run) for run in self.runs]

        def layered(t: float) -> float:
            return atoms + sum(mass - missing_in_floats(layers, t) for mass, layers in runs)

        if layered(_FARTHEST) <= enough:
            return _crossing(layered, enough)
        parts = [tuple(float(x) for x in one) for one in self._by_parts()]

        def bound(t: float) -> float:
            return atoms + sum(
                min(mass - missing_in_floats(layers, t), v / t, rest + bulk / t)
                for (mass, layers), (v, bulk, rest) in zip(runs, parts, strict=True)
            )

        return _crossing(bound, enough)

    def _by_parts(self) -> list[ByParts]:
        if self._parts is None:
            self._parts = [run.by_parts() for run in self.runs]
        return self._parts


def _in_floats(run: Run) -> tuple[float, list[tuple[float, float]]]:
    return float(run.mass), [(float(mass), float(length)) for mass, length in run.layers]


def _crossing(bound: Callable[[float], float], enough: float) -> float:
    """From where on a falling bound is at most enough; inf for nowhere."""
    low, high = _NEAREST, _FARTHEST
    if bound(high) > enough:
        return math.inf
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if bound(middle) <= enough else (middle, high)
    return high


@dataclass(frozen=True)
class _Bulk:
    """|phi(t)| <= |sum w e^(i t g)| + rest + error(t): the rest is not resolved."""

    weight: list[arb]
    gain: list[arb]
    curvature: arb
    error: Callable[[arb], arb]
    rest: arb

    def bound(self, middle: arb, radius: arb) -> arb:
        square = _square_modulus(self.weight, self.gain, self.curvature, middle, radius)
        return (square.sqrt() + self.rest + self.error(middle + radius)).upper()


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


def _pair_spread(weight: Sequence[arb], gain: Sequence[arb]) -> arb:
    """Sum over pairs of w w' (g - g')^2 = (sum w) (sum w (g - m)^2) at the mean m, from above."""
    if not weight:
        return arb(0)
    mass = _sum(weight)
    mean = (_sum([w * g for w, g in zip(weight, gain, strict=True)]) / mass).mid()
    return (mass * _sum([w * (g - mean) ** 2 for w, g in zip(weight, gain, strict=True)])).upper()


def moment(law: GainLaw, alpha: arb) -> arb:
    """Enclose E e^(alpha G)."""
    total = _sum([w * (alpha * g).exp() for w, g in zip(law.weight, law.gain, strict=True)])
    if not law.errors:
        return total
    return total + arb(0, _error(law.errors, alpha, arb(0)))


def _error(errors: Sequence, real: arb, imaginary: arb) -> arb:
    return _sum([e.at(real, imaginary) for e in errors]).upper()


def _smallest(balls: Sequence[arb]) -> arb:
    best = balls[0]
    for ball in balls[1:]:
        best = arb.min(best, ball)
    return best


def _sum(balls: Sequence[arb]) -> arb:
    total = arb(0)
    for ball in balls:
        total += ball
    return total
