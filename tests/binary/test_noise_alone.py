"""One bit with noise and nobody else: both ends against the definition, in balls."""

import math
import random

import pytest
from flint import arb, ctx

import shuffledp as sd
from shuffledp.binary import alone
from shuffledp.binary.alone import log_alone
from shuffledp.views import certified

BIT = sd.Channel(((1.0, 0.0), (0.0, 1.0)))


@pytest.fixture(autouse=True)
def many_bits():
    before, ctx.prec = ctx.prec, 300
    yield
    ctx.prec = before


def exact(kind, scale, alpha, b, reach):
    """max_j alpha z(j) - b P(Z > j) over j < reach; what is cut is in the ball."""
    t = arb(scale)
    laplace = kind == "discrete-laplace"
    weights = [(-(arb(z) / t if laplace else arb(z) ** 2 / (2 * t**2))).exp() for z in range(reach)]
    ratio = weights[-1] / weights[-2]
    cut = weights[-1] * ratio / (1 - ratio)
    whole = weights[0] + 2 * sum(weights[1:], arb(0)) + arb(0, 2 * cut.upper())
    worst, beyond = arb(0), arb(0, cut.upper())
    for j in reversed(range(reach)):
        worst = arb.max(worst, (alpha * weights[j] - b * beyond) / whole)
        beyond += weights[j]
    return worst


def cases(count, seed):
    rng = random.Random(seed)
    while count:
        kind = rng.choice(["discrete-laplace", "discrete-gaussian"])
        scale = math.exp(rng.uniform(math.log(0.05), math.log(2.0)))
        epsilon = rng.choice(
            [0.0, rng.uniform(0.0, 3.0), rng.uniform(0.0, 60.0), rng.uniform(0, 300)]
        )
        p = rng.random()
        q = rng.choice([0.0, p * math.exp(-epsilon) * rng.random()])
        a = arb(epsilon).exp()
        if not arb(p) - a * arb(q) > 0:
            continue
        count -= 1
        yield kind, scale, epsilon, arb(p) - a * arb(q), a - 1


@pytest.mark.parametrize("seed", range(3))
def test_both_ends_hold_the_truth_and_are_close(seed):
    for kind, scale, epsilon, alpha, b in cases(40, seed):
        middle = float(alpha.mid())
        log_b = float(b.log().mid()) if epsilon > 0.0 else -math.inf
        slack = 4e-16 * abs(log_b) if math.isfinite(log_b) else 0.0
        found = log_alone(
            sd.AddedNoise(kind=kind, scale=scale),
            (middle * (1 - 1e-15), middle * (1 + 1e-15)),
            (log_b - slack, log_b + slack),
        )
        # The best j is about sigma^2 eps; nothing cut is as large as what is left there.
        reach = math.ceil(scale * scale * (epsilon + 60)) + math.ceil(120 * scale) + 40
        truth = exact(kind, scale, alpha, b, reach)
        if truth.upper() <= 0:
            assert found.log_low == -math.inf
            continue
        if found.log_low > -math.inf:
            assert arb(found.log_low).exp() <= truth.upper()
        assert arb(found.log_high).exp() >= truth.lower()
        if truth.lower() > 0:
            assert found.log_high - found.log_low <= 1e-9 * max(1.0, abs(found.log_high))


def test_of_wide_normal_noise_nothing_is_said():
    noise = sd.AddedNoise(kind="discrete-gaussian", scale=2.5)
    assert log_alone(noise, (0.5, 0.5), (0.0, 0.0)) == alone.Alone(-math.inf, 0.0)


@pytest.mark.parametrize("scale", [0.05, 0.1, 0.3])
def test_the_central_mechanism_with_next_to_no_noise_has_both_ends(scale):
    """By hand: eps is 1/(2 scale^2) + log(1 - delta), less what is rarer by far."""
    noise = sd.AddedNoise(kind="discrete-gaussian", scale=scale)
    for n in (1, 1000):
        view = sd.shuffle(BIT, n, view="sums", added=noise)
        for delta in (1e-9, 1e-3) if scale < 0.2 else (1e-2,):
            bound = view.epsilon(delta=delta)
            hand = 0.5 / scale**2 + math.log1p(-delta)
            assert bound.lower <= hand + 0.05
            assert bound.upper >= hand - 0.05
            assert bound.upper < bound.lower * 1.002
        assert view.delta(epsilon=0.5 / scale**2 + 1.0).upper <= math.exp(-0.4 / scale**2)


def test_two_rounds_of_it_have_a_finite_end():
    noise = sd.AddedNoise(kind="discrete-gaussian", scale=0.1)
    view = sd.shuffle(BIT, 30, view="sums", added=noise).compose(rounds=2)
    bound = certified(view, quantity="epsilon", value=1e-6)
    # Both rounds at once tell nearly all: their losses add up to 100.
    assert 95.0 < bound.lower <= bound.upper < 100.2


def test_nearly_everything_may_be_lost_and_the_end_is_that_of_the_law():
    noise = sd.AddedNoise(kind="discrete-laplace", scale=0.05)
    bound = sd.shuffle(BIT, 5, view="sums", added=noise).epsilon(delta=0.5)
    r = math.exp(-20.0)
    # (1 - r) - (e^eps - 1) r = delta (1 + r)
    assert bound.lower <= math.log1p((1 - r - 0.5 * (1 + r)) / r) <= bound.upper
    assert bound.upper < bound.lower * 1.01
