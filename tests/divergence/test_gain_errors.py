"""Laws of G at one eps: what is claimed of atoms, cells and groups, against laws moved off."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from divergence.oracle import ball, exponential
from shuffledp.arithmetic.intervals import LogInterval, added
from shuffledp.divergence import cells as kernel_cells
from shuffledp.divergence.gain import (
    CellGains,
    _inner_variance,
    atom_gains,
    cell_gains,
    compressed_gains,
    floored,
    mean_gain,
    trimmed,
)
from shuffledp.pair import RatioRanges, ShuffledPair

U = 2.0**-53
EPSILONS = (0.0, 0.3, 4.0)


def pair_of(w, a, b, n=5, **more):
    """A pair without the checks of its class: tests move its numbers off."""
    pair = object.__new__(ShuffledPair)
    fields = {
        "w": np.array(w, dtype=float),
        "a": np.array(a, dtype=float),
        "b": np.array(b, dtype=float),
        "n": n,
        "outside": np.zeros((0, 2)),
        "tail": (0.0, 0.0),
        "tail_doubt": (0.0, 0.0),
        "rel": 2 * U,
        "leftover": None,
        "ranges": None,
    }
    for name, value in (fields | more).items():
        object.__setattr__(pair, name, value)
    return pair


def fraction(x):
    return Fraction(float(x))


@pytest.mark.parametrize("rel", [2 * U, 1e-6, 1e-3])
def test_gains_of_atoms(rel):
    """a and b off by rel each way; and never less than the proof's (rho + 12 u)(a + e^eps b)."""
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(size=60) * 5), np.exp(rng.normal(size=60) * 5)
    a[:20] = b[:20] * np.exp(0.3) * (1.0 + 1e-15 * rng.normal(size=20))
    pair = pair_of(np.full(60, 1 / 60), a, b, n=2, rel=rel)
    for epsilon in EPSILONS:
        law = atom_gains(pair, epsilon)
        alpha, scale = ball(epsilon).exp(), math.exp(epsilon)
        floor = -1.009 * 2 * law.high
        for x, y, g, err, active in zip(a, b, law.g, law.g_err, law.active, strict=True):
            if err == 0.0:  # raised to the floor
                assert floor <= g * 0.999
                assert x * (1 + rel) - scale * y * (1 - rel) < g
                assert not active
                continue
            assert err >= (rel + 12 * U) * (x + scale * y)
            for i, j in ((1, -1), (-1, 1)):
                size = ball(0.999 * rel)
                true = ball(x) * (1 + i * size) - alpha * ball(y) * (1 + j * size)
                assert abs(true - ball(g)) <= ball(err)
                assert ball(law.low) <= true <= ball(law.high)
                assert active or not true > 0


@pytest.mark.parametrize("rel", [2 * U, 1e-4])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.7, 30.0])
def test_mean_of_the_gains(rel, epsilon):
    """E[G] from the masses outside and in the tails, each off by what is claimed of it."""
    outside = np.array([[0.125, 0.25], [0.0, 0.0625], [0.03125, 0.0]])
    tail, doubt = (0.25, 0.125), (0.0625, 0.03125)
    pair = pair_of([0.5], [1.0], [1.0], outside=outside, tail=tail, tail_doubt=doubt, rel=rel)
    mean, err = mean_gain(pair, epsilon)
    alpha = ball(epsilon).exp()
    for i in (-1, 1):
        for j in (-1, 1):
            p = ball(0.15625) * (1 + i * ball(0.999 * rel))
            q = ball(0.3125) * (1 - i * ball(0.999 * rel))
            if j > 0:
                lost = ball(tail[0]) - ball(doubt[0]), ball(tail[1])
            else:
                lost = ball(tail[0]), ball(tail[1]) - ball(doubt[1])
            true = (1 - p - lost[0]) - alpha * (1 - q - lost[1])
            assert abs(true - ball(mean)) <= ball(err)
    # Rounding of expm1 (8 u), of e^eps and the products (10 u).
    bare, slack = mean_gain(pair_of([0.5], [1.0], [1.0], rel=0.0), epsilon)
    assert abs(ball(bare) - (1 - alpha)) <= ball(slack)
    assert slack >= 8 * U * abs(bare)
    _, slack = mean_gain(pair_of([0.5], [1.0], [1.0], outside=outside, rel=0.0), epsilon)
    assert slack >= 10 * U * (0.15625 + math.exp(epsilon) * 0.3125)


def cell_pair(rng, count, *, rel=2 * U, width=0.3, n=5):
    """Cells with ranges, and for each some (a, b) inside its ranges with the right means."""
    w = rng.random(count) / (2 * count)
    a, b = np.exp(rng.normal(size=count)), np.exp(rng.normal(size=count))
    stretch = 1.0 + width * rng.random((4, count))
    ranges = RatioRanges(a / stretch[0], a * stretch[1], b / stretch[2], b * stretch[3])
    return pair_of(w, a, b, n=n, rel=rel, ranges=ranges)


@pytest.mark.parametrize("rel", [2 * U, 1e-5])
def test_gains_of_cells(rel):
    rng = np.random.default_rng(3)
    pair = cell_pair(rng, 40, rel=rel, n=10**6)
    for epsilon in EPSILONS:
        cells = cell_gains(pair, epsilon)
        alpha, scale = ball(epsilon).exp(), math.exp(epsilon)
        r = pair.ranges
        assert (cells.err >= (rel + 12 * U) * (pair.a + scale * pair.b)).all()
        # Ends of the interval: every (a, b) in the ranges, and the mean within its error.
        rows = (r.a_low, r.a_high, r.b_low, r.b_high, cells.low, cells.high, cells.mean, cells.err)
        for a0, a1, b0, b1, low, high, mean, err in zip(*rows, strict=True):
            assert ball(low) <= ball(a0) - alpha * ball(b1)
            assert ball(high) >= ball(a1) - alpha * ball(b0)
            assert low <= mean - err <= mean + err <= high
        assert (cells.low <= r.a_low - scale * r.b_high - 6 * U * scale * r.b_high).all()
        assert (cells.high >= r.a_high - scale * r.b_low + 6 * U * r.a_high).all()
        for a, b, mean, err in zip(pair.a, pair.b, cells.mean, cells.err, strict=True):
            for i in (-1, 1):
                size = i * ball(0.999 * rel)
                true = ball(a) * (1 + size) - alpha * ball(b) * (1 - size)
                assert abs(true - ball(mean)) <= ball(err)
        # Any variance the interval allows.
        assert (cells.variance - cells.variance_err <= 1e-12 * cells.variance).all()
        most = 0.25 * (cells.high - cells.low) ** 2
        assert (cells.variance + cells.variance_err >= most * (1 - 1e-12)).all()


def test_variance_of_a_density_that_bends():
    """Densities proportional to e^{k x}, and steps: between e^-bend and e^bend of the uniform."""
    for width in (1e-3, 1.0, 50.0):
        for bend in (1e-6, 0.01, 0.3, 0.9, 1.5, math.inf):
            low, high = np.array([-0.3 * width]), np.array([0.7 * width])
            for pad in (0.0, 1e-6 * width):
                value, err = _inner_variance(low, high, np.array([pad]), np.array([bend]))
                inside = width - 2.0 * pad
                spread = min(bend, 40.0)
                # Half of the mass factor at the ends, then half of it in the middle.
                for at_ends in (True, False):
                    grow, shrink = math.exp(spread), math.exp(-spread)
                    # density f = grow on share s, shrink on the rest, mass one.
                    share = (1.0 - shrink) / (grow - shrink)
                    if at_ends:
                        gap = 1.0 - share
                        second = grow * (1 - gap**3) / 12 + shrink * gap**3 / 12
                    else:
                        second = grow * share**3 / 12 + shrink * (1 - share**3) / 12
                    true = second * inside**2
                    assert value[0] - err[0] <= true * (1 + 1e-12)
                    assert value[0] + err[0] >= true * (1 - 1e-12)
                if pad and bend < 1e-5:
                    # Each end lies at most pad beyond: 2 pad shorter at most.
                    assert value[0] - err[0] <= (width - 2.0 * pad) ** 2 / 12
                    assert err[0] >= 4.0 * pad * width / 12
    value, err = _inner_variance(np.zeros(2), np.array([1.0, 3.0]), np.zeros(2), None)
    assert (value - err <= 0.0).all()
    assert (value + err >= np.array([0.25, 2.25])).all()


def cells_of(w, low, mean, high, *, err=0.0, variance=None, variance_err=None, lost=0.0):
    w, low, mean, high = (np.array(x, dtype=float) for x in (w, low, mean, high))
    none = np.zeros_like(w)
    return CellGains(
        w,
        mean,
        low,
        high,
        none + err,
        float((w * mean).sum()),
        1e-12,
        none if variance is None else np.array(variance, dtype=float),
        none if variance_err is None else np.array(variance_err, dtype=float),
        lost,
    )


@pytest.mark.parametrize("rel", [1e-9, 1e-3])
def test_cells_below_a_threshold(rel):
    rng = np.random.default_rng(4)
    w, mean = rng.random(30) / 60, np.sort(rng.normal(size=30))
    cells = cells_of(w, mean - 0.01, mean, mean + 0.01, err=1e-3, lost=0.125)
    small = cells.below(0.5, rel)
    assert (small.high <= 0.5).all()
    gone = cells.high > 0.5
    assert small.w.size == 30 - gone.sum()
    for sign in (-1, 1):
        moved = sum(
            (
                fraction(p)
                * (1 + sign * fraction(0.999 * rel))
                * (fraction(g) + sign * fraction(e))
                for p, g, e in zip(w[gone], mean[gone], cells.err[gone], strict=True)
            ),
            Fraction(0),
        )
        true = fraction(cells.total) + sign * fraction(cells.total_err) - moved
        assert abs(true - fraction(small.total)) <= fraction(small.total_err) * 2
        true = fraction(cells.total) - sign * fraction(cells.total_err) - moved
        assert abs(true - fraction(small.total)) <= fraction(small.total_err)
    assert small.lost == pytest.approx(0.125 + w[gone].sum(), abs=1e-15)
    assert small.total_err >= cells.total_err + float((w * cells.err)[gone].sum())
    whole = cells.below(9.0, rel)
    assert whole.w.size == 30
    assert whole.lost == 0.125


@pytest.mark.parametrize("n", [2, 30])
def test_cells_raised_to_the_floor(n):
    """Only cells that lie wholly below it, and so low that one message decides the sign of S."""
    low = np.array([-500.0, -500.0, -1.0, 0.5])
    high = np.array([-400.0, -3.0, 0.2, 1.0])
    mean = 0.5 * (low + high)
    cells = cells_of([0.2, 0.2, 0.2, 0.2], low, mean, high, err=1e-9, variance=[9.0] * 4)
    raised = floored(cells, n, 1e-12)
    for before, after in zip(
        zip(cells.low, cells.high, cells.mean, strict=True),
        zip(raised.low, raised.high, raised.mean, strict=True),
        strict=True,
    ):
        if before == after:
            continue
        assert before[1] <= after[0] == after[1] == after[2]
        assert after[1] < -(n - 1) * 1.0 * 1.001
    assert raised.mean[0] > mean[0]
    assert raised.mean[1] == mean[1] or n == 2
    assert raised.variance[0] == raised.variance_err[0] == raised.err[0] == 0.0
    assert raised.variance[2] == 9.0
    exact = sum(fraction(x) * fraction(y) for x, y in zip(raised.w, raised.mean, strict=True))
    assert abs(exact - fraction(raised.total)) <= fraction(raised.total_err)
    assert raised.total_err >= 0.4e-9 + 1e-12 * 0.2 * float(np.abs(raised.mean).sum()) * 0.99
    assert floored(raised, n, 1e-12).total == raised.total
    unmoved = cells_of([0.2, 0.2], [-1.0, 0.5], [-0.5, 0.7], [0.0, 1.0])
    assert floored(unmoved, n, 1e-12) is unmoved


@pytest.mark.parametrize("rel", [2 * U, 2e-6])
@pytest.mark.parametrize("level", [-12.0, -6.0, -3.0])
def test_trimmed_cells_are_in_the_tail_in_full(level, rel):
    rng = np.random.default_rng(6)
    for epsilon in EPSILONS:
        pair = cell_pair(rng, 50)
        decayed = pair.w * np.exp(-0.5 * np.abs(np.arange(50) - 25.0))
        seen = [[1.0 - float((decayed * x).sum()) for x in (pair.a, pair.b)]]
        pair = pair_of(
            decayed,
            pair.a,
            pair.b,
            ranges=pair.ranges,
            outside=np.array(seen) - np.array([[1e-9, 2e-9]]),
            tail=(1e-9, 2e-9),
            tail_doubt=(1e-9, 0.0),
            rel=rel,
        )
        kept = trimmed(pair, epsilon, level)
        first = int(np.flatnonzero(pair.w == kept.w[0])[0])
        inside = np.zeros(50, dtype=bool)
        inside[first : first + kept.w.size] = True
        assert (kept.a == pair.a[inside]).all()
        assert (kept.ranges.b_high == pair.ranges.b_high[inside]).all()
        for i, ratio in enumerate((pair.a, pair.b)):
            gone = sum(
                (
                    fraction(x) * fraction(y)
                    for x, y in zip(pair.w[~inside], ratio[~inside], strict=True)
                ),
                Fraction(0),
            )
            assert fraction(kept.tail[i]) >= fraction(pair.tail[i]) + gone * (
                1 + 2 * Fraction(pair.rel)
            )
            least = fraction(kept.tail[i]) - fraction(kept.tail_doubt[i])
            assert least <= fraction(pair.tail[i]) - fraction(pair.tail_doubt[i]) + gone * (
                1 - 2 * Fraction(pair.rel)
            )
            assert (
                kept.tail_doubt[i] <= pair.tail_doubt[i] + (3e-6 + 9 * rel) * float(gone) + 1e-300
            )
        lost = pair.w[~inside] * (pair.a + math.exp(epsilon) * pair.b)[~inside]
        assert lost.sum() <= 2.0 * math.exp(level)
    assert trimmed(pair, 0.0, -600.0) is pair
    assert trimmed(pair, 0.0, 5.0) is pair
    assert trimmed(pair_of([0.5], [1.0], [1.0]), 0.0, -1.0).ranges is None


@pytest.mark.parametrize("seed", range(40))
def test_groups_of_cells(seed):
    """Mean, variance and width of each group, for cells moved to the ends of their errors."""
    rng = np.random.default_rng(200 + seed)
    count = int(rng.choice([3, 12, 80]))
    rel = float(rng.choice([2 * U, 1e-6, 1e-3]))
    low = np.sort(rng.normal(size=count))
    width = rng.random(count) * float(rng.choice([1e-3, 0.3]))
    mean = low + width * rng.random(count)
    err = np.minimum(mean - low, low + width - mean) * float(rng.choice([0.0, 1e-6, 1e-2]))
    most = (mean - low) * (low + width - mean)
    w = rng.random(count) ** 2 / count
    cells = cells_of(
        w, low, mean, low + width, err=err, variance=0.5 * most, variance_err=0.5 * most
    )
    tilt = float(rng.choice([1e-3, 0.5, 30.0]))
    threshold = None if seed % 3 else 0.4
    law = compressed_gains(
        cells, rel=rel, tilt=tilt, groups=int(rng.choice([2, 5, 100])), threshold=threshold
    )
    size = law.w.size // 2
    assert (law.w[:size] == law.w[size:]).all()
    assert law.rel >= rel
    done = 0
    low_g, high_g = law.g[:size], law.g[size:]
    for i in range(size):
        start, total = done, 0.0
        while done < count and total < 2 * law.w[i] * (1 - 1e-12):
            total += w[done]
            done += 1
        part = slice(start, done)
        ends = cells.low[part].min(), cells.high[part].max()
        assert law.reach[i] >= ends[1] - ends[0]
        assert law.top[i] >= max(ends[1], high_g[i])
        assert law.low <= min(ends[0], low_g[i])
        assert law.high >= max(ends[1], high_g[i])
        assert law.reach[i] >= high_g[i] - low_g[i]
        middle = 0.5 * (low_g[i] + high_g[i])
        guess = (0.5 * (high_g[i] - low_g[i])) ** 2
        doubt = law.half_var[i] / (0.25 * 2 * law.w[i])
        limit = 0.0 if threshold is None else threshold
        assert (cells.high[part] > limit).all() == law.active[i] == law.active[size + i]
        assert (cells.high[part] > limit).any() == law.active[i]
        for style in range(6):
            sign = (
                rng.choice([-1.0, 1.0], done - start)
                if style > 3
                else np.full(done - start, 1.0 if style % 2 else -1.0)
            )
            spread_out = np.sign(cells.mean[part] - middle) * (1.0 if style % 2 else -1.0)
            push = sign if style < 2 else spread_out
            p = w[part] * (1.0 + 0.999 * rel * sign)
            x = cells.mean[part] + 0.999 * err[part] * push
            inner = most[part] * (0.0 if style % 2 == 0 else 1.0)
            m = (p * x).sum() / p.sum()
            v = (p * ((x - m) ** 2 + inner)).sum() / p.sum()
            assert abs(m - middle) <= law.g_err[i] * (1 + 1e-9) + 1e-15
            assert abs(v - guess) <= doubt * (1 + 1e-9) + 1e-15
            third = 0.25 * v * (1 - 4 * rel) * law.reach[i] * p.sum() * (1 - 4 * rel)
            assert law.third[i] + law.third[size + i] >= third * (1 - 1e-9) - 1e-18
        assert law.g_err[i] >= 3 * U * abs(middle)
    assert done == count
    assert (law.mean, law.mean_err, law.lost) == (cells.total, cells.total_err, cells.lost)


# -------------------------------------------------------------------- cells that decide at once


def log_of(x):
    return ball(x).log()


@pytest.mark.parametrize("rel", [2 * U, 1e-6])
@pytest.mark.parametrize("seed", range(20))
def test_one_message(seed, rel):
    """n = 1: E[G]_+ of any law that fits the cells, down to means and up to ends."""
    rng = np.random.default_rng(300 + seed)
    count = int(rng.choice([1, 4, 40]))
    low = rng.normal(size=count)
    high = low + rng.random(count)
    mean = low + (high - low) * rng.random(count)
    err = 1e-6 * np.minimum(mean - low, high - mean)
    w = rng.random(count) / count
    found = kernel_cells._one_message(cells_of(w, low, mean, high, err=err), rel)
    least = most = Fraction(0)
    for row in zip(w, low, mean, high, err, strict=True):
        p, a, m, b, e = (fraction(x) for x in row)
        least += p * max(m - e, 0) * (1 - fraction(rel))
        share = (m + e - a) / (b - a)
        most += p * (share * max(b, 0) + (1 - share) * max(a, 0)) * (1 + fraction(rel))
    assert found.low == -math.inf if least == 0 else ball(found.low) <= log_of(least)
    assert found.high == -math.inf if most == 0 else ball(found.high) >= log_of(most)
    if least > 0:
        assert found.low >= float(log_of(least)) - 1e-8 - 4 * rel
        assert found.high <= float(log_of(most)) + 1e-8 + 4 * rel


@pytest.mark.parametrize("n", [1, 7, 10**14])
def test_sums_of_one_sign(n):
    low = kernel_cells._one_sided_cells(LogInterval(-9.0, -3.0), n)
    assert low.low == -math.inf
    assert ball(low.high) >= ball(-3.0) + ball(n).log()
    assert low.high <= -3.0 + math.log(n) + 1e-12
    assert kernel_cells._one_sided_cells(LogInterval(-math.inf, -math.inf), n).high == -math.inf
    cells = cells_of([0.25, 0.25], [0.0, 1.0], [0.5, 1.5], [1.0, 2.0])
    found = kernel_cells._all_positive(cells, n)
    total, err = ball(cells.total), ball(cells.total_err)
    assert ball(found.low) <= (n * (total - err)).log()
    assert ball(found.high) >= (n * (total + err)).log()
    assert found.width < 1e-10
    vague = CellGains(*(getattr(cells, f) for f in ("w", "mean", "low", "high", "err")), 1.0, 3.0,
                      cells.variance, cells.variance_err)  # fmt: skip
    assert kernel_cells._all_positive(vague, n).low == -math.inf
    assert ball(kernel_cells._all_positive(vague, n).high) >= ball(4 * n).log()


@pytest.mark.parametrize("x", [0.0, -3.0, -700.0, -1e6, 1e6])
def test_sum_of_two_brackets(x):
    rng = np.random.default_rng(7)
    for gap in (0.0, 1e-9, 0.5, 30.0, 800.0):
        for _ in range(20):
            y = x - gap * rng.random()
            found = added(LogInterval(x, x), LogInterval(y, y))
            exact = ball(x) + (1 + (ball(y) - ball(x)).exp()).log()
            assert ball(found.low) <= exact <= ball(found.high)
            assert found.high - found.low >= 8 * U * (1 + abs(x))
            assert found == added(LogInterval(y, y), LogInterval(x, x))
    nothing = LogInterval(-math.inf, -math.inf)
    assert added(nothing, nothing) == nothing
    assert added(nothing, LogInterval(-1.0, 2.0)) == (-1.0, 2.0)
    unknown = LogInterval(-math.inf, math.inf)
    assert added(unknown, LogInterval(-1.0, 2.0)) == (-1.0, math.inf)


def test_rationals_around_the_exponential():
    """The oracle this file leans on."""
    for epsilon in EPSILONS:
        low, high = exponential(epsilon)
        assert ball(low) <= ball(epsilon).exp() <= ball(high)
        assert high - low <= Fraction(1, 2**118)
    assert arb(1) == ball(exponential(0.0)[0])
