"""Sampling RAPPOR against all 2^d outputs and all s-subsets."""

import itertools
import math

import numpy as np
import pytest

import shuffledp as sd
from laws import blanket_pair, law_of
from randomizers.checks import (
    columns,
    rational_exponential,
)


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
