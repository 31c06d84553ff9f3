"""Sums, errors and ends whose rounding is known: against fractions and balls, and never clipped."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from divergence.oracle import ball
from shuffledp.divergence.gain import cell_gains, plain_law
from shuffledp.divergence.nodes import node_blocks
from shuffledp.divergence.positive_part import expected_positive_part
from shuffledp.divergence.tilt import find_tilt
from shuffledp.numerics.rounding import capped, grown, halved_sum
from shuffledp.pair import RatioRanges, ShuffledPair
from shuffledp.reductions import blanket_pair

U = 2.0**-53


# ------------------------------------------------------------------------------------------ sums


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 4097, 40_001])
@pytest.mark.parametrize("kind", ["one sign", "cancelling", "falling", "one large"])
def test_halved_sums_are_within_their_error(size, kind):
    rng = np.random.default_rng(size)
    terms = rng.random(size)
    if kind == "cancelling":
        terms = np.concatenate([terms, -terms[::-1] * (1.0 - 1e-14)])
    if kind == "falling":
        terms *= 2.0 ** -np.arange(size) * np.where(np.arange(size) % 2, -1.0, 1.0)
    if kind == "one large" and size:
        terms[0] = 2.0**53
    exact = sum(map(Fraction, terms.tolist()), Fraction(0))
    total, error = halved_sum(terms.reshape(1, -1))
    assert abs(Fraction(total) - exact) <= Fraction(error)
    least = math.ceil(math.log2(max(terms.size / 128, 1))) + 1
    assert error <= 1.01 * least * U * float(np.abs(terms).sum()) + 1e-300


def test_halved_sums_lose_as_much_as_they_say():
    """Every addition rounds down by nearly half a unit: the bound is sharp to a factor of 3."""
    terms = np.concatenate([np.ones(1 << 12), np.full(1 << 12, 2.0**-53 * 0.999)])
    exact = sum(map(Fraction, terms.tolist()), Fraction(0))
    total, error = halved_sum(terms)
    assert Fraction(error) / 20 <= abs(Fraction(total) - exact) <= Fraction(error)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_has_no_sum(bad):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total, error = halved_sum(np.array([1.0, bad, 2.0, -bad]))
    assert math.isnan(total)
    assert error == math.inf


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("log_size", [-800.0, -30.0, 0.0, 150.0, 199.0, 201.0, 400.0, 680.0, 900.0])
@pytest.mark.parametrize("relative", [0.0, 1e-300, 1e-12, 0.5, 1.0, 3.0, 800.0])
def test_errors_are_never_clipped(log_size, relative):
    found = float(grown(np.array([log_size]), np.array([relative]))[0])
    if found == math.inf:
        assert log_size + relative > 600.0
        return
    exact = ball(log_size).exp() * ball(relative).expm1()
    assert exact <= ball(found) * (1 + ball(1e-13))
    most = exact if relative < 1.0 else exact + ball(log_size).exp()
    assert ball(found) <= most * ball(1.0 + 1e-9) + ball(1.1e-320)


def test_nothing_is_off_by_more_than_there_is():
    """err >= mass: the value is 0 and off by the mass; what is not a number is left behind too."""
    value = np.array([0.5, 3.0, math.nan, math.inf, 0.25, -1.0]) + 0j
    err = np.array([0.1, 9.0, 0.1, math.inf, math.nan, 1.0])
    value[2] = math.nan
    err[2] = math.nan
    kept, off = capped(value, err, 1.0)
    assert kept.tolist() == [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert off.tolist() == [0.1, 1.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.many(1)
@pytest.mark.parametrize("n", [20, 1000])
@pytest.mark.parametrize("rare", [False, True])
def test_tilts_out_of_range_say_nothing(n, rare):
    """alpha max G from 600 to 1e6: an end that holds or none at all, no NaN and no warning."""
    w, g = np.array([0.5, 1e-310]), np.array([-1.0, 1e4])
    law = plain_law(w, g, mean=-0.5)
    # E[S]_+ <= n E[G]_+, and at least one large message pays all but n.
    highest = ball(n) * ball(w[1]) * ball(g[1])
    truth = highest * (ball(1) - ball(n) / ball(g[1]))
    for alpha in (0.06, 0.069, 0.0695, 0.1, 100.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tilt = find_tilt(law, n, start=alpha, force_rare=rare)
            found = expected_positive_part(law, n, tilt, width=1e-3)[0]
        assert found.low <= found.high
        assert ball(found.high).exp() >= truth if found.high < 700 else True
        if found.low > -math.inf:
            assert ball(found.low).exp() <= highest


def test_nodes_are_off_by_no_more_than_the_mass():
    """Gains known to 0.4 only: far from the axis nothing is known but the mass itself."""
    w, g = np.array([0.3, 0.3]), np.array([-1.0, 1.0])
    law = replace(plain_law(w, g, mean=0.0), g_err=np.full(2, 0.4), mean_err=1e-3)
    for n in (5, 400):
        tilt = find_tilt(law, n)
        mass = 0.0
        for block in node_blocks(law, n, tilt, step=0.05, count=2000):
            if block.first:
                mass = float(block.value.flat[0].real + block.err.flat[0])
            assert np.isfinite(block.err).all()
            assert (block.err <= mass * (1.0 + 1e-6)).all()
            size = np.abs(block.value)
            assert (size <= mass * (1.0 + 1e-6)).all()
            # Where the error is the mass there is no value.
            assert (size[block.err >= mass * 0.999] <= 1e-6 * mass).all()


@pytest.mark.parametrize(("seed", "pairs"), [(7, 12), pytest.param(8, 100, marks=pytest.mark.long)])
def test_random_extreme_pairs_have_ordered_ends(seed, pairs):
    rng = np.random.default_rng(seed)
    for _ in range(pairs):
        count = int(rng.integers(1, 6))
        w = 10.0 ** rng.uniform(-305, 0, count)
        w /= max(1.0, w.sum() * 1.001)
        a = np.minimum(10.0 ** rng.uniform(-5, 295, count), 0.9 / count / w)
        b = np.minimum(a * 10.0 ** rng.uniform(-3, 1, count), 0.9 / count / w)
        rest = np.maximum(1.0 - np.array([(w * a).sum(), (w * b).sum()]), 0.0)
        pair = ShuffledPair(w=w, a=a, b=b, n=int(10 ** rng.uniform(1, 9)), outside=np.diag(rest))
        profile = sd.divergence.PairProfile(pair)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for epsilon in (0.0, 0.3, 5.0):
                found = profile.log_delta(epsilon, width=1e-3)
                assert found.low <= found.high <= 0.0


# ------------------------------------------------------------------------------ variance of a cell


@pytest.mark.parametrize("moved", [0.0, 1e-12, 1e-6, 1e-3])
def test_variance_of_a_cell_whose_ends_were_moved_outward(moved):
    """The uniform law between the true ends: its variance is inside what is said of it."""
    low, high = np.array([1.0, 0.5]), np.array([1.01, 0.5001])
    grow = 1.0 + moved
    ends = (low / grow, high * grow, np.ones(2), np.ones(2))
    ranges = RatioRanges(*ends, np.zeros(2), blur=np.full(2, 2.01 * moved))
    mean = 0.5 * (low + high)
    w = np.full(2, 0.25)
    outside = np.array([[1.0 - (w * mean).sum(), 0.5]])
    pair = ShuffledPair(w=w, a=mean, b=np.ones(2), n=100, outside=outside, ranges=ranges, rel=1e-16)
    for found in (cell_gains(pair, 0.0), cell_gains(pair.swap().swap(), 0.0)):
        truth = (high - low) ** 2 / 12.0
        assert (np.abs(found.variance - truth) <= found.variance_err * (1.0 + 1e-9)).all()
        assert (found.density <= 1.0 / (high - low)).all()
    # A part of the pair knows as much.
    part = replace(pair, ranges=pair.ranges.part(slice(0, 1)))
    assert part.ranges.blur.shape == (1,)


@pytest.mark.parametrize(
    "mechanism",
    [sd.Laplace(eps0=1.0), sd.Laplace(eps0=6.0), sd.Gaussian(sigma=1.0)],
    ids=str,
)
def test_laws_say_how_far_their_ends_were_moved(mechanism):
    law = mechanism.law((0.0, 1.0), cells=1 << 16)
    pair = blanket_pair(mechanism, 0.0, 1.0, n=50, cells=1 << 16)
    assert (pair.ranges.blur >= 2.0 * np.max(law.edges.err)).all()
    gains = cell_gains(pair, 0.5)
    known = gains.variance_err < gains.variance
    assert known.any()
    for i in np.flatnonzero(known)[:: max(1, known.sum() // 40)]:
        width = ball(gains.high[i]) - ball(gains.low[i])
        most = width * width / 12
        assert ball(gains.variance[i] + gains.variance_err[i]) >= most * (1 - ball(1e-9))
