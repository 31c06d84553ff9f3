"""Pairs of laws with continuous outputs: the gain's law by cells, from above and from below.

Cells are sets of outputs. Any cuts, groups and places are valid: a bad choice makes the two laws
less alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, ctx, float_above, precision_for, total
from shuffledp.bounds.line import Line
from shuffledp.bounds.pairs import Atoms, Gains
from shuffledp.kernel.cells import Atom, Cell, Gain, above, below, gains, gathered, spread

__all__ = [
    "CellPair",
    "Cells",
    "FixedSource",
    "Law",
    "LineSource",
    "bracketed",
    "law_above",
    "law_below",
]

_INFINITY = arb("inf")


class Law(NamedTuple):
    """A law of one gain, above or below in convex order.

    Attributes
    ----------
    atoms : sequence of Atom
        Atoms, without the left-over mass of the reference.
    rest : arb
        Mass of the left-over, whose gain is 0; for a law above, an upper bound of it.
    charge : arb
        Added to delta for a law above, subtracted for a law below.
    """

    atoms: Sequence[Atom]
    rest: arb
    charge: arb

    def gathered(self, ends: Sequence[int]) -> Law:
        """Groups of consecutive atoms at their mean gains, for a law below."""
        return self._replace(atoms=gathered(self.atoms, ends))

    def spread(self, places: Sequence[float]) -> Law:
        """Atoms split between places, for a law above."""
        return self._replace(atoms=spread(self.atoms, places))


def _rest(masses: Iterable[arb]) -> arb:
    """The mass that cells leave of a law of mass 1."""
    return (1 - total(masses)).nonnegative_part()


def law_below(found: Sequence[Gain]) -> Law:
    """Cells at their mean gains."""
    return Law(below(found), _rest(gain.mass for gain in found), arb(0))


def law_above(found: Sequence[Gain]) -> Law:
    """Cells moved to the ends of their ranges; masses and the left-over are rounded up."""
    ends = above(found)
    return Law(ends.atoms, _rest(gain.mass for gain in found).upper(), ends.charge)


class Cells(NamedTuple):
    """Cells of all outputs but some that are left out.

    Attributes
    ----------
    cells : list of Cell
        Cells; their masses under the reference add up to at most 1.
    p, q : arb
        Upper bounds of the masses of P and Q outside of the cells. With the gain 0 there, delta
        changes by at least -e^eps q and at most p (docs/theory.md, section 3.5).
    outside : bool
        Whether some outputs left out have no mass under the reference.
    """

    cells: list[Cell]
    p: arb
    q: arb
    outside: bool = False


@dataclass(frozen=True)
class CellPair:
    """A pair of laws whose gain is described by cells.

    Attributes
    ----------
    source : LineSource or FixedSource
        The laws of one report.
    n : int
        Number of messages in the shuffle, the victim's included.
    """

    source: LineSource | FixedSource
    n: int

    @property
    def one_law(self) -> bool:
        """False: the laws above and below differ."""
        return False

    def fingerprint(self) -> Hashable:
        """The source's name and n, as the cells depend on eps."""
        return self.source.name, self.n

    def swap(self) -> CellPair:
        """The pair in the other direction."""
        return replace(self, source=self.source.swap())

    @property
    def has_outside(self) -> bool:
        """Whether the victim has outputs that the reference does not have."""
        with ctx.workprec(precision_for(self.n)):
            return self.source.has_outside

    def log_floor(self) -> float:
        """-inf: every output of P is also one of Q."""
        return -math.inf


def bracketed(lower: Law | None, upper: Law | None) -> Gains:
    """The gain's laws below and above, with what they leave out; None where one is not wanted."""
    seen = arb(0)
    if upper is not None:
        seen = seen.union(upper.charge.upper())
    if lower is not None:
        seen = seen.union(-lower.charge.upper())
    made = [None if law is None else _with_rest(law) for law in (upper, lower)]
    return Gains(made[0], made[1], seen)


def _with_rest(found: Law) -> Atoms:
    """A law's atoms and the left-over of the reference, whose gain is 0."""
    masses, values = [m for m, _ in found.atoms], [g for _, g in found.atoms]
    return Atoms([*masses, found.rest], [*values, arb(0)])


@dataclass(frozen=True)
class LineSource:
    """A number plus symmetric noise: cells are made anew at every eps.

    Attributes
    ----------
    name : hashable
        A key of the law.
    make : callable
        () -> the line, at the working precision.
    """

    name: Hashable
    make: Callable[[], Line] = field(compare=False, repr=False)
    _made: dict[object, object] = field(default_factory=dict, compare=False, repr=False, init=False)

    def swap(self) -> LineSource:
        """The source with P and Q exchanged."""
        make = self.make

        def exchanged() -> Line:
            line = make()
            return replace(line, x0=line.x1, x1=line.x0)

        return LineSource((self.name, "swapped"), exchanged)

    @property
    def has_outside(self) -> bool:
        """False: noise reaches every output."""
        return False

    def line(self) -> Line:
        """The line at the working precision."""
        key = ctx.prec
        if key not in self._made:
            self._made[key] = self.make()
        return self._made[key]  # type: ignore[return-value]

    def gains(self, eps: arb, edges: Sequence[float]) -> list[Gain]:
        """The gains on cells cut at these edges."""
        return gains(self.line().cells(edges), eps.exp())


@dataclass(frozen=True)
class FixedSource:
    """Cells that are made once, and then grouped or spread at every eps.

    Attributes
    ----------
    name : hashable
        A key of the law.
    make : callable
        () -> the cells, at the working precision.
    """

    name: Hashable
    make: Callable[[], Cells] = field(compare=False, repr=False)
    _made: dict[object, object] = field(default_factory=dict, compare=False, repr=False, init=False)

    def swap(self) -> FixedSource:
        """The source with P and Q exchanged."""
        make = self.make

        def exchanged() -> Cells:
            made = make()
            return Cells([cell.swap() for cell in made.cells], made.q, made.p, outside=made.outside)

        return FixedSource((self.name, "swapped"), exchanged)

    @property
    def has_outside(self) -> bool:
        """Whether outputs left out of the cells have no mass under the reference."""
        return self.cells().outside

    def cells(self) -> Cells:
        """The cells at the working precision."""
        key = ctx.prec
        if key not in self._made:
            self._made[key] = self.make()
        return self._made[key]  # type: ignore[return-value]

    def below(self, eps: arb) -> Law:
        """A law below: cells at their mean gains, in ascending order."""
        made = self.cells()
        rest, loss = _rest(cell.mass for cell in made.cells), eps.exp() * made.q
        atoms = sorted(below(gains(made.cells, eps.exp())), key=lambda atom: float(atom[1]))
        return Law(atoms, rest, loss)

    def above(self, eps: arb, rare: float, n: int) -> Law:
        """A law above for n messages: cells at the ends of their ranges.

        The largest gains, of mass up to ``rare`` under P, are charged to delta as a whole.
        """
        made = self.cells()
        found = law_above(_without_rare(gains(made.cells, eps.exp()), rare))
        return Law(_lows_raised(found.atoms, n), found.rest, found.charge + made.p)


def _without_rare(found: list[Gain], most: float) -> list[Gain]:
    """The largest gains, of mass up to ``most`` under P, made unbounded to be charged."""
    kept, seen = list(found), 0.0
    for i in sorted(range(len(found)), key=lambda i: -float_above(found[i].high)):
        seen += float_above(found[i].rising)
        if seen > most:
            break
        kept[i] = found[i]._replace(low=-_INFINITY, high=_INFINITY)
    return kept


def _lows_raised(atoms: Sequence[Atom], n: int) -> list[Atom]:
    """Gains below -n times the largest one raised to that: one such draw outweighs all others."""
    floor = -n * max((gain.upper() for _, gain in atoms), key=float, default=arb(0)).max(arb(0))
    return [(mass, gain.max(floor)) for mass, gain in atoms]
