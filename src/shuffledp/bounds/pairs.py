"""Pairs: the laws of one message under the victim's two inputs, with a reference, in balls.

delta(eps) = (1/n) E (G_1 + ... + G_n)_+ + (mass of P above e^eps Q where the reference has none),
with G = (P - e^eps Q)/reference under the reference (docs/theory.md, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from shuffledp.arithmetic.balls import arb, ctx, precision_for, total
from shuffledp.ball.outputs import Law, OutputClass

__all__ = ["Atoms", "End", "Gains", "LawPair", "Laws"]

# log of the mass beyond the first cut of an unbounded law.
_CUT = -16.0

End = Literal["both", "upper", "lower"]


class Atoms(NamedTuple):
    """A law of gains."""

    masses: list[arb]
    gains: list[arb]


class Laws:
    """The laws under some inputs, made once for each precision and cut.

    Parameters
    ----------
    make : callable
        log of the mass that may be cut off -> classes of outputs, at the working precision.
    """

    def __init__(self, make: Callable[[float], Law]) -> None:
        self._make = make
        self._made: dict[tuple[int, float | None, bool], Law] = {}

    def __reduce__(self) -> tuple[type[Laws], tuple[Callable[[float], Law]]]:
        return Laws, (self._make,)

    def __call__(self, log_cut: float, *, swapped: bool = False) -> Law:
        """Classes of outputs; ``swapped``: with x0 and x1 exchanged."""
        for cut in (None, log_cut):
            if (ctx.prec, cut, swapped) in self._made:
                return self._made[ctx.prec, cut, swapped]
        law = [_exchanged(c) for c in self(log_cut)] if swapped else self._make(log_cut)
        # A law with nothing cut off is the same at every cut.
        cut = log_cut if any(c.beyond for c in law) else None
        self._made[ctx.prec, cut, swapped] = law
        return law


class Gains(NamedTuple):
    """What a profile needs of a pair at one eps.

    Attributes
    ----------
    above, below : laws of one gain. E (sum)_+ is at most that of the first and at least that of the
        second. They are one object for a finite law; an end that was not requested is None.
    seen : a ball whose ends are added to delta: mass where the reference has none, and the effect
        of outputs that were cut off.
    """

    above: Atoms | None
    below: Atoms | None
    seen: arb


@dataclass(frozen=True)
class LawPair:
    """A pair of laws with finitely many classes of outputs.

    Attributes
    ----------
    name : hashable
        A key of the law; equal names mean equal laws.
    n : int
        Number of messages in the shuffle.
    law : Laws
        Classes of outputs, with their masses under x0, x1 and, in a data set, x2.
    against : {"blanket", "input"}
        The reference: the blanket, or the law under x2.
    swapped : bool
        Whether x0 and x1 are exchanged.
    """

    name: Hashable
    n: int
    law: Laws = field(compare=False, repr=False)
    against: str = "blanket"
    swapped: bool = False

    def swap(self) -> LawPair:
        """The pair in the other direction."""
        return replace(self, swapped=not self.swapped)

    def classes(self, log_cut: float = _CUT) -> Law:
        """Classes of outputs at the working precision, in this direction."""
        return self.law(log_cut, swapped=self.swapped)

    def gains(self, eps: arb, log_cut: float) -> Gains:
        """The law of the gain at eps by its definition; ``log_cut``: log of the mass cut off."""
        masses, gains, seen, silent = [], [], arb(0), arb(0)
        law = self.classes(log_cut)
        if self.against == "blanket":
            # G = 0 on the left-over mass: an upper bound.
            silent = (1 - total(c.blanket for c in law)).nonnegative_part()
        for c in law:
            mass = self._reference(c)
            if c.beyond:
                # With G = 0 there delta moves by something in between (docs/theory.md, 3.5).
                low, high = -eps.exp() * c.probability[1], c.probability[0]
                seen, silent = seen + low.lower().union(high.upper()), silent + mass
                continue
            excess = c.excess(eps)
            if mass.is_zero():
                seen += excess.max(arb(0))
            elif excess.is_zero():
                silent += mass
            else:
                masses.append(mass)
                gains.append(excess / mass)
        if not silent.is_zero():
            masses, gains = [*masses, silent], [*gains, arb(0)]
        atoms = Atoms(masses, gains)
        return Gains(atoms, atoms, seen)

    @property
    def one_law(self) -> bool:
        """True: the law itself serves both ends."""
        return True

    def fingerprint(self) -> Hashable:
        """All balls of the law, in an order that does not depend on that of its classes."""
        law = self.classes()
        if any(c.beyond for c in law):
            return self.name, self.n, self.against, self.swapped  # the classes depend on the cut
        rows = [tuple(map(_numbers, (c.blanket, *c.probability, *(c.level or ())))) for c in law]
        return self.n, self.against, tuple(sorted(rows))

    @property
    def has_outside(self) -> bool:
        """Whether the victim has outputs that the reference does not have."""
        with ctx.workprec(precision_for(self.n)):
            return any(
                self._reference(c).is_zero() and any(not p.is_zero() for p in c.probability[:2])
                for c in self.classes()
                if not c.beyond
            )

    def _reference(self, c: OutputClass) -> arb:
        return c.blanket if self.against == "blanket" else c.probability[2]

    def log_floor(self) -> float:
        """log of P's mass on classes that neither Q nor the reference can give, rounded down."""
        floor = arb(0)
        for c in self.classes():
            if not c.beyond and self._reference(c).is_zero() and c.probability[1].is_zero():
                floor += c.probability[0]
        return math.nextafter(float(floor.log().lower()), -math.inf) if floor > 0 else -math.inf


def _exchanged(c: OutputClass) -> OutputClass:
    """A class with x0 and x1 exchanged."""

    def swapped(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return (values[1], values[0], *values[2:])

    return replace(
        c,
        probability=swapped(c.probability),
        level=None if c.level is None else swapped(c.level),
    )


def _numbers(x: arb) -> tuple[str, str]:
    """Midpoint and radius of a ball, exactly."""
    return str(x.mid().man_exp()), str(x.rad().man_exp())
