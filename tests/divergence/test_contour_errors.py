"""Each error term of the contour alone, against the worst law there is for it, in balls.

Where a proof is an inequality that some law meets with equality, that law is the test: half the
term, or one without a factor, would not do.
"""

import itertools
import math

import numpy as np
import pytest
from flint import acb, arb

from divergence.oracle import ball
from shuffledp.divergence import contour
from shuffledp.divergence.contour import Rule
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.nodes import Block
from shuffledp.divergence.tilt import Tilt, active_moment, find_tilt, log_moment

U = 2.0**-53


def one_atom(g, w=1.0, **more):
    fields = {
        "w": np.array([w]),
        "g": np.array([g]),
        "g_err": np.zeros(1),
        "rel": 0.0,
        "mean": w * g,
        "mean_err": 0.0,
        "active": np.array([g > 0.0]),
        "low": min(g, 0.0),
        "high": max(g, 0.0),
    }
    return GainLaw(**(fields | more))


# ------------------------------------------------------------------------------ the nodes' sum


@pytest.mark.parametrize("count", [8, 300, 5000])
def test_sums_over_both_halves_of_the_axis(count):
    """F_0 once, every other node twice; errors and the rounding of the sum in full."""
    rng = np.random.default_rng(count)
    blocks, first = [], True
    exact = {name: arb(0) for name in ("upper", "lower", "err", "err_low", "size", "size_low")}
    for rows in (1, 2, 3):
        shape = (rows, count)
        made = {name: rng.normal(size=shape) * np.exp(rng.normal(size=shape)) for name in exact}
        for name in ("err", "err_low", "size", "size_low"):
            made[name] = np.abs(made[name]) + (10.0 if "size" in name else 0.0)
        if first:
            made["upper"][0, 0], made["err"][0, 0] = 0.75, 0.5
        blocks.append(Block(first=first, **made))
        for name, values in made.items():
            total = sum((ball(float(v)) for v in values.ravel()), arb(0))
            exact[name] += 2 * total
            if first and name in ("upper", "lower"):
                exact[name] -= ball(float(values[0, 0]))
        first = False
    sums = contour._sum_blocks(iter(blocks))
    assert sums.mass >= 1.25
    for name, err, size in (("upper", "err", "size"), ("lower", "err_low", "size_low")):
        found, claimed = getattr(sums, name), getattr(sums, name + "_err")
        gap = abs(ball(found) - exact[name])
        # The sum's own rounding: pairwise inside a row, rows one after another at worst.
        need = exact[err] - 2 * ball(float(getattr(blocks[0], err)[0, 0]))
        assert ball(claimed) >= need + 200 * U * exact[size] * 0.99
        assert ball(claimed) >= need + gap
    assert contour._sum_blocks(iter([blocks[1]])).mass == math.inf


def test_mass_is_at_least_one():
    tiny = np.full((1, 3), 1e-9)
    assert contour._sum_blocks(iter([Block(True, *(tiny,) * 6)])).mass >= 1.0


# --------------------------------------------------------------------------------- truncation


@pytest.mark.parametrize("c", [1e-3, 0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("period", [4.0, 30.0, 300.0])
def test_truncation(c, period):
    """All nodes past the last one at their largest: |transform| = mass throughout."""
    for alpha, last, mass in itertools.product((1e-3, 2.0), (0.3, 1.0, 3.0), (1.0, 1.7)):
        h, length = c / alpha, period / alpha
        count = max(1, math.ceil(last / h * length / (2.0 * math.pi)))
        step = 2.0 * math.pi / length
        rule = Rule(h, length, count, *contour._smoothed_away(alpha, h, count * step))
        tilt = Tilt(alpha, 0.0, 0.0, rare=False, variance=1.0)
        found = contour._truncation(tilt, rule, mass)
        t = (count + 1 + np.arange(min(math.ceil(12.0 / h / step), 1_000_000))) * step
        # In the units of the sums: over M(alpha)^n, times alpha^2.
        size = mass * np.exp(0.5 * h * h * (alpha**2 - t**2))
        front = step / math.pi
        assert front * float((size / (alpha**2 + t**2)).sum()) <= found[0]
        s = np.abs((1.0 - (h * (alpha + 1j * t)) ** 2) / (alpha + 1j * t) ** 2)
        assert front * float((size * s).sum()) <= found[1]


# ----------------------------------------------------------------------------------- aliasing


def rule_of(period):
    return Rule(0.1, period, 10, 0.0, 0.0)


def aliased(x, alpha, period):
    """Sum over k != 0 of e^{-alpha k L} (x + k L)_+ in two halves, for S = x."""
    x, alpha, period = ball(x), ball(alpha), ball(period)
    halves = [arb(0), arb(0)]
    for k in range(-4000, 4000):
        value = x + k * period
        if k and value > 0:
            halves[k > 0] += (-alpha * k * period).exp() * value
    return halves


@pytest.mark.many(17)
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 50.0])
@pytest.mark.parametrize("periods", [0.01, 0.5, 4.0, 30.0])
@pytest.mark.parametrize("factor", [0.1, 0.5, 1.5, 4.0])
def test_aliasing(alpha, periods, factor):
    """x_+ = e^{beta x}/(e beta) at x = 1/beta: sharp for the first copy on either side."""
    period, beta = periods / alpha, factor * alpha
    other = alpha * (3.0 if factor < 1.0 else 0.3)
    for copies in (1, 2, 3):
        x = 1.0 / beta + (copies if factor > 1.0 else -copies) * period
        law = one_atom(x, high=max(x, 0.0))
        tilt = Tilt(alpha, alpha * x, alpha * x, rare=False, variance=1.0)
        # In units of e^{alpha x}, as the sums are.
        table = [(beta, (beta - alpha) * x), (other, (other - alpha) * x)]
        if max(y for _, y in table) > 250.0:
            continue
        found = contour._aliasing(law, 1, tilt, rule_of(period), table)
        exact = sum(aliased(x, alpha, period)) * (-ball(alpha) * ball(x)).exp()
        assert ball(found) >= exact
        # And no more than a bound with these two exponents can be.
        if copies == 1 and periods > 1.0 and factor in (0.5, 1.5):
            assert ball(found) <= 60 * exact + arb(1e-6) / ball(alpha)


def test_aliasing_from_above_ends_with_the_largest_sum():
    """Nothing wraps from beyond L only where n max G <= L."""
    for over in (1e-6, 0.1):
        period, alpha = 2.0, 1.0
        x = period * (1.0 + over)
        law = one_atom(x / 3, high=x / 3)
        tilt = Tilt(alpha, 0.0, alpha * x, rare=False, variance=1.0)
        table = [(0.5, -0.5 * x), (1.5, 0.5 * x)]
        found = contour._aliasing(law, 3, tilt, rule_of(period), table)
        above, below = aliased(x, alpha, period)
        assert ball(found) >= (above + below) * (-ball(alpha) * ball(x)).exp()
        both = contour._aliasing(law, 3, tilt, rule_of(period), table[:1])
        assert both == math.inf
    law = one_atom(0.5, high=0.5)
    assert contour._aliasing(law, 3, tilt, rule_of(period), table[:1]) < math.inf
    assert contour._aliasing(law, 3, tilt, rule_of(period), table[1:]) == math.inf
    huge = [(0.5, 400.0), (1.5, 0.5 * x)]
    assert contour._aliasing(law, 3, tilt, rule_of(period), huge) == math.inf


# --------------------------------------------------------------------- growth and Chernoff


@pytest.mark.parametrize("alpha", [1e-100, 1e-3, 1.0, 1e5, 1e80])
def test_chernoff_is_sharp_at_one_over_alpha(alpha):
    """E S_+ = 1/alpha where S = 1/alpha: e^{alpha S}/(e alpha) is the same number."""
    for n in (1, 7):
        law = one_atom(1.0 / alpha / n)
        log_m, _ = log_moment(law, alpha)
        for off in (0.0, 1e-3, -40.0):
            tilt = Tilt(alpha, log_m, n * log_m + off, rare=False, variance=1.0)
            found = contour._chernoff(law, n, tilt)
            exact = (n * ball(float(law.g[0])) * ball(alpha) - 1).exp() / ball(alpha)
            assert ball(found) >= exact.log()
            assert found <= float(exact.log()) + 1e-10 * (1.0 + abs(math.log(alpha)))


@pytest.mark.parametrize("n", [1, 2, 5, 10**6])
@pytest.mark.parametrize("w", [1e-12, 1e-3, 0.3])
def test_growth_with_the_rare_event_taken_out(n, w):
    """M^n - M_-^n, sharp for one message and for rare ones; errors of w and g included."""
    base = GainLaw(
        w=np.array([w, 0.4]),
        g=np.array([1.0, -0.7]),
        g_err=np.array([1e-7, 1e-7]),
        rel=1e-8,
        mean=w - 0.28,
        mean_err=1e-6,
        active=np.array([True, False]),
        low=-0.7,
        high=1.0,
        lost=0.05,
    )
    tilt = find_tilt(base, n, force_rare=True)
    for beta in (0.1, 1.0, 4.0):
        for sign in (-1, 1):
            parts = [ball(x) * (1 + ball(1e-8) * sign) for x in base.w]
            gains = [ball(x) + ball(1e-7) * sign for x in base.g]
            up = parts[0] * (ball(beta) * gains[0]).exp()
            down = 1 - ball(0.05) * (1 - ball(1e-8) * sign) - parts[0]
            down += parts[1] * (ball(beta) * gains[1]).expm1()
            exact = ((up + down) ** n - down**n).log() - ball(tilt.log_scale)
            assert ball(tilt.log_growth(base, n, beta)) >= exact
            assert ball(active_moment(base, beta)) >= up
            if n == 1 or n * w < 1e-6:
                assert tilt.log_growth(base, n, beta) <= float(exact) + 1e-4
            whole = Tilt(tilt.alpha, tilt.log_m, n * tilt.log_m, rare=False, variance=1.0)
            exact = n * (up + down).log() - ball(n * tilt.log_m)
            assert ball(whole.log_growth(base, n, beta)) >= exact


def test_moments_of_cells_count_what_a_cell_may_hide():
    """log M of two atoms in place of a cell, against the cell's mass at its ends."""
    mass, low, high = 0.4, -0.5, 1.5
    for share in (0.1, 0.5, 0.9):
        mean = low + share * (high - low)
        variance = (mean - low) * (high - mean)
        for guess in (0.0, 0.5 * variance, variance):
            doubt, root = variance - guess, math.sqrt(guess)
            reach = max(high - low, 2.0 * root)
            law = GainLaw(
                w=np.full(2, 0.5 * mass),
                g=np.array([mean - root, mean + root]),
                g_err=np.zeros(2),
                rel=0.0,
                mean=mass * mean,
                mean_err=0.0,
                active=np.array([True, True]),
                low=low,
                high=high,
                half_var=np.full(2, 0.25 * mass * doubt),
                third=np.full(2, 0.5 * mass * variance * reach / 3.0),
                reach=np.full(2, reach),
                top=np.full(2, max(high, mean + root)),
            )
            for s in (1e-3, 0.05, 0.3, 1.0, 3.0, 20.0):
                value, slack = log_moment(law, s)
                ends = (1 - share) * (ball(s) * ball(low)).exp() + share * (
                    ball(s) * ball(high)
                ).exp()
                true = 1 + ball(mass) * (ends - 1)
                assert true.log() <= ball(value) + ball(slack)
                active = ball(active_moment(law, s))
                assert active >= ball(mass) * ends


# ------------------------------------------------------------------- one rule from end to end


def test_ends_of_one_rule_with_every_error_known(monkeypatch):
    """Sums, front factor, truncation and aliasing put together as Theorem 6.15 says."""
    law, n = one_atom(1.0, w=0.5), 3
    tilt = Tilt(1.5, -0.2, -0.7, rare=False, variance=1.0)
    rule = Rule(0.2, 9.0, 12, 0.3, 0.45)
    for sums in (
        contour._Sums(5.0, 0.25, 4.0, 0.125, 1.25),
        contour._Sums(1e-3, 1e-4, 1e-3, 1e-4, 1.0),
        contour._Sums(5.0, 0.0, 4.0, 0.0, 1.0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(contour, "_sum_blocks", lambda blocks, sums=sums: sums)
            patch.setattr(contour, "_aliasing", lambda *arguments: 1e-5)
            found, _ = contour._apply(law, n, tilt, rule, [])
        alpha, h, step = ball(1.5), ball(0.2), 2 * arb.pi() / ball(9.0)
        lift = (h * h * alpha * alpha / 2).exp()
        front = step / (2 * arb.pi()) * lift / alpha**2
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


@pytest.mark.parametrize("log_size", [-600.0, -80.0, 0.0, 90.0, 650.0])
def test_logarithms_of_the_ends_are_rounded_outward(log_size, monkeypatch):
    law, rng = one_atom(1.0, w=0.5), np.random.default_rng(3)
    for _ in range(60):
        value, scale = math.exp(log_size) * rng.uniform(1, 3), float(rng.normal() * 200.0)
        sums = contour._Sums(value, 0.0, value, 0.0, 1.0)
        tilt = Tilt(1.0, 0.0, scale, rare=False, variance=1.0)
        with monkeypatch.context() as patch:
            patch.setattr(contour, "_sum_blocks", lambda blocks, sums=sums: sums)
            patch.setattr(contour, "_aliasing", lambda *arguments: 0.0)
            patch.setattr(contour, "_truncation", lambda *arguments: (0.0, 0.0))
            rule = Rule(1e-3, 2.0 * math.pi, 4, 0.0, 0.0)
            found, _ = contour._apply(law, 3, tilt, rule, [])
        exact = ball(value) * ball(rule.step) / (2 * arb.pi()) * (ball(1e-3) ** 2 / 2).exp()
        true = exact.log() + ball(scale)
        # What 32 u of the front factor allow, taken off: the logarithms' own rounding is covered.
        assert ball(found.low) <= true - 31 * U
        assert ball(found.high) >= true + 31 * U


@pytest.mark.parametrize("x", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_a_sum_that_is_one_number(x, alpha):
    """S = x for certain: the whole machine, with every part of it visible in closed form."""
    law = one_atom(x, low=-1e-9)
    log_m, _ = log_moment(law, alpha)
    for n, c, period, last in itertools.product((1, 4), (0.05, 0.5), (3.0, 12.0), (1.0, 4.0)):
        tilt = Tilt(alpha, log_m, n * log_m, rare=False, variance=0.0)
        h, length = c / alpha, period / alpha + n * x
        count = max(2, math.ceil(last / h * length / (2.0 * math.pi)))
        step = 2.0 * math.pi / length
        rule = Rule(h, length, count, *contour._smoothed_away(alpha, h, count * step))
        found, _ = contour._apply(law, n, tilt, rule, contour._growth_table(law, n, tilt))
        assert ball(found.low) <= (ball(n) * ball(x)).log() <= ball(found.high)


def test_transform_of_the_smoothed_payoffs_at_one_node():
    """What a node holds: e^{h^2 s^2/2}/s^2 for the upper end, times 1 - h^2 s^2 for the lower."""
    law, alpha, h = one_atom(0.7), 0.9, 0.4
    log_m, _ = log_moment(law, alpha)
    tilt = Tilt(alpha, log_m, log_m, rare=False, variance=0.0)
    from shuffledp.divergence.nodes import node_blocks

    row = 0
    for block in node_blocks(law, 1, tilt, step=0.8, count=6, smoothing=h):
        for upper, lower in zip(block.upper.ravel(), block.lower.ravel(), strict=True):
            s = acb(alpha, ball(0.8) * row)
            exact = (s * ball(0.7) - ball(alpha) * ball(0.7)).exp() * (ball(alpha) / s) ** 2
            exact *= (ball(h) ** 2 * (s * s - ball(alpha) ** 2) / 2).exp()
            if row > 6:
                exact = acb(0)
            assert abs(exact.real - ball(float(upper))) < 1e-14
            low = (exact * (1 - ball(h) ** 2 * s * s)).real
            assert abs(low - ball(float(lower))) < 1e-14
            row += 1


@pytest.mark.parametrize("spread", [1e-3, 1.0, 3e3])
@pytest.mark.parametrize("which", [0, 1])
def test_no_middle_zone_for_a_variance_that_is_not_known(spread, which):
    """Gains off by a thousandth of 1/alpha or of the deviation: V may be off by more than 1%."""
    n = 10**6
    for alpha in (1e-3 / spread, 20.0 / spread):
        variance = 0.25 * spread**2
        allowed = 1e-3 * min(1.0 / alpha, math.sqrt(variance))
        for factor, known in ((0.9, True), (1.2, False), (30.0, False)):
            g_err = np.zeros(2)
            g_err[which] = factor * allowed
            law = GainLaw(
                w=np.array([0.5, 0.5]),
                g=np.array([0.5, -0.5]) * spread,
                g_err=g_err,
                rel=0.0,
                mean=0.0,
                mean_err=0.0,
                active=np.array([True, False]),
                low=-0.5 * spread,
                high=0.5 * spread,
            )
            tilt = Tilt(alpha, 0.0, 0.0, rare=False, variance=variance)
            h = 20.0 * spread
            found = contour._stop_by_range(law, n, tilt, h, 1e-3 * alpha, 5.0)
            assert (found is not None) is known
    far = one_atom(-1.0, g_err=np.array([1.0]))
    tilt = Tilt(1e3, 0.0, 0.0, rare=False, variance=1.0)
    # An atom that e^{alpha g} leaves nothing of does not count.
    assert contour._stop_by_range(far, n, tilt, 20.0, 1e-3, 5.0) is not None
