"""The one assumption about floating point: elementary functions within 4 ulp (8 u, relative)."""

import math

import numpy as np
import pytest
from flint import arb, ctx

COUNT = 4000


def magnitudes(rng, low, high):
    """Log-uniform sizes with both signs."""
    size = np.exp(rng.uniform(math.log(low), math.log(high), COUNT))
    return size * rng.choice([-1.0, 1.0], COUNT)


def largest_error(values, arguments, exact):
    """Largest error in units of u = 2^-53 relative to the exact value."""
    ctx.prec = 300
    worst = arb(0)
    for value, *x in zip(values, *arguments, strict=True):
        truth = exact(*(arb(float(v)) for v in x))
        if truth == 0:
            assert value == 0.0
            continue
        if abs(truth) < arb(2) ** -1021:
            continue
        error = abs(arb(float(value)) / truth - 1)
        worst = max(worst, error)
    return float(worst) * 2.0**53


RNG = np.random.default_rng(20)
ONE = [
    ("exp", np.exp, lambda x: x.exp(), RNG.uniform(-745.0, 700.0, COUNT)),
    ("exp small", np.exp, lambda x: x.exp(), magnitudes(RNG, 1e-20, 1.0)),
    ("expm1", np.expm1, lambda x: x.expm1(), magnitudes(RNG, 1e-20, 700.0)),
    ("log1p", np.log1p, lambda x: x.log1p(), magnitudes(RNG, 1e-20, 0.999)),
    ("log", np.log, lambda x: x.log(), np.abs(magnitudes(RNG, 1e-300, 1e300))),
    ("sin", np.sin, lambda x: x.sin(), magnitudes(RNG, 1e-20, 1e9)),
    ("cos", np.cos, lambda x: x.cos(), magnitudes(RNG, 1e-20, 1e9)),
    ("sqrt", np.sqrt, lambda x: x.sqrt(), np.abs(magnitudes(RNG, 1e-300, 1e300))),
]


@pytest.mark.parametrize(("name", "function", "exact", "x"), ONE, ids=[c[0] for c in ONE])
def test_functions_of_one_argument(name, function, exact, x):
    assert largest_error(function(x), (x,), exact) <= 8.0


def test_hypot_and_arctan2():
    y, x = magnitudes(RNG, 1e-12, 1e6), magnitudes(RNG, 1e-12, 1e6)
    assert largest_error(np.hypot(x, y), (x, y), lambda a, b: (a * a + b * b).sqrt()) <= 8.0
    assert largest_error(np.arctan2(y, x), (y, x), arb.atan2) <= 8.0


def test_python_functions():
    x = RNG.uniform(-700.0, 700.0, COUNT)
    assert largest_error([math.exp(v) for v in x], (x,), lambda v: v.exp()) <= 8.0
    x = magnitudes(RNG, 1e-20, 600.0)
    assert largest_error([math.expm1(v) for v in x], (x,), lambda v: v.expm1()) <= 8.0
    x = np.abs(magnitudes(RNG, 1e-300, 1e300))
    assert largest_error([math.log(v) for v in x], (x,), lambda v: v.log()) <= 8.0


def testcomplex_helpers():
    """e^z - 1, e^z - 1 - z and log(1 + z) of the nodes: relative to the proofs' scales."""
    from flint import acb

    from shuffledp.numerics.elementary import complex_expm1, complex_expm1_minus, complex_log1p

    ctx.prec = 300
    size = np.abs(magnitudes(RNG, 1e-15, 200.0))
    turn = RNG.uniform(-np.pi, np.pi, COUNT)
    z = size * np.exp(1j * turn)
    z.real = np.clip(z.real, -200.0, 200.0)
    u = 2.0**-53
    near = z[np.abs(z) <= 0.25]
    for values, points, exact, against in (
        (complex_expm1(z), z, lambda s: s.exp() - 1, lambda s, v: abs(v) + 0 * abs(s)),
        (complex_expm1_minus(near), near, lambda s: s.exp() - 1 - s, lambda s, v: abs(s) ** 2 / 2),
    ):
        for value, point in zip(values, points, strict=True):
            s = acb(float(point.real), float(point.imag))
            truth = exact(s)
            error = abs(acb(float(value.real), float(value.imag)) - truth)
            assert error <= 64 * u * against(s, truth) + arb(2) ** -1000, point
    w = z[np.abs(z) < 1e3]
    real, imag, modulus = complex_log1p(w)
    for a, b, m, point in zip(real, imag, modulus, w, strict=True):
        s = acb(float(point.real), float(point.imag))
        one = 1 + s
        if abs(one) < 1e-3:
            continue
        truth = one.log()
        slack = u * (24 * abs(s) * (1 + abs(s)) / abs(one) + 9 * abs(truth))
        assert abs(acb(float(a), float(b)) - truth) <= slack, point
        assert abs(arb(float(m)) - abs(one)) <= 12 * u * (1 + abs(s))
