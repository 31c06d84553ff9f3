"""Each error term of the contour alone, against the worst sum there is for it, in balls.

Where a proof is an inequality that some sum meets with equality, that sum is the test: half the
term, or one without a factor, would not do.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from contour.points import Point, exact, peak
from divergence.oracle import ball
from shuffledp.contour import ONE_ROUND, ROUNDS, Effort, Nodes, Rule, expectation
from shuffledp.contour.aliasing import Growth, aliasing, growth_table, period
from shuffledp.contour.bracket import chernoff
from shuffledp.contour.integrand import Block, Sums, integrand, summed
from shuffledp.contour.rule import applied, assembled, planned, truncated
from shuffledp.contour.stop import RATIO, Stop, smoothed_away, stop_by_windows

U = 2.0**-53
payoffs = pytest.mark.parametrize("payoff", [ONE_ROUND, ROUNDS], ids=["one round", "rounds"])


def kappa(payoff, s):
    return s * (s + int(payoff.gap))


# ------------------------------------------------------------------------------ the nodes' sum


@pytest.mark.parametrize("count", [8, 300, 5000])
def test_sums_over_both_halves_of_the_axis(count):
    """F_0 once, every other node twice; errors and the rounding of the sum in full."""
    rng = np.random.default_rng(count)
    blocks, first = [], True
    total = {name: arb(0) for name in ("upper", "lower", "err", "err_low", "size", "size_low")}
    for rows in (1, 2, 3):
        shape = (rows, count)
        made = {name: rng.normal(size=shape) * np.exp(rng.normal(size=shape)) for name in total}
        for name in ("err", "err_low", "size", "size_low"):
            made[name] = np.abs(made[name]) + (10.0 if "size" in name else 0.0)
        if first:
            made["upper"][0, 0], made["err"][0, 0] = 0.75, 0.5
        blocks.append(Block(first=first, **made))
        for name, values in made.items():
            total[name] += 2 * sum((ball(float(v)) for v in values.ravel()), arb(0))
            if first and name in ("upper", "lower"):
                total[name] -= ball(float(values[0, 0]))
        first = False
    sums = summed(iter(blocks))
    assert sums.mass >= 1.25
    for name, err, size in (("upper", "err", "size"), ("lower", "err_low", "size_low")):
        found, claimed = getattr(sums, name), getattr(sums, name + "_err")
        gap = abs(ball(found) - total[name])
        # The sum's own rounding: pairwise inside a row, rows one after another at worst.
        need = total[err] - 2 * ball(float(getattr(blocks[0], err)[0, 0]))
        assert ball(claimed) >= need + 200 * U * total[size] * 0.99
        assert ball(claimed) >= need + gap
    assert summed(iter([blocks[1]])).mass == math.inf


def test_errors_of_nodes_are_summed_up():
    """2^14 errors of the same size lose up to their number times u when they are added."""
    for value in (0.1, 1.0 / 3.0, 1e-7):
        row = np.full((1, 1 << 14), value)
        zero = np.zeros_like(row)
        sums = summed(iter([Block(False, zero, zero, zero, zero, row, row)]))
        need = 2 * Fraction(value) * row.size * (1 + Fraction(5, 10**10))
        assert Fraction(sums.upper_err) >= need
        assert Fraction(sums.lower_err) >= need


def test_mass_is_at_least_one():
    tiny = np.full((1, 3), 1e-9)
    assert summed(iter([Block(True, *(tiny,) * 6)])).mass >= 1.0


def sequential(upper):
    """The block of a row of nodes with these values, all errors 0."""
    zero = np.zeros_like(upper)
    return Block(True, upper, upper, np.abs(upper), np.abs(upper), zero, zero)


def test_sums_over_nodes_presume_no_order():
    """One after another, as some build of NumPy may add: 2^13 terms lose 2^13 u, not 200 u."""
    rng = np.random.default_rng(1)
    terms = np.append(2.0**15, rng.random(1 << 13) * 1e-3)

    def one_by_one(self):
        return np.cumsum(np.asarray(self).ravel())[-1] if self.size else 0.0

    class Ordered(np.ndarray):
        sum = one_by_one

    for values in (terms, terms.view(Ordered)):
        found = summed(iter([sequential(values)]))
        true = 2 * sum(map(Fraction, terms.tolist())) - Fraction(terms[0])
        for value, err in ((found.upper, found.upper_err), (found.lower, found.lower_err)):
            assert abs(Fraction(float(value)) - true) <= Fraction(float(err))
            assert err <= 64 * U * float(np.abs(terms).sum())


# ------------------------------------------------------------------------------- the kernel


@payoffs
@pytest.mark.parametrize("alpha", [1e-8, 0.3, 1e6])
@pytest.mark.parametrize("ratio", [1e-4, 0.05, 0.3, 1.0, 4.0])
def test_kernel_claims_what_its_roundings_are(payoff, alpha, ratio):
    """e^{h^2 kappa/2}/kappa at nodes known to 4 u, and 1 - c h^2 kappa for the lower end."""
    gap = payoff.gap
    h = min(ratio / payoff.scale(alpha), payoff.widest)
    t = alpha * np.array([[0.0, 1e-3, 0.7, 5.0, 300.0]])
    t = np.concatenate([t, np.array([[0.1, 1.0, 3.0, 8.0, 30.0]]) / h])
    t = np.minimum(t, 30.0 / h)  # nodes go no further
    inside = np.ones(t.shape, dtype=bool)
    power = np.full(t.shape, 0.6 - 0.8j)
    block = integrand(Nodes(True, t, inside, power, np.zeros(t.shape)), payoff, alpha, h)
    fade, turn = 0.5 * (h * t) ** 2, h * h * (alpha + 0.5 * gap) * t
    lift, c = h * h * alpha * (alpha + gap), payoff.bend(h)
    # t 4 u, three roundings more in each, 8 u for exp, 11 for a complex one, 25 for the rest.
    need = U * (44.0 + 11.0 * fade + 7.0 * turn)
    assert (block.err >= block.size * need).all()
    factor = (1.0 - c * lift + 2.0 * c * fade) - 2j * c * turn
    spread = 1.0 + c * (lift + 2.0 * fade + 2.0 * turn)
    # Each part of 1 - c h^2 kappa: 8 u from t, and five roundings.
    assert (block.err_low >= 0.999 * block.size * (need * np.abs(factor) + 13.0 * U * spread)).all()
    assert (block.size_low >= 0.999999 * np.abs(block.lower)).all()
    bend = (ball(gap) * ball(h) ** 2 / 8).exp()
    for (i, j), at in np.ndenumerate(t):
        for off in (-4 * U, 0.0, 4 * U):
            s = acb(alpha, ball(float(at)) * (1 + ball(off)))
            square = ball(h) ** 2 * kappa(payoff, s)
            real = kappa(payoff, ball(alpha))
            true = acb(0.6, -0.8) * (square / 2 - ball(h) ** 2 * real / 2).exp()
            true = true * real / kappa(payoff, s)
            assert abs(true.real - ball(float(block.upper[i, j]))) <= ball(float(block.err[i, j]))
            low = (true * (1 - bend * square)).real
            assert abs(low - ball(float(block.lower[i, j]))) <= ball(float(block.err_low[i, j]))
    passed = integrand(Nodes(False, t, inside, power, np.full(t.shape, 0.25)), payoff, alpha, h)
    size = np.abs(block.size)  # |power| is 1
    assert (passed.err >= 0.25 * size + block.size * need).all()
    assert (passed.err_low >= 0.25 * 0.999 * size * np.abs(factor)).all()


@payoffs
def test_nodes_past_the_last_one_are_left_out(payoff):
    t = np.array([[0.0, 1.0, 2.0, 3.0]])
    nodes = Nodes(True, t, t <= 1.5, np.ones(t.shape) + 0j, np.full(t.shape, 0.1))
    block = integrand(nodes, payoff, 0.7, 0.2)
    assert (block.upper[0, :2] != 0.0).all()
    for part in block[1:7]:
        assert (part[0, 2:] == 0.0).all()


# --------------------------------------------------------------------------------- truncation


@payoffs
@pytest.mark.parametrize("c", [1e-3, 0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("length", [4.0, 30.0, 300.0])
def test_truncation(payoff, c, length):
    """All nodes past the last one at their largest: |transform| = mass throughout."""
    for alpha, last, mass in itertools.product((1e-3, 2.0), (0.3, 1.0, 3.0), (1.0, 1.7)):
        h, turns = min(c / payoff.scale(alpha), 8.0), length / alpha
        count = max(1, math.ceil(last / h * turns / (2.0 * math.pi)))
        step = 2.0 * math.pi / turns
        rule = Rule(h, turns, count, *smoothed_away(payoff, alpha, h, count * step))
        found = truncated(payoff, alpha, rule, mass)
        t = (count + 1 + np.arange(min(math.ceil(12.0 / h / step), 200_000))) * step
        # In the units of the sums: over the scale, times kappa(alpha).
        size = mass * np.exp(0.5 * h * h * (payoff.kappa(alpha) - t**2))
        front = step / math.pi
        s = alpha + 1j * t
        assert front * float((size / np.abs(kappa(payoff, s))).sum()) <= found[0]
        low = np.abs((1.0 - payoff.bend(h) * h * h * kappa(payoff, s)) / kappa(payoff, s))
        assert front * float((size * low).sum()) <= found[1]


# ----------------------------------------------------------------------------------- aliasing


def aliased(payoff, x, alpha, length, copies=4000):
    """Sum over k != 0 of e^{-alpha k L} f(x + k L) in two halves, for S = x."""
    x, alpha, length = ball(x), ball(alpha), ball(length)
    halves = [arb(0), arb(0)]
    for k in range(-copies, copies):
        value = x + k * length
        if k and value > 0:
            halves[k > 0] += (-alpha * k * length).exp() * exact(payoff, value)
    return halves


@payoffs
@pytest.mark.many(17)
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 50.0])
@pytest.mark.parametrize("periods", [0.01, 0.5, 4.0, 30.0])
@pytest.mark.parametrize("factor", [0.1, 0.5, 1.5, 4.0])
def test_aliasing(payoff, alpha, periods, factor):
    """f(y) = e^{log_peak(b) + b y} at its peak: sharp for the first copy on either side."""
    length, b = periods / alpha, factor * alpha
    other = alpha * (3.0 if factor < 1.0 else 0.3)
    for copies in (1, 2, 3):
        x = peak(payoff, b) + (copies if factor > 1.0 else -copies) * length
        point = Point(x, alpha, log_scale=alpha * x, highest=max(x, 0.0))
        # In units of e^{alpha x}, as the sums are.
        table = [Growth(at, (at - alpha) * x + payoff.log_peak(at)) for at in (b, other)]
        if max(y for _, y in table) > 250.0:
            continue
        found = aliasing(point, table, length)
        true = sum(aliased(payoff, x, alpha, length)) * (-ball(alpha) * ball(x)).exp()
        assert ball(found) >= true
        # And no more than a bound with these two exponents can be.
        if copies == 1 and periods > 1.0 and factor in (0.5, 1.5) and payoff is ONE_ROUND:
            assert ball(found) <= 60 * true + arb(1e-6) / ball(alpha)


def test_aliasing_from_above_ends_with_the_largest_sum():
    """Nothing wraps from beyond L only where the largest sum is <= L."""
    for over in (1e-6, 0.1):
        length, alpha = 2.0, 1.0
        x = length * (1.0 + over)
        point = Point(x, alpha, log_scale=alpha * x, highest=x)
        table = [Growth(b, (b - alpha) * x + ONE_ROUND.log_peak(b)) for b in (0.5, 1.5)]
        found = aliasing(point, table, length)
        above, below = aliased(ONE_ROUND, x, alpha, length)
        assert ball(found) >= (above + below) * (-ball(alpha) * ball(x)).exp()
        assert aliasing(point, table[:1], length) == math.inf
    point = Point(1.5, 1.0, highest=1.5)
    assert aliasing(point, table[:1], length) < math.inf
    assert aliasing(point, table[1:], length) == math.inf
    assert aliasing(point, [Growth(0.5, 400.0), Growth(1.5, 0.5 * x)], length) == math.inf


@payoffs
@pytest.mark.parametrize("alpha", [0.05, 1.0, 30.0])
def test_a_period_keeps_copies_small(payoff, alpha):
    """About e^-guard of a result of the scale, on both sides."""
    for x, guard in itertools.product((-3.0, 0.0, 0.4, 5.0), (3.0, 12.0)):
        point = Point(x / alpha, alpha, log_scale=x)
        table = growth_table(point, payoff)
        length = period(point, payoff, table, guard)
        small = math.exp(payoff.log_peak(alpha) - guard)
        assert aliasing(point, table, length) <= small
        assert math.isfinite(length)


# --------------------------------------------------------------------- growth and Chernoff


@payoffs
@pytest.mark.parametrize("alpha", [1e-100, 1e-3, 1.0, 1e5, 1e80])
def test_chernoff_is_sharp_at_the_peak(payoff, alpha):
    """f(S) = e^{log_peak(alpha) + alpha S} where S is the peak for certain."""
    x = peak(payoff, alpha)
    for off in (0.0, 1e-3, -40.0):
        point = Point(x, alpha, log_scale=alpha * x + off)
        found = chernoff(point, payoff)
        true = exact(payoff, ball(x))
        assert ball(found) >= true.log()
        assert found <= float(true.log()) + 1e-10 * (1.0 + abs(math.log(alpha)))
        # A unit that is known less well makes the bound as much larger.
        point.scale_error = 0.5
        assert chernoff(point, payoff) >= found + 0.5 - 1e-9


@payoffs
@pytest.mark.parametrize("b", [1e-300, 1e-12, 0.3, 1.0, 1.0000001, 40.0, 1e9, 1e200])
def test_the_largest_of_payoff_times_exponential(payoff, b):
    true = -1 - ball(b).log()
    if payoff is ROUNDS:
        true = -ball(b) * (1 / ball(b)).log1p() - ball(b).log1p()
    assert abs(ball(payoff.log_peak(b)) - true) <= 4 * U * (2 + abs(true))
    if payoff is ROUNDS:
        assert payoff.log_peak(0.0) == 0.0
    else:
        assert payoff.log_peak(0.0) == math.inf


# ------------------------------------------------------------------- one rule from end to end


@payoffs
def test_ends_of_one_rule_with_every_error_known(payoff):
    """Sums, front factor, truncation and aliasing put together as Theorem 6.15 says."""
    point = Point(1.0, 1.5, log_scale=-0.7)
    rule = Rule(0.2, 9.0, 12, 0.3, 0.45)
    for sums in (
        Sums(5.0, 0.25, 4.0, 0.125, 1.25),
        Sums(1e-3, 1e-4, 1e-3, 1e-4, 1.0),
        Sums(5.0, 0.0, 4.0, 0.0, 1.0),
        Sums(-1e-3, 0.0, -1e-3, 0.0, 1.0),
    ):
        found, _ = assembled(point, payoff, rule, sums, 1e-5)
        alpha, h, step = ball(1.5), ball(0.2), 2 * arb.pi() / ball(9.0)
        lift = (h * h * kappa(payoff, alpha) / 2).exp()
        front = step / (2 * arb.pi()) * lift / kappa(payoff, alpha)
        cut = lift * ball(sums.mass) / arb.pi()
        upper = front * (ball(sums.upper) + ball(sums.upper_err)) + cut * ball(0.3)
        lower = front * (ball(sums.lower) - ball(sums.lower_err)) - cut * ball(0.45) - ball(1e-5)
        assert ball(found.high) >= upper.log() - ball(0.7)
        assert found.high <= float(upper.log()) - 0.7 + 1e-6
        if lower > 0:
            assert ball(found.low) <= lower.log() - ball(0.7)
            assert found.low >= float(lower.log()) - 0.7 - 1e-6
        else:
            assert found.low == -math.inf


@payoffs
@pytest.mark.parametrize("log_size", [-600.0, -80.0, 0.0, 90.0, 650.0])
def test_logarithms_of_the_ends_are_rounded_outward(payoff, log_size):
    rng = np.random.default_rng(3)
    for _ in range(60):
        value, scale = math.exp(log_size) * rng.uniform(1, 3), float(rng.normal() * 200.0)
        off = float(rng.choice([0.0, 1e-9]))
        point = Point(1.0, 1.0, log_scale=scale, scale_error=off)
        rule = Rule(1e-3, 2.0 * math.pi, 4, 0.0, 0.0)
        found, _ = assembled(point, payoff, rule, Sums(value, 0.0, value, 0.0, 1.0), 0.0)
        front = ball(rule.step) / (2 * arb.pi()) / kappa(payoff, ball(1))
        true = (ball(value) * front).log() + ball(1e-3) ** 2 * kappa(payoff, ball(1)) / 2
        true += ball(scale)
        # What 32 u of the front factor allow, taken off: the logarithms' own rounding is covered.
        assert ball(found.low) <= true - 31 * U - ball(off)
        assert ball(found.high) >= true + 31 * U + ball(off)


@payoffs
@pytest.mark.parametrize("h", [1e-3, 0.5, 3.0])
def test_the_front_factor_is_rounded_outward(payoff, h):
    """32 u of 1 + h^2 kappa, where the logarithms themselves are next to 0."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        value = float(np.exp(rng.uniform(-4.0, 4.0)))
        lift = ball(h) ** 2 * kappa(payoff, ball(1))
        length = float(10.0 ** rng.uniform(-1.0, 1.0))
        rule = Rule(h, length, 4, 0.0, 0.0)
        front = 1 / ball(length) / kappa(payoff, ball(1)) * (lift / 2).exp()
        found, _ = assembled(Point(1.0, 1.0), payoff, rule, Sums(value, 0.0, value, 0.0, 1.0), 0.0)
        true = (ball(value) * front).log()
        # Some ten roundings of the factor itself may be used up.
        need = 22 * U * (1 + lift)
        assert ball(found.low) <= true - need
        assert ball(found.high) >= true + need


class Stopped(Point):
    """Says where it may stop, and keeps what it was asked."""

    def early_stop(self, payoff, *, smoothing, step, log_guard):
        self.asked = smoothing, step, log_guard
        return Stop(30.0, 1.5 * smoothing, 0.25, 0.5)


@payoffs
def test_a_rule_that_stops_early_is_that_of_the_stop(payoff):
    """The windows count nodes of the very step that the rule has."""
    point = Stopped(1.0, 1.0, log_scale=1.0)
    rule = planned(point, payoff, growth_table(point, payoff), c=0.1, guard=1e-4, most=1 << 20)
    assert rule is not None
    smoothing, step, log_guard = point.asked
    assert rule.step == pytest.approx(step, rel=1e-12)
    assert smoothing == pytest.approx(0.1 / payoff.scale(1.0))
    assert log_guard == pytest.approx(math.log(1e4))
    assert rule.smoothing == 1.5 * smoothing
    assert rule.count * rule.step >= 30.0
    assert (rule.rest_upper, rule.rest_lower) == (0.25, 0.5)


@payoffs
@pytest.mark.parametrize("x", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_a_sum_that_is_one_number(payoff, x, alpha):
    """S = x for certain: the whole machine, with every part of it visible in closed form."""
    true, finite = exact(payoff, ball(x)).log(), 0
    point = Point(x, alpha, log_scale=alpha * x)
    for c, length, last in itertools.product((0.05, 0.5), (3.0, 12.0), (1.0, 4.0)):
        h, turns = c / payoff.scale(alpha), length / alpha + x
        count = max(2, math.ceil(last / h * turns / (2.0 * math.pi)))
        step = 2.0 * math.pi / turns
        rule = Rule(h, turns, count, *smoothed_away(payoff, alpha, h, count * step))
        found, _ = applied(point, payoff, growth_table(point, payoff), rule)
        assert ball(found.low) <= true <= ball(found.high)
        finite += found.low > -math.inf
    assert finite > 0
    for width in (1e-2, 1e-6):
        effort = Effort(attempts=7, nodes=1 << 18, work=1 << 30)
        found, _ = expectation(point, payoff, width=width, effort=effort)
        assert ball(found.low) <= true <= ball(found.high)
        assert found.width <= 2.0 * width


# ------------------------------------------------------------------------- where nodes may end


@payoffs
@pytest.mark.parametrize("h", [0.3, 1.6])
@pytest.mark.parametrize("step", [1e-3, 0.4, 5.0])
def test_what_windows_leave_out(payoff, step, h):
    """Beyond the edge every window at its bound, over nodes and the integral alike."""
    alpha, found = 0.8, 0
    for rate, budget in itertools.product((0.05, 0.3, 2.0), (1e-1, 1e-3, 1e-6)):
        t, windows = 0.5, []
        while h * t < 7.0:
            windows.append((t, -min(rate * t * t, 60.0)))
            t *= RATIO
        stop = stop_by_windows(payoff, alpha, windows, smoothing=h, step=step, budget=budget)
        if stop is None:
            continue
        found += 1
        assert stop.rest_upper <= budget
        upper = lower = 0.0
        kernels = [(at, size) for at, size in [*windows, (t, 0.0)] if at >= stop.edge]
        for at, log_size in kernels:
            fade = math.exp(log_size) if at < t else math.exp(-0.5 * (h * at) ** 2)
            fine = at * np.linspace(1.0, RATIO if at < t else 30.0, 20001)
            sure = fade if at < t else np.exp(-0.5 * (h * fine) ** 2)
            modulus = 1.0 / np.abs(kappa(payoff, alpha + 1j * fine))
            width = float(fine[1] - fine[0])
            upper += float((sure * modulus).sum()) * width * 0.999 + step * fade * modulus[0]
            more = modulus + h * h * payoff.bend(h)
            lower += float((sure * more).sum()) * width * 0.999 + step * fade * more[0]
        assert stop.rest_upper >= 0.998 * upper
        assert stop.rest_lower >= 0.998 * lower
    assert found or step == 5.0


@payoffs
def test_no_rule_where_it_would_be_too_much(payoff):
    point = Point(1.0, 1.0, log_scale=1.0)
    table = growth_table(point, payoff)
    rule = planned(point, payoff, table, c=0.1, guard=1e-4, most=1 << 20)
    assert rule is not None
    assert planned(point, payoff, table, c=0.1, guard=1e-4, most=rule.count // 2) is None
    assert planned(point, payoff, table, c=50.0, guard=1e-4, most=1 << 20) is None
    point.must_stop = True
    assert planned(point, payoff, table, c=0.1, guard=1e-4, most=1 << 20) is None
