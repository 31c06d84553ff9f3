"""The value h of a large gain among the gains of all others (Theorem 9.3), bounded from above.

docs/theory-stealing.md, section 9.  With N = n - 1 others and x the large gain, h_G(x) is at least

    (1/N) int (x + y)_+ [prod_l (c + d_l)](dy)    and
    int (x + y)_+ [int_0^1 c prod_(l != i) (u c + d_l) du](dy)

for types d_l of the group G and gains cut at C (Theorem 9.2).  Both quantities are bounded at
places x: forward by e^(t x) max J_N(c, d), backward by x/N + means + e^(-t x) max J_N(-c, -d), for
a tilt t.  Both are convex in x and rise by at most 1/N: between places a chord is an upper bound,
and beyond the last place a line with slope 1/N.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, total
from shuffledp.bounds.remainders import Remainder
from shuffledp.errors import NotCertified
from shuffledp.kernel.draws import Moments
from shuffledp.kernel.positive_sum import Atom, Line, ManySums, tilted

__all__ = ["Around", "Heights", "Others", "Place", "largest", "raised"]

_NOTHING = arb(0)
# h t of the sums at a tilt t; smoothing costs half of its square, 1 % of J.
_SMOOTHED = 0.15
# h T at the last node T, beyond which about e^-8 of the first term is left.
_REACH = 2.8


class Place(NamedTuple):
    """A gain at which h is bounded.

    Attributes
    ----------
    gain : float
        x > 0.
    tilt, step : float
        t > 0, and the distance of the sum's nodes.
    forward : bool
        Which of the two bounds is used.
    """

    gain: float
    tilt: float
    step: float
    forward: bool


class Around(NamedTuple):
    """The places at which h is bounded, and how sharply: any numbers are valid.

    Attributes
    ----------
    places : tuple of Place
        In the order of their gains, the first at C.
    floor : float
        Gains below -floor are raised to -floor; >= 0.
    room : float
        J of labels without jumps is computed no sharper than this times the others' largest J.
    """

    places: tuple[Place, ...]
    floor: float
    room: float


class Others(NamedTuple):
    """The laws of all others; gains are raised to the floor and not yet cut.

    Attributes
    ----------
    c : list of Atom
        The reservoir.
    hidden : arb
        Mass of the reservoir.
    groups : two lists of laws
        Labels with the left-over: those with jumps, and those almost without.
    remainders : sequence of Remainder
        Remainders of the second group; they have no jumps of their own.
    """

    c: list[Atom]
    hidden: arb
    groups: tuple[list[list[Atom]], list[list[Atom]]]
    remainders: Sequence[Remainder]


class Heights:
    """Upper bounds of h for both groups.

    Parameters
    ----------
    others : Others
        The laws of the other users.
    cut : arb
        C >= 0, at which gains are cut.
    count : int
        N, the number of others.
    around : Around
        The places and tilts.
    """

    def __init__(self, others: Others, cut: arb, count: int, around: Around) -> None:
        _check(around, cut)
        self._count, self._room = count, arb(around.room)
        self._c = _cut(others.c, cut)
        self._groups = tuple([_cut(law, cut) for law in group] for group in others.groups)
        self._remainders = others.remainders
        self._sums: dict[Place, tuple[arb, arb]] = {}
        self._means = self._mean_line(others.hidden)
        self._values = self._bounds(around.places)

    def integral(self, jumps: Iterable[Atom]) -> tuple[arb, arb]:
        """N int h over these gains, all of at least C, for each group."""
        first = second = _NOTHING
        for mass, gain in jumps:
            one, two = self._at(gain)
            first, second = first + mass * one, second + mass * two
        return self._count * first, self._count * second

    def _mean_line(self, hidden: arb) -> arb | None:
        """c' + (1 - e) max d', e = (1 - |c|)^(N-1); None unless all means are <= 0."""
        c = _mean(self._c)
        means = [_mean(law) for group in self._groups for law in group]
        worst = largest([*means, *(one.mean for one in self._remainders)])
        if not (c <= 0 and worst <= 0):
            return None
        return c + (1 - (1 - hidden) ** (self._count - 1)) * worst

    def _bounds(self, places: Sequence[Place]) -> list[tuple[arb, arb, arb]]:
        """(x, h of the first group, h of the second group) for increasing x.

        At each place both groups use the same kind of bound, as a data set of both needs the mean
        of the two.
        """
        found: list[tuple[arb, arb, arb]] = []
        for place in places:
            x, values = arb(place.gain), self._bound(place)
            if found:
                last, one, two = found[-1]
                rise = (x - last) / self._count
                values = min(values, (one + rise, two + rise), key=_middle)
                if last == x:
                    found.pop()
            found.append((x, *values))
        if not all(one.is_finite() and two.is_finite() for _, one, two in found):
            raise NotCertified("lone-jump: numbers at which the others' sum has no bound")
        return found

    def _bound(self, place: Place) -> tuple[arb, arb]:
        """The bounds for both groups at one place."""
        x, tilt = arb(place.gain), arb(place.tilt)
        if place.forward:
            one, two = self._largest(place)
            grow = (tilt * x).exp()
            return grow * one, grow * two
        if self._means is None:
            return arb("inf"), arb("inf")
        one, two = self._largest(place)
        line, fall = x / self._count + self._means, (-tilt * x).exp()
        return line + fall * one, line + fall * two

    def _largest(self, place: Place) -> tuple[arb, arb]:
        """The largest J_N of both groups at this tilt; gains are negated for a backward place."""
        key = place._replace(gain=0.0)
        if key not in self._sums:
            self._sums[key] = self._largest_sums(key)
        return self._sums[key]

    def _largest_sums(self, place: Place) -> tuple[arb, arb]:
        alpha, n, back = arb(place.tilt), self._count, not place.forward
        smoothing = _SMOOTHED / place.tilt
        last = math.ceil(_REACH / (smoothing * place.step))
        c = tilted(_negated(self._c) if back else self._c, alpha)
        sums = ManySums(c, n, Line(place.tilt, smoothing, place.step, last, 1.0))
        rest = largest([one.mass(alpha, negated=back) for one in self._remainders])
        least = (c.mass + rest) ** n / (2 * alpha * n) if self._remainders else _NOTHING
        first, second = ([_negated(law) if back else law for law in one] for one in self._groups)
        one = _largest_sum(sums, c, first, n, _NOTHING)
        return one, _largest_sum(sums, c, second, n, least.max(self._room * one))

    def _at(self, x: arb) -> tuple[arb, arb]:
        """h of both groups at a gain: on a chord, or on the line beyond the last place."""
        last, *values = self._values[-1]
        if not x < last:
            rise = (x - last).max(_NOTHING) / self._count
            return values[0] + rise, values[1] + rise
        for (left, *low), (right, *high) in pairwise(self._values):
            if x <= right:
                part = ((x - left) / (right - left)).max(_NOTHING).min(arb(1))
                return low[0] + part * (high[0] - low[0]), low[1] + part * (high[1] - low[1])
        return values[0], values[1]


def largest(values: Sequence[arb]) -> arb:
    """The largest of the values; 0 if there are none."""
    return reduce(arb.max, values) if values else _NOTHING


def raised(atoms: Iterable[Atom], least: arb) -> list[Atom]:
    """The atoms with gains below ``least`` raised to it."""
    return [(mass, gain if gain >= least else gain.max(least)) for mass, gain in atoms]


def _largest_sum(sums: ManySums, c: Moments, laws: Sequence[list[Atom]], n: int, best: arb) -> arb:
    """An upper bound of the largest J(c, d) over these laws, at least ``best``.

    A law whose Chernoff bound does not exceed what has been found needs no sum.
    """
    alpha = c.alpha
    masses = [total(mass * (alpha * gain).exp() for mass, gain in law) for law in laws]
    for i in sorted(range(len(laws)), key=lambda i: -float(masses[i].mid())):
        rough = (c.mass + masses[i]) ** n / (2 * alpha * n)
        if not rough <= best:
            best = best.max(rough.min(sums.bound(tilted(laws[i], alpha))))
    return best


def _check(around: Around, cut: arb) -> None:
    gains = [place.gain for place in around.places]
    good = bool(gains) and bool(cut == gains[0]) and gains == sorted(gains)
    good = good and all(0.0 < x < math.inf for p in around.places for x in (p.tilt, p.step))
    good = good and gains[-1] < math.inf and 0.0 <= around.floor < math.inf
    if not (good and 1.0 <= around.room < math.inf):
        raise NotCertified("lone-jump: wanted places from the ceiling on, and tilts > 0")


def _cut(atoms: Iterable[Atom], cut: arb) -> list[Atom]:
    return [(mass, gain.min(cut)) for mass, gain in atoms]


def _negated(atoms: Iterable[Atom]) -> list[Atom]:
    return [(mass, -gain) for mass, gain in atoms]


def _mean(atoms: Iterable[Atom]) -> arb:
    return total(mass * gain for mass, gain in atoms)


def _middle(values: tuple[arb, arb]) -> float:
    return float(values[0].mid())
