"""Ends by convexity: exact curves, brackets leaning to any side, both ends on the right side.

Every curve is convex and falling in x = e^eps and can be evaluated as a ball of 300 bits at any
float eps. Nothing is forgiven: a comparison that the ball leaves open fails.
"""

import math
import random
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from divergence.oracle import ball, blanket_delta, exponential, histogram_law, with_user
from divergence.test_exhaustive_channels import random_channel, row_fractions
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.divergence import chords
from shuffledp.divergence.chords import certified_ends

NOTHING = LogInterval(-math.inf, 0.0)


# ------------------------------------------------------------------------------------- curves


def exactly(parts):
    return [(Fraction(c), Fraction(top)) for c, top in parts]


class Hinges:
    """sum c (1 - x/top)_+ + rest over (c, top): the profile of any finite mechanism."""

    def __init__(self, parts, rest=Fraction(0)):
        self.parts = [(ball(c / top), ball(top - 1)) for c, top in exactly(parts)]
        self.rest = ball(rest)

    def __call__(self, epsilon):
        # From e^eps - 1, so that points next to 0 are not lost.
        x, total = arb(epsilon).expm1(), self.rest
        for slope, top in self.parts:
            if not x >= top:
                total += slope * (top - x)
        return total


class Power:
    """c x^-k, x = e^eps: log delta is a line in eps."""

    def __init__(self, log_c, k):
        self.log_c, self.k = log_c, k

    def __call__(self, epsilon):
        return (arb(self.log_c) - arb(self.k) * arb(epsilon)).exp()


def mechanism(number):
    """One pair of neighbouring datasets of a random channel, everything enumerated."""
    matrix, n, _ = random_channel(40_000 + number)
    rows, rng = row_fractions(matrix), random.Random(number)
    x0, x1 = rng.sample(range(len(rows)), 2)
    unit = math.lcm(*(p.denominator for row in rows for p in row))
    whole = [[int(p * unit) for p in row] for row in rows]
    base = histogram_law(whole, [rng.randrange(len(rows)) for _ in range(n - 1)])
    p, q = with_user(base, whole[x0]), with_user(base, whole[x1])
    total = unit**n
    parts = [(Fraction(v, total), Fraction(v, q[k])) for k, v in p.items() if k in q and v > q[k]]
    return Hinges(parts, Fraction(sum(v for k, v in p.items() if k not in q), total))


def hinges(rng):
    """Mass at most 1 and corners from 1 to e^700, clustered in some."""
    count, reach = rng.choice([1, 2, 3, 8]), rng.choice([1e-12, 1e-3, 1.0, 5.0, 40.0, 690.0])
    corners = [Fraction(math.exp(rng.uniform(0.1, 1.0) * reach)) for _ in range(count)]
    if rng.random() < 0.3:
        corners += [c * (1 + Fraction(rng.random()) / 10**13) for c in corners]
    parts = [Fraction(10.0 ** rng.uniform(-rng.choice([0.5, 8, 300]), 0)) for _ in corners]
    rest = Fraction(0) if rng.random() < 0.7 else sum(parts) * Fraction(rng.random())
    unit = max(sum(parts) + rest, 1)
    return Hinges([(c / unit, x) for c, x in zip(parts, corners, strict=True)], rest / unit)


def random_curve(rng):
    kind = rng.choice(["hinges", "hinges", "hinges", "power", "mechanism"])
    if kind == "hinges":
        return hinges(rng), rng.choice([1e-13, 1e-3, 1.0, 5.0, 40.0, 300.0, 690.0])
    if kind == "power":
        k = rng.choice([1e-3, 0.5, 1.0, 7.0, 300.0, 1e6, 1e12])
        return Power(rng.choice([0.0, -1e-9, -3.0, -600.0]), k), min(300.0, 40.0 / k)
    return mechanism(rng.randrange(300)), rng.choice([1e-3, 0.3, 1.0, 4.0])


# ----------------------------------------------------------------------------------- brackets


def down(x):
    """A float below a ball."""
    return math.nextafter(float(x.lower()), -math.inf)


def up(x):
    return math.nextafter(float(x.upper()), math.inf)


def bracket(curve, epsilon, below, above):
    """A true bracket of log delta whose ends are off by these."""
    value = curve(epsilon)
    if not value > 0:
        return LogInterval(-math.inf, -math.inf if value == 0 else up(value.log() + above))
    log = value.log()
    return LogInterval(down(log - below), min(up(log + above), max(up(log), 0.0)))


def random_bracket(curve, epsilon, rng):
    style = rng.random()
    if style < 0.05:
        return LogInterval(-math.inf, bracket(curve, epsilon, 0.0, rng.random()).high)
    if style < 0.1:
        return LogInterval(bracket(curve, epsilon, rng.random(), 0.0).low, math.inf)
    width = rng.choice([0.0, 0.0, 1e-15, 1e-13, 1e-6, 0.03, 1.0, 50.0])
    lean = rng.choice([0.0, 1.0, rng.random()])
    return bracket(curve, epsilon, lean * width, (1.0 - lean) * width)


def random_points(rng, reach):
    """Anywhere, in clusters, and next to each other."""
    points = [reach * rng.random() ** rng.choice([1, 6]) for _ in range(rng.randint(1, 4))]
    for center in list(points):
        if rng.random() < 0.4:
            points += [
                center * (1 + rng.uniform(-1, 1) * 10.0**-k) for k in rng.sample(range(16), 2)
            ]
        if rng.random() < 0.2:
            points += [math.nextafter(center, 0.0), math.nextafter(center, math.inf)]
    if rng.random() < 0.2:
        points.append(rng.choice([300.0, 699.0, 1e-300, 5e-324, 1e-17]))
    return [p for p in points if 0.0 <= p <= 700.0]


def check(curve, known, delta):
    """Both ends against the curve itself; the ends."""
    low, high = certified_ends(known, math.log(delta))
    assert low >= 0.0
    if low > 0.0:
        value = curve(low)
        assert value >= delta, f"delta({low!r}) = {value} < {delta!r}"
    if high is not None:
        assert math.isfinite(high)
        value = curve(high)
        assert value <= delta, f"delta({high!r}) = {value} > {delta!r}"
        assert low <= high
    return low, high


def check_random(rng):
    curve, reach = random_curve(rng)
    points = random_points(rng, reach)
    known = {p: random_bracket(curve, p, rng) for p in points}
    if rng.random() < 0.7:
        known[0.0] = NOTHING
    # Targets at a point, a little off one, between two, anywhere.
    value = float(curve(rng.choice(points)).mid())
    other = float(curve(rng.choice(points)).mid())
    value = rng.choice([value, (value + other) / 2, value * (1 + rng.uniform(-1, 1) * 1e-14)])
    delta = rng.choice([value, value, math.exp(-1e-9), math.exp(-700.0), 10 ** rng.uniform(-12, 0)])
    if not 1e-307 < delta < 1.0:
        return None
    return check(curve, known, delta)


@pytest.mark.parametrize("batch", range(20))
def test_ends_hold_whatever_the_brackets(batch):
    rng = random.Random(f"chords {batch}")
    found = [check_random(rng) for _ in range(150)]
    found = [ends for ends in found if ends is not None]
    # Something follows from many of them: a test of nothing would pass as well.
    assert sum(low > 0.0 for low, _ in found) > 0.2 * len(found)
    assert sum(high is not None for _, high in found) > 0.2 * len(found)


SMALL = st.floats(min_value=0.0, max_value=5.0, allow_subnormal=True)


@seed(20_240)
@settings(max_examples=400, deadline=None, database=None)
@given(
    parts=st.lists(st.tuples(st.floats(1e-9, 0.2), st.floats(1.0, 200.0)), min_size=1, max_size=5),
    points=st.dictionaries(
        SMALL, st.tuples(st.floats(0.0, 0.1), st.floats(0.0, 0.1)), min_size=1, max_size=6
    ),
    delta=st.floats(1e-9, 0.999),
)
def test_ends_hold_for_sums_of_hinges(parts, points, delta):
    curve = Hinges(parts)
    known = {0.0: NOTHING}
    known.update({e: bracket(curve, e, below, above) for e, (below, above) in points.items()})
    check(curve, known, delta)


@pytest.mark.parametrize("number", range(30))
def test_mechanisms_are_such_curves(number):
    """The enumeration of one pair against its blanket bound, which lies above it."""
    matrix, n, epsilon = random_channel(40_000 + number)
    rows, rng = row_fractions(matrix), random.Random(number)
    x0, x1 = rng.sample(range(len(rows)), 2)
    above = blanket_delta(rows, x0, x1, n, exponential(epsilon)[0])
    assert not mechanism(number)(epsilon) > ball(above)


# --------------------------------------------------- straight lines: nothing but rounding is left


def lines(rng, top):
    """c (1 - x/top): chords, and lines prolonged, are the curve itself."""
    return Hinges([(Fraction(rng.choice([0.5, 1.0, 1e-9, rng.random()])), top)])


@pytest.mark.parametrize("batch", range(10))
def test_straight_curves_with_brackets_of_no_width(batch):
    """Any padding that is too small shows here: the ends are the crossing up to rounding."""
    rng = random.Random(f"straight {batch}")
    for _ in range(60):
        reach = rng.choice([1e-12, 1e-6, 0.1, 1.0, 3.0, 30.0, 36.0, 40.0, 300.0, 690.0])
        curve = lines(rng, Fraction(math.exp(reach)) * (1 + Fraction(rng.random())))
        left, right = sorted(reach * rng.random() ** rng.choice([1, 8]) for _ in range(2))
        if rng.random() < 0.3:
            right = left * (1 + rng.random() * 10.0 ** -rng.randint(1, 15))
        middle = rng.choice([left, right]) * (1 + rng.uniform(-1, 1) * 10.0 ** -rng.randint(1, 15))
        middle = rng.choice([middle, left + (right - left) * rng.random()])
        delta = float(curve(max(middle, 0.0)).mid())
        if 1e-300 < delta < 1.0:
            check(curve, {e: bracket(curve, e, 0.0, 0.0) for e in (left, right)}, delta)


@pytest.mark.parametrize("reach", [33.0, 36.0, 38.0, 41.0, 100.0, 299.0])
def test_far_apart_points(reach):
    """Points so far apart that the rounding of their distance counts."""
    rng = random.Random(f"far {reach}")
    for _ in range(60):
        left = rng.choice([rng.random(), 1e-3 * rng.random(), 1e-9 * rng.random()])
        right = reach + rng.random()
        curve = lines(rng, Fraction(math.exp(right)) * 2)
        delta = float(curve(left + rng.random()).mid()) * (1.0 - 10.0 ** rng.uniform(-16, -12))
        known = {e: bracket(curve, e, 0.0, 0.0) for e in (left, right)}
        check(curve, known, delta)


def test_farther_apart_than_any_float_of_their_distance():
    """e^right overflows in units of e^left: the right point is all that follows."""
    curve = Hinges([(Fraction(1), Fraction(math.exp(700.0)) ** 2)])
    known = {0.0: bracket(curve, 0.0, 0.0, 0.0), 700.0: bracket(curve, 700.0, 0.0, 0.0)}
    delta = 1.0 - 2.0**-30
    assert check(curve, known, delta)[1] is None
    curve = Hinges([(Fraction(1), Fraction(math.exp(700.0)))])
    known = {e: bracket(curve, e, 0.0, 0.0) for e in (0.0, 1.0, 699.99)}
    assert check(curve, known, delta)[1] == 699.99


@pytest.mark.parametrize("scale", [1e-290, 1e-300, 1e-307, 1e-310, 5e-323])
def test_points_next_to_zero(scale):
    """Products underflow."""
    rng = random.Random(f"zero {scale}")
    for _ in range(60):
        k = rng.choice([1.0, 1e-3]) / max(scale, 1e-300)
        curve = Power(-1e-9, k)
        points = [scale * rng.randint(0, 9) * rng.choice([1.0, 0.37]) for _ in range(3)]
        known = {p: random_bracket(curve, p, rng) for p in points}
        delta = float(curve(rng.choice(points) * rng.uniform(0.3, 1.7)).mid())
        if 1e-300 < delta < 1.0:
            check(curve, known, delta)


# ------------------------------------------------------------------------- one step at a time


@pytest.mark.parametrize("reach", [1e-12, 1e-3, 1.0, 45.0, 800.0])
def test_bounds_relative_to_the_target(reach):
    """delta/target - 1 from logarithms, whatever is rounded; no worse than 16 roundings."""
    rng = random.Random(f"relative {reach}")
    for _ in range(800):
        delta = rng.choice([1.0 - 10.0 ** rng.uniform(-9, -1), 10.0 ** rng.uniform(-300, 0)])
        log_target = math.log(delta)
        low, high = sorted(min(log_target + reach * rng.uniform(-1, 1), 700.0) for _ in range(2))
        found = chords._point(1.0, LogInterval(low, high), log_target)
        exact = [arb(end).exp() / arb(delta) - 1 for end in (low, high)]
        assert found.low <= exact[0]
        assert found.high >= exact[1]
        slack = 32 * chords.U * (1.0 + abs(log_target) + max(high, 0.0))
        assert found.low >= exact[0] - slack * (1 + abs(exact[0])) or low - log_target > 599.0
        assert found.high <= exact[1] + slack * (1 + abs(exact[1])) or high - log_target > 599.0
    for ends in ((-math.inf, -math.inf), (-math.inf, math.inf), (-3.0, math.inf)):
        found = chords._point(1.0, LogInterval(*ends), -2.0)
        assert -1.0 - 8 * chords.U <= found.low <= math.exp(-1.0) - 1.0
        assert found.high == math.inf or -1.0 <= found.high <= -1.0 + 8 * chords.U


def random_pair(rng):
    """Two points with ends of any size, as floats: what follows from them is exact."""
    reach = 10.0 ** rng.uniform(-16, 0) * rng.choice([1.0, 30.0, 300.0])
    left = rng.choice([0.0, rng.random(), 300.0 * rng.random()])
    right = max(left + reach * rng.random(), math.nextafter(left, math.inf))
    if rng.random() < 0.2:
        # Next to 0, where products underflow.
        left, right = sorted(10.0 ** -rng.randint(288, 322) * rng.randint(0, 99) for _ in range(2))
        right = max(right, math.nextafter(left, math.inf))
    if rng.random() < 0.2:
        left, right = rng.uniform(0.4, 0.8), rng.uniform(0.9, 1.5)
    size = rng.choice([1.0, 1.0, 1e-9, 1e-14])
    ends = sorted((size * rng.uniform(-1.0, 1.0) for _ in range(4)), reverse=True)
    if rng.random() < 0.3:
        ends[1] = ends[2] = ends[0] * (1.0 - 10.0 ** rng.uniform(-16, -1))
        ends.sort(reverse=True)
    swap = rng.random() < 0.5
    return (
        chords._Point(left, ends[1 + swap], ends[0]),
        chords._Point(right, ends[3], ends[2 - swap]),
    )


def pair_for(rng):
    """Two points whose lines meet the target where roundings weigh most."""
    share = rng.uniform(0.3, 0.499)
    kind = rng.choice(["back by a half", "far", "flat", "tiny"])
    if kind == "back by a half":
        left = rng.uniform(-math.log1p(-share), 1.05 * -math.log1p(-share))
        right = left + rng.uniform(0.1, 3.0)
        back = share / math.expm1(right - left)
        low = rng.uniform(-1.0, -0.1)
        return chords._Point(left, low * back / (1 + back), 0.0), chords._Point(right, -1.0, low)
    if kind == "far":
        left = 10.0 ** rng.uniform(-16, 0)
        right = left + rng.uniform(8.0, 300.0)
        high = rng.uniform(0.1, 5.0) / math.expm1(right - left)
        return chords._Point(left, 0.0, high), chords._Point(right, -1.0, -rng.random())
    if kind == "tiny":
        left, right = 5e-324 * rng.randint(9, 99), 5e-324 * rng.randint(100, 199)
        highs, lows = (rng.random(), -rng.random()), (-0.2 * rng.random(), -1.0)
        if rng.random() < 0.5:
            highs, lows = (1.0, rng.uniform(-0.7, -0.3)), (rng.uniform(-0.2, -0.1), -1.0)
        return chords._Point(left, lows[0], highs[0]), chords._Point(right, lows[1], highs[1])
    left = 1e-9 * rng.random()
    right = left * rng.uniform(1.5, 9.0)
    high = 10.0 ** rng.uniform(-15, 0)
    low = high * (1.0 - 10.0 ** rng.uniform(-14, -10))
    return chords._Point(left, low, high), chords._Point(right, low, high)


def line(x0, y0, x1, y1, epsilon):
    """Height at e^eps of the line through two points (eps, height), times a positive number."""
    one, two, x = (arb(x0).expm1(), arb(x1).expm1(), arb(epsilon).expm1())
    return arb(y0) * (two - x) + arb(y1) * (x - one)


@pytest.mark.parametrize("batch", range(8))
def test_each_line_on_its_own_side(batch):
    """The end found is on the right side of where the line itself meets the target, and near."""
    rng = random.Random(f"line {batch}")
    counts = {"chord": 0, "before": 0, "beyond": 0}
    for _ in range(800):
        left, right = rng.choice([random_pair, pair_for])(rng)
        if left.high > 0.0 >= right.high:
            end = chords._on_chord(left, right)
            assert left.epsilon <= end <= right.epsilon
            inner = line(left.epsilon, left.high, right.epsilon, right.high, end)
            assert inner <= 0 or (end == right.epsilon and right.high <= 0.0)
            less = end * (1.0 - 40 * chords.U) - 40 * chords.U * (right.epsilon - left.epsilon)
            less = min(less, end - 1.1 * chords._LEAST)
            assert line(left.epsilon, left.high, right.epsilon, right.high, max(less, 0.0)) >= 0
            counts["chord"] += 1
        end = chords._before(left, right)
        if end > 0.0:
            assert end < left.epsilon
            assert line(left.epsilon, left.low, right.epsilon, right.high, end) >= 0
            counts["before"] += 1
        end = chords._beyond(left, right)
        if end > 0.0:
            assert end >= right.epsilon * (1.0 - 8 * chords.U)
            assert end <= right.epsilon or (
                line(left.epsilon, left.high, right.epsilon, right.low, end) >= 0
            )
            counts["beyond"] += 1
    assert min(counts.values()) > 30


# ------------------------------------------------------------------------- ends that do follow


@pytest.mark.parametrize("k", [0.3, 3.0, 100.0])
@pytest.mark.parametrize("log_target", [-0.5, -12.0, -300.0])
@pytest.mark.parametrize("side", [1.0, 0.0, -1.0])
def test_a_narrow_bracket_and_two_loose_ones(k, log_target, side):
    """A bracket 1e-6 wide off the crossing by 1e-6, loose ones 0.12 away: both ends are close."""
    curve = Power(0.0, k)
    crossing = -log_target / k
    point = crossing + side * 1e-6 / k
    known = {0.0: NOTHING, point: bracket(curve, point, 5e-7, 5e-7)}
    for off in (0.12 / k, -0.12 / k):
        known[point + off] = bracket(curve, point + off, 0.015, 0.015)
    low, high = check(curve, known, math.exp(log_target))
    # The slope of a line through brackets so wide is wrong by a quarter, and by the curvature.
    assert high is not None
    assert high <= crossing + 3.2e-6 / k
    assert low >= crossing - 3.2e-6 / k
    assert min(high, 2 * crossing - low) < point + 3e-6 / k


@pytest.mark.parametrize("above", [True, False])
def test_each_line_alone(above):
    """Two points on a straight curve, the crossing outside or between them."""
    curve = Hinges([(Fraction(1), Fraction(8))])
    delta = float(curve(1.0).mid())

    def ends(*points):
        known = {e: bracket(curve, e, *((0.0, 1e-9) if above else (1e-9, 0.0))) for e in points}
        return check(curve, known, delta)

    low, high = ends(0.5, 1.5)
    assert low >= 0.5
    assert high is not None
    assert 1.0 <= high < 1.0 + 1e-8
    low, high = ends(0.2, 0.6)
    assert 1.0 - 1e-7 < low <= 1.0
    assert high is None
    low, high = ends(1.2, 1.6)
    assert 1.0 - 1e-7 < low <= 1.0
    assert high == 1.2


def test_points_alone():
    """A point below the target is an upper end, one above a lower end, to the last slack."""
    target = math.log(0.25)
    off = 20 * chords.U
    assert certified_ends({}, target) == (0.0, None)
    assert certified_ends({0.0: NOTHING}, target) == (0.0, None)
    assert certified_ends({1.5: LogInterval(-math.inf, target - off)}, target) == (0.0, 1.5)
    assert certified_ends({1.5: LogInterval(target + off, 0.0)}, target) == (1.5, None)
    assert certified_ends({1.5: LogInterval(-math.inf, -math.inf)}, target) == (0.0, 1.5)
    assert certified_ends({1.5: LogInterval(-math.inf, math.inf)}, target) == (0.0, None)
    # Nothing is said where the end is the target itself: its logarithm is rounded.
    assert certified_ends({1.5: LogInterval(target, target)}, target)[1] is None
    assert certified_ends({1.5: LogInterval(target, target)}, target)[0] == 0.0


def test_zero_delta_at_the_right():
    """No mass at all beyond a point: the chord goes down to zero there."""
    curve = Hinges([(Fraction(1, 2), Fraction(4))])
    known = {0.5: bracket(curve, 0.5, 0.0, 0.0), 1.5: bracket(curve, 1.5, 0.0, 0.0)}
    assert known[1.5] == (-math.inf, -math.inf)
    delta = 0.1
    low, high = check(curve, known, delta)
    # (1 - x/4)/2 at 0.5, 0 at 1.5.
    start, x, y = float(curve(0.5).mid()), math.exp(0.5), math.exp(1.5)
    assert high == pytest.approx(math.log(x + (1 - delta / start) * (y - x)), rel=1e-12)
    assert low == 0.5
