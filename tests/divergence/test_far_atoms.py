"""Atoms of next to no mass: counted in full instead, they leave brackets narrow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.divergence import PairProfile
from shuffledp.divergence.scattered import scattered_gains, scattered_trim
from shuffledp.numerics.merging import as_cells
from shuffledp.pair import ShuffledPair


@pytest.mark.many(2)
@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize(("sigma", "n"), [(4.0, 100), (4.0, 1000), (6.0, 200)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_discrete_gaussian_noise_is_its_clamped_twin(sigma, n, rate, epsilon):
    """Clamping 12 sigma out changes delta by less than 1e-30; the plain one had no lower end."""
    twins = [
        sd.DiscreteGaussian(top=2, sigma=sigma),
        sd.DiscreteGaussian(top=2, sigma=sigma, clamped=True, margin=round(12.0 * sigma)),
    ]
    if rate < 1.0:
        twins = [sd.PoissonSubsample(twin, rate=rate) for twin in twins]
    plain, clamped = (sd.shuffle(twin, n=n) for twin in twins)
    found, exact = plain.delta(epsilon=epsilon), clamped.delta(epsilon=epsilon)
    assert exact.lower <= found.upper * (1.0 + 1e-12) + 1e-30
    assert found.lower <= exact.upper * (1.0 + 1e-12) + 1e-30
    assert found.lower == pytest.approx(exact.lower, rel=1e-4)
    assert found.lower > 0.0
    assert found.upper_width is None or found.upper_width < 1e-4
    if rate == 1.0:
        # Samples of clamped noise have a bound of any randomizer's alone.
        assert found.upper == pytest.approx(exact.upper, rel=1e-4)


@st.composite
def far_pairs(draw):
    """Atoms from 1 down to 1e-9 and less, and ratios up to e^12 where they are rare."""
    size = draw(st.integers(3, 7))
    w = np.array([10.0 ** draw(st.floats(-9.0, 0.0)) for _ in range(size)])
    w[0] = 1.0
    w *= draw(st.sampled_from([0.5, 0.9])) / w.sum()
    p, q = (w * np.exp([draw(st.floats(-12.0, 12.0)) for _ in range(size)]) for _ in "pq")
    p, q = p / p.sum(), q / q.sum()
    return ShuffledPair(w, p / w, q / w, draw(st.integers(2, 5)))


@given(pair=far_pairs(), epsilon=st.floats(0.0, 3.0), level=st.floats(-8.0, -0.5))
def test_what_is_left_out_is_counted(pair, epsilon, level):
    """Lemma 6.22, at levels where it shows: without some atoms the bracket is still one."""
    near = scattered_trim(as_cells(pair), epsilon, level)
    whole, found = (PairProfile(x).log_delta(epsilon) for x in (pair, near))
    assert found.low <= whole.high
    assert whole.low <= found.high
    assert pair.w.size - near.w.size in range(pair.w.size)


@given(pair=far_pairs(), epsilon=st.floats(0.0, 3.0))
def test_atoms_as_cells_enclose_what_enumeration_finds(pair, epsilon):
    exact = PairProfile(pair).log_delta(epsilon)
    found = PairProfile(as_cells(pair)).log_delta(epsilon, width=1e-6)
    assert found.low <= exact.high
    assert exact.low <= found.high


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
@pytest.mark.parametrize("rare", [1e-33, 1e-20])
def test_the_whole_law_and_the_near_one_agree(epsilon, rare):
    """One atom of 1e-40 with a gain of 1e10 (or 1e20) beside k-ary response: the same to 1e-6."""
    e = math.exp(1.0)
    w = np.array([0.25, 0.25, 0.2, 1e-40])
    p = np.array([e, 1.0, 1.0, 0.0]) / (e + 2.0)
    q = np.array([1.0, e, 1.0, 0.0]) / (e + 2.0)
    far = np.array([0.0, 0.0, 0.0, rare])
    with_far = ShuffledPair(w, (p + far) / w, q / w, 300)
    without = ShuffledPair(w[:3], p[:3] / w[:3], q[:3] / w[:3], 300)
    found = PairProfile(with_far).log_delta(epsilon, width=1e-6)
    exact = PairProfile(without).log_delta(epsilon, width=1e-6)
    assert found.width <= 1e-5
    assert abs(found.high - exact.high) < 1e-5
    assert found.low <= exact.high + 1e-12


FAR = {
    # Its only gain above 0 is 1e-110: a tilt that no cube of is a float.
    "tiny gain": ([0.5, 0.1, 0.01], [2.0, 1e-52, 1e-110], [2.0, 1e-29, 1e-150], 61, 1.0),
    "squares beyond floats": (
        [1.0, 5.5e-193, 2.6e-247],
        [1.0, 2.7e142, 5.0e176],
        [1.0, 9.9e83, 3.3e110],
        1000,
        200.0,
    ),
    "one of each": ([0.9, 1.27e-76], [1 / 0.9, 3.3e17], [1 / 0.9, 7.4e16], 900, 0.0),
    "sums beyond floats": (
        [1.0 - 1e-9, 1e-9, 1e-260, 1e-310, 2e-310],
        [1.0, 1.0, 1e240, 1.7e308, 1e308],
        [1.0, 1.0, 1e250, 1.7e308, 1e300],
        1000,
        160.0,
    ),
    "left-over": ([0.7, 0.3], [1 / 0.7, 0.0], [1 / 0.7, 0.0], 900, 0.1),
}


@pytest.mark.parametrize("name", FAR)
def test_far_atoms_crash_nothing(name):
    w, a, b, n, epsilon = FAR[name]
    a, b = (np.array(x) / math.fsum(np.multiply(w, x)) for x in (a, b))
    pair = ShuffledPair(np.array(w), np.minimum(a, 1.7e308), np.minimum(b, 1.7e308), n)
    for asked in (epsilon, 0.0, 3.0, 250.0):
        found = PairProfile(pair).log_delta(asked, width=1e-2)
        assert found.low <= found.high <= 0.0


def test_both_ways_are_asked_where_one_is_not_narrow():
    """Cells have the better upper end here, atoms the only lower one."""
    w, a, b, n, epsilon = FAR["one of each"]
    pair = ShuffledPair(np.array(w), np.array(a), np.array(b), n)
    found = PairProfile(pair).log_delta(epsilon, width=1e-2)
    cells = PairProfile(as_cells(pair)).log_delta(epsilon, width=1e-2)
    assert found.low > -math.inf
    assert cells.low == -math.inf
    assert found.high <= cells.high


def test_rare_atoms_cost_no_width():
    """A pair whose contour for atoms was narrow, 1e-82 of mass beside it."""
    w = np.array([0.5405864301296601, 0.35941356987034007, 1.07e-93, 9.5e-82])
    a = np.array([0.001851739738065286, 2.779524921626813, 4.2e-06, 0.056])
    b = np.array([1.845937528086504, 0.005874072729388784, 29.0, 338.0])
    found = PairProfile(ShuffledPair(w, a, b, 1000)).log_delta(0.05, width=1e-2)
    near = PairProfile(ShuffledPair(w[:2], a[:2], b[:2], 1000)).log_delta(0.05, width=1e-2)
    assert found.width <= 1e-2
    assert abs(found.high - near.high) < 1e-2


@pytest.mark.parametrize("level", [-800.0, -30.0])
@pytest.mark.parametrize("epsilon", [0.0, 10.0, 290.0])
def test_gains_beyond_the_floats_squares_are_counted_in_the_tail(epsilon, level):
    """What is left out of the cells is in the tail, under both laws."""
    w = np.array([0.5, 0.3, 1e-100, 1e-120])
    a, b = np.array([1.2, 1.0, 1e99, 1e10]), np.array([0.8, 1.0, 1e-5, 3e119])
    pair = as_cells(ShuffledPair(w=w, a=a, b=b, n=50, leftover=(0.2, 0.0)))
    kept = scattered_trim(pair, epsilon, level)
    for k, (ratio, left) in enumerate(((a, kept.a), (b, kept.b))):
        assert float(kept.w @ left) + kept.tail[k] >= float(w @ ratio)
    assert kept.tail[0] >= 0.1
    assert kept.tail[1] >= 0.3
    if kept.w.size:
        cells = scattered_gains(kept, epsilon)
        assert np.isfinite(np.concatenate([cells.low, cells.high, cells.variance])).all()
