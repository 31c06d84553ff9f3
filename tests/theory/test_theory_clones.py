"""Section 5 of docs/theory.md: clones and the repaired bound in the adaptive model.

Exact rational arithmetic; shuffled and adaptive laws are enumerated message by message.
"""

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest

import shuffledp as sd
from enumerated import divergence, positive_part

F = Fraction


def bound(atoms, n):
    """(1/n) E[sum of n copies]_+ of (value, probability)."""
    return positive_part([(w, g) for g, w in atoms], n) / n


def repaired(p, beta, q, a):
    """Atoms (value, probability) of Theorem 5.4; p = None is infinity."""
    if p is None:
        beta = min(beta, q - 1)
        atoms = [(q, beta / q), (-q * a, beta / q), (q * (1 - a), (1 - beta) / q)]
    else:
        beta = min(beta, q - 1, (p - 1) / (p + 1))
        al = beta / (p - 1)
        k0 = 1 - (p + 1) * al
        r = al * p / q
        atoms = [(q * (p - a) / p, r), (q * (1 - a * p) / p, r), (q * (1 - a), k0 / q)]
    return [*atoms, (F(0), 1 - (1 + beta) / q)]


def stronger_clone(E, a):
    return [(E - a, 1 / (E + 1)), (1 - a * E, 1 / (E + 1)), (F(0), (E - 1) / (E + 1))]


def standard_clone(E, a):
    c = 2 * E / (E + 1)
    return [(c * (E - a), 1 / (2 * E)), (c * (1 - a * E), 1 / (2 * E)), (F(0), 1 - 1 / E)]


def ratio(P, Q):
    return max(p / q for p, q in zip(P, Q, strict=True))


def variation(P, Q):
    return sum((abs(p - q) for p, q in zip(P, Q, strict=True)), F(0)) / 2


def parameters(R0, R1, others):
    """Smallest p, beta, q of assumption (VR)."""
    p = max(ratio(R0, R1), ratio(R1, R0))
    top = [max(c) for c in zip(R0, R1, strict=True)]
    return p, variation(R0, R1), max(ratio(top, row) for row in others)


def mean(atoms):
    assert sum(w for _, w in atoms) == 1
    assert all(w >= 0 for _, w in atoms)
    return sum(g * w for g, w in atoms)


def adaptive_law(tree, inputs):
    """Law of (y_1, .., y_n): tree[h][x] is the law of the next message after history h."""
    n = len(inputs)
    law = Counter()
    orders = list(permutations(range(n)))
    for order in orders:
        for y in product(range(2), repeat=n):
            p = F(1, len(orders))
            for i, user in enumerate(order):
                p *= tree[y[:i]][inputs[user]][y[i]]
            law[y] += p
    return law


def random_tree(rng, n, inputs, E, *, extreme):
    """Binary-output randomizers, eps0-LDP at every history: all rows within a factor E."""
    tree = {}
    for depth in range(n):
        for h in product(range(2), repeat=depth):
            rows = {}
            low = rng.choice([1 / (E + 1), F(rng.randint(1, 9), 30)])
            high = min(E * low, 1 - (1 - low) / E)  # the largest second law within a factor E
            for x in inputs:
                t = F(rng.randint(0, 1)) if extreme else F(rng.randint(0, 4), 4)
                head = low + t * (high - low)
                rows[x] = [head, 1 - head]
            if rng.random() < 0.5:
                rows = {x: row[::-1] for x, row in rows.items()}
            tree[h] = rows
    return tree


@pytest.mark.parametrize("n", [2, 3])
def test_adaptive_stronger_clone_and_repaired_bound(n):
    """Theorems 5.2 and 5.4, scope 3, Corollary 5.5 (sections 5.2, 5.3): shuffle, then randomize."""
    rng = random.Random(42 + n)
    inputs = list(range(n + 1))  # victim 0 or 1, the others hold 2, ..
    E, best = F(4), F(0)
    # The library's own end, at levels a little below those of the enumeration.
    account = sd.generic(eps0=math.log(4.0) * (1 + 1e-15), n=n, adaptive=True)
    levels = (F(1), F(3, 2), F(5, 2))
    ends = {a: F(account.delta(epsilon=math.log(a) * (1 - 1e-15)).upper) for a in levels}
    for trial in range(150 if n == 2 else 60):
        tree = random_tree(rng, n, inputs, E, extreme=trial % 2 == 0)
        nodes = [
            parameters(rows[0], rows[1], [rows[x] for x in inputs[2:]]) for rows in tree.values()
        ]
        p, beta, q = (max(v) for v in zip(*nodes, strict=True))
        assert p <= E
        assert q <= E
        P = adaptive_law(tree, [0, *inputs[2:]])
        Q = adaptive_law(tree, [1, *inputs[2:]])
        for a in levels:
            true = max(divergence(P, Q, a), divergence(Q, P, a))
            assert true <= ends[a]
            clone = bound(stronger_clone(E, a), n)
            assert true <= clone <= bound(standard_clone(E, a), n)
            if p > 1 and a <= p:
                assert true <= bound(repaired(p, beta, q, a), n) <= clone
            best = max(best, true / clone)
    assert best > F(4, 5), "the search must come near the bound to mean anything"
