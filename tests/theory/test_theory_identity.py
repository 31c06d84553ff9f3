"""Sections 2 and 3 of docs/theory.md, by enumeration in exact rational arithmetic.

Nothing here uses the library: shuffled laws are formed message by message (``enumerated``).
"""

import random
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from enumerated import of_replaced as exact
from enumerated import positive_part

F = Fraction


def random_law(rng, k, *, zeros=False):
    """A random rational law on k outcomes; with zeros, each is empty with probability 0.4."""
    while True:
        parts = [0 if zeros and rng.random() < 0.4 else rng.randint(1, 9) for _ in range(k)]
        if sum(parts):
            return [F(part, sum(parts)) for part in parts]


def mean_positive_part(atoms, n):
    """(1/n) E[sum of n copies]_+, atoms = list of (value, probability)."""
    return positive_part([(w, g) for g, w in atoms], n) / n


def formula(A0, A1, ref, a, n, *, extra=True):
    """Right-hand side of Theorem 2.1; ref may have mass below one (left-over, Theorem 3.1)."""
    on = [y for y, w in enumerate(ref) if w]
    atoms = [((A0[y] - a * A1[y]) / ref[y], ref[y]) for y in on] + [(F(0), 1 - sum(ref))]
    lost = sum((max(A0[y] - a * A1[y], F(0)) for y, w in enumerate(ref) if not w), F(0))
    return mean_positive_part(atoms, n) + (lost if extra else 0)


def blanket(rows):
    return [min(column) for column in zip(*rows, strict=True)]


LEVELS = [F(1, 2), F(1), F(5, 4), F(2), F(7, 2)]


@pytest.mark.parametrize("seed", range(30))
def test_identity_with_mass_outside_the_reference(seed):
    """Theorem 2.1 (section 2.1): equality, both directions, with zeros in A2."""
    rng = random.Random(seed)
    k = rng.randint(2, 4)
    A0, A1, A2 = (random_law(rng, k, zeros=True) for _ in range(3))
    for n in (1, 2, 3):
        for a in LEVELS:
            assert exact(A0, A1, [A2] * (n - 1), a) == formula(A0, A1, A2, a, n)
            assert exact(A1, A0, [A2] * (n - 1), a) == formula(A1, A0, A2, a, n)


@pytest.mark.parametrize("seed", range(15))
def test_smaller_blankets_and_labels_are_weaker(seed):
    """Lemma 4.0, part 3: R_b = sum_l w_l Q_l with sum_l s_l Q_l <= B."""
    rng = random.Random(200 + seed)
    Q = [random_law(rng, 3) for _ in range(3)]
    w0, w1, s = random_law(rng, 3), random_law(rng, 3), [v / 2 for v in random_law(rng, 3)]

    def mix(weights):
        return [sum(w * q[y] for w, q in zip(weights, Q, strict=True)) for y in range(3)]

    rest = [random_law(rng, 3) for _ in range(2)]
    rows = [[m + r / 2 for m, r in zip(mix(s), row, strict=True)] for row in rest]
    B = blanket(rows)
    assert all(sum(row) == 1 for row in rows)
    for n, a in product((1, 2, 3), LEVELS):
        labels = formula(w0, w1, s, a, n)
        assert formula(mix(w0), mix(w1), B, a, n) <= labels
        assert exact(mix(w0), mix(w1), rows[: n - 1], a) <= labels


def test_equal_others_are_not_always_worst():
    """3-RR, n = 5: the worst data set has two of the others at x0 and two at the third input."""
    E, a = F(27182818, 10**7), F(18221188, 10**7)  # e^1 and e^0.6 to eight digits
    rows = [[(E if y == x else 1) / (E + 2) for y in range(3)] for x in range(3)]
    values = {
        pattern: exact(rows[0], rows[1], [rows[x] for x in pattern], a)
        for pattern in combinations_with_replacement(range(3), 4)
    }
    third = values[2, 2, 2, 2]
    assert max(values.values()) > max(third, values[0, 0, 0, 0], values[1, 1, 1, 1])
    assert abs(max(values.values()) - F(3431, 100000)) < F(1, 100000)
    bound = formula(rows[0], rows[1], blanket(rows), a, 5)
    assert abs(bound - F(3713, 100000)) < F(1, 100000)


@pytest.mark.parametrize("seed", range(10))
def test_divergence_falls_in_n_and_below_the_local_cap(seed):
    """Theorems 2.5, 2.6 and Corollary 2.7 (section 2.2)."""
    rng = random.Random(400 + seed)
    rows = [random_law(rng, 3) for _ in range(3)]
    atoms = [(F(rng.randint(-9, 9), 4), w) for w in random_law(rng, 4)]
    for a in LEVELS:
        fall = [mean_positive_part(atoms, n) for n in range(1, 6)]
        assert fall == sorted(fall, reverse=True)
        users = [exact(rows[0], rows[1], rows[1:n], a) for n in (1, 2, 3)]
        assert users == sorted(users, reverse=True)
        ratios = [p / q for c in zip(*rows, strict=True) for p in c for q in c]
        E = max(ratios)
        if 1 / E <= a <= E:
            assert users[0] <= (E - a) / (E + 1)
        if a >= E:
            assert users[0] == 0
