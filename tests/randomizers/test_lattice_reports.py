"""What samplers of real-valued reports run: whole numbers on a public lattice."""

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from enumerated import exponential, worst_delta
from randomizers.sources import LEAST_P_VALUE, Script, fits
from shuffledp.randomizers import two_levels
from shuffledp.randomizers.levels import half_grown
from shuffledp.randomness import SeededSource

EPS0 = (1e-3, 0.5, 2.0, 8.0)


def coarse(monkeypatch, bits=1):
    monkeypatch.setattr(two_levels, "_FINEST", bits)


def run_row(eps0, s):
    """P(cell) of what is run for a value on the lattice, g = 1/w to 36 digits."""
    steps, favoured = two_levels.lattice(eps0)
    g = 1 / Fraction(half_grown(eps0)).limit_denominator(10**40)
    row = [g / (steps + favoured)] * (steps + favoured)
    for j in range(s, s + favoured):
        row[j] += (1 - g) / favoured
    return row


@pytest.mark.parametrize("eps0", [*EPS0, 30.0, 60.0, 150.0, 300.0])
def test_lattice_is_no_coarser_than_the_law(eps0):
    steps, favoured = two_levels.lattice(eps0)
    assert Fraction(steps, favoured) <= half_grown(eps0)
    assert 1 <= steps < 2**53
    if eps0 <= 30.0:
        assert favoured == 2**30
        assert steps >= half_grown(eps0) * favoured - 2


@pytest.mark.many(3)
@pytest.mark.parametrize("eps0", [0.5, 2.0])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_bounds_of_the_stated_law_hold_for_what_is_run(monkeypatch, eps0, n):
    coarse(monkeypatch)
    steps, _ = two_levels.lattice(eps0)
    rows = [run_row(eps0, s) for s in (range(steps + 1) if n < 3 else (0, steps))]
    account = sd.shuffle(sd.Piecewise(eps0=eps0), n=n)
    for epsilon in (0.2 * eps0, 0.6 * eps0):
        low, high = exponential(epsilon)
        least, _ = worst_delta(rows, n, [high, low])
        assert least <= Fraction(account.delta(epsilon=epsilon).upper) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("eps0", EPS0[1:])
def test_unbiased_on_every_lattice(monkeypatch, eps0):
    """Exact mean over cells of the value reported, for every place of the lattice."""
    coarse(monkeypatch, 2)
    steps, favoured = two_levels.lattice(eps0)
    g = 1 / Fraction(half_grown(eps0)).limit_denominator(10**40)
    for s in range(steps + 1):
        mean = sum(
            p * (2 * cell + 1 - steps - favoured) / ((1 - g) * steps)
            for cell, p in enumerate(run_row(eps0, s))
        )
        assert abs(mean - (2 * Fraction(s, steps) - 1)) < Fraction(1, 10**30)


@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_sampler_draws_the_cells_law(monkeypatch, place):
    coarse(monkeypatch, 3)
    eps0, size = 2.0, 60_000
    steps, favoured = two_levels.lattice(eps0)
    found = two_levels.spread(np.full(size, place), eps0, SeededSource(4))
    cells = (found * -math.expm1(-0.5 * eps0) * steps + steps + favoured - 1) / 2
    assert np.allclose(cells, np.round(cells), atol=1e-9)
    low = math.floor(place * steps)
    up = place * steps - low
    chance = np.zeros(steps + favoured)
    for s, share in ((low, 1.0 - up), (min(low + 1, steps), up)):
        chance += share * np.array([float(p) for p in run_row(eps0, s)])
    counts = np.bincount(np.round(cells).astype(int), minlength=chance.size)
    assert fits(counts, chance) > LEAST_P_VALUE


@pytest.mark.parametrize("cls", [sd.Piecewise, sd.Hybrid])
@pytest.mark.parametrize("eps0", [*EPS0, 60.0, 300.0])
def test_reports_are_accepted_and_on_the_lattice(cls, eps0):
    randomizer = cls(eps0=eps0, low=-3.0, high=1.0)
    values = np.linspace(-3.0, 1.0, 2000)
    reports = randomizer.simulate(values, seed=2)
    assert randomizer.aggregate(reports).count == 2000
    error = abs(randomizer.estimate(reports).mean + 1.0)
    assert error <= 5.5 * randomizer.estimate(reports).standard_error + 1e-12
    if cls is sd.Piecewise:
        steps, favoured = two_levels.lattice(eps0)
        raw = (reports + 1.0) / 2.0 * -math.expm1(-0.5 * eps0) * steps
        cells = (raw + steps + favoured - 1) / 2
        assert np.abs(cells - np.round(cells)).max() <= 1e-6 * max(1.0, steps * 2.0**-30)


def test_privunit_reports_are_rounded():
    randomizer = sd.PrivUnit(d=3, c=0.2, eps0=2.0)
    values = np.tile([1.0, 0.0, 0.0], (200, 1))
    reports = randomizer.simulate(values, seed=5) * 2.0**32
    assert np.array_equal(reports, np.round(reports))


def test_uniform_numbers_are_never_an_end_point():
    """Odd multiples of 2^-53: the largest word is not rounded to 1, nor any two to one float."""
    least, most = 0, 2**64 - 1
    drawn = Script([least, most, most - 2**12, 2**63, 2**63 - 1]).unit(5)
    assert drawn.tolist() == [
        2.0**-53,
        1 - 2.0**-53,
        1 - 3 * 2.0**-53,
        0.5 + 2.0**-53,
        0.5 - 2.0**-53,
    ]
    assert np.all(drawn * 2.0**53 % 2 == 1)
