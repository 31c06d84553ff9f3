"""Cells: laws below and above in convex order, by the definition of the order."""

import numpy as np
import pytest

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError
from shuffledp.kernel.cells import (
    Cell,
    Corner,
    above,
    below,
    gains,
    gathered,
    joined,
    product,
    scaled,
    spread,
)

GROW = arb(0.3).exp()
PLACES = np.linspace(-30.0, 30.0, 241)


def random_cells(rng, *, count=6, atoms=5):
    """Cells of a random law of atoms (mass, p, q), and the atoms themselves."""
    cells, all_atoms = [], []
    for _ in range(count):
        mass, p, q = rng.dirichlet(np.ones(atoms), size=3) * rng.uniform(0.05, 1.0, size=(3, 1))
        if rng.random() < 0.2:
            mass, p, q = (x[:1] for x in (mass, p, q))
        u, v = p / mass, q / mass
        corners = Corner(arb(u.min()), arb(v.max())), Corner(arb(u.max()), arb(v.min()))
        cells.append(Cell(arb(mass.sum()), arb(p.sum()), arb(q.sum()), *corners))
        all_atoms += list(zip(mass, u - float(GROW) * v, strict=True))
    return cells, all_atoms


def call(atoms, place):
    """E (G - place)_+."""
    return sum(float(m) * max(float(g) - place, 0.0) for m, g in atoms)


def mean(atoms):
    return sum(float(m) * float(g) for m, g in atoms)


@pytest.mark.many(12)
@pytest.mark.parametrize("seed", range(40))
def test_convex_order(seed):
    cells, atoms = random_cells(np.random.default_rng(seed))
    found = gains(cells, GROW)
    lower, (upper, charge) = below(found), above(found)
    assert charge.is_zero()
    for law in (lower, upper):
        assert mean(law) == pytest.approx(mean(atoms), abs=1e-12)
        assert sum(float(m) for m, _ in law) == pytest.approx(sum(m for m, _ in atoms), abs=1e-12)
    for place in PLACES:
        exact = call(atoms, place)
        assert call(lower, place) <= exact + 1e-12
        assert call(upper, place) >= exact - 1e-12


@pytest.mark.many(8)
@pytest.mark.parametrize("seed", range(20))
def test_fewer_atoms_keep_the_order(seed):
    rng = np.random.default_rng(seed)
    cells, atoms = random_cells(rng, count=30)
    found = gains(cells, GROW)
    lower = sorted(below(found), key=lambda atom: float(atom[1]))
    ends = sorted({*map(int, rng.integers(1, 30, size=7)), 30})
    few = gathered(lower, ends)
    assert len(few) == len(ends)
    values = sorted(rng.uniform(-20.0, 20.0, size=8))
    upper = spread(above(found).atoms, values)
    for place in PLACES:
        assert call(few, place) <= call(lower, place) + 1e-12
        assert call(upper, place) >= call(atoms, place) - 1e-12
    assert mean(few) == pytest.approx(mean(atoms), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_inexact_masses_make_no_mass(seed):
    """Known to 1e-9: the atoms' masses still add up to the cells', and the order stays."""
    cells, atoms = random_cells(np.random.default_rng(seed), count=30)

    def about(x):
        return arb(x.mid(), x.mid() * 1e-9)

    inexact = [Cell(about(m), about(p), about(q), low, high) for m, p, q, low, high, _ in cells]
    upper = above(gains(inexact, GROW)).atoms
    for law in (upper, spread(upper, [-9.0, -0.5, 0.2, 0.7, 4.0])):
        most = sum(float(m.upper()) for m, _ in law)
        assert most <= sum(float(cell.mass) for cell in cells) * (1.0 + 2e-9)
        for place in PLACES:
            assert call(law, place) >= call(atoms, place) - 1e-12


def test_atoms_on_places_and_at_zero_stay():
    atoms = [(arb(0.25), arb(1)), (arb(0.5), arb(0)), (arb(0.25), arb(5))]
    found = spread(atoms, [-1.0, 0.5, 1.5])
    assert (arb(0.5), arb(0)) in found
    assert (arb(0.25), arb(5)) in found
    assert mean(found) == pytest.approx(mean(atoms), abs=1e-15)


@pytest.mark.parametrize(
    ("top", "bottom", "gain", "charge"),
    [
        (
            ("inf", 0.0),
            (1.0, 2.0),
            1.0 - 2.0 * float(GROW),
            0.5 - 0.4 * float(GROW) - 0.1 * (1.0 - 2.0 * float(GROW)),
        ),
        ((3.0, 0.5), (0.0, "inf"), 3.0 - 0.5 * float(GROW), 0.0),
        (("inf", 0.0), (0.0, "inf"), 0.0, 0.5),
    ],
    ids=["no upper end", "no lower end", "no end"],
)
def test_unbounded_gains(top, bottom, gain, charge):
    corners = [Corner(*(arb(x) for x in corner)) for corner in (bottom, top)]
    cell = Cell(arb(0.1), arb(0.5), arb(0.4), *corners)
    ((mass, place),), found = above(gains([cell], GROW))
    assert float(mass) == 0.1
    assert float(place) == pytest.approx(gain)
    assert float(found) == pytest.approx(charge)


def test_numbers_in_doubt_are_taken_at_their_worst():
    """Whatever the true numbers in the balls are, the atoms and the charge are above that law."""
    doubt = arb(1, 0.1)
    zero, infinite = arb(0), arb("inf")
    # A gain that is known to be one number near 1, on a mass near 1.
    cell = Cell(doubt, doubt, zero, Corner(doubt, zero), Corner(doubt, zero))
    ((mass, gain),), charge = above(gains([cell], GROW))
    assert mass >= arb("1.0999")
    assert gain >= arb("1.0999")
    assert charge.is_zero()
    assert gain.rad().is_zero()
    # At least .9 and unbounded: half .9 and half 10, with the mean 5.45. E (G - 1.1)_+ is 4.45.
    cell = Cell(arb(1), arb(5.45), zero, Corner(doubt, zero), Corner(infinite, zero))
    ((mass, gain),), charge = above(gains([cell], GROW))
    for place in (-1.0, 0.95, 1.0, 1.05, 1.1):
        exact = 0.5 * max(0.9 - place, 0.0) + 0.5 * (10.0 - place)
        assert float(mass) * max(float(gain) - place, 0.0) + float(charge) >= exact - 1e-12
    # Unbounded on both sides: only the mass under one input is known, up to .55.
    ends = Corner(zero, infinite), Corner(infinite, zero)
    assert above(gains([Cell(arb(1), arb(0.5) * doubt, arb(0.5), *ends)], GROW)).charge >= 0.5499


@pytest.mark.parametrize("places", [[0.0, float("inf")], [float("nan"), 1.0], [0.0, 0.0], [1, 0]])
def test_places_are_finite_and_increase(places):
    with pytest.raises(ParameterError, match="places: wanted finite numbers"):
        spread([(arb(1), arb(0.5))], places)


def test_an_atom_goes_to_the_places_on_either_side():
    found = spread([(arb(1), arb(0.25)), (arb(1), arb(2.5))], [0.0, 1.0, 2.0, 3.0])
    masses = {float(gain): float(mass) for mass, gain in found}
    assert masses == pytest.approx({0.0: 0.75, 1.0: 0.25, 2.0: 0.5, 3.0: 0.5})


def exact_cells(rng, size):
    mass, p, q = rng.dirichlet(np.ones(size), size=3)
    return [
        Cell(arb(m), arb(x), arb(y), *(Corner(arb(x) / arb(m), arb(y) / arb(m)),) * 2)
        for m, x, y in zip(mass, p, q, strict=True)
    ], (mass, p, q)


@pytest.mark.parametrize("seed", range(10))
def test_products_mixtures_and_unions(seed):
    rng = np.random.default_rng(seed)
    (one, a), (two, b) = exact_cells(rng, 3), exact_cells(rng, 4)
    cells = [product(x, y) for x in one for y in two]
    rows = [np.outer(x, y).ravel() for x, y in zip(a, b, strict=True)]
    for cell, *numbers in zip(cells, *rows, strict=True):
        for ball, value in zip(cell[:3], numbers, strict=True):
            assert float(ball) == pytest.approx(value, rel=1e-14)
        assert float(cell.top.u) == pytest.approx(numbers[1] / numbers[0], rel=1e-13)
        assert float(cell.bottom.v) == pytest.approx(numbers[2] / numbers[0], rel=1e-13)
    assert joined(cells[::-1]).p.overlaps(joined(cells).p)
    whole = joined(cells)
    assert float(whole.bottom.u) == pytest.approx(min(rows[1] / rows[0]))
    assert float(whole.bottom.v) == pytest.approx(max(rows[2] / rows[0]))
    assert float(whole.p) == pytest.approx(1.0)
    assert float(whole.top.u) == pytest.approx(max(rows[1] / rows[0]))
    assert float(whole.top.v) == pytest.approx(min(rows[2] / rows[0]))
    half = scaled(cells[0], arb(0.5))
    assert half.top == cells[0].top
    assert float(half.q) == pytest.approx(rows[2][0] / 2)


def stretched_cell(rng, atoms=6):
    """A cell whose ratios share a factor, and its atoms (mass, p, q)."""
    mass = rng.dirichlet(np.ones(atoms))
    u, v = rng.uniform(0.1, 3.0, (2, atoms))
    factor = rng.uniform(0.5, 2.0, atoms)
    p, q = mass * u * factor, mass * v * factor
    corners = Corner(arb(u.min()), arb(v.max())), Corner(arb(u.max()), arb(v.min()))
    ends = arb(factor.min()), arb(factor.max())
    cell = Cell(arb(mass.sum()), arb(p.sum()), arb(q.sum()), *corners, ends)
    return cell, list(zip(mass, p / mass, q / mass, strict=True))


@pytest.mark.many(12)
@pytest.mark.parametrize("seed", range(40))
def test_cells_with_a_common_factor(seed):
    """Their gains, swapped ones too, and those of the same cell without the factor."""
    cell, atoms = stretched_cell(np.random.default_rng(seed))
    swapped = [(m, v, u) for m, u, v in atoms]
    for one, of in ((cell, atoms), (cell.swap(), swapped), (cell.plain(), atoms)):
        law = [(m, u - float(GROW) * v) for m, u, v in of]
        (found,) = gains([one], GROW)
        assert float(found.low) <= min(g for _, g in law) + 1e-12
        assert float(found.high) >= max(g for _, g in law) - 1e-12
        ends = above([found]).atoms
        assert mean(ends) == pytest.approx(mean(law), abs=1e-12)
        for place in PLACES:
            assert call(ends, place) >= call(law, place) - 1e-12
    (tight,), (wide,) = gains([cell], GROW), gains([cell.plain()], GROW)
    assert tight.low >= wide.low
    assert tight.high <= wide.high
    other = stretched_cell(np.random.default_rng(seed + 100))[0]
    plain = [one.plain() for one in (cell, other)]
    assert repr(product(cell, other)) == repr(product(*plain))
    assert repr(joined([cell, other])) == repr(joined(plain))
    assert scaled(cell, arb(0.5)).stretch == cell.stretch


def test_swapped_cells_bound_the_other_gain():
    cells, _ = random_cells(np.random.default_rng(7))
    for cell in cells:
        other = cell.swap()
        assert (other.p, other.q) == (cell.q, cell.p)
        assert (other.top.u, other.bottom.u) == (cell.bottom.v, cell.top.v)
        assert (other.top.v, other.bottom.v) == (cell.bottom.u, cell.top.u)
        assert other.swap() == cell


def test_a_shared_corner_is_one_atom():
    a, b, c = (Corner(arb(x), arb(2 - x)) for x in (0.25, 0.5, 1.0))
    cells = [Cell(arb(0.5), arb(0.2), arb(0.8), a, b), Cell(arb(0.5), arb(0.35), arb(0.6), b, c)]
    assert len(above(gains(cells, GROW)).atoms) == 3


def test_the_mean_survives_masses_known_less_well_than_the_range_is_wide():
    mass, p = arb(0.5, 1e-13), arb(1.0, 1e-13)
    bottom, top = Corner(arb(2) - arb(1e-15), arb(0)), Corner(arb(2) + arb(1e-15), arb(0))
    atoms = above(gains([Cell(mass, p, arb(0), bottom, top)], GROW)).atoms
    total = sum((m * g for m, g in atoms), arb(0))
    assert total >= 1 - arb(1e-11)
    assert total <= 1 + arb(1e-11)


def test_infinite_ratios_multiply_outward():
    far = Cell(arb(0.1), arb(0.5), arb(0), Corner(arb(1), arb(1)), Corner(arb("inf"), arb(0)))
    none = Cell(arb(0.1), arb(0), arb(0.1), Corner(arb(0), arb(1)), Corner(arb(0), arb(1)))
    assert not product(far, far).top.u.is_finite()
    assert product(far, none).top.u.is_zero()
