"""Sampling RAPPOR against all 2^d outputs and all s-subsets."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from enumerated import positive_part
from laws import blanket_pair, law_of
from randomizers.checks import (
    assert_bracket,
    assert_law,
    assert_private,
    columns,
    rational_exponential,
)
from randomizers.sources import LEAST_P_VALUE, fits

SIZES = [(2, 1), (3, 1), (4, 2), (5, 2), (6, 2), (7, 2), (4, 3), (5, 3), (7, 3)]


def rows_of(d, s, w):
    """All s-subsets, windows first; outputs in the order of itertools.product."""
    windows = [frozenset((i + j) % d for j in range(s)) for i in range(d)]
    sets = windows + [
        c for c in map(frozenset, itertools.combinations(range(d), s)) if c not in windows
    ]
    outputs = list(itertools.product((0, 1), repeat=d))
    single = []
    for x in range(d):
        keep = [(w if bit == (i == x) else 1) for y in outputs for i, bit in enumerate(y)]
        single.append([math.prod(keep[d * k : d * k + d]) / (w + 1) ** d for k in range(2**d)])
    return [[sum(single[x][k] for x in c) / s for k in range(2**d)] for c in sets], sets


@pytest.mark.many(8)
@pytest.mark.parametrize(("d", "s"), SIZES)
@pytest.mark.parametrize("eps0", [1e-3, 1.0, 4.0, 60.0])
def test_law_is_the_definition(d, s, eps0):
    w = rational_exponential(eps0 / 2)
    rows, _ = rows_of(d, s, w)
    assert all(sum(row) == 1 for row in rows)
    assert_private(rows, eps0, attained=2 * s <= d)
    randomizer = sd.SamplingRAPPOR(d=d, s=s, eps0=eps0)
    triples = [(0, 1, 2 % d), (d - 1, 0, 0), *randomizer.datasets(), (0, s % d), (s % d, 0)]
    for inputs in triples:
        law = law_of(randomizer, inputs)
        truth = list(columns(rows, inputs))
        if eps0 == 60.0:
            # Floats say the same of floors that no float can: totals only.
            assert law.blanket.sum() == pytest.approx(float(sum(b for b, _ in truth)), rel=1e-12)
        elif eps0 == 1e-3:
            assert law.blanket.sum() == pytest.approx(float(sum(b for b, _ in truth)), rel=1e-12)
            spread = float(sum(abs(m[0] - m[1]) for _, m in truth))
            assert np.abs(law.mass[0] - law.mass[1]).sum() == pytest.approx(spread, rel=1e-9)
        else:
            assert_law(law, truth)


@pytest.mark.parametrize("eps0", [0.5, 3.0])
def test_one_item_is_rappor(eps0):
    ours, theirs = sd.SamplingRAPPOR(d=9, s=1, eps0=eps0), sd.RAPPOR(d=9, eps0=eps0)
    for n in (10, 10_000):
        bound, other = (sd.shuffle(r, n=n).epsilon(delta=1e-5) for r in (ours, theirs))
        assert bound.upper == pytest.approx(other.upper, rel=1e-6)
        assert bound.lower == pytest.approx(other.lower, rel=1e-6)
    assert ours.support == theirs.support


@pytest.mark.parametrize(("d", "s"), [(4, 2), (5, 2), (5, 3), (4, 3)])
def test_sets_that_share_least_are_the_worst(d, s):
    rows, sets = rows_of(d, s, Fraction(3))
    alpha = Fraction(3, 2)
    worst = {}
    for x0, x1 in itertools.permutations(range(len(sets)), 2):
        gains = {}
        for floor, (p, q) in columns(rows, (x0, x1)):
            gain = Fraction(round((p - alpha * q) / floor * 10**6), 10**6)
            gains[gain] = gains.get(gain, 0) + floor
        value = float(positive_part([(b, g) for g, b in gains.items()], 2))
        shared = len(sets[x0] & sets[x1])
        worst[shared] = max(value, worst.get(shared, 0.0))
    order = [worst[k] for k in sorted(worst)]
    assert all(a > b for a, b in itertools.pairwise(order))
    ((x0, x1),) = sd.SamplingRAPPOR(d=d, s=s, eps0=2 * math.log(3)).worst_pairs().pairs
    assert len(sets[x0] & sets[x1]) == min(worst)


@pytest.mark.parametrize(("d", "s", "eps0"), [(3, 2, 1.0), (4, 2, 2.0)])
def test_bracket_by_enumeration(d, s, eps0):
    rows, sets = rows_of(d, s, rational_exponential(eps0 / 2))
    # Outputs with equal rows under all inputs are one.
    merged = {}
    for column in zip(*rows, strict=True):
        merged[column] = merged.get(column, 0) + 1
    rows = [[c[x] * times for c, times in merged.items()] for x in range(len(sets))]
    assert_bracket(sd.SamplingRAPPOR(d=d, s=s, eps0=eps0), rows, (1, 2), (0.0, 0.3, 0.9))


def test_total_variation_of_disjoint_sets():
    """((w - 1/w)/s) E[(A - A')_+] with A, A' ~ Bin(s, 1/(w + 1))."""
    for s, eps0 in ((3, 1.0), (8, 4.0), (20, 2.0)):
        w = math.exp(eps0 / 2)
        p = [math.comb(s, k) * w ** (s - k) / (w + 1) ** s for k in range(s + 1)]
        gap = sum(p[a] * p[b] * max(a - b, 0) for a in range(s + 1) for b in range(s + 1))
        law = law_of(sd.SamplingRAPPOR(d=10**6, s=s, eps0=eps0), (0, s))
        found = np.maximum(law.mass[0] - law.mass[1], 0.0).sum()
        assert found == pytest.approx((w - 1 / w) / s * gap, rel=1e-10)
        assert (law.blanket > 0.0).sum() == (s + 1) ** 2
        assert law.blanket.sum() == pytest.approx(1 / w, rel=1e-12)


def test_blanket_is_never_more_than_exact_and_next_to_it():
    """Rare outputs with few zeros may be given the smaller blanket."""
    rows, _ = rows_of(9, 3, rational_exponential(2.0))
    law = law_of(sd.SamplingRAPPOR(d=9, s=3, eps0=4.0), (0, 3))
    exact = float(sum(b for b, _ in columns(rows, (0, 3))))
    assert law.blanket.sum() == pytest.approx(exact, rel=1e-12)
    for d in (12, 40, 190, 260, 10**9):
        wide = sd.SamplingRAPPOR(d=d, s=5, eps0=4.0)
        pair = blanket_pair(wide, 0, 5, n=10)
        assert pair.w.sum() >= math.exp(-2.0) * (1 - 1e-12)
        assert pair.w @ pair.a == pytest.approx(1.0, rel=1e-12)


def test_large_sets():
    law = sd.SamplingRAPPOR(d=1000, s=100, eps0=3.0)
    bound = sd.shuffle(law, n=10_000, rtol=1e-3).epsilon(delta=1e-6)
    one = sd.shuffle(sd.RAPPOR(d=1000, eps0=3.0), n=10_000).epsilon(delta=1e-6)
    assert 0 < bound.lower <= bound.upper < 0.3 * one.lower


@pytest.mark.parametrize(("d", "s", "eps0"), [(5, 2, 1.0), (6, 3, 4.0)])
def test_sampler(d, s, eps0):
    randomizer = sd.SamplingRAPPOR(d=d, s=s, eps0=eps0)
    rows, sets = rows_of(d, s, math.exp(eps0 / 2))
    value = sorted(sets[1])
    reports = randomizer.simulate(np.tile(value, (100_000, 1)), seed=5)
    bits = np.unpackbits(reports, axis=1, count=d)
    seen = np.bincount(bits @ (1 << np.arange(d)[::-1]), minlength=2**d)
    assert fits(seen, rows[1]) > LEAST_P_VALUE
    assert fits(seen, rows[2]) < LEAST_P_VALUE


@pytest.mark.parametrize(("d", "s"), [(3, 1), (4, 2), (5, 3)])
@pytest.mark.parametrize("w", [Fraction(11, 10), Fraction(5), Fraction(400)])
def test_unbiased_and_variance(d, s, w):
    """Over all outputs, in rational arithmetic."""
    rows, sets = rows_of(d, s, w)
    randomizer = sd.SamplingRAPPOR(d=d, s=s, eps0=2 * math.log(float(w)))
    outputs = list(itertools.product((0, 1), repeat=d))
    gap = (w - 1) / (s * (w + 1))
    for row, held in zip(rows, sets, strict=True):
        for item in range(d):
            p = sum(q for q, y in zip(row, outputs, strict=True) if y[item])
            assert (p - 1 / (w + 1)) / gap == (item in held)
            spread = p * (1 - p) / gap**2
            found = randomizer.variance(float(item in held))
            assert found == pytest.approx(float(spread), rel=1e-10)
    reports = np.packbits(np.array(outputs, dtype=np.uint8), axis=1)
    found = randomizer.estimate(reports)
    share = np.array(outputs).mean(axis=0)
    assert np.allclose(found.frequencies, (share - float(1 / (w + 1))) / float(gap))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"d": 5, "s": 5, "eps0": 1.0}, "s = 5"),
        ({"d": 5, "s": 0, "eps0": 1.0}, "s = 0"),
        ({"d": 500, "s": 101, "eps0": 1.0}, "s = 101"),
        ({"d": 500, "s": 50, "eps0": 20.0}, "eps0 = 20.0"),
        ({"d": 5, "s": 2, "eps0": -1.0}, "eps0"),
    ],
)
def test_bad_parameters(arguments, name):
    with pytest.raises(sd.ParameterError, match=name):
        sd.SamplingRAPPOR(**arguments)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 1], "values shape"),
        ([[0, 1, 2]], "values shape"),
        ([[0, 1], [2, 2]], r"values\[1\] = \[2, 2\]: wanted 2 different items"),
        ([[0, 5]], "row by row.* = 5"),
        ([[0.5, 1]], "row by row.* = 0.5"),
    ],
)
def test_bad_values(values, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.SamplingRAPPOR(d=5, s=2, eps0=1.0).randomize(values)
