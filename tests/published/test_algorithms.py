"""The papers' algorithms against the library's certified ends and exact fractions."""

import math

import pytest
from papers.printed.algorithms import clone_delta, fft_bracket, grid_bracket, halved_epsilon

import shuffledp as sd
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.bounds.profile import Profile
from shuffledp.laws.pairs import blanket_pair
from shuffledp.published.estimate import of_epsilon, of_log_delta


def bracket(pair, epsilon, width=1e-6):
    found = Profile(pair).log_delta(epsilon, width=width)
    return math.exp(found.low), math.exp(found.high)


@pytest.mark.parametrize("eps0", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 30, 1000, 100_000])
def test_clone_sums_are_the_clones(eps0, n):
    for share, pair in (
        (math.exp(-eps0), clone_pair),
        (2 / (math.exp(eps0) + 1), stronger_clone_pair),
    ):
        for part in (0.0, 0.1, 0.9):
            low, high = bracket(pair(eps0=eps0, n=n), part * eps0, width=1e-4)
            found = clone_delta(share, eps0, n, part * eps0)
            # Rounding of log Gamma at n, and what tiny sums lose.
            assert low * (1 - 1e-8) - 1e-13 <= found <= high * (1 + 1e-8) + 1e-13
        assert clone_delta(share, eps0, n, eps0 * 1.1) == 0.0


def test_twenty_halvings_are_absolute_not_relative():
    """At n = 1e5 the papers' 20 halvings of [0, eps0] leave eps off by up to eps0/2^20."""
    eps0, n, delta = 4.0, 100_000, 1e-6

    def at(epsilon):
        return clone_delta(math.exp(-eps0), eps0, n, epsilon)

    found = halved_epsilon(at, delta, cap=eps0)
    exact = sd.generic(eps0=eps0, n=n).epsilon(delta=delta, analysis="clone").upper
    assert abs(found - exact) <= eps0 * 2.0**-20 + 1e-6 * exact
    assert at(found) <= delta


MECHANISMS = [
    (sd.KRR(k=10, eps0=2.0), 1000, 0.1),
    (sd.KRR(k=10, eps0=4.0), 3000, 0.6),
    (sd.OUE(d=5, eps0=1.0), 200, 0.2),
    (sd.Channel(matrix=[[0.25, 0.5, 0.25], [0.5, 0.3, 0.2]]), 100, 0.1),
]


@pytest.mark.parametrize(("randomizer", "n", "epsilon"), MECHANISMS, ids=str)
def test_both_ffts_bracket_the_blanket(randomizer, n, epsilon):
    x0, x1 = randomizer.worst_pairs().pairs[0]
    pair = blanket_pair(randomizer, x0, x1, n=n)
    low, high = bracket(pair, epsilon, width=1e-3)
    for found, width in (
        (grid_bracket(pair, epsilon=epsilon, width=0.1), 0.1),
        (fft_bracket(pair, epsilon=epsilon, width=0.5), 0.5),
    ):
        # Rounded the wrong way neither end would hold.
        assert found.low < low <= high < found.high
        assert found.high <= found.low * (1 + width)


# ------------------------------------------------------------------------------------- inverses


def test_inverses_meet_the_formula():
    """eps = 3 sqrt(log(1/delta)) for deltas up to 1/100, and its inverse."""

    def epsilon_at(delta):
        if delta > 0.01:
            raise sd.NotCertified("delta: too large")
        return 3.0 * math.sqrt(-math.log(delta))

    def log_delta_at(epsilon):
        if epsilon > 20.0:
            raise sd.NotCertified("eps: too large")
        return -((epsilon / 3.0) ** 2)

    for epsilon in (8.0, 12.0, 30.0):
        found = of_epsilon(epsilon_at).log_delta_at(epsilon)
        assert found == pytest.approx(-((epsilon / 3.0) ** 2), rel=1e-9)
    with pytest.raises(sd.NotCertified, match="no delta below 1"):
        of_epsilon(epsilon_at).log_delta_at(1.0)
    for delta in (1e-3, 1e-9):
        found = of_log_delta(log_delta_at, cap=20.0).epsilon_at(delta)
        assert found == pytest.approx(3.0 * math.sqrt(-math.log(delta)), rel=1e-9)
    with pytest.raises(sd.NotCertified, match="at no eps"):
        of_log_delta(log_delta_at, cap=1.0).epsilon_at(1e-9)
