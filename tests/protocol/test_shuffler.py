"""The shuffler: a uniform permutation, whatever the memory."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from shuffledp.errors import ParameterError
from shuffledp.protocol import Shuffler, shuffle_reports
from shuffledp.randomness import SeededSource

SMALLEST = 1 << 20


def through(reports, seed, *, expected, cut=3):
    with Shuffler(expected=expected, memory=SMALLEST, source=SeededSource(seed)) as shuffler:
        for start in range(0, len(reports), cut):
            shuffler.add(reports[start : start + cut])
        return np.concatenate(list(shuffler.batches()))


@pytest.mark.parametrize("expected", [1, 10**6])
def test_every_permutation_is_equally_likely(expected):
    """All 120 orders of five reports; one bucket, and many buckets."""
    reports = np.arange(5, dtype=np.uint8)
    rounds = 12_000 if expected == 1 else 2_400
    found = Counter(
        tuple(through(reports, seed, expected=expected).tolist()) for seed in range(rounds)
    )
    orders = list(itertools.permutations(range(5)))
    mean = rounds / len(orders)
    statistic = sum((found[order] - mean) ** 2 / mean for order in orders)
    assert sum(found.values()) == rounds
    assert chi2.sf(statistic, math.factorial(5) - 1) > 1e-6


@pytest.mark.parametrize("shape", [(1000,), (1000, 3)])
def test_nothing_is_lost_or_made(shape):
    reports = np.random.default_rng(1).integers(0, 200, shape).astype(np.uint16)
    for expected in (1, 10**6):
        out = through(reports, 4, expected=expected, cut=77)
        assert out.dtype == reports.dtype
        assert out.shape == reports.shape
        assert sorted(map(tuple, out.reshape(1000, -1).tolist())) == sorted(
            map(tuple, reports.reshape(1000, -1).tolist())
        )
        assert not np.array_equal(out, reports)


def test_position_says_nothing_of_the_batch():
    """The mean place of the first batch's reports is the middle."""
    reports = np.repeat(np.arange(10, dtype=np.uint8), 20_000)
    out = through(reports, 9, expected=10**7, cut=20_000)
    places = np.flatnonzero(out == 0)
    spread = math.sqrt((200_000**2 / 12) / places.size)
    assert abs(places.mean() - 100_000) < 5 * spread


def test_in_memory():
    reports = np.arange(100)
    assert sorted(shuffle_reports(reports).tolist()) == list(range(100))
    assert not np.array_equal(shuffle_reports(reports), reports)


def test_no_reports_and_bad_batches(tmp_path):
    with Shuffler(expected=10) as shuffler:
        shuffler.add(np.zeros(0, dtype=np.uint8))
        assert list(shuffler.batches()) == []
    with Shuffler(expected=10) as shuffler:
        shuffler.add(np.zeros(3, dtype=np.uint8))
        with pytest.raises(ParameterError, match="as before"):
            shuffler.add(np.zeros(3, dtype=np.uint16))
    with pytest.raises(ParameterError, match="memory"):
        Shuffler(expected=10, memory=10)
    with (
        pytest.raises(ParameterError, match="spill"),
        Shuffler(expected=10, directory=tmp_path / "no") as shuffler,
    ):
        shuffler.add(np.zeros(3, dtype=np.uint8))


def test_the_spill_directory_is_left_empty(tmp_path):
    with Shuffler(expected=10**6, memory=SMALLEST, directory=tmp_path) as shuffler:
        shuffler.add(np.zeros(1000, dtype=np.uint8))
        assert list(tmp_path.iterdir()) != []
    assert list(tmp_path.iterdir()) == []
