"""Both ends of one-bit mechanisms against all data sets, in numbers of 60 digits."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from binary import exact
from shuffledp.binary.crowd import Problem, _steps, divergence
from shuffledp.binary.curve import Curve, problem
from shuffledp.binary.search import largest
from shuffledp.errors import NotCertified, ParameterError

UNIT = 1 << 20


def dyadic(rng, *, zeros=True):
    """A probability that is a float exactly, and so is the rest; sometimes 0 or 1."""
    if zeros and rng.random() < 0.1:
        return Fraction(rng.randint(0, 1))
    scale = 1 << rng.choice((3, 10, 20))
    return Fraction(rng.randint(1, scale - 1), scale)


def channel(shares):
    return sd.Channel(matrix=[(float(1 - share), float(share)) for share in shares])


def holds(curve, epsilon, worst, rtol=1e-6, width=1e-5):
    """lower <= exact <= upper, and close to one another."""
    found = curve.point(epsilon, rtol=rtol)
    log = exact.log(worst)
    assert Decimal(found.log_low) <= log <= Decimal(found.log_high)
    if worst > Decimal("1e-250"):
        assert found.log_high - found.log_low <= width
    return found


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.long] * (s >= 20)) for s in range(300)]
)
def test_all_datasets_and_pairs_of_random_channels(seed):
    """Two to four inputs, every multiset of the others' inputs, both orders, n <= 6."""
    rng = random.Random(seed)
    shares = [dyadic(rng) for _ in range(rng.randint(2, 4))]
    if len(set(shares)) < 2:
        shares = [Fraction(1, 8), Fraction(5, 8)]
    n = rng.randint(1, 6)
    curve = Curve(channel(shares).bits(), n)
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
    curve = Curve(channel([q, p]).bits(), n)
    laws = [exact.ones_law([p] * m + [q] * (n - 1 - m)) for m in range(n)]
    for epsilon in (rng.choice((0.4, 1.5)) * rng.random(),):
        worst = max(
            exact.divergence(v0, v1, law, epsilon) for law in laws for v0, v1 in ((p, q), (q, p))
        )
        found = holds(curve, epsilon, worst)
        counts = dict(found.others)
        assert sum(counts.values()) == n - 1


@pytest.mark.parametrize("seed", range(25))
def test_one_divergence_is_bracketed_to_rounding(seed):
    rng = random.Random(seed)
    q, p = sorted((dyadic(rng), dyadic(rng)))
    if p == q:
        p, q = Fraction(7, 8), Fraction(1, 4)
    n = rng.randint(1, 45)
    bits = channel([q, p]).bits()
    for way, (v0, v1) in ((bits, (p, q)), (bits.flipped(), (q, p))):
        for epsilon in (0.0, rng.random(), 3.0 * rng.random()):
            high = rng.randint(0, n - 1)
            law = exact.ones_law([v0] * high + [v1] * (n - 1 - high))
            log = exact.log(exact.divergence(v0, v1, law, epsilon))
            asked = problem(way, epsilon, outer=True)
            if asked is None:
                assert log == Decimal("-Infinity")
                continue
            found = divergence(asked, high, n - 1 - high)
            inner = problem(way, epsilon, outer=False)
            low = -math.inf if inner is None else divergence(inner, high, n - 1 - high).log_low
            assert Decimal(low) <= log <= Decimal(found.log_high)
            if log > -400 and math.exp(epsilon) * float(v1) < 0.99 * float(v0):
                assert found.log_high - low < 1e-9


def test_irrational_odds_are_rounded_apart_and_together():
    """e^eps0 is no float: upper ends hold for both neighbours, lower ends too."""
    bits = sd.BinaryRR(eps0=1.3).bits()
    low, high = bits.odds_high
    assert Decimal(low) < exact.grow(1.3) < Decimal(high)
    low, high = bits.odds_low
    assert Decimal(low) < exact.grow(-1.3) < Decimal(high)
    wide, narrow = problem(bits, 0.2, outer=True), problem(bits, 0.2, outer=False)
    assert wide.odds_high > narrow.odds_high
    assert wide.odds_low < narrow.odds_low
    assert wide.alpha[1] > narrow.alpha[0]
    flipped = bits.flipped()
    assert flipped.odds_high[0] <= float(exact.grow(1.3)) <= flipped.odds_high[1]


def test_intervals_bound_all_counts_in_them():
    """Theorem 3.1: those who are left out only hide."""
    asked = problem(sd.BinaryRR(eps0=2.0).bits(), 0.3, outer=True)
    inside = [divergence(asked, m, 199 - m).log_low for m in range(50, 61)]
    assert max(inside) <= divergence(asked, 50, 139).log_high


def test_the_worst_count_need_not_be_an_end():
    asked = problem(sd.BinaryRR(eps0=2.0).bits(), 0.32332, outer=True)
    found = largest(asked, 999, width=1e-9)
    assert found.high == 997
    ends = max(divergence(asked, m, 999 - m).log_high for m in (0, 999))
    assert found.log_low > ends + 1e-4


def test_work_is_bounded_and_what_is_known_is_returned(monkeypatch):
    monkeypatch.setattr("shuffledp.binary.search.MOST_EVALUATIONS", 30)
    asked = problem(sd.BinaryRR(eps0=2.0).bits(), 0.02, outer=True)
    found = largest(asked, 99_999, width=1e-9)
    assert found.evaluations < 40
    exact_one = largest(asked, 99_999, width=1e-2)
    assert found.log_low <= exact_one.log_high
    assert found.log_high >= exact_one.log_low
    assert found.log_high > found.log_low + 1e-3


def test_eps_of_both_ends():
    shares = [Fraction(1, 8), Fraction(5, 8)]
    kinds = (sd.BinaryRR(eps0=2.0), 300), (sd.Duchi(eps0=1.0), 50), (channel(shares), 70)
    for mechanism, n in (*kinds, (sd.KRR(k=2, eps0=4.0), 1000)):
        acc = sd.shuffle(mechanism, n)
        for delta in (1e-3, 1e-6, 1e-12):
            bound = acc.epsilon(delta=delta, analysis="binary-exact")
            assert bound.lower <= bound.upper <= bound.lower * (1.0 + 2e-6)
            assert acc.delta(epsilon=bound.upper, analysis="binary-exact").upper <= delta
            assert acc.delta(epsilon=bound.lower, analysis="binary-exact").upper >= delta
            best = acc.epsilon(delta=delta)
            assert bound.lower <= best.upper
            assert best.lower <= bound.upper
            assert best.upper <= bound.upper * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("n", "eps0"),
    [(3000, 2.0), (20_000, 4.0), pytest.param(10**6, 4.0, marks=pytest.mark.long)],
)
def test_between_the_other_analyses_ends(n, eps0):
    acc = sd.shuffle(sd.BinaryRR(eps0=eps0), n, rtol=1e-5)
    for delta in (1e-6, 1e-10):
        found = acc.epsilon(delta=delta, analysis="binary-exact")
        assert found.lower <= acc.epsilon(delta=delta, analysis="label-stealing").upper
        assert found.lower <= acc.epsilon(delta=delta, analysis="blanket").upper
        assert acc.epsilon(delta=delta, analysis="dataset").lower <= found.upper
        assert found.upper <= found.lower * (1.0 + 2e-5)


def test_who_has_it():
    same = sd.Channel(matrix=[(0.25, 0.75), (0.25, 0.75)])
    three = sd.Channel(matrix=[(0.2, 0.3, 0.5), (0.5, 0.2, 0.3)])
    others = (sd.KRR(k=3, eps0=1.0), sd.RAPPOR(d=2, eps0=1.0), sd.Laplace(eps0=1.0))
    for mechanism in (three, same, *others):
        assert mechanism.bits() is None
        with pytest.raises(NotCertified, match="two outputs"):
            sd.shuffle(mechanism, 10).epsilon(delta=1e-3, analysis="binary-exact")
    with pytest.raises(NotCertified, match="1,000,000"):
        sd.shuffle(sd.BinaryRR(eps0=1.0), 10**7).epsilon(delta=1e-3, analysis="binary-exact")
    with pytest.raises(NotCertified):
        sd.generic(eps0=1.0, n=10).epsilon(delta=1e-3, analysis="binary-exact")
    with pytest.raises(ParameterError, match="binary-exact"):
        sd.shuffle(sd.BinaryRR(eps0=1.0), 10).epsilon(delta=1e-3, analysis="binary")
    binary = sd.Extremal.binary(inputs=5, subset=[1, 3], eps0=1.2)
    assert (binary.bits().low, binary.bits().high) == (0, 1)
    wide = sd.Channel(matrix=[(0.0, 0.3, 0.0, 0.7), (0.0, 0.5, 0.0, 0.5)])
    assert (wide.bits().low, wide.bits().high) == (1, 0)


def test_trust_and_default():
    """Proved here: published theorems alone leave the upper end out, not the lower one."""
    few = sd.shuffle(sd.BinaryRR(eps0=4.0), 1000)
    found = few.epsilon(delta=1e-6)
    assert found.upper_theorem.key == "binary-exact"
    assert found.lower_theorem.key == "binary-exact-lower"
    assert found.upper <= found.lower * (1.0 + 2e-6)
    published = sd.shuffle(sd.BinaryRR(eps0=4.0), 1000, trust="published").epsilon(delta=1e-6)
    assert published.upper_theorem.key == "blanket"
    assert published.upper > 1.05 * found.upper
    assert published.lower == found.lower
    many = sd.shuffle(sd.BinaryRR(eps0=1.0), 10**5).epsilon(delta=1e-6)
    assert many.upper_theorem.key == "label-stealing"


def test_deltas_far_below_floats_and_ends_of_the_range():
    acc = sd.shuffle(sd.BinaryRR(eps0=1.0), 2000)
    deep = acc.delta(epsilon=0.95, analysis="binary-exact")
    assert deep.log_upper < -400
    assert deep.log_lower <= deep.log_upper <= deep.log_lower + 1e-4
    for eps0 in (1e-6, 30.0, 300.0):
        found = sd.shuffle(sd.BinaryRR(eps0=eps0), 20).epsilon(delta=1e-9, analysis="binary-exact")
        assert 0.0 <= found.lower <= found.upper <= eps0
    seen = sd.shuffle(sd.Channel(matrix=[(1.0, 0.0), (0.25, 0.75)]), 5)
    assert seen.delta(epsilon=800.0, analysis="binary-exact").upper >= 0.75
    assert seen.epsilon(delta=0.5, analysis="binary-exact").upper == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_steps_are_bounded_for_every_alpha_of_the_interval(seed):
    """h falls in alpha where P(k) > P(k - 1), and rises elsewhere: either end may be the one."""
    rng = random.Random(seed)
    for _ in range(40):
        middle, width = rng.uniform(-0.5, 1.0), rng.choice([1e-15, 1e-3, 0.5])
        alpha = (middle - width, max(middle + width, 1e-9))
        b = rng.uniform(0.0, 2.0)
        mass = np.array([rng.random() for _ in range(6)])
        low, high = mass * (1.0 - 1e-6), mass * (1.0 + 1e-6)
        problem = Problem(1.0, 0.5, alpha, (b * (1.0 - 1e-9), b))
        bottom, top = _steps(problem, low, high)
        for _ in range(20):
            a = rng.choice([*alpha, rng.uniform(*alpha)])
            at = np.array([rng.uniform(x, y) for x, y in zip(low, high, strict=True)])
            h = a * at[:-1] - (a + b) * at[1:]
            assert bool((bottom <= h).all())
            assert bool((h <= top).all())
