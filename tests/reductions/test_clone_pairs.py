"""The clones' pairs against their definitions in balls: every number within its claimed error."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from shuffledp.reductions import clone_pair, stronger_clone_pair

U = 2.0**-53
EPS0 = [1e-12, 1e-4, 0.3, 1.0, 8.0, 30.0, 299.9, 300.0, *np.exp(np.linspace(-9, 5.7, 60)).tolist()]


@pytest.fixture(autouse=True)
def _precision():
    old = ctx.prec
    ctx.prec = 1200
    yield
    ctx.prec = old


def definitions(eps0):
    """(w, a, b) of the standard and of the stronger clone, and what is left over."""
    grow = arb(eps0).exp()
    half, top = 1 / (2 * grow), 2 * grow / (1 + 1 / grow)
    low = 2 / (1 + 1 / grow)
    mass = 1 / (grow + 1)
    return (
        (clone_pair, [(half, top, low), (half, low, top)], 1 - 1 / grow),
        (stronger_clone_pair, [(mass, grow, 1), (mass, 1, grow)], (grow - 1) * mass),
    )


@pytest.mark.parametrize("eps0", EPS0)
def test_entries_are_within_their_errors(eps0):
    for make, atoms, leftover in definitions(eps0):
        pair = make(eps0=eps0, n=7)
        assert pair.n == 7
        # An exponential within 8 u in numerator and denominator, and four more roundings.
        assert pair.rel >= 17 * U
        for given, true in zip(zip(pair.w, pair.a, pair.b, strict=True), atoms, strict=True):
            for x, y in zip(given, true, strict=True):
                assert abs(arb(float(x)) - y) <= arb(pair.rel) * y
        left, err = pair.leftover_mass()
        assert err >= 19 * U * left
        assert abs(arb(left) - leftover) <= arb(err)
        assert (
            sum(w for w, _, _ in atoms) + leftover == 1
            or abs(sum(w for w, _, _ in atoms) + leftover - 1) < arb(10) ** -300
        )
        for i in (1, 2):
            assert abs(sum(t[0] * t[i] for t in atoms) - 1) < arb(10) ** -300
        assert math.isclose(math.fsum(pair.w * pair.a), 1.0, rel_tol=1e-14)
