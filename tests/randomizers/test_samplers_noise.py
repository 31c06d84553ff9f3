"""Noise on a lattice: exact cells of the Laplace and the normal law, and what is made of them."""

import math
from decimal import Decimal

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

import shuffledp as sd
from randomizers.sources import LEAST_P_VALUE, Script, fits
from shuffledp.randomizers import noise
from shuffledp.randomizers.noise import laplace_cells, laplace_reach, normal_cells, to_lattice
from shuffledp.randomness import BITS, SeededSource

SIZE = 200_000


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(1500):
        yield


# ----------------------------------------------------------------------------------- the cells


@pytest.mark.parametrize("step", ["0.01", "0.7", "5"])
def test_binary_digits_of_a_geometric_number(step):
    """Products of the digits' chances are (1 - r) r^j, r = e^-step, to all 1280 digits."""
    chances = [
        arb(int.from_bytes(d, "big")) / arb(2) ** BITS for d in noise._digit_chances(Decimal(step))
    ]
    assert len(chances) == math.ceil(math.log2(noise.FARTHEST / float(step)))
    ratio = (-arb(step)).exp()
    for j in (0, 1, 2, 5, 63, 100):
        if j >> len(chances):
            continue
        product = arb(1)
        for i, p in enumerate(chances):
            product = product * (p if j >> i & 1 else 1 - p)
        assert abs(product / ((1 - ratio) * ratio**j) - 1) < arb(2) ** -250


@pytest.mark.parametrize("step", ["0.05", "0.7", "3"])
def test_laplace_cells_have_their_law(step):
    cells = laplace_cells(Decimal(step), SIZE, SeededSource(3))
    reach = min(laplace_reach(Decimal(step)), int(40 / float(step)))
    edges = np.arange(-reach, reach + 1) * float(step)
    counts = np.bincount(cells + reach, minlength=2 * reach)
    assert fits(counts, np.diff(stats.laplace.cdf(edges))) > LEAST_P_VALUE
    shifted = np.diff(stats.laplace.cdf(edges + 0.03))
    assert fits(counts, shifted) < LEAST_P_VALUE


@pytest.mark.parametrize("bits", [1, 2, 4, 6])
def test_normal_cells_have_their_law(bits):
    cells = normal_cells(bits, SIZE, SeededSource(bits))
    reach = 10 << bits
    edges = np.arange(-reach, reach + 1) / 2.0**bits
    counts = np.bincount(cells + reach, minlength=2 * reach)
    assert fits(counts, np.diff(stats.norm.cdf(edges))) > LEAST_P_VALUE
    assert fits(counts, np.diff(stats.norm.cdf(edges * 1.02))) < LEAST_P_VALUE


def test_fine_cells_have_uniform_low_bits():
    for cells in (
        normal_cells(57, SIZE, SeededSource(1)),
        laplace_cells(Decimal(2.0**-33), SIZE, SeededSource(2)),
    ):
        assert fits(np.bincount(cells & 255, minlength=256), np.ones(256)) > LEAST_P_VALUE


def test_doubtful_draws_are_settled_as_the_others_are():
    """Every draw settled by further digits: the same answers as floats give."""
    source = SeededSource(9)
    k = source.below(5, 400)
    x, coin = source.words(400), source.words(400)
    fast = noise._kept(k, x, coin, Script([]))
    slow = noise._kept(k, x, coin, source, doubt=2.0)
    assert np.array_equal(fast, slow)
    assert 50 < fast.sum() < 350


@pytest.mark.parametrize(("k", "x"), [(0, 2**63), (1, 12345678901234567890), (3, 3)])
def test_draws_that_64_digits_leave_open(k, x):
    """The coin's first digits are those of the chance itself: further digits decide."""
    place = arb(x) / arb(2) ** 64
    chance = (-(place * (2 * k + place)) / 2).exp()
    tie = int((chance * arb(2) ** 64).floor().unique_fmpz())
    words = np.array([x], dtype=np.uint64), np.array([min(tie, 2**64 - 1)], dtype=np.uint64)
    for more, wanted in (((0, 0), True), ((0, 2**64 - 1), False)):
        # With zeros behind x the chance is as above: is the coin's second word below its own?
        source = Script([*more, 0, 0, 0, 0])
        assert bool(noise._kept(np.array([k]), *words, source)[0]) is wanted
        assert len(source.left) < 6


def test_lattice_points_are_unbiased():
    source = SeededSource(4)
    for place, points in ((0.0, 8), (1.0, 8), (0.3, 1), (0.3, 10), (0.123, 1000)):
        found = to_lattice(np.full(50_000, place), points, source)
        exact = place * points
        assert set(found) <= {math.floor(exact), math.ceil(exact)}
        up = exact - math.floor(exact)
        if up:
            counts = [(found == math.floor(exact)).sum(), (found == math.ceil(exact)).sum()]
            assert fits(counts, [1 - up, up]) > LEAST_P_VALUE


# ------------------------------------------------------------------------------ the mechanisms

MECHANISMS = [
    sd.Laplace(eps0=1.0),
    sd.Laplace(eps0=0.01, low=-3.0, high=5.0),
    sd.Laplace(eps0=300.0, low=2.0, high=2.5),
    sd.Laplace(eps0=2.0, binary=True),
    sd.Laplace(eps0=1e-12),
    sd.Gaussian(sigma=1.0),
    sd.Gaussian(sigma=1e-4),
    sd.Gaussian(sigma=100.0, low=-1.0, high=2.0),
    sd.Gaussian(sigma=3e9),
]


def law_of(r, x):
    if isinstance(r, sd.Laplace):
        return stats.laplace(loc=x, scale=(r.high - r.low) / r.eps0)
    return stats.norm(loc=x, scale=r.noise)


@pytest.mark.many(5)
@pytest.mark.parametrize("r", MECHANISMS, ids=repr)
def test_reports_have_the_law(r):
    places = (0.0, 1.0) if getattr(r, "binary", False) else (0.0, 0.37, 1.0)
    for i, place in enumerate(places):
        x = r.low + place * (r.high - r.low)
        reports = r.simulate(np.full(50_000, x), seed=i)
        assert reports.dtype == np.float64
        assert stats.kstest(reports, law_of(r, x).cdf).pvalue > LEAST_P_VALUE
        off = law_of(r, x + 0.05 * law_of(r, x).std())
        assert stats.kstest(reports, off.cdf).pvalue < LEAST_P_VALUE


@pytest.mark.parametrize("r", MECHANISMS, ids=repr)
def test_estimates_are_within_their_errors(r):
    values = r.low + (r.high - r.low) * (np.arange(40_000) % 2)
    reports = r.simulate(values, seed=11)
    found = r.estimate(reports)
    assert found.n == 40_000
    assert found.standard_error == pytest.approx(math.sqrt(r.variance() / 40_000), rel=1e-12)
    assert abs(found.mean - values.mean()) < 5 * found.standard_error
    # Var of the squared noise: kurtosis 6 (Laplace) or 3 (normal).
    noise_of = reports - values
    kurtosis = 6.0 if isinstance(r, sd.Laplace) else 3.0
    assert abs(np.mean(noise_of**2) / r.variance() - 1.0) < 5 * math.sqrt((kurtosis - 1) / 40_000)


@pytest.mark.parametrize("r", MECHANISMS, ids=repr)
def test_aggregates_merge(r):
    reports = r.simulate(np.full(1000, r.low), seed=1)
    merged = r.aggregate(reports[:300]) + r.aggregate(reports[300:])
    whole = r.aggregate(reports)
    assert merged.count == 1000
    assert merged.sums == pytest.approx(whole.sums, rel=1e-12, abs=1e-9 * whole.sums[1] ** 0.5)
    assert r.estimate(merged).standard_error == r.estimate(reports).standard_error


def test_laplace_variance_is_that_of_the_lattice():
    """Cells have variance g^2 (1/(2 sinh^2(h/2)) + 1/4), inputs add at most g^2/4: below 2^-60."""
    # The formula, by summing over cells in balls.
    h = arb("0.9")
    ratio = (-h).exp()
    total = sum(((1 - ratio) * ratio**j * (arb(j) + arb("0.5")) ** 2 for j in range(600)), arb(0))
    sinh = (h / 2).exp() / 2 - (-h / 2).exp() / 2
    assert abs(total - (1 / (2 * sinh**2) + arb("0.25"))) < arb(2) ** -200
    for eps0 in (2.0**-50, 1e-9, 0.3, 1.0, 300.0):
        r = sd.Laplace(eps0=eps0)
        h = arb(eps0) / arb(2) ** r._bits
        sinh = (h / 2).exp() / 2 - (-h / 2).exp() / 2
        cells = (1 / (2 * sinh**2) + arb("0.25")) / arb(4) ** r._bits
        whole = cells + arb("0.25") / arb(4) ** r._bits
        assert abs(cells / arb(r.variance()) - 1) < arb(2) ** -50
        assert abs(whole / (2 / arb(eps0) ** 2) - 1) < arb(2) ** -60


@pytest.mark.parametrize("sigma", [1e-4, 0.01, 0.3, 1.0, 7.7, 1e3, 6e4, 1e9])
def test_gaussian_noise_is_not_less_than_sigma(sigma):
    for low, high in ((0.0, 1.0), (-0.1, 0.2), (1.0, 1.7)):
        if (high - low) / sigma > 1e4:
            continue
        r = sd.Gaussian(sigma=sigma, low=low, high=high)
        bits, steps = r._lattice
        exact = (arb(high) - arb(low)) / steps * arb(2) ** bits
        assert exact >= arb(sigma)
        assert r.noise == pytest.approx(sigma, rel=2.0**-20)
        if sigma <= 2**16 * (high - low):
            assert exact <= arb(sigma) * (1 + arb(2) ** -40)
        assert bits <= 57
        assert steps < 2**53


def test_reports_are_points_of_a_lattice():
    """Nothing of the value's last bits is in a report: it is the middle of one of the cells."""
    r = sd.Laplace(eps0=1.0)
    reports = r.simulate(np.random.default_rng(1).random(10_000), seed=2)
    assert np.array_equal(reports * 2**33 - 0.5, np.floor(reports * 2**33))
    r = sd.Gaussian(sigma=1.0)
    bits, steps = r._lattice
    assert steps == 2**bits == 2**40
    reports = r.simulate(np.random.default_rng(1).random(10_000), seed=2)
    assert np.array_equal(reports * 2**40 - 0.5, np.floor(reports * 2**40))


def test_too_much_noise_for_a_sampler():
    for r in (sd.Laplace(eps0=1e-16), sd.Gaussian(sigma=1e12)):
        with pytest.raises(sd.NotCertified, match="no sampler"):
            r.randomize([0.5])


NEXT = [
    sd.DiscreteLaplace(top=1, eps0=3e-19),
    sd.Staircase(eps0=1e-19),
]


@pytest.mark.parametrize("r", NEXT, ids=repr)
def test_noise_beyond_64_bits_is_refused(r):
    """Cells were shifted past 63 bits: a standard deviation of 3.4e18, where 4.7e18 is stated."""
    for ask in (r.randomize, r.estimate):
        with pytest.raises(sd.NotCertified, match=rf"{r.name}: eps0.* = .*: no sampler below 2"):
            ask([0, 0])
    assert r.variance() > 1e36
    assert sd.shuffle(r, n=5).epsilon(delta=1e-6).lower == 0.0


@pytest.mark.parametrize("r", [sd.DiscreteLaplace(top=1, eps0=2.3e-16), sd.Staircase(eps0=2.3e-16)])
def test_noise_next_to_64_bits_is_as_stated(r):
    reports = r.simulate(np.zeros(100_000, dtype=np.int64), seed=1).astype(np.float64)
    # The fourth moment is 6 variances squared: the root is right to sqrt(5/400,000) = 0.35 %.
    assert reports.std() == pytest.approx(math.sqrt(r.variance()), rel=0.02)


def test_cells_of_too_small_steps_are_refused():
    with pytest.raises(sd.NotCertified, match="no sampler"):
        laplace_cells(Decimal("1e-19"), 10, SeededSource(1))


@pytest.mark.parametrize("eps0", [1e-3, 0.5, 3.0, 300.0])
@pytest.mark.parametrize("width", [None, 0.3])
def test_the_staircase_s_variance_is_the_sum_over_its_steps(eps0, width):
    r = sd.Staircase(eps0=eps0, width=width, low=-2.0, high=5.0)
    g, b = arb(r.width), (-arb(eps0)).exp()
    top = (1 - b) / (2 * (g + b * (1 - g)))
    inner = [(k + g) ** 3 - arb(k) ** 3 for k in range(3)]
    outer = [(k + arb(1)) ** 3 - (k + g) ** 3 for k in range(3)]
    # Cubes are polynomials of degree 2 in k: sums of b^k k^j in closed form.
    powers = [1 / (1 - b), b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3]

    def summed(values):
        second = (values[2] - 2 * values[1] + values[0]) / 2
        first = values[1] - values[0] - second
        return values[0] * powers[0] + first * powers[1] + second * powers[2]

    exact = 49 * 2 * top * (summed(inner) + b * summed(outer)) / 3
    assert r.variance() == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("r", MECHANISMS, ids=repr)
def test_bad_values_and_reports_are_refused(r):
    with pytest.raises(sd.ParameterError, match=r"values\[1\] = "):
        r.randomize([r.low, r.high + 1.0])
    with pytest.raises(sd.ParameterError, match=r"values\[0\] = nan"):
        r.randomize([math.nan])
    far = r.high + 1e5 * math.sqrt(r.variance())
    for bad in (far, -far, math.nan, math.inf):
        with pytest.raises(sd.ParameterError, match=r"reports\[1\] = "):
            r.aggregate(np.array([r.low, bad]))
    with pytest.raises(sd.ParameterError, match="at least one report"):
        r.estimate(np.array([]))
    if getattr(r, "binary", False):
        with pytest.raises(sd.ParameterError, match=r"values\[0\] = 0.5: wanted 0 or 1"):
            r.randomize([0.5])
    assert r.message_bits == 64.0
