"""Noise on an interval in whole numbers of cells: no digit of the value is left in a report."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import special

import shuffledp as sd
from enumerated import ball
from randomizers.sources import LEAST_P_VALUE, Script, fits
from shuffledp.randomizers import power_cells, staircase
from shuffledp.randomizers.generalized_gaussian import _LEAST_LOG, _tail_level
from shuffledp.randomizers.noise import bits_for
from shuffledp.randomness import SeededSource

# ------------------------------------------------------------------ what the attacks were


@pytest.mark.parametrize(
    ("randomizer", "bits", "users"),
    [
        (sd.GeneralizedGaussian(shape=0.1, scale=1.0), 33, 200_000),
        (sd.Staircase(eps0=1e-6), 34, 20_000),
    ],
    ids=["power", "staircase"],
)
def test_parity_of_the_value_is_not_sent(randomizer, bits, users):
    """Between 2^53 and 2^54 steps a float holds even numbers: they are those of the sum."""
    shares = []
    for seed, value in enumerate((0.0, 1001 * 2.0**-bits, 1002 * 2.0**-bits)):
        sums = randomizer.simulate(np.full(users, value), seed=seed) * 2.0**bits
        within = (np.abs(sums) >= 2.0**53) & (np.abs(sums) < 2.0**54)
        assert within.sum() >= 40
        shares.append((np.mod(sums[within], 4.0) == 2.0).mean())
    assert max(shares) - min(shares) < 0.2


@pytest.mark.parametrize("shape", [1 / 32, 0.1, 0.5, 2.0])
def test_no_report_of_a_power_rules_a_value_out(shape):
    """The words that send the same for another value, written down: there always are some."""
    randomizer = sd.GeneralizedGaussian(shape=shape, scale=2.0**-10)
    steps = 2 ** bits_for(randomizer._finest, 32)
    pieces = power_cells.pieces_of(shape, Fraction(2**10, steps), _tail_level(shape, _LEAST_LOG)[0])
    cell = 7
    for report in randomizer.simulate(np.zeros(40), seed=2):
        noise = math.floor(Fraction(float(report)) * steps) - cell
        size = noise if noise >= 0 else ~noise
        piece = max(i for i, first in enumerate(pieces.first) if first <= size)
        m = int(pieces.digits[piece])
        edges = [0, *(int(edge) for edge in pieces.shares.first), 2**64 - 1]
        words = [(edges[piece] + edges[piece + 1]) // 2]
        if edges[piece + 1] - edges[piece] < 2:
            continue  # Rarer than 2^-63: words alone do not tell.
        offset = size - pieces.first[piece]
        if pieces.wide:
            rounds = -(-m // 64)
            filled = offset << (64 * rounds - m)
            words += [filled >> 64 * (rounds - 1 - i) & (2**64 - 1) for i in range(rounds)]
        else:
            words.append(offset << (64 - m))
        # The place in the cell, a coin that keeps it, the sign, and the value's own rounding.
        words += [2**63, 0, 0 if noise >= 0 else 2**64 - 1, 0]
        assert randomizer._sample(np.array([cell / steps]), Script(words))[0] == report


# ------------------------------------------------------------------ powers, cell by cell


@pytest.mark.parametrize("shape", [1 / 32, 0.1, 0.5, 1.0, 2.0, 7.5, 1000.0])
def test_pieces_and_their_envelope(shape):
    """Pieces follow one another, 2^-q is above the density, and little is farther out."""
    level = _tail_level(shape, _LEAST_LOG)[0]
    step = Fraction(1, 2**34 * max(1, int(shape)))
    pieces = power_cells.pieces_of(shape, step, level)
    ends = [f + (1 << int(m)) for f, m in zip(pieces.first, pieces.digits, strict=True)]
    assert pieces.first == [0, *ends[:-1]]
    for first, q in zip(pieces.first[1:], pieces.doublings[1:], strict=True):
        density = (-(ball(first * step) ** ball(shape))).exp()
        assert q == 0 or density <= arb(2) ** -int(q)
    tail = (ball(ends[-1] * step) ** ball(shape)).gamma_upper(1 / ball(shape), regularized=1)
    assert tail < arb(2) ** -1280
    weights = [
        1 << (int(m) + 4000 - int(q)) for m, q in zip(pieces.digits, pieces.doublings, strict=True)
    ]
    shares = np.diff([0, *pieces.shares.edges, 2**1280])
    for share, weight in zip(shares, weights, strict=False):
        assert abs(Fraction(int(share), 2**1280) - Fraction(weight, sum(weights))) <= Fraction(
            1, 2**1279
        )


@pytest.mark.parametrize(("shape", "step"), [(0.5, 0.5), (1.0, 0.125), (2.0, 0.25), (50.0, 0.125)])
def test_cells_have_their_exact_probabilities(shape, step):
    pieces = power_cells.pieces_of(shape, Fraction(step), _tail_level(shape, _LEAST_LOG)[0])
    cells = power_cells.power_cells(shape, pieces, 100_000, SeededSource(3))
    size = np.where(cells < 0, ~cells, cells).astype(np.int64)
    edges = special.gammainc(1.0 / shape, (np.arange(size.max() + 2) * step) ** shape)
    chances = np.append(np.diff(edges), 1.0 - edges[-1])
    assert fits(np.bincount(size, minlength=chances.size), chances) > LEAST_P_VALUE
    assert fits([(cells < 0).sum(), (cells >= 0).sum()], [0.5, 0.5]) > LEAST_P_VALUE


def test_low_digits_of_far_cells_are_fair_coins():
    randomizer = sd.GeneralizedGaussian(shape=1 / 32, scale=1.0)
    cells = randomizer._noise_cells(33, 4000, SeededSource(5))
    assert min(abs(cell) for cell in cells) > 2**64
    for digit in (0, 1, 7, 60):
        ones = sum(int(cell) >> digit & 1 for cell in cells)
        assert fits([ones, 4000 - ones], [0.5, 0.5]) > LEAST_P_VALUE


@pytest.mark.parametrize("shape", [1 / 32, 0.3, 1.0, 3.0, 1000.0])
def test_floats_decide_as_digits_do(shape, monkeypatch):
    """Every draw settled by digits: the same cells from the same words."""
    randomizer = sd.GeneralizedGaussian(shape=shape, scale=1.0)
    found = randomizer.simulate(np.full(6, 0.3), seed=4)
    monkeypatch.setattr(power_cells, "_DOUBT", 1e9)
    assert np.array_equal(found, randomizer.simulate(np.full(6, 0.3), seed=4))


def test_a_coin_next_to_the_chance_is_settled():
    """Digits of e^-(1/2), cut after 64: what follows them decides."""
    drawn = int(Decimal("-0.5").exp() * 2**64)
    place = power_cells._Place(1.0, Fraction(1, 2), 0, 1)
    words = np.array([0], dtype=np.uint64), np.array([drawn], dtype=np.uint64)
    # Past the cell's start the chance is smaller: all of the place's digits are 0 but one.
    assert not place.settled(*words, Script([1, 2**64 - 1]))
    assert place.settled(*words, Script([0, 0]))


# ------------------------------------------------------------------ staircases


def test_places_in_a_step_by_all_words():
    """256 words in place of 2^64: every cell has its length, to one of them."""
    g, bits = 0.3, 3
    words = (np.arange(256, dtype=np.uint64) << np.uint64(56)) + np.uint64(2**55)
    for high, low, top in ((True, Fraction(0), Fraction(g)), (False, Fraction(g), Fraction(1))):
        found = staircase._cells_in_step(g, bits, np.full(256, high), words, Script([]))
        counts = np.bincount(found, minlength=8)
        for cell, count in enumerate(counts):
            left, right = (Fraction(cell + i, 8) for i in (0, 1))
            share = max(Fraction(0), min(right, top) - max(left, low)) / (top - low)
            assert abs(share * 256 - int(count)) <= 1


@pytest.mark.parametrize("bits", [3, 34, 53])
def test_places_in_a_step_against_fractions(bits, monkeypatch):
    g = 0.3
    words = SeededSource(1).words(500)
    high = SeededSource(2).coins(b"\x80", 500)
    found = staircase._cells_in_step(g, bits, high, words, SeededSource(3))
    for cell, part, word in zip(found, high, words, strict=True):
        start, width = (Fraction(0), Fraction(g)) if part else (Fraction(g), 1 - Fraction(g))
        place = (start + width * Fraction(2 * int(word) + 1, 2**65)) * 2**bits
        assert abs(place - Fraction(2 * int(cell) + 1, 2)) <= Fraction(1, 2) + Fraction(1, 2**8)
    monkeypatch.setattr(staircase, "_DOUBT", 1.0)
    again = staircase._cells_in_step(g, bits, high, words, SeededSource(3))
    assert np.array_equal(found, again)


def test_a_place_next_to_the_end_of_a_cell_takes_more_words():
    """0.3 u = 1/8 within one word: the next one tells on which side."""
    g = Fraction(0.3)
    word = math.floor(2**64 / (8 * g))
    rest = math.floor((Fraction(2**64) / (8 * g) - word) * 2**64)
    for more, cell in ((0, 0), (rest - 1, 0), (rest + 1, 1), (2**64 - 1, 1)):
        high, drawn = np.array([True]), np.array([word], dtype=np.uint64)
        assert staircase._cells_in_step(0.3, 3, high, drawn, Script([more]))[0] == cell


def test_the_part_of_a_step_has_its_exact_probability():
    choice = staircase._parts(2.0, 0.3)
    exact = ball(0.3) / (ball(0.3) + (-arb(2)).exp() * (1 - ball(0.3)))
    found = Fraction(choice.edges[0], 2**1280)
    assert abs(ball(found) - exact) < arb(10) ** -80


@pytest.mark.parametrize(("eps0", "g"), [(300.0, 1e-100), (300.0, 1e-130), (1.0, 1e-100)])
def test_parts_of_a_step_have_all_their_digits(eps0, g):
    """Both weights were rounded before they were divided by their sum."""
    found = Decimal(staircase._parts(eps0, g).edges[0])
    with localcontext() as context:
        context.prec = 900
        high, low = Decimal(g), (1 - Decimal(g)) * Decimal(-eps0).exp()
        assert abs(found / 2**1280 - high / (high + low)) < Decimal(2) ** -1270


@pytest.mark.parametrize("eps0", [1e-3, 1e-6, 1e-12])
def test_staircases_of_many_steps(eps0):
    randomizer = sd.Staircase(eps0=eps0)
    reports = randomizer.simulate(np.full(20_000, 0.5), seed=1)
    assert reports.std() == pytest.approx(math.sqrt(randomizer.variance()), rel=0.06)


def test_no_sampler_below_what_integers_hold():
    randomizer = sd.Staircase(eps0=2.0**-53)
    assert sd.shuffle(randomizer, n=10).epsilon(delta=1e-3).upper < 1e-10
    with pytest.raises(sd.NotCertified, match="eps0 ="):
        randomizer.randomize([0.5])


# ------------------------------------------------------------------ densities


# ------------------------------------------------------------------ what is estimated


@pytest.mark.parametrize(
    "randomizer",
    [
        *(sd.GeneralizedGaussian(shape=b, scale=0.7, low=-1.0) for b in (0.7, 1.0, 2.0, 8.0)),
        *(sd.Staircase(eps0=e, low=-1.0) for e in (0.1, 1.0, 4.0)),
    ],
    ids=repr,
)
def test_mean_and_variance_of_reports(randomizer):
    users = 60_000
    for value in (-1.0, 0.3):
        reports = randomizer.simulate(np.full(users, value), seed=7)
        deviation = math.sqrt(randomizer.variance())
        assert abs(reports.mean() - value) <= 5.0 * deviation / math.sqrt(users)
        assert reports.std() == pytest.approx(deviation, rel=0.05)
