"""Probabilities of mechanisms with two levels, e^eps0 apart: fractions and digits, for samplers.

Where a sampler rounds a probability it does so towards less information: the mechanism that runs
is the one of the law followed by more noise of the same kind, so that every upper bound for the
law holds for it too (post-processing, docs/theory.md, Lemma 1.1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.randomness import BITS

# Digits to base 256.
LENGTH = BITS // 8
# Bits of e^eps0: what a few operations make of it is wrong by less than 2^-_ROOM of itself.
_BITS, _ROOM = BITS + 192, BITS + 128


@lru_cache(maxsize=64)
def grown(eps0: float) -> Fraction:
    """e^eps0 to 1,472 bits, as a fraction."""
    with ctx.workprec(_BITS):
        mantissa, exponent = arb(eps0).exp().mid().man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)


def half_grown(eps0: float) -> Fraction:
    """e^(eps0/2), likewise."""
    return grown(0.5 * eps0)


def place(x: float, low: float, high: float) -> Fraction:
    """The place of x in [low, high], from 0 to 1, exactly."""
    return (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))


def coin(p: Fraction) -> bytes:
    """Digits of a probability for ``RandomSource.coins``, rounded up to 160 of them; below 1."""
    digits = math.ceil(p * (1 + Fraction(1, 1 << _ROOM)) * 256**LENGTH)
    return min(digits, 256**LENGTH - 1).to_bytes(LENGTH, "big")
