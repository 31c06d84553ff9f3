"""What eps means in a report, as odds and as right guesses, outward."""

import math
from decimal import Decimal, localcontext

import pytest

from shuffledp.review.meaning import odds, percent, right_guesses


def exact_guess(epsilon, delta):
    """(e^eps + delta)/(1 + e^eps) from below, in 50 digits."""
    with localcontext() as context:
        context.prec = 50
        e = Decimal(epsilon).exp()
        return (e + Decimal(delta)) / (1 + e), (e + Decimal(delta)) / (1 - Decimal(delta))


@pytest.mark.parametrize("delta", [0.0, 5e-324, 1e-8, 0.01, 0.5, 0.999])
def test_odds_and_guesses_are_outward(delta):
    # Logarithms of round numbers too: what is shown is a round number, or the next one.
    round_ones = [math.log(x) for x in (1.01, 1.1, 1.5, 2.0, 3.0, 7.0, 1000.0)]
    beside = [math.nextafter(x, end) for x in round_ones for end in (0.0, 9.0)]
    some = [0.0, 1e-12, 0.01, 0.3, 9.0, 29.9, 31.0, 300.0, 1e6]
    for epsilon in [*some, *round_ones, *beside]:
        guess, ratio = exact_guess(epsilon, delta)
        assert Decimal(right_guesses(epsilon, delta)) >= min(guess, 1)
        assert right_guesses(epsilon, delta) <= min(float(guess) * (1 + 1e-13), 1.0)
        shown = Decimal(percent(epsilon, delta))
        assert min(100 * guess, 100) <= shown <= min(100 * guess * Decimal("1.0011"), 100)
        shown = odds(epsilon, delta)
        assert shown.startswith("10^") is (epsilon > 30.0)
        if epsilon > 30.0:
            assert ratio.log10() <= Decimal(shown[3:]) <= ratio.log10() * Decimal("1.0011")
        else:
            assert ratio <= Decimal(shown) <= ratio * Decimal("1.0011")


def test_the_guess_is_what_the_best_test_reaches():
    """Randomized response that leaks its bit with probability delta attains it."""
    for epsilon, delta in ((0.5, 0.0), (1.0, 0.1), (3.0, 0.3)):
        e = math.exp(epsilon)
        p = [delta, (1 - delta) * e / (1 + e), (1 - delta) / (1 + e), 0.0]
        q = p[::-1]
        reached = sum(map(max, p, q)) / 2
        assert reached <= right_guesses(epsilon, delta) <= reached * (1 + 1e-13)
    assert right_guesses(None, 1e-6) == 1.0
    assert odds(None, 1e-6) == odds(1.0, 1.0) == "none"
