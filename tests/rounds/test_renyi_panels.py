"""Renyi divergences from few values of a curve: corners in panels, estimates that lie."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.neighbours import REPLACEMENT
from shuffledp.rounds import Candidate, Round
from shuffledp.rounds.dots import law_above
from shuffledp.rounds.renyi import upper_renyi


class Corners:
    """h(e^eps) = sum (p - e^eps q)_+ in 50 digits, known to a width; estimates off by a factor.

    Where in its bracket a value lies differs from point to point.
    """

    def __init__(self, p, q, width, lie):
        self.pairs, self.width, self.lie = list(zip(p, q, strict=True)), width, lie

    def _log(self, epsilon):
        a = mpmath.exp(mpmath.mpf(epsilon))
        total = mpmath.fsum(max(x - a * y, 0) for x, y in self.pairs)
        return float(mpmath.log(total)) if total > 0 else -math.inf

    def log_delta(self, epsilon, *, width=0.0, end="both"):
        del width, end
        log = self._log(epsilon)
        pad = 2.0**-52 * (1.0 + abs(log)) if log > -math.inf else 0.0
        share = (epsilon * 7919.0) % 1.0
        return LogInterval(log - share * self.width - pad, log + (1.0 - share) * self.width + pad)

    def rough_log_delta(self, epsilon):
        log = self._log(epsilon)
        return log * (1.0 + self.lie) if log > -math.inf else log

    def log_floor(self):
        return -math.inf


def laws(losses, masses):
    """P and Q with these losses, exactly 1 each."""
    q = [mpmath.mpf(m) for m in masses]
    p = [m * mpmath.exp(mpmath.mpf(x)) for m, x in zip(q, losses, strict=True)]
    return [x / mpmath.fsum(p) for x in p], [x / mpmath.fsum(q) for x in q]


@st.composite
def cases(draw):
    size = draw(st.integers(2, 5))
    spread = draw(st.sampled_from([1e-3, 0.1, 1.0, 6.0]))
    losses = [draw(st.floats(-spread, spread)) for _ in range(size)]
    masses = [10.0 ** draw(st.floats(-9.0, 0.0)) for _ in range(size)]
    order = draw(st.sampled_from([1.001, 1.5, 2.0, 10.0, 300.0]))
    width = draw(st.sampled_from([0.0, 1e-4, 0.1, 3.0]))
    return *laws(losses, masses), order, width, draw(st.sampled_from([0.0, 3.0, -0.5]))


def exact_log_excess(p, q, order):
    total = mpmath.fsum(y * ((x / y) ** order - 1) for x, y in zip(p, q, strict=True))
    return float(mpmath.log(total)) if total > mpmath.mpf(10) ** -30 else -math.inf


def round_of(p, q, eps0, width=0.0, lie=0.0):
    sides = [Corners(*pq, width, lie) for pq in ((p, q), (q, p))]
    return Round(
        label="corners",
        key=id(sides[0]),
        relation=REPLACEMENT,
        groups=[sides[:1]],
        backward_groups=[sides[1:]],
        candidates=(Candidate(*sides, {}),),
        eps0=eps0,
        width=1e-3,
    )


def log_excess(part, order):
    """Lower and upper end of log(E_Q[(P/Q)^order] - 1), from those of the divergence."""
    return LogInterval(
        _log_excess(part.renyi_below((order,))(order)[0], order) - 1e-9,
        _log_excess(part.renyi((order,))(order)[0], order) + 1e-9,
    )


def _log_excess(divergence, order):
    x = (order - 1.0) * divergence
    if not 0.0 < x < math.inf:
        return -math.inf if x <= 0.0 else x
    return float(mpmath.log(mpmath.expm1(x)))


@settings(max_examples=10, deadline=None)
@given(case=cases())
def test_corners_are_bracketed_whatever_is_estimated(case):
    """Few panels, corners in them: chords and their continuations still enclose."""
    corners_are_bracketed(case)


def corners_are_bracketed(case):
    mpmath.mp.dps = 50
    p, q, order, width, lie = case
    ratios = [float(mpmath.log(x / y)) for x, y in zip(p, q, strict=True)]
    # Of curves nearer to the axis 50 digits know nothing.
    assume(max(map(abs, ratios)) > 1e-18)
    eps0 = max(max(map(abs, ratios)) * (1.0 + 1e-12), 1e-9)
    exact = exact_log_excess(p, q, order)
    found = log_excess(round_of(p, q, eps0, width, lie), order)
    assert found.low <= exact <= found.high or exact == -math.inf


@pytest.mark.parametrize("loss", [1e-9, 1e-6, 1e-3, 0.3, 5.0])
@pytest.mark.parametrize("order", [1.5, 40.0])
def test_two_outputs(loss, order):
    """h is a chord: what is left is rounding, and outward."""
    mpmath.mp.dps = 50
    small, large = 1 / (1 + mpmath.exp(loss)), 1 / (1 + mpmath.exp(-loss))
    found = log_excess(round_of([large, small], [small, large], loss), order)
    exact = exact_log_excess([large, small], [small, large], order)
    assert found.low < exact < found.high < exact + 1e-7 * (1.0 + abs(exact))


@pytest.mark.parametrize("last", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("order", [1.2, 1.5, 6.0])
def test_what_lies_beyond_is_added(last, order):
    """The tail of the one direction, and what the other's value there says of all beyond."""
    mpmath.mp.dps = 50
    loss = 5.0
    small, large = 1 / (1 + mpmath.exp(loss)), 1 / (1 + mpmath.exp(-loss))

    def tail(order, start):
        if start >= loss:
            return -math.inf
        a, b = mpmath.exp(start), mpmath.exp(loss)
        rest = order * large * (b ** (order - 1) - a ** (order - 1))
        return float(mpmath.log(rest - (order - 1) * small * (b**order - a**order)))

    dots = np.linspace(0.0, last, 60).tolist()
    sides = [
        [arb(math.exp(Corners(*pq, 0.0, 0.0).log_delta(e).high)) for e in dots]
        for pq in (([large, small], [small, large]), ([small, large], [large, small]))
    ]
    pair = law_above(dots, *sides)
    high = _log_excess(upper_renyi(pair, order, last=math.inf, tail=tail)[0], order)
    exact = exact_log_excess([large, small], [small, large], order)
    # With all of the backward curve beyond at its value there.
    assert exact < high < exact + 0.5
    assert upper_renyi(pair, order, last=math.inf, tail=None)[0] == math.inf
    # Both curves are 0 from the loss on: what they may be before that is added, too.
    assert _log_excess(upper_renyi(pair, order, last=loss, tail=None)[0], order) > exact
