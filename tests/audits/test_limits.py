"""p-values and limits: their level by enumeration, their numbers against exact arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.audits import limits


def weights(n, p):
    """P(Bin(n, p) = k) as whole numbers over one denominator, exactly."""
    a, b = Fraction(p).as_integer_ratio()
    return [math.comb(n, k) * a**k * (b - a) ** (n - k) for k in range(n + 1)], b**n


def exact_upper(count, n, p):
    parts, total = weights(n, p)
    return Fraction(sum(parts[max(count, 0) :]), total)


@given(st.integers(1, 40), st.data())
def test_tails_are_at_least_the_exact_ones_and_next_to_them(n, data):
    count = data.draw(st.integers(-1, n + 1))
    p = data.draw(st.floats(0.0, 1.0))
    upper, lower = exact_upper(count, n, p), 1 - exact_upper(count + 1, n, p)
    for found, exact in (
        (limits.upper_tail(count, n, p), upper),
        (limits.lower_tail(count, n, p), lower),
    ):
        assert exact <= Fraction(found)
        assert found <= max(float(exact) * (1 + 1e-8), 1e-300)


@pytest.mark.parametrize("p", [0.003, 0.1, 0.37, 0.5, 0.93])
@pytest.mark.parametrize("n", [5, 17, 40])
def test_p_values_have_their_level(n, p):
    law, total = weights(n, p)
    found = [limits.two_sided(k, n, p, p) for k in range(n + 1)]
    for level in sorted(set(found)):
        reached = sum(w for w, v in zip(law, found, strict=True) if v <= level)
        assert reached <= Fraction(level) * total


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize("n", [3, 20, 50])
def test_limits_cover_for_every_probability(n, alpha):
    low = [limits.lower_limit(k, n, alpha) for k in range(n + 1)]
    high = [limits.upper_limit(k, n, alpha) for k in range(n + 1)]
    places = [*low, *high, *(x + 1e-12 for x in low), *(max(x - 1e-12, 0) for x in high), 0.5]
    for p in (x for x in places if 0 < x < 1):
        law, total = weights(n, p)
        most = Fraction(alpha) * total
        assert sum(w for w, end in zip(law, low, strict=True) if end > p) <= most
        assert sum(w for w, end in zip(law, high, strict=True) if end < p) <= most


def compositions(n, cells):
    for bars in itertools.combinations(range(n + cells - 1), cells - 1):
        ends = (-1, *bars, n + cells - 1)
        yield np.diff(ends) - 1


@pytest.mark.parametrize("p", [(0.2, 0.3, 0.5), (0.01, 0.04, 0.95), (0.1, 0.2, 0.3, 0.4)])
def test_multinomial_p_values_have_their_level(p):
    n, claimed = 9, np.array(p)
    law, found = [], []
    for counts in compositions(n, len(p)):
        weight = Fraction(math.factorial(n))
        for count, chance in zip(counts.tolist(), p, strict=True):
            weight *= Fraction(chance) ** count / math.factorial(count)
        law.append(weight)
        found.append(limits.multinomial(counts, claimed, claimed))
    total = sum(Fraction(chance) for chance in p) ** n
    for level in sorted(set(found)):
        reached = sum(w for w, v in zip(law, found, strict=True) if v <= level) / total
        assert reached <= Fraction(level) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.7, 0.05)])
def test_ratio_p_values_have_their_level_all_along_the_boundary(share, epsilon, delta):
    n0, n1 = 12, 9
    table = {
        (a, b): limits.Ratio(a, n0, b, n1, share).p_value(epsilon, delta=delta)
        for a in range(n0 + 1)
        for b in range(n1 + 1)
    }
    for p1 in np.linspace(0.0, 0.9, 13):
        p0 = min(1.0, math.exp(epsilon) * p1 + delta)
        first = [math.comb(n0, k) * p0**k * (1 - p0) ** (n0 - k) for k in range(n0 + 1)]
        second = [math.comb(n1, k) * p1**k * (1 - p1) ** (n1 - k) for k in range(n1 + 1)]
        for level in (0.2, 0.05, 0.01, *sorted(set(table.values()))[:10]):
            reached = sum(first[a] * second[b] for (a, b), p in table.items() if p <= level)
            assert reached <= level * (1 + 1e-9)


def test_combined_p_values_have_their_level():
    # Three independent uniform p-values on {1/5, 2/5, .., 1}: coarser than uniform.
    grid = [0.2, 0.4, 0.6, 0.8, 1.0]
    found = {p: limits.combined(p) for p in itertools.product(grid, repeat=3)}
    for level in sorted(set(found.values())):
        assert sum(1 for v in found.values() if v <= level) / 125 <= level
    assert limits.combined([]) == 1.0
    assert limits.combined([0.03]) == pytest.approx(0.03)


def exact_drawn(count, n, marked, draws):
    """Twice the smaller tail of a hypergeometric count."""
    law = {
        k: math.comb(marked, k) * math.comb(n - marked, draws - k)
        for k in range(max(0, draws + marked - n), min(marked, draws) + 1)
    }
    tails = (sum(v for k, v in law.items() if (k >= count) == up or k == count) for up in (0, 1))
    return min(Fraction(1), 2 * Fraction(min(tails), math.comb(n, draws)))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 2), (4, 6), (7, 5)])
def test_drawn_is_a_p_value_whatever_the_probability_is(m, n):
    """Over all outcomes of two binomial counts with the same probability, exactly."""
    outcomes = [(a, b) for a in range(m + 1) for b in range(n + 1)]
    found = {(a, b): limits.drawn(a, n=m + n, marked=a + b, draws=m) for a, b in outcomes}
    for e in (Fraction(1, 100), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)):
        mass = {
            (a, b): math.comb(m, a) * math.comb(n, b) * e ** (a + b) * (1 - e) ** (m + n - a - b)
            for a, b in outcomes
        }
        for level in sorted(set(found.values())):
            assert sum(mass[k] for k in outcomes if found[k] <= level) <= Fraction(level)
    for a, b in outcomes:
        exact = exact_drawn(a, m + n, a + b, m)
        assert exact <= Fraction(found[a, b])
        # The side of the mean is chosen, not the smaller tail: never less, and no more than all.
        assert found[a, b] <= max(float(exact) * (1 + 1e-5), 1.0 if exact > 0.5 else 0.0)


@pytest.mark.parametrize("n", [2, 4, 7])
def test_matches_and_successions_have_the_moments_that_are_taken(n):
    """Of all permutations: the p-values of one batch, and of two batches together."""
    matches, successions = np.zeros(n + 1), np.zeros(n + 1)
    for order in itertools.permutations(range(n)):
        matches[sum(i == y for i, y in enumerate(order))] += 1
        successions[sum(b - a == 1 for a, b in itertools.pairwise(order))] += 1
    for counts in (matches, successions):
        one = counts / counts.sum()
        for times, law in ((1, one), (2, np.convolve(one, one))):
            tails = law[::-1].cumsum()[::-1]
            for count, tail in enumerate(tails.tolist()):
                assert tail <= limits.at_most_poisson(count, times) + 1e-12
    assert limits.at_most_poisson(0, 0) == 1.0
    assert limits.at_most_poisson(2, 0) == limits.SMALLEST
    # Near the Poisson tail far out: P(Poisson(100) >= 200) = 2.6e-18.
    assert limits.at_most_poisson(200, 100) < 1e-16
