"""Section 3.5 of docs/theory.md: what is cut off, in exact rational arithmetic."""

import random
from fractions import Fraction

import pytest

import enumerated

F = Fraction


def positive_part(atoms, n):
    """(1/n) E[sum of n copies]_+ of (value, probability)."""
    return enumerated.positive_part([(w, g) for g, w in atoms], n) / n


@pytest.mark.parametrize("seed", range(15))
def test_tails(seed):
    """Theorem 3.9 (section 3.5): main - a q_T <= truth <= main + p_T, whatever n is."""
    rng = random.Random(50 + seed)
    a = F(3, 2)
    k = 5
    p, q, r = ([F(rng.randint(1, 9)) for _ in range(k)] for _ in range(3))
    p, q, r = ([v / sum(x) for v in x] for x in (p, q, r))
    tail = {0, 4}
    full = [((p[y] - a * q[y]) / r[y], r[y]) for y in range(k)]
    cut = [(F(0) if y in tail else g, w) for y, (g, w) in enumerate(full)]
    up = sum(max(p[y] - a * q[y], F(0)) for y in tail)
    down = sum(max(a * q[y] - p[y], F(0)) for y in tail)
    assert up <= sum(p[y] for y in tail)
    assert down <= a * sum(q[y] for y in tail)
    for n in (1, 2, 4):
        main, true = positive_part(cut, n), positive_part(full, n)
        assert main - down <= true <= main + up


def test_zeroing_a_tail_alone_is_no_lower_bound():
    """Theorem 3.9 (section 3.5): G = +1 or -1; the -1 set to 0 raises E[S]_+/n from 1/4 to 1/2."""
    full = [(F(1), F(1, 2)), (F(-1), F(1, 2))]
    cut = [(F(1), F(1, 2)), (F(0), F(1, 2))]
    assert positive_part(full, 2) == F(1, 4)
    assert positive_part(cut, 2) == F(1, 2)
    assert positive_part(cut, 2) - F(1, 2) <= positive_part(full, 2)
