"""Samplers that added floats: Laplace noise in an interval, now exact, and in a ball, coarser."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

import shuffledp as sd
from shuffledp.randomizers.noise import coarse_middles
from shuffledp.randomizers.truncated_cells import (
    Reports,
    _halvings,
    _less,
    _nearer_part,
    _survive,
)
from shuffledp.randomness import SeededSource


def chance(digits):
    return float(Fraction(int.from_bytes(digits, "big"), 256 ** len(digits)))


def masses(lattice, point):
    """Probabilities of the cells, by integrals of e^{-|y - x|}."""
    step, low = float(lattice.step), -lattice.margin * 2**lattice.bits
    high = 2**lattice.bits - low
    found = []
    for cell in range(lattice.first, lattice.last + 1):
        left, right = float(max(cell, low)), float(min(cell + 1, high))
        near, far = sorted((abs(left - point), abs(right - point)))
        found.append(math.exp(-step * near) - math.exp(-step * far))
    return np.array(found) / sum(found)


@pytest.mark.parametrize(
    "margin", [Fraction(0), Fraction(3, 16), Fraction(1, 4), Fraction(1, 1000)]
)
@pytest.mark.parametrize(("eps0", "bits"), [(0.3, 3), (2.0, 3), (9.0, 3), (40.0, 5), (1.5, 1)])
def test_cells_have_their_probabilities(eps0, bits, margin):
    lattice = Reports(eps0, bits, margin)
    for point in (0, 1, 2**bits):
        expected = masses(lattice, point) * 40_000
        drawn = lattice.drawn(np.full(40_000, point), SeededSource(11)) - lattice.first
        counts = np.bincount(drawn, minlength=expected.size)
        assert counts.size == expected.size
        some = expected >= 5.0
        rest = [counts[~some].sum()], [expected[~some].sum()]
        seen = np.append(counts[some], rest[0] if rest[1][0] > 1e-9 else [])
        wanted = np.append(expected[some], rest[1] if rest[1][0] > 1e-9 else [])
        if seen.size > 1:
            assert stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue > 1e-6
        assert counts[expected < 1e-12].sum() == 0


def test_both_proposals_give_one_law(monkeypatch):
    lattice = Reports(2.0, 3, Fraction(3, 16))
    counts = []
    for near in (True, False):
        monkeypatch.setattr(Reports, "_noise_is_near", lambda _, near=near: near)
        drawn = lattice.drawn(np.full(60_000, 2), SeededSource(5)) - lattice.first
        counts.append(np.bincount(drawn, minlength=lattice.last - lattice.first + 1))
    assert stats.chi2_contingency(np.array(counts)).pvalue > 1e-6


def test_parts_of_a_cell():
    step = Decimal("0.25")
    digits = chance(_nearer_part(step, Fraction(1, 4)))
    assert digits == pytest.approx(math.expm1(-0.0625) / math.expm1(-0.25), rel=1e-12)
    tiny = chance(_nearer_part(Decimal("1e-300"), Fraction(1, 4)))
    assert tiny == pytest.approx(0.25, rel=1e-12)
    kept = _survive(step, np.repeat([0, 1, 5, 4000], 50_000), SeededSource(3)).reshape(4, -1)
    assert kept[0].all()
    assert not kept[3].any()
    for row, cells in ((1, 1), (2, 5)):
        p = math.exp(-0.25 * cells)
        assert abs(kept[row].mean() - p) < 5.0 * math.sqrt(p * (1 - p) / 50_000)


@pytest.mark.parametrize("x", ["1e-250", "9e-200", "3e-120", "1e-30", "9.9e-11", "1e-10", "0.3"])
def test_what_is_left_of_a_short_cell_has_all_its_digits(x):
    """As a difference it had 1,280 binary digits of 1, not of itself."""
    with localcontext() as context:
        context.prec = 900
        exact = 1 - (-Decimal(x)).exp()
        assert abs(_less(Decimal(x)) / exact - 1) <= Decimal("1e-408")


@pytest.mark.parametrize("places", [2, 6, 28, 1000])
def test_chances_are_the_same_in_every_context(places):
    """A sign is an operation too: it rounded to the places of the caller's own context."""
    step = Decimal("0.7") / 2**33
    _halvings.cache_clear()
    _nearer_part.cache_clear()
    with localcontext() as context:
        context.prec = places
        found = [*_halvings(step, 40), _nearer_part(step, Fraction(1, 3))]
    with localcontext() as context:
        context.prec = 450
        exact = [(-(step * 2**i)).exp() for i in range(40)]
        exact.append((1 - (-step / 3).exp()) / (1 - (-step).exp()))
        for digits, p in zip(found, exact, strict=True):
            value = Decimal(int.from_bytes(digits, "big")) / Decimal(256) ** len(digits)
            assert abs(value - p) <= Decimal(2) ** -1270


def test_lengths_in_a_ball_have_digits_at_both_ends():
    """Near the middle lengths were farther apart than cells, which a report then showed."""
    mechanism = sd.LaplaceBall(d=2, scale=1.0, radius=1.0)
    lengths = mechanism._lengths(400_000, SeededSource(8))
    assert stats.kstest(lengths, stats.gamma(2).cdf).pvalue > 1e-6

    class Least(SeededSource):
        def fine_unit(self, size):
            return np.full(size, 2.0**-60)

    both = mechanism._lengths(64, Least(1))
    assert both.min() == pytest.approx(math.sqrt(2.0 * 2.0**-61), rel=1e-6)
    assert both.max() > 40.0


@pytest.mark.parametrize(("eps0", "margin"), [(1.0, 0.5), (8.0, 0.1), (0.01, 0.3), (3.0, 1e6)])
def test_truncated_laplace_is_truncated_laplace(eps0, margin):
    mechanism = sd.TruncatedLaplace(eps0=eps0, margin=margin)
    reports = mechanism.simulate(np.full(100_000, 0.3), seed=2)
    low, high = -margin, 1.0 + margin

    def integral(z):
        below = np.exp(-eps0 * (0.3 - np.minimum(z, 0.3))) - math.exp(-eps0 * (0.3 - low))
        return below - np.expm1(-eps0 * (np.maximum(z, 0.3) - 0.3))

    assert low - 1e-6 <= reports.min() <= reports.max() <= high + 1e-6
    found = stats.kstest(reports, lambda z: integral(z) / integral(np.array(high)))
    assert found.pvalue > 1e-6


@pytest.mark.parametrize(
    ("eps0", "low", "margin"), [(1e-9, 0.0, 1000.03), (1e-9, -1.0, 2020.06), (1e-6, 0.0, 1.00003)]
)
def test_reports_are_in_the_interval(eps0, low, margin):
    """The middle of a cell that is partly inside was beyond: the estimator refused them all."""
    mechanism = sd.TruncatedLaplace(eps0=eps0, low=low, margin=margin)
    reports = mechanism.simulate(np.full(2_000_000, 0.5), seed=1)
    assert low - margin <= reports.min() <= reports.max() <= 1.0 + margin
    # So many users have some of them next to the ends.
    assert math.isfinite(mechanism.estimate(reports).mean)


# ------------------------------------------------------------------------------------- the ball


def test_normal_numbers_have_digits_at_both_ends():
    numbers = SeededSource(4).fine_normal(400_000)
    assert stats.kstest(numbers, stats.norm.cdf).pvalue > 1e-6

    class Least(SeededSource):
        def fine_unit(self, size):
            return np.full(size, 2.0**-200)

    found = np.unique(Least(1).fine_normal(64))
    near = 2.0**-200 * math.sqrt(math.pi / 8.0)
    far = -float(stats.norm.ppf(2.0**-202))
    assert found == pytest.approx([-far, -near, near, far], rel=1e-9)


def test_a_direction_next_to_an_axis_rules_no_cell_out():
    """Of 20 scales of noise no draw was within five cells of the value's own coordinate."""
    mechanism = sd.LaplaceBall(d=2, scale=1.0, radius=5e-7)

    class Script(SeededSource):
        """Directions next to the first axis by every power of 2; lengths of 20 scales."""

        def fine_unit(self, size):
            if size == 1_000:
                return np.full(size, 2.0 * float(special.gammaincc(2.0, 20.0)))
            return np.column_stack(
                [np.full(1_000, 0.5), 2.0 ** -np.linspace(40, 70, 1_000)]
            ).ravel()

        def coins(self, digits, size):
            coins = super().coins(digits, size)
            # Long lengths, and coordinates next to 0.
            return np.zeros(size, bool) if size == 1_000 else coins

    reports = mechanism._sample(np.zeros((1_000, 2)), Script(1))[:, 1]
    cells = np.floor((reports + 5e-7) / 1e-6 * 2.0**32).astype(int) - 2**31
    assert {-2, -1, 0, 1} <= set(cells.tolist())


def test_coarser_cells():
    numbers = np.array([0, 1, -1, 2**34 - 1, 2**34, 2**34 + 1, 2**40 + 63, 2**40 + 64, -(2**40)])
    found = coarse_middles(numbers, 34)
    assert found[:4].tolist() == [0.5, 1.5, -0.5, 2**34 - 0.5]
    assert found[4:6].tolist() == [2.0**34 + 1.0] * 2
    assert found[6] == 2.0**40 + 64.0
    assert found[7] == 2.0**40 + 64.0
    assert found[8] == -coarse_middles(np.array([2**40 - 1]), 34)[0]
    large = coarse_middles(np.array([2**70 + 5, -(2**70) - 6], dtype=object), 34)
    assert large[0] == -large[1] == 2.0**70 + 2.0**36
    rng = np.random.default_rng(1)
    wide = np.sort(rng.integers(-(2**62), 2**62, 2000) >> rng.integers(0, 60, 2000))
    assert (np.diff(coarse_middles(wide, 34)) >= 0.0).all()


def test_a_ball_small_against_its_noise_shows_no_digit_of_the_value():
    """Noise beyond 2^53 cells is even: the parity of the value's own cell was sent."""
    mechanism = sd.LaplaceBall(d=2, scale=1.99e6, radius=1.0)
    for value in ([0.0, 0.0], [2.0**-31, 0.0]):
        reports = mechanism.simulate(np.tile(value, (20_000, 1)), seed=3)[:, 0]
        cells = np.floor((reports + 1.0) / 2.0 * 2.0**32)
        far = [int(cell) for cell in cells if abs(cell) >= 2.0**52]
        assert len(far) > 1_000
        # The first 34 digits and half a cell: what is left is the same for all.
        for cell in far:
            places = abs(cell).bit_length() - 34
            assert abs(cell) % (1 << places) in (0, 1 << (places - 1), (1 << (places - 1)) + 1)
