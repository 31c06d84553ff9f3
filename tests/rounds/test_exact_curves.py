"""Rounds from the largest divergence of all data sets itself: valid, sharp, and verified."""

import math

import pytest

import shuffledp as sd
from rounds.exact_rounds import adaptive_twice, atoms, hockey, neighbouring_laws
from shuffledp.amplification.analyses import analysis_named

pytestmark = pytest.mark.usefixtures("rough_proposals")

ROWS = ((0.6, 0.4), (0.2, 0.8), (0.3, 0.7))
TELLING = ((1.0, 0.0), (0.3, 0.7))


def krr(k, eps0):
    rest = 1.0 / (math.exp(eps0) + k - 1)
    return [[rest * (math.exp(eps0) if x == y else 1.0) for y in range(k)] for x in range(k)]


CASES = {
    "binary-rr": (sd.BinaryRR(eps0=1.5), krr(2, 1.5), 5),
    "channel": (sd.Channel(matrix=ROWS), ROWS, 3),
    "telling": (sd.Channel(matrix=TELLING), TELLING, 4),
}


@pytest.mark.parametrize("name", CASES)
def test_two_adaptive_rounds_of_all_data_sets(name):
    """1e-12 is far above the rounding of the enumeration's sums."""
    randomizer, rows, n = CASES[name]
    one = sd.shuffle(randomizer, n=n)
    side = analysis_named("binary-exact").make(one.source, n)
    curve = side.exact()
    if name == "telling":
        # At large eps its search says nothing, and what is left of delta there is a floor.
        assert curve is None
        return
    assert curve is not None
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, n)]
    for epsilon in (0.0, 0.4):
        a = math.exp(epsilon)
        single = max(hockey(pair, a) for pair in pairs)
        found = curve.log_delta(epsilon, width=1e-6)
        assert math.exp(found.low) <= single * (1.0 + 1e-12)
        assert single * (1.0 - 1e-12) <= math.exp(found.high) <= single * 1.0001
        worst = max(adaptive_twice(pair, pairs, a) for pair in pairs)
        bound = one.compose(rounds=2).delta(epsilon=epsilon)
        assert bound.lower <= worst * (1.0 + 1e-12)
        assert worst * (1.0 - 1e-12) <= bound.upper <= 1.2 * worst


@pytest.mark.parametrize("epsilon", [0.02])
def test_wide_brackets_of_many_users_hold_what_narrow_ones_find(epsilon):
    """The worst number of others with one value is not met by a search that stops early."""
    one = sd.shuffle(sd.BinaryRR(eps0=5.0), n=10_000)
    curve = analysis_named("binary-exact").make(one.source, one.n).exact()
    wide, narrow = (curve.log_delta(epsilon, width=width) for width in (1e-2, 1e-5))
    assert wide.low < narrow.low <= wide.high
    assert wide.low <= narrow.high <= narrow.low + 1e-5


@pytest.mark.parametrize(
    ("randomizer", "n", "rounds", "key", "gap"),
    [
        pytest.param(
            sd.BinaryRR(eps0=3.0), 1000, 10, "binary-exact", 0.005, marks=pytest.mark.long
        ),
        pytest.param(sd.Duchi(eps0=0.3), 20, 100, "binary-exact", 0.022, marks=pytest.mark.long),
        pytest.param(
            sd.BinaryRR(eps0=5.0), 2000, 20, "binary-exact", 0.017, marks=pytest.mark.long
        ),
    ],
)
def test_both_ends_are_near_and_say_what_they_rest_on(randomizer, n, rounds, key, gap):
    bound = sd.shuffle(randomizer, n=n).compose(rounds=rounds).epsilon(delta=1e-6)
    assert 0.0 < bound.lower <= bound.upper <= (1.0 + gap) * bound.lower
    assert bound.upper_theorem is not None
    assert bound.upper_theorem.key == key
    assert "composition" in bound.upper_theorem.title
    assert not any("one round" in words for words in bound.assumptions)


@pytest.mark.parametrize("n", [4])
def test_lower_ends_of_outputs_that_tell_the_value_stay(n):
    """Their delta does not fall below a floor: a certificate's lower end was lost."""
    one = sd.shuffle(sd.Channel(matrix=TELLING), n=n)
    bound = one.compose(rounds=2).delta(epsilon=0.5)
    assert 0.75 < bound.lower <= bound.upper
    assert 0.9 < bound.upper < 0.95
