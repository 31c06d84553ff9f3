"""Joint reports of many attributes: merged classes, exact while they fit, certified after."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from divergence.oracle import (
    assert_inside,
    ball,
    exponential,
    positive_part,
    positive_part_on_lattice,
)
from shuffledp.divergence import PairProfile
from shuffledp.numerics.combining import product
from shuffledp.numerics.merging import as_cells, merged_near, merged_to
from shuffledp.reductions import blanket_pair, from_parts
from strategies import exact_pair

EXACT = settings(max_examples=25)
EPSILONS = st.sampled_from([0.0, 0.05, 0.4, 1.3])


# ------------------------------------------------------------------------- many attributes


def test_fifty_binary_attributes_are_fifty_one_classes():
    eps0, d = 0.3, 50
    joint = sd.Joint([sd.BinaryRR(eps0=eps0)] * d)
    law = joint.law(((0,) * d, (1,) * d))
    assert law.blanket.size == d + 1
    grow = arb(eps0).exp()
    for mass, blanket in zip(law.mass.T, law.blanket, strict=True):
        kept = round((d + math.log(mass[0] / mass[1]) / eps0) / 2)
        for value, power in ((mass[0], kept), (mass[1], d - kept), (blanket, 0)):
            exact = math.comb(d, kept) * grow**power / (grow + 1) ** d
            assert abs(ball(float(value)) - exact) <= ball(law.rel) * exact
    pair = blanket_pair(joint, (0,) * d, (1,) * d, n=1000)
    assert pair.w.size == d + 1
    assert pair.ranges is None
    assert pair.rel < 1e-11


def test_a_part_that_tells_all_beside_noise():
    """Every output of the first part names its input: no cell of the noise was left, in ranges."""
    plain = sd.Channel(matrix=[[1.0, 0.0], [0.0, 1.0]])
    for joint in (sd.Joint([plain, sd.Laplace(eps0=1.0)]), sd.Joint([plain, plain])):
        bound = sd.shuffle(joint, n=5).delta(epsilon=1.0)
        assert 1.0 - 1e-7 <= bound.lower <= 1.0 <= bound.upper


def test_fifty_categories_merge_to_counts():
    part = sd.KRR(k=5, eps0=0.3)
    pair = blanket_pair(sd.Joint([part] * 50), (0,) * 50, (1,) * 50, n=10)
    assert pair.w.size == math.comb(52, 2)
    assert pair.ranges is None


def test_too_many_classes_for_a_law_but_not_for_the_accountant():
    parts = [sd.KRR(k=4, eps0=0.1 + 0.01 * math.sqrt(j + 2)) for j in range(12)]
    joint = sd.Joint(parts)
    with pytest.raises(sd.NotCertified, match="262,144 classes"):
        joint.law(((0,) * 12, (1,) * 12))
    bound = sd.shuffle(joint, n=10_000).epsilon(delta=1e-6, analysis="blanket")
    assert bound.upper_width < 1e-3
    assert bound.upper < 0.3


@pytest.mark.many(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("most", [12, 100])
def test_merged_cells_bracket_the_exact_divergence(seed, most):
    """Merging is rounding that keeps its books: the truth of the ATOMS stays inside."""
    rng = random.Random(100 * seed + most)
    pair, atoms = exact_pair(rng, atoms=150, n=5, gamma=0.7, bits=6)
    lost = [1 - sum(atom[0] * atom[k] for atom in atoms) for k in (1, 2)]
    merged = merged_to(pair, most)
    assert merged.w.size <= most
    assert merged.ranges is not None
    for n, alpha in (
        (1, Fraction(1)),
        (2, Fraction(5, 4)),
        (5, Fraction(9, 8)),
        (12, Fraction(17, 16)),
    ):
        gains = [(w, a - alpha * b) for w, a, b in atoms]
        truth = positive_part_on_lattice(gains, n) / n + max(lost[0] - alpha * lost[1], Fraction(0))
        log = math.log(alpha)
        for case in (merged, as_cells(pair)):
            profile = PairProfile(case.with_n(n))
            # delta falls in eps, and e^eps is not the rational: one neighbour for each end.
            above = profile.log_delta(math.nextafter(log, math.inf) if log else 0.0, width=1e-4)
            below = profile.log_delta(math.nextafter(log, 0.0), width=1e-4)
            assert arb(above.low) <= ball(truth).log() <= arb(below.high)


@pytest.mark.parametrize("seed", range(8))
def test_moments_of_merged_cells_hold_the_exact_ones(seed):
    """Mean, range, variance and covariance of every cell, by fractions, after two mergings."""
    rng = random.Random(seed)
    first, atoms = exact_pair(rng, atoms=30, n=3, gamma=0.8, bits=5)
    second, more = exact_pair(rng, atoms=20, n=3, gamma=0.9, bits=5)
    pair = merged_to(product(merged_to(first, 9), second), 40)
    exact = [(w * v, a * c, b * d) for w, a, b in atoms for v, c, d in more]
    ranges, inner = pair.ranges, pair.ranges.moments
    # Over all cells together the moments add up to those of the atoms.
    for name, one, two in (("a", 1, 1), ("b", 2, 2), ("both", 1, 2)):
        truth = sum(atom[0] * atom[one] * atom[two] for atom in exact)
        left, right = (pair.a, pair.b)[one - 1], (pair.a, pair.b)[two - 1]
        parts = pair.w * left * right
        slack = float((parts * inner.doubt).sum()) + 1e-12 * float(parts.sum())
        found = math.fsum(parts * (1.0 + getattr(inner, name)))
        assert abs(found - float(truth)) <= slack
    for name in ("a", "b"):
        mean = getattr(pair, name)
        low, high = getattr(ranges, f"{name}_low"), getattr(ranges, f"{name}_high")
        assert (low <= mean).all()
        assert (mean <= high).all()
        # Bhatia and Davis: variance <= (high - mean)(mean - low).
        most = (high - mean) * (mean - low)
        variance = getattr(inner, name) * mean**2
        assert (variance <= most + inner.doubt * mean**2 + 1e-12).all()
    assert float((pair.w * (pair.a + pair.b) * inner.doubt).sum()) < 1e-9


@pytest.mark.parametrize("most", [1000, 2000])
def test_merging_on_the_way_keeps_the_truth_inside(most, monkeypatch):
    """Eight parts, merged several times on the way, against all 3^8 atoms."""
    monkeypatch.setattr(from_parts, "_LARGEST_PRODUCT", 4096)
    n = 2000
    pairs = [blanket_pair(sd.KRR(k=6, eps0=0.2 + 0.11 * j), 0, 1, n=n) for j in range(8)]
    merged = from_parts.joint_pair(pairs, most=most)
    monkeypatch.undo()
    exact = from_parts.joint_pair(pairs, most=1 << 16)
    assert exact.ranges is None
    assert merged.ranges is not None
    assert merged.w.size <= most
    for epsilon in (0.05, 0.3, 1.0):
        one = PairProfile(exact).log_delta(epsilon, width=1e-6)
        two = PairProfile(merged).log_delta(epsilon, width=1e-4)
        assert one.width < 1e-2
        assert two.low <= one.high
        assert one.low <= two.high
        assert two.width < (0.1 if epsilon < 0.1 else math.inf)


def test_near_ratios_are_added_up_and_counted_in_rel():
    w, a = np.full(4, 0.25), np.array([1.0, 1.0 + 3e-13, 0.5, 1.5 - 3e-13])
    pair = sd.ShuffledPair(w=w, a=a, b=a[::-1].copy()[[0, 0, 3, 2]] * 0 + a, n=2, leftover=(0, 0))
    near = merged_near(pair)
    assert near.w.size == 3
    assert near.rel >= 3e-13
    assert math.fsum(near.w) == 1.0


@EXACT
@given(st.integers(0, 10**6), st.integers(1, 6), EPSILONS)
def test_products_with_cells_and_outside(seed, n, epsilon):
    """A product of exact pairs, outside mass included, as atoms and as cells: one number."""
    rng = random.Random(seed)
    first, one = exact_pair(rng, atoms=4, n=n, gamma=0.8, bits=5)
    second, two = exact_pair(rng, atoms=3, n=n, gamma=0.9, bits=5)
    low, high = exponential(epsilon)
    atoms = [(w * v, a * c, b * d) for w, a, b in one for v, c, d in two]
    lost = [[1 - sum(x[0] * x[k] for x in part) for k in (1, 2)] for part in (one, two)]
    outside = [(lost[0][0] * v * c, lost[0][1] * v * d) for v, c, d in two]
    outside += [(w * a * lost[1][0], w * b * lost[1][1]) for w, a, b in one]
    outside += [(lost[0][0] * lost[1][0], lost[0][1] * lost[1][1])]
    truth = []
    for alpha in (high, low):
        gains = [(w, a - alpha * b) for w, a, b in atoms]
        seen = sum(max(p - alpha * q, Fraction(0)) for p, q in outside)
        truth.append(positive_part(gains, n) / n + seen if n <= 3 else None)
    for made in (product(first, second), product(as_cells(first), second)):
        found = PairProfile(made).log_delta(epsilon, width=1e-3)
        if n <= 3:
            assert_inside(found, *truth)
