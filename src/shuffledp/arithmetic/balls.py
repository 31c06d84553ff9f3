"""The only module that imports python-flint: real and complex balls, and helpers for them.

A ball is a midpoint with a radius; the result of every operation on balls encloses the exact
result. A comparison of balls is True only if it holds for all of their points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from flint import (
    acb,
    acb_mat,
    arb,
    arb_mat,
    arb_poly,
    arb_series,
    ctx,
    fmpq,
    fmpq_mat,
    fmpz,
    nmod_mat,
)

__all__ = [
    "acb",
    "acb_mat",
    "arb",
    "arb_mat",
    "arb_poly",
    "arb_series",
    "ctx",
    "disc",
    "float_above",
    "float_below",
    "fmpq",
    "fmpq_mat",
    "fmpz",
    "more_bits",
    "nmod_mat",
    "precision_for",
    "total",
]


def float_below(x: arb) -> float:
    """A float certainly not above x; -inf if the ball is not finite."""
    if not x.is_finite():
        return -math.inf
    return math.nextafter(float(x.lower()), -math.inf)


def float_above(x: arb) -> float:
    """A float certainly not below x; inf if the ball is not finite."""
    if not x.is_finite():
        return math.inf
    return math.nextafter(float(x.upper()), math.inf)


def total(values: Iterable[arb]) -> arb:
    """The sum of balls."""
    return sum(values, arb(0))


def disc(radius: arb) -> acb:
    """A complex ball that contains every number of modulus at most ``radius``."""
    side = arb(0, radius.upper())
    return acb(side, side)


# Bits beyond those that an answer needs: a verifier works with more than whoever issued a claim.
_MORE: ContextVar[int] = ContextVar("more_bits", default=0)


@contextmanager
def more_bits(count: int) -> Iterator[None]:
    """Let ``precision_for`` give this many bits more."""
    token = _MORE.set(count)
    try:
        yield
    finally:
        _MORE.reset(token)


def precision_for(n: int) -> int:
    """Working precision in bits for sums of n draws.

    A relative error u of a transform becomes n u in its n-th power, and centred transforms differ
    from 1 by about 1/n: 64 bits plus twice the bits of n keep both errors below 2^-60.
    """
    return 64 + 2 * n.bit_length() + _MORE.get()
