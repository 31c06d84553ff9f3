"""Probabilities as digits, exact far below what a float holds, for samplers.

Where a sampler rounds a probability it does so towards less information: the mechanism that runs
is the one of the law followed by more noise of the same kind, so that every upper bound for the
law holds for it too (post-processing, docs/theory.md, Lemma 1.1).
"""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from shuffledp.randomness import BITS, Choice

# Digits to base 256.
LENGTH = BITS // 8
# What is computed to 420 places is wrong by less than 1e-400 of itself.
_CONTEXT = decimal.Context(prec=420, Emin=-(10**6), Emax=10**6, traps=[decimal.InvalidOperation])
_GROWN = _CONTEXT.add(Decimal(1), Decimal(1).scaleb(-400))


@lru_cache(maxsize=64)
def exponential(x: float | Decimal) -> Decimal:
    """e^x to 420 places."""
    return _CONTEXT.exp(Decimal(x))


def times(factor: int | Decimal, value: Decimal) -> Decimal:
    """Product to 420 places."""
    return _CONTEXT.multiply(Decimal(factor), value)


def quotient(numerator: Decimal | int, *denominator: Decimal | int) -> Decimal:
    """numerator / (sum of the others) to 420 places."""
    total = Decimal(0)
    for term in denominator:
        total = _CONTEXT.add(total, Decimal(term))
    return _CONTEXT.divide(Decimal(numerator), total)


def minus(one: int, value: Decimal) -> Decimal:
    """Difference to 420 places, whatever the caller's own context is."""
    return _CONTEXT.subtract(Decimal(one), value)


def power(base: Decimal, exponent: float) -> Decimal:
    """base^exponent to 420 places, base >= 0, exponent > 0."""
    return _CONTEXT.power(base, Decimal(exponent)) if base else Decimal(0)


def whole_units(p: Decimal) -> int:
    """p in units of 10^-420, rounded down."""
    return int(p.scaleb(420, context=_CONTEXT))


def choice(weights: Sequence[int]) -> Choice:
    """The law with probabilities proportional to whole weights, to 2^-1280."""
    sums = list(itertools.accumulate(weights))
    # Where the sum is reached nothing is left for later outcomes.
    return Choice(tuple((part << BITS) // sums[-1] for part in sums if part < sums[-1]))


def digits_up(p: Decimal) -> bytes:
    """Digits of p, 0 <= p <= 1, to base 256, rounded up to 160 of them; below 1."""
    return min(_up(p, 256**LENGTH), 256**LENGTH - 1).to_bytes(LENGTH, "big")


def _up(p: Decimal, unit: int) -> int:
    grown = _CONTEXT.multiply(_CONTEXT.multiply(p, _GROWN), Decimal(unit))
    return int(grown.to_integral_value(rounding=decimal.ROUND_CEILING, context=_CONTEXT))
