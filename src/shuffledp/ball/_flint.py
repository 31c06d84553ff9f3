"""The one place that imports python-flint, an optional dependency."""

from __future__ import annotations

import math

from shuffledp.errors import not_installed

try:
    from flint import acb, acb_mat, arb, arb_mat, arb_poly, ctx, fmpq, fmpq_mat, nmod_mat, nmod_poly
except ImportError as error:  # pragma: no cover (the tests need python-flint)
    raise ImportError(not_installed("the ball-arithmetic verifier", ["flint"], "verify")) from error

__all__ = [
    "acb",
    "acb_mat",
    "arb",
    "arb_mat",
    "arb_poly",
    "ctx",
    "float_above",
    "float_below",
    "fmpq",
    "fmpq_mat",
    "nmod_mat",
    "nmod_poly",
]


def float_below(x: arb) -> float:
    """Return a float certainly not above x (-inf where the ball says nothing)."""
    if not x.is_finite():
        return -math.inf
    return math.nextafter(float(x.lower()), -math.inf)


def float_above(x: arb) -> float:
    """Return a float certainly not below x (inf where the ball says nothing)."""
    if not x.is_finite():
        return math.inf
    return math.nextafter(float(x.upper()), math.inf)
