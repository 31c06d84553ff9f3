"""DP-SGD's batches: against quadrature, published values, and each other."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import shuffledp as sd
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.neighbours import REPLACEMENT
from shuffledp.rounds import Round

ONE = {"clip": 1.0, "epochs": 1, "batch": 1}


def balls(steps, noise, **changed):
    return sd.SGD(n=steps, noise=noise, sampler="balls-and-bins", **{**ONE, **changed})


def last_step(c, share, sigma, *, added, a):
    """E over z ~ N(0, sigma^2) of (c + share r)_+, or (1 - a (c + share r))_+, r = e^{(z-1/2)/s^2}.

    In closed form: the point where it changes sign, and two normal probabilities.
    """
    if added:
        room = (1.0 - a * c) / (a * share)
        z = sigma**2 * np.log(np.maximum(room, 1e-300)) + 0.5
        value = (1.0 - a * c) * ndtr(z / sigma) - a * share * ndtr((z - 1.0) / sigma)
        return np.where(room > 0.0, value, 0.0)
    room = -c / share
    z = sigma**2 * np.log(np.maximum(room, 1e-300)) + 0.5
    value = share * ndtr((1.0 - z) / sigma) + c * ndtr(-z / sigma)
    return np.where(room > 0.0, value, c + share)


def quadrature(steps, sigma, epsilon, *, added, nodes=4001):
    """H_a over all but the last step by the trapezoidal rule, which is exact to rounding here."""
    a = math.exp(epsilon)
    z = np.linspace(-12.0 * sigma, 12.0 * sigma + 2.0, nodes)
    weight = np.exp(-0.5 * (z / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi)) * (z[1] - z[0])
    ratio = np.exp((z - 0.5) / sigma**2) / steps
    if steps == 2:
        c, w = ratio, weight
    else:
        c, w = ratio[:, None] + ratio[None, :], weight[:, None] * weight[None, :]
    inner = last_step(c if added else c - a, 1.0 / steps, sigma, added=added, a=a)
    return float((w * inner).sum())


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("steps", "sigma", "epsilon"),
    [
        (2, 1.0, 0.5),
        (3, 0.75, 1.0),
        pytest.param(2, 0.75, 1.0, marks=pytest.mark.long),
        pytest.param(2, 2.0, 0.05, marks=pytest.mark.long),
        pytest.param(3, 1.0, 0.5, marks=pytest.mark.long),
        pytest.param(3, 2.0, 0.05, marks=pytest.mark.long),
    ],
)
def test_both_ends_against_quadrature(steps, sigma, epsilon):
    nodes = 4001 if steps == 2 else 1501
    exact = max(quadrature(steps, sigma, epsilon, added=a, nodes=nodes) for a in (False, True))
    found = balls(steps, sigma).delta(epsilon=epsilon)
    # The kink leaves the rule an error of the step's square; the bracket is 1e-3 wide.
    assert found.lower <= exact * (1.0 + 2e-5)
    assert found.upper >= exact * (1.0 - 2e-5)
    assert found.upper <= found.lower * (1.0 + 1e-3)


@pytest.mark.parametrize(
    ("epsilon", "sampled"), [(0.5, 0.0711), pytest.param(1.0, 0.0283, marks=pytest.mark.long)]
)
def test_published_importance_sampling(epsilon, sampled):
    found = balls(100, 0.5).delta(epsilon=epsilon)
    assert found.upper == pytest.approx(sampled, rel=6e-3)
    assert found.upper <= found.lower * (1.0 + 1e-3)


def test_one_step_is_the_gaussian_mechanism():
    found = balls(1, 1.3).epsilon(delta=1e-5)
    known = sd.compose([sd.central.gaussian(sigma=1.3, relation="replace-special")])
    wide = known.epsilon(delta=1e-5)
    assert found.lower <= wide.upper
    assert wide.lower <= found.upper


@pytest.mark.many(1)
@pytest.mark.parametrize("sampler", ["balls-and-bins", "shuffle", "poisson"])
def test_ends_are_in_order_and_less_than_one_batch_alone(sampler):
    run = sd.SGD(n=40, noise=0.8, clip=1.0, epochs=1, batch=2, sampler=sampler)
    alone = sd.compose([sd.central.gaussian(sigma=0.8, relation="replace-special")])
    found, most = run.delta(epsilon=1.0), alone.delta(epsilon=1.0)
    assert 0.0 < found.lower <= found.upper <= most.upper * (1.0 + 1e-3)


def two_of_three(sigma, epsilon, *, nodes):
    """delta of two of three steps by the midpoint rule, the larger of both orders."""
    step = 16.0 * sigma / nodes
    axis = step * (np.arange(nodes) + 0.5) - 8.0 * sigma + 0.5
    weight = step * np.exp(-0.5 * (axis / sigma) ** 2) / (sigma * np.sqrt(2.0 * np.pi))
    ratio = np.exp((axis - 0.5) / sigma**2)
    x, y, z = np.meshgrid(ratio, ratio, ratio, indexing="ij", sparse=True)
    law = weight[:, None, None] * weight[None, :, None] * weight[None, None, :]
    there, grow = (x * y + x * z + y * z) / 3.0, np.exp(epsilon)
    both = np.maximum(there - grow, 0.0), np.maximum(1.0 - grow * there, 0.0)
    return max(float((law * gain).sum()) for gain in both)


@pytest.mark.parametrize(
    ("sigma", "epsilon"),
    [
        (2.0, 0.3),
        pytest.param(0.8, 0.5, marks=pytest.mark.long),
        pytest.param(1.0, 1.0, marks=pytest.mark.long),
    ],
)
def test_two_of_three_batches_against_quadrature(sigma, epsilon):
    exact = two_of_three(sigma, epsilon, nodes=160)
    # The kink leaves the rule an error of the step's square.
    assert exact == pytest.approx(two_of_three(sigma, epsilon, nodes=120), rel=1e-3)
    found = balls(3, sigma, per_epoch=2).delta(epsilon=epsilon)
    assert 0.9 * exact <= found.lower <= exact * (1.0 + 1e-3)
    assert exact * (1.0 - 1e-3) <= found.upper


def two_shuffled_epochs(sigma, epsilon, *, nodes):
    """delta of two epochs of two batches, all other gradients against the victim's."""
    step = 18.0 * sigma / nodes
    axis = step * (np.arange(nodes) + 0.5) - 9.0 * sigma + 1.0
    law = [
        np.exp(-0.5 * ((axis - mean) / sigma) ** 2) * step / (sigma * np.sqrt(2.0 * np.pi))
        for mean in (0.0, 1.0, 2.0)
    ]
    there, gone = (
        (0.5 * (np.outer(one, law[0]) + np.outer(law[0], one))).ravel() for one in law[:0:-1]
    )
    found = (
        np.maximum(np.outer(p, p) - np.exp(epsilon) * np.outer(q, q), 0.0).sum()
        for p, q in ((there, gone), (gone, there))
    )
    return max(map(float, found))


@pytest.mark.parametrize(("sigma", "epsilon"), [(1.0, 1.0), (2.0, 0.4)])
def test_two_shuffled_epochs_are_not_above_their_datasets(sigma, epsilon):
    exact = two_shuffled_epochs(sigma, epsilon, nodes=64)
    # The kink leaves the rule an error of the step's square.
    assert exact == pytest.approx(two_shuffled_epochs(sigma, epsilon, nodes=48), rel=5e-3)
    run = sd.SGD(n=2, noise=sigma, clip=1.0, epochs=2, sampler="shuffle")
    found = run.delta(epsilon=epsilon)
    assert 0.8 * exact <= found.lower <= exact * (1.0 + 5e-3)


@pytest.mark.long
def test_five_of_a_hundred_batches():
    found = balls(100, 2.0, per_epoch=5).epsilon(delta=1e-6)
    assert "sum of scores" in found.lower_theorem.title
    assert found.upper <= 1.05 * found.lower


def test_batches_of_two_sizes_have_a_lower_end_of_their_own():
    run = sd.SGD(n=5, noise=1.0, clip=1.0, epochs=1, batch=2, sampler="shuffle")
    found = run.delta(epsilon=0.1)
    assert 0.0 < found.lower < found.upper


@pytest.mark.parametrize("sampler", ["balls-and-bins", "shuffle", "poisson"])
def test_one_example_is_the_gaussian_mechanism(sampler):
    """delta(eps) = Phi(1/2 - eps) - e^eps Phi(-1/2 - eps) with noise as large as the norm."""
    run = sd.SGD(n=1, noise=1.0, sampler=sampler, **ONE)
    for epsilon in (0.5, 2.0):
        exact = ndtr(0.5 - epsilon) - math.exp(epsilon) * ndtr(-0.5 - epsilon)
        found = run.delta(epsilon=epsilon)
        assert found.lower <= exact <= found.upper <= exact * 1.02


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-6, 1e-9, 1e-100])
def test_eps_of_a_round_meets_delta_and_not_only_its_rounded_logarithm(delta):
    class Steps:
        """Just above delta from eps = 1 on, next to nothing from 2 on."""

        def log_delta(self, epsilon, *, width, end):
            level = math.nextafter(math.log(delta), -math.inf) if epsilon < 2.0 else -800.0
            return LogInterval(-math.inf, 0.0 if epsilon < 1.0 else level)

        def rough_log_delta(self, epsilon):
            return self.log_delta(epsilon, width=0.0, end="upper").high

        def log_floor(self):
            return -math.inf

    one = Round(label="steps", key="steps", relation=REPLACEMENT, groups=[[Steps()]])
    assert sd.compose([one]).upper_epsilon(delta=delta) >= 2.0
