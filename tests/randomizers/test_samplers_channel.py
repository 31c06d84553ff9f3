"""Channels: any matrix, sampled exactly and inverted where it can be."""

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from randomizers.sources import LEAST_P_VALUE, Script, fits
from shuffledp.randomness import BITS, choice

MATRICES = [
    [[0.7, 0.3], [0.2, 0.8]],
    [[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]],
    [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]],
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.9, 0.1], [0.3, 0.0, 0.3, 0.4]],
    np.random.default_rng(0).dirichlet(np.ones(9), 6).tolist(),
]


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda m: f"{len(m)}x{len(m[0])}")
def test_sampler_has_the_law(matrix):
    channel = sd.Channel(matrix=matrix)
    values = np.arange(300_000) % len(matrix)
    reports = channel.simulate(values, seed=1)
    assert reports.dtype == np.uint8
    for x, row in enumerate(matrix):
        counts = np.bincount(reports[values == x], minlength=len(row))
        assert fits(counts, row) > LEAST_P_VALUE
        other = matrix[(x + 1) % len(matrix)]
        assert fits(counts, other) < LEAST_P_VALUE


def test_outcomes_by_words():
    """Edges at 1/4 and 1/2 + 2^-70: words below, at and above them, further digits at a tie."""
    law = choice([2**78, 2**78 + 2**10, 2**79 - 2**10])
    assert law.edges == (1 << (BITS - 2), (1 << (BITS - 1)) + (1 << (BITS - 70)))
    quarter, half, rest = 2**62, 2**63, [0] * 19
    for words, wanted in (
        ([0], 0),
        ([quarter - 1], 0),
        ([quarter, *rest], 1),
        ([half - 1], 1),
        ([half, *rest], 1),
        ([half, 2**58 - 1, *rest[1:]], 1),
        ([half, 2**58, *rest[1:]], 2),
        ([half + 1], 2),
        ([2**64 - 1], 2),
    ):
        source = Script(words)
        assert source.choose(law, 1).tolist() == [wanted]
        assert not source.left


def test_what_cannot_happen_does_not():
    law = choice([0, 5, 0, 0])
    for word in (0, 1, 2**63, 2**64 - 1):
        assert Script([word, *[2**64 - 1] * 19]).choose(law, 1).tolist() == [1]
    assert Script([7]).choose(choice([3]), 1).tolist() == [0]


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda m: f"{len(m)}x{len(m[0])}")
def test_unbiased_and_of_the_stated_variance(matrix):
    """Over every output, with the matrix in exact fractions."""
    channel = sd.Channel(matrix=matrix)
    rows = [[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in matrix]
    single = [channel.estimate(np.array([y])).frequencies.tolist() for y in range(len(matrix[0]))]
    spread = [[0.0] * len(rows) for _ in rows]
    for x, row in enumerate(rows):
        for item in range(len(rows)):
            values = [Fraction(v[item]) for v in single]
            mean = sum(p * v for p, v in zip(row, values, strict=True))
            second = sum(p * v * v for p, v in zip(row, values, strict=True))
            assert abs(mean - (x == item)) < 1e-13 * (1 + math.sqrt(second))
            spread[x][item] = float(second - mean * mean)
    for f in (0.0, 0.3, 1.0):
        worst = max(
            f * spread[v][v] + (1 - f) * max(spread[x][v] for x in range(len(rows)) if x != v)
            for v in range(len(rows))
        )
        assert channel.variance(f) == pytest.approx(worst, rel=1e-11, abs=1e-14)


def test_standard_errors_are_unbiased():
    """The mean of the estimated variances, over every pair of outputs of two users, is theirs."""
    matrix = MATRICES[2]
    channel = sd.Channel(matrix=matrix)
    held = (0, 2)
    mean = np.zeros(3)
    square = np.zeros(3)
    stated = np.zeros(3)
    for y0 in range(3):
        for y1 in range(3):
            p = matrix[held[0]][y0] * matrix[held[1]][y1]
            counts = np.bincount([y0, y1], minlength=3) / 2
            frequencies = channel._weights @ counts
            mean += p * frequencies
            square += p * frequencies**2
            # Before negative ones are cut off.
            stated += p * (np.square(channel._weights) @ counts - frequencies) / 2
    assert mean == pytest.approx([0.5, 0.0, 0.5], abs=1e-12)
    assert stated == pytest.approx(square - mean**2, rel=1e-9)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.5], [0.5, 0.5]],
        [[0.5, 0.5], [0.3, 0.7], [0.9, 0.1]],
        [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.4, 0.4, 0.2]],
        [[0.5, 0.5], [0.5 + 1e-9, 0.5 - 1e-9]],
        [[1.0], [1.0]],
    ],
)
def test_no_estimator_where_rows_are_dependent(matrix):
    channel = sd.Channel(matrix=matrix)
    reports = channel.simulate([0, 1, 0], seed=1)
    for call in (lambda: channel.estimate(reports), channel.variance):
        with pytest.raises(sd.NotCertified, match="linearly dependent"):
            call()
