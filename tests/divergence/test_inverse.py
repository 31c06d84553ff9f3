"""From delta to eps on exact curves whose brackets lean to any side: ends, and which is evaluated.

The curves are those of test_chords.py; a profile here gives true brackets of the width asked for
(or no narrower than some width), leaning at random but always the same at the same eps.
"""

import math
import random
from typing import cast

import pytest

from divergence.test_chords import Hinges, Power, bracket, mechanism
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.divergence import inverse
from shuffledp.divergence.profile import PairProfile


def solve_epsilon(profiles, *args, **options):
    return inverse.solve_epsilon(cast("list[PairProfile]", profiles), *args, **options)


class Curve:
    """A profile: brackets of an exact curve, and an estimate that is off."""

    def __init__(self, curve, number, *, least=0.0, off=0.0, lean=None, floor=-math.inf):
        self.curve, self.number, self.least, self.off = curve, number, least, off
        self.lean, self.floor = lean, floor
        self.asked = {}

    def log_delta(self, epsilon, *, width=inverse.LOOSE):
        rng = random.Random(f"{self.number} {epsilon!r} {width!r}")
        lean = rng.random() if self.lean is None else self.lean
        width = max(width, self.least) * rng.choice([1.0, 0.5, 0.01])
        found = bracket(self.curve, epsilon, lean * width, (1.0 - lean) * width)
        old = self.asked.get(epsilon, LogInterval(-math.inf, math.inf))
        self.asked[epsilon] = LogInterval(max(found.low, old.low), min(found.high, old.high))
        return self.asked[epsilon]

    def rough_log_delta(self, epsilon, *, above=-math.inf):
        value = self.curve(epsilon)
        if not value > 0:
            return -math.inf
        wave = self.off * math.sin(3.0 + 5.0 * epsilon)
        return min(float(value.log().mid()) + wave, 0.0)

    def log_floor(self):
        return self.floor


def check(profiles, delta, *, cap, rtol, upper):
    """The interval, both ends compared with the exact curves; the claimed one was evaluated."""
    log_target = math.log(delta)
    found = solve_epsilon(profiles, log_target, cap=cap, rtol=rtol, need_all=upper)
    assert 0.0 <= found.low <= found.high <= cap
    if found.high < cap and upper:
        assert all(p.curve(found.high) <= delta for p in profiles)
        # Whoever evaluates it again gets no more than the target.
        assert all(p.asked[found.high].high < log_target for p in profiles)
    if found.low > 0.0:
        values = [p.curve(found.low) for p in profiles]
        assert any(value >= delta for value in values)
        if not upper:
            assert profiles[found.which].curve(found.low) >= delta
            assert profiles[found.which].asked[found.low].low > log_target
    if not upper and found.high < cap:
        assert profiles[found.which].curve(found.high) <= delta
    return found


def some_curve(rng):
    kind = rng.choice(["hinges", "power", "mechanism"])
    if kind == "power":
        return Power(-rng.choice([0.0, 0.1, 2.0]), rng.choice([0.1, 1.0, 30.0, 1e5]))
    if kind == "mechanism":
        return mechanism(rng.randrange(300))
    count = rng.randint(1, 6)
    return Hinges(
        [(rng.uniform(0.01, 1.0 / count), math.exp(4 * rng.random())) for _ in range(count)]
    )


def target(curves, rng):
    """Below the largest at 0, mostly."""
    top = max(float(curve(rng.choice([0.0, 0.01, 0.3])).mid()) for curve in curves)
    return min(max(top * rng.choice([1.0, 0.999, 0.3, 1e-3, 1e-9]), 1e-300), 0.999)


@pytest.mark.many(8)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("batch", range(8))
def test_ends_hold_and_the_claimed_one_was_evaluated(batch, upper):
    rng = random.Random(f"inverse {batch} {upper}")
    for number in range(25):
        curves = [some_curve(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
        lean, least = rng.choice([None, 0.0, 1.0]), rng.choice([0.0, 0.0, 1e-5, 0.2, 3.0])
        profiles = [
            Curve(c, (number, i), least=least, off=rng.choice([0.0, 0.1, 2.0]), lean=lean)
            for i, c in enumerate(curves)
        ]
        delta = target(curves, rng)
        rtol = rng.choice([1e-3, 1e-6, 1e-9])
        # A cap is a promise: delta is below the target there.
        cap = math.inf
        for guess in (0.5, 3.0, 40.0):
            if rng.random() < 0.3 and all(c(guess) <= delta for c in curves):
                cap = guess
                break
        check(profiles, delta, cap=cap, rtol=rtol, upper=upper)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("lean", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("k", [0.5, 20.0, 1e4])
def test_brackets_as_narrow_as_wanted_bring_the_ends_together(k, rtol, lean, upper):
    """And ten evaluations do."""
    profile = Curve(Power(-0.3, k), "together", off=0.05, lean=lean)
    found = check([profile], 1e-7, cap=math.inf, rtol=rtol, upper=upper)
    crossing = (-0.3 - math.log(1e-7)) / k
    assert found.low <= crossing * (1 + 1e-14)
    assert found.high >= crossing * (1 - 1e-14)
    assert found.high - found.low <= 1.01 * rtol * found.high
    assert len(profile.asked) <= 12


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("shift", [-0.3, 0.02, 0.3])
@pytest.mark.parametrize("steeper", [0.2, 1.0, 10.0])
def test_measured_slopes_are_believed(steeper, shift, upper):
    """An estimate next to a bend may fall ten times as fast as the curve does."""
    profile, crossing = Curve(Power(-0.3, 20.0), "bend", lean=0.5), (-0.3 - math.log(1e-7)) / 20.0

    def rough(epsilon, *, above=-math.inf):
        del above
        return min(math.log(1e-7) + shift - steeper * 20.0 * (epsilon - crossing), 0.0)

    profile.rough_log_delta = rough
    found = check([profile], 1e-7, cap=math.inf, rtol=1e-7, upper=upper)
    assert found.high - found.low <= 1.01e-7 * found.high
    assert len(profile.asked) <= 14


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("gap", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("scaled", [0.7, 1.15, 2.0])
def test_estimates_that_are_far_off_cost_points_but_end_nowhere_far(scaled, gap, upper):
    """Brackets far narrower than was asked for, and ends that are known by chords."""
    curve = Hinges([(0.5, math.exp(0.9)), (0.3, math.exp(0.2))])
    profile = Curve(curve, (scaled, gap), lean=0.5)
    exact = profile.rough_log_delta
    profile.rough_log_delta = lambda epsilon, **_: min(scaled * exact(epsilon), 0.0)
    delta = float(curve(0.0).mid()) * math.exp(-gap)
    found = check([profile], delta, cap=0.9 * (1.0 + 1e-12), rtol=1e-9, upper=upper)
    # Brackets follow the slope at the point that was estimated.
    assert found.high - found.low <= 1e-4 * found.high
    assert len(profile.asked) <= 90


@pytest.mark.parametrize("wrong", [-0.1, 1.6])
@pytest.mark.parametrize("upper", [True, False])
def test_the_worst_of_several(upper, wrong):
    """The estimate names the wrong one; brackets have the last word."""
    high = Curve(Power(-0.2, 2.0), 1, off=0.0)
    low = Curve(Power(-0.5, 2.0), 2, off=0.0)
    low.rough_log_delta = lambda epsilon, **_: min(wrong - 2.0 * epsilon, 0.0)
    for profiles in ([high, low], [low, high]):
        found = check(profiles, 1e-3, cap=math.inf, rtol=1e-6, upper=upper)
        crossing = (-0.2 - math.log(1e-3)) / 2.0
        assert found.high >= crossing * (1 - 1e-12)
        assert found.high <= crossing * (1 + 2e-6)
        assert found.low <= crossing * (1 + 1e-12)
        assert found.low >= crossing * (1 - 2e-6)
        assert profiles[found.which] is high


def test_nothing_better_than_the_cap():
    """Brackets without a lower end, or too wide ever to be below: the cap, and 0."""
    profile = Curve(Power(0.0, 1.0), 3, least=100.0, lean=0.0)
    found = solve_epsilon([profile], -5.0, cap=7.0, rtol=1e-3, need_all=True)
    assert found.high == 7.0
    assert found.low <= 5.0 * (1 + 1e-12)
    found = solve_epsilon([profile], -5.0, cap=math.inf, rtol=1e-3, need_all=True)
    assert found.high == math.inf or found.high >= 5.0
    # No bracket alone is above the target; the line through two of them is no point evaluated.
    profile = Curve(Power(0.0, 1.0), 4, least=1e4, lean=1.0)
    found = solve_epsilon([profile], -5.0, cap=7.0, rtol=1e-3, need_all=False)
    assert found.low == 0.0
    assert found.high >= 5.0 * (1 - 1e-12)


def test_ends_of_what_was_evaluated():
    """The claimed end is a point, the other one may lie between points."""
    curve = Curve(Power(0.0, 1.0), 5)
    known = {e: bracket(curve.curve, e, 1e-9, 1e-9) for e in (1.0, 1.5, 2.5, 3.0)}
    for upper in (True, False):
        evaluated = inverse.Evaluated(cast("PairProfile", curve), -2.0, upper=upper)
        assert evaluated.ends() == (0.0, None)
        evaluated.known.update(known)
        evaluated._ends = None
        low, high = evaluated.ends()
        if upper:
            assert high == 2.5
            assert 1.5 < low <= 2.0
        else:
            assert low == 1.5
            assert high is not None
            assert 2.0 <= high < 2.5
        # What is evaluated later counts at once.
        curve.log_delta(2.0001, width=1e-9)
        evaluated.log_delta(2.0001, width=1e-9)
        evaluated.log_delta(1.9999, width=1e-9)
        low, high = evaluated.ends()
        assert high is not None
        assert high - low < 2.1e-4
        assert evaluated.outward == (1.0 if upper else -1.0)


def test_of_no_number_nothing_is_certified():
    curve = Curve(Power(0.0, 1.0), 6)
    evaluated = inverse.Evaluated(cast("PairProfile", curve), -2.0, upper=True)
    for epsilon in (math.nan, -1.0):
        assert evaluated.log_delta(epsilon) == (-math.inf, math.inf)
        assert not evaluated.below(epsilon, 1e-3)
        assert not evaluated.above(epsilon, 1e-3)
    assert evaluated.ends() == (0.0, None)
    assert curve.asked == {}


def test_an_estimate_is_not_tilted_by_the_point_it_passes_through():
    """What is predicted at a point may differ from what is known there: no line joins the two."""
    curve = Curve(Power(0.0, 1.0), 7, lean=0.5)
    evaluated = inverse.Evaluated(cast("PairProfile", curve), -2.0, upper=True)
    evaluated.log_delta(2.0, width=1e-9)
    near = inverse.Near(2.0, 1.0, LogInterval(-1.5 - 1e-9, -1.5))
    assert evaluated.shape(near)(2.0) == pytest.approx(-1.5)
