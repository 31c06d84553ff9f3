"""Section 5 of docs/theory.md: decompositions, repaired variation ratio, clones, adaptive model.

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
from enumerated import of_replaced as exact

F = Fraction


def random_law(rng, k):
    parts = [rng.choice([1, 1, 2, 3, 7, 20]) for _ in range(k)]
    return [F(part, sum(parts)) for part in parts]


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


def blanket_atoms(R0, R1, B, a):
    atoms = [((p - a * q) / b, b) for p, q, b in zip(R0, R1, B, strict=True) if b]
    return [*atoms, (F(0), 1 - sum(B))]


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


@pytest.mark.parametrize("seed", range(30))
def test_decomposition_of_the_victims_laws(seed):
    """Lemma 5.3 (section 5.3): three identities, k0 >= 0, and the caps on the total variation."""
    rng = random.Random(seed)
    R0, R1 = random_law(rng, 4), random_law(rng, 4)
    b = variation(R0, R1)
    if b == 0:
        R1 = R1[::-1] if R1[::-1] != R1 else [F(1, 2), F(1, 6), F(1, 6), F(1, 6)]
        b = variation(R0, R1)
    p = max(ratio(R0, R1), ratio(R1, R0))
    al = b / (p - 1)
    k0 = 1 - (p + 1) * al
    assert b <= (p - 1) / (p + 1)
    Q0 = [max(x - y, F(0)) / b for x, y in zip(R0, R1, strict=True)]
    Q1 = [max(y - x, F(0)) / b for x, y in zip(R0, R1, strict=True)]
    rest = [x - p * al * c - al * d for x, c, d in zip(R0, Q0, Q1, strict=True)]
    assert min(rest) >= 0
    assert sum(rest) == k0
    for x, y, c, d, k in zip(R0, R1, Q0, Q1, rest, strict=True):
        assert y == al * c + p * al * d + k
        assert max(x, y) == p * al * (c + d) + k


def test_repaired_variation_ratio_is_attained():
    """Theorem 5.4 (section 5.3) at equality: no smaller bound of the same numbers is true.

    Labels as outputs: R_i = S + the rest on an output of its own.
    """
    p, beta, q = F(5), F(1, 2), F(6)
    al = beta / (p - 1)
    k0 = 1 - (p + 1) * al
    R0, R1 = [p * al, al, k0, F(0)], [al, p * al, k0, F(0)]
    other = [p * al / q, p * al / q, k0 / q, 1 - (1 + beta) / q]
    for n, a in product((2, 3, 4), (F(1), F(2), F(4))):
        assert exact(R0, R1, [other] * (n - 1), a) == bound(repaired(p, beta, q, a), n)


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


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_adaptive_bound_is_attained_by_binary_randomized_response(n):
    """Corollary 5.5 (section 5.3): 2-RR at every history, all others hold x0, a = 5/2."""
    E, a = F(4), F(5, 2)
    rr = {0: [E / (E + 1), 1 / (E + 1)], 1: [1 / (E + 1), E / (E + 1)]}
    tree = {h: rr for depth in range(n) for h in product(range(2), repeat=depth)}
    P, Q = (adaptive_law(tree, [x] + [0] * (n - 1)) for x in (0, 1))
    assert divergence(P, Q, a) == exact(rr[0], rr[1], [rr[0]] * (n - 1), a)
    assert divergence(P, Q, a) == bound(stronger_clone(E, a), n)


@pytest.mark.parametrize("seed", range(15))
def test_order_of_the_four_bounds(seed):
    """Theorem 5.7 (section 5.5): blanket, repaired VR, stronger clone, clone."""
    rng = random.Random(2000 + seed)
    rows = [random_law(rng, 3) for _ in range(3)]
    E = max(ratio(x, y) for x in rows for y in rows)
    if E == 1:
        pytest.fail("choose another seed: all rows are equal")
    beta = variation(rows[0], rows[1])
    B = [min(c) for c in zip(*rows, strict=True)]
    for n, a in product((1, 2, 3, 4), (1 / E, F(1), (1 + E) / 2, E)):
        chain = [
            bound(blanket_atoms(rows[0], rows[1], B, a), n),
            bound(repaired(E, beta, E, a), n),
            bound(stronger_clone(E, a), n),
            bound(standard_clone(E, a), n),
        ]
        assert chain == sorted(chain)


def test_different_alphabets_are_not_amplified():
    """Section 3.2 and scope of Theorem 5.4: the alphabet tells who sent a message."""
    E, a = F(3), F(3, 2)
    R0 = [E / (E + 1), 1 / (E + 1), F(0), F(0)]
    R1 = [1 / (E + 1), E / (E + 1), F(0), F(0)]
    other = [F(0), F(0), F(1, 2), F(1, 2)]
    assert exact(R0, R1, [other] * 3, a) == (E - a) / (E + 1) > bound(stronger_clone(E, a), 4)
