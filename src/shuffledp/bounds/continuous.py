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
    "Law",
    "Source",
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

    def swap(self) -> Cells:
        """The cells with P and Q exchanged."""
        return Cells([cell.swap() for cell in self.cells], self.q, self.p, self.outside)

    def below(self, eps: arb) -> Law:
        """A law below: cells at their mean gains, in ascending order."""
        rest, loss = _rest(cell.mass for cell in self.cells), eps.exp() * self.q
        atoms = sorted(below(gains(self.cells, eps.exp())), key=lambda atom: float(atom[1]))
        return Law(atoms, rest, loss)

    def above(self, eps: arb, rare: float, n: int) -> Law:
        """A law above for n messages: cells at the ends of their ranges.

        The largest gains, of mass up to ``rare`` under P, are charged to delta as a whole.
        """
        found = law_above(_without_rare(gains(self.cells, eps.exp()), rare))
        return Law(_lows_raised(found.atoms, n), found.rest, found.charge + self.p)


@dataclass(frozen=True)
class Source:
    """The laws of one report under the victim's two inputs and the reference.

    Attributes
    ----------
    name : hashable
        A key of the laws.
    make : callable
        () -> at the working precision, a line, whose cells are made anew at every eps, or cells
        that are made once, and then grouped or spread.
    """

    name: Hashable
    make: Callable[[], Line | Cells] = field(compare=False, repr=False)
    _made: dict[int, Line | Cells] = field(
        default_factory=dict, compare=False, repr=False, init=False
    )

    def swap(self) -> Source:
        """The source with P and Q exchanged."""
        make = self.make
        return Source((self.name, "swapped"), lambda: make().swap())

    def made(self) -> Line | Cells:
        """The line, or the cells, at the working precision."""
        if ctx.prec not in self._made:
            self._made[ctx.prec] = self.make()
        return self._made[ctx.prec]


@dataclass(frozen=True)
class CellPair:
    """A pair of laws whose gain is described by cells.

    Attributes
    ----------
    source : Source
        The laws of one report.
    n : int
        Number of messages in the shuffle, the victim's included.
    """

    source: Source
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
            made = self.source.made()
        return isinstance(made, Cells) and made.outside

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
