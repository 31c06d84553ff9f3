"""Sampling RAPPOR against all 2^d outputs and all s-subsets."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from laws import blanket_pair, law_of
from randomizers.checks import (
    columns,
    rational_exponential,
)
from randomizers.sources import LEAST_P_VALUE, fits


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
