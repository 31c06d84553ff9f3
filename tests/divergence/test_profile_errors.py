"""Enumeration, assembly and inversion: every rounding and every side of every comparison."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from divergence.laws import counted_truth, random_case
from divergence.oracle import assert_inside, ball, exponential
from shuffledp.arithmetic.intervals import LogInterval, log_add, log_difference, log_of
from shuffledp.divergence import inverse, profile
from shuffledp.divergence.enumeration import Enumeration, _log_sum, composition_count
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.inverse import solve_epsilon
from shuffledp.divergence.profile import LARGEST_EPSILON, PairProfile
from shuffledp.pair import ShuffledPair

U = 2.0**-53


# ------------------------------------------------------------------------------- enumeration


def binomial_pair(n, plus, *, left=True, rel=2 * U):
    """G = 2 - e^eps with mass ``plus``; the rest is left over, or is told apart by Q alone."""
    return ShuffledPair(
        w=np.array([plus]),
        a=np.array([2.0]),
        b=np.array([1.0]),
        n=n,
        outside=np.array([[1.0 - 2.0 * plus, 1.0 - plus]]),
        rel=rel,
        leftover=(1.0 - plus, U) if left else None,
    )


@pytest.mark.parametrize("n", [1, 2, 1000, 29_000])
@pytest.mark.parametrize("plus", [2.0**-40, 0.25])
def test_enumeration_of_many_messages(n, plus):
    """Sums of thousands of logarithms, each rounded: E[S]_+ = n E[G]."""
    pair = binomial_pair(n, plus)
    assert composition_count(pair) == n + 1
    found = Enumeration(pair).expected_positive_part(0.25)
    exact = n * ball(plus) * (2 - ball(0.25).exp())
    assert_inside(found, exact, exact)
    assert found.width <= 1e-6


@pytest.mark.parametrize("n", [2, 500, 20_000])
def test_probabilities_of_count_vectors_are_within_their_errors(n):
    """Each of them, not only their sum: the claims are sharp one by one."""
    plus = 0.3
    made = Enumeration(binomial_pair(n, plus))
    chosen = {0, 1, n // 3, n // 2, n - 1, n}
    for i in range(made.log_p.size):
        c = round(float(made.total_b[i]))
        if c not in chosen:
            continue
        exact = (arb(n + 1).lgamma() - arb(c + 1).lgamma() - arb(n - c + 1).lgamma()) + (
            c * ball(plus).log() + (n - c) * ball(1.0 - plus).log()
        )
        assert ball(float(made.log_high[i])) >= exact
        if made.sure[i] > 0.0:
            assert ball(float(made.log_p[i])) + ball(float(made.sure[i])).log() <= exact
        # log w within 8 u and its multiple, log-gamma within 8 u, and the sums of all of them.
        logs = c * abs(math.log(plus)) + (n - c) * abs(math.log(1.0 - plus))
        size = logs + math.lgamma(n + 1.0) + math.lgamma(c + 1.0) + math.lgamma(n - c + 1.0)
        assert made.log_high[i] - made.log_p[i] >= 13 * U * size * (1 - 1e-3)
        assert 1.0 - made.sure[i] >= 13 * U * size * (1 - 1e-3)


@pytest.mark.parametrize("n", [1, 4, 30])
@pytest.mark.parametrize("rel", [1e-3, 1e-5])
def test_enumeration_of_laws_moved_to_one_side(n, rel):
    """Every mass and ratio at the end of its error: c messages have c times that of one."""
    true = [
        (Fraction(3, 10), Fraction(2), Fraction(1, 2)),
        (Fraction(1, 5), Fraction(1), Fraction(2)),
    ]
    for atoms in (true[:1], true):
        exact = counted_truth(atoms, n, 0.0)
        left = float(1 - sum(t[0] for t in atoms))
        for sign in (-1, 1):
            push = np.array([1.0, 1.0 if len(atoms) == 1 else -1.0])[: len(atoms)]
            pair = bare(n, rel=rel)
            w, a, b = (np.array([float(t[i]) for t in atoms]) for i in range(3))
            for name, value in (
                ("w", w * (1.0 + 0.999 * sign * rel * push)),
                ("a", a * (1.0 + 0.999 * sign * rel)),
                ("b", b * (1.0 - 0.999 * sign * rel)),
                ("leftover", (left, 1e-15)),
            ):
                object.__setattr__(pair, name, value)
            found = Enumeration(pair).expected_positive_part(0.0)
            assert_inside(found, *exact)
            assert found.width <= 9 * (n + 2) * rel


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_a_left_over_that_may_be_nothing(share):
    """Given as 1e-6 +- 1e-6: from none at all to twice as much."""
    err = 1e-6
    left = Fraction(2 * share * err)
    plus = Fraction(1, 10**9)
    atoms = [(plus, Fraction(2), Fraction(1)), (1 - plus - left, Fraction(1), Fraction(3))]
    for n in (2, 4):
        pair = bare(n)
        for name, i in (("w", 0), ("a", 1), ("b", 2)):
            object.__setattr__(pair, name, np.array([float(t[i]) for t in atoms]))
        object.__setattr__(pair, "leftover", (err, err))
        assert composition_count(pair) == math.comb(n + 2, 2)
        found = Enumeration(pair).expected_positive_part(0.0)
        assert_inside(found, *counted_truth(atoms, n, 0.0))
        object.__setattr__(pair, "leftover", (0.0, 2 * err))
        found = Enumeration(pair).expected_positive_part(0.0)
        assert_inside(found, *counted_truth(atoms, n, 0.0))


@pytest.mark.parametrize("seed", range(40))
def test_enumeration_of_moved_laws(seed):
    """Masses, ratios and the left-over all off by their errors, each its own way."""
    rng = random.Random(f"moved {seed}")
    rel = rng.choice([1e-3, 1e-6])
    case = random_case(
        rng, atoms=rng.choice([1, 2, 3]), n=rng.choice([1, 2, 5, 9]), gamma=0.5, rel=rel
    )
    exact = counted_truth(case.atoms, case.n, case.epsilon)
    for style in (-1.0, 1.0):
        left, _ = case.pair.leftover
        err = 1e-3
        given = object.__new__(ShuffledPair)
        for name in ("w", "a", "b", "n", "outside", "tail", "rel"):
            object.__setattr__(given, name, getattr(case.pair, name))
        object.__setattr__(given, "leftover", (left * (1.0 + 0.999 * style * err), left * err))
        assert_inside(Enumeration(given).expected_positive_part(case.epsilon), *exact)


def test_one_atom_with_nothing_else():
    pair = ShuffledPair(
        w=np.array([1.0]), a=np.array([1.0]), b=np.array([1.0]), n=7, leftover=(0.0, 0.0)
    )
    assert composition_count(pair) == 1
    found = Enumeration(pair).expected_positive_part(0.0)
    assert found.low == -math.inf
    assert found.high < math.log(1e-13)
    assert Enumeration(pair).expected_positive_part(1.0) == (-math.inf, -math.inf)


def test_counting_count_vectors():
    rng = random.Random(1)
    for atoms, n, gamma, want in ((2, 3, 0.5, 10), (3, 2, 0.5, 10), (1, 5, 0.5, 6)):
        case = random_case(rng, atoms=atoms, n=n, gamma=gamma)
        assert composition_count(case.pair) == want
        assert Enumeration(case.pair).log_p.size == want


def test_log_sum():
    assert _log_sum(np.array([0.0, 1.0]), np.array([0.0, -1.0])) == -math.inf
    assert _log_sum(np.array([0.0, -800.0]), np.array([3.0, 1.0])) == pytest.approx(math.log(3.0))
    log_p = np.array([-1000.0, -1001.0, -900.0])
    value = np.array([2.0, 5.0, -1.0])
    exact = math.log(2.0 + 5.0 / math.e) - 1000.0
    assert _log_sum(log_p, value) == pytest.approx(exact, abs=1e-12)


# ---------------------------------------------------------------------------------- assembly


def bare(n, *, outside=(), tail=(0.0, 0.0), rel=2 * U):
    pair = object.__new__(ShuffledPair)
    rows = np.array(outside) if len(outside) else np.zeros((0, 2))
    values = {
        "w": np.array([0.5]),
        "a": np.array([1.0]),
        "b": np.array([1.0]),
        "n": n,
        "outside": rows,
        "tail": tail,
        "tail_doubt": (0.0, 0.0),
        "rel": rel,
        "leftover": (0.5, U),
        "ranges": None,
    }
    for name, value in values.items():
        object.__setattr__(pair, name, value)
    return pair


@pytest.mark.parametrize("seed", range(40))
def test_assembly_in_exact_numbers(seed):
    """E[S]_+/n, what lies outside, and the tails; logarithms far from 0 included."""
    rng = random.Random(f"assembly {seed}")
    n = rng.choice([1, 3, 10**6, 10**15])
    epsilon = rng.choice([0.0, 0.3, 5.0])
    log_main = rng.choice([0.0, -5.0, -600.0, -3000.0]) + rng.random()
    far = math.exp(max(log_main - math.log(n), -700.0))
    tail = rng.choice([(0.0, 0.0), (0.3 * far, 0.2 * far), (far, 0.0), (0.0, 0.999 * far)])
    tail = (tail[0], tail[1] * math.exp(-epsilon))
    rows = [(rng.random() * far, rng.random() * far) for _ in range(rng.choice([0, 1, 5]))]
    made = profile.PairProfile.__new__(profile.PairProfile)
    made.pair = bare(n, outside=rows, tail=tail)
    found = made._assemble(made.pair, LogInterval(log_main, log_main), epsilon)
    alpha = ball(epsilon).exp()
    main = ball(log_main).exp() / n
    seen = sum((max_ball(ball(p) - alpha * ball(q)) for p, q in rows), arb(0))
    low = main + seen - alpha * ball(tail[1])
    high = main + seen + ball(tail[0])
    if found.low > -math.inf:
        assert low > 0
        assert ball(found.low) <= low.log()
    elif low > 0:
        assert low < main * 1e-9
    assert ball(found.high) >= high.log() or (high > 1 and found.high == 0.0)
    if low > 0.5 * main and found.high < 0.0:
        assert found.high - found.low <= float(high.log() - low.log()) + 1e-9


def max_ball(x):
    return x if x > 0 else arb(0)


@pytest.mark.parametrize("rel", [2 * U, 1e-4])
def test_outside_in_both_directions_of_its_errors(rel):
    """[p - e^eps q]_+ for p and q moved by their relative error, many of them."""
    rng = np.random.default_rng(2)
    for size in (1, 7, 3000):
        p = rng.random(size) / size
        for epsilon in (0.0, 0.4, 3.0):
            # Half of the differences are no more than rounding.
            q = np.where(np.arange(size) % 2, p * math.exp(-epsilon), rng.random(size) / size)
            made = profile.PairProfile.__new__(profile.PairProfile)
            made.pair = bare(3, outside=np.column_stack([p, q]), rel=rel)
            low, high = made._outside(epsilon)
            alpha = ball(epsilon).exp()
            for up in (-1, 1):
                scale = (1 + ball(0.999 * rel) * up, 1 - ball(0.999 * rel) * up)
                true = sum(
                    (
                        max_ball(ball(float(x)) * scale[0] - alpha * ball(float(y)) * scale[1])
                        for x, y in zip(p, q, strict=True)
                    ),
                    arb(0),
                )
                assert ball(low) <= true <= ball(high)
            # Rounding of e^eps (8 u), of the product and of the difference, and of the sum.
            assert size == 1 or high - low >= 9 * U * float(p.sum())


@pytest.mark.parametrize("p", [2.0**-1000, 1e-30, 0.25])
def test_floor_of_delta_is_below_what_only_p_gives(p):
    made = profile.PairProfile.__new__(profile.PairProfile)
    made.pair = bare(3, outside=[(p, 0.0), (0.125, 0.5), (2 * p, 0.0)], rel=1e-6)
    floor = made.log_floor()
    assert ball(floor) <= (3 * ball(p) * (1 - ball(1e-6))).log()
    assert floor >= math.log(3 * p) - 1e-5
    made.pair = bare(3, outside=[(0.125, 0.5)])
    assert made.log_floor() == -math.inf


@pytest.mark.parametrize("value", [-0.5, -37.0, -700.0, -1e5])
def test_outward(value):
    found = profile._outward(value, value)
    assert found.low <= value - 4 * U * (1 + abs(value)) < value + 4 * U * (1 + abs(value))
    assert value + 4 * U * (1 + abs(value)) <= found.high <= 0.0
    assert profile._outward(-math.inf, -math.inf) == (-math.inf, -math.inf)
    assert profile._outward(-1.0, 3.0).high == 0.0


def one_sided(g, err, mean, mean_err, w=0.5):
    g, err = np.array(g), np.array(err)
    return GainLaw(
        w=np.full(g.size, w / g.size),
        g=g,
        g_err=err,
        rel=0.0,
        mean=mean,
        mean_err=mean_err,
        active=g + err > 0.0,
        low=min(0.0, float((g - err).min())),
        high=max(0.0, float((g + err).max())),
    )


@pytest.mark.parametrize("n", [1, 10, 10**12])
def test_laws_on_one_side_of_zero(n):
    assert profile._one_sided(one_sided([-1.0], [0.5], -0.5, 0.0), n) == (-math.inf, -math.inf)
    # Only rounding may make it positive: anything up to n (g + err) of the mass.
    found = profile._one_sided(one_sided([-1e-9, -1.0], [3e-9, 0.0], -0.25, 0.0), n)
    assert found.low == -math.inf
    assert ball(found.high) >= (ball(n) * ball(0.25) * ball(2e-9)).log()
    law = one_sided([1.0, 3.0], [0.5, 0.5], 1.0, 1e-3)
    found = profile._one_sided(law, n)
    assert ball(found.low) <= (n * (1 - ball(1e-3))).log()
    assert ball(found.high) >= (n * (1 + ball(1e-3))).log()
    assert found.width <= 3e-3
    vague = profile._one_sided(one_sided([1.0], [0.5], 1.0, 2.0), n)
    assert vague.low == -math.inf
    assert ball(vague.high) >= (ball(n) * 3).log()
    assert profile._one_sided(one_sided([-1.0, 1.0], [0.0, 0.0], 0.0, 0.0), n) is None
    assert profile._one_sided(one_sided([-1e-9, 1.0], [2e-9, 0.0], 0.2, 0.0), n) is None


@pytest.mark.parametrize("x", [-1e-9, -0.4, -30.0, -690.0, -5000.0])
def test_sums_of_logarithms(x):
    assert log_add(x, log_of(0.0)) == x
    assert log_add(-math.inf, log_of(0.5)) == math.log(0.5)
    assert log_difference(x, log_of(0.0)) == x
    assert log_difference(-math.inf, log_of(0.5)) == -math.inf
    # So near to each other that nothing is known of what is left.
    assert log_difference(x, math.nextafter(x, -math.inf)) == -math.inf
    assert log_difference(-3.648736329854182e-09, -3.648737262948433e-09) == -math.inf
    for y in (1e-300, 1e-12, 0.3):
        exact = (ball(x).exp() + ball(y)).log()
        assert abs(ball(log_add(x, log_of(y))) - exact) <= 4 * U * (1 + abs(exact))
        if ball(x).exp() > 2 * ball(y):
            exact = (ball(x).exp() - ball(y)).log()
            found = log_difference(x, log_of(y))
            assert abs(ball(found) - exact) <= ball(1e-10)
        elif ball(x).exp() < ball(y):
            assert log_difference(x, log_of(y)) == -math.inf


def test_a_cap_by_one_message(monkeypatch):
    """E[S]_+ <= n E[G]_+, rounded up, replaces an upper end that is worse."""
    case = random_case(random.Random(4), atoms=2, n=50, gamma=1e-3, epsilon=0.0)
    made = PairProfile(case.pair)
    exact = sum((w * max(a - b, Fraction(0)) for w, a, b in case.atoms), Fraction(0)) * 50
    loose = made._capped(LogInterval(-90.0, 5.0), 0.0)
    assert loose.low == -90.0
    assert ball(exact).log() <= ball(loose.high) <= ball(exact).log() + ball(1e-9)
    assert made._capped(LogInterval(-90.0, -80.0), 0.0) == (-90.0, -80.0)


def test_beyond_the_largest_epsilon():
    pair = binomial_pair(3, 0.25, left=False)
    made = PairProfile(pair)
    last = made.log_delta(LARGEST_EPSILON)
    beyond = made.log_delta(LARGEST_EPSILON + 1.0)
    assert beyond == (-math.inf, last.high)


def test_a_bracket_is_a_function_of_eps_and_width():
    case = random_case(random.Random(8), atoms=3, n=10**6, epsilon=0.001)
    made = PairProfile(case.pair)
    loose = made.log_delta(0.001, width=3e-2)
    tight = made.log_delta(0.001, width=1e-7)
    assert tight.width <= 1e-7
    assert made.log_delta(0.001, width=3e-2) == loose
    assert PairProfile(case.pair).log_delta(0.001, width=1e-7) == tight
    assert max(loose.low, tight.low) <= min(loose.high, tight.high)


# --------------------------------------------------------------------------------- inversion


class Curve:
    """A profile of known log delta, whose brackets are as wide as asked for, off to any side."""

    def __init__(self, log_delta, *, seed=0, floor=-math.inf, slack=1.0):
        self.exact, self.rng, self.floor, self.slack = log_delta, random.Random(seed), floor, slack
        self.cache = {}

    def log_delta(self, epsilon, *, width=3e-2):
        key = (epsilon, width)
        if key not in self.cache:
            part, value = self.rng.random(), self.exact(epsilon)
            wide = self.slack * width
            self.cache[key] = LogInterval(value - part * wide, min(value + (1 - part) * wide, 0.0))
        return self.cache[key]

    def rough_log_delta(self, epsilon, *, above=-math.inf):
        return min(self.exact(epsilon) + 0.3 * math.sin(40.0 * epsilon), 0.0)

    def log_floor(self):
        return self.floor


def _log_of_sum(*logs):
    top = max(logs)
    return top + math.log(math.fsum(math.exp(x - top) for x in logs)) if top > -math.inf else top


# Every one falls in eps and is convex in x = e^eps, as every privacy profile is.
CURVES = {
    "power": lambda e: -0.1 - 3.0 * e,
    "steep": lambda e: -2.0 - 900.0 * e,
    "flat": lambda e: -3.0 - 0.4 * e,
    "low": lambda e: -40.0 - 2.0 * e,
    # max of two powers of x: a kink, after which it is flatter.
    "kinked": lambda e: max(-0.5 - 9.0 * e, -5.0 - 1.5 * e),
    # (1 - x/e^2)_+^2: no mass beyond eps = 2.
    "bounded": lambda e: 2.0 * math.log(-math.expm1(e - 2.0)) if e < 2.0 else -math.inf,
    # 0.4 (1 - x/e^0.7)_+ + e^-20/x.
    "cliff": lambda e: _log_of_sum(
        math.log(-0.4 * math.expm1(e - 0.7)) if e < 0.7 else -math.inf, -20.0 - e
    ),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("log_target", [-0.7, -5.0, -30.0, -690.0])
@pytest.mark.parametrize("rtol", [1e-3, 1e-9])
def test_returned_ends_hold_whatever_side_the_brackets_lean_to(name, log_target, rtol):
    """delta(high) <= target <= delta(low), with brackets far too wide at times as well."""
    exact = CURVES[name]
    for seed, slack in ((0, 1.0), (1, 1.0), (2, 1.0), (3, 30.0), (4, 1e4)):
        for cap in (math.inf, 2.0):
            curve = Curve(exact, seed=seed, slack=slack)
            found = solve_epsilon([curve], log_target, cap=cap, rtol=rtol, need_all=True)
            assert 0.0 <= found.low <= found.high <= cap
            # Beyond the cap, and beyond the largest eps, nothing was evaluated.
            if found.high < min(cap, math.inf):
                assert exact(found.high) <= log_target
            if found.low > 0.0:
                assert exact(found.low) >= log_target
            if slack == 1.0 and found.high < cap:
                assert found.high - found.low <= max(20.0 * rtol * found.high, 1e-9)
            assert found.which == 0


@pytest.mark.parametrize("seed", range(30))
def test_several_profiles(seed):
    """An upper end has to hold for all of them, a lower end for one."""
    rng = random.Random(seed)
    curves = []
    for i in range(rng.choice([2, 3, 5])):
        start, slope = rng.uniform(-3, -0.2), rng.uniform(0.5, 9.0)
        # More would not be convex in e^eps.
        bend = rng.uniform(0.0, 0.5) * slope * (slope + 1.0)

        def exact(e, start=start, slope=slope, bend=bend):
            return start - slope * e - bend * e * e

        curves.append(Curve(exact, seed=i, slack=rng.choice([1.0, 1.0, 20.0])))
    log_target = rng.choice([-1.0, -9.0, -200.0])
    cap = rng.choice([math.inf, 3.0])
    for need_all in (True, False):
        found = solve_epsilon(curves, log_target, cap=cap, rtol=1e-4, need_all=need_all)
        if need_all and found.high < cap:
            assert all(c.exact(found.high) <= log_target for c in curves)
            assert 0 <= found.which < len(curves)
        if found.low > 0.0:
            assert max(c.exact(found.low) for c in curves) >= log_target


def test_targets_on_a_bracket_end_are_not_reached():
    """high = target only counts with room for the rounding of log(target)."""
    target = -7.0
    for off, below, above in ((0.0, False, False), (1e-13, True, True)):
        low = Curve(lambda e, off=off: target - off, slack=0.0)
        high = Curve(lambda e, off=off: target + off, slack=0.0)
        low, high = (inverse.Evaluated(c, target, upper=True) for c in (low, high))
        assert low.below(1.0, 1e-3) is below
        assert high.above(1.0, 1e-3) is above
        assert not high.below(1.0, 1e-3)
        assert not low.above(1.0, 1e-3)
    for log_target in (-1e-9, -1.0, -690.0):
        curve = inverse.Evaluated(Curve(lambda e: -e), log_target, upper=True)
        assert curve.slack >= 2 * U * max(abs(log_target), 1e-3)


def test_mass_that_is_seen_for_sure_has_no_finite_epsilon():
    curve = Curve(lambda e: -2.0 - math.exp(-e), floor=-3.0)
    found = solve_epsilon([curve], -4.0, cap=math.inf, rtol=1e-3, need_all=True)
    assert found == (LARGEST_EPSILON, math.inf, 0)
    found = solve_epsilon([curve], -3.0, cap=math.inf, rtol=1e-3, need_all=True)
    assert found.high == math.inf
    assert found.low == 0.0 or curve.exact(found.low) >= -3.0
    other = Curve(lambda e: -1.0 - e)
    found = solve_epsilon([other, curve], -4.0, cap=math.inf, rtol=1e-3, need_all=True)
    assert found == (LARGEST_EPSILON, math.inf, 1)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_oracle_of_this_file(epsilon):
    """The counted truth agrees with one message by hand."""
    case = random_case(random.Random(5), atoms=3, n=1, epsilon=epsilon)
    low, high = counted_truth(case.atoms, 1, epsilon)
    for alpha in exponential(epsilon):
        hand = sum((w * max(a - alpha * b, Fraction(0)) for w, a, b in case.atoms), Fraction(0))
        assert abs(ball(hand) - low) < arb(10) ** -30
    assert low == high or abs(high - low) < arb(10) ** -100
