"""Cases in which an end was once on the wrong side, or there was none."""

from fractions import Fraction

import pytest

import shuffledp as sd
from enumerated import exponential, row_fractions, worst_blanket, worst_delta


@pytest.mark.parametrize("n", [2, 4])
def test_entries_that_are_equal_only_as_floats(n):
    """Rows are divided by sums that differ by less than rounding: the left-over is 1e-18, not 0."""
    matrix = [[1.0, 2e-20, 1e-17], [1.0, 1e-20, 1e-17], [1.0, 1e-20, 1.1e-17]]
    rows = row_fractions(matrix)
    for epsilon in (0.5, 0.6):
        asked = sd.shuffle(sd.Channel(matrix=matrix), n=n)
        low_alpha, high_alpha = exponential(epsilon)
        blanket = asked.delta(epsilon=epsilon, analysis="blanket")
        assert Fraction(blanket.upper) >= worst_blanket(rows, n, low_alpha)
        bound = asked.delta(epsilon=epsilon)
        most, least = worst_delta(rows, n, [low_alpha, high_alpha])
        assert Fraction(bound.lower) <= least
        assert Fraction(bound.upper) >= most


@pytest.mark.parametrize("analysis", [None, "dataset"])
def test_others_whose_mass_no_float_holds_well(analysis):
    """What is left out of the reference lowers the lower end in both orders of a pair."""
    matrix = [[0.5, 0.5, 1e-306], [0.5, 0.5, 3e-306]]
    rows = row_fractions(matrix)
    for n in (1, 2, 4):
        for epsilon in (0.0, 0.1, 0.5, 1.0):
            low_alpha, high_alpha = exponential(epsilon)
            most, least = worst_delta(rows, n, [low_alpha, high_alpha])
            bound = sd.shuffle(sd.Channel(matrix=matrix), n=n).delta(
                epsilon=epsilon, analysis=analysis
            )
            assert Fraction(bound.lower) <= least
            if analysis is None:
                assert Fraction(bound.upper) >= most


def test_a_part_that_tells_all_beside_noise():
    """Every output of the first part names its input: no cell of the noise is left."""
    plain = sd.Channel(matrix=[[1.0, 0.0], [0.0, 1.0]])
    for joint in (sd.Joint([plain, sd.Laplace(eps0=1.0)]), sd.Joint([plain, plain])):
        assert sd.shuffle(joint, n=5).delta(epsilon=1.0).upper == 1.0
