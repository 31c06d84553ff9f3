"""Random small channels: certified ends against every pair of neighbouring datasets, exactly."""

import math
import random
from fractions import Fraction

import pytest

import shuffledp as sd
from enumerated import blanket_delta, exponential, row_fractions, worst_blanket, worst_delta

pytestmark = pytest.mark.usefixtures("rough_proposals")
BATCH = 20


def random_row(rng, outputs, style):
    """Probabilities in floats; "dyadic" rows sum to exactly one."""
    while True:
        if style == "dyadic":
            parts = [0 if rng.random() < 0.25 else rng.randint(1, 64) for _ in range(outputs)]
            if not sum(parts):
                continue
            parts[parts.index(max(parts))] += 256 - sum(parts)
            if min(parts) >= 0:
                return [p / 256 for p in parts]
        elif style == "skewed":
            parts = [10.0 ** rng.uniform(-8, 0) for _ in range(outputs)]
        else:
            parts = [0.0 if rng.random() < 0.15 else rng.random() for _ in range(outputs)]
        if sum(parts) > 0.0:
            return [p / math.fsum(parts) for p in parts]


def random_channel(seed):
    rng = random.Random(seed)
    inputs, outputs, n = rng.randint(2, 4), rng.randint(2, 4), rng.choice([1, 2, 3, 3, 4, 4, 5, 6])
    style = rng.choice(["dyadic", "dyadic", "floats", "skewed"])
    matrix = [random_row(rng, outputs, style) for _ in range(inputs)]
    eps0 = sd.Channel(matrix=matrix).eps0
    reach = min(eps0, 4.0)
    epsilon = rng.choice([0.0, rng.uniform(0, 0.2), rng.uniform(0, reach), 0.97 * reach])
    return matrix, n, epsilon


def check(matrix, n, epsilon):
    """Return true delta over the upper end (0 where both are 0)."""
    rows = row_fractions(matrix)
    low_alpha, high_alpha = exponential(epsilon)
    most, least = worst_delta(rows, n, [low_alpha, high_alpha])
    accountant = sd.shuffle(sd.Channel(matrix=matrix), n=n)
    bound = accountant.delta(epsilon=epsilon)
    assert Fraction(bound.lower) <= least
    assert Fraction(bound.upper) >= most
    blanket = accountant.delta(epsilon=epsilon, analysis="blanket")
    exact_blanket = worst_blanket(rows, n, low_alpha)
    assert exact_blanket >= most  # the theorem, not the code
    assert Fraction(blanket.upper) >= exact_blanket
    if exact_blanket:
        # The promised width of delta is 1e-5.
        tight = exact_blanket * (1 + Fraction(2, 10**5))
        assert Fraction(blanket.upper) <= tight
        assert Fraction(bound.upper) <= tight
    else:
        assert blanket.upper <= 1e-13  # rounding of gains that are exactly 0
    return float(most / Fraction(bound.upper)) if bound.upper else 0.0


@pytest.mark.parametrize("batch", range(3))
def test_every_pair_of_datasets_of_random_channels_lies_inside(batch):
    ratios = [check(*random_channel(batch * BATCH + i)) for i in range(BATCH)]
    assert max(ratios) <= 1.0


@pytest.mark.parametrize("batch", range(2))
def test_epsilon_against_every_pair_of_datasets(batch):
    """At the upper end delta is not above the target for any datasets; at the lower for some."""
    for i in range(10):
        matrix, n, _ = random_channel(5000 + 10 * batch + i)
        rows, rng = row_fractions(matrix), random.Random(f"target {batch} {i}")
        delta = rng.choice([0.3, 1e-2, 1e-4, 1e-8, 1e-30])
        bound = sd.shuffle(sd.Channel(matrix=matrix), n=n).epsilon(delta=delta)
        assert 0.0 <= bound.lower <= bound.upper
        if bound.upper < 60.0:
            assert worst_delta(rows, n, [exponential(bound.upper)[1]])[0] <= Fraction(delta)
        if 0.0 < bound.lower < 60.0:
            assert worst_delta(rows, n, [exponential(bound.lower)[0]])[0] >= Fraction(delta)


@pytest.mark.parametrize(("k", "n"), [(2, 1), (2, 6), (3, 2), (3, 4), (4, 3)])
def test_krr_against_every_pair_of_datasets(k, n):
    # Odd over even: a rational e^eps0 near 3, so that k-RR is a rational channel.
    grow = Fraction(2**52 * 3 + 1, 2**52)
    z = grow + k - 1
    matrix = [[float(grow / z) if x == y else float(1 / z) for y in range(k)] for x in range(k)]
    for epsilon in (0.0, 0.3, 0.9, 1.05):
        check(matrix, n, epsilon)
        # The class itself, at the float eps0 next to it: e^eps0 is bracketed by rationals.
        eps0 = math.log(3.0)
        bound = sd.shuffle(sd.KRR(k=k, eps0=eps0), n=n).delta(epsilon=epsilon)
        if n > 4:
            continue
        for grown in exponential(eps0):
            total = grown + k - 1
            rows = [[(grown if x == y else 1) / total for y in range(k)] for x in range(k)]
            most, least = worst_delta(rows, n, exponential(epsilon))
            assert Fraction(bound.lower) <= least
            assert Fraction(bound.upper) >= most
            tight = blanket_delta(rows, 0, 1, n, exponential(epsilon)[0])
            assert Fraction(bound.upper) <= tight * (1 + Fraction(1, 10**6))


@pytest.mark.long
@pytest.mark.parametrize("batch", range(3, 26))
def test_many_more_channels(batch):
    for i in range(BATCH):
        check(*random_channel(batch * BATCH + i))


@pytest.mark.parametrize("exponent", [-50, -400, -900, -1000])
@pytest.mark.parametrize("odd", [1, 3, 5, 7, 11])
def test_outputs_seen_for_sure_with_tiny_probability(exponent, odd):
    """Outside mass far below one rounding error of the rest: log delta itself has rounding."""
    tiny = odd * 2.0**exponent
    matrix = [[1.0, tiny], [1.0, 0.0]]
    rows = row_fractions(matrix)
    for n in (1, 2, 5):
        bound = sd.shuffle(sd.Channel(matrix=matrix), n=n).delta(epsilon=1.0)
        truth = worst_delta(rows, n, exponential(1.0))
        assert Fraction(bound.lower) <= truth[1]
        assert Fraction(bound.upper) >= truth[0]
        assert Fraction(bound.upper) <= truth[0] * (1 + Fraction(1, 10**6))
