"""Pairs of mechanisms with continuous outputs: the gain's law by cells, above and below.

A source makes cells of one report at the working precision, finer where less error is allowed; this
module makes the pair that `bounds.profile` evaluates.
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

# Of the error that is allowed for what is cut off the profile asks e^-3 of a bracket's width: cells
# take this much more, about a third of the width on either side.
_MORE = 2.0
# So few atoms are neither gathered nor shared out.
_EXACT = 300
# Groups of cells in an estimate's law.
_GROUPS = 160
# log of delta, where nothing is known of it.
_GUESS = -20.0
# Larger gains are as large: one of them outweighs all others.
_HUGE = 1e100
# Outputs of less mass, under P and the reference, do not matter to an estimate: delta >= 1e-100.
_SEEN = 1e-110
# log of the mass beyond which a sketch of a law does not look, against the error allowed.
_DEEPER = -6.0
# Gains that many times the largest one outweigh all draws that an estimate need look at.
_OUTWEIGHS = 1e4
# What P has of gains that count in an estimate's groups.
_COUNTS = 1e-40
# log of what P has of gains that are charged to delta, against the error allowed.
_RARE = -3.0
_INFINITY = arb("inf")


class Law(NamedTuple):
    """A law of the gain at one end.

    Attributes
    ----------
    atoms : sequence of Atom
        Without the left-over of the reference.
    rest : arb
        The left-over's mass: above, at least it.
    charge : arb
        Added to delta above, taken off it below.
    """

    atoms: Sequence[Atom]
    rest: arb
    charge: arb


def _rest(masses: Iterable[arb]) -> arb:
    """What cells leave of a law of mass 1."""
    return (1 - total(masses)).nonnegative_part()


def _above(found: Sequence[Gain]) -> Law:
    """Cells at the ends of their ranges. Masses are rounded up, and so is what they leave."""
    ends = above(found)
    return Law(ends.atoms, _rest(gain.mass for gain in found).upper(), ends.charge)


class Cells(NamedTuple):
    """Cells of all outputs, but for some that are left out.

    Attributes
    ----------
    cells : list of Cell
        Their masses under the reference add up to at most 1.
    p, q : arb
        What P and Q have beyond the cells, at most: with the gain 0 there delta changes by at least
        -e^eps q and at most p (docs/theory.md, section 3.3).
    outside : bool
        Whether some of them have no mass under the reference.
    """

    cells: list[Cell]
    p: arb
    q: arb
    outside: bool = False


class Source(Protocol):
    """The laws P, Q and reference of one report."""

    @property
    def name(self) -> Hashable:
        """Equal only for equal laws."""
        ...

    @property
    def has_outside(self) -> bool:
        """Whether there are outputs of P or Q that the reference does not have."""
        ...

    def swap(self) -> Source:
        """P and Q exchanged."""
        ...

    def below(self, eps: arb, aim: Aim) -> Law:
        """A law of the gain below in convex order, and what delta loses."""
        ...

    def above(self, eps: arb, aim: Aim) -> Law:
        """A law of the gain above, and what is charged to delta."""
        ...

    def rough(self, epsilon: float) -> tuple[Floats, Floats, Floats]:
        """Masses, gains and masses of P in floats, without the left-over."""
        ...


@dataclass(frozen=True)
class CellPair:
    """A pair of laws by cells.

    Attributes
    ----------
    source : Source
        The laws of one report.
    n : int
        Messages in the shuffle, the victim's included.
    """

    source: Source
    n: int

    @property
    def one_law(self) -> bool:
        """One above and one below."""
        return False

    def fingerprint(self) -> Hashable:
        """The source's name, and n: other eps have other cells."""
        return self.source.name, self.n

    def swap(self) -> CellPair:
        """The other direction."""
        return replace(self, source=self.source.swap())

    @property
    def has_outside(self) -> bool:
        """Whether there are outputs of the victim that the reference does not have."""
        with ctx.workprec(precision_for(self.n)):
            return self.source.has_outside

    def log_floor(self) -> float:
        """Every output of P is one of Q too."""
        return -math.inf

    def gains(self, eps: arb, log_error: float, end: End = "both", guess: float = _GUESS) -> Gains:
        """Atoms above and below, from cells such that delta is known to about e^log_error."""
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
        """About the law, without outputs that hardly anybody sends."""
        masses, found, heavy = self.source.rough(epsilon)
        seen = heavy > _SEEN * float(heavy.sum())
        rest = max(1.0 - math.fsum(masses[seen]), 0.0)
        found = np.minimum(found[seen], _HUGE)
        return Rough(np.append(masses[seen], rest), np.append(found, 0.0), 0.0, 0.0)


def _with_rest(found: Law) -> Atoms:
    """With the left-over of the reference, whose gain is 0."""
    masses, values = [m for m, _ in found.atoms], [g for _, g in found.atoms]
    return Atoms([*masses, found.rest], [*values, arb(0)])


@dataclass(frozen=True)
class LineSource:
    """A number plus symmetric noise: cells are cut anew at every eps.

    Attributes
    ----------
    name : hashable
        What the law is of.
    make : callable
        -> the line, at the working precision.
    """

    name: Hashable
    make: Callable[[], Line] = field(compare=False, repr=False)
    _made: dict[object, object] = field(default_factory=dict, compare=False, repr=False, init=False)

    def swap(self) -> LineSource:
        """P and Q exchanged."""
        make = self.make

        def exchanged() -> Line:
            line = make()
            return replace(line, x0=line.x1, x1=line.x0)

        return LineSource((self.name, "swapped"), exchanged)

    @property
    def has_outside(self) -> bool:
        """Noise reaches every output."""
        return False

    def line(self) -> Line:
        """The line at the working precision."""
        key = ctx.prec
        if key not in self._made:
            self._made[key] = self.make()
        return self._made[key]  # type: ignore[return-value]

    def below(self, eps: arb, aim: Aim) -> Law:
        """Cells at their means."""
        found = self._gains(eps, aim, upper=False)
        return Law(below(found), _rest(gain.mass for gain in found), arb(0))

    def above(self, eps: arb, aim: Aim) -> Law:
        """Cells at the ends of their ranges."""
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
        """Gauss-Legendre nodes."""
        if "rough" not in self._made:
            self._made["rough"] = rough_law(self.line())
        masses, u, v = self._made["rough"]  # type: ignore[misc]
        with np.errstate(over="ignore"):
            return masses, u - math.exp(epsilon) * v, masses * np.maximum(u, 1.0)


@dataclass(frozen=True)
class FixedSource:
    """Cells that are made once, and gathered or shared out at every eps.

    Attributes
    ----------
    name : hashable
        What the law is of.
    make : callable
        -> the cells, at the working precision.
    """

    name: Hashable
    make: Callable[[], Cells] = field(compare=False, repr=False)
    _made: dict[object, object] = field(default_factory=dict, compare=False, repr=False, init=False)

    def swap(self) -> FixedSource:
        """P and Q exchanged."""
        make = self.make

        def exchanged() -> Cells:
            made = make()
            return Cells([cell.swap() for cell in made.cells], made.q, made.p, outside=made.outside)

        return FixedSource((self.name, "swapped"), exchanged)

    @property
    def has_outside(self) -> bool:
        """Of a part, or of the law that is stated."""
        return self.cells().outside

    def cells(self) -> Cells:
        """The cells at the working precision."""
        key = ctx.prec
        if key not in self._made:
            self._made[key] = self.make()
        return self._made[key]  # type: ignore[return-value]

    def below(self, eps: arb, aim: Aim) -> Law:
        """Groups of cells at their means."""
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
        """Cells at the ends of their ranges, which are shared out between common places."""
        made = self.cells()
        every = gains(made.cells, eps.exp())
        found = _above(_without_rare(every, math.exp(aim.log_error + _RARE)))
        atoms = _lows_raised(found.atoms, aim.n)
        if len(atoms) > _EXACT:
            at = places(*_floats(atoms), aim, epsilon=float(eps), upper=True)
            atoms = spread(atoms, [float(x) for x in at])
        return Law(atoms, found.rest, found.charge + made.p)

    def rough(self, epsilon: float) -> tuple[Floats, Floats, Floats]:
        """The cells' means, groups of them."""
        if "rough" not in self._made:
            rows = [[float(c.mass), float(c.p), float(c.q)] for c in self.cells().cells]
            self._made["rough"] = np.array(rows).reshape(-1, 3)
        rows = np.asarray(self._made["rough"])
        if not rows.size:
            return rows[:, 0], rows[:, 0], rows[:, 0]  # every output names its input
        rows = rows[
            np.argsort(rows[:, 1] / rows[:, 0] - math.exp(epsilon) * rows[:, 2] / rows[:, 0])
        ]
        mass, gain = rows[:, 0], (rows[:, 1] - math.exp(epsilon) * rows[:, 2]) / rows[:, 0]
        # One draw that outweighs many of the largest gain that counts is as good as a lower one.
        counts = np.cumsum(rows[::-1, 1])[::-1] > _COUNTS
        top = min(float(gain[counts].max(initial=1.0)), 1e65)
        seen = np.clip(gain, -_OUTWEIGHS * top, top)
        cost = mass * np.diff(seen, prepend=seen[0]) ** 2
        # Half of the groups for the bulk of the law, half for its tails.
        both = [cost ** (1.0 / 3.0), cost ** (1.0 / 12.0)]
        part = sum(one / max(float(one.sum()), 1e-300) for one in both) / 2.0
        share = np.floor(np.cumsum(part) * _GROUPS * (1.0 - 1e-9))
        starts = np.flatnonzero(np.diff(share, prepend=-1.0))
        rows = np.add.reduceat(rows, starts, axis=0)
        gain = (rows[:, 1] - math.exp(epsilon) * rows[:, 2]) / rows[:, 0]
        return rows[:, 0], gain, np.maximum(rows[:, 0], rows[:, 1])


def _without_rare(found: list[Gain], most: float) -> list[Gain]:
    """The largest gains unbounded, so that they are charged: those that P has for at most this."""
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
    """Masses and gains of atoms."""
    return np.array([float(m) for m, _ in atoms]), np.array([float(g) for _, g in atoms])
