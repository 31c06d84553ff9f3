"""A paper's FFT against certified ends, and inverses of published formulas."""

import math

import pytest
from papers.printed.fft import fft_bracket

import shuffledp as sd
from shuffledp.laws.pairs import blanket_pair
from shuffledp.propose.profile import Profile
from shuffledp.published.estimate import of_epsilon, of_log_delta

MECHANISMS = [
    (sd.KRR(k=10, eps0=2.0), 1000, 0.1),
    (sd.KRR(k=10, eps0=4.0), 3000, 0.6),
    (sd.OUE(d=5, eps0=1.0), 200, 0.2),
    (sd.Channel(matrix=[[0.25, 0.5, 0.25], [0.5, 0.3, 0.2]]), 100, 0.1),
]


@pytest.mark.parametrize(("randomizer", "n", "epsilon"), MECHANISMS, ids=str)
def test_the_fft_brackets_the_blanket(randomizer, n, epsilon):
    pair = blanket_pair(randomizer, *randomizer.worst_pairs().pairs[0], n=n)
    exact = Profile(pair).log_delta(epsilon, width=1e-3)
    found = fft_bracket(pair, epsilon=epsilon, width=0.5)
    # Rounded the wrong way neither end would hold.
    assert found.low < math.exp(exact.low) <= math.exp(exact.high) < found.high
    assert found.high <= found.low * 1.5


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
