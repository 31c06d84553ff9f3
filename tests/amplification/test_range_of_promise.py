"""Corners of the range of promise: ordered ends, no warning (an error), no NaN, bounded time."""

import itertools
import math
import time

import pytest

import shuffledp as sd

FEW_COUNTS, FEW_DELTAS, FEW_LOCAL = (
    [1, 3, 100, 10**7, 10**12],
    [0.5, 1e-6, 1e-100],
    [1e-3, 1.0, 50.0],
)
SECONDS = 20.0


def finite(eps0):
    return (
        sd.BinaryRR(eps0=eps0),
        sd.KRR(k=10, eps0=eps0),
        sd.KRR(k=10**9, eps0=eps0),
        sd.RAPPOR(d=8, eps0=eps0),
        sd.OUE(d=1000, eps0=eps0),
        sd.OLH(domain=50, eps0=eps0),
        sd.HadamardResponse(domain=100, eps0=eps0),
    )


def check(accountant, eps0, delta):
    start = time.process_time()
    bound = accountant.epsilon(delta=delta)
    assert time.process_time() - start < SECONDS
    assert 0.0 <= bound.lower <= bound.upper <= eps0
    back = accountant.delta(epsilon=bound.upper)
    assert back.upper <= delta
    assert time.process_time() - start < 2 * SECONDS
    for value in (bound.lower, bound.upper, back.lower, back.upper, back.log_upper, back.log_lower):
        assert not math.isnan(value)
    return bound


@pytest.mark.many(5)
@pytest.mark.parametrize("eps0", FEW_LOCAL)
@pytest.mark.parametrize("n", FEW_COUNTS)
def test_krr_everywhere(n, eps0):
    run_krr(n, eps0, FEW_DELTAS)


def run_krr(n, eps0, deltas):
    accountant = sd.shuffle(sd.KRR(k=10, eps0=eps0), n=n, rtol=1e-3)
    bounds = [check(accountant, eps0, delta) for delta in deltas]
    for large, small in itertools.pairwise(bounds):
        assert large.lower <= small.upper  # a smaller delta needs a larger eps


@pytest.mark.parametrize("eps0", [1e-3, 1.0, 15.0])
@pytest.mark.parametrize("n", [1, pytest.param(10**3, marks=pytest.mark.long), 10**12])
def test_all_finite_randomizers(n, eps0):
    for randomizer in finite(eps0):
        check(sd.shuffle(randomizer, n=n, rtol=1e-3), eps0, 1e-9)


@pytest.mark.many(2)
@pytest.mark.parametrize("share", [1e-3, 1e-1, 1.0, 30.0])
@pytest.mark.parametrize("n", [10, 10**5, pytest.param(10**10, marks=pytest.mark.long)])
def test_few_messages_in_the_blanket(n, share):
    """gamma n of order one and below: next to nobody hides anybody."""
    k = 10
    # gamma = k/(e^eps0 + k - 1) = share/n
    eps0 = math.log(max(k * n / share - (k - 1), 1.5))
    accountant = sd.shuffle(sd.KRR(k=k, eps0=eps0), n=n, rtol=1e-3)
    for epsilon in (0.0, 0.5 * eps0, 0.99 * eps0, 0.999999 * eps0):
        bound = accountant.delta(epsilon=epsilon)
        assert bound.log_lower <= bound.log_upper <= 0.0
        grow, a = math.exp(eps0), math.exp(epsilon)
        assert bound.lower <= (grow - a) / (grow + 1.0) * (1.0 + 1e-12)
        assert bound.upper_width <= 3e-2
    for delta in (0.5, 1e-100):
        check(accountant, eps0, delta)


@pytest.mark.many(2)
@pytest.mark.parametrize("n", [1, 2, 10, pytest.param(10**6, marks=pytest.mark.long), 10**12])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 50.0])
def test_profiles_from_zero_to_beyond_the_local_guarantee(n, eps0):
    accountant = sd.generic(eps0=eps0, n=n, rtol=1e-3)
    grid = [0.0, 1e-6 * eps0, 0.3 * eps0, 0.9 * eps0, math.nextafter(eps0, 0.0)]
    bounds = accountant.profile([*grid, eps0, math.nextafter(eps0, 400.0), 2.0 * eps0, 1e6])
    for bound in bounds:
        assert 0.0 <= bound.lower <= bound.upper <= 1.0
    for bound in bounds[-4:]:
        assert bound.upper == 0.0
    for near, far in itertools.pairwise(bounds):
        assert far.log_lower <= near.log_upper


@pytest.mark.parametrize("k", [2, 3, 50])
def test_one_user_has_the_local_divergence(k):
    for eps0 in (1e-3, 1.0, 8.0):
        for part in (0.0, 0.5, 0.99):
            epsilon = part * eps0
            bound = sd.shuffle(sd.KRR(k=k, eps0=eps0), n=1).delta(epsilon=epsilon)
            exact = (math.exp(eps0) - math.exp(epsilon)) / (math.exp(eps0) + k - 1)
            assert bound.lower <= exact * (1 + 1e-12)
            assert bound.upper >= exact * (1 - 1e-12)
            assert bound.upper <= bound.lower * (1 + 1e-6)


def test_a_pair_that_cannot_be_told_apart():
    same = sd.Channel(matrix=[[0.25, 0.75], [0.25, 0.75]])
    for n in (1, 10, 10**6):
        bound = sd.shuffle(same, n=n).delta(epsilon=0.1)
        assert bound.upper == 0.0
        assert sd.shuffle(same, n=n).epsilon(delta=1e-9).lower == 0.0


def test_a_pair_that_is_always_told_apart():
    clear = sd.Channel(matrix=[[1.0, 0.0], [0.0, 1.0]])
    for n in (1, 10, 10**6):
        bound = sd.shuffle(clear, n=n).delta(epsilon=5.0)
        assert bound.lower >= 1.0 - 1e-12
        assert bound.upper == 1.0
        assert sd.shuffle(clear, n=n).epsilon(delta=1e-3).upper == math.inf


@pytest.mark.many(3)
@pytest.mark.parametrize("randomizer", [sd.Laplace(eps0=1.0), sd.Gaussian(sigma=1.0)], ids=repr)
@pytest.mark.parametrize("n", [1, 1000, 10**12])
def test_continuous_corners(randomizer, n):
    accountant = sd.shuffle(randomizer, n=n, rtol=1e-3)
    for delta in (1e-6,):
        bound = accountant.epsilon(delta=delta)
        assert 0.0 <= bound.lower <= bound.upper <= randomizer.eps0
        if math.isfinite(bound.upper):
            # delta's own bracket has other cells.
            assert accountant.delta(epsilon=bound.upper).upper <= delta * (
                1.0 + accountant.seen.rtol
            )
