"""Noise: both ends of delta against cells written independently."""

import math

import numpy as np
import pytest
import scipy.stats

import shuffledp as sd
from shuffledp.laws.pairs import blanket_pair, dataset_pair
from shuffledp.propose.inverse import lower_epsilon, upper_epsilon
from shuffledp.propose.profile import Profile

WIDTH = 1e-3


def noise_of(mechanism):
    """SciPy's law of the noise alone."""
    if isinstance(mechanism, sd.Laplace):
        return scipy.stats.laplace(scale=(mechanism.high - mechanism.low) / mechanism.eps0)
    if isinstance(mechanism, sd.Gaussian):
        return scipy.stats.norm(scale=mechanism.sigma)
    return scipy.stats.gennorm(mechanism.shape, scale=mechanism.scale)


def masses_of(mechanism, x, edges):
    """Masses of x plus noise between the edges, tails added to the outermost ones."""
    noise = noise_of(mechanism)
    below, above = noise.cdf(edges - x), noise.sf(edges - x)
    found = np.where(edges[:-1] < x, np.diff(below), -np.diff(above))
    found[0] += below[0]
    found[-1] += above[-1]
    return found


def law_of(mechanism, x0, x1, others, count):
    """Masses of the reference, P and Q on fine cells."""
    noise = noise_of(mechanism)
    share = np.concatenate([np.geomspace(1e-14, 0.5, count // 2), [0.5]])
    quantiles = np.concatenate([noise.ppf(share), noise.isf(share)])
    ends = [mechanism.low, mechanism.high, x0, x1, 0.5 * (mechanism.low + mechanism.high)]
    points = np.concatenate([quantiles + x for x in ends] + [np.linspace(*ends[:2], count)])
    edges = np.unique(np.concatenate([points, ends]))
    edges = edges[:: max(1, edges.size // count)]
    edges = np.unique(np.concatenate([edges, ends]))
    p, q = (masses_of(mechanism, x, edges) for x in (x0, x1))
    if others is not None:
        return masses_of(mechanism, others, edges), p, q
    low, high = (masses_of(mechanism, x, edges) for x in (mechanism.low, mechanism.high))
    return np.where(edges[1:] <= ends[4], high, low), p, q


def exact_ends(law, n, eps):
    """A lower end of delta from the cells' means, and how much finer cells could add."""
    w, p, q = law
    gain = (p - math.exp(eps) * q) / w
    w, gain = np.append(w, max(1.0 - w.sum(), 0.0)), np.append(gain, 0.0)
    sums, mass = gain, w
    for _ in range(n - 1):
        sums = np.add.outer(sums, gain).ravel()
        mass = np.multiply.outer(mass, w).ravel()
    return float(mass @ np.maximum(sums, 0.0)) / n


def random_case(rng):
    kind = rng.integers(4)
    low = float(rng.uniform(-1.0, 1.0))
    high = low + float(rng.uniform(0.5, 2.0))
    unit = high - low
    if kind == 0:
        mechanism = sd.Laplace(eps0=float(rng.uniform(0.3, 5.0)), low=low, high=high)
    elif kind == 1:
        mechanism = sd.Gaussian(sigma=float(rng.uniform(0.5, 3.0)) * unit, low=low, high=high)
    else:
        shape = float(rng.choice([0.7, 1.3, 1.5, 2.0, 3.0, 4.0]))
        scale = float(rng.uniform(0.7, 2.5)) * unit
        mechanism = sd.GeneralizedGaussian(shape=shape, scale=scale, low=low, high=high)
    others = [None, low, high, float(rng.uniform(low, high))][rng.integers(4)]
    inputs = [low, high] if rng.random() < 0.5 else [high, low]
    return mechanism, inputs, others


def pair_of(mechanism, x0, x1, others, n):
    if others is None:
        return blanket_pair(mechanism, x0, x1, n=n)
    return dataset_pair(mechanism, x0, x1, others, n=n)


def cases(fast, most):
    return [*range(fast), *(pytest.param(s, marks=pytest.mark.long) for s in range(fast, most))]


def holds(seed, n, width, count):
    """Whether both ends are where the independent cells say; how many brackets were looked at."""
    rng = np.random.default_rng([seed, n])
    mechanism, inputs, others = random_case(rng)
    law, coarse = (law_of(mechanism, *inputs, others, count // k) for k in (1, 2))
    profile = Profile(pair_of(mechanism, *inputs, others, n))
    for eps in (0.0, float(rng.uniform(0.02, 1.0))):
        least, before = (exact_ends(x, n, eps) for x in (law, coarse))
        if least < 1e-9:
            continue
        low, high = (math.exp(x) for x in profile.log_delta(eps, width=width))
        # Cells' means are below the truth. Twice as many are nearer, not evenly: 65, 130, 260 and
        # 390 cells of three users and a flat density add .00036, .00095 and .00022.
        assert high >= least * (1.0 - 1e-9)
        assert low <= least + 4.0 * (least - before) + 1e-12
        # Of so few users the density of a sum is only roughly known beforehand.
        assert high <= low * (1.0 + 50.0 * width)


@pytest.mark.parametrize("seed", cases(3, 24)[1:])
def test_two_users_against_independent_cells(seed):
    holds(seed, 2, WIDTH, 1200)


@pytest.mark.parametrize("seed", cases(1, 6))
def test_three_users_against_independent_cells(seed):
    holds(seed, 3, 0.02, 130)


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        (sd.Laplace(eps0=4.0), 1e-6),
        (sd.Gaussian(sigma=1.0), 1e-6),
        (sd.GeneralizedGaussian(shape=1.5, scale=1.0), 1e-6),
        (sd.TruncatedLaplace(eps0=2.0), 1e-6),
    ],
)
def test_more_users_and_one_end_at_a_time(mechanism, delta):
    ends = []
    for n in (10_000, 20_000):
        (pair,) = mechanism.worst_pairs().pairs
        upper = Profile(blanket_pair(mechanism, *pair, n=n))
        x = mechanism.datasets()[0]
        both = dataset_pair(mechanism, *x, n=n)
        lower = [Profile(both), Profile(both.swap())]
        high = upper_epsilon([upper], math.log(delta), cap=math.inf, rtol=1e-4)
        low = lower_epsilon(lower, math.log(delta), cap=math.inf, rtol=1e-4)
        assert low.low < high.high
        assert high.high < low.low * 1.5
        # Certified where it was found, and not far from there.
        assert upper.log_delta(high.high, width=WIDTH).high <= math.log(delta) + 2.0 * WIDTH
        assert upper.log_delta(high.high * 0.998, width=WIDTH).low > math.log(delta)
        ends.append((low.low, high.high))
    assert ends[1][0] < ends[0][0]
    assert ends[1][1] < ends[0][1]


def test_a_heavy_tail_is_seen():
    """Single gains decide: both ends meet, and the lower one is not lost."""
    mechanism, n = sd.Gaussian(sigma=0.5), 10_000
    upper = Profile(blanket_pair(mechanism, 0.0, 1.0, n=n)).log_delta(1.95, width=WIDTH)
    lower = Profile(dataset_pair(mechanism, 0.0, 1.0, 1.0, n=n)).log_delta(1.94, width=WIDTH)
    assert upper.high == pytest.approx(-13.8136, abs=5e-3)
    assert upper.width < 4.0 * WIDTH
    assert lower.low == pytest.approx(-13.8136, abs=5e-3)


@pytest.mark.parametrize("epsilon", [0.5, 0.75])
def test_least_deltas_of_noise(epsilon):
    """Estimates see outputs that decide deltas of 1e-46 and 1e-53: 0 and 1 were the ends."""
    profile = Profile(dataset_pair(sd.Gaussian(sigma=2.0), 1.0, 0.0, 0.0, n=2000))
    found = profile.log_delta(epsilon, width=1e-2)
    assert math.log(1e-54) < found.low <= found.high < math.log(1e-45)
    assert found.width < 4e-2
