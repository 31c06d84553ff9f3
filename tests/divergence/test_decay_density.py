"""The bound on |phi| from densities over whole periods, against laws that fit the cells."""

import math

import numpy as np
import pytest

from shuffledp import Gaussian, Laplace
from shuffledp.contour.stop import RATIO
from shuffledp.divergence.decay import Decay
from shuffledp.divergence.gain import CellGains, cell_gains
from shuffledp.reductions import blanket_pair


def random_cells(rng):
    """Cells in a row, with holes and overlaps, and a true law: steps inside each cell."""
    count = int(rng.integers(40, 400))
    width = rng.random(count) * rng.choice([1.0, 0.05], count) + 1e-3
    shift = rng.choice([0.0, 0.0, 0.0, 0.3, -0.2], count) * width
    start = np.cumsum(width + shift) - width
    bend = rng.random(count) * rng.choice([0.01, 0.5])
    w = width * np.exp(rng.normal(size=count) * rng.choice([0.0, 0.05, 0.5]))
    w *= rng.choice([1.0, 0.7, 0.1]) / w.sum()
    # Two steps within e^{+-bend} of the uniform density, the masses as given.
    tilt = bend * rng.uniform(-1.0, 1.0, count)
    left = np.exp(-np.abs(tilt)) * 0.5
    left = np.where(tilt > 0, left, 1.0 - left)
    return start, width, w, bend, np.clip(left, 0.5 * np.exp(-bend), 1 - 0.5 * np.exp(-bend))


def as_gains(start, width, w, bend):
    middle = start + 0.5 * width
    quarter = 0.25 * width  # the plain mean is at most that far off
    return CellGains(
        w,
        middle,
        start,
        start + width,
        quarter,
        float((w * middle).sum()),
        0.0,
        np.zeros_like(w),
        np.zeros_like(w),
        density=np.exp(-bend) / width,
    )


def transform(start, width, w, left, s):
    """E e^{sG}: each half of a cell is uniform; the left-over sits at 0."""
    half = 0.5 * width
    step = (np.exp(s * half) - 1.0) / (s * half)
    low = np.exp(s * start) * step * left
    high = np.exp(s * (start + half)) * step * (1.0 - left)
    return (w * (low + high)).sum() + 1.0 - w.sum()


@pytest.mark.parametrize("seed", range(80))
def test_the_bound_holds(seed):
    rng = np.random.default_rng(seed)
    start, width, w, bend, left = random_cells(rng)
    start -= start.mean()
    alpha = 10.0 ** rng.uniform(-4, -1) / max(1.0, np.abs(start).max())
    whole = transform(start, width, w, left, alpha).real
    decay = Decay(as_gains(start, width, w, bend), rel=0.0, alpha=alpha, log_m=math.log(whole))
    for t in np.geomspace(0.05, 300.0, 25) / np.median(width):
        bound = decay.log_modulus(t)
        for u in np.linspace(t, RATIO * t, 7):
            size = abs(transform(start, width, w, left, alpha + 1j * u)) / whole
            assert math.log(size) <= bound + 1e-12


@pytest.mark.parametrize("seed", range(60))
def test_one_window_loses_no_more_than_a_constant_density_does(seed):
    """Exactly: h (|U| - |integral over U|) for the cells' union U, at every t of the interval."""
    rng = np.random.default_rng(seed)
    t = 10.0 ** rng.uniform(-3, 3)
    window = 2.0 * math.pi / (RATIO * t)
    count = int(rng.integers(13, 60))
    width = np.full(count, 0.999 * window / count)
    start = np.arange(count) * 0.999 * window / count + 1e-4 * window
    if seed % 3:
        first = int(rng.integers(1, count - 1))
        gone = slice(first, first + int(rng.integers(1, max(2, count // 4))))
        start, width = np.delete(start, gone), np.delete(width, gone)
    h = 1.0 / (2.0 * window)
    cells = as_gains(start, width, h * width, np.zeros_like(width))
    decay = Decay(cells, rel=0.0, alpha=1e-9 / window, log_m=0.0)
    drop = decay._by_density(t)
    for u in np.linspace(t, RATIO * t, 200):
        ends = np.exp(1j * u * (start + width)) - np.exp(1j * u * start)
        exact = h * (width.sum() - abs(ends.sum()) / u)
        assert drop <= exact * (1.0 + 1e-6)
    if seed % 3 == 0:
        # A factor of two or so is given away between t and 1.3 t, and at the ends.
        assert drop > 0.3 * h * width.sum()


def test_it_comes_near_what_is_left_over():
    """One smooth density: far out |phi| is the left-over's share, and so is the bound."""
    edges = np.linspace(-3.0, 3.0, 4001)
    start, width = edges[:-1], np.diff(edges)
    w = np.exp(-0.5 * (start + 0.5 * width) ** 2)
    w *= 0.7 / w.sum()
    bend = np.full(4000, 3.0 * 1.5e-3)
    decay = Decay(as_gains(start, width, w, bend), rel=0.0, alpha=1e-6, log_m=1e-6)
    bound = math.exp(decay.log_modulus(30.0))
    assert 0.3 < bound < 0.65
    assert bound < math.exp(math.log1p(-0.7 * 0.15))  # what variances alone could give


@pytest.mark.parametrize("mechanism", [Gaussian(sigma=1.0), Laplace(eps0=1.0)])
def test_densities_of_mechanisms(mechanism):
    """On each cell the true density is at least the one claimed: checked on finer cells."""
    coarse = cell_gains(blanket_pair(mechanism, 0.0, 1.0, n=50, cells=1 << 15), 0.3)
    fine = cell_gains(blanket_pair(mechanism, 0.0, 1.0, n=50, cells=1 << 18), 0.3)
    known = coarse.density > 0.0
    assert np.count_nonzero(known) > 500
    middle = fine.mean
    order = np.argsort(coarse.low)
    sorted_low = coarse.low[order]
    place = order[np.clip(np.searchsorted(sorted_low, middle, side="right") - 1, 0, None)]
    inside = (fine.low >= coarse.low[place]) & (fine.high <= coarse.high[place]) & known[place]
    share = fine.w / (fine.high - fine.low)
    # Fine cells so narrow that rounding shows in their widths say nothing.
    inside &= fine.density > 0.0
    assert np.count_nonzero(inside) > 5000
    claimed = coarse.w[place] * coarse.density[place]
    assert np.all(share[inside] >= claimed[inside] * (1.0 - 3e-4))


def test_an_ample_bound_spares_the_other():
    """Below `enough` the bound by variances is not looked for; elsewhere the smaller one counts."""
    rng = np.random.default_rng(3)
    start, width, w, bend, left = random_cells(rng)
    start -= start.mean()
    alpha = 1e-3 / np.abs(start).max()
    whole = transform(start, width, w, left, alpha).real
    made = Decay(as_gains(start, width, w, bend), rel=0.0, alpha=alpha, log_m=math.log(whole))
    made._by_variance = lambda t: 0.999
    seen = 0
    for t in np.geomspace(0.02, 30.0, 40) / np.median(width):
        density = made._by_density(t)
        assert made._bound(t, -math.inf) == pytest.approx(math.log1p(-max(density, 0.999)))
        if 0.0 < density < 0.999:
            assert made._bound(t, 0.0) == pytest.approx(math.log1p(-density))
            seen += 1
    assert seen > 5
    assert made.log_power(1.0, 10, -3.0) == 10 * made.log_modulus(1.0, -0.3)
