"""Noise on an interval in balls: tails, density ratios, and gains on cells of outputs.

Inputs fill [0, 1]; Z is Laplace or normal noise of density f, f_x(y) = f(y - x), a = e^eps.  The
gain of a triple (x0, x1, x) at an output is (f_x0 - a f_x1)/f_x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb
from shuffledp.kernel.positive_sum import Atom

__all__ = ["Gain", "Outputs", "Shrink", "above", "cell_gains", "constant", "constant_ends"]

_ONE, _NOTHING = arb(1), arb(0)
Shrink = Callable[[float, float], arb]


class Gain(NamedTuple):
    """The gain on a cell: mass of f_x, integral of the gain, and range of the gain."""

    mass: arb
    total: arb
    low: arb
    high: arb


class Outputs:
    """Tails and density ratios of the noise, each computed once.

    Parameters
    ----------
    normal : bool
        Whether the noise is normal; otherwise it is Laplace.
    scale : arb
        Standard deviation (normal) or scale (Laplace), in units of the interval.
    """

    def __init__(self, scale: arb, *, normal: bool) -> None:
        self.normal, self.scale = normal, scale
        self._tails: dict[tuple[float, float], arb] = {}
        self._ratios: dict[tuple[float, float, float], arb] = {}
        # d log(f_u/f_x)/dy is ``turn`` times a difference of inputs (normal) or of signs (Laplace).
        self.turn = 1 / (scale * scale) if normal else 1 / scale
        self._unit = 1 / (scale * arb(2).sqrt()) if normal else 1 / scale

    def beyond(self, z: arb) -> arb:
        """P(Z > z); Laplace noise requires z >= 0."""
        return (z * self._unit).erfc() / 2 if self.normal else (-z * self._unit).exp() / 2

    def tail(self, x: float, y: float) -> arb:
        """P(Z > |y - x|)."""
        key = (x, y)
        if key not in self._tails:
            self._tails[key] = self.beyond(abs(arb(y) - x))
        return self._tails[key]

    def above(self, z: arb) -> arb:
        """P(Z > z) for any z."""
        if self.normal:
            return self.beyond(z)
        far = self.beyond(abs(z))
        if z >= 0:
            return far
        return 1 - far if z < 0 else far.union(1 - far)

    def mass(self, x: float, left: float, right: float) -> arb:
        """P(left < x + Z < right)."""
        if x <= left:
            return self.tail(x, left) - self.tail(x, right)
        if x >= right:
            return self.tail(x, right) - self.tail(x, left)
        return 1 - self.tail(x, left) - self.tail(x, right)

    def ratio(self, u: float, x: float, y: float) -> arb:
        """The density ratio f_u(y)/f_x(y)."""
        if u == x:
            return _ONE
        key = (u, x, y)
        if key not in self._ratios:
            if self.normal:
                level = (arb(u) - x) * (2 * arb(y) - u - x) / 2
            else:
                level = abs(arb(y) - x) - abs(arb(y) - u)
            self._ratios[key] = (self.turn * level).exp()
        return self._ratios[key]

    def turns(self, u: float, x: float, left: float) -> arb:
        """d log(f_u/f_x)/dy in units of ``turn``, on a cell whose left edge is ``left``."""
        if self.normal:
            return arb(u) - x
        return arb((1 if left >= x else -1) - (1 if left >= u else -1))


def cell_gains(
    at: Outputs,
    triple: tuple[float, float, float],
    edges: Sequence[float],
    grow: arb,
    shrink: Shrink | None = None,
) -> list[Gain]:
    """The gain (f_x0 - a f_x1)/(k f_x) under k f_x on each cell, with k = ``shrink(left, right)``.

    As g' = turn f_x1/f_x (t0 f_x0/f_x1 - a t1) and f_x0/f_x1 is monotone, g is monotone on a cell
    where g' has the same sign at both ends.  On other cells g differs from its value at the nearer
    end by at most half of the width times the largest slope.
    """
    x0, x1, x = triple
    ratios = [(at.ratio(x0, x, y), at.ratio(x1, x, y)) for y in edges]
    values = [u - grow * v for u, v in ratios]
    found = []
    for i, (left, right) in enumerate(pairwise(edges)):
        mass, gained = at.mass(x, left, right), at.mass(x0, left, right)
        t0, t1 = at.turns(x0, x, left), grow * at.turns(x1, x, left)
        (u, v), (p, q) = ratios[i], ratios[i + 1]
        slopes = t0 * u - t1 * v, t0 * p - t1 * q
        low, high = values[i], values[i + 1]
        if slopes[0] <= 0 and slopes[1] <= 0:
            low, high = high, low
        elif not (slopes[0] >= 0 and slopes[1] >= 0):
            steep = abs((t0 * u).union(t0 * p) - (t1 * v).union(t1 * q)).upper()
            moved = at.turn * steep * (arb(right) - left) / 2
            low, high = low.min(high) - moved, low.max(high) + moved
        if shrink is not None:
            k = shrink(left, right)
            mass, low, high = k * mass, low / k, high / k
        found.append(Gain(mass, gained - grow * at.mass(x1, left, right), low, high))
    return found


def above(found: Sequence[Gain]) -> list[Atom]:
    """Two atoms for each cell, at the ends of its range with its mean: larger in convex order.

    Adjacent cells share one ball at their common end, which makes one atom (Lemma 4.2).
    """
    places: dict[int, Atom] = {}

    def add(gain: arb, mass: arb) -> None:
        before = places[id(gain)][0] if id(gain) in places else _NOTHING
        places[id(gain)] = before + mass, gain

    for mass, total, low, high in found:
        if high > low:
            part = ((total - low * mass) / (high - low)).nonnegative_part().min(mass)
            add(high, part)
            add(low, (mass - part).nonnegative_part())
        else:
            add(high, mass)
    return list(places.values())


def constant_ends(
    at: Outputs, triple: tuple[float, float, float], edges: Sequence[float], grow: arb
) -> list[Gain]:
    """The two tails of Laplace noise, beyond the outer edges, where gains are constant."""
    x0, x1, x = triple
    found = []
    for y in (edges[0], edges[-1]):
        value = at.ratio(x0, x, y) - grow * at.ratio(x1, x, y)
        found.append(constant(at.tail(x, y), value))
    return found


def constant(mass: arb, gain: arb) -> Gain:
    """A cell with a constant gain."""
    return Gain(mass, mass * gain, gain, gain)
