"""Laws whose density is a base measure times a number from 1 to e^eps0, in ball arithmetic.

An output's *favour* for an input is
f with R_x = (1 + (e^eps0 - 1) f) S, S the base measure. S is the blanket where every output is
favoured by some input not at all; where that is not so it is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from shuffledp.arithmetic.balls import arb

from .outputs import Law, OutputClass, rational_ball

__all__ = ["Favours", "flags", "two_levels"]

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
