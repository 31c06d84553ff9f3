"""What a law of outputs is in ball arithmetic, and the law of the gain G = (P - e^eps Q)/ref.

Every analysis asks for one number: delta = (1/n) E[G_1 + ... + G_n]_+ plus what P has, beyond
e^eps Q, outside the support of the reference (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3).
Parameters are floats and mean exactly the numbers those floats are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, fmpq
from shuffledp.errors import ParameterError

__all__ = [
    "Favours",
    "GainLaw",
    "Law",
    "OutputClass",
    "blanket_gains",
    "check_inputs",
    "dataset_gains",
    "flags",
    "largest",
    "local_divergence",
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
    rational : tuple of Fraction, or None
        (blanket, *probability) where they are rational.
    beyond : bool
        True for outputs that are cut off, whatever their ratios; their blanket is not given.
    """

    blanket: arb
    probability: tuple[arb, ...]
    level: tuple[arb, ...] | None = None
    rational: tuple[Fraction, ...] | None = None
    beyond: bool = False


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


class GainLaw(NamedTuple):
    """The law of one gain.

    Attributes
    ----------
    weight, gain : lists of arb of the same length
        Weights sum to one. A gain that is exactly zero is the exact ball 0.
    outside : arb
        Sum of (P - e^eps Q)_+ where the reference has no mass; added to delta in full.
    """

    weight: list[arb]
    gain: list[arb]
    outside: arb


def blanket_gains(law: Sequence[OutputClass], eps: arb) -> GainLaw:
    """Reference: the blanket inf_x R_x, and G = 0 on the left-over mass (an upper bound).

    `law` was made for the inputs (x0, x1).
    """
    left_over = 1 - _total([c.blanket for c in law], [c.rational for c in law])
    atoms = _gains(law, eps, reference=None)
    if not left_over.is_zero():
        atoms.weight.append(left_over)
        atoms.gain.append(arb(0))
    return atoms


def dataset_gains(law: Sequence[OutputClass], eps: arb) -> GainLaw:
    """Reference: the law under x2, held by all other users (exact for these two datasets).

    `law` was made for the inputs (x0, x1, x2).
    """
    return _gains(law, eps, reference=2)


def local_divergence(law: Sequence[OutputClass], eps: arb) -> arb:
    """Sum over the classes of (P - e^eps Q)_+, without any shuffling."""
    total = arb(0)
    for c in law:
        total += (
            _between(arb(0), c.probability[0]) if c.beyond else _positive_part(_difference(c, eps))
        )
    return total


def _gains(law: Sequence[OutputClass], eps: arb, reference: int | None) -> GainLaw:
    weight, gain, outside = [], [], arb(0)
    for c in law:
        w = c.blanket if reference is None else c.probability[reference]
        if c.beyond:
            # With G = 0 there delta moves by something in between (docs/theory.md, section 3.5).
            outside += _between(-eps.exp() * c.probability[1], c.probability[0])
            if reference is not None:
                weight.append(w)
                gain.append(arb(0))
        elif w.is_zero():
            outside += _positive_part(_difference(c, eps))
        else:
            weight.append(w)
            gain.append(_difference(c, eps) / w)
    return GainLaw(weight, gain, outside)


def _difference(c: OutputClass, eps: arb) -> arb:
    """P - e^eps Q on a class, exactly zero where it is."""
    p, q = c.probability[:2]
    if c.level is not None:
        # expm1 of an exact exponent: no cancellation, and zero at eps = log(P/Q).
        return q * eps.exp() * (c.level[0] - c.level[1] - eps).expm1()
    if c.rational is not None and eps.is_zero():
        return rational_ball(c.rational[1] - c.rational[2])
    return p - eps.exp() * q


def _positive_part(x: arb) -> arb:
    return arb.max(x, arb(0))


def _between(low: arb, high: arb) -> arb:
    """The ball from the lower end of one to the upper end of the other."""
    return low.lower().union(high.upper())


def _total(balls: Sequence[arb], rationals: Sequence[tuple | None]) -> arb:
    exact = [r[0] for r in rationals if r is not None]
    if exact:
        return rational_ball(sum(exact, start=Fraction(0)))
    return sum(balls, start=arb(0))
