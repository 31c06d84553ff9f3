"""The shuffler: a uniform permutation, whatever the memory."""

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from shuffledp.protocol import Shuffler
from shuffledp.randomness import SeededSource

SMALLEST = 1 << 20


@pytest.fixture
def spilling(monkeypatch):
    """Two buckets, and so few reports in memory that buckets are split again."""
    monkeypatch.setattr("shuffledp.protocol.shuffler._BUCKETS", 2)
    monkeypatch.setattr("shuffledp.protocol.shuffler._SMALLEST_BUDGET", 1)


def through(reports, seed, *, memory=SMALLEST, cut=3):
    with Shuffler(memory=memory, source=SeededSource(seed)) as shuffler:
        for start in range(0, len(reports), cut):
            shuffler.add(reports[start : start + cut])
        return np.concatenate(list(shuffler.batches()))


@pytest.mark.many(1)
@pytest.mark.parametrize("memory", [SMALLEST, 70])
def test_every_permutation_is_equally_likely(memory, spilling):
    """All 120 orders of five reports; in memory, and two of them at a time."""
    reports = np.arange(5, dtype=np.uint8)
    rounds = 12_000 if memory == SMALLEST else 2_400
    found = Counter(tuple(through(reports, seed, memory=memory).tolist()) for seed in range(rounds))
    orders = list(itertools.permutations(range(5)))
    mean = rounds / len(orders)
    statistic = sum((found[order] - mean) ** 2 / mean for order in orders)
    assert sum(found.values()) == rounds
    assert chi2.sf(statistic, math.factorial(5) - 1) > 1e-6


@pytest.mark.parametrize("shape", [(1000,), (1000, 3)])
def test_nothing_is_lost_or_made(shape, spilling):
    reports = np.random.default_rng(1).integers(0, 200, shape).astype(np.uint16)
    for memory in (SMALLEST, 10_000):
        out = through(reports, 4, memory=memory, cut=77)
        assert out.dtype == reports.dtype
        assert out.shape == reports.shape
        assert sorted(map(tuple, out.reshape(1000, -1).tolist())) == sorted(
            map(tuple, reports.reshape(1000, -1).tolist())
        )
        assert not np.array_equal(out, reports)


def spilled(folder):
    """What the files without a name hold, of this process and in this folder."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith(str(folder)):
            found.append(np.frombuffer(link.read_bytes(), dtype=np.uint16))
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="reads open files through /proc")
def test_spilled_reports_have_no_name_and_not_the_users_order(tmp_path):
    """The reports here are the users' numbers: any order of theirs would show."""
    blocks, rows = 3, 20_000
    with Shuffler(memory=SMALLEST, directory=tmp_path) as shuffler:
        for block in range(blocks):
            shuffler.add(np.arange(block * rows, (block + 1) * rows).astype(np.uint16))
            assert list(tmp_path.iterdir()) == []
        found = spilled(tmp_path)
        assert sum(map(len, found)) == blocks * rows
        for content in found:
            # Within a batch: the share of neighbours that rise is a half, up to six deviations
            # (of the number of rises of a permutation, variance (m + 1)/12).
            inside = [content[content // rows == block] for block in range(blocks)]
            for part in inside:
                rises = np.count_nonzero(np.diff(part.astype(int)) > 0)
                spread = 6 * math.sqrt((len(part) + 1) / 12) + 1
                assert abs(rises - (len(part) - 1) / 2) < spread
        out = np.concatenate(list(shuffler.batches()))
        assert len(out) == blocks * rows
    assert list(tmp_path.iterdir()) == []


def test_a_hundred_times_too_many_for_memory(tmp_path):
    """Buckets are split, none is larger than it may be."""
    rows = 100 * (SMALLEST // 40)
    with Shuffler(memory=SMALLEST, directory=tmp_path) as shuffler:
        for start in range(0, rows, 50_000):
            shuffler.add(np.arange(start, min(start + 50_000, rows), dtype=np.uint32))
        largest, seen = 0, []
        for batch in shuffler.batches():
            largest = max(largest, len(batch))
            seen.append(batch)
    assert largest <= SMALLEST / 40
    out = np.concatenate(seen)
    assert np.array_equal(np.sort(out), np.arange(rows))
    # Where a report comes out says nothing of where it went in: 6 deviations of a correlation.
    assert abs(np.corrcoef(out, np.arange(rows))[0, 1]) < 6 / math.sqrt(rows)
