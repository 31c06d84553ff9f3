"""Types of what is counted of a report: its one bit, the bits of a vector, a matrix of outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb

__all__ = ["Bit", "Bits", "Coordinate", "Matrix", "bits_between"]


class Bit(NamedTuple):
    """P(0) and P(1) of one input, up to a common factor."""

    zero: arb
    one: arb

    @property
    def share(self) -> arb:
        """P(1)."""
        return self.one / (self.zero + self.one)

    @property
    def rest(self) -> arb:
        """P(0)."""
        return self.zero / (self.zero + self.one)

    @property
    def flipped(self) -> Bit:
        """With the outputs' names exchanged."""
        return Bit(self.one, self.zero)


class Bits(NamedTuple):
    """Reports of one bit.

    Attributes
    ----------
    inputs : tuple
        Those with the least and the largest probability of a 1.
    law : callable
        One of these -> its bit, at the working precision.
    mirrored : bool
        Whether exchanging the two inputs and the outputs leaves the laws as they are.
    outputs : int
        2, or more where only two are used.
    numbers : bool
        Whether the two outputs stand for numbers that depend on the parameters.
    """

    inputs: tuple[Any, Any]
    law: Callable[[Any], Bit]
    mirrored: bool = True
    outputs: int = 2
    numbers: bool = False


def bits_between(eps0: float, low: Any, high: Any, *, numbers: bool = False) -> Bits:
    """The likelier bit e^eps0 times as likely as the other: 1 under ``high``, 0 under ``low``."""

    def law(x: Any) -> Bit:
        grow = arb(eps0).exp()
        return Bit(arb(1), grow) if x == high else Bit(grow, arb(1))

    return Bits((low, high), law, numbers=numbers)


class Coordinate(NamedTuple):
    """One coordinate: P(1) where it is 0 and where it is 1, how many there are, and of what kind.

    Attributes
    ----------
    q, p : arb
        P(1) of a 0 and of a 1, q < p.
    size : int
        Coordinates of a report.
    symmetric : bool
        q = 1 - p: both orders have the same divergences.
    several : bool
        Whether reports are vectors, of several coordinates.
    """

    q: arb
    p: arb
    size: int
    symmetric: bool
    several: bool

    @property
    def flipped(self) -> Coordinate:
        """With the bits' names exchanged."""
        return self._replace(q=1 - self.p, p=1 - self.q)


class Matrix(NamedTuple):
    """Outputs 0, 1, .. and what each is sent with.

    Attributes
    ----------
    inputs, outputs : int
        How many.
    weights : callable
        () -> a row for each input: probabilities of the outputs up to a factor of the row.
    grow : callable, optional
        () -> e^eps0, where every input is an output, so much likelier than each other one.
    """

    inputs: int
    outputs: int
    weights: Callable[[], list[list[arb]]]
    grow: Callable[[], arb] | None = None
