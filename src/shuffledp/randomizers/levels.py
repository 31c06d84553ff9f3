"""Mechanisms whose output density lies between two levels, e^eps0 apart.

R_x is a base measure times 1 + (e^eps0 - 1) favour, where the input's favour for the output is from
0 to 1, and for most mechanisms 0 or 1. Wherever some input of the domain has no favour for the
output, the base measure is the blanket.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.randomizers.chances import digits_up, exponential, quotient
from shuffledp.randomizers.law import JointLaw, without_empty

U = UNIT_ROUNDOFF
# Floats of exact masses: one rounding each, and the exponential's.
_REL = 4 * U
_SMALLEST = Fraction(1, 2**1000)

Favours = tuple[Fraction | bool, ...]
Part = tuple[Fraction, Favours]


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
    parts : iterable of (mass, favours)
        Base mass of a set of outputs, and the favour of each of the distinct inputs for it.
    eps0 : float
        Log of the ratio of the two levels.
    index : iterable of int, optional
        For each input asked for: which of the distinct ones it is.
    rel : float
        Bound on the relative error of every mass given.
    """
    merged: dict[Favours, Fraction] = {}
    for mass, favours in parts:
        merged[favours] = merged.get(favours, Fraction(0)) + mass
    gain = grown(eps0) - 1
    kept = {favours: mass for favours, mass in merged.items() if mass > 0}
    mass = np.array([_levels(m, favours, gain) for favours, m in kept.items()]).T
    # A blanket of 0 is valid where a float would lose its bits: such outputs count in full.
    blanket = np.array([float(m) if m > _SMALLEST else 0.0 for m in kept.values()])
    if index is not None:
        mass = mass[list(index)]
    return without_empty(mass, blanket, _REL + rel)


def _levels(mass: Fraction, favours: Favours, gain: Fraction) -> list[float]:
    """Masses mass (1 + gain f), each f once: numbers of 420 places take their time."""
    found = {f: float(mass * (1 + gain * f)) for f in set(favours)}
    return [found[f] for f in favours]


def place(x: float, low: float, high: float) -> Fraction:
    """The place of x in [low, high], from 0 to 1, exactly."""
    return (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))


def coin(p: Fraction) -> bytes:
    """Digits of a probability for ``RandomSource.coins``, rounded up."""
    return digits_up(quotient(p.numerator, p.denominator))
