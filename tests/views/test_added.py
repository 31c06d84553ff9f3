"""Sums with the aggregator's own noise, from the printed words: every pair of datasets."""

import math
import random

import pytest
from flint import arb

import shuffledp as sd
from shuffledp.views.noise import KINDS
from views.every import Exact


def random_noise(rng, *, high):
    return sd.AddedNoise(kind=rng.choice(KINDS), scale=math.exp(rng.uniform(-2.5, high)))


def random_bit(rng):
    if rng.random() < 0.4:
        return sd.BinaryRR(eps0=math.exp(rng.uniform(-2.0, 2.0)))
    low, high = sorted((rng.random(), rng.choice((0.5, 1.0, rng.random()))))
    return sd.Channel(((1.0 - low, low), (1.0 - high, high)))


def check(view, shares, *, also_epsilon):
    truth = Exact(view)
    top = min(view.source.eps0, 4.0) if view.seen.count == 1 else view.source.eps0
    epsilons = [share * top for share in shares]
    for epsilon, (low, high) in zip(epsilons, truth(*epsilons), strict=True):
        found = view.delta(epsilon=epsilon)
        assert arb(found.lower) <= high, (view, epsilon, found.lower)
        assert low <= arb(found.upper), (view, epsilon, found.upper)
    if not also_epsilon or not high > 1e-12:
        return
    target = min(float(high.mid()), 0.5)
    ends = view.epsilon(delta=target)
    if math.isfinite(ends.upper):
        assert truth(ends.upper)[0][0] <= target, (view, target)
    assert truth(ends.lower)[0][1] >= target or ends.lower == 0.0, (view, target)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in range(1, 9))]
)
def test_one_noisy_bit_against_every_dataset(seed):
    rng = random.Random(f"noisy bit {seed}")
    for k in range(6 if seed == 0 else 25):
        view = sd.shuffle(
            random_bit(rng), rng.randint(1, 6), view="sums", added=random_noise(rng, high=1.0)
        )
        check(view, (0.0, 0.2, 0.8), also_epsilon=k % 4 == 0)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in range(1, 9))]
)
def test_noisy_vectors_against_every_pair_of_datasets(seed):
    rng = random.Random(f"noisy vectors {seed}")
    for _ in range(1 if seed == 0 else 5):
        make, ones = rng.choice((sd.RAPPOR, sd.OUE)), rng.choice((1, 2))
        view = sd.shuffle(
            make(d=2, eps0=math.exp(rng.uniform(-1.0, 1.5))),
            rng.randint(1, 3 if ones == 1 else 2),
            view="sums",
            ones=ones,
            relation=rng.choice(("replace-one", "replace-special")),
            added=random_noise(rng, high=-1.2),
        )
        check(view, (0.1, 0.6), also_epsilon=False)


def test_noise_alone_is_the_central_mechanism():
    """Of bits that are not randomized the sum moves by one: e^(-1/t) is all there is of it."""
    bits = sd.Channel(((1.0, 0.0), (0.0, 1.0)))
    laplace = sd.shuffle(
        bits, 50, view="sums", added=sd.AddedNoise(kind="discrete-laplace", scale=2.0)
    )
    r = math.exp(-0.5)
    # delta(eps) = (1 - e^eps r)/(1 + r) for a shift by one: P(z) > e^eps Q(z) on one side alone.
    for epsilon in (0.0, 0.2, 0.45):
        exactly = (1.0 - math.exp(epsilon) * r) / (1.0 + r)
        found = laplace.delta(epsilon=epsilon)
        # Ends are as near to each other as floats are: the formula is off by some of them.
        assert found.lower <= exactly * (1.0 + 1e-13)
        assert exactly * (1.0 - 1e-13) <= found.upper <= 1.01 * exactly
    assert laplace.epsilon(delta=1e-12).upper == pytest.approx(0.5, abs=1e-9)
    assert laplace.delta(epsilon=0.5 + 1e-9).upper == 0.0
    gaussian = sd.shuffle(
        bits, 50, view="sums", added=sd.AddedNoise(kind="discrete-gaussian", scale=5.0)
    )
    # Gaussian noise: P(z) > e^eps Q(z) beyond a threshold, summed as it is defined.
    weight = {z: math.exp(-z * z / 50.0) for z in range(-90, 91)}
    total, a = math.fsum(weight.values()), math.exp(0.5)
    exactly = math.fsum(max(weight[z - 1] - a * weight[z], 0.0) / total for z in range(-89, 91))
    found = gaussian.delta(epsilon=0.5)
    assert found.lower <= exactly * (1.0 + 1e-13)
    assert exactly * (1.0 - 1e-13) <= found.upper <= 1.01 * found.lower
