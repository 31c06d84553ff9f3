"""Few messages on a lattice: both ends against exact convolutions, every step against fractions."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from divergence.exact_sums import expectation_above, positive_part
from divergence.oracle import ball
from shuffledp.divergence import few
from shuffledp.divergence.few import Atoms, _spread, few_messages
from shuffledp.divergence.gain import CellGains
from shuffledp.divergence.lattice import (
    Lattice,
)

U = 2.0**-53


def cells_of(rng, count, *, decades, reach, spread, err=0.0):
    """Random cells in increasing order, G on both sides of 0."""
    w = np.array([10.0 ** rng.uniform(-decades, 0.0) for _ in range(count)])
    w *= rng.choice([0.4, 0.9, 1.0]) * (1.0 - 1e-9) / math.fsum(w)
    size = np.array([10.0 ** rng.uniform(0.0, reach) for _ in range(count)])
    sign = np.array([-1.0, 1.0, *(rng.choice([-1.0, 1.0]) for _ in range(count - 2))])
    mean = np.sort(sign * size)
    low = mean - spread * np.array([rng.random() for _ in mean])
    high = mean + spread * np.array([rng.random() for _ in mean])
    zeros = np.zeros(count)
    total = float((w * mean).sum())
    return CellGains(
        w, mean, low, high, err * np.abs(mean), total, 1e-9, variance=zeros, variance_err=zeros
    )


def inner_law(cells, rel=Fraction(0)):
    """The lowest law there may be: means and masses moved down."""
    law = {}
    for w, m, e in zip(cells.w, cells.mean, cells.err, strict=True):
        value = Fraction(m) - Fraction(e)
        law[value] = law.get(value, 0) + Fraction(w) * (1 - rel)
    total = sum(Fraction(w) for w in cells.w)
    law[Fraction(0)] = law.get(Fraction(0), 0) + max(1 - total * (1 + rel), Fraction(0))
    return law


def outer_law(cells, rel=Fraction(0)):
    """The highest law there may be: on the ends, means and masses moved up."""
    law = {}
    rows = zip(cells.w, cells.mean, cells.err, cells.low, cells.high, strict=True)
    for w, m, e, first, last in rows:
        mean, low = Fraction(m) + Fraction(e), Fraction(first)
        high = max(Fraction(last), mean)
        share = (mean - low) / (high - low) if high > low else Fraction(1)
        for value, part in ((high, share), (low, 1 - share)):
            law[value] = law.get(value, 0) + Fraction(w) * (1 + rel) * part
    total = sum(Fraction(w) for w in cells.w)
    law[Fraction(0)] = law.get(Fraction(0), 0) + 1 - total * (1 - rel)
    return law


def log_of(x):
    return ball(x).log()


@pytest.mark.many(7)
@pytest.mark.parametrize("seed", range(60))
def test_brackets_every_law_of_the_cells(seed):
    """Random cells, narrow and wide, light and heavy tails, tiny masses, n = 2..6."""
    rng = random.Random(seed)
    n = rng.choice([2, 2, 3, 3, 4, 5, 6])
    count = {2: 12, 3: 9, 4: 6, 5: 5, 6: 4}[n]
    rel, err = rng.choice([(0.0, 0.0), (1e-9, 1e-10), (1e-4, 1e-5)])
    cells = cells_of(
        rng,
        count,
        decades=rng.choice([0.5, 3.0, 200.0 / n]),
        reach=rng.choice([0.3, 1.0, 4.0]),
        spread=rng.choice([0.0, 1e-12, 0.3]),
        err=err,
    )
    low = positive_part(inner_law(cells, Fraction(rel)), n)
    high = positive_part(outer_law(cells, Fraction(rel)), n)
    for width in (3e-2, 1e-4):
        found = few_messages(cells, n, rel=rel, width=width)
        assert ball(found.low) <= log_of(low)
        assert ball(found.high) >= log_of(high)
        assert math.isfinite(found.low)
        assert math.isfinite(found.high)
        # Nearly as narrow as the cells allow; single atoms far apart are dearer.
        excess = found.width - float((log_of(high) - log_of(low)).mid())
        assert excess <= max(3.0 * width, 1e-2)


def test_tiny_expectations():
    """E[S]_+ about 1e-200: everything is relative."""
    cells = CellGains(
        w=np.array([0.5, 0.25, 1e-205]),
        mean=np.array([-1.0, -0.5, 1e3]),
        low=np.array([-1.0, -0.5, 1e3]),
        high=np.array([-1.0, -0.5, 1e3]),
        err=np.zeros(3),
        total=-0.625,
        total_err=1e-12,
        variance=np.zeros(3),
        variance_err=np.zeros(3),
    )
    for n in (2, 5):
        truth = log_of(positive_part(inner_law(cells), n))
        found = few_messages(cells, n, rel=0.0, width=1e-6)
        assert ball(found.low) <= truth <= ball(found.high)
        assert found.width <= 2e-6


def smooth_cells(count, *, tail=0.5):
    """A density of G on [-4, 8], falling like e^-tail x, cut into cells."""
    edges = np.linspace(-4.0, 8.0, count + 1)
    w = np.diff(-np.exp(-tail * edges))
    w /= w.sum() * (1.0 + 1e-9)
    middle = 0.5 * (edges[1:] + edges[:-1])
    mean = middle - tail * np.diff(edges) ** 2 / 12.0
    zeros = np.zeros(count)
    return CellGains(
        w, mean, edges[:-1], edges[1:], zeros, float((w * mean).sum()), 1e-9, zeros, zeros
    )


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_narrow_cells_give_narrow_brackets(n):
    """Where cells are dense the lower law is brought under that of the means without a price."""
    cells = smooth_cells(40_000)
    found = few_messages(cells, n, rel=0.0, width=1e-6)
    assert 0.0 < found.width <= 2e-6


def test_lower_end_stays_under_the_means_where_cells_are_dense():
    """64 cells, lattices from finer to much coarser than they are."""
    cells = smooth_cells(64)
    low, high = (positive_part(law(cells), 2) for law in (inner_law, outer_law))
    for width in (0.1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5):
        found = few_messages(cells, 2, rel=0.0, width=width)
        assert ball(found.low) <= log_of(low)
        assert ball(found.high) >= log_of(high)


@pytest.mark.parametrize("seed", range(30))
def test_contraction_is_under_the_atoms(seed):
    """E(G - t)_+ of what is on the lattice <= that of atoms, the noisy ones' spread counted."""
    rng = np.random.default_rng(seed)
    count, step = int(rng.integers(1, 60)), float(rng.choice([0.05, 0.3, 1.0, 2.5]))
    g = np.cumsum(rng.random(count) * 2.0 * step) - rng.choice([0.0, 7.3])
    w = np.exp(rng.normal(size=count)) / (3.0 * count)
    points = _spread(Atoms(np.log(w), g), Lattice(0.0, 1.0, 1024), 0.0, -1.0)
    lattice = [(Fraction(k), Fraction(m)) for k, m in zip(points.k, points.mass, strict=True)]
    assert min(points.mass) >= 0.0
    noisy = {}
    for k, m in zip(points.k, points.noise, strict=True):
        noisy[k] = Fraction(m)
        assert m <= 1.00000001 * points.spread[points.k == k].sum()
    atoms = []
    for x, p in zip(g, w, strict=True):
        k, part = math.floor(x), Fraction(x) - math.floor(x)
        # All atoms of an interval are noisy or none is.
        if part and noisy[float(k)] and noisy[float(k + 1)] and is_noisy(g, w, noisy, k):
            atoms += [
                (Fraction(k), Fraction(p) * (1 - part)),
                (Fraction(k + 1), Fraction(p) * part),
            ]
        else:
            atoms.append((Fraction(x), Fraction(p)))
    for t in {x for x, _ in atoms + lattice}:
        assert expectation_above(lattice, t) <= expectation_above(atoms, t)


def is_noisy(g, w, noisy, k):
    """Whether the interval [k, k + 1] gave to the noise: its share is in both ends' totals."""
    inside = [(x, p) for x, p in zip(g, w, strict=True) if math.floor(x) == k and x != k]
    left = sum(p * (1.0 - (x - k)) for x, p in inside)
    right = sum(p * (x - k) for x, p in inside)
    enough = 1.0 - 1e-7
    return noisy[float(k)] >= left * enough and noisy[float(k + 1)] >= right * enough


def cut_cells(rng, count):
    """Cells that are a uniform law of mass 0.6 to 1 and an atom somewhere in the same interval.

    The interval that is known is a little wider, as rounding may have it.
    """
    low = np.sort(rng.normal(size=count) * 5.0)
    room = rng.random(count) + 0.1
    share, place = rng.choice([0.6, 0.9, 1.0], size=count), rng.random(count)
    atom = low + place * room
    mean = share * (low + 0.5 * room) + (1.0 - share) * atom
    w = rng.random(count) / count
    zeros = np.zeros(count)
    err = 1e-15 * np.abs(low) + 1e-15
    cells = CellGains(w, mean, low, low + room, err, 0.0, 1.0, zeros, zeros, density=share / room)
    return cells, (low, low + room, share, atom)


def above_cells(cells, law, t):
    """E(G - t)_+ of that law, as a ball."""
    total = arb(0)
    for w, low, high, s, x in zip(cells.w, *law, strict=True):
        first, last, cut = Fraction(low), Fraction(high), Fraction(t)
        reach = max(last - max(cut, first), Fraction(0))
        uniform = reach * ((last + max(cut, first)) / 2 - cut) / (last - first)
        part = Fraction(s) * uniform + (1 - Fraction(s)) * max(Fraction(x) - cut, Fraction(0))
        total += ball(Fraction(w) * part)
    return total + ball((1 - sum(map(Fraction, cells.w))) * max(-Fraction(t), Fraction(0)))


def above_atoms(atoms, t):
    parts = zip(atoms.log_w, atoms.g, strict=True)
    return sum((ball(p).exp() * ball(Fraction(x) - Fraction(t)) for p, x in parts if x > t), arb(0))


@pytest.mark.parametrize("width", [1e-2, 1e-5])
@pytest.mark.parametrize("seed", range(6))
def test_parts_of_cells(seed, width):
    """One below and one above the law; cut in parts, nine times as near to it."""
    rng = np.random.default_rng(seed)
    cells, law = cut_cells(rng, 8)
    inner, outer = few._inner(cells, 0.0, width), few._outer(cells, 0.0, width)
    assert (inner.g.size > 20) == (width < 1e-3)
    for t in {-20.0, *cells.low, *cells.high, *inner.g, *outer.g, *rng.normal(size=20) * 5.0}:
        truth = above_cells(cells, law, t)
        assert above_atoms(inner, t) <= truth <= above_atoms(outer, t)
    for atoms in (inner, outer):
        mean = float(np.exp(atoms.log_w) @ atoms.g)
        assert mean == pytest.approx(float(cells.w @ cells.mean), abs=1e-13)


@pytest.mark.many(1)
@pytest.mark.parametrize("sigma", [1.0, 3.0])
@pytest.mark.parametrize("n", [2, 4, 10])
def test_gaussian_noise_is_sharp(sigma, n):
    """Numerical widths of both ends at most 1e-6 in eps."""
    found = sd.shuffle(sd.Gaussian(sigma=sigma), n=n).epsilon(delta=1e-6)
    assert "width" not in str(found)


def test_says_nothing_where_there_is_nothing_to_say():
    """No cell whose mean is above 0."""
    cells = smooth_cells(10)
    shifted = CellGains(
        cells.w,
        cells.mean - 8.0,
        cells.low - 8.0,
        cells.high - 8.0,
        cells.err,
        cells.total - 8.0,
        1e-9,
        cells.variance,
        cells.variance_err,
    )
    found = few_messages(shifted, 3, rel=0.0, width=1e-3)
    assert found == few._ANYTHING
