"""Mechanisms whose output density has two levels: e^eps0 times the lower one where it is favoured.

Every output is favoured by some inputs and not by others: R_x = e^eps0 times a base measure where
x favours the output, the base measure elsewhere. Wherever some input of the domain does not favour
the output, the base measure is the blanket.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.randomizers.chances import exponential
from shuffledp.randomizers.law import JointLaw, without_empty

U = UNIT_ROUNDOFF
# Floats of exact masses: one rounding each, and the exponential's.
_REL = 4 * U
_SMALLEST = Fraction(1, 2**1000)

Pattern = tuple[bool, ...]
Part = tuple[Fraction, Pattern]


def grown(eps0: float) -> Fraction:
    """e^eps0 to 420 places, as a fraction."""
    return Fraction(exponential(eps0))


def half_grown(eps0: float) -> Fraction:
    """e^(eps0/2) to 420 places, as a fraction."""
    return Fraction(exponential(Decimal(eps0) / 2))


def two_level_law(
    parts: Iterable[Part], *, eps0: float, index: Iterable[int] | None = None, rel: float = 0.0
) -> JointLaw:
    """The law of a two-level mechanism, its blanket being the base measure.

    Parameters
    ----------
    parts : iterable of (mass, pattern)
        Base mass of a set of outputs, and which of the distinct inputs favour it.
    eps0 : float
        Log of the ratio of the two levels.
    index : iterable of int, optional
        For each input asked for: which of the distinct ones it is.
    rel : float
        Bound on the relative error of every mass given.
    """
    merged: dict[Pattern, Fraction] = {}
    for mass, pattern in parts:
        merged[pattern] = merged.get(pattern, Fraction(0)) + mass
    grow = grown(eps0)
    kept = {pattern: mass for pattern, mass in merged.items() if mass > 0}
    mass = np.array(
        [[float(m * grow if hit else m) for hit in pattern] for pattern, m in kept.items()]
    ).T
    # A blanket of 0 is valid where a float would lose its bits: such outputs count in full.
    blanket = np.array([float(m) if m > _SMALLEST else 0.0 for m in kept.values()])
    if index is not None:
        mass = mass[list(index)]
    return without_empty(mass, blanket, _REL + rel)
