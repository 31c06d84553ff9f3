"""Interval arithmetic: every result holds the exact one, from balls."""

import math

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.closed_forms.interval import Interval, larger, of, smaller

ctx.prec = 300
numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-250 else x)
positives = st.floats(1e-250, 1e250)


def holds(interval, truth):
    low, high = interval.low, interval.high
    return (low == -math.inf or arb(low) <= truth) and (high == math.inf or arb(high) >= truth)


def narrow(interval, truth):
    return interval.high - interval.low <= 1e-14 * abs(float(truth)) + 1e-300


@given(numbers, numbers)
def test_arithmetic(x, y):
    for found, truth in (
        (of(x) + y, arb(x) + arb(y)),
        (x + of(y), arb(x) + arb(y)),
        (of(x) - y, arb(x) - arb(y)),
        (x - of(y), arb(x) - arb(y)),
        (of(x) * y, arb(x) * arb(y)),
        (x * of(y), arb(x) * arb(y)),
        (-of(x), -arb(x)),
    ):
        assert holds(found, truth)
        assert narrow(found, truth)
    if y != 0.0:
        assert holds(of(x) / y, arb(x) / arb(y))
        assert holds(x / of(y), arb(x) / arb(y))


@given(st.floats(-700, 700))
def test_exponentials(x):
    assert holds(of(x).exp(), arb(x).exp())
    with ctx.workprec(3000):  # next to -1 the ball itself has to be narrow
        assert holds(of(x).expm1(), arb(x).expm1())
    assert narrow(of(x).exp(), arb(x).exp())


@given(positives)
def test_logarithms_and_root(x):
    assert holds(of(x).log(), arb(x).log())
    assert holds(of(x).log1p(), arb(x).log1p())
    y = -1.0 / (1.0 + x)
    assert y == -1.0 or holds(of(y).log1p(), arb(y).log1p())
    assert holds(of(x).sqrt(), arb(x).sqrt())
    assert narrow(of(x).sqrt(), arb(x).sqrt())


@given(numbers, numbers, numbers, numbers)
def test_wide_ones_hold_every_product_and_quotient(a, b, c, d):
    x, y = Interval(min(a, b), max(a, b)), Interval(min(c, d), max(c, d))
    for u in (a, b):
        for v in (c, d):
            assert holds(x * y, arb(u) * arb(v))
            assert holds(x - y, arb(u) - arb(v))
            if v != 0.0:
                assert holds(x / y, arb(u) / arb(v))
            assert holds(smaller(x, y), arb(min(u, v)))
            assert holds(larger(x, y), arb(max(u, v)))


def test_ends_of_the_range():
    assert of(1e4).exp().high == math.inf
    assert of(-1e4).exp().low == 0.0
    assert of(-1.0).log1p().low == -math.inf
    assert of(0.0).log().low == -math.inf
    assert of(-2.0).sqrt().low == 0.0
    whole = of(1.0) / Interval(-1.0, 1.0)
    assert (whole.low, whole.high) == (-math.inf, math.inf)
    assert (Interval(0.0, math.inf) * 0.0).low <= 0.0


@pytest.mark.parametrize(
    ("x", "y", "sure"), [(1.0, 1.0, True), (1.0, 2.0, True), (2.0, 1.0, False)]
)
def test_comparisons_are_sure(x, y, sure):
    assert of(x).surely_at_most(y) is sure
    assert of(y).surely_at_least(x) is sure
    assert not Interval(0.0, 2.0).surely_at_most(1.0)
    assert not Interval(0.0, 2.0).surely_at_least(1.0)
