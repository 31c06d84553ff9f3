"""Every randomizer against the independent ball-arithmetic evaluator, n from 1e2 to 1e9."""

import math

import pytest

import shuffledp as sd
from shuffledp.ball.api import log_delta
from shuffledp.divergence import PairProfile
from shuffledp.reductions import blanket_pair, clone_pair, dataset_pair, stronger_clone_pair

EPS0 = 1.5
FINITE = [
    sd.BinaryRR(eps0=EPS0),
    sd.KRR(k=10, eps0=EPS0),
    sd.RAPPOR(d=6, eps0=EPS0),
    sd.OUE(d=6, eps0=EPS0),
    sd.BLH(domain=20, eps0=EPS0),
    sd.OLH(domain=20, eps0=EPS0),
    sd.HadamardResponse(domain=20, eps0=EPS0),
    sd.Channel(matrix=[[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]]),
]
CONTINUOUS = [sd.Laplace(eps0=EPS0), sd.Gaussian(sigma=1.0)]
COUNTS = [10**2, 10**4, 10**6, 10**9]

# log of the smallest number that a float is.
FLOOR = math.log(5e-324)


def described(randomizer):
    if isinstance(randomizer, sd.LocalHash):
        return {"name": "local-hash", "domain": randomizer.domain, "l": randomizer.l, "eps0": EPS0}
    if isinstance(randomizer, sd.Channel):
        return {"name": "channel", "matrix": [list(row) for row in randomizer.matrix]}
    return randomizer.to_dict()


def overlapping(found, truth, width):
    """Both are certified: they share a point; and ours is as narrow as was asked for."""
    assert found.low <= truth[1]
    assert truth[0] <= found.high
    assert found.width <= width


def scale_of(n):
    """An eps at which delta is neither trivial nor absurdly small."""
    return min(0.9 * EPS0, 4.0 / math.sqrt(n))


@pytest.mark.many(3)
@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("randomizer", FINITE, ids=lambda r: r.name)
def test_finite(randomizer, n):
    width = 1e-5
    mechanism = described(randomizer)
    for factor in (0.5, 1.6):
        epsilon = factor * scale_of(n) / 2
        balls = {"n": n, "epsilon": epsilon, "x0": 0, "x1": 1, "rel": 1e-6}
        found = PairProfile(blanket_pair(randomizer, 0, 1, n=n)).log_delta(epsilon, width=width)
        overlapping(found, log_delta(mechanism, analysis="blanket", **balls), width)
    for x2 in (0, 1):
        pair = dataset_pair(randomizer, 0, 1, x2, n=n)
        found = PairProfile(pair).log_delta(epsilon, width=width)
        overlapping(found, log_delta(mechanism, analysis="dataset", x2=x2, **balls), width)


@pytest.mark.many(8)
@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("eps0", [0.1, EPS0, 6.0])
def test_clones(eps0, n):
    for key, make in (("clone", clone_pair), ("stronger-clone", stronger_clone_pair)):
        epsilon = min(0.5 * eps0, 3.0 * eps0 / math.sqrt(n))
        truth = log_delta(
            {"name": "binary-rr", "eps0": eps0}, analysis=key, n=n, epsilon=epsilon, rel=1e-7
        )
        found = PairProfile(make(eps0=eps0, n=n)).log_delta(epsilon, width=1e-6)
        overlapping(found, truth, 1e-6)


def pairs_of(randomizer):
    count = len(randomizer.matrix) if isinstance(randomizer, sd.Channel) else 2
    return [(x, y) for x in range(count) for y in range(count) if x != y]


def check_epsilon(randomizer, n, rtol, delta, *, rel=1e-6):
    """Both ends of eps(delta): the balls do not contradict them, and they are as near as asked."""
    accountant = sd.shuffle(randomizer, n=n, rtol=rtol)
    found = accountant.epsilon(delta=delta, analysis="blanket")
    assert found.upper_width <= rtol
    if found.upper in (0.0, randomizer.eps0):
        return
    mechanism, target = described(randomizer), math.log(delta)
    lower = found.upper / (1.0 + found.upper_width) / (1.0 + 1e-12)
    most = -math.inf
    for x0, x1 in pairs_of(randomizer):
        balls = {"analysis": "blanket", "n": n, "x0": x0, "x1": x1, "rel": rel}
        assert log_delta(mechanism, epsilon=found.upper, **balls)[0] <= target
        most = max(most, log_delta(mechanism, epsilon=lower, **balls)[1])
    assert most >= target


@pytest.mark.many(3)
@pytest.mark.parametrize(
    "n", [COUNTS[0], *(pytest.param(n, marks=pytest.mark.long) for n in COUNTS[1:])]
)
@pytest.mark.parametrize("randomizer", FINITE, ids=lambda r: r.name)
def test_epsilon(randomizer, n):
    check_epsilon(randomizer, n, 1e-6, 1e-6)


@pytest.mark.long
@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("randomizer", FINITE, ids=lambda r: r.name)
def test_epsilon_to_nine_digits(randomizer, n):
    for delta in (1e-3, 1e-6, 1e-12, 1e-100, 1e-300):
        check_epsilon(randomizer, n, 1e-6, delta)
        check_epsilon(randomizer, n, 1e-9, delta, rel=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("randomizer", FINITE, ids=lambda r: r.name)
def test_finite_in_the_tails(randomizer, n):
    mechanism = described(randomizer)
    for epsilon in (0.0, 0.2 * EPS0, 0.8 * EPS0):
        truth = log_delta(mechanism, analysis="blanket", n=n, epsilon=epsilon, x0=0, x1=1, rel=1e-8)
        for width in (1e-3, 1e-7):
            found = PairProfile(blanket_pair(randomizer, 0, 1, n=n)).log_delta(epsilon, width=width)
            # Far below all floats the rounding of n equal factors may leave an upper end alone.
            far = truth[0] < 100 * FLOOR
            overlapping(found, truth, math.inf if far else width)
            assert found.high <= truth[1] * (0.999 if far else 1.0) + width


@pytest.mark.long
@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("randomizer", CONTINUOUS, ids=lambda r: r.name)
def test_continuous(randomizer, n):
    mechanism = randomizer.to_dict()
    for factor in (0.3, 1.0):
        epsilon = factor * scale_of(n)
        truth = log_delta(
            mechanism, analysis="blanket", n=n, epsilon=epsilon, x0=0.0, x1=1.0, rel=1e-4
        )
        found = PairProfile(blanket_pair(randomizer, 0.0, 1.0, n=n)).log_delta(epsilon, width=1e-3)
        overlapping(found, truth, 1e-3)


@pytest.mark.parametrize("randomizer", CONTINUOUS, ids=lambda r: r.name)
def test_continuous_once(randomizer):
    mechanism, n = randomizer.to_dict(), 10**4
    epsilon = 0.5 * scale_of(n)
    truth = log_delta(mechanism, analysis="blanket", n=n, epsilon=epsilon, x0=0.0, x1=1.0, rel=1e-3)
    found = PairProfile(blanket_pair(randomizer, 0.0, 1.0, n=n)).log_delta(epsilon, width=1e-2)
    overlapping(found, truth, 1e-2)
