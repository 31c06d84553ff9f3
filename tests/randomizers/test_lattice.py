"""Discrete Laplace and discrete Gaussian: laws, worst pairs and bounds by enumeration, samplers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball, exponential, worst_delta
from laws import law_of
from randomizers.sources import LEAST_P_VALUE, fits

DL, DG = sd.DiscreteLaplace, sd.DiscreteGaussian
SMALL = [
    DL(top=1, eps0=0.7),
    DL(top=3, eps0=2.0),
    DL(top=4, eps0=2.0, clamped=True),
    DL(top=4, eps0=30.0),
    DL(top=5, eps0=300.0),
    DL(top=6, eps0=0.01),
    DG(top=1, sigma=0.5),
    DG(top=3, sigma=1.3),
    DG(top=2, sigma=0.05),
    DG(top=4, sigma=2.0, clamped=True),
    DG(top=3, sigma=1.0, clamped=True, margin=2),
    DG(top=3, sigma=0.2, clamped=True, margin=1),
]


def pmf(randomizer, k):
    """P(K = k), to 60 digits and more."""
    if isinstance(randomizer, DL):
        a = (-ball(randomizer.eps0) / randomizer.top).exp()
        return (1 - a) / (1 + a) * a ** abs(k)
    return gaussian_weight(randomizer.sigma, k) / norm(randomizer.sigma)


def gaussian_weight(sigma, k):
    return (-arb(k * k) / (2 * ball(sigma) ** 2)).exp()


NORMS = {}


def norm(sigma):
    if sigma not in NORMS:
        reach = math.ceil(22 * sigma) + 1
        NORMS[sigma] = sum((gaussian_weight(sigma, k) for k in range(-reach, reach + 1)), arb(0))
    return NORMS[sigma]


def channel(randomizer, reach):
    """Rows of all inputs, outputs -reach .. top + reach; beyond joins the last ones."""
    rows = []
    low, high = -reach, randomizer.top + reach
    if randomizer.clamped:
        low, high = max(low, -randomizer._margin), min(high, randomizer.top + randomizer._margin)
    far = range(1, math.ceil(24 * spread(randomizer)) + 9)
    for x in range(randomizer.top + 1):
        row = [pmf(randomizer, y - x) for y in range(low, high + 1)]
        if isinstance(randomizer, DL):
            a = (-ball(randomizer.eps0) / randomizer.top).exp()
            row[0], row[-1] = a ** (x - low) / (1 + a), a ** (high - x) / (1 + a)
        else:
            row[0] += sum((pmf(randomizer, low - x - j) for j in far), arb(0))
            row[-1] += sum((pmf(randomizer, high - x + j) for j in far), arb(0))
        rows.append(row)
    return rows


def spread(randomizer):
    if isinstance(randomizer, DL):
        return min(3.0 * randomizer.top / randomizer.eps0, 2000.0)
    return randomizer.sigma


def reach_of(randomizer):
    return 0 if isinstance(randomizer, DL) else math.ceil(16.0 * randomizer.sigma)


@pytest.mark.parametrize("randomizer", SMALL, ids=repr)
def test_law_against_the_whole_output_distribution(randomizer):
    """Every class of the law is an output (ends: everything beyond), in order, in balls."""
    law = law_of(randomizer, tuple(range(randomizer.top + 1)))
    columns = list(zip(*channel(randomizer, reach_of(randomizer)), strict=True))
    # Where outputs do not end, look at those that are not next to impossible.
    unending = isinstance(randomizer, DG) and not randomizer.clamped
    least = 1e-40 if unending else 1e-290
    columns = [c for c in columns if max(float(p) for p in c) > least]
    found = np.vstack([law.mass, law.blanket]).T
    found = found[law.mass.max(axis=0) > least]
    assert len(found) == len(columns)
    for values, column in zip(found, columns, strict=True):
        wanted = [*column, min(column, key=float)]
        for value, p in zip(values, wanted, strict=True):
            if p > 1e-290:
                assert abs(ball(float(value)) - p) <= ball(law.rel) * p + arb(10) ** -90
            else:
                assert value <= 1e-289
    assert law.mass.sum() == pytest.approx(randomizer.top + 1, rel=1e-12)


CHECKED = [*SMALL[1:3], *SMALL[6:8], *SMALL[9:12]]


def rational_rows(randomizer):
    """The channel with rows rounded to multiples of 2^-200 that sum to one."""
    rows = []
    for row in channel(randomizer, min(reach_of(randomizer), 4)):
        scaled = [int((p * 2**200).floor().mid().unique_fmpz()) for p in row]
        scaled[int(np.argmax([float(s) for s in scaled]))] += 2**200 - sum(scaled)
        rows.append([Fraction(s, 2**200) for s in scaled])
    return rows


@pytest.mark.many(3)
@pytest.mark.parametrize("randomizer", CHECKED, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_bounds_hold_the_exact_divergence(randomizer, n):
    """lower <= exact <= upper over all datasets; coarser outputs only for what is unbounded."""
    if n == 3 and (randomizer.top > 3 or randomizer == SMALL[7]):
        return
    rows = rational_rows(randomizer)
    exactly = isinstance(randomizer, DL) or randomizer.clamped
    for epsilon in (0.0, 0.4, 1.1):
        low, high = exponential(epsilon)
        most, least = worst_delta(rows, n, [low, high])
        bound = sd.shuffle(randomizer, n=n).delta(epsilon=epsilon)
        slack = Fraction(1, 2**150)
        assert Fraction(bound.upper) >= least - slack
        if exactly:
            assert Fraction(bound.lower) <= most + slack
            if n == 1:
                assert bound.upper <= float(most) * (1 + 1e-9)


@pytest.mark.parametrize(
    "randomizer",
    [
        DL(top=4, eps0=2.0),
        DL(top=5, eps0=0.5, clamped=True),
        DG(top=4, sigma=1.5),
        DG(top=5, sigma=3.0, clamped=True),
        DG(top=4, sigma=0.8, clamped=True, margin=1),
        DG(top=5, sigma=1.2, clamped=True, margin=3),
    ],
    ids=repr,
)
def test_end_points_are_the_worst_pair(randomizer):
    """J(x0, x1) = sum (P - cQ - tB)_+ is largest at the ends, for all c, t >= 0 tried."""
    rows = channel(randomizer, reach_of(randomizer))
    columns = list(zip(*rows, strict=True))
    blanket = [min(column, key=float) for column in columns]
    top = randomizer.top

    def value(x0, x1, c, t):
        parts = (p[x0] - c * p[x1] - t * b for p, b in zip(columns, blanket, strict=True))
        return sum((part for part in parts if part > 0), arb(0))

    for c, t in itertools.product((0.0, 0.2, 0.9, 1.0, 1.3, 4.0), (0.0, 0.1, 0.7, 1.0, 1.5, 6.0)):
        worst = value(0, top, ball(c), ball(t))
        for x0, x1 in itertools.permutations(range(top + 1), 2):
            assert value(x0, x1, ball(c), ball(t)) <= worst + arb(10) ** -60, (x0, x1, c, t)


def test_a_clamp_that_is_not_in_the_middle_has_another_worst_pair():
    """Why the theorem asks for the same middle: the two directions of the ends differ then."""
    kernel = [float(pmf(DG(top=2, sigma=1.0), k)) for k in range(-12, 13)]

    def row(x):  # clamped to 0 .. 12
        made = np.zeros(13)
        for k, p in enumerate(kernel):
            made[min(max(x + k - 12, 0), 12)] += p
        return made

    rows = [row(x) for x in range(3)]
    blanket = np.min(rows, axis=0)

    def value(x0, x1, c, t):
        return np.maximum(rows[x0] - c * rows[x1] - t * blanket, 0.0).sum()

    assert value(2, 0, 1.0, 20.0) > value(0, 2, 1.0, 20.0) + 1e-3


@pytest.mark.parametrize(
    "randomizer", [DG(top=3, sigma=1.0, clamped=True, margin=2), DG(top=4, sigma=2.0, clamped=True)]
)
def test_clamped_local_guarantee(randomizer):
    rows = channel(randomizer, reach_of(randomizer))
    largest = max(
        float((p / q).log()) for column in zip(*rows, strict=True) for p in column for q in column
    )
    assert largest <= randomizer.eps0 <= largest * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-100])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 20.0])
def test_local_epsilon(sigma, delta):
    randomizer = DG(top=3, sigma=sigma)
    eps = ball(randomizer.local_epsilon(delta)).exp()
    reach = math.ceil(30 * sigma)
    pairs = [(pmf(randomizer, k), pmf(randomizer, k - 3)) for k in range(-reach, reach)]
    total = sum((p - eps * q for p, q in pairs if p - eps * q > 0), arb(0))
    assert total <= ball(delta)


@pytest.mark.many(4)
@pytest.mark.parametrize(
    "randomizer", [*SMALL[:4], SMALL[5], SMALL[6], SMALL[7], *SMALL[9:11]], ids=repr
)
@pytest.mark.parametrize("x", [0, 1])
def test_sampler_against_the_law(randomizer, x):
    reports = randomizer.simulate(np.full(60_000, x), seed=11)
    assert reports.dtype == np.int64
    reach = math.ceil(6 * spread(randomizer)) + 3
    low, high = -reach, randomizer.top + reach
    if randomizer.clamped:
        assert reports.min() >= -randomizer._margin
        assert reports.max() <= randomizer.top + randomizer._margin
        low, high = -randomizer._margin, randomizer.top + randomizer._margin
    outputs = np.arange(low, high + 1)
    chances = np.array([float(pmf(randomizer, int(y) - x)) for y in outputs])
    tails = [
        sum(float(pmf(randomizer, int(end) - x + sign * j)) for j in range(1, 12 * reach))
        for end, sign in ((low, -1), (high, 1))
    ]
    chances[[0, -1]] += tails
    clipped = np.clip(reports, low, high)
    assert fits(np.bincount(clipped - low, minlength=outputs.size), chances) > LEAST_P_VALUE


@pytest.mark.parametrize("randomizer", [*SMALL[:5], *SMALL[6:9]], ids=repr)
def test_estimator_mean_and_variance(randomizer):
    """By sums over every report: unbiased for every input, and of the stated variance."""
    reach = math.ceil(90 * spread(randomizer)) + 2
    outputs = np.arange(-reach, randomizer.top + reach + 1)
    variances = []
    for x in range(randomizer.top + 1):
        p = np.array([float(pmf(randomizer, int(y) - x)) for y in outputs])
        values = randomizer._unbiased(np.clip(outputs, *clamp(randomizer)))
        mean = math.fsum(p * values)
        assert mean == pytest.approx(x, abs=1e-9 * (1 + abs(values).max()))
        variances.append(math.fsum(p * (values - x) ** 2))
    assert max(variances) == pytest.approx(randomizer.variance(), rel=1e-6, abs=1e-12)


def clamp(randomizer):
    return (0, randomizer.top) if randomizer.clamped else (-(10**9), 10**9)


def test_estimate_of_simulated_reports():
    for randomizer in (SMALL[1], SMALL[2], SMALL[7]):
        values = np.random.default_rng(4).integers(0, randomizer.top + 1, 20_000)
        found = randomizer.estimate(randomizer.simulate(values, seed=9))
        assert abs(found.mean - values.mean()) <= 5.5 * found.standard_error
    with pytest.raises(sd.NotCertified, match="unbiased"):
        SMALL[9].estimate(SMALL[9].simulate([0, 1], seed=1))
    with pytest.raises(sd.NotCertified, match="unbiased"):
        SMALL[9].variance()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DL(top=0, eps0=1.0), "top"),
        (lambda: DL(top=3, eps0=0.0), "eps0"),
        (lambda: DL(top=3, eps0=1.0, clamped=1), "clamped"),
        (lambda: DG(top=3, sigma=0.0), "sigma"),
        (lambda: DG(top=3, sigma=1e6), "integers"),
        (lambda: DG(top=3, sigma=1.0, margin=1), "margin"),
        (lambda: DG(top=3, sigma=1.0, clamped=True, margin=-1), "margin"),
        (lambda: law_of(SMALL[1], (0, 4)), "input"),
        (lambda: SMALL[1].randomize([0, 4]), "values"),
        (lambda: SMALL[1].aggregate(np.array([0.5])), r"reports\[0\] = 0.5"),
        (lambda: SMALL[2].aggregate(np.array([0, 5])), r"reports\[1\] = 5"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(sd.ParameterError, match=message):
        make()


def test_message_bits():
    assert SMALL[1].message_bits == 64.0
    assert SMALL[2].message_bits == math.log2(5)
    assert SMALL[10].message_bits == 3.0
