"""Both ends of one-bit mechanisms against all data sets, in numbers of 60 digits."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import pytest

import shuffledp as sd
from bounds import exact_bits as exact
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import log_above, log_interval
from shuffledp.ball.record import Bit, Bits
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.one_bit import Circle, OneBit, Sum, largest
from shuffledp.propose.inverse import lower_epsilon, upper_epsilon
from shuffledp.propose.one_bit import AllDataSets, DataSet


def dyadic(rng, *, zeros=True):
    """A probability that is a float exactly, and so is the rest; sometimes 0 or 1."""
    if zeros and rng.random() < 0.1:
        return Fraction(rng.randint(0, 1))
    scale = 1 << rng.choice((3, 10, 20))
    return Fraction(rng.randint(1, scale - 1), scale)


def channel(shares):
    return sd.Channel(matrix=[(float(1 - share), float(share)) for share in shares])


def curve_of(mechanism, n):
    return AllDataSets(mechanism, n)


def ball(x):
    return arb(x.numerator) / x.denominator


def one_of(q, p, others, epsilon, noise=None):
    """Of exact probabilities; at the working precision."""
    high, low = (Bit(ball(1 - x), ball(x)) for x in (p, q))
    return OneBit(high, low, others=others, epsilon=epsilon, noise=noise)


def ends_of(ball):
    return log_interval(ball.lower(), ball.upper())


def holds(curve, epsilon, worst, width=1e-5):
    """lower <= exact <= upper, and close to one another."""
    found = curve.log_delta(epsilon, width=width)
    log = exact.log(worst)
    assert Decimal(found.low) <= log <= Decimal(found.high)
    if worst > 0:
        assert found.width <= width
    return found


@pytest.mark.many(10)
@pytest.mark.parametrize("seed", range(25))
def test_all_datasets_and_pairs_of_random_channels(seed):
    """Two to four inputs, every multiset of the others' inputs, both orders, n <= 6."""
    rng = random.Random(seed)
    shares = [dyadic(rng) for _ in range(rng.randint(2, 4))]
    if len(set(shares)) < 2:
        shares = [Fraction(1, 8), Fraction(5, 8)]
    n = rng.randint(1, 6)
    curve = curve_of(channel(shares), n)
    cap = rng.choice((0.3, 1.0, 3.0))
    for epsilon in (0.0, cap * rng.random(), cap * rng.random()):
        holds(curve, epsilon, exact.largest(shares, n, epsilon))


@pytest.mark.parametrize(
    ("seed", "n"), [(0, 12), (1, 25), (2, 40), pytest.param(3, 60, marks=pytest.mark.long), (4, 60)]
)
def test_every_number_of_others(seed, n):
    """The two inputs that matter, every m, both orders: n up to 60."""
    rng = random.Random(f"{seed} {n}")
    q, p = sorted(Fraction(x, 1 << 6) for x in rng.sample(range(1, 1 << 6), 2))
    curve = curve_of(channel([q, p]), n)
    laws = [exact.ones_law([p] * m + [q] * (n - 1 - m)) for m in range(n)]
    for epsilon in (rng.choice((0.4, 1.5)) * rng.random(),):
        worst = max(
            exact.divergence(v0, v1, law, epsilon) for law in laws for v0, v1 in ((p, q), (q, p))
        )
        found = holds(curve, epsilon, worst)
        named = curve.witness(epsilon)
        assert sum(count for _, count in named["others"]) == n - 1
        # The data set that is named is one of those that attain the lower end.
        law = laws[sum(c for x, c in named["others"] if x == 1)]
        v0, v1 = ((q, p)[x] for x in (named["x0"], named["x1"]))
        log = exact.log(exact.divergence(v0, v1, law, epsilon))
        assert float(log) == pytest.approx(found.low, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [None, NoiseLaw("discrete-gaussian", 3.0)])
def test_chords_are_above_every_data_set_of_the_interval(seed, noise):
    """And those who are left out only hide: the interval's other bound."""
    rng, tried = random.Random(seed), 0
    for _ in range(6):
        n = rng.choice((5, 30, 120))
        q = Fraction(rng.randint(0, 500), 1024)
        p = q + Fraction(rng.randint(20, 500), 1024)
        epsilon = rng.choice((0.0, 0.2 * rng.random(), rng.random(), 3.0 * rng.random()))
        with ctx.workprec(OneBit.precision(n)):
            one = one_of(q, p, n - 1, epsilon, noise)
            for _ in range(3):
                first, last = sorted(rng.sample(range(n), 2))
                inside = [one.of_dataset(m, n - 1 - m) for m in range(first, last + 1)]
                most = max(ends_of(ball).low for ball in inside)
                bound = one.by_chords(first, last)
                if bound is not None:
                    tried += 1
                    assert log_above(bound) >= most
                assert log_above(one.of_dataset(first, n - 1 - last)) >= most
    assert tried > 3


@pytest.mark.parametrize(("n", "eps0"), [(300, 2.0), (4000, 2.0), (10**5, 4.0), (10**7, 2.0)])
def test_chords_are_near_the_largest(n, eps0):
    """Of all data sets at once: within (eps/eps0)^2, and above those at random."""
    rng = random.Random(n)
    with ctx.workprec(OneBit.precision(n)):
        grow = arb(eps0).exp()
        epsilon = 5.0 * math.exp(0.5 * eps0) / math.sqrt(n)
        one = OneBit(Bit(arb(1), grow), Bit(grow, arb(1)), others=n - 1, epsilon=epsilon)
        low = ends_of(one.of_dataset(n - 1, 0)).low
        for _ in range(10):
            first = rng.randrange(n)
            last = min(n - 1, first + n // 8)
            bound = log_above(one.by_chords(first, last))
            for m in (first, rng.randint(first, last), last):
                found = ends_of(one.of_dataset(m, n - 1 - m))
                assert found.low <= bound
                assert bound <= found.high + 20.0 * epsilon
        found, _ = largest(one, width=1e-5)
        assert low <= found.high <= low + epsilon


@pytest.mark.parametrize("mutant", range(4))
def test_every_error_term_is_needed(mutant, monkeypatch):
    """F_j by a few points of any circle; without one of the three terms it is not enclosed."""
    whole = Sum.errors
    monkeypatch.setattr(
        Sum, "errors", lambda self, j: [x for i, x in enumerate(whole(self, j)) if i != mutant]
    )
    rng, wrong = random.Random(mutant), 0
    for _ in range(300):
        q, p = sorted(Fraction(x, 64) for x in rng.sample(range(1, 64), 2))
        n, epsilon = rng.randint(2, 12), 0.2 * rng.random()
        m, j, half = rng.randint(0, n - 1), rng.randint(0, n - 1), rng.randint(2, 8)
        law = exact.ones_law([p] * m + [q] * (n - 1 - m))
        truth = exact.tail(p, q, law, epsilon, j)
        with ctx.workprec(OneBit.precision(n)):
            one = one_of(q, p, n - 1, epsilon)
            if one.alpha > 0:
                circle = Circle(one, rng.uniform(0.05, 1.0), 2 * half)
                found = circle.sum((m, n - 1 - m), rng.uniform(0.1, 2.0), rng.randint(1, half))
                wrong += not found.value(j).contains(arb(str(truth)))
    assert (wrong > 0) is (mutant < 3)


# ------------------------------------------------------------------------------------ eps


def test_eps_of_both_ends():
    shares = [Fraction(1, 8), Fraction(5, 8)]
    kinds = (sd.BinaryRR(eps0=2.0), 300), (sd.Duchi(eps0=1.0), 50), (channel(shares), 70)
    for mechanism, n in (*kinds, (sd.KRR(k=2, eps0=4.0), 1000)):
        acc = sd.shuffle(mechanism, n)
        for delta in (1e-3, 1e-6, 1e-12):
            bound = acc.epsilon(delta=delta, analysis="binary-exact")
            assert bound.lower <= bound.upper <= bound.lower * (1.0 + 2e-6)
            assert acc.delta(epsilon=bound.upper, analysis="binary-exact").upper <= delta * (
                1.0 + 1e-5
            )
            assert acc.delta(epsilon=bound.lower, analysis="binary-exact").upper >= delta
            best = acc.epsilon(delta=delta)
            assert bound.lower <= best.upper
            assert best.lower <= bound.upper
            assert best.upper <= bound.upper * (1.0 + 1e-12)


@pytest.mark.many(4)
@pytest.mark.parametrize("seed", range(12))
def test_eps_of_random_channels_against_all_data_sets(seed):
    """At the upper end every data set is at most the target, at the lower one some is."""
    rng = random.Random(seed)
    q, p = sorted(Fraction(x, 64) for x in rng.sample(range(65), 2))
    n, delta = rng.randint(1, 8), 10.0 ** rng.uniform(-6.0, -0.3)
    curve, log = curve_of(channel([q, p]), n), math.log(delta)
    upper = upper_epsilon([curve], log, rtol=1e-6, cap=math.inf).high
    lower = lower_epsilon([curve], log, rtol=1e-6, cap=math.inf).low
    if math.isfinite(upper):
        assert exact.largest([q, p], n, upper) <= Decimal(delta)
        assert upper <= max(lower * (1.0 + 2e-6), 1e-11)
    else:
        # A bit tells the value so often that no eps is enough.
        assert exact.largest([q, p], n, 60.0) > Decimal(delta)
    if 0.0 < lower < 60.0:
        assert exact.largest([q, p], n, lower) >= Decimal(delta)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
def test_bits_that_are_known_hide_nobody(epsilon):
    """All data sets are alike, and the search need not look at each of them."""
    found = curve_of(channel([Fraction(0), Fraction(1)]), 30_000).log_delta(epsilon, width=1e-9)
    assert found.low <= 0.0 <= found.high
    assert found.width < 1e-14


def test_a_law_that_is_no_number_certifies_nothing():
    """A ball without a midpoint: the trivial ends, never a number."""
    unknown = Bits((0, 1), lambda _: Bit(arb.nan(), arb.nan()), mirrored=True)
    made = AllDataSets(sd.BinaryRR(eps0=1.0), 5)
    made.bits = unknown
    found = made.of_dataset(DataSet(0, 2), 0.3)
    assert found == (-math.inf, math.inf)
