"""Reduced cases of ends that were inward once, and error terms that no ordinary law exercises."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from divergence.laws import counted_truth, random_case
from divergence.oracle import (
    assert_inside,
    ball,
    exponential,
    row_fractions,
    worst_blanket,
    worst_delta,
)
from shuffledp.arithmetic.intervals import log_difference
from shuffledp.contour import ONE_ROUND
from shuffledp.contour.stop import RATIO
from shuffledp.divergence.enumeration import Enumeration
from shuffledp.divergence.gain import GainLaw, atom_gains
from shuffledp.divergence.positive_part import GainSum, expected_positive_part
from shuffledp.divergence.tilt import Tilt, find_tilt, log_moment
from shuffledp.pair import ShuffledPair

U = 2.0**-53


@pytest.mark.many(2)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_entries_that_are_equal_only_as_floats(n):
    """Rows are divided by sums that differ by less than rounding: the left-over is 1e-18, not 0."""
    matrix = [[1.0, 2e-20, 1e-17], [1.0, 1e-20, 1e-17], [1.0, 1e-20, 1.1e-17]]
    rows = row_fractions(matrix)
    for epsilon in (0.5, 0.6):
        asked = sd.shuffle(sd.Channel(matrix=matrix), n=n)
        low_alpha, high_alpha = exponential(epsilon)
        blanket = asked.delta(epsilon=epsilon, analysis="blanket")
        assert Fraction(blanket.upper) >= worst_blanket(rows, n, low_alpha)
        # By default all data sets are looked at, and both ends meet.
        bound = asked.delta(epsilon=epsilon)
        most, least = worst_delta(rows, n, [low_alpha, high_alpha])
        assert Fraction(bound.lower) <= least
        assert Fraction(bound.upper) >= most


@pytest.mark.parametrize("leftover", [0.0, 1e-17, 4e-16])
def test_a_left_over_that_is_mostly_error(leftover):
    """The rare positive message wins only if the others are left over: that mass decides."""
    plus, left = Fraction(1, 2**70), Fraction(1, 2**50)
    atoms = [(plus, Fraction(2), Fraction(1)), (1 - plus - left, Fraction(1), Fraction(2))]
    pair = object.__new__(ShuffledPair)
    for name, value in {
        "w": np.array([float(w) for w, _, _ in atoms]),
        "a": np.array([2.0, 1.0]),
        "b": np.array([1.0, 2.0]),
        "n": 3,
        "outside": np.zeros((0, 2)),
        "tail": (0.0, 0.0),
        "rel": 2 * U,
        "leftover": (leftover, 1e-15),
    }.items():
        object.__setattr__(pair, name, value)
    assert_inside(Enumeration(pair).expected_positive_part(0.0), *counted_truth(atoms, 3, 0.0))


def test_gains_that_are_mostly_rounding_are_not_moved_to_the_floor():
    """Seeds at which g is -1 ulp of a but may be above 0, next to tiny gains that are certain."""
    for seed in (1788, *range(40)):
        rng = random.Random(f"floor {seed}")
        case = random_case(
            rng, atoms=3, n=rng.choice([3, 8, 16]), reach=1e-9, decades=1.0, rel=1e-3, epsilon=0.0
        )
        law = atom_gains(case.pair, 0.0)
        for g, err, (_, a, b) in zip(law.g, law.g_err, case.atoms, strict=True):
            true = a - b
            moved = Fraction(float(g)) > true + Fraction(float(err))
            # Raised to the floor: then it is below 0 for certain, and so far that S < 0.
            assert not moved or true < -case.n * Fraction(law.high)
            assert moved or Fraction(float(g)) >= true - Fraction(float(err))


def uncertain(g, g_err, w=1e-3, **more):
    """One atom whose value is next to unknown, and one far below 0."""
    fields = {
        "w": np.array([w, 0.5]),
        "g": np.array([g, -1.0]),
        "g_err": np.array([g_err, 0.0]),
        "rel": 0.0,
        "mean": w * g - 0.5,
        "mean_err": w * g_err,
        "active": np.array([True, False]),
        "low": -1.0,
        "high": max(g + g_err, 0.0),
    }
    return GainLaw(**(fields | more))


@pytest.mark.parametrize("g", [1e-17, 0.0, -1e-16])
@pytest.mark.parametrize("s", [1e3, 1e15, 3e16, 1e18, 1e20])
def test_moment_of_gains_that_are_mostly_rounding(g, s):
    """log M at any value of the gain within its error."""
    law = uncertain(g, 2e-16)
    value, slack = log_moment(law, s)
    for true in (g - 2e-16, g, g + 2e-16):
        m = 1 + ball(1e-3) * (ball(s) * ball(true)).expm1() + ball(0.5) * (ball(-s)).expm1()
        assert slack == math.inf or m.log() <= ball(value) + ball(slack)


@pytest.mark.parametrize("rel", [1e-3, 1e-6])
@pytest.mark.parametrize("s", [0.01, 1.0, 4.0])
def test_moment_of_mass_that_was_taken_out(rel, s):
    """``lost`` has the relative error of every mass."""
    law = uncertain(1.0, 0.0, rel=rel, lost=0.4, mean=1e-3 - 0.5)
    value, slack = log_moment(law, s)
    for factor in (1 - 0.999 * rel, 1 + 0.999 * rel):
        mass = 1 - ball(0.4) * ball(factor)
        m = mass + ball(1e-3) * ball(s).expm1() + ball(0.5) * ball(-s).expm1()
        assert abs(m.log() - ball(value)) <= ball(slack)


@pytest.mark.many(1)
@pytest.mark.parametrize("n", [pytest.param(2, marks=pytest.mark.long), 40, 1000, 10**6])
@pytest.mark.parametrize("rare", [True, False])
def test_a_moment_lost_in_its_rounding_gives_no_nan(n, rare):
    """Next to no mass at or above 0: M(alpha) is below its own error."""
    w = np.array([1e-40, 1.0])
    law = GainLaw(
        w=w,
        g=np.array([1.0, -2000.0]),
        g_err=np.array([1e-15, 1e-13]),
        rel=2 * U,
        mean=-2000.0,
        mean_err=1e-12,
        active=np.array([True, False]),
        low=-2000.0,
        high=1.0,
    )
    tilt = find_tilt(law, n, force_rare=rare, allow_rare=rare)
    found = expected_positive_part(law, n, tilt, width=1e-2)[0]
    assert found.low <= found.high
    # S > 0 only if nearly all are +1; at most ``lost in rounding`` is left at 0.
    assert found.high >= n * math.log(1e-40) + math.log(n)


@pytest.mark.parametrize("log_x", [-1e-3, -30.0, -690.0, -7000.0])
@pytest.mark.parametrize("gap", [1e-14, 1e-12, 1e-6, 0.1])
def test_a_difference_of_two_near_numbers_is_rounded_down(log_x, gap):
    y = math.exp(max(log_x - gap, -700.0))
    log_x = math.log(y) + gap
    found = log_difference(log_x, math.log(y))
    true = ball(log_x).exp() - ball(y)
    assert found == -math.inf or ball(found) <= true.log() + arb(4 * U * (1 + abs(found)))


# ---------------------------------------------------------------- where the nodes stop early


def early(total, h, step, log_guard):
    return total.early_stop(ONE_ROUND, smoothing=h, step=step, log_guard=log_guard)


def omitted(size, alpha, h, step, count):
    """What the nodes beyond the last one add at most: sizes of |phi|^n on the way, both forms."""
    t = (count + 1 + np.arange(100_000)) * step
    weight = np.where(h * t < 38.0, np.exp(-0.5 * np.minimum(h * t, 38.0) ** 2), 0.0) * size(t)
    kernel = 1.0 / (alpha**2 + t**2)
    assert weight[-1] < 1e-200
    return step * float((weight * kernel).sum()), step * float((weight * (kernel + h * h)).sum())


@pytest.mark.many(4)
@pytest.mark.parametrize("period", [3.0, 20.0, 300.0])
@pytest.mark.parametrize("spread", [1e-6, 0.02, 0.2, 3.0])
def test_what_the_middle_zone_leaves_out(period, spread):
    """The worst |phi| the proof allows, all of it added up, is within the rule's allowance."""
    seen = 0
    law = GainLaw(
        w=np.array([0.5, 0.25]),
        g=np.array([1.0, -2.0]) * spread,
        g_err=np.zeros(2),
        rel=0.0,
        mean=0.0,
        mean_err=0.0,
        active=np.array([True, False]),
        low=-2.0 * spread,
        high=spread,
    )
    sizes = (300, 10**5)
    for n, alpha in itertools.product(sizes, (1e-3 / spread, 0.3 / spread, 3.0 / spread)):
        tilt = Tilt(alpha, 0.0, 0.0, rare=False, variance=1.5 * spread**2)
        step = 2.0 * math.pi / (period / alpha)
        cut = math.pi / (3.0 * spread)
        for h in (3.0 / cut, 5.0 / cut, 20.0 / cut):
            for log_guard in (0.5, 4.0, 12.0):
                stop = early(GainSum(law, n, tilt), h, step, log_guard)
                if stop is None:
                    continue
                count = max(math.ceil(stop.edge / step), 1)
                rate = 2.0 * n * tilt.variance / math.pi**2

                def size(t, cut=cut, rate=rate):
                    return np.where(t <= cut, np.exp(-np.minimum(rate * t * t, 700.0)), 1.0)

                upper, lower = omitted(size, alpha, h, max(step, 60.0 / h / 1e5), count)
                if step >= 60.0 / h / 1e5:
                    seen += 1
                    assert upper <= stop.rest_upper
                    assert lower <= stop.rest_lower
    assert seen or period == 300.0


# Laws with a decay of their own are asked for nothing else.
CONSTANT = GainLaw(
    w=np.ones(1),
    g=np.zeros(1),
    g_err=np.zeros(1),
    rel=0.0,
    mean=0.0,
    mean_err=0.0,
    active=np.zeros(1, dtype=bool),
    low=-1.0,
    high=1.0,
)


class Known:
    """|phi|^n = e^-log(size) as given, in place of a law's decay."""

    def __init__(self, rate, n):
        self.rate, self.n, self.cut = rate, n, 0.0

    def log_power(self, t, n, enough=None):
        assert n == self.n
        self.cut = max(self.cut, RATIO * t)
        return -min(self.rate * t * t, 60.0)


@pytest.mark.many(14)
@pytest.mark.parametrize("period", [3.0, 20.0, 100.0])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("log_guard", [1.0, 6.0, 15.0])
def test_what_the_windows_leave_out(period, alpha, log_guard):
    """The same for laws with a continuous part: a step function over the windows [t, 1.3 t]."""
    n = 400
    tilt = Tilt(alpha, 0.0, 0.0, rare=False, variance=1.0 / n)
    step = 2.0 * math.pi * alpha / period
    for rate in (0.3, 1.0, 4.0):
        for h in (0.05, 0.3):
            known = Known(rate, n)
            stop = early(GainSum(CONSTANT, n, tilt, known), h, step, log_guard)
            if stop is None:
                continue
            count = max(math.ceil(stop.edge / step), 1)

            def size(t, rate=rate, cut=known.cut):
                window = np.floor(np.log(t / 2.0) / math.log(RATIO) + 1e-9)
                bound = np.exp(-np.minimum(rate * (2.0 * RATIO**window) ** 2, 60.0))
                return np.where(t <= cut, bound, 1.0)

            upper, lower = omitted(size, alpha, stop.smoothing, step, count)
            assert upper <= stop.rest_upper
            assert lower <= stop.rest_lower


@pytest.mark.parametrize("analysis", [None, "dataset"])
def test_others_whose_mass_no_float_holds_well(analysis):
    """What is left out of the reference lowers the lower end in both orders of a pair."""
    matrix = [[0.5, 0.5, 1e-306], [0.5, 0.5, 3e-306]]
    rows = row_fractions(matrix)
    for n in (1, 2, 4):
        for epsilon in (0.0, 0.1, 0.5, 1.0):
            low_alpha, high_alpha = exponential(epsilon)
            most, least = worst_delta(rows, n, [low_alpha, high_alpha])
            bound = sd.shuffle(sd.Channel(matrix=matrix), n=n).delta(
                epsilon=epsilon, analysis=analysis
            )
            assert Fraction(bound.lower) <= least
            if analysis is None:
                assert Fraction(bound.upper) >= most


@pytest.mark.parametrize("epsilon", [650.0, 705.0, 710.0, 1e4])
def test_eps_of_which_the_exponential_is_no_float(epsilon):
    """The victim alone gives an output, with 1/2."""
    matrix = [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    for n in (2, 40):
        bound = sd.shuffle(sd.Channel(matrix=matrix), n=n).delta(epsilon=epsilon)
        assert bound.lower <= 0.5 <= bound.upper


def test_odds_that_are_beyond_the_floats():
    bound = sd.shuffle(sd.Channel(matrix=[[1e-310, 1.0], [0.0, 1.0]]), n=2).delta(epsilon=0.5)
    assert bound.lower <= 1e-310 <= bound.upper


@pytest.mark.parametrize("tiny", [1e-140, 1e-250, 1e-300, 1e-310])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_ratios_that_no_float_holds_well(tiny, n):
    """Likelihood ratios up to 1e310: such outputs give the victim away, but for n tiny."""
    for matrix in ([[1.0, tiny], [0.5, 0.5]], [[1.0, tiny, tiny], [0.5, 0.25, 0.25], [tiny, 1, 0]]):
        rows = row_fractions(matrix)
        channel = sd.Channel(matrix=matrix)
        for epsilon in (0.0, 0.5, 200.0):
            bound = sd.shuffle(channel, n=n).delta(epsilon=epsilon)
            low_alpha, high_alpha = exponential(epsilon)
            most, least = worst_delta(rows, n, [low_alpha, high_alpha])
            assert Fraction(bound.lower) <= least
            assert Fraction(bound.upper) >= most
            assert bound.upper - bound.lower <= 1e-9 + float(worst_blanket(rows, n, low_alpha))
        assert sd.shuffle(channel, n=10**9).delta(epsilon=1.0).upper <= 1.0


@pytest.mark.parametrize("tiny", [1e-100, 1e-129, 1e-131, 1e-290])
def test_local_guarantee_of_a_channel_is_rounded_up(tiny):
    eps0 = sd.Channel(matrix=[[1.0, tiny], [0.5, 0.5]]).eps0
    exact = (ball(0.5) / ball(tiny) * (1 + ball(tiny))).log()
    assert eps0 == math.inf if exact > 300 else exact <= ball(eps0) <= exact * (1 + ball(1e-12))


def test_gains_whose_squares_are_no_floats():
    """A tilt is proposed in silence; the bracket holds, whatever it is worth."""
    w = np.array([9.99999001e-101, 4.267862e-167])
    g = np.array([-1.22197209e101, 2.09175303e166])
    law = GainLaw(
        w=w,
        g=g,
        g_err=np.abs(g) * 1e-15,
        rel=1e-15,
        mean=float(w @ g),
        mean_err=1e-10,
        active=g > 0.0,
        low=float(g[0]),
        high=float(g[1]),
    )
    tilt = find_tilt(law, 13)
    assert tilt.alpha > 0.0
    # n V M^(n-1) alone: some message is the rare one, and all of it counts.
    found = expected_positive_part(law, 13, tilt, width=1e-3)[0]
    assert found.low <= math.log(13 * w[1] * g[1]) + 1e-9
    assert found.high >= math.log(13 * w[1] * g[1]) - 1e-3
