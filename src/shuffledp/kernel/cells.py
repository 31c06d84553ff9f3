"""Cells of outputs: finite laws of the gain, above and below a continuous one.

A report has the laws P and Q under the victim's two inputs; R is the reference.  With u = dP/dR,
v = dQ/dR and a = e^eps the gain at an output is g = u - a v.  A cell is a set of outputs with its
masses under R, P and Q and with bounds of u and v.

Let f be convex and non-decreasing with slopes of at most 1, and S the sum of the independent gains
of n messages.  E f(s + G) is convex in the gain G of one message, for every s.  Message by message
it follows:

below   E f(S) falls where the gain on a cell is replaced by its mean (P - a Q)/R there (Jensen's
        inequality).  The gain may be unbounded on the cell.
above   E f(S) grows where the gain on a cell is replaced by two atoms at the ends of its range,
        with the same mean.  Where the range has no lower end the gain is raised to the upper end.
        Where the range has no upper end the gain is lowered to the lower end, or to 0 where there
        is none, and n times the integral of what was taken away is added to the bound.

Proofs: docs/theory.md, Theorems 3.8, 3.9 and 3.9a.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, float_below, total
from shuffledp.errors import ParameterError

__all__ = [
    "Atom",
    "Cell",
    "Corner",
    "Ends",
    "Gain",
    "above",
    "below",
    "gains",
    "gathered",
    "joined",
    "product",
    "scaled",
    "spread",
]

Atom = tuple[arb, arb]  # (mass, gain)
_INFINITY = arb("inf")


class Corner(NamedTuple):
    """Likelihood ratios to the reference: u of P and v of Q."""

    u: arb
    v: arb


class Cell(NamedTuple):
    """A set of outputs with its masses and bounds of its likelihood ratios.

    Attributes
    ----------
    mass, p, q : arb
        Masses under the reference, P and Q.
    bottom : Corner
        On the cell u is at least ``bottom.u`` and v at most ``bottom.v``; the latter may be inf.
    top : Corner
        On the cell u is at most ``top.u`` and v at least ``top.v``; the former may be inf.
    stretch : tuple of arb, or None
        If given, u and v on the cell are the numbers of a corner times a common factor between
        these two: the gain is that corner's gain times the factor.

    Notes
    -----
    If u does not decrease and v does not increase from one cell to the next, the two cells share a
    corner, as one object: its gain is one atom for both.
    """

    mass: arb
    p: arb
    q: arb
    bottom: Corner
    top: Corner
    stretch: tuple[arb, arb] | None = None

    def swap(self) -> Cell:
        """The cell with P and Q exchanged."""
        bottom, top = Corner(self.top.v, self.top.u), Corner(self.bottom.v, self.bottom.u)
        return Cell(self.mass, self.q, self.p, bottom, top, self.stretch)

    def plain(self) -> Cell:
        """The cell without a common factor; the factor's extremes go into the corners."""
        if self.stretch is None:
            return self
        (low_u, high_v), (high_u, low_v), (least, most) = self.bottom, self.top, self.stretch
        bottom, top = Corner(least * low_u, most * high_v), Corner(most * high_u, least * low_v)
        return Cell(self.mass, self.p, self.q, bottom, top)


class Gain(NamedTuple):
    """The gain on a cell at one eps.

    Attributes
    ----------
    mass : arb
        The cell's mass under the reference.
    total : arb
        The gain's integral over the cell, P - a Q.
    rising : arb
        P's mass: an upper bound of the integral of the gain's positive part.
    low, high : arb
        low <= g <= high on the cell; infinite where the gain is unbounded.
    """

    mass: arb
    total: arb
    rising: arb
    low: arb
    high: arb


class Ends(NamedTuple):
    """A finite law of the gain, and a charge for what it leaves out.

    Attributes
    ----------
    atoms : list of Atom
        Their masses add up to those of the cells; for a law above, to the upper ends of these.
    charge : arb
        E f(S) is at most E f of n draws of the atoms plus n times the charge.
    """

    atoms: list[Atom]
    charge: arb


# ----------------------------------------------------------------------------- cells of parts


def product(one: Cell, other: Cell) -> Cell:
    """The cell of two independent reports sent together: masses and ratios multiply."""
    one, other = one.plain(), other.plain()
    bottom = Corner(_times(one.bottom.u, other.bottom.u), _times(one.bottom.v, other.bottom.v))
    top = Corner(_times(one.top.u, other.top.u), _times(one.top.v, other.top.v))
    return Cell(one.mass * other.mass, one.p * other.p, one.q * other.q, bottom, top)


def scaled(cell: Cell, share: arb) -> Cell:
    """The cell of a report that is this one with a known probability: ratios do not change."""
    return Cell(cell.mass * share, cell.p * share, cell.q * share, *cell[3:])


def joined(cells: Sequence[Cell]) -> Cell:
    """The union of disjoint cells."""
    cells = [cell.plain() for cell in cells]
    bottom, top = cells[0].bottom, cells[0].top
    for cell in cells[1:]:
        bottom = Corner(bottom.u.min(cell.bottom.u), bottom.v.max(cell.bottom.v))
        top = Corner(top.u.max(cell.top.u), top.v.min(cell.top.v))
    mass, p, q = (total(values) for values in zip(*(cell[:3] for cell in cells), strict=True))
    return Cell(mass, p, q, bottom, top)


# ------------------------------------------------------------------------- gains and their ends


def gains(cells: Iterable[Cell], grow: arb) -> list[Gain]:
    """The gains of cells at a = ``grow``; equal corners give one object."""
    # Corners are kept together with their gains, as the id of a deleted corner may be reused.
    known: dict[int, tuple[Corner, arb]] = {}

    def at(corner: Corner) -> arb:
        if id(corner) not in known:
            known[id(corner)] = corner, corner.u - grow * corner.v
        return known[id(corner)][1]

    def ends(cell: Cell) -> tuple[arb, arb]:
        low, high = at(cell.bottom), at(cell.top)
        if cell.stretch is None:
            return low, high
        least, most = cell.stretch
        return (least * low).min(most * low), (least * high).max(most * high)

    return [Gain(cell.mass, cell.p - grow * cell.q, cell.p, *ends(cell)) for cell in cells]


def below(found: Iterable[Gain]) -> list[Atom]:
    """Atoms below the gain in convex order: each cell at its mean gain."""
    return [(gain.mass, gain.total / gain.mass) for gain in found]


def above(found: Sequence[Gain]) -> Ends:
    """Atoms above the gain in increasing convex order, and the charge for unbounded gains."""
    places: dict[int, tuple[arb, arb]] = {}  # id of a gain -> (mass, gain)
    charge = arb(0)

    def add(gain: arb, mass: arb) -> None:
        before = places[id(gain)][0] if id(gain) in places else arb(0)
        places[id(gain)] = (before + mass, gain)

    silent = arb(0)
    for gain in _rounded_up(found):
        low, high, mass = gain.low, gain.high, gain.mass
        if low.is_finite() and high.is_finite() and high > low:
            share = _raised((gain.total - low * mass) / (high - low), mass)
            add(high, share)
            add(low, (mass - share).nonnegative_part())
        elif high.is_finite():
            add(high, mass)
        elif low.is_finite():
            charge += (gain.total - low * mass).nonnegative_part()
            add(low, mass)
        else:
            charge += gain.rising
            add(silent, mass)
    return Ends(list(places.values()), charge)


def _rounded_up(found: Sequence[Gain]) -> list[Gain]:
    """Gains whose masses, means and ends are exact numbers, none below the true one.

    A cell's mass is shared between its ends by differences of these numbers. If masses and ends are
    known to a billionth only, balls of the shares are wide where the ends are near. They also
    forget that they add up to the cell's mass, and n messages multiply that error by n.

    The rounded law is above the true one: a larger measure, or one with raised gains, has a larger
    E f(S), as f is non-negative and non-decreasing. With the ends l <= G <= h rounded to l' >= l
    and h' >= h, max(G, l') lies between l' and h', and its mean is at most that of G plus l' - l.
    """
    # Gains are kept together with their numbers, as the id of a deleted one may be reused.
    known: dict[int, tuple[arb, arb]] = {}

    def up(gain: arb) -> arb:
        if id(gain) not in known:
            known[id(gain)] = gain, gain.upper() if gain.is_finite() else gain
        return known[id(gain)][1]

    made = []
    for gain in found:
        low, high, mass = up(gain.low), up(gain.high), gain.mass.upper()
        mean = gain.total / gain.mass
        if low.is_finite():
            mean += low - gain.low.lower()
        total = (mean.upper() * mass).upper() if mean.is_finite() else gain.total
        made.append(Gain(mass, total, gain.rising.upper(), low, high))
    return made


def _raised(share: arb, mass: arb) -> arb:
    """The upper end of ``share``'s ball, between 0 and ``mass``, as an exact number.

    More mass at the upper gain is larger in increasing convex order.
    """
    return share.upper().nonnegative_part().min(mass)


# -------------------------------------------------------------------------------- fewer atoms


def gathered(atoms: Sequence[Atom], ends: Sequence[int]) -> list[Atom]:
    """Groups of consecutive atoms at their mean gains: below in convex order.

    Parameters
    ----------
    atoms : sequence of Atom
        The atoms of one group should be near each other.
    ends : sequence of int
        Where groups end, increasing; the last end is the number of atoms.
    """
    found, start = [], 0
    for end in ends:
        group = atoms[start:end]
        mass = total(m for m, _ in group)
        found.append((mass, total(m * g for m, g in group) / mass))
        start = end
    return found


def spread(atoms: Iterable[Atom], places: Sequence[float]) -> list[Atom]:
    """Every atom split between the two places around it, with its mean: above in convex order.

    Parameters
    ----------
    atoms : iterable of Atom
        Atoms below the first place are raised to it. Atoms above the last place, or at 0, are kept.
    places : sequence of float
        Increasing and finite.

    Raises
    ------
    ParameterError
        If they are not increasing and finite.
    """
    if not (all(map(math.isfinite, places)) and all(a < b for a, b in pairwise(places))):
        raise ParameterError("places: wanted finite numbers in increasing order")
    exact = [arb(x) for x in places]
    masses = [arb(0) for _ in places]
    far: list[Atom] = []
    for mass, gain in atoms:
        if gain.is_zero():
            far.append((mass, gain))
            continue
        # The ball may extend over a place; then the places around the whole ball are taken.
        low = bisect_right(places, float_below(gain)) - 1
        high = bisect_left(places, float_above(gain))
        if high == len(places):
            far.append((mass, gain))
        elif low < 0:
            masses[high] += mass
        else:
            share = _raised(mass * (gain - exact[low]) / (exact[high] - exact[low]), mass)
            masses[high] += share
            masses[low] += (mass - share).nonnegative_part()
    kept = [(m, x) for m, x in zip(masses, exact, strict=True) if not m.is_zero()]
    return [*kept, *far]


def _times(x: arb, y: arb) -> arb:
    """The product of two numbers >= 0, one of which may be infinite; 0 times inf is 0."""
    if x.is_finite() and y.is_finite():
        return x * y
    return arb(0) if x.is_zero() or y.is_zero() else _INFINITY
