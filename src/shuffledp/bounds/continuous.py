"""Pairs of laws with continuous outputs: the gain's law by cells, from above and from below.

A source makes the cells of one report at the working precision, finer for a smaller allowed error.
This module makes of them the pair that `bounds.profile` evaluates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, float_above, precision_for, total
from shuffledp.bounds.line import Line
from shuffledp.bounds.pairs import Atoms, End, Floats, Gains, Rough
from shuffledp.kernel.cells import (
    Atom,
    Cell,
    Gain,
    above,
    below,
    gains,
    gathered,
    spread,
)
from shuffledp.propose.cells import Aim, Sketch, edges, places, rough_law, sketch

__all__ = ["CellPair", "Cells", "FixedSource", "LineSource", "Source"]

# `Profile` allows for outputs that are cut off an error of e^-3 of a bracket's width. Cells may
# take e^_MORE times as much, about a third of the width at each end.
_MORE = 2.0
# Laws with at most this many atoms are neither grouped nor spread over common places.
_EXACT = 300
# Number of groups of cells in an estimate's law.
_GROUPS = 160
# The guess of log delta where nothing is known of it.
_GUESS = -20.0
# Larger gains are lowered to this: a single such gain outweighs all others.
_HUGE = 1e100
# Outputs with a smaller share of the mass, under P and the reference, do not matter to an estimate,
# as delta >= 1e-100.
_SEEN = 1e-110
# log of the mass beyond which a sketch of a law stops, relative to the allowed error.
_DEEPER = -6.0
# A gain this many times the largest positive one outweighs all draws that matter to an estimate.
_OUTWEIGHS = 1e4
# Least mass under P of the gains that an estimate's groups tell apart.
_COUNTS = 1e-40
# log of the mass under P of gains that are charged to delta as a whole, relative to the allowed
# error.
_RARE = -3.0
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


def _rest(masses: Iterable[arb]) -> arb:
    """The mass that cells leave of a law of mass 1."""
    return (1 - total(masses)).nonnegative_part()


def _above(found: Sequence[Gain]) -> Law:
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
        changes by at least -e^eps q and at most p (docs/theory.md, section 3.3).
    outside : bool
        Whether some outputs left out have no mass under the reference.
    """

    cells: list[Cell]
    p: arb
    q: arb
    outside: bool = False


class Source(Protocol):
    """The laws P, Q and reference of one report."""

    @property
    def name(self) -> Hashable:
        """A key that is equal only for equal laws."""
        ...

    @property
    def has_outside(self) -> bool:
        """Whether P or Q has outputs that the reference does not have."""
        ...

    def swap(self) -> Source:
        """The source with P and Q exchanged."""
        ...

    def below(self, eps: arb, aim: Aim) -> Law:
        """A law below the gain in convex order; its charge is what delta loses."""
        ...

    def above(self, eps: arb, aim: Aim) -> Law:
        """A law above the gain in convex order; its charge is added to delta."""
        ...

    def rough(self, epsilon: float) -> tuple[Floats, Floats, Floats]:
        """Masses, gains and masses of P in floats, without the left-over."""
        ...


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
            return self.source.has_outside

    def log_floor(self) -> float:
        """-inf: every output of P is also one of Q."""
        return -math.inf

    def gains(self, eps: arb, log_error: float, end: End = "both", guess: float = _GUESS) -> Gains:
        """Atoms above and below, from cells fine enough for an error of delta near e^log_error."""
        upper, lower, seen = None, None, arb(0)
        aim = Aim(self.n, guess, log_error + _MORE)
        if end != "lower":
            found = self.source.above(eps, aim)
            upper, seen = _with_rest(found), seen.union(found.charge.upper())
        if end != "upper":
            found = self.source.below(eps, aim)
            lower, seen = _with_rest(found), seen.union(-found.charge.upper())
        return Gains(upper, lower, seen)

    def in_floats(self, epsilon: float) -> Rough:
        """An estimate of the law, without outputs of negligible mass."""
        masses, found, heavy = self.source.rough(epsilon)
        seen = heavy > _SEEN * float(heavy.sum())
        rest = max(1.0 - math.fsum(masses[seen]), 0.0)
        found = np.minimum(found[seen], _HUGE)
        return Rough(np.append(masses[seen], rest), np.append(found, 0.0), 0.0, 0.0)


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

    def below(self, eps: arb, aim: Aim) -> Law:
        """A law below: cells at their mean gains."""
        found = self._gains(eps, aim, upper=False)
        return Law(below(found), _rest(gain.mass for gain in found), arb(0))

    def above(self, eps: arb, aim: Aim) -> Law:
        """A law above: cells at the ends of their ranges of gains."""
        return _above(self._gains(eps, aim, upper=True))

    def _gains(self, eps: arb, aim: Aim, *, upper: bool) -> list[Gain]:
        line, seen = self.line(), self._sketch(aim.log_error)
        cut = edges(seen, aim, epsilon=float(eps), upper=upper)
        return gains(line.cells(cut), eps.exp())

    def _sketch(self, log_error: float) -> Sketch:
        depth = 10.0 * math.floor((log_error + _DEEPER) / 10.0)
        key = ("sketch", depth)
        if key not in self._made:
            self._made[key] = sketch(self.line(), depth)
        return self._made[key]  # type: ignore[return-value]

    def rough(self, epsilon: float) -> tuple[Floats, Floats, Floats]:
        """The law in floats, at Gauss-Legendre nodes."""
        if "rough" not in self._made:
            self._made["rough"] = rough_law(self.line())
        masses, u, v = self._made["rough"]  # type: ignore[misc]
        with np.errstate(over="ignore"):
            return masses, u - math.exp(epsilon) * v, masses * np.maximum(u, 1.0)


@dataclass(frozen=True)
class FixedSource:
    """Cells that are made once, then grouped or spread anew at every eps.

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

    def below(self, eps: arb, aim: Aim) -> Law:
        """A law below: groups of cells at their mean gains."""
        made = self.cells()
        rest, loss = _rest(cell.mass for cell in made.cells), eps.exp() * made.q
        atoms = sorted(below(gains(made.cells, eps.exp())), key=lambda atom: float(atom[1]))
        if len(atoms) <= _EXACT:
            return Law(atoms, rest, loss)
        mass, gain = _floats(atoms)
        at = places(mass, gain, aim, epsilon=float(eps), upper=False)
        ends = np.unique(np.append(np.searchsorted(gain, at[1:-1]), len(atoms)))
        kept = [int(end) for end in ends if end > 0]
        return Law(gathered(atoms, kept), rest, loss)

    def above(self, eps: arb, aim: Aim) -> Law:
        """A law above: cells at the ends of their ranges, spread over common places."""
        made = self.cells()
        every = gains(made.cells, eps.exp())
        found = _above(_without_rare(every, math.exp(aim.log_error + _RARE)))
        atoms = _lows_raised(found.atoms, aim.n)
        if len(atoms) > _EXACT:
            at = places(*_floats(atoms), aim, epsilon=float(eps), upper=True)
            atoms = spread(atoms, [float(x) for x in at])
        return Law(atoms, found.rest, found.charge + made.p)

    def rough(self, epsilon: float) -> tuple[Floats, Floats, Floats]:
        """The law in floats: groups of cells at their mean gains."""
        if "rough" not in self._made:
            rows = [[float(c.mass), float(c.p), float(c.q)] for c in self.cells().cells]
            self._made["rough"] = np.array(rows).reshape(-1, 3)
        rows = np.asarray(self._made["rough"])
        if not rows.size:
            return rows[:, 0], rows[:, 0], rows[:, 0]  # every output reveals its input
        rows = rows[
            np.argsort(rows[:, 1] / rows[:, 0] - math.exp(epsilon) * rows[:, 2] / rows[:, 0])
        ]
        mass, gain = rows[:, 0], (rows[:, 1] - math.exp(epsilon) * rows[:, 2]) / rows[:, 0]
        # Beyond many times the largest gain that counts, a gain's exact value does not matter.
        counts = np.cumsum(rows[::-1, 1])[::-1] > _COUNTS
        top = min(float(gain[counts].max(initial=1.0)), 1e65)
        seen = np.clip(gain, -_OUTWEIGHS * top, top)
        cost = mass * np.diff(seen, prepend=seen[0]) ** 2
        # Half of the groups serve the bulk of the law, half its tails.
        both = [cost ** (1.0 / 3.0), cost ** (1.0 / 12.0)]
        part = sum(one / max(float(one.sum()), 1e-300) for one in both) / 2.0
        share = np.floor(np.cumsum(part) * _GROUPS * (1.0 - 1e-9))
        starts = np.flatnonzero(np.diff(share, prepend=-1.0))
        rows = np.add.reduceat(rows, starts, axis=0)
        gain = (rows[:, 1] - math.exp(epsilon) * rows[:, 2]) / rows[:, 0]
        return rows[:, 0], gain, np.maximum(rows[:, 0], rows[:, 1])


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


def _floats(atoms: Sequence[Atom]) -> tuple[Floats, Floats]:
    """Masses and gains of atoms as float arrays."""
    return np.array([float(m) for m, _ in atoms]), np.array([float(g) for _, g in atoms])
