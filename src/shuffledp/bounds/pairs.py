"""Pairs: the laws of one message under two inputs of the victim, against a reference, in balls.

delta(eps) = (1/n) E (G_1 + ... + G_n)_+ + (mass that P has beyond e^eps Q where the reference has
none), with G = (P - e^eps Q)/reference under the reference (docs/theory.md, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.balls import arb, ctx, precision_for, total
from shuffledp.ball.gains import GainLaw, blanket_gains, dataset_gains
from shuffledp.ball.outputs import Law, OutputClass

__all__ = ["Atoms", "End", "Gains", "LawPair", "Laws", "Pair", "Rough"]

# log of the probability beyond a first cut, of laws that are cut off; cuts are multiples of it, so
# that one law serves many eps.
_CUT = -16.0
# log of what may be cut off where only an estimate is made.
_DEEP = -80.0

End = Literal["both", "upper", "lower"]
Floats = npt.NDArray[np.float64]


class Atoms(NamedTuple):
    """A law of gains."""

    masses: list[arb]
    gains: list[arb]


class Laws:
    """The laws of some inputs, each made once at its precision and cut.

    Parameters
    ----------
    make : callable
        log of the probability that may be cut off -> classes of outputs, at the working precision.
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
        # A law of which nothing is cut off is the same at every cut.
        cut = log_cut if any(c.beyond for c in law) else None
        self._made[ctx.prec, cut, swapped] = law
        return law


class Rough(NamedTuple):
    """A law of gains in floats, for estimates.

    Attributes
    ----------
    masses, gains : arrays of the same size.
    surplus : the sum of the masses less 1, more exactly than the sum of floats.
    seen : what is added to delta.
    """

    masses: Floats
    gains: Floats
    surplus: float
    seen: float


class Gains(NamedTuple):
    """What one eps needs of a pair.

    Attributes
    ----------
    above, below : laws of one gain: E (sum)_+ is at most that of the first, at least that of the
        second. Of a finite law they are the same object; of an end that was not asked for, None.
    seen : a ball whose ends are added to delta in full: mass where the reference has none, and
        what outputs that were cut off can change.
    """

    above: Atoms | None
    below: Atoms | None
    seen: arb


class Pair(Protocol):
    """A value that makes, at the working precision, the law of one message's gain."""

    @property
    def n(self) -> int:
        """Messages in the shuffle, the victim's included."""
        ...

    def swap(self) -> Pair:
        """The other direction: D(Q || P) in place of D(P || Q)."""
        ...

    def gains(self, eps: arb, log_error: float, end: End = "both", guess: float = 0.0) -> Gains:
        """The law of the gain at eps, where log delta is about ``guess``.

        delta may be off by about e^log_error at either end.
        """
        ...

    def in_floats(self, epsilon: float) -> Rough:
        """About the law of the gain at eps."""
        ...

    @property
    def one_law(self) -> bool:
        """Whether `gains` has one law for both ends."""
        ...

    def fingerprint(self) -> Hashable:
        """Equal only where all that `gains` returns is equal, at the working precision."""
        ...

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps: outputs that only P can give."""
        ...


@dataclass(frozen=True)
class LawPair:
    """A pair of finitely many classes of outputs.

    Attributes
    ----------
    name : hashable
        What the law is of; equal names are equal laws.
    n : int
        Messages in the shuffle.
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
        """The other direction."""
        return replace(self, swapped=not self.swapped)

    def classes(self, log_cut: float = _CUT) -> Law:
        """Classes of outputs at the working precision, in this direction."""
        return self.law(log_cut, swapped=self.swapped)

    def in_floats(self, epsilon: float) -> Rough:
        """The law in floats."""
        atoms, seen = self._made_at(arb(epsilon), _DEEP)
        masses, gains = (np.array([float(x) for x in row]) for row in atoms)
        return Rough(masses, gains, float(total(atoms.masses) - 1), float(seen.upper()))

    def gains(self, eps: arb, log_error: float, end: End = "both", guess: float = 0.0) -> Gains:
        """By the definition; a smaller error is a law that is cut off farther out."""
        del end, guess
        atoms, seen = self._made_at(eps, log_error)
        return Gains(atoms, atoms, seen)

    def _made_at(self, eps: arb, log_error: float) -> tuple[Atoms, arb]:
        # Of Q what is cut off counts e^eps times.
        log_cut = _CUT * max(math.ceil((log_error - float(eps)) / _CUT), 1)
        made = _GAINS[self.against](self.classes(log_cut), eps)
        return _merged(made), made.outside

    @property
    def one_law(self) -> bool:
        """The law itself."""
        return True

    def fingerprint(self) -> Hashable:
        """All balls of the law, in any order of its classes."""
        law = self.classes()
        if any(c.beyond for c in law):
            return self.name, self.n, self.against, self.swapped  # other cuts make other classes
        rows = [tuple(map(_numbers, (c.blanket, *c.probability, *(c.level or ())))) for c in law]
        return self.n, self.against, tuple(sorted(rows))

    @property
    def has_outside(self) -> bool:
        """Whether there are outputs of the victim that the reference does not have."""
        with ctx.workprec(precision_for(self.n)):
            return any(
                self._reference(c).is_zero() and any(not p.is_zero() for p in c.probability[:2])
                for c in self.classes()
                if not c.beyond
            )

    def _reference(self, c: OutputClass) -> arb:
        return c.blanket if self.against == "blanket" else c.probability[2]

    def log_floor(self) -> float:
        """Of classes that neither Q nor the reference can give."""
        floor = arb(0)
        for c in self.classes():
            if not c.beyond and self._reference(c).is_zero() and c.probability[1].is_zero():
                floor += c.probability[0]
        return math.nextafter(float(floor.log().lower()), -math.inf) if floor > 0 else -math.inf


_GAINS: Mapping[str, Callable[[Law, arb], GainLaw]] = {
    "blanket": blanket_gains,
    "input": dataset_gains,
}


def _exchanged(c: OutputClass) -> OutputClass:
    """A class with x0 and x1 exchanged."""

    def swapped(values: tuple[Any, ...], first: int) -> tuple[Any, ...]:
        head, one, two = values[:first], values[first], values[first + 1]
        return (*head, two, one, *values[first + 2 :])

    return replace(
        c,
        probability=swapped(c.probability, 0),
        level=None if c.level is None else swapped(c.level, 0),
        rational=None if c.rational is None else swapped(c.rational, 1),
    )


def _merged(law: GainLaw) -> Atoms:
    """Atoms of the law; those of gain exactly 0 are one."""
    masses, gains, zero = [], [], arb(0)
    for mass, gain in zip(law.weight, law.gain, strict=True):
        if gain.is_zero():
            zero += mass
        else:
            masses.append(mass)
            gains.append(gain)
    if not zero.is_zero():
        masses.append(zero)
        gains.append(arb(0))
    return Atoms(masses, gains)


def _numbers(x: arb) -> tuple[str, str]:
    """A ball, exactly."""
    return str(x.mid().man_exp()), str(x.rad().man_exp())
