"""What a law of outputs is in ball arithmetic.

Parameters are floats and mean exactly the numbers those floats are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shuffledp.arithmetic.balls import arb, fmpq
from shuffledp.errors import ParameterError

__all__ = [
    "Favours",
    "Law",
    "OutputClass",
    "check_inputs",
    "flags",
    "largest",
    "rational_ball",
    "two_levels",
]


@dataclass(frozen=True)
class OutputClass:
    """All outputs with the same likelihood ratios, taken together.

    Attributes
    ----------
    blanket : arb
        Sum over the class of inf over ALL inputs of the probability.
    probability : tuple of arb
        Probability of the class under each of the inputs asked for.
    level : tuple of arb, or None
        log(probability / blanket), where known without error: lets eps = eps0 and the like give
        exact zeros.
    beyond : bool
        True for outputs that are cut off, whatever their ratios; their blanket is not given.
    """

    blanket: arb
    probability: tuple[arb, ...]
    level: tuple[arb, ...] | None = None
    beyond: bool = False

    def excess(self, eps: arb) -> arb:
        """P - e^eps Q of the first two inputs, exactly zero where it is; not beyond a cut."""
        p, q = self.probability[:2]
        if self.level is not None:
            # expm1 of an exact exponent: no cancellation, and zero at eps = log(P/Q).
            return q * eps.exp() * (self.level[0] - self.level[1] - eps).expm1()
        return p - eps.exp() * q


Law = list[OutputClass]


def check_inputs(inputs: Sequence[int], size: int) -> None:
    """Refuse inputs that are no numbers 0 .. size-1."""
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < size:
            raise ParameterError(f"input = {x!r}: wanted an integer from 0 to {size - 1}")


def rational_ball(value: Fraction) -> arb:
    """Return the ball of a rational number at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def largest(values: Sequence[arb]) -> arb:
    """A ball of the largest of some balls."""
    found = values[0]
    for value in values[1:]:
        found = found.max(value)
    return found


# ------------------------------ densities of a base measure times a number from 1 to e^eps0

# An output's favour for each input: f with R_x = (1 + (e^eps0 - 1) f) S, S the base measure. S is
# the blanket where every output is favoured by some input not at all; else it is said.
Favours = tuple[Fraction, ...]


def two_levels(parts: Iterable[tuple[arb, Favours]], eps0: arb) -> Law:
    """Base masses and favours as classes of equal ratios."""
    merged: dict[Favours, arb] = {}
    for mass, favours in parts:
        merged[favours] = merged[favours] + mass if favours in merged else mass
    gain = eps0.expm1()
    law = []
    for favours, mass in merged.items():
        if mass.is_zero():
            continue
        level = None
        if all(f in (0, 1) for f in favours):
            level = tuple(eps0 if f else arb(0) for f in favours)
        probability = tuple(mass * (1 + gain * rational_ball(f)) for f in favours)
        law.append(OutputClass(mass, probability, level))
    return law


def flags(hits: Iterable[bool]) -> Favours:
    """Favours 1 and 0, of those that are hit and that are not."""
    return tuple(Fraction(int(hit)) for hit in hits)
