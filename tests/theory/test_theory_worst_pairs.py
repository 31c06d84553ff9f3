"""Section 4 of docs/theory.md: worst pairs, through the call functions E(G - t)_+.

A finite law is larger in convex order iff the means agree and E(G - t)_+ is at least as large at
every t; both are piecewise linear, so the atoms of the two laws are all the t there are to check.
"""

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

F = Fraction


def merge(atoms):
    law = Counter()
    for g, w in atoms:
        law[g] += w
    return law


def call(law, t):
    return sum((w * (g - t) for g, w in law.items() if g > t), F(0))


def gain(rows, x0, x1, a):
    """Law of G under the extended blanket law; also the mass of (R_x0 - a R_x1)_+ off it."""
    B = [min(c) for c in zip(*rows, strict=True)]
    triples = list(zip(rows[x0], rows[x1], B, strict=True))
    law = merge([((p - a * q) / b, b) for p, q, b in triples if b] + [(F(0), 1 - sum(B))])
    return law, sum((max(p - a * q, F(0)) for p, q, b in triples if not b), F(0))


def blanket_bound(rows, x0, x1, a, n):
    law, extra = gain(rows, x0, x1, a)
    total = {F(0): F(1)}
    for _ in range(n):
        new = Counter()
        for s, p in total.items():
            for g, w in law.items():
                new[s + g] += p * w
        total = new
    return sum((p * s for s, p in total.items() if s > 0), F(0)) / n + extra


LEVELS = [F(1, 3), F(1), F(3, 2), F(4)]


def lattice_rows(f, N):
    """f[k] for k = 0..K is the mass at +-k; inputs 0..N."""
    K = len(f) - 1
    return [[f[abs(y - x)] if abs(y - x) <= K else F(0) for y in range(-K, N + K + 1)]
            for x in range(N + 1)]  # fmt: skip


def unimodal(rng, K, *, zero_tail):
    steps = sorted((F(rng.choice([1, 1, 2, 5, 13, 40])) for _ in range(K + 1)), reverse=True)
    if zero_tail:
        steps[-1] = F(0)
    total = steps[0] + 2 * sum(steps[1:])
    return [v / total for v in steps]


@pytest.mark.many(4)
@pytest.mark.parametrize("seed", range(12))
def test_lattice_noise_on_a_bounded_window(seed):
    """Theorem 4.8 and, for noise of bounded support, Theorem 4.6(r) to (t) (sections 4.3, 4.4).

    The blanket vanishes near the edges, so the last term of Theorem 3.1 takes part.
    """
    rng = random.Random(seed)
    N, K = rng.choice([(1, 3), (2, 3), (3, 4), (3, 2)])
    rows = lattice_rows(unimodal(rng, K, zero_tail=rng.random() < 0.3), N)
    for a in LEVELS:
        for n in (1, 2):
            ends = blanket_bound(rows, 0, N, a, n)
            assert ends == blanket_bound(rows, N, 0, a, n)
            for x0, x1 in product(range(N + 1), repeat=2):
                assert blanket_bound(rows, x0, x1, a, n) <= ends


def eta_of(kind, s):
    return {"gauss": s * s, "laplace": s, "root": math.sqrt(s), "1.5": s**1.5}[kind]


@pytest.mark.parametrize("kind", ["gauss", "laplace", "root", "1.5"])
def test_ball_pointwise(kind):
    """Theorem 4.10 (section 4.4): both reflections, two points at a time, in the plane."""
    rng = random.Random(3)

    def f(r):
        return math.exp(-3 * eta_of(kind, r))

    def pair_sum(P, Q, b, c, t):
        return sum(max(p - c * q - t * v, 0.0) for p, q, v in zip(P, Q, b, strict=True))

    def point(radius):
        angle = rng.uniform(0, 2 * math.pi)
        return complex(math.cos(angle), math.sin(angle)) * radius

    grew = 0
    for _ in range(4000):
        x0, x1 = point(rng.uniform(0, 0.5)), point(rng.uniform(0.01, 0.5))
        y, c, t = point(rng.uniform(0, 2)), rng.uniform(0, 3), rng.choice([0, 0.4, 1, 1.5, 3])
        e = x1 / abs(x1)
        for old, fixed, new, first in ((x0, x1, -e / 2, True), (x1, -e / 2, e / 2, False)):
            if abs(old - new) < 1e-6:
                continue
            axis = (new - old) / abs(new - old)
            mid = (new + old) / 2

            def flip(z, axis=axis, mid=mid):
                return z - 2 * ((z - mid) * axis.conjugate()).real * axis

            assert abs(flip(old) - new) < 1e-12
            points = (y, flip(y))
            b = [f(abs(z) + 0.5) for z in points]
            moved = [f(abs(z - old)) for z in points]
            kept = [f(abs(z - fixed)) for z in points]
            args = (moved, kept) if first else (kept, moved)
            turned = (moved[::-1], kept) if first else (kept, moved[::-1])
            before, after = pair_sum(*args, b, c, t), pair_sum(*turned, b, c, t)
            assert before <= after + 1e-12 * (1 + after)
            grew += after > before + 1e-6
    assert grew > 200
