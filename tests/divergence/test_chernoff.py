"""Chernoff's bound from fine cells: above the truth wherever G lies in its cell, and near it."""

import itertools
import math
import random

import numpy as np
import pytest

import shuffledp as sd
from divergence.oracle import ball
from shuffledp.divergence.chernoff import _rest, log_chernoff
from shuffledp.divergence.gain import CellGains, cell_gains, mean_law, trimmed
from shuffledp.divergence.tilt import find_tilt, log_moment
from shuffledp.reductions import blanket_pair

REL = 1e-13


def random_cells(rng, *, count=4, wide=1.0):
    """Cells on both sides of 0; inside each G takes two values of its own with the cell's mean."""
    cuts = sorted(rng.uniform(-3.0, 4.0) for _ in range(count + 1))
    w = [rng.uniform(0.1, 1.0) for _ in range(count)]
    w = [x / sum(w) for x in w]
    atoms = []
    rows = []
    for i, (low, high) in enumerate(itertools.pairwise(cuts)):
        a, b = sorted(low + (high - low) * (0.5 + wide * rng.uniform(-0.5, 0.5)) for _ in range(2))
        share = rng.random()
        atoms += [(w[i] * share, a, i), (w[i] * (1.0 - share), b, i)]
        rows.append((w[i], share * a + (1.0 - share) * b, low, high))
    w, mean, low, high = (np.array(column) for column in zip(*rows, strict=True))
    err = np.full(count, 1e-14)
    total = float((w * mean).sum())
    zero = np.zeros(count)
    return CellGains(w, mean, low, high, err, total, 1e-14, zero, zero), atoms


def exact(atoms, n, *, chosen=None):
    """log E[S_+; some message from the chosen cells], by all count vectors of n messages."""
    total = ball(0)
    for picks in itertools.product(atoms, repeat=n):
        if chosen is not None and not any(cell in chosen for _, _, cell in picks):
            continue
        value = sum((ball(g) for _, g, _ in picks), ball(0))
        if value > 0:
            mass = ball(1)
            for p, _, _ in picks:
                mass *= ball(p)
            total += mass * value
    return total.log() if total > 0 else None


@pytest.mark.parametrize("seed", range(40))
def test_never_below_the_truth(seed):
    rng = random.Random(seed)
    cells, atoms = random_cells(rng, wide=rng.choice([0.0, 1.0]))
    n = rng.choice([1, 2, 3])
    for alpha in (0.05, 0.5, 1.0, 3.0, 20.0):
        truth = exact(atoms, n)
        if truth is not None:
            assert ball(log_chernoff(cells, n, alpha, rel=REL)) > truth
        threshold = float(cells.high[-2]) + 1e-9
        truth = exact(atoms, n, chosen={3})
        if truth is not None:
            found = log_chernoff(cells, n, alpha, rel=REL, threshold=threshold)
            assert ball(found) > truth
            assert found <= log_chernoff(cells, n, alpha, rel=REL) + 1e-9


def test_lost_mass_counts_for_nothing():
    """Below a cut: the messages above it are lost, not put at 0."""
    rng = random.Random(3)
    cells, atoms = random_cells(rng)
    part = cells.below(float(cells.high[-2]) + 1e-9, REL)
    kept = [atom for atom in atoms if atom[2] < 3]
    for n in (2, 3):
        for alpha in (0.3, 1.0, 4.0):
            found = log_chernoff(part, n, alpha, rel=REL)
            truth = exact(kept, n)
            if truth is not None:
                assert ball(found) > truth
            # Atoms at the means give the same but for the cells' widths.
            moments = sum(p * math.exp(alpha * g) for p, g, _ in kept)
            assert found >= n * math.log(moments) - 1.0 - math.log(alpha) - 1e-9


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 2.0, 30.0])
def test_a_cell_of_two_points_is_met(alpha):
    """G at both ends of its cell: the moment is exact, and so is the bound but for e alpha."""
    low, high, mean = -0.7, 0.9, 0.1
    one = np.ones(1)
    cells = CellGains(one, mean * one, low * one, high * one, 0 * one, mean, 0.0, 0 * one, 0 * one)
    up = (mean - low) / (high - low)
    for n in (1, 1000):
        exact_log = n * math.log(up * math.exp(alpha * high) + (1 - up) * math.exp(alpha * low))
        found = log_chernoff(cells, n, alpha, rel=0.0)
        assert found == pytest.approx(exact_log - 1.0 - math.log(alpha), rel=1e-9)
        assert found >= exact_log - 1.0 - math.log(alpha) - 1e-12 * abs(exact_log)


def test_cells_without_width_count():
    """A floor, say: all of its mass is at one value."""
    w, g = np.array([0.75, 0.25]), np.array([-1.0, 2.0])
    zero = np.zeros(2)
    cells = CellGains(w, g, g, g, zero, float((w * g).sum()), 0.0, zero, zero)
    moment = 0.75 * math.exp(-0.4) + 0.25 * math.exp(0.8)
    found = log_chernoff(cells, 5, 0.4, rel=0.0)
    assert found == pytest.approx(5 * math.log(moment) - 1.0 - math.log(0.4), rel=1e-10)


def test_points_give_the_bound_itself():
    """Cells without width: mass lost above a cut, and sums with some G above it, exactly."""
    w, g = np.array([0.6, 0.39, 0.01]), np.array([-1.0, 2.0, 9.0])
    zero = np.zeros(3)
    cells = CellGains(w, g, g, g, zero, float((w * g).sum()), 0.0, zero, zero)
    n, alpha = 7, 0.3
    end = -1.0 - math.log(alpha)
    below = 0.6 * math.exp(-0.3) + 0.39 * math.exp(0.6)
    part = 0.01 * math.exp(2.7)
    lost = log_chernoff(cells.below(5.0, 0.0), n, alpha, rel=0.0)
    assert lost == pytest.approx(n * math.log(below) + end, rel=1e-10)
    some = log_chernoff(cells, n, alpha, rel=0.0, threshold=5.0)
    log_m = math.log(below + part)
    assert some == pytest.approx(math.log(n * part) + (n - 1) * log_m + end, rel=1e-10)


def test_near_the_saddle_point_of_a_continuous_law():
    """As sharp as the law of means allows, at any n; and inf where exponentials overflow."""
    mechanism = sd.Gaussian(sigma=1.0)
    for n in (10**3, 10**12):
        pair = blanket_pair(mechanism, 0.0, 1.0, n=n, cells=1 << 15)
        cells = cell_gains(trimmed(pair, 0.5 / math.sqrt(n), -60.0), 0.5 / math.sqrt(n))
        law = mean_law(cells)
        alpha = find_tilt(law, n, allow_rare=False).alpha
        scale = n * log_moment(law, alpha)[0] - 1.0 - math.log(alpha)
        found = log_chernoff(cells, n, alpha, rel=pair.rel)
        assert scale - 1e-6 <= found <= scale + 0.1 + 1e-3 * abs(scale)
        assert log_chernoff(cells, n, 1e6, rel=pair.rel) == math.inf


def test_the_rest_of_the_series():
    x = np.array(
        [-700.0, -30.0, -1.0, -0.26, -0.25, -1e-3, -1e-9, 0.0, 1e-9, 0.2, 0.26, 5.0, 600.0]
    )
    for value, found in zip(x, _rest(x), strict=True):
        truth = ball(float(value)).exp() - 1 - ball(float(value))
        assert abs(ball(float(found)) - truth) <= abs(truth) * ball(4e-15) + ball(1e-300)
